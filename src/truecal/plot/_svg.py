"""Draw plots as HTML with inline SVG: without a library or a script, at any width, in the colours of the page.

Shapes are stretched to the available width. Positions of texts and markers are percentages of it, their sizes are
fixed, so that one drawing suits a phone and a large screen. Colours are CSS classes, with a light and a dark theme in
the style sheet. Texts for hovering are in `<title>` elements.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from truecal._options import Scale
from truecal._text import escape_html, measure, shorten
from truecal.data import Floats, Ints
from truecal.plot._axis import round_up
from truecal.plot._kinds import make_picture
from truecal.plot._marks import (
    BLUE,
    GREY,
    INK,
    PALE,
    SKY,
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
    Spans,
)
from truecal.plot._pictures import NO_DEVIATION
from truecal.results import Result

COLOUR_CLASSES = {
    BLUE: "blue",
    VERMILION: "red",
    SKY: "sky",
    INK: "ink",
    GREY: "grey",
    PALE: "pale",
}  # others are "dark"
PIXELS = 80  # of a panel's height, per inch
LETTER = 6.7  # pixels of a letter of a tick's label, on average
NARROW = 240  # pixels of a panel on a phone
BRIEF = 18  # characters of a label on a narrow screen
WIDE, FINE = 3000, 4  # the width of a panel in its own units, and units per pixel of its height
DAY_STEPS = (1, 2, 7, 14)  # days between ticks; longer ones are months
MONTH_STEPS = (1, 2, 3, 6, 12, 24, 60, 120)
SHAPES = {  # markers, as paths of the size 1
    "o": "M-.5 0a.5 .5 0 1 0 1 0a.5 .5 0 1 0-1 0z",
    "s": "M-.5-.5h1v1h-1z",
    "D": "M0-.65L.65 0L0 .65L-.65 0z",
    "^": "M0-.6L.6 .5h-1.2z",
    "v": "M0 .6L.6-.5h-1.2z",
    "<": "M-.6 0L.5 .6v-1.2z",
    ">": "M.6 0L-.5 .6v-1.2z",
    "x": "M-.5-.5L.5 .5M-.5 .5L.5-.5",
    "*": "M0-.75L.19-.26L.71-.23L.3 .1L.44 .61L0 .32L-.44 .61L-.3 .1L-.71-.23L-.19-.26z",
}


def make_svg(kind: str, *data: Any, label: str, texts: bool = True, **options: Any) -> str:
    """Return a plot as HTML; `label` describes it for screen readers, `texts` has texts for hovering.

    `kind` is the name of a function of `truecal.plot`, such as "calibration"; other arguments are passed on to it.
    """
    picture = make_picture(kind, *data, **options)
    return render(picture if texts else _without_texts(picture), label)


def _without_texts(picture: Picture) -> Picture:
    def drop(marks: tuple[Mark, ...]) -> tuple[Mark, ...]:
        return tuple(replace(mark, texts=()) if isinstance(mark, Bars | Lines | Points) else mark for mark in marks)

    return replace(picture, panels=tuple(replace(panel, marks=drop(panel.marks)) for panel in picture.panels))


def make_thumbnail(result: Result, label: str, scale: Scale | None = None) -> str:
    """Return the upper part of the calibration diagram, small and without texts."""
    panel = _without_texts(make_picture("calibration", result, scale=scale)).panels[0]
    drawn = "".join(_draw_shape(mark, panel.x, panel.y, 36) for mark in panel.marks)
    return (
        f'<svg class="picture thumbnail" role="img" aria-label="{escape_html(label)}" viewBox="0 0 {WIDE} {FINE * 36}" '
        f'preserveAspectRatio="none" width="140" height="36">{drawn}</svg>'
    )


def render(picture: Picture, label: str) -> str:
    """Return the HTML of a plot, without its title."""
    left_axes = [panel.y for panel in picture.panels if panel.box[0] == 0]
    wide, small = (max(_measure_margin(spec, most) for spec in left_axes) for most in (math.inf, BRIEF))
    rows: dict[float, list[Panel]] = {}
    for panel in sorted(picture.panels, key=lambda panel: (-panel.box[1], panel.box[0])):
        rows.setdefault(panel.box[1], []).append(panel)
    parts = "".join(_draw_row(row, picture.size[1]) for row in rows.values())
    return (
        f'<div class="picture" role="img" aria-label="{escape_html(label)}" data-hover="{picture.hover}" '
        f'style="--left:{wide:.0f}px;--small:{small:.0f}px;--right:8px">{parts}</div>'
    )


def _measure_margin(spec: AxisSpec, most: float = math.inf) -> float:
    """Return the pixels that an axis' title and labels, of at most `most` characters, take beside a panel."""
    labels = find_ticks(spec)[1] if spec.named else ()
    return 8 + LETTER * min(max(map(measure, labels), default=0), most) + 18 * bool(spec.title)


