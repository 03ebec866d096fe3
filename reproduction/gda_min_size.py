"""Supplement, minimum bin size: N_min as labelled, N_max = N.

The other columns follow the row too: their numbers of bins are 1000, 500, 100, 50, 10, 5, 1, found by trying every
number. That is N / (2 N_min) but for the first row, where it would be 3000.
"""

from __future__ import annotations

import sys

from reproduction.cells import write_cells
from reproduction.gda import TESTS, World, compare
from reproduction.published import read_table
from reproduction.settings import CUTS, SOLVER, Setting
from reproduction.sources import Sources

CAUSES = (SOLVER, CUTS)
BINS = {1: 1000, 6: 500, 30: 100, 60: 50, 300: 10, 600: 5, 3000: 1}
N = 6000


def run(_: Sources) -> None:
    """Compare the seven sizes at both prevalences."""
    table = read_table("gda_min_size")
    cells = []
    for row in table.rows:
        size = int(row[1])
        setting = Setting(n_min=size, n_max=N, bins=BINS[size])
        cells += compare(table, row, World(test=TESTS[row[0]]), setting, CAUSES)
    write_cells("gda_min_size", cells)


if __name__ == "__main__":
    from reproduction.__main__ import main

    sys.exit(main(["gda_min_size"]))
