"""Every option of the library and of its command line, declared once.

An option is an entry of a TypedDict: its type, and beside it an `Option` with its default, its constraint and its
meaning. An option that several functions have is one `Option`, which says what differs from function to function in its
`variants`. Type checkers read the types through `**options: Unpack[...]`. The program reads the rest: `declare` gives a
function its signature and the entries of its docstring, `resolve` checks keywords and fills in defaults, and the
command line makes its words, its help and its completion of the same declarations. Nothing here imports NumPy, so that
`truecal --help` does not either.
"""

# Annotations must not become strings as a whole, or the declarations beside the types would be lost; types that
# would need an import are quoted instead.
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from numbers import Integral, Real
from types import MappingProxyType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    ForwardRef,
    Literal,
    NamedTuple,
    Protocol,
    TypedDict,
    TypeVar,
    get_args,
    is_typeddict,
)

from truecal._errors import did_you_mean, option

if TYPE_CHECKING:
    from os import PathLike

    from truecal.data import Moment, Observations, Sampling, Span
    from truecal.inference import RandomState
    from truecal.metrics import BinningLike, Measure, Test, Tolerance
    from truecal.reading import Limits
    from truecal.results import Comparison, DriftTable, GroupTable, Recalibration, Result, SliceTable

    Axes = Any  # of matplotlib
    Array = Any  # a column of values, of any library
    MetricNames = Iterable[str] | Mapping[str, Measure]

Missing = Literal["raise", "drop"]
ScoreScale = Literal["probability", "percent", "logit"]
Multiclass = Literal["classwise", "top-label"] | None
Adjustment = Literal["holm", "bh"] | None
Scale = Literal["linear", "logit"]
Style = Literal["verdict", "paper"]
MapKind = Literal["none", "offset", "logistic", "beta", "isotonic"]

# Names of metrics, in the order of tables. `truecal.metrics` has an object for each, called the same in capitals.
METRICS = (
    *("ltce", "ltce_information", "tce", "tce_q", "tce_v", "ece", "ace", "mce", "mce_q", "rmsce", "rmsce_q"),
    *("ece_pava_bc", "log_loss", "brier", "slope", "intercept", "spiegelhalter", "ecce", "ecce_mad", "smece", "atb"),
)
FORMATS = {  # the formats of files, with the suffixes that show them
    "csv": (".csv", ".txt"),
    "tsv": (".tsv", ".tab"),
    "parquet": (".parquet", ".pq"),
    "ipc": (".arrow", ".feather", ".ipc"),
    "jsonl": (".jsonl", ".ndjson"),
    "npz": (".npz",),
}
WINDOWS = ("1h", "1d", "1w", "1mo", "1q", "1y")
KINDS: tuple[MapKind, ...] = ("none", "offset", "logistic", "beta", "isotonic")
SCALES: tuple[ScoreScale, ...] = ("probability", "percent", "logit")

# Commands of the command line that have an option in common.
READING = "evaluate compare segments slices drift monitor recalibrate report plot tally check"
WEIGHTED = "evaluate compare segments drift monitor recalibrate report plot tally check"
SIZED = "evaluate segments drift monitor recalibrate report plot tally check"
CLASSES = "evaluate segments drift monitor report plot tally check"
JUDGING = "evaluate compare segments drift report plot check"

ARRAYS = "arrays"  # the variant of options where rows are arrays, not columns of data
# headings of help
COLUMNS, TIME, COMPUTED, LARGE, BASELINE, RULES, OUTPUT = (
    *("columns", "time", "what is computed", "large data", "baseline", "rules, from a file or from options"),
    "output",
)
# Types as documentation writes them.
ALIASES = {
    "BinningLike": "Binning | str | int | None",
    "RandomState": "int | Generator | None",
    "Tolerance": "Absolute | Relative",
    "Span": "timedelta | str",
    "Moment": "date | datetime | str",
    "PathLike[str]": "path",
    "MetricNames": "sequence of str | mapping",
    "Measure": "Metric",
    "Array": "array",
    "Sequence[Any]": "sequence",
    "Sequence[str]": "sequence of str",
    "Mapping[str, Any]": "mapping",
    "Any": "any",
}
LAST_SECTIONS = ("Notes", "References", "Examples")  # of a docstring, after those on parameters
PLAIN = (bool, float, int, str)  # types that are shown by their names
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


class Interval(NamedTuple):
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


class AtLeast(NamedTuple):
    """A whole number from some number on."""

    least: int
    kind: type[Exception] = ValueError

    @property
    def rule(self) -> str:
        return f"be a whole number, {self.least} or more"

    def admits(self, value: Any) -> bool:
        return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= self.least


class CountOrShare(NamedTuple):
    """How many of all: a whole number from 1 on, or a share as a float."""

    kind: type[Exception] = ValueError

    @property
    def rule(self) -> str:
        return "be a count, 1 or more, or a share above 0 and at most 1.0"

    def admits(self, value: Any) -> bool:
        if isinstance(value, Integral):
            return not isinstance(value, bool) and int(value) >= 1
        return isinstance(value, Real) and 0 < float(value) <= 1


class OneOf(NamedTuple):
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


class Column:
    """The name of a column."""

    kind: ClassVar[type[Exception]] = TypeError
    rule: ClassVar[str] = "be the name of a column"

    def admits(self, value: Any) -> bool:
        return isinstance(value, str)


class Columns:
    """The name of a column, or several."""

    kind: ClassVar[type[Exception]] = TypeError
    rule: ClassVar[str] = "be the name of a column, or names"

    def admits(self, value: Any) -> bool:
        return isinstance(value, str) or (isinstance(value, Sequence) and all(isinstance(name, str) for name in value))


