"""The commands and their arguments: those that `truecal._options` declares, and the few that only the command line has.

Parsers, help, completion and the words of errors follow from them.
"""

from __future__ import annotations

import argparse
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn

from truecal._errors import did_you_mean
from truecal._options import (
    COLUMNS,
    COMPUTED,
    JUDGING,
    LARGE,
    METRICS,
    OUTPUT,
    READING,
    RULES,
    TIME,
    WINDOWS,
    AtLeast,
    Columns,
    Interval,
    Option,
)
from truecal._options import (
    OPTIONS as DECLARED,
)
from truecal._text import READABLE, Terminal, say, shorten
from truecal._threads import count_cores

LARGEST_NUMBER = 2**63 - 1  # that other languages hold
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


# ---- what a value may be -------------------------------------------------------------------------------------------


def names(text: str) -> list[str]:
    """Names, by commas; an empty one is no column, and refused where columns are looked up."""
    found = text.split(",")
    if not any(found):
        raise argparse.ArgumentTypeError(f"it must name something; it is {text!r}")
    return found


def names_or_none(text: str) -> list[str]:
    """Names, by commas, or "none"."""
    return [] if text == "none" else names(text)


def refuse_empty(kind: Callable[[str], Any] | None) -> Callable[[str], Any]:
    """Read a value that must not be empty: that would be ignored, such as a variable of a script that is not set."""

    def read(text: str) -> Any:
        if not text:
            raise argparse.ArgumentTypeError("it must have a value; it is empty")
        return text if kind is None else kind(text)

    return read


def whole(text: str) -> int:
    """A whole number, 0 or more."""
    return _number(text, 0)


def positive(text: str) -> int:
    """A whole number, 1 or more."""
    return _number(text, 1)


def _number(text: str, least: int) -> int:
    try:
        value = int(text)
    except ValueError:
        value = -1
    if not least <= value <= LARGEST_NUMBER:
        shown = shorten(text, 40)
        raise argparse.ArgumentTypeError(f"it must be a whole number, {least} or more; it is {shown!r}")
    return value


def number(text: str) -> float:
    """A number."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"it must be a number; it is {text!r}") from None


def shares(text: str) -> tuple[float, ...]:
    """Numbers, by commas."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"it must be two shares, such as 0.01,0.02; it is {text!r}") from None


def count_or_share(text: str) -> int | float:
    """A count, or a share of all predictions."""
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"it must be a count or a share; it is {text!r}") from None


def tolerance(text: str) -> str:
    """A tolerated error of predictions: a number, or a share of the prediction in percent."""
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"it must be a number below 1, or a share such as 10%; it is {text!r}")
    return text


def bits(text: str) -> int | str | None:
    """The significant bits of a grid; "auto", or None for "none"."""
    if text in ("auto", "none"):
        return None if text == "none" else text
    if not text.isdecimal() or not 2 <= int(text) <= 26:  # as `grid` has it
        raise argparse.ArgumentTypeError(f"it must be a whole number from 2 to 26, auto or none; it is {text!r}")
    return int(text)


def size(text: str) -> int:
    """Bytes, with a unit or without: 4GB are 4e9, 4GiB are 2^32."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([kmgt]?i?)b?", text.lower())
    value = float(found[1]) * UNITS.get(found[2], 0) if found else 0.0
    if not 1 <= value <= LARGEST_NUMBER:
        raise argparse.ArgumentTypeError(f"it must be bytes, such as 500MB, 4GB or 4GiB; it is {shorten(text, 40)!r}")
    return int(value)


def metric_limit(text: str) -> tuple[str, float]:
    """A metric's name, ltce unless another is given, and its limit."""
    name, given, limit = text.rpartition("=")
    try:
        return (name if given else "ltce"), float(limit)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"it must be LIMIT or METRIC=LIMIT, such as ece=0.01; it is {text!r}"
        ) from None


# ---- how often it may be given -------------------------------------------------------------------------------------


