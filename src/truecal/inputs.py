"""What commands read: files or saved results, the columns that are meant, and the results they give."""

from __future__ import annotations

import shlex
import signal
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from truecal.outputs import check_place, note
from truecal.parsing import UsageError, suggest


@dataclass(frozen=True, slots=True)
class Data:
    """The files of a command, and the columns in them."""

    paths: list[str]
    format: str | None
    name: str
    label: str
    scores: list[str]

    def reading(self, args: Namespace) -> dict[str, Any]:
        """The options of `evaluate` and its kin that say what is read."""
        missing = "drop" if args.drop_missing else "raise"
        return {"label": self.label, "pos_label": args.pos_label, "on_null": missing, "format": self.format}


def read_results(args: Namespace, default: list[str] | None, data: Data | None = None) -> tuple[dict[str, Any], str]:
    """Results by the names of their models, computed or read, and where they come from."""
    from truecal import evaluation, records

    check_place(args.output)
    metrics = choose_metrics(args, default)
    if is_saved(args):
        found = {name: result for path in args.files for name, result in records.read_results(path).items()}
        return found, _name(args.files)
    data = data or read_data(args)
    options = {name: getattr(args, name) for name in ("significance", "above", "top", "reference", "intervals")}
    options |= {"random_state": args.seed, "threads": args.threads, **data.reading(args)}
    with explained(data):
        return evaluation.evaluate(data.paths, metrics=metrics, score=data.scores, **options), data.name


def read_segments(args: Namespace, data: Data, metric: str) -> dict[str, Any]:
    """The tables of segments by the names of their models."""
    from truecal import evaluation

    if args.top is not None:
        raise UsageError("`top` must be left out where `by` makes segments", f"truecal {args.command}")
    options = {name: getattr(args, name) for name in ("significance", "above", "reference")}
    options |= {"adjust": None if args.adjust == "none" else args.adjust}
    options |= {"random_state": args.seed, "threads": args.threads, **data.reading(args)}
    with explained(data):
        return evaluation.evaluate(data.paths, metrics=[metric], score=data.scores, by=flat(args.by), **options)


def read_data(args: Namespace, models: int = 1) -> Data:
    """The files and columns that are meant; what is guessed is said."""
    from truecal import files, guessing

    _heed_interrupts()
    paths, format = list(args.files), args.format
    if paths == ["-"]:
        if sys.stdin.isatty():
            note(f"reading {format or 'csv'} from standard input; Ctrl-D ends it")
        paths, format = [str(files.open_files("-", format=format).places[0])], format or "csv"
    try:
        guess = guessing.guess_columns(
            paths, label=args.label, score=flat(args.score) or None, models=models, format=format
        )
    except guessing.UnclearColumns as error:
        meant = ",".join(error.candidates[: error.wanted]) or "COLUMN"
        command = shlex.join(["truecal", *args.words, f"--{error.role}", meant])
        raise ValueError(f"{error}\n\nHint: say which, such as  {command}") from error
    if guess.guessed:
        told = {
            "label": f"--label {shlex.quote(guess.label)}",
            "score": f"--score {shlex.quote(','.join(guess.scores))}",
        }
        more = f" ({', '.join(guess.others[:5])} could be a score, too)" if guess.others else ""
        note(f"guessed {' '.join(told[role] for role in guess.guessed)}{more}")
    return Data(paths, format, _name(args.files), guess.label, list(guess.scores))


def _heed_interrupts() -> None:
    """Let Ctrl-C end waiting and reading at once: polars asks the system to go on with them after a signal."""
    with suppress(ImportError):
        import_module("polars")
    signal.siginterrupt(signal.SIGINT, True)


@contextmanager
def explained(data: Data) -> Iterator[None]:
    """What went wrong, unless it is that the columns are swapped or that there are no rows."""
    from truecal.guessing import refuse_swapped

    try:
        yield
    except (ValueError, TypeError):
        with suppress(TypeError, OSError):
            refuse_swapped(data.paths, data.label, data.scores, data.format)
        raise


def choose_metrics(args: Namespace, default: list[str] | None) -> list[str] | None:
    """The metrics that are asked for; None for all."""
    asked = flat(args.metrics)
    if "all" in asked:
        return None
    for name in asked:
        check_metric(name)
    return asked or default


def check_metric(name: str) -> None:
    """Refuse a metric that is not there before any data are read."""
    from truecal.metrics import NAMED_METRICS

    if name not in NAMED_METRICS:
        known = list(NAMED_METRICS)
        raise UsageError(f"a metric must be one of {', '.join(known)}; one is {name!r}{suggest(name, known)}")


def is_saved(args: Namespace) -> bool:
    """Whether results are read, rather than data."""
    return args.format is None and all(path.lower().endswith(".json") for path in args.files)


def _name(paths: list[str]) -> str:
    first = "standard input" if paths[0] == "-" else paths[0]
    return first if len(paths) == 1 else f"{first} and {len(paths) - 1:,} more"


def flat(lists: list[list[str]] | None) -> list[str]:
    """Names by commas or by repeating, in one list."""
    return [name for part in lists or [] for name in part]
