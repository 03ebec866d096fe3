"""Supplement, maximum bin size: N_max as labelled, N_min = 0.

The other columns repeat those of the minimum-size table, number of bins for number of bins (1000, 500, 100, 50, 10, 5,
1), although N / N_max is 1000, 200, 100, 20, 10, 2, 1.
"""

from __future__ import annotations

import sys

from reproduction.cells import write_cells
from reproduction.gda import TESTS, World, compare
from reproduction.published import read_table
from reproduction.settings import CUTS, SOLVER, Setting
from reproduction.sources import Sources

CAUSES = (SOLVER, CUTS)
BINS = {6: 1000, 30: 500, 60: 100, 300: 50, 600: 10, 3000: 5, 6000: 1}


def run(_: Sources) -> None:
    """Compare the seven sizes at both prevalences."""
    table = read_table("gda_max_size")
    cells = []
    for row in table.rows:
        size = int(row[1])
        setting = Setting(n_min=0, n_max=size, bins=BINS[size])
        cells += compare(table, row, World(test=TESTS[row[0]]), setting, CAUSES)
    write_cells("gda_max_size", cells)


if __name__ == "__main__":
    from reproduction.__main__ import main

    sys.exit(main(["gda_max_size"]))
