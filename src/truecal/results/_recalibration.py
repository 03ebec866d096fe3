"""A recalibration: the map, what it does on rows that it has not seen, and how it is written elsewhere."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from textwrap import wrap
from typing import Any, ClassVar, Literal

import numpy as np

from truecal import _draw_inline
from truecal._errors import option
from truecal._text import Terminal, escape_html, plural, printable
from truecal.inference import Difference, Map
from truecal.observations import Floats, Ints, Segment
from truecal.results._json import Stored, register
from truecal.results._result import Result
from truecal.results._table import WIDE, Column, Table, column, register_table

Quotes = Literal["ansi", "backtick"]
CLIPPED = (
    "An outcome that was predicted to be impossible has an infinite log loss; it counts as if its probability were "
    "1e-15."
)
UNPROVEN = (
    "The model is off, but it is not shown that one map for all rows mends it: look for groups of rows (`truecal "
    "slices`), and let each have an offset of its own ({by})."
)
STILL = "It is off still: look for groups of rows (`truecal slices`), try another kind, or train again."
SHOWN = np.array([0.01, 0.1, 0.5])  # predictions by which a map is told
FARTHEST = 600.0  # log-odds whose exponential a double holds, with room for the offsets of segments
WORDS = {
    "none": "none, predictions stay as they are",
    "offset": "one factor on all odds",
    "logistic": "intercept and slope on the log-odds",
    "beta": "a beta map",
    "isotonic": "steps of isotonic regression",
}


@register_table
@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class ProofTable(Table):
    """A table with one row per segment: what a recalibration does to it, on rows that it was not fitted to.

    Verdicts are by p-values that are adjusted for the number of segments by Holm's method, and intervals hold for all
    segments together (Bonferroni).

    Examples
    --------
    >>> import truecal
    >>> columns = {"y": [0, 1] * 200, "p": [0.3] * 400, "country": ["de"] * 300 + ["fr"] * 100}
    >>> mend = truecal.recalibrate(truecal.read(columns, label="y", score="p", by="country"))
    >>> table = mend.proof.segments
    >>> table.segment, table.change
    ((('de',), ('fr',)), ('better', ''))
    """

    segment: tuple[Segment, ...] = field(metadata=column("key", "segment", "Its values in the columns `by`."))
    n: Ints = field(metadata=column("count", "n", "Rows."))
    ratio_before: Floats = field(metadata=column("ratio", "obs / exp before", "Observed over expected, before."))
    ratio_after: Floats = field(metadata=column("ratio", "obs / exp after", "The same after."))
    before: tuple[str, ...] = field(metadata=column("text", "before", "The verdict on it before."))
    after: tuple[str, ...] = field(metadata=column("text", "after", "The verdict on it after."))
    common: tuple[str, ...] = field(
        metadata=column("text", "by the common map", "The verdict on it after the common map alone, without an offset.")
    )
    fall: Floats = field(metadata=column("ratio", "log loss falls by", "The mean fall of the rows' log loss."))
    low: Floats = field(metadata=column("ratio", "low", "Lower end of its interval."))
    high: Floats = field(metadata=column("ratio", "high", "Upper end of it."))
    by: tuple[str, ...] = ()
    confidence: float = 0.95

    _derived_columns: ClassVar[tuple[Column, ...]] = (
        Column("ratios", "text", "obs / exp", "Observed over expected before, then after."),
        Column("interval", "text", "interval", "Both ends of the interval of the fall."),
        Column("change", "text", "it is", '"better" or "worse" where the interval shows it, else "".'),
    )
    _shown: ClassVar[tuple[str, ...]] = ("segment", "n", "ratios", "before", "after", "fall", "interval", "change")
    _spare: ClassVar[tuple[str, ...]] = ("interval", "ratios", "before", "fall", "n", "change")

    @property
    def names(self) -> list[str]:
        """The segments in words."""
        return _name_segments(self.by, self.segment)

    @property
    def ratios(self) -> list[str]:
        """Observed over expected before, then after, in words."""
        pairs = zip(self.ratio_before.tolist(), self.ratio_after.tolist(), strict=True)
        return [f"{before:.3g}, then {after:.3g}" for before, after in pairs]

    @property
    def interval(self) -> list[str]:
        """Both ends of the interval of the fall, in words."""
        return [f"{low:.3g} to {high:.3g}" for low, high in zip(self.low.tolist(), self.high.tolist(), strict=True)]

    @property
    def change(self) -> tuple[str, ...]:
        """Whether each is better or worse, beyond chance."""
        return tuple(
            "better" if low > 0 else "worse" if high < 0 else ""
            for low, high in zip(self.low.tolist(), self.high.tolist(), strict=True)
        )

    def summary(self) -> str:
        """Return how many segments are better, worse and off, and which the common map alone leaves or makes off."""
        alone = f"{self.common.count('off'):,} would be off{self._name(self.common, 'off')}"
        return (
            f"Of {plural(len(self), 'segment')} the log loss falls beyond chance in {self.change.count('better'):,} "
            f"and grows in {self.change.count('worse'):,}{self._name(self.change, 'worse')}; before, "
            f"{_count_words(self.before)}; after, {_count_words(self.after)}"
            f"{f'; by the common map alone {alone}' if self.common != self.after else ''}"
        )

    def _name(self, words: Sequence[str], word: str) -> str:
        """Some segments of a word, in brackets."""
        found = [printable(name) for name, each in zip(self.names, words, strict=True) if each == word]
        return f" ({', '.join(found[:3])}{', ...' * (len(found) > 3)})" if found else ""


@register_table
@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class FactorTable(Table):
    """A table with one row per segment of a map by segments: what its odds are multiplied by, beyond the common map.

    Segments are listed from the largest factor to the smallest.

    Examples
    --------
    >>> import truecal
    >>> columns = {"y": [0, 1] * 200 + [0, 0, 0, 1] * 100, "p": [0.3] * 800, "country": ["de"] * 400 + ["fr"] * 400}
    >>> mend = truecal.recalibrate(truecal.read(columns, label="y", score="p", by="country"), by="country")
    >>> [(row.segment, round(row.factor, 2)) for row in mend.factors]
    [(('de',), 1.66), (('fr',), 0.57)]
    """

    segment: tuple[Segment, ...] = field(metadata=column("key", "segment", "Its values in the columns `by`."))
    offset: Floats = field(metadata=column("ratio", "log-odds +", "What is added to its log-odds."))
    by: tuple[str, ...] = ()

    _derived_columns: ClassVar[tuple[Column, ...]] = (
        Column("factor", "ratio", "odds x", "What its odds are multiplied by."),
    )
    _shown: ClassVar[tuple[str, ...]] = ("segment", "factor", "offset")

    @property
    def names(self) -> list[str]:
        """The segments in words."""
        return _name_segments(self.by, self.segment)

    @property
    def factor(self) -> Floats:
        """What the odds of each are multiplied by."""
        with np.errstate(over="ignore"):
            return np.exp(self.offset)

    def summary(self) -> str:
        """Return what the table is of."""
        return f"Beyond the common map, the odds of {plural(len(self), 'segment')} are multiplied by"


@register
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Proof(Stored):
    """What a recalibration does on rows that it was not fitted to.

    `before` and `after` are results of the same held-out rows, `log_loss` and `brier` the mean differences of the rows'
    losses, before minus after, with intervals: above 0 is better. `kinds` counts what was chosen in the folds. `skill`
    is the share of the log loss of a constant prediction that is gone, before and after: a constant is calibrated and
    useless. `segments` has the same for each segment, where rows were read by some.

    Examples
    --------
    >>> import truecal
    >>> columns = {"y": [0, 1] * 200, "p": [0.3] * 400, "country": ["de"] * 300 + ["fr"] * 100}
    >>> mend = truecal.recalibrate(truecal.read(columns, label="y", score="p", by="country"))
    >>> mend.proof.before.verdict.word, mend.proof.after.verdict.word, mend.proof.log_loss.low > 0
    ('off', 'consistent', True)
    """

    before: Result
    after: Result
    log_loss: Difference
    brier: Difference
    kinds: dict[str, int]
    skill: tuple[float, float]
    how: str
    segments: ProofTable | None = None

    @property
    def helped(self) -> bool:
        """Whether the log loss is better beyond chance."""
        return self.log_loss.low > 0

    @property
    def headword(self) -> str:
        """What is said of it first: whether it helps; a model that is off is not one to leave alone."""
        off = self.before.verdict is not None and self.before.verdict.word == "off"
        return "It helps" if self.helped else "No map is shown to help" if off else "Leave it alone"

    @property
    def scope(self) -> str:
        """Whose log loss it is, in words, where that is not the population's."""
        found = self.before.verdict
        return "" if found is None or found.labelling.plain else " of the rows as they were sampled and labelled"

    @property
    def harmed(self) -> bool:
        """Whether the log loss is worse beyond chance."""
        return self.log_loss.high < 0

    @property
    def headlines(self) -> tuple[str, str]:
        """The verdicts before and after, in words."""
        before, after = ("" if each.verdict is None else each.verdict.headline for each in (self.before, self.after))
        return before, after


