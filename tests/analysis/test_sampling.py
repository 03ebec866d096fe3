"""Rows sampled by label, and flipped labels: tests are those of the rows as they are, numbers those of the population."""

import json
import math

import numpy as np
import pytest
from scipy import stats

import truecal
from truecal import Relative, Result, Tally
from truecal.data import CellGroups, Cells, Reason, Sampling
from truecal.metrics import METRICS, OddsRatio, PoissonBinomial, count_positives, find_odds_ratios
from truecal.metrics._population import _estimate_odds_ratio
from truecal.verdict import judge

KEPT = 0.05


def population(rows=100_000, seed=0, prevalence=0.02):
    rng = np.random.default_rng(seed)
    p = rng.beta(1, (1 - prevalence) / prevalence, rows)
    return rng, rng.random(rows) < p, p


@pytest.fixture(scope="module")
def sampled():
    """A population whose predictions above 0.03 are a third too low, and the rows that were kept of it."""
    rng, y, p = population()
    said = np.where(p > 0.03, p / 1.5, p)
    kept = y | (rng.random(len(p)) < KEPT)
    return y, said, kept


def test_tests_are_those_of_the_scores_as_they_are_seen(sampled):
    y, p, kept = sampled
    how = Sampling(KEPT)
    found = truecal.evaluate(
        y[kept], p[kept], ["ltce_information", "spiegelhalter"], sampling=Sampling(negative_rate=KEPT)
    )
    plain = truecal.evaluate(y[kept], how.to_sampled(p[kept]), ["ltce_information", "spiegelhalter"])
    assert (found.verdict.tests, found.verdict.p_value) == (plain.verdict.tests, plain.verdict.p_value)
    assert found.verdict.detectable == plain.verdict.detectable
    assert found.values == plain.values
    np.testing.assert_array_equal(found.bins.p_value, plain.bins.p_value)


def test_numbers_are_those_of_the_population(sampled):
    y, p, kept = sampled
    found, full = truecal.evaluate(y[kept], p[kept], sampling=Sampling(negative_rate=KEPT)), truecal.evaluate(y, p)
    assert found.n == kept.sum()
    assert found.positives == found.verdict.observed == full.verdict.observed == y.sum()  # all positives were kept
    # 4,900 of 98,000 negatives were kept: a standard error of 1.4 % on whatever they add up to
    assert found.prevalence == pytest.approx(full.prevalence, rel=0.06)
    assert found.verdict.expected == pytest.approx(full.verdict.expected, rel=0.06)
    assert found.verdict.ratio == found.verdict.observed / found.verdict.expected
    low, high = found.verdict.interval
    assert low < full.verdict.ratio < high
    assert found.verdict.odds_ratio.ratio == pytest.approx(found.verdict.ratio)
    for name in ("log_loss", "brier", "ece", "ace", "rmsce_q", "slope", "intercept"):
        assert found[name] == pytest.approx(full[name], rel=0.12), name
    for name in ("net_benefit@0.03", "ecce", "smece"):
        rows = [truecal.evaluate(*each, [name], **more)[name] for each, more in
                (((y[kept], p[kept]), {"sampling": Sampling(negative_rate=KEPT)}), ((y, p), {}))]  # fmt: skip
        assert rows[0] == pytest.approx(rows[1], rel=0.15), name