def _draw_row(panels: Sequence[Panel], inches: float) -> str:
    """Draw panels side by side, with their legends above and the labels of their axes below."""
    height = round(PIXELS * (inches - 0.6) * max(panel.box[3] for panel in panels))
    below = max(_measure_below(panel.x) for panel in panels)
    heads = "".join(f'<p class="head">{escape_html(panel.title)}</p>' for panel in panels if panel.title)
    keys = "".join(_write_legend(panel) for panel in panels)
    drawn = "".join(_write_panel(panel, height) for panel in panels)
    return f'{heads}{keys}<svg class="row" height="{height + below}" aria-hidden="true">{drawn}</svg>'


def _measure_below(spec: AxisSpec) -> int:
    """Return the pixels that an axis' labels and its title take below a panel."""
    labels, turned = find_ticks(spec)[1:]
    room = 6 + (LETTER * max(map(measure, labels), default=0) if turned else 14) if spec.named and labels else 6
    return round(room + 18 * bool(spec.title and spec.named))


def _write_panel(panel: Panel, height: int) -> str:
    """Draw the marks of a panel and the labels of its axes."""
    left, _, width, _ = panel.box
    ends = 100 * left, 100 * width
    grids = "".join(_draw_grid(spec, height, name) for spec, name in ((panel.x, "x"), (panel.y, "y")) if spec.grid)
    shapes = "".join(_draw_shape(mark, panel.x, panel.y, height) for mark in panel.marks)
    parts = [
        f'<svg x="{ends[0]:g}%" width="{ends[1]:g}%" height="{height}" viewBox="0 0 {WIDE} {FINE * height}" '
        f'preserveAspectRatio="none">{grids}{shapes}</svg>'
    ]
    parts += [_draw_sign(mark, panel.x, panel.y, height, ends) for mark in panel.marks]
    return "".join([*parts, _label_below(panel.x, height, ends), _label_side(panel.y, height, ends)])


# ---- marks ---------------------------------------------------------------------------------------------------------


def _draw_shape(mark: Mark, x: AxisSpec, y: AxisSpec, height: int) -> str:
    """Draw a mark that is stretched with its panel."""
    if isinstance(mark, Points | Annotation):
        return ""
    if isinstance(mark, Spans):
        ends = zip(_to_shares(x, mark.left), _to_shares(x, mark.right), strict=True)
        boxes = [np.array([[a, 0], [b, 0], [b, 1], [a, 1]]) for a, b in ends]
        return _write_path("".join(_trace(box, height, closed=True) for box in boxes), 'class="span"')
    if isinstance(mark, Bars):
        rows: Iterable[Floats] = _trace_bars(mark, x, y)
    else:
        rows = (np.stack([_to_shares(x, a), _to_shares(y, b)], 1) for a, b in zip(mark.x, mark.y, strict=True))
    closed = not isinstance(mark, Lines)
    paths = [_trace(row, height, closed=closed) for row in rows]
    look = _style(mark)
    texts = [] if isinstance(mark, Areas) else mark.texts
    if not texts:
        return _write_path("".join(paths), look)
    inside = "".join(_write_path(path, "", text) for path, text in zip(paths, texts, strict=True))
    return f"<g {look}>{inside}</g>"


