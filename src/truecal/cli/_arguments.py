"""Options that commands share, in groups."""

from __future__ import annotations

import argparse

from truecal.cli._parsing import bits, cores, names, positive, size, top, whole

# Written out, so that help needs no NumPy; a test compares them with what they stand for.
METRICS = ("tce", "tce_q", "tce_v", "ece", "ace", "mce", "mce_q", "rmsce", "rmsce_q", "ece_pava_bc")
FORMATS = ("csv", "tsv", "parquet", "ipc", "jsonl", "npz")
EVERY = ("1h", "1d", "1w", "1mo", "1q", "1y")


def add_data(parser: argparse.ArgumentParser, *, saved: bool = False, summary: bool = True) -> None:
    """What is read."""
    text = "files, globs or folders; - is standard input"
    text += "; or summaries of `truecal tally`" if summary else ""
    text += "; or a result of `truecal score --json`, named .json" if saved else ""
    group = parser.add_argument_group("data")
    group.add_argument("files", metavar="FILE", nargs="+", help=text)
    group.add_argument("--format", choices=FORMATS, help="of the files, where their names do not tell")


def add_columns(parser: argparse.ArgumentParser, by: str | None = "columns that make segments") -> None:
    """What is in the data."""
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


def add_scale(parser: argparse.ArgumentParser) -> None:
    """How much is held, and how exactly."""
    group = parser.add_argument_group("large data")
    group.add_argument(
        "--grid", metavar="BITS", type=bits, default="auto",
        help="group scores into cells of so many significant bits, 2 to 26, which gives certified bounds; none never, "
        "auto (default) beyond --limit",
    )  # fmt: skip
    group.add_argument(
        "--limit",
        metavar="ROWS",
        type=positive,
        help="with --grid auto, rows up to which scores are exact; default all",
    )
    group.add_argument(
        "--memory", metavar="SIZE", type=size, help="that rows may take before they are sorted on disk; default 4GiB"
    )


def add_windows(parser: argparse.ArgumentParser, time: str, *, drift: bool = True) -> None:
    """Windows of time, and whether their labels are complete."""
    group = parser.add_argument_group("time")
    group.add_argument("--time", metavar="COLUMN", help=time)
    text = "how long windows are; weeks begin on Mondays; " + "none takes the values of --time as they are; " * drift
    choices = (*EVERY, "none") if drift else EVERY
    group.add_argument("--every", choices=choices, help=f"{text}default 1d, or the summary's own")
    if drift:
        text = (
            "how long after a window's end its labels are complete, such as 30d, 12h or 6w; until then it is not judged"
        )
        group.add_argument("--mature-after", metavar="SPAN", help=text)
        group.add_argument("--now", metavar="DATE", help="what that is counted to; default the end of the last window")


def add_judging(
    parser: argparse.ArgumentParser,
    metrics: str,
    reference: str | None,
    intervals: str | None = None,
    *,
    region: bool = True,
    level: str = "of each test",
) -> None:
    """What is computed; `reference` and `intervals` say what is drawn by default, or None that they are no options."""
    group = parser.add_argument_group("what is computed")
    group.add_argument(
        "--metrics", metavar="NAMES", type=names, action="append",
        help=f"of {', '.join(METRICS)}, or all; default {metrics}",
    )  # fmt: skip
    group.add_argument("--significance", metavar="LEVEL", type=float, default=0.05, help=f"{level}; default 0.05")
    if region:
        group.add_argument("--above", metavar="SCORE", type=float, help="judge only predictions of at least this")
        group.add_argument(
            "--top", metavar="COUNT", type=top, help="judge only the top 1000, or the top 0.01 (a share)"
        )
    if reference is not None:
        text = f"perfect models drawn, to say what chance gives; {reference}"
        group.add_argument("--reference", metavar="N", type=whole, help=text)
    if intervals is not None:
        text = f"replicates for intervals; 0 for none; default {intervals}"
        group.add_argument("--intervals", metavar="N", type=whole, help=text)
    add_drawing(group)


def add_drawing(group: argparse._ArgumentGroup) -> None:
    """How random numbers are drawn."""
    group.add_argument("--seed", metavar="N", type=whole, default=0, help="of what is drawn; default 0")
    group.add_argument("--threads", metavar="N", type=positive, default=cores(), help="the numbers do not depend on it")


def add_adjust(parser: argparse.ArgumentParser, parts: str = "segments") -> None:
    """How p-values are adjusted."""
    text = f"p-values for the number of {parts}: by Holm (default), Benjamini-Hochberg, or not"
    parser.add_argument("--adjust", choices=("holm", "bh", "none"), default="holm", help=text)


def add_output(parser: argparse.ArgumentParser, *, csv: bool = True) -> None:
    """The form of the answer and where it goes."""
    group = parser.add_argument_group("output")
    form = group.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="JSON, for programs")
    if csv:
        form.add_argument("--csv", action="store_true", help="the table as CSV, with every column")
        text = "where to instead of standard output; .json and .csv in the name choose the form"
        group.add_argument("-o", "--output", metavar="FILE", help=text)
