"""Draw pictures with plotly: traces and a layout, as plain data.

On the logit scale positions are log-odds and the ticks are labelled with probabilities.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from truecal._text import escape_html
from truecal.observations import Floats
from truecal.plot._kinds import make_picture
from truecal.plot._pictures import (
    DARK,
    Areas,
    Bars,
    Lines,
    Mark,
    Note,
    Picture,
    Points,
    Ruler,
    Spans,
)

Figure = dict[str, Any]  # traces and a layout
SYMBOLS = {
    "o": "circle",
    "^": "triangle-up",
    "D": "diamond",
    "x": "x",
    "s": "square",
    "v": "triangle-down",
    "<": "triangle-left",
    ">": "triangle-right",
    "*": "star",
}
DASHES = {"-": "solid", "--": "dash", ":": "dot"}
INCHES = 7.5  # assumed width of a picture
PIXELS = 100  # per inch


def interactive(kind: str, *data: Any, **options: Any) -> Any:
    """Return a picture as a plotly figure; hovering shows the numbers.

    `kind` is the name of a function of `truecal.plot`, such as "test_based"; other arguments are passed on to it.

    Examples
    --------
    >>> import truecal
    >>> result = truecal.evaluate([0, 1, 1, 0], [0.1, 0.7, 0.9, 0.3])
    >>> figure = truecal.plot.interactive("test_based", result)
    """
    objects = _load("plotly.graph_objects")
    picture = make_picture(kind, *data, **options)
    figure = objects.Figure(render(picture))
    finding = f"<b>{_escape(picture.finding)}</b><br>" if picture.finding else ""
    lines = finding + _escape(picture.title)
    title = {"text": lines, "font": {"size": 14}, "yref": "container", "y": 0.98, "yanchor": "top"}
    top = 50 + 20 * (lines.count("<br>") + bool(lines))
    return figure.update_layout(template="plotly_white", title=title, margin={"t": top})


def make_figure(kind: str, *data: Any, **options: Any) -> Figure:
    """Return a picture as plain data that plotly's script draws, without importing plotly."""
    return render(make_picture(kind, *data, **options))


def load_bundle() -> tuple[str, str]:
    """Return plotly's script, which draws figures in a page, and its version."""
    return _load("plotly.offline").get_plotlyjs(), _load("plotly").__version__


def render(picture: Picture) -> Figure:
    """Return the traces and the layout of a picture."""
    legend = {"orientation": "h", "x": 0, "y": 1.01, "yanchor": "bottom", "traceorder": "normal"}
    layout: Figure = {
        "barmode": "overlay",
        "bargap": 0,
        "hovermode": picture.hover,
        "legend": legend,
        "height": round(PIXELS * picture.size[1]),
        "shapes": [],
        "annotations": [],
    }
    traces: list[Figure] = []
    for number, panel in enumerate(picture.panels, 1):
        base = f"{number}" if number > 1 else ""
        x, y = f"x{base}", f"y{base}"
        layout[f"yaxis{base}"] = {**_make_axis(panel.y, panel.place[1::2]), "anchor": x}
        for mark in panel.marks:
            _add_mark(traces, layout, mark, (panel.x, panel.y), (x, y))
        layout[f"xaxis{base}"] = {**_make_axis(panel.x, panel.place[::2]), "anchor": y}
        _link_axes(layout, base)
        if panel.title:
            left, bottom, width, height = panel.place
            title = panel.title.replace("   ", "\n") if width < 0.5 else panel.title
            corner = {"x": left, "xref": "paper", "xanchor": "left", "y": bottom + height, "yref": "paper"}
            text = {"text": _escape(title), "align": "left", "yanchor": "bottom", "showarrow": False}
            layout["annotations"].append({**corner, **text})
    _name_once(traces)
    return {"data": traces, "layout": layout}


