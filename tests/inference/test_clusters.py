"""Rows that share a customer: verdicts, references and intervals that allow for it."""

import math

import numpy as np
import pytest

import truecal
from truecal.inference import Draws, find_parts, judge, null_reference
from truecal.inference._redraw import Labels, find_shared
from truecal.metrics import METRICS, Design
from truecal.observations import CellGroups, CellSums, Tally


def simulate(rng, clusters, size, effect, rate=0.1):
    """Labels of clusters whose log-odds share a normal effect, and predictions that are right on average.

    The mean of sigmoid(x + effect g) over g is found on a grid of x, and turned round.
    """
    grid = np.linspace(-12, 12, 2001)
    nodes, weights = np.polynomial.hermite_e.hermegauss(41)
    mean = (1 / (1 + np.exp(-grid[:, None] - effect * nodes))) @ (weights / weights.sum())
    p = rng.beta(2 * rate / (1 - rate), 2, size=clusters * size).clip(1e-4, 1 - 1e-4)
    ids = np.repeat(np.arange(clusters), size)
    odds = np.interp(p, mean, grid) + effect * rng.standard_normal(clusters)[ids]
    return rng.random(len(p)) < 1 / (1 + np.exp(-odds)), p, ids


def test_rows_in_clusters_of_their_own_give_exactly_the_verdict_without():
    rng = np.random.default_rng(0)
    y, p, _ = simulate(rng, 4000, 1, 0.0)
    alone, plain = judge(CellSums.from_arrays(y, p, cluster=np.arange(4000))), judge(CellSums.from_arrays(y, p))
    assert (alone.clusters, alone.design_effect) == (4000, 1.0)
    for name in plain.__dataclass_fields__:
        if name != "clusters":
            assert getattr(alone, name) == getattr(plain, name), name


def test_row_order_and_batches_do_not_change_the_verdict():
    rng = np.random.default_rng(1)
    y, p, ids = simulate(rng, 200, 20, 1.0)
    whole = judge(CellSums.from_arrays(y, p, cluster=ids))
    order = rng.permutation(len(p))
    assert judge(CellSums.from_arrays(y[order], p[order], cluster=ids[order])) == whole
    halves = [Tally.from_arrays(y[part], p[part], cluster=ids[part]) for part in np.array_split(order, 3)]
    assert judge(CellSums.of(sum(halves))) == whole


def test_a_verdict_does_not_depend_on_how_clusters_are_named():
    rng = np.random.default_rng(2)
    y, p, ids = simulate(rng, 200, 20, 1.0)
    first, second = (judge(CellSums.from_arrays(y, p, cluster=c)) for c in (ids, np.array([f"c{i}" for i in ids])))
    # sums are in the order of the hashes, and the two equations of the fit are nearly one
    assert first.p_value == pytest.approx(second.p_value, rel=1e-6)
    assert first.design_effect == pytest.approx(second.design_effect, rel=1e-9)


@pytest.mark.parametrize(("clusters", "size", "correlation"), [(500, 20, 0.1), (400, 10, 0.1), (100, 50, 0.5)])
def test_right_models_are_called_off_as_often_as_the_level_says(clusters, size, correlation):
    """Labels of a customer have one rate, drawn around the one prediction for all of them.

    Rows taken as independent are then found wrong in most data sets: 83 % with 20 rows a customer and 67 % with 10
    visits a patient were measured at a correlation of 0.1. With 50 rows at 0.5, windows of one or two customers, all or
    none of whose rows are positive, once called half of the right models off. With clusters 3 of 60 are off on average at 0.05, and 9 or more with a probability
    of 0.2 % (binomial).
    """
    rng = np.random.default_rng(3)
    verdicts = []
    for _ in range(60):
        said = rng.beta(1, 4, size=clusters)
        weight = 1 / correlation - 1
        rate = rng.beta(weight * said, weight * (1 - said))
        ids = np.repeat(np.arange(clusters), size)
        y, p = rng.random(len(ids)) < rate[ids], said[ids]
        verdicts.append((judge(CellSums.from_arrays(y, p, cluster=ids)), judge(CellSums.from_arrays(y, p))))
    assert sum(with_clusters.word == "off" for with_clusters, _ in verdicts) < 9
    assert sum(without.word == "off" for _, without in verdicts) > 30
    # the level of Local TCE; single values vary by about 5 points, their mean by 0.7
    assert np.mean([found.local.value for found, _ in verdicts]) == pytest.approx(5, abs=2.5)


def test_an_error_of_all_odds_is_found_and_is_no_correlation():
    rng = np.random.default_rng(4)
    y, p, ids = simulate(rng, 500, 20, 0.6, 0.3)
    off = p / (p + 1.6 * (1 - p))  # odds over 1.6
    right, wrong = (judge(CellSums.from_arrays(y, said, cluster=ids)) for said in (p, off))
    assert wrong.word == "off"
    assert wrong.interval[0] > 1
    assert wrong.design_effect == pytest.approx(right.design_effect, rel=0.15)


