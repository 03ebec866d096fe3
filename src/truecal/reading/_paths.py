"""Open files as lazy polars frames: CSV, TSV, Parquet, Arrow IPC, JSON lines and NumPy archives.

Only headers are read here; `_read` reads the rows. Text may be compressed (.gz, .zst), a path may be a glob or a
folder, and "-" is standard input.
"""

from __future__ import annotations

import atexit
import glob
import gzip
import os
import re
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from truecal._errors import option
from truecal._text import plural

PathLike = str | os.PathLike[str]
FORMATS = {
    "csv": (".csv", ".txt"),
    "tsv": (".tsv", ".tab"),
    "parquet": (".parquet", ".pq"),
    "ipc": (".arrow", ".feather", ".ipc"),
    "jsonl": (".jsonl", ".ndjson"),
    "npz": (".npz",),
}
TEXT = ("csv", "tsv", "jsonl")
COMPRESSED = (".gz", ".zst")  # text files only; the other formats have their own compression
MISSING = ["NA", "N/A", "null", "NULL", "None"]  # besides an empty field
SAMPLE = 10_000  # rows from which the types of text columns are inferred
FOREIGN = ("node_modules", "site-packages")  # folders of installed programs, which are skipped


class Unreadable(ValueError):
    """A file cannot be read in its format."""


@dataclass(frozen=True, slots=True)
class Files:
    """A lazy polars frame of files, and their approximate number of rows, if that is cheap to find."""

    frame: Any
    rows: int | None
    places: tuple[Path, ...]
    kind: str
    numbers: tuple[str, ...]

    @contextmanager
    def explain_errors(self) -> Iterator[None]:
        """Turn the errors of polars for a broken file into an error that names the file."""
        import polars as pl

        kinds: tuple[type[Exception], ...] = (
            pl.exceptions.PolarsError,
            UnicodeDecodeError,
            EOFError,
            zlib.error,
            gzip.BadGzipFile,
        )
        try:
            yield
        except kinds as error:
            self._check_numbers(pl)
            self._check_alike()
            reason = str(error).strip().splitlines()[0]
            raise Unreadable(
                f"{name_places(self.places)} must be readable as {self.kind}; it is not: {reason}"
            ) from error

    def check_dates(self, names: Iterable[str]) -> None:
        """Raise an error if dates in a text file are not written as YYYY-MM-DD: 03/04/2026 is ambiguous."""
        import polars as pl

        columns = self.frame.collect_schema()
        for name in names if self.kind in ("csv", "tsv") else ():
            words = _open(pl, self.places, self.kind, schema_overrides={name: pl.String}, encoding="utf8-lossy")
            head = words.select(name).head(SAMPLE).collect() if name in columns else None
            first = None if head is None else head[name].drop_nulls().first()
            if first is not None and not re.match(r"\s*\d{4}-\d\d-\d\d", first):
                raise ValueError(
                    f"`{name}` must hold dates written as YYYY-MM-DD; in {name_places(self.places)} the first is "
                    f"{first!r}."
                )

    def check_present(self, names: Iterable[str]) -> None:
        """Raise an error that names the file without a column, if any: JSON lines are read with nulls instead."""
        for place, columns in self._list_columns():
            for name in names:
                if name not in columns:
                    raise ValueError(f"Every file must have the column {name!r}; {str(place)!r} does not.")

    def _check_alike(self) -> None:
        """Raise an error that names the file whose columns differ from those of the first, if any."""
        first: dict[str, Any] = {}
        for place, columns in self._list_columns():
            first = first or columns
            difference = _compare(first, columns, typed=self.kind not in TEXT)
            if difference:
                raise ValueError(
                    f"Files read together must have the same columns; {str(place)!r} {difference}, unlike "
                    f"{str(self.places[0])!r}."
                )

    def _list_columns(self) -> Iterator[tuple[Path, dict[str, Any]]]:
        """Yield each of several files with its columns."""
        import polars as pl

        for place in self.places if len(self.places) > 1 else ():
            with replace(self, places=(place,)).explain_errors():
                columns = dict(_open(pl, (place,), self.kind).collect_schema())
            yield place, columns

    def _check_numbers(self, pl: Any) -> None:
        """Raise an error that names the first text in a column of numbers, if any."""
        if self.kind not in ("csv", "tsv") or not self.numbers:
            return
        # the encoding does not matter here
        types = dict.fromkeys(self.numbers, pl.String)
        words = _open(pl, self.places, self.kind, schema_overrides=types, encoding="utf8-lossy")
        present = [name for name in self.numbers if name in words.collect_schema()]
        for name in present:
            column = pl.col(name)
            wrong = column.is_not_null() & column.str.strip_chars().cast(pl.Float64, strict=False).is_null()
            found = words.with_row_index("row", 1).filter(wrong).select("row", name).collect(engine="streaming")
            if len(found):
                row, value = found.sort("row").row(0)
                raise ValueError(
                    f"`{name}` must hold numbers in [0, 1]; {plural(len(found), 'row')} of "
                    f"{name_places(self.places)} {'holds' if len(found) == 1 else 'hold'} something else, the first is "
                    f"{value!r} in row {row:,}."
                )