class Once(argparse.Action):
    """A value that may be given once: the second is refused, where argparse would let it win."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, word: str | None = None
    ) -> None:
        given = vars(namespace).setdefault("given", {})
        if self.dest in given:
            parser.error(f"{self.option_strings[-1]} may be given once; it is {given[self.dest]!r} and {values!r}")
        given[self.dest] = values
        setattr(namespace, self.dest, values)


class Many(argparse.Action):
    """Names by commas, by repeating, or both, in one list; none twice."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, word: str | None = None
    ) -> None:
        found = [*(getattr(namespace, self.dest) or []), *values]
        again = next((name for i, name in enumerate(found) if name in found[:i]), None)
        if again is not None:
            parser.error(f"{self.option_strings[-1]} must name each once; it names {again!r} twice")
        setattr(namespace, self.dest, found)


# ---- options -------------------------------------------------------------------------------------------------------

LIMITS = {
    "max_value": "value at most this",
    "min_value": "value at least this",
    "max_excess": "value minus its null mean at most this",
    "max_upper": "upper end of the interval at most this",
    "min_p_value": "p-value at least this",
    "max_worse": "not shown to be more than this above the baseline",
    "non_inferior": "shown to be at most this above the baseline",
    "max_dropped": "share of rows that were dropped at most this",
}
PLOTTED = ("calibration", "test-reliability", "reliability", "models", "metrics", "binnings", "segments", "drift")
SHELLS = ("bash", "zsh", "fish")
DRAWN = 199  # calibrated models that are simulated, and resamples of a report, unless another number is given

DATA, MONITOR, GENERAL = "data", "what is kept", "in general"
NEEDS_ROWS = (COLUMNS, TIME, COMPUTED, LARGE)  # groups that ask something of rows, which a saved result does not have

TABLES = "evaluate compare segments slices drift monitor plan check"
ANSWERING = "evaluate compare segments slices drift monitor recalibrate apply report plot plan demo check tally merge"
EVERYONE = f"{ANSWERING} completion"


class Argument(NamedTuple):
    """An option or a place: its words, its help, its commands, what it takes, and the parameters that it stands for.

    `says` has what differs from command to command, in the place of {} in the help; with "" for all others.
    `spells` has parameters of the library by their names here, besides the one that is called like the option.
    `option` is its declaration, None for what only the command line has.
    """

    words: str
    help: str
    group: str
    commands: str
    metavar: str | None = None
    says: Mapping[str, str] = MappingProxyType({})
    type: Callable[[str], Any] | None = None
    default: Any = None
    choices: Sequence[str] | None = None
    nargs: str | None = None
    action: Any = Once
    required: bool = False
    either: str = ""
    suggests: Sequence[str] = ()
    spells: Mapping[str, str] = MappingProxyType({})
    option: Option | None = None

    @property
    def name(self) -> str:
        """As Python writes it."""
        return self.words.split()[-1].lstrip("-").replace("-", "_")

    @property
    def word(self) -> str:
        """As the command line writes it."""
        return self.words.split()[-1] if self.words.startswith("-") else str(self.metavar)

    def add_to(self, place: argparse._ActionsContainer, command: str) -> argparse.Action:
        """Add it to the parser of a command."""
        text = self.help.replace("{}", self.says.get(command, self.says.get("", "")))
        given: dict[str, Any] = {"help": text}
        if self.action == "store_true":
            return place.add_argument(*self.words.split(), action=self.action, **given)
        given |= {"metavar": self.metavar, "type": refuse_empty(self.type), "default": self.default}
        given |= {"choices": self.choices}
        if self.words.startswith("-"):
            given |= {"action": self.action, "required": self.required and not self.either}
        else:
            given |= {"nargs": self.nargs}
        return place.add_argument(*self.words.split(), **given)


