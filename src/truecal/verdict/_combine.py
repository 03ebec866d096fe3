"""Combine p-values of tests that depend on each other."""

from __future__ import annotations

import numpy as np

from truecal.data import Floats

# At p = 1 the Cauchy variable is minus infinity: a single test at 1 would hide any number of small p-values.
HIGHEST_P = 0.99
# The Cauchy variable of p = 0 is infinite; this is nearly the smallest float whose inverse is finite.
LOWEST_P = 1e-300


def combine_cauchy(p: Floats, weights: Floats | None = None) -> Floats:
    r"""Combine p-values by the Cauchy combination test.

    Each p-value, at most 0.99, becomes the Cauchy variable :math:`\cot(\pi p)`. Their weighted mean is again a Cauchy
    variable if the tests are independent or all the same, and has its tail whatever their dependence: the combined
    p-value is :math:`\operatorname{arccot}(\text{mean}) / \pi`, exact as it tends to 0.

    Parameters
    ----------
    p : array of float
        The p-values, tests along the first axis; NaN for a test that was not computed.
    weights : array of float, optional
        The weight of each test; 1 by default.

    Returns
    -------
    array of float
        The combined p-values, without the first axis.

    References
    ----------
    Liu, Xie. Cauchy combination test: a powerful test with analytic p-value calculation under arbitrary dependency
    structures. Journal of the American Statistical Association 115, 2020.

    Examples
    --------
    >>> round(float(combine_cauchy(np.array([0.01, 0.5, 0.5, 0.5]))), 4)
    0.0398
    """
    missing = np.isnan(p)
    given = np.ones(len(p)) if weights is None else weights
    weight = given.reshape(-1, *[1] * (p.ndim - 1)) * ~missing
    return from_cauchy((weight * as_cauchy(np.where(missing, 0.5, p), HIGHEST_P)).sum(0) / weight.sum(0))


def combine_bonferroni(p: Floats) -> Floats:
    """Return the smallest p-value of each column times their number, at most 1.

    Examples
    --------
    >>> combine_bonferroni(np.array([[0.01, 0.7], [0.3, 0.9]])).tolist()
    [0.02, 1.0]
    """
    return np.asarray(np.minimum(1.0, len(p) * p.min(0)))


def as_cauchy(p: Floats, highest: Floats | float) -> Floats:
    """Return p-values, each at most the highest, as Cauchy variables."""
    return np.asarray(1 / np.tan(np.pi * np.clip(p, LOWEST_P, highest)))


def from_cauchy(mean: Floats | float) -> Floats:
    """Return the p-values of Cauchy variables."""
    return np.asarray(np.arctan2(1.0, mean) / np.pi)
