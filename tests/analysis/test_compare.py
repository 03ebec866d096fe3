"""Two models on the same rows: of arrays, of pairs, and of tallies with a baseline."""

import math
from dataclasses import replace
from html import unescape

import numpy as np
import pytest

import truecal
from truecal.data import Pairs
from truecal.metrics import METRICS


@pytest.fixture
def rows(rng):
    p = np.round(rng.beta(0.5, 5, 2000), 3)
    return (rng.random(2000) < p).astype(int), p, p**2


def test_columns_pairs_and_tallies_give_the_same(rows, need, tmp_path):
    pl = need("polars")
    options = {"resamples": 50, "random_state": 0}
    plain = truecal.compare(*rows, **options)["tce"]
    assert truecal.compare(Pairs.from_arrays(*rows), **options)["tce"] == plain
    pl.DataFrame(dict(zip(("y", "p", "q"), rows, strict=True))).write_parquet(tmp_path / "a.parquet")
    for data in (tmp_path / "a.parquet", pl.read_parquet(tmp_path / "a.parquet")):
        read = truecal.read(data, label="y", score="p", baseline="q")
        assert truecal.compare(read, **options)["tce"] == plain
        assert truecal.compare(read, ["tce"], **options)["tce"] == plain


def test_what_cannot_be_compared_is_explained(rows, need):
    frame = need("polars").DataFrame({"y": rows[0], "p": rows[1]})
    with pytest.raises(ValueError, match="(?s)these observations have one.*baseline=...\\)"):
        truecal.compare(truecal.read(frame, label="y", score="p"))
    with pytest.raises(
        TypeError, match="(?s)`compare` takes columns or `Observations`; this is DataFrame.*truecal.read"
    ):
        truecal.compare(frame)
    with pytest.raises(TypeError, match=r"(?s)it is 'y'\..*truecal.read\(data, label=\"y\""):
        truecal.compare(frame, "y", "p", "q")
    with pytest.raises(TypeError, match="`pos_label` must be left out"):
        truecal.compare(Pairs.from_arrays(*rows), pos_label=1)


def test_the_sentence_says_who_is_better_and_when_two_answers_disagree(rng):
    """A calibrated model that knows little, against one that knows the truth and doubles its log-odds."""
    x = rng.normal(-1, 2, 20_000)
    y = rng.random(20_000) < 1 / (1 + np.exp(-x))
    vague, sharp = np.full(20_000, y.mean()), 1 / (1 + np.exp(-1.6 * x))
    pairs = replace(Pairs.from_arrays(y, vague, sharp), names=("vague", "sharp"))
    found = truecal.compare(pairs, ["ltce", "brier", "log_loss"], resamples=50, random_state=0)
    verdicts, own, overall, disagree = found.sentences()
    assert verdicts == "vague is consistent, sharp is miscalibrated."
    assert (
        own
        == f"vague is better calibrated: Local TCE {truecal.ltce(y, vague):.2f}% against {truecal.ltce(y, sharp):.2f}%."
    )
    losses = [METRICS["log_loss"](truecal.Tally.from_arrays(y, q)) for q in (sharp, vague)]
    assert overall == f"sharp has the better log loss: {losses[0]:.5f} against {losses[1]:.5f}."
    assert disagree.startswith("These disagree: vague is better calibrated, sharp is more informative.")
    assert repr(found).startswith(verdicts)
    assert " ".join(found.sentences()) in unescape(found._repr_html_())
    assert len(truecal.compare(pairs, ["ltce"], resamples=50, random_state=0).sentences()) == 2


def test_a_slope_is_compared_by_its_distance_from_1(rng):
    x = rng.normal(-1, 2, 5000)
    y = rng.random(5000) < 1 / (1 + np.exp(-x))
    over, under = 1 / (1 + np.exp(-1.3 * x)), 1 / (1 + np.exp(-0.5 * x))  # slopes 0.77 and 2
    found = truecal.compare(y, over, under, ["slope", "net_benefit@0.2"], resamples=100, random_state=0)
    assert found["slope"].difference == pytest.approx(abs(found["slope"].first - 1) - abs(found["slope"].second - 1))
    assert found.find_better("slope") == "first"
    gain = found["net_benefit@0.2"]
    assert gain.difference == gain.first - gain.second


def test_means_over_rows_have_the_interval_of_a_paired_mean(rows):
    y, p, q = rows
    gaps = (y - p) ** 2 - (y - q) ** 2
    found = truecal.compare(y, p, q, ["brier"], resamples=1)["brier"]
    half = 1.959964 * gaps.std(ddof=1) / np.sqrt(len(y))  # the normal quantile
    assert (found.low, found.high) == pytest.approx((gaps.mean() - half, gaps.mean() + half))


def test_gaps_in_bins_are_refused(rows):
    with pytest.raises(ValueError, match="must be test-based or without bins to be compared.*'ece' is neither"):
        truecal.compare(*rows, metrics=["ltce", "ece"])


