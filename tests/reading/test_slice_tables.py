"""Rows crossed by columns: every engine gives the same groups, its rows in one piece or in several."""

import numpy as np
import pytest

import truecal
from truecal.reading import cross


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(0)
    p, age = rng.beta(1, 9, size=4000), rng.integers(18, 80, size=4000)
    country = rng.choice(["at", "de", "fr"], size=4000)
    wrong = (country == "fr") & (age > 50)
    found = {"y": rng.random(4000) < np.where(wrong, np.minimum(3 * p, 1), p), "p": p, "age": age}
    return {name: values.tolist() for name, values in found.items()} | {"the `land`.": country.tolist()}


@pytest.fixture(scope="module")
def expected(columns):
    import polars as pl

    return truecal.slices(pl.DataFrame(columns), label="y", score="p")


def test_every_engine_gives_the_same_groups(make, columns, expected):
    assert "the `land`.=fr" in expected.slice[0], "as the rows were made"
    assert truecal.slices(make(**columns), label="y", score="p") == expected


def test_missing_values_are_dropped_and_counted(make, columns):
    score = [None if i % 10 == 0 else value for i, value in enumerate(columns["p"])]
    found = truecal.slices(make(**columns | {"p": score}), label="y", score="p", missing="drop")
    assert (found.row_counts.read, found.row_counts.evaluated) == (4000, 3600)
    assert sum(found.row_counts.dropped.values()) == 400


@pytest.mark.slow
@pytest.mark.parametrize("pieces", [1, 7])
def test_pieces_of_another_engine_add_up(need, columns, pieces, monkeypatch):
    # levels are chosen by the first rows, 1,000 of them or all
    dask, pd = need("dask.dataframe"), need("pandas")
    monkeypatch.setattr("truecal.reading._slice_tables.BATCH", 1000)
    frame = pd.DataFrame(columns)
    crossed = cross(dask.from_pandas(frame, npartitions=pieces), label="y", score="p")
    assert all(table[..., 0].sum() == len(frame) for table in crossed.tables.values())
    assert all(table[..., 1].sum() == frame.y.sum() for table in crossed.tables.values())


def test_no_rows_are_refused(make):
    import polars as pl

    empty = make(y=pl.Series([], dtype=pl.Int64).to_arrow(), p=pl.Series([], dtype=pl.Float64).to_arrow())
    with pytest.raises(ValueError, match="at least one valid row"):
        truecal.slices(empty, label="y", score="p")
