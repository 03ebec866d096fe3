"""polars is asked itself, every other engine through narwhals, and a narwhals frame is what it wraps."""

import subprocess
import sys

import numpy as np
import pytest

import truecal
from truecal import Tally
from truecal.observations import GridTally, Labelling
from truecal.reading import Limits
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
    assert truecal.reading.guess_columns(wrapped).label == "y"


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_a_column_is_no_frame(need, library):
    series = need(library).Series(COLUMNS["p"])
    with pytest.raises(TypeError, match="Data must be a dataframe of pandas, polars, .*, or a path; they are Series"):
        truecal.read(series, label="y", score="p")


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
    how = Labelling(0.05, 0.5, (0.01, 0.02))
    frame = make(y=y.tolist(), p=p.tolist(), g=(np.arange(len(p)) % 2).tolist())
    settings = {"kept_negatives": 0.05, "kept_positives": 0.5, "flip": (0.01, 0.02)}
    expected = Tally.from_arrays(y, p, labelling=how)
    found = truecal.read(frame, label="y", score="p", **settings)
    assert found.labelling == how
    assert found.tally == expected
    grouped = truecal.read(frame, label="y", score="p", by="g", **settings)
    assert grouped.tally == expected
    cells = truecal.read(frame, label="y", score="p", limits=Limits(grid=8), **settings).whole()
    grid = GridTally.of(expected, 8)
    for name in ("key", "n", "pos", "low", "high"):
        assert getattr(cells, name).tolist() == getattr(grid, name).tolist(), name
    assert cells.score_sum == pytest.approx(grid.score_sum, rel=1e-14)


def test_wrong_scores_of_sampled_rows_are_found(make):
    frame = make(y=[0, 1, 1], p=[0.25, 1.001, 0.5])  # which a flip would make one in [0, 1]
    with pytest.raises(ValueError, match="`p` is outside"):
        truecal.read(frame, label="y", score="p", flip=(0.1, 0.1))
    frame = make(y=[0, 1, 1], p=[0.25, None, 0.5])
    assert truecal.read(frame, label="y", score="p", on_null="drop", kept_negatives=0.1).n_rows == 2
