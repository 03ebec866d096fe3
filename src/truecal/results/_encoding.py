"""Results' parts as JSON values and back: {"type": name, field: value, ...} for a frozen part, lists for arrays."""

from __future__ import annotations

import math
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from truecal.inference import _inference as inference
from truecal.metrics import _binning as binning
from truecal.metrics import _decisions as decisions
from truecal.metrics import _hypotheses as hypotheses
from truecal.metrics import _metrics as metrics
from truecal.results import _shapes as shapes
from truecal.results._table import BinTable

PARTS = {
    part.__name__: part
    for module, names in (
        (binning, ("Uniform", "Quantile", "Isotonic", "BoundedIsotonic", "Edges")),
        (
            hypotheses,
            ("Binomial", "MidP", "ScoreTest", "LikelihoodRatio", "StudentT", "BayesFactor"),
        ),
        (decisions, ("Absolute", "Relative")),
        (inference, ("Reference", "Interval")),
        (shapes, ("Histogram", "Scores", "Outline", "Shape")),
        (metrics, ("Gap", "Rejection", "Mean", "PNorm", "Max", "Metric")),
    )
    for part in (getattr(module, name) for name in names)
}


def encode(part: Any) -> Any:
    """A frozen part as {"type": name, field: value, ...}."""
    if is_dataclass(part):
        name = type(part).__name__
        if PARTS.get(name) is not type(part):
            raise TypeError(f"A result with a part of your own ({name}) cannot be written as JSON.")
        return {"type": name, **{entry.name: encode(getattr(part, entry.name)) for entry in fields(part)}}
    if isinstance(part, np.ndarray):
        return np.where(np.isnan(part), np.array(None), part).tolist() if part.dtype.kind == "f" else part.tolist()
    plain = part.item() if isinstance(part, np.generic) else part
    if plain is not None and not isinstance(plain, (bool, int, float, str)):
        raise TypeError(f"A result with a part of your own ({type(part).__name__}) cannot be written as JSON.")
    return plain


def decode(raw: Any) -> Any:
    """What `encode` made, as it was."""
    if not isinstance(raw, dict):
        return raw
    if "type" not in raw:
        return {name: decode(value) for name, value in raw.items()}
    given = {name: decode(value) for name, value in raw.items() if name != "type"}
    if raw["type"] not in PARTS:
        raise ValueError(f"A truecal result knows no part named {raw['type']!r}.")
    return PARTS[raw["type"]](**given)


def encode_table(table: BinTable) -> dict[str, list[Any]]:
    """The columns of a table; JSON has no NaN (null here) and no infinity."""

    def plain(value: float) -> float | str | None:
        if isinstance(value, float) and not math.isfinite(value):
            return None if math.isnan(value) else "inf"
        return value

    return {name: [plain(value) for value in column.tolist()] for name, column in table.columns().items()}


def decode_table(raw: dict[str, list[Any]]) -> BinTable:
    """The table that `encode_table` wrote."""
    columns: dict[str, Any] = {}
    for entry in fields(BinTable):
        if entry.name in ("n", "k", "rejected", "too_low", "too_high"):
            columns[entry.name] = np.array(raw[entry.name], dtype=np.int64)
        else:
            values = [math.nan if value is None else float(value) for value in raw[entry.name]]
            columns[entry.name] = np.array(values, dtype=np.float64)
    return BinTable(**columns)
