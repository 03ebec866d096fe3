"""Sentences about a verdict: bands, directions and sizes are those of the numbers."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

import truecal
from truecal import Rule, words
from truecal.verdict import Status
from truecal.words import (
    describe_reach,
    format_end,
    format_odds_ratio,
    format_ratio_cell,
    label_bands,
    label_result,
)


def simulate(change, rows=20_000, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.5, 5, size=rows)
    return truecal.evaluate(rng.random(rows) < np.clip(change(p), 0, 1), p, metrics=["ltce"])


RIGHT, TINY = simulate(lambda p: p), simulate(lambda p: p, rows=60)
HALVED = simulate(lambda p: p / 2)
TOP = simulate(lambda p: np.where(p > 0.2, p / 2, p))
BOTH = simulate(lambda p: np.where(p > 0.2, p / 2, 2 * p))


def test_the_three_verdicts_have_a_sentence_each():
    assert label_result(RIGHT) == "No miscalibration found"
    assert RIGHT.summary.startswith("No miscalibration found: observed ")
    named = math.ceil(100 * RIGHT.verdict.detectable) / 100  # rounded up: what is named was detectable
    assert RIGHT.summary.endswith(
        f"; an odds ratio of {named:g} on all predictions would have been detected with 80% power."
    )
    assert TINY.summary.startswith("Inconclusive: an odds ratio of 1.5 may go undetected; the minimum detectable odds")
    assert label_result(HALVED) == "Miscalibrated: over-predicts"
    ratio = f"O/E {HALVED.verdict.ratio:.2f} (95% CI "
    assert HALVED.summary.startswith("Miscalibrated: over-predicts, observed ")
    assert ratio in HALVED.summary


def test_a_range_is_named_by_where_it_begins():
    pattern = r"(Miscalibrated: over-predicts above (\d+)%), observed \d+, expected [\d.,]+, O/E (0\.\d\d)\."
    found = re.fullmatch(pattern, TOP.summary)
    assert 17 <= int(found[2]) <= 23  # the error begins at 20%; windows have a width
    wrong = [each for each in TOP.verdict.bands if each.direction]
    assert found[3] == f"{sum(each.observed for each in wrong) / sum(each.expected for each in wrong):.2f}"
    assert label_result(TOP) == found[1]
    (advice,) = [text for text in TOP.sentences() if "Recalibrate" in text]
    assert advice.startswith(f"Recalibrate before using scores above {found[2]}% as probabilities; no other score band")


def test_ranges_that_lean_the_same_way_are_not_called_right():
    """Everything is 1.2 times as frequent as predicted; only some ranges have enough rows to prove it."""
    rng = np.random.default_rng(2)
    p = rng.beta(0.5, 20, 20_000)
    result = truecal.evaluate(rng.random(20_000) < 1.2 * p, p, metrics=["ltce"])
    assert all(each.ratio > 1 for each in result.verdict.bands)
    assert not all(each.direction for each in result.verdict.bands)
    assert result.summary.startswith("Miscalibrated: under-predicts, observed ")
    assert "The error is clearest " in " ".join(result.sentences())
    assert "no other score band" not in " ".join(result.sentences())


def test_a_slope_is_told_where_no_range_shows_it():
    """True log-odds are 0.78 of those predicted, around 0; of 1,500 rows no range has enough."""
    rng = np.random.default_rng(6)
    p = rng.beta(2, 2, 1500)
    result = truecal.evaluate(rng.random(1500) < 1 / (1 + (1 / p - 1) ** 0.78), p, metrics=["ltce"])
    assert (result.verdict.status, [each.direction for each in result.verdict.bands]) == ("miscalibrated", [None] * 5)
    verdict = result.verdict
    assert (verdict.slope_direction, verdict.total_direction) == ("overconfident", None)
    assert verdict.direction == "overconfident"
    assert label_result(result) == "Miscalibrated: overconfident"
    assert result.summary == (
        "Miscalibrated: overconfident, high predictions are too high and low predictions too low."
    )
    assert result.verdict.bands[-1].ratio < 1 < result.verdict.bands[0].ratio


def test_both_directions_are_said_in_the_order_of_scores():
    pattern = (
        r"Miscalibrated: under-predicts below (\d+)% \(O/E [12]\.\d+\), over-predicts above (\d+)% \(O/E 0\.\d+\)\."
    )
    low, high = map(int, re.fullmatch(pattern, BOTH.summary).groups())
    assert low <= high


def test_a_model_that_is_not_off_has_no_direction():
    for result in (RIGHT, TINY):
        assert not any(each.direction or each.proven for each in result.verdict.bands)


def test_ranges_have_names_that_differ():
    for result in (RIGHT, TINY, HALVED, TOP, BOTH):
        names = label_bands(result.verdict.bands)
        assert len(set(names)) == len(names) == len(result.verdict.bands)
    assert label_bands(TINY.verdict.bands) == ["all"]
    assert label_bands(RIGHT.verdict.bands)[0].startswith("below ")
    assert label_bands(RIGHT.verdict.bands)[-1].startswith("above ")


def test_nothing_is_above_1():
    """Classes in place of probabilities: half of the rows are said to be 1, and half of each kind come."""
    result = truecal.evaluate([0, 1] * 500, [0.0] * 500 + [1.0] * 500, metrics=["ltce"])
    assert label_bands(result.verdict.bands) == ["0%", "100%"]
    assert (
        label_result(result) == "Miscalibrated: under-predicts at 0% (none expected), over-predicts at 100% (O/E 0.50)"
    )


def grade(said, came, rows):
    """Rows of a few scores, with so many positives each."""
    y = np.concatenate([np.arange(n) < k for k, n in zip(came, rows, strict=True)])
    return truecal.evaluate(y, np.repeat(said, rows), metrics=["ltce"])


SAID, ROWS = (0.001, 0.003, 0.007, 0.015, 0.03, 0.07, 0.15), (10_000, 10_000, 10_000, 10_000, 10_000, 5_000, 2_000)


def test_a_range_of_one_score_is_that_score():
    """Only the grade of 1.5 % is off: 220 came of 150; the next one, of 3 %, is not named with it."""
    found = grade(SAID, (10, 30, 70, 220, 300, 350, 300), ROWS)
    assert found.bands.band == ["below 1.5%", "1.5%", "3%", "7%", "15%"]
    assert label_result(found) == "Miscalibrated: under-predicts at 1.5%"
    assert any(text.startswith("Recalibrate before using scores at 1.5% as") for text in found.sentences())


def test_the_last_range_does_not_end_above_its_own_score():
    found = grade(SAID, (10, 30, 70, 150, 300, 350, 400), ROWS)
    assert label_result(found) == "Miscalibrated: under-predicts at 15%"


def test_names_of_ranges_are_true_of_the_scores_in_them():
    """Read with both ends in, each name fits the scores of its range and no other's."""

    def span(low, high):
        return replace(TOP.verdict.bands[0], low=low, high=high)

    spans = [span(0.001, 0.01), span(0.02, 0.05), span(0.1, 0.1), span(0.2, 0.3)]
    assert label_bands(spans) == ["below 2%", "2 to 5%", "10%", "above 10%"]
    assert label_bands(spans, complete=False)[0] == "0.1 to 1%"
    certain = [span(0, 0), span(3e-9, 0.08), span(0.1, 1 - 1e-9), span(1, 1)]
    assert label_bands(certain) == ["0%", "above 0 to 8%", "10 to below 100%", "100%"]
    close = [span(0.1, 0.149), span(0.1532, 0.1532), span(0.2, 0.3)]
    assert label_bands(close) == ["below 15.3%", "15.3%", "above 15.3%"]
    inner = [span(0.01, 0.02), span(0.1, 0.149), span(0.1512, 0.1512), span(0.2, 0.3)]
    assert label_bands(inner) == ["below 10%", "10 to 14.9%", "15.1%", "above 15.1%"]


