"""Each score against an independent implementation, and what makes it a metric like the others."""

import math

import numpy as np
import pytest
from scipy import stats

import truecal
from truecal import Tally
from truecal.metrics import METRICS, MeanScore, NetBenefit, Score, compute, find_metric, format_name, log_odds

SCORES = {name: metric for name, metric in METRICS.items() if isinstance(metric, Score)}


@pytest.fixture(params=["distinct", "tied"])
def data(request, rng):
    p = rng.beta(1, 4, 800)
    if request.param == "tied":
        p = np.round(p, 2)
    return (rng.random(800) < np.clip(1.2 * p, 0, 1)).astype(int), p


def value(name, data):
    return METRICS[name](Tally.from_arrays(*data))


def test_brier_and_log_loss_are_scikit_learns(need, data):
    metrics = need("sklearn.metrics")
    y, p = data
    assert value("brier", data) == pytest.approx(metrics.brier_score_loss(y, p))
    q = np.clip(p, 1e-15, 1 - 1e-15)
    if (y[p == 0] == 0).all() and (y[p == 1] == 1).all():
        assert value("log_loss", data) == pytest.approx(metrics.log_loss(y, q), rel=1e-6)


def test_spiegelhalters_z_is_the_standardised_brier_score(data):
    """z = (Brier - its expectation) / its standard deviation under the predictions."""
    y, p = data
    variance = np.sum((1 - 2 * p) ** 2 * p * (1 - p)) / len(p) ** 2
    z = (np.mean((y - p) ** 2) - np.mean(p * (1 - p))) / np.sqrt(variance)
    assert value("spiegelhalter", data) == pytest.approx(z)


@pytest.mark.parametrize("scores", ["wide", "rare", "both ends"])
def test_cox_is_a_logistic_regression(need, rng, scores):
    """Slope and intercept against scikit-learn's and against the score equation, though scores are seen in cells."""
    linear_model = need("sklearn.linear_model")
    p = {
        "wide": rng.uniform(0.02, 0.9, 3000),
        "rare": rng.beta(0.5, 20, 20_000) + 1e-5,
        "both ends": rng.beta(0.3, 0.3, 5000).clip(1e-5, 1 - 1e-5),
    }[scores]
    x = np.log(p / (1 - p))
    y = (rng.random(len(p)) < 1 / (1 + np.exp(-(0.4 + 0.6 * x)))).astype(int)
    model = linear_model.LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(x[:, None], y)
    assert value("slope", (y, p)) == pytest.approx(model.coef_[0, 0], abs=1e-4)
    q = 1 / (1 + np.exp(-(value("intercept", (y, p)) + x)))
    assert np.sum(y - q) == pytest.approx(0, abs=1e-4 * y.sum())


def test_cumulative_differences_and_two_bins_by_hand(data):
    y, p = data
    sums, widths, running = [0.0], [], 0.0
    for score in np.unique(p):
        widths.append(score)
        running += float(np.sum(y[p == score] - p[p == score])) / len(y)
        sums.append(running)
    assert value("ecce_mad", data) == pytest.approx(max(abs(s) for s in sums))
    assert value("ecce", data) == pytest.approx(max(sums) - min(sums))

    def two_bins(threshold):
        low = p < threshold
        return np.mean((y - p) * low) ** 2 + np.mean((y - p) * ~low) ** 2

    edges = np.concatenate([[0.0], np.unique(p), [1.0]])
    middles = (edges[1:] + edges[:-1]) / 2
    assert value("atb", data) == pytest.approx(sum(np.diff(edges) * [two_bins(t) for t in middles]))


@pytest.mark.slow
def test_atb_is_lowest_on_average_for_the_truth(rng):
    """Its mean over labels is its value at the expected labels plus sum p (1 - p) / N^2, whatever is predicted."""
    truth = rng.beta(2, 2, 60)
    noise = np.sum(truth * (1 - truth)) / 60**2
    for said, extra in ((truth, 0.0), (np.clip(truth + 0.1, 0, 1), None)):
        drawn = [value("atb", (rng.random(60) < truth, said)) for _ in range(4000)]
        error = np.std(drawn) / math.sqrt(4000)
        gap = np.mean(drawn) - noise
        assert abs(gap) < 4 * error if extra == 0.0 else gap > 4 * error


