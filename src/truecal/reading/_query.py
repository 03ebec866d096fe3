"""The query that is sent to a dataframe of any engine: a few columns, with a status for each row.

The status says whether a row is valid, or why not; invalid rows are counted in the same pass. Columns in this process
are read in batches. Other engines group rows by score and return one line for each distinct score.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from truecal._errors import add_page, check_column, did_you_mean, option
from truecal._text import plural
from truecal.data import (
    AnyArray,
    Reason,
    RowCounts,
    WeightSpan,
    advise_weights,
    half_cell,
    infer_scale,
    whole_cell,
)
from truecal.metrics import choose_bits
from truecal.reading._columns import (
    Kind,
    Roles,
    advise_scale,
    check_swapped,
    find_kinds,
    find_outside,
    find_probability,
    find_scales,
)
from truecal.reading._csv import MISSING as MISSING_WORDS
from truecal.reading._csv import Unreadable
from truecal.reading._discovery import is_path
from truecal.reading._engines import (
    collect,
    column,
    count_distinct,
    decode_numbers,
    engine_of,
    is_lazy,
    is_long,
    is_missing,
    join,
    language,
    open_frame,
    pick,
)
from truecal.reading._files import Files, advise_on, check_year_first, list_names, open_files
from truecal.reading._row_columns import check_row_columns, prepare_row_columns
from truecal.reading._status import (
    COUNT_FRACTION,
    MISSING,
    NO_CLUSTER,
    NO_LABEL,
    NO_MATCH,
    NO_SCORE,
    NO_TIME,
    OTHER_LABEL,
    REASONS,
    SCORE_NAN,
    SCORE_OUTSIDE,
    VALID,
    WRONG,
)
from truecal.reading._types import ColumnType, find_types

INVALID = 2.0**900  # beyond all cells; times its status, what an invalid row is grouped by in their place
DROP = 'missing="drop"'  # the option that leaves out rows without a value
CLUSTER = "cluster"  # the renamed column
MANY = 100  # labels, of which an error shows a few
LISTED = 10  # values that an error lists
POSITIVE = {"yes", "y", "true", "t", "positive", "pos", "1"}  # labels that are likely meant by 1
BASELINE, MATCHED, ON = "truecal_baseline", "truecal_matched", "truecal_on"  # columns added by a join
ROLES = {"age": "label_delay", "weight": "count"}  # of columns beside labels and scores, as they are prepared
RULES = {"age": "an age", "weight": "a count", "importance_weight": "a weight above 0"}
FILE = "truecal_file"  # the column of the file that a row is of
DATES = {  # how to convert text to dates, by engine
    "pandas": "parse it with `pd.to_datetime(frame[{!r}])`",
    "polars": "parse it with `pl.col({!r}).str.to_datetime()`",
    "": "cast it to a date or a time",
}


class Joined(NamedTuple):
    """How many rows there were before a baseline was joined to them, and how many the baseline has."""

    rows: int
    others: int


@dataclass(frozen=True, slots=True)
class Query:
    """A frame and the columns to read from it. `baselines` has the column of the baseline's scores for each model, or
    nothing; `joined` says that they were joined, `marked` that rows have the name of their file. `origin` is the query
    that labels and scores were computed from, if they were. `texts` are the columns of a text file that tell segments
    or clusters apart: their values may be numbers; `numbered` says that those of clusters are."""

    frame: Any
    roles: Roles
    source: Files | None
    baselines: tuple[str, ...] = ()
    joined: Joined | None = None
    marked: bool = False
    origin: Query | None = None
    texts: frozenset[str] = frozenset()
    numbered: bool = False

    @classmethod
    def of(cls, data: Any, roles: Roles) -> Query:
        """Make the query of a dataframe or of files; raise an error if a column is missing or of the wrong type."""
        types = roles.types
        mark = FILE if roles.missing == "drop" or roles.counted else None
        frame, source = open_data(data, roles.format, types, mark)
        if source is not None:
            source.check_once(types)
        numbers = [name for name, kind in types.items() if kind in ("number", "label", "class")]
        query = cls(decode_numbers(frame, numbers), roles, source)
        if source is not None:
            query = replace(query, marked=source.marked, texts=source.texts)
        query = replace(query, roles=query._check_columns())
        query = replace(query, numbered=query._has_numbered_clusters())
        return query if roles.baseline is None else query._with_baseline()

    def _has_numbered_clusters(self) -> bool:
        """Whether all clusters of a text file are numbers; a pass tells, since their hashes are those of one type."""
        names = self.texts.intersection(self.roles.clusters)
        with self.explain_errors():
            return any(kind.is_numeric() for kind in find_types(self.frame, names).values()) if names else False

    def of_model(self, index: int) -> Query:
        """Return the same query for one of the models."""
        roles = replace(self.roles, scores=self.roles.scores[index : index + 1])
        return replace(self, roles=roles, baselines=self.baselines[index : index + 1])

    def _check_columns(self) -> Roles:
        """Raise an error if a column is missing or of the wrong type; parse a positive label given as text."""
        roles, pl, schema = self.roles, language(self.frame), self.frame.collect_schema()
        named = [("label", roles.label), *(("score", name) for name in roles.scores)]
        named += [(ROLES.get(role, role), name) for role, name in roles.row_columns.items()]
        named += [("cluster", name) for name in roles.clusters]
        for role, name in [*named, *(("time" if name in roles.periods else "by", name) for name in roles.by)]:
            if name not in schema and self.source is not None:
                find_kinds(list(self.source.places), self.source.kind)  # a broken file gets its own error
            check_column(role, name, list(schema))
        kind = schema[roles.label]
        plain = kind.is_numeric() or kind == pl.Boolean
        self._check_scores(roles.scores)
        check_row_columns(roles, schema)
        for name in (roles.label, *roles.by, *roles.clusters):
            if schema[name].is_nested():
                raise TypeError(f"`{name}` must hold one plain value for each row; it holds {schema[name]}.")
            if schema[name] == pl.Binary:
                raise TypeError(
                    f"`{name}` must hold text, numbers, dates or booleans; it holds bytes.\n\nHint: decode it first."
                )
        self._check_periods(schema)
        if roles.multiclass is not None:
            return roles
        if roles.pos_label is None and not plain:
            self._check_swapped()
            self._refuse_labels(kind)
        if isinstance(roles.pos_label, str) and plain:
            return replace(roles, pos_label=_parse_label(roles.pos_label, roles.label, kind))
        if kind in (pl.String, pl.Categorical, pl.Enum) and not isinstance(roles.pos_label, str):
            raise TypeError(
                f"{option('pos_label')} must be text as `{roles.label}` is; it is {roles.pos_label!r}.\n\n"
                f"Hint: did you mean {str(roles.pos_label)!r}?"
            )
        return roles

    def _refuse_labels(self, kind: Any) -> NoReturn:
        """Raise an error for labels that are no numbers, with some of them; a word among 0 and 1 is one for itself."""
        label, words = self.roles.label, pick(self.frame, {"label": self.roles.label})
        with self.explain_errors():
            found = collect(words.unique().head(MANY), ("label",))["label"]
        known = sorted(str(value) for value in found if value is not None)
        odd = [word for word in known if word not in ("0", "1")]
        rule = f"`{label}` must hold 0 and 1 or booleans"
        if len(odd) == len(known) - 2 and len(odd) == 1 and advise_on(odd[0]):
            row = self._find_row(label, language(self.frame).col("value") == odd[0]) if self.here else None
            place = "" if row is None else f", {self._name_row(row[0])}"
            raise TypeError(f"{rule}; among them is {odd[0]!r}{place}.{advise_on(odd[0])}")
        such = next((f", such as {word!r}" for word in known if word.lower() in POSITIVE), "")
        hint = f"name the positive label with {option('pos_label')}{such}"
        if len(self.roles.scores) > 1:
            hint += f", or say with {option('multiclass')} that the columns are of several classes"
        few = f" such as {', '.join(map(repr, known[:3]))}{', ...' * (len(known) > 3)}" if known else ""
        what = "text" if kind == language(self.frame).String else kind
        raise TypeError(f"{rule}; it holds {what}{few}.\n\nHint: {hint}.")

    def _check_periods(self, schema: Any) -> None:
        """Raise an error if a column of times cannot be cut into periods, or is text that sorts wrongly."""
        pl, engine = language(self.frame), "" if self.source is not None else engine_of(self.frame)
        for name, every in self.roles.periods.items():
            if schema[name] == pl.String:
                words = pick(self.frame, {"by": name})
                with self.explain_errors():
                    known = collect(words.filter(~pl.col("by").is_null()).head(1))["by"]
                for first in known:
                    check_year_first(name, first)
            if every is not None and not schema[name].is_temporal():
                raise TypeError(
                    f"`{name}` must hold dates or times to be cut into periods of {every!r}; it holds {schema[name]}."
                    f"\n\nHint: {DATES.get(engine, DATES['']).format(name)} first, or use it unchanged: with "
                    f"{option('every=None')} each of its values is a period."
                )

    def _check_scores(self, names: Sequence[str]) -> None:
        schema = self.frame.collect_schema()
        for name in names:
            if not schema[name].is_numeric():
                self._check_swapped()
                _refuse_scores(name, schema[name])

    def _with_baseline(self) -> Query:
        """Return the same query with the baseline's scores for each model: a column of the frame, or a joined one."""
        roles, other = self.roles, self.roles.baseline
        if isinstance(other, str) and not roles.on:
            names = list(self.frame.collect_schema())
            if other in names:
                self._check_scores([other])
                return replace(self, baselines=(other,) * len(roles.scores))
            if not Path(other).exists():
                raise ValueError(
                    f"{option('baseline')} must be a score column ({', '.join(map(repr, names))}), or a file; it "
                    f"is {other!r}."
                )
        if not roles.on:
            raise ValueError(
                f"{option('on')} must name the columns that match the baseline's rows with these; it is missing."
            )
        added = {name: f"{BASELINE}{i}" for i, name in enumerate(roles.scores)}
        frame, others = _join_scores(self, other, added)
        joined = Joined(_count_rows(self.frame) if self.rows is None else self.rows, others)
        return replace(self, frame=frame, baselines=tuple(added.values()), joined=joined)

    @property
    def here(self) -> bool:
        """Whether the rows are read into this process."""
        return not is_lazy(self.frame) or engine_of(self.frame) == "polars"

    @property
    def rows(self) -> int | None:
        """The approximate number of rows, if known."""
        if self.source is not None:
            return self.source.rows
        return len(self.frame) if hasattr(self.frame, "__len__") else None

    @contextmanager
    def explain_errors(self) -> Iterator[None]:
        """Make errors name the file that is read, and explain swapped columns."""
        try:
            with nullcontext() if self.source is None else self.source.explain_errors():
                yield
        except ValueError:
            self._check_swapped()
            raise

    def _check_swapped(self) -> dict[str, Kind]:
        """Raise an error if labels and scores seem to be swapped; else return the kinds of the columns."""
        if self.origin is not None:
            return self.origin._check_swapped()
        label, scores, source = self.roles.label, self.roles.scores, self.source
        kinds: dict[str, Kind] = {}
        # unreadable files have their own error; an engine may need a missing library to show rows
        with suppress(Unreadable, ImportError):
            if source is not None:
                kinds = find_kinds(list(source.places), source.kind)
            else:
                kinds = find_kinds(pick(self.frame, {name: name for name in (label, *scores)}))
        check_swapped(kinds, label, scores)
        return kinds

    def select(self) -> Any:
        """Return the frame with only the columns to read."""
        roles = self.roles
        names = (roles.label, *roles.scores, *self.baselines, *roles.by, *roles.clusters)
        names = (*names, *roles.row_columns.values())
        return pick(self.frame, {name: name for name in (*names, *self._added)})

    @property
    def _added(self) -> tuple[str, ...]:
        """The columns besides those of the data."""
        return (*((MATCHED,) if self.joined else ()), *((FILE,) if self.marked else ()))

    def rename(self, rows: Any) -> Any:
        """Rename the selected columns of some rows to `label`, `score0`, ..., `base0`, ..., `by0`, ..., `cluster`."""
        names = {"label": self.roles.label}
        names |= {f"score{i}": name for i, name in enumerate(self.roles.scores)}
        names |= {f"base{i}": name for i, name in enumerate(self.baselines)}
        names |= {f"by{i}": name for i, name in enumerate(self.roles.by)}
        names |= dict(zip(self._cluster_names, self.roles.clusters, strict=True))
        rows = pick(rows, names | self.roles.row_columns | {name: name for name in self._added})
        changed = [*self._plain_types(rows), *self._periods()]
        rows = rows.with_columns(*changed) if changed else rows
        if not self.roles.row_columns:
            return rows
        return prepare_row_columns(self.roles, rows, [name for name in names if name.startswith(("score", "base"))])

    @property
    def needed(self) -> list[str]:
        """The renamed columns, besides scores, that must not be null: the label, times, the cluster, and the match in a
        join."""
        times = [f"by{i}" for i, name in enumerate(self.roles.by) if name in self.roles.periods]
        return ["label", *times, *self._cluster_names, *([MATCHED] if self.joined else [])]

    @property
    def _cluster_names(self) -> list[str]:
        return [CLUSTER for _ in self.roles.clusters]

    def judge(self, rows: Any, scores: Sequence[str], *others: str) -> Any:
        """Select segments, scores, `one` (1 for a positive, else 0), `status`, and `others` from renamed columns."""
        pl, schema = language(rows), rows.collect_schema()
        y = pl.col("label")
        missing = y.is_null() | y.is_nan() if schema["label"].is_float() else y.is_null()
        if schema["label"] == pl.String:
            missing = missing | y.is_in(self._missing_words)
        if self.roles.pos_label is not None:
            positive, usable = y == self.roles.pos_label, ~missing
        elif schema["label"] == pl.Boolean:
            positive, usable = y, ~missing
        else:
            positive, usable = y == 1, (y == 0) | (y == 1)
        p = [pl.col(name) for name in scores]
        status: Any = pl.when(usable).then(pl.lit(VALID)).otherwise(pl.lit(OTHER_LABEL))
        kinds: tuple[tuple[int, Callable[[Any], Any]], ...] = (
            (SCORE_OUTSIDE, lambda x: (x < 0) | (x > 1)),
            (SCORE_NAN, lambda x: x.is_nan()),
            (NO_SCORE, lambda x: x.is_null()),
        )
        status = pl.when(missing).then(pl.lit(NO_LABEL)).otherwise(status)
        for name in self.needed[1:]:
            status = pl.when(pl.col(name).is_null()).then(pl.lit(status_of(name))).otherwise(status)
        for code, condition in kinds:
            for x in p:
                # a row without a match has no baseline score, and is reported as unmatched instead
                wrong = condition(x) & ~pl.col(MATCHED).is_null() if self.joined else condition(x)
                status = pl.when(wrong).then(pl.lit(code)).otherwise(status)
        if self.roles.row_columns:
            status = pl.when(pl.col("extra") != VALID).then(pl.col("extra")).otherwise(status)
        one = pl.when(positive).then(pl.lit(1)).otherwise(pl.lit(0))
        return rows.select(*self._segment_names, *p, one.alias("one"), status.alias("status"), *others)

    @property
    def _missing_words(self) -> list[str]:
        """Words that stand for a missing label, unless one of them is the positive label."""
        return [word for word in ("", *MISSING_WORDS) if word != self.roles.pos_label]

    def _plain_types(self, rows: Any) -> Iterator[Any]:
        """Yield the expressions that make renamed labels, scores and clusters of one type in every engine."""
        pl, schema = language(rows), rows.collect_schema()
        if CLUSTER in schema and (schema[CLUSTER] in (pl.Categorical, pl.Enum) or is_long(schema[CLUSTER])):
            yield pl.col(CLUSTER).cast(pl.String)
        elif CLUSTER in schema and schema[CLUSTER].is_float():  # NaN is no customer
            yield pl.when(~pl.col(CLUSTER).is_nan()).then(pl.col(CLUSTER)).alias(CLUSTER)
        scale = self.roles.score_scale
        for name, kind in schema.items():
            if name.startswith("by") and (kind.is_decimal() or is_long(kind)):
                yield pl.col(name).cast(pl.String)  # exact, where NumPy has only floats
            if name.startswith(("score", "base")) and (scale != "probability" or kind not in (pl.Float32, pl.Float64)):
                yield find_probability(pl, pl.col(name).cast(pl.Float64), scale).alias(name)
        kind = schema["label"]
        if kind.is_decimal() or is_long(kind) or (kind.is_float() and kind not in (pl.Float32, pl.Float64)):
            yield pl.col("label").cast(pl.Float64)
        elif kind in (pl.Categorical, pl.Enum):
            yield pl.col("label").cast(pl.String)

    def _periods(self) -> Iterator[Any]:
        """Yield the expressions that cut renamed times into periods."""
        pl = language(self.frame)
        for i, name in enumerate(self.roles.by):
            every = self.roles.periods.get(name)
            if every is not None:
                # engines disagree on weeks, and Dask knows no months: days are read, and added up later
                days = every == "1w" or (every != "1h" and engine_of(self.frame) == "dask")
                yield pl.col(f"by{i}").cast(pl.Datetime("us")).dt.truncate("1d" if days else every)

    def choose_bits(self) -> int | None:
        """Return the bits of the grid to use, or None if scores stay exact."""
        grid, limit = self.roles.limits.grid, self.roles.limits.limit
        if grid != "auto":
            return grid
        if self.here:
            return None
        total = _count_rows(self.frame)
        if total <= limit:
            return None
        return choose_bits(total)

    def group(self, *, pairs: bool = False) -> dict[str, Any]:
        """Group the rows of one model by segment, label and score; with `pairs`, by label and both models' scores.

        Each line has status, n and pos; numbers are arrays, segments lists. The status is found after grouping, when
        lines are few.
        """
        query, rows, scores = self, self.rename(self.frame), ["score0"]
        if pairs:
            rows = self._clear_labels(rows)
            roles = replace(self.roles, by=(), periods={})
            query, scores = replace(self, roles=roles), ["score0", "base0"]
        sums = self.roles.sums
        more = [*(["extra"] if self.roles.row_columns else []), *sums, *(["raw"] if "weight" in sums else [])]
        rows = rows.select(*dict.fromkeys([*query.needed, *query._segment_names, *scores, *more]))
        others = ("rows", *sums, *(("least", "most") if "weight" in sums else ()), *query._cluster_names)
        counts = ("status", "rows", *(("weight",) if "weight" in sums else ()))
        lines = _collect_counts(query.judge(count_distinct(rows, sums), scores, *others), counts)
        lines["n"] = lines.get("weight", lines["rows"])
        lines["pos"] = np.where(lines["one"] == 1, lines["n"], 0)
        return lines

    def _clear_labels(self, rows: Any) -> Any:
        """Take the labels from renamed rows that lack something else that is needed, so that they are counted, and not
        compared."""
        pl = language(rows)
        for name in self.needed[1:]:
            rows = rows.with_columns(pl.when(~pl.col(name).is_null()).then(pl.col("label")).alias("label"))
        return rows

    def group_cells(self, bits: int) -> dict[str, Any]:
        """Group the rows of one model by segment, status and cell, with the sum, minimum and maximum of the scores."""
        pl = language(self.frame)
        rows = self._replace_invalid().with_columns(pl.col("score0").cast(pl.Float64))
        sampling = self.roles.sampling
        steps = 0

        def hold(value: Any) -> Any:
            nonlocal rows, steps
            steps += 1
            rows = rows.with_columns(value.alias(f"step{steps}"))
            return pl.col(f"step{steps}")

        def where(condition: Any, a: Any, b: Any) -> Any:
            return pl.when(condition).then(a).otherwise(b)

        if not sampling.plain:
            seen = sampling.to_sampled(pl.col("score0"), where, hold)  # adds columns to the rows, and so does the cell
            rows = rows.with_columns(seen.alias("score0"))
        key = half_cell(pl.col("score0"), bits, where, hold)
        key = where(pl.col("status") == VALID, key, pl.col("status") * INVALID)
        rows = rows.with_columns(key.alias("key"))
        score, counts = pl.col("score0"), ["rows", "pos"]
        rows = rows.with_columns(pl.col("one").alias("pos"), score.alias("score_sum"))
        added = ["pos", "score_sum"]
        if self.roles.count is not None:
            weight = pl.col("weight")
            rows = rows.with_columns(*((pl.col(name) * weight).alias(name) for name in added))
            added, counts = [*added, "weight"], [*counts, "weight"]
        found = rows.group_by(*self._segment_names, *self._cluster_names, "key").agg(
            pl.len().alias("rows"),
            *(pl.col(name).sum() for name in added),
            score.min().alias("low"),
            score.max().alias("high"),
        )
        lines = _collect_counts(found, tuple(counts))
        status = np.where(lines["key"] >= INVALID, lines["key"] / INVALID, 0).astype(np.int64)
        lines["key"] = whole_cell(np.where(status == VALID, lines["key"], 0.0), bits)
        return lines | {"status": status, "n": lines.get("weight", lines["rows"])}

    def span_weights(self) -> WeightSpan:
        """Return the smallest and largest weight of each label, asked for in the engine."""
        pl = language(self.frame)
        rows = self.judge(self.rename(self.frame), ["score0"], "raw")
        rows = rows.filter((pl.col("status") == VALID) | (pl.col("status") == COUNT_FRACTION))
        raw = pl.col("raw")
        found = rows.group_by("one").agg(raw.min().alias("least"), raw.max().alias("most"), pl.len().alias("rows"))
        return span_lines(_collect_counts(found, ("one", "rows")))

    @property
    def _segment_names(self) -> list[str]:
        return [f"by{i}" for i in range(len(self.roles.by))]

    def _replace_invalid(self) -> Any:
        """Return the rows with their status; invalid rows have the score 0."""
        pl = language(self.frame)
        usable = pl.col("status") == VALID
        score = pl.when(usable).then(pl.col("score0")).otherwise(pl.lit(0.0)).alias("score0")
        others = [*(["weight"] if self.roles.count else []), *self._cluster_names]
        return self.judge(self.rename(self.frame), ["score0"], *others).with_columns(score)

    def count_files(self) -> dict[str, int]:
        """The rows of each of several files; nothing for one file, or for a frame."""
        if self.source is None or len(self.source.places) == 1:
            return {}
        return dict(zip(map(str, self.source.places), self.source.counts, strict=True))

    def check_complete(self, arrived: int) -> None:
        """Raise an error unless as many rows have arrived as there are: in the files, in a frame of this process, or
        before a baseline was joined."""
        if self.source is not None:
            self.source.check_complete(arrived)
        elif self.joined is not None or not is_lazy(self.frame):
            RowCounts(len(self.frame) if self.joined is None else self.joined.rows, arrived)

    def check_matches(self, matches: int) -> None:
        """Warn if rows of a joined baseline, of which so many have a match, are not compared."""
        if self.joined is not None and matches < self.joined.others:
            alone = self.joined.others - matches
            warnings.warn(
                f"Of {plural(self.joined.others, 'row')} of the baseline {alone:,} {'has' if alone == 1 else 'have'} "
                "no match among these rows, and cannot be compared.",
                stacklevel=2,
            )

    def count_matches(self) -> int:
        """Count the rows of a joined baseline that have a match, in the engine."""
        pl, keys = language(self.frame), [f"{ON}{i}" for i in range(len(self.roles.on))]
        return _count_rows(self.frame.filter(~pl.col(MATCHED).is_null()).select(*keys).unique())

    def check_counts(self, counts: AnyArray, scores: Sequence[str]) -> None:
        """Raise an error if there are invalid rows that may not be dropped, or no valid ones. `counts` has the number
        of rows of each status, for these scores."""
        total = int(counts.sum())
        if counts[NO_MATCH]:
            raise ValueError(
                f"Every row must have one match in the baseline by {', '.join(map(repr, self.roles.on))}; "
                f"{int(counts[NO_MATCH]):,} of {total:,} have none.\n\nHint: give the baseline of the same rows, and "
                f"{option('on')} the columns that name a row in both."
            )
        wrong, missing = (sum(counts[code] for code in codes) for codes in (WRONG, MISSING))
        if wrong or (self.roles.missing == "raise" and missing):
            first = self._find_first(scores) if counts[SCORE_OUTSIDE] else None
            hint = self._advise_range(bool(counts[SCORE_OUTSIDE]), first) if wrong else self._advise_missing()
            hint = advise_weights() if counts[COUNT_FRACTION] else hint
            reasons = self._describe_invalid(counts, scores)
            place = self._find_invalid(counts, scores) if first is None else self._describe_position(*first)
            time = ", a time" if any(name in self.roles.periods for name in self.roles.by) else ""
            more = ", a cluster" * len(self.roles.clusters)
            more += "".join(f", {RULES[name]}" for name in self.roles.row_columns)
            error = ValueError(
                f"Every row must have a label{time}{more} and a score in {(self.origin or self).roles.span}; of "
                f"{plural(total, 'row')} {reasons}.{place}{hint}"
            )
            raise add_page("data.md", error)
        if not counts[VALID]:
            raise ValueError("The data must have at least one valid row; they have none.")

    def name_reasons(self, counts: AnyArray, score: str) -> dict[Reason, int]:
        """Return the invalid rows by reason, given the number of rows of each status for this score."""
        names, statuses = self._name_roles([score]), REASONS
        found = {code: status for code, status in statuses.items() if counts[code]}
        return {Reason(names[role][0], kind): int(counts[code]) for code, (role, kind) in found.items()}

    def _name_roles(self, scores: Sequence[str]) -> dict[str, list[str]]:
        """The columns of each role."""
        return {
            "score": list(scores),
            "label": [self.roles.label],
            "time": list(self.roles.periods),
            "cluster": list(self.roles.clusters),
            **{role: [name] for role, name in self.roles.row_columns.items()},
        }

    def _describe_invalid(self, counts: AnyArray, scores: Sequence[str]) -> str:
        """The invalid rows as an error lists them: "`p` or `q` is null in 3"."""
        from truecal import words

        names, span, described = self._name_roles(scores), (self.origin or self).roles.span, []
        for code, (role, kind) in REASONS.items():
            if counts[code]:
                columns = " or ".join(f"`{name}`" for name in names[role])
                what = words.describe_reason_kind(kind, span if role == "score" else "[0, 1]")
                described.append(f"{columns} {what} in {int(counts[code]):,}")
        return ", ".join(described)

    def _find_first(self, scores: Sequence[str]) -> tuple[int, float, str] | None:
        """The row, the value and the column of the first of these scores that is out of range; None if rows have no
        order."""
        if not self.here or self.joined:
            return None
        query = self.origin or self
        columns = query.roles.scores if self.origin else (scores[0], *self.baselines)[: len(scores)]
        names = columns if self.origin else scores
        found = []
        for name, own in zip(names, columns, strict=True):
            outside = find_outside(query.frame, own, query.roles.score_scale)
            found += [] if outside is None else [(outside.first, outside.value, name)]
        return min(found, default=None)

    def _find_invalid(self, counts: AnyArray, scores: Sequence[str]) -> str:
        """Where the first label is that is neither 0 nor 1, or else the first value that is missing; "" where rows have
        no order."""
        if not self._placed:
            return self._list_strange() if counts[OTHER_LABEL] and self.origin is None else ""
        value, schema = language(self.frame).col("value"), self.frame.collect_schema()
        times = [name for name in self.roles.by if name in self.roles.periods]
        gaps = {NO_SCORE: scores, SCORE_NAN: scores, NO_LABEL: [self.roles.label], NO_TIME: times}
        names = [name for code, own in gaps.items() if counts[code] for name in own if name in schema]
        names = [self.roles.label] if counts[OTHER_LABEL] else names
        gone = {
            name: value.is_null() | value.is_nan() if schema[name].is_float() else value.is_null() for name in names
        }
        other = (value != 0) & (value != 1)
        searched = {name: other & ~missing for name, missing in gone.items()} if counts[OTHER_LABEL] else gone
        found = []
        for name, wrong in searched.items():
            first = self._find_row(name, wrong)
            found += [] if first is None else [(*first, name)]
        if not found:
            return ""
        row, held, name = min(found, key=lambda entry: entry[0])
        if counts[OTHER_LABEL]:
            return f" The first is {held:g}, {self._name_row(row)} of `{name}`.{self._list_strange()}"
        return f" The first is {self._name_row(row)} of `{name}`."

    def _list_strange(self) -> str:
        """The labels that are neither 0 nor 1, if they are of several values."""
        counts = self._count_labels()
        strange = sorted((each for each in counts if each not in (0, 1)), key=lambda each: (-counts[each], str(each)))
        return f" `{self.roles.label}` holds {self._list_values(strange, counts)}." if len(strange) > 1 else ""

    def _find_row(self, name: str, wrong: Any) -> tuple[int, Any] | None:
        """The place and the value of the first row of a column for which an expression of `value` holds."""
        rows = pick(self.frame, {"value": name}).with_row_index("row").filter(wrong)
        found = collect(rows.head(1), ("value",))
        return (found["row"][0].item(), found["value"][0]) if len(found["row"]) else None

    def _describe_position(self, row: int, value: float, name: str) -> str:
        return f" The first outside is {value!r}, {self._name_row(row)} of `{name}`."

    def _name_row(self, row: int) -> str:
        """The place of a row, as those of files are counted, or of frames."""
        return f"at position {row}" if self.source is None else f"in row {row + 1:,}"

    def _advise_range(self, scores: bool, first: tuple[int, float, str] | None) -> str:
        """Return a hint for values out of range, of `scores`, the `first` of which may be known, or of labels; raise an
        error if columns are swapped."""
        self._check_swapped()
        query = self.origin or self
        if not scores and self.roles.pos_label is None:
            which = f"{option('pos_label')} says which of two labels is positive, such as {self._suggest_label()}"
            return f"\n\nHint: {which}."
        if not scores or query.roles.score_scale != "probability":
            return ""
        scales = query._find_scales()
        rule = "the probability of the positive label, neither a logit nor a percentage"
        if first is not None and scales == {"rounded"} and infer_scale(np.array([first[1]])) == "rounded":
            rule = "clipped to [0, 1] where it is off by rounding"
        return (
            advise_scale(scales, logits=query.roles.multiclass is None)
            or f"\n\nHint: {option('score')} must be {rule}."
        )

    def _suggest_label(self) -> str:
        """The larger of two labels, which are numbers; 1 if there are more."""
        labels = collect(pick(self.frame, {"label": self.roles.label}).unique().head(4))["label"].tolist()
        known = [float(value) for value in labels if value is not None and np.isfinite(float(value))]
        return f"{max(known):g}" if len(known) == 2 else "1"

    def _find_scales(self) -> set[str]:
        """What the first scores may be that are no probabilities."""
        names = self.roles.scores
        with suppress(Unreadable, ImportError):
            if self.source is not None:
                return find_scales(list(self.source.places), names, self.source.kind)
            return find_scales(pick(self.frame, {name: name for name in names}), names)
        return set()

    def _advise_missing(self) -> str:
        """Return a hint for missing values; raise an error if a file lacks the column."""
        if self.source is not None:
            self.source.check_present((self.roles.label, *(self.origin or self).roles.scores))
        what = "label, score, time or cluster" if self.roles.clusters else "label, score or time"
        return f"\n\nHint: {option(DROP)} leaves out rows whose {what} is missing."

    def check_labels(self) -> None:
        """Raise an error unless labels are the positive one and at most one other, in all rows together.

        Where no positive label is named, they must be 0 and 1, which is checked row by row.
        """
        positive = self.roles.pos_label
        if positive is None:
            return
        with self.explain_errors():
            counts = self._count_labels()
        others = sorted(
            (value for value in counts if value != positive), key=lambda value: (-counts[value], str(value))
        )
        if positive not in counts and len(others) > 1:
            known = f"{', '.join(map(repr, sorted(others, key=str)[:3]))}{', ...' * (len(others) > 3)}"
            meant = did_you_mean(positive, map(str, others))
            raise ValueError(f"{option('pos_label')} must be one of the labels ({known}); it is {positive!r}.{meant}")
        if len(others) > 1:
            raise ValueError(
                f"`{self.roles.label}` must hold {positive!r} and one other label; besides {others[0]!r} it holds "
                f"{self._list_values(others[1:], counts)}.\n\n"
                "Hint: write each label in one way and leave missing ones empty; for one class against several others, "
                "make a column of 0 and 1."
            )

    def _count_labels(self) -> dict[Any, int]:
        """How many rows have each label; missing ones are left out."""
        rows = self.rename(self.frame)
        pl = language(rows)
        lines = collect(rows.select("label").group_by("label").agg(pl.len().alias("rows")), ("label",))
        words = self._missing_words
        known = zip(lines["label"], lines["rows"].tolist(), strict=True)
        return {value: int(n) for value, n in known if not is_missing(value) and value not in words}

    def _list_values(self, values: Sequence[Any], counts: Mapping[Any, int]) -> str:
        """Up to ten values of labels, with their numbers of rows and the first of these."""
        described = []
        for value in values[:LISTED]:
            row = self._find_row(self.roles.label, language(self.frame).col("value") == value) if self._placed else None
            place = "" if row is None else f", the first {self._name_row(row[0])}"
            shown = f"{value:g}" if isinstance(value, float) else repr(value)
            described.append(f"{shown} ({plural(counts[value], 'row')}{place})")
        more = f" and {len(values) - LISTED:,} more" if len(values) > LISTED else ""
        return f"{', '.join(described)}{more}"

    @property
    def _placed(self) -> bool:
        """Whether rows have an order, and are those that were given."""
        return self.here and not self.joined and self.origin is None


