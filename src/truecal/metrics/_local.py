"""Local TCE: the share of predictions in rejected score windows.

It is truecal's own variant of TCE, not in the paper. Windows are chosen without using the labels, overlap, and are each
tested as a whole against their own predictions (Poisson-binomial), by a fractional decision of exactly its level. A
calibrated model therefore scores the level on average, at every size, prevalence and distribution of scores. The
definition is on cells (`Cells`), so that rows, files, engines and merged tallies agree.

Windows. With v = sum of p (1 - p) of a cell, V of all, N rows, m = N^(2/3) and w = V^(2/3), a cell costs c = max(n / m,
v / w), rounded to a multiple of 2^-30. A cell of cost 1 or more stands alone. In each run of lighter cells of total
cost R, grid h = 0..7 cuts after a cell, though not the last, where the running cost a >= next and R - a >= 1/2. The
first `next` is h/8 for h >= 4, else 1 + h/8; after a cut it is the smallest h/8 + j above a, plus 1 if that is below
a + 1/2.

Decision. With X the Poisson-binomial number of positives, k the observed number and s the significance,

    too_low = clip((s/2 - P(X > k)) / P(X = k), 0, 1),   too_high = clip((s/2 - P(X < k)) / P(X = k), 0, 1):

fractional at the boundary, so that the expectation of the sum is s. If P(X = k) = 0, it is 1 if the tail is below s/2.
A tolerance raises every p for too_low and lowers it for too_high; then s is an upper bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from truecal import _kernel
from truecal._options import LevelOptions, ToleranceOptions, declare
from truecal.data import (
    Bools,
    CellGroups,
    Cells,
    Floats,
    Ints,
    Numbers,
    PowerSums,
    Sorted,
    Tally,
    find_distinct,
    unchecked,
)
from truecal.metrics._binning import Partition, check_rows, edges_between
from truecal.metrics._decisions import Tolerance, as_tolerance, check_significance
from truecal.metrics._directions import Direction
from truecal.metrics._poisson_binomial import OddsRatio, PoissonBinomial
from truecal.metrics._population import count_positives

GRIDS = 8  # overlapping grids, shifted by eighths of a window
Weight = Literal["rows", "information"]
Level = tuple[float, Tolerance | None]
Untouched = tuple[Ints, Ints, Floats]  # as the kernel returns them
Decided = dict[int, tuple[float, float]]  # the rejected shares, too low and too high, by window and positives


@dataclass(frozen=True, slots=True)
class Windows:
    """The score windows of Local TCE, of similar size and information, chosen without using the labels.

    The bins are the windows of the first of the eight grids.

    Examples
    --------
    >>> from truecal import Tally
    >>> from truecal.metrics import Windows
    >>> Windows().partition(Tally.from_arrays([0, 1, 0, 1, 1], [0.1, 0.2, 0.2, 0.7, 0.8])).n.tolist()
    [3, 2]
    """

    words: ClassVar[str] = "windows chosen without labels"

    def partition(self, data: Sorted) -> WindowPartition:
        check_rows(data)
        cells = Cells.of(data)
        places = np.concatenate([[0], np.cumsum(cells.n)])
        if len(data) < data.n_rows:
            places = np.searchsorted(np.cumsum(data.tally.n), places, side="right")
        return WindowPartition.of(data, cells, places)

    def partition_cells(self, cells: Cells) -> tuple[Tally, WindowPartition]:
        """Return the cells as a tally, and their windows."""
        data = unchecked(cells.p, cells.n, cells.pos, cells.sampling)
        check_rows(data)
        return data, WindowPartition.of(data, cells, np.arange(len(cells) + 1))


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class WindowPartition(Partition):
    """The windows of the first grid, and what the decisions of all eight grids need.

    `places` are the first entries of the cells, `grids` the first cells of the windows of each grid. `pieces` are the
    intersections of the windows of all grids with those of the first: the numbers of both windows, rows, information.
    None of these depends on labels.

    `relabelled` windows have other labels than those that were read. They share what does not depend on labels, either.
    Of rows in clusters that is `decided`, the decision of a window by its number of positives; of independent rows
    `untouched`, the sums of cells against which windows are tested as too low, and as too high if these differ, and
    the numbers of positives at which a window is not rejected then, with the rejected shares beside these.
    """

    cells: Cells
    places: Ints
    grids: tuple[Ints, ...]
    pieces: tuple[Ints, Ints, Ints, Floats]
    decided: dict[Level, Decided] = field(default_factory=dict)
    untouched: dict[Level, list[tuple[PowerSums, Untouched]]] = field(default_factory=dict)
    relabelled: bool = False

    @classmethod
    def of(cls, data: Sorted, cells: Cells, places: Ints) -> WindowPartition:
        """Find the windows of cells whose first entries among the data are given."""
        grids = find_windows(CellGroups.of([cells]))
        first, starts = grids[0], places[grids[0]]
        n, k = (np.add.reduceat(column, first[:-1]) for column in (cells.n, cells.pos))
        pieces = _cut_pieces(cells, grids)
        return cls(starts, n, k, edges_between(data, starts), cells=cells, places=places, grids=grids, pieces=pieces)

    def relabel(self, data: Tally) -> WindowPartition:
        """Return the windows of the same scores with other labels."""
        pos = data.pos if len(self.cells) == len(data) else np.add.reduceat(data.pos, self.places[:-1])
        k = np.add.reduceat(pos, self.grids[0][:-1])
        return replace(self, k=k, cells=self.cells.with_positives(pos), relabelled=True)

    def shares(self, significance: float, tolerance: Tolerance | None, weight: Weight) -> tuple[Floats, Floats]:
        """Return the shares of each window rejected as too low and as too high: means over its cells and the grids."""

        def compute() -> tuple[Floats, Floats]:
            window, first, rows, v = self.pieces
            size = v if weight == "information" else self._stand_for(rows)
            whole = np.bincount(first, size)
            low, high = (
                np.bincount(first, size * side[window]) / np.where(whole > 0, whole, 1.0)
                for side in self._decide(significance, tolerance)
            )
            return low, high

        return self.cells.cached(("shares", significance, tolerance, weight), compute)

    @property
    def information(self) -> Floats:
        """The information of each window."""
        return np.asarray(np.add.reduceat(self.cells.v, self.grids[0][:-1]))

    def _stand_for(self, rows: Ints) -> Ints | Floats:
        """The population rows that the rows of the pieces represent."""
        if self.cells.sampling.plain:
            return rows
        begins = (find_distinct(np.concatenate([self.grids[0], grid]))[:-1] for grid in self.grids)
        return np.concatenate([np.add.reduceat(self.cells.population.n, begin) for begin in begins])

    def p_values(self, tolerance: Tolerance | None) -> Floats:
        """Return the exact p-value of each window."""
        return find_tails(CellGroups.of([self.cells]), tolerance).p_values

    def _decide(self, significance: float, tolerance: Tolerance | None) -> Floats | tuple[Floats, Floats]:
        """The shares of all grids' windows that are rejected as too low and as too high."""
        if not self.relabelled:
            return decide_groups(CellGroups.of([self.cells]), significance, tolerance)
        if self.cells.clusters is None or (positives := PoissonBinomial.of(self.cells)).design is None:
            return self._decide_quickly(significance, tolerance)
        known = self.decided.setdefault((significance, tolerance), {})
        running = np.concatenate([[0], np.cumsum(self.cells.pos)])
        k = np.concatenate([np.diff(running[grid]) for grid in self.grids])
        keys = (np.arange(len(k)) * (self.cells.n_rows + 1) + k).tolist()
        new = [i for i, key in enumerate(keys) if key not in known]
        if new:
            decided = Tails.of(positives, self.grids, tolerance, np.array(new)).decide(significance)
            sides = (side.tolist() for side in decided)
            known.update(zip((keys[i] for i in new), zip(*sides, strict=True), strict=True))
        return np.array([known[key] for key in keys]).T

    def _decide_quickly(self, significance: float, tolerance: Tolerance | None) -> tuple[Floats, Floats]:
        """The same for independent rows, of which most windows need no test."""
        cells, windows = self.cells, _list_windows(self.grids)
        if (significance, tolerance) not in self.untouched:
            sums = [side.sums for side in PoissonBinomial.of(cells).sides(tolerance)]
            self.untouched[significance, tolerance] = [
                (own, _kernel.untouched_heads(cells.n, own, cells.upper, *windows, significance)) for own in sums
            ]
        shares = [
            _kernel.window_shares(cells.n, cells.pos, sums, cells.upper, *windows, significance, untouched)
            for sums, untouched in self.untouched[significance, tolerance]
        ]
        return shares[0][0], shares[-1][1]


