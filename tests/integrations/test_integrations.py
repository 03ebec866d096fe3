"""truecal in pytest, MLflow, torchmetrics, LightGBM and XGBoost: the real packages."""

import doctest
import importlib
import os
import subprocess
import sys
import textwrap
from types import SimpleNamespace

import numpy as np
import pytest
from pages import run_page

import truecal
from truecal import Metric, Uniform
from truecal.gate import Rule
from truecal.integrations import BoostingLog, assert_calibrated
from truecal.metrics import Gap

pytestmark = pytest.mark.slow


@pytest.fixture
def right(rng):
    p = rng.beta(2, 3, 3000)
    return rng.random(3000) < p, p


# ---- tests ---------------------------------------------------------------------------------------------------------


def test_a_right_model_passes_and_a_wrong_one_says_why(right):
    y, p = right
    assert_calibrated(y, p)
    with pytest.raises(AssertionError, match=r"(?s)fail.*Under-predicts"):
        assert_calibrated(y, p / 2)


def test_too_few_rows_pass_only_where_that_is_written(right):
    y, p = right[0][:30], right[1][:30]
    with pytest.raises(AssertionError, match="inconclusive"):
        assert_calibrated(y, p)
    assert_calibrated(y, p, allow_inconclusive=True)
    with pytest.raises(TypeError, match="must be left out if `rules`"):
        assert_calibrated(y, p, [Rule("verdict")], allow_inconclusive=True)


def test_labels_and_rules_are_those_of_the_gate(right):
    y, p = right
    assert_calibrated(np.where(y, "yes", "no"), p, [Rule("value", 0.5, metric="brier")], pos_label="yes")
    with pytest.raises(AssertionError, match="brier"):
        assert_calibrated(y, p, [Rule("value", 0.01, metric="brier")])


# ---- boosting ------------------------------------------------------------------------------------------------------


@pytest.fixture
def table(rng):
    x = rng.normal(size=(1200, 3))
    return x, (rng.random(1200) < 1 / (1 + np.exp(-x[:, 0]))).astype(int)


def test_lightgbm_logs_and_is_not_stopped(need, table):
    lightgbm = need("lightgbm")
    x, y = table
    lines = []
    log = BoostingLog(x[600:], y[600:], every=5, log=lines.append)
    booster = lightgbm.train(
        {"objective": "binary", "verbose": -1, "num_threads": 1, "num_leaves": 4},
        lightgbm.Dataset(x[:600], y[:600]),
        num_boost_round=20,
        callbacks=[log],
    )
    assert [row["round"] for row in log.history] == [5, 10, 15, 20]
    assert booster.current_iteration() == 20
    last = truecal.evaluate(y[600:], booster.predict(x[600:]), ["ltce", "log_loss"], null_draws=0)
    assert log.history[-1] == {
        "round": 20,
        "status": last.verdict.status,
        "ltce": last["ltce"],
        "log_loss": last["log_loss"],
    }
    assert lines[-1].startswith("[20] ltce ")
    assert lines[-1].endswith(last.verdict.status)


def test_xgboost_logs_and_is_not_stopped(need, table):
    xgboost = need("xgboost")
    x, y = table
    log = BoostingLog(xgboost.DMatrix(x[600:]), y[600:], every=4)
    booster = xgboost.train(
        {"objective": "binary:logistic", "nthread": 1, "max_depth": 2},
        xgboost.DMatrix(x[:600], y[:600]),
        num_boost_round=8,
        callbacks=[log.xgboost()],
    )
    assert [row["round"] for row in log.history] == [4, 8]
    p = booster.predict(xgboost.DMatrix(x[600:]))
    assert log.history[-1]["log_loss"] == truecal.evaluate(y[600:], p, ["log_loss"], null_draws=0)["log_loss"]


def test_boosting_logs_what_evaluate_computes(right):
    """Names with a threshold, and metrics of one's own; a booster is anything that predicts."""
    y, p = right
    own = {"wide": Metric(Uniform(4), Gap())}
    for metrics in (["net_benefit@0.05", "tce"], own):
        log = BoostingLog(p, y, metrics=metrics, every=1)
        log(SimpleNamespace(iteration=0, model=SimpleNamespace(predict=lambda data: data)))
        wanted = truecal.evaluate(y, p, metrics, null_draws=0)
        assert log.history == [{"round": 1, "status": wanted.verdict.status, **wanted.values}]
    with pytest.raises(ValueError, match="(?s)`metrics` must be among .*did you mean 'ltce'"):
        BoostingLog(p, y, metrics=["lcte"])


