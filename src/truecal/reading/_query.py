"""What is asked of a dataframe: its rows as a few columns, each row with a status; in any engine.

A row can be used, or it is one of a few kinds that cannot, which are counted in the same pass. Columns that are in this
process stream out in batches; anything else is grouped by score in its engine, and what comes back is one line for
each distinct score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from truecal._errors import check_column, option
from truecal._text import plural
from truecal.metrics import choose_bits
from truecal.observations import AnyArray, cell
from truecal.reading._columns import Columns, Kind, check_swapped, find_kinds
from truecal.reading._engines import collect, count_distinct, engine_of, is_lazy, language, open_frame
from truecal.reading._paths import Files, Unreadable, is_path, open_files

DROP = 'on_null="drop"'  # how rows without a value are left out
KINDS = 8
# Why a row cannot be used, by its status; missing ones may be dropped on request.
MISSING = {1: "{score} is null", 2: "{score} is NaN", 4: "{label} is null", 6: "{time} is null"}
WRONG = {3: "{score} is outside [0, 1]", 5: "{label} is neither 0 nor 1"}
UNMATCHED = 7
BASELINE, MATCHED = "truecal_baseline", "truecal_matched"  # columns that a join adds
DATES = {  # how text becomes dates, by the engine
    "pandas": "parse it with `pd.to_datetime(frame[{!r}])`",
    "polars": "parse it with `pl.col({!r}).str.to_datetime()`",
    "": "cast it to a date or a time",
}


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked of a frame: its rows as a few columns, with a status each. `baselines` has the column of the last
    release's scores for each model, or nothing; `matched` says that they come from a join."""

    frame: Any
    columns: Columns
    source: Files | None
    baselines: tuple[str, ...] = ()
    matched: bool = False

    @classmethod
    def of(cls, data: Any, columns: Columns) -> Query:
        """A question to a dataframe or to files, once the columns are known to be there and of the right kinds."""
        other = columns.baseline
        numbers = (*columns.scores, other) if isinstance(other, str) and not columns.on else columns.scores
        frame, source = open_data(data, columns.format, numbers, any(columns.windows.values()))
        if source is not None:
            source.check_dates(name for name, every in columns.windows.items() if every)
        query = cls(frame, columns, source)
        query = replace(query, columns=query._check_columns())
        return query if other is None else query._with_baseline()

    def of_model(self, index: int) -> Query:
        """The same question about one of the models."""
        columns = replace(self.columns, scores=self.columns.scores[index : index + 1])
        return replace(self, columns=columns, baselines=self.baselines[index : index + 1])

    def _check_columns(self) -> Columns:
        """Refuse columns that are not there or of the wrong kind; read a positive label given as text."""
        columns, pl, schema = self.columns, language(self.frame), self.frame.collect_schema()
        roles = [("label", columns.label), *(("score", name) for name in columns.scores)]
        for role, name in [*roles, *(("time" if name in columns.windows else "by", name) for name in columns.by)]:
            if name not in schema and self.source is not None:
                find_kinds(list(self.source.places), self.source.kind)  # a file that is broken lacks it for that reason
            check_column(role, name, list(schema))
        kind = schema[columns.label]
        plain = kind.is_numeric() or kind == pl.Boolean
        self._check_scores(columns.scores)
        for name in (columns.label, *columns.by):
            if schema[name].is_nested():
                raise TypeError(f"`{name}` must hold one plain value for each row; it holds {schema[name]}.")
        engine = "" if self.source is not None else engine_of(self.frame)
        for name, every in columns.windows.items():
            if every is not None and not schema[name].is_temporal():
                raise TypeError(
                    f"`{name}` must hold dates or times to be cut into windows of {every!r}; it holds {schema[name]}."
                    f"\n\nHint: {DATES.get(engine, DATES['']).format(name)} first; or with "
                    f"{option('every=None')} its values, as they are, are the windows."
                )
        if columns.pos_label is None and not plain:
            self._check_swapped()
            raise TypeError(
                f"`{columns.label}` must hold 0 and 1 or truth values; it holds {kind}.\n\n"
                f"Hint: name the positive label with {option('pos_label')}."
            )
        if isinstance(columns.pos_label, str) and plain:
            return replace(columns, pos_label=_parse_label(columns.pos_label, columns.label, kind))
        return columns

    def _check_scores(self, names: Sequence[str]) -> None:
        schema = self.frame.collect_schema()
        for name in names:
            if not schema[name].is_numeric():
                self._check_swapped()
                raise TypeError(f"`{name}` must hold numbers in [0, 1]; it holds {schema[name]}.")

    def _with_baseline(self) -> Query:
        """The same with the column of the last release's scores for each model: one that is there, or joined."""
        columns, other = self.columns, self.columns.baseline
        if isinstance(other, str) and not columns.on:
            names = list(self.frame.collect_schema())
            if other in names:
                self._check_scores([other])
                return replace(self, baselines=(other,) * len(columns.scores))
            if not Path(other).exists():
                raise ValueError(
                    f"{option('baseline')} must be a score column ({', '.join(map(repr, names))}), or a file; it "
                    f"is {other!r}."
                )
        if not columns.on:
            raise ValueError(
                f"{option('on')} must name the columns that match the baseline's rows with these; it is missing."
            )
        added = {name: f"{BASELINE}{i}" for i, name in enumerate(columns.scores)}
        joined = _join_scores(self.frame, other, columns, added)
        return replace(self, frame=joined, baselines=tuple(added.values()), matched=True)

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
    def explain_errors(self) -> Iterator[None]:
        """While a file is read, errors name it, or columns that are swapped."""
        try:
            with nullcontext() if self.source is None else self.source.explain_errors():
                yield
        except ValueError:
            self._check_swapped()
            raise

    def _check_swapped(self) -> dict[str, Kind]:
        """Refuse columns that are swapped, where something is wrong with them; if they are not, what they hold."""
        label, scores, source = self.columns.label, self.columns.scores, self.source
        kinds: dict[str, Kind] = {}
        # what cannot be read is told already; an engine may need a library to show its rows
        with suppress(Unreadable, ImportError):
            if source is not None:
                kinds = find_kinds(list(source.places), source.kind)
            else:
                kinds = find_kinds(self.frame.select(*{label, *scores}))
        check_swapped(kinds, label, scores)
        return kinds

    def select(self) -> Any:
        """The columns alone."""
        names = (self.columns.label, *self.columns.scores, *self.baselines, *self.columns.by)
        return self.frame.select(*dict.fromkeys((*names, *((MATCHED,) if self.matched else ()))))

    def rename(self, rows: Any) -> Any:
        """The selected columns of some rows as `label`, `score0`, ..., `base0`, ..., `by0`, ..."""
        pl = language(rows)
        return rows.select(
            pl.col(self.columns.label).alias("label"),
            *(pl.col(name).alias(f"score{i}") for i, name in enumerate(self.columns.scores)),
            *(pl.col(name).alias(f"base{i}") for i, name in enumerate(self.baselines)),
            *(self._segment(name).alias(f"by{i}") for i, name in enumerate(self.columns.by)),
            *((MATCHED,) if self.matched else ()),
        )

    @property
    def needed(self) -> list[str]:
        """The renamed columns beside scores that every row must have: the label, times, and its match in a join."""
        times = [f"by{i}" for i, name in enumerate(self.columns.by) if name in self.columns.windows]
        return ["label", *times, *([MATCHED] if self.matched else [])]

    def judge(self, rows: Any, scores: Sequence[str], *others: str) -> Any:
        """Renamed columns as segments, scores, `one` (1 for a positive, else 0), `status`, and others as they are."""
        pl, schema = language(rows), rows.collect_schema()
        y = pl.col("label")
        if self.columns.pos_label is not None:
            positive, usable = y == self.columns.pos_label, ~y.is_null()
        elif schema["label"] == pl.Boolean:
            positive, usable = y, ~y.is_null()
        else:
            positive, usable = y == 1, (y == 0) | (y == 1)
        p = [pl.col(name) if schema[name] == pl.Float32 else pl.col(name).cast(pl.Float64) for name in scores]
        status: Any = pl.when(usable).then(pl.lit(0)).otherwise(pl.lit(5))
        kinds: tuple[tuple[int, Callable[[Any], Any]], ...] = (
            (3, lambda x: (x < 0) | (x > 1)),
            (2, lambda x: x.is_nan()),
            (1, lambda x: x.is_null()),
        )
        status = pl.when(y.is_null()).then(pl.lit(4)).otherwise(status)
        for name in self.needed[1:]:
            code = UNMATCHED if name == MATCHED else 6
            status = pl.when(pl.col(name).is_null()).then(pl.lit(code)).otherwise(status)
        for code, condition in kinds:
            for x in p:
                # a row without a match has no score of the baseline, which is not what is wrong with it
                wrong = condition(x) & ~pl.col(MATCHED).is_null() if self.matched else condition(x)
                status = pl.when(wrong).then(pl.lit(code)).otherwise(status)
        one = pl.when(positive).then(pl.lit(1)).otherwise(pl.lit(0))
        return rows.select(*self._segment_names, *p, one.alias("one"), status.alias("status"), *others)

    def _segment(self, name: str) -> Any:
        """A column that makes segments: as it is, or a time cut into windows."""
        pl = language(self.frame)
        every = self.columns.windows.get(name)
        if every is None:
            return pl.col(name)
        # engines do not agree on weeks: days are read, and put together here
        return pl.col(name).cast(pl.Datetime("us")).dt.truncate("1d" if every == "1w" else every)

    def bits(self) -> int | None:
        """The bits of the grid to use, or None where scores stay exact."""
        grid, limit = self.columns.limits.grid, self.columns.limits.limit
        if grid != "auto":
            return grid
        if self.here:
            return None
        pl = language(self.frame)
        total = int(collect(self.frame.select(pl.len().alias("rows")))["rows"][0])
        if total <= limit:
            return None
        return choose_bits(total)

    def group(self, *, pairs: bool = False) -> dict[str, Any]:
        """A line or two for each segment and score of one model: status, n and pos; numbers as arrays, segments as
        lists. With `pairs` for each score and that of the baseline, without segments.

        Rows are grouped by everything that is asked of them, and judged afterwards, when they are few.
        """
        query, rows, scores = self, self.rename(self.frame), ["score0"]
        if pairs:
            pl = language(rows)
            for name in self.needed[1:]:
                rows = rows.filter(~pl.col(name).is_null())
            query, scores = replace(self, columns=replace(self.columns, by=(), windows={})), ["score0", "base0"]
        rows = rows.select(*dict.fromkeys([*query.needed, *query._segment_names, *scores]))
        lines = _collect_counts(query.judge(count_distinct(rows), scores, "n"), ("status", "n"))
        lines["pos"] = np.where(lines.pop("one") == 1, lines["n"], 0)
        return lines

    def group_cells(self, bits: int) -> dict[str, Any]:
        """One line for each segment, status and cell: also the sum, the smallest and the largest of its scores."""
        pl = language(self.frame)
        rows = self._hold_scores().with_columns(pl.col("score0").cast(pl.Float64))
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
            score.sum().alias("score_sum"),
            score.min().alias("low"),
            score.max().alias("high"),
        )
        return _collect_counts(found, ("status", "n", "pos"))

    @property
    def _segment_names(self) -> list[str]:
        return [f"by{i}" for i in range(len(self.columns.by))]

    def _hold_scores(self) -> Any:
        """The rows with their status; those that cannot be used need no score of their own."""
        pl = language(self.frame)
        usable = pl.col("status") == 0
        held = pl.when(usable).then(pl.col("score0")).otherwise(pl.lit(0.0)).alias("score0")
        return self.judge(self.rename(self.frame), ["score0"]).with_columns(held)

    def check_counts(self, counts: AnyArray, scores: Sequence[str]) -> dict[str, int]:
        """Stop where rows cannot be used, or give the rows dropped by the reason; `counts` has the rows of each
        status, judged by these scores."""
        times = [f"`{name}`" for name in self.columns.by if name in self.columns.windows]
        words = {
            "score": " or ".join(f"`{name}`" for name in scores),
            "label": f"`{self.columns.label}`",
            "time": " or ".join(times),
        }
        total = int(counts.sum())

        def find(codes: dict[int, str]) -> dict[str, int]:
            return {rule.format(**words): int(counts[code]) for code, rule in codes.items() if counts[code]}

        if counts[UNMATCHED]:
            raise ValueError(
                f"Every row must have one match in the baseline by {', '.join(map(repr, self.columns.on))}; "
                f"{int(counts[UNMATCHED]):,} of {total:,} have none."
            )
        wrong, missing = find(WRONG), find(MISSING)
        if wrong or (self.columns.on_null == "raise" and missing):
            hint = self._advise_range(bool(counts[3])) if wrong else self._advise_missing()
            reasons = ", ".join(f"{rule} in {count:,}" for rule, count in find(MISSING | WRONG).items())
            time = ", a time" if times else ""
            raise ValueError(
                f"Every row must have a label{time} and a score in [0, 1]; of {plural(total, 'row')} {reasons}.{hint}"
            )
        if not counts[0]:
            raise ValueError("The data must hold at least one row that can be used; it holds none.")
        return missing

    def _advise_range(self, scores: bool) -> str:
        """What to do about values out of range, of `scores` or of labels alone; swapped columns are refused."""
        if "percentage" in map(self._check_swapped().get, self.columns.scores):
            return "\n\nHint: these look like percentages; divide them by 100."
        rule = "the probability of the positive label, neither a logit nor a percentage"
        return f"\n\nHint: {option('score')} must be {rule}." if scores else ""

    def _advise_missing(self) -> str:
        """What to do about missing values; a file without the column is refused."""
        if self.source is not None:
            self.source.check_present((self.columns.label, *self.columns.scores))
        return f"\n\nHint: {option(DROP)} leaves rows out whose label, score or time is missing."

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


