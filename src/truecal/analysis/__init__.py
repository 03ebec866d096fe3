"""From observations to results."""

from truecal.analysis._classes import evaluate_classes as evaluate_classes
from truecal.analysis._compare import COMPARED as COMPARED
from truecal.analysis._compare import compare as compare
from truecal.analysis._drift import drift as drift
from truecal.analysis._evaluate import Options as Options
from truecal.analysis._evaluate import check_options as check_options
from truecal.analysis._evaluate import evaluate as evaluate
from truecal.analysis._evaluate import raise_for_data as raise_for_data
from truecal.analysis._monitor import Look as Look
from truecal.analysis._monitor import Monitor as Monitor
from truecal.analysis._monitor import keep_monitor as keep_monitor
from truecal.analysis._parts import choose_parts as choose_parts
from truecal.analysis._parts import find_threshold as find_threshold
from truecal.analysis._recalibrate import mend_tallies as mend_tallies
from truecal.analysis._recalibrate import prove_on as prove_on
from truecal.analysis._recalibrate import recalibrate as recalibrate
from truecal.analysis._segments import segments as segments
from truecal.analysis._slices import search as search
from truecal.analysis._slices import slices as slices
