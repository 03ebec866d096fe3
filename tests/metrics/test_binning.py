import warnings
from dataclasses import replace

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

from truecal import BoundedIsotonic, Quantile, Tally, Uniform
from truecal.data import sort_rows
from truecal.metrics import Edges, Isotonic, measure_bins

labels = st.lists(st.booleans(), min_size=1, max_size=120)
tied_rows = st.lists(st.tuples(st.integers(0, 25), st.booleans()), min_size=1, max_size=150)


def distinct(y):
    return np.array(y), (np.arange(len(y)) + 1) / (len(y) + 1)


def blocks(partition):
    return list(zip(partition.k.tolist(), partition.n.tolist(), strict=True))


def both_layouts(y, p):
    return Tally.from_arrays(y, p), sort_rows(y, p)


def bounded(data, n_min, n_max, sizes):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # n_max below twice n_min
        return BoundedIsotonic(n_min, n_max, sizes=sizes).partition(data)


@given(labels, st.integers(0, 40), st.integers(1, 60))
def test_the_papers_bins_are_algorithm_1(y, n_min, n_max):
    n_min = min(n_min, len(y))
    n_max = max(n_max, 2 * n_min)  # below that line 10 can leave a block of fewer than n_min rows
    y, p = distinct(y)
    for data in both_layouts(y, p):
        assert blocks(bounded(data, n_min, n_max, "paper")) == oracle.algorithm_1(y, n_min, n_max)


@given(tied_rows, st.integers(0, 40), st.integers(1, 60))
@settings(max_examples=400)
def test_bounded_isotonic_is_the_oracle_with_ties(rows, n_min, n_max):
    n_min = min(n_min, len(rows))
    n_max = max(n_max, n_min)
    p, y = np.array([s / 25 for s, _ in rows]), np.array([label for _, label in rows])
    groups = oracle.group(p, y)
    for data in both_layouts(y, p):
        assert blocks(bounded(data, n_min, n_max, "paper")) == oracle.grouped_pava_bc(groups, n_min, n_max)
        assert blocks(bounded(data, n_min, n_max, "auto")) == oracle.best_pava_bc(groups, n_min, n_max)


