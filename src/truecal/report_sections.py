"""The sections of the report that a table of its own fills: segments, and windows of time."""

from __future__ import annotations

from html import escape
from typing import Any

from truecal.comparisons import ALARM, describe_segments, segments_figure
from truecal.drift_pictures import describe_drift, drift_figure
from truecal.drift_table import BOTH, CALIBRATION, INCOMPLETE, PREVALENCE, DriftTable
from truecal.report_page import write_figure, write_table
from truecal.segments import SegmentTable

Figures = dict[str, dict[str, Any]]
SEGMENT_COLUMNS = {
    "segment": "segment",
    "n": "n",
    "positives": "positives",
    "prevalence": "rate",
    "mean": "mean prediction",
    "value": "value",
    "by_chance": "by chance",
    "excess": "excess",
    "p_value": "p-value",
    "p_adjusted": "adjusted",
    "too_low": "share too low",
    "too_high": "share too high",
    "seen_below": "could see below",
    "seen_above": "could see above",
}
DRIFT_COLUMNS = {
    "window": "window",
    "verdict": "verdict",
    "n": "n",
    "positives": "positives",
    "prevalence": "rate",
    "mean": "mean prediction",
    "value": "value",
    "low": "its interval from",
    "high": "to",
    "by_chance": "by chance",
    "p_value": "p-value",
    "total_p": "of the total",
    "p_adjusted": "adjusted",
    "ratio": "observed / expected",
    "prevalence_p_adjusted": "p of the rate, adjusted",
}


def segments_section(table: SegmentTable, figures: Figures) -> str:
    """What was found by segment: how many are off, the worst as a picture, all as a table."""
    found = int((table.p_adjusted <= ALARM).sum())
    figures["segments"] = {"linear": segments_figure(table)}
    caption = "Dots are values, grey is chance; red ones are beyond it, after adjusting for the number of segments."
    columns = {key: list(column) if key == "segment" else column.tolist() for key, column in table.columns().items()}
    notes = "".join(f'<p class="soft">Note: {escape(note)}.</p>' for note in table.notes)
    return (
        f'<section id="by-segment"><h2>Segments</h2><p class="verdict {"bad" * (found > 0)}">Of {len(table):,} '
        f"segments <b>{found:,}</b> are beyond what chance explains (adjusted p-value of at most {ALARM:g}). A small "
        "segment is not cleared by a high p-value: the last two columns say which rates it could have told from its "
        f"mean prediction.</p>{write_figure('segments', 'free', describe_segments(table), caption)}{notes}"
        f"{write_table('segments-table', f'{len(table):,} segments', SEGMENT_COLUMNS, columns)}</section>"
    )


def drift_section(table: DriftTable, figures: Figures) -> str:
    """What was found by window of time: what moved, as a sentence, a picture and a table."""
    said = table.verdict
    alarms, moved = int(table.alarm.sum()), said.count(PREVALENCE)
    ripe = int(table.mature.sum())
    text = f"Of {ripe:,} windows with complete labels, in <b>{alarms:,}</b> the predictions are off beyond chance"
    text += f" ({said.count(CALIBRATION):,} with the prevalence of the others, {said.count(BOTH):,} with another)."
    text += f" In <b>{moved:,}</b> the prevalence moved and nothing shows that the predictions did not follow it."
    if INCOMPLETE in said:
        text += f" {said.count(INCOMPLETE):,} more have labels that are not complete, and raise no alarm."
    figures["drift"] = {"linear": drift_figure(table)}
    caption = (
        "Above: values with intervals, grey is chance, red triangles are alarms. Below: the share of positives with "
        "its exact interval beside the mean prediction; diamonds differ from the other windows."
    )
    columns = {key: column if isinstance(column, list) else column.tolist() for key, column in table.columns().items()}
    notes = "".join(f'<p class="soft">Note: {escape(note)}.</p>' for note in table.notes)
    picture = write_figure("drift", "free", describe_drift(table).replace("\n", ": "), caption)
    return (
        f'<section id="by-window"><h2>Drift</h2><p class="verdict {"bad" if alarms else ""}">{text}</p>{picture}{notes}'
        f"{write_table('drift-table', f'{len(table):,} windows', DRIFT_COLUMNS, columns)}</section>"
    )
