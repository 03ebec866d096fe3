"""The sections of the report that a table of its own fills: segments, and windows of time."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from truecal.metrics import format_name
from truecal.observations import Ints
from truecal.plot import describe_drift, describe_segments, drift_figure, segments_figure
from truecal.reporting._report_page import Formats, as_rate, as_share, write_figure, write_table
from truecal.results import BOTH, CALIBRATION, INCOMPLETE, PREVALENCE, TOO_SMALL, DriftTable, GroupTable

Figures = dict[str, dict[str, Any]]
SEGMENT_COLUMNS = {
    "segment": "segment",
    "n": "n",
    "positives": "positives",
    "prevalence": "rate",
    "mean": "mean prediction",
    "value": "",  # the metric's name
    "by_chance": "by chance",
    "excess": "excess",
    "p_value": "p-value",
    "p_adjusted": "p adjusted",
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
    "value": "",  # the metric's name
    "low": "",  # with the level of its interval
    "high": "to",
    "by_chance": "by chance",
    "p_value": "p-value",
    "total_p": "p of the total",
    "p_adjusted": "p adjusted",
    "ratio": "observed / expected",
    "prevalence_p_adjusted": "p of the rate, adjusted",
}
VALUES = ("value", "low", "high", "by_chance", "excess")
RATES = ("prevalence", "mean", "seen_below", "seen_above")
SHARES = ("too_low", "too_high")


def segments_section(table: GroupTable, figures: Figures, model: str) -> str:
    """What was found by segment: how many are off, the worst as a picture, all as a table, worst first.

    `model` says whose segments they are; it is empty where the report has one model.
    """
    found = int(table.alarm.sum())
    text = (
        f"Of {len(table):,} segments <b>{found:,}</b> are beyond what chance explains (adjusted p-value of at most "
        f"{table.significance:g}). A small segment is not cleared by a high p-value: the last two columns say which "
        "rates it could have told from its mean prediction."
    )
    figures["segments"] = {"linear": segments_figure(table)}
    caption = (
        "Dots are values, grey is chance; orange-red ones are beyond it, after adjusting for the number of segments."
    )
    what = f"{len(table):,} segments{_whose(model)}, worst first: the smallest p-value, then the largest excess"
    return (
        f'<section id="by-segment"><h2>Segments{escape(_whose(model))}</h2>'
        f'<p class="verdict {"bad" if found else ""}">{text}</p>'
        f"{write_figure('segments', 'free', describe_segments(table), caption)}"
        f"{_rows('segments-table', what, SEGMENT_COLUMNS, table, table.order())}</section>"
    )


def drift_section(table: DriftTable, figures: Figures, model: str) -> str:
    """What was found by window of time: what moved, as a sentence, a picture and a table; `model` as for segments."""
    said = table.verdict
    alarms, moved = int(table.alarm.sum()), said.count(PREVALENCE)
    ripe = int(table.mature.sum())
    text = f"Of {ripe:,} windows with complete labels, in <b>{alarms:,}</b> the predictions are off beyond chance"
    text += f" ({said.count(CALIBRATION):,} with the prevalence of the others, {said.count(BOTH):,} with another)."
    text += f" In <b>{moved:,}</b> the prevalence moved and nothing shows that the predictions did not follow it."
    if TOO_SMALL in said:
        text += f" <b>{said.count(TOO_SMALL):,}</b> of them have too few rows to tell."
    if INCOMPLETE in said:
        text += f" {said.count(INCOMPLETE):,} more have labels that are not complete, and raise no alarm."
    figures["drift"] = {"linear": drift_figure(table)}
    caption = (
        "Above: values with intervals, grey is chance, orange-red triangles are alarms, crosses are windows too small "
        "to tell. Below: the share of positives with its exact interval beside the mean prediction; diamonds differ "
        "from the other windows."
    )
    what = f"{len(table):,} windows{_whose(model)}"
    names = DRIFT_COLUMNS | {"low": f"{100 * table.confidence:g} % interval from"}
    return (
        f'<section id="by-window"><h2>Drift{escape(_whose(model))}</h2>'
        f'<p class="verdict {"bad" if alarms else ""}">{text}</p>'
        f"{write_figure('drift', 'free', describe_drift(table).replace(chr(10), ': '), caption)}"
        f"{_rows('drift-table', what, names, table, np.arange(len(table)))}</section>"
    )


def _whose(model: str) -> str:
    return f" of {model}" if model else ""


def _rows(number: str, what: str, names: dict[str, str], table: GroupTable | DriftTable, order: Ints) -> str:
    """The notes of a table, and its rows in this order; numbers have their units."""
    notes = "".join(f'<p class="soft">Note: {escape(note)}.</p>' for note in table.notes)
    arrays = table.arrays() | {table.columns[0].name: table.names}
    columns = {key: np.asarray(arrays[key], dtype=object)[order].tolist() for key in names}
    heads = names | {"value": format_name(table.metric.name)}
    formats: Formats = {
        **dict.fromkeys(VALUES, table.metric.format),
        **dict.fromkeys(RATES, as_rate),
        **dict.fromkeys(SHARES, as_share),
    }
    return f"{notes}{write_table(number, what, heads, columns, formats)}"
