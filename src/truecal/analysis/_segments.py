"""Which segments are wrong: one metric for each of many tallies, against chance, adjusted for their number."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from truecal._progress import Progress
from truecal.inference import (
    FIRST,
    RandomState,
    check_counts,
    critical,
    detectable_rates,
    draw_seeds,
    reaches,
    refer_further,
)
from truecal.metrics import TCE, Binned, Metric, Rejection, certified_bounds
from truecal.observations import Bools, Floats, GridTally, Ints, Tally, unchecked
from truecal.results import Adjustment, adjusted, as_frame

ALARM = 0.05  # adjusted p-values up to here are more than chance


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GroupTable:
    """One row a segment, in the order given; arrays of one length, and what made them.

    segment
        The segment's values.
    n, positives, prevalence, mean
        Observations, positives, their ratio, mean prediction.
    value, lowest, highest
        The metric, and the lowest and highest value that the data allow: the same, unless scores were grouped into
        cells.
    by_chance, excess, p_value, p_adjusted
        Its null mean, the difference, the p-value of the reference, and that adjusted for the number of segments.
    too_low, too_high
        The shares of predictions that the test rejects as too low and as too high.
    seen_below, seen_above
        What the segment as a whole could have seen: the nearest true rates below and above its mean prediction that the
        exact binomial test would find in four of five data sets; NaN where there is none. A small segment is not
        cleared by a high p-value.
    by, metric, replicates, adjust, notes
        The columns that make segments, what was computed, how often labels were redrawn at most, how p-values were
        adjusted, what a reader should know.
    """

    segment: tuple[tuple[Any, ...], ...]
    n: Ints
    positives: Ints
    prevalence: Floats
    mean: Floats
    value: Floats
    lowest: Floats
    highest: Floats
    by_chance: Floats
    excess: Floats
    p_value: Floats
    p_adjusted: Floats
    too_low: Floats
    too_high: Floats
    seen_below: Floats
    seen_above: Floats
    by: tuple[str, ...] = ()
    metric: Metric = TCE
    replicates: int = 199
    adjust: Adjustment = "holm"
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.n)

    @property
    def names(self) -> list[str]:
        """The segments as text: "country=de, kind=card"."""
        if not self.by:
            return [", ".join(map(str, key)) for key in self.segment]
        return [", ".join(f"{c}={v}" for c, v in zip(self.by, key, strict=True)) for key in self.segment]

    @property
    def too_small(self) -> Bools:
        """Segments that could not have refuted their mean prediction on any side, so that nothing is known of them."""
        return np.isnan(self.seen_below) & np.isnan(self.seen_above)

    def order(self) -> Ints:
        """The rows, worst first: the smallest p-values, the largest excess among equals."""
        return np.lexsort((-self.excess, self.p_value))

    def worst(self, count: int = 10) -> list[tuple[Any, ...]]:
        """The segments with the smallest p-values, the largest excess first among equals."""
        return [self.segment[i] for i in self.order()[:count]]

    def columns(self) -> dict[str, Any]:
        """The columns by name, the segment as text."""
        arrays = {part.name: getattr(self, part.name) for part in fields(self)}
        return {"segment": self.names} | {
            name: column for name, column in arrays.items() if isinstance(column, np.ndarray)
        }

    def to_frame(self, library: str | None = None) -> Any:
        """The table as a dataframe of "pandas", "polars" or "pyarrow", by default the first that is installed; the
        segment as text."""
        return as_frame(self.columns(), library)

    def __repr__(self) -> str:
        worst, names, wrong = self.order()[:20], self.names, int((self.p_adjusted <= ALARM).sum())
        heads = ("segment", "n", "positive", "value", "by chance", "p adjusted", "")
        percent = isinstance(self.metric.loss, Rejection)
        rows = [heads]
        for i in worst.tolist():
            value, chance = (f"{x:.2f} %" if percent else f"{x:.5f}" for x in (self.value[i], self.by_chance[i]))
            rate, p_value = f"{100 * self.prevalence[i]:.3g} %", f"{self.p_adjusted[i]:.3g}"
            small = "too small to tell" if self.too_small[i] else ""
            rows.append((names[i], f"{int(self.n[i]):,}", rate, value, chance, p_value, small))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(cell.rjust(width) if 0 < i < 6 else cell.ljust(width) for i, (cell, width) in enumerate(pairs))
            for pairs in (list(zip(row, widths, strict=True)) for row in rows)
        ]
        shown = f", the worst {len(worst)} first" if len(self) > len(worst) else ", worst first"
        title = (
            f"{len(self):,} segments{shown}; {wrong:,} beyond what chance explains (adjusted p-value at most {ALARM})"
        )
        return "\n".join([title, *(f"  {line}".rstrip() for line in lines), *(f"Note: {note}." for note in self.notes)])


def judge_segments(
    tallies: Mapping[tuple[Any, ...], Tally | GridTally],
    metric: Metric = TCE,
    *,
    replicates: int | None = None,
    adjust: Adjustment = "holm",
    random_state: RandomState = None,
    threads: int = 1,
    by: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> GroupTable:
    """Judge every segment alone, and adjust for their number. `by` names the columns behind the tallies' keys.

    Labels are redrawn at most `replicates` times: 199 times for every segment, and more only while fewer than 10 of the
    redrawn values reach the observed one. By default as often as it takes for one segment to have an adjusted p-value
    below 0.05: 20 times the number of segments. A segment so small that it has no more than 199 sets of labels, or than
    `replicates`, is held against all of them, each with its probability: its reference and p-value are then exact.

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
    loss = metric.loss if isinstance(metric.loss, Rejection) else Rejection()
    most = max(FIRST, 20 * len(tallies) if adjust else 0) if replicates is None else replicates
    check_counts(most, threads)
    measured = [measure(data, metric) for data in tallies.values()]
    n, positives, mean, value, lowest, highest, low, high = map(np.array, zip(*measured, strict=True))
    below, above = detectable_rates(n, mean, significance=loss.significance)
    _warn_of_small(n, mean, adjust)
    seeds = draw_seeds(random_state, len(tallies)).tolist()
    chance = []
    with Progress(len(tallies), "segments") as progress:
        for seed, data, observed in zip(seeds, tallies.values(), value.tolist(), strict=True):
            found = _refer_to_all(data.tally, metric, observed, min(most, FIRST))
            if found is None:
                drawn = refer_further(data.tally, metric, most, seed, threads)
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
        p_adjusted=adjusted(p_value, adjust),
        too_low=low,
        too_high=high,
        seen_below=below,
        seen_above=above,
        by=tuple(by),
        metric=metric,
        replicates=most,
        adjust=adjust,
        notes=tuple(notes),
    )


