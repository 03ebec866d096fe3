"""Sentences and labels about segments, classes, models and the comparison of two models."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from truecal._text import lower_first, plural, printable
from truecal.data import Floats
from truecal.metrics import Adjustment, Direction, Measure, Tolerance, format_name
from truecal.verdict import FACTOR, Status
from truecal.words._format import (
    DASH,
    NAMED,
    explain_metrics,
    format_confidence,
    format_p_value,
    format_ratio,
    format_ratio_ci,
    join_words,
)
from truecal.words._verdict import format_counts, label_outcome

if TYPE_CHECKING:  # sentences on segments need no classes, models and comparisons
    from truecal.results import ClassResults, ClassTable, Comparison, GroupTable, Models, Result, VerdictTable

STATUSES: tuple[str, ...] = tuple(Status)
ADJUSTMENTS: dict[Adjustment, str] = {
    "holm": "Holm-adjusted p",
    "bh": "p adjusted by Benjamini and Hochberg",
    None: "p not adjusted",
}

GLOSSES = {
    Direction.OVERCONFIDENT: " (high predictions too high, low ones too low)",
    Direction.UNDERCONFIDENT: " (high predictions too low, low ones too high)",
}


def label_direction(direction: Direction | None) -> str:
    """Return what a miscalibrated model does, as it follows its name and a colon.

    Examples
    --------
    >>> label_direction(Direction.UNDER), label_direction(Direction.UNCLEAR)
    ('under-predicts', 'miscalibrated in an unclear direction')
    >>> label_direction(Direction.OVERCONFIDENT)
    'overconfident (high predictions too high, low ones too low)'
    """
    if direction in (None, Direction.UNCLEAR):
        return "miscalibrated in an unclear direction"
    return f"{direction}{GLOSSES.get(direction, '')}"


def count_statuses(statuses: Sequence[str], known: Sequence[str] = STATUSES) -> str:
    """Return how often each status occurs.

    Examples
    --------
    >>> count_statuses(["consistent", "miscalibrated", "consistent"])
    '1 miscalibrated, 2 consistent'
    """
    return ", ".join(f"{list(statuses).count(status):,} {status}" for status in known if status in statuses)


def describe_row(table: VerdictTable, row: int) -> str:
    """Return the counts of a row, with O/E and its interval.

    The confidence is that of all intervals of the table together.
    """
    counts = format_counts(table, float(table.observed[row]), float(table.expected[row]))
    if not table.expected[row] > 0:
        return counts
    ratio, low, high = (float(column[row]) for column in (table.ratio, table.ratio_low, table.ratio_high))
    return f"{counts}, {format_ratio_ci(ratio, low, high, format_confidence(table.significance))}"


def describe_inconclusive(detectable: Floats, tolerance: Tolerance | None, noun: str) -> Iterator[str]:
    """Yield a sentence on the rows that are inconclusive, if any, with their minimum detectable odds ratios."""
    if not len(detectable):
        return
    finite = detectable[np.isfinite(detectable)]
    beyond = "" if tolerance is None else " beyond the tolerance"
    verb = "is" if len(detectable) == 1 else "are"
    ends = [f"{end:.3g}" for end in (finite.min(initial=math.inf), finite.max(initial=0.0))]
    if not len(finite):
        reach = "no odds ratio is detectable in both directions"
    else:
        span = ends[0] if ends[0] == ends[1] else f"{ends[0]}{DASH}{ends[1]}"
        some = f" in {len(finite):,} of them, none in the others" * (len(finite) < len(detectable))
        reach = f"minimum detectable odds ratio{beyond} {span} (80% power){some}; {FACTOR:g} is required"
    yield f"{plural(len(detectable), noun)} {verb} inconclusive: {reach}."


# ---- segments ------------------------------------------------------------------------------------------------------


def summarize_segments(table: GroupTable) -> str:
    """Return how many segments are miscalibrated, consistent and inconclusive."""
    statuses = table.status
    others = count_statuses([status for status in statuses if status != "miscalibrated"])
    return f"{_count_miscalibrated(table, 'segment')}{f', {others}' * bool(others)}."


def _count_miscalibrated(table: VerdictTable, noun: str) -> str:
    """Return how many rows are miscalibrated, and by which p-value."""
    count, total = table.status.count("miscalibrated"), len(table)
    beyond = "" if table.tolerance is None else " beyond the tolerance"
    adjusted = f" ({ADJUSTMENTS[table.adjust]})" if total > 1 else ""
    if not count:
        return f"No miscalibration found{beyond} in {plural(total, noun)}{adjusted}"
    verb = "is" if count == 1 else "are"
    return f"{count:,} of {plural(total, noun)} {verb} miscalibrated{beyond}{adjusted}"


def describe_segments(table: GroupTable) -> tuple[str, ...]:
    """Return how many segments are miscalibrated, the worst three, and what is detectable in inconclusive ones."""
    statuses, names, directions = table.status, table.names, table.direction
    worst = [row for row in table.order().tolist() if statuses[row] == "miscalibrated"]
    lines = [f"{_count_miscalibrated(table, 'segment')}.{' The three worst:' * (len(worst) > NAMED)}"]
    for row in worst[:NAMED]:
        lines.append(f"{printable(names[row])}: {label_direction(directions[row])}, {describe_row(table, row)}.")
    inconclusive = np.array([status == "inconclusive" for status in statuses], dtype=np.bool_)
    return (*lines, *describe_inconclusive(table.detectable[inconclusive], table.tolerance, "segment"))


def count_segments(table: GroupTable, worst: int = 20) -> str:
    """Return how many segments a plot shows, in which order, and how many of all are miscalibrated."""
    shown = f"{worst:,} of " if worst < len(table) else ""
    alarms = f"{int(table.alarm.sum()):,} miscalibrated"
    return f"{shown}{plural(len(table), 'segment')}, the smallest p-value first: {alarms}"


def describe_worst(name: str, ratio: float, direction: Direction | None) -> str:
    """Return a group's name with how it misses, for a list of alarms."""
    if direction in (None, Direction.UNCLEAR):
        return name
    size = f", O/E {format_ratio(float(ratio))}" if math.isfinite(ratio) else ""
    return f"{name}: {direction}{size if direction in (Direction.UNDER, Direction.OVER) else ''}"


