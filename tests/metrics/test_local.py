"""Local TCE against an oracle that is written from its text, and what must hold of it."""

import math

import numpy as np
import pytest
from local_oracle import cells_of, cost_of, local_tce, windows_of

import truecal
from truecal import Metric, Quantile, Tally, _kernel
from truecal.data import CellGroups, Cells, sort_rows
from truecal.inference import Draws, intervals, null_distribution
from truecal.metrics import (
    METRICS,
    Absolute,
    Binned,
    PointwiseTest,
    Relative,
    Windows,
    WindowTest,
    adjust_p_values,
    choose,
    local_error,
)
from truecal.metrics._local import Tails, costs, decide_windows, find_windows, reject_windows
from truecal.metrics._poisson_binomial import PoissonBinomial

SHAPES = {
    "beta": lambda rng, n: rng.beta(0.5, 5, n),
    "uniform": lambda rng, n: rng.random(n),
    "both ends": lambda rng, n: rng.beta(0.2, 0.2, n),
    "two scores": lambda rng, n: rng.choice([0.001, 0.999], n),
    "ties": lambda rng, n: rng.choice([0.0, 0.1, 0.25, 0.5, 0.9, 1.0], n),
    "levels": lambda rng, n: np.round(rng.beta(0.5, 5, n), 2),
    "rare": lambda rng, n: rng.beta(0.3, 300, n),
    "zeros": lambda rng, n: np.where(rng.random(n) < 0.5, 0.0, rng.beta(1, 3, n)),
    "near one": lambda rng, n: 1 - rng.beta(0.3, 30, n),
    "one score": lambda rng, n: np.full(n, rng.random()),
}


def draw(seed, name, most=300):
    """A data set of any size, its odds right or off by some factor."""
    rng = np.random.default_rng([seed, sum(map(ord, name))])
    n = int(rng.integers(1, most))
    p = SHAPES[name](rng, n)
    factor = math.exp(rng.normal(0, 0.7))
    return rng.random(n) < factor * p / (1 - p + factor * p), p


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("name", SHAPES)
def test_the_oracle_agrees(name, seed):
    y, p = draw(seed, name)
    cells = Cells.from_arrays(y, p)
    by_rows, by_information = local_tce(y, p)
    found = local_error(cells)
    # tails of windows are right to 6e-4 where they are approximated; the decision's edge is P(X = k) wide
    assert found.value == pytest.approx(by_rows, abs=0.6)
    assert found.value == pytest.approx(found.too_low + found.too_high)
    if by_information is None:
        assert found.information is None
    else:
        assert found.information == pytest.approx(by_information, abs=0.6)


@pytest.mark.parametrize("name", SHAPES)
def test_small_data_agree_to_rounding(name):
    """Windows of at most 64 rows are computed without approximation; rows of a cell differ by 2^-11 of q at most."""
    for seed in range(20):
        y, p = draw(seed, name, most=60)
        assert local_error(Cells.from_arrays(y, p)).value == pytest.approx(local_tce(y, p)[0], abs=1e-3)


@pytest.mark.parametrize(
    ("tolerance", "raise_by", "lower_by"),
    [
        (Absolute(0.05), lambda x: min(x + 0.05, 1), lambda x: max(x - 0.05, 0)),
        (Relative(0.2), lambda x: min(x * 1.2, 1), lambda x: x * 0.8),
    ],
)
@pytest.mark.parametrize("name", SHAPES)
def test_tolerance_moves_every_prediction(name, tolerance, raise_by, lower_by):
    for seed in range(4):
        y, p = draw(seed, name, most=150)
        expected, _ = local_tce(y, p, raise_by=raise_by, lower_by=lower_by)
        found = local_error(Cells.from_arrays(y, p), tolerance=tolerance)
        assert found.value == pytest.approx(expected, abs=0.6)
        assert found.value <= local_error(Cells.from_arrays(y, p)).value + 0.6


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_windows_are_those_of_the_text(name):
    for seed in range(6):
        y, p = draw(seed, name, most=2000)
        cells = cells_of(y, p)
        expected = [round(c * 2**30) for c in cost_of(cells)]
        found = costs(CellGroups.of([Cells.from_arrays(y, p)]))
        # sums of v over a cell in different orders differ by rounding
        assert np.abs(found - expected).max() <= 1
        for grid in range(8):
            starts = _kernel.window_starts(np.array(expected), np.array([0, len(expected)]))[grid]
            windows = windows_of(cost_of(cells), grid)
            assert starts.tolist() == [*(window[0] for window in windows), len(cells)]