@pytest.mark.slow
def test_bounded_isotonic_is_the_oracle_on_long_data(rng):
    for i in range(20):
        size = int(rng.integers(2000, 4000))
        p = np.sort(rng.beta(0.5, 5, size))
        if i % 2:  # heavy scores among single ones
            p[rng.integers(0, size - 300) :][:300] = p[size // 2]
            p = np.sort(np.where(rng.random(size) < 0.2, np.round(p, 1), p))
        y = rng.random(size) < p
        n_min, n_max = int(rng.integers(1, 100)), int(rng.integers(200, 800))
        groups = oracle.group(p, y)
        layouts = both_layouts(y, p)
        for data in (*layouts, replace(layouts[-1], threads=2)):
            if i % 2 == 0:
                assert blocks(bounded(data, n_min, n_max, "paper")) == oracle.algorithm_1(y, n_min, n_max)
            assert blocks(bounded(data, n_min, n_max, "auto")) == oracle.best_pava_bc(groups, n_min, n_max)


@given(labels, st.integers(0, 40), st.integers(1, 60))
def test_untied_scores_have_the_papers_bins_from_the_bottom(y, n_min, n_max):
    n_min = min(n_min, len(y))
    assert oracle.atomic_pava_bc([(k, 1) for k in y], n_min, max(n_max, n_min)) == oracle.algorithm_1(
        y, n_min, max(n_max, n_min)
    )


def test_both_ways_are_nearer_to_the_optimum(rng):
    """The optimum is that of increasing rates. A scan that stops at n_max may leave rates that fall, so its error can
    be smaller."""
    gains = []
    for i in range(40):
        p = np.sort(rng.beta(*[(0.02, 1.98), (0.5, 5), (2, 2), (0.2, 0.2)][i % 4], 120))
        y = rng.random(120) < p
        tally = Tally.from_arrays(y, p)
        n_min, n_max = 6, 24
        optimum = oracle.optimal_bins(y, n_min, n_max)
        errors = [oracle.squared_error(blocks(bounded(tally, n_min, n_max, sizes))) for sizes in ("paper", "auto")]
        whole = oracle.squared_error([(int(y.sum()), len(y))])
        assert errors[1] <= errors[0]
        if optimum is not None and whole > 0:
            gains.append([float((whole - error) / (whole - optimum)) for error in errors])
    paper, auto = np.mean(gains, axis=0)
    assert abs(auto - 1) < 0.05 < 1 - paper  # of the optimum's gain over one bin: 1.01 and 0.82 on average


@given(tied_rows)
def test_isotonic_has_scipys_blocks(rows):
    p, y = np.array([s / 25 for s, _ in rows]), np.array([label for _, label in rows])
    tally = Tally.from_arrays(y, p)
    theirs = isotonic_regression(tally.pos / tally.n, weights=tally.n.astype(float))
    found = Isotonic().partition(tally)
    # SciPy may keep neighbouring blocks apart whose rates are equal; ours have strictly increasing rates
    fitted = np.repeat(found.k / found.n, np.diff(found.starts))
    np.testing.assert_allclose(fitted, theirs.x, rtol=1e-12, atol=1e-15)
    assert (np.diff(found.k / found.n) > 0).all()
    assert set(found.starts.tolist()) <= set(theirs.blocks.tolist())


@given(
    st.lists(st.tuples(st.integers(0, 400), st.booleans()), min_size=1, max_size=400),
    st.integers(1, 30),
    st.integers(0, 60),
)
def test_sizes_are_kept_unless_ties_forbid(rows, n_min, more):
    n_min, n_max = min(n_min, len(rows)), 2 * min(n_min, len(rows)) + more
    p, y = np.array([s / 400 for s, _ in rows]), np.array([label for _, label in rows])
    tally = Tally.from_arrays(y, p)
    largest_tie = int(tally.n.max())
    paper = BoundedIsotonic(n_min, n_max, sizes="paper").partition(tally)
    auto = BoundedIsotonic(n_min, n_max).partition(tally)
    assert paper.n.min() >= n_min
    assert (auto.n[np.diff(auto.starts) > 1] <= n_max).all()
    if largest_tie <= n_max - 2 * n_min + 2:
        assert paper.n.max() <= n_max
        assert paper.notes == ()
        if largest_tie < max(2, n_min):
            assert auto.n.min() >= n_min
            assert auto.notes == ()
    elif largest_tie <= n_max - n_min:
        assert paper.n[:-1].max(initial=0) <= n_max
    for found in (paper, auto):
        told = " ".join(map(str, found.notes))
        assert (f"more than n_max = {n_max} rows, the largest {found.n.max()}" in told) == (found.n.max() > n_max)
        assert (f"fewer than n_min = {n_min} rows, the smallest {found.n.min()}" in told) == (found.n.min() < n_min)


def test_no_cut_keeps_the_sizes_around_a_large_tie():
    tally = Tally(np.arange(1, 20) / 20, np.array([1] * 9 + [10] + [1] * 9), np.array([0] * 9 + [5] + [1] * 9))
    cuts = np.cumsum(tally.n)
    assert not any(10 <= left <= 20 and 10 <= 28 - left <= 20 for left in cuts.tolist())
    paper = BoundedIsotonic(10, 20, sizes="paper").partition(tally)
    assert paper.n.tolist() == [28]
    assert tuple(map(str, paper.notes)) == (
        "1 of 1 bins holds more than n_max = 20 rows, the largest 28: tied scores stay in one bin",
    )
    auto = BoundedIsotonic(10, 20).partition(tally)
    assert auto.n.tolist() == [9, 10, 9]
    assert tuple(map(str, auto.notes)) == (
        "2 of 3 bins hold fewer than n_min = 10 rows, the smallest 9: a large tie next to them is a bin of its own",
    )


def test_a_heavy_score_stands_alone_unless_rates_fall():
    """A right model whose few ones lie above a large tie of zeros, and the same turned round."""
    y = np.repeat([0, 1], [990, 10])
    for labels in (y, 1 - y):
        found = BoundedIsotonic().partition(Tally.from_arrays(labels, labels.astype(float)))
        assert sorted(found.n.tolist()) == [10, 990]
        joined = BoundedIsotonic(sizes="paper").partition(Tally.from_arrays(labels, labels.astype(float)))
        assert joined.n.tolist() == [1000]
    # 0.2 holds more positives than 0.4: within n_max they are one bin
    falling = Tally(np.array([0.2, 0.4]), np.array([60, 60]), np.array([30, 20]))
    assert BoundedIsotonic(50, 200).partition(falling).n.tolist() == [120]
    assert BoundedIsotonic(50, 100).partition(falling).n.tolist() == [60, 60]


@pytest.mark.parametrize(
    ("total", "sizes", "expected"),
    # N/20 and N/5, beyond N = 8000 N^(2/3) and 4 N^(2/3) by default; rounded down (DESIGN of the default, section 3)
    [
        (1, "auto", (1, 2)),
        (30, "paper", (1, 6)),
        (1254, "paper", (62, 250)),
        (1254, "auto", (62, 250)),
        (8000, "auto", (400, 1600)),
        (50000, "paper", (2500, 10000)),
        (1_000_000, "auto", (9999, 39999)),
    ],
)
def test_default_sizes(total, sizes, expected):
    n_min, n_max = BoundedIsotonic(sizes=sizes).bounds(total)
    assert n_min == pytest.approx(expected[0], abs=1)
    assert n_max == pytest.approx(expected[1], abs=4)


def test_sizes_as_shares_and_one_alone():
    assert BoundedIsotonic(0.05, 0.2).bounds(6000) == (300, 1200)
    assert BoundedIsotonic(0.29, 1.0).bounds(100) == (29, 100)
    assert BoundedIsotonic(n_min=500).bounds(6000) == (500, 2000)
    assert BoundedIsotonic(n_max=40).bounds(6000) == (10, 40)


def test_impossible_sizes_are_refused():
    tally = Tally.from_arrays([0, 1, 1], [0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match="`n_min` must not exceed the number of rows; it is 4, there are 3"):
        BoundedIsotonic(4, 8).partition(tally)
    with pytest.raises(ValueError, match="`n_min` must not exceed `n_max`; they are 3 and 2"):
        BoundedIsotonic(3, 2).partition(tally)
    with pytest.raises(ValueError, match=r"`n_min` must be a count .* it is -1"):
        BoundedIsotonic(-1)
    with pytest.raises(ValueError, match=r"`n_max` must be a count .* it is 1.5"):
        BoundedIsotonic(1, 1.5)
    with pytest.raises(ValueError, match='`sizes` must be "auto" or "paper"; it is \'papr\''):
        BoundedIsotonic(sizes="papr")
    with pytest.warns(UserWarning, match="`n_max` = 3 is below twice `n_min` = 2"):
        BoundedIsotonic(2, 3).partition(tally)


def test_sums_beyond_64_bits_are_compared_exactly():
    # Rates 1/3 and (1e13 + 1) / (3e13 + 3) are equal: one block. One positive more on the right: two.
    n = np.array([3 * 10**13, 3 * 10**13 + 3])
    equal = Tally(np.array([0.1, 0.2]), n, np.array([10**13, 10**13 + 1]))
    assert blocks(Isotonic().partition(equal)) == [(2 * 10**13 + 1, 6 * 10**13 + 3)]
    rising = Tally(np.array([0.1, 0.2]), n, np.array([10**13, 10**13 + 2]))
    assert len(Isotonic().partition(rising)) == 2


@given(st.lists(st.one_of(st.sampled_from([i / 10 for i in range(11)]), st.floats(0, 1)), min_size=1, max_size=50))
def test_uniform_puts_a_score_on_an_edge_right(scores):
    expected = np.bincount(oracle.bins_of_rows(scores, [i / 10 for i in range(11)]), minlength=10)
    for data in both_layouts(np.ones(len(scores), int), scores):
        found = Uniform(10).partition(data)
        assert found.n.tolist() == expected.tolist()
        assert found.k.tolist() == found.n.tolist()


@given(tied_rows, st.integers(1, 40))
def test_quantile_cuts_after_the_group_that_reaches_the_count(rows, n_bins):
    p, y = np.array([s / 25 for s, _ in rows]), np.array([label for _, label in rows])
    expected = np.bincount(oracle.quantile_bin_of_rows(p, n_bins)).tolist()
    for data in both_layouts(y, p):
        found = Quantile(n_bins).partition(data)
        assert found.n.tolist() == expected
        assert bool(found.notes) == (len(expected) < n_bins)


def test_quantile_bins_of_distinct_scores_differ_by_one(rng):
    found = Quantile(7).partition(Tally.from_arrays(np.zeros(100), rng.random(100)))
    assert found.n.tolist() == [14, 14, 14, 15, 14, 14, 15]  # differences of floor(100 b / 7)


@given(tied_rows, st.sampled_from([Isotonic(), BoundedIsotonic(), Quantile(5), Uniform(7), Edges([0, 0.3, 0.31, 1])]))
def test_edges_reproduce_the_bins(rows, scheme):
    p, y = np.array([s / 25 for s, _ in rows]), np.array([label for _, label in rows])
    tally = Tally.from_arrays(y, p)
    found = scheme.partition(tally)
    again = Edges(found.edges).partition(tally)
    assert again.n.tolist() == found.n.tolist()
    assert again.k.tolist() == found.k.tolist()


def test_edges_are_midpoints_even_between_neighbouring_floats():
    found = Quantile(2).partition(Tally.from_arrays([0, 1], [0.25, 0.75]))
    assert found.edges.tolist() == [0, 0.5, 1]
    low = 1.0 - 2**-53
    close = Quantile(2).partition(Tally.from_arrays([0, 1], [low, 1.0]))
    assert low < close.edges[1] <= 1.0


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([0.5], "at least two increasing numbers"),
        ([0, 0.5, 0.5, 1], "at least two increasing numbers"),
        ([0, np.nan, 1], "at least two increasing numbers"),
        ([0.1, 1], "must go from 0 to 1; they go from 0.1 to 1.0"),
    ],
)
def test_bad_edges_are_refused(edges, message):
    with pytest.raises(ValueError, match=message):
        Edges(edges)


