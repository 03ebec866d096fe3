"""Integrations with pytest, MLflow, torchmetrics, LightGBM and XGBoost.

Each library is imported only by the integration that needs it.
"""

from typing import TYPE_CHECKING, Any

from truecal.integrations._boosting import BoostingLog as BoostingLog
from truecal.integrations._testing import assert_calibrated as assert_calibrated

if TYPE_CHECKING:
    from truecal.integrations._mlflow import MlflowEvaluator as MlflowEvaluator
    from truecal.integrations._mlflow import log_result as log_result
    from truecal.integrations._mlflow import mlflow_metric as mlflow_metric
    from truecal.integrations._torch import CalibrationMetric as CalibrationMetric

# for users; the other names are for other packages of truecal
__all__ = [
    "BoostingLog",
    "CalibrationMetric",
    "MlflowEvaluator",
    "assert_calibrated",
    "log_result",
    "mlflow_metric",
]

LATE = {
    "CalibrationMetric": "truecal.integrations._torch",
    "MlflowEvaluator": "truecal.integrations._mlflow",
    "log_result": "truecal.integrations._mlflow",
    "mlflow_metric": "truecal.integrations._mlflow",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(LATE[name]), name)
