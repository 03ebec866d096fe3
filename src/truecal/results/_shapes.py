"""The data that pictures need of the predictions, of a size that does not depend on their number.

These are counts on grids of fixed length, found by searching the tally for the edges of the grid. A hundred million
predictions give as few numbers as ten thousand.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

import numpy as np

from truecal import _kernel
from truecal.data import Floats, Ints, Sorted
from truecal.results._json import JsonMixin, register

CELLS = 60
OUTLINE_POINTS = 24
MOST_OUTLINED = 2000
FLOOR = 1e-9  # on a logit axis, scores nearer to 0 or 1 are drawn at this distance
DECADE = np.log(10)


class RankIndex:
    """Sorted rows with their ranks: the entries of scores, and the rows before entries."""

    __slots__ = ("_inner", "_ranks", "data")

    def __init__(self, data: Sorted) -> None:
        self.data = data
        self._ranks: Ints | None = None  # entries are rows
        self._inner: tuple[int, int] | None = None
        if data.n_rows > len(data):
            self._ranks = np.zeros(len(data) + 1, dtype=np.int64)
            np.cumsum(data.tally.n, out=self._ranks[1:])

    def __len__(self) -> int:
        return len(self.data.entries[0])

    def score(self, places: Ints) -> Floats:
        """Return the predictions of entries."""
        return self.data.sampling.to_population(_kernel.scores_at(self.data.entries, np.ascontiguousarray(places)))

    def find(self, score: Floats) -> Ints:
        """Return the first entries with at least these predictions."""
        flat = np.ascontiguousarray(self.data.sampling.to_sampled(score), dtype=np.float64).ravel()
        return _kernel.locate(self.data.entries, flat, False).reshape(np.shape(score))

    def cut(self, edges: Floats, first: Ints, last: Ints) -> Ints:
        """Return the entries at which the cells between these edges begin, given those from first to last of each
        bin, which has a line of edges; every one of these is in a cell, despite rounding."""
        flat = np.ascontiguousarray(self.data.sampling.to_sampled(edges), dtype=np.float64).ravel()
        return _kernel.locate_within(self.data.entries, flat, first, last).reshape(edges.shape)

    def before(self, places: Ints) -> Ints:
        """Return the numbers of rows before entries."""
        return places if self._ranks is None else np.asarray(self._ranks[places])

    def entry(self, rows: Ints) -> Ints:
        """Return the entries of rows, which are counted in the order of scores."""
        return rows if self._ranks is None else np.searchsorted(self._ranks, rows, side="right") - 1

    def inner(self) -> tuple[int, int]:
        """Return the range of entries that are neither exactly 0 nor exactly 1."""
        if self._inner is None:
            after = _kernel.locate(self.data.entries, np.array([0.0]), True)
            self._inner = int(after[0]), int(self.find(np.array([1.0]))[0])
        return self._inner


@register
@dataclass(frozen=True, slots=True, eq=False)
class Histogram(JsonMixin):
    """The numbers of rows between neighbouring `edges`, which are scores."""

    edges: Floats
    n: Ints


@register
@dataclass(frozen=True, slots=True)
class Scores:
    """All predictions: the numbers of exact zeros and ones, and histograms with cells of equal width in the score
    (`linear`) and in its log-odds (`logit`, without exact zeros and ones).

    The edges of `logit` are multiples of a decade of odds divided by a power of two, whatever the data. So every
    histogram whose range includes odds of 1e-5 has an edge there, and counts the predictions beyond exactly.
    """

    zeros: int
    ones: int
    linear: Histogram
    logit: Histogram

    @classmethod
    def of(cls, data: RankIndex) -> Scores:
        """Make the histograms of sorted rows."""
        first, last = data.inner()
        begin, end, total = data.before(np.array([first, last, len(data)])).tolist()
        zeros, ones = begin, total - end
        linear, logit = (_make_histogram(data, scale) for scale in (False, True))
        return cls(zeros, ones, linear, logit)


@register
@dataclass(frozen=True, slots=True, eq=False)
class Outline(JsonMixin):
    """The predictions of each bin on one scale.

    low, high
        The smallest and largest prediction of each bin; on the logit scale without exact zeros and ones, NaN if there
        are no others.
    width
        For each bin, the density of its predictions at points evenly spaced from low to high, in thousandths of the
        maximum.
    n_too_low, n_too_high
        For each cell of the histogram of all predictions, how many are rejected as too low and as too high.
    zeros, ones
        The same two of the exact zeros and of the exact ones that no cell of a logit histogram counts.
    """

    low: Floats
    high: Floats
    width: Ints
    n_too_low: Ints
    n_too_high: Ints
    zeros: Ints
    ones: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Rejected:
    """Bins that begin at these entries, and how many rows of each are rejected as too low and as too high: its first
    ones and its last ones, or `evenly` all over it."""

    starts: Ints
    n_too_low: Ints
    n_too_high: Ints
    evenly: bool = False

    @property
    def points(self) -> int:
        """How many points outline a bin."""
        return OUTLINE_POINTS if len(self.n_too_low) <= MOST_OUTLINED else 2

    def count(self, data: RankIndex, cuts: Ints) -> tuple[Ints, Ints]:
        """How many rows before each cut, which is a number of rows, are rejected as too low and as too high.

        The rare holes of an exact test are ignored; they move a few rows within their bin.
        """
        begins, sides = data.before(self.starts), (self.n_too_low, self.n_too_high)
        earlier = [np.concatenate([[0], np.cumsum(side)]) for side in sides]
        if self.evenly:
            low, high = (np.rint(np.interp(cuts, begins, before)).astype(np.int64) for before in earlier)
            return low, high
        at = np.minimum(np.searchsorted(begins, cuts, side="right"), len(begins) - 1) - 1
        (low, high), ends = earlier, begins[1:] - self.n_too_high
        return (
            low[at] + np.minimum(cuts - begins[at], self.n_too_low[at]),
            high[at] + np.maximum(cuts - ends[at], 0),
        )


@register
@dataclass(frozen=True, slots=True)
class Shape:
    """The outlines of a table's bins on the linear and on the logit scale."""

    linear: Outline
    logit: Outline

    @classmethod
    def of(cls, data: RankIndex, scores: Scores, tables: Sequence[Rejected]) -> list[Shape]:
        """The shapes of the bins of several tables of the same rows, which are traced together."""
        grids = [_count_cuts(scores, logit) for logit in (False, True)]
        cuts, size = np.concatenate(grids), len(grids[0])
        counted = np.diff(np.array([table.count(data, cuts) for table in tables]).reshape(len(tables), 2, len(cuts)))
        traced = [
            scales
            for points, alike in groupby(tables, lambda table: table.points)
            for scales in _trace_outlines(data, [table.starts for table in alike], points)
        ]
        outlines = (
            [
                Outline(*shape, n[0, 1:-1], n[1, 1:-1], n[:, 0], n[:, -1])
                for shape, n in zip(scales, np.split(each, [size - 1, size], axis=1)[::2], strict=True)
            ]
            for scales, each in zip(traced, counted, strict=True)
        )
        return [cls(*both) for both in outlines]


