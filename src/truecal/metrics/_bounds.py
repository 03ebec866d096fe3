"""Bounds for test-based metrics of rows in cells.

The probabilities that a test accepts form an interval, except for a narrow hole near either end. A cell whose scores
all lie inside is accepted, one whose scores all lie outside is rejected. A cell that contains an end is undecided,
since only its smallest and its largest score are known; so is a cell that only rounding decides.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from truecal.data import Cells, Floats, Ints
from truecal.metrics._binning import Partition, check_partition, cut
from truecal.metrics._decisions import find_safe_cuts, is_inside
from truecal.metrics._design import Spread
from truecal.metrics._metric import Metric, PointwiseTest


def grid_bounds(cells: Cells, metric: Metric, partition: Partition | None = None) -> tuple[float, float]:
    """Return the lowest and the highest possible value of a test-based metric on bins of whole cells.

    They hold wherever in its cell each score lies.

    Parameters
    ----------
    cells : Cells
        The rows.
    metric : Metric
        Its loss is a `PointwiseTest`, and its norm grows with each bin's loss, as `Mean`, `PNorm` and `Max` do.
    partition : Partition, optional
        Bins of `cells.tally`; the metric's own by default.

    Notes
    -----
    They bound the value on these bins. The exact scores are binned differently, and their value may lie outside: in 10
    of 12 data sets of 1e6 rows on 13 bits it did, by up to 1.3 points (docs/scale.md).
    """
    rejection = metric.loss
    if not isinstance(rejection, PointwiseTest):
        raise TypeError(f"`metric` must be test-based, its loss a `PointwiseTest`; its loss is {metric.loss!r}.")
    if partition is None:
        partition = cut(metric.binning, cells.tally)
    else:
        edges = np.asarray(cells.sampling.to_sampled(partition.edges))
        partition = check_partition(replace(partition, edges=edges), cells.tally, "`partition`")
    sizes = cells.sampling.rows(partition.n, partition.k)
    low, high = (
        metric.combine(sizes, np.asarray(100 * rejected / np.maximum(partition.n, 1)))
        for rejected in bound_rejected(cells, rejection, partition)
    )
    return low, high


def bound_rejected(cells: Cells, rejection: PointwiseTest, partition: Partition) -> tuple[Ints, Ints]:
    """Return the fewest and the most rows of each bin that the test can reject."""
    nonempty = np.flatnonzero(partition.n > 0)
    begin, end = partition.starts[nonempty], partition.starts[nonempty + 1]
    k, n = partition.k[nonempty], partition.n[nonempty]
    spread, tolerance = Spread.of(cells.tally, begin, end), rejection.tolerance
    level = rejection.significance if spread is None else spread.levels(rejection.significance)
    sure, perhaps = find_safe_cuts(rejection.test, k, n, level, tolerance, cells.sampling)
    bin_of = np.repeat(np.arange(len(nonempty)), end - begin)
    low, high, n = cells.low, cells.high, cells.n
    accepted = (low >= sure[bin_of, 2]) & (high <= sure[bin_of, 3])
    rejected = (high < perhaps[bin_of, 0]) | (low > perhaps[bin_of, 5])
    fewest, most = np.where(rejected, n, 0), np.where(accepted, 0, n)
    near = np.flatnonzero(~(accepted | rejected))
    fewest[near], most[near] = _bound_near_ends(
        sure[bin_of[near]], perhaps[bin_of[near]], low[near], high[near], n[near]
    )
    counts = np.zeros((2, len(partition)), np.int64)
    counts[:, nonempty] = np.add.reduceat(fewest, begin), np.add.reduceat(most, begin)
    return counts[0], counts[1]


def _bound_near_ends(sure: Floats, perhaps: Floats, low: Floats, high: Floats, n: Ints) -> tuple[Ints, Ints]:
    """Return the fewest and the most rejected rows of cells near an end; each cell has its own cuts."""
    _, hole, last, upper_last, upper_hole, _ = perhaps.T
    in_hole = ((low >= hole) & (high < last)) | ((low > upper_last) & (high <= upper_hole))
    rejected_ends = np.add(~is_inside(perhaps, low), ~is_inside(perhaps, high), dtype=np.int64)
    _, hole, last, upper_last, upper_hole, _ = sure.T
    over_hole = ((hole < last) & (low < hole) & (high >= hole)) | (
        (upper_last < upper_hole) & (low <= upper_last) & (high > upper_last)
    )
    accepted_ends = np.add(is_inside(sure, low), is_inside(sure, high), dtype=np.int64)
    inside = (accepted_ends == 2) & ~over_hole
    return np.where(in_hole, n, np.minimum(rejected_ends, n)), np.where(inside, 0, np.maximum(n - accepted_ends, 0))
