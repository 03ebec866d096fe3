"""The release gate: rules held against results."""

from truecal._face import open_face as _open

_, __getattr__, __dir__ = _open(__name__, __file__)

# for users; the other names are for other packages of truecal
__all__ = [
    "Decision",
    "Finding",
    "FindingTable",
    "Rule",
    "check",
    "read_rules",
]
