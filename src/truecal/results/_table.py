"""Tables whose columns are declared once, with name, unit, heading and meaning.

Text, HTML, CSV, JSON and dataframes are views of the declaration, and so are the tables of the terminal and of reports.
"""

from __future__ import annotations

import csv
import io
import math
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np

from truecal import _draw_inline, _text
from truecal._codes import Code
from truecal.data import Floats, Ints
from truecal.results._json import JsonMixin, decode_fields, encode, encode_fields, register

FRAMES = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}
WIDE = _text.Terminal(width=100_000)


def float_column(values: Iterable[float]) -> Floats:
    """Return numbers as a column of a table."""
    return np.array(list(values), dtype=np.float64)


def name_segments(by: Sequence[str], segments: Sequence[tuple[Any, ...]]) -> list[str]:
    """Return segments as text: "country=de, age=old"."""
    return [", ".join(f"{name}={value}" for name, value in zip(by, key, strict=True)) for key in segments]


def show_first(order: Ints, most: int) -> list[int]:
    """Return the rows that text shows, the first in an order; -1 stands for rows left out."""
    first: list[int] = order[:most].tolist()
    return first if len(order) <= most else [*first, -1]


def format_p(p_value: float) -> str:
    """Format a p-value of a table."""
    return "< 0.0001" if p_value < 1e-4 else f"{p_value:.3g}"


