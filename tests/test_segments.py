import numpy as np
import pytest

import truecal
from truecal import Gap, Metric, Quantile, Tally


def segments(rng, count, rows=800, wrong=()):
    out = {}
    for i in range(count):
        p = rng.beta(1, 9, rows)
        truth = np.minimum(1, 1.8 * p) if i in wrong else p
        out[(f"s{i}",)] = Tally.from_arrays(rng.random(rows) < truth, p)
    return out


def test_wrong_segments_are_found_and_right_ones_left_alone(rng):
    tallies = segments(rng, 30, 3000, wrong=(4, 17))
    found = truecal.judge_segments(tallies, random_state=0, replicates=999, threads=2)
    assert {key for key, p in zip(found.segment, found.p_adjusted, strict=True) if p < 0.05} == {("s4",), ("s17",)}
    assert set(found.worst(2)) == {("s4",), ("s17",)}
    assert found.too_low[4] > 5 * found.too_high[4]  # understated


def test_each_row_is_the_segments_own_result(rng):
    tallies = segments(rng, 3)
    found = truecal.judge_segments(tallies, random_state=0, adjust=None)
    for i, tally in enumerate(tallies.values()):
        result = truecal.evaluate_tally(tally)
        assert found.value[i] == pytest.approx(result["tce"])
        assert found.prevalence[i] == result.prevalence
        assert found.mean[i] == pytest.approx(np.average(tally.score, weights=tally.n))
        assert found.too_low[i] == result.bins.too_low.sum() / result.n
        assert found.excess[i] == pytest.approx(found.value[i] - found.by_chance[i])
    np.testing.assert_array_equal(found.p_adjusted, found.p_value)
    below, above = truecal.detect(found.n, found.mean)
    np.testing.assert_array_equal(found.seen_below, below)
    np.testing.assert_array_equal(found.seen_above, above)


def test_segments_without_events_of_one_class_or_one_row_have_an_answer(rng):
    p = rng.beta(1, 99, 500)
    tallies = {
        ("none",): Tally.from_arrays(np.zeros(500), p),
        ("all",): Tally.from_arrays(np.ones(500), p),
        ("one",): Tally.from_arrays([0], [0.3]),
    }
    found = truecal.judge_segments(tallies, random_state=0)
    assert found.positives.tolist() == [0, 500, 0]
    assert found.p_value[1] == 1 / 200
    assert found.p_value[2] == 1
    assert np.isnan(found.seen_below[2])  # a single row with 0.3 can refute nothing from below
    columns = (found.value, found.by_chance, found.excess, found.p_value, found.p_adjusted)
    assert all(np.isfinite(column).all() for column in columns)


def test_the_share_of_false_alarms_is_kept_over_many_segments(rng):
    """500 right segments: none after Holm's adjustment in most runs, about 5 % before (within four standard errors)."""
    found = truecal.judge_segments(segments(rng, 500, 200), replicates=99, random_state=0, threads=2)
    assert np.mean(found.p_value <= 0.05) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 500)
    assert (found.p_adjusted < 0.05).sum() == 0


def test_any_metric_and_any_library(need, rng):
    tallies = segments(rng, 4)
    found = truecal.judge_segments(tallies, Metric(Quantile(5), Gap()), random_state=0)
    assert found.value[2] == pytest.approx(Metric(Quantile(5), Gap())(tallies["s2",]))
    for library in ("pandas", "polars", "pyarrow"):
        need(library)
        frame = found.to_frame(library)
        assert list(frame["segment"].to_pylist() if library == "pyarrow" else frame["segment"]) == [
            "s0",
            "s1",
            "s2",
            "s3",
        ]
    with pytest.raises(ValueError, match="must hold at least one segment"):
        truecal.judge_segments({})


def test_from_a_frame_to_its_segments(need, rng):
    need("narwhals")
    pl = need("polars")
    p = rng.beta(1, 9, 9000)
    country = rng.choice(["de", "fr", "it"], 9000)
    truth = np.where(country == "fr", np.minimum(1, 2 * p), p)
    frame = pl.DataFrame({"y": rng.random(9000) < truth, "p": p, "country": country})
    found = truecal.judge_segments(truecal.tally_segments(frame, label="y", score="p", by="country"), random_state=0)
    assert found.segment == (("de",), ("fr",), ("it",))
    assert (found.p_adjusted < 0.05).tolist() == [False, True, False]


def test_many_segments_can_still_raise_an_alarm_and_the_worst_are_shown(rng):
    """40 segments under Holm need p-values of 0.05 / 40, which 199 replicates cannot reach: the worst one gets more."""
    tallies = segments(rng, 40, 1500, wrong=(7,))
    found = truecal.judge_segments(tallies, random_state=0)
    assert found.replicates == 800
    assert [key for key, p in zip(found.segment, found.p_adjusted, strict=True) if p < 0.05] == [("s7",)]
    text = repr(found).splitlines()
    assert text[0] == "40 segments, the worst 20 first; 1 beyond what chance explains (adjusted p-value at most 0.05)"
    assert text[2].split()[:2] == ["s7", "1,500"]
    assert len(text) == 22
