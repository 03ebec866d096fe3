"""Scores and global tests of calibration from the literature: Brier, log loss, Cox, Hosmer-Lemeshow, ...

Tied scores stay together: cumulative statistics are evaluated between distinct scores only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from truecal.metrics._binning import Isotonic, Partition, Quantile
from truecal.metrics._metric import Binned
from truecal.observations import Floats, Ints, Tally

CLIP = 1e-12


@dataclass(frozen=True, slots=True)
class Comparators:
    """Scores and global tests of calibration.

    `brier` is miscalibration - discrimination + uncertainty (CORP; Dimitriadis, Gneiting, Jordan 2021). `log_loss` is
    in nats, and infinite if a score of 0 or 1 is wrong. `intercept` and `slope` are Cox's, the intercept at slope 1.
    `ecce_mad` and `ecce_r` are the maximum and the range of cumulative differences (Arrieta-Ibarra et al. 2022).
    `rmsce_debiased` uses ten quantile bins (Kumar et al. 2019). Names ending in `_p` are p-values of "the predictions
    are right".
    """

    brier: float
    miscalibration: float
    discrimination: float
    uncertainty: float
    log_loss: float
    spiegelhalter_z: float
    spiegelhalter_p: float
    hosmer_lemeshow: float
    hosmer_lemeshow_p: float
    intercept: float
    slope: float
    cox_p: float
    ecce_mad: float
    ecce_mad_p: float
    ecce_r: float
    ecce_r_p: float
    rmsce_debiased: float

    def __str__(self) -> str:
        return "\n".join(f"{entry.name:<18} {getattr(self, entry.name):.6g}" for entry in fields(self))


def compare_with(tally: Tally) -> Comparators:
    """Compute all scores and global tests of a tally.

    Examples
    --------
    >>> import truecal
    >>> found = truecal.metrics.compare_with(truecal.Tally.from_arrays([0, 1, 1, 1], [0.25, 0.75, 0.75, 0.75]))
    >>> found.brier, found.miscalibration
    (0.0625, 0.0625)
    """
    if not len(tally):
        raise ValueError("Scores need at least one row; the tally is empty.")
    brier, miscalibration, discrimination, uncertainty = _brier(tally)
    z, z_p = _spiegelhalter(tally)
    hl, hl_p = _hosmer_lemeshow(tally)
    intercept, slope, cox_p = _cox(tally)
    mad, mad_p, span, span_p = _cumulative(tally)
    return Comparators(
        brier=brier,
        miscalibration=miscalibration,
        discrimination=discrimination,
        uncertainty=uncertainty,
        log_loss=_log_loss(tally),
        spiegelhalter_z=z,
        spiegelhalter_p=z_p,
        hosmer_lemeshow=hl,
        hosmer_lemeshow_p=hl_p,
        intercept=intercept,
        slope=slope,
        cox_p=cox_p,
        ecce_mad=mad,
        ecce_mad_p=mad_p,
        ecce_r=span,
        ecce_r_p=span_p,
        rmsce_debiased=_debiased(tally),
    )


def _brier(tally: Tally) -> tuple[float, float, float, float]:
    """Return the Brier score, miscalibration (what isotonic recalibration gains), discrimination (its gain over the
    prevalence) and uncertainty."""

    def score(p: Floats | float) -> float:
        return float(np.sum(tally.pos * (1 - p) ** 2 + (tally.n - tally.pos) * p**2) / tally.n_rows)

    blocks = Isotonic().partition(tally)
    fitted = np.repeat(blocks.k / blocks.n, np.diff(blocks.starts))
    raw, isotonic, constant = score(tally.score), score(fitted), score(tally.positives / tally.n_rows)
    return raw, raw - isotonic, constant - isotonic, constant


def _log_loss(tally: Tally) -> float:
    from scipy.special import xlog1py, xlogy

    loss = -xlogy(tally.pos, tally.score) - xlog1py(tally.n - tally.pos, -tally.score)
    return float(loss.sum() / tally.n_rows)


def _spiegelhalter(tally: Tally) -> tuple[float, float]:
    p, n = tally.score, tally.n
    top = float(np.sum((tally.pos - n * p) * (1 - 2 * p)))
    variance = float(np.sum(n * (1 - 2 * p) ** 2 * p * (1 - p)))
    if variance == 0:
        return (0.0, 1.0) if top == 0 else (math.copysign(math.inf, top), 0.0)
    z = top / math.sqrt(variance)
    return z, math.erfc(abs(z) / math.sqrt(2))


def _hosmer_lemeshow(tally: Tally) -> tuple[float, float]:
    """Test ten quantile bins against chi-squared. As nothing was fitted to these labels, each bin has a degree of
    freedom."""
    from scipy.special import chdtrc

    part = Quantile(10).partition(tally)
    expected = Binned(tally, part).score_sums
    spread = expected * (1 - expected / part.n)
    gap = (part.k - expected) ** 2
    if ((spread <= 0) & (gap > 0)).any():
        return math.inf, 0.0
    statistic = float(np.sum(gap / np.where(spread > 0, spread, 1)))
    return statistic, float(chdtrc(len(part), statistic))


def _cox(tally: Tally) -> tuple[float, float, float]:
    """Return the intercept at slope 1, the slope, and the likelihood-ratio p-value of "intercept 0 and slope 1" (two
    degrees of freedom)."""
    x = log_odds(tally.score)
    both = np.stack([np.ones_like(x), x], axis=1)
    right = np.array([0.0, 1.0])
    offset = fit_logistic(both, tally.n, tally.pos, right, free=(True, False))
    beta = fit_logistic(both, tally.n, tally.pos, right)

    def deviance(coefficients: Floats) -> float:
        eta = both @ coefficients
        return 2 * float(np.sum(tally.n * np.logaddexp(0, eta) - tally.pos * eta))

    gain = max(0.0, deviance(right) - deviance(beta))
    return float(offset[0]), float(beta[1]), math.exp(-gain / 2)


def _cumulative(tally: Tally) -> tuple[float, float, float, float]:
    total = tally.n_rows
    walk = np.concatenate([[0.0], np.cumsum(tally.pos - tally.n * tally.score)]) / total
    sigma = math.sqrt(float(np.sum(tally.n * tally.score * (1 - tally.score)))) / total
    mad, span = float(np.abs(walk).max()), float(walk.max() - walk.min())
    if sigma == 0:
        p_value = 1.0 if span == 0 else 0.0
        return mad, p_value, span, p_value
    return mad, _brownian_maximum(mad / sigma), span, _brownian_range(span / sigma)


def _brownian_maximum(x: float) -> float:
    """P(the largest |B(t)| on [0, 1] reaches x)."""
    if x <= 0:
        return 1.0
    k = 2 * np.arange(200) + 1
    below = 4 / math.pi * float(np.sum((-1.0) ** np.arange(200) / k * np.exp(-((k * math.pi / x) ** 2) / 8)))
    return min(1.0, max(0.0, 1 - below))


def _brownian_range(x: float) -> float:
    """P(the range of B(t) on [0, 1] reaches x), Feller 1951."""
    from scipy.special import erfc

    if x < 0.5:  # the series converges too slowly there, and the answer is 1 to 15 digits
        return 1.0
    k = np.arange(1, 200)
    return min(1.0, max(0.0, 4 * float(np.sum((-1.0) ** (k - 1) * k * erfc(k * x / math.sqrt(2))))))


def _debiased(tally: Tally) -> float:
    """Return the root of the mean squared gap minus its variance; 0 if that is negative."""
    part: Partition = Quantile(10).partition(tally)
    gap = part.k / part.n - Binned(tally, part).score_sums / part.n
    rate = part.k / part.n
    noise = np.where(part.n > 1, rate * (1 - rate) / np.maximum(part.n - 1, 1), 0.0)
    return math.sqrt(max(0.0, float(np.sum(part.n * (gap**2 - noise)) / tally.n_rows)))


def log_odds(score: Floats) -> Floats:
    """Return log-odds, with scores of 0 and 1 moved inwards by 1e-12."""
    p = np.clip(score, CLIP, 1 - CLIP)
    return np.log(p) - np.log1p(-p)


def fit_logistic(
    columns: Floats,
    n: Ints,
    pos: Ints,
    start: Floats,
    *,
    free: tuple[bool, ...] | None = None,
    ridge: float = 0.0,
) -> Floats:
    """Fit a logistic regression by weighted maximum likelihood, with Newton's method and step halving.

    `free` says which coefficients may leave `start`; `ridge` shrinks them towards it, which keeps them finite if labels
    are separable.
    """
    beta = start.astype(np.float64)
    chosen = np.ones(len(beta), bool) if free is None else np.array(free)

    def loss(candidate: Floats) -> float:
        eta = columns @ candidate
        return float(np.sum(n * np.logaddexp(0, eta) - pos * eta) + ridge / 2 * np.sum((candidate - start) ** 2))

    current = loss(beta)
    for _ in range(100):
        p = 1 / (1 + np.exp(-np.clip(columns @ beta, -700, 700)))
        gradient = columns.T @ (pos - n * p) - ridge * (beta - start)
        hessian = (columns * (n * p * (1 - p))[:, None]).T @ columns + ridge * np.eye(len(beta))
        step = np.zeros_like(beta)
        # least squares gives the smallest step if the labels do not determine a direction
        step[chosen] = np.linalg.lstsq(hessian[np.ix_(chosen, chosen)], gradient[chosen], rcond=None)[0]
        size = 1.0
        while loss(beta + size * step) > current + 1e-12 * abs(current) and size > 1e-6:
            size /= 2
        beta = beta + size * step
        before, current = current, loss(beta)
        if before - current <= 1e-10 * (1 + abs(current)) and np.abs(step).max() < 1e-6:
            break
    return beta
