"""From observations to results."""

from truecal.analysis._evaluation import check_options as check_options
from truecal.analysis._evaluation import compare as compare
from truecal.analysis._evaluation import evaluate as evaluate
from truecal.analysis._evaluation import evaluate_classes as evaluate_classes
from truecal.analysis._evaluation import judge_all as judge_all
from truecal.analysis._gridded import evaluate_cells as evaluate_cells
from truecal.analysis._segments import judge_segments as judge_segments
from truecal.analysis._tallied import evaluate_tally as evaluate_tally
from truecal.analysis._windows import drift as drift
from truecal.analysis._windows import judge_windows as judge_windows
