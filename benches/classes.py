"""A model of 1,000 classes on 50,000 rows, over a sort of every column by NumPy, side by side. Run by `make bench`."""

from __future__ import annotations

import sys

import numpy as np
from measure import Line, run, seconds

import truecal

ROWS, CLASSES = 50_000, 1000
SIMULATE = f"""
import numpy as np
rng = np.random.default_rng(0)
p = 2 * rng.standard_normal(({ROWS}, {CLASSES}), dtype=np.float32)
p[np.arange({ROWS}), rng.integers(0, {CLASSES}, {ROWS})] += 8
np.exp(p, out=p)
p /= p.sum(axis=1, keepdims=True)
y = np.array([np.searchsorted(np.cumsum(row), u) for row, u in zip(p, rng.random({ROWS}))]).clip(0, {CLASSES - 1})
"""
JUDGED = f"{SIMULATE}\nimport truecal\nprint(truecal.evaluate_classes(y, p).word)"


def main() -> int:
    drawn: dict[str, np.ndarray] = {}
    exec(SIMULATE, drawn)  # what the process of its own draws, too
    y, p = drawn["y"], drawn["p"]
    found = truecal.evaluate_classes(y, p)
    assert (found.word, len(found.table)) == ("consistent", CLASSES), "a right model of so many classes"
    column = found.table.p_value[0]
    alone = truecal.evaluate(y == 0, p[:, 0]).verdict
    assert alone is not None
    assert abs(column - alone.p_value) < 0.1, "a class alone has about the same p-value"
    ours, theirs = seconds(lambda: truecal.evaluate_classes(y, p), lambda: np.sort(p.T, axis=1), repeats=3)
    judged = run(JUDGED, "consistent")
    assert judged is not None
    print(f"{ours:.1f} s and {judged.gigabytes:.2f} GB for {CLASSES:,} classes of {ROWS:,} rows")
    lines = [
        Line("classes: 1,000 of 50,000 rows, over a sort of each column", ours / theirs, 4.0, 1.5),
        Line("classes: memory, with probabilities of 0.2 GB", judged.gigabytes, 1.0, 0.5, unit="GB"),
    ]
    for line in lines:
        print(line)
    return any(line.verdict() == "MISSED" for line in lines)


if __name__ == "__main__":
    sys.exit(main())
