"""Rows that share a customer: every engine and every kind of file finds the same clusters."""

import datetime as dt

import numpy as np
import pytest

import truecal
from truecal import Tally
from truecal.data import Reason
from truecal.data._parquet import _digest
from truecal.reading import Limits, count_copies, find_repeats, read_models


@pytest.fixture
def rows():
    rng = np.random.default_rng(3)
    p = np.round(rng.beta(1, 4, size=600), 2)
    y = (rng.random(600) < p).astype(int)
    return {
        "y": y.tolist(),
        "p": p.tolist(),
        "customer": rng.integers(0, 40, size=600).tolist(),
        "name": [f"customer {i}" for i in rng.integers(0, 40, size=600)],
        "country": rng.choice(["de", "at", "ch"], size=600).tolist(),
    }


def expected(rows, cluster, chosen=None):
    chosen = np.ones(len(rows["y"]), dtype=bool) if chosen is None else chosen
    y, p, ids = (np.array(rows[name], dtype=object)[chosen].tolist() for name in ("y", "p", cluster))
    return Tally.from_arrays(y, p, cluster=ids)


@pytest.mark.parametrize("cluster", ["customer", "name"])
def test_every_engine_finds_the_clusters_of_its_columns(make, rows, cluster):
    found = truecal.read(make(**rows), label="y", score="p", cluster=cluster)
    assert found.cluster == cluster
    assert found.tally == expected(rows, cluster)


def test_every_engine_finds_the_clusters_of_segments(make, rows):
    found = truecal.read(make(**rows), label="y", score="p", by="country", cluster="customer")
    for (country,), part in found.parts.items():
        assert part == expected(rows, "customer", np.array(rows["country"]) == country)
    assert found.tally == expected(rows, "customer")


def test_every_engine_finds_the_clusters_of_cells(make, rows):
    found = truecal.read(make(**rows), label="y", score="p", cluster="name", limits=Limits(grid=6))
    exact = expected(rows, "name")
    place = np.searchsorted(found.pooled().low, exact.score, side="right") - 1
    assert found.pooled().clusters == exact.clusters.move(place)


def test_rows_without_a_cluster_are_an_error_or_dropped(make, rows):
    rows["name"][5] = rows["name"][77] = None
    frame = make(**rows)
    with pytest.raises(
        ValueError, match=r"a label, a cluster and a score in \[0, 1\]; of 600 rows `name` is null in 2"
    ):
        truecal.read(frame, label="y", score="p", cluster="name")
    found = truecal.read(frame, label="y", score="p", cluster="name", missing="drop")
    assert found.row_counts.dropped == {Reason("name", "null"): 2}
    assert found.tally == expected(rows, "name", np.array([name is not None for name in rows["name"]]))


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl", "ipc"])
def test_files_of_several_days_have_the_clusters_of_all_rows(need, rows, tmp_path, suffix):
    pl = need("polars")
    frame = pl.DataFrame(rows)
    write = {"csv": "write_csv", "parquet": "write_parquet", "jsonl": "write_ndjson", "ipc": "write_ipc"}[suffix]
    for i, part in enumerate((frame[:200], frame[200:450], frame[450:])):
        getattr(part, write)(tmp_path / f"{i}.{suffix}")
    found = truecal.read(str(tmp_path), label="y", score="p", cluster="name")
    assert found.tally == expected(rows, "name")
    parts = [truecal.read(tmp_path / f"{i}.{suffix}", label="y", score="p", cluster="name") for i in range(3)]
    assert sum(parts).tally == found.tally


def test_numbers_times_and_categories_tell_clusters_apart(need, rows):
    pd = need("pandas")
    frame = pd.DataFrame(rows)
    frame["real"] = frame["customer"].astype(float)
    frame["kind"] = frame["name"].astype("category")
    frame["day"] = pd.Timestamp("2026-03-01") + pd.to_timedelta(frame["customer"], unit="D")
    plain = expected(rows, "customer")
    assert truecal.read(frame, label="y", score="p", cluster="real").tally == plain
    assert truecal.read(frame, label="y", score="p", cluster="kind").tally == expected(rows, "name")
    days = [dt.date(2026, 3, 1) + dt.timedelta(days=i) for i in rows["customer"]]
    by_day = truecal.read(frame, label="y", score="p", cluster="day").tally
    assert by_day == Tally.from_arrays(rows["y"], rows["p"], cluster=days)