@dataclass(frozen=True, slots=True)
class ScoreBand:
    """A score band: neighbouring windows, such as those rejected in the same direction.

    `low` and `high` are the mean predictions of the first and the last cell. `odds_ratio` is estimated from the
    positives, with its exact confidence interval. `proven` says that one of the windows stays rejected after Holm's
    adjustment for the number of windows. If rows were sampled by label, `observed` and `expected` describe the
    population, `rows` the sample.

    Examples
    --------
    >>> import truecal
    >>> for span in truecal.evaluate([0, 1] * 100, [0.2] * 100 + [0.3] * 100).verdict.bands:
    ...     print(span.low, span.high, span.rows, span.observed, round(span.expected, 1), span.direction)
    0.2 0.2 100 50 20.0 under-predicts
    0.3 0.3 100 50 30.0 under-predicts
    """

    direction: Direction | None
    low: float
    high: float
    rows: int
    observed: float
    expected: float
    odds_ratio: OddsRatio
    proven: bool
    population: float | None = None  # its rows, if they differ from `rows`

    @property
    def ratio(self) -> float:
        """Observed over expected."""
        return self.observed / self.expected if self.expected > 0 else math.inf

    @property
    def shares(self) -> tuple[float, float]:
        """The predicted and the observed rate of positives."""
        rows = self.rows if self.population is None else self.population
        return self.expected / rows, self.observed / rows


