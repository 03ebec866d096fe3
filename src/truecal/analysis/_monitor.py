"""Watch a model: evidence that it is no longer right, valid at every look, kept between runs."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from truecal import _draw_inline
from truecal._atomic import hold, write_text
from truecal._errors import name_place, option
from truecal._text import about, escape_html, plural, printable
from truecal.analysis._evaluate import raise_for_data
from truecal.analysis._parts import choose_parts
from truecal.inference import Process, WindowSums, find_pivot
from truecal.metrics import Tolerance, as_tolerance, check_significance
from truecal.observations import (
    CellSums,
    Moment,
    Segment,
    Span,
    Tallies,
    Tally,
    find_ends,
    find_mature,
    read_moment,
    read_span,
    see_threshold,
)
from truecal.results import MonitorState, MonitorTable, Stream, Waiting, order_streams, read_stored

Given = dict[Any, dict[Segment | None, CellSums]]  # cells by window, then by stream


@dataclass(frozen=True, slots=True)
class Look:
    """What one look did: the windows that were counted, those that wait for their labels, and those known before."""

    counted: tuple[Any, ...]
    waiting: tuple[Any, ...]
    known: tuple[Any, ...]


class Monitor:
    """Watch a stream of predictions: an alarm if they are no longer right, valid however often one looks.

    Each window of time adds its evidence (an e-process, see `truecal.inference`). While the predictions are right, an
    alarm is ever raised with a probability of at most `significance`, over all windows, segments and looks together.
    Once raised it stays, until `reset`.

    Segments of `update(data)` are watched besides all rows together. Half of the significance belongs to all rows, half
    to the segments: those of the first look share half of that equally, new ones of later looks what is left.

    Parameters
    ----------
    significance : float
        The probability that a model which stays right for ever is ever alarmed of.
    mature_after : timedelta or str, optional
        How long after a window's end its labels are complete: "12h", "30d", "6w". Younger windows wait, may be given
        again with more labels, and are counted when they are old enough. Without it windows are counted as they come.
    tolerance : float or Tolerance, optional
        How far predictions may be off and still count as right.
    above : float, optional
        Watch only predictions of at least this score.

    Examples
    --------
    >>> import numpy as np, truecal
    >>> rng = np.random.default_rng(0)
    >>> monitor = truecal.Monitor()
    >>> for day in range(1, 41):
    ...     p = rng.beta(1, 9, size=500)
    ...     truth = p if day < 20 else 1.5 * p / (1 + 0.5 * p)       # from day 20 on the odds are 1.5 times as high
    ...     look = monitor.update(rng.random(500) < truth, p)
    ...     if monitor.alarm:
    ...         break
    >>> day, monitor.since, monitor.direction
    (23, 22, 'too low')
    """

    def __init__(
        self,
        significance: float = 0.05,
        *,
        mature_after: Span | None = None,
        tolerance: Tolerance | float | None = None,
        above: float | None = None,
    ) -> None:
        check_significance(significance)
        after = None if mature_after is None else read_span(mature_after)
        self._state = MonitorState(
            significance=significance, mature_after=after, tolerance=as_tolerance(tolerance), above=above
        )

    def update(
        self,
        y_true: Any,
        y_prob: Any = None,
        *,
        window: Any = None,
        now: Moment | None = None,
        pos_label: Any = None,
        cluster: Any = None,
        skip_known: bool = False,
    ) -> Look:
        """Add what came in: the rows of one window, or tallies that were read with `time`.

        Parameters
        ----------
        y_true, y_prob
            Labels and predictions of one window; or `Tallies` in place of both:
            `update(truecal.read(frame, label="y", score="p", time="day"))`.
        window : optional
            What the window of rows is called, such as a date: a number, one more than the last, unless given. Windows
            must come in order.
        now : date, time or ISO text, optional
            What maturity is counted to, with `mature_after`; the clock (UTC) by default.
        pos_label, cluster
            The positive label; and which customer, patient or document each row belongs to, as in `evaluate`.
        skip_known : bool
            Whether windows that were counted before, with the same numbers, are passed over. Otherwise a window that
            is given twice is an error. One that comes with other numbers always is.

        Returns
        -------
        Look
            Which windows were counted, which wait for their labels, and which were known. If anything is refused, the
            monitor stays as it was.
        """
        state = self._state
        if isinstance(y_true, Tallies):
            for name, value in (("y_prob", y_prob), ("window", window), ("cluster", cluster)):
                if value is not None:
                    raise TypeError(f"{option(name)} must be left out where tallies are given.")
            state, given = _read_tallies(state, y_true)
        else:
            if y_prob is None:
                raise_for_data("update", y_true)
            state, given = _read_rows(state, y_true, y_prob, window, pos_label, cluster)
        state, known = _admit(state, given, skip_known)
        state, counted = _count_mature(state, now)
        self._state = state
        return Look(counted, tuple(dict.fromkeys(each.window for each in state.waiting)), known)

    def reset(self) -> None:
        """Begin anew after a change of the model: no evidence, no alarm, the full significance.

        Windows that were counted stay counted: they cannot be given again.
        """
        fresh = tuple(replace(each, process=Process.start(), raised=None, alarm=False) for each in self._state.streams)
        self._state = replace(self._state, streams=fresh)

    @property
    def state(self) -> MonitorState:
        """Everything that is kept between runs."""
        return self._state

    @property
    def significance(self) -> float:
        """The probability that a model which stays right is ever alarmed of."""
        return self._state.significance

    @property
    def threshold(self) -> float:
        """The e-value that raises an alarm: 1 / significance."""
        return 1 / self.significance

    @property
    def streams(self) -> list[Stream]:
        """All rows together first, then segments, those with alarms and most evidence first."""
        return order_streams(self._state.streams)

    @property
    def leading(self) -> Stream | None:
        """The stream with the most evidence, an alarm before others; None before the first window."""
        counted = [each for each in self.streams if each.process.count]
        return max(counted, key=lambda each: (each.alarm, each.evidence), default=None)

    @property
    def e_value(self) -> float:
        """The evidence of the leading stream against "the predictions are right"; 1 / significance makes an alarm."""
        return 0.0 if self.leading is None else self.leading.evidence

    @property
    def alarm(self) -> bool:
        """Whether an alarm was raised, at this look or before."""
        return any(each.alarm for each in self._state.streams)

    @property
    def alarms(self) -> list[str]:
        """The streams with an alarm, by name."""
        return [self.name(each) for each in self.streams if each.alarm]

    @property
    def since(self) -> Any:
        """The window with which the change of the leading stream likely began; None while there is no evidence."""
        return None if self.leading is None else self.leading.since

    @property
    def direction(self) -> str:
        """What the leading stream's evidence says of predictions: "too low", "too high", "too timid" (high ones too low
        and low ones too high) or "too extreme"; "" while there is no evidence."""
        return "" if self.leading is None else self.leading.turn or ""

    @property
    def ratio(self) -> float:
        """Observed over expected positives of the leading stream since the change, or of all windows."""
        return math.nan if self.leading is None else self.leading.ratio

    @property
    def table(self) -> MonitorTable:
        """One row for each stream."""
        streams = self.streams
        counts = {
            name: np.array([int(getattr(each, name)[each.begun :].sum()) for each in streams], np.int64)
            for name in ("n", "observed")
        }
        return MonitorTable(
            stream=tuple(map(self.name, streams)),
            windows=np.array([each.process.count for each in streams], np.int64),
            **counts,
            expected=np.array([float(each.expected[each.begun :].sum()) for each in streams], np.float64),
            e_value=np.array([each.evidence for each in streams], np.float64),
            direction=tuple(each.turn or "" for each in streams),
            since=tuple(each.since for each in streams),
            ratio=np.array([each.ratio for each in streams], np.float64),
            alarm=np.array([each.alarm for each in streams], np.bool_),
            significance=self.significance,
        )

    def name(self, stream: Stream) -> str:
        """A stream's name: "all rows", or "country=de"."""
        if stream.segment is None:
            return "all rows"
        return ", ".join(f"{name}={value}" for name, value in zip(self._state.by, stream.segment, strict=True))

    def sentences(self) -> tuple[str, ...]:
        """What the monitor says, in words."""
        leading = self.leading
        if leading is None:
            since = "since the reset" if any(each.windows for each in self.streams) else "yet"
            return (f"Nothing was watched {since}: no window was counted.",)
        whose = f" of {printable(self.name(leading))}" if len(self.streams) > 1 else ""
        evidence = (
            f"The evidence (e-value){whose} is {self.e_value:.3g}; {self.threshold:g} raises "
            "an alarm, and right predictions ever come to that with a probability of at most "
            f"{100 * self.state.significance:g} %."
        )
        growth = leading.process.growth
        again = (
            f"Clusters come again in later windows, which tell less than new ones would: the logarithm of the "
            f"evidence is divided by {growth:.3g}.",
        ) * (growth >= 1.05)
        if not self.alarm:
            return (f"No alarm after {plural(leading.process.count, 'window')}.", evidence, *again)
        found = []
        for each in self.streams:
            if each.alarm:
                where = "" if each.segment is None else f" for {printable(self.name(each))}"
                found.append(f"Alarm{where}: {_describe(each)}.")
        return (*found, evidence, *again)

    def __repr__(self) -> str:
        lines = list(self.sentences())
        return "\n".join([*lines, self.table.text()] if self._state.streams else lines)

    def _repr_html_(self) -> str:
        text = " ".join(self.sentences())
        if not self._state.streams:
            return f"<p>{escape_html(text)}</p>"
        return f"<p><b>{escape_html(text)}</b></p>{_draw_inline('monitor', self, text)}{self.table._repr_html_()}"

    def to_json(self) -> str:
        """Return the state as JSON, which `from_json` reads back."""
        return self._state.to_json()

    @classmethod
    def from_json(cls, text: str) -> Monitor:
        """Read what `to_json` wrote."""
        found = object.__new__(cls)
        found._state = MonitorState.from_json(text)
        return found

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
    """Load a monitor from a file, or begin one, and write it back at the end; nothing is written after an error.

    `settings` are those of a new monitor, and None for its own; one that is there must agree with what is given. Two
    processes take turns where the system knows locks; otherwise the later one is refused.
    """
    place = Path(path)
    with hold(place.parent):
        before = place.read_bytes() if place.exists() else None
        given = {name: value for name, value in settings.items() if value is not None}
        monitor = Monitor(**given) if before is None else Monitor.load(place)
        wanted, state = Monitor(**given)._state, monitor._state
        for name in given:
            if getattr(wanted, name) != getattr(state, name):
                raise ValueError(
                    f"{option(name)} must be that of the monitor in {os.fspath(path)!r}, {getattr(state, name)}; it is "
                    f"{getattr(wanted, name)}.\n\nHint: leave it out, or begin another file."
                )
        if reset:
            monitor.reset()
        yield monitor
        if (place.read_bytes() if place.exists() else None) != before:
            raise ValueError(f"The file {os.fspath(path)!r} was changed by another run meanwhile; run this one again.")
        monitor.save(place)


