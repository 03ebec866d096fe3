"""Do the intervals of differences between two models cover? 400 sets of labels a line, for the same predictions.

The target is the expectation of the difference over labels given the predictions: the mean over labels drawn from the
truth. For means over rows the other target is the mean over rows of the same source, too: fresh rows for each set.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from results import write_rows
from worlds import Floats, log_odds, sigmoid

from truecal.data import Pairs
from truecal.inference import Draws, differences
from truecal.metrics import METRICS

SETS, REPLICATES, TARGETS = 400, 50, 400
NAMES = ("ltce", "tce", "log_loss", "brier", "slope", "ece")
CHOSEN = {name: METRICS[name] for name in NAMES}
ROW_MEANS = {name: METRICS[name] for name in ("log_loss", "brier")}
Model = Callable[[Floats, np.random.Generator], Floats]


def _noisy(x: Floats, rng: np.random.Generator) -> Floats:
    """A little under-confident, and noisy."""
    return x.mean() + 0.8 * (x - x.mean()) + rng.normal(0, 0.3, len(x))


# the true probabilities, and the log-odds of two models given the true ones
WORLDS: dict[str, tuple[tuple[float, float], Model, Model]] = {
    "right and noisy": ((2, 2), lambda x, _: x, _noisy),
    "right and noisy, 1 %": ((0.5, 49.5), lambda x, _: x, _noisy),
    "over-confident and noisy": ((2, 2), lambda x, _: 1.5 * x, _noisy),
    "wiggle and shift, 10 %": ((0.5, 4.5), lambda x, _: x + 0.4 * np.sin(3 * x), lambda x, _: x + 0.2),
    "two alike": ((1, 3), lambda x, r: x + r.normal(0, 0.2, len(x)), lambda x, r: x + r.normal(0, 0.2, len(x))),
    "one region and right": ((1, 3), lambda x, _: np.where(np.abs(x + 1.2) < 0.3, x + 0.5, x), lambda x, _: x),
}


def draw(world: str, rows: int, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """The truth and what both models say."""
    shape, *models = WORLDS[world]
    truth = np.clip(rng.beta(*shape, rows), 1e-6, 1 - 1e-6)
    first, second = (sigmoid(model(log_odds(truth), rng)) for model in models)
    return truth, first, second


def pair(first: Floats, second: Floats, label: Floats) -> Pairs:
    return Pairs.merge(first, second, np.ones(len(label), np.int64), label.astype(np.int64))


def cover(world: str, rows: int) -> list[dict[str, object]]:
    rng = np.random.default_rng([rows, list(WORLDS).index(world)])
    truth, first, second = draw(world, rows, rng)
    drawn = []
    for _ in range(TARGETS):
        found = differences(pair(first, second, rng.random(rows) < truth), CHOSEN, Draws(1, rng))
        drawn.append([each.difference for each in found.values()])
    target = dict(zip(CHOSEN, np.mean(drawn, axis=0).tolist(), strict=True))
    inside: dict[str, list[bool]] = {name: [] for name in CHOSEN}
    for _ in range(SETS):
        found = differences(pair(first, second, rng.random(rows) < truth), CHOSEN, Draws(REPLICATES, rng))
        for name, gap in found.items():
            inside[name].append(gap.low <= target[name] <= gap.high)
    return summary("labels", world, rows, inside)


def cover_fresh_rows(world: str, rows: int) -> list[dict[str, object]]:
    rng = np.random.default_rng([rows, 100 + list(WORLDS).index(world)])
    truth, first, second = draw(world, 2_000_000, rng)
    found = differences(pair(first, second, rng.random(len(truth)) < truth), ROW_MEANS, Draws(1, rng))
    target = {name: each.difference for name, each in found.items()}
    inside: dict[str, list[bool]] = {name: [] for name in ROW_MEANS}
    for _ in range(SETS):
        truth, first, second = draw(world, rows, rng)
        found = differences(pair(first, second, rng.random(rows) < truth), ROW_MEANS, Draws(1, rng))
        for name, gap in found.items():
            inside[name].append(gap.low <= target[name] <= gap.high)
    return summary("rows", world, rows, inside)


def summary(over: str, world: str, rows: int, inside: dict[str, list[bool]]) -> list[dict[str, object]]:
    same = {"over": over, "world": world, "rows": rows}
    return [
        {**same, "metric": name, "sets": len(hits), "coverage": float(np.mean(hits))} for name, hits in inside.items()
    ]


def main() -> None:
    lines = []
    for study, rows in ((cover_fresh_rows, 1000), (cover, 1000), (cover_fresh_rows, 10_000), (cover, 10_000)):
        for world in WORLDS:
            lines += study(world, rows)
            print(
                world, rows, {(r["over"], r["metric"]): r["coverage"] for r in lines if r["world"] == world}, flush=True
            )
            write_rows("differences", lines)


if __name__ == "__main__":
    main()
