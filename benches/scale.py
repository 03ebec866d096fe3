"""Rows beyond comfort: `ltce` on the cells of a grid, and exact metrics, beside the engine's own group-by of the same
Parquet file; wall and CPU seconds, peak memory, growth. Run by `make bench-scale`; each result is asserted.

Files are read in new processes under a memory limit; Spark and Dask group on a cluster that is there already. Results
are added to benches/results/scale.csv, of which docs/speed.py makes the table and the picture of docs/scale.md.

    python benches/scale.py 1e8 "all distinct"     `ltce`; of "float32" scores, without Spark and Dask
    python benches/scale.py exact 1e7 1e8          what is exact, beside a group-by of the scores
"""

from __future__ import annotations

import csv
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from measure import Run, limit_memory, run

RESULTS = Path(__file__).resolve().parent / "results" / "scale.csv"
FIELDS = ("rows", "scores", "engine", "work", "seconds", "cpu", "gigabytes")
LIMIT = 4 << 30
CHUNK = 10_000_000
DECIMALS = 5  # of the rounded column: 18,020 values among 1e8 scores, which fall into 68,442 cells of 12 bits
BARE = {
    "polars": """
import polars as pl
keys = {{"p": pl.col("p").round(DECIMALS)}} if {rounded} else {{"p": pl.col("p")}}
found = pl.scan_parquet({path!r}).group_by(**keys).agg(pl.len().alias("n"), pl.col("y").cast(pl.Int64).sum())
found = found.collect(engine="streaming")
print(found["n"].sum(), found["y"].sum())
""",
    "DuckDB": """
import duckdb, sys
connection = duckdb.connect()
connection.execute("set memory_limit = '3GB'; set enable_progress_bar = false")
key = "round(p, DECIMALS)" if {rounded} else "p"
groups = connection.sql(f"select {{key}} p, count(*) n, cast(sum(y) as bigint) y from '{path}' group by 1")
try:
    columns = groups.fetchnumpy()
except duckdb.OutOfMemoryException:
    sys.exit(99)
print(columns["n"].sum(), columns["y"].sum())
""",
}
DATA = {
    "polars": "data = {path!r}",
    "DuckDB": """
import duckdb
connection = duckdb.connect()
connection.execute("set memory_limit = '3GB'; set enable_progress_bar = false")
data = connection.sql("from '{path}'")
""",
}
OURS = """
import truecal
from truecal.reading import Limits
{data}
data = truecal.read(data, label="y", score="p", limits=Limits({limits}))
found = truecal.evaluate(data, metrics={metrics})
assert found.verdict.status == "consistent", "labels were drawn from the predictions"
print(found.n, found.positives)
"""
EXACT = {"exactly": "grid=None", "exactly, in 400 MB of keys and on disk": "grid=None, memory=400_000_000"}


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
        y = (rng.random(size, dtype=np.float32) < p).astype(np.uint8)
        positives += int(y.sum())
        table = pa.table({"y": y, "p": p})
        writer = writer or pq.ParquetWriter(path, table.schema, use_dictionary=kind == "four decimals")
        writer.write_table(table, row_group_size=1_000_000)
    assert writer is not None
    writer.close()
    return f"{rows} {positives}"


def list_jobs(path: Path, *, exact: bool) -> dict[tuple[str, str], str]:
    """Codes by engine and work: a group-by of a rounded column and `ltce`; or of the scores and what is exact."""
    place, jobs = str(path), {}
    for engine, code in BARE.items():
        bare = code.replace("DECIMALS", str(DECIMALS)).format(path=place, rounded=not exact)
        jobs[engine, "group-by" if exact else "bare"] = bare
        if not exact:
            data = DATA[engine].format(path=place)
            jobs[engine, "ltce"] = OURS.format(data=data, limits="grid=12", metrics=["ltce"])
    for way, limits in EXACT.items() if exact else ():
        data = DATA["polars"].format(path=place)
        jobs["polars", way] = OURS.format(data=data, limits=limits, metrics=["tce", "ece"])
    return jobs


def measure_files(path: Path, expected: str, repeats: int, *, exact: bool) -> Iterator[dict[str, Any]]:
    jobs = list_jobs(path, exact=exact)
    # in turns, so that what else this machine does falls on all
    rounds = [{name: run(code, expected, fail=True) for name, code in jobs.items()} for _ in range(repeats)]
    for engine, work in jobs:
        runs: list[Run] = [one[engine, work] for one in rounds if one[engine, work] is not None]
        best = {
            "seconds": min((one.seconds for one in runs), default=None),
            "cpu": min((one.cpu for one in runs), default=None),
            "gigabytes": min((one.gigabytes for one in runs), default=None),
        }
        yield {"engine": engine, "work": work, **best}