def _describe(stream: Stream) -> str:
    """An alarm in words."""
    observed, expected = stream.totals()
    came = f"{plural(observed, 'positive')} came where {about(expected)} were predicted"
    factor = f" (x {observed / expected:.2f})" if expected > 0 else ""
    words = {
        "too timid": "too timid: high ones are too low and low ones too high",
        "too extreme": "too extreme: high ones are too high and low ones too low",
    }
    turn = str(stream.turn)
    return f"since about {stream.since} predictions are {words.get(turn, turn)}; {came}{factor}"


# ---- what came in --------------------------------------------------------------------------------------------------


def _read_rows(
    state: MonitorState, y_true: Any, y_prob: Any, window: Any, pos_label: Any, cluster: Any
) -> tuple[MonitorState, Given]:
    """The cells of one window's rows."""
    if state.by or state.every is not None:
        raise TypeError("This monitor was begun with tallies; give it tallies again: `update(truecal.read(...))`.")
    if state.mature_after is not None:
        raise ValueError(
            f"{option('mature_after')} must be left out where rows are given, since they are counted at once; it is "
            f"{state.mature_after}.\n\nHint: `update(truecal.read(data, ..., time=...))` has windows that can wait."
        )
    if window is None:
        window = 1 if state.last is None else state.last + 1 if isinstance(state.last, int) else None
    if window is None:
        raise ValueError(f"{option('window')} must name the window, as it did before: the last is {state.last!r}.")
    tally = Tally.from_arrays(y_true, y_prob, pos_label=pos_label, cluster=cluster)
    if state.above is not None:
        if tally.highest < state.above:
            return state, {}
        tally = tally.above(state.above)
    return state, {window: {None: CellSums.of(tally)}}


