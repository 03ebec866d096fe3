"""Hypothesis tests of one bin: are k positives in n rows compatible with the probability p?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from truecal import _kernel
from truecal.data import AnyArray, Bools, Entries, Floats, Ints
from truecal.metrics._decisions import Continuous, Decisions, check_counts, check_probabilities, is_number

# SciPy's binomtest treats outcomes up to this much likelier than the observed one as equally likely.
LOG_FACTOR = math.log1p(1e-7)
# The assumed relative error of a tail probability, SciPy's or ours; measured below 2e-11 up to n = 1e9.
DOUBT = 1e-9


class Binomial(Decisions):
    """The exact binomial test, two-sided by smaller likelihood: the paper's, and the default.

    Its decisions equal `scipy.stats.binomtest(k, n, p).pvalue <= significance` for every p, in bins of up to 1e7 rows
    at levels from 1e-270 on. Beyond, up to 2^53 rows and down to 1e-300, they are those of mpmath's p-values, unless p
    lies within rounding of an end; SciPy's own have errors of up to 1e-8 there. The accepted set is found once per
    bin, in closed form and by Newton's method. If p is so close to one of its ends that rounding decides, SciPy is
    called.

    Examples
    --------
    >>> from truecal.metrics import Binomial
    >>> test = Binomial()
    >>> bool(test.rejects(70, 100, 0.5)), bool(test.rejects(70, 100, 0.65))
    (True, False)
    """

    __slots__ = ()

    def p_value(self, k: ArrayLike, n: ArrayLike, p: ArrayLike) -> Floats:
        k_, n_, p_ = np.broadcast_arrays(*check_counts(k, n), check_probabilities(p))
        flat = (np.ascontiguousarray(part).ravel() for part in (k_, n_, p_))
        return _kernel.binomial_p_values(*flat).reshape(p_.shape)

    def cuts(self, k: Ints, n: Ints, significance: float) -> tuple[Floats, Floats, Bools]:
        cuts, reach, fragile = _kernel.binomial_accepted(k, n, significance, LOG_FACTOR, True)
        return cuts.reshape(-1, 6), reach.reshape(-1, 6), fragile

    def safe_cuts(self, k: Ints, n: Ints, significance: float) -> tuple[Floats, Floats]:
        sure = _kernel.binomial_accepted(k, n, significance * (1 + DOUBT), LOG_FACTOR - DOUBT, False)
        perhaps = _kernel.binomial_accepted(k, n, significance * (1 - DOUBT), LOG_FACTOR + DOUBT, True)
        return _nudge_cuts(sure[0].reshape(-1, 6), k, n, 1), _nudge_cuts(perhaps[0].reshape(-1, 6), k, n, -1)

    def count_rejected(
        self, entries: Entries, starts: Ints, k: Ints, n: Ints, significance: float
    ) -> tuple[Ints, Ints] | None:
        """Return how many rows of each bin are rejected as too low and as too high; None if rounding may decide."""
        low, high, doubtful = _kernel.binomial_rejected(entries, starts, k, n, significance, LOG_FACTOR)
        return None if doubtful else (low, high)

    def reject_rows(
        self, score: AnyArray, label: AnyArray, n_min: int, n_max: int, paper: bool, significance: float
    ) -> tuple[float | None, bool, bool]:
        """Return the percentage of rejected rows on bins of PAVA-BC, and whether all scores and all labels are valid.

        The percentage is None if rounding may decide. For rows that fit the cache.
        """
        sizes = n_min, n_max, paper
        value, doubtful, *fine = _kernel.rejected_rows(score, label, *sizes, significance, LOG_FACTOR)
        return (None if doubtful else value), fine[0], fine[1]

    def settle(self, k: Ints, n: Ints, p: Floats) -> Floats:
        """Return SciPy's p-values, for cases that rounding decides; ours if SciPy has none.

        Only here SciPy is imported for this test.
        """
        from scipy.stats import binomtest

        try:
            counts = zip(k.tolist(), n.tolist(), p.tolist(), strict=True)
            return np.array([binomtest(*counts_and_p).pvalue for counts_and_p in counts])
        except (OverflowError, ValueError):
            return self.p_value(k, n, p)


def _nudge_cuts(cuts: Floats, k: Ints, n: Ints, inward: int) -> Floats:
    """Move cuts by two floats, inwards or outwards: near 1 the step between floats is coarser than the doubt.

    An end at 0 without positives, or at 1 without negatives, is exact.
    """
    bits = np.ascontiguousarray(cuts).view(np.int64) + 2 * inward * np.array([1, -1, 1, -1, 1, -1])
    moved: Floats = np.maximum(bits, 0).view(np.float64)
    moved[k == 0, :3] = 0.0
    moved[k == n, 3:] = 1.0
    first, hole, last, upper_last, upper_hole, upper_first = moved.T
    hole[:] = np.maximum(hole, first) if inward > 0 else np.minimum(hole, last)
    upper_hole[:] = np.minimum(upper_hole, upper_first) if inward > 0 else np.maximum(upper_hole, upper_last)
    return moved


class MidP(Continuous):
    """The mid-p test: twice the smaller tail, with the observed outcome counted half.

    It is less conservative than the exact test.

    Examples
    --------
    >>> from truecal.metrics import MidP
    >>> test = MidP()
    >>> bool(test.rejects(70, 100, 0.5)), bool(test.rejects(70, 100, 0.65))
    (True, False)
    """

    __slots__ = ()

    def p_value(self, k: ArrayLike, n: ArrayLike, p: ArrayLike) -> Floats:
        from scipy.special import betainc, betaincc

        k_, n_ = check_counts(k, n)
        p_ = check_probabilities(p)
        first, last = np.maximum(k_, 1), np.minimum(k_, n_ - 1)
        at_least = np.where(k_ > 0, betainc(first, n_ - first + 1, p_), 1.0)
        above = np.where(k_ < n_, betainc(last + 1, n_ - last, p_), 0.0)
        at_most = np.where(k_ < n_, betaincc(last + 1, n_ - last, p_), 1.0)
        below = np.where(k_ > 0, betaincc(first, n_ - first + 1, p_), 0.0)
        return np.asarray(np.minimum(1.0, np.minimum(at_least + above, at_most + below)))


class ScoreTest(Continuous):
    """The score test: (k - n p)^2 / (n p (1 - p)) against chi-squared; its accepted p are Wilson's interval.

    Examples
    --------
    >>> from truecal.metrics import ScoreTest
    >>> test = ScoreTest()
    >>> bool(test.rejects(70, 100, 0.5)), bool(test.rejects(70, 100, 0.65))
    (True, False)
    """

    __slots__ = ()

    def p_value(self, k: ArrayLike, n: ArrayLike, p: ArrayLike) -> Floats:
        from scipy.special import erfc

        k_, n_ = check_counts(k, n)
        p_ = check_probabilities(p)
        variance = n_ * p_ * (1 - p_)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.abs(k_ - n_ * p_) / np.sqrt(variance)
        return np.asarray(erfc(np.where(variance > 0, z, np.where(k_ == n_ * p_, 0.0, np.inf)) / math.sqrt(2)))


class LikelihoodRatio(Continuous):
    """The likelihood-ratio (G) test against chi-squared.

    Examples
    --------
    >>> from truecal.metrics import LikelihoodRatio
    >>> test = LikelihoodRatio()
    >>> bool(test.rejects(70, 100, 0.5)), bool(test.rejects(70, 100, 0.65))
    (True, False)
    """

    __slots__ = ()

    def p_value(self, k: ArrayLike, n: ArrayLike, p: ArrayLike) -> Floats:
        from scipy.special import erfc, rel_entr

        k_, n_ = check_counts(k, n)
        p_ = check_probabilities(p)
        g = 2 * (rel_entr(k_, n_ * p_) + rel_entr(n_ - k_, n_ * (1 - p_)))
        return np.asarray(erfc(np.sqrt(np.maximum(g, 0) / 2)))


class StudentT(Continuous):
    """The one-sample t-test of the labels against p, as `scipy.stats.ttest_1samp`.

    If all labels are equal, there is no variance, and every p other than their rate is rejected. A single label has no
    degrees of freedom, and nothing is rejected.

    Examples
    --------
    >>> from truecal.metrics import StudentT
    >>> test = StudentT()
    >>> bool(test.rejects(70, 100, 0.5)), bool(test.rejects(70, 100, 0.65))
    (True, False)
    """

    __slots__ = ()

    def p_value(self, k: ArrayLike, n: ArrayLike, p: ArrayLike) -> Floats:
        from scipy.special import stdtr

        k_, n_ = check_counts(k, n)
        p_ = check_probabilities(p)
        rate = k_ / n_
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.abs(rate - p_) / np.sqrt(rate * (1 - rate) / (n_ - 1))
            value = 2 * stdtr(n_ - 1, -t)
        no_variance = np.where(rate == p_, 1.0, 0.0)
        value = np.where((k_ == 0) | (k_ == n_), no_variance, value)
        return np.asarray(np.where(n_ == 1, 1.0, value))


@dataclass(frozen=True, slots=True)
class BayesFactor(Continuous):
    """The Bayes factor of "the probability is drawn from Beta(a, b)" against "it is p".

    Rejects p if the factor reaches `threshold`. The default, 1 / significance, keeps the error rate under the null at
    or below the significance for any prior (Markov's inequality). The p-value is 1 / factor, at most 1.

    Examples
    --------
    >>> from truecal.metrics import BayesFactor
    >>> test = BayesFactor()
    >>> bool(test.rejects(70, 100, 0.5)), bool(test.rejects(70, 100, 0.65))
    (True, False)
    """

    a: float = 1.0
    b: float = 1.0
    threshold: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("a", self.a), ("b", self.b)):
            if not is_number(value) or not 1e-100 <= float(value) <= 1e100:
                raise ValueError(f"`{name}` of a Beta prior must be above 0, from 1e-100 to 1e100; it is {value!r}.")
        if self.threshold is not None and (not is_number(self.threshold) or not self.threshold > 1):
            raise ValueError(f"`threshold` must be a number above 1; it is {self.threshold!r}.")

    def p_value(self, k: ArrayLike, n: ArrayLike, p: ArrayLike) -> Floats:
        from scipy.special import betaln, xlog1py, xlogy

        k_, n_ = check_counts(k, n)
        p_ = check_probabilities(p)
        likelihood = xlogy(k_, p_) + xlog1py(n_ - k_, -p_)
        a, b = float(self.a), float(self.b)
        log_factor = betaln(k_ + a, n_ - k_ + b) - betaln(a, b) - likelihood
        return np.asarray(np.exp(-np.maximum(log_factor, 0.0)))

    def level(self, significance: float) -> float:
        return significance if self.threshold is None else 1 / self.threshold
