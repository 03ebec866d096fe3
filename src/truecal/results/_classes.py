"""Results of a model of several classes: the most probable class first, and a table of each class against the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from textwrap import wrap
from typing import Any, ClassVar

import numpy as np

from truecal import _draw_inline
from truecal._text import about, printable, prose_html
from truecal.inference import SIGNS, Verdict, Word, format_p_value
from truecal.metrics import LTCE, adjust_p_values
from truecal.observations import Floats, Ints
from truecal.results._groups import DIRECTION, TILTED, name_directions
from truecal.results._json import Stored, register
from truecal.results._result import Result
from truecal.results._table import Column, Table, column, register_table


@register_table
@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ClassTable(Table):
    """A table with one row per class, each against the rest, in the order given.

    A row has what the verdict on the class's own column of probabilities says; `significance` is the level of
    verdicts. P-values are adjusted for the number of classes by Holm's method.

    Examples
    --------
    >>> import truecal
    >>> y, p = ["cat", "dog", "bird"] * 50, [[0.5, 0.3, 0.2], [0.2, 0.7, 0.1], [0.3, 0.3, 0.4]] * 50
    >>> found = truecal.evaluate_classes(y, p, labels=["cat", "dog", "bird"])
    >>> found.table.observed.tolist(), found.table.expected.round(1).tolist()
    ([50, 50, 50], [50.0, 65.0, 35.0])
    """

    label: tuple[Any, ...] = field(metadata=column("key", "class", "The class."))
    predicted: Ints = field(metadata=column("count", "predicted", "Rows whose most probable class it is."))
    observed: Ints = field(metadata=column("count", "observed", "Rows of the class."))
    expected: Floats = field(
        metadata=column("count", "expected", "Rows of the class that the predictions add up to.", about)
    )
    ratio: Floats = field(metadata=column("ratio", "obs / exp", "Observed over expected."))
    ratio_low: Floats = field(
        metadata=column(
            "ratio", "low", "Lower end of its interval, exact for independent rows, under a common factor on all odds."
        )
    )
    ratio_high: Floats = field(metadata=column("ratio", "high", "Upper end of it."))
    tilt: tuple[str, ...] = field(metadata=TILTED)
    value: Floats = field(metadata=column("metric", "ltce", "Local TCE.", LTCE.format))
    word: tuple[Word, ...] = field(metadata=column("text", "alone", "The verdict on the class alone."))
    p_value: Floats = field(metadata=column("p-value", "p", "The p-value of that verdict."))
    p_adjusted: Floats = field(metadata=column("p-value", "p adjusted", "The same, adjusted for all classes."))
    significance: float = 0.05

    _derived_columns: ClassVar[tuple[Column, ...]] = (
        Column(
            "verdict",
            "text",
            "verdict",
            'By the adjusted p-value: "off" if that is at most `significance`, "cannot tell" if the class is off alone '
            "but not among so many.",
        ),
        DIRECTION,
    )
    _picture: ClassVar[str] = "classes"
    _shown: ClassVar[tuple[str, ...]] = (
        *("label", "predicted", "observed", "expected", "ratio", "ratio_low", "ratio_high", "direction", "value"),
        *("p_adjusted", "verdict"),
    )

    @classmethod
    def of(cls, labels: Sequence[Any], predicted: Ints, verdicts: Sequence[Verdict]) -> ClassTable:
        """Make the table of the verdicts on all classes, and of how often each is the most probable."""

        def floats(values: Iterator[float]) -> Floats:
            return np.fromiter(values, np.float64, len(verdicts))

        p_value = floats(found.p_value for found in verdicts)
        return cls(
            label=tuple(labels),
            predicted=predicted,
            observed=np.array([found.observed for found in verdicts], dtype=np.int64),
            expected=floats(found.expected for found in verdicts),
            ratio=floats(found.ratio for found in verdicts),
            ratio_low=floats(found.interval[0] for found in verdicts),
            ratio_high=floats(found.interval[1] for found in verdicts),
            tilt=tuple(found.tilt or "" for found in verdicts),
            value=floats(found.local.value for found in verdicts),
            word=tuple(found.word for found in verdicts),
            p_value=p_value,
            p_adjusted=adjust_p_values(p_value, "holm"),
            significance=verdicts[0].significance,
        )

    @property
    def verdict(self) -> list[Word]:
        """The verdict on each class, with its adjusted p-value."""
        return [
            "off" if p <= self.significance else "cannot tell" if word == "off" else word
            for word, p in zip(self.word, self.p_adjusted, strict=True)
        ]

    @property
    def direction(self) -> list[str]:
        """Of classes that are off, which way their probabilities are: "too low", "too high", their `tilt` or
        "unclear"."""
        off = np.array([word == "off" for word in self.verdict], dtype=np.bool_)
        return name_directions(off, self.ratio, self.ratio_low, self.ratio_high, self.tilt)

    def order(self) -> Ints:
        """Return the positions of the rows, smallest p-value first."""
        return np.argsort(self.p_value, kind="stable")

    def _rows_shown(self) -> list[int]:
        worst: list[int] = self.order()[: self._most].tolist()
        return worst

    def summary(self) -> str:
        """Return how many classes are off, and which first."""
        words = self.verdict
        off = [printable(self.names[row]) for row in self.order() if words[row] == "off"]
        which = f": {', '.join(off[:3])}{', ...' if len(off) > 3 else ''}" if off else ""
        return (
            f"Of {len(self):,} classes, each against the rest, {len(off):,} "
            f"{'is' if len(off) == 1 else 'are'} off (adjusted p-value at most {self.significance:g}){which}"
        )


@register
@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ClassResults(Stored):
    """What was found for a model of several classes.

    Attributes
    ----------
    top : Result
        Of the most probable class: is it the right one as often as its probability says?
    table : ClassTable
        Each class against the rest, with p-values adjusted for their number.

    `results["tce"]` is the value of the most probable class.

    Examples
    --------
    >>> import truecal
    >>> y, p = ["cat", "dog", "bird"] * 50, [[0.5, 0.3, 0.2], [0.2, 0.7, 0.1], [0.3, 0.3, 0.4]] * 50
    >>> found = truecal.evaluate_classes(y, p, labels=["cat", "dog", "bird"])
    >>> found.top.verdict.word, found.table.label
    ('off', ('cat', 'dog', 'bird'))
    """

    top: Result
    table: ClassTable

    _derived: ClassVar[tuple[str, ...]] = ("word", "p_value")

    @property
    def p_value(self) -> float:
        """Of "all probabilities are right": twice the smaller of the most probable class's p-value and the smallest
        adjusted one of the classes."""
        top = 1.0 if self.top.verdict is None else self.top.verdict.p_value
        return min(1.0, 2 * min(top, float(self.table.p_adjusted.min(initial=1.0))))

    @property
    def word(self) -> Word:
        """The verdict on all classes together: off if `p_value` is at most the significance; else consistent if that
        is the verdict on the most probable class."""
        if self.p_value <= self.table.significance:
            return "off"
        found = self.top.verdict
        return "consistent" if found is not None and found.word == "consistent" else "cannot tell"

    def __getitem__(self, name: str) -> float:
        return self.top[name]

    def sentences(self) -> tuple[str, ...]:
        """The verdict in words: on all together, on the most probable class, and on each against the rest."""
        found = self.top.verdict
        about_top = () if found is None else (f"The most probable class: {found.headline}.", *found.reasons())
        return (f"{self.word.capitalize()} (p {format_p_value(self.p_value)}).", *about_top, f"{self.table.summary()}.")

    def __repr__(self) -> str:
        head, *texts = self.sentences()
        lines = (f"  {line}" for text in texts for line in wrap(text, 98, subsequent_indent="  "))
        return "\n".join([f"Verdict: {head}", *lines, "", self.table.text()])

    def _repr_html_(self) -> str:
        head, *texts = (prose_html(text) for text in self.sentences())
        table = _draw_inline("classes", self.table, self.table.summary())
        table += self.table.html(self.table._shown, self.table._rows_shown())
        return f"<div><p><b>{SIGNS[self.word]} {head}</b> {' '.join(texts)}</p>{table}{self.top._repr_html_()}</div>"