def _read_tallies(state: MonitorState, data: Tallies) -> tuple[MonitorState, Given]:
    """The cells of each window, of all rows and of each segment."""
    if len(data.windows) != 1:
        raise ValueError(
            f"{option('time')} must be one column of the tallies, whose windows are counted; they have "
            f"{', '.join(map(repr, data.windows)) or 'none'}.\n\nHint: `truecal.read(data, time=...)` reads it."
        )
    ((time, every),) = data.windows.items()
    by = tuple(name for name in data.by if name != time)
    own: dict[str, Any] = {"label": data.label, "score": data.score, "by": by, "every": every}
    own["labelling"] = data.labelling
    if state.label is None:
        if state.streams:
            raise TypeError(f"This monitor was begun with rows; give it rows again: `update({option('y_true')}, ...)`.")
        state = replace(state, **own)
    for name, value in own.items():
        if getattr(state, name) != value:
            raise ValueError(
                f"{option(name)} must be that of the monitor, {getattr(state, name)!r}; the data have {value!r}.\n\n"
                "Hint: begin another monitor for them; `truecal watch --state` names its file."
            )
    given: Given = {}
    for names in ((), by) if by else ((),):
        parts = data.over((time, *names)).parts
        if any(key[0] is None for key in parts):
            raise ValueError(f"Every row must have a time; `{time}` is null in some.")
        if state.above is not None:
            parts = choose_parts(parts, see_threshold(state.above, data.labelling))
        for (window, *segment), part in parts.items():
            given.setdefault(window, {})[tuple(segment) if names else None] = CellSums.of(part)
    return state, given


