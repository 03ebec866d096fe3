"""Which columns are read, within which limits, and how they are inferred if none are named.

Columns are inferred from their names, then from the values of the first rows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal, NamedTuple

import numpy as np

from truecal._errors import option
from truecal._options import DataOptions, Missing, ModelOptions, RowOptions, ScoreScale, find_options
from truecal._text import is_number
from truecal.data import (
    NO_SAMPLING,
    SUM,
    WINDOWS,
    AnyArray,
    LabelDelay,
    Multiclass,
    Sampling,
    as_sampling,
    as_tuple,
    check_bits,
    infer_scale,
)
from truecal.reading._classes import ClassNames, find_class_columns, find_score_columns, may_be_classes
from truecal.reading._csv import open_table
from truecal.reading._discovery import is_path
from truecal.reading._engines import collect, is_lazy, language, open_frame, pick
from truecal.reading._files import DECIMAL_COMMA, PERCENT_SIGN, advise_on, find_files, open_files, read_first
from truecal.reading._preview import FEWEST, ROWS, VALUES, FrameColumn, Head, HeadColumn, read_text_head
from truecal.reading._types import BOOLEANS, ColumnType

Kind = Literal["binary", "fraction", "percentage", "number", "text"]
SPANS: dict[ScoreScale, str] = {"probability": "[0, 1]", "percent": "[0, 100]", "logit": "[0, 1]"}
SCORED: dict[ScoreScale, Kind] = {"probability": "fraction", "percent": "percentage", "logit": "number"}
# what a column of scores may hold, if its name says that it has them
SCALED: dict[ScoreScale, tuple[Kind, ...]] = {
    "probability": ("percentage", "number"),
    "percent": ("fraction", "number"),
    "logit": ("fraction", "percentage"),
}
Role = Literal["label", "score", "time"]
# fmt: off
# Words of a column that tells apart whose rows these are; below, the fewest values it has, and rows of each.
OWNERS = {
    "id", "customer", "patient", "user", "account", "document", "client", "member", "person", "subject", "household",
    "device", "session", "visitor", "employee", "student", "merchant", "card", "driver", "borrower", "applicant",
}
# fmt: on
MANY, REPEATED = 20, 1.2
FEW_COLUMNS = 50  # up to which whole rows are compared
COPIES, NEARLY_ALL = 0.05, 0.99  # the least share of copies, and of different rows that a column tells apart
RECALIBRATED = "_recalibrated"  # the suffix of a column of recalibrated predictions
LARGEST = 700.0  # of a logit: its probability differs from 0 by 1e-304
PERCENT, LOGIT = 'score_scale="percent"', 'score_scale="logit"'  # options that say what scores are
FEW = 20  # values of a column that could make segments, at most
LEAST_MEMORY = 100_000  # bytes; with less, rows go to disk in too many pieces
# fmt: off
# Names that columns usually have.
NAMES: dict[Role, set[str]] = {
    "label": {
        "y", "label", "labels", "target", "y_true", "ytrue", "truth", "outcome", "actual", "observed", "response",
        "event", "class",
    },
    "score": {
        "p", "prob", "proba", "probability", "score", "y_prob", "y_proba", "y_score", "y_pred", "yhat", "y_hat",
        "phat", "p_hat", "pred", "prediction", "predicted", "predicted_probability", "forecast",
    },
}
# fmt: on
LOOKS: dict[Role, str] = {
    "label": "labels: 0 and 1 or booleans",
    "score": "scores: probabilities between 0 and 1",
    "time": "dates or times",
}
# Words that make a name likely.
WORDS: dict[Role, set[str]] = {
    "label": {"label", "target", "truth", "outcome", "actual"},
    "score": {"p", "prob", "proba", "probability", "score", "pred", "prediction", "predicted", "phat", "forecast"},
}


@dataclass(frozen=True, slots=True)
class Limits:
    """How much data is read into this process, and how much memory that may take.

    grid
        "auto" groups scores into the cells of a grid if an engine outside this process holds more than `limit` rows;
        otherwise they stay exact. A number of significant bits (2 to 26) always makes a grid, None never.
    limit
        The number of rows up to which an engine sends its distinct scores here, each in up to 350 bytes.
    memory
        Bytes that rows in this process may take before they are sorted on disk; at least 100,000.

    Examples
    --------
    >>> import truecal
    >>> from truecal.reading import Limits
    >>> columns = {"y": [0, 1] * 100, "p": [0.2] * 100 + [0.3] * 100}
    >>> truecal.read(columns, label="y", score="p", limits=Limits(grid=10)).bits
    10
    """

    grid: int | Literal["auto"] | None = "auto"
    limit: int = 5_000_000
    memory: int = 4 << 30

    def __post_init__(self) -> None:
        if self.grid is not None and self.grid != "auto":
            check_bits(self.grid)
        for name, value, least in (("limit", self.limit, 1), ("memory", self.memory, LEAST_MEMORY)):
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ValueError(f"{option(name)} must be a whole number, {least:,} or more; it is {value!r}.")


DEFAULT: Limits = Limits()


@dataclass(frozen=True, slots=True)
class Roles:
    """The columns to read and how; see `truecal.read`.

    label, scores, by
        The columns of labels, of each model's scores, and of segments and periods.
    periods
        The columns of `by` that are periods, with the length of a period, or None if each value of the column
        is a period.
    multiclass, labels
        What is read of several classes, whose columns `scores` are, and their names if these are given.
    baseline, on
        The baseline's scores of the same rows: a column, or data with columns of the models' names, whose rows are
        matched by the columns `on`.
    sampling
        How rows got their labels and their place in the data.
    label_delay, count, importance_weight
        The share of positives that is known: a column of it, or of ages with a table of shares; columns of how often a
        row was seen, and of what it stands for elsewhere.
    cluster
        The column that tells customers, patients or documents apart.
    score_scale
        What scores are, those of the baseline as well: probabilities, percentages or logits.
    """

    label: str
    scores: tuple[str, ...]
    by: tuple[str, ...] = ()
    periods: Mapping[str, str | None] = field(default_factory=dict)
    pos_label: Any = None
    missing: Missing = "raise"
    format: str | None = None
    limits: Limits = DEFAULT
    baseline: Any = None
    on: tuple[str, ...] = ()
    sampling: Sampling = NO_SAMPLING
    multiclass: Multiclass = None
    labels: tuple[Any, ...] | None = None
    label_delay: str | LabelDelay | None = None
    count: str | None = None
    importance_weight: str | None = None
    cluster: str | None = None
    score_scale: ScoreScale = "probability"

    @classmethod
    def of(
        cls,
        given: ModelOptions | DataOptions,
        scores: tuple[str, ...],
        by: tuple[str, ...],
        periods: Mapping[str, str | None],
    ) -> Roles:
        """The roles that options give to columns, all of which are given."""
        several: Any = given  # what only `read` takes
        sampling, labels = as_sampling(given["sampling"]), several.get("labels")
        if given["importance_weight"] is not None and given["baseline"] is not None:
            raise ValueError(
                f"{option('importance_weight')} must be left out where two models are compared, which is done on rows "
                f"as they are; it is {given['importance_weight']!r}."
            )
        return cls(
            label=given["label"] or "",
            scores=scores,
            by=by,
            periods=periods,
            pos_label=given["pos_label"],
            missing=given["missing"],
            format=given["format"],
            limits=given["limits"] or DEFAULT,
            baseline=given["baseline"],
            on=as_tuple(given["on"]),
            sampling=sampling.applied,
            multiclass=several.get("multiclass"),
            labels=None if labels is None else tuple(labels),
            label_delay=sampling.label_delay,
            count=given["count"],
            importance_weight=given["importance_weight"],
            cluster=given["cluster"],
            score_scale=given["score_scale"],
        )

    @property
    def types(self) -> dict[str, ColumnType]:
        """What each column is read as."""
        found: dict[str, ColumnType] = dict.fromkeys((*self.by, *self.clusters, *self.on), "key")
        found |= {name: "time" for name, every in self.periods.items() if every is not None}
        found[self.label] = self._label_type
        found |= dict.fromkeys((*self.scores, *self.row_columns.values()), "number")
        if isinstance(self.baseline, str) and not self.on:
            found[self.baseline] = "number"
        return found

    @property
    def _label_type(self) -> ColumnType:
        """What labels are read as: text if a word is the positive one, whatever the others look like."""
        word = isinstance(self.pos_label, str) and not is_number(self.pos_label)
        if self.multiclass is not None or (word and self.pos_label.lower() not in BOOLEANS):
            return "key"
        return "label" if self.pos_label is None else "class"

    @property
    def row_columns(self) -> dict[str, str]:
        """The columns of ages and weights by the names that they get."""
        age = self.label_delay.age if isinstance(self.label_delay, LabelDelay) else self.label_delay
        found = {"age": age, "weight": self.count, "importance_weight": self.importance_weight}
        return {name: column for name, column in found.items() if column is not None}

    @property
    def counted(self) -> bool:
        """Whether rows have weights of any kind."""
        return self.count is not None or self.importance_weight is not None

    @property
    def sums(self) -> list[str]:
        """The prepared columns that are added up when rows are grouped."""
        return [name for name in ("weight", "importance_weight") if name in self.row_columns]

    @property
    def span(self) -> str:
        """Where scores must lie."""
        return SPANS[self.score_scale]

    @property
    def clusters(self) -> tuple[str, ...]:
        """The column of clusters, or none."""
        return as_tuple(self.cluster)

    @property
    def plain(self) -> bool:
        """Whether nothing but labels of 0 and 1, probabilities and columns of segments is read."""
        others = self.pos_label, self.multiclass, self.cluster
        fields = self.score_scale == "probability" and not self.periods and not self.row_columns and not self.on
        return fields and isinstance(self.baseline, str | None) and all(each is None for each in others)

    def __post_init__(self) -> None:
        check_scale(self.score_scale)
        for name, column in (("count", self.count), ("importance_weight", self.importance_weight)):
            if column is not None and not isinstance(column, str):
                raise TypeError(f"{option(name)} must be the name of a column; it is {column!r}.")
        if self.label_delay is not None and not isinstance(self.label_delay, (str, LabelDelay)):
            raise TypeError(
                f"{option('label_delay')} must be a `LabelDelay(column, table)`, or the name of a column of shares; it "
                f"is {self.label_delay!r}."
            )
        if self.multiclass is not None and self.score_scale == "logit":
            raise ValueError(
                f"{option('score_scale')} must not be 'logit' where {option('multiclass')} is given: logits of several "
                "classes belong together.\n\nHint: apply a softmax to them first."
            )
        for every in self.periods.values():
            if every is not None and every not in WINDOWS:
                lengths = ", ".join(map(repr, WINDOWS))
                raise ValueError(f"{option('every')} must be one of {lengths}, or None; it is {every!r}.")


@dataclass(frozen=True, slots=True)
class InferredColumns:
    """The columns of labels and scores, and the other columns that could be scores.

    label, scores
        The columns, given or inferred.
    inferred
        The roles that were inferred: "label", "score", both or neither.
    others
        Other columns that could be scores.
    classes
        Whether the scores are columns of several classes, of which the labels hold one for each row.
    """

    label: str
    scores: tuple[str, ...]
    inferred: tuple[Role, ...] = ()
    others: tuple[str, ...] = ()
    classes: bool = False


class AmbiguousColumnsError(ValueError):
    """A column could not be inferred: `role` says which one, `candidates` which columns it could be.

    `near` has the columns that would fit after a change: for labels, columns with two values other than 0 and 1, or
    with one value besides these, and their values; for scores, columns that seem to hold percentages, with nothing.
    `odd` has columns that would fit by their names, with the first row that does not and its value.

    Examples
    --------
    >>> from truecal.reading import AmbiguousColumnsError, infer_columns
    >>> import polars as pl
    >>> try:
    ...     infer_columns(pl.DataFrame({"y": [0, 1], "old": [0.2, 0.7], "new": [0.1, 0.8]}))
    ... except AmbiguousColumnsError as error:
    ...     print(error.role, error.candidates)
    score ('old', 'new')
    """

    def __init__(
        self,
        role: Role,
        candidates: Sequence[str],
        columns: Sequence[str],
        wanted: int = 1,
        near: Mapping[str, Sequence[Any]] | None = None,
        odd: Mapping[str, tuple[int, str]] | None = None,
    ) -> None:
        self.role, self.candidates, self.wanted = role, tuple(candidates), wanted
        self.near = dict(near or {}) if len(candidates) < wanted else {}
        self.odd = {} if candidates or self.near else dict(odd or {})
        count = ("a column", "one column", "two columns")[min(wanted, 2) if candidates else 0]
        if 0 < len(candidates) < wanted:
            problem = f"{count} must look like {LOOKS[role]}; only {', '.join(map(repr, candidates))} does."
        elif candidates:
            problem = f"{count} must be meant, and these could be: {', '.join(map(repr, candidates))}."
        elif self.odd:
            name, (row, word) = next(iter(self.odd.items()))
            problem = f"{count} must look like {LOOKS[role]}; {name!r} does by its name, but row {row:,} has {word!r}."
        else:
            problem = f"{count} must look like {LOOKS[role]}; of {', '.join(map(repr, columns))} none does."
        super().__init__(f"{option(role)} cannot be inferred: {problem}{self._hint()}")

    def _hint(self) -> str:
        for _, word in self.odd.values():
            return advise_on(word)
        if not self.near:
            return ""
        if self.role == "score":
            names = ", ".join(map(repr, self.near))
            return f"\n\nHint: {names} may hold percentages; {option(PERCENT)} reads them as such."
        held = {name: (", ".join(map(repr, values[:-1])), values[-1]) for name, values in self.near.items()}
        names = ", ".join(f"{name!r} holds {others} and {last!r}" for name, (others, last) in held.items())
        how = f"give the column as {option('label')} and the positive one as {option('pos_label')}"
        return f"\n\nHint: {names}; if these are labels, {how}."


def infer_columns(
    data: Any,
    *,
    label: str | None = None,
    score: str | Sequence[str] | None = None,
    models: int = 1,
    classes: bool = False,
    format: str | None = None,
    score_scale: ScoreScale = "probability",
) -> InferredColumns:
    """Infer which columns of a dataframe or of files are the labels and the scores, unless they are given.

    Names are tried first, such as y, label or target, and p, prob or score; then the values of the first rows: zeros
    and ones, and fractions between them. If several columns fit equally well, nothing is inferred.

    Parameters
    ----------
    data : dataframe or path
        As in `truecal.read`.
    label, score : optional
        Columns that are known.
    models : int
        The number of score columns to find.
    classes : bool
        Whether the scores may be columns of several classes: those that the labels of the first rows name; if they are
        not given, with probabilities that sum to 1.
    format : optional
        The format of files, if their names do not tell it.
    score_scale : "probability", "percent" or "logit"
        What scores are.

    Raises
    ------
    AmbiguousColumnsError
        If no column fits, or too many do; a `ValueError`.

    Examples
    --------
    >>> import polars as pl, truecal
    >>> frame = pl.DataFrame({"id": [1, 2, 3], "churned": [0, 1, 0], "p_churn": [0.1, 0.7, 0.2]})
    >>> columns = truecal.reading.infer_columns(frame)
    >>> columns.label, columns.scores
    ('churned', ('p_churn',))
    """
    check_scale(score_scale)
    given = as_tuple(score)
    if label is not None and given and not may_be_classes(given):
        return InferredColumns(label, given)
    known = label is not None and given  # then its values tell whether scores are of classes
    head = _read_head(data, format, (lambda name: name == label) if known else (lambda _: True))
    if classes and (found := _infer_classes(head, label, given)) is not None:
        return found
    given = find_score_columns(given, head.names, as_tuple(label))
    if label is not None and given:
        return InferredColumns(label, given)
    kinds = _find_kinds(head)
    if any("." in name for name in kinds) and all(is_number(name) for name in kinds):
        raise ValueError(
            f"The first line must name the columns; it holds {', '.join(kinds)}.\n\n"
            "Hint: add a line above it, such as y,p."
        )
    free = [name for name in kinds if name not in (label, *given)]
    inferred: tuple[Role, ...] = ()
    if label is None:
        tiers = [
            _pick_named("label", free, kinds, ("binary", "text")),
            [name for name in free if kinds[name] == "binary" and not _sounds_like("score", name)],
            _pick_named("label", free, kinds, ("percentage", "number")),
        ]
        near = _find_few_valued(head, [name for name in free if kinds[name] in ("text", "number")])
        (label,) = _choose("label", tiers, kinds, 1, near, lambda: _find_odd(head, "label"))
        inferred += ("label",)
    others: tuple[str, ...] = ()
    if not given:
        free = [name for name in free if name != label]
        wanted = SCORED[score_scale]
        fractions = [name for name in free if kinds[name] == wanted]
        tiers = [
            [name for name in fractions if models == 1 and _is_recalibrated(name, fractions)],
            _pick_named("score", free, kinds, (wanted,)),
            [name for name in fractions if _sounds_like("score", name)],
            fractions,
            _pick_named("score", free, kinds, SCALED[score_scale]),
            [] if wanted == "fraction" else [name for name in free if kinds[name] in ("fraction", "percentage")],
        ]
        scaled = {name: () for name in free if kinds[name] == "percentage"}
        if not any(tiers):
            _refuse_words(head)
        given = _choose("score", tiers, kinds, models, scaled, lambda: _find_odd(head, "score"))
        inferred += ("score",)
        others = tuple(name for name in fractions if name not in given)
    return InferredColumns(label, given, inferred, others)


def _infer_classes(head: Head, label: str | None, given: tuple[str, ...]) -> InferredColumns | None:
    """The columns of several classes, if the values of one column name them; None if there is no such column, or two.

    Labels of 0 and 1 are never taken for classes: several scores are then several models.
    """
    names, kinds = head.names, _find_kinds(head)
    scores = find_score_columns(given, names, as_tuple(label))
    found: dict[str, tuple[str, ...]] = {}
    for name in [label] if label is not None else names:
        if name not in names or name in scores or kinds.get(name) in ("binary", "fraction", "percentage"):
            continue
        numbers = [other for other in names if kinds.get(other) in ("binary", "fraction") and other != name]
        values = head.columns[name].distinct()
        columns = scores or (find_class_columns(values, numbers) if 1 < len(values) <= len(numbers) else ())
        named = len(columns) > 1 and ClassNames(name, columns).names_all(values)
        if named and (scores or _sum_to_one(head, columns)):
            found[name] = columns
    if len(found) > 1:
        found = {name: columns for name, columns in found.items() if _sounds_like("label", name)}
    if len(found) != 1:
        return None
    ((name, columns),) = found.items()
    roles: dict[Role, Any] = {"label": label, "score": given}
    return InferredColumns(name, columns, tuple(role for role, known in roles.items() if not known), classes=True)


def _sum_to_one(head: Head, columns: Sequence[str]) -> bool:
    """Whether the columns sum to 1 in every row that has them all."""
    total = np.sum([head.columns[name].rows() for name in columns], axis=0)
    return not ((total < SUM[0]) | (total > SUM[1])).any()


def infer_time(data: Any, *, format: str | None = None) -> str:
    """Return the only column of a dataframe or of files that holds dates or times; else raise `AmbiguousColumnsError`.

    Examples
    --------
    >>> import datetime, polars as pl, truecal
    >>> truecal.reading.infer_time(pl.DataFrame({"y": [0], "p": [0.1], "day": [datetime.date(2026, 1, 31)]}))
    'day'
    """
    found, names = _find_times(data, format)
    if len(found) != 1:
        raise AmbiguousColumnsError("time", found, names)
    return found[0]


def find_time(data: Any, *, format: str | None = None) -> str | None:
    """Return the only column whose first rows look like dates or times; None if none does, or several do.

    Examples
    --------
    >>> import truecal
    >>> truecal.reading.find_time({"y": [0, 1], "p": [0.1, 0.4], "day": ["2026-01-31", "2026-02-01"]})
    'day'
    """
    found, _ = _find_times(data, format, least=2)
    return found[0] if len(found) == 1 else None


def _find_times(data: Any, format: str | None, least: int = 1) -> tuple[list[str], Sequence[str]]:
    """Return the columns whose first rows hold at least so many dates or times, and the names of all."""
    head = _read_head(data, format)
    return [name for name, column in head.columns.items() if _holds_times(column, least)], head.names


def _holds_times(column: HeadColumn, least: int) -> bool:
    """Whether the first values are at least so many dates or times, or text of them in ISO format."""
    if column.type not in ("text", "other"):
        return False
    values = column.distinct()[:FEWEST]
    try:
        return len(values) >= least and all(isinstance(each, date) or date.fromisoformat(each[:10]) for each in values)
    except (TypeError, ValueError):
        return False


def find_repeats(data: Any, used: Iterable[str], *, format: str | None = None) -> str | None:
    """Return a column that looks like the customers, patients or documents that rows belong to; None if there is
    none.

    Its name says so, it has many values, and they repeat in the first rows.

    Examples
    --------
    >>> import polars, truecal
    >>> frame = polars.DataFrame({"customer_id": [i // 4 for i in range(200)], "y": [0, 1] * 100})
    >>> truecal.reading.find_repeats(frame, ["y"])
    'customer_id'
    """
    own, found = set(used), dict[str, int]()
    head = _read_head(data, format, lambda name: name not in own and _is_owner(name))
    for name, column in head.columns.items():
        if name in own or not _is_owner(name) or column.type == "nested":
            continue
        values = len(column.distinct())
        if values >= MANY and head.rows / values >= REPEATED:
            found[name] = values
    return max(found, key=found.__getitem__, default=None)


def _is_owner(name: str) -> bool:
    """Whether a column is named like customers, patients or documents."""
    return not split_name(name).isdisjoint(OWNERS)


def count_copies(data: Any, used: Iterable[str], *, format: str | None = None) -> tuple[int, int]:
    """Return how many of the first rows are copies of others in every column, and how many rows were looked at.

    No copies if they are few, or if no column besides those used tells rows or customers apart, such as a time or
    an id: rows with few different values are often equal.

    Examples
    --------
    >>> import truecal
    >>> columns = {"y": [0, 1] * 100, "p": [0.2, 0.8] * 100, "id": list(range(200))}
    >>> truecal.reading.count_copies({name: column * 2 for name, column in columns.items()}, ["y", "p"])
    (200, 400)
    """
    own, head = set(used), _read_text_head(data, format)
    if head is None:
        frame, names = _load_head(data, format, lambda names: names if len(names) <= FEW_COLUMNS else [])
        if frame is None or any(FrameColumn(frame[name]).type == "nested" for name in names):
            return 0, 0
        head = Head({name: FrameColumn(frame[name]) for name in names}, len(frame), names, len(frame.unique()))
    copies = head.rows - head.distinct
    if copies < max(COPIES * head.rows, MANY):
        return 0, head.rows
    values = ((name, len(column.distinct())) for name, column in head.columns.items() if name not in own)
    apart = (count >= (MANY if _is_owner(name) else NEARLY_ALL * head.distinct) for name, count in values)
    return copies if any(apart) else 0, head.rows


def find_groups(data: Any, used: Iterable[str | None] = (), *, format: str | None = None) -> list[str]:
    """Return columns that could make segments: text, booleans and whole numbers of few values in the first rows,
    but no numbers of two values, as labels are.

    Examples
    --------
    >>> import polars, truecal
    >>> frame = polars.DataFrame({"y": [0, 1] * 100, "p": [0.2] * 200, "country": ["at", "de"] * 100})
    >>> truecal.reading.find_groups(frame)
    ['country']
    """
    head, own, found = _read_head(data, format), set(used), []
    for name, column in head.columns.items():
        if name in own or column.type in ("nested", "number"):
            continue
        if 2 + (column.type == "integer") <= len(column.distinct()) <= FEW:
            found.append(name)
    return found


def check_swapped(kinds: Mapping[str, Kind], label: str, scores: Iterable[str]) -> None:
    """Raise an error if labels and scores seem to be swapped, by the kinds that `find_kinds` returned."""
    for score in scores:
        if kinds.get(label) == "fraction" and kinds.get(score) == "binary":
            raise ValueError(
                f"{option('label')} and {option('score')} seem to be swapped: {label!r} holds fractions, "
                f"{score!r} only 0 and 1.\n\n"
                f"Hint: give {score!r} as {option('label')} and {label!r} as {option('score')}."
            )


def check_scale(scale: str) -> None:
    """Raise an error for a scale of scores that there is not."""
    find_options(RowOptions)["score_scale"].check("score_scale", scale)


def find_probability(pl: Any, score: Any, scale: ScoreScale) -> Any:
    """The expression of probabilities, of scores on a scale."""
    if scale == "percent":
        return score / 100.0
    if scale == "probability":
        return score
    held = pl.when(score < -LARGEST).then(pl.lit(-LARGEST)).otherwise(score)  # so that nothing overflows
    return 1.0 / (1.0 + (-held).exp())


class Outside(NamedTuple):
    """Scores of a column that are no probabilities: in how many rows, the place of the first one, and its value."""

    rows: int
    first: int
    value: float


def find_outside(frame: Any, name: str, scale: ScoreScale) -> Outside | None:
    """Find the scores of a column that lie outside of [0, 1] as probabilities, in a frame whose rows have an order."""
    pl = language(frame)
    rows = pick(frame, {"score": name}).with_row_index("row").with_columns(pl.col("score").cast(pl.Float64))
    p = find_probability(pl, pl.col("score"), scale)
    wrong = rows.filter(((p < 0) | (p > 1)) & ~p.is_nan())
    found = collect(wrong.head(1))
    if not len(found["row"]):
        return None
    count = collect(wrong.select(pl.len().alias("rows")))["rows"]
    return Outside(count[0].item(), found["row"][0].item(), found["score"][0].item())


def advise_scale(scales: Iterable[str], *, logits: bool = True) -> str:
    """A hint for scores that are no probabilities but may be on one of these scales; "" if that is not clear."""
    found = {"percent": ("percentages", PERCENT)}
    if logits:
        found |= dict.fromkeys(("logit", "negative"), ("logits", LOGIT))
    for what, how in (found[scale] for scale in found if scale in scales):
        return f"\n\nHint: these look like {what}; {option(how)} reads them as such."
    return ""


def find_scales(data: Any, names: Iterable[str], format: str | None = None) -> set[str]:
    """Return what the first scores of columns may be that are no probabilities; see `infer_scale`."""
    head = _read_head(data, format)
    columns = (head.columns[name] for name in names)
    found = (_read_numbers(column) for column in columns if column.type in ("integer", "number"))
    return {infer_scale(values) for values in found if len(values)}


def _read_numbers(column: HeadColumn) -> AnyArray:
    """The values of a column of numbers that are finite."""
    values = column.present()
    return np.asarray(values[np.isfinite(values)])


def find_kinds(data: Any, format: str | None = None) -> dict[str, Kind]:
    """Return what the first rows of each column hold. Columns that can be neither label nor score are left out."""
    return _find_kinds(_read_head(data, format))


def _read_head(data: Any, format: str | None, wanted: Callable[[str], bool] = lambda _: True) -> Head:
    """Load the first rows of the columns whose names are wanted into this process; fewer of very many columns."""
    text = _read_text_head(data, format)
    if text is not None:
        if not text.rows:
            raise ValueError("The data must have at least one row; they have none.")
        return text
    frame, names = _load_head(data, format, lambda names: [name for name in names if wanted(name)])
    if frame is None:
        return Head({}, 0, names)
    if not len(frame):
        raise ValueError("The data must have at least one row; they have none.")
    return Head({name: FrameColumn(frame[name]) for name in frame.columns}, len(frame), names)


def _read_text_head(data: Any, format: str | None) -> Head | None:
    """The first rows of the first file of CSV; None for other data."""
    if not is_path(data):
        return None
    places, kind = find_files(data, format)
    return read_text_head(open_table(places[0], kind)) if kind in ("csv", "tsv") else None


def _load_head(data: Any, format: str | None, choose: Callable[[list[str]], list[str]]) -> tuple[Any, list[str]]:
    """The first rows of the columns that are chosen of all names, fewer of very many, None of none; and all names."""
    source = open_files(data, format=format) if is_path(data) else None
    frame = open_frame(data if source is None else read_first(source))
    names = list(frame.collect_schema())
    chosen = choose(names)
    if not chosen:
        return None, names
    frame = frame.select(chosen).head(min(ROWS, max(FEWEST, VALUES // len(chosen))))
    if source is None:
        return (frame.collect() if is_lazy(frame) else frame), names
    with source.explain_errors():
        return frame.collect(), names


def _find_kinds(head: Head) -> dict[str, Kind]:
    found = {name: _find_kind(column) for name, column in head.columns.items()}
    return {name: kind for name, kind in found.items() if kind is not None}


def _find_kind(column: HeadColumn) -> Kind | None:
    if column.type == "boolean":
        return "binary"
    if column.type not in ("integer", "number"):
        return "text" if column.type == "text" and len(column.distinct()) == 2 else None
    values = _read_numbers(column)
    if not len(values):
        return None
    if np.isin(values, (0.0, 1.0)).all():
        return "binary"
    if values.min() < 0 or values.max() > 100:
        return "number"
    if values.max() <= 1:
        return "fraction"
    # whole numbers may be ages or counts
    return "percentage" if (values % 1 > 0).any() and infer_scale(values) == "percent" else "number"


def _find_few_valued(head: Head, names: Iterable[str]) -> dict[str, Sequence[Any]]:
    """Return the columns that hold exactly two distinct values, or 0, 1 and another, with these values in order."""
    found = {name: head.columns[name].distinct() for name in names}
    return {
        name: sorted(values)
        for name, values in found.items()
        if len(values) == 2 or (len(values) == 3 and {0, 1}.issubset(values))
    }


def _find_odd(head: Head, role: Role) -> dict[str, tuple[int, str]]:
    """Return the columns of text that a role names and most of whose rows fit, with the first that does not: its row,
    counted from 1, and its value."""
    found = {}
    for name, column in head.columns.items():
        if column.type != "text" or not _sounds_like(role, name):
            continue
        words = list(enumerate(column.every(), 1))
        odd = [(row, word) for row, word in words if word is not None and not _fits(role, word.strip())]
        if 0 < len(odd) < len(words) / 2:
            found[name] = odd[0]
    return found


def _fits(role: Role, word: str) -> bool:
    """Whether a word can be a label or a score."""
    return word in ("0", "1") if role == "label" else is_number(word) and math.isfinite(float(word))


def _choose(
    role: Role,
    tiers: list[list[str]],
    kinds: dict[str, Kind],
    wanted: int,
    near: Mapping[str, Sequence[Any]],
    find_odd: Callable[[], dict[str, tuple[int, str]]],
) -> tuple[str, ...]:
    """Return `wanted` candidates from the first tiers; raise an error if these have fewer or more."""
    found: list[str] = []
    for tier in tiers:
        found = list(dict.fromkeys([*found, *tier]))
        if len(found) == wanted:
            return tuple(found)
        if len(found) > wanted:
            break
    raise AmbiguousColumnsError(role, found, list(kinds), wanted, near, find_odd())


def _refuse_words(head: Head) -> None:
    """Raise an error if a column of text holds numbers with decimal commas, or percentages with their signs."""
    for name, column in head.columns.items():
        words = column.present() if column.type == "text" else []
        if words and any(all(map(form.fullmatch, words)) for form in (DECIMAL_COMMA, PERCENT_SIGN)):
            raise ValueError(f"`{name}` must hold numbers; it holds text such as {words[0]!r}.{advise_on(words[0])}")


def _is_recalibrated(name: str, names: Sequence[str]) -> bool:
    """Whether a column holds the recalibrated predictions of another."""
    return name.endswith(RECALIBRATED) and name.removesuffix(RECALIBRATED) in names


def _pick_named(role: Role, names: Iterable[str], kinds: dict[str, Kind], allowed: tuple[Kind, ...]) -> list[str]:
    return [name for name in names if kinds[name] in allowed and _to_snake_case(name) in NAMES[role]]


def _sounds_like(role: Role, name: str) -> bool:
    return _to_snake_case(name) in NAMES[role] or not WORDS[role].isdisjoint(_to_snake_case(name).split("_"))


def split_name(name: str) -> set[str]:
    """The words of a column's name, in small letters."""
    return set(_to_snake_case(name).split("_"))


def _to_snake_case(name: str) -> str:
    """Convert a name to lower case with underscores: YProb and "y prob" become y_prob."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")
