"""Observations by segment and period, for one model and one label. They add over days, shards and machines."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import date, datetime
from pathlib import Path
from types import NoneType
from typing import Any, Literal, TypeVar

import numpy as np

from truecal._errors import check_column, option
from truecal._options import WINDOWS
from truecal._text import plural
from truecal.data._arrays import as_tuple
from truecal.data._cell_groups import Part
from truecal.data._cells import Cells
from truecal.data._grid import check_bits
from truecal.data._notes import Note, NoteCode, note_row_counts
from truecal.data._row_counts import UNPAIRED, Reason, RowCounts, check_reasons
from truecal.data._sampling import Sampling, check_same
from truecal.data._tally import Pairs, SortedRows, Tally
from truecal.data._time import LONGER, window_start

Segment = tuple[Any, ...]
Outcome = Literal["positive", "correct"]
T = TypeVar("T")
# settings that observations must share to add
SHARED = ("label", "score", "outcome", "pos_label", "by", "periods", "sampling", "cluster")


@dataclass(frozen=True, slots=True, repr=False)
class Observations:
    """The tally of each segment and period, for one model and one label.

    `truecal.read` returns them. `a + b` and `sum` merge them, in any order.

    Parameters
    ----------
    label, score : str
        The columns that labels and predicted probabilities were read from.
    parts : mapping
        A `Tally`, or the `Cells` of a grid, for each segment. A segment is the tuple of its values in the columns `by`:
        any values that sort, or None. A file keeps text, whole numbers, floats, booleans, dates and times without a
        zone. Parts are kept sorted. A single part without `by` may be `SortedRows`.
    by : names
        The columns that make segments. Without any, the only segment is `()`.
    periods : mapping
        The columns of `by` that are periods, with their length: "1h", "1d", "1w", "1mo", "1q", "1y", or None if each
        value of the column is a period.
    bits : int, optional
        The significant bits of the grid if parts are cells; None if they are exact.
    pos_label : str, optional
        The positive label as text, if one was named.
    dropped : mapping
        For each segment, the number of rows left out, by reason: {("de",): {Reason("p", "null"): 3}}. A segment
        may have no other rows; then it has no part.
    baseline : Pairs, optional
        The scores of this model and of the baseline on the same rows.
    cluster : str, optional
        The column that identifies customers, patients or documents, whose rows are correlated; parts have `clusters`.
    outcome : "positive" or "correct"
        What is counted: positives; or rows whose top label of several classes is correct, the scores being the
        confidences in it.
    files : mapping
        The row counts of each file, if the rows were read from several. They are not saved; observations that are
        loaded from several files have row counts for each of these.

    Examples
    --------
    >>> from truecal import Observations, Tally
    >>> monday = Observations("y", "p", {("de",): Tally([0.2, 0.7], [3, 1], [0, 1])}, by=("country",))
    >>> parts = {("at",): Tally([0.7], [1], [1]), ("de",): Tally([0.2], [2], [1])}
    >>> tuesday = Observations("y", "p", parts, by=("country",))
    >>> both = monday + tuesday
    >>> both
    Observations(2 segments by country, p for y, exact: 7 rows, 3 positive)
    >>> both.parts["de",]
    Tally(2 scores in [0.2, 0.7], 6 rows, 2 positive)
    >>> both.pooled()
    Tally(2 scores in [0.2, 0.7], 7 rows, 3 positive)
    """

    label: str
    score: str
    parts: Mapping[Segment, Part]
    by: tuple[str, ...] = ()
    periods: Mapping[str, str | None] = field(default_factory=dict)
    bits: int | None = None
    pos_label: str | None = None
    dropped: Mapping[Segment, Mapping[Reason, int]] = field(default_factory=dict)
    baseline: Pairs | None = None
    cluster: str | None = None
    outcome: Outcome = "positive"
    files: Mapping[str, RowCounts] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        for name, given in (("parts", self.parts), ("dropped", self.dropped), ("periods", self.periods)):
            if not isinstance(given, Mapping):
                raise TypeError(f"`{name}` must be a mapping; it is {type(given).__name__}.")
        by, periods = as_tuple(self.by), dict(self.periods)
        self._check_names(by, periods)
        if self.bits is not None:
            check_bits(self.bits)
        if self.baseline is not None and not isinstance(self.baseline, Pairs):
            raise TypeError(f"{option('baseline')} must be `Pairs` or None; it is {type(self.baseline).__name__}.")
        dropped = {_check_key(key, by): _check_dropped(reasons) for key, reasons in self.dropped.items() if reasons}
        parts = {_check_key(key, by): part for key, part in self.parts.items()}
        if not parts or len(parts) < len(self.parts):
            raise ValueError(f"`parts` must hold each segment once, and at least one; it holds {len(self.parts)}.")
        for key, part in parts.items():
            _check_part(key, part, self.bits)
            if (part.clusters is None) != (self.cluster is None):
                having = "has some" if self.cluster is None else "has none"
                raise ValueError(
                    f"{option('cluster')} must be given where parts have clusters, and only there; it is "
                    f"{self.cluster!r}, and {key!r} {having}."
                )
        for other in (*parts.values(), *(() if self.baseline is None else (self.baseline,))):
            check_same(next(iter(parts.values())).sampling, other.sampling)
        keys = [*parts, *dropped]
        parts, dropped = _sort_keys(by, parts, keys), _sort_keys(by, dropped, keys)
        self._hold(by=by, periods=periods, dropped=dropped, parts=parts)
        self._check_row_counts()

    def _check_row_counts(self) -> None:
        """Raise an error if the rows of files or of pairs do not add up to all rows."""
        if self.files:
            _ = self.row_counts
        _ = self.pair_counts

    def _check_names(self, by: tuple[str, ...], periods: Mapping[str, str | None]) -> None:
        """Raise an error if a column's name is not text or is given twice, or if the length of a period is unknown."""
        for role, name in (("label", self.label), ("score", self.score), *(("by", name) for name in by)):
            if not isinstance(name, str):
                raise TypeError(f"{option(role)} must be text; it is {name!r}.")
        if len(set(by)) < len(by):
            raise ValueError(f"{option('by')} must name each column once; it is {', '.join(map(repr, by))}.")
        for name, every in periods.items():
            if name not in by or (every is not None and every not in WINDOWS):
                raise ValueError(
                    f"{option('periods')} must give columns of {option('by')} a length of "
                    f"{', '.join(map(repr, WINDOWS))} or None; for {name!r} it gives {every!r}."
                )
        for role, given in (("pos_label", self.pos_label), ("cluster", self.cluster)):
            if given is not None and not isinstance(given, str):
                raise TypeError(f"{option(role)} must be text or None; it is {given!r}.")
        if self.outcome not in ("positive", "correct"):
            raise ValueError(f'`outcome` must be "positive" or "correct"; it is {self.outcome!r}.')

    def _hold(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _with(self, parts: dict[Segment, Part], **changed: Any) -> Observations:
        """Return a copy with other parts, which are not checked."""
        other = object.__new__(Observations)
        other._hold(**{part.name: getattr(self, part.name) for part in fields(self)} | {"parts": parts} | changed)
        return other

    def __add__(self, other: object) -> Observations:
        if not isinstance(other, Observations):
            return NotImplemented
        for name in SHARED:
            first, second = getattr(self, name), getattr(other, name)
            if first != second:
                hint = f"\n\nHint: {option('group_by')} leaves columns out." if name == "by" else ""
                raise ValueError(
                    f"Observations must agree on {option(name)} to add; these have {first!r} and {second!r}.{hint}"
                )
        if (self.baseline is None) != (other.baseline is None):
            raise ValueError(f"Observations must both have a {option('baseline')} to add, or neither; only one has it.")
        bits = coarsest([self.bits, other.bits])
        first, second = self.coarsen(bits), other.coarsen(bits)
        parts = dict(first.parts)
        for key, part in second.parts.items():
            parts[key] = merge_parts([parts[key], part]) if key in parts else part
        dropped = {key: dict(reasons) for key, reasons in self.dropped.items()}
        for key, reasons in other.dropped.items():
            dropped[key] = dict(Counter(dropped.get(key, {})) + Counter(reasons))
        keys = [*first.parts, *second.parts, *dropped]
        whole = self._with(
            _sort_keys(self.by, parts, keys),
            bits=bits,
            dropped=_sort_keys(self.by, dropped, keys),
            baseline=None if self.baseline is None or other.baseline is None else self.baseline + other.baseline,
            files=_add_files(self.files, other.files),
        )
        RowCounts(
            self.row_counts.read + other.row_counts.read, whole.n_rows, whole.row_counts.dropped
        )  # nothing was lost
        if whole.pair_counts is not None:
            paired = sum(pairs.n_rows for pairs in (self.baseline, other.baseline) if pairs is not None)
            RowCounts(paired, whole.pair_counts.evaluated)
        return whole

    def __radd__(self, other: object) -> Observations:
        return self if isinstance(other, int) and other == 0 else NotImplemented  # so that `sum` works

    __hash__ = None  # type: ignore[assignment]

    def coarsen(self, bits: int | None) -> Observations:
        """Return the same rows in cells of `bits` bits; None changes nothing."""
        if bits is None or bits == self.bits:
            return self
        return self._with({key: as_grid(part, bits) for key, part in self.parts.items()}, bits=bits)

    def group_by(self, by: str | Sequence[str] = (), periods: Mapping[str, str | None] | None = None) -> Observations:
        """Return the same rows grouped by fewer columns, or by columns in another order, and in longer `periods`.

        `periods` has the new lengths by column, such as `{"day": "1mo"}`.
        """
        by = as_tuple(by)
        if by and not self.by:
            raise ValueError(f"{option('by')} must be left out, since the tallies have no segments; it is {by[0]!r}.")
        for name in by:
            check_column("by", name, self.by)
        if len(set(by)) < len(by):
            raise ValueError(f"{option('by')} must name each column once; it is {', '.join(map(repr, by))}.")
        lengths = {name: every for name, every in self.periods.items() if name in by}
        wanted = lengths | dict(periods or {})
        for name, every in wanted.items():
            if every != lengths.get(name) and every not in LONGER.get(lengths.get(name) or "", ()):
                raise ValueError(_explain_length(name, every, lengths))
        if by == self.by and wanted == lengths:
            return self
        longer = {name: every for name, every in wanted.items() if every != lengths.get(name)}
        indexes = [(self.by.index(name), longer.get(name)) for name in by]

        def regroup(key: Segment) -> Segment:
            return tuple(_lengthen_period(key[index], every) for index, every in indexes)

        groups: dict[Segment, list[Part]] = {}
        for key, part in self.parts.items():
            groups.setdefault(regroup(key), []).append(part)
        parts = {key: merge_parts(group) for key, group in groups.items()}
        reasons: dict[Segment, Counter[Reason]] = {}
        for key, counts in self.dropped.items():
            reasons.setdefault(regroup(key), Counter()).update(counts)
        dropped = {key: dict(counts) for key, counts in reasons.items()}
        keys = [*parts, *dropped]
        changed = self._with(_sort_keys(by, parts, keys), by=by, periods=wanted, dropped=_sort_keys(by, dropped, keys))
        RowCounts(self.row_counts.read, changed.n_rows, changed.row_counts.dropped)  # nothing was lost
        return changed

    def pooled(self) -> Part:
        """Return all segments pooled: cells if there are `bits`, else exact."""
        return self.group_by(()).parts[()]

    @property
    def tally(self) -> Tally:
        """All segments pooled as a tally, with one score per cell, its mean."""
        whole = self.pooled()
        return whole.tally

    @property
    def n_rows(self) -> int:
        """The number of rows, without those that were dropped."""
        return sum(part.n_rows for part in self.parts.values())

    @property
    def positives(self) -> int:
        """The number of positive rows."""
        return sum(part.positives for part in self.parts.values())

    @property
    def weighted(self) -> bool:
        """Whether rows have importance weights."""
        first = next(iter(self.parts.values()))
        return first.importance_weight is not None

    @property
    def sampling(self) -> Sampling:
        """How rows and labels were sampled, the same in all segments."""
        return next(iter(self.parts.values())).sampling

    @property
    def row_counts(self) -> RowCounts:
        """The row counts of all segments pooled."""
        dropped, rows = dict(sum(map(Counter, self.dropped.values()), Counter())), self.n_rows
        return RowCounts(rows + sum(dropped.values()), rows, dropped, files=dict(self.files))

    @property
    def pair_counts(self) -> RowCounts | None:
        """The row counts of the comparison with a baseline; None without one."""
        if self.baseline is None:
            return None
        row_counts = self.row_counts
        alone = self.n_rows - self.baseline.n_rows
        return RowCounts(
            row_counts.read, self.baseline.n_rows, row_counts.dropped | ({UNPAIRED: alone} if alone else {})
        )

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes for any result: which population its estimates describe, and which rows were dropped."""
        weighted = (Note(NoteCode.IMPORTANCE_WEIGHTED),) if self.weighted else ()
        notes = [*self.population_notes, *weighted, *note_row_counts(self.row_counts)]
        timed = [index for index, name in enumerate(self.by) if name in self.periods]
        gone = [key for key in self.dropped if key not in self.parts and all(key[i] is not None for i in timed)]
        if gone:
            first = {name: str(value) for name, value in zip(self.by, gone[0], strict=True)}
            notes.append(Note.of(NoteCode.SEGMENTS_DROPPED, n=len(gone), first=first))
        if self.baseline is not None and self.baseline.n_rows < self.n_rows:
            notes.append(Note.of(NoteCode.BASELINE_INCOMPLETE, compared=self.baseline.n_rows, rows=self.n_rows))
        return tuple(notes)

    @property
    def population_notes(self) -> tuple[Note, ...]:
        """The notes on which population the estimates describe, and on clusters; a verdict has them too."""
        if self.cluster is None:
            return self.sampling.notes
        return (*self.sampling.notes, Note.of(NoteCode.CLUSTERED, column=self.cluster))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the observations to a Parquet file, atomically. The name must end in .parquet or .pq.

        Examples
        --------
        >>> import tempfile, truecal
        >>> monday = truecal.Observations("y", "p", {(): truecal.Tally([0.2, 0.7], [3, 1], [0, 1])})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = monday.save(f"{folder}/monday.parquet")
        ...     truecal.Observations.load(path) == monday
        True
        """
        from truecal.data._parquet import write_tallies

        return write_tallies(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Observations:
        """Read a file that `save` wrote. A damaged file, or one of a later version, is an error."""
        from truecal.data._parquet import read_tallies

        return read_tallies(path)

    def __len__(self) -> int:
        return len(self.parts)

    def __repr__(self) -> str:
        names = [f"{name} ({self.periods[name]})" if self.periods.get(name) else name for name in self.by]
        by = f" by {', '.join(names)}" if names else ""
        n_dropped = self.row_counts.without_zero_counts.n_dropped
        dropped = f", {n_dropped:,} dropped" if n_dropped else ""
        precision = "exact" if self.bits is None else f"in cells of {self.bits} bits"
        of = "" if self.cluster is None else f" in clusters of {self.cluster}"
        return (
            f"Observations({plural(len(self), 'segment')}{by}, {self.score} for {self.label}, {precision}: "
            f"{plural(self.n_rows, 'row')}{of}, {self.positives:,} {self.outcome}{dropped})"
        )


def _explain_length(name: str, every: str | None, periods: Mapping[str, str | None]) -> str:
    length = periods.get(name)
    if length is None:
        return f"{option('every')} is for columns of times, and {name!r} is not one in these tallies; it is {every!r}."
    longer = ", ".join(map(repr, LONGER[length]))
    longer = longer and f", or a longer one: {longer}"
    return f"{option('every')} must be that of the tallies, {length!r}{longer}; it is {every!r}."


def _lengthen_period(value: Any, every: str | None) -> Any:
    return value if every is None or value is None else window_start(value, every)


def plain_value(value: Any) -> Any:
    """Convert a segment's value to a Python type that a file returns unchanged; NotImplemented if there is none."""
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


def _check_key(key: Segment, by: tuple[str, ...]) -> Segment:
    """Check a segment, and convert its values to Python's own types if possible."""
    if not isinstance(key, tuple) or len(key) != len(by):
        raise ValueError(
            f"A segment must be a tuple of {len(by)} values, one for each of {option('by')}; one is {key!r}."
        )
    plain = map(plain_value, key)
    return tuple(given if value is NotImplemented else value for given, value in zip(key, plain, strict=True))


def _check_part(key: Segment, part: Any, bits: int | None) -> None:
    wanted = "a `Tally`" if bits is None else f"a grid of {bits} bits (`Cells.grid`)"
    kinds: Any = Cells if bits is not None else Tally if key else (Tally, SortedRows)
    if not isinstance(part, kinds) or part.bits != bits or not len(part):
        raise TypeError(f"Every segment must be {wanted} that is not empty; {key!r} is {part!r}.")
    if bits is not None:
        _ = part.scores  # an error if they have none


def _check_dropped(dropped: Mapping[Reason, int]) -> dict[Reason, int]:
    for reason, n in check_reasons(dropped).items():
        if n < 1:
            raise ValueError(f"`dropped` must count at least one row for each reason; for {reason!r} it is {n!r}.")
    return dict(dropped)


def _add_files(first: Mapping[str, RowCounts], second: Mapping[str, RowCounts]) -> dict[str, RowCounts]:
    """The row counts of the files of two observations; none if the rows of one are from no files, or it is unknown."""
    if not first or not second:
        return {}
    files = dict(first)
    for name, other in second.items():
        counts = files.get(name, RowCounts(0, 0))
        dropped = dict(Counter(counts.dropped) + Counter(other.dropped))
        files[name] = RowCounts(counts.read + other.read, counts.evaluated + other.evaluated, dropped)
    return files


def _sort_keys(by: tuple[str, ...], parts: dict[Segment, T], keys: Collection[Segment]) -> dict[Segment, T]:
    """Sort parts by segment. A column must have one type in all keys; whole numbers among floats become floats."""
    kinds = [{type(key[i]) for key in keys} for i in range(len(by))]
    for i, name in enumerate(by):
        types = kinds[i] - {NoneType}
        if types == {int, float}:
            parts = {(*key[:i], _as_float(key[i], name), *key[i + 1 :]): part for key, part in parts.items()}
        elif len(types) > 1:
            kinds_found = " and ".join(sorted(kind.__name__ for kind in types))
            raise TypeError(
                f"`{name}` must hold values of one type in all segments; it holds {kinds_found}.\n\n"
                "Hint: cast it to text first."
            )
    if any(NoneType in types for types in kinds):
        return {key: parts[key] for key in sorted(parts, key=lambda key: [(value is None, value) for value in key])}
    return {key: parts[key] for key in sorted(parts)}


def _as_float(value: float | None, name: str) -> float | None:
    if value is not None and float(value) != value:
        raise TypeError(f"`{name}` must hold values of one type in all segments; {value!r} is not a float.")
    return None if value is None else float(value)


def with_sampling(part: Part, sampling: Sampling) -> Part:
    """Return a part with another sampling; its rows are grouped if necessary."""
    if sampling == part.sampling:
        return part
    return replace(part.grouped, sampling=sampling)


def coarsest(bits: Sequence[int | None]) -> int | None:
    """Return the fewest bits; None if no part is in cells."""
    return min((few for few in bits if few is not None), default=None)


def as_grid(part: Part, bits: int | None) -> Part:
    """Return a part in cells of `bits` bits; None changes nothing."""
    return part if bits is None else Cells.grid(part, bits)


def merge_parts(parts: Sequence[Part]) -> Part:
    """Add parts; if some are in cells, the others are grouped into the coarsest of their grids."""
    if len(parts) == 1:
        return parts[0]
    bits = coarsest([part.bits for part in parts])
    alike: Any = [as_grid(part.grouped, bits) for part in parts]
    whole: Part = alike[0].join(alike)
    return whole
