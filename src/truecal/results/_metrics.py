"""The table of metrics."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from truecal.data import Floats, Ints
from truecal.metrics import format_name
from truecal.results._result import Result
from truecal.results._table import Column, Table, column
from truecal.verdict import Status


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class MetricTable(Table):
    """A table with one row per metric and model, the models of a metric one below the other."""

    metric: tuple[str, ...] = field(metadata=column("text", "metric", "The name of the metric."))
    model: tuple[str, ...] = field(metadata=column("text", "model", "The name of the model."))
    value: Floats = field(metadata=column("metric", "value", "The value, in the unit of the metric."))
    lowest: Floats = field(metadata=column("metric", "lowest", "The lowest value, wherever in its cell a score lies."))
    highest: Floats = field(metadata=column("metric", "highest", "The highest such value."))
    unit: tuple[str, ...] = field(metadata=column("text", "unit", "The unit."))
    null_mean: Floats = field(metadata=column("metric", "if calibrated", "The mean under calibration."))
    null_low: Floats = field(metadata=column("metric", "null low", "The 5% quantile under calibration."))
    null_high: Floats = field(metadata=column("metric", "null high", "The 95% quantile under calibration."))
    excess: Floats = field(metadata=column("metric", "excess", "The value minus the mean under calibration."))
    p_value: Floats = field(metadata=column("p-value", "p", "The p-value under calibration."))
    low: Floats = field(metadata=column("metric", "low", "Lower confidence limit."))
    high: Floats = field(metadata=column("metric", "high", "Upper confidence limit."))
    too_low: Floats = field(metadata=column("metric", "too low", "The share of predictions rejected as too low."))
    too_high: Floats = field(metadata=column("metric", "too high", "The share rejected as too high."))
    n: Ints = field(metadata=column("count", "n", "Rows."))
    positives: Ints = field(metadata=column("count", "O", "Observed positives."))
    status: tuple[Status | None, ...] = field(metadata=column("text", "status", "The status of the verdict."))
    verdict_p: Floats = field(metadata=column("p-value", "verdict p", "The p-value of the verdict."))
    results: Mapping[str, Result]

    _derived_columns: ClassVar[tuple[Column, ...]] = (
        Column("name", "label", "metric", "The metric, in the first of its rows."),
        Column("title", "label", "metric", "The metric as text writes it."),
        Column("of", "label", "model", "The model, if there are several."),
        Column("cell_bounds", "span", "within cells", "The lowest and highest value within cells."),
        Column("interval", "span", "CI", "The confidence interval."),
        Column("null_span", "span", "if calibrated, 5\N{EN DASH}95%", "The quantiles under calibration."),
        Column("p", "span", "p", "The p-value under calibration."),
        Column("bins", "label", "bins", "The bins of the metric."),
        Column("meaning", "label", "definition", "What the metric measures."),
    )
    _shown: ClassVar[tuple[str, ...]] = (
        *("name", "of", "value", "cell_bounds", "interval", "null_mean", "null_span", "excess", "p", "bins"),
    )
    _spare: ClassVar[tuple[str, ...]] = ("bins", "null_span", "excess", "interval", "null_mean", "cell_bounds")

    @classmethod
    def of_results(cls, results: Mapping[str, Result]) -> MetricTable:
        """Make the table of results by the names of their models."""
        names = dict.fromkeys(name for result in results.values() for name in result.values)
        rows = [(name, model) for name in names for model, result in results.items() if name in result.values]
        found = [_collect(name, results[model]) for name, model in rows]
        floats = {key: np.array([row[key] for row in found], dtype=np.float64) for key in found[0]}
        chosen = [results[model] for _, model in rows]
        return cls(
            metric=tuple(name for name, _ in rows),
            model=tuple(model for _, model in rows),
            unit=tuple(result.metrics[name].unit.name for result, (name, _) in zip(chosen, rows, strict=True)),
            n=np.array([result.n for result in chosen], dtype=np.int64),
            positives=np.array([result.positives for result in chosen], dtype=np.int64),
            status=tuple(None if result.verdict is None else result.verdict.status for result in chosen),
            results=dict(results),
            **floats,
        )

    @property
    def name(self) -> list[str]:
        """The metrics, each in the first of its rows."""
        return ["" if i and self.metric[i - 1] == name else name for i, name in enumerate(self.metric)]

    @property
    def title(self) -> list[str]:
        """The metrics as text writes them."""
        return [format_name(name) for name in self.metric]

    @property
    def of(self) -> list[str]:
        """The models, if there are several."""
        return [model if len(self.results) > 1 else "" for model in self.model]

    @property
    def cell_bounds(self) -> list[str]:
        """The bounds of values within cells, as text."""
        return self._span(self.lowest, self.highest, [name in result.bounds for name, result in self._rows()])

    @property
    def interval(self) -> list[str]:
        """The confidence intervals, as text."""
        return self._span(self.low, self.high, [name in result.intervals for name, result in self._rows()])

    @property
    def null_span(self) -> list[str]:
        """The quantiles under calibration, as text."""
        return self._span(self.null_low, self.null_high, [name in result.nulls for name, result in self._rows()])

    @property
    def p(self) -> list[str]:
        """The p-values under calibration, as text; the smallest that the draws allow is a bound."""
        from truecal import words

        return [
            words.format_null_p(result.nulls[name]) if name in result.nulls else "" for name, result in self._rows()
        ]

    @property
    def bins(self) -> list[str]:
        """The bins of each metric, in the first of its rows."""
        shown = zip(self.name, self._rows(), strict=True)
        return [result.metrics[name].bins if first else "" for first, (name, result) in shown]

    @property
    def meaning(self) -> list[str]:
        """What each metric measures."""
        from truecal import words

        return [words.describe_metric(result, name) for name, result in self._rows()]

    def heading(self, name: str) -> str:
        """Return the heading of a column; that of intervals has their confidence."""
        if name != "interval":
            return Table.heading(self, name)
        spans = [span for result in self.results.values() for span in result.intervals.values()]
        return f"{100 * spans[0].confidence:g}% CI" if spans else "CI"

    def _rows(self) -> list[tuple[str, Result]]:
        return [(name, self.results[model]) for name, model in zip(self.metric, self.model, strict=True)]

    def _span(self, low: Floats, high: Floats, known: list[bool]) -> list[str]:
        from truecal import words

        rows = zip(self._rows(), low.tolist(), high.tolist(), known, strict=True)
        return [
            words.format_metric_span(result.metrics[name], a, b) if shown else ""
            for (name, result), a, b, shown in rows
        ]

    def _format_metric(self, row: int, value: float) -> str:
        name, result = self._rows()[row]
        return result.metrics[name].format(value)

    def _style(self, name: str, row: int) -> str:
        return "bold" if name == "value" else ""


def _collect(name: str, result: Result) -> dict[str, float]:
    """The numbers of a metric; NaN for those that were not computed."""
    null, span, value = result.nulls.get(name), result.intervals.get(name), result.values[name]
    sides = (math.nan, math.nan) if result.metrics[name].rejection is None else result.direction(name)
    lowest, highest = result.bounds.get(name, (value, value))
    return {
        "value": value,
        "lowest": lowest,
        "highest": highest,
        "null_mean": math.nan if null is None else null.mean,
        "null_low": math.nan if null is None else null.low,
        "null_high": math.nan if null is None else null.high,
        "excess": math.nan if null is None else null.excess,
        "p_value": math.nan if null is None else null.p_value,
        "low": math.nan if span is None else span.low,
        "high": math.nan if span is None else span.high,
        "too_low": 100 * sides[0],  # metrics that reject are in percent
        "too_high": 100 * sides[1],
        "verdict_p": math.nan if result.verdict is None else result.verdict.p_value,
    }
