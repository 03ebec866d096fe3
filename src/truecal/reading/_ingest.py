"""Dataframes and files to tallies, inside the user's own engine.

pandas, polars (eager and lazy), pyarrow tables, DuckDB relations, PySpark, Dask and Ibis, and files as `files` reads
them.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Any, cast

import numpy as np

from truecal._progress import Clock, Progress
from truecal.observations import (
    GridTally,
    Ints,
    Pairs,
    Segment,
    Sorted,
    SortedRows,
    Tallies,
    Tally,
    as_tuple,
    gathered,
    window_start,
)
from truecal.reading._batches import TIED, VERY_TIED, batches, pack_part, part_segments, take_part
from truecal.reading._query import KINDS, SCALE, Columns, Limits, OnNull, Query
from truecal.reading._spool import Spool
from truecal.reading._stored import find_summary, is_summary, summary_of

IN_MEMORY = 1 << 62


def tally_frame(
    frame: Any, *, label: str, score: str, pos_label: Any = None, on_null: OnNull = "raise", format: str | None = None
) -> Tally:
    """Group rows by score.

    Parameters
    ----------
    frame : dataframe or path
        Of pandas, polars (eager or lazy), pyarrow, DuckDB, PySpark, Dask or Ibis; or files, as `scan` takes them.
    label, score : str
        The columns of labels (0 and 1, or truth values) and of predicted probabilities.
    pos_label : optional
        The positive label, where labels are others; every other label counts as negative.
    on_null : "raise" or "drop"
        What to do with rows whose label or score is null or NaN; dropping warns and says how many.
    format : optional
        Of files, where their names do not tell.
    """
    columns = Columns(label, (score,), (), pos_label, on_null, format)
    tally, dropped = read_tally(frame, columns)
    _warn(dropped)
    return tally


def tally_segments(
    frame: Any,
    *,
    label: str,
    score: str,
    by: str | Sequence[str],
    pos_label: Any = None,
    on_null: OnNull = "raise",
    format: str | None = None,
) -> dict[Segment, Tally]:
    """`tally_frame` for every combination of values in the columns `by`, in one pass; keyed by those values,
    sorted."""
    columns = Columns(label, (score,), as_tuple(by), pos_label, on_null, format)
    tallies, dropped = _read_apart(Query.of(frame, columns), None)
    _warn(dropped)
    return cast(dict[Segment, Tally], tallies)


def summarize(
    frame: Any,
    *,
    label: str,
    score: str,
    by: str | Sequence[str] = (),
    time: str | None = None,
    every: str = "1d",
    pos_label: Any = None,
    on_null: OnNull = "raise",
    format: str | None = None,
    scale: Limits = SCALE,
) -> Tallies:
    """What is needed of data to judge them later, alone or together with others: see `Tallies` and `write_summary`.

    Parameters
    ----------
    frame, label, score, pos_label, on_null, format
        As in `tally_frame`.
    by : name or names
        Columns whose values make segments.
    time : optional
        A column of dates or times, to be cut into windows as long as `every` says: "1h", "1d", "1w", "1mo", "1q" or
        "1y". It is one more of the summary's columns, the last.
    scale : Scale
        `Limits(grid=13)` groups scores into cells of 13 significant bits.

    Examples
    --------
    >>> import polars, truecal
    >>> frame = polars.DataFrame({"y": [0, 1, 1], "p": [0.2, 0.9, 0.9], "country": ["de", "de", "at"]})
    >>> truecal.reading.summarize(frame, label="y", score="p", by="country")
    Tallies(2 segments by country, p for y, exact: 3 observations, 2 positive)
    """
    windows = {} if time is None else {time: every}
    names = (*(name for name in as_tuple(by) if name not in windows), *windows)
    columns = Columns(label, (score,), names, pos_label, on_null, format, scale, windows)
    summary = find_summary(frame, columns)
    if summary is not None:
        return summary.over(names, windows)
    parts: dict[Segment, Tally | GridTally] = {}
    if names:
        parts, dropped = read_segments(frame, columns)
    else:
        whole, dropped = read_data(frame, columns)
        parts[()] = whole.tally if isinstance(whole, SortedRows) else whole
    _warn(dropped)
    return summary_of(parts, columns)


def read_tally(frame: Any, columns: Columns) -> tuple[Tally, str]:
    """The tally of a frame or file, and what was dropped, in words."""
    data, dropped = _read(Query.of(frame, columns), None)
    return data.tally, dropped


def read_data(frame: Any, columns: Columns) -> tuple[Sorted | GridTally, str]:
    """Data or a summary in whatever form fits: exactly, or in cells; and what was dropped, in words."""
    summary = find_summary(frame, columns)
    if summary is not None:
        return summary.whole().simplified(), ""
    query = Query.of(frame, columns)
    return _read(query, query.bits())


def _read(query: Query, bits: int | None) -> tuple[Sorted | GridTally, str]:
    """The observations of a query that has no segments, and what was dropped, in words."""
    parts = batches(query)
    if parts is None:
        segments, dropped = _grouped(query, bits)
        return segments[()], dropped
    spool, counts = Spool(query.columns.scale.memory, bits), np.zeros(KINDS, dtype=np.int64)
    with query.reading(), Progress(query.rows, "rows") as progress:
        for part in parts:
            counts += take_part(query, part, spool)
            progress.step(len(part))
    dropped = query.refuse(counts)
    data = spool.gathered()
    query.check_label(data.positives)
    return data.simplified(), dropped


def _read_apart(query: Query, bits: int | None) -> tuple[dict[Segment, Tally | GridTally], str]:
    """The observations of each of a query's segments, in order, and what was dropped, in words."""
    parts = batches(query, TIED if bits is None else VERY_TIED)
    if parts is None:
        return _grouped(query, bits)
    spools: dict[Segment, Spool] = {}
    counts = np.zeros(KINDS, dtype=np.int64)
    names = query.columns.by
    with query.reading(), Progress(query.rows, "rows") as progress:
        for part in filter(len, parts):
            keys, usable, found = pack_part(query, part)
            segments, codes = part_segments(part, len(names))
            codes = codes if usable is None else codes[usable]
            order = np.argsort(codes, kind="stable")
            keys, ends = keys[order], np.cumsum(np.bincount(codes, minlength=len(segments)))
            columns = [
                _plain(list(column), query.columns.windows.get(name))
                for name, column in zip(names, zip(*segments, strict=True), strict=True)
            ]
            plain = zip(*columns, strict=True) if names else [()]
            for key, begin, end in zip(plain, [0, *ends[:-1]], ends, strict=True):
                if begin < end:
                    spools.setdefault(key, Spool(IN_MEMORY, bits, count=False)).add(keys[begin:end])
            counts += found
            progress.step(len(part))
    dropped = query.refuse(counts)
    gathered = {key: _in_memory(spools.pop(key)) for key in sorted(spools, key=_order)}
    query.check_label(sum(data.positives for data in gathered.values()))
    return gathered, dropped


