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

from truecal.axis import BLUE, DARK, GREY, RED, Axis, Scale, drawn_of, fit_axis, table_of
from truecal.result import Result, format_value, name_metric
from truecal.shapes import Histogram, Scores, spaced
from truecal.tally import Floats

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
    scale: Scale | None = None,
    title: str | None = None,
    ax: Any = None,
    axis: Axis | None = None,
) -> DiagramAxes:
    """The test-based reliability diagram of a metric's bins, the first metric's by default.

    For each bin a violin of its predictions, the observed rate as a red line and the predictions that the test
    accepts as a band: what lies outside the band is rejected. Below, the bins' sizes in grey with the rejected
    predictions in red; at the right all predictions.

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
    >>> axes = truecal.draw_test_based(result)  # doctest: +SKIP
    """
    need_matplotlib("matplotlib")
    table = table_of(result, metric)
    axis = fit_axis([result], metric, scale) if axis is None else axis
    scores, histogram, outline = drawn_of(result, metric, axis.logit)
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
    inner = np.flatnonzero(~np.isnan(outline.low))
    heights = axis.place(spaced(outline.low[inner], outline.high[inner], outline.width.shape[1], axis.logit))
    reach = (0.5 if many else 0.36) * outline.width[inner] / 1000
    x = np.concatenate([inner[:, None] + 1 - reach, (inner[:, None] + 1 + reach)[:, ::-1]], axis=1)
    y = np.concatenate([heights, heights[:, ::-1]], axis=1)
    violins = need_matplotlib("matplotlib.collections").PolyCollection(
        np.stack([x, y], axis=2),
        facecolor=DARK,
        edgecolor=DARK,
        alpha=0.75,
        linewidth=0.3 if many else 0.8,
        label="predictions",
    )
    main.add_collection(violins, autolim=False)
    rates = axis.place(table.rate[held])
    main.hlines(rates, centre - half, centre + half, color=RED, linewidth=1.5 if many else 2.5, label="observed rate")
    if axis.logit:
        for count, position, bins in ((scores.zeros, axis.low, held[:1]), (scores.ones, axis.high, held[-1:])):
            if count:
                main.plot(bins + 1, [position], "D", color=DARK, markersize=5, clip_on=False, zorder=5)
    _sizes_by_bin(axes.sizes, result, metric, half)
    _histogram_beside(axes.histogram, histogram, scores, axis)
    probability_axis(main.yaxis, main.set_ylim, axis)
    main.set_ylabel("probability" + ", logit scale" * axis.logit)
    most = max(3, int(_inches(ax, main) / 0.32))
    span = (0.5, len(table) + 0.5)
    main.set_xlim(span)
    step = _stride(len(table), most)
    numbers = [*([1] if step > 2 else []), *range(step, len(table) + 1, step)]
    main.set_xticks(numbers, [str(number) for number in numbers], fontsize="small")
    edges = [*table.left.tolist(), float(table.right[-1])]
    step = _stride(len(edges), 2 * most if len(edges) > 7 else most)
    shown = [i for i in range(0, len(edges), step) if i == 0 or len(edges) - 1 - i >= step] + [len(edges) - 1]
    axes.sizes.set_xlim(span)
    axes.sizes.set_xticks(
        [i + 0.5 for i in shown], [f"{edges[i]:.3g}" for i in shown], rotation=90 if len(shown) > 7 else 0
    )
    axes.sizes.tick_params(axis="x", labelsize="small")
    axes.sizes.set_xlabel("bins, by their edges")
    main.legend(loc="lower left", bbox_to_anchor=(-0.02, 1.0), ncols=3, frameon=False, fontsize="small", borderpad=0)
    entitle(axes.main, title, describe(result, metric))
    return axes


