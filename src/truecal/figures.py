"""Interactive figures, as the plain data that plotly draws: traces and layouts made from a `Result`.

On the logit scale positions are log-odds and the ticks are labelled with probabilities.
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from truecal.axis import BLUE, DARK, GREY, RED, Axis, Scale, drawn_of, fit_axis, table_of
from truecal.comparisons import COLOURS, kind_of
from truecal.result import Result, format_value, name_metric
from truecal.shapes import spaced
from truecal.table import BinTable
from truecal.tally import Floats

Figure = dict[str, Any]
BAND = "rgba(0,114,178,0.25)"
MANY = 60


def need_plotly(module: str = "plotly.offline") -> Any:
    """A module of plotly, or an error that says how to get it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError("Interactive figures and reports need plotly: pip install 'truecal[report]'") from error


def draw_interactive(result: Result, metric: str | None = None, *, scale: Scale | None = None) -> Any:
    """The test-based reliability diagram as a plotly figure, for notebooks: hovering a bin shows its numbers."""
    objects = need_plotly("plotly.graph_objects")
    figure = objects.Figure(diagram_figure(result, metric, scale))
    return figure.update_layout(template="plotly_white", height=560)


def diagram_figure(result: Result, metric: str | None, scale: Scale | None) -> Figure:
    """The test-based reliability diagram: band, violins, rates, sizes below, all predictions at the right."""
    table = table_of(result, metric)
    axis = fit_axis([result], metric, scale)
    scores, _, outline = drawn_of(result, metric, axis.logit)
    held = np.flatnonzero(table.n > 0)
    half = 0.5 if len(table) > MANY else 0.45
    low, high = axis.at(table.accepted_low[held]), axis.at(table.accepted_high[held])
    left, right = held + 1 - half, held + 1 + half
    inner = np.flatnonzero(~np.isnan(outline.low))
    y = axis.at(spaced(outline.low[inner], outline.high[inner], outline.width.shape[1], axis.logit))
    reach = (0.5 if len(table) > MANY else 0.36) * outline.width[inner] / 1000
    centre = inner[:, None] + 1
    rate, texts = axis.at(table.rate[held]), hover_texts(table)
    traces = [
        _polygons(np.stack([left, right, right, left], 1), np.stack([low, low, high, high], 1), BAND, "accepted"),
        _polygons(
            np.concatenate([centre - reach, (centre + reach)[:, ::-1]], 1),
            np.concatenate([y, y[:, ::-1]], 1),
            DARK,
            "predictions",
        ),
        {
            **_line(np.stack([left, right], 1), np.stack([rate, rate], 1)),
            "name": "observed rate",
            "line": {"color": RED, "width": 1.5 if len(table) > MANY else 3},
            "hoverinfo": "skip",
        },
        {
            "type": "scatter",
            "mode": "markers",
            "name": "bins",
            "x": (held + 1).tolist(),
            "y": rounded(rate),
            "marker": {"color": RED, "size": 3 if len(table) > MANY else 6},
            "hovertext": [texts[i] for i in held],
            "hoverinfo": "text",
            "showlegend": False,
        },
        *_sizes((np.arange(len(table)) + 1.0).tolist(), 2 * half, table, texts),
        _beside(result, metric, axis),
    ]
    notes = []
    for count, where, bins, value in ((scores.zeros, axis.low, held[:1], 0), (scores.ones, axis.high, held[-1:], 1)):
        if count and axis.logit:
            traces.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "name": f"exactly {value}",
                    "x": (bins + 1).tolist(),
                    "y": rounded(axis.at(np.array([where]))),
                    "marker": {"color": DARK, "symbol": "diamond", "size": 9},
                    "meta": "ink",
                    "hoverinfo": "skip",
                    "showlegend": False,
                }
            )
            place = {"x": 1, "xref": "paper", "xanchor": "right", "y": float(axis.at(where)), "yref": "y"}
            notes.append({**place, "text": f"{count:,} at {value}", "showarrow": False, "font": {"size": 11}})
    layout = _layout(axis, "probability" + ", logit scale" * axis.logit, notes)
    ticks = {"tickmode": "linear", "tick0": 1, "dtick": 1} if len(table) <= 12 else {"tickmode": "auto"}
    layout["xaxis"] |= {"range": [0.4, len(table) + 0.6], **ticks}
    layout["xaxis3"] |= {"matches": "x", "title": {"text": "bin"}, **ticks}
    return {"data": traces, "layout": layout}


