"""The release gate: rules held against verdicts, results, segments and differences from a baseline.

A rule fails where the data show that it is broken, and passes where they could have shown it and did not. All else is
"cannot tell", never passed: nothing matches the rule, rows are too few, the verdict cannot tell, what it needs was not
computed or with too few replicates, or scores grouped into cells leave the answer open.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from typing import Protocol

import numpy as np

from truecal._errors import find_near, option
from truecal._text import plural
from truecal.gate._decision import ALLOWED, CERTAIN, TOO_FEW, UNSHOWN, Decision, Finding, FindingTable, Status
from truecal.gate._rules import Rule
from truecal.inference import FACTOR, Difference, Interval, Verdict, format_factor, format_span
from truecal.metrics import Measure, Relative, Unit, adjust_p_values, find_metric
from truecal.observations import Account, Segment, list_reasons
from truecal.results import Comparison, GroupTable, Result

USUAL = 0.05  # the level below which an answer is no longer "no sign of error"
MISSING = {
    "reference": "it has no reference by chance; evaluate with `reference=1000`",
    "interval": "it has no interval; evaluate with {intervals}",
    "difference": "it was not compared with a baseline; `compare` gives the difference",
}


class Evidence(Protocol):
    """What the rows of one model say, of all of them or of a segment, at a level of evidence."""

    def verdicts(self, segments: Sequence[Segment | None], level: float) -> list[Verdict]: ...

    def locate(self, segment: Segment | None, verdict: Verdict) -> Verdict: ...

    def count_enough(self, segment: Segment | None, level: float) -> int | None: ...

    def interval(self, segment: Segment | None, metric: str, level: float) -> Interval | None: ...


@dataclass(frozen=True, slots=True)
class Subject:
    """What is known of one model.

    `evidence` gives verdicts and intervals, `accounts` where the rows went, those of all segments together under None;
    `result` has the metrics of all rows, `tables` those of segments by the name of the metric, `segments` the names of
    all segments; `difference` compares with the baseline.
    """

    evidence: Evidence
    accounts: Mapping[Segment | None, Account]
    result: Result | None = None
    tables: Mapping[str, GroupTable] = field(default_factory=dict)
    segments: Mapping[Segment, str] = field(default_factory=dict)
    difference: Comparison | None = None


def judge(rules: Iterable[tuple[Rule, Mapping[str, Subject]]], notes: Sequence[str] = ()) -> Decision:
    """Hold each rule against models: one finding for each model, or segment, that it matches."""
    found = (finding for rule, models in rules for finding in _apply(rule, models))
    return Decision(FindingTable.of(found), tuple(notes))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a rule is applied: the rows, how numbers are written, and the evidence.

    `verdict` is at the rule's level over the number of segments judged, and `off` says whether its p-value shows that
    the model is off, adjusted for that number.
    """

    rule: Rule
    model: str
    segment: str | None
    n: int | None
    unit: Unit
    evidence: Evidence | None = None
    verdict: Verdict | None = None
    p_value: float = math.nan
    count: int = 1
    key: Segment | None = None
    metric: Measure | None = None

    @property
    def level(self) -> float:
        return self.rule.significance / self.count

    @property
    def off(self) -> bool:
        return self.p_value <= self.rule.significance

    def find(self, status: Status, reason: str, observed: float | None = None) -> Finding:
        """A finding. None passes where the verdict cannot tell, unless the rule allows it."""
        told = self.verdict is not None and (self.off or self.verdict.word != "cannot tell")
        if status == "pass" and not told:
            reason = f"{reason[:-1]}, but {self.describe_lack()}"
            status = "pass" if self.rule.allow_cannot_tell else "cannot tell"
            reason += ALLOWED if status == "pass" else "."
        elif status == "pass" and self.off and self.rule.kind != "dropped":
            reason = f"{reason[:-1]}, though the verdict is off: {self.describe_p()}."
        return Finding(self.rule, self.model, self.segment, self.n, observed, status, reason)

    def describe_lack(self) -> str:
        """Why the verdict cannot tell."""
        if self.verdict is not None and self.verdict.certain:
            return CERTAIN
        if self.verdict is None:
            return f"{TOO_FEW} there is no verdict"
        enough = None if self.evidence is None else self.evidence.count_enough(self.key, self.level)
        takes = "" if enough is None else f" (it takes about {enough:,} such rows)"
        if math.isinf(self.verdict.detectable):
            return f"{TOO_FEW} {self.verdict.blind}{takes}"
        odds = f"a factor of {format_factor(self.verdict.detectable)} or more on {self.verdict.all_odds}"
        level = f"{self.rule.significance:g}{f' for all {self.count:,} {self.parts}' * (self.count > 1)}"
        found = f"only {odds} would have been found both ways at a significance of {level}"
        return f"{TOO_FEW} {found}, and {FACTOR:g} is needed{takes}"

    @property
    def parts(self) -> str:
        return "classes" if self.rule.multiclass == "classwise" else "segments"

    def describe_p(self) -> str:
        adjusted = f", adjusted for {self.count:,} {self.parts}," if self.count > 1 else ""
        value = f"{self.p_value:.2g}" if self.p_value >= 1e-4 else "below 0.0001"
        return f"p{adjusted} is {value}"

    def write(self, value: float) -> str:
        """A value with its unit, in as many digits as it takes to see on which side of the limit it lies."""
        limit, digits = self.top, self.unit.digits
        side = _above(value, limit) - _above(limit, value)
        while digits < 15 and side and _side(round(value, digits), limit) != side:
            digits += 1
        return f"{value:.{digits}f}{self.unit.symbol}"

    @property
    def top(self) -> float:
        """The limit as a number; rules without one do not ask."""
        return math.nan if self.rule.limit is None else self.rule.limit

    def breaks(self, value: float) -> bool:
        """Whether a value is beyond the limit: above it, or below it for the kind "least"."""
        return _above(self.top, value) if self.rule.kind == "least" else _above(value, self.top)

    @property
    def limit(self) -> str:
        return f"the limit of {self.top:.10g}{self.unit.symbol}"


