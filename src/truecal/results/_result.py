"""Results: the values, their bins and everything that made them; as text, HTML, JSON and dataframes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from textwrap import wrap
from typing import Any, ClassVar

import numpy as np

from truecal import _draw_inline
from truecal._text import Terminal, escape_html, plural, prose_html
from truecal.data import NO_SAMPLING, Note, NoteCode, Outcome, RowCounts, Sampling
from truecal.inference import Interval, NullDistribution
from truecal.metrics import Adjustment, Measure, Metric, PointwiseTest, Test, Tolerance, check_test
from truecal.results._bands import BandTable
from truecal.results._bins import BinTable
from truecal.results._curve import Curve
from truecal.results._json import JsonMixin, register
from truecal.results._region import Region
from truecal.results._shapes import Scores, Shape
from truecal.verdict import Verdict


@register
@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Result(JsonMixin):
    """Metrics of one model on one data set.

    Attributes
    ----------
    verdict : Verdict or None
        Whether the model is miscalibrated, consistent with the data, or neither can be shown; at `significance`, and
        without a tolerance.
    bands : BandTable
        All predictions in at most five score bands, with simultaneous confidence intervals; those of a miscalibrated
        model have a direction if they are shown to miss.
    n, positives : int
        Observations and positives; `prevalence` is their ratio, or that of the population.
    sampling : Sampling
        How rows got their labels and their place in the data. Where rows were sampled by label, values and tables are
        of the population, and counts of the rows that are there.
    weighted : bool
        Whether values are weighted by importance; the verdict and the tables are not.
    row_counts : RowCounts
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
        How the bins' p-values were adjusted for their number, and which predictions were evaluated. None: not
        adjusted, and all.
    nulls, intervals : dict
        Metric name to its `NullDistribution` and its `Interval`, where they were asked for.
    bounds : dict
        Where scores were grouped into cells: metric name to the lowest and highest value on these bins of cells. The
        exact scores have other bins, whose value may lie outside.
    scores, shapes, curve
        What pictures need: all predictions, for each metric name the outlines of its table's bins, and the isotonic
        reliability curve, with a consistency band where labels were redrawn.
    notes : tuple of Note
        What a reader should know: bounds broken by ties, bins that coincide.

    Examples
    --------
    >>> import truecal
    >>> result = truecal.evaluate([0, 1] * 100, [0.2] * 100 + [0.3] * 100)
    >>> result.summary
    'Miscalibrated: under-predicts, observed 100, expected 50, O/E 2.00 (95% CI 1.72–2.28).'
    >>> result.n, result.verdict.status, round(result["ece"], 2)
    (200, 'miscalibrated', 0.25)
    >>> truecal.Result.from_json(result.to_json()) == result
    True
    """

    verdict: Verdict | None = field(default=None, kw_only=True)
    n: int
    positives: int
    row_counts: RowCounts
    values: dict[str, float]
    metrics: dict[str, Measure]
    tables: dict[str, BinTable]
    test: Test
    significance: float
    tolerance: Tolerance | None
    notes: tuple[Note, ...]
    version: str
    adjust: Adjustment = None
    region: Region | None = None
    nulls: dict[str, NullDistribution] = field(default_factory=dict)
    intervals: dict[str, Interval] = field(default_factory=dict)
    bounds: dict[str, tuple[float, float]] = field(default_factory=dict)
    scores: Scores | None = None
    shapes: dict[str, Shape] = field(default_factory=dict)
    curve: Curve | None = None
    seed: int | None = None
    library: str | None = field(default=None, compare=False)
    sampling: Sampling = NO_SAMPLING
    weighted: bool = False

    _derived: ClassVar[tuple[str, ...]] = ("prevalence",)

    def __post_init__(self) -> None:
        check_test(self.test)

    @property
    def prevalence(self) -> float:
        """The share of positives, that of the population where rows were sampled by label."""
        return float(self.sampling.to_population(self.positives / self.n))

    @property
    def bands(self) -> BandTable:
        """All predictions in at most five score bands, with a direction if they are shown to miss."""
        if self.verdict is None:
            raise ValueError("Score bands are part of a verdict; this result has none.")
        return BandTable.of(self.verdict)

    @property
    def summary(self) -> str:
        """The verdict in one sentence."""
        from truecal import words

        return words.summarize_result(self)

    def sentences(self) -> tuple[str, ...]:
        """Return the verdict in sentences: the summary, the evidence, what to do or what was detectable."""
        from truecal import words

        return words.describe_result(self)

    @property
    def outcome(self) -> Outcome:
        """What is counted as positive: "correct" where the most probable of several classes is judged."""
        return "positive" if self.verdict is None else self.verdict.outcome

    @property
    def rejection(self) -> PointwiseTest:
        """The test behind the tables, with its level and tolerance."""
        return PointwiseTest(self.test, self.significance, self.tolerance)

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
        """Return the value of a metric."""
        if name not in self.values:
            raise KeyError(f"{name!r} must be one of the metrics that were computed: {', '.join(self.values)}.")
        return self.values[name]

    def format(self, name: str) -> str:
        """A value as it is printed, in the unit of its metric."""
        return self.metrics[name].format(self.values[name])

    def direction(self, name: str | None = None) -> tuple[float, float]:
        """The shares of predictions that the test of a metric's bins rejects as too low and as too high."""
        name = next(iter(self.tables), "") if name is None else name
        table, test = self.tables[name], self.metrics[name].rejection
        local = None if self.verdict is None else self.verdict.local
        if self.in_windows(name) and local is not None and math.isclose(local.value, self.values[name], rel_tol=1e-9):
            return local.too_low / 100, local.too_high / 100
        size = self.sampling.rows(table.n, table.k)
        low, high = (
            float(np.sum(size * side / np.maximum(table.n, 1))) for side in (table.n_too_low, table.n_too_high)
        )
        whole = float(size.sum())
        if low + high > 0 and test is not None and self.in_windows(name) and test.share_of == "predictions":
            whole = (
                100 * (low + high) / self.values[name]
            )  # tables have whole rows of windows that are rejected in part
        return low / whole, high / whole

    def in_windows(self, name: str) -> bool:
        """Whether the bins of a metric are windows: one of the eight grids by which predictions are rejected."""
        test = self.metrics[name].rejection
        return test is not None and not test.per_prediction

    def separated(self, name: str) -> bool:
        """Whether a metric is an infinite slope: the scores separate the labels."""
        return self.metrics[name].name == "slope" and math.isinf(self.values[name])

    def to_frame(self, metric: str | None = None, library: str | None = None) -> Any:
        """The bins of a metric as a dataframe, in the library the data came in unless another is named."""
        table = self.bins if metric is None else self.tables[metric]
        return table.to_frame(library or self.library)

    def __repr__(self) -> str:
        from truecal import words

        lines = [line for text in self.sentences() for line in wrap(text, 98, subsequent_indent="  ")]
        lines += wrap(words.describe_rejected(self), 98, subsequent_indent="  ") if self.verdict is not None else []
        lines += ["", f"{words.describe_source(self)}; {self.rejection.test_words}"]
        wide = max(12, *map(len, self.values))
        for name in self.values:
            what, *rest = wrap(words.describe_metric(self, name), max(86 - wide, 40))
            lines.append(f"  {name:<{wide}} {self.format(name):>9}  {what}")
            lines += [f"{'':>{wide + 14}}{more}" for more in [*rest, *words.explain_value(self, name)]]
        notes = words.list_notes(self.notes)
        if self.adjust:
            notes += words.list_notes([Note.of(NoteCode.P_VALUES_ADJUSTED, method=self.adjust)])
        name = next(iter(self.tables), "")
        bins = ["", f"Bins of {name}", self.bins.text(Terminal())] if self.tables else []
        bins += wrap(words.explain_bins(self.bins), 98) if self.tables else []
        return "\n".join([*lines, *bins, *notes])

    def _repr_html_(self) -> str:
        from truecal import words

        values = "".join(
            f"<tr><th>{escape_html(name)}</th><td>{escape_html(self.format(name))}</td><td>"
            f"{escape_html('; '.join([words.describe_metric(self, name), *words.explain_value(self, name)]))}</td></tr>"
            for name in self.metrics
        )
        notes = "".join(f"<p>{prose_html(note)}</p>" for note in words.list_notes(self.notes))
        bins = ""
        if self.tables:
            title = f"{len(self.bins)} bins of {escape_html(next(iter(self.tables)))}"
            bins = f"<details><summary>{title}</summary>{self.bins.html()}</details>"
        drawn = self.tables and self.scores is not None
        picture = _draw_inline("calibration", self, " ".join(self.sentences())) if drawn else ""
        metrics = f"<details><summary>{plural(len(self.metrics), 'metric')}</summary><table>{values}</table></details>"
        source = f"<p>{escape_html(words.describe_source(self))}; {escape_html(self.rejection.test_words)}</p>"
        return f"<div>{self._verdict_html()}{source}{self._bands_html()}{picture}{metrics}{bins}{notes}</div>"

    def _bands_html(self) -> str:
        if self.verdict is None or not self.verdict.bands:
            return ""
        return self.bands.html([name for name in BandTable._shown if name != "bar"])

    def _verdict_html(self) -> str:
        if self.verdict is None:
            return ""
        from truecal import words

        head = escape_html(f"{words.label_sign(self.verdict.status)} {self.summary}")
        p_value = escape_html(words.format_p_value(self.verdict.p_value))
        return f"<p><b>{head}</b> ({p_value})<br>{prose_html(' '.join(self.sentences()[1:]))}</p>"
