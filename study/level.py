"""Is the reference right? Null mean against the truth, p-values of perfect models, and power against a fifth."""

from __future__ import annotations

import numpy as np
from results import write_rows
from worlds import PERFECT

from truecal import Tally
from truecal.inference import Draws, null_distribution
from truecal.metrics import METRICS

TCE = {"tce": METRICS["tce"]}
SETS, REPLICATES = 1000, 199


def perfect(name: str, rows: int) -> dict[str, object]:
    rng = np.random.default_rng(rows)
    values, nulls, p_values = [], [], []
    for _ in range(SETS):
        p = PERFECT[name](rng, rows)
        tally = Tally.from_arrays(rng.random(rows) < p, p)
        found = null_distribution(tally, TCE, Draws(REPLICATES, rng))["tce"]
        values.append(found.mean + found.excess)
        nulls.append(found.mean)
        p_values.append(found.p_value)
    return {
        "predictions": name,
        "rows": rows,
        "sets": SETS,
        "mean TCE": float(np.mean(values)),
        "mean of the null means": float(np.mean(nulls)),
        "p < 0.05": float(np.mean(np.array(p_values) < 0.05)),
        "p < 0.5": float(np.mean(np.array(p_values) < 0.5)),
    }


def understated(rows: int, sets: int = 200) -> dict[str, object]:
    rng = np.random.default_rng(5)
    small = 0
    for _ in range(sets):
        truth = rng.beta(0.5, 5, rows)
        tally = Tally.from_arrays(rng.random(rows) < truth, 0.8 * truth)
        small += null_distribution(tally, TCE, Draws(99, rng))["tce"].p_value < 0.05
    return {"predictions": "Beta(.5, 5), a fifth too low", "rows": rows, "sets": sets, "p < 0.05": small / sets}


def main() -> None:
    lines = []
    for rows in (1000, 10_000):
        for name in PERFECT:
            lines.append(perfect(name, rows))
            print(lines[-1], flush=True)
    write_rows("level", lines)
    power = [understated(rows) for rows in (10_000, 100_000)]
    print(power, flush=True)
    write_rows("level_power", power)


if __name__ == "__main__":
    main()
