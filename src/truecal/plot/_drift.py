"""The plot of periods: observed over expected of each, and below it the base rate and the mean prediction."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from truecal._text import format_percent
from truecal.data import Floats
from truecal.metrics import format_name
from truecal.plot._marks import DARK, GREY, INK, SKY, Areas, AxisSpec, Lines, Mark, Panel, Picture, Points, Spans
from truecal.plot._pictures import (
    MANY_WINDOWS,
    find_edges,
    find_runs,
    fit_from_zero,
    make_ratio_ticks,
    make_time_axis,
    place_times,
    point_beyond,
)
from truecal.plot._ratios import SIDE_MARKERS, find_reach, name_side
from truecal.results import DriftTable, PeriodStatus
from truecal.words import BASE_RATES, count_periods, describe_change_point, describe_row, format_p_value, label_drift

CUT_OFF = "few rows: may be cut off"
PERIOD_MARKERS = SIDE_MARKERS | {PeriodStatus.PENDING: (GREY, "o")}


def picture_drift(table: DriftTable, *, title: str | None = None) -> Picture:
    """Show observed over expected positives of each period; below, base rate and mean prediction."""
    x, half, _ = place_times(table.period, table.every)
    upper, reach = _draw_ratios(table, x, half)
    lower = _draw_rates(table, x, half)
    pending = find_runs(x, half, ~table.complete)
    if pending:
        starts, stops = (np.array(ends) for ends in zip(*pending, strict=True))
        for marks, label in ((upper, str(PeriodStatus.PENDING)), (lower, "")):
            marks.append(Spans(x[starts] - half, x[stops - 1] + half, GREY, label))
    time = make_time_axis(table.period, table.every, table.names)
    above = AxisSpec((-reach, reach), "observed / expected", *make_ratio_ticks(reach), grid=True)
    below = AxisSpec(fit_from_zero(100 * table.mean, 100 * table.prevalence), f"% {table.outcome}", grid=True)
    panels = (
        Panel(replace(time, named=False), above, tuple(upper), (0, 0.46, 1, 0.54), legend="above"),
        Panel(time, below, tuple(lower), (0, 0, 1, 0.36), legend="above"),
    )
    label, change = label_drift(table), describe_change_point(table)
    summary = ". ".join(filter(None, [f"{label[0].upper()}{label[1:]}", change]))
    heading = "\n".join(filter(None, [title, count_periods(table)]))
    return Picture(panels, (9, 5.6), heading, summary=summary)


def _draw_ratios(table: DriftTable, x: Floats, half: float) -> tuple[list[Mark], float]:
    """Return the marks of each period's ratio with its interval, and the reach of the axis."""
    texts, thin = describe_each_period(table), 0.7 if len(table) > MANY_WINDOWS else 1.2
    with np.errstate(divide="ignore"):
        value, low, high = (np.log(np.maximum(c, 0.0)) for c in (table.ratio, table.ratio_low, table.ratio_high))
    reach = find_reach(value, low, high)
    sides = np.array([name_side(*pair) for pair in zip(table.status, table.direction, strict=True)])
    marks: list[Mark] = []
    shaded = find_runs(x, half, table.baseline)
    if shaded:
        ends = [(x[begin] - half, x[end - 1] + half) for begin, end in shaded]
        around = [np.array([left, right, right, left]) for left, right in ends]
        marks.append(Areas(around, [np.array([-1, -1, 1, 1]) * reach] * len(around), SKY, "baseline", alpha=0.15))
    line = np.array([[x[0] - 1.5 * half, x[-1] + 1.5 * half]])
    marks.append(Lines(line, np.zeros((1, 2)), INK, "_as predicted", width=1.2))
    for side, (colour, marker) in PERIOD_MARKERS.items():
        at = np.flatnonzero((sides == side) & ~np.isnan(value))
        if len(at):
            ends = np.clip(np.stack([low[at], high[at]], 1), -reach, reach)
            upright, partial = np.stack([x[at]] * 2, 1), table.cut_off[at]
            marks.append(Lines(upright[~partial], ends[~partial], colour, "_interval", width=thin))
            if partial.any():
                marks.append(Lines(upright[partial], ends[partial], colour, CUT_OFF, width=thin, dash=":"))
            marks += point_beyond(x[at], (low[at], high[at]), reach, colour, 2 if len(table) > MANY_WINDOWS else 4)
            at = at[np.abs(value[at]) <= reach]
            size = 3 if len(table) > MANY_WINDOWS else 7
            marks.append(Points(x[at], value[at], colour, side, marker, size, [texts[i] for i in at]))
    return marks, reach


def _draw_rates(table: DriftTable, x: Floats, half: float) -> list[Mark]:
    """Return the marks of base rates and mean predictions."""
    runs = find_runs(x, half)
    edges = [find_edges(x[begin:end], half) for begin, end in runs]
    means = [np.repeat(100 * table.mean[begin:end], 2) for begin, end in runs]
    marks: list[Mark] = [Lines(edges, means, GREY, "mean prediction", width=2)]
    texts, rate, moved = describe_each_period(table), BASE_RATES[table.outcome], table.base_rate_changed
    for label, marker, colour, chosen in ((rate, "o", DARK, ~moved), (f"{rate} changed", "D", INK, moved)):
        at = np.flatnonzero(chosen)
        if len(at):
            size = 3 if len(table) > MANY_WINDOWS else 6
            marks.append(Points(x[at], 100 * table.prevalence[at], colour, label, marker, size, [texts[i] for i in at]))
    return marks


def describe_each_period(table: DriftTable) -> list[str]:
    """Describe each period, for hovering."""
    texts, changes, statuses, directions = [], table.change, table.status, table.direction
    for i, name in enumerate(table.names):
        direction = f", {directions[i]}" if directions[i] else ""
        adjusted = "" if np.isnan(table.p_adjusted[i]) else f", adjusted {format_p_value(table.p_adjusted[i])}"
        since = f"; change since baseline {format_p_value(table.change_p[i])}" * bool(table.change_p[i] >= 0)
        texts.append(
            f"{name}: {statuses[i]}{direction}{f' ({changes[i]})' if changes[i] else ''}"
            f"\nn = {table.n[i]:,}: {describe_row(table, i)}"
            f"\n{format_p_value(table.p_value[i])}{adjusted}{since}"
            f"\n{BASE_RATES[table.outcome]} {format_percent(float(table.prevalence[i]))}, mean prediction "
            f"{format_percent(float(table.mean[i]))}"
            f"\n{format_name(table.metric.name)} {table.metric.format(table.value[i])}"
        )
    return texts
