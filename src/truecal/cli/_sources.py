"""What commands read: files or saved observations, and the columns, inferred where they are not named."""

from __future__ import annotations

import shlex
import signal
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, cast

from truecal._errors import check_column
from truecal._text import is_number, plural
from truecal.cli._options import UsageError
from truecal.cli._output import name_files, note

if TYPE_CHECKING:
    from truecal._options import ScoreScale
    from truecal.data import ClassObservations, Multiclass, Observations, Sampling
    from truecal.reading import AmbiguousColumnsError, Limits


class Source(NamedTuple):
    """The files of a command, or the observations in them, and the columns; with periods, their column and length."""

    data: list[str] | Observations
    format: str | None
    name: str
    label: str
    scores: list[str]
    limits: Limits
    time: str | None = None
    every: str | None = None
    multiclass: Multiclass = None

    @property
    def models(self) -> int:
        """How many models there are; several classes are one."""
        return 1 if self.multiclass else len(self.scores)

    def read(self, args: Namespace, scores: list[str] | None = None, **baseline: Any) -> dict[str, Any]:
        """The observations of every model, by the segments and periods that are asked for, in one pass."""
        from truecal.reading import read, read_models

        options: Any = {
            "label": self.label,
            "score": scores or self.scores,
            "by": getattr(args, "by", None) or (),
            "time": self.time,
            "every": self.every,
            "pos_label": args.pos_label,
            "missing": "drop" if args.drop_missing else "raise",
            "format": self.format,
            "limits": self.limits,
            "cluster": find_cluster(args),
            "score_scale": find_scale(args, rows=isinstance(self.data, list)),
            "sampling": find_sampling(args, self.data),
            "count": args.count,
            "importance_weight": args.importance_weight,
        }
        if self.multiclass is None:
            try:
                return dict(read_models(self.data, **options, **baseline))
            except ImportError:
                self._check_names(options | baseline)
                raise
        found = read(self.data, multiclass=self.multiclass, labels=args.labels, **options, **baseline)
        return {find_top_label(found).score: found}

    def _check_names(self, options: Mapping[str, Any]) -> None:
        """Refuse columns that are not there, if their names can be read without the library that is missing."""
        from truecal.reading import column_names

        with suppress(ImportError):
            known = column_names(cast("list[str]", self.data), self.format)
            for role in ("label", "score", "by", "cluster", "count", "importance_weight", "baseline"):
                given = options.get(role) or ()
                for name in [given] if isinstance(given, str) else given:
                    check_column(role, name, known)


def find_top_label(observations: Observations | ClassObservations) -> Observations:
    """The observations of a model, of several classes those of the most probable one."""
    from truecal.data import ClassObservations

    return observations.top if isinstance(observations, ClassObservations) else observations


def _read_delay(text: str | None) -> Any:
    """What --label-delay says: a column of shares, or one of ages with a table, written out or in a file."""
    if text is None or ":" not in text:
        return text
    from truecal.data import LabelDelay

    column, _, table = text.rpartition(":")
    place = find_delay_table(text)
    lines = table.split(",") if place is None else place.read_text(encoding="utf-8-sig").splitlines()
    pairs = [line.replace("=", ",").split(",") for line in lines if line.strip()]
    if "=" not in table and pairs and not is_number(pairs[0][0]):
        pairs = pairs[1:]  # the names of the columns
    if not pairs or not all(len(pair) == 2 and all(map(is_number, pair)) for pair in pairs):
        raise UsageError(f"--label-delay must have ages and shares, such as age:0=0,7=0.5,30=1; it has {table!r}")
    found = {float(age): float(share) for age, share in pairs}
    if len(found) < len(pairs):
        raise UsageError(f"--label-delay must have each age once; {table!r} has one more often")
    return LabelDelay(column, found)


def find_delay_table(text: str | None) -> Path | None:
    """The file of ages and shares that --label-delay names, if any."""
    from truecal.reading import expand

    table = (text or "").rpartition(":")[2] if ":" in (text or "") else "="
    return None if "=" in table else expand(table)[0]