def test_intervals_and_what_would_be_found_widen_with_the_design_effect():
    rng = np.random.default_rng(5)
    y, p, ids = simulate(rng, 500, 20, 1.0, 0.3)
    found, plain = judge(CellSums.from_arrays(y, p, cluster=ids)), judge(CellSums.from_arrays(y, p))
    widths = [math.log(verdict.interval[1] / verdict.interval[0]) for verdict in (found, plain)]
    # normal limits; the degrees of freedom are many
    assert widths[0] / widths[1] == pytest.approx(math.sqrt(found.design_effect), rel=0.03)
    reach = [math.log(verdict.detectable) for verdict in (found, plain)]
    assert reach[0] / reach[1] == pytest.approx(math.sqrt(found.design_effect), rel=0.1)


def test_parts_that_take_ranges_as_independent_are_left_out():
    rng = np.random.default_rng(6)
    y, p, ids = simulate(rng, 500, 20, 1.0, 0.3)
    assert set(find_parts(CellSums.from_arrays(y, p, cluster=ids))) == {"total", "information", "rows", "cox"}


def test_a_verdict_says_whose_rows_they_are():
    rng = np.random.default_rng(7)
    y, p, ids = simulate(rng, 300, 10, 1.0, 0.3)
    verdict = truecal.evaluate(y, p, cluster=ids).verdict
    effect = verdict.design_effect
    assert verdict.sentences()[-1] == (
        f"The 3,000 rows belong to 300 clusters: they tell as much as {3000 / effect:,.0f} independent ones, a design "
        f"effect of {effect:.2f}."
    )
    assert truecal.Result.from_json(truecal.evaluate(y, p, cluster=ids).to_json()).verdict == verdict


def test_labels_are_redrawn_with_their_probabilities_and_together():
    rng = np.random.default_rng(8)
    y, p, ids = simulate(rng, 300, 20, 1.0, 0.3)
    p = np.round(p, 2).clip(0.01, 0.99)
    tally = Tally.from_arrays(y, p, cluster=ids)
    labels = Labels.of(tally, tally.score)
    drawn = np.array([labels.draw(seed) for seed in range(2000)])
    # each score's mean within 5 standard errors, which clusters widen
    design = Design.of(CellGroups.of([CellSums.of(tally)]))
    error = np.sqrt(design.effect[0] * tally.n * tally.score * (1 - tally.score) / len(drawn))
    assert (np.abs(drawn.mean(axis=0) - tally.n * tally.score) < 5 * error + 1e-9).all()
    # the variance of the total is what the design says; a variance of 2,000 draws is known to about 3 %
    v = np.sum(tally.n * tally.score * (1 - tally.score))
    assert drawn.sum(axis=1).var() / v == pytest.approx(design.effect[0], rel=0.12)
    assert labels.draw(5).tolist() == Labels.of(tally, tally.score).draw(5).tolist()


def test_independent_rows_are_redrawn_as_before():
    rng = np.random.default_rng(9)
    p = rng.random(500)
    y = rng.random(500) < p
    plain, alone = Tally.from_arrays(y, p), Tally.from_arrays(y, p, cluster=np.arange(500))
    assert find_shared(alone) == 0
    assert Labels.of(plain, plain.score).draw(3).tolist() == Labels.of(alone, alone.score).draw(3).tolist()


def test_references_have_the_spread_of_rows_that_go_together():
    rng = np.random.default_rng(10)
    y, p, ids = simulate(rng, 300, 20, 1.0, 0.3)
    metrics = {"intercept": METRICS["intercept"]}
    spans = [
        null_reference(tally, metrics, Draws(400, 0))["intercept"]
        for tally in (Tally.from_arrays(y, p, cluster=ids), Tally.from_arrays(y, p))
    ]
    widths = [found.high - found.low for found in spans]
    effect = judge(CellSums.from_arrays(y, p, cluster=ids)).design_effect
    assert widths[0] / widths[1] == pytest.approx(math.sqrt(effect), rel=0.15)


def test_tests_of_bins_allow_for_clusters_too():
    rng = np.random.default_rng(11)
    y, p, ids = simulate(rng, 300, 20, 1.5, 0.3)
    plain, found = truecal.evaluate(y, p, ["tce_q"]), truecal.evaluate(y, p, ["tce_q"], cluster=ids)
    assert (
        found.bins.accepted_high - found.bins.accepted_low > plain.bins.accepted_high - plain.bins.accepted_low
    ).all()
    assert (found.bins.rate_high - found.bins.rate_low > plain.bins.rate_high - plain.bins.rate_low).all()
    assert (found.bins.p_value >= plain.bins.p_value).all()
    alone = truecal.evaluate(y, p, ["tce_q"], cluster=np.arange(len(p)))
    assert alone.bins == plain.bins
    assert alone["tce_q"] == plain["tce_q"]