def explain_columns(table: VerdictTable, noun: str) -> list[tuple[str, str]]:
    """Return what the headings of a table of segments or periods mean, for those who read it on a terminal."""
    exact = "" if np.any(table.design_effect != 1) else "exact "
    simultaneous = f", simultaneous over all {noun}s" if _simultaneous(table) else ""
    beyond = "" if table.tolerance is None else ", beyond the tolerance,"
    adjusted = {"holm": f", adjusted for all {noun}s (Holm)", "bh": f", adjusted for all {noun}s (BH)", None: ""}
    return [
        (
            table.heading("ratio_ci"),
            f"observed over expected {label_outcome(table.outcome)}, with {exact}confidence interval{simultaneous}",
        ),
        (table.heading("p_adjusted"), f"p-value of all component tests together{adjusted[table.adjust]}"),
        (table.heading("detectable"), f"minimum odds ratio{beyond} that is detected with 80% power"),
        (table.heading("value"), table.metric.meaning),
        (table.heading("bounds"), "lowest and highest value possible if scores are known by cell only"),
        (table.heading("null_mean"), f"mean of {table.metric.name} for calibrated models with the same scores"),
    ]


def explain_intervals(table: VerdictTable, noun: str) -> tuple[str, ...]:
    """Return whether the confidence intervals of a table of segments or periods are simultaneous, below it."""
    return (f"Confidence intervals are simultaneous over all {noun}s.",) if _simultaneous(table) else ()


def _simultaneous(table: VerdictTable) -> bool:
    return table.adjust is not None and len(table) > 1


# ---- classes -------------------------------------------------------------------------------------------------------


def count_classes(table: ClassTable) -> str:
    """Return how many classes are miscalibrated."""
    count = table.status.count(Status.MISCALIBRATED)
    total = f"{len(table):,} {'class' if len(table) == 1 else 'classes'}"
    if not count:
        return f"No miscalibration found in {total}"
    return f"{count:,} of {total} {'is' if count == 1 else 'are'} miscalibrated"


def summarize_classes(table: ClassTable) -> str:
    """Return how many classes are miscalibrated, and the worst of them."""
    statuses, names = table.status, table.names
    worst = [printable(names[row]) for row in table.order().tolist() if statuses[row] == "miscalibrated"]
    named = f": {', '.join(worst[:NAMED])}{', ...' * (len(worst) > NAMED)}" if worst else ""
    return f"{count_classes(table)}, each against the rest (Holm-adjusted p){named}."


def summarize_class_results(found: ClassResults) -> str:
    """Return the status of all classes together and its p-value."""
    status = "No miscalibration found" if found.status == "consistent" else found.status.capitalize()
    return f"{status} over all classes and the top label ({format_p_value(found.p_value)})."


def describe_class_results(found: ClassResults) -> tuple[str, ...]:
    """Return the verdict on all classes together, on the top label, and on each class against the rest."""
    top = found.top.verdict
    head, *rest = ("",) if top is None else top.sentences()
    about_top = () if top is None else (f"Top label: {lower_first(head)}", *rest)
    return (summarize_class_results(found), *about_top, found.table.summary)


