"""Columns that are in this process, batch by batch: rows packed into keys, with the segment of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from truecal.arrays import AnyArray
from truecal.query import KINDS, Query
from truecal.spool import packed
from truecal.tally import Ints

BATCH = 1 << 19
LOOK = 1 << 17  # the first rows, which tell how many share their scores
TIED = 16  # rows a score and segment, on average, from which on an engine's group-by is faster than a sort
VERY_TIED = 64  # and from which on it is small enough where a grid is asked for
RADIX = 1 << 16  # codes up to here sort in linear time


def batches(query: Query, tied: int = TIED) -> Iterator[Any] | None:
    """Frames with the columns `label`, `score0` and `by0`, `by1`, ...; None where the engine does better by itself.

    That is: where the columns are elsewhere, and where so many rows share a score and segment, by the first of them.
    """
    import narwhals as nw

    wanted = query.renamed()
    if isinstance(wanted, nw.DataFrame):
        return iter([wanted])
    if not wanted.implementation.is_polars():
        return None
    with query.reading():
        first = wanted.head(LOOK).collect("polars")
    if len(first) == LOOK and first.select(nw.exclude("label")).unique().shape[0] * tied <= LOOK:
        return None
    parts = wanted.to_native().collect_batches(chunk_size=BATCH, maintain_order=False, engine="streaming")
    return (nw.from_native(part) for part in parts)


def pack_part(query: Query, part: Any) -> tuple[AnyArray, AnyArray | None, Ints]:
    """The keys of a batch's rows, which rows they are of (None for all), and how many rows there are of each status."""
    counts = np.zeros(KINDS, dtype=np.int64)
    score, label = part["score0"], part["label"]
    if query.columns.pos_label is None and not score.null_count() and not label.null_count():
        keys = packed(_floats(score), label.to_numpy())
        if keys is not None:
            counts[0] = len(part)
            return keys, None, counts
    judged = query.judged(part)
    status = judged["status"].to_numpy().astype(np.uint8)
    counts += np.bincount(status, minlength=KINDS)
    usable = status == 0
    keys = packed(_floats(judged["score0"])[usable], judged["one"].to_numpy()[usable].astype(np.uint8))
    assert keys is not None, "rows of status 0 can be used"
    return keys, usable, counts


def part_segments(part: Any, columns: int) -> tuple[list[tuple[Any, ...]], AnyArray]:
    """The segments in a batch, and each row's place among them."""
    codes, values = np.zeros(len(part), dtype=np.int64), []
    for i in range(columns):
        found, code = _codes(part[f"by{i}"])
        codes = codes * len(found) + code
        values.append(found)
    size = int(np.prod([len(found) for found in values]))
    if size > max(4 * len(part), RADIX):
        present, codes = np.unique(codes, return_inverse=True)
    else:
        present = np.flatnonzero(np.bincount(codes, minlength=size))
        place = np.zeros(size, dtype=np.int64)
        place[present] = np.arange(len(present))
        codes = place[codes]
    keys = []
    for code in present.tolist():
        key: list[Any] = []
        for found in reversed(values):
            code, at = divmod(code, len(found))  # noqa: PLW2901
            key.append(found[at])
        keys.append(tuple(reversed(key)))
    return keys, codes.astype(np.uint16 if len(present) <= RADIX else np.int64)


def _floats(series: Any) -> AnyArray:
    """Scores as an array of float32 or float64; missing ones may be anything."""
    import narwhals as nw

    if series.dtype not in (nw.Float32, nw.Float64):
        series = series.cast(nw.Float64)
    array = series.to_numpy()
    return np.asarray(array if array.dtype.kind == "f" else array.astype(np.float64))


def _codes(series: Any) -> tuple[list[Any], Ints]:
    """The distinct values of a column, and each row's place among them; the last is None where values are missing."""
    import narwhals as nw

    native = series.to_native()
    if series.implementation.is_pandas_like():
        code, distinct = native.factorize()
        values, code = list(distinct), np.asarray(code, dtype=np.int64)
    elif series.implementation.is_pyarrow():
        encoded = native.combine_chunks().dictionary_encode()
        values, code = encoded.dictionary.to_pylist(), encoded.indices.fill_null(-1).to_numpy().astype(np.int64)
    elif series.dtype in (nw.String, nw.Categorical, nw.Enum):
        words = series.cast(nw.String)
        values = words.drop_nulls().unique().to_list()
        physical = words.cast(nw.Enum(values)).to_native().to_physical()
        code = physical.cast(int).fill_null(-1).to_numpy()
    else:
        values = series.drop_nulls().unique().sort().to_list()
        code = native.rank("dense").cast(int).fill_null(0).to_numpy() - 1
    missing = code < 0
    if missing.any():
        code = np.where(missing, len(values), code)
        values = [*values, None]
    return values, code
