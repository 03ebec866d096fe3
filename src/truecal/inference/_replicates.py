"""Metrics on redrawn labels: many times, on several threads, with the same numbers whatever their count."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Any, TypeAlias

import numpy as np

from truecal import _kernel
from truecal._errors import option
from truecal._progress import Progress
from truecal.metrics import Binned, Binning, Metric, Rejection, bin_once
from truecal.observations import Floats, Ints, Tally, unchecked

MOST_TOGETHER = 64
ROWS_AT_ONCE = 200_000
# in words: to import `np.random` takes a while, and few need it
RandomState: TypeAlias = "int | np.random.Generator | np.random.RandomState | None"


def redraw(
    tally: Tally,
    probability: Floats,
    metrics: Mapping[str, Metric],
    *,
    replicates: int,
    random_state: RandomState,
    threads: int,
) -> dict[str, Floats]:
    """Each metric's values on `replicates` sets of labels drawn from `probability`, one for each score of the tally.

    Every set has its own seed, so the values do not depend on the number of threads.
    """

    def some(seeds: list[int]) -> list[list[float]]:
        drawn = [_bin_redrawn(tally, probability, metrics, seed) for seed in seeds]
        for metric in metrics.values():
            if isinstance(metric.loss, Rejection):
                Binned.reject_together([bins[metric.binning] for bins in drawn], metric.loss)
        return [[metric.on(bins[metric.binning]) for metric in metrics.values()] for bins in drawn]

    values = np.array(map_seeds(some, replicates, random_state, threads, together=max(1, ROWS_AT_ONCE // len(tally))))
    return dict(zip(metrics, values.T, strict=True))


def _bin_redrawn(tally: Tally, probability: Floats, metrics: Mapping[str, Metric], seed: int) -> dict[Binning, Binned]:
    """The bins of redrawn labels; the labels themselves are not kept."""
    pos = np.empty_like(tally.n)
    _kernel.draw_positives(probability, tally.n, seed, pos)
    bins = bin_once(unchecked(tally.score, tally.n, pos), metrics)
    return {scheme: Binned(tally, binned.partition) for scheme, binned in bins.items()}


def map_seeds(
    function: Callable[[list[int]], list[Any]],
    replicates: int,
    random_state: RandomState,
    threads: int,
    together: int = 1,
) -> list[Any]:
    """The function of `replicates` seeds, in order, given so many at a time. An interrupt stops it within a call."""
    check_counts(replicates, threads)
    seeds = draw_seeds(random_state, replicates).tolist()
    results: list[Any] = [None] * replicates
    # a chunk for each thread at least
    step = min(together, MOST_TOGETHER, -(-replicates // threads))
    with Progress(replicates, "replicates") as progress, ThreadPoolExecutor(threads) as pool:
        stop = False

        def work(first: int) -> None:
            for i in range(first * step, replicates, threads * step):
                if stop:
                    return
                chunk = seeds[i : i + step]
                results[i : i + step] = function(chunk)
                progress.step(len(chunk))

        futures = [pool.submit(work, first) for first in range(threads)]
        try:
            pending = set(futures)
            while pending:  # in short waits, since one without end cannot be interrupted everywhere
                done, pending = wait(pending, 0.2, FIRST_EXCEPTION)
                for future in done:
                    future.result()
        except BaseException:
            stop = True
            raise
    return results


def draw_seeds(random_state: RandomState, count: int) -> Ints:
    """Seeds for replicates: None takes fresh entropy, an int repeats, a generator is advanced."""
    if isinstance(random_state, np.random.RandomState):
        return random_state.randint(0, 2**63 - 1, size=count, dtype=np.int64)
    if random_state is not None and not isinstance(random_state, (int, np.integer, np.random.Generator)):
        raise TypeError(
            f"{option('random_state')} must be None, an int, a numpy Generator or a RandomState; it is "
            f"{type(random_state).__name__}."
        )
    return np.random.default_rng(random_state).integers(0, 2**63 - 1, size=count)


def check_counts(replicates: int, threads: int) -> None:
    """Refuse numbers of replicates and threads below one."""
    for name, value in (("replicates", replicates), ("threads", threads)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            raise ValueError(f"{option(name)} must be a whole number, 1 or more; it is {value!r}.")
