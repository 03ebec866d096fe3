"""What is asked of a dataframe: its rows as a few columns, each row with a status; in any engine.

A row can be used, or it is one of a few kinds that cannot, which are counted in the same pass. Columns that are in this
process stream out in batches; anything else is grouped by score in its engine, and what comes back is one line for
each distinct score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from truecal._errors import check_column, option
from truecal.metrics import BoundedIsotonic
from truecal.observations import MOST, WINDOWS, AnyArray, bits_for, cell, check_bits
from truecal.reading import _files as files
from truecal.reading._engines import collect, count_distinct, engine_of, is_lazy, language, open_frame
from truecal.reading._guessing import Kind, look, refuse_swapped

OnNull = Literal["raise", "drop"]
DROP = 'on_null="drop"'  # how rows without a value are left out
KINDS = 6
LEAST_MEMORY = 100_000  # bytes: with less, rows go to disk in so many pieces that it takes forever
SPARE_BITS = 3  # beyond what bins need: four to ten times narrower bounds
# Why a row cannot be used, by its status; missing ones may be dropped on request.
MISSING = {1: "{score} is null", 2: "{score} is NaN", 4: "{label} is null"}
WRONG = {3: "{score} is outside [0, 1]", 5: "{label} is neither 0 nor 1"}
DATES = {  # how text becomes dates, by the engine
    "pandas": "parse it with `pd.to_datetime(frame[{!r}])`",
    "polars": "parse it with `pl.col({!r}).str.to_datetime()`",
    "": "cast it to a date or a time",
}


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is brought home, and into how much memory.

    grid
        "auto": scores are grouped into the cells of a grid where an engine outside this process holds more than `limit`
        rows, and are exact everywhere else. A number of significant bits (2 to 26) makes a grid in any case, None
        never.
    limit
        Rows whose distinct scores an engine may send home; a line of them takes up to 350 bytes on the way.
    memory
        Bytes that rows read into this process may take before they are sorted on disk; 100,000 at least.
    """

    grid: int | Literal["auto"] | None = "auto"
    limit: int = 5_000_000
    memory: int = 4 << 30

    def __post_init__(self) -> None:
        if self.grid is not None and self.grid != "auto":
            check_bits(self.grid)
        for name, value, least in (("limit", self.limit, 1), ("memory", self.memory, LEAST_MEMORY)):
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ValueError(f"{option(name)} must be a whole number, {least:,} or more; it is {value!r}.")


