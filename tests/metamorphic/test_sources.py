"""Every engine and every format gives the same observations, the same verdict and the same numbers."""

import pytest
from drawn import draw, share
from engines import ENGINES, make_builder
from formats import FORMATS, write
from observed import identical

import truecal

pytestmark = pytest.mark.slow
WITHOUT_TIMES = ("jsonl", "ndjson.gz")  # JSON has none: they would be text
WAITING = ("pyspark", "dask")  # a second for each query


@pytest.fixture
def polars(need):
    return need("polars")


def agree(found, rows):
    """Whether observations are those of the columns, and so is what is computed from them."""
    whole = rows.read()
    assert identical(found, whole)
    assert truecal.evaluate(found) == truecal.evaluate(whole)
    return True


def read_in(engine, rows, need, request):
    """What is read from a frame of an engine; those of pandas have times for days, which it does not have."""
    if engine in ("pandas", "pandas-nullable") and "day" in rows.columns:
        rows = rows.set(day=rows.columns["day"].astype("datetime64[us]"))
    return rows.read(make_builder(engine, need, request)(**rows.columns))


@pytest.mark.parametrize("engine", [name for name in ENGINES if name not in WAITING])
@share(0.008)
def test_every_engine_gives_the_same(seed, engine, need, request):
    rows = draw(seed)
    assert agree(read_in(engine, rows, need, request), rows)


@pytest.mark.parametrize("engine", WAITING)
@share(0.001)
def test_every_engine_that_waits_gives_the_same(seed, engine, need, request):
    rows = draw(seed)
    assert agree(read_in(engine, rows, need, request), rows)


@pytest.mark.parametrize("kind", FORMATS)
@share(0.007)
def test_every_format_gives_the_same(seed, kind, polars, tmp_path):
    rows = draw(seed, without=("time",) if kind in WITHOUT_TIMES else ()).wide
    write(polars.DataFrame(rows.columns), tmp_path / f"a.{kind}", kind)
    assert agree(rows.read(tmp_path / f"a.{kind}"), rows)


@pytest.mark.parametrize("kind", FORMATS)
@share(0.003)
def test_row_order_is_irrelevant_in_files(seed, kind, polars, tmp_path):
    rows = draw(seed, without=("time",) if kind in WITHOUT_TIMES else ()).wide
    write(polars.DataFrame(rows.columns)[::-1], tmp_path / f"a.{kind}", kind)
    assert identical(rows.read(tmp_path / f"a.{kind}"), rows.read())
