"""The dataframe engines. polars is called directly, every other engine through narwhals, which has the same methods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from truecal._fork import check_fork
from truecal.data import AnyArray, Ints, check_indexes


def open_frame(frame: Any) -> Any:
    """Return a polars frame unchanged, columns by name as one, and a frame of any other engine wrapped by narwhals."""
    if isinstance(frame, Mapping):
        frame = _join_columns(frame)
    if type(frame).__module__.partition(".")[0] == "narwhals":
        frame = frame.to_native()
    if _is_polars(frame):
        check_fork()
        if hasattr(frame, "collect_schema"):
            return frame
    else:
        try:
            import narwhals as nw
        except ImportError as error:
            raise ImportError("Dataframes need narwhals: pip install 'truecal[frames]'") from error
        if type(frame).__module__.partition(".")[0] in ("pandas", "dask"):
            frame = _convert_to_utc(frame)
        try:
            return nw.from_native(frame)
        except TypeError:
            pass
    raise TypeError(
        "Data must be a dataframe of pandas, polars, pyarrow, DuckDB, PySpark, Dask or Ibis, a path, or columns by "
        f"name; they are {type(frame).__name__}."
    )


def _convert_to_utc(frame: Any) -> Any:
    """Times with a zone in UTC, as other engines cut them: narwhals does not know all zones of pandas."""
    kinds = getattr(frame, "dtypes", {})
    kinds = kinds.items() if getattr(frame, "ndim", 0) == 2 and frame.columns.is_unique else ()
    zoned = [name for name, kind in kinds if getattr(getattr(kind, "pyarrow_dtype", kind), "tz", None) is not None]
    frame = frame.copy(deep=False) if zoned else frame
    for name in zoned:
        frame[name] = frame[name].dt.tz_convert("UTC").dt.tz_localize(None)
    return frame


def _join_columns(columns: Mapping[Any, Any]) -> Any:
    """Columns of values by name as a polars frame."""
    try:
        import polars as pl
    except ImportError as error:
        raise ImportError("Columns by name need polars: pip install 'truecal[files]'") from error
    check_fork()
    check_indexes(columns)
    # copies, since polars shares memory and reads it several times, while another thread may write to it
    arrays = {str(name): np.ma.array(v, copy=True) if np.ma.isMA(v) else np.array(v) for name, v in columns.items()}
    shapes = {array.shape for array in arrays.values()}
    if any(len(shape) != 1 for shape in shapes) or len(shapes) > 1:
        told = ", ".join(f"that of {name!r} is {array.shape}" for name, array in arrays.items())
        raise ValueError(f"Columns must be one-dimensional and of the same shape; {told}.")
    return pl.DataFrame({name: _as_series(array) for name, array in arrays.items()})


def _as_series(array: AnyArray) -> Any:
    """An array as polars takes it; what is masked is null."""
    import polars as pl

    if array.dtype == object:
        return array.tolist()  # of a masked array None where it is masked
    if not isinstance(array, np.ma.MaskedArray):
        return array
    return pl.Series(np.asarray(array.data)).set(pl.Series(np.ma.getmaskarray(array)), None)


def language(frame: Any) -> Any:
    """Return the module, polars or narwhals, whose `col`, `when`, `len`, ... apply to an opened frame or series."""
    if _is_polars(frame):
        import polars

        return polars
    import narwhals

    return narwhals


def column(frame: Any, name: str) -> Any:
    """Return the expression of a column, for polars also if its name looks like a pattern, as `*` does."""
    if not _is_polars(frame):
        return language(frame).col(name)
    import polars.selectors

    return polars.selectors.by_name(name).as_expr()


def pick(frame: Any, names: Mapping[str, str]) -> Any:
    """Select columns under new names, given as new: old. The old ones may be of any characters."""
    engine = engine_of(frame)
    if engine == "polars" and not is_lazy(frame):  # columns as they are: a query would take a millisecond
        return language(frame).DataFrame([frame[old].alias(new) for new, old in names.items()])
    if engine == "duckdb":
        quoted = [[f'"{part.replace(chr(34), 2 * chr(34))}"' for part in pair] for pair in names.items()]
        return open_frame(native(frame).project(", ".join(f"{old} AS {new}" for new, old in quoted)))
    if engine == "pyspark":  # which takes dots and backticks for syntax
        order = {name: f"column{i}" for i, name in enumerate(native(frame).columns)}
        frame = open_frame(native(frame).toDF(*order.values()))
        names = {new: order[old] for new, old in names.items()}
    return frame.select(*(column(frame, old).alias(new) for new, old in names.items()))


def join(frame: Any, other: Any, on: list[str]) -> Any:
    """Join the columns of another frame to the rows with the same values of `on`."""
    if engine_of(frame) == "pyspark":  # itself: narwhals names all columns again, of whatever characters
        return open_frame(native(frame).join(native(other), on, "left"))
    return frame.join(other, on=on, how="left")


def decode_numbers(frame: Any, names: Iterable[str]) -> Any:
    """Convert columns of numbers that narwhals takes for something else: dictionaries, and objects in pandas."""
    own, engine = native(frame), engine_of(frame)
    if engine not in ("pandas", "dask", "pyarrow"):
        return frame
    for name in dict.fromkeys(name for name in names if name in frame.columns):
        kind = _find_number_type(own[name], engine)
        if kind is None:
            continue
        if engine == "pyarrow":
            own = own.set_column(own.column_names.index(name), name, own[name].cast(kind))
        elif engine == "dask":  # whose own cast tries an invented value, which need not fit
            empty = own[name]._meta.astype(kind)
            own = own.assign(**{name: own[name].map_partitions(lambda part, kind=kind: part.astype(kind), meta=empty)})
        else:
            own = own.assign(**{name: own[name].astype(kind)})
    return open_frame(own)


def _find_number_type(column: Any, engine: str) -> Any:
    """Return the type to convert a native column to; None if it stays."""
    kind = column.type if engine == "pyarrow" else getattr(column.dtype, "pyarrow_dtype", None)
    modules = language(column).dependencies
    if kind is not None:
        pa = modules.get_pyarrow()
        inner = kind.value_type if pa.types.is_dictionary(kind) else kind
        number = pa.types.is_integer(inner) or pa.types.is_floating(inner) or pa.types.is_decimal(inner)
        plain = pa.float64() if number else inner
        if not pa.types.is_decimal(kind) and (inner is kind or not (number or pa.types.is_boolean(inner))):
            return None
        return plain if engine == "pyarrow" else f"{plain}[pyarrow]"
    if engine == "pandas" and column.dtype == object:
        found = modules.get_pandas().api.types.infer_dtype(column, skipna=True)
        return {"decimal": "float64", "boolean": "boolean"}.get(found)
    inner = getattr(getattr(column.dtype, "categories", None), "dtype", None)
    return {"i": "float64", "u": "float64", "f": "float64", "b": "boolean"}.get(getattr(inner, "kind", ""))


def engine_of(frame: Any) -> str:
    """Return the name of the engine of an opened frame or series."""
    return "polars" if _is_polars(frame) else str(frame.implementation.name).lower()


def native(frame: Any) -> Any:
    """Return the engine's own frame or series, without narwhals."""
    return frame if _is_polars(frame) else frame.to_native()


