"""Read dataframes and files into observations, in one pass.

Data are frames of pandas, polars (eager and lazy), pyarrow, DuckDB, PySpark, Dask and Ibis, or files that `_files`
opens. Columns in this process are read in batches, and each batch feeds every model, segment and pair. Other engines
group rows by score themselves, in one query for each model.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Unpack, overload

import numpy as np

from truecal._errors import check_column, option
from truecal._options import DataOptions, ModelOptions, declare, resolve
from truecal._progress import Clock, Progress
from truecal._text import upper_first
from truecal._threads import map_chunks
from truecal.data import (
    AnyArray,
    Bools,
    Cells,
    ClassObservations,
    Clusters,
    Ints,
    Observations,
    Pairs,
    Part,
    Reason,
    RowCounts,
    Segment,
    Tally,
    WeightSpan,
    as_grid,
    as_sampling,
    as_tuple,
    choose_multiclass,
    coarsest,
    group_keys,
    hash_numbers,
    hash_values,
    is_observations_file,
    list_settings,
    merge,
    name_file,
    note_equal_counts,
    number_values,
    pack_keys,
    window_start,
    with_sampling,
)
from truecal.reading._accumulate import GridSpool, PairSpool, Spool, pack_rows
from truecal.reading._classes import (
    ClassNames,
    ClassRows,
    OffSums,
    choose_in_engine,
    describe_columns,
    find_score_columns,
    match_labels,
    refuse_sums,
)
from truecal.reading._columns import DEFAULT, LEAST_MEMORY, Roles
from truecal.reading._discovery import PathLike, expand, expand_all, find_passed_over, is_named_as_text, is_path
from truecal.reading._engines import (
    as_floats,
    collect,
    encode_values,
    engine_of,
    is_lazy,
    is_missing,
    language,
    native,
    open_frame,
    pick,
    stream_arrow,
)
from truecal.reading._plain import open_plain, read_labels, read_scores, read_segments
from truecal.reading._preview import read_text_head
from truecal.reading._query import CLUSTER, FILE, MATCHED, Query, column_names, span_lines, status_of
from truecal.reading._status import COUNT_FRACTION, NO_LABEL, NO_SCORE, STATUSES, VALID
from truecal.reading._types import as_number, as_whole_numbers, type_segments

IN_MEMORY = 1 << 62
BATCH = 1 << 19
LOOK = 1 << 17  # the first rows, by which ties are judged
LOOK_AT_TEXT = 5_000  # the same of text, whose first rows are known
TIED = 16  # rows per score and segment, on average, above which an engine's group-by is faster than a sort
VERY_TIED = 64  # the same if scores are grouped into a grid
FEW = 16  # models whose tied rows are counted in tables, of up to 4 MB each
SPAN = ("one", "least", "most", "rows")
LINES = ("status", "key", "n", "pos", "score_sum", "low", "high")
CLUSTER_BYTES = 25  # of a row that is in a cluster
NAMED = 5  # files that a warning names
RADIX = 1 << 16  # codes below this sort in linear time


@overload
def read(
    data: Any,
    *,
    multiclass: Literal["classwise"],
    labels: Sequence[Any] | None = None,
    **options: Unpack[ModelOptions],
) -> ClassObservations: ...
@overload
def read(
    data: Any,
    *,
    multiclass: Literal["top-label"] | None = None,
    labels: Sequence[Any] | None = None,
    **options: Unpack[ModelOptions],
) -> Observations: ...
@declare(first=(DataOptions,))
def read(data: Any, **options: Any) -> Observations | ClassObservations:
    """Read data in one pass into observations: the rows of each segment and period, grouped by score.

    Parameters
    ----------
    data : dataframe, path or paths, mapping, Observations
        A frame of pandas, polars (eager or lazy), pyarrow, DuckDB, PySpark, Dask or Ibis; paths of files, globs or
        folders; arrays by name, `{"y": y, "p": p, "country": country}`; or `Observations`, or paths of files that
        `Observations.save` wrote. Observations are added, and their columns need not be named.

    Examples
    --------
    >>> import polars, truecal
    >>> frame = polars.DataFrame({"y": [0, 1, 1], "p": [0.2, 0.9, 0.9], "country": ["de", "de", "at"]})
    >>> truecal.read(frame, label="y", score="p", by="country")
    Observations(2 segments by country, p for y, exact: 3 rows, 2 positive)
    """
    given: DataOptions = resolve(read, options)  # type: ignore[assignment]
    if given["multiclass"] is not None:
        return _read_multiclass(data, given)
    score = given["score"]
    if score is not None and not isinstance(score, str):
        raise TypeError(
            f"{option('score')} must name one column; it is {score!r}.\n\nHint: for columns of several classes give "
            f"{option('multiclass')}, for several models use `truecal.read_models`."
        )
    (observations,) = _read_models(data, given).values()
    return observations


@declare(first=(ModelOptions,))
def read_models(data: Any, **options: Unpack[ModelOptions]) -> dict[str, Observations]:
    """Read several models, whose scores are columns of the same data, in one pass.

    Parameters
    ----------
    data : dataframe, path or paths, mapping, Observations
        As in `read`. The `baseline` column is not read as a model, even if it is among `score`.

    Examples
    --------
    >>> import polars, truecal
    >>> frame = polars.DataFrame({"y": [0, 1, 1], "old": [0.2, 0.9, 0.9], "new": [0.1, 0.8, 0.9]})
    >>> list(truecal.read_models(frame, label="y", score=["old", "new"]))
    ['old', 'new']
    """
    return _read_models(data, resolve(read_models, options))


def _read_models(data: Any, given: ModelOptions) -> dict[str, Observations]:
    """Read several models; all options are given."""
    names, periods = _name_segments(given)
    label, models, baseline = given["label"], as_tuple(given["score"]), given["baseline"]
    observations = _open_tallies(data, label, models, names, periods)
    if observations is None:
        _check_named(data, label, given["score"])
    if not as_tuple(given["on"]) and isinstance(baseline, str) and baseline in models:
        models = tuple(model for model in models if model != baseline)
        if not models:
            raise ValueError(f"{option('score')} must name a model besides the baseline; it names {baseline!r} alone.")
    if len(set(models)) < len(models):
        raise ValueError(f"{option('score')} must name each column once; it names {', '.join(map(repr, models))}.")
    if label is not None and label in models:
        raise ValueError(f"{option('label')} and {option('score')} must name two columns; both name {label!r}.")
    roles = Roles.of(given, models, names or (), periods)
    _warn_of_passed_over(data)
    if observations is not None:
        return {observations.score: _check_settings(observations, roles)}
    found = _read_plain(data, roles)
    return _read_query(Query.of(data, roles)) if found is None else found


def _warn_of_passed_over(data: Any) -> None:
    """Warn of files in folders that are not read."""
    files = find_passed_over(data) if is_path(data) else []
    if files:
        warnings.warn(f"{name_passed_over(files)} in the folder that is read, but not read.", stacklevel=4)


def name_passed_over(files: Sequence[Path]) -> str:
    """Name files that are not read, the first few, with their verb."""
    named = ", ".join(repr(str(file)) for file in files[:NAMED])
    more = f" and {len(files) - NAMED:,} more" if len(files) > NAMED else ""
    return f"{named}{more} {'is' if len(files) == 1 else 'are'}"


def _check_named(data: Any, label: str | None, score: Any) -> None:
    """Raise an error unless labels and scores are named; data of no known kind are refused first."""
    if label is None or not score:
        if not is_path(data):
            open_frame(data)
        raise TypeError(
            f"{option('label')} and {option('score')} must name columns of the data; they are {label!r} and {score!r}."
        )


def _name_segments(given: ModelOptions) -> tuple[tuple[str, ...] | None, dict[str, str | None]]:
    """The columns of segments and periods, None if none are named, and the lengths of periods."""
    by, time = given["by"], given["time"]
    periods = {} if time is None else {time: given["every"]}
    names = None if by is None and time is None else (*(n for n in as_tuple(by) if n not in periods), *periods)
    return names, periods


def _read_multiclass(data: Any, given: DataOptions) -> Observations | ClassObservations:
    """Read the columns of several classes; see `read`."""
    single = {name: given[name] for name in ("baseline", "on", "pos_label", "count", "importance_weight")}
    for name, value in (single | list_settings(as_sampling(given["sampling"]))).items():
        if value is not None and value != ():
            raise ValueError(f"{option(name)} must be left out where {option('multiclass')} is given.")
    label, scores, (names, periods) = given["label"], as_tuple(given["score"]), _name_segments(given)
    choose_multiclass(given["multiclass"], len(scores))
    if is_observations(data):
        raise ValueError(
            f"{option('multiclass')} must be left out if observations are read: they have no rows.\n\n"
            "Hint: tallies of the most probable class are judged as such."
        )
    _check_named(data, label, scores)
    _warn_of_passed_over(data)
    known = column_names(data, given["format"])
    found = find_score_columns(scores, known, (str(label), *(names or ())))
    if len(found) < 2:
        raise ValueError(
            f"{option('score')} must name a column for each of several classes; it names {', '.join(found)} alone."
        )
    return _read_classes(Query.of(data, Roles.of(given, found, names or (), periods)))


def is_observations(data: Any) -> bool:
    """Whether data are `Observations` or the path of a file of them. Of several files the first decides."""
    if isinstance(data, Observations) or not is_path(data):
        return isinstance(data, Observations)
    try:
        first = expand(os.fspath(data[0] if isinstance(data, (list, tuple)) else data))[0]
        return not is_named_as_text(first) and is_observations_file(first)
    except OSError:
        return False


def load_observations(
    paths: PathLike | Sequence[PathLike],
    by: str | Sequence[str] | None = None,
    periods: Mapping[str, str | None] | None = None,
) -> Observations:
    """Add the tallies in files that `Observations.save` wrote: a path or paths, which may be folders or have wildcards.

    Files are read one by one, and sums of equally many files are added, so memory holds a few partial sums. If that is
    too much, `by` keeps only some of the columns (`()` none), and `periods` makes periods longer; see
    `Observations.group_by`.
    """
    sums: list[tuple[int, Observations]] = []  # each with its number of files, like the digits of a binary number
    places = expand_all(paths)
    for place in places:
        count, total = 1, Observations.load(place)
        total = total.group_by(total.by if by is None else by, periods)
        if len(places) > 1:
            total = replace(total, files={str(place): total.row_counts})
        with name_file(place, "must add to the files before it"):
            while sums and sums[-1][0] == count:
                count, total = 2 * count, sums.pop()[1] + total
        sums.append((count, total))
    if not sums:
        raise ValueError("The paths must name at least one file; they name none.")
    _, total = sums.pop()
    while sums:
        total = sums.pop()[1] + total
    return total


def _open_tallies(
    data: Any,
    label: str | None,
    models: tuple[str, ...],
    by: tuple[str, ...] | None,
    periods: Mapping[str, str | None],
) -> Observations | None:
    """Return observations that are given or stored in files, by these columns; None for other data."""
    if isinstance(data, Observations):
        observations = data.group_by(data.by if by is None else by, periods)
    elif is_path(data) and data not in ("-", ["-"]) and (is_observations(data) or (label is None and not models)):
        observations = load_observations(data, by, periods)
    else:
        return None
    asked = {
        "label": (label or observations.label, observations.label),
        "score": (models or (observations.score,), (observations.score,)),
    }
    for name, (given, own) in asked.items():
        if given != own:
            raise ValueError(f"{option(name)} must be that of the tallies, {own!r}, or be left out; it is {given!r}.")
    return observations


def _check_settings(observations: Observations, roles: Roles) -> Observations:
    """Raise an error if a setting needs rows."""
    if roles.pos_label is not None and str(roles.pos_label) != observations.pos_label:
        raise ValueError(
            f"{option('pos_label')} must be that of the tallies, {observations.pos_label!r}, or be left out; it is "
            f"{roles.pos_label!r}."
        )
    for name, idle in (
        ("missing", roles.missing == "raise"),
        ("format", roles.format in (None, "parquet")),
        ("limits", roles.limits == DEFAULT),
        ("baseline", roles.baseline is None),
        ("cluster", roles.cluster in (None, observations.cluster)),
        ("score_scale", roles.score_scale == "probability"),
        *((name, value is None) for name, value in list_settings(roles.sampling).items()),
        *((name, getattr(roles, name) is None) for name in ("count", "importance_weight")),
    ):
        if not idle:
            raise ValueError(f"{option(name)} must be left out if observations are read: they have no rows.")
    return observations


def _read_plain(data: Any, roles: Roles) -> dict[str, Observations] | None:
    """Read the observations of every model of a small file of plain CSV, if all of its rows are valid; else None."""
    table = open_plain(data, roles.format) if roles.plain else None
    if table is None:
        return None
    # which polars would refuse as well, if it is there
    for role, names in (("label", (roles.label,)), ("score", roles.scores), ("by", roles.by)):
        for name in names:
            check_column(role, name, table.names)
    baselines = as_tuple(roles.baseline) * len(roles.scores)
    numbers = {f"score{i}": name for i, name in enumerate(roles.scores)}
    numbers |= {f"base{i}": name for i, name in enumerate(baselines)}
    if not {roles.label, *numbers.values(), *roles.by} <= set(table.names):
        return None
    fields = table.split()
    read = {own: read_scores(fields[name]) for own, name in numbers.items()}
    scores = {own: score for own, score in read.items() if score is not None}
    label = read_labels(fields[roles.label])
    if label is None or len(scores) < len(numbers) or not {roles.label, *numbers.values()}.isdisjoint(roles.by):
        return None
    segments = [read_segments(fields[name], table.missing) for name in roles.by]
    query, grid = Query(None, roles, None, baselines, texts=frozenset(roles.by)), roles.limits.grid
    batch, found = _PlainBatch(query, label, scores, segments), {}
    for i, name in enumerate(roles.scores):
        model = _Model(query, i, None if grid == "auto" else grid)
        model.add(batch)
        found[name] = model.finish(len(label))
    return found


def _read_query(query: Query) -> dict[str, Observations]:
    """Read the observations of every model of a query."""
    query.check_labels()
    roles, bits = query.roles, query.choose_bits()
    if bits is not None and roles.importance_weight is not None:
        raise ValueError(
            f"{option('importance_weight')} needs scores as they are; they would be grouped into "
            f"cells of {bits} bits.\n\n"
            f"Hint: {option('limits')} may let more rows in."
        )
    parts = _open_batches(query, bits)
    if parts is None:
        if query.joined is not None:
            query.check_matches(query.count_matches())
        return {name: _group(query.of_model(i), bits) for i, name in enumerate(roles.scores)}
    make = _CountedModel if roles.counted or roles.clusters else _Model
    models = [make(query, i, bits) for i in range(len(roles.scores))]
    seen, matches = 0, np.zeros(0 if query.joined is None else query.joined.others, np.bool_)
    with query.explain_errors(), Progress(query.rows, "rows") as progress:
        for part in filter(len, parts):
            batch = Batch(query, part)
            for model in models:
                model.add(batch)
            if query.joined is not None:
                matches[part[MATCHED].drop_nulls().to_numpy().astype(np.int64)] = True
            seen += len(part)
            progress.step(len(part))
    query.check_complete(seen)
    query.check_matches(int(np.count_nonzero(matches)))
    models.reverse()  # each is freed as soon as it is finished
    return {name: models.pop().finish(seen) for name in roles.scores}


def _read_classes(query: Query) -> Observations | ClassObservations:
    """Read the observations of several classes, whose columns a query has: of the most probable one, and of each."""
    roles, bits = query.roles, query.choose_bits()
    names = ClassNames(roles.label, roles.scores, roles.labels, plain=roles.label in query.texts)
    each = roles.scores if roles.multiclass == "classwise" else ()
    own = replace(roles, scores=(describe_columns(roles.scores), *each), multiclass=None, labels=None)
    own = replace(own, score_scale="probability")  # which they are by then
    judged = replace(query, roles=own, origin=query)  # whose scores are computed of those of the rows
    if not query.here:
        return _group_classes(query, judged, names, bits)
    make = _CountedModel if roles.clusters else _Model
    models = [make(judged, i, bits) for i in range(len(own.scores))]
    seen, predicted, off = 0, np.zeros(len(roles.scores), np.int64), OffSums()
    with query.explain_errors(), Progress(query.rows, "rows") as progress:
        for part in _open_small_batches(query):
            batch = _ClassBatch(query, part, names)
            off.add(batch.rows.total, batch.status, seen)
            parts = (batch.top(), *(batch.classes() if each else ()))
            for model, judged_batch in zip(models, parts, strict=True):
                model.add(judged_batch)
            predicted += np.bincount(batch.rows.chosen[batch.status == VALID], minlength=len(predicted))
            seen += len(part)
            progress.step(len(part))
    query.check_complete(seen)
    off.check(seen, ordered=not is_lazy(query.frame))
    waiting = dict(enumerate(models))
    models.clear()  # each is freed as soon as it is finished

    def finish(first: int, last: int) -> list[Observations]:
        return [waiting.pop(place).finish(seen) for place in range(first, last)]

    top = finish(0, 1)  # which raises the errors of rows, the same for all
    threads = None if len(each) > FEW else 1
    found = map_chunks(lambda first, last: finish(first + 1, last + 1), len(each), 1, threads) if each else []
    return _name_classes([*top, *found], names, predicted)


def _open_small_batches(query: Query) -> Iterator[Any]:
    """Return batches of renamed columns that are few if there are many columns."""
    size = max(BATCH * 25 // (25 + len(query.roles.scores)), 1 << 12)
    if is_lazy(query.frame):
        parts = query.select().collect_batches(chunk_size=size, maintain_order=False, engine="streaming")
    else:
        parts = iter([query.frame])
    for part in map(query.rename, parts):
        for begin in range(0, len(part), size):
            yield part[begin : begin + size]


def _name_classes(
    found: Sequence[Observations], names: ClassNames, predicted: Ints
) -> Observations | ClassObservations:
    """The tallies of the most probable class, or these and those of each class against the rest."""
    top = replace(found[0], outcome="correct")
    if len(found) == 1:
        return top
    each = (
        replace(part, pos_label=name, dropped=top.dropped, files=top.files)
        for name, part in zip(names.names, found[1:], strict=True)
    )
    return ClassObservations(
        top, dict(zip(names.names, each, strict=True)), dict(zip(names.names, predicted.tolist(), strict=True))
    )


def _group_classes(
    query: Query, judged: Query, names: ClassNames, bits: int | None
) -> Observations | ClassObservations:
    """Group the rows of several classes in the engine, once for the most probable one and once for each."""
    roles, frame = judged.roles, query.rename(query.frame)
    pl = language(frame)
    labels = collect(frame.select("label").unique(), ("label",))["label"]
    labels = [value for value in labels if not is_missing(value)]
    matches = match_labels(frame, labels, names.find(labels), len(names.columns))
    if not labels:
        raise ValueError("The data must have at least one valid row; they have none.")
    rows = choose_in_engine(frame, matches)
    segments = {name: f"by{i}" for i, name in enumerate(roles.by)} | dict.fromkeys(roles.clusters, CLUSTER)

    def group(place: int, rows: Any, score: str) -> Observations:
        model = judged.of_model(place)
        (name,) = model.roles.scores
        return _group(replace(model, frame=pick(rows, {roles.label: "right", name: score, **segments})), bits)

    try:
        top = group(0, rows, "score")
    except ValueError:
        wrong = rows.filter(pl.col("score") == 3.0).select(pl.len().alias("n"), pl.col("total").min().alias("total"))
        (count,), (least,) = collect(wrong).values()
        if count:
            (total,) = collect(rows.select(pl.len().alias("n"))).values()
            refuse_sums(int(count), int(total[0]), f", one to {float(least):.4g}")
        raise
    if len(roles.scores) == 1:
        return _name_classes([top], names, np.zeros(0, np.int64))
    valid = ~pl.col("gone") & ~pl.col("undefined") & ~pl.col("unlabelled") & (pl.col("score") <= 1)
    for name in query.needed[1:]:
        valid = valid & ~pl.col(name).is_null()
    rows = rows.filter(valid)
    tops = collect(rows.group_by("top").agg(pl.len().alias("n")))
    predicted = np.bincount(tops["top"].astype(np.int64), tops["n"].astype(np.int64), len(names.columns))
    found = [top]
    for i, match in enumerate(matches):
        own = pl.when(pl.lit(False) if match is None else match).then(pl.lit(1)).otherwise(pl.lit(0))
        found.append(group(i + 1, rows.with_columns(own.alias("right")), f"score{i}"))
    return _name_classes(found, names, predicted.astype(np.int64))


def _open_batches(query: Query, bits: int | None) -> Iterator[Any] | None:
    """Return batches with the columns `label`, `score0`, ... and `by0`, ...; None if the engine should group the rows.

    It should if the data are in another process, or if one model is read by segments and, judged by the first rows,
    many rows share segment and score.
    """
    tied = TIED if bits is None else VERY_TIED
    if not query.here:
        return stream_arrow(query.rename(query.frame), BATCH) if _is_countable(query, bits) else None
    lone = len(query.roles.scores) == 1 and not (query.baselines or query.marked or query.roles.clusters)
    if is_lazy(query.frame) and query.roles.by and lone and _are_tied(query, tied):
        return None
    return stream_batches(query)


def _are_tied(query: Query, rows: int) -> bool:
    """Whether many rows share segment and score, by the first ones; of text, those that are known already."""
    if query.source is not None and query.source.tables and query.source.kind != "jsonl":
        head = read_text_head(query.source.tables[0])
        columns = [head.columns[name].every() for name in (*query.roles.scores, *query.roles.by)]
        # as many of them as there would be among the first rows if `LOOK` rows had the most that are tied
        most = LOOK / rows * -math.expm1(-head.rows * rows / LOOK)
        return head.rows >= LOOK_AT_TEXT and len(set(zip(*columns, strict=True))) <= most
    names = ("score0", *(f"by{i}" for i in range(len(query.roles.by))))
    with query.explain_errors():
        first = query.rename(query.select().head(LOOK).collect())
    return len(first) == LOOK and first.select(*(n for n in first.columns if n in names)).n_unique() * rows <= LOOK


def stream_batches(query: Query) -> Iterator[Any]:
    """Return batches of rows in this process, with the columns `label`, `score0`, ... and `by0`, ..."""
    if not is_lazy(query.frame):
        return iter([query.rename(query.frame)])
    # renamed here: polars would hold more batches if it renamed them
    parts = query.select().collect_batches(chunk_size=BATCH, maintain_order=False, engine="streaming")
    return map(query.rename, parts)


class Batch:
    """A batch of rows. What all models need of it is computed once."""

    def __init__(self, query: Query, part: Any) -> None:
        self.query, self.part = query, part

    def is_plain(self, *scores: str) -> bool:
        """Whether no value is missing and labels need no conversion."""
        missing = any(self.part[name].null_count() for name in (*self.query.needed, *scores))
        extra = bool(self.query.roles.row_columns) and bool(np.any(self.part["extra"].to_numpy()))
        return self.query.roles.pos_label is None and not missing and not extra

    def extra(self, name: str) -> AnyArray:
        """Return a prepared column of weights; 1 for each row if there is none."""
        if name not in self.query.roles.row_columns and name != "raw":
            return np.ones(len(self.part), dtype=np.int64)
        return np.asarray(self.part[name].to_numpy())

    @cached_property
    def label(self) -> AnyArray:
        """The labels of a plain batch."""
        return np.asarray(self.part["label"].to_numpy())

    def score(self, name: str) -> AnyArray:
        """Return scores as float32 or float64, as the labelling makes them. Missing scores have any value."""
        return self._see(as_floats(self.part[name]))

    def _see(self, score: AnyArray) -> AnyArray:
        how = self.query.roles.sampling
        return score if how.plain else np.asarray(how.to_sampled(score.astype(np.float64)))

    def judge(self, *scores: str, start: int = 0) -> tuple[list[AnyArray], AnyArray, AnyArray]:
        """Return scores, labels and statuses of the rows from position `start`."""
        judged = self.query.judge(self.part[start:], scores)
        one, status = (judged[name].to_numpy().astype(np.uint8) for name in ("one", "status"))
        return [self._see(as_floats(judged[name])) for name in scores], one, status

    @cached_property
    def cluster(self) -> Ints:
        """The hash of each row's cluster; of rows without one it has any value."""
        column = self.part[CLUSTER]
        if self.query.numbered and (numbers := as_whole_numbers(column)) is not None:
            column = numbers
        if column.dtype.is_integer() and not column.null_count():
            return hash_numbers(np.asarray(column.to_numpy()))
        values, codes = encode_values(column)
        return _hash_clusters(self.query, values)[codes]

    @cached_property
    def segments(self) -> tuple[list[Segment], AnyArray]:
        """The segments in the batch, and the number of each row's segment."""
        roles = self.query.roles
        encoded = [encode_values(self.part[f"by{i}"]) for i in range(len(roles.by))]
        keys, codes = _find_segments(encoded, len(self.part))
        values = [
            _normalize(list(column), roles.periods.get(name))
            for name, column in zip(roles.by, zip(*keys, strict=True), strict=True)
        ]
        return list(zip(*values, strict=True)), codes

    @cached_property
    def order(self) -> tuple[Ints, Ints]:
        """The rows sorted by segment, and the end of each segment."""
        return _sort_codes(self.segments[1], len(self.segments[0]))


