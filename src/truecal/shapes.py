"""What pictures need of the predictions, in a size that does not depend on their number.

Counts on grids of fixed length, found by searching the tally for the grid's edges: no prediction is transformed, and
a hundred million of them give the same few numbers as ten thousand.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from truecal.binning import Partition
from truecal.tally import Bools, Floats, Ints, Tally

CELLS = 60
POINTS = 24
MOST_OUTLINED = 2000
FLOOR = 1e-9  # scores nearer to 0 or 1 are drawn as if they were this near on a logit axis


class _Arrays:
    """Equality for dataclasses of arrays."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        pairs = [(getattr(self, part.name), getattr(other, part.name)) for part in fields(self)]  # type: ignore[arg-type]
        return all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in pairs)

    __hash__ = None  # type: ignore[assignment]

    def _hold(self, kinds: dict[str, Any]) -> None:
        for name, kind in kinds.items():
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=kind))


@dataclass(frozen=True, slots=True, eq=False)
class Histogram(_Arrays):
    """Observations between neighbouring `edges`, which are scores; every counted observation is in a cell."""

    edges: Floats
    n: Ints

    def __post_init__(self) -> None:
        self._hold({"edges": np.float64, "n": np.int64})


@dataclass(frozen=True, slots=True)
class Scores:
    """All predictions: the exact zeros and ones among them, and histograms evenly spaced in the score (`linear`) and
    in its log-odds (`logit`, without the exact zeros and ones)."""

    zeros: int
    ones: int
    linear: Histogram
    logit: Histogram

    @classmethod
    def of(cls, tally: Tally, ranks: Ints) -> Scores:
        """The predictions of a tally, whose entries begin at the rows `ranks`."""
        first, last = _inner(tally)
        zeros, ones = int(ranks[first]), int(ranks[-1] - ranks[last])
        linear, logit = (_histogram(tally, ranks, scale) for scale in (False, True))
        return cls(zeros, ones, linear, logit)


@dataclass(frozen=True, slots=True, eq=False)
class Outline(_Arrays):
    """The predictions of each bin on one scale.

    low, high
        The bin's smallest and largest prediction; on the logit scale of those between 0 and 1, NaN if there are none.
    width
        For each bin, the density of its predictions at points evenly spaced from low to high, in thousandths of the
        largest.
    too_low, too_high
        For each cell of the histogram of all predictions, how many are rejected as too low and as too high.
    """

    low: Floats
    high: Floats
    width: Ints
    too_low: Ints
    too_high: Ints

    def __post_init__(self) -> None:
        integers = dict.fromkeys(("width", "too_low", "too_high"), np.int64)
        self._hold({"low": np.float64, "high": np.float64, **integers})


@dataclass(frozen=True, slots=True)
class Shape:
    """The outlines of a table's bins, evenly spaced in the score and in its log-odds."""

    linear: Outline
    logit: Outline

    @classmethod
    def of(cls, tally: Tally, ranks: Ints, scores: Scores, partition: Partition, rejected: tuple[Ints, Ints]) -> Shape:
        """The shape of bins of which so many observations are rejected as too low and as too high."""
        outlines = []
        for logit in (False, True):
            grid = (scores.logit if logit else scores.linear).edges
            first, last = _inner(tally) if logit else (0, len(tally))
            cuts = ranks[_places(tally, grid, first, last)]
            sides = _between(cuts, ranks[partition.starts], *rejected)
            outlines.append(Outline(*_outline(tally, ranks, partition.starts, logit), *sides))
        return cls(*outlines)


def rank(tally: Tally) -> Ints:
    """How many observations come before each entry of a tally, and all of them at the end."""
    if tally.total == len(tally):
        return np.arange(len(tally) + 1)
    ranks = np.zeros(len(tally) + 1, dtype=np.int64)
    np.cumsum(tally.n, out=ranks[1:])
    return ranks


