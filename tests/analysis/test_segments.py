"""Segments: the verdict on each among all, what stands beside it, and that the gate says the same."""

import math

import numpy as np
import pytest
from conftest import fewer
from observed import judge_segments

import truecal
from truecal import Metric, Quantile, Relative, Rule, Tallies, Tally, Uniform
from truecal.inference import Draws, judge, sequential_reference
from truecal.metrics import TCE, Gap, adjust_p_values
from truecal.observations import CellSums, GridTally


def segments(rng, count, rows=800, wrong=(), factor=1.8):
    out = {}
    for i in range(count):
        p = rng.beta(1, 9, rows)
        truth = np.minimum(1, factor * p) if i in wrong else p
        out[(f"s{i:02}",)] = Tally.from_arrays(rng.random(rows) < truth, p)
    return out


def test_wrong_segments_are_found_and_right_ones_left_alone(rng):
    found = judge_segments(segments(rng, 30, 3000, wrong=(4, 17)), "ltce")
    assert [key for key, word in zip(found.segment, found.verdict, strict=True) if word == "off"] == [
        ("s04",),
        ("s17",),
    ]
    assert set(found.worst(2)) == {("s04",), ("s17",)}
    assert (found.direction[4], found.direction[5]) == ("too low", "")
    assert found.alarm.sum() == 2


@pytest.mark.parametrize("tolerance", [None, Relative(0.1)])
def test_each_row_is_the_verdict_on_the_segment_at_its_share_of_the_level(rng, tolerance):
    tallies = segments(rng, 3, wrong=(1,))
    found = judge_segments(tallies, "ltce", tolerance=tolerance)
    assert found.level == 0.05 / 3
    for i, tally in enumerate(tallies.values()):
        alone = judge(CellSums.of(tally), 0.05 / 3, tolerance)
        row = found[i]
        assert (row.n, row.observed, row.expected) == (alone.n, alone.observed, alone.expected)
        assert (row.ratio, row.ratio_low, row.ratio_high) == (alone.ratio, *alone.interval)
        assert (row.p_value, row.detectable, row.total_p) == (alone.p_value, alone.detectable, alone.parts["total"])
        assert row.cox_p == alone.parts["cox"] if tolerance is None else math.isnan(row.cox_p)
        assert row.mean == pytest.approx(np.average(tally.score, weights=tally.n))
        assert row.prevalence == tally.positives / tally.n_rows
        # Local TCE is at the significance, as everywhere
        whole = truecal.evaluate(tally, ["ltce"], tolerance=tolerance)
        assert row.value == row.lowest == row.highest == pytest.approx(whole["ltce"])
    np.testing.assert_array_equal(found.p_adjusted, adjust_p_values(found.p_value, "holm"))
    assert np.isnan(found.by_chance).all()
    assert found.replicates == 0
    plain = judge_segments(tallies, "ltce", adjust=None, tolerance=tolerance)
    assert plain.level == 0.05
    np.testing.assert_array_equal(plain.p_adjusted, found.p_value)


@pytest.mark.parametrize("part", ["total", "cox"])
def test_one_part_judges_alone(rng, part):
    """Twelve segments, of which the fourth has 1.6 times the positives, and one so small that it has no Cox test."""
    tallies = segments(rng, 12, 400, wrong=(3,)) | segments(np.random.default_rng(1), 1, 20)
    together, alone = (judge_segments(tallies, "ltce", part=name) for name in (None, part))
    own = together.total_p if part == "total" else together.cox_p
    assert np.isnan(together.cox_p).sum() == 1
    np.testing.assert_array_equal(alone.p_value, np.where(np.isnan(own), together.total_p, own))
    np.testing.assert_array_equal(alone.p_adjusted, adjust_p_values(alone.p_value, "holm"))
    np.testing.assert_array_equal(alone.ratio_low, together.ratio_low)
    if part == "cox":
        np.testing.assert_array_equal(alone.detectable, together.detectable)
    else:  # which has the level to itself, not half of it
        assert (alone.detectable[1:] < together.detectable[1:]).all()
        np.testing.assert_array_equal(alone.detectable, judge_segments(tallies, "ltce", significance=0.1).detectable)
    name = {"total": "the number of positives", "cox": "Cox's intercept and slope"}[part]
    assert [line.split(":")[0] for line in alone.sentences() if "alone" in line] == [f"Judged by {name} alone"]
    assert not any("alone" in line for line in together.sentences())
    assert truecal.results.from_json(alone.to_json()).part == part