def test_two_models_are_read_with_their_clusters_at_once(need, rows):
    pl = need("polars")
    frame = pl.DataFrame(rows).with_columns(half=pl.col("p") / 2)
    found = read_models(frame, label="y", score=["p", "half"], cluster="customer")
    assert found["p"].tally == expected(rows, "customer")
    assert found["half"].tally == expected(rows | {"p": [p / 2 for p in rows["p"]]}, "customer")


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_classes_have_clusters_too(need, engine):
    pl = need("polars")
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 2, 3], size=300)
    y = (p.cumsum(axis=1) > rng.random((300, 1))).argmax(axis=1)
    ids = rng.integers(0, 20, size=300)
    columns = {f"p_{i}": p[:, i] for i in range(3)}
    frame = pl.DataFrame({"y": y, "customer": ids, **columns})
    data = frame if engine == "polars" else need("duckdb").from_arrow(frame.to_arrow())
    found = truecal.read(data, label="y", score=["p_0", "p_1", "p_2"], multiclass="classwise", cluster="customer")
    assert found.top.tally == Tally.from_arrays(y == p.argmax(axis=1), p.max(axis=1), cluster=ids)
    for i, observations in enumerate(found.classes.values()):
        assert observations.tally == Tally.from_arrays(y == i, p[:, i], cluster=ids)
    results = truecal.evaluate_classes(found)
    assert results.top.verdict.clusters == 20
    again = truecal.evaluate_classes(y, p, cluster=ids)
    assert again.table.p_value.tolist() == results.table.p_value.tolist()


def test_a_column_that_is_not_there_is_named(rows, need):
    frame = need("pandas").DataFrame(rows)
    with pytest.raises(ValueError, match=r"`cluster` must be .*'custmer'"):
        truecal.read(frame, label="y", score="p", cluster="custmer")


def test_tallies_keep_their_clusters(rows, need):
    frame = need("pandas").DataFrame(rows)
    found = truecal.read(frame, label="y", score="p", by="country", cluster="customer")
    assert repr(found) == (
        f"Observations(3 segments by country, p for y, exact: 600 rows in clusters of customer, {sum(rows['y'])} positive)"
    )
    assert truecal.read(found, by=()).tally == expected(rows, "customer")
    assert truecal.read(found, cluster="customer") == found
    with pytest.raises(ValueError, match="`cluster` must be left out if observations are read"):
        truecal.read(found, cluster="name")
    other = truecal.read(frame, label="y", score="p", by="country")
    with pytest.raises(ValueError, match="Observations must agree on `cluster` to add"):
        found + other


@pytest.mark.parametrize("bits", [None, 6], ids=["exact", "cells"])
def test_files_of_tallies_know_the_clusters_of_all_days(rows, need, tmp_path, bits):
    """Most customers have rows on both days, in several countries; one country has none on the second."""
    pl = need("polars")
    frame = pl.DataFrame(rows)
    for day, part in enumerate((frame[:300], frame[300:].filter(pl.col("country") != "ch"))):
        options = {"label": "y", "score": "p", "by": "country", "cluster": "name", "limits": Limits(grid=bits)}
        observations = truecal.read(part, **options)
        assert truecal.Observations.load(observations.save(tmp_path / f"{day}.parquet")) == observations
    kept = [i < 300 or country != "ch" for i, country in enumerate(rows["country"])]
    both = truecal.read(str(tmp_path))
    whole = truecal.read(frame.filter(pl.Series(kept)), **options)
    assert both.cluster == "name"
    assert [part.clusters for part in both.parts.values()] == [part.clusters for part in whole.parts.values()]
    found, expected = (truecal.evaluate(each).verdict.p_value for each in (both, whole))
    assert found == pytest.approx(expected, rel=1e-12)  # sums of scores in cells agree to rounding
    assert truecal.read(str(tmp_path), by=(), cluster="name").pooled().clusters == whole.pooled().clusters
    with pytest.raises(ValueError, match="`cluster` must be left out if observations are read"):
        truecal.read(str(tmp_path), cluster="customer")


