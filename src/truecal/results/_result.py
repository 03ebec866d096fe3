"""Results: the values, their bins and everything that made them; as text, HTML, JSON and dataframes."""

from __future__ import annotations

import html
import json
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from truecal import _draw_inline
from truecal.inference import Interval, Reference
from truecal.metrics import (
    METRICS,
    BayesFactor,
    BoundedIsotonic,
    Isotonic,
    Metric,
    Quantile,
    Rejection,
    Relative,
    Test,
    Tolerance,
    Uniform,
    check_test,
)
from truecal.results._encoding import decode, decode_table, encode, encode_table
from truecal.results._shapes import Scores, Shape
from truecal.results._table import Adjustment, BinTable

FORMAT = 1


@dataclass(frozen=True, slots=True, repr=False)
class Result:
    """Metrics of one model on one data set.

    Attributes
    ----------
    n, positives : int
        Observations and positives; `prevalence` is their ratio.
    values : dict
        Metric name to value: TCE in percent, gap metrics as probabilities.
    metrics : dict
        Metric name to what was computed.
    tables : dict
        Metric name to its bins; metrics of the same binning share one table.
    test, significance, tolerance
        The test behind every table.
    adjust, region
        How the bins' p-values were adjusted for their number, and which predictions were judged; None for not and
        all.
    references, intervals : dict
        Metric name to its `Reference` and its `Interval`, where they were asked for.
    bounds : dict
        Metric name to the lowest and highest value that the data allow, where scores were grouped into cells.
    scores, shapes
        What pictures need: all predictions, and for each metric name the outlines of its table's bins.
    notes : tuple of str
        What a reader should know: bounds broken by ties, bins that coincide.
    """

    n: int
    positives: int
    values: dict[str, float]
    metrics: dict[str, Metric]
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
    library: str | None = field(default=None, compare=False)

    @property
    def prevalence(self) -> float:
        """The share of positives."""
        return self.positives / self.n

    @property
    def bins(self) -> BinTable:
        """The bins of the first metric."""
        return next(iter(self.tables.values()))

    def __getitem__(self, name: str) -> float:
        return self.values[name]

    def format(self, name: str) -> str:
        """A value as it is printed: percent for TCE, five decimals for a gap."""
        return format_value(self.values[name], self.metrics[name])

    def direction(self, name: str | None = None) -> tuple[float, float]:
        """The percentages of predictions that the test of a metric's bins rejects as too low and as too high."""
        table = self.bins if name is None else self.tables[name]
        return 100 * float(table.too_low.sum()) / self.n, 100 * float(table.too_high.sum()) / self.n

    def to_frame(self, metric: str | None = None, library: str | None = None) -> Any:
        """The bins of a metric as a dataframe, in the library the data came in unless another is named."""
        table = self.bins if metric is None else self.tables[metric]
        return table.to_frame(library or self.library)

    def to_json(self) -> str:
        """Everything, as JSON that `Result.from_json` reads back to an equal result."""
        names = list(self.tables)
        first = {id(table): names[list(self.tables.values()).index(table)] for table in self.tables.values()}
        return json.dumps(
            {
                "truecal": FORMAT,
                "version": self.version,
                "n": self.n,
                "positives": self.positives,
                "prevalence": self.prevalence,
                "significance": self.significance,
                "test": encode(self.test),
                "tolerance": encode(self.tolerance),
                "adjust": self.adjust,
                "region": self.region,
                "references": {name: encode(found) for name, found in self.references.items()},
                "intervals": {name: encode(found) for name, found in self.intervals.items()},
                "bounds": {name: list(ends) for name, ends in self.bounds.items()},
                "notes": list(self.notes),
                "library": self.library,
                "metrics": {
                    name: {
                        "value": self.values[name],
                        "definition": encode(metric),
                        "bins": first[id(self.tables[name])],
                    }
                    for name, metric in self.metrics.items()
                },
                "bins": {name: encode_table(self.tables[name]) for name in dict.fromkeys(first.values())},
                "scores": encode(self.scores),
                "shapes": {name: encode(self.shapes[name]) for name in dict.fromkeys(first.values()) if self.shapes},
            },
            allow_nan=False,
        )

    @classmethod
    def from_json(cls, text: str) -> Result:
        """Read what `to_json` wrote."""
        try:
            raw = json.loads(text)
            known = raw["truecal"]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError("`text` must be the JSON of a truecal result; it is not.") from error
        if known != FORMAT:
            raise ValueError(
                f"`text` must be a truecal result of format {FORMAT}; it is of format {known!r}.\n\n"
                "Hint: it was written by another version; update truecal."
            )
        try:
            return cls._read(raw)
        except KeyError as error:
            raise ValueError(f"`text` must be a whole truecal result; {error} is missing.") from error

    @classmethod
    def _read(cls, raw: dict[str, Any]) -> Result:
        tables = {name: decode_table(columns) for name, columns in raw["bins"].items()}
        check_test(decode(raw["test"]))
        shapes = decode(raw.get("shapes", {}))
        return cls(
            n=raw["n"],
            positives=raw["positives"],
            values={name: entry["value"] for name, entry in raw["metrics"].items()},
            metrics={name: decode(entry["definition"]) for name, entry in raw["metrics"].items()},
            tables={name: tables[entry["bins"]] for name, entry in raw["metrics"].items()},
            test=decode(raw["test"]),
            significance=raw["significance"],
            tolerance=decode(raw["tolerance"]),
            notes=tuple(raw["notes"]),
            version=raw["version"],
            adjust=raw["adjust"],
            region=raw["region"],
            references=decode(raw["references"]),
            intervals=decode(raw["intervals"]),
            bounds={name: (low, high) for name, (low, high) in raw.get("bounds", {}).items()},
            scores=decode(raw.get("scores")),
            shapes={name: shapes[entry["bins"]] for name, entry in raw["metrics"].items() if shapes},
            library=raw["library"],
        )

    def __repr__(self) -> str:
        title, lines = self._headline(), [_value_line(name, self) for name in self.values]
        table = [_TEXT_HEAD, *(_bin_line(i, self.bins) for i in _shown(len(self.bins)))]
        notes = [f"Note: {note}." for note in self.notes]
        if self.adjust:
            notes.append(f"Note: p-values of bins are adjusted for their number ({self.adjust}).")
        return "\n".join([title, *lines, "", f"Bins of {next(iter(self.tables))}", *table, *notes])

    def _repr_html_(self) -> str:
        values = "".join(
            f"<tr><th>{html.escape(name)}</th><td>{self.format(name)}</td>"
            f"<td>{html.escape('; '.join([describe_metric(metric, self), *_inferences(name, self)]))}</td></tr>"
            for name, metric in self.metrics.items()
        )
        columns = {name: column.tolist() for name, column in self.bins.columns().items()}
        head = "".join(f"<th>{name.replace('_', ' ')}</th>" for name in columns)
        rows = "".join(
            "<tr>" + "".join(f"<td>{_cell(columns[name][i])}</td>" for name in columns) + "</tr>"
            for i in range(len(self.bins))
        )
        notes = "".join(f"<p>Note: {html.escape(note)}.</p>" for note in self.notes)
        picture = _draw_inline(self)
        return (
            f"<div><p><b>{html.escape(self._headline())}</b></p><table>{values}</table>{picture}"
            f"<details><summary>{len(self.bins)} bins of {html.escape(next(iter(self.tables)))}</summary>"
            f"<table><tr>{head}</tr>{rows}</table></details>{notes}</div>"
        )

    def _headline(self) -> str:
        tolerance = ""
        if self.tolerance is not None:
            kind = "relative" if isinstance(self.tolerance, Relative) else "absolute"
            tolerance = f", {kind} tolerance {self.tolerance.value:g}"
        region = f" ({self.region})" if self.region else ""
        return (
            f"{self.n:,} prediction{'s' * (self.n != 1)}{region}, {100 * self.prevalence:.4g} % positive; "
            f"{name_test(self.test, self.significance)}{tolerance}"
        )


