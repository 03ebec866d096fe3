"""Which segments are wrong: one metric for each of many tallies, against chance, adjusted for their number."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from truecal._progress import Progress
from truecal.inference import (
    FIRST,
    Draws,
    RandomState,
    critical_counts,
    detectable_rates,
    reaches,
    sequential_reference,
)
from truecal.metrics import (
    TCE,
    Adjustment,
    Binned,
    Metric,
    Rejection,
    adjust_p_values,
    certified_bounds,
    check_significance,
)
from truecal.observations import Floats, GridTally, Ints, Tally, unchecked
from truecal.results import GroupTable


def judge_segments(
    tallies: Mapping[tuple[Any, ...], Tally | GridTally],
    metric: Metric = TCE,
    *,
    replicates: int | None = None,
    adjust: Adjustment = "holm",
    significance: float = 0.05,
    random_state: RandomState = None,
    threads: int = 1,
    by: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> GroupTable:
    """Judge every segment alone, and adjust for their number. `by` names the columns behind the tallies' keys.

    Labels are redrawn at most `replicates` times: 199 times for every segment, and more only while fewer than 10 of the
    redrawn values reach the observed one. By default as often as it takes for one segment to have an adjusted p-value
    of `significance`, which makes an alarm: the number of segments over it. A segment so small that it has no more than
    199 sets of labels, or than `replicates`, is held against all of them, each with its probability: its reference and
    p-value are then exact.

    Where most segments are too small to be found wrong, whatever their labels, a warning says so before any is judged.

    Examples
    --------
    >>> import numpy as np, truecal
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(1, 9, size=(3, 4000))
    >>> truth = p * np.array([[1], [1], [1.6]])          # the third segment is understated
    >>> tallies = {(name,): truecal.Tally.from_arrays(rng.random(4000) < q, s) for name, q, s in zip("abc", truth, p)}
    >>> found = truecal.analysis.judge_segments(tallies, random_state=0)
    >>> [key for key, p in zip(found.segment, found.p_adjusted) if p < 0.05]
    [('c',)]
    """
    if not tallies:
        raise ValueError("`tallies` must hold at least one segment; it is empty.")
    check_significance(significance)
    loss = metric.rejection or Rejection()
    enough = math.ceil(len(tallies) / significance) if adjust else 0
    most = max(FIRST, enough) if replicates is None else replicates
    draws = Draws(most, random_state, threads)
    measured = [measure(data, metric) for data in tallies.values()]
    n, positives, mean, value, lowest, highest, low, high = map(np.array, zip(*measured, strict=True))
    below, above = detectable_rates(n, mean, significance=loss.significance)
    _warn_of_small(n, mean, adjust, significance)
    seeds = draws.seeds(len(tallies)).tolist()
    chance = []
    with Progress(len(tallies), "segments") as progress:
        for seed, data, observed in zip(seeds, tallies.values(), value.tolist(), strict=True):
            found = _refer_to_all(data.tally, metric, observed, min(most, FIRST))
            if found is None:
                drawn = sequential_reference(data.tally, metric, Draws(most, seed, threads))
                found = drawn.mean, drawn.p_value
            chance.append(found)
            progress.step()
    by_chance, p_value = np.array(chance).T
    return GroupTable(
        segment=tuple(tallies),
        n=n,
        positives=positives,
        prevalence=positives / n,
        mean=mean,
        value=value,
        lowest=lowest,
        highest=highest,
        by_chance=by_chance,
        excess=value - by_chance,
        p_value=p_value,
        p_adjusted=adjust_p_values(p_value, adjust),
        too_low=low,
        too_high=high,
        seen_below=below,
        seen_above=above,
        by=tuple(by),
        metric=metric,
        replicates=most,
        adjust=adjust,
        significance=significance,
        notes=tuple(notes),
    )


def _warn_of_small(n: Ints, mean: Floats, adjust: Adjustment, significance: float) -> None:
    """Warn where most segments are such that no labels would make one of them an alarm among so many."""
    level = significance / (len(n) if adjust == "holm" else 1)
    few, many = critical_counts(n, mean, level)
    small = int(np.count_nonzero((few < 0) & (many > n)))
    if 2 * small > len(n):
        among = " among so many" * (level < significance)
        warnings.warn(
            f"{small:,} of {len(n):,} segments are too small to be found wrong{among}, whatever their labels: make "
            "fewer and larger ones.",
            stacklevel=3,
        )


def _refer_to_all(tally: Tally, metric: Metric, observed: float, most: int) -> tuple[float, float] | None:
    """The null mean and the p-value over all sets of labels, by their probabilities; None where they are too many."""
    if len(tally) >= most.bit_length():  # every score at least doubles the sets
        return None
    sizes = (tally.n + 1).tolist()
    if math.prod(sizes) > most:
        return None
    sets = np.indices(sizes).reshape(len(sizes), -1).T.copy()
    bins = [Binned(tally, metric.binning.partition(unchecked(tally.score, tally.n, pos))) for pos in sets]
    Binned.reject_together(bins, metric)
    values = np.array([metric.on(each) for each in bins])
    weight = np.ones(1)
    for n, score in zip(tally.n.tolist(), tally.score.tolist(), strict=True):
        weight = np.outer(weight, _chances(n, score)).ravel()
    reached = reaches(values, observed)
    above, below = float(weight[reached].sum()), float(weight[~reached].sum())
    return float(weight @ values), above / (above + below)


def _chances(n: int, score: float) -> Floats:
    """The probabilities of 0 to n positives."""
    return np.array([math.comb(n, k) * score**k * (1 - score) ** (n - k) for k in range(n + 1)])


class Measured(NamedTuple):
    """A metric of some observations: its value and bounds, and the shares rejected as too low and as too high."""

    n: int
    positives: int
    mean: float
    value: float
    lowest: float
    highest: float
    too_low: float
    too_high: float


def measure(data: Tally | GridTally, metric: Metric) -> Measured:
    """The metric of observations; what is rejected is by its own test, or by the exact binomial one if it has none."""
    tally = data.tally
    bins = Binned(tally, metric.binning.partition(tally))
    loss = metric.rejection or Rejection()
    total, value = tally.total, metric.on(bins)
    lowest, highest = value, value
    if isinstance(data, GridTally) and metric.rejection is not None:
        low, high = certified_bounds(data, metric, bins.partition)
        lowest, highest = min(low, value), max(high, value)
    rejected = bins.rejected(loss.test, loss.significance, loss.tolerance)
    mean = min(float(bins.score_sums.sum()) / total, 1.0)
    too_low, too_high = (float(side.sum()) / total for side in rejected)
    return Measured(total, tally.positives, mean, value, lowest, highest, too_low, too_high)
