"""Local TCE and the verdict: level of right models, size at 0.05 and 0.01, power, and what "consistent" rules out.

    python verdict.py [part ...] [--sets 400] [--rows 20000]

Parts: level, size, power, consistent, fifth; all of them by default. Each writes results/verdict_<part>.csv. From
100,000 rows on a quarter of the data sets is drawn, from a million on a tenth; ten sets of labels share predictions.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import numpy as np
from results import write_rows
from worlds import Floats, log_odds, sigmoid

from truecal.inference import combine_parts, find_parts, judge
from truecal.metrics import local_error
from truecal.observations import CellSums

Rng = np.random.Generator
PREDICTIONS: dict[str, Callable[[Rng, int], Floats]] = {
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
}
LEVELS = np.quantile(np.random.default_rng(0).beta(0.5, 5, 10**6), (np.arange(100) + 0.5) / 100)
ROWS = (300, 1000, 10_000, 100_000, 1_000_000)


def with_odds(p: Floats, factor: float) -> Floats:
    return factor * p / (1 - p + factor * p)


def blocks(part: int) -> Callable[[Rng, int], tuple[Floats, Floats]]:
    """Blocks of N^(2/3) / part rows whose truth is 1.4 and 0.6 times the prediction, in turn."""

    def draw(rng: Rng, n: int) -> tuple[Floats, Floats]:
        p = np.sort(rng.beta(0.5, 5, n))
        block = (np.arange(n) // (n ** (2 / 3) / part)).astype(int)
        return p, np.minimum(p * np.where(block % 2, 0.6, 1.4), 1.0)

    return draw


def bad_rows(rng: Rng, n: int) -> tuple[Floats, Floats]:
    """Half a percent of the rows, neighbours anywhere: odds x 3."""
    p = np.sort(rng.beta(0.5, 5, n))
    first = int(rng.integers(0, n - n // 200))
    truth = p.copy()
    truth[first : first + n // 200] = with_odds(p[first : first + n // 200], 3.0)
    return p, truth


def bad_atom(rng: Rng, n: int) -> tuple[Floats, Floats]:
    p = rng.choice(LEVELS, n)
    return p, np.where(p == rng.choice(LEVELS), np.minimum(2 * p, 1.0), p)


def changed(name: str, change: Callable[[Floats], Floats]) -> Callable[[Rng, int], tuple[Floats, Floats]]:
    """Predictions of a shape, and the truth as a function of them."""

    def draw(rng: Rng, n: int) -> tuple[Floats, Floats]:
        p = PREDICTIONS[name](rng, n)
        return p, change(p)

    return draw


def misread(change: Callable[[Floats], Floats]) -> Callable[[Rng, int], tuple[Floats, Floats]]:
    """A strong classifier (AUC 0.98, 2 to 3 % positive) whose right probabilities are changed."""

    def draw(rng: Rng, n: int) -> tuple[Floats, Floats]:
        truth = sigmoid(rng.normal(-6.3, 2.6, n))
        return change(truth), truth

    return draw


def reverse_high(truth: Floats) -> Floats:
    p, high = truth.copy(), truth > 0.05
    p[high] = np.sort(truth[high])[::-1][np.argsort(np.argsort(truth[high]))]
    return p


ERRORS: dict[str, Callable[[Rng, int], tuple[Floats, Floats]]] = {
    "blocks of m/4": blocks(4),
    "blocks of m/16": blocks(16),
    "a bad 0.5 %, odds x 3": bad_rows,
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


def count_sets(sets: int, rows: int) -> int:
    return sets if rows < 100_000 else sets // 4 if rows < 1_000_000 else sets // 10


def seed(name: str, rows: int) -> Rng:
    return np.random.default_rng([rows, *name.encode()])


def perfect(name: str, rows: int, sets: int):
    """Cells of right models; from 100,000 rows on one set of predictions serves ten sets of labels."""
    rng = seed(name, rows)
    p = PREDICTIONS[name](rng, rows)
    for i in range(sets):
        if rows < 100_000 or i % 10 == 0:
            p = PREDICTIONS[name](rng, rows)
        yield CellSums.from_arrays(rng.random(rows) < p, p)


def level(name: str, rows: int, sets: int) -> dict[str, object]:
    found = [local_error(cells) for cells in perfect(name, rows, sets)]
    values = np.array([one.value for one in found])
    evidence = np.array([one.evidence for one in found if one.evidence is not None])
    return {
        "predictions": name,
        "rows": rows,
        "sets": sets,
        "mean Local TCE": float(values.mean()),
        "sd": float(values.std()),
        "by information": float(evidence.mean()),
        "proven, mean": float(np.mean([one.proven for one in found])),
        "some proven": float(np.mean([one.proven > 0 for one in found])),
    }


def size(name: str, rows: int, sets: int) -> dict[str, object]:
    parts = [find_parts(cells) for cells in perfect(name, rows, sets)]
    return {"predictions": name, "rows": rows, "sets": sets} | rates(parts)


def power(name: str, rows: int, sets: int) -> dict[str, object]:
    rng = seed(name, rows)
    parts = []
    for _ in range(sets):
        p, truth = ERRORS[name](rng, rows)
        parts.append(find_parts(CellSums.from_arrays(rng.random(rows) < truth, p)))
    return {"error": name, "rows": rows, "sets": sets} | rates(parts)


def rates(parts: list[dict[str, float]]) -> dict[str, object]:
    """How often the verdict and each part are at most 0.05 and 0.01."""
    p = np.array([combine_parts(one) for one in parts])
    found: dict[str, object] = {"p <= 0.05": float(np.mean(p <= 0.05)), "p <= 0.01": float(np.mean(p <= 0.01))}
    for name in ("total", "information", "rows", "cox", "cumulative", "spread"):
        found[f"part {name}"] = float(np.mean([one.get(name, 1.0) <= 0.05 for one in parts]))
    return found


def consistent(name: str, sets: int) -> dict[str, object]:
    """At the fewest rows that make the verdict "consistent" possible: how often is it said of odds off by 1.5?"""
    rng = seed(name, 1)
    low, high = 10, 10**7
    while high / low > 1.02:
        rows = int(math.sqrt(low * high))
        p = PREDICTIONS[name](rng, rows)
        zeros = CellSums.from_arrays(rng.random(rows) < p, p)
        low, high = (rows, high) if judge(zeros).detectable > 1.5 else (low, rows)
    said: dict[str, object] = {"predictions": name, "rows": high, "sets": sets}
    for way, factor in (("x 1.5", 1.5), ("/ 1.5", 1 / 1.5)):
        words = []
        for _ in range(sets):
            p = PREDICTIONS[name](rng, high)
            cells = CellSums.from_arrays(rng.random(high) < with_odds(p, factor), p)
            off = combine_parts(find_parts(cells)) <= 0.05
            words.append("off" if off else judge(cells).word)
        said[f"off, {way}"] = words.count("off") / sets
        said[f"consistent, {way}"] = words.count("consistent") / sets
    return said


def fifth(name: str, rows: int, sets: int) -> dict[str, object]:
    """A fifth of the evidence, neighbours anywhere, off by the factors that the verdict says it finds there."""
    rng = seed(name, 2)
    found = {"above": 0, "below": 0}
    p = np.sort(PREDICTIONS[name](rng, rows))
    verdict = judge(CellSums.from_arrays(rng.random(rows) < p, p))
    running = np.cumsum(p * (1 - p)) / np.sum(p * (1 - p))
    for _ in range(sets):
        start = rng.uniform(0, 0.8)
        inside = (running > start) & (running <= start + 0.2)
        for way, factor in (("above", verdict.detectable_above), ("below", 1 / verdict.detectable_below)):
            truth = np.where(inside, with_odds(p, factor), p)
            parts = find_parts(CellSums.from_arrays(rng.random(rows) < truth, p))
            found[way] += combine_parts(parts) <= 0.05
    return {
        "predictions": name,
        "rows": rows,
        "sets": sets,
        "x": verdict.detectable_above,
        "found above": found["above"] / sets,
        "/": verdict.detectable_below,
        "found below": found["below"] / sets,
    }


def run(part: str, sets: int, most: int) -> None:
    lines = []
    sizes = [rows for rows in ROWS if rows <= most]
    if part in ("level", "size"):
        measure = level if part == "level" else size
        cases = [(measure, (name, rows, count_sets(sets, rows))) for rows in sizes for name in PREDICTIONS]
    elif part == "power":
        cases = [(power, (name, 20_000, sets)) for name in ERRORS]
    elif part == "consistent":
        names = ["Beta(.5, 5)", "Beta(2, 2)", "Beta(.2, .2)", "Beta(.5, 50)", "100 levels", "sharp, 1 %"]
        cases = [(consistent, (name, sets)) for name in names]
    else:
        cases = [(fifth, (name, 20_000, sets)) for name in ("Beta(.5, 5)", "Beta(2, 2)", "sharp, 1 %")]
    for measure, arguments in cases:
        lines.append(measure(*arguments))
        print(
            " ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in lines[-1].items()), flush=True
        )
    write_rows(f"verdict_{part}", lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["level", "size", "power", "consistent", "fifth"])
    parser.add_argument("--sets", type=int, default=400)
    parser.add_argument("--rows", type=int, default=max(ROWS))
    options = parser.parse_args()
    for part in options.parts:
        run(part, options.sets, options.rows)


if __name__ == "__main__":
    main()
