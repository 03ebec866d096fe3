"""A CSV of 1e7 rows: ratios measured side by side in fresh processes. Part of `make bench`; each result is asserted."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from csv import reader
from pathlib import Path

import numpy as np
import polars as pl
from measure import Line, run, seconds

import truecal
from truecal.reading import _csv

GROUP = """
import polars as pl
found = pl.scan_csv({path!r}).group_by("p").agg(pl.len().alias("n"), pl.col("y").sum()).collect(engine="streaming")
print(found["n"].sum(), found["y"].sum())
"""
SCORE = """
import truecal
found = truecal.evaluate(truecal.read({path!r}, label="y", score="p"), metrics=["tce"])
print(found.n, found.positives)
"""
SEGMENTS_GROUP = """
import polars as pl
keys = pl.scan_csv({path!r}).group_by("place", "p")
found = keys.agg(pl.len().alias("n"), pl.col("y").sum()).collect(engine="streaming")
print(found["n"].sum(), found["y"].sum())
"""
SEGMENTS = """
import truecal
found = truecal.read({path!r}, label="y", score="p", by="place")
print(found.n_rows, found.positives)
"""


def write(path: Path, rows: int, decimals: int) -> str:
    """A CSV of four columns; what its rows must add up to."""
    rng = np.random.default_rng(0)
    p = np.round(rng.beta(0.5, 50, rows), decimals)
    y = (rng.random(rows) < p).astype(np.int8)
    place = rng.choice(np.array(["de", "es", "fr", "it"]), rows)
    pl.DataFrame({"id": np.arange(rows), "y": y, "p": p, "place": place}).write_csv(path)
    return f"{rows} {y.sum()}"


def csv(folder: Path, rows: int) -> Iterator[Line]:
    for decimals, kind in ((4, "four decimals"), (17, "all distinct")):
        path = folder / "a.csv"
        expected = write(path, rows, decimals)
        pairs = (("evaluate", SCORE, GROUP), ("read by segment", SEGMENTS, SEGMENTS_GROUP))
        for name, code, bare in pairs:
            ours, theirs = [], []
            for _ in range(3):
                ours.append(run(code.format(path=str(path)), expected))
                theirs.append(run(bare.format(path=str(path)), expected))
            ratio = min(found.seconds for found in ours) / min(found.seconds for found in theirs)
            peak = min(found.gigabytes for found in ours)
            yield Line(f"{name} of a CSV of {rows:.0e} rows, {kind}, over polars' group-by", ratio, 1.5, 1.1)
            yield Line(f"{name}: peak memory, {kind}", peak, 2, 1, unit="GB")


def work(folder: Path, rows: int) -> Iterator[Line]:
    """The same without start and imports, in this process, in turns."""
    path = folder / "a.csv"
    for decimals, kind in ((4, "four decimals"), (17, "all distinct")):
        expected = write(path, rows, decimals)
        scan = pl.scan_csv(path).group_by("p").agg(pl.len().alias("n"), pl.col("y").sum())
        found = truecal.evaluate(truecal.read(path, label="y", score="p"), metrics=["tce"])
        assert expected == f"{found.n} {found.positives}"
        bare, ours = seconds(
            lambda scan=scan: scan.collect(engine="streaming"),
            lambda: truecal.evaluate(truecal.read(path, label="y", score="p"), metrics=["tce"]),
            repeats=5,
        )
        yield Line(f"evaluate without start and imports, {kind}, over polars' group-by", ours / bare, 1.5, 1.1)


def checks(folder: Path, rows: int) -> Iterator[Line]:
    """What it costs that no row can vanish: files that are checked, over files that were checked before; and CSV with a
    quote inside a field, which is copied, over reading it with Python's csv."""
    path = folder / "a.csv"
    expected = write(path, rows, 17)
    pl.read_csv(path).write_ndjson(folder / "a.jsonl")

    def read(place: Path) -> truecal.Observations:
        found = truecal.read(place, label="y", score="p")
        assert expected == f"{found.n_rows} {found.positives}"
        return found

    def check(place: Path) -> truecal.Observations:
        _csv._recent.clear()
        return read(place)

    for place in (path, folder / "a.jsonl"):
        known, checked = seconds(lambda place=place: read(place), lambda place=place: check(place), repeats=5)
        yield Line(f"{place.suffix} of {rows:.0e} rows, checked over known", checked / known, 1.1, 1.05)
    odd = folder / "odd.csv"
    odd.write_bytes(path.read_bytes().replace(b",de", b',d"e', 1))

    def count() -> None:
        with odd.open(newline="") as file:
            assert sum(1 for _ in reader(file)) == rows + 1

    copied, plain = seconds(lambda: check(odd), count, repeats=3)
    yield Line(f"CSV of {rows:.0e} rows with a quote inside, over Python's csv", copied / plain, 6, 4)


def main(rows: float) -> None:
    missed = False
    with tempfile.TemporaryDirectory() as folder:
        place, count = Path(folder), int(rows)
        for lines in (csv(place, count), work(place, count), checks(place, count // 10)):
            for line in lines:
                print(line, flush=True)
                missed |= line.verdict() == "MISSED"
    sys.exit(missed)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 1e7)
