"""Null distributions, intervals and differences of metrics, by a parametric bootstrap.

Labels are drawn on the tally, without sorting again. Null distributions simulate them from the predictions themselves.
Intervals resample them from recalibrated predictions (see `_logistic`), differences from a logistic regression on both
models.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from truecal._options import ConfidenceOptions, check_option, declare
from truecal.data import Bools, Floats, Pairs, Tally
from truecal.inference._bootstrap import Draws, Labels, compute_on_draws, find_quantiles, map_seeds
from truecal.inference._logistic import recalibrate_pairs, recalibrate_scores
from truecal.inference._paired import measure_error
from truecal.metrics import Bins, MeanScore, Measure, as_error, bin_once, normal_quantile

FIRST_BATCH = 199  # draws of the first batch of a sequential null: p-values down to 1 / 200
ENOUGH_REACHED = 10  # simulated values as large as the observed one, at which it stops
FEWEST_LABELS = 5  # positives or negatives below which a difference of means has no interval
GROWTH = 4  # factor from the draws of one batch to those of the next


@dataclass(frozen=True, slots=True)
class NullDistribution:
    """The distribution of a metric if the model is calibrated, and the p-value of the observed value.

    `mean`, `low`, `median` and `high` are the mean and the 5, 50 and 95% quantiles over simulated labels. `excess` is
    the value minus the mean. `p_value` is (1 + number of simulated values as bad as the observed one) / (draws + 1).
    As bad means as large, or as far from a best value that lies between bad ones. Log loss, Brier score and net benefit
    are as bad if they are as far from the mean, on either side: underconfident predictions do better than they expect.
    NaN if the metric is NaN.

    Examples
    --------
    >>> import truecal
    >>> result = truecal.evaluate([0, 1] * 100, [0.2] * 100 + [0.3] * 100, ["ece"], null_draws=200, random_state=0)
    >>> found = result.nulls["ece"]
    >>> round(result["ece"], 2), round(found.mean, 2), round(found.p_value, 3)
    (0.25, 0.03, 0.005)
    """

    mean: float
    low: float
    median: float
    high: float
    p_value: float
    excess: float
    draws: int


@dataclass(frozen=True, slots=True)
class Interval:
    """The confidence interval of a metric's expected value: its mean over data sets of this size.

    Examples
    --------
    >>> import truecal
    >>> result = truecal.evaluate([0, 1] * 100, [0.2] * 100 + [0.3] * 100, ["brier"], resamples=200, random_state=0)
    >>> span = result.intervals["brier"]
    >>> span.low < result["brier"] < span.high, span.confidence
    (True, 0.95)
    """

    low: float
    high: float
    confidence: float
    resamples: int

    def __post_init__(self) -> None:
        if self.low > self.high:  # both may be NaN
            raise ValueError(f"`low` of an interval must be at most `high`, {self.high!r}; it is {self.low!r}.")
        if not 0 < self.confidence < 1:
            raise ValueError(f"`confidence` must lie between 0 and 1; it is {self.confidence!r}.")


@dataclass(frozen=True, slots=True)
class Difference:
    """The first model's value minus the second's on the same rows, with the confidence interval of its expectation.

    Examples
    --------
    >>> import truecal
    >>> found = truecal.compare([0, 1] * 100, [0.2] * 100 + [0.3] * 100, [0.5] * 200, ["log_loss"])["log_loss"]
    >>> round(found.difference, 3), found.low > 0  # the first model's is larger
    (0.155, True)
    """

    first: float
    second: float
    difference: float
    low: float
    high: float
    confidence: float
    resamples: int


def null_distribution(
    tally: Tally,
    metrics: Mapping[str, Measure],
    draws: Draws,
    observed: Mapping[str, float] | None = None,
) -> dict[str, NullDistribution]:
    """Return the null distribution of every metric: its values if the predictions are calibrated.

    Parameters
    ----------
    tally : Tally
        The rows.
    metrics : mapping
        Metrics by name.
    draws : Draws
        How often labels are simulated, with which seed and how many threads.
    observed : mapping, optional
        Values of the metrics by name, if they are known.

    Examples
    --------
    >>> import numpy as np, truecal
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(0.5, 5, size=5000)
    >>> tally = truecal.Tally.from_arrays(rng.random(5000) < p, p)
    >>> tce = {"tce": truecal.metrics.METRICS["tce"]}
    >>> found = truecal.inference.null_distribution(tally, tce, truecal.inference.Draws(200, random_state=0))
    >>> found["tce"].p_value > 0.05
    True
    """
    observed = _compute_values(tally, metrics) if observed is None else observed
    drawn = compute_on_draws(tally, tally.score, metrics, draws)
    nulls = {}
    for name, values in drawn.items():
        metric, known = metrics[name], _drop_unknown(values)
        with np.errstate(invalid="ignore"):  # log loss may be infinite, and slopes both ways
            low, median, high = find_quantiles(known, (0.05, 0.5, 0.95)).tolist()
            mean = float(known.mean())
        if metric.overall:
            errors, error = np.abs(values - mean), abs(observed[name] - mean)
        else:
            errors, error = as_error(metric, values), as_error(metric, observed[name])
        as_bad = int(np.count_nonzero(reaches(errors, error)))
        p_value = math.nan if math.isnan(observed[name]) else (1 + as_bad) / (draws.draws + 1)
        nulls[name] = NullDistribution(mean, low, median, high, p_value, observed[name] - mean, draws.draws)
    return nulls


def reaches(values: Floats, observed: float) -> Bools:
    """Return which values are as large as the observed one, up to rounding."""
    limit = observed if math.isinf(observed) else observed - 1e-9 * abs(observed)
    return np.asarray(~(values < limit))  # NaN counts as reached, which is conservative


def _drop_unknown(values: Floats) -> Floats:
    """The values that could be computed; NaN if none could."""
    known = values[~np.isnan(values)]
    return known if len(known) else np.array([np.nan])


def sequential_reference(tally: Tally, metric: Measure, draws: Draws) -> NullDistribution:
    """Return a null distribution by sequential simulation, which stops early.

    Labels are simulated in growing batches, up to `draws.draws` times, while few of the simulated values reach the
    observed one. The p-value is valid, since the batch sizes are fixed in advance (Besag and Clifford, 1991).
    """
    metrics, most = {"": metric}, draws.draws
    observed = _compute_values(tally, metrics)
    state = draws.random_state
    seeds = state if isinstance(state, np.random.RandomState) else np.random.default_rng(state)

    def draw(count: int) -> NullDistribution:
        return null_distribution(tally, metrics, Draws(count, seeds, draws.threads), observed)[""]

    null = draw(min(most, FIRST_BATCH))
    while not math.isnan(null.p_value) and null.draws < most and _count_reached(null) < ENOUGH_REACHED:
        total = min(most, GROWTH * (null.draws + 1) - 1)
        more = draw(total - null.draws)
        mean = (null.draws * null.mean + more.draws * more.mean) / total
        p_value = (1 + _count_reached(null) + _count_reached(more)) / (total + 1)
        excess = null.excess + null.mean - mean
        null = NullDistribution(mean, null.low, null.median, null.high, p_value, excess, total)
    return null


def _count_reached(null: NullDistribution) -> int:
    """Return how many simulated values reached the observed one."""
    return round(null.p_value * (null.draws + 1)) - 1


@declare(first=(ConfidenceOptions,))
def intervals(
    tally: Tally,
    metrics: Mapping[str, Measure],
    draws: Draws,
    *,
    confidence: float = 0.95,
    observed: Mapping[str, float] | None = None,
) -> dict[str, Interval]:
    """Return a confidence interval for the expectation of every metric.

    Labels are resampled from predictions that are recalibrated
    region by region. The spread of the resampled values on both sides of their mean, averaged between their quantiles
    and their standard deviation, is laid around the observed value. The percentile interval of an ordinary bootstrap is
    not offered: resampled rows are noisier than the data, so it is not centred and covers as little as 40%.

    At 95% the intervals of calibrated models tend to be too wide (Local TCE and TCE cover up to 100%), since some noise
    is taken for error. Those of models with many small errors tend to be too narrow (85 to 90%), since part of the
    errors is taken for noise.

    Parameters
    ----------
    tally : Tally
        The rows.
    metrics : mapping
        Metrics by name.
    draws : Draws
        How often labels are resampled, with which seed and how many threads.
    observed : mapping, optional
        Values of the metrics by name, if they are known.

    Examples
    --------
    >>> from truecal import Tally
    >>> from truecal.inference import Draws, intervals
    >>> from truecal.metrics import METRICS
    >>> tally = Tally.from_arrays([0, 1] * 100, [0.2] * 100 + [0.3] * 100)
    >>> span = intervals(tally, {"ece": METRICS["ece"]}, Draws(200, random_state=0))["ece"]
    >>> span.low < METRICS["ece"](tally) < span.high
    True
    """
    check_confidence(confidence)
    observed = _compute_values(tally, metrics) if observed is None else observed
    by_name = {}
    for name, values in compute_on_draws(tally, recalibrate_scores(tally), metrics, draws).items():
        below, above = _measure_spread(values, confidence)
        unit = metrics[name].unit
        low, high = max(observed[name] - below, unit.bottom), min(observed[name] + above, unit.top)
        by_name[name] = Interval(low, high, confidence, draws.draws)
    return by_name


@declare(first=(ConfidenceOptions,))
def differences(
    pairs: Pairs,
    metrics: Mapping[str, Measure],
    draws: Draws,
    *,
    confidence: float = 0.95,
    region: Callable[[Tally], Tally] | None = None,
) -> dict[str, Difference]:
    """Return the difference of two models on the same rows in every metric, with a confidence interval.

    Labels are resampled from a logistic regression on both models' log-odds. A metric with a best value between bad
    ones, such as the slope, is compared by its distance from the best value. Means over rows have the interval of a
    paired mean.

    Parameters
    ----------
    pairs : Pairs
        The rows with the predictions of both models.
    metrics : mapping
        Metrics by name.
    draws : Draws
        How often labels are resampled, with which seed and how many threads.
    region : callable, optional
        Selects the evaluated predictions of each model's tally, by the scores alone.

    Examples
    --------
    >>> from truecal.inference import Draws, differences
    >>> from truecal.metrics import METRICS
    >>> from truecal.data import Pairs
    >>> pairs = Pairs.from_arrays([0, 1] * 100, [0.2] * 100 + [0.3] * 100, [0.5] * 200)
    >>> found = differences(pairs, {"brier": METRICS["brier"]}, Draws(200, random_state=0))["brier"]
    >>> round(found.difference, 3)
    0.065
    """
    check_confidence(confidence)
    labels, models = Labels.of_pairs(pairs, recalibrate_pairs(pairs)), pairs.models()
    choose = region or (lambda tally: tally)
    bins = [bin_once(choose(tally), metrics) for tally, _ in models]
    means = {name: metric for name, metric in metrics.items() if isinstance(metric, MeanScore) and region is None}
    others = {name: metric for name, metric in metrics.items() if name not in means}

    def draw_difference(seed: int) -> list[float]:
        drawn, values = labels.draw(seed), []
        for (tally, position), like in zip(models, bins, strict=True):
            again = choose(tally.relabel(np.bincount(position, drawn, len(tally)).astype(np.int64)))
            values.append(_compute_values(again, others, like))
        return [_subtract(metric, values[0][name], values[1][name]) for name, metric in others.items()]

    first, second = ({name: m.on(model_bins[m.binning]) for name, m in metrics.items()} for model_bins in bins)
    gaps = {name: _subtract(metric, first[name], second[name]) for name, metric in metrics.items()}
    spreads = {name: (_measure_error(pairs, metric, gaps[name], confidence),) * 2 for name, metric in means.items()}
    if others:
        resampled = np.array(map_seeds(lambda seeds: [draw_difference(seed) for seed in seeds], draws))
        for name, values in zip(others, resampled.T, strict=True):
            spreads[name] = _measure_spread(values, confidence)
    compared = {}
    for name, gap in gaps.items():
        ends = clip_difference(metrics[name], gap - spreads[name][0], gap + spreads[name][1])
        compared[name] = Difference(first[name], second[name], gap, *ends, confidence, draws.draws)
    return compared


def _subtract(metric: Measure, first: float, second: float) -> float:
    """The difference of values, or of their distances from a best value that lies between bad ones."""
    if metric.bad == "both":
        return as_error(metric, first) - as_error(metric, second)
    return first - second


def clip_difference(metric: Measure, low: float, high: float) -> tuple[float, float]:
    """Clip the ends of a difference's interval to what two values can differ by.

    Examples
    --------
    >>> from truecal.metrics import METRICS
    >>> clip_difference(METRICS["tce"], -120.0, -20.0)  # percentages
    (-100.0, -20.0)
    """
    most = metric.unit.top - metric.unit.bottom
    if metric.bad == "both":
        most = max(as_error(metric, metric.unit.top), as_error(metric, metric.unit.bottom))
    return max(low, -most), min(high, most)


def _measure_error(pairs: Pairs, metric: MeanScore, gap: float, confidence: float) -> float:
    """Half the width of the interval of a mean difference of row losses; NaN with few positives or few negatives.

    0 if the difference is infinite: a label contradicts a prediction of 0 or 1, and the expected loss is infinite, too.
    """
    if math.isinf(gap) and not pairs.sampling.noisy:
        return 0.0
    if min(int(pairs.pos.sum()), int((pairs.n - pairs.pos).sum())) < FEWEST_LABELS:
        return math.nan
    sampling = pairs.sampling
    (first, first_not), (second, second_not) = (metric.losses(sampling.to_population(score)) for score in pairs.scores)
    with np.errstate(invalid="ignore"):
        positive, negative = first - second - gap, first_not - second_not - gap
        if not sampling.plain:  # the population rows that a row of each label represents, relative to the average row
            mean = sampling.rows(pairs.n_rows, pairs.positives) / pairs.n_rows
            positive, negative = (
                (
                    sampling.positives(1, pos) * positive
                    + (sampling.rows(1, pos) - sampling.positives(1, pos)) * negative
                )
                / mean
                for pos in (1, 0)
            )
        return measure_error(gap, pairs.n, pairs.pos, (positive, negative), pairs.clusters).reach(confidence)


def check_confidence(confidence: float) -> None:
    """Raise an error unless a confidence lies between 0 and 1."""
    check_option("confidence", confidence)


def _compute_values(tally: Tally, metrics: Mapping[str, Measure], like: Bins | None = None) -> dict[str, float]:
    bins = bin_once(tally, metrics, like)
    return {name: metric.on(bins[metric.binning]) for name, metric in metrics.items()}


def _measure_spread(values: Floats, confidence: float) -> tuple[float, float]:
    """Measure how far values lie below and above their mean, averaged between quantiles and a normal distribution.

    NaN values are left out; NaN if there are no others, or if one is infinite.
    """
    tail = (1 - confidence) / 2
    values = _drop_unknown(values)
    if not np.isfinite(values).all():
        return math.nan, math.nan
    mean = float(values.mean())
    # from 1 / tail values on, one more value lies beyond such a quantile with the probability `tail`
    low, high = np.quantile(values, [tail, 1 - tail], method="weibull").tolist()
    width = normal_quantile(tail) * float(values.std(ddof=1)) if len(values) > 1 else 0.0
    return (mean - low + width) / 2, (high - mean + width) / 2
