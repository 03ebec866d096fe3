"""The search for groups of rows: its sums against group-bys, its tests against exact ones, its error rate."""

import re
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import truecal
from truecal.analysis import search
from truecal.data import Cells, Level
from truecal.metrics import PoissonBinomial
from truecal.reading import cross
from truecal.results import SliceTable


def simulate(rng, rows, wrong=None, factor=1.0):
    """Predictions with four columns; rows where `wrong` holds have other odds."""
    p = rng.beta(1, 9, size=rows)
    found = {
        "country": rng.choice(["at", "de", "fr", None], size=rows),
        "age": np.where(rng.random(rows) < 0.1, np.nan, rng.integers(18, 80, size=rows)),
        "member": rng.random(rows) < 0.3,
        "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 90, size=rows), unit="D"),
    }
    frame = pd.DataFrame({"p": p, **found})
    inside = np.zeros(rows, dtype=bool) if wrong is None else wrong(frame).to_numpy(dtype=bool)
    frame["y"] = rng.random(rows) < np.where(inside, p * factor / (1 - p + p * factor), p)
    return frame


@pytest.fixture(scope="module")
def frame():
    return simulate(np.random.default_rng(0), 20_000)


def assign(frame):
    """The level of every row in every column, by pandas."""
    found = {"country": frame.country.map(lambda v: f"={v}", na_action="ignore").fillna(" is null")}
    found["member"] = frame.member.map(lambda v: f"={v}")
    found["age"] = frame.age
    return found


def test_sums_are_those_of_a_group_by(frame):
    crossed = cross(frame, label="y", score="p", columns=["country", "member", "age"])
    country, member = crossed.columns.index("country"), crossed.columns.index("member")
    levels = assign(frame)
    groups = frame.assign(q=frame.p.where(frame.p < 0.5, 1 - frame.p)).groupby([levels["country"], levels["member"]])
    for (a, b), rows in groups:
        i, j = crossed.levels[country].index(Level(a)), crossed.levels[member].index(Level(b))
        sums = crossed.tables[country, member][i, j].sum(axis=0)
        wanted = [len(rows), rows.y.sum(), rows.q.sum(), (rows.q**2).sum(), (rows.q**3).sum()]
        assert sums == pytest.approx(wanted, rel=1e-12)
    # every pair, and every column by itself, holds every row once
    count = len(crossed.columns)
    assert set(crossed.tables) == {*((i, -1) for i in range(count)), *combinations(range(count), 2)}
    assert all(table[..., 0].sum() == len(frame) for table in crossed.tables.values())


def test_ranges_say_which_rows_they_hold(frame):
    crossed = cross(frame, label="y", score="p", columns="age", pairs=False)
    table = crossed.tables[crossed.columns.index("age"), -1][:, 0, :, 0].sum(axis=1)
    for level, n in zip(crossed.levels[crossed.columns.index("age")], table, strict=True):
        inside = frame.age.isna() if level == Level(" is null") else frame.age.notna()
        if level.low is not None:
            inside &= frame.age > float(level.low)
        if level.high is not None:
            inside &= frame.age <= float(level.high)
        assert n == inside.sum()


def test_frames_and_files_give_the_same(frame, tmp_path):
    expected = truecal.slices(frame, label="y", score="p")
    assert truecal.slices(pl.from_pandas(frame), label="y", score="p") == expected
    assert truecal.slices(pl.from_pandas(frame).to_arrow(), label="y", score="p") == expected
    pl.from_pandas(frame).write_parquet(tmp_path / "rows.parquet")
    assert truecal.slices(tmp_path / "rows.parquet", label="y", score="p") == expected
    assert SliceTable.from_json(expected.to_json()) == expected


def test_batches_add_up(frame, tmp_path, monkeypatch):
    # levels are chosen by the first batch; all values occur in it
    pl.from_pandas(frame).write_parquet(tmp_path / "rows.parquet", row_group_size=1000)
    monkeypatch.setattr("truecal.reading._read.BATCH", 4000)
    crossed = cross(tmp_path / "rows.parquet", label="y", score="p")
    assert all(table[..., 0].sum() == len(frame) for table in crossed.tables.values())
    assert all(table[..., 1].sum() == frame.y.sum() for table in crossed.tables.values())


