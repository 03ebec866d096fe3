"""Apply the rules of a release gate to verdicts, results, segments and differences from a baseline.

A rule fails if the data show that it is violated, and passes if they could have shown a violation and did not.
Otherwise it is "inconclusive", never passed: nothing matches the rule, rows are too few, the verdict is inconclusive,
what the rule needs was not computed or with too few resamples, or scores grouped into cells leave the status open.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from truecal._errors import find_near
from truecal.data import Note, RowCounts, Segment
from truecal.gate._causes import Cause, CheckStatus
from truecal.gate._decision import CheckDetails, CheckResult, CheckTable, Decision
from truecal.gate._rules import Rule
from truecal.inference import Difference, Interval
from truecal.metrics import Measure, Unit, adjust_p_values, find_metric
from truecal.verdict import Status, Verdict

if TYPE_CHECKING:
    from truecal.results import Comparison, GroupTable, Result


class Evidence(Protocol):
    """What can be computed, when a rule needs it, of one model's rows: all of them (None) or a segment."""

    def verdicts(self, segments: Sequence[Segment | None], level: float) -> list[Verdict]:
        """Return the verdict on each segment at a significance level."""

    def locate(self, segment: Segment | None, verdict: Verdict) -> Verdict:
        """Return a verdict with its score bands."""

    def required_rows(self, segment: Segment | None, level: float) -> int | None:
        """Return about how many rows with such predictions make the verdict conclusive; None if that is unknown."""

    def interval(self, segment: Segment | None, metric: str, level: float) -> Interval | None:
        """Return the confidence interval of a metric, with the confidence 1 - level."""


@dataclass(frozen=True, slots=True)
class ModelEvidence:
    """What is known of one model.

    `evidence` computes verdicts and intervals. `row_counts` are those of all rows (None) and of each segment. `result`
    has the metrics of all rows, `tables` those of segments by the metric's name, `segments` the names of all segments;
    `difference` compares with the baseline.
    """

    evidence: Evidence
    row_counts: Mapping[Segment | None, RowCounts]
    result: Result | None = None
    tables: Mapping[str, GroupTable] = field(default_factory=dict)
    segments: Mapping[Segment, str] = field(default_factory=dict)
    difference: Comparison | None = None

    @property
    def notes(self) -> list[Note]:
        """The notes of the result and the tables."""
        first = [] if self.result is None else list(self.result.notes)
        return first + [note for table in self.tables.values() for note in table.notes]


@dataclass(frozen=True, slots=True)
class NullSummary:
    """A metric against its null distribution; the p-value is adjusted for `adjusted` groups."""

    mean: float
    excess: float
    p_value: float
    draws: int
    adjusted: int = 1


@dataclass(frozen=True, slots=True)
class Measurement:
    """A metric of the rows that a rule applies to; `low` and `high` differ if scores were grouped into cells."""

    value: float
    low: float
    high: float
    null: NullSummary | None = None
    interval: Interval | None = None

    @classmethod
    def of_result(cls, result: Result | None, name: str) -> Measurement | None:
        """Return a metric of all rows; None if it was not computed."""
        if result is None or name not in result.values:
            return None
        value, null = result.values[name], result.nulls.get(name)
        return cls(
            value,
            *result.bounds.get(name, (value, value)),
            None if null is None else NullSummary(null.mean, null.excess, null.p_value, null.draws),
            result.intervals.get(name),
        )

    @classmethod
    def of_row(cls, table: GroupTable, i: int) -> Measurement:
        """Return the metric of one segment, a row of a table."""
        adjusted = 1 if table.adjust is None else len(table)
        mean, excess, p_value = (float(column[i]) for column in (table.null_mean, table.excess, table.null_p_adjusted))
        null = NullSummary(mean, excess, p_value, table.draws, adjusted) if table.draws else None
        return cls(float(table.value[i]), float(table.lowest[i]), float(table.highest[i]), null)


