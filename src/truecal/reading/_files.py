"""Open files as lazy polars frames: CSV, TSV, Parquet, Arrow IPC, JSON lines and NumPy archives.

Text may be compressed (.gz, .zst). It is read to its end here, which counts its rows. Its columns have the types of
what they are read for; see `_types`.
"""

from __future__ import annotations

import glob
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import unquote

import numpy as np

from truecal._errors import name_place, option
from truecal._fork import check_fork
from truecal._options import FORMATS
from truecal._text import is_number, plural
from truecal.reading._csv import CHUNK, MISSING, Stamp, Table, Unreadable, open_table, stamp
from truecal.reading._discovery import TEXT, PathLike, copy_stream, expand_all, find_format
from truecal.reading._engines import column
from truecal.reading._preview import read_text_head
from truecal.reading._types import BOOLEANS, ColumnType, convert, find_types

SAMPLE = 10_000  # lines of JSON from which the names and types of columns are inferred
LISTED = 10  # values that an error lists
_kept: list[Any] = []  # copies of standard input, and of files that `scan` opened


@dataclass(frozen=True, slots=True)
class Files:
    """A lazy polars frame of files.

    counts
        The true number of rows of each, which must all arrive.
    types
        What columns of text are read as; others are text.
    texts
        The columns of keys that are text here, whose values may be numbers.
    marked
        Whether rows have the name of their file.
    stamps, tables
        What the files were when they were opened; text that was checked, in copies that are deleted with this object.
    """

    frame: Any
    counts: tuple[int, ...]
    places: tuple[Path, ...]
    kind: str
    types: Mapping[str, ColumnType] = field(default_factory=dict)
    texts: frozenset[str] = frozenset()
    marked: bool = False
    stamps: tuple[Stamp, ...] = ()
    tables: tuple[Table, ...] = ()

    @property
    def rows(self) -> int:
        """The rows of all files."""
        return sum(self.counts)

    @contextmanager
    def explain_errors(self) -> Iterator[None]:
        """Turn the errors of polars for a broken file into one that names it; raise one if a file has changed."""
        import polars as pl

        try:
            yield
        except pl.exceptions.PolarsError as error:
            self.check_unchanged()
            if self.kind == "jsonl":
                self._check_lines()
            with suppress(pl.exceptions.PolarsError):  # which lines of JSON that are none give again
                self._check_words(pl)
            self._check_alike()
            raise self._unreadable(error) from error
        except OSError as error:
            if error.errno is not None:
                raise
            self.check_unchanged()  # polars gives the words of the system without their number, and seldom the file
            raise self._unreadable(error) from error
        self.check_unchanged()

    def _unreadable(self, error: Exception) -> Unreadable:
        reason = str(error).strip().splitlines()[0]
        return Unreadable(f"{name_places(self.places)} must be readable as {self.kind}; it is not: {reason}")

    def check_unchanged(self) -> None:
        """Raise an error if a file was written or replaced since it was opened."""
        for place, seen in zip(self.places, self.stamps, strict=False):
            if not place.exists() or stamp(place) != seen:
                raise Unreadable(f"{str(place)!r} must not change while it is read; it did.\n\nHint: read it again.")

    def check_once(self, names: Iterable[str]) -> None:
        """Raise an error if a file has several columns of a name."""
        for place, table in zip(self.places, self.tables, strict=False):
            for name in names:
                if name in table.again:
                    raise ValueError(f"{str(place)!r} must name the column {name!r} once; it names it more often.")

    def check_complete(self, arrived: int) -> None:
        """Raise an error unless every row of the files has arrived."""
        if arrived != self.rows:
            raise Unreadable(
                f"Every row must be judged or dropped; of {plural(self.rows, 'row')} of {name_places(self.places)} "
                f"{arrived:,} arrived."
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
            difference = _compare(first, columns, typed=self.kind not in TEXT) or self._compare_separators(place)
            if difference:
                raise ValueError(
                    f"Files read together must have the same columns; {str(place)!r} {difference}, unlike "
                    f"{str(self.places[0])!r}."
                )

    def _compare_separators(self, place: Path) -> str:
        """Describe how the separator of a file differs from that of the first; "" if it does not."""
        signs = dict(zip(self.places, (table.separator for table in self.tables), strict=False))
        if signs.get(place) == signs.get(self.places[0]):
            return ""
        return f"separates them by {signs[place]!r} and not by {signs[self.places[0]]!r}"

    def _list_columns(self) -> Iterator[tuple[Path, dict[str, Any]]]:
        """Yield each of several files with its columns."""
        import polars as pl

        for i, place in enumerate(self.places if len(self.places) > 1 else ()):
            own = Files(None, (), (place,), self.kind, tables=self.tables[i : i + 1])
            if self.kind in ("csv", "tsv"):
                yield place, dict.fromkeys(self.tables[i].names)
                continue
            with own.explain_errors():
                columns = dict(_open(pl, own, None)[0].collect_schema())
            yield place, columns

    def _check_words(self, pl: Any) -> None:
        """Raise an error that names the first text in a column of numbers, labels or times, if any."""
        if self.kind not in TEXT:
            return
        words, _ = _open(pl, replace(self, types={}), None)
        present = words.collect_schema()
        for name, kind in self.types.items():
            if name not in present or kind == "key" or (kind == "time" and self.kind == "jsonl"):
                continue
            value = column(words, name).str.strip_chars(" ")
            fits = value.cast(pl.Float64, strict=False).is_not_null()
            if kind == "time":
                day = value.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
                zoned = ZONE.search(_find_first_word(pl, self.tables, name)) is not None
                alike = value.str.contains(ZONE.pattern) == zoned
                fits = value.str.contains(f"^{MOMENT.pattern}$") & day.is_not_null() & alike
            elif kind in ("label", "class") and self._has_booleans(pl, name):
                fits = value.str.to_lowercase().is_in(list(BOOLEANS))
            known = value.is_not_null() & ~value.is_in(MISSING if self.kind != "jsonl" else [])
            rows = words.select(column(words, name).alias("value"), (known & ~fits).alias("wrong"))
            wrong = rows.with_row_index("row", 1).filter("wrong").group_by("value")
            lines = wrong.agg(pl.len().alias("rows"), pl.col("row").min()).collect(engine="streaming").sort("row")
            if len(lines):
                self._refuse_words(name, kind, lines.rows())

    def _has_booleans(self, pl: Any, name: str) -> bool:
        return self.kind != "jsonl" and _find_first_word(pl, self.tables, name).lower() in BOOLEANS

    def _refuse_words(self, name: str, kind: ColumnType, lines: Sequence[tuple[str, int, int]]) -> NoReturn:
        """Raise an error for words in a column of numbers, labels or times: each with its rows, and the first of
        these."""
        value, _, row = lines[0]
        if kind == "time":
            _refuse_moment(name, row, value, name_places(self.places))
        if kind in ("label", "class"):
            listed = (f"{word!r} ({plural(rows, 'row')}, the first in row {first:,})" for word, rows, first in lines)
            more = f" and {len(lines) - LISTED:,} more" if len(lines) > LISTED else ""
            rule = "0 and 1 or booleans" if kind == "label" else "labels of one type"
            alike = all(is_number(word) or word.lower() in BOOLEANS for word, _, _ in lines)
            raise ValueError(
                f"`{name}` must hold {rule}; among the labels of {name_places(self.places)} are "
                f"{', '.join(list(listed)[:LISTED])}{more}, unlike the first."
                f"{MIXED_LABELS if alike else advise_on(value)}"
            )
        count = sum(rows for _, rows, _ in lines)
        raise ValueError(
            f"`{name}` must hold numbers; {plural(count, 'row')} of {name_places(self.places)} "
            f"{'holds' if count == 1 else 'hold'} something else, the first is {value!r} in row {row:,}."
            f"{advise_on(value)}"
        )

    def _check_lines(self) -> None:
        """Raise an error that names the first line that is no JSON, or has a value that is not alike those before."""
        for table, place in zip(self.tables, self.places, strict=True):
            kinds: dict[str, str] = {}
            with open(table.place, "rb") as lines:
                for number, line in enumerate(lines, 1):
                    for name, kind in _read_kinds(line, f"line {number:,}", place):
                        if not is_alike(kinds.setdefault(name, kind), kind):
                            raise Unreadable(
                                f"`{name}` must hold values of one type; line {number:,} of {str(place)!r} has {kind}, "
                                f"and a line before {kinds[name]}.\n\nHint: write all of them alike."
                            )


def _read_kinds(line: bytes, where: str, place: Path) -> Iterator[tuple[str, str]]:
    """The kinds of values in a line of JSON that are not null, by name."""
    import json

    try:
        row = json.loads(line) if line.strip() else {}
    except ValueError as error:
        raise Unreadable(f"{str(place)!r} must hold JSON; {where} is not: {getattr(error, 'msg', error)}") from error
    if not isinstance(row, dict):
        raise Unreadable(f"{str(place)!r} must hold an object of JSON in each line; {where} has {name_kind(row)}.")
    return ((name, name_kind(value)) for name, value in row.items() if value is not None)


def name_kind(value: Any) -> str:
    """What a value of JSON is, in words."""
    if isinstance(value, bool):
        return "a truth value"
    words = {int: "a number", float: "a number", str: "text", list: "a list", dict: "an object"}
    return words.get(type(value), "nothing")


def is_alike(first: str, second: str) -> bool:
    """Whether values of two kinds can stand in one column: numbers and booleans do among text."""
    return first == second or (("text" in (first, second)) and not {first, second} & {"a list", "an object"})


MIXED_LABELS = "\n\nHint: write all of them alike."
MOMENT = re.compile(r"\s*\d{4}-\d\d-\d\d([T ]([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?\s*")


def _refuse_moment(name: str, row: int, word: str, place: str) -> NoReturn:
    raise ValueError(
        f"`{name}` must hold dates or times; in {place} row {row:,} has {word!r}.\n\n"
        "Hint: write all of them alike, as 2026-01-31 or 2026-01-31T12:00:00."
    )


ZONE = re.compile(r":\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)\s*$")
YEAR_LAST = re.compile(r"\s*\d{1,2}([./-])\d{1,2}\1\d{4}\b")


def check_year_first(name: str, first: str, where: str = "") -> None:
    """Raise an error for a date whose year comes last: its day would be a guess, its order as text is wrong."""
    if YEAR_LAST.match(first):
        raise ValueError(
            f"`{name}` must hold dates written as YYYY-MM-DD, whose order is that of time; {where}the first is "
            f"{first!r}.\n\nHint: write dates as 2026-01-31 (ISO 8601)."
        )


def _check_first_time(name: str, first: str, place: str) -> None:
    """Raise an error unless the first date in CSV is written as YYYY-MM-DD: 03/04/2026 is ambiguous."""
    if first and not re.match(r"\d{4}-\d\d-\d\d", first):
        check_year_first(name, first, f"in {place} ")
        raise ValueError(
            f"`{name}` must hold dates written as YYYY-MM-DD; in {place} the first is {first!r}.\n\n"
            f"Hint: {option('every=None')} takes each value as a period."
        )


DECIMAL_COMMA = re.compile(r"\s*-?\d*,\d+\s*")
PERCENT_SIGN = re.compile(r"\s*\d*\.?\d+\s*%\s*")


def advise_on(word: str) -> str:
    """A hint for text among numbers."""
    if DECIMAL_COMMA.fullmatch(word):
        return "\n\nHint: write decimal points, not commas."
    if PERCENT_SIGN.fullmatch(word):
        percent = option('score_scale="percent"')
        return f"\n\nHint: write percentages without their signs; {percent} then reads them as such."
    if not re.fullmatch(r"\W*|(?i:\W*(na|nan|n/a|nil|null|none|missing|unknown)\W*)", word):
        return ""
    drop = option('missing="drop"')
    return f"\n\nHint: leave the fields of missing values empty; {drop} then leaves out their rows."


def scan(source: PathLike | Sequence[PathLike], *, format: str | None = None) -> Any:
    """Open one or more files, a folder or a glob as a lazy polars frame.

    Parameters
    ----------
    source : path or paths
        Paths may have wildcards, unless they exist as they are. A folder stands for all files in it and below, links
        included, except in hidden folders, whose names begin with a dot or an underscore, and in virtual environments.
        The `key=value` folders of Parquet files become columns. "-" is standard input, which is CSV unless `format` is
        given. A file may be named only once.
    format : optional
        One of csv, tsv, parquet, ipc, jsonl, npz; by default found from the names.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from truecal.reading import scan
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = Path(folder) / "predictions.csv"
    ...     _ = place.write_text("y,p\\n0,0.2\\n1,0.7\\n")
    ...     scan(place).collect().shape
    (2, 2)
    """
    files = open_files(source, format=format)
    _kept.extend(table.copy for table in files.tables if table.copy)
    return with_types(files)


def with_types(files: Files) -> Any:
    """Return the frame of files with the types that fit all rows; those of text are found in a pass of their own."""
    import polars as pl

    if files.kind not in TEXT:
        return files.frame
    with files.explain_errors():
        if files.kind == "jsonl":
            return pl.scan_ndjson(_list_patterns(files.tables), infer_schema_length=None)
        texts = [name for name in files.frame.collect_schema() if name not in files.types]
        return convert(files.frame, find_types(files.frame, texts)) if texts else files.frame


def read_first(files: Files) -> Any:
    """Return the frame of files, of lines of JSON only the first ones, which tell the types of its columns."""
    import polars as pl

    if files.kind != "jsonl":
        return files.frame
    table = files.tables[0]
    lines = table.head.rpartition(b"\n")[0] if len(table.head) >= CHUNK else table.head
    with files.explain_errors():
        return pl.read_ndjson(lines, infer_schema_length=None).lazy() if lines.strip() else files.frame


def open_files(
    source: PathLike | Sequence[PathLike],
    *,
    format: str | None = None,
    types: Mapping[str, ColumnType] | None = None,
    mark: str | None = None,
) -> Files:
    """Open files as `scan` does, and return them with their places and format.

    `types` tell what columns of text are read as; others are text. `mark` is a column to add to the rows of several
    files, of the names of these.
    """
    check_fork()
    try:
        import polars as pl
    except ImportError as error:
        raise ImportError("Files need polars: pip install 'truecal[files]'") from error
    places, kind = find_files(source, format)
    stamps = tuple(map(stamp, places))
    if kind not in TEXT:
        for place in places:
            with name_place(place), open(place, "rb"):  # raises an error if a file may not be read
                pass
    tables = tuple(open_table(place, kind) for place in places) if kind in TEXT else ()
    marked = mark is not None and len(places) > 1
    unread = Files(None, (), tuple(places), kind, types or {}, marked=marked, stamps=stamps, tables=tables)
    if kind in ("csv", "tsv"):
        unread._check_alike()
    with unread.explain_errors():
        frame, texts = _open(pl, unread, mark)
        frame.collect_schema()
        if kind in TEXT:
            counts = [table.rows for table in tables]
        else:
            alone = [frame] if len(places) == 1 else [_open_one(pl, place, kind) for place in places]
            counts = [found.item() for found in pl.collect_all([each.select(pl.len()) for each in alone])]
    return replace(unread, frame=frame, counts=tuple(counts), texts=frozenset(texts))


def find_files(source: PathLike | Sequence[PathLike], format: str | None) -> tuple[list[Path], str]:
    """Return the files that paths stand for, or a copy of standard input, and their format, which must be one."""
    if format is not None and format not in FORMATS:
        raise ValueError(f"{option('format')} must be one of {', '.join(FORMATS)}; it is {format!r}.")
    if source in ("-", ["-"]):
        return [keep_input()], format or "csv"
    places = expand_all(source)
    kinds = {format or find_format(place): place for place in reversed(places)}  # with the first file of each
    if len(kinds) > 1:
        named = ", ".join(f"{kind} ({str(place)!r})" for kind, place in sorted(kinds.items()))
        formats = [find_format(place) for place in places]
        usual = kinds[max(kinds, key=lambda kind: (formats.count(kind), kind not in TEXT))]
        raise ValueError(
            f"Files read together must be of one format; these are {named}.\n\n"
            f"Hint: name the files to read, such as '{usual.parent / f'*{usual.suffix}'}'."
        )
    (kind,) = kinds
    return places, kind


def list_names(source: PathLike | Sequence[PathLike], format: str | None) -> list[str]:
    """Return the names of the columns of files."""
    places, kind = find_files(source, format)
    if kind in ("csv", "tsv"):
        return list(dict.fromkeys(open_table(places[0], kind).names))
    return list(open_files(places, format=kind).frame.collect_schema())


def keep_input() -> Path:
    """Copy standard input to a file that is kept as long as this process runs."""
    _kept.append(copy_stream(sys.stdin.buffer, ""))
    place: Path = _kept[-1].place
    return place


def name_places(places: Sequence[Path]) -> str:
    """Name files in a message: the first, and how many more."""
    more = f" and {len(places) - 1:,} more" if len(places) > 1 else ""
    return f"{str(places[0])!r}{more}"


def _open(pl: Any, files: Files, mark: str | None) -> tuple[Any, list[str]]:
    """Open files as a lazy frame, and return the columns of keys that are text. `mark` is a column to add, of the names
    of several files."""
    places, tables, mark = files.places, files.tables, mark if len(files.places) > 1 else None
    if files.kind == "parquet":
        return _open_parquet(pl, places, mark), []
    if files.kind not in TEXT:
        frames = [_open_one(pl, place, files.kind) for place in places]
        if mark is not None:
            named = zip(frames, places, strict=True)
            frames = [frame.with_columns(pl.lit(str(place)).alias(mark)) for frame, place in named]
        return pl.concat(frames), []
    frame, texts = (_open_lines if files.kind == "jsonl" else _open_csv)(pl, files, mark)
    if mark is not None:
        copies = [str(table.place) for table in tables]
        frame = frame.with_columns(pl.col(mark).replace(copies, list(map(str, places))))
    return frame, texts


def _open_one(pl: Any, place: Path, kind: str) -> Any:
    """Open one file that is not text as a lazy frame, without the columns of its folders."""
    if kind == "parquet":
        return pl.scan_parquet(place, glob=False, hive_partitioning=False)
    return _open_ipc(pl, place) if kind == "ipc" else _read_npz(pl, place).lazy()


def _list_patterns(tables: Sequence[Table]) -> list[str]:
    """The places of lines of JSON, for polars, which takes nothing but patterns."""
    return [glob.escape(str(table.place)) for table in tables]


def _open_lines(pl: Any, files: Files, mark: str | None) -> tuple[Any, list[str]]:
    """Open lines of JSON, whose values have types: keys are text if some value may be no text."""
    patterns, types = _list_patterns(files.tables), files.types
    known = pl.scan_ndjson(patterns, infer_schema_length=SAMPLE).collect_schema()
    labels = [name for name, kind in types.items() if kind in ("label", "class")]
    # later lines may have more columns, and the first label
    if not set(types) <= set(known) or any(known[name] == pl.Null for name in labels):
        known = pl.scan_ndjson(patterns, infer_schema_length=None).collect_schema()
    schema, texts = dict(known), []
    for name, kind in types.items():
        found = known.get(name)
        if kind in ("number", "label", "class") and found is not None and (found.is_numeric() or found == pl.Null):
            schema[name] = pl.Float64
        elif kind == "key" and found is not None and not found.is_nested():
            schema[name] = pl.String
            texts += [name] if found != pl.String else []
    if not types:
        schema = dict.fromkeys(schema, pl.String)
    frame = pl.scan_ndjson(patterns, schema=schema, include_file_paths=mark)
    # numbers are equal here, however they were written, but for the sign of 0
    return frame.with_columns(*(column(frame, name).replace("-0", "0") for name in texts)), texts


def _open_csv(pl: Any, files: Files, mark: str | None) -> tuple[Any, list[str]]:
    """Open CSV, all of whose values are text; numbers, booleans and times may have spaces around them."""
    tables, types = files.tables, files.types
    present = {name: kind for name, kind in types.items() if name in tables[0].names}
    times = {name: _find_first_word(pl, tables, name) for name, kind in present.items() if kind == "time"}
    for name, first in times.items():
        _check_first_time(name, first, name_places(files.places))
    chosen = {name: _choose_type(pl, tables, name, kind) for name, kind in present.items()}
    spaced = {name: kind for name, kind in chosen.items() if any(map(_may_have_spaces, tables))}
    spaced = {name: kind for name, kind in spaced.items() if kind != pl.String}
    spaced |= {name: pl.Datetime("us", "UTC") for name in spaced if ZONE.search(times.get(name, ""))}
    given = {name: kind for name, kind in chosen.items() if name not in spaced}
    frame = _scan_text(pl, tables, given, include_file_paths=mark)
    if spaced:
        missing = max((table.missing for table in tables), key=len)
        words = {name: column(frame, name).str.strip_chars(" ") for name in spaced}
        plain = {name: pl.when(~word.is_in(missing)).then(word) for name, word in words.items()}
        values = (_convert_words(pl, plain[name], kind).alias(name) for name, kind in spaced.items())
        frame = frame.with_columns(*values)
    return frame, [name for name, kind in present.items() if kind == "key"]


def _may_have_spaces(table: Table) -> bool:
    """Whether a field has spaces around it; of quoted ones, whether one of the first rows may."""
    return table.spaced or b'" ' in table.head or b' "' in table.head


def _convert_words(pl: Any, words: Any, kind: Any) -> Any:
    """Words as times, booleans or numbers; what is none is an error."""
    if kind.is_temporal():
        whole = pl.when(words.str.len_chars() == 10).then(words + "T00:00:00").otherwise(words).str.replace(" ", "T")
        if kind.time_zone is None:
            return whole.str.to_datetime(time_unit="us")
        moment = whole.str.replace("Z$", "+00:00").str.to_datetime("%+", time_unit="us", time_zone="UTC")
        return moment.dt.replace_time_zone(None)  # as polars reads times with zones
    if kind == pl.Boolean:
        return words.str.to_lowercase().replace_strict(BOOLEANS, return_dtype=pl.Boolean)
    return words.cast(kind)


def _scan_text(pl: Any, tables: Sequence[Table], types: Mapping[str, Any], **options: Any) -> Any:
    """Open CSV with some columns of these types, and the others as text."""
    first, missing = tables[0], max((table.missing for table in tables), key=len)
    quoted = {name.replace('"', '""'): name for name in first.names if '"' in name}  # as polars names them
    types = {name.replace('"', '""'): kind for name, kind in types.items()}
    schema = {name: types.get(name, pl.String) for name in first.names}
    # with all names polars need not look at the file; equal ones, and those with quotes, it names in its own way
    own_names = first.again or quoted
    known = {"infer_schema": False, "schema_overrides": types} if own_names else {"schema": schema}
    options |= {"separator": first.separator, "glob": False, "null_values": missing}
    frame = pl.scan_csv([table.place for table in tables], **known, **options)
    return frame.rename(quoted) if quoted else frame


def _choose_type(pl: Any, tables: Sequence[Table], name: str, kind: ColumnType) -> Any:
    """The type that a column of CSV is read as. The first label tells whether labels are numbers, booleans or words;
    where one is named positive, all of the first rows do."""
    if kind not in ("label", "class"):
        return {"time": pl.Datetime("us"), "number": pl.Float64, "key": pl.String}[kind]
    if kind == "class" and not all(map(is_number, map(str, read_text_head(tables[0]).columns[name].distinct()))):
        return pl.Boolean if read_text_head(tables[0]).columns[name].type == "boolean" else pl.String
    word = _find_first_word(pl, tables, name)
    if word.lower() in BOOLEANS:
        return pl.Boolean
    return pl.Float64 if not word or is_number(word) else pl.String


def _find_first_word(pl: Any, tables: Sequence[Table], name: str) -> str:
    """The first value of a column of CSV that is not missing; "" if there is none."""
    head = read_text_head(tables[0])
    present = (str(value).strip() for value in head.columns[name].every() if value is not None)
    first = next(present, "")
    if first or (len(tables) == 1 and head.rows == tables[0].rows):
        return first
    words = _scan_text(pl, tables, {})
    found = words.select(column(words, name).alias("word")).drop_nulls().head(1).collect(engine="streaming")
    return str(found["word"][0]).strip() if len(found) else ""


def _open_parquet(pl: Any, places: Sequence[Path], mark: str | None) -> Any:
    """Open Parquet files. A `key=value` folder makes a column, which must agree with a column of the files."""
    keys = [dict(part.split("=", 1) for part in place.parts[:-1] if "=" in part) for place in places]
    if not any(keys):
        return pl.scan_parquet(list(places), glob=False, hive_partitioning=False, include_file_paths=mark)
    own = pl.scan_parquet(list(places), glob=False, hive_partitioning=False).collect_schema()
    both = {name: own[name] for key in keys for name in key if name in own}
    for place, key in zip(places, keys, strict=True) if both else ():
        for name in both.keys() & key.keys():
            frame = _open_one(pl, place, "parquet")
            value = None if key[name] == "__HIVE_DEFAULT_PARTITION__" else unquote(key[name])
            same = column(frame, name).eq_missing(pl.lit(value, dtype=pl.String).cast(own[name], strict=False))
            if not frame.select(same.all()).collect().item():
                raise ValueError(
                    f"A folder must not contradict its files; the column {name!r} of {str(place)!r} holds other values "
                    f"than {value!r}.\n\nHint: rename the folder."
                )
    schema = both or None  # the types of the files
    options = {"hive_partitioning": True, "hive_schema": schema, "include_file_paths": mark}
    return pl.scan_parquet(list(places), glob=False, **options)


def _open_ipc(pl: Any, place: Path) -> Any:
    with name_place(place), open(place, "rb") as file:
        stream = file.read(6) != b"ARROW1"
    return pl.read_ipc_stream(place).lazy() if stream else pl.scan_ipc(place, glob=False, hive_partitioning=False)


def _read_npz(pl: Any, place: Path) -> Any:
    import zipfile

    try:
        with np.load(place) as archive:
            columns = {name: archive[name] for name in archive.files}
    except (ValueError, EOFError, OSError, KeyError, zipfile.BadZipFile) as error:
        raise ValueError(f"{str(place)!r} must be readable as npz; it is not: {error}") from error
    shapes = {name: column.shape for name, column in columns.items()}
    if len(set(shapes.values())) != 1 or any(len(shape) != 1 for shape in shapes.values()):
        raise ValueError(f"The arrays of {str(place)!r} must be columns of one length; their shapes are {shapes}.")
    return pl.DataFrame(columns)


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
