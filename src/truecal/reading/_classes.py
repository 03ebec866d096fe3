"""Several classes, a column of probabilities each: which column is of which class, and each row's most probable one.

Rows in this process are judged by NumPy, in other engines by expressions; ties go to the first column in both.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import reduce
from typing import Any, NoReturn

import numpy as np

from truecal._errors import did_you_mean, option
from truecal._text import plural
from truecal.data import NORMALIZE, SUM, AnyArray, Floats, Ints
from truecal.reading._engines import language
from truecal.reading._status import SUM_OFF
from truecal.reading._types import BOOLEANS

SIGNS = "*?["  # of a pattern


def find_score_columns(wanted: Sequence[str], columns: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """The columns that names and patterns such as p_* stand for, in the order of the data for each pattern.

    A name that exists is no pattern; a pattern never means the label or another column that has its own role.
    """
    found: list[str] = []
    for name in wanted:
        if name in columns or not any(sign in name for sign in SIGNS):
            found.append(name)
            continue
        matching = [column for column in columns if fnmatchcase(column, name) and column not in others]
        if not matching:
            raise ValueError(
                f"{option('score')} must match a column; of {', '.join(map(repr, columns))} none matches {name!r}."
            )
        found += matching
    return tuple(dict.fromkeys(found))


def may_be_classes(scores: Sequence[str]) -> bool:
    """Whether names of columns could stand for several."""
    return len(scores) > 1 or any(sign in name for name in scores for sign in SIGNS)


def find_class_columns(labels: Sequence[Any], columns: Sequence[str]) -> tuple[str, ...]:
    """The columns that are named after labels, each with the same before and after it; those of classes without a label
    too, if something is. None if a label has no column."""
    texts, known = list(map(_as_text, labels)), set(columns)
    for column in columns:
        start = column.find(texts[0])
        while start >= 0:
            before, after = column[:start], column[start + len(texts[0]) :]
            if known.issuperset(f"{before}{text}{after}" for text in texts):
                return tuple(
                    name
                    for name in columns
                    if (name in texts if not before + after else name.startswith(before) and name.endswith(after))
                )
            start = column.find(texts[0], start + 1)
    return ()


def describe_columns(columns: Sequence[str]) -> str:
    """Name columns together: by what their names share, such as p_*, or one by one."""
    before, after = _find_shared(columns)
    if before or after:
        return f"{before}*{after}"
    return ", ".join(columns) if len(columns) <= 3 else f"{columns[0]}, {columns[1]}, ..., {columns[-1]}"


def _find_shared(columns: Sequence[str]) -> tuple[str, str]:
    """What the names begin and end with, without overlap."""
    before = _find_beginning(columns)
    rest = [name[len(before) :] for name in columns]
    return before, _find_beginning([name[::-1] for name in rest])[::-1]


def _find_beginning(names: Sequence[str]) -> str:
    """What all names begin with: the first and the last of them in order."""
    first, last = min(names), max(names)
    return first[: next((i for i, sign in enumerate(first) if last[i : i + 1] != sign), len(first))]


@dataclass(slots=True)
class ClassNames:
    """Which class each column is of: as `given`, or as the labels say.

    Labels are the columns' names, or what is left of these without something that all begin or end with; as little as
    possible is taken off. `names` is empty until labels were seen. Labels of text files are `plain`: numbers are text
    among them, and may have spaces around them.
    """

    label: str
    columns: tuple[str, ...]
    given: tuple[Any, ...] | None = None
    names: tuple[str, ...] = ()
    places: dict[str, int] = field(default_factory=dict)
    plain: bool = False

    def __post_init__(self) -> None:
        if self.given is None:
            return
        self.names = tuple(map(_as_text, self.given))
        if len(self.names) != len(self.columns) or len(set(self.names)) != len(self.names):
            raise ValueError(
                f"{option('labels')} must name the classes of the {len(self.columns)} columns of {option('score')} "
                f"once each; it is {list(self.given)!r}."
            )

    def find(self, values: Iterable[Any]) -> list[int]:
        """The place of each label among the columns. A label without a column is an error."""
        texts = [_as_text(value) for value in values]
        if not self.names and texts:
            seen = {*texts, *(_read_text(text) for text in texts if self.plain)}
            self.names = max(self._list_schemes(), key=lambda names: len(seen.intersection(names)))
        self.places = self.places or {name: i for i, name in enumerate(self.names)}
        if self.plain:
            texts = [text if text in self.places else _read_text(text) for text in texts]
        unknown = next((text for text in texts if text not in self.places), None)
        if unknown is not None:
            self._refuse(unknown)
        return [self.places[text] for text in texts]

    def names_all(self, labels: Iterable[Any]) -> bool:
        """Whether every label has a column."""
        texts = set(map(_as_text, labels))
        return any(texts <= set(names) for names in self._list_schemes())

    def _list_schemes(self) -> Iterator[tuple[str, ...]]:
        """Names that the columns could stand for, the least changed first."""
        before, after = _find_shared(self.columns)
        cuts = [(i, j) for i in range(len(before) + 1) for j in range(len(after) + 1)]
        for i, j in sorted(cuts, key=sum):
            yield tuple(name[i : len(name) - j] for name in self.columns)

    def _refuse(self, text: str) -> NoReturn:
        columns = ", ".join(map(repr, self.columns[:10])) + ", ..." * (len(self.columns) > 10)
        if self.given is not None:
            known = did_you_mean(text, self.names)
            raise ValueError(f"{option('labels')} must name every label; `{self.label}` holds {text!r} as well.{known}")
        raise ValueError(
            f"Every label must have a column of probabilities; `{self.label}` holds {text!r}, which none of {columns} "
            f"is named after.{did_you_mean(text, (*self.names, *self.columns))}\n\n"
            f"Hint: {option('labels')} names the classes in the order of the columns."
        )


def _as_text(value: Any) -> str:
    """A label as a column's name has it: 1 for 1.0."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _read_text(text: str) -> str:
    """A label of a text file as a column's name has it: 1 for 1.0, and True for true."""
    word = text.strip(" ")
    if word.lower() in BOOLEANS:
        return word.capitalize()
    return str(int(word.partition(".")[0])) if re.fullmatch(r"-?[0-9]{1,18}(\.0*)?", word) else word