# ---- declarations --------------------------------------------------------------------------------------------------


class Option(NamedTuple):
    """What an option means, in sentences, with its default and its constraint; and how the command line has it.

    Names of other options stand in backticks: the command line writes its own in their place. `needs` is another
    option without which it would do nothing, `type_name` its type in words where that of the TypedDict is wider.
    `meanings` has other meanings by the names of functions in small letters, or where rows are `ARRAYS`; `variants`
    what else differs there, or under a command.

    On the command line, `commands` are those that have it, `group` is the heading in help, `short` the option's letter,
    `metavar` what its value is called. `more` has what help adds under a command, with "" for all others. `help` is for
    options that are told otherwise there than in Python.
    """

    meaning: str
    default: Any = None
    constraint: Constraint | None = None
    commands: str = ""
    group: str = COLUMNS
    metavar: str | None = None
    short: str = ""
    more: Mapping[str, str] = MappingProxyType({})
    help: str = ""
    needs: str = ""
    type_name: str = ""
    meanings: Mapping[str, str] = MappingProxyType({})
    variants: Mapping[str, Mapping[str, Any]] = MappingProxyType({})

    def of(self, *names: str) -> "Option":
        """Return the option as a function or a command of this name has it; of several names the last decides."""
        differing = [*((key, {"meaning": text}) for key, text in self.meanings.items()), *self.variants.items()]
        changes: dict[str, Any] = {}
        for name in names:
            for key, change in differing:
                changes |= change if name.lower() in key.split() else {}
        return self._replace(**changes) if changes else self

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
# Options that occur in several TypedDicts, since some functions take arrays, or need other types. All others are
# declared where they stand.
POS_LABEL = Option(
    "The positive label, if labels are not 0 and 1. There may be one other label, the negative one.",
    commands=READING, metavar="VALUE", help="the positive label; there may be one other, the negative one",
)
MISSING = Option(
    "What to do with rows whose label, score, time or cluster is null or NaN. `row_counts` counts the dropped rows.",
    "raise", OneOf(("raise", "drop")),
    meanings={
        ARRAYS: "What to do with rows whose label, score or cluster is missing. `row_counts` counts the dropped rows.",
        "slices": "What to do with rows whose label, score or cluster is null or NaN. `row_counts` counts the dropped "
        "rows.",
    },
)
SAMPLING = Option(
    "How rows were sampled and labelled: which shares of negatives and of positives are in the data, how often labels "
    "are wrong, and which share of positives is known so far. Estimates are of the population.",
    meanings={
        ARRAYS: "How rows were sampled and labelled. Its `label_delay` is an array of shares, one for each row. Tests "
        "account for it; estimates are of the population.",
        "slices": "How rows were sampled and labelled: which shares of negatives and of positives are in the data, "
        "and how often labels are wrong. A delay of labels is refused. Estimates are of the population.",
    },
)
CLUSTER = Option(
    "The column of the customer, patient or document that a row belongs to. Tests and intervals then account for rows "
    "that belong together; without it rows are taken as independent.",
    constraint=COLUMN, commands=READING, metavar="COLUMN",
    help="customers, patients or documents whose rows belong together; without it rows are taken as independent",
    meanings={
        ARRAYS: "The customer, patient or document of each row, of any type. Tests and intervals then account for "
        "rows that belong together; without it rows are taken as independent.",
        "compare": "The customer, patient or document of each row, of any type. Differences of rows are then summed "
        "by cluster, and labels are resampled by cluster; without it rows are taken as independent.",
    },
    variants={
        ARRAYS: {"constraint": None},
    },
)
IMPORTANCE_WEIGHT = Option(
    "A column of weights above 0 that depend on features alone. They weight the metrics, but no test.",
    constraint=COLUMN, commands=WEIGHTED, metavar="COLUMN",
    help="weights that depend on features alone; they weight the metrics, but no test",
    meanings={
        ARRAYS: "An array of weights above 0 that depend on features alone, such as those of a survey. Metrics are "
        "weighted by them; the verdict and its tests are not.",
    },
    variants={
        ARRAYS: {"constraint": None},
    },
)
MULTICLASS = Option(
    'What to read of several classes. "top-label": the most probable one, the first of equals, and whether it is '
    'the true one. "classwise": that, and each class against the rest, as `ClassObservations`.',
    constraint=OneOf(("top-label", "classwise")), commands=CLASSES,
    help="what is evaluated of several classes: the most probable one, or each against the rest as well",
    more={"": "inferred where labels name the columns of `score`"},
    meanings={
        ARRAYS: "Of several classes: the calibration of the most probable one (the default), or the average over each "
        "class against the rest, in which errors of few classes are diluted. Two columns need a choice, since the "
        "positive class is a column by itself.",
        "evaluate": 'Of several classes the most probable one is evaluated; positives are the rows of which it is the '
        'true one. Two columns need this option. With "classwise" each class is evaluated against the rest as '
        'well, as `evaluate_classes` does it.',
    },
)
LABELS = Option(
    "The classes, in the order of the columns. By default a column goes by its name, or by what is left of it "
    "without something that all begin or end with: p_cat is the column of cat.",
    commands=CLASSES, metavar="NAMES", needs="multiclass",
    help="the classes, in the order of the columns of `score`; by default these are named after them",
    meanings={
        ARRAYS: "The classes, in the order of the columns of `y_prob`; 0, 1, ... by default.",
    },
    variants={
        ARRAYS: {"needs": ""},
    },
)
BASELINE_OPTION = Option(
    "The scores of the last release for the same rows: another column, or a dataframe or files with columns of the "
    "same names, whose rows are matched by `on`.",
    commands="check drift", group=BASELINE, metavar="COLUMN|FILE",
    help="another score column, a file of the same rows, or a saved result",
    meanings={
        "check assert_calibrated": "A result of the last release on other rows, with confidence intervals, or a path "
        "of its JSON. The intervals are combined as those of independent samples (Zou and Donner, Statistics in "
        "Medicine 2008). "
        "Baseline scores of the same rows, which reveal smaller differences, are read with the data: "
        "`truecal.read(..., baseline=...)`.",
        "drift": 'What periods are compared with: a number of first periods, by default a third of all; those of a '
        'range, "2026-01-01..2026-01-31"; or other `Observations`, read in the same way.',
    },
    variants={
        "drift": {
            "group": TIME,
            "metavar": "N|RANGE|FILE",
            "help": "what periods are compared with: a number of first periods, those of 2026-01-01..2026-01-31, or a "
            "file of other rows; default a third",
        },
    },
)
RECALIBRATION = Option(
    "A calibration map that is applied to the predictions first, or a path of its JSON; the original predictions are "
    "the baseline. Without rules, the verdict after recalibration must be \"consistent\", and the log loss not worse "
    "than before. The rows must not be those that the map was fitted to.",
    meanings={
        "report": "What `recalibrate` returned for the first of `results`: the calibration map and its held-out "
        "validation.",
    },
)
METRICS_OPTION = Option(
    'Names of `truecal.metrics.METRICS` or "net_benefit@0.05" for a threshold (by default those of '
    "`truecal.metrics.STANDARD`), or your own as a mapping of names to `Metric`. The result's `bins` are those of "
    "the first metric with bins.",
    commands="evaluate compare segments drift report plot", group=COMPUTED, metavar="NAMES",
    help=f"of {', '.join(METRICS)}, net_benefit@0.05 for a threshold, or all",
    more={
        "evaluate": "default ltce,tce,ece,log_loss,brier,slope,intercept",
        "compare": "default ltce,log_loss,brier,slope,tce",
        "segments": "default ltce; the first is shown", "drift": "default ltce; the first is shown",
        "": "default those with bins, log_loss, brier, slope and intercept",
    },
    meanings={
        "compare": 'Names of `truecal.metrics.METRICS` or "net_benefit@0.05", or your own as a mapping. Gaps in '
        'bins such as ECE are refused: intervals of their differences have a coverage of 86% to 95% instead '
        'of 95%, see docs/inference.md. Metrics with an optimum between bad values, such as the slope, are '
        'compared by the distance from it.',
        "metrics": "Names of metrics of the results; all by default.",
        "binnings": "Names of metrics of the result, whose bins are drawn; by default one for each binning.",
    },
    variants={
        "compare": {"default": ("ltce", "log_loss", "brier", "slope", "tce")},
    },
)
METRIC = Option(
    "The name of a metric of the result, whose bins are drawn.",
    meanings={
        "segments drift": 'The metric beside the verdict: a name of `truecal.metrics.METRICS` or "net_benefit@0.05", '
        'which follows `binning`, `test`, `significance` and `tolerance`, or your own. The verdict does not '
        'depend on it.',
        "calibration models power": 'The name of a metric of the result, whose bins are drawn; by default the first '
        'that tests windows, such as "ltce".',
        "test_reliability": "The name of a metric of the result, whose bins are drawn; by default TCE, or the first "
        "that tests each prediction in its bin.",
        "reliability": 'The name of a metric of the result, whose bins are drawn; by default "ece", or "ace" if half '
        'of the predictions lie below 0.05 or above 0.95.',
        "report": "Whose bins are listed, and drawn among the other diagrams: by default those of the first metric, "
        "and of TCE.",
    },
    variants={
        "segments drift": {"default": "ltce"},
    },
)
SCALE = Option(
    "The scale of probabilities; by default logit if half of the bins lie below 0.05 or above 0.95. Exact zeros and "
    "ones are counted at the margins of a logit axis.",
    None, OneOf(("linear", "logit")), "plot", OUTPUT, help="of probabilities; default by the data",
    meanings={
        "report": "Of the probability axes at first; the page has a switch. Chosen as in `plot.calibration` by "
        "default.",
    },
)
TITLE = Option(
    "A line above the numbers.", commands="plot report", group=OUTPUT,
    meanings={
        "report": "The title of the page.",
    },
    variants={
        "report": {"default": "Calibration report", "help": "of the page"},
    },
)