@dataclass(frozen=True, slots=True)
class Case:
    """One rule and the rows that it is applied to: a model, or one of its segments or classes.

    `verdict` is at the rule's significance divided by the number of groups that are judged; `p_value` is adjusted for
    that number. `key` identifies the segment, `computed` names the metrics that were computed.
    """

    rule: Rule
    model: str
    segment: str | None
    n: int
    unit: Unit
    row_counts: RowCounts
    metric: Measure | None = None
    evidence: Evidence | None = None
    verdict: Verdict | None = None
    p_value: float = math.nan
    groups: int = 1
    key: Segment | None = None
    measurement: Measurement | None = None
    difference: Difference | None = None
    computed: tuple[str, ...] = ()

    @property
    def limit(self) -> float:
        """The limit as a number; rules without a limit do not use it."""
        return math.nan if self.rule.limit is None else self.rule.limit

    @property
    def level(self) -> float:
        """The significance of one group (Bonferroni)."""
        return self.rule.significance / self.groups

    @property
    def rejected(self) -> bool:
        """Whether the adjusted p-value rejects calibration."""
        return self.p_value <= self.rule.significance

    @property
    def overall(self) -> bool:
        """Whether the metric measures more than calibration."""
        return self.metric is not None and self.metric.overall

    def locate(self, verdict: Verdict) -> Verdict:
        """Return the verdict on miscalibrated rows with its score bands."""
        # Holm's procedure may reject a group that the Bonferroni level alone does not
        verdict = replace(verdict, status=Status.MISCALIBRATED)
        return verdict if self.evidence is None else self.evidence.locate(self.key, verdict)

    def decide(self, status: CheckStatus, cause: Cause, observed: float | None = None, **details: Any) -> CheckResult:
        """Return a check result; it passes with an inconclusive verdict only if the rule allows that."""
        details |= {"groups": self.groups}
        details |= {} if math.isnan(self.p_value) else {"p_value": self.p_value}
        details |= {} if self.unit == self.rule.unit else {"unit": self.unit}
        allowed = False
        if status == CheckStatus.PASS and self._is_open():
            details |= {"otherwise": cause, "verdict": self.verdict}
            cause = Cause.CERTAIN if self.verdict is not None and self.verdict.certain else Cause.UNDERPOWERED
            if cause == Cause.UNDERPOWERED and self.verdict is not None and self.evidence is not None:
                details["enough"] = self.evidence.required_rows(self.key, self.level)
            allowed = self.rule.allow_inconclusive
            status = CheckStatus.PASS if allowed else CheckStatus.INCONCLUSIVE
        rows = self.rule, self.model, self.segment, self.n
        return CheckResult(*rows, observed, status, cause, CheckDetails(**details), allowed)

    def _is_open(self) -> bool:
        """Whether the verdict is inconclusive."""
        return self.verdict is None or (not self.rejected and self.verdict.status == "inconclusive")

    @property
    def _tolerates_all(self) -> bool:
        """Whether the tolerance is so large that no rows at all would be called miscalibrated."""
        verdict = self.verdict
        if self.rule.needs in ("difference", "row_counts") or self.overall or verdict is None or self.rejected:
            return False
        return verdict.tolerance is not None and verdict.detectable == 1.0  # see `OddsShiftPower.detectable_beyond`

    def judge(self) -> CheckResult:
        """Apply the rule, unless rows are too few, or no value could violate the limit or exceed the tolerance."""
        limit, unit = self.rule.limit, self.unit
        if self.n < self.rule.min_rows:
            return self.decide(CheckStatus.INCONCLUSIVE, Cause.MIN_ROWS)
        if limit is not None and not min(unit.bottom, -unit.top) <= limit <= unit.top:
            return self.decide(CheckStatus.INCONCLUSIVE, Cause.UNREACHABLE_LIMIT)
        if self._tolerates_all:
            return self.decide(CheckStatus.INCONCLUSIVE, Cause.TOLERANCE_OF_ALL)
        return self.rule.definition.judge(self)


