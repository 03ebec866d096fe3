"""Static diagrams that set things side by side: binnings, models, metrics. They compute nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from truecal.axis import DARK, GREY, RED, Scale, fit_axis, table_of
from truecal.metrics import Max, Metric, Rejection
from truecal.plots import (
    DiagramAxes,
    draw_test_based,
    entitle,
    need_matplotlib,
    probability_axis,
    short_count,
)
from truecal.result import Result, describe_bins, name_metric

# Okabe and Ito's colours, which the colour-blind can tell apart
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"]
MARKERS = "osD^vP"


def draw_binnings(
    result: Result,
    metrics: Iterable[str] | None = None,
    *,
    scale: Scale | None = None,
    title: str | None = None,
    axes: Sequence[Any] | None = None,
) -> list[Any]:
    """The binnings of a result under each other: edges dotted, sizes grey, rates red, along the score axis.

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
        ax.hlines(axis.place(table.rate[held]), left[held], right[held], color=RED, linewidth=2)
        ax.set_ylabel("rate", color=RED)
        ax.yaxis.set_major_locator(need_matplotlib("matplotlib.ticker").FixedLocator(axis.ticks[::2]))
        ax.yaxis.set_major_formatter(need_matplotlib("matplotlib.ticker").FixedFormatter(axis.labels[::2]))
        heading = f"{describe_bins(result.metrics[name])} ({np.count_nonzero(held):,} not empty)"
        entitle(ax, title if i == 0 else None, heading, pad=4)
        if i < len(rows) - 1:
            ax.xaxis.set_ticklabels([])
        else:
            ax.set_xlabel("prediction" + ", logit scale" * axis.logit)
    return rows


def binnings_of(result: Result) -> list[str]:
    """For each binning of a result, the first metric that uses it."""
    first: dict[Any, str] = {}
    for name, metric in result.metrics.items():
        first.setdefault(describe_bins(metric), name)
    return list(first.values())


def draw_models(
    results: Mapping[str, Result],
    metric: str | None = None,
    *,
    scale: Scale | None = None,
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
            raise ValueError(f"`metrics` must be in every result; {unknown[0]!r} is not in that of {model!r}.")
    kinds: dict[str, list[str]] = {}
    for name in names:
        kinds.setdefault(kind_of(first.metrics[name]), []).append(name)
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
        ax.set_yticks(range(len(panel)), [name_metric(name) for name in panel])
        ax.set_ylim(len(panel) - 0.5, -0.5)
        ax.set_xlim(left=0)
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(axis="x", alpha=0.3)
        ax.set_xlabel(kind)
    rows[0].legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, frameon=False, fontsize="small")
    return rows


def kind_of(metric: Metric) -> str:
    """What a metric's value is; different kinds need different axes."""
    if isinstance(metric.loss, Rejection):
        return "% of predictions rejected"
    return ("largest " if isinstance(metric.norm, Max) else "") + "gap between rate and prediction"


def check_models(results: Mapping[str, Result]) -> dict[str, Result]:
    """Results by the names of their models."""
    if not isinstance(results, Mapping) or not results:
        raise TypeError('`results` must be results by name, such as {"my model": result}.')
    for name, result in results.items():
        if not isinstance(result, Result):
            raise TypeError(f"`results` must hold results; that of {name!r} is {type(result).__name__}.")
    return {str(name): result for name, result in results.items()}
