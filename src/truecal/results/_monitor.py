"""The state that a monitor keeps between runs, and the table of its series."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, ClassVar

import numpy as np

from truecal._codes import Code
from truecal._text import format_count
from truecal.data import NO_SAMPLING, Bools, Floats, Ints, Sampling, Segment
from truecal.inference import PeriodSums, Process, find_change_point
from truecal.metrics import Direction, Tolerance
from truecal.results._json import JsonMixin, decode_fields, register
from truecal.results._monitor_checks import check_state
from truecal.results._table import Column, Table, column, register_table


def _format_e_value(e_value: float) -> str:
    from truecal import words

    return words.format_e_value(e_value)


def _format_ratio(ratio: float) -> str:
    from truecal import words

    return words.format_ratio(ratio)


class MonitorStatus(Code):
    """The state of a monitor or of one of its series."""

    ALARM = "alarm"
    NO_ALARM = "no alarm"
    NO_DATA = "no data"  # no period was evaluated since the start or the last reset


class AlarmCause(Code):
    """Why an alarm was raised."""

    EVIDENCE = "evidence"  # the e-value reached the threshold
    CONTRADICTED = "contradicted"  # a label contradicts a prediction of exactly 0 or 1


@register
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Series(JsonMixin):
    """The periods of one segment in order, or of all rows together, and the evidence so far.

    `share` is the part of the significance that the series spends, `pivot` the score that its bets on the slope turn
    around, `alarm_period` the period whose evidence raised the alarm. `e_value` is the evidence after each period,
    times the share.
    """

    segment: Segment | None
    share: float
    pivot: float
    periods: tuple[Any, ...] = ()
    n: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    observed: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    expected: Floats = field(default_factory=lambda: np.zeros(0))
    information: Floats = field(default_factory=lambda: np.zeros(0))
    slope_surplus: Floats = field(default_factory=lambda: np.zeros(0))
    e_value: Floats = field(default_factory=lambda: np.zeros(0))
    process: Process = field(default_factory=Process.start)
    alarm_period: Any = None
    alarm: bool = False

    @property
    def status(self) -> MonitorStatus:
        """Whether an alarm was raised, or no period was evaluated yet."""
        if not self.process.count:
            return MonitorStatus.NO_DATA
        return MonitorStatus.ALARM if self.alarm else MonitorStatus.NO_ALARM

    @property
    def cause(self) -> AlarmCause | None:
        """Why the alarm was raised; None without one."""
        if not self.alarm:
            return None
        return AlarmCause.CONTRADICTED if math.isinf(self.evidence) else AlarmCause.EVIDENCE

    @property
    def evidence(self) -> float:
        """The e-value after the last period, times the share; 0 before the first period."""
        return float(self.e_value[-1]) if self.process.count else 0.0

    @property
    def begun(self) -> int:
        """The index of the first period since the start or the last reset."""
        return len(self.periods) - self.process.count

    @property
    def direction(self) -> Direction | None:
        """How predictions deviate; None without evidence: an e-value of at most 1, or a contradicted certainty."""
        return self.process.direction if self.alarm or self.evidence > 1 else None

    @property
    def change_index(self) -> int | None:
        """The index of the estimated change point; None without evidence of one."""
        first, direction = self.begun, self.direction
        if self.cause == AlarmCause.CONTRADICTED:
            return first + int(np.argmax(np.isinf(self.e_value[first:])))
        if direction is None:
            return None
        of_total = direction in (Direction.UNDER, Direction.OVER)
        surplus = self.observed - self.expected if of_total else self.slope_surplus
        sign = 1 if direction in (Direction.UNDER, Direction.UNDERCONFIDENT) else -1
        return first + find_change_point(surplus[first:], self.information[first:], sign)

    @property
    def change_point(self) -> Any:
        """The estimated change point, the first period that deviates; None without evidence of one."""
        return None if self.change_index is None else self.periods[self.change_index]

    def totals(self) -> tuple[int, float]:
        """Return the observed and expected positives since the change point, or of all periods since the last reset."""
        first = self.begun if self.change_index is None else self.change_index
        return int(self.observed[first:].sum()), float(self.expected[first:].sum())

    @property
    def ratio(self) -> float:
        """Observed over expected positives of `totals`; NaN if both are 0."""
        observed, expected = self.totals()
        return observed / expected if expected > 0 else math.inf if observed else math.nan


@register
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PendingPeriod(JsonMixin):
    """A period of a series whose labels are not complete yet."""

    segment: Segment | None
    period: Any
    sums: PeriodSums


@register
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MonitorState(JsonMixin):
    """Everything that a monitor keeps between runs; frozen, so that an update replaces it as a whole.

    `batches` counts how often new segments appeared. `last` is the last period that was evaluated.
    """

    significance: float
    label_lag: timedelta | None
    tolerance: Tolerance | None
    threshold: float | None
    label: str | None = None
    score: str | None = None
    by: tuple[str, ...] = ()
    every: str | None = None
    series: tuple[Series, ...] = ()
    pending: tuple[PendingPeriod, ...] = ()
    batches: int = 0
    last: Any = None
    sampling: Sampling = NO_SAMPLING

    @classmethod
    def _read(cls, raw: dict[str, Any]) -> MonitorState:
        state = cls(**decode_fields(cls, raw))
        check_state(state)
        return state


@register_table
@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class MonitorTable(Table):
    """A table with one row per series of a monitor: all rows together, then each segment, most evidence first.

    An e-value is the evidence against calibration, times the series' share of the `significance`: an alarm is raised
    when it reaches 1 / significance.

    Examples
    --------
    >>> import truecal
    >>> monitor = truecal.Monitor()
    >>> for day in range(3):
    ...     update = monitor.update([0, 1] * 100, [0.45] * 200)
    >>> table = monitor.table
    >>> table.series, table.periods.tolist(), table.observed.tolist()
    (('all rows',), [3], [300])
    """

    series: tuple[str, ...] = field(metadata=column("key", "series", "All rows, or the segment."))
    periods: Ints = field(metadata=column("count", "periods", "Periods evaluated since the start or the last reset."))
    n: Ints = field(metadata=column("count", "n", "Rows in these periods."))
    observed: Ints = field(metadata=column("count", "O", "Positives observed in these periods."))
    expected: Floats = field(metadata=column("count", "E", "Positives expected in these periods.", format_count))
    e_value: Floats = field(metadata=column("ratio", "e-value", "The evidence after the last period.", _format_e_value))
    alarm: Bools = field(metadata=column("flag", "alarm", "Whether an alarm was raised since the last reset."))
    direction: tuple[Direction | None, ...] = field(
        metadata=column(
            "text",
            "direction",
            'How predictions deviate: "under-predicts", "over-predicts", "underconfident" (high predictions too low '
            'and low ones too high) or "overconfident"; empty without evidence.',
        )
    )
    change_point: tuple[Any, ...] = field(
        metadata=column("text", "change point", "The estimated first period of the deviation; empty without evidence.")
    )
    ratio: Floats = field(
        metadata=column(
            "ratio", "O/E", "Observed over expected positives since the change point, or of all periods.", _format_ratio
        )
    )
    significance: float = 0.05

    _derived_columns: ClassVar[tuple[Column, ...]] = ()
    _shown: ClassVar[tuple[str, ...]] = (
        *("series", "periods", "n", "observed", "expected", "e_value", "alarm", "direction", "change_point", "ratio"),
    )
    _spare: ClassVar[tuple[str, ...]] = ("n", "periods", "ratio", "change_point", "expected", "observed")

    @property
    def summary(self) -> str:
        """Return the numbers of series and alarms in one sentence."""
        from truecal import words

        return words.summarize_monitor_table(self)


def order_series(series: tuple[Series, ...]) -> list[Series]:
    """Return all rows first, then segments with the most evidence first; alarms before the others."""

    def rank(one: Series) -> tuple[bool, bool, float]:
        return one.segment is not None, not one.alarm, -one.evidence

    return sorted(series, key=rank)