def apply_rules(rules: Iterable[tuple[Rule, Mapping[str, ModelEvidence]]], notes: Sequence[Note] = ()) -> Decision:
    """Apply each rule to models: one check result for each model or segment that it matches."""
    results = (result for rule, models in rules for result in _apply(rule, models))
    return Decision(CheckTable.of(results), tuple(notes))


def _apply(rule: Rule, models: Mapping[str, ModelEvidence]) -> Iterator[CheckResult]:
    """Apply a rule to the models that it matches."""
    matching = [model for model in models if _matches(model, rule.model)]
    if not matching:
        yield _match_nothing(rule, rule.model, Cause.NO_MODEL, CheckDetails(names=tuple(models)))
    for model in matching:
        if rule.each:
            yield from _judge_groups(rule, model, models[model])
        else:
            yield _judge_all_rows(rule, model, models[model])


def _match_nothing(rule: Rule, model: str, cause: Cause, details: CheckDetails) -> CheckResult:
    return CheckResult(rule, model, rule.segment, None, None, CheckStatus.INCONCLUSIVE, cause, details)


def _judge_all_rows(rule: Rule, model: str, known: ModelEvidence) -> CheckResult:
    """Apply a rule to all rows of a model."""
    result, name, compared = known.result, rule.metric, known.difference
    (verdict,) = known.evidence.verdicts([None], rule.significance)
    computed = None if result is None else result.metrics.get(name)
    return Case(
        rule,
        model,
        None,
        verdict.n,
        rule.unit if computed is None else rule.definition.unit(computed),
        known.row_counts[None],
        metric=computed or find_metric(name),
        evidence=known.evidence,
        verdict=verdict,
        p_value=verdict.p_value,
        measurement=Measurement.of_result(result, name),
        difference=compared[name] if compared is not None and name in compared else None,
        computed=() if result is None else tuple(result.values),
    ).judge()


def _judge_groups(rule: Rule, model: str, known: ModelEvidence) -> Iterator[CheckResult]:
    """Apply a rule to each matching segment or class, adjusted for the number of those with enough rows."""
    matching = {key: name for key, name in known.segments.items() if _matches(name, rule.segment or "*")}
    if not matching:
        names = tuple(known.segments.values())
        near = find_near(rule.segment, [*names, *(f"{name.partition('=')[0]}=*" for name in names)])
        yield _match_nothing(rule, model, Cause.NO_SEGMENT, CheckDetails(names=names, nearest=near))
    judged = [key for key in matching if known.row_counts[key].evaluated >= max(1, rule.min_rows)]
    groups = max(1, len(judged))
    verdicts = dict(zip(judged, known.evidence.verdicts(judged, rule.significance / groups), strict=True))
    p_values = adjust_p_values(np.array([verdicts[key].p_value for key in judged], np.float64), "holm").tolist()
    adjusted = dict(zip(judged, p_values, strict=True))
    table = known.tables.get(rule.metric)
    metric = find_metric(rule.metric) if table is None else table.metric
    measured = {} if table is None else {key: Measurement.of_row(table, i) for i, key in enumerate(table.segment)}
    for key, name in matching.items():
        row_counts = known.row_counts[key]
        case = Case(
            rule,
            model,
            name,
            row_counts.evaluated,
            rule.unit if metric is None else rule.definition.unit(metric),
            row_counts,
            metric=metric,
            evidence=known.evidence,
            verdict=verdicts.get(key),
            p_value=adjusted.get(key, math.nan),
            groups=groups,
            key=key,
            measurement=measured.get(key),
        )
        if row_counts.evaluated or rule.needs == "row_counts":
            yield case.judge()
        elif row_counts.out_of_scope:
            yield case.decide(CheckStatus.INCONCLUSIVE, Cause.OUT_OF_SCOPE)
        else:
            yield case.decide(CheckStatus.INCONCLUSIVE, Cause.ALL_DROPPED, row_counts=row_counts)


def _matches(name: str, pattern: str) -> bool:
    """Whether a name equals a pattern or matches it."""
    # a name may contain brackets, which are patterns; `fnmatch` would ignore case on Windows alone
    return name == pattern or fnmatchcase(name, pattern)
