"""Random data sets of many shapes, each from a seed, for relations that must hold whatever the data are.

`make metamorphic` tries 5,000 cases; TRUECAL_METAMORPHIC=NUMBER and TRUECAL_METAMORPHIC_SEED=NUMBER ask for others. A
case is a relation and a seed: with TRUECAL_METAMORPHIC=1 and a seed, each relation is tried on the data of that seed.
"""

import math
import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from conftest import fewer

import truecal
from truecal import Sampling

CASES = int(os.environ.get("TRUECAL_METAMORPHIC", fewer(1500, 5)))
SEED = int(os.environ.get("TRUECAL_METAMORPHIC_SEED", "0"))
EXTRAS = {  # options of `truecal.read` for the columns beside labels and scores
    "count": "n",
    "importance_weight": "w",
    "cluster": "customer",
    "by": "country",
    "time": "day",
}
SHAPES = {
    "balanced": lambda rng, size: rng.beta(2, 2, size),
    "rare": lambda rng, size: rng.beta(0.5, 40, size),
    "few levels": lambda rng, size: rng.choice(rng.random(rng.integers(2, 8)).round(3), size),
    "rounded": lambda rng, size: rng.beta(0.5, 4, size).round(rng.integers(2, 5)),
    "ends": lambda rng, size: rng.choice([0.0, 1e-9, 0.3, 0.5, 1.0], size),
    "distinct": lambda rng, size: rng.permutation((np.arange(size) + rng.random()) / size),
    "float32": lambda rng, size: rng.random(size, dtype=np.float32),
    "atoms": lambda rng, size: np.where(rng.random(size) < 0.9, rng.choice([0.1, 0.5], size), rng.random(size)),
}
SAMPLED = (
    Sampling(negative_rate=0.1),
    Sampling(positive_rate=0.5, negative_rate=0.25),
    Sampling(label_noise=(0.01, 0.02)),
    Sampling(negative_rate=0.2, label_noise=(0.05, 0.0)),
)


def share(of_all):
    """Run a relation on so many seeds: a share of all cases, at least one."""
    return pytest.mark.parametrize("seed", range(SEED, SEED + math.ceil(CASES * of_all)))


@dataclass(frozen=True)
class Rows:
    """Columns as arrays by name, and the options by which `truecal.read` reads them."""

    columns: dict[str, Any]
    options: dict[str, Any]

    def __len__(self):
        return len(self.columns["y"])

    def read(self, data=None, **changes):
        """Read the columns, or other data that hold the same ones; `changes` are to the options."""
        return truecal.read(self.columns if data is None else data, **self.options | changes)

    def take(self, which):
        """Rows by their positions, or where a mask says so."""
        return replace(self, columns={name: column[which] for name, column in self.columns.items()})

    def set(self, **columns):
        """The same rows with other values in some columns."""
        return replace(self, columns=self.columns | columns)

    def repeat(self):
        """Each row as often as its count says."""
        options = {name: value for name, value in self.options.items() if name != "count"}
        return replace(self.take(np.repeat(np.arange(len(self)), self.columns["n"])), options=options)

    def evaluate(self, *metrics, **options):
        """Evaluate the arrays themselves."""
        names = {"count": "sample_weight", "cluster": "cluster", "importance_weight": "importance_weight"}
        given = {names[name]: self.columns[column] for name, column in self.options.items() if name in names}
        given |= {"sampling": self.options.get("sampling")}
        return truecal.evaluate(self.columns["y"], self.columns["p"], *metrics, **given, **options)

    def split(self, rng, most=5):
        """Cut the rows, in another order, into up to so many parts, none of them empty."""
        mixed = self.take(rng.permutation(len(self)))
        cuts = np.unique(rng.integers(0, len(self), rng.integers(0, most)))
        return [mixed.take(part) for part in np.split(np.arange(len(self)), cuts[cuts > 0])]

    @property
    def wide(self):
        """The same rows with scores as float64: text has the shortest number that a float32 is nearest to."""
        return self.set(p=self.columns["p"].astype(np.float64))

    @property
    def lists(self):
        """The columns as lists of values of Python."""
        return {name: column.tolist() for name, column in self.columns.items()}


def draw(seed, *needed, without=(), dyadic=False):
    """Rows of a random shape: labels y, scores p, and columns for some of the options, at least for those `needed`.

    With `dyadic`, scores are multiples of 2**-20, so that 1 - p and 100 p are exact. Weights are multiples of 1/4, so
    that their sums are exact in any order.
    """
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 31) if rng.random() < 0.2 else rng.integers(40, 400))
    p = SHAPES[rng.choice(list(SHAPES))](rng, size)
    p = np.round(p.astype(np.float64) * 2**20) / 2**20 if dyadic else p
    columns = {"y": draw_labels(rng, p.astype(np.float64)), "p": p, **draw_extras(rng, size)}
    chosen = {name: rng.random() < 0.3 for name in (*EXTRAS, "sampling")}
    chosen |= dict.fromkeys(needed, True) | dict.fromkeys(without, False)
    options = {"label": "y", "score": "p"} | {name: column for name, column in EXTRAS.items() if chosen[name]}
    if chosen["sampling"]:
        options["sampling"] = SAMPLED[rng.integers(len(SAMPLED))]
    kept = {"y", "p", *(column for name, column in EXTRAS.items() if chosen[name])}
    return Rows({name: column for name, column in columns.items() if name in kept}, options)


def draw_labels(rng, p):
    """Labels of calibrated predictions, of ones that are off by a factor or too extreme, or all the same."""
    if rng.random() < 0.1:
        return np.full(len(p), rng.integers(0, 2))
    factor, slope = rng.choice([1, 1, 1, 0.5, 2]), rng.choice([1, 1, 0.5])
    positive, negative = factor * p**slope, (1 - p) ** slope
    truth = positive / (positive + negative)
    wrong = 0.01 * (rng.random() < 0.3)  # labels that contradict scores of 0 and of 1
    return (rng.random(len(p)) < truth * (1 - 2 * wrong) + wrong).astype(np.int64)


def draw_extras(rng, size):
    """Columns of counts, importance weights, clusters, segments and days."""
    return {
        "n": rng.integers(0, 4, size) + (np.arange(size) == 0) * 4,  # at least one row is there
        "w": rng.integers(1, 17, size) / 4,
        "customer": rng.integers(0, max(size // rng.integers(1, 6), 1), size),
        "country": rng.choice(["at", "de", "fr", 'é, "x"'], size),
        "day": np.datetime64("2026-02-25") + rng.integers(0, rng.integers(1, 9), size),
    }


def to_words(options):
    """The words of the command line for options of `truecal.read`."""
    words = []
    for name, value in options.items():
        if name != "sampling":
            words += [f"--{name.replace('_', '-')}", value]
            continue
        words += ["--negative-rate", value.negative_rate, "--positive-rate", value.positive_rate]
        words += ["--label-noise", ",".join(map(str, value.label_noise))]
    return words
