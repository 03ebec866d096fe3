"""How the command line is read: options and files in any order, values checked, slips answered with what was meant."""

from __future__ import annotations

import argparse
import os
import re
import shutil
from typing import NoReturn

from truecal._terminal import READABLE

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


class UsageError(Exception):
    """A command line that cannot be understood."""

    def __init__(self, message: str, prog: str = "truecal") -> None:
        told = message[0].upper() + message[1:] + "." * (not message.endswith((".", "?")))
        super().__init__(told if "\n\nHint" in told else f"{told}\n\nHint: {prog} --help")


class Parser(argparse.ArgumentParser):
    """A parser whose errors say what may have been meant."""

    def error(self, message: str) -> NoReturn:
        choice = re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message)
        hint = suggest(choice[1], re.findall(r"[\w-]+", choice[2])) if choice else ""
        raise UsageError(f"{message}{hint}", self.prog)

    def read(self, words: list[str]) -> argparse.Namespace:
        """Options and files in any order."""
        found, rest = self.parse_known_intermixed_args(words)
        if rest:
            unknown = next((word for word in rest if word.startswith("-")), rest[0]).partition("=")[0]
            known = [word for action in self._actions for word in action.option_strings]
            what = "option" if unknown.startswith("-") else "place for"
            raise UsageError(f"there is no {what} {unknown}{suggest(unknown, known)}", self.prog)
        return found


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


def suggest(word: str, known: list[str]) -> str:
    """A hint where a word is close to a known one."""
    from difflib import get_close_matches

    near = get_close_matches(word, known, n=1)
    return f".\n\nHint: did you mean {near[0]}?" if near else ""


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


def top(text: str) -> int | float:
    """A count, or a share of all predictions."""
    try:
        return int(text) if text.isdecimal() else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"it must be a count or a share; it is {text!r}") from None


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


def limit(text: str) -> tuple[str, float]:
    """A metric's name, tce unless another is given, and its limit."""
    name, found, limit = text.rpartition("=")
    try:
        return (name if found else "tce"), float(limit)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"it must be LIMIT or METRIC=LIMIT, such as ece=0.01; it is {text!r}"
        ) from None


def cores() -> int:
    """The processors at hand, up to four: beyond, replicates take memory rather than time."""
    found = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(found, 4)