def draw_reliability(
    result: Result,
    metric: str | None = None,
    *,
    scale: Scale | None = None,
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
    scores, histogram, _ = drawn_of(result, metric, axis.logit)
    axes = _frame(ax)
    main, held = axes.main, table.n > 0
    ends = np.array(axis.limits)
    main.plot(ends, ends, color=GREY, linewidth=1, linestyle="--", label="perfect")
    x, y = axis.place(table.mean[held]), axis.place(table.rate[held])
    low, high = axis.place(table.rate_low[held]), axis.place(table.rate_high[held])
    small = held.sum() > MANY
    main.vlines(x, low, high, color=DARK, linewidth=0.8 if small else 1.5, label="exact interval")
    main.plot(x, y, "o", color=RED, markersize=3 if small else 6, label="observed rate")
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
    _histogram_beside(axes.histogram, histogram, scores, axis)
    main.set_ylabel("observed rate" + ", logit scale" * axis.logit)
    axes.sizes.set_xlabel("mean prediction" + ", logit scale" * axis.logit)
    main.legend(loc="lower left", bbox_to_anchor=(-0.02, 1.0), ncols=3, frameon=False, fontsize="small", borderpad=0)
    entitle(axes.main, title, describe(result, metric))
    return axes


def draw_errors(
    result: Result,
    metric: str | None = None,
    *,
    scale: Scale | None = None,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Where the predictions are wrong: along the score axis, the share rejected as too high (red, upwards) and as too
    low (blue, downwards), over all predictions in grey."""
    plt = need_matplotlib()
    axis = fit_axis([result], metric, scale)
    scores, histogram, outline = drawn_of(result, metric, axis.logit)
    ax = plt.subplots(figsize=(8, 3.6), layout="constrained")[1] if ax is None else ax
    if axis.logit:
        ax.set_xscale("logit")
    edges, n = axis.place(histogram.edges), np.maximum(histogram.n, 1)
    back = ax.twinx()
    back.stairs(histogram.n, edges, fill=True, color=GREY, alpha=0.35)
    back.set_ylim(-1.1 * histogram.n.max(), 1.1 * histogram.n.max())
    back.set_yticks([])
    ax.set_zorder(back.get_zorder() + 1)
    ax.patch.set_visible(False)
    ax.stairs(100 * outline.too_high / n, edges, fill=True, color=RED, label="rejected: prediction too high")
    ax.stairs(-100 * outline.too_low / n, edges, fill=True, color=BLUE, label="rejected: prediction too low")
    ax.fill_between([], [], color=GREY, alpha=0.35, label="all predictions (number)")
    ax.axhline(0, color=DARK, linewidth=0.8)
    ax.set_ylim(-110, 110)
    ax.set_yticks([-100, -50, 0, 50, 100], ["100 %", "50 %", "0", "50 %", "100 %"])
    probability_axis(ax.xaxis, ax.set_xlim, axis)
    ax.set_xlabel("prediction" + ", logit scale" * axis.logit + _extremes(scores) * axis.logit)
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
    value = f"{name_metric(name)} {result.format(name)}"
    if name in result.references:
        value += f" (by chance {format_value(result.references[name].mean, result.metrics[name])})"
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


def _inches(ax: Any, main: Any) -> float:
    figure = main.get_figure(root=True)
    whole = figure.get_size_inches()[0]
    return float(0.72 * whole if ax is None else 0.8 * ax.get_position().width * whole)


def _stride(count: int, most: int) -> int:
    return next(
        step for step in (1, 2, 5, 10, 20, 25, 50, 100, 200, 500, count) if count <= step * most or step == count
    )


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
    ax.bar(left, table.rejected, width, align="edge", color=RED, edgecolor=edge, linewidth=0.5, label="rejected")
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


def _histogram_beside(ax: Any, histogram: Histogram, scores: Scores, axis: Axis) -> None:
    if axis.logit:
        ax.set_yscale("logit")
    edges = axis.place(histogram.edges)
    ax.barh(edges[:-1], histogram.n, np.diff(edges), align="edge", color=GREY)
    probability_axis(ax.yaxis, ax.set_ylim, axis)
    ax.yaxis.set_ticklabels([])
    most = max(1, int(histogram.n.max()))
    if axis.logit:
        for count, position, value, side in (
            (scores.zeros, axis.low, 0, "bottom"),
            (scores.ones, axis.high, 1, "top"),
        ):
            if count:
                most = max(most, count)
                ax.hlines(position, 0, count, color=DARK, linewidth=4)
                place = ax.get_yaxis_transform()
                ax.text(0.98, position, f"{count:,} at {value}", transform=place, ha="right", va=side, fontsize="small")
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


def _extremes(scores: Scores) -> str:
    parts = [f"{count:,} exactly {value}" for count, value in ((scores.zeros, 0), (scores.ones, 1)) if count]
    return f" ({' and '.join(parts)} not shown)" if parts else ""


def entitle(ax: Any, title: str | None, numbers: str, pad: float = 22) -> None:
    """A title above numbers; dollar signs stay dollar signs."""
    ax.set_title("\n".join(filter(None, [title, numbers])).replace("$", r"\$"), loc="left", fontsize="medium", pad=pad)