def _in_memory(spool: Spool) -> Tally | GridTally:
    data = spool.gathered()
    return data.tally if isinstance(data, SortedRows) else data.simplified()


def _order(segment: Segment) -> list[tuple[bool, str, Any]]:
    """The order of segments: nothing comes last, and values of one kind side by side."""
    return [(value is None, str(type(value)), value) for value in segment]


def read_segments(frame: Any, columns: Columns) -> tuple[dict[Segment, Tally | GridTally], str]:
    """The observations of the segments of data or a summary, exactly or in cells, and what was dropped, in words."""
    summary = find_summary(frame, columns)
    if summary is not None:
        parts = summary.over(columns.by, columns.windows).parts.items()
        return {key: part.simplified() for key, part in parts}, ""
    query = Query.of(frame, columns)
    return _read_apart(query, query.bits())


def read_pairs(frame: Any, columns: Columns) -> tuple[Pairs, str]:
    """A frame's or file's rows grouped by two scores, and what was dropped, in words."""
    if is_summary(frame):
        raise ValueError("Two models are compared on the same rows; a summary has none.")
    query = Query.of(frame, columns)
    with query.reading(), Clock("grouping"):
        lines = query.grouped()
    dropped = query.refuse(np.bincount(lines["status"], weights=lines["n"], minlength=KINDS))
    kept = lines["status"] == 0
    n, pos = lines["n"][kept], lines["pos"][kept]
    query.check_label(int(pos.sum()))
    first, second = (lines[f"score{i}"][kept].astype(np.float64) for i in (0, 1))
    return Pairs.gathered(first, second, n, pos), dropped


