"""The sentences about a recalibration, for each status, kind of map and method of validation."""

import math
from dataclasses import replace

import numpy as np
import pytest

import truecal
from truecal import words
from truecal.data import Note, NoteCode
from truecal.inference import Map
from truecal.results import ErrorChange, Recalibration, ValidationMethod


@pytest.fixture(scope="module")
def shifted():
    """A recalibration of 8,000 rows whose odds are twice those predicted."""
    rng = np.random.default_rng(0)
    p = rng.beta(1, 9, size=8000)
    return truecal.recalibrate(rng.random(8000) < 2 * p / (1 + p), p, "offset")


def bare(one, **more):
    return Recalibration(map=one, n=100, positives=10, **more)


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (Map("none"), "Calibration map: none, predictions are unchanged."),
        (Map("offset", math.log(2)), "Calibration map (offset): all odds are multiplied by 2."),
        (Map("logistic", -1, 0.5, 0.5), "Calibration map (logistic): intercept -1 and slope 0.5 on the log-odds."),
        (Map("beta", 0.1, 1.5, 0.8), "(beta): intercept 0.1, slopes 1.5 of log p and 0.8 of -log(1 - p)."),
        (Map("isotonic", edges=np.zeros(1), values=np.array([0.1])), "Calibration map (isotonic): 1 step."),
        (Map("offset", math.log(2), share=0.7), "multiplied by 2 (shrunk to 70% of the fit)."),
    ],
)
def test_every_kind_of_map_is_described(one, text):
    assert text in words.describe_map(bare(one))


def test_a_map_shows_what_becomes_of_three_predictions():
    # the odds 1 / 99, 1 / 9 and 1, times 2: 2 / 101, 2 / 11 and 2 / 3
    text = words.describe_map(bare(Map("offset", math.log(2))))
    assert text.endswith("1% becomes 1.98%, 10% becomes 18.2%, 50% becomes 66.7%.")
    by = {"by": ("country",), "segments": (("de",), ("fr",))}
    own, none = (bare(Map("none"), **by, offsets=np.array(offsets)) for offsets in ([0.1, -0.1], [0.0, 0.0]))
    assert words.describe_map(own).endswith("Each of 2 segments has an offset of its own.")
    assert words.describe_map(none).endswith(
        "No offset for any of 2 segments: no difference between them is significant."
    )


def test_the_summary_has_the_losses_and_their_difference(shifted):
    gap = shifted.validation.log_loss
    change = f"{-gap.difference:+.3g}, 95% CI {-gap.high:+.3g} to {-gap.low:+.3g}; 5-fold cross-validation"
    assert shifted.summary == (
        f"Recalibration helps: held-out log loss falls from {gap.first:.4g} to {gap.second:.4g} ({change})."
    )
    assert shifted.sentences()[1] == shifted.summary
    before, after = shifted.validation.before.verdict, shifted.validation.after.verdict
    expected = [
        f"{one.status}, {words.format_ratio_ci(one.ratio, *one.interval)}, {words.format_p_value(one.p_value)}"
        for one in (before, after)
    ]
    assert shifted.sentences()[2] == f"Verdict before: {expected[0]}; after: {expected[1]}."


@pytest.mark.parametrize(
    ("interval", "before", "status", "verb"),
    [
        ((0.002, 0.001, 0.003), "miscalibrated", "helps", "falls from"),
        ((-0.002, -0.003, -0.001), "consistent", "harms", "rises from"),
        ((0.0, -0.001, 0.001), "miscalibrated", "not shown to help", "does not change significantly, from"),
        ((0.0, -0.001, 0.001), "inconclusive", "not shown to help", "does not change significantly, from"),
        ((0.0, -0.001, 0.001), "consistent", "not needed", "does not change significantly, from"),
    ],
)
def test_every_status_has_its_sentence(shifted, interval, before, status, verb):
    validation = shifted.validation
    difference, low, high = interval
    result = replace(validation.before, verdict=replace(validation.before.verdict, status=before))
    gap = replace(validation.log_loss, difference=difference, low=low, high=high)
    found = replace(shifted, validation=replace(validation, before=result, log_loss=gap))
    assert found.status == status
    assert found.summary.startswith(f"{words.label_recalibration(found.status)}: held-out log loss {verb} ")


def test_what_is_not_known_is_said(shifted):
    assert replace(shifted, validation=None).summary == "The map was not validated on held-out rows."
    one = replace(shifted, positives=shifted.n)
    assert one.summary == "No map can be fitted, since every label is positive: check the labels first."


def test_the_method_of_validation_is_named(shifted):
    validation = shifted.validation
    assert words.describe_method(replace(validation, cluster="who")) == "5-fold cross-validation by `who`"
    forward = replace(validation, method=ValidationMethod.FORWARD, parts=7)
    assert words.describe_method(forward) == "forward validation, 7 periods"
    separate = replace(validation, method=ValidationMethod.SEPARATE)
    assert words.describe_method(separate) == "separate rows"
    assert words.describe_method(replace(separate, source="new.csv")) == "new.csv"


def test_notes_are_made_of_numbers():
    note = Note.of(NoteCode.SLICES_TRUNCATED, limit=20)
    change = ErrorChange(period="2026-03-01", every="1d", p_value=2e-5, ratio_before=0.81, ratio_since=1.4)
    found = bare(Map("logistic", 1.0, 0.0, 0.0), contradicted=1, error_change=change, weighted=True, notes=(note,))
    first, weights, error, label, order = words.describe_recalibration_notes(found)
    assert first == "only the first 20 slices are listed"
    assert weights == "the map and its validation describe the sample, without importance weights"
    assert error == (
        "the error that the map leaves changes over time (p < 0.0001): O/E 0.81 before 2026-03-01, 1.40 since; fit the "
        "map to recent periods"
    )
    assert label == "1 label contradicts a prediction of exactly 0 or 1, which no map of the odds changes"
    assert order.endswith("are labels or scores swapped?")
