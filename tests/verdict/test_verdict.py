"""The verdict: its component tests against independent formulas, its words, and the models that it must find."""

import math
from dataclasses import replace

import numpy as np
import pytest
from local_oracle import poisson_binomial
from scipy.optimize import minimize
from scipy.stats import chi2, norm, pearson3

from truecal import Tally, _kernel
from truecal.data import Cells, Sampling
from truecal.metrics import METRICS, Absolute, Relative
from truecal.verdict import combine, combine_cauchy, judge, judge_all
from truecal.words import format_p_value

EXACT = {"total", "scan_information", "scan_rows"}
ASYMPTOTIC = {"cox", "cumulative", "spread"}


def shifted(p, factor):
    return factor * p / (1 - p + factor * p)


def verdict_of(y, p, **options):
    return judge(Cells.from_arrays(y, p), **options)


@pytest.fixture
def sharp(rng):
    """True probabilities of a strong classifier, 2 to 3 % positive."""
    return 1 / (1 + np.exp(-rng.normal(-6.3, 2.6, 20_000)))


def test_reversed_scores_are_off(rng, sharp):
    """20,000 rows of a strong classifier, scores above 0.05 reversed: the paper's TCE says nothing."""
    p, high = sharp.copy(), sharp > 0.05
    p[high] = np.sort(sharp[high])[::-1][np.argsort(np.argsort(sharp[high]))]
    found = verdict_of(rng.random(20_000) < sharp, p)
    assert found.status == "miscalibrated"
    assert found.p_value < 1e-10
    assert {part.direction for part in found.bands} >= {"under-predicts", "over-predicts"}
    assert "under-predicts " in found.summary


def test_halved_scores_are_off(rng, sharp):
    found = verdict_of(rng.random(20_000) < sharp, np.where(sharp > 0.02, sharp / 2, sharp))
    assert found.status == "miscalibrated"
    low, high = found.interval
    assert 1.3 < low < found.ratio < high
    assert found.summary.startswith("Miscalibrated: under-predicts, observed ")
    assert found.bands[-1].direction == "under-predicts"
    assert found.bands[-1].odds_ratio.low > 1


def test_a_right_model_of_many_rows_is_consistent(rng, sharp):
    found = verdict_of(rng.random(20_000) < sharp, sharp, significance=1e-6)
    assert found.status == "consistent"
    found = verdict_of(rng.random(20_000) < sharp, sharp)
    assert found.status in ("miscalibrated", "consistent")
    assert found.detectable < 1.5 < found.detectable_above


@pytest.mark.parametrize(
    ("y", "p"),
    [
        (np.zeros(300), np.full(300, 0.001)),
        ([1], [0.5]),
        (np.repeat([0, 1], [990, 10]), np.repeat([0.0, 1.0], [990, 10])),
        (np.zeros(10), np.zeros(10)),
    ],
    ids=[
        "300 rows without a positive",
        "one row",
        "only certain predictions, all right",
        "nothing predicted, nothing seen",
    ],
)
def test_no_evidence_is_no_pass(y, p):
    found = verdict_of(y, p)
    assert found.status == "inconclusive"
    assert found.p_value > 0.05
    assert math.isinf(found.detectable)
    assert found.summary.startswith("Inconclusive: ")


@pytest.mark.parametrize(("y", "p"), [([1, 0, 0], [0.0, 0.3, 0.3]), ([0, 0, 0], [1.0, 0.3, 0.3])])
def test_the_impossible_is_rejected_outright(y, p):
    found = verdict_of(y, p)
    assert (found.status, found.p_value, found.contradicted) == ("miscalibrated", 0.0, 1)
    assert "1 label contradicts a prediction of exactly 0 or 1" in " ".join(found.sentences())


def test_positives_beyond_all_odds_move_the_ratio_with_its_interval():
    rng = np.random.default_rng(0)
    p = rng.beta(1, 9, size=2000)
    y = rng.random(2000) < p
    without = judge(Cells.from_arrays(y, p))
    found = judge(Cells.from_arrays(np.append(y, np.ones(30)), np.append(p, np.zeros(30))))
    assert found.contradicted == 30
    assert found.ratio == pytest.approx(without.ratio + 30 / without.expected)  # 30 of none that were predicted
    assert np.subtract(found.interval, without.interval) == pytest.approx(30 / without.expected)
    assert found.interval[0] < found.ratio < found.interval[1]
    less = judge(Cells.from_arrays(np.append(y, np.zeros(30)), np.append(p, np.ones(30))))
    assert less.interval[0] < less.ratio < less.interval[1]


