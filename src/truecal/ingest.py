"""Dataframes to tallies: one group-by that runs inside the user's own engine, through narwhals.

pandas, polars (eager and lazy), pyarrow tables and DuckDB relations. The engine groups by score, counts, and sorts
rows that cannot be used into kinds, in a single pass; what comes back is one line for each distinct score.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, Literal

import numpy as np

from truecal.arrays import AnyArray
from truecal.tally import Tally, gathered

# Why a row cannot be used, by its status; missing ones may be dropped on request.
MISSING = {1: "`{score}` is null", 2: "`{score}` is NaN", 4: "`{label}` is null"}
WRONG = {3: "`{score}` is outside [0, 1]", 5: "`{label}` is neither 0 nor 1"}


def tally_frame(
    frame: Any, *, label: str, score: str, pos_label: Any = None, on_null: Literal["raise", "drop"] = "raise"
) -> Tally:
    """Group a dataframe's rows by score, inside its own engine.

    Parameters
    ----------
    frame : dataframe
        Of pandas, polars (eager or lazy), pyarrow or DuckDB.
    label, score : str
        The columns of labels (0 and 1, or truth values) and of predicted probabilities.
    pos_label : optional
        The positive label, where labels are others; every other label counts as negative.
    on_null : "raise" or "drop"
        What to do with rows whose label or score is null or NaN; dropping says how many.
    """
    ((_, tally),) = tally_segments(frame, label=label, score=score, by=(), pos_label=pos_label, on_null=on_null).items()
    return tally


def tally_segments(
    frame: Any,
    *,
    label: str,
    score: str,
    by: str | Sequence[str],
    pos_label: Any = None,
    on_null: Literal["raise", "drop"] = "raise",
) -> dict[tuple[Any, ...], Tally]:
    """`tally_frame` for every combination of values in the columns `by`, in one pass; keyed by those values,
    sorted."""
    if on_null not in ("raise", "drop"):
        raise ValueError(f'`on_null` must be "raise" or "drop"; it is {on_null!r}.')
    segments = [by] if isinstance(by, str) else list(by)
    columns = _group(frame, label, score, segments, pos_label)
    status = columns["status"].astype(np.int64)
    _refuse(status, columns["n"], label, score, on_null)
    kept = status == 0
    if not kept.any():
        raise ValueError("The frame must hold at least one row that can be used; it holds none.")
    values = [columns[f"by{i}"][kept] for i in range(len(segments))]
    keys = list(zip(*(column.tolist() for column in values), strict=True)) if segments else [()] * int(kept.sum())
    places: dict[tuple[Any, ...], list[int]] = {}
    for place, key in enumerate(keys):
        places.setdefault(key, []).append(place)
    # -0.0 and 0.0 are one score, though engines may keep them apart
    scores = columns["score"][kept].astype(np.float64) + 0.0
    n, pos = (columns[name][kept].astype(np.int64) for name in ("n", "pos"))
    order = sorted(places, key=lambda key: [(value is None, str(type(value)), value) for value in key])
    return {key: gathered(scores[places[key]], n[places[key]], pos[places[key]]) for key in order}


def _group(frame: Any, label: str, score: str, segments: list[str], pos_label: Any) -> dict[str, AnyArray]:
    """One line for each segment, status and score: n and pos, as NumPy columns."""
    try:
        import narwhals as nw
    except ImportError as error:
        raise ImportError("Dataframes need narwhals: pip install 'truecal[frames]'") from error
    try:
        native = nw.from_native(frame)
    except TypeError as error:
        raise TypeError(
            f"`frame` must be a dataframe of pandas, polars, pyarrow or DuckDB; it is {type(frame).__name__}."
        ) from error
    schema = native.collect_schema()
    for role, name in (("label", label), ("score", score), *(("by", segment) for segment in segments)):
        if name not in schema:
            near = get_close_matches(str(name), list(schema), n=1)
            hint = f"\n\nHint: did you mean {near[0]!r}?" if near else ""
            raise ValueError(
                f"`{role}` must be one of the columns {', '.join(map(repr, schema))}; it is {name!r}.{hint}"
            )
    if not schema[score].is_numeric():
        raise TypeError(f"`{score}` must hold numbers in [0, 1]; it holds {schema[score]}.")
    y, p = nw.col(label), nw.col(score).cast(nw.Float64)
    if pos_label is not None:
        positive, usable = y == pos_label, ~y.is_null()
    elif schema[label] == nw.Boolean:
        positive, usable = y, ~y.is_null()
    elif schema[label].is_numeric():
        positive, usable = y == 1, (y == 0) | (y == 1)
    else:
        raise TypeError(
            f"`{label}` must hold 0 and 1 or truth values; it holds {schema[label]}.\n\n"
            "Hint: name the positive label with `pos_label`."
        )
    status: Any = nw.when(usable).then(nw.lit(0)).otherwise(nw.lit(5))
    for code, condition in ((4, y.is_null()), (3, (p < 0) | (p > 1)), (2, p.is_nan()), (1, nw.col(score).is_null())):
        status = nw.when(condition).then(nw.lit(code)).otherwise(status)
    keys = [nw.col(segment).alias(f"by{i}") for i, segment in enumerate(segments)]
    one = nw.when(positive).then(nw.lit(1)).otherwise(nw.lit(0))
    rows = native.select(*keys, p.alias("score"), one.alias("one"), status.alias("status"))
    # rows that cannot be used need no score of their own
    held = nw.when(nw.col("status") == 0).then(nw.col("score")).otherwise(nw.lit(0.0))
    rows = rows.with_columns(held.alias("score"))
    names = [f"by{i}" for i in range(len(segments))]
    found = rows.group_by(*names, "status", "score").agg(nw.len().alias("n"), nw.col("one").sum().alias("pos"))
    if isinstance(found, nw.LazyFrame):
        found = found.collect()
    return {name: found[name].to_numpy() for name in found.columns}


def _refuse(status: AnyArray, n: AnyArray, label: str, score: str, on_null: str) -> None:
    counts = {code: int(n[status == code].sum()) for code in (*MISSING, *WRONG) if (status == code).any()}
    total = int(n.sum())

    def tell(codes: dict[int, str]) -> str:
        found = {code: rule.format(label=label, score=score) for code, rule in codes.items() if code in counts}
        return ", ".join(f"{rule} in {counts[code]:,}" for code, rule in found.items())

    if tell(WRONG) or (on_null == "raise" and counts):
        told = tell(MISSING | WRONG)
        hint = "" if tell(WRONG) else '\n\nHint: `on_null="drop"` leaves rows out whose label or score is missing.'
        raise ValueError(f"Every row must have a label and a score in [0, 1]; of {total:,} rows {told}.{hint}")
    if counts:
        warnings.warn(f"Of {total:,} rows {sum(counts.values()):,} were dropped: {tell(MISSING)}.", stacklevel=4)
