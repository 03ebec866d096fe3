"""Segments: the verdict on each among all, what stands beside it, and that the gate says the same."""

import math

import numpy as np
import pytest
from conftest import fewer
from observed import judge_segments

import truecal
from truecal import Metric, Observations, Quantile, Relative, Rule, Tally, Uniform, words
from truecal.data import Cells
from truecal.inference import Draws, sequential_reference
from truecal.metrics import TCE, Gap, adjust_p_values
from truecal.verdict import judge


def segments(rng, count, rows=800, wrong=(), factor=1.8):
    out = {}
    for i in range(count):
        p = rng.beta(1, 9, rows)
        truth = np.minimum(1, factor * p) if i in wrong else p
        out[(f"s{i:02}",)] = Tally.from_arrays(rng.random(rows) < truth, p)
    return out


def test_wrong_segments_are_found_and_right_ones_left_alone(rng):
    found = judge_segments(segments(rng, 30, 3000, wrong=(4, 17)), "ltce")
    assert [key for key, word in zip(found.segment, found.status, strict=True) if word == "miscalibrated"] == [
        ("s04",),
        ("s17",),
    ]
    assert set(found.worst(2)) == {("s04",), ("s17",)}
    assert (found.direction[4], found.direction[5]) == ("under-predicts", None)
    assert found.alarm.sum() == 2


@pytest.mark.parametrize("tolerance", [None, Relative(0.1)])
def test_each_row_is_the_verdict_on_the_segment_at_its_share_of_the_level(rng, tolerance):
    observations = segments(rng, 3, wrong=(1,))
    found = judge_segments(observations, "ltce", tolerance=tolerance)
    assert found.level == 0.05 / 3
    for i, tally in enumerate(observations.values()):
        alone = judge(Cells.of(tally), 0.05 / 3, tolerance)
        row = found[i]
        assert (row.n, row.observed, row.expected) == (alone.n, alone.observed, alone.expected)
        assert (row.ratio, row.ratio_low, row.ratio_high) == (alone.ratio, *alone.interval)
        assert (row.p_value, row.detectable, row.total_p) == (alone.p_value, alone.detectable, alone.tests["total"])
        assert row.cox_p == alone.tests["cox"] if tolerance is None else math.isnan(row.cox_p)
        assert row.mean == pytest.approx(np.average(tally.score, weights=tally.n))
        assert row.prevalence == tally.positives / tally.n_rows
        # Local TCE is at the significance, as everywhere
        whole = truecal.evaluate(tally, ["ltce"], tolerance=tolerance)
        assert row.value == row.lowest == row.highest == pytest.approx(whole["ltce"])
    np.testing.assert_array_equal(found.p_adjusted, adjust_p_values(found.p_value, "holm"))
    assert np.isnan(found.null_mean).all()
    assert found.draws == 0
    plain = judge_segments(observations, "ltce", adjust=None, tolerance=tolerance)
    assert plain.level == 0.05
    np.testing.assert_array_equal(plain.p_adjusted, found.p_value)


def test_words_follow_the_adjusted_p_value_and_what_would_have_been_found(rng):
    """40 right segments of 600 rows: alone a factor of 1.5 would be found in each, among 40 in none."""
    observations = segments(rng, 40, 1100)
    alone, among = (judge_segments(observations, "ltce", adjust=adjust) for adjust in (None, "holm"))
    assert (alone.detectable < 1.5).all()
    assert (among.detectable > 1.5).all()
    assert set(among.status) == {"inconclusive"}
    assert set(alone.status) <= {"consistent", "miscalibrated"}
    assert among.detectable[0] == judge(Cells.of(observations["s00",]), 0.05 / 40).detectable


