"""Types of the columns of text files, which have none of their own.

What a column is read for tells its type: scores are numbers, and segments text. Whether the values of segments are
numbers is found when all of them are known, so that no order of rows and no first rows decide. Numbers as 007, and
two ways to write one number, are codes, and stay text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any, Literal

from truecal.reading._engines import column

ColumnType = Literal["number", "label", "class", "key", "time"]
"""What a column is read as: numbers, labels of 0 and 1, labels of which one is named positive, values that tell
segments or rows apart, or times that make periods."""
WHOLE = r"-?(?:0|[1-9][0-9]{0,18})"  # no code such as 007; that it fits 64 bits is to be seen
CODE = r"^\s*-?0[0-9]"
LONG = r"^-?[0-9]{16,}"  # digits that doubles do not hold
INTEGER = re.compile(WHOLE)
FRACTION = re.compile(r"-?(?:(?:0|[1-9][0-9]{0,14})(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
BOOLEANS = {"true": True, "false": False}


def is_whole(word: str) -> bool:
    """Whether a word is a whole number that fits 64 bits, and no code."""
    return INTEGER.fullmatch(word) is not None and -(2**63) <= int(word) < 2**63


def type_keys(texts: Iterable[str | None]) -> dict[str | None, Any]:
    """Return what each value of a column is: whole numbers, fractions or booleans if all of them are, otherwise text.

    No two values become one.

    Examples
    --------
    >>> type_keys(["2", "10"]), type_keys(["2", "010"]), type_keys(["1.5", "1.50"])
    ({'2': 2, '10': 10}, {'2': '2', '010': '010'}, {'1.5': '1.5', '1.50': '1.50'})
    """
    distinct = dict.fromkeys(texts)
    known = {text: text.strip(" ") for text in distinct if text is not None}
    readers: tuple[tuple[Callable[[str], Any], Callable[[str], Any]], ...] = (
        (is_whole, int),
        (FRACTION.fullmatch, float),
        (lambda word: word.lower() in BOOLEANS, lambda word: BOOLEANS[word.lower()]),
    )
    for fits, read in readers:
        if known and all(map(fits, known.values())):
            values = {text: read(word) for text, word in known.items()}
            if len(set(values.values())) == len(values):
                return {text: None if text is None else values[text] for text in distinct}
    return {text: text for text in distinct}


def match_key(text: Any, known: Set[Any]) -> Any:
    """Return the value among those `known` that a text is, such as a number; the text itself if it is none of them.

    Rows may hold fewer values than those that told the type of a column: "1" alone is a number, among words it is not.
    """
    if not isinstance(text, str) or text in known:
        return text
    typed = type_keys([text])[text]
    return typed if typed in known else text


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

    if series.null_count() or not series.str.contains(f"^{WHOLE}$").all():
        return None
    numbers = series.cast(pl.Int64, strict=False)
    return None if numbers.null_count() else numbers


def as_number(text: Any) -> Any:
    """Return the number that a text is, so that it is equal to one from another format; otherwise the value.

    A fraction is a number if it is written as Python or polars does (1e-07, 1e-7): 1.50 is another value than 1.5.
    """
    if not isinstance(text, str) or not FRACTION.fullmatch(text):
        return int(text) if isinstance(text, str) and is_whole(text) else text
    if is_whole(text):
        return int(text)
    usual = repr(float(text))
    return float(text) if text in (usual, usual.replace("e-0", "e-"), usual.replace("e+", "e")) else text


def find_types(frame: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return the polars types that fit all values of columns of text, in a frame or a lazy one."""
    import polars as pl

    tests = {}
    for name in names:
        words = column(frame, name).str.strip_chars(" ")
        fits = {
            "whole": words.str.contains(f"^{WHOLE}$") & words.cast(pl.Int64, strict=False).is_not_null(),
            "number": words.cast(pl.Float64, strict=False).is_not_null() & ~words.str.contains(f"{CODE}|{LONG}"),
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
