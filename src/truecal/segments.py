"""Which segments are wrong: one metric for each of many tallies, against chance, adjusted for their number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from truecal.inference import refer
from truecal.metrics import TCE, Binned, Metric, Rejection
from truecal.power import detect
from truecal.replicates import RandomState, draw_seeds
from truecal.table import Adjustment, adjusted, as_frame
from truecal.tally import Floats, Ints, Tally


@dataclass(frozen=True, slots=True, eq=False)
class SegmentTable:
    """One row a segment, in the order given.

    segment
        The segment's values.
    n, positives, prevalence, mean
        Observations, positives, their ratio, mean prediction.
    value, by_chance, excess, p_value, p_adjusted
        The metric, its null mean, the difference, the p-value of the reference, and that adjusted for the number of
        segments.
    too_low, too_high
        The shares of predictions that the test rejects as too low and as too high.
    seen_below, seen_above
        What the segment as a whole could have seen: the nearest true rates below and above its mean prediction that the
        exact binomial test would find in four of five data sets; NaN where there is none. A small segment is not
        cleared by a high p-value.
    """

    segment: tuple[tuple[Any, ...], ...]
    n: Ints
    positives: Ints
    prevalence: Floats
    mean: Floats
    value: Floats
    by_chance: Floats
    excess: Floats
    p_value: Floats
    p_adjusted: Floats
    too_low: Floats
    too_high: Floats
    seen_below: Floats
    seen_above: Floats

    def __len__(self) -> int:
        return len(self.n)

    def worst(self, count: int = 10) -> list[tuple[Any, ...]]:
        """The segments with the smallest p-values, the largest excess first among equals."""
        order = np.lexsort((-self.excess, self.p_value))
        return [self.segment[i] for i in order[:count]]

    def to_frame(self, library: str = "pandas") -> Any:
        """The table as a dataframe of "pandas", "polars" or "pyarrow"; the segment as text."""
        columns = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        columns["segment"] = [", ".join(map(str, key)) for key in self.segment]
        return as_frame(columns, library)


def judge_segments(
    tallies: Mapping[tuple[Any, ...], Tally],
    metric: Metric = TCE,
    *,
    replicates: int = 199,
    adjust: Adjustment = "holm",
    random_state: RandomState = None,
    threads: int = 1,
) -> SegmentTable:
    """Judge every segment alone, and adjust for their number.

    Examples
    --------
    >>> import numpy as np, truecal
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(1, 9, size=(3, 4000))
    >>> truth = p * np.array([[1], [1], [1.6]])          # the third segment is understated
    >>> tallies = {(name,): truecal.Tally.from_arrays(rng.random(4000) < q, s) for name, q, s in zip("abc", truth, p)}
    >>> found = truecal.judge_segments(tallies, random_state=0)
    >>> [key for key, p in zip(found.segment, found.p_adjusted) if p < 0.05]
    [('c',)]
    """
    if not tallies:
        raise ValueError("`tallies` must hold at least one segment; it is empty.")
    loss = metric.loss if isinstance(metric.loss, Rejection) else Rejection()
    seeds = draw_seeds(random_state, len(tallies)).tolist()
    rows = []
    for seed, tally in zip(seeds, tallies.values(), strict=True):
        bins = Binned(tally, metric.binning.partition(tally))
        found = refer(tally, {"": metric}, replicates=replicates, random_state=seed, threads=threads)[""]
        too_low, too_high = bins.rejected(loss.test, loss.significance, loss.tolerance)
        total = tally.total
        rows.append(
            (
                total,
                tally.positives,
                tally.positives / total,
                min(float(bins.score_sums.sum()) / total, 1.0),
                found.mean + found.excess,
                found.mean,
                found.excess,
                found.p_value,
                too_low.sum() / total,
                too_high.sum() / total,
            )
        )
    n, positives, prevalence, mean, value, by_chance, excess, p_value, low, high = map(
        np.array, zip(*rows, strict=True)
    )
    below, above = detect(n, mean, significance=loss.significance)
    return SegmentTable(
        segment=tuple(tallies),
        n=n,
        positives=positives,
        prevalence=prevalence,
        mean=mean,
        value=value,
        by_chance=by_chance,
        excess=excess,
        p_value=p_value,
        p_adjusted=adjusted(p_value, adjust),
        too_low=low,
        too_high=high,
        seen_below=below,
        seen_above=above,
    )
