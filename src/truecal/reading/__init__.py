"""Dataframes and files to tallies, in one pass."""

from truecal._face import open_face as _open

_, __getattr__, __dir__ = _open(__name__, __file__)

# for users; the other names are for other packages of truecal
__all__ = [
    "Limits",
    "UnclearColumns",
    "guess_columns",
    "guess_time",
    "read",
    "read_models",
    "scan",
]
