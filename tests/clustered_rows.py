"""Rows that share a customer, for tests of what allows for it."""

import numpy as np


def simulate(rng, clusters, size, effect, rate=0.1):
    """Labels of clusters whose log-odds share a normal effect, and predictions that are right on average.

    The mean of sigmoid(x + effect g) over g is found on a grid of x, and turned round.
    """
    grid = np.linspace(-12, 12, 2001)
    nodes, weights = np.polynomial.hermite_e.hermegauss(41)
    mean = (1 / (1 + np.exp(-grid[:, None] - effect * nodes))) @ (weights / weights.sum())
    p = rng.beta(2 * rate / (1 - rate), 2, size=clusters * size).clip(1e-4, 1 - 1e-4)
    ids = np.repeat(np.arange(clusters), size)
    odds = np.interp(p, mean, grid) + effect * rng.standard_normal(clusters)[ids]
    return rng.random(len(p)) < 1 / (1 + np.exp(-odds)), p, ids
