"""Null distributions, intervals and differences of metrics, calibration maps, and sequential evidence."""

from truecal._lazy import lazy_names as _open

_, __getattr__, __dir__ = _open(__name__, __file__)

# for users; the other names are for other packages of truecal
__all__ = [
    "Difference",
    "Draws",
    "Interval",
    "Map",
    "NullDistribution",
    "differences",
    "intervals",
    "null_distribution",
]