def reliability_figure(result: Result, metric: str, scale: Scale | None) -> Figure:
    """The standard reliability diagram of a metric's bins, with the same margins."""
    table = table_of(result, metric)
    axis = fit_axis([result], metric, scale, wide=False)
    held = np.flatnonzero(table.n > 0)
    texts = hover_texts(table)
    x, y = axis.at(table.mean[held]), axis.at(table.rate[held])
    low, high = axis.at(table.rate_low[held]), axis.at(table.rate_high[held])
    ends = rounded(axis.at(np.array([axis.low, axis.high])))
    left, right = axis.at(table.left), axis.at(table.right)
    traces = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": "perfect",
            "x": ends,
            "y": ends,
            "line": {"color": GREY, "dash": "dash", "width": 1},
            "hoverinfo": "skip",
        },
        {
            **_line(np.stack([x, x], 1), np.stack([low, high], 1)),
            "name": "exact interval",
            "line": {"color": DARK, "width": 1.5},
            "meta": "ink",
            "hoverinfo": "skip",
        },
        {
            "type": "scatter",
            "mode": "markers",
            "name": "observed rate",
            "x": rounded(x),
            "y": rounded(y),
            "marker": {"color": RED, "size": 4 if len(held) > MANY else 8},
            "hovertext": [texts[i] for i in held],
            "hoverinfo": "text",
        },
        *_sizes(rounded((left + right) / 2), rounded(right - left), table, texts),
        _beside(result, metric, axis),
    ]
    layout = _layout(axis, "observed rate" + ", logit scale" * axis.logit, [])
    layout["xaxis"] |= {"range": layout["yaxis"]["range"], "showticklabels": False, "hoverformat": ".4g"}
    layout["xaxis3"] |= {**_ticks(axis), "matches": "x"}
    layout["xaxis3"]["title"] = {"text": "mean prediction" + ", logit scale" * axis.logit}
    layout["hovermode"] = "closest"
    return {"data": traces, "layout": layout}


def errors_figure(result: Result, metric: str | None, scale: Scale | None) -> Figure:
    """Along the score axis, the share of predictions rejected as too high and as too low."""
    axis = fit_axis([result], metric, scale)
    _, histogram, outline = drawn_of(result, metric, axis.logit)
    edges = axis.at(histogram.edges)
    n, top = np.maximum(histogram.n, 1), max(1, int(histogram.n.max()))
    bars = {
        "type": "bar",
        "x": rounded((edges[1:] + edges[:-1]) / 2),
        "width": rounded(np.diff(edges)),
        "hoverinfo": "text",
    }
    crowd = {"name": "all predictions (number)", "y": histogram.n.tolist(), "hoverinfo": "skip"}
    traces = [{**bars, **crowd, "marker": {"color": GREY, "opacity": 0.4}}]
    for name, colour, sign, count in (
        ("too high", RED, 1, outline.too_high),
        ("too low", BLUE, -1, outline.too_low),
    ):
        texts = [
            f"predictions {start:.3g} to {end:.3g}<br>{part:,} of {all_:,} rejected as {name}"
            for start, end, part, all_ in zip(
                histogram.edges[:-1].tolist(), histogram.edges[1:].tolist(), count.tolist(), histogram.n.tolist(),
                strict=True,
            )
        ]  # fmt: skip
        share = rounded(sign * 100 * count / n)
        traces.append(
            {
                **bars,
                "name": f"rejected: {name}",
                "yaxis": "y2",
                "y": share,
                "marker": {"color": colour},
                "hovertext": texts,
            }
        )
    layout = {
        "barmode": "overlay",
        "bargap": 0,
        "hovermode": "closest",
        "xaxis": {**_ticks(axis), "title": {"text": "prediction" + ", logit scale" * axis.logit}},
        "yaxis": {"range": [-1.1 * top, 1.1 * top], "visible": False},
        "yaxis2": {
            "overlaying": "y",
            "range": [-110, 110],
            "tickvals": [-100, -50, 0, 50, 100],
            "ticktext": ["100 %", "50 %", "0", "50 %", "100 %"],
            "title": {"text": "share rejected"},
        },
    }
    return {"data": traces, "layout": layout}


def metrics_figures(results: Mapping[str, Result]) -> dict[str, Figure]:
    """The metrics that all models share, a figure for each kind: values, intervals, and what chance would give."""
    first = next(iter(results.values()))
    kinds: dict[str, list[str]] = {}
    for name, metric in first.metrics.items():
        if all(name in result.values for result in results.values()):
            kinds.setdefault(kind_of(metric), []).append(name)
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
            metric, lines = result.metrics[name], [f"{label}<br>{html.escape(name_metric(name))} {result.format(name)}"]
            if name in result.references:
                lines.append(f"by chance {format_value(result.references[name].mean, metric)}")
            if name in result.intervals:
                span = result.intervals[name]
                ends = format_value(span.low, metric), format_value(span.high, metric)
                lines.append(f"{100 * span.confidence:g} % interval {ends[0]} to {ends[1]}")
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
    labels = {"tickvals": list(range(len(names))), "ticktext": [html.escape(name_metric(name)) for name in names]}
    layout = {
        "barmode": "overlay",
        "hovermode": "closest",
        "xaxis": {"title": {"text": kind}, "rangemode": "tozero"},
        "yaxis": {**labels, "range": [len(names) - 0.5, -0.5], "zeroline": False, "automargin": True},
        "height": 120 + 22 * len(names) * (len(results) + 1),
    }
    return {"data": traces, "layout": layout}


