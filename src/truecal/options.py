"""The commands and their options, with examples."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from truecal.parsing import Help, Parser, cores, limit, names, positive, top, whole
from truecal.terminal import Terminal

# Written out, so that help needs no NumPy; a test compares them with what they stand for.
METRICS = ("tce", "tce_q", "tce_v", "ece", "ace", "mce", "mce_q", "rmsce", "rmsce_q", "ece_pava_bc")
FORMATS = ("csv", "tsv", "parquet", "ipc", "jsonl", "npz")
LIMITS = {
    "max_value": "value at most this",
    "max_excess": "value above what chance gives at most this",
    "max_upper": "upper end of the interval at most this",
    "min_p_value": "p-value at least this",
    "max_worse": "not shown to be more than this above the baseline",
    "non_inferior": "shown to be at most this above the baseline",
}
PICTURES = ("test-based", "reliability", "errors", "models", "metrics", "binnings", "segments")
SHELLS = ("bash", "zsh", "fish")


@dataclass(frozen=True, slots=True)
class Command:
    """A command: what it does in a line and at length, examples, and its options."""

    about: str
    text: str
    examples: tuple[str, ...]
    options: Callable[[argparse.ArgumentParser], None]

    def parser(self, name: str) -> Parser:
        """The parser of the command."""
        examples = "\n".join(f"  {example}" for example in self.examples)
        parser = Parser(
            prog=f"truecal {name}",
            description=self.text,
            epilog=f"examples:\n{examples}",
            formatter_class=Help,
            allow_abbrev=False,
        )
        self.options(parser)
        place = next((action.metavar or action.dest for action in parser._actions if not action.option_strings), "")
        parser.usage = f"truecal {name} {place} [options]"
        general = parser.add_argument_group("in general")
        general.add_argument("--no-color", action="store_true", help="no colour, as with NO_COLOR set or TERM=dumb")
        general.add_argument("--debug", action="store_true", help="on an error show where it came from")
        return parser


def _columns(parser: argparse.ArgumentParser, by: str | None = "columns that make segments") -> None:
    group = parser.add_argument_group("columns")
    group.add_argument(
        "-y", "--label", metavar="COLUMN", help="labels: 0 and 1, or see --pos-label; guessed if left out"
    )
    group.add_argument(
        "-p", "--score", metavar="COLUMN", action="append", type=names,
        help="predicted probabilities; several models by commas or by repeating; guessed if left out",
    )  # fmt: skip
    if by:
        group.add_argument("--by", metavar="COLUMN", action="append", type=names, help=f"{by}; commas or repeated")
    group.add_argument("--pos-label", metavar="VALUE", help="the positive label; every other one is negative")
    group.add_argument(
        "--drop-missing", action="store_true", help="leave out rows without label or score, and say how many"
    )


def _data(parser: argparse.ArgumentParser, saved: bool = False) -> None:
    text = "files, globs or folders; - is standard input"
    text += "; or a result of `truecal score --json`, named .json" if saved else ""
    group = parser.add_argument_group("data")
    group.add_argument("files", metavar="FILE", nargs="+", help=text)
    group.add_argument("--format", choices=FORMATS, help="of the files, where their names do not tell")


def _judging(
    parser: argparse.ArgumentParser,
    metrics: str,
    reference: int | None,
    intervals: int | None = None,
    region: bool = True,
) -> None:
    group = parser.add_argument_group("what is computed")
    group.add_argument(
        "--metrics", metavar="NAMES", type=names, action="append",
        help=f"of {', '.join(METRICS)}, or all; default {metrics}",
    )  # fmt: skip
    group.add_argument("--significance", metavar="LEVEL", type=float, default=0.05, help="of each test; default 0.05")
    if region:
        group.add_argument("--above", metavar="SCORE", type=float, help="judge only predictions of at least this")
        group.add_argument(
            "--top", metavar="COUNT", type=top, help="judge only the top 1000, or the top 0.01 (a share)"
        )
    if reference is not None:
        group.add_argument(
            "--reference", metavar="N", type=whole, default=reference,
            help=f"perfect models drawn, to say what chance gives; 0 for none; default {reference}",
        )  # fmt: skip
    if intervals is not None:
        text = f"replicates for intervals; 0 for none; default {intervals}"
        group.add_argument("--intervals", metavar="N", type=whole, default=intervals, help=text)
    group.add_argument("--seed", metavar="N", type=whole, default=0, help="of what is drawn; default 0")
    group.add_argument("--threads", metavar="N", type=positive, default=cores(), help="the numbers do not depend on it")


def _output(parser: argparse.ArgumentParser, csv: bool = True) -> None:
    group = parser.add_argument_group("output")
    form = group.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="JSON, for programs")
    if csv:
        form.add_argument("--csv", action="store_true", help="the table as CSV, with every column")
        text = "where to instead of standard output; .json and .csv in the name choose the form"
        group.add_argument("-o", "--output", metavar="FILE", help=text)


def _score(parser: argparse.ArgumentParser) -> None:
    _data(parser, saved=True)
    _columns(parser)
    _judging(parser, "tce,ece,ace", 199, 0)
    parser.add_argument("--bins", action="store_true", help="the bins of the first metric as well; with --csv, instead")
    _output(parser)


def _compare(parser: argparse.ArgumentParser) -> None:
    _data(parser)
    _columns(parser, by=None)
    _judging(parser, "tce; test-based ones can be compared", None, region=False)
    text = "labels drawn for the interval; default 1000"
    parser.add_argument("--replicates", metavar="N", type=positive, default=1000, help=text)
    _output(parser)


def _segments(parser: argparse.ArgumentParser) -> None:
    _data(parser)
    _columns(parser)
    _judging(parser, "tce; the first is judged", 199)
    _adjust(parser)
    parser.add_argument(
        "--worst", metavar="N", type=whole, default=20, help="how many are shown; 0 for all; default 20"
    )
    _output(parser)


def _adjust(parser: argparse.ArgumentParser) -> None:
    text = "p-values for the number of segments: by Holm (default), Benjamini-Hochberg, or not"
    parser.add_argument("--adjust", choices=("holm", "bh", "none"), default="holm", help=text)


def _report(parser: argparse.ArgumentParser) -> None:
    _data(parser, saved=True)
    _columns(parser)
    _judging(parser, "all", 199, 199)
    _adjust(parser)
    parser.add_argument("--title", default="Calibration report", help="of the page")
    parser.add_argument("-o", "--output", metavar="FILE", default="report.html", help="default report.html")
    _output(parser, csv=False)


def _plot(parser: argparse.ArgumentParser) -> None:
    _data(parser, saved=True)
    _columns(parser, by="columns that make segments, for --kind segments")
    _judging(parser, "all", 199, 0)
    _adjust(parser)
    text = f"{', '.join(PICTURES)}; default test-based, models for several scores, segments for --by"
    parser.add_argument("--kind", metavar="KIND", choices=PICTURES, help=text)
    parser.add_argument("--scale", choices=("linear", "logit"), help="of probabilities; default by the data")
    parser.add_argument("--title", help="a line above the numbers")
    text = "default KIND.png; .png, .svg or .pdf"
    parser.add_argument("-o", "--output", metavar="FILE", help=text)
    _output(parser, csv=False)


def _plan(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("rate", metavar="RATE", type=float, help="the predicted probability, such as 0.01")
    off = parser.add_mutually_exclusive_group(required=True)
    off.add_argument("--relative", metavar="R", type=float, help="the truth is RATE x (1 + R): 0.2 for a fifth more")
    off.add_argument("--shift", metavar="S", type=float, help="the truth is RATE + S")
    parser.add_argument("--power", type=float, default=0.8, help="probability of finding it; default 0.8")
    parser.add_argument("--significance", metavar="LEVEL", type=float, default=0.05, help="of the test; default 0.05")
    _output(parser)


def _demo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", metavar="FOLDER", nargs="?", default="demo", help="where the pictures go; default demo"
    )
    _output(parser, csv=False)


def _check(parser: argparse.ArgumentParser) -> None:
    _data(parser)
    _columns(parser)
    rules = parser.add_argument_group("rules, from a file or from options")
    rules.add_argument("--rules", metavar="FILE", help="a TOML file of rules; see docs/gate.md")
    for name, text in LIMITS.items():
        rules.add_argument(
            f"--{name.replace('_', '-')}", metavar="[METRIC=]LIMIT", action="append", type=limit, help=text
        )
    rules.add_argument("--segment", metavar="PATTERN", help="the options above hold for each segment that matches")
    rules.add_argument("--min-rows", metavar="N", type=whole, default=0, help="with fewer rows: could not tell")
    base = parser.add_argument_group("baseline")
    text = "another score column, a file of the same rows, or a saved result"
    base.add_argument("--baseline", metavar="COLUMN|FILE", help=text)
    base.add_argument(
        "--on", metavar="COLUMN", action="append", type=names, help="columns that match the rows of the file"
    )
    group = parser.add_argument_group("what is computed")
    group.add_argument("--significance", metavar="LEVEL", type=float, default=0.05, help="of each test; default 0.05")
    for name, text in (("reference", "what chance gives"), ("intervals", "intervals"), ("replicates", "the baseline")):
        group.add_argument(
            f"--{name}", metavar="N", type=positive, default=1000, help=f"draws for {text}; default 1000"
        )
    group.add_argument("--seed", metavar="N", type=whole, default=0, help="of what is drawn; default 0")
    group.add_argument("--threads", metavar="N", type=positive, default=cores(), help="the numbers do not depend on it")
    _output(parser)
    parser.add_argument("--junit", metavar="FILE", help="JUnit XML as well, for a CI server")
    parser.add_argument("--markdown", metavar="FILE", help="a Markdown summary as well, for a pull request")


def _completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))


COMMANDS = {
    "score": Command(
        "how far predictions can be trusted",
        "Calibration metrics of one or more models, beside what chance alone would give a perfect model.",
        (
            "truecal score preds.csv",
            "truecal score preds.parquet -y label -p old,new",
            "truecal score 'runs/*.csv.gz' --intervals 1000",
            "truecal score preds.csv --json -o result.json",
            "truecal score - < preds.csv",
        ),
        _score,
    ),
    "compare": Command(
        "which of two models is better, on the same rows",
        "Two models on the same rows: the difference of their metrics, with an interval.",
        ("truecal compare preds.csv -y label -p old,new", "truecal compare preds.csv -p old -p new --json"),
        _compare,
    ),
    "segments": Command(
        "which segments are wrong",
        "Every segment judged alone, against chance, with p-values adjusted for the number of segments.",
        ("truecal segments preds.csv --by country", "truecal segments preds.csv --by country,kind --csv"),
        _segments,
    ),
    "report": Command(
        "one HTML page for a colleague",
        "Metrics, bins and interactive diagrams as one HTML file that opens offline.",
        (
            "truecal report preds.csv -o report.html",
            "truecal report preds.csv -p old,new --by country",
            "truecal report result.json",
        ),
        _report,
    ),
    "plot": Command(
        "a diagram as PNG, SVG or PDF",
        "A diagram of the predictions, as a picture file.",
        (
            "truecal plot preds.csv -o diagram.png",
            "truecal plot preds.csv --kind errors -o errors.svg",
            "truecal plot preds.csv --by country -o country.png",
        ),
        _plot,
    ),
    "plan": Command(
        "how much data it takes to find an error",
        "How many rows it takes to show that predictions of RATE are wrong.",
        ("truecal plan 0.01 --relative 0.2", "truecal plan 0.3 --shift -0.05 --power 0.9"),
        _plan,
    ),
    "demo": Command(
        "three models of a rare event, with pictures",
        "Simulates three models of a rare event, prints their metrics, and writes a report and pictures.",
        ("truecal demo", "truecal demo my-folder"),
        _demo,
    ),
    "check": Command(
        "a release gate: exit 0 pass, 1 fail, 2 could not tell",
        "Holds rules against a model and exits with 0 if all passed, 1 if any failed, 2 if it could not be told. "
        "A limit is in percent for tce and its kin, a probability for ece and its kin and for p-values.",
        (
            "truecal check preds.csv --max-excess 5",
            "truecal check preds.csv --max-value ece=0.01",
            "truecal check preds.csv --rules gate.toml",
            "truecal check preds.csv --max-value 30 \\",
            "    --by country --segment 'country=*' --min-rows 500",
            "truecal check preds.csv -p new \\",
            "    --baseline old --max-worse 0 --junit junit.xml",
        ),
        _check,
    ),
    "completion": Command(
        "a completion script for bash, zsh or fish",
        "Prints a script that completes commands, options and files.",
        (
            'eval "$(truecal completion bash)"   # in ~/.bashrc',
            'eval "$(truecal completion zsh)"    # in ~/.zshrc',
            "truecal completion fish | source    # in config.fish",
        ),
        _completion,
    ),
}


EXIT_CODES = (
    ("0", "fine; for check: every rule passed"),
    ("1", "check: a rule failed"),
    ("2", "check: could not tell; others: wrong usage or bad input"),
    ("130", "interrupted"),
    ("141", "nobody read the output to its end"),
)


def overview(terminal: Terminal) -> str:
    """What there is, in a page."""
    text = (
        "How far a classifier's predicted probabilities can be trusted: TCE, the percentage of predictions that the "
        "data refute, and its family."
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