def bind(name: str, commands: str = "", *, word: str = "", **changes: Any) -> Argument:
    """The argument of a declared option: its words, help, default, choices and type, but for what is changed.

    `commands` are those that have it in the same way, all by default.

    Examples
    --------
    >>> bind("power").help.replace("{}", "")
    'the probability of finding it; default 0.8'
    """
    declared = DECLARED[name]
    commands = commands or declared.commands
    option = declared.of(commands.split()[0])
    told = "default" in f"{option.help}{option.more}"
    usual = changes.pop("shown", option.default)
    found: dict[str, Any] = {
        "says": {command: f"; {spell(more)}" for command, more in option.more.items()},
        "default": None if option.default == () else option.default,
        "choices": option.choices or None,
        "type": find_type(option.constraint),
        "action": Many if isinstance(option.constraint, Columns) else Once,
        "option": declared,
    }
    words = f"{option.short} {word or '--' + name.replace('_', '-')}".strip()
    text = f"{spell(option.help or option.meaning)}{{}}{'' if told else _show_default(usual)}"
    return Argument(words, text, option.group, commands, option.metavar, **(found | changes))


def _show_default(value: Any) -> str:
    """What help says of a default; words, counts and shares are told."""
    return f"; default {value:g}" if isinstance(value, (int, float)) else ""


def find_type(constraint: Any) -> Callable[[str], Any] | None:
    """What reads the text of a value; None leaves it as it is. The rest of the constraint is the library's to check."""
    if isinstance(constraint, AtLeast):
        return lambda text: _number(text, constraint.least)
    return number if isinstance(constraint, Interval) else names if isinstance(constraint, Columns) else None


def spell(text: str) -> str:
    """A meaning as help writes it: as a phrase, with options as they are called here."""
    text = re.sub(r"`([a-z_]+)`", lambda found: f"--{found[1].replace('_', '-')}", text)
    return f"{text[0].lower()}{text[1:]}".removesuffix(".")


def bind_others(arguments: Sequence[Argument]) -> Iterator[Argument]:
    """Yield the arguments of declared options for commands that none of these serves: nothing about them differs."""
    for name, declared in DECLARED.items():
        served = {command for each in arguments if each.option is declared for command in each.commands.split()}
        others = [command for command in declared.commands.split() if command not in served]
        if others:
            yield bind(name, " ".join(others))