def _count_cuts(scores: Scores, logit: bool) -> Ints:
    """The rows before each edge of a histogram: before its first cell are exact zeros, after its last one exact
    ones."""
    found, zeros, ones = (scores.logit, scores.zeros, scores.ones) if logit else (scores.linear, 0, 0)
    return np.cumsum(np.concatenate([[0, zeros], found.n, [ones]]))


def bounded_log_odds(p: Floats | float) -> Floats:
    """Return log(p / (1 - p)), with p kept `FLOOR` away from 0 and 1."""
    kept = np.clip(p, FLOOR, 1 - FLOOR)
    return np.asarray(np.log(kept) - np.log1p(-kept))


def from_decades(decades: Floats | float) -> Floats:
    """Return the probabilities whose odds are 10 to these powers."""
    return np.asarray(1 / (1 + np.exp(-DECADE * np.asarray(decades))))


def space_evenly(low: Floats | float, high: Floats | float, points: int, logit: bool) -> Floats:
    """Space scores evenly on a scale; each pair of ends gives a row."""
    if not logit:
        return np.asarray(np.linspace(low, high, points, axis=-1))
    return _from_log_odds(np.linspace(bounded_log_odds(low), bounded_log_odds(high), points, axis=-1))


def _from_log_odds(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-x)))