def column_names(frame: Any, format: str | None = None) -> list[str]:
    """The columns of a dataframe or of files."""
    return list(open_data(frame, format)[0].collect_schema())


def open_data(
    data: Any, format: str | None, numbers: tuple[str, ...] = (), dates: bool = False
) -> tuple[Any, Files | None]:
    """The frame of what was given, and the files behind it where there are any."""
    source = None
    if is_path(data):
        source = open_files(data, format=format, numbers=numbers, dates=dates)
    elif format is not None:
        raise ValueError(f"{option('format')} is for files; the data are {type(data).__name__}.")
    return open_frame(data if source is None else source.frame), source


def _join_scores(frame: Any, other: Any, columns: Columns, added: Mapping[str, str]) -> Any:
    """A frame with columns of another beside its own, under new names, and a mark in rows that have a match; a row of
    the other may be the match of several, but none may have two."""
    right, _ = open_data(other, columns.format if is_path(other) else None)
    on = list(columns.on)
    for side in (frame, right):
        for name in on:
            check_column("on", name, list(side.collect_schema()))
    for name in added:
        check_column("score", name, list(right.collect_schema()))
    pl = language(right)
    picked = right.select(*on, *(pl.col(old).alias(new) for old, new in added.items()), pl.lit(True).alias(MATCHED))
    if engine_of(picked) == "polars" and is_lazy(picked):
        picked = picked.collect()  # a join holds it in memory anyway, and so it is read once
    keys = collect(picked.group_by(*on).agg(pl.len().alias("rows")).filter(pl.col("rows") > 1).head(1), tuple(on))
    if len(keys["rows"]):
        first = ", ".join(f"{name}={keys[name][0]!r}" for name in on)
        raise ValueError(
            f"Every row must have one match in the baseline by {', '.join(map(repr, on))}; for {first} it has "
            f"{int(keys['rows'][0]):,} rows."
        )
    if engine_of(frame) != engine_of(picked) and not is_lazy(frame):
        frame = open_frame(frame.to_polars() if engine_of(frame) != "polars" else frame)
        picked = open_frame(picked.to_polars() if engine_of(picked) != "polars" else picked)
    if is_lazy(frame) != is_lazy(picked):
        frame, picked = frame.lazy(), picked.lazy()
    return frame.join(picked, on=on, how="left")


def _collect_counts(frame: Any, counts: tuple[str, ...]) -> dict[str, Any]:
    """A small frame's columns, its counts as integers, whatever an engine's sums are."""
    pl = language(frame)
    return collect(frame.with_columns(*(pl.col(name).cast(pl.Int64) for name in counts)))


def _parse_label(pos_label: str, label: str, kind: Any) -> Any:
    """A positive label given as text, as the column's own kind."""
    words = {"true": True, "false": False}
    if pos_label.lower() in words and not kind.is_numeric():
        return words[pos_label.lower()]
    try:
        return float(pos_label)
    except ValueError:
        raise TypeError(f"{option('pos_label')} must be {kind} as `{label}` is; it is {pos_label!r}.") from None
