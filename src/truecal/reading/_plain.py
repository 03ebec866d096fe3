"""Small files of plain CSV, read without polars, whose import takes longer than reading such a file.

A file is plain if no field is quoted or has spaces around it, and every column is named once. Here is either the answer
that polars gives or none: files with anything else in what is asked for, a missing score among it, are left to polars.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from truecal._errors import name_place
from truecal.data import AnyArray, Floats, Ints
from truecal.reading._csv import CHUNK, UTF8_MARK, Stamp, open_table, stamp
from truecal.reading._discovery import expand_all, find_format, is_path

MOST = 1 << 21  # bytes of a file; more of them take as long as the import
NUMERALS = b"0123456789-.eE"  # a plus sign is left to polars


@dataclass(frozen=True, slots=True, eq=False)
class PlainTable:
    """A file of plain CSV: the names of its columns, the lines below them, and words for missing values."""

    names: list[str]
    lines: bytes
    separator: bytes
    missing: frozenset[bytes]

    def split(self) -> dict[str, list[bytes]]:
        """The fields of each column."""
        fields = self.lines.replace(b"\n", self.separator).split(self.separator)
        return {name: fields[i :: len(self.names)] for i, name in enumerate(self.names)}


def read_segments(fields: Sequence[bytes], missing: frozenset[bytes]) -> tuple[list[str | None], Ints]:
    """Return the distinct values of a column of segments, None among them if one is missing, and the number of each
    row's value."""
    codes = {field: code for code, field in enumerate(dict.fromkeys(fields))}
    values = [None if field in missing else field.decode() for field in codes]
    return values, np.fromiter(map(codes.__getitem__, fields), np.int64, len(fields))


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


@lru_cache(maxsize=1)  # it is asked for again whether a file is plain
def _open_once(place: Path, kind: str, before: Stamp) -> PlainTable | None:
    """Open a file that was last written when its stamp says."""
    table = open_table(place, kind)
    if table.copy is not None or table.spaced or table.again or not table.rows:
        return None
    text = table.head
    if before[2] >= CHUNK:
        with name_place(place), open(place, "rb") as file:
            text = file.read().removeprefix(UTF8_MARK)
    text = text.replace(b"\r\n", b"\n").removesuffix(b"\n")
    if b'"' in text or b"\r" in text or stamp(place) != before:
        return None
    _, _, lines = text.partition(b"\n")
    names, separator = list(table.names), table.separator.encode()
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
