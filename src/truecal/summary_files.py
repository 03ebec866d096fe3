"""Summaries as Parquet files: one line for each segment and score, or cell; written whole, and read only if whole.

Settings are JSON in the file's metadata, under "truecal". The checksum in it is of the entire file, as it is with zeros
in the checksum's place: a file is known to be what was written before Parquet is decoded at all.

Columns are `by0`, `by1`, ... in the order of the setting `by`, then `score`, `n`, `pos`; or for cells `n`, `pos`,
`low`, `high`, `total`, where a null `high` is `low`, and a null `total` is n (low + high) / 2.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from hashlib import blake2b
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from truecal import __version__, files
from truecal.cells import Cells
from truecal.files import PathLike
from truecal.grid import cell
from truecal.query import Columns
from truecal.summaries import Part, Segment, Summary
from truecal.tally import Floats, Ints, Tally
from truecal.writing import written

SCHEMA = 1
MAGIC = b"PAR1"  # at both ends of a Parquet file
OPENING = b'{"truecal_summary": '
CLOSING = b'"checksum": "'
BLANK = b"0" * 64
MENDING = ".\n\nHint: restore a copy, or summarize the data again."


def write_summary(summary: Summary, path: PathLike) -> Path:
    """Write a summary to a Parquet file, whole or not at all; the name must end in .parquet or .pq.

    Examples
    --------
    >>> import tempfile, truecal
    >>> monday = truecal.Summary("y", "p", {(): truecal.Tally([0.2, 0.7], [3, 1], [0, 1])})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = truecal.write_summary(monday, f"{folder}/monday.parquet")
    ...     truecal.is_summary(place), truecal.read_summary(place) == monday
    (True, True)
    """
    if not isinstance(summary, Summary):
        raise TypeError(f"`summary` must be a `Summary`; it is {type(summary).__name__}.")
    place = Path(path)
    if place.suffix.lower() not in files.FORMATS["parquet"]:
        raise ValueError(f"`path` must end in .parquet, so that folders of summaries are found; it is {str(place)!r}.")
    data = _encode(summary)
    with written(place) as draft:
        draft.write_bytes(data)
    return place


def read_summary(path: PathLike) -> Summary:
    """Read a file of `write_summary`; a file that is damaged, of something else, or of a later version is refused."""
    data = Path(path).read_bytes()
    pl = _polars()
    with _naming(path):
        settings = _settings(data)
        _check(data, settings)
        try:
            summary = _decode(pl, data, settings)
        except Exception as error:
            raise ValueError(f"it cannot be read: {error}") from error
        found = {"rows": summary.observations, "positives": summary.positives}
        if any(settings[name] != count for name, count in found.items()):
            raise ValueError("its counts are not those it was written with" + MENDING)
        return summary


def read_settings(path: PathLike) -> dict[str, Any]:
    """What a file of `write_summary` says of itself, such as its columns, without reading its lines."""
    with _naming(path):
        return _settings(Path(path).read_bytes())


def is_summary(data: Any) -> bool:
    """Whether data are a `Summary`, or a path to one, by the file's last bytes; of several, or a folder, the first."""
    if isinstance(data, Summary) or not files.is_path(data):
        return isinstance(data, Summary)
    try:
        place = files.expand(os.fspath(data[0] if isinstance(data, (list, tuple)) else data))[0]
        with open(place, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(size - 8, 0))
            end = file.read()
            if end[4:] != MAGIC:
                return False
            length = int.from_bytes(end[:4], "little")
            file.seek(max(size - 8 - length, 0))
            return OPENING in file.read(length)
    except OSError:
        return False


