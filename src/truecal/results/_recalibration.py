"""A recalibration: the calibration map, its held-out validation, and the map as SQL."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from textwrap import wrap
from typing import Any, ClassVar, Literal

import numpy as np

from truecal import _draw_inline
from truecal._codes import Code
from truecal._errors import option
from truecal._text import Terminal, escape_html
from truecal.data import Floats, Ints, Note, Segment, is_masked
from truecal.inference import Difference, Map
from truecal.results._json import JsonMixin, register
from truecal.results._result import Result
from truecal.results._table import WIDE, Column, Table, column, name_segments, register_table
from truecal.verdict import Status

Quotes = Literal["ansi", "backtick"]
FARTHEST = 600.0  # log-odds whose exponential a double holds (its limit is 709), with room for the offsets of segments


class RecalibrationStatus(Code):
    """What is known of a recalibration, by its held-out validation."""

    HELPS = "helps"  # the log loss falls, beyond chance
    HARMS = "harms"  # the log loss rises, beyond chance
    NOT_SHOWN = "not shown to help"  # no change beyond chance, and the model may need one
    NOT_NEEDED = "not needed"  # no change beyond chance, and the model is consistent with its labels
    NOT_FITTED = "cannot be fitted"  # all labels are the same
    NOT_VALIDATED = "not validated"


class ValidationMethod(Code):
    """Which rows a map was validated on."""

    FOLDS = "cross-validation"  # each fold by a map of the others
    FORWARD = "forward in time"  # each period by a map of earlier periods
    SEPARATE = "separate rows"  # by the map itself


class SegmentChange(Code):
    """How the held-out log loss of a segment changes, beyond chance."""

    BETTER = "better"
    WORSE = "worse"


@register_table
@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ValidationTable(Table):
    """A table with one row per segment: the effect of a recalibration on rows that it was not fitted to.

    Statuses are by Holm-adjusted p-values, and intervals are simultaneous over all segments (Bonferroni).

    Examples
    --------
    >>> import truecal
    >>> columns = {"y": [0, 1] * 200, "p": [0.3] * 400, "country": ["de"] * 300 + ["fr"] * 100}
    >>> recalibration = truecal.recalibrate(truecal.read(columns, label="y", score="p", by="country"))
    >>> table = recalibration.validation.segments
    >>> table.segment, table.change
    ((('de',), ('fr',)), ('better', None))
    """

    segment: tuple[Segment, ...] = field(metadata=column("key", "segment", "Its values in the columns `by`."))
    n: Ints = field(metadata=column("count", "n", "Rows."))
    ratio_before: Floats = field(
        metadata=column("ratio", "O/E before", "Observed over expected positives before recalibration.")
    )
    ratio_after: Floats = field(metadata=column("ratio", "O/E after", "The same after recalibration."))
    before: tuple[Status, ...] = field(metadata=column("text", "before", "The verdict before recalibration."))
    after: tuple[Status, ...] = field(metadata=column("text", "after", "The verdict after recalibration."))
    common: tuple[Status, ...] = field(
        metadata=column("text", "common map", "The verdict after the common map alone, without the segment's offset.")
    )
    reduction: Floats = field(
        metadata=column("ratio", "log loss reduction", "The mean log loss before minus that after.")
    )
    low: Floats = field(metadata=column("ratio", "low", "Lower end of the confidence interval of the reduction."))
    high: Floats = field(metadata=column("ratio", "high", "Upper end of the confidence interval of the reduction."))
    by: tuple[str, ...] = ()
    confidence: float = 0.95

    _derived_columns: ClassVar[tuple[Column, ...]] = (
        Column("interval", "span", "CI", "The confidence interval of the reduction."),
        Column("change", "text", "change", '"better" or "worse" if the interval excludes 0.'),
    )
    _shown: ClassVar[tuple[str, ...]] = (
        *("segment", "n", "ratio_before", "ratio_after", "before", "after", "reduction", "interval", "change"),
    )
    _spare: ClassVar[tuple[str, ...]] = (
        "interval",
        "ratio_before",
        "before",
        "reduction",
        "n",
        "change",
        "ratio_after",
    )

    @property
    def names(self) -> list[str]:
        """The segments as text: "country=de, age=old"."""
        return name_segments(self.by, self.segment)

    @property
    def interval(self) -> list[str]:
        """The confidence interval of the reduction, as text."""
        return [f"{low:.3g} to {high:.3g}" for low, high in zip(self.low.tolist(), self.high.tolist(), strict=True)]

    @property
    def change(self) -> tuple[SegmentChange | None, ...]:
        """Whether each segment is better or worse, beyond chance."""
        return tuple(
            SegmentChange.BETTER if low > 0 else SegmentChange.WORSE if high < 0 else None
            for low, high in zip(self.low.tolist(), self.high.tolist(), strict=True)
        )

    @property
    def summary(self) -> str:
        """Return how many segments are better, worse and miscalibrated, in one or two sentences."""
        from truecal import words

        return words.summarize_validation_table(self)


@register_table
@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class OffsetTable(Table):
    """A table with one row per segment of a map by segments: its odds ratio beyond the common map.

    Segments are listed from the largest odds ratio to the smallest.

    Examples
    --------
    >>> import truecal
    >>> columns = {"y": [0, 1] * 200 + [0, 0, 0, 1] * 100, "p": [0.3] * 800, "country": ["de"] * 400 + ["fr"] * 400}
    >>> recalibration = truecal.recalibrate(truecal.read(columns, label="y", score="p", by="country"), by="country")
    >>> [(row.segment, round(row.odds_ratio, 2)) for row in recalibration.offset_table]
    [(('de',), 1.66), (('fr',), 0.57)]
    """

    segment: tuple[Segment, ...] = field(metadata=column("key", "segment", "Its values in the columns `by`."))
    offset: Floats = field(metadata=column("ratio", "log-odds offset", "What is added to its log-odds."))
    by: tuple[str, ...] = ()

    _derived_columns: ClassVar[tuple[Column, ...]] = (
        Column("odds_ratio", "ratio", "odds ratio", "What its odds are multiplied by."),
    )
    _shown: ClassVar[tuple[str, ...]] = ("segment", "odds_ratio", "offset")

    @property
    def names(self) -> list[str]:
        """The segments as text: "country=de, age=old"."""
        return name_segments(self.by, self.segment)

    @property
    def odds_ratio(self) -> Floats:
        """What the odds of each segment are multiplied by."""
        with np.errstate(over="ignore"):
            return np.exp(self.offset)

    @property
    def summary(self) -> str:
        """Return what the table contains."""
        from truecal import words

        return words.summarize_offset_table(self)


@register_table
@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class EffectTable(Table):
    """A table with one row per metric of the held-out rows, before and after recalibration.

    Examples
    --------
    >>> import truecal
    >>> table = truecal.recalibrate([0, 1] * 200, [0.3] * 400).validation.table
    >>> table.metric[:3]
    ('O/E', 'ltce', 'log_loss')
    """

    metric: tuple[str, ...] = field(metadata=column("key", "metric", "Observed over expected positives, or a metric."))
    before: Floats = field(metadata=column("metric", "before", "Its value before recalibration."))
    after: Floats = field(metadata=column("metric", "after", "Its value after recalibration."))
    reduction: Floats = field(metadata=column("ratio", "reduction", "Before minus after, of mean losses; else empty."))
    low: Floats = field(metadata=column("ratio", "low", "Lower end of the confidence interval of the reduction."))
    high: Floats = field(metadata=column("ratio", "high", "Upper end of the confidence interval of the reduction."))
    confidence: float = 0.95

    _shown: ClassVar[tuple[str, ...]] = ("metric", "before", "after", "reduction", "low", "high")

    @property
    def summary(self) -> str:
        """Return what the table contains."""
        from truecal import words

        return words.summarize_effect_table(self)


@register
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Validation(JsonMixin):
    """Held-out validation: the effect of a recalibration on rows that it was not fitted to.

    `before` and `after` are results of the same held-out rows, `log_loss` and `brier` the mean differences of the rows'
    losses, before minus after, with confidence intervals: above 0 is better. `kinds` counts the kinds of map that were
    fitted. `skill` is the share of the log loss of a constant prediction that is removed, before and after: a constant
    is calibrated and has no skill. `method` and `parts` (folds or periods) say which rows were held out, `source` names
    separate rows, `cluster` the column by which folds were made. `segments` has the effect on each segment, if rows
    were read by some.

    Examples
    --------
    >>> import truecal
    >>> columns = {"y": [0, 1] * 200, "p": [0.3] * 400, "country": ["de"] * 300 + ["fr"] * 100}
    >>> validation = truecal.recalibrate(truecal.read(columns, label="y", score="p", by="country")).validation
    >>> validation.before.verdict.status, validation.after.verdict.status, validation.log_loss.low > 0
    ('miscalibrated', 'consistent', True)
    """

    before: Result
    after: Result
    log_loss: Difference
    brier: Difference
    kinds: dict[str, int]
    skill: tuple[float, float]
    method: ValidationMethod
    parts: int = 1
    source: str | None = None
    cluster: str | None = None
    segments: ValidationTable | None = None

    @property
    def helped(self) -> bool:
        """Whether the log loss falls, beyond chance."""
        return self.log_loss.low > 0

    @property
    def harmed(self) -> bool:
        """Whether the log loss rises, beyond chance."""
        return self.log_loss.high < 0

    @property
    def statuses(self) -> tuple[Status | None, Status | None]:
        """The verdicts before and after."""
        before, after = (
            None if result.verdict is None else result.verdict.status for result in (self.before, self.after)
        )
        return before, after

    @property
    def table(self) -> EffectTable:
        """Observed over expected and each metric, before and after; mean losses with their reduction."""
        ratios = [math.nan if one.verdict is None else one.verdict.ratio for one in (self.before, self.after)]
        gaps = {"log_loss": self.log_loss, "brier": self.brier}
        names = tuple(self.before.values)
        columns = {
            part: np.array([math.nan, *(getattr(gaps[name], part) if name in gaps else math.nan for name in names)])
            for part in ("difference", "low", "high")
        }
        return EffectTable(
            metric=("O/E", *names),
            before=np.array([ratios[0], *(self.before[name] for name in names)]),
            after=np.array([ratios[1], *(self.after[name] for name in names)]),
            reduction=columns["difference"],
            low=columns["low"],
            high=columns["high"],
            confidence=self.log_loss.confidence,
        )


@register
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ErrorChange(JsonMixin):
    """A change over time of the error that a map leaves: observed over expected positives before and since a period."""

    period: Any
    every: str | None
    p_value: float
    ratio_before: float
    ratio_since: float


@register
@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Recalibration(JsonMixin):
    """A calibration map for a model's predictions, and its held-out validation.

    Parameters
    ----------
    map : Map
        The map of all predictions: its kind and its parameters.
    by, segments, offsets
        Columns, and for each of their segments what is added to the log-odds, shrunk towards 0.
    n, positives : int
        The rows that it was fitted to.
    means : two floats or None
        Mean predictions of these rows and of the positives among them, by which the rows are recognized; None if there
        are few distinct predictions.
    validation : Validation or None
        The effect on rows that it was not fitted to.
    contradicted : int
        Labels that contradict a prediction of exactly 0 or 1, which no map of the odds changes.
    error_change : ErrorChange or None
        A change over time of the error that the map leaves, if it is beyond chance.
    weighted : bool
        Whether rows have importance weights, which neither the map nor its validation uses.

    Examples
    --------
    >>> import numpy as np, truecal
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(1, 9, size=20_000)
    >>> y = rng.random(20_000) < 2 * p / (1 + p)               # the odds are twice those predicted
    >>> recalibration = truecal.recalibrate(y, p)
    >>> recalibration.kind, recalibration.status, round(float(recalibration.apply(0.1)), 3)
    ('offset', 'helps', 0.18)
    """

    map: Map
    n: int
    positives: int
    means: tuple[float, float] | None = None
    by: tuple[str, ...] = ()
    segments: tuple[Segment, ...] = ()
    offsets: Floats = field(default_factory=lambda: np.zeros(0))
    label: str | None = None
    score: str | None = None
    validation: Validation | None = None
    contradicted: int = 0
    error_change: ErrorChange | None = None
    weighted: bool = False
    notes: tuple[Note, ...] = ()
    version: str = ""

    _derived: ClassVar[tuple[str, ...]] = ("kind", "status", "helped")

    @property
    def kind(self) -> str:
        """The kind of the map: "none", "offset", "logistic", "beta" or "isotonic"."""
        return self.map.kind

    @property
    def status(self) -> RecalibrationStatus:
        """Whether held-out rows show that it helps or harms, or why that is not known."""
        if self.positives in (0, self.n):
            return RecalibrationStatus.NOT_FITTED
        validation = self.validation
        if validation is None:
            return RecalibrationStatus.NOT_VALIDATED
        if validation.helped:
            return RecalibrationStatus.HELPS
        if validation.harmed:
            return RecalibrationStatus.HARMS
        consistent = validation.statuses[0] == Status.CONSISTENT
        return RecalibrationStatus.NOT_NEEDED if consistent else RecalibrationStatus.NOT_SHOWN

    @property
    def helped(self) -> bool:
        """Whether held-out rows show that it helps."""
        return self.validation is not None and self.validation.helped

    @property
    def is_constant(self) -> bool:
        """Whether a smooth map makes all predictions the same: higher predictions have fewer positives."""
        return self.kind in ("logistic", "beta") and self.map.low == self.map.high == 0

    @property
    def offset_table(self) -> OffsetTable | None:
        """The odds ratio of each segment beyond the common map; None for a map without segments."""
        if not self.by:
            return None
        order = np.argsort(-self.offsets, kind="stable")
        return OffsetTable(
            segment=tuple(self.segments[index] for index in order.tolist()), offset=self.offsets[order], by=self.by
        )

    def apply(self, p: Any, segments: Mapping[str, Sequence[Any]] | None = None) -> Any:
        """Return recalibrated predictions, a number or an array; a map by segments needs the columns that it names.

        Segments that were absent when it was fitted get the common map.
        """
        if is_masked(p) and p.mask.any():
            raise ValueError(f"{option('p')} must not be missing; some values are masked.")
        values = np.asarray(p, dtype=np.float64)
        if ((values < 0) | (values > 1)).any() or np.isnan(values).any():
            raise ValueError(f"{option('p')} must lie in [0, 1]; some do not.")
        if not self.by:
            recalibrated = self.map.apply(values)
            return float(recalibrated) if values.ndim == 0 else recalibrated
        if segments is None or any(name not in segments for name in self.by):
            raise ValueError(f"{option('segments')} must have the columns {', '.join(map(repr, self.by))}.")
        known = dict(zip(self.segments, self.offsets.tolist(), strict=True))
        keys = zip(*(segments[name] for name in self.by), strict=True)
        return self.map.apply(values, np.array([known.get(key, 0.0) for key in keys], dtype=np.float64))

    def to_sql(self, score: str = "p", quotes: Quotes = "ansi") -> str:
        """Return the map as an SQL expression of a column or expression `score`.

        It runs in DuckDB, Postgres and, with `quotes="backtick"`, in Spark and BigQuery. Predictions that are NULL stay
        NULL. Characters of segments that are not printable are written by their code points.
        """
        one = self.map
        offset = self._offset_sql(quotes)
        if one.kind != "isotonic":
            return _smooth_sql(one, score, offset)
        steps = zip(reversed(one.edges.tolist()), reversed(one.values.tolist()), strict=True)
        expression = f"CASE {' '.join(f'WHEN {score} >= {edge!r} THEN {value!r}' for edge, value in steps)} END"
        if one.share < 1:
            expression = f"{one.share!r} * {expression} + {1 - one.share!r} * ({_smooth_sql(one, score)})"
        return expression if not offset else _odds_sql(f"({expression})", f"EXP(-({offset}))")

    def _offset_sql(self, quotes: Quotes) -> str:
        if not self.by:
            return ""
        mark = {"ansi": '"', "backtick": "`"}[quotes]
        names = [quote_name(name, mark) for name in self.by]
        cases = []
        for segment, shift in zip(self.segments, self.offsets.tolist(), strict=True):
            tests = (
                f"{name} IS NULL" if value is None else f"{name} = {_literal(value, quotes)}"
                for name, value in zip(names, segment, strict=True)
            )
            cases.append(f"WHEN {' AND '.join(tests)} THEN {shift!r}")
        return f"CASE {' '.join(cases)} ELSE 0 END"

    @property
    def temperature(self) -> float:
        """The temperature of an offset or logistic map: `logit / temperature + bias` are the recalibrated logits.

        Plain numbers, for torch or any other library: `probabilities = torch.sigmoid(logits / temperature + bias)`.
        """
        if self.by or self.map.low != self.map.high or self.kind == "isotonic":
            raise ValueError(f'A temperature belongs to maps of kind "offset" or "logistic"; this is {self.kind!r}.')
        return 1 / self.map.low if self.map.low else math.inf

    @property
    def bias(self) -> float:
        """What is added to logits after the division by the temperature."""
        return self.map.intercept

    @property
    def summary(self) -> str:
        """Whether the recalibration helps, in one sentence."""
        from truecal import words

        return words.summarize_recalibration(self)

    def sentences(self) -> tuple[str, ...]:
        """Return the map, its validation and the verdicts before and after, as sentences."""
        from truecal import words

        return words.describe_recalibration(self)

    def warnings(self) -> tuple[str, ...]:
        """Return what a user should check before the map is applied, as notes."""
        from truecal import words

        return words.describe_recalibration_notes(self)

    def __repr__(self) -> str:

        lines = [line for text in self.sentences() for line in wrap(text, 100, subsequent_indent="  ")]
        return "\n".join([*lines, *self.tables(), *(f"Note: {note}." for note in self.warnings())])

    def tables(self, terminal: Terminal = WIDE) -> list[str]:
        """Return the tables of segments as text: the validation of each, and its odds ratio."""
        validated = None if self.validation is None else self.validation.segments
        texts = [] if validated is None else [validated.text(terminal)]
        if self.offset_table is not None and self.offsets.any():
            texts.append(f"{terminal.wrap(self.offset_table.summary)}:\n{self.offset_table.text(terminal)}")
        return texts

    def _repr_html_(self) -> str:
        text = escape_html(" ".join(self.sentences()))
        if self.validation is None:
            return f"<p>{text}</p>"
        tables = (self.validation.table, self.validation.segments, self.offset_table if self.offsets.any() else None)
        shown = "".join(table.html(table._shown) for table in tables if table is not None)
        return f"<p>{text}</p>{_draw_inline('recalibration', self, self.summary)}{shown}"


def _find_ends(one: Map) -> tuple[str, str]:
    """Return the predictions from which on a map gives 0 or 1: odds beyond exp(-600) and exp(600).

    Postgres and BigQuery raise an error if an exponential overflows.
    """
    first = math.exp(min((-FARTHEST - one.intercept) / one.low, 0.0)) if one.low > 0 else 0.0
    last = -math.expm1(min((one.intercept - FARTHEST) / one.high, 0.0)) if one.high > 0 else 1.0
    return repr(first) if first > 0 else "0", repr(last) if last < 1 else "1"


def _smooth_sql(one: Map, score: str, offset: str = "") -> str:
    """Return a map of c, a and b as SQL."""
    shift = " + ".join(filter(None, [repr(one.intercept) if one.intercept else "", offset])) or "0"
    if (one.low, one.high) == (1.0, 1.0):
        if not offset and one.intercept == 0:
            return score
        return _odds_sql(score, f"EXP(-({shift}))" if offset else repr(math.exp(-one.intercept)))
    odds = f"{shift} + {one.low!r} * LN({score}) - {one.high!r} * LN(1 - {score})"
    first, last = _find_ends(one)
    return f"CASE WHEN {score} <= {first} THEN 0 WHEN {score} >= {last} THEN 1 ELSE 1 / (1 + EXP(-({odds}))) END"


def _odds_sql(score: str, factor: str) -> str:
    return f"{score} / ({score} + (1 - {score}) * {factor})"


def quote_name(name: str, mark: str = '"') -> str:
    """Return the name of a column in SQL, where characters that are not printable cannot be written."""
    if not name.isprintable():
        raise ValueError(f"Names of columns must be printable to be written as SQL; {name!r} is not.")
    return mark + name.replace(mark, mark * 2) + mark


def _literal(value: Any, quotes: Quotes) -> str:
    """Return the value of a segment in SQL."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, (int, float)):
        return repr(value)
    text = str(value)
    if quotes == "backtick":  # Spark and BigQuery read backslashes in text
        codes = {ord(sign): rf"\U{ord(sign):08x}" for sign in text if not sign.isprintable()}
        return "'" + text.translate(codes | {ord(sign): f"\\{sign}" for sign in "\\'"}) + "'"
    parts = list[str]()
    for shown, run in groupby(text, str.isprintable):
        signs = list(run)
        parts += ["'" + "".join(signs).replace("'", "''") + "'"] if shown else [f"CHR({ord(sign)})" for sign in signs]
    return " || ".join(parts) or "''"