def _apply(rule: Rule, subjects: Mapping[str, Subject]) -> Iterator[Finding]:
    models = [model for model in subjects if _matches(model, rule.model)]
    if not models:
        reason = f"no model matches {rule.model!r}; the models are: {_list(list(subjects))}."
        yield Finding(rule, rule.model, rule.segment, None, None, "cannot tell", reason)
    for model in models:
        if not rule.each:
            yield _judge_whole(rule, model, subjects[model])
        else:
            yield from _judge_each(rule, model, subjects[model])


def _judge_whole(rule: Rule, model: str, subject: Subject) -> Finding:
    result, name = subject.result, rule.metric
    (verdict,) = subject.evidence.verdicts([None], rule.significance)
    metric = None if result is None else result.metrics.get(name)
    found = subject.evidence, verdict, verdict.p_value
    place = _Place(rule, model, None, verdict.n, _unit(rule, metric), *found, metric=metric or find_metric(name))
    refused = _refuse(place)
    if refused:
        return refused
    if rule.kind == "verdict":
        return _judge_verdict(place)
    if rule.kind == "dropped":
        return _judge_dropped(place, subject.accounts[None])
    if rule.needs == "difference":
        compared = subject.difference
        return _judge_difference(place, compared[name] if compared is not None and name in compared else None)
    if result is None or name not in result.values:
        known = "none" if result is None else ", ".join(result.values)
        return place.find("cannot tell", f"{name} was not computed; these were: {known}.")
    value = result.values[name]
    low, high = result.bounds.get(name, (value, value))
    if rule.kind in ("value", "least"):
        return _judge_limit(place, value, (low, high), name)
    if rule.kind == "upper":
        span = result.intervals.get(name)
        if span is None:
            return place.find("cannot tell", f"{name} cannot be judged: {_missing(rule.needs)}.")
        shifted = span.high + low - value, span.high + high - value
        what = f"the upper end of the {100 * span.confidence:g} % interval of {name}"
        return _too_few(place, span) or _judge_limit(place, span.high, shifted, what)
    reference = result.references.get(name)
    if reference is None:
        return place.find("cannot tell", f"{name} cannot be judged: {_missing(rule.needs)}.")
    if rule.kind == "p_value":
        return _judge_p_value(place, reference.p_value, reference.replicates)
    shifted = low - reference.mean, high - reference.mean
    what = f"{name} minus its mean by chance ({plural(reference.replicates, 'draw')})"
    return _judge_limit(place, reference.excess, shifted, what, reference.mean)


