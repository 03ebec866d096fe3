"""A model of 1,000 classes on 50,000 rows, as arrays and as a Parquet file of 1,000 columns: seconds and memory of
whole processes, each with its answer asserted. Run by `make bench`.

Seconds are of two cores that do nothing else; a sort of every column by NumPy is measured beside them.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from measure import Line, Run, run, seconds

import truecal

ROWS, CLASSES = 50_000, 1000
ARRAYS = """
import numpy as np, truecal
y, p = (np.load(f"{folder}/{{name}}.npy") for name in ("y", "p{bits}"))
print({call})
"""
FILE = """
import truecal
tallies = truecal.read("{folder}/rows{bits}.parquet", label="y", score="p_*", multiclass="{kind}")
print({call})
"""


def simulate() -> tuple[np.ndarray, np.ndarray]:
    """Classes that are drawn from their probabilities: softmaxes of normal numbers, one of which is larger."""
    rng = np.random.default_rng(0)
    p = 2 * rng.standard_normal((ROWS, CLASSES), dtype=np.float32)
    p[np.arange(ROWS), rng.integers(0, CLASSES, ROWS)] += 8
    np.exp(p, out=p)
    p /= p.sum(axis=1, keepdims=True)
    pairs = zip(p, rng.random(ROWS), strict=True)
    y = np.array([np.searchsorted(np.cumsum(row), u) for row, u in pairs]).clip(0, CLASSES - 1)
    return y, p


def write(folder: Path, y: np.ndarray, p: np.ndarray) -> None:
    """The rows as arrays and as files of both precisions."""
    import polars as pl

    np.save(folder / "y.npy", y)
    for bits in (32, 64):
        own = p.astype(f"f{bits // 8}")
        np.save(folder / f"p{bits}.npy", own)
        columns = {f"p_{i}": own[:, i] for i in range(CLASSES)}
        pl.DataFrame({"y": y, **columns}).write_parquet(folder / f"rows{bits}.parquet")


def check_answers(y: np.ndarray, p: np.ndarray) -> None:
    found = truecal.evaluate_classes(y, p)
    assert (found.status, len(found.table)) == ("consistent", CLASSES), "a right model of so many classes"
    alone = truecal.evaluate(y == 0, p[:, 0]).verdict
    assert alone is not None
    assert abs(found.table.p_value[0] - alone.p_value) < 0.1, "a class alone has about the same p-value"


def measure(folder: Path, bits: int) -> dict[str, Run]:
    """Each way to judge them, in a process of its own; the probabilities are in it."""
    place = f"{folder}/rows{bits}.parquet"
    top, each = "truecal.evaluate({}).verdict.status", "truecal.evaluate_classes({}).status"
    codes: dict[str, str | list[str]] = {
        "evaluate": ARRAYS.format(folder=folder, bits=bits, call=top.format("y, p")),
        "evaluate_classes": ARRAYS.format(folder=folder, bits=bits, call=each.format("y, p")),
        "file, top-label": FILE.format(folder=folder, bits=bits, kind="top-label", call=top.format("observations")),
        "file, classwise": FILE.format(folder=folder, bits=bits, kind="classwise", call=each.format("observations")),
        "truecal evaluate": ["-m", "truecal", "evaluate", place, "-y", "y", "-p", "p_*", "--json"],
    }
    codes["truecal evaluate, classwise"] = [*codes["truecal evaluate"], "--multiclass", "classwise"]
    found = {}
    for name, code in codes.items():
        done = run(code, "consistent" if isinstance(code, str) else None)
        assert done is not None
        if not isinstance(code, str):
            told = json.loads(done.output)
            word = told["top"]["verdict"]["status"] if "classwise" in name else told["verdict"]["status"]
            assert word == "consistent", "a right model"
        found[name] = done
    return found


def prepare(folder: Path) -> None:
    """Write the rows, in a process of its own: a child's peak memory is never below what its parent held. Tell what all
    classes take over a sort of each column."""
    y, p = simulate()
    check_answers(y, p)
    ours, theirs = seconds(lambda: truecal.evaluate_classes(y, p), lambda: np.sort(p.T, axis=1), repeats=3)
    write(folder, y, p)
    print(ours / theirs)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        told = run([__file__, "prepare", folder])
        assert told is not None
        sort = "classes: 1,000 of 50,000 rows, over a sort of each column"
        lines = [Line(sort, float(told.output), 4.0, 1.5)]
        for bits in (32, 64):
            for name, done in measure(Path(folder), bits).items():
                lines.append(Line(f"classes: {name}, float{bits}", done.seconds, 3.0, 2.0, unit="s"))
                lines.append(Line(f"classes: {name}, float{bits}, memory", done.gigabytes, 1.0, 0.5, unit="GB"))
    for line in lines:
        print(line)
    return any(line.verdict() == "MISSED" for line in lines)


if __name__ == "__main__":
    if sys.argv[1:2] == ["prepare"]:
        prepare(Path(sys.argv[2]))
        sys.exit()
    sys.exit(main())