def test_the_gate_says_the_same_of_every_segment(rng):
    """At the same level off is fail, consistent is pass, cannot tell is that."""
    observations = segments(rng, 6, 4000, wrong=(2,), factor=1.3) | segments(rng, 3, 40, wrong=(0,))
    observations = {(f"{i}",): tally for i, tally in enumerate(observations.values())}
    observations |= {("zero",): Tally.from_arrays([0, 1], [0.0, 0.0]), ("none",): Tally.from_arrays([0, 1], [0.0, 1.0])}
    data = Observations("y", "p", observations, ("name",))
    for level in (0.01, 0.2):
        found = truecal.segments(data, significance=level)
        decision = truecal.check(data, [Rule("verdict", segment="*", significance=level)])
        status = {finding.segment: finding.status for finding in decision.results}
        words = {"miscalibrated": "fail", "consistent": "pass", "inconclusive": "inconclusive"}
        assert status == {f"name={key}": words[word] for (key,), word in zip(found.segment, found.status, strict=True)}
        assert set(found.status) == set(words)
        p_values = {finding.segment: finding.observed for finding in decision.results}
        told = [p_values[f"name={key}"] for (key,) in found.segment]
        assert found.p_adjusted.tolist() == [
            told_p if told_p is not None else p for told_p, p in zip(told, found.p_adjusted, strict=True)
        ]


def test_segments_without_events_of_one_class_or_one_row_have_an_answer(rng):
    p = rng.beta(1, 999, 500)
    observations = {
        ("a",): Tally.from_arrays(np.zeros(500), p),
        ("b",): Tally.from_arrays(np.ones(500), p),
        ("c",): Tally.from_arrays([0], [0.3]),
        ("d",): Tally.from_arrays([0, 0], [0.0, 0.0]),
        ("e",): Tally.from_arrays([1, 0], [0.0, 0.0]),
    }
    found = judge_segments(observations, "ltce")
    assert found.observed.tolist() == [0, 500, 0, 0, 1]
    assert found.status == ["inconclusive", "miscalibrated", "inconclusive", "inconclusive", "miscalibrated"]
    assert found.direction == [None, "under-predicts", None, None, "under-predicts"]
    assert np.isinf(found.detectable[2:]).all()
    assert (math.isnan(found.ratio[3]), found.ratio[4]) == (True, math.inf)
    assert np.isfinite(found.p_adjusted).all()
    assert found.p_value[4] == 0
    assert words.describe_row(found, 4) == "observed 1, expected 0"
    assert "none expected" in repr(found)


def test_a_direction_is_told_only_where_the_interval_shows_it():
    """226 came where 200 were predicted, most of it among 100 predictions of 0.5: the total has p = 0.045, which is above
    a fifth of the level. The slope is clear, but low predictions came true more often than predicted, too."""
    p = np.repeat([0.05, 0.5], [3000, 100])
    right = Tally.from_arrays(np.concatenate([np.arange(3000) < 150, np.arange(100) < 50]), p)
    odd = Tally.from_arrays(np.concatenate([np.arange(3000) < 156, np.arange(100) < 70]), p)
    found = judge_segments({("a",): odd, **{(name,): right for name in "bcde"}}, "ltce")
    assert found.total_p[0] < 0.05
    assert found.ratio_low[0] < 1 < found.ratio_high[0]
    assert (found.status[0], found.direction[0]) == ("miscalibrated", "unclear")


@pytest.mark.parametrize(("low", "way"), [(60, "underconfident"), (140, "overconfident")])
def test_errors_that_cancel_have_a_tilt(low, way):
    """400 came where 400 were predicted: 60 or 140 of 400 at 0.25, the rest at 0.75."""
    p = np.repeat([0.25, 0.75], 400)
    y = np.concatenate([np.arange(400) < low, np.arange(400) < 400 - low])
    found = judge_segments({("a",): Tally.from_arrays(y, p)}, "ltce")
    assert (found.status, found.slope_direction, found.direction) == (["miscalibrated"], (way,), [way])
    high, low = ("low", "high") if way == "underconfident" else ("high", "low")
    told = f"{way} (high predictions too {high}, low ones too {low}), observed 400, expected 400"
    assert told in found.sentences()[1]
    # with a tolerance nobody looks at the slope
    assert judge_segments({("a",): Tally.from_arrays(y, p)}, "ltce", tolerance=0.01).slope_direction == (None,)