def test_looks_are_at_least_a_round_apart():
    with pytest.raises(ValueError, match="`every` must be 1 or more; it is 0"):
        BoostingLog([[0.0]], [0], every=0)


# ---- torchmetrics --------------------------------------------------------------------------------------------------


def test_batches_of_torch_give_what_one_array_does(need, rng):
    torch, _ = need("torch"), need("torchmetrics")
    from truecal.integrations import CalibrationMetric

    p = np.concatenate([rng.beta(0.2, 2, 4000), [0.0, 1.0, 0.5, 1e-15, 1 - 2**-50]])
    y = (rng.random(len(p)) < 0.7 * p).astype(int)
    metric = CalibrationMetric("ltce")
    for batch in np.array_split(np.arange(len(p)), 7):
        metric.update(torch.tensor(p[batch]), torch.tensor(y[batch]))
    found, wanted = metric.result(), truecal.evaluate(y, p, ["ltce"])
    assert float(metric.compute()) == pytest.approx(wanted["ltce"], abs=0.1)
    assert found.verdict.status == wanted.verdict.status == "miscalibrated"
    assert (found.n, found.positives) == (wanted.n, wanted.positives)
    assert not metric.higher_is_better
    assert found.verdict.expected == pytest.approx(wanted.verdict.expected, rel=1e-12)
    assert found.verdict.p_value == pytest.approx(wanted.verdict.p_value, rel=0.01)
    benefit = CalibrationMetric("net_benefit@0.05")
    benefit.update(torch.tensor(p), torch.tensor(y))
    assert benefit.higher_is_better
    assert float(benefit.compute()) == pytest.approx(
        truecal.evaluate(y, p, ["net_benefit@0.05"])["net_benefit@0.05"], abs=1e-3
    )
    metric.reset()
    metric.update(torch.tensor([0.2, 0.7], dtype=torch.float32), torch.tensor([False, True]))
    assert metric.result().n == 2


@pytest.mark.parametrize(
    ("preds", "target", "message"),
    [([0.2], [0, 1], "same size; they have 1 and 2"), ([1.2], [1], "torch.sigmoid"), ([0.2], [2], "must be 0 or 1")],
)
def test_tensors_that_do_not_fit_are_told(need, preds, target, message):
    torch, _ = need("torch"), need("torchmetrics")
    from truecal.integrations import CalibrationMetric

    with pytest.raises(ValueError, match=message):
        CalibrationMetric().update(torch.tensor(preds), torch.tensor(target))
    with pytest.raises(ValueError, match="`metrics` must be among"):
        CalibrationMetric("nonsense")


