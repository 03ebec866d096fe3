"""Files of every format."""

import gzip
import io

import numpy as np
import pytest

FORMATS = [
    "csv",
    "csv.gz",
    "csv.zst",
    "semicolons.csv",
    "tsv",
    "parquet",
    "arrow",
    "feather",
    "jsonl",
    "ndjson.gz",
    "npz",
]


def zstd(data):
    """Compressed as Parquet's own library does it, which needs no command."""
    return pytest.importorskip("pyarrow").compress(data, codec="zstd", asbytes=True)


def write(frame, path, kind):
    """Write a frame of polars to a file of the format, by its own library."""
    if kind in ("csv", "csv.gz", "csv.zst"):
        data = frame.write_csv().encode()
    elif kind == "tsv":
        data = frame.write_csv(separator="\t").encode()
    elif kind == "semicolons.csv":
        data = frame.write_csv(separator=";").encode()
    elif kind in ("jsonl", "ndjson.gz"):
        data = frame.write_ndjson().encode()
    elif kind == "npz":
        columns = {name: frame[name].to_numpy() for name in frame.columns}
        np.savez(
            path, **{name: column.astype(str) if column.dtype == object else column for name, column in columns.items()}
        )
        return
    else:
        buffer = io.BytesIO()
        {"parquet": frame.write_parquet, "arrow": frame.write_ipc, "feather": frame.write_ipc_stream}[kind](buffer)
        data = buffer.getvalue()
    if kind.endswith(".gz"):
        data = gzip.compress(data)
    if kind.endswith(".zst"):
        data = zstd(data)
    path.write_bytes(data)
