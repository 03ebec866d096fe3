"""Columns that are in this process, batch by batch: rows packed into keys, with the segment of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from truecal.observations import AnyArray, Ints
from truecal.reading._engines import engine_of, is_lazy, language, native
from truecal.reading._query import KINDS, Query
from truecal.reading._spool import Spool, packed

BATCH = 1 << 19
LOOK = 1 << 17  # the first rows, which tell how many share their scores
TIED = 16  # rows a score and segment, on average, from which on an engine's group-by is faster than a sort
VERY_TIED = 64  # and from which on it is small enough where a grid is asked for
RADIX = 1 << 16  # codes up to here sort in linear time


def batches(query: Query, tied: int = TIED) -> Iterator[Any] | None:
    """Frames with the columns `label`, `score0` and `by0`, `by1`, ...; None where the engine does better by itself.

    That is: where the columns are elsewhere, and where segments are asked for and so many rows share one and a score,
    by the first of them.
    """
    if not query.here:
        return None
    if not is_lazy(query.frame):
        return iter([query.renamed(query.frame)])
    if query.columns.by:
        with query.reading():
            first = query.renamed(query.wanted.head(LOOK).collect())
        if len(first) == LOOK and first.drop("label").n_unique() * tied <= LOOK:
            return None
    # renamed afterwards: polars holds more batches where it is asked to
    parts = query.wanted.collect_batches(chunk_size=BATCH, maintain_order=False, engine="streaming")
    return map(query.renamed, parts)


def take_part(query: Query, part: Any, spool: Spool) -> Ints:
    """A batch's rows into a spool; how many there are of each status."""
    counts = np.zeros(KINDS, dtype=np.int64)
    if _is_plain(query, part):
        counts[0] = spool.take(_floats(part["score0"]), part["label"].to_numpy())
        part = part[int(counts[0]) :]
    if len(part):
        score, one, status = _judged(query, part)
        counts += np.bincount(status, minlength=KINDS)
        usable = status == 0
        spool.take(score[usable], one[usable])
    return counts


def pack_part(query: Query, part: Any) -> tuple[AnyArray, AnyArray | None, Ints]:
    """The keys of a batch's rows, which rows they are of (None for all), and how many rows there are of each status."""
    if _is_plain(query, part):
        keys = packed(_floats(part["score0"]), part["label"].to_numpy())
        if keys is not None:
            return keys, None, len(part) * (np.arange(KINDS) == 0)
    score, one, status = _judged(query, part)
    usable = status == 0
    keys = packed(score[usable], one[usable])
    assert keys is not None, "rows of status 0 can be used"
    return keys, usable, np.bincount(status, minlength=KINDS)


def _is_plain(query: Query, part: Any) -> bool:
    """Whether labels and scores may be taken as they are."""
    missing = part["score0"].null_count() or part["label"].null_count()
    return query.columns.pos_label is None and not missing


def _judged(query: Query, part: Any) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Scores, labels and statuses."""
    judged = query.judged(part)
    one, status = (judged[name].to_numpy().astype(np.uint8) for name in ("one", "status"))
    return _floats(judged["score0"]), one, status


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
    pl = language(series)
    if series.dtype not in (pl.Float32, pl.Float64):
        series = series.cast(pl.Float64)
    array = series.to_numpy()
    return np.asarray(array if array.dtype.kind == "f" else array.astype(np.float64))


def _codes(series: Any) -> tuple[list[Any], Ints]:
    """The distinct values of a column, and each row's place among them; the last is None where values are missing."""
    pl, engine = language(series), engine_of(series)
    if engine in ("pandas", "modin", "cudf"):
        code, distinct = native(series).factorize()
        values, code = list(distinct), np.asarray(code, dtype=np.int64)
    elif engine == "pyarrow":
        encoded = native(series).combine_chunks().dictionary_encode()
        values, code = encoded.dictionary.to_pylist(), encoded.indices.fill_null(-1).to_numpy().astype(np.int64)
    elif series.dtype in (pl.String, pl.Categorical, pl.Enum):
        words = series.cast(pl.String)
        values = words.drop_nulls().unique().to_list()
        physical = native(words.cast(pl.Enum(values))).to_physical()
        code = physical.cast(int).fill_null(-1).to_numpy()
    else:
        values = series.drop_nulls().unique().sort().to_list()
        code = native(series).rank("dense").cast(int).fill_null(0).to_numpy() - 1
    missing = code < 0
    if missing.any():
        code = np.where(missing, len(values), code)
        values = [*values, None]
    return values, code