def test_a_part_meets_the_tolerance_and_impossible_labels_or_is_refused(rng):
    tallies = segments(rng, 3, wrong=(1,))
    found = judge_segments(tallies, "ltce", part="total", tolerance=Relative(0.1))
    np.testing.assert_array_equal(found.p_value, found.total_p)
    assert found.sentences()[0] == "1 of 3 segments is off beyond the tolerance, by p-values adjusted for their number."
    sure = {("x",): Tally.from_arrays([1] + [0, 1] * 50, [0.0] + [0.5] * 100)}
    assert judge_segments(sure, "ltce", part="cox").p_value.tolist() == [0.0]
    with pytest.raises(ValueError, match="`part` must not be 'cox' with `tolerance`"):
        judge_segments(tallies, "ltce", part="cox", tolerance=0.1)
    with pytest.raises(ValueError, match="`part` must be 'total' or 'cox', or left out; it is 'rows'"):
        judge_segments(tallies, "ltce", part="rows")


def test_words_follow_the_adjusted_p_value_and_what_would_have_been_found(rng):
    """40 right segments of 600 rows: alone a factor of 1.5 would be found in each, among 40 in none."""
    tallies = segments(rng, 40, 1100)
    alone, among = (judge_segments(tallies, "ltce", adjust=adjust) for adjust in (None, "holm"))
    assert (alone.detectable < 1.5).all()
    assert (among.detectable > 1.5).all()
    assert set(among.verdict) == {"cannot tell"}
    assert set(alone.verdict) <= {"consistent", "off"}
    assert among.detectable[0] == judge(CellSums.of(tallies["s00",]), 0.05 / 40).detectable


def test_the_gate_says_the_same_of_every_segment(rng):
    """At the same level off is fail, consistent is pass, cannot tell is that."""
    tallies = segments(rng, 6, 4000, wrong=(2,), factor=1.3) | segments(rng, 3, 40, wrong=(0,))
    tallies = {(f"{i}",): tally for i, tally in enumerate(tallies.values())}
    tallies |= {("zero",): Tally.from_arrays([0, 1], [0.0, 0.0]), ("none",): Tally.from_arrays([0, 1], [0.0, 1.0])}
    data = Tallies("y", "p", tallies, ("name",))
    for level in (0.01, 0.2):
        found = truecal.segments(data, significance=level)
        decision = truecal.check(data, [Rule("verdict", segment="*", significance=level)])
        status = {finding.segment: finding.status for finding in decision.findings}
        words = {"off": "fail", "consistent": "pass", "cannot tell": "cannot tell"}
        assert status == {f"name={key}": words[word] for (key,), word in zip(found.segment, found.verdict, strict=True)}
        assert set(found.verdict) == set(words)
        p_values = {finding.segment: finding.observed for finding in decision.findings}
        told = [p_values[f"name={key}"] for (key,) in found.segment]
        assert found.p_adjusted.tolist() == [
            told_p if told_p is not None else p for told_p, p in zip(told, found.p_adjusted, strict=True)
        ]


def test_segments_without_events_of_one_class_or_one_row_have_an_answer(rng):
    p = rng.beta(1, 999, 500)
    tallies = {
        ("a",): Tally.from_arrays(np.zeros(500), p),
        ("b",): Tally.from_arrays(np.ones(500), p),
        ("c",): Tally.from_arrays([0], [0.3]),
        ("d",): Tally.from_arrays([0, 0], [0.0, 0.0]),
        ("e",): Tally.from_arrays([1, 0], [0.0, 0.0]),
    }
    found = judge_segments(tallies, "ltce")
    assert found.observed.tolist() == [0, 500, 0, 0, 1]
    assert found.verdict == ["cannot tell", "off", "cannot tell", "cannot tell", "off"]
    assert found.direction == ["", "too low", "", "", "too low"]
    assert np.isinf(found.detectable[2:]).all()
    assert (math.isnan(found.ratio[3]), found.ratio[4]) == (True, math.inf)
    assert np.isfinite(found.p_adjusted).all()
    assert found.p_value[4] == 0
    assert found.tell(4) == "1 positive came where 0 were predicted"
    assert "nothing" in repr(found)


