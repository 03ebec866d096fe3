"""Where answers go: standard output or a file, as text, JSON or CSV; and what is said beside them."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from truecal._terminal import Terminal


def note(text: str) -> None:
    """Say something beside the answer."""
    terminal = Terminal.of(sys.stderr)
    told = terminal.wrap(f"note: {text}", "      ", "") if sys.stderr.isatty() else f"note: {text}"
    print(terminal.paint(told, "dim"), file=sys.stderr)


def tell_notes(found: Iterable[Any]) -> None:
    """What a reader of results or tables should know, once."""
    for told in dict.fromkeys(told for part in found for told in part.notes):
        note(told)


def answer(
    args: Namespace,
    text: Callable[[Terminal], str],
    json: Callable[[], str],
    csv: Callable[[], Sequence[dict[str, Any]]],
) -> None:
    """Print or write an answer, in the form that is asked for."""
    from truecal._writing import write_text
    from truecal.cli import _records as records

    place = args.output if args.output != "-" else None
    suffix = "" if place is None or args.json or args.csv else Path(place).suffix.lower()
    if args.json or suffix == ".json":
        told = json()
    elif args.csv or suffix == ".csv":
        told = records.write_csv(csv())
    else:
        told = text(Terminal.of(sys.stdout) if place is None else Terminal())
    with naming(place or "standard output"):
        if place is None:
            print(told, flush=True)
        else:
            write_text(place, told + "\n")


def tell_files(args: Namespace, places: list[Path]) -> int:
    """Say what was written."""
    from truecal.cli import _records as records

    print(records.files_json(places) if args.json else "\n".join(f"Wrote {place}" for place in places), flush=True)
    return 0


@contextmanager
def naming(place: str | Path) -> Iterator[None]:
    """Errors of the system name what was to be written, not a draft of it."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(place)) from error


def check_place(path: str | Path | None) -> None:
    """Refuse a place that cannot be written before anything is computed."""
    if path is None or path == "-":
        return
    place = Path(os.path.realpath(path))
    if place.exists() and not place.is_file() and not place.is_dir():
        raise ValueError(f"{str(path)!r} must be a plain file; it is a device or a pipe.\n\nHint: redirect with >")
    if place.is_dir():
        raise IsADirectoryError(f"{str(path)!r} must be a file; it is a folder.")
    if not place.parent.is_dir():
        raise FileNotFoundError(f"The folder of {str(path)!r} must exist; it does not.")
