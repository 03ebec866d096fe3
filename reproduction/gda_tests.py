"""Supplement, binomial test (-B) against t-test (-T) over the ranges of bin sizes.

`truecal` is the t-test proper; the published -T columns come out when the variance stands where its root belongs.
"""

from __future__ import annotations

import sys

from reproduction.cells import write_cells
from reproduction.gda_size_range import compare_ranges
from reproduction.published import read_table
from reproduction.settings import CUTS, SOLVER, VARIANCE
from reproduction.sources import Sources


def run(_: Sources) -> None:
    """Compare both tests over the five ranges."""
    table = read_table("gda_tests")
    binomial = tuple(name for name in table.columns if name.endswith("-B"))
    student = tuple(name for name in table.columns if name.endswith("-T"))
    cells = compare_ranges(table, binomial, (SOLVER, CUTS))
    cells += compare_ranges(table, student, (VARIANCE, SOLVER, CUTS))
    write_cells("gda_tests", cells)


if __name__ == "__main__":
    from reproduction.__main__ import main

    sys.exit(main(["gda_tests"]))
