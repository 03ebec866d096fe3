"""The same cases on every dataframe engine, through one fixture: identical tallies, identical refusals."""

from datetime import date, datetime, timedelta

import numpy as np
import pytest

import truecal
from truecal import Tally
from truecal.data import Cells, Reason
from truecal.reading import Limits

COLUMNS = {"label": "y", "score": "p"}


def read_tally(frame, **options):
    return truecal.read(frame, **options).tally


def read_parts(frame, **options):
    return dict(truecal.read(frame, **options).parts)


@pytest.fixture
def columns(rng):
    p = np.round(rng.beta(0.5, 3, 3000), 2)
    p[:5] = [0.0, 1.0, -0.0, 1e-300, 0.5]
    return {
        "y": (rng.random(3000) < p).astype(int).tolist(),
        "p": p.tolist(),
        "kind": rng.choice(["card", "wire", "cash"], 3000).tolist(),
        "month": rng.integers(1, 4, 3000).tolist(),
    }


@pytest.mark.slow
def test_a_frame_gives_the_tally_of_its_columns(make, columns):
    expected = Tally.from_arrays(columns["y"], columns["p"])
    assert read_tally(make(**columns), label="y", score="p") == expected
    truth = {**columns, "y": [bool(v) for v in columns["y"]]}
    assert read_tally(make(**truth), label="y", score="p") == expected
    words = {**columns, "y": ["yes" if v else "no" for v in columns["y"]]}
    assert read_tally(make(**words), label="y", score="p", pos_label="yes") == expected
    floats = {**columns, "y": [float(v) for v in columns["y"]]}
    assert read_tally(make(**floats), label="y", score="p") == expected


@pytest.mark.slow
def test_segments_come_from_one_pass(make, columns):
    found = read_parts(make(**columns), label="y", score="p", by=["kind", "month"])
    assert list(found) == [(k, m) for k in ("card", "cash", "wire") for m in (1, 2, 3)]
    y, p = np.array(columns["y"]), np.array(columns["p"])
    for (kind, month), tally in found.items():
        rows = (np.array(columns["kind"]) == kind) & (np.array(columns["month"]) == month)
        assert tally == Tally.from_arrays(y[rows], p[rows])
    assert sum(found.values()) == Tally.from_arrays(y, p)
    single = read_parts(make(**columns), label="y", score="p", by="kind")
    assert list(single) == [("card",), ("cash",), ("wire",)]


def test_rows_without_a_segment_are_one_of_their_own(make, columns):
    columns["kind"][:50] = [None] * 50
    found = read_parts(make(**columns), label="y", score="p", by="kind")
    assert list(found) == [("card",), ("cash",), ("wire",), (None,)]
    assert found[None,] == Tally.from_arrays(columns["y"][:50], columns["p"][:50])


def test_rows_that_cannot_be_used_are_counted_by_kind(make, columns):
    columns["p"][10:12] = [None, None]
    columns["y"][20] = None
    frame = make(**columns)
    with pytest.raises(ValueError, match=r"of 3,000 rows `p` is (null|NaN) in 2, `y` is null in 1(?s:.*)missing"):
        read_tally(frame, label="y", score="p")
    kept = [i for i in range(3000) if i not in (10, 11, 20)]
    expected = Tally.from_arrays([columns["y"][i] for i in kept], [columns["p"][i] for i in kept])
    found = truecal.read(frame, label="y", score="p", missing="drop")
    assert found.tally == expected
    assert found.row_counts.n_dropped == 3
    assert found.row_counts.dropped[Reason("y", "null")] == 1


def test_wrong_values_are_never_dropped(make, columns):
    columns["p"][7] = 1.5
    columns["y"][9] = 3
    with pytest.raises(ValueError, match=r"`p` is outside \[0, 1\] in 1, `y` is neither 0 nor 1 in 1"):
        read_tally(make(**columns), label="y", score="p", missing="drop")


def test_nan_is_not_a_score(make, columns):
    columns["p"][7] = float("nan")
    with pytest.raises(ValueError, match=r"`p` is (NaN|null) in 1"):
        read_tally(make(**columns), label="y", score="p")


def test_columns_that_are_not_there_or_of_another_kind(make, columns):
    frame = make(**columns)
    with pytest.raises(ValueError, match=r"`score` must be one of the columns 'y', 'p'(?s:.*)it is 'prob'"):
        read_tally(frame, label="y", score="prob")
    with pytest.raises(ValueError, match="(?s)`by` must be one of the columns.*did you mean 'month'"):
        read_parts(frame, label="y", score="p", by="mont")
    with pytest.raises(TypeError, match=r"`kind` must hold numbers in \[0, 1\]; it holds String"):
        read_tally(frame, label="y", score="kind")
    with pytest.raises(TypeError, match="(?s)`kind` must hold 0 and 1 or booleans.*`pos_label`"):
        read_tally(frame, label="kind", score="p")