def test_a_direction_is_told_only_where_the_interval_shows_it():
    """226 came where 200 were predicted, most of it among 100 predictions of 0.5: the total has p = 0.045, which is above
    a fifth of the level. The slope is clear, but low predictions came true more often than predicted, too."""
    p = np.repeat([0.05, 0.5], [3000, 100])
    right = Tally.from_arrays(np.concatenate([np.arange(3000) < 150, np.arange(100) < 50]), p)
    odd = Tally.from_arrays(np.concatenate([np.arange(3000) < 156, np.arange(100) < 70]), p)
    found = judge_segments({("a",): odd, **{(name,): right for name in "bcde"}}, "ltce")
    assert found.total_p[0] < 0.05
    assert found.ratio_low[0] < 1 < found.ratio_high[0]
    assert (found.verdict[0], found.direction[0]) == ("off", "unclear")


@pytest.mark.parametrize(("low", "way"), [(60, "too timid"), (140, "too extreme")])
def test_errors_that_cancel_have_a_tilt(low, way):
    """400 came where 400 were predicted: 60 or 140 of 400 at 0.25, the rest at 0.75."""
    p = np.repeat([0.25, 0.75], 400)
    y = np.concatenate([np.arange(400) < low, np.arange(400) < 400 - low])
    found = judge_segments({("a",): Tally.from_arrays(y, p)}, "ltce")
    assert (found.verdict, found.tilt, found.direction) == (["off"], (way,), [way])
    more, less = ("more", "less") if way == "too timid" else ("less", "more")
    told = f"predictions are {way} (high ones came true {more} often than predicted, low ones {less} often)"
    assert told in found.sentences()[1]
    for options in ({"part": "total"}, {"tolerance": 0.01}):  # which do not look at the slope
        assert judge_segments({("a",): Tally.from_arrays(y, p)}, "ltce", **options).tilt == ("",)


def test_errors_that_cancel_in_the_middle_have_no_direction():
    """Scores of 0.3 and 0.7 are right, those of 0.4, 0.5 and 0.6 off by 40, -80 and 40 of 400: neither the sum nor the
    slope shows it."""
    p = np.repeat([0.3, 0.4, 0.5, 0.6, 0.7], 400)
    y = np.concatenate([np.arange(400) < k for k in (120, 200, 120, 280, 280)])
    found = judge_segments({("a",): Tally.from_arrays(y, p)}, "ltce")
    assert (found.verdict, found.tilt, found.direction) == (["off"], ("",), ["unclear"])
    assert "predictions are off, all together neither shown to be too low nor too high" in found.sentences()[1]


def test_few_false_alarms_over_many_segments(rng):
    """Of 10 or 20 runs of 500 right segments any alarm in at most 5 % and four standard errors; single p-values of 0.05
    or less in 6.5 %, the verdict's largest size, and four standard errors."""
    count = fewer(20, 2)
    runs = [judge_segments(segments(rng, 500, 200), "ltce") for _ in range(count)]
    assert np.mean([found.alarm.any() for found in runs]) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / count)
    assert np.mean([found.p_value <= 0.05 for found in runs]) <= 0.065 + 4 * np.sqrt(0.05 * 0.95 / (500 * count))


def test_any_metric_stands_behind_the_verdict_and_changes_nothing(need, rng):
    tallies = segments(rng, 4)
    own = Metric(Quantile(5), Gap())
    found, usual = judge_segments(tallies, own), judge_segments(tallies, "ltce")
    assert found.value[2] == pytest.approx(own(tallies["s02",]))
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
    found = judge_segments(parts, name, reference=199, random_state=0)
    metric = truecal.metrics.find_metric(name)
    assert found.value.tolist() == [metric(part) for part in parts.values()]
    assert found.verdict[1] == "off"
    assert found.chance_p[1] == 1 / 200
    assert found.heading("value") == name