def merge_summaries(
    paths: PathLike | Sequence[PathLike],
    *,
    by: str | Sequence[str] | None = None,
    windows: Mapping[str, str] | None = None,
) -> Summary:
    """The sum of files of `write_summary`: a path or paths, which may be folders or hold wildcards.

    Files are read one after the other, and sums of equally many files are added: what is in memory is the sum a few
    times over. Where that is too much, `by` keeps only some of the columns, `()` none, and `windows` makes those of
    time longer; see `Summary.over`.
    """
    given: list[PathLike] = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    places = [place for part in given for place in files.expand(os.fspath(part))]
    seen: set[Path] = set()
    sums: list[tuple[int, Summary]] = []  # of how many files each, like the digits of a binary number
    for place in places:
        if place.resolve() in seen:
            raise ValueError(f"Every file must be named once, so that no row counts twice; {str(place)!r} is not.")
        seen.add(place.resolve())
        count, total = 1, read_summary(place)
        total = total.over(total.by if by is None else by, windows)
        with _naming(place, "must add to the files before it"):
            while sums and sums[-1][0] == count:
                count, total = 2 * count, sums.pop()[1] + total
        sums.append((count, total))
    if not sums:
        raise ValueError("`paths` must name at least one file; it is empty.")
    _, total = sums.pop()
    while sums:
        total = sums.pop()[1] + total
    return total


def open_summary(data: Any, label: str | None, score: Any, by: str | Sequence[str] | None) -> Summary | None:
    """A summary that is given, or one in files of which no columns are named; None for anything else. Of files, no
    more than the columns `by` are kept."""
    if isinstance(data, Summary):
        return data
    if (label is None or score is None) and files.is_path(data) and data not in ("-", ["-"]):
        return merge_summaries(data, by=by or ()) if label is score or is_summary(data) else None
    return None


def find_summary(data: Any, columns: Columns) -> Summary | None:
    """A summary that is given, or one in files, if it is of these columns; None for other data."""
    if not is_summary(data):
        return None
    summary = data if isinstance(data, Summary) else merge_summaries(data, by=columns.by, windows=columns.windows)
    summary.check_columns(columns)
    return summary


@contextmanager
def _naming(path: PathLike, rule: str = "must be a summary that `write_summary` wrote") -> Iterator[None]:
    """Errors with the name of the file."""
    try:
        yield
    except (ValueError, TypeError) as error:
        told = str(error)
        kind = ValueError if isinstance(error, ValueError) else TypeError
        raise kind(f"{os.fspath(path)!r} {rule}; {told}{'' if 'Hint:' in told else '.'}") from error


def _settings(data: bytes) -> dict[str, Any]:
    """The settings in a file's metadata, if it is a summary of a known version."""
    if data[:4] != MAGIC:
        raise ValueError(f"it is {'no Parquet file' if data else 'empty'}")
    if data[-4:] != MAGIC or len(data) < 12:
        raise ValueError("it is damaged: its end is missing" + MENDING)
    start = data.rfind(OPENING)
    if start < 0:
        raise ValueError("it is a Parquet file of something else.\n\nHint: `summarize` makes summaries of data.")
    try:
        settings, _ = json.JSONDecoder().raw_decode(data[start:].decode("latin-1"))
        schema, own = settings["truecal_summary"], settings["version"]
    except (ValueError, KeyError) as error:
        raise ValueError("it is damaged: its settings cannot be read" + MENDING) from error
    if isinstance(schema, int) and schema > SCHEMA:
        raise ValueError(
            f"it is of version {schema}, written by truecal {own}; truecal {__version__} reads up to {SCHEMA}."
            "\n\nHint: update truecal."
        )
    return dict(settings)


