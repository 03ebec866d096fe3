"""What other readers find in a CSV file of labels `y` and scores `p`."""

import csv
import gzip
import math

import pytest

WORDS = ("NA", "N/A", "n/a", "#N/A", "<NA>", "NULL", "null", "None")  # for missing values


def number(value):
    """A number, as all readers write it: Python alone takes underscores and digits of other scripts."""
    assert not isinstance(value, str) or (value.isascii() and "_" not in value)
    return float(value)


def total(labels, scores):
    """(rows, positives, sum of scores, dropped); an error if a value is no label or no score."""
    pairs = [(number(y), number(p)) for y, p in zip(labels, scores, strict=True)]
    kept = [(y, p) for y, p in pairs if not (math.isnan(y) or math.isnan(p))]
    assert kept
    assert all(y in (0, 1) and 0 <= p <= 1 for y, p in kept)
    return len(kept), int(sum(y for y, _ in kept)), math.fsum(p for _, p in kept), len(pairs) - len(kept)


def ask_csv(path, separator):
    opened = gzip.open if path.suffix == ".gz" else open
    missing = {None, "", *WORDS}  # csv has no words for it
    with opened(path, "rt", encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file, delimiter=separator))
    assert all(None not in row for row in rows), "a field too many"
    columns = [[math.nan if row[name] in missing else row[name] for row in rows] for name in "yp"]
    return total(*columns)


def ask_pandas(path, separator):
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(path, sep=separator)
    return total(frame["y"].tolist(), frame["p"].tolist())


def ask_duckdb(path, separator):
    duckdb = pytest.importorskip("duckdb")
    found = duckdb.read_csv(str(path), sep=separator, header=True, na_values=["", *WORDS])
    rows = found.project("y::VARCHAR::DOUBLE, p::VARCHAR::DOUBLE").fetchall()
    return total(*([math.nan if value is None else value for value in column] for column in zip(*rows, strict=True)))
