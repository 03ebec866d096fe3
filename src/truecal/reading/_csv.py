"""CSV that polars can read without losing a row.

polars takes a quote inside a field for the start of a quoted one, cuts and fills rows of other lengths, and may not
notice if only some columns are asked for. So every file is checked first, from its first byte to its last: rows must
have as many fields as the header, and quotes must enclose whole fields. Quotes inside fields, blank lines and lone
carriage returns are read by Python's `csv` into a plain copy; anything else is an error.
Compressed files are unpacked into a copy.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import os
import re
import shutil
import tempfile
import weakref
import zlib
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import IO, Any, ClassVar, NoReturn

import numpy as np

from truecal import _kernel
from truecal._atomic import LOCKS, find_left, lock, raise_if_full
from truecal._errors import name_place

CHUNK = 1 << 20
PREFIX = "truecal-"  # of folders of copies
LONGEST = 1 << 27  # bytes of a header or a field
SEPARATORS = (",", ";", "\t", "|")
# Words for missing values, in every column of text files and in labels of any data; an empty field is one as well.
MISSING = ["NA", "N/A", "n/a", "#N/A", "<NA>", "null", "NULL", "Null", "None"]
MISSING += ["nan", "NaN", "NAN", "NaT", "\\N", "?"]
SPACED, MAY_BE_MISSING = 2, 4  # bits of the state in csv.hpp
MARKS = ((b"\xff\xfe", "UTF-16"), (b"\xfe\xff", "UTF-16"))
UTF8_MARK = b"\xef\xbb\xbf"
FIELDS, QUOTE_INSIDE, AFTER_QUOTE, ZERO, LONE_RETURN, BLANK = range(1, 7)  # as in csv.hpp
NO_OBJECT, TOO_DEEP, NAME_AGAIN, ESCAPED_NAME = range(1, 5)  # as in json_lines.hpp
KINDS = {"[": "a list", '"': "text", "-0123456789": "a number", "tf": "a truth value", "n": "nothing"}
DEEPEST = 64  # of values in a line of JSON; parsers call themselves for each
Stamp = tuple[int, int, int, int]


class Unreadable(ValueError):
    """A file cannot be read in its format."""


class Copy:
    """A temporary file, deleted with this object; if the process is killed, when the next copy is made by another."""

    def __init__(self, name: str) -> None:
        self.folder = _Folder.find()
        handle, path = tempfile.mkstemp(prefix="", suffix=f"-{name[-40:]}" if name else "", dir=self.folder.place)
        self.place = Path(path)
        weakref.finalize(self, _delete, os.getpid(), self.place)
        os.close(handle)  # last, since it may fail


class _Folder:
    """A temporary folder for the copies of this process, locked as long as there are any."""

    current: ClassVar[weakref.ref[_Folder] | None] = None
    searching: ClassVar[Lock] = Lock()  # two threads would each make one, and delete the other's as left behind

    def __init__(self) -> None:
        self.owner = os.getpid(), tempfile.gettempdir()
        for left in find_left(Path(tempfile.gettempdir()), PREFIX):
            shutil.rmtree(left, ignore_errors=True)
        self.place = Path(tempfile.mkdtemp(prefix=PREFIX))
        weakref.finalize(self, _delete, os.getpid(), self.place)
        if LOCKS:
            # another process may take it for one left behind before it is locked, and delete it: `find` makes the next
            with suppress(FileNotFoundError):
                handle = os.open(self.place, os.O_RDONLY)
                weakref.finalize(self, os.close, handle)
                lock(handle, wait=True)

    @classmethod
    def find(cls) -> _Folder:
        """Return the folder that is in use, or make one; a forked process has its own."""
        with cls.searching:
            folder = None if cls.current is None else cls.current()
            while folder is None or folder.owner != (os.getpid(), tempfile.gettempdir()) or not folder.place.exists():
                folder = cls()
                cls.current = weakref.ref(folder)
            return folder


def _renew_lock() -> None:
    """In a forked process: the thread that held the lock is not there."""
    _Folder.searching = Lock()


if hasattr(os, "register_at_fork"):  # else nothing forks
    os.register_at_fork(after_in_child=_renew_lock)


def _delete(process: int, place: Path) -> None:
    """Delete a file or an empty folder, unless a forked process asks."""
    if process == os.getpid():
        with suppress(OSError):
            try:
                place.unlink()
            except (IsADirectoryError, PermissionError):  # as Linux and other systems say that it is a folder
                place.rmdir()


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A text file that was checked.

    place, copy
        The plain file to read: the file itself, or a copy that is deleted with this object.
    rows
        Its true number of rows, without the header.
    spaced
        Whether a field begins or ends with a space.
    missing
        The words for missing values to look for: one if no field begins as another does, since looking for all of
        them takes nearly half as long again.
    names, again
        The names of its columns, and those that several of them have; none for lines of JSON.
    head
        Its first bytes.
    """

    place: Path
    separator: str
    rows: int
    spaced: bool
    missing: list[str]
    copy: Copy | None
    head: bytes
    names: tuple[str, ...] = ()
    again: tuple[str, ...] = ()


