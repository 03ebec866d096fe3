"""Summaries wherever they are: given, or in files that are found by their paths and added."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from truecal._errors import option
from truecal.observations import (
    MAGIC,
    OPENING,
    Part,
    Segment,
    Tallies,
    as_cells,
    bits_of,
    coarsest,
    naming,
    read_summary,
)
from truecal.reading import _files as files
from truecal.reading._files import PathLike
from truecal.reading._query import SCALE, Columns


def is_summary(data: Any) -> bool:
    """Whether data are a `Tallies`, or a path to one, by the file's last bytes; of several, or a folder, the first."""
    if isinstance(data, Tallies) or not files.is_path(data):
        return isinstance(data, Tallies)
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
) -> Tallies:
    """The sum of files of `write_summary`: a path or paths, which may be folders or hold wildcards.

    Files are read one after the other, and sums of equally many files are added: what is in memory is the sum a few
    times over. Where that is too much, `by` keeps only some of the columns, `()` none, and `windows` makes those of
    time longer; see `Tallies.over`.
    """
    given: list[PathLike] = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    places = [place for part in given for place in files.expand(os.fspath(part))]
    seen: set[Path] = set()
    sums: list[tuple[int, Tallies]] = []  # of how many files each, like the digits of a binary number
    for place in places:
        if place.resolve() in seen:
            raise ValueError(f"Every file must be named once, so that no row counts twice; {str(place)!r} is not.")
        seen.add(place.resolve())
        count, total = 1, read_summary(place)
        total = total.over(total.by if by is None else by, windows)
        with naming(place, "must add to the files before it"):
            while sums and sums[-1][0] == count:
                count, total = 2 * count, sums.pop()[1] + total
        sums.append((count, total))
    if not sums:
        raise ValueError("`paths` must name at least one file; it is empty.")
    _, total = sums.pop()
    while sums:
        total = sums.pop()[1] + total
    return total


def open_summary(data: Any, label: str | None, score: Any, by: str | Sequence[str] | None) -> Tallies | None:
    """A summary that is given, or one in files of which no columns are named; None for anything else. Of files, no
    more than the columns `by` are kept."""
    if isinstance(data, Tallies):
        return data
    if (label is None or score is None) and files.is_path(data) and data not in ("-", ["-"]):
        return merge_summaries(data, by=by or ()) if label is score or is_summary(data) else None
    return None


def find_summary(data: Any, columns: Columns) -> Tallies | None:
    """A summary that is given, or one in files, if it is of these columns; None for other data."""
    if not is_summary(data):
        return None
    summary = data if isinstance(data, Tallies) else merge_summaries(data, by=columns.by, windows=columns.windows)
    check_columns(summary, columns)
    return summary


def summary_of(parts: Mapping[Segment, Part], columns: Columns) -> Tallies:
    """A summary of what was read; parts of which some are cells and others are not become cells of one grid."""
    grid = columns.scale.grid
    bits = grid if isinstance(grid, int) else coarsest([bits_of(part) for part in parts.values()])
    positive = None if columns.pos_label is None else str(columns.pos_label)
    alike = {key: as_cells(part, bits) for key, part in parts.items()}
    return Tallies(columns.label, columns.scores[0], alike, columns.by, columns.windows, bits, positive)


def check_columns(summary: Tallies, columns: Columns) -> None:
    """Refuse to be read as something else than what is summarized here."""
    asked: dict[str, tuple[Any, Any]] = {
        "label": (columns.label, summary.label),
        "score": (columns.scores, (summary.score,)),
    }
    if columns.pos_label is not None:
        asked["pos_label"] = str(columns.pos_label), summary.pos_label
    for name, (given, own) in asked.items():
        if given != own:
            raise ValueError(f"{option(name)} must be that of the summary, {own!r}, or be left out; it is {given!r}.")
    for name, idle in (
        ("on_null", columns.on_null == "raise"),
        ("format", columns.format in (None, "parquet")),
        ("scale", columns.scale == SCALE),
    ):
        if not idle:
            raise ValueError(f"{option(name)} must be left out where a summary is read: it has no rows.")
