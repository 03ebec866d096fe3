"""Frames of every engine."""

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


def make_builder(engine, need, request):
    """From columns (lists with None) to a frame of an engine, given the fixtures `need` and `request`."""
    need("narwhals")
    pa, pd, pl = need("pyarrow"), need("pandas"), need("polars")
    duckdb = need("duckdb") if engine == "duckdb" else None
    dask = need("dask.dataframe") if engine == "dask" else None
    ibis = need("ibis") if engine == "ibis" else None
    spark = request.getfixturevalue("spark") if engine == "pyspark" else None

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
        }[engine]()

    build.engine, build.number = engine, ENGINES.index(engine)
    return build