@pytest.mark.parametrize("scheme", [Uniform, Quantile])
@pytest.mark.parametrize("value", [0, -3, 2.5, True, "10"])
def test_bad_numbers_of_bins_are_refused(scheme, value):
    with pytest.raises(ValueError, match="`n_bins` must be a whole number, 1 or more"):
        scheme(value)


def test_schemes_are_values():
    assert Edges([0, 0.5, 1]) == Edges(np.array([0, 0.5, 1]))
    assert hash(Edges([0, 0.5, 1])) == hash(Edges([0, 0.5, 1]))
    assert Edges([0, 0.5, 1]) != Edges([0, 0.4, 1])
    assert BoundedIsotonic(5, 10) == BoundedIsotonic(5, 10) != BoundedIsotonic(5, 11)


@pytest.mark.parametrize("scheme", [Uniform(), Quantile(), Isotonic(), BoundedIsotonic(), Edges([0, 1])])
def test_an_empty_tally_has_no_bins(scheme):
    nothing = Tally(np.array([]), np.array([], int), np.array([], int))
    with pytest.raises(ValueError, match="Bins need at least one row; the tally is empty"):
        scheme.partition(nothing)


def test_quality_by_hand():
    # bins of 2, 4, 2 with rates 1/2, 1/4, 1: errors 1/4, 3/16, 0; one fall of 1/4
    y = [0, 1, 0, 0, 0, 1, 1, 1]
    found = measure_bins(Edges([0, 0.25, 0.75, 1]).partition(Tally.from_arrays(y, np.arange(8) / 8)))
    assert found.total_error == pytest.approx((2 / 4 + 4 * 3 / 16) / 8)
    assert found.within_bin_error == pytest.approx((1 / 4 + 3 / 16) / 3)
    assert (found.violations, found.largest_violation) == (1, 0.25)


