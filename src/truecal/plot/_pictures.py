"""Describe each plot of results as panels with axes and marks; `_matplotlib` and `_svg` draw them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from truecal import words
from truecal._options import Scale, Style, check_option
from truecal._text import plural, shorten
from truecal.data import Bools, Floats, Ints
from truecal.metrics import Direction, Metric, find_direction, format_name
from truecal.plot._axis import (
    Axis,
    Margin,
    find_margins,
    fit_axis,
    format_probability,
    get_shapes,
    get_table,
    trace_violins,
)
from truecal.plot._marks import (
    BLUE,
    DARK,
    GREY,
    INK,
    PALE,
    VERMILION,
    Annotation,
    Areas,
    AxisSpec,
    Bars,
    Lines,
    Mark,
    Panel,
    Picture,
    Points,
)
from truecal.results import BinTable, Recalibration, Result, bounded_log_odds, rank_models
from truecal.words import (
    describe_reach,
    format_end,
    format_head,
    format_ratio_cell,
    label_outcome,
    label_result,
    summarize_models,
)

MAIN_BOX = (0.0, 0.36, 0.82, 0.64)  # of the main panel of a diagram: room below for sizes, at the right for scores
MANY_BINS = 60  # more bins are drawn without gaps and edges, which would cover them
MANY_WINDOWS = 80  # more score windows or periods have small dots
RATIO_TICKS = (  # ticks of an axis of ratios, the widest first
    *((10, 100), (3, 10, 30), (2, 4, 8), (1.5, 2, 3, 4), (1.5, 2, 3), (1.25, 1.5, 2), (1.25, 1.5)),
)
NO_DEVIATION = "1"  # the label of their middle
FEW_PERIODS = 8  # up to so many are labelled by name
EDGE = 0.965  # the position of arrows that point beyond an axis, as a share of its reach
SIDE_SIGNS = {None: 0, Direction.UNDER: 1, Direction.OVER: -1}  # rates above or below predictions


def picture_calibration(
    result: Result, metric: str | None = None, *, scale: Scale | None = None, title: str | None = None
) -> Picture:
    """Show the odds ratio of observed to predicted in each score window, with confidence intervals.

    Below are all predictions, those that are rejected, and the number rejected on average if the model is calibrated.
    Only a miscalibrated model has colours: some score windows of a calibrated one are rejected, too.
    """
    metric = _choose_window_metric(result) if metric is None else metric
    axis = fit_axis([result], metric, scale, wide=False)
    upper, lower = _make_ratio_panel(result, metric, axis), _make_rows_panel(result, metric, axis)
    return Picture((upper, lower), (8, 5.6), _join_lines(title, describe(result, metric)), "x", label_result(result))


def _choose_window_metric(result: Result) -> str:
    """Return the first metric that tests score windows as a whole, as Local TCE does; else that of diagrams."""
    for name, metric in result.metrics.items():
        if isinstance(metric, Metric) and not metric.test_of_bins(result.rejection).per_prediction:
            return name
    return result.pictured


def _is_miscalibrated(result: Result) -> bool:
    return result.verdict is not None and result.verdict.status == "miscalibrated"


def _find_odds_ratios(table: BinTable) -> tuple[Ints, Floats, Floats, Floats]:
    """Return the score windows whose mean prediction is neither 0 nor 1, and the log odds ratios of observed to
    predicted: of the rate and of both ends of its interval."""
    rows = np.flatnonzero((table.n > 0) & (table.mean > 0) & (table.mean < 1))
    base = bounded_log_odds(table.mean[rows])
    value, low, high = (
        bounded_log_odds(column[rows]) - base for column in (table.rate, table.rate_low, table.rate_high)
    )
    return rows, value, low, high


def _find_common_reach(tables: Iterable[BinTable]) -> float:
    """Return the reach of a ratio axis that suits all tables."""
    return max(_find_reach(table) for table in tables)


def _make_ratio_panel(result: Result, metric: str, axis: Axis, reach: float | None = None) -> Panel:
    """Show observed against predicted, with intervals: a box and a line for each window."""
    table, wrong = get_table(result, metric), _is_miscalibrated(result)
    rows, value, low, high = _find_odds_ratios(table)
    reach = _find_reach(table) if reach is None else reach
    left, right = axis.place(table.left[rows]), axis.place(table.right[rows])
    middle, small = axis.halve(left, right), len(rows) > MANY_WINDOWS
    every = describe_each_bin(table)
    texts = [every[i] for i in rows]
    side = _find_sides(table)[rows]
    marks: list[Mark] = []
    for way, colour, word in ((0, GREY, "not rejected by itself"), (1, BLUE, "too low"), (-1, VERMILION, "too high")):
        chosen = np.flatnonzero(side == way if wrong else np.full(len(side), way == 0))
        if len(chosen):
            a, b, c, d = (column[chosen] for column in (left, right, low, high))
            c, d = np.clip(c, -reach, reach), np.clip(d, -reach, reach)
            marks.append(Areas(_stack(a, b, b, a), _stack(c, c, d, d), colour, f"_{word}: interval", 0.3))
            label = word if wrong else "observed against predicted"
            inside = np.abs(value[chosen]) <= reach
            shown, beyond = chosen[inside], chosen[~inside]
            lines = _level_lines(left[shown], right[shown], value[shown])
            ink = DARK if way == 0 else colour
            marks.append(Lines(*lines, ink, label, width=2.5, texts=[texts[i] for i in shown]))
            marks += point_beyond(middle[chosen], (low[chosen], high[chosen]), reach, colour, 2 if small else 3)
            around = value[beyond], value[beyond]
            marks += point_beyond(
                middle[beyond], around, reach, ink, 4 if small else 7, texts=[texts[i] for i in beyond]
            )
    marks += _point_at_certain(table, axis, reach, every)
    marks.append(Lines([np.array(axis.limits)], [np.zeros(2)], INK, "_as predicted", width=1.2))
    noun = label_outcome(result.outcome)
    more, fewer = (BLUE, VERMILION) if wrong else (DARK, DARK)
    last = axis.limits[1]
    marks.append(
        Annotation(f"more {noun} than predicted \N{BLACK UP-POINTING TRIANGLE}", last, reach, ("right", "top"), more)
    )
    marks.append(
        Annotation(
            f"fewer {noun} than predicted \N{BLACK DOWN-POINTING TRIANGLE}", last, -reach, ("right", "bottom"), fewer
        )
    )
    y = AxisSpec((-reach, reach), "odds ratio", *make_ratio_ticks(reach))
    x = replace(_make_percent_axis(axis), title="", named=False)
    return Panel(x, y, tuple(marks), (0, 0.38, 1, 0.62), legend="above")


def _find_reach(table: BinTable) -> float:
    """Return the reach of a ratio axis, as a logarithm.

    It holds the values and the nearer ends of intervals of nine tenths of the information, and rejected score windows
    unless they lie far beyond these.
    """
    rows, *columns = _find_odds_ratios(table)
    weight = table.n[rows] * table.mean[rows] * (1 - table.mean[rows])
    value, low, high = np.abs(columns)
    # without positives the odds ratio is 0; a logarithm of 9 is far beyond any axis
    ends = np.maximum(np.minimum(low, high), np.where(value < 9, value, 0.0))
    order = np.argsort(ends)
    running = np.cumsum(weight[order])
    most = float(ends[order][np.searchsorted(running, 0.9 * running[-1])]) if len(ends) else 0.0
    rejected = value[(_find_sides(table)[rows] != 0) & (value < 9)]
    return float(np.clip(max(1.5 * most, min(2.5 * most, 1.1 * rejected.max(initial=0.0))), np.log(1.6), np.log(100)))


def point_beyond(
    at: Floats,
    ends: tuple[Floats, Floats],
    reach: float,
    colour: str,
    size: float,
    *,
    flat: bool = False,
    texts: Sequence[str] = (),
) -> list[Mark]:
    """Draw arrows at the ends of a ratio axis, horizontal if `flat`, for intervals `ends` at `at` that go beyond it."""
    marks: list[Mark] = []
    for sign, end, marker in ((-1, ends[0], "<" if flat else "v"), (1, ends[1], ">" if flat else "^")):
        beyond = np.flatnonzero(sign * end > reach)
        if len(beyond):
            along, across = at[beyond], np.full(len(beyond), sign * EDGE * reach)
            x, y = (across, along) if flat else (along, across)
            shown = [texts[i] for i in beyond.tolist()] if texts else []
            marks.append(Points(x, y, colour, "_goes on beyond the axis", marker, size, shown))
    return marks


def _point_at_certain(table: BinTable, axis: Axis, reach: float, texts: Sequence[str]) -> list[Mark]:
    """Draw arrows at predictions of exactly 0 or 1 that labels contradict, whose odds ratios are infinite."""
    marks: list[Mark] = []
    for certain, way, colour, word in ((0.0, 1, BLUE, "too low"), (1.0, -1, VERMILION, "too high")):
        rows = np.flatnonzero((table.n > 0) & (table.mean == certain) & (table.rate != certain))
        if len(rows):
            x, y = axis.place(table.mean[rows]), np.full(len(rows), way * EDGE * reach)
            shown = [texts[i] for i in rows.tolist()]
            marks.append(Points(x, y, colour, f"{word}: exactly {certain:.0f}", "^" if way > 0 else "v", 9, shown))
    return marks


def _find_rejected(table: BinTable) -> Ints:
    """Return 1 for bins of which half of the predictions are rejected as too low, -1 as too high, 0 for others."""
    return np.where(table.too_low >= 0.5, 1, np.where(table.too_high >= 0.5, -1, 0))


def _find_sides(table: BinTable) -> Ints:
    """Return 1 for bins whose mean prediction lies below the interval of their rate, -1 above it, 0 for others.

    That interval is the box in the plot. The share of a bin's predictions that is rejected may differ: predictions of
    a wide bin differ from its rate even if they are calibrated, and Local TCE tests many overlapping windows, of which
    plots show one grid.
    """
    bins = zip(table.rate_low.tolist(), table.rate_high.tolist(), table.mean.tolist(), strict=True)
    return np.array([SIDE_SIGNS[find_direction(low, high, mean)] for low, high, mean in bins], np.int64)


def make_ratio_ticks(reach: float) -> tuple[tuple[float, ...], tuple[str, ...]]:
    """Return the ticks of a ratio axis from exp(-reach) to exp(reach), as logarithms, and their labels."""
    steps = next(steps for steps in RATIO_TICKS if np.log(steps[-1]) <= reach)
    known = [factor for factor in steps if np.log(factor) <= 0.97 * reach]
    ticks = [*(-np.log(factor) for factor in known[::-1]), 0.0, *(np.log(factor) for factor in known)]
    names = [*(f"{1 / factor:.3g}" for factor in known[::-1]), NO_DEVIATION, *(f"{factor:g}" for factor in known)]
    return tuple(map(float, ticks)), tuple(names)


def _make_rows_panel(result: Result, metric: str, axis: Axis) -> Panel:
    """Show all predictions, those that are rejected, and how many are rejected on average if calibrated."""
    left, right, n, names = _count_predictions(result, metric, axis)
    outline, margins = get_shapes(result, metric, axis.logit)[2], find_margins(result, metric, axis)
    low = np.append(outline.n_too_low, [margin.n_too_low for margin in margins]).astype(np.int64)
    high = np.append(outline.n_too_high, [margin.n_too_high for margin in margins]).astype(np.int64)
    texts = [
        f"{name}: {count:,}" + f", rejected as too low {a:,}" * (a > 0) + f", rejected as too high {b:,}" * (b > 0)
        for name, count, a, b in zip(names, n.tolist(), low.tolist(), high.tolist(), strict=True)
    ]
    marks: list[Mark] = [Bars(left, right, n, PALE, "predictions", texts=texts)]
    marks += _stack_rejected((left, right), low, high, wrong=_is_miscalibrated(result))
    null_mean = result.significance * n
    order = np.argsort(left, kind="stable")
    x, y = (np.stack(pair, 1).ravel() for pair in ((left[order], right[order]), (null_mean[order], null_mean[order])))
    marks.append(Lines([x], [y], INK, "rejected if calibrated", width=1.5))
    marks += _note_margins(margins, axis, 1.05 * float(n.max()))
    ruler = AxisSpec((0, 1.08 * max(1, int(n.max()))), "predictions", kind="count", most=3)
    return Panel(_make_percent_axis(axis), ruler, tuple(marks), (0, 0, 1, 0.27), legend="above")


def _count_predictions(result: Result, metric: str, axis: Axis) -> tuple[Floats, Floats, Ints, list[str]]:
    """Return the bars of a histogram, with those of predictions beyond the axis: both ends, numbers and texts."""
    histogram, margins = get_shapes(result, metric, axis.logit)[1], find_margins(result, metric, axis)
    edges = np.clip(histogram.edges, axis.first, axis.last)
    left = np.append(edges[:-1], [margin.left for margin in margins])
    right = np.append(edges[1:], [margin.right for margin in margins])
    n = np.append(histogram.n, [margin.n for margin in margins]).astype(np.int64)
    beyond = ["predictions beyond the axis: " + ", ".join(margin.words) for margin in margins]
    return left, right, n, [*_describe_histogram(histogram.edges), *beyond]


def _make_percent_axis(axis: Axis) -> AxisSpec:
    """Return a probability axis with ticks in percent."""
    names = [
        f"{label[0]}{format_end(float(label[1:]))}" if re.fullmatch(r"[<>][0-9.e-]+", label)
        else f"{100 * int(label)}%" if label in ("0", "1")
        else label if label[:1] in "<>"
        else format_end(tick)
        for tick, label in zip(axis.ticks, axis.labels, strict=True)
    ]  # fmt: skip
    return replace(AxisSpec.of(axis, "prediction"), labels=tuple(names), room=0.55)


def picture_test_reliability(
    result: Result,
    metric: str | None = None,
    *,
    style: Style = "verdict",
    scale: Scale | None = None,
    title: str | None = None,
) -> Picture:
    """Show bands, violins and rates of bins; below, their sizes; to the right, all predictions.

    In the style "paper" the rate is orange-red, and so are rejected predictions. In the style "verdict" the rate
    is ink, and only a miscalibrated model has colours, which show the direction.
    """
    check_option("style", style)
    table, paper = get_table(result, metric), style == "paper"
    axis = fit_axis([result], metric, scale)
    many, nonempty = len(table) > MANY_BINS, np.flatnonzero(table.n > 0)
    half = np.float64(0.5 if many else 0.45)
    left, right = nonempty + (1 - half), nonempty + (1 + half)
    low, high, rate = (axis.place(c[nonempty]) for c in (table.accepted_low, table.accepted_high, table.rate))
    texts = [text for text, n in zip(describe_each_bin(table), table.n, strict=True) if n]
    band, ink = (BLUE, VERMILION) if paper else (GREY, INK)
    marks: list[Mark] = [
        Areas(_stack(left, right, right, left), _stack(low, low, high, high), band, "accepted by the test", 0.25),
        *_make_violins(result, metric, axis, coloured=not paper and _is_miscalibrated(result)),
        Lines(*_level_lines(left, right, rate), ink, "observed rate", 1, 1.5 if many else 2.5, texts=texts),
    ]
    for margin in find_margins(result, metric, axis):
        height = np.full(len(margin.bins), margin.position)
        marks.append(Points(margin.bins.astype(np.float64) + 1, height, DARK, "_beyond", "D", 2 if many else 5))
    columns, edges = np.arange(len(table) + 1.0), [*table.left.tolist(), float(table.right[-1])]
    span = 0.5, len(table) + 0.5
    numbers = AxisSpec(span, "", tuple(columns), tuple(str(i) for i in range(len(table) + 1)), room=0.3)
    names = tuple(format_probability(p) for p in edges)
    below = AxisSpec(span, "bins, by their edges", tuple(columns + 0.5), names, room=0.2)
    main = Panel(numbers, AxisSpec.of(axis, "probability"), tuple(marks), MAIN_BOX, legend="above")
    sizes = _make_sizes_panel(result, table, (columns[1:] - half, columns[1:] + half), below, paper=paper)
    panels = main, sizes, _make_histogram_panel(result, metric, axis, main.y)
    heading = _join_lines(title, describe(result, metric))
    return Picture(panels, (8, 6), heading, "x", "" if paper else label_result(result))


def _make_violins(result: Result, metric: str | None, axis: Axis, *, coloured: bool) -> list[Mark]:
    """Return the violin of each bin's predictions; if `coloured`, mostly rejected bins by their direction."""
    table = get_table(result, metric)
    many = len(table) > MANY_BINS
    inner, heights, width = trace_violins(get_shapes(result, metric, axis.logit)[2], axis)
    middle, reach = inner[:, None] + 1, (0.5 if many else 0.36) * width
    x = np.concatenate([middle - reach, (middle + reach)[:, ::-1]], 1)
    y = np.concatenate([heights, heights[:, ::-1]], 1)
    side = _find_rejected(table)[inner] if coloured else np.zeros(len(inner), dtype=np.int64)
    marks: list[Mark] = []
    for way, colour, word in ((0, DARK, "predictions"), (1, BLUE, "too low"), (-1, VERMILION, "too high")):
        rows = np.flatnonzero(side == way)
        if len(rows) or not (coloured or way):
            marks.append(Areas(x[rows], y[rows], colour, word, 0.75, 0.3 if many else 1.2))
    return marks


