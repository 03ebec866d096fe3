"""Rows that share a customer: verdicts that allow for it."""

import math

import numpy as np
import pytest
from clustered_rows import simulate

import truecal
from truecal.data import Cells, Tally
from truecal.verdict import judge


def test_rows_in_clusters_of_their_own_give_exactly_the_verdict_without():
    rng = np.random.default_rng(0)
    y, p, _ = simulate(rng, 4000, 1, 0.0)
    alone, plain = judge(Cells.from_arrays(y, p, cluster=np.arange(4000))), judge(Cells.from_arrays(y, p))
    assert (alone.clusters, alone.design_effect) == (4000, 1.0)
    for name in plain.__dataclass_fields__:
        if name != "clusters":
            assert getattr(alone, name) == getattr(plain, name), name


def test_row_order_and_batches_do_not_change_the_verdict():
    rng = np.random.default_rng(1)
    y, p, ids = simulate(rng, 200, 20, 1.0)
    whole = judge(Cells.from_arrays(y, p, cluster=ids))
    order = rng.permutation(len(p))
    assert judge(Cells.from_arrays(y[order], p[order], cluster=ids[order])) == whole
    halves = [Tally.from_arrays(y[part], p[part], cluster=ids[part]) for part in np.array_split(order, 3)]
    assert judge(Cells.of(sum(halves))) == whole


def test_a_verdict_does_not_depend_on_how_clusters_are_named():
    rng = np.random.default_rng(2)
    y, p, ids = simulate(rng, 200, 20, 1.0)
    first, second = (judge(Cells.from_arrays(y, p, cluster=c)) for c in (ids, np.array([f"c{i}" for i in ids])))
    # sums are in the order of the hashes, and the two equations of the fit are nearly one
    assert first.p_value == pytest.approx(second.p_value, rel=1e-6)
    assert first.design_effect == pytest.approx(second.design_effect, rel=1e-9)


@pytest.mark.slow
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
        verdicts.append((judge(Cells.from_arrays(y, p, cluster=ids)), judge(Cells.from_arrays(y, p))))
    assert sum(with_clusters.status == "miscalibrated" for with_clusters, _ in verdicts) < 9
    assert sum(without.status == "miscalibrated" for _, without in verdicts) > 30
    # the level of Local TCE; single values vary by about 5 points, their mean by 0.7
    assert np.mean([found.local.value for found, _ in verdicts]) == pytest.approx(5, abs=2.5)


def test_an_error_of_all_odds_is_found_and_is_no_correlation():
    rng = np.random.default_rng(4)
    y, p, ids = simulate(rng, 500, 20, 0.6, 0.3)
    off = p / (p + 1.6 * (1 - p))  # odds over 1.6
    right, wrong = (judge(Cells.from_arrays(y, said, cluster=ids)) for said in (p, off))
    assert wrong.status == "miscalibrated"
    assert wrong.interval[0] > 1
    assert wrong.design_effect == pytest.approx(right.design_effect, rel=0.15)


def test_intervals_and_what_would_be_found_widen_with_the_design_effect():
    rng = np.random.default_rng(5)
    y, p, ids = simulate(rng, 500, 20, 1.0, 0.3)
    found, plain = judge(Cells.from_arrays(y, p, cluster=ids)), judge(Cells.from_arrays(y, p))
    widths = [math.log(verdict.interval[1] / verdict.interval[0]) for verdict in (found, plain)]
    # normal limits; the degrees of freedom are many
    assert widths[0] / widths[1] == pytest.approx(math.sqrt(found.design_effect), rel=0.03)
    reach = [math.log(verdict.detectable) for verdict in (found, plain)]
    assert reach[0] / reach[1] == pytest.approx(math.sqrt(found.design_effect), rel=0.1)


def test_tests_that_take_rows_as_independent_are_left_out():
    rng = np.random.default_rng(6)
    y, p, ids = simulate(rng, 500, 20, 1.0, 0.3)
    assert set(judge(Cells.from_arrays(y, p, cluster=ids)).tests) == {
        "total",
        "scan_information",
        "scan_rows",
        "cox",
    }


def test_a_verdict_says_whose_rows_they_are():
    rng = np.random.default_rng(7)
    y, p, ids = simulate(rng, 300, 10, 1.0, 0.3)
    verdict = truecal.evaluate(y, p, cluster=ids).verdict
    effect = verdict.design_effect
    assert verdict.sentences()[-1] == (
        f"3,000 rows in 300 clusters: design effect {effect:.2f}; they carry the information of {3000 / effect:,.0f} "
        "independent rows."
    )
    assert truecal.Result.from_json(truecal.evaluate(y, p, cluster=ids).to_json()).verdict == verdict
