"""What commands refuse before any work: unknown metrics, options that do not apply, outputs that cannot be written."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from truecal.cli._options import NEEDS_ROWS, UsageError, options_of
from truecal.cli._sources import find_delay_table

PICTURE_SUFFIXES = (".png", ".svg", ".pdf")
T = TypeVar("T")


def choose_metrics(args: Namespace, default: T) -> list[str] | T:
    """The metrics that are asked for."""
    from truecal.metrics import METRICS as KNOWN

    asked: list[str] = args.metrics or []
    if "all" in asked:
        return list(KNOWN)
    for name in asked:
        check_metric_name(name)
    return asked or default


def first_metric(args: Namespace) -> str:
    """The one metric that is judged, the first that is asked for."""
    return (choose_metrics(args, None) or ["ltce"])[0]


def is_saved(args: Namespace) -> bool:
    """Whether results are read, rather than data."""
    return args.format is None and all(path.lower().endswith(".json") for path in args.files)


def check_metric_name(name: str) -> None:
    """Refuse a metric that is not there before any data are read."""
    from truecal.metrics import describe_unknown, find_metric

    if find_metric(name) is None:
        raise UsageError(f"a metric must be one of {describe_unknown(name)}")


def check_saved(args: Namespace) -> None:
    """Refuse options that a saved result cannot follow; `threads` changes no answer."""
    if not is_saved(args):
        return
    for option in options_of(args.command):
        asked = option.group in NEEDS_ROWS and option.name != "threads"
        if asked and getattr(args, option.name) != (False if option.action == "store_true" else option.default):
            raise UsageError(
                f"{option.word} must be left out where a saved result is read: it has no rows to compute anything from",
                args.command,
            )


def check_time(args: Namespace) -> None:
    """Refuse options about periods if there are none."""
    given = [name for name in ("every", "label_lag", "now") if getattr(args, name, None) is not None]
    if given and args.time is None:
        word = f"--{given[0].replace('_', '-')}"
        raise UsageError(f"--time must name a column where {word} is given", args.command)


def check_places(args: Namespace, *places: str | Path | None) -> None:
    """Refuse outputs that cannot be written, that are one file, or that are inputs; None and - are standard output.

    The sum of observations may take the place of one of them: `_check_outside`.
    """
    from truecal._atomic import check_place

    found = [check_place(place) for place in places if place is not None and place != "-"]
    if len(set(found)) < len(found):
        raise UsageError(f"each output must have a file of its own; {str(found[-1])!r} is named twice", args.command)
    if args.command != "merge":
        _check_folders(args, found)
    old = [place for place in found if place.exists()]
    inputs = list(_find_inputs(args)) if old and args.command != "merge" else []
    for place in old:
        if any(place.samefile(read) for read in inputs):
            raise UsageError(f"an output must not replace what is read; {str(place)!r} is an input", args.command)


def _find_inputs(args: Namespace) -> Iterator[Path]:
    """The files that a command reads: data, rules, baseline."""
    from truecal.reading import expand

    single = (getattr(args, name, None) for name in ("rules", "baseline", "check", "map"))
    for given in (*getattr(args, "files", ()), *single):
        if given not in (None, "-"):
            with suppress(OSError, ValueError):  # told when it is read
                yield from (place for place in expand(given) if place.exists())
    with suppress(OSError, ValueError):
        table = find_delay_table(getattr(args, "label_delay", None))
        yield from () if table is None else (table,)


def _check_folders(args: Namespace, places: list[Path]) -> None:
    """Refuse outputs that would be read as data the next time."""
    from truecal.reading import FORMATS

    known = {suffix for suffixes in FORMATS.values() for suffix in suffixes}
    for folder in (Path(given) for given in getattr(args, "files", ()) if os.path.isdir(given)):
        for place in places:
            if place.suffix.lower() in known and place.is_relative_to(folder.resolve()):
                raise UsageError(
                    f"an output must lie outside of the folders that are read, or it would be data the next time; "
                    f"{str(place)!r} lies in {str(folder)!r}",
                    args.command,
                )


def check_picture(args: Namespace, place: str, option: str) -> Path:
    """The place of a picture, if it can be written there."""
    found = Path(place)
    if found.suffix.lower() not in PICTURE_SUFFIXES:
        raise UsageError(f"{option} must end in {', '.join(PICTURE_SUFFIXES)}; it is {place!r}", args.command)
    check_places(args, found)
    return found
