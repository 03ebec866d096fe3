"""Interactive figures, as the plain data that plotly draws: traces and layouts made from a `Result`.

On the logit scale positions are log-odds and the ticks are labelled with probabilities.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from truecal.observations import Floats
from truecal.plot._axis import (
    BLUE,
    DARK,
    GREY,
    VERMILION,
    Axis,
    Figure,
    Limits,
    Margin,
    counted_beyond,
    drawn_of,
    edge_ticks,
    fit_axis,
    margins_of,
    rounded,
    table_of,
    violins_of,
)
from truecal.plot._comparisons import binnings_of
from truecal.results import BinTable, Result

BAND = "rgba(0,114,178,0.25)"
MANY = 60


def need_plotly(module: str = "plotly.offline") -> Any:
    """A module of plotly, or an error that says how to get it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError("Interactive figures and reports need plotly: pip install 'truecal[report]'") from error


def draw_interactive(result: Result, metric: str | None = None, *, scale: Limits | None = None) -> Any:
    """The test-based reliability diagram as a plotly figure, for notebooks: hovering a bin shows its numbers."""
    objects = need_plotly("plotly.graph_objects")
    figure = objects.Figure(diagram_figure(result, metric, scale))
    return figure.update_layout(template="plotly_white", height=560)


def diagram_figure(result: Result, metric: str | None, scale: Limits | None) -> Figure:
    """The test-based reliability diagram: band, violins, rates, sizes below, all predictions at the right."""
    table = table_of(result, metric)
    axis = fit_axis([result], metric, scale)
    _, _, outline = drawn_of(result, metric, axis.logit)
    held = np.flatnonzero(table.n > 0)
    half = 0.5 if len(table) > MANY else 0.45
    low, high = axis.at(table.accepted_low[held]), axis.at(table.accepted_high[held])
    left, right = held + 1 - half, held + 1 + half
    inner, heights, width = violins_of(outline, axis)
    y, reach, centre = axis.at(heights), (0.5 if len(table) > MANY else 0.36) * width, inner[:, None] + 1
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
            "line": {"color": VERMILION, "width": 1.5 if len(table) > MANY else 3},
            "hoverinfo": "skip",
        },
        {
            "type": "scatter",
            "mode": "markers",
            "name": "bins",
            "x": (held + 1).tolist(),
            "y": rounded(rate),
            "marker": {"color": VERMILION, "size": 3 if len(table) > MANY else 6},
            "hovertext": [texts[i] for i in held],
            "hoverinfo": "text",
            "showlegend": False,
        },
        *_sizes((np.arange(len(table)) + 1.0).tolist(), 2 * half, table, texts),
        *_beside(result, metric, axis),
    ]
    margins = margins_of(result, metric, axis)
    for margin in margins:
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": ", ".join(margin.words),
                "x": (margin.bins + 1).tolist(),
                "y": [float(axis.at(margin.place))] * len(margin.bins),
                "marker": {"color": DARK, "symbol": "diamond", "size": 4 if len(table) > MANY else 9},
                "meta": "ink",
                "hoverinfo": "skip",
                "showlegend": False,
            }
        )
    layout = _layout(axis, "probability" + ", logit scale" * axis.logit, margins)
    numbers = {"tickmode": "linear", "tick0": 1, "dtick": 1} if len(table) <= 12 else {"tickmode": "auto"}
    places, names = edge_ticks(table, 25)
    edges = {"tickvals": places, "ticktext": names, "tickangle": -90 if len(names) > 7 else 0}
    layout["xaxis"] |= {"range": [0.4, len(table) + 0.6], **numbers}
    layout["xaxis3"] |= {"matches": "x", "title": {"text": "bins, by their edges"}, **edges}
    return {"data": traces, "layout": layout}


def reliability_figure(result: Result, metric: str, scale: Limits | None) -> Figure:
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
            "marker": {"color": VERMILION, "size": 4 if len(held) > MANY else 8},
            "hovertext": [texts[i] for i in held],
            "hoverinfo": "text",
        },
        *_sizes(rounded((left + right) / 2), rounded(right - left), table, texts),
        *_beside(result, metric, axis),
    ]
    layout = _layout(axis, "observed rate" + ", logit scale" * axis.logit, margins_of(result, metric, axis))
    layout["xaxis"] |= {"range": layout["yaxis"]["range"], "showticklabels": False, "hoverformat": ".4g"}
    layout["xaxis3"] |= {**_ticks(axis), "matches": "x"}
    layout["xaxis3"]["title"] = {"text": "mean prediction" + ", logit scale" * axis.logit}
    layout["hovermode"] = "closest"
    return {"data": traces, "layout": layout}