def _style(mark: Areas | Bars | Lines) -> str:
    alpha = f' opacity="{mark.alpha:g}"' if mark.alpha < 1 else ""
    if isinstance(mark, Lines):
        dash = {"-": "", "--": ' stroke-dasharray="6 4"', ":": ' stroke-dasharray="2 2"'}[mark.dash]
        return f'class="line {_name_colour(mark.colour)}" stroke-width="{mark.width:g}"{dash}{alpha}'
    kind = "box" if isinstance(mark, Areas) and mark.alpha < 1 else "area"
    return f'class="{kind} {_name_colour(mark.colour)}"{alpha.replace("opacity", "fill-opacity")}'


def _name_colour(colour: str) -> str:
    """Return the CSS class of a colour."""
    return COLOUR_CLASSES.get(colour, "dark")


def _write_path(path: str, look: str, text: str = "") -> str:
    if not path:
        return ""
    start = f"<path {look}".rstrip()
    return f'{start} d="{path}"><title>{escape_html(text)}</title></path>' if text else f'{start} d="{path}"/>'


def _trace_bars(mark: Bars, x: AxisSpec, y: AxisSpec) -> Iterator[Floats]:
    """Yield the corners of each bar, as shares of the panel."""
    along, up = (y, x) if mark.flat else (x, y)
    left, right = _to_shares(along, mark.left), _to_shares(along, mark.right)
    base, top = _to_shares(up, np.zeros(len(left))), _to_shares(up, np.asarray(mark.height, dtype=np.float64))
    for a, b, c, d in zip(left, right, base, top, strict=True):
        corners = [[a, c], [a, d], [b, d], [b, c]] if c != d else []
        yield np.array(corners).reshape(-1, 2)[:, :: -1 if mark.flat else 1]


def _trace(shares: Floats, height: int, *, closed: bool) -> str:
    """Return a path through points given as shares of a panel, without points that round to the one before."""
    shares = shares[~np.isnan(shares).any(1)]
    if not len(shares):
        return ""
    places = np.rint(np.clip(shares, -0.5, 1.5) * [WIDE, -FINE * height] + [0, FINE * height]).astype(np.int64)
    steps = np.diff(places, axis=0)
    steps = steps[steps.any(1)]
    moves = "".join(_write_step(*step) for step in steps.tolist())
    return f"M{places[0, 0]} {places[0, 1]}{moves}{'z' * closed}"


def _write_step(across: int, down: int) -> str:
    if not down:
        return f"h{across}"
    return f"l{across} {down}".replace(" -", "-") if across else f"v{down}"


def _draw_sign(mark: Mark, x: AxisSpec, y: AxisSpec, height: int, ends: tuple[float, float]) -> str:
    """Draw a mark that keeps its size: markers and annotations."""
    if isinstance(mark, Annotation):
        across, up = mark.align
        (along,), (share,) = _to_shares(x, np.array([mark.x])), _to_shares(y, np.array([mark.y]))
        anchor, shift = ("end", -4) if across == "right" else ("start", 4)
        lines = mark.text.split("\n")
        begin = {"top": 12, "center": 4 - 7 * (len(lines) - 1), "bottom": -4 - 14 * (len(lines) - 1)}[up]
        at = f'x="{ends[0] + ends[1] * along:.4g}%" dx="{shift}" text-anchor="{anchor}"'
        return "".join(
            f'<text class="note {_name_colour(mark.colour)}" {at} y="{height * (1 - share) + begin + 14 * i:.0f}">'
            f"{escape_html(line)}</text>"
            for i, line in enumerate(lines)
        )
    if not isinstance(mark, Points):
        return ""
    signs = []
    texts = mark.texts or [""] * len(mark.x)
    scale = 4 / 3 * mark.size
    kind = "line" if mark.marker == "x" else "area"
    look = f'class="{kind} sign {_name_colour(mark.colour)}" transform="scale({scale:.3g})"'
    for across, share, text in zip(_to_shares(x, mark.x), _to_shares(y, mark.y), texts, strict=True):
        at = f'x="{ends[0] + ends[1] * across:.5g}%" y="{height * (1 - share):.1f}"'
        signs.append(f'<svg class="at" {at}>{_write_path(SHAPES[mark.marker], look, text)}</svg>')
    return "".join(signs)


