"""A calibration map that is fitted to a Parquet file and applied to it: ratios measured side by side. Part of `make
bench`, with 1e7 rows unless another number is given; each result is asserted."""

from __future__ import annotations

import math
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
from measure import Line, seconds

import truecal
from truecal.cli import main as command

AT_ONCE = 10_000_000


def write(path: Path, rows: int) -> int:
    """A Parquet file of all distinct predictions whose odds are half of the true ones; how many positives it has."""
    rng = np.random.default_rng(0)
    folder = path.with_suffix("")
    folder.mkdir()
    positives = 0
    for i, begin in enumerate(range(0, rows, AT_ONCE)):
        p = rng.beta(0.5, 5, min(AT_ONCE, rows - begin))
        y = rng.random(len(p)) < 2 * p / (1 + p)
        positives += int(y.sum())
        pl.DataFrame({"y": y, "p": p}).write_parquet(folder / f"{i:03}.parquet")
    pl.scan_parquet(folder / "*.parquet").sink_parquet(path)
    for piece in folder.iterdir():
        piece.unlink()
    return positives


def measure(folder: Path, rows: int, repeats: int) -> Iterator[Line]:
    path, map_path, out, copy = (folder / name for name in ("a.parquet", "map.json", "out.parquet", "copy.parquet"))
    positives = write(path, rows)

    def read() -> truecal.Observations:
        return truecal.read(path, label="y", score="p")

    def fit() -> None:
        recalibration = truecal.recalibrate(read(), kind="logistic", folds=0)
        assert (recalibration.n, recalibration.positives) == (rows, positives)
        assert math.isclose(recalibration.map.intercept, math.log(2), abs_tol=20 / math.sqrt(rows))
        map_path.write_text(recalibration.to_json())

    def rewrite() -> None:
        """Read and write the rows, with a column more."""
        pl.scan_parquet(path).with_columns(pl.col("p").alias("q")).sink_parquet(copy)

    def apply() -> None:
        assert command(["apply", str(map_path), str(path), "-o", str(out)]) == 0

    reading, fitting = seconds(read, fit, repeats=repeats)
    yield Line(f"logistic fit of {rows:.0e} rows in Parquet, over reading them", fitting / reading, 1.5, 1.2)
    bare, ours = seconds(rewrite, apply, repeats=repeats)
    mended = pl.scan_parquet(out).select(pl.len(), pl.col("p_recalibrated").sum()).collect()
    assert mended.item(0, 0) == rows
    assert math.isclose(mended.item(0, 1), positives, rel_tol=1e-8)  # what maximum likelihood makes equal
    yield Line(f"apply to {rows:.0e} rows in Parquet, over reading and writing", ours / bare, 2, 1.5)


def main(rows: float, repeats: int) -> None:
    missed = False
    with tempfile.TemporaryDirectory() as folder:
        for line in measure(Path(folder), int(rows), repeats):
            print(line, flush=True)
            missed |= line.verdict() == "MISSED"
    sys.exit(missed)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 1e7, int(sys.argv[2]) if len(sys.argv) > 2 else 3)