SCALE = Limits()


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a frame and what to do with them; see `tally_frame`."""

    label: str
    scores: tuple[str, ...]
    by: tuple[str, ...] = ()
    pos_label: Any = None
    on_null: OnNull = "raise"
    format: str | None = None
    scale: Limits = SCALE
    windows: Mapping[str, str] = field(default_factory=dict)  # of `by`, the time columns to be cut into windows

    def __post_init__(self) -> None:
        if self.on_null not in ("raise", "drop"):
            raise ValueError(f'{option("on_null")} must be "raise" or "drop"; it is {self.on_null!r}.')


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked of a frame: its rows as a few columns, with a status each."""

    frame: Any
    columns: Columns
    source: files.Scanned | None

    @classmethod
    def of(cls, frame: Any, columns: Columns) -> Query:
        """A question to a dataframe or to files, once the columns are known to be there and of the right kinds."""
        data, source = open_data(frame, columns.format, columns.scores, bool(columns.windows))
        if source is not None:
            source.check_dates(columns.windows)
        query = cls(data, columns, source)
        return replace(query, columns=query._checked())

    def _checked(self) -> Columns:
        """Refuse columns that are not there or of the wrong kind; read a positive label given as text."""
        columns, pl, schema = self.columns, language(self.frame), self.frame.collect_schema()
        roles = [("label", columns.label), *(("score", name) for name in columns.scores)]
        for role, name in [*roles, *(("by", name) for name in columns.by)]:
            if name not in schema and self.source is not None:
                look(list(self.source.places), self.source.kind)  # a file that is broken lacks it for that reason
            check_column(role, name, list(schema))
        kind = schema[columns.label]
        plain = kind.is_numeric() or kind == pl.Boolean
        for name in columns.scores:
            if not schema[name].is_numeric():
                self._refuse_swapped()
                raise TypeError(f"`{name}` must hold numbers in [0, 1]; it holds {schema[name]}.")
        for name in (columns.label, *columns.by):
            if schema[name].is_nested():
                raise TypeError(f"`{name}` must hold one plain value for each row; it holds {schema[name]}.")
        engine = "" if self.source is not None else engine_of(self.frame)
        for name, every in columns.windows.items():
            if every not in WINDOWS:
                raise ValueError(f"Windows must be one of {', '.join(map(repr, WINDOWS))} long; they are {every!r}.")
            if not schema[name].is_temporal():
                raise TypeError(
                    f"`{name}` must hold dates or times to be cut into windows of {every!r}; it holds {schema[name]}."
                    f"\n\nHint: {DATES.get(engine, DATES['']).format(name)} first; or with "
                    f"{option('every=None')} its values, as "
                    "they are, are the windows."
                )
        if columns.pos_label is None and not plain:
            self._refuse_swapped()
            raise TypeError(
                f"`{columns.label}` must hold 0 and 1 or truth values; it holds {kind}.\n\n"
                f"Hint: name the positive label with {option('pos_label')}."
            )
        if isinstance(columns.pos_label, str) and plain:
            return replace(columns, pos_label=_parsed(columns.pos_label, columns.label, kind))
        return columns

    @property
    def here(self) -> bool:
        """Whether the columns stream through this process, or are in it already."""
        return not is_lazy(self.frame) or engine_of(self.frame) == "polars"

    @property
    def rows(self) -> int | None:
        """About how many rows there are, where that is known."""
        if self.source is not None:
            return self.source.rows
        return len(self.frame) if hasattr(self.frame, "__len__") else None

    @contextmanager
    def reading(self) -> Iterator[None]:
        """While a file is read, errors name it, or columns that are swapped."""
        try:
            with nullcontext() if self.source is None else self.source.explained():
                yield
        except ValueError:
            self._refuse_swapped()
            raise

    def _refuse_swapped(self) -> dict[str, Kind]:
        """Refuse columns that are swapped, where something is wrong with them; if they are not, what they hold."""
        label, scores, source = self.columns.label, self.columns.scores, self.source
        kinds: dict[str, Kind] = {}
        # what cannot be read is told already; an engine may need a library to show its rows
        with suppress(files.Unreadable, ImportError):
            if source is not None:
                kinds = look(list(source.places), source.kind)
            else:
                kinds = look(self.frame.select(*{label, *scores}))
        refuse_swapped(kinds, label, scores)
        return kinds

    @property
    def wanted(self) -> Any:
        """The columns alone."""
        return self.frame.select(*dict.fromkeys((self.columns.label, *self.columns.scores, *self.columns.by)))

    def renamed(self, rows: Any) -> Any:
        """The wanted columns of some rows as `label`, `score0`, ..., `by0`, ..."""
        pl = language(rows)
        return rows.select(
            pl.col(self.columns.label).alias("label"),
            *(pl.col(name).alias(f"score{i}") for i, name in enumerate(self.columns.scores)),
            *(self._segment(name).alias(f"by{i}") for i, name in enumerate(self.columns.by)),
        )

    def judged(self, rows: Any, *others: str) -> Any:
        """Renamed columns as segments, scores, `one` (1 for a positive, else 0), `status`, and others as they are."""
        pl, schema = language(rows), rows.collect_schema()
        y = pl.col("label")
        if self.columns.pos_label is not None:
            positive, usable = y == self.columns.pos_label, ~y.is_null()
        elif schema["label"] == pl.Boolean:
            positive, usable = y, ~y.is_null()
        else:
            positive, usable = y == 1, (y == 0) | (y == 1)
        single = [schema[name] == pl.Float32 for name in self._score_names]
        p = [
            pl.col(name) if narrow else pl.col(name).cast(pl.Float64)
            for name, narrow in zip(self._score_names, single, strict=True)
        ]
        status: Any = pl.when(usable).then(pl.lit(0)).otherwise(pl.lit(5))
        kinds: tuple[tuple[int, Callable[[Any], Any]], ...] = (
            (3, lambda x: (x < 0) | (x > 1)),
            (2, lambda x: x.is_nan()),
            (1, lambda x: x.is_null()),
        )
        status = pl.when(y.is_null()).then(pl.lit(4)).otherwise(status)
        for code, condition in kinds:
            for x in p:
                status = pl.when(condition(x)).then(pl.lit(code)).otherwise(status)
        one = pl.when(positive).then(pl.lit(1)).otherwise(pl.lit(0))
        return rows.select(*self._segment_names, *p, one.alias("one"), status.alias("status"), *others)

    def _segment(self, name: str) -> Any:
        """A column that makes segments: as it is, or a time cut into windows."""
        pl = language(self.frame)
        every = self.columns.windows.get(name)
        if every is None:
            return pl.col(name)
        # engines do not agree on weeks: days come home, and are put together there
        return pl.col(name).cast(pl.Datetime("us")).dt.truncate("1d" if every == "1w" else every)

    def bits(self) -> int | None:
        """The bits of the grid to use, or None where scores stay exact."""
        grid, limit = self.columns.scale.grid, self.columns.scale.limit
        if grid != "auto":
            return grid
        if self.here:
            return None
        pl = language(self.frame)
        total = int(collect(self.frame.select(pl.len().alias("rows")))["rows"][0])
        if total <= limit:
            return None
        return choose_bits(total)

    def grouped(self) -> dict[str, Any]:
        """A line or two for each segment and score: status, n and pos; numbers as arrays, segments as lists.

        Rows are grouped by everything that is asked of them, and judged afterwards, when they are few.
        """
        lines = _counted(self.judged(count_distinct(self.renamed(self.frame)), "n"), ("status", "n"))
        lines["pos"] = np.where(lines.pop("one") == 1, lines["n"], 0)
        return lines

    def gridded(self, bits: int) -> dict[str, Any]:
        """One line for each segment, status and cell: also the sum, the smallest and the largest of its scores."""
        pl = language(self.frame)
        rows = self._held().with_columns(pl.col("score0").cast(pl.Float64))
        steps = 0

        def hold(value: Any) -> Any:
            nonlocal rows, steps
            steps += 1
            rows = rows.with_columns(value.alias(f"step{steps}"))
            return pl.col(f"step{steps}")

        def where(condition: Any, a: Any, b: Any) -> Any:
            return pl.when(condition).then(a).otherwise(b)

        key = cell(pl.col("score0"), bits, where, hold)  # which adds steps to the rows
        rows = rows.with_columns(key.alias("key"))
        score = pl.col("score0")
        found = rows.group_by(*self._segment_names, "status", "key").agg(
            pl.len().alias("n"),
            pl.col("one").sum().alias("pos"),
            score.sum().alias("total"),
            score.min().alias("low"),
            score.max().alias("high"),
        )
        return _counted(found, ("status", "n", "pos"))

    @property
    def _segment_names(self) -> list[str]:
        return [f"by{i}" for i in range(len(self.columns.by))]

    @property
    def _score_names(self) -> list[str]:
        return [f"score{i}" for i in range(len(self.columns.scores))]

    def _held(self) -> Any:
        """The rows with their status; those that cannot be used need no score of their own."""
        pl = language(self.frame)
        usable = pl.col("status") == 0
        held = [pl.when(usable).then(pl.col(name)).otherwise(pl.lit(0.0)).alias(name) for name in self._score_names]
        return self.judged(self.renamed(self.frame)).with_columns(*held)

    def refuse(self, counts: AnyArray) -> str:
        """Stop where rows cannot be used, or say what is dropped; `counts` has the rows of each status."""
        words = {"score": " or ".join(f"`{name}`" for name in self.columns.scores), "label": f"`{self.columns.label}`"}
        total = int(counts.sum())

        def tell(codes: dict[int, str]) -> str:
            told = {code: rule.format(**words) for code, rule in codes.items() if counts[code]}
            return ", ".join(f"{rule} in {int(counts[code]):,}" for code, rule in told.items())

        if tell(WRONG) or (self.columns.on_null == "raise" and tell(MISSING)):
            hint = self._advise_range(bool(counts[3])) if tell(WRONG) else self._advise_missing()
            raise ValueError(
                f"Every row must have a label and a score in [0, 1]; of {total:,} rows {tell(MISSING | WRONG)}.{hint}"
            )
        if not counts[0]:
            raise ValueError("The data must hold at least one row that can be used; it holds none.")
        missing = total - int(counts[0])
        return f"of {total:,} rows {missing:,} were dropped: {tell(MISSING)}" if missing else ""

    def _advise_range(self, scores: bool) -> str:
        """What to do about values out of range, of `scores` or of labels alone; swapped columns are refused."""
        if "percentage" in map(self._refuse_swapped().get, self.columns.scores):
            return "\n\nHint: these look like percentages; divide them by 100."
        rule = "the probability of the positive label, neither a logit nor a percentage"
        return f"\n\nHint: {option('score')} must be {rule}." if scores else ""

    def _advise_missing(self) -> str:
        """What to do about missing values; a file without the column is refused."""
        if self.source is not None:
            self.source.refuse_without((self.columns.label, *self.columns.scores))
        return f"\n\nHint: {option(DROP)} leaves rows out whose label or score is missing."

    def check_label(self, positives: int) -> None:
        """Refuse a positive label that no row has, unless all rows are of one other label."""
        if self.columns.pos_label is None or positives:
            return
        pl = language(self.frame)
        found = self.frame.select(pl.col(self.columns.label).alias("label")).unique()
        labels = [value for value in collect(found.head(4), ("label",))["label"] if value is not None]
        if len(labels) > 1:
            told = ", ".join(map(repr, sorted(labels, key=str)[:3]))
            raise ValueError(
                f"{option('pos_label')} must be one of the labels ({told}, ...); it is {self.columns.pos_label!r}."
            )


