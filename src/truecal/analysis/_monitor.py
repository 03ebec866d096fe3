"""Monitor a model: sequential evidence of miscalibration, valid after every update, kept between runs."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from truecal import _draw_inline
from truecal._atomic import hold, write_text
from truecal._errors import name_place, option
from truecal._options import MonitorOptions, NowOptions, PairOptions, check_option, declare
from truecal._text import about, escape_html
from truecal.analysis._groups import keep_above
from truecal.analysis._inputs import raise_for_data
from truecal.data import (
    CellGroups,
    Cells,
    Moment,
    Observations,
    Part,
    Segment,
    Span,
    Tally,
    find_complete,
    find_ends,
    find_threshold_score,
    read_moment,
    read_span,
)
from truecal.inference import PeriodSums, Process, find_pivot
from truecal.metrics import Direction, Tolerance, as_tolerance, check_significance
from truecal.results import (
    ALL_ROWS_SHARE,
    MonitorState,
    MonitorStatus,
    MonitorTable,
    PendingPeriod,
    Series,
    order_series,
    read_stored,
    share_of_segment,
)

PeriodParts = dict[Any, dict[Segment | None, Part]]  # rows by period, then by segment; None is all rows


@dataclass(frozen=True, slots=True)
class MonitorUpdate:
    """The periods of one update: those evaluated now, those pending (labels incomplete), and those known before."""

    evaluated: tuple[Any, ...]
    pending: tuple[Any, ...]
    known: tuple[Any, ...]

    @property
    def summary(self) -> str:
        """The numbers of periods in one sentence."""
        from truecal import words

        return words.summarize_update(self)


@declare(first=(MonitorOptions,))
class Monitor:
    """Monitor a model for miscalibration; its alarm is valid however often it is updated.

    Each period adds its evidence (an e-process, see `truecal.inference`). While the model is calibrated, an alarm is
    ever raised with a probability of at most `significance`, over all periods, segments and updates together. An alarm
    stays until `reset`.

    Segments of `update(data)` are monitored besides all rows together. Half of the significance belongs to all rows,
    half to the segments: those of the first update share half of that equally, new ones of later updates share the
    rest.

    Examples
    --------
    >>> import numpy as np, truecal
    >>> rng = np.random.default_rng(0)
    >>> monitor = truecal.Monitor()
    >>> for day in range(1, 41):
    ...     p = rng.beta(1, 9, size=500)
    ...     truth = p if day < 20 else 1.5 * p / (1 + 0.5 * p)       # from day 20 on the odds are 1.5 times as high
    ...     update = monitor.update(rng.random(500) < truth, p)
    ...     if monitor.alarm:
    ...         break
    >>> day, monitor.change_point, monitor.direction
    (23, 22, 'under-predicts')
    """

    def __init__(
        self,
        significance: float = 0.05,
        *,
        label_lag: Span | None = None,
        tolerance: Tolerance | float | None = None,
        threshold: float | None = None,
    ) -> None:
        check_significance(significance)
        check_option("threshold", threshold)
        after = None if label_lag is None else read_span(label_lag)
        self._state = MonitorState(
            significance=significance, label_lag=after, tolerance=as_tolerance(tolerance), threshold=threshold
        )

    @declare(first=(PairOptions, NowOptions))
    def update(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        period: Any = None,
        now: Moment | None = None,
        pos_label: Any = None,
        cluster: Any = None,
        skip_known: bool = False,
    ) -> MonitorUpdate:
        """Add new data: the rows of one period, or `Observations` that were read with `time`.

        Parameters
        ----------
        y_true, y_prob : arrays or Observations
            Labels and predictions of one period; or `Observations` in place of both:
            `update(truecal.read(frame, label="y", score="p", time="day"))`.
        period : optional
            The name of the rows' period, such as a date; by default a number, one more than the last. Periods must be
            given in order.
        skip_known : bool
            Whether to skip periods that were evaluated before with the same counts. Otherwise a period that is given
            twice is an error. One whose counts changed is always an error.

        Returns
        -------
        MonitorUpdate
            Which periods were evaluated, which are pending, and which were known. After an error the monitor is
            unchanged.
        """
        state = self._state
        if isinstance(y_true, Observations):
            for name, value in (("y_prob", y_prob), ("period", period), ("cluster", cluster)):
                if value is not None:
                    raise TypeError(f"{option(name)} must be left out when `Observations` are given.")
            state, rows = _read_observations(state, y_true)
        else:
            if y_prob is None:
                raise_for_data("update", y_true)
            state, rows = _read_rows(state, y_true, y_prob, period, pos_label, cluster)
        state, known = _admit(state, rows, skip_known)
        state, evaluated = _evaluate_complete(state, now)
        self._state = state
        return MonitorUpdate(evaluated, tuple(dict.fromkeys(one.period for one in state.pending)), known)

    def reset(self) -> None:
        """Start anew after a change of the model: no evidence, no alarm, the full significance.

        Periods that were evaluated stay evaluated: they cannot be given again.
        """
        fresh = tuple(
            replace(one, process=Process.start(), alarm_period=None, alarm=False) for one in self._state.series
        )
        self._state = replace(self._state, series=fresh)

    @property
    def state(self) -> MonitorState:
        """Everything that is kept between runs."""
        return self._state

    @property
    def significance(self) -> float:
        """The probability of ever raising an alarm for a model that stays calibrated."""
        return self._state.significance

    @property
    def alarm_threshold(self) -> float:
        """The e-value that raises an alarm: 1 / significance."""
        return 1 / self.significance

    @property
    def series(self) -> list[Series]:
        """All rows together first, then segments, those with alarms and most evidence first."""
        return order_series(self._state.series)

    @property
    def leading(self) -> Series | None:
        """The series with the most evidence, an alarm before others; None before the first period."""
        evaluated = [one for one in self.series if one.process.count]
        return max(evaluated, key=lambda one: (one.alarm, one.evidence), default=None)

    @property
    def status(self) -> MonitorStatus:
        """Whether an alarm was raised in any series, or no period was evaluated yet."""
        if self.alarm:
            return MonitorStatus.ALARM
        return MonitorStatus.NO_DATA if self.leading is None else MonitorStatus.NO_ALARM

    @property
    def e_value(self) -> float:
        """The evidence of the leading series against calibration; `alarm_threshold` raises an alarm."""
        return 0.0 if self.leading is None else self.leading.evidence

    @property
    def alarm(self) -> bool:
        """Whether an alarm was raised, by the last update or before."""
        return any(one.alarm for one in self._state.series)

    @property
    def alarms(self) -> list[str]:
        """The names of the series with an alarm."""
        return [self.name(one) for one in self.series if one.alarm]

    @property
    def change_point(self) -> Any:
        """The estimated first period of the leading series' deviation; None without evidence."""
        return None if self.leading is None else self.leading.change_point

    @property
    def direction(self) -> Direction | None:
        """How the leading series' predictions deviate; None without evidence."""
        return None if self.leading is None else self.leading.direction

    @property
    def ratio(self) -> float:
        """Observed over expected positives of the leading series since the change point, or of all periods."""
        return math.nan if self.leading is None else self.leading.ratio

    @property
    def table(self) -> MonitorTable:
        """One row for each series."""
        series = self.series
        counts = {
            name: np.array([int(getattr(one, name)[one.begun :].sum()) for one in series], np.int64)
            for name in ("n", "observed")
        }
        return MonitorTable(
            series=tuple(map(self.name, series)),
            periods=np.array([one.process.count for one in series], np.int64),
            **counts,
            expected=np.array([float(one.expected[one.begun :].sum()) for one in series], np.float64),
            e_value=np.array([one.evidence for one in series], np.float64),
            direction=tuple(one.direction for one in series),
            change_point=tuple(one.change_point for one in series),
            ratio=np.array([one.ratio for one in series], np.float64),
            alarm=np.array([one.alarm for one in series], np.bool_),
            significance=self.significance,
        )

    def name(self, series: Series) -> str:
        """Return the name of a series: "all rows", or "country=de"."""
        if series.segment is None:
            return "all rows"
        return ", ".join(f"{name}={value}" for name, value in zip(self._state.by, series.segment, strict=True))

    @property
    def summary(self) -> str:
        """The status of the monitor in one sentence."""
        from truecal import words

        return words.summarize_monitor(self)

    def sentences(self) -> tuple[str, ...]:
        """Return the status, each alarm with its direction and change point, and the error guarantee, as sentences."""
        from truecal import words

        return words.describe_monitor(self)

    def __repr__(self) -> str:
        lines = list(self.sentences())
        return "\n".join([*lines, self.table.text()] if self._state.series else lines)

    def _repr_html_(self) -> str:
        text = " ".join(self.sentences())
        if not self._state.series:
            return f"<p>{escape_html(text)}</p>"
        return f"<p><b>{escape_html(text)}</b></p>{_draw_inline('monitor', self, text)}{self.table._repr_html_()}"

    def to_json(self) -> str:
        """Return the state as JSON, which `from_json` reads back."""
        return self._state.to_json()

    @classmethod
    def from_json(cls, text: str) -> Monitor:
        """Read what `to_json` wrote."""
        monitor = object.__new__(cls)
        monitor._state = MonitorState.from_json(text)
        return monitor

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the state to a file, atomically."""
        return write_text(path, self.to_json() + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Monitor:
        """Read a file that `save` wrote."""
        with name_place(path):
            return read_stored(path, cls.from_json)

    def __eq__(self, other: object) -> bool:
        return self._state == other._state if isinstance(other, Monitor) else NotImplemented

    __hash__ = None  # type: ignore[assignment]


@contextmanager
def keep_monitor(path: str | os.PathLike[str], *, reset: bool = False, **settings: Any) -> Iterator[Monitor]:
    """Load a monitor from a file, or start one, and write it back at the end; nothing is written after an error.

    `settings` are those of `Monitor`, None for its default; an existing monitor must agree with those given. Concurrent
    processes take turns if the file system supports locks; otherwise the later one raises an error.
    """
    file = Path(path)
    with hold(Path(os.path.realpath(path)).parent):  # runs that reach it by links in other folders take turns, too
        before = file.read_bytes() if file.exists() else None
        given = {name: value for name, value in settings.items() if value is not None}
        monitor = Monitor(**given) if before is None else Monitor.load(file)
        wanted, state = Monitor(**given)._state, monitor._state
        for name in given:
            if getattr(wanted, name) != getattr(state, name):
                raise ValueError(
                    f"{option(name)} of the monitor in {os.fspath(path)!r} is {getattr(state, name)}; "
                    f"{getattr(wanted, name)} was given.\n\nHint: leave it out, or use another state file."
                )
        if reset:
            monitor.reset()
        yield monitor
        if (file.read_bytes() if file.exists() else None) != before:
            raise ValueError(f"The file {os.fspath(path)!r} was changed by another run meanwhile; run this one again.")
        if before is None or monitor._state is not state:
            monitor.save(file)


# ---- new data ------------------------------------------------------------------------------------------------------


def _read_rows(
    state: MonitorState, y_true: Any, y_prob: Any, period: Any, pos_label: Any, cluster: Any
) -> tuple[MonitorState, PeriodParts]:
    """Return the rows of one period."""
    if state.by or state.every is not None:
        raise TypeError("This monitor was started with `Observations`; update it by `update(truecal.read(...))`.")
    if state.label_lag is not None:
        raise ValueError(
            f"{option('label_lag')} cannot be used with arrays, whose period is evaluated at once; it is "
            f"{state.label_lag}.\n\nHint: `update(truecal.read(data, ..., time=...))` has periods that can be pending."
        )
    if period is None:
        period = 1 if state.last is None else state.last + 1 if isinstance(state.last, int) else None
    if period is None:
        raise ValueError(f"{option('period')} must be given, as before: the last period is {state.last!r}.")
    tally = Tally.from_arrays(y_true, y_prob, pos_label=pos_label, cluster=cluster)
    if state.threshold is not None:
        if tally.highest < state.threshold:
            return state, {}
        tally = tally.above(state.threshold)
    return state, {period: {None: tally}}


def _read_observations(state: MonitorState, data: Observations) -> tuple[MonitorState, PeriodParts]:
    """Return the rows of each period, all of them and those of each segment."""
    if len(data.periods) != 1:
        raise ValueError(
            f"{option('time')} must be one column of the observations, which makes their periods; they have "
            f"{', '.join(map(repr, data.periods)) or 'none'}.\n\nHint: `truecal.read(data, time=...)` reads it."
        )
    ((time, every),) = data.periods.items()
    by = tuple(name for name in data.by if name != time)
    source: dict[str, Any] = {"label": data.label, "score": data.score, "by": by, "every": every}
    source["sampling"] = data.sampling
    if state.label is None:
        if state.series:
            raise TypeError(f"This monitor was started with arrays; update it by `update({option('y_true')}, ...)`.")
        state = replace(state, **source)
    for name, value in source.items():
        if getattr(state, name) != value:
            raise ValueError(
                f"{option(name)} of the monitor is {getattr(state, name)!r}; the data have {value!r}.\n\n"
                "Hint: start another monitor for them; `truecal monitor --state` names its file."
            )
    rows: PeriodParts = {}
    for names in ((), by) if by else ((),):
        parts = data.group_by((time, *names)).parts
        if any(key[0] is None for key in parts):
            raise ValueError(f"Every row must have a time; `{time}` is null in some.")
        if state.threshold is not None:
            parts = keep_above(parts, find_threshold_score(state.threshold, data.sampling))
        for (period, *segment), part in parts.items():
            rows.setdefault(period, {})[tuple(segment) if names else None] = part
    return state, rows


def _admit(state: MonitorState, rows: PeriodParts, skip_known: bool) -> tuple[MonitorState, tuple[Any, ...]]:
    """Add periods as pending ones; refuse those that were evaluated before."""
    known, new = list[Any](), list[Any]()
    for period in sorted(rows):
        evaluated = state.last is not None and _is_evaluated(period, state.last)
        (known if evaluated else new).append(period)
    if known:
        _check_known(state, {period: rows[period] for period in known}, skip_known)
    if not new:
        return state, tuple(known)
    pivots = {one.segment: one.pivot for one in state.series}
    given = set(new)
    pending = [one for one in state.pending if one.period not in given]  # the others are given again, with more labels
    for period in new:
        for segment, part in rows[period].items():
            cells = Cells.of(part)
            # fixed by the first period's predictions: a pivot chosen by later labels would make the bets unfair
            if segment not in pivots:
                pivots[segment] = find_pivot(cells)
            sums = PeriodSums.of(cells, pivots[segment], state.tolerance)
            pending.append(PendingPeriod(segment=segment, period=period, sums=sums))
    old = {one.segment for one in state.series}
    state = _start_series(state, {key: pivot for key, pivot in pivots.items() if key not in old})
    ordered = sorted(pending, key=lambda one: one.period)
    return replace(state, pending=tuple(ordered)), tuple(known)


def _is_evaluated(period: Any, last: Any) -> bool:
    """Whether a period is the last evaluated one or an earlier one."""
    try:
        return bool(period <= last)
    except TypeError:
        raise TypeError(f"{option('period')} must be of one type, in order; {period!r} follows {last!r}.") from None


def _check_known(state: MonitorState, rows: PeriodParts, skip: bool) -> None:
    """Refuse periods that were evaluated, unless they are to be skipped and have the same counts."""
    series = {one.segment: one for one in state.series}
    # the index of each period by segment: a search for each would take quadratic time
    indices = {key: {period: i for i, period in enumerate(one.periods)} for key, one in series.items()}
    given = [(period, segment, part) for period, parts in rows.items() for segment, part in parts.items()]
    counts = _count_parts([part for _, _, part in given])
    for (period, segment, _), count in zip(given, counts, strict=True):
        known = series.get(segment)
        if known is None or period not in indices[segment]:
            raise ValueError(
                f"Periods must be given in order; {period} was given after {state.last} had been evaluated.\n\n"
                f"Hint: a longer {option('label_lag')} keeps periods pending until late rows have arrived."
            )
        _check_counts(period, known, indices[segment][period], *count)
    if not skip:
        raise ValueError(f"A period must be given once; {next(iter(rows))} was evaluated already.")


def _count_parts(parts: Sequence[Part]) -> Iterator[tuple[int, int, float]]:
    """Yield the rows, the observed and the expected positives of each part."""
    for groups in CellGroups.batches(parts):
        cells = groups.cells
        counts = groups.add(cells.n), groups.add(cells.pos), groups.add(cells.expected)
        yield from zip(*(column.tolist() for column in counts), strict=True)


def _check_counts(period: Any, known: Series, index: int, n: int, observed: int, expected: float) -> None:
    """Refuse an evaluated period whose rows changed."""
    before = known.expected[index]
    # the sum of many rows depends on their order in its last digits
    same = math.isclose(before, expected, rel_tol=1e-9, abs_tol=1e-12)
    if (known.n[index], known.observed[index]) != (n, observed) or not same:
        raise ValueError(
            f"An evaluated period must not change; {period} had {known.n[index]:,} rows (observed "
            f"{known.observed[index]:,}, expected {about(before)}) and now has {n:,} (observed {observed:,}, expected "
            f"{about(expected)}).\n\n"
            f"Hint: if labels arrive late, a longer {option('label_lag')} keeps periods pending until then."
        )


def _start_series(state: MonitorState, pivots: Mapping[Segment | None, float]) -> MonitorState:
    """Start series for segments that are new, with their share of the significance."""
    series, segments = list(state.series), [segment for segment in pivots if segment is not None]
    if None in pivots:
        series.append(Series(segment=None, share=ALL_ROWS_SHARE if state.by else 1.0, pivot=pivots[None]))
    batches = state.batches + bool(segments)
    for segment in segments:
        share = share_of_segment(batches, len(segments))
        series.append(Series(segment=segment, share=share, pivot=pivots[segment]))
    return replace(state, series=tuple(series), batches=batches)


# ---- evaluation ----------------------------------------------------------------------------------------------------


def _evaluate_complete(state: MonitorState, now: Moment | None) -> tuple[MonitorState, tuple[Any, ...]]:
    """Evaluate the pending periods whose labels are complete, in order, up to the first that is not."""
    periods = list(dict.fromkeys(one.period for one in state.pending))
    if state.label_lag is not None and periods:
        moment = datetime.now(UTC).replace(tzinfo=None) if now is None else read_moment(now)
        complete, _ = find_complete(find_ends(periods, state.every), state.label_lag, moment)
        periods = periods[: complete.index(False)] if False in complete else periods
    if not periods:
        return state, ()
    ready: dict[Segment | None, list[PendingPeriod]] = {}
    complete_periods = set(periods)
    for one in state.pending:
        if one.period in complete_periods:
            ready.setdefault(one.segment, []).append(one)
    series = tuple(_add_periods(one, ready.get(one.segment, []), state.significance) for one in state.series)
    pending = tuple(one for one in state.pending if one.period not in complete_periods)
    return replace(state, series=series, pending=pending, last=periods[-1]), tuple(periods)


def _add_periods(series: Series, new: Sequence[PendingPeriod], significance: float) -> Series:
    """Return a series with more periods. Columns grow once, since appending period by period takes quadratic time."""
    if not new:
        return series
    process, alarm, alarm_period, e_values = series.process, series.alarm, series.alarm_period, []
    for one in new:
        process = process.step(one.sums)
        e_values.append(process.e_value * series.share)
        if not alarm and e_values[-1] >= 1 / significance:
            alarm, alarm_period = True, one.period
    names = ("n", "observed", "expected", "information", "slope_surplus")
    columns = {name: [getattr(one.sums, name) for one in new] for name in names} | {"e_value": e_values}
    grown: dict[str, Any] = {name: np.append(getattr(series, name), column) for name, column in columns.items()}
    periods = (*series.periods, *(one.period for one in new))
    return replace(series, periods=periods, process=process, alarm=alarm, alarm_period=alarm_period, **grown)
