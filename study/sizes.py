"""Which minimum size: TCE of perfect predictions, and of ones a fifth too low, for n_min = min(N/20, c N^(2/3))."""

from __future__ import annotations

import numpy as np
from results import write_rows
from worlds import PERFECT

from truecal import BoundedIsotonic, Metric, Tally
from truecal.inference import Draws, null_distribution
from truecal.inference._bootstrap import compute_on_draws
from truecal.metrics import PointwiseTest

FACTORS = (0.25, 0.5, 0.7, 1.0)
REPLICATES = {10**3: 200, 10**4: 100, 10**5: 40, 10**6: 12, 10**7: 4}


def metrics(rows: int) -> dict[str, Metric]:
    found = {"paper": Metric(BoundedIsotonic(sizes="paper"), PointwiseTest())}
    for c in FACTORS:
        n_min = int(max(1, min(rows / 20, c * rows ** (2 / 3))))
        found[f"c = {c:g}"] = Metric(BoundedIsotonic(n_min, 4 * n_min), PointwiseTest())
    return found


def cell(name: str, rows: int, replicates: int) -> list[dict[str, object]]:
    rng = np.random.default_rng(rows)
    p = PERFECT[name](rng, rows)
    tally = Tally.from_arrays(rng.random(rows) < p, p)
    null = null_distribution(tally, metrics(rows), Draws(replicates, 1))
    low = Tally.from_arrays(np.zeros(len(tally)), 0.8 * tally.score, tally.n)
    if len(low) < len(tally):
        raise ValueError("two scores became one")
    wrong = compute_on_draws(low, tally.score, metrics(rows), Draws(max(3, replicates // 2), 2))
    return [
        {
            "predictions": name,
            "rows": rows,
            "rule": rule,
            "perfect": found.mean,
            "a fifth too low": float(wrong[rule].mean()),
        }
        for rule, found in null.items()
    ]


def main() -> None:
    lines: list[dict[str, object]] = []
    for name in PERFECT:
        for rows, replicates in REPLICATES.items():
            lines += cell(name, rows, replicates)
            print(lines[-1], flush=True)
    write_rows("sizes", lines)


if __name__ == "__main__":
    main()
