"""The design effect: sums over pairs of rows by plain loops, the fit by its own equations, tails by SciPy."""

import math

import numpy as np
import pytest
from scipy.stats import norm, t

from truecal import _kernel
from truecal.data import CellGroups, Cells
from truecal.metrics import Design, PoissonBinomial, centre_odds


@pytest.fixture
def rows():
    rng = np.random.default_rng(2)
    ids = np.repeat(np.arange(40), 12)
    p = np.round(rng.beta(1, 4, size=480), 2).clip(0.01, 0.99)
    effect = rng.normal(size=40)[ids]
    return rng.random(480) < 1 / (1 + np.exp(-np.log(p / (1 - p)) - effect)), p, ids


def pairs_of(ids):
    """All ordered pairs of two rows of one cluster."""
    return [(i, j) for i in range(len(ids)) for j in range(len(ids)) if i != j and ids[i] == ids[j]]


def test_the_fit_solves_its_equations_over_all_pairs(rows):
    y, p, ids = rows
    design = Design.of(CellGroups.of([Cells.from_arrays(y, p, cluster=ids)]))
    # the factor on all odds that makes as many positives expected as came, by bisection
    low, high = -5.0, 5.0
    for _ in range(100):
        shift = (low + high) / 2
        moved = 1 / (1 + np.exp(-np.log(p / (1 - p)) - shift))
        low, high = (shift, high) if moved.sum() < y.sum() else (low, shift)
    r, v = y - moved, moved * (1 - moved)
    s = np.sqrt(v)
    share = sum(v[ids == c].sum() ** 2 for c in range(40)) / v.sum() ** 2
    kept = 1 - share
    both = pairs_of(ids)
    sums = [sum(f[i] * f[j] for i, j in both) for f in (s, v, s * v)]
    residual = [
        sum((f * r)[ids == c].sum() ** 2 for c in range(40)) - kept * np.sum((f * r) ** 2) for f in (s * 0 + 1, s)
    ]
    weight = 50 * kept + 0.5 * share * sums[0]
    matrix = [
        [kept * sums[0] + weight, kept * sums[1] + weight * v.mean()],
        [kept * sums[1] + weight * v.mean(), kept * sums[2] + weight * v.mean() ** 2],
    ]
    a, b = np.linalg.solve(matrix, [residual[0] + 0.1 * weight, residual[1] + 0.1 * weight * v.mean()])
    if a < 0:
        a, b = 0.0, (residual[0] + 0.1 * weight) / matrix[0][1]
    elif b < 0:
        a, b = (residual[0] + 0.1 * weight) / matrix[0][0], 0.0
    assert [design.constant[0], design.odds[0]] == pytest.approx([a, b], rel=1e-6)


def test_effects_and_covariances_are_sums_over_all_pairs(rows):
    y, p, ids = rows
    cells = Cells.from_arrays(y, p, cluster=ids)
    design = Design.of(CellGroups.of([cells]))
    a, b, v = design.constant[0], design.odds[0], p * (1 - p)
    inside = (p >= cells.p[10]) & (p < cells.p[40] - 1e-9)
    covariance = {(i, j): a * math.sqrt(v[i] * v[j]) + b * v[i] * v[j] for i, j in pairs_of(ids)}
    expected = 1 + sum(c for (i, j), c in covariance.items() if inside[i] and inside[j]) / v[inside].sum()
    found = design.spread(np.array([10, 0]), np.array([40, len(cells)])).effect
    assert found[0] == pytest.approx(expected, rel=1e-9)
    assert found[1] == pytest.approx(design.effect[0], rel=1e-9)
    x = np.log(p / (1 - p))
    by_rows = sum(v * x) + sum(c * x[j] for (i, j), c in covariance.items())
    odds = np.log(cells.p / (1 - cells.p))
    assert design.covariance(odds)[1][0] == pytest.approx(by_rows, rel=1e-9)


def test_slopes_of_clusters_count_in_the_variance_of_the_slope():
    """Labels of a normal copula go together more where predictions are alike. The variance of their sum of x r, x the
    log-odds, is known from 4,000 draws of the labels of one set of predictions (to 2 %); the fitted one is right on
    average over 60 of these, where a constant correlation and an effect on log-odds alone have three quarters of it."""
    rng = np.random.default_rng(3)
    p, ids = np.clip(rng.beta(2, 2, 1500), 0.01, 0.99), np.repeat(np.arange(60), 25)
    common = np.repeat(rng.standard_normal((4000, 60)), 25, axis=1)
    labels = (np.sqrt(0.5) * (common + rng.standard_normal((4000, 1500)))) < norm.ppf(p)
    groups = CellGroups.of([Cells.from_arrays(y, p, cluster=ids) for y in labels[:60]])
    x = centre_odds(groups)[2]
    design = Design.of(groups)
    row = np.log(p / (1 - p))
    row -= np.average(row, weights=p * (1 - p))
    truth = np.var((labels - p) @ row)
    found = design.covariance(x)[2]
    assert found.mean() == pytest.approx(truth, rel=0.1)
    assert (found - design.slopes).mean() < 0.8 * truth