def test_errors_that_cancel_in_the_middle_have_no_direction():
    """Scores of 0.3 and 0.7 are right, those of 0.4, 0.5 and 0.6 off by 40, -80 and 40 of 400: neither the sum nor the
    slope shows it."""
    p = np.repeat([0.3, 0.4, 0.5, 0.6, 0.7], 400)
    y = np.concatenate([np.arange(400) < k for k in (120, 200, 120, 280, 280)])
    found = judge_segments({("a",): Tally.from_arrays(y, p)}, "ltce")
    assert (found.status, found.slope_direction, found.direction) == (["miscalibrated"], (None,), ["unclear"])
    assert "miscalibrated in an unclear direction" in found.sentences()[1]


@pytest.mark.slow
def test_few_false_alarms_over_many_segments(rng):
    """Of 10 or 20 runs of 500 right segments any alarm in at most 5 % and four standard errors; single p-values of 0.05
    or less in 6.5 %, the verdict's largest size, and four standard errors."""
    count = fewer(20, 2)
    runs = [judge_segments(segments(rng, 500, 200), "ltce") for _ in range(count)]
    assert np.mean([found.alarm.any() for found in runs]) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / count)
    assert np.mean([found.p_value <= 0.05 for found in runs]) <= 0.065 + 4 * np.sqrt(0.05 * 0.95 / (500 * count))


def test_any_metric_stands_behind_the_verdict_and_changes_nothing(need, rng):
    observations = segments(rng, 4)
    own = Metric(Quantile(5), Gap())
    found, usual = judge_segments(observations, own), judge_segments(observations, "ltce")
    assert found.value[2] == pytest.approx(own(observations["s02",]))
    for name in ("p_value", "p_adjusted", "ratio", "detectable"):
        np.testing.assert_array_equal(getattr(found, name), getattr(usual, name))
    for library in ("pandas", "polars", "pyarrow"):
        need(library)
        frame = found.to_frame(library)
        assert list(frame["segment"].to_pylist() if library == "pyarrow" else frame["segment"]) == [
            "s00",
            "s01",
            "s02",
            "s03",
        ]


@pytest.mark.parametrize("name", ["slope", "log_loss", "smece", "net_benefit@0.2"])
def test_segments_take_any_named_metric(rng, name):
    """The second part is over-confident; a net benefit finds that where few of its alarms are true."""
    x = rng.normal(-1, 1.5, 6000)
    y = rng.random(6000) < 1 / (1 + np.exp(-x))
    p = 1 / (1 + np.exp(-np.where(np.arange(6000) < 3000, x, 2.5 * x)))
    parts = {(i,): Tally.from_arrays(y[half], p[half]) for i, half in ((1, slice(3000)), (2, slice(3000, None)))}
    found = judge_segments(parts, name, null_draws=199, random_state=0)
    metric = truecal.metrics.find_metric(name)
    assert found.value.tolist() == [metric(part) for part in parts.values()]
    assert found.status[1] == "miscalibrated"
    assert found.null_p[1] == 1 / 200
    assert found.heading("value") == name


def test_references_are_drawn_where_they_are_asked_for(rng):
    """Each segment has a seed of its own; more than 199 sets of labels only while few reach the observed value."""
    observations = segments(rng, 3, 300, wrong=(1,))
    found = judge_segments(observations, TCE, null_draws=999, random_state=0)
    seeds = Draws(999, 0).seeds(3).tolist()
    for i, tally in enumerate(observations.values()):
        drawn = sequential_reference(tally, TCE, Draws(999, seeds[i]))
        assert (found.null_mean[i], found.null_p[i]) == (drawn.mean, drawn.p_value)
    np.testing.assert_array_equal(found.null_p_adjusted, adjust_p_values(found.null_p, "holm"))
    np.testing.assert_array_equal(found.excess, found.value - found.null_mean)
    assert found.draws == 999
    assert judge_segments(observations, TCE, null_draws=999, random_state=0, threads=2).to_json() == found.to_json()
    with pytest.raises(ValueError, match="must be a whole number"):
        judge_segments(observations, null_draws=-1)


