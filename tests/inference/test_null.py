import itertools
import math
import os
import re
import signal
import subprocess
import sys
import time
from threading import Barrier

import numpy as np
import pytest
from command import read_terminal
from scipy import stats

import truecal
from truecal import Result, Tally, _threads
from truecal.analysis import _evaluate as module
from truecal.data import Pairs, sort_rows
from truecal.inference import Draws, _bootstrap, differences, find_quantiles, intervals, null_distribution
from truecal.inference._bootstrap import compute_on_draws
from truecal.inference._logistic import recalibrate_scores
from truecal.metrics import METRICS, fit_logistic, log_odds

TCE_ALONE = {"tce": METRICS["tce"]}


def calibrated(rng, rows=2000, a=0.5, b=5.0):
    p = rng.beta(a, b, rows)
    return rng.random(rows) < p, p


def draw(tally, seeds):
    from truecal import _kernel

    out, start = [], _kernel.draw_starts(tally.score, tally.n)
    for seed in seeds:
        pos = np.empty_like(tally.n)
        _kernel.draw_positives(tally.score, tally.n, start, seed, pos)
        out.append(pos)
    return np.array(out)


@pytest.mark.parametrize("n", [1, 2, 5, 40, 1000, 10**6, 10**11])
def test_drawn_labels_are_binomial(n):
    """Means and variances of 4000 draws within five standard errors; small n by the whole distribution."""
    score = np.array([0.0, 1e-9, 0.003, 0.2, 0.5, 0.77, 0.999, 1.0])
    tally = Tally(score, np.full(8, n), np.zeros(8, int))
    drawn = draw(tally, range(4000))
    assert (drawn[:, 0] == 0).all()
    assert (drawn[:, -1] == n).all()
    mean, sd = n * score, np.sqrt(n * score * (1 - score))
    assert (np.abs(drawn.mean(axis=0) - mean) <= 5 * sd / np.sqrt(4000) + 1e-12).all()
    wide = sd > 3  # near-normal: the variance of a sample variance is known
    ratio = drawn[:, wide].var(axis=0) / sd[wide] ** 2
    assert (np.abs(ratio - 1) < 5 * np.sqrt(2 / 4000)).all()
    if n <= 40:
        for i in range(1, 7):
            counts = np.bincount(drawn[:, i], minlength=n + 1)
            expected = 4000 * stats.binom.pmf(np.arange(n + 1), n, score[i])
            held = expected > 5
            if held.sum() > 1:
                rest = [counts[~held].sum()], [expected[~held].sum() + 1e-9]
                observed, wanted = np.append(counts[held], rest[0]), np.append(expected[held], rest[1])
                statistic = np.sum((observed - wanted) ** 2 / np.maximum(wanted, 1))
                assert stats.chi2.sf(statistic, held.sum()) > 1e-5


def test_numbers_repeat_with_a_seed_and_do_not_depend_on_threads(rng):
    tally = Tally.from_arrays(*calibrated(rng, 500))
    first = null_distribution(tally, dict(METRICS), Draws(40, 7, threads=1))
    assert null_distribution(tally, dict(METRICS), Draws(40, 7, threads=3)) == first
    assert null_distribution(tally, dict(METRICS), Draws(40, 8)) != first
    generator = null_distribution(tally, TCE_ALONE, Draws(40, np.random.default_rng(7)))
    assert generator["tce"] == first["tce"]
    legacy = [null_distribution(tally, TCE_ALONE, Draws(40, np.random.RandomState(7))) for _ in range(2)]
    assert legacy[0] == legacy[1]