def _write_legend(panel: Panel) -> str:
    """Return the labels of a panel's marks, each with a sample."""
    shown: dict[str, str] = {}
    for mark in panel.marks if panel.legend else ():
        if not isinstance(mark, Annotation) and mark.label[:1] not in ("", "_"):
            shown.setdefault(mark.label, _draw_sample(mark))
    keys = "".join(f"<li>{sample}{escape_html(label)}</li>" for label, sample in shown.items())
    return f'<ul class="legend">{keys}</ul>' if keys else ""


def _draw_sample(mark: Areas | Bars | Lines | Points | Spans) -> str:
    if isinstance(mark, Points):
        kind = "line" if mark.marker == "x" else "area"
        look = f'class="{kind} sign {_name_colour(mark.colour)}" transform="translate(9 6)scale(8)"'
        inside = _write_path(SHAPES[mark.marker], look)
    elif isinstance(mark, Spans):
        inside = '<path class="span" d="M1 1h16v10h-16z"/>'
    else:
        inside = _write_path("M1 6h16" if isinstance(mark, Lines) else "M1 1h16v10h-16z", _style(mark))
    return f'<svg class="key" width="18" height="12" aria-hidden="true">{inside}</svg>'


# ---- axes ----------------------------------------------------------------------------------------------------------


def _to_shares(spec: AxisSpec, values: Floats) -> Floats:
    """Return the positions of values on an axis, as shares of its length."""
    low, high = _to_units(spec, np.array(spec.limits))
    return np.asarray((_to_units(spec, np.asarray(values, dtype=np.float64)) - low) / (high - low))


def _to_units(spec: AxisSpec, values: Floats) -> Floats:
    """Convert values to the units of an axis: log-odds on the logit scale."""
    return np.asarray(np.log(values) - np.log1p(-values)) if spec.kind == "logit" else values


def _draw_grid(spec: AxisSpec, height: int, name: str) -> str:
    shares = _to_shares(spec, np.array(find_ticks(spec)[0]))
    ends = [np.array([[s, 0], [s, 1]]) for s in shares] if name == "x" else [np.array([[0, s], [1, s]]) for s in shares]
    return _write_path("".join(_trace(line, height, closed=False) for line in ends), 'class="grid"')


def _label_below(spec: AxisSpec, height: int, ends: tuple[float, float]) -> str:
    """Draw the line, the labels and the title of a horizontal axis."""
    begin, wide = ends
    parts = [f'<line class="axis" x1="{begin:g}%" x2="{begin + wide:g}%" y1="{height}" y2="{height}"/>']
    ticks, labels, turned = find_ticks(spec)
    shares = _to_shares(spec, np.array(ticks))
    crowding = _find_crowding(shares.tolist(), labels)
    for i, (share, label) in enumerate(zip(shares, labels, strict=True)):
        at = f"{begin + wide * share:.4g}%"
        parts.append(f'<line class="axis" x1="{at}" x2="{at}" y1="{height}" y2="{height + 4}"/>')
        spare = i in crowding
        if spec.named and turned:
            text = f'<text transform="rotate(-90)" text-anchor="end" dy="4">{escape_html(label)}</text>'
            parts.append(f'<svg class="at{" spare" * spare}" x="{at}" y="{height + 7}">{text}</svg>')
        elif spec.named:
            kind = ' class="spare"' * spare
            parts.append(f'<text{kind} x="{at}" y="{height + 17}" text-anchor="middle">{escape_html(label)}</text>')
    if spec.title and spec.named:
        low = height + _measure_below(spec) - 4
        middle = f'x="{begin + wide / 2:g}%" y="{low}" text-anchor="middle"'
        parts.append(f'<text class="title" {middle}>{escape_html(spec.title)}</text>')
    return "".join(parts)


