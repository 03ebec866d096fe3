"""A tally on Spark's local cluster and on Dask, over a bare group-by of the same files; each result is asserted.

    python benches/clusters.py [rows]

Every line is a cluster of two single-core worker processes in a fresh process; the shorter of two runs, after one on
other rows. `driver` is by how much the driver's memory grew at its peak: Python, and for Spark its Java process too.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from measure import simulate

import truecal
from truecal import Tally

PARTS = 16
WORK = {
    "bare": "bare group-by",
    "tally": "read",
    "segments": "read, 10 segments",
    "grid": "read, a grid of 13 bits",
}


def write(folder: Path, rows: int, decimals: int | None) -> None:
    """The rows as Parquet in several files, with a few of them apart to warm up on."""
    import pyarrow as pa
    from pyarrow import parquet

    y, p = simulate(rows)
    p = p if decimals is None else np.round(p, decimals)
    table = pa.table({"y": y.astype(np.int64), "p": p, "segment": np.arange(rows) % 10})
    for name, part in (("rows", table), ("few", table.slice(0, 10_000))):
        (folder / name).mkdir(parents=True)
        size = -(-len(part) // PARTS)
        for i in range(PARTS):
            parquet.write_table(part.slice(i * size, size), folder / name / f"{i:02}.parquet")
    tally = Tally.from_arrays(y, p)
    (folder / "expected.json").write_text(json.dumps([len(tally), tally.n_rows, tally.positives]))


@contextmanager
def spark(folder: Path) -> Iterator[tuple[Callable[[str], Any], Callable[[Any], Any], list[int]]]:
    import pyspark
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as f

    home = folder / f"spark-{os.getpid()}"  # executors write below SPARK_HOME, which would be the installed package
    home.mkdir()
    for part in Path(pyspark.__file__).parent.iterdir():
        (home / part.name).symlink_to(part)
    os.environ |= {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1"}
    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.local.dir": str(home / "spill"),
        "spark.driver.memory": "4g",
    }
    session = SparkSession.builder.master("local-cluster[2,1,1024]").config(map=options).getOrCreate()
    java = session.sparkContext._gateway.proc.pid

    def bare(frame: Any) -> int:
        return len(frame.groupBy("p").agg(f.count("*").alias("n"), f.sum("y").alias("pos")).toArrow())

    try:
        yield session.read.parquet, bare, [os.getpid(), java]
    finally:
        session.stop()


@contextmanager
def dask(folder: Path) -> Iterator[tuple[Callable[[str], Any], Callable[[Any], Any], list[int]]]:
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    def bare(frame: Any) -> int:
        return len(frame.groupby("p").agg({"y": ["size", "sum"]}).compute())

    options = {"dashboard_address": None, "memory_limit": "4GiB", "local_directory": folder, "silence_logs": "ERROR"}
    with LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", **options) as cluster, Client(cluster):
        yield dd.read_parquet, bare, [os.getpid()]


def peak(pids: list[int]) -> int:
    """The peak memory of processes since `reset`, in bytes."""
    found = (re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text()) for pid in pids)
    return sum(int(match[1]) * 1024 for match in found if match)


def reset(pids: list[int]) -> int:
    """Start the peak anew; what is held now, in bytes."""
    for pid in pids:
        Path(f"/proc/{pid}/clear_refs").write_text("5")
    return peak(pids)


def run(engine: str, work: str, folder: Path) -> None:
    """One line's measurement, in this process."""
    lines, total, positives = json.loads((folder / "expected.json").read_text())
    names = {"label": "y", "score": "p"}
    with {"spark": spark, "dask": dask}[engine](folder) as (read, bare, driver):

        def job(frame: Any) -> Any:
            if work == "bare":
                return bare(frame)
            limits = truecal.reading.Limits(grid=13 if work == "grid" else None)
            return truecal.read(frame, **names, by="segment" if work == "segments" else (), limits=limits)

        job(read(str(folder / "few")))
        frame = read(str(folder / "rows"))
        taken, home, grown = [], lines, 0
        held = reset(driver)
        for _ in range(2):
            begin = time.perf_counter()
            found = job(frame)
            taken.append(time.perf_counter() - begin)
            grown = grown or peak(driver) - held  # the checks below take memory too
            if work == "bare":
                assert found == lines, "distinct scores are lost"
            elif work == "grid":
                home = len(found.pooled())
                assert (found.n_rows, found.positives) == (total, positives), "the cells are wrong"
            else:
                tally, home = found.tally, sum(map(len, found.parts.values()))
                assert (len(tally), tally.n_rows, tally.positives) == (lines, total, positives), "the tally is wrong"
            del found
        print(json.dumps({"seconds": min(taken), "driver": grown, "lines": home}))


def main(rows: int) -> None:
    print("| rows | engine | work | seconds | over bare | lines home | driver, MB | bytes a line |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as root:
        for data, decimals in (("4 decimals", 4), ("all distinct", None)):
            folder = Path(root) / data.replace(" ", "-")
            write(folder, rows, decimals)
            for engine in ("spark", "dask"):
                base = 0.0
                for work, words in WORK.items():
                    command = [sys.executable, __file__, engine, work, str(folder)]
                    done = subprocess.run(command, capture_output=True, text=True)  # noqa: PLW1510
                    if done.returncode:
                        sys.exit(done.stderr[-4000:])
                    found = json.loads(done.stdout.splitlines()[-1])
                    base = found["seconds"] if work == "bare" else base
                    print(
                        f"| {rows:.0e}, {data} | {engine} | {words} | {found['seconds']:.1f} "
                        f"| {found['seconds'] / base:.2f} | {found['lines']:,} | {found['driver'] / 1e6:,.0f} "
                        f"| {found['driver'] / found['lines']:,.0f} |",
                        flush=True,
                    )


if __name__ == "__main__":
    if len(sys.argv) == 4:
        run(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
    else:
        main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**7)