# units of columns, and how their values are printed; "metric" has the unit of the table's metric
UNITS: dict[str, Callable[[Any], str]] = {
    "key": str,  # identifies the row; the first column
    "label": str,  # for people, in text and HTML only
    "span": str,  # the same, of numbers: an interval, or a value with its interval
    "text": str,
    "code": str,  # a member of a closed set, or nothing
    "flag": lambda flag: "yes" if flag else "",
    "count": lambda count: f"{count:,}",
    "share": _text.format_percent,
    "score": lambda score: f"{score:.4g}",
    "p-value": format_p,
    "ratio": lambda ratio: f"{ratio:.3g}",
    "metric": lambda value: f"{value:.5g}",
}
LEFT = ("key", "label", "span", "text", "code")
SHOWN_ONLY = ("label", "span")
STATUS_STYLES = {"miscalibrated": "red", "consistent": "green", "inconclusive": "yellow", "pending": "dim"}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its name, its unit (one of `UNITS`), its heading and its meaning."""

    name: str
    unit: str
    heading: str
    meaning: str
    format: Callable[[Any], str] | None = None

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise ValueError(f"`unit` of a column must be one of {', '.join(UNITS)}; it is {self.unit!r}.")


def column(
    unit: str, heading: str, meaning: str, format: Callable[[Any], str] | None = None
) -> Mapping[str, tuple[Any, ...]]:
    """Return the metadata that make a field of a dataclass a column."""
    return MappingProxyType({"column": (unit, heading, meaning, format)})


class Table(JsonMixin):
    """Columns of one length, and the settings they were computed with.

    A subclass is a dataclass. A field with `column` metadata is a column; other fields are settings. `_derived_columns`
    declares properties that are columns. `_shown` names the columns that people see, in text, on a terminal, in a
    notebook and in a report; those without any value are left out. `_spare` names those that give way on a narrow
    terminal, the first to go first; the key is shortened to the share `_key_width` of it before that. `_most` is how
    many rows text has.

    Examples
    --------
    >>> import truecal
    >>> table = truecal.evaluate([0, 1] * 100, [0.2] * 100 + [0.3] * 100, ["ece"]).tables["ece"]
    >>> len(table), table.to_csv().splitlines()[0][:22]
    (10, 'left,right,n,k,rate,ra')
    """

    __slots__ = ()
    _derived_columns: ClassVar[tuple[Column, ...]] = ()
    _shown: ClassVar[tuple[str, ...]] = ()
    _spare: ClassVar[tuple[str, ...]] = ()
    _key_width: ClassVar[float] = 0.0
    _most: ClassVar[int] = 20
    _picture: ClassVar[str] = ""  # the kind that notebooks show

    def __post_init__(self) -> None:
        lengths = {name: len(getattr(self, name)) for name in _list_stored(type(self))}
        if len(set(lengths.values())) > 1:
            found = ", ".join(f"{name} {length:,}" for name, length in lengths.items())
            raise ValueError(f"The columns of a {type(self).__name__} must be of one length; they are: {found}.")

    @property
    def columns(self) -> tuple[Column, ...]:
        """The declarations of all columns."""
        return _list_columns(type(self))

    @property
    def names(self) -> list[str]:
        """The key of each row, as text."""
        return [str(key) for key in getattr(self, self.columns[0].name)]

    def __len__(self) -> int:
        return len(getattr(self, _list_stored(type(self))[0]))

    def __getitem__(self, row: int | slice) -> Any:
        """Return a row as a named tuple; of a slice a list of them."""
        if isinstance(row, slice):
            return [self[i] for i in range(len(self))[row]]
        values = (getattr(self, name)[row] for name in _list_row_names(type(self)))
        plain = [value.item() if isinstance(value, np.generic) else value for value in values]
        return self._row_type()(*plain)

    def __iter__(self) -> Iterator[Any]:
        values = (getattr(self, name) for name in _list_row_names(type(self)))
        plain = [value.tolist() if isinstance(value, np.ndarray) else value for value in values]
        return map(self._row_type()._make, zip(*plain, strict=True))

    @classmethod
    def _row_type(cls) -> Any:
        return namedtuple(f"{cls.__name__}Row", _list_row_names(cls))

    def arrays(self) -> dict[str, Any]:
        """Return the columns by name, as arrays and lists."""
        found = {each.name: getattr(self, each.name) for each in self.columns if each.unit not in SHOWN_ONLY}
        return {
            name: value
            if isinstance(value, np.ndarray)
            else [part.value if isinstance(part, Code) else part for part in value]
            for name, value in found.items()
        }

    def _lists(self) -> dict[str, list[Any]]:
        """The columns by name, as CSV has them."""
        found = self.arrays().items()
        return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in found}

    def heading(self, name: str) -> str:
        """Return the heading of a column."""
        return next(each.heading for each in self.columns if each.name == name)

    def cells(self, names: Sequence[str] | None = None, rows: Sequence[int] | None = None) -> dict[str, list[str]]:
        """Return all or some columns as text by name: numbers with their units, "" for NaN and None."""
        known = {each.name: each for each in self.columns}
        wanted = range(len(self)) if rows is None else [int(row) for row in rows]
        found = {}
        for name in known if names is None else names:
            each = known[name]
            values = self._key_cells() if each.unit == "key" else getattr(self, name)
            found[name] = [self._cell(each, row, values[row]) for row in wanted]
        return found

    def _key_cells(self) -> list[str]:
        """The key of each row below its heading."""
        return self.names

    def shown_cells(self, rows: Sequence[int] | None = None) -> dict[str, list[str]]:
        """Return the columns that people see as text by name, without those that are empty in all these rows."""
        found = self.cells(self._list_shown(), rows)
        return {name: cells for name, cells in found.items() if name == self._shown[0] or any(cells) or not cells}

    def _list_shown(self) -> Sequence[str]:
        """The columns of `_shown` that these rows have."""
        return self._shown

    def _cell(self, each: Column, row: int, value: Any) -> str:
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return ""
        if each.format is not None:
            return each.format(value)
        if each.unit == "metric":
            return self._format_metric(row, value)
        return _text.printable(str(value)) if each.unit in LEFT else UNITS[each.unit](value)

    def _format_metric(self, row: int, value: float) -> str:
        """Format a value in the unit of the row's metric."""
        return UNITS["metric"](value)

    def to_frame(self, library: str | None = None) -> Any:
        """Return a dataframe of "pandas", "polars" or "pyarrow", by default the first that is installed."""
        return as_frame(self.arrays(), library)

    def to_csv(self, **common: Any) -> str:
        """Return the table as CSV with a header, after columns that all rows have in common; NaN and None are empty."""
        return write_csv({name: [value] * len(self) for name, value in common.items()} | self._lists())

    @property
    def summary(self) -> str:
        """One sentence about the table."""
        return f"{_text.plural(len(self), 'row')}."

    def text(self, terminal: _text.Terminal = WIDE, rows: Sequence[int] | None = None) -> str:
        """Return the shown columns as text, with headings, as far as they fit a terminal; all rows or these.

        By default they are the rows that text has room for.
        """
        if not len(self):
            return "  (no rows)"
        chosen = self._rows_shown() if rows is None else list(rows)
        units, spare = {each.name: each.unit for each in self.columns}, self._spare_columns()
        columns = []
        for name, cells in self.shown_cells([row for row in chosen if row >= 0]).items():
            if -1 in chosen:
                cells.insert(chosen.index(-1), "..." if name == self._shown[0] else "")
            rank = len(spare) - spare.index(name) if name in spare else 0
            styles = [self._style(name, row) if row >= 0 else "" for row in chosen]
            shrinks = self._key_width if name == self._shown[0] else 0.0
            columns.append(
                _text.TextColumn(
                    self.heading(name), cells, rank, units[name] in LEFT, styles, shrinks, self._name_omitted(name)
                )
            )
        return terminal.table(columns)

    def _spare_columns(self) -> Sequence[str]:
        """The shown columns that give way where they do not fit, the first to go first."""
        return self._spare

    def _name_omitted(self, name: str) -> str:
        """Return what a column is called below the table if it does not fit; by default its heading."""
        return ""

    def _style(self, name: str, row: int) -> str:
        """The style of a cell on a terminal."""
        return ""

    def _footnotes(self) -> tuple[str, ...]:
        """Return sentences without which shown columns may be misread."""
        return ()

    def _rows_shown(self) -> list[int]:
        """Return the rows that text shows; -1 stands for rows left out."""
        if len(self) <= self._most:
            return list(range(len(self)))
        half = self._most // 2
        return [*range(half), -1, *range(len(self) - half, len(self))]

    def html(self, names: Sequence[str] | None = None, rows: Sequence[int] | None = None) -> str:
        """Return columns as an HTML table, by default those that people see."""
        cells = self.shown_cells(rows) if names is None else self.cells(names, rows)
        head = "".join(f"<th>{_text.escape_html(self.heading(name))}</th>" for name in cells)
        body = "".join(
            "<tr>" + "".join(f"<td>{_text.escape_html(cell)}</td>" for cell in row) + "</tr>"
            for row in zip(*cells.values(), strict=True)
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def __repr__(self) -> str:
        from truecal import words

        notes = words.list_notes(getattr(self, "notes", ()))
        return "\n".join([self.summary, self.text(), *self._footnotes(), *notes])

    def _repr_html_(self) -> str:
        from truecal import words

        below = (*self._footnotes(), *words.list_notes(getattr(self, "notes", ())))
        notes = "".join(f"<p>{_text.prose_html(note)}</p>" for note in below)
        picture = _draw_inline(self._picture, self, self.summary) if self._picture and len(self) else ""
        return f"<p>{_text.escape_html(self.summary)}</p>{picture}{self.html()}{notes}"

    def _write(self) -> dict[str, Any]:
        written = encode_fields(self)
        columns = {name: written.pop(name) for name in _list_stored(type(self))}
        derived = {each.name: encode(getattr(self, each.name)) for each in _list_written(type(self))}
        return {**written, **self._write_derived(), "columns": columns | derived}

    @classmethod
    def _read(cls, raw: dict[str, Any]) -> Self:
        return cls(**decode_fields(cls, raw | raw["columns"]))


K = TypeVar("K", bound=type[Table])
T = TypeVar("T")


def register_table(kind: K) -> K:
    """Register a table for JSON, and add the meaning of its columns to its docstring."""
    lines = [f"    {each.name}\n        {each.meaning}" for each in _list_columns(kind)]
    kind.__doc__ = "\n".join([(kind.__doc__ or "").rstrip(), "", "    Columns", "    -------", *lines, ""])
    return register(kind)


def _list_once(declared: Callable[[type[Table]], T]) -> Callable[[type[Table]], T]:
    """A list of declarations, made once for each table."""
    return cast(Callable[[type[Table]], T], cache(declared))


@_list_once
def _list_columns(kind: type[Table]) -> tuple[Column, ...]:
    """Return the key, then stored columns, then derived ones."""
    stored = [Column(entry.name, *entry.metadata["column"]) for entry in fields(kind) if "column" in entry.metadata]
    found = [*stored, *kind._derived_columns]
    return tuple(sorted(found, key=lambda each: each.unit != "key"))


@_list_once
def _list_stored(kind: type[Table]) -> tuple[str, ...]:
    return tuple(entry.name for entry in fields(kind) if "column" in entry.metadata)


def _list_written(kind: type[Table]) -> list[Column]:
    """Return the derived columns that JSON holds."""
    return [each for each in kind._derived_columns if each.unit not in SHOWN_ONLY]


def _list_row_names(kind: type[Table]) -> list[str]:
    return [each.name for each in _list_columns(kind) if each.unit not in SHOWN_ONLY]


def write_csv(columns: Mapping[str, Sequence[Any]]) -> str:
    """Write columns as CSV with a header; NaN and None are empty, and a spreadsheet computes nothing."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow(
            ["" if isinstance(value, float) and math.isnan(value) else _text.escape_csv(value) for value in row]
        )
    return stream.getvalue()


def as_frame(columns: Mapping[str, Any], library: str | None) -> Any:
    """Make a dataframe of columns with a library; None takes the first that is installed."""
    if library is None:
        library = next((name for name in FRAMES if find_spec(name)), "pandas")
    if library not in FRAMES:
        raise ValueError(f"`library` must be one of {', '.join(FRAMES)}; it is {library!r}.")
    try:
        module = import_module(library)
    except ImportError as error:
        raise ImportError(f"A {library} dataframe needs {library}: pip install {library}") from error
    return getattr(module, FRAMES[library])(columns)
