"""The verdict on a model: its status and p-value, the component tests, and the detectable errors."""

from __future__ import annotations

import math
from dataclasses import dataclass

from truecal._codes import Code
from truecal.data import NO_SAMPLING, Outcome, Sampling
from truecal.metrics import Direction, LocalError, OddsRatio, ScoreBand, Tolerance, find_direction

FACTOR = 1.5  # the odds ratio on all predictions that "consistent" rules out
FEW_CLUSTERS = 10  # below which the variance between clusters can hardly be estimated
FEW_ROWS = 20  # below which a calibrated model has less than one prediction rejected at the usual level


class Status(Code):
    """The status of a verdict.

    Examples
    --------
    >>> import truecal
    >>> truecal.evaluate([0, 1] * 100, [0.25] * 200).verdict.status is Status.MISCALIBRATED
    True
    """

    MISCALIBRATED = "miscalibrated"
    CONSISTENT = "consistent"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True, repr=False)
class Verdict:
    """Whether predictions are calibrated, and which error was detectable.

    Parameters
    ----------
    status : Status
        "miscalibrated": the p-value is at most the significance. "consistent": it is not, and an odds ratio of 1.5 on
        all predictions, beyond the tolerance if there is one, was detectable with 80% power. "inconclusive": neither.
    p_value : float
        The p-value of "the predictions are calibrated".
    significance : float
        The level of the status.
    tests : dict
        The p-value of each component test, by name, in the order of `COMPONENTS`.
    n, observed, expected : int, int or float, float
        Rows, positives, and the sum of the predictions; these two are of the population if rows were sampled by label,
        and of true labels if there is label noise.
    contradicted : int
        Positives at a prediction of 0 and negatives at 1.
    odds_ratio : OddsRatio
        The odds ratio on all predictions estimated from the positives, and O/E, with intervals of confidence
        1 - significance.
    detectable : float
        The minimum detectable odds ratio on all predictions, in both directions (80% power); infinite if there is none.
        With a tolerance it applies beyond it: to the odds of predictions raised or lowered by it.
    detectable_above, detectable_below : float
        The same for an error confined to a fifth of the information: odds multiplied, and odds divided by it.
    local : LocalError
        Local TCE: where, and how many predictions.
    tolerance : Tolerance, optional
        How far predictions may miss and still count as calibrated.
    outcome : "positive" or "correct"
        What is counted: positives, or rows whose top label is correct. Predictions are then the confidences in it.
    sampling : Sampling
        How rows and labels were sampled.
    clusters : int, optional
        The number of customers, patients or documents that rows belong to; None if rows are independent.
    design_effect : float
        The variance of the number of positives over that of independent rows.
    cluster : str, optional
        The column that identifies clusters, if it has a name.
    bands : tuple of ScoreBand
        All predictions in a few score bands, with a direction if they are shown to miss; empty if not computed.
    complete : bool
        Whether all predictions were evaluated, not only the highest.
    slope_direction : Direction, optional
        Overconfident: high predictions are too high and low ones too low, shown at the significance by Cox's test and
        by the slope alone. Underconfident: the reverse.

    Examples
    --------
    >>> import numpy as np
    >>> from truecal.data import Cells
    >>> from truecal.verdict import judge
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(0.5, 5, size=20_000)
    >>> y = rng.random(20_000) < p
    >>> judge(Cells.from_arrays(y, p)).status
    'consistent'
    >>> judge(Cells.from_arrays(y, np.where(p > 0.05, p / 2, p))).status
    'miscalibrated'
    >>> judge(Cells.from_arrays(np.zeros(300), np.full(300, 0.001))).status
    'inconclusive'
    """

    status: Status
    p_value: float
    significance: float
    tests: dict[str, float]
    n: int
    observed: int | float
    expected: float
    contradicted: int
    odds_ratio: OddsRatio
    detectable: float
    detectable_above: float
    detectable_below: float
    local: LocalError
    tolerance: Tolerance | None = None
    outcome: Outcome = "positive"
    sampling: Sampling = NO_SAMPLING
    clusters: int | None = None
    design_effect: float = 1.0
    cluster: str | None = None
    bands: tuple[ScoreBand, ...] = ()
    complete: bool = True
    slope_direction: Direction | None = None

    @property
    def ratio(self) -> float:
        """Observed over expected (O/E); NaN if neither is above 0."""
        if self.expected > 0:
            return self.observed / self.expected
        return math.inf if self.observed else math.nan

    @property
    def interval(self) -> tuple[float, float]:
        """The confidence interval of O/E, under a common odds ratio; exact for independent rows."""
        return self.odds_ratio.ratio_low, self.odds_ratio.ratio_high

    @property
    def certain(self) -> bool:
        """Whether every prediction is exactly 0 or 1: such have no odds."""
        return math.isnan(self.odds_ratio.value)

    @property
    def total_direction(self) -> Direction | None:
        """Whether the model under-predicts or over-predicts in total; None if the interval does not show it."""
        if self.expected == 0 and self.observed > 0:
            return Direction.UNDER
        return find_direction(*self.interval)

    @property
    def total_alone(self) -> bool:
        """Whether the total is significant, as the confidence interval of O/E shows, but all tests combined are not."""
        total = self.tests.get("total", 1.0)
        return total <= self.significance < self.p_value and self.total_direction is not None

    @property
    def direction(self) -> Direction | None:
        """The direction of the total, or that of the slope if the total shows none."""
        return self.total_direction or self.slope_direction

    @property
    def few(self) -> bool:
        """Whether there are too few rows for a share of rejected predictions to mean anything."""
        return self.n < FEW_ROWS and self.local.value * self.n < 100

    @property
    def summary(self) -> str:
        """The verdict in one sentence."""
        from truecal import words

        return words.summarize_verdict(self)

    def sentences(self) -> tuple[str, ...]:
        """Return the verdict in sentences: the summary, the tests, the detectable errors, and remarks."""
        from truecal import words

        return words.describe_verdict(self)

    def __repr__(self) -> str:
        return "\n".join(self.sentences())
