"""polars is asked itself, every other engine through narwhals, and a narwhals frame is what it wraps."""

import subprocess
import sys

import numpy as np
import pytest

import truecal
from truecal import LabelDelay, Tally
from truecal.data import Cells, Reason, Sampling
from truecal.reading import Limits, _read
from truecal.reading._engines import engine_of, is_lazy, language, native, open_frame

COLUMNS = {"y": [0, 1, 1, 0], "p": [0.25, 0.5, 0.5, 0.75]}


@pytest.mark.parametrize("lazy", [False, True])
def test_polars_is_asked_itself(need, lazy):
    pl = need("polars")
    frame = pl.LazyFrame(COLUMNS) if lazy else pl.DataFrame(COLUMNS)
    assert open_frame(frame) is native(frame) is frame
    assert language(frame) is pl
    assert (engine_of(frame), is_lazy(frame)) == ("polars", lazy)
    assert language(pl.Series([1])) is pl


def test_other_engines_are_asked_through_narwhals(need):
    nw, pd = need("narwhals"), need("pandas")
    frame = open_frame(pd.DataFrame(COLUMNS))
    assert language(frame) is language(frame["p"]) is nw
    assert (engine_of(frame), is_lazy(frame)) == ("pandas", False)
    assert native(frame["p"]).tolist() == COLUMNS["p"]


@pytest.mark.parametrize("kind", ["polars", "polars-lazy", "pandas"])
def test_a_narwhals_frame_is_what_it_wraps(need, kind):
    nw = need("narwhals")
    frame = need(kind.partition("-")[0]).DataFrame(COLUMNS)
    wrapped = nw.from_native(frame.lazy() if kind == "polars-lazy" else frame)
    expected = Tally.from_arrays(COLUMNS["y"], COLUMNS["p"])
    assert truecal.read(wrapped, label="y", score="p").tally == expected
    assert truecal.reading.infer_columns(wrapped).label == "y"


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_a_column_is_no_frame(need, library):
    series = need(library).Series(COLUMNS["p"])
    with pytest.raises(
        TypeError, match="Data must be a dataframe of pandas, polars, .*, a path, or columns by name; they are Series"
    ):
        truecal.read(series, label="y", score="p")