@pytest.mark.parametrize("significance", [1e-4, 0.05, 0.6])
@pytest.mark.parametrize("name", SHAPES)
def test_windows_that_are_surely_right_are_decided_as_by_their_tails(name, significance):
    """A share is 0 wherever a tail exceeds half of the level; others have twelve digits of the tails."""
    for seed in range(6):
        y, p = draw(seed, name, most=3000)
        cells = Cells.from_arrays(y, p)
        coins, grids = PoissonBinomial.of(cells), find_windows(CellGroups.of([cells]))
        for tolerance in (None, Relative(0.1), Absolute(0.3)):
            expected = Tails.of(coins, grids, tolerance).decide(significance)
            found = decide_windows(coins, grids, significance, tolerance)
            assert np.allclose(found, expected, rtol=0, atol=1e-11)
        rows, *sides = reject_windows(cells, significance)
        partition = Windows().partition_cells(cells)[1]
        assert rows.tolist() == partition.n.tolist()
        assert np.allclose(sides, partition.shares(significance, None, "rows"), rtol=0, atol=1e-11)
        expected = Metric(Windows(), WindowTest(significance))(Tally.from_arrays(y, p))
        assert truecal.ltce(y, p, significance=significance) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", SHAPES)
def test_redrawn_labels_are_decided_as_if_they_were_the_first(name):
    """With what is known of windows whatever their labels, and as far off as labels can be."""
    rng = np.random.default_rng(7)
    for seed in range(3):
        tally = Tally.from_arrays(*draw(seed, name, most=3000))
        first = Windows().partition(tally)
        for pos in (*(rng.binomial(tally.n, tally.score**power) for power in (1, 1, 1.3, 0.2)), 0 * tally.n, tally.n):
            again = tally.relabel(np.asarray(pos))
            for level, tolerance in ((0.01, None), (0.2, None), (0.05, Relative(0.2))):
                found, expected = (
                    part.shares(level, tolerance, "rows") for part in (first.relabel(again), Windows().partition(again))
                )
                assert all(map(np.array_equal, found, expected))