class RowOptions(TypedDict, total=False):
    """What is read of each row; see `truecal.read`."""

    label: Annotated[str | None, Option(
        "The column of labels: 0 and 1 or booleans, or any two values with `pos_label`.",
        constraint=COLUMN, commands=READING, metavar="COLUMN", short="-y",
        help="the column of labels: 0 and 1, or see `pos_label`", more={"": "inferred if left out"},
        variants={"slices": {"type_name": "str"}},
        meanings={
            "read": "The column of labels: 0 and 1 or booleans, or any two values with `pos_label`. With "
            "`multiclass`, the class of each row.",
        },
    )]
    score: Annotated[str | Sequence[str] | None, Option(
        "The column of predicted probabilities.",
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
        meanings={
            "read": 'The column of predicted probabilities. With `multiclass`, a column for each class: names, or '
            'patterns such as "p_*".',
            "read_models": "The columns of predicted probabilities, one for each model.",
        },
        variants={"slices": {"type_name": "str"}},
    )]
    pos_label: Annotated[Any, POS_LABEL]
    missing: Annotated[Missing, MISSING]
    format: Annotated[str | None, Option(
        "The format of files whose suffix does not show it.", constraint=OneOf(tuple(FORMATS)),
        commands=f"{READING} apply", group="data",
    )]
    sampling: Annotated["Sampling | None", SAMPLING]
    cluster: Annotated[str | None, CLUSTER]
    score_scale: Annotated[ScoreScale, Option(
        "What the scores are: probabilities in [0, 1], percentages in [0, 100], or logits.",
        "probability", OneOf(SCALES),
    )]