def test_quality_of_the_papers_bins(data_dir):
    """The paper's table of bins, satimage random forest: PAVA, PAVA-BC, 10 quantiles (published to three digits).

    Its forest has ties, which the paper broke by sort order, so the grouped values agree to that only roughly.
    """
    stored = np.load(data_dir / "uci" / "predictions_sklearn_1.2.1.npz")
    tally = Tally.from_arrays(stored["satimage_y"], stored["satimage_RF"])
    published = {
        Isotonic(): (0.040, 0.132),
        BoundedIsotonic(sizes="paper"): (0.042, 0.077),
        Quantile(10): (0.048, 0.047),
    }
    for scheme, (total, within) in published.items():
        found = measure_bins(scheme.partition(tally))
        assert found.total_error == pytest.approx(total, abs=0.0015)
        assert found.within_bin_error == pytest.approx(within, abs=0.012)


def test_one_bin_is_a_singular():
    assert [scheme.words for scheme in (Uniform(1), Quantile(1), Edges([0, 1]))] == [
        "1 equal-width bin",
        "1 equal-size bin",
        "1 bin of given edges",
    ]
    assert [scheme.words for scheme in (Uniform(10), Quantile(2), Edges([0, 0.5, 1]))] == [
        "10 equal-width bins",
        "2 equal-size bins",
        "2 bins of given edges",
    ]
