"""How often the gate fails a calibrated model, or one of 12 calibrated segments, and its status for other models."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from results import write_rows
from shapes import ERRORS, FRESH, PREDICTIONS, Rng, Wrong
from worlds import MODELS, Draw, Floats

import truecal
from truecal import Observations, Rule, Tally

SETS, RIGHT = 400, 1000
SHAPES = PREDICTIONS | FRESH


def draw(rng: Rng, said: Floats, truth: Floats) -> Tally:
    return Tally.from_arrays(rng.random(len(truth)) < truth, said)


def count(case: str, name: str, rows: int, decide: Callable[[Rng], str], sets: int = SETS) -> dict[str, object]:
    """Return the share of data sets with each status."""
    rng = np.random.default_rng([rows, *name.encode()])
    found = [decide(rng) for _ in range(sets)]
    shares = {word: found.count(word) / sets for word in ("pass", "fail", "inconclusive")}
    print(name, rows, shares, flush=True)
    return {case: name, "rows": rows, "sets": sets, **shares}


def whole(world: Wrong, rows: int) -> Callable[[Rng], str]:
    def decide(rng: Rng) -> str:
        return truecal.check(Observations("y", "p", {(): draw(rng, *world(rng, rows))})).status

    return decide


def segments(world: Draw, rows: int) -> Callable[[Rng], str]:
    """12 calibrated segments; the rule allows inconclusive verdicts, so that the status is fail or pass."""
    rule = Rule("verdict", segment="*", allow_inconclusive=True)

    def decide(rng: Rng) -> str:
        parts = {}
        for i in range(12):
            p = world(rng, rows)
            parts[str(i),] = draw(rng, p, p)
        return truecal.check(Observations("y", "p", parts, by=("segment",)), [rule]).status

    return decide


def say(model: str) -> Wrong:
    """A model of worlds.py on Beta(.5, 5) truths."""

    def draw(rng: Rng, rows: int) -> tuple[Floats, Floats]:
        truth = rng.beta(0.5, 5, rows)
        return MODELS[model](truth, float(truth.mean())), truth

    return draw


def right(world: Draw) -> Wrong:
    def draw(rng: Rng, rows: int) -> tuple[Floats, Floats]:
        p = world(rng, rows)
        return p, p

    return draw


WRONG: dict[str, Wrong] = {
    **{name: say(name) for name in MODELS if name != "perfect"},
    **{name: ERRORS[name] for name in ("reversed above 0.05", "halved above 0.02")},
    "no positive expected or seen": lambda rng, rows: (np.full(rows, 1e-9), np.zeros(rows)),
    "only certain predictions, right": lambda rng, rows: (np.arange(rows) % 2.0, np.arange(rows) % 2.0),
}


def main() -> None:
    sizes, few = (300, 3000, 20_000), ("Beta(.5, 5)", "Beta(.5, 50)", "Beta(.2, .2)", "100 levels", "sharp, 1 %")
    write_rows(
        "gate",
        [count("predictions", name, n, whole(right(SHAPES[name]), n), RIGHT) for n in sizes for name in SHAPES],
    )
    write_rows("gate_wrong", [count("model", name, n, whole(WRONG[name], n)) for n in sizes for name in WRONG])
    write_rows(
        "gate_segments", [count("predictions", name, n, segments(SHAPES[name], n)) for n in (300, 3000) for name in few]
    )


if __name__ == "__main__":
    main()