@dataclass(frozen=True, slots=True)
class LocalError:
    """Local TCE and where it comes from.

    Parameters
    ----------
    value : float
        The percentage of predictions in rejected windows, over the eight grids. A calibrated model scores 100 x
        significance on average, with a tolerance at most that.
    information : float or None
        The percentage of the information, v instead of rows. It ignores predictions of 0 and 1, so read it beside
        `value`, never alone. None if all predictions are 0 or 1.
    too_low, too_high : float
        `value` by direction.
    proven : float
        The percentage of predictions in windows of the first grid that stay rejected after Holm's adjustment for the
        number of windows.
    p_value : float
        The smallest Holm-adjusted p-value of a window; small for models that are miscalibrated in some window.
    windows : int
        Windows of the first grid.
    bands : tuple of ScoreBand
        Runs of neighbouring windows of the first grid rejected in the same direction. Calibrated models have some, too:
        look at `proven`.

    Examples
    --------
    >>> from truecal import Tally
    >>> from truecal.metrics import local_error
    >>> from truecal.data import Cells
    >>> found = local_error(Cells.of(Tally.from_arrays([0, 1] * 100, [0.3] * 200)))
    >>> found.value, found.too_low, len(found.bands)
    (100.0, 100.0, 1)
    """

    value: float
    information: float | None
    too_low: float
    too_high: float
    proven: float
    p_value: float
    windows: int
    bands: tuple[ScoreBand, ...]


@declare(
    first=(
        LevelOptions,
        ToleranceOptions,
    )
)
def local_error(cells: Cells, significance: float = 0.05, tolerance: Tolerance | float | None = None) -> LocalError:
    """Compute Local TCE of observations in cells.

    Parameters
    ----------
    cells : Cells
        The rows, summed by cells.

    Examples
    --------
    >>> import numpy as np
    >>> from truecal.data import Cells
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(0.5, 5, size=20_000)
    >>> y = rng.random(20_000) < p
    >>> round(local_error(Cells.from_arrays(y, p)).value, 1)
    5.7
    >>> halved = local_error(Cells.from_arrays(y, p / 2))
    >>> halved.value > 80, halved.bands[-1].direction
    (True, 'under-predicts')
    """
    check_significance(significance)
    if not len(cells):
        raise ValueError("Local TCE needs at least one row; there is none.")
    (error,) = find_local_errors(CellGroups.of([cells]), significance, as_tolerance(tolerance))
    return error


def find_local_errors(groups: CellGroups, significance: float, tolerance: Tolerance | None) -> list[LocalError]:
    """Compute Local TCE of each of several groups of rows."""
    cells, count = groups.cells, len(groups)
    grids, decided = find_windows(groups), decide_groups(groups, significance, tolerance)
    begin, end = _list_windows(grids)
    owner = groups.owners(begin)
    population: Any = cells.n if cells.sampling.plain else cells.population.n
    rows, v = add_windows(population, begin, end), add_windows(cells.v, begin, end)
    total, information = groups.add(population), groups.add(cells.v)
    low, high = (100 * np.bincount(owner, rows * side, count) / (GRIDS * total) for side in decided)
    rejected = np.bincount(owner, v * (decided[0] + decided[1]), count)
    first = grids[0]
    windows, smallest, proven = prove_windows(groups, significance, tolerance)
    share = 100 * np.bincount(owner[: len(first) - 1], rows[: len(first) - 1] * proven, count) / total
    bands: list[list[ScoreBand]] = [[] for _ in range(count)]
    for at, band in _find_bands(groups, first, decided, proven, significance):
        bands[at].append(band)
    with np.errstate(divide="ignore", invalid="ignore"):
        by_information = 100 * rejected / (GRIDS * information)
    columns = (column.tolist() for column in (low + high, by_information, low, high, share, smallest, windows))
    return [
        LocalError(value, None if math.isnan(weighted) else weighted, under, over, share, p, number, tuple(group_bands))
        for value, weighted, under, over, share, p, number, group_bands in zip(*columns, bands, strict=True)
    ]


