"""All predictions in a few ranges of scores, for people: how many rows, what was said, what came.

Ranges are made of whole windows of Local TCE. Runs of windows that are proven wrong (Holm) are ranges by themselves,
the largest errors first; what lies between them is cut, without a look at the labels, into parts of equal information.
A range is called too low or too high where its exact p-value is at most a level, and its interval has the confidence
that goes with it.

Cuts that follow the labels and intervals share the significance s: windows are proven at s / 5, and the level of each
of r ranges is 4 s / (5 r). Of a right model some window is proven with a probability of at most s / 5, and otherwise
one of the ranges, which are then cut without labels, lies off with one of at most 4 s / 5: intervals hold together.
All predictions as one range, which are few or of one score, have the level s: of 42,000 right models of 20 to 160 rows
some range left 1 out in 2 %, of no kind of 28 in more than 4 %.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np

from truecal.data import CellGroups, CellSums, Floats, Ints
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

MOST_BANDS = 5  # bands: as many as people read at a glance
CUTTING = 0.2  # of the significance: what is spent on cuts that follow the labels
LEAST_INFORMATION = 5.0  # the information, sum of p (1 - p), of a part that is cut off


def find_score_bands(
    cells: CellSums, significance: float = 0.05, tolerance: Tolerance | float | None = None
) -> tuple[ScoreBand, ...]:
    """Divide all predictions into at most five ranges of scores, in increasing order.

    Examples
    --------
    >>> import numpy as np
    >>> from truecal.data import CellSums
    >>> from truecal.verdict import find_score_bands
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(0.5, 5, size=20_000)
    >>> y = rng.random(20_000) < np.where(p > 0.2, p / 2, p)
    >>> [(round(found.low, 2), found.direction) for found in find_score_bands(CellSums.from_arrays(y, p))]
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


def band_level(significance: float, ranges: int) -> float:
    """The level of one of several ranges; one that is all of the predictions has the significance itself.

    Examples
    --------
    >>> round(band_level(0.05, 5), 4), band_level(0.05, 1)
    (0.008, 0.05)
    """
    return (1 - CUTTING) * significance / ranges if ranges > 1 else significance


def _cut_windows(groups: CellGroups, significance: float, tolerance: Tolerance | None) -> list[int]:
    """The windows at which ranges begin, and the number of windows."""
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
    """Join runs of the same way where what lies between has less information than either, and none of the other way."""
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
    """Halve the part with the most information until there are enough, or none can be halved."""
    total = [0.0, *np.cumsum(information).tolist()]

    @cache
    def halve(a: int, b: int) -> tuple[float, int] | None:
        """The information of a part and where it is halved, if it can be."""
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
