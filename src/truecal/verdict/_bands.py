"""Score bands: all predictions in a few bands, with rows, expected and observed positives.

Bands are unions of windows of Local TCE. Runs of windows that stay rejected after Holm's adjustment are bands by
themselves, the largest errors first. The scores between them are cut into bands of equal information, without using the
labels. A band under-predicts or over-predicts if its exact p-value is at most a level; its confidence interval has the
same level.

The significance s is shared between cuts that depend on the labels and the intervals: windows are rejected at s / 5,
and each of r bands has the level 4 s / (5 r). For a calibrated model, some window is rejected with a probability of at
most s / 5. Otherwise the bands do not depend on the labels, and one of them is rejected with a probability of at most
4 s / 5: the intervals hold simultaneously.

A single band, of few predictions or of one score, has the level s. In a simulation of 42,000 calibrated models of 20 to
160 rows, some interval of O/E did not contain 1 in 2% of the models, and in at most 4% for each of 28 kinds of model.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np

from truecal.data import CellGroups, Cells, Floats, Ints
from truecal.metrics import (
    Direction,
    PoissonBinomial,
    ScoreBand,
    Tails,
    Tolerance,
    as_tolerance,
    count_positives,
    find_tails,
    find_windows,
    prove_windows,
)

MOST_BANDS = 5  # as many as people read at a glance
CUTTING = 0.2  # the share of the significance that is spent on cuts that depend on the labels
LEAST_INFORMATION = 5.0  # the sum of p (1 - p) that each half of a band must have to be cut


def find_score_bands(
    cells: Cells, significance: float = 0.05, tolerance: Tolerance | float | None = None
) -> tuple[ScoreBand, ...]:
    """Divide all predictions into at most five score bands, in increasing order.

    Examples
    --------
    >>> import numpy as np
    >>> from truecal.data import Cells
    >>> from truecal.verdict import find_score_bands
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(0.5, 5, size=20_000)
    >>> y = rng.random(20_000) < np.where(p > 0.2, p / 2, p)
    >>> [(round(band.low, 2), band.direction) for band in find_score_bands(Cells.from_arrays(y, p))]
    [(0.0, None), (0.06, None), (0.11, None), (0.19, 'over-predicts'), (0.33, 'over-predicts')]
    """
    groups, tolerance = CellGroups.of([cells]), as_tolerance(tolerance)
    cuts = find_windows(groups)[0][_cut_windows(groups, significance, tolerance)]
    begin, end = cuts[:-1], cuts[1:]
    level = band_level(significance, len(begin))
    tails = Tails.of(PoissonBinomial.in_groups(groups), (cuts,), tolerance)
    raised = tails.above + tails.at_raised < tails.below + tails.at_lowered
    p, wrong = cells.sampling.to_population(cells.p), tails.p_values <= level
    counts = count_positives(groups, begin, end, level)
    bands = []
    for i, (b, e, count) in enumerate(zip(begin.tolist(), end.tolist(), counts, strict=True)):
        way = Direction.UNDER if raised[i] else Direction.OVER
        bands.append(
            ScoreBand(
                direction=way if wrong[i] else None,
                low=float(p[b]),
                high=float(p[e - 1]),
                rows=int(cells.n[b:e].sum()),
                observed=count.observed,
                expected=count.expected,
                odds_ratio=count.factor,
                proven=bool(wrong[i]),
                population=count.population,
            )
        )
    return tuple(bands)


def band_level(significance: float, bands: int) -> float:
    """Return the level of one of several bands; a single band has the significance itself.

    Examples
    --------
    >>> round(band_level(0.05, 5), 4), band_level(0.05, 1)
    (0.008, 0.05)
    """
    return (1 - CUTTING) * significance / bands if bands > 1 else significance


def _cut_windows(groups: CellGroups, significance: float, tolerance: Tolerance | None) -> list[int]:
    """The windows at which bands begin, and the number of windows."""
    cells, starts, tails = groups.cells, find_windows(groups)[0], find_tails(groups, tolerance)
    count, (_, _, proven) = len(starts) - 1, prove_windows(groups, CUTTING * significance, tolerance)
    low, high = tails.decide(significance)
    way = np.where(low >= 0.5, 1, np.where(high >= 0.5, -1, 0))
    ends = [*np.flatnonzero(np.diff(way, prepend=2)).tolist(), count]
    surplus, information = (np.add.reduceat(column, starts[:-1]) for column in (cells.surplus, cells.v))
    runs = _join_runs([(a, b) for a, b in pairwise(ends) if way[a] and proven[a:b].any()], way, information)
    runs.sort(key=lambda run: -abs(float(surplus[slice(*run)].sum())))
    cuts = {0, count}
    for run in runs:
        if len(cuts | {*run}) <= MOST_BANDS + 1:
            cuts |= {*run}
    return _split(sorted(cuts), information)


def _join_runs(runs: list[tuple[int, int]], way: Ints, information: Floats) -> list[tuple[int, int]]:
    """Join runs of the same direction if the windows between them have less information than either run.

    Runs stay apart if a window between them is rejected in the other direction.
    """
    joined = runs[:1]
    for a, b in runs[1:]:
        first, last = joined[-1]
        between = float(information[last:a].sum())
        least = min(float(information[first:last].sum()), float(information[a:b].sum()))
        if way[first] == way[a] and between < least and not (way[last:a] == -way[a]).any():
            joined[-1] = first, b
        else:
            joined.append((a, b))
    return joined


def _split(cuts: list[int], information: Floats) -> list[int]:
    """Halve the band with the most information until there are enough bands, or none can be halved."""
    total = [0.0, *np.cumsum(information).tolist()]

    @cache
    def halve(a: int, b: int) -> tuple[float, int] | None:
        """The information of a band and the window at which it is halved, if it can be."""
        first, last = total[a], total[b]
        fine = [
            i for i in range(a + 1, b) if total[i] - first >= LEAST_INFORMATION and last - total[i] >= LEAST_INFORMATION
        ]
        return (last - first, min(fine, key=lambda i: abs(total[i] - (first + last) / 2))) if fine else None

    while len(cuts) <= MOST_BANDS:
        halves = [half for pair in pairwise(cuts) if (half := halve(*pair))]
        if not halves:
            break
        cuts = sorted([*cuts, max(halves)[1]])
    return cuts
