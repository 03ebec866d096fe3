"""Observations in Parquet files: one line for each segment and score (or cell). A damaged file is never read.

Settings are JSON in the file's metadata, under "truecal". They hold a checksum of the entire file, computed with zeros
in the checksum's place. It is checked before any Parquet is decoded.

Columns are `by0`, `by1`, ... in the order of the setting `by`, then `score`, `n`, `pos`; or for cells `n`, `pos`,
`low`, `high`, `score_sum`. A null `high` equals `low`; a null `score_sum` equals n (low + high) / 2. Rows with weights
have their sums in `weight`, those of positives in `weight_pos`. Rows that were dropped are counted in `n` of lines of
their own, with the kind of the reason in `dropped` and its column, if any, in `dropped_column`. Rows in clusters have
further lines: the hash of a `cluster`, with its rows `n` and positives `pos` at the score, or cell, of the segment's
line number `position`, from 0 on.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import date, datetime
from hashlib import blake2b
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from truecal import __version__
from truecal._atomic import write_atomically
from truecal._errors import name_place, option
from truecal._fork import check_fork
from truecal.data._arrays import Floats, Ints
from truecal.data._cell_groups import Part
from truecal.data._cells import Cells, ScoreSums
from truecal.data._clusters import Clusters
from truecal.data._grid import cell
from truecal.data._importance import Importance
from truecal.data._observations import Observations, Segment, plain_value, with_sampling
from truecal.data._row_counts import Reason
from truecal.data._sampling import NO_SAMPLING, Sampling
from truecal.data._tally import Tally

PathLike = str | os.PathLike[str]
SCHEMA = 3  # the first that knows clusters; 2 knows rows sampled by label and weights, and 1 neither
SUFFIXES = (".parquet", ".pq")
MAGIC = b"PAR1"  # at both ends of a Parquet file
OPENING = b'{"truecal_tallies": '
CLOSING = b'"checksum": "'
BLANK = b"0" * 64
CLUSTER_COLUMNS = ("cluster", "position", "n", "pos")
REMEDY = ".\n\nHint: restore a copy, or read the data again."


def write_tallies(observations: Observations, path: PathLike) -> Path:
    """Write tallies to a Parquet file; see `Observations.save`."""
    if observations.baseline is not None:
        raise ValueError(
            f"{option('baseline')} must be None for tallies to be saved: a file of tallies has no pairs of scores."
            f"\n\nHint: read the data without {option('baseline')}, or save the results."
        )
    for key in (*observations.parts, *observations.dropped):
        for name, value in zip(observations.by, key, strict=True):
            if plain_value(value) is NotImplemented:
                raise TypeError(
                    f"`{name}` must hold text, 64-bit whole numbers, floats, booleans, dates, times in "
                    f"microseconds without a zone, or None to be saved; it holds {value!r}.\n\n"
                    "Hint: cast it to text first."
                )
    target = Path(path)
    if target.suffix.lower() not in SUFFIXES:
        raise ValueError(
            f"{option('path')} must end in .parquet or .pq, so that folders of tallies are found; it is "
            f"{str(target)!r}."
        )
    data = _encode_observations(observations)
    with write_atomically(target) as draft:
        draft.write_bytes(data)
    return target


def read_tallies(path: PathLike) -> Observations:
    """Read tallies from a Parquet file; see `Observations.load`."""
    pl = _import_polars()
    with name_file(path):
        data = Path(path).read_bytes()
        settings = _parse_settings(data)
        _check_digest(data, settings)
        try:
            observations = _decode_observations(pl, data, settings)
        except (KeyboardInterrupt, SystemExit, MemoryError):
            raise
        except BaseException as error:  # polars panics with an error that is no `Exception`
            kind = "" if isinstance(error, (ValueError, TypeError)) else f"{type(error).__name__}: "
            raise ValueError(f"it cannot be read: {kind}{error}") from error
        totals = {"rows": observations.n_rows, "positives": observations.positives}
        if any(settings.get(name) != count for name, count in totals.items()):
            raise ValueError("its counts differ from those it was written with" + REMEDY)
        return observations


def read_settings(path: PathLike) -> dict[str, Any]:
    """Read the settings of a file that `Observations.save` wrote, such as its columns, without decoding its lines."""
    with name_file(path):
        return _parse_settings(Path(path).read_bytes())


def is_observations_file(path: PathLike) -> bool:
    """Return whether `Observations.save` wrote a file, by its last bytes."""
    with name_place(path), open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - 8, 0))
        end = file.read()
        if end[4:] != MAGIC:
            return False
        length = min(int.from_bytes(end[:4], "little"), size)  # a wrong one may be of gigabytes
        file.seek(max(size - 8 - length, 0))
        return OPENING in file.read(length)


@contextmanager
def name_file(path: PathLike, rule: str = "") -> Iterator[None]:
    """Add the name of the file to errors."""
    try:
        with name_place(path):
            yield
    except (ValueError, TypeError) as error:
        message = str(error)
        kind = ValueError if isinstance(error, ValueError) else TypeError
        rule = rule or f"must be a file that {option('Observations.save')} wrote"
        raise kind(f"{os.fspath(path)!r} {rule}; {message}{'' if 'Hint:' in message else '.'}") from error


def _parse_settings(data: bytes) -> dict[str, Any]:
    """Return the settings in a file's metadata; raise an error unless it holds observations of a known version."""
    if data[:4] != MAGIC:
        raise ValueError(f"it is {'not a Parquet file' if data else 'empty'}")
    if data[-4:] != MAGIC or len(data) < 12:
        raise ValueError("it is damaged: its end is missing" + REMEDY)
    start = data.rfind(OPENING)
    if start < 0:
        hint = f"\n\nHint: {option('truecal.read')} turns data into tallies."
        raise ValueError(f"it is a Parquet file without tallies.{hint}")
    try:
        settings, _ = json.JSONDecoder().raw_decode(data[start:].decode("latin-1"))
        schema, version = settings["truecal_tallies"], settings["version"]
    except (ValueError, KeyError, RecursionError) as error:
        raise ValueError("it is damaged: its settings cannot be read" + REMEDY) from error
    if isinstance(schema, int) and schema > SCHEMA:
        raise ValueError(
            f"it is of version {schema}, written by truecal {version}; truecal {__version__} reads up to {SCHEMA}."
            "\n\nHint: update truecal."
        )
    return dict(settings)