def test_a_group_that_is_off_is_found_and_named():
    rng = np.random.default_rng(1)
    frame = simulate(rng, 40_000, lambda f: (f.country == "fr") & f.member, factor=2)
    found = truecal.slices(frame, label="y", score="p")
    assert found.slice[0] == "country=fr and member=True"
    assert found.direction[0] == "under-predicts"
    assert found.ratio_low[0] < found.ratio[0] < found.ratio_high[0]
    inside = frame[(frame.country == "fr") & frame.member]
    assert (found.n[0], found.observed[0]) == (len(inside), inside.y.sum())
    assert found.expected[0] == pytest.approx(inside.p.sum())
    # what holds it, and parts of it, are explained by it
    assert "country=fr" not in found.slice
    assert len(found) <= 3


def test_p_values_are_exact():
    rng = np.random.default_rng(2)
    frame = simulate(rng, 4000, lambda f: f.member, factor=1.6)
    found = truecal.slices(frame, label="y", score="p", columns="member", significance=0.9999)
    inside = frame[frame.member]
    place = found.slice.index("member=True")
    cells = Cells.from_arrays(inside.y, inside.p)
    below, at, above = PoissonBinomial.of(cells).tails(np.array([0]), np.array([len(cells)]))
    assert found.p_value[place] == pytest.approx(2 * (min(below[0], above[0]) + at[0]), rel=0.02)
    assert found.p_adjusted[place] == pytest.approx(min(1, found.p_value[place] * found.searched), rel=1e-9)


def test_nothing_is_listed_where_nothing_is_off():
    # at most 5 % of right models list anything; P(5 or more of 30 | 0.05) = 0.016, and the seeds are fixed
    listed = 0
    for seed in range(30):
        listed += len(truecal.slices(simulate(np.random.default_rng([3, seed]), 5000), label="y", score="p")) > 0
    assert listed < 5


def test_all_rows_are_called_so():
    rng = np.random.default_rng(0)
    p = rng.beta(2, 9, 4000)
    frame = {"y": rng.random(4000) < p / 2, "p": p, "x": rng.random(4000)}
    assert truecal.slices(frame, label="y", score="p").slice == ("all rows",)


def certain(rng, low, high):
    """A third of rows each at a score of 0, 1 and 0.3, with so many positives at 0 and 1; a column that says nothing."""
    p = np.repeat([0.0, 1.0, 0.3], 1000)
    y = np.concatenate([np.arange(1000) < low, np.arange(1000) < high, np.arange(1000) < 300])
    return pl.DataFrame({"y": y, "p": p, "channel": rng.choice(["a", "b"], size=3000)})


@pytest.mark.parametrize(
    ("low", "high", "listed"),
    [
        (50, 1000, {"p=0": "under-predicts"}),
        (1, 1000, {"p=0": "under-predicts"}),  # one row that is impossible suffices
        (1000, 1000, {"p=0": "under-predicts"}),
        (0, 900, {"p=1": "over-predicts"}),
        (50, 0, {"p=0": "under-predicts", "p=1": "over-predicts"}),
        (0, 1000, {}),
    ],
)
def test_scores_of_exactly_0_or_1_that_labels_contradict_come_first(low, high, listed):
    frame = certain(np.random.default_rng(7), low, high)
    found = truecal.slices(frame, label="y", score="p")
    assert dict(zip(found.slice, found.direction, strict=True)) == listed
    assert (truecal.evaluate(frame["y"], frame["p"]).verdict.status == "miscalibrated") == bool(listed)
    assert set(found.p_adjusted) <= {0.0}
    count = dict(zip(found.slice, found.observed, strict=True))
    assert count == {name: {"p=0": low, "p=1": high}[name] for name in listed}
    assert SliceTable.from_json(found.to_json()) == found


def test_fewer_rejected_rows_than_are_tested_are_listed_too():
    rng = np.random.default_rng(8)
    p = np.append(rng.beta(2, 9, 2000), 0.0)
    frame = {"y": np.append(rng.random(2000) < p[:-1], True), "p": p, "x": rng.random(2001)}
    found = truecal.slices(frame, label="y", score="p")
    assert (found.slice, found.n.tolist()) == (("p=0",), [1])


def test_every_row_agrees_with_itself():
    # half of the scores are rounded to 0, and one country is too low besides
    rng = np.random.default_rng(9)
    frame = simulate(rng, 40_000, lambda f: f.country == "fr", factor=2)
    found = truecal.slices(frame.assign(p=frame.p.round(1)), label="y", score="p")
    assert found.slice[:2] == ("p=0", "country=fr")
    later = slice(1, None)
    assert found.ratio[later] == pytest.approx(found.observed[later] / found.expected[later])
    assert np.all((found.ratio_low <= found.ratio) & (found.ratio <= found.ratio_high) | np.isinf(found.ratio))
    assert np.all((found.ratio_low[later] > 1) | (found.ratio_high[later] < 1))
    assert set(found.direction) <= {"under-predicts", "over-predicts"}


