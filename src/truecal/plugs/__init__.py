"""truecal in what people already run: pytest, MLflow, torchmetrics, LightGBM, XGBoost, records of language models.

Each library is imported only by the part that needs it.
"""

from typing import TYPE_CHECKING, Any

from truecal.plugs._boosting import BoostingLog as BoostingLog
from truecal.plugs._records import read_inspect as read_inspect
from truecal.plugs._records import read_lm_eval as read_lm_eval
from truecal.plugs._testing import assert_calibrated as assert_calibrated

if TYPE_CHECKING:
    from truecal.plugs._mlflow import MlflowEvaluator as MlflowEvaluator
    from truecal.plugs._mlflow import log_result as log_result
    from truecal.plugs._mlflow import mlflow_metric as mlflow_metric
    from truecal.plugs._torch import CalibrationMetric as CalibrationMetric

# for users; the other names are for other packages of truecal
__all__ = [
    "BoostingLog",
    "CalibrationMetric",
    "MlflowEvaluator",
    "assert_calibrated",
    "log_result",
    "mlflow_metric",
    "read_inspect",
    "read_lm_eval",
]

LATE = {
    "CalibrationMetric": "truecal.plugs._torch",
    "MlflowEvaluator": "truecal.plugs._mlflow",
    "log_result": "truecal.plugs._mlflow",
    "mlflow_metric": "truecal.plugs._mlflow",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(LATE[name]), name)