def test_reference_is_what_fresh_labels_give(rng):
    """The null mean and quantiles against a plain loop that draws rows and calls the functions."""
    y, p = calibrated(rng, 1500)
    result = truecal.evaluate(y, p, null_draws=400, random_state=0)
    loop = {name: [] for name in ("tce", "ece", "mce_q", "rmsce")}
    for _ in range(400):
        fresh = rng.random(1500) < p
        loop["tce"].append(truecal.tce(fresh, p))
        loop["ece"].append(truecal.ece(fresh, p))
        loop["mce_q"].append(truecal.mce(fresh, p, binning="quantile"))
        loop["rmsce"].append(truecal.rmsce(fresh, p))
    for name, values in loop.items():
        found = result.nulls[name]
        error = np.std(values) / np.sqrt(400)
        assert found.mean == pytest.approx(np.mean(values), abs=5 * error * np.sqrt(2))
        assert found.low <= found.median <= found.high
        assert found.excess == pytest.approx(result[name] - found.mean)
        assert found.draws == 400
    drawn = compute_on_draws(Tally.from_arrays(y, p), p[np.argsort(p)], TCE_ALONE, Draws(400, 0))
    as_large = np.sum(drawn["tce"] >= result["tce"])
    assert result.nulls["tce"].p_value == (1 + as_large) / 401


@pytest.mark.slow
def test_p_value_is_uniform_for_a_perfect_model(rng):
    """200 data sets of 1000 rows: the share below 0.05 and below 0.3 within four standard errors of that."""
    values = []
    for _ in range(200):
        tally = Tally.from_arrays(*calibrated(rng, 1000))
        values.append(null_distribution(tally, TCE_ALONE, Draws(99, rng))["tce"].p_value)
    for level in (0.05, 0.3):
        assert np.mean(np.array(values) <= level) == pytest.approx(level, abs=4 * np.sqrt(level * (1 - level) / 200))


def test_p_value_is_small_for_a_wrong_model(rng):
    y, p = calibrated(rng, 20_000)
    found = truecal.evaluate(y, 0.7 * p, metrics=["tce", "ece"], null_draws=99, random_state=0).nulls
    assert found["tce"].p_value == found["ece"].p_value == 0.01
    assert found["tce"].excess > 5


@pytest.mark.slow
def test_default_sizes_keep_a_perfect_model_low_at_any_size(rng):
    """Where the paper's sizes reach 70 % at a million rows, the default stays between 1 and 16 %."""
    for a, b in ((0.5, 5), (2, 2), (0.3, 300)):
        p = np.sort(rng.beta(a, b, 10**6))
        tally = Tally.from_arrays(np.zeros(10**6), p)
        found = null_distribution(tally, TCE_ALONE, Draws(10, 0, threads=2))
        assert 1 < found["tce"].mean < 16
    paper = {"tce": truecal.Metric(truecal.BoundedIsotonic(sizes="paper"), truecal.metrics.PointwiseTest())}
    p = np.sort(rng.beta(0.5, 5, 10**6))
    tally = Tally.from_arrays(np.zeros(10**6), p)
    assert null_distribution(tally, paper, Draws(5, 0))["tce"].mean > 60


@pytest.mark.slow
def test_interval_covers_what_new_labels_average(rng):
    """100 data sets of 2000 rows, overconfident: the mean over labels from the truth lies inside in 92 to 98 % or nearly.

    The bounds are four standard errors of 100 sets around 0.95; the full measurement is in docs/inference.md.
    """
    inside = []
    for i in range(100):
        truth = np.sort(rng.beta(2, 2, 2000))
        p = sigmoid(1.5 * log_odds(truth))
        tally = Tally.from_arrays(rng.random(2000) < truth, p)
        target = compute_on_draws(tally, truth, TCE_ALONE, Draws(100, i))["tce"].mean()
        span = intervals(tally, TCE_ALONE, Draws(150, i))["tce"]
        inside.append(span.low <= target <= span.high)
    assert 0.95 - 4 * 0.0218 <= np.mean(inside) <= 1


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def half_at_zero(rng, rows):
    """Half of the scores are exactly 0, where 1 % are positive."""
    zero, q = rng.random(rows) < 0.5, rng.beta(0.5, 5, rows)
    truth, p = np.where(zero, 0.01, q), np.where(zero, 0.0, q)
    return Tally.from_arrays(rng.random(rows) < truth, p)