def errors_figure(result: Result, metric: str | None, scale: Limits | None) -> Figure:
    """Along the score axis, the share of predictions rejected as too high and as too low; the margins at the end."""
    axis = fit_axis([result], metric, scale)
    _, histogram, outline = drawn_of(result, metric, axis.logit)
    margins = margins_of(result, metric, axis)
    edges = np.clip(histogram.edges, axis.first, axis.last)
    left = axis.at(np.append(edges[:-1], [margin.left for margin in margins]))
    right = axis.at(np.append(edges[1:], [margin.right for margin in margins]))
    n = np.append(histogram.n, [margin.n for margin in margins]).astype(np.int64)
    pairs = zip(histogram.edges[:-1].tolist(), histogram.edges[1:].tolist(), strict=True)
    where = [f"predictions {start:.3g} to {end:.3g}" for start, end in pairs]
    where += ["predictions beyond the axis: " + ", ".join(margin.words) for margin in margins]
    bars = {"type": "bar", "x": rounded((left + right) / 2), "width": rounded(right - left), "hoverinfo": "text"}
    crowd = {"name": "all predictions (number)", "y": n.tolist(), "hoverinfo": "skip"}
    traces = [{**bars, **crowd, "marker": {"color": GREY, "opacity": 0.4}}]
    for name, colour, sign, cells, ends in (
        ("too high", VERMILION, 1, outline.n_too_high, [margin.n_too_high for margin in margins]),
        ("too low", BLUE, -1, outline.n_too_low, [margin.n_too_low for margin in margins]),
    ):
        count = np.append(cells, ends).astype(np.int64)
        texts = [
            f"{place}<br>{part:,} of {whole:,} rejected as {name}"
            for place, part, whole in zip(where, count.tolist(), n.tolist(), strict=True)
        ]
        share = rounded(sign * 100 * count / np.maximum(n, 1))
        shown = {"name": f"rejected: {name}", "yaxis": "y2", "y": share, "marker": {"color": colour}}
        traces.append({**bars, **shown, "hovertext": texts})
    top = 1.2 * max(1, int(n.max()))
    layout = {
        "barmode": "overlay",
        "bargap": 0,
        "hovermode": "closest",
        "annotations": [
            {"text": ", ".join(margin.words), "x": i, "xref": "paper", "xanchor": ("left", "right")[i], "y": 110,
             "yref": "y2", "showarrow": False, "font": {"size": 11}}
            for margin in margins for i in [int(margin.place == axis.high)]
        ],
        "xaxis": {**_ticks(axis), "title": {"text": "prediction" + ", logit scale" * axis.logit}},
        "yaxis": {"range": [-top, top], "visible": False},
        "yaxis2": {
            "overlaying": "y",
            "range": [-120, 120],
            "tickvals": [-100, -50, 0, 50, 100],
            "ticktext": ["100 %", "50 %", "0", "50 %", "100 %"],
            "title": {"text": "share rejected"},
        },
    }  # fmt: skip
    return {"data": traces, "layout": layout}