class ByOptions(TypedDict, total=False):
    """Which columns make segments."""

    by: Annotated[str | Sequence[str] | None, Option(
        "Columns whose values make segments. For `Observations`, the columns to keep; all by default.",
        constraint=Columns(), commands="evaluate segments monitor recalibrate report plot tally check",
        metavar="COLUMN", help="columns whose values make segments",
        more={"": "commas or repeated", "plot": "for --kind segments; commas or repeated"},
        meanings={
            "segments": "The columns that make segments; by default all that `data` have, except the time.",
            "recalibrate": "Columns of the observations: each segment gets an offset of its own, shrunk towards the "
            "common map. Without it, validation still looks at each segment that was read: a map that helps "
            "overall may harm some.",
        },
        variants={
            "merge": {"help": "columns to keep, commas or repeated; '' keeps none; default all", "group": "data"},
        },
    )]


class TimeOptions(TypedDict, total=False):
    """Which column makes periods."""

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


class EveryOptions(TypedDict, total=False):
    """How long periods are."""

    every: Annotated[str | None, Option(
        'The length of periods: "1h", "1d", "1w" (from Monday), "1mo", "1q" or "1y". With None each distinct value, of '
        "any type, is a period. Times with a zone are taken in UTC; DuckDB and Spark take their session's zone.",
        "1d", OneOf((*WINDOWS, None)), "drift monitor report plot tally recalibrate", TIME,
        help="the length of periods; weeks begin on Monday", needs="time",
        more={
            "": "none takes the values of `time` as they are; default 1d, or as in the observations",
            **dict.fromkeys(("tally", "recalibrate"), "default 1d"),
        },
        meanings={
            "drift": "Longer periods than those that were read.",
        },
        variants={
            "drift": {"default": None, "needs": ""},
        },
    )]


class ModelOptions(RowOptions, ByOptions, TimeOptions, EveryOptions, total=False):
    """What is read of each row of one or more models; see `truecal.read_models`."""

    baseline: Annotated[Any, BASELINE_OPTION]
    on: Annotated[str | Sequence[str], Option(
        "The columns that match the rows of `baseline`, if that is other data.", (), Columns(), "check", BASELINE,
        "COLUMN", help="the columns that match the rows of the file", needs="baseline",
    )]
    limits: Annotated["Limits | None", Option(
        "For data larger than memory, or in an engine outside of this process. `Limits(grid=13)` groups scores into "
        "cells of 13 significant bits.",
    )]
    count: Annotated[str | None, Option(
        "A column of whole numbers: how many rows a row stands for. Rows of 0 are dropped.",
        constraint=COLUMN, commands=WEIGHTED, metavar="COLUMN", help="how many rows each row stands for",
    )]
    importance_weight: Annotated[str | None, IMPORTANCE_WEIGHT]


class DataOptions(ModelOptions, total=False):
    """What is read of data; see `truecal.read`."""

    multiclass: Annotated[Multiclass, MULTICLASS]
    labels: Annotated[Sequence[Any] | None, LABELS]


class ClusterOptions(TypedDict, total=False):
    """Which rows of arrays belong together."""

    cluster: Annotated["Array | None", CLUSTER, ARRAYS]


class PositiveOptions(TypedDict, total=False):
    """Which labels of arrays are positive."""

    pos_label: Annotated[Any, POS_LABEL, ARRAYS]


class PairOptions(ClusterOptions, PositiveOptions, total=False):
    """What is said of the rows of two models that are arrays; see `truecal.compare`."""

    sampling: Annotated["Sampling | None", SAMPLING, ARRAYS]


class WeightOptions(TypedDict, total=False):
    """How often rows of arrays were seen."""

    sample_weight: Annotated["Array | None", Option("An array of whole numbers: how often each row was seen.")]


class LabelsOptions(TypedDict, total=False):
    """Which classes columns of arrays are."""

    labels: Annotated[Sequence[Any] | None, LABELS, ARRAYS]


class WeightedOptions(PairOptions, WeightOptions, total=False):
    """What is said of rows that are arrays; see `truecal.recalibrate`."""


class ClasswiseOptions(LabelsOptions, WeightOptions, ClusterOptions, total=False):
    """What is said of rows that are arrays of several classes; see `truecal.evaluate_classes`."""


class ArrayOptions(WeightedOptions, LabelsOptions, total=False):
    """What is said of rows that are arrays, of one or more classes; see `truecal.evaluate`."""

    missing: Annotated[Missing, MISSING, ARRAYS]
    importance_weight: Annotated["Array | None", IMPORTANCE_WEIGHT, ARRAYS]


class ClassOptions(TypedDict, total=False):
    """What is computed of arrays of several classes; apart from the others, since types of results depend on it."""

    multiclass: Annotated[Multiclass, MULTICLASS, ARRAYS]


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


class MetricOptions(TypedDict, total=False):
    """Which metrics are computed."""

    metrics: Annotated["MetricNames | None", METRICS_OPTION]


class MetricChoice(TypedDict, total=False):
    """Which metric is shown."""

    metric: Annotated["Measure | str | None", METRIC]