def picture_reliability(
    result: Result, metric: str | None = None, *, scale: Scale | None = None, title: str | None = None
) -> Picture:
    """Show the isotonic curve with its band if calibrated, and rates of bins with intervals; below, all predictions.

    Nothing is marked as rejected: a prediction is not rejected because it differs from the rate of a wide bin.
    """
    scale = "logit" if scale is None and _is_rare(result) else scale
    if metric is None:
        # with rare events one bin of equal width would hold nearly all predictions
        names = ("ace", "ece") if scale == "logit" else ("ece", "ace")
        metric = next((name for name in names if name in result.tables), result.pictured)
    table = get_table(result, metric)
    axis = fit_axis([result], metric, scale, wide=False)
    nonempty = np.flatnonzero(table.n > 0)
    small = len(nonempty) > MANY_BINS
    x, y, low, high = (axis.place(c[nonempty]) for c in (table.mean, table.rate, table.rate_low, table.rate_high))
    ends, texts = np.array([axis.limits]), describe_each_bin(table)
    marks: list[Mark] = []
    curve = result.curve
    if curve is not None:
        inside = np.flatnonzero((curve.score >= axis.first) & (curve.score <= axis.last))
        at, fit, below, above = (axis.place(c[inside]) for c in (curve.score, curve.rate, curve.low, curve.high))
        if not np.isnan(below).any():
            band = [np.concatenate([at, at[::-1]])], [np.concatenate([below, above[::-1]])]
            marks.append(Areas(*band, GREY, "95% band if calibrated", 0.4))
    marks.append(Lines(ends, ends, INK, "as predicted", 1, 1.2))
    if curve is not None:
        marks.append(Lines([at], [fit], BLUE, "isotonic (CORP)", width=2.5))
    marks += [
        Lines(*_vertical_lines(x, low, high), DARK, "_interval", *((0.35, 0.8) if small else ())),
        Points(
            x,
            y,
            DARK,
            f"{format_name(metric)} bins, 95% CI",
            size=3 if small else 6,
            texts=[texts[i] for i in nonempty],
        ),
    ]
    ruler = _make_percent_axis(axis)
    upright = replace(ruler, title="observed", room=0.0)
    main = Panel(replace(ruler, title="", named=False), upright, tuple(marks), (0, 0.3, 1, 0.7), legend="above")
    rows = _make_predictions_panel(result, metric, axis, ruler)
    return Picture((main, rows), (6.4, 7), _join_lines(title, describe(result, metric)), summary=label_result(result))