def scan(source: PathLike | Sequence[PathLike], *, format: str | None = None) -> Any:
    """Open one or more files, a folder or a glob as a lazy polars frame.

    Parameters
    ----------
    source : path or paths
        Paths may have wildcards. A folder stands for all files in it and below (`key=value` folders become columns),
        except in hidden folders, whose names begin with a dot or an underscore, and in virtual environments. "-" is
        standard input, which is CSV unless `format` is given.
    format : optional
        One of csv, tsv, parquet, ipc, jsonl, npz; by default found from the names.
    """
    return open_files(source, format=format).frame


def open_files(
    source: PathLike | Sequence[PathLike],
    *,
    format: str | None = None,
    numbers: Sequence[str] = (),
    dates: bool = False,
) -> Files:
    """Open files as `scan` does, and return them with their places and format.

    Text columns in `numbers` are read as numbers, whatever their first rows hold. With `dates`, which takes longer,
    text that looks like dates and times is read as such.
    """
    try:
        import polars as pl
    except ImportError as error:
        raise ImportError("Files need polars: pip install 'truecal[files]'") from error
    if format is not None and format not in FORMATS:
        raise ValueError(f"{option('format')} must be one of {', '.join(FORMATS)}; it is {format!r}.")
    given: list[PathLike] = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    if given == ["-"]:
        places = [_copy_stdin()]
        kinds = {format or "csv": places[0]}
    else:
        places = [place for part in given for place in expand(os.fspath(part))]
        kinds = {format or _find_format(place): place for place in reversed(places)}  # with the first file of each
    if len(kinds) > 1:
        named = ", ".join(f"{kind} ({str(place)!r})" for kind, place in sorted(kinds.items()))
        formats = [_find_format(place) for place in places]
        usual = kinds[max(kinds, key=lambda kind: (formats.count(kind), kind not in TEXT))]
        raise ValueError(
            f"Files read together must be of one format; these are {named}.\n\n"
            f"Hint: name the files to read, such as '{usual.parent / f'*{usual.suffix}'}'."
        )
    for place in places:
        with open(place, "rb"):  # raises an error if a file may not be read
            pass
    (kind,) = kinds
    unread = Files(None, None, tuple(places), kind, ())
    with unread.explain_errors():
        types = dict.fromkeys(numbers, pl.Float64)
        frame = _open(pl, unread.places, kind, schema_overrides=types, try_parse_dates=dates)
        frame.collect_schema()
        rows = _estimate_rows(unread.places, kind) if kind in TEXT else frame.select(pl.len()).collect().item()
    return Files(frame, rows, unread.places, kind, tuple(numbers))


def is_path(data: Any) -> bool:
    """Whether data are a path or several paths."""
    several = isinstance(data, (list, tuple)) and len(data) > 0
    return all(isinstance(part, (str, os.PathLike)) for part in (data if several else [data]))


def name_places(places: Sequence[Path]) -> str:
    """Name files in a message: the first, and how many more."""
    more = f" and {len(places) - 1:,} more" if len(places) > 1 else ""
    return f"{str(places[0])!r}{more}"


def _open(pl: Any, places: Sequence[Path], kind: str, **text: Any) -> Any:
    """Open files as a lazy frame; `text` has options for CSV."""
    if kind in ("csv", "tsv"):
        separator, missing = _sniff(places[0], kind)
        options = {"separator": separator, "null_values": missing, "infer_schema_length": SAMPLE}
        return pl.scan_csv(list(places), **options, **text)
    if kind == "jsonl":
        return pl.scan_ndjson(list(places), infer_schema_length=SAMPLE)
    if kind == "parquet":
        return pl.scan_parquet(list(places), hive_partitioning=True)
    if kind == "ipc":
        return pl.concat([_open_ipc(pl, place) for place in places])
    return pl.concat([_read_npz(pl, place) for place in places]).lazy()


def _open_ipc(pl: Any, place: Path) -> Any:
    with open(place, "rb") as file:
        stream = file.read(6) != b"ARROW1"
    return pl.read_ipc_stream(place).lazy() if stream else pl.scan_ipc(place)


