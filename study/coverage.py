"""Do the intervals cover the expected value of a metric, its mean over data sets of this size from the same source?

    python coverage.py [--sets 400] [--replicates 60] [--rows 1000 10000]

Each data set has fresh predictions and labels, and the first of 2,000 get an interval. The expected value is the mean
over all of them; its standard error is 2 % of the metric's standard deviation. The method was chosen in the worlds
marked as tuned; the others were measured once, afterwards. Lines are written as they are found.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from results import write_rows
from worlds import MODELS, PERFECT, Floats, log_odds, sigmoid, truth

from truecal import Tally
from truecal.inference import Draws, intervals
from truecal.metrics import METRICS, bin_once

Rng = np.random.Generator
World = Callable[[Rng, int], tuple[Floats, Floats]]  # what is said, and the truth
TRUTHS = 2000
NAMES = ("ltce", "ltce_information", "tce", "tce_q", "ece", "ace", "rmsce")
CHOSEN = {name: METRICS[name] for name in NAMES}
LEVELS = np.quantile(np.random.default_rng(0).beta(0.5, 5, 10**6), (np.arange(100) + 0.5) / 100)


def right(draw: Callable[[Rng, int], Floats]) -> World:
    def world(rng: Rng, rows: int) -> tuple[Floats, Floats]:
        p = draw(rng, rows)
        return p, p

    return world


def model(name: str, prevalence: float = 0.1) -> World:
    def world(rng: Rng, rows: int) -> tuple[Floats, Floats]:
        q = truth(rng, rows, prevalence)
        return MODELS[name](q, prevalence), q

    return world


def half_at_zero(rng: Rng, rows: int) -> tuple[Floats, Floats]:
    """Half of the scores are exactly 0, where 1 % are positive."""
    zero, q = rng.random(rows) < 0.5, rng.beta(0.5, 5, rows)
    return np.where(zero, 0.0, q), np.where(zero, 0.01, q)


def wiggle(rng: Rng, rows: int) -> tuple[Floats, Floats]:
    p = rng.beta(0.5, 5, rows)
    return p, sigmoid(log_odds(p) + 0.25 * np.sin(3 * log_odds(p)))


def reversed_above(rng: Rng, rows: int) -> tuple[Floats, Floats]:
    """A strong classifier whose scores above 0.05 are in reverse order."""
    q = sigmoid(rng.normal(-6.3, 2.6, rows))
    p, high = q.copy(), q > 0.05
    p[high] = np.sort(q[high])[::-1][np.argsort(np.argsort(q[high]))]
    return p, q


def tied(rng: Rng, rows: int) -> tuple[Floats, Floats]:
    """100 levels, every tenth of them twice as often positive as it says."""
    level = rng.integers(0, 100, rows)
    return LEVELS[level], LEVELS[level] * np.where(level % 10 == 7, 2.0, 1.0)


TUNED: dict[str, World] = {
    "right, Beta(.5, 5)": right(PERFECT["Beta(.5, 5)"]),
    "half at 0, truly 1 %": half_at_zero,
    "wiggle": wiggle,
    "reversed above 0.05": reversed_above,
    "one region wrong, 10 %": model("one region wrong"),
}
FRESH: dict[str, World] = {
    **{f"right, {name}": right(draw) for name, draw in PERFECT.items() if name != "Beta(.5, 5)"},
    "right, Beta(.2, .2)": right(lambda rng, rows: rng.beta(0.2, 0.2, rows)),
    "right, sharp 1 %": right(lambda rng, rows: sigmoid(rng.normal(-9.3, 3.2, rows))),
    "right, 100 levels": right(lambda rng, rows: rng.choice(LEVELS, rows)),
    "100 levels, ten wrong": tied,
    **{f"{name}, 10 %": model(name) for name in MODELS if name not in ("perfect", "one region wrong")},
}


def draw_tally(world: World, rng: Rng, rows: int) -> Tally:
    p, q = world(rng, rows)
    return Tally.from_arrays(rng.random(rows) < q, p)


def cover(name: str, rows: int, sets: int, replicates: int) -> list[dict[str, object]]:
    world = (TUNED | FRESH)[name]
    rng = np.random.default_rng([rows, *name.encode()])
    values, found = [], []
    for i in range(TRUTHS):
        tally = draw_tally(world, rng, rows)
        bins = bin_once(tally, CHOSEN)
        values.append([metric.on(bins[metric.binning]) for metric in CHOSEN.values()])
        if i < sets:
            observed = dict(zip(CHOSEN, values[-1], strict=True))
            found.append(intervals(tally, CHOSEN, Draws(replicates, i), observed=observed))
    lines: list[dict[str, object]] = []
    for metric, mean, sd in zip(CHOSEN, np.mean(values, axis=0), np.std(values, axis=0), strict=True):
        low, high = (np.array([getattr(spans[metric], end) for spans in found]) for end in ("low", "high"))
        above, below = float(np.mean(low > mean)), float(np.mean(high < mean))
        lines.append(
            {"case": name, "tuned": int(name in TUNED), "rows": rows, "metric": metric, "sets": sets}
            | {"expected": float(mean), "sd": float(sd), "coverage": 1 - above - below}
            | {"above": above, "below": below, "width": float(np.median(high - low))}
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=400)
    parser.add_argument("--replicates", type=int, default=60)
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 10_000])
    options = parser.parse_args()
    lines: list[dict[str, object]] = []
    for rows in options.rows:
        for name in TUNED | FRESH:
            lines += cover(name, rows, options.sets, options.replicates)
            print(name, rows, *(f"{r['metric']} {100 * r['coverage']:.1f}" for r in lines[-len(CHOSEN) :]), flush=True)
            write_rows("coverage", lines)


if __name__ == "__main__":
    main()