def test_a_verdict_says_what_the_result_says():
    for result in (RIGHT, TINY, HALVED, TOP, BOTH):
        assert result.sentences() == result.verdict.sentences()
        assert result.summary == result.verdict.summary == result.sentences()[0]


def test_no_positive_is_told_as_none():
    y, p = np.zeros(2000), np.full(2000, 0.004)  # 8 were predicted
    assert truecal.evaluate(y, p, metrics=["ltce"]).summary.startswith(
        "Miscalibrated: over-predicts, observed 0, expected 8, O/E 0.00 (95% CI 0.00\u2013"
    )


def test_an_error_without_a_place_or_a_direction_names_the_test_that_speaks():
    """Where it lies is not claimed: neither a range nor "spread out"."""
    found = replace(TINY.verdict, status=Status.MISCALIBRATED, p_value=0.047, tests={"total": 0.04, "cox": 0.2})
    assert found.direction is None
    assert found.summary == "Miscalibrated: too little information to locate the error."
    assert found.sentences()[2] == (
        "Of the component tests, the total has the smallest p-value "
        "(p = 0.04, a mid-p-value; the confidence interval is more conservative)."
    )


def test_a_total_speaks_alone_only_where_its_interval_shows_it():
    found = replace(TINY.verdict, p_value=0.2, tests={"total": 0.049})
    assert found.interval[0] < 1 < found.interval[1]
    assert "The total alone" not in " ".join(found.sentences())