def _admit(state: MonitorState, given: Given, skip_known: bool) -> tuple[MonitorState, tuple[Any, ...]]:
    """Take windows in as waiting ones; refuse those that were counted before."""
    streams = {each.segment: each for each in state.streams}
    known, waiting = [], {(each.window, each.segment): each for each in state.waiting}
    fresh = []
    for window in sorted(given):
        if state.last is not None and _is_counted(window, state.last):
            _check_known(window, given[window], streams, state.last, skip_known)
            known.append(window)
            continue
        fresh.append(window)
    pivots = {segment: each.pivot for segment, each in streams.items()}
    for window in fresh:
        for key in [key for key in waiting if key[0] == window]:  # given again, with more labels
            del waiting[key]
        for segment, cells in given[window].items():
            pivot = pivots.setdefault(segment, find_pivot(cells))
            sums = WindowSums.of(cells, pivot, state.tolerance)
            waiting[window, segment] = Waiting(segment=segment, window=window, sums=sums)
    state = _open_streams(state, {key: pivot for key, pivot in pivots.items() if key not in streams})
    ordered = sorted(waiting.values(), key=lambda each: each.window)
    return replace(state, waiting=tuple(ordered)), tuple(known)


def _is_counted(window: Any, last: Any) -> bool:
    """Whether a window is the last counted one or an earlier one."""
    try:
        return bool(window <= last)
    except TypeError:
        raise TypeError(f"{option('window')} must be of one type, in order; {window!r} came after {last!r}.") from None


