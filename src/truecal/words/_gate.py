"""The release gate in words: rules, check results and decisions, as text, HTML, Markdown, JUnit and GitHub's lines."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import partial
from xml.etree import ElementTree

from truecal._errors import option
from truecal._text import Terminal, TextColumn, plural, printable, prose_html
from truecal.gate import SHOWN, WORST_FIRST, Cause, CheckResult, CheckStatus, Decision, Rule, exceeds
from truecal.metrics import Unit, find_metric
from truecal.verdict import FACTOR, Verdict
from truecal.words._format import format_confidence, format_odds_ratio, format_p_value
from truecal.words._notes import describe_dropped, describe_note, describe_reasons, list_notes
from truecal.words._verdict import (
    describe_claim,
    describe_excess_tolerance,
    describe_total_alone,
    format_total,
    format_total_ratio,
    name_beyond,
)

# what each kind of rule asks for
RULE_TEXTS = {
    "verdict": "no miscalibration",
    "value": "{metric} at most {limit}",
    "least": "{metric} at least {limit}",
    "excess": "{metric} at most {limit} above its null mean",
    "upper": "upper end of the confidence interval of {metric} at most {limit}",
    "p_value": "p-value of {metric} at least {limit}",
    "worse": "{metric} not shown to be worse than the baseline by more than {limit}",
    "non_inferior": "{metric} non-inferior to the baseline (margin {limit})",
    "dropped": "share of dropped rows at most {limit}",
}
CHECK_OUTCOMES = {
    CheckStatus.FAIL: "failed",
    CheckStatus.INCONCLUSIVE: "inconclusive",
    CheckStatus.PASS: "passed",
}
# what to do about an inconclusive decision, on the command line
CERTAIN_HINT = (
    "Predictions of exactly 0 and 1 are class labels: use the probabilities behind them. More rows do not help."
)
UNPROVEN_HINT = (
    "A calibrated model can exceed a limit through sampling variation: raise the limit, or limit the excess over the "
    "null mean with --max-excess."
)
MOST_CASES = 10_000  # of JUnit; a server does not show more
ALLOW_HINT = "--allow-inconclusive lets an inconclusive verdict pass."


def describe_rule(rule: Rule) -> str:
    """Return what a rule asks for.

    Examples
    --------
    >>> from truecal import Rule
    >>> describe_rule(Rule("worse", 0.01, metric="brier"))
    'brier not shown to be worse than the baseline by more than 0.01'
    """
    limit = "" if rule.limit is None else _format_limit(rule, rule.unit)
    return RULE_TEXTS[rule.kind].format(metric=rule.metric, limit=limit)


# ---- check results ---------------------------------------------------------------------------------------------------


def describe_check(result: CheckResult) -> str:
    """Return why a check has its status, with the numbers."""
    details, text = result.details, REASONS[result.cause](result)
    if details.otherwise is not None:
        text = f"{_describe_otherwise(result, details.otherwise)}: {text}"
        return _end(f"{text}. The rule allows this" if result.allowed else text)
    rejected = details.p_value is not None and details.p_value <= result.rule.significance
    if result.status == CheckStatus.PASS and rejected and result.rule.kind != "dropped":
        text += f", although the verdict is miscalibrated ({_format_p(result)})"
    return _end(text)


def _end(text: str) -> str:
    return text if text.endswith((".", "?")) else f"{text}."


def _describe_otherwise(result: CheckResult, cause: Cause) -> str:
    """What would have passed, if the verdict were not inconclusive."""
    if cause in (Cause.CONSISTENT, Cause.WEAK_SIGN):
        return f"inconclusive ({_compare_p(result)})"
    return f"{REASONS[cause](result)}, but the verdict is inconclusive"


def _describe_miscalibrated(result: CheckResult) -> str:
    verdict, p_value = result.details.verdict, f"{_format_p(result)}, at most {result.rule.significance:g}"
    if verdict is None:
        return f"miscalibrated ({p_value})"
    total = format_total(verdict, result.details.groups, _name_groups(result))
    text = f"miscalibrated{name_beyond(verdict)} ({p_value}): {total}"
    if verdict.contradicted:
        one = verdict.contradicted == 1
        text += f"; {verdict.contradicted:,} row{'s' * (not one)} contradict{'s' * one} a prediction of exactly 0 or 1"
    claim = describe_claim(verdict)[0]
    return f"{text}. {claim[0].upper()}{claim[1:]}" if claim and not verdict.contradicted else text


def _describe_consistent(result: CheckResult, sign: str = "no miscalibration{tolerance} found") -> str:
    verdict = result.details.verdict
    if verdict is None:
        return f"{sign.format(tolerance='')} ({_compare_p(result)})"
    alone = "".join(f". {sentence.removesuffix('.')}" for sentence in describe_total_alone(verdict))
    return f"{sign.format(tolerance=name_beyond(verdict))} ({_compare_p(result)}){_doubt_tolerance(verdict)}{alone}"


def _describe_tolerance(result: CheckResult) -> str:
    verdict = result.details.verdict
    groups = result.details.groups
    ratio = "O/E" if verdict is None else format_total_ratio(verdict, groups, _name_groups(result))
    text = f"{ratio} lies beyond the tolerance, but this is not significant ({_compare_p(result)})"
    return f"{text}{_doubt_tolerance(verdict)}"


def _doubt_tolerance(verdict: Verdict | None) -> str:
    """A remark on a tolerance that is larger than the mean prediction."""
    excess = "" if verdict is None else describe_excess_tolerance(verdict)
    return f"; {excess}" if excess else ""


def _describe_underpowered(result: CheckResult) -> str:
    details, verdict = result.details, result.details.verdict
    if verdict is None:
        return "no row is evaluated"
    enough = "" if details.enough is None else f" (about {details.enough:,} such rows are enough)"
    if math.isinf(verdict.detectable):
        return f"no odds ratio would be detected if {_name_undetectable(verdict)}{enough}"
    size = f"{format_odds_ratio(verdict.detectable)} or more{name_beyond(verdict)}"
    level = f"{result.rule.significance:g}{f' across {details.groups:,} {_name_groups(result)}' * (details.groups > 1)}"
    found = f"only odds ratios of {size} would be detected in either direction with 80% power at significance {level}"
    return f"{found}; {FACTOR:g} is required{enough}{_doubt_tolerance(verdict)}"


def _name_undetectable(verdict: Verdict) -> str:
    """The error that has fewer outcomes to take away."""
    noun = "predictions" if verdict.outcome == "positive" else "confidences"
    if not verdict.sampling.plain:
        return f"{noun} are too low, or too high"
    return f"{noun} are too {'high' if verdict.expected <= verdict.n / 2 else 'low'}"


def _describe_within(result: CheckResult) -> str:
    if result.rule.kind == "dropped":
        return _describe_dropped_rows(result, "within")
    side = "within" if result.rule.kind not in ("p_value", "least") else "not below"
    side = "entirely within" if result.rule.needs == "difference" else side
    return f"{_describe_number(result)}, {side} {_name_limit(result)}"


def _describe_beyond(result: CheckResult) -> str:
    """A number beyond its limit, and what proves it."""
    kind = result.rule.kind
    if kind == "dropped":
        return _describe_dropped_rows(result, "above")
    if kind == "p_value":
        return f"{_describe_number(result)}, below {_name_limit(result)}"
    if result.rule.needs == "difference":
        return f"{_describe_number(result)}, entirely above {_name_limit(result)}"
    metric = find_metric(result.rule.metric)
    proof = "" if metric is not None and metric.overall else f", and the verdict is miscalibrated ({_format_p(result)})"
    return f"{_exceed(result)}; {_describe_end(result)}{proof}"


def _describe_infinite(result: CheckResult) -> str:
    return f"{_name_number(result)} is infinite, beyond {_name_limit(result)}"


def _describe_not_finite(result: CheckResult) -> str:
    return f"{_name_number(result)} is not a finite number"


def _describe_cells(result: CheckResult) -> str:
    return f"{_describe_number(result)}, and so is {_name_limit(result)}"


def _describe_straddling(result: CheckResult) -> str:
    if result.rule.needs == "difference":
        return f"{_describe_number(result)}, and the interval includes {_name_limit(result)}"
    return f"{_exceed(result)}, but {_describe_end(result)}, within the limit"


def _describe_unproven(result: CheckResult) -> str:
    verdict = f"but the verdict is not miscalibrated ({_compare_p(result)})"
    if result.rule.needs == "difference":
        return f"{_describe_number(result)}, entirely above {_name_limit(result)}, {verdict}"
    return f"{_exceed(result)}, {verdict}"


def _describe_few_resamples(result: CheckResult) -> str:
    details, draws, needed = result.details, result.details.draws or 0, result.details.needed or 0
    if result.rule.kind == "p_value":
        smallest = min(details.adjusted / (draws + 1), 1.0)
        return (
            f"{_describe_number(result)}, but {plural(draws, 'null draw')} cannot give less than {smallest:.4g}; at "
            f"least {needed:,} are needed to fall below {_name_limit(result)}"
        )
    interval = f"the {_format_confidence(result)} CI of {result.rule.metric}"
    return f"{interval} was computed with {plural(draws, 'resample')}; at least {needed:,} are needed"


def _describe_unreachable(result: CheckResult) -> str:
    unit = _find_unit(result)
    return f"{result.rule.metric} is a {unit.name} of at most {unit.top:g}, so {_name_limit(result)} has no effect"


def _describe_no_model(result: CheckResult) -> str:
    return f"no model matches {result.rule.model!r}; the models are {_list_names(result.details.names)}"


def _describe_no_segment(result: CheckResult) -> str:
    near = result.details.nearest
    text = f"no segment matches {result.rule.segment!r}; the segments are {_list_names(result.details.names)}"
    return text if near is None else f"{text}. Did you mean {near!r}?"


def _describe_no_metric(result: CheckResult) -> str:
    if result.segment is not None:
        return f"{result.rule.metric} was not computed for this segment"
    return f"{result.rule.metric} was not computed; computed metrics: {', '.join(result.details.names) or 'none'}"


def _describe_no_interval(result: CheckResult) -> str:
    if result.observed is not None:
        return f"{_exceed(result)}, but there is no confidence interval to prove it"
    return f"{result.rule.metric} has no confidence interval; evaluate with {option('resamples=1000')}"


def _describe_all_dropped(result: CheckResult) -> str:
    row_counts = result.details.row_counts
    why = "" if row_counts is None else f": {describe_reasons(row_counts.dropped)}"
    return f"all rows of this segment were dropped{why}"


REASONS: dict[Cause, Callable[[CheckResult], str]] = {
    Cause.CONSISTENT: _describe_consistent,
    Cause.WEAK_SIGN: partial(_describe_consistent, sign="weak evidence of miscalibration{tolerance}"),
    Cause.TOLERANCE_UNPROVEN: _describe_tolerance,
    Cause.MISCALIBRATED: _describe_miscalibrated,
    Cause.UNDERPOWERED: _describe_underpowered,
    Cause.TOLERANCE_OF_ALL: lambda result: (
        "the tolerance reaches from every prediction to 0 and to 1, so no miscalibration beyond it could be found"
    ),
    Cause.CERTAIN: lambda result: "every prediction is exactly 0 or 1, so no odds ratio can be detected",
    Cause.NO_VERDICT: lambda result: "there is no verdict",
    Cause.WITHIN_LIMIT: _describe_within,
    Cause.ABOVE_LIMIT: _describe_beyond,
    Cause.BELOW_LIMIT: _describe_beyond,
    Cause.INFINITE: _describe_infinite,
    Cause.NOT_FINITE: _describe_not_finite,
    Cause.CELLS_STRADDLE: _describe_cells,
    Cause.INTERVAL_STRADDLES: _describe_straddling,
    Cause.UNPROVEN: _describe_unproven,
    Cause.TOO_FEW_RESAMPLES: _describe_few_resamples,
    Cause.UNREACHABLE_LIMIT: _describe_unreachable,
    Cause.NO_MODEL: _describe_no_model,
    Cause.NO_SEGMENT: _describe_no_segment,
    Cause.NO_METRIC: _describe_no_metric,
    Cause.NO_NULL: lambda result: (
        f"{result.rule.metric} has no null distribution; evaluate with {option('null_draws=1000')}"
    ),
    Cause.NO_INTERVAL: _describe_no_interval,
    Cause.NO_FINITE_INTERVAL: lambda result: f"{_exceed(result)}, but its confidence interval has no finite end",
    Cause.NO_BASELINE: lambda result: (
        f"{result.rule.metric} was not compared with a baseline; `compare` gives the difference"
    ),
    Cause.MIN_ROWS: lambda result: f"{plural(result.n or 0, 'row')}, fewer than the {result.rule.min_rows:,} required",
    Cause.OUT_OF_SCOPE: lambda result: "no prediction of this segment is in scope",
    Cause.ALL_DROPPED: _describe_all_dropped,
}


# ---- the numbers of a check ------------------------------------------------------------------------------------------


def _name_number(result: CheckResult) -> str:
    """What is held against the limit."""
    details, kind, name = result.details, result.rule.kind, result.rule.metric
    if kind == "upper":
        return f"the upper end of the {_format_confidence(result)} CI of {name}"
    if kind == "excess":
        drawn = "" if details.draws is None else f" ({plural(details.draws, 'null draw')})"
        return f"{name} minus its null mean{drawn}"
    if kind == "p_value":
        adjusted = f", adjusted for {details.adjusted:,} {_name_groups(result)}," * (details.adjusted > 1)
        return f"the p-value of {name}{adjusted}"
    if result.rule.needs != "difference":
        return name
    metric = find_metric(name)
    if metric is not None and metric.bad == "both":
        return f"the distance of {name} from {metric.best:g} minus the baseline's"
    if metric is not None and metric.bad == "low":
        return f"the baseline's {name} minus the model's"
    return f"{name} minus the baseline's"


def _describe_number(result: CheckResult) -> str:
    """What is held against the limit, and its value."""
    details, observed = result.details, result.observed or 0.0
    text = f"{_name_number(result)} is {_write_value(result, observed)}"
    if details.low is None or details.high is None:
        return text
    low, high = _write_value(result, details.low), _write_value(result, details.high)
    if result.rule.needs == "difference":
        return f"{text} ({_format_confidence(result)} CI {low} to {high})"
    return f"{_name_number(result)} is between {low} and {high}, as scores are grouped into cells"


def _describe_dropped_rows(result: CheckResult, side: str) -> str:
    """The dropped rows and their share, and why they were dropped."""
    row_counts = result.details.row_counts
    share = f"a share of {_write_value(result, result.observed or 0.0)}, {side} {_name_limit(result)}"
    if row_counts is None:
        return f"dropped rows are {share}"
    verb = "was" if row_counts.n_dropped == 1 else "were"
    why = f": {describe_dropped(row_counts)}" if row_counts.dropped else ""
    return f"{row_counts.n_dropped:,} of {plural(row_counts.read, 'row')} {verb} dropped ({share}){why}"


def _exceed(result: CheckResult) -> str:
    """That a number is beyond its limit."""
    side = "below" if result.rule.kind == "least" else "above"
    return f"{_describe_number(result)}, {side} {_name_limit(result)}"


def _describe_end(result: CheckResult) -> str:
    """Where the confidence interval of the metric starts, or ends."""
    kind, end = result.rule.kind, _write_value(result, result.details.end or 0.0)
    interval = "the interval" if kind == "upper" else f"its {_format_confidence(result)} CI"
    return f"{interval} {'ends' if kind == 'least' else 'starts'} at {end}"


def _format_confidence(result: CheckResult) -> str:
    return format_confidence(1 - (result.details.confidence or 0.0))


def _format_p(result: CheckResult) -> str:
    """The p-value of the verdict, and what it is adjusted for."""
    details = result.details
    if details.p_value is None:
        return "no p-value"
    adjusted = f", Holm-adjusted for {details.groups:,} {_name_groups(result)}" * (details.groups > 1)
    return f"{format_p_value(details.p_value)}{adjusted}"


def _compare_p(result: CheckResult) -> str:
    """The p-value of a verdict that does not reject."""
    return f"{_format_p(result)}, above {result.rule.significance:g}"


def _name_groups(result: CheckResult) -> str:
    return "classes" if result.rule.multiclass == "classwise" else "segments"


def _find_unit(result: CheckResult) -> Unit:
    return result.rule.unit if result.details.unit is None else result.details.unit


def _name_limit(result: CheckResult) -> str:
    return f"the limit of {_format_limit(result.rule, _find_unit(result))}"


def _format_limit(rule: Rule, unit: Unit) -> str:
    return f"{rule.limit:.10g}{_find_symbol(unit)}"


def _find_symbol(unit: Unit) -> str:
    return "%" if unit.symbol.strip() == "%" else unit.symbol


def _write_value(result: CheckResult, value: float) -> str:
    """A value with its unit, in as many digits as it takes to see on which side of the limit it lies."""
    unit, limit = _find_unit(result), math.nan if result.rule.limit is None else result.rule.limit
    digits, form = {"p_value": (2, "g"), "dropped": (3, "g")}.get(result.rule.kind, (unit.digits, "f"))
    side = exceeds(value, limit) - exceeds(limit, value)
    while digits < 15 and side and _find_side(float(f"{value:.{digits}{form}}"), limit) != side:
        digits += 1
    return f"{value:.{digits}{form}}{_find_symbol(unit)}"


def _find_side(value: float, limit: float) -> int:
    return (value > limit) - (value < limit)


def _list_names(names: Sequence[str], most: int = 5) -> str:
    return (", ".join(map(repr, names[:most])) or "none") + ", ..." * (len(names) > most)


# ---- decisions -------------------------------------------------------------------------------------------------------


def summarize_decision(decision: Decision) -> str:
    """Count the checks by status."""
    allowed = sum(decision.results.allowed)
    numbers = {status: decision.count(status) for status in WORST_FIRST}
    numbers[CheckStatus.PASS] -= allowed
    counts = [f"{number:,} {CHECK_OUTCOMES[status]}" for status, number in numbers.items() if number]
    if allowed:
        counts.append(f"{allowed:,} inconclusive but allowed")
    return f"{plural(len(decision.results), 'check')}: {', '.join(counts)}"


def advise_decision(decision: Decision) -> list[str]:
    """Return what to do about an inconclusive decision, on the command line."""
    if decision.status != CheckStatus.INCONCLUSIVE:
        return []
    hints = {"certain": CERTAIN_HINT, "unproven": UNPROVEN_HINT, "allowable": ALLOW_HINT}
    table = decision.results
    kinds = {kind: i for i, kind in enumerate(zip(table.status, table.cause, strict=True))}
    found = [table[i] for i in kinds.values()]
    return [text for name, text in hints.items() if any(getattr(result, name) for result in found)]


def label_place(result: CheckResult) -> str:
    """Name the model, and the segment in brackets."""
    return result.model if result.segment is None else f"{result.model} [{result.segment}]"


def decision_text(decision: Decision, most: int) -> str:
    """Format a decision as a table for a Python prompt, worst first."""
    results = decision.results
    cells = results.cells(("status", "model", "segment", "n", "reason"), results.order()[:most])
    clipped = cells | {name: [_clip(cell) for cell in cells[name]] for name in ("model", "segment")}
    columns = [TextColumn("", column, left=name != "n") for name, column in clipped.items()]
    title = f"{decision.status.upper()} ({decision.summary})"
    lines = [title, *Terminal(width=100_000).table(columns).splitlines()[1:]]
    if len(results) > most:
        lines.append(f"  {_count_rest(decision, most)}")
    return "\n".join([*lines, *list_notes(decision.notes)])


def decision_html(decision: Decision, most: int) -> str:
    """Format a decision as HTML for a notebook."""
    results = decision.results
    table = results.html(SHOWN, results.order()[:most])
    rest = f"<p>{_count_rest(decision, most)}.</p>" if len(results) > most else ""
    notes = "".join(f"<p>{prose_html(note)}</p>" for note in list_notes(decision.notes))
    return f"<div><p><b>{decision.status.upper()}</b> ({decision.summary})</p>{table}{rest}{notes}</div>"


def decision_markdown(decision: Decision, most: int) -> str:
    """Format a decision as Markdown for a pull request."""
    results = decision.results
    lines = [f"## Calibration gate: {decision.status.upper()}", "", f"{decision.summary}.", ""]
    heads = " | ".join(results.heading(name) for name in SHOWN)
    lines += [f"| {heads} |", "| --- | --- | --- | ---: | --- | --- |"]
    cells = results.cells(SHOWN, results.order()[:most])
    for row in zip(*cells.values(), strict=True):
        status, model, segment, *others = map(_escape_markdown, row)
        names = (f"<code>{name}</code>" if name else "" for name in (model, segment))
        lines.append(f"| {' | '.join([f'**{status}**', *names, *others])} |")
    if len(results) > most:
        lines += ["", f"{_count_rest(decision, most)}."]
    for note in list_notes(decision.notes):
        lines += ["", _escape_markdown(note)]
    return "\n".join(lines) + "\n"


def decision_junit(decision: Decision) -> str:
    """Format a decision as JUnit XML: a suite a model, a case a check; of many checks, the worst that did not pass."""
    table = decision.results
    root = ElementTree.Element("testsuites", {"name": "truecal", **_count_cases(table.status)})
    shown = list(range(len(table)))
    if len(table) > MOST_CASES:
        shown = [i for i in table.order() if table.status[i] != CheckStatus.PASS][:MOST_CASES]
    for model in dict.fromkeys(table.model):
        own = [status for name, status in zip(table.model, table.status, strict=True) if name == model]
        suite = ElementTree.SubElement(root, "testsuite", {"name": printable(model), **_count_cases(own)})
        listed = [i for i in shown if table.model[i] == model]
        told = [("note", printable(describe_note(note))) for note in decision.notes]
        if len(listed) < len(own):
            told.append(("not listed", f"{len(own) - len(listed):,} of {plural(len(own), 'check')}"))
        properties = ElementTree.SubElement(suite, "properties") if told else suite
        for name, value in told:
            ElementTree.SubElement(properties, "property", name=name, value=value)
        for result in map(table.__getitem__, listed):
            segment = "" if result.segment is None else f" [{result.segment}]"
            name = printable(f"{result.rule}{segment}")
            case = ElementTree.SubElement(suite, "testcase", classname=printable(model), name=name, time="0")
            if result.status == CheckStatus.PASS:
                continue
            kind = "failure" if result.status == CheckStatus.FAIL else "error"
            reason = printable(result.reason)
            ElementTree.SubElement(case, kind, type=str(result.status), message=reason).text = reason
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def decision_github(decision: Decision, most: int) -> str:
    """Format a decision as commands to GitHub's runner: an error for each check that failed or is inconclusive."""
    lines = []
    for result in decision.worst(most):
        if result.status != CheckStatus.PASS:
            title = _escape_command(printable(f"truecal: {label_place(result)}"), more=":,")
            lines.append(f"::error title={title}::{_escape_command(printable(result.reason))}\n")
    return "".join(lines)