@pytest.mark.slow
def test_interval_covers_where_two_parameters_describe_the_model_badly(rng):
    """Half of the scores at 0, truly 1 %, over 100 data sets of 10,000 rows: a standard error is 2.2 points at 95 %.

    Redrawn from two parameters alone, 50 to 60 % cover. The expected values are means over 400 data sets more.
    """
    chosen = {name: METRICS[name] for name in ("tce", "tce_q")}
    fresh = [half_at_zero(rng, 10_000) for _ in range(400)]
    expected = {name: np.mean([metric(tally) for tally in fresh]) for name, metric in chosen.items()}
    spans = [intervals(half_at_zero(rng, 10_000), chosen, Draws(60, i)) for i in range(100)]
    for name in chosen:
        inside = [span[name].low <= expected[name] <= span[name].high for span in spans]
        assert np.mean(inside) >= 0.95 - 4 * 0.0218


def test_certain_scores_are_drawn_at_their_rate_and_leave_the_others_alone(rng):
    tally = half_at_zero(rng, 4000)
    fitted = recalibrate_scores(tally)
    assert fitted[0] == tally.pos[0] / tally.n[0] > 0
    assert np.abs(log_odds(fitted[1:]) - log_odds(tally.score[1:])).max() < 1
    assert recalibrate_scores(Tally(np.array([0.0, 1.0]), np.array([8, 4]), np.array([2, 4]))).tolist() == [0.25, 1.0]


@pytest.mark.parametrize("score", [1e-300, 1e-9, 0.4, 1 - 1e-9])
@pytest.mark.parametrize("pos", [0, 1, 300, 410, 999, 1000])
def test_positives_are_expected_as_far_as_chance_does_not_explain_them(score, pos):
    """One atom of 1000 rows: E moves towards k by 1 - 1 / t^2, t^2 = (k - E)^2 / v, or stays; to 1e-6 in log-odds."""
    tally = Tally(np.array([score]), np.array([1000]), np.array([pos]))
    p = np.clip(score, 1e-12, 1 - 1e-12)  # log-odds are taken of that
    gap, v = pos - 1000 * p, 1000 * p * (1 - p)
    expected = p + max(0.0, 1 - v / gap**2) * gap / 1000
    assert recalibrate_scores(tally) == pytest.approx(expected, abs=1e-6)


def test_recalibration_follows_a_wiggle(rng):
    """The mean squared error of the log-odds against the truth, by information: less than a quarter of the scores' own."""
    p = np.sort(rng.beta(0.5, 5, 100_000))
    truth = sigmoid(log_odds(p) + 0.5 * np.sin(3 * log_odds(p)))
    tally = Tally.from_arrays(rng.random(100_000) < truth, p)

    def error(fitted):
        return np.average((log_odds(fitted) - log_odds(truth)) ** 2, weights=truth * (1 - truth))

    assert error(recalibrate_scores(tally)) < error(p) / 4


def test_intervals_repeat_with_a_seed(rng):
    tally = half_at_zero(rng, 1000)
    once, again = (intervals(tally, dict(METRICS), Draws(20, 3, threads=threads)) for threads in (1, 2))
    # by text, as NaN does not equal itself: a positive drawn at a score of 0 makes log loss infinite
    assert repr(once) == repr(again)
    assert intervals(tally, dict(METRICS), Draws(20, 3)) != intervals(tally, dict(METRICS), Draws(20, 4))


def test_intervals_keep_to_their_range_and_widen_with_confidence(rng):
    tally = Tally.from_arrays(*calibrated(rng, 300))
    spans = [intervals(tally, dict(METRICS), Draws(60, 0), confidence=c) for c in (0.5, 0.95)]
    for name, metric in METRICS.items():
        narrow, wide = spans[0][name], spans[1][name]
        assert wide.low <= narrow.low <= metric(tally) <= narrow.high <= wide.high
        if metric.bad == "high":
            assert wide.low >= 0
        if metric.binning is not None:
            assert wide.high <= (100 if "tce" in name else 1)  # the tops of their units