def _is_rare(result: Result) -> bool:
    """Whether half of the predictions lie below 0.05 or above 0.95."""
    if result.scores is None:
        return False
    edges, n = result.scores.linear.edges, result.scores.linear.n
    middle = float(edges[np.searchsorted(np.cumsum(n), n.sum() / 2) + 1])
    return middle < 0.05 or middle > 0.95


def _make_predictions_panel(result: Result, metric: str, axis: Axis, x: AxisSpec) -> Panel:
    """Show all predictions, and count those beyond the axis."""
    left, right, n, names = _count_predictions(result, metric, axis)
    texts = [f"{name}: {count:,}" for name, count in zip(names, n.tolist(), strict=True)]
    y = AxisSpec((0, 1.08 * max(1, int(n.max()))), "predictions", kind="count", most=3)
    marks: list[Mark] = [Bars(left, right, n, PALE, "_predictions", texts=texts)]
    marks += _note_margins(find_margins(result, metric, axis), axis, 1.05 * float(n.max()))
    return Panel(x, y, tuple(marks), (0, 0, 1, 0.2))


def _note_margins(margins: Sequence[Margin], axis: Axis, height: float) -> list[Annotation]:
    """Return texts about the predictions beyond the ends of an axis."""
    marks = []
    for margin in margins:
        side: Literal["left", "right"] = "left" if margin.position == axis.low else "right"
        marks.append(Annotation("\n".join(margin.words), axis.limits[side == "right"], height, (side, "top")))
    return marks