@pytest.mark.slow
def test_kept_rows_of_a_known_population_follow_the_law_of_what_is_tested():
    """Rows that are labelled and then kept by their label, against rows that are there with the probability of that, p +
    (1 - p) KEPT, and then labelled by the scores as they are seen. Distributions of 60 data sets each differ by less
    than 1.95 sqrt(2 / 60) in all but one of a thousand cases (Smirnov); by far more for labels of another share."""
    rng, how, sets = np.random.default_rng(11), Sampling(KEPT), 60
    p = rng.beta(0.5, 9.5, size=3000)

    def judge_kept(y, kept):
        found = judge(Cells.from_arrays(y[kept], p[kept], sampling=how))
        return found.p_value, found.ratio, found.local.value, found.expected, found.n

    def sample():
        y = rng.random(len(p)) < p
        return judge_kept(y, y | (rng.random(len(p)) < KEPT))

    def label(there):
        kept = rng.random(len(p)) < there
        return judge_kept(rng.random(len(p)) < p / there, kept)

    def compare(first, second):
        pairs = zip(np.transpose(first), np.transpose(second), strict=True)
        return [stats.ks_2samp(*pair).statistic for pair in pairs]

    sampled = [sample() for _ in range(sets)]
    bound = 1.95 * np.sqrt(2 / sets)
    assert max(compare(sampled, [label(p + (1 - p) * KEPT) for _ in range(sets)])) < bound
    assert max(compare(sampled, [label(p + (1 - p) * KEPT / 1.3) for _ in range(sets)])) > 2 * bound


def test_score_bands_and_bins_are_of_predictions(sampled):
    y, p, kept = sampled
    found = truecal.evaluate(y[kept], p[kept], sampling=Sampling(negative_rate=KEPT))
    wrong = found.verdict.bands[-1]
    assert wrong.low > 0.02  # what was predicted for 0.03
    assert wrong.high == pytest.approx(p.max(), rel=1e-3)
    assert wrong.odds_ratio.ratio_low < 1.5 < wrong.odds_ratio.ratio_high
    assert wrong.ratio == pytest.approx(wrong.odds_ratio.ratio)
    inside = (p >= wrong.low * 0.9995) & (p <= wrong.high * 1.0005)
    assert wrong.population == pytest.approx(inside.sum(), rel=0.1)
    assert wrong.shares[1] == pytest.approx(y[inside].mean(), rel=0.1)
    ece = found.tables["ece"]
    assert ece.left.tolist() == [i / 10 for i in range(10)]
    full = truecal.evaluate(y, p, ["ece"]).bins
    many = full.n > 2000
    np.testing.assert_allclose(ece.mean[many], full.mean[many], rtol=0.05)
    np.testing.assert_allclose(ece.rate[many], full.rate[many], rtol=0.1)
    assert ((ece.accepted_low <= ece.rate) & (ece.rate <= ece.accepted_high))[ece.n > 0].all()
    assert found.scores.linear.edges[-1] == pytest.approx(p.max())
    assert found.scores.linear.n.sum() == kept.sum()


def test_what_was_said_is_said(sampled):
    y, p, kept = sampled
    found = truecal.evaluate(y[kept], p[kept], sampling=Sampling(negative_rate=KEPT))
    assert found.verdict.sentences()[-1] == "Negatives were sampled 1 in 20; estimates describe the population."
    assert repr(found).count("estimates describe the population") == 1
    raw = json.loads(found.to_json())
    assert raw["sampling"]["negative_rate"] == KEPT
    assert Result.from_json(found.to_json()) == found


def test_keeping_all_changes_nothing(sampled):
    y, p, _ = sampled
    assert truecal.evaluate(y, p, sampling=Sampling(negative_rate=1, label_noise=(0, 0))) == truecal.evaluate(y, p)


def test_flipped_labels_are_counted_as_they_were():
    rng, y, p = population(seed=3, prevalence=0.1)
    label_noise = (0.02, 0.1)
    label = np.where(y, rng.random(len(y)) >= label_noise[1], rng.random(len(y)) < label_noise[0])
    assert truecal.evaluate(label, p).verdict.status == "miscalibrated"
    found = truecal.evaluate(label, p, sampling=Sampling(label_noise=label_noise))
    assert found.verdict.p_value > 0.01
    # the standard error of (k - 0.02 n) / 0.88 is that of 10,900 labels over 0.88: 112
    assert found.verdict.observed == pytest.approx(y.sum(), abs=4 * 112)
    truth = truecal.evaluate(y, p)
    for name in ("log_loss", "brier", "slope"):
        assert found[name] == pytest.approx(truth[name], rel=0.05), name
    half = truecal.evaluate(label, p / 2, sampling=Sampling(label_noise=label_noise))
    assert half.verdict.status == "miscalibrated"
    assert half.verdict.ratio == pytest.approx(2, rel=0.06)
    assert half["intercept"] == pytest.approx(truecal.evaluate(y, p / 2)["intercept"], abs=0.06)