def test_an_empty_frame_is_refused(make):
    pa = pytest.importorskip("pyarrow")
    frame = make(y=pa.array([], pa.int64()), p=pa.array([], pa.float64()))
    with pytest.raises(ValueError, match="must have at least one valid row; they have none"):
        read_tally(frame, label="y", score="p")


@pytest.mark.slow
def test_every_engine_makes_the_same_cells(make, columns, rng):
    """n, positives and ends to the last bit; sums as far as the order of adding moves them."""
    columns["p"] = rng.beta(0.5, 3, 3000).tolist()
    columns["p"][:4] = [0.0, 1.0, -0.0, 0.5]
    frame = make(**columns)
    exact = Tally.from_arrays(columns["y"], columns["p"])
    limits = Limits(grid=6)
    read = truecal.read(frame, **COLUMNS, limits=limits)
    found = read.pooled()
    expected = Cells.grid(exact, 6)
    for got, wanted in zip(
        found.columns[:3] + found.columns[4:], expected.columns[:3] + expected.columns[4:], strict=True
    ):
        np.testing.assert_array_equal(got, wanted)
    np.testing.assert_allclose(found.score_sum, expected.score_sum, rtol=1e-12)
    result = truecal.evaluate(read, metrics=["tce", "ece"])
    low, high = result.bounds["tce"]
    assert low < high
    assert low <= result["tce"] <= high
    assert any("cells of 6 significant bits" in str(note) for note in result.notes)
    parts = truecal.read(frame, **COLUMNS, by="kind", limits=limits)
    table = truecal.segments(parts, "tce", null_draws=9, random_state=0)
    assert (table.lowest <= table.highest).all()
    assert (table.lowest < table.highest).any()
    assert table.n.sum() == 3000


def test_only_engines_elsewhere_with_many_rows_are_gridded_unasked(make, columns, rng):
    columns["p"] = rng.beta(0.5, 3, 3000).tolist()
    frame = make(**columns)
    data = truecal.read(frame, **COLUMNS, limits=Limits(limit=2999)).pooled()
    elsewhere = make.engine in ("duckdb", "pyspark", "dask", "ibis")
    assert isinstance(data, Cells) == elsewhere
    data = truecal.read(frame, **COLUMNS, limits=Limits(limit=3000)).pooled()
    assert not isinstance(data, Cells)
    data = truecal.read(frame, **COLUMNS, limits=Limits(grid=None, limit=1)).pooled()
    assert not isinstance(data, Cells)


def test_a_grid_that_leaves_every_score_alone_is_exact(make, columns):
    """Two decimals are told apart by 13 bits."""
    data = truecal.read(make(**columns), **COLUMNS, limits=Limits(grid=13)).pooled().simplify()
    assert data == Tally.from_arrays(columns["y"], columns["p"])


def test_a_scale_that_makes_no_sense_is_refused():
    for bad in (1, 27, True, 2.5, "never"):
        with pytest.raises(ValueError, match="`bits` must be a whole number from 2 to 26"):
            Limits(grid=bad)
    with pytest.raises(ValueError, match="`memory` must be a whole number, 100,000 or more; it is 50"):
        Limits(memory=50)


@pytest.mark.slow
def test_times_are_cut_into_windows(make, columns):
    """Hours of three days, as dates of their days and of their week; 2026-11-16 is a Monday."""
    start = datetime(2026, 11, 16)
    columns["time"] = [start + timedelta(hours=i % 72) for i in range(3000)]
    y, p = np.array(columns["y"]), np.array(columns["p"])
    day = np.arange(3000) % 72 // 24
    frame = make(**columns)
    found = truecal.read(frame, **COLUMNS, time="time", every="1d").parts
    assert list(found) == [(date(2026, 11, 16),), (date(2026, 11, 17),), (date(2026, 11, 18),)]
    for i, tally in enumerate(found.values()):
        assert tally == Tally.from_arrays(y[day == i], p[day == i])
    week = truecal.read(frame, **COLUMNS, time="time", every="1w").parts
    assert week == {(date(2026, 11, 16),): Tally.from_arrays(y, p)}
    hours = truecal.read(frame, **COLUMNS, time="time", every="1h").parts
    assert list(hours)[1] == (datetime(2026, 11, 16, 1),)
    gridded = truecal.read(frame, **COLUMNS, time="time", every="1w", limits=Limits(grid=5)).parts
    assert gridded[(date(2026, 11, 16),)].n.tolist() == Cells.grid(Tally.from_arrays(y, p), 5).n.tolist()
    with pytest.raises(TypeError, match="`month` must hold dates or times to be cut into periods of '1d'"):
        truecal.read(frame, **COLUMNS, time="month")


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "+02:00"])
def test_times_with_a_zone_are_cut_in_utc(need, zone):
    """50 rows at 22:30 in UTC and 50 three hours later, told in any zone; the caller's column stays as it is."""
    pd = need("pandas")
    pa, dask = need("pyarrow"), need("dask.dataframe")
    moments = pd.to_datetime(["2026-03-20T22:30:00"] * 50 + ["2026-03-21T01:30:00"] * 50).tz_localize("UTC")
    frame = pd.DataFrame({"y": [0, 1] * 50, "p": [0.25, 0.75] * 50, "t": moments.tz_convert(zone)})
    kind, days = frame["t"].dtype, {(date(2026, 3, 20),): 50, (date(2026, 3, 21),): 50}
    arrow = frame.assign(t=frame["t"].astype(pd.ArrowDtype(pa.timestamp("us", zone))))
    for each in (frame, arrow, dask.from_pandas(frame, npartitions=2), pa.Table.from_pandas(frame)):
        assert {
            day: int(tally.n.sum()) for day, tally in read_parts(each, **COLUMNS, time="t", every="1d").items()
        } == days
    assert frame["t"].dtype == kind
    assert truecal.reading.infer_time(frame) == "t"


