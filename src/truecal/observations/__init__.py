"""What was observed: scores with counts."""

from truecal._face import open_face as _open

_, __getattr__, __dir__ = _open(__name__, __file__)

# for users; the other names are for other packages of truecal
__all__ = [
    "Account",
    "CellSums",
    "ClassTallies",
    "GridTally",
    "Labelling",
    "Maturity",
    "Pairs",
    "SortedRows",
    "Tallies",
    "Tally",
    "sort_rows",
]