def _make_sizes_panel(
    result: Result, table: BinTable, ends: tuple[Floats, Floats], x: AxisSpec, *, paper: bool
) -> Panel:
    """Show the sizes of bins, with the rejected predictions in front."""
    edge = len(table) <= MANY_BINS
    marks: list[Mark] = [
        Bars(*ends, table.n, GREY if paper else PALE, "size", edge=edge, texts=describe_each_bin(table))
    ]
    if paper:
        marks.append(Bars(*ends, table.n_rejected, VERMILION, "rejected", edge=edge))
    else:
        marks += _stack_rejected(ends, table.n_too_low, table.n_too_high, wrong=_is_miscalibrated(result))
    y = AxisSpec((0, 1.08 * table.n.max()), "predictions", kind="count", most=3)
    return Panel(x, y, tuple(marks), (0, 0, 0.82, 0.27), legend="beside")


def _stack_rejected(ends: tuple[Floats, Floats], low: Ints, high: Ints, *, wrong: bool) -> list[Mark]:
    """Return bars of rejected predictions: coloured by direction if the model is miscalibrated, else dark."""
    if not wrong or not (low.any() or high.any()):
        return [Bars(*ends, low + high, DARK, "rejected")]
    marks: list[Mark] = []
    if high.any():
        marks.append(Bars(*ends, np.where(high > 0, low + high, 0), VERMILION, "rejected: too high"))
    if low.any():
        marks.append(Bars(*ends, low, BLUE, "rejected: too low"))
    return marks


