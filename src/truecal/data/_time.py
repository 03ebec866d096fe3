"""Periods: their starts and ends, and whether their labels are complete."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import MAXYEAR, UTC, date, datetime, timedelta
from typing import Any

from truecal._errors import option
from truecal._options import WINDOWS

# the lengths that periods of each length add up to; weeks add up to none
LONGER = {"1h": WINDOWS[1:], "1d": WINDOWS[2:], "1w": (), "1mo": ("1q", "1y"), "1q": ("1y",), "1y": ()}
Span = timedelta | str
Moment = date | datetime | str
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_LENGTHS = {"1h": _UNITS["h"], "1d": _UNITS["d"], "1w": _UNITS["w"]}
_MONTHS = {"1mo": 1, "1q": 3, "1y": 12}


def read_span(span: Span, name: str = "label_lag") -> timedelta:
    """Read a span of time, given as a timedelta or as text: "12h", "30d", "6w".

    Examples
    --------
    >>> read_span("30d").days
    30
    """
    length = span
    if isinstance(span, str):
        match = re.fullmatch(r"\s*(\d{1,7})\s*([hdw])\s*", span)  # up to 190,000 years
        length = int(match[1]) * _UNITS[match[2]] if match else span
    if not isinstance(length, timedelta) or length < timedelta(0):
        raise ValueError(f'{option(name)} must be a timedelta, or text such as "12h", "30d" or "6w"; it is {span!r}.')
    return length


def read_moment(moment: Moment, name: str = "now") -> datetime:
    """Read a date or time, given as such or as ISO text. A date becomes its midnight."""
    parsed: Moment = moment
    with suppress(ValueError):
        parsed = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    if isinstance(parsed, datetime):
        return parsed
    if isinstance(parsed, date):
        return datetime(parsed.year, parsed.month, parsed.day)
    raise ValueError(f'{option(name)} must be a date or a time, or text such as "2026-01-31"; it is {moment!r}.')


def end_of(start: date, every: str) -> datetime:
    """Return the end of the window that begins at `start`.

    Examples
    --------
    >>> from datetime import date
    >>> end_of(date(2026, 1, 1), "1q").isoformat()
    '2026-04-01T00:00:00'
    """
    begin = read_moment(start)
    if every in _LENGTHS:
        return _add_span(begin, _LENGTHS[every])
    if every not in _MONTHS:
        lengths = ", ".join(map(repr, (*_LENGTHS, *_MONTHS)))
        raise ValueError(f"{option('every')} must be one of {lengths}, or None; it is {every!r}.")
    months = 12 * begin.year + begin.month - 1 + _MONTHS[every]
    return _last(begin) if months // 12 > MAXYEAR else begin.replace(year=months // 12, month=months % 12 + 1)


def _add_span(moment: datetime, span: timedelta) -> datetime:
    """Return a later moment, or the last there is: some data write 9999-12-31 for "never"."""
    try:
        return moment + span
    except OverflowError:
        return _last(moment)


def _last(moment: datetime) -> datetime:
    return datetime.max.replace(tzinfo=moment.tzinfo)


def find_ends(starts: Sequence[Any], every: str | None) -> list[datetime]:
    """Return the ends of periods, by their length or by the start of the next one.

    Without a length the last period is as long as the one before it.
    """
    for start in starts:
        if not isinstance(start, date):
            raise TypeError(
                f"Windows must begin at dates or times to have complete labels; one begins at {start!r}.\n\n"
                f"Hint: leave {option('label_lag')} out, or read a column of times."
            )
    if every is not None:
        return [end_of(start, every) for start in starts]
    begins = [read_moment(start) for start in starts]
    if len(begins) < 2:
        raise ValueError(f"{option('every')} must give the length of windows if there is only one; it is None.")
    return [*begins[1:], _add_span(begins[-1], begins[-1] - begins[-2])]


def find_complete(ends: Sequence[datetime], after: timedelta, now: Moment | None) -> tuple[list[bool], datetime]:
    """Return which periods ended at least `after` before `now`, and `now`: the latest end by default."""
    zone = ends[0].tzinfo
    moment = max(ends) if now is None else read_moment(now)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone)
    elif zone is None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return [moment - end >= after for end in ends], moment


def window_start(moment: date, every: str) -> date:
    """Return the start of the period that contains a day or time: a time for hours, else a day.

    Examples
    --------
    >>> window_start(date(2026, 5, 20), "1q")
    datetime.date(2026, 4, 1)
    """
    if every == "1h":
        begin = datetime(moment.year, moment.month, moment.day)
        return begin.replace(hour=moment.hour) if isinstance(moment, datetime) else begin
    day = date(moment.year, moment.month, moment.day)
    if every == "1w":
        return day - timedelta(days=day.weekday())
    months = {"1mo": 1, "1q": 3, "1y": 12}.get(every)
    return day if months is None else day.replace(month=(day.month - 1) // months * months + 1, day=1)
