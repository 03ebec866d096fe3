"""Slice discovery: how often it lists anything for calibrated models, and how often a miscalibrated slice; and for
calibrated models with clustered rows.

    python slices.py [part ...]

Parts: search, clusters; both by default.
"""

from __future__ import annotations

import sys

import numpy as np
import polars as pl
from clusters import SHARED, copula, draw_scores
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


def look_at_customers(rows: int, columns: int, size: int, correlation: float) -> dict[str, object]:
    """Right models whose rows go together by customer, as many rows each; words are the customer's own, numbers are the
    row's, and say nothing."""
    rng = np.random.default_rng([rows, columns, size, int(100 * correlation)])
    weights = 0.5 ** np.arange(1, 7)
    weights /= weights.sum()
    listed, alone = [], []
    for _ in range(SETS):
        p, customer = draw_scores(rng, rows, size, "9 %", SHARED)
        y = copula(rng, p, customer, correlation)
        found = {
            f"c{i}": rng.normal(size=rows) if i % 2 else rng.choice(list("abcdef"), rows // size, p=weights)[customer]
            for i in range(columns)
        }
        frame = pl.DataFrame({"y": y, "p": p, "customer": customer, **found})
        names = [f"c{i}" for i in range(columns)]
        with_them = truecal.slices(frame, label="y", score="p", columns=names, cluster="customer")
        listed.append(len(with_them) > 0)
        alone.append(len(truecal.slices(frame, label="y", score="p", columns=names)) > 0)
    return {
        "rows": rows, "columns": columns, "of a customer": size, "correlation": correlation,
        "groups": with_them.searched, "sets": SETS,
        "anything listed": float(np.mean(listed)), "without cluster": float(np.mean(alone)),
    }  # fmt: skip


def search() -> None:
    lines = []
    for rows, columns in SIZES:
        for factor in (1.0, 1.5, 2.0):
            lines.append(look(rows, columns, factor))
            print(lines[-1], flush=True)
    write_rows("slices", lines)


def clusters() -> None:
    lines = []
    for size in (5, 20):
        for correlation in (0.1, 0.3):
            lines.append(look_at_customers(2000, 10, size, correlation))
            print(lines[-1], flush=True)
            write_rows("slices_clusters", lines)


def main() -> None:
    parts = {"search": search, "clusters": clusters}
    for name in sys.argv[1:] or parts:
        parts[name]()


if __name__ == "__main__":
    main()
