"""A calibration metric for torchmetrics: counts in cells, which are summed over batches and processes."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torchmetrics import Metric

from truecal.analysis import evaluate
from truecal.data import Tally
from truecal.metrics import PointwiseTest, choose
from truecal.results import Result

FRACTION_BITS = 11  # leading bits of a score's fraction: scores of a cell differ by less than one in 2,048
LOWEST_EXPONENT = 40  # scores below 2^-40, or above 1 - 2^-40, share a cell
HALF_CELLS = LOWEST_EXPONENT << FRACTION_BITS  # cells on either side of 1/2


class CalibrationMetric(Metric):  # type: ignore[misc]
    """A calibration metric of probabilities and labels, on counts in 163,840 cells.

    States are sums, so the value does not depend on the number of batches and processes. The mean score of a cell
    replaces its scores, which changes a score by less than 0.05%.

    Parameters
    ----------
    metric : str
        The name of the metric that `compute` returns.
    options
        The options of torchmetrics' `Metric`.

    Examples
    --------
    >>> import torch
    >>> from truecal.integrations import CalibrationMetric
    >>> metric = CalibrationMetric("ece")
    >>> metric.update(torch.tensor([0.2, 0.7, 0.9]), torch.tensor([0, 1, 1]))
    >>> round(float(metric.compute()), 3)
    0.2
    """

    is_differentiable = False
    full_state_update = False

    def __init__(self, metric: str = "ltce", **options: Any) -> None:
        super().__init__(**options)
        ((self.metric, self._measure),) = choose([metric], None, PointwiseTest()).items()
        for name, kind in (("n", torch.int64), ("pos", torch.int64), ("total", torch.float64)):
            self.add_state(name, default=torch.zeros(2 * HALF_CELLS, dtype=kind), dist_reduce_fx="sum")

    @property
    def higher_is_better(self) -> bool | None:
        """Whether larger values are better; None if the optimum lies between bad values."""
        return {"high": False, "low": True}.get(self._measure.bad)

    def update(self, preds: torch.Tensor, target: torch.Tensor) -> None:
        """Add probabilities of the positive class, and labels of 0 and 1."""
        p, y = preds.detach().flatten().to(torch.float64), target.detach().flatten().to(torch.int64)
        if p.shape != y.shape:
            raise ValueError(f"`preds` and `target` must be of the same size; they have {len(p):,} and {len(y):,}.")
        if not bool(((p >= 0) & (p <= 1)).all()):
            raise ValueError("`preds` must be probabilities in [0, 1]; some are not.\n\nHint: torch.sigmoid(logits).")
        if not bool(((y == 0) | (y == 1)).all()):
            raise ValueError("`target` must be 0 or 1; some labels are not.")
        cell = _locate_cells(p)
        self.n.index_add_(0, cell, torch.ones_like(y))
        self.pos.index_add_(0, cell, y)
        self.total.index_add_(0, cell, p)

    def compute(self) -> torch.Tensor:
        """Return the metric's value."""
        return torch.tensor(self.result(null_draws=0)[self.metric], dtype=torch.float64)

    def result(self, **options: Any) -> Result:
        """Return the result of this process's rows, with its verdict; options are those of `truecal.evaluate`."""
        nonempty = self.n > 0
        n, pos = self.n[nonempty].cpu().numpy(), self.pos[nonempty].cpu().numpy()
        score = (self.total[nonempty].cpu().numpy() / n).clip(0, 1)  # a mean may round to just above 1
        order = np.argsort(score, kind="stable")
        result: Result = evaluate(Tally(score[order], n[order], pos[order]), metrics=[self.metric], **options)
        return result


def _locate_cells(p: torch.Tensor) -> torch.Tensor:
    """Return the cell of each score, by the leading bits of its distance from the nearer of 0 and 1."""
    upper = p > 0.5
    near = torch.where(upper, 1 - p, p).clamp(min=2.0**-LOWEST_EXPONENT)
    # a float64 has 52 bits of fraction and an exponent with a bias of 1023
    lead = (near.view(torch.int64) >> (52 - FRACTION_BITS)) - ((1023 - LOWEST_EXPONENT) << FRACTION_BITS)
    return lead.clamp(0, HALF_CELLS - 1) + HALF_CELLS * upper
