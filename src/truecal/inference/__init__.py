"""What a number means: null references, intervals, differences, power, evidence over time."""

from truecal._face import open_face as _open

_, __getattr__, __dir__ = _open(__name__, __file__)

# for users; the other names are for other packages of truecal
__all__ = [
    "Difference",
    "Draws",
    "Interval",
    "Map",
    "Plan",
    "Reference",
    "Verdict",
    "detectable_rates",
    "differences",
    "intervals",
    "judge",
    "null_reference",
    "plan",
]
