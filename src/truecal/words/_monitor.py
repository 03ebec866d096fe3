"""Sentences about a monitor: its status, each alarm, and what an update added."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from truecal._text import format_count, format_percent, plural, printable
from truecal.metrics import Direction
from truecal.results import AlarmCause, MonitorStatus, MonitorTable, Series
from truecal.words._format import NAMED, format_ratio, join_words

if TYPE_CHECKING:
    from truecal.analysis import Monitor, MonitorUpdate

HUGE = 1e6  # beyond it the digits of an e-value mean nothing to a reader
NOTABLE_GROWTH = 1.05  # a correction for recurring clusters of less than 5% is not worth a sentence
PREDICATES = {
    Direction.UNDER: "under-predicts",
    Direction.OVER: "over-predicts",
    Direction.UNDERCONFIDENT: "is underconfident (high predictions are too low, low ones too high)",
    Direction.OVERCONFIDENT: "is overconfident (high predictions are too high, low ones too low)",
}


def summarize_monitor(monitor: Monitor) -> str:
    """Summarize the status of a monitor in one sentence."""
    leading = monitor.leading
    if monitor.status == MonitorStatus.NO_DATA or leading is None:
        since = "since the reset" if any(one.periods for one in monitor.series) else "yet"
        return f"No period has been evaluated {since}."
    if monitor.status == MonitorStatus.ALARM:
        alarms = [one for one in monitor.series if one.alarm]
        if len(alarms) == 1:
            return describe_alarm(monitor, alarms[0])[0]
        names = [printable(monitor.name(one)) for one in alarms]
        shown = [*names[:NAMED], f"{len(names) - NAMED:,} more"] if len(names) > NAMED else names
        return f"Alarms in {len(alarms):,} of {len(monitor.series):,} series: {join_words(shown)}."
    several = len(monitor.series) > 1
    among = f" in {len(monitor.series):,} series" if several else ""
    return (
        f"No alarm{among} after {plural(leading.process.count, 'period')} "
        f"({'highest ' if several else ''}{_format_evidence(monitor, leading)})."
    )


def describe_monitor(monitor: Monitor) -> tuple[str, ...]:
    """Describe the status of a monitor, each alarm, and the error guarantee."""
    leading = monitor.leading
    if monitor.status == MonitorStatus.NO_DATA or leading is None:
        return (summarize_monitor(monitor),)
    alarms = [one for one in monitor.series if one.alarm]
    lines = [sentence for one in alarms for sentence in describe_alarm(monitor, one)]
    lines = lines or [summarize_monitor(monitor)]
    if leading.process.growth >= NOTABLE_GROWTH:
        lines.append(
            f"Clusters recur in later periods, which makes rows less informative: the log e-value is divided by "
            f"{leading.process.growth:.3g}."
        )
    return (*lines, describe_guarantee(monitor))


def describe_alarm(monitor: Monitor, series: Series) -> tuple[str, ...]:
    """Describe an alarm: since when, how strong the evidence is, and how predictions deviate.

    The ratio has no interval: its periods were chosen for their deviation, and one that ignored this would be too
    narrow.
    """
    of = "" if series.segment is None else f" for {printable(monitor.name(series))}"
    since = printable(str(series.change_point))
    if series.cause == AlarmCause.CONTRADICTED:
        return (f"Alarm{of}: a label in period {since} contradicts a prediction of exactly 0 or 1.",)
    head = f"Alarm{of}: miscalibrated since about {since} ({_format_evidence(monitor, series)})."
    if series.direction is None:
        return (head,)
    observed, expected = series.totals()
    ratio = f", O/E {format_ratio(series.ratio)}" if math.isfinite(series.ratio) else ""
    counts = f"observed {observed:,}, expected {format_count(expected)}{ratio}"
    return head, f"Since then the model {PREDICATES[series.direction]}: {counts}."


def describe_guarantee(monitor: Monitor) -> str:
    """Describe how rare false alarms are."""
    level = format_percent(monitor.significance)
    return (
        f"The probability that a calibrated model ever raises an alarm is at most {level}, however often it is checked."
    )


def summarize_monitor_table(table: MonitorTable) -> str:
    """Summarize the numbers of series and alarms."""
    alarms, threshold = int(table.alarm.sum()), format_e_value(1 / table.significance)
    return f"{len(table):,} series, {plural(alarms, 'alarm')} (e-value of {threshold} or more)"


def summarize_update(update: MonitorUpdate) -> str:
    """Summarize what an update added."""
    parts = [f"{plural(len(update.evaluated), 'new period')} evaluated"]
    if update.known:
        parts.append(f"{len(update.known):,} known before")
    if update.pending:
        parts.append(f"{len(update.pending):,} pending (labels incomplete) from {printable(str(update.pending[0]))} on")
    return f"{', '.join(parts)}."


def format_e_value(e_value: float) -> str:
    """Format an e-value: three digits, and no more than a reader can use.

    Examples
    --------
    >>> format_e_value(0.4213), format_e_value(4210.4), format_e_value(20.0), format_e_value(1e80)
    ('0.421', '4,210', '20', '> 1,000,000')
    """
    if e_value > HUGE:
        return f"> {HUGE:,.0f}"
    return f"{e_value:,.0f}" if e_value >= 1000 else f"{e_value:.3g}"


def _format_evidence(monitor: Monitor, series: Series) -> str:
    """The e-value of a series beside the threshold."""
    return f"e-value {format_e_value(series.evidence)}, threshold {format_e_value(monitor.alarm_threshold)}"
