"""Where the paper's text, its tables and its code disagree: the same cells computed under both readings.

Each topic gives rows of (cell, published, value under the reading that the tables follow, value under the other one);
`results/readings.csv` holds them all.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from reproduction import gda_max_size, gda_min_size
from reproduction.cells import write_rows
from reproduction.gda import TESTS, World, predictions, value
from reproduction.gda_size_range import MEANT, setting_of
from reproduction.published import read_table
from reproduction.settings import CUTS, SOLVER, TAIL, Setting, metric_of
from reproduction.sources import Missing, Sources
from reproduction.uci_tables import SETS, printed_cells
from reproduction.variants.bins import EqualRatesMerged, TailJoined
from reproduction.variants.ties import introsort_order, tally_in_order
from truecal import BoundedIsotonic, Metric, Tally
from truecal.metrics import PointwiseTest

OLD = frozenset([SOLVER])
PUBLISHED_CODE = frozenset([SOLVER, CUTS])
Reading = tuple[Any, ...]  # cell, published, as the tables, the other way


def class_means() -> Iterator[Reading]:
    """Class means -1/2 and 1/2 (tables) or -1 and 1 (text)."""
    table = read_table("gda_main")
    for row in table.rows:
        train, test = (int(part.strip(" %")) / 100 for part in row[0].split("vs"))
        for column in table.columns:
            worlds = (World(train, test), World(train, test, mean=1.0))
            yield f"{row[0]}, {column}", table[row, column], *(value(column, w, Setting(), OLD) for w in worlds)


def swapped_sizes() -> Iterator[Reading]:
    """The size of a row as N_min with N_max = N, or as N_max with N_min = 0; each table the one that fits it first."""
    for name, fits_min in (("gda_min_size", True), ("gda_max_size", False)):
        table = read_table(name)
        for row in table.rows:
            size, world = int(row[1]), World(test=TESTS[row[0]])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # 6000 as N_min leaves no room below N_max: one bin, as it should
                as_min = value("TCE(P)", world, Setting(n_min=size, n_max=6000), OLD)
            as_max = value("TCE(P)", world, Setting(n_min=0, n_max=size), OLD)
            both = (as_min, as_max) if fits_min else (as_max, as_min)
            yield f"{table.title.split(':')[1].split('(')[0].strip()} {size}, {row[0]}", table[row, "TCE(P)"], *both


def range_labels() -> Iterator[Reading]:
    """A range of numbers of bins (tables) or of sizes (the column's name)."""
    table = read_table("gda_size_range")
    for row in table.rows:
        world, label = World(test=TESTS[row[0]]), MEANT.get(row[1], row[1])
        low, high = (int(part) for part in label.strip("[]").split(","))
        sizes = value("TCE(P)", world, Setting(n_min=low, n_max=high), OLD)
        yield f"{row[1]}, {row[0]}", table[row, "TCE(P)"], value("TCE(P)", world, setting_of(label), OLD), sizes


def range_slip() -> Iterator[Reading]:
    """The row labelled [10, 20] run as [5, 20] (tables) or as printed."""
    table = read_table("gda_size_range")
    for row in (row for row in table.rows if row[1] in MEANT):
        for column in table.columns:
            settings = (setting_of(MEANT[row[1]]), setting_of(row[1]))
            values = (value(column, World(test=TESTS[row[0]]), s, PUBLISHED_CODE) for s in settings)
            yield f"{row[1]}, {row[0]}, {column}", table[row, column], *values


def bins_of_max_size() -> Iterator[Reading]:
    """Quantile and uniform bins of the maximum-size table: as many as in the minimum-size table, or N / N_max."""
    table = read_table("gda_max_size")
    for row in table.rows:
        size, world = int(row[1]), World(test=TESTS[row[0]])
        counts = (gda_max_size.BINS[size], 6000 // size)
        for column in ("TCE(Q)", "ACE") if counts[0] != counts[1] else ():
            values = (value(column, world, Setting(bins=count), PUBLISHED_CODE) for count in counts)
            yield f"N_max {size}, {row[0]}, {column}", table[row, column], *values


def bins_of_min_size() -> Iterator[Reading]:
    """First row of the minimum-size table: 1000 bins, or the 3000 of the rule N / (2 N_min) behind the other rows."""
    table = read_table("gda_min_size")
    for row in (row for row in table.rows if row[1] == "1"):
        for column in ("TCE(Q)", "ECE", "ACE"):
            counts = (gda_min_size.BINS[1], 3000)
            values = (value(column, World(test=TESTS[row[0]]), Setting(bins=c), PUBLISHED_CODE) for c in counts)
            yield f"N_min 1, {row[0]}, {column}", table[row, column], *values


def training_rows() -> Iterator[Reading]:
    """Sample size: training rows 7/3 of the test rows (tables), or 14000 throughout."""
    table = read_table("gda_sample_size")
    for row in table.rows:
        size = int(row[1])
        world = World(test=TESTS[row[0]], n_test=size, n_train=size * 7 // 3)
        values = (value("TCE(P)", w, Setting(), OLD) for w in (world, replace(world, n_train=14000)))
        yield f"{size} rows, {row[0]}", table[row, "TCE(P)"], *values


def equal_rates() -> Iterator[Reading]:
    """Neighbouring blocks of equal rate stay two bins (tables) or become one (Algorithm 2 as printed)."""
    table = read_table("gda_main")
    for row in table.rows:
        train, test = (int(part.strip(" %")) / 100 for part in row[0].split("vs"))
        tally = predictions(World(train, test), solver=True)
        merged = Metric(EqualRatesMerged(), PointwiseTest())(tally)
        yield row[0], table[row, "TCE"], value("TCE", World(train, test), Setting(), OLD), merged


def noise_stream() -> Iterator[Reading]:
    """Noise drawn on from the data's stream, level 0 included (tables), or from a seed of its own."""
    table = read_table("gda_noise")
    for row in table.rows:
        noise, test = float(row[1]), TESTS[row[0]]
        if noise:
            worlds = (World(test=test, noise=noise), World(test=test, noise=noise, noise_seed=0))
            values = (value("TCE(P)", world, Setting(), OLD) for world in worlds)
            yield f"noise {row[1]}, {row[0]}", table[row, "TCE(P)"], *values


def quantile_cuts() -> Iterator[Reading]:
    """Cuts at int(float fraction x N) (tables) or at floor(b N / B) in whole numbers."""
    table = read_table("gda_min_size")
    for row in table.rows:
        setting, world = Setting(bins=gda_min_size.BINS[int(row[1])]), World(test=TESTS[row[0]])
        for column in ("TCE(Q)", "ACE"):
            both = (value(column, world, setting, PUBLISHED_CODE), value(column, world, setting, OLD))
            if both[0] != both[1]:
                yield f"{setting.bins} bins, {row[0]}, {column}", table[row, column], *both


def solver() -> Iterator[Reading]:
    """The 1 % rows with scikit-learn 1.2.1's logistic regression (tables) and with the installed one's."""
    table = read_table("gda_main")
    for row in (row for row in table.rows if row[0].startswith("1%")):
        train, test = (int(part.strip(" %")) / 100 for part in row[0].split("vs"))
        for column in table.columns:
            values = (value(column, World(train, test), Setting(), variants) for variants in (OLD, frozenset()))
            yield f"{row[0]}, {column}", table[row, column], *values


def solver_uci(sources: Sources) -> Iterator[Reading]:
    """TCE of logistic regression on the UCI sets, both fits."""
    from reproduction.uci_protocol import fit, split
    from reproduction.variants.solver import fit_by_sum, predict

    for name in SETS:
        try:
            parts = split(name, *sources.uci(name))
        except Missing:
            continue
        old = predict(parts.x_test, fit_by_sum(parts.x_train, parts.y_train))
        scores = (old, fit(name, "LR", parts, sources.cache).score)
        observations = (tally_in_order(parts.y_test, score, introsort_order(score)) for score in scores)
        values = (metric_of("TCE", Setting())(tally) for tally in observations)
        yield f"{name} LR, TCE", printed_cells(name, "LR")["TCE"][1], *values


def last_bin(sources: Sources) -> Iterator[Reading]:
    """The last n_min rows joined whenever 2 n_min <= n_max (tables) or only within n_max (text): where TCE differs."""
    from reproduction.uci_protocol import MODELS, fit, split

    for name in SETS:
        try:
            parts = split(name, *sources.uci(name))
        except Missing:
            continue
        for model in (model for model in MODELS if model not in ("LR", "GB")):
            score = fit(name, model, parts, sources.cache).score
            tally = tally_in_order(parts.y_test, score, introsort_order(score))
            joined, paper = (metric_of("TCE", Setting(), v)(tally) for v in (frozenset([TAIL]), frozenset()))
            if joined != paper:
                yield f"{name} {model}, TCE", printed_cells(name, model)["TCE"][1], joined, paper


def last_bin_beyond() -> Iterator[Reading]:
    """How many of 200 random data sets of 1000 rows get a bin beyond n_max = 50 (n_min = 20), by either rule."""
    rng = np.random.default_rng(0)
    broken = np.zeros(2, dtype=int)
    for _ in range(200):
        p = rng.random(1000)
        tally = Tally.from_arrays(rng.random(1000) < p, p)
        schemes = (TailJoined(20, 50), BoundedIsotonic(20, 50, sizes="paper"))
        broken += [int(scheme.partition(tally).n.max() > 50) for scheme in schemes]
    yield "data sets of 200 with a bin beyond n_max", "", *(float(count) for count in broken)


SIMULATED = (
    class_means,
    swapped_sizes,
    range_labels,
    range_slip,
    bins_of_max_size,
    bins_of_min_size,
    training_rows,
    equal_rates,
    noise_stream,
    quantile_cuts,
    solver,
    last_bin_beyond,
)


def run(sources: Sources) -> None:
    """Compute both readings of every topic."""
    found = [(topic.__name__, reading) for topic in SIMULATED for reading in topic()]
    found += [(topic.__name__, reading) for topic in (solver_uci, last_bin) for reading in topic(sources)]
    keys = ("cell", "published", "as the tables", "the other way")
    write_rows("readings", [{"topic": topic, **dict(zip(keys, reading, strict=True))} for topic, reading in found])


if __name__ == "__main__":
    from reproduction.__main__ import main

    sys.exit(main(["readings"]))
