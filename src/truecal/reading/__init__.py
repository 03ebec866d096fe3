"""Dataframes and files to observations, in one pass."""

from truecal._lazy import lazy_names as _open

_, __getattr__, __dir__ = _open(__name__, __file__)

# for users; the other names are for other packages of truecal
__all__ = [
    "Limits",
    "AmbiguousColumnsError",
    "infer_columns",
    "infer_time",
    "read",
    "read_models",
    "scan",
]