def _check_known(
    window: Any,
    given: Mapping[Segment | None, CellSums],
    streams: Mapping[Segment | None, Stream],
    last: Any,
    skip: bool,
) -> None:
    """Refuse a window that was counted, unless it is to be skipped and has the same numbers."""
    for segment, cells in given.items():
        stream = streams.get(segment)
        if stream is None or window not in stream.windows:
            raise ValueError(
                f"Windows must come in order; {window} came after {last} had been counted.\n\n"
                f"Hint: a longer {option('mature_after')} lets windows wait for rows that come late."
            )
        place = stream.windows.index(window)
        before, now = stream.expected[place], float(cells.expected.sum())
        same = math.isclose(before, now, rel_tol=1e-9, abs_tol=1e-12)
        if (int(stream.n[place]), int(stream.observed[place])) != (cells.n_rows, cells.positives) or not same:
            raise ValueError(
                f"A window that was counted must not change; {window} had {stream.n[place]:,} rows with "
                f"{stream.observed[place]:,} positives where {about(before)} were predicted, and now has "
                f"{cells.n_rows:,} with {cells.positives:,} where {about(now)} were.\n\n"
                f"Hint: where labels come late, a longer {option('mature_after')} lets windows wait for them."
            )
    if not skip:
        raise ValueError(f"A window must be given once; {window} was counted already.")


def _open_streams(state: MonitorState, pivots: Mapping[Segment | None, float]) -> MonitorState:
    """Begin streams for segments that were not seen before, with their share of the significance."""
    streams, segments = list(state.streams), [segment for segment in pivots if segment is not None]
    if None in pivots:
        streams.append(Stream(segment=None, share=0.5 if state.by else 1.0, pivot=pivots[None]))
    batches = state.batches + bool(segments)
    for segment in segments:
        share = 0.5 / (batches * (batches + 1)) / len(segments)
        streams.append(Stream(segment=segment, share=share, pivot=pivots[segment]))
    return replace(state, streams=tuple(streams), batches=batches)


# ---- counting ------------------------------------------------------------------------------------------------------


def _count_mature(state: MonitorState, now: Moment | None) -> tuple[MonitorState, tuple[Any, ...]]:
    """Count the waiting windows whose labels are complete, in order, up to the first that still waits."""
    windows = list(dict.fromkeys(each.window for each in state.waiting))
    if state.mature_after is not None and windows:
        moment = datetime.now(UTC).replace(tzinfo=None) if now is None else read_moment(now)
        flags, _ = find_mature(find_ends(windows, state.every), state.mature_after, moment)
        windows = windows[: flags.index(False)] if False in flags else windows
    ready = set(windows)
    streams = {each.segment: each for each in state.streams}
    for each in state.waiting:
        if each.window in ready:
            streams[each.segment] = _count(streams[each.segment], each, state.significance)
    left = tuple(each for each in state.waiting if each.window not in ready)
    last = windows[-1] if windows else state.last
    return replace(state, streams=tuple(streams.values()), waiting=left, last=last), tuple(windows)


def _count(stream: Stream, new: Waiting, significance: float) -> Stream:
    """A stream with one more window."""
    process = stream.process.step(new.sums)
    e_value = process.e_value * stream.share
    alarm = stream.alarm or e_value >= 1 / significance
    return replace(
        stream,
        windows=(*stream.windows, new.window),
        n=np.append(stream.n, new.sums.n),
        observed=np.append(stream.observed, new.sums.observed),
        expected=np.append(stream.expected, new.sums.expected),
        information=np.append(stream.information, new.sums.information),
        tilt=np.append(stream.tilt, new.sums.tilt),
        e_value=np.append(stream.e_value, e_value),
        process=process,
        raised=new.window if alarm and not stream.alarm else stream.raised,
        alarm=alarm,
    )
