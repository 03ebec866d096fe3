"""Open files as lazy polars frames: CSV, TSV, Parquet, Arrow IPC, JSON lines and NumPy archives.

Text may be compressed (.gz, .zst). It is read to its end here, which counts its rows.
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
from truecal._text import plural
from truecal.reading._csv import Stamp, Table, Unforeseen, Unreadable, open_table, stamp
from truecal.reading._discovery import TEXT, PathLike, copy_stream, expand_all, find_format
from truecal.reading._engines import column

SAMPLE = 10_000  # rows from which the types of text columns are inferred
_kept: list[Any] = []  # copies of standard input, and of files that `scan` opened


@dataclass(frozen=True, slots=True)
class Files:
    """A lazy polars frame of files.

    counts
        The true number of rows of each, which must all arrive.
    text
        The options for CSV; see `_open_csv`.
    stamps, tables
        What the files were when they were opened; text that was checked, in copies that are deleted with this object.
    """

    frame: Any
    counts: tuple[int, ...]
    places: tuple[Path, ...]
    kind: str
    numbers: tuple[str, ...] = ()
    text: Mapping[str, Any] = field(default_factory=dict)
    stamps: tuple[Stamp, ...] = ()
    tables: tuple[Table, ...] = ()

    @property
    def rows(self) -> int:
        """The rows of all files."""
        return sum(self.counts)

    def mark_rows(self, name: str) -> Any:
        """The same frame with one more column, which names the file of each row."""
        import polars as pl

        with self.explain_errors():
            return _open(pl, self.places, self.kind, mark=name, **self.text)

    @contextmanager
    def explain_errors(self) -> Iterator[None]:
        """Turn the errors of polars for a broken file into one that names it; raise one if a file has changed."""
        import polars as pl

        try:
            yield
        except pl.exceptions.PolarsError as error:
            self.check_unchanged()
            if self.kind == "jsonl" and not self.inferred:
                self._check_lines()
            with suppress(pl.exceptions.PolarsError):  # which lines of JSON that are none give again
                self._check_numbers(pl)
                if not self.inferred:  # another type may fit all rows
                    self._check_times(pl)
            self._check_alike()
            raise self._unreadable(error, Unforeseen if self.inferred else Unreadable) from error
        except OSError as error:
            if error.errno is not None:
                raise
            self.check_unchanged()  # polars gives the words of the system without their number, and seldom the file
            raise self._unreadable(error) from error
        self.check_unchanged()

    @property
    def inferred(self) -> bool:
        """Whether types of columns were inferred from the first rows, as those of text are."""
        return self.kind in TEXT and self.frame is not None and "types" not in self.text

    def lacks(self, names: Iterable[str]) -> bool:
        """Whether later lines of JSON may have a column that the first ones lack."""
        return self.kind == "jsonl" and self.inferred and not set(names) <= set(self.frame.collect_schema())

    def infer_types(self, names: Iterable[str]) -> dict[str, Any]:
        """The types of columns of CSV, or of all columns of JSON, by all rows; see `open_files`. This takes longer than
        reading them."""
        import polars as pl

        if self.kind == "jsonl":
            with replace(self, frame=None).explain_errors():
                return dict(_open(pl, self.places, self.kind, infer_schema_length=None).collect_schema())
        known, found = self.frame.collect_schema(), dict[str, Any]()
        options = {"infer_schema_length": None, "try_parse_dates": self.text["try_parse_dates"]}
        schemas = [_open(pl, (place,), self.kind, **options).collect_schema() for place in self.places]
        for name in dict.fromkeys(names):
            kinds = {schema[name] for schema in schemas}
            if len(kinds) == 1:
                (found[name],) = kinds
            else:
                found[name] = pl.Float64 if all(kind.is_numeric() for kind in kinds) else pl.String
            if found[name] == pl.String and known[name].is_temporal():
                found[name] = pl.Datetime("us")  # dates, and times besides
        codes = self.text["codes"]
        whole = [name for name in (found if codes is None else codes) if name in found and found[name].is_integer()]
        if whole:
            words = _open(pl, self.places, self.kind, schema_overrides=dict.fromkeys(whole, pl.String))
            coded = words.select(_is_code(column(words, name).str.strip_chars(" ")).any().alias(name) for name in whole)
            row = coded.collect(engine="streaming").row(0, named=True)
            found |= {name: pl.String for name in whole if row[name]}
        return found

    def _unreadable(self, error: Exception, kind: type[Unreadable] = Unreadable) -> Unreadable:
        reason = str(error).strip().splitlines()[0]
        return kind(f"{name_places(self.places)} must be readable as {self.kind}; it is not: {reason}")

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

    def check_dates(self, names: Iterable[str]) -> list[str]:
        """Raise an error unless dates in CSV are written as YYYY-MM-DD: 03/04/2026 is ambiguous. Return the columns
        that are text, since their first rows have dates as well as times."""
        import polars as pl

        columns, mixed = self.frame.collect_schema(), list[str]()
        for name in names if self.kind in ("csv", "tsv") else ():
            with self.explain_errors():
                words = _open(pl, self.places, self.kind, schema_overrides={name: pl.String}, encoding="utf8-lossy")
                head = words.select(column(words, name)).head(SAMPLE).collect() if name in columns else None
            first = None if head is None else head[name].drop_nulls().first()
            if first is not None and not re.match(r"\s*\d{4}-\d\d-\d\d", first):
                check_year_first(name, first, f"in {name_places(self.places)} ")
                raise ValueError(
                    f"`{name}` must hold dates written as YYYY-MM-DD; in {name_places(self.places)} the first is "
                    f"{first!r}.\n\nHint: {option('every=None')} takes each value as a period."
                )
            if head is not None and columns[name] == pl.String:
                _check_moments(name, head[name].to_list(), name_places(self.places))
                mixed.append(name)
        return mixed

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
            with Files(None, (), (place,), self.kind).explain_errors():
                columns = dict(_open(pl, (place,), self.kind).collect_schema())
            yield place, columns

    def _check_numbers(self, pl: Any) -> None:
        """Raise an error that names the first text in a column of numbers, if any."""
        if self.kind not in TEXT or not self.numbers:
            return
        # the encoding does not matter here
        types = dict.fromkeys(self.numbers, pl.String)
        words = _open(pl, self.places, self.kind, schema_overrides=types, encoding="utf8-lossy")
        present = [name for name in self.numbers if name in words.collect_schema()]
        for name in present:
            value = column(words, name)
            wrong = value.is_not_null() & value.str.strip_chars(" ").cast(pl.Float64, strict=False).is_null()
            rows = words.select(value.alias("value"), wrong.alias("wrong")).with_row_index("row", 1)
            found = rows.filter("wrong").select("row", "value").collect(engine="streaming")
            if len(found):
                row, value = found.sort("row").row(0)
                raise ValueError(
                    f"`{name}` must hold numbers; {plural(len(found), 'row')} of "
                    f"{name_places(self.places)} {'holds' if len(found) == 1 else 'hold'} something else, the first is "
                    f"{value!r} in row {row:,}.{advise_on(value)}"
                )

    def _check_times(self, pl: Any) -> None:
        """Raise an error that names the first text in a column of dates or times, if any."""
        if self.kind not in ("csv", "tsv") or self.frame is None:
            return
        for name in [name for name, kind in self.frame.collect_schema().items() if kind.is_temporal()]:
            words = _open(pl, self.places, self.kind, schema_overrides={name: pl.String}, encoding="utf8-lossy")
            value = column(words, name)
            rows = words.select(value.alias("value"), ~value.str.contains(f"^{MOMENT.pattern}$").alias("wrong"))
            found = rows.with_row_index("row", 1).filter("wrong").head(1).collect()
            if len(found):
                _refuse_moment(name, found["row"][0], found["value"][0], name_places(self.places))

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


MOMENT = re.compile(r"\s*\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?\s*")


def _check_moments(name: str, words: Sequence[str | None], place: str) -> None:
    """Raise an error unless all words are dates or times."""
    for row, word in enumerate(words, 1):
        if word is not None and not MOMENT.fullmatch(word):
            _refuse_moment(name, row, word, place)


def _refuse_moment(name: str, row: int, word: str, place: str) -> NoReturn:
    raise ValueError(
        f"`{name}` must hold dates or times; in {place} row {row:,} has {word!r}.\n\n"
        "Hint: write all of them alike, as 2026-01-31 or 2026-01-31T12:00:00."
    )


YEAR_LAST = re.compile(r"\s*\d{1,2}([./-])\d{1,2}\1\d{4}\b")


def check_year_first(name: str, first: str, where: str = "") -> None:
    """Raise an error for a date whose year comes last: its day would be a guess, its order as text is wrong."""
    if YEAR_LAST.match(first):
        raise ValueError(
            f"`{name}` must hold dates written as YYYY-MM-DD, whose order is that of time; {where}the first is "
            f"{first!r}.\n\nHint: write dates as 2026-01-31 (ISO 8601)."
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
    return files.frame


def open_files(
    source: PathLike | Sequence[PathLike],
    *,
    format: str | None = None,
    numbers: Sequence[str] = (),
    dates: bool = False,
    codes: Sequence[str] | None = (),
    types: Mapping[str, Any] | None = None,
) -> Files:
    """Open files as `scan` does, and return them with their places and format.

    Text columns in `numbers` are read as numbers, whatever their first rows hold. With `dates`, which takes longer,
    text that looks like dates and times is read as such. In `codes`, None for all columns, 007 is not 7: whole numbers,
    some of which begin with 0, are text. A row that has another type than the first ones raises `Unforeseen` when it is
    read; then `types` are what `Files.infer_types` returns.
    """
    check_fork()
    try:
        import polars as pl
    except ImportError as error:
        raise ImportError("Files need polars: pip install 'truecal[files]'") from error
    if format is not None and format not in FORMATS:
        raise ValueError(f"{option('format')} must be one of {', '.join(FORMATS)}; it is {format!r}.")
    if source in ("-", ["-"]):
        places = [keep_input()]
        kinds = {format or "csv": places[0]}
    else:
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
    for place in places:
        with name_place(place), open(place, "rb"):  # raises an error if a file may not be read
            pass
    (kind,) = kinds
    stamps = tuple(map(stamp, places))
    text: dict[str, Any] = {"try_parse_dates": dates, "codes": codes}
    text |= {"schema_overrides": dict.fromkeys(numbers, pl.Float64)} | ({} if types is None else {"types": types})
    unread = Files(None, (), tuple(places), kind, stamps=stamps, tables=_open_tables(places, kind))
    with unread.explain_errors():
        frame = _open(pl, unread.places, kind, **text)
        frame.collect_schema()
        if kind in TEXT:
            counts = [table.rows for table in unread.tables]
        else:
            alone = [frame] if len(places) == 1 else [_open_one(pl, place, kind) for place in places]
            counts = [found.item() for found in pl.collect_all([each.select(pl.len()) for each in alone])]
    return replace(unread, frame=frame, counts=tuple(counts), numbers=tuple(numbers), text=text)


def keep_input() -> Path:
    """Copy standard input to a file that is kept as long as this process runs."""
    _kept.append(copy_stream(sys.stdin.buffer, ""))
    place: Path = _kept[-1].place
    return place


def name_places(places: Sequence[Path]) -> str:
    """Name files in a message: the first, and how many more."""
    more = f" and {len(places) - 1:,} more" if len(places) > 1 else ""
    return f"{str(places[0])!r}{more}"


def _open_tables(places: Sequence[Path], kind: str) -> tuple[Table, ...]:
    """Check text to its end and count its rows."""
    return tuple(open_table(place, kind) for place in places) if kind in TEXT else ()


def _open(pl: Any, places: Sequence[Path], kind: str, mark: str | None = None, **text: Any) -> Any:
    """Open files as a lazy frame; `text` has options for CSV. `mark` is a column to add, of the names of files."""
    tables = _open_tables(places, kind)
    if kind == "parquet":
        return _open_parquet(pl, places, mark)
    if kind not in TEXT:
        frames = [_open_one(pl, place, kind) for place in places]
        if mark is not None:
            named = zip(frames, places, strict=True)
            frames = [frame.with_columns(pl.lit(str(place)).alias(mark)) for frame, place in named]
        return pl.concat(frames)
    opened = _open_lines if kind == "jsonl" else _open_csv
    frame = opened(pl, tables, include_file_paths=mark, **text)
    if mark is None:
        return frame
    copies = [str(table.place) for table in tables]
    return frame.with_columns(pl.col(mark).replace(copies, list(map(str, places))))


def _open_one(pl: Any, place: Path, kind: str) -> Any:
    """Open one file that is not text as a lazy frame, without the columns of its folders."""
    if kind == "parquet":
        return pl.scan_parquet(place, glob=False, hive_partitioning=False)
    return _open_ipc(pl, place) if kind == "ipc" else _read_npz(pl, place).lazy()


def _open_lines(
    pl: Any,
    tables: Sequence[Table],
    include_file_paths: str | None = None,
    infer_schema_length: int | None = SAMPLE,
    schema_overrides: Mapping[str, Any] | None = None,
    types: Mapping[str, Any] | None = None,
    **_: Any,
) -> Any:
    """Open lines of JSON. Where a column of numbers begins with whole ones, fractions may follow. `types` are those of
    all columns, if they are known."""
    patterns = [glob.escape(str(table.place)) for table in tables]  # it takes nothing else
    options: dict[str, Any] = {"include_file_paths": include_file_paths}
    options |= {"schema": dict(types)} if types is not None else {"infer_schema_length": infer_schema_length}
    frame = pl.scan_ndjson(patterns, **options)
    known = frame.collect_schema()
    given = {
        name: kind
        for name, kind in (schema_overrides or {}).items()
        if name in known and (kind == pl.String or known[name].is_integer())
    }
    return pl.scan_ndjson(patterns, schema_overrides=given, **options) if given else frame


def _open_csv(
    pl: Any,
    tables: Sequence[Table],
    schema_overrides: Mapping[str, Any] | None = None,
    codes: Sequence[str] | None = (),
    types: Mapping[str, Any] | None = None,
    **text: Any,
) -> Any:
    """Open CSV; columns of numbers may have spaces around them. Codes that are whole numbers in the first rows are read
    as such, and a later one that is none, or begins with 0, raises an error of polars. `types` are known."""
    options = {"separator": tables[0].separator, "glob": False, "infer_schema_length": SAMPLE, **text}
    places, missing = [table.place for table in tables], tables[0].missing
    given = {**(types or {}), **(schema_overrides or {})}
    frame = pl.scan_csv(places, null_values=missing, schema_overrides=given, **options)
    padded, whole = dict[str, Any](), dict[str, Any]()
    if any(table.spaced for table in tables):
        head = pl.scan_csv(places, **options | {"infer_schema": False}).head(SAMPLE).collect()
        found = {name: given.get(name) or _find_padded(pl, head[name], missing) for name in head.columns}
        padded = {name: kind for name, kind in found.items() if kind not in (None, pl.String)}
    if codes is None or codes:
        schema = frame.collect_schema() | padded
        names = schema if codes is None else [name for name in codes if name in schema]
        whole = {name: schema[name] for name in names if name not in given and schema[name].is_integer()}
    if not padded and not whole:
        return frame
    words = given | dict.fromkeys(padded | whole, pl.String)
    frame = pl.scan_csv(places, null_values=missing, schema_overrides=words, **options)
    values = {name: column(frame, name) for name in padded | whole}
    values |= {name: values[name].str.strip_chars(" ").replace(dict.fromkeys(missing)) for name in padded}
    for name in whole:
        values[name] = pl.when(_is_code(values[name])).then(pl.lit("a code")).otherwise(values[name])
    return frame.with_columns(*(value.cast((padded | whole)[name]).alias(name) for name, value in values.items()))


def _is_code(words: Any) -> Any:
    """Whether text begins with 0 and goes on: the number 007 is a code, and not 7."""
    return words.str.starts_with("0") & (words.str.len_bytes() > 1)


def _find_padded(pl: Any, column: Any, missing: Sequence[str]) -> Any:
    """Return the type of numbers in a column of text, some with spaces around them; None if it holds others."""
    words = column.drop_nulls()
    plain = words.str.strip_chars(" ")
    values = plain.filter(~plain.is_in(missing))
    for kind in (pl.Int64, pl.Float64) if len(values) and (plain != words).any() else ():
        if not values.cast(kind, strict=False).null_count():
            return kind
    return None


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
