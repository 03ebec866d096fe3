"""Supplement, range of bin sizes. A label [a, b] is a range of numbers of bins: sizes go from N / b to N / a.

The other columns have b / 2 bins. One label, [10, 20], is a slip for [5, 20]: run as printed it gives other numbers.
"""

from __future__ import annotations

import sys

from reproduction.cells import Cell, Variants, explain, write_cells
from reproduction.gda import TESTS, World, value
from reproduction.published import Table, read_table
from reproduction.settings import CUTS, LABEL, SOLVER, Setting
from reproduction.sources import Sources

N = 6000
MEANT = {"[10, 20]": "[5, 20]"}


def setting_of(label: str) -> Setting:
    """The sizes behind a label "[a, b]"."""
    fewest, most = (int(part) for part in label.strip("[]").split(","))
    return Setting(n_min=N // most, n_max=N // fewest, bins=most // 2)


def compare_ranges(table: Table, columns: tuple[str, ...], causes: tuple[str, ...]) -> list[Cell]:
    """Cells of a table whose rows are ranges of bin sizes."""
    cells = []
    for row in table.rows:
        world, label = World(test=TESTS[row[0]]), row[1]
        for column in columns:

            def value_of(variants: Variants, column: str = column, world: World = world, label: str = label) -> float:
                meant = MEANT.get(label, label) if LABEL in variants else label
                return value(column, world, setting_of(meant), variants)

            tried = (LABEL, *causes) if label in MEANT else causes
            cells.append(explain((table.name, " | ".join(row), column), table[row, column], value_of, tried))
    return cells


def run(_: Sources) -> None:
    """Compare the five ranges."""
    table = read_table("gda_size_range")
    write_cells("gda_size_range", compare_ranges(table, table.columns, (SOLVER, CUTS)))


if __name__ == "__main__":
    from reproduction.__main__ import main

    sys.exit(main(["gda_size_range"]))
