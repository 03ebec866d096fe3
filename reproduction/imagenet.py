"""ImageNet: five networks asked "is it a dog" on 50,000 images, five metrics, and the time row.

`imagenet_time.csv` holds the seconds of truecal's metrics, the paper's, and one `scipy.stats.binomtest` per prediction
(timed on every hundredth prediction and multiplied by a hundred), whose decisions are checked against truecal's.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal

import numpy as np
from scipy.stats import binomtest

import truecal
from reproduction.cells import Cell, Variants, explain, missing, write_cells, write_rows
from reproduction.published import Table, read_table
from reproduction.settings import TAIL, Setting, metric_of
from reproduction.sources import Array, Missing, Sources
from truecal import Binomial, BoundedIsotonic, Tally

TIME = ("Time (s)",)
TWICE = "last digit (rounded twice?)"
EVERY = 100
REPEATS = 7
PAPER = BoundedIsotonic(sizes="paper")


def run(sources: Sources) -> None:
    """Compare the models at hand, then time the first of them."""
    table = read_table("imagenet")
    cells: list[Cell] = []
    sizes: list[dict[str, object]] = []
    timed = None
    for row in (row for row in table.rows if row != TIME):
        (model,) = row
        try:
            y, p = sources.imagenet(model)
        except Missing as error:
            sources.missing[error.name] = error.reason
            cells += [missing((table.name, model, name), table[row, name], error.name) for name in table.columns]
            continue
        tally = Tally.from_arrays(y, p)
        for name in table.columns:

            def value_of(variants: Variants, name: str = name, tally: Tally = tally) -> float:
                value = metric_of(name, Setting(), variants)(tally)
                return round_twice(value) if TWICE in variants else value

            cells.append(explain((table.name, model, name), table[row, name], value_of, (TWICE, TAIL)))
        default = truecal.tce(y, p)
        sizes.append({"model": model, "TCE, paper's sizes": truecal.tce(y, p, binning=PAPER), "TCE, default": default})
        timed = timed or (model, y, p)
    write_cells("imagenet", cells)
    if timed:
        write_rows("imagenet_sizes", sizes)
        write_rows("imagenet_time", time_row(table, *timed))


def round_twice(value: float) -> float:
    """To five decimals, then to four, halves up: 0.010145 becomes 0.01015, then 0.0102."""
    once = Decimal(value).quantize(Decimal("0.00001"), ROUND_HALF_UP)
    return float(once.quantize(Decimal("0.0001"), ROUND_HALF_UP))


def time_row(table: Table, model: str, y: Array, p: Array) -> list[dict[str, object]]:
    """Seconds of each metric from the raw arrays, sort included: the median of several runs."""
    calls: dict[str, Callable[[], float]] = {
        "TCE": lambda: truecal.tce(y, p, binning=PAPER),
        "ECE": lambda: truecal.ece(y, p),
        "ACE": lambda: truecal.ace(y, p),
        "MCE": lambda: truecal.mce(y, p),
        "MCE(Q)": lambda: truecal.mce(y, p, binning="quantile"),
    }
    oracle = one_test_per_prediction(y, p)
    rows: list[dict[str, object]] = []
    for name, call in calls.items():
        seconds = float(np.median([_seconds(call) for _ in range(REPEATS)]))
        against = oracle if name == "TCE" else None
        rows.append(
            {"model": model, "column": name, "published": table[TIME, name], "truecal": seconds}
            | {"published / truecal": round(float(table[TIME, name]) / seconds)}
            | {"one binomtest per prediction": against, "ratio to it": against and round(against / seconds)}
        )
    return rows


def one_test_per_prediction(y: Array, p: Array) -> float:
    """Seconds that a binomtest for each of all predictions would take, from every hundredth in order of score."""
    partition = PAPER.partition(Tally.from_arrays(y, p))
    sample = np.sort(p)[::EVERY]
    at = np.searchsorted(partition.edges[1:-1], sample, side="right")
    binomtest(1, 2, 0.5)  # whatever SciPy does once is not part of it
    begin = time.perf_counter()
    rejected = [
        binomtest(int(k), int(n), float(q)).pvalue <= 0.05
        for k, n, q in zip(partition.k[at], partition.n[at], sample, strict=True)
    ]
    seconds = time.perf_counter() - begin
    if rejected != Binomial().rejects(partition.k[at], partition.n[at], sample).tolist():
        raise AssertionError("truecal and scipy.stats.binomtest decide differently.")
    return seconds * len(p) / len(sample)


def _seconds(call: Callable[[], float]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


if __name__ == "__main__":
    from reproduction.__main__ import main

    sys.exit(main(["imagenet"]))
