"""Static diagrams of one `Result`, by matplotlib: each draws what the result holds and computes nothing.

Every function takes `ax=` or makes its own figure, and returns its axes. A diagram with margins turns the given axes
into an empty frame and draws inside it.
"""

from __future__ import annotations

import base64
import io
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from truecal.metrics import format_name
from truecal.observations import Floats
from truecal.plot._axis import (
    BLUE,
    DARK,
    GREY,
    VERMILION,
    Axis,
    Limits,
    Margin,
    drawn_of,
    edge_ticks,
    fit_axis,
    margins_of,
    stride,
    table_of,
    violins_of,
)
from truecal.results import Histogram, Result

MANY = 60  # bins from here on are drawn without gaps and edges


class DiagramAxes(NamedTuple):
    """The axes of a diagram: the diagram itself, the bins' sizes below it, all predictions at its right."""

    main: Any
    sizes: Any
    histogram: Any


def need_matplotlib(module: str = "matplotlib.pyplot") -> Any:
    """A module of matplotlib, or an error that says how to get it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError("Diagrams need matplotlib: pip install 'truecal[plot]'") from error


def draw_test_based(
    result: Result,
    metric: str | None = None,
    *,
    scale: Limits | None = None,
    title: str | None = None,
    ax: Any = None,
    axis: Axis | None = None,
) -> DiagramAxes:
    """The test-based reliability diagram of a metric's bins, the first metric's by default.

    For each bin a violin of its predictions, the observed rate as an orange-red line and the predictions that the
    test accepts as a band: what lies outside the band is rejected. Below, the bins' sizes in grey with the rejected
    predictions in orange-red; at the right all predictions.

    Parameters
    ----------
    scale : "linear" or "logit", optional
        Of the probabilities; by default logit where half of the bins lie below 0.05 or above 0.95. Exact zeros and
        ones are shown at the margins of a logit axis and counted.
    title : str, optional
        A line above the numbers.
    axis : optional
        An axis shared with other diagrams.

    Examples
    --------
    >>> import truecal
    >>> result = truecal.evaluate([0, 1, 1, 0], [0.1, 0.7, 0.9, 0.3])
    >>> axes = truecal.plot.draw_test_based(result)  # doctest: +SKIP
    """
    need_matplotlib("matplotlib")
    table = table_of(result, metric)
    axis = fit_axis([result], metric, scale) if axis is None else axis
    _, histogram, outline = drawn_of(result, metric, axis.logit)
    axes = _frame(ax)
    main, held = axes.main, np.flatnonzero(table.n > 0)
    many = len(table) > MANY
    half = np.float64(0.5 if many else 0.45)
    centre = np.asarray(held + 1, dtype=np.float64)
    _boxes(
        main,
        (centre - half, centre + half),
        (axis.place(table.accepted_low[held]), axis.place(table.accepted_high[held])),
        facecolor=BLUE,
        alpha=0.22,
        label="accepted by the test",
    )
    inner, heights, width = violins_of(outline, axis)
    reach = (0.5 if many else 0.36) * width
    x = np.concatenate([inner[:, None] + 1 - reach, (inner[:, None] + 1 + reach)[:, ::-1]], axis=1)
    y = np.concatenate([heights, heights[:, ::-1]], axis=1)
    violins = need_matplotlib("matplotlib.collections").PolyCollection(
        np.stack([x, y], axis=2),
        facecolor=DARK,
        edgecolor=DARK,
        alpha=0.75,
        linewidth=0.3 if many else 1.2,
        label="predictions",
    )
    main.add_collection(violins, autolim=False)
    rates = axis.place(table.rate[held])
    main.hlines(
        rates, centre - half, centre + half, color=VERMILION, linewidth=1.5 if many else 2.5, label="observed rate"
    )
    margins = margins_of(result, metric, axis)
    for margin in margins:
        place = np.full(len(margin.bins), margin.place)
        main.plot(margin.bins + 1, place, "D", color=DARK, markersize=2 if many else 5, clip_on=False, zorder=5)
    _sizes_by_bin(axes.sizes, result, metric, half)
    _histogram_beside(axes.histogram, histogram, margins, axis)
    probability_axis(main.yaxis, main.set_ylim, axis)
    main.set_ylabel("probability" + ", logit scale" * axis.logit)
    most = max(3, int(_inches(ax, main) / 0.32))
    span = (0.5, len(table) + 0.5)
    main.set_xlim(span)
    step = stride(len(table), most)
    numbers = [*([1] if step > 2 else []), *range(step, len(table) + 1, step)]
    main.set_xticks(numbers, [str(number) for number in numbers], fontsize="small")
    places, names = edge_ticks(table, 2 * most if len(table) > 6 else most)
    axes.sizes.set_xlim(span)
    axes.sizes.set_xticks(places, names, rotation=90 if len(names) > 7 else 0)
    axes.sizes.tick_params(axis="x", labelsize="small")
    axes.sizes.set_xlabel("bins, by their edges")
    main.legend(loc="lower left", bbox_to_anchor=(-0.02, 1.0), ncols=3, frameon=False, fontsize="small", borderpad=0)
    entitle(axes.main, title, _fold(describe(result, metric), _inches(ax, main)))
    return axes


def draw_reliability(
    result: Result,
    metric: str | None = None,
    *,
    scale: Limits | None = None,
    title: str | None = None,
    ax: Any = None,
) -> DiagramAxes:
    """The standard reliability diagram of a metric's bins: observed rate against mean prediction.

    Bars are exact (Clopper-Pearson) intervals of the rates. The bins are those of the metric: "ece" for equal widths
    (the default where the result has them), "ace" for equal sizes. Empty bins are not drawn.
    """
    need_matplotlib("matplotlib")
    metric = ("ece" if "ece" in result.tables else None) if metric is None else metric
    table = table_of(result, metric)
    axis = fit_axis([result], metric, scale, wide=False)
    _, histogram, _ = drawn_of(result, metric, axis.logit)
    axes = _frame(ax)
    main, held = axes.main, table.n > 0
    ends = np.array(axis.limits)
    main.plot(ends, ends, color=GREY, linewidth=1, linestyle="--", label="perfect")
    x, y = axis.place(table.mean[held]), axis.place(table.rate[held])
    low, high = axis.place(table.rate_low[held]), axis.place(table.rate_high[held])
    small = held.sum() > MANY
    thin = {"linewidth": 0.8, "alpha": 0.35} if small else {"linewidth": 1.5}
    main.vlines(x, low, high, color=DARK, label="exact interval", **thin)
    main.plot(x, y, "o", color=VERMILION, markersize=3 if small else 6, label="observed rate")
    left, right = axis.place(table.left), axis.place(table.right)
    _stack(axes.sizes, left, right - left, result, metric)
    for log, line, bound in (
        (axis.logit, main.xaxis, main.set_xlim),
        (axis.logit, main.yaxis, main.set_ylim),
        (axis.logit, axes.sizes.xaxis, axes.sizes.set_xlim),
    ):
        line.axes.set(**{f"{line.axis_name}scale": "logit" if log else "linear"})
        probability_axis(line, bound, axis)
    main.xaxis.set_ticklabels([])
    _histogram_beside(axes.histogram, histogram, margins_of(result, metric, axis), axis)
    main.set_ylabel("observed rate" + ", logit scale" * axis.logit)
    axes.sizes.set_xlabel("mean prediction" + ", logit scale" * axis.logit)
    main.legend(loc="lower left", bbox_to_anchor=(-0.02, 1.0), ncols=3, frameon=False, fontsize="small", borderpad=0)
    entitle(axes.main, title, _fold(describe(result, metric), _inches(ax, main)))
    return axes


def draw_errors(
    result: Result,
    metric: str | None = None,
    *,
    scale: Limits | None = None,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Where the predictions are wrong: along the score axis, the share rejected as too high (orange-red, upwards) and
    as too low (blue, downwards), over all predictions in grey. What lies beyond a logit axis has bars of its own at
    the margins, with its count."""
    plt = need_matplotlib()
    axis = fit_axis([result], metric, scale)
    _, histogram, outline = drawn_of(result, metric, axis.logit)
    ax = plt.subplots(figsize=(8, 3.6), layout="constrained")[1] if ax is None else ax
    if axis.logit:
        ax.set_xscale("logit")
    edges, n = np.clip(histogram.edges, axis.first, axis.last), np.maximum(histogram.n, 1)
    margins = margins_of(result, metric, axis)
    back = ax.twinx()
    back.stairs(histogram.n, edges, fill=True, color=GREY, alpha=0.35)
    most = 1.2 * max(histogram.n.max(), *(margin.n for margin in margins), 1)
    back.set_ylim(-most, most)
    back.set_yticks([])
    ax.set_zorder(back.get_zorder() + 1)
    ax.patch.set_visible(False)
    ax.stairs(100 * outline.n_too_high / n, edges, fill=True, color=VERMILION, label="rejected: prediction too high")
    ax.stairs(-100 * outline.n_too_low / n, edges, fill=True, color=BLUE, label="rejected: prediction too low")
    ax.fill_between([], [], color=GREY, alpha=0.35, label="all predictions (number)")
    for margin in margins:
        bar = {"x": margin.left, "width": margin.right - margin.left, "align": "edge"}
        back.bar(height=margin.n, color=GREY, alpha=0.35, **bar)
        ax.bar(height=100 * margin.n_too_high / margin.n, color=VERMILION, **bar)
        ax.bar(height=-100 * margin.n_too_low / margin.n, color=BLUE, **bar)
        text: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": "small"}
        text |= {"ha": "left", "xytext": (4, 0)} if margin.place == axis.low else {"ha": "right", "xytext": (-4, 0)}
        ax.annotate(", ".join(margin.words), (axis.limits[margin.place == axis.high], 110), **text)
    ax.axhline(0, color=DARK, linewidth=0.8)
    ax.set_ylim(-120, 120)
    ax.set_yticks([-100, -50, 0, 50, 100], ["100 %", "50 %", "0", "50 %", "100 %"])
    probability_axis(ax.xaxis, ax.set_xlim, axis)
    ax.set_xlabel("prediction" + ", logit scale" * axis.logit)
    ax.set_ylabel("share rejected")
    ax.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=3, frameon=False, fontsize="small", borderpad=0)
    entitle(ax, title, describe(result, metric))
    return ax


