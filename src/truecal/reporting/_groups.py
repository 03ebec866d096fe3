"""The sections about groups of rows: classes, segments, slices, windows of time, with how many are off; and about two
models."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from truecal._text import escape_html as escape
from truecal._text import plural, prose_html, shorten
from truecal.inference import OUTCOMES, format_ratio
from truecal.plot import describe_drift, describe_segments
from truecal.reporting._figures import Figures
from truecal.reporting._page import Column, write_badge, write_table
from truecal.results import (
    LEFT,
    ClassTable,
    Comparison,
    DriftTable,
    GroupTable,
    SliceTable,
    Table,
)

NAME = 60  # signs of a group's name at the top of the page

SEGMENT_COLUMNS = (
    *("segment", "n", "observed", "expected", "ratio", "ratio_low", "ratio_high", "direction", "p_adjusted", "verdict"),
    *("detectable", "value"),
)
DRIFT_COLUMNS = (
    *("window", "n", "observed", "expected", "ratio", "ratio_low", "ratio_high", "direction", "p_adjusted", "verdict"),
    *("compared", "value"),
)
SLICE_COLUMNS = (
    *("slice", "n", "share", "observed", "expected", "ratio", "ratio_low", "ratio_high", "p_adjusted", "direction"),
)
COMPARISON_COLUMNS = ("metric", "first", "second", "difference", "low", "high", "verdict")
CLASS_COLUMNS = (
    *("label", "predicted", "observed", "expected", "ratio", "ratio_low", "ratio_high", "direction", "value"),
    *("p_adjusted", "verdict"),
)


def describe_alarms(
    classes: ClassTable | None, segments: GroupTable | None, slices: SliceTable | None, drift: DriftTable | None
) -> list[str]:
    """What is off in each section, for the top of the page."""
    parts = []
    if classes is not None and (wrong := classes.verdict.count("off")):
        parts.append(f"{wrong:,} of {len(classes):,} classes")
    if segments is not None and (wrong := int(segments.alarm.sum())):
        row = segments.order()[0]
        worst = _tell_worst(segments.names[row], segments.ratio[row], segments.direction[row], alone=wrong == 1)
        parts.append(f"{wrong:,} of {plural(len(segments), 'segment')}{worst}")
    if slices is not None and len(slices):
        worst = _tell_worst(slices.slice[0], slices.ratio[0], slices.direction[0], alone=len(slices) == 1)
        parts.append(f"{plural(len(slices), 'group')} listed in a search of {slices.searched:,}{worst}")
    if drift is not None and (wrong := len(drift.alarms)):
        parts.append(f"{wrong:,} of {plural(len(drift), 'time window')}, the last {drift.names[_find_last(drift)]}")
    elif drift is not None and drift.off:
        parts.append("all time windows together, though none by itself")
    return parts


def advise_by_drift(drift: DriftTable | None) -> str | None:
    """What to do about a model that went off, in the place of recalibrating all rows."""
    if drift is None or drift.overall != "went off":
        return None
    return "These predictions went off (see Over time): recalibrate on recent rows, or train again"


def _tell_worst(name: str, ratio: float, way: str, *, alone: bool) -> str:
    """The name of the worst group, and how far it is off."""
    size = f": \N{MULTIPLICATION SIGN} {format_ratio(float(ratio))}" if way in ("too low", "too high") else ""
    far = "" if way == "unclear" else f", {way}{size}"
    return f" ({'' if alone else 'worst: '}{shorten(name, NAME)}{far})"


def _find_last(drift: DriftTable) -> int:
    """The last window that is off."""
    return int(np.flatnonzero(drift.alarm)[-1])


def write_classes(table: ClassTable) -> str:
    """Each class against the rest: how many are off, and all as a table, smallest p-value first."""
    what = f"{len(table):,} classes, each against the rest, smallest p-value first"
    rows = table.order().tolist()
    return _write_section(
        "by-class", "Classes", f"{table.summary()}.", "off" in table.verdict,
        _list_rows("classes", what, table, CLASS_COLUMNS, rows),
    )  # fmt: skip


def write_comparison(table: Comparison, figures: Figures) -> str:
    """Which of two models is better, as sentences, a picture and a table of all metrics."""
    caption = "Marks are differences of the metrics with their intervals; where 0 lies inside, no difference is shown."
    figure = figures.draw("comparison", "comparison", table, label=table.sentence, caption=caption)
    rows = _list_rows("comparison-table", table.summary(), table, COMPARISON_COLUMNS)
    said = f'<p class="said">{prose_html(table.sentence)}</p>'
    return f'<section id="compared"><h2>Which is better</h2>{said}{figure}{_write_notes(table)}{rows}</section>'


def write_segments(table: GroupTable, figures: Figures, whose: str) -> str:
    """How many segments are off, the worst as a picture, all as a table, worst first; `whose` says of which model."""
    text = " ".join(table.sentences())
    caption = (
        f"Dots are observed over expected {OUTCOMES[table.outcome]} with intervals that hold for all segments "
        "together. Triangles, stars, squares and diamonds are segments that are off; crosses mean that the data cannot "
        "tell."
    )
    figure = figures.draw("segments", "segments", table, label=f"{text} {describe_segments(table)}.", caption=caption)
    what = f"{plural(len(table), 'segment')}{whose}, worst first: the smallest p-value"
    inside = figure + _write_notes(table) + _list_rows(
        "segments-table", what, table, SEGMENT_COLUMNS, table.order().tolist()
    )  # fmt: skip
    return _write_section("by-segment", f"Segments{whose}", text, bool(table.alarm.any()), inside)


def write_slices(table: SliceTable, whose: str) -> str:
    """Groups of rows that a search found to be off, the largest loss first."""
    what = f"{plural(len(table), 'group')} of rows listed as off, the largest loss first"
    inside = _write_notes(table) + (_list_rows("slices-table", what, table, SLICE_COLUMNS) if len(table) else "")
    return _write_section("by-slice", f"Slices{whose}", f"{table.summary()}.", len(table) > 0, inside)


def write_drift(table: DriftTable, figures: Figures, whose: str) -> str:
    """What is said of all windows of time together, a picture and a table."""
    text = " ".join(table.sentences())
    caption = (
        f"Above: observed over expected {OUTCOMES[table.outcome]} with intervals that hold for all windows "
        "together; triangles, stars, squares and diamonds are off, crosses mean that the data cannot tell, the "
        "baseline is shaded. Below: the share of "
        f"{OUTCOMES[table.outcome]} beside the mean prediction; diamonds differ from the baseline."
    )
    label = f"{describe_drift(table).replace(chr(10), ': ')}. {text}"
    figure = figures.draw("drift", "drift", table, label=label, caption=caption)
    inside = figure + _write_notes(table)
    inside += _list_rows("drift-table", f"{plural(len(table), 'window')}{whose}", table, DRIFT_COLUMNS)
    return _write_section("by-window", f"Over time{whose}", text, table.off, inside)


def _write_section(number: str, title: str, text: str, off: bool, inside: str) -> str:
    badge = f"{write_badge('off')} " * off
    said = f'<p class="said">{badge}{prose_html(text)}</p>'
    return f'<section id="{number}"><h2>{escape(title)}</h2>{said}{inside}</section>'


def _write_notes(table: GroupTable | SliceTable | DriftTable | Comparison) -> str:
    return "".join(f'<p class="soft">Note: {prose_html(note)}.</p>' for note in table.notes)


def _list_rows(number: str, caption: str, table: Table, names: Sequence[str], rows: Sequence[int] | None = None) -> str:
    """Columns of a table, all rows or these; its file has every column."""
    units = {each.name: each.unit for each in table.columns}
    columns = [
        Column(table.heading(name), cells, text=units[name] in LEFT) for name, cells in table.cells(names, rows).items()
    ]
    return write_table(number, caption, columns, table.to_csv(), sorts=True)