# What differs from its declaration on the command line, what only the command line has, and the order of help.
LISTED = (
    Argument(
        "files", "files, globs or folders; - is standard input{}", DATA, READING, "FILE", nargs="+",
        says={
            "": "; or files of `truecal tally`", "compare": "", "slices": "",
            **dict.fromkeys(
                ("evaluate", "report", "plot"),
                "; or files of `truecal tally`; or a result of `truecal evaluate --json`, named .json",
            ),
        },
    ),
    Argument("files", "files of `truecal tally`, globs or folders of them", DATA, "merge", "FILE", nargs="+"),
    bind("format", READING),
    bind("by", "merge", type=names_or_none, says={}, spells={"group_by": "--by"}),
    Argument(
        "rate", "the probability that is predicted, such as 0.01", DATA, "plan", "RATE", type=number,
        spells={"y_prob": "RATE"},
    ),
    Argument("folder", "where the pictures go; default demo", DATA, "demo", "FOLDER", nargs="?", default="demo"),
    Argument("shell", ", ".join(SHELLS), DATA, "completion", "SHELL", choices=SHELLS),
    # ---- columns
    bind("label"),
    bind("score"),
    bind(
        "multiclass", "evaluate report check",
        spells={"multiclass=classwise": "--multiclass classwise"},
    ),
    bind("multiclass", "segments drift monitor plot tally", choices=("top-label",)),
    bind("labels", type=names, action=Many),
    bind("by", spells={"group_by": "--by"}),
    bind("columns"),
    bind("slices", action="store_true"),
    Argument(
        "--compare", "say which of two models is better, in a section of its own", COMPUTED, "report",
        action="store_true",
    ),
    Argument("--no-pairs", "search columns one by one, not in pairs", COMPUTED, "slices", action="store_true"),
    bind("min_rows", "slices"),
    bind("pos_label"),
    Argument(
        "--drop-missing", "drop rows without a label or a score; their number is reported", COLUMNS, READING,
        action="store_true", spells={"missing": "--drop-missing", 'missing="drop"': "--drop-missing"},
    ),
    Argument(
        "--percent", "scores are percentages, 0 to 100{}", COLUMNS, f"{READING} apply", action="store_true",
        says={"": "", "apply": "; probabilities are written"}, spells={'score_scale="percent"': "--percent"},
    ),
    Argument(
        "--logit", "scores are logits{}", COLUMNS, f"{READING} apply", action="store_true",
        says={"": "", "apply": "; probabilities are written"},
        spells={'score_scale="logit"': "--logit", "score_scale": "--percent or --logit"},
    ),
    bind("cluster"),
    bind("negative_rate"),
    bind("positive_rate"),
    bind("label_noise", type=shares),
    bind("label_delay",
        spells={"sampling": "--negative-rate, --positive-rate, --label-noise or --label-delay"},
    ),
    bind("count"),
    bind("importance_weight"),
    # ---- time
    bind("time"),
    bind("every", "drift monitor report plot", choices=(*WINDOWS, "none"), default=None,
        spells={"every=None": "--every none"},
    ),
    bind("every", "tally recalibrate", default=None),
    bind("label_lag"),
    bind("now"),
    # ---- recalibration
    Argument(
        "files", "a file of `truecal recalibrate`, then files, globs or folders of rows", DATA, "apply", "FILE",
        nargs="+",
    ),
    bind("format", "apply"),
    Argument("-p --score", "the predictions; default as in the map", COLUMNS, "apply", "COLUMN"),
    Argument(
        "--into", "the column that is written; default the predictions' with _recalibrated", COLUMNS, "apply", "COLUMN"
    ),
    bind("kind"),
    bind("folds"),
    bind("random_state", "recalibrate", word="--seed", type=whole,
        spells={"random_state": "--seed"},
    ),
    Argument("--check", "separate rows to validate the map on", DATA, "recalibrate", "FILE"),
    Argument("--sql", "print the map as SQL as well", OUTPUT, "recalibrate", action="store_true"),
    # ---- the monitor
    Argument(
        "--state", "the file that keeps the state from run to run; created if it does not exist", MONITOR, "monitor",
        "FILE", required=True,
    ),
    Argument(
        "--reset", "start anew, without the evidence and the alarm, after the model was changed", MONITOR, "monitor",
        action="store_true",
    ),
    Argument(
        "--log", "a file to add a line of JSON to; default that of --state with .jsonl", MONITOR, "monitor", "FILE"
    ),
    Argument("--prom", "a file for Prometheus' text collector", MONITOR, "monitor", "FILE"),
    # ---- rules
    Argument("--rules", "a TOML file of rules; see docs/gate.md", RULES, "check", "FILE"),
    *(
        Argument(
            f"--{name.replace('_', '-')}", text, RULES, "check", "[METRIC=]LIMIT", type=metric_limit, action="append",
            spells={"limit": "The limit"},
        )
        for name, text in LIMITS.items()
    ),
    Argument("--segment", "the rule holds for each segment that matches", RULES, "check", "PATTERN"),
    bind("min_rows", "check", default=None, shown=None, type=whole),
    Argument(
        "--allow-inconclusive", "pass if the verdict is inconclusive", RULES, "check", action="store_true",
    ),
    bind("significance", "check"),
    bind("baseline", "check"),
    bind("baseline", "drift"),
    Argument(
        "--map", "a file of `truecal recalibrate`: evaluate recalibrated predictions, which must be no worse", RULES,
        "check", "FILE", spells={"recalibration": "--map"},
    ),
    Argument(
        "--map", "a file of `truecal recalibrate`, for a section on it", OUTPUT, "report", "FILE",
    ),
    bind("on"),
    # ---- what is computed
    bind("metrics", type=names, action=Many, suggests=(*METRICS, "all")),
    bind("significance", "evaluate compare segments drift report plot"),
    bind("significance", "slices"),
    bind("significance", "plan"),
    bind("significance", "monitor", default=None),
    bind("threshold"),
    bind("top", type=count_or_share),
    bind("tolerance", type=tolerance),
    bind("null_draws", "evaluate report plot", default=None, shown=DRAWN,
        spells={"draws": "--null-draws"},
    ),
    bind("null_draws", "segments drift", default=None, spells={"draws": "--null-draws"}),
    bind("null_draws", "check"),
    bind("resamples", "evaluate plot", default=None, spells={"resamples=1000": "--resamples 1000"}),
    bind("resamples", "report", default=None, shown=DRAWN,
        spells={"resamples=1000": "--resamples 1000"},
    ),
    bind("resamples", "compare", spells={"draws": "--resamples"}),
    bind("resamples", "check", spells={"draws": "--resamples"}),
    bind("adjust", choices=("holm", "bh", "none"), default="holm"),
    bind("random_state", JUDGING, word="--seed", type=whole, default=0, shown=0,
        spells={"random_state": "--seed"},
    ),
    bind("threads", default=count_cores(), shown=None),
    *(
        bind(name, type=kind, either="error", required=True)
        for name, kind in (("ratio", number), ("factor", number), ("rows", positive))
    ),
    bind("power"),
    # ---- large data
    bind("grid", type=bits, spells={"limits": "--grid, --limit and --memory"}),
    bind("limit", default=None),
    bind("memory", default=None, type=size),
    # ---- output
    Argument(
        "--bins", "the bins of the first metric as well; with --csv, instead", OUTPUT, "evaluate", action="store_true"
    ),
    Argument(
        "--explain", "all metrics with their null distributions, and what they mean", OUTPUT, "evaluate",
        action="store_true",
    ),
    bind("worst"),
    Argument("--plot", "a picture as well; .png, .svg or .pdf", OUTPUT, "drift", "FILE"),
    Argument(
        "--kind", f"{', '.join(PLOTTED)}; default calibration, models for several scores, segments for --by, drift "
        "for --time",
        OUTPUT, "plot", "KIND", choices=PLOTTED,
    ),
    bind("scale"),
    bind("title", "report"),
    bind("title", "plot"),
    Argument("--json", "JSON, for programs", OUTPUT, ANSWERING, action="store_true", either="form"),
    Argument("--csv", "the table as CSV, with every column", OUTPUT, TABLES, action="store_true", either="form"),
    *(
        Argument("-o --output", text, OUTPUT, commands, "FILE", spells={"path": "--output"}, **more)
        for commands, text, more in (
            (TABLES, "the file to write instead of standard output; the suffix .json or .csv selects the format", {}),
            ("report", "default report.html", {"default": "report.html"}),
            ("plot", "default KIND.png; .png, .svg or .pdf", {}),
            ("tally merge", "where to; must end in .parquet", {"required": True}),
            ("recalibrate", "where the map goes; must end in .json", {"required": True}),
            ("apply", "where to; .csv, .tsv, .parquet, .arrow or .jsonl", {"required": True}),
        )
    ),
    Argument("--junit", "JUnit XML as well, for a CI server", OUTPUT, "check", "FILE"),
    Argument("--markdown", "a Markdown summary as well, for a pull request", OUTPUT, "check", "FILE"),
    # ---- in general
    Argument("--no-color", "no colour, as with NO_COLOR set or TERM=dumb", GENERAL, EVERYONE, action="store_true"),
    Argument("--debug", "show the traceback of an error", GENERAL, EVERYONE, action="store_true"),
)  # fmt: skip
OPTIONS = (*LISTED, *bind_others(LISTED))


