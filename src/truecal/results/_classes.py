"""Results of a multiclass model: its top label, and a table of each class against the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from textwrap import wrap
from typing import Any, ClassVar

import numpy as np

from truecal import _draw_inline
from truecal._text import format_count, prose_html
from truecal.data import Floats, Ints
from truecal.metrics import LTCE, Direction, adjust_p_values
from truecal.results._directions import find_directions
from truecal.results._groups import DIRECTION, SLOPE_DIRECTION
from truecal.results._json import JsonMixin, register
from truecal.results._ratios import RATIO_CI, RatioTable
from truecal.results._result import Result
from truecal.results._table import STATUS_STYLES, Column, column, float_column, register_table, show_first
from truecal.verdict import Status, Verdict


@register_table
@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ClassTable(RatioTable):
    """A table with one row per class, each against the rest, in the order given.

    A row holds the verdict on the probabilities of the class; `significance` is its level. P-values are adjusted for
    the number of classes by Holm's method.

    Examples
    --------
    >>> import truecal
    >>> y, p = ["cat", "dog", "bird"] * 50, [[0.5, 0.3, 0.2], [0.2, 0.7, 0.1], [0.3, 0.3, 0.4]] * 50
    >>> found = truecal.evaluate_classes(y, p, labels=["cat", "dog", "bird"])
    >>> found.table.observed.tolist(), found.table.expected.round(1).tolist()
    ([50, 50, 50], [50.0, 65.0, 35.0])
    """

    label: tuple[Any, ...] = field(metadata=column("key", "class", "The class."))
    predicted: Ints = field(metadata=column("count", "predicted", "Rows of which it is the top label."))
    observed: Ints = field(metadata=column("count", "O", "Rows of the class."))
    expected: Floats = field(metadata=column("count", "E", "The sum of the class's probabilities.", format_count))
    ratio: Floats = field(metadata=column("ratio", "O/E", "Observed over expected."))
    ratio_low: Floats = field(
        metadata=column(
            "ratio", "O/E low", "Lower confidence limit of O/E, exact for independent rows, under a common odds ratio."
        )
    )
    ratio_high: Floats = field(metadata=column("ratio", "O/E high", "Upper confidence limit of O/E."))
    slope_direction: tuple[Direction | None, ...] = field(metadata=SLOPE_DIRECTION)
    value: Floats = field(metadata=column("metric", "ltce", "Local TCE.", LTCE.format))
    unadjusted_status: tuple[Status, ...] = field(
        metadata=column("code", "unadjusted status", "The status without the adjustment for the number of classes.")
    )
    p_value: Floats = field(metadata=column("p-value", "p", "The p-value of the verdict."))
    p_adjusted: Floats = field(
        metadata=column("p-value", "p (Holm)", "The p-value adjusted for the number of classes.")
    )
    significance: float = 0.05

    _derived_columns: ClassVar[tuple[Column, ...]] = (
        Column(
            "status",
            "code",
            "status",
            '"miscalibrated" if the adjusted p-value is at most `significance`; "inconclusive" if only the unadjusted '
            "one is; else the unadjusted status.",
        ),
        DIRECTION,
        RATIO_CI,
    )
    _picture: ClassVar[str] = "classes"
    _shown: ClassVar[tuple[str, ...]] = (
        *("label", "predicted", "observed", "expected", "ratio_ci", "value", "p_adjusted", "status", "direction"),
    )
    _spare: ClassVar[tuple[str, ...]] = ("value", "predicted", "ratio_ci", "observed", "expected")
    _key_width: ClassVar[float] = 0.25

    @classmethod
    def of(cls, labels: Sequence[Any], predicted: Ints, verdicts: Sequence[Verdict]) -> ClassTable:
        """Make the table of the verdicts on all classes, and of how often each is the most probable."""
        p_value = float_column(found.p_value for found in verdicts)
        return cls(
            label=tuple(labels),
            predicted=predicted,
            observed=np.array([found.observed for found in verdicts], dtype=np.int64),
            expected=float_column(found.expected for found in verdicts),
            ratio=float_column(found.ratio for found in verdicts),
            ratio_low=float_column(found.interval[0] for found in verdicts),
            ratio_high=float_column(found.interval[1] for found in verdicts),
            slope_direction=tuple(found.slope_direction for found in verdicts),
            value=float_column(found.local.value for found in verdicts),
            unadjusted_status=tuple(found.status for found in verdicts),
            p_value=p_value,
            p_adjusted=adjust_p_values(p_value, "holm"),
            significance=verdicts[0].significance,
        )

    @property
    def status(self) -> list[Status]:
        """The status of each class, by its adjusted p-value."""
        return [
            Status.MISCALIBRATED
            if p <= self.significance
            else Status.INCONCLUSIVE
            if alone == Status.MISCALIBRATED
            else alone
            for alone, p in zip(self.unadjusted_status, self.p_adjusted.tolist(), strict=True)
        ]

    @property
    def direction(self) -> list[Direction | None]:
        """How each miscalibrated class misses; None for the others."""
        off = np.array([status == Status.MISCALIBRATED for status in self.status], dtype=np.bool_)
        return find_directions(off, self.ratio, self.ratio_low, self.ratio_high, self.slope_direction)

    def _style(self, name: str, row: int) -> str:
        return STATUS_STYLES[self.status[row]] if name in ("status", "direction") else ""

    def order(self) -> Ints:
        """Return the positions of the rows, smallest p-value first."""
        return np.argsort(self.p_value, kind="stable")

    def _rows_shown(self) -> list[int]:
        return show_first(self.order(), self._most)

    @property
    def summary(self) -> str:
        """How many classes are miscalibrated, and the worst, in one sentence."""
        from truecal import words

        return words.summarize_classes(self)


@register
@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ClassResults(JsonMixin):
    """The results of a multiclass model.

    Attributes
    ----------
    top : Result
        The top label: whether the most probable class is correct as often as its probability predicts.
    table : ClassTable
        Each class against the rest, with p-values adjusted for their number.

    `results["tce"]` is the value for the top label.

    Examples
    --------
    >>> import truecal
    >>> y, p = ["cat", "dog", "bird"] * 50, [[0.5, 0.3, 0.2], [0.2, 0.7, 0.1], [0.3, 0.3, 0.4]] * 50
    >>> found = truecal.evaluate_classes(y, p, labels=["cat", "dog", "bird"])
    >>> found.top.verdict.status, found.table.label
    ('miscalibrated', ('cat', 'dog', 'bird'))
    """

    top: Result
    table: ClassTable

    _derived: ClassVar[tuple[str, ...]] = ("status", "p_value")

    @property
    def p_value(self) -> float:
        """The p-value of the null hypothesis that all probabilities are calibrated: twice the smaller of the top
        label's p-value and the smallest adjusted one of the classes."""
        top = 1.0 if self.top.verdict is None else self.top.verdict.p_value
        return min(1.0, 2 * min(top, float(self.table.p_adjusted.min(initial=1.0))))

    @property
    def status(self) -> Status:
        """The status of all classes together: miscalibrated if `p_value` is at most the significance; else consistent
        if the top label is."""
        if self.p_value <= self.table.significance:
            return Status.MISCALIBRATED
        found = self.top.verdict
        return Status.INCONCLUSIVE if found is None or found.status != Status.CONSISTENT else Status.CONSISTENT

    def __getitem__(self, name: str) -> float:
        return self.top[name]

    @property
    def summary(self) -> str:
        """The status of all classes and its p-value, in one sentence."""
        from truecal import words

        return words.summarize_class_results(self)

    def sentences(self) -> tuple[str, ...]:
        """The verdict on all classes together, on the top label, and on each class against the rest."""
        from truecal import words

        return words.describe_class_results(self)

    def __repr__(self) -> str:
        head, *texts = self.sentences()
        lines = (f"  {line}" for text in texts for line in wrap(text, 98, subsequent_indent="  "))
        return "\n".join([head, *lines, "", self.table.text()])

    def _repr_html_(self) -> str:
        from truecal import words

        head, *texts = (prose_html(text) for text in self.sentences())
        table = _draw_inline("classes", self.table, self.table.summary)
        table += self.table.html(rows=self.table.order()[: self.table._most].tolist())
        text = f"<b>{words.label_sign(self.status)} {head}</b> {' '.join(texts)}"
        return f"<div><p>{text}</p>{table}{self.top._repr_html_()}</div>"