@pytest.mark.slow
def test_polars_frames_need_no_narwhals(need):
    need("polars")
    code = (
        "import sys; sys.modules['narwhals'] = None; import polars, truecal; "
        f"frame = polars.DataFrame({COLUMNS}); print(truecal.read(frame, label='y', score='p').n_rows)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "4\n"


def test_every_engine_sees_sampled_rows_alike(make):
    rng = np.random.default_rng(0)
    p = np.concatenate([rng.beta(0.5, 20, 400), [0.0, 1.0, 1e-300, 1 - 1e-12, 0.5]])
    y = (rng.random(len(p)) < p).astype(int)
    how = Sampling(0.05, 0.5, (0.01, 0.02))
    frame = make(y=y.tolist(), p=p.tolist(), g=(np.arange(len(p)) % 2).tolist())
    settings = {"sampling": how}
    expected = Tally.from_arrays(y, p, sampling=how)
    found = truecal.read(frame, label="y", score="p", **settings)
    assert found.sampling == how
    assert found.tally == expected
    grouped = truecal.read(frame, label="y", score="p", by="g", **settings)
    assert grouped.tally == expected
    cells = truecal.read(frame, label="y", score="p", limits=Limits(grid=8), **settings).pooled()
    grid = Cells.grid(expected, 8)
    for name in ("key", "n", "pos", "low", "high"):
        assert getattr(cells, name).tolist() == getattr(grid, name).tolist(), name
    assert cells.score_sum == pytest.approx(grid.score_sum, rel=1e-14)


def test_wrong_scores_of_sampled_rows_are_found(make):
    frame = make(y=[0, 1, 1], p=[0.25, 1.001, 0.5])  # which a flip would make one in [0, 1]
    with pytest.raises(ValueError, match="`p` is outside"):
        truecal.read(frame, label="y", score="p", sampling=Sampling(label_noise=(0.1, 0.1)))
    frame = make(y=[0, 1, 1], p=[0.25, None, 0.5])
    assert truecal.read(frame, label="y", score="p", missing="drop", sampling=Sampling(negative_rate=0.1)).n_rows == 2


def test_every_engine_counts_weights(make):
    y, p = [0, 1, 1, 0, 1, 0, None], [0.25, 0.5, 0.5, 0.75, 0.25, 0.5, 0.5]
    frame = make(y=y, p=p, w=[1, 2, 3, 0, 5, 6, 4], g=["a", "b", "a", "b", "a", "b", "a"])
    found = truecal.read(frame, label="y", score="p", count="w", missing="drop")
    assert found.tally == Tally.from_arrays(y[:6], p[:6], [1, 2, 3, 0, 5, 6])
    assert found.row_counts.dropped == {Reason("y", "null"): 4, Reason("w", "count is zero"): 1}
    assert found.row_counts.read == 17 + 5
    grouped = truecal.read(frame, label="y", score="p", count="w", by="g", missing="drop")
    assert grouped.tally == found.tally
    assert grouped.dropped["b",] == {Reason("w", "count is zero"): 1}
    cells = truecal.read(frame, label="y", score="p", count="w", missing="drop", limits=Limits(grid=8))
    assert cells.tally == found.tally
    with pytest.raises(ValueError, match="`y` is null in 4"):
        truecal.read(frame, label="y", score="p", count="w")


def test_every_engine_weights_by_importance(make):
    y, p, v = [0, 1, 1, 0], [0.25, 0.5, 0.5, 0.75], [0.5, 2.5, 1.0, 4.0]
    frame = make(y=y, p=p, v=v, w=[1, 2, 1, 3])
    found = truecal.read(frame, label="y", score="p", importance_weight="v")
    assert found.tally == Tally.from_arrays(y, p, importance_weight=v)
    both = truecal.read(frame, label="y", score="p", importance_weight="v", count="w")
    assert both.tally == Tally.from_arrays(y, p, [1, 2, 1, 3], importance_weight=v)
    with pytest.raises(ValueError, match="`importance_weight` needs scores as they are"):
        truecal.read(frame, label="y", score="p", importance_weight="v", limits=Limits(grid=8))
    with pytest.raises(ValueError, match="`v` is not above 0 in 1"):
        truecal.read(make(y=y, p=p, v=[0.0, 1, 1, 1]), label="y", score="p", importance_weight="v")


def test_every_engine_discounts_late_labels(make):
    late = LabelDelay("age", {0: 0.0, 7: 0.3, 30: 0.9, 60: 1.0})
    age = [0, 3, 7, 8.5, 29, 61, -1, 30]
    y, p = [0, 1, 1, 0, 0, 1, 0, 1], [0.25, 0.5, 0.1, 0.75, 1.0, 0.3, 0.2, 1e-9]
    frame = make(y=y, p=p, age=[float(a) for a in age])
    expected = Tally.from_arrays(y, np.array(p) * late.share(np.array(age)), sampling=Sampling(label_delay=True))
    found = truecal.read(frame, label="y", score="p", sampling=Sampling(label_delay=late))
    assert found.tally == expected
    assert found.sampling.delayed
    share = make(y=y, p=p, f=late.share(np.array(age)).tolist())
    assert truecal.read(share, label="y", score="p", sampling=Sampling(label_delay="f")).tally == expected
    sampled = truecal.read(frame, label="y", score="p", sampling=Sampling(negative_rate=0.1, label_delay=late))
    seen = Sampling(0.1).to_sampled(np.array(p) * late.share(np.array(age)))
    assert sampled.tally == Tally(*Tally.from_arrays(y, seen).entries, Sampling(0.1, label_delay=True))
    frame = make(y=y[:3], p=p[:3], age=[None, 3.0, 7.0])
    assert truecal.read(
        frame, label="y", score="p", sampling=Sampling(label_delay=late), missing="drop"
    ).row_counts.dropped == {Reason("age", "null"): 1}
    with pytest.raises(ValueError, match=r"`age` is outside \[0, 1\] in 2"):
        truecal.read(frame, label="y", score="p", sampling=Sampling(label_delay="age"), missing="drop")


def test_every_engine_tells_weights_by_label(make):
    y = [0, 1] * 6
    p = np.linspace(0.1, 0.9, 12).tolist()
    for negative in (20.0, 2.5):
        frame = make(y=y, p=p, w=[1.0 if label else negative for label in y])
        with pytest.raises(ValueError, match=f"(?s)`w` must hold how often.*`negative_rate` as {1 / negative:g}"):
            truecal.read(frame, label="y", score="p", count="w")
    frame = make(y=y, p=p, w=[1.0, 0.5, *[1.0] * 10])
    with pytest.raises(ValueError, match="(?s)`w` is not a whole number in 1.*`importance_weight`.*`negative_rate`"):
        truecal.read(frame, label="y", score="p", count="w")
    with pytest.warns(UserWarning, match="Every row has the count 10"):
        truecal.read(make(y=y, p=p, w=[10] * 12), label="y", score="p", count="w")


@pytest.mark.parametrize("engine", ["duckdb", "dask"])
def test_cells_counted_by_our_own_loops_are_those_of_the_engine(need, rng, monkeypatch, engine):
    """DuckDB's rows are counted here and Dask's where its parts are; without pyarrow, or without truecal there, the
    engine groups them."""
    pd = need("pandas")
    p = np.concatenate([rng.beta(0.5, 5, 500), [0.0, 1.0, 0.5, np.nan]])
    y = np.concatenate([rng.integers(0, 2, 502), [np.nan, 1.0]])
    frame = pd.DataFrame({"y": y, "p": p})
    if engine == "duckdb":
        data = need("duckdb").sql("select * from frame")
    else:
        data = need("dask.dataframe").from_pandas(frame, npartitions=3)
    settings = {"label": "y", "score": "p", "missing": "drop", "limits": Limits(grid=12)}
    ours = truecal.read(data, **settings)
    with monkeypatch.context() as patch:
        patch.setattr(_read, "stream_arrow", lambda *_: None)
        patch.setattr(_read, "count_part", fail_to_import)
        theirs = truecal.read(data, **settings)
    assert ours.dropped == theirs.dropped == truecal.read(frame, **settings).dropped
    assert sum(sum(reasons.values()) for reasons in ours.dropped.values()) == 2
    assert ours.pooled() == truecal.read(frame, **settings).pooled()
    for one, other in zip(ours.pooled().columns, theirs.pooled().columns, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)


def fail_to_import(*_):
    raise ImportError


def test_columns_by_name_are_read_as_a_frame_of_them(need):
    pl = need("polars")
    rng = np.random.default_rng(3)
    p = rng.random(900)
    columns = {"y": rng.random(900) < p, "p": p, "group": rng.choice(["a", "b"], 900)}
    wanted = truecal.read(pl.DataFrame(columns), label="y", score="p", by="group")
    assert truecal.read(columns, label="y", score="p", by="group") == wanted
    lists = {name: values.tolist() for name, values in columns.items()}
    assert truecal.read(lists, label="y", score="p", by="group") == wanted
    lists["p"][4] = None
    assert truecal.read(lists, label="y", score="p", missing="drop").n_rows == 899


def test_columns_by_name_that_do_not_fit_are_told(need):
    pd = need("pandas")
    with pytest.raises(ValueError, match=r"same shape; that of 'y' is \(2,\), that of 'p' is \(3,\)"):
        truecal.read({"y": [0, 1], "p": [0.1, 0.2, 0.3]}, label="y", score="p")
    with pytest.raises(ValueError, match=r"that of 'y' is \(\)"):
        truecal.read({"y": 1, "p": 0.5}, label="y", score="p")
    labels = pd.Series([0, 1], index=[5, 6])
    with pytest.raises(ValueError, match="`y` and `p` must have the same index"):
        truecal.read({"y": labels, "p": labels[::-1] / 2}, label="y", score="p")
