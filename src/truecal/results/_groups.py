"""Tables with a verdict on each row, and the table of segments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from truecal._text import format_count, printable
from truecal.data import NO_SAMPLING, Bools, Floats, Ints, Note, Outcome, RowCounts, Sampling
from truecal.metrics import LTCE, Adjustment, Direction, Measure, Tolerance, adjust_p_values
from truecal.results._directions import find_directions
from truecal.results._ratios import RATIO_CI, RatioTable
from truecal.results._table import (
    STATUS_STYLES,
    Column,
    Table,
    column,
    float_column,
    name_segments,
    register_table,
    show_first,
)
from truecal.verdict import FACTOR, Status, Verdict

ADJUSTED: dict[Adjustment, str] = {"holm": "p (Holm)", "bh": "p (BH)", None: "p"}
SLOPE_DIRECTION = column(
    "code",
    "slope direction",
    '"overconfident" if high predictions are shown to be too high and low ones too low, "underconfident" the other way '
    "round; null if neither is shown.",
)
DIRECTION = Column(
    "direction",
    "code",
    "direction",
    'Of a miscalibrated row: "under-predicts" or "over-predicts" if the interval of O/E shows it, else the slope '
    'direction, or "unclear".',
)
STATUS = Column(
    "status",
    "code",
    "status",
    '"miscalibrated" by the adjusted p-value; else "consistent" if an odds ratio of 1.5 would have been detected at '
    '`level`; else "inconclusive".',
)
VERDICT_COLUMNS = (
    Column("excess", "metric", "excess", "Value minus null_mean."),
    Column("alarm", "flag", "alarm", "Whether p_adjusted is at most `significance`."),
    STATUS,
    DIRECTION,
    RATIO_CI,
    Column("bounds", "span", "bounds", "The lowest and highest value that scores in cells leave possible."),
)


def format_detectable(odds_ratio: float) -> str:
    """Format a minimum detectable odds ratio."""
    return "none" if math.isinf(odds_ratio) else f"{odds_ratio:.3g}"


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class VerdictTable(RatioTable):
    """The columns and settings of tables with a verdict on each row, and a metric beside it."""

    n: Ints = field(metadata=column("count", "n", "Rows."))
    observed: Floats = field(
        metadata=column("count", "O", "Positives; of the population if rows were sampled.", format_count)
    )
    expected: Floats = field(metadata=column("count", "E", "The sum of the predictions.", format_count))
    ratio: Floats = field(metadata=column("ratio", "O/E", "Observed over expected; NaN if both are 0."))
    ratio_low: Floats = field(
        metadata=column(
            "ratio", "O/E low", "Lower confidence limit of O/E, exact for independent rows, under a common odds ratio; "
            "its confidence is 1 - `level`, so that the intervals are simultaneous."
        )
    )  # fmt: skip
    ratio_high: Floats = field(metadata=column("ratio", "O/E high", "Upper confidence limit of O/E."))
    p_value: Floats = field(metadata=column("p-value", "p", "The p-value of the verdict."))
    p_adjusted: Floats = field(
        metadata=column("p-value", "p adjusted", "The p-value adjusted for the number of rows of the table.")
    )
    detectable: Floats = field(
        metadata=column(
            "ratio",
            "detectable OR",
            "The minimum odds ratio, in either direction and beyond the tolerance if there is one, that is detected at "
            "`level` with 80% power; infinite if none is.",
            format_detectable,
        )
    )
    total_p: Floats = field(metadata=column("p-value", "total p", "The p-value of the component test of the total."))
    cox_p: Floats = field(
        metadata=column(
            "p-value", "cox p", "The p-value of Cox's test of intercept and slope; NaN if the verdict has no such test."
        )
    )
    slope_direction: tuple[Direction | None, ...] = field(metadata=SLOPE_DIRECTION)
    value: Floats = field(metadata=column("metric", "value", "The metric."))
    lowest: Floats = field(
        metadata=column(
            "metric",
            "lowest",
            "The lowest value on bins of whole cells; the value itself, unless scores are grouped into cells.",
        )
    )
    highest: Floats = field(metadata=column("metric", "highest", "The highest value on bins of whole cells."))
    null_mean: Floats = field(
        metadata=column("metric", "if calibrated", "The mean of the metric's null distribution; NaN unless simulated.")
    )
    null_p: Floats = field(metadata=column("p-value", "null p", "The metric's p-value from its null distribution."))
    null_p_adjusted: Floats = field(
        metadata=column("p-value", "null p adjusted", "The same, adjusted for the number of rows of the table.")
    )
    prevalence: Floats = field(metadata=column("share", "prevalence", "The share of positives."))
    mean: Floats = field(metadata=column("share", "predicted", "Mean prediction."))
    design_effect: Floats = field(
        metadata=column(
            "ratio", "design effect", "The variance of the positives over that of independent rows; 1 without clusters."
        )
    )
    dropped: Ints = field(metadata=column("count", "dropped", "Rows that were dropped when the data were read."))
    metric: Measure = LTCE
    draws: int = 0
    adjust: Adjustment = "holm"
    significance: float = 0.05
    level: float = 0.05
    tolerance: Tolerance | None = None
    notes: tuple[Note, ...] = ()
    sampling: Sampling = NO_SAMPLING
    outcome: Outcome = "positive"
    row_counts: tuple[RowCounts, ...] = ()  # of each row of the table

    @property
    def overall_prevalence(self) -> float:
        """The share of positives in all rows of the table; of the population if rows were sampled."""
        seen = float(np.sum(self.n * self.sampling.to_sampled(self.prevalence))) / int(self.n.sum())
        return float(self.sampling.to_population(seen))

    @property
    def alarm(self) -> Bools:
        """Whether a row is miscalibrated: p_adjusted is at most `significance`."""
        return np.asarray(self.p_adjusted <= self.significance)

    @property
    def excess(self) -> Floats:
        """The metric minus the mean of its null distribution."""
        return np.asarray(self.value - self.null_mean)

    @property
    def status(self) -> list[Any]:
        """The status of each row: miscalibrated by the adjusted p-value; else consistent if an odds ratio of 1.5 would
        have been detected at `level`; else inconclusive."""
        return self._find_statuses()

    def _find_statuses(self) -> list[Status]:
        rows = zip(self.alarm.tolist(), (self.detectable <= FACTOR).tolist(), strict=True)
        return [
            Status.MISCALIBRATED if off else Status.CONSISTENT if enough else Status.INCONCLUSIVE
            for off, enough in rows
        ]

    @property
    def direction(self) -> list[Direction | None]:
        """How each miscalibrated row misses; None for the others."""
        return find_directions(self.alarm, self.ratio, self.ratio_low, self.ratio_high, self.slope_direction)

    @property
    def bounds(self) -> list[str]:
        """The lowest and highest possible value of the metric as text, if scores are grouped into cells."""
        from truecal import words

        rows = zip(self.lowest.tolist(), self.highest.tolist(), strict=True)
        return [words.format_metric_span(self.metric, *row) if row[0] < row[1] else "" for row in rows]

    def heading(self, name: str) -> str:
        """Return the heading of a column; some depend on the metric, the adjustment or the level."""
        if name in ("value", "bounds"):
            return f"{self.metric.name}{' bounds' * (name == 'bounds')}"
        if name == "p_adjusted":
            return ADJUSTED[self.adjust]
        if name == "prevalence":
            return "prevalence" if self.outcome == "positive" else "accuracy"
        return RatioTable.heading(self, name)

    def order(self) -> Ints:
        """Return the positions of the rows by p-value, then by the difference of observed and expected."""
        return np.lexsort((-np.abs(self.observed - self.expected), self.p_value))

    def _spare_columns(self) -> Sequence[str]:
        """A metric that was asked for stays."""
        if self.metric.name == LTCE.name:
            return self._spare
        return [*(name for name in self._spare if name not in ("value", "bounds")), "bounds"]

    def _style(self, name: str, row: int) -> str:
        if name == "ratio_ci":
            return "bold"
        return STATUS_STYLES[self.status[row]] if name in (self._shown[0], "p_adjusted", "status", "direction") else ""

    def _format_metric(self, row: int, value: float) -> str:
        return self.metric.format(value)


def verdict_columns(verdicts: Sequence[Verdict], adjust: Adjustment) -> dict[str, Any]:
    """Return the columns that verdicts fill."""
    p_value = float_column(found.p_value for found in verdicts)
    return {
        "n": np.array([found.n for found in verdicts], dtype=np.int64),
        "observed": float_column(found.observed for found in verdicts),
        "expected": float_column(found.expected for found in verdicts),
        "ratio": float_column(found.ratio for found in verdicts),
        "ratio_low": float_column(found.interval[0] for found in verdicts),
        "ratio_high": float_column(found.interval[1] for found in verdicts),
        "p_value": p_value,
        "p_adjusted": adjust_p_values(p_value, adjust),
        "detectable": float_column(found.detectable for found in verdicts),
        "total_p": float_column(found.tests.get("total", math.nan) for found in verdicts),
        "cox_p": float_column(found.tests.get("cox", math.nan) for found in verdicts),
        "slope_direction": tuple(found.slope_direction for found in verdicts),
        "design_effect": float_column(found.design_effect for found in verdicts),
    }


@register_table
@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class GroupTable(VerdictTable):
    """A table with one row per segment, in the order given.

    `by` names the columns that make segments, `adjust` how p-values were adjusted for the number of segments,
    `significance` the level of all, `level` that of one segment: divided by the number of segments if p-values are
    adjusted. `metric` is the metric, `draws` the largest number of label sets simulated for its null distribution.

    Examples
    --------
    >>> import truecal
    >>> columns = {"y": [0, 1] * 200, "p": [0.5] * 300 + [0.3] * 100, "country": ["de"] * 300 + ["fr"] * 100}
    >>> table = truecal.segments(truecal.read(columns, label="y", score="p", by="country"))
    >>> table.segment, table.n.tolist(), table.status
    ((('de',), ('fr',)), [300, 100], ['consistent', 'miscalibrated'])
    """

    segment: tuple[tuple[Any, ...], ...] = field(metadata=column("key", "segment", "The values of the segment."))
    by: tuple[str, ...] = ()

    _derived_columns: ClassVar[tuple[Column, ...]] = VERDICT_COLUMNS
    _picture: ClassVar[str] = "segments"
    _shown: ClassVar[tuple[str, ...]] = (
        *("segment", "n", "observed", "expected", "ratio_ci", "p_adjusted", "status", "direction", "detectable"),
        *("value", "bounds", "null_mean"),
    )
    _spare: ClassVar[tuple[str, ...]] = (
        *("bounds", "null_mean", "value", "detectable", "observed", "expected", "p_adjusted", "n"),
    )
    _key_width: ClassVar[float] = 0.25

    @property
    def names(self) -> list[str]:
        """The segments as text: "country=de, kind=card"."""
        if not self.by:
            return self._key_cells()
        return name_segments(self.by, self.segment)

    def _key_cells(self) -> list[str]:
        """The values alone: the heading has the columns."""
        return [", ".join(map(str, key)) for key in self.segment]

    def heading(self, name: str) -> str:
        """Return the heading of a column; of the segments it is the columns that make them."""
        return printable(", ".join(self.by)) or "segment" if name == "segment" else VerdictTable.heading(self, name)

    def worst(self, count: int = 10) -> list[tuple[Any, ...]]:
        """Return the worst segments: those with the smallest p-values."""
        return [self.segment[i] for i in self.order()[:count]]

    def arrays(self) -> dict[str, Any]:
        """Return the columns by name. The columns that make segments replace the segment."""
        found = Table.arrays(self)
        keys = found.pop("segment")
        if not self.by:
            return {"segment": self.names, **found}
        parts = zip(self.by, zip(*keys, strict=True), strict=True)
        return {f"segment_{name}" if name in found else name: list(part) for name, part in parts} | found

    def _footnotes(self) -> tuple[str, ...]:
        from truecal import words

        return words.explain_intervals(self, "segment")

    def _rows_shown(self) -> list[int]:
        return show_first(self.order(), self._most)

    @property
    def summary(self) -> str:
        """How many segments are miscalibrated, consistent and inconclusive, in one sentence."""
        from truecal import words

        return words.summarize_segments(self)

    def sentences(self) -> tuple[str, ...]:
        """How many segments are miscalibrated, the worst three, and what could be detected in inconclusive ones."""
        from truecal import words

        return words.describe_segments(self)