_recent: deque[tuple[Any, Table]] = deque(maxlen=16)  # columns are inferred and read from the same file


def stamp(place: Path) -> Stamp:
    """Return what changes when a file is replaced or written: device, inode, size and time."""
    found = os.stat(place)
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def open_table(place: Path, kind: str) -> Table:
    """Check a text file from its first byte to its last; raise `Unreadable` if a row could be lost."""
    key = str(place), stamp(place), kind
    for known, table in list(_recent):
        if known == key:
            return table
    with name_place(place):
        copy = _unpack(place)
        plain = place if copy is None else copy.place
        if kind == "jsonl":
            rows, head = _check_lines(plain, place)
            table = Table(plain, "", rows, False, [], copy, head)
        else:
            table = _check(plain, "\t" if kind == "tsv" else "", place, copy)
    _recent.append((key, table))
    return table


def _check_lines(place: Path, shown: Path) -> tuple[int, bytes]:
    """Count the lines of JSON that are not blank, and return the first of them; raise an error for what a parser would
    pass over or could not bear: a name that stands twice in one, and deep nesting."""
    rows, held, buffer, head = 0, 0, bytearray(2 * CHUNK), b""
    with open(place, "rb") as file:
        while size := file.readinto(memoryview(buffer)[held : held + CHUNK]):
            filled = held + size
            head = head or bytes(memoryview(buffer)[:filled])
            whole = buffer.rfind(b"\n", held, filled) + 1
            rows += _check_whole_lines(memoryview(buffer)[:whole], rows, shown)
            held = filled - whole
            buffer[:held] = buffer[whole:filled]
            if held > LONGEST:
                _refuse(shown, f"must have lines of less than {LONGEST:,} bytes; line {rows + 1:,} is longer.")
            buffer.extend(bytes(max(0, held + CHUNK - len(buffer))))
    return rows + _check_whole_lines(memoryview(buffer)[:held], rows, shown), head


def _check_whole_lines(data: memoryview, before: int, shown: Path) -> int:
    """Check lines of JSON, after so many; return how many there are."""
    lines, fault = _kernel.check_json_lines(np.frombuffer(data, dtype=np.uint8), DEEPEST)
    if not fault:
        return lines
    text = bytes(data)
    where = f"line {before + lines:,}"
    if fault == NO_OBJECT:
        begins = [line.strip() for line in text.split(b"\n") if line.strip()][lines - 1][:1].decode("latin-1")
        kind = next((kind for signs, kind in KINDS.items() if begins in signs), "no JSON")
        _refuse(shown, f"must hold an object of JSON in each line; {where} has {kind}.")
    if fault == TOO_DEEP:
        _refuse(shown, f"must nest values at most {DEEPEST} deep; {where} nests them deeper.")
    if fault == NAME_AGAIN:
        again = _find_repeated(text.split(b"\n"), lines)
        _refuse(shown, f"must name each value once in a line; {where} names {again!r} again.", "write one of them.")
    return _check_parsed_lines(text, before, shown)  # only a parser can compare names that have escapes


