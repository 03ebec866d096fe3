"""Segments: how often any of 12, 20 or 500 right ones is called off, or fails the gate; and how often one bad segment
of 20 is found, by the verdict and by each of its parts alone."""

from __future__ import annotations

import numpy as np
from results import write_rows
from shapes import PREDICTIONS, Rng

import truecal
from truecal import Tallies, Tally
from truecal.gate import Rule
from truecal.metrics import adjust_p_values

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


def draw(rng: Rng, name: str, count: int, rows: int, factor: float = 1.0) -> Tallies:
    """Segments of right predictions, the first of which sees `factor` times as many positives as it says."""
    parts = {}
    for i in range(count):
        p = PREDICTIONS[name](rng, rows)
        parts[i,] = Tally.from_arrays(rng.random(rows) < p * (factor if i == 0 else 1.0), p)
    return Tallies("y", "p", parts, by=("segment",))


def look(name: str, count: int, rows: int) -> dict[str, object]:
    rng = np.random.default_rng([count, rows, *name.encode()])
    off, failed = 0, 0
    for _ in range(SETS):
        data = draw(rng, name, count, rows)
        off += bool(truecal.segments(data).alarm.any())
        if count <= 20:
            failed += truecal.check(data, [Rule("verdict", segment="*")]).status == "fail"
    return {
        "predictions": name,
        "segments": count,
        "rows": rows,
        "sets": SETS,
        "some segment off": off / SETS,
        "the gate fails": failed / SETS if count <= 20 else None,
    }


def find(name: str, rows: int) -> dict[str, object]:
    rng = np.random.default_rng([rows, *name.encode(), 20])
    found: dict[str, list[bool]] = {"verdict": [], "total": [], "cox": []}
    for _ in range(SETS):
        table = truecal.segments(draw(rng, name, 20, rows, 0.4))
        columns = {"verdict": table.p_value, "total": table.total_p, "cox": np.nan_to_num(table.cox_p, nan=1.0)}
        for test, p_value in columns.items():
            found[test].append(bool(adjust_p_values(p_value, "holm")[0] <= 0.05))
    shares = {test: float(np.mean(flags)) for test, flags in found.items()}
    expected = float(np.mean(PREDICTIONS[name](rng, 100_000))) * rows
    return {"predictions": name, "segments": 20, "rows": rows, "expected": expected, "sets": SETS, **shares}


def main() -> None:
    lines: list[dict[str, object]] = []
    for case in RIGHT:
        lines.append(look(*case))
        print(lines[-1], flush=True)
        write_rows("segments", lines)
    lines = []
    for one in BAD:
        lines.append(find(*one))
        print(lines[-1], flush=True)
        write_rows("segments_power", lines)


if __name__ == "__main__":
    main()