def test_a_file_whose_clusters_are_not_those_of_its_rows_is_refused(rows, need, tmp_path):
    pl = need("polars")
    place = truecal.read(pl.DataFrame(rows), label="y", score="p", cluster="name").save(tmp_path / "a.parquet")
    settings, frame = pl.read_parquet_metadata(place)["truecal"], pl.read_parquet(place)
    pair = pl.col("cluster").is_not_null()
    last = pl.int_range(pl.len()) == pl.len() - 1
    for change in (
        {"n": pl.when(pair & last).then(pl.col("n") + 1).otherwise("n")},
        {"pos": pl.when(pair).then(pl.col("n") + 1).otherwise("pos")},
        {"position": pl.when(pair & last).then(-1).otherwise("position")},
        {"position": pl.when(pair & last).then(10**6).otherwise("position")},
    ):
        frame.with_columns(**change).write_parquet(place, metadata={"truecal": settings})
        data = place.read_bytes()
        start, digest = _digest(data)
        place.write_bytes(data[:start] + digest + data[start + len(digest) :])
        with pytest.raises(ValueError, match="a.parquet' .*the rows of its clusters are not those of its scores"):
            truecal.Observations.load(place)


def test_rows_beyond_memory_are_refused(rows, need):
    pl = need("polars")
    many = pl.concat([pl.DataFrame(rows)] * 10)
    with pytest.raises(
        ValueError, match=r"Rows in clusters must fit into memory; 6,000 of them take more than 100,000"
    ):
        truecal.read(many, label="y", score="p", cluster="name", limits=Limits(memory=100_000))


def test_results_say_the_column(rows, need):
    frame = need("pandas").DataFrame(rows)
    result = truecal.evaluate(truecal.read(frame, label="y", score="p", cluster="customer"))
    assert "600 rows in 40 clusters (`customer`): design effect " in str(result)
    assert truecal.Result.from_json(result.to_json()) == result


def test_columns_whose_values_repeat_are_found_by_their_names(need, rows):
    pl = need("polars")
    frame = pl.DataFrame(rows)
    assert find_repeats(frame, ["y", "p"]) == "customer"
    # segments are no customers, few values are categories, and single rows do not repeat
    assert find_repeats(frame, ["y", "p", "customer"]) is None
    assert find_repeats(frame.with_columns(customer=pl.col("customer") % 10), ["y", "p"]) is None
    assert find_repeats(frame.drop("customer").with_columns(row_id=pl.int_range(600)), ["y", "p"]) is None
    for name in ("PatientID", "account", "card_number"):
        assert find_repeats(frame.rename({"customer": name}), ["y", "p"]) == name
    # 9,000 customers of seven rows each in any order: of the first 10,000 rows they have 1.7
    mixed = pl.DataFrame({"client_id": np.random.default_rng(0).permutation(63_000) % 9000})
    assert find_repeats(mixed, []) == "client_id"


def test_rows_that_were_written_twice_are_counted(need, tmp_path):
    """200 rows, 40 of them again: told where a column tells rows apart, by both readers of files; equal rows without
    one, or in few rows, are no wonder."""
    pl = need("polars")
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"y": rng.integers(0, 2, 200), "p": rng.random(200).round(1), "order": range(200)})
    twice = pl.concat([frame, frame[:40]])
    twice.write_csv(tmp_path / "plain.csv")
    twice.write_csv(tmp_path / "quoted.csv", quote_style="always")
    for data in (twice, tmp_path / "plain.csv", tmp_path / "quoted.csv"):
        assert count_copies(data, ["y", "p"]) == (40, 240)
        assert count_copies(data, ["y", "p", "order"]) == (0, 240)
    assert count_copies(frame, ["y", "p"]) == (0, 200)
    assert count_copies(pl.concat([frame, frame[:19]]), ["y", "p"]) == (0, 219)
    assert count_copies(twice.drop("order"), ["y"]) == (0, 240)