def test_nothing_is_drawn_at_random(rng):
    p = np.round(rng.beta(0.5, 5, 3000), 3)
    y = rng.random(3000) < p
    order = rng.permutation(3000)
    found = verdict_of(y, p)
    assert verdict_of(y[order], p[order]) == found
    assert judge(Cells.of(Tally.from_arrays(y, p))) == found


def test_flipped_classes_are_judged_alike(rng):
    """(1 - p, 1 - y) is the same model. Parts end where their share is reached, from below, so scans differ a little."""
    p = rng.beta(0.5, 5, 2000)
    y = rng.random(2000) < p
    one, other = judge(Cells.from_arrays(y, p)).tests, judge(Cells.from_arrays(~y, 1 - p)).tests
    for name in ("total", "cox", "cumulative"):
        assert other[name] == pytest.approx(one[name], rel=1e-6)


def test_limits_are_left_out_where_evidence_is_small():
    p = np.full(100, 0.04)  # V = 3.84
    assert set(judge(Cells.from_arrays(np.arange(100) < 4, p)).tests) == EXACT
    p = np.full(200, 0.04)
    assert set(judge(Cells.from_arrays(np.arange(200) < 8, p)).tests) == EXACT | ASYMPTOTIC


def test_flipped_labels_are_weighted_by_what_they_tell_of_the_odds(rng):
    """The sum of w (y - q), q the seen probability and w = (dq / d log-odds) / (q (1 - q)), against Pearson's curve of
    the third kind with its skewness; each case has 400 predictions of its own, so that cells are rows."""
    for label_noise, share, tail in (((0.02, 0.1), 0.3, 1), ((0.1, 0.2), 0.9, -1), ((0.3, 0.3), 0.5, 1)):
        p = np.clip(share + np.linspace(-0.2, 0.2, 400), 0.001, 0.999)
        q = p * (1 - label_noise[1]) + (1 - p) * label_noise[0]
        w = (1 - sum(label_noise)) * p * (1 - p) / (q * (1 - q))
        y = rng.random(400) < np.clip(q + 0.05 * tail, 0, 1)
        variance = np.sum(w**2 * q * (1 - q))
        z = np.sum(w * (y - q)) / math.sqrt(variance)
        skewness = np.sum(w**3 * q * (1 - q) * (1 - 2 * q)) / variance**1.5
        skewness = skewness if abs(skewness) >= 0.02 else 0.0
        expected = 2 * min(pearson3.sf(z, skewness), pearson3.cdf(z, skewness))
        found = judge(Cells.from_arrays(y, p, sampling=Sampling(label_noise=label_noise))).tests
        assert found["odds_ratio"] == pytest.approx(expected, rel=2e-3)  # rows of a cell count as equal


def test_flipped_labels_that_tell_too_little_are_counted_only():
    """Of 58 labelled positive 49 are flips: the information is 500 (0.8 p (1 - p))^2 / (0.116 0.884) = 1.2."""
    p = np.full(500, 0.02)
    sampling = Sampling(label_noise=(0.1, 0.1))
    assert set(judge(Cells.from_arrays(np.arange(500) < 58, p, sampling=sampling)).tests) == EXACT | ASYMPTOTIC


def test_total_is_exact(rng):
    p = rng.beta(0.5, 5, 40)
    for k in range(8):
        y = np.zeros(40)
        y[np.argsort(-p)[:k]] = 1
        mass = poisson_binomial(p)
        depth = np.array([min(mass[:j].sum(), mass[j + 1 :].sum()) + mass[j] / 2 for j in range(41)])
        beside = np.isclose(depth, depth[k], rtol=1e-9)
        expected = mass[(depth < depth[k]) & ~beside].sum() + mass[beside].sum() / 2
        assert judge(Cells.from_arrays(y, p)).tests["total"] == pytest.approx(expected, rel=1e-4)


