"""MLflow: an evaluator for `mlflow.models.evaluate`, metrics for it, and results logged to a run."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import mlflow
import numpy as np
from mlflow.models import EvaluationMetric, make_metric
from mlflow.models.evaluation.base import EvaluationResult, ModelEvaluator

from truecal.analysis import evaluate
from truecal.metrics import PointwiseTest, choose, compute
from truecal.plot import save
from truecal.reporting import report
from truecal.results import Result


def mlflow_metric(name: str = "ltce") -> EvaluationMetric:
    """Return a metric for `extra_metrics` of `mlflow.models.evaluate`; predictions are probabilities.

    Parameters
    ----------
    name : str
        A name of `truecal.metrics.METRICS`, or "net_benefit@0.05".

    Examples
    --------
    >>> from truecal.integrations import mlflow_metric
    >>> mlflow_metric("ece").name
    'ece'
    """
    metric = choose([name], None, PointwiseTest())[name]

    def eval_fn(predictions: Any, targets: Any) -> float:
        return compute(metric, np.asarray(targets), np.asarray(predictions, dtype=np.float64))

    return make_metric(eval_fn=eval_fn, greater_is_better=metric.bad == "low", name=name)


def log_result(result: Result, prefix: str = "truecal") -> dict[str, float]:
    """Log a result to the active run: numbers as metrics, the verdict as a tag, the report and the plot as files.

    Return the metrics, of which finite ones are logged.

    Parameters
    ----------
    result : Result
        What `evaluate` returned.
    prefix : str
        What names of metrics, the tag and the folder of files begin with.

    Examples
    --------
    >>> import mlflow, truecal
    >>> from truecal.integrations import log_result
    >>> with mlflow.start_run():
    ...     logged = log_result(truecal.evaluate([0, 1] * 100, [0.25] * 200, ["ece"]))
    >>> logged["truecal/ece"], logged["truecal/observed_over_expected"]
    (0.25, 2.0)
    """
    verdict = result.verdict
    assert verdict is not None
    metrics = {f"{prefix}/{name}": float(result[name]) for name in result.metrics}
    metrics |= {f"{prefix}/verdict_p": verdict.p_value, f"{prefix}/observed_over_expected": verdict.ratio}
    mlflow.log_metrics({name: value for name, value in metrics.items() if np.isfinite(value)})
    mlflow.set_tag(f"{prefix}.verdict", verdict.status)
    with tempfile.TemporaryDirectory() as folder:
        report(result, Path(folder) / "report.html")
        save(Path(folder) / "calibration.png", "calibration", result)
        (Path(folder) / "result.json").write_text(result.to_json(), encoding="utf-8")
        mlflow.log_artifacts(folder, prefix)
    return metrics


class MlflowEvaluator(ModelEvaluator):  # type: ignore[misc]
    """The evaluator of `mlflow.models.evaluate(..., evaluators="truecal")`, which logs a result of probabilities.

    `evaluator_config` takes options of `truecal.evaluate`, such as `sampling`, and `pos_label`.

    Examples
    --------
    >>> from truecal.integrations import MlflowEvaluator
    >>> MlflowEvaluator.can_evaluate(model_type="classifier", evaluator_config=None)
    True
    """

    @classmethod
    def can_evaluate(cls, *, model_type: str, evaluator_config: Any, **kwargs: Any) -> bool:
        """Return whether the model is a classifier, or predictions are given without a model."""
        return model_type in ("classifier", None)

    def evaluate(
        self,
        *,
        dataset: Any,
        run_id: str,
        evaluator_config: dict[str, Any] | None = None,
        model: Any = None,
        **kwargs: Any,
    ) -> EvaluationResult:
        """Evaluate probabilities, and log the result to the run."""
        predicted = dataset.predictions_data if model is None else model.predict(dataset.features_data)
        p = np.asarray(predicted, dtype=np.float64)
        result = evaluate(np.asarray(dataset.labels_data), p, **(evaluator_config or {}))
        with mlflow.start_run(run_id=run_id, nested=mlflow.active_run() is not None):
            metrics = log_result(result)
        return EvaluationResult(metrics=metrics, artifacts={}, run_id=run_id)