def _check_parsed_lines(text: bytes, before: int, shown: Path) -> int:
    """Check lines of JSON some of whose names have escapes; return how many there are."""
    present = [line for line in text.split(b"\n") if line.strip()]
    for number, line in enumerate(present, 1):
        if (again := _find_repeated([line], 1)) is not None:
            where = f"line {before + number:,}"
            _refuse(shown, f"must name each value once in a line; {where} names {again!r} again.", "write one of them.")
        _, fault = _kernel.check_json_lines(np.frombuffer(line, dtype=np.uint8), DEEPEST)
        if fault not in (0, ESCAPED_NAME):
            _check_whole_lines(memoryview(line), before + number - 1, shown)
    return len(present)


def _find_repeated(lines: list[bytes], number: int) -> str | None:
    """The name that stands twice in the line of a number among those that are not blank."""
    line = [line for line in lines if line.strip()][number - 1]
    found: list[str] = []

    def keep(pairs: list[tuple[str, Any]]) -> None:
        counts = Counter(name for name, _ in pairs)
        found[:] = [name for name, count in counts.items() if count > 1]  # the outermost object comes last

    with suppress(ValueError, RecursionError):
        json.loads(line, object_pairs_hook=keep)
    return found[0] if found else None


def _refuse(shown: Path, problem: str, hint: str = "") -> NoReturn:
    raise Unreadable(f"{str(shown)!r} {problem}" + (f"\n\nHint: {hint}" if hint else ""))


def _unpack(place: Path) -> Copy | None:
    """Unpack a compressed file."""
    suffix = place.suffix.lower()
    if suffix not in (".gz", ".zst"):
        return None
    copy = Copy(place.stem)
    if suffix == ".gz":
        try:
            with gzip.open(place, "rb") as source, open(copy.place, "wb") as target:
                shutil.copyfileobj(source, target, CHUNK)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            _refuse(place, f"must be a whole file of gzip; it is not: {error}")
        return copy
    import polars as pl  # which alone can read it; lines are copied unchanged

    options: dict[str, Any] = {"has_header": False, "quote_char": None, "separator": "\x1e", "glob": False}
    try:
        lines = pl.scan_csv(place, schema={"line": pl.String}, empty_string_is_null=False, **options)
        lines.sink_csv(copy.place, include_header=False, quote_style="never", engine="streaming")
    except (pl.exceptions.PolarsError, OSError) as error:
        raise_if_full(error, copy.place)
        _refuse(place, f"must be a whole file of UTF-8 text in Zstandard; it is not: {str(error).splitlines()[0]}")
    return copy


def _check(place: Path, separator: str, shown: Path, copy: Copy | None) -> Table:
    """Check a file, whose separator is found in its first line if it is not given."""
    with open(place, "rb") as file:
        head = file.read(1 << 17)
        _check_encoding(head, shown)
        start = len(UTF8_MARK) if head.startswith(UTF8_MARK) else 0
        file.seek(start)
        skipped, first = -1, b"\n"
        while first and not first.strip():
            skipped, first = skipped + 1, file.readline(LONGEST)
        if re.fullmatch(rb"sep=.\s*", first, re.IGNORECASE):
            _refuse(shown, "must begin with the names of its columns; it begins with `sep=`.", "delete that line.")
        separator = separator or max(SEPARATORS, key=lambda sign: first.count(sign.encode()))
        if not skipped and b"\r" not in first.rstrip(b"\r\n"):
            while first.count(b'"') % 2 and len(first) < LONGEST and (line := file.readline(LONGEST)):
                first += line
            names = _read_names(first, separator, shown)
            table = _count_rows(file, place, separator, names, shown, copy)
            if table is not None:
                return table
        file.seek(start)
        for _ in range(skipped):
            file.readline()
        return _rewrite(file, separator, shown, place.name)


