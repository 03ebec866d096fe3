"""Write files of rows again, with one column more."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from truecal._atomic import raise_if_full, write_atomically
from truecal._errors import check_column, did_you_mean, option
from truecal._options import ScoreScale
from truecal._text import plural
from truecal.data import Floats
from truecal.reading._columns import (
    RECALIBRATED,
    SPANS,
    advise_scale,
    check_scale,
    find_outside,
    find_probability,
    find_scales,
)
from truecal.reading._discovery import PathLike
from truecal.reading._engines import column
from truecal.reading._files import Files, open_files, with_types
from truecal.reading._types import match_key

WRITTEN = {
    ".csv": "sink_csv",
    ".tsv": "sink_csv",
    ".parquet": "sink_parquet",
    ".pq": "sink_parquet",
    ".arrow": "sink_ipc",
    ".ipc": "sink_ipc",
    ".feather": "sink_ipc",
    ".jsonl": "sink_ndjson",
    ".ndjson": "sink_ndjson",
}
Function = Callable[[Floats, Mapping[str, Sequence[Any]]], Floats]


def add_column(
    source: PathLike | Sequence[PathLike],
    output: str | os.PathLike[str],
    function: Function,
    *,
    score: str,
    into: str,
    others: Sequence[str] = (),
    segments: Sequence[tuple[Any, ...]] = (),
    format: str | None = None,
    score_scale: ScoreScale = "probability",
) -> int:
    """Write the rows of files to one file, in their order and in pieces, with what a function makes of a column.

    The function takes probabilities, of the scores, and the columns `others` of some rows. Text in these is the value
    that it is in `segments`, such as a number. Rows without a score stay without one. The suffix of `output` tells its
    format; it is written atomically. Return the number of rows.
    """
    check_scale(score_scale)
    place = Path(output)
    if place.suffix.lower() not in WRITTEN:
        raise ValueError(f"{option('output')} must end in {', '.join(WRITTEN)}; it is {os.fspath(output)!r}.")
    files = open_files(source, format=format, types={score: "number"})
    if files.kind == "jsonl" or place.suffix.lower() not in (".csv", ".tsv"):
        files = replace(files, frame=with_types(files))
    known = list(files.frame.collect_schema())
    check_column("score", score, known)
    for name in others:
        if name not in known:
            listed, meant = ", ".join(map(repr, known)), did_you_mean(name, known)
            raise ValueError(
                f"The map needs the column {name!r}, whose values have maps of their own; there are {listed}.{meant}"
            )
    if into in known and into != score:
        hint = "\n\nHint: the scores seem to be recalibrated already." if into == f"{score}{RECALIBRATED}" else ""
        raise ValueError(f"{option('into')} must be a new column, or the score's; there is one called {into!r}.{hint}")
    keys = _type_others(files, others, segments)
    return _write(files, place, lambda p, rows: function(p, _type_rows(rows, keys)), score, into, others, score_scale)


def _type_others(files: Files, names: Sequence[str], segments: Sequence[tuple[Any, ...]]) -> dict[str, dict[Any, Any]]:
    """What each value of columns of text is, as in the segments of a map."""
    import polars as pl

    found = {}
    for i, name in enumerate(names):
        if files.frame.collect_schema()[name] == pl.String:
            with files.explain_errors():
                words = files.frame.select(column(files.frame, name)).unique().collect(engine="streaming")
            values = {key[i] for key in segments}
            found[name] = {word: match_key(word, values) for word in words[name].to_list()}
    return found


def _type_rows(rows: Mapping[str, Sequence[Any]], keys: Mapping[str, Mapping[Any, Any]]) -> dict[str, Sequence[Any]]:
    """The values of columns, those of text as what they are."""
    return {name: [keys[name][value] for value in values] if name in keys else values for name, values in rows.items()}


def _write(
    files: Files, place: Path, function: Function, score: str, into: str, others: Sequence[str], score_scale: ScoreScale
) -> int:
    """Write the rows of files with one column more; return their number."""
    import polars as pl

    failed: list[Exception] = []
    seen: list[int] = []  # rows of each piece: pieces are computed in several threads, which may append

    def compute(rows: Any) -> Any:
        try:
            frame = rows.struct.unnest()
            given = pl.DataFrame({"p": frame[score].cast(pl.Float64)})
            column = given.select(find_probability(pl, pl.col("p"), score_scale).alias("p"))["p"]
            values = column.fill_null(0.0).to_numpy()
            _check_scores(values, score)
            found = function(values, {name: frame[name].to_list() for name in others})
        except Exception as error:
            failed.append(error)
            raise
        seen.append(len(frame))
        made = pl.Series(into, np.asarray(found))
        return made if not column.null_count() else made.set(column.is_null(), None)

    names = list(dict.fromkeys([score, *others]))
    made = pl.struct(names).map_batches(compute, return_dtype=pl.Float64, is_elementwise=True).alias(into)
    with write_atomically(place) as draft:
        try:
            with files.explain_errors():
                _sink(files.frame.with_columns(made), draft, place.suffix.lower())
        except Exception as error:
            raise_if_full(error, place)
            if failed:
                _explain_scores(files, score, score_scale)
                raise failed[0] from None
            raise
        files.check_complete(sum(seen))
    return sum(seen)


def _sink(frame: Any, draft: Path, suffix: str) -> None:
    options: dict[str, Any] = {"separator": "\t"} if suffix == ".tsv" else {}
    options |= {"check_extension": False} if WRITTEN[suffix] == "sink_csv" else {}
    getattr(frame, WRITTEN[suffix])(draft, engine="streaming", **options)


def _check_scores(values: Floats, name: str) -> None:
    """Raise an error if a probability is none."""
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError(f"`{name}` must hold a number in every row, or nothing; in some it is NaN.")


def _explain_scores(files: Files, name: str, scale: ScoreScale) -> None:
    """Raise an error with the first score that is no probability, if there is one."""
    found = find_outside(files.frame, name, scale)
    if found is not None:
        hint = advise_scale(find_scales(list(files.places), [name], files.kind)) if scale == "probability" else ""
        raise ValueError(
            f"`{name}` must lie in {SPANS[scale]}; in {found.rows:,} of {plural(files.rows, 'row')} it does not, the "
            f"first is {found.value!r} in row {found.first + 1:,}.{hint}"
        )