def test_a_factor_is_one_on_the_odds_of_predictions():
    """With flipped labels a factor of 1.5 on the odds of p shows less in the labels, and takes more rows to find."""
    _, y, p = population(2000, prevalence=0.1)
    clean = judge(Cells.from_arrays(y, p))
    noisy = judge(Cells.from_arrays(y, p, sampling=Sampling(label_noise=(0.1, 0.1))))
    assert noisy.detectable > clean.detectable
    # by hand: all odds x the factor, through the flip, against z(1 - 0.05 / 4) standard deviations, power 0.8
    seen = 0.1 + 0.8 * p
    for sign in (1, -1):
        factor = noisy.detectable**sign
        moved = 0.1 + 0.8 * factor * p / (1 - p + factor * p)
        gap = abs(np.sum(moved - seen)) - 2.2414 * math.sqrt(np.sum(seen * (1 - seen)))
        assert gap / math.sqrt(np.sum(moved * (1 - moved))) > 0.83  # z(0.8) = 0.8416, one side exactly


def test_a_tolerance_is_one_of_predictions():
    rng, y, p = population(200_000, seed=5)
    kept = y | (rng.random(len(p)) < KEPT)
    said = p / 1.2  # a relative tolerance of a quarter covers it, and one of 5 % does not
    for tolerance, words in ((Relative(0.25), {"consistent"}), (Relative(0.05), {"miscalibrated"})):
        found = truecal.evaluate(
            y[kept], said[kept], ["tce"], sampling=Sampling(negative_rate=KEPT), tolerance=tolerance
        )
        assert {found.verdict.status} == words
        assert {truecal.evaluate(y, said, ["tce"], tolerance=tolerance).verdict.status} == words
        table = found.bins
        wide = truecal.evaluate(y[kept], said[kept], ["tce"], sampling=Sampling(negative_rate=KEPT)).bins
        np.testing.assert_allclose(table.accepted_low, wide.accepted_low / (1 + tolerance.value), rtol=1e-9)


@pytest.mark.parametrize(
    ("rows", "a", "b", "close"),
    [(50, 1, 20, 0.04), (1000, 0.5, 5, 0.002), (1000, 2, 2, 0.001), (20_000, 0.2, 0.2, 0.001)],
)
def test_the_saddlepoint_comes_to_the_exact_interval(rows, a, b, close):
    """Where all rows are there, against the exact interval of the Poisson-binomial total."""
    rng = np.random.default_rng(0)
    p = rng.beta(a, b, rows)
    cells = Cells.from_arrays(rng.random(rows) < p, p)
    (exact,) = find_odds_ratios(PoissonBinomial.of(cells), np.array([0]), np.array([len(cells)]), 0.05)
    found = _estimate_odds_ratio(cells, 0.05)
    for name in ("value", "low", "high", "ratio", "ratio_low", "ratio_high"):
        assert getattr(found, name) == pytest.approx(getattr(exact, name), rel=close), name


@pytest.mark.parametrize("labels", [np.zeros(40), np.ones(40)], ids=["none", "all"])
def test_the_interval_of_one_class_is_exact(labels):
    """The tail is (1 - q)^40 or q^40, solved for the odds of q, which sampling multiplies by 20."""
    cells = Cells.from_arrays(labels, np.full(40, 0.1), sampling=Sampling(KEPT))
    found = count_positives(CellGroups.of([cells]), np.array([0]), np.array([1]), 0.05)[0].factor
    edge = 0.025 ** (1 / 40)
    odds = (1 - edge) / edge if not labels.any() else edge / (1 - edge)
    end = found.high if not labels.any() else found.low
    assert end == pytest.approx(odds / (20 * 0.1 / 0.9), rel=1e-6)


