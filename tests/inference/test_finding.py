"""The finding in words: range, direction and size are those of the numbers."""

import re
from dataclasses import replace

import numpy as np
import pytest

import truecal
from truecal.inference import format_factor, format_percent, format_span, name_ranges


def simulate(change, rows=20_000, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.5, 5, size=rows)
    return truecal.evaluate(rng.random(rows) < np.clip(change(p), 0, 1), p, metrics=["ltce"])


RIGHT, TINY = simulate(lambda p: p), simulate(lambda p: p, rows=60)
HALVED = simulate(lambda p: p / 2)
TOP = simulate(lambda p: np.where(p > 0.2, p / 2, p))
BOTH = simulate(lambda p: np.where(p > 0.2, p / 2, 2 * p))


def test_the_three_verdicts_have_a_sentence_each():
    assert RIGHT.finding == RIGHT.short_finding == "Predictions are consistent with the data"
    assert TINY.finding == "Cannot tell whether predictions are right"
    assert HALVED.short_finding == "Predictions are too high"
    ratio = f"{HALVED.verdict.ratio:.2f}"
    assert HALVED.finding == f"Predictions are too high: only {ratio} times as many positives came as predicted"


def test_a_range_is_named_by_where_it_begins():
    found = re.fullmatch(r"Predictions above (\d+) % are too high: only (0\.\d\d) times .*", TOP.finding)
    assert 17 <= int(found[1]) <= 23  # the error begins at 20 %; windows have a width
    wrong = [each for each in TOP.ranges if each.direction]
    assert found[2] == f"{sum(each.observed for each in wrong) / sum(each.expected for each in wrong):.2f}"
    assert TOP.short_finding == TOP.finding.partition(":")[0]
    (advice,) = [text for text in TOP.evidence() if "Recalibrate" in text]
    assert advice.startswith(f"Recalibrate before using scores above {found[1]} % as probabilities; no other range")


def test_ranges_that_lean_the_same_way_are_not_called_right():
    """Everything is 1.2 times as frequent as predicted; only some ranges have enough rows to prove it."""
    rng = np.random.default_rng(2)
    p = rng.beta(0.5, 20, 20_000)
    result = truecal.evaluate(rng.random(20_000) < 1.2 * p, p, metrics=["ltce"])
    assert all(each.ratio > 1 for each in result.ranges)
    assert not all(each.direction for each in result.ranges)
    assert result.finding.startswith("Predictions are too low: 1.")
    assert ", most clearly " in result.finding
    assert "no other range" not in " ".join(result.evidence())


def test_a_slope_is_told_where_no_range_shows_it():
    """True log-odds are 0.78 of those predicted, around 0; of 1,500 rows no range has enough."""
    rng = np.random.default_rng(6)
    p = rng.beta(2, 2, 1500)
    result = truecal.evaluate(rng.random(1500) < 1 / (1 + (1 / p - 1) ** 0.78), p, metrics=["ltce"])
    assert (result.verdict.word, [each.direction for each in result.ranges]) == ("off", [None] * 5)
    assert (result.verdict.tilt, result.verdict.direction, result.verdict.way) == ("too extreme", None, "too extreme")
    said = "Predictions are too extreme"
    assert result.short_finding == said
    assert result.finding == f"{said} (high ones came true less often than predicted, low ones more often)"
    assert result.ranges[-1].ratio < 1 < result.ranges[0].ratio


def test_both_directions_are_said_in_the_order_of_scores():
    pattern = r"Predictions below (\d+) % are too low \([12]\.\d+ times as many positives came\), those above (\d+) % too high \(only 0\.\d+ times\)"
    low, high = map(int, re.fullmatch(pattern, BOTH.finding).groups())
    assert low <= high
    assert re.fullmatch(r"Predictions below \d+ % are too low, those above \d+ % too high", BOTH.short_finding)


def test_a_model_that_is_not_off_has_no_direction():
    for result in (RIGHT, TINY):
        assert not any(each.direction or each.proven for each in result.ranges)


def test_ranges_have_names_that_differ():
    for result in (RIGHT, TINY, HALVED, TOP, BOTH):
        names = name_ranges(result.ranges)
        assert len(set(names)) == len(names) == len(result.ranges)
    assert name_ranges(TINY.ranges) == ["all"]
    assert name_ranges(RIGHT.ranges)[0].startswith("below ")
    assert name_ranges(RIGHT.ranges)[-1].startswith("above ")


