"""Observations by segment and time window, for one model on one label: they add, over days, shards and machines."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import date, datetime
from types import NoneType
from typing import Any, cast

import numpy as np

from truecal.arrays import listed
from truecal.cells import Cells
from truecal.grid import check_bits
from truecal.query import LONGER, SCALE, WINDOWS, Columns, check_column, window_start
from truecal.tally import Tally, check_total, gathered

Segment = tuple[Any, ...]
Part = Tally | Cells
SHARED = ("label", "score", "pos_label", "by", "windows")  # what summaries that add have in common


@dataclass(frozen=True, slots=True, repr=False)
class Summary:
    """Tallies, or cells, of segments. `a + b` and `sum` merge; `+` does not depend on the order.

    Parameters
    ----------
    label, score : str
        The columns that labels and predicted probabilities were read from.
    parts : mapping
        A `Tally`, or `Cells`, for each segment, by its values in the columns `by`: text, whole numbers, floats, truth
        values, dates, times without a zone, or None. Kept sorted.
    by : names
        The columns that make segments; without any, the one segment is `()`.
    windows : mapping
        Those of `by` that are times cut into windows, and how long these are: "1h", "1d", "1w", "1mo", "1q", "1y".
    bits : int, optional
        The grid's significant bits where parts are `Cells`; None where they are exact.
    pos_label : str, optional
        The positive label as text, where one was named.

    Examples
    --------
    >>> from truecal import Summary, Tally
    >>> monday = Summary("y", "p", {("de",): Tally([0.2, 0.7], [3, 1], [0, 1])}, by=("country",))
    >>> tuesday = Summary("y", "p", {("at",): Tally([0.7], [1], [1]), ("de",): Tally([0.2], [2], [1])}, by=("country",))
    >>> both = monday + tuesday
    >>> both
    Summary(2 segments by country, p for y, exact: 7 observations, 3 positive)
    >>> both.parts["de",]
    Tally(2 scores in [0.2, 0.7], 6 observations, 2 positive)
    >>> both.whole()
    Tally(2 scores in [0.2, 0.7], 7 observations, 3 positive)
    """

    label: str
    score: str
    parts: Mapping[Segment, Part]
    by: tuple[str, ...] = ()
    windows: Mapping[str, str] = field(default_factory=dict)
    bits: int | None = None
    pos_label: str | None = None

    def __post_init__(self) -> None:
        by, windows = tuple(self.by), dict(self.windows)
        for role, name in (("label", self.label), ("score", self.score), *(("by", name) for name in by)):
            if not isinstance(name, str):
                raise TypeError(f"`{role}` must be text; it is {name!r}.")
        if len(set(by)) < len(by):
            raise ValueError(f"`by` must name each column once; it is {', '.join(map(repr, by))}.")
        for name, every in windows.items():
            if name not in by or every not in WINDOWS:
                raise ValueError(
                    f"`windows` must give columns of `by` a length of {', '.join(map(repr, WINDOWS))}; for {name!r} it "
                    f"gives {every!r}."
                )
        if self.bits is not None:
            check_bits(self.bits)
        if self.pos_label is not None and not isinstance(self.pos_label, str):
            raise TypeError(f"`pos_label` must be text or None; it is {self.pos_label!r}.")
        parts = {_checked_key(key, by): part for key, part in self.parts.items()}
        if not parts or len(parts) < len(self.parts):
            raise ValueError(f"`parts` must hold each segment once, and one at least; it holds {len(self.parts)}.")
        for key, part in parts.items():
            _check_part(key, part, self.bits)
        self._hold(by=by, windows=windows, parts=_ordered(by, parts, parts))

    def _hold(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _with(self, parts: dict[Segment, Part], **changed: Any) -> Summary:
        """The same with other parts, which are known to be right."""
        other = object.__new__(Summary)
        other._hold(**{part.name: getattr(self, part.name) for part in fields(self)} | {"parts": parts} | changed)
        return other

    @classmethod
    def of(cls, parts: Mapping[Segment, Part], columns: Columns) -> Summary:
        """A summary of what was read; parts of which some are cells and others are not become cells of one grid."""
        grid = columns.scale.grid
        bits = grid if isinstance(grid, int) else _coarsest([_bits(part) for part in parts.values()])
        positive = None if columns.pos_label is None else str(columns.pos_label)
        alike = {key: _coarser(part, bits) for key, part in parts.items()}
        return cls(columns.label, columns.scores[0], alike, columns.by, columns.windows, bits, positive)

    def __add__(self, other: object) -> Summary:
        if not isinstance(other, Summary):
            return NotImplemented
        for name in SHARED:
            first, second = getattr(self, name), getattr(other, name)
            if first != second:
                hint = "\n\nHint: `over` leaves columns out." if name == "by" else ""
                raise ValueError(f"Summaries must agree on `{name}` to add; these have {first!r} and {second!r}.{hint}")
        bits = _coarsest([self.bits, other.bits])
        first, second = self.coarser(bits), other.coarser(bits)
        parts = dict(first.parts)
        for key, part in second.parts.items():
            parts[key] = _pooled([parts[key], part]) if key in parts else part
        return self._with(_ordered(self.by, parts, [*first.parts, *second.parts]), bits=bits)

    def __radd__(self, other: object) -> Summary:
        return self if isinstance(other, int) and other == 0 else NotImplemented  # so that `sum` works

    __hash__ = None  # type: ignore[assignment]

    def coarser(self, bits: int | None) -> Summary:
        """The same observations in cells of so many bits; None leaves them as they are."""
        if bits is None or bits == self.bits:
            return self
        return self._with({key: _coarser(part, bits) for key, part in self.parts.items()}, bits=bits)

    def over(self, names: str | Sequence[str] = (), windows: Mapping[str, str] | None = None) -> Summary:
        """The same observations by fewer columns, or by the same in another order; and in longer `windows` of time,
        such as `{"day": "1mo"}`."""
        by = listed(names)
        if by and not self.by:
            raise ValueError(f"`by` must be left out, since the summary has no segments; it is {by[0]!r}.")
        for name in by:
            check_column("by", name, self.by)
        if len(set(by)) < len(by):
            raise ValueError(f"`by` must name each column once; it is {', '.join(map(repr, by))}.")
        own = {name: every for name, every in self.windows.items() if name in by}
        wanted = own | dict(windows or {})
        for name, every in wanted.items():
            if every != own.get(name) and every not in LONGER.get(own.get(name, ""), ()):
                raise ValueError(_why_not(name, every, own.get(name)))
        if by == self.by and wanted == own:
            return self
        places = [(self.by.index(name), wanted[name] if wanted.get(name) != own.get(name) else None) for name in by]
        groups: dict[Segment, list[Part]] = {}
        for key, part in self.parts.items():
            values = (_longer(key[place], every) for place, every in places)
            groups.setdefault(tuple(values), []).append(part)
        parts = {key: _pooled(found) for key, found in groups.items()}
        return self._with(_ordered(by, parts, parts), by=by, windows=wanted)

    def whole(self) -> Part:
        """All segments together: a `Tally` where scores are exact, else `Cells`."""
        return self.over(()).parts[()]

    @property
    def tally(self) -> Tally:
        """All segments together as a tally; cells as single scores, each at its mean."""
        whole = self.whole()
        return whole.tally

    @property
    def observations(self) -> int:
        """Observations."""
        return sum(int(part.n.sum()) for part in self.parts.values())

    @property
    def positives(self) -> int:
        """Positive observations."""
        return sum(int(part.pos.sum()) for part in self.parts.values())

    def check_columns(self, columns: Columns) -> None:
        """Refuse to be read as something else than what is summarized here."""
        asked: dict[str, tuple[Any, Any]] = {
            "label": (columns.label, self.label),
            "score": (columns.scores, (self.score,)),
        }
        if columns.pos_label is not None:
            asked["pos_label"] = str(columns.pos_label), self.pos_label
        for name, (given, own) in asked.items():
            if given != own:
                raise ValueError(f"`{name}` must be that of the summary, {own!r}, or be left out; it is {given!r}.")
        for name, idle in (
            ("on_null", columns.on_null == "raise"),
            ("format", columns.format in (None, "parquet")),
            ("scale", columns.scale == SCALE),
        ):
            if not idle:
                raise ValueError(f"`{name}` must be left out where a summary is read: it has no rows.")

    def __len__(self) -> int:
        return len(self.parts)

    def __repr__(self) -> str:
        names = [f"{name} ({self.windows[name]})" if name in self.windows else name for name in self.by]
        by = f" by {', '.join(names)}" if names else ""
        how = "exact" if self.bits is None else f"in cells of {self.bits} bits"
        return (
            f"Summary({len(self):,} segment{'s' * (len(self) != 1)}{by}, {self.score} for {self.label}, {how}: "
            f"{self.observations:,} observations, {self.positives:,} positive)"
        )


def _why_not(name: str, every: str, own: str | None) -> str:
    if own is None:
        return f"`every` is for columns of times; {name!r} of the summary is none. It is {every!r}."
    longer = "".join(f", {other!r}" for other in LONGER[own])
    return (
        f"`every` must be that of the summary, {own!r}{longer and ', or a longer one: ' + longer[2:]}; it is {every!r}."
    )


def _longer(value: Any, every: str | None) -> Any:
    return value if every is None or value is None else window_start(value, every)


def plain_value(value: Any) -> Any:
    """A segment's value as one of Python's own types that a file gives back unchanged; NotImplemented for others."""
    if value is None or (isinstance(value, (float, np.floating, datetime)) and value != value):  # noqa: PLR0124
        return None
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value) if -(2**63) <= value < 2**63 else NotImplemented
    if isinstance(value, (float, np.floating)):
        return float(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, datetime):  # pandas has its own, with nanoseconds
        if value.tzinfo is not None or getattr(value, "nanosecond", False):
            return NotImplemented
        return datetime(*value.timetuple()[:6], value.microsecond)
    return value if type(value) is date else NotImplemented


def _checked_key(key: Segment, by: tuple[str, ...]) -> Segment:
    """A segment's values as Python's own types."""
    if not isinstance(key, tuple) or len(key) != len(by):
        raise ValueError(f"A segment must be a tuple of {len(by)} values, one for each of `by`; one is {key!r}.")
    plain = tuple(map(plain_value, key))
    for name, given, value in zip(by, key, plain, strict=True):
        if value is NotImplemented:
            raise TypeError(
                f"`{name}` must hold text, 64-bit whole numbers, floats, truth values, dates, times in "
                f"microseconds without a zone, or None; it holds {given!r}.\n\nHint: cast it to text first."
            )
    return plain


def _check_part(key: Segment, part: Any, bits: int | None) -> None:
    wanted = "a `Tally`" if bits is None else f"`Cells` of {bits} bits"
    if not isinstance(part, Tally if bits is None else Cells) or _bits(part) != bits or not len(part):
        raise TypeError(f"Every segment must be {wanted} that is not empty; {key!r} is {part!r}.")


def _ordered(by: tuple[str, ...], parts: dict[Segment, Part], keys: Collection[Segment]) -> dict[Segment, Part]:
    """The parts sorted, each column of one type in all keys: whole numbers beside floats become floats."""
    kinds = [{type(key[i]) for key in keys} for i in range(len(by))]
    for i, name in enumerate(by):
        found = kinds[i] - {NoneType}
        if found == {int, float}:
            parts = {(*key[:i], _as_float(key[i], name), *key[i + 1 :]): part for key, part in parts.items()}
        elif len(found) > 1:
            told = " and ".join(sorted(kind.__name__ for kind in found))
            raise TypeError(f"`{name}` must hold values of one type in all segments; it holds {told}.")
    if any(NoneType in found for found in kinds):
        return {key: parts[key] for key in sorted(parts, key=lambda key: [(value is None, value) for value in key])}
    return {key: parts[key] for key in sorted(parts)}


def _as_float(value: float | None, name: str) -> float | None:
    if value is not None and float(value) != value:
        raise TypeError(f"`{name}` must hold values of one type in all segments; {value!r} is not a float.")
    return None if value is None else float(value)


def _bits(part: Part) -> int | None:
    return part.bits if isinstance(part, Cells) else None


def _coarsest(bits: Sequence[int | None]) -> int | None:
    return min((few for few in bits if few is not None), default=None)


def _coarser(part: Part, bits: int | None) -> Part:
    if bits is None:
        return part
    return part.coarser(bits) if isinstance(part, Cells) else Cells.of(part, bits)


def _pooled(parts: Sequence[Part]) -> Part:
    """Parts of one kind, added at once."""
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    if isinstance(first, Cells):
        cells = cast(Sequence[Cells], parts)
        columns = tuple(np.concatenate(column) for column in zip(*(part.columns for part in cells), strict=True))
        return Cells.gathered(first.bits, columns)  # type: ignore[arg-type]
    tallies = cast(Sequence[Tally], parts)
    score, n, pos = (np.concatenate(column) for column in zip(*(part.entries for part in tallies), strict=True))
    check_total(n)
    return gathered(score, n, pos)
