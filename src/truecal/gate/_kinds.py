"""The kinds of rules: what each needs, what its limit is, and how it is judged."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from truecal._errors import option
from truecal.gate._causes import Cause, CheckStatus
from truecal.metrics import PROBABILITY, Metric, Relative, Unit, find_metric

if TYPE_CHECKING:
    from truecal.gate._decision import CheckResult
    from truecal.gate._judge import Case, Measurement
    from truecal.inference import Difference, Interval
    from truecal.verdict import Verdict

KindName = Literal["verdict", "value", "least", "excess", "upper", "p_value", "worse", "non_inferior", "dropped"]
Need = Literal["verdict", "value", "null", "interval", "difference", "row_counts"]
PASS, FAIL, INCONCLUSIVE = CheckStatus
USUAL_SIGNIFICANCE = 0.05  # a p-value up to it is a weak sign, even if the rule's own significance is lower
LEAST_PROBABILITY = 1e-6  # that simulation can measure: a million sets of labels already take long
FIRST_DRAWS = 199  # null draws of a segment if no p-value needs more: p-values down to 0.005
LARGEST_LIMIT = 1e300  # of metrics of your own without a bound: differences from it stay finite
LARGEST_OF_KNOWN = 700.0  # of named metrics without a bound: finite log losses are at most 745


class RuleKind(ABC):
    """One kind of rule.

    `name` is `Rule.kind` and the key of its texts, `key` the key of its limit in a file of rules, `needs` what must be
    computed to judge it. `of_metric`: the rule is about a metric. `signed`: its limit may be below the metric's least
    value. `lower`: the limit is a lower one. `sided`: values on that side break it, whether or not these are the bad
    ones of the metric. `resampled`: it is judged by bootstrap intervals, which segments and
    classes do not have.
    """

    name: ClassVar[KindName]
    key: ClassVar[str]
    needs: ClassVar[Need]
    of_metric: ClassVar[bool] = True
    signed: ClassVar[bool] = False
    lower: ClassVar[bool] = False
    resampled: ClassVar[bool] = False
    sided: ClassVar[bool] = True

    def unit(self, metric: Any) -> Unit:
        """Return the unit of the limit: that of the metric, or none if the metric is not known."""
        return Unit() if metric is None else metric.unit

    def check_metric(self, name: str) -> None:
        """Raise an error unless the kind can be judged for a metric; by default any can."""
        return

    def check_limit(self, limit: float | None, metric: str) -> float | None:
        """Return the limit as a float, or raise an error unless some value would break it."""
        number = _require_number(limit)
        known = find_metric(metric)
        self._check_direction(metric, known)
        low, high = self.limits(known)
        if not (low < number <= high if self.lower else low <= number < high):
            ends = f"({low:g}, {high:g}]" if self.lower else f"[{low:g}, {high:g})"
            percent = self.of_metric and self.unit(known) == PROBABILITY and number > 1
            hint = "no value breaks a limit at the end of its range; leave the rule out"
            hint = "gap metrics are probabilities, not percentages" if percent else hint
            subject = repr(metric) if self.of_metric else f"a rule of kind {self.name!r}"
            place = f"{option('limit')} of {subject}"
            raise ValueError(f"{place} must lie in {ends}; it is {limit!r}.\n\nHint: {hint}.")
        return float(number)

    def limits(self, metric: Any) -> tuple[float, float]:
        """Return the range of limits: what the number that is compared with the limit can be."""
        unit = self.unit(metric)
        most = LARGEST_LIMIT if metric is None else LARGEST_OF_KNOWN
        top, bottom = min(unit.top, most), max(unit.bottom, -most)
        return (bottom - top if self.signed else bottom), (top - bottom if self.signed else top)

    def _check_direction(self, name: str, metric: Any) -> None:
        """Raise an error if the limit is on the side of a metric's good values."""
        good = None if metric is None else {"high": "low", "low": "high"}.get(metric.bad)
        wrong = "low" if self.lower else "high"
        if self.of_metric and self.sided and good == wrong:
            remedy = "max_value" if self.lower else "min_value"
            raise ValueError(
                f"{option('limit')} of a rule of kind {self.name!r} must be on the side of bad values; {name!r} is "
                f"good if it is {good}, so that bad values would keep it.\n\nHint: limit it by {remedy}."
            )

    def count_draws(self, limit: float | None, groups: int) -> int:
        """Return the null draws that each of several segments or classes needs."""
        return 0

    @abstractmethod
    def judge(self, case: Case) -> CheckResult:
        """Apply the rule to one model, segment or class."""