def test_nothing_is_above_1():
    """Classes in place of probabilities: half of the rows are said to be 1, and half of each kind come."""
    result = truecal.evaluate([0, 1] * 500, [0.0] * 500 + [1.0] * 500, metrics=["ltce"])
    assert name_ranges(result.ranges) == ["0 %", "100 %"]
    assert result.short_finding == "Predictions of 0 % are too low, those of 100 % too high"


def grade(said, came, rows):
    """Rows of a few scores, with so many positives each."""
    y = np.concatenate([np.arange(n) < k for k, n in zip(came, rows, strict=True)])
    return truecal.evaluate(y, np.repeat(said, rows), metrics=["ltce"])


SAID, ROWS = (0.001, 0.003, 0.007, 0.015, 0.03, 0.07, 0.15), (10_000, 10_000, 10_000, 10_000, 10_000, 5_000, 2_000)


def test_a_range_of_one_score_is_that_score():
    """Only the grade of 1.5 % is off: 220 came of 150; the next one, of 3 %, is not named with it."""
    found = grade(SAID, (10, 30, 70, 220, 300, 350, 300), ROWS)
    assert found.range_names == ["below 1.5 %", "1.5 %", "3 %", "7 %", "15 %"]
    assert found.short_finding == "Predictions of 1.5 % are too low"
    assert any(text.startswith("Recalibrate before using scores of 1.5 % as") for text in found.evidence())


def test_the_last_range_does_not_end_above_its_own_score():
    found = grade(SAID, (10, 30, 70, 150, 300, 350, 400), ROWS)
    assert found.short_finding == "Predictions of 15 % are too low"


def test_names_of_ranges_are_true_of_the_scores_in_them():
    """Read with both ends in, each name fits the scores of its range and no other's."""

    def span(low, high):
        return replace(TOP.ranges[0], low=low, high=high)

    spans = [span(0.001, 0.01), span(0.02, 0.05), span(0.1, 0.1), span(0.2, 0.3)]
    assert name_ranges(spans) == ["below 2 %", "2 to 5 %", "10 %", "above 10 %"]
    assert name_ranges(spans, whole=False)[0] == "0.1 to 1 %"
    certain = [span(0, 0), span(3e-9, 0.08), span(0.1, 1 - 1e-9), span(1, 1)]
    assert name_ranges(certain) == ["0 %", "above 0 to 8 %", "10 to below 100 %", "100 %"]
    close = [span(0.1, 0.149), span(0.1532, 0.1532), span(0.2, 0.3)]
    assert name_ranges(close) == ["below 15.3 %", "15.3 %", "above 15.3 %"]
    inner = [span(0.01, 0.02), span(0.1, 0.149), span(0.1512, 0.1512), span(0.2, 0.3)]
    assert name_ranges(inner) == ["below 10 %", "10 to 14.9 %", "15.1 %", "above 15.1 %"]


def test_a_verdict_says_what_the_result_says():
    for result in (RIGHT, TINY, HALVED, TOP, BOTH):
        told = str(result.verdict)
        assert all(text in told for text in result.evidence())
        assert (f"{result.finding}." in told) == (result.verdict.word == "off")


def test_no_positive_is_told_as_none():
    y, p = np.zeros(2000), np.full(2000, 0.004)  # 8 were predicted
    assert truecal.evaluate(y, p, metrics=["ltce"]).finding == (
        "Predictions are too high: no positive came where 8 were predicted"
    )


def test_an_error_without_a_place_or_a_direction_names_the_test_that_speaks():
    """Where it lies is not claimed: neither a range nor "spread out"."""
    found = replace(TINY.verdict, word="off", p_value=0.047, parts={"total": 0.04, "cox": 0.2})
    assert found.direction is None
    assert found.sentences()[1] == "Predictions are off; there is too little evidence to say where."
    assert found.sentences()[3] == (
        "Of the tests, that of the total speaks most against the model "
        "(p = 0.04; a mid-p-value, the interval is more cautious)."
    )


def test_a_total_speaks_alone_only_where_its_interval_shows_it():
    found = replace(TINY.verdict, p_value=0.2, parts={"total": 0.049})
    assert found.interval[0] < 1 < found.interval[1]
    assert "The total alone" not in found.reach


@pytest.mark.parametrize(("said", "way"), [(0.001, "too high"), (0.999, "too low")])
def test_what_could_not_be_found_has_a_direction(said, way):
    """Of 300 rows at 0.001 none need be positive: that predictions are too high is never seen, that they are too low
    is."""
    found = truecal.evaluate(np.full(300, round(said)), np.full(300, said), metrics=["ltce"]).verdict
    assert found.word == "cannot tell"
    assert found.reach == f"Predictions that are {way} would not have been found, whatever the factor on all odds."