def test_cumulative_test_is_ecce_r(rng):
    """Its tail is that of Brownian motion's range (Feller 1951): 4 sum (-1)^(k-1) k P(|N| > k x)."""
    p = np.round(rng.random(500), 2)  # ties, so that cells are the scores
    y = rng.random(500) < shifted(p, 1.2)
    x = METRICS["ecce"](Tally.from_arrays(y, p)) * 500 / math.sqrt(np.sum(p * (1 - p)))
    k = np.arange(1, 50)
    expected = 4 * np.sum((-1.0) ** (k - 1) * k * 2 * norm.sf(k * x))
    assert judge(Cells.from_arrays(y, p)).tests["cumulative"] == pytest.approx(expected, rel=1e-9)


def test_cox_test_is_the_likelihood_ratio(rng):
    """Of the best intercept and slope, found by SciPy, to 0 and 1; chi-squared with 2 degrees of freedom (Cox 1958)."""
    for factor in (1.2, 3.0):
        p = np.round(rng.random(500) * 0.98 + 0.01, 2)  # ties, so that cells are the scores
        y = rng.random(500) < shifted(p, factor)
        x = np.log(p / (1 - p))

        def loss(beta, x=x, y=y):
            eta = beta[0] + beta[1] * x
            return np.sum(np.logaddexp(0, eta) - y * eta)

        expected = chi2.sf(2 * (loss([0, 1]) - minimize(loss, [0, 1], tol=1e-12).fun), 2)
        assert judge(Cells.from_arrays(y, p)).tests["cox"] == pytest.approx(expected, rel=1e-6)


def test_cox_test_of_one_score_has_one_degree_of_freedom():
    found = judge(Cells.from_arrays(np.arange(100) < 60, np.full(100, 0.5))).tests
    gain = 60 * math.log(0.6 / 0.5) + 40 * math.log(0.4 / 0.5)
    assert found["cox"] == pytest.approx(2 * norm.sf(math.sqrt(2 * gain)), rel=1e-9)


def test_cox_test_of_separable_labels_ends():
    """The likelihood of the best fit is 1 then."""
    p = np.repeat([0.4, 0.45, 0.55, 0.6], 10)
    found = judge(Cells.from_arrays(p > 0.5, p)).tests
    assert found["cox"] == pytest.approx(math.exp(np.sum(np.log(np.maximum(p, 1 - p)))), rel=1e-6)


def test_rare_positives_far_out_are_no_evidence_of_a_slope():
    """Of 67 rows at 0.001 one is positive in 6 of 100 data sets; by a score test of the slope it would be in 1 of 3000."""
    p = np.repeat([0.001, 0.3], [67, 60])
    y = np.concatenate([np.arange(67) < 1, np.arange(60) < 18])
    assert judge(Cells.from_arrays(y, p)).tests["cox"] > 0.05


def cut(groups, smallest, pairs):
    """The windows of each level of each group."""
    starts = np.cumsum([0, *map(len, groups)])
    found = _kernel.cut_levels(np.concatenate(groups), starts, np.array(smallest), pairs)
    begin, end, first, group = (column.tolist() for column in found)
    levels = [[] for _ in groups]
    for at, level, last in zip(group, first, [*first[1:], len(begin)], strict=True):
        levels[at].append([(begin[i] - starts[at], end[i] - starts[at]) for i in range(level, last)])
    return levels


def test_levels_cut_the_weight_into_equal_parts():
    equal, heavy = np.ones(8), np.array([1.0, 6.0, 1.0])
    halves = [(0, 4), (4, 8)]
    quarters = [(i, i + 2) for i in range(0, 8, 2)]
    eighths = [(i, i + 1) for i in range(8)]
    assert cut([equal], [1.0], False) == [[halves, quarters, eighths]]
    # shares of 2 of 8 are all reached in the second cell: [0, 2), then nothing, then the last cell
    assert cut([equal, heavy], [1.0, 2.0], False) == [[halves, quarters, eighths], [[(0, 2), (2, 3)]] * 2]
    # two neighbouring parts each that weigh more than the smallest; the whole at first
    pairs = [[(0, 8)], [(0, 4), (2, 6), (4, 8)], [(i, i + 2) for i in range(7)]]
    assert cut([equal], [1.0], True) == [pairs]
    assert cut([heavy, equal], [2.0, 1.0], True) == [[[(0, 3)], [(0, 2)]], pairs]


