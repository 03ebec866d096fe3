"""Drift as pictures: the metric of each window above, the prevalence below. They compute nothing.

By matplotlib, and as the plain data that plotly draws in the report.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from datetime import date
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from truecal.metrics import format_name
from truecal.observations import Bools, Floats, Ints
from truecal.plot._axis import BLUE, DARK, GREY, VERMILION, Figure, rounded
from truecal.plot._plots import entitle, need_matplotlib
from truecal.results import INCOMPLETE, TOO_SMALL, DriftTable

SKY = "#56b4e9"
MANY = 80  # windows: beyond, dots are small
SYMBOLS = {"o": "circle", "^": "triangle-up", "D": "diamond", "x": "x"}
BAND, MIDDLE = "by chance, 5 to 95 %", "mean by chance"
FEW = 8  # windows: up to here each is labelled
LABELS = 12  # of windows that are no dates
COLUMNS = 4  # of the legend


class DriftAxes(NamedTuple):
    """The axes of a drift picture."""

    value: Any
    prevalence: Any


def draw_drift(table: DriftTable, *, axes: Sequence[Any] | None = None, title: str | None = None) -> DriftAxes:
    """The metric of each window with its interval and what chance gives, and below it prevalence and mean prediction.

    Orange-red triangles are alarms: predictions further off than chance explains. Crosses are windows too small to
    tell. Blue diamonds are windows whose prevalence differs from that of the others together. Hatched windows have
    labels that are not complete. `axes` are two axes.
    """
    plt = need_matplotlib()
    if axes is None:
        shape = {"height_ratios": [3, 2], "sharex": True, "layout": "constrained", "figsize": (9, 5.6)}
        axes = list(plt.subplots(2, 1, **shape)[1])
    if len(axes) != 2:
        raise ValueError(f"`axes` must be two, for the metric and for the prevalence; they are {len(axes)}.")
    upper, lower = both = DriftAxes(*axes)
    x, half = _places(table)
    if _dated(table):
        x = x + need_matplotlib("matplotlib.dates").date2num(np.datetime64("1970-01-01"))
    size, thin, pale = (3, 0.7, 0.3) if len(table) > MANY else (6, 1.2, 1.0)
    faded = need_matplotlib("matplotlib.colors").to_rgba
    for begin, end in _runs(x, half):
        columns = (table.by_chance, table.chance_low, table.chance_high, 100 * table.mean)
        edges = _edges(x[begin:end], half)
        chance, low, high, mean = (np.repeat(column[begin:end], 2) for column in columns)
        band, middle, line = (BAND, MIDDLE, "mean prediction") if begin == 0 else (None, None, None)
        upper.fill_between(edges, low, high, color=GREY, alpha=0.3, linewidth=0, label=band)
        upper.plot(edges, chance, color=GREY, linewidth=1.5, label=middle)
        lower.plot(edges, mean, color=DARK, linewidth=1.5, label=line)
    spans = {"elinewidth": thin, "capsize": 0, "linestyle": "none", "clip_on": False}  # marks at 0 are whole
    for words, marker, colour, rows in _alarms(table):
        front = colour == VERMILION
        style = {"fmt": marker, "color": colour, "label": words, "zorder": 3 + front}
        style |= {
            "markersize": size if marker == "o" else size + 2,
            "markeredgewidth": 1.6 * thin if marker == "x" else 1,
        }
        reach, strong = _reach(table.value, table.low, table.high, rows), 1.0 if front else pale
        upper.errorbar(x[rows], table.value[rows], reach, ecolor=faded(colour, strong), **spans, **style)
    undecided = np.flatnonzero(table.highest > table.lowest)
    if len(undecided):
        where = x[undecided], table.lowest[undecided], table.highest[undecided]
        upper.vlines(*where, color=BLUE, linewidth=4 * thin, alpha=0.5, label="certified bounds")
    for words, marker, colour, rows in _moved(table):
        grow = size + (colour == BLUE)
        style = {"fmt": marker, "color": colour, "markersize": grow, "label": words, "zorder": 3 + (colour == BLUE)}
        reach = 100 * _reach(table.prevalence, table.prevalence_low, table.prevalence_high, rows)
        lower.errorbar(x[rows], 100 * table.prevalence[rows], reach, ecolor=faded(colour, pale), **spans, **style)
    for part in both:
        for begin, end in _runs(x, half, ~table.mature):
            wide = x[begin] - half, x[end - 1] + half
            label = INCOMPLETE if part is upper and begin == np.flatnonzero(~table.mature)[0] else None
            part.axvspan(*wide, facecolor=GREY, alpha=0.25, edgecolor=DARK, hatch="///", linewidth=0, label=label)
        part.spines[["top", "right"]].set_visible(False)
        part.grid(axis="y", alpha=0.3)
        part.set_ylim(0, 1.06 * part.dataLim.ymax or 1)
        part.set_xlim(x[0] - 1.5 * half, x[-1] + 1.5 * half)
        part.legend(
            loc="lower left", bbox_to_anchor=(0, 1), ncols=COLUMNS, frameon=False, fontsize="small", borderpad=0
        )
    _ticks(table, x, both)
    upper.set_ylabel(table.metric.axis)
    lower.set_ylabel("% positive")
    lines = -(-len(upper.get_legend_handles_labels()[0]) // COLUMNS)
    entitle(upper, title, describe_drift(table), pad=6 + 16 * lines)
    return both


def drift_figure(table: DriftTable) -> Figure:
    """The same as plotly draws it; hovering a window shows its numbers."""
    x: list[Any] = table.names
    texts, many = hover_windows(table), len(table) > MANY
    thin, size = (1, 4) if many else (1.5, 8)
    traces: list[Figure] = []
    line = {"type": "scatter", "mode": "lines", "x": x, "hoverinfo": "skip", "line": {"shape": "hvh", "width": 0}}
    shade = {"fill": "tonexty", "fillcolor": "rgba(154,160,166,0.3)", "name": BAND}
    middle = {"name": MIDDLE, "line": {"shape": "hvh", "color": GREY, "width": 1.5}}
    traces += [
        {**line, "y": rounded(table.chance_low), "showlegend": False, "name": "chance low"},
        {**line, "y": rounded(table.chance_high), **shade},
        {**line, "y": rounded(table.by_chance), **middle},
    ]
    dots = {"type": "scatter", "mode": "markers", "hoverinfo": "text", "cliponaxis": False}
    for words, marker, colour, rows in _alarms(table):
        ink = {"meta": "ink"} if colour == DARK else {}
        reach = _reach(table.value, table.low, table.high, rows)
        look = {"color": colour, "symbol": SYMBOLS[marker], "size": size + 2 * (marker != "o")}
        traces.append(
            {**dots, **_at(x, table.value, rows, texts), "name": words, "marker": look, **ink}
            | _errors(reach, colour, thin)
        )
    mean = {"name": "mean prediction", "line": {"shape": "hvh", "color": DARK, "width": 1.5}, "meta": "ink"}
    traces.append({**line, "y": rounded(100 * table.mean), "yaxis": "y2", **mean})
    for words, marker, colour, rows in _moved(table):
        reach = _reach(table.prevalence, table.prevalence_low, table.prevalence_high, rows)
        look = {"color": colour, "symbol": SYMBOLS[marker], "size": size}
        where = _at(x, 100 * table.prevalence, rows, texts)
        traces.append(
            {**dots, **where, "yaxis": "y2", "name": words, "marker": look} | _errors(100 * reach, colour, thin)
        )
    places, half = _places(table)
    shapes: list[Figure] = []
    notes: list[Figure] = []
    for begin, end in _runs(places, half, ~table.mature):
        ends = {"x0": _edge(table, begin, -half), "x1": _edge(table, end - 1, half)}
        box = {"type": "rect", "xref": "x", "yref": "paper", "y0": 0, "y1": 1, "line": {"width": 0}}
        pattern = {"fillcolor": GREY, "opacity": 0.25, "layer": "below"}
        shapes.append({**box, **ends, **pattern})
        text = {"text": INCOMPLETE, "showarrow": False, "textangle": -90, "font": {"size": 11}}
        notes.append({**text, "x": ends["x1"], "xref": "x", "xanchor": "right", "y": 0.98, "yref": "paper"})
    kind: Figure = {"type": "date" if _dated(table) else "category"}
    if not _dated(table):
        kind |= {"tickvals": [x[i] for i in _labelled(len(x))], "categoryorder": "array", "categoryarray": x}
    layout = {
        "hovermode": "closest",
        "legend": {"orientation": "h", "x": 0, "y": 1.01, "yanchor": "bottom", "traceorder": "normal"},
        "shapes": shapes,
        "annotations": notes,
        "xaxis": {**kind, "anchor": "y2", "zeroline": False, "showgrid": False},
        "yaxis": {"domain": [0.44, 1], "title": {"text": table.metric.axis}, "rangemode": "tozero"},
        "yaxis2": {"domain": [0, 0.36], "title": {"text": "% positive"}, "rangemode": "tozero"},
        "height": 560,
    }
    return {"data": traces, "layout": layout}


def describe_drift(table: DriftTable) -> str:
    """The metric and how many windows there are; below, how many of them say what."""
    windows, _, found = table.summary().partition(": ")
    return f"{format_name(table.metric.name)} in {windows}\n{found}"


def hover_windows(table: DriftTable) -> list[str]:
    """What is said of each window on hovering it."""
    said, level = zip(table.names, table.verdict, strict=True), f"{100 * table.confidence:g} %"
    texts = []
    for i, (name, word) in enumerate(said):
        value, chance, low, high = (
            table.metric.format(column[i]) for column in (table.value, table.by_chance, table.low, table.high)
        )
        span = "" if np.isnan(table.low[i]) else f" ({level}: {low} to {high})"
        adjusted = "" if np.isnan(table.p_adjusted[i]) else f", adjusted {table.p_adjusted[i]:.3g}"
        texts.append(
            f"<b>{html.escape(name)}: {word}</b><br>{value}{span}, by chance {chance}"
            f"<br>p {table.p_value[i]:.3g}, of the total {table.total_p[i]:.3g}{adjusted}"
            f"<br>n = {table.n[i]:,}, positives {table.positives[i]:,}"
            f"<br>positive {100 * table.prevalence[i]:.4g} % ({level}: {100 * table.prevalence_low[i]:.4g} to "
            f"{100 * table.prevalence_high[i]:.4g} %), predicted {100 * table.mean[i]:.4g} %"
            f"<br>observed / expected {table.ratio[i]:.3g} ({table.ratio_low[i]:.3g} to {table.ratio_high[i]:.3g})"
        )
    return texts


def _alarms(table: DriftTable) -> list[tuple[str, str, str, Ints]]:
    """Windows with and without an alarm and those too small for one, with their markers and colours.

    A kind of which there is none is left out.
    """
    small = table.too_small & ~table.alarm
    kinds = (
        ("no alarm", "o", DARK, ~table.alarm & ~small),
        (TOO_SMALL, "x", DARK, small),
        ("alarm: calibration", "^", VERMILION, table.alarm),
    )
    return [(words, marker, colour, np.flatnonzero(rows)) for words, marker, colour, rows in kinds if rows.any()]


def _moved(table: DriftTable) -> list[tuple[str, str, str, Ints]]:
    kinds = (("prevalence", "o", SKY, ~table.moved), ("prevalence moved", "D", BLUE, table.moved))
    return [(words, marker, colour, np.flatnonzero(rows)) for words, marker, colour, rows in kinds if rows.any()]


def _reach(value: Floats, low: Floats, high: Floats, rows: Ints) -> Floats:
    """How far an interval reaches below and above the value; not at all where there is none."""
    below, above = value[rows] - low[rows], high[rows] - value[rows]
    return np.maximum(np.nan_to_num(np.stack([below, above])), 0)


def _dated(table: DriftTable) -> bool:
    return all(isinstance(window, date) for window in table.window)


def _places(table: DriftTable) -> tuple[Floats, float]:
    """Where windows are drawn, in matplotlib's days for dates, and half of a window's width."""
    if not _dated(table):
        return np.arange(len(table), dtype=np.float64), 0.5
    x = np.array([np.datetime64(w.replace(tzinfo=None) if hasattr(w, "tzinfo") else w, "us") for w in table.window])
    days = (x - np.datetime64("1970-01-01", "us")) / np.timedelta64(86_400_000_000, "us")
    lengths = {"1h": 1 / 24, "1d": 1, "1w": 7, "1mo": 30, "1q": 91, "1y": 365}
    gap = float(np.median(np.diff(days))) if len(days) > 1 else 1.0
    return days, lengths.get(table.every or "", gap) / 2


def _runs(x: Floats, half: float, chosen: Bools | None = None) -> list[tuple[int, int]]:
    """Where windows follow each other without a gap, among the chosen ones; the end is exclusive."""
    rows = np.arange(len(x)) if chosen is None else np.flatnonzero(chosen)
    if not len(rows):
        return []
    broken = np.flatnonzero((np.diff(rows) > 1) | (np.diff(x[rows]) > 2.4 * half)) + 1
    ends = [0, *broken.tolist(), len(rows)]
    return [(int(rows[a]), int(rows[b - 1]) + 1) for a, b in pairwise(ends)]


def _edges(x: Floats, half: float) -> Floats:
    """Both ends of each window, which meet half way to the next."""
    middle = (x[1:] + x[:-1]) / 2
    return np.stack([np.append(x[0] - half, middle), np.append(middle, x[-1] + half)], 1).ravel()


def _labelled(count: int) -> list[int]:
    step = -(-count // LABELS)
    return list(range(0, count, step))


def _ticks(table: DriftTable, x: Floats, axes: DriftAxes) -> None:
    """Ticks of the axis that both share: few windows and some of many names as they are, else dates kept short."""
    shown = _labelled(len(table))
    for part in axes:
        if _dated(table) and len(table) > FEW:
            dates = need_matplotlib("matplotlib.dates")
            locator = dates.AutoDateLocator(minticks=3, maxticks=9)
            part.xaxis.set_major_locator(locator)
            part.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))
        else:
            long = max(len(table.names[i]) for i in shown) * len(shown) > 80
            turn = {"rotation": 30, "ha": "right"} if long else {}
            part.set_xticks(x[shown], [table.names[i].replace("$", r"\$") for i in shown], **turn)
    if axes.value.get_shared_x_axes().joined(*axes):
        axes.value.tick_params(labelbottom=False)
        axes.value.xaxis.get_offset_text().set_visible(False)


def _at(x: list[Any], y: Floats, rows: Ints, texts: list[str]) -> Figure:
    return {"x": [x[i] for i in rows], "y": rounded(y[rows]), "hovertext": [texts[i] for i in rows]}


def _errors(reach: Floats, colour: str, thickness: float) -> Figure:
    if not reach.any():
        return {}
    arrays = {"array": rounded(reach[1]), "arrayminus": rounded(reach[0])}
    style = {"color": colour, "thickness": thickness, "width": 0}
    return {"error_y": {"type": "data", "symmetric": False, **arrays, **style}}


def _edge(table: DriftTable, row: int, offset: float) -> Any:
    """An end of a window on plotly's axis: a time, or a category's number."""
    if not _dated(table):
        return row + offset
    moment = np.datetime64(table.window[row], "s") + np.timedelta64(round(86_400 * offset), "s")
    return str(moment).replace("T", " ")