def _make_histogram_panel(result: Result, metric: str | None, axis: Axis, y: AxisSpec) -> Panel:
    """Show all predictions, and count those beyond the axis."""
    histogram, margins = get_shapes(result, metric, axis.logit)[1], find_margins(result, metric, axis)
    edges = np.clip(histogram.edges, axis.first, axis.last)
    most = 1.05 * max(1, int(histogram.n.max()), *(margin.n for margin in margins))
    cells = [
        f"{text}: {n:,}" for text, n in zip(_describe_histogram(histogram.edges), histogram.n.tolist(), strict=True)
    ]
    marks: list[Mark] = [Bars(edges[:-1], edges[1:], histogram.n, GREY, "_all predictions", flat=True, texts=cells)]
    for margin in margins:
        bar, height = np.array([0.0, margin.n]), np.full(2, margin.position)
        marks.append(Lines([bar], [height], DARK, "_beyond", width=4, texts=[", ".join(margin.words)]))
        side: Literal["bottom", "top"] = "bottom" if margin.position == axis.low else "top"
        marks.append(Annotation("\n".join(margin.words), most, margin.position, ("right", side)))
    x = AxisSpec((0, most), "all", kind="count", most=1)
    return Panel(x, replace(y, title="", named=False), tuple(marks), (0.835, MAIN_BOX[1], 0.165, MAIN_BOX[3]))


