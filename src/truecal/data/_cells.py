"""Rows in the cells of a relative grid: those of files and engines, and those of the verdict.

Local TCE and the verdict are defined on cells of 12 significant bits, so that arrays, files, database engines and
merged tallies give the same value. A cell of 12 bits is 1/2048 of its scores wide or less; taking its rows as equal
changes the variance of a sum of labels by less than 2^-24 of itself.

Cells have one of two kinds of sums. Those of rows have `PowerSums`, from which everything else is computed. Those of a
grid have `ScoreSums`: what engines can add up, what files keep, and what bounds of metrics need. The former follow from
the latter, with the rows of a cell taken as equal, but not the other way round: near 1 a sum of scores has lost digits
that a sum of q keeps, and powers do not tell the smallest and the largest score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from truecal import _kernel
from truecal._errors import option
from truecal._text import plural
from truecal._threads import check_threads
from truecal.data._arrays import AnyArray, Bools, Classes, Floats, Ints, check_values, count_threads
from truecal.data._clusters import Clusters, name_clusters
from truecal.data._grid import cell, check_bits
from truecal.data._sampling import NO_SAMPLING, Sampling, check_same, check_sampling
from truecal.data._tally import (
    Population,
    Sorted,
    Tally,
    check_entries,
    check_total,
    read_sampled,
    real_numbers,
    unchecked,
    whole_numbers,
)

CELL_BITS = 12  # of the verdict's cells
MOST_CELL_ROWS = 2**31  # of one call: the kernel counts in 32 bits
Columns = tuple[Floats, Ints, Ints, Floats, Floats, Floats]  # key, n, pos and three columns of sums
T = TypeVar("T")


def compute_once(known: dict[object, Any], key: object, compute: Callable[[], T]) -> T:
    """Return what is known by a key; at its first use it is computed."""
    if key not in known:
        known[key] = compute()
    value: T = known[key]
    return value


class PowerSums(NamedTuple):
    """The sums of q, q^2 and q^3 over the rows of each cell, q = min(p, 1 - p).

    They are sums of q and not of the score p, so that scores near 1 lose no digits.
    """

    s1: Floats
    s2: Floats
    s3: Floats

    def check(self, bits: int, key: Floats, n: Ints) -> None:
        """Raise an error unless they can be the sums of such cells."""
        s1, s2, s3 = self
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = s1 / n
            spread = np.asarray(1 + n * 2.0**-50, dtype=np.float64)  # sums of n numbers, added in whatever order
            cut = np.where(key >= 0.5, 1 - key, key)
            near = (mean >= cut / spread) & (mean <= cut * (1 + 2.0 ** (1 - bits)) * spread)
            check_entries("s1", "be a sum of q in its cell", s1, ~near)
            for name, column, power in (("s2", s2, 2), ("s3", s3, 3)):
                ratio = np.where(mean**power > 0, column / (n * mean**power), 1.0)
                right = (ratio >= 1 / spread) & (ratio <= (1 + 2.0 ** (3 - bits)) * spread)
                check_entries(name, f"be a sum of q^{power} in its cell", column, ~right)

    def merge(self, first: Ints) -> PowerSums:
        """Return the sums of runs of cells, given the first cell of each."""
        return PowerSums(*(np.add.reduceat(column, first) for column in self))

    def means(self, key: Floats, n: Ints) -> Floats:
        """Return the mean score of each cell."""
        q = self.s1 / n
        return np.where(key >= 0.5, 1 - q, q)


class ScoreSums(NamedTuple):
    """The sum, the smallest and the largest of each cell's scores."""

    score_sum: Floats
    low: Floats
    high: Floats

    def check(self, bits: int, key: Floats, n: Ints) -> None:
        """Raise an error unless they can be the sums of such cells."""
        score_sum, low, high = self
        for name, score in (("low", low), ("high", high)):
            check_entries(name, "lie in [0, 1]", score, ~((score >= 0) & (score <= 1)))
            check_entries(name, f"lie in its cell of {bits} bits", score, cell(score, bits) != key)
        check_entries("low", "not exceed `high`", low, low > high)
        check_entries("n", "be 2 or more where `low` is below `high`", n, (n < 2) & (low < high))
        slack = n * 2.0**-52  # relative error of a sum of n numbers, in any order
        between = (score_sum >= n * low * (1 - slack)) & (score_sum <= n * high * (1 + slack))
        check_entries("score_sum", "lie between n `low` and n `high`", score_sum, ~between)

    def merge(self, first: Ints) -> ScoreSums:
        """Return the sums of runs of cells, given the first cell of each."""
        return ScoreSums(
            np.add.reduceat(self.score_sum, first),
            np.minimum.reduceat(self.low, first),
            np.maximum.reduceat(self.high, first),
        )

    def powers(self, key: Floats, n: Ints) -> PowerSums:
        """Return the sums of powers, the scores of a cell taken as equal.

        In cells of 12 bits or more that changes s2 and s3 by less than 2^-24 and 2^-22 of themselves.
        """
        upper = key >= 0.5
        near = np.where(upper, 1 - self.high, self.low), np.where(upper, 1 - self.low, self.high)
        q = np.clip(np.where(upper, (n - self.score_sum) / n, self.score_sum / n), *near)
        return PowerSums(n * q, n * q**2, n * q**3)

    def means(self, key: Floats, n: Ints) -> Floats:
        """Return the mean score of each cell."""
        return np.clip(self.score_sum / n, self.low, self.high)