class _PlainBatch(Batch):
    """The rows of a plain file, all of which are valid."""

    def __init__(
        self, query: Query, label: AnyArray, scores: Mapping[str, AnyArray], by: Sequence[tuple[list[Any], Ints]]
    ) -> None:
        super().__init__(query, label)
        self.scores, self.by = scores, by

    def is_plain(self, *scores: str) -> bool:
        return True

    @cached_property
    def label(self) -> AnyArray:
        return np.asarray(self.part)

    def score(self, name: str) -> AnyArray:
        return self._see(self.scores[name])

    @cached_property
    def segments(self) -> tuple[list[Segment], AnyArray]:
        return _find_segments(self.by, len(self.part))


class _ClassBatch(Batch):
    """A batch of rows of several classes: the place of each row's class, and why rows are invalid."""

    def __init__(self, query: Query, part: Any, names: ClassNames) -> None:
        super().__init__(query, part)
        columns = [f"score{i}" for i in range(len(names.columns))]
        self.scores = [self.score(name) for name in columns]
        self.rows = ClassRows.of(self.scores)
        values, codes = encode_values(part["label"])
        known = [place for place, value in enumerate(values) if not is_missing(value)]
        target = np.full(len(values), -1)
        target[known] = names.find(values[place] for place in known)
        self.target = target[codes]
        self.status = np.where(self.target < 0, NO_LABEL, VALID).astype(np.uint8)
        for name in query.needed[1:]:
            self._mark([name], status_of(name))
        self.rows.mark_invalid(self.status)
        self._mark(columns, NO_SCORE)
        self.plain = not self.status.any()

    def _mark(self, names: Sequence[str], code: int) -> None:
        """Give the rows in which a column is null a status."""
        for name in names:
            if self.part[name].null_count():
                self.status[np.asarray(self.part[name].is_null().to_numpy(), dtype=np.bool_)] = code

    def top(self) -> _JudgedBatch:
        """The most probable class, and whether it is the right one."""
        return _JudgedBatch(self, self.rows.confidence, self.target == self.rows.chosen)

    def classes(self) -> Iterator[_JudgedBatch]:
        """Each class against the rest."""
        for i, score in enumerate(self.scores):
            yield _JudgedBatch(self, score, self.target == i)


