"""Calibrated models of several classes: how often the most probable class and all classes together are called
miscalibrated at 5 %, and the effect of the same overconfidence on Local TCE with 3, 10 and 100 classes."""

from __future__ import annotations

import numpy as np
from results import write_rows
from worlds import Floats

from truecal import evaluate_classes, ltce

SETS = 400
WORLDS = {(3, 1.0): 1000, (10, 0.3): 1000, (10, 0.05): 1000}  # classes, spread: rows


def draw(rng: np.random.Generator, rows: int, classes: int, spread: float) -> tuple[Floats, np.ndarray]:
    p = rng.dirichlet(np.full(classes, spread), rows)
    return p, np.minimum((p.cumsum(axis=1) > rng.random((rows, 1))).argmax(axis=1), classes - 1)


def level(classes: int, spread: float, rows: int) -> dict[str, object]:
    rng = np.random.default_rng([classes, int(100 * spread)])
    rejected: dict[str, list[bool]] = {f"{name} miscalibrated": [] for name in ("top-label", "all", "a class")}
    for _ in range(SETS):
        p, y = draw(rng, rows, classes, spread)
        results = evaluate_classes(y, p, ["ltce"])
        assert results.top.verdict is not None
        rejected["top-label miscalibrated"].append(results.top.verdict.status == "miscalibrated")
        rejected["all miscalibrated"].append(results.status == "miscalibrated")
        rejected["a class miscalibrated"].append("miscalibrated" in results.table.status)
    shares = {name: float(np.mean(flags)) for name, flags in rejected.items()}
    return {"classes": classes, "Dirichlet": spread, "rows": rows, "sets": SETS, **shares}


def hidden(classes: int, rows: int = 20_000) -> dict[str, object]:
    """Log-probabilities multiplied by 1.3."""
    rng = np.random.default_rng(classes)
    p, y = draw(rng, rows, classes, 1 / classes)
    sharper = p**1.3
    sharper /= sharper.sum(axis=1, keepdims=True)
    shares = {way: ltce(y, sharper, multiclass=way) for way in ("top-label", "classwise")}
    return {"classes": classes, "rows": rows, **shares}


def main() -> None:
    for name, lines in (
        ("classes", [level(*world, rows) for world, rows in WORLDS.items()]),
        ("classes_hidden", [hidden(classes) for classes in (3, 10, 100)]),
    ):
        print(*lines, sep="\n", flush=True)
        write_rows(name, lines)


if __name__ == "__main__":
    main()
