"""Main table of simulated data: TCE, TCE(Q), ECE and ACE for six pairs of train and test prevalence.

The 1 % rows follow the solver: its stopping rule moves the fit most where positives are few.
"""

from __future__ import annotations

import sys

from reproduction.cells import write_cells
from reproduction.gda import World, compare
from reproduction.published import read_table
from reproduction.settings import SOLVER, Setting
from reproduction.sources import Sources

CAUSES = (SOLVER,)


def run(_: Sources) -> None:
    """Compare the six rows."""
    table = read_table("gda_main")
    cells = []
    for row in table.rows:
        train, test = (int(part.strip(" %")) / 100 for part in row[0].split("vs"))
        cells += compare(table, row, World(train, test), Setting(), CAUSES)
    write_cells("gda_main", cells)


if __name__ == "__main__":
    from reproduction.__main__ import main

    sys.exit(main(["gda_main"]))
