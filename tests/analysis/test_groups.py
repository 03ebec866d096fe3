import numpy as np
import pytest
from observed import judge_segments

import truecal
from truecal import Metric, Quantile, Tally, Uniform
from truecal.analysis import _groups as module
from truecal.inference import Draws
from truecal.metrics import TCE, Gap, adjust_p_values


def segments(rng, count, rows=800, wrong=()):
    out = {}
    for i in range(count):
        p = rng.beta(1, 9, rows)
        truth = np.minimum(1, 1.8 * p) if i in wrong else p
        out[(f"s{i:02}",)] = Tally.from_arrays(rng.random(rows) < truth, p)
    return out


def test_wrong_segments_are_found_and_right_ones_left_alone(rng):
    tallies = segments(rng, 30, 3000, wrong=(4, 17))
    found = judge_segments(tallies, random_state=0, reference=999, threads=2)
    assert {key for key, p in zip(found.segment, found.p_adjusted, strict=True) if p < 0.05} == {("s04",), ("s17",)}
    assert set(found.worst(2)) == {("s04",), ("s17",)}
    assert found.too_low[4] > 5 * found.too_high[4]  # understated


def test_each_row_is_the_segments_own_result(rng):
    tallies = segments(rng, 3)
    found = judge_segments(tallies, random_state=0, adjust=None)
    for i, tally in enumerate(tallies.values()):
        result = truecal.evaluate(tally, ["tce"])
        assert found.value[i] == pytest.approx(result["tce"])
        assert found.prevalence[i] == result.prevalence
        assert found.mean[i] == pytest.approx(np.average(tally.score, weights=tally.n))
        assert found.too_low[i] == result.bins.n_too_low.sum() / result.n
        assert found.excess[i] == pytest.approx(found.value[i] - found.by_chance[i])
    np.testing.assert_array_equal(found.p_adjusted, found.p_value)
    below, above = truecal.inference.detectable_rates(found.n, found.mean)
    np.testing.assert_array_equal(found.seen_below, below)
    np.testing.assert_array_equal(found.seen_above, above)


def test_segments_without_events_of_one_class_or_one_row_have_an_answer(rng):
    p = rng.beta(1, 99, 500)
    tallies = {
        ("a",): Tally.from_arrays(np.zeros(500), p),
        ("b",): Tally.from_arrays(np.ones(500), p),
        ("c",): Tally.from_arrays([0], [0.3]),
    }
    found = judge_segments(tallies, random_state=0)
    assert found.positives.tolist() == [0, 500, 0]
    assert found.p_value[1] == 1 / 200
    assert found.p_value[2] == 1
    assert np.isnan(found.seen_below[2])  # a single row with 0.3 can refute nothing from below
    columns = (found.value, found.by_chance, found.excess, found.p_value, found.p_adjusted)
    assert all(np.isfinite(column).all() for column in columns)


def test_the_share_of_false_alarms_is_kept_over_many_segments(rng):
    """500 right segments: none after Holm's adjustment in most runs, about 5 % before (within four standard errors)."""
    found = judge_segments(segments(rng, 500, 200), reference=99, random_state=0, threads=2)
    assert np.mean(found.p_value <= 0.05) <= 0.05 + 4 * np.sqrt(0.05 * 0.95 / 500)
    assert (found.p_adjusted < 0.05).sum() == 0


def test_any_metric_and_any_library(need, rng):
    tallies = segments(rng, 4)
    found = judge_segments(tallies, Metric(Quantile(5), Gap()), random_state=0)
    assert found.value[2] == pytest.approx(Metric(Quantile(5), Gap())(tallies["s02",]))
    for library in ("pandas", "polars", "pyarrow"):
        need(library)
        frame = found.to_frame(library)
        assert list(frame["segment"].to_pylist() if library == "pyarrow" else frame["segment"]) == [
            "s00",
            "s01",
            "s02",
            "s03",
        ]


def test_from_a_frame_to_its_segments(need, rng):
    need("narwhals")
    pl = need("polars")
    p = rng.beta(1, 9, 9000)
    country = rng.choice(["de", "fr", "it"], 9000)
    truth = np.where(country == "fr", np.minimum(1, 2 * p), p)
    frame = pl.DataFrame({"y": rng.random(9000) < truth, "p": p, "country": country})
    found = truecal.segments(truecal.read(frame, label="y", score="p", by="country"), random_state=0)
    assert found.segment == (("de",), ("fr",), ("it",))
    assert (found.p_adjusted < 0.05).tolist() == [False, True, False]


def test_many_segments_can_still_raise_an_alarm_and_the_worst_are_shown(rng):
    """40 segments under Holm need p-values of 0.05 / 40, which 199 replicates cannot reach: the worst one gets more."""
    tallies = segments(rng, 40, 1500, wrong=(7,))
    found = judge_segments(tallies, random_state=0)
    assert found.replicates == 800
    assert [key for key, p in zip(found.segment, found.p_adjusted, strict=True) if p < 0.05] == [("s07",)]
    text = repr(found).splitlines()
    assert text[0] == "40 segments, the worst 20 first; 1 beyond what chance explains (adjusted p-value at most 0.05)"
    assert text[2].split()[:2] == ["segment=s07", "1,500"]
    assert len(text) == 22


