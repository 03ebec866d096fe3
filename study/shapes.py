"""Shapes of predictions, and ways of being wrong, for Local TCE, the verdict and the gate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
from worlds import Draw, Floats, log_odds, sigmoid

from truecal.data import Cells, Ints, Tally
from truecal.metrics import PoissonBinomial

Rng = np.random.Generator
Wrong = Callable[[Rng, int], tuple[Floats, Floats]]  # what is said, and the truth

LEVELS = np.quantile(np.random.default_rng(0).beta(0.5, 5, 10**6), (np.arange(100) + 0.5) / 100)
STEPS = np.linspace(0.03, 0.97, 30) ** 2.5
PREDICTIONS: dict[str, Draw] = {
    "Beta(.5, 5)": lambda rng, n: rng.beta(0.5, 5, n),
    "Beta(2, 2)": lambda rng, n: rng.beta(2, 2, n),
    "Beta(.2, .2)": lambda rng, n: rng.beta(0.2, 0.2, n),
    "Beta(.5, 50)": lambda rng, n: rng.beta(0.5, 50, n),
    "Beta(.3, 300), 0.1 %": lambda rng, n: rng.beta(0.3, 300, n),
    "100 levels": lambda rng, n: rng.choice(LEVELS, n),
    "0.001 and 0.999": lambda rng, n: rng.choice([0.001, 0.999], n),
    "near both ends": lambda rng, n: sigmoid(rng.choice([-6.9, 6.9], n) + 0.3 * rng.normal(size=n)),
    "sharp, 1 %": lambda rng, n: sigmoid(rng.normal(-9.3, 3.2, n)),
    "half at 0": lambda rng, n: np.where(rng.random(n) < 0.5, 0.0, rng.beta(0.5, 5, n)),
    "3 decimals": lambda rng, n: np.round(rng.beta(0.5, 5, n), 3),
    "two groups": lambda rng, n: np.where(rng.random(n) < 0.7, rng.beta(1, 60, n), rng.beta(6, 4, n)),
    "lognormal odds": lambda rng, n: sigmoid(rng.normal(-4.0, 1.0, n)),
    "isotonic, 30 levels": lambda rng, n: rng.choice(STEPS, n, p=0.85 ** np.arange(30) / sum(0.85 ** np.arange(30))),
    "2 decimals": lambda rng, n: np.round(rng.beta(1, 9, n), 2),
    "two far atoms": lambda rng, n: rng.choice([0.02, 0.9], n, p=[0.95, 0.05]),
}

# Never looked at while the verdict was made.
FRESH: dict[str, Draw] = {
    "wide log-odds, 10 %": lambda rng, n: sigmoid(rng.normal(-3.2, 1.8, n)),
    "three groups, 10 %": lambda rng, n: rng.beta(*np.array([[1, 300], [2, 60], [3, 8]])[rng.integers(0, 3, n)].T),
    "logistic grades, 20": lambda rng, n: sigmoid(np.linspace(-7, 1, 20))[rng.binomial(19, 0.35, n)],
    "4 decimals, 0.5 %": lambda rng, n: np.round(rng.gamma(0.4, 0.0125, n), 4).clip(0, 1),
}


def with_odds(p: Floats, factor: float) -> Floats:
    return factor * p / (1 - p + factor * p)


def blocks(part: int) -> Wrong:
    """Blocks of N^(2/3) / part rows whose truth is 1.4 and 0.6 times the prediction, in turn."""

    def draw(rng: Rng, n: int) -> tuple[Floats, Floats]:
        p = np.sort(rng.beta(0.5, 5, n))
        block = (np.arange(n) // (n ** (2 / 3) / part)).astype(int)
        return p, np.minimum(p * np.where(block % 2, 0.6, 1.4), 1.0)

    return draw


def bad_rows(least: float) -> Wrong:
    """Half a percent of the rows, neighbours anywhere beyond a share of the rows: odds x 3."""

    def draw(rng: Rng, n: int) -> tuple[Floats, Floats]:
        p, bad = np.sort(rng.beta(0.5, 5, n)), n // 200
        first = int(rng.uniform(least, 1) * (n - bad))
        truth = p.copy()
        truth[first : first + bad] = with_odds(p[first : first + bad], 3.0)
        return p, truth

    return draw


def bad_atom(rng: Rng, n: int) -> tuple[Floats, Floats]:
    p = rng.choice(LEVELS, n)
    return p, np.where(p == rng.choice(LEVELS), np.minimum(2 * p, 1.0), p)


def changed(name: str, change: Callable[[Floats], Floats]) -> Wrong:
    """Predictions of a shape, and the truth as a function of them."""

    def draw(rng: Rng, n: int) -> tuple[Floats, Floats]:
        p = PREDICTIONS[name](rng, n)
        return p, change(p)

    return draw


def misread(change: Callable[[Floats], Floats]) -> Wrong:
    """A strong classifier (AUC 0.98, 2 to 3 % positive) whose right probabilities are changed."""

    def draw(rng: Rng, n: int) -> tuple[Floats, Floats]:
        truth = sigmoid(rng.normal(-6.3, 2.6, n))
        return change(truth), truth

    return draw


def reverse_high(truth: Floats) -> Floats:
    p, high = truth.copy(), truth > 0.05
    p[high] = np.sort(truth[high])[::-1][np.argsort(np.argsort(truth[high]))]
    return p


ERRORS: dict[str, Wrong] = {
    "blocks of m/4": blocks(4),
    "blocks of m/16": blocks(16),
    "a bad 0.5 % anywhere, odds x 3": bad_rows(0),
    "a bad 0.5 % in the upper third, odds x 3": bad_rows(2 / 3),
    "one atom of 100, x 2": bad_atom,
    "p > .999, truly .998": changed("Beta(.2, .2)", lambda p: np.where(p > 0.999, 0.998, p)),
    "p < 1e-4, truly 3e-4": changed("sharp, 1 %", lambda p: np.where(p < 1e-4, 3e-4, p)),
    "shift x 1.1, Beta(.5, 5)": changed("Beta(.5, 5)", lambda p: with_odds(p, 1.1)),
    "shift x 1.3, sharp 1 %": changed("sharp, 1 %", lambda p: with_odds(p, 1.3)),
    "slope 1.05, Beta(.5, 5)": changed("Beta(.5, 5)", lambda p: sigmoid(1.05 * log_odds(p))),
    "wiggle, Beta(.5, 5)": changed("Beta(.5, 5)", lambda p: sigmoid(log_odds(p) + 0.25 * np.sin(3 * log_odds(p)))),
    "reversed above 0.05": misread(reverse_high),
    "halved above 0.02": misread(lambda truth: np.where(truth > 0.02, truth / 2, truth)),
}


def observe(rng: Rng, said: Floats, truth: Floats) -> Cells:
    """Predictions with labels drawn from the truth."""
    return Cells.of(Tally.from_arrays(rng.random(len(truth)) < truth, said))


def draw_right(draw: Draw, rows: int, sets: int, rng: Rng) -> Iterator[Cells]:
    """Right models in cells; 100 sets of labels for each set of predictions at 10,000 rows, one for all beyond.

    Positives are drawn cell by cell, Binomial(n, mean): their variance is that of the rows' sum to 2^-24 of itself.
    """
    cells = None
    for i in range(sets):
        if cells is None or rows < 10_000 or (rows == 10_000 and i % 100 == 0):
            cells = Cells.of(Tally.from_arrays(np.zeros(rows), draw(rng, rows)))
        yield cells.with_positives(rng.binomial(cells.n, cells.p))


@contextmanager
def remember_windows(span: int = 40) -> Iterator[None]:
    """Tests no window twice that has the same scores and the same number of positives: for many labels of one model."""
    test, known, scores = PoissonBinomial.mid_p, {}, []

    def mid_p(coins: PoissonBinomial, begin: Ints, end: Ints) -> Floats:
        if not scores or scores[0] is not coins.sums[0]:
            scores[:] = [coins.sums[0]]
            known.clear()
        where = begin.tobytes(), end.tobytes()
        if where not in known:
            running = np.append(0.0, np.cumsum(np.where(coins.upper, coins.n - coins.sums[0], coins.sums[0])))
            known[where] = (running[end] - running[begin]).astype(int) - span // 2, np.full(len(begin) * span, np.nan)
        first, table = known[where]
        running = np.append(0, np.cumsum(coins.pos))
        column = running[end] - running[begin] - first
        inside = (column >= 0) & (column < span)
        place = np.arange(len(begin)) * span + np.where(inside, column, 0)
        p = np.where(inside, table[place], np.nan)
        new = np.isnan(p)
        p[new] = test(coins, begin[new], end[new])
        table[place[new & inside]] = p[new & inside]
        return p

    with patch.object(PoissonBinomial, "mid_p", mid_p):
        yield
