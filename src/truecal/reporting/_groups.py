"""The sections about classes, segments, slices and periods, and about the comparison of two models."""

from __future__ import annotations

from truecal import words
from truecal._text import escape_html as escape
from truecal._text import plural, prose_html
from truecal.reporting._figures import Figures
from truecal.reporting._page import write_badge, write_view
from truecal.results import (
    ClassTable,
    Comparison,
    DriftTable,
    GroupTable,
    SliceTable,
)
from truecal.verdict import Status
from truecal.words import BASE_RATES, count_periods, count_segments, label_outcome

LEGEND = "Triangles, stars, squares and diamonds are miscalibrated {0}; crosses are inconclusive ones."
INTERVALS = "observed over expected {0} (O/E) with confidence intervals that are simultaneous over all {1}"


def write_classes(table: ClassTable) -> str:
    """Each class against the rest: how many are miscalibrated, and all as a table, smallest p-value first."""
    what = f"{len(table):,} classes, each against the rest, smallest p-value first"
    rows = table.order().tolist()
    return _write_section(
        "by-class", "Classes", table.summary, "miscalibrated" in table.status, write_view("classes", what, table, rows)
    )  # fmt: skip


def write_comparison(table: Comparison, figures: Figures) -> str:
    """Which of two models is better, as sentences, a picture and a table of all metrics."""
    caption = "Differences of the metrics with their confidence intervals; one that contains 0 shows no difference."
    text = " ".join(table.sentences())
    figure = figures.draw("comparison", "comparison", table, label=text, caption=caption)
    rows = write_view("comparison-table", table.summary, table)
    said = f'<p class="said">{prose_html(text)}</p>'
    return f'<section id="compared"><h2>Which is better</h2>{said}{figure}{_write_notes(table)}{rows}</section>'


def write_segments(table: GroupTable, figures: Figures, whose: str) -> str:
    """How many segments are miscalibrated, the worst as a plot, all as a table; `whose` names the model."""
    text = " ".join(table.sentences())
    caption = f"Dots are {INTERVALS.format(label_outcome(table.outcome), 'segments')}. {LEGEND.format('segments')}"
    figure = figures.draw("segments", "segments", table, label=f"{text} {count_segments(table)}.", caption=caption)
    what = f"{plural(len(table), 'segment')}{whose}, worst first: the smallest p-value"
    inside = figure + _write_notes(table) + write_view("segments-table", what, table, table.order().tolist())
    return _write_section("by-segment", f"Segments{whose}", text, bool(table.alarm.any()), inside)


def write_slices(table: SliceTable, whose: str) -> str:
    """The miscalibrated slices that a search found, the largest loss first."""
    what = f"{plural(len(table), 'miscalibrated slice')}, the largest loss first"
    inside = _write_notes(table) + (write_view("slices-table", what, table) if len(table) else "")
    return _write_section("by-slice", f"Slices{whose}", " ".join(table.sentences()), len(table) > 0, inside)


def write_drift(table: DriftTable, figures: Figures, whose: str) -> str:
    """What all periods show together, a plot and a table."""
    text = " ".join(table.sentences())
    caption = (
        f"Above: {INTERVALS.format(label_outcome(table.outcome), 'periods')}. {LEGEND.format('periods')} The baseline "
        f"is shaded. Below: the {BASE_RATES[table.outcome]} beside the mean prediction; diamonds differ from the "
        "baseline."
    )
    label = f"{count_periods(table)}. {text}"
    figure = figures.draw("drift", "drift", table, label=label, caption=caption)
    inside = figure + _write_notes(table)
    inside += write_view("drift-table", f"{plural(len(table), 'period')}{whose}", table)
    return _write_section("by-period", f"Over time{whose}", text, table.miscalibrated, inside)


def _write_section(number: str, title: str, text: str, off: bool, inside: str) -> str:
    badge = f"{write_badge(Status.MISCALIBRATED)} " * off
    said = f'<p class="said">{badge}{prose_html(text)}</p>'
    return f'<section id="{number}"><h2>{escape(title)}</h2>{said}{inside}</section>'


def _write_notes(table: GroupTable | SliceTable | DriftTable | Comparison) -> str:
    return "".join(f'<p class="soft">{prose_html(note)}</p>' for note in words.list_notes(table.notes))
