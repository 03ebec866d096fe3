"""What a monitor knows: the state it keeps between runs, and the table of its streams."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, ClassVar

import numpy as np

from truecal._text import about, plural
from truecal.inference import Process, Turn, WindowSums, find_change
from truecal.metrics import Tolerance
from truecal.observations import AS_THEY_ARE, Bools, Floats, Ints, Labelling, Segment
from truecal.results._json import Stored, register
from truecal.results._table import Column, Table, column, register_table


@register
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Stream(Stored):
    """One segment's windows in order, or those of all rows together, and the evidence so far.

    `share` is the stream's part of the significance, `pivot` the score that its bets on the slope turn around,
    `raised` the window with which the alarm was raised. `e_value` is the evidence after each window, times the share.
    """

    segment: Segment | None
    share: float
    pivot: float
    windows: tuple[Any, ...] = ()
    n: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    observed: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    expected: Floats = field(default_factory=lambda: np.zeros(0))
    information: Floats = field(default_factory=lambda: np.zeros(0))
    tilt: Floats = field(default_factory=lambda: np.zeros(0))
    e_value: Floats = field(default_factory=lambda: np.zeros(0))
    process: Process = field(default_factory=Process.start)
    raised: Any = None
    alarm: bool = False

    @property
    def evidence(self) -> float:
        """The e-value now, times the share; 0 before the first window."""
        return float(self.e_value[-1]) if self.process.count else 0.0

    @property
    def begun(self) -> int:
        """The place of the first window since the start or the last reset."""
        return len(self.windows) - self.process.count

    @property
    def turn(self) -> Turn | None:
        """What the evidence says of predictions; None while it says nothing: it is not above 1."""
        count = self.process.count
        return self.process.turn if self.alarm or (count and self.process.e_value > 1) else None

    @property
    def change(self) -> int | None:
        """The place of the window with which the change likely began; None while nothing speaks for one."""
        turn, first = self.turn, self.begun
        if turn is None:
            return None
        surplus = self.observed - self.expected if turn in ("too low", "too high") else self.tilt
        sign = 1 if turn in ("too low", "too timid") else -1
        return first + find_change(surplus[first:], self.information[first:], sign)

    @property
    def since(self) -> Any:
        """The window with which the change likely began; None while nothing speaks for one."""
        return None if self.change is None else self.windows[self.change]

    def totals(self) -> tuple[int, float]:
        """Positives observed and expected since the change, or in all windows since the start or the last reset."""
        first = self.begun if self.change is None else self.change
        return int(self.observed[first:].sum()), float(self.expected[first:].sum())

    @property
    def ratio(self) -> float:
        """Observed over expected of `totals`; NaN where neither is above 0."""
        observed, expected = self.totals()
        return observed / expected if expected > 0 else math.inf if observed else math.nan


@register
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Waiting(Stored):
    """A window of a stream whose labels are not complete yet."""

    segment: Segment | None
    window: Any
    sums: WindowSums


@register
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MonitorState(Stored):
    """Everything that a monitor keeps between runs; frozen, so that an update replaces it as a whole.

    `batches` counts how often new segments appeared. `last` is the last window that was counted.
    """

    significance: float
    mature_after: timedelta | None
    tolerance: Tolerance | None
    above: float | None
    label: str | None = None
    score: str | None = None
    by: tuple[str, ...] = ()
    every: str | None = None
    streams: tuple[Stream, ...] = ()
    waiting: tuple[Waiting, ...] = ()
    batches: int = 0
    last: Any = None
    labelling: Labelling = AS_THEY_ARE


@register_table
@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class MonitorTable(Table):
    """A table with one row per stream of a monitor: all rows together, then each segment, most evidence first.

    An e-value is the evidence against "the predictions are right", times the stream's share of the `significance`: an
    alarm is raised where it reaches 1 / significance.

    Examples
    --------
    >>> import truecal
    >>> monitor = truecal.Monitor()
    >>> for day in range(3):
    ...     look = monitor.update([0, 1] * 100, [0.45] * 200)
    >>> table = monitor.table
    >>> table.stream, table.windows.tolist(), table.observed.tolist()
    (('all rows',), [3], [300])
    """

    stream: tuple[str, ...] = field(metadata=column("key", "stream", "All rows, or the segment."))
    windows: Ints = field(
        metadata=column("count", "windows", "Windows that were counted since the start or the last reset.")
    )
    n: Ints = field(metadata=column("count", "n", "Rows in these windows."))
    observed: Ints = field(metadata=column("count", "observed", "Positives that came in them."))
    expected: Floats = field(metadata=column("count", "expected", "Positives that were predicted.", about))
    e_value: Floats = field(metadata=column("ratio", "e-value", "The evidence now."))
    direction: tuple[str, ...] = field(
        metadata=column(
            "text",
            "direction",
            'What the evidence says of predictions, if anything: "too low", "too high", "too timid" (high ones too low '
            'and low ones too high) or "too extreme".',
        )
    )
    since: tuple[Any, ...] = field(
        metadata=column("text", "since", "The window with which the change likely began, if there is any.")
    )
    ratio: Floats = field(metadata=column("ratio", "obs / exp since", "Observed over expected positives since then."))
    alarm: Bools = field(metadata=column("flag", "alarm", "Whether an alarm was raised, at this look or before."))
    significance: float = 0.05

    _derived_columns: ClassVar[tuple[Column, ...]] = ()
    _shown: ClassVar[tuple[str, ...]] = (
        *("stream", "windows", "n", "observed", "expected", "e_value", "direction", "since", "ratio", "alarm"),
    )

    def summary(self) -> str:
        """Return the numbers of streams and alarms."""
        alarms = plural(int(self.alarm.sum()), "alarm")
        return f"{plural(len(self), 'stream')}; {alarms} (an e-value of {1 / self.significance:g} or more)"


def order_streams(streams: tuple[Stream, ...]) -> list[Stream]:
    """All rows first, then segments with the most evidence first; alarms before the others."""

    def rank(stream: Stream) -> tuple[bool, bool, float]:
        return stream.segment is not None, not stream.alarm, -stream.evidence

    return sorted(streams, key=rank)