def picture_recalibration(
    recalibration: Recalibration, *, scale: Scale | None = None, title: str | None = None
) -> Picture:
    """Show held-out rows before and after recalibration, on the same axes."""
    validation = recalibration.validation
    if validation is None:
        raise ValueError("`recalibration` must have a held-out validation; fit it with `folds` of 2 or more.")
    parts = {"before": validation.before, "after": validation.after}
    names = {word: _choose_window_metric(result) for word, result in parts.items()}
    axis = fit_axis(parts.values(), names["before"], scale, wide=False)
    reach = _find_common_reach(get_table(result, names[word]) for word, result in parts.items())
    panels = []
    for i, (word, result) in enumerate(parts.items()):
        panel = _make_ratio_panel(result, names[word], axis, reach)
        heading = f"{word}: {label_result(result)}"
        position = (0.0, 0.54 * (1 - i), 1.0, 0.4)
        x = panel.x if i == 0 else _make_percent_axis(axis)
        panels.append(replace(panel, title=heading, box=position, x=x, legend=""))
    heading = _join_lines(title, words.describe_map(recalibration))
    return Picture(tuple(panels), (8, 6.4), heading, summary=words.label_recalibration(recalibration.status))


def picture_power(
    result: Result, metric: str | None = None, *, scale: Scale | None = None, title: str | None = None
) -> Picture:
    """Show which odds ratios were detectable: in each score window alone, in a fifth of the information, and in all."""
    metric = _choose_window_metric(result) if metric is None else metric
    table, axis = get_table(result, metric), fit_axis([result], metric, scale, wide=False)
    rows = np.flatnonzero((table.n > 0) & (table.mean > 0) & (table.mean < 1))
    base = bounded_log_odds(table.mean[rows])
    below, above = (
        bounded_log_odds(np.nan_to_num(table.detectable_below[rows], nan=0.0)),
        bounded_log_odds(table.detectable_above[rows]),
    )
    above = np.where(np.isnan(table.detectable_above[rows]), np.inf, above)
    reach = float(np.log(4))
    left, right = axis.place(table.left[rows]), axis.place(table.right[rows])
    low, high = np.clip(below - base, -reach, reach), np.clip(above - base, -reach, reach)
    boxes = _stack(left, right, right, left), _stack(low, low, high, high)
    marks: list[Mark] = [
        Areas(*boxes, GREY, "not detectable in the window alone", 0.4),
        Lines([np.array(axis.limits)], [np.zeros(2)], INK, "_as predicted", width=1.2),
    ]
    verdict = result.verdict
    if verdict is not None:
        whole, above_fifth, below_fifth = verdict.detectable, verdict.detectable_above, verdict.detectable_below
        for word, up, down, width in (
            ("detectable in a fifth of the information", above_fifth, below_fifth, 1.2),
            ("detectable on all predictions", whole, whole, 2.5),
        ):
            ends = [sign * np.log(factor) for sign, factor in ((1, up), (-1, down)) if np.log(factor) < reach]
            span = np.array([axis.limits] * len(ends)).reshape(-1, 2)
            level = np.array([[end, end] for end in ends]).reshape(-1, 2)
            marks.append(Lines(span, level, DARK, word, width=width, dash="--"))
    y = AxisSpec((-reach, reach), "odds ratio", *make_ratio_ticks(reach))
    x = replace(_make_percent_axis(axis), title="", named=False)
    upper = Panel(x, y, tuple(marks), (0, 0.38, 1, 0.62), legend="above")
    lower = replace(_make_predictions_panel(result, metric, axis, _make_percent_axis(axis)), box=(0, 0, 1, 0.27))
    detectable = "" if verdict is None else describe_reach(verdict)
    summary = "Minimum detectable odds ratios (80% power)"
    return Picture((upper, lower), (8, 5.6), _join_lines(title, detectable), summary=summary)