def test_two_processes_of_torch_give_what_one_does(need, tmp_path):
    need("torch")
    need("torchmetrics")
    script = tmp_path / "ddp.py"
    script.write_text(
        textwrap.dedent(
            """
            import sys
            import torch
            import torch.distributed as dist
            import torch.multiprocessing as mp
            from truecal.integrations import CalibrationMetric

            p = torch.linspace(0.01, 0.99, 400, dtype=torch.float64)
            y = (torch.arange(400) * 7 % 10 < 3).long()

            def work(rank, place):
                dist.init_process_group("gloo", init_method=f"file://{place}", rank=rank, world_size=2)
                metric = CalibrationMetric("ece")
                metric.update(p[rank::2], y[rank::2])
                value = metric.compute()
                if rank == 0:
                    whole = CalibrationMetric("ece", sync_on_compute=False)
                    whole.update(p, y)
                    print(float(value), float(whole.compute()))
                dist.destroy_process_group()

            if __name__ == "__main__":
                mp.start_processes(work, (sys.argv[1],), nprocs=2, start_method="fork")
            """
        )
    )
    run = subprocess.run(
        [sys.executable, script, tmp_path / "meet"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert run.returncode == 0, run.stderr
    one, two = map(float, run.stdout.split())
    assert one == pytest.approx(two, rel=1e-12)
    assert one > 0.1


# ---- MLflow --------------------------------------------------------------------------------------------------------


# MLflow's own imports warn
LENIENT = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def tracked(need, tmp_path, monkeypatch):
    mlflow = need("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path / 'runs.db'}" if _has("sqlalchemy") else (tmp_path / "runs").as_uri())
    yield mlflow
    while mlflow.active_run() is not None:
        mlflow.end_run()


def _has(name):
    import importlib.util

    return importlib.util.find_spec(name) is not None


@LENIENT
def test_a_result_is_logged_to_a_run_with_report_and_picture(tracked, right):
    from truecal.integrations import log_result

    result = truecal.evaluate(*right)
    with tracked.start_run() as run:
        log_result(result)
    logged = tracked.get_run(run.info.run_id)
    assert logged.data.metrics["truecal/ltce"] == result["ltce"]
    assert logged.data.metrics["truecal/observed_over_expected"] == result.verdict.ratio
    assert logged.data.tags["truecal.verdict"] == result.verdict.status
    place = tracked.artifacts.download_artifacts(run_id=run.info.run_id, artifact_path="truecal")
    assert sorted(os.listdir(place)) == ["calibration.png", "report.html", "result.json"]


@LENIENT
def test_mlflow_finds_the_evaluator_and_its_metrics(tracked, need, right):
    pandas = need("pandas")
    from truecal.integrations import MlflowEvaluator, mlflow_metric

    y, p = right
    frame = pandas.DataFrame({"y": y.astype(int), "p": p})
    from mlflow.models.evaluation.evaluator_registry import _model_evaluation_registry as registry

    registry.register("truecal", MlflowEvaluator)  # as the entry point does where the wheel is installed
    with tracked.start_run() as run:
        found = tracked.models.evaluate(
            data=frame, targets="y", predictions="p", model_type="classifier", evaluators="truecal"
        )
    wanted = truecal.evaluate(y, p)
    assert found.metrics["truecal/ltce"] == wanted["ltce"]
    assert tracked.get_run(run.info.run_id).data.tags["truecal.verdict"] == wanted.verdict.status
    metric = mlflow_metric("ece")
    assert metric.eval_fn(frame.p, frame.y) == wanted["ece"]
    assert not metric.greater_is_better
    assert mlflow_metric("net_benefit@0.05").greater_is_better


@LENIENT
def test_the_blocks_of_the_page_run(tracked, need, rng, tmp_path):
    """Of what they leave to the reader: a model and its data."""
    torch, lightgbm, xgboost, pandas = map(need, ("torch", "lightgbm", "xgboost", "pandas"))
    linear = need("sklearn.linear_model")
    need("torchmetrics")
    from mlflow.models.evaluation.evaluator_registry import _model_evaluation_registry as registry

    from truecal.integrations import MlflowEvaluator

    registry.register("truecal", MlflowEvaluator)
    x = rng.normal(size=(600, 2))
    y = (rng.random(600) < 1 / (1 + np.exp(-x[:, 0]))).astype(int)
    run_page(
        "docs/integrations.md",
        tmp_path,
        {
            **{"truecal": truecal, "frame": pandas.DataFrame({"y": y, "p": 1 / (1 + np.exp(-x[:, 0]))})},
            "x": rng.normal(size=(5000, 2)),
            **{"device": "cpu", "loader": [(torch.tensor(x), torch.tensor(y))], "model": lambda each: each[:, 0]},
            **{"data": lightgbm.Dataset(x, y), "matrix": xgboost.DMatrix(x, y), "x_held": x, "y_held": y},
            "classifier": linear.LogisticRegression(),
        },
    )


@LENIENT
@pytest.mark.parametrize(("module", "library"), [("_mlflow", "mlflow"), ("_torch", "torchmetrics")])
def test_examples_of_what_needs_a_library_run(need, request, module, library):
    need(library)
    if library == "mlflow":
        request.getfixturevalue("tracked")
    ran = doctest.testmod(importlib.import_module(f"truecal.integrations.{module}"))
    assert ran.failed == 0
    assert ran.attempted > 0
