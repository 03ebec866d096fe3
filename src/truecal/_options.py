"""Every option of the library and of its command line, declared once.

An option is an entry of a TypedDict: its type, and beside it an `Option` with its default, its constraint and its
meaning. Type checkers read the types through `**options: Unpack[...]`. The program reads the rest: `declare` gives a
function its signature and the entries of its docstring, `resolve` checks keywords and fills in defaults, and the
command line makes its words, its help and its completion of the same declarations. Nothing here imports NumPy, so that
`truecal --help` does not either.
"""

# Annotations must not become strings as a whole, or the declarations beside the types would be lost; types that
# would need an import are quoted instead.
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Annotated, Any, ForwardRef, Literal, Protocol, TypedDict, TypeVar, get_args

from truecal._errors import did_you_mean, option

if TYPE_CHECKING:
    from truecal.data import Moment, Observations, Sampling, Span
    from truecal.inference import RandomState
    from truecal.metrics import BinningLike, Test, Tolerance
    from truecal.reading import Limits

Missing = Literal["raise", "drop"]
ScoreScale = Literal["probability", "percent", "logit"]
Multiclass = Literal["classwise", "top-label"] | None
Adjustment = Literal["holm", "bh"] | None
MapKind = Literal["none", "offset", "logistic", "beta", "isotonic"]

# Names that registries of other packages have, too; `check_names` compares them where these are made.
METRICS = (
    *("ltce", "ltce_information", "tce", "tce_q", "tce_v", "ece", "ace", "mce", "mce_q", "rmsce", "rmsce_q"),
    *("ece_pava_bc", "log_loss", "brier", "slope", "intercept", "spiegelhalter", "ecce", "ecce_mad", "smece", "atb"),
)
FORMATS = ("csv", "tsv", "parquet", "ipc", "jsonl", "npz")
WINDOWS = ("1h", "1d", "1w", "1mo", "1q", "1y")
KINDS: tuple[MapKind, ...] = ("none", "offset", "logistic", "beta", "isotonic")
SCALES: tuple[ScoreScale, ...] = ("probability", "percent", "logit")
PICTURES = (
    *("calibration", "test_reliability", "reliability", "models", "metrics", "comparison", "segments", "binnings"),
    *("drift", "slices", "classes", "monitor", "recalibration", "power"),
)

# Commands of the command line that have an option in common.
READING = "evaluate compare segments slices drift monitor recalibrate report plot tally check"
WEIGHTED = "evaluate compare segments drift monitor recalibrate report plot tally check"
SIZED = "evaluate segments drift monitor recalibrate report plot tally check"
CLASSES = "evaluate segments drift monitor report plot tally check"
JUDGING = "evaluate compare segments drift report plot check"

# Defaults of functions that differ from those that are declared.
DEFAULTS: dict[str, dict[str, Any]] = {
    "segments": {"adjust": "holm"},
    "drift": {"adjust": "holm"},
    "compare": {"resamples": 1000},
    "check": {"null_draws": 1000, "resamples": 1000, "random_state": 0},
}
COLUMNS, TIME, COMPUTED, LARGE = "columns", "time", "what is computed", "large data"  # headings of help
# Types as documentation writes them.
ALIASES = {
    "BinningLike": "Binning | str | int | None",
    "RandomState": "int | Generator | None",
    "Tolerance": "Absolute | Relative",
    "Span": "timedelta | str",
    "Moment": "date | datetime | str",
    "Sequence[Any]": "sequence",
    "Sequence[str]": "sequence of str",
    "Any": "any",
}
PLAIN = (bool, float, int)  # types that are shown by their names
Given = TypeVar("Given")
F = TypeVar("F", bound=Callable[..., Any])


# ---- what a value may be -------------------------------------------------------------------------------------------


