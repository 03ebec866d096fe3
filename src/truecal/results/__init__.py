"""What was found, as values: results and tables."""

from truecal._face import open_face as _open

_, __getattr__, __dir__ = _open(__name__, __file__)

# for users; the other names are for other packages of truecal
__all__ = [
    "BinTable",
    "ClassResults",
    "ClassTable",
    "Comparison",
    "Curve",
    "DriftTable",
    "FactorTable",
    "GroupTable",
    "Models",
    "MonitorTable",
    "Proof",
    "ProofTable",
    "Recalibration",
    "Result",
    "SliceTable",
    "Table",
    "from_json",
    "to_json",
]