def test_a_loss_below_0_is_no_error():
    # rows of 0 and of 0.499 lie in one bin, whose mean says less than its rows
    frame = {"y": [0] * 500 + [1] * 500, "p": [1e-9] * 500 + [0.499] * 500, "x": list(range(5)) * 200}
    crossed = replace(cross(frame, label="y", score="p", columns="x"), bins=np.array([0.0]))
    rows = replace(crossed.rows, bin=np.zeros(1000, dtype=np.uint8))
    tables = rows.cross(list(crossed.tables), [len(levels) for levels in crossed.levels], 1)
    assert len(search(replace(crossed, rows=rows, tables=tables)))


def test_twins_are_listed_once():
    rng = np.random.default_rng(4)
    frame = simulate(rng, 20_000, lambda f: f.country == "at", factor=2).assign(copy=lambda f: f.country)
    found = truecal.slices(frame, label="y", score="p", columns=["country", "copy"], pairs=False)
    assert [text for text in found.slice if "at" in text.split("=")] == ["country=at"]


def test_columns_that_make_no_groups_are_named():
    rng = np.random.default_rng(5)
    numbers = np.arange(3000)
    frame = simulate(rng, 3000).assign(
        customer=[f"c{i}" for i in numbers],
        one="x",
        orderId=7 * numbers,
        loan=numbers,
        amount=7 * rng.permutation(numbers),
    )
    found = truecal.slices(frame, label="y", score="p")
    assert any("`customer` has 3,000 values" in str(note) for note in found.notes)
    assert any("`orderId` has 3,000 values" in str(note) for note in found.notes)
    assert any("`one` has a single value" in str(note) for note in found.notes)
    assert any("`loan` has 3,000 values" in str(note) for note in found.notes)
    assert not {"customer", "orderId", "loan"} & set(found.columns_searched)
    assert "amount" in found.columns_searched


@pytest.mark.parametrize("unit", ["D", "M", "s"])
def test_dates_in_text_are_cut_into_ranges(unit):
    rng = np.random.default_rng(6)
    month = rng.integers(0, 36, size=8000)
    moments = np.datetime64("2023-01") + month.astype("timedelta64[M]")
    frame = simulate(rng, 8000, lambda f: pd.Series(month >= 24), factor=2).assign(
        day=np.datetime_as_string(moments, unit)
    )
    frame.loc[0, "day"] = None
    found = truecal.slices(frame, label="y", score="p", columns=["day"], pairs=False)
    assert re.fullmatch(r"day above 202[45]-\d\d-01", found.slice[0])


def test_rare_values_are_others():
    # 13 values: those of 12, 11, ... 3 hundred rows are kept, in the order of the column's values
    kinds = [letter for i, letter in enumerate("abcdefghijklm") for _ in range(100 * i)]
    frame = pl.DataFrame({"kind": kinds}).with_columns(y=pl.int_range(pl.len()) % 2, p=pl.lit(0.5))
    crossed = cross(frame, label="y", score="p")
    assert crossed.levels[0] == (
        *(Level(f"={letter}") for letter in "defghijklm"),
        Level(" is another"),
        Level(" is null"),
    )
    rows = crossed.tables[0, -1][:, 0, :, 0].sum(axis=1)
    assert rows.tolist() == [*range(300, 1300, 100), 100 + 200, 0]
    assert search(crossed).searched == 12


def test_missing_values_are_dropped_and_counted(frame):
    holes = frame.assign(p=frame.p.where(frame.index % 10 > 0))
    with pytest.raises(ValueError, match="missing"):
        truecal.slices(holes, label="y", score="p")
    found = truecal.slices(holes, label="y", score="p", missing="drop")
    assert found.row_counts.n_dropped == 2000
    assert found.rows == 18_000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": "wrong"}, "`columns` must be one of the columns"),
        ({"columns": ["y"]}, "not the label"),
        ({"columns": ["age", "age"]}, "each column once"),
        ({"min_rows": 0}, "`min_rows` must be a whole number"),
        ({"significance": 2}, "`significance`"),
    ],
)
def test_what_does_not_fit_is_refused(frame, options, message):
    with pytest.raises(ValueError, match=message):
        truecal.slices(frame, label="y", score="p", **options)
