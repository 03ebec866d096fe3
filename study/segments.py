"""Segments: how often any of 12, 20 or 500 right ones is called off, or fails the gate; and how often one bad segment
of 20 is found, by the verdict and by each of its parts alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from results import write_rows
from shapes import PREDICTIONS, Rng
from worlds import Floats, log_odds, sigmoid

import truecal
from truecal import Tallies, Tally
from truecal.gate import Rule
from truecal.metrics import adjust_p_values
from truecal.observations import Bools
from truecal.results import GroupTable

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


def draw(rng: Rng, name: str, count: int, rows: int, wrong: Callable[[Floats], Floats] | None = None) -> Tallies:
    """Segments of right predictions, the first of which may be wrong."""
    parts = {}
    for i in range(count):
        p = PREDICTIONS[name](rng, rows)
        truth = p if wrong is None or i else wrong(p)
        parts[i,] = Tally.from_arrays(rng.random(rows) < truth, p)
    return Tallies("y", "p", parts, by=("segment",))


def find_alarms(table: GroupTable) -> dict[str, Bools]:
    """Which segments are off by the verdict, and by `part="total"` and `part="cox"`, which need no second look."""
    cox = np.where(np.isnan(table.cox_p), table.total_p, table.cox_p)
    columns = {"verdict": table.p_value, "total": table.total_p, "cox": cox}
    return {test: adjust_p_values(p_value, "holm") <= 0.05 for test, p_value in columns.items()}


def look(name: str, count: int, rows: int) -> dict[str, object]:
    rng = np.random.default_rng([count, rows, *name.encode()])
    failed, off = 0, dict.fromkeys(("verdict", "total", "cox"), 0)
    for _ in range(SETS):
        data = draw(rng, name, count, rows)
        for test, flags in find_alarms(truecal.segments(data)).items():
            off[test] += bool(flags.any())
        if count <= 20:
            failed += truecal.check(data, [Rule("verdict", segment="*")]).status == "fail"
    return {
        "predictions": name,
        "segments": count,
        "rows": rows,
        "sets": SETS,
        "some segment off": off["verdict"] / SETS,
        "by the total": off["total"] / SETS,
        "by cox": off["cox"] / SETS,
        "the gate fails": failed / SETS if count <= 20 else None,
    }


def find(error: str, name: str, rows: int) -> dict[str, object]:
    rng = np.random.default_rng([rows, *name.encode(), 20])
    found: dict[str, list[bool]] = {"verdict": [], "total": [], "cox": []}
    for _ in range(SETS):
        for test, flags in find_alarms(truecal.segments(draw(rng, name, 20, rows, WRONG[error]))).items():
            found[test].append(bool(flags[0]))
    shares = {test: float(np.mean(flags)) for test, flags in found.items()}
    expected = float(np.mean(PREDICTIONS[name](rng, 100_000))) * rows
    return {
        "error": error,
        "predictions": name,
        "segments": 20,
        "rows": rows,
        "expected": expected,
        "sets": SETS,
        **shares,
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
