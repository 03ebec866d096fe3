"""A release gate on a million segments: its time and memory beside those of the table of the same segments. Run by
`make bench`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
from measure import Line, run

SEGMENTS = 1_000_000


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "rows.parquet"
        p = np.tile([0.1, 0.3], SEGMENTS)
        groups = np.arange(2 * SEGMENTS) // 2
        pl.DataFrame({"y": np.arange(2 * SEGMENTS) % 5 == 0, "p": p, "g": groups}).write_parquet(data)
        words = f"{data} --label y --score p --by g"
        junit = Path(folder) / "checks.xml"
        gate = run(_call(f"check {words} --segment * --junit {junit}", 3))
        table = run(_call(f"segments {words} --csv -o {Path(folder) / 'table.csv'}", 0))
        assert gate is not None
        assert table is not None
        size = junit.stat().st_size / 1e6
    lines = [
        Line("check of 1e6 segments over the table of them, CPU", gate.cpu / table.cpu, 2.0, 1.2),
        Line("check of 1e6 segments, CPU", gate.cpu, 60, 50, unit="s"),
        Line("check of 1e6 segments: peak memory", gate.gigabytes, 4, 3, unit="GB"),
        Line("check of 1e6 segments: its file for CI servers", size, 10, 5, unit="MB"),
    ]
    print(*lines, sep="\n")
    return any(line.verdict() == "MISSED" for line in lines)


def _call(words: str, code: int) -> str:
    """Code that runs a command line without its output, and asserts its exit code."""
    return (
        "import contextlib, io; from truecal.cli import main\n"
        f"with contextlib.redirect_stdout(io.StringIO()): code = main({words.split()!r})\n"
        f"assert code == {code}, code"
    )


if __name__ == "__main__":
    sys.exit(main())
