"""The face of truecal: every public name of the top level, listed once. `__init__.py` reads this file."""

from truecal import gate as gate
from truecal import inference as inference
from truecal import metrics as metrics
from truecal import observations as observations
from truecal import plot as plot
from truecal import plugs as plugs
from truecal import reading as reading
from truecal import results as results
from truecal import sklearn as sklearn
from truecal.analysis import Monitor as Monitor
from truecal.analysis import compare as compare
from truecal.analysis import drift as drift
from truecal.analysis import evaluate as evaluate
from truecal.analysis import evaluate_classes as evaluate_classes
from truecal.analysis import recalibrate as recalibrate
from truecal.analysis import segments as segments
from truecal.analysis import slices as slices
from truecal.gate import Decision as Decision
from truecal.gate import Rule as Rule
from truecal.gate import check as check
from truecal.inference import Verdict as Verdict
from truecal.inference import plan as plan
from truecal.metrics import Binomial as Binomial
from truecal.metrics import BoundedIsotonic as BoundedIsotonic
from truecal.metrics import Metric as Metric
from truecal.metrics import Quantile as Quantile
from truecal.metrics import Relative as Relative
from truecal.metrics import Uniform as Uniform
from truecal.metrics import ace as ace
from truecal.metrics import ece as ece
from truecal.metrics import ltce as ltce
from truecal.metrics import mce as mce
from truecal.metrics import rmsce as rmsce
from truecal.metrics import tce as tce
from truecal.observations import Maturity as Maturity
from truecal.observations import Tallies as Tallies
from truecal.observations import Tally as Tally
from truecal.reading import read as read
from truecal.reading import read_models as read_models
from truecal.reporting import report as report
from truecal.results import ClassResults as ClassResults
from truecal.results import Result as Result

__version__: str
__all__: list[str]

def _draw_inline(kind: str, found: object, words: str) -> str: ...