def _grouped(query: Query, bits: int | None) -> tuple[dict[Segment, Tally | GridTally], str]:
    """The observations of each segment, grouped in the engine; by score there, where that is here and many are tied."""
    with query.reading(), Clock("grouping"):
        lines = query.grouped() if bits is None or query.here else query.gridded(bits)
    if bits is None or not query.here:
        return _split(query, lines, bits)
    exact, dropped = _split(query, lines)
    return {key: GridTally.of(part.tally, bits).simplified() for key, part in exact.items()}, dropped


def _split(
    query: Query, lines: dict[str, Any], bits: int | None = None
) -> tuple[dict[Segment, Tally | GridTally], str]:
    """Grouped lines as one tally, or cells, for each segment, in order."""
    dropped = query.refuse(np.bincount(lines["status"], weights=lines["n"], minlength=KINDS))
    kept = np.flatnonzero(lines["status"] == 0)
    segments: dict[Segment, int] = {}
    code = np.zeros(len(kept), dtype=np.int64)
    if query.columns.by:
        windows = query.columns.windows
        values = [_plain(lines[f"by{i}"], windows.get(name)) for i, name in enumerate(query.columns.by)]
        keys = zip(*values, strict=True)
        code = np.array([segments.setdefault(key, len(segments)) for key in keys], dtype=np.int64)[kept]
    else:
        segments[()] = 0
    order = np.argsort(code, kind="stable")
    ends = np.searchsorted(code[order], np.arange(len(segments) + 1))
    query.check_label(int(lines["pos"][kept].sum()))
    found = {}
    for key in sorted(segments, key=_order):
        rows = kept[order[ends[segments[key]] : ends[segments[key] + 1]]]
        if len(rows):
            found[key] = _tally(lines, rows) if bits is None else _cells(lines, rows, bits)
    return found, dropped


def _tally(lines: dict[str, Any], rows: Ints) -> Tally:
    # -0.0 and 0.0 are one score, though engines may keep them apart
    return gathered(lines["score0"][rows].astype(np.float64) + 0.0, lines["n"][rows], lines["pos"][rows])


def _cells(lines: dict[str, Any], rows: Ints, bits: int) -> Tally | GridTally:
    key, n, pos, total, low, high = (lines[name][rows] for name in ("key", "n", "pos", "total", "low", "high"))
    return GridTally.gathered(bits, (key, n, pos, total, low, high)).simplified()


def _plain(values: list[Any], every: str | None) -> list[Any]:
    """Segment values with one kind of nothing, where pandas has several, and windows as dates or times."""
    plain = {value: None if _is_absent(value) else value for value in set(values)}
    if every is not None:
        plain = {value: known and _window(known, every) for value, known in plain.items()}
    return [plain[value] for value in values]


def _is_absent(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or pandas' NA, which answers no comparison."""
    return value is None or type(value).__name__ == "NAType" or bool(value != value)  # noqa: PLR0124


def _window(value: Any, every: str) -> date:
    """Where a window begins, of whatever type an engine's times are; days and longer ones are dates."""
    if isinstance(value, int):  # microseconds, as some engines' times come out of NumPy
        value = datetime(1970, 1, 1) + timedelta(microseconds=value)
    return window_start(datetime(*value.timetuple()[:6]), every)


def _warn(dropped: str) -> None:
    if dropped:
        warnings.warn(dropped[0].upper() + dropped[1:] + ".", stacklevel=3)
