"""Whether predictions are calibrated: component tests, their combination, detectable errors, and score bands."""

from truecal._lazy import lazy_names as _open

_, __getattr__, __dir__ = _open(__name__, __file__)

# for users; the other names are for other packages of truecal
__all__ = [
    "COMPONENTS",
    "Plan",
    "Status",
    "Verdict",
    "detectable_rates",
    "judge",
    "plan",
]
