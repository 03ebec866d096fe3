"""Text for people: counts with their nouns, tables that fit the terminal, colour."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple, TextIO

PIPED = 100  # columns without a terminal
READABLE = 100  # columns of running text, however wide the terminal
STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}
COLOURS = re.compile(r"(\x1b\[(?:0|1|2|31|32|33)m)")
# what GitHub and other CI servers execute
COMMANDS = re.compile(r"^(?:\s|\x1b\[\d+m)*(?=::)|(?<=#)(?=#\w*\[)")
CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
HARD_SPACE = "\N{NO-BREAK SPACE}"
# signs of our own texts, for terminals that have no others
ASCII = str.maketrans(
    {
        "\N{EN DASH}": "-",
        "\N{LESS-THAN OR EQUAL TO}": "<=",
        "\N{MULTIPLICATION X}": "x",
        "\N{CHECK MARK}": "+",
    }
)


class TextColumn(NamedTuple):
    """A column of a table. Columns of rank 0 are always shown, others in order of rank while they fit. A first
    column that `shrinks` holds names, which are shortened to that share of the width before others are left out. `name`
    is what a column that does not fit is called, where that is not its head."""

    head: str
    cells: Sequence[str]
    rank: int = 0
    left: bool = False
    styles: Sequence[str] = ()
    shrinks: float = 0.0
    name: str = ""

    @property
    def width(self) -> int:
        """The width in terminal columns."""
        return max(map(measure, (self.head, *self.cells)))


class Terminal(NamedTuple):
    """The properties of the terminal, file or pipe that text is written to."""

    width: int = PIPED
    colour: bool = False
    unicode: bool = True

    @classmethod
    def of(cls, stream: TextIO) -> Terminal:
        """Find the properties of a stream. There is colour only on a terminal, unless NO_COLOR or TERM=dumb is set."""
        import shutil

        tty = stream.isatty()
        wanted = tty and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        fallback = (80 if tty else PIPED, 24)
        try:
            "\N{HORIZONTAL ELLIPSIS}\N{BOX DRAWINGS LIGHT HORIZONTAL}".encode(stream.encoding or "ascii")
            unicode = True
        except (UnicodeEncodeError, LookupError):
            unicode = False
        return cls(max(shutil.get_terminal_size(fallback).columns, 20), wanted, unicode)

    def spell(self, text: str) -> str:
        """Return text with the signs that the terminal has."""
        return text if self.unicode else text.translate(ASCII)

    def paint(self, text: str, style: str) -> str:
        """Return text in a style: bold, dim, red, green or yellow."""
        return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if self.colour and style else text

    def wrap(self, text: str, indent: str = "", first: str | None = None) -> str:
        """Wrap running text to the width, without what is not printable. A number stays on one line with its unit."""
        import textwrap

        kept = printable_lines(text).replace(" %", f"{HARD_SPACE}%")
        for sign in "=<":
            kept = kept.replace(f" {sign} ", f"{HARD_SPACE}{sign}{HARD_SPACE}")
        lines = textwrap.wrap(
            kept,
            min(self.width, READABLE) - 1,
            initial_indent=indent if first is None else first,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        return "\n".join(lines).replace(HARD_SPACE, " ")

    def terms(self, pairs: Sequence[tuple[str, str]], indent: str = "  ") -> str:
        """Format words and their meanings in two columns."""
        widest = max(measure(word) for word, _ in pairs)
        lines = []
        for word, meaning in pairs:
            text = self.wrap(meaning, indent + " " * (widest + 2))
            pad = " " * (widest - measure(word) + 2)
            lines.append(f"{indent}{self.paint(word, 'bold')}{pad}{text.lstrip()}")
        return "\n".join(lines)

    def table(self, columns: Sequence[TextColumn], indent: str = "  ") -> str:
        """Format a table. Columns that do not fit are left out and named below; the first is clipped if necessary."""
        filled = [column for column in columns if any(column.cells)]
        kept = [column for column in filled if column.rank == 0]
        for column in sorted(filled, key=lambda column: column.rank):
            if column.rank and self._excess([*kept, column], indent) <= 0:
                kept.append(column)
        shown = [column for column in filled if column in kept]
        left_out = [column.name or column.head for column in filled if column not in kept]
        widths = [column.width for column in shown]
        room = self.width - 1 - len(indent) - sum(width + 2 for width in widths[1:])
        widths[0] = max(min(widths[0], room), min(8, widths[0]))
        if shown[0].shrinks:
            shown[0] = shown[0]._replace(cells=shorten_all(shown[0].cells, widths[0], self.ellipsis))
        heads = [self._cell(column, column.head, width, "dim") for column, width in zip(shown, widths, strict=True)]
        lines = [indent + "  ".join(heads).rstrip()]
        for i in range(len(shown[0].cells)):
            cells = [
                self._cell(column, column.cells[i], width, column.styles[i] if column.styles else "")
                for column, width in zip(shown, widths, strict=True)
            ]
            lines.append((indent + "  ".join(cells)).rstrip())
        if left_out:
            text = self.wrap(f"columns that do not fit: {', '.join(left_out)}", indent, indent)
            lines += [self.paint(line, "dim") for line in text.splitlines()]
        return "\n".join(lines)

    @property
    def ellipsis(self) -> str:
        """The sign for what is left out."""
        return "\N{HORIZONTAL ELLIPSIS}" if self.unicode else "..."

    def clip(self, text: str, width: int) -> str:
        """Shorten text that is too long in its middle."""
        return shorten(text, width, self.ellipsis)

    def _excess(self, columns: Sequence[TextColumn], indent: str) -> int:
        widths = [
            min(column.width, int(column.shrinks * self.width)) if column.shrinks else column.width
            for column in columns
        ]
        return len(indent) + sum(width + 2 for width in widths) - 2 - (self.width - 1)

    def _cell(self, column: TextColumn, text: str, width: int, style: str) -> str:
        text = self.clip(text, width)
        pad = " " * (width - measure(text))
        painted = self.paint(text, style) if text else text
        return painted + pad if column.left else pad + painted


def shorten(text: str, width: int, mark: str = "\N{HORIZONTAL ELLIPSIS}") -> str:
    """Leave out the middle of text that takes more columns than `width`: names often differ at their ends.

    Examples
    --------
    >>> shorten("country=Germany, product=card", 17)
    'country=…uct=card'
    """
    if measure(text) <= width:
        return text
    room = max(width - len(mark), 0)
    middle = len(text) // 2
    first, last = _measure_each(text[:middle]), _measure_each(text[middle:])
    begin, end, left, right = len(first), 0, sum(first), sum(last)
    while left + right > room:
        if right >= left:
            right -= last[end]
            end += 1
        else:
            begin -= 1
            left -= first[begin]
    return text[:begin] + mark + text[middle + end :]


def shorten_all(texts: Sequence[str], width: int, mark: str = "\N{HORIZONTAL ELLIPSIS}") -> list[str]:
    """Shorten texts so that they still differ: those that would look alike lose the beginning that they share.

    Examples
    --------
    >>> shorten_all(["Germany, retail customers", "Germany, business customers"], 17)
    ['…retail customers', '…business…stomers']
    """
    found = [shorten(text, width, mark) for text in texts]
    alike: dict[str, set[str]] = {}
    for short, text in zip(found, texts, strict=True):
        alike.setdefault(short, set()).add(text)
    for i, text in enumerate(texts):
        own = alike[found[i]]
        if len(own) > 1:
            start = next((i for i, signs in enumerate(zip(*own, strict=False)) if len(set(signs)) > 1), 0)
            found[i] = mark + shorten(text[start:], width - len(mark), mark)
    return found


def about(count: float) -> str:
    """A count that need not be whole, with four digits or all before the point: "0.3", "65.27", "10,083".

    Examples
    --------
    >>> about(0.3), about(65.274), about(10083.4)
    ('0.3', '65.27', '10,083')
    """
    return f"{count:,.0f}" if count >= 1000 else f"{count:.4g}"


def format_count(count: float) -> str:
    """Format a count that need not be whole: one digit after the point below 1,000, two significant ones below 1.

    Examples
    --------
    >>> format_count(98.93), format_count(10083.4), format_count(203), format_count(0.0312)
    ('98.9', '10,083', '203', '0.031')
    """
    if count >= 1000 or count == int(count):
        return f"{count:,.0f}"
    return f"{count:.1f}" if count >= 1 else f"{count:.2g}"


def format_percent(share: float) -> str:
    """Format a share in percent: three digits, or as many as tell it from 100%.

    Examples
    --------
    >>> format_percent(0.0213), format_percent(0.5), format_percent(0.99968), format_percent(1.0)
    ('2.13%', '50%', '99.968%', '100%')
    """
    return f"{100 * share:.3g}%" if share < 0.9995 or share == 1 else f"{100 * share:.5g}%"


def is_number(text: str) -> bool:
    """Whether Python reads text as a number.

    Examples
    --------
    >>> is_number("1e-3"), is_number("1,5")
    (True, False)
    """
    try:
        float(text)
    except ValueError:
        return False
    return True


def lower_first(text: str) -> str:
    """A sentence as it goes on after a colon.

    Examples
    --------
    >>> lower_first("Predictions are too low")
    'predictions are too low'
    """
    return f"{text[:1].lower()}{text[1:]}"


def upper_first(text: str) -> str:
    """A phrase as a sentence begins.

    Examples
    --------
    >>> upper_first("predictions are too low")
    'Predictions are too low'
    """
    return f"{text[:1].upper()}{text[1:]}"


def plural(count: int, word: str) -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> plural(1, "row"), plural(2000, "row")
    ('1 row', '2,000 rows')
    """
    return f"{count:,} {word}{'s' * (count != 1)}"