def test_predictions_of_0_and_1_are_certain():
    y, p = [0, 0, 1, 1, 0, 1], [0.0, 0.0, 1.0, 1.0, 0.25, 0.25]
    found = truecal.evaluate(y, p, ["ece"], sampling=Sampling(negative_rate=0.5)).verdict
    assert found.contradicted == 0
    assert found.expected == 2 + 0.25 * 3  # two certain positives, and a negative of two with a positive
    assert truecal.evaluate([1, *y], [0.0, *p], ["ece"], sampling=Sampling(negative_rate=0.5)).verdict.contradicted == 1
    noisy = truecal.evaluate([1, *y], [0.0, *p], ["log_loss"], sampling=Sampling(label_noise=(0.1, 0.1)))
    assert noisy.verdict.contradicted == 0
    # certain predictions cost nothing where flips explain the labels; two rows at 0.25 remain, one labelled positive:
    # an estimate of (1 - 0.1 * 2) / 0.8 = 1 true positive and 1 negative
    assert noisy["log_loss"] == pytest.approx((-math.log(0.25) - math.log(0.75)) / 7)
    assert (
        truecal.evaluate([1, *y], [0.0, *p], ["log_loss"], sampling=Sampling(label_noise=(0.0, 0.1)))["log_loss"]
        == math.inf
    )
    # 30 of 30 labelled positive, where a tenth of negatives is: 30 log(10) is far above log(1e9)
    assert (
        truecal.evaluate([1] * 30 + y, [0.0] * 30 + p, ["log_loss"], sampling=Sampling(label_noise=(0.1, 0.1)))[
            "log_loss"
        ]
        == math.inf
    )


def test_every_metric_has_a_finite_value(sampled):
    y, p, kept = sampled
    for how in (Sampling(negative_rate=KEPT), Sampling(negative_rate=KEPT, label_noise=(0.001, 0.01))):
        found = truecal.evaluate(y[kept], p[kept], list(METRICS), null_draws=20, random_state=0, sampling=how)
        assert np.isfinite(list(found.values.values())).all()
        assert all(math.isfinite(part.mean) for part in found.nulls.values())


@pytest.mark.slow
def test_a_right_model_scores_its_level():
    """Local TCE of perfect models: 5 by definition; the mean of 60 data sets, of a standard deviation of about 4."""
    values = []
    for seed in range(60):
        rng, y, p = population(40_000, seed, 0.01)
        kept = y | (rng.random(len(p)) < KEPT)
        values.append(truecal.evaluate(y[kept], p[kept], ["ltce"], sampling=Sampling(negative_rate=KEPT))["ltce"])
    assert abs(np.mean(values) - 5) < 4 * np.std(values) / math.sqrt(60)


def test_cells_give_the_numbers_of_rows(sampled):
    y, p, kept = sampled
    tally = Tally.from_arrays(y[kept], p[kept], sampling=Sampling(KEPT))
    exact, cells = (truecal.evaluate(data, ["tce", "ece", "brier"]) for data in (tally, Cells.grid(tally, 14)))
    assert cells.verdict.observed == exact.verdict.observed
    assert cells.verdict.expected == pytest.approx(exact.verdict.expected, rel=1e-6)
    assert cells["ece"] == pytest.approx(exact["ece"], rel=0.01)
    assert cells["brier"] == pytest.approx(exact["brier"], rel=1e-4)
    low, high = cells.bounds["tce"]
    assert low <= cells["tce"] <= high


