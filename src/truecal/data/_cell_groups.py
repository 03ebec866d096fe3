"""The cells of several groups of rows, concatenated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from truecal import _kernel
from truecal.data._arrays import Bools, Ints, Numbers
from truecal.data._cells import Cells, compute_once, unchecked_cells
from truecal.data._clusters import Clusters
from truecal.data._sampling import check_same
from truecal.data._tally import SortedRows, Tally

CELLS_AT_ONCE = 2**15  # of a batch of groups: their columns fit a cache
# Rows in any form. All have `bits` (None if scores are exact), `sampling`, `clusters`, `importance_weight`, `n_rows`,
# `positives` and `highest`; `tally`, `grouped` and `sorted` in other forms; and `above`, `at_least`, `top`, `simplify`.
Part = Tally | Cells | SortedRows
T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CellGroups:
    """The concatenated cells of several groups of rows, so that one pass computes a quantity of each.

    Parameters
    ----------
    cells : Cells
        The cells of the first group, then those of the second, and so on; in increasing order within each.
    starts : array of int64
        The first cell of each group, and the number of cells. No group is empty.

    Examples
    --------
    >>> one, two = (Cells.from_arrays([0, 1, 1], scores) for scores in ([0.1, 0.1, 0.2], [0.3, 0.4, 0.5]))
    >>> both = CellGroups.of([one, two])
    >>> both.starts.tolist(), both.add(both.cells.n).tolist()
    ([0, 2, 5], [3, 3])
    """

    cells: Cells
    starts: Ints
    _known: dict[object, Any] = field(default_factory=dict, init=False)

    @classmethod
    def of(cls, groups: Sequence[Part]) -> CellGroups:
        """Concatenate the verdict's cells of groups in the order given; see `Cells.of`."""
        each = [Cells.of(rows) for rows in groups]
        sizes = [len(cells) for cells in each]
        if not each or not all(sizes):
            raise ValueError("A group of rows must have at least one; there is none.")
        starts = np.cumsum([0, *sizes], dtype=np.int64)
        if len(each) == 1:
            return cls(each[0], starts)
        for cells in each:
            check_same(each[0].sampling, cells.sampling)
        columns: Any = tuple(map(np.concatenate, zip(*(cells.power_columns for cells in each), strict=True)))
        known = [cells.clusters for cells in each if cells.clusters is not None]
        if 0 < len(known) < len(each):
            raise ValueError("All groups of rows must have clusters, or none; only some have.")
        clusters = Clusters.lay(known, sizes) if known else None
        return cls(unchecked_cells(columns, each[0].sampling, clusters), starts)

    @classmethod
    def batches(cls, groups: Sequence[Part]) -> Iterator[CellGroups]:
        """Yield the cells of groups in batches that fit a cache."""
        batch: list[Part] = []
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
    def _lay(cls, groups: Sequence[Part]) -> CellGroups:
        """Concatenate the cells of groups; those of tallies are computed in one pass."""
        observations = [rows for rows in groups if isinstance(rows, Tally) and rows.clusters is None]
        if len(observations) < max(len(groups), 2):
            return cls.of(groups)
        for tally in observations:
            check_same(observations[0].sampling, tally.sampling)
        starts = np.cumsum([0, *map(len, observations)], dtype=np.int64)
        score, n, pos = map(np.concatenate, zip(*(tally.entries for tally in observations), strict=True))
        sums, starts = _kernel.cell_groups(score, n, pos, starts)
        return cls(unchecked_cells(sums, observations[0].sampling), starts)

    def choose(self, which: Bools) -> CellGroups:
        """Return some of the groups, without their clusters."""
        if which.all():
            return self
        sizes = np.diff(self.starts)
        cells = np.repeat(which, sizes)
        columns: Any = tuple(column[cells] for column in self.cells.power_columns)
        starts = np.concatenate([[0], np.cumsum(sizes[which])])
        return CellGroups(unchecked_cells(columns, self.cells.sampling), starts)

    def coarsen(self, bits: int) -> CellGroups:
        """Return the same groups in cells of fewer bits, without clusters."""
        cells = self.cells
        *columns, starts = _kernel.coarsen(cells.key, cells.n, cells.pos, cells.powers, self.starts, bits)
        coarse: Any = tuple(columns)
        return CellGroups(unchecked_cells(coarse, cells.sampling, bits=bits), starts)

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