def measure(text: str) -> int:
    """Return the terminal columns that text takes: two for a wide character, none for a combining accent."""
    if text.isascii():
        return len(text)
    return sum(_measure_each(text))


def _measure_each(text: str) -> list[int]:
    """Return the terminal columns of each character."""
    if text.isascii():
        return [1] * len(text)
    import unicodedata

    return [
        0 if unicodedata.combining(sign) else 2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text
    ]


def escape_html(text: str) -> str:
    """Text that means itself in HTML and SVG, without signs that XML forbids."""
    import html

    return html.escape(printable_lines(text))


def prose_html(text: str) -> str:
    """A sentence in HTML: names in backticks are code.

    Examples
    --------
    >>> prose_html("`p<1` is null in 3")
    '<code>p&lt;1</code> is null in 3'
    """
    import re

    return re.sub("`([^`]+)`", r"<code>\1</code>", escape_html(text))


def escape_csv(value: object) -> object:
    """Text that a spreadsheet takes for text: an apostrophe is put before what it would compute, such as =1+1.

    Examples
    --------
    >>> escape_csv("=1+1"), escape_csv("-1"), escape_csv("de"), escape_csv(-1)
    ("'=1+1", '-1', 'de', -1)
    """
    if not isinstance(value, str) or value[:1] not in ("=", "+", "-", "@", "\t", "\r"):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def say(text: str, stream: TextIO | None = None, end: str = "\n", *, data: bool = False) -> None:
    """Write text to standard output or another stream: all text of the command line for people goes through here.

    Nothing that stands in names of files, columns, segments or models reaches a terminal or the log of a CI server as
    a command. What standard error cannot take, such as on a full disk, is lost and changes nothing else. Of `data`,
    such as CSV, only signs that control a terminal are escaped, so that programs read the others as they are.
    """
    stream = sys.stdout if stream is None else stream
    try:
        terminal = stream.isatty()
        stream.write(disarm(text, colour=terminal and not data, data=data and not terminal) + end)
        stream.flush()
    except OSError:
        if stream is not sys.stderr:
            raise
        _lose_errors()


