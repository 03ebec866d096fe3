"""Results: the values, their bins and everything that made them; as text, HTML, JSON and dataframes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from textwrap import wrap
from typing import Any, ClassVar

import numpy as np

from truecal import _draw_inline
from truecal._text import escape_html, plural, prose_html
from truecal.inference import (
    Interval,
    Reference,
    Verdict,
    describe_evidence,
    describe_finding,
    format_span,
    name_ranges,
)
from truecal.metrics import Adjustment, Measure, Metric, Rejection, ScoreRange, Test, Tolerance, check_test
from truecal.observations import AS_THEY_ARE, Account, Labelling, Outcome
from truecal.results._bins import EIGHT_GRIDS, BinTable
from truecal.results._curve import Curve
from truecal.results._json import Stored, register
from truecal.results._shapes import Scores, Shape
from truecal.results._table import format_share


@register
@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Result(Stored):
    """Metrics of one model on one data set.

    Attributes
    ----------
    verdict : Verdict or None
        Whether the predictions are off, consistent with the data, or cannot be told, and why; at `significance`, and
        without a tolerance.
    ranges : tuple of ScoreRange
        All predictions in at most five ranges of scores, with intervals that hold together; those of a model that is
        off have a direction where they are.
    n, positives : int
        Observations and positives; `prevalence` is their ratio, or that of the population.
    labelling : Labelling
        How rows got their labels and their place in the data. Where rows were sampled by label, values and tables are
        of the population, and counts of the rows that are there.
    weighted : bool
        Whether values are weighted by importance; the verdict and the tables are not.
    account : Account
        Where all rows went that were read: judged, dropped for a reason, or outside of the region.
    values : dict
        Metric name to value, in the unit of its metric: Local TCE and TCE in percent, gap metrics as probabilities.
        NaN for one that the data have no evidence for.
    metrics : dict
        Metric name to what was computed.
    tables : dict
        Metric name to its bins, for those that have any; metrics of the same binning share one table.
    test, significance, tolerance
        The test behind every table.
    seed : int or None
        What labels were redrawn with, where it was given as a number.
    adjust, region
        How the bins' p-values were adjusted for their number, and which predictions were judged; None for not and
        all.
    references, intervals : dict
        Metric name to its `Reference` and its `Interval`, where they were asked for.
    bounds : dict
        Where scores were grouped into cells: metric name to the lowest and highest value on these bins of cells. The
        exact scores have other bins, whose value may lie outside.
    scores, shapes, curve
        What pictures need: all predictions, for each metric name the outlines of its table's bins, and the isotonic
        reliability curve, with a consistency band where labels were redrawn.
    notes : tuple of str
        What a reader should know: bounds broken by ties, bins that coincide.

    Examples
    --------
    >>> import truecal
    >>> result = truecal.evaluate([0, 1] * 100, [0.2] * 100 + [0.3] * 100)
    >>> result.finding
    'Predictions are too low: 2.00 times as many positives came as predicted'
    >>> result.n, result.verdict.word, round(result["ece"], 2)
    (200, 'off', 0.25)
    >>> truecal.Result.from_json(result.to_json()) == result
    True
    """

    verdict: Verdict | None = field(default=None, kw_only=True)
    n: int
    positives: int
    account: Account
    values: dict[str, float]
    metrics: dict[str, Measure]
    tables: dict[str, BinTable]
    test: Test
    significance: float
    tolerance: Tolerance | None
    notes: tuple[str, ...]
    version: str
    adjust: Adjustment = None
    region: str | None = None
    references: dict[str, Reference] = field(default_factory=dict)
    intervals: dict[str, Interval] = field(default_factory=dict)
    bounds: dict[str, tuple[float, float]] = field(default_factory=dict)
    scores: Scores | None = None
    shapes: dict[str, Shape] = field(default_factory=dict)
    curve: Curve | None = None
    seed: int | None = None
    library: str | None = field(default=None, compare=False)
    labelling: Labelling = AS_THEY_ARE
    weighted: bool = False

    _derived: ClassVar[tuple[str, ...]] = ("prevalence",)

    def __post_init__(self) -> None:
        check_test(self.test)

    @property
    def prevalence(self) -> float:
        """The share of positives, that of the population where rows were sampled by label."""
        return float(self.labelling.predicted(self.positives / self.n))

    @property
    def ranges(self) -> tuple[ScoreRange, ...]:
        """All predictions in a few ranges of scores, in increasing order, with a direction where they are off."""
        return () if self.verdict is None else self.verdict.divided

    @property
    def range_names(self) -> list[str]:
        """The ranges of scores by name."""
        return [] if self.verdict is None else name_ranges(self.ranges, whole=self.verdict.whole)

    @property
    def finding(self) -> str:
        """The verdict in one sentence: which predictions are off, which way and by how much."""
        return "No verdict was made" if self.verdict is None else describe_finding(self.verdict)

    @property
    def short_finding(self) -> str:
        """The finding without sizes, for a title."""
        return self.finding if self.verdict is None else describe_finding(self.verdict, sizes=False)

    def evidence(self, advice: str | None = None) -> list[str]:
        """The sentences that stand beside the finding, with an `advice` in the place of that to recalibrate."""
        if advice is None and self.outcome == "positive" and self.values.get("slope", 1.0) < 0:
            advice = "Higher predictions go with fewer positives: see first whether labels or scores are swapped"
        return [] if self.verdict is None else describe_evidence(self.verdict, advice)

    @property
    def outcome(self) -> Outcome:
        """What is counted as positive: "correct" where the most probable of several classes is judged."""
        return "positive" if self.verdict is None else self.verdict.outcome

    @property
    def rejection(self) -> Rejection:
        """The test behind the tables, with its level and tolerance."""
        return Rejection(self.test, self.significance, self.tolerance)

    @property
    def bins(self) -> BinTable:
        """The bins of the first metric that has any."""
        if not self.tables:
            raise ValueError(
                f"Bins are of metrics such as 'ltce' or 'ece'; these have none: {', '.join(self.metrics)}."
            )
        return next(iter(self.tables.values()))

    @property
    def pictured(self) -> str:
        """The metric whose bins diagrams show: the first that judges each prediction in its bin, as TCE does, and not
        whole windows; the first of all that have bins if none does."""
        tests = {
            name: metric.test_of_bins(self.rejection)
            for name, metric in self.metrics.items()
            if isinstance(metric, Metric)
        }
        return next((name for name, test in tests.items() if test.per_prediction), next(iter(tests or self.metrics)))

    def __getitem__(self, name: str) -> float:
        return self.values[name]

    def format(self, name: str) -> str:
        """A value as it is printed, in the unit of its metric."""
        return self.metrics[name].format(self.values[name])

    def direction(self, name: str | None = None) -> tuple[float, float]:
        """The shares of predictions that the test of a metric's bins refutes as too low and as too high."""
        name = next(iter(self.tables), "") if name is None else name
        table, test = self.tables[name], self.metrics[name].rejection
        local = None if self.verdict is None else self.verdict.local
        if self.in_windows(name) and local is not None and math.isclose(local.value, self.values[name], rel_tol=1e-9):
            return local.too_low / 100, local.too_high / 100
        size = self.labelling.rows(table.n, table.k)
        low, high = (
            float(np.sum(size * side / np.maximum(table.n, 1))) for side in (table.n_too_low, table.n_too_high)
        )
        whole = float(size.sum())
        if low + high > 0 and test is not None and self.in_windows(name) and test.whose == "predictions":
            whole = 100 * (low + high) / self.values[name]  # tables have whole rows of windows that are refuted in part
        return low / whole, high / whole

    def in_windows(self, name: str) -> bool:
        """Whether the bins of a metric are windows: one of the eight grids by which predictions are refuted."""
        test = self.metrics[name].rejection
        return test is not None and not test.per_prediction

    def explain(self, name: str) -> list[str]:
        """What is known of a value, in words: its direction, bounds on a grid, reference and interval."""
        metric, lines = self.metrics[name], []
        shared = metric.rejection is not None and metric.rejection.whose == "predictions"
        if shared and self.values[name] > 0 and not self.weighted:  # the tables have no weights
            too_low, too_high = self.direction(name)
            lines.append(f"{100 * too_low:.2f} % too low, {100 * too_high:.2f} % too high")
        if name in self.bounds:
            low, high = map(metric.format, self.bounds[name])
            lines.append(f"{low} to {high} on these bins of cells, wherever in its cell each score lies")
        if name in self.references:
            found = self.references[name]
            mean, low, high, excess = map(metric.format, (found.mean, found.low, found.high, found.excess))
            lines.append(f"by chance {mean} (5 to 95 %: {low} to {high}); excess {excess}, p = {found.p_value:.4g}")
        if name in self.intervals:
            lines.append(self.format_interval(name))
        return lines

    def format_interval(self, name: str) -> str:
        """The interval of a metric, with its level."""
        span, metric = self.intervals[name], self.metrics[name]
        return f"{100 * span.confidence:g} % interval {metric.format(span.low)} to {metric.format(span.high)}"

    def describe(self, name: str) -> str:
        """What a metric measures and on which bins; its test where that is not the result's, and why it is infinite."""
        metric = self.metrics[name]
        test = metric.rejection
        own = test is not None and test.test_words != self.rejection.test_words
        words = f" ({test.test_words})" if test is not None and own else ""
        found = f"{metric.words}{words}; {metric.bins}" if metric.bins else metric.meaning
        return found if not self.separated(name) else f"{found}; infinite, since the scores separate the labels"

    def separated(self, name: str) -> bool:
        """Whether a metric is a slope without an end: the scores separate the labels."""
        return self.metrics[name].name == "slope" and math.isinf(self.values[name])

    def to_frame(self, metric: str | None = None, library: str | None = None) -> Any:
        """The bins of a metric as a dataframe, in the library the data came in unless another is named."""
        table = self.bins if metric is None else self.tables[metric]
        return table.to_frame(library or self.library)

    def __repr__(self) -> str:
        lines = [*self._verdict_lines(), self._headline()]
        wide = max(12, *map(len, self.values))
        for name in self.values:
            what, *rest = wrap(self.describe(name), max(86 - wide, 40))
            lines.append(f"  {name:<{wide}} {self.format(name):>9}  {what}")
            lines += [f"{'':>{wide + 14}}{more}" for more in [*rest, *self.explain(name)]]
        notes = [f"Note: {note}." for note in self.notes]
        if self.adjust:
            notes.append(f"Note: p-values of bins are adjusted for their number ({self.adjust}).")
        name = next(iter(self.tables), "")
        bins = ["", f"Bins of {name}", self.bins.text()] if self.tables else []
        bins += wrap(EIGHT_GRIDS, 98) if self.tables and self.in_windows(name) else []
        return "\n".join([*lines, *bins, *notes])

    def _repr_html_(self) -> str:
        values = "".join(
            f"<tr><th>{escape_html(name)}</th><td>{escape_html(self.format(name))}</td>"
            f"<td>{escape_html('; '.join([self.describe(name), *self.explain(name)]))}</td></tr>"
            for name in self.metrics
        )
        notes = "".join(f"<p>Note: {prose_html(note)}.</p>" for note in self.notes)
        bins = ""
        if self.tables:
            names = [each.name for each in self.bins.columns if each.unit != "label"]
            title = f"{len(self.bins)} bins of {escape_html(next(iter(self.tables)))}"
            bins = f"<details><summary>{title}</summary>{self.bins.html(names)}</details>"
        drawn = self.tables and self.scores is not None
        picture = _draw_inline("calibration", self, f"{self.finding}. {' '.join(self.evidence())}") if drawn else ""
        metrics = f"<details><summary>{plural(len(self.metrics), 'metric')}</summary><table>{values}</table></details>"
        return (
            f"<div>{self._verdict_html()}<p>{escape_html(self._headline())}</p>{self._ranges_html()}{picture}{metrics}"
            f"{bins}{notes}</div>"
        )

    def _ranges_html(self) -> str:
        """All predictions in ranges: rows, what was said, what came, and the ratio."""
        if self.verdict is None or not self.ranges:
            return ""
        head = "".join(f"<th>{name}</th>" for name in ("predictions", "rows", "said", "came", "ratio", ""))
        rows = []
        for name, each in zip(self.range_names, self.ranges, strict=True):
            ratio = format_span(each.ratio, each.factor.ratio_low, each.factor.ratio_high)
            said, came = map(format_share, each.shares)
            cells = (name, f"{each.rows:,}", said, came, f"\N{MULTIPLICATION SIGN} {ratio}", each.direction or "")
            rows.append(f"<tr>{''.join(f'<td>{escape_html(cell)}</td>' for cell in cells)}</tr>")
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"

    def _verdict_lines(self) -> list[str]:
        if self.verdict is None:
            return []
        texts = (wrap(text, 98, subsequent_indent="  ") for text in self.verdict.reasons())
        return [f"Verdict: {self.verdict.headline}", *(f"  {line}" for lines in texts for line in lines), ""]

    def _verdict_html(self) -> str:
        if self.verdict is None:
            return ""
        head = escape_html(f"{self.verdict.sign} {self.verdict.headline}: {self.finding}")
        return f"<p><b>{head}</b><br>{prose_html(' '.join(self.evidence()))}</p>"

    def _headline(self) -> str:
        region = f" ({self.region})" if self.region else ""
        return (
            f"{plural(self.n, 'prediction')}{region}, {100 * self.prevalence:.4g} % {self.outcome}; "
            f"{self.rejection.test_words}"
        )