def test_a_consistent_verdict_says_why_its_interval_excludes_1():
    """In the summary, on the first screen and in the reason of a check."""
    rng = np.random.default_rng(23)
    p = rng.beta(1, 5, 6000)
    y = rng.random(6000) < 0.95 * p
    found = truecal.evaluate(y, p, metrics=["ltce"])
    assert (found.verdict.status, found.verdict.interval[1] < 1) == ("consistent", True)
    assert "CI 0.89\N{EN DASH}0.99), significant alone (p = 0.022) but not combined" in found.summary
    sentence = "The total alone is significant (p = 0.022); the combination of all component tests is not."
    assert sentence in words.describe_notes(found)
    assert sentence not in found.sentences()
    data = truecal.read({"y": y.tolist(), "p": p.tolist()}, label="y", score="p")
    (result,) = truecal.check(data, [Rule("verdict", significance=0.05)]).results
    assert result.reason.startswith("no miscalibration found (p = ")
    assert result.reason.endswith(sentence)


@pytest.mark.parametrize(("said", "way"), [(0.001, "too high"), (0.999, "too low")])
def test_what_could_not_be_found_has_a_direction(said, way):
    """Of 300 rows at 0.001 none need be positive: that predictions are too high is never seen, that they are too low
    is."""
    found = truecal.evaluate(np.full(300, round(said)), np.full(300, said), metrics=["ltce"]).verdict
    assert found.status == "inconclusive"
    assert describe_reach(found) == f"Predictions that are {way} would go undetected at any odds ratio."


def test_the_most_probable_class_has_confidences(rng):
    probabilities = rng.dirichlet([1, 1, 1], 3000)
    found = truecal.evaluate(rng.integers(0, 3, 3000), probabilities, metrics=["ltce"])
    assert found.summary.startswith("Miscalibrated: confidences are too high, observed ")
    assert " correct, expected " in found.summary
    assert "positive" not in " ".join(found.sentences())
    assert "Do not use these confidences as probabilities." in found.sentences()


def test_factors_that_are_found_are_rounded_up(rng):
    p = rng.beta(1, 4, 20_000)
    found = replace(
        truecal.evaluate(rng.random(20_000) < p, p, metrics=["ltce"]).verdict, status=Status.CONSISTENT, p_value=0.5
    )
    up = format_odds_ratio(found.detectable_above)
    assert f"an odds ratio above {up} or below " in " ".join(found.sentences())


