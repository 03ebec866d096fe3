"""Speed and memory as ratios measured side by side, one table; each result is asserted. Run by `make bench`."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import replicates
from measure import EXTRA_MEMORY, IMPORT, Line, fresh, seconds, simulate
from scipy.stats import binomtest
from sklearn.calibration import calibration_curve

import truecal
from truecal import BoundedIsotonic, Observations, Quantile, Tally, Uniform, _kernel
from truecal.data import Cells
from truecal.verdict import judge, judge_all


def against_sort(rows: int) -> Iterator[Line]:
    """One thread and two beside NumPy's sort, which has one."""
    y, p = simulate(rows)
    wanted = truecal.metrics.METRICS["tce"](Tally(*(np.sort(p), np.ones(rows, int), y[np.argsort(p)].astype(int))))
    assert truecal.tce(y, p, threads=1) == truecal.tce(y, p, threads=2) == wanted, "rows and NumPy's tally disagree"
    narrow = p.astype(np.float32)
    assert truecal.tce(y, narrow) == truecal.tce(y, narrow.astype(np.float64))
    sort, wide, two, single = seconds(
        lambda: np.sort(p),
        lambda: truecal.tce(y, p, threads=1),
        lambda: truecal.tce(y, p, threads=2),
        lambda: truecal.tce(y, narrow, threads=1),
    )
    aim = {10**6: 1.0, 10**7: 0.6}[rows]
    yield Line(f"tce, float64, N = {rows:.0e}, over np.sort", wide / sort, 1.2, aim)
    yield Line(f"tce, float64, N = {rows:.0e}, two threads over one", two / wide, 1.0, 0.6)
    yield Line(f"tce, float32, N = {rows:.0e}, over np.sort of float64", single / sort, 1.1, 0.7)


def tied(rows: int) -> Iterator[Line]:
    y, p = simulate(rows)
    p = np.round(p, 4)
    score, at = np.unique(p, return_inverse=True)
    tally = Tally(score, np.bincount(at), np.bincount(at, weights=y).astype(np.int64))
    assert truecal.tce(y, p) == truecal.metrics.METRICS["tce"](tally), "counted rows and NumPy's tally disagree"
    sort, ours = seconds(lambda: np.sort(p), lambda: truecal.tce(y, p))
    yield Line(f"tce, four decimals, N = {rows:.0e}, over np.sort", ours / sort, 1.1, 0.7)


def against_curves(rows: int, strategy: str, metric: str, aim: float) -> Iterator[Line]:
    y, p = simulate(rows)
    y = y.astype(int)  # NumPy's integers; with bytes for labels scikit-learn takes half the time
    rate, _ = calibration_curve(y, p, n_bins=10, strategy=strategy)
    tally = Tally.from_arrays(y, p)
    bins = (Uniform(10) if strategy == "uniform" else Quantile(10)).partition(tally)
    np.testing.assert_allclose(rate, (bins.k / np.maximum(bins.n, 1))[bins.n > 0], atol=1e-3)
    function = getattr(truecal, metric)
    assert function(y, p) == truecal.metrics.METRICS[metric](tally)
    theirs, ours = seconds(
        lambda: calibration_curve(y, p, n_bins=10, strategy=strategy), lambda: function(y, p), repeats=4
    )
    yield Line(f"scikit-learn {strategy} curve over {metric}, N = {rows:.0e}", theirs / ours, 4, aim, True)


def against_one_test_per_prediction() -> Iterator[Line]:
    rows, sample = 50_000, 400
    y, p = simulate(rows)
    part = BoundedIsotonic().partition(Tally.from_arrays(y, p))
    chosen = np.random.default_rng(1).choice(rows, sample, replace=False)
    bin_of = np.searchsorted(part.edges[1:-1], p[chosen], side="right")
    trials = [(int(part.k[b]), int(part.n[b]), float(q)) for b, q in zip(bin_of, p[chosen], strict=True)]

    def oracle() -> list[bool]:
        return [bool(binomtest(k, n, q).pvalue <= 0.05) for k, n, q in trials]

    ours = [bool(truecal.Binomial().rejects(k, n, q)) for k, n, q in trials]
    assert oracle() == ours, "a decision differs from SciPy's"
    theirs, mine = seconds(oracle, lambda: truecal.tce(y, p), repeats=3)
    ratio = theirs / sample * rows / mine
    yield Line("one binomtest per prediction over tce, N = 5e4", ratio, 20_000, 80_000, True)


def small() -> Iterator[Line]:
    y, p = simulate(1000)
    y = y.astype(int)
    for name, must, aim in (("tce", 1.5, 0.6), ("ltce", 5, 2), ("ece", 0.5, 0.1)):
        function, metric = getattr(truecal, name), truecal.metrics.METRICS[name]
        assert np.isclose(function(y, p), metric(Tally.from_arrays(y, p)), rtol=1e-12), "rows and tally disagree"
        theirs, ours = seconds(
            lambda: calibration_curve(y, p, n_bins=10, strategy="quantile"),
            lambda function=function: function(y, p),
            repeats=300,
        )
        yield Line(f"{name}, N = 1,000, over scikit-learn's quantile curve", ours / theirs, must, aim)


def local() -> Iterator[Line]:
    y, p = simulate(10**7)
    assert np.isclose(truecal.ltce(y, p), truecal.metrics.METRICS["ltce"](Tally.from_arrays(y, p)), rtol=1e-9)
    sort, ours = seconds(lambda: np.sort(p), lambda: truecal.ltce(y, p))
    yield Line("ltce, float64, N = 1e7, over np.sort", ours / sort, 0.35, 0.27)


