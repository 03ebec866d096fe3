"""Metrics on redrawn labels: many times, on several threads, with the same numbers whatever their count."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any

import numpy as np

from truecal import _kernel
from truecal.metrics import Metric, bin_once
from truecal.tally import Floats, Ints, Tally, trusted

RandomState = int | np.random.Generator | np.random.RandomState | None


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

    def one(seed: int) -> list[float]:
        pos = np.empty_like(tally.n)
        _kernel.draw_positives(probability, tally.n, seed, pos)
        drawn = trusted(tally.score, tally.n, pos)
        bins = bin_once(drawn, metrics)
        return [metric.on(bins[metric.binning]) for metric in metrics.values()]

    values = np.array(map_seeds(one, replicates, random_state, threads))
    return dict(zip(metrics, values.T, strict=True))


def map_seeds(function: Callable[[int], Any], replicates: int, random_state: RandomState, threads: int) -> list[Any]:
    """The function of `replicates` seeds, in order. An interrupt stops it within a replicate."""
    check_counts(replicates, threads)
    seeds = draw_seeds(random_state, replicates).tolist()
    results: list[Any] = [None] * replicates
    with Progress(replicates) as progress, ThreadPoolExecutor(threads) as pool:
        stop = False

        def work(first: int) -> None:
            for i in range(first, replicates, threads):
                if stop:
                    return
                results[i] = function(seeds[i])
                progress.step()

        futures = [pool.submit(work, first) for first in range(threads)]
        try:
            for future in futures:
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
            "`random_state` must be None, an int, a numpy Generator or a RandomState; it is "
            f"{type(random_state).__name__}."
        )
    return np.random.default_rng(random_state).integers(0, 2**63 - 1, size=count)


def check_counts(replicates: int, threads: int) -> None:
    """Refuse numbers of replicates and threads below one."""
    for name, value in (("replicates", replicates), ("threads", threads)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            raise ValueError(f"`{name}` must be a whole number, 1 or more; it is {value!r}.")


class Progress:
    """A line on standard error that counts replicates, on a terminal, once the work takes longer than a second."""

    def __init__(self, total: int) -> None:
        self.total, self.done = total, 0
        self.shown = False
        self.next = time.monotonic() + 1
        self.wanted = sys.stderr is not None and sys.stderr.isatty()

    def __enter__(self) -> Progress:
        return self

    def step(self) -> None:
        self.done += 1
        if self.wanted and time.monotonic() >= self.next:
            self.next = time.monotonic() + 0.2
            self.shown = True
            filled = 30 * self.done // self.total
            sys.stderr.write(f"\r[{'#' * filled}{'.' * (30 - filled)}] {self.done:,} of {self.total:,} replicates")
            sys.stderr.flush()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.shown:
            sys.stderr.write("\r" + " " * 70 + "\r")
            sys.stderr.flush()