@pytest.mark.slow
def test_difference_finds_the_better_model_and_admits_ties(rng):
    y, p = calibrated(rng, 5000, 2, 2)
    options = {"metrics": ["tce", "tce_q"], "resamples": 150, "random_state": 0}
    worse = truecal.compare(y, p, p**1.5, **options)
    assert worse["tce"].high < 0
    assert worse["tce"].difference == pytest.approx(truecal.tce(y, p) - truecal.tce(y, p**1.5))
    same = truecal.compare(y, p, p, **options)
    assert same["tce"].low == same["tce"].difference == same["tce"].high == 0
    other = np.clip(p + rng.normal(0, 1e-4, 5000), 0, 1)
    close = truecal.compare(y, p, other, **options)
    assert close["tce_q"].low <= 0 <= close["tce_q"].high
    swapped = truecal.compare(y, p**1.5, p, **options)
    assert swapped["tce"].difference == -worse["tce"].difference
    assert swapped["tce"].first == worse["tce"].second


def test_percentages_differ_by_at_most_100(rng):
    y, p = calibrated(rng, 60, 2, 2)
    found = truecal.compare(y, p, np.full(60, 0.01), ["ltce", "tce"], resamples=100, random_state=0)
    assert found.low.tolist() == [-100, -100]  # all of the second model is rejected, and next to nothing of the first
    assert (found.difference <= found.high).all()
    assert (found.high < -50).all()


def test_difference_reads_what_other_functions_read():
    y, p, q = ["no", "yes"] * 50, np.linspace(0.1, 0.9, 100), np.linspace(0.2, 0.7, 100).astype(np.float32)
    found = truecal.compare(y, p, q, resamples=5, pos_label="yes")["tce"]
    assert found.second == truecal.tce(y, q, pos_label="yes")
    with pytest.raises(ValueError, match=r"`y_prob` must lie in \[0, 1\]"):
        truecal.compare([0, 1], [0.1, 0.2], [0.1, 2.0])


def test_differences_whose_intervals_do_not_cover_are_not_offered():
    with pytest.raises(ValueError, match="'ece' is neither: the interval of its difference would"):
        truecal.compare([0, 1], [0.1, 0.2], [0.1, 0.3], metrics=["tce", "ece"])


def test_logistic_fit_is_statsmodels_like():
    """Against SciPy's general minimiser of the same likelihood."""
    from scipy.optimize import minimize

    rng = np.random.default_rng(3)
    x = rng.normal(size=400)
    n = rng.integers(1, 5, 400)
    pos = rng.binomial(n, 1 / (1 + np.exp(-(0.3 + 0.7 * x))))
    columns = np.stack([np.ones(400), x], axis=1)

    def loss(beta):
        eta = columns @ beta
        return np.sum(n * np.logaddexp(0, eta) - pos * eta)

    expected = minimize(loss, [0, 1], tol=1e-10).x
    np.testing.assert_allclose(fit_logistic(columns, n, pos, np.array([0.0, 1.0])), expected, atol=1e-4)


@pytest.mark.parametrize("y", [0, 1])
def test_one_class_and_certain_scores_have_inferences(y, rng):
    p = np.concatenate([rng.random(200), np.full(50, float(y))])
    result = truecal.evaluate(np.full(250, y), p, null_draws=30, resamples=30, random_state=0)
    for name in result.tables:
        found, span = result.nulls[name], result.intervals[name]
        assert np.isfinite([found.mean, found.p_value, span.low, span.high]).all()
    for name in ("slope", "intercept"):  # they need both classes
        found, span = result.nulls[name], result.intervals[name]
        assert np.isnan([result[name], found.p_value, span.low, span.high]).all()
    assert result.nulls["tce"].p_value == 1 / 31
    tally = Tally.from_arrays(np.full(250, y), p)
    assert ((recalibrate_scores(tally) >= 0) & (recalibrate_scores(tally) <= 1)).all()


