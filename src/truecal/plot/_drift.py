"""The picture of windows of time: observed over expected of each, and below it how many positives there are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from truecal.metrics import format_name
from truecal.observations import Floats
from truecal.plot._pictures import (
    DARK,
    GREY,
    INK,
    MANY_WINDOWS,
    SKY,
    Areas,
    Lines,
    Mark,
    Panel,
    Picture,
    Points,
    Ruler,
    Spans,
    find_edges,
    find_runs,
    fit_from_zero,
    make_factor_ticks,
    make_time_ruler,
    place_times,
    point_beyond,
)
from truecal.plot._ratios import SIDES, find_reach, name_side
from truecal.results import INCOMPLETE, PREVALENCE, DriftTable

PARTIAL = "few rows: may not be whole"
MARKS = SIDES | {INCOMPLETE: (GREY, "o")}


def picture_drift(table: DriftTable, *, title: str | None = None) -> Picture:
    """Show observed over expected positives of each window; below, prevalence and mean prediction."""
    x, half, _ = place_times(table.window, table.every)
    upper, reach = _draw_ratios(table, x, half)
    lower = _draw_rates(table, x, half)
    waiting = find_runs(x, half, ~table.mature)
    if waiting:
        starts, stops = (np.array(part) for part in zip(*waiting, strict=True))
        for marks, label in ((upper, INCOMPLETE), (lower, "")):
            marks.append(Spans(x[starts] - half, x[stops - 1] + half, GREY, label))
    ruler = make_time_ruler(table.window, table.every, table.names)
    above = Ruler((-reach, reach), "observed / expected", *make_factor_ticks(reach), grid=True)
    below = Ruler(fit_from_zero(100 * table.mean, 100 * table.prevalence), f"% {table.outcome}", grid=True)
    panels = (
        Panel(replace(ruler, named=False), above, tuple(upper), (0, 0.46, 1, 0.54), legend="above"),
        Panel(ruler, below, tuple(lower), (0, 0, 1, 0.36), legend="above"),
    )
    word = f"{table.overall}: the error {table.turn}" if table.turn else table.overall
    heading = "\n".join(filter(None, [title, describe_drift(table)]))
    return Picture(panels, (9, 5.6), heading, finding=f"{word[0].upper()}{word[1:]}")


def _draw_ratios(table: DriftTable, x: Floats, half: float) -> tuple[list[Mark], float]:
    """The ratio of each window with its interval, on a scale of factors, and how far that reaches."""
    texts, thin = describe_each_window(table), 0.7 if len(table) > MANY_WINDOWS else 1.2
    with np.errstate(divide="ignore"):
        value, low, high = (np.log(np.maximum(c, 0.0)) for c in (table.ratio, table.ratio_low, table.ratio_high))
    reach = find_reach(value, low, high)
    sides = np.array([name_side(*pair) for pair in zip(table.verdict, table.direction, strict=True)])
    marks: list[Mark] = []
    shaded = find_runs(x, half, table.baseline)
    if shaded:
        ends = [(x[begin] - half, x[end - 1] + half) for begin, end in shaded]
        around = [np.array([left, right, right, left]) for left, right in ends]
        marks.append(Areas(around, [np.array([-1, -1, 1, 1]) * reach] * len(around), SKY, "baseline", alpha=0.15))
    line = np.array([[x[0] - 1.5 * half, x[-1] + 1.5 * half]])
    marks.append(Lines(line, np.zeros((1, 2)), INK, "_as predicted", width=1.2))
    for side, (colour, marker) in MARKS.items():
        at = np.flatnonzero((sides == side) & ~np.isnan(value))
        if len(at):
            ends = np.clip(np.stack([low[at], high[at]], 1), -reach, reach)
            upright, partial = np.stack([x[at]] * 2, 1), table.partial[at]
            marks.append(Lines(upright[~partial], ends[~partial], colour, "_interval", width=thin))
            if partial.any():
                marks.append(Lines(upright[partial], ends[partial], colour, PARTIAL, width=thin, dash=":"))
            marks += point_beyond(x[at], (low[at], high[at]), reach, colour, 2 if len(table) > MANY_WINDOWS else 4)
            at = at[np.abs(value[at]) <= reach]
            size = 3 if len(table) > MANY_WINDOWS else 7
            marks.append(Points(x[at], value[at], colour, side, marker, size, [texts[i] for i in at]))
    return marks, reach


def _draw_rates(table: DriftTable, x: Floats, half: float) -> list[Mark]:
    """The share of positives in each window beside the mean prediction."""
    runs = find_runs(x, half)
    edges = [find_edges(x[begin:end], half) for begin, end in runs]
    means = [np.repeat(100 * table.mean[begin:end], 2) for begin, end in runs]
    marks: list[Mark] = [Lines(edges, means, GREY, "mean prediction", width=2)]
    texts, rate, moved = describe_each_window(table), PREVALENCE[table.outcome], table.prevalence_moved
    for label, marker, colour, chosen in ((rate, "o", DARK, ~moved), (f"{rate} moved", "D", INK, moved)):
        at = np.flatnonzero(chosen)
        if len(at):
            size = 3 if len(table) > MANY_WINDOWS else 6
            marks.append(Points(x[at], 100 * table.prevalence[at], colour, label, marker, size, [texts[i] for i in at]))
    return marks


def describe_drift(table: DriftTable) -> str:
    """Describe the numbers of windows and verdicts."""
    return table.summary().partition(": ")[2]


def describe_each_window(table: DriftTable) -> list[str]:
    """Describe each window, for hovering."""
    texts, compared = [], table.compared
    for i, (name, verdict) in enumerate(zip(table.names, table.verdict, strict=True)):
        way = f", predictions are {table.direction[i]}" if table.direction[i] else ""
        adjusted = "" if np.isnan(table.p_adjusted[i]) else f", adjusted {table.p_adjusted[i]:.3g}"
        moved = "" if np.isnan(table.moved_p[i]) else f"; against the baseline p {table.moved_p[i]:.3g}"
        texts.append(
            f"{name}: {verdict}{way}{f' ({compared[i]})' if compared[i] else ''}"
            f"\nn = {table.n[i]:,}: {table.tell(i)}"
            f"\np {table.p_value[i]:.3g}{adjusted}{moved}"
            f"\n{table.outcome} {100 * table.prevalence[i]:.4g} %, predicted {100 * table.mean[i]:.4g} %"
            f"\n{format_name(table.metric.name)} {table.metric.format(table.value[i])}"
        )
    return texts
