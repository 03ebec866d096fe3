"""Mean differences between losses of the same rows, with intervals; losses are summed within clusters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from truecal.data import Clusters, Floats, Ints, Tally
from truecal.metrics import normal_quantile

Losses = tuple[Floats, Floats]  # of a positive and of a negative at each score


class MeanDifference(NamedTuple):
    """A mean difference of row losses, with its standard error and the degrees of freedom of the error."""

    mean: float
    error: float
    freedom: float = math.inf

    def reach(self, confidence: float) -> float:
        """Return half the width of the confidence interval of the mean."""
        tail = (1 - confidence) / 2
        if not math.isfinite(self.freedom):
            return normal_quantile(tail) * self.error
        from scipy.special import stdtrit  # which takes longer to import than to compare a million rows

        return float(stdtrit(self.freedom, 1 - tail)) * self.error if self.freedom > 0 else math.inf


def measure_gap(observations: Sequence[Tally], first: Sequence[Losses], second: Sequence[Losses]) -> MeanDifference:
    """Return the mean of the first losses of the rows of tallies minus the second ones."""
    n, pos = (np.concatenate([getattr(tally, name) for tally in observations]) for name in ("n", "pos"))
    one, zero = (np.concatenate([a[label] - b[label] for a, b in zip(first, second, strict=True)]) for label in (0, 1))
    mean = float((pos @ one + (n - pos) @ zero) / n.sum())
    return measure_error(mean, n, pos, (one - mean, zero - mean), _lay(observations))


def measure_error(mean: float, n: Ints, pos: Ints, residuals: Losses, clusters: Clusters | None) -> MeanDifference:
    """Return a mean with its standard error, given the residuals of a positive and of a negative at each score.

    Sums over clusters are independent. The degrees of freedom are the effective number of clusters, by their shares of
    the rows, less one.
    """
    rows = int(n.sum())
    if clusters is None:
        squares = _times(pos, residuals[0] ** 2) + _times(n - pos, residuals[1] ** 2)
        return MeanDifference(mean, math.sqrt(squares.sum() / max(rows - 1, 1) / rows))
    one, zero = (column[clusters.position] for column in residuals)
    starts = clusters.starts[:-1]
    sums = np.add.reduceat(_times(clusters.pos, one) + _times(clusters.n - clusters.pos, zero), starts)
    count = rows**2 / float(np.sum(np.add.reduceat(clusters.n, starts).astype(np.float64) ** 2))
    if count - 1 < 1e-9:
        return MeanDifference(mean, math.inf, 0.0)
    return MeanDifference(mean, math.sqrt(float(np.sum(sums**2)) * count / (count - 1)) / rows, count - 1)


def _times(count: Ints, value: Floats) -> Floats:
    """Values times counts; 0 if the count is 0, even for infinite values."""
    return np.where(count > 0, count * value, 0.0)


def _lay(observations: Sequence[Tally]) -> Clusters | None:
    """The clusters of some tallies, concatenated."""
    known = [tally.clusters for tally in observations if tally.clusters is not None]
    if not known:
        return None
    starts = np.cumsum([0, *(len(tally) for tally in observations[:-1])]).tolist()
    position = np.concatenate([clusters.position + start for clusters, start in zip(known, starts, strict=True)])
    cluster, n, pos = (
        np.concatenate([getattr(clusters, name) for clusters in known]) for name in ("cluster", "n", "pos")
    )
    return Clusters.merge(cluster, position, n, pos)