def hover_texts(table: BinTable) -> list[str]:
    """What is said of each bin on hovering it."""
    texts = []
    for i in range(len(table)):
        close = "]" if i == len(table) - 1 else ")"
        lines = [f"bin {i + 1}: scores [{table.left[i]:.4g}, {table.right[i]:.4g}{close}", f"n = {table.n[i]:,}"]
        if table.n[i]:
            lines[1] += f", k = {table.k[i]:,}, rate {table.rate[i]:.4g}, mean prediction {table.mean[i]:.4g}"
            lines.append(f"accepted {table.accepted_low[i]:.4g} to {table.accepted_high[i]:.4g}")
            lines.append(f"rejected {100 * table.rejected_share[i]:.1f} % ({table.rejected[i]:,})")
            span = f"({table.ratio_low[i]:.3g} to {table.ratio_high[i]:.3g})"
            lines.append(f"observed / expected {table.ratio[i]:.3g} {span}")
        texts.append("<br>".join(lines))
    return texts


def rounded(values: Floats) -> list[float | None]:
    """Numbers with six digits, enough for a screen; None for NaN."""
    return [None if np.isnan(value) else float(f"{value:.6g}") for value in np.asarray(values).tolist()]


def _polygons(x: Floats, y: Floats, colour: str, name: str) -> Figure:
    closed = np.concatenate([x, x[:, :1]], 1), np.concatenate([y, y[:, :1]], 1)
    ink = {"meta": "ink"} if colour == DARK else {}
    line = {"width": 0 if colour != DARK else 1, "color": colour}
    return {
        **_line(*closed),
        "fill": "toself",
        "fillcolor": colour,
        "line": line,
        "name": name,
        **ink,
        "hoverinfo": "skip",
    }


def _line(x: Floats, y: Floats) -> Figure:
    """Many separate lines in one trace."""
    gap = np.full((len(x), 1), np.nan)
    columns = (rounded(np.concatenate([part, gap], 1).ravel()) for part in (x, y))
    return {"type": "scatter", "mode": "lines", **dict(zip("xy", columns, strict=True))}


def _sizes(x: list[Any], width: Any, table: BinTable, texts: list[str]) -> list[Figure]:
    bars = {"type": "bar", "x": x, "width": width, "xaxis": "x3", "yaxis": "y3"}
    return [
        {**bars, "name": "size", "y": table.n.tolist(), "marker": {"color": GREY}, "hovertext": texts,
         "hoverinfo": "text", "showlegend": False},
        {**bars, "name": "rejected", "y": table.rejected.tolist(), "marker": {"color": RED}, "hoverinfo": "skip"},
    ]  # fmt: skip


def _beside(result: Result, metric: str | None, axis: Axis) -> Figure:
    _, histogram, _ = drawn_of(result, metric, axis.logit)
    edges = axis.at(histogram.edges)
    return {
        "type": "bar",
        "orientation": "h",
        "name": "all predictions",
        "x": histogram.n.tolist(),
        "y": rounded((edges[1:] + edges[:-1]) / 2),
        "width": rounded(np.diff(edges)),
        "marker": {"color": GREY},
        "xaxis": "x2",
        "yaxis": "y",
        "hoverinfo": "x",
        "showlegend": False,
    }


def _ticks(axis: Axis) -> Figure:
    ends = axis.at(np.array([axis.low, axis.high]))
    pad = 0.02 * (ends[1] - ends[0])
    at = rounded(axis.at(np.array(axis.ticks)))
    return {"range": rounded(ends + np.array([-pad, pad])), "tickvals": at, "ticktext": list(axis.labels)}


def _layout(axis: Axis, title: str, notes: list[Figure]) -> Figure:
    return {
        "barmode": "overlay",
        "bargap": 0,
        "hovermode": "x",
        "annotations": notes,
        "xaxis": {"domain": [0, 0.84], "anchor": "y", "zeroline": False, "showgrid": False},
        "xaxis2": {"domain": [0.86, 1], "anchor": "y", "nticks": 2, "showgrid": False},
        "xaxis3": {"domain": [0, 0.84], "anchor": "y3", "zeroline": False, "showgrid": False},
        "yaxis": {**_ticks(axis), "domain": [0.36, 1], "title": {"text": title}, "zeroline": False},
        "yaxis3": {"domain": [0, 0.24], "anchor": "x3", "title": {"text": "predictions"}, "nticks": 4},
    }
