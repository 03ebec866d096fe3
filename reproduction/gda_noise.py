"""Supplement, normal noise on the predictions' logits, with the standard deviation of the row.

The draws go on from the stream of the data, one vector per row, the row without noise included. `gda_noise_seeds.csv`
holds the range of every cell over 20 other seeds: how much of the table is the draw.
"""

from __future__ import annotations

import sys

from reproduction.cells import write_cells, write_rows
from reproduction.gda import TESTS, World, compare, value
from reproduction.published import read_table
from reproduction.settings import SOLVER, Setting
from reproduction.sources import Sources

SEEDS = range(20)


def run(_: Sources) -> None:
    """Compare the six levels, and draw each with 20 other seeds."""
    table = read_table("gda_noise")
    cells, ranges = [], []
    for row in table.rows:
        test, noise = TESTS[row[0]], float(row[1])
        cells += compare(table, row, World(test=test, noise=noise), Setting(), (SOLVER,))
        for column in table.columns if noise else ():
            worlds = [World(test=test, noise=noise, noise_seed=seed) for seed in SEEDS]
            values = [value(column, world, Setting(), frozenset([SOLVER])) for world in worlds]
            found = {"low": min(values), "high": max(values)}
            ranges.append({"row": " | ".join(row), "column": column, "published": table[row, column], **found})
    write_cells("gda_noise", cells)
    write_rows("gda_noise_seeds", ranges)


if __name__ == "__main__":
    from reproduction.__main__ import main

    sys.exit(main(["gda_noise"]))