def _count_rows(
    file: IO[bytes], place: Path, separator: str, names: list[str], shown: Path, copy: Copy | None
) -> Table | None:
    """Check the rows of a file whose first line has the names of columns; None if it must be copied."""
    state = np.array([0, 0, ord("\n"), 0, 0])
    file.seek(0)
    file.seek(len(UTF8_MARK) if file.read(len(UTF8_MARK)) == UTF8_MARK else 0)
    if _check_rows(file, separator, len(names), state, shown):
        return None
    missing = MISSING if state[4] & (SPACED | MAY_BE_MISSING) else MISSING[:1]
    again = tuple(name for name, count in Counter(names).items() if count > 1)
    file.seek(0)
    head = file.read(CHUNK + len(UTF8_MARK)).removeprefix(UTF8_MARK)
    return Table(place, separator, int(state[0]) - 1, bool(state[4] & SPACED), missing, copy, head, tuple(names), again)


def _check_encoding(head: bytes, shown: Path) -> None:
    for mark, name in MARKS:
        if head.startswith(mark):
            _refuse(shown, f"must be UTF-8; it is {name}.", f"convert it with `iconv -f {name} -t UTF-8`.")
    zeros = [byte == 0 for byte in head[:4]]
    if zeros[:2] == zeros[2:] and sum(zeros) == 2:  # every other byte of plain text
        name = "UTF-16LE" if zeros[1] else "UTF-16BE"
        _refuse(shown, "must be UTF-8; it looks like UTF-16.", f"convert it with `iconv -f {name} -t UTF-8`.")
    if not head.removeprefix(UTF8_MARK).strip():
        _refuse(shown, "must have a line of column names; it is empty.")


def _read_names(line: bytes, separator: str, shown: Path) -> list[str]:
    """Return the column names of a header."""
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        _refuse_bytes(shown, error, 1)
    if len(line) >= LONGEST:
        _refuse(shown, f"must have a header of less than {LONGEST:,} bytes; it is longer.")
    try:
        names = next(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True), [])
    except csv.Error as error:
        _refuse(shown, f"must have a header of valid CSV; it is not: {error}.")
    return names


def _check_rows(file: Any, separator: str, fields: int, state: Any, shown: Path) -> bool:
    """Count the rows into `state`, and return whether the file must be copied; raise an error if it cannot be read."""
    buffer = bytearray(CHUNK)
    view = np.frombuffer(buffer, dtype=np.uint8)
    decoder = codecs.getincrementaldecoder("utf-8")()
    size, odd = file.readinto(buffer), 0
    while size and not odd:
        row = int(state[0])
        _, odd = _kernel.check_csv(view[:size], ord(separator), fields, state)
        size = _decode(decoder, bytes(view[:size]), row, shown) if state[4] & 1 else size
        size = size if odd else file.readinto(buffer)
    if not odd:
        _decode(decoder, b"", int(state[0]), shown, final=True)
        if state[3] == 1:
            _refuse_open_quote(shown, int(state[0]))
        if state[2] != ord("\n") or state[3]:  # the last line may lack its end
            _, odd = _kernel.check_csv(np.frombuffer(b"\n", dtype=np.uint8), ord(separator), fields, state)
    if odd in (0, QUOTE_INSIDE, LONE_RETURN, BLANK):
        return bool(odd)
    row = int(state[0])
    if odd == FIELDS:
        _refuse_fields(shown, row, int(state[1]) + 1, fields, _find_row(file, row) if separator == "," else [])
    if odd == AFTER_QUOTE:
        _refuse_after_quote(shown, row)
    _refuse(shown, f"must be text; row {row:,} holds a zero byte.", "a file that a crash cut off may end in zeros.")


