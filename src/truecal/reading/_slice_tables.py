"""Read data once and cross their rows by every pair of columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain, combinations, pairwise
from typing import Any, Unpack

import numpy as np

from truecal._errors import check_column, option
from truecal._fork import check_fork
from truecal._options import RowOptions
from truecal._progress import Progress
from truecal.data import (
    AnyArray,
    CodedRows,
    Crossed,
    Floats,
    Ints,
    Level,
    Note,
    NoteCode,
    Pair,
    RowCounts,
    as_sampling,
    as_tuple,
    note_row_counts,
)
from truecal.reading._columns import Roles, split_name
from truecal.reading._engines import encode_values, is_missing, language, pick, stream
from truecal.reading._query import Query, column_names
from truecal.reading._read import BATCH, Batch, stream_batches
from truecal.reading._status import STATUSES, VALID
from truecal.reading._types import convert, find_types

LEVELS = 10  # of a column, besides other values and null
BINS = 8  # of scores
PAIRED = 100  # columns up to which pairs are crossed
IDS = 1000  # distinct words above which a column may be of names
DATE = re.compile(r"\d{4}-\d\d(-\d\d([T ].*)?)?")  # a date, a time or a month in text
EPOCH = datetime(1970, 1, 1)


def cross(
    data: Any, *, columns: str | Sequence[str] | None = None, pairs: bool = True, **options: Unpack[RowOptions]
) -> Crossed:
    """Read data in one pass, and add rows up by the levels of every column and of every pair of columns.

    Text, booleans and numbers with few values are levels as they are: the ten most frequent of the first rows, and
    the others together. Other numbers and times, and dates in text as ISO 8601 writes them, are cut into ten ranges of
    about equally many of the first rows. The scores are a column as well. Levels do not depend on labels.

    Parameters are those of `truecal.read`; `columns` are all others by default, but for that of clusters. Another
    engine's rows are fetched in batches.
    """
    check_fork()
    roles: Any = {**options}
    label, score, sampling = roles.pop("label"), roles.pop("score"), roles.pop("sampling", None)
    if not isinstance(label, str) or not isinstance(score, str):
        raise TypeError(
            f"{option('label')} and {option('score')} must name columns of the data; they are {label!r} and {score!r}."
        )
    known, cluster = column_names(data, roles.get("format")), roles.get("cluster")
    own = label, score, cluster
    names = tuple(name for name in known if name not in own) if columns is None else as_tuple(columns)
    for name in names:
        check_column("columns", name, known)
    if label in names or len(set(names)) < len(names):
        raise ValueError(f"{option('columns')} must name each column once, and not the label; it is {names!r}.")
    names = tuple(name for name in names if name != score)
    found = Roles(label, (score,), names, sampling=as_sampling(sampling), **roles)
    return _slice_tables(_type_columns(Query.of(data, found)), pairs)


def _type_columns(query: Query) -> Query:
    """Return the query with columns of text as what all of their values are."""
    names = [name for name in query.roles.by if name in query.texts]
    with query.explain_errors():
        frame = convert(query.frame, find_types(query.frame, names)) if names else query.frame
    return replace(query, frame=frame, texts=query.texts.difference(names))


def _slice_tables(query: Query, pairs: bool) -> Crossed:
    """Add the rows of a query up."""
    query.check_labels()
    (score,) = query.roles.scores
    query, parts = _open(query)
    clustered = bool(query.roles.clusters)
    crossing: _Crossing | None = None
    seen, counts = 0, np.zeros(STATUSES, dtype=np.int64)
    with query.explain_errors(), Progress(query.rows, "rows") as progress:
        for part in filter(len, parts):
            batch = Batch(query, part)
            (scores,), one, status = batch.judge("score0")
            counts += np.bincount(status, minlength=STATUSES)
            usable = np.flatnonzero(status == VALID)
            rows = part if len(usable) == len(part) else part[usable.tolist()]
            if len(usable):
                if crossing is None:
                    crossing = _Crossing(query, rows, scores[usable])
                crossing.add(rows, scores[usable], one[usable], batch.cluster[usable] if clustered else None)
            seen += len(part)
            progress.step(len(part))
    query.check_complete(seen)
    query.check_counts(counts, [score])
    assert crossing is not None, "there are valid rows"
    return crossing.finish(pairs, RowCounts(seen, int(counts[VALID]), query.name_reasons(counts, score)))


def _open(query: Query) -> tuple[Query, Iterator[Any]]:
    """The query, and the batches of its rows in this process."""
    columns = query.roles
    if query.here:
        return query, stream_batches(query)
    names = dict.fromkeys((columns.label, *columns.scores, *columns.by, *columns.clusters))
    parts = stream(pick(query.frame, {name: name for name in names}), BATCH)
    first = next(parts, None)
    if first is None:
        raise ValueError("The data must have at least one valid row; they have none.")
    query = Query.of(first.lazy(), columns)  # lazy: how many rows will come is not known
    return query, map(query.rename, chain([first], parts))


class _Crossing:
    """The rows of all batches in bytes; the levels of columns are chosen by the first."""

    def __init__(self, query: Query, rows: Any, scores: AnyArray) -> None:
        names, (score,) = query.roles.by, query.roles.scores
        self.edges = _cut_scores(scores)
        found = [_look(name, rows[f"by{i}"]) for i, name in enumerate(names)]
        how = query.roles.sampling
        own = _Ranges.of(score, scores.astype(np.float64), lambda edge: f"{float(how.to_population(edge)):.4g}")
        self.coders = [(f"by{i}", coder) for i, coder in enumerate(found) if not isinstance(coder, Note)]
        self.coders += [("", own)] if own is not None else []
        cluster = query.roles.cluster
        clustered = [] if cluster is None else [Note.of(NoteCode.CLUSTERED, column=cluster)]
        self.notes = [*how.sample_notes, *clustered, *(coder for coder in found if isinstance(coder, Note))]
        if not self.coders:
            why = "; ".join(map(str, self.notes)) or "there is none"
            raise ValueError(f"There must be a column that makes groups; {why}.")
        self.batches: list[CodedRows] = []
        self.bytes, self.memory = 0, query.roles.limits.memory

    def add(self, rows: Any, scores: AnyArray, one: AnyArray, cluster: Ints | None) -> None:
        """Keep a batch of rows."""
        score = scores.astype(np.float64)
        codes = np.stack([coder.code(rows[place] if place else score) for place, coder in self.coders])
        bins = np.searchsorted(self.edges, score, side="right").astype(np.uint8)
        self.batches.append(CodedRows(codes, bins, one, np.where(score >= 0.5, 1 - score, score), cluster))
        self.bytes += codes.nbytes + (10 if cluster is None else 18) * len(score)
        if self.bytes > self.memory:
            raise ValueError(
                f"The rows must fit into {self.memory:,} bytes, one for each column; they do not.\n\n"
                f"Hint: name fewer {option('columns')}, or take a sample of the rows."
            )

    def finish(self, pairs: bool, row_counts: RowCounts) -> Crossed:
        """Cross the rows."""
        parts = self.batches
        codes = np.concatenate([part.codes for part in parts], axis=1)
        columns = ([getattr(part, name) for part in parts] for name in ("bin", "label", "q"))
        rows = _sort_by_cluster(CodedRows(codes, *map(np.concatenate, columns)), [part.cluster for part in parts])
        RowCounts(row_counts.evaluated, len(rows.q))  # no row was lost
        self.batches = []
        count, notes = len(self.coders), [*note_row_counts(row_counts), *self.notes]
        if pairs and count > PAIRED:
            notes.append(Note.of(NoteCode.COLUMNS_NOT_PAIRED, columns=count, limit=PAIRED))
        both = combinations(range(count), 2) if pairs and count <= PAIRED else ()
        chosen: list[Pair] = [*((i, -1) for i in range(count)), *both]
        levels = tuple(coder.levels for _, coder in self.coders)
        bins = np.append(0.0, self.edges)
        tables = rows.cross(chosen, [len(each) for each in levels], len(bins))
        names, ordered = zip(*((coder.name, isinstance(coder, _Ranges)) for _, coder in self.coders), strict=True)
        score = None if self.coders[-1][0] else names[-1]
        return Crossed(names, levels, ordered, bins, tables, rows, row_counts, tuple(notes), score)


def _sort_by_cluster(rows: CodedRows, hashes: Sequence[AnyArray | None]) -> CodedRows:
    """The rows in the order of their clusters, given the hashes of these in batches; as they are without any."""
    known = [each for each in hashes if each is not None]
    if not known:
        return rows
    _, cluster = np.unique(np.concatenate(known), return_inverse=True)
    order = np.argsort(cluster, kind="stable")
    return CodedRows(rows.codes[:, order], rows.bin[order], rows.label[order], rows.q[order], cluster[order])


def _cut_scores(scores: AnyArray) -> Floats:
    """Scores that cut the information into about equal bins, and 0.5."""
    score = np.sort(scores.astype(np.float64))
    running = np.cumsum(score * (1 - score))
    places = np.searchsorted(running, running[-1] * np.arange(1, BINS) / BINS)
    edges = np.unique(np.append(score[np.minimum(places, len(score) - 1)], 0.5))
    return edges[(edges > 0) & (edges <= 1)]


@dataclass(frozen=True, slots=True, eq=False)
class _Ranges:
    """Ranges of a column of numbers or times, and null."""

    name: str
    edges: Floats
    levels: tuple[Level, ...]

    @classmethod
    def of(cls, name: str, values: Floats, text: Any = "{:.4g}".format, none: str = "null") -> _Ranges | None:
        """Ten ranges of about equally many values; None for values that are all equal or null. `none` says what NaN
        is."""
        known = values[~np.isnan(values)]
        if not len(known):
            return None
        edges = np.unique(np.quantile(known, np.arange(1, LEVELS) / LEVELS, method="inverted_cdf"))
        edges = edges[edges < known.max()]
        if not len(edges):
            return None
        ends = [text(edge) for edge in edges.tolist()]
        levels = [Level(low=low, high=high) for low, high in pairwise([None, *ends, None])]
        return cls(name, edges, (*levels, Level(f" is {none}")))

    def code(self, column: Any) -> AnyArray:
        """The range of each value."""
        values = column if isinstance(column, np.ndarray) else _as_numbers(column)
        found = np.searchsorted(self.edges, values, side="left")
        return np.where(np.isnan(values), len(self.levels) - 1, found).astype(np.uint8)


@dataclass(frozen=True, slots=True, eq=False)
class _Values:
    """The most frequent values of a column, the others, and null."""

    name: str
    known: dict[Any, int]
    levels: tuple[Level, ...]

    @classmethod
    def of(cls, name: str, values: Sequence[Any], code: AnyArray) -> _Values:
        """The ten most frequent of the values that rows are coded by."""
        counts = np.bincount(code, minlength=len(values))
        present = [i for i in range(len(values)) if not is_missing(values[i])]
        frequent = sorted(present, key=lambda i: (-counts[i], str(values[i])))[:LEVELS]
        kept = sorted((values[i] for i in frequent), key=str)
        levels = (*(Level(f"={value}") for value in kept), Level(" is another"), Level(" is null"))
        return cls(name, {value: i for i, value in enumerate(kept)}, levels)

    def code(self, column: Any) -> AnyArray:
        """The level of each value."""
        values, code = encode_values(column)
        other, null = len(self.levels) - 2, len(self.levels) - 1
        place = [null if is_missing(value) else self.known.get(value, other) for value in values]
        return np.array(place, dtype=np.uint8)[code]


def _look(name: str, column: Any) -> _Ranges | _Values | Note:
    """How to code a column, by its first rows; or why it makes no groups."""
    pl = language(column)
    kind, rows = column.dtype, len(column)
    distinct = int(column.n_unique())
    if distinct < 2:
        return Note.of(NoteCode.COLUMN_CONSTANT, column=name)
    # whole numbers beyond those that doubles hold are names
    ordered = kind.is_temporal() or (kind.is_numeric() and not (kind.is_integer() and _reach(column) > 2**53))
    encoded = None if ordered else encode_values(column)
    if encoded and distinct > LEVELS + 1 and _are_dates(encoded[0]):
        ranges = _Ranges.of(name, _as_numbers(column), _name_day, "null or no date")
        return ranges or Note.of(NoteCode.COLUMN_CONSTANT, column=name)
    # numbers whose ranges mean nothing: by their name, or as they count the rows
    numbered = kind.is_integer() and (
        "id" in split_name(name) or (distinct == rows and int(column.max()) - int(column.min()) < 2 * rows)
    )
    if distinct > max(IDS, rows / 10) and (numbered or not ordered):
        return Note.of(NoteCode.COLUMN_OF_NAMES, column=name, distinct=distinct, rows=rows)
    if ordered and distinct > LEVELS + 1:
        if kind in (pl.Date, pl.Datetime):
            ranges = _Ranges.of(name, _as_numbers(column), _name_day)
        elif kind.is_temporal():
            return Note.of(NoteCode.COLUMN_UNSUPPORTED, column=name, type=str(kind))
        else:
            ranges = _Ranges.of(name, _as_numbers(column))
        return ranges or Note.of(NoteCode.COLUMN_CONSTANT, column=name)
    return _Values.of(name, *(encoded or encode_values(column)))


def _reach(column: Any) -> int:
    """The largest whole number of a column, without its sign; 0 if there is none."""
    return max((abs(int(end)) for end in (column.min(), column.max()) if end is not None), default=0)


def _are_dates(values: Sequence[Any]) -> bool:
    """Whether values are text that is dates, or missing."""
    known = (value for value in values if not is_missing(value))
    return all(isinstance(value, str) and not np.isnan(_read_date(value)) for value in known)


def _read_date(text: Any) -> float:
    """A date or time in text, in microseconds since 1970; NaN if it is none."""
    if not isinstance(text, str) or not DATE.fullmatch(text.strip()):
        return np.nan
    word = text.strip()
    try:
        moment = datetime.fromisoformat(f"{word}-01" if len(word) == 7 else word)
    except ValueError:
        return np.nan
    moment = moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
    return (moment - EPOCH).total_seconds() * 1e6


def _name_day(value: float) -> str:
    return str(np.datetime64(int(value), "us"))[:10]


def _as_numbers(column: Any) -> Floats:
    """Numbers, or times in microseconds; NaN for null, and for text that is no date."""
    pl = language(column)
    if not column.dtype.is_numeric() and not column.dtype.is_temporal():
        values, code = encode_values(column)
        return np.array([_read_date(value) for value in values], dtype=np.float64)[code]
    if column.dtype.is_temporal():
        column = column.cast(pl.Datetime("us")).dt.timestamp("us")
    array = column.cast(pl.Float64).to_numpy()
    return np.asarray(array, dtype=np.float64)
