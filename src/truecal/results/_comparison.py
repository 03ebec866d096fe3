"""The comparison of two models on the same rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from truecal._codes import Code
from truecal._text import printable, prose_html
from truecal.data import Floats, Ints, Note, RowCounts
from truecal.inference import Difference
from truecal.metrics import Measure
from truecal.results._table import Column, Table, column, float_column, register_table
from truecal.verdict import Status


class Better(Code):
    """Which of two models is better."""

    FIRST = "first"
    SECOND = "second"


class Undecided(Code):
    """Why neither of two models is better."""

    UNDEFINED = "undefined"
    CONTAINS_ZERO = "interval contains 0"
    NOT_MISCALIBRATED = "not miscalibrated"


@register_table
@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Comparison(Table):
    """A table of two models on the same rows, with one row per metric. `comparison["tce"]` is a row as a `Difference`.

    `models` are the names of the models, `statuses` those of their verdicts, `metrics` the metrics; `row_counts` says
    how many rows were read, evaluated and dropped.

    Examples
    --------
    >>> import truecal
    >>> table = truecal.compare([0, 1] * 100, [0.2] * 100 + [0.3] * 100, [0.5] * 200, ["log_loss", "brier"])
    >>> table.metric, table.difference.round(3).tolist()
    (('log_loss', 'brier'), [0.155, 0.065])
    >>> table["brier"].low > 0
    True
    """

    metric: tuple[str, ...] = field(metadata=column("key", "metric", "The name of the metric."))
    first: Floats = field(metadata=column("metric", "first", "The value of the first model."))
    second: Floats = field(metadata=column("metric", "second", "The value of the second model."))
    difference: Floats = field(
        metadata=column(
            "metric",
            "difference",
            "First minus second; of the distances from the best value if values on both sides are worse, as for the "
            "slope. Below 0 the first is better, unless higher is better.",
        )
    )
    low: Floats = field(metadata=column("metric", "low", "Lower confidence limit of the expected difference."))
    high: Floats = field(metadata=column("metric", "high", "Upper confidence limit."))
    confidence: Floats = field(metadata=column("share", "confidence", "The confidence level of the interval."))
    resamples: Ints = field(metadata=column("count", "resamples", "How often labels were resampled."))
    metrics: dict[str, Measure] = field(default_factory=dict)
    models: tuple[str, str] = ("first", "second")
    statuses: tuple[Status, ...] = ()
    notes: tuple[Note, ...] = ()
    row_counts: RowCounts | None = None

    _derived_columns: ClassVar[tuple[Column, ...]] = (
        Column("better", "code", "better", 'The better model: "first", "second", or null if no difference is shown.'),
        Column(
            "undecided",
            "code",
            "undecided",
            'Why none is better: "undefined" if a model has no such value, "interval contains 0", or "not '
            'miscalibrated" if the verdict on the worse model is not "miscalibrated".',
        ),
        Column("interval", "span", "CI", "The confidence interval of the difference."),
        Column("conclusion", "label", "conclusion", "Which model is better."),
    )
    _picture: ClassVar[str] = "comparison"
    _shown: ClassVar[tuple[str, ...]] = ("metric", "first", "second", "difference", "interval", "conclusion")
    _spare: ClassVar[tuple[str, ...]] = ("interval", "first", "second")

    @classmethod
    def of(
        cls,
        differences: Mapping[str, Difference],
        metrics: Mapping[str, Measure],
        *,
        models: tuple[str, str] = ("first", "second"),
        statuses: tuple[Status, ...] = (),
        notes: tuple[Note, ...] = (),
        row_counts: RowCounts | None = None,
    ) -> Comparison:
        """Make the table of differences, given by the names of their metrics."""
        pairs = list(differences.values())
        return cls(
            metric=tuple(differences),
            first=float_column(pair.first for pair in pairs),
            second=float_column(pair.second for pair in pairs),
            difference=float_column(pair.difference for pair in pairs),
            low=float_column(pair.low for pair in pairs),
            high=float_column(pair.high for pair in pairs),
            confidence=float_column(pair.confidence for pair in pairs),
            resamples=np.array([pair.resamples for pair in pairs], dtype=np.int64),
            metrics={name: metrics[name] for name in differences},
            models=models,
            statuses=statuses,
            notes=notes,
            row_counts=row_counts,
        )

    def __getitem__(self, row: int | slice | str) -> Any:
        """Return a row: by its position as a named tuple, by its metric's name as a `Difference`."""
        if not isinstance(row, str):
            return Table.__getitem__(self, row)
        if row not in self.metric:
            raise KeyError(row)
        found = Table.__getitem__(self, self.metric.index(row))
        ends = found.low, found.high
        return Difference(found.first, found.second, found.difference, *ends, found.confidence, found.resamples)

    def __contains__(self, name: object) -> bool:
        return name in self.metric

    @property
    def better(self) -> list[Better | None]:
        """The better model in each metric: the interval of the difference excludes 0, and of a metric of calibration
        the other model is miscalibrated."""
        return [found if isinstance(found, Better) else None for found in map(self._decide, range(len(self)))]

    @property
    def undecided(self) -> list[Undecided | None]:
        """Why no model is better, in each metric."""
        return [found if isinstance(found, Undecided) else None for found in map(self._decide, range(len(self)))]

    def _decide(self, row: int) -> Better | Undecided:
        metric = self.metrics[self.metric[row]]
        if math.isnan(self.first[row]) or math.isnan(self.second[row]):
            return Undecided.UNDEFINED
        if not (self.low[row] > 0 or self.high[row] < 0):
            return Undecided.CONTAINS_ZERO
        best = 0 if (self.high[row] < 0) != (metric.bad == "low") else 1
        if self.statuses and not metric.overall and self.statuses[1 - best] != Status.MISCALIBRATED:
            return Undecided.NOT_MISCALIBRATED
        return (Better.FIRST, Better.SECOND)[best]

    def find_better(self, name: str) -> str | None:
        """Return the name of the model that is better in a metric; None if no difference is shown."""
        found = self.better[self.metric.index(name)]
        return None if found is None else self.models[found is Better.SECOND]

    @property
    def interval(self) -> list[str]:
        """The confidence interval of each difference, as text."""
        from truecal import words

        rows = zip(self.metric, self.low.tolist(), self.high.tolist(), strict=True)
        return [words.format_difference(self.metrics[name], low, high) for name, low, high in rows]

    @property
    def conclusion(self) -> list[str]:
        """Which model is better in each metric, as text."""
        from truecal import words

        return [words.label_better(self, row) for row in range(len(self))]

    @property
    def summary(self) -> str:
        """What is compared, in one sentence."""
        from truecal import words

        return words.summarize_comparison(self)

    def sentences(self) -> tuple[str, ...]:
        """Which model is better calibrated, by the first metric of calibration, which has the better log loss (or the
        first metric that is about more than calibration), and whether these disagree."""
        from truecal import words

        return words.describe_comparison(self)

    def heading(self, name: str) -> str:
        """Return the heading of a column; those of values are the names of the models."""
        from truecal import words

        if name == "interval":
            levels = sorted({words.format_confidence(1 - level) for level in self.confidence.tolist()})
            return f"{' and '.join(levels)} CI"
        models = dict(zip(("first", "second"), map(printable, self.models), strict=True))
        return models.get(name) or Table.heading(self, name)

    def _format_metric(self, row: int, value: float) -> str:
        return self.metrics[self.metric[row]].format(value)

    def _style(self, name: str, row: int) -> str:
        return "bold" if name == "difference" else ""

    def __repr__(self) -> str:
        return "\n".join([*self.sentences(), Table.__repr__(self)])

    def _repr_html_(self) -> str:
        return f"<p><b>{prose_html(' '.join(self.sentences()))}</b></p>{Table._repr_html_(self)}"