def _judge_each(rule: Rule, model: str, subject: Subject) -> Iterator[Finding]:
    """A finding for each segment that matches, adjusted for the number of those that are judged."""
    table = subject.tables.get(rule.metric)
    matching = {key: name for key, name in subject.segments.items() if _matches(name, rule.segment or "*")}
    if not matching:
        names = list(subject.segments.values())
        near = find_near(rule.segment, [*names, *(f"{name.partition('=')[0]}=*" for name in names)])
        reason = f"no segment matches {rule.segment!r}; the segments are: {_list(names)}."
        reason += "" if near is None else f" Did you mean {near!r}?"
        yield Finding(rule, model, rule.segment, None, None, "cannot tell", reason)
    judged = [key for key in matching if subject.accounts[key].judged >= max(1, rule.min_rows)]
    count = max(1, len(judged))
    verdicts = dict(zip(judged, subject.evidence.verdicts(judged, rule.significance / count), strict=True))
    p_values = adjust_p_values(np.array([verdicts[key].p_value for key in judged], np.float64), "holm").tolist()
    adjusted = dict(zip(judged, p_values, strict=True))
    metric = find_metric(rule.metric) if table is None else table.metric
    rows = {} if table is None else {key: i for i, key in enumerate(table.segment)}
    unit = _unit(rule, metric)
    for key, name in matching.items():
        account = subject.accounts[key]
        found = verdicts.get(key), adjusted.get(key, math.nan), count, key, metric
        place = _Place(rule, model, name, account.judged, unit, subject.evidence, *found)
        if rule.kind == "dropped":
            yield _refuse(place) or _judge_dropped(place, account)
        elif account.judged:
            judge_one = _judge_verdict if rule.kind == "verdict" else partial(_judge_row, table=table, rows=rows)
            yield _refuse(place) or judge_one(place)
        elif account.outside:
            yield place.find("cannot tell", "no prediction of this segment is among those that are judged.")
        else:
            yield place.find("cannot tell", f"all rows of this segment were dropped: {list_reasons(account.dropped)}.")


def _judge_dropped(place: _Place, account: Account) -> Finding:
    """Whether few enough rows were dropped."""
    account = account.seen
    share, why = account.share_dropped, f" ({account.reasons})" if account.dropped else ""
    what = f"{account.n_dropped:,} of {plural(account.read, 'row')} were dropped{why}: {place.write(share)}"
    if _above(share, place.top):
        return place.find("fail", f"{what}, above {place.limit}.", share)
    return place.find("pass", f"{what}, within {place.limit}.", share)


def _judge_row(place: _Place, table: GroupTable | None, rows: Mapping[Segment, int]) -> Finding:
    """A limit, for one segment of a table; `rows` says where each one is."""
    rule = place.rule
    i = None if table is None or place.key is None else rows.get(place.key)
    if table is None or i is None:
        return place.find("cannot tell", f"{rule.metric} was not computed for this segment.")
    if rule.kind == "p_value":
        # adjusting multiplies the smallest p-value by their number
        count = 1 if table.adjust is None else len(table)
        return _judge_p_value(place, float(table.chance_p_adjusted[i]), table.replicates, count)
    excess = rule.kind == "excess"
    number = float((table.excess if excess else table.value)[i])
    shift = number - float(table.value[i])
    ends = float(table.lowest[i]) + shift, float(table.highest[i]) + shift
    what = f"{rule.metric} minus its mean by chance" if excess else rule.metric
    return _judge_limit(place, number, ends, what, -shift)


def _refuse(place: _Place) -> Finding | None:
    """The answer where rows are too few, or where no value could break the limit."""
    rule = place.rule
    if place.n is not None and place.n < rule.min_rows:
        return place.find("cannot tell", f"{plural(place.n, 'row')}, fewer than the {rule.min_rows:,} needed.")
    if rule.limit is not None and not min(place.unit.bottom, -place.unit.top) <= rule.limit <= place.unit.top:
        return place.find(
            "cannot tell",
            f"{rule.metric} is a {place.unit.name} of at most {place.unit.top:g}, so {place.limit} cannot be met or "
            "broken.",
        )
    return None


