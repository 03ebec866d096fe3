"""A model of 1,000 classes on 50,000 rows, as arrays and as a Parquet file of 1,000 columns: seconds and memory of
whole processes; each result is asserted. Run by `make bench`.

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
observations = truecal.read("{folder}/rows{bits}.parquet", label="y", score="p_*", multiclass="{kind}")
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
    """Write the rows as arrays and as files, in both precisions."""
    import polars as pl

    np.save(folder / "y.npy", y)
    for bits in (32, 64):
        rounded = p.astype(f"f{bits // 8}")
        np.save(folder / f"p{bits}.npy", rounded)
        columns = {f"p_{i}": rounded[:, i] for i in range(CLASSES)}
        pl.DataFrame({"y": y, **columns}).write_parquet(folder / f"rows{bits}.parquet")


def check_results(y: np.ndarray, p: np.ndarray) -> None:
    results = truecal.evaluate_classes(y, p)
    assert (results.status, len(results.table)) == ("consistent", CLASSES), "a calibrated model is rejected"
    alone = truecal.evaluate(y == 0, p[:, 0]).verdict
    assert alone is not None
    assert abs(results.table.p_value[0] - alone.p_value) < 0.1, "a class alone has about the same p-value"


def measure(folder: Path, bits: int) -> dict[str, Run]:
    """Measure each way to evaluate them in a new process, whose memory includes the probabilities."""
    path = f"{folder}/rows{bits}.parquet"
    top, classwise = "truecal.evaluate({}).verdict.status", "truecal.evaluate_classes({}).status"
    codes: dict[str, str | list[str]] = {
        "evaluate": ARRAYS.format(folder=folder, bits=bits, call=top.format("y, p")),
        "evaluate_classes": ARRAYS.format(folder=folder, bits=bits, call=classwise.format("y, p")),
        "file, top-label": FILE.format(folder=folder, bits=bits, kind="top-label", call=top.format("observations")),
        "file, classwise": FILE.format(
            folder=folder, bits=bits, kind="classwise", call=classwise.format("observations")
        ),
        "truecal evaluate": ["-m", "truecal", "evaluate", path, "-y", "y", "-p", "p_*", "--json"],
    }
    codes["truecal evaluate, classwise"] = [*codes["truecal evaluate"], "--multiclass", "classwise"]
    runs = {}
    for name, code in codes.items():
        done = run(code, "consistent" if isinstance(code, str) else None)
        assert done is not None
        if not isinstance(code, str):
            result = json.loads(done.output)
            result = result["top"] if "classwise" in name else result
            assert result["verdict"]["status"] == "consistent", "a calibrated model is rejected"
        runs[name] = done
    return runs


def prepare(folder: Path) -> None:
    """Write the rows, and print the time of all classes over that of sorting each column.

    It runs in a new process, as a child's peak memory is never below what its parent held.
    """
    y, p = simulate()
    check_results(y, p)
    ours, theirs = seconds(lambda: truecal.evaluate_classes(y, p), lambda: np.sort(p.T, axis=1), repeats=3)
    write(folder, y, p)
    print(ours / theirs)


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        prepared = run([__file__, "prepare", folder])
        assert prepared is not None
        sort = "classes: 1,000 of 50,000 rows, over a sort of each column"
        lines = [Line(sort, float(prepared.output), 4.0, 1.5)]
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
