"""What commands read: files, tallies or saved results, the columns that are meant, and the results they give."""

from __future__ import annotations

import shlex
import signal
import sys
from argparse import Namespace
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

from truecal._errors import check_column
from truecal.cli._outputs import check_place, note
from truecal.cli._parsing import UsageError, suggest

if TYPE_CHECKING:
    from truecal.observations import Tallies
    from truecal.reading import Limits, UnclearColumns
    from truecal.results import DriftTable

REFERENCE, INTERVALS = 199, 199  # where they are drawn unless another number is given
# What is computed from rows, and is therefore nothing to ask of a saved result; `threads` never changes an answer.
COMPUTED = (
    *("label", "score", "by", "pos_label", "drop_missing", "time", "every", "mature_after", "now"),
    *("metrics", "significance", "above", "top", "reference", "intervals", "seed", "adjust"),
    *("grid", "limit", "memory"),
)


@dataclass(frozen=True, slots=True)
class Data:
    """The files of a command, or the tallies in them, and the columns; with windows, their column and length."""

    source: list[str] | Tallies
    format: str | None
    name: str
    label: str
    scores: list[str]
    limits: Limits
    time: str | None = None
    every: str | None = None

    def read(self, args: Namespace, scores: list[str] | None = None, **baseline: Any) -> dict[str, Tallies]:
        """The tallies of every model, by the segments and windows that are asked for, in one pass."""
        from truecal.reading import read_models

        return read_models(
            self.source,
            label=self.label,
            score=self.scores if scores is None else scores,
            by=flat(getattr(args, "by", None)),
            time=self.time,
            every=self.every,
            pos_label=args.pos_label,
            on_null="drop" if args.drop_missing else "raise",
            format=self.format,
            limits=self.limits,
            **baseline,
        )


def read_results(
    args: Namespace, default: list[str] | None, read: tuple[dict[str, Tallies], str] | None = None
) -> tuple[dict[str, Any], str]:
    """Results by the names of their models, computed or read, and where they come from."""
    from truecal.analysis import evaluate
    from truecal.cli import _records as records

    check_place(args.output)
    metrics = choose_metrics(args, default)
    if is_saved(args):
        found = {name: result for path in args.files for name, result in records.read_results(path).items()}
        return found, _name(args.files)
    if read is None:
        data = read_data(args)
        read = data.read(args), data.name
    models, name = read
    intervals = INTERVALS if args.command == "report" else 0
    options = {name: getattr(args, name) for name in ("significance", "above", "top")}
    options |= {"reference": REFERENCE if args.reference is None else args.reference}
    options |= {"intervals": intervals if args.intervals is None else args.intervals}
    options |= {"random_state": args.seed, "threads": args.threads}
    return {model: evaluate(tallies, metrics=metrics, **options) for model, tallies in models.items()}, name


def judge_segments(args: Namespace, models: dict[str, Tallies], metric: str) -> dict[str, Any]:
    """The tables of segments by the names of their models."""
    from truecal.analysis import segments

    if args.top is not None:
        raise UsageError("--top must be left out where --by makes segments", f"truecal {args.command}")
    options = {name: getattr(args, name) for name in ("significance", "above", "reference")}
    options |= {"adjust": None if args.adjust == "none" else args.adjust}
    options |= {"random_state": args.seed, "threads": args.threads, "by": flat(args.by)}
    return {model: segments(tallies, metric, **options) for model, tallies in models.items()}


def judge_drift(args: Namespace, models: dict[str, Tallies], name: str = "tce") -> DriftTable:
    """The windows of the first model."""
    from truecal.analysis import drift

    for region in ("above", "top"):
        if getattr(args, region, None) is not None:
            raise UsageError(f"`{region}` must be left out where `time` makes windows", f"truecal {args.command}")
    return drift(
        next(iter(models.values())),
        name,
        mature_after=args.mature_after,
        now=args.now,
        reference=args.reference,
        intervals=INTERVALS if args.intervals is None else args.intervals,
        adjust=None if args.adjust == "none" else args.adjust,
        significance=args.significance,
        random_state=args.seed,
        threads=args.threads,
    )


def read_data(args: Namespace, models: int = 1, *, timed: bool = False) -> Data:
    """The files, or the tallies in them, and the columns that are meant; what is guessed is said."""
    from truecal.reading import UnclearColumns, guess_columns, is_tallies, open_files

    _heed_interrupts()
    paths, format = list(args.files), args.format
    if paths == ["-"]:
        if sys.stdin.isatty():
            note(f"reading {format or 'csv'} from standard input; Ctrl-D ends it")
        paths, format = [str(open_files("-", format=format).places[0])], format or "csv"
    if is_tallies(paths):
        return _read_tallies(args, paths, models, timed=timed)
    try:
        guess = guess_columns(paths, label=args.label, score=flat(args.score) or None, models=models, format=format)
        time, every = _windows(args, paths, format) if timed else (None, None)
    except UnclearColumns as error:
        _say_which(args, error)
    told = {
        "label": f"--label {shlex.quote(guess.label)}",
        "score": f"--score {shlex.quote(','.join(guess.scores))}",
        "time": f"--time {shlex.quote(time or '')}",
    }
    guessed = [*guess.guessed, *(["time"] if timed and args.time is None else [])]
    if guessed:
        more = f" ({', '.join(guess.others[:5])} could be a score, too)" if guess.others else ""
        note(f"guessed {' '.join(told[role] for role in guessed)}{more}")
    limits = _limits(args, paths, format)
    return Data(paths, format, _name(args.files), guess.label, list(guess.scores), limits, time, every)


