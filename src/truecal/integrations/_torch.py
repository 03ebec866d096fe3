"""Calibration as a metric of torchmetrics: counts in cells, which add over batches and processes."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torchmetrics import Metric

from truecal.analysis import evaluate
from truecal.data import Tally
from truecal.metrics import PointwiseTest, choose
from truecal.results import Result

BITS = 11  # of a score's fraction: scores of a cell differ by less than one in 2,048
LOWEST = 40  # scores below 2^-40, or above 1 - 2^-40, share a cell
HALF = LOWEST << BITS  # cells on either side of 1/2


class CalibrationMetric(Metric):  # type: ignore[misc]
    """A calibration metric of probabilities and labels, on counts in 163,840 cells.

    States are sums, so any number of batches and processes give what one would. Within a cell the mean score stands for
    all; what that changes is below 0.05% of a score.

    Parameters
    ----------
    metric : str
        The metric that `compute` gives, by its name.
    options
        Those of torchmetrics' `Metric`.

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
            self.add_state(name, default=torch.zeros(2 * HALF, dtype=kind), dist_reduce_fx="sum")

    @property
    def higher_is_better(self) -> bool | None:
        """Whether larger values are better; None where both sides are bad."""
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
        cell = _find_cells(p)
        self.n.index_add_(0, cell, torch.ones_like(y))
        self.pos.index_add_(0, cell, y)
        self.total.index_add_(0, cell, p)

    def compute(self) -> torch.Tensor:
        """The metric's value."""
        return torch.tensor(self.result(null_draws=0)[self.metric], dtype=torch.float64)

    def result(self, **options: Any) -> Result:
        """The result of this process's rows, with its verdict; options are those of `truecal.evaluate`."""
        there = self.n > 0
        n, pos = self.n[there].cpu().numpy(), self.pos[there].cpu().numpy()
        score = (self.total[there].cpu().numpy() / n).clip(0, 1)
        order = np.argsort(score, kind="stable")
        found: Result = evaluate(Tally(score[order], n[order], pos[order]), metrics=[self.metric], **options)
        return found


def _find_cells(p: torch.Tensor) -> torch.Tensor:
    """The cell of each score, by the leading bits of its distance from the nearer end."""
    upper = p > 0.5
    near = torch.where(upper, 1 - p, p).clamp(min=2.0**-LOWEST)
    lead = (near.view(torch.int64) >> (52 - BITS)) - ((1023 - LOWEST) << BITS)
    return lead.clamp(0, HALF - 1) + HALF * upper
