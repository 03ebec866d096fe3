"""Local TCE again, from its text: rows one by one, exact fractions for costs, convolution for tails. Slow on purpose."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction
from itertools import accumulate

import numpy as np

from truecal.data import cell


def poisson_binomial(probabilities) -> np.ndarray:
    """P(X = 0), P(X = 1), ... of a sum of independent Bernoulli variables."""
    mass = np.zeros(len(probabilities) + 1)
    mass[0] = 1
    for i, p in enumerate(probabilities):
        mass[1 : i + 2] += p * (mass[: i + 1] - mass[1 : i + 2])
        mass[0] *= 1 - p
    return mass


def cells_of(y, p) -> list[tuple[float, list[float], int]]:
    """Cells in increasing order: name, the rows' p, positives."""
    rows: dict[float, list[float]] = defaultdict(list)
    positives: dict[float, int] = defaultdict(int)
    for label, score, name in zip(y, p, cell(np.asarray(p, float), 12).tolist(), strict=True):
        rows[name].append(float(score))
        positives[name] += int(label)
    return [(name, rows[name], positives[name]) for name in sorted(rows)]


def cost_of(cells) -> list[Fraction]:
    n = [len(rows) for _, rows, _ in cells]
    v = [math.fsum(x * (1 - x) for x in rows) for _, rows, _ in cells]
    m, w = sum(n) ** (2 / 3), math.fsum(v) ** (2 / 3)
    raw = [max(a / m, b / w if w > 0 else 0.0) for a, b in zip(n, v, strict=True)]
    return [Fraction(round(x * 2**30), 2**30) for x in raw]


def windows_of(cost: list[Fraction], h: int) -> list[list[int]]:
    """The windows of grid h, as lists of cells."""
    windows: list[list[int]] = []
    run: list[int] = []
    for i, c in enumerate([*cost, Fraction(2)]):  # a heavy cell behind the last ends its run
        if c < 1:
            run.append(i)
            continue
        windows += cut_run(run, [cost[j] for j in run], h)
        run = []
        if i < len(cost):
            windows.append([i])
    return windows


def cut_run(run: list[int], cost: list[Fraction], h: int) -> list[list[int]]:
    if not run:
        return []
    half, phase, total = Fraction(1, 2), Fraction(h, 8), sum(cost)
    following = phase if h >= 4 else 1 + phase
    made, current = [], []
    for i, a in zip(run, accumulate(cost), strict=True):
        current.append(i)
        if i != run[-1] and a >= following and total - a >= half:
            made.append(current)
            current = []
            j = math.floor(a - phase) + 1  # the smallest whole number with h/8 + j > a
            following = phase + j
            if following < a + half:
                following += 1
    return [*made, current]


def decide(probabilities, k: int, significance: float) -> tuple[float, float]:
    """too_low and too_high of one window."""
    mass = poisson_binomial(probabilities)
    at, above, below = mass[k], math.fsum(mass[k + 1 :]), math.fsum(mass[:k])

    def share(tail: float) -> float:
        if at == 0:
            return float(tail < significance / 2)
        return min(1.0, max(0.0, (significance / 2 - tail) / at))

    return share(above), share(below)


def local_tce(y, p, significance=0.05, raise_by=None, lower_by=None) -> tuple[float, float | None]:
    """In percent by rows and by information; the functions move a probability by a tolerance."""
    cells = cells_of(y, p)
    cost = cost_of(cells)
    by_rows = by_information = 0.0
    total = math.fsum(x * (1 - x) for x in p)
    for h in range(8):
        for window in windows_of(cost, h):
            rows = [x for i in window for x in cells[i][1]]
            k = sum(cells[i][2] for i in window)
            low, high = decide(rows, k, significance)
            if raise_by and lower_by:
                low, _ = decide([raise_by(x) for x in rows], k, significance)
                _, high = decide([lower_by(x) for x in rows], k, significance)
            by_rows += len(rows) * (low + high)
            by_information += math.fsum(x * (1 - x) for x in rows) * (low + high)
    return 100 * by_rows / (8 * len(p)), 100 * by_information / (8 * total) if total > 0 else None
