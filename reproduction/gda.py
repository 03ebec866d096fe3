"""The paper's simulated data: two normals of equal variance, a logistic regression of the label on x.

Protocol behind the tables: numpy.random.seed(0); labels of the training rows, labels of the test rows, then x of both
from normals of standard deviation 2 around -1/2 and +1/2 (the text says -1 and +1). 6000 test rows, 14000 to train.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from reproduction.cells import Cell, Variants, explain
from reproduction.published import Table
from reproduction.settings import SOLVER, Setting, metric_of
from reproduction.variants.solver import fit_by_sum, predict
from truecal import Tally

Floats = NDArray[np.float64]
NOISE_LEVELS = (0.0, 0.01, 0.05, 0.10, 0.50, 1.0)  # rows of the noise table, in the order they were drawn
TESTS = {"50% (Calibrated)": 0.5, "40% (Miscalibrated)": 0.4}


@dataclass(frozen=True)
class World:
    """What is simulated: prevalences, test rows, training rows, the class means, noise on the predictions' logits.

    `noise_seed` None draws the noise as the table did: from the stream left after the data, one draw per level of
    `NOISE_LEVELS`, the level 0 included.
    """

    train: float = 0.5
    test: float = 0.5
    n_test: int = 6000
    n_train: int = 14000
    mean: float = 0.5
    noise: float = 0.0
    noise_seed: int | None = None


@dataclass(frozen=True)
class Draw:
    """One simulated data set and the noise table's draws."""

    x_train: Floats
    y_train: NDArray[np.int64]
    x_test: Floats
    y_test: NDArray[np.int64]
    noise: dict[float, Floats]


@lru_cache(maxsize=4)
def draw(train: float, test: float, n_test: int, n_train: int, mean: float) -> Draw:
    """Simulate with seed 0. The published numbers hang on NumPy's legacy stream, hence the legacy calls."""
    np.random.seed(0)  # noqa: NPY002
    y_train = stats.bernoulli.rvs(train, size=n_train)
    y_test = stats.bernoulli.rvs(test, size=n_test)
    x_train = stats.norm.rvs(loc=mean * (2 * y_train - 1), scale=2)
    x_test = stats.norm.rvs(loc=mean * (2 * y_test - 1), scale=2)
    noise = {level: np.random.normal(size=n_test) for level in NOISE_LEVELS}  # noqa: NPY002
    return Draw(x_train[:, None], y_train, x_test[:, None], y_test, noise)


@lru_cache(maxsize=8)
def fit_and_predict(world: World, solver: bool) -> tuple[Draw, Floats]:
    """What a world without noise simulates, and the predictions of the model fitted there."""
    data = draw(world.train, world.test, world.n_test, world.n_train, world.mean)
    if solver:
        return data, predict(data.x_test, fit_by_sum(data.x_train, data.y_train, max_iter=1000))
    model = LogisticRegression(max_iter=1000, random_state=0).fit(data.x_train, data.y_train)
    return data, model.predict_proba(data.x_test)[:, 1]


@lru_cache(maxsize=256)
def predictions(world: World, solver: bool) -> Tally:
    """The test set's tally: the installed scikit-learn's fit, or that of the paper's time (`solver`)."""
    data, score = fit_and_predict(replace(world, noise=0.0, noise_seed=None), solver)
    if world.noise:
        shift = data.noise[world.noise]
        if world.noise_seed is not None:
            shift = np.random.default_rng(world.noise_seed).normal(size=world.n_test)
        score = expit(logit(score) + world.noise * shift)
    return Tally.from_arrays(data.y_test, score)


@cache
def value(column: str, world: World, setting: Setting, variants: Variants = frozenset()) -> float:
    """One number of a table."""
    return metric_of(column, setting, variants)(predictions(world, SOLVER in variants))


def compare(table: Table, row: tuple[str, ...], world: World, setting: Setting, causes: Sequence[str]) -> list[Cell]:
    """All cells of a row against their published values."""
    return [
        explain(
            (table.name, " | ".join(row), column),
            table[row, column],
            lambda variants, column=column: value(column, world, setting, variants),  # type: ignore[misc]
            causes,
        )
        for column in table.columns
    ]