# ---- models --------------------------------------------------------------------------------------------------------


def summarize_models(named: Mapping[str, Result] | Models) -> str:
    """Return how many models are miscalibrated, consistent and inconclusive.

    Examples
    --------
    >>> summarize_models({})
    'No models.'
    """
    if not named:
        return "No models."
    statuses = [
        "without a verdict" if result.verdict is None else str(result.verdict.status) for result in named.values()
    ]
    counts = [(statuses.count(status), status) for status in (*STATUSES, "without a verdict") if status in statuses]
    if len(counts) == 1:
        every = {1: "The model is", 2: "Both models are"}.get(len(named), f"All {len(named):,} models are")
        return f"{every} {counts[0][1]}."
    (first, status), *rest = counts
    others = "".join(f", {count:,} {text}" for count, text in rest)
    return f"{first:,} of {plural(len(named), 'model')} {'is' if first == 1 else 'are'} {status}{others}."


# ---- two models ----------------------------------------------------------------------------------------------------


def summarize_comparison(table: Comparison) -> str:
    """Return what is compared."""
    first, second = map(printable, table.models)
    return f"{first} minus {second} on the same rows, with {table.heading('interval')}."


def format_difference(metric: Measure, low: float, high: float) -> str:
    """Return the ends of an interval of differences, with their unit once; nothing if they are undefined.

    Examples
    --------
    >>> from truecal.metrics import METRICS
    >>> format_difference(METRICS["brier"], -0.1, 0.25)
    '-0.10000 to 0.25000'
    """
    if math.isnan(low) or math.isnan(high):
        return ""
    return f"{metric.format(low).removesuffix(metric.unit.symbol)} to {metric.format(high)}"


def label_better(table: Comparison, row: int) -> str:
    """Return which model is better in a metric, in short."""
    from truecal.results import Better, Undecided

    better, undecided = table.better[row], table.undecided[row]
    if better is not None:
        return f"{printable(table.models[better is Better.SECOND])} is better"
    return "not comparable" if undecided is Undecided.UNDEFINED else "no difference shown"


def describe_comparison(table: Comparison) -> tuple[str, ...]:
    """Return which model is better calibrated, which has the better log loss, and whether these disagree.

    Calibration is that of the first metric of calibration; in the place of the log loss stands the first metric that
    is about more than calibration, if there is none.
    """
    calibration = [name for name in table.metric if not table.metrics[name].overall][:1]
    overall = [name for name in table.metric if table.metrics[name].overall]
    chosen = calibration + sorted(overall, key=lambda name: name != "log_loss")[:1]
    pairs = zip(table.models, table.statuses, strict=False)
    statuses = ", ".join(f"{printable(model)} is {status}" for model, status in pairs)
    lines = [f"{statuses}."] if statuses else []
    lines += [_describe_difference(table, name) for name in chosen]
    better = [printable(model) for name in chosen if (model := table.find_better(name)) is not None]
    if len(set(better)) == 2:
        lines.append(
            f"These disagree: {better[0]} is better calibrated, {better[1]} is more informative. "
            f"Recalibrating {better[1]} may give both."
        )
    return tuple(lines)


def _describe_difference(table: Comparison, name: str) -> str:
    """Return which model is better in a metric, with both values."""
    row, metric, title = table.metric.index(name), table.metrics[name], format_name(name)
    values = [metric.format(column[row].item()) for column in (table.first, table.second)]
    better = table.find_better(name)
    if better is None:
        what = title if metric.overall else f"calibration ({title})"
        return f"No difference in {what} is shown: {values[0]} and {values[1]}."
    what = f"has the better {title}:" if metric.overall else f"is better calibrated: {title}"
    ordered = values if better == table.models[0] else values[::-1]
    return f"{printable(better)} {what} {ordered[0]} against {ordered[1]}."


def explain_comparison(table: Comparison) -> list[tuple[str, str]]:
    """Return what the headings of a comparison mean, for those who read it on a terminal."""
    first, second = map(printable, table.models)
    best = sorted({f"{metric.best:g}" for metric in table.metrics.values() if metric.bad == "both"})
    distance = f"; of distances from {join_words(best)} if that is the best value" if best else ""
    inverse = ", unless higher is better" * any(metric.bad == "low" for metric in table.metrics.values())
    count = plural(int(table.resamples[0]), "resample")
    return [
        *explain_metrics(table.metrics),
        ("difference", f"{first} minus {second}{distance}. Below 0, {first} is better{inverse}"),
        (table.heading("interval"), f"confidence interval of the expected difference ({count})"),
    ]
