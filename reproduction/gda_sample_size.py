"""Supplement, sample size. The label counts test rows; the training set grows with it, in the ratio 7 to 3."""

from __future__ import annotations

import sys

from reproduction.cells import write_cells
from reproduction.gda import TESTS, World, compare
from reproduction.published import read_table
from reproduction.settings import CUTS, SOLVER, Setting
from reproduction.sources import Sources


def run(_: Sources) -> None:
    """Compare the eight sizes."""
    table = read_table("gda_sample_size")
    cells = []
    for row in table.rows:
        size = int(row[1])
        world = World(test=TESTS[row[0]], n_test=size, n_train=size * 7 // 3)
        cells += compare(table, row, world, Setting(), (SOLVER, CUTS))
    write_cells("gda_sample_size", cells)


if __name__ == "__main__":
    from reproduction.__main__ import main

    sys.exit(main(["gda_sample_size"]))
