"""Log-odds and their inverse.

Both stay finite: a regression on log-odds has no use for infinite ones.
"""

from __future__ import annotations

import numpy as np

from truecal.data import Floats

CLIP = 1e-12  # scores of 0 and 1 are moved inwards by this: their log-odds become -27.6 and 27.6
FARTHEST_EXPONENT = 700  # exp(709.8) is the largest finite double
TINY = 1e-300  # keeps a division by a sum of zero finite; its inverse is finite as well


def log_odds(score: Floats) -> Floats:
    """Return log-odds, with scores of 0 and 1 moved inwards by 1e-12."""
    p = np.clip(score, CLIP, 1 - CLIP)
    rest = np.negative(p)
    np.log1p(rest, out=rest)
    return np.subtract(np.log(p, out=p), rest, out=rest)


def sigmoid(x: Floats) -> Floats:
    """Return the probabilities of log-odds, the inverse of `log_odds`."""
    return np.asarray(1 / (1 + np.exp(-np.clip(x, -FARTHEST_EXPONENT, FARTHEST_EXPONENT))))
