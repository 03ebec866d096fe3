"""Compute metrics on redrawn labels, on several threads; the numbers do not depend on the number of threads."""

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
from truecal.data import CellGroups, CellSums, Clusters, Floats, Ints, Pairs, Tally, merge, unchecked
from truecal.metrics import Binned, Bins, Design, Measure, Windows, bin_once

MOST_TOGETHER = 64
MOST_DRAWS = 10_000_000
ROWS_AT_ONCE = 200_000
DRAWN_SCORES = 50_000  # scores beyond which labels are drawn for cells, where that is all that is asked for
NODES = 21  # at which a mean over a normal variable is taken
HIGHEST_CORRELATION = 0.98  # correlation of normal variables
# a string, since importing `np.random` is slow and rarely needed
RandomState: TypeAlias = "int | np.random.Generator | np.random.RandomState | None"


@dataclass(frozen=True, slots=True)
class Draws:
    """How labels are redrawn: how often, with which seed or generator, and on how many threads.

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
        """Draw seeds, one for each replicate, or `count` of them."""
        size = self.draws if count is None else count
        if isinstance(self.random_state, np.random.RandomState):
            return self.random_state.randint(0, 2**63 - 1, size=size, dtype=np.int64)
        return np.random.default_rng(self.random_state).integers(0, 2**63 - 1, size=size)


def compute_on_draws(
    tally: Tally, probability: Floats, metrics: Mapping[str, Measure], draws: Draws
) -> dict[str, Floats]:
    """Compute each metric on sets of labels drawn from `probability`, which has one entry for each score.

    Every set has its own seed. Where all metrics are of windows and scores are many, labels are drawn for cells, which
    windows are made of: taking the rows of a cell as equal is what the windows' tests do.
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
    scheme, cells = Windows(), CellSums.of(tally)
    begin = np.searchsorted(np.cumsum(tally.n), np.cumsum(cells.n) - cells.n, side="right")
    mean = np.clip(np.add.reduceat(tally.n * probability, begin) / cells.n, 0.0, 1.0)
    whole, windows = scheme.partition_cells(cells)
    return whole, mean, {metric.binning: Binned(whole, windows) for metric in metrics.values()}


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """Labels to be drawn for n rows of each score, or pair of scores, with its probability; those of one cluster
    together.

    `shared` is the root of the correlation of the normal variables that make them, 0 where rows are independent: a row
    is positive where its variable lies below the quantile of its probability. So each row is positive with its
    probability, and labels of a cluster are as alike as the design says.
    """

    n: Ints
    probability: Floats
    clusters: Clusters | None = None
    shared: float = 0.0
    quantile: Floats | None = None
    start: Floats = field(init=False)  # of every draw

    def __post_init__(self) -> None:
        object.__setattr__(self, "start", _kernel.draw_starts(self.probability, self.n))

    @classmethod
    def of(cls, tally: Tally, probability: Floats) -> Labels:
        """The labels of a tally, as alike within clusters as those that were read."""
        return cls._of(tally.n, probability, tally.clusters, find_shared(tally))

    @classmethod
    def of_pairs(cls, pairs: Pairs, probability: Floats) -> Labels:
        """The labels of pairs of scores, as alike within clusters as those that were read."""
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
        """Draw the positives at each score."""
        pos, clusters = np.empty_like(self.n), self.clusters
        if self.quantile is None or clusters is None:
            _kernel.draw_positives(self.probability, self.n, self.start, seed, pos)
        else:
            _kernel.draw_together(self.quantile, clusters.starts, clusters.position, clusters.n, self.shared, seed, pos)
        return pos


def find_shared(tally: Tally) -> float:
    """The root of the correlation of normal variables at which labels of one cluster have as much covariance, over all
    pairs, as the design says; 0 where rows are independent."""
    if tally.clusters is None:
        return 0.0
    memo = tally.clusters.memo
    if "shared" not in memo:
        memo["shared"] = _match_covariance(CellGroups.of([CellSums.of(tally)]))
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
        pairs = quantile, clusters.starts, clusters.cell, clusters.n
        return wanted - _kernel.covariance_together(*pairs, math.sqrt(correlation), nodes, weights)

    low, high = 0.0, HIGHEST_CORRELATION
    if missing(high) >= 0:
        return math.sqrt(high)
    while high - low > 1e-3 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if missing(middle) > 0 else (low, middle)
    return math.sqrt((low + high) / 2)


def _bin_draw(first: Bins, tally: Tally, labels: Labels, metrics: Mapping[str, Measure], seed: int) -> Bins:
    """Redraw labels and return their bins, without the labels unless scores or the population need them."""
    bins = bin_once(tally.relabel(labels.draw(seed)), metrics, first)
    if not tally.sampling.plain or tally.importance_weight is not None:
        return bins
    return {scheme: Binned(tally, part.partition) if scheme else part for scheme, part in bins.items()}


def map_seeds(function: Callable[[list[int]], list[Any]], draws: Draws, together: int = 1) -> list[Any]:
    """Apply a function to the seeds, at most `together` at a time, and return the results in order. It can be
    interrupted."""
    seeds = draws.seeds().tolist()
    step = min(together, MOST_TOGETHER)
    with Progress(draws.draws, "draws") as progress:

        def work(first: int, last: int) -> list[Any]:
            values = function(seeds[first:last])
            progress.step(last - first)
            return values

        return map_chunks(work, draws.draws, step, draws.threads)


def find_quantiles(values: Floats, shares: Sequence[float]) -> Floats:
    """The quantiles of each column, as `np.quantile` has them, which loads the module of masked arrays."""
    values = np.sort(values, axis=0)
    at = (len(values) - 1) * np.array(shares)
    low = np.floor(at).astype(np.int64)
    part = (at - low).reshape(-1, *[1] * (values.ndim - 1))
    first, second = values[low], values[np.minimum(low + 1, len(values) - 1)]
    gap = second - first
    quantiles: Floats = np.where(part < 0.5, first + gap * part, second - gap * (1 - part))
    return quantiles
