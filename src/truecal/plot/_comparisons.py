"""Diagrams that set things side by side: binnings, models, metrics, segments. They compute nothing.

By matplotlib, and where the report shows them also as the plain data that plotly draws.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from truecal._errors import option
from truecal.metrics import format_name
from truecal.observations import Ints
from truecal.plot._axis import DARK, GREY, VERMILION, Figure, Limits, counted_beyond, fit_axis, rounded, table_of
from truecal.plot._plots import DiagramAxes, draw_test_based, entitle, need_matplotlib, probability_axis, short_count
from truecal.results import GroupTable, Result

# Okabe and Ito's colours, which the colour-blind can tell apart
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"]
MARKERS = "osD^vP"


def draw_binnings(
    result: Result,
    metrics: Iterable[str] | None = None,
    *,
    scale: Limits | None = None,
    title: str | None = None,
    axes: Sequence[Any] | None = None,
) -> list[Any]:
    """The binnings of a result under each other: edges dotted, sizes grey, rates orange-red, along the score axis.

    `metrics` name whose bins; by default each binning of the result once. `axes` are as many axes, one a row.
    """
    plt = need_matplotlib()
    names = binnings_of(result) if metrics is None else list(metrics)
    for name in names:
        table_of(result, name)
    axis = fit_axis([result], None, scale)
    if axes is None:
        size = (8, 0.8 + 1.7 * len(names))
        axes = plt.subplots(len(names), 1, figsize=size, layout="constrained", squeeze=False)[1][:, 0]
    rows = list(axes)
    if len(rows) != len(names):
        raise ValueError(f"`axes` must be one for each binning; they are {len(rows)} for {len(names)} binnings.")
    for i, (ax, name) in enumerate(zip(rows, names, strict=True)):
        table = table_of(result, name)
        left, right = axis.place(table.left), axis.place(table.right)
        back = ax.twinx()
        ax.set_zorder(back.get_zorder() + 1)
        ax.patch.set_visible(False)
        back.bar(left, table.n, right - left, align="edge", color=GREY, alpha=0.5, edgecolor="none", label="size")
        back.set_ylim(0, 1.1 * table.n.max())
        back.yaxis.set_major_locator(need_matplotlib("matplotlib.ticker").MaxNLocator(2, integer=True))
        back.yaxis.set_major_formatter(need_matplotlib("matplotlib.ticker").FuncFormatter(short_count))
        back.set_ylabel("predictions", color=DARK)
        probability_axis(ax.xaxis, ax.set_xlim, axis)
        probability_axis(ax.yaxis, ax.set_ylim, axis)
        edges = axis.place(np.append(table.left, table.right[-1]))
        ax.vlines(edges, 0, 1, transform=ax.get_xaxis_transform(), color=DARK, linestyle=":", linewidth=0.8)
        held = table.n > 0
        ax.hlines(axis.place(table.rate[held]), left[held], right[held], color=VERMILION, linewidth=2)
        ax.set_ylabel("rate", color=VERMILION)
        ax.yaxis.set_major_locator(need_matplotlib("matplotlib.ticker").FixedLocator(axis.ticks[::2]))
        ax.yaxis.set_major_formatter(need_matplotlib("matplotlib.ticker").FixedFormatter(axis.labels[::2]))
        heading = f"{result.metrics[name].bins} ({np.count_nonzero(held):,} not empty)"
        entitle(ax, title if i == 0 else None, heading, pad=4)
        if i < len(rows) - 1:
            ax.xaxis.set_ticklabels([])
        else:
            ax.set_xlabel("prediction" + ", logit scale" * axis.logit + counted_beyond(result, name, axis))
    return rows


def binnings_of(result: Result) -> list[str]:
    """For each binning of a result, the first metric that uses it."""
    first: dict[Any, str] = {}
    for name, metric in result.metrics.items():
        first.setdefault(metric.bins, name)
    return list(first.values())


def draw_models(
    results: Mapping[str, Result],
    metric: str | None = None,
    *,
    scale: Limits | None = None,
    axes: Sequence[Any] | None = None,
) -> list[DiagramAxes]:
    """The test-based reliability diagrams of several models side by side, on one probability axis."""
    plt = need_matplotlib()
    named = check_models(results)
    if axes is None:
        columns = min(len(named), 3)
        lines = -(-len(named) // columns)
        size = (5.4 * columns, 5.4 * lines)
        axes = list(plt.subplots(lines, columns, figsize=size, layout="constrained", squeeze=False)[1].flat)
        for spare in axes[len(named) :]:
            spare.set_axis_off()
        axes = axes[: len(named)]
    if len(axes) != len(named):
        raise ValueError(f"`axes` must be one for each model; they are {len(axes)} for {len(named)} models.")
    axis = fit_axis(named.values(), metric, scale)
    pairs = zip(named.items(), axes, strict=True)
    return [draw_test_based(result, metric, title=name, ax=ax, axis=axis) for (name, result), ax in pairs]


def draw_metrics(
    results: Mapping[str, Result],
    metrics: Iterable[str] | None = None,
    *,
    axes: Sequence[Any] | None = None,
) -> list[Any]:
    """The metrics of several models: values as dots, intervals as lines, and as grey bars what chance alone would give.

    Rejected shares, gaps and largest gaps have a panel each; `axes` are as many axes.
    """
    plt = need_matplotlib()
    named = check_models(results)
    first = next(iter(named.values()))
    names = list(first.values) if metrics is None else list(metrics)
    for model, result in named.items():
        unknown = [name for name in names if name not in result.values]
        if unknown:
            raise ValueError(
                f"{option('metrics')} must be in every result; {unknown[0]!r} is not in that of {model!r}."
            )
    kinds: dict[str, list[str]] = {}
    for name in names:
        kinds.setdefault(first.metrics[name].axis, []).append(name)
    panels = list(kinds.values())
    step = 1 / (len(named) + 1)
    if axes is None:
        heights = [len(panel) for panel in panels]
        size = (8, 1.6 + 0.2 * sum(heights) * (len(named) + 1) + 0.4 * len(panels))
        shape = {"height_ratios": heights, "squeeze": False, "layout": "constrained", "figsize": size}
        axes = list(plt.subplots(len(panels), 1, **shape)[1].flat)
    rows = list(axes)
    if len(rows) != len(panels):
        raise ValueError(f"`axes` must be one for each kind of metric; they are {len(rows)} for {len(panels)}.")
    for ax, (kind, panel) in zip(rows, kinds.items(), strict=True):
        chance = False
        for j, (model, result) in enumerate(named.items()):
            colour, marker = COLOURS[j % len(COLOURS)], MARKERS[j // len(COLOURS) % len(MARKERS)]
            y = np.arange(len(panel)) + step * (j + 1) - 0.5
            for name, height in zip(panel, y.tolist(), strict=True):
                if name in result.references:
                    mean = result.references[name].mean
                    ax.barh(height, mean, 0.8 * step, color=GREY, alpha=0.5, label=None if chance else "by chance")
                    chance = True
                if name in result.intervals:
                    ax.hlines(height, result.intervals[name].low, result.intervals[name].high, color=colour)
            ax.plot([result.values[name] for name in panel], y, marker, color=colour, label=model.replace("$", r"\$"))
        ax.set_yticks(range(len(panel)), [format_name(name) for name in panel])
        ax.set_ylim(len(panel) - 0.5, -0.5)
        ax.set_xlim(left=0)
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(axis="x", alpha=0.3)
        ax.set_xlabel(kind)
    rows[0].legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, frameon=False, fontsize="small")
    return rows


def metrics_figures(results: Mapping[str, Result]) -> dict[str, Figure]:
    """The metrics that all models share, a figure for each kind: values, intervals, and what chance would give."""
    first = next(iter(results.values()))
    kinds: dict[str, list[str]] = {}
    for name, metric in first.metrics.items():
        if all(name in result.values for result in results.values()):
            kinds.setdefault(metric.axis, []).append(name)
    return {kind: _metrics_figure(results, kind, names) for kind, names in kinds.items()}


def _metrics_figure(results: Mapping[str, Result], kind: str, names: list[str]) -> Figure:
    traces: list[Figure] = []
    step = 1 / (len(results) + 1)
    for j, (model, result) in enumerate(results.items()):
        colour, label = COLOURS[j % len(COLOURS)], html.escape(model)
        y = rounded(np.arange(0.0, len(names)) + (step * (j + 1) - 0.5))
        values = np.array([result.values[name] for name in names])
        texts = []
        for name in names:
            metric, lines = result.metrics[name], [f"{label}<br>{html.escape(format_name(name))} {result.format(name)}"]
            if name in result.references:
                lines.append(f"by chance {metric.format(result.references[name].mean)}")
            if name in result.intervals:
                lines.append(result.format_interval(name))
            texts.append("<br>".join(lines))
        if result.references:
            means = [result.references[name].mean if name in result.references else 0.0 for name in names]
            chance = {"type": "bar", "orientation": "h", "name": "by chance", "marker": {"color": GREY, "opacity": 0.5}}
            same = {"width": 0.8 * step, "hoverinfo": "skip", "legendgroup": "chance", "showlegend": j == 0}
            traces.append({**chance, **same, "x": rounded(np.array(means)), "y": y})
        dots: Figure = {"type": "scatter", "mode": "markers", "name": label, "x": rounded(values), "y": y}
        dots |= {"marker": {"color": colour, "size": 8}, "hovertext": texts, "hoverinfo": "text"}
        if result.intervals:
            spans = [result.intervals.get(name) for name in names]
            above = [0.0 if s is None else s.high - v for s, v in zip(spans, values.tolist(), strict=True)]
            below = [0.0 if s is None else v - s.low for s, v in zip(spans, values.tolist(), strict=True)]
            arrays = {"array": rounded(np.array(above)), "arrayminus": rounded(np.array(below))}
            dots["error_x"] = {
                "type": "data",
                "symmetric": False,
                **arrays,
                "color": colour,
                "thickness": 2,
                "width": 0,
            }
        traces.append(dots)
    labels = {"tickvals": list(range(len(names))), "ticktext": [html.escape(format_name(name)) for name in names]}
    layout = {
        "barmode": "overlay",
        "hovermode": "closest",
        "xaxis": {"title": {"text": kind}, "rangemode": "tozero"},
        "yaxis": {**labels, "range": [len(names) - 0.5, -0.5], "zeroline": False, "automargin": True},
        "height": 120 + 22 * len(names) * (len(results) + 1),
    }
    return {"data": traces, "layout": layout}


def draw_segments(table: GroupTable, *, ax: Any = None, worst: int = 20) -> Any:
    """The segments that exceed chance most, the largest excess first.

    Dots are values, grey bars what chance alone would give. Orange-red dots have an adjusted p-value of at most
    0.05.
    """
    plt = need_matplotlib()
    shown, names = _worst(table, worst), table.names
    ax = plt.subplots(figsize=(8, 1.4 + 0.28 * len(shown)), layout="constrained")[1] if ax is None else ax
    ax.barh(range(len(shown)), table.by_chance[shown], 0.7, color=GREY, alpha=0.5, label="by chance")
    for label, colour, rows in _alarms(table, shown):
        ax.plot(table.value[shown[rows]], rows, "o", color=colour, label=label)
    ax.set_yticks(range(len(shown)), [_clip(names[i], 40).replace("$", r"\$") for i in shown])
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.set_xlim(left=0)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="x", alpha=0.3)
    ax.set_xlabel(table.metric.axis)
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, frameon=False, fontsize="small", borderpad=0)
    entitle(ax, None, describe_segments(table, worst))
    return ax


def segments_figure(table: GroupTable, worst: int = 20) -> Figure:
    """The same as plotly draws it; hovering a segment shows its numbers."""
    shown, names = _worst(table, worst), table.names
    texts = [
        f"{html.escape(names[i])}<br>n = {table.n[i]:,}, positives {table.positives[i]:,}"
        f"<br>{table.metric.format(table.value[i])}, by chance {table.metric.format(table.by_chance[i])}"
        f"<br>p {table.p_value[i]:.3g}, adjusted {table.p_adjusted[i]:.3g}"
        for i in shown
    ]
    chance = {"type": "bar", "orientation": "h", "name": "by chance", "marker": {"color": GREY, "opacity": 0.5}}
    bars = {"x": rounded(table.by_chance[shown]), "y": list(range(len(shown))), "width": 0.7, "hoverinfo": "skip"}
    traces: list[Figure] = [{**chance, **bars}]
    for label, colour, rows in _alarms(table, shown):
        dots = {"type": "scatter", "mode": "markers", "name": label, "marker": {"color": colour, "size": 8}}
        values = {"x": rounded(table.value[shown[rows]]), "y": rows.tolist(), "hovertext": [texts[i] for i in rows]}
        traces.append({**dots, **values, "hoverinfo": "text", "meta": "ink" if colour == DARK else ""})
    labels = {"tickvals": bars["y"], "ticktext": [html.escape(_clip(names[i], 30)) for i in shown]}
    layout = {
        "hovermode": "closest",
        "xaxis": {"title": {"text": table.metric.axis}, "rangemode": "tozero"},
        "yaxis": {**labels, "range": [len(shown) - 0.4, -0.6], "zeroline": False, "automargin": True},
        "height": 120 + 24 * len(shown),
    }
    return {"data": traces, "layout": layout}


def describe_segments(table: GroupTable, worst: int = 20) -> str:
    """How many segments are shown, in which order."""
    part = f"{worst:,} of {len(table):,} segments" if worst < len(table) else f"{len(table):,} segments"
    return f"{part}, the largest excess over chance first"


def _worst(table: GroupTable, worst: int) -> Ints:
    return np.argsort(-table.excess, kind="stable")[:worst]


def _alarms(table: GroupTable, shown: Ints) -> list[tuple[str, str, Ints]]:
    """Which of the rows shown exceed chance and which do not, with their colours; not those that are none."""
    found = table.alarm[shown]
    kinds = ("beyond chance", VERMILION, found), ("not shown to be beyond chance", DARK, ~found)
    return [(label, colour, np.flatnonzero(rows)) for label, colour, rows in kinds if rows.any()]


def _clip(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}\N{HORIZONTAL ELLIPSIS}"


def check_models(results: Mapping[str, Result]) -> dict[str, Result]:
    """Results by the names of their models."""
    if not isinstance(results, Mapping) or not results:
        raise TypeError('`results` must be results by name, such as {"my model": result}.')
    for name, result in results.items():
        if not isinstance(result, Result):
            raise TypeError(f"`results` must hold results; that of {name!r} is {type(result).__name__}.")
    return {str(name): result for name, result in results.items()}
