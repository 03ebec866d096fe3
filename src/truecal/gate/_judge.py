"""The release gate: rules held against results, segments and differences from a baseline.

A rule that could not be judged is "unknown", never passed: nothing matches it, rows are too few, what it needs was not
computed or with too few replicates, or scores grouped into cells leave the answer open.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from truecal._errors import option
from truecal._text import plural
from truecal.gate._rules import Rule
from truecal.gate._verdict import Decision, Finding, FindingTable, Status
from truecal.inference import Difference, Interval
from truecal.metrics import METRICS, Metric, Rejection, Unit, choose
from truecal.results import Comparison, GroupTable, Result

Tables = Mapping[str, GroupTable | Mapping[str, GroupTable]]
Differences = Mapping[str, Comparison]
MISSING = {
    "reference": "it has no reference by chance; evaluate with `reference=1000`",
    "interval": "it has no interval; evaluate with {intervals}",
    "table": "`truecal.segments` gives one",
    "difference": "it was not compared with a baseline; `compare` gives the difference",
}


def judge(
    rules: Iterable[Rule],
    results: Mapping[str, Result],
    *,
    segments: Tables | None = None,
    differences: Differences | None = None,
    paired: Mapping[str, int] | None = None,
) -> Decision:
    """Hold rules against results: one finding for each rule and each model, or segment, that it matches.

    Parameters
    ----------
    rules : rules
        At least one; `read_rules` reads them from a file.
    results : mapping
        Model name to its `Result`, with the references and intervals that the rules ask for.
    segments : mapping, optional
        Model name to the table of `truecal.segments`, or to a mapping of metric names to tables. A table alone is for
        the rules of its own metric.
    differences : mapping, optional
        Model name to what `compare(y, new, baseline)` gives.
    paired : mapping, optional
        Model name to the rows that it was compared on with the baseline, where these are not all.
    """
    chosen = _check_rules(rules)
    _check_mapping("results", results, Result)
    subject = _Subject(results, segments or {}, differences or {}, paired or {})
    _check_mapping("segments", subject.segments, (GroupTable, Mapping))
    _check_mapping("differences", subject.differences, Comparison)
    found = FindingTable.of(finding for rule in chosen for finding in _apply(rule, subject))
    return Decision(found, subject.notes())


@dataclass(frozen=True, slots=True)
class _Subject:
    """All that is judged."""

    results: Mapping[str, Result]
    segments: Tables
    differences: Differences
    paired: Mapping[str, int]

    def models(self) -> list[str]:
        """Every model that anything is known of: so that none escapes a rule because it has no result."""
        return list(dict.fromkeys([*self.results, *self.segments, *self.differences]))

    def notes(self) -> tuple[str, ...]:
        """What is to be known about the data, once."""
        parts: list[Result | GroupTable] = [*self.results.values()]
        for found in self.segments.values():
            parts += [found] if isinstance(found, GroupTable) else found.values()
        return tuple(dict.fromkeys(note for part in parts for note in part.notes))

    def metric(self, model: str, name: str) -> Metric | None:
        result = self.results.get(model)
        return None if result is None else result.metrics.get(name)

    def table(self, model: str, name: str) -> GroupTable | None:
        """The model's table for a metric: what goes by its name, or a table alone that is of this metric."""
        found = self.segments.get(model, {})
        if not isinstance(found, GroupTable):
            return found.get(name)
        wanted = [self.metric(model, name)]
        if name in METRICS:  # under the table's own test, if it has one
            wanted += choose([name], None, found.metric.rejection or Rejection()).values()
        return found if found.metric in wanted else None


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a rule is applied, and how its numbers are written."""

    rule: Rule
    model: str
    segment: str | None
    n: int | None
    unit: Unit
    too_small: bool = False

    def find(self, status: Status, reason: str, observed: float | None = None) -> Finding:
        if status == "pass" and self.too_small:
            status, reason = "unknown", f"{reason[:-1]}, but the segment is too small to refute anything."
        return Finding(self.rule, self.model, self.segment, self.n, observed, status, reason)

    def write(self, value: float) -> str:
        """A value with its unit, in as many digits as it takes to see on which side of the limit it lies."""
        limit, digits = self.rule.limit, self.unit.digits
        side = _above(value, limit) - _above(limit, value)
        while digits < 15 and side and _side(round(value, digits), limit) != side:
            digits += 1
        return f"{value:.{digits}f}{self.unit.symbol}"

    @property
    def limit(self) -> str:
        return f"the limit of {self.rule.limit:.10g}{self.unit.symbol}"


def _apply(rule: Rule, subject: _Subject) -> Iterable[Finding]:
    models = [model for model in subject.models() if _matches(model, rule.model)]
    if not models:
        reason = f"no model matches {rule.model!r}; the models are: {_list(subject.models())}."
        yield Finding(rule, rule.model, rule.segment, None, None, "unknown", reason)
    for model in models:
        if rule.segment is None:
            yield _judge_whole(rule, model, subject)
        else:
            yield from _judge_each(rule, model, subject)


def _judge_whole(rule: Rule, model: str, subject: _Subject) -> Finding:
    result = subject.results.get(model)
    rows = None if result is None else result.n
    if rows is not None and rule.needs == "difference":
        rows = min(rows, subject.paired.get(model, rows))
    place = _Place(rule, model, None, rows, _unit(rule, subject.metric(model, rule.metric)))
    if result is None:
        return place.find("unknown", f"there is no result of {model!r}.")
    name = rule.metric
    if name not in result.values:
        known = ", ".join(result.values)
        return place.find("unknown", f"{name} was not computed; these were: {known}.")
    refused = _refuse(place)
    if refused:
        return refused
    if rule.needs == "difference":
        compared = subject.differences.get(model)
        return _judge_difference(place, compared[name] if compared is not None and name in compared else None)
    value = result.values[name]
    low, high = result.bounds.get(name, (value, value))
    if rule.kind == "value":
        return _judge_limit(place, value, (low, high), name)
    if rule.kind == "upper":
        span = result.intervals.get(name)
        if span is None:
            return place.find("unknown", f"{name} cannot be judged: {_missing(rule.needs)}.")
        shifted = span.high + low - value, span.high + high - value
        what = f"the upper end of the {100 * span.confidence:g} % interval of {name}"
        return _too_few(place, span) or _judge_limit(place, span.high, shifted, what)
    reference = result.references.get(name)
    if reference is None:
        return place.find("unknown", f"{name} cannot be judged: {_missing(rule.needs)}.")
    if rule.kind == "p_value":
        return _judge_p_value(place, reference.p_value, reference.replicates)
    shifted = reference.excess + low - value, reference.excess + high - value
    what = f"{name} minus its mean by chance ({plural(reference.replicates, 'draw')})"
    return _judge_limit(place, reference.excess, shifted, what)


def _judge_each(rule: Rule, model: str, subject: _Subject) -> Iterable[Finding]:
    table = subject.table(model, rule.metric)
    nowhere = _Place(rule, model, rule.segment, None, rule.unit)
    if table is None:
        yield nowhere.find(
            "unknown", f"there is no table of segments of {model!r} for {rule.metric}; {MISSING['table']}."
        )
        return
    names = table.names
    # where nothing could have been refuted, a low TCE and a high p-value say nothing; a gap is what it is
    small = table.too_small & (rule.kind == "p_value" or table.metric.rejection is not None)
    rows = [i for i, name in enumerate(names) if _matches(name, rule.segment or "")]
    if not rows:
        yield nowhere.find("unknown", f"no segment matches {rule.segment!r}; the segments are: {_list(names)}.")
    count = 1 if table.adjust is None else len(table)  # adjusting multiplies the smallest p-value by their number
    for i in rows:
        place = _Place(rule, model, names[i], int(table.n[i]), _unit(rule, table.metric), bool(small[i]))
        refused = _refuse(place)
        if refused:
            yield refused
        elif rule.kind == "p_value":
            yield _judge_p_value(place, float(table.p_adjusted[i]), table.replicates, count)
        else:
            excess = rule.kind == "excess"
            number = float((table.excess if excess else table.value)[i])
            shift = number - float(table.value[i])
            ends = float(table.lowest[i]) + shift, float(table.highest[i]) + shift
            what = f"{rule.metric} minus its mean by chance" if excess else rule.metric
            yield _judge_limit(place, number, ends, what)


def _refuse(place: _Place) -> Finding | None:
    """The answer where rows are too few, or where no value could break the limit."""
    rule = place.rule
    if place.n is not None and place.n < rule.min_rows:
        return place.find("unknown", f"{plural(place.n, 'row')}, fewer than the {rule.min_rows:,} needed.")
    if abs(rule.limit) > place.unit.top:
        return place.find(
            "unknown",
            f"{rule.metric} is a {place.unit.name} of at most {place.unit.top:g}, so {place.limit} cannot be met or "
            "broken.",
        )
    return None


def _judge_limit(place: _Place, observed: float, ends: tuple[float, float], what: str) -> Finding:
    """An upper limit, for a number known to lie between two ends."""
    if not all(map(math.isfinite, (observed, *ends))):
        return place.find("unknown", f"{what} is no finite number.")
    low, high = (place.write(end) for end in ends)
    limit = place.rule.limit
    known = f"is {place.write(observed)}" if ends[0] == ends[1] else f"lies between {low} and {high}"
    if _above(ends[0], limit):
        return place.find("fail", f"{what} {known}, above {place.limit}.", observed)
    if not _above(ends[1], limit):
        return place.find("pass", f"{what} {known}, within {place.limit}.", observed)
    return place.find(
        "unknown", f"{what} {known}, as scores were grouped into cells, and so does {place.limit}.", observed
    )


def _judge_difference(place: _Place, found: Difference | None) -> Finding:
    rule = place.rule
    if found is None:
        return place.find("unknown", f"{rule.metric} cannot be judged: {MISSING['difference']}.")
    if not all(map(math.isfinite, (found.difference, found.low, found.high))):
        return place.find("unknown", f"the difference of {rule.metric} is no finite number.")
    few = _too_few(place, found)
    if few:
        return few
    message = (
        f"{rule.metric} minus the baseline's is {place.write(found.difference)}, its {100 * found.confidence:g} % "
        f"interval {place.write(found.low)} to {place.write(found.high)}"
    )
    if _above(found.low, rule.limit):
        return place.find("fail", f"{message}, wholly above {place.limit}.", found.difference)
    if not _above(found.high, rule.limit):
        return place.find("pass", f"{message}, wholly within {place.limit}.", found.difference)
    status: Status = "pass" if rule.kind == "worse" else "unknown"
    return place.find(status, f"{message}, on both sides of {place.limit}.", found.difference)


def _judge_p_value(place: _Place, p_value: float, replicates: int, count: int = 1) -> Finding:
    limit = place.rule.limit
    if not math.isfinite(p_value):
        return place.find("unknown", f"the p-value of {place.rule.metric} is no finite number.")
    adjusted = f", adjusted for {count:,} segments," if count > 1 else ""
    message = f"the p-value of {place.rule.metric}{adjusted} is {place.write(p_value)}"
    if _above(limit, p_value):
        return place.find("fail", f"{message}, below {place.limit}.", p_value)
    least = min(count / (replicates + 1), 1.0)
    if not _above(limit, least):
        needed = math.floor(count / limit + 1e-9)
        return place.find(
            "unknown",
            f"{message}, but with {plural(replicates, 'replicate')} it cannot fall below {least:.4g}, let alone "
            f"{place.limit}; at least {needed:,} are needed.",
            p_value,
        )
    return place.find("pass", f"{message}, not below {place.limit}.", p_value)


def _too_few(place: _Place, span: Interval | Difference) -> Finding | None:
    """The answer where an interval's quantiles lie beyond its replicates."""
    tail = (1 - span.confidence) / 2
    needed = math.ceil(1 / tail - 1 - 1e-9)
    if span.replicates >= needed:
        return None
    return place.find(
        "unknown",
        f"the {100 * span.confidence:g} % interval of {place.rule.metric} was made with "
        f"{plural(span.replicates, 'replicate')}; at least {needed:,} are needed.",
    )


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