def against_sum() -> Iterator[Line]:
    """One pass over the rows beside the sums of both columns, on one thread and on two."""
    y, p = simulate(10**7)
    edges = Uniform(10).edges
    for threads, must, aim in ((1, 9, 6), (2, 7, 3)):
        cells, bins = _kernel.cell_rows(p, y, threads, False), _kernel.fixed_bins(p, y, edges, threads)
        once = _kernel.cell_rows(p, y, 1, False)[0], _kernel.fixed_bins(p, y, edges, 1)[:3]
        assert all(map(np.array_equal, cells[0] + bins[:3], once[0] + once[1])), "threads change an answer"
        add, local, fixed = seconds(
            lambda: (p.sum(), y.sum()),
            lambda threads=threads: _kernel.cell_rows(p, y, threads, False),
            lambda threads=threads: _kernel.fixed_bins(p, y, edges, threads),
        )
        words = "1 thread" if threads == 1 else f"{threads} threads"
        yield Line(f"cells of ltce, N = 1e7, {words}, over np.sum of both", local / add, must, aim)
        yield Line(f"bins of ece, N = 1e7, {words}, over np.sum of both", fixed / add, must, aim)


def verdict() -> Iterator[Line]:
    y, p = simulate(10**6)
    by_rows, by_tally = judge(Cells.from_arrays(y, p)), judge(Cells.of(Tally.from_arrays(y, p)))
    assert by_rows.status == by_tally.status == "consistent", "calibrated predictions are rejected"
    assert np.isclose(by_rows.p_value, by_tally.p_value, rtol=1e-6), "rows and tally disagree"
    (ours,) = seconds(lambda: judge(Cells.from_arrays(y, p)), clock=time.process_time)
    yield Line("verdict with everything, N = 1e6, CPU", ours, 0.3, 0.2, unit="s")


def verdicts() -> Iterator[Line]:
    for count, rows, must, aim in ((5000, 400, 5, 2), (100, 50_000, 1.5, 0.5)):
        y, p = simulate(count * rows)
        groups = [Cells.from_arrays(*pair) for pair in zip(np.split(y, count), np.split(p, count), strict=True)]
        verdicts = judge_all(groups)
        alone = [replace(judge(cells), bands=()) for cells in groups[:20]]
        assert verdicts[:20] == alone, "a group's verdict depends on its neighbours"
        rejected = sum(verdict.p_value <= 0.01 for verdict in verdicts)
        assert rejected <= 0.01 * count + 4 * (0.01 * count) ** 0.5, "calibrated predictions are rejected too often"
        (ours,) = seconds(lambda groups=groups: judge_all(groups), repeats=3, clock=time.process_time)
        yield Line(f"verdicts on {count:,} groups of {rows:,} rows, CPU", ours, must, aim, unit="s")


def groups() -> Iterator[Line]:
    """All segments at once beside one by one, timed on a sample; and windows of time."""
    count, rows, some = 5000, 400, 50
    y, p = simulate(count * rows)
    pairs = zip(np.split(y, count), np.split(p, count), strict=True)
    parts = {(i,): Tally.from_arrays(*pair) for i, pair in enumerate(pairs)}
    data = Observations("y", "p", parts, by=("segment",))
    table, first = truecal.segments(data), list(parts.values())[:some]
    assert table.p_value[0] == truecal.evaluate(first[0], ["ltce"]).verdict.p_value, "a segment has another verdict"
    ours, alone = seconds(
        lambda: truecal.segments(data),
        lambda: [truecal.evaluate(part, ["ltce"]) for part in first],
        repeats=3,
        clock=time.process_time,
    )
    yield Line("segments, 5,000 of 400 rows, CPU", ours, 5, 3, unit="s")
    yield Line("one by one over segments", alone * count / some / ours, 2, 4, more_is_better=True)
    windows = Observations("y", "p", dict(list(parts.items())[:365]), by=("day",), periods={"day": None})
    assert truecal.drift(windows).drift_status in ("stable", "base rate shifted"), "calibrated periods must pass"
    (ours,) = seconds(lambda: truecal.drift(windows), repeats=3, clock=time.process_time)
    yield Line("drift, 365 windows of 400 rows, CPU", ours, 5, 2, unit="s")


def memory() -> Iterator[Line]:
    works = (
        ("tce", 10**6, 1.0, 0.9),
        ("tce", 10**7, 1.0, 0.9),
        ("tce", 10**8, 1.0, 0.9),
        ("ltce", 10**7, 0.1, 0.05),
    )
    for metric, rows, must, aim in works:
        code = EXTRA_MEMORY.format(rows=rows, metric=metric)
        memory = fresh(code, 1 if rows > 10**7 else 3)
        yield Line(f"{metric}, N = {rows:.0e}: extra memory over the input's", memory, must, aim)


def imports() -> Iterator[Line]:
    yield Line("import truecal after numpy, new process", 1000 * fresh(IMPORT, 9), 30, 5, unit="ms")


def lines() -> Iterator[Line]:
    for rows in (10**6, 10**7):
        yield from against_sort(rows)
        yield from tied(rows)
        yield from against_curves(rows, "quantile", "tce", 6.5)
        yield from against_curves(rows, "uniform", "ece", 12)
    yield from against_one_test_per_prediction()
    yield from small()
    yield from local()
    yield from against_sum()
    yield from verdict()
    yield from verdicts()
    yield from groups()
    yield from memory()
    yield from imports()
    yield from replicates.lines()


def main() -> None:
    missed = 0
    for line in lines():
        print(line, flush=True)
        missed += line.verdict() == "MISSED"
    sys.exit(f"{missed} of the bounds above were missed" if missed else 0)


if __name__ == "__main__":
    main()
