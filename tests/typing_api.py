"""The public API as a type checker sees it: this file must pass `mypy --strict`. It is not run."""

from typing import assert_type

import numpy as np

import truecal
from truecal import BoundedIsotonic, ClassResults, Metric, Quantile, Relative, Result, Tally
from truecal.metrics import Absolute, Gap, Max, PointwiseTest, ScoreTest, StudentT

y, p = np.array([0, 1]), np.array([0.2, 0.7])

assert_type(truecal.tce(y, p), float)
assert_type(truecal.tce(y, p, binning="pava-bc", test=StudentT(), tolerance=Relative(0.1)), float)
assert_type(truecal.tce([0, 1], [0.2, 0.7], binning=5, tolerance=0.01, sample_weight=[1, 2]), float)
assert_type(truecal.ece(y, p, binning=15), float)
assert_type(truecal.evaluate(y, p), Result)
assert_type(truecal.evaluate_classes(y, np.ones((2, 3)) / 3), ClassResults)
assert_type(truecal.evaluate(Tally.from_arrays(y, p)), Result)
assert_type(
    Metric(BoundedIsotonic(sizes="paper"), PointwiseTest(ScoreTest(), 0.01, Absolute(0.02)))(Tally.from_arrays(y, p)),
    float,
)
assert_type(truecal.metrics.compute(Metric(Quantile(5), Gap(), Max()), y, p), float)
assert_type(Tally.from_arrays(y, p) + Tally.from_arrays(y, p), Tally)
assert_type(truecal.evaluate(y, p)["tce"], float)
assert_type(len(truecal.evaluate(y, p).bins), int)
data = truecal.read("a.csv", label="y", score="p", by="place", time="day", every="1w", baseline="q")
assert_type(data, truecal.Observations)
assert_type(truecal.read_models("a.csv", label="y", score=["p", "q"]), dict[str, truecal.Observations])
assert_type(truecal.evaluate(data), Result)
assert_type(truecal.evaluate({"a": data}), truecal.results.Models)
assert_type(truecal.evaluate(data, ["tce"], null_draws=100), Result)
assert_type(truecal.evaluate(data, metrics=["tce"]), Result)
assert_type(truecal.segments(data, by="place"), truecal.results.GroupTable)
assert_type(truecal.compare(data, ["tce"]), truecal.results.Comparison)
assert_type(truecal.check(data, "gate.toml"), truecal.Decision)
assert_type(truecal.drift(data, every="1mo"), truecal.results.DriftTable)
assert_type(data + data, truecal.Observations)
assert_type(truecal.read("a.csv", label="pet", score="p_*", multiclass="top-label"), truecal.Observations)
classes = truecal.read("a.csv", label="pet", score=["p_cat", "p_dog"], multiclass="classwise", labels=["cat", "dog"])
assert_type(classes, truecal.data.ClassObservations)
assert_type(truecal.evaluate_classes(classes, ["tce"]), ClassResults)
assert_type(truecal.evaluate(classes), ClassResults)
assert_type(truecal.evaluate(y, np.ones((2, 3)) / 3, multiclass="classwise"), ClassResults)
assert_type(truecal.evaluate(y, np.ones((2, 3)) / 3, multiclass="top-label"), Result)
assert_type(truecal.check(classes), truecal.Decision)
assert_type(truecal.check(data, significance=0.001, tolerance=0.01, resamples=100), truecal.Decision)
assert_type(truecal.recalibrate(data, kind="beta", by="place", folds=3), truecal.results.Recalibration)
assert_type(truecal.recalibrate(y, p, sample_weight=[1, 2], cluster=["a", "b"]), truecal.results.Recalibration)
assert_type(truecal.evaluate(y, p, sample_weight=[1, 2], missing="drop", significance=0.01), Result)
assert_type(truecal.evaluate_classes(y, np.ones((2, 3)) / 3, labels=["a", "b", "c"], cluster=[1, 2]), ClassResults)
truecal.evaluate(y, p, nul_draws=3)  # type: ignore[call-overload]
truecal.recalibrate(y, p, fold=3)  # type: ignore[call-arg]
truecal.report(truecal.evaluate(y, p), "a.html", titel="a")  # type: ignore[call-arg]
