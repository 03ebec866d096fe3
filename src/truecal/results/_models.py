"""The results of several models, and the table that ranks them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from truecal import _draw_inline
from truecal._text import escape_html
from truecal.data import Floats, Ints
from truecal.metrics import LTCE
from truecal.results._ratios import RATIO_CI, RatioTable
from truecal.results._result import Result
from truecal.results._table import STATUS_STYLES, Column, column, float_column
from truecal.verdict import Status

RANKS = (Status.MISCALIBRATED, Status.INCONCLUSIVE, Status.CONSISTENT)


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ModelTable(RatioTable):
    """A table with one row per model, those that are miscalibrated first."""

    model: tuple[str, ...] = field(metadata=column("key", "model", "The name of the model."))
    status: tuple[Status | None, ...] = field(metadata=column("code", "status", "The status; null without a verdict."))
    n: Ints = field(metadata=column("count", "n", "Rows."))
    value: Floats = field(metadata=column("metric", "Local TCE", "The share of predictions that Local TCE rejects."))
    null_mean: Floats = field(
        metadata=column("metric", "if calibrated", "The mean of Local TCE under calibration.", LTCE.format)
    )
    ratio: Floats = field(metadata=column("ratio", "O/E", "Observed over expected."))
    ratio_low: Floats = field(metadata=column("ratio", "O/E low", "Lower confidence limit of O/E."))
    ratio_high: Floats = field(metadata=column("ratio", "O/E high", "Upper confidence limit of O/E."))
    p_value: Floats = field(metadata=column("p-value", "p", "The p-value of the verdict."))
    results: Models
    significance: float = 0.05

    _derived_columns: ClassVar[tuple[Column, ...]] = (
        Column("rejected", "span", "Local TCE", "The share of predictions that Local TCE rejects."),
        RATIO_CI,
        Column("finding", "label", "finding", "The finding in short."),
    )
    _shown: ClassVar[tuple[str, ...]] = (
        *("model", "status", "n", "rejected", "null_mean", "ratio_ci", "p_value", "finding"),
    )
    _spare: ClassVar[tuple[str, ...]] = ("finding", "n", "p_value", "ratio_ci")
    _key_width: ClassVar[float] = 0.25

    @classmethod
    def of(cls, named: Mapping[str, Result]) -> ModelTable:
        """Make the table of results by the names of their models."""
        names = rank_models(named)
        results = [named[name] for name in names]
        verdicts = [result.verdict for result in results]
        return cls(
            model=tuple(names),
            status=tuple(None if found is None else found.status for found in verdicts),
            n=np.array([result.n for result in results], dtype=np.int64),
            value=float_column(math.nan if found is None else found.local.value for found in verdicts),
            null_mean=float_column(_find_null_mean(result) for result in results),
            ratio=float_column(math.nan if found is None else found.ratio for found in verdicts),
            ratio_low=float_column(math.nan if found is None else found.interval[0] for found in verdicts),
            ratio_high=float_column(math.nan if found is None else found.interval[1] for found in verdicts),
            p_value=float_column(math.nan if found is None else found.p_value for found in verdicts),
            results=Models(zip(names, results, strict=True)),
            significance=results[0].significance if results else 0.05,
        )

    @property
    def rejected(self) -> list[str]:
        """The share of predictions that Local TCE rejects, as text."""
        from truecal import words

        return [words.format_rejected(result) for result in self.results.values()]

    @property
    def finding(self) -> list[str]:
        """The finding on each model, in short."""
        from truecal import words

        return [words.label_result(result) for result in self.results.values()]

    def _style(self, name: str, row: int) -> str:
        status = self.status[row]
        return STATUS_STYLES[status] if name == "status" and status is not None else ""

    def _format_metric(self, row: int, value: float) -> str:
        return LTCE.format(value)

    @property
    def summary(self) -> str:
        """How many models are miscalibrated, consistent and inconclusive, in one sentence."""
        return self.results.summary


class Models(dict[str, Result]):
    """Results by the names of their models, as `evaluate` returns them for several; printed with the worst first.

    Examples
    --------
    >>> import truecal
    >>> one = truecal.evaluate([0, 1, 1, 0], [0.1, 0.7, 0.9, 0.3])
    >>> truecal.results.Models({"a": one, "b": one}).summary
    'Both models are inconclusive.'
    """

    @property
    def table(self) -> ModelTable:
        """The models as a table, the worst first."""
        return ModelTable.of(self)

    @property
    def summary(self) -> str:
        """How many models are miscalibrated, consistent and inconclusive, in one sentence."""
        from truecal import words

        return words.summarize_models(self)

    def __repr__(self) -> str:
        return f"{self.summary}\n{self.table.text()}" if self else self.summary

    def _repr_html_(self) -> str:
        if not self:
            return f"<p>{self.summary}</p>"
        table = self.table
        picture = _draw_inline("models", self, f"{self.summary} {'; '.join(table.finding)}.")
        return f"<p><b>{escape_html(self.summary)}</b></p>{table.html()}{picture}"


def _find_null_mean(result: Result) -> float:
    """The mean of Local TCE under calibration: simulated, or its level; NaN without a verdict."""
    if result.verdict is None:
        return math.nan
    simulated = result.nulls.get("ltce")
    return 100 * result.significance if simulated is None else simulated.mean


def rank_models(named: Mapping[str, Result]) -> list[str]:
    """Return the names of models: miscalibrated ones first, and those with the largest Local TCE first among equals."""

    def place(name: str) -> tuple[int, float]:
        found = named[name].verdict
        return (len(RANKS), 0.0) if found is None else (RANKS.index(found.status), -found.local.value)

    return sorted(named, key=place)
