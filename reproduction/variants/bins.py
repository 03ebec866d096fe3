"""Bins as the published tables have them, where those differ from the paper's text or from truecal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from truecal import BoundedIsotonic, Tally
from truecal.data import Sorted
from truecal.metrics import Partition


@dataclass(frozen=True, slots=True)
class TruncatedQuantile:
    """Quantile bins cut at int(fraction x N), the fraction a float of `linspace(0, 1, bins + 1)`.

    0.29 x 6000 is 1739.9999999999998 in floating point, so that cut falls one row early. 10 bins never suffer; 50,
    100, 500 and 1000 bins of the size tables do. Distinct scores only.
    """

    n_bins: int = 10

    def partition(self, data: Sorted) -> Partition:
        tally = _tally(data)
        if tally.n_rows != len(tally):
            raise ValueError("Rows can be cut at any place only where scores are distinct; move ties apart first.")
        cuts = (np.linspace(0, 1, self.n_bins + 1) * tally.n_rows).astype(np.int64)
        return _partition(tally, np.unique(cuts))


@dataclass(frozen=True, slots=True)
class TailJoined:
    """PAVA-BC whose last n_min rows are joined to the last block whenever 2 n_min <= n_max, however large it is.

    The paper's line 10 joins them only while the sum stays within n_max.
    """

    n_min: int | float | None = None
    n_max: int | float | None = None

    def partition(self, data: Sorted) -> Partition:
        tally = _tally(data)
        paper = BoundedIsotonic(self.n_min, self.n_max, sizes="paper")
        n_min, n_max = paper.bounds(tally.n_rows)
        found = paper.partition(tally)
        from_the_end = np.cumsum(tally.n[::-1])
        tail = len(tally) - 1 - int(np.searchsorted(from_the_end, n_min))
        kept_apart = len(found) > 1 and found.starts[-2] == tail and found.n[-2:].sum() > n_max
        if kept_apart and 2 * n_min <= n_max:
            return _partition(tally, np.delete(found.starts, -2))
        return found


@dataclass(frozen=True, slots=True)
class EqualRatesMerged:
    """The bins of Algorithm 2 as printed: no cut between two neighbouring blocks of equal rate."""

    n_min: int | float | None = None
    n_max: int | float | None = None

    def partition(self, data: Sorted) -> Partition:
        tally = _tally(data)
        found = BoundedIsotonic(self.n_min, self.n_max, sizes="paper").partition(tally)
        n, k = found.n, found.k
        differ = k[:-1] * n[1:] != k[1:] * n[:-1]
        return _partition(tally, found.starts[np.concatenate([[True], differ, [True]])])


def _tally(data: Sorted) -> Tally:
    if not isinstance(data, Tally):
        raise TypeError("This variant takes a Tally.")
    return data


def _partition(tally: Tally, starts: NDArray[np.int64]) -> Partition:
    inner = starts[1:-1]
    edges = np.concatenate([[0.0], (tally.score[inner - 1] + tally.score[inner]) / 2, [1.0]])
    n, k = (np.add.reduceat(counts, starts[:-1]) for counts in (tally.n, tally.pos))
    return Partition(starts, n, k, edges)
