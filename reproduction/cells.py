"""One cell of a table: published, ours, the difference, and its cause.

A cell's cause is found, not asserted: when truecal's plain value is not the printed one, the variants of
`reproduction.variants` are tried, singly and together, until one reproduces the printed digits.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path

from reproduction.places import RESULTS, say, write_whole
from reproduction.published import is_printed

EQUAL, UNEXPLAINED, MISSING = "equal", "unexplained", "missing"
Variants = frozenset[str]


@dataclass(frozen=True)
class Cell:
    """`truecal` is the library's plain value, `reproduced` the value with the variants named in `cause`.

    cause is "equal" if truecal gives the printed digits; one or more variants joined by " + "; "missing: ..." for
    absent data; or "unexplained".
    """

    table: str
    row: str
    column: str
    published: str
    truecal: float | None
    reproduced: float | None
    cause: str

    @property
    def difference(self) -> float | None:
        return None if self.truecal is None else self.truecal - float(self.published)

    @property
    def is_reproduced(self) -> bool:
        return self.reproduced is not None and is_printed(self.reproduced, self.published)


def explain(
    where: tuple[str, str, str], printed: str, value_of: Callable[[Variants], float], causes: Sequence[str]
) -> Cell:
    """Compare a cell and, if it differs, find the fewest of `causes` that give the printed digits."""
    plain = value = value_of(frozenset())
    for size in range(len(causes) + 1):
        for chosen in combinations(causes, size):
            value = value_of(frozenset(chosen))
            if is_printed(value, printed):
                return Cell(*where, printed, plain, value, " + ".join(chosen) or EQUAL)
    return Cell(*where, printed, plain, value, UNEXPLAINED)


def missing(where: tuple[str, str, str], printed: str, name: str) -> Cell:
    """A cell whose data is not at hand."""
    return Cell(*where, printed, None, None, f"{MISSING}: {name}")


def write_cells(name: str, cells: Iterable[Cell]) -> Path:
    """Store an experiment's cells as `results/<name>.csv`."""
    lines = [{**asdict(cell), "difference": cell.difference} for cell in cells]
    order = ("table", "row", "column", "published", "truecal", "difference", "cause", "reproduced")
    return write_rows(name, [{key: line[key] for key in order} for line in lines], "truecal")


def write_rows(name: str, rows: Sequence[dict[str, object]], filled: str | None = None) -> Path:
    """Store any table as `results/<name>.csv`, numbers with six decimals.

    A stored file that has more rows (more values in the column `filled`) is kept: this run lacked data that it had.
    """
    path = RESULTS / f"{name}.csv"
    now = [row for row in rows if filled is None or row[filled] is not None]
    before = [row for row in read_rows(name) if filled is None or row.get(filled)] if path.exists() else []
    if len(now) < len(before):
        say(f"    {path.name} is kept: it has {len(before)} values, this run only {len(now)}; delete it to start anew")
        return path

    def write(part: Path) -> None:
        with part.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows({key: _shown(value) for key, value in row.items()} for row in rows)

    write_whole(path, write)
    return path


def read_cells(name: str) -> list[Cell]:
    """The stored cells of an experiment."""
    return [
        Cell(
            table=line["table"],
            row=line["row"],
            column=line["column"],
            published=line["published"],
            truecal=float(line["truecal"]) if line["truecal"] else None,
            reproduced=float(line["reproduced"]) if line["reproduced"] else None,
            cause=line["cause"],
        )
        for line in read_rows(name)
    ]


def read_rows(name: str) -> list[dict[str, str]]:
    """A stored table."""
    with (RESULTS / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def _shown(value: object) -> object:
    if isinstance(value, float):
        return f"{value + 0.0:.6f}"
    return "" if value is None else value
