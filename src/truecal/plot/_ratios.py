"""Pictures of groups, one below the other: observed over expected with intervals, on a scale of factors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from truecal._text import about, plural, shorten, shorten_all
from truecal.inference import format_span
from truecal.observations import Floats, Ints
from truecal.plot._pictures import (
    BLUE,
    DARK,
    GREY,
    INK,
    VERMILION,
    Lines,
    Mark,
    Note,
    Panel,
    Picture,
    Points,
    Ruler,
    make_factor_ticks,
    point_beyond,
)
from truecal.results import ClassTable, GroupTable, SliceTable

NAME = 40  # signs of a group's name
SEGMENT_CELLS = ("p_value", "p_adjusted", "detectable", "value")  # what hovering over a segment shows
SIDES: dict[str, tuple[str, str]] = {
    "too low": (BLUE, "^"),
    "too high": (VERMILION, "v"),
    "too extreme": (INK, "*"),
    "too timid": (INK, "s"),
    "off, direction unclear": (INK, "D"),
    "consistent": (DARK, "o"),
    "cannot tell": (GREY, "x"),
}


def picture_segments(table: GroupTable, *, worst: int = 20) -> Picture:
    """Show observed over expected positives of the segments with the smallest p-values, with intervals."""
    shown = table.order()[:worst]
    ratio, low, high = (column[shown] for column in (table.ratio, table.ratio_low, table.ratio_high))
    words, ways, names = table.word, table.direction, table.names
    sides = [name_side(words[i], ways[i]) for i in shown.tolist()]
    notes = [f"n = {n:,}" for n in table.n[shown].tolist()]
    texts = describe_each_segment(table, shown)
    panel = _make_panel([names[i] for i in shown.tolist()], sides, (ratio, low, high), notes, texts)
    finding = table.sentences()[0].rstrip(".")
    return Picture((panel,), _fit_size(len(shown)), describe_segments(table, worst), finding=finding)


def picture_slices(table: SliceTable, *, worst: int = 20, title: str | None = None) -> Picture:
    """Show the groups that a search found to be off, the largest loss first."""
    count = min(len(table), worst)
    rows = np.arange(count)
    texts = [
        f"{table.slice[i]}\n{plural(int(table.n[i]), 'row')}: {table.observed[i]:,} came, {about(table.expected[i])} "
        f"expected\nobserved / expected {format_span(table.ratio[i], table.ratio_low[i], table.ratio_high[i])}"
        f"\nadjusted p {table.p_adjusted[i]:.2g}"
        for i in rows
    ]
    panel = _make_panel(
        table.slice[:count],
        table.direction[:count],
        (table.ratio[:count], table.ratio_low[:count], table.ratio_high[:count]),
        [f"n = {n:,}" for n in table.n[:count].tolist()],
        texts,
    )
    found = (
        f"{plural(len(table), 'group')} of rows {'is' if len(table) == 1 else 'are'} listed as off"
        if len(table)
        else ""
    )
    heading = "\n".join(filter(None, [title, table.summary()]))
    return Picture((panel,), _fit_size(count), heading, finding=found or "No group of rows is shown to be off")


def picture_classes(table: ClassTable, *, worst: int = 20, title: str | None = None) -> Picture:
    """Show each class against the rest, the smallest p-values first."""
    shown, verdicts = table.order()[:worst], table.verdict
    ratio, low, high = (column[shown] for column in (table.ratio, table.ratio_low, table.ratio_high))
    words = [verdicts[i] for i in shown]
    ways = table.direction
    sides = [name_side(word, ways[i]) for i, word in zip(shown, words, strict=True)]
    texts = [
        f"{table.label[i]}: {word}\n{table.observed[i]:,} came, {about(table.expected[i])} expected"
        f"\nobserved / expected {format_span(table.ratio[i], table.ratio_low[i], table.ratio_high[i])}"
        f"\nadjusted p {table.p_adjusted[i]:.2g}"
        for i, word in zip(shown, words, strict=True)
    ]
    labels = [str(table.label[i]) for i in shown]
    notes = [f"{word}, {table.observed[i]:,} rows" for i, word in zip(shown, words, strict=True)]
    panel = _make_panel(labels, sides, (ratio, low, high), notes, texts)
    off = verdicts.count("off")
    heading = "\n".join(filter(None, [title, table.summary()]))
    finding = f"{off:,} of {plural(len(table), 'class').replace('classs', 'classes')} {'is' if off == 1 else 'are'} off"
    return Picture((panel,), _fit_size(len(shown)), heading, finding=finding)


def describe_segments(table: GroupTable, worst: int = 20) -> str:
    """Describe how many segments are shown, in which order, and how many are off."""
    shown = f"{worst:,} of " if worst < len(table) else ""
    return f"{shown}{plural(len(table), 'segment')}, the smallest p-value first: {int(table.alarm.sum()):,} off"


def describe_each_segment(table: GroupTable, rows: Ints) -> list[str]:
    """Describe segments, for hovering."""
    names, words, cells = table.names, table.word, table.cells(SEGMENT_CELLS, rows.tolist())
    return [
        f"{names[i]}: {words[i]}\nn = {table.n[i]:,}, {table.tell(i)}"
        f"\np {cells['p_value'][at]}, adjusted {cells['p_adjusted'][at]}, would find {cells['detectable'][at]}"
        f"\n{table.metric.name} {cells['value'][at]}"
        for at, i in enumerate(rows.tolist())
    ]


def name_side(word: str, way: str) -> str:
    """Which way a group is off, or why it is not: its total may not show it."""
    return word if word != "off" else way if way in SIDES else "off, direction unclear"


def _make_panel(
    names: Sequence[str],
    sides: Sequence[str],
    columns: tuple[Floats, Floats, Floats],
    notes: Sequence[str],
    texts: Sequence[str],
) -> Panel:
    """A row for each group: its ratio as a dot, its interval as a line, and a note at the right."""
    with np.errstate(divide="ignore"):
        value, low, high = (np.log(np.maximum(column, 0.0)) for column in columns)
    low, high = (np.where(value == np.inf, np.inf, end) for end in (low, high))  # none expected: beyond every axis
    known, reach = np.isfinite(value), find_reach(value, low, high)
    rows = np.arange(0.0, len(names))
    middle = np.array([[-0.6, max(len(names) - 0.4, 0.6)]])
    marks: list[Mark] = [Lines(np.zeros((1, 2)), middle, INK, "_as predicted", width=1.2)]
    for side, (colour, marker) in SIDES.items():
        at = np.array([i for i, own in enumerate(sides) if own == side], dtype=np.int64)
        if not len(at):
            continue
        ends = np.clip(np.stack([low[at], high[at]], 1), -reach, reach)
        marks.append(Lines(ends, np.stack([rows[at]] * 2, 1), colour, "_interval", width=2.5))
        said = [texts[i] for i in at]
        marks += point_beyond(rows[at], (low[at], high[at]), reach, colour, 7, flat=True, texts=said)
        at = at[known[at]]
        texts_at = [texts[i] for i in at]
        marks.append(Points(value[at], rows[at], colour, side, marker, 8, texts_at))
    for note, row in zip(notes, rows.tolist(), strict=True):
        marks.append(Note(note, 1.72 * reach, row, ("right", "center")))
    if not len(names):
        marks.append(Note("none", 0.0, 0.0, ("left", "center")))
    common, short = drop_shared(names)
    y = Ruler((max(len(names) - 0.4, 0.6), -0.6), common, tuple(rows), tuple(short))
    x = Ruler((-reach, 1.75 * reach), "observed / expected", *make_factor_ticks(reach), grid=True)
    return Panel(x, y, tuple(marks), legend="above")


def find_reach(value: Floats, low: Floats, high: Floats) -> float:
    """How far an axis of factors reaches, as a logarithm: past all values and the nearer end of each interval; to the
    farther end, too, up to a factor of 4 or where that takes no more than half of the axis."""
    nearer, farther = np.minimum(np.abs(low), np.abs(high)), np.maximum(np.abs(low), np.abs(high))
    known = np.abs(value)[np.isfinite(value)]
    most = max(known.max(initial=0.0), nearer[np.isfinite(nearer)].max(initial=0.0))
    least = max(1.3 * most, min(max(2 * most, np.log(4)), 1.05 * float(farther.max(initial=0.0))))
    return float(np.clip(least, np.log(1.6), np.log(1000)))


def drop_shared(names: Sequence[str]) -> tuple[str, list[str]]:
    """The beginning that all names share, up to a sign that ends a word, and the rest of each, shortened in its middle.

    Examples
    --------
    >>> drop_shared(["country=de", "country=fr"])
    ('country', ['de', 'fr'])
    """
    same = [len(set(signs)) == 1 for signs in zip(*names, strict=False)] if len(names) > 1 else []
    shared = names[0][: [*same, False].index(False)] if same else ""
    shared = shared[: max(shared.rfind(sign) + 1 for sign in "=/, ")]
    short = shorten_all([name[len(shared) :] for name in names], NAME)
    return shorten(shared.rstrip("=/, "), NAME), short


def _fit_size(rows: int) -> tuple[float, float]:
    return 8, 1.9 + 0.3 * max(rows, 1)
