"""The first rows of data, by which columns are inferred."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, Literal, Protocol

import numpy as np

from truecal.data import AnyArray
from truecal.reading._csv import CHUNK, Table
from truecal.reading._engines import as_floats, language
from truecal.reading._types import BOOLEANS, CODE, INTEGER

ROWS = 10_000
FEWEST, VALUES = 1_000, 1_000_000  # the fewest rows, and values beyond which they are fewer than `ROWS`
Type = Literal["boolean", "integer", "number", "text", "nested", "other"]  # "number" is one that may have a fraction
BEGINS_AS_CODE = re.compile(CODE)


class HeadColumn(Protocol):
    """The first values of a column."""

    @property
    def type(self) -> Type:
        """What they are."""

    def distinct(self) -> list[Any]:
        """The values, each once and without those that are missing, in any order."""

    def present(self) -> Any:
        """The values that are not missing, those of numbers as an array."""

    def every(self) -> list[Any]:
        """The values of all rows, None if they are missing."""

    def rows(self) -> AnyArray:
        """The numbers of all rows, NaN if they are missing."""


@dataclass(frozen=True, slots=True, eq=False)
class Head:
    """The first rows: those of their columns that were loaded, by name, how many rows there are and how many of them
    differ, and the names of all columns."""

    columns: Mapping[str, HeadColumn]
    rows: int
    names: Sequence[str]
    distinct: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class FrameColumn:
    """The first values of a column of a frame."""

    series: Any

    @property
    def type(self) -> Type:
        """What they are."""
        pl, kind = language(self.series), self.series.dtype
        if kind in (pl.Boolean, pl.String):
            return "boolean" if kind == pl.Boolean else "text"
        if kind.is_numeric():
            return "integer" if kind.is_integer() else "number"
        return "nested" if kind.is_nested() else "other"

    def distinct(self) -> list[Any]:
        """The values, each once and without those that are missing."""
        values: list[Any] = self.series.drop_nulls().unique().to_list()
        return values

    def present(self) -> Any:
        """The values that are not missing, those of numbers as an array."""
        values = self.series.drop_nulls()
        return as_floats(values).astype(np.float64) if self.series.dtype.is_numeric() else values.to_list()

    def every(self) -> list[Any]:
        """The values of all rows, None if they are missing."""
        values: list[Any] = self.series.to_list()
        return values

    def rows(self) -> AnyArray:
        """The numbers of all rows, NaN if they are missing."""
        return as_floats(self.series).astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class TextColumn:
    """The first values of a column of text: its type, the values that are not missing, and whether each is, if any."""

    type: Type
    values: list[Any]
    gone: list[bool]

    @classmethod
    def of(cls, fields: Sequence[str], missing: frozenset[str], *, spaced: bool = True) -> TextColumn:
        """The values as what all of them are; words for missing values may be `spaced`."""
        none = missing.isdisjoint(field.strip(" ") for field in fields) if spaced else missing.isdisjoint(fields)
        gone = [] if none else [field.strip(" ") in missing for field in fields]
        present = [field for field, out in zip(fields, gone, strict=True) if not out] if gone else list(fields)
        numbers = _read_numbers(present)
        if numbers is not None:
            whole = all(map(INTEGER.fullmatch, map(str.strip, present))) and max(map(abs, numbers)) < 2**63
            return cls("integer", list(map(int, present)), gone) if whole else cls("number", numbers, gone)
        if present and {field.strip(" ").lower() for field in set(present)} <= BOOLEANS.keys():
            return cls("boolean", [BOOLEANS[field.strip(" ").lower()] for field in present], gone)
        return cls("text", present, gone)

    def distinct(self) -> list[Any]:
        """The values, each once and without those that are missing."""
        return list(set(self.values))

    def present(self) -> Any:
        """The values that are not missing, those of numbers as an array."""
        return np.array(self.values, np.float64) if self.type in ("integer", "number") else self.values

    def every(self) -> list[Any]:
        """The values of all rows, None if they are missing."""
        present = iter(self.values)
        return [None if gone else next(present) for gone in self.gone] if self.gone else self.values

    def rows(self) -> AnyArray:
        """The numbers of all rows, NaN if they are missing."""
        if not self.gone:
            return np.array(self.values, np.float64)
        found = np.full(len(self.gone), np.nan)
        found[~np.array(self.gone)] = self.values
        return found


def _read_numbers(fields: Sequence[str]) -> list[float] | None:
    """Read numbers; None if there are none, or if a field is none, is infinite or a code such as 007."""
    text = "".join(fields)
    if not fields or "_" in text or not text.isascii() or any(map(BEGINS_AS_CODE.match, fields)):
        return None
    try:
        numbers = list(map(float, fields))
    except ValueError:
        return None
    return numbers if all(map(math.isfinite, numbers)) else None


def read_text_head(table: Table) -> Head:
    """Read the first rows of CSV, all of which are whole."""
    missing = frozenset(["", *table.missing])
    return _parse_head(table.head, table.separator, table.names, table.rows, missing, table.spaced)


@lru_cache(maxsize=2)  # columns are inferred, and rows looked at, from the same file
def _parse_head(
    head: bytes, separator: str, names: tuple[str, ...], rows: int, missing: frozenset[str], spaced: bool
) -> Head:
    most = min(ROWS, rows, max(FEWEST, VALUES // max(len(names), 1)))
    reader = csv.reader(io.StringIO(head.decode(errors="ignore"), newline=""), delimiter=separator)
    lines = list[list[str]]()
    with suppress(csv.Error):  # a field that is longer than Python's limit
        lines.extend(islice(reader, 1, most + 1))
    if len(head) >= CHUNK and len(lines) < rows:
        lines = lines[:-1]  # which the end of the head may have cut
    columns = dict(zip(names, zip(*lines, strict=True), strict=True)) if lines else dict.fromkeys(names, ())
    found = {name: TextColumn.of(fields, missing, spaced=spaced) for name, fields in columns.items()}
    return Head(found, len(lines), names, len(set(map(tuple, lines))))
