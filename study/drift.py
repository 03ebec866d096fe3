"""One look at 30 windows of right models: how often `drift` raises any alarm, and what each of its two tests does."""

from __future__ import annotations

import numpy as np
from results import write_rows
from shapes import PREDICTIONS

import truecal
from truecal import Tallies, Tally

SETS, WINDOWS = 400, 30


def look(name: str, rows: int) -> dict[str, object]:
    rng = np.random.default_rng([rows, *name.encode()])
    alarms, by_metric, by_total = [], [], []
    for _ in range(SETS):
        parts = {}
        for i in range(WINDOWS):
            p = PREDICTIONS[name](rng, rows)
            parts[i,] = Tally.from_arrays(rng.random(rows) < p, p)
        data = Tallies("y", "p", parts, by=("time",), windows={"time": None})
        found = truecal.drift(data, intervals=0, random_state=rng)
        alarms.append(bool(found.alarm.any()))
        by_metric.append(float(np.mean(found.p_value <= 0.05)))
        by_total.append(float(np.mean(found.total_p <= 0.05)))
    return {
        "predictions": name,
        "rows": rows,
        "windows": WINDOWS,
        "sets": SETS,
        "some alarm": float(np.mean(alarms)),
        "reference, p <= 0.05": float(np.mean(by_metric)),
        "total, p <= 0.05": float(np.mean(by_total)),
    }


def main() -> None:
    lines = []
    for name, rows in (("Beta(.5, 5)", 300), ("100 levels", 1000)):
        lines.append(look(name, rows))
        print(lines[-1], flush=True)
    write_rows("drift", lines)


if __name__ == "__main__":
    main()