def _read_npz(pl: Any, place: Path) -> Any:
    try:
        with np.load(place) as archive:
            columns = {name: archive[name] for name in archive.files}
    except (ValueError, EOFError, OSError) as error:
        raise ValueError(f"{str(place)!r} must be readable as npz; it is not: {error}") from error
    shapes = {name: column.shape for name, column in columns.items()}
    if len(set(shapes.values())) != 1 or any(len(shape) != 1 for shape in shapes.values()):
        raise ValueError(f"The arrays of {str(place)!r} must be columns of one length; their shapes are {shapes}.")
    return pl.DataFrame(columns)


def _sniff(place: Path, kind: str) -> tuple[str, list[str]]:
    """Return the separator of a text file and its words for missing values.

    The separator is the most frequent candidate in the header. Only words that occur in the first rows are returned,
    since looking for all of them takes a quarter longer.
    """
    head = b""
    if place.suffix.lower() != ".zst":
        with gzip.open(place, "rb") if place.suffix.lower() == ".gz" else open(place, "rb") as file:
            head = file.read(1 << 17)
    header = head.partition(b"\n")[0]
    separator = "\t" if kind == "tsv" else max((",", ";", "\t", "|"), key=lambda sign: header.count(sign.encode()))
    fields = {field.strip() for line in head.split(b"\n") for field in line.split(separator.encode())}
    return separator, [word for word in MISSING if word.encode() in fields] or MISSING[:1]


def _estimate_rows(places: Sequence[Path], kind: str) -> int | None:
    """Estimate the rows of text files from the length of the first rows."""
    if any(place.suffix.lower() in COMPRESSED for place in places):
        return None
    with open(places[0], "rb") as file:
        head = file.read(1 << 20)
    return sum(place.stat().st_size for place in places) * head.count(b"\n") // max(len(head), 1)


def expand(name: str) -> list[Path]:
    """Return the files that a path stands for."""
    place = Path(name).expanduser()
    if place.is_dir():
        known = {suffix for suffixes in FORMATS.values() for suffix in suffixes}
        found = sorted(file for file in _walk(place) if _strip_compression(file).suffix.lower() in known)
        if not found:
            raise FileNotFoundError(f"The folder {name!r} must hold files of a known format; it holds none.")
        return found
    if not place.exists() and glob.has_magic(name):
        matches = sorted(glob.glob(str(place), recursive=True))
        found = list(dict.fromkeys(file for match in matches for file in expand(match)))
        if not found:
            raise FileNotFoundError(f"The pattern {name!r} must match at least one file; it matches none.")
        return found
    if not place.exists():
        raise FileNotFoundError(f"The file {name!r} must exist; it does not.")
    return [place]


def _walk(place: Path) -> Iterator[Path]:
    """Yield the files in a folder and below, except hidden files and those of installed programs."""
    for name, folders, names in os.walk(place):
        here = Path(name)
        # as in Spark, a `key=value` folder may begin with an underscore
        folders[:] = [
            folder
            for folder in folders
            if folder[0] not in "._" or (folder[0] == "_" and "=" in folder)
            if folder not in FOREIGN and not (here / folder / "pyvenv.cfg").exists()
        ]
        yield from (here / name for name in names if not name.startswith((".", "_")) and (here / name).is_file())


def _compare(first: dict[str, Any], other: dict[str, Any], *, typed: bool) -> str:
    """Describe how the columns of a file differ from those of the first; "" if they do not."""
    for name in first:
        if name not in other:
            return f"has no {name!r}"
    for name in other:
        if name not in first:
            return f"has {name!r} as well"
    if list(first) != list(other):
        return f"has them in the order {', '.join(map(repr, other))}"
    for name, kind in other.items():
        if typed and kind != first[name]:
            return f"holds {name!r} as {kind} and not as {first[name]}"
    return ""


def _strip_compression(place: Path) -> Path:
    """Remove the suffix of compression from a path."""
    return place.with_suffix("") if place.suffix.lower() in COMPRESSED else place


def _find_format(place: Path) -> str:
    """Return the format of a file, found from its name."""
    plain = _strip_compression(place)
    for kind, suffixes in FORMATS.items():
        if plain.suffix.lower() in suffixes and (plain == place or kind in TEXT):
            return kind
    known = ", ".join(suffix for suffixes in FORMATS.values() for suffix in suffixes)
    hint = "unpack it first" if place.suffix.lower() in (".xz", ".bz2", ".zip") else f"name its {option('format')}"
    raise ValueError(f"The name of {str(place)!r} must tell its format ({known}); it does not.\n\nHint: {hint}.")


def _copy_stdin() -> Path:
    """Copy standard input to a temporary file: it may be larger than memory, and is read more than once."""
    with tempfile.NamedTemporaryFile(prefix="truecal-", delete=False) as file:
        atexit.register(Path(file.name).unlink, missing_ok=True)
        shutil.copyfileobj(sys.stdin.buffer, file)
    return Path(file.name)