@pytest.mark.filterwarnings("ignore:.* segments are too small")
def test_small_segments_are_held_against_all_their_labels_and_nothing_is_drawn(monkeypatch):
    """A positive of score 0.02 is refuted, since 0.02 <= 0.05; nothing else can be. So by chance 2 % of 100 %."""
    monkeypatch.setattr(module, "sequential_reference", None)
    tallies = {
        ("a refuted",): Tally.from_arrays([1], [0.02]),
        ("b right",): Tally.from_arrays([0], [0.02]),
        ("c mute",): Tally.from_arrays([1], [0.4]),
        ("d impossible",): Tally.from_arrays([1], [0.0]),
    }
    found = judge_segments(tallies, adjust=None)
    assert found.value.tolist() == [100, 0, 0, 100]
    assert found.by_chance == pytest.approx([2, 2, 0, 0])
    assert found.excess == pytest.approx([98, -2, 0, 100])
    assert found.p_value == pytest.approx([0.02, 1, 1, 0])
    assert found.p_value[1] == found.p_value[2] == 1
    # 2 of 3 at 0.3, and 1 of 1 at 0.6, in one bin of mean 1.5 / 4: a gap of 0.375, which 0, 3 and 4 positives reach
    one_bin = Metric(Uniform(1), Gap())
    found = judge_segments({("a",): Tally([0.3, 0.6], [3, 1], [2, 1])}, one_bin, adjust=None)
    chances = np.convolve([0.343, 0.441, 0.189, 0.027], [0.4, 0.6])
    gaps = np.abs(np.arange(5) / 4 - 0.375)
    assert found.p_value[0] == pytest.approx(chances[[0, 3, 4]].sum())
    assert found.by_chance[0] == pytest.approx(chances @ gaps)


@pytest.mark.filterwarnings("ignore:.* segments are too small")
def test_what_all_labels_give_is_what_many_draws_come_to(rng):
    """The mean of 20,000 draws and the share that reach the value, within four standard errors."""
    p = rng.beta(0.5, 5, 6)
    tally = Tally.from_arrays([0, 1, 0, 0, 1, 0], p)
    for metric in (truecal.metrics.METRICS["tce"], truecal.metrics.METRICS["ece"]):
        found = judge_segments({("all",): tally}, metric)
        drawn = truecal.inference.null_reference(tally, {"": metric}, Draws(20_000, 0))[""]
        assert found.by_chance[0] == pytest.approx(drawn.mean, abs=4 * 50 / 20_000**0.5)  # at most 50 % each
        assert found.p_value[0] == pytest.approx(drawn.p_value, abs=4 * 0.5 / 20_000**0.5)


def test_segments_with_more_labels_than_draws_are_drawn_as_before(rng):
    """Small neighbours take no draws from the others, which have seeds of their own."""
    large = segments(rng, 3, 300)
    small = {(f"t{i}",): Tally.from_arrays([0, 1], [0.3, 0.6]) for i in range(2)}
    alone = {("z",): Tally.from_arrays(rng.random(9) < 0.5, rng.random(9))}  # 512 sets of labels
    both = judge_segments(large | small | alone, reference=199, random_state=0)
    seeds = Draws(199, 0).seeds(6).tolist()
    for i, tally in ((0, large["s00",]), (2, large["s02",]), (5, alone["z",])):
        drawn = module.sequential_reference(tally, TCE, Draws(199, seeds[i]))
        assert (both.by_chance[i], both.p_value[i]) == (drawn.mean, drawn.p_value)
    np.testing.assert_allclose(both.p_adjusted, adjust_p_values(both.p_value, "holm"))


def test_segments_too_small_for_any_alarm_are_warned_of(rng):
    """Among 30, a positive of score 0.01 has an adjusted p-value of 0.3; alone it is refuted at 0.05."""
    tallies = {(f"t{i:02}",): Tally.from_arrays([0], [0.01]) for i in range(30)}
    told = "30 of 30 segments are too small to be found wrong among so many, whatever their labels"
    with pytest.warns(UserWarning, match=told):
        judge_segments(tallies)
    assert len(judge_segments(tallies, adjust=None)) == 30
    with pytest.warns(UserWarning, match="2 of 3 segments are too small to be found wrong, whatever their labels"):
        judge_segments({(p,): Tally.from_arrays([0], [p]) for p in (0.01, 0.3, 0.5)}, adjust=None)
    assert len(judge_segments(segments(rng, 2) | dict(list(tallies.items())[:2]), reference=9)) == 4


@pytest.mark.parametrize("name", ["slope", "log_loss", "smece", "net_benefit@0.2"])
def test_segments_and_windows_take_any_named_metric(rng, name):
    """The second part is over-confident; a net benefit finds that where few of its alarms are true."""
    x = rng.normal(-1, 1.5, 6000)
    y = rng.random(6000) < 1 / (1 + np.exp(-x))
    p = 1 / (1 + np.exp(-np.where(np.arange(6000) < 3000, x, 2.5 * x)))
    parts = {
        (i,): truecal.Tally.from_arrays(y[half], p[half]) for i, half in ((1, slice(3000)), (2, slice(3000, None)))
    }
    found = truecal.segments(truecal.Tallies("y", "p", parts, by=("half",)), name, random_state=0)
    metric = truecal.metrics.find_metric(name)
    assert found.value.tolist() == [metric(part) for part in parts.values()]
    assert np.isnan(found.too_low).all()
    assert found.alarm[1]
    assert found.heading("value") == name
    windows = truecal.Tallies("y", "p", parts, by=("half",), windows={"half": None})
    moved = truecal.drift(windows, name, reference=99, intervals=19, totals=False, random_state=0)
    assert moved.value.tolist() == found.value.tolist()
    assert moved.alarm[1]
    assert (moved.low <= moved.value).all()