def span_lines(lines: Mapping[str, Any]) -> WeightSpan:
    """Return the smallest and largest weight of each label in lines with `one`, `least`, `most` and `rows`."""
    span = WeightSpan()
    for name in ("least", "most"):
        known = ~np.isnan(lines[name].astype(np.float64))
        span.add(lines[name][known], lines["one"][known])
    span.rows = {label: int(lines["rows"][lines["one"] == label].sum()) for label in span.rows}
    return span


def status_of(name: str) -> int:
    """The status of rows in which a needed column is null."""
    return {MATCHED: NO_MATCH, CLUSTER: NO_CLUSTER}.get(name, NO_TIME)


def column_names(frame: Any, format: str | None = None) -> list[str]:
    """Return the columns of a dataframe or of files."""
    return list_names(frame, format) if is_path(frame) else list(open_data(frame, format)[0].collect_schema())


def open_data(
    data: Any, format: str | None, types: Mapping[str, ColumnType] | None = None, mark: str | None = None
) -> tuple[Any, Files | None]:
    """Return the frame of data, and the files behind it, if any; see `open_files`."""
    source = None
    if is_path(data):
        source = open_files(data, format=format, types=types, mark=mark)
    elif format is not None:
        raise ValueError(f"{option('format')} is for files; the data are {type(data).__name__}.")
    return open_frame(data if source is None else source.frame), source