def _count_rest(decision: Decision, shown: int) -> str:
    """The results beyond those shown, counted."""
    rest = [decision.results.status[i] for i in decision.results.order()[shown:]]
    counts = ", ".join(f"{rest.count(status):,} {CHECK_OUTCOMES[status]}" for status in WORST_FIRST if status in rest)
    return f"... and {len(rest):,} more: {counts}"


def _count_cases(statuses: Sequence[CheckStatus]) -> dict[str, str]:
    return {
        "tests": str(len(statuses)),
        "failures": str(statuses.count(CheckStatus.FAIL)),
        "errors": str(statuses.count(CheckStatus.INCONCLUSIVE)),
        "skipped": "0",
        "time": "0",
    }


def _clip(text: str, most: int = 40) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _escape_command(text: str, more: str = "") -> str:
    """Text within a command to GitHub's runner, where % begins a character's number."""
    return "".join(f"%{ord(c):02X}" if c in f"%\r\n{more}" else c for c in text)


def _escape_markdown(text: str) -> str:
    """Text that means itself inside a cell of a table: signs that Markdown or HTML could read become character
    references. An underscore inside a word and a colon after one mean themselves."""
    plain = re.compile(r"""[^\W_]|[^\x00-\x7f]|[ ,;%()=+/'"!?{}-]|(?<=[^\W_])_(?=[^\W_])|:(?= |$)|(?<!www)\.""", re.I)
    return "".join(sign if plain.match(text, at) else f"&#{ord(sign)};" for at, sign in enumerate(text))
