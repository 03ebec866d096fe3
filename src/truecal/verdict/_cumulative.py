"""The component test of cumulative differences between labels and predictions."""

from __future__ import annotations

import numpy as np

from truecal import _kernel
from truecal.data import Bools, CellGroups, Floats
from truecal.verdict._component import ASYMPTOTIC, GroupData


class CumulativeTest:
    """Test the range of the cumulative differences between labels and predictions (ECCE-R).

    In the order of scores, the sums of y - p form a walk whose steps have the variance p (1 - p). Its range, the
    highest minus the lowest point, over sqrt(V), V the information, has asymptotically the distribution of the range of
    Brownian motion on the unit interval,

        P(R > r) = 4 sum over k >= 1 of (-1)^(k - 1) k P(|N| > k r).

    Groups with clustered rows are left out: the walk takes rows as independent.

    References
    ----------
    Feller. The asymptotic distribution of the range of sums of independent random variables. Annals of Mathematical
    Statistics 22, 1951.
    Arrieta-Ibarra, Gujral, Tannen, Tygert, Xu. Metrics of calibration for probabilistic predictions. JMLR 23, 2022.
    """

    name: str = "cumulative"
    title: str = "cumulative differences"
    statistic: str = (
        "the range of cumulative differences between labels and predictions over sqrt(V), against Brownian motion's "
        "(ECCE-R)"
    )
    looks_for: str = "differences that add up along the scores"
    weight: float = 1.0
    least_information: float = ASYMPTOTIC

    def applies(self, data: GroupData) -> Bools:
        """Return the groups of independent rows with enough information."""
        return data.informative(self.least_information)

    def p_values(self, data: GroupData) -> Floats:
        """Return the p-value of each group."""
        return data.fill(self.applies(data), _test_ranges)


def _test_ranges(groups: CellGroups) -> Floats:
    ranges = _kernel.walk_ranges(groups.cells.surplus, groups.starts)
    return _kernel.range_tails(ranges / np.sqrt(groups.add(groups.cells.v)))
