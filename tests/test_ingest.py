"""The same cases on every dataframe engine, through one fixture: identical tallies, identical refusals."""

import numpy as np
import pytest

import truecal
from truecal import Tally

ENGINES = ["pandas", "pandas-nullable", "pandas-pyarrow", "polars", "polars-lazy", "pyarrow", "duckdb"]


@pytest.fixture(params=ENGINES)
def make(request, need):
    """From columns (lists with None) to a frame of the engine."""
    need("narwhals")
    pa, pd, pl = need("pyarrow"), need("pandas"), need("polars")
    duckdb = need("duckdb") if request.param == "duckdb" else None

    def build(**columns):
        table = pa.table(columns)
        return {
            "pandas": lambda: pd.DataFrame(columns),
            "pandas-nullable": lambda: pd.DataFrame(columns).convert_dtypes(),
            "pandas-pyarrow": lambda: table.to_pandas(types_mapper=pd.ArrowDtype),
            "polars": lambda: pl.from_arrow(table),
            "polars-lazy": lambda: pl.from_arrow(table).lazy(),
            "pyarrow": lambda: table,
            "duckdb": lambda: duckdb.from_arrow(table),
        }[request.param]()

    build.engine = request.param
    return build


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


def test_a_frame_gives_the_tally_of_its_columns(make, columns):
    expected = Tally.from_arrays(columns["y"], columns["p"])
    assert truecal.tally_frame(make(**columns), label="y", score="p") == expected
    truth = {**columns, "y": [bool(v) for v in columns["y"]]}
    assert truecal.tally_frame(make(**truth), label="y", score="p") == expected
    words = {**columns, "y": ["yes" if v else "no" for v in columns["y"]]}
    assert truecal.tally_frame(make(**words), label="y", score="p", pos_label="yes") == expected
    floats = {**columns, "y": [float(v) for v in columns["y"]]}
    assert truecal.tally_frame(make(**floats), label="y", score="p") == expected


def test_segments_come_from_one_pass(make, columns):
    found = truecal.tally_segments(make(**columns), label="y", score="p", by=["kind", "month"])
    assert list(found) == [(k, m) for k in ("card", "cash", "wire") for m in (1, 2, 3)]
    y, p = np.array(columns["y"]), np.array(columns["p"])
    for (kind, month), tally in found.items():
        rows = (np.array(columns["kind"]) == kind) & (np.array(columns["month"]) == month)
        assert tally == Tally.from_arrays(y[rows], p[rows])
    assert sum(found.values()) == Tally.from_arrays(y, p)
    single = truecal.tally_segments(make(**columns), label="y", score="p", by="kind")
    assert list(single) == [("card",), ("cash",), ("wire",)]


def test_rows_that_cannot_be_used_are_counted_by_kind(make, columns):
    columns["p"][10:12] = [None, None]
    columns["y"][20] = None
    frame = make(**columns)
    with pytest.raises(ValueError, match=r"of 3,000 rows `p` is (null|NaN) in 2, `y` is null in 1(?s:.*)on_null"):
        truecal.tally_frame(frame, label="y", score="p")
    kept = [i for i in range(3000) if i not in (10, 11, 20)]
    expected = Tally.from_arrays([columns["y"][i] for i in kept], [columns["p"][i] for i in kept])
    with pytest.warns(UserWarning, match="Of 3,000 rows 3 were dropped"):
        assert truecal.tally_frame(frame, label="y", score="p", on_null="drop") == expected


def test_wrong_values_are_never_dropped(make, columns):
    columns["p"][7] = 1.5
    columns["y"][9] = 3
    with pytest.raises(ValueError, match=r"`p` is outside \[0, 1\] in 1, `y` is neither 0 nor 1 in 1"):
        truecal.tally_frame(make(**columns), label="y", score="p", on_null="drop")


def test_nan_is_not_a_score(make, columns):
    columns["p"][7] = float("nan")
    with pytest.raises(ValueError, match=r"`p` is (NaN|null) in 1"):
        truecal.tally_frame(make(**columns), label="y", score="p")


def test_columns_that_are_not_there_or_of_another_kind(make, columns):
    frame = make(**columns)
    with pytest.raises(ValueError, match=r"`score` must be one of the columns 'y', 'p'(?s:.*)it is 'prob'"):
        truecal.tally_frame(frame, label="y", score="prob")
    with pytest.raises(ValueError, match="(?s)`by` must be one of the columns.*did you mean 'month'"):
        truecal.tally_segments(frame, label="y", score="p", by="mont")
    with pytest.raises(TypeError, match=r"`kind` must hold numbers in \[0, 1\]; it holds String"):
        truecal.tally_frame(frame, label="y", score="kind")
    with pytest.raises(TypeError, match="(?s)`kind` must hold 0 and 1 or truth values.*`pos_label`"):
        truecal.tally_frame(frame, label="kind", score="p")


def test_an_empty_frame_is_refused(make):
    pa = pytest.importorskip("pyarrow")
    frame = make(y=pa.array([], pa.int64()), p=pa.array([], pa.float64()))
    with pytest.raises(ValueError, match="at least one row that can be used"):
        truecal.tally_frame(frame, label="y", score="p")


def test_single_precision_keeps_its_image(need, rng):
    need("narwhals")
    pl = need("polars")
    p = rng.random(500).astype(np.float32)
    y = rng.integers(0, 2, 500)
    frame = pl.DataFrame({"y": y, "p": p})
    assert truecal.tally_frame(frame, label="y", score="p") == Tally.from_arrays(y, p)


def test_other_things_are_refused(need):
    need("narwhals")
    with pytest.raises(TypeError, match="`frame` must be a dataframe of pandas, polars, pyarrow or DuckDB; it is list"):
        truecal.tally_frame([1, 2], label="y", score="p")
    with pytest.raises(ValueError, match='`on_null` must be "raise" or "drop"'):
        truecal.tally_frame([1, 2], label="y", score="p", on_null="ignore")


def test_a_missing_narwhals_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "narwhals", None)
    with pytest.raises(ImportError, match=r"pip install 'truecal\[frames\]'"):
        truecal.tally_frame([1, 2], label="y", score="p")
