"""Predictions and truths to study: perfect ones of five shapes, and six ways of being wrong."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Floats]

PERFECT: dict[str, Draw] = {
    "Beta(.5, 5)": lambda rng, rows: rng.beta(0.5, 5, rows),
    "Beta(.5, 50)": lambda rng, rows: rng.beta(0.5, 50, rows),
    "Beta(2, 2)": lambda rng, rows: rng.beta(2, 2, rows),
    "Beta(.3, 300)": lambda rng, rows: rng.beta(0.3, 300, rows),
    "Beta(.5, 5), 3 decimals": lambda rng, rows: np.round(rng.beta(0.5, 5, rows), 3),
}


def log_odds(p: Floats) -> Floats:
    q = np.clip(p, 1e-15, 1 - 1e-15)
    return np.log(q) - np.log1p(-q)


def sigmoid(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-x)))


def truth(rng: np.random.Generator, rows: int, prevalence: float) -> Floats:
    """True probabilities with this mean, spread as Beta(1, (1 - prevalence) / prevalence)."""
    return rng.beta(1.0, (1 - prevalence) / prevalence, rows)


def _top_wrong(q: Floats, _: float) -> Floats:
    return np.where(q >= np.quantile(q, 0.99), np.minimum(1.5 * q, 1), q)


def _region_wrong(q: Floats, _: float) -> Floats:
    low, high = np.quantile(q, [0.6, 0.8])
    return np.where((q > low) & (q < high), np.minimum(1.5 * q, 1), q)


def _confidence(factor: float) -> Callable[[Floats, float], Floats]:
    def predict(q: Floats, prevalence: float) -> Floats:
        centre = float(np.log(prevalence / (1 - prevalence)))
        return sigmoid(centre + factor * (log_odds(q) - centre))

    return predict


# What a model says when the truth is q, at a prevalence.
MODELS: dict[str, Callable[[Floats, float], Floats]] = {
    "perfect": lambda q, _: q,
    "over-confident": _confidence(1.3),
    "under-confident": _confidence(0.75),
    "prior shift": lambda q, _: sigmoid(log_odds(q) + np.log(1.5)),
    "10 % too low": lambda q, _: 0.9 * q,
    "20 % too low": lambda q, _: 0.8 * q,
    "top 1 % wrong": _top_wrong,
    "one region wrong": _region_wrong,
}
