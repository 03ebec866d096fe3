"""The commands and their options, each declared once; parsers, help, completion and the words of errors follow."""

from __future__ import annotations

import argparse
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NoReturn

from truecal._errors import did_you_mean
from truecal._text import READABLE, Terminal
from truecal._threads import count_cores

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


# ---- what a value may be -------------------------------------------------------------------------------------------


def names(text: str) -> list[str]:
    """Names, by commas."""
    return [name for name in text.split(",") if name]


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
    if value < least:
        raise argparse.ArgumentTypeError(f"it must be a whole number, {least} or more; it is {text!r}")
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
    """How far a prediction may be off: a number, or a share of the prediction in percent."""
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
    value = int(float(found[1]) * UNITS.get(found[2], 0)) if found else 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"it must be bytes, such as 500MB, 4GB or 4GiB; it is {text!r}")
    return value


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

# Written out, so that help needs no NumPy; a test compares them with what they stand for.
METRICS = (
    *("ltce", "ltce_information", "tce", "tce_q", "tce_v", "ece", "ace", "mce", "mce_q", "rmsce", "rmsce_q"),
    *("ece_pava_bc", "log_loss", "brier", "slope", "intercept", "spiegelhalter", "ecce", "ecce_mad", "smece", "atb"),
)
FORMATS = ("csv", "tsv", "parquet", "ipc", "jsonl", "npz")
EVERY = ("1h", "1d", "1w", "1mo", "1q", "1y")
LIMITS = {
    "max_value": "value at most this",
    "min_value": "value at least this",
    "max_excess": "value above what chance gives at most this",
    "max_upper": "upper end of the interval at most this",
    "min_p_value": "p-value at least this",
    "max_worse": "not shown to be more than this above the baseline",
    "non_inferior": "shown to be at most this above the baseline",
    "max_dropped": "share of rows that were dropped at most this",
}
PICTURES = ("calibration", "test-based", "reliability", "models", "metrics", "binnings", "segments", "drift")
KINDS = ("auto", "none", "offset", "logistic", "beta", "isotonic")
MULTICLASS = ("top-label", "classwise")
SHELLS = ("bash", "zsh", "tcsh", "fish")

DATA, COLUMNS, TIME, COMPUTED, LARGE = "data", "columns", "time", "what is computed", "large data"
MONITOR = "what is kept"
RULES, BASELINE, OUTPUT, GENERAL = "rules, from a file or from options", "baseline", "output", "in general"
NEEDS_ROWS = (COLUMNS, TIME, COMPUTED, LARGE)  # groups that ask something of rows, which a saved result does not have

READING = "score compare segments slices drift watch recalibrate report plot tally check"
WEIGHED = "score compare segments drift watch recalibrate report plot tally check"
SIZED = "score segments drift watch recalibrate report plot tally check"
JUDGING = "score compare segments drift report plot check"
TABLES = "score compare segments slices drift watch plan check"
ANSWERING = "score compare segments slices drift watch recalibrate apply report plot plan demo check tally merge"
EVERYONE = f"{ANSWERING} completion"


@dataclass(frozen=True, slots=True)
class Option:
    """An option or a place: its words, its help, its commands, what it takes, and the parameters that it stands for.

    `says` has what differs from command to command, in the place of {} in the help; with "" for all others.
    `spells` has parameters of the library by their names here, besides the one that is called like the option.
    """

    words: str
    help: str
    group: str
    commands: str
    metavar: str | None = None
    _: KW_ONLY
    says: Mapping[str, str] = field(default_factory=dict)
    type: Callable[[str], Any] | None = None
    default: Any = None
    choices: Sequence[str] | None = None
    nargs: str | None = None
    action: Any = Once
    required: bool = False
    either: str = ""
    suggests: Sequence[str] = ()
    spells: Mapping[str, str] = field(default_factory=dict)

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
        given: dict[str, Any] = {"help": self.help.replace("{}", self.says.get(command, self.says.get("", "")))}
        if self.action == "store_true":
            return place.add_argument(*self.words.split(), action=self.action, **given)
        given |= {"metavar": self.metavar, "type": self.type, "default": self.default, "choices": self.choices}
        if self.words.startswith("-"):
            given |= {"action": self.action, "required": self.required and not self.either}
        else:
            given |= {"nargs": self.nargs}
        return place.add_argument(*self.words.split(), **given)