def choose_bits(total: int) -> int:
    """The bits of a grid for so many rows, where nobody said how many."""
    return min(max(bits_for(total, BoundedIsotonic().bounds(total)[1]) + SPARE_BITS, 13), MOST)


def column_names(frame: Any, format: str | None = None) -> list[str]:
    """The columns of a dataframe or of files."""
    return list(open_data(frame, format)[0].collect_schema())


def open_data(
    frame: Any, format: str | None, numbers: tuple[str, ...] = (), dates: bool = False
) -> tuple[Any, files.Scanned | None]:
    """The frame of what was given, and the files behind it where there are any."""
    source = None
    if files.is_path(frame):
        source = files.open_files(frame, format=format, numbers=numbers, dates=dates)
    elif format is not None:
        raise ValueError(f"{option('format')} is for files; `frame` is {type(frame).__name__}.")
    return open_frame(frame if source is None else source.frame), source


def _counted(frame: Any, counts: tuple[str, ...]) -> dict[str, Any]:
    """A small frame's columns, its counts as integers, whatever an engine's sums are."""
    pl = language(frame)
    return collect(frame.with_columns(*(pl.col(name).cast(pl.Int64) for name in counts)))


def _parsed(pos_label: str, label: str, kind: Any) -> Any:
    """A positive label given as text, as the column's own kind."""
    words = {"true": True, "false": False}
    if pos_label.lower() in words and not kind.is_numeric():
        return words[pos_label.lower()]
    try:
        return float(pos_label)
    except ValueError:
        raise TypeError(f"{option('pos_label')} must be {kind} as `{label}` is; it is {pos_label!r}.") from None
