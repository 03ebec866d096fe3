"""Log calibration while trees are boosted, without early stopping.

Calibration metrics go up and down while log loss still falls; early stopping on them would stop too soon.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from truecal.analysis import evaluate
from truecal.metrics import Measure, PointwiseTest, choose

Predict = Callable[[Any], Any]


class BoostingLog:
    """Log metrics of held-out rows every few rounds of LightGBM or XGBoost.

    Give it as a callback to `lightgbm.train`, and its `xgboost()` to `xgboost.train`.

    Parameters
    ----------
    data : features
        Held-out rows, as the booster's `predict` takes them: arrays or frames for LightGBM, a `DMatrix` for XGBoost.
    y_true : column of labels
        0 and 1.
    metrics : names, or mapping of names to metrics
        The metrics that are logged, as in `truecal.evaluate`.
    every : int
        The number of rounds between evaluations.
    log : callable, optional
        Called with a line of text, such as `print` or a logger's `info`.

    Attributes
    ----------
    history : list of dict
        A row for each look: "round", "status" (of the verdict), and the value of each metric.

    Examples
    --------
    >>> from truecal.integrations import BoostingLog
    >>> log = BoostingLog([[0.0], [1.0]], [0, 1], every=10)
    >>> log.history
    []
    """

    order = 30  # of LightGBM's callbacks: after evaluation, as its own log
    before_iteration = False

    def __init__(
        self,
        data: Any,
        y_true: Any,
        *,
        metrics: Iterable[str] | Mapping[str, Measure] = ("ltce", "log_loss"),
        every: int = 10,
        log: Callable[[str], object] | None = None,
    ) -> None:
        if every < 1:
            raise ValueError(f"`every` must be 1 or more; it is {every!r}.")
        self.history: list[dict[str, Any]] = []
        self._data, self._labels, self._every, self._log = data, y_true, every, log
        self._metrics = choose(metrics, None, PointwiseTest())

    def __call__(self, env: Any) -> None:
        """Evaluate the model after a round, as LightGBM calls it."""
        self._evaluate_round(env.iteration, env.model.predict)

    def xgboost(self) -> Any:
        """Return the callback for XGBoost, which adds to this history."""
        import xgboost

        outer = self

        class Callback(xgboost.callback.TrainingCallback):  # type: ignore[misc]
            def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
                outer._evaluate_round(epoch, model.predict)
                return False  # never stop

        return Callback()

    def _evaluate_round(self, number: int, predict: Predict) -> None:
        """Evaluate every few rounds, and log the values."""
        if (number + 1) % self._every:
            return
        result = evaluate(self._labels, predict(self._data), self._metrics, null_draws=0)
        assert result.verdict is not None
        values = {name: result[name] for name in self._metrics}
        self.history.append({"round": number + 1, "status": result.verdict.status, **values})
        if self._log is not None:
            text = ", ".join(f"{name} {metric.format(values[name])}" for name, metric in self._metrics.items())
            self._log(f"[{number + 1}] {text}: {result.verdict.status}")
