"""What was found, as values: results and tables."""

from truecal._lazy import lazy_names as _open

_, __getattr__, __dir__ = _open(__name__, __file__)

# for users; the other names are for other packages of truecal
__all__ = [
    "BandTable",
    "BinTable",
    "ClassResults",
    "ClassTable",
    "Comparison",
    "Curve",
    "DriftStatus",
    "DriftTable",
    "EffectTable",
    "GroupTable",
    "Models",
    "MonitorTable",
    "OffsetTable",
    "Recalibration",
    "Result",
    "SliceTable",
    "Table",
    "Validation",
    "ValidationTable",
    "from_json",
    "to_json",
]