def find_sampling(args: Namespace, data: list[str] | Observations) -> Sampling:
    """How rows got their labels: by options, or by the file of rules. Observations know it themselves."""
    from truecal.data import Sampling

    names = ("negative_rate", "positive_rate", "label_noise")
    given = {name: getattr(args, name) for name in names}
    rules, delay = getattr(args, "rules", None), _read_delay(getattr(args, "label_delay", None))
    if rules is None:
        return Sampling(**given, label_delay=delay)
    from truecal.gate import read_sampling

    sampling = read_sampling(rules)
    if sampling is None:
        return Sampling(**given, label_delay=delay)
    found = {name: getattr(sampling, name) for name in names}
    for name, value in found.items():
        word = f"--{name.replace('_', '-')}"
        if name in vars(args).get("given", {}) and given[name] != value:
            raise UsageError(f"{word} must be that of {rules!r}, {value}, or be left out; it is {given[name]}", "check")
    return Sampling(**found, label_delay=delay) if isinstance(data, list) else Sampling(label_delay=delay)


def find_scale(args: Namespace, *, rows: bool = True) -> ScoreScale:
    """What scores are, by --percent or --logit, or by the file of rules.

    Observations, which have no rows, hold probabilities whatever that says.
    """
    if args.percent and args.logit:
        raise UsageError("--percent and --logit must not be given together", args.command)
    given: ScoreScale | None = "percent" if args.percent else "logit" if args.logit else None
    rules = getattr(args, "rules", None)
    if rules is None:
        return given or "probability"
    from truecal.gate import read_scale

    found = read_scale(rules)
    if None not in (given, found) and given != found:
        raise UsageError(f"--{given} must fit what {rules!r} says, {found}, or be left out", "check")
    return given or (found if rows and found else "probability")


def find_cluster(args: Namespace) -> str | None:
    """The column of customers: by option, or by the file of rules."""
    given: str | None = getattr(args, "cluster", None)
    rules = getattr(args, "rules", None)
    if rules is None:
        return given
    from truecal.gate import read_cluster

    found = read_cluster(rules)
    if None not in (given, found) and given != found:
        raise UsageError(f"--cluster must be that of {rules!r}, {found}, or be left out; it is {given}", "check")
    return given or found


def _note_repeats(args: Namespace, paths: list[str], format: str | None, used: Sequence[str | None]) -> None:
    """Say that rows share a customer, where a column looks like it and is not named, or that they are copies."""
    from truecal.reading import count_copies, find_repeats

    if not hasattr(args, "cluster") or find_cluster(args) is not None:
        return
    if getattr(args, "count", None) is None:
        copies, rows = count_copies(paths, [name for name in used[:2] if name is not None], format=format)
        if copies:
            what = f"{copies:,} of the first {rows:,} rows are copies of others in every column"
            note(f"{what}, and count as rows of their own: were they written twice?")
    found = find_repeats(paths, [name for name in used if name is not None], format=format)
    if found is not None:
        note(
            f"rows are taken as independent, though values of `{found}` repeat; "
            f"--cluster {shlex.quote(found)} allows for rows that go together"
        )


def _join_names(args: Namespace, paths: list[str], format: str | None) -> None:
    """Put together the names of columns that have commas, by which they were taken apart."""
    from truecal.reading import column_names

    given = {
        name: parts for name in ("score", "by", "columns", "on") if len(parts := getattr(args, name, None) or []) > 1
    }
    known = set(column_names(paths, format)) if given else set()
    for name, parts in given.items():
        found, start = list[str](), 0
        while start < len(parts):
            ends = range(len(parts), start + 1, -1) if parts[start] not in known else ()
            end = next((end for end in ends if ",".join(parts[start:end]) in known), start + 1)
            found.append(",".join(parts[start:end]))
            start = end
        setattr(args, name, found)