def is_lazy(frame: Any) -> bool:
    """Whether an opened frame is a lazy query."""
    return isinstance(frame, language(frame).LazyFrame)


def encode_values(series: Any) -> tuple[list[Any], Ints]:
    """Return the distinct values of a column, None last if it occurs, and the number of each row's value.

    Nothing here trusts that a column is sorted, whatever a file says of it.
    """
    engine = engine_of(series)
    if engine in ("pandas", "modin", "cudf"):
        code, distinct = native(series).factorize()
        values, code = list(distinct), np.asarray(code, dtype=np.int64)
    elif engine == "pyarrow":
        values, code = _encode_arrow(native(series).combine_chunks())
    else:
        values, code = _encode_polars(series)
    missing = code < 0
    if missing.any():
        code = np.where(missing, len(values), code)
        values = [*values, None]
    return values, code


def _encode_arrow(column: Any) -> tuple[list[Any], Ints]:
    """The distinct values of an Arrow column, and the number of each row's value; -1 for null."""
    encoded = column if hasattr(column, "indices") else column.dictionary_encode()
    code = encoded.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)  # indices may be unsigned
    return encoded.dictionary.to_pylist(), code


def _encode_polars(series: Any) -> tuple[list[Any], Ints]:
    """The distinct values of a polars column, and the number of each row's value; -1 for null."""
    import polars as pl

    kind = series.dtype
    code = np.full(len(series), -1, np.int64)
    known = np.flatnonzero(series.is_not_null().to_numpy())
    plain = kind.is_numeric() or kind.is_temporal() or kind == pl.Boolean
    if plain and not kind.is_decimal() and not is_long(kind):
        physical = series.to_physical().drop_nulls().to_numpy()
        code[known] = _number(physical.astype(np.uint8) if kind == pl.Boolean else physical)
    else:
        words = series.cast(pl.String).drop_nulls()
        words = words + "" if any(words.flags.values()) else words  # a new column, without any claim of order
        code[known] = words.cast(pl.Enum(words.unique())).to_physical().to_numpy()
    first = np.zeros(int(code.max(initial=-1)) + 1, np.int64)
    first[code[known[::-1]]] = known[::-1]
    return series.gather(first).to_list(), code


