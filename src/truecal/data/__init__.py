"""Observations: scores with counts of rows and positives."""

from truecal._lazy import lazy_names as _open

_, __getattr__, __dir__ = _open(__name__, __file__)

# for users; the other names are for other packages of truecal
__all__ = [
    "RowCounts",
    "Cells",
    "PowerSums",
    "ScoreSums",
    "ClassObservations",
    "Sampling",
    "LabelDelay",
    "Pairs",
    "SortedRows",
    "Note",
    "NoteCode",
    "Observations",
    "Reason",
    "ReasonKind",
    "Tally",
    "sort_rows",
]