def test_whole_numbers_beyond_64_bits_are_names(need, rng):
    """Card numbers of 20 digits are clusters as their texts are, and make groups; labels of that type are labels."""
    pl = need("polars")
    card = rng.integers(0, 12, 600)
    y, p = rng.integers(0, 2, 600), rng.random(600)
    frame = pl.DataFrame(
        {"y": y, "p": p, "card": [10**20 + int(i) for i in card]}, schema_overrides={"card": pl.Int128}
    )
    text = frame.with_columns(pl.col("card").cast(pl.String))
    assert read_tally(frame, **COLUMNS, cluster="card") == read_tally(text, **COLUMNS, cluster="card")
    assert read_tally(frame.with_columns(pl.col("y").cast(pl.Int128)), **COLUMNS) == Tally.from_arrays(y, p)
    assert truecal.slices(frame, **COLUMNS).searched == truecal.slices(text, **COLUMNS).searched > 0


def test_nested_columns_are_refused(need):
    pl = need("polars")
    need("narwhals")
    frame = pl.DataFrame({"y": [[0], [1]], "p": [0.1, 0.2], "s": [{"a": 1}, {"a": 2}], "l": [0, 1]})
    with pytest.raises(TypeError, match="`y` must hold one plain value for each row; it holds List"):
        read_tally(frame, label="y", score="p")
    with pytest.raises(TypeError, match="`s` must hold one plain value for each row; it holds Struct"):
        read_parts(frame, label="l", score="p", by="s")


@pytest.mark.parametrize("make", ["pandas", "polars", "polars-lazy"], indirect=True)
def test_categories_are_labels_and_segments_and_no_scores(make, columns):
    nw = pytest.importorskip("narwhals")
    words = {**columns, "y": ["yes" if v else "no" for v in columns["y"]]}
    native = nw.from_native(make(**words))
    frame = native.with_columns(nw.col("y", "kind").cast(nw.Categorical)).to_native()
    expected = read_parts(make(**columns), label="y", score="p", by="kind")
    assert read_parts(frame, label="y", score="p", by="kind", pos_label="yes") == expected
    with pytest.raises(TypeError, match="`kind` must hold numbers"):
        read_tally(frame, label="y", score="kind", pos_label="yes")


def test_a_positive_label_that_no_row_has_is_refused(make, columns):
    words = {**columns, "y": ["yes" if v else "no" for v in columns["y"]]}
    with pytest.raises(
        ValueError, match=r"one of the labels \('no', 'yes'\); it is 'Yes'\.\s+Hint: did you mean 'yes'"
    ):
        read_tally(make(**words), label="y", score="p", pos_label="Yes")
    numbers = read_tally(make(**columns), label="y", score="p", pos_label="1")
    assert numbers == Tally.from_arrays(columns["y"], columns["p"])
    with pytest.raises(TypeError, match="`pos_label` must be Int64 as `y` is; it is 'yes'"):
        read_tally(make(**columns), label="y", score="p", pos_label="yes")
    with pytest.raises(TypeError, match=r"`pos_label` must be text as `y` is; it is 1\.\s+Hint: did you mean '1'"):
        read_tally(make(**words), label="y", score="p", pos_label=1)


def test_single_precision_keeps_its_image(need, rng):
    need("narwhals")
    pl = need("polars")
    p = rng.random(500).astype(np.float32)
    y = rng.integers(0, 2, 500)
    frame = pl.DataFrame({"y": y, "p": p})
    assert read_tally(frame, label="y", score="p") == Tally.from_arrays(y, p)


def test_other_things_are_refused(need):
    need("narwhals")
    with pytest.raises(
        TypeError,
        match="Data must be a dataframe of pandas, polars, pyarrow, DuckDB, PySpark, Dask or Ibis, a path, or columns by name; they are list",
    ):
        read_tally([1, 2], label="y", score="p")
    with pytest.raises(ValueError, match='`missing` must be "raise" or "drop"'):
        read_tally([1, 2], label="y", score="p", missing="ignore")


def test_a_missing_narwhals_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "narwhals", None)
    with pytest.raises(ImportError, match=r"pip install 'truecal\[frames\]'"):
        read_tally([1, 2], label="y", score="p")