OPTIONS = (
    Option(
        "files", "files, globs or folders; - is standard input{}", DATA, READING, "FILE", nargs="+",
        says={
            "": "; or files of `truecal tally`", "compare": "", "slices": "",
            **dict.fromkeys(
                ("score", "report", "plot"),
                "; or files of `truecal tally`; or a result of `truecal score --json`, named .json",
            ),
        },
    ),
    Option("files", "files of `truecal tally`, globs or folders of them", DATA, "merge", "FILE", nargs="+"),
    Option("--format", "of the files, where their names do not tell", DATA, READING, choices=FORMATS),
    Option(
        "--by", "columns to keep, commas or repeated; '' keeps none; default all", DATA, "merge", "COLUMN",
        type=names, action=Many, spells={"over": "--by"},
    ),
    Option(
        "rate", "the probability that is predicted, such as 0.01", DATA, "plan", "RATE", type=number,
        spells={"y_prob": "RATE"},
    ),
    Option("folder", "where the pictures go; default demo", DATA, "demo", "FOLDER", nargs="?", default="demo"),
    Option("shell", ", ".join(SHELLS), DATA, "completion", "SHELL", choices=SHELLS),
    # ---- columns
    Option("-y --label", "labels: 0 and 1, or see --pos-label; guessed if left out", COLUMNS, READING, "COLUMN"),
    Option(
        "-p --score", "predicted probabilities{}; guessed if left out", COLUMNS, READING, "COLUMN", type=names,
        action=Many,
        says={
            "": "; several models by commas or by repeating; several classes too, a column each, also as a pattern "
            "such as 'p_*'",
            "compare": "; two or more models by commas or by repeating",
            **dict.fromkeys(
                ("drift", "watch", "tally"), "; of several classes a column each, or a pattern such as 'p_*'"
            ),
            **dict.fromkeys(("slices", "recalibrate"), ""),
        },
    ),
    Option(
        "--multiclass", "what is judged of several classes: the most probable one, or each against the rest as well; "
        "guessed where labels name the columns of --score",
        COLUMNS, "score report check", choices=MULTICLASS, spells={"multiclass=classwise": "--multiclass classwise"},
    ),
    Option(
        "--multiclass", "judge the most probable of several classes; guessed where labels name the columns of --score",
        COLUMNS, "segments drift watch plot tally", choices=MULTICLASS[:1],
    ),
    Option(
        "--labels", "the classes, in the order of the columns of --score; by default these are named after them",
        COLUMNS, "score segments drift watch report plot tally check", "NAMES", type=names, action=Many,
    ),
    Option(
        "--by", "columns that make segments{}; commas or repeated", COLUMNS,
        "score segments watch recalibrate report plot tally check",
        "COLUMN", says={"plot": ", for --kind segments"}, type=names, action=Many, spells={"over": "--by"},
    ),
    Option(
        "--columns", "whose values and ranges make groups; commas or repeated; default all others", COLUMNS, "slices",
        "COLUMN", type=names, action=Many,
    ),
    Option(
        "--slices", "search all columns for groups that are off, for a section on them", COMPUTED, "report",
        action="store_true",
    ),
    Option(
        "--compare", "say which of two models is better, in a section of its own", COMPUTED, "report",
        action="store_true",
    ),
    Option("--no-pairs", "search columns one by one, not in pairs", COMPUTED, "slices", action="store_true"),
    Option(
        "--min-rows", "the fewest rows of a group; default 50", COMPUTED, "slices", "N", type=positive, default=50
    ),
    Option("--pos-label", "the positive label; every other one is negative", COLUMNS, READING, "VALUE"),
    Option(
        "--drop-missing", "leave out rows without label or score, and say how many", COLUMNS, READING,
        action="store_true", spells={"on_null": "--drop-missing", 'on_null="drop"': "--drop-missing"},
    ),
    Option(
        "--percent", "scores are percentages, 0 to 100{}", COLUMNS, f"{READING} apply", action="store_true",
        says={"": "", "apply": "; probabilities are written"}, spells={'score_scale="percent"': "--percent"},
    ),
    Option(
        "--logit", "scores are logits{}", COLUMNS, f"{READING} apply", action="store_true",
        says={"": "", "apply": "; probabilities are written"},
        spells={'score_scale="logit"': "--logit", "score_scale": "--percent or --logit"},
    ),
    Option(
        "--cluster", "customers, patients or documents whose rows go together; without it rows are taken as "
        "independent",
        COLUMNS, READING, "COLUMN",
    ),
    Option(
        "--kept-negatives", "the share of negatives that the data have, where they were sampled; numbers are then of "
        "all",
        COLUMNS, READING, "SHARE", type=number, default=1.0,
    ),
    Option(
        "--kept-positives", "the share of positives that the data have", COLUMNS, READING, "SHARE", type=number,
        default=1.0,
    ),
    Option(
        "--flip", "the shares of negatives labelled positive, and of positives labelled negative: 0.01,0.02",
        COLUMNS, READING, "F0,F1", type=shares, default=(0.0, 0.0),
    ),
    Option(
        "--mature", "where labels are still coming: a column of ages and the shares known by then, age:0=0,7=0.5,30=1 "
        "or age:table.csv; or a column of shares",
        COLUMNS, WEIGHED, "COLUMN[:TABLE]",
    ),
    Option("--weight", "how often each row was seen", COLUMNS, WEIGHED, "COLUMN"),
    Option("--importance", "weights by features alone; they weight values, and no test", COLUMNS, WEIGHED, "COLUMN"),
    # ---- time
    Option(
        "--time", "dates or times{}", TIME, "drift watch recalibrate report plot tally", "COLUMN",
        says={
            **dict.fromkeys(("drift", "watch"), "; guessed if left out"), "report": ", for a section on drift",
            "plot": ", for --kind drift", "tally": " that make windows",
            "recalibrate": "; the proof then goes forwards in time",
        },
    ),
    Option(
        "--every", "how long windows are; weeks begin on Mondays; none takes the values of --time as they are; "
        "default 1d, or as in the tallies",
        TIME, "drift watch report plot", choices=(*EVERY, "none"), spells={"every=None": "--every none"},
    ),
    Option(
        "--every", "how long windows are; weeks begin on Mondays; default 1d", TIME, "tally recalibrate", choices=EVERY
    ),
    Option(
        "--mature-after", "how long after a window's end its labels are complete, such as 30d, 12h or 6w; until then "
        "it {}",
        TIME, "drift watch report plot", "SPAN", says={"": "is not judged", "watch": "waits, and may be read again"},
    ),
    Option(
        "--now", "what that is counted to; default {}", TIME, "drift watch report plot", "DATE",
        says={"": "the end of the last window", "watch": "the clock, in UTC"},
    ),
    # ---- the remedy
    Option(
        "files", "a file of `truecal recalibrate`, then files, globs or folders of rows", DATA, "apply", "FILE",
        nargs="+",
    ),
    Option("--format", "of the files, where their names do not tell", DATA, "apply", choices=FORMATS),
    Option("-p --score", "the predictions; default as in the map", COLUMNS, "apply", "COLUMN"),
    Option(
        "--into", "the column that is written; default the predictions' with _recalibrated", COLUMNS, "apply", "COLUMN"
    ),
    Option(
        "--kind", "offset, logistic, beta, isotonic or none; default auto, what the rows speak for",
        COMPUTED, "recalibrate", choices=KINDS, default="auto",
    ),
    Option(
        "--folds", "parts into which rows are dealt for the proof; 0 for none; default 5", COMPUTED, "recalibrate", "N",
        type=whole, default=5,
    ),
    Option("--seed", "by which rows are dealt; default 0", COMPUTED, "recalibrate", "N", type=whole, default=0),
    Option("--check", "rows that were kept apart, to prove the map on", DATA, "recalibrate", "FILE"),
    Option("--sql", "print the map as SQL as well", OUTPUT, "recalibrate", action="store_true"),
    # ---- the monitor
    Option(
        "--state", "a file that keeps what is known from run to run; made if it is not there", MONITOR, "watch", "FILE",
        required=True,
    ),
    Option(
        "--reset", "forget the evidence and the alarm, after the model was mended", MONITOR, "watch",
        action="store_true",
    ),
    Option("--log", "a file to add a line of JSON to; default that of --state with .jsonl", MONITOR, "watch", "FILE"),
    Option("--prom", "a file for Prometheus' text collector", MONITOR, "watch", "FILE"),
    # ---- rules
    Option("--rules", "a TOML file of rules; see docs/gate.md", RULES, "check", "FILE"),
    *(
        Option(
            f"--{name.replace('_', '-')}", text, RULES, "check", "[METRIC=]LIMIT", type=metric_limit, action="append",
            spells={"limit": "The limit"},
        )
        for name, text in LIMITS.items()
    ),
    Option("--segment", "the rule holds for each segment that matches", RULES, "check", "PATTERN"),
    Option("--min-rows", "with fewer rows: cannot tell", RULES, "check", "N", type=whole),
    Option(
        "--allow-cannot-tell", "let pass what the verdict cannot tell", RULES, "check", action="store_true",
    ),
    Option(
        "--significance", "of evidence: p-values up to it show that a model is off; default 0.01", RULES, "check",
        "LEVEL", type=number,
    ),
    Option(
        "--baseline", "another score column, a file of the same rows, or a saved result", BASELINE, "check",
        "COLUMN|FILE",
    ),
    Option(
        "--baseline", "what windows are compared with: so many of the first, those of 2026-01-01..2026-01-31, or a "
        "file of other rows; default a third", TIME, "drift", "N|RANGE|FILE",
    ),
    Option(
        "--map", "a file of `truecal recalibrate`: judge predictions that it mended, and that they are no worse", RULES,
        "check", "FILE", spells={"recalibration": "--map"},
    ),
    Option(
        "--map", "a file of `truecal recalibrate`, for a section on it", OUTPUT, "report", "FILE",
    ),
    Option(
        "--on", "columns that match the rows of the file", BASELINE, "check", "COLUMN", type=names, action=Many
    ),
    # ---- what is computed
    Option(
        "--metrics", f"of {', '.join(METRICS)}, net_benefit@0.05 for a threshold, or all; default {{}}", COMPUTED,
        "score compare segments drift report plot", "NAMES", type=names, action=Many, suggests=(*METRICS, "all"),
        says={
            "score": "ltce,tce,ece,log_loss,brier,slope,intercept", "compare": "ltce,log_loss,brier,slope,tce",
            "segments": "ltce; the first is shown", "drift": "ltce; the first is shown",
            "": "those with bins, log_loss, brier, slope and intercept",
        },
    ),
    Option(
        "--significance", "of {}; default 0.05", COMPUTED, "score compare segments slices drift report plot plan",
        "LEVEL", type=number, default=0.05,
        says={
            "slices": "anything that is listed",
            "": "each test and of the verdict", "compare": "each test",
            "plan": "the verdict",
        },
    ),
    Option(
        "--significance", "the probability that a model which stays right is ever alarmed of; default 0.05", COMPUTED,
        "watch", "LEVEL", type=number,
    ),
    Option(
        "--above", "judge only predictions of at least this", COMPUTED, f"{JUDGING} watch", "SCORE", type=number
    ),
    Option(
        "--top", "judge only the top 1000, or the top 0.01 (a share)", COMPUTED, JUDGING, "COUNT", type=count_or_share
    ),
    Option(
        "--tolerance", "how far predictions may be off, as a probability or as a percentage of each", COMPUTED,
        f"{JUDGING} watch", "T", type=tolerance,
    ),
    Option(
        "--reference", "perfect models drawn, to say what chance gives; {}", COMPUTED,
        "score segments drift report plot", "N", type=whole, spells={"replicates": "--reference"},
        says={
            **dict.fromkeys(("segments", "drift"), "at most; default 0, none"), "": "0 for none; default 199",
        },
    ),
    Option(
        "--intervals", "replicates for intervals; 0 for none; default {}", COMPUTED, "score report plot", "N",
        type=whole, spells={"intervals=1000": "--intervals 1000"},
        says={"report": "199", "": "0"},
    ),
    *(
        Option(f"--{name}", f"draws for {text}; default 1000", COMPUTED, commands, "N", type=positive, default=1000)
        for name, text, commands in (
            ("reference", "what chance gives", "check"),
            ("intervals", "intervals", "check"),
            ("replicates", "the interval of a difference", "compare check"),
        )
    ),
    Option(
        "--adjust", "p-values for the number of {}: by Holm (default), Benjamini-Hochberg, or not", COMPUTED,
        "segments drift report plot", choices=("holm", "bh", "none"), default="holm",
        says={"segments": "segments", "drift": "windows", "": "segments and windows"},
    ),
    Option(
        "--part", "judge segments by one test of the verdict alone: by the number of positives, or by Cox's intercept "
        "and slope; default by all tests together", COMPUTED, "segments report plot", choices=("total", "cox"),
    ),
    Option(
        "--seed", "of what is drawn; default 0", COMPUTED, JUDGING, "N", type=whole, default=0,
        spells={"random_state": "--seed"},
    ),
    Option(
        "--threads", "the numbers do not depend on it", COMPUTED, JUDGING, "N", type=positive, default=count_cores()
    ),
    *(
        Option(f"--{name}", text, COMPUTED, "plan", metavar, type=kind, either="error", required=True)
        for name, text, metavar, kind in (
            ("ratio", "find that positives are so many times those predicted: 1.2 for a fifth more", "R", number),
            ("factor", "find that the odds are so many times those predicted", "F", number),
            ("rows", "say what so many rows find", "N", positive),
        )
    ),
    Option("--power", "probability of finding it; default 0.8", COMPUTED, "plan", "P", type=number, default=0.8),
    # ---- large data
    Option(
        "--grid", "group scores into cells of so many significant bits, 2 to 26, with bounds for bins of cells; none "
        "never, auto (default) beyond --limit",
        LARGE, SIZED, "BITS", type=bits, default="auto", spells={"limits": "--grid, --limit and --memory"},
    ),
    Option(
        "--limit", "with --grid auto, rows up to which scores are exact; default all", LARGE, SIZED, "ROWS",
        type=positive,
    ),
    Option(
        "--memory", "that rows may take before they are sorted on disk; default 4GiB", LARGE, SIZED, "SIZE", type=size
    ),
    # ---- output
    Option(
        "--bins", "the bins of the first metric as well; with --csv, instead", OUTPUT, "score", action="store_true"
    ),
    Option("--explain", "all metrics beside chance, and what they mean", OUTPUT, "score", action="store_true"),
    Option("--worst", "how many are shown; 0 for all; default 20", OUTPUT, "segments", "N", type=whole, default=20),
    Option("--plot", "a picture as well; .png, .svg or .pdf", OUTPUT, "drift", "FILE"),
    Option(
        "--kind", f"{', '.join(PICTURES)}; default calibration, models for several scores, segments for --by, drift "
        "for --time",
        OUTPUT, "plot", "KIND", choices=PICTURES,
    ),
    Option("--scale", "of probabilities; default by the data", OUTPUT, "plot", choices=("linear", "logit")),
    Option("--title", "of the page", OUTPUT, "report", default="Calibration report"),
    Option(
        "--interactive", "diagrams of plotly, to zoom and pan; the page is 5 MB larger", OUTPUT, "report",
        action="store_true",
    ),
    Option("--title", "a line above the numbers", OUTPUT, "plot"),
    Option("--json", "JSON, for programs", OUTPUT, ANSWERING, action="store_true", either="form"),
    Option("--csv", "the table as CSV, with every column", OUTPUT, TABLES, action="store_true", either="form"),
    *(
        Option("-o --output", text, OUTPUT, commands, "FILE", spells={"path": "--output"}, **more)
        for commands, text, more in (
            (TABLES, "where to instead of standard output; .json and .csv in the name choose the form", {}),
            ("report", "default report.html", {"default": "report.html"}),
            ("plot", "default KIND.png; .png, .svg or .pdf", {}),
            ("tally merge", "where to; must end in .parquet", {"required": True}),
            ("recalibrate", "where the map goes; must end in .json", {"required": True}),
            ("apply", "where to; .csv, .tsv, .parquet, .arrow or .jsonl", {"required": True}),
        )
    ),
    Option("--junit", "JUnit XML as well, for a CI server", OUTPUT, "check", "FILE"),
    Option("--markdown", "a Markdown summary as well, for a pull request", OUTPUT, "check", "FILE"),
    # ---- in general
    Option("--no-color", "no colour, as with NO_COLOR set or TERM=dumb", GENERAL, EVERYONE, action="store_true"),
    Option("--debug", "on an error show where it came from", GENERAL, EVERYONE, action="store_true"),
)  # fmt: skip


