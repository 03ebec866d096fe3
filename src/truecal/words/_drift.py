"""Sentences about periods and drift."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from truecal._text import format_percent, plural, printable, upper_first
from truecal.data import Outcome
from truecal.metrics import Direction
from truecal.results import DriftStatus, DriftTable, name_period
from truecal.verdict import FACTOR, Status, Verdict
from truecal.words._format import format_confidence, format_p_value, format_ratio_ci
from truecal.words._groups import (
    ADJUSTMENTS,
    STATUSES,
    count_statuses,
    describe_inconclusive,
    explain_columns,
    label_direction,
)
from truecal.words._verdict import format_total

BASE_RATES: dict[Outcome, str] = {"positive": "base rate", "correct": "accuracy"}
LABELS: dict[DriftStatus, str] = {
    DriftStatus.BASE_RATE_SHIFTED: "base rate shifted, calibration held",
    DriftStatus.CONSISTENT: "no miscalibration found",
}
PAST = {Direction.UNDER: "under-predicted", Direction.OVER: "over-predicted"}


def label_drift(table: DriftTable) -> str:
    """Return the status of all periods, as a heading has it."""
    status = table.drift_status
    label = LABELS.get(status, str(status))
    return label.replace("base rate", BASE_RATES[table.outcome])


def summarize_drift(table: DriftTable) -> str:
    """Return the status of all periods, and how many there are of each status."""
    return f"{upper_first(label_drift(table))}: {count_periods(table)}."


def count_periods(table: DriftTable) -> str:
    """Return the numbers of periods, predictions and statuses."""
    length = "" if table.every is None else f" of {table.every}"
    counts = count_statuses(table.status, (*STATUSES, "pending"))
    return f"{plural(len(table), 'period')}{length}, {plural(int(table.n.sum()), 'prediction')}; {counts}"


def describe_drift(table: DriftTable) -> tuple[str, ...]:
    """Return what all periods show together and why, then how many are miscalibrated individually."""
    if table.overall_verdict is None:
        return ("Inconclusive: no period has complete labels.",)
    return (*_describe_status(table, table.overall_verdict), *_describe_periods(table))


def _describe_status(table: DriftTable, overall: Verdict) -> Iterator[str]:
    status, baseline, later = table.drift_status, table.baseline_verdict, table.drifted_verdict
    head = upper_first(label_drift(table))
    if table.miscalibrated:
        head = f"{head} ({format_p_value(table.overall_p)})"
    if status is DriftStatus.DRIFT and baseline is not None and later is not None:
        where = "in the later periods" if later is table.later_verdict else f"since {_name_change_point(table)}"
        yield f"{head}: {_state(baseline)} in the baseline{_ratio(baseline)}, {_state(later)} {where}{_ratio(later)}."
    elif status is DriftStatus.RECOVERED and baseline is not None and table.recent_verdict is not None:
        yield f"{head}: {_state(baseline, past=True)} in the baseline{_ratio(baseline)}."
        recent = f"{_name_change_point(table)}{_ratio(table.recent_verdict)}"
        yield f"No miscalibration found since {recent}{_except(table)}."
    elif table.isolated:
        yield f"{head} in some periods; no miscalibration found over all periods together ({format_total(overall)})."
    elif table.miscalibrated:
        yield f"{head}: {_state(overall)} over all periods, {format_total(overall)}."
    else:
        yield f"{head}: {format_total(overall)}."
    yield from _describe_onset(table)
    if table.overall_base_rate_p <= table.significance:
        yield _describe_base_rate(table)
    if not table.miscalibrated:
        yield _describe_reach(overall)


def _state(found: Verdict, *, past: bool = False) -> str:
    """Return what a verdict shows, as a verb or an adjective."""
    if found.p_value > found.significance:
        return str(found.status)
    direction = found.direction
    return PAST[direction] if past and direction in PAST else label_direction(direction)


def _ratio(found: Verdict) -> str:
    if not found.expected > 0:
        return f" ({format_total(found)})"
    text = format_ratio_ci(found.ratio, *found.interval, format_confidence(found.significance))
    return f" ({text.replace(' (', ', ').removesuffix(')')})"


def _except(table: DriftTable) -> str:
    """Return how many periods since the change point are miscalibrated all the same."""
    count = table.status[table.change_index :].count("miscalibrated")  # type: ignore[arg-type]
    return f", though {count:,} of these periods {'is' if count == 1 else 'are'} miscalibrated" if count else ""


def _describe_onset(table: DriftTable) -> Iterator[str]:
    """Yield since when the model is miscalibrated, or whether calibration changed."""
    status, baseline = table.drift_status, table.baseline_verdict
    if status is DriftStatus.THROUGHOUT and baseline is not None:
        change = "has changed since" if table.calibration_change else "is not shown to have changed since"
        yield f"The baseline is already miscalibrated{_ratio(baseline)}; calibration {change}."
    elif status is DriftStatus.MISCALIBRATED and not table.isolated:
        yield f"The onset is unknown: {_explain_unknown_onset(table)}."
    elif status is DriftStatus.CONSISTENT and baseline is None:
        yield "Whether calibration changed is unknown: there is no baseline."
    elif status in (DriftStatus.CONSISTENT, DriftStatus.STABLE):
        reach = "none" if math.isinf(table.detectable_change) else f"{table.detectable_change:.3g} (80% power)"
        held = "No change since the baseline is shown" if status is DriftStatus.STABLE else "A change is not ruled out"
        required = f"; {FACTOR:g} is required" * (status is DriftStatus.CONSISTENT)
        yield f"{held}: minimum detectable odds ratio between the later periods and the baseline {reach}{required}."
    if text := describe_change_point(table):
        yield f"{text}."


def _explain_unknown_onset(table: DriftTable) -> str:
    if table.baseline_verdict is None:
        return "there is no baseline"
    if table.calibration_change:
        return "calibration changed, but neither the baseline nor the later periods are miscalibrated on their own"
    return "the baseline is not miscalibrated on its own, and no change since is shown"


def describe_change_point(table: DriftTable) -> str:
    """Return the estimated change point, and O/E before and since; "" if no drift is shown."""
    if not table.miscalibrated or not table.calibration_change or table.change_ratios is None:
        return ""
    before, since = table.change_ratios
    return f"Estimated change point: {_name_change_point(table)} (O/E {before:.2f} before, {since:.2f} since)"


def _name_change_point(table: DriftTable) -> str:
    return printable(name_period(table.change_point, table.every))


def _describe_base_rate(table: DriftTable) -> str:
    """Return how the base rate changed, and the mean prediction with it; or in which periods alone."""
    name = BASE_RATES[table.outcome]
    if table.later_base_rate_p > table.significance or table.base_rates is None:
        rows = np.flatnonzero(table.base_rate_p_adjusted <= table.significance).tolist()
        others = f" and {len(rows) - 1:,} more" * (len(rows) > 1)
        return f"The {name} of {printable(table.names[rows[0]])}{others} differs from that of the baseline."
    before, since = map(format_percent, table.base_rates)
    predicted = ""
    if table.baseline_verdict is not None and table.later_verdict is not None and table.sampling.plain:
        means = (format_percent(each.expected / each.n) for each in (table.baseline_verdict, table.later_verdict))
        predicted = "; the mean prediction from {} to {}".format(*means)
    return f"The {name} changed from {before} in the baseline to {since} later{predicted}."


def _describe_reach(found: Verdict) -> str:
    """Return what the verdict on all periods could detect."""
    beyond = "" if found.tolerance is None else " beyond the tolerance"
    if math.isinf(found.detectable):
        return f"Over all periods no odds ratio{beyond} is detectable in both directions."
    required = f"; {FACTOR:g} is required" * (found.status == Status.INCONCLUSIVE)
    return f"Minimum detectable odds ratio{beyond} over all periods: {found.detectable:.3g} (80% power){required}."


def _describe_periods(table: DriftTable) -> Iterator[str]:
    """Yield how many periods are miscalibrated individually, inconclusive, cut off and pending."""
    statuses, names = np.array(table.status, dtype=str), [printable(name) for name in table.names]
    rows, complete = np.flatnonzero(statuses == "miscalibrated").tolist(), int(table.complete.sum())
    if complete > 1:
        adjusted = f"({ADJUSTMENTS[table.adjust]})"
        total = f"{complete:,} periods"
        if len(rows) > 1:
            yield (
                f"{len(rows):,} of {total} are miscalibrated individually {adjusted}: the first {names[rows[0]]}, the "
                f"last {names[rows[-1]]}."
            )
        elif rows:
            yield f"1 of {total} is miscalibrated individually {adjusted}: {names[rows[0]]}."
        else:
            yield f"None of {total} is miscalibrated individually {adjusted}."
        yield from describe_inconclusive(table.detectable[statuses == "inconclusive"], table.tolerance, "period")
    if ends := np.flatnonzero(table.cut_off).tolist():
        which = " and ".join("first" if row == 0 else "last" for row in ends)
        counts, usual = " and ".join(f"{table.n[row]:,}" for row in ends), float(np.median(table.n[1:-1]))
        noun = "period has" if len(ends) == 1 else "periods have"
        yield f"The {which} {noun} {counts} rows (median {usual:,.0f}) and may be cut off."
    if pending := int(np.sum(~table.complete)):
        yield f"{plural(pending, 'period')} {'is' if pending == 1 else 'are'} pending: labels are not complete yet."


def explain_drift(table: DriftTable) -> list[tuple[str, str]]:
    """Return what the headings of a table of periods mean, for those who read it on a terminal."""
    changed = f"what differs from the baseline: calibration, or the {BASE_RATES[table.outcome]}"
    return [*explain_columns(table, "period"), (table.heading("change"), changed)]