def test_cells_have_the_same_verdict_and_bounds(rng):
    observations = segments(rng, 3, wrong=(1,))
    exact, cells = (
        judge_segments(some, TCE) for some in (observations, {key: Cells.grid(t, 6) for key, t in observations.items()})
    )
    fine = judge_segments({key: Cells.grid(t, 16) for key, t in observations.items()}, TCE)
    np.testing.assert_allclose(fine.p_value, exact.p_value, rtol=1e-3)
    assert (cells.lowest <= cells.value).all()
    assert (cells.lowest < cells.highest).any()
    assert cells.status == exact.status


def test_from_a_frame_to_its_segments(need, rng):
    need("narwhals")
    pl = need("polars")
    p = rng.beta(1, 9, 9000)
    country = rng.choice(["de", "fr", "it"], 9000)
    truth = np.where(country == "fr", np.minimum(1, 2 * p), p)
    frame = pl.DataFrame({"y": rng.random(9000) < truth, "p": p, "country": country})
    found = truecal.segments(truecal.read(frame, label="y", score="p", by="country"))
    assert found.segment == (("de",), ("fr",), ("it",))
    assert found.status == ["consistent", "miscalibrated", "consistent"]


def test_three_of_more_segments_that_are_off_are_said_to_be_the_worst(rng):
    off = judge_segments(segments(rng, 4, 1500, wrong=(0, 1, 2, 3)), "ltce").sentences()
    assert off[0] == "4 of 4 segments are miscalibrated (Holm-adjusted p). The three worst:"
    assert len(off) == 4


def test_the_worst_of_many_segments_are_shown_with_sentences(rng):
    found = judge_segments(segments(rng, 40, 1500, wrong=(7,)), "ltce")
    text = repr(found).splitlines()
    assert text[0].startswith("1 of 40 segments is miscalibrated (Holm-adjusted p), ")
    assert text[2].split()[:2] == ["s07", "1,500"]
    assert len(text) == 24
    assert text[-2].strip() == "..."
    assert text[-1] == "Confidence intervals are simultaneous over all segments."
    said = found.sentences()
    assert said[0] == "1 of 40 segments is miscalibrated (Holm-adjusted p)."
    assert said[1] == f"segment=s07: under-predicts, {words.describe_row(found, 7)}."
    few = found.status.count("inconclusive")
    unsure = [d for d, word in zip(found.detectable, found.status, strict=True) if word == "inconclusive"]
    assert said[2] == (
        f"{few} segments are inconclusive: minimum detectable odds ratio {min(unsure):.3g}–{max(unsure):.3g} (80% power); "
        "1.5 is required."
    )
    none = judge_segments(segments(rng, 1, 20), "ltce").sentences()
    assert none[0] == "No miscalibration found in 1 segment."


def test_segments_must_be_there():
    whole = Observations("y", "p", {(): Tally([0.3, 0.6], [3, 1], [2, 1])})
    with pytest.raises(ValueError, match=r"(?s)`by` must name the columns that make segments.*truecal.read\(data, by"):
        truecal.segments(whole)
    with pytest.raises(ValueError, match="`threshold` must leave some rows; all scores are below 0.7"):
        judge_segments({("a",): whole.tally}, threshold=0.7)


def test_what_is_one_bin_and_its_gap():
    """2 of 3 at 0.3, and 1 of 1 at 0.6, in one bin of mean 1.5 / 4: a gap of 0.375."""
    found = judge_segments({("a",): Tally([0.3, 0.6], [3, 1], [2, 1])}, Metric(Uniform(1), Gap()))
    assert found.value[0] == pytest.approx(0.375)
    assert found.expected[0] == pytest.approx(1.5)


@pytest.mark.parametrize("binning", [5, "quantile"])
def test_bins_of_segments_are_those_of_evaluate(binning):
    rng = np.random.default_rng(0)
    p = rng.beta(1, 9, 4000)
    columns = {"y": rng.random(4000) < 1.5 * p, "p": p, "half": np.arange(4000) % 2}
    data = truecal.read(columns, label="y", score="p", by="half")
    table = truecal.segments(data, "tce", binning=binning)
    for (half,), value in zip(table.segment, table.value, strict=True):
        inside = columns["half"] == half
        alone = truecal.evaluate(columns["y"][inside], p[inside], ["tce"], binning=binning)
        assert value == pytest.approx(alone["tce"])