class _JudgedBatch(Batch):
    """A batch of rows of several classes, with the labels and scores that are judged of it."""

    def __init__(self, batch: _ClassBatch, score: AnyArray, label: Bools) -> None:
        super().__init__(batch.query, batch.part)
        self.whole, self.judged = batch, (score, label)

    def is_plain(self, *scores: str) -> bool:
        return self.whole.plain

    @cached_property
    def label(self) -> AnyArray:
        return self.judged[1]

    def score(self, name: str) -> AnyArray:
        return self.judged[0]

    def judge(self, *scores: str, start: int = 0) -> tuple[list[AnyArray], AnyArray, AnyArray]:
        score, label = (column[start:] for column in self.judged)
        return [score], label.astype(np.uint8), self.whole.status[start:]

    @cached_property
    def cluster(self) -> Ints:
        return self.whole.cluster

    @cached_property
    def segments(self) -> tuple[list[Segment], AnyArray]:
        return self.whole.segments

    @cached_property
    def order(self) -> tuple[Ints, Ints]:
        return self.whole.order


class _Model:
    """The rows of one model: a spool, or one for each segment, and the pairs with its baseline."""

    def __init__(self, query: Query, index: int, bits: int | None) -> None:
        self.query, self.bits = query.of_model(index), bits
        self.score, self.base = f"score{index}", f"base{index}"
        memory = max(query.roles.limits.memory // len(query.roles.scores), LEAST_MEMORY)
        self.memory = memory
        self.whole = None if query.roles.by else self._open_spool(few=len(query.roles.scores) <= FEW)
        self.spools: dict[Segment, Spool] = {}
        self.pairs = PairSpool() if query.baselines else None
        self.counts, self.pair_counts = np.zeros(STATUSES, dtype=np.int64), np.zeros(STATUSES, dtype=np.int64)
        self.invalid: dict[Segment, Ints] = {}  # rows of each status, for segments with invalid ones
        self.files: dict[str, Ints] = {}  # the same for files

    def add(self, batch: Batch) -> None:
        """Add a batch."""
        if self.whole is not None:
            self._add_rows(batch, self.whole)
        else:
            self._add_segments(batch)
        if self.pairs is not None:
            self._add_pairs(batch, self.pairs)

    def _open_spool(self, *, few: bool) -> Spool | GridSpool:
        if few and self.bits is not None and self.bits <= GridSpool.MOST_BITS:
            return GridSpool(self.bits)
        return Spool(self.memory, self.bits, count=few)

    def _add_rows(self, batch: Batch, spool: Spool | GridSpool) -> None:
        added = 0
        if batch.is_plain(self.score):
            added = spool.add_rows(batch.score(self.score), batch.label)
            self.counts[VALID] += added
        if added < len(batch.part):
            (score,), one, status = batch.judge(self.score, start=added)
            usable = self._count(batch, status, [()], np.zeros(len(status), np.int64))
            spool.add_rows(score[usable], one[usable])

    def _count(
        self, batch: Batch, status: AnyArray, segments: list[Segment], codes: AnyArray, weight: Ints | None = None
    ) -> Bools:
        """Count the last rows of a batch by status, of each segment and file where they are invalid, and return which
        are valid. Rows that have weights are counted of each file, valid or not."""
        usable = np.asarray(status == VALID)
        self.counts += _add_up(weight)(status, slice(None), STATUSES)
        _count_places(self.invalid, segments, codes, status, weight, ~usable)
        counted = ~usable if weight is None else np.ones_like(usable)
        if self.query.marked and counted.any():
            begin = len(batch.part) - len(status)
            files, places = encode_values(batch.part[FILE][begin:])
            _count_places(self.files, files, places, status, weight, counted)
        return usable

    def _add_segments(self, batch: Batch) -> None:
        (segments, codes), keys = batch.segments, None
        if batch.is_plain(self.score):
            keys = pack_rows(batch.score(self.score), batch.label)
        if keys is not None:
            self.counts[VALID] += len(keys)
            order, ends = batch.order
        else:
            (score,), one, status = batch.judge(self.score)
            usable = self._count(batch, status, segments, codes)
            keys = pack_rows(score[usable], one[usable])
            assert keys is not None, "rows of status 0 are valid"
            order, ends = _sort_codes(codes[usable], len(segments))
        keys = keys[order]
        for segment, begin, end in zip(segments, [0, *ends[:-1]], ends, strict=True):
            if begin < end:
                self.spools.setdefault(segment, Spool(IN_MEMORY, self.bits, count=False)).add_keys(keys[begin:end])

    def _add_pairs(self, batch: Batch, pairs: PairSpool) -> None:
        names = self.score, self.base
        cluster = batch.cluster if self.query.roles.clusters else None
        if batch.is_plain(*names) and self.query.roles.count is None:
            scores = [batch.score(name) for name in names]
            if all(all(pack_keys(score, batch.label)[1:]) for score in scores):
                self.pair_counts[VALID] += len(batch.part)
                pairs.add(scores[0], scores[1], batch.label, cluster=cluster)
                return
        scores, one, status = batch.judge(*names)
        weight = batch.extra("weight").astype(np.int64)
        self.pair_counts += _add_up(weight)(status, slice(None), STATUSES)
        usable = status == VALID
        own = None if cluster is None else cluster[usable]
        pairs.add(scores[0][usable], scores[1][usable], one[usable], weight[usable], own)

    def finish(self, read: int) -> Observations:
        """Return the observations of so many rows. The model cannot be used afterwards."""
        query, (name,) = self.query, self.query.roles.scores
        query.check_counts(self.counts, [name])
        dropped = {segment: query.name_reasons(counts, name) for segment, counts in self.invalid.items()}
        parts = self._finish_parts(read)
        read = self._count_read(read)
        pairs = None
        if self.pairs is not None:
            query.check_counts(self.pair_counts, _name_pair(query))
            pairs = replace(self.pairs.finish(), names=_name_pair(query), sampling=query.roles.sampling)
            RowCounts(read, pairs.n_rows, query.name_reasons(self.pair_counts, name))
        return _make_tallies(query, parts, read, dropped, pairs, self._count_files())

    def _count_files(self) -> dict[str, RowCounts]:
        """Return the row counts of each of several files."""
        (name,), found = self.query.roles.scores, {}
        for file, rows in self.query.count_files().items():
            counts = self.files.get(file, np.zeros(STATUSES, np.int64))
            dropped = self.query.name_reasons(counts, name)
            read = self._count_read_of(rows, counts)
            found[file] = RowCounts(read, read - sum(dropped.values()), dropped)
        return found

    def _count_read_of(self, rows: int, counts: Ints) -> int:
        """Return how many rows of a file were read, as its row counts have them."""
        return rows

    def _finish_parts(self, read: int) -> dict[Segment, Part]:
        """Return the tally of each segment."""
        parts: dict[Segment, Part] = {}
        if self.whole is not None:
            parts[()] = self.whole.finish().simplify()
        for segment in list(self.spools):
            data = self.spools.pop(segment).finish()
            parts[segment] = data.grouped.simplify()
        return parts

    def _count_read(self, read: int) -> int:
        """Return how many rows were read, as the row counts have them."""
        return read


class _CountedModel(_Model):
    """The rows of one model that have weights or clusters: a sum of tallies for each segment."""

    def __init__(self, query: Query, index: int, bits: int | None) -> None:
        super().__init__(query, index, bits)
        self.sums: dict[Segment, list[tuple[int, Tally | Cells]]] = {}  # each with its number of batches
        self.span = WeightSpan()

    def add(self, batch: Batch) -> None:
        """Add a batch."""
        (score,), one, status = batch.judge(self.score)
        weight, roles = batch.extra("weight").astype(np.int64), self.query.roles
        if roles.count is not None:
            known = np.isin(status, (VALID, COUNT_FRACTION))
            self.span.add(batch.extra("raw")[known], one[known])
        segments, codes = batch.segments if self.query.roles.by else ([()], np.zeros(len(status), np.int64))
        usable = self._count(batch, status, segments, codes, weight if roles.counted else None)
        self._check_memory()
        importance_weight = batch.extra("importance_weight") if roles.importance_weight is not None else None
        cluster = batch.cluster if self.query.roles.clusters else None
        order, ends = _sort_codes(codes[usable], len(segments))
        rows = np.flatnonzero(usable)[order]
        for segment, begin, end in zip(segments, [0, *ends[:-1]], ends, strict=True):
            if begin < end:
                own = rows[begin:end]
                others = (None if column is None else column[own] for column in (importance_weight, cluster))
                self._add_tally(segment, score[own], one[own], weight[own], *others)
        if self.pairs is not None:
            self._add_pairs(batch, self.pairs)

    def _check_memory(self) -> None:
        """Raise an error if rows in clusters are too many to be kept one by one."""
        if self.query.roles.clusters and self.bits is None and self.counts[VALID] * CLUSTER_BYTES > self.memory:
            raise ValueError(
                f"Rows in clusters must fit into memory; {int(self.counts[VALID]):,} of them take more than "
                f"{self.memory:,} bytes.\n\nHint: give more {option('memory')}, or a {option('grid')} of cells."
            )

    def _add_tally(
        self,
        segment: Segment,
        score: AnyArray,
        one: AnyArray,
        weight: Ints,
        importance_weight: AnyArray | None,
        cluster: Ints | None,
    ) -> None:
        keys = pack_rows(score, one)
        assert keys is not None, "rows of status 0 are valid"
        order = np.argsort(keys)
        tally = group_keys(keys[order], weight[order])
        if importance_weight is not None:
            tally = tally.with_importance(score, one, importance_weight)
        if cluster is not None:
            tally = tally.with_clusters(cluster, score, one, weight)
        count, total = 1, tally if self.bits is None else Cells.grid(tally, self.bits)
        sums = self.sums.setdefault(segment, [])
        while sums and sums[-1][0] == count:
            count, total = 2 * count, _add_tallies(sums.pop()[1], total)
        sums.append((count, total))

    def finish(self, read: int) -> Observations:
        """Return the observations of so many rows. The model cannot be used afterwards."""
        _check_span(self.query, self.span)
        return super().finish(read)

    def _finish_parts(self, read: int) -> dict[Segment, Part]:
        parts: dict[Segment, Part] = {}
        for segment in list(self.sums):
            sums = self.sums.pop(segment)
            total = sums.pop()[1]
            while sums:
                total = _add_tallies(sums.pop()[1], total)
            parts[segment] = total.simplify()
        _warn_of_equal_counts(self.span, read, parts)
        return parts

    def _count_read(self, read: int) -> int:
        return int(self.counts.sum())

    def _count_read_of(self, rows: int, counts: Ints) -> int:
        return int(counts.sum()) if self.query.roles.counted else rows


def _add_tallies(first: Any, second: Any) -> Any:
    return first + second


def _check_span(query: Query, span: WeightSpan) -> None:
    """Raise an error if weights are those of labels."""
    if query.roles.count is not None:
        span.check(f"`{query.roles.count}`")


def _warn_of_equal_counts(span: WeightSpan, rows: int, parts: Mapping[Segment, Part]) -> None:
    """Warn if all rows count alike, more than once, and none is equal to another."""
    observations = [part.tally for part in parts.values()]
    distinct = sum(int(np.count_nonzero(each.pos) + np.count_nonzero(each.pos < each.n)) for each in observations)
    for note in note_equal_counts(span.same, rows, distinct):
        warnings.warn(upper_first(str(note)), stacklevel=2)


def _add_up(weight: Ints | None) -> Callable[[AnyArray, Any, int], Ints]:
    """What counts rows at places, each once or as often as its weight says."""

    def count(place: AnyArray, rows: Any, size: int) -> Ints:
        weights = None if weight is None else weight[rows]
        return np.bincount(place, weights, minlength=size).astype(np.int64)

    return count


def _count_places(
    counts: dict[Any, Ints], names: Sequence[Any], codes: AnyArray, status: AnyArray, weight: Ints | None, rows: Bools
) -> None:
    """Add some rows, whose codes are those of names, to the counts of their statuses."""
    place, size = codes[rows].astype(np.int64) * STATUSES + status[rows], len(names) * STATUSES
    found = _add_up(weight)(place, rows, size).reshape(-1, STATUSES)
    for code in np.flatnonzero(found.any(axis=1)).tolist():
        counts[names[code]] = counts.get(names[code], 0) + found[code]


def _name_pair(query: Query) -> tuple[str, str]:
    """Return the names of a model and of its baseline; a joined one is called "baseline"."""
    (name,), (other,) = query.roles.scores, query.baselines
    return name, "baseline" if query.joined else other


def _make_tallies(
    query: Query,
    parts: Mapping[Segment, Part],
    read: int,
    dropped: Mapping[Segment, Mapping[Reason, int]],
    pairs: Pairs | None,
    files: dict[str, RowCounts],
) -> Observations:
    """Make observations of parts. If some parts are cells and others are not, all become cells of one grid."""
    roles = query.roles
    grid = roles.limits.grid
    bits = grid if isinstance(grid, int) else coarsest([part.bits for part in parts.values()])
    positive = None if roles.pos_label is None else str(roles.pos_label)
    typed = [name in query.texts for name in roles.by]
    plain = list({**parts, **dropped})
    names = dict(zip(plain, type_segments(plain, typed), strict=True))
    alike = {names[key]: with_sampling(as_grid(part, bits), roles.sampling) for key, part in parts.items()}
    dropped = {names[key]: counts for key, counts in dropped.items()}
    periods = dict(roles.periods)
    settings = roles.by, periods, bits, positive, dropped, pairs
    made = Observations(roles.label, roles.scores[0], alike, *settings, files=files, cluster=roles.cluster)
    RowCounts(read, made.n_rows, made.row_counts.dropped)  # no row was lost
    return made


def _group(query: Query, bits: int | None) -> Observations:
    """Group the rows of one model in the engine, by score or by cell, and return the observations."""
    (name,) = query.roles.scores
    cells = bits is not None and not query.here
    with query.explain_errors(), Clock("grouping"):
        lines = _group_cells(query, bits) if cells and bits is not None else query.group()
    status, rows = lines["status"], int(lines["rows"].sum())
    query.check_complete(rows)
    span = WeightSpan()
    if query.roles.count is not None:
        known = np.isin(status, (VALID, COUNT_FRACTION))
        span = query.span_weights() if cells else span_lines({key: lines[key][known] for key in SPAN})
        _check_span(query, span)
    query.check_counts(_count_lines(lines, slice(None)), [name])
    dropped = {
        segment: query.name_reasons(_count_lines(lines, own), name)
        for segment, own in _split_lines(query.roles, lines, np.flatnonzero(status))
    }
    kept = np.flatnonzero(status == VALID)
    hashes = _hash_lines(query, lines) if query.roles.clusters else None
    parts: dict[Segment, Part] = {}
    for segment, own in _split_lines(query.roles, lines, kept):
        if cells and bits is not None:
            columns = tuple(lines[name][own] for name in LINES[1:])
            grid = Cells.merge(bits, columns)
            found: Tally | Cells = grid
            if hashes is not None:
                place = np.searchsorted(grid.key, columns[0])
                found = grid.with_clusters(Clusters.merge(hashes[own], place, columns[1], columns[2]))
        else:
            tally = _merge_lines(lines, own, query.roles, hashes)
            found = tally if bits is None else Cells.grid(tally, bits)
        parts[segment] = found.simplify()
    _warn_of_equal_counts(span, rows, parts)
    pairs = _group_pairs(query, int(lines["n"].sum())) if query.baselines else None
    files = {file: RowCounts(count, count) for file, count in query.count_files().items()}
    return _make_tallies(query, parts, int(lines["n"].sum()), dropped, pairs, files)


def _group_cells(query: Query, bits: int) -> dict[str, Any]:
    """Group the rows of one model by cell: where the engine runs Python in other processes, each part by our own loops,
    if these processes have truecal; else in the engine's own language."""
    if engine_of(query.frame) == "dask" and _is_countable(query, bits):
        with suppress(ImportError, RuntimeError):
            alone = replace(query, frame=None)
            meta = {name: "float64" if name in ("key", "score_sum", "low", "high") else "int64" for name in LINES}
            parts = native(query.rename(query.frame))
            found = parts.map_partitions(count_part, alone, bits, meta=meta).compute()
            return {name: found[name].to_numpy() for name in LINES} | {"rows": found["n"].to_numpy()}
    return query.group_cells(bits)


def count_part(part: Any, query: Query, bits: int) -> Any:
    """The cells of a part of a frame of Dask, in the process that has it, and lines that count its invalid rows."""
    model = _Model(query, 0, bits)
    assert model.whole is not None, "there are no segments"
    model.add(Batch(query, open_frame(part)))
    cells = model.whole.finish()
    assert isinstance(cells, Cells), "cells are asked for"
    invalid = np.flatnonzero(model.counts[1:]) + 1
    none = np.zeros(len(invalid))
    columns = {
        "status": np.concatenate([np.zeros(len(cells), np.int64), invalid]),
        **{
            name: np.concatenate([column, model.counts[invalid] if name == "n" else none.astype(column.dtype)])
            for name, column in zip(LINES[1:], cells.columns, strict=True)
        },
    }
    return language(open_frame(part)).dependencies.get_pandas().DataFrame(columns)


def _is_countable(query: Query, bits: int | None) -> bool:
    """Whether all that is asked for are the cells of a coarse grid, which are counted fastest by our own loops."""
    roles = query.roles
    other = roles.by or roles.clusters or roles.row_columns or query.baselines
    return not other and bits is not None and bits <= GridSpool.MOST_BITS


def _count_lines(lines: Mapping[str, Any], rows: Any) -> AnyArray:
    """Count the rows of each status in some lines."""
    return np.bincount(lines["status"][rows], weights=lines["n"][rows], minlength=STATUSES)


def _split_lines(roles: Roles, lines: Mapping[str, Any], kept: Ints) -> Iterator[tuple[Segment, Ints]]:
    """Yield each segment with its lines."""
    segments: dict[Segment, int] = {}
    code = np.zeros(len(kept), dtype=np.int64)
    if roles.by:
        values = [_normalize(lines[f"by{i}"], roles.periods.get(name)) for i, name in enumerate(roles.by)]
        keys = zip(*values, strict=True)
        code = np.array([segments.setdefault(key, len(segments)) for key in keys], dtype=np.int64)[kept]
    else:
        segments[()] = 0
    order = np.argsort(code, kind="stable")
    ends = np.searchsorted(code[order], np.arange(len(segments) + 1))
    for segment, place in segments.items():
        rows = kept[order[ends[place] : ends[place + 1]]]
        if len(rows):
            yield segment, rows


def _hash_lines(query: Query, lines: Mapping[str, Any]) -> Ints:
    """The hash of each line's cluster; of lines without one it has any value."""
    distinct, code = number_values(lines[CLUSTER])
    return _hash_clusters(query, distinct)[code]


def _hash_clusters(query: Query, values: Sequence[Any]) -> Ints:
    """The hashes of clusters. Numbers in text are hashed as such, so that every format gives the same."""
    return hash_values(list(map(as_number, values)) if query.numbered else values)


def _merge_lines(lines: Mapping[str, Any], rows: Ints, roles: Roles, hashes: Ints | None) -> Tally:
    # -0.0 and 0.0 are one score, though engines may keep them apart
    score = np.asarray(roles.sampling.to_sampled(lines["score0"][rows].astype(np.float64) + 0.0))
    tally = merge(score, lines["n"][rows], lines["pos"][rows])
    one = lines["one"][rows] == 1
    if hashes is not None:
        tally = tally.with_clusters(hashes[rows], score, one, lines["n"][rows])
    if roles.importance_weight is None:
        return tally
    return tally.with_importance(score, one, lines["importance_weight"][rows].astype(np.float64))


def _group_pairs(query: Query, read: int) -> Pairs:
    """Group so many rows in the engine by the scores of a model and of its baseline."""
    with query.explain_errors(), Clock("grouping"):
        lines = query.group(pairs=True)
    counts = _count_lines(lines, slice(None))
    query.check_counts(counts, _name_pair(query))
    kept = lines["status"] == 0
    how = query.roles.sampling
    first, second = (np.asarray(how.to_sampled(lines[name][kept].astype(np.float64))) for name in ("score0", "base0"))
    hashes = _hash_lines(query, lines)[kept] if query.roles.clusters else None
    pairs = Pairs.merge(first, second, lines["n"][kept], lines["pos"][kept], hashes)
    RowCounts(read, pairs.n_rows, query.name_reasons(counts, query.roles.scores[0]))  # no row was lost
    return replace(pairs, names=_name_pair(query), sampling=how)


def _sort_codes(codes: AnyArray, size: int) -> tuple[Ints, Ints]:
    """Return the rows in the order of their codes, and the end of each code."""
    return np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes, minlength=size))