class LevelOptions(TypedDict, total=False):
    """At which level is tested."""

    significance: Annotated[float, Option(
        "The level of the verdict and of each test.", 0.05, LEVEL,
        "evaluate compare segments slices drift monitor report plot plan check", COMPUTED, "LEVEL",
        meanings={
            "slices": "The probability that any slice is listed if the model is calibrated.",
            "monitor": "The probability of ever raising an alarm for a model that stays calibrated.",
            "plan judge": "The level of the verdict.",
            "detectable_rates": "The level of the test of each bin.",
            "exact_interval": "1 minus the level of the interval.",
            "tce": "A hypothesis is rejected when its p-value is at most this.",
            "ltce local_error": "The level of each window's decision.",
            "check assert_calibrated": "The level of the standard rules, 0.01 by default. Rules that are given have "
            "their own.",
        },
        variants={
            "check assert_calibrated": {
                "default": None,
                "group": RULES,
                "help": "level of the tests; p-values up to it show miscalibration; default 0.01",
            },
        },
    )]


class SeedOptions(TypedDict, total=False):
    """What random numbers begin with."""

    random_state: Annotated["RandomState", Option(
        "The seed or generator that labels are simulated with.", group=COMPUTED, metavar="N",
        commands=f"{JUDGING} recalibrate", help="the seed of what is simulated",
        meanings={
            "recalibratedclassifier": "The seed by which rows are assigned to folds.",
            "recalibrate": "The seed or generator by which rows are assigned to folds.",
        },
        variants={
            "recalibratedclassifier": {"default": 0, "type_name": "int"},
            "recalibrate": {"default": 0, "help": "the seed by which rows are assigned to folds"},
            "check assert_calibrated": {"default": 0},
        },
    )]


class ToleranceOptions(TypedDict, total=False):
    """Which predictions are judged, and how far they may miss."""

    tolerance: Annotated["Tolerance | float | None", Option(
        "How far a probability may miss and still count as calibrated: `Absolute`, `Relative`, or a number.",
        commands=f"{JUDGING} monitor", group=COMPUTED, metavar="T",
        help="how far predictions may miss, as a probability or as a percentage of each",
        meanings={
            "ltce local_error": "How far a probability may miss and still count as calibrated: `Absolute`, `Relative`, "
            "or a number. A calibrated model then scores at most the level.",
            "check assert_calibrated": "How far a probability may miss and still count as calibrated, for rules "
            "without their own: `Absolute`, `Relative`, or a number.",
        },
    )]
    threshold: Annotated[float | None, Option(
        "Evaluate only predictions at or above this decision threshold.", None, PROBABILITY, f"{JUDGING} monitor",
        COMPUTED, "SCORE",
        meanings={
            "check assert_calibrated": "Evaluate only predictions at or above this decision threshold, for rules "
            "without their own region.",
        },
        variants={
            "check assert_calibrated": {"help": "evaluate only predictions at or above this decision threshold"},
        },
    )]


class ThreadOptions(TypedDict, total=False):
    """How many threads work."""

    threads: Annotated[int | None, Option(
        "How many threads to use; numbers do not depend on it.", None, AtLeast(1), JUDGING, COMPUTED, "N",
        meanings={
            "ltce tce ece ace mce rmsce compute": "How many threads may pass over the rows: all cores from a million "
            "rows on, by default. The number does not depend on them.",
        },
    )]


class BinOptions(TypedDict, total=False):
    """What is tested in bins, and which predictions are at the top."""

    top: Annotated[int | float | None, Option(
        "Evaluate only the highest predictions: so many (int), or a share of all (float).", None, CountOrShare(),
        JUDGING, COMPUTED, "COUNT", help="evaluate only the top 1000, or the top 0.01 (a share)",
        meanings={
            "segments": "Evaluate only the highest predictions of all segments together: so many (int), or a share of "
            "all (float).",
            "drift": "Evaluate only the highest predictions of all periods together: so many (int), or a share of all "
            "(float).",
            "check assert_calibrated": "Evaluate only the highest predictions, for rules without their own region: so "
            "many (int), or a share of all (float).",
        },
    )]
    binning: Annotated["BinningLike", Option(
        "Takes the place of PAVA-BC in the named metrics.",
        meanings={
            "tce": 'PAVA-BC by default; "uniform", "quantile", "pava", "pava-bc", a binning such as '
            '`BoundedIsotonic(sizes="paper")`, or a number of bins of equal size.',
            **{
                name: f"10 bins of equal {size} by default; a number is a number of bins of equal {size}."
                for name, size in (("ece", "width"), ("ace", "size"), ("mce", "width"), ("rmsce", "width"))
            },
        },
    )]
    test: Annotated["Test | None", Option(
        "The test of each bin in metrics such as TCE and in tables of bins; `Binomial()` by default. Local TCE and the "
        "verdict have their own.",
        meanings={
            "tce": "The test of each bin; `Binomial()` by default.",
        },
    )]


class ScopeOptions(ToleranceOptions, BinOptions, SeedOptions, ThreadOptions, total=False):
    """What is tested how, and which predictions."""


class TestOptions(LevelOptions, ScopeOptions, total=False):
    """How predictions are tested, and which of them."""


class ResampleOptions(TypedDict, total=False):
    """How often labels are resampled."""

    resamples: Annotated[int, Option(
        "How often labels are resampled for confidence intervals; 0 for none.", 0, AtLeast(0),
        "evaluate report plot compare check", COMPUTED, "N",
        meanings={
            "compare": "How often labels are resampled for confidence intervals.",
        },
        variants={
            "compare": {"default": 1000, "constraint": AtLeast(1)}, "check assert_calibrated": {"default": 1000},
        },
    )]


