"""What a number means: null references, intervals, differences, power."""

from truecal.inference._power import Plan as Plan
from truecal.inference._power import critical_counts as critical_counts
from truecal.inference._power import detectable_rates as detectable_rates
from truecal.inference._power import plan as plan
from truecal.inference._redraw import Draws as Draws
from truecal.inference._redraw import RandomState as RandomState
from truecal.inference._reference import FIRST as FIRST
from truecal.inference._reference import Difference as Difference
from truecal.inference._reference import Interval as Interval
from truecal.inference._reference import Reference as Reference
from truecal.inference._reference import check_confidence as check_confidence
from truecal.inference._reference import differences as differences
from truecal.inference._reference import intervals as intervals
from truecal.inference._reference import null_reference as null_reference
from truecal.inference._reference import reaches as reaches
from truecal.inference._reference import sequential_reference as sequential_reference
from truecal.inference._verdict import FACTOR as FACTOR
from truecal.inference._verdict import SIGNS as SIGNS
from truecal.inference._verdict import Outcome as Outcome
from truecal.inference._verdict import Verdict as Verdict
from truecal.inference._verdict import Word as Word
from truecal.inference._verdict import combine_parts as combine_parts
from truecal.inference._verdict import find_parts as find_parts
from truecal.inference._verdict import format_p_value as format_p_value
from truecal.inference._verdict import judge as judge
from truecal.inference._verdict import judge_all as judge_all