class Constraint(Protocol):
    """What an option may be: `rule` goes on after "must", `kind` is the error of a value that breaks it."""

    @property
    def kind(self) -> type[Exception]: ...

    @property
    def rule(self) -> str: ...

    def admits(self, value: Any) -> bool: ...


@dataclass(frozen=True, slots=True)
class Interval:
    """A number between two ends, of which both, one or neither belong to it."""

    low: float
    high: float
    closed: Literal["both", "left", "right", "neither"] = "both"
    kind: type[Exception] = ValueError

    @property
    def rule(self) -> str:
        if self.closed == "neither":
            return f"lie between {self.low:g} and {self.high:g}"
        begin, end = "[("[self.closed == "right"], "])"[self.closed == "left"]
        return f"lie in {begin}{self.low:g}, {self.high:g}{end}"

    def admits(self, value: Any) -> bool:
        if not isinstance(value, Real) or isinstance(value, bool):
            return False
        number: Any = value
        above = number >= self.low if self.closed in ("both", "left") else number > self.low
        return bool(above and (number <= self.high if self.closed in ("both", "right") else number < self.high))


@dataclass(frozen=True, slots=True)
class AtLeast:
    """A whole number from some number on."""

    least: int
    kind: type[Exception] = ValueError

    @property
    def rule(self) -> str:
        return f"be a whole number, {self.least} or more"

    def admits(self, value: Any) -> bool:
        return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= self.least


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of some words, or None where that is one of them."""

    values: tuple[Any, ...]
    kind: type[Exception] = ValueError

    @property
    def words(self) -> tuple[str, ...]:
        """Those that are text."""
        return tuple(value for value in self.values if value is not None)

    @property
    def rule(self) -> str:
        return f"be {join_words(self.values)}"

    def admits(self, value: Any) -> bool:
        return (value is None or isinstance(value, str)) and value in self.values


@dataclass(frozen=True, slots=True)
class Column:
    """The name of a column."""

    kind: type[Exception] = TypeError

    @property
    def rule(self) -> str:
        return "be the name of a column"

    def admits(self, value: Any) -> bool:
        return isinstance(value, str)


@dataclass(frozen=True, slots=True)
class Columns:
    """The name of a column, or several."""

    kind: type[Exception] = TypeError

    @property
    def rule(self) -> str:
        return "be the name of a column, or names"

    def admits(self, value: Any) -> bool:
        return isinstance(value, str) or (isinstance(value, Sequence) and all(isinstance(name, str) for name in value))


# ---- declarations --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Option:
    """What an option means, in sentences, with its default and its constraint; and how the command line has it.

    Names of other options stand in backticks: the command line writes its own in their place. `short` is the option's
    letter, `metavar` what its value is called in help, `commands` those that have it, `group` the heading in help.
    `more` has what help adds under a command, with "" for all others. `help` is for the few whose value is written
    otherwise on the command line than in Python.
    """

    meaning: str
    default: Any = None
    constraint: Constraint | None = None
    commands: str = ""
    group: str = COLUMNS
    metavar: str | None = None
    short: str = ""
    more: Mapping[str, str] = field(default_factory=dict)
    help: str = ""

    @property
    def choices(self) -> tuple[str, ...]:
        """The words that it may be, if these are few."""
        return self.constraint.words if isinstance(self.constraint, OneOf) else ()

    def check(self, name: str, value: Any) -> None:
        """Raise an error if a value breaks the constraint; None is admitted where it is the default."""
        if self.constraint is None or (value is None and self.default is None) or self.constraint.admits(value):
            return
        hint = did_you_mean(value, self.choices) if isinstance(value, str) else ""
        raise self.constraint.kind(f"{option(name)} must {self.constraint.rule}; it is {value!r}.{hint}")


COLUMN = Column()
SHARE = Interval(0, 1, closed="right")
PROBABILITY = Interval(0, 1)
LEVEL = Interval(0, 1, closed="neither")


# fmt: off
class RowOptions(TypedDict, total=False):
    """What is read of each row; see `truecal.read`."""

    label: Annotated[str | None, Option(
        "The column of labels: 0 and 1 or booleans, or any two values with `pos_label`. With `multiclass`, the class "
        "of each row.",
        constraint=COLUMN, commands=READING, metavar="COLUMN", short="-y",
        help="the column of labels: 0 and 1, or see `pos_label`", more={"": "inferred if left out"},
    )]
    score: Annotated[str | Sequence[str] | None, Option(
        'The column of predicted probabilities. With `multiclass`, a column for each class: names, or patterns such as '
        '"p_*".',
        constraint=Columns(), commands=READING, metavar="COLUMN", short="-p",
        help="the column of predicted probabilities",
        more={
            "": "several models by commas or by repeating; several classes too, a column each, also as a pattern such "
            "as 'p_*'; inferred if left out",
            "compare": "two or more models by commas or by repeating; inferred if left out",
            **dict.fromkeys(
                ("drift", "monitor", "tally"),
                "of several classes a column each, or a pattern such as 'p_*'; inferred if left out",
            ),
            **dict.fromkeys(("slices", "recalibrate"), "inferred if left out"),
        },
    )]
    pos_label: Annotated[Any, Option(
        "The positive label, if labels are not 0 and 1. Every other label counts as negative.",
        commands=READING, metavar="VALUE", help="the positive label; every other label counts as negative",
    )]
    missing: Annotated[Missing, Option(
        "What to do with rows whose label, score, time or cluster is null or NaN. `row_counts` counts the dropped "
        "rows.",
        "raise", OneOf(("raise", "drop")),
    )]
    format: Annotated[str | None, Option(
        "The format of files whose suffix does not show it.", constraint=OneOf(FORMATS), commands=READING,
        group="data",
    )]
    sampling: Annotated["Sampling | None", Option(
        "How rows were sampled and labelled: which shares of negatives and of positives are in the data, how often "
        "labels are wrong, and which share of positives is known so far. Estimates are of the population.",
    )]
    cluster: Annotated[str | None, Option(
        "The column of the customer, patient or document that a row belongs to. Tests and intervals then account for "
        "rows that belong together; without it rows are taken as independent.",
        constraint=COLUMN, commands=READING, metavar="COLUMN",
        help="customers, patients or documents whose rows belong together; without it rows are taken as independent",
    )]
    score_scale: Annotated[ScoreScale, Option(
        "What the scores are: probabilities in [0, 1], percentages in [0, 100], or logits.",
        "probability", OneOf(SCALES),
    )]


class ModelOptions(RowOptions, total=False):
    """What is read of each row of one or more models; see `truecal.read_models`."""

    by: Annotated[str | Sequence[str] | None, Option(
        "Columns whose values make segments. For `Observations`, the columns to keep; all by default.",
        constraint=Columns(), commands="evaluate segments monitor recalibrate report plot tally check",
        metavar="COLUMN", help="columns whose values make segments",
        more={"": "commas or repeated", "plot": "for --kind segments; commas or repeated"},
    )]
    time: Annotated[str | None, Option(
        "A column of dates or times, which makes periods of length `every`. It is added to `by` as the last.",
        constraint=COLUMN, commands="drift monitor recalibrate report plot tally", group=TIME, metavar="COLUMN",
        help="the column of dates or times",
        more={
            **dict.fromkeys(("drift", "monitor"), "inferred if left out"), "report": "for a section on drift",
            "plot": "for --kind drift", "tally": "it makes periods",
            "recalibrate": "the map is then validated forward in time",
        },
    )]
    every: Annotated[str | None, Option(
        'The length of periods: "1h", "1d", "1w" (from Monday), "1mo", "1q" or "1y". With None each distinct value, of '
        "any type, is a period. Times with a zone are taken in UTC; DuckDB and Spark take their session's zone.",
        "1d", OneOf((*WINDOWS, None)), "drift monitor report plot tally recalibrate", TIME,
        help="the length of periods; weeks begin on Monday",
        more={
            "": "none takes the values of `time` as they are; default 1d, or as in the observations",
            **dict.fromkeys(("tally", "recalibrate"), "default 1d"),
        },
    )]
    baseline: Annotated[Any, Option(
        "The scores of the last release for the same rows: another column, or a dataframe or files with columns of the "
        "same names, whose rows are matched by `on`.",
        commands="check", group="baseline", metavar="COLUMN|FILE",
        help="another score column, a file of the same rows, or a saved result",
    )]
    on: Annotated[str | Sequence[str], Option(
        "The columns that match the rows of `baseline`, if that is other data.", (), Columns(), "check", "baseline",
        "COLUMN", help="the columns that match the rows of the file",
    )]
    limits: Annotated["Limits | None", Option(
        "For data larger than memory, or in an engine outside of this process. `Limits(grid=13)` groups scores into "
        "cells of 13 significant bits.",
    )]
    count: Annotated[str | None, Option(
        "A column of whole numbers: how many rows a row stands for. Rows of 0 are dropped.",
        constraint=COLUMN, commands=WEIGHTED, metavar="COLUMN", help="how many rows each row stands for",
    )]
    importance_weight: Annotated[str | None, Option(
        "A column of weights above 0 that depend on features alone. They weight the metrics, but no test.",
        constraint=COLUMN, commands=WEIGHTED, metavar="COLUMN",
        help="weights that depend on features alone; they weight the metrics, but no test",
    )]


class DataOptions(ModelOptions, total=False):
    """What is read of data; see `truecal.read`."""

    multiclass: Annotated[Multiclass, Option(
        'What to read of several classes. "top-label": the most probable one, the first of equals, and whether it is '
        'the true one. "classwise": that, and each class against the rest, as `ClassObservations`.',
        constraint=OneOf(("top-label", "classwise")), commands=CLASSES,
        help="what is evaluated of several classes: the most probable one, or each against the rest as well",
        more={"": "inferred where labels name the columns of `score`"},
    )]
    labels: Annotated[Sequence[Any] | None, Option(
        "The classes, in the order of the columns. By default a column goes by its name, or by what is left of it "
        "without something that all begin or end with: p_cat is the column of cat.",
        commands=CLASSES, metavar="NAMES",
        help="the classes, in the order of the columns of `score`; by default these are named after them",
    )]


class PairOptions(TypedDict, total=False):
    """What is said of the rows of two models that are arrays; see `truecal.compare`."""

    pos_label: Annotated[Any, Option("The positive label, if labels are not 0 and 1.")]
    sampling: Annotated["Sampling | None", Option(
        "How rows were sampled and labelled. Its `label_delay` is an array of shares, one for each row. Tests account "
        "for it; estimates are of the population.",
    )]
    cluster: Annotated[Any, Option(
        "The customer, patient or document of each row, of any type. Tests and intervals then account for rows that "
        "belong together; without it rows are taken as independent.",
    )]


class WeightedOptions(PairOptions, total=False):
    """What is said of rows that are arrays; see `truecal.recalibrate`."""

    sample_weight: Annotated[Any, Option("An array of whole numbers: how often each row was seen.")]


class ArrayOptions(WeightedOptions, total=False):
    """What is said of rows that are arrays, of one or more classes; see `truecal.evaluate`."""

    multiclass: Annotated[Multiclass, Option(
        "Of several classes the most probable one is evaluated; positives are the rows of which it is the true one. "
        'Two columns need this option. With "classwise" each class is evaluated against the rest as well, as '
        "`evaluate_classes` does it.",
        constraint=OneOf(("top-label", "classwise")),
    )]
    labels: Annotated[Sequence[Any] | None, Option("The classes, in the order of the columns of `y_prob`.")]
    missing: Annotated[Missing, Option(
        "What to do with rows whose label, score or cluster is missing. `row_counts` counts the dropped rows.",
        "raise", OneOf(("raise", "drop")),
    )]
    importance_weight: Annotated[Any, Option(
        "An array of weights above 0 that depend on features alone, such as those of a survey. Metrics are weighted by "
        "them; the verdict and its tests are not.",
    )]


class SamplingOptions(TypedDict, total=False):
    """How rows were sampled and labelled; see `truecal.Sampling`."""

    negative_rate: Annotated[float, Option(
        "The share of negatives that is in the data.", 1.0, SHARE, READING, metavar="SHARE",
        help="the share of negatives that is in the data, if they were sampled; estimates are then of the population",
    )]
    positive_rate: Annotated[float, Option(
        "The share of positives that is in the data.", 1.0, SHARE, READING, metavar="SHARE"
    )]
    label_noise: Annotated[tuple[float, float], Option(
        "The false-positive and the false-negative rate of the labels.", (0.0, 0.0), None, READING, metavar="FP,FN",
        help="the false-positive and the false-negative rate of the labels: 0.01,0.02",
    )]
    label_delay: Annotated[Any, Option(
        "The share of positives that are known so far, if labels arrive with a delay.",
        commands=WEIGHTED, metavar="COLUMN[:TABLE]",
        help="for labels that arrive with a delay: a column of ages and the shares of positives known by then, "
        "age:0=0,7=0.5,30=1 or age:table.csv; or a column of shares",
    )]


class LimitOptions(TypedDict, total=False):
    """How much data is read into this process; see `truecal.reading.Limits`."""

    grid: Annotated['int | Literal["auto"] | None', Option(
        "Group scores into cells of so many significant bits, 2 to 26.", "auto", None, SIZED, LARGE, "BITS",
        help="group scores into cells of so many significant bits, 2 to 26, with bounds for bins of cells; none never, "
        "auto (default) beyond `limit`",
    )]
    limit: Annotated[int, Option(
        "The number of rows up to which scores are exact.", 5_000_000, AtLeast(1), SIZED, LARGE, "ROWS",
        help="with --grid auto, the rows up to which scores are exact; default all",
    )]
    memory: Annotated[int, Option(
        "Bytes that rows may take before they are sorted on disk.", 4 << 30, AtLeast(100_000), SIZED, LARGE, "SIZE",
        help="bytes that rows may take before they are sorted on disk; default 4GiB",
    )]


class TestOptions(TypedDict, total=False):
    """How predictions are tested, and which of them."""

    binning: Annotated["BinningLike", Option("Takes the place of PAVA-BC in the named metrics.")]
    test: Annotated["Test | None", Option("The test of each bin in test-based metrics and in tables of bins.")]
    significance: Annotated[float, Option(
        "The level of the verdict and of each test.", 0.05, LEVEL, "evaluate compare segments drift report plot",
        COMPUTED, "LEVEL",
    )]
    tolerance: Annotated["Tolerance | float | None", Option(
        "How far a probability may miss and still count as calibrated: `Absolute`, `Relative`, or a number.",
        commands=f"{JUDGING} monitor", group=COMPUTED, metavar="T",
        help="how far predictions may miss, as a probability or as a percentage of each",
    )]
    threshold: Annotated[float | None, Option(
        "Evaluate only predictions at or above this decision threshold.", None, PROBABILITY, f"{JUDGING} monitor",
        COMPUTED, "SCORE",
    )]
    top: Annotated[int | float | None, Option(
        "Evaluate only the highest predictions: so many (int), or a share of all (float).", None, None, JUDGING,
        COMPUTED, "COUNT", help="evaluate only the top 1000, or the top 0.01 (a share)",
    )]
    random_state: Annotated["RandomState", Option(
        "The seed or generator that labels are simulated with.", group=COMPUTED, metavar="N",
        help="the seed of what is simulated",
    )]
    threads: Annotated[int | None, Option(
        "How many threads to use; numbers do not depend on it.", None, AtLeast(1), JUDGING, COMPUTED, "N"
    )]


RESAMPLES = Option(
    "How often labels are resampled for confidence intervals; 0 for none.", 0, AtLeast(0),
    "evaluate report plot compare check", COMPUTED, "N",
)
CONFIDENCE = Option("The level of confidence intervals.", 0.95, LEVEL)


class CompareOptions(TestOptions, total=False):
    """How two models are compared; see `truecal.compare`."""

    resamples: Annotated[int, RESAMPLES]
    confidence: Annotated[float, CONFIDENCE]


class GroupOptions(TestOptions, total=False):
    """How segments are tested; see `truecal.segments`."""

    adjust: Annotated[Adjustment, Option(
        'Adjust p-values for their number: "holm" for any error, "bh" (Benjamini and Hochberg) for the share of '
        "errors, None does not adjust.",
        None, OneOf(("holm", "bh", None)), "segments drift report plot", COMPUTED,
        help="adjust p-values for the number of groups: by Holm (default), Benjamini-Hochberg, or not",
    )]
    null_draws: Annotated[int, Option(
        "How often labels are simulated from the predictions, for what each metric would be if the model were "
        "calibrated; 0 for none.",
        0, AtLeast(0), "evaluate segments drift report plot check", COMPUTED, "N",
    )]


class DriftOptions(GroupOptions, total=False):
    """How periods are tested; see `truecal.drift`."""

    every: Annotated[str | None, Option(
        "Longer periods than those that were read.", None, OneOf((*WINDOWS, None))
    )]
    baseline: Annotated["int | str | Observations | None", Option(
        "What periods are compared with: a number of first periods, by default a third of all; those of a range, "
        '"2026-01-01..2026-01-31"; or other `Observations`, read in the same way.',
        commands="drift", group=TIME, metavar="N|RANGE|FILE",
        help="what periods are compared with: a number of first periods, those of 2026-01-01..2026-01-31, or a file of "
        "other rows; default a third",
    )]
    label_lag: Annotated["Span | None", Option(
        'How long after the end of a period its labels are complete, such as "30d", "12h" or "6w". Periods that are '
        "younger are shown as pending.",
        commands="drift monitor report plot", group=TIME, metavar="SPAN",
        help="how long after the end of a period its labels are complete, such as 30d, 12h or 6w",
        more={"": "until then it is pending", "monitor": "until then it waits, and may be read again"},
    )]
    now: Annotated["Moment | None", Option(
        "What `label_lag` is counted to; by default the end of the last period.",
        commands="drift monitor report plot", group=TIME, metavar="DATE", help="what `label_lag` is counted to",
        more={"": "default the end of the last period", "monitor": "default the clock, in UTC"},
    )]


class CheckOptions(GroupOptions, total=False):
    """How rules are held against data; see `truecal.check`."""

    resamples: Annotated[int, RESAMPLES]


class EvaluateOptions(CheckOptions, total=False):
    """How predictions are evaluated; see `truecal.evaluate`."""

    confidence: Annotated[float, CONFIDENCE]


class SliceOptions(RowOptions, total=False):
    """Where groups are searched for; see `truecal.slices`."""

    columns: Annotated[str | Sequence[str] | None, Option(
        "The columns whose values make groups; all others by default.", None, Columns(), "slices", COLUMNS, "COLUMN",
        help="the columns whose values and ranges make groups; commas or repeated; default all others",
    )]
    pairs: Annotated[bool, Option("Whether pairs of columns are searched, too.", True)]
    significance: Annotated[float, Option(
        "The probability that any slice is listed if the model is calibrated.", 0.05, LEVEL, "slices", COMPUTED, "LEVEL"
    )]
    min_rows: Annotated[int, Option(
        "The fewest rows of a group that is tested. Scores of exactly 0 or 1 that a label contradicts need no test.",
        50, AtLeast(1), "slices", COMPUTED, "N", help="the fewest rows of a group",
    )]


class RecalibrateOptions(TypedDict, total=False):
    """How a calibration map is fitted; see `truecal.recalibrate`."""

    kind: Annotated['MapKind | Literal["auto"]', Option(
        '"offset" multiplies all odds by one factor (a change of prevalence). "logistic" has an intercept and a slope '
        'on the log-odds (overconfidence, too). "beta" has separate slopes for low and for high predictions. '
        '"isotonic" has steps, each of at least five positives and five negatives. "auto" chooses among these and none '
        "by their likelihood and, for steps, the likelihood of held-out rows.",
        "auto", OneOf(("auto", *KINDS)), "recalibrate", COMPUTED,
        help="offset, logistic, beta, isotonic or none; default auto, by the likelihood of the rows",
    )]
    by: Annotated[str | Sequence[str], Option(
        "Columns of the observations: each segment gets an offset of its own, shrunk towards the common map. Without "
        "it, validation still looks at each segment that was read: a map that helps overall may harm some.",
        (), Columns(),
    )]
    folds: Annotated[int, Option(
        "The number of folds of the cross-validation; 0 for none.", 5, AtLeast(0), "recalibrate", COMPUTED, "N"
    )]
    random_state: Annotated["RandomState", Option(
        "The seed or generator by which rows are assigned to folds.", 0, group=COMPUTED, metavar="N",
        help="the seed by which rows are assigned to folds",
    )]


class MonitorOptions(TypedDict, total=False):
    """How a monitor judges; see `truecal.Monitor`."""

    significance: Annotated[float, Option(
        "The probability of ever raising an alarm for a model that stays calibrated.", 0.05, LEVEL, "monitor", COMPUTED,
        "LEVEL",
    )]


class PlanOptions(TypedDict, total=False):
    """How many rows it takes; see `truecal.plan`."""

    power: Annotated[float, Option(
        "The required probability that the verdict is \"miscalibrated\".", 0.8, LEVEL, "plan", COMPUTED, "P",
        help="the probability of finding it",
    )]
    significance: Annotated[float, Option("The level of the verdict.", 0.05, LEVEL, "plan", COMPUTED, "LEVEL")]
# fmt: on


# ---- reading declarations ------------------------------------------------------------------------------------------


def find_options(*declared: Any) -> dict[str, Option]:
    """The options of TypedDicts by name, in the order of their declaration.

    Examples
    --------
    >>> find_options(PlanOptions)["power"].default
    0.8
    """
    return {name: get_args(hint)[1] for each in declared for name, hint in each.__annotations__.items()}


def name_type(declared: Any, name: str) -> str:
    """The type of an option as documentation writes it."""
    hint = get_args(declared.__annotations__[name])[0]
    words = hint.__forward_arg__ if isinstance(hint, ForwardRef) else hint.__name__ if hint in PLAIN else str(hint)
    words = words.replace("collections.abc.", "").replace("typing.", "")
    for alias, meant in ALIASES.items():
        words = words.replace(alias, meant)
    choices = find_options(declared)[name].choices
    plain = join_words(choices) if choices else " or ".join(part for part in words.split(" | ") if part != "None")
    return f"{plain}, optional" if "None" in words and not choices else plain


def declare(*declared: Any, first: Any = ()) -> Callable[[F], F]:
    """Give a function the options of TypedDicts: their names and defaults in its signature, their meanings in its
    docstring, and what `resolve` knows of them. Those of `first` stand under "Parameters"."""

    def give(function: F) -> F:
        known = {
            name: replace(each, default=DEFAULTS.get(function.__name__, {}).get(name, each.default))
            for name, each in find_options(*first, *declared).items()
        }
        signature = inspect.signature(function)
        own = [each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
        named = {each.name for each in own}
        more = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=each.default)
            for name, each in known.items()
            if name not in named
        ]
        function.__signature__ = signature.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
        function.__options__ = known  # type: ignore[attr-defined]
        function.__keywords__ = {each.name: known[each.name] for each in more}  # type: ignore[attr-defined]
        for section, group in (("Parameters", first), ("Other Parameters", declared)):
            entries = [(name, name_type(each, name), known[name]) for each in group for name in each.__annotations__]
            if entries:
                _document(function, section, entries)
        return function

    return give


def options_of(function: Callable[..., Any]) -> dict[str, Option]:
    """The options that a function was declared to have."""
    return dict(getattr(function, "__options__", {}))


def resolve(function: Callable[..., Any], given: Given) -> Given:
    """Return all options that a function takes as keywords beside its own parameters: those that are given, which are
    checked, and the defaults of the others."""
    known: dict[str, Option] = function.__keywords__  # type: ignore[attr-defined]
    found: dict[str, Any] = {name: each.default for name, each in known.items()}
    for name, value in given.items():  # type: ignore[attr-defined]
        if name not in known:
            raise TypeError(
                f"{function.__name__}() got an unexpected keyword argument {name!r}.{_suggest(name, function)}"
            )
        known[name].check(name, value)
        found[name] = value
    return found  # type: ignore[return-value]


def check_given(function: Callable[..., Any], **given: Any) -> None:
    """Check options that a function has as parameters of its own."""
    for name, value in given.items():
        options_of(function)[name].check(name, value)


def check_names(registry: Mapping[str, Any], names: Sequence[str]) -> None:
    """Raise an error unless a registry has the names that are declared for it, in their order."""
    if tuple(registry) != tuple(names):
        raise AssertionError(f"a registry must have the names that `_options` declares, {names}; it has {(*registry,)}")


def join_words(values: Sequence[Any]) -> str:
    """Words in quotation marks, as a sentence lists them; None as it is.

    Examples
    --------
    >>> join_words(("holm", "bh", None))
    '"holm", "bh" or None'
    """
    words = ["None" if value is None else f'"{value}"' for value in values]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _suggest(name: str, function: Callable[..., Any]) -> str:
    """A hint for a keyword that a function does not have."""
    if name in find_options(DataOptions):
        return f"\n\nHint: columns are named where data are read: `truecal.read(data, {name}=...)`."
    return did_you_mean(name, inspect.signature(function).parameters)


def _document(function: Callable[..., Any], section: str, options: Sequence[tuple[str, str, Option]]) -> None:
    """Add entries to a section of a function's docstring, which is made before the examples if it is not there."""
    if function.__doc__ is None:  # python -OO
        return
    lines = inspect.cleandoc(function.__doc__).splitlines()
    starts = [i for i in range(len(lines) - 1) if lines[i] and lines[i + 1] == "-" * len(lines[i])]
    names = [lines[i] for i in starts]
    written = {word.strip() for line in lines if " : " in line for word in line.partition(" : ")[0].split(",")}
    entries = [line for name, kind, each in options if name not in written for line in _describe(name, kind, each)]
    if section in names:
        place = names.index(section)
        end = starts[place + 1] if place + 1 < len(starts) else len(lines)
    else:
        end = starts[names.index("Examples")] if "Examples" in names else len(lines)
        entries = [section, "-" * len(section), *entries]
    before = lines[:end]
    while before and not before[-1]:
        before.pop()
    gap = [] if section in names else [""]
    function.__doc__ = "\n".join([*before, *gap, *entries, "", *lines[end:]])


def _describe(name: str, kind: str, each: Option) -> Iterator[str]:
    usual = "" if each.default is None or each.default == () else f", default {each.default!r}"
    yield f"{name} : {kind}{usual}"
    yield from (f"    {line}" for line in textwrap.wrap(each.meaning, 112))