def test_spread_test_is_of_squares_with_their_first_three_cumulants(rng):
    """Those of each part's (X - E X)^2 / v from the distribution of X; tails of Pearson's type III, which is the gamma
    distribution moved to any mean; then Cauchy's mean over levels."""
    for factor in (1.0, 1.6):
        p = np.sort(np.round(rng.random(300), 2))  # ties, so that cells are the scores
        y = rng.random(300) < shifted(p, factor)
        scores, begin = np.unique(p, return_index=True)
        v = np.add.reduceat(p * (1 - p), begin)
        tails = []
        for level in cut([v], [8.0], False)[0]:
            parts = [(p == scores[b:e, None]).any(0) for b, e in level if v[b:e].sum() >= 4]
            total, cumulants = 0.0, np.zeros(3)
            for part in parts:
                mass, spread = poisson_binomial(p[part]), np.sum(p[part] * (1 - p[part]))
                squares = (np.arange(len(mass)) - p[part].sum()) ** 2 / spread
                mean = mass @ squares
                cumulants += mean, mass @ (squares - mean) ** 2, mass @ (squares - mean) ** 3
                total += (y[part].sum() - p[part].sum()) ** 2 / spread
            mean, variance, third = cumulants
            tails.append(pearson3.sf(total, third / variance**1.5, mean, math.sqrt(variance)))
        expected = combine_cauchy(np.array(tails))
        assert judge(Cells.from_arrays(y, p)).tests["spread"] == pytest.approx(expected, rel=1e-9)


def cut_by_hand(weight, smallest):
    """The levels of a scan, part by part: where each share is reached, then pairs of neighbouring parts."""
    running = np.concatenate([[0.0], np.cumsum(weight)])
    found, level = [], 0
    while level == 0 or running[-1] / 2**level > smallest:
        parts = 2 ** (level + 1)
        reached = [int(np.argmax(running[1:] >= i * running[-1] / parts * (1 - 1e-12))) + 1 for i in range(1, parts)]
        ends = [0, *reached, len(weight)]
        windows = list(zip(ends, ends[2:], strict=False))
        new = [w for i, w in enumerate(windows) if w[1] > w[0] and (i == 0 or w != windows[i - 1])]
        chosen = [(b, e) for b, e in new if level == 0 or running[e] - running[b] > smallest]
        found += [chosen] if chosen else []
        level += 1
    return found


def test_scans_of_uneven_weights_are_those_cut_part_by_part(rng):
    groups = [np.exp(rng.normal(0, spread, size)) for spread in (0, 1, 4) for size in (1, 2, 5, 60)]
    smallest = [float(weight.sum()) / 300 for weight in groups]
    assert cut(groups, smallest, True) == [cut_by_hand(*pair) for pair in zip(groups, smallest, strict=True)]


@pytest.mark.parametrize("tolerance", [None, Relative(0.1)])
def test_many_groups_are_judged_as_each_alone(rng, tolerance):
    """To the last bit: neither order nor neighbours count."""
    groups = []
    for rows in (1, 5, 40, 300, 3000):
        for p in (rng.beta(0.5, 5, rows), np.round(rng.random(rows), 1), rng.choice([0.0, 0.3, 1.0], rows)):
            groups += [Cells.from_arrays(rng.random(rows) < truth, p) for truth in (p, shifted(p, 2.0))]
    # NaN is not equal to itself; many groups are not divided into ranges
    alone = [repr(replace(judge(cells, 0.01, tolerance), bands=())) for cells in groups]
    assert [repr(found) for found in judge_all(groups, 0.01, tolerance)] == alone
    assert [repr(found) for found in judge_all(groups[::-1], 0.01, tolerance)] == alone[::-1]


def test_batches_change_nothing(rng, monkeypatch):
    p = rng.beta(0.5, 5, (20, 300))
    groups = [Cells.from_arrays(rng.random(300) < row, row) for row in p]
    found = judge_all(groups)
    monkeypatch.setattr("truecal.data._cell_groups.CELLS_AT_ONCE", 700)
    assert judge_all(groups) == found
    assert judge_all([]) == []


