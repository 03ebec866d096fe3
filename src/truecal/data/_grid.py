"""A relative grid on [0, 1], computed with the same arithmetic on every engine.

Scores are truncated to m significant bits, counted from the nearer end of [0, 1], so that 1e-6 and 1 - 1e-6 are
resolved as well as 0.3. Not every engine can cast floats to bits. All of them multiply, subtract and compare, and IEEE
754 fixes the results, so the cells are the same to the last bit on NumPy, pandas, polars, pyarrow, DuckDB, Dask, Ibis
and Spark.

Veltkamp's splitting, V(x) = c - (c - x) with c = x (2^(53 - m) + 1), rounds to the nearest number r of m bits. If it
rounded up, V(r (1 - 2^-m)) is the next number below r, as long as 2 m < 53. Truncation nests, unlike rounding: the
cells of a coarse grid are unions of the cells of a finer one.

References
----------
Dekker. A floating-point technique for extending the available precision. Numerische Mathematik 18, 1971.
Boldo. Pitfalls of a full floating-point proof: example on the formal proof of the Veltkamp/Dekker algorithms. 2006.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from truecal import _kernel
from truecal._errors import option
from truecal._text import plural
from truecal.data._arrays import Floats, Ints
from truecal.data._clusters import Clusters, name_clusters
from truecal.data._sampling import NO_SAMPLING, Sampling, check_same, check_sampling
from truecal.data._tally import (
    Sorted,
    Tally,
    check_entries,
    check_total,
    real_numbers,
    unchecked,
    whole_numbers,
)

GridColumns = tuple[Floats, Ints, Ints, Floats, Floats, Floats]
FEWEST_BITS, MOST_BITS = 2, 26
# A product below 2^-1022 loses bits, and then the next number below r is wrong. Scores are multiplied by this power of
# two first, which is exact and cannot overflow.
LIFT = 2.0**200
UPPER = 2.0**300  # scores from 0.5 up are multiplied by this as well, which distinguishes them from the others


def cell(x: Any, bits: int) -> Any:
    """Return the cell of each score: the score truncated to `bits` bits, counted from the nearer end of [0, 1].

    Below 0.5 a cell is named by the smallest score it can hold, from 0.5 up by the largest. 0, 0.5 and 1 have cells of
    their own. A score and its cell differ by less than 2^(1 - bits) min(x, 1 - x). Missing scores stay missing.

    Examples
    --------
    >>> import numpy as np
    >>> cell(np.array([0.0, 1e-6, 0.3, 0.5, 0.7, 1.0]), 4).tolist()
    [0.0, 9.5367431640625e-07, 0.28125, 0.5, 0.71875, 1.0]
    """
    return whole_cell(half_cell(x, bits), bits)


def half_cell(
    x: Any,
    bits: int,
    where: Callable[[Any, Any, Any], Any] = np.where,
    hold: Callable[[Any], Any] = lambda value: value,
) -> Any:
    """Return which half of a cell each score lies in, as one number: half the arithmetic of the cell, for an engine
    that groups rows; `whole_cell` names the cells of the groups.

    It is the distance to the nearer end of [0, 1], times a power of two that is larger from 0.5 up, rounded to the
    nearest number of `bits` bits; with a minus sign if it was rounded up.

    Parameters
    ----------
    x : array or expression
        Scores in [0, 1] in double precision: an array, or an expression of a library such as narwhals.
    bits : int
        2 to 26.
    where : callable
        `where(condition, a, b)`, a and b expressions or numbers; for narwhals
        `lambda condition, a, b: nw.when(condition).then(a).otherwise(b)`.
    hold : callable
        Called with each value that is used more than once; returns an expression for it. Adding the value to the frame
        as a column makes dataframes several times as fast: many engines compute an expression each time it occurs.

    Examples
    --------
    >>> import numpy as np
    >>> (half_cell(np.array([0.25, 0.26, 0.28]), 4) / 2**200).tolist()
    [0.25, 0.25, -0.28125]
    """
    check_bits(bits)
    upper = where(x == 1.0, 2.0 * UPPER, (1.0 - x) * (LIFT * UPPER))  # 1 has a value of its own above all others, not 0
    near = hold(where(x >= 0.5, upper, x * LIFT + 0.0))  # turns -0.0 into 0.0, but in polars, which drops it
    nearest = hold(_round_to_bits(near, bits, hold))
    return where(nearest <= near, nearest, nearest * -1.0)


def whole_cell(half: Any, bits: int) -> Any:
    """Return the cells that halves, as `half_cell` names them, belong to.

    Examples
    --------
    >>> import numpy as np
    >>> whole_cell(half_cell(np.array([0.26, 0.28]), 4), 4).tolist()
    [0.25, 0.25]
    """
    size = np.abs(half)
    upper = size > UPPER
    near = np.where(upper, size / UPPER, size)
    cut = np.where(half < 0, _round_to_bits(near * (1.0 - 2.0**-bits), bits), near) * (1.0 / LIFT)
    return np.where(upper, 1.0 - cut, cut) + 0.0


def bits_for(n_rows: int, largest_bin: int) -> int:
    """Return how many bits a grid needs so that a cell holds at most about a fifteenth of the largest bin's rows.

    In the worst case all scores lie between two powers of two, where they share 2^(bits - 1) cells. Spread evenly, they
    need log2(30 N / n_max) bits. The result is rounded up and limited to 2..26.

    Examples
    --------
    >>> bits_for(10**9, 4 * 10**6)
    13
    """
    for name, value in (("n_rows", n_rows), ("largest_bin", largest_bin)):
        if not isinstance(value, (int, np.integer)) or not 1 <= value <= 2**63:
            raise ValueError(f"`{name}` must be a whole number, 1 or more; it is {value!r}.")
    return min(max(math.ceil(math.log2(30 * int(n_rows) / int(largest_bin))), FEWEST_BITS), MOST_BITS)


def check_bits(bits: int) -> None:
    """Raise an error unless the number of bits is supported."""
    whole = isinstance(bits, (int, np.integer)) and not isinstance(bits, bool)
    if not whole or not FEWEST_BITS <= bits <= MOST_BITS:
        raise ValueError(f"{option('bits')} must be a whole number from {FEWEST_BITS} to {MOST_BITS}; it is {bits!r}.")


def _round_to_bits(x: Any, bits: int, hold: Callable[[Any], Any] = lambda value: value) -> Any:
    """Return V(x), the nearest number of `bits` significant bits; either neighbour in a tie."""
    c = hold(x * (2.0 ** (53 - bits) + 1.0))
    return c - (c - x)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GridTally:
    """Cells of a relative grid in increasing order, with counts and bounds of the scores in each. Grid tallies add.

    Parameters
    ----------
    bits : int
        The grid's significant bits, 2 to 26.
    key : array of float64
        The cells, as `truecal.data.cell` names them; strictly increasing.
    n, pos : arrays of int64
        Rows (at least 1) and positives (0 to n) in each cell.
    score_sum, low, high : arrays of float64
        The sum, the smallest and the largest of each cell's scores.
    sampling : Sampling
        How rows and labels were sampled, as in `Tally`.
    clusters : Clusters, optional
        Which rows share a customer, a patient or a document; positions are those of cells.

    Examples
    --------
    >>> from truecal import Tally
    >>> from truecal.data import GridTally
    >>> cells = GridTally.of(Tally.from_arrays([0, 1, 1, 0], [0.25, 0.26, 0.9, 0.1]), bits=4)
    >>> cells
    GridTally(3 cells of 4 bits, scores in [0.1, 0.9], 4 rows, 2 positive)
    >>> cells.tally.score.tolist(), cells.n.tolist()
    ([0.1, 0.255, 0.9], [1, 2, 1])
    """

    bits: int
    key: Floats
    n: Ints
    pos: Ints
    score_sum: Floats
    low: Floats
    high: Floats
    sampling: Sampling = NO_SAMPLING
    clusters: Clusters | None = None

    def __post_init__(self) -> None:
        check_bits(self.bits)
        key, score_sum, low, high = (
            real_numbers(getattr(self, name), name) + 0.0 for name in ("key", "score_sum", "low", "high")
        )
        n, pos = (whole_numbers(values, name) for name, values in (("n", self.n), ("pos", self.pos)))
        columns = key, n, pos, score_sum, low, high
        if any(column.shape != key.shape[:1] for column in columns):
            shapes = ", ".join(str(column.shape) for column in columns)
            raise ValueError(f"The columns of cells must be of one length; their shapes are {shapes}.")
        for name, score in (("key", key), ("low", low), ("high", high)):
            check_entries(name, "lie in [0, 1]", score, ~((score >= 0) & (score <= 1)))
        check_entries("key", "increase strictly", key, np.diff(key, prepend=-1.0) <= 0)
        check_entries("key", f"be a cell of {self.bits} bits", key, cell(key, self.bits) != key)
        for name, score in (("low", low), ("high", high)):
            check_entries(name, f"lie in its cell of {self.bits} bits", score, cell(score, self.bits) != key)
        check_entries("low", "not exceed `high`", low, low > high)
        check_entries("n", "be 1 or more", n, n < 1)
        check_entries("n", "be 2 or more where `low` is below `high`", n, (n < 2) & (low < high))
        check_entries("pos", "lie in 0..n", pos, (pos < 0) | (pos > n))
        slack = n * 2.0**-52  # relative error of a sum of n numbers, in any order
        between = (score_sum >= n * low * (1 - slack)) & (score_sum <= n * high * (1 + slack))
        check_entries("score_sum", "lie between n `low` and n `high`", score_sum, ~between)
        check_total(n)
        if self.clusters is not None:
            self.clusters.check(n, pos)
        self._hold(self.bits, columns, check_sampling(self.sampling), self.clusters)

    def _hold(self, bits: int, columns: GridColumns, sampling: Sampling, clusters: Clusters | None) -> None:
        object.__setattr__(self, "bits", int(bits))
        object.__setattr__(self, "sampling", sampling)
        object.__setattr__(self, "clusters", clusters)
        for name, column in zip(("key", "n", "pos", "score_sum", "low", "high"), columns, strict=True):
            column.flags.writeable = False
            object.__setattr__(self, name, column)

    @classmethod
    def of(cls, data: Sorted, bits: int) -> GridTally:
        """Group exact scores into cells."""
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
        return _unchecked(bits, (cell(low, bits), n, pos, score_sum, low, high), data.sampling, clusters)

    @classmethod
    def merge(cls, bits: int, columns: GridColumns, sampling: Sampling = NO_SAMPLING) -> GridTally:
        """Merge cells in any order and check them. The same cell may occur more than once."""
        return cls(bits, *_merge(bits, columns, sampling).columns, sampling)

    @property
    def columns(self) -> GridColumns:
        """key, n, pos, score_sum, low, high."""
        return self.key, self.n, self.pos, self.score_sum, self.low, self.high

    @property
    def tally(self) -> Tally:
        """The cells as a tally with one score per cell, its mean. Every binning, metric and plot uses it.

        Its bins are unions of cells. Their rows, positives and mean scores are exact, up to the rounding of sums. Only
        which scores a test rejects is uncertain; see `grid_bounds`.
        """
        score = np.clip(self.score_sum / self.n, self.low, self.high)
        return unchecked(score, self.n, self.pos, self.sampling, self.clusters)

    def simplify(self) -> Tally | GridTally:
        """Return an exact `Tally` if every cell holds a single score, else the cells themselves."""
        if not np.array_equal(self.low, self.high):
            return self
        return unchecked(self.low, self.n, self.pos, self.sampling, self.clusters)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.n.sum())

    @property
    def positives(self) -> int:
        """The number of positive rows."""
        return int(self.pos.sum())

    def coarsen(self, bits: int) -> GridTally:
        """Return the same rows in cells of fewer bits."""
        check_bits(bits)
        if bits > self.bits:
            raise ValueError(f"{option('bits')} must not exceed the {self.bits} bits of the cells; it is {bits!r}.")
        if bits == self.bits:
            return self
        key = cell(self.key, bits)
        coarse = _merge_sorted(bits, (key, *self.columns[1:]), self.sampling)
        if self.clusters is None:
            return coarse
        return coarse.with_clusters(self.clusters.group(np.searchsorted(coarse.key, key)))

    @property
    def highest(self) -> float:
        """The largest score."""
        return float(self.high[-1])

    def above(self, threshold: float) -> GridTally:
        """Return the cells whose mean score is at least the threshold."""
        return self.tail(len(self) - len(self.tally.above(threshold)))

    def at_least(self, score: float) -> GridTally:
        """Return the cells whose mean sampled score is at least this."""
        return self.tail(len(self) - len(self.tally.at_least(score)))

    def tail(self, start: int) -> GridTally:
        """Return the cells from position `start` to the end."""
        columns: Any = tuple(column[start:] for column in self.columns)
        clusters = None if self.clusters is None else self.clusters.tail(start)
        return _unchecked(self.bits, columns, self.sampling, clusters)

    def __add__(self, other: object) -> GridTally:
        if not isinstance(other, GridTally):
            return NotImplemented
        check_total(np.array([self.n_rows, other.n_rows]))
        bits = min(self.bits, other.bits)
        both = self.coarsen(bits), other.coarsen(bits)
        columns: Any = tuple(np.concatenate(pair) for pair in zip(*(cells.columns for cells in both), strict=True))
        whole = _merge(bits, columns, check_same(self.sampling, other.sampling))
        return whole.with_clusters(Clusters.join([(cells.clusters, cells.key) for cells in both], whole.key))

    def with_clusters(self, clusters: Clusters | None) -> GridTally:
        """Return the same rows with their clusters."""
        if clusters is not None:
            clusters.check(self.n, self.pos)
        return _unchecked(self.bits, self.columns, self.sampling, clusters)

    def __radd__(self, other: object) -> GridTally:
        return self if isinstance(other, int) and other == 0 else NotImplemented  # so that `sum` works

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GridTally):
            return NotImplemented
        same = (self.bits, self.sampling) == (other.bits, other.sampling) and self.clusters == other.clusters
        return same and all(np.array_equal(a, b) for a, b in zip(self.columns, other.columns, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self.key)

    def __repr__(self) -> str:
        if not len(self):
            return f"GridTally(empty, {self.bits} bits)"
        return (
            f"GridTally({plural(len(self), 'cell')} of {self.bits} bits, scores in [{self.low[0]:.6g}, "
            f"{self.high[-1]:.6g}], {plural(self.n_rows, 'row')}{name_clusters(self.clusters)}, "
            f"{self.positives:,} positive)"
        )


def _unchecked(bits: int, columns: GridColumns, sampling: Sampling, clusters: Clusters | None = None) -> GridTally:
    cells = object.__new__(GridTally)
    cells._hold(bits, columns, sampling, clusters)
    return cells


def _merge(bits: int, columns: GridColumns, sampling: Sampling) -> GridTally:
    """Merge columns in any order into cells. The same key may occur more than once."""
    order = np.argsort(columns[0], kind="stable")
    key, n, pos, score_sum, low, high = columns
    ordered = (key[order], n[order], pos[order], score_sum[order], low[order], high[order])
    return _merge_sorted(bits, ordered, sampling)


def _merge_sorted(bits: int, columns: GridColumns, sampling: Sampling) -> GridTally:
    """Merge columns sorted by key into cells. The same key may occur more than once."""
    key, n, pos, score_sum, low, high = columns
    first = np.flatnonzero(np.diff(key, prepend=-1.0))
    if len(first) == len(key):
        return _unchecked(bits, columns, sampling)
    return _unchecked(
        bits,
        (
            key[first],
            np.add.reduceat(n, first),
            np.add.reduceat(pos, first),
            np.add.reduceat(score_sum, first),
            np.minimum.reduceat(low, first),
            np.maximum.reduceat(high, first),
        ),
        sampling,
    )