def test_impossible_rows_are_told(rng):
    p = np.concatenate([np.zeros(1000), rng.beta(1, 9, 1000)])
    y = np.concatenate([np.arange(1000) == 0, rng.random(1000) < p[1000:]])
    found = truecal.evaluate(y, p, metrics=["ltce"])
    assert found.verdict.status == "miscalibrated"
    assert "1 label contradicts a prediction of exactly 0 or 1" in " ".join(found.sentences())
    advice = found.sentences()[-1]
    assert advice.startswith("Recalibration does not correct scores of exactly 0 or 1")
    assert "Recalibrate" not in advice
    (note,) = truecal.recalibrate(y, p, folds=0).warnings()
    assert "of exactly 0 or 1, which no map of the odds changes" in note
    wrong = np.concatenate([y[:1000], rng.random(1000) < 3 * p[1000:]])  # and all others are off, which a map mends
    advice = truecal.evaluate(wrong, p, metrics=["ltce"]).sentences()[-1]
    assert "Find out what makes them certain" in advice
    assert advice.endswith("then recalibrate the rest.")


def test_rounded_scores_are_not_told_to_be_recalibrated(rng):
    """Right scores of 0.3 % on average, with two digits: 0 % and 1 % are wrong by rounding alone."""
    p = np.minimum(0.5, np.exp(rng.normal(-7, 1.5, 200_000)))
    advice = " ".join(truecal.evaluate(rng.random(len(p)) < p, p.round(2), metrics=["ltce"]).sentences())
    assert "Recalibrate" not in advice
    assert "Find out what makes them certain, such as rounding; then recalibrate the rest." in advice


def test_a_reversed_order_is_not_told_to_be_recalibrated(rng):
    p = rng.beta(1, 300, 20_000)
    found = truecal.evaluate(rng.random(20_000) < p, 1 - p)
    assert f"O/E {found.verdict.ratio:.4f}" in found.summary
    assert found.sentences()[-1].endswith("check whether labels or scores are swapped.")
    assert not any("Recalibrate" in text for text in found.sentences())


def test_a_tolerance_above_the_mean_prediction_is_told(rng):
    p = rng.beta(1, 200, 100_000)
    y = rng.random(100_000) < p / 1.5
    told = f"The tolerance of 0.01 exceeds the mean prediction, {p.mean():.3g}: a share of each prediction"
    assert any(text.startswith(told) for text in truecal.evaluate(y, p, tolerance=0.01).sentences())
    passed = truecal.check(truecal.read({"y": y, "p": p}, label="y", score="p"), tolerance=0.01).results[0]
    assert passed.status != "fail"
    assert "; the tolerance of 0.01 exceeds the mean prediction" in passed.reason
    for tolerance in (0.001, truecal.Relative(0.1), None):
        assert "exceeds the mean" not in " ".join(truecal.evaluate(y, p, tolerance=tolerance).sentences())
    high = truecal.evaluate(~y, 1 - p, tolerance=0.01).sentences()
    assert "exceeds 1 minus the mean prediction" in " ".join(high)


@pytest.mark.parametrize(
    ("p", "text"), [(0.0, "0%"), (1.0, "100%"), (0.00001234, "0.0012%"), (0.5, "50%"), (0.99996, "99.996%")]
)
def test_percentages_keep_their_digits(p, text):
    assert format_end(p) == text


def test_an_interval_that_excludes_1_never_reads_1():
    assert format_ratio_cell(0.995, 0.9901, 0.99996) == "0.99500 (0.99010\u20130.99996)"
    assert format_ratio_cell(1.5, 1.2, 1.8) == "1.50 (1.20\u20131.80)"


def test_results_with_ranges_are_saved():
    again = truecal.Result.from_json(TOP.to_json())
    assert again.verdict.bands == TOP.verdict.bands
    assert again.summary == TOP.summary