# ---- commands ------------------------------------------------------------------------------------------------------


class Command(NamedTuple):
    """A command: what it does in a line and at length, examples, and the functions of the library it stands for."""

    about: str
    text: str
    examples: tuple[str, ...]
    spells: tuple[str, ...] = ()


COMMANDS = {
    "evaluate": Command(
        "whether predictions are calibrated, where and by how much",
        "The verdict on one or more models: miscalibrated, consistent or inconclusive; in which score bands they are "
        "miscalibrated and by how much; and calibration metrics beside their means if the model were calibrated.",
        (
            "truecal evaluate preds.csv",
            "truecal evaluate preds.parquet -y label -p old,new",
            "truecal evaluate preds.csv -y class -p 'p_*'",
            "truecal evaluate 'runs/*.csv.gz' --resamples 1000",
            "truecal evaluate preds.csv --json -o result.json",
            "truecal evaluate - < preds.csv",
            "truecal evaluate days/",
        ),
    ),
    "compare": Command(
        "which of two models is better, on the same rows",
        "Two models on the same rows: the difference of their metrics, with an interval.",
        ("truecal compare preds.csv -y label -p old,new", "truecal compare preds.csv -p old -p new --json"),
    ),
    "segments": Command(
        "which segments are miscalibrated",
        "The verdict on every segment, with p-values adjusted for the number of segments.",
        ("truecal segments preds.csv --by country", "truecal segments preds.csv --by country,kind --csv"),
    ),
    "slices": Command(
        "search all columns for miscalibrated groups of rows",
        "Searches every value and range of every column, and every pair of columns, for groups of rows whose "
        "predictions are miscalibrated. P-values are adjusted for everything searched; the largest loss is first.",
        ("truecal slices preds.parquet", "truecal slices preds.csv --columns country,age --csv"),
    ),
    "drift": Command(
        "whether calibration drifted, or the model was miscalibrated throughout",
        "The verdict on all periods together and on each, and what changed since a baseline: the error of the "
        "predictions, or the prevalence, which the predictions may follow.",
        (
            "truecal drift preds.parquet --time day --every 1w",
            "truecal drift preds.csv --label-lag 30d --plot a.png",
            "truecal drift preds.csv --time day --baseline 14",
            "truecal drift days/ --csv",
        ),
    ),
    "monitor": Command(
        "an alarm when calibration is lost, valid at every look",
        "Adds the periods since the last run to a monitor, and exits with 1 if an alarm was raised, now or before, 0 "
        "if not, 3 while no period was counted. The evidence (an e-value) stays valid however often it is run: for a "
        "model that stays calibrated the probability of ever raising an alarm is at most --significance.",
        (
            "truecal monitor preds.csv --time day --state monitor.json",
            "truecal monitor days/ --by country --label-lag 30d \\",
            "    --state monitor.json --prom truecal.prom",
        ),
    ),
    "recalibrate": Command(
        "fit a calibration map, validated on held-out rows",
        "Fits a calibration map to the predictions, validates it on held-out rows, and writes it as JSON for truecal "
        "apply. Maps are one factor on all odds (offset), an intercept and a slope on the log-odds (logistic), with "
        "separate slopes for low and for high predictions (beta), or steps (isotonic).",
        (
            "truecal recalibrate train.csv -o map.json",
            "truecal recalibrate train.csv --check new.csv -o map.json",
            "truecal recalibrate days/ --time day --sql -o map.json",
        ),
    ),
    "apply": Command(
        "apply a calibration map to predictions",
        "Writes the rows of files to one file, with their predictions recalibrated by a map of truecal recalibrate.",
        (
            "truecal apply map.json preds.csv -o recalibrated.csv",
            "truecal apply map.json days/ -o recalibrated.parquet",
        ),
    ),
    "report": Command(
        "one HTML page for a colleague",
        "The verdict, where and how sure, and every number behind it, as one HTML file that opens offline.",
        (
            "truecal report preds.csv -o report.html",
            "truecal report preds.csv -p old,new --by country",
            "truecal report preds.csv --time day --every 1w",
            "truecal report result.json",
        ),
    ),
    "plot": Command(
        "a diagram as PNG, SVG or PDF",
        "A diagram of the predictions, as a picture file.",
        (
            "truecal plot preds.csv -o diagram.png",
            "truecal plot preds.csv --kind reliability -o rel.svg",
            "truecal plot preds.csv --by country -o country.png",
            "truecal plot preds.csv --time day -o drift.png",
        ),
    ),
    "plan": Command(
        "how much data it takes to find an error",
        "How many rows the verdict needs to detect that predictions of RATE are miscalibrated, or which odds ratios it "
        "detects in a given number of rows.",
        (
            "truecal plan 0.01 --ratio 1.2",
            "truecal plan 0.3 --factor 0.8 --power 0.9",
            "truecal plan 0.01 --rows 50000",
        ),
    ),
    "demo": Command(
        "three models of a rare event, with pictures",
        "Simulates three models of a rare event, prints their metrics, and writes a report and pictures.",
        ("truecal demo", "truecal demo my-folder"),
    ),
    "check": Command(
        "a release gate: exit 0 pass, 1 fail, 3 inconclusive",
        "Applies rules to a model and exits with 0 if all passed, 1 if any failed, 3 if inconclusive. Without "
        "rules the verdict must be that the model is consistent with the data. A limit is in percent for test-based "
        "metrics such as ltce, and a probability for gap metrics such as ece and for p-values.",
        (
            "truecal check preds.csv",
            "truecal check preds.csv --tolerance 10%",
            "truecal check preds.csv --max-value ece=0.01",
            "truecal check preds.csv --rules gate.toml",
            "truecal check preds.csv \\",
            "    --by country --segment 'country=*' --min-rows 500",
            "truecal check preds.csv -p new \\",
            "    --baseline old --max-worse 0 --junit junit.xml",
        ),
    ),
    "tally": Command(
        "condense data into a small file of observations",
        "Counts by score, segment and period as a Parquet file, which every command but compare takes in the place of "
        "the data. Such files can be added: see truecal merge.",
        (
            "truecal tally preds.csv -o day.parquet --by country",
            "truecal tally preds.csv --time day -o day.parquet",
            "truecal tally big.parquet --grid 13 -o day.parquet",
        ),
        ("Observations.save", "truecal.read"),
    ),
    "merge": Command(
        "add files of observations",
        "Adds files of `truecal tally`, over days, shards and machines.",
        (
            "truecal merge days/ -o month.parquet",
            "truecal merge 'days/2026-*.parquet' --by country \\",
            "    -o year.parquet",
        ),
    ),
    "completion": Command(
        f"a completion script for {', '.join(SHELLS[:-1])} or {SHELLS[-1]}",
        "Prints a script that completes commands, options and files. It needs shtab: pip install "
        "'truecal[completion]'.",
        (
            'eval "$(truecal completion bash)"   # in ~/.bashrc',
            'eval "$(truecal completion zsh)"    # in ~/.zshrc',
            "truecal completion fish | source    # in config.fish",
        ),
    ),
}

