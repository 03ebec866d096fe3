"""Pictures of results, by matplotlib or plotly; they compute nothing."""

from truecal.plot._axis import Scale as Scale
from truecal.plot._axis import choose_scale as choose_scale
from truecal.plot._axis import get_table as get_table
from truecal.plot._matplotlib import CalibrationAxes as CalibrationAxes
from truecal.plot._matplotlib import DiagramAxes as DiagramAxes
from truecal.plot._matplotlib import DriftAxes as DriftAxes
from truecal.plot._matplotlib import binnings as binnings
from truecal.plot._matplotlib import calibration as calibration
from truecal.plot._matplotlib import drift as drift
from truecal.plot._matplotlib import errors as errors
from truecal.plot._matplotlib import inline_diagram as inline_diagram
from truecal.plot._matplotlib import metrics as metrics
from truecal.plot._matplotlib import models as models
from truecal.plot._matplotlib import reliability as reliability
from truecal.plot._matplotlib import save as save
from truecal.plot._matplotlib import segments as segments
from truecal.plot._matplotlib import test_based as test_based
from truecal.plot._pictures import check_models as check_models
from truecal.plot._pictures import describe_drift as describe_drift
from truecal.plot._pictures import describe_finding as describe_finding
from truecal.plot._pictures import describe_segments as describe_segments
from truecal.plot._pictures import group_metrics as group_metrics
from truecal.plot._pictures import list_binnings as list_binnings
from truecal.plot._plotly import interactive as interactive
from truecal.plot._plotly import load_bundle as load_bundle
from truecal.plot._plotly import make_figure as make_figure
