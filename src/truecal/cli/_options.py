"""The commands and their options, with examples."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

from truecal._terminal import Terminal
from truecal.cli._arguments import (
    add_adjust,
    add_columns,
    add_data,
    add_drawing,
    add_judging,
    add_output,
    add_scale,
    add_windows,
)
from truecal.cli._parsing import Help, Parser, limit, names, positive, whole

LIMITS = {
    "max_value": "value at most this",
    "max_excess": "value above what chance gives at most this",
    "max_upper": "upper end of the interval at most this",
    "min_p_value": "p-value at least this",
    "max_worse": "not shown to be more than this above the baseline",
    "non_inferior": "shown to be at most this above the baseline",
}
PICTURES = ("test-based", "reliability", "errors", "models", "metrics", "binnings", "segments", "drift")
DRAWN = "0 for none; default 199"
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


def _score(parser: argparse.ArgumentParser) -> None:
    add_data(parser, saved=True)
    add_columns(parser)
    add_judging(parser, "tce,ece,ace", DRAWN, "0")
    parser.add_argument("--bins", action="store_true", help="the bins of the first metric as well; with --csv, instead")
    add_scale(parser)
    add_output(parser)


def _compare(parser: argparse.ArgumentParser) -> None:
    add_data(parser, summary=False)
    add_columns(parser, by=None)
    add_judging(parser, "tce; test-based ones can be compared", None, region=False)
    text = "labels drawn for the interval; default 1000"
    parser.add_argument("--replicates", metavar="N", type=positive, default=1000, help=text)
    add_output(parser)


def _segments(parser: argparse.ArgumentParser) -> None:
    add_data(parser)
    add_columns(parser)
    add_judging(parser, "tce; the first is judged", "at most; default as many as alarms need")
    add_adjust(parser)
    parser.add_argument(
        "--worst", metavar="N", type=whole, default=20, help="how many are shown; 0 for all; default 20"
    )
    add_scale(parser)
    add_output(parser)


def _drift(parser: argparse.ArgumentParser) -> None:
    add_data(parser)
    add_columns(parser, by=None)
    add_windows(parser, "dates or times; guessed if left out")
    add_judging(
        parser,
        "tce; the first is judged",
        "default as many as alarms need",
        "199",
        region=False,
        level="of each test and alarm",
    )
    add_adjust(parser, "windows")
    add_scale(parser)
    parser.add_argument("--plot", metavar="FILE", help="a picture as well; .png, .svg or .pdf")
    add_output(parser)


def _report(parser: argparse.ArgumentParser) -> None:
    add_data(parser, saved=True)
    add_columns(parser)
    add_windows(parser, "dates or times, for a section on drift")
    add_judging(parser, "all", f"{DRAWN}, for drift as many as alarms need", "199")
    add_adjust(parser, "segments and windows")
    add_scale(parser)
    parser.add_argument("--title", default="Calibration report", help="of the page")
    parser.add_argument("-o", "--output", metavar="FILE", default="report.html", help="default report.html")
    add_output(parser, csv=False)


def _plot(parser: argparse.ArgumentParser) -> None:
    add_data(parser, saved=True)
    add_columns(parser, by="columns that make segments, for --kind segments")
    add_windows(parser, "dates or times, for --kind drift")
    add_judging(parser, "all", f"{DRAWN}, for drift as many as alarms need", "0, for drift 199")
    add_adjust(parser, "segments or windows")
    add_scale(parser)
    text = f"{', '.join(PICTURES)}; default test-based, models for several scores, segments for --by, drift for --time"
    parser.add_argument("--kind", metavar="KIND", choices=PICTURES, help=text)
    parser.add_argument("--scale", choices=("linear", "logit"), help="of probabilities; default by the data")
    parser.add_argument("--title", help="a line above the numbers")
    text = "default KIND.png; .png, .svg or .pdf"
    parser.add_argument("-o", "--output", metavar="FILE", help=text)
    add_output(parser, csv=False)


def _tally(parser: argparse.ArgumentParser) -> None:
    add_data(parser)
    add_columns(parser)
    add_windows(parser, "dates or times that make windows", drift=False)
    add_scale(parser)
    _summary_output(parser)


def _merge(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("data")
    group.add_argument("files", metavar="FILE", nargs="+", help="summaries, globs or folders of them")
    text = "columns to keep, commas or repeated; '' keeps none; default all"
    group.add_argument("--by", metavar="COLUMN", action="append", type=names, help=text)
    _summary_output(parser)


def _summary_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="where to; must end in .parquet")
    add_output(parser, csv=False)


def _plan(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("rate", metavar="RATE", type=float, help="the predicted probability, such as 0.01")
    off = parser.add_mutually_exclusive_group(required=True)
    off.add_argument("--relative", metavar="R", type=float, help="the truth is RATE x (1 + R): 0.2 for a fifth more")
    off.add_argument("--shift", metavar="S", type=float, help="the truth is RATE + S")
    parser.add_argument("--power", type=float, default=0.8, help="probability of finding it; default 0.8")
    parser.add_argument("--significance", metavar="LEVEL", type=float, default=0.05, help="of the test; default 0.05")
    add_output(parser)


def _demo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder", metavar="FOLDER", nargs="?", default="demo", help="where the pictures go; default demo"
    )
    add_output(parser, csv=False)


def _check(parser: argparse.ArgumentParser) -> None:
    add_data(parser)
    add_columns(parser)
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
    add_drawing(group)
    add_scale(parser)
    add_output(parser)
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
            "truecal score days/",
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
    "drift": Command(
        "which days are wrong, and whether prevalence moved",
        "Every window of time judged alone, against chance, with its prevalence beside it, so that a change of "
        "prevalence and a change of calibration can be told apart.",
        (
            "truecal drift preds.parquet --time day --every 1w",
            "truecal drift preds.csv --mature-after 30d --plot a.png",
            "truecal drift days/ --csv",
        ),
        _drift,
    ),
    "report": Command(
        "one HTML page for a colleague",
        "Metrics, bins and interactive diagrams as one HTML file that opens offline.",
        (
            "truecal report preds.csv -o report.html",
            "truecal report preds.csv -p old,new --by country",
            "truecal report preds.csv --time day --every 1w",
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
            "truecal plot preds.csv --time day -o drift.png",
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
    "tally": Command(
        "a small summary that stands for the data",
        "Counts by score, segment and window as a Parquet file, which every command but compare takes in the place of "
        "the data. Summaries add: see truecal merge.",
        (
            "truecal tally preds.csv -o day.parquet --by country",
            "truecal tally preds.csv --time day -o day.parquet",
            "truecal tally big.parquet --grid 13 -o day.parquet",
        ),
        _tally,
    ),
    "merge": Command(
        "one summary of many",
        "Adds summaries of `truecal tally`, over days, shards and machines.",
        (
            "truecal merge days/ -o month.parquet",
            "truecal merge 'days/2026-*.parquet' --by country \\",
            "    -o year.parquet",
        ),
        _merge,
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
