"""The grid, to the last bit, on every engine; its cells add, their bounds hold, and results say so."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from conftest import LONG, fewer
from edges import SPECIAL, many_scores, neighbours
from hypothesis import example, given
from hypothesis import strategies as st
from observed import make_grid
from scipy.stats import binomtest

import truecal
from truecal import Binomial, BoundedIsotonic, Metric, Quantile, Relative, Result, Tally, Uniform
from truecal.data import Cells, NoteCode, bits_for, cell, half_cell, sort_rows, whole_cell
from truecal.metrics import (
    METRICS,
    TCE,
    Absolute,
    BayesFactor,
    Binned,
    Isotonic,
    LikelihoodRatio,
    Max,
    Mean,
    MidP,
    Partition,
    PNorm,
    PointwiseTest,
    ScoreTest,
    StudentT,
    grid_bounds,
)
from truecal.metrics._bounds import bound_rejected

TESTS = [MidP(), ScoreTest(), LikelihoodRatio(), StudentT(), BayesFactor(), BayesFactor(0.5, 0.5, 10), Binomial()]
TOLERANCES = [None, Absolute(0.01), Relative(0.2), Absolute(0)]


def cut_off(x, bits):
    """The definition, in fractions: x or 1 - x, whichever is nearer to 0, with all bits after the first few removed."""
    near = Fraction(x) if x < 0.5 else 1 - Fraction(x)
    if near:
        exponent = math.frexp(near)[1]  # 2^(exponent - 1) <= near < 2^exponent
        near = Fraction(near // Fraction(2) ** (exponent - bits)) * Fraction(2) ** (exponent - bits)
    return near if x < 0.5 else 1 - near


@given(st.one_of(st.floats(0, 1), st.sampled_from(neighbours(SPECIAL).tolist())), st.integers(2, 26))
@example(1.73e-322, 5)  # unlifted, the product that finds the next number below is rounded here
def test_a_cell_is_the_score_cut_off_after_so_many_bits(x, bits):
    assert Fraction(float(cell(np.array([x]), bits)[0])) == cut_off(x, bits)


def test_every_small_subnormal_is_cut_off_as_well():
    x = np.arange(3000).view(np.float64)
    for bits in (2, 5, 11):
        assert [Fraction(v) for v in cell(x, bits).tolist()] == [cut_off(v, bits) for v in x.tolist()]


def test_cells_rise_nest_and_stay_near(rng):
    x = np.sort(np.abs(many_scores(rng, 3000)))
    finer = x
    for bits in range(26, 1, -1):
        found = cell(x, bits)
        assert (np.diff(found) >= 0).all()
        np.testing.assert_array_equal(cell(found, bits), found)
        np.testing.assert_array_equal(cell(finer, bits), found)
        # below 2^(1 - bits) of the distance to the nearer end; the product is exact but for the smallest floats
        assert (np.abs(found - x) <= 2.0 ** (1 - bits) * np.minimum(x, 1 - x)).all()
        for alone in (0.0, 0.5, 1.0):
            assert (x[found == alone] == alone).all()
        finer = found


def test_minus_zero_is_zero_and_missing_stays_missing():
    found = cell(np.array([-0.0, np.nan]), 8)
    assert not np.signbit(found[0])
    assert np.isnan(found[1])


@pytest.mark.slow
@pytest.mark.parametrize(
    "engine",
    ["pandas", "pandas-pyarrow", "polars", "polars-lazy", "pyarrow", "duckdb", "dask", "ibis", "pyspark"],
)
@pytest.mark.parametrize("staged", [False, True])
def test_every_engine_finds_the_same_cells_to_the_last_bit(engine, staged, need, rng, request):
    nw, pa, pd, pl = need("narwhals"), need("pyarrow"), need("pandas"), need("polars")
    x = many_scores(rng, 1500)
    row = np.arange(len(x))
    table = pa.table({"row": row, "x": x})
    if engine == "pyspark":
        spark = request.getfixturevalue("spark")
        native = spark.createDataFrame(table)
    else:
        native = {
            "pandas": lambda: pd.DataFrame({"row": row, "x": x}),
            "pandas-pyarrow": lambda: table.to_pandas(types_mapper=pd.ArrowDtype),
            "polars": lambda: pl.from_arrow(table),
            "polars-lazy": lambda: pl.from_arrow(table).lazy(),
            "pyarrow": lambda: table,
            "duckdb": lambda: need("duckdb").from_arrow(table),
            "dask": lambda: need("dask.dataframe").from_pandas(pd.DataFrame({"row": row, "x": x}), npartitions=2),
            "ibis": lambda: need("ibis").memtable(table),
        }[engine]()
    for bits in (2, 13, 26) if staged or engine != "pyspark" or LONG else (13,):  # Spark takes seconds for each
        frame = nw.from_native(native)

        def hold(value):
            nonlocal frame
            name = f"held{len(frame.collect_schema())}"
            frame = frame.with_columns(value.alias(name))
            return nw.col(name)

        def where(condition, a, b):
            return nw.when(condition).then(a).otherwise(b)

        expression = half_cell(nw.col("x"), bits, where, *([hold] if staged else []))
        found = frame.select("row", expression.alias("cell"))
        if isinstance(found, nw.LazyFrame):
            found = found.collect()
        in_order = np.empty(len(x))
        in_order[found["row"].to_numpy()] = found["cell"].to_numpy()
        np.testing.assert_array_equal(in_order, half_cell(x, bits))
        np.testing.assert_array_equal(whole_cell(in_order, bits).view(np.int64), cell(x, bits).view(np.int64))


def test_bits_keep_cells_at_a_fifteenth_of_the_largest_bin(rng):
    for total in (10**4, 10**5, 10**6):
        _, n_max = BoundedIsotonic().bounds(total)
        for score in (rng.uniform(0.25, 0.5, total), rng.beta(0.5, 50, total), rng.beta(2, 2, total)):
            bits = bits_for(total, n_max)
            _, rows = np.unique(cell(score, bits), return_counts=True)
            assert rows.max() <= n_max / 15 * 1.2  # by chance some cells hold a little more
    assert (bits_for(10, 10**6), bits_for(10**15, 10)) == (2, 26)
    with pytest.raises(ValueError, match="`largest_bin` must be a whole number, 1 or more; it is 0"):
        bits_for(10, 0)


@pytest.mark.parametrize("bits", [1, 27, 8.0, True, "8", None])
def test_bits_out_of_range_are_refused(bits):
    with pytest.raises(ValueError, match=r"`bits` must be a whole number from 2 to 26; it is"):
        cell(np.array([0.5]), bits)


# ---- cells ----------------------------------------------------------------------------------------


def draw_tally(rng, size=None, spread=1.3):
    """Scores of one of several kinds, ties, zeros and ones among them, and labels from scores that are a little off."""
    size = size or int(np.exp(rng.uniform(np.log(50), np.log(20_000))))
    score = [
        lambda: rng.random(size),
        lambda: rng.beta(0.5, 50, size),
        lambda: rng.beta(0.5, 5, size),
        lambda: 1 - rng.beta(0.5, 20, size),
        lambda: rng.beta(2, 2, size),
        lambda: 10.0 ** -rng.uniform(0, 9, size),
        lambda: np.round(rng.beta(1, 9, size), int(rng.integers(1, 5))),
        lambda: rng.uniform(0.3, 0.31, size),
        lambda: rng.choice([0.0, 1e-300, 0.01, 0.011, 0.5, 0.9, 1.0], size) * rng.uniform(0.99, 1, size),
    ][rng.integers(9)]()
    extreme = rng.random(size) < rng.choice([0, 0.1, 0.5])
    score = np.where(extreme, rng.choice([0.0, 1.0, 0.5, 5e-324, score[0]], size), score)
    truth = np.clip(score * rng.uniform(1 / spread, spread) + rng.choice([0, 0.02]), 0, 1)
    return Tally.from_arrays(rng.random(size) < truth, score)


@pytest.fixture
def tally(rng):
    score = np.concatenate([rng.beta(0.5, 5, 3000), [0.0] * 7, [1.0] * 3, [0.125] * 20])
    return Tally.from_arrays(rng.random(len(score)) < score, score)


def test_cells_of_a_tally_count_and_sum_its_scores(tally):
    cells = Cells.grid(tally, 6)
    key = cell(tally.score, 6)
    for i, one in enumerate(np.unique(key)):
        inside = key == one
        assert cells.key[i] == one
        assert (cells.n[i], cells.pos[i]) == (tally.n[inside].sum(), tally.pos[inside].sum())
        assert cells.score_sum[i] == pytest.approx((tally.n * tally.score)[inside].sum(), rel=1e-12)
        assert (cells.low[i], cells.high[i]) == (tally.score[inside].min(), tally.score[inside].max())
    assert len(cells) == len(np.unique(key))
    assert cells.n_rows == tally.n_rows
    assert make_grid(cells.bits, *cells.columns) == cells  # what is made inside passes the checks
    assert repr(cells).startswith(f"Cells({len(cells)} cells of 6 bits, means in [0, 1], 3,030 rows, ")
    assert repr(make_grid(3, *[[]] * 6)) == "Cells(empty, 3 bits)"


def test_cells_add_like_the_rows_in_them(rng):
    for _ in range(20):
        a, b, c = (draw_tally(rng, 300) for _ in range(3))
        bits = int(rng.integers(2, 26))
        both = Cells.grid(a, bits) + Cells.grid(b, bits)
        assert_same(both, Cells.grid(a + b, bits))
        assert both == Cells.grid(b, bits) + Cells.grid(a, bits)
        assert_same(Cells.grid(a, 26) + Cells.grid(b, bits), Cells.grid(a + b, bits))  # the finer one is made coarser
        assert_same(sum(Cells.grid(part, bits) for part in (a, b, c)), Cells.grid(a + b + c, bits))
        assert_same(Cells.grid(a, 26).coarsen(bits), Cells.grid(a, bits))
    assert Cells.grid(a, 9) != Cells.grid(a, 10)
    assert Cells.grid(a, 9) != a
    empty = make_grid(9, *[[]] * 6)
    assert empty + Cells.grid(a, 9) == Cells.grid(a, 9)
    assert len(empty + empty) == 0
    with pytest.raises(TypeError, match="unsupported operand"):
        empty + a
    with pytest.raises(ValueError, match="`bits` must not exceed the 9 bits of the cells; it is 10"):
        Cells.grid(a, 9).coarsen(10)


def assert_same(found, expected):
    """Equal but for the rounding of sums, which depends on their order."""
    np.testing.assert_allclose(found.score_sum, expected.score_sum, rtol=1e-12)
    assert make_grid(found.bits, *found.columns[:3], expected.score_sum, *found.columns[4:]) == expected


def test_the_tally_of_cells_keeps_every_gap_metric(tally):
    cells = Cells.grid(tally, 5)
    coarse = cells.tally
    assert (coarse.n_rows, coarse.positives) == (tally.n_rows, tally.positives)
    for name in ("ace", "mce_q", "rmsce_q", "ece_pava_bc"):
        metric = METRICS[name]
        bins = metric.binning.partition(coarse)
        assert metric.on(Binned(coarse, bins)) == pytest.approx(metric.on(exactly(tally, cells, bins)), rel=1e-12)


def exactly(tally, cells, partition):
    """The exact scores in bins that were made of cells."""
    starts = np.searchsorted(tally.score, np.append(cells.low, 2.0)[partition.starts])
    return Binned(tally, Partition(starts, partition.n, partition.k, partition.edges))


def columns(**changed):
    fine = {"bits": 2, "key": [0.25, 0.375], "n": [2, 1], "pos": [1, 0], "score_sum": [0.6, 0.4]}
    return {**fine, "low": [0.25, 0.4], "high": [0.35, 0.4]} | changed


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"bits": 1}, "`bits` must be a whole number from 2 to 26; it is 1"),
        ({"n": [2]}, r"The columns of cells must be of one length; their shapes are \(2,\), \(1,\), \(2,\)"),
        ({"key": [0.375, 0.25]}, "`key` must increase strictly; the first that breaks this is 0.25 at position 1"),
        ({"key": [0.25, 0.4]}, "`key` must be a cell of 2 bits; the first that breaks this is 0.4 at position 1"),
        ({"key": [0.25, 1.5]}, r"`key` must lie in \[0, 1\]"),
        ({"low": [0.25, np.nan]}, r"`low` must lie in \[0, 1\]; the first that breaks this is nan at position 1"),
        ({"low": [0.2, 0.4]}, "`low` must lie in its cell of 2 bits; the first that breaks this is 0.2 at position 0"),
        ({"high": [0.38, 0.4]}, "`high` must lie in its cell of 2 bits; the first that breaks this is 0.38"),
        ({"low": [0.36, 0.4]}, "`low` must not exceed `high`"),
        ({"n": [2, 0]}, "`n` must be 1 or more"),
        ({"n": [1, 1]}, "`n` must be 2 or more where `low` is below `high`"),
        ({"pos": [3, 0]}, r"`pos` must lie in 0\.\.n"),
        (
            {"score_sum": [0.3, 0.4]},
            "`score_sum` must lie between n `low` and n `high`; the first that breaks this is 0.3",
        ),
        ({"score_sum": [np.nan, 0.4]}, "`score_sum` must lie between"),
        ({"n": [2**46, 1], "score_sum": [0.3 * 2**46, 0.4]}, r"at most 2\^46 rows"),
    ],
)
def test_columns_that_are_no_cells_are_refused(changed, message):
    assert len(make_grid(**columns())) == 2
    with pytest.raises(ValueError, match=message):
        make_grid(**columns(**changed))


def test_counts_must_be_whole():
    with pytest.raises(TypeError, match="`n` must hold integers; it holds float64"):
        make_grid(**columns(n=[2.0, 1.0]))


# ---- bounds ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_bounds_hold_on_many_data_sets():
    """The exact value of the same bins, for every test, binning, norm and tolerance; and scores are often undecided."""
    rng = np.random.default_rng(500)
    undecided, count = 0, fewer(500, 5)
    for i in range(count):
        tally = draw_tally(rng)
        cells = Cells.grid(tally, int(rng.integers(2, 21 if i % 2 else 9)))  # few bits leave more undecided
        coarse = cells.tally
        binning = [BoundedIsotonic(), Quantile(10), Uniform(10), Isotonic(), BoundedIsotonic(5, 40)][i % 5]
        partition = binning.partition(coarse)
        exact = exactly(tally, cells, partition)
        losses = [
            PointwiseTest(),
            PointwiseTest(Binomial(), float(10 ** rng.uniform(-6, -0.4))),
            PointwiseTest(TESTS[i % 7], float(rng.choice([0.01, 0.05, 0.3])), TOLERANCES[i % 4]),
        ]
        for loss in losses:
            fewest, most = bound_rejected(cells, loss, partition)
            rejected = sum(exact.rejected(loss.test, loss.significance, loss.tolerance))
            assert (fewest <= rejected).all()
            assert (rejected <= most).all()
            assert (most <= partition.n).all()
            undecided += int((fewest < most).any())
            for norm in (Mean(), PNorm(2), Max()):
                metric = Metric(binning, loss, norm)
                low, high = grid_bounds(cells, metric, partition)
                assert low - 1e-9 <= metric.on(exact) <= high + 1e-9
        assert grid_bounds(cells, Metric(binning, PointwiseTest())) == grid_bounds(
            cells, Metric(binning, PointwiseTest()), partition
        )
    assert undecided > 0.6 * count  # of three for each: the bounds are put to the test


@pytest.mark.slow
def test_bounds_hold_for_scores_at_the_very_ends_and_holes_of_what_is_accepted(rng):
    """Cells around each cut of tests with holes, ends in the last bits among them; SciPy decides every score."""
    for k, n in [(3, 9), (0, 40), (40, 40), *find_holes()]:
        (cuts,), _, _ = Binomial().cuts(np.array([k]), np.array([n]), 0.05)
        middle = [(cuts[i] + cuts[i + 1]) / 2 for i in range(5)]
        clear = [cut + d / n for cut in cuts for d in (-0.1, -0.01, 0.01, 0.1)]
        candidates = np.unique([*neighbours(cuts, 3), *np.clip([*clear, *middle, 0.0, 1.0], 0, 1)])
        refused = {p: binomtest(k, n, p).pvalue <= 0.05 for p in candidates.tolist()}
        for bits in (2, 5, 9, 16, 26):
            for _ in range(fewer(30, 2)):
                score = rng.choice(rng.choice(candidates, rng.integers(2, 9)), n)  # few: a hole between accepted ends
                tally = Tally.from_arrays(np.arange(n) < k, score)
                cells = Cells.grid(tally, bits)
                (fewest,), (most,) = bound_rejected(cells, PointwiseTest(), Uniform(1).partition(cells.tally))
                assert fewest <= sum(refused[p] for p in score.tolist()) <= most


def find_holes():
    """Bins of up to 60 rows whose accepted probabilities have a hole below, and their mirror images."""
    k, n = np.array([(k, n) for n in range(2, 61) for k in range(n + 1)]).T
    cuts, _, _ = Binomial().cuts(k.copy(), n.copy(), 0.05)
    found = np.flatnonzero(cuts[:, 1] < cuts[:, 2])
    assert len(found) > 3
    return [(int(pos[i]), int(n[i])) for i in found for pos in (k, n - k)]


def test_a_cell_across_an_end_counts_what_is_known_of_it():
    """20 of 100 positive; the score test accepts Wilson's interval, 0.1334 .. 0.2888 (k = 20, n = 100, 5 %)."""
    low, high = ScoreTest().accepted(20, 100)
    assert (round(float(low), 4), round(float(high), 4)) == (0.1334, 0.2888)
    # cells of 2 bits: [0.125, 0.1875) straddles the lower end, [0.1875, 0.25) is inside, [0.25, 0.375) straddles the upper
    score = np.repeat([0.13, 0.15, 0.2, 0.26, 0.27, 0.28, 0.5], [1, 29, 30, 10, 10, 10, 10])
    cells = Cells.grid(Tally.from_arrays(np.arange(100) % 5 == 0, score), 2)
    assert cells.n.tolist() == [30, 30, 30, 10]
    metric = Metric(Uniform(1), PointwiseTest(ScoreTest()))
    # 0.13 is rejected and 0.15 not; of the 28 between nothing is known; all from 0.26 to 0.28 are accepted; 0.5 is not
    assert grid_bounds(cells, metric) == (11.0, 39.0)