@register
@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Recalibration(Stored):
    """How to mend a model's predictions, and whether that helps.

    Parameters
    ----------
    map : Map
        The map of all predictions: its kind and its numbers.
    by, segments, offsets
        Columns, and for each of their segments what is added to the log-odds, shrunk towards 0.
    n, positives : int
        The rows that it was fitted to.
    means : two floats or None
        Their mean predictions, of all and of the positives, by which they are known again; None of few distinct ones.
    proof : Proof or None
        What it does on rows that it has not seen.

    Examples
    --------
    >>> import numpy as np, truecal
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(1, 9, size=20_000)
    >>> y = rng.random(20_000) < 2 * p / (1 + p)               # the odds are twice those predicted
    >>> mend = truecal.recalibrate(y, p)
    >>> mend.kind, round(float(mend.apply(0.1)), 3)
    ('offset', 0.18)
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
    proof: Proof | None = None
    notes: tuple[str, ...] = ()
    version: str = ""

    _derived: ClassVar[tuple[str, ...]] = ("kind", "helped")

    @property
    def kind(self) -> str:
        """The kind of the map: "none", "offset", "logistic", "beta" or "isotonic"."""
        return self.map.kind

    @property
    def helped(self) -> bool:
        """Whether held-out rows show that it helps."""
        return self.proof is not None and self.proof.helped

    @property
    def factors(self) -> FactorTable | None:
        """What the odds of each segment are multiplied by, beyond the common map; None of a map without segments."""
        if not self.by:
            return None
        order = np.argsort(-self.offsets, kind="stable")
        return FactorTable(
            segment=tuple(self.segments[place] for place in order.tolist()), offset=self.offsets[order], by=self.by
        )

    def apply(self, p: Any, segments: Mapping[str, Sequence[Any]] | None = None) -> Any:
        """Return recalibrated predictions: of one or of many, and for a map by segments with the columns that it names.

        Segments that were not there when it was fitted get the common map.
        """
        values = np.asarray(p, dtype=np.float64)
        if ((values < 0) | (values > 1)).any() or np.isnan(values).any():
            raise ValueError(f"{option('p')} must lie in [0, 1]; some do not.")
        if not self.by:
            found = self.map.apply(values)
            return float(found) if values.ndim == 0 else found
        if segments is None or any(name not in segments for name in self.by):
            raise ValueError(f"{option('segments')} must have the columns {', '.join(map(repr, self.by))}.")
        known = dict(zip(self.segments, self.offsets.tolist(), strict=True))
        keys = zip(*(segments[name] for name in self.by), strict=True)
        return self.map.apply(values, np.array([known.get(key, 0.0) for key in keys], dtype=np.float64))

    def to_sql(self, score: str = "p", quotes: Quotes = "ansi") -> str:
        """Return the map as an expression of SQL on a column or expression `score`.

        It runs in DuckDB, Postgres and, with `quotes="backtick"`, in Spark and BigQuery. Predictions that are NULL stay
        NULL. Signs of segments that are not printable are written by their numbers.
        """
        one = self.map
        offset = self._offset_sql(quotes)
        if one.kind != "isotonic":
            return _smooth_sql(one, score, offset)
        steps = zip(reversed(one.edges.tolist()), reversed(one.values.tolist()), strict=True)
        found = f"CASE {' '.join(f'WHEN {score} >= {edge!r} THEN {value!r}' for edge, value in steps)} END"
        if one.share < 1:
            found = f"{one.share!r} * {found} + {1 - one.share!r} * ({_smooth_sql(one, score)})"
        return found if not offset else _odds_sql(f"({found})", f"EXP(-({offset}))")

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

    def to_python(self) -> str:
        """Return a function of three lines that needs NumPy alone; without segments."""
        if self.by:
            raise ValueError("A map by segments must be applied by `Recalibration.apply` or `to_sql`.")
        one = self.map
        edges, values = one.edges.tolist(), one.values.tolist()
        steps = "values[np.searchsorted(edges, p, side='right') - 1]"
        smooth = "1 / (1 + np.exp(-(c + a * np.log(p) - b * np.log1p(-np.asarray(p)))))"
        numbers = f"{one.intercept!r}, {one.low!r}, {one.high!r}"
        line, found = f"c, a, b = {numbers}", smooth
        if one.kind == "isotonic":
            line, found = f"edges, values = np.array({edges}), np.array({values})", steps
            if one.share < 1:
                line = f"{line}; c, a, b = {numbers}"
                found = f"{one.share!r} * {steps} + {1 - one.share!r} * {smooth}"
        return f"import numpy as np\n{line}\ndef recalibrate(p): return {found}\n"

    @property
    def temperature(self) -> float:
        """For logits, of offset and logistic maps: `logit / temperature + bias` are the recalibrated ones.

        Plain numbers, for torch as for anything else: `probabilities = torch.sigmoid(logits / temperature + bias)`.
        """
        if self.by or self.map.low != self.map.high or self.kind == "isotonic":
            raise ValueError(f'A temperature belongs to maps of kind "offset" or "logistic"; this is {self.kind!r}.')
        return 1 / self.map.low if self.map.low else math.inf

    @property
    def bias(self) -> float:
        """What is added to logits after they were divided by the temperature."""
        return self.map.intercept

    def sentences(self) -> tuple[str, ...]:
        """What it does, and whether it helps, in words."""
        one = self.map
        shift = math.exp(min(max(one.intercept, -700.0), 700.0))
        numbers = {
            "offset": f": x {shift:.3g}",
            "logistic": f": {one.intercept:.3g} and {one.low:.3g}",
            "beta": f": {one.intercept:.3g}, {one.low:.3g} and {one.high:.3g}",
            "isotonic": f": {plural(len(one.values), 'step')}",
        }
        count = plural(len(self.segments), "segment")
        more = f", and an offset for each of {count}" if self.by else ""
        if self.by and not self.offsets.any():
            more = f", and no offset for any of {count}: they differ by no more than chance"
        head = f"The map: {WORDS[self.kind]}{numbers.get(self.kind, '')}{_name_share(one)}{more}."
        if self.kind != "none":
            changes = zip(SHOWN.tolist(), one.apply(SHOWN).tolist(), strict=True)
            told = ", ".join(f"{100 * p:g} % becomes {100 * q:.3g} %" for p, q in changes)
            head = f"{head} {told}{' before offsets' if self.by else ''}."
        if self.positives in (0, self.n):
            label = "positive" if self.positives else "negative"
            return head, f"No map can be fitted: every label is {label}. See first that this is right."
        if self.proof is None:
            return head, "It was not tried on rows that it was not fitted to."
        return head, *self._judge(self.proof)

    def _judge(self, proof: Proof) -> tuple[str, ...]:
        gap, (before, after) = proof.log_loss, proof.headlines
        where = f"on rows that it was not fitted to ({printable(proof.how)})"
        way = "falls" if proof.helped else "grows" if proof.harmed else "does not fall beyond chance:"
        grows = gap.difference < 0
        way += " it grows" * (grows and not proof.harmed)
        size, low, high = (-gap.difference, -gap.high, -gap.low) if grows else (gap.difference, gap.low, gap.high)
        span = f"by {size:.3g} ({100 * gap.confidence:g} % interval {low:.3g} to {high:.3g})"
        said = f"{proof.headword}: {where} the log loss{proof.scope} {way} {span}"
        left = [f"{100 * (1 - share):.3g} %" for share in proof.skill]
        if idle := self.kind == "none" and gap.low == gap.high == 0:
            said = f"{proof.headword}: no map is better by enough {where}"
        words = [None if each.verdict is None else each.verdict.word for each in (proof.before, proof.after)]
        unproven = words[0] == "off" and not proof.helped and not proof.harmed
        return (
            f"{said}; {after if idle else f'before: {before}, after: {after}'}.",
            *((STILL,) if words[1] == "off" else (UNPROVEN.format(by=option("by")),) if unproven else ()),
            *(
                (
                    f"The log loss is {left[0] if idle else f'before {left[0]} and after {left[1]}'} of that of a "
                    "constant prediction, which is calibrated and useless.",
                )
                if all(map(math.isfinite, proof.skill))
                else ()
            ),
            *((CLIPPED,) if math.isinf(proof.before["log_loss"]) or math.isinf(proof.after["log_loss"]) else ()),
            *(
                ()
                if proof.segments is None and (self.kind == "none" or unproven)
                else (_describe_segments(proof.segments),)
            ),
        )

    def __repr__(self) -> str:
        lines = [line for text in self.sentences() for line in wrap(text, 100, subsequent_indent="  ")]
        return "\n".join([*lines, *self.tables(), *(f"Note: {note}." for note in self.notes)])

    def tables(self, terminal: Terminal = WIDE) -> list[str]:
        """As text, what the map does to each segment, and what the odds of each are multiplied by."""
        proven = None if self.proof is None else self.proof.segments
        found = [] if proven is None else [proven.text(terminal)]
        if self.factors is not None and self.offsets.any():
            found.append(f"{terminal.wrap(self.factors.summary())}:\n{self.factors.text(terminal)}")
        return found

    def _repr_html_(self) -> str:
        text = " ".join(self.sentences())
        if self.proof is None:
            return f"<p>{escape_html(text)}</p>"
        rows = "".join(
            f"<tr><th>{word}</th><td>{escape_html(headline)}</td><td>{escape_html(found.finding)}</td></tr>"
            for word, headline, found in zip(
                ("before", "after"), self.proof.headlines, (self.proof.before, self.proof.after), strict=True
            )
        )
        tables = (self.proof.segments, self.factors if self.offsets.any() else None)
        shown = "".join(table.html(table._shown) for table in tables if table is not None)
        return f"<p>{escape_html(text)}</p><table>{rows}</table>{_draw_inline('recalibration', self, text)}{shown}"


def _name_segments(by: tuple[str, ...], segments: Sequence[Segment]) -> list[str]:
    """Segments in words: "country=de, age=old"."""
    return [", ".join(f"{name}={value}" for name, value in zip(by, key, strict=True)) for key in segments]


def _count_words(words: Sequence[str]) -> str:
    """How many segments have each verdict: "0 off, 8 cannot tell"."""
    counts = {word: words.count(word) for word in ("off", "consistent", "cannot tell")}
    return ", ".join(f"{count:,} {word}" for word, count in counts.items() if count or word == "off")


def _name_share(one: Map) -> str:
    """What else is in a map than what was fitted."""
    if one.kind == "isotonic":
        return ", averaged with a smooth map" if one.share < 1 else ""
    return f" (shrunk: {100 * one.share:.0f} % of the fit)" if one.share < 1 else ""


def _describe_segments(table: ProofTable | None) -> str:
    if table is None:
        return "Segments were not looked at: a map that helps overall may harm some of them."
    return f"{table.summary()}."


def _find_ends(one: Map) -> tuple[str, str]:
    """The predictions that a map makes 0 and 1, to more digits than a double shows: where the odds are beyond exp(-600)
    and exp(600). Postgres and BigQuery refuse an exponential that overflows."""
    first = math.exp(min((-FARTHEST - one.intercept) / one.low, 0.0)) if one.low > 0 else 0.0
    last = -math.expm1(min((one.intercept - FARTHEST) / one.high, 0.0)) if one.high > 0 else 1.0
    return repr(first) if first > 0 else "0", repr(last) if last < 1 else "1"


def _smooth_sql(one: Map, score: str, offset: str = "") -> str:
    """The map of c, a and b."""
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
    """The name of a column in SQL. Signs that are not printable cannot be written there."""
    if not name.isprintable():
        raise ValueError(f"Names of columns must be printable to be written as SQL; {name!r} is not.")
    return mark + name.replace(mark, mark * 2) + mark


def _literal(value: Any, quotes: Quotes) -> str:
    """A segment's value in SQL."""
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