class ConfidenceOptions(TypedDict, total=False):
    """How wide confidence intervals are."""

    confidence: Annotated[float, Option("The level of confidence intervals.", 0.95, LEVEL)]


class NullOptions(TypedDict, total=False):
    """How often labels are simulated."""

    null_draws: Annotated[int, Option(
        "How often labels are simulated from the predictions, for what each metric would be if the model were "
        "calibrated; 0 for none.",
        0, AtLeast(0), "evaluate segments drift report plot check", COMPUTED, "N",
        meanings={
            "segments drift": "The most sets of labels that are simulated for the metric's null distribution; 0 for "
            "none. Each group gets 199, and more only while fewer than 10 simulated values reach the observed one.",
            "check assert_calibrated": "How often labels are simulated from the predictions, for rules on what a "
            "metric would be if the model were calibrated. Segments get as many as their number requires.",
        },
        variants={
            "segments drift": {
                "help": "how often labels are simulated from the predictions, for what each metric would be if the "
                "model were calibrated; 0 for none",
            },
            "check assert_calibrated": {
                "default": 1000,
                "help": "how often labels are simulated from the predictions, for what each metric would be if the "
                "model were calibrated; 0 for none",
            },
        },
    )]


class CompareOptions(TestOptions, ResampleOptions, ConfidenceOptions, total=False):
    """How two models are compared; see `truecal.compare`."""


class GroupOptions(TestOptions, NullOptions, total=False):
    """How segments are tested; see `truecal.segments`."""

    adjust: Annotated[Adjustment, Option(
        'Adjust p-values for their number: "holm" for any error, "bh" (Benjamini and Hochberg) for the share of '
        "errors, None does not adjust.",
        None, OneOf(("holm", "bh", None)), "segments drift report plot", COMPUTED,
        help="adjust p-values for the number of groups: by Holm (default), Benjamini-Hochberg, or not",
        meanings={
            "evaluate evaluate_classes": 'Adjust p-values of bins for their number: "holm" for any error, "bh" '
            '(Benjamini and Hochberg) for the share of errors, None does not adjust.',
        },
        variants={
            "segments drift": {"default": "holm"},
        },
    )]


class LagOptions(TypedDict, total=False):
    """When labels are complete."""

    label_lag: Annotated["Span | None", Option(
        'How long after the end of a period its labels are complete, such as "30d", "12h" or "6w". Periods that are '
        "younger are shown as pending.",
        commands="drift monitor report plot", group=TIME, metavar="SPAN",
        help="how long after the end of a period its labels are complete, such as 30d, 12h or 6w",
        more={"": "until then it is pending", "monitor": "until then it waits, and may be read again"},
        meanings={
            "monitor": 'How long after the end of a period its labels are complete, such as "30d", "12h" or "6w". '
            'Younger periods are pending: they may be given again with more labels, and are evaluated when they '
            'are old enough. Without it every period is evaluated at once.',
        },
    )]


class NowOptions(TypedDict, total=False):
    """What time it is."""

    now: Annotated["Moment | None", Option(
        "What `label_lag` is counted to; by default the end of the last period.",
        commands="drift monitor report plot", group=TIME, metavar="DATE", help="what `label_lag` is counted to",
        more={"": "default the end of the last period", "monitor": "default the clock, in UTC"},
        needs="label_lag",
        meanings={
            "update": "The time at which the age of periods is taken, with `label_lag`; the clock (UTC) by default.",
        },
    )]


class SegmentOptions(ByOptions, GroupOptions, total=False):
    """How segments are tested, and which; see `truecal.segments`."""


class DriftOptions(GroupOptions, EveryOptions, LagOptions, NowOptions, total=False):
    """How periods are tested; see `truecal.drift`."""

    baseline: Annotated["int | str | Observations | None", BASELINE_OPTION]


class CheckOptions(ScopeOptions, NullOptions, ResampleOptions, total=False):
    """How rules are held against data; see `truecal.check`."""


class EvaluateOptions(GroupOptions, ResampleOptions, ConfidenceOptions, total=False):
    """How predictions are evaluated; see `truecal.evaluate`."""


class EvaluateArraysOptions(ArrayOptions, EvaluateOptions, total=False):
    """How arrays are evaluated; see `truecal.evaluate`."""


class EvaluateClassesOptions(ClasswiseOptions, EvaluateOptions, total=False):
    """How arrays of several classes are evaluated; see `truecal.evaluate_classes`."""


class CompareArraysOptions(PairOptions, CompareOptions, total=False):
    """How arrays of two models are compared; see `truecal.compare`."""


class FunctionOptions(ArrayOptions, ClassOptions, TestOptions, total=False):
    """What functions of one metric take; see `truecal.tce`."""


class GateOptions(TypedDict, total=False):
    """What a gate has besides; see `truecal.check`."""

    baseline: Annotated["Result | str | PathLike[str] | None", BASELINE_OPTION]
    recalibration: Annotated["Recalibration | str | PathLike[str] | None", RECALIBRATION]


class AssertOptions(GateOptions, CheckOptions, total=False):
    """What a gate has, as an assertion; see `truecal.integrations.assert_calibrated`."""


class MinRowsOptions(TypedDict, total=False):
    """How many rows it takes."""

    min_rows: Annotated[int, Option(
        "The fewest rows of a group that is tested. Scores of exactly 0 or 1 that a label contradicts need no test.",
        50, AtLeast(1), "slices check", COMPUTED, "N", help="the fewest rows of a group",
        meanings={
            "rule": "With fewer rows the rule is inconclusive.",
        },
        variants={
            "check": {"help": "with fewer rows: inconclusive", "group": RULES},
            "rule": {"default": 0, "constraint": AtLeast(0)},
        },
    )]