# ---- commands ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Command:
    """A command: what it does in a line and at length, examples, and the functions of the library it stands for."""

    about: str
    text: str
    examples: tuple[str, ...]
    spells: tuple[str, ...] = ()


COMMANDS = {
    "score": Command(
        "how far predictions can be trusted",
        "The verdict on one or more models: off, consistent, or cannot tell; where they are off and by how much; and "
        "calibration metrics beside what chance alone would give a perfect model.",
        (
            "truecal score preds.csv",
            "truecal score preds.parquet -y label -p old,new",
            "truecal score preds.csv -y class -p 'p_*'",
            "truecal score 'runs/*.csv.gz' --intervals 1000",
            "truecal score preds.csv --json -o result.json",
            "truecal score - < preds.csv",
            "truecal score days/",
        ),
    ),
    "compare": Command(
        "which of two models is better, on the same rows",
        "Two models on the same rows: the difference of their metrics, with an interval.",
        ("truecal compare preds.csv -y label -p old,new", "truecal compare preds.csv -p old -p new --json"),
    ),
    "segments": Command(
        "which segments are off",
        "The verdict on every segment, with p-values adjusted for the number of segments.",
        ("truecal segments preds.csv --by country", "truecal segments preds.csv --by country,kind --csv"),
    ),
    "slices": Command(
        "which groups of rows are wrong, though nobody named them",
        "Searches every value and range of every column, and every pair of columns, for groups of rows whose "
        "predictions are off. P-values are adjusted for everything that was searched; the largest loss comes first.",
        ("truecal slices preds.parquet", "truecal slices preds.csv --columns country,age --csv"),
    ),
    "drift": Command(
        "whether a model went off, or was off since always",
        "The verdict on all windows of time together and on each, and what moved since a baseline: the error of the "
        "predictions, or the prevalence, which the predictions may follow.",
        (
            "truecal drift preds.parquet --time day --every 1w",
            "truecal drift preds.csv --mature-after 30d --plot a.png",
            "truecal drift preds.csv --time day --baseline 14",
            "truecal drift days/ --csv",
        ),
    ),
    "watch": Command(
        "an alarm when a model goes wrong, however often you look",
        "Adds the windows that came in since the last run to a monitor, and exits with 1 if an alarm was raised, now "
        "or before, 0 if not, 3 while no window was counted. The evidence stays valid however often it is run: a model "
        "that stays right is ever alarmed of with a probability of at most --significance.",
        (
            "truecal watch preds.csv --time day --state monitor.json",
            "truecal watch days/ --by country --mature-after 30d \\",
            "    --state monitor.json --prom truecal.prom",
        ),
    ),
    "recalibrate": Command(
        "a map that mends predictions, proven on other rows",
        "Fits a map to the predictions, says whether it helps on rows that it was not fitted to, and writes it as "
        "JSON, for truecal apply. Maps are one factor on all odds (offset), an intercept and a slope on the log-odds "
        "(logistic), with slopes of their own for low and for high predictions (beta), or steps (isotonic).",
        (
            "truecal recalibrate train.csv -o map.json",
            "truecal recalibrate train.csv --check new.csv -o map.json",
            "truecal recalibrate days/ --time day --sql -o map.json",
        ),
    ),
    "apply": Command(
        "predictions mended by a map",
        "Writes the rows of files to one file, with their predictions recalibrated by a map of truecal recalibrate.",
        ("truecal apply map.json preds.csv -o mended.csv", "truecal apply map.json days/ -o mended.parquet"),
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
        "How many rows the verdict needs to find that predictions of RATE are off, or what it finds in so many rows.",
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
        "a release gate: exit 0 pass, 1 fail, 3 cannot tell",
        "Holds rules against a model and exits with 0 if all passed, 1 if any failed, 3 if it cannot tell. Without "
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
        "a small file that stands for the data",
        "Counts by score, segment and window as a Parquet file, which every command but compare takes in the place of "
        "the data. Such files add: see truecal merge.",
        (
            "truecal tally preds.csv -o day.parquet --by country",
            "truecal tally preds.csv --time day -o day.parquet",
            "truecal tally big.parquet --grid 13 -o day.parquet",
        ),
        ("Tallies.save", "truecal.read"),
    ),
    "merge": Command(
        "one file of tallies of many",
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
    ("0", "fine; for check: every rule passed"),
    ("1", "check: a rule failed; watch: an alarm"),
    ("2", "wrong usage or bad input"),
    ("3", "check: cannot tell; watch: nothing was counted yet"),
    ("130", "interrupted"),
    ("141", "nobody read the output to its end"),
)


def options_of(command: str) -> Iterator[Option]:
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
        "Whether a classifier's predicted probabilities are right: off, consistent or cannot tell, where and by how "
        "much, with Local TCE, the percentage of predictions in ranges that the data refute, and other metrics."
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
  truecal score preds.csv
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


def _add_options(parser: argparse.ArgumentParser, command: str) -> list[tuple[Option, argparse.Action]]:
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