def test_cauchy_s_rule():
    # the mean of cot(pi p) is that of a Cauchy variable whatever the dependence: equal p-values stay what they are
    assert combine_cauchy(np.array([0.03] * 5)) == pytest.approx(0.03)
    # a test at 1 must not hide three at 1e-8: Cauchy's mean of those and 0.99
    t = (3 / math.tan(math.pi * 1e-8) + 1 / math.tan(math.pi * 0.99)) / 4
    assert combine_cauchy(np.array([1e-8, 1e-8, 1e-8, 1.0])) == pytest.approx(math.atan(1 / t) / math.pi)
    assert combine({"total": 0.0, "cox": 0.5}) < 1e-290
    # "spread" weighs half of any other test
    tests = dict.fromkeys(EXACT | ASYMPTOTIC, 0.3) | {"spread": 1e-6}
    t = (5 / math.tan(math.pi * 0.3) + 0.5 / math.tan(math.pi * 1e-6)) / 5.5
    assert combine(tests) == pytest.approx(math.atan(1 / t) / math.pi)


def test_consistent_follows_the_stated_formula(rng):
    """min over both signs of Phi((|sum(p' - p)| - 2.24 sqrt(V)) / sqrt(V')) >= 0.8."""
    words = []
    for rows in range(50, 1500, 50):
        p = rng.beta(0.5, 5, rows)
        found = verdict_of(rng.random(rows) < p, p)
        powers = []
        for factor in (1.5, 1 / 1.5):
            moved = shifted(p, factor)
            z = (abs((moved - p).sum()) - 2.2414 * math.sqrt((p * (1 - p)).sum())) / math.sqrt(
                (moved * (1 - moved)).sum()
            )
            powers.append(norm.cdf(z))
        if abs(min(powers) - 0.8) < 0.01 or found.status == "miscalibrated":
            continue
        words.append(found.status)
        assert found.status == ("consistent" if min(powers) > 0.8 else "inconclusive")
        assert (found.detectable < 1.5) == (found.status == "consistent")
    assert set(words) == {"consistent", "inconclusive"}


def test_detectable_is_where_the_power_is_four_fifths(rng):
    p = rng.beta(0.5, 5, 5000)
    found = verdict_of(rng.random(5000) < p, p)
    v = (p * (1 - p)).sum()
    for factors, threshold, share in (
        ((found.detectable, 1 / found.detectable), norm.isf(0.0125), 1.0),
        ((found.detectable_above,), norm.isf(0.05 / 148), 0.2),
        ((1 / found.detectable_below,), norm.isf(0.05 / 148), 0.2),
    ):
        powers = []
        for factor in factors:
            moved = shifted(p, factor)
            change, spread = abs((moved - p).sum()), (moved * (1 - moved)).sum()
            powers.append(norm.cdf((share * change - threshold * math.sqrt(share * v)) / math.sqrt(share * spread)))
        assert min(powers) == pytest.approx(0.8, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["beta", "ties", "rare", "two scores"])
def test_right_models_are_seldom_off(name):
    """At 0.05 about 5 % of right models are; 150 data sets leave a standard error of 1.8 points."""
    rng = np.random.default_rng(11)
    draw = {
        "beta": lambda: rng.beta(0.5, 5, 600),
        "ties": lambda: rng.choice([0.02, 0.1, 0.3, 0.7], 600),
        "rare": lambda: rng.beta(0.3, 300, 600),
        "two scores": lambda: rng.choice([0.001, 0.999], 600),
    }[name]
    off = 0
    for _ in range(150):
        p = draw()
        off += combine(judge(Cells.from_arrays(rng.random(600) < p, p)).tests) <= 0.05
    assert off / 150 <= 0.05 + 3 * 0.018