def binnings_figure(result: Result, scale: Limits | None) -> Figure:
    """The binnings of a result under each other: edges dotted, sizes grey, rates orange-red, along the score axis."""
    axis = fit_axis([result], None, scale)
    names = binnings_of(result)
    ends = axis.at(np.array([axis.low, axis.high]))
    traces: list[Figure] = []
    layout: Figure = {"barmode": "overlay", "hovermode": "closest", "annotations": [], "height": 90 + 150 * len(names)}
    layout["xaxis"] = {
        **_ticks(axis),
        "title": {"text": "prediction" + ", logit scale" * axis.logit + counted_beyond(result, names[0], axis)},
        "showgrid": False,
    }
    for i, name in enumerate(names):
        table = table_of(result, name)
        texts, held = hover_texts(table), np.flatnonzero(table.n > 0)
        left, right, rate = axis.at(table.left), axis.at(table.right), axis.at(table.rate)
        size, above = f"y{2 * i + 1}" if i else "y", f"y{2 * i + 2}"
        edges = np.append(left, right[-1])
        lines = _line(np.stack([edges, edges], 1), np.tile(ends, (len(edges), 1)))
        rates = _line(np.stack([left, right], 1)[held], np.stack([rate, rate], 1)[held])
        bars = {"x": rounded((left + right) / 2), "width": rounded(right - left), "y": table.n.tolist(), "yaxis": size}
        shown = {"yaxis": above, "hoverinfo": "skip", "showlegend": i == 0}
        traces += [
            {"type": "bar", "name": "size", **bars, "marker": {"color": GREY, "opacity": 0.5}, "hovertext": texts,
             "hoverinfo": "text", "showlegend": i == 0},
            {**lines, "name": "edges", "line": {"color": DARK, "width": 1, "dash": "dot"}, "meta": "ink", **shown},
            {**rates, "name": "observed rate", "line": {"color": VERMILION, "width": 2}, **shown},
        ]  # fmt: skip
        high = 1 - i / len(names)
        domain = [high - 0.78 / len(names), high - 0.1 / len(names)]
        axes = {"domain": domain, "anchor": "x", "zeroline": False, "showgrid": False}
        layout[f"yaxis{size[1:]}"] = {**axes, "side": "right", "nticks": 3, "title": {"text": "size"}}
        ticks = _ticks(axis)
        ticks |= {key: ticks[key][::2] for key in ("tickvals", "ticktext")}
        layout[f"yaxis{above[1:]}"] = {**axes, **ticks, "overlaying": size, "title": {"text": "rate"}}
        layout["annotations"].append(
            {"text": f"{result.metrics[name].bins} ({len(held):,} not empty)", "x": 0, "xref": "paper",
             "xanchor": "left", "y": domain[1], "yref": "paper", "yanchor": "bottom", "showarrow": False}
        )  # fmt: skip
    layout["xaxis"]["anchor"] = size
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
            lines.append(f"rejected {100 * table.refuted[i]:.1f} % ({table.n_refuted[i]:,})")
            span = f"({table.ratio_low[i]:.3g} to {table.ratio_high[i]:.3g})"
            lines.append(f"observed / expected {table.ratio[i]:.3g} {span}")
        texts.append("<br>".join(lines))
    return texts


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
        {**bars, "name": "rejected", "y": table.n_refuted.tolist(), "marker": {"color": VERMILION},
         "hoverinfo": "skip"},
    ]  # fmt: skip


def _beside(result: Result, metric: str | None, axis: Axis) -> list[Figure]:
    """All predictions, and those at the margins."""
    _, histogram, _ = drawn_of(result, metric, axis.logit)
    edges = axis.at(np.clip(histogram.edges, axis.first, axis.last))
    margins = margins_of(result, metric, axis)
    bars = {"type": "bar", "orientation": "h", "xaxis": "x2", "yaxis": "y", "showlegend": False}
    inner = {"x": histogram.n.tolist(), "y": rounded((edges[1:] + edges[:-1]) / 2), "width": rounded(np.diff(edges))}
    traces: list[Figure] = [
        {**bars, **inner, "name": "all predictions", "marker": {"color": GREY}, "hoverinfo": "x"},
    ]
    for margin in margins:
        outer = {"x": [margin.n], "y": [float(axis.at(margin.place))], "width": 0.01 * float(edges[-1] - edges[0])}
        words = {"name": "beyond", "hovertext": ", ".join(margin.words), "hoverinfo": "text", "meta": "ink"}
        traces.append({**bars, **outer, **words, "marker": {"color": DARK}})
    return traces


def _ticks(axis: Axis) -> Figure:
    ends = axis.at(np.array([axis.low, axis.high]))
    pad = 0.02 * (ends[1] - ends[0])
    at = rounded(axis.at(np.array(axis.ticks)))
    ticks = {"tickvals": at, "ticktext": list(axis.labels), "zeroline": False}
    return {"range": rounded(ends + np.array([-pad, pad])), **ticks}


def _layout(axis: Axis, title: str, margins: list[Margin]) -> Figure:
    notes = []
    for margin in margins:
        place = {"x": 1, "xref": "paper", "xanchor": "right", "y": float(axis.at(margin.place)), "yref": "y"}
        side = {"yanchor": "bottom", "yshift": 4} if margin.place == axis.low else {"yanchor": "top", "yshift": -4}
        text = {"text": "<br>".join(margin.words), "align": "right", "showarrow": False, "font": {"size": 11}}
        notes.append({**place, **side, **text})
    return {
        "barmode": "overlay",
        "bargap": 0,
        "hovermode": "x",
        "annotations": notes,
        "xaxis": {"domain": [0, 0.84], "anchor": "y", "zeroline": False, "showgrid": False},
        "xaxis2": {"domain": [0.86, 1], "anchor": "y", "nticks": 2, "showgrid": False},
        "xaxis3": {"domain": [0, 0.84], "anchor": "y3", "zeroline": False, "showgrid": False},
        "yaxis": {**_ticks(axis), "domain": [0.36, 1], "title": {"text": title}},
        "yaxis3": {"domain": [0, 0.24], "anchor": "x3", "title": {"text": "predictions"}, "nticks": 4},
    }
