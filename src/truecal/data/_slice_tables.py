"""Cross tables of pairs of columns, from one pass over the data: the input of slice discovery."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from truecal import _kernel
from truecal.data._arrays import AnyArray, Bools, Floats
from truecal.data._cells import Cells, unchecked_cells
from truecal.data._clusters import Clusters
from truecal.data._notes import Note
from truecal.data._row_counts import RowCounts

Condition = tuple[int, int, int]  # a column by its index, and its first and last level
Conditions = tuple[Condition, ...]
Pair = tuple[int, int]  # columns by their indexes; -1 is none


@dataclass(frozen=True, slots=True, eq=False)
class CodedRows:
    """Rows with a byte for the level of each column and one for the bin of the score; q = min(p, 1 - p) by bin."""

    codes: AnyArray  # of shape (columns, rows)
    bin: AnyArray
    label: AnyArray
    q: Floats
    cluster: AnyArray | None = None  # a number for each cluster; rows are in its order

    def choose(self, conditions: Conditions) -> Bools:
        """Return which rows meet all conditions."""
        inside = np.ones(len(self.q), dtype=np.bool_)
        for column, first, last in conditions:
            inside &= (self.codes[column] >= first) & (self.codes[column] <= last)
        return inside

    def cross(self, pairs: Sequence[Pair], sizes: Sequence[int], bins: int) -> dict[Pair, Floats]:
        """Return the tables of pairs of columns, with `sizes` levels each."""
        shapes = [(sizes[i], 1 if j < 0 else sizes[j], bins, 5) for i, j in pairs]
        ends = np.concatenate([[0], np.cumsum([math.prod(shape) for shape in shapes])]).tolist()
        tables = np.zeros(ends[-1])
        first, second = (np.array(column, dtype=np.int64) for column in zip(*pairs, strict=True))
        args = self.bin, bins, self.label, self.q, first, second, tables
        _kernel.cross_sums(self.codes.ravel(), np.array(sizes, dtype=np.int64), *args)
        return {
            pair: tables[begin:end].reshape(shape)
            for pair, shape, begin, end in zip(pairs, shapes, ends[:-1], ends[1:], strict=True)
        }


@dataclass(frozen=True, slots=True)
class Level:
    """A level of a column: a condition such as "=at", or values above `low` up to `high`, as text.

    Examples
    --------
    >>> Level("=at").describe("country"), Level(low="30", high="45").describe("age")
    ('country=at', 'age above 30 up to 45')
    """

    condition: str = ""
    low: str | None = None
    high: str | None = None

    def describe(self, column: str) -> str:
        """Return the condition on a column."""
        above = "" if self.low is None else f" above {self.low}"
        below = "" if self.high is None else f" up to {self.high}"
        return f"{column}{self.condition}{above}{below}"


@dataclass(frozen=True, slots=True, eq=False)
class Crossed:
    """Sums of rows by the levels of one or two columns, and by bins of scores.

    Parameters
    ----------
    columns : tuple of str
        The columns; the scores themselves may be one.
    levels : tuple of tuples of Level
        The levels of each column; the last is null.
    ordered : tuple of bool
        Whether the levels of a column, but null, are ranges in order, which can be joined.
    bins : array
        The lowest score of each bin.
    tables : mapping
        By pair of column indexes, in which -1 is no column: rows, positives and sums of q, q^2 and q^3, q = min(p, 1 -
        p), by level of the first, level of the second and bin.
    rows : CodedRows
        The rows themselves, a byte for each column.
    row_counts : RowCounts
        The row counts.
    notes : tuple of Note
        Rows and columns that were left out, and why.
    score : str or None
        Which of the columns are the scores, if any.
    """

    columns: tuple[str, ...]
    levels: tuple[tuple[Level, ...], ...]
    ordered: tuple[bool, ...]
    bins: Floats
    tables: Mapping[Pair, Floats]
    rows: CodedRows
    row_counts: RowCounts
    notes: tuple[Note, ...] = ()
    score: str | None = None

    def sums(self, pair: Pair, box: tuple[int, int, int, int]) -> Floats:
        """Return the sums by bin of the rows in a box: first and last level of the first column, then of the second."""
        a, b, c, d = box
        return np.asarray(self.tables[pair][a : b + 1, c : d + 1].sum(axis=(0, 1)))

    def surplus(self, pair: Pair) -> tuple[Floats, Floats]:
        """Return observed minus expected positives, and their variance, of each pair of levels."""
        n, pos, s1, s2 = np.moveaxis(self.tables[pair][..., :4], -1, 0)
        differences = np.where(self.bins >= 0.5, s1 - (n - pos), pos - s1)
        return differences.sum(axis=-1), np.maximum(s1 - s2, 0.0).sum(axis=-1)

    def certain(self, score: int) -> Bools:
        """Return the rows whose scores are exactly 0, or exactly 1."""
        side = (self.bins >= 0.5) == (score == 1)
        return np.asarray((self.rows.q == 0) & side[self.rows.bin])

    def corrected(self, conditions: Conditions, factor: float, pairs: Sequence[Pair]) -> Crossed:
        """Return the same rows with the odds of a group multiplied by an odds ratio, crossed by some of the pairs."""
        rows, inside = self.rows, self.rows.choose(conditions)
        upper = self.bins[rows.bin[inside]] >= 0.5
        f = np.where(upper, 1 / factor, factor)  # q is the probability of a negative in upper bins
        return self.changed(inside, f * rows.q[inside] / (1 - rows.q[inside] + f * rows.q[inside]), pairs)

    def changed(self, inside: Bools, q: Floats | float, pairs: Sequence[Pair]) -> Crossed:
        """Return the same rows with another q of some of them, crossed by some of the pairs."""
        rows = replace(self.rows, q=self.rows.q.copy())
        rows.q[inside] = q
        tables = rows.cross(pairs, [len(levels) for levels in self.levels], len(self.bins))
        return replace(self, tables=tables, rows=rows)

    def count(self) -> int:
        """Return the number of groups: every level, every run of neighbouring levels, and every pair of these."""
        sizes = [
            len(levels) if not ordered else (len(levels) - 1) * len(levels) // 2 + 1
            for levels, ordered in zip(self.levels, self.ordered, strict=True)
        ]
        return sum(sizes[i] * (1 if j < 0 else sizes[j]) for i, j in self.tables)

    def describe(self, conditions: Conditions) -> str:
        """Return conditions in words."""
        return " and ".join(map(self._describe, conditions))

    def _describe(self, condition: Condition) -> str:
        column, first, last = condition
        levels, name = self.levels[column], self.columns[column]
        if first == last:
            return levels[first].describe(name)
        joined = Level(low=levels[first].low, high=levels[last].high)
        return f"{name} is not null" if joined == Level() else joined.describe(name)

    def cells(self, sums: Floats) -> Cells:
        """Return a group's sums by bin as cells."""
        used = np.flatnonzero(sums[:, 0])
        counts = sums[used, :2].astype(np.int64)
        return unchecked_cells((self.bins[used], counts[:, 0], counts[:, 1], *sums[used, 2:].T.copy()))

    def with_clusters(self, conditions: Conditions, cells: Cells) -> Cells:
        """Return the cells of a group with the clusters of its rows; unchanged if rows are in none."""
        if self.rows.cluster is None:
            return cells
        inside = self.rows.choose(conditions)
        cell = np.searchsorted(cells.key, self.bins[self.rows.bin[inside]])
        first = np.diff(self.rows.cluster[inside], prepend=-1) != 0
        key = (np.cumsum(first) - 1) * len(cells) + cell
        n, pos = (np.bincount(key, weight) for weight in (None, self.rows.label[inside]))
        pairs = np.flatnonzero(n)
        cluster, position = np.divmod(pairs, len(cells))
        clusters = Clusters(cluster, position, n[pairs].astype(np.int64), pos[pairs].astype(np.int64))
        return cells.with_clusters(clusters)