def _decode(decoder: Any, data: bytes, row: int, shown: Path, *, final: bool = False) -> int:
    """Raise an error if bytes are not UTF-8; else return how many there are."""
    try:
        decoder.decode(data, final)
    except UnicodeDecodeError as error:
        _refuse_bytes(shown, error, row + error.object[: error.start].count(b"\n"))
    return len(data)


def _refuse_bytes(shown: Path, error: UnicodeDecodeError, row: int) -> NoReturn:
    byte = error.object[error.start]
    _refuse(
        shown,
        f"must be UTF-8; row {row:,} holds the byte 0x{byte:02x}, which is not.",
        "if it is Latin-1 or Windows-1252, convert it with `iconv -f WINDOWS-1252 -t UTF-8`.",
    )


def _refuse_open_quote(shown: Path, row: int) -> NoReturn:
    _refuse(shown, f"must close every quote; the quote that opens in row {row:,} is open at the end of the file.")


def _refuse_after_quote(shown: Path, row: int) -> NoReturn:
    _refuse(
        shown,
        f"must have quotes around whole fields; in row {row:,} text follows a closing quote.",
        'write a quote inside a quoted field twice, as in "5"" pipe".',
    )


def _refuse_fields(shown: Path, row: int, found: int, wanted: int, fields: list[str]) -> NoReturn:
    """`fields` are those of the row where commas separate them."""
    halves = re.findall(r"(?<![^,])-?\d+,\d+(?![^,])", ",".join(fields))  # a number that a comma may have cut in two
    pointed = any(re.fullmatch(r"\s*-?\d*\.\d+\s*", field) for field in fields)
    commas = 0 < found - wanted <= len(halves) and not pointed
    _refuse(
        shown,
        f"must have as many fields in each row as in its header, {wanted:,}; row {row:,} has {found:,}.",
        "these look like decimal commas; write decimal points." if commas else "",
    )


def _find_row(file: IO[bytes], row: int) -> list[str]:
    """Return the fields between commas of a row that is not far from the start of a file, for a hint."""
    file.seek(0)
    text = file.read(CHUNK).decode(errors="replace")
    with suppress(csv.Error):
        return next(islice(csv.reader(io.StringIO(text, newline="")), row, None), [])
    return []


def _rewrite(file: IO[bytes], separator: str, shown: Path, name: str) -> Table:
    """Copy a file with the fields that Python's csv finds in it; raise an error if rows differ in their number."""
    copy, rows, names = Copy(name), -1, list[str]()
    with open(copy.place, "w", encoding="utf-8", newline="") as target:
        writer = csv.writer(target, delimiter=separator, lineterminator="\r\n")  # so that both are quoted
        for rows, fields in enumerate(_parse(file, separator, shown)):
            names = names or fields
            if len(fields) != len(names):
                _refuse_fields(shown, rows, len(fields), len(names), fields if separator == "," else [])
            writer.writerow(fields)
    with open(copy.place, "rb") as written:  # which is not copied again, whatever it looks like
        table = _count_rows(written, copy.place, separator, names, shown, copy)
    if table is None or table.rows != rows:
        _refuse(shown, f"must be copied row by row; {rows:,} rows could not be.")
    return table


def _parse(file: IO[bytes], separator: str, shown: Path) -> Iterator[list[str]]:
    """Yield the fields of each row that is not blank."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    row = -1
    try:
        for fields in filter(None, csv.reader(text, delimiter=separator, strict=True)):
            row += 1
            yield fields
    except UnicodeDecodeError as error:
        _refuse_bytes(shown, error, row + 1)
    except csv.Error as error:
        if "unexpected end of data" in str(error):
            _refuse_open_quote(shown, row + 1)
        if "expected after" in str(error):
            _refuse_after_quote(shown, row + 1)
        _refuse(shown, f"must be valid CSV; row {row + 1:,} is not: {error}.")
    finally:
        text.detach()