def _number(values: AnyArray) -> Ints:
    """Number values in increasing order."""
    if values.dtype.kind in "iu" and len(values):
        low = int(values.min())
        span = int(values.max()) - low + 1
        if span <= max(4 * len(values), 1 << 16):
            at = (values - values.dtype.type(low)).astype(np.int64)
            return np.asarray((np.cumsum(np.bincount(at, minlength=span) > 0) - 1)[at])
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def is_long(kind: Any) -> bool:
    """Whether whole numbers are of more bits than NumPy's."""
    return str(kind) in ("Int128", "UInt128")


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or pandas' NA, which cannot be compared."""
    return value is None or type(value).__name__ == "NAType" or bool(value != value)  # noqa: PLR0124


def as_floats(series: Any) -> AnyArray:
    """Numbers of any type as an array of floats, NaN if they are missing."""
    pl = language(series)
    if series.dtype not in (pl.Float32, pl.Float64):
        series = series.cast(pl.Float64)
    array = series.to_numpy()
    return np.asarray(array if array.dtype.kind == "f" else array.astype(np.float64))


def to_local(frame: Any) -> Any:
    """Load a small frame into this process. A DuckDB relation, which is in it already, is returned unchanged."""
    engine = engine_of(frame)
    if not is_lazy(frame) or engine == "duckdb":
        return frame
    return frame.collect(engine="streaming") if engine == "polars" else frame.collect()


def stream(frame: Any, rows: int) -> Iterator[Any]:
    """The rows of another engine, as polars frames of at least so many rows but the last; those of Spark and Ibis come
    at once."""
    import polars as pl

    own, engine = native(frame), engine_of(frame)
    parts: Iterable[Any]
    if engine == "duckdb":
        parts = own.to_arrow_reader(rows)
    elif engine == "dask":
        parts = (part.compute() for part in own.partitions)
    else:
        parts = [own.toArrow() if engine == "pyspark" else own.to_pyarrow()]
    held: list[Any] = []
    for part in parts:
        held.append(pl.from_pandas(part) if engine == "dask" else pl.from_arrow(part))
        if sum(map(len, held)) >= rows:
            yield pl.concat(held)
            held = []
    if held:
        yield pl.concat(held)


def stream_arrow(frame: Any, rows: int) -> Iterator[Any] | None:
    """The rows of DuckDB, which runs in this process, in batches; None for other engines, or without pyarrow."""
    if engine_of(frame) != "duckdb" or find_spec("pyarrow") is None:
        return None
    parts = native(frame).to_arrow_reader(rows)
    table = language(frame).dependencies.get_pyarrow().table
    return (open_frame(table(part)) for part in parts)


def count_distinct(frame: Any, sums: Sequence[str] = ()) -> Any:
    """Return the distinct rows of a frame with their counts, as `rows`, in this process.

    Columns of `sums` do not tell rows apart: they are added up, and the smallest and largest `raw` are kept.
    """
    pl, schema = language(frame), frame.collect_schema()
    keys = [name for name in schema if name not in (*sums, "raw")]
    if engine_of(frame) == "dask":  # which otherwise groups rows wrongly where pandas holds -0.0 in Arrow columns
        frame = frame.with_columns(*(pl.col(name) + 0.0 for name, kind in schema.items() if kind.is_float()))
    added = [pl.col(name).sum() for name in sums]
    if "raw" in schema:
        added += [pl.col("raw").min().alias("least"), pl.col("raw").max().alias("most")]
    return to_local(frame.group_by(*keys).agg(pl.len().alias("rows"), *added))


def collect(frame: Any, lists: tuple[str, ...] = ("by",)) -> dict[str, Any]:
    """Load the columns of a small frame: as arrays, or as lists if the name begins with one of `lists`."""
    local = to_local(frame)
    if is_lazy(local):  # DuckDB: directly to NumPy, which needs no pyarrow and half the memory
        columns = native(local).fetchnumpy()
        return {name: c.tolist() if name.startswith(lists) else c for name, c in columns.items()}
    return {name: local[name].to_list() if name.startswith(lists) else _to_numpy(local[name]) for name in local.columns}


def _to_numpy(column: Any) -> Any:
    """Return a column as an array; whole numbers of 128 bits, which NumPy does not have, as floats."""
    return (column.cast(language(column).Float64) if is_long(column.dtype) else column).to_numpy()


def _is_polars(frame: Any) -> bool:
    return type(frame).__module__.partition(".")[0] == "polars"