def apply_holm(p_values: Floats, windows: Ints, significance: float) -> tuple[Floats, Bools]:
    """Return the smallest Holm-adjusted p-value of each group, and which windows stay rejected."""
    owner = np.repeat(np.arange(len(windows)), windows)
    first = np.cumsum(windows) - windows
    order = np.lexsort((p_values, owner))
    left = np.repeat(windows, windows) - (np.arange(len(owner)) - first[owner])  # those not rejected before
    steps = p_values[order] * left
    failed = np.cumsum(steps > significance)
    before = failed[first] - (steps[first] > significance)
    proven = np.empty(len(owner), dtype=np.bool_)
    proven[order] = failed == before[owner]
    return np.minimum(steps[first], 1.0), proven


def costs(groups: CellGroups) -> Ints:
    """Return the cost of each cell as a share of a window of its group, in units of 2^-30."""
    return _kernel.window_costs(groups.cells.n, groups.cells.v, groups.starts)


def find_windows(groups: CellGroups) -> tuple[Ints, ...]:
    """Return the first cells of the windows of each grid, and the end of the last one.

    No window has cells of two groups.
    """
    return groups.cached("windows", lambda: _kernel.window_starts(costs(groups), groups.starts))


def _cut_pieces(cells: Cells, grids: tuple[Ints, ...]) -> tuple[Ints, Ints, Ints, Floats]:
    """The intersections of the windows of all grids with those of the first; windows are numbered over all grids."""
    room = len(cells) + 1  # grids are concatenated: cell i of grid g has the number g * room + i
    starts = np.concatenate([grid + number * room for number, grid in enumerate(grids)])
    firsts = np.concatenate([grids[0] + number * room for number in range(len(grids))])
    cuts = find_distinct(np.concatenate([starts, firsts]))
    number, position = np.divmod(cuts, room)
    held = position[:-1] < len(cells)  # where a grid ends, no piece begins
    cuts, number, begin, end = cuts[:-1][held], number[:-1][held], position[:-1][held], position[1:][held]
    window = np.searchsorted(starts, cuts, side="right") - 1 - number
    first = np.searchsorted(firsts, cuts, side="right") - 1 - number * len(grids[0])
    return window, first, add_windows(cells.n, begin, end), add_windows(cells.v, begin, end)


def add_windows(column: Numbers, begin: Ints, end: Ints) -> Numbers:
    """Return the sum of a column over each window begin..end, none of them empty."""
    if column.dtype.kind == "i":
        running = np.concatenate([[0], np.cumsum(column)])
        return np.asarray(running[end] - running[begin])
    pairs = np.stack([begin, end], axis=1).ravel()
    return np.asarray(np.add.reduceat(np.append(column, column.dtype.type(0)), pairs)[::2])


class Tails(NamedTuple):
    """P(X = k) and P(X > k) with raised predictions, P(X = k) and P(X < k) with lowered ones.

    Without a tolerance both are the predictions themselves.
    """

    at_raised: Floats
    above: Floats
    at_lowered: Floats
    below: Floats

    @classmethod
    def of(
        cls,
        positives: PoissonBinomial,
        starts: tuple[Ints, ...],
        tolerance: Tolerance | None,
        chosen: Ints | None = None,
    ) -> Tails:
        """Compute the tails of all windows; or of those chosen, which do not depend on the choice in their last bits:
        windows that overlap are computed apart."""
        begin, end = _list_windows(starts)
        cuts: Ints | None = None
        if chosen is not None:
            begin, end = begin[chosen], end[chosen]
            cuts = np.searchsorted(chosen, np.cumsum([len(grid) - 1 for grid in starts[:-1]]))
        tails = [side.tails(begin, end, cuts) for side in positives.sides(tolerance)]
        (_, at_raised, above), (below, at_lowered, _) = tails[0], tails[-1]
        return cls(at_raised, above, at_lowered, below)

    def decide(self, significance: float) -> tuple[Floats, Floats]:
        """Return the shares of each window that are rejected as too low and as too high."""
        return (
            _rejected_share(significance / 2, self.above, self.at_raised),
            _rejected_share(significance / 2, self.below, self.at_lowered),
        )

    @property
    def p_values(self) -> Floats:
        """The exact two-sided p-values: twice the smaller tail, including k."""
        tail = np.minimum(self.above + self.at_raised, self.below + self.at_lowered)
        return np.asarray(np.minimum(2 * tail, 1.0))


