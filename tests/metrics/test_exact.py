"""The few special functions of our own, against SciPy's."""

import math

import numpy as np
import pytest
from scipy import special

from truecal import _kernel
from truecal.metrics import exact_interval, normal_quantile


@pytest.mark.parametrize("tail", [1e-300, 1e-20, 1e-5, 0.01, 0.025, 0.3, 0.5, 0.7, 0.999])
def test_normal_quantiles(tail):
    assert normal_quantile(tail) == pytest.approx(-special.ndtri(tail), rel=1e-14, abs=1e-14)


@pytest.mark.parametrize("shape", [0.3, 1.0, 2.5, 10.0, 1e3, 1e5])
@pytest.mark.parametrize("z", [-8, -3, -1, 0, 0.5, 2, 6, 20])
def test_tails_of_gamma_variables(shape, z):
    x = shape + math.sqrt(shape) * z
    # at a shape of 1e5 the exponent is a difference of numbers near 1e6, known to 16 digits
    (found,) = _kernel.gamma_tails(np.array([shape]), np.array([x])).tolist()
    assert found == pytest.approx(special.gammaincc(shape, max(x, 0)), rel=1e-9)


@pytest.mark.parametrize("x", [0.3, 0.5, 0.8, 1.5, 3.0, 8.0, 40.0])
def test_tails_of_the_range_of_brownian_motion(x):
    """Feller's series, added up without rounding."""
    terms = [(-1) ** (k - 1) * k * math.erfc(k * x / math.sqrt(2)) for k in range(1, 200)]
    (found,) = _kernel.range_tails(np.array([x])).tolist()
    assert found == pytest.approx(4 * math.fsum(terms), rel=1e-13)


@pytest.mark.parametrize("significance", [0.05, 1e-6, 1e-13, 1e-17, 1e-100])
def test_exact_intervals_down_to_the_smallest_levels(significance):
    """Clopper and Pearson's ends are quantiles of beta variables; the upper one by that of the negatives."""
    low, high = exact_interval(np.array([3]), np.array([10]), significance)
    assert low[0] == pytest.approx(special.betaincinv(3, 8, significance / 2), rel=1e-8)
    assert 1 - high[0] == pytest.approx(special.betaincinv(7, 4, significance / 2), rel=1e-8)