def test_references_are_drawn_where_they_are_asked_for(rng):
    """Each segment has a seed of its own; more than 199 sets of labels only while few reach the observed value."""
    tallies = segments(rng, 3, 300, wrong=(1,))
    found = judge_segments(tallies, TCE, reference=999, random_state=0)
    seeds = Draws(999, 0).seeds(3).tolist()
    for i, tally in enumerate(tallies.values()):
        drawn = sequential_reference(tally, TCE, Draws(999, seeds[i]))
        assert (found.by_chance[i], found.chance_p[i]) == (drawn.mean, drawn.p_value)
    np.testing.assert_array_equal(found.chance_p_adjusted, adjust_p_values(found.chance_p, "holm"))
    np.testing.assert_array_equal(found.excess, found.value - found.by_chance)
    assert found.replicates == 999
    assert judge_segments(tallies, TCE, reference=999, random_state=0, threads=2).to_json() == found.to_json()
    with pytest.raises(ValueError, match="must be a whole number"):
        judge_segments(tallies, reference=-1)


def test_cells_have_the_same_verdict_and_bounds(rng):
    tallies = segments(rng, 3, wrong=(1,))
    exact, cells = (
        judge_segments(some, TCE) for some in (tallies, {key: GridTally.of(t, 6) for key, t in tallies.items()})
    )
    fine = judge_segments({key: GridTally.of(t, 16) for key, t in tallies.items()}, TCE)
    np.testing.assert_allclose(fine.p_value, exact.p_value, rtol=1e-3)
    assert (cells.lowest <= cells.value).all()
    assert (cells.lowest < cells.highest).any()
    assert cells.verdict == exact.verdict


def test_from_a_frame_to_its_segments(need, rng):
    need("narwhals")
    pl = need("polars")
    p = rng.beta(1, 9, 9000)
    country = rng.choice(["de", "fr", "it"], 9000)
    truth = np.where(country == "fr", np.minimum(1, 2 * p), p)
    frame = pl.DataFrame({"y": rng.random(9000) < truth, "p": p, "country": country})
    found = truecal.segments(truecal.read(frame, label="y", score="p", by="country"))
    assert found.segment == (("de",), ("fr",), ("it",))
    assert found.verdict == ["consistent", "off", "consistent"]


def test_three_of_more_segments_that_are_off_are_said_to_be_the_worst(rng):
    off = judge_segments(segments(rng, 4, 1500, wrong=(0, 1, 2, 3)), "ltce").sentences()
    assert off[0] == "4 of 4 segments are off, by p-values adjusted for their number. The three worst follow."
    assert len(off) == 4


def test_the_worst_of_many_segments_are_shown_with_sentences(rng):
    found = judge_segments(segments(rng, 40, 1500, wrong=(7,)), "ltce")
    text = repr(found).splitlines()
    assert text[0].startswith("40 segments, the worst 20 first: 1 off, ")
    assert text[2].split()[:2] == ["segment=s07", "1,500"]
    assert len(text) == 22
    said = found.sentences()
    assert said[0] == "1 of 40 segments is off, by p-values adjusted for their number."
    assert said[1] == f"segment=s07: predictions are too low; {found.tell(7)}."
    few = found.verdict.count("cannot tell")
    unsure = [d for d, word in zip(found.detectable, found.verdict, strict=True) if word == "cannot tell"]
    assert said[2] == (
        f"In {few} segments the data cannot tell: a factor of 1.5 on all odds would have been missed too often; "
        f"factors from {min(unsure):.3g} to {max(unsure):.3g} would have been found."
    )
    none = judge_segments(segments(rng, 1, 20), "ltce").sentences()
    assert none[0] == "No segment is shown to be off."


def test_segments_must_be_there():
    whole = Tallies("y", "p", {(): Tally([0.3, 0.6], [3, 1], [2, 1])})
    with pytest.raises(ValueError, match=r"(?s)`by` must name the columns that make segments.*truecal.read\(data, by"):
        truecal.segments(whole)
    with pytest.raises(ValueError, match="`above` must leave some rows; all scores are below 0.7"):
        judge_segments({("a",): whole.tally}, above=0.7)


def test_what_is_one_bin_and_its_gap():
    """2 of 3 at 0.3, and 1 of 1 at 0.6, in one bin of mean 1.5 / 4: a gap of 0.375."""
    found = judge_segments({("a",): Tally([0.3, 0.6], [3, 1], [2, 1])}, Metric(Uniform(1), Gap()))
    assert found.value[0] == pytest.approx(0.375)
    assert found.expected[0] == pytest.approx(1.5)