@dataclass(frozen=True, slots=True, repr=False)
class ClassResults:
    """Metrics of one model with several classes: a `Result` for each class against the rest, and their averages."""

    per_class: dict[Any, Result]

    @property
    def values(self) -> dict[str, float]:
        """Metric name to the average over the classes."""
        results = list(self.per_class.values())
        return {name: float(np.mean([result.values[name] for result in results])) for name in results[0].values}

    def __getitem__(self, name: str) -> float:
        return self.values[name]

    def to_json(self) -> str:
        """Every class's result, as JSON that `ClassResults.from_json` reads back."""
        pairs = self.per_class.items()
        classes = [{"label": encode(label), "result": json.loads(result.to_json())} for label, result in pairs]
        return json.dumps({"truecal_classes": classes})

    @classmethod
    def from_json(cls, text: str) -> ClassResults:
        """Read what `to_json` wrote."""
        try:
            classes = json.loads(text)["truecal_classes"]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError("`text` must be the JSON of a truecal multiclass result; it is not.") from error
        return cls({entry["label"]: Result.from_json(json.dumps(entry["result"])) for entry in classes})

    def _rows(self) -> list[list[str]]:
        first = next(iter(self.per_class.values()))
        rows = [["", *map(str, self.per_class), "average"]]
        for name, average in self.values.items():
            cells = [result.format(name) for result in self.per_class.values()]
            rows.append([name, *cells, format_value(average, first.metrics[name])])
        return rows

    def __repr__(self) -> str:
        first = next(iter(self.per_class.values()))
        rows = self._rows()
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        title = f"{first.n:,} predictions, {len(self.per_class)} classes, each against the rest"
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
        return "\n".join([title, *lines])

    def _repr_html_(self) -> str:
        rows = "".join("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>" for row in self._rows())
        return f"<table>{rows}</table>"


