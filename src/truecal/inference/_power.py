"""Power: the errors that n rows can detect, and the rows that a given error takes. Exact for the binomial test."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from truecal import _kernel
from truecal._errors import option
from truecal.metrics import BoundedIsotonic, check_significance
from truecal.observations import Floats, Ints


@dataclass(frozen=True, slots=True)
class Plan:
    """The smallest bin that detects a shift, and the smallest data set whose bins are all at least that large.

    `bin_size` is the smallest n at which the exact binomial test of `predicted` rejects with probability `power` or
    more if the true rate is `actual`. `rows` is the smallest N whose default n_min is that large, `rows_paper` the same
    for the paper's N / 20.
    """

    predicted: float
    actual: float
    significance: float
    power: float
    bin_size: int
    rows: int
    rows_paper: int


def plan(
    rate: float,
    *,
    shift: float | None = None,
    relative: float | None = None,
    power: float = 0.8,
    significance: float = 0.05,
) -> Plan:
    """Plan how many rows it takes to detect that predictions of `rate` are wrong by a given shift.

    Parameters
    ----------
    rate : float
        The predicted probability, between 0 and 1.
    shift, relative : float
        One of the two: the true rate is rate + shift, or rate x (1 + relative). Negative if it is below the prediction.
    power : float
        The required probability of a rejection.

    Examples
    --------
    >>> import truecal
    >>> truecal.plan(0.01, relative=0.2).bin_size
    20472
    """
    check_significance(significance)
    if not 0 < power < 1:
        raise ValueError(f"{option('power')} must lie between 0 and 1; it is {power!r}.")
    if not 0 < rate < 1:
        raise ValueError(f"{option('rate')} must lie between 0 and 1; it is {rate!r}.{_advise_percent(rate)}")
    if (shift is None) == (relative is None):
        raise ValueError(f"One of {option('shift')} and {option('relative')} must be given, and not both.")
    actual = rate + shift if shift is not None else rate * (1 + (relative or 0.0))
    if not 0 <= actual <= 1 or actual == rate:
        raise ValueError(
            f"The shifted rate must lie in [0, 1] and differ from {option('rate')}; it is {actual!r} for a "
            f"rate of {rate!r}."
            f"{_advise_percent(shift or relative or 0)}"
        )
    size = _find_bin_size(rate, actual, power, significance)
    return Plan(rate, actual, significance, power, size, _find_rows(size, "auto"), _find_rows(size, "paper"))


def _advise_percent(value: float) -> str:
    """Return a hint if a number seems to be a percentage."""
    return "\n\nHint: divide percentages by 100." if 1 <= abs(value) <= 100 else ""


def detectable_rates(
    n: Ints | int, rate: Floats | float, *, power: float = 0.8, significance: float = 0.05
) -> tuple[Floats, Floats]:
    """Return the nearest true rates below and above the predicted `rate` that a bin of n rows detects with this power.

    NaN if there is none.
    """
    n_, p = np.broadcast_arrays(np.asarray(n, dtype=np.int64), np.asarray(rate, dtype=np.float64))
    shape = n_.shape
    n_, p = n_.ravel().copy(), p.ravel().copy()
    low, high = critical_counts(n_, p, significance)
    # P(X <= low) and P(X >= high) reach the power; the other tail is negligible
    below = np.where(low >= 0, _kernel.binomial_rates(np.minimum(np.maximum(low, 0) + 1, n_), n_, 1 - power), np.nan)
    above = np.where(high <= n_, _kernel.binomial_rates(np.clip(high, 1, n_), n_, power), np.nan)
    return below.reshape(shape), above.reshape(shape)


def critical_counts(n: Ints, p: Floats, significance: float) -> tuple[Ints, Ints]:
    """Return the largest rejected count below the likeliest one, or -1, and the smallest above it, or n + 1."""
    centre = np.minimum(np.floor((n + 1) * p).astype(np.int64), n)  # the likeliest count, never rejected

    def is_rejected(k: Ints) -> np.ndarray:
        inside = (k >= 0) & (k <= n)
        value = _kernel.binomial_p_values(np.clip(k, 0, n), n, p)
        return np.asarray(~inside | (value <= significance))

    def search(limit: Ints) -> Ints:
        # p-values fall with the distance from the centre on either side
        near, far = centre.copy(), limit.copy()
        while True:
            open_ = np.abs(far - near) > 1
            if not open_.any():
                return far
            middle = np.where(open_, (near + far) // 2, far)
            hit = is_rejected(middle)
            far = np.where(open_ & hit, middle, far)
            near = np.where(open_ & ~hit, middle, near)

    return search(np.full_like(n, -1)), search(n + 1)


def exact_power(n: Ints, p: Floats, actual: Floats, significance: float) -> Floats:
    """Return the probability that a bin of n rows with true rate `actual` rejects p."""
    from scipy.special import betainc, betaincc

    low, high = critical_counts(n, p, significance)
    down, up = np.maximum(low, 0), np.minimum(high, n)
    below = np.where(low >= 0, np.where(down < n, betaincc(down + 1, np.maximum(n - down, 1), actual), 1.0), 0.0)
    above = np.where(high <= n, np.where(up > 0, betainc(np.maximum(up, 1), n - up + 1, actual), 1.0), 0.0)
    return np.asarray(below + above)


def _find_bin_size(rate: float, actual: float, power: float, significance: float) -> int:
    """Return the first n that has the power, searching upwards from well below the normal approximation."""
    from scipy.special import ndtri

    spread = -ndtri(significance / 2) * math.sqrt(rate * (1 - rate)) + ndtri(power) * math.sqrt(actual * (1 - actual))
    guess = max(1.0, (max(spread, 0.0) / (actual - rate)) ** 2)
    if guess > 1e12:
        raise ValueError(f"The shift from {rate!r} to {actual!r} is too small to plan for: it takes over 1e12 rows.")
    begin = 1 if guess < 20_000 else int(0.9 * guess)
    step = max(256, min(65_536, int(guess) // 20))
    while True:
        n = np.arange(begin, begin + step, dtype=np.int64)
        reached = exact_power(n, np.full(step, rate), np.full(step, actual), significance) >= power
        if reached.any():
            return int(n[np.argmax(reached)])
        begin += step


def _find_rows(size: int, sizes: str) -> int:
    """Return the smallest number of rows whose bins all hold at least `size` rows."""
    scheme = BoundedIsotonic(sizes="paper" if sizes == "paper" else "auto")
    low, high = 1, max(2, 40 * size, int(2 * size**1.5))
    while low < high:
        middle = (low + high) // 2
        if scheme.bounds(middle)[0] >= size:
            high = middle
        else:
            low = middle + 1
    return low
