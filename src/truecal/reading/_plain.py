"""Small files of plain CSV, read without polars, whose import takes longer than reading such a file.

A file is plain if no field is quoted or has spaces around it, and every column is named once. Here is either the answer
that polars gives or none: files with anything else in what is asked for, a missing score among it, are left to polars.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from truecal._errors import name_place
from truecal.data import AnyArray, Floats, Ints
from truecal.reading._csv import UTF8_MARK, Stamp, open_table, stamp
from truecal.reading._discovery import expand_all, find_format, is_path
from truecal.reading._preview import ROWS, Head, Type

MOST = 1 << 21  # bytes of a file; more of them take as long as the import
WHOLE = b"0123456789-"
NUMERALS = WHOLE + b".eE"  # a plus sign is left to polars
LONGEST = 18  # digits of a whole number that surely fits 64 bits
TEXT = re.compile(rb"[^0-9.e+\x80-\xff-]|[0-9]-")  # what no number has, as in 2026-01-31; others have digits, too
WORDS = {b"true", b"false", *(sign + word for sign in (b"", b"-", b"+") for word in (b"inf", b"nan", b"infinity"))}


@dataclass(frozen=True, slots=True, eq=False)
class PlainColumn:
    """The first values of a column: its type, the values that are not missing, and whether each is, if any is."""

    type: Type
    values: list[Any]
    gone: list[bool]

    @classmethod
    def of(cls, fields: Sequence[bytes], missing: frozenset[bytes]) -> PlainColumn | None:
        """The values with the type that polars infers; None if that is not clear."""
        gone = [] if missing.isdisjoint(fields) else [field in missing for field in fields]
        present = [field for field in fields if field not in missing] if gone else fields
        numbers = _read_numbers(present)
        if numbers is not None:
            if any(len(field) > LONGEST and not field.translate(None, WHOLE) for field in present):
                return None
            whole = not b"".join(present).translate(None, WHOLE)
            return cls("integer", list(map(int, present)), gone) if whole else cls("number", numbers, gone)
        words = {field.lower() for field in set(present)}
        if present and words <= {b"true", b"false"}:
            return cls("boolean", [field.lower() == b"true" for field in present], gone)
        if present and not any(map(TEXT.search, words - WORDS)):
            return None  # any of them might be a number to polars; a word makes all of the column text
        return cls("text", [field.decode() for field in present], gone)

    def distinct(self) -> list[Any]:
        """The values, each once and without those that are missing."""
        return list(set(self.values))

    def encode(self) -> tuple[list[Any], Ints]:
        """The distinct values, None among them if one is missing, and the number of each row's value."""
        rows = self.every()
        codes = {value: code for code, value in enumerate(dict.fromkeys(rows))}
        return list(codes), np.fromiter(map(codes.__getitem__, rows), np.int64, len(rows))

    def every(self) -> list[Any]:
        """The values of all rows, None if they are missing."""
        present = iter(self.values)
        return [None if gone else next(present) for gone in self.gone] if self.gone else self.values

    def present(self) -> Any:
        """The values that are not missing, those of numbers as an array."""
        return np.array(self.values, np.float64) if self.type in ("integer", "number") else self.values

    def rows(self) -> AnyArray:
        """The numbers of all rows, NaN if they are missing."""
        if not self.gone:
            return np.array(self.values, np.float64)
        found = np.full(len(self.gone), np.nan)
        found[~np.array(self.gone)] = self.values
        return found


@dataclass(frozen=True, slots=True, eq=False)
class PlainTable:
    """A file of plain CSV: the names of its columns, the lines below them, and words for missing values."""

    names: list[str]
    lines: bytes
    separator: bytes
    missing: frozenset[bytes]

    def split(self, rows: int | None = None) -> dict[str, list[bytes]]:
        """The fields of each column, or of the first rows."""
        lines = self.lines if rows is None else b"\n".join(self.lines.split(b"\n", rows)[:rows])
        fields = lines.replace(b"\n", self.separator).split(self.separator)
        return {name: fields[i :: len(self.names)] for i, name in enumerate(self.names)}

    def read_head(self) -> Head | None:
        """The first rows; None if the type of a column is not clear."""
        fields = self.split(ROWS)
        found = {name: PlainColumn.of(own, self.missing) for name, own in fields.items()}
        columns = {name: column for name, column in found.items() if column is not None}
        return Head(columns, len(fields[self.names[0]]), self.names) if len(columns) == len(found) else None


def read_segments(fields: Sequence[bytes], missing: frozenset[bytes]) -> PlainColumn | None:
    """Read a column of segments; None if its first rows may be of another type, or have fractions or codes as 007."""
    first, every = PlainColumn.of(fields[:ROWS], missing), PlainColumn.of(fields, missing)
    if first is None or every is None or first.type != every.type or every.type == "number":
        return None
    if every.type == "integer" and any(field[:1] == b"0" and len(field) > 1 for field in set(fields)):
        return None
    return every


def read_labels(fields: Sequence[bytes]) -> AnyArray | None:
    """Read labels; None unless all of them are 0 or 1."""
    return np.frombuffer(b"".join(fields), np.uint8) - ord("0") if {b"0", b"1"}.issuperset(fields) else None


def read_scores(fields: Sequence[bytes]) -> Floats | None:
    """Read scores; None unless all of them are numbers between 0 and 1."""
    numbers = _read_numbers(fields)
    return None if numbers is None or min(numbers) < 0 or max(numbers) > 1 else np.array(numbers)


def open_plain(data: Any, format: str | None) -> PlainTable | None:
    """Open a small file of plain CSV; None for other data. A file that cannot be read is an error."""
    if format not in (None, "csv", "tsv") or not is_path(data) or data in ("-", ["-"]):
        return None
    places = expand_all(data)
    kind = format or find_format(places[0])
    if len(places) > 1 or kind not in ("csv", "tsv"):
        return None
    (place,) = places
    before = stamp(place)
    return None if before[2] > MOST else _open_once(place, kind, before)


@lru_cache(maxsize=1)  # columns are inferred, and rows looked at and read, from the same file
def _open_once(place: Path, kind: str, before: Stamp) -> PlainTable | None:
    """Open a file that was last written when its stamp says."""
    with name_place(place), open(place, "rb") as file:
        text = file.read()
    text = text.removeprefix(UTF8_MARK).replace(b"\r\n", b"\n").removesuffix(b"\n")
    if b'"' in text or b"\r" in text:
        return None
    table = open_table(place, kind)
    if table.copy is not None or table.spaced or table.again or not table.rows or stamp(place) != before:
        return None
    first, _, lines = text.partition(b"\n")
    names, separator = first.decode().split(table.separator), table.separator.encode()
    counts = text.count(b"\n"), text.count(separator)
    if "" in names or counts != (table.rows, (table.rows + 1) * (len(names) - 1)):
        return None
    return PlainTable(names, lines, separator, frozenset([b"", *map(str.encode, table.missing)]))


def is_plain(data: Any, format: str | None = None) -> bool:
    """Whether data are a small file of plain CSV."""
    with suppress(OSError, ValueError):
        return open_plain(data, format) is not None
    return False


def _read_numbers(fields: Sequence[bytes]) -> list[float] | None:
    """Read numbers; None if there are none, if a field is none, or one that not every reader takes for a number."""
    text = b"".join(fields)
    if text.translate(None, NUMERALS) or b".e" in text.lower():
        return None
    with suppress(ValueError):
        numbers = list(map(float, fields))
        return numbers if all(map(np.isfinite, (min(numbers), max(numbers)))) else None
    return None
