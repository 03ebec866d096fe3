"""The plot of a monitor: its evidence from period to period, and observed against expected positives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from truecal import words
from truecal._text import format_count
from truecal.analysis import Monitor
from truecal.metrics import Direction
from truecal.plot._marks import (
    BLUE,
    DARK,
    GREY,
    INK,
    VERMILION,
    Annotation,
    AxisSpec,
    Lines,
    Mark,
    Panel,
    Picture,
    Points,
)
from truecal.plot._pictures import fit_from_zero, make_time_axis, place_times
from truecal.results import Series

LOWEST_E_VALUE = 0.01  # the smallest e-value on the axis; smaller ones, which mean the same, are drawn there
MOST_SEGMENTS = 12  # segments with the most evidence, besides all rows: more lines are not distinguishable
MARKERS = {Direction.UNDER: (BLUE, "^"), Direction.OVER: (VERMILION, "v")}  # other directions have a diamond


def picture_monitor(monitor: Monitor, *, title: str | None = None) -> Picture:
    """Show the e-value of each series after each period, with the alarm threshold; below, positives of all rows."""
    shown = [one for one in monitor.series if one.periods][: MOST_SEGMENTS + 1]
    periods = sorted({period for one in shown for period in one.periods})
    at = dict(zip(periods, place_times(periods, monitor.state.every)[0].tolist(), strict=True))
    time_axis = make_time_axis(periods, monitor.state.every) if periods else AxisSpec((0, 1), ticks=())
    evidence_marks, evidence_axis = _draw_evidence(monitor, shown, at, time_axis)
    count_marks, count_axis = _draw_counts([one for one in shown if one.segment is None], at)
    panels = (
        Panel(replace(time_axis, named=False), evidence_axis, evidence_marks, (0, 0.46, 1, 0.54), legend="above"),
        Panel(time_axis, count_axis, count_marks, (0, 0, 1, 0.3), legend="above"),
    )
    heading = "\n".join(filter(None, [title, words.describe_guarantee(monitor)]))
    return Picture(panels, (9, 5.6), heading, summary=monitor.summary.rstrip("."))


def _draw_evidence(
    monitor: Monitor, shown: Sequence[Series], at: Mapping[Any, float], time_axis: AxisSpec
) -> tuple[tuple[Mark, ...], AxisSpec]:
    """Draw the e-value of each series, a marker at its alarm, and the threshold."""
    threshold = float(np.log10(monitor.alarm_threshold))
    marks: list[Mark] = []
    top = threshold
    for one in reversed(shown):  # all rows last, on top of the segments
        x = np.array([at[period] for period in one.periods])
        y = np.log10(np.clip(one.e_value, LOWEST_E_VALUE, np.finfo(float).max))
        top = max(top, float(y.max()))
        pooled, name = one.segment is None, monitor.name(one)
        label, width = (name, 2.5) if pooled else ("segments", 1.2)
        marks.append(Lines([x], [y], DARK if pooled else GREY, label, width=width))
        if one.alarm and one.alarm_period in at:
            colour, marker = MARKERS.get(one.direction, (INK, "D")) if one.direction else (INK, "D")
            index = one.periods.index(one.alarm_period)
            direction = one.direction or one.cause
            hover = f"{name}: alarm at {one.alarm_period}\n{direction}, estimated change point {one.change_point}"
            spot = np.array([x[index]]), np.array([y[index]])
            marks.append(Points(*spot, colour, f"alarm: {direction}", marker, 10, [hover]))
    ends = np.array([time_axis.limits])
    marks.append(Lines(ends, np.full((1, 2), threshold), INK, "_alarm", dash="--"))
    text = f"alarm threshold {words.format_e_value(monitor.alarm_threshold)}"
    marks.append(Annotation(text, time_axis.limits[0], threshold, ("left", "bottom"), INK))
    lowest = int(np.log10(LOWEST_E_VALUE))
    step = max(1, -(-int(top - lowest) // 6))  # at most about seven ticks
    ticks = tuple(float(tick) for tick in range(lowest, int(np.ceil(top)) + 1, step))
    labels = tuple(f"{10**tick:g}" for tick in ticks)
    return tuple(marks), AxisSpec((ticks[0], max(top, threshold) + 0.4), "e-value", ticks, labels, grid=True)


def _draw_counts(pooled: Sequence[Series], at: Mapping[Any, float]) -> tuple[tuple[Mark, ...], AxisSpec]:
    """Draw observed and expected positives of all rows."""
    marks: list[Mark] = []
    reach = [np.zeros(1)]
    for one in pooled:
        x, observed = np.array([at[period] for period in one.periods]), one.observed.astype(np.float64)
        texts = [
            f"{period}: observed {k:,}, expected {format_count(e)}, n {n:,}"
            for period, k, e, n in zip(one.periods, one.observed, one.expected, one.n, strict=True)
        ]
        marks.append(Lines([x], [one.expected], GREY, "expected", width=2))
        marks.append(Points(x, observed, DARK, "observed", "o", 4, texts))
        reach += [one.expected, observed]
    return tuple(marks), AxisSpec(fit_from_zero(*reach), "positives", grid=True)
