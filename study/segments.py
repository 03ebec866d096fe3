"""Segments: how often any of 12, 20 or 500 calibrated ones is called miscalibrated, or fails the gate; and how often
one miscalibrated segment of 20 is detected."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from results import write_rows
from shapes import PREDICTIONS, Rng
from worlds import Floats, log_odds, sigmoid

import truecal
from truecal import Observations, Tally
from truecal.gate import Rule

SETS = 400
RIGHT = [
    ("Beta(.5, 5)", 12, 1000),
    ("Beta(.5, 50)", 12, 3000),
    ("0.001 and 0.999", 12, 1000),
    ("Beta(.5, 5)", 20, 300),
    ("sharp, 1 %", 20, 3000),
    ("Beta(.5, 5)", 500, 400),
    ("Beta(.5, 50)", 500, 400),
    ("0.001 and 0.999", 500, 400),
]
BAD = [("Beta(.5, 5)", 150), ("Beta(.5, 5)", 300), ("Beta(.5, 50)", 1500), ("Beta(.5, 50)", 3000), ("sharp, 1 %", 2000)]


def shrink(p: Floats) -> Floats:
    """Log-odds half as far apart, with the same mean: the truth behind over-confident predictions."""
    low, high = -50.0, 50.0
    for _ in range(60):
        middle = (low + high) / 2
        above = sigmoid(middle + log_odds(p) / 2).mean() > p.mean()
        low, high = (low, middle) if above else (middle, high)
    return sigmoid(low + log_odds(p) / 2)


WRONG: dict[str, Callable[[Floats], Floats]] = {"0.4 x the positives": lambda p: 0.4 * p, "over-confident": shrink}


def draw(rng: Rng, name: str, count: int, rows: int, wrong: Callable[[Floats], Floats] | None = None) -> Observations:
    """Segments of right predictions, the first of which may be wrong."""
    parts = {}
    for i in range(count):
        p = PREDICTIONS[name](rng, rows)
        truth = p if wrong is None or i else wrong(p)
        parts[i,] = Tally.from_arrays(rng.random(rows) < truth, p)
    return Observations("y", "p", parts, by=("segment",))


def look(name: str, count: int, rows: int) -> dict[str, object]:
    rng = np.random.default_rng([count, rows, *name.encode()])
    failed = rejected = 0
    for _ in range(SETS):
        data = draw(rng, name, count, rows)
        rejected += "miscalibrated" in truecal.segments(data).status
        if count <= 20:
            failed += truecal.check(data, [Rule("verdict", segment="*")]).status == "fail"
    return {
        "predictions": name,
        "segments": count,
        "rows": rows,
        "sets": SETS,
        "some segment miscalibrated": rejected / SETS,
        "the gate fails": failed / SETS if count <= 20 else None,
    }


def find(error: str, name: str, rows: int) -> dict[str, object]:
    rng = np.random.default_rng([rows, *name.encode(), 20])
    found = [
        truecal.segments(draw(rng, name, 20, rows, WRONG[error])).status[0] == "miscalibrated" for _ in range(SETS)
    ]
    expected = float(np.mean(PREDICTIONS[name](rng, 100_000))) * rows
    return {
        "error": error,
        "predictions": name,
        "segments": 20,
        "rows": rows,
        "expected": expected,
        "sets": SETS,
        "found": float(np.mean(found)),
    }


def main() -> None:
    lines: list[dict[str, object]] = []
    for case in RIGHT:
        lines.append(look(*case))
        print(lines[-1], flush=True)
        write_rows("segments", lines)
    lines = []
    for error in WRONG:
        for one in BAD:
            lines.append(find(error, *one))
            print(lines[-1], flush=True)
            write_rows("segments_power", lines)


if __name__ == "__main__":
    main()
