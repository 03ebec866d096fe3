"""Where answers go: standard output or a file, in the form that is asked for; notes go to standard error."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from truecal._text import Terminal, plural, printable, say

if TYPE_CHECKING:
    from pathlib import Path

    from truecal.results import Table


_notes: list[str] = []  # that wait for the answer


def note(text: str, *, at_once: bool = False) -> None:
    """Print a note on standard error, after the answer unless it is wanted at once."""
    _notes.append(text)
    if at_once:
        print_notes()


def print_notes() -> None:
    """Print the notes so far, each once."""
    terminal = Terminal.of(sys.stderr)
    for text in dict.fromkeys(_notes):
        line = f"note: {terminal.spell(printable(text))}"
        line = terminal.wrap(line, "      ", "") if sys.stderr.isatty() else line
        say(terminal.paint(line, "dim"), sys.stderr)
    _notes.clear()


def note_one_label(rows: int, share: float) -> None:
    """Say so if all labels are the same."""
    if share in (0, 1):
        note(describe_one_label(rows, share))


def describe_one_label(rows: int, share: float) -> str:
    """Return that all labels are the same."""
    return f"not one of {plural(rows, 'label')} is {'negative' if share else 'positive'}: is the column right?"


def note_all(found: Iterable[Any]) -> None:
    """What a reader of results or tables should know, once."""
    from truecal import words

    for told in dict.fromkeys(told for part in found for told in part.notes):
        note(words.describe_note(told))


def print_answer(
    args: Namespace, text: Callable[[Terminal], str], json: Callable[[], str], csv: Callable[[], str]
) -> None:
    """Print an answer, or write it to a file, in the form that is asked for."""
    from truecal._atomic import write_text

    place = args.output if args.output != "-" else None
    suffix = "" if place is None or args.json or args.csv else os.path.splitext(place)[1].lower()
    as_data = True
    if args.json or suffix == ".json":
        answer = json()
    elif args.csv or suffix == ".csv":
        answer = csv().rstrip("\n")
    else:
        as_data = False
        terminal = Terminal.of(sys.stdout) if place is None else Terminal()
        answer = terminal.spell(text(terminal))
    with naming(place or "standard output"):
        if place is not None:
            write_text(place, answer + "\n")
        elif as_data:
            print_data(answer)
        else:
            say(answer)


def to_json_by_name(results: Mapping[str, Any]) -> str:
    """One result or table as its own `to_json` writes it; several by the names of their models."""
    from truecal.results import to_json

    return to_json(next(iter(results.values())) if len(results) == 1 else results)


def to_csv_by_name(tables: Mapping[str, Table]) -> str:
    """The rows of all tables below one header, each after the name of its model."""
    texts = [table.to_csv(model=name) for name, table in tables.items()]
    header = texts[0].partition("\n")[0]
    return "\n".join([header, "".join(text.partition("\n")[2] for text in texts)])


def print_data(text: str) -> None:
    """Print data as JSON or CSV."""
    say(text, data=True)


def print_written(args: Namespace, places: list[Path]) -> int:
    """Say what was written."""
    if args.json:
        import json

        from truecal.results import envelope

        text = json.dumps({**envelope("files"), "files": [str(place) for place in places]})
    else:
        text = "\n".join(f"Wrote {printable(str(place))}" for place in places)
    say(text)
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


def name_files(paths: list[str]) -> str:
    first = "standard input" if paths[0] == "-" else paths[0]
    return first if len(paths) == 1 else f"{first} and {len(paths) - 1:,} more"
