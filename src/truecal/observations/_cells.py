"""Observations grouped into the cells of a grid: what an engine sends home where distinct scores are too many."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truecal import _kernel
from truecal._errors import option
from truecal.observations._grid import cell, check_bits
from truecal.observations._tally import Floats, Ints, Sorted, Tally, check_total, refuse_where, unchecked, whole_numbers

Columns = tuple[Floats, Ints, Ints, Floats, Floats, Floats]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GridTally:
    """Cells of a relative grid in increasing order, with what is known of the scores in each. Cells add.

    Parameters
    ----------
    bits : int
        The grid's significant bits, 2 to 26.
    key : array of float64
        The cells, as `truecal.observations._grid.cell` names them; strictly increasing.
    n, pos : arrays of int64
        Observations (at least 1) and positives (0 to n) in each cell.
    total, low, high : arrays of float64
        The sum, the smallest and the largest of each cell's scores.

    Examples
    --------
    >>> from truecal import Tally
    >>> from truecal.observations import GridTally
    >>> cells = GridTally.of(Tally.from_arrays([0, 1, 1, 0], [0.25, 0.26, 0.9, 0.1]), bits=4)
    >>> cells
    GridTally(3 cells of 4 bits, scores in [0.1, 0.9], 4 observations, 2 positive)
    >>> cells.tally.score.tolist(), cells.n.tolist()
    ([0.1, 0.255, 0.9], [1, 2, 1])
    """

    bits: int
    key: Floats
    n: Ints
    pos: Ints
    total: Floats
    low: Floats
    high: Floats

    def __post_init__(self) -> None:
        check_bits(self.bits)
        key, total, low, high = (
            np.ascontiguousarray(column, dtype=np.float64) + 0.0
            for column in (self.key, self.total, self.low, self.high)
        )
        n, pos = (whole_numbers(values, name) for name, values in (("n", self.n), ("pos", self.pos)))
        columns = key, n, pos, total, low, high
        if any(column.shape != key.shape[:1] for column in columns):
            shapes = ", ".join(str(column.shape) for column in columns)
            raise ValueError(f"The columns of cells must be of one length; their shapes are {shapes}.")
        for name, score in (("key", key), ("low", low), ("high", high)):
            refuse_where(name, "lie in [0, 1]", score, ~((score >= 0) & (score <= 1)))
        refuse_where("key", "increase strictly", key, np.diff(key, prepend=-1.0) <= 0)
        refuse_where("key", f"be a cell of {self.bits} bits", key, cell(key, self.bits) != key)
        for name, score in (("low", low), ("high", high)):
            refuse_where(name, f"lie in its cell of {self.bits} bits", score, cell(score, self.bits) != key)
        refuse_where("low", "not exceed `high`", low, low > high)
        refuse_where("n", "be 1 or more", n, n < 1)
        refuse_where("n", "be 2 or more where `low` is below `high`", n, (n < 2) & (low < high))
        refuse_where("pos", "lie in 0..n", pos, (pos < 0) | (pos > n))
        slack = n * 2.0**-52  # of a sum of n numbers, in whatever order they were added
        between = (total >= n * low * (1 - slack)) & (total <= n * high * (1 + slack))
        refuse_where("total", "lie between n `low` and n `high`", total, ~between)
        check_total(n)
        self._hold(self.bits, columns)

    def _hold(self, bits: int, columns: Columns) -> None:
        object.__setattr__(self, "bits", int(bits))
        for name, column in zip(("key", "n", "pos", "total", "low", "high"), columns, strict=True):
            column.flags.writeable = False
            object.__setattr__(self, name, column)

    @classmethod
    def of(cls, data: Sorted, bits: int) -> GridTally:
        """The cells of scores that are known exactly."""
        check_bits(bits)
        entries = data.entries
        starts, total = _kernel.cells(entries, bits)
        n, pos = _kernel.count(entries, starts)
        low, high = _kernel.scores_at(entries, starts[:-1]), _kernel.scores_at(entries, starts[1:] - 1)
        return _trusted(bits, (cell(low, bits), n, pos, total, low, high))

    @classmethod
    def gathered(cls, bits: int, columns: Columns) -> GridTally:
        """Cells in any order, where the same one may come more than once; checked."""
        return cls(bits, *_gathered(bits, columns).columns)

    @property
    def columns(self) -> Columns:
        """key, n, pos, total, low, high."""
        return self.key, self.n, self.pos, self.total, self.low, self.high

    @property
    def tally(self) -> Tally:
        """The cells as single scores, each at its mean: what every binning, metric and picture runs on.

        Bins of it are unions of cells, and their observations, positives and mean scores are those of the
        observations themselves, up to the rounding of sums. Only which scores a test rejects is uncertain;
        see `certified_bounds`.
        """
        return unchecked(np.clip(self.total / self.n, self.low, self.high), self.n, self.pos)

    def simplified(self) -> Tally | GridTally:
        """The tally itself, where every cell turns out to hold a single score."""
        return unchecked(self.low, self.n, self.pos) if np.array_equal(self.low, self.high) else self

    @property
    def observations(self) -> int:
        """Observations."""
        return int(self.n.sum())

    @property
    def positives(self) -> int:
        """Positive observations."""
        return int(self.pos.sum())

    def coarser(self, bits: int) -> GridTally:
        """The same observations in cells of fewer bits."""
        check_bits(bits)
        if bits > self.bits:
            raise ValueError(f"{option('bits')} must not exceed the {self.bits} that the cells have; it is {bits!r}.")
        return self if bits == self.bits else _joined(bits, (cell(self.key, bits), *self.columns[1:]))

    @property
    def highest(self) -> float:
        """The largest score."""
        return float(self.high[-1])

    def above(self, threshold: float) -> GridTally:
        """The cells whose mean score is at least the threshold."""
        return self.last(len(self.tally.above(threshold)))

    def last(self, count: int) -> GridTally:
        """That many cells with the highest scores."""
        first = len(self) - count
        key, n, pos, total, low, high = self.columns
        return _trusted(self.bits, (key[first:], n[first:], pos[first:], total[first:], low[first:], high[first:]))

    def __add__(self, other: object) -> GridTally:
        if not isinstance(other, GridTally):
            return NotImplemented
        check_total(np.array([self.observations, other.observations]))
        bits = min(self.bits, other.bits)
        pairs = zip(self.coarser(bits).columns, other.coarser(bits).columns, strict=True)
        return _gathered(bits, tuple(np.concatenate(pair) for pair in pairs))  # type: ignore[arg-type]

    def __radd__(self, other: object) -> GridTally:
        return self if isinstance(other, int) and other == 0 else NotImplemented  # so that `sum` works

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GridTally):
            return NotImplemented
        return self.bits == other.bits and all(
            np.array_equal(a, b) for a, b in zip(self.columns, other.columns, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self.key)

    def __repr__(self) -> str:
        if not len(self):
            return f"GridTally(empty, {self.bits} bits)"
        return (
            f"GridTally({len(self):,} cell{'s' * (len(self) > 1)} of {self.bits} bits, scores in [{self.low[0]:.6g}, "
            f"{self.high[-1]:.6g}], {self.observations:,} observations, {self.positives:,} positive)"
        )


def _trusted(bits: int, columns: Columns) -> GridTally:
    cells = object.__new__(GridTally)
    cells._hold(bits, columns)
    return cells


def _gathered(bits: int, columns: Columns) -> GridTally:
    """Cells from columns in any order, where the same key may come more than once."""
    order = np.argsort(columns[0], kind="stable")
    key, n, pos, total, low, high = columns
    return _joined(bits, (key[order], n[order], pos[order], total[order], low[order], high[order]))


def _joined(bits: int, columns: Columns) -> GridTally:
    """Cells from columns in increasing order of the key, where the same key may come more than once."""
    key, n, pos, total, low, high = columns
    first = np.flatnonzero(np.diff(key, prepend=-1.0))
    if len(first) == len(key):
        return _trusted(bits, columns)
    return _trusted(
        bits,
        (
            key[first],
            np.add.reduceat(n, first),
            np.add.reduceat(pos, first),
            np.add.reduceat(total, first),
            np.minimum.reduceat(low, first),
            np.maximum.reduceat(high, first),
        ),
    )