EXIT_CODES = (
    ("0", "success; check: every rule passed"),
    ("1", "check: a rule failed; monitor: an alarm"),
    ("2", "wrong usage or bad input"),
    ("3", "check: inconclusive; monitor: nothing was counted yet"),
    ("130", "interrupted"),
    ("141", "the reader of the output closed it early"),
)


def options_of(command: str) -> Iterator[Argument]:
    """The options of a command."""
    return (option for option in OPTIONS if command in option.commands.split())


def spell_parameters(command: str) -> dict[str, str]:
    """How errors of the library write its parameters under a command: by its own options, else by those of others."""
    spelling = {name: f"`truecal {at}`" for at, made in COMMANDS.items() for name in made.spells}
    for options in (OPTIONS, tuple(options_of(command))):
        spelling |= {option.name: option.word for option in options}
        spelling |= {name: word for option in options for name, word in option.spells.items()}
    return spelling


def overview(terminal: Terminal) -> str:
    """What there is, in a page."""
    text = (
        "Tests whether a classifier's predicted probabilities are calibrated: miscalibrated, consistent or "
        "inconclusive, in which score bands and by how much, with TCE, Local TCE, ECE and other metrics."
    )
    commands = terminal.terms([(name, command.about) for name, command in COMMANDS.items()])
    return f"""usage: truecal COMMAND [FILE ...] [options]

{terminal.wrap(text)}

commands:
{commands}

options and examples of a command:
  truecal COMMAND --help

start here:
  truecal demo
  truecal evaluate preds.csv
  truecal report preds.csv

exit codes:
{terminal.terms(EXIT_CODES)}"""


