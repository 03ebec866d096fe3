"""How often the gate fails a right model, or one of 12 right segments, and what it says of models that are off."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from results import write_rows
from worlds import MODELS, PERFECT, Draw, Floats

import truecal
from truecal import Rule, Tallies, Tally

SETS = 400
WORLDS: dict[str, Draw] = {
    **PERFECT,
    "Beta(.2, .2)": lambda rng, rows: rng.beta(0.2, 0.2, rows),
    "100 levels": lambda rng, rows: np.round(rng.beta(0.5, 5, rows), 2),
    "half at 0": lambda rng, rows: np.where(rng.random(rows) < 0.5, 0.0, rng.beta(1, 9, rows)),
    "sharp, 1 %": lambda rng, rows: np.where(rng.random(rows) < 0.98, rng.beta(0.05, 4, rows), rng.beta(2, 2, rows)),
}


def draw(rng: np.random.Generator, truth: Floats, said: Floats | None = None) -> Tally:
    return Tally.from_arrays(rng.random(len(truth)) < truth, truth if said is None else said)


def count(name: str, rows: int, decide: Callable[[np.random.Generator], str]) -> dict[str, object]:
    """The share of data sets with each answer."""
    rng = np.random.default_rng(rows)
    found = [decide(rng) for _ in range(SETS)]
    shares = {word: found.count(word) / SETS for word in ("pass", "fail", "cannot tell")}
    return {"predictions": name, "rows": rows, "sets": SETS, **shares}


def whole(world: Draw, rows: int, model: str = "perfect") -> Callable[[np.random.Generator], str]:
    def decide(rng: np.random.Generator) -> str:
        truth = world(rng, rows)
        said = MODELS[model](truth, float(truth.mean()))
        return truecal.check(Tallies("y", "p", {(): draw(rng, truth, said)})).status

    return decide


def segments(world: Draw, rows: int) -> Callable[[np.random.Generator], str]:
    def decide(rng: np.random.Generator) -> str:
        parts = {(str(i),): draw(rng, world(rng, rows)) for i in range(12)}
        return truecal.check(Tallies("y", "p", parts, by=("segment",)), [Rule("verdict", segment="*")]).status

    return decide


def main() -> None:
    lines = [count(name, rows, whole(world, rows)) for rows in (300, 3000, 20_000) for name, world in WORLDS.items()]
    write_rows("gate", lines)
    models = [name for name in MODELS if name != "perfect"]
    world = WORLDS["Beta(.5, 5)"]
    write_rows(
        "gate_wrong", [count(name, rows, whole(world, rows, name)) for rows in (3000, 20_000) for name in models]
    )
    few = ("Beta(.5, 5)", "Beta(.5, 50)", "100 levels")
    write_rows("gate_segments", [count(name, rows, segments(WORLDS[name], rows)) for rows in (1000,) for name in few])


if __name__ == "__main__":
    main()
