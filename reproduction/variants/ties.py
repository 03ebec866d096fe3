"""Tie orders: equal scores put in some order of rows, as code that sorts rows without grouping them does.

truecal never separates equal scores. To see what a tie order would give, the tied scores are moved apart by single
ulps in that order and handed to truecal, which then finds them distinct.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from truecal import Tally

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SMALL = 15  # NumPy leaves partitions up to this many apart to insertion sort


def tally_in_order(y: Ints, score: Floats, order: Ints) -> Tally:
    """The tally of rows whose ties are broken as in `order`, which must sort the scores."""
    if (np.diff(score[order]) < 0).any():
        raise ValueError("`order` must sort the scores; it does not.")
    return Tally.from_arrays(y[order], move_apart(score[order]))


def move_apart(score: Floats) -> Floats:
    """Sorted scores made strictly increasing by the fewest ulps: upwards, but never past 1."""
    place = np.arange(len(score))
    bits = np.ascontiguousarray(score, dtype=np.float64).view(np.int64)
    upward = np.maximum.accumulate(bits - place) + place
    ceiling = np.float64(1.0).view(np.int64) - place[::-1]
    return np.asarray(np.minimum(upward, ceiling).view(np.float64))


def is_tied(score: Floats) -> bool:
    """Whether two rows share a score."""
    return len(np.unique(score)) < len(score)


def tie_orders(y: Ints, score: Floats, randoms: int = 100, seed: int = 0) -> dict[str, Ints]:
    """Row orders that sort the scores: stable, labels ascending and descending, and random ones."""
    rng = np.random.default_rng(seed)
    orders = {
        "stable": np.argsort(score, kind="stable"),
        "labels ascending": np.lexsort((y, score)),
        "labels descending": np.lexsort((-y, score)),
    }
    return orders | {f"random {i}": np.lexsort((rng.random(len(score)), score)) for i in range(randoms)}


def introsort_order(score: Floats) -> Ints:
    """The order in which `numpy.argsort` of the paper's time left equal scores.

    NumPy's default sort was an introsort without vector instructions: median of three, partitions of up to 16 by
    insertion. Newer versions sort by AVX2 or AVX-512 where the processor has them and leave ties otherwise. (Its
    heapsort, for partitions that degenerate, is left out: it would raise below.)
    """
    v, t = score.tolist(), list(range(len(score)))
    low, high = 0, len(t) - 1
    waiting: list[tuple[int, int]] = []
    depth_left = 2 * max(len(t), 1).bit_length() + len(t)
    while True:
        while high - low > SMALL:
            depth_left -= 1
            if depth_left < 0:
                raise RuntimeError("The partitions degenerate; NumPy would have turned to heapsort here.")
            pivot_at = _partition(v, t, low, high)
            if pivot_at - low < high - pivot_at:
                waiting.append((pivot_at + 1, high))
                high = pivot_at - 1
            else:
                waiting.append((low, pivot_at - 1))
                low = pivot_at + 1
        _insertion(v, t, low, high)
        if not waiting:
            return np.array(t)
        low, high = waiting.pop()


def _partition(v: list[float], t: list[int], low: int, high: int) -> int:
    """Partition t[low..high] around the median of its first, middle and last value; gives the pivot's place."""
    middle = low + (high - low) // 2
    for a, b in ((low, middle), (middle, high), (low, middle)):
        if v[t[b]] < v[t[a]]:
            t[a], t[b] = t[b], t[a]
    pivot, i, j = v[t[middle]], low, high - 1
    t[middle], t[j] = t[j], t[middle]
    while True:
        i += 1
        while v[t[i]] < pivot:
            i += 1
        j -= 1
        while pivot < v[t[j]]:
            j -= 1
        if i >= j:
            break
        t[i], t[j] = t[j], t[i]
    t[i], t[high - 1] = t[high - 1], t[i]
    return i


def _insertion(v: list[float], t: list[int], low: int, high: int) -> None:
    for i in range(low + 1, high + 1):
        row, j = t[i], i
        while j > low and v[row] < v[t[j - 1]]:
            t[j] = t[j - 1]
            j -= 1
        t[j] = row
