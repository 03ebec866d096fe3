"""Plots of results, by matplotlib or as SVG; they compute nothing."""

from truecal._lazy import lazy_names as _open

_, __getattr__, __dir__ = _open(__name__, __file__)

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
    "metrics",
    "models",
    "monitor",
    "power",
    "recalibration",
    "reliability",
    "save",
    "segments",
    "slices",
    "test_reliability",
]
