"""What a number means: null references, intervals, differences, calibration maps, evidence over time."""

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
