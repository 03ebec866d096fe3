"""Bins compared: PAVA, PAVA-BC and 10 quantiles on the random forests of satimage and coil_2000.

Total error: the mean over rows of rate (1 - rate) of their bin. Averaged within-bin error: its plain mean over bins.
"""

from __future__ import annotations

import math
import sys

import numpy as np

from reproduction.cells import Cell, Variants, explain, missing, write_cells, write_rows
from reproduction.places import say
from reproduction.published import Table, read_table
from reproduction.settings import TIES
from reproduction.sources import Array, Missing, Sources
from reproduction.variants.ties import introsort_order, tally_in_order, tie_orders
from truecal import BoundedIsotonic, Quantile, Tally
from truecal.metrics import Binning, Isotonic, measure_bins

TRUNCATED = "last digit (cut off?)"
SCHEMES: dict[str, Binning] = {
    "PAVA": Isotonic(),
    "PAVA-BC": BoundedIsotonic(sizes="paper"),
    "Quantile": Quantile(10),
}
QUANTITIES = {"Total Error": "total_error", "Averaged Within-Bin Error": "within_bin_error"}


def run(sources: Sources) -> None:
    """Compare both tables; coil_2000 is fitted here, as no stored predictions of it exist."""
    cells: list[Cell] = []
    for name in ("satimage", "coil_2000"):
        table = read_table(f"bins_{name}_rf")
        try:
            cells += compare_bins(table, *forest(sources, name))
        except Missing as error:
            sources.missing[error.name] = error.reason
            rows = [(row, column) for row in table.rows for column in table.columns]
            cells += [missing((table.name, row[0], column), table[row, column], error.name) for row, column in rows]
    write_cells("bins", cells)
    if any(cell.truecal is not None and cell.table == "bins_satimage_rf" for cell in cells):
        write_rows("bins_quantile", [ten_quantiles(*forest(sources, "satimage"))])


def forest(sources: Sources, name: str) -> tuple[Array, Array]:
    """Labels and predictions of the random forest: stored, or fitted here (random forests are the same bit for bit)."""
    try:
        stored = sources.stored_predictions()
        return stored[f"{name}_y"].astype(np.int64), stored[f"{name}_RF"]
    except (Missing, KeyError):
        from reproduction.uci_protocol import fit, split

        parts = split(name, *sources.uci(name))
        say(f"    {name} RF: no stored predictions, fitted here")
        return parts.y_test, fit(name, "RF", parts, sources.cache).score


def ten_quantiles(y: Array, score: Array) -> dict[str, object]:
    """Errors of satimage's ten quantile bins when ties are cut, and their range over tie orders."""
    found = [
        measure_bins(SCHEMES["Quantile"].partition(tally_in_order(y, score, order)))
        for order in tie_orders(y, score).values()
    ]
    within = [quality.within_bin_error for quality in found]
    return {"total error": found[0].total_error, "within-bin error": within[0], "low": min(within), "high": max(within)}


def compare_bins(table: Table, y: Array, score: Array) -> list[Cell]:
    """The cells of one table."""
    grouped, sorted_ = Tally.from_arrays(y, score), tally_in_order(y, score, introsort_order(score))
    cells = []
    for row in table.rows:
        for column in table.columns:
            printed = table[row, column]
            unit = 10 ** len(printed.partition(".")[2])

            def value_of(
                variants: Variants, row: tuple[str, ...] = row, column: str = column, unit: int = unit
            ) -> float:
                tally = sorted_ if TIES in variants else grouped
                value = getattr(measure_bins(SCHEMES[column].partition(tally)), QUANTITIES[row[0]])
                return math.floor(value * unit) / unit if TRUNCATED in variants else float(value)

            cells.append(explain((table.name, row[0], column), printed, value_of, (TIES, TRUNCATED)))
    return cells


if __name__ == "__main__":
    from reproduction.__main__ import main

    sys.exit(main(["bins"]))