def inline_diagram(result: Result) -> str:
    """The test-based diagram as an HTML image, for notebooks; nothing where it cannot be drawn."""
    try:
        figure = need_matplotlib("matplotlib.figure").Figure(figsize=(7, 5.2), layout="constrained")
    except ImportError:
        return ""
    if result.scores is None:
        return ""
    draw_test_based(result, ax=figure.subplots())
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=80)
    data = base64.b64encode(stream.getvalue()).decode()
    return f'<img alt="Test-based reliability diagram" src="data:image/png;base64,{data}">'


def describe(result: Result, metric: str | None = None) -> str:
    """The numbers in a diagram's title: the value, by chance, N, prevalence."""
    name = next(iter(result.values)) if metric is None else metric
    value = f"{format_name(name)} {result.format(name)}"
    if name in result.references:
        value += f" (by chance {result.metrics[name].format(result.references[name].mean)})"
    return f"{value}   N = {result.n:,}   {100 * result.prevalence:.4g} % positive"


def _frame(ax: Any) -> DiagramAxes:
    if ax is None:
        ax = need_matplotlib().subplots(figsize=(8, 6), layout="constrained")[1]
    ax.set_axis_off()
    main = ax.inset_axes((0, 0.36, 0.82, 0.64))
    sizes = ax.inset_axes((0, 0, 0.82, 0.27))
    histogram = ax.inset_axes((0.835, 0.36, 0.165, 0.64))
    for part in (main, sizes, histogram):
        part.spines[["top", "right"]].set_visible(False)
    return DiagramAxes(main, sizes, histogram)


