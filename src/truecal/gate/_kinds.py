"""The kinds of rules: what each needs, what its limit is, and how it is judged."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
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

Kind = Literal["verdict", "value", "least", "excess", "upper", "p_value", "worse", "non_inferior", "dropped"]
Need = Literal["verdict", "value", "null", "interval", "difference", "row_counts"]
PASS, FAIL, INCONCLUSIVE = CheckStatus
USUAL = 0.05  # a p-value up to it is a sign of miscalibration, however low the rule's own significance is
LEAST_CHANCE = 1e-6  # that simulated labels can measure: a million of them already take long
FIRST_DRAWS = 199  # null draws of a segment, where no p-value asks for more
HUGE = 1e300  # the limit of limits, for metrics without a bound


class RuleKind(ABC):
    """One kind of rule.

    `name` is `Rule.kind` and the key of its words, `key` the key of a limit in a file of rules, `needs` what must be
    there to judge by. `of_metric` says whether it is about a metric, `signed` whether a limit may be below the metric's
    least value, `resampled` whether it is judged by intervals of resampled labels, which segments and classes lack.
    """

    name: ClassVar[Kind]
    key: ClassVar[str]
    needs: ClassVar[Need]
    of_metric: ClassVar[bool] = True
    signed: ClassVar[bool] = False
    resampled: ClassVar[bool] = False

    def unit(self, metric: Any) -> Unit:
        """The unit of the limit: that of the metric; without one if the metric is not known."""
        return Unit() if metric is None else metric.unit

    def check_metric(self, name: str) -> None:
        """Raise an error unless the kind can be judged for a metric; by default any can."""
        return

    def check_limit(self, limit: float | None, metric: str) -> float | None:
        """Return the limit as a float, or raise an error."""
        if isinstance(limit, bool) or not isinstance(limit, Real):
            raise TypeError(f"{option('limit')} must be a number; it is {limit!r}.")
        unit = self.unit(find_metric(metric))
        top = min(unit.top, HUGE)
        low = -top if self.signed else max(unit.bottom, -HUGE)
        if not low <= limit <= top:
            hint = "\n\nHint: gap metrics are probabilities, not percentages." if unit == PROBABILITY else ""
            raise ValueError(
                f"{option('limit')} of the {self.name} of {metric!r} must lie in [{low:g}, {top:g}]; it is "
                f"{limit!r}.{hint}"
            )
        return float(limit)

    def count_draws(self, limit: float | None, groups: int) -> int:
        """The null draws that each of several segments or classes needs."""
        return 0

    @abstractmethod
    def judge(self, case: Case) -> CheckResult:
        """Hold what is known of some rows against the rule."""


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
        cause = Cause.CONSISTENT if case.p_value > USUAL else Cause.WEAK_SIGN
        # words tell of a tolerance that is larger than the predictions
        return case.decide(PASS, cause, case.p_value, verdict=verdict if verdict.tolerance is not None else None)


def _is_within(verdict: Verdict) -> bool:
    """Whether the observed positives are within a verdict's tolerance of those expected."""
    tolerance, expected = verdict.tolerance, verdict.expected
    if tolerance is None:
        return True
    of = expected if isinstance(tolerance, Relative) else verdict.n
    return abs(verdict.observed - expected) <= tolerance.value * of


@dataclass(frozen=True, slots=True)
class Number:
    """What is held against a limit: a value, and its ends where scores were grouped into cells.

    `null_mean` is what was taken off the metric, `details` what its words need besides.
    """

    value: float
    low: float
    high: float
    null_mean: float = 0.0
    details: dict[str, Any] = field(default_factory=dict)


class LimitRule(RuleKind):
    """A limit of a number, which fails on evidence alone.

    Beyond its limit a number fails if the verdict is "miscalibrated" and the nearer end of the metric's interval is
    beyond the limit too. A metric that is about more than calibration needs no such verdict: calibrated predictions may
    have a bad one.
    """

    lower: ClassVar[bool] = False  # whether the limit is a lower one

    @abstractmethod
    def find_number(self, case: Case, found: Measurement) -> Number | CheckResult:
        """What is held against the limit, or the answer if it is not there."""

    def breaks(self, value: float, limit: float) -> bool:
        """Whether a value is beyond the limit."""
        return exceeds(limit, value) if self.lower else exceeds(value, limit)

    def judge(self, case: Case) -> CheckResult:
        if case.measurement is None:
            return case.decide(INCONCLUSIVE, Cause.NO_METRIC, names=case.computed)
        number = self.find_number(case, case.measurement)
        return self._compare(case, number) if isinstance(number, Number) else number

    def _compare(self, case: Case, number: Number) -> CheckResult:
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
        """Whether the interval of the metric lies beyond the limit, too."""
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

    def find_number(self, case: Case, found: Measurement) -> Number:
        return Number(found.value, found.low, found.high)


class LeastRule(LimitRule):
    """The metric is at least the limit."""

    name, key, needs = "least", "min_value", "value"
    lower = True

    def find_number(self, case: Case, found: Measurement) -> Number:
        return Number(found.value, found.low, found.high)


class ExcessRule(LimitRule):
    """The metric minus its null mean is at most the limit."""

    name, key, needs = "excess", "max_excess", "null"
    signed = True

    def count_draws(self, limit: float | None, groups: int) -> int:
        return FIRST_DRAWS

    def find_number(self, case: Case, found: Measurement) -> Number | CheckResult:
        null = found.null
        if null is None:
            return case.decide(INCONCLUSIVE, Cause.NO_NULL)
        ends = found.low - null.mean, found.high - null.mean
        return Number(null.excess, *ends, null.mean, {"draws": null.draws})