def _judge_verdict(place: _Place) -> Finding:
    """Whether the verdict is "consistent"."""
    verdict, level = place.verdict, place.rule.significance
    if verdict is None or not math.isfinite(place.p_value):
        return place.find("cannot tell", "there is no verdict.")
    beyond = "" if verdict.tolerance is None else " beyond the tolerance"
    if place.off:
        if place.evidence is not None:
            verdict = place.evidence.locate(place.key, replace(verdict, word="off"))
        details = " ".join(verdict.sentences()[1 : 3 + bool(verdict.impossible)])
        return place.find("fail", f"off{beyond}: {place.describe_p()}, at most {level:g}. {details}", place.p_value)
    sign = "no sign of error" if place.p_value > USUAL else "a sign of error, too weak for this rule"
    if not _is_within(verdict):
        sign, beyond = f"not shown to be{beyond}", f", though x {format_span(verdict.ratio, *verdict.interval)} came"
    large = f" ({verdict.excess_tolerance})" if verdict.excess_tolerance else ""
    message = f"{sign}{beyond}: {place.describe_p()}, above {level:g}{large}."
    return place.find("pass", message, place.p_value)


def _is_within(verdict: Verdict) -> bool:
    """Whether the positives that came are within a verdict's tolerance of those expected."""
    tolerance, expected = verdict.tolerance, verdict.expected
    if tolerance is None:
        return True
    of = expected if isinstance(tolerance, Relative) else verdict.n
    return abs(verdict.observed - expected) <= tolerance.value * of


def _judge_limit(
    place: _Place, observed: float, ends: tuple[float, float], what: str, by_chance: float = 0.0
) -> Finding:
    """A limit, for a number known to lie between two ends: an upper one, or a lower one for the kind "least".

    Beyond it, the rule fails where the verdict is "off" and the nearer end of the metric's interval is beyond the limit
    too, less what the metric is `by_chance` where the number is an excess. A metric that is about more than calibration
    needs no verdict that is "off": right predictions may have a bad one.
    """
    least = place.rule.kind == "least"
    if not all(map(math.isfinite, (observed, *ends))):
        return _judge_infinite(place, min(ends, key=place.breaks), what)
    low, high = (place.write(end) for end in ends)
    known = f"is {place.write(observed)}" if ends[0] == ends[1] else f"lies between {low} and {high} on bins of cells"
    near, far = ends[::-1] if least else ends
    if not place.breaks(far):
        return place.find("pass", f"{what} {known}, within {place.limit}.", observed)
    if not place.breaks(near):
        reason = f"{what} {known}, and so does {place.limit}."
        return place.find("cannot tell", reason, observed)
    message = f"{what} {known}, {'below' if least else 'above'} {place.limit}"
    overall = place.metric is not None and place.metric.overall
    if place.evidence is None or not (place.off or overall):
        reason = f"{message}, {UNSHOWN}: {place.describe_p()}."
        return place.find("cannot tell", reason, observed)
    span = place.evidence.interval(place.key, place.rule.metric, place.level)
    if span is None:
        return place.find("cannot tell", f"{message}, but there is no interval that would show it.", observed)
    few = _too_few(place, span)
    if few:
        return few
    end = (span.high if least else span.low) - by_chance + near - observed
    if not math.isfinite(end):
        return place.find("cannot tell", f"{message}, but its interval has no finite end.", observed)
    shown = f"its {100 * span.confidence:.4g} % interval {'ends' if least else 'begins'} at {place.write(end)}"
    if not place.breaks(end):
        return place.find("cannot tell", f"{message}, but {shown}: it may be within.", observed)
    p_value = "" if overall else f", and {place.describe_p()}"
    return place.find("fail", f"{message}; {shown}{p_value}.", observed)


def _judge_infinite(place: _Place, value: float, what: str) -> Finding:
    """What is beyond every limit, as the log loss is where a prediction of exactly 0 or 1 is wrong, or is no number."""
    if math.isinf(value) and place.breaks(value):
        return place.find("fail", f"{what} is infinite, beyond {place.limit}.", value)
    return place.find("cannot tell", f"{what} is no finite number.")


