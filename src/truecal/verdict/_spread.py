"""The component test of many small errors of which none stands out."""

from __future__ import annotations

import numpy as np

from truecal import _kernel
from truecal.data import Bools, CellGroups, Floats
from truecal.verdict._combine import HIGHEST_P, as_cauchy, from_cauchy
from truecal.verdict._component import ASYMPTOTIC, GroupData

# The least information of a piece whose squared error is summed: smaller ones have so few likely outcomes that three
# moments do not describe their squares.
SMALLEST = 4.0


class SpreadTest:
    """Test whether the numbers of positives in many score windows vary more than if calibrated.

    At each level of the scan by information (`ScanTest`), with k positives in a piece of information v, the statistic
    is the sum of (k - E k)^2 / v over the pieces with v >= 4. Its p-value is the upper tail of the gamma distribution
    with the same mean, variance and skewness. Levels are combined by the Cauchy mean of their p-values.

    It has power against many small errors of which none stands out. Against these it is very small, so that half the
    weight of the other tests is enough.

    Groups with clustered rows are left out: the variances take rows as independent.
    """

    name: str = "spread"
    title: str = "many small errors"
    statistic: str = (
        "at each level of the first scan the sum of squared errors over their variances, against a gamma distribution "
        "with the same three moments"
    )
    looks_for: str = "many small errors of which none stands out"
    weight: float = 0.5
    least_information: float = ASYMPTOTIC

    def applies(self, data: GroupData) -> Bools:
        """Return the groups of independent rows with enough information."""
        return data.informative(self.least_information)

    def p_values(self, data: GroupData) -> Floats:
        """Return the p-value of each group."""
        return data.fill(self.applies(data), _test_squares)


def _test_squares(groups: CellGroups) -> Floats:
    cells, count = groups.cells, len(groups)
    p, group = _kernel.square_tails(cells.n, cells.q, cells.v, cells.surplus, cells.upper, groups.starts, SMALLEST)
    levels = np.bincount(group, minlength=count)
    means = np.bincount(group, as_cauchy(p, HIGHEST_P), count) / np.maximum(levels, 1)
    return np.where(levels > 0, from_cauchy(means), 1.0)
