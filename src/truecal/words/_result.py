"""Sentences and labels about a result: its verdict, its metrics, and what they are if the model is calibrated."""

from __future__ import annotations

import math

from truecal._text import format_percent, plural
from truecal.inference import NullDistribution
from truecal.metrics import LTCE, Measure, Metric, format_name
from truecal.results import BinTable, Region, Result
from truecal.verdict import Status
from truecal.words._bands import label_bands
from truecal.words._format import DASH, explain_metrics, format_metric, format_p_value, format_ratio_cell
from truecal.words._verdict import (
    describe_claim,
    describe_evidence,
    describe_reach,
    describe_total_alone,
    format_status,
    format_total,
    label_verdict,
    summarize_verdict,
)

SWAPPED = "Higher predictions go with fewer positives: check whether labels or scores are swapped"
TOO_FEW = "too few rows"
NO_VERDICT = "No verdict"


def label_result(result: Result) -> str:
    """Return the verdict in short, for a title."""
    return NO_VERDICT if result.verdict is None else label_verdict(result.verdict)


def summarize_result(result: Result) -> str:
    """Return the verdict in one sentence."""
    return f"{NO_VERDICT}." if result.verdict is None else summarize_verdict(result.verdict)


def describe_result(result: Result, advice: str | None = None) -> tuple[str, ...]:
    """Return the verdict in sentences: the summary, the evidence, and what to do or what was detectable."""
    return (summarize_result(result), *describe_support(result, advice))


def describe_support(result: Result, advice: str | None = None) -> tuple[str, ...]:
    """Return the sentences that follow the summary; an `advice` takes the place of the one to recalibrate."""
    if result.verdict is None:
        return ()
    if advice is None and result.outcome == "positive" and result.values.get("slope", 1.0) < 0:
        advice = SWAPPED
    return describe_evidence(result.verdict, advice)


def describe_head(result: Result) -> str:
    """Return what stands beside the status in capitals: the claim, the numbers and the p-value."""
    verdict = result.verdict
    if verdict is None:
        return ""
    beyond = "" if verdict.tolerance is None else " beyond the tolerance"
    p = f"{format_p_value(verdict.p_value)}{beyond}"
    if verdict.status != Status.MISCALIBRATED:
        none = "no miscalibration found: " if verdict.status == Status.CONSISTENT else ""
        return f"{none}{format_total(verdict)}, {p}"
    claim, numbers = describe_claim(verdict)
    return f"{claim}{f': {numbers}' * bool(numbers)}, {p}" if claim else p


def describe_notes(result: Result) -> tuple[str, ...]:
    """Return the sentences that the first screen shows below the status: which odds ratio was detectable, or advice.

    What the status line has already is left out.
    """
    verdict = result.verdict
    if verdict is None:
        return ()
    head = describe_head(result)
    lines = [
        line
        for line in describe_support(result)
        if format_total(verdict) not in head or format_total(verdict) not in line
    ]
    if verdict.status == Status.MISCALIBRATED:
        return tuple(lines)
    alone = describe_total_alone(verdict) if verdict.status == Status.CONSISTENT else ()
    return (describe_reach(verdict), *alone, *lines)


def describe_region(region: Region) -> str:
    """Return which predictions were evaluated."""
    if region.threshold is not None:
        return f"scores of at least {region.threshold:g}"
    top, total = region.top or 0, region.total or 0.0
    count = f"{top:,}" if isinstance(top, int) else format_percent(top)
    return f"the top {count} of {total:,.0f} predictions"


def describe_source(result: Result) -> str:
    """Return how many predictions and positives there are."""
    region = "" if result.region is None else f" ({describe_region(result.region)})"
    share = format_percent(result.prevalence)
    if not result.sampling.plain:
        return f"{plural(result.n, 'prediction')}{region}, {share} {result.outcome}"
    noun = "correct" if result.outcome == "correct" else f"positive{'s' * (result.positives != 1)}"
    return f"{plural(result.n, 'prediction')}{region}, {result.positives:,} {noun} ({share})"


def describe_rejected(result: Result) -> str:
    """Return the share of predictions that Local TCE rejects, beside that of a calibrated model, and the p-value."""
    rejected, null = format_rejected(result), format_null_mean(result)
    p = "" if result.verdict is None else f"{format_p_value(result.verdict.p_value)} (combined component tests)"
    if rejected == TOO_FEW:
        return f"There are too few rows to estimate how many predictions are rejected; {p}."
    return f"{rejected} of predictions are rejected ({null} if calibrated); {p}."


def format_rejected(result: Result) -> str:
    """Return the share of predictions that Local TCE rejects; of few rows, less than one is not estimated."""
    if result.verdict is None:
        return ""
    return TOO_FEW if result.verdict.few else format_metric(LTCE, result.verdict.local.value)


def format_null_mean(result: Result) -> str:
    """Return the share of predictions that Local TCE rejects if the model is calibrated."""
    null = result.nulls.get("ltce")
    return format_percent(result.significance) if null is None else format_metric(LTCE, null.mean)


def format_metric_span(metric: Measure, low: float, high: float) -> str:
    """Return two values of a metric, with their unit once."""
    first = metric.format(low)
    first = first.removesuffix(metric.unit.symbol) if metric.unit.symbol else first
    return f"{first}{DASH}{metric.format(high)}"