class SliceOptions(RowOptions, LevelOptions, MinRowsOptions, total=False):
    """Where groups are searched for; see `truecal.slices`."""

    columns: Annotated[str | Sequence[str] | None, Option(
        "The columns whose values make groups; all others by default.", None, Columns(), "slices", COLUMNS, "COLUMN",
        help="the columns whose values and ranges make groups; commas or repeated; default all others",
    )]
    pairs: Annotated[bool, Option("Whether pairs of columns are searched, too.", True)]


class KindOptions(TypedDict, total=False):
    """Which kind of map is fitted."""

    kind: Annotated['MapKind | Literal["auto"]', Option(
        '"offset" multiplies all odds by one factor (a change of prevalence). "logistic" has an intercept and a slope '
        'on the log-odds (overconfidence, too). "beta" has separate slopes for low and for high predictions. '
        '"isotonic" has steps, each of at least five positives and five negatives. "auto" chooses among these and none '
        "by their likelihood and, for steps, the likelihood of held-out rows.",
        "auto", OneOf(("auto", *KINDS)), "recalibrate", COMPUTED,
        help="offset, logistic, beta, isotonic or none; default auto, by the likelihood of the rows",
    )]


class RecalibrateOptions(ByOptions, WeightedOptions, SeedOptions, total=False):
    """How a calibration map is fitted; see `truecal.recalibrate`."""

    folds: Annotated[int, Option(
        "The number of folds of the cross-validation; 0 for none.", 5, AtLeast(0), "recalibrate", COMPUTED, "N"
    )]


class MonitorOptions(LevelOptions, LagOptions, ToleranceOptions, total=False):
    """How a monitor judges; see `truecal.Monitor`."""


class PlanOptions(LevelOptions, total=False):
    """How many rows it takes; see `truecal.plan`."""

    factor: Annotated[float | None, Option(
        "The common odds ratio to detect.", commands="plan", group=COMPUTED, metavar="F",
        help="find that the odds are so many times those predicted",
    )]
    ratio: Annotated[float | None, Option(
        "O/E to detect: observed over expected positives, below 1 if predictions are too high.", commands="plan",
        group=COMPUTED, metavar="R", help="find that positives are so many times those predicted: 1.2 for a fifth more",
    )]
    rows: Annotated[int | None, Option(
        "The number of rows. One of `factor`, `ratio` and `rows` must be given.", None, AtLeast(1), "plan", COMPUTED,
        "N", help="say what so many rows find",
    )]
    power: Annotated[float, Option(
        "The required probability that the verdict is \"miscalibrated\".", 0.8, LEVEL, "plan", COMPUTED, "P",
        help="the probability of finding it",
        meanings={
            "detectable_rates": "The required probability that the test rejects.",
        },
    )]


class DrawOptions(TypedDict, total=False):
    """What is drawn, and where; see `truecal.plot`."""

    metrics: Annotated[Sequence[str] | None, METRICS_OPTION]
    metric: Annotated[str | None, METRIC]
    style: Annotated[Style, Option(
        'With "verdict" the rate is black, blue is too low and orange-red too high, and only a miscalibrated model has '
        'colours. "paper" is for papers: the rate and rejected predictions are orange-red, the band is blue.',
        "verdict", OneOf(("verdict", "paper")),
    )]
    scale: Annotated[Scale | None, SCALE]
    worst: Annotated[int, Option(
        "How many are shown; 0 for all.", 20, AtLeast(0), "segments", OUTPUT, "N",
    )]
    title: Annotated[str | None, TITLE]
    ax: Annotated["Axes | None", Option("The matplotlib axes to draw in; by default a new figure.")]


class ReportOptions(TypedDict, total=False):
    """What a report has besides results; see `truecal.report`."""

    title: Annotated[str, TITLE]
    metric: Annotated[str | None, METRIC]
    scale: Annotated[Scale | None, SCALE]
    segments: Annotated["GroupTable | None", Option(
        "What was found by segment for the first of `results`, as a table, worst first, and a picture.",
    )]
    slices: Annotated["SliceTable | None", Option(
        "What `slices` found for the first of `results`, as a table.", commands="report", group=COMPUTED,
        help="search all columns for miscalibrated groups, for a section on them",
    )]
    drift: Annotated["DriftTable | None", Option(
        "What `drift` found for the first of `results`, as a table and a plot of the periods.",
    )]
    recalibration: Annotated["Recalibration | None", RECALIBRATION]
    comparison: Annotated["Comparison | None", Option(
        "What `compare` found of two models: which is better, as a table and a picture.",
    )]
    settings: Annotated[Mapping[str, Any] | None, Option(
        'More lines on how the numbers were made, such as {"data": "preds.csv"}, which also stands at the top.',
    )]
# fmt: on

DECLARED = tuple(value for value in list(globals().values()) if is_typeddict(value) and value is not TypedDict)
OPTIONS: dict[str, Option] = {
    name: get_args(hint)[1] for declared in DECLARED for name, hint in declared.__annotations__.items()
}
"""Every option by name."""


# ---- reading declarations ------------------------------------------------------------------------------------------


def find_options(*declared: Any) -> dict[str, Option]:
    """The options of TypedDicts by name, in the order of their declaration.

    Examples
    --------
    >>> find_options(PlanOptions)["power"].default
    0.8
    """
    return {name: _get_option(hint) for each in declared for name, hint in each.__annotations__.items()}