def _require_number(limit: float | None) -> float:
    """Return a limit, which is not None; raise an error unless it is a number."""
    if isinstance(limit, bool) or not isinstance(limit, Real):
        raise TypeError(f"{option('limit')} must be a number; it is {limit!r}.")
    return limit


class VerdictRule(RuleKind):
    """The verdict is "consistent"."""

    name, key, needs = "verdict", "verdict", "verdict"
    of_metric = False

    def check_limit(self, limit: float | None, metric: str) -> None:
        if limit is not None:
            raise ValueError(f"{option('limit')} must be left out of a rule of kind 'verdict'; it is {limit!r}.")

    def judge(self, case: Case) -> CheckResult:
        verdict = case.verdict
        if verdict is None or not math.isfinite(case.p_value):
            return case.decide(INCONCLUSIVE, Cause.NO_VERDICT)
        if case.rejected:
            return case.decide(FAIL, Cause.MISCALIBRATED, case.p_value, verdict=case.locate(verdict))
        if not _is_within(verdict):
            return case.decide(PASS, Cause.TOLERANCE_UNPROVEN, case.p_value, verdict=verdict)
        cause = Cause.CONSISTENT if case.p_value > USUAL_SIGNIFICANCE else Cause.WEAK_SIGN
        # the text of the result mentions a tolerance larger than the predictions, and a total that alone is significant
        told = verdict.tolerance is not None or verdict.total_alone
        return case.decide(PASS, cause, case.p_value, verdict=verdict if told else None)


def _is_within(verdict: Verdict) -> bool:
    """Whether observed and expected positives differ by at most the verdict's tolerance."""
    tolerance, expected = verdict.tolerance, verdict.expected
    if tolerance is None:
        return True
    of = expected if isinstance(tolerance, Relative) else verdict.n
    return abs(verdict.observed - expected) <= tolerance.value * of


@dataclass(frozen=True, slots=True)
class Number:
    """The number that is compared with a limit, with its bounds if scores were grouped into cells.

    `null_mean` was subtracted from the metric; `details` are those of the check result.
    """

    value: float
    low: float
    high: float
    null_mean: float = 0.0
    details: dict[str, Any] = field(default_factory=dict)


class LimitRule(RuleKind):
    """A limit of a number, which fails only if the data prove it.

    A number beyond its limit fails if the verdict is "miscalibrated" and the nearer end of the metric's confidence
    interval is beyond the limit, too. A metric of more than calibration, such as log loss, needs no such verdict: it
    may be bad for calibrated predictions.
    """

    def find_number(self, case: Case, measurement: Measurement) -> Number | CheckResult:
        """Return the number that is compared with the limit, or the check result if it was not computed."""
        return Number(measurement.value, measurement.low, measurement.high)

    def breaks(self, value: float, limit: float) -> bool:
        """Whether a value is beyond the limit."""
        return exceeds(limit, value) if self.lower else exceeds(value, limit)

    def judge(self, case: Case) -> CheckResult:
        if case.measurement is None:
            return case.decide(INCONCLUSIVE, Cause.NO_METRIC, names=case.computed)
        number = self.find_number(case, case.measurement)
        return self._compare(case, number) if isinstance(number, Number) else number

    def _compare(self, case: Case, number: Number) -> CheckResult:
        """Compare a number with the limit."""
        observed, ends, details = number.value, (number.low, number.high), dict(number.details)
        if not all(map(math.isfinite, (observed, *ends))):
            return judge_infinite(case, min(ends, key=lambda end: self.breaks(end, case.limit)), **details)
        if number.low != number.high:
            details |= {"low": number.low, "high": number.high}
        near, far = ends[::-1] if self.lower else ends
        if not self.breaks(far, case.limit):
            return case.decide(PASS, Cause.WITHIN_LIMIT, observed, **details)
        if not self.breaks(near, case.limit):
            return case.decide(INCONCLUSIVE, Cause.CELLS_STRADDLE, observed, **details)
        if case.evidence is None or not (case.rejected or case.overall):
            return case.decide(INCONCLUSIVE, Cause.UNPROVEN, observed, **details)
        span = case.evidence.interval(case.key, case.rule.metric, case.level)
        if span is None:
            return case.decide(INCONCLUSIVE, Cause.NO_INTERVAL, observed, **details)
        return judge_resamples(case, span) or self._prove(case, number, near, span, details)

    def _prove(self, case: Case, number: Number, near: float, span: Interval, details: dict[str, Any]) -> CheckResult:
        """Fail if the metric's interval lies beyond the limit, too."""
        end = (span.high if self.lower else span.low) - number.null_mean + near - number.value
        if not math.isfinite(end):
            return case.decide(INCONCLUSIVE, Cause.NO_FINITE_INTERVAL, number.value, **details)
        details |= {"end": end, "confidence": span.confidence}
        if not self.breaks(end, case.limit):
            return case.decide(INCONCLUSIVE, Cause.INTERVAL_STRADDLES, number.value, **details)
        return case.decide(FAIL, Cause.BELOW_LIMIT if self.lower else Cause.ABOVE_LIMIT, number.value, **details)