class UpperRule(LimitRule):
    """The upper end of the metric's interval is at most the limit."""

    name, key, needs = "upper", "max_upper", "interval"
    resampled = True

    def find_number(self, case: Case, found: Measurement) -> Number | CheckResult:
        span = found.interval
        if span is None:
            return case.decide(INCONCLUSIVE, Cause.NO_INTERVAL)
        low, high = (span.high + end - found.value for end in (found.low, found.high))
        details = {"confidence": span.confidence}
        return judge_resamples(case, span) or Number(span.high, low, high, details=details)


class PValueRule(RuleKind):
    """The p-value of the metric, by its null distribution, is at least the limit."""

    name, key, needs = "p_value", "min_p_value", "null"

    def unit(self, metric: Any) -> Unit:
        return PROBABILITY

    def check_limit(self, limit: float | None, metric: str) -> float:
        if isinstance(limit, bool) or not isinstance(limit, Real):
            raise TypeError(f"{option('limit')} must be a number; it is {limit!r}.")
        if not 0 < limit < 1:
            raise ValueError(f"{option('limit')} of a p-value must lie between 0 and 1; it is {limit!r}.")
        if limit < LEAST_CHANCE:
            raise ValueError(
                f"{option('limit')} of a p-value must be at least {LEAST_CHANCE:g}, since it is measured by "
                f"redrawn labels; it is {limit!r}."
            )
        return float(limit)

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
        # adjusting multiplies the smallest p-value by the number of groups
        smallest = min(null.adjusted / (null.draws + 1), 1.0)
        if not exceeds(case.limit, smallest):
            needed = math.floor(null.adjusted / case.limit + 1e-9)
            details |= {"draws": null.draws, "needed": needed}
            return case.decide(INCONCLUSIVE, Cause.TOO_FEW_RESAMPLES, observed, **details)
        return case.decide(PASS, Cause.WITHIN_LIMIT, observed, **details)


class DifferenceRule(RuleKind):
    """A limit of the difference from the baseline, judged by its whole interval."""

    needs = "difference"
    signed = resampled = True
    open: ClassVar[CheckStatus]  # the answer if the interval lies on both sides of the limit

    def check_metric(self, name: str) -> None:
        metric = find_metric(name)
        if isinstance(metric, Metric) and metric.rejection is None:
            raise ValueError(
                f"`metric` must be test-based or without bins in a rule of kind {self.name!r}, such as 'ltce' or "
                f"'log_loss'; it is {name!r}: the interval of its difference would cover less than it says."
            )

    def judge(self, case: Case) -> CheckResult:
        found = case.difference
        if found is None:
            return case.decide(INCONCLUSIVE, Cause.NO_BASELINE)
        if not all(map(math.isfinite, (found.difference, found.low, found.high))):
            return judge_infinite(case, found.difference)
        return judge_resamples(case, found) or self._compare(case, found)

    def _compare(self, case: Case, found: Difference) -> CheckResult:
        if case.metric is not None and case.metric.bad == "low":
            found = replace(found, difference=-found.difference, low=-found.high, high=-found.low)
        observed = found.difference
        details = {"low": found.low, "high": found.high, "confidence": found.confidence}
        if exceeds(found.low, case.limit):
            if not (case.rejected or case.overall):
                return case.decide(INCONCLUSIVE, Cause.UNPROVEN, observed, **details)
            return case.decide(FAIL, Cause.ABOVE_LIMIT, observed, **details)
        if not exceeds(found.high, case.limit):
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
    of_metric = False

    def unit(self, metric: Any) -> Unit:
        return PROBABILITY

    def judge(self, case: Case) -> CheckResult:
        row_counts = case.row_counts.without_zero_counts
        share = row_counts.share_dropped
        if exceeds(share, case.limit):
            return case.decide(FAIL, Cause.ABOVE_LIMIT, share, row_counts=row_counts)
        return case.decide(PASS, Cause.WITHIN_LIMIT, share, row_counts=row_counts)


KINDS: dict[str, RuleKind] = {
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
    """What is beyond every limit, as the log loss is if a prediction of exactly 0 or 1 is wrong, or is no number."""
    definition = case.rule.definition
    lower = isinstance(definition, LimitRule) and definition.lower
    if math.isinf(value) and (value < 0) == lower:
        return case.decide(FAIL, Cause.INFINITE, value, **details)
    return case.decide(INCONCLUSIVE, Cause.NOT_FINITE, **details)


def judge_resamples(case: Case, span: Interval | Difference) -> CheckResult | None:
    """The answer if an interval's quantiles lie beyond its replicates."""
    needed = count_needed(span.confidence)
    if span.resamples >= needed:
        return None
    details = {"confidence": span.confidence, "draws": span.resamples, "needed": needed}
    return case.decide(INCONCLUSIVE, Cause.TOO_FEW_RESAMPLES, **details)


def count_needed(confidence: float) -> int:
    """The fewest replicates that leave both tails of an interval outside of their extremes."""
    return math.ceil(2 / (1 - confidence) - 1 - 1e-9)


def exceeds(value: float, limit: float) -> bool:
    """Whether a value is greater than a limit by more than rounding."""
    return value - limit > 1e-12 * max(1.0, abs(limit))