def test_no_model_is_better_where_there_is_no_evidence(rng):
    """300 rows without a positive: half of the truth expects fewer, and is rejected less; that makes it no better."""
    p = rng.beta(0.5, 50, 300)
    found = truecal.compare(np.zeros(300), p, p / 2, resamples=100, random_state=0)
    assert found.statuses == ("inconclusive", "inconclusive")
    said = dict(zip(found.metric, found.conclusion, strict=True))
    assert said.pop("slope") == "not comparable"  # there is none where labels are of one class
    assert set(said.values()) == {"no difference shown"}
    assert found.undecided[found.metric.index("slope")] == "undefined"
    assert found.better == [None] * len(found)
    assert found.sentences()[0] == "first is inconclusive, second is inconclusive."
    assert "No difference in calibration" in " ".join(found.sentences())
    assert "No difference in log loss" in " ".join(found.sentences())


def test_the_worse_model_must_be_off(rng):
    p = rng.beta(2, 2, 4000)
    y = rng.random(4000) < p
    found = truecal.compare(y, p, p**2, metrics=["ltce"], resamples=100, random_state=0)
    assert found.statuses == ("consistent", "miscalibrated")
    assert found.find_better("ltce") == "first"
    assert (found.better, found.undecided) == (["first"], [None])
    right = replace(found, statuses=("consistent", "consistent"))
    assert right.find_better("ltce") is None
    assert (right.better, right.undecided) == ([None], ["not miscalibrated"])


def test_copies_of_rows_in_clusters_say_as_much_as_the_rows(rng):
    # ten copies of a row in a cluster of their own: sums over clusters are ten times the row's difference, and labels
    # that are redrawn together are nearly those of one row
    p = rng.beta(1, 4, 800)
    y = rng.random(800) < p
    columns, ids = (y, p, np.clip(1.1 * p, 0, 1)), np.repeat(np.arange(800), 10)
    many = [np.repeat(column, 10) for column in columns]
    options = {"metrics": ["log_loss", "slope"], "resamples": 200, "random_state": 0}
    once, known = truecal.compare(*columns, **options), truecal.compare(*many, cluster=ids, **options)
    unknown = truecal.compare(*many, **options)
    widths = [
        [found[name].high - found[name].low for name in ("log_loss", "slope")] for found in (once, known, unknown)
    ]
    assert widths[1] == pytest.approx(widths[0], rel=0.15)
    assert widths[2][0] == pytest.approx(widths[0][0] / np.sqrt(10), rel=0.01)
    assert widths[2][1] < widths[0][1] / 2
    assert known["log_loss"].high - known["log_loss"].low == pytest.approx(widths[0][0], rel=0.003)
    assert "800 clusters" in str(known.notes[-1])


def test_pairs_in_clusters_are_the_same_from_everywhere(rng, need, tmp_path):
    pl, duckdb = need("polars"), need("duckdb")
    p, ids = np.round(rng.beta(1, 4, 1000), 2), rng.integers(0, 90, 1000)
    y, q = (rng.random(1000) < p).astype(int), np.round(np.sqrt(p), 2)
    frame = pl.DataFrame({"y": y, "p": p, "q": q, "who": ids})
    frame.write_parquet(tmp_path / "a.parquet")
    expected = Pairs.from_arrays(y, p, q, cluster=ids)
    own = duckdb.sql(f"SELECT * FROM '{tmp_path}/a.parquet'")
    for data in (frame, frame.to_pandas(), tmp_path / "a.parquet", own):
        assert truecal.read(data, label="y", score="p", baseline="q", cluster="who").baseline == expected
    halves = [Pairs.from_arrays(y[own], p[own], q[own], cluster=ids[own]) for own in (slice(500), slice(500, None))]
    assert sum(halves[1:], start=halves[0]) == expected
    assert repr(expected).count("90 clusters") == 1
    with pytest.raises(ValueError, match="must both have been read with `cluster`"):
        _ = expected + Pairs.from_arrays(y, p, q)


@pytest.mark.parametrize("swapped", [False, True])
def test_a_model_that_calls_impossible_what_happened_has_the_worse_log_loss(swapped):
    right, wrong = [0.2, 0.8] * 50, [0.2, 0.8] * 49 + [0.2, 0.0]
    found = truecal.compare([0, 1] * 50, *((wrong, right) if swapped else (right, wrong)), ["log_loss", "brier"])
    worse = math.inf if swapped else -math.inf
    assert (found["log_loss"].difference, found["log_loss"].low, found["log_loss"].high) == (worse,) * 3
    assert found.conclusion[0] == f"{'second' if swapped else 'first'} is better"
    assert math.isfinite(found["brier"].low)
    alike = truecal.compare([0, 1] * 50, wrong, wrong, ["log_loss"])
    assert alike.conclusion == ["no difference shown"]