def log_odds(p: Floats | float) -> Floats:
    """log(p / (1 - p)) with p kept `FLOOR` away from 0 and 1."""
    kept = np.clip(p, FLOOR, 1 - FLOOR)
    return np.asarray(np.log(kept) - np.log1p(-kept))


def spaced(low: Floats | float, high: Floats | float, points: int, logit: bool) -> Floats:
    """Scores evenly spaced on a scale, a row for each pair of ends."""
    if not logit:
        return np.asarray(np.linspace(low, high, points, axis=-1))
    return np.asarray(1 / (1 + np.exp(-np.linspace(log_odds(low), log_odds(high), points, axis=-1))))


def _inner(tally: Tally) -> tuple[int, int]:
    """The entries that are neither exactly 0 nor exactly 1."""
    return int(tally.score[0] == 0), len(tally) - int(tally.score[-1] == 1)


def _places(tally: Tally, edges: Floats, first: int | Ints, last: int | Ints) -> Ints:
    """The entries at which cells begin: all entries from first to last are in a cell, whatever rounding did."""
    places = np.searchsorted(tally.score, edges)
    places[..., 0], places[..., -1] = first, last
    low, high = np.asarray(first), np.asarray(last)
    return np.clip(places, low[..., None], high[..., None])


def _histogram(tally: Tally, ranks: Ints, logit: bool) -> Histogram:
    first, last = _inner(tally) if logit else (0, len(tally))
    low, high = tally.score[[first, last - 1]] if last > first else np.array([0.5, 0.5])
    if logit:
        low, high = np.clip([low, high], FLOOR, 1 - FLOOR)
    if low == high:
        low, high = (low * 0.9, low + 0.1 * (1 - low)) if logit else (max(low - 0.01, 0.0), min(low + 0.01, 1.0))
    edges = spaced(low, high, CELLS + 1, logit)
    return Histogram(edges, np.diff(ranks[_places(tally, edges, first, last)]))


def _outline(tally: Tally, ranks: Ints, starts: Ints, logit: bool) -> tuple[Floats, Floats, Ints]:
    first, last = starts[:-1], starts[1:]
    if logit:
        inner = _inner(tally)
        first, last = np.clip(first, *inner), np.clip(last, *inner)
    held = last > first
    first, last = first[held], last[held]
    low, high = np.full((2, len(held)), np.nan)
    low[held], high[held] = tally.score[first], tally.score[last - 1]
    points = POINTS if len(held) <= MOST_OUTLINED else 2
    width = np.zeros((len(held), points), dtype=np.int64)
    edges = spaced(low[held], high[held], points + 1, logit)
    width[held] = _smoothed(np.diff(ranks[_places(tally, edges, first, last)]), low[held] == high[held])
    return low, high, width


def _smoothed(n: Ints, flat: Bools) -> Ints:
    """Counts as thousandths of their largest, after averaging neighbours."""
    density = n.astype(np.float64)
    for _ in range(2):
        wide = np.pad(density, ((0, 0), (1, 1)), mode="edge")
        density = (wide[:, :-2] + 2 * wide[:, 1:-1] + wide[:, 2:]) / 4
    density[flat] = 1.0
    return np.asarray(np.rint(1000 * density / density.max(axis=1, keepdims=True)), dtype=np.int64)


def _between(cuts: Ints, begins: Ints, too_low: Ints, too_high: Ints) -> tuple[Ints, Ints]:
    """Rejected observations between row ranks: too low are a bin's first ones, too high its last.

    (But for the rare holes of an exact test, which move a few within their bin.)
    """

    def count(steps: Ints, turns: Ints) -> Ints:
        knots = np.stack([begins[:-1], turns, begins[1:]], axis=1).ravel()
        seen = np.interp(cuts, knots, np.cumsum(steps))
        return np.asarray(np.diff(np.rint(seen)), dtype=np.int64)

    nothing = np.zeros_like(too_low)
    return (
        count(np.stack([nothing, too_low, nothing], axis=1).ravel(), begins[:-1] + too_low),
        count(np.stack([nothing, nothing, too_high], axis=1).ravel(), begins[1:] - too_high),
    )