Sums = PowerSums | ScoreSums


def _like(sums: Sums, columns: Iterable[Floats]) -> Sums:
    """Sums of the same kind."""
    return type(sums)(*columns)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Cells:
    """Cells of a relative grid in increasing order, with counts and sums of the rows in each. They add.

    Parameters
    ----------
    bits : int
        The grid's significant bits, 2 to 26.
    key : array of float64
        The cells, as `truecal.data.cell` names them; strictly increasing.
    n, pos : arrays of int64
        Rows (at least 1) and positives (0 to n) in each cell.
    sums : PowerSums or ScoreSums
        What is known of the scores in each cell: the sums of their powers, or their sum, the smallest and the largest.
    sampling : Sampling
        How rows and labels were sampled, as in `Tally`.
    clusters : Clusters, optional
        Which rows share a customer, a patient or a document; positions are those of cells.

    Examples
    --------
    >>> from truecal import Tally
    >>> from truecal.data import Cells
    >>> cells = Cells.from_arrays([0, 1, 1, 0], [0.25, 0.25, 0.875, 0.0])
    >>> cells
    Cells(3 cells of 12 bits, means in [0, 0.875], 4 rows, 2 positive)
    >>> cells.p.tolist(), cells.v.tolist()
    ([0.0, 0.25, 0.875], [0.0, 0.375, 0.109375])
    >>> grid = Cells.grid(Tally.from_arrays([0, 1, 1, 0], [0.25, 0.26, 0.9, 0.1]), bits=4)
    >>> grid.tally.score.tolist(), grid.n.tolist(), grid.low.tolist()
    ([0.1, 0.255, 0.9], [1, 2, 1], [0.1, 0.25, 0.9])
    """

    bits: int
    key: Floats
    n: Ints
    pos: Ints
    sums: Sums
    sampling: Sampling = NO_SAMPLING
    clusters: Clusters | None = None
    _known: dict[object, Any] = field(default_factory=dict, init=False)  # derived quantities by key
    importance_weight: ClassVar[None] = None  # weights need scores as they are

    def __post_init__(self) -> None:
        check_bits(self.bits)
        if not isinstance(self.sums, Sums):
            raise TypeError(f"`sums` must be `PowerSums` or `ScoreSums`; it is {type(self.sums).__name__}.")
        key = real_numbers(self.key, "key") + 0.0
        n, pos = (whole_numbers(values, name) for name, values in (("n", self.n), ("pos", self.pos)))
        sums = _like(self.sums, (real_numbers(getattr(self.sums, name), name) + 0.0 for name in self.sums._fields))
        if any(column.shape != key.shape[:1] for column in (key, n, pos, *sums)):
            shapes = ", ".join(str(column.shape) for column in (key, n, pos, *sums))
            raise ValueError(f"The columns of cells must be of one length; their shapes are {shapes}.")
        check_entries("key", "lie in [0, 1]", key, ~((key >= 0) & (key <= 1)))
        check_entries("key", "increase strictly", key, np.diff(key, prepend=-1.0) <= 0)
        check_entries("key", f"be a cell of {self.bits} bits", key, cell(key, self.bits) != key)
        check_entries("n", "be 1 or more", n, n < 1)
        check_entries("pos", "lie in 0..n", pos, (pos < 0) | (pos > n))
        sums.check(self.bits, key, n)
        check_total(n)
        if self.clusters is not None:
            self.clusters.check(n, pos)
        self._hold(int(self.bits), key, n, pos, sums, check_sampling(self.sampling), self.clusters)

    def _hold(self, *values: Any) -> None:
        for name, value in zip(FIELDS, (*values, {}), strict=True):
            object.__setattr__(self, name, value)
        for column in (self.key, self.n, self.pos, *self.sums):
            column.flags.writeable = False

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
    ) -> Cells:
        """Collect the verdict's cells of rows, in one pass and without a sort; see `Tally.from_arrays` and `of`.

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
    def of_classes(classes: Classes, first: int, last: int) -> list[Cells]:
        """Collect the pooled cells of some classes, each against the rest; see `of`."""
        class_columns = _kernel.cell_classes(classes.probabilities, classes.target, first, last)
        return [unchecked_cells(columns) for columns in class_columns]

    @classmethod
    def of(cls, data: Sorted | Cells, pooled: bool = False) -> Cells:
        """Return the verdict's cells of observations: those of 12 bits, or of a grid of fewer bits.

        Pooled cells are fewer: they have one bit less for each two powers of two by which q is smaller. Taking the rows
        of such a cell as equal changes the variance of a sum of labels by less than 2^-24 of itself, as in cells of 12
        bits, since that change is of the order of q times the square of the cell's relative width. Rows in clusters
        are not pooled, since clusters refer to cells of 12 bits.

        Those of a `Tally` or `SortedRows` are those of the rows, to the last bit.
        """
        pooled = pooled and data.clusters is None
        if isinstance(data, Cells):
            cells = data.coarsen(min(CELL_BITS, data.bits))
            return cells.pool() if pooled else cells
        cells = unchecked_cells(_kernel.cell_sums(data.entries, pooled), data.sampling)
        if data.clusters is None:
            return cells
        return cells._with(clusters=data.clusters.group(cells.cell_of(data.tally)))

    @classmethod
    def grid(cls, data: Sorted | Cells, bits: int) -> Cells:
        """Group scores, or the cells of a finer grid, into cells with the smallest and the largest score of each."""
        if isinstance(data, Cells):
            return data.coarsen(bits)
        check_bits(bits)
        if data.importance_weight is not None:
            raise ValueError(
                f"{option('importance_weight')} needs scores as they are; {option('grid')} must be left out."
            )
        entries = data.entries
        starts, score_sum = _kernel.cells(entries, bits)
        n, pos = _kernel.count(entries, starts)
        low, high = _kernel.scores_at(entries, starts[:-1]), _kernel.scores_at(entries, starts[1:] - 1)
        clusters = data.clusters
        if clusters is not None:
            clusters = clusters.group(np.repeat(np.arange(len(n)), np.diff(starts)))
        return _unchecked(bits, cell(low, bits), n, pos, ScoreSums(score_sum, low, high), data.sampling, clusters)

    @classmethod
    def merge(cls, bits: int, columns: Columns, sampling: Sampling = NO_SAMPLING) -> Cells:
        """Merge the cells of a grid in any order and check them: key, n, pos, score_sum, low, high.

        The same cell may occur more than once.
        """
        key, n, pos, *scores = columns
        merged = _merge(bits, key, n, pos, ScoreSums(*scores))
        return cls(bits, merged.key, merged.n, merged.pos, merged.sums, sampling)

    def _with(self, **changed: Any) -> Cells:
        """A copy with other values, which are not checked."""
        return _unchecked(*(changed.get(name, getattr(self, name)) for name in FIELDS[:-1]))

    def _take(self, begin: int, end: int | None) -> dict[str, Any]:
        """The columns of the cells begin..end."""
        columns = {name: getattr(self, name)[begin:end] for name in ("key", "n", "pos")}
        return columns | {"sums": _like(self.sums, (column[begin:end] for column in self.sums))}

    @property
    def columns(self) -> Columns:
        """key, n, pos and the columns of sums."""
        first, second, third = self.sums
        return self.key, self.n, self.pos, first, second, third

    @property
    def power_columns(self) -> Columns:
        """key, n, pos, s1, s2, s3."""
        return self.key, self.n, self.pos, *self.powers

    def cached(self, key: object, compute: Callable[[], T]) -> T:
        """Return a quantity of the cells that is computed at its first use and kept with them."""
        return compute_once(self._known, key, compute)

    def _keep(self, name: str, compute: Callable[[], AnyArray]) -> AnyArray:
        """A read-only column that is computed at its first use."""
        column = self.cached(name, compute)
        column.flags.writeable = False
        return column

    @property
    def powers(self) -> PowerSums:
        """The sums of q, q^2 and q^3."""
        sums = self.sums
        return sums if isinstance(sums, PowerSums) else self.cached("powers", lambda: sums.powers(self.key, self.n))

    @property
    def s1(self) -> Floats:
        """The sum of q of each cell."""
        return self.powers.s1

    @property
    def s2(self) -> Floats:
        """The sum of q^2 of each cell."""
        return self.powers.s2

    @property
    def s3(self) -> Floats:
        """The sum of q^3 of each cell."""
        return self.powers.s3

    @property
    def scores(self) -> ScoreSums:
        """The sum, the smallest and the largest score of each cell; an error if only their powers were summed."""
        if not isinstance(self.sums, ScoreSums):
            raise TypeError(
                f"Cells must have the smallest and the largest score of each; {self!r} have sums of powers.\n\n"
                "Hint: make them with `Cells.grid(tally, bits)`."
            )
        return self.sums

    @property
    def score_sum(self) -> Floats:
        """The sum of the scores of each cell."""
        return self.scores.score_sum

    @property
    def low(self) -> Floats:
        """The smallest score of each cell."""
        return self.scores.low

    @property
    def high(self) -> Floats:
        """The largest score of each cell."""
        return self.scores.high

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

    @property
    def tally(self) -> Tally:
        """The cells as a tally with one score per cell, its mean. Every binning, metric and plot uses it.

        Its bins are unions of cells. Their rows, positives and mean scores are exact, up to the rounding of sums. Only
        which scores a test rejects is uncertain; see `grid_bounds`.
        """
        return unchecked(self.sums.means(self.key, self.n), self.n, self.pos, self.sampling, self.clusters)

    sorted = tally  # what is evaluated in place of sorted rows

    @property
    def grouped(self) -> Cells:
        """The cells themselves: rows are grouped already."""
        return self

    unweighted = grouped  # they have no weights

    def simplify(self) -> Tally | Cells:
        """Return an exact `Tally` if every cell of a grid holds a single score, else the cells themselves."""
        if not np.array_equal(self.low, self.high):
            return self
        return unchecked(self.low, self.n, self.pos, self.sampling, self.clusters)

    @property
    def population(self) -> Population:
        """The population that the cells represent: predictions with rows and positives."""
        sampling, n, pos = self.sampling, self.n.astype(np.float64), self.pos.astype(np.float64)
        return Population(sampling.to_population(self.p), sampling.rows(n, pos), sampling.positives(n, pos))

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.n.sum())

    @property
    def positives(self) -> int:
        """The number of positive rows."""
        return int(self.pos.sum())

    @property
    def highest(self) -> float:
        """The largest mean score of a cell."""
        return self.tally.highest

    def cell_of(self, tally: Tally) -> Ints:
        """Return the cell of each score of the tally that the cells were made from."""
        ends = np.searchsorted(np.cumsum(tally.n), np.cumsum(self.n)) + 1
        return np.repeat(np.arange(len(self)), np.diff(ends, prepend=0))

    def coarsen(self, bits: int) -> Cells:
        """Return the same rows in cells of fewer bits."""
        check_bits(bits)
        if bits > self.bits:
            raise ValueError(f"{option('bits')} must not exceed the {self.bits} bits of the cells; it is {bits!r}.")
        if bits == self.bits:
            return self
        key = cell(self.key, bits)
        coarse = _merge_sorted(bits, key, self.n, self.pos, self.sums, self.sampling)
        if self.clusters is None:
            return coarse
        return coarse.with_clusters(self.clusters.group(np.searchsorted(coarse.key, key)))

    def pool(self) -> Cells:
        """Return the same rows in pooled cells; see `of`."""
        fraction, power = np.frexp(np.where(self.upper, 1 - self.key, self.key))
        lead = np.floor(np.ldexp(fraction, np.maximum(CELL_BITS - (-power) // 2, 1)))
        new = (np.diff(lead, prepend=-1.0) != 0) | (np.diff(power, prepend=1) != 0)
        begin = np.flatnonzero(new | (np.diff(self.upper.astype(np.int8), prepend=0) != 0))
        n, pos = (np.add.reduceat(column, begin) for column in (self.n, self.pos))
        return _unchecked(self.bits, self.key[begin], n, pos, self.powers.merge(begin), self.sampling)

    def above(self, threshold: float) -> Cells:
        """Return the cells whose mean score is at least the threshold."""
        return self.tail(len(self) - len(self.tally.above(threshold)))

    def top(self, count: int | float) -> Cells:
        """Return the cells with the highest mean scores, by number or share of rows; see `Tally.top`."""
        return self.tail(len(self) - len(self.tally.top(count)))

    def at_least(self, score: float) -> Cells:
        """Return the cells whose mean sampled score is at least this."""
        return self.tail(len(self) - len(self.tally.at_least(score)))

    def tail(self, start: int) -> Cells:
        """Return the cells from position `start` to the end."""
        clusters = None if self.clusters is None else self.clusters.tail(start)
        return self._with(**self._take(start, None), clusters=clusters)

    def between(self, begin: int, end: int) -> Cells:
        """Return the cells begin..end, without clusters."""
        return self._with(**self._take(begin, end), clusters=None)

    def with_positives(self, pos: Ints) -> Cells:
        """Return the same rows with other labels: `pos` positives in each cell.

        Clusters keep the labels that were read.
        """
        return _unchecked(self.bits, self.key, self.n, pos, self.sums, self.sampling, self.clusters)

    def with_clusters(self, clusters: Clusters | None) -> Cells:
        """Return the same rows with their clusters."""
        if clusters is not None:
            clusters.check(self.n, self.pos)
        return self._with(clusters=clusters)

    def __add__(self, other: object) -> Cells:
        return Cells.join([self, other]) if isinstance(other, Cells) else NotImplemented

    @staticmethod
    def join(parts: Sequence[Cells]) -> Cells:
        """Add several at once, in cells of the fewest bits among them."""
        first, bits = parts[0], min(part.bits for part in parts)
        for part in parts:
            check_same(first.sampling, part.sampling)
        if len({type(part.sums) for part in parts}) > 1:
            raise TypeError(
                "Cells must have sums of one kind to add; these have sums of powers and of scores.\n\n"
                "Hint: add the tallies that they were made of."
            )
        check_total(np.array([part.n_rows for part in parts]))
        alike = [part.coarsen(bits) for part in parts]
        key, n, pos, *sums = (np.concatenate(column) for column in zip(*(part.columns for part in alike), strict=True))
        whole = _merge(bits, key, n, pos, _like(first.sums, sums), first.sampling)
        return whole.with_clusters(Clusters.join([(part.clusters, part.key) for part in alike], whole.key))

    def __radd__(self, other: object) -> Cells:
        return self if isinstance(other, int) and other == 0 else NotImplemented  # so that `sum` works

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Cells):
            return NotImplemented
        same = (self.bits, type(self.sums), self.sampling) == (other.bits, type(other.sums), other.sampling)
        same = same and self.clusters == other.clusters
        return same and all(np.array_equal(a, b) for a, b in zip(self.columns, other.columns, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self.key)

    def __repr__(self) -> str:
        if not len(self):
            return f"Cells(empty, {self.bits} bits)"
        low, high = self.tally.score[[0, -1]].tolist()
        return (
            f"Cells({plural(len(self), 'cell')} of {self.bits} bits, means in [{low:.6g}, {high:.6g}], "
            f"{plural(self.n_rows, 'row')}{name_clusters(self.clusters)}, {self.positives:,} positive)"
        )


FIELDS = ("bits", "key", "n", "pos", "sums", "sampling", "clusters", "_known")


def unchecked_cells(
    columns: Columns, sampling: Sampling = NO_SAMPLING, clusters: Clusters | None = None, bits: int = CELL_BITS
) -> Cells:
    """Make cells of key, n, pos, s1, s2 and s3 without checking or copying them."""
    key, n, pos, *sums = columns
    return _unchecked(bits, key, n, pos, PowerSums(*sums), sampling, clusters)


def _unchecked(
    bits: int,
    key: Floats,
    n: Ints,
    pos: Ints,
    sums: Sums,
    sampling: Sampling = NO_SAMPLING,
    clusters: Clusters | None = None,
) -> Cells:
    cells = object.__new__(Cells)
    cells._hold(bits, key, n, pos, sums, sampling, clusters)
    return cells


def _merge(bits: int, key: Floats, n: Ints, pos: Ints, sums: Sums, sampling: Sampling = NO_SAMPLING) -> Cells:
    """Merge columns in any order into cells. The same key may occur more than once."""
    order = np.argsort(key, kind="stable")
    ordered = _like(sums, (column[order] for column in sums))
    return _merge_sorted(bits, key[order], n[order], pos[order], ordered, sampling)


def _merge_sorted(bits: int, key: Floats, n: Ints, pos: Ints, sums: Sums, sampling: Sampling) -> Cells:
    """Merge columns sorted by key into cells. The same key may occur more than once."""
    first = np.flatnonzero(np.diff(key, prepend=-1.0))
    if len(first) < len(key):
        n, pos = (np.add.reduceat(column, first) for column in (n, pos))
        key, sums = key[first], sums.merge(first)
    return _unchecked(bits, key, n, pos, sums, sampling)


def _sum_rows(score: AnyArray, label: AnyArray, sampling: Sampling, pooled: bool, threads: int) -> Cells:
    columns, *fine = _kernel.cell_rows(score, label, threads, pooled)
    check_values(score, label, *fine)
    return unchecked_cells(columns, sampling)