class ValueRule(LimitRule):
    """The metric is at most the limit."""

    name, key, needs = "value", "max_value", "value"


class LeastRule(LimitRule):
    """The metric is at least the limit."""

    name, key, needs = "least", "min_value", "value"
    lower = True


class ExcessRule(LimitRule):
    """The metric minus its null mean is at most the limit."""

    name, key, needs = "excess", "max_excess", "null"
    signed = True

    def limits(self, metric: Any) -> tuple[float, float]:
        low, high = RuleKind.limits(self, metric)
        return low, high - (metric.best if metric is not None and metric.bad == "high" else 0.0)

    def count_draws(self, limit: float | None, groups: int) -> int:
        return FIRST_DRAWS

    def find_number(self, case: Case, measurement: Measurement) -> Number | CheckResult:
        null = measurement.null
        if null is None:
            return case.decide(INCONCLUSIVE, Cause.NO_NULL)
        ends = measurement.low - null.mean, measurement.high - null.mean
        return Number(null.excess, *ends, null.mean, {"draws": null.draws})


class UpperRule(LimitRule):
    """The upper end of the metric's confidence interval is at most the limit."""

    name, key, needs = "upper", "max_upper", "interval"
    resampled = True

    def find_number(self, case: Case, measurement: Measurement) -> Number | CheckResult:
        span = measurement.interval
        if span is None:
            return case.decide(INCONCLUSIVE, Cause.NO_INTERVAL)
        low, high = (span.high + end - measurement.value for end in (measurement.low, measurement.high))
        details = {"confidence": span.confidence}
        return judge_resamples(case, span) or Number(span.high, low, high, details=details)


class PValueRule(RuleKind):
    """The p-value of the metric, from its null distribution, is at least the limit."""

    name, key, needs = "p_value", "min_p_value", "null"

    def unit(self, metric: Any) -> Unit:
        return PROBABILITY

    def check_limit(self, limit: float | None, metric: str) -> float:
        number = _require_number(limit)
        if not 0 < number < 1:
            raise ValueError(f"{option('limit')} of a p-value must lie between 0 and 1; it is {limit!r}.")
        if number < LEAST_PROBABILITY:
            raise ValueError(
                f"{option('limit')} of a p-value must be at least {LEAST_PROBABILITY:g}, since it is measured with "
                f"simulated labels; it is {limit!r}."
            )
        return float(number)

    def count_draws(self, limit: float | None, groups: int) -> int:
        return max(FIRST_DRAWS, math.ceil(groups / limit)) if limit else FIRST_DRAWS

    def judge(self, case: Case) -> CheckResult:
        if case.measurement is None:
            return case.decide(INCONCLUSIVE, Cause.NO_METRIC, names=case.computed)
        null = case.measurement.null
        if null is None:
            return case.decide(INCONCLUSIVE, Cause.NO_NULL)
        observed, details = null.p_value, {"adjusted": null.adjusted}
        if not math.isfinite(observed):
            return case.decide(INCONCLUSIVE, Cause.NOT_FINITE)
        if exceeds(case.limit, observed):
            return case.decide(FAIL, Cause.BELOW_LIMIT, observed, **details)
        # k draws give p-values of 1 / (k + 1) and more, and adjusting multiplies the smallest by the number of groups
        smallest = min(null.adjusted / (null.draws + 1), 1.0)
        if not exceeds(case.limit, smallest):
            needed = math.floor(null.adjusted / case.limit + 1e-9)  # 1e-9: the quotient may round below an integer
            details |= {"draws": null.draws, "needed": needed}
            return case.decide(INCONCLUSIVE, Cause.TOO_FEW_RESAMPLES, observed, **details)
        return case.decide(PASS, Cause.WITHIN_LIMIT, observed, **details)