def _judge_difference(place: _Place, found: Difference | None) -> Finding:
    rule = place.rule
    if found is None:
        return place.find("cannot tell", f"{rule.metric} cannot be judged: {MISSING['difference']}.")
    if not all(map(math.isfinite, (found.difference, found.low, found.high))):
        return _judge_infinite(place, found.difference, f"{rule.metric} minus the baseline's")
    few = _too_few(place, found)
    if few:
        return few
    what = f"{rule.metric} minus the baseline's"
    if place.metric is not None and place.metric.bad == "both":
        what = f"the distance of {rule.metric} from {place.metric.best:g} minus the baseline's"
    elif place.metric is not None and place.metric.bad == "low":
        what = f"the baseline's {rule.metric} minus this one"
        found = replace(found, difference=-found.difference, low=-found.high, high=-found.low)
    message = (
        f"{what} is {place.write(found.difference)}, its {100 * found.confidence:g} % "
        f"interval {place.write(found.low)} to {place.write(found.high)}"
    )
    if _above(found.low, place.top):
        overall = place.metric is not None and place.metric.overall
        if not (place.off or overall):
            reason = f"{message}, wholly above {place.limit}, {UNSHOWN}."
            return place.find("cannot tell", reason, found.difference)
        return place.find("fail", f"{message}, wholly above {place.limit}.", found.difference)
    if not _above(found.high, place.top):
        return place.find("pass", f"{message}, wholly within {place.limit}.", found.difference)
    status: Status = "pass" if rule.kind == "worse" else "cannot tell"
    return place.find(status, f"{message}, on both sides of {place.limit}.", found.difference)


def _judge_p_value(place: _Place, p_value: float, replicates: int, count: int = 1) -> Finding:
    if not math.isfinite(p_value):
        return place.find("cannot tell", f"the p-value of {place.rule.metric} is no finite number.")
    adjusted = f", adjusted for {count:,} {place.parts}," if count > 1 else ""
    message = f"the p-value of {place.rule.metric}{adjusted} is {place.write(p_value)}"
    if _above(place.top, p_value):
        return place.find("fail", f"{message}, below {place.limit}.", p_value)
    least = min(count / (replicates + 1), 1.0)
    if not _above(place.top, least):
        needed = math.floor(count / place.top + 1e-9)
        return place.find(
            "cannot tell",
            f"{message}, but with {plural(replicates, 'replicate')} it cannot fall below {least:.4g}, let alone "
            f"{place.limit}; at least {needed:,} are needed.",
            p_value,
        )
    return place.find("pass", f"{message}, not below {place.limit}.", p_value)


def _too_few(place: _Place, span: Interval | Difference) -> Finding | None:
    """The answer where an interval's quantiles lie beyond its replicates."""
    needed = count_needed(span.confidence)
    if span.replicates >= needed:
        return None
    return place.find(
        "cannot tell",
        f"the {100 * span.confidence:.4g} % interval of {place.rule.metric} was made with "
        f"{plural(span.replicates, 'replicate')}; at least {needed:,} are needed.",
    )


def count_needed(confidence: float) -> int:
    """The fewest replicates that leave both tails of an interval outside of their extremes."""
    return math.ceil(2 / (1 - confidence) - 1 - 1e-9)


def _above(value: float, limit: float) -> bool:
    """Whether a value is greater than a limit by more than rounding."""
    return value - limit > 1e-12 * max(1.0, abs(limit))


def _side(value: float, limit: float) -> int:
    return (value > limit) - (value < limit)


def _matches(name: str, pattern: str) -> bool:
    """Whether a name matches a pattern or equals it; upper and lower case differ on every system."""
    return name == pattern or fnmatchcase(name, pattern)


def _list(names: list[str], most: int = 5) -> str:
    return (", ".join(map(repr, names[:most])) or "none") + ", ..." * (len(names) > most)


def _unit(rule: Rule, metric: Measure | None) -> Unit:
    """The unit of a rule's numbers; the metric that was computed knows better than its name."""
    return rule.unit if metric is None or rule.kind in ("p_value", "verdict", "dropped") else metric.unit


def _missing(need: str) -> str:
    return MISSING[need].format(intervals=option("intervals=1000"))