def _windows(args: Namespace, paths: list[str], format: str | None) -> tuple[str, str | None]:
    """The column of times in files, given or guessed, and the length of windows."""
    from truecal.reading import column_names, guess_time

    if args.time is None:
        time = guess_time(paths, format=format)
    else:
        time = args.time
        check_column("time", time, column_names(paths, format))
    return time, None if args.every == "none" else args.every or "1d"


def _read_tallies(args: Namespace, paths: list[str], models: int, *, timed: bool) -> Data:
    """The sum of tallies in files, by the columns that are needed; what they hold is said."""
    from truecal.observations import read_settings
    from truecal.reading import UnclearColumns, expand, load_tallies

    name, places = _name(args.files), [place for path in paths for place in expand(path)]
    if models > 1:
        raise ValueError(
            f"Two models are compared on the same rows; {name!r} holds tallies, which have none.\n\n"
            "Hint: compare the data that they were made of."
        )
    settings = read_settings(places[0])
    by, own = tuple(settings["by"]), dict(settings["windows"])
    time, every = args.time if timed else None, None
    if timed:
        if time is None and len(own) != 1:
            _say_which(args, UnclearColumns("time", list(own), by))
        elif time is None:
            (time,) = own
            note(f"guessed --time {shlex.quote(time)}")
        check_column("time", time, by)
        every = own.get(time) if args.every is None else None if args.every == "none" else args.every
    kept = dict.fromkeys([*flat(getattr(args, "by", None)), *([time] if time else [])])
    tallies = load_tallies(paths, by=list(kept), windows={time: every} if time else {})
    what = "tallies" if len(places) == 1 else f"{len(places):,} files of tallies"
    note(f"{name}: {what} of {describe_tallies(tallies, by, own)}")
    label, scores = args.label or tallies.label, flat(args.score) or [tallies.score]
    return Data(tallies, args.format, name, label, scores, _limits(args), time, every)


def describe_tallies(tallies: Tallies, by: tuple[str, ...], windows: Mapping[str, str | None]) -> str:
    """What tallies hold, in words."""
    names = [f"{name} ({windows[name]})" if windows.get(name) else name for name in by]
    how = "exact" if tallies.bits is None else f"in cells of {tallies.bits} bits"
    return (
        f"{tallies.score} for {tallies.label}{' by ' * bool(by)}{', '.join(names)}, {how}: "
        f"{tallies.n_rows:,} predictions, {tallies.positives:,} positive"
    )


def _say_which(args: Namespace, error: UnclearColumns) -> NoReturn:
    """Refuse to guess, with a command that would not have to, if there is one."""
    if error.near and error.role == "score":
        raise error
    meant, told = [",".join(error.candidates[: error.wanted]) or "COLUMN"], f"{error}\n\nHint: say which"
    if error.near:
        name, values = next(iter(error.near.items()))
        meant, told = [name, "--pos-label", str(values[-1])], str(error).removesuffix(".")
    command = shlex.join(["truecal", *args.words, f"--{error.role}", *meant])
    raise ValueError(f"{told}, such as  {command}") from error


def _limits(args: Namespace, paths: list[str] | None = None, format: str | None = None) -> Limits:
    """The options for large data; where `limit` is given and files hold more rows, with a grid."""
    from truecal.reading import Limits

    usual = Limits()
    if not hasattr(args, "grid"):
        return usual
    grid = args.grid
    if args.limit is not None and grid == "auto" and paths is not None:
        grid = _bits_beyond(args.limit, paths, format)
    return Limits(grid, args.limit or usual.limit, args.memory or usual.memory)


def _bits_beyond(limit: int, paths: list[str], format: str | None) -> int | None:
    """The bits of a grid for files of more rows than a limit, as engines elsewhere get them; None for fewer."""
    from truecal.metrics import choose_bits
    from truecal.reading import open_files

    rows = open_files(paths, format=format).rows
    if rows is None:
        raise ValueError(
            "--limit needs to know the rows before they are read, and compressed text does not tell.\n\n"
            "Hint: give --grid 13, or another number of bits."
        )
    if rows <= limit:
        return None
    bits = choose_bits(rows)
    note(f"about {rows:,} rows are more than --limit {limit}: scores are grouped into cells of {bits} bits")
    return bits


def _heed_interrupts() -> None:
    """Let Ctrl-C end waiting and reading at once: polars asks the system to go on with them after a signal."""
    with suppress(ImportError):
        import_module("polars")
    signal.siginterrupt(signal.SIGINT, True)


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
    from truecal.metrics import METRICS

    if name not in METRICS:
        known = list(METRICS)
        raise UsageError(f"a metric must be one of {', '.join(known)}; one is {name!r}{suggest(name, known)}")


def is_saved(args: Namespace) -> bool:
    """Whether results are read, rather than data."""
    return args.format is None and all(path.lower().endswith(".json") for path in args.files)


def refuse_computing(args: Namespace) -> None:
    """Refuse options that a saved result cannot follow."""
    from truecal.cli._options import COMMANDS

    if not is_saved(args):
        return
    parser = COMMANDS[args.command].parser(args.command)
    for name in COMPUTED:
        if hasattr(args, name) and getattr(args, name) != parser.get_default(name):
            option = f"--{name.replace('_', '-')}"
            raise UsageError(
                f"{option} must be left out where a saved result is read: it has no rows to compute anything from",
                f"truecal {args.command}",
            )


def _name(paths: list[str]) -> str:
    first = "standard input" if paths[0] == "-" else paths[0]
    return first if len(paths) == 1 else f"{first} and {len(paths) - 1:,} more"


def flat(lists: list[list[str]] | None) -> list[str]:
    """Names by commas or by repeating, in one list."""
    return [name for part in lists or [] for name in part]