def _get_option(hint: Any, *names: str) -> Option:
    """The option of an entry of a TypedDict, as functions of these names have it."""
    _, each, *variants = get_args(hint)
    found: Option = each.of(*variants, *names)
    return found


def _name_type(hint: Any, each: Option) -> str:
    """The type of an option as documentation writes it."""
    kind, values = get_args(hint)[0], each.constraint.values if isinstance(each.constraint, OneOf) else ()
    words = kind.__forward_arg__ if isinstance(kind, ForwardRef) else kind.__name__ if kind in PLAIN else str(kind)
    words = words.replace("collections.abc.", "").replace("typing.", "")
    for alias, meant in ALIASES.items():
        words = words.replace(alias, meant)
    parts = [part for part in words.split(" | ") if part != "None"]
    quoted = values if each.default is not None else each.choices
    plain = each.type_name or (join_words(quoted) if values else _join(parts))
    return f"{plain}, optional" if each.default is None and not each.type_name else plain


def declare(*declared: Any, first: Any = ()) -> Callable[[F], F]:
    """Give a function or a class the options of TypedDicts: their names and defaults in its signature, their meanings
    in its docstring, and what `resolve` knows of them. Those of `first` stand under "Parameters".

    Without `**options` it has only the parameters that it writes itself, which are then documented and can be checked.
    """

    import inspect

    def give(function: F) -> F:
        name, signature = function.__name__, inspect.signature(function)
        own = [each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
        named, fixed = [each.name for each in own], len(own) == len(signature.parameters)
        hints = {key: (group, hint) for group in (*first, *declared) for key, hint in group.__annotations__.items()}
        if fixed:
            hints = {key: hints[key] for key in named if key in hints}
        known = {key: _get_option(hint, name) for key, (_, hint) in hints.items()}
        more = [
            inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=each.default)
            for key, each in known.items()
            if key not in named
        ]
        if more:
            function.__signature__ = signature.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
        function.__options__ = known  # type: ignore[attr-defined]
        function.__keywords__ = {each.name: known[each.name] for each in more}  # type: ignore[attr-defined]
        for section, groups in (("Parameters", first), ("Other Parameters", declared)):
            entries = [(key, hint, known[key]) for key, (group, hint) in hints.items() if group in groups]
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
    for name, value in given.items():  # type: ignore[attr-defined]
        other = known[name].needs
        if other and value not in (None, ()) and found[other] is None:
            raise ValueError(f"{option(name)} needs {option(other)}; that is missing.")
    return found  # type: ignore[return-value]


def take_options(declared: type, options: Any) -> Any:
    """Return the options of a TypedDict among others."""
    return {name: value for name, value in options.items() if name in declared.__annotations__}


def check_given(function: Callable[..., Any], **given: Any) -> None:
    """Check options that a function has as parameters of its own."""
    for name, value in given.items():
        options_of(function)[name].check(name, value)


def check_option(name: str, value: Any, function: str = "") -> None:
    """Check an option that a function or a class of this name has.

    Examples
    --------
    >>> check_option("significance", 0.05)
    >>> check_option("significance", 2)
    Traceback (most recent call last):
        ...
    ValueError: `significance` must lie between 0 and 1; it is 2.
    """
    each = OPTIONS[name]
    (each.of(function) if function else each).check(name, value)


def join_words(values: Sequence[Any]) -> str:
    """Words in quotation marks, as a sentence lists them; None as it is.

    Examples
    --------
    >>> join_words(("holm", "bh", None))
    '"holm", "bh" or None'
    """
    return _join(["None" if value is None else f'"{value}"' for value in values])


def _join(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _suggest(name: str, function: Callable[..., Any]) -> str:
    """A hint for a keyword that a function does not have."""
    if name in find_options(DataOptions):
        return f"\n\nHint: columns are named where data are read: `truecal.read(data, {name}=...)`."
    from inspect import signature

    return did_you_mean(name, signature(function).parameters)


def _document(function: Callable[..., Any], section: str, options: Sequence[tuple[str, Any, Option]]) -> None:
    """Add entries to a section of a function's docstring, which is made before the examples if it is not there."""
    if function.__doc__ is None:  # python -OO
        return
    from inspect import cleandoc

    lines = cleandoc(function.__doc__).splitlines()
    starts = [i for i in range(len(lines) - 1) if lines[i] and lines[i + 1] == "-" * len(lines[i])]
    names = [lines[i] for i in starts]
    written = {word.strip() for line in lines if " : " in line for word in line.partition(" : ")[0].split(",")}
    entries = [line for name, hint, each in options if name not in written for line in _describe(name, hint, each)]
    if section in names:
        place = names.index(section)
        end = starts[place + 1] if place + 1 < len(starts) else len(lines)
    else:
        after = [start for start, name in zip(starts, names, strict=True) if name in LAST_SECTIONS]
        end = after[0] if after else len(lines)
        entries = [section, "-" * len(section), *entries]
    before = lines[:end]
    while before and not before[-1]:
        before.pop()
    gap = [] if section in names else [""]
    function.__doc__ = "\n".join([*before, *gap, *entries, "", *lines[end:]])


def _describe(name: str, hint: Any, each: Option) -> Iterator[str]:
    usual = "" if each.default is None or each.default == () else f", default {each.default!r}"
    yield f"{name} : {_name_type(hint, each)}{usual}"
    yield from _wrap(each.meaning)


@cache
def _wrap(meaning: str) -> tuple[str, ...]:
    """The lines of a meaning; many functions have it, and wrapping takes time at the start."""
    from textwrap import wrap

    return tuple(f"    {line}" for line in wrap(meaning, 112))
