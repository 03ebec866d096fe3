"""Pictures of results, by matplotlib or plotly; they compute nothing."""

from truecal.plot._axis import Scale as Scale
from truecal.plot._axis import choose_scale as choose_scale
from truecal.plot._axis import get_table as get_table
from truecal.plot._drift import describe_drift as describe_drift
from truecal.plot._matplotlib import CalibrationAxes as CalibrationAxes
from truecal.plot._matplotlib import DiagramAxes as DiagramAxes
from truecal.plot._matplotlib import DriftAxes as DriftAxes
from truecal.plot._matplotlib import MonitorAxes as MonitorAxes
from truecal.plot._matplotlib import RecalibrationAxes as RecalibrationAxes
from truecal.plot._matplotlib import ReliabilityAxes as ReliabilityAxes
from truecal.plot._matplotlib import binnings as binnings
from truecal.plot._matplotlib import calibration as calibration
from truecal.plot._matplotlib import classes as classes
from truecal.plot._matplotlib import comparison as comparison
from truecal.plot._matplotlib import draw_inline as draw_inline
from truecal.plot._matplotlib import drift as drift
from truecal.plot._matplotlib import metrics as metrics
from truecal.plot._matplotlib import models as models
from truecal.plot._matplotlib import monitor as monitor
from truecal.plot._matplotlib import power as power
from truecal.plot._matplotlib import recalibration as recalibration
from truecal.plot._matplotlib import reliability as reliability
from truecal.plot._matplotlib import save as save
from truecal.plot._matplotlib import segments as segments
from truecal.plot._matplotlib import slices as slices
from truecal.plot._matplotlib import test_based as test_based
from truecal.plot._metrics import group_metrics as group_metrics
from truecal.plot._pictures import check_models as check_models
from truecal.plot._pictures import list_binnings as list_binnings
from truecal.plot._plotly import interactive as interactive
from truecal.plot._plotly import load_bundle as load_bundle
from truecal.plot._plotly import make_figure as make_figure
from truecal.plot._ratios import describe_segments as describe_segments
from truecal.plot._svg import make_svg as make_svg
from truecal.plot._svg import make_thumbnail as make_thumbnail

# for users; the other names are for other packages of truecal
__all__ = [
    "CalibrationAxes",
    "DiagramAxes",
    "DriftAxes",
    "MonitorAxes",
    "RecalibrationAxes",
    "ReliabilityAxes",
    "binnings",
    "calibration",
    "classes",
    "comparison",
    "drift",
    "interactive",
    "metrics",
    "models",
    "monitor",
    "power",
    "recalibration",
    "reliability",
    "save",
    "segments",
    "slices",
    "test_based",
]