def test_result_carries_its_inferences(rng):
    result = truecal.evaluate(
        *calibrated(rng, 800), metrics=["tce", "ece"], null_draws=50, resamples=50, random_state=1
    )
    assert Result.from_json(result.to_json()) == result
    text, html = repr(result), result._repr_html_()
    found, span = result.nulls["tce"], result.intervals["tce"]
    assert f"{found.mean:.2f}% if calibrated" in text
    assert f"p = {found.p_value:.2g}" in text
    assert f"95% CI {span.low:.2f}–{span.high:.2f}%" in text
    assert "if calibrated" in html


def test_direction_stands_beside_the_total(rng):
    y, p = calibrated(rng, 5000)
    result = truecal.evaluate(y, 0.6 * p, metrics=["tce", "tce_q"])
    for name in ("tce", "tce_q"):
        low, high = result.direction(name)
        assert 100 * (low + high) == pytest.approx(result[name])
        assert low > 10 * high
        assert f"{100 * low:.2f}% too low, {100 * high:.2f}% too high" in repr(result)
    assert result.direction() == result.direction("tce")


def test_regions_are_judged_alone(rng):
    y, p = calibrated(rng, 5000)
    shifted = np.where(p > 0.3, np.minimum(1, p * 1.5), p)
    whole = truecal.evaluate(y, shifted)
    alert = truecal.evaluate(y, shifted, threshold=0.45)
    rows = shifted >= 0.45
    assert alert.n == rows.sum()
    assert alert["ece"] == truecal.ece(y[rows], shifted[rows])
    assert alert["tce"] > whole["tce"]
    assert "scores of at least 0.45" in repr(alert)
    top = truecal.evaluate(y, shifted, top=0.01)
    assert top.n == 50
    assert "the top 1% of 5,000 predictions" in repr(top)
    assert "the top 50 of 5,000" in repr(truecal.evaluate(y, shifted, top=50))
    assert Result.from_json(top.to_json()) == top
    with pytest.raises(ValueError, match="One of `threshold` and `top`"):
        truecal.evaluate(y, shifted, threshold=0.1, top=5)


def test_adjusted_p_values(rng):
    y, p = calibrated(rng, 3000)
    raw = truecal.evaluate(y, 0.8 * p).bins
    np.testing.assert_array_equal(raw.p_adjusted, raw.p_value)
    bh = truecal.evaluate(y, 0.8 * p, adjust="bh")
    np.testing.assert_allclose(bh.bins.p_adjusted, stats.false_discovery_control(raw.p_value))
    holm = truecal.evaluate(y, 0.8 * p, adjust="holm").bins.p_adjusted
    order = np.argsort(raw.p_value)
    running = 0.0
    for rank, i in enumerate(order):  # Holm 1979, step by step
        running = max(running, min(1.0, raw.p_value[i] * (len(order) - rank)))
        assert holm[i] == pytest.approx(running)
    assert "adjusted for multiple testing (bh)" in repr(bh)
    assert bh["tce"] == truecal.tce(y, 0.8 * p)
    with pytest.raises(ValueError, match='`adjust` must be "holm", "bh" or None'):
        truecal.evaluate(y, p, adjust="bonferroni")


def test_bad_options_are_refused():
    tally = Tally.from_arrays([0, 1], [0.2, 0.7])
    for name in ("draws", "threads"):
        for bad in (0, -1, 2.5, True):
            with pytest.raises(ValueError, match=f"`{name}` must be a whole number, 1 or more"):
                Draws(**{name: bad})
    with pytest.raises(TypeError, match="`random_state` must be None, an int, a numpy Generator or a RandomState"):
        Draws(random_state="seed")
    for bad in (0, 1, 95):
        with pytest.raises(ValueError, match="`confidence` must lie between 0 and 1"):
            intervals(tally, TCE_ALONE, Draws(), confidence=bad)
        with pytest.raises(ValueError, match="`confidence` must lie between 0 and 1"):
            differences(Pairs((tally.score, tally.score), tally.n, tally.pos), TCE_ALONE, Draws(), confidence=bad)