# ---- parsers -------------------------------------------------------------------------------------------------------


class UsageError(Exception):
    """A command line that cannot be understood."""

    def __init__(self, message: str, command: str = "") -> None:
        head, hint, advice = message.partition("\n\nHint")
        head = head[0].upper() + head[1:] + "." * (not head.endswith((".", "?")))
        program = f"truecal {command}".strip()
        super().__init__(f"{head}{hint}{advice}" if hint else f"{head}\n\nHint: {program} --help")


class Parser(argparse.ArgumentParser):
    """A parser whose errors say what may have been meant."""

    def error(self, message: str) -> NoReturn:
        choice = re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message)
        hint = did_you_mean(choice[1], re.findall(r"[\w-]+", choice[2])) if choice else ""
        raise UsageError(f"{message}{hint}", self.prog.removeprefix("truecal").strip())

    def _print_message(self, message: str, file: Any = None) -> None:
        say(message, file, end="")

    def read(self, words: list[str]) -> argparse.Namespace:
        """Options and files in any order."""
        found, rest = self.parse_known_intermixed_args(words)
        if rest:
            unknown = next((word for word in rest if word.startswith("-")), rest[0]).partition("=")[0]
            known = [word for action in self._actions for word in action.option_strings]
            what = "option" if unknown.startswith("-") else "place for"
            self.error(f"there is no {what} {unknown}{_find_elsewhere(unknown) or did_you_mean(unknown, known)}")
        return found


