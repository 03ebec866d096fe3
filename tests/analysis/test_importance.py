"""Weights that depend on features alone weight values, and no test."""

import numpy as np
import pytest

import truecal
from truecal import Observations, Result, Tally
from truecal.data import Cells, Importance
from truecal.metrics import METRICS


@pytest.fixture(scope="module")
def rows():
    """Predictions that are right for one half of the rows, and too low for the other, which is rarer elsewhere."""
    rng = np.random.default_rng(0)
    p = rng.beta(1, 9, 8000).round(3)
    common = rng.random(8000) < 0.5
    y = rng.random(8000) < np.where(common, p, 1 - (1 - p) ** 1.5)
    return y, p, np.where(common, 3.0, 0.5)


def test_tests_and_tables_leave_weights_out(rows):
    y, p, weight = rows
    found, plain = truecal.evaluate(y, p, importance_weight=weight), truecal.evaluate(y, p)
    assert found.verdict == plain.verdict
    assert found.tables.keys() == plain.tables.keys()
    assert all(found.tables[name] == plain.tables[name] for name in plain.tables)
    assert found.prevalence == plain.prevalence
    assert found.weighted
    assert any("importance-weighted" in str(note) for note in found.notes)
    assert Result.from_json(found.to_json()) == found


def test_values_are_those_of_repeated_rows(rows):
    """A row of weight 3 counts six times where one of 0.5 counts once; which bins there are does not depend on it."""
    y, p, weight = rows
    names = ["ece", "mce", "rmsce", "brier", "log_loss", "net_benefit@0.1", "ecce", "smece", "atb"]
    found = truecal.evaluate(y, p, names, importance_weight=weight)
    repeated = truecal.evaluate(y, p, names, sample_weight=(2 * weight).astype(int))
    for name in names:
        assert found[name] == pytest.approx(repeated[name], rel=1e-9), name
    even = truecal.evaluate(y, p, list(METRICS), importance_weight=np.full(len(p), 0.3))
    plain = truecal.evaluate(y, p, list(METRICS))
    for name in METRICS:
        assert even[name] == pytest.approx(plain[name], rel=1e-9), name


def test_shares_of_predictions_are_weighted(rows):
    """Local TCE by hand: the share of each window that is rejected, weighted by what its rows weigh."""
    y, p, weight = rows
    found = truecal.evaluate(y, p, ["ltce", "tce"], importance_weight=weight)
    for name in ("ltce", "tce"):
        table = found.tables[name]
        place = np.searchsorted(table.left, p, side="right") - 1
        size = np.bincount(place, weight, len(table))
        # windows' counts are rounded to rows
        assert found[name] == pytest.approx(100 * np.sum(size * table.rejected) / size.sum(), abs=0.05)


def test_references_and_intervals_are_of_weighted_values(rows):
    y, p, weight = rows
    found = truecal.evaluate(
        y, p, ["ece", "ltce"], importance_weight=weight, null_draws=50, resamples=50, random_state=0
    )
    assert found.nulls["ltce"].mean == pytest.approx(5, abs=2)
    assert found.intervals["ece"].low < found["ece"] < found.intervals["ece"].high


def test_weights_add_and_are_kept(rows, tmp_path):
    pytest.importorskip("polars")
    y, p, weight = rows
    half = len(p) // 2
    parts = [
        Tally.from_arrays(y[part], p[part], importance_weight=weight[part]) for part in (slice(half), slice(half, None))
    ]
    whole = Tally.from_arrays(y, p, importance_weight=weight)
    both = parts[0] + parts[1]
    assert both.n.tolist() == whole.n.tolist()
    np.testing.assert_allclose(both.importance_weight.total, whole.importance_weight.total)
    np.testing.assert_allclose(both.importance_weight.positive, whole.importance_weight.positive)
    assert whole.above(0.2).importance_weight.total.sum() == pytest.approx(weight[p >= 0.2].sum())
    made = Observations("y", "p", {("a",): parts[0], ("b",): parts[1]}, ("g",))
    assert Observations.load(made.save(tmp_path / "a.parquet")) == made
    assert made.weighted
    assert made.pooled().importance_weight == both.importance_weight
    table = truecal.segments(made, "ece", random_state=0)
    assert any("importance-weighted" in str(note) for note in table.notes)
    assert table.value[0] == pytest.approx(truecal.evaluate(parts[0], ["ece"])["ece"])
    with pytest.raises(ValueError, match="`importance_weight` to add, or none"):
        whole + Tally.from_arrays(y, p)
    with pytest.raises(ValueError, match="`importance_weight` needs scores as they are"):
        Cells.grid(whole, 10)


def test_counts_and_weights_multiply(rows):
    y, p, weight = rows
    twice = Tally.from_arrays(y, p, np.full(len(p), 2), importance_weight=weight)
    assert twice.importance_weight.total.sum() == pytest.approx(2 * weight.sum())
    none = Tally.from_arrays(y, p, (p > 0.1).astype(int), importance_weight=weight)
    assert none.importance_weight.total.sum() == pytest.approx(weight[p > 0.1].sum())


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_a_weight_that_is_none_is_refused(rows, bad):
    y, p, weight = rows
    with pytest.raises(ValueError, match=r"(?s)`importance_weight` must hold numbers above 0; 1 of 8000.*position 0"):
        truecal.evaluate(y, p, importance_weight=np.r_[bad, weight[1:]])


def test_weights_of_other_rows_are_refused():
    for total, positive in (
        ([1.0], [0.5]),
        ([1.0, 0.0], [0.0, 0.0]),
        ([1.0, 1.0], [2.0, 0.0]),
        ([1.0, 1.0], [0.1, 1.0]),
    ):
        with pytest.raises(ValueError, match="`importance_weight` must hold the weights of the rows at each score"):
            Tally([0.1, 0.2], [1, 1], [0, 1], importance_weight=Importance(np.array(total), np.array(positive)))


def test_segments_weight_values_and_no_verdict(need):
    rng = np.random.default_rng(4)
    p = rng.beta(1, 4, size=4000)
    frame = {"y": rng.random(4000) < np.where(p > 0.3, p / 2, p), "p": p, "v": np.where(p > 0.3, 10.0, 1.0)}
    table = need("pandas").DataFrame(frame | {"country": np.where(np.arange(4000) % 2, "a", "b")})
    weighted = truecal.segments(truecal.read(table, label="y", score="p", by="country", importance_weight="v"))
    plain = truecal.segments(truecal.read(table, label="y", score="p", by="country"))
    assert weighted.p_value.tolist() == plain.p_value.tolist()
    assert (weighted.value > plain.value).all()  # what is wrong weighs ten times as much


def test_the_curve_of_many_scores_leaves_weights_out():
    """More than 20,000 distinct scores are put into cells for the band, which have no weights."""
    rng = np.random.default_rng(1)
    p = rng.beta(1, 9, 30_000)
    y, weight = rng.random(30_000) < p, rng.random(30_000) + 0.5
    weighted = truecal.evaluate(y, p, ["ece"], importance_weight=weight, null_draws=5, random_state=0)
    assert weighted.curve == truecal.evaluate(y, p, ["ece"], null_draws=5, random_state=0).curve
