"""The paper's pictures in plain matplotlib: they read tables of bins and compute nothing but positions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import SubFigure
from numpy.typing import NDArray

from truecal import BinTable

GREY, RED, BLUE, PALE = "0.65", "tab:red", "tab:blue", "#cfe3f3"
LOGIT_TICKS = (1e-6, 1e-4, 1e-2, 0.1, 0.5, 0.9, 0.99, 0.9999)
Floats = NDArray[np.float64]


def draw_test_based(figure: SubFigure, title: str, table: BinTable, score: Floats, *, logits: bool = False) -> None:
    """Per bin a violin of its predictions, the rate in red, the accepted band in pale blue; below it the sizes with the
    rejected share in red; at the right a histogram of all predictions. `logits` stretches both ends of the axis."""
    main, below, right = _axes(figure, title)
    height = _logit if logits else np.asarray
    places = np.arange(1, len(table) + 1)
    inside = np.digitize(score, table.right[:-1])
    for place in places:
        i = place - 1
        edges = [place - 0.45, place + 0.45]
        band = height(table.accepted_low[i]), height(table.accepted_high[i])
        main.fill_between(edges, *band, color=PALE, lw=0, zorder=0)
        _draw_violin(main, int(place), height(score[inside == i]))
        main.plot(edges, [height(table.rate[i])] * 2, color=RED, lw=2, zorder=3)
    main.set(ylabel="prediction", xlim=(0.3, len(table) + 0.7))
    if logits:
        main.set_yticks(_logit(np.array(LOGIT_TICKS)), [f"{tick:g}" for tick in LOGIT_TICKS])
    below.bar(places, table.n, color=GREY, width=0.9)
    below.bar(places, table.rejected, color=RED, width=0.9)
    below.set(xlabel="bin", ylabel="rows")
    main.plot([], [], color=RED, lw=2, label="rate of positives")
    main.fill_between([], [], [], color=PALE, label="accepted by the test")
    main.legend(loc="upper left", frameon=False, fontsize=8)
    _draw_histogram(right, height(score))
    right.set_ylim(main.get_ylim())
    right.tick_params(labelright=not logits)


def draw_standard(figure: SubFigure, title: str, table: BinTable, score: Floats) -> None:
    """Rate against mean prediction of each bin, the diagonal, sizes below and a histogram at the right."""
    main, below, right = _axes(figure, title)
    held = table.n > 0
    width = table.right - table.left
    middle = (table.left + table.right) / 2
    main.plot([0, 1], [0, 1], color="0.5", ls="--", lw=1)
    main.plot(table.mean[held], table.rate[held], color=BLUE, marker="o", ms=4, lw=1)
    main.set(ylabel="rate of positives", ylim=(-0.02, 1.02), xlim=(-0.02, 1.02))
    below.bar(middle, table.n, width=width, color=GREY, edgecolor="white", lw=0.5)
    below.set(xlabel="prediction", ylabel="rows")
    _draw_histogram(right, score)


def draw_binnings(sizes: Mapping[str, Axes], rates: Mapping[str, Axes], tables: Mapping[str, BinTable]) -> None:
    """Each binning in a row: dotted edges, grey sizes at the left and red rates at the right."""
    for name, table in tables.items():
        width, middle = table.right - table.left, (table.left + table.right) / 2
        sizes[name].bar(middle, table.n, width=width, color=GREY, lw=0)
        rates[name].bar(middle, table.rate, width=width, color=RED, alpha=0.25, lw=0)
        rates[name].hlines(table.rate, table.left, table.right, color=RED, lw=1.5)
        for axes, what in ((sizes[name], "rows"), (rates[name], "rate of positives")):
            for edge in (0.0, *table.right):
                axes.axvline(edge, color="0.3", ls=":", lw=0.8)
            axes.set(xlim=(0, 1), ylabel=what)
            axes.set_title(f"{name}: {len(table)} bins", fontsize=10, loc="left")
        rates[name].set_ylim(0, 1.02)


def _axes(figure: SubFigure, title: str) -> tuple[Axes, Axes, Axes]:
    grid: Any = figure.add_gridspec(
        2, 2, height_ratios=(3, 1), width_ratios=(5, 1), hspace=0.12, wspace=0.06, left=0.19, right=0.92
    )
    main = figure.add_subplot(grid[0, 0])
    below = figure.add_subplot(grid[1, 0], sharex=main)
    right = figure.add_subplot(grid[0, 1])
    main.tick_params(labelbottom=False)
    main.set_title(title, fontsize=10, loc="left")
    return main, below, right


def _draw_histogram(axes: Axes, score: Floats) -> None:
    """Counts on a logarithmic axis."""
    axes.hist(score, bins=40, orientation="horizontal", color=GREY, log=True)
    axes.yaxis.tick_right()
    axes.tick_params(labelsize=7)
    axes.set_title("all rows", fontsize=8)


def _draw_violin(axes: Axes, place: int, inside: Floats) -> None:
    if not len(inside):
        return
    if np.ptp(inside) < 1e-9:
        axes.plot([place - 0.3, place + 0.3], [inside[0]] * 2, color="0.3", lw=1)
        return
    parts = axes.violinplot(inside, positions=[place], widths=0.8, showextrema=False)
    for body in parts["bodies"]:  # type: ignore[attr-defined]
        body.set(facecolor="0.45", edgecolor="0.2", alpha=0.8, lw=0.5)


def _logit(p: Floats) -> Floats:
    inner = np.clip(p, 1e-7, 1 - 1e-7)
    return np.asarray(np.log(inner / (1 - inner)))