def test_threads_that_never_run_are_not_waited_for(monkeypatch):
    """Where memory is short, a thread may die before its first line."""
    tally = Tally.from_arrays([0, 1, 1], [0.2, 0.6, 0.7])
    expected = null_distribution(tally, TCE_ALONE, Draws(20, 7))
    monkeypatch.setattr(_threads, "start_new_thread", lambda *_: None)
    assert null_distribution(tally, TCE_ALONE, Draws(20, 7, threads=4)) == expected


def test_threads_that_cannot_start_are_an_error_and_one_needs_none(monkeypatch):
    def fail(*_):
        raise RuntimeError("can't start new thread")

    tally = Tally.from_arrays([0, 1, 1], [0.2, 0.6, 0.7])
    monkeypatch.setattr(_threads, "start_new_thread", fail)
    with pytest.raises(ValueError, match="`threads` must be as many as the system lets start; it is 2, which are too"):
        null_distribution(tally, TCE_ALONE, Draws(20, 7, threads=2))
    null_distribution(tally, TCE_ALONE, Draws(20, 7))


def test_the_error_of_a_thread_is_raised():
    """Each thread takes a chunk, and waits for the other to have one; the error of one stops both."""
    both = Barrier(2)

    def fail(seeds):
        both.wait(60)
        raise FloatingPointError("of a metric")

    with pytest.raises(FloatingPointError, match="of a metric"):
        _bootstrap.map_seeds(fail, Draws(2, 0, threads=2))


LONG = """
import numpy as np, truecal
p = np.random.default_rng(0).random(200_000)
tally = truecal.Tally.from_arrays(p > 0.5, p)
print("ready", flush=True)
draws = truecal.inference.Draws(100_000, threads=2)
truecal.inference.null_distribution(tally, dict(truecal.metrics.METRICS), draws)
"""


