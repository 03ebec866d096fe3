"""Notes: facts beside a result that its reader should know, each a code with values; `words` has the sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from truecal._codes import Code
from truecal.data._row_counts import ReasonKind, RowCounts

NAMED_FILES = 3  # files that a note on dropped rows names


class NoteCode(Code):
    """What a note is about.

    Examples
    --------
    >>> NoteCode("label delay") is NoteCode.LABEL_DELAY
    True
    """

    ROWS_DROPPED = "rows dropped"
    ZERO_COUNTS = "zero counts"
    SEGMENTS_DROPPED = "segments dropped"
    GROUPS_OUT_OF_SCOPE = "groups out of scope"
    BASELINE_INCOMPLETE = "baseline incomplete"
    LABEL_DELAY = "label delay"
    SAMPLED_BY_LABEL = "sampled by label"
    LABEL_NOISE = "label noise"
    CLUSTERED = "clustered"
    CLUSTERS_COMPARED = "clusters compared"
    IMPORTANCE_WEIGHTED = "importance weighted"
    EQUAL_COUNTS = "equal counts"
    FEWER_BINS = "fewer bins"
    BINS_TOO_LARGE = "bins too large"
    BINS_TOO_SMALL = "bins too small"
    P_VALUES_ADJUSTED = "p-values adjusted"
    GROUPED_SCORES = "grouped scores"
    GROUPED_REGION = "grouped region"
    GROUPED_DRAWS = "grouped draws"
    COARSE_GRID = "coarse grid"
    COLUMN_CONSTANT = "column constant"
    COLUMN_OF_NAMES = "column of names"
    COLUMN_UNSUPPORTED = "column unsupported"
    COLUMNS_NOT_PAIRED = "columns not paired"
    SLICES_TRUNCATED = "slices truncated"
    SEGMENTS_UNKNOWN = "segments unknown"
    RECALIBRATED = "recalibrated"


# the values of each code, with their types
FIELDS: dict[NoteCode, dict[str, type]] = {
    NoteCode.ROWS_DROPPED: {"read": int, "dropped": int, "reasons": tuple, "files": tuple, "more_files": int},
    NoteCode.ZERO_COUNTS: {"n": int, "columns": tuple},
    NoteCode.SEGMENTS_DROPPED: {"n": int, "first": Mapping},
    NoteCode.GROUPS_OUT_OF_SCOPE: {"n": int, "total": int, "kind": str},
    NoteCode.BASELINE_INCOMPLETE: {"compared": int, "rows": int},
    NoteCode.LABEL_DELAY: {},
    NoteCode.SAMPLED_BY_LABEL: {"negative_rate": float, "positive_rate": float, "estimates": str},
    NoteCode.LABEL_NOISE: {"false_positive_rate": float, "false_negative_rate": float, "estimates": str},
    NoteCode.CLUSTERED: {"column": str},
    NoteCode.CLUSTERS_COMPARED: {"n": int},
    NoteCode.IMPORTANCE_WEIGHTED: {},
    NoteCode.EQUAL_COUNTS: {"count": float},
    NoteCode.FEWER_BINS: {"bins": int, "wanted": int, "tied": bool},
    NoteCode.BINS_TOO_LARGE: {"n": int, "bins": int, "limit": int, "largest": int},
    NoteCode.BINS_TOO_SMALL: {"n": int, "bins": int, "limit": int, "smallest": int},
    NoteCode.P_VALUES_ADJUSTED: {"method": str},
    NoteCode.GROUPED_SCORES: {"cells": int, "bits": int},
    NoteCode.GROUPED_REGION: {"lowest": float},
    NoteCode.GROUPED_DRAWS: {"cells": int, "bits": int, "scores": int},
    NoteCode.COARSE_GRID: {"n": int, "largest": int, "bits": int},
    NoteCode.COLUMN_CONSTANT: {"column": str},
    NoteCode.COLUMN_OF_NAMES: {"column": str, "distinct": int, "rows": int},
    NoteCode.COLUMN_UNSUPPORTED: {"column": str, "type": str},
    NoteCode.COLUMNS_NOT_PAIRED: {"columns": int, "limit": int},
    NoteCode.SLICES_TRUNCATED: {"limit": int},
    NoteCode.SEGMENTS_UNKNOWN: {"n": int},
    NoteCode.RECALIBRATED: {},
}


class NoteValues(Mapping[str, Any]):
    """The values of a note: numbers, text, and tuples and mappings of these; immutable and hashable."""

    __slots__ = ("_items",)

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._items = tuple((str(name), _freeze(value)) for name, value in values.items())

    def __getitem__(self, name: str) -> Any:
        return dict(self._items)[name]

    def __iter__(self) -> Iterator[str]:
        return iter(dict(self._items))

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(self._items)

    def __repr__(self) -> str:
        return repr(dict(self._items))


@dataclass(frozen=True, slots=True, repr=False)
class Note:
    """A fact that the reader of a result should know: a code, and the values that belong to it.

    `str(note)` is the sentence, without a period.

    Examples
    --------
    >>> Note.of(NoteCode.SLICES_TRUNCATED, limit=20)
    Note('slices truncated', limit=20)
    """

    code: NoteCode
    values: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        code = NoteCode(self.code)
        fields = FIELDS[code]
        if not isinstance(self.values, Mapping) or set(self.values) != set(fields):
            names = ", ".join(fields) or "none"
            raise ValueError(f"The values of a note on {code.value!r} must be {names}; they are {self.values!r}.")
        values = NoteValues(self.values)
        for name, kind in fields.items():
            if not isinstance(values[name], (int, float) if kind is float else kind):
                raise TypeError(
                    f"`{name}` of a note on {code.value!r} must be {kind.__name__}; it is {values[name]!r}."
                )
        object.__setattr__(self, "code", code)
        object.__setattr__(self, "values", values)

    @classmethod
    def of(cls, code: NoteCode, **values: Any) -> Note:
        """Make a note of a code and its values."""
        return cls(code, values)

    def __repr__(self) -> str:
        return f"Note({', '.join([repr(self.code), *(f'{name}={value!r}' for name, value in self.values.items())])})"

    def __str__(self) -> str:
        from truecal import words

        return words.describe_note(self)


def _freeze(value: Any) -> Any:
    if isinstance(value, Mapping):
        return NoteValues(value)
    if isinstance(value, (tuple, list)):
        return tuple(map(_freeze, value))
    return value.item() if isinstance(value, np.generic) else value


def note_row_counts(row_counts: RowCounts) -> tuple[Note, ...]:
    """Return notes on rows that were dropped, and on those whose count is zero; nothing if there are none."""
    rows, notes = row_counts.without_zero_counts, []
    if rows.n_dropped:
        files = sorted(
            ((name, counts) for name, counts in rows.files.items() if counts.n_dropped),
            key=lambda entry: (-entry[1].share_dropped, -entry[1].n_dropped, entry[0]),
        )
        notes.append(
            Note.of(
                NoteCode.ROWS_DROPPED,
                read=rows.read,
                dropped=rows.n_dropped,
                reasons=[{"column": why.column, "kind": why.kind.value, "n": n} for why, n in rows.dropped.items()],
                files=[
                    {"file": name, "read": counts.read, "dropped": counts.n_dropped}
                    for name, counts in files[:NAMED_FILES]
                ],
                more_files=max(0, len(files) - NAMED_FILES),
            )
        )
    if zero := row_counts.read - rows.read:
        columns = [reason.column for reason in row_counts.dropped if reason.kind == ReasonKind.COUNT_IS_ZERO]
        notes.append(Note.of(NoteCode.ZERO_COUNTS, n=zero, columns=columns))
    return tuple(notes)
