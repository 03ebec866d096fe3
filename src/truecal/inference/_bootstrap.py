"""Parametric bootstrap: metrics on labels drawn from given probabilities, on several threads."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from truecal import _kernel
from truecal._errors import option
from truecal._progress import Progress
from truecal._threads import MOST_THREADS, check_count, map_chunks
from truecal.data import CellGroups, Cells, Clusters, Floats, Ints, Pairs, Tally, merge, unchecked
from truecal.metrics import Binned, Bins, Design, Measure, Windows, bin_once

MOST_TOGETHER = 64  # label sets that one call computes
MOST_DRAWS = 10_000_000  # label sets of one request
ROWS_AT_ONCE = 200_000  # scores of all label sets that one call computes together
DRAWN_SCORES = 50_000  # scores above which labels are drawn for cells, if no metric needs more than cells
NODES = 21  # of the Gauss-Hermite quadrature over a normal variable
HIGHEST_CORRELATION = 0.98  # of the normal variables: the search for it ends there
# a string, since importing `np.random` is slow and rarely needed
RandomState: TypeAlias = "int | np.random.Generator | np.random.RandomState | None"


@dataclass(frozen=True, slots=True)
class Draws:
    """How labels are simulated or resampled: the number of draws, the seed or generator, and the threads.

    `random_state` None takes fresh entropy, an int repeats the same numbers, a generator is advanced. The numbers do
    not depend on the number of threads.

    Examples
    --------
    >>> from truecal.inference import Draws
    >>> Draws(200, random_state=0).draws
    200
    """

    draws: int = 1000
    random_state: RandomState = None
    threads: int = 1

    def __post_init__(self) -> None:
        check_count("draws", self.draws, MOST_DRAWS)
        check_count("threads", self.threads, MOST_THREADS)
        known = (int, np.integer, np.random.Generator, np.random.RandomState)
        if self.random_state is not None and not isinstance(self.random_state, known):
            raise TypeError(
                f"{option('random_state')} must be None, an int, a numpy Generator or a RandomState; it is "
                f"{type(self.random_state).__name__}."
            )

    def seeds(self, count: int | None = None) -> Ints:
        """Return seeds, one for each draw, or `count` of them."""
        size = self.draws if count is None else count
        if isinstance(self.random_state, np.random.RandomState):
            return self.random_state.randint(0, 2**63 - 1, size=size, dtype=np.int64)
        return np.random.default_rng(self.random_state).integers(0, 2**63 - 1, size=size)


def compute_on_draws(
    tally: Tally, probability: Floats, metrics: Mapping[str, Measure], draws: Draws
) -> dict[str, Floats]:
    """Compute each metric on sets of labels drawn from `probability`, which has one entry for each score.

    Every set has its own seed. If all metrics use windows and there are many scores, labels are drawn for cells, of
    which windows are made: the tests of windows take the rows of a cell as equal, too.
    """
    if _is_of_cells(tally, metrics):
        tally, probability, first = _draw_for_cells(tally, probability, metrics)
    else:
        first = bin_once(tally, metrics)
    labels = Labels.of(tally, probability)

    def compute(seeds: list[int]) -> list[list[float]]:
        drawn = [_bin_draw(first, tally, labels, metrics, seed) for seed in seeds]
        for metric in metrics.values():
            Binned.reject_together([bins[metric.binning] for bins in drawn], metric)
        return [[metric.on(bins[metric.binning]) for metric in metrics.values()] for bins in drawn]

    values = np.array(map_seeds(compute, draws, together=max(1, ROWS_AT_ONCE // len(tally))))
    return dict(zip(metrics, values.T, strict=True))


def _is_of_cells(tally: Tally, metrics: Mapping[str, Measure]) -> bool:
    plain = tally.sampling.plain and tally.clusters is None and tally.importance_weight is None
    return (
        plain and len(tally) > DRAWN_SCORES and all(isinstance(metric.binning, Windows) for metric in metrics.values())
    )


def _draw_for_cells(tally: Tally, probability: Floats, metrics: Mapping[str, Measure]) -> tuple[Tally, Floats, Bins]:
    """The cells of scores as a tally, the mean probability of the rows of each, and their windows."""
    scheme, cells = Windows(), Cells.of(tally)
    begin = np.searchsorted(np.cumsum(tally.n), np.cumsum(cells.n) - cells.n, side="right")
    mean = np.clip(np.add.reduceat(tally.n * probability, begin) / cells.n, 0.0, 1.0)
    whole, windows = scheme.partition_cells(cells)
    return whole, mean, {metric.binning: Binned(whole, windows) for metric in metrics.values()}


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """Draw labels for n rows of each score, or pair of scores, with its probability, correlated within clusters.

    A row is positive if a normal variable lies below the quantile of its probability, so that each row is positive with
    its probability (a Gaussian copula). `shared` is the root of the correlation of the variables of a cluster, 0 if
    rows are independent; it is chosen so that labels have the covariance of the design.
    """

    n: Ints
    probability: Floats
    clusters: Clusters | None = None
    shared: float = 0.0
    quantile: Floats | None = None
    start: Floats = field(init=False)  # of the binomial sampler at each score; the same for every draw

    def __post_init__(self) -> None:
        object.__setattr__(self, "start", _kernel.draw_starts(self.probability, self.n))

    @classmethod
    def of(cls, tally: Tally, probability: Floats) -> Labels:
        """Prepare the labels of a tally, as correlated within clusters as those that were read."""
        return cls._of(tally.n, probability, tally.clusters, find_shared(tally))

    @classmethod
    def of_pairs(cls, pairs: Pairs, probability: Floats) -> Labels:
        """Prepare the labels of pairs of scores, as correlated within clusters as those that were read."""
        if pairs.clusters is None:
            return cls(pairs.n, probability)
        tally = merge(probability, pairs.n, pairs.pos)
        clusters = pairs.clusters.move(np.searchsorted(tally.score, probability))
        return cls._of(pairs.n, probability, pairs.clusters, find_shared(unchecked(*tally.entries, clusters=clusters)))

    @classmethod
    def _of(cls, n: Ints, probability: Floats, clusters: Clusters | None, shared: float) -> Labels:
        if shared == 0:
            return cls(n, probability)
        return cls(n, probability, clusters, shared, _kernel.normal_quantiles(probability))

    def draw(self, seed: int) -> Ints:
        """Draw the number of positives at each score."""
        pos, clusters = np.empty_like(self.n), self.clusters
        if self.quantile is None or clusters is None:
            _kernel.draw_positives(self.probability, self.n, self.start, seed, pos)
        else:
            _kernel.draw_together(self.quantile, clusters.starts, clusters.position, clusters.n, self.shared, seed, pos)
        return pos


def find_shared(tally: Tally) -> float:
    """Return the root of the correlation of normal variables that gives labels the covariance of the design.

    The covariance is the sum over all pairs of rows of one cluster. 0 if rows are independent.
    """
    if tally.clusters is None:
        return 0.0
    memo = tally.clusters.memo
    if "shared" not in memo:
        memo["shared"] = _match_covariance(CellGroups.of([tally]))
    shared: float = memo["shared"]
    return shared


def _match_covariance(groups: CellGroups) -> float:
    design, clusters = Design.of(groups), groups.cells.clusters
    if design is None or clusters is None or not design.effect[0] > 1:
        return 0.0
    wanted = float((design.effect[0] - 1) * np.sum(design.n * design.v))
    quantile = _kernel.normal_quantiles(groups.cells.p)
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    weights /= weights.sum()

    def missing(correlation: float) -> float:
        pairs = quantile, clusters.starts, clusters.position, clusters.n
        return wanted - _kernel.covariance_together(*pairs, math.sqrt(correlation), nodes, weights)

    low, high = 0.0, HIGHEST_CORRELATION
    if missing(high) >= 0:
        return math.sqrt(high)
    while high - low > 1e-3 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if missing(middle) > 0 else (low, middle)
    return math.sqrt((low + high) / 2)


def _bin_draw(first: Bins, tally: Tally, labels: Labels, metrics: Mapping[str, Measure], seed: int) -> Bins:
    """Draw labels and return their bins, without the labels unless scores or the population need them."""
    bins = bin_once(tally.relabel(labels.draw(seed)), metrics, first)
    if not tally.sampling.plain or tally.importance_weight is not None:
        return bins
    return {scheme: Binned(tally, part.partition) if scheme else part for scheme, part in bins.items()}


def map_seeds(function: Callable[[list[int]], list[Any]], draws: Draws, together: int = 1) -> list[Any]:
    """Apply a function to the seeds, at most `together` at a time, and return the results in order.

    It can be interrupted.
    """
    seeds = draws.seeds().tolist()
    step = min(together, MOST_TOGETHER)
    with Progress(draws.draws, "draws") as progress:

        def work(first: int, last: int) -> list[Any]:
            values = function(seeds[first:last])
            progress.step(last - first)
            return values

        return map_chunks(work, draws.draws, step, draws.threads)


def find_quantiles(values: Floats, shares: Sequence[float]) -> Floats:
    """Return the quantiles of each column as `np.quantile` does, without loading the module of masked arrays."""
    values = np.sort(values, axis=0)
    at = (len(values) - 1) * np.array(shares)
    low = np.floor(at).astype(np.int64)
    part = (at - low).reshape(-1, *[1] * (values.ndim - 1))
    first, second = values[low], values[np.minimum(low + 1, len(values) - 1)]
    gap = second - first
    quantiles: Floats = np.where(part < 0.5, first + gap * part, second - gap * (1 - part))
    return quantiles
