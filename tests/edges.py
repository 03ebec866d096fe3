"""Scores where arithmetic has its edges."""

import numpy as np

SPECIAL = [0.0, -0.0, 5e-324, 1e-323, 1.73e-322, 4.049e-320, 1e-310, 2.0**-1022, 1e-300, 1e-6, 0.25, 0.5, 0.75, 1.0]


def neighbours(scores, steps=2):
    """Scores and the floats next to them, kept in [0, 1]."""
    bits = np.abs(np.asarray(scores, dtype=float)).view(np.int64)
    near = [np.maximum(bits + d, 0).view(np.float64) for d in range(-steps, steps + 1)]
    return np.clip(np.concatenate([np.asarray(scores, dtype=float), *near]), 0, 1)


def many_scores(rng, size):
    """All magnitudes down to the smallest float and up to 1, powers of two and short numbers with their neighbours."""
    short = rng.integers(1, 1 << 20, size) * 2.0 ** -rng.integers(20, 1000, size)
    parts = [
        rng.random(size),
        10.0 ** -rng.uniform(0, 323, size),
        1 - 10.0 ** -rng.uniform(0, 16, size),
        rng.integers(0, 1 << 52, size).view(np.float64),
        np.arange(size).view(np.float64),
        neighbours(np.concatenate([SPECIAL, 2.0 ** -np.arange(1075.0), 1 - 2.0 ** -np.arange(54.0), short, 1 - short])),
    ]
    return np.concatenate(parts)