def _make_histogram(data: RankIndex, logit: bool) -> Histogram:
    first, last = data.inner() if logit else (0, len(data))
    low, high = data.score(np.array([first, last - 1])) if last > first else np.array([0.5, 0.5])
    if low == high and not logit:
        low, high = max(low - 0.01, 0.0), min(low + 0.01, 1.0)
    if logit:
        edges = _space_decades(low, high)
    else:
        rounded = _space_rounded(data, low, high)
        edges = space_evenly(low, high, CELLS + 1, logit) if rounded is None else rounded
    return Histogram(edges, np.diff(data.before(data.cut(edges, np.array([first]), np.array([last])))))


def _space_rounded(data: RankIndex, low: float, high: float) -> Floats | None:
    """Return the edges of cells that hold equally many values each, up to the last, of scores that are all rounded to
    two or three decimals: cells of another width would hold now one and now two. None for other scores, and where cells
    are narrow enough to hold one value at most."""
    some = data.score(np.linspace(0, len(data) - 1, 8).astype(np.int64))
    for parts in (100, 1000):
        start, end = np.rint(np.array([low, high]) * parts).astype(np.int64).tolist()
        if end - start <= CELLS or (np.rint(some * parts) / parts != some).any():
            continue
        values = np.arange(start, end + 1) / parts
        at, after = data.before(data.find(np.concatenate([values, np.nextafter(values, 2)]))).reshape(2, -1)
        if (after - at).sum() == data.before(np.array([len(data)])).item():
            each = math.ceil(len(values) / CELLS)
            cells = math.ceil(len(values) / each)
            return np.asarray(np.clip((start - 0.5 + each * np.arange(cells + 1)) / parts, 0.0, 1.0))
    return None


def _space_decades(low: float, high: float) -> Floats:
    """Return the edges of 40 to 80 cells from low to high, each a decade divided by a power of two; fewer if these are
    close."""
    start, end = bounded_log_odds(np.array([low, high])) / DECADE
    step = 2.0 ** np.floor(np.log2(max(end - start, 0.5) / 40))
    first = np.floor(start / step)
    return from_decades(step * np.arange(first, max(np.ceil(end / step), first + 1) + 1))


def _trace_outlines(
    data: RankIndex, tables: Sequence[Ints], points: int
) -> Iterator[tuple[tuple[Floats, Floats, Ints], ...]]:
    """The outlines of the bins of tables that begin at these entries, each on the linear and on the logit scale."""
    places = np.cumsum([0, *(len(starts) - 1 for starts in (*tables, *tables))])
    begin, end = (np.concatenate([starts[part] for starts in tables]) for part in (slice(-1), slice(1, None)))
    first, last = (np.concatenate([entries, np.clip(entries, *data.inner())]) for entries in (begin, end))
    nonempty = last > first
    first, last, linear = first[nonempty], last[nonempty], int(np.count_nonzero(nonempty[: len(begin)]))
    low, high = np.full((2, len(nonempty)), np.nan)
    low[nonempty], high[nonempty] = ends = data.score(np.concatenate([first, last - 1])).reshape(2, -1)
    scaled = np.concatenate([ends[:, :linear], bounded_log_odds(ends[:, linear:])], axis=1)
    table = np.repeat(np.arange(len(places) - 1), np.diff(places))[nonempty]
    edges = _space_tables(scaled[0], scaled[1], points, table)
    edges[linear:] = _from_log_odds(edges[linear:])
    width = np.zeros((len(nonempty), points), dtype=np.int64)
    before = data.before(data.cut(edges, first, last)).ravel()
    width[nonempty] = _kernel.outlines(before, points, ends[0] == ends[1]).reshape(-1, points)
    found = [(low[a:b], high[a:b], width[a:b]) for a, b in pairwise(places.tolist())]
    return zip(found[: len(tables)], found[len(tables) :], strict=True)


def _space_tables(low: Floats, high: Floats, cells: int, table: Ints) -> Floats:
    """Space numbers evenly from low to high of each bin, to the last bit as `np.linspace` does for the bins of each
    table: steps are multiplied, or shares of the whole where a bin of the table has none."""
    whole, count = high - low, np.arange(cells + 1.0)
    step = whole / cells
    flat = (np.bincount(table, step == 0) > 0)[table]
    lines = count * step[:, None]
    lines[flat] = count / cells * whole[flat, None]
    lines += low[:, None]
    lines[:, -1] = high
    return lines