def _find_elsewhere(word: str) -> str:
    """A hint at the commands that have an option, or ""."""
    commands = [name for name in COMMANDS if any(word in option.words.split() for option in options_of(name))]
    return f"\n\nHint: it is an option of {', '.join(commands)}." if commands else ""


class Help(argparse.RawDescriptionHelpFormatter):
    """Help as wide as the terminal, within reason; descriptions are wrapped, examples are not."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=min(shutil.get_terminal_size().columns - 1, READABLE))

    def _format_action_invocation(self, action: argparse.Action) -> str:
        """ "-o, --output FILE", with the value once."""
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = action.metavar or (
            f"{{{','.join(map(str, action.choices))}}}" if action.choices else action.dest.upper()
        )
        return f"{', '.join(action.option_strings)} {value}"

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text.startswith("examples:"):
            return super()._fill_text(text, width, indent)
        return argparse.HelpFormatter._fill_text(self, text, width, indent)


def make_parser(command: str) -> Parser:
    """The parser of a command."""
    examples = "\n".join(f"  {example}" for example in COMMANDS[command].examples)
    place = next((option.metavar for option in options_of(command) if not option.words.startswith("-")), "")
    parser = Parser(
        prog=f"truecal {command}",
        usage=f"truecal {command} {place} [options]",
        description=COMMANDS[command].text,
        epilog=f"examples:\n{examples}",
        formatter_class=Help,
        allow_abbrev=False,
    )
    _add_options(parser, command)
    return parser


def make_full_parser(file_completion: Mapping[str, Any]) -> argparse.ArgumentParser:
    """One parser with every command, as a maker of completion scripts reads it; places of files are marked."""
    parser = argparse.ArgumentParser(prog="truecal", description=overview.__doc__)
    parser.add_argument("--version", action="version", version="")
    commands = parser.add_subparsers()
    for name, command in COMMANDS.items():
        for option, action in _add_options(commands.add_parser(name, help=command.about), name):
            action.help = (action.help or "").partition(";")[0]
            if option.suggests:
                action.choices = option.suggests
            if "FILE" in (option.metavar or "") or option.metavar == "FOLDER":
                action.complete = file_completion  # type: ignore[attr-defined]
    return parser


def _add_options(parser: argparse.ArgumentParser, command: str) -> list[tuple[Argument, argparse.Action]]:
    groups: dict[str, Any] = {}
    added = []
    for option in options_of(command):
        place = groups.get(option.group) or groups.setdefault(option.group, parser.add_argument_group(option.group))
        if option.either:
            if option.either not in groups:
                groups[option.either] = place.add_mutually_exclusive_group(required=option.required)
            place = groups[option.either]
        added.append((option, option.add_to(place, command)))
    return added