def picture_models(results: Mapping[str, Result], metric: str | None = None, *, scale: Scale | None = None) -> Picture:
    """Show the odds ratios of score windows for several models on the same axes, the worst first."""
    named = check_models(results)
    metric = _choose_window_metric(next(iter(named.values()))) if metric is None else metric
    axis = fit_axis(named.values(), metric, scale, wide=False)
    reach = _find_common_reach(get_table(result, metric) for result in named.values())
    columns = 1 if len(named) < 4 else 2
    lines = -(-len(named) // columns)
    panels: list[Panel] = []
    for i, name in enumerate(rank_models(named)):
        panel = _make_ratio_panel(named[name], metric, axis, reach)
        row, column = divmod(i, columns)
        last = i + columns >= len(named)
        # with two columns, 0.24 of each column is for tick labels; 0.2 of each line is for the title
        wide = 0.76 if columns > 1 else 1.0
        box = (column + 1 - wide) / columns, 1 - (row + 0.92) / lines, wide / columns, 0.72 / lines
        x = _make_percent_axis(axis) if last else panel.x
        heading = f"{shorten(name, 40)}: {label_result(named[name])}"
        notes = tuple(mark for mark in panel.marks if i == 0 or not isinstance(mark, Annotation))
        panels.append(replace(panel, box=box, x=x, title=heading, legend="", marks=notes))
    size = 8.0 * (1 if columns == 1 else 1.5), 1.2 + 2.1 * lines
    return Picture(tuple(panels), size, summary=summarize_models(named).rstrip("."))


def picture_binnings(
    result: Result,
    metrics: Iterable[str] | None = None,
    *,
    scale: Scale | None = None,
    title: str | None = None,
) -> Picture:
    """Show the odds ratios of bins for each binning of a result on the same axes; below, all predictions."""
    names = list_binnings(result) if metrics is None else list(metrics)
    tables = {name: get_table(result, name) for name in names}
    first = names[0]
    axis = fit_axis([result], first, scale, wide=False)
    reach = _find_common_reach(tables.values())
    inches = [*([2.0] * len(names)), 1.0]  # with less height, tick labels of ratios would touch
    panels: list[Panel] = []
    top = 1.0
    for name, high in zip(names, inches, strict=False):
        panel, n = _make_ratio_panel(result, name, axis, reach), tables[name].n[tables[name].n > 0]
        sizes = f"{n.min():,} to {n.max():,}" if n.min() < n.max() else f"{n.max():,}"
        heading = f"{result.metrics[name].bins} ({len(n):,} with rows, {sizes} in each)"
        notes = tuple(mark for mark in panel.marks if not panels or not isinstance(mark, Annotation))
        box = 0.0, top - (high - 0.05) / sum(inches), 1.0, (high - 0.45) / sum(inches)
        panels.append(replace(panel, box=box, title=heading, legend="" if panels else "above", marks=notes))
        top -= high / sum(inches)
    rows = _make_predictions_panel(result, first, axis, _make_percent_axis(axis))
    panels.append(replace(rows, box=(0.0, 0.0, 1.0, top - 0.35 / sum(inches))))
    return Picture(
        tuple(panels), (8, 1.4 + sum(inches)), _join_lines(title, describe(result)), summary=label_result(result)
    )


def place_times(periods: Sequence[Any], every: str | None) -> tuple[Floats, float, bool]:
    """Return the positions of periods, half of a period's width, and whether positions are days."""
    if not all(isinstance(period, date) for period in periods):
        return np.arange(0.0, len(periods)), 0.5, False
    x = np.array(
        [
            np.datetime64(period.replace(tzinfo=None) if hasattr(period, "tzinfo") else period, "us")
            for period in periods
        ]
    )
    days = (x - np.datetime64("1970-01-01", "us")) / np.timedelta64(86_400_000_000, "us")
    lengths = {"1h": 1 / 24, "1d": 1, "1w": 7, "1mo": 30, "1q": 91, "1y": 365}
    gap = float(np.median(np.diff(days))) if len(days) > 1 else 1.0
    return days, lengths.get(every or "", gap) / 2, True


def make_time_axis(periods: Sequence[Any], every: str | None, names: Sequence[str] | None = None) -> AxisSpec:
    """Return the axis of periods; few periods, or periods that are not dates, are labelled by name."""
    x, half, dated = place_times(periods, every)
    span = float(x[0] - 1.5 * half), float(x[-1] + 1.5 * half)
    if dated and len(periods) > FEW_PERIODS:
        return AxisSpec(span, kind="date")
    names = tuple(map(str, periods) if names is None else names)
    return AxisSpec(span, "", tuple(x.tolist()), names, "date" if dated else "linear", room=0.65)


def find_runs(x: Floats, half: float, chosen: Bools | None = None) -> list[tuple[int, int]]:
    """Return the runs of chosen periods without a gap, as start and exclusive end."""
    rows = np.arange(len(x)) if chosen is None else np.flatnonzero(chosen)
    if not len(rows):
        return []
    broken = np.flatnonzero((np.diff(rows) > 1) | (np.diff(x[rows]) > 2.4 * half)) + 1
    ends = [0, *broken.tolist(), len(rows)]
    return [(int(rows[a]), int(rows[b - 1]) + 1) for a, b in pairwise(ends)]


def find_edges(x: Floats, half: float) -> Floats:
    """Return both ends of each period; neighbours meet half way."""
    middle = (x[1:] + x[:-1]) / 2
    return np.stack([np.append(x[0] - half, middle), np.append(middle, x[-1] + half)], 1).ravel()


def fit_from_zero(*columns: Floats) -> tuple[float, float]:
    """Return limits that hold these numbers and 0, with room for a marker."""
    values = np.concatenate([np.ravel(column) for column in columns])
    known = values[np.isfinite(values)]
    low, high = float(known.min(initial=0)), float(known.max(initial=0))
    high = high if high > low else low + 1.0
    return low - 0.02 * (high - low), high + 0.06 * (high - low)


def check_models(results: Mapping[str, Result]) -> dict[str, Result]:
    """Return results by the names of their models; raise an error unless they are results."""
    if not isinstance(results, Mapping) or not results:
        raise TypeError('`results` must be results by name, such as {"my model": result}.')
    for name, result in results.items():
        if not isinstance(result, Result):
            raise TypeError(f"`results` must hold results; {name!r} is {type(result).__name__}.")
    return {str(name): result for name, result in results.items()}


def list_binnings(result: Result) -> list[str]:
    """Return the first metric of each binning of a result."""
    first: dict[str, str] = {}
    for name in result.tables:
        first.setdefault(result.metrics[name].bins, name)
    return list(first.values())


def describe(result: Result, metric: str | None = None) -> str:
    """Return the numbers in a diagram's title: the verdict, the value, its mean if calibrated, n, prevalence."""
    name = result.pictured if metric is None else metric
    value = f"{format_name(name)} {result.format(name)}"
    if name in result.nulls:
        value += f" ({result.metrics[name].format(result.nulls[name].mean)} if calibrated)"
    verdict = "" if result.verdict is None else f"{format_head(result)}   "
    return f"{verdict}{value}   n = {result.n:,}   {100 * result.prevalence:.4g}% {result.outcome}"


def describe_each_bin(table: BinTable) -> list[str]:
    """Describe each bin, for hovering."""
    texts = []
    for i in range(len(table)):
        close = "]" if i == len(table) - 1 else ")"
        lines = [f"[{table.left[i]:.4g}, {table.right[i]:.4g}{close}: {plural(int(table.n[i]), 'row')}"]
        if table.n[i]:
            lines.append(f"predicted {table.mean[i]:.4g}, observed {table.rate[i]:.4g} ({table.k[i]:,})")
            lines.append(f"O/E {format_ratio_cell(table.ratio[i], table.ratio_low[i], table.ratio_high[i])}")
            lines.append(f"accepted {table.accepted_low[i]:.4g} to {table.accepted_high[i]:.4g}")
            if table.n_rejected[i]:
                lines[-1] += f", rejected {100 * table.rejected[i]:.1f}%"
        texts.append("\n".join(lines))
    return texts


def _describe_histogram(edges: Floats) -> list[str]:
    """Describe each cell of a histogram, for hovering."""
    return [f"predictions {start:.3g} to {end:.3g}" for start, end in pairwise(edges.tolist())]


def _level_lines(left: Floats, right: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return the positions of horizontal lines."""
    return _stack(left, right), _stack(y, y)


def _vertical_lines(x: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return the positions of vertical lines."""
    return _stack(x, x), _stack(low, high)


def _stack(*columns: Floats) -> Floats:
    return np.stack(columns, 1)


def _join_lines(*lines: str | None) -> str:
    return "\n".join(filter(None, lines))