def _unit(rule: Rule, metric: Metric | None) -> Unit:
    """The unit of a rule's numbers; the metric that was computed knows better than its name."""
    return rule.unit if metric is None or rule.kind == "p_value" else metric.unit


def _missing(need: str) -> str:
    return MISSING[need].format(intervals=option("intervals=1000"))


def _check_rules(rules: Iterable[Rule]) -> list[Rule]:
    if isinstance(rules, Rule):
        raise TypeError("`rules` must be a list of them; it is a single one.\n\nHint: write `[...]` around it.")
    chosen = list(rules)
    if not chosen:
        raise ValueError("`rules` must hold at least one rule; a gate without rules would pass everything.")
    for rule in chosen:
        if not isinstance(rule, Rule):
            raise TypeError(f"`rules` must hold `Rule`; one is {rule!r}.\n\nHint: `read_rules` reads a file of them.")
    return chosen


def _check_mapping(name: str, given: object, kinds: type | tuple[type, ...]) -> None:
    if not isinstance(given, Mapping):
        raise TypeError(
            f"`{name}` must be a mapping by the names of models; it is {type(given).__name__}.\n\n"
            'Hint: write `{"model": ...}` around it.'
        )
    for model, value in given.items():
        if not isinstance(model, str):
            raise TypeError(f"`{name}` must be named by text; one name is {model!r}.")
        if not isinstance(value, kinds):
            raise TypeError(f"`{name}` holds a {type(value).__name__} for {model!r}, which is not what it must hold.")