def say_commands(lines: str) -> None:
    """Write commands to the runner of a CI server to standard error. Names within them are escaped already."""
    try:
        sys.stderr.write(lines)
        sys.stderr.flush()
    except OSError:
        _lose_errors()


def _lose_errors() -> None:
    """Send standard error nowhere, so that the end of the process does not fail on it, either."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stderr.fileno())
        os.close(nowhere)


def disarm(text: str, *, colour: bool = False, data: bool = False) -> str:
    r"""Escape what is not printable, but for line breaks and our own colours, and what CI servers take for commands.

    GitHub executes lines that begin with two colons, and others what follows ##[ or ##vso[ anywhere.

    Examples
    --------
    >>> print(disarm("y\n::stop-commands::x\rz"))
    y
    \::stop-commands::x\rz
    """
    lines = []
    for line in text.split("\n"):
        parts = COLOURS.split(line) if colour else [line]
        escape = _escape_controls if data else printable
        shown = "".join(part if i % 2 else escape(part) for i, part in enumerate(parts))
        lines.append(COMMANDS.sub(lambda found: f"{found[0]}\\", shown))
    return "\n".join(lines)


def _escape_controls(text: str) -> str:
    """Escape what controls a terminal or the direction of text, but for tabs."""
    return CONTROLS.sub(lambda found: printable(found[0]), text)


def escape_json(text: str) -> str:
    """Escape what controls a terminal in JSON, which escapes other signs itself."""
    return CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def printable_lines(text: str) -> str:
    """Escape what is not printable, but for line breaks."""
    return "\n".join(map(printable, text.split("\n")))


def printable(text: str) -> str:
    r"""Escape everything that is not printable: a zero byte becomes \x00. The result is safe for a terminal and XML."""
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape", "backslashreplace").decode("ascii")
        for sign in text
    )