def _find_crowding(shares: list[float], labels: list[str]) -> set[int]:
    """Return the labels to hide on a narrow screen, which would touch another; the middle or the first stays."""
    middle = len(labels) // 2  # ticks of ratios lie evenly around 1
    kept = middle if labels[middle : middle + 1] == [NO_DEVIATION] else 0
    reach = [LETTER * measure(label) / 2 + LETTER / 2 for label in labels]
    crowding = set()
    for step in (1, -1):
        last, i = kept, kept + step
        while 0 <= i < len(labels):
            if abs(shares[i] - shares[last]) * NARROW < reach[i] + reach[last]:
                crowding.add(i)
            else:
                last = i
            i += step
    return crowding


def _label_side(spec: AxisSpec, height: int, ends: tuple[float, float]) -> str:
    """Draw the line, the labels and the title of a vertical axis; a narrow screen gets shortened labels."""
    at = f"{ends[0]:g}%"
    parts = [f'<line class="axis" x1="{at}" x2="{at}" y1="0" y2="{height}"/>']
    ticks, labels, _ = find_ticks(spec)
    for share, label in zip(_to_shares(spec, np.array(ticks)), labels if spec.named else (), strict=False):
        position = f'x="{at}" dx="-6" text-anchor="end" y="{height * (1 - share) + 4:.0f}"'
        parts += [f"<text{kind} {position}>{escape_html(text)}</text>" for kind, text in _list_widths(label)]
    if spec.title:
        sides = _measure_margin(spec), _measure_margin(spec, BRIEF)
        kinds = ("",) if sides[0] == sides[1] else (' class="full"', ' class="brief"')
        for kind, side in zip(kinds, sides, strict=False):
            turned = f"translate({6 - side:.0f} {height / 2:.0f})rotate(-90)"
            text = f'<text class="title" transform="{turned}" text-anchor="middle">{escape_html(spec.title)}</text>'
            parts.append(f'<svg class="at" x="{at}"><g{kind}>{text}</g></svg>')
    return "".join(parts)


def _list_widths(label: str) -> list[tuple[str, str]]:
    """Return a label for wide and one for narrow screens, each with its class; one for both if it is short."""
    brief = shorten(label, BRIEF)
    return [("", label)] if brief == label else [(' class="full"', label), (' class="brief"', brief)]


def find_ticks(spec: AxisSpec) -> tuple[list[float], list[str], bool]:
    """Return the ticks of an axis, given ones or round numbers, their labels, and whether these are rotated."""
    if spec.ticks is not None:
        return spec.fit(7.0)
    low, high = min(spec.limits), max(spec.limits)
    if spec.kind == "date":
        return *_find_dates(low, high), False
    step = round_up((high - low) / (spec.most + 1))
    step = max(step, 1.0) if spec.kind == "count" else step
    ticks = np.arange(np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9) + 1) * step + 0.0
    digits = max(0, -int(np.floor(np.log10(step) + 1e-9)))
    return ticks.tolist(), [f"{tick:,.{digits}f}" for tick in ticks.tolist()], False


def _find_dates(low: float, high: float) -> tuple[list[float], list[str]]:
    """Return the ticks of an axis of days: at most eight, on days, Mondays or firsts of months."""
    step = next((step for step in DAY_STEPS if high - low <= 8 * step), 0)
    if step:
        first = 4 if step >= 7 else 0  # 1970-01-05 was a Monday
        ticks: Ints = np.arange(np.ceil((low - first) / step), np.floor((high - first) / step) + 1).astype(np.int64)
        days = (ticks * step + first).astype("datetime64[D]")
        return days.astype(np.float64).tolist(), [str(day) for day in days]
    months = next((months for months in MONTH_STEPS if high - low <= 8 * 30.44 * months), MONTH_STEPS[-1])
    start, stop = (
        np.datetime64(int(np.floor(end)), "D").astype("datetime64[M]").astype(np.int64) for end in (low, high)
    )
    firsts = np.arange(-(-start // months) * months, stop + 1, months).astype("datetime64[M]")
    at = firsts.astype("datetime64[D]").astype(np.float64)
    inside = at >= low
    names = [str(first)[: 4 if months % 12 == 0 else 7] for first in firsts[inside]]
    return at[inside].tolist(), names