def test_fine_blocks_are_found(rng):
    """Blocks of N^(2/3) / 16 rows, 1.4 and 0.6 times the predictions in turn: no window stands out, all together do."""
    p = np.sort(rng.beta(0.5, 5, 20_000))
    factor = np.where((np.arange(20_000) // (20_000 ** (2 / 3) / 16)).astype(int) % 2, 0.6, 1.4)
    found = judge(Cells.from_arrays(rng.random(20_000) < np.minimum(p * factor, 1), p)).tests
    assert found["spread"] < 1e-4
    assert found["total"] > 1e-4


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="`significance` must lie between 0 and 1"):
        verdict_of([0, 1], [0.2, 0.3], significance=0)
    empty = Cells.of(Tally([], [], []))
    with pytest.raises(ValueError, match="at least one row"):
        judge(empty)


def test_less_than_one_prediction_of_few_is_no_share():
    """One row of p = 0.3 that is positive is rejected with the share 0.025 / 0.3, which the value has."""
    one = judge(Cells.from_arrays([1], [0.3]))
    assert (one.local.value, one.few) == (pytest.approx(100 * 0.025 / 0.3), True)
    assert not judge(Cells.from_arrays([1] * 10, [0.01] * 10)).few
    assert not judge(Cells.from_arrays([0, 1] * 10, [0.5] * 20)).few


def test_a_total_that_is_off_alone_is_told():
    """The exact interval of the ratio may leave out 1 where six tests together do not call the model off: a reader sees
    both, so the sentence speaks of both. And a factor above 1.5 is never written as 1.5."""
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 5, 1000)
    found = judge(Cells.from_arrays(rng.random(1000) < p, p))
    assert (found.status, found.interval[1] < 1) == ("inconclusive", True)
    assert found.tests["total"] < 0.05 < found.p_value
    assert found.summary == (
        "Inconclusive: an odds ratio of 1.5 may go undetected; the minimum detectable odds ratio is 1.52 (80% power)."
    )
    assert found.sentences()[2] == (
        f"The total alone is significant (p = {found.tests['total']:.2g}); the combination of all component tests is not."
    )


def test_words_and_numbers_agree_beside_the_borders():
    """0.0504 is not written as 0.05, and an interval that ends below 1 does not end at 1.00."""
    assert [format_p_value(p) for p in (0.05, 0.0504, 0.01004, 0.049, 0.06)] == [
        *("p = 0.05", "p = 0.0504", "p = 0.01004", "p = 0.049", "p = 0.06"),
    ]
    found = judge(Cells.from_arrays(np.arange(40_000) < 3870, np.full(40_000, 0.1)))
    assert 0.995 < found.interval[1] < 1
    assert found.status == "miscalibrated"
    assert "O/E 0.968 (95% CI 0.939\u20130.997)" in found.summary


@pytest.mark.parametrize("tolerance", [Relative(0.3), Absolute(0.01)])
def test_what_would_have_been_found_is_beyond_the_tolerance(rng, tolerance):
    """At the factor that is named, on the odds of predictions raised or lowered by the tolerance, four of five data
    sets are off; fewer than 23 of 40 have a probability of 0.0004 at 0.8. A factor of 1.5 that the tolerance covers is
    not said to be found."""
    p = rng.beta(1, 20, 20_000)
    found = verdict_of(rng.random(20_000) < p, p, tolerance=tolerance)
    assert found.status == "consistent"
    assert found.detectable > verdict_of(rng.random(20_000) < p, p).detectable
    named = math.ceil(100 * found.detectable) / 100  # rounded up: what is named was detectable
    assert f"an odds ratio of {named:g} beyond the tolerance would have been detected" in found.summary
    for sign in (1, -1):
        step = tolerance.value * (p if isinstance(tolerance, Relative) else 1)
        truth = shifted(np.clip(p + sign * step, 0, 1), found.detectable**sign)
        words = [verdict_of(rng.random(20_000) < truth, p, tolerance=tolerance).status for _ in range(40)]
        assert words.count("miscalibrated") >= 23


def test_a_tolerance_that_covers_all_errors_one_way_leaves_nothing_to_find_there(rng):
    p = rng.uniform(0.001, 0.01, 50_000)
    found = verdict_of(rng.random(50_000) < p, p, tolerance=Absolute(0.01))
    assert (found.status, found.detectable_below) == ("consistent", 1.0)
    certain = verdict_of([0.0] * 10 + [1.0] * 10, [0.0] * 10 + [1.0] * 10, tolerance=Absolute(0.01))
    assert certain.status == "inconclusive"