def _refuse_scores(name: str, kind: Any, where: str = "") -> NoReturn:
    raise TypeError(f"`{name}` must hold numbers in [0, 1]; {where}it holds {kind}.")


def _check_joined(own: Any, other: Any, on: Sequence[str], scores: Iterable[str]) -> None:
    """Raise an error if columns that are matched differ in type, or scores of the baseline are no numbers."""
    for name in on:
        kinds = [schema[name] for schema in (own, other)]
        if len(set(map(_describe_kind, kinds))) > 1:
            raise TypeError(
                f"`{name}` must be of one type to match rows; it holds {kinds[0]}, and in the baseline {kinds[1]}.\n\n"
                "Hint: convert one of them."
            )
    for name in scores:
        if not other[name].is_numeric():
            _refuse_scores(name, other[name], "in the baseline ")


def _match_texts(frame: Any, other: Any, own: Set[str], others: Set[str]) -> tuple[Any, Any]:
    """Return two frames whose numbers and booleans are text alike in the columns that are matched, of which `own` in
    the first and `others` in the second are of text files."""
    schemas = [side.collect_schema() for side in (frame, other)]
    words: list[dict[str, Any]] = [{}, {}]
    for name in own | others:
        kinds = [schema[name] for schema in schemas]
        if any(kind.is_nested() or kind.is_temporal() for kind in kinds):
            continue
        booleans = any(kind == language(frame).Boolean for kind in kinds)
        for side, found in zip((frame, other), words, strict=True):
            found[name] = _as_words(side, name, booleans)
    sides = zip((frame, other), words, strict=True)
    first, second = (side.with_columns(*found.values()) if found else side for side, found in sides)
    return first, second