def test_two_models_are_compared_for_the_population(sampled):
    y, p, kept = sampled
    other = np.where(p > 0.02, p * 1.5, p)
    names = ["log_loss", "brier", "slope"]
    found = truecal.compare(
        y[kept], p[kept], other[kept], names, resamples=100, random_state=0, sampling=Sampling(negative_rate=KEPT)
    )
    full = truecal.compare(y, p, other, names, resamples=100, random_state=0)
    for name in names:
        assert found[name].low < full[name].difference < found[name].high, name
        assert found[name].high - found[name].low < 4 * (full[name].high - full[name].low)


@pytest.mark.slow
def test_segments_and_windows_are_of_the_population(sampled, need):
    pl = need("polars")
    from datetime import date

    y, p, kept = sampled
    day = [date(2026, 1, 1 + i % 3) for i in range(len(y))]
    frame = pl.DataFrame({"y": y, "p": p, "g": np.arange(len(y)) % 2, "day": day})
    data = truecal.read(
        frame.filter(kept), label="y", score="p", by="g", time="day", sampling=Sampling(negative_rate=KEPT)
    )
    full = truecal.read(frame, label="y", score="p", by="g", time="day")
    ours, all_ = (truecal.segments(each, random_state=0) for each in (data, full))
    np.testing.assert_allclose(ours.observed, all_.observed)  # every positive was kept
    np.testing.assert_allclose(ours.prevalence, all_.prevalence, rtol=0.1)
    np.testing.assert_allclose(ours.mean, all_.mean, rtol=0.1)
    assert ours.overall_prevalence == pytest.approx(all_.overall_prevalence, rel=0.05)
    assert ((ours.ratio_low < all_.ratio) & (all_.ratio < ours.ratio_high)).all()
    assert any("sampled 1 in 20" in str(note) for note in ours.notes)
    ours, all_ = (truecal.drift(each, random_state=0) for each in (data, full))
    np.testing.assert_allclose(ours.ratio, all_.ratio, rtol=0.15)
    assert ((ours.ratio_low < all_.ratio) & (all_.ratio < ours.ratio_high)).all()
    assert ours.overall_verdict.status == all_.overall_verdict.status
    assert ours.drift_status == all_.drift_status


def test_options_about_rows_are_refused_where_they_mean_nothing(sampled):
    y, p, kept = sampled
    tally = Tally.from_arrays(y[kept], p[kept], sampling=Sampling(KEPT))
    with pytest.raises(TypeError, match="`negative_rate` must be left out if rows are grouped"):
        truecal.evaluate(tally, sampling=Sampling(negative_rate=0.1))
    with pytest.raises(ValueError, match="`label_noise` is about two labels, and must be left out"):
        truecal.evaluate([0, 1, 2], np.eye(3), sampling=Sampling(label_noise=(0.1, 0.1)))
    with pytest.raises(TypeError, match="`positive_rate` must be left out if rows are grouped"):
        truecal.compare(
            truecal.data.Pairs.from_arrays([0, 1], [0.1, 0.2], [0.3, 0.4]), sampling=Sampling(positive_rate=0.1)
        )


