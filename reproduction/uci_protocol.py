"""The paper's UCI experiment: z-scores over all rows, a 70/30 split, five classifiers with fixed seeds.

Finished fits are kept in the cache under a key of the data, the settings and the library versions, so that a
stopped run goes on where it was and a changed setting never meets an old model.
"""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC

from reproduction.places import write_whole
from reproduction.sources import UCI_TEST_ROWS, Array, Missing

MODELS: dict[str, tuple[type, dict[str, Any]]] = {
    "LR": (LogisticRegression, {"max_iter": 10000}),
    "SVM": (SVC, {"kernel": "rbf", "probability": True}),
    "RF": (RandomForestClassifier, {"max_depth": 10}),
    "GB": (GradientBoostingClassifier, {}),
    "MLP": (MLPClassifier, {"hidden_layer_sizes": (1000,), "max_iter": 10000}),
}


@dataclass(frozen=True)
class Split:
    """A set, standardised and split as in the paper."""

    x_train: Array
    y_train: Array
    x_test: Array
    y_test: Array


@dataclass(frozen=True)
class Fit:
    """Test predictions of one model, the seconds its fit took, and whether it is from the cache."""

    score: Array
    seconds: float
    cached: bool


def split(name: str, data: Array, target: Array) -> Split:
    """Standardise over all rows (population sd; spambase: sample sd) and split, as the paper did.

    Raises `Missing` when the split does not show the set's known test rows and positives: then it is another set.
    """
    x = data.astype(np.float64)
    deviation = x.std(axis=0, ddof=1 if name == "spambase" else 0)
    x = (x - x.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    x_train, x_test = train_test_split(x, test_size=0.3, random_state=0)
    y_train, y_test = train_test_split(target, test_size=0.3, random_state=0)
    found = (len(y_test), int(y_test.sum()))
    if name in UCI_TEST_ROWS and found != UCI_TEST_ROWS[name]:
        raise Missing(name, f"its test split has {found} rows and positives, not {UCI_TEST_ROWS[name]}")
    return Split(x_train, y_train, x_test, y_test)


def fit(name: str, model: str, parts: Split, cache: Path, **settings: Any) -> Fit:
    """Test predictions of one model, fitted now or taken from the cache."""
    kind, chosen = MODELS[model]
    chosen = {**chosen, "random_state": 0, **settings}
    path = cache / "models" / f"{name}_{model}_{_key(parts, kind, chosen)}.npz"
    if path.exists():
        with np.load(path) as held:
            return Fit(held["score"], float(held["seconds"]), cached=True)
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", FutureWarning)  # SVC(probability=True) is the paper's choice
        score = kind(**chosen).fit(parts.x_train, parts.y_train).predict_proba(parts.x_test)[:, 1]
    seconds = time.perf_counter() - begin
    write_whole(path, lambda part: np.savez(part, score=score, seconds=seconds))
    return Fit(score, seconds, cached=False)


def _key(parts: Split, kind: type, settings: dict[str, Any]) -> str:
    digest = hashlib.sha256()
    for array in (parts.x_train, parts.y_train, parts.x_test):
        digest.update(f"{array.dtype}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    versions = {"sklearn": sklearn.__version__, "numpy": np.__version__, "scipy": scipy.__version__}
    digest.update(json.dumps([kind.__name__, settings, versions], sort_keys=True).encode())
    return digest.hexdigest()[:20]