def _as_words(frame: Any, name: str, booleans: bool) -> Any:
    """A column as text, in which whole numbers have no fraction, and booleans no capital letters."""
    words = column(frame, name).cast(language(frame).String)
    words = words.str.to_lowercase() if booleans else words
    return words.str.replace(r"^(-?(?:0|[1-9][0-9]*))\.0+$", "${1}").alias(name)


def _describe_kind(kind: Any) -> str:
    """What values of a type can be equal to."""
    name = str(kind).partition("(")[0]
    return "number" if kind.is_numeric() else {"Categorical": "String", "Enum": "String"}.get(name, name)


def _count_rows(frame: Any) -> int:
    """Count the rows of a frame in its engine."""
    return int(collect(frame.select(language(frame).len().alias("rows")))["rows"][0])


def _join_scores(query: Query, other: Any, added: Mapping[str, str]) -> tuple[Any, int]:
    """Join columns of another frame under new names, with a column of what they match: the place of that row in this
    process, else True. Also return how many rows the other frame has.

    A row may match at most one row of the other frame.
    """
    frame, roles, on = query.frame, query.roles, list(query.roles.on)
    types: dict[str, ColumnType] = {**dict.fromkeys(roles.on, "key"), **dict.fromkeys(added, "number")}
    right, source = open_data(other, roles.format if is_path(other) else None, types)
    if source is not None:
        source.check_once((*on, *added))
    for side in (frame, right):
        for name in on:
            check_column("on", name, list(side.collect_schema()))
    for name in added:
        check_column("score", name, list(right.collect_schema()))
    right = decode_numbers(right, added)
    texts = frozenset() if source is None else source.texts.intersection(on)
    frame, right = _match_texts(frame, right, query.texts.intersection(on), texts)
    _check_joined(frame.collect_schema(), right.collect_schema(), on, added)
    pl, keys = language(right), {f"{ON}{i}": name for i, name in enumerate(on)}
    other_scores = pick(right, keys | {new: old for old, new in added.items()})
    with nullcontext() if source is None else source.explain_errors():
        if engine_of(other_scores) == "polars" and is_lazy(other_scores):
            other_scores = other_scores.collect()  # a join holds it in memory anyway; this way it is read once
        others = _count_rows(other_scores) if is_lazy(other_scores) else len(other_scores)
    if source is not None:
        source.check_complete(others)
    if is_lazy(other_scores):
        other_scores = other_scores.with_columns(pl.lit(True).alias(MATCHED))
    else:
        other_scores = other_scores.with_row_index(MATCHED)
    again = other_scores.group_by(*keys).agg(pl.len().alias("rows")).filter(pl.col("rows") > 1).head(1)
    found = collect(again, (ON,))
    if len(found["rows"]):
        first = ", ".join(f"{name}={found[key][0]!r}" for key, name in keys.items())
        raise ValueError(
            f"Every row must have one match in the baseline by {', '.join(map(repr, on))}; for {first} it has "
            f"{int(found['rows'][0]):,} rows.\n\nHint: give {option('on')} columns that together name one row, such as "
            "an id."
        )
    frame = pick(frame, {name: name for name in frame.collect_schema()} | keys)
    if engine_of(frame) != engine_of(other_scores) and not is_lazy(frame):
        frame = open_frame(frame.to_polars() if engine_of(frame) != "polars" else frame)
        other_scores = open_frame(other_scores.to_polars() if engine_of(other_scores) != "polars" else other_scores)
    if is_lazy(frame) != is_lazy(other_scores):
        frame, other_scores = frame.lazy(), other_scores.lazy()
    return join(frame, other_scores, list(keys)), others


def _collect_counts(frame: Any, counts: tuple[str, ...]) -> dict[str, Any]:
    """Load the columns of a small frame, with counts as integers whatever type an engine's sums have."""
    pl = language(frame)
    return collect(frame.with_columns(*(pl.col(name).cast(pl.Int64) for name in counts)), ("by", CLUSTER))


def _parse_label(pos_label: str, label: str, kind: Any) -> Any:
    """Convert a positive label given as text to the type of the column."""
    words = {"true": True, "false": False}
    if pos_label.lower() in words and not kind.is_numeric():
        return words[pos_label.lower()]
    try:
        return float(pos_label)
    except ValueError:
        raise TypeError(f"{option('pos_label')} must be {kind} as `{label}` is; it is {pos_label!r}.") from None
