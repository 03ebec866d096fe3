"""Types of the columns of text files, which have none of their own.

What a column is read for tells its type: scores are numbers, and segments text. Whether the values of segments are
numbers is found when all of them are known, so that no order of rows and no first rows decide. Numbers as 007, and
two ways to write one number, are codes, and stay text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from truecal.reading._engines import column

ColumnType = Literal["number", "label", "key", "time"]
"""What a column is read as: numbers, labels, values that tell segments or rows apart, or times that make periods."""
WHOLE = r"-?(?:0|[1-9][0-9]{0,17})"  # digits that fit 64 bits; no code such as 007
CODE = r"^\s*-?0[0-9]"
INTEGER = re.compile(WHOLE)
FRACTION = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
BOOLEANS = {"true": True, "false": False}


def type_keys(texts: Iterable[str | None]) -> dict[str | None, Any]:
    """Return what each value of a column is: whole numbers, fractions or booleans if all of them are, otherwise text.

    No two values become one.

    Examples
    --------
    >>> type_keys(["2", "10"]), type_keys(["2", "010"]), type_keys(["1.5", "1.50"])
    ({'2': 2, '10': 10}, {'2': '2', '010': '010'}, {'1.5': '1.5', '1.50': '1.50'})
    """
    distinct = set(texts)
    known = {text: text.strip(" ") for text in distinct if text is not None}
    readers: tuple[tuple[Callable[[str], Any], Callable[[str], Any]], ...] = (
        (INTEGER.fullmatch, int),
        (FRACTION.fullmatch, float),
        (lambda word: word.lower() in BOOLEANS, lambda word: BOOLEANS[word.lower()]),
    )
    for fits, read in readers:
        if known and all(map(fits, known.values())):
            values = {text: read(word) for text, word in known.items()}
            if len(set(values.values())) == len(values):
                return {text: None if text is None else values[text] for text in distinct}
    return {text: text for text in distinct}


def type_segments(keys: Sequence[tuple[Any, ...]], typed: Sequence[bool]) -> list[tuple[Any, ...]]:
    """Return the keys of segments with the values of those columns that are `typed` as what all of them are."""
    if not keys or not any(typed):
        return list(keys)
    columns = zip(zip(*keys, strict=True), typed, strict=True)
    found = [[type_keys(values)[value] for value in values] if own else list(values) for values, own in columns]
    return list(zip(*found, strict=True))


def as_whole_numbers(series: Any) -> Any | None:
    """Return a column of text as one of whole numbers; None if some value is none."""
    import polars as pl

    return series.cast(pl.Int64) if not series.null_count() and series.str.contains(f"^{WHOLE}$").all() else None


def as_number(text: Any) -> Any:
    """Return the whole number that a text is, so that it is equal to one from another format; otherwise the value."""
    return int(text) if isinstance(text, str) and INTEGER.fullmatch(text) else text


def find_types(frame: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return the polars types that fit all values of columns of text, in a frame or a lazy one."""
    import polars as pl

    tests = {}
    for name in names:
        words = column(frame, name).str.strip_chars(" ")
        fits = {
            "whole": words.str.contains(f"^{WHOLE}$"),
            "number": words.cast(pl.Float64, strict=False).is_not_null() & ~words.str.contains(CODE),
            "boolean": words.str.to_lowercase().is_in(list(BOOLEANS)),
        }
        known = words.is_not_null()
        alike = ((fit | ~known).all().alias(key) for key, fit in fits.items())
        tests[name] = pl.struct(known.any().alias("any"), *alike)
    lines = frame.lazy().select(**{f"column{i}": test for i, test in enumerate(tests.values())})
    found = lines.collect(engine="streaming").row(0)
    kinds = (("whole", pl.Int64), ("number", pl.Float64), ("boolean", pl.Boolean))
    return {
        name: next((kind for key, kind in kinds if fits["any"] and fits[key]), pl.String)
        for name, fits in zip(tests, found, strict=True)
    }


def convert(frame: Any, types: Mapping[str, Any], *, strict: bool = True) -> Any:
    """Convert columns of text to types that `find_types` returned; if not strict, what does not fit becomes null."""
    import polars as pl

    values = []
    for name, kind in types.items():
        words = column(frame, name).str.strip_chars(" ")
        if kind == pl.Boolean:
            values.append((words.str.to_lowercase() == "true").alias(name))
        elif kind != pl.String:
            values.append(words.cast(kind, strict=strict).alias(name))
    return frame.with_columns(*values)