def test_overlapping_windows_have_the_effects_that_each_has_alone(rows):
    y, p, ids = rows
    design = Design.of(CellGroups.of([Cells.from_arrays(y, p, cluster=ids)]))
    rng = np.random.default_rng(0)
    begin = rng.integers(0, 50, size=60)
    end = np.minimum(begin + rng.integers(1, 40, size=60), len(design.v))
    together = design.spread(begin, end)
    alone = [design.spread(begin[i : i + 1], end[i : i + 1]) for i in range(60)]
    for found in (together, design.known_spread(begin, end), design.known_spread(begin, end)):
        assert found.effect.tolist() == [each.effect[0] for each in alone]
        assert found.freedom.tolist() == [each.freedom[0] for each in alone]


def test_degrees_of_freedom_are_those_of_the_fit_and_of_the_kurtosis(rows):
    y, p, ids = rows
    cells = Cells.from_arrays(y, p, cluster=ids)
    design = Design.of(CellGroups.of([cells]))
    a, b, v = design.constant[0], design.odds[0], p * (1 - p)
    total, single = v.sum(), [v[ids == c].sum() for c in range(40)]
    roots = [np.sqrt(v[ids == c]).sum() for c in range(40)]
    squares = [np.sum(v[ids == c] ** 2) for c in range(40)]
    variance = np.array([s + a * (r**2 - s) + b * (s**2 - q) for s, r, q in zip(single, roots, squares, strict=True)])
    effect = variance.sum() / total
    clusters = variance.sum() ** 2 / np.sum(variance**2)
    skewness = np.sum(v * (1 - 2 * p)) / total**1.5
    own = np.array([[y[ids == c].sum(), np.mean(p[ids == c]), np.sum(ids == c)] for c in range(40)])
    carriers = min(
        own[:, 0].sum() ** 2 / np.sum(own[:, 0] ** 2) + own[:, 1].sum(),
        np.sum(own[:, 2] - own[:, 0]) ** 2 / np.sum((own[:, 2] - own[:, 0]) ** 2) + np.sum(1 - own[:, 1]),
    )
    missing = 1 / carriers - 1 / 40
    rare = max(effect * skewness**2, missing + (4 * missing) ** 2)
    lost = (1 / (clusters - 1) + rare) * (1 - 1 / effect) ** 2 + 1 / (4 + 6 * total / (effect - 1))
    assert design.total.effect[0] == pytest.approx(effect, rel=1e-9)
    assert design.total.freedom[0] == pytest.approx(1 / lost, rel=1e-9)


def test_tails_are_spread_as_scipy_spreads_them():
    rng = np.random.default_rng(0)
    tail = np.concatenate([10 ** rng.uniform(-250, 0, 500), rng.random(500), [0.0, 0.5, 1.0]])
    effect, freedom = np.exp(rng.uniform(0, 5, len(tail))), 10 ** rng.uniform(-1, 5, len(tail))
    found = _kernel.spread_tails(tail, effect, freedom)
    assert found == pytest.approx(t.sf(norm.isf(tail) / np.sqrt(effect), freedom), rel=1e-9, abs=1e-15)
    assert _kernel.spread_tails(tail, np.ones_like(tail), freedom).tolist() == tail.tolist()
    back = _kernel.unspread_tails(0.01, effect, freedom)
    seen = back > 1e-290
    assert _kernel.spread_tails(back, effect, freedom)[seen] == pytest.approx(np.full(seen.sum(), 0.01), rel=1e-9)


def test_tails_of_a_count_add_up_to_one(rows):
    y, p, ids = rows
    cells = Cells.from_arrays(y, p, cluster=ids)
    coins = PoissonBinomial.of(cells)
    begin = np.arange(0, len(cells) - 5, 5)
    below, at, above = coins.tails(begin, begin + 5)
    assert below + at + above == pytest.approx(np.ones(len(begin)), abs=1e-12)
    plain = PoissonBinomial.of(Cells.from_arrays(y, p)).tails(begin, begin + 5)
    assert (np.minimum(below, above) >= np.minimum(plain[0], plain[2]) - 1e-12).all()


def test_rows_in_clusters_of_their_own_are_independent(rows):
    y, p, _ = rows
    alone = PoissonBinomial.of(Cells.from_arrays(y, p, cluster=np.arange(len(p))))
    assert alone.design is None


def test_a_group_does_not_depend_on_its_neighbours(rows):
    y, p, ids = rows
    parts = [Cells.from_arrays(y[cut], p[cut], cluster=ids[cut]) for cut in (slice(0, 300), slice(300, 480))]
    both = Design.of(CellGroups.of(parts))
    for i, part in enumerate(parts):
        alone = Design.of(CellGroups.of([part]))
        for name in ("constant", "odds", "freedom", "effect"):
            assert getattr(both, name)[i] == pytest.approx(getattr(alone, name)[0], rel=1e-12), name


def test_one_cluster_tells_next_to_nothing():
    rng = np.random.default_rng(0)
    p = rng.beta(1, 4, size=1000)
    design = Design.of(CellGroups.of([Cells.from_arrays(rng.random(1000) < p, p, cluster=np.zeros(1000))]))
    assert design.effect[0] > 50  # 1 + 999 x 0.1, less what unequal predictions take
    assert design.freedom[0] < 0.02
