"""Plots of groups, one below the other: observed over expected with confidence intervals, on a log scale."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from truecal._options import check_option
from truecal._text import format_count, plural, shorten, shorten_all
from truecal.data import Floats, Ints
from truecal.metrics import Direction
from truecal.plot._marks import (
    BLUE,
    DARK,
    GREY,
    INK,
    VERMILION,
    Annotation,
    AxisSpec,
    Lines,
    Mark,
    Panel,
    Picture,
    Points,
)
from truecal.plot._pictures import make_ratio_ticks, point_beyond
from truecal.results import ClassTable, GroupTable, SliceTable, Table
from truecal.words import count_classes, count_segments, count_slices, describe_row, format_p_value

LONGEST_NAME = 40  # characters of a group's name; longer names are shortened
SEGMENT_CELLS = ("detectable", "value")  # what hovering over a segment shows
SIDE_MARKERS: dict[str, tuple[str, str]] = {
    Direction.UNDER: (BLUE, "^"),
    Direction.OVER: (VERMILION, "v"),
    Direction.OVERCONFIDENT: (INK, "*"),
    Direction.UNDERCONFIDENT: (INK, "s"),
    Direction.UNCLEAR: (INK, "D"),
    "consistent": (DARK, "o"),
    "inconclusive": (GREY, "x"),
}


def picture_segments(table: GroupTable, *, worst: int = 20) -> Picture:
    """Show observed over expected positives of the segments with the smallest p-values, with intervals."""
    worst = _count_shown(worst, table)
    shown = table.order()[:worst]
    ratio, low, high = (column[shown] for column in (table.ratio, table.ratio_low, table.ratio_high))
    statuses, directions, names = table.status, table.direction, table.names
    sides = [name_side(statuses[i], directions[i]) for i in shown.tolist()]
    notes = [f"n = {n:,}" for n in table.n[shown].tolist()]
    texts = describe_each_segment(table, shown)
    panel = _make_ratio_rows([names[i] for i in shown.tolist()], sides, (ratio, low, high), notes, texts)
    summary = table.sentences()[0].rstrip(".")
    return Picture((panel,), _fit_size(len(shown)), count_segments(table, worst), summary=summary)


def picture_slices(table: SliceTable, *, worst: int = 20, title: str | None = None) -> Picture:
    """Show the miscalibrated slices that a search found, the largest loss first."""
    count = _count_shown(worst, table)
    texts = [f"{table.slice[i]}\n{plural(int(table.n[i]), 'row')}: {_describe_counts(table, i)}" for i in range(count)]
    panel = _make_ratio_rows(
        table.slice[:count],
        table.direction[:count],
        (table.ratio[:count], table.ratio_low[:count], table.ratio_high[:count]),
        [f"n = {n:,}" for n in table.n[:count].tolist()],
        texts,
    )
    heading = "\n".join(filter(None, [title, *table.sentences()]))
    return Picture((panel,), _fit_size(count), heading, summary=count_slices(table))


def picture_classes(table: ClassTable, *, worst: int = 20, title: str | None = None) -> Picture:
    """Show each class against the rest, the smallest p-values first."""
    shown, statuses = table.order()[: _count_shown(worst, table)], table.status
    ratio, low, high = (column[shown] for column in (table.ratio, table.ratio_low, table.ratio_high))
    directions = table.direction
    sides = [name_side(statuses[i], directions[i]) for i in shown]
    texts = [f"{table.label[i]}: {statuses[i]}\n{_describe_counts(table, i)}" for i in shown.tolist()]
    labels = [str(table.label[i]) for i in shown]
    notes = [f"{statuses[i]}, {table.observed[i]:,} rows" for i in shown]
    panel = _make_ratio_rows(labels, sides, (ratio, low, high), notes, texts)
    heading = "\n".join(filter(None, [title, table.summary]))
    return Picture((panel,), _fit_size(len(shown)), heading, summary=count_classes(table))


def _count_shown(worst: int, table: Table) -> int:
    """Return how many rows of a table are shown; `worst` is 0 for all."""
    check_option("worst", worst)
    return min(worst or len(table), len(table))


def _describe_counts(table: ClassTable | SliceTable, row: int) -> str:
    """Describe the counts of a row, O/E and the adjusted p-value, for hovering."""
    expected = format_count(float(table.expected[row]))
    return (
        f"observed {table.observed[row]:,}, expected {expected}\n{table.heading('ratio_ci')} {table.ratio_ci[row]}"
        f"\nadjusted {format_p_value(float(table.p_adjusted[row]))}"
    )


def describe_each_segment(table: GroupTable, rows: Ints) -> list[str]:
    """Describe segments, for hovering."""
    names, statuses, cells = table.names, table.status, table.cells(SEGMENT_CELLS, rows.tolist())
    return [
        f"{names[i]}: {statuses[i]}\nn = {table.n[i]:,}, {describe_row(table, i)}"
        f"\n{format_p_value(table.p_value[i])}, adjusted {format_p_value(table.p_adjusted[i])}"
        f"\nminimum detectable odds ratio {cells['detectable'][at]}"
        f"\n{table.metric.name} {cells['value'][at]}"
        for at, i in enumerate(rows.tolist())
    ]


def name_side(status: str, direction: Direction | None) -> str:
    """Return the direction of a miscalibrated group, or the status of another."""
    return status if direction is None else direction


def _make_ratio_rows(
    names: Sequence[str],
    sides: Sequence[str],
    columns: tuple[Floats, Floats, Floats],
    notes: Sequence[str],
    texts: Sequence[str],
) -> Panel:
    """Show a row for each group: its ratio as a dot, its interval as a line, and a note at the right."""
    with np.errstate(divide="ignore"):
        value, low, high = (np.log(np.maximum(column, 0.0)) for column in columns)
    low, high = (np.where(value == np.inf, np.inf, end) for end in (low, high))  # none expected: beyond every axis
    known, reach = np.isfinite(value), find_reach(value, low, high)
    rows = np.arange(0.0, len(names))
    middle = np.array([[-0.6, max(len(names) - 0.4, 0.6)]])
    marks: list[Mark] = [Lines(np.zeros((1, 2)), middle, INK, "_as predicted", width=1.2)]
    for side, (colour, marker) in SIDE_MARKERS.items():
        at = np.array([i for i, row_side in enumerate(sides) if row_side == side], dtype=np.int64)
        if not len(at):
            continue
        ends = np.clip(np.stack([low[at], high[at]], 1), -reach, reach)
        marks.append(Lines(ends, np.stack([rows[at]] * 2, 1), colour, "_interval", width=2.5))
        hover = [texts[i] for i in at]
        marks += point_beyond(rows[at], (low[at], high[at]), reach, colour, 7, flat=True, texts=hover)
        at = at[known[at]]
        marks.append(Points(value[at], rows[at], colour, side, marker, 8, [texts[i] for i in at]))
    for note, row in zip(notes, rows.tolist(), strict=True):
        marks.append(Annotation(note, 1.72 * reach, row, ("right", "center")))
    if not len(names):
        marks.append(Annotation("none", 0.0, 0.0, ("left", "center")))
    common, short = drop_shared(names)
    y = AxisSpec((max(len(names) - 0.4, 0.6), -0.6), common, tuple(rows), tuple(short))
    x = AxisSpec((-reach, 1.75 * reach), "observed / expected", *make_ratio_ticks(reach), grid=True)
    return Panel(x, y, tuple(marks), legend="above")


def find_reach(value: Floats, low: Floats, high: Floats) -> float:
    """Return the reach of a ratio axis, as a logarithm.

    It holds all values and the nearer end of each interval. The farther ends are on it, too, up to a ratio of 4, or if
    they take no more than half of the axis.
    """
    nearer, farther = np.minimum(np.abs(low), np.abs(high)), np.maximum(np.abs(low), np.abs(high))
    known = np.abs(value)[np.isfinite(value)]
    most = max(known.max(initial=0.0), nearer[np.isfinite(nearer)].max(initial=0.0))
    least = max(1.3 * most, min(max(2 * most, np.log(4)), 1.05 * float(farther.max(initial=0.0))))
    return float(np.clip(least, np.log(1.6), np.log(1000)))


def drop_shared(names: Sequence[str]) -> tuple[str, list[str]]:
    """Return the prefix that all names share, up to the end of a word, and the rest of each, shortened.

    Examples
    --------
    >>> drop_shared(["country=de", "country=fr"])
    ('country', ['de', 'fr'])
    """
    same = [len(set(signs)) == 1 for signs in zip(*names, strict=False)] if len(names) > 1 else []
    shared = names[0][: [*same, False].index(False)] if same else ""
    shared = shared[: max(shared.rfind(sign) + 1 for sign in "=/, ")]
    short = shorten_all([name[len(shared) :] for name in names], LONGEST_NAME)
    return shorten(shared.rstrip("=/, "), LONGEST_NAME), short


def _fit_size(rows: int) -> tuple[float, float]:
    return 8, 1.9 + 0.3 * max(rows, 1)
