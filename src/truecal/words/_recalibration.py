"""Sentences about a recalibration: the map, its held-out validation, and what to check before it is applied."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from truecal._errors import option
from truecal._text import format_percent, plural, printable
from truecal.inference import Map
from truecal.results import (
    EffectTable,
    OffsetTable,
    Recalibration,
    RecalibrationStatus,
    Result,
    SegmentChange,
    Validation,
    ValidationMethod,
    ValidationTable,
    name_period,
)
from truecal.verdict import Status
from truecal.words._format import NAMED, format_p_value, format_ratio, format_ratio_ci
from truecal.words._notes import describe_note

EXAMPLES = np.array([0.01, 0.1, 0.5])  # predictions by which a map is illustrated
CLIPPED = "A contradicted prediction of exactly 0 or 1 has an infinite log loss; it counts as a probability of 1e-15."
STILL = (
    "The recalibrated predictions are still miscalibrated: look for groups of rows (`truecal slices`), try another "
    "kind of map, or retrain the model."
)
GROUPS = (
    "The model is miscalibrated, but one map for all rows is not shown to correct it: look for groups of rows "
    "(`truecal slices`) and fit an offset for each ({by})."
)
NO_SEGMENTS = "Segments were not evaluated: a map that helps overall may harm some of them."


def summarize_recalibration(found: Recalibration) -> str:
    """Summarize in one sentence whether a recalibration helps."""
    status = found.status
    if status == RecalibrationStatus.NOT_FITTED:
        label = "positive" if found.positives else "negative"
        return f"No map can be fitted, since every label is {label}: check the labels first."
    if found.validation is None:
        return "The map was not validated on held-out rows."
    return f"{label_recalibration(status)}: {_describe_loss(found, found.validation)}."


def label_recalibration(status: RecalibrationStatus) -> str:
    """Return the beginning of a sentence about a recalibration."""
    return {
        RecalibrationStatus.HELPS: "Recalibration helps",
        RecalibrationStatus.HARMS: "Recalibration harms",
        RecalibrationStatus.NOT_SHOWN: "Recalibration is not shown to help",
        RecalibrationStatus.NOT_NEEDED: "Recalibration is not needed",
        RecalibrationStatus.NOT_FITTED: "No map can be fitted",
        RecalibrationStatus.NOT_VALIDATED: "Not validated",
    }[status]


def describe_recalibration(found: Recalibration) -> tuple[str, ...]:
    """Describe the map, its held-out validation and the verdicts before and after."""
    sentences = [describe_map(found), summarize_recalibration(found)]
    validation = found.validation
    if validation is None or found.status == RecalibrationStatus.NOT_FITTED:
        return tuple(sentences)
    before, after = (_describe_verdict(result) for result in (validation.before, validation.after))
    idle = _is_idle(found, validation)
    sentences.append(
        f"Verdict: {after}." if idle else f"Verdict before: {before}; {_name_fold_maps(found) or 'after'}: {after}."
    )
    unresolved = validation.statuses[0] == Status.MISCALIBRATED and found.status == RecalibrationStatus.NOT_SHOWN
    if validation.statuses[1] == Status.MISCALIBRATED:
        sentences.append(STILL)
    elif unresolved:
        sentences.append(GROUPS.format(by=option("by")))
    if all(map(math.isfinite, validation.skill)):
        left = [format_percent(1 - share) for share in validation.skill]
        shares = left[1] if idle else f"before {left[0]}, {_name_fold_maps(found) or 'after'} {left[1]}"
        sentences.append(f"Log loss relative to a constant prediction, which has no skill: {shares}.")
    if any(math.isinf(result["log_loss"]) for result in (validation.before, validation.after)):
        sentences.append(CLIPPED)
    if validation.segments is not None:
        sentences.append(f"{summarize_validation_table(validation.segments)}.")
    elif found.kind != "none" and not unresolved:
        sentences.append(NO_SEGMENTS)
    return tuple(sentences)


def describe_map(found: Recalibration) -> str:
    """Describe a calibration map by its kind, its parameters and its effect on a few predictions."""
    one = found.map
    if one.kind == "none":
        text = f"Calibration map: {'no common map' if found.offsets.any() else 'none, predictions are unchanged'}."
    else:
        text = f"Calibration map ({one.kind}): {_describe_parameters(one)}."
        pairs = zip(EXAMPLES.tolist(), one.apply(EXAMPLES).tolist(), strict=True)
        examples = ", ".join(f"{format_percent(p)} becomes {format_percent(q)}" for p, q in pairs)
        text = f"{text} {examples}{' before segment offsets' if found.by else ''}."
    if not found.by:
        return text
    count = plural(len(found.segments), "segment")
    if found.offsets.any():
        return f"{text} Each of {count} has an offset of its own."
    return f"{text} No offset for any of {count}: no difference between them is significant."


def describe_recalibration_notes(found: Recalibration) -> tuple[str, ...]:
    """Describe what a user should check before a map is applied."""
    notes = list(map(describe_note, found.notes))
    if found.weighted:
        notes.append("the map and its validation describe the sample, without importance weights")
    change = found.error_change
    if change is not None:
        period = printable(name_period(change.period, change.every))
        notes.append(
            f"the error that the map leaves changes over time ({format_p_value(change.p_value)}): O/E "
            f"{format_ratio(change.ratio_before)} before {period}, {format_ratio(change.ratio_since)} since; fit the "
            "map to recent periods"
        )
    if found.contradicted:
        labels = "1 label contradicts a prediction" if found.contradicted == 1 else None
        labels = labels or f"{found.contradicted:,} labels contradict predictions"
        notes.append(f"{labels} of exactly 0 or 1, which no map of the odds changes")
    if found.is_constant:
        notes.append("higher predictions have fewer positives, so the map is a constant: are labels or scores swapped?")
    return tuple(notes)


def summarize_validation_table(table: ValidationTable) -> str:
    """Summarize how many segments are better, worse and miscalibrated."""
    better, worse = table.change.count(SegmentChange.BETTER), table.change.count(SegmentChange.WORSE)
    sentences = [
        f"Of {plural(len(table), 'segment')}, held-out log loss falls significantly in {better:,} and rises "
        f"significantly in {worse:,}{_name_some(table, table.change, SegmentChange.WORSE)}",
        f"Before: {_count_statuses(table.before)}; after: {_count_statuses(table.after)}",
    ]
    if table.common != table.after:
        named = _name_some(table, table.common, Status.MISCALIBRATED)
        sentences.append(
            f"With the common map alone: {table.common.count(Status.MISCALIBRATED):,} miscalibrated{named}"
        )
    return ". ".join(sentences)


def summarize_offset_table(table: OffsetTable) -> str:
    """Summarize what a table of offsets contains."""
    return f"Odds ratio of {plural(len(table), 'segment')} beyond the common map"


def summarize_effect_table(table: EffectTable) -> str:
    """Summarize what a table of metrics before and after contains."""
    return f"Held-out rows before and after recalibration, reductions with {format_percent(table.confidence)} CI"


def describe_method(validation: Validation) -> str:
    """Describe which rows were held out."""
    if validation.method == ValidationMethod.FORWARD:
        return f"forward validation, {plural(validation.parts, 'period')}"
    if validation.method == ValidationMethod.SEPARATE:
        return "separate rows" if validation.source is None else printable(validation.source)
    by = "" if validation.cluster is None else f" by `{printable(validation.cluster)}`"
    return f"{validation.parts}-fold cross-validation{by}"


def _describe_parameters(one: Map) -> str:
    """The parameters of a map, and how far they are shrunk."""
    if one.kind == "isotonic":
        return f"{plural(len(one.values), 'step')}{', averaged with a smooth map' if one.share < 1 else ''}"
    factor = math.exp(min(max(one.intercept, -700.0), 700.0))  # within the range of a double
    text = {
        "offset": f"all odds are multiplied by {factor:.3g}",
        "logistic": f"intercept {one.intercept:.3g} and slope {one.low:.3g} on the log-odds",
        "beta": f"intercept {one.intercept:.3g}, slopes {one.low:.3g} of log p and {one.high:.3g} of -log(1 - p)",
    }[one.kind]
    return f"{text} (shrunk to {100 * one.share:.0f}% of the fit)" if one.share < 1 else text


def _describe_loss(found: Recalibration, validation: Validation) -> str:
    """The held-out log loss before and after, with the interval of their difference."""
    method = describe_method(validation)
    if _is_idle(found, validation):
        return f"no map improves held-out log loss by enough ({method})"
    gap = validation.log_loss
    sampled = validation.before.verdict is not None and not validation.before.verdict.sampling.plain
    maps = _name_fold_maps(found)
    verb = "falls" if validation.helped else "rises" if validation.harmed else "does not change significantly,"
    interval = f"{_format_change(-gap.high)} to {_format_change(-gap.low)}"
    return (
        f"held-out log loss{' of the sample' if sampled else ''}{f' {maps}' * bool(maps)} {verb} from {gap.first:.4g} "
        f"to {gap.second:.4g} "
        f"({_format_change(-gap.difference)}, {format_percent(gap.confidence)} CI {interval}; {method})"
    )


def _format_change(change: float) -> str:
    return f"{change:+.3g}"


def _name_fold_maps(found: Recalibration) -> str:
    """Name the maps that the folds chose, which were validated if the map changes no prediction; else nothing."""
    return "" if found.kind != "none" or found.offsets.any() else "with the maps that the folds chose"


def _is_idle(found: Recalibration, validation: Validation) -> bool:
    """Whether the map, and that of every fold, leaves predictions unchanged."""
    return found.kind == "none" and validation.log_loss.low == validation.log_loss.high == 0


def _describe_verdict(result: Result) -> str:
    """The status of a result with its observed over expected ratio."""
    verdict = result.verdict
    if verdict is None:
        return "none"
    if not math.isfinite(verdict.ratio):
        return f"{verdict.status} ({format_p_value(verdict.p_value)})"
    confidence = format_percent(1 - verdict.significance)
    ratio = format_ratio_ci(verdict.ratio, *verdict.interval, confidence)
    return f"{verdict.status}, {ratio}, {format_p_value(verdict.p_value)}"


def _count_statuses(statuses: Sequence[str]) -> str:
    """How many segments have each status: "0 miscalibrated, 8 inconclusive"."""
    counts = {status: statuses.count(status) for status in Status}
    return ", ".join(
        f"{count:,} {status}" for status, count in counts.items() if count or status == Status.MISCALIBRATED
    )


def _name_some(table: ValidationTable, codes: Sequence[str | None], code: str) -> str:
    """Some segments of a code, in brackets."""
    names = [printable(name) for name, one in zip(table.names, codes, strict=True) if one == code]
    return f" ({', '.join(names[:NAMED])}{', ...' * (len(names) > NAMED)})" if names else ""