def open_source(args: Namespace, models: int = 1, *, timed: bool = False, rows: bool = False) -> Source:
    """The files, or the observations in them unless rows are needed, and the columns; what is inferred is noted."""
    from truecal.reading import (
        RECALIBRATED,
        AmbiguousColumnsError,
        describe_columns,
        infer_columns,
        is_observations,
        is_plain,
        keep_input,
    )

    paths, format = list(args.files), args.format
    if paths == ["-"]:
        _heed_interrupts(polars=False)
        if sys.stdin.isatty():
            note(f"reading {format or 'csv'} from standard input; Ctrl-D ends it", at_once=True)
        paths, format = [str(keep_input())], format or "csv"
    _heed_interrupts(polars=not is_plain(paths, format))
    if is_observations(paths):
        if rows:
            refuse_observations(args, args.files)
        return _open_observations(args, paths, models, timed=timed)
    _join_names(args, paths, format)
    try:
        several = hasattr(args, "multiclass") and args.pos_label is None
        columns = infer_columns(
            paths,
            label=args.label,
            score=args.score or None,
            models=models,
            classes=several,
            format=format,
            score_scale=find_scale(args),
        )
        time, every = _choose_periods(args, paths, format) if timed else (None, None)
    except AmbiguousColumnsError as error:
        if not hasattr(args, "multiclass"):
            _refuse_classes(args, paths, format)
        _ask_which(args, error)
    _doubt_scale(args, paths, format, columns.scores)
    scores = describe_columns(columns.scores) if columns.classes else ",".join(columns.scores)
    words = {
        "label": f"--label {shlex.quote(columns.label)}",
        "score": f"--score {shlex.quote(scores)}",
        "time": f"--time {shlex.quote(time or '')}",
    }
    asked = getattr(args, "multiclass", None), getattr(args, "labels", None)
    multiclass: Multiclass = asked[0] or ("top-label" if columns.classes or asked[1] else None)
    words["classes"] = f"--multiclass {multiclass}"
    inferred = [*columns.inferred, *(["time"] if timed and args.time is None else [])]
    inferred += ["classes"] if multiclass and asked == (None, None) else []
    if inferred:
        more = f" ({', '.join(columns.others[:5])} could be a score, too)" if columns.others else ""
        note(f"inferred {' '.join(words[role] for role in inferred)}{more}")
    for score in columns.scores:
        if score.endswith(RECALIBRATED):
            note(f"if `{score}` was recalibrated by a map fitted to these rows, it always looks calibrated on them")
    limits = _read_limits(args, paths, format)
    _note_repeats(args, paths, format, [columns.label, *columns.scores, time, *(getattr(args, "by", None) or ())])
    name = name_files(args.files)
    return Source(paths, format, name, columns.label, list(columns.scores), limits, time, every, multiclass)


def refuse_passed_over(paths: list[str]) -> None:
    """Refuse folders with files that are not read: a gate must not pass on a part of the rows."""
    from truecal.reading import find_passed_over, name_passed_over

    files = find_passed_over(paths)
    if files:
        pattern = shlex.quote(f"{files[0].parent}/*.SUFFIX")
        raise ValueError(
            f"Every file of a folder must be read; {name_passed_over(files)} not.\n\n"
            f"Hint: move what holds no rows, or name the files that are meant, such as {pattern}."
        )


def _refuse_classes(args: Namespace, paths: list[str], format: str | None) -> None:
    """Refuse columns of several classes where one column of probabilities is taken."""
    from truecal.reading import AmbiguousColumnsError, infer_columns

    with suppress(AmbiguousColumnsError):
        columns = infer_columns(paths, label=args.label, score=args.score or None, classes=True, format=format)
        if columns.classes:
            raise ValueError(
                f"`truecal {args.command}` takes one column of probabilities; {', '.join(map(repr, columns.scores))} "
                f"are of several classes, which {columns.label!r} names.\n\n"
                "Hint: for one class against the rest, make a column of labels that is 1 for this class, and else 0."
            )


def _doubt_scale(args: Namespace, paths: list[str], format: str | None, scores: Sequence[str]) -> None:
    """Say so where scores that are to be percentages or logits look like probabilities."""
    from truecal.reading import find_kinds

    scale = find_scale(args)
    if scale == "probability":
        return
    kinds = find_kinds(paths, format)
    looks = [name for name in scores if kinds.get(name) in ("fraction", "binary")]
    if looks:
        done = "divides them by 100" if scale == "percent" else "takes them for log-odds"
        names, verb = ", ".join(looks), "lies" if len(looks) == 1 else "lie"
        note(f"{names} {verb} in [0, 1] in the first rows, and --{scale} {done}: are they probabilities already?")


def _choose_periods(args: Namespace, paths: list[str], format: str | None) -> tuple[str, str | None]:
    """The column of times in files, given or inferred, and the length of periods."""
    from truecal.reading import column_names, infer_time

    if args.time is None:
        time = infer_time(paths, format=format)
    else:
        time = args.time
        check_column("time", time, column_names(paths, format))
    return time, None if args.every == "none" else args.every or "1d"


