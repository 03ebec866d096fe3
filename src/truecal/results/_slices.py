"""The table of slices that a search found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from truecal._text import format_count
from truecal.data import Floats, Ints, Note, RowCounts
from truecal.metrics import Direction
from truecal.results._ratios import RATIO_CI, RatioTable
from truecal.results._table import Column, column, register_table


@register_table
@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class SliceTable(RatioTable):
    """A table of miscalibrated slices, the largest loss first.

    A slice is listed if those before it do not explain its miscalibration; many more may be miscalibrated because they
    share rows with one of these.

    `searched` is the number of candidate slices; p-values are multiplied by it (Bonferroni). The expected positives of
    a slice are those after the slices before it were recalibrated: their odds multiplied by an odds ratio.
    `columns_searched` are the columns whose levels define slices, `score` which of them holds the scores, and `pairs`
    whether pairs of columns define slices, too.

    Examples
    --------
    >>> import truecal
    >>> columns = {"y": [0, 1] * 200, "p": [0.5] * 200 + [0.2] * 200, "country": ["de"] * 200 + ["fr"] * 200}
    >>> table = truecal.slices(columns, label="y", score="p")
    >>> table.slice, table.direction
    (('country=fr',), ('under-predicts',))
    """

    slice: tuple[str, ...] = field(metadata=column("key", "slice", "The conditions that its rows meet."))
    n: Ints = field(metadata=column("count", "n", "Rows."))
    share: Floats = field(metadata=column("share", "share", "Its share of all rows."))
    observed: Ints = field(metadata=column("count", "O", "Positives."))
    expected: Floats = field(
        metadata=column(
            "count",
            "E",
            "The sum of the predictions, after the slices above are recalibrated.",
            format_count,
        )
    )
    ratio: Floats = field(metadata=column("ratio", "O/E", "Observed over expected."))
    ratio_low: Floats = field(
        metadata=column(
            "ratio", "O/E low", "Lower confidence limit of O/E, exact for independent rows, under a common odds ratio."
        )
    )
    ratio_high: Floats = field(metadata=column("ratio", "O/E high", "Upper confidence limit of O/E."))
    p_value: Floats = field(metadata=column("p-value", "p", "The p-value of the total, exact for independent rows."))
    p_adjusted: Floats = field(
        metadata=column("p-value", "adjusted p", "The p-value adjusted for all slices searched.")
    )
    direction: tuple[Direction, ...] = field(
        metadata=column("code", "direction", '"under-predicts", "over-predicts", or "unclear" if the CI contains 1.')
    )
    loss: Floats = field(
        metadata=column(
            "ratio",
            "log loss gain",
            "By how much the summed log loss of its rows would fall if their odds were multiplied by an odds ratio.",
        )
    )
    rows: int = 0
    searched: int = 0
    columns_searched: tuple[str, ...] = ()
    score: str | None = None
    pairs: bool = True
    significance: float = 0.05
    row_counts: RowCounts | None = None
    notes: tuple[Note, ...] = ()

    _derived_columns: ClassVar[tuple[Column, ...]] = (RATIO_CI,)
    _picture: ClassVar[str] = "slices"
    _shown: ClassVar[tuple[str, ...]] = (
        *("slice", "n", "observed", "expected", "ratio_ci", "p_adjusted", "direction", "loss"),
    )
    _spare: ClassVar[tuple[str, ...]] = ("loss", "observed", "expected", "p_adjusted", "n")
    _key_width: ClassVar[float] = 0.4

    def _footnotes(self) -> tuple[str, ...]:
        from truecal import words

        return words.explain_expected(self)

    def _style(self, name: str, row: int) -> str:
        return "red" if name in ("ratio_ci", "direction") else ""

    @property
    def summary(self) -> str:
        """How many slices are miscalibrated among those searched, in one sentence."""
        from truecal import words

        return words.summarize_slices(self)

    def sentences(self) -> tuple[str, ...]:
        """How many slices are miscalibrated, and what is not listed."""
        from truecal import words

        return words.describe_slices(self)