def test_the_most_probable_class_has_confidences(rng):
    probabilities = rng.dirichlet([1, 1, 1], 3000)
    found = truecal.evaluate(rng.integers(0, 3, 3000), probabilities, metrics=["ltce"])
    assert found.finding.startswith("Confidences")
    assert "were correct" in found.finding
    assert "positive" not in " ".join([found.finding, *found.evidence()])
    assert "Do not use these confidences as probabilities as they are." in found.evidence()


def test_factors_that_are_found_are_rounded_up(rng):
    p = rng.beta(1, 4, 20_000)
    found = truecal.evaluate(rng.random(20_000) < p, p, metrics=["ltce"]).verdict
    up, down = map(format_factor, (found.detectable_above, found.detectable_below))
    assert f"only if above x {up} or below / {down}." in found.reach


def test_impossible_rows_are_told(rng):
    p = np.concatenate([np.zeros(1000), rng.beta(1, 9, 1000)])
    y = np.concatenate([np.arange(1000) == 0, rng.random(1000) < p[1000:]])
    found = truecal.evaluate(y, p, metrics=["ltce"])
    assert found.verdict.word == "off"
    assert "1 row refutes a prediction of exactly 0 or 1." in found.evidence()
    advice = found.evidence()[-1]
    assert advice.startswith("No factor on the odds mends scores of exactly 0 or 1")
    assert "Recalibrate" not in advice
    (note,) = truecal.recalibrate(y, p, folds=0).notes
    assert note == "1 label refutes a prediction of exactly 0 or 1, which no factor on the odds mends"
    wrong = np.concatenate([y[:1000], rng.random(1000) < 3 * p[1000:]])  # and all others are off, which a map mends
    advice = truecal.evaluate(wrong, p, metrics=["ltce"]).evidence()[-1]
    assert advice.startswith("No factor on the odds mends scores of exactly 0 or 1: find out what makes them certain")
    assert advice.endswith("recalibrate what is off then.")


def test_rounded_scores_are_not_told_to_be_recalibrated(rng):
    """Right scores of 0.3 % on average, with two digits: 0 % and 1 % are wrong by rounding alone."""
    p = np.minimum(0.5, np.exp(rng.normal(-7, 1.5, 200_000)))
    advice = " ".join(truecal.evaluate(rng.random(len(p)) < p, p.round(2), metrics=["ltce"]).evidence())
    assert "Recalibrate" not in advice
    assert "find out what makes them certain, such as rounding; recalibrate what is off then." in advice


def test_a_reversed_order_is_not_told_to_be_recalibrated(rng):
    p = rng.beta(1, 300, 20_000)
    found = truecal.evaluate(rng.random(20_000) < p, 1 - p)
    assert found.finding.endswith(f"only {found.verdict.ratio:.4f} times as many positives came as predicted")
    assert found.evidence()[-1].endswith("see first whether labels or scores are swapped.")
    assert not any("Recalibrate" in text for text in found.evidence())


def test_a_tolerance_above_the_mean_prediction_is_told(rng):
    p = rng.beta(1, 200, 100_000)
    y = rng.random(100_000) < p / 1.5
    told = f"The tolerance of 0.01 is larger than the mean prediction, {p.mean():.3g}: a share of each prediction"
    assert any(text.startswith(told) for text in truecal.evaluate(y, p, tolerance=0.01).evidence())
    passed = truecal.check(truecal.read({"y": y, "p": p}, label="y", score="p"), tolerance=0.01).findings[0]
    assert passed.status != "fail"
    assert "(the tolerance of 0.01 is larger than the mean prediction" in passed.reason
    for tolerance in (0.001, truecal.Relative(0.1), None):
        assert "larger than the mean" not in " ".join(truecal.evaluate(y, p, tolerance=tolerance).evidence())
    high = truecal.evaluate(~y, 1 - p, tolerance=0.01).evidence()
    assert "is larger than what the mean prediction lacks of 1" in " ".join(high)


@pytest.mark.parametrize(
    ("p", "text"), [(0.0, "0 %"), (1.0, "100 %"), (0.00001234, "0.0012 %"), (0.5, "50 %"), (0.99996, "99.996 %")]
)
def test_percentages_keep_their_digits(p, text):
    assert format_percent(p) == text


def test_an_interval_that_excludes_1_never_reads_1():
    assert format_span(0.995, 0.9901, 0.99996) == "0.99500 (0.99010 to 0.99996)"
    assert format_span(1.5, 1.2, 1.8) == "1.50 (1.20 to 1.80)"


def test_results_with_ranges_are_saved():
    again = truecal.Result.from_json(TOP.to_json())
    assert again.ranges == TOP.ranges
    assert again.finding == TOP.finding