def _find_segments(encoded: Sequence[tuple[list[Any], Ints]], rows: int) -> tuple[list[Segment], AnyArray]:
    """Return the segments in a batch of so many rows, and the number of each row's segment; of each column the distinct
    values are given, and the number of each row's value.

    Segments are numbered anew after each column, so that no number exceeds rows times values.
    """
    codes, keys = np.zeros(rows, dtype=np.int64), [()] if rows else list[Segment]()
    for values, code in encoded:
        codes = codes * len(values) + code
        size = len(keys) * len(values)
        if size > max(4 * rows, RADIX):
            present, codes = np.unique(codes, return_inverse=True)
        else:
            present = np.flatnonzero(np.bincount(codes, minlength=size))
            place = np.zeros(size, dtype=np.int64)
            place[present] = np.arange(len(present))
            codes = place[codes]
        keys = [(*keys[at // len(values)], values[at % len(values)]) for at in present.tolist()]
    return keys, codes.astype(np.uint16 if len(keys) <= RADIX else np.int64)


def _normalize(values: list[Any], every: str | None) -> list[Any]:
    """Convert missing values of segments to None (pandas has several kinds), and periods to dates or times."""
    plain = {value: None if is_missing(value) else value for value in set(values)}
    if every is not None:
        plain = {value: known and _find_window(known, every) for value, known in plain.items()}
    return [plain[value] for value in values]


def _find_window(value: Any, every: str) -> date:
    """Return the start of a window from any engine's type of time; a date if periods are days or longer."""
    if isinstance(value, int):  # microseconds, as some engines' times come out of NumPy
        value = datetime(1970, 1, 1) + timedelta(microseconds=value)
    return window_start(datetime(*value.timetuple()[:6]), every)
