"""The published tables as printed: every number keeps its digits, because they say how exact it is."""

from __future__ import annotations

import csv
from dataclasses import dataclass

from reproduction.places import PUBLISHED

ROW_NAMES = {"gda_prevalence": 2, "gda_main": 1, "imagenet": 1, "uci_abalone": 1, "uci_webpage": 1}
ROW_NAMES |= {"bins_satimage_rf": 1, "bins_coil_2000_rf": 1}
TWO = 2  # the others' rows are named by two columns


@dataclass(frozen=True)
class Table:
    """One table: rows named by a tuple of labels, the columns' names, and the cells as printed."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: dict[tuple[str, ...], tuple[str, ...]]

    def __getitem__(self, key: tuple[tuple[str, ...], str]) -> str:
        row, column = key
        return self.rows[row][self.columns.index(column)]


def read_table(name: str) -> Table:
    """A table of `published/`, by the name of its file."""
    with (PUBLISHED / f"{name}.csv").open(newline="") as file:
        head, *body = csv.reader(file)
    names = ROW_NAMES.get(name, TWO)
    rows = {tuple(line[:names]): tuple(line[names:]) for line in body}
    return Table(name, titles()[name], tuple(head[names:]), rows)


def titles() -> dict[str, str]:
    """What each table is, by the name of its file."""
    with (PUBLISHED / "index.csv").open(newline="") as file:
        return {line["file"]: f"{line['title']} ({line['place']})" for line in csv.DictReader(file)}


def half_digit(printed: str) -> float:
    """Half a unit of the last printed digit: what rounding may have taken."""
    return 0.5 * 10.0 ** -len(printed.partition(".")[2])


def is_printed(value: float, printed: str) -> bool:
    """Whether a number, rounded as the table does, is what the table prints."""
    return abs(value - float(printed)) <= half_digit(printed) * (1 + 1e-6)
