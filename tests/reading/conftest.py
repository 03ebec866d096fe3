"""Frames of every engine, through one fixture."""

import pytest

from truecal.reading import _plain

ENGINES = [
    "pandas",
    "pandas-nullable",
    "pandas-pyarrow",
    "polars",
    "polars-lazy",
    "pyarrow",
    "duckdb",
    "pyspark",
    "dask",
    "ibis",
]


@pytest.fixture(params=ENGINES)
def make(request, need):
    """From columns (lists with None) to a frame of the engine."""
    need("narwhals")
    pa, pd, pl = need("pyarrow"), need("pandas"), need("polars")
    duckdb = need("duckdb") if request.param == "duckdb" else None
    dask = need("dask.dataframe") if request.param == "dask" else None
    ibis = need("ibis") if request.param == "ibis" else None
    spark = request.getfixturevalue("spark") if request.param == "pyspark" else None

    def build(**columns):
        table = pa.table(columns)
        return {
            "pandas": table.to_pandas,
            "pandas-nullable": lambda: table.to_pandas().convert_dtypes(),
            "pandas-pyarrow": lambda: table.to_pandas(types_mapper=pd.ArrowDtype),
            "polars": lambda: pl.from_arrow(table),
            "polars-lazy": lambda: pl.from_arrow(table).lazy(),
            "pyarrow": lambda: table,
            "duckdb": lambda: duckdb.from_arrow(table),
            "pyspark": lambda: spark.createDataFrame(table),
            "dask": lambda: dask.from_pandas(table.to_pandas(types_mapper=pd.ArrowDtype), npartitions=2),
            "ibis": lambda: ibis.memtable(table),
        }[request.param]()

    build.engine, build.number = request.param, ENGINES.index(request.param)
    return build


@pytest.fixture
def ask_both(monkeypatch):
    """What is found without polars where that is possible, and what polars finds."""

    def answer(function, *given):
        try:
            return function(*given)
        except (ValueError, TypeError) as error:
            return type(error).__name__, str(error)

    def both(function, *given):
        found = answer(function, *given)
        with monkeypatch.context() as patch:
            patch.setattr(_plain, "MOST", 0)
            return found, answer(function, *given)

    return both
