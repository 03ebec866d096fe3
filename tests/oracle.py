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


def grouped_pava_bc(score, y, n_min, n_max):
    """The extension of Algorithm 1 to tied scores, with exact fractions and plain lists: (sum, size) of blocks."""
    pairs = sorted(zip(score, y, strict=True))
    groups = []
    for _, rows in groupby(pairs, key=lambda pair: pair[0]):
        labels = [label for _, label in rows]
        groups.append((int(sum(labels)), len(labels)))
    tail = []
    while groups and sum(n for _, n in tail) < n_min:
        tail.insert(0, groups.pop())
    blocks = []
    for group in groups:
        blocks.append(group)
        while len(blocks) > 1:
            (left_k, left_n), (k, n) = blocks[-2:]
            if left_n >= n_min:
                if left_n + n > n_max:
                    break
                if Fraction(left_k, left_n) < Fraction(k, n):
                    break
            blocks[-2:] = [(left_k + k, left_n + n)]
    if tail:
        k, n = sum(k for k, _ in tail), sum(n for _, n in tail)
        if blocks and (blocks[-1][1] < n_min or blocks[-1][1] + n <= n_max):
            blocks[-1] = (blocks[-1][0] + k, blocks[-1][1] + n)
        else:
            blocks.append((k, n))
    return blocks


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
