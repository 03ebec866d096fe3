"""Tables that have a verdict on each row, that of segments, and that of the comparison of two models."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from truecal._text import about, plural, printable, prose_html
from truecal.inference import (
    FACTOR,
    OUTCOMES,
    SIGNS,
    Difference,
    PartName,
    Verdict,
    Word,
    describe_way,
    format_factor,
    format_in_brackets,
    name_direction,
    name_odds,
)
from truecal.metrics import LTCE, Adjustment, Measure, Tolerance, adjust_p_values, format_name
from truecal.observations import AS_THEY_ARE, Account, Bools, Floats, Ints, Labelling, Outcome
from truecal.results._table import Column, Table, column, register_table

ALONE: dict[PartName, str] = {
    "total": "Judged by the number of {} alone: errors that leave it as it is were not looked for.",
    "cox": "Judged by Cox's intercept and slope alone: errors confined to some scores were not looked for.",
}


TILTED = column(
    "text",
    "tilt",
    '"too extreme" if high predictions are shown to come true less often than predicted and low ones more often, "too '
    'timid" the other way round; "" if neither is shown.',
)


def _format_factor(factor: float) -> str:
    return "nothing" if math.isinf(factor) else f"x {format_factor(factor)}"


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Judged(Table):
    """The columns and settings of tables that have a verdict on each row, and a metric behind it."""

    n: Ints = field(metadata=column("count", "n", "Rows."))
    observed: Floats = field(
        metadata=column("count", "observed", "Positives; those of the population where rows were sampled.", about)
    )
    expected: Floats = field(
        metadata=column("count", "expected", "The positives that the predictions add up to.", about)
    )
    ratio: Floats = field(metadata=column("ratio", "obs / exp", "Observed over expected; NaN if neither is above 0."))
    ratio_low: Floats = field(
        metadata=column(
            "ratio", "low", "Lower end of its interval, exact for independent rows, under a common factor on all odds; "
            "1 - `level` is its confidence, so that all intervals hold together."
        )
    )  # fmt: skip
    ratio_high: Floats = field(metadata=column("ratio", "high", "Upper end of it."))
    p_value: Floats = field(metadata=column("p-value", "p", "The p-value of the verdict."))
    p_adjusted: Floats = field(
        metadata=column("p-value", "p adjusted", "The same, adjusted for the number of rows of the table.")
    )
    detectable: Floats = field(
        metadata=column(
            "ratio",
            "would find",
            "The factor on all odds, up or down, beyond the tolerance if there is one, that would have been found at "
            "`level` in four of five data sets; infinite if none would.",
            _format_factor,
        )
    )
    total_p: Floats = field(
        metadata=column("p-value", "total p", "The p-value of all positives against the sum of the predictions alone.")
    )
    cox_p: Floats = field(
        metadata=column(
            "p-value", "cox p", "That of Cox's test of intercept and slope alone; NaN if the verdict has no such part."
        )
    )
    tilt: tuple[str, ...] = field(metadata=TILTED)
    value: Floats = field(metadata=column("metric", "value", "The metric."))
    lowest: Floats = field(
        metadata=column(
            "metric",
            "lowest",
            "The lowest value on bins of whole cells; the value itself, unless scores are grouped into cells.",
        )
    )
    highest: Floats = field(metadata=column("metric", "highest", "The highest value on bins of whole cells."))
    by_chance: Floats = field(
        metadata=column("metric", "by chance", "The mean of the metric's null reference; NaN unless it was drawn.")
    )
    chance_p: Floats = field(metadata=column("p-value", "chance p", "The metric's p-value against its null reference."))
    chance_p_adjusted: Floats = field(
        metadata=column("p-value", "chance p adjusted", "The same, adjusted for the number of rows of the table.")
    )
    prevalence: Floats = field(metadata=column("share", "positive", "The share of positives."))
    mean: Floats = field(metadata=column("share", "predicted", "Mean prediction."))
    design_effect: Floats = field(
        metadata=column(
            "ratio", "design effect", "The variance of the positives over that of independent rows; 1 without clusters."
        )
    )
    dropped: Ints = field(metadata=column("count", "dropped", "Rows that were dropped when the data were read."))
    metric: Measure = LTCE
    replicates: int = 0
    adjust: Adjustment = "holm"
    significance: float = 0.05
    level: float = 0.05
    tolerance: Tolerance | None = None
    notes: tuple[str, ...] = ()
    labelling: Labelling = AS_THEY_ARE
    outcome: Outcome = "positive"
    accounts: tuple[Account, ...] = ()  # where the rows went, for each row of the table

    @property
    def overall_prevalence(self) -> float:
        """The share of positives in all rows of the table, that of the population where rows were sampled."""
        seen = float(np.sum(self.n * self.labelling.seen(self.prevalence))) / int(self.n.sum())
        return float(self.labelling.predicted(seen))

    @property
    def alarm(self) -> Bools:
        """Whether the data show that predictions are off: p_adjusted is at most `significance`."""
        return np.asarray(self.p_adjusted <= self.significance)

    @property
    def excess(self) -> Floats:
        """The metric minus what it is by chance."""
        return np.asarray(self.value - self.by_chance)

    @property
    def word(self) -> list[Word]:
        """The verdict on each row: "off" by the adjusted p-value; else "consistent" if a factor of 1.5 on all odds
        would have been found at `level`; else "cannot tell"."""
        words = np.select([self.alarm, self.detectable <= FACTOR], ["off", "consistent"], "cannot tell")
        return words.tolist()  # type: ignore[no-any-return]

    @property
    def direction(self) -> list[str]:
        """Of rows that are off, which way: "too low" or "too high" if the interval of their total shows it, else their
        `tilt`, or "unclear"."""
        return name_directions(self.alarm, self.ratio, self.ratio_low, self.ratio_high, self.tilt)

    def heading(self, name: str) -> str:
        """Return the heading of a column; that of `value` is the name of the metric, and what is counted as positive
        goes by its name."""
        found = self.metric.name if name == "value" else Table.heading(self, name)
        return found if self.outcome == "positive" else found.replace("positive", "correct")

    def order(self) -> Ints:
        """Return the positions of the rows, worst first: by p-value, then by the positives missed or too many."""
        return np.lexsort((-np.abs(self.observed - self.expected), self.p_value))

    def tell(self, row: int) -> str:
        """What came against what was predicted in a row, in words."""
        observed, expected = (about(float(column[row])) for column in (self.observed, self.expected))
        many = "s" * bool(self.observed[row] != 1)
        if self.outcome == "correct":
            count = (
                f"{observed} prediction{many} {'were' if many else 'was'} correct where {expected} were expected to be"
            )
        else:
            due = "should have come by now" if self.labelling.late else "were predicted"
            count = f"{observed} positive{many} came where {expected} {due}"
        if not self.expected[row] > 0:
            return count
        return f"{count} {format_in_brackets(self.ratio[row], self.ratio_low[row], self.ratio_high[row])}"

    def _format_metric(self, row: int, value: float) -> str:
        return self.metric.format(value)


def name_directions(alarm: Bools, ratio: Floats, low: Floats, high: Floats, tilt: Sequence[str]) -> list[str]:
    """Which way each row that is off is: its total, or else its tilt, if they show it; nothing for the others."""
    rows = zip(alarm.tolist(), ratio.tolist(), low.tolist(), high.tolist(), tilt, strict=True)
    return [
        (("too low" if math.isinf(each) else name_direction(*ends)) or turned or "unclear") if off else ""
        for off, each, *ends, turned in rows
    ]


def judged_columns(verdicts: Sequence[Verdict], adjust: Adjustment) -> dict[str, Any]:
    """The columns that verdicts fill."""

    def floats(values: Iterable[float]) -> Floats:
        return np.fromiter(values, np.float64, len(verdicts))

    p_value = floats(found.p_value for found in verdicts)
    return {
        "n": np.array([found.n for found in verdicts], dtype=np.int64),
        "observed": floats(found.observed for found in verdicts),
        "expected": floats(found.expected for found in verdicts),
        "ratio": floats(found.ratio for found in verdicts),
        "ratio_low": floats(found.interval[0] for found in verdicts),
        "ratio_high": floats(found.interval[1] for found in verdicts),
        "p_value": p_value,
        "p_adjusted": adjust_p_values(p_value, adjust),
        "detectable": floats(found.detectable for found in verdicts),
        "total_p": floats(found.parts.get("total", math.nan) for found in verdicts),
        "cox_p": floats(found.parts.get("cox", math.nan) for found in verdicts),
        "tilt": tuple(found.tilt or "" for found in verdicts),
        "design_effect": floats(found.design_effect for found in verdicts),
    }


DIRECTION = Column(
    "direction",
    "text",
    "predictions are",
    'Of what is off: "too low" or "too high" if the interval of the total shows it, else the tilt, or "unclear".',
)
JUDGED = (
    Column("excess", "metric", "excess", "Value minus by_chance."),
    Column("alarm", "flag", "alarm", "Whether p_adjusted is at most `significance`."),
    DIRECTION,
)


def tell_unsure(detectable: Floats, tolerance: Tolerance | None, noun: str) -> Iterator[str]:
    """Of how many rows the data cannot tell, and what would have been found in them."""
    if not len(detectable):
        return
    known = detectable[np.isfinite(detectable)]
    found = "no factor would have been found both ways"
    if len(known):
        low, high = (format_factor(float(end)) for end in (known.min(), known.max()))
        span = f"one of {low}" if low == high else f"factors from {low} to {high}"
        found = f"{span} would have been found{' in some' * (len(known) < len(detectable))}"
    yield (
        f"In {plural(len(detectable), noun)} the data cannot tell: a factor of {FACTOR:g} on "
        f"{name_odds(tolerance)} would have been missed too often; {found}."
    )


@register_table
@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class GroupTable(Judged):
    """A table with one row per segment, in the order given.

    `by` names the columns that make segments, `adjust` how p-values were adjusted for the number of segments,
    `significance` the level of an alarm, `level` that of one segment alone: over the number of segments where p-values
    are adjusted. `part` is the part of the verdict that judged alone, if one did. `metric` is the metric, `replicates`
    the largest number of sets of labels drawn for its reference.

    Examples
    --------
    >>> import truecal
    >>> columns = {"y": [0, 1] * 200, "p": [0.5] * 300 + [0.3] * 100, "country": ["de"] * 300 + ["fr"] * 100}
    >>> table = truecal.segments(truecal.read(columns, label="y", score="p", by="country"))
    >>> table.segment, table.n.tolist(), table.word
    ((('de',), ('fr',)), [300, 100], ['consistent', 'off'])
    """

    segment: tuple[tuple[Any, ...], ...] = field(metadata=column("key", "segment", "The values of the segment."))
    by: tuple[str, ...] = ()
    part: PartName | None = None

    _derived_columns: ClassVar[tuple[Column, ...]] = (
        *JUDGED,
        Column(
            "verdict",
            "text",
            "verdict",
            'By the adjusted p-value "off"; else "consistent" if a factor of 1.5 on all odds would have been found at '
            '`level`; else "cannot tell".',
        ),
    )
    _picture: ClassVar[str] = "segments"
    _shown: ClassVar[tuple[str, ...]] = (
        *("segment", "n", "observed", "expected", "ratio", "ratio_low", "ratio_high", "direction", "p_adjusted"),
        *("verdict", "detectable", "value"),
    )

    @property
    def names(self) -> list[str]:
        """The segments as text: "country=de, kind=card"."""
        if not self.by:
            return [", ".join(map(str, key)) for key in self.segment]
        return [", ".join(f"{c}={v}" for c, v in zip(self.by, key, strict=True)) for key in self.segment]

    @property
    def verdict(self) -> list[Word]:
        """The verdict on each segment among all."""
        return self.word

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

    def _rows_shown(self) -> list[int]:
        worst: list[int] = self.order()[: self._most].tolist()
        return worst

    def summary(self) -> str:
        """Return the numbers of segments and of verdicts."""
        most, words = min(len(self), self._most), self.word
        shown = f", the worst {most} first" if len(self) > most else ", worst first" * (len(self) > 1)
        counts = ", ".join(f"{words.count(word):,} {word}" for word in SIGNS if word in words)
        return f"{plural(len(self), 'segment')}{shown}: {counts or 'none'}"

    def sentences(self) -> tuple[str, ...]:
        """How many segments are off, how the worst three are, and what could have been found in the others."""
        words, names, ways = self.word, self.names, self.direction
        off = [row for row in self.order().tolist() if words[row] == "off"]
        are = "is" if len(off) == 1 else "are"
        beyond = "" if self.tolerance is None else " beyond the tolerance"
        alone = f"{beyond}, by p-values adjusted for their number" if self.adjust and len(self) > 1 else beyond
        count = f"{len(off):,}" if off else "None"
        follow = " The three worst follow." * (len(off) > 3)
        lines = [f"{count} of {plural(len(self), 'segment')} {are} off{alone}.{follow}"]
        if not off:
            lines = [f"No segment is shown to be off{alone}."]
        for row in off[:3]:
            way = describe_way(None if ways[row] == "unclear" else ways[row])
            lines.append(f"{printable(names[row])}: predictions are {way}; {self.tell(row)}.")
        if self.part is not None:
            lines.append(ALONE[self.part].format(OUTCOMES[self.outcome]))
        return (*lines, *tell_unsure(self.detectable[np.array(words) == "cannot tell"], self.tolerance, "segment"))


@register_table
@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Comparison(Table):
    """A table of two models on the same rows, with one row per metric. `comparison["tce"]` is a row as a `Difference`.

    `models` are the names of the models, `words` the verdicts on them, `metrics` the metrics, `account` says where the
    rows went that were read.

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
            "First minus second; of their distances from the best value where that lies between bad ones, as for the "
            "slope. Below 0 the first is better, unless higher is better.",
        )
    )
    low: Floats = field(metadata=column("metric", "low", "Lower end of the interval of the difference's expectation."))
    high: Floats = field(metadata=column("metric", "high", "Upper end of it."))
    confidence: Floats = field(metadata=column("share", "confidence", "The confidence of the interval."))
    replicates: Ints = field(metadata=column("count", "replicates", "How often labels were redrawn."))
    metrics: dict[str, Measure] = field(default_factory=dict)
    models: tuple[str, str] = ("first", "second")
    words: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    account: Account | None = None

    _derived_columns: ClassVar[tuple[Column, ...]] = (
        Column("verdict", "text", "verdict", "Which model is better beyond chance, in words."),
    )
    _picture: ClassVar[str] = "comparison"
    _shown: ClassVar[tuple[str, ...]] = ("metric", "first", "second", "difference", "low", "high", "verdict")

    @classmethod
    def of(
        cls,
        differences: Mapping[str, Difference],
        metrics: Mapping[str, Measure],
        *,
        models: tuple[str, str] = ("first", "second"),
        words: tuple[str, ...] = (),
        notes: tuple[str, ...] = (),
        account: Account | None = None,
    ) -> Comparison:
        """Make the table of differences, given by the names of their metrics."""
        found = list(differences.values())

        def floats(name: str) -> Floats:
            return np.array([getattr(each, name) for each in found], dtype=np.float64)

        return cls(
            metric=tuple(differences),
            first=floats("first"),
            second=floats("second"),
            difference=floats("difference"),
            low=floats("low"),
            high=floats("high"),
            confidence=floats("confidence"),
            replicates=np.array([each.replicates for each in found], dtype=np.int64),
            metrics={name: metrics[name] for name in differences},
            models=models,
            words=words,
            notes=notes,
            account=account,
        )

    def __getitem__(self, row: int | slice | str) -> Any:
        """Return a row: by its position as a named tuple, by its metric's name as a `Difference`."""
        if not isinstance(row, str):
            return Table.__getitem__(self, row)
        if row not in self.metric:
            raise KeyError(row)
        found = Table.__getitem__(self, self.metric.index(row))
        ends = found.low, found.high
        return Difference(found.first, found.second, found.difference, *ends, found.confidence, found.replicates)

    def __contains__(self, name: object) -> bool:
        return name in self.metric

    @property
    def verdict(self) -> list[str]:
        """Which model is better beyond chance: the interval of the difference does not contain 0; "cannot be compared"
        where a model has no such number."""
        missing = np.isnan(self.first) | np.isnan(self.second)
        none = np.where(missing, "cannot be compared", "no difference beyond chance").tolist()
        found = map(self.find_better, self.metric)
        return [said if better is None else f"{better} is better" for better, said in zip(found, none, strict=True)]

    def find_better(self, name: str) -> str | None:
        """The model that is better in a metric: the interval of the difference does not contain 0. None if neither.

        A model is worse calibrated only where its verdict is "off": of two that nothing speaks against, none is.
        """
        i = self.metric.index(name)
        low, high = float(self.low[i]), float(self.high[i])
        if not (low > 0 or high < 0):
            return None
        best = 0 if (high < 0) != (self.metrics[name].bad == "low") else 1
        if self.words and not self.metrics[name].overall and self.words[1 - best] != "off":
            return None
        return self.models[best]

    def sentences(self) -> tuple[str, ...]:
        """Which model is better calibrated, by the first metric of calibration, which has the better log loss (or the
        first metric that is about more than calibration), and whether these disagree."""
        own = [name for name in self.metric if not self.metrics[name].overall][:1]
        overall = sorted((name for name in self.metric if self.metrics[name].overall), key=lambda n: n != "log_loss")[
            :1
        ]
        verdicts = ", ".join(f"{model}: {word}" for model, word in zip(self.models, self.words, strict=False))
        lines = [f"{verdicts}."] if verdicts else []
        lines += [self._tell(name) for name in own + overall]
        better = [model for name in own + overall if (model := self.find_better(name)) is not None]
        if len(set(better)) == 2:
            lines.append(
                f"These disagree: the probabilities of {better[0]} are nearer to what happens, and {better[1]} tells "
                "more about which rows are positive. Recalibrating it may give both."
            )
        return tuple(lines)

    @property
    def sentence(self) -> str:
        """The sentences as one text."""
        return " ".join(self.sentences())

    def _tell(self, name: str) -> str:
        """Which model is better in a metric, or that no difference is shown, with the values."""
        i, metric, title = self.metric.index(name), self.metrics[name], format_name(name)
        values = [metric.format(column[i].item()) for column in (self.first, self.second)]
        better = self.find_better(name)
        if better is None:
            what = title if metric.overall else f"calibration ({title})"
            return f"No difference in {what} is shown: {' and '.join(values)}."
        what = f"has the better {title}: " if metric.overall else f"is better calibrated: {title} "
        return f"{better} {what}{' against '.join(values if better == self.models[0] else values[::-1])}."

    def heading(self, name: str) -> str:
        """Return the heading of a column; those of values are the names of the models."""
        return dict(zip(("first", "second"), self.models, strict=True)).get(name) or Table.heading(self, name)

    def _format_metric(self, row: int, value: float) -> str:
        return self.metrics[self.metric[row]].format(value)

    def __repr__(self) -> str:
        return "\n".join([*self.sentences(), Table.__repr__(self)])

    def _repr_html_(self) -> str:
        return f"<p><b>{prose_html(self.sentence)}</b></p>{Table._repr_html_(self)}"

    def summary(self) -> str:
        """Return the names of the models and the confidence of the intervals."""
        levels = sorted({f"{100 * level:g}" for level in self.confidence})
        return f"{self.models[0]} minus {self.models[1]} on the same rows, {' and '.join(levels)} % intervals"
