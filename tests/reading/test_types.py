"""Types of columns of text, by their role or by all of their values."""

import numpy as np
import pytest
from conftest import fewer

import truecal
from truecal.reading._preview import TextColumn
from truecal.reading._types import convert, find_types, type_keys

MISSING = frozenset(["", "NA"])
INT64 = 2**63 - 1


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["2", "10", "-3"], [2, 10, -3]),
        ([" 2", "10"], [2, 10]),
        (["2", None], [2, None]),
        (["0", "1", "00"], ["0", "1", "00"]),
        (["2", "010"], ["2", "010"]),
        (["1", "01"], ["1", "01"]),
        (["+7", "7"], ["+7", "7"]),
        (["9007199254740992", "9007199254740993"], [2**53, 2**53 + 1]),
        (["99999999999999999999", "1"], ["99999999999999999999", "1"]),
        (["0.5", "2"], [0.5, 2.0]),
        (["1.5", "1.50"], ["1.5", "1.50"]),
        (["1", "1.0"], ["1", "1.0"]),
        (["1.10", "1.2"], [1.1, 1.2]),
        (["true", "False"], [True, False]),
        (["true", "True"], ["true", "True"]),
        (["1", "x"], ["1", "x"]),
        (["nan", "1"], ["nan", "1"]),
        (["٣", "1"], ["٣", "1"]),
        ([None], [None]),
        ([], []),
    ],
)
def test_keys_are_numbers_if_all_are_and_none_is_a_code(texts, values):
    found = type_keys(texts)
    assert [found[text] for text in texts] == values
    assert [type(found[text]) for text in texts] == list(map(type, values))


def test_no_two_keys_become_one():
    rng = np.random.default_rng(5)
    signs = list("0123456789.-e +tTrRuUfalsE")
    for _ in range(fewer(20_000, 500)):
        texts = {"".join(rng.choice(signs, rng.integers(1, 5))) for _ in range(rng.integers(1, 6))}
        found = type_keys(texts)
        assert len(set(found.values())) == len(texts), texts


@pytest.mark.parametrize(
    ("fields", "type_"),
    [
        (["0", "1", ""], "integer"),
        (["-3", "7"], "integer"),
        (["007", "1"], "text"),
        (["0.5", ".5", "1e-3"], "number"),
        (["+1", "2"], "number"),
        (["1_0", "2"], "text"),
        (["inf", "1"], "text"),
        (["TRUE", "false", "NA"], "boolean"),
        (["2026-01-31"], "text"),
        (["", ""], "text"),
    ],
)
def test_first_values_have_the_type_that_fits_all_of_them(fields, type_):
    column = TextColumn.of(fields, MISSING)
    assert column.type == type_
    assert len(column.every()) == len(fields)
    assert [value is None for value in column.every()] == [field in MISSING for field in fields]


def test_types_of_all_rows_fit_every_row(need):
    pl = need("polars")
    frame = pl.DataFrame(
        {
            "whole": ["1", "-2", None],
            "large": ["1", str(INT64), None],
            "code": ["1", "01", "2"],
            "number": ["1", " 0.5", "1e3"],
            "boolean": ["true", "False", None],
            "text": ["1", "2", "x"],
            "none": pl.Series([None, None, None], dtype=pl.String),
        }
    )
    types = find_types(frame, frame.columns)
    kinds = [pl.Int64, pl.Float64, pl.String, pl.Float64, pl.Boolean, pl.String, pl.String]
    assert list(types.values()) == kinds  # 19 digits might not fit 64 bits
    assert types == find_types(frame.lazy(), frame.columns)
    assert convert(frame, types)["number"].to_list() == [1.0, 0.5, 1000.0]


@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_the_order_of_rows_does_not_decide_the_type_of_segments(need, tmp_path, format):
    need("polars")
    rows = [(i % 2, 0.25 + i % 3 / 10, "x" if i == 11_000 else str(i % 5)) for i in range(12_000)]
    lines = {
        "csv": ["y,p,a", *(f"{y},{p:.2f},{a}" for y, p, a in rows)],
        "jsonl": [f'{{"y": {y}, "p": {p:.2f}, "a": {a if a != "x" else chr(34) + "x" + chr(34)}}}' for y, p, a in rows],
    }[format]
    first, last = tmp_path / f"first.{format}", tmp_path / f"last.{format}"
    head, body = (lines[:1], lines[1:]) if format == "csv" else ([], lines)
    first.write_text("\n".join([*head, *body]) + "\n")
    last.write_text("\n".join([*head, *reversed(body)]) + "\n")
    found = [truecal.read(path, label="y", score="p", by="a") for path in (first, last)]
    assert found[0] == found[1]
    assert sorted(found[0].parts) == [("0",), ("1",), ("2",), ("3",), ("4",), ("x",)]


def test_clusters_in_text_are_those_of_other_formats(need, tmp_path):
    pl = need("polars")
    frame = pl.DataFrame({"y": [0, 1] * 50, "p": [0.25, 0.5] * 50, "who": [i // 4 for i in range(100)]})
    frame.write_csv(tmp_path / "a.csv")
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_ndjson(tmp_path / "a.jsonl")
    found = [
        truecal.read(tmp_path / f"a.{end}", label="y", score="p", cluster="who") for end in ("csv", "parquet", "jsonl")
    ]
    assert found[0] == found[1] == found[2]


def test_rows_of_csv_match_those_of_parquet_by_whole_numbers(need, tmp_path):
    pl = need("polars")
    frame = pl.DataFrame({"id": range(40), "y": [0, 1] * 20, "p": [0.25, 0.5] * 20})
    frame.write_csv(tmp_path / "a.csv")
    frame.with_columns(p=pl.col("p") / 2).write_parquet(tmp_path / "b.parquet")
    columns = {"label": "y", "score": "p", "on": "id"}
    found = truecal.read(tmp_path / "a.csv", baseline=tmp_path / "b.parquet", **columns)
    assert found.pair_counts.evaluated == 40
    assert truecal.read(tmp_path / "b.parquet", baseline=tmp_path / "a.csv", **columns).pair_counts.evaluated == 40


def test_a_label_beyond_the_first_megabyte_tells_its_type(need, tmp_path):
    need("polars")
    path = tmp_path / "a.csv"
    path.write_text("y,p,filler\n" + f",0.5,{'x' * 200}\n" * 6000 + "true,0.5,z\nfalse,0.5,z\n")
    found = truecal.read(path, label="y", score="p", missing="drop")
    assert (found.n_rows, found.positives) == (2, 1)
