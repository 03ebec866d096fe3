"""The answers of `truecal monitor`: text for people, a line of JSON for a log, and metrics for Prometheus."""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from truecal._text import Terminal, escape_json, printable

if TYPE_CHECKING:
    from truecal.analysis import Monitor, MonitorUpdate
    from truecal.results import Series

PLAIN_TEXT = re.compile(r"[^\W\d_][\w .:/+-]*")  # no number, no date, nothing that separates names and values
WORDS = ("None", "True", "False", "nan", "inf")


def format_monitor(monitor: Monitor, update: MonitorUpdate, source: str, terminal: Terminal) -> str:
    """Format the status of a monitor, what this update added, and the table of its series."""
    head, *rest = monitor.sentences()
    parts = [
        terminal.paint(terminal.wrap(head), "red" if monitor.alarm else "bold"),
        *map(terminal.wrap, rest),
        terminal.wrap(f"{printable(source)}: {update.summary}"),
    ]
    table = monitor.table
    return "\n".join(parts) + (f"\n\n{table.text(terminal)}" if len(table) else "")


def to_log_line(monitor: Monitor, update: MonitorUpdate) -> str:
    """Return the status after an update as one line of JSON."""
    leading = monitor.leading
    record: dict[str, Any] = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "status": monitor.status,
        "alarm": monitor.alarm,
        "alarms": monitor.alarms,
        "series": None if leading is None else monitor.name(leading),
        "e_value": _round(monitor.e_value, infinite="inf"),
        "alarm_threshold": monitor.alarm_threshold,
        "direction": monitor.direction,
        "change_point": None if monitor.change_point is None else str(monitor.change_point),
        "ratio": _round(monitor.ratio),
        "evaluated": len(update.evaluated),
        "last": str(update.evaluated[-1]) if update.evaluated else None,
        "pending": len(update.pending),
    }
    return escape_json(json.dumps(record, ensure_ascii=False))


def _round(value: float, infinite: str | None = None) -> float | str | None:
    """Four significant digits keep a line of the log short; JSON has neither infinity nor NaN."""
    return float(f"{value:.4g}") if math.isfinite(value) else infinite


def to_prometheus(monitor: Monitor) -> str:
    """Return the series of a monitor in the text format that Prometheus collects."""
    table = monitor.table
    labels = [_write_label(monitor, one) for one in monitor.series]
    gauges = {
        "alarm": ("1 if an alarm was raised since the last reset", table.alarm),
        "e_value": ("Evidence of miscalibration, an alarm at truecal_alarm_threshold", table.e_value),
        "observed_positives": ("Observed positives since the last reset", table.observed),
        "expected_positives": ("Expected positives since the last reset", table.expected),
        "observed_over_expected": ("Observed over expected positives since the change point", table.ratio),
        "rows": ("Rows evaluated since the last reset", table.n),
        "periods": ("Periods evaluated since the last reset", table.periods),
    }
    lines = []
    for name, (meaning, values) in gauges.items():
        lines += [f"# HELP truecal_{name} {meaning}", f"# TYPE truecal_{name} gauge"]
        for label, value in zip(labels, values.tolist(), strict=True):
            lines.append(f'truecal_{name}{{series="{label}"}} {_write_number(float(value))}')
    lines += [
        "# HELP truecal_alarm_threshold The e-value that raises an alarm",
        "# TYPE truecal_alarm_threshold gauge",
        f"truecal_alarm_threshold {_write_number(monitor.alarm_threshold)}",
    ]
    return "\n".join([*lines, ""])


def _write_label(monitor: Monitor, series: Series) -> str:
    """Return the name of a series as a label. No two share one, or Prometheus would refuse the file."""
    if series.segment is None:
        return monitor.name(series)
    by = monitor.state.by
    text = ", ".join(f"{name}={_quote_text(value)}" for name, value in zip(by, series.segment, strict=True))
    return printable(text).replace("\\", r"\\").replace('"', r"\"")


def _quote_text(value: Any) -> str:
    """Return a value of a segment; text that looks like another value, such as null's None, is put in quotes."""
    if not isinstance(value, str) or (PLAIN_TEXT.fullmatch(value) and value not in WORDS):
        return str(value)
    return repr(value)


def _write_number(value: float) -> str:
    return "NaN" if math.isnan(value) else "+Inf" if value == math.inf else f"{value:.12g}"