def test_a_heavy_cell_stands_alone():
    one = 2**30
    cost = np.array([one // 4, one, one // 4, one // 4, 3 * one])
    for grid in range(8):
        assert {1, 2, 4} <= set(_kernel.window_starts(cost, np.array([0, 5]))[grid].tolist())


def test_the_source_of_the_rows_is_irrelevant(rng):
    p = np.concatenate([rng.beta(0.5, 5, 3000), rng.choice([0.0, 0.3, 1.0], 500), 1 - rng.beta(0.3, 30, 500)])
    y = rng.random(len(p)) < p
    rows = local_error(Cells.from_arrays(y, p))
    order = rng.permutation(len(p))
    assert local_error(Cells.from_arrays(y[order], p[order])) == rows
    assert local_error(Cells.of(Tally.from_arrays(y, p))) == rows
    assert local_error(Cells.of(sort_rows(y, p))) == rows
    halves = Cells.from_arrays(y[:1700], p[:1700]) + Cells.from_arrays(y[1700:], p[1700:])
    assert local_error(halves).value == pytest.approx(rows.value, rel=1e-9)
    for bits in (12, 16, 20):
        grid = Cells.of(Cells.grid(Tally.from_arrays(y, p), bits))
        assert local_error(grid).value == pytest.approx(rows.value, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["beta", "two scores", "ties", "rare", "both ends"])
def test_a_right_model_scores_the_level(name):
    rng = np.random.default_rng(3)
    values = []
    for _ in range(225):
        p = SHAPES[name](rng, 1000)
        values.append(local_error(Cells.from_arrays(rng.random(1000) < p, p)).value)
    # the decision's expectation is exactly the significance
    assert np.mean(values) == pytest.approx(5, abs=3.5 * np.std(values) / 15)


def test_reversed_scores_are_found(rng):
    """The model whose scores above 0.05 are reversed: gross, and invisible to the paper's TCE."""
    truth = 1 / (1 + np.exp(-rng.normal(-6.3, 2.6, 20_000)))
    p, high = truth.copy(), truth > 0.05
    p[high] = np.sort(truth[high])[::-1][np.argsort(np.argsort(truth[high]))]
    found = local_error(Cells.from_arrays(rng.random(20_000) < truth, p))
    assert found.proven > 5
    assert found.p_value < 1e-10
    low, high = (found for found in found.bands if found.proven)
    assert (low.direction, high.direction) == ("under-predicts", "over-predicts")
    assert low.observed > 2 * low.expected
    assert high.observed < high.expected / 2


def test_a_range_counts_its_own_rows(rng):
    p = rng.beta(0.5, 5, 20_000)
    y = rng.random(20_000) < p
    halved = np.where(p > 0.1, p / 2, p / 5)
    found = local_error(Cells.from_arrays(y, halved))
    for part in found.bands:
        inside = (halved >= part.low * (1 - 2**-11)) & (halved <= part.high * (1 + 2**-11))
        assert part.rows == pytest.approx(inside.sum(), abs=20)
        assert part.observed == pytest.approx(y[inside].sum(), abs=10)
        assert part.odds_ratio.ratio == pytest.approx(part.ratio, rel=1e-6)
        assert part.odds_ratio.ratio_low < part.ratio < part.odds_ratio.ratio_high


def test_holm_is_the_textbook_s():
    # 0.01 x 4, 0.02 x 3, 0.03 x 2, 0.04 x 1 lifted to what came before: Holm (1979)
    assert adjust_p_values(np.array([0.04, 0.01, 0.03, 0.02]), "holm").tolist() == pytest.approx(
        [0.06, 0.04, 0.06, 0.06]
    )
    assert adjust_p_values(np.array([0.9, 0.8]), "holm").tolist() == [1.0, 1.0]


def test_proven_is_rare_for_a_right_model(rng):
    shares = []
    for _ in range(200):
        p = rng.beta(0.5, 5, 2000)
        shares.append(local_error(Cells.from_arrays(rng.random(2000) < p, p)).proven > 0)
    assert np.mean(shares) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 200)


@pytest.mark.parametrize(("label", "value"), [(0, 5.0), (1, 100.0)])
def test_a_prediction_of_zero_is_certain(label, value):
    """P(X = 0) = 1: the edge's share is s/2 on either side, so even a certain window scores the level."""
    found = local_error(Cells.from_arrays([label] * 10, [0.0] * 10))
    assert found.value == pytest.approx(value)
    assert found.information is None


def test_bad_arguments_are_refused():
    cells = Cells.from_arrays([0, 1], [0.2, 0.3])
    with pytest.raises(ValueError, match="`significance` must lie between 0 and 1; it is 5"):
        local_error(cells, 5)
    with pytest.raises(ValueError, match="relative tolerance must lie in"):
        local_error(cells, tolerance=Relative(-1))
    empty = Cells.of(Tally([], [], []))
    with pytest.raises(ValueError, match="at least one row"):
        local_error(empty)


@pytest.mark.parametrize("tolerance", [None, Absolute(0.01), Relative(0.2)])
@pytest.mark.parametrize("name", SHAPES)
def test_the_metric_is_the_mean_over_windows_of_the_first_grid(name, tolerance):
    for seed in range(4):
        y, p = draw(seed, name)
        tally, found = Tally.from_arrays(y, p), local_error(Cells.from_arrays(y, p), 0.1, tolerance)
        rows = Metric(Windows(), WindowTest(0.1, tolerance))
        assert rows(tally) == pytest.approx(found.value, rel=1e-12)
        assert rows(tally) == rows(sort_rows(y, p))
        assert truecal.ltce(y, p, significance=0.1, tolerance=tolerance) == pytest.approx(found.value, rel=1e-12)
        by_information = truecal.ltce(y, p, significance=0.1, tolerance=tolerance, weight="information")
        if found.information is None:
            assert math.isnan(by_information)
        else:
            assert by_information == pytest.approx(found.information, rel=1e-9)
        partition = Windows().partition(tally)
        assert len(partition) == found.windows
        loss = WindowTest(0.1, tolerance)(Binned(tally, partition))
        assert ((loss >= 0) & (loss <= 100)).all()
        assert np.sum(partition.n * loss) / len(y) == pytest.approx(found.value, rel=1e-12)


@pytest.mark.parametrize("name", SHAPES)
def test_windows_do_not_depend_on_labels(name):
    """Redrawn labels take over the windows; the values are those of the redrawn labels all the same."""
    y, p = draw(1, name)
    tally = Tally.from_arrays(y, p)
    partition, rng = Windows().partition(tally), np.random.default_rng(0)
    for _ in range(5):
        again = Tally(tally.score, tally.n, rng.binomial(tally.n, tally.score))
        fresh, kept = Windows().partition(again), partition.relabel(again)
        assert (fresh.starts.tolist(), fresh.k.tolist()) == (kept.starts.tolist(), kept.k.tolist())
        metric = Metric(Windows(), WindowTest(0.2))
        assert metric.on(Binned(again, kept)) == metric(again)


def test_references_of_local_tce_are_its_level(rng):
    """The mean over redrawn labels is the level, and the p-values of a right model are not small by themselves."""
    p = rng.beta(0.2, 0.2, 3000)
    tally = Tally.from_arrays(rng.random(3000) < p, p)
    chosen = {name: METRICS[name] for name in ("ltce", "ltce_information")}
    found = null_distribution(tally, chosen, Draws(400, 0))
    for name in chosen:
        # the standard deviation of one value is at most 4.8 (at N = 1e3), so that of the mean of 400 is 0.24
        assert found[name].mean == pytest.approx(5, abs=1)
    spans = intervals(tally, chosen, Draws(50, 0))
    assert all(spans[name].low <= metric(tally) <= spans[name].high for name, metric in chosen.items())


def test_no_evidence_is_no_number_and_no_alarm():
    tally = Tally.from_arrays([0, 0, 1], [0.0, 0.0, 1.0])
    metric = METRICS["ltce_information"]
    assert math.isnan(metric(tally))
    assert metric.format(metric(tally)) == "none"
    assert math.isnan(null_distribution(tally, {"x": metric}, Draws(9, 0))["x"].p_value)
    result = truecal.evaluate(tally, null_draws=9, resamples=9, random_state=0)
    assert truecal.Result.from_json(result.to_json()) == result


def test_weights_and_classes_follow_the_rows(rng):
    p = np.round(rng.random(300), 2)
    y, weight = rng.random(300) < p**2, rng.integers(0, 4, 300)
    assert truecal.ltce(y, p, sample_weight=weight) == truecal.ltce(np.repeat(y, weight), np.repeat(p, weight))
    words = np.where(y, "yes", "no")
    assert truecal.ltce(words, p, pos_label="yes") == truecal.ltce(y, p)
    matrix = np.stack([1 - p, p], axis=1)
    both = truecal.ltce(1 - y, 1 - p), truecal.ltce(y, p)
    assert truecal.ltce(y.astype(int), matrix, multiclass="classwise") == pytest.approx(np.mean(both))


def test_rejection_is_for_windows_and_its_options_are_checked():
    tally = Tally.from_arrays([0, 1], [0.2, 0.7])
    with pytest.raises(TypeError, match="needs bins that are windows"):
        Metric(Quantile(2), WindowTest())(tally)
    with pytest.raises(ValueError, match=r'`weight` must be "rows" or "information"; it is \'v\''):
        truecal.ltce([0, 1], [0.2, 0.7], weight="v")
    with pytest.raises(ValueError, match="`significance` must lie between 0 and 1"):
        truecal.ltce([0, 1], [0.2, 0.7], significance=2)


def test_named_metrics_follow_the_level_and_the_tolerance():
    chosen = choose(
        ["ltce", "ltce_information", "tce"], None, PointwiseTest(significance=0.01, tolerance=Relative(0.1))
    )
    assert [metric.rejection.significance for metric in chosen.values()] == [0.01] * 3
    assert [metric.rejection.tolerance for metric in chosen.values()] == [Relative(0.1)] * 3
    assert chosen["ltce_information"].loss.weight == "information"
    assert chosen["ltce"].meaning == (
        "% of predictions rejected (Poisson-binomial test at 0.01, relative tolerance 0.1); "
        "at most 1 on average if calibrated, 100 is worst"
    )
    assert list(METRICS)[:2] == ["ltce", "ltce_information"]


def test_cells_give_the_value_of_rows(rng):
    p = rng.beta(0.5, 5, 4000)
    y = rng.random(4000) < 1.3 * p
    for bits in (12, 16, 26):
        cells = Cells.grid(Tally.from_arrays(y, p), bits)
        assert METRICS["ltce"](cells.tally) == pytest.approx(truecal.ltce(y, p), abs=1e-4)
        result = truecal.evaluate(cells, ["ltce", "tce"])
        assert list(result.bounds) == (["tce"] if bits < 26 else [])  # cells of 26 bits hold one score each
        assert result.verdict.status == truecal.evaluate(y, p, ["ltce"]).verdict.status == "miscalibrated"


def test_tails_of_chosen_windows_do_not_depend_on_the_choice(rng):
    """Draws in several threads choose other windows in each run, and must agree to the last bit."""
    p = rng.beta(0.5, 4, 400)
    cells = CellGroups.of([Cells.from_arrays(rng.random(400) < p, p)])
    positives, grids = PoissonBinomial.in_groups(cells), find_windows(cells)
    everything = np.arange(sum(len(grid) - 1 for grid in grids))
    for tolerance in (None, truecal.Relative(0.1)):
        wanted = np.stack(Tails.of(positives, grids, tolerance, everything))
        for chosen in (everything[::3], everything[5:6], rng.choice(everything, 9, replace=False)):
            found = np.stack(Tails.of(positives, grids, tolerance, np.sort(chosen)))
            np.testing.assert_array_equal(found, wanted[:, np.sort(chosen)])
        np.testing.assert_allclose(np.stack(Tails.of(positives, grids, tolerance)), wanted, rtol=1e-10, atol=1e-14)