def _fold(numbers: str, inches: float) -> str:
    """The numbers of a title in two lines where there is no room for one."""
    return numbers if inches > 5 else numbers.replace("   N", "\nN", 1)


def _inches(ax: Any, main: Any) -> float:
    figure = main.get_figure(root=True)
    whole = figure.get_size_inches()[0]
    return float(0.72 * whole if ax is None else 0.8 * ax.get_position().width * whole)


def _boxes(ax: Any, x: tuple[Floats, Floats], y: tuple[Floats, Floats], **style: Any) -> None:
    (left, right), (low, high) = x, y
    corners = np.stack([left, low, right, low, right, high, left, high], axis=1).reshape(-1, 4, 2)
    ax.add_collection(need_matplotlib("matplotlib.collections").PolyCollection(corners, **style), autolim=False)


def _sizes_by_bin(ax: Any, result: Result, metric: str | None, half: np.float64) -> None:
    count = len(table_of(result, metric))
    _stack(ax, np.arange(1.0, count + 1) - half, np.full(count, 2 * half), result, metric)


def _stack(ax: Any, left: Floats, width: Floats, result: Result, metric: str | None) -> None:
    """Bars of sizes, and before them of what is rejected."""
    table = table_of(result, metric)
    edge = "white" if len(table) <= MANY else "none"
    ax.bar(left, table.n, width, align="edge", color=GREY, edgecolor=edge, linewidth=0.5, label="predictions")
    ax.bar(left, table.n_refuted, width, align="edge", color=VERMILION, edgecolor=edge, linewidth=0.5, label="rejected")
    ax.set_ylim(0, 1.08 * table.n.max())
    ax.set_ylabel("predictions")
    ax.yaxis.set_major_locator(need_matplotlib("matplotlib.ticker").MaxNLocator(3, integer=True))
    ax.yaxis.set_major_formatter(need_matplotlib("matplotlib.ticker").FuncFormatter(short_count))
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 0.9), frameon=False, fontsize="small", handlelength=1)