def format_interval(result: Result, name: str) -> str:
    """Return the confidence interval of a metric."""
    span, metric = result.intervals[name], result.metrics[name]
    return f"{100 * span.confidence:g}% CI {format_metric_span(metric, span.low, span.high)}"


def format_null_p(null: NullDistribution) -> str:
    """Return the p-value under calibration; the smallest that the draws allow is a bound."""
    if math.isnan(null.p_value):
        return "undefined"
    floor = 1 / (null.draws + 1)
    return f"\N{LESS-THAN OR EQUAL TO} {floor:.2g}" if null.p_value <= 1.000001 * floor else f"{null.p_value:.2g}"


def list_metrics(result: Result) -> list[str]:
    """Return each metric with its value, and its mean if the model is calibrated, for one line.

    Metrics without bins have no bias to speak of, and no mean is shown.
    """
    texts, named = [], False
    few = result.verdict is not None and result.verdict.few
    for name, metric in result.metrics.items():
        if few and metric.rejection is not None:
            texts.append(f"{format_name(name)}: {TOO_FEW}")
            continue
        more = []
        if name in result.bounds:
            more.append(f"{format_metric_span(metric, *result.bounds[name])} within cells")
        if result.separated(name):
            more.append("the scores separate the labels")
        elif name in result.nulls and isinstance(metric, Metric):
            more.append(f"{format_metric(metric, result.nulls[name].mean)}{' if calibrated' * (not named)}")
            named = True
        beside = f" ({', '.join(more)})" * bool(more)
        texts.append(f"{format_name(name)} {format_metric(metric, result.values[name])}{beside}")
    return texts


def describe_metric(result: Result, name: str) -> str:
    """Return what a metric measures and on which bins, its test if it is not the result's, and why it is infinite."""
    metric = result.metrics[name]
    test = metric.rejection
    own = test is not None and test.test_words != result.rejection.test_words
    words = f" ({test.test_words})" if test is not None and own else ""
    found = f"{metric.words}{words}; {metric.bins}" if metric.bins else metric.meaning
    return found if not result.separated(name) else f"{found}; infinite because the scores separate the labels"


def explain_value(result: Result, name: str) -> list[str]:
    """Return what is known of a value: its direction, bounds within cells, null distribution and interval."""
    metric, lines = result.metrics[name], []
    shared = metric.rejection is not None and metric.rejection.share_of == "predictions"
    if shared and result.values[name] > 0 and not result.weighted:  # the tables have no weights
        too_low, too_high = result.direction(name)
        lines.append(f"{100 * too_low:.2f}% too low, {100 * too_high:.2f}% too high")
    if name in result.bounds:
        lines.append(
            f"{format_metric_span(metric, *result.bounds[name])} within cells, wherever in its cell a score lies"
        )
    if name in result.nulls:
        null = result.nulls[name]
        span = format_metric_span(metric, null.low, null.high)
        p = "" if math.isnan(null.p_value) else f", p = {null.p_value:.2g}"
        lines.append(
            f"{metric.format(null.mean)} if calibrated (5{DASH}95%: {span}); excess {metric.format(null.excess)}{p}"
        )
    if name in result.intervals:
        lines.append(format_interval(result, name))
    return lines


def explain_result(result: Result) -> list[tuple[str, str]]:
    """Return what the metrics and the headings of their table mean."""
    terms = explain_metrics(result.metrics)
    if result.bounds:
        terms.append(
            (
                "within cells",
                "the lowest and highest value on these bins of cells, wherever in its cell a score lies; exact bins "
                "differ",
            )
        )
    if result.nulls:
        draws = plural(next(iter(result.nulls.values())).draws, "simulation")
        terms.append(("if calibrated", f"the mean of {draws}: labels simulated from the predictions"))
        terms.append(("p", "the share of simulations as extreme; two-sided for log loss, Brier score and net benefit"))
    if result.intervals:
        terms.append(("CI", "bootstrap confidence interval of the metric"))
    return terms


def explain_bins(table: BinTable) -> str:
    """Return what the columns of score windows refer to; nothing for other bins."""
    if not table.windows:
        return ""
    return (
        "Acceptance intervals (of the mean prediction) and p are for each bin alone; the rejected share is the mean "
        "over eight grids of overlapping bins, of which these are one."
    )


def describe_bands(result: Result) -> str:
    """Return the verdict and O/E of each score band, for readers who cannot see a plot."""
    verdict = result.verdict
    if verdict is None or not verdict.bands:
        return summarize_result(result)
    names = label_bands(verdict.bands, complete=verdict.complete)
    parts = [
        f"{name}: {format_ratio_cell(band.ratio, band.odds_ratio.ratio_low, band.odds_ratio.ratio_high)}"
        for name, band in zip(names, verdict.bands, strict=True)
        if band.expected > 0
    ]
    return f"{summarize_result(result)} O/E by score band: {'; '.join(parts)}."


def format_head(result: Result) -> str:
    """Return the status with its p-value; nothing without a verdict."""
    return "" if result.verdict is None else format_status(result.verdict)