def smooth_directly(y, p, width, points=4000):
    """The definition: a Gaussian kernel and its images in the mirrors at 0 and 1, integrated over a grid."""
    t = (np.arange(points) + 0.5) / points
    images = np.concatenate([p + 2 * k for k in range(-3, 4)] + [-p + 2 * k for k in range(-3, 4)])
    kernel = stats.norm.pdf((t[:, None] - images[None, :]) / width) / width
    return np.mean(np.abs(kernel @ np.tile(y - p, 14) / len(y)))


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "rows", "shift"), [((1, 4), 300, 1.2), ((0.3, 0.3), 200, 1.0), ((0.5, 30), 400, 2)])
def test_smooth_ece_is_its_own_bandwidth(rng, shape, rows, shift):
    p = rng.beta(*shape, rows)
    y = (rng.random(rows) < np.clip(shift * p, 0, 1)).astype(float)
    found = value("smece", (y, p))
    assert smooth_directly(y, p, found) == pytest.approx(found, rel=2e-3)


def test_smooth_ece_of_very_small_errors_sees_them():
    """Two scores, each off by 1e-6 of the rows in opposite ways: apart by far more than the bandwidth, so both count."""
    n = np.array([1_000_000, 1_000_000])
    tally = Tally(np.array([0.25, 0.75]), n, np.array([250_004, 749_996]))
    assert METRICS["smece"](tally) == pytest.approx(4e-6, rel=0.02)
    assert METRICS["smece"](Tally(np.array([0.5]), np.array([2]), np.array([1]))) == pytest.approx(0, abs=1e-12)


def test_net_benefit_by_hand(data):
    y, p = data
    act = p >= 0.2
    expected = (np.sum(act & (y == 1)) - np.sum(act & (y == 0)) * 0.2 / 0.8) / len(y)
    metric = find_metric("net_benefit@0.2")
    assert metric == NetBenefit(0.2)
    assert metric(Tally.from_arrays(y, p)) == pytest.approx(expected)
    assert (metric.name, metric.bad, format_name(metric.name)) == ("net_benefit@0.2", "low", "net benefit at 0.2")
    for name in ("net_benefit@1", "net_benefit@", "net_benefit@x", "net_benefit"):
        assert find_metric(name) is None
    with pytest.raises(ValueError, match="`threshold` of a net benefit must lie between 0 and 1; it is 1"):
        NetBenefit(1)


@pytest.mark.parametrize("name", SCORES)
def test_scores_speak_as_metrics_do(name, data):
    metric = SCORES[name]
    assert (metric.name, metric.binning, metric.bins) == (name, None, "")
    assert format_name(name) == metric.title
    assert metric.meaning.endswith(f"; {metric.best:g} is best")
    result = truecal.evaluate(*data, [name], null_draws=19, resamples=19, random_state=0)
    assert result[name] == metric(Tally.from_arrays(*data)) == truecal.metrics.compute(metric, *data)
    assert result.tables == {}
    assert metric.words in repr(result)
    assert metric.words in result._repr_html_()
    assert result.intervals[name].low <= result[name] <= result.intervals[name].high
    with pytest.raises(ValueError, match=rf"Bins are of metrics such as 'ltce' or 'ece'; these have none: {name}"):
        _ = result.bins


def test_a_two_sided_score_has_a_two_sided_p_value(rng):
    """Over- and under-confidence by the same factor; the Brier score is above its expectation, then below."""
    x = log_odds(rng.beta(2, 2, 4000))
    truth = 1 / (1 + np.exp(-x))
    y = rng.random(4000) < truth
    for factor, side in ((1.4, 1), (0.7, -1)):
        p = 1 / (1 + np.exp(-factor * x))
        found = truecal.evaluate(y, p, ["slope", "spiegelhalter", "brier"], null_draws=199, random_state=0).nulls
        assert [reference.p_value for reference in found.values()] == [1 / 200] * 3
        assert np.sign(found["brier"].excess) == side


