"""Supplement, significance level 0.001 to 0.5; the gap columns do not depend on it."""

from __future__ import annotations

import sys

from reproduction.cells import write_cells
from reproduction.gda import TESTS, World, compare
from reproduction.published import read_table
from reproduction.settings import SOLVER, Setting
from reproduction.sources import Sources


def run(_: Sources) -> None:
    """Compare the six levels."""
    table = read_table("gda_significance")
    cells = []
    for row in table.rows:
        cells += compare(table, row, World(test=TESTS[row[0]]), Setting(significance=float(row[1])), (SOLVER,))
    write_cells("gda_significance", cells)


if __name__ == "__main__":
    from reproduction.__main__ import main

    sys.exit(main(["gda_significance"]))