def _digest(data: bytes) -> tuple[int, bytes]:
    """Where a file's checksum stands, and what it should be."""
    start = data.rfind(CLOSING, max(data.rfind(OPENING), 0)) + len(CLOSING)
    view = memoryview(data)
    digest = blake2b(view[:start], digest_size=len(BLANK) // 2)
    digest.update(BLANK)
    digest.update(view[start + len(BLANK) :])
    return start, digest.hexdigest().encode()


def _check(data: bytes, settings: Mapping[str, Any]) -> None:
    start, digest = _digest(data)
    if data[start : start + len(BLANK)] != digest or str(settings.get("checksum")).encode() != digest:
        raise ValueError("it is damaged: its checksum is not that of its content" + MENDING)


def _encode(summary: Summary) -> bytes:
    """A summary as the bytes of its file."""
    pl = _polars()
    parts = list(summary.parts.values())
    lines = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    columns = {}
    for i, name in enumerate(summary.by):
        values = [key[i] for key in summary.parts]
        columns[f"by{i}"] = pl.Series(name, values, dtype=_dtype(pl, values)).gather(lines)
    numbers = [part.columns if isinstance(part, Cells) else part.entries for part in parts]
    joined = [np.concatenate(column) for column in zip(*numbers, strict=True)]
    settings = {
        OPENING.decode()[2:-3]: SCHEMA,
        "version": __version__,
        "by": summary.by,
        "windows": summary.windows,
        "label": summary.label,
        "score": summary.score,
        "pos_label": summary.pos_label,
        "bits": summary.bits,
        "rows": summary.observations,
        "positives": summary.positives,
        "checksum": BLANK.decode(),
    }
    if summary.bits is None:
        columns |= dict(zip(("score", "n", "pos"), joined, strict=True))
    else:
        _, n, pos, total, low, high = joined
        told = pl.DataFrame({"n": n, "pos": pos, "low": low, "high": high, "total": total})
        columns |= told.with_columns(
            high=pl.when(pl.lit(pl.Series(high != low))).then("high"),
            total=pl.when(pl.lit(pl.Series(total != _middle(n, low, high)))).then("total"),
        ).to_dict()
    buffer = BytesIO()
    metadata = {"truecal": json.dumps(settings)}
    pl.DataFrame(columns).write_parquet(buffer, compression="zstd", statistics=False, metadata=metadata)
    data = buffer.getvalue()
    start, digest = _digest(data)
    return b"".join((data[:start], digest, data[start + len(BLANK) :]))


def _decode(pl: Any, data: bytes, settings: Mapping[str, Any]) -> Summary:
    """The summary in a file's bytes."""
    frame = pl.read_parquet(BytesIO(data))
    by, bits = tuple(settings["by"]), settings["bits"]
    names = [f"by{i}" for i in range(len(by))]
    starts = np.zeros(1, dtype=np.int64)
    keys: list[Segment] = [()]
    if by:
        runs = frame.select(pl.struct(names).rle_id().alias("run"))["run"].to_numpy()
        starts = np.flatnonzero(np.diff(runs, prepend=-1)) if len(runs) else starts
        keys = frame.select(names)[starts].rows()
    n, pos = (frame[name].to_numpy().astype(np.int64) for name in ("n", "pos"))
    if bits is None:
        columns = [frame["score"].to_numpy(), n, pos]
    else:
        low = frame["low"].to_numpy()
        high = frame["high"].fill_null(frame["low"]).to_numpy()
        total = frame["total"].fill_null(pl.Series(_middle(n, low, high))).to_numpy()
        columns = [cell(low, bits), n, pos, total, low, high]
    parts: dict[Segment, Part] = {}
    for key, (first, last) in zip(keys, pairwise([*starts.tolist(), len(frame)]), strict=True):
        some = [column[first:last] for column in columns]
        parts[key] = Tally(*some) if bits is None else Cells(bits, *some)
    return Summary(settings["label"], settings["score"], parts, by, settings["windows"], bits, settings["pos_label"])


def _middle(n: Ints, low: Floats, high: Floats) -> Floats:
    """The sum of one score or two exactly, and a guess for more; it is what a missing sum stands for."""
    return n * (low + high) / 2


def _dtype(pl: Any, values: Sequence[Any]) -> Any:
    """The type of a column in a file."""
    kinds = {
        str: pl.String,
        int: pl.Int64,
        float: pl.Float64,
        bool: pl.Boolean,
        date: pl.Date,
        datetime: pl.Datetime("us"),
    }
    return kinds[next((type(value) for value in values if value is not None), bool)]


def _polars() -> Any:
    try:
        import polars
    except ImportError as error:
        raise ImportError("Summaries in files need polars: pip install 'truecal[files]'") from error
    return polars