def _digest(data: bytes) -> tuple[int, bytes]:
    """Return the position of a file's checksum, and the checksum that its content has."""
    start = data.rfind(CLOSING, max(data.rfind(OPENING), 0)) + len(CLOSING)
    view = memoryview(data)
    digest = blake2b(view[:start], digest_size=len(BLANK) // 2)
    digest.update(BLANK)
    digest.update(view[start + len(BLANK) :])
    return start, digest.hexdigest().encode()


def _check_digest(data: bytes, settings: Mapping[str, Any]) -> None:
    start, digest = _digest(data)
    if data[start : start + len(BLANK)] != digest or str(settings.get("checksum")).encode() != digest:
        raise ValueError("it is damaged: its checksum does not match its content" + REMEDY)


def _encode_observations(observations: Observations) -> bytes:
    """Return the bytes of the file for tallies."""
    pl = _import_polars()
    parts = [part.grouped for part in observations.parts.values()]
    left_out = [(key, reason, n) for key, reasons in observations.dropped.items() for reason, n in reasons.items()]
    pairs = [part.clusters for part in parts if part.clusters is not None]
    lines = [
        _name_lines(pl, observations, list(observations.parts), [len(part) for part in parts])
        | _encode_numbers(pl, parts),
        _name_lines(pl, observations, [key for key, _, _ in left_out], [1] * len(left_out))
        | _encode_dropped(pl, [(reason, n) for _, reason, n in left_out]),
    ]
    if pairs:
        columns = {name: np.concatenate([getattr(clusters, name) for clusters in pairs]) for name in CLUSTER_COLUMNS}
        lines.append(
            _name_lines(pl, observations, list(observations.parts), [len(clusters) for clusters in pairs]) | columns
        )
    plain = observations.sampling == NO_SAMPLING and not observations.weighted
    settings = {
        OPENING.decode()[2:-3]: SCHEMA if pairs else 1 if plain else 2,
        "version": __version__,
        "by": observations.by,
        "periods": observations.periods,
        "label": observations.label,
        "score": observations.score,
        "outcome": observations.outcome,
        "pos_label": observations.pos_label,
        "bits": observations.bits,
        "rows": observations.n_rows,
        "positives": observations.positives,
        **({} if observations.sampling == NO_SAMPLING else {"sampling": asdict(observations.sampling)}),
        **({} if observations.cluster is None else {"cluster": observations.cluster}),
        "checksum": BLANK.decode(),
    }
    frames = [frame for frame in map(pl.DataFrame, lines) if len(frame)]
    frame = frames[0] if len(frames) == 1 else pl.concat(frames, how="diagonal")
    buffer = BytesIO()
    metadata = {"truecal": json.dumps(settings)}
    frame.write_parquet(buffer, compression="zstd", statistics=False, metadata=metadata)
    data = buffer.getvalue()
    start, digest = _digest(data)
    return b"".join((data[:start], digest, data[start + len(BLANK) :]))


def _name_lines(pl: Any, observations: Observations, keys: Sequence[Segment], counts: Sequence[int]) -> dict[str, Any]:
    """The columns of segments of lines, so many for each of some segments."""
    line_keys = np.repeat(np.arange(len(keys)), counts)
    known = [*observations.parts, *observations.dropped]
    columns = {}
    for i, name in enumerate(observations.by):
        dtype = _choose_dtype(pl, [key[i] for key in known])
        columns[f"by{i}"] = pl.Series(name, [key[i] for key in keys], dtype=dtype).gather(line_keys)
    return columns


def _encode_dropped(pl: Any, dropped: Sequence[tuple[Reason, int]]) -> dict[str, Any]:
    """The columns of reasons, with the rows that were dropped for each."""
    return {
        "n": [n for _, n in dropped],
        "dropped": [str(reason.kind) for reason, _ in dropped],
        "dropped_column": pl.Series([reason.column for reason, _ in dropped], dtype=pl.String),
    }


def _encode_numbers(pl: Any, parts: Sequence[Tally | Cells]) -> dict[str, Any]:
    """The columns of scores or cells, with their rows, positives and weights."""
    numbers = [part.columns for part in parts]
    joined = [np.concatenate(column) for column in zip(*numbers, strict=True)]
    if parts[0].bits is None:
        columns = dict(zip(("score", "n", "pos"), joined, strict=True))
        weights = [part.importance_weight for part in parts if part.importance_weight is not None]
        if weights:
            columns["weight"] = np.concatenate([weight.total for weight in weights])
            columns["weight_pos"] = np.concatenate([weight.positive for weight in weights])
        return columns
    _, n, pos, score_sum, low, high = joined
    lines = pl.DataFrame({"n": n, "pos": pos, "low": low, "high": high, "score_sum": score_sum})
    return dict(
        lines.with_columns(
            high=pl.when(pl.lit(pl.Series(high != low))).then("high"),
            score_sum=pl.when(pl.lit(pl.Series(score_sum != _default_sum(n, low, high)))).then("score_sum"),
        ).to_dict()
    )


def _decode_observations(pl: Any, data: bytes, settings: Mapping[str, Any]) -> Observations:
    """Return the tallies in a file's bytes."""
    frame = pl.read_parquet(BytesIO(data))
    by, bits = tuple(settings["by"]), settings["bits"]
    names = [f"by{i}" for i in range(len(by))]
    dropped: dict[Segment, dict[Reason, int]] = {}
    if "dropped" in frame.columns:
        lines = frame.filter(pl.col("dropped").is_not_null())
        for *key, column, kind, n in lines.select(*names, "dropped_column", "dropped", "n").rows():
            dropped.setdefault(tuple(key), {})[Reason(column, kind)] = n
        frame = frame.filter(pl.col("dropped").is_null())
    pairs = None
    if settings.get("cluster") is not None:
        pairs = frame.filter(pl.col("cluster").is_not_null())
        frame = frame.filter(pl.col("cluster").is_null())
    keys, ends = _find_runs(pl, frame, names)
    n, pos = (frame[name].to_numpy().astype(np.int64) for name in ("n", "pos"))
    if bits is None:
        columns = [frame["score"].to_numpy(), n, pos]
        weighted = [frame[name].to_numpy() for name in ("weight", "weight_pos") if name in frame.columns]
    else:
        weighted = []
        low = frame["low"].to_numpy()
        high = frame["high"].fill_null(frame["low"]).to_numpy()
        score_sum = frame["score_sum"].fill_null(pl.Series(_default_sum(n, low, high))).to_numpy()
        columns = [cell(low, bits), n, pos, score_sum, low, high]
    sampling = Sampling(**(settings.get("sampling") or {}))
    parts: dict[Segment, Part] = {}
    for key, (first, last) in zip(keys, ends, strict=True):
        some = [column[first:last] for column in columns]
        weights = [column[first:last] for column in weighted]
        part: Part = Tally(*some) if bits is None else _make_grid(bits, *some)
        if weights:
            part = replace(part.tally, importance_weight=Importance(*weights))
        parts[key] = with_sampling(part, sampling)
    if pairs is not None:
        parts = _decode_clusters(pl, pairs, names, parts)
    return Observations(
        settings["label"],
        settings["score"],
        parts,
        by,
        settings["periods"],
        bits,
        settings["pos_label"],
        dropped,
        cluster=settings.get("cluster"),
        outcome=settings.get("outcome", "positive"),
    )


def _make_grid(bits: int, key: Floats, n: Ints, pos: Ints, *scores: Floats) -> Cells:
    return Cells(bits, key, n, pos, ScoreSums(*scores))


def _find_runs(pl: Any, frame: Any, names: Sequence[str]) -> tuple[list[Segment], list[tuple[int, int]]]:
    """The segments of lines in their order, and the first line and the end of each."""
    if not names:
        return [()], [(0, len(frame))]
    runs = frame.select(pl.struct(names).rle_id().alias("run"))["run"].to_numpy()
    starts = np.flatnonzero(np.diff(runs, prepend=-1)) if len(runs) else np.zeros(1, dtype=np.int64)
    return frame.select(names)[starts].rows(), list(pairwise([*starts.tolist(), len(frame)]))


def _decode_clusters(pl: Any, pairs: Any, names: Sequence[str], parts: Mapping[Segment, Part]) -> dict[Segment, Part]:
    """Return parts with the clusters that a file's other lines have."""
    keys, ends = _find_runs(pl, pairs, names)
    if keys != list(parts):
        raise ValueError("the segments of its clusters are not those of its scores")
    clustered: dict[Segment, Part] = {}
    for key, (first, last) in zip(keys, ends, strict=True):
        part, lines = parts[key], pairs[first:last]
        cluster, position, n, pos = (lines[name].to_numpy().astype(np.int64) for name in CLUSTER_COLUMNS)
        whole = part.grouped
        right = (n >= 1) & (pos >= 0) & (pos <= n) & (position >= 0) & (position < len(part))
        clusters = Clusters.merge(cluster[right], position[right], n[right], pos[right])
        if not right.all() or len(clusters) < len(lines) or not clusters.adds_up(whole.n, whole.pos):
            raise ValueError("the rows of its clusters are not those of its scores")
        clustered[key] = replace(whole, clusters=clusters)
    return clustered


def _default_sum(n: Ints, low: Floats, high: Floats) -> Floats:
    """Return the sum that a null stands for: exact for one or two scores, a guess for more."""
    return n * (low + high) / 2


def _choose_dtype(pl: Any, values: Sequence[Any]) -> Any:
    """Return the polars type of a column of segment values."""
    kinds = {
        str: pl.String,
        int: pl.Int64,
        float: pl.Float64,
        bool: pl.Boolean,
        date: pl.Date,
        datetime: pl.Datetime("us"),
    }
    return kinds[next((type(value) for value in values if value is not None), bool)]


def _import_polars() -> Any:
    check_fork()
    try:
        import polars
    except ImportError as error:
        raise ImportError("Observations in files need polars: pip install 'truecal[files]'") from error
    return polars