def _list_windows(starts: tuple[Ints, ...]) -> tuple[Ints, Ints]:
    """The first cells and the ends of all windows."""
    begin, end = (np.concatenate([s[part] for s in starts]) for part in (slice(None, -1), slice(1, None)))
    return begin, end


def find_tails(groups: CellGroups, tolerance: Tolerance | None) -> Tails:
    """Return the tails of the windows of the first grid."""

    def compute() -> Tails:
        return Tails.of(PoissonBinomial.in_groups(groups), find_windows(groups)[:1], tolerance)

    return groups.cached(("tails", tolerance), compute)


def prove_windows(groups: CellGroups, significance: float, tolerance: Tolerance | None) -> tuple[Ints, Floats, Bools]:
    """Return the number of windows of each group in the first grid, their smallest Holm-adjusted p-value, and which of
    all windows stay rejected."""

    def compute() -> tuple[Ints, Floats, Bools]:
        windows = np.diff(np.searchsorted(find_windows(groups)[0], groups.starts))
        return windows, *apply_holm(find_tails(groups, tolerance).p_values, windows, significance)

    return groups.cached(("proven", significance, tolerance), compute)


def decide_groups(groups: CellGroups, significance: float, tolerance: Tolerance | None) -> tuple[Floats, Floats]:
    """Return the shares of the windows of all grids that are rejected as too low and as too high."""

    def compute() -> tuple[Floats, Floats]:
        return decide_windows(PoissonBinomial.in_groups(groups), find_windows(groups), significance, tolerance)

    return groups.cached(("decided", significance, tolerance), compute)


def decide_windows(
    positives: PoissonBinomial,
    starts: tuple[Ints, ...],
    significance: float,
    tolerance: Tolerance | None,
) -> tuple[Floats, Floats]:
    """Return the shares of all windows that are rejected as too low and as too high."""
    if positives.design is not None:
        return Tails.of(positives, starts, tolerance).decide(significance)
    windows = _list_windows(starts)
    shares = [
        _kernel.window_shares(side.n, side.pos, side.sums, side.upper, *windows, significance, None)
        for side in positives.sides(tolerance)
    ]
    return shares[0][0], shares[-1][1]


def reject_windows(cells: Cells, significance: float) -> tuple[Ints, Floats, Floats]:
    """Return the rows of each window of the first grid, and the shares rejected as too low and as too high."""
    return _kernel.local_shares(cells.n, cells.pos, cells.powers, cells.upper, significance)


def _rejected_share(limit: float, tail: Floats, at: Floats) -> Floats:
    """The share of a window that is rejected on one side."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        share = np.clip((limit - tail) / at, 0.0, 1.0)
    return np.where(at > 0, share, (tail < limit) * 1.0)


def _find_bands(
    groups: CellGroups,
    starts: Ints,
    decided: tuple[Floats, Floats],
    proven: Bools,
    significance: float,
) -> list[tuple[int, ScoreBand]]:
    """Runs of windows of one group that are rejected in the same direction, with the numbers of their groups.

    A window counts as rejected if at least half of it is, which is the mid-p test.
    """
    cells, count = groups.cells, len(starts) - 1
    way = np.where(decided[0][:count] >= 0.5, 1, np.where(decided[1][:count] >= 0.5, -1, 0))
    owner = groups.owners(starts[:-1])
    new = (way[1:] != way[:-1]) | (owner[1:] != owner[:-1])
    edges = np.append(0, np.flatnonzero(new) + 1)
    last = np.append(edges[1:], count)
    rejected = way[edges] != 0
    edges, last = edges[rejected], last[rejected]
    begin, end = starts[edges], starts[last]
    counts = count_positives(groups, begin, end, significance)
    p = cells.sampling.to_population(cells.p)
    bands = []
    for i, (b, e, positives) in enumerate(zip(begin.tolist(), end.tolist(), counts, strict=True)):
        window = int(edges[i])
        one = ScoreBand(
            direction=Direction.UNDER if way[window] > 0 else Direction.OVER,
            low=float(p[b]),
            high=float(p[e - 1]),
            rows=int(cells.n[b:e].sum()),
            observed=positives.observed,
            expected=positives.expected,
            odds_ratio=positives.factor,
            proven=bool(proven[window : last[i]].any()),
            population=positives.population,
        )
        bands.append((int(owner[window]), one))
    return bands
