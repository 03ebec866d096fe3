"""Rows that share a customer: references and intervals that allow for it."""

import math

import numpy as np
import pytest
from clustered_rows import simulate

import truecal
from truecal.data import CellGroups, Cells, Tally
from truecal.inference import Draws, null_distribution
from truecal.inference._bootstrap import Labels, find_shared
from truecal.metrics import METRICS, Design
from truecal.verdict import judge


def test_labels_are_redrawn_with_their_probabilities_and_together():
    rng = np.random.default_rng(8)
    y, p, ids = simulate(rng, 300, 20, 1.0, 0.3)
    p = np.round(p, 2).clip(0.01, 0.99)
    tally = Tally.from_arrays(y, p, cluster=ids)
    labels = Labels.of(tally, tally.score)
    drawn = np.array([labels.draw(seed) for seed in range(2000)])
    # each score's mean within 5 standard errors, which clusters widen
    design = Design.of(CellGroups.of([Cells.of(tally)]))
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
        null_distribution(tally, metrics, Draws(400, 0))["intercept"]
        for tally in (Tally.from_arrays(y, p, cluster=ids), Tally.from_arrays(y, p))
    ]
    widths = [found.high - found.low for found in spans]
    effect = judge(Cells.from_arrays(y, p, cluster=ids)).design_effect
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