def test_low_is_bad_for_a_net_benefit(rng):
    p = rng.beta(1, 4, 5000)
    y = rng.random(5000) < 0.7 * p
    found = truecal.evaluate(y, p, ["net_benefit@0.3"], null_draws=199, random_state=0).nulls["net_benefit@0.3"]
    assert found.excess < 0
    assert found.p_value == 1 / 200


@pytest.mark.parametrize("y", [0, 1])
def test_one_class_and_certain_scores(y):
    """Cox needs both classes; all else has a value."""
    for scores in ([0.2, 0.3, 0.9], [float(y)] * 3, [1.0 - y] * 3, [0.5]):
        tally = Tally.from_arrays([y] * len(scores), scores)
        for name, metric in SCORES.items():
            assert math.isnan(metric(tally)) == (name in ("slope", "intercept")), (name, scores)
    assert METRICS["log_loss"](Tally.from_arrays([1 - y], [float(y)])) == math.inf
    assert METRICS["slope"](Tally.from_arrays([0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9])) == math.inf  # separated
    assert METRICS["slope"](Tally.from_arrays([1, 1, 0, 0], [0.1, 0.2, 0.7, 0.9])) == -math.inf
    assert math.isnan(METRICS["slope"](Tally.from_arrays([0, 1], [0.3, 0.3])))
    for name in ("slope", "intercept"):  # scores of 0 and 1 have no log-odds
        assert math.isnan(METRICS[name](Tally.from_arrays([0, 1, 1], [0.0, 1.0, float(y)])))


def test_an_empty_tally_is_refused():
    with pytest.raises(ValueError, match="A score needs at least one row; the tally is empty"):
        METRICS["brier"](Tally(np.array([]), np.array([], int), np.array([], int)))


def test_a_score_of_your_own(data):
    class Bias(Score):
        words = "mean label minus mean prediction"
        bad = "both"

        def on(self, rows):
            return float(rows.walk[-1])

    y, p = data
    result = truecal.evaluate(y, p, {"bias": Bias(), "ece": METRICS["ece"]}, null_draws=99, random_state=0)
    assert result["bias"] == pytest.approx(np.mean(y) - np.mean(p))
    assert "  bias " in repr(result)
    assert list(result.tables) == ["ece"]
    assert issubclass(type(METRICS["brier"]), MeanScore)


def test_the_intercept_of_turned_labels(rng):
    """The first step of Newton's method would end where every label looks certain. The root, by bisection."""
    p = rng.beta(0.5, 50, 20_000)
    y = rng.random(20_000) >= p
    x = log_odds(p)
    low, high = 0.0, 40.0
    while high - low > 1e-10:
        middle = (low + high) / 2
        low, high = (middle, high) if np.sum(1 / (1 + np.exp(-x - middle))) < y.sum() else (low, middle)
    assert METRICS["intercept"](Tally.from_arrays(y, p)) == pytest.approx(low, rel=1e-3)  # on cells of 8 bits


@pytest.mark.parametrize("name", ["brier", "log_loss", "spiegelhalter"])
def test_scores_of_rows_are_those_of_their_tally_in_any_order(name, rng):
    """To the last bit, over more rows than a block has, of scores near 0 and 1, tied and narrow ones."""
    ends = [0.0, 1.0, 5e-324]
    p = np.concatenate([rng.beta(0.5, 5, 70_000), rng.random(1000) * 1e-12, ends, rng.choice([0.1, 0.9], 99)])
    y = rng.random(len(p)) < p
    for labels, score in ((y, p), (y, p.astype(np.float32)), (y[::-1], p[::-1])):
        assert compute(METRICS[name], labels, score) == METRICS[name](Tally.from_arrays(labels, score))


def test_small_and_infinite_means_are_those_of_the_tally():
    """Sums in units of 2^-80 would lose the digits of the first, and have no room for the second."""
    small = np.full(7, 1e-20)
    assert compute(METRICS["brier"], np.zeros(7), small) == pytest.approx(1e-40, rel=1e-12)
    assert compute(METRICS["spiegelhalter"], np.zeros(7), small) == pytest.approx(-np.sqrt(7e-20), rel=1e-12)
    assert compute(METRICS["log_loss"], [1, 0], [0.0, 0.5]) == np.inf
    assert compute(METRICS["brier"], [0, 1], [0.0, 1.0]) == 0
