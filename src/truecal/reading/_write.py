"""Write files of rows again, with one column more."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from truecal._atomic import write_atomically
from truecal._errors import check_column, option
from truecal.observations import Floats
from truecal.reading._columns import SPANS, ScoreScale, check_scale, find_probability
from truecal.reading._paths import open_files
from truecal.reading._places import PathLike

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
    format: str | None = None,
    score_scale: ScoreScale = "probability",
) -> int:
    """Write the rows of files to one file, in their order and in pieces, with what a function makes of a column.

    The function takes probabilities, of the scores, and the columns `others` of some rows. Rows without a score stay
    without one. The suffix of `output` tells its format; it is written atomically. Return the number of rows.
    """
    import polars as pl

    check_scale(score_scale)
    place = Path(output)
    if place.suffix.lower() not in WRITTEN:
        raise ValueError(f"{option('output')} must end in {', '.join(WRITTEN)}; it is {os.fspath(output)!r}.")
    files = open_files(source, format=format, numbers=(score,))
    known = list(files.frame.collect_schema())
    for role, name in (("score", score), *(("by", name) for name in others)):
        check_column(role, name, known)
    if into in known and into != score:
        raise ValueError(f"{option('into')} must be a new column, or the score's; there is one called {into!r}.")
    failed: list[Exception] = []
    seen: list[int] = []  # rows of each piece: pieces are computed in several threads, which may append

    def compute(rows: Any) -> Any:
        try:
            frame = rows.struct.unnest()
            given = pl.DataFrame({"p": frame[score].cast(pl.Float64)})
            column = given.select(find_probability(pl, pl.col("p"), score_scale).alias("p"))["p"]
            values = column.fill_null(0.0).to_numpy()
            _check_scores(values, frame[score], score_scale)
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
        except Exception:
            if failed:
                raise failed[0] from None
            raise
        files.check_complete(sum(seen))
    return sum(seen)


def _sink(frame: Any, draft: Path, suffix: str) -> None:
    options: dict[str, Any] = {"separator": "\t"} if suffix == ".tsv" else {}
    options |= {"check_extension": False} if WRITTEN[suffix] == "sink_csv" else {}
    getattr(frame, WRITTEN[suffix])(draft, engine="streaming", **options)


def _check_scores(values: Floats, given: Any, scale: ScoreScale) -> None:
    """Raise an error if a probability is none; `given` is the column of the scores."""
    wrong = np.flatnonzero(~((values >= 0) & (values <= 1)))
    if len(wrong):
        raise ValueError(f"`{given.name}` must lie in {SPANS[scale]}; it is {given[wrong[0].item()]!r} in one row.")
