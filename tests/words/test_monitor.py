"""The sentences about a monitor, for each status and direction."""

from datetime import date, timedelta

import numpy as np
import pytest

from truecal import Monitor, Observations, Tally, words
from truecal.analysis import MonitorUpdate

FIRST = date(2026, 3, 1)
GUARANTEE = "The probability that a calibrated model ever raises an alarm is at most 5%, however often it is checked."


def follow(change, days=20, start=0):
    """A monitor of days with 1,000 rows whose log-odds are changed from a day on."""
    rng = np.random.default_rng(0)
    monitor = Monitor()
    for day in range(days):
        p = rng.beta(2, 2, size=1000)
        x = np.log(p / (1 - p))
        truth = 1 / (1 + np.exp(-(change(x) if day >= start else x)))
        monitor.update(rng.random(1000) < truth, p, period=FIRST + timedelta(day))
    return monitor


@pytest.mark.parametrize(
    ("change", "direction", "predicate"),
    [
        (lambda x: x + 0.4, "under-predicts", "under-predicts"),
        (lambda x: x - 0.4, "over-predicts", "over-predicts"),
        (lambda x: 1.6 * x, "underconfident", "is underconfident (high predictions are too low, low ones too high)"),
        (lambda x: 0.6 * x, "overconfident", "is overconfident (high predictions are too high, low ones too low)"),
    ],
)
def test_an_alarm_names_its_direction_and_change_point(change, direction, predicate):
    monitor = follow(change, start=10)
    assert (monitor.status, monitor.direction) == ("alarm", direction)
    head, detail, guarantee = monitor.sentences()
    assert abs((monitor.change_point - FIRST).days - 10) <= 2
    assert head == monitor.summary
    assert head.startswith(f"Alarm: miscalibrated since about {monitor.change_point} (e-value ")
    assert head.endswith(", threshold 20).")
    observed, expected = monitor.leading.totals()
    counts = f"observed {observed:,}, expected {expected:,.0f}, O/E {words.format_ratio(observed / expected)}"
    assert detail == f"Since then the model {predicate}: {counts}."
    assert guarantee == GUARANTEE


def test_a_monitor_without_an_alarm_gives_its_evidence():
    assert Monitor().sentences() == ("No period has been evaluated yet.",)
    monitor = follow(lambda x: x, days=3)
    assert monitor.status == "no alarm"
    summary = f"No alarm after 3 periods (e-value {monitor.e_value:.3g}, threshold 20)."
    assert monitor.sentences() == (summary, GUARANTEE)
    monitor.reset()
    assert (monitor.status, monitor.summary) == ("no data", "No period has been evaluated since the reset.")


def test_alarms_of_several_series_are_counted_and_named():
    rng = np.random.default_rng(1)
    parts = {}
    for name in "abcdef":
        p = rng.beta(1, 9, size=4000)
        parts[FIRST, name] = Tally.from_arrays(rng.random(4000) < (2 * p / (1 + p) if name < "e" else p), p)
    monitor = Monitor()
    update = monitor.update(Observations("y", "p", parts, by=("day", "name"), periods={"day": "1d"}))
    named = [f"name={name}" for name in "abcd"]
    assert sorted(monitor.alarms) == ["all rows", *named]
    first, second, third, *_ = monitor.alarms
    assert monitor.summary == f"Alarms in 5 of 7 series: {first}, {second}, {third} and 2 more."
    assert monitor.table.summary == "7 series, 5 alarms (e-value of 20 or more)"
    assert update.summary == "1 new period evaluated."


def test_a_contradicted_certainty_has_no_direction():
    monitor = Monitor()
    monitor.update([1, 0], [0.0, 0.5], period=FIRST)
    assert monitor.summary == "Alarm: a label in period 2026-03-01 contradicts a prediction of exactly 0 or 1."
    assert monitor.direction is None


def test_an_update_counts_known_and_pending_periods():
    days = [FIRST + timedelta(day) for day in range(4)]
    update = MonitorUpdate(evaluated=(days[1],), pending=(days[2], days[3]), known=(days[0],))
    expected = "1 new period evaluated, 1 known before, 2 pending (labels incomplete) from 2026-03-03 on."
    assert update.summary == expected