def _row(cells: tuple[str, ...]) -> str:
    number, scores, n, k, rate, mean, accepted, rejected = cells
    return f"{number:>5}  {scores:<22} {n:>9} {k:>8} {rate:>9} {mean:>9}  {accepted:<21} {rejected:>8}".rstrip()


_TEXT_HEAD = _row(("bin", "scores", "n", "k", "rate", "mean", "accepted", "rejected"))


def _bin_line(i: int, table: BinTable) -> str:
    if i < 0:
        return "  ..."
    n, k = int(table.n[i]), int(table.k[i])
    close = "]" if i == len(table) - 1 else ")"
    scores = f"[{table.left[i]:.4g}, {table.right[i]:.4g}{close}"
    if n == 0:
        return _row((str(i + 1), scores, "0", "", "", "", "(empty)", ""))
    accepted = f"{table.accepted_low[i]:.4g} .. {table.accepted_high[i]:.4g}"
    share = f"{100 * table.rejected_share[i]:.1f} %"
    return _row(
        (str(i + 1), scores, f"{n:,}", f"{k:,}", f"{table.rate[i]:.4g}", f"{table.mean[i]:.4g}", accepted, share)
    )


def _shown(count: int, most: int = 20) -> list[int]:
    if count <= most:
        return list(range(count))
    return [*range(most // 2), -1, *range(count - most // 2, count)]


def _value_line(name: str, result: Result) -> str:
    line = f"  {name:<12} {result.format(name):>9}  {describe_metric(result.metrics[name], result)}"
    return "\n".join([line, *(f"{'':>26}{more}" for more in _inferences(name, result))])


def _inferences(name: str, result: Result) -> list[str]:
    """The direction of what is rejected, and what the reference and the interval say, in words."""
    metric, lines = result.metrics[name], []
    if isinstance(metric.loss, Rejection) and result.values[name] > 0:
        too_low, too_high = result.direction(name)
        lines.append(f"{too_low:.2f} % too low, {too_high:.2f} % too high")
    if name in result.bounds:
        low, high = (format_value(value, metric) for value in result.bounds[name])
        lines.append(f"certified {low} to {high}: scores were grouped into cells")
    if name in result.references:
        found = result.references[name]
        mean, low, high, excess = (
            format_value(value, metric) for value in (found.mean, found.low, found.high, found.excess)
        )
        lines.append(f"by chance {mean} (5 to 95 %: {low} to {high}); excess {excess}, p = {found.p_value:.4g}")
    if name in result.intervals:
        lines.append(describe_interval(result.intervals[name], metric))
    return lines


def describe_interval(span: Interval, metric: Metric) -> str:
    """An interval with its level."""
    return f"{100 * span.confidence:g} % interval {format_value(span.low, metric)} to {format_value(span.high, metric)}"


def name_test(test: Test, significance: float) -> str:
    """A test in words."""
    if isinstance(test, BayesFactor) and test.threshold is not None:
        return f"BayesFactor test at factor {test.threshold:g}"
    return f"{type(test).__name__} test at {significance:g}"


def format_value(value: float, metric: Metric) -> str:
    """A value of a metric as it is printed."""
    return f"{value:.2f} %" if isinstance(metric.loss, Rejection) else f"{value:.5f}"


def describe_metric(metric: Metric, result: Result) -> str:
    """What a metric measures, in words."""
    loss = "gap between rate and prediction"
    if isinstance(metric.loss, Rejection):
        loss = "rejected predictions"
        if metric.loss != Rejection(result.test, result.significance, result.tolerance):
            loss += f" ({name_test(metric.loss.test, metric.loss.significance)})"
    kinds = {"Mean": "", "Max": ", largest", "PNorm": ", root mean square"}
    return f"{loss}{kinds.get(type(metric.norm).__name__, '')}; {describe_bins(metric)}"


def describe_bins(metric: Metric) -> str:
    """The bins of a metric in words."""
    scheme = metric.binning
    if isinstance(scheme, (Uniform, Quantile)):
        return f"{scheme.n_bins} {'equal-width' if isinstance(scheme, Uniform) else 'equal-size'} bins"
    if isinstance(scheme, Isotonic):
        return "PAVA bins"
    return "PAVA-BC bins" if isinstance(scheme, BoundedIsotonic) else f"{type(scheme).__name__} bins"


_TITLES = {"ece_pava_bc": "ECE (PAVA-BC)"}


def name_metric(name: str) -> str:
    """A metric's name in a picture or report: TCE(Q) for the named metric tce_q; the user's own as they are."""
    if name not in METRICS:
        return name
    stem, _, kind = name.upper().partition("_")
    return _TITLES.get(name, f"{stem}({kind})" if kind else stem)


def _cell(value: float) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return "" if math.isnan(value) else f"{value:.5g}"