@pytest.mark.slow
def test_an_interrupt_stops_it_at_once_and_pipes_stay_clean():
    process = subprocess.Popen([sys.executable, "-c", LONG], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(2.5)
    process.send_signal(signal.SIGINT)
    begin = time.monotonic()
    _, error = process.communicate(timeout=30)
    assert time.monotonic() - begin < 10
    assert process.returncode != 0
    assert "KeyboardInterrupt" in error
    assert "draws" not in error.split("Traceback")[0]  # no progress bar where standard error is no terminal


@pytest.mark.slow
def test_a_terminal_sees_progress(monkeypatch):
    """Each look at the clock is a second later, so that the work seems to take long."""
    import pty

    monkeypatch.setattr("truecal._progress.time.monotonic", itertools.count().__next__)
    parent, child = pty.openpty()
    with open(child, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        null_distribution(Tally.from_arrays([0, 1, 1], [0.2, 0.6, 0.7]), TCE_ALONE, Draws(600, 0, threads=2))
    seen = b"".join(iter(lambda: read_terminal(parent), b""))
    os.close(parent)
    assert b"of 600 draws" in seen
    assert seen.endswith(b"\r")  # the line is wiped in the end


@pytest.mark.parametrize("metric", ["tce", "tce_q", "ece", "mce_q"])
def test_replicates_taken_together_are_the_ones_taken_alone(monkeypatch, rng, metric):
    """Many partitions of the same scores are decided at once; ties, empty bins and several threads among them."""
    p = np.round(rng.beta(0.5, 5, 3000), 3)
    tally = Tally.from_arrays(rng.random(3000) < p, p)
    chosen = {metric: truecal.metrics.METRICS[metric]}
    together = compute_on_draws(tally, tally.score, chosen, Draws(70, 1, threads=2))
    monkeypatch.setattr(_bootstrap, "ROWS_AT_ONCE", 1)
    alone = compute_on_draws(tally, tally.score, chosen, Draws(70, 1))
    np.testing.assert_array_equal(together[metric], alone[metric])


def test_the_order_of_rows_does_not_change_a_comparison(rng):
    y, p = calibrated(rng, 1500)
    q = np.round(p, 2)
    order = rng.permutation(1500)
    once = truecal.compare(y, p, q, resamples=50, random_state=3)
    assert truecal.compare(y[order], p[order], q[order], resamples=50, random_state=3) == once


@pytest.mark.slow
@pytest.mark.parametrize("rows", [False, True])
def test_labels_of_very_many_scores_are_redrawn_for_cells(rng, monkeypatch, rows):
    """The value stays exact, and the two means differ by less than four standard errors."""
    p = rng.beta(2, 2, 20_000)
    data = sort_rows(rng.random(20_000) < p, p)
    data = data if rows else data.tally
    options = {"metrics": ["tce", "ece"], "null_draws": 400, "resamples": 100, "random_state": 0}
    exact = truecal.evaluate(data, **options)
    monkeypatch.setattr(module, "MOST_SCORES", 19_999)
    found = truecal.evaluate(data, **options)
    assert found.values == exact.values
    assert not exact.notes
    assert re.fullmatch(
        r"labels were simulated for [\d,]+ cells of 16 significant bits instead of 20,000 scores: .*",
        str(found.notes[0]),
    )
    for name in ("tce", "ece"):
        one, other = exact.nulls[name], found.nulls[name]
        assert other.excess == pytest.approx(found[name] - other.mean)
        error = (one.high - one.low) / 3.3 / 400**0.5  # 5 to 95 % are 3.3 standard deviations
        assert abs(one.mean - other.mean) < 4 * 2**0.5 * error
        assert found.intervals[name].low <= found[name] <= found.intervals[name].high


def test_log_loss_that_is_better_than_predicted_counts_against_the_predictions(rng):
    """Predictions that say twice the prevalence expect a larger log loss than they have."""
    p = rng.beta(0.5, 50, 20_000)
    tally = Tally.from_arrays(rng.random(20_000) < p, np.minimum(2 * p, 1))
    found = null_distribution(tally, {name: METRICS[name] for name in ("log_loss", "brier")}, Draws(99, 0))
    for reference in found.values():
        assert reference.excess < 0
        assert reference.p_value == 0.01


def test_quantiles_are_numpys_to_the_last_bit():
    rng = np.random.default_rng(0)
    for values in (rng.normal(size=rows) for rows in (1, 2, (3, 2), 199, (400, 5))):
        found = find_quantiles(values, (0.05, 0.5, 0.975))
        np.testing.assert_array_equal(found, np.quantile(values, (0.05, 0.5, 0.975), axis=0))


def test_labels_drawn_for_cells_have_the_law_of_those_drawn_for_scores(rng, monkeypatch):
    """1,000 rows in some 450 cells: means and spreads of 600 draws of each kind within 4.5 standard errors, intervals and
    references alike; 5 % is the mean of a right model."""
    p = np.round(rng.beta(0.5, 5, 1000), 6)
    tally = Tally.from_arrays(rng.random(1000) < p, p)
    metrics = {name: METRICS[name] for name in ("ltce", "ltce_information")}
    other, found = 0.8 * tally.score, {}
    for many in (0, 10**6):
        monkeypatch.setattr(_bootstrap, "DRAWN_SCORES", many)
        found[many] = [
            compute_on_draws(tally, chances, metrics, Draws(600, random_state=1)) for chances in (tally.score, other)
        ]
    for cells, scores in zip(*found.values(), strict=True):
        for name in metrics:
            assert not np.array_equal(cells[name], scores[name])
            spread = scores[name].std()
            assert cells[name].mean() == pytest.approx(scores[name].mean(), abs=4.5 * spread * math.sqrt(2 / 600))
            assert cells[name].std() == pytest.approx(spread, rel=0.25)
    assert found[0][0]["ltce"].mean() == pytest.approx(5, abs=4.5 * found[0][0]["ltce"].std() / math.sqrt(600))