def test_cells_of_single_scores_leave_nothing_open(rng):
    score = np.round(rng.beta(1, 9, 5000), 2)
    tally = Tally.from_arrays(rng.random(5000) < score, score)
    cells = Cells.grid(tally, 20)
    assert cells.tally == tally
    assert grid_bounds(cells, TCE) == pytest.approx((TCE(tally), TCE(tally)))


def test_bounds_are_narrow_at_13_bits(rng):
    """Cells of a 4000th of a score: at a million rows, below one point for perfect models, and a tenth for rare events."""
    for score, most in ((rng.beta(0.5, 50, 10**6), 0.1), (rng.beta(0.5, 5, 10**6), 0.3), (rng.beta(2, 2, 10**6), 1.0)):
        cells = Cells.grid(Tally.from_arrays(rng.random(10**6) < score, score), 13)
        low, high = grid_bounds(cells, TCE)
        assert 0 <= low < high < low + most


def test_gap_metrics_have_no_bounds(tally):
    with pytest.raises(
        TypeError, match=r"`metric` must be test-based, its loss a `PointwiseTest`; its loss is Gap\(\)"
    ):
        grid_bounds(Cells.grid(tally, 5), METRICS["ece"])


# ---- results --------------------------------------------------------------------------------------


def test_a_result_of_cells_has_bounds_and_says_what_they_are_for(tally):
    cells = Cells.grid(tally, 12)
    result = truecal.evaluate(cells)
    plain = truecal.evaluate(cells.tally)
    assert replace(result, bounds={}, notes=plain.notes, verdict=plain.verdict) == plain
    assert result.verdict.status == plain.verdict.status
    assert result.verdict.p_value == pytest.approx(plain.verdict.p_value, rel=1e-6)  # sums of cells to rounding
    assert list(result.bounds) == ["tce", "tce_q", "tce_v"]
    for name, (low, high) in result.bounds.items():
        lowest, highest = grid_bounds(cells, result.metrics[name])
        assert (low, high) == (min(lowest, result[name]), max(highest, result[name]))
    (note,) = (str(note) for note in result.notes if "cells" in str(note))
    assert note.startswith(
        f"scores were grouped into {len(cells):,} cells of 12 significant bits; values and bounds are"
    )
    assert "within cells" in repr(result)
    assert Result.from_json(result.to_json()) == result


