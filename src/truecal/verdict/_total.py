"""The component test of the total number of positives."""

from __future__ import annotations

import numpy as np

from truecal.data import Bools, Floats
from truecal.verdict._component import GroupData


class TotalTest:
    """Test all positives against the sum of the predictions.

    Under the predictions the number of positives X is Poisson-binomial, the sum of independent Bernoulli variables of
    unequal probabilities. The p-value is the two-sided mid-p-value of X: outcomes less likely than the one observed
    count in full, the observed one by half.

    With a tolerance the predictions are rejected if X is too large for every p raised by it, or too small for every p
    lowered by it: the p-value is twice the smaller of P(X >= k) with raised and P(X <= k) with lowered predictions.

    Rows in clusters: the tails allow for the design effect of all rows (`truecal.metrics.Design`).
    """

    name: str = "total"
    title: str = "the total"
    statistic: str = "all positives against the sum of the predictions: exact Poisson-binomial, two-sided mid-p"
    looks_for: str = "all positives together"
    weight: float = 1.0
    least_information: float = 0.0

    def applies(self, data: GroupData) -> Bools:
        """Return every group."""
        return data.every(True)

    def p_values(self, data: GroupData) -> Floats:
        """Return the p-value of each group."""
        if data.tolerance is None:
            return data.total
        _, at_raised, above = data.positives.moved(data.tolerance, up=True).tails(*data.groups.bounds)
        below, at_lowered, _ = data.positives.moved(data.tolerance, up=False).tails(*data.groups.bounds)
        return np.asarray(np.minimum(1.0, 2 * np.minimum(at_raised + above, below + at_lowered)))