def _warn_of_small(n: Ints, mean: Floats, adjust: Adjustment) -> None:
    """Warn where most segments are such that no labels would make one of them an alarm among so many."""
    level = ALARM / (len(n) if adjust == "holm" else 1)
    few, many = critical(n, mean, level)
    small = int(np.count_nonzero((few < 0) & (many > n)))
    if 2 * small > len(n):
        warnings.warn(
            f"{small:,} of {len(n):,} segments are too small to be found wrong{' among so many' * (level < ALARM)}, "
            "whatever their labels: make fewer and larger ones.",
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
    if isinstance(metric.loss, Rejection):
        Binned.reject_together(bins, metric.loss)
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
    loss = metric.loss if isinstance(metric.loss, Rejection) else Rejection()
    total, value = tally.total, metric.on(bins)
    lowest, highest = value, value
    if isinstance(data, GridTally) and isinstance(metric.loss, Rejection):
        low, high = certified_bounds(data, metric, bins.partition)
        lowest, highest = min(low, value), max(high, value)
    rejected = bins.rejected(loss.test, loss.significance, loss.tolerance)
    mean = min(float(bins.score_sums.sum()) / total, 1.0)
    too_low, too_high = (float(side.sum()) / total for side in rejected)
    return Measured(total, tally.positives, mean, value, lowest, highest, too_low, too_high)