def test_empty_bins_and_regions_are_found_again(tally):
    for options in ({}, {"threshold": 0.3}, {"top": 200}, {"top": 0.1}):
        cells = Cells.grid(tally, 9)
        own = {"own": Metric(Uniform(50), PointwiseTest())}
        result = truecal.evaluate(cells, own, **options)
        assert (result.bins.n == 0).any()
        judged = cells.tail(len(cells) - int(np.flatnonzero(np.cumsum(cells.n[::-1]) == result.n)[0]) - 1)
        low, high = grid_bounds(judged, own["own"])
        assert result.bounds["own"] == (min(low, result["own"]), max(high, result["own"]))
        assert any("its lowest score is" in str(note) for note in result.notes) == bool(options)


def test_a_coarse_grid_is_named_with_the_bits_that_would_do(rng):
    score = rng.beta(2, 2, 50_000)
    tally = Tally.from_arrays(rng.random(50_000) < score, score)

    def advice(bits):
        notes = truecal.evaluate(Cells.grid(tally, bits), ["tce"]).notes
        return [note for note in notes if note.code == NoteCode.COARSE_GRID]

    (note,) = advice(4)
    bits = note.values["bits"]
    assert str(note).endswith(f"rows; {bits} bits are enough")
    assert 6 <= bits <= 10
    assert not advice(bits + 1)
    assert not advice(bits_for(50_000, BoundedIsotonic().bounds(50_000)[1]))
    tied = Tally.from_arrays(rng.random(5000) < 0.3, np.full(5000, 0.3))
    assert not [
        note for note in truecal.evaluate(Cells.grid(tied, 4), ["tce"]).notes if note.code == NoteCode.COARSE_GRID
    ]


