"""Rows that share a customer, on the command line and in the file of a gate."""

import json
import re

import numpy as np
import pytest
from command import run

import truecal

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("clusters")


@pytest.fixture(scope="module")
def data(folder):
    """200 customers of 20 rows each, whose predictions are right, and whose labels go together."""
    pl = pytest.importorskip("polars")
    rng = np.random.default_rng(6)
    customer = np.repeat(np.arange(200), 20)
    p = rng.beta(2, 6, 200)[customer]
    rate = rng.beta(4 * p[::20], 4 * (1 - p[::20]))[customer]  # right on average; a correlation of 1 / 5
    day = [f"2026-03-0{1 + i % 4}" for i in range(4000)]
    columns = {"y": (rng.random(4000) < rate).astype(int), "p": p, "customer_id": customer, "day": day}
    pl.DataFrame(columns | {"g": np.arange(4000) // 2000}).write_csv(folder / "rows.csv")
    return folder / "rows.csv"


def test_score_allows_for_rows_that_go_together(data):
    """The variance of a beta-binomial count over that of a binomial one is 1 + 19 / 5 = 4.8."""
    observations = truecal.read(data, label="y", score="p", cluster="customer_id")
    expected = truecal.evaluate(observations, ["ltce"]).verdict
    done = run("evaluate", data, "-y", "y", "-p", "p", "--cluster", "customer_id", "--json")
    found = truecal.Result.from_json(done.stdout).verdict
    assert found == expected
    assert found.status != "miscalibrated"
    assert (found.clusters, found.cluster) == (200, "customer_id")
    assert 3 < found.design_effect < 7
    assert "rows are taken as independent" not in done.stderr


def test_a_column_of_customers_that_repeats_is_told_of(data):
    done = run("evaluate", data, "-y", "y", "-p", "p", "--json")
    assert truecal.Result.from_json(done.stdout).verdict.status == "miscalibrated"
    told = "rows are taken as independent, though values of `customer_id` repeat; --cluster customer_id"
    assert told in " ".join(done.stderr.split())
    assert "independent" not in run("segments", data, "-y", "y", "-p", "p", "--by", "customer_id").stderr


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
def test_files_of_every_kind_are_told_of(data, tmp_path, suffix):
    pl = pytest.importorskip("polars")
    write = {"csv": "write_csv", "parquet": "write_parquet", "jsonl": "write_ndjson"}[suffix]
    getattr(pl.read_csv(data), write)(tmp_path / f"rows.{suffix}")
    done = run("slices", f"rows.{suffix}", "-y", "y", "-p", "p", cwd=tmp_path)
    assert "--cluster customer_id allows for rows that go together" in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    "words",
    [
        ("segments", "--by", "g"),
        ("slices",),
        ("recalibrate", "-o", "{}/map.json"),
        ("tally", "-o", "{}/t.parquet"),
        ("drift", "--time", "day"),
        ("check",),
        ("monitor", "--time", "day", "--state", "{}/monitor.json"),
        ("report", "-o", "{}/a.html"),
        ("plot", "-o", "{}/a.svg"),
    ],
    ids=lambda words: words[0],
)
def test_every_command_takes_it(data, folder, words):
    command, *more = (word.format(folder) for word in words)
    done = run(command, data, "-y", "y", "-p", "p", *more, "--cluster", "customer_id")
    assert done.returncode == 0, done.stderr
    if command == "report":
        assert "4,000 rows in 200 clusters (customer_id): design effect " in re.sub(
            "<.*?>", "", (folder / "a.html").read_text()
        )
    elif command != "plot":
        assert "note: tests account for clustering by `customer_id`" in done.stderr


def test_files_of_tallies_are_judged_as_the_rows_are(data, folder):
    """Each customer has rows on all four days, each day a file of its own."""
    pl = pytest.importorskip("polars")
    frame = pl.read_csv(data)
    for (day,), part in frame.partition_by("day", as_dict=True).items():
        part.write_csv(folder / f"{day}.csv")
        words = ("-y", "y", "-p", "p", "--cluster", "customer_id", "-o", folder / "days" / f"{day}.parquet")
        (folder / "days").mkdir(exist_ok=True)
        assert run("tally", folder / f"{day}.csv", *words).returncode == 0
    assert run("merge", folder / "days", "-o", folder / "all.parquet").returncode == 0
    expected = truecal.evaluate(truecal.read(data, label="y", score="p", cluster="customer_id"), ["ltce"]).verdict
    for place in (folder / "days", folder / "all.parquet"):
        assert truecal.Result.from_json(run("evaluate", place, "--json").stdout).verdict == expected
    other = run("evaluate", folder / "all.parquet", "--cluster", "g")
    assert other.returncode == 2
    assert "--cluster must be left out if observations are read" in other.stderr


def test_slices_of_rows_that_go_together_are_not_off(data):
    """The predictions are right: rows as such seem to be off where customers happen to have many positives."""
    assert len(truecal.slices(data, label="y", score="p", columns="g")) > 0
    found = truecal.slices(data, label="y", score="p", columns="g", cluster="customer_id")
    assert len(found) == 0
    done = run("slices", data, "-y", "y", "-p", "p", "--columns", "g", "--cluster", "customer_id", "--json")
    assert type(found).from_json(done.stdout) == found


def test_the_file_of_a_gate_may_say_it(data, folder):
    rules = folder / "gate.toml"
    rules.write_text('[data]\ncluster = "customer_id"\n[[rule]]\nverdict = true\nallow_inconclusive = true\n')
    done = run("check", data, "-y", "y", "-p", "p", "--rules", rules, "--json")
    assert (done.returncode, json.loads(done.stdout)["status"]) == (0, "pass"), done.stderr
    other = run("check", data, "-y", "y", "-p", "p", "--rules", rules, "--cluster", "g")
    assert other.returncode == 2
    assert f"--cluster must be that of '{rules}', customer_id, or be left out; it is g" in other.stderr
    with pytest.raises(ValueError, match="must be read with `cluster` 'customer_id', as"):
        truecal.check(truecal.read(data, label="y", score="p"), rules)
    rules.write_text("[data]\ncluster = 3\n[[rule]]\nverdict = true\n")
    with pytest.raises(ValueError, match=r"gate.toml: `cluster` must name a column; it is 3"):
        truecal.gate.read_cluster(rules)


def test_two_models_are_compared_by_clusters(data, tmp_path):
    pl = pytest.importorskip("polars")
    rows = pl.read_csv(data).with_columns((pl.col("p") * 0.8).alias("other"))
    rows.write_csv(tmp_path / "two.csv")
    words = ("-y", "y", "-p", "p,other", "--metrics", "brier")
    own = ("compare", tmp_path / "two.csv", *words)
    found = json.loads(run(*own, "--cluster", "customer_id", "--json").stdout)
    columns = [rows[name].to_numpy() for name in ("y", "p", "other")]
    expected = truecal.compare(*columns, ["brier"], cluster=rows["customer_id"].to_numpy())
    assert found["columns"]["low"] == pytest.approx([expected["brier"].low])
    observations = truecal.read(tmp_path / "two.csv", label="y", score="p", baseline="other", cluster="customer_id")
    assert observations.baseline.clusters.count == rows["customer_id"].n_unique()