def start_spark(path: str) -> tuple[Any, Callable[[], object]]:
    """A frame of Spark on two cores, and its group-by of the rounded column."""
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as f

    settings = {"spark.ui.enabled": "false", "spark.log.level": "ERROR", "spark.sql.shuffle.partitions": "4"}
    spark = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    frame = spark.read.parquet(path)

    def group() -> object:  # anew each time: Spark keeps what it has shuffled
        return frame.groupBy(f.round("p", DECIMALS)).agg(f.count("*").alias("n"), f.sum("y").alias("y")).toArrow()

    return frame, group


def start_dask(path: str) -> tuple[Any, Callable[[], object]]:
    """A frame of Dask on two workers, and its group-by of the rounded column."""
    import dask.dataframe as dd
    from dask.distributed import Client, LocalCluster

    Client(LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None))
    frame = dd.read_parquet(path, split_row_groups=2)
    groups = frame.assign(p=frame["p"].round(DECIMALS)).groupby("p").agg({"y": ["count", "sum"]})
    return frame, groups.compute


def measure_cluster(engine: str, path: str, expected: str, repeats: int) -> dict[str, float]:
    """Seconds on a cluster of this process, in turns: the engine's own group-by, and `ltce`."""
    import truecal
    from truecal.reading import Limits

    frame, group = {"Spark": start_spark, "Dask": start_dask}[engine](path)
    best = {"bare": float("inf"), "ltce": float("inf")}
    for _ in range(repeats):
        begin = time.perf_counter()
        group()
        best["bare"] = min(best["bare"], time.perf_counter() - begin)
        begin = time.perf_counter()
        found = truecal.evaluate(truecal.read(frame, label="y", score="p", limits=Limits(grid=12)), metrics=["ltce"])
        best["ltce"] = min(best["ltce"], time.perf_counter() - begin)
        assert f"{found.n} {found.positives}" == expected, "rows were lost"
    return best


def measure(folder: Path, rows: int, kind: str, *, exact: bool) -> Iterator[dict[str, Any]]:
    path = folder / "a.parquet"
    # in a process of its own: a child's peak memory is never below what its parent held
    expected = run([__file__, "write", str(path), str(rows), kind]).output.strip()
    repeats = 9 if rows <= 1e7 else 3
    yield from measure_files(path, expected, repeats, exact=exact)
    if not exact and kind == "all distinct":
        for engine in ("Spark", "Dask"):
            code = [__file__, "cluster", engine, str(path), expected, "3" if rows <= 1e7 else "2"]
            for work, seconds in json.loads(run(code).output.splitlines()[-1]).items():
                yield {"engine": engine, "work": work, "seconds": seconds}


def keep(line: dict[str, Any]) -> None:
    """Put a line into the results, in the place of one of the same work."""
    names = FIELDS[:4]
    lines = []
    if RESULTS.exists():
        with RESULTS.open(newline="", encoding="utf-8") as file:
            lines = [old for old in csv.DictReader(file) if any(old[name] != str(line[name]) for name in names)]
    text = {key: f"{value:.4g}" if isinstance(value, float) else value for key, value in line.items()}
    with RESULTS.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows([*lines, text])
    print(*(f"{key} {value}" for key, value in text.items()), flush=True)


def main(sizes: list[float], kinds: list[str], *, exact: bool) -> None:
    limited = limit_memory(LIMIT)
    print(f"Memory limited to {LIMIT >> 30} GB: {'yes' if limited else 'no, this system lets nobody'}.\n")
    with tempfile.TemporaryDirectory() as folder:
        for rows in map(int, sizes):
            for kind in kinds:
                for line in measure(Path(folder), rows, kind, exact=exact):
                    keep({"rows": rows, "scores": kind, **line})


if __name__ == "__main__":
    given = sys.argv[1:]
    if given[:1] == ["write"]:
        print(write(Path(given[1]), int(given[2]), given[3]))
    elif given[:1] == ["cluster"]:
        print(json.dumps(measure_cluster(*given[1:4], int(given[4]))))
    elif given[:1] == ["exact"]:
        main([float(size) for size in given[1:]] or [1e7, 1e8], ["all distinct", "four decimals"], exact=True)
    else:
        main([float(given[0])], given[1:], exact=False)