def test_other_things_are_refused(tally):
    with pytest.raises(TypeError, match="`sample_weight` must be left out if rows are grouped by score already"):
        truecal.evaluate(Cells.grid(tally, 5), sample_weight=[1])
    with pytest.raises(TypeError, match="unexpected keyword argument 'signficance'"):
        truecal.evaluate(Cells.grid(tally, 5), signficance=0.1)


@pytest.mark.parametrize("bits", [2, 3, 5, 13, 20, 26])
def test_the_kernel_cuts_cells_where_the_arithmetic_does(rng, bits):
    """Random scores, powers of two and their neighbours, the ends, and numbers below the normal ones."""
    powers = 2.0 ** -np.arange(1, 1075)
    x = np.concatenate(
        [
            rng.random(20_000),
            rng.beta(0.1, 50, 20_000),
            1 - rng.beta(0.1, 50, 20_000),
            powers,
            np.nextafter(powers, 0),
            np.nextafter(powers, 1),
            1 - powers[:60],
            5e-324 * rng.integers(0, 2**40, 2000),
            [0.0, 1.0, 0.5, 5e-324],
        ]
    )
    score = np.unique(np.clip(x, 0, 1))
    tally = Tally(score, np.ones(len(score), np.int64), np.zeros(len(score), np.int64))
    keys = cell(score, bits)
    expected = np.flatnonzero(np.diff(keys, prepend=-1.0))
    cells = Cells.grid(tally, bits)
    np.testing.assert_array_equal(cells.low, score[expected])
    np.testing.assert_array_equal(cells.key, keys[expected])
    np.testing.assert_array_equal(cells.n, np.diff(np.append(expected, len(score))))
    assert cells == make_grid(bits, *cells.columns)  # which checks them
    assert Cells.grid(sort_rows(np.zeros(len(score)), score), bits) == cells
