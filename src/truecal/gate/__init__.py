"""The release gate: rules held against results."""

from truecal._lazy import lazy_names as _open

_, __getattr__, __dir__ = _open(__name__, __file__)

# for users; the other names are for other packages of truecal
__all__ = [
    "Cause",
    "CheckDetails",
    "CheckResult",
    "CheckStatus",
    "CheckTable",
    "Decision",
    "Rule",
    "check",
    "read_rules",
]
