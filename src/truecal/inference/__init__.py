"""What a number means: references by chance, intervals, differences, power."""

from truecal.inference._inference import FIRST as FIRST
from truecal.inference._inference import Difference as Difference
from truecal.inference._inference import Interval as Interval
from truecal.inference._inference import Reference as Reference
from truecal.inference._inference import check_confidence as check_confidence
from truecal.inference._inference import find_differences as find_differences
from truecal.inference._inference import find_intervals as find_intervals
from truecal.inference._inference import null_reference as null_reference
from truecal.inference._inference import reaches as reaches
from truecal.inference._inference import refer_further as refer_further
from truecal.inference._power import Plan as Plan
from truecal.inference._power import critical as critical
from truecal.inference._power import detectable_rates as detectable_rates
from truecal.inference._power import plan as plan
from truecal.inference._replicates import RandomState as RandomState
from truecal.inference._replicates import check_counts as check_counts
from truecal.inference._replicates import draw_seeds as draw_seeds
from truecal.inference._verdict import Verdict as Verdict
from truecal.inference._verdict import combine_parts as combine_parts
from truecal.inference._verdict import find_parts as find_parts
from truecal.inference._verdict import judge as judge