def short_count(n: float, _: int = 0) -> str:
    """A number of observations on a tick."""
    if n >= 1e6:
        return f"{n / 1e6:g}M"
    return f"{n / 1e3:g}k" if n >= 1e4 else f"{n:,.0f}"


def _histogram_beside(ax: Any, histogram: Histogram, margins: list[Margin], axis: Axis) -> None:
    if axis.logit:
        ax.set_yscale("logit")
    edges = axis.place(histogram.edges)
    ax.barh(edges[:-1], histogram.n, np.diff(edges), align="edge", color=GREY)
    probability_axis(ax.yaxis, ax.set_ylim, axis)
    ax.yaxis.set_ticklabels([])
    most = max(1, int(histogram.n.max()))
    for margin in margins:
        most = max(most, margin.n)
        ax.hlines(margin.place, 0, margin.n, color=DARK, linewidth=4)
        text = {"textcoords": "offset points", "ha": "left", "fontsize": "small", "xycoords": ax.get_yaxis_transform()}
        text |= {"va": "bottom", "xytext": (3, 3)} if margin.place == axis.low else {"va": "top", "xytext": (3, -3)}
        ax.annotate("\n".join(margin.words), (0, margin.place), **text)
    ax.set_xlim(0, 1.05 * most)
    ax.xaxis.set_major_locator(need_matplotlib("matplotlib.ticker").MaxNLocator(1, integer=True, prune="lower"))
    ax.xaxis.set_major_formatter(need_matplotlib("matplotlib.ticker").FuncFormatter(short_count))
    ax.set_xlabel("all", fontsize="small")


def probability_axis(line: Any, bound: Any, axis: Axis) -> None:
    """Limits and ticks of a probability axis."""
    ticker = need_matplotlib("matplotlib.ticker")
    if axis.logit:
        line.axes.set(**{f"{line.axis_name}scale": "logit"})
    bound(*axis.limits)
    line.set_major_locator(ticker.FixedLocator(axis.ticks))
    line.set_major_formatter(ticker.FixedFormatter(axis.labels))
    line.set_minor_locator(ticker.NullLocator())


def entitle(ax: Any, title: str | None, numbers: str, pad: float = 22) -> None:
    """A title above numbers; dollar signs stay dollar signs."""
    ax.set_title("\n".join(filter(None, [title, numbers])).replace("$", r"\$"), loc="left", fontsize="medium", pad=pad)