def _open_observations(args: Namespace, paths: list[str], models: int, *, timed: bool) -> Source:
    """The sum of observations in files, by the columns that are needed; what they hold is noted."""
    from truecal.data import read_settings
    from truecal.reading import AmbiguousColumnsError, expand, load_observations

    name, places = name_files(args.files), [place for path in paths for place in expand(path)]
    if models > 1:
        raise ValueError(
            f"Two models are compared on the same rows; {name!r} holds observations, which have none.\n\n"
            "Hint: compare the data that they were made of."
        )
    settings = read_settings(places[0])
    by, own = tuple(settings["by"]), dict(settings["periods"])
    time, every = args.time if timed else None, None
    if timed:
        if time is None and len(own) != 1:
            _ask_which(args, AmbiguousColumnsError("time", list(own), by))
        elif time is None:
            (time,) = own
            note(f"inferred --time {shlex.quote(time)}")
        check_column("time", time, by)
        every = own.get(time) if args.every is None else None if args.every == "none" else args.every
    kept = dict.fromkeys([*(getattr(args, "by", None) or ()), *([time] if time else [])])
    observations = load_observations(paths, by=list(kept), periods={time: every} if time else {})
    for given in ("multiclass", "labels"):
        if getattr(args, given, None) is not None:
            raise UsageError(f"--{given} must be left out if observations are read: they have no rows", args.command)
    what = "observations" if len(places) == 1 else f"{len(places):,} files of observations"
    note(f"{name}: {what} of {describe_observations(observations, by, own)}")
    label, scores = args.label or observations.label, args.score or [observations.score]
    return Source(observations, args.format, name, label, scores, _read_limits(args), time, every)


def refuse_observations(args: Namespace, paths: list[str]) -> NoReturn:
    raise ValueError(f"`truecal {args.command}` needs rows; {name_files(paths)!r} holds observations, which have none.")


def describe_observations(observations: Observations, by: Sequence[str], periods: Mapping[str, str | None]) -> str:
    """What observations hold, in words."""
    names = [f"{name} ({periods[name]})" if periods.get(name) else name for name in by]
    how = "exact" if observations.bits is None else f"in cells of {observations.bits} bits"
    return (
        f"{observations.score} for {observations.label}{' by ' * bool(by)}{', '.join(names)}, {how}: "
        f"{plural(observations.n_rows, 'prediction')}, {observations.positives:,} {observations.outcome}"
    )


def _ask_which(args: Namespace, error: AmbiguousColumnsError) -> NoReturn:
    """Refuse to infer a column, with a command that would not have to, if there is one."""
    if error.odd or (error.near and error.role == "score"):
        raise error
    if error.wanted > len(error.candidates) == 1 and len(args.files) > 1:
        raise ValueError(
            f"Two models must be columns of the same rows; the rows of {name_files(args.files)} follow each other, and "
            f"only {error.candidates[0]!r} looks like scores.\n\n"
            "Hint: join the files by what names a row, so that one file has a column for each model."
        ) from error
    named = [*error.candidates[: error.wanted], *["COLUMN"] * (error.wanted - len(error.candidates))]
    meant, text = [",".join(named)], f"{error}\n\nHint: say which"
    if error.near:
        name, values = next(iter(error.near.items()))
        likely = {*name.lower().replace("-", "_").split("_"), *("yes", "true", "positive", "1")}
        named = [str(value) for value in values if str(value).lower() in likely][:1]
        if not isinstance(values[0], str):
            named = [str(values[1])] if len(values) == 2 else []
        meant, text = [name, "--pos-label", *(named or ["VALUE"])], str(error).removesuffix(".")
    command = shlex.join(["truecal", *args.words, f"--{error.role}", *meant])
    raise ValueError(f"{text}, such as  {command}") from error


def _read_limits(args: Namespace, paths: list[str] | None = None, format: str | None = None) -> Limits:
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
    if rows <= limit:
        return None
    bits = choose_bits(rows)
    note(f"about {rows:,} rows are more than --limit {limit}: scores are grouped into cells of {bits} bits")
    return bits


def _heed_interrupts(*, polars: bool) -> None:
    """Let Ctrl-C end waiting and reading at once: polars, once it is imported, asks the system to go on with them after
    a signal."""
    if polars:
        with suppress(ImportError):
            import_module("polars")
    if hasattr(signal, "siginterrupt"):
        signal.siginterrupt(signal.SIGINT, True)