class DifferenceRule(RuleKind):
    """A limit of the difference from the baseline, judged by its whole confidence interval."""

    needs = "difference"
    signed = resampled = True
    sided = False  # differences are above 0 where the metric is worse
    open: ClassVar[CheckStatus]  # the status if the interval contains the limit

    def check_metric(self, name: str) -> None:
        metric = find_metric(name)
        if isinstance(metric, Metric) and metric.rejection is None:
            raise ValueError(
                f"`metric` must be test-based or without bins in a rule of kind {self.name!r}, such as 'ltce' or "
                f"'log_loss'; it is {name!r}: the interval of its difference would cover less than it says."
            )

    def judge(self, case: Case) -> CheckResult:
        difference = case.difference
        if difference is None:
            return case.decide(INCONCLUSIVE, Cause.NO_BASELINE)
        if not all(map(math.isfinite, (difference.difference, difference.low, difference.high))):
            return judge_infinite(case, difference.difference)
        return judge_resamples(case, difference) or self._compare(case, difference)

    def _compare(self, case: Case, difference: Difference) -> CheckResult:
        """Compare the interval of a difference with the limit."""
        observed, low, high = difference.difference, difference.low, difference.high
        if case.metric is not None and case.metric.bad == "low":  # above 0 is worse for every metric
            observed, low, high = -observed, -high, -low
        details = {"low": low, "high": high, "confidence": difference.confidence}
        if exceeds(low, case.limit):
            if not (case.rejected or case.overall):
                return case.decide(INCONCLUSIVE, Cause.UNPROVEN, observed, **details)
            return case.decide(FAIL, Cause.ABOVE_LIMIT, observed, **details)
        if not exceeds(high, case.limit):
            return case.decide(PASS, Cause.WITHIN_LIMIT, observed, **details)
        return case.decide(self.open, Cause.INTERVAL_STRADDLES, observed, **details)


class WorseRule(DifferenceRule):
    """The metric is not shown to be worse than the baseline's by more than the limit."""

    name, key, open = "worse", "max_worse", PASS


class NonInferiorRule(DifferenceRule):
    """The metric is shown to be worse than the baseline's by no more than the limit."""

    name, key, open = "non_inferior", "non_inferior", INCONCLUSIVE


class DroppedRule(RuleKind):
    """The share of dropped rows is at most the limit."""

    name, key, needs = "dropped", "max_dropped", "row_counts"
    of_metric = sided = False

    def unit(self, metric: Any) -> Unit:
        return PROBABILITY

    def judge(self, case: Case) -> CheckResult:
        row_counts = case.row_counts.without_zero_counts
        share = row_counts.share_dropped
        if exceeds(share, case.limit):
            return case.decide(FAIL, Cause.ABOVE_LIMIT, share, row_counts=row_counts)
        return case.decide(PASS, Cause.WITHIN_LIMIT, share, row_counts=row_counts)


RULE_KINDS: dict[str, RuleKind] = {
    kind.name: kind
    for kind in (
        VerdictRule(),
        ValueRule(),
        LeastRule(),
        ExcessRule(),
        UpperRule(),
        PValueRule(),
        WorseRule(),
        NonInferiorRule(),
        DroppedRule(),
    )
}


def judge_infinite(case: Case, value: float, **details: Any) -> CheckResult:
    """Judge a value that is not finite: beyond every limit, or not a number.

    The log loss, for example, is infinite if a prediction of exactly 0 or 1 is wrong.
    """
    if math.isinf(value) and (value < 0) == case.rule.definition.lower:
        return case.decide(FAIL, Cause.INFINITE, value, **details)
    return case.decide(INCONCLUSIVE, Cause.NOT_FINITE, **details)


def judge_resamples(case: Case, span: Interval | Difference) -> CheckResult | None:
    """Return "inconclusive" if an interval has too few resamples for its confidence; None if it has enough."""
    needed = count_needed(span.confidence)
    if span.resamples >= needed:
        return None
    details = {"confidence": span.confidence, "draws": span.resamples, "needed": needed}
    return case.decide(INCONCLUSIVE, Cause.TOO_FEW_RESAMPLES, **details)


def count_needed(confidence: float) -> int:
    """Return the fewest resamples whose extremes lie in the tails of an interval.

    Of k resamples the smallest is the quantile 1 / (k + 1), which must be at most (1 - confidence) / 2.
    """
    return math.ceil(2 / (1 - confidence) - 1 - 1e-9)  # 1e-9: 1 - 0.95 is a little more than 0.05


def exceeds(value: float, limit: float) -> bool:
    """Whether a value is greater than a limit by more than a rounding error."""
    return value - limit > 1e-12 * max(1.0, abs(limit))
