"""Seconds and memory of `tce` from 1e3 to 1e8 rows, as a Markdown table. Run by `make bench-growth`."""

from __future__ import annotations

import sys

import numpy as np
from measure import EXTRA_MEMORY, fresh, seconds, simulate

import truecal


def line(rows: int) -> str:
    y, p = simulate(rows)
    narrow = p.astype(np.float32)
    value = truecal.tce(y, p)
    assert value < 20, "labels were drawn from the predictions: few may be rejected"
    assert abs(truecal.tce(y, narrow) - value) < 1
    sort, tce, single, ece = seconds(
        lambda: np.sort(p),
        lambda: truecal.tce(y, p),
        lambda: truecal.tce(y, narrow),
        lambda: truecal.ece(y, p),
        repeats=3 if rows >= 10**8 else 7 if rows >= 10**6 else 50,
    )
    memory = f"{fresh(EXTRA_MEMORY.format(rows=rows, metric='tce')):.2f} x input" if rows >= 10**6 else "small"
    return (
        f"| {rows:.0e} | {1000 * tce:.4g} | {1e9 * tce / rows:.3g} | {tce / sort:.2f} | {1000 * single:.4g} "
        f"| {1000 * ece:.4g} | {value:.2f} % | {memory} |"
    )


def main(largest: float) -> None:
    print("| rows | `tce`, ms | ns a row | over `np.sort` | float32, ms | `ece`, ms | TCE | extra memory |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    rows = 1000
    while rows <= largest:
        print(line(rows), flush=True)
        rows *= 10


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 1e8)
