"""The finding in words: range, direction and size are those of the numbers."""

import re

import numpy as np
import pytest

import truecal
from truecal.results import format_percent, format_span, name_ranges


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
    assert name_ranges(result.ranges) == ["below 100 %", "at 100 %"]
    assert result.short_finding == "Predictions below 100 % are too low, those at 100 % too high"


def test_the_most_probable_class_has_confidences(rng):
    probabilities = rng.dirichlet([1, 1, 1], 3000)
    found = truecal.evaluate(rng.integers(0, 3, 3000), probabilities, metrics=["ltce"])
    assert found.finding.startswith("Confidences")
    assert "were correct" in found.finding
    assert "positive" not in " ".join([found.finding, *found.evidence()])


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
    assert "Recalibrate" in truecal.evaluate(wrong, p, metrics=["ltce"]).evidence()[-1]


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
