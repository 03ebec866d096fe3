"""Slow and obvious versions of what the library computes, written from the paper's text."""

from __future__ import annotations

from fractions import Fraction
from itertools import groupby

import numpy as np


def algorithm_1(y, n_min, n_max):
    """Algorithm 1 (PAVA-BC), line by line, for labels in ascending order of distinct predictions: (sum, size) of blocks."""
    Y, W = [], []
    for i in range(len(y) - n_min):  # 2
        Y.append(int(y[i]))  # 3
        W.append(1)
        while len(Y) > 1:  # 4
            if W[-2] + W[-1] > n_min:  # 5
                if W[-2] + W[-1] > n_max:  # 6
                    break
                if Fraction(Y[-2], W[-2]) < Fraction(Y[-1], W[-1]):  # 7
                    break
            last_y, last_w = Y.pop(), W.pop()  # 8
            Y[-1] += last_y
            W[-1] += last_w
    T = int(sum(y[len(y) - n_min :]))  # 9
    if n_min:
        if Y and W[-1] + n_min <= n_max:  # 10
            Y[-1] += T
            W[-1] += n_min
        else:  # 11
            Y.append(T)
            W.append(n_min)
    return list(zip(Y, W, strict=True))


def group(score, y):
    """(sum, size) of the labels of each score, in increasing order."""
    pairs = sorted(zip(score, y, strict=True), key=lambda pair: pair[0])
    labels = [[label for _, label in rows] for _, rows in groupby(pairs, key=lambda pair: pair[0])]
    return [(int(sum(found)), len(found)) for found in labels]


def rises(left, right):
    """Whether the rate of the right block is greater."""
    return left[0] * right[1] < right[0] * left[1]


def grouped_pava_bc(groups, n_min, n_max):
    """The extension of Algorithm 1 to tied scores, with exact fractions and plain lists: (sum, size) of blocks."""
    groups, tail = list(groups), []
    while groups and sum(n for _, n in tail) < n_min:
        tail.insert(0, groups.pop())
    blocks = []
    for new in groups:
        blocks.append(new)
        while len(blocks) > 1:
            left, right = blocks[-2:]
            if left[1] >= n_min and (left[1] + right[1] > n_max or rises(left, right)):
                break
            blocks[-2:] = [(left[0] + right[0], left[1] + right[1])]
    if tail:
        k, n = sum(k for k, _ in tail), sum(n for _, n in tail)
        if blocks and (blocks[-1][1] < n_min or blocks[-1][1] + n <= n_max):
            blocks[-1] = (blocks[-1][0] + k, blocks[-1][1] + n)
        else:
            blocks.append((k, n))
    return blocks


def atomic_pava_bc(groups, n_min, n_max):
    """The same where a score of n_min rows, two or more, is heavy and joins others only where rates fall.

    No block of two groups goes beyond n_max. A block is (sum, size, whether it has a heavy score).
    """

    def join(left, right):
        return left[0] + right[0], left[1] + right[1], left[2] or right[2]

    groups = [(k, n, n >= max(2, n_min)) for k, n in groups]
    tail = (0, 0, False)
    while groups and tail[1] < n_min and not groups[-1][2]:
        tail = join(tail, groups.pop())
    blocks = []
    for new in groups:
        blocks.append(new)
        while len(blocks) > 1:
            left, right = blocks[-2:]
            forced = left[1] < n_min and not right[2]
            if left[1] + right[1] > n_max or (not forced and rises(left, right)):
                break
            blocks[-2:] = [join(left, right)]
    if tail[1]:
        last = blocks[-1] if blocks else None
        if last and last[1] + tail[1] <= n_max and not (last[2] and rises(last, tail)):
            blocks[-1] = join(last, tail)
        else:
            blocks.append(tail)
    return [(k, n) for k, n, _ in blocks]


def squared_error(blocks):
    return sum(Fraction(k * (n - k), n) for k, n in blocks)


def best_pava_bc(groups, n_min, n_max):
    """From the bottom, or from the top with labels flipped if that has the smaller squared error."""
    up = atomic_pava_bc(groups, n_min, n_max)
    flipped = atomic_pava_bc([(n - k, n) for k, n in reversed(groups)], n_min, n_max)
    down = [(n - k, n) for k, n in reversed(flipped)]
    return min(up, down, key=squared_error)


def optimal_bins(y, n_min, n_max):
    """Labels of distinct scores, cut into increasing rates of n_min to n_max rows with the least squared error, by
    dynamic programming over the last two cuts; None where there is no such cut."""
    ones = np.concatenate([[0], np.cumsum(y)]).tolist()
    best = {(0, size): ones[size] * (size - ones[size]) / size for size in range(n_min, min(n_max, len(y)) + 1)}
    for end in range(n_min, len(y) + 1):
        for size in range(n_min, min(n_max, end - n_min) + 1):
            start = end - size
            k = ones[end] - ones[start]
            for before in range(max(0, start - n_max), start - n_min + 1):
                if (before, start) in best and (ones[start] - ones[before]) * size <= k * (start - before):
                    error = best[before, start] + k * (size - k) / size
                    best[start, end] = min(error, best.get((start, end), np.inf))
    return min((error for (_, end), error in best.items() if end == len(y)), default=None)


def bins_of_rows(score, edges):
    """The bin of every row, each [left, right) but the last, which is closed."""
    return np.array([min(int(np.searchsorted(edges, s, side="right")) - 1, len(edges) - 2) for s in score])


def quantile_bin_of_rows(score, n_bins):
    """Cut b falls after the first distinct score at which the running count reaches floor(b N / B)."""
    values, counts = np.unique(score, return_counts=True)
    running = np.cumsum(counts)
    cuts = set()
    for b in range(1, n_bins):
        target = b * len(score) // n_bins
        if target > 0:
            cuts.add(int(np.argmax(running >= target)) + 1)
    starts = sorted(cut for cut in cuts if cut < len(values))
    return np.array([sum(1 for s in starts if values[s] <= x) for x in score])


def gap_loss(score, y, rows):
    return abs(float(np.mean(y[rows])) - float(np.mean(score[rows])))


def rejection_loss(score, y, rows, rejects):
    k, n = int(np.sum(y[rows])), len(rows)
    return 100 * sum(rejects(k, n, float(p)) for p in score[rows]) / n


def metric(score, y, bin_of, loss, norm):
    """sum over bins of n_b / N x loss, or its p-norm, or the largest."""
    score, y = np.asarray(score, dtype=float), np.asarray(y, dtype=float)
    sizes, losses = [], []
    for b in sorted(set(bin_of.tolist())):
        rows = np.flatnonzero(bin_of == b)
        sizes.append(len(rows))
        losses.append(loss(score, y, rows))
    if norm == "max":
        return max(losses)
    return sum(n / len(y) * value**norm for n, value in zip(sizes, losses, strict=True)) ** (1 / norm)
