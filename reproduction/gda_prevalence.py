"""Supplement, prevalence 50 % to 2 %, calibrated (test as train) and miscalibrated; every row from seed 0 anew."""

from __future__ import annotations

import sys

from reproduction.cells import write_cells
from reproduction.gda import World, compare
from reproduction.published import read_table
from reproduction.settings import CUTS, SOLVER, Setting
from reproduction.sources import Sources


def run(_: Sources) -> None:
    """Compare the eighteen pairs of prevalence."""
    table = read_table("gda_prevalence")
    cells = []
    for row in table.rows:
        train, test = (int(part.strip(" %")) / 100 for part in row[1].split("-"))
        cells += compare(table, row, World(train, test), Setting(), (SOLVER, CUTS))
    write_cells("gda_prevalence", cells)


if __name__ == "__main__":
    from reproduction.__main__ import main

    sys.exit(main(["gda_prevalence"]))
