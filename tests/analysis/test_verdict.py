"""What `evaluate` says of models that are plainly wrong, plainly right, or without evidence; number, sentence and page
must say the same."""

import re
from dataclasses import replace

import numpy as np
import pytest
from observed import judge_segments, judge_windows
from sklearn.isotonic import IsotonicRegression

import truecal
from truecal import Tally
from truecal.metrics import LTCE, TCE

ROWS = 20_000


@pytest.fixture
def strong(rng):
    """A strong classifier's true probabilities, 2 to 3 % positive, and labels."""
    p = 1 / (1 + np.exp(-rng.normal(-6.3, 2.6, ROWS)))
    return rng.random(ROWS) < p, p


def reverse(p):
    """The scores above 0.05 in reversed order."""
    high, found = p > 0.05, p.copy()
    found[high] = np.sort(p[high])[::-1][np.argsort(np.argsort(p[high]))]
    return found


def page(result, folder):
    text = truecal.report({"m": result}, folder / "r.html").read_text()
    head = re.search(r'<div class="verdict (\w*)">(.*?)</div>', text, flags=re.DOTALL)
    return head.group(1), head.group(2), text


def test_a_strong_classifier_with_its_upper_scores_reversed_is_off(strong, tmp_path):
    y, p = strong
    result = truecal.evaluate(y, reverse(p))
    found = result.verdict
    assert found.status == "miscalibrated"
    assert found.p_value < 1e-10
    assert {band.direction for band in found.local.bands if band.proven} == {"under-predicts", "over-predicts"}
    assert repr(result).startswith("Miscalibrated: ")
    tone, head, text = page(result, tmp_path)
    assert tone == "bad"
    assert "</span>miscalibrated</span>" in head
    assert "under-predicts" in head
    assert "over-predicts" in head
    assert "No miscalibration found" not in text


def test_halved_scores_are_off_with_the_size_of_the_error(strong):
    y, p = strong
    result = truecal.evaluate(y, np.where(p > 0.02, p / 2, p), ["ltce"])
    assert result.verdict.status == "miscalibrated"
    low, high = result.verdict.interval
    assert 1.3 < low < result.verdict.ratio < high  # nearly all positives lie above 0.02, so about twice as many came
    assert result.verdict.observed == result.positives
    (last,) = result.verdict.bands[-1:]
    assert last.direction == "under-predicts"
    assert last.odds_ratio.low > 1


def test_the_right_model_is_not_off(strong, tmp_path):
    y, p = strong
    result = truecal.evaluate(y, p, significance=1e-4)
    assert result.verdict.status == "consistent"
    tone, head, _ = page(result, tmp_path)
    assert tone == "good"
    assert "<h1>No miscalibration found: " in head
    assert f"observed {result.positives:,}, expected " in head


def test_isotonic_output_is_not_rejected_by_its_ties(rng):
    """Few levels, half of the rows at one of them, fitted on other rows of the same source."""
    raw = rng.random(40_000)
    y = rng.random(40_000) < np.clip(raw - 0.5, 0, 1) ** 2
    fitted = IsotonicRegression(out_of_bounds="clip", y_min=1e-4, y_max=1 - 1e-4).fit(raw[:20_000], y[:20_000])
    result = truecal.evaluate(y[20_000:], fitted.predict(raw[20_000:]), ["ltce"], significance=1e-3)
    # a fit of 20,000 rows errs as much as 20,000 rows can see, and no more
    assert result.verdict.ratio == pytest.approx(1, abs=0.2)
    assert result["ltce"] < 25


def test_heavy_ties_that_are_right_are_not_rejected():
    """990 rows at 0, 10 at 1, all of them right: the level, and nothing could have been found."""
    y = np.repeat([0, 1], [990, 10])
    result = truecal.evaluate(y, y.astype(float), ["ltce", "tce"])
    assert result["ltce"] == pytest.approx(5)  # each window's decision is on its edge, and its level is 5 %
    assert result["tce"] == 0
    assert result.verdict.status == "inconclusive"
    assert not [band for band in result.verdict.bands if band.direction is not None or band.proven]


def test_rows_without_a_positive_cannot_be_told(tmp_path):
    result = truecal.evaluate(np.zeros(300), np.full(300, 0.001))
    assert result.verdict.status == "inconclusive"
    tone, head, _ = page(result, tmp_path)
    assert tone == "unsure"  # never green
    assert "<h1>Inconclusive: " in head
    assert "observed 0, expected 0.3" in head


def test_the_verdict_is_on_what_is_judged(strong):
    y, p = strong
    above = truecal.evaluate(y, p, ["ltce"], threshold=0.05)
    high = p >= 0.05
    alone = truecal.evaluate(y[high], p[high], ["ltce"])
    assert above.verdict == replace(alone.verdict, complete=False)
    assert alone.bands.band[0].startswith("below ")
    assert list(above.bands.band) == [f"5 to {above.bands.band[0].split()[-1]}", *alone.bands.band[1:]]
    assert above.verdict.n == above.n == high.sum()
    assert truecal.evaluate(y, p, ["ltce"], significance=0.2).verdict.significance == 0.2


def test_the_same_data_give_the_same_verdict(strong):
    """Nothing is drawn: rows in any order, and tallies, agree."""
    y, p = strong
    order = np.random.default_rng(0).permutation(ROWS)
    found = truecal.evaluate(y, p, ["ltce"]).verdict
    assert truecal.evaluate(y[order], p[order], ["ece"]).verdict == found
    assert truecal.evaluate(Tally.from_arrays(y, p), ["tce"]).verdict == found


def test_segments_have_local_tce_behind_the_verdict(strong):
    y, p = strong
    parts = {("a",): Tally.from_arrays(y, p), ("b",): Tally.from_arrays(y, reverse(p))}
    table = truecal.segments(truecal.Observations("y", "p", parts, ("name",)))
    assert table.metric == LTCE
    assert table.alarm.tolist() == [False, True]
    assert table.value[1] == pytest.approx(LTCE(parts["b",]))
    assert table.lowest.tolist() == table.highest.tolist() == table.value.tolist()
    assert judge_segments(parts, TCE).metric == TCE


@pytest.mark.slow
def test_totals_of_unequal_predictions_have_their_level(rng):
    """Binomial(n, mean) rejected no right model of predictions near 0 and 1: its variance is three times too large."""
    windows = {}
    for i in range(300):
        p = rng.beta(0.2, 0.2, 400)
        windows[i] = Tally.from_arrays(rng.random(400) < p, p)
    found = judge_windows(windows, LTCE)
    # 300 right windows: the standard error of a share of 5 % is 1.26 %
    assert np.mean(found.total_p <= 0.05) == pytest.approx(0.05, abs=4 * 0.0126)
    assert np.mean(found.total_p <= 0.05) > 0.01
    assert found.total_p.mean() == pytest.approx(0.5, abs=4 * 0.289 / np.sqrt(300))
