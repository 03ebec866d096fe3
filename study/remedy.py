"""Recalibration on held-out rows: the excess log loss of each kind, and how often right models are said to improve."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from results import write_rows
from worlds import Floats, log_odds, sigmoid

import truecal
from truecal.inference import KINDS

SETS, FRESH = 200, 200_000


def _bend(x: Floats) -> Floats:
    return x + 0.15 * (x + 1.5) ** 2


# rows to fit, the shape of predictions, and how the true log-odds follow from those predicted
WORLDS: dict[str, tuple[int, tuple[float, float], Callable[[Floats], Floats]]] = {
    "prior x 3, 2 %": (2000, (1, 49), lambda x: x + np.log(3)),
    "right, 2 %": (2000, (1, 49), lambda x: x),
    "right, 50 %": (2000, (2, 2), lambda x: x),
    "over-confident, 20 %": (2000, (0.5, 2), lambda x: 0.6 * x - 0.3),
    "under-confident, 50 %": (2000, (2, 2), lambda x: 1.5 * x),
    "prior / 2, 10 %": (2000, (1, 9), lambda x: x - np.log(2)),
    "bent, 20 %": (2000, (1, 4), _bend),
    "bent, 20 %, more rows": (10_000, (1, 4), _bend),
    "right, 20 %": (10_000, (1, 4), lambda x: x),
    "wavy, 50 %": (10_000, (2, 2), lambda x: x + 0.6 * np.sin(3 * x)),
    "a jump, 20 %": (20_000, (1, 4), lambda x: np.where(x > -1, x + 1, x - 0.3)),
}


def look(name: str) -> list[dict[str, object]]:
    rng = np.random.default_rng(list(name.encode()))
    rows, shape, bend = WORLDS[name]
    fresh = rng.beta(*shape, FRESH)
    truth = sigmoid(bend(log_odds(fresh)))
    kinds = ("auto", *KINDS)
    losses: dict[str, list[float]] = {kind: [] for kind in kinds}
    helped = []
    for _ in range(SETS):
        p = rng.beta(*shape, rows)
        y = rng.random(rows) < sigmoid(bend(log_odds(p)))
        for kind in kinds:
            found = truecal.recalibrate(y, p, kind, folds=5 if kind == "auto" else 0)
            if kind == "auto":
                helped.append(found.helped)
            q = np.clip(found.apply(fresh), 1e-12, 1 - 1e-12)
            # what is lost to the truth, in expectation over labels
            gap = truth * np.log(truth / q) + (1 - truth) * np.log((1 - truth) / (1 - q))
            losses[kind].append(float(gap.mean()))
    share = float(np.mean(helped))
    return [
        {
            "world": name,
            "rows": rows,
            "sets": SETS,
            "kind": kind,
            "excess": 1e4 * float(np.mean(found)),
            "helped": share,
        }
        for kind, found in losses.items()
    ]


def main() -> None:
    lines: list[dict[str, object]] = []
    for name in WORLDS:
        lines += look(name)
        print(name, {line["kind"]: round(float(str(line["excess"])), 2) for line in lines if line["world"] == name},
              "helped", lines[-1]["helped"], flush=True)  # fmt: skip
        write_rows("remedy", lines)


if __name__ == "__main__":
    main()
