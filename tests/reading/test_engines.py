"""polars is asked itself, every other engine through narwhals, and a narwhals frame is what it wraps."""

import subprocess
import sys

import pytest

import truecal
from truecal import Tally
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