def test_a_search_and_a_monitor_see_sampled_rows_as_they_are(need):
    pl = need("polars")
    from datetime import date, timedelta

    rng, y, p = population(60_000, seed=7)
    day = [date(2026, 1, 1) + timedelta(i // 3000) for i in range(len(p))]
    kept = y | (rng.random(len(p)) < KEPT)
    frame = pl.DataFrame({"y": y, "p": p, "half": p / 2, "g": np.arange(len(p)) % 3, "day": day}).filter(kept)
    columns = {"label": "y", "columns": ["g"], "sampling": Sampling(negative_rate=KEPT)}
    assert len(truecal.slices(frame, score="p", **columns)) == 0
    found = truecal.slices(frame, score="half", **columns)
    assert found.direction[0] == "under-predicts"
    assert any("estimates describe the sample" in str(note) for note in found.notes)
    for score, threshold, alarm in (("p", None, False), ("half", None, True), ("half", 0.01, True)):
        monitor = truecal.Monitor(threshold=threshold)
        data = truecal.read(frame, label="y", score=score, time="day", sampling=Sampling(negative_rate=KEPT))
        monitor.update(data)
        assert monitor.alarm == alarm
        if threshold is not None:
            assert monitor.table.n[0] == (frame[score] >= threshold).sum()
    with pytest.raises(ValueError, match="`sampling` of the monitor is"):
        monitor.update(truecal.read(frame, label="y", score="half", time="day", sampling=Sampling(negative_rate=0.1)))


def test_late_labels_are_held_against_what_should_have_come():
    rng, y, p = population(50_000, seed=8, prevalence=0.1)
    age = rng.uniform(0, 60, len(p))
    late = truecal.LabelDelay("days", {0: 0.0, 30: 1.0})
    known = y & (rng.random(len(p)) < late.share(age))  # a positive is known by then with the probability of the share
    assert truecal.evaluate(known, p).verdict.status == "miscalibrated"
    found = truecal.evaluate(known, p, sampling=Sampling(label_delay=late.share(age)))
    assert found.verdict.status == "consistent"
    assert found.verdict.observed == known.sum()
    assert found.verdict.expected == pytest.approx(np.sum(p * late.share(age)))
    assert "should be known by now" in found.verdict.sentences()[-1]
    assert found.verdict.sentences()[-1].startswith("Labels are incomplete (label delay):")
    assert (
        truecal.evaluate(known, p / 1.3, sampling=Sampling(label_delay=late.share(age))).verdict.status
        == "miscalibrated"
    )
    assert Result.from_json(found.to_json()) == found
    kept = known | (rng.random(len(p)) < KEPT)
    both = truecal.evaluate(
        known[kept], p[kept], sampling=Sampling(negative_rate=KEPT, label_delay=late.share(age[kept]))
    ).verdict
    assert both.status != "miscalibrated"
    assert both.expected == pytest.approx(np.sum(p * late.share(age)), rel=0.1)


def test_missing_rows_are_dropped_and_counted(need):
    pd = need("pandas")
    y, p = [1, 0, None, 1, 0, 1], [0.5, 0.25, 0.5, np.nan, None, 0.75]
    whole = truecal.evaluate([1, 0, 1], [0.5, 0.25, 0.75], ["ece"])
    for labels, scores in (
        (y, p),
        (np.array(y, dtype=float), np.array(p, dtype=float)),
        (pd.Series(y, dtype="Int64"), pd.Series(p, dtype="Float64")),
        (pd.array(y, dtype="boolean"), p),
        (np.ma.masked_invalid(np.array(y, dtype=float)), np.ma.masked_invalid(np.array(p, dtype=float))),
        (["yes" if label else None if label is None else "no" for label in y], p),
    ):
        more = {"pos_label": "yes"} if isinstance(labels[0], str) else {}
        found = truecal.evaluate(labels, scores, ["ece"], missing="drop", **more)
        assert found.values == whole.values
        assert found.row_counts.read == 6
        assert found.row_counts.dropped == {Reason("y_prob", "null"): 2, Reason("y_true", "null"): 1}
        assert "of 6 rows 3 were dropped: `y_prob` is null in 2, `y_true` is null in 1" in map(str, found.notes)
        with pytest.raises(ValueError, match="missing"):
            truecal.evaluate(labels, scores, ["ece"], **more)
    weighted = truecal.evaluate(y, p, ["ece"], missing="drop", sample_weight=[1, 2, 3, 4, 0, 6])
    assert weighted.row_counts.read == 16
    assert weighted.row_counts.dropped == {Reason("y_prob", "null"): 4, Reason("y_true", "null"): 3}
    late = truecal.evaluate(y, p, ["ece"], missing="drop", sampling=Sampling(label_delay=[0.5] * 6))
    assert late.verdict.expected == 0.75
    assert truecal.evaluate([1, 0], [0.5, 0.25], ["ece"], missing="drop").row_counts.dropped == {}
    with pytest.raises(ValueError, match="at least one valid row"):
        truecal.evaluate([None, None], [0.5, 0.25], missing="drop")
    with pytest.raises(ValueError, match='`missing` must be "raise" or "drop"'):
        truecal.evaluate([0, 1], [0.5, 0.25], missing="ignore")


def test_rows_of_several_classes_may_be_missing():
    p = np.array([[0.2, 0.3, 0.5], [0.6, 0.2, 0.2], [np.nan, 0.5, 0.5], [0.1, 0.8, 0.1]])
    found = truecal.evaluate([2, None, 1, 1], p, ["ece"], missing="drop")
    assert (found.n, found.row_counts.dropped) == (2, {Reason("y_prob", "null"): 1, Reason("y_true", "null"): 1})
    with pytest.raises(ValueError, match="`label_delay` is about two labels"):
        truecal.evaluate([2, 0, 1, 1], p[[0, 1, 3, 3]], sampling=Sampling(label_delay=[1, 1, 1, 1]))


NOISY = Sampling(negative_rate=0.2, label_noise=(0.05, 0.0))


def test_predictions_of_0_have_no_odds_with_label_noise():
    """They are left out of the common odds ratio, as those of 1 are: half of the rows at 0.5 give 1 in both."""
    p = np.repeat([0.0, 0.5, 1.0], 200)
    seen = NOISY.to_sampled(0.5)
    y = np.concatenate([np.arange(200) < 90, np.arange(200) < 200 * seen, np.ones(200)]).astype(int)
    one = truecal.evaluate(y, p, ["log_loss"], sampling=NOISY)
    other = truecal.evaluate(1 - y, 1 - p, ["log_loss"], sampling=NOISY.mirrored)
    assert one.verdict.odds_ratio.value == pytest.approx(1, rel=0.05)  # 169 of 200, not 169.4
    assert one.verdict.odds_ratio.value == pytest.approx(1 / other.verdict.odds_ratio.value, rel=1e-9)
    assert one["log_loss"] == pytest.approx(other["log_loss"], rel=1e-9)
    assert one.verdict.bands[0].low == 0


def test_the_intercept_is_found_where_labels_contradict_predictions_of_1():
    """The probability of their labels is small, and one minus it has few digits; that of the other label has all."""
    p = np.repeat([0.0, 0.3, 0.5, 1.0], [127, 70, 110, 82])
    y = np.concatenate([np.arange(n) < k for n, k in ((127, 0), (70, 26), (110, 38), (82, 79))]).astype(int)
    one = truecal.evaluate(y, p, ["intercept"], sampling=NOISY)["intercept"]
    other = truecal.evaluate(1 - y, 1 - p, ["intercept"], sampling=NOISY.mirrored)["intercept"]
    assert one == pytest.approx(-other, rel=1e-9)


@pytest.mark.parametrize("p", [0.3, 0.99])
@pytest.mark.parametrize("k", [0, 2, 5])
def test_fewer_positives_than_label_noise_explains_show_that_a_model_over_predicts(p, k):
    """Even without a true positive 53 rows would have 11 labelled so: P(X <= 5) is 0.02, and no odds ratio is accepted.

    The search may reach far odds ratios, at which labels are certain and tilted probabilities would be 0 / 0.
    """
    assert stats.binom.cdf(5, 53, NOISY.to_sampled(0.0)) < 0.025
    y = (np.arange(53) < k).astype(int)
    one = truecal.evaluate(y, np.full(53, p), ["ece"], sampling=NOISY).verdict
    assert one.odds_ratio == OddsRatio(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    assert one.direction == "over-predicts"
    other = truecal.evaluate(1 - y, np.full(53, 1 - p), ["ece"], sampling=NOISY.mirrored).verdict
    assert (other.odds_ratio.low, other.direction) == (math.inf, "under-predicts")
