"""Rows beyond comfort, in fresh processes under a memory limit: seconds against a bare group-by of the same Parquet
file by the engine, peak memory, growth. Run by `make bench-scale`; each answer is asserted."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from measure import limit_memory, run

LIMIT = 4 << 30
CHUNK = 10_000_000
GROUP = {
    "polars'": """
import polars as pl
found = pl.scan_parquet({path!r}).group_by("p").agg(pl.len().alias("n"), pl.col("y").cast(pl.Int64).sum())
found = found.collect(engine="streaming")
print(found["n"].sum(), found["y"].sum())
""",
    "DuckDB's": """
import duckdb, sys
connection = duckdb.connect()
connection.execute("set memory_limit = '3GB'; set enable_progress_bar = false")
groups = connection.sql("select p, count(*) n, cast(sum(y) as bigint) y from '{path}' group by p")
try:
    columns = groups.fetchnumpy()
except duckdb.OutOfMemoryException:
    sys.exit(99)
print(columns["n"].sum(), columns["y"].sum())
""",
}
OURS = """
import truecal
from truecal.reading import Limits
data = truecal.read({path!r}, label="y", score="p", limits=Limits({limits}))
found = truecal.evaluate(data, metrics=["tce", "ece"])
low, high = found.bounds.get("tce", (found["tce"],) * 2)
assert low <= found["tce"] <= high < 20, "labels were drawn from the predictions: few may be rejected"
print(found.n, found.positives)
"""
WAYS = {
    "exactly": "grid=None",
    "exactly, in 400 MB of keys and on disk": "grid=None, memory=400_000_000",
    "on a grid of 13 bits": "grid=13",
}


def write(path: Path, rows: int, kind: str) -> str:
    """A Parquet file of labels drawn from Beta(1/2, 50) scores; what its rows add up to."""
    writer, positives = None, 0
    for begin in range(0, rows, CHUNK):
        rng = np.random.default_rng(begin)
        size = min(CHUNK, rows - begin)
        if kind == "float32":
            a, b = (rng.standard_gamma(shape, size, dtype=np.float32) for shape in (0.5, 50))
            p = a / (a + b)
        else:
            p = rng.beta(0.5, 50, size)
        p = np.round(p, 4) if kind == "four decimals" else p
        y = (rng.random(size, dtype=np.float32) < p).astype(np.int8)
        positives += int(y.sum())
        table = pa.table({"y": y, "p": p})
        writer = writer or pq.ParquetWriter(path, table.schema, use_dictionary=kind == "four decimals")
        writer.write_table(table, row_group_size=1_000_000)
    assert writer is not None
    writer.close()
    return f"{rows} {positives}"


def lines(folder: Path, rows: int, kind: str, repeats: int) -> Iterator[str]:
    path = folder / "a.parquet"
    # in a process of its own: a child's peak memory is never below what its parent held
    told = run([__file__, "write", str(path), str(rows), kind]).output
    jobs = {f"{engine} group-by": code.format(path=str(path)) for engine, code in GROUP.items()}
    jobs |= {f"`evaluate`, {way}": OURS.format(path=str(path), limits=limits) for way, limits in WAYS.items()}
    # in turns, so that what else this machine does falls on all
    rounds = [{name: run(code, told, fail=True) for name, code in jobs.items()} for _ in range(repeats)]
    found = {name: [one[name] for one in rounds] for name in jobs}
    bare = min((one.seconds for one in found["polars' group-by"] if one is not None), default=float("nan"))
    for name, runs in found.items():
        done = [one for one in runs if one is not None]
        if not done:
            yield f"| {rows:.0e} | {kind} | {name} | does not fit in {LIMIT >> 30} GB | | |"
            continue
        best = min(one.seconds for one in done)
        peak = min(one.gigabytes for one in done)
        yield f"| {rows:.0e} | {kind} | {name} | {best:.2f} | {peak:.2f} | {best / bare:.2f} |"


def main(sizes: list[float], kinds: list[str]) -> None:
    limited = limit_memory(LIMIT)
    print(f"Memory limited to {LIMIT >> 30} GB: {'yes' if limited else 'no, this system lets nobody'}.\n")
    print("| rows | scores | work | seconds | peak GB | over polars' group-by |")
    print("| --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for rows in sizes:
            for kind in kinds:
                for line in lines(Path(folder), int(rows), kind, 9 if rows <= 1e7 else 3 if rows <= 1e8 else 1):
                    print(line, flush=True)


if __name__ == "__main__":
    given = sys.argv[1:]
    if given[:1] == ["write"]:
        print(write(Path(given[1]), int(given[2]), given[3]))
        sys.exit()
    main(
        [float(given[0])] if given else [1e7, 1e8],
        given[1:] or ["all distinct", "four decimals"],
    )
