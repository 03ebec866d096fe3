"""The face of truecal: every public name of the top level, listed once. `__init__.py` reads this file."""

from truecal import data as data
from truecal import gate as gate
from truecal import inference as inference
from truecal import integrations as integrations
from truecal import metrics as metrics
from truecal import plot as plot
from truecal import reading as reading
from truecal import results as results
from truecal import sklearn as sklearn
from truecal import verdict as verdict
from truecal.analysis import Monitor as Monitor
from truecal.analysis import compare as compare
from truecal.analysis import drift as drift
from truecal.analysis import evaluate as evaluate
from truecal.analysis import evaluate_classes as evaluate_classes
from truecal.analysis import recalibrate as recalibrate
from truecal.analysis import segments as segments
from truecal.analysis import slices as slices
from truecal.data import LabelDelay as LabelDelay
from truecal.data import Observations as Observations
from truecal.data import Sampling as Sampling
from truecal.data import Tally as Tally
from truecal.gate import Decision as Decision
from truecal.gate import Rule as Rule
from truecal.gate import check as check
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
from truecal.reading import read as read
from truecal.reading import read_models as read_models
from truecal.reporting import report as report
from truecal.results import ClassResults as ClassResults
from truecal.results import Result as Result
from truecal.verdict import Verdict as Verdict
from truecal.verdict import plan as plan

__version__: str
__all__: list[str]

def _draw_inline(kind: str, found: object, words: str) -> str: ...