@dataclass(frozen=True, slots=True, eq=False)
class ClassRows:
    """Rows of several classes: the most probable one, its probability, and the sum of all probabilities."""

    chosen: Ints
    confidence: AnyArray
    total: Floats
    outside: AnyArray

    @classmethod
    def of(cls, columns: Sequence[AnyArray]) -> ClassRows:
        """Judge rows whose probabilities come in columns. Of equal probabilities the first is chosen."""
        best = columns[0].astype(np.result_type(*columns))
        chosen, total = np.zeros(len(best), np.int64), np.zeros(len(best))
        outside = np.zeros(len(best), np.bool_)
        for i, column in enumerate(columns):
            np.copyto(chosen, i, where=column > best)
            np.maximum(best, column, out=best)
            total += column
            if len(column) and not (column.min() >= 0 and column.max() <= 1):  # NaN is neither
                outside |= (column < 0) | (column > 1)
        return cls(chosen, best, total, outside)

    def mark_invalid(self, status: AnyArray) -> None:
        """Give rows the status that their probabilities have, as in `Query.judge`; nulls are not seen."""
        status[(status == 0) & ((self.total < SUM[0]) | (self.total > SUM[1]))] = SUM_OFF
        status[self.outside] = 3
        status[np.isnan(self.total)] = 2


class OffSums:
    """Rows whose probabilities do not sum to 1: how many, and the first."""

    def __init__(self) -> None:
        self.count, self.first = 0, (0, 0.0)

    def add(self, total: Floats, status: AnyArray, before: int) -> None:
        """Add a batch of rows, given their sums and statuses, and how many rows came before."""
        wrong = np.flatnonzero(status == SUM_OFF)
        if len(wrong) and not self.count:
            self.first = before + int(wrong[0]), float(total[wrong[0]])
        self.count += len(wrong)

    def check(self, rows: int, *, ordered: bool) -> None:
        """Raise an error if there are any, with the place of the first if rows came in order."""
        if self.count:
            place = f", the first to {self.first[1]:.4g} at position {self.first[0]:,}" if ordered else ""
            refuse_sums(self.count, rows, place or f", one to {self.first[1]:.4g}")


def refuse_sums(count: int, rows: int, place: str) -> NoReturn:
    """Raise the error for rows whose probabilities do not sum to 1."""
    raise ValueError(
        f"The probabilities of each row must sum to 1 within 0.001; {count:,} of {plural(rows, 'row')} do not{place}."
        f"\n\nHint: {NORMALIZE}."
    )


def choose_in_engine(rows: Any, matches: Sequence[Any]) -> Any:
    """Add to renamed columns in another engine: `top`, the place of the most probable class; `score`, its probability;
    and `right`, 1 if it is the right one and 0 elsewhere.

    `matches` has for each class whether a row's label is that class. `right` is null if the label is missing, and
    `score` null, NaN or 2 in rows that are invalid; 3 where the probabilities do not sum to 1.
    """
    pl = language(rows)
    scores = [pl.col(f"score{i}") for i in range(len(matches))]
    rows = rows.with_columns(*(score.cast(pl.Float64) for score in scores)).with_columns(
        pl.max_horizontal(*scores).alias("best"),
        pl.min_horizontal(*scores).alias("least"),
        _join(scores, operator.add).alias("total"),
        _join([score.is_null() for score in scores], operator.or_).alias("gone"),
        _join([score.is_nan() for score in scores], operator.or_).alias("undefined"),
    )
    label, total, best, least = (pl.col(name) for name in ("label", "total", "best", "least"))
    top = pl.coalesce(*(pl.when(score == best).then(pl.lit(i)) for i, score in enumerate(scores)))
    missing = label.is_null() | label.is_nan() if rows.collect_schema()["label"].is_float() else label.is_null()
    rows = rows.with_columns(top.alias("top"), missing.alias("unlabelled"))
    right = _join([(pl.col("top") == i) & match for i, match in enumerate(matches) if match is not None], operator.or_)
    score = pl.when((total < SUM[0]) | (total > SUM[1])).then(pl.lit(3.0)).otherwise(best)
    score = pl.when((least < 0) | (best > 1)).then(pl.lit(2.0)).otherwise(score)
    score = pl.when(pl.col("undefined")).then(pl.lit(float("nan"))).otherwise(score)
    return rows.with_columns(
        pl.when(~pl.col("gone")).then(score).alias("score"),
        pl.when(~pl.col("unlabelled")).then(pl.when(right).then(pl.lit(1)).otherwise(pl.lit(0))).alias("right"),
    )


def match_labels(rows: Any, values: Sequence[Any], places: Sequence[int], classes: int) -> list[Any]:
    """For each class the expression of whether a row's label is that class; None for one that has no rows."""
    label = language(rows).col("label")
    of_class = [[value for value, place in zip(values, places, strict=True) if place == i] for i in range(classes)]
    return [_join([label == value for value in own], operator.or_) if own else None for own in of_class]


def _join(terms: Sequence[Any], combine: Callable[[Any, Any], Any]) -> Any:
    """Combine expressions in a tree of few levels: engines limit their number."""
    while len(terms) > 1:
        terms = [reduce(combine, terms[i : i + 2]) for i in range(0, len(terms), 2)]
    return terms[0]
