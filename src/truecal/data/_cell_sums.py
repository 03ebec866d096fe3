"""Cells of 12 significant bits, with the sums from which Local TCE and the verdict are computed.

They are defined on these cells, so that arrays, files, database engines and merged tallies give the same value. A
cell is 1/2048 of its scores wide or less; taking the rows of a cell as equal changes the variance of a sum of labels
by less than 2^-24 of itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from truecal import _kernel
from truecal._text import plural
from truecal._threads import check_threads
from truecal.data._arrays import AnyArray, Bools, Classes, Floats, Ints, Numbers, check_values, count_threads
from truecal.data._clusters import Clusters
from truecal.data._grid import GridTally, cell
from truecal.data._sampling import NO_SAMPLING, Sampling, check_same, check_sampling
from truecal.data._tally import (
    Population,
    SortedRows,
    Tally,
    check_entries,
    check_total,
    read_sampled,
    whole_numbers,
)

CELL_BITS = 12
MOST_CELL_ROWS = 2**31  # of one call: the kernel counts in 32 bits
SumColumns = tuple[Floats, Ints, Ints, Floats, Floats, Floats]
SUM_NAMES = ("key", "n", "pos", "s1", "s2", "s3")
CELLS_AT_ONCE = 2**15  # of a batch of groups: their columns fit a cache
Part = Tally | GridTally | SortedRows
T = TypeVar("T")


def compute_once(known: dict[object, Any], key: object, compute: Callable[[], T]) -> T:
    """Return what is known by a key; at its first use it is computed."""
    if key not in known:
        known[key] = compute()
    value: T = known[key]
    return value


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CellSums:
    """Cells of 12 bits in increasing order, with sums of q = min(p, 1 - p) over their rows. They add.

    Sums are of q and not of the score p, so that scores near 1 lose no digits.

    Parameters
    ----------
    key : array of float64
        The cells, as `truecal.data.cell(score, 12)` names them; strictly increasing.
    n, pos : arrays of int64
        Rows (at least 1) and positives (0 to n) of each cell.
    s1, s2, s3 : arrays of float64
        The sums of q, q^2 and q^3 over the rows of each cell.
    sampling : Sampling
        How rows and labels were sampled, as in `Tally`.
    clusters : Clusters, optional
        Which rows share a customer, a patient or a document. Without it rows are taken as independent.

    Examples
    --------
    >>> from truecal.data import CellSums
    >>> cells = CellSums.from_arrays([0, 1, 1, 0], [0.25, 0.25, 0.875, 0.0])
    >>> cells
    CellSums(3 cells, 4 rows, 2 positive)
    >>> cells.p.tolist(), cells.v.tolist()
    ([0.0, 0.25, 0.875], [0.0, 0.375, 0.109375])
    """

    key: Floats
    n: Ints
    pos: Ints
    s1: Floats
    s2: Floats
    s3: Floats
    sampling: Sampling = NO_SAMPLING
    clusters: Clusters | None = None
    _known: dict[object, Any] = field(default_factory=dict, init=False)  # derived quantities by key

    def __post_init__(self) -> None:
        key, s1, s2, s3 = (
            np.ascontiguousarray(column, dtype=np.float64) + 0.0 for column in (self.key, self.s1, self.s2, self.s3)
        )
        n, pos = (whole_numbers(values, name) for name, values in (("n", self.n), ("pos", self.pos)))
        columns = key, n, pos, s1, s2, s3
        if any(column.shape != key.shape[:1] for column in columns):
            shapes = ", ".join(str(column.shape) for column in columns)
            raise ValueError(f"The columns of cells must be of one length; their shapes are {shapes}.")
        check_entries("key", "lie in [0, 1]", key, ~((key >= 0) & (key <= 1)))
        check_entries("key", "increase strictly", key, np.diff(key, prepend=-1.0) <= 0)
        check_entries("key", f"be a cell of {CELL_BITS} bits", key, cell(key, CELL_BITS) != key)
        check_entries("n", "be 1 or more", n, n < 1)
        check_entries("pos", "lie in 0..n", pos, (pos < 0) | (pos > n))
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = s1 / n
            spread = np.asarray(1 + n * 2.0**-50, dtype=np.float64)  # sums of n numbers, added in whatever order
            check_entries("s1", "be a sum of q in its cell", s1, ~_is_near(mean, key, spread))
            for name, column, power in (("s2", s2, 2), ("s3", s3, 3)):
                ratio = np.where(mean**power > 0, column / (n * mean**power), 1.0)
                right = (ratio >= 1 / spread) & (ratio <= (1 + 2.0**-9) * spread)
                check_entries(name, f"be a sum of q^{power} in its cell", column, ~right)
        check_total(n)
        self._hold(columns, check_sampling(self.sampling), self.clusters)

    def _hold(self, columns: SumColumns, sampling: Sampling, clusters: Clusters | None) -> None:
        object.__setattr__(self, "sampling", sampling)
        object.__setattr__(self, "clusters", clusters)
        object.__setattr__(self, "_known", {})
        for name, column in zip(SUM_NAMES, columns, strict=True):
            column.flags.writeable = False
            object.__setattr__(self, name, column)

    @classmethod
    def from_arrays(
        cls,
        y_true: Any,
        y_prob: Any,
        sample_weight: Any = None,
        pos_label: Any = None,
        sampling: Sampling = NO_SAMPLING,
        cluster: Any = None,
        pooled: bool = False,
        threads: int | None = None,
    ) -> CellSums:
        """Collect the cells of rows, in one pass and without a sort; see `Tally.from_arrays` and `of`.

        `threads` are all cores from a million rows on, by default; the cells do not depend on them.
        """
        check_threads(threads)
        if sample_weight is not None or cluster is not None:
            return cls.of(Tally.from_arrays(y_true, y_prob, sample_weight, pos_label, sampling, cluster), pooled)
        score, label = read_sampled(y_true, y_prob, pos_label, sampling)
        options = pooled, count_threads(len(score), threads)
        cells = _sum_rows(score[:MOST_CELL_ROWS], label[:MOST_CELL_ROWS], sampling, *options)
        for begin in range(MOST_CELL_ROWS, len(score), MOST_CELL_ROWS):
            cells = cells + _sum_rows(
                score[begin : begin + MOST_CELL_ROWS], label[begin : begin + MOST_CELL_ROWS], sampling, *options
            )
        return cells

    @staticmethod
    def of_classes(classes: Classes, first: int, last: int) -> list[CellSums]:
        """Collect the pooled cells of some classes, each against the rest; see `of`."""
        class_columns = _kernel.cell_classes(classes.probabilities, classes.target, first, last)
        return [unchecked_sums(columns) for columns in class_columns]

    @classmethod
    def of(cls, data: Part, pooled: bool = False) -> CellSums:
        """Collect the cells of observations that are grouped or sorted already.

        Pooled cells are fewer: they have one bit less for each two powers of two by which q is smaller. Taking the rows
        of such a cell as equal changes the variance of a sum of labels by less than 2^-24 of itself, as in cells of 12
        bits, since that change is of the order of q times the square of the cell's relative width. Rows in clusters
        are not pooled, since clusters refer to cells of 12 bits.

        Those of a `Tally` or `SortedRows` are those of the rows, to the last bit. A `GridTally` has only the mean of a
        cell: its scores are taken as equal, which changes s2 and s3 by less than 2^-24 and 2^-22 of themselves if
        it has 12 bits or more; its sums of scores near 1 have lost digits of q. One of fewer bits
        keeps its coarser cells.
        """
        if isinstance(data, GridTally):
            grid = _of_grid(data.coarsen(min(CELL_BITS, data.bits)))
            return grid.pool() if pooled and grid.clusters is None else grid
        cells = unchecked_sums(_kernel.cell_sums(data.entries, pooled and data.clusters is None), data.sampling)
        if data.clusters is None:
            return cells
        return unchecked_sums(cells.columns, data.sampling, data.clusters.group(cells.cell_of(data.tally)))

    def cell_of(self, tally: Tally) -> Ints:
        """Return the cell of each score of the tally that the cells were made from."""
        ends = np.searchsorted(np.cumsum(tally.n), np.cumsum(self.n)) + 1
        return np.repeat(np.arange(len(self)), np.diff(ends, prepend=0))

    @property
    def columns(self) -> SumColumns:
        """key, n, pos, s1, s2, s3."""
        return self.key, self.n, self.pos, self.s1, self.s2, self.s3

    def cached(self, key: object, compute: Callable[[], T]) -> T:
        """Return a quantity of the cells that is computed at its first use and kept with them."""
        return compute_once(self._known, key, compute)

    def _keep(self, name: str, compute: Callable[[], AnyArray]) -> AnyArray:
        """A read-only column that is computed at its first use."""
        column = self.cached(name, compute)
        column.flags.writeable = False
        return column

    @property
    def upper(self) -> Bools:
        """Whether a cell lies at or above 0.5, so that q is 1 - p."""
        return self._keep("upper", lambda: np.asarray(self.key >= 0.5))

    @property
    def certain(self) -> Ints:
        """The cells whose scores are exactly 0 or exactly 1."""
        return self._keep("certain", lambda: np.flatnonzero(self.s1 == 0))

    @property
    def q(self) -> Floats:
        """The mean q of each cell."""
        return self._keep("q", lambda: np.asarray(self.s1 / self.n))

    @property
    def p(self) -> Floats:
        """The mean score of each cell."""
        return self._keep("p", lambda: np.where(self.upper, 1 - self.q, self.q))

    @property
    def v(self) -> Floats:
        """The information of each cell: the sum of p (1 - p)."""
        return self._keep("v", lambda: np.maximum(self.s1 - self.s2, 0.0))

    @property
    def expected(self) -> Floats:
        """The expected positives of each cell: the sum of its scores."""
        return self._keep("expected", lambda: np.where(self.upper, self.n - self.s1, self.s1))

    @property
    def surplus(self) -> Floats:
        """Observed minus expected positives, without cancellation near a score of 1."""
        return self._keep("surplus", lambda: np.where(self.upper, self.s1 - (self.n - self.pos), self.pos - self.s1))

    def pool(self) -> CellSums:
        """Return the same rows in pooled cells; see `of`."""
        fraction, power = np.frexp(np.where(self.upper, 1 - self.key, self.key))
        lead = np.floor(np.ldexp(fraction, np.maximum(CELL_BITS - (-power) // 2, 1)))
        new = (np.diff(lead, prepend=-1.0) != 0) | (np.diff(power, prepend=1) != 0)
        begin = np.flatnonzero(new | (np.diff(self.upper.astype(np.int8), prepend=0) != 0))
        sums = (np.add.reduceat(column, begin) for column in self.columns[1:])
        columns: Any = (self.key[begin], *sums)
        return unchecked_sums(columns, self.sampling)

    def between(self, begin: int, end: int) -> CellSums:
        """Return the cells begin..end, without clusters."""
        columns: Any = tuple(column[begin:end] for column in self.columns)
        return unchecked_sums(columns, self.sampling)

    def with_positives(self, pos: Ints) -> CellSums:
        """Return the same rows with other labels: `pos` positives in each cell.

        Clusters keep the labels that were read.
        """
        return unchecked_sums((self.key, self.n, pos, self.s1, self.s2, self.s3), self.sampling, self.clusters)

    @property
    def population(self) -> Population:
        """The population that the cells represent: predictions with rows and positives."""
        sampling, n, pos = self.sampling, self.n.astype(np.float64), self.pos.astype(np.float64)
        return Population(sampling.to_population(self.p), sampling.rows(n, pos), sampling.positives(n, pos))

    @property
    def n_rows(self) -> int:
        """Rows in all cells."""
        return int(self.n.sum())

    @property
    def positives(self) -> int:
        """Positive rows."""
        return int(self.pos.sum())

    def __add__(self, other: object) -> CellSums:
        if not isinstance(other, CellSums):
            return NotImplemented
        if self.clusters is not None or other.clusters is not None:
            raise TypeError("Cells with clusters do not add.\n\nHint: add the tallies that they were made of.")
        check_total(np.array([self.n_rows, other.n_rows]))
        key = np.concatenate([self.key, other.key])
        order = np.argsort(key, kind="stable")
        first = np.flatnonzero(np.diff(key[order], prepend=-1.0))
        pairs = zip(self.columns[1:], other.columns[1:], strict=True)
        sums = (np.add.reduceat(np.concatenate(pair)[order], first) for pair in pairs)
        columns: Any = (key[order][first], *sums)
        return unchecked_sums(columns, check_same(self.sampling, other.sampling))

    def __radd__(self, other: object) -> CellSums:
        return self if isinstance(other, int) and other == 0 else NotImplemented  # so that `sum` works

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CellSums):
            return NotImplemented
        return self.sampling == other.sampling and all(
            np.array_equal(a, b) for a, b in zip(self.columns, other.columns, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self.key)

    def __repr__(self) -> str:
        return f"CellSums({plural(len(self), 'cell')}, {plural(self.n_rows, 'row')}, {self.positives:,} positive)"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CellGroups:
    """The concatenated cells of several groups of rows, so that one pass computes a quantity of each.

    Parameters
    ----------
    cells : CellSums
        The cells of the first group, then those of the second, and so on; in increasing order within each.
    starts : array of int64
        The first cell of each group, and the number of cells. No group is empty.

    Examples
    --------
    >>> one, two = (CellSums.from_arrays([0, 1, 1], scores) for scores in ([0.1, 0.1, 0.2], [0.3, 0.4, 0.5]))
    >>> both = CellGroups.of([one, two])
    >>> both.starts.tolist(), both.add(both.cells.n).tolist()
    ([0, 2, 5], [3, 3])
    """

    cells: CellSums
    starts: Ints
    _known: dict[object, Any] = field(default_factory=dict, init=False)

    @classmethod
    def of(cls, groups: Sequence[CellSums]) -> CellGroups:
        """Concatenate groups in the order given."""
        sizes = [len(cells) for cells in groups]
        if not groups or not all(sizes):
            raise ValueError("A group of rows must have at least one; there is none.")
        starts = np.cumsum([0, *sizes], dtype=np.int64)
        if len(groups) == 1:
            return cls(groups[0], starts)
        for cells in groups:
            check_same(groups[0].sampling, cells.sampling)
        columns: Any = tuple(map(np.concatenate, zip(*(cells.columns for cells in groups), strict=True)))
        known = [cells.clusters for cells in groups if cells.clusters is not None]
        if 0 < len(known) < len(groups):
            raise ValueError("All groups of rows must have clusters, or none; only some have.")
        clusters = Clusters.lay(known, sizes) if known else None
        return cls(unchecked_sums(columns, groups[0].sampling, clusters), starts)

    @classmethod
    def batches(cls, groups: Sequence[CellSums | Part]) -> Iterator[CellGroups]:
        """Yield the cells of groups in batches that fit a cache."""
        batch: list[CellSums | Part] = []
        size = 0
        for rows in groups:
            if batch and size + len(rows) > CELLS_AT_ONCE:
                yield cls._lay(batch)
                batch, size = [], 0
            batch.append(rows)
            size += len(rows)
        if batch:
            yield cls._lay(batch)

    @classmethod
    def _lay(cls, groups: Sequence[CellSums | Part]) -> CellGroups:
        """Concatenate the cells of groups; those of tallies are computed in one pass."""
        observations = [rows for rows in groups if isinstance(rows, Tally) and rows.clusters is None]
        if len(observations) < max(len(groups), 2):
            return cls.of([rows if isinstance(rows, CellSums) else CellSums.of(rows) for rows in groups])
        for tally in observations:
            check_same(observations[0].sampling, tally.sampling)
        starts = np.cumsum([0, *map(len, observations)], dtype=np.int64)
        score, n, pos = map(np.concatenate, zip(*(tally.entries for tally in observations), strict=True))
        sums, starts = _kernel.cell_groups(score, n, pos, starts)
        return cls(unchecked_sums(sums, observations[0].sampling), starts)

    def choose(self, which: Bools) -> CellGroups:
        """Return some of the groups, without their clusters."""
        if which.all():
            return self
        sizes = np.diff(self.starts)
        cells = np.repeat(which, sizes)
        columns: Any = tuple(column[cells] for column in self.cells.columns)
        starts = np.concatenate([[0], np.cumsum(sizes[which])])
        return CellGroups(unchecked_sums(columns, self.cells.sampling), starts)

    def coarsen(self, bits: int) -> CellGroups:
        """Return the same groups in cells of fewer bits, without clusters."""
        cells = self.cells
        sums = cells.s1, cells.s2, cells.s3
        *columns, starts = _kernel.coarsen(cells.key, cells.n, cells.pos, sums, self.starts, bits)
        coarse: Any = tuple(columns)
        return CellGroups(unchecked_sums(coarse, cells.sampling), starts)

    @property
    def coarse(self) -> CellGroups:
        """The same groups in cells of 8 bits, whose log-odds differ by less than 1/128."""
        return self.cached("coarse", lambda: self.coarsen(8))

    def cached(self, key: object, compute: Callable[[], T]) -> T:
        """Return a quantity of the groups that is computed at its first use; that of a single group is kept with its
        cells."""
        if len(self) == 1:
            return self.cells.cached(key, compute)
        return compute_once(self._known, key, compute)

    @property
    def bounds(self) -> tuple[Ints, Ints]:
        """The first cell and the end of each group."""
        return self.starts[:-1], self.starts[1:]

    def owners(self, cells: Ints) -> Ints:
        """Return the group of each of some cells."""
        return np.searchsorted(self.starts, cells, side="right") - 1

    def add(self, column: Numbers) -> Numbers:
        """Return the sum of a column over the cells of each group; it does not depend on other groups."""
        return np.asarray(np.add.reduceat(column, self.starts[:-1]))

    def repeat(self, values: Numbers) -> Numbers:
        """Repeat a value of each group for each of its cells."""
        return np.repeat(values, np.diff(self.starts))

    def __len__(self) -> int:
        return len(self.starts) - 1


def unchecked_sums(columns: SumColumns, sampling: Sampling = NO_SAMPLING, clusters: Clusters | None = None) -> CellSums:
    """Make cells of columns without checking or copying them."""
    cells = object.__new__(CellSums)
    cells._hold(columns, sampling, clusters)
    return cells


def _sum_rows(score: AnyArray, label: AnyArray, sampling: Sampling, pooled: bool, threads: int) -> CellSums:
    columns, *fine = _kernel.cell_rows(score, label, threads, pooled)
    check_values(score, label, *fine)
    return unchecked_sums(columns, sampling)


def _of_grid(grid: GridTally) -> CellSums:
    upper = grid.key >= 0.5
    near = np.where(upper, 1 - grid.high, grid.low), np.where(upper, 1 - grid.low, grid.high)
    q = np.clip(np.where(upper, (grid.n - grid.score_sum) / grid.n, grid.score_sum / grid.n), *near)
    columns = (grid.key, grid.n, grid.pos, grid.n * q, grid.n * q**2, grid.n * q**3)
    return unchecked_sums(columns, grid.sampling, grid.clusters)


def _is_near(mean: Floats, key: Floats, spread: Floats) -> Bools:
    """Whether a mean of q lies in its cell, up to rounding."""
    cut = np.where(key >= 0.5, 1 - key, key)
    return np.asarray((mean >= cut / spread) & (mean <= cut * (1 + 2.0 ** (1 - CELL_BITS)) * spread))