def _load(module: str) -> Any:
    """Import a module of plotly, or raise an error that says how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError("Interactive figures need plotly: pip install 'truecal[interactive]'") from error


def _make_axis(ruler: Ruler, place: tuple[float, ...]) -> Figure:
    """Return the layout of an axis; `place` is its start and length on the page."""
    start, length = place
    axis: Figure = {"domain": [start, start + length], "range": _to_positions(ruler, np.array(ruler.limits))}
    axis |= {
        "zeroline": False,
        "showgrid": ruler.grid,
        "nticks": ruler.most + 1,
        "title": {"text": _escape(ruler.title)},
    }
    if ruler.kind == "date":
        axis |= {"type": "date", "nticks": 0}
    if ruler.ticks is not None:
        ticks, labels, turned = ruler.fit(INCHES * length)
        axis |= {"tickvals": _to_positions(ruler, np.array(ticks)), "ticktext": [_escape(label) for label in labels]}
        axis |= {"tickangle": -90} if turned else {}
    return axis if ruler.named else axis | {"showticklabels": False}


def _link_axes(layout: Figure, base: str) -> None:
    """Link the axes of a panel with those of the same column or row, so that they zoom together."""
    for name in "xy":
        mine = layout[f"{name}axis{base}"]
        for key, other in layout.items():
            same = key.startswith(f"{name}axis") and other is not mine and other["domain"] == mine["domain"]
            if same and other["range"] == mine["range"] and "matches" not in other:
                mine["matches"] = key.replace("axis", "")
                break


def _add_mark(
    traces: list[Figure], layout: Figure, mark: Mark, rulers: tuple[Ruler, Ruler], names: tuple[str, str]
) -> None:
    """Add a mark to the traces, or to the shapes and notes of the layout."""
    if isinstance(mark, Note):
        layout["annotations"].append(_make_annotation(mark, rulers, names))
    elif isinstance(mark, Spans):
        x, y = names
        for left, right in zip(_to_positions(rulers[0], mark.left), _to_positions(rulers[0], mark.right), strict=True):
            box = {"type": "rect", "xref": x, "yref": f"{y} domain", "y0": 0, "y1": 1, "line": {"width": 0}}
            fill = {"fillcolor": mark.colour, "opacity": 0.25, "layer": "below", "x0": left, "x1": right}
            layout["shapes"].append({**box, **fill})
            if mark.label:
                text = {"text": _escape(mark.label), "showarrow": False, "textangle": -90, "font": {"size": 11}}
                corner = {"x": right, "xref": x, "xanchor": "right", "y": 0.98, "yref": f"{y} domain", "yanchor": "top"}
                layout["annotations"].append({**text, **corner})
    else:
        trace = _make_trace(mark, rulers) | {"xaxis": names[0], "yaxis": names[1]}
        trace |= {"name": _escape(mark.label.lstrip("_")), "showlegend": mark.label[:1] not in ("", "_")}
        trace |= {"meta": "ink"} if mark.colour == DARK else {}
        texts = [_escape(text) for text in getattr(mark, "texts", ())]
        if isinstance(mark, Lines):
            texts = [text for text in texts for _ in range(4)]  # for each end, the middle and the gap
        traces.append(trace | ({"hovertext": texts, "hoverinfo": "text"} if texts else {"hoverinfo": "skip"}))


def _make_trace(mark: Areas | Bars | Lines | Points, rulers: tuple[Ruler, Ruler]) -> Figure:
    across, up = rulers
    if isinstance(mark, Points):
        look = {"color": mark.colour, "symbol": SYMBOLS[mark.marker], "size": round(4 / 3 * mark.size, 1)}
        where = {"x": _to_positions(across, mark.x), "y": _to_positions(up, mark.y)}
        return {"type": "scatter", "mode": "markers", **where, "marker": look}
    if isinstance(mark, Bars):
        along = up if mark.flat else across
        left, right = _to_axis_units(along, mark.left), _to_axis_units(along, mark.right)
        bars: Figure = {
            "x": round_off((left + right) / 2),
            "width": round_off(right - left),
            "y": round_off(mark.height),
        }
        if mark.flat:
            bars |= {"x": bars["y"], "y": bars["x"], "orientation": "h"}
        return {"type": "bar", **bars, "marker": {"color": mark.colour, "opacity": mark.alpha, "line": {"width": 0}}}
    rows = []
    for x, y in zip(mark.x, mark.y, strict=True):
        row = np.stack([_to_axis_units(across, x), _to_axis_units(up, y)])
        if isinstance(mark, Areas):
            row = np.concatenate([row, row[:, :1]], 1)
        elif mark.texts:  # a point in the middle for its text
            row = np.insert(row, 1, row.mean(axis=1), axis=1)
        rows.append(np.concatenate([row, np.full((2, 1), np.nan)], 1))
    x, y = np.concatenate(rows, 1) if rows else np.zeros((2, 0))
    line = {"color": mark.colour, "width": mark.width}
    where = {"x": _format_days(x) if across.kind == "date" else round_off(x), "y": round_off(y)}
    trace: Figure = {"type": "scatter", "mode": "lines", **where, "line": line, "opacity": mark.alpha}
    if isinstance(mark, Areas):
        return trace | {"fill": "toself", "fillcolor": mark.colour}
    line["dash"] = DASHES[mark.dash]
    return trace


def _make_annotation(mark: Note, rulers: tuple[Ruler, Ruler], names: tuple[str, str]) -> Figure:
    (x,), (y,) = _to_positions(rulers[0], np.array([mark.x])), _to_positions(rulers[1], np.array([mark.y]))
    across, up = mark.align
    anchor = {"xanchor": across, "yanchor": {"center": "middle"}.get(up, up), "align": across}
    shift = {"yshift": {"bottom": 4, "center": 0, "top": -4}[up]}
    text = {"text": _escape(mark.text), "showarrow": False, "font": {"size": 11, "color": mark.colour}}
    return {"x": x, "xref": names[0], "y": y, "yref": names[1], **anchor, **shift, **text}


def _name_once(traces: list[Figure]) -> None:
    """Show each name once in the legend."""
    seen = set()
    for trace in traces:
        if trace["showlegend"]:
            trace["showlegend"] = trace["name"] not in seen
            seen.add(trace["name"])


def _to_axis_units(ruler: Ruler, values: Any) -> Floats:
    """Convert numbers to the units of an axis: log-odds on the logit scale."""
    values = np.asarray(values, dtype=np.float64)
    return np.asarray(np.log(values) - np.log1p(-values)) if ruler.kind == "logit" else values


def _to_positions(ruler: Ruler, values: Floats) -> list[Any]:
    """Convert values to positions on an axis as plotly reads them."""
    return _format_days(values) if ruler.kind == "date" else round_off(_to_axis_units(ruler, values))


def _format_days(days: Floats) -> list[str | None]:
    """Format days since 1970 as dates, with the time unless it is midnight."""
    names = []
    for day in np.asarray(days).tolist():
        moment = None if np.isnan(day) else np.datetime64(round(86_400 * day), "s")
        names.append(None if moment is None else str(moment).replace("T", " ").removesuffix(" 00:00:00"))
    return names


def round_off(values: Any) -> list[float | None]:
    """Round numbers to six digits, enough for a screen; NaN becomes None."""
    return [None if np.isnan(value) else float(f"{value:.6g}") for value in np.asarray(values).tolist()]


def _escape(text: str) -> str:
    """Escape text for HTML, with <br> for line breaks."""
    return escape_html(text).replace("\n", "<br>")
