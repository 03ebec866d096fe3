"""The search for groups of rows: how often it lists anything of right models, and how often a group that is off."""

from __future__ import annotations

import numpy as np
import polars as pl
from results import write_rows
from verdict import with_odds

import truecal

SETS = 400
SIZES = ((2000, 10), (20_000, 20))  # rows, columns


def simulate(rng: np.random.Generator, rows: int, columns: int, factor: float) -> pl.DataFrame:
    """Half of the columns are words of skewed frequencies, half are numbers; where the first is "b" and the second is
    above its mean the odds are multiplied by a factor."""
    p = rng.beta(1, 9, rows)
    weights = 0.5 ** np.arange(1, 7)
    found = {
        f"c{i}": rng.normal(size=rows) if i % 2 else rng.choice(list("abcdef"), rows, p=weights / weights.sum())
        for i in range(columns)
    }
    inside = (found["c0"] == "b") & (found["c1"] > 0)
    truth = np.where(inside, with_odds(p, factor), p)
    return pl.DataFrame({"y": rng.random(rows) < truth, "p": p, **found})


def look(rows: int, columns: int, factor: float) -> dict[str, object]:
    rng = np.random.default_rng([rows, columns, int(100 * factor)])
    listed, named = [], []
    sets = SETS if factor == 1 else SETS // 4
    for _ in range(sets):
        found = truecal.slices(simulate(rng, rows, columns, factor), label="y", score="p")
        listed.append(len(found) > 0)
        named.append(any("c0=b" in text for text in found.slice))
    return {
        "rows": rows, "columns": columns, "factor": factor, "groups": found.searched, "sets": sets,
        "anything listed": float(np.mean(listed)), "c0=b named": float(np.mean(named)),
    }  # fmt: skip


def main() -> None:
    lines = []
    for rows, columns in SIZES:
        for factor in (1.0, 1.5, 2.0):
            lines.append(look(rows, columns, factor))
            print(lines[-1], flush=True)
    write_rows("slices", lines)


if __name__ == "__main__":
    main()
