"""Types of columns of text, by their role or by all of their values."""

import gzip

import numpy as np
import pytest
from conftest import fewer

import truecal
from truecal.analysis._recalibrate import recalibrate_observations
from truecal.reading._preview import TextColumn
from truecal.reading._types import convert, find_types, type_keys
from truecal.reading._write import add_column

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
    kinds = [pl.Int64, pl.Int64, pl.String, pl.Float64, pl.Boolean, pl.String, pl.String]
    assert list(types.values()) == kinds
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


COLUMNS = {"label": "y", "score": "p"}


def keys(observations):
    return sorted(observations.parts, key=str)


def write(place, text):
    place.write_bytes(text if isinstance(text, bytes) else text.encode())
    return place


def test_whole_numbers_of_19_digits_are_those_of_other_formats(need, tmp_path):
    pl = need("polars")
    large = [INT64 - 1, INT64, -(2**63)]
    frame = pl.DataFrame({"y": [0, 1, 1], "p": [0.25, 0.5, 0.75], "who": large})
    frame.write_csv(tmp_path / "a.csv")
    frame.write_parquet(tmp_path / "a.parquet")
    for role in ("by", "cluster"):
        csv, parquet = (truecal.read(tmp_path / f"a.{end}", **COLUMNS, **{role: "who"}) for end in ("csv", "parquet"))
        assert csv == parquet
    types = find_types(pl.DataFrame({"a": ["1", str(2**63)], "b": ["0.5", str(2**53 + 1)]}), ["a", "b"])
    assert list(types.values()) == [pl.String, pl.String]  # a double would make two of them one


@pytest.mark.parametrize(
    "values",
    [[1.5, 2.0, 1e-7], ["12", "A1", "13"], ["01", "1", "2"]],
    ids=["fractions", "words and numbers", "codes"],
)
def test_clusters_of_csv_are_those_of_parquet(need, tmp_path, values):
    pl = need("polars")
    frame = pl.DataFrame({"y": [0, 1, 1], "p": [0.25, 0.5, 0.75], "who": values})
    frame.write_csv(tmp_path / "a.csv")
    frame.write_parquet(tmp_path / "a.parquet")
    csv, parquet = (truecal.read(tmp_path / f"a.{end}", **COLUMNS, cluster="who") for end in ("csv", "parquet"))
    assert csv == parquet


@pytest.mark.parametrize("values", [[1.0, 2.0], [0.5, 1.5], [True, False]], ids=str)
@pytest.mark.parametrize("ends", [("csv", "parquet"), ("parquet", "csv"), ("jsonl", "csv"), ("jsonl", "parquet")])
def test_rows_of_text_match_those_of_other_formats(need, tmp_path, values, ends):
    pl = need("polars")
    frame = pl.DataFrame({"id": values, "y": [0, 1], "p": [0.25, 0.5]})
    for end in ends:
        {"csv": frame.write_csv, "parquet": frame.write_parquet, "jsonl": frame.write_ndjson}[end](
            tmp_path / f"a.{end}"
        )
    first, second = (tmp_path / f"a.{end}" for end in ends)
    assert truecal.read(first, baseline=second, on="id", **COLUMNS).pair_counts.evaluated == 2


@pytest.mark.parametrize(
    ("labels", "pos_label", "positives"),
    [
        (["0", "1a", "1a"], "1a", 2),
        (["1", "other", "1"], "1", 2),
        (["other", "1", "1"], "1", 2),
        (["01", "02", "01"], "2", 1),
        (["1.0", "2.0", "1.0"], 2, 1),
        ([" true", "false ", "TRUE"], None, 2),
        (['" true"', '"false "', '"TRUE"'], None, 2),
        (['" 1"', '"0 "', '"1"'], None, 2),
        ([" true", "false ", "TRUE"], "true", 2),
    ],
)
def test_the_positive_label_tells_what_labels_are(need, tmp_path, labels, pos_label, positives):
    need("polars")
    path = write(tmp_path / "a.csv", "y,p\n" + "".join(f"{label},0.5\n" for label in labels))
    found = truecal.read(path, **COLUMNS, pos_label=pos_label)
    assert (found.n_rows, found.positives) == (3, positives)


@pytest.mark.parametrize("pos_label", [None, 1, "1"])
def test_a_late_word_among_labels_is_named(need, tmp_path, pos_label):
    need("polars")
    rows = "0,0.5\n1,0.5\n" * 6000
    path = write(tmp_path / "a.csv", f"y,p\n{rows}maybe,0.5\n")
    with pytest.raises(ValueError, match=r"'maybe' \(1 row, the first in row 12,001\), unlike the first"):
        truecal.read(path, **COLUMNS, pos_label=pos_label)
    path = write(tmp_path / "b.csv", f"y,p\n{rows}true,0.5\n")
    with pytest.raises(ValueError, match="(?s)'true'.*write all of them alike"):
        truecal.read(path, **COLUMNS, pos_label=pos_label)


@pytest.mark.parametrize(
    "text", ["y,p,a\n", "y,p,a,z\n1,0.5,k," + "x" * 2_200_000 + "\n0,0.5,j,x\n"], ids=["no rows", "a long field"]
)
def test_a_file_without_first_rows_is_read(need, tmp_path, text):
    need("polars")
    first = write(tmp_path / "a.csv", text)
    rows = "1,0.5,k,x\n0,0.5,j,x\n" if "z" in text else "1,0.5,k\n0,0.5,j\n"
    second = write(tmp_path / "b.csv", f"{text.splitlines()[0]}\n{rows}")
    assert keys(truecal.read([first, second], **COLUMNS, by="a")) == [("j",), ("k",)]
    if text.count("\n") == 1:
        with pytest.raises(ValueError, match="at least one valid row"):
            truecal.read(first, **COLUMNS, by="a")


def test_a_byte_order_mark_does_not_hide_that_the_first_rows_are_cut(need, tmp_path):
    need("polars")
    for length in range(4):  # so that one row is cut in its first field
        row = f"{'x' * (250 + length)},1,0.5,k\n"
        text = "z,y,p,a\n" + row * (1_300_000 // len(row)) + "x,0,0.5,j\n"
        path = write(tmp_path / f"{length}.csv", b"\xef\xbb\xbf" + text.encode())
        assert keys(truecal.read(path, **COLUMNS, by="a", pos_label=1)) == [("j",), ("k",)]


def test_names_with_quotes_are_those_of_the_header(need, tmp_path):
    need("polars")
    path = write(tmp_path / "a.csv", 'y,p,"q""r",s"t\n1,0.5,"x",2\n0,0.5,y,3\n')
    assert keys(truecal.read(path, **COLUMNS, by='q"r')) == [("x",), ("y",)]
    assert truecal.read(path, label="y", score="p", time='s"t', every=None).n_rows == 2
    path = write(tmp_path / "b.csv", '"l""",p\n1,0.5\n0,0.25\n')
    assert truecal.read(path, label='l"', score="p", pos_label=1).positives == 1


def test_files_with_several_separators_are_refused_by_name(need, tmp_path):
    need("polars")
    first, second = write(tmp_path / "a.csv", "y,p\n1,0.5\n"), write(tmp_path / "b.csv", "y;p\n1;0.5\n")
    with pytest.raises(ValueError, match=r"b\.csv' separates them by ';' and not by ','"):
        truecal.read([first, second], **COLUMNS)


@pytest.mark.parametrize(
    ("times", "days"),
    [
        ([" 2026-01-01", "2026-01-03 "], 2),
        ([" 2026-01-01", "2026-01-01 10:00", "2026-01-03T10:00:00.5 "], 2),
        ([" 2026-01-01T23:30:00Z", "2026-01-02T01:00:00+02:00"], 1),
        (["2026-01-01T23:30:00Z", "2026-01-02T01:00:00+02:00"], 1),
        ([" NA", "2026-01-01"], 1),
    ],
)
def test_times_may_have_spaces_and_zones(need, tmp_path, times, days):
    need("polars")
    path = write(tmp_path / "a.csv", "y,p,t\n" + "".join(f"1,0.5,{time}\n" for time in times))
    found = truecal.read(path, **COLUMNS, time="t", every="1d", missing="drop")
    assert len(found.parts) == days


@pytest.mark.parametrize(
    ("times", "wrong"),
    [
        (["2026-01-01", "2026-02-30"], "2026-02-30"),
        (["2026-01-01T10:00:00Z", "2026-01-01T10:00:00"], "2026-01-01T10:00:00"),
        (["2026-01-01T10:00:00", "2026-01-01T10:00:00Z"], "2026-01-01T10:00:00Z"),
        (["2026-01-01 10:00:00", "2026-01-01 25:00:00"], "2026-01-01 25:00:00"),
    ],
)
def test_the_first_time_that_is_none_is_named(need, tmp_path, times, wrong):
    need("polars")
    path = write(tmp_path / "a.csv", "y,p,t\n" + "".join(f"1,0.5,{time}\n" for time in times))
    with pytest.raises(ValueError, match=f"row 2 has '{wrong}'"):
        truecal.read(path, **COLUMNS, time="t", every="1d")


def test_times_with_zones_are_not_blamed_for_another_column(need, tmp_path):
    need("polars")
    path = write(tmp_path / "a.csv", "y,p,t\n1,0.5,2026-01-01T10:00:00Z\n1,50%,2026-01-01T10:00:00Z\n")
    with pytest.raises(ValueError, match="`p` must hold numbers.*'50%' in row 2"):
        truecal.read(path, **COLUMNS, time="t", every="1d")


def test_an_error_names_the_file_and_not_its_copy(need, tmp_path):
    need("polars")
    path = write(tmp_path / "a.csv.gz", gzip.compress(b"y,p,t\n1,0.5,20260101\n"))
    with pytest.raises(ValueError, match=r"a\.csv\.gz' the first is '20260101'"):
        truecal.read(path, **COLUMNS, time="t", every="1d")


@pytest.mark.parametrize("labels", ["0.0,1.0,2.0", " 0,1 ,2", "0,1,2"])
@pytest.mark.parametrize("given", [None, [0, 1, 2]])
def test_classes_in_text_may_be_written_as_numbers_are(need, tmp_path, labels, given):
    need("polars")
    lines = "".join(f"{label},0.5,0.25,0.25\n" for label in labels.split(","))
    path = write(tmp_path / "a.csv", f"y,p_0,p_1,p_2\n{lines}")
    found = truecal.read(path, label="y", score="p_*", multiclass="classwise", labels=given)
    assert [part.positives for part in found.classes.values()] == [1, 1, 1]


def test_lines_of_json_without_first_labels(need, tmp_path):
    need("polars")
    lines = '{"y": null, "p": 0.5}\n' * 11_000 + '{"y": true, "p": 0.5}\n{"y": false, "p": 0.5}\n'
    found = truecal.read(write(tmp_path / "a.jsonl", lines), **COLUMNS, missing="drop")
    assert (found.n_rows, found.positives) == (2, 1)


def test_one_number_of_json_is_one_segment(need, tmp_path):
    need("polars")
    lines = "".join(f'{{"y": 1, "p": 0.5, "a": {a}}}\n' for a in ("0.0", "-0.0", "0", "1", "1.0", "1.5"))
    assert keys(truecal.read(write(tmp_path / "a.jsonl", lines), **COLUMNS, by="a")) == [(0.0,), (1.0,), (1.5,)]


@pytest.mark.parametrize("end", ["csv", "parquet", "jsonl"])
def test_segments_of_a_map_are_found_in_rows_with_fewer_of_them(need, tmp_path, end):
    pl = need("polars")
    recalibrated = {}
    for all_values in (["1", "2", "x"], ["1", "2", "3"]):
        segments = [(value if "x" in all_values else int(value),) for value in all_values]
        for values in (["1", "2"], ["1", "x"]):
            frame = pl.DataFrame({"p": [0.25, 0.5], "s": values})
            place = tmp_path / f"a.{end}"
            {"csv": frame.write_csv, "parquet": frame.write_parquet, "jsonl": frame.write_ndjson}[end](place)
            seen = []

            def transform(p, columns, seen=seen):
                seen.extend(columns["s"])
                return p

            add_column(place, tmp_path / "b.csv", transform, score="p", into="q", others=["s"], segments=segments)
            recalibrated[tuple(all_values), tuple(values)] = set(seen)
    assert list(recalibrated.values()) == [{"1", "2"}, {"1", "x"}, {1, 2}, {1, "x"}]


def test_a_map_is_checked_by_the_segments_that_it_has(need, tmp_path):
    need("polars")
    rng = np.random.default_rng(2)
    p, s = rng.random(3000).round(3), rng.choice(["1", "2", "x"], 3000)
    y = (rng.random(3000) < np.where(s == "1", p**2, np.sqrt(p))).astype(int)
    lines = [f"{a},{b},{c}\n" for a, b, c in zip(y, p, s, strict=True)]
    whole = write(tmp_path / "a.csv", "y,p,s\n" + "".join(lines))
    fewer_values = write(tmp_path / "b.csv", "y,p,s\n" + "".join(line for line in lines if "x" not in line))
    fitted = truecal.recalibrate(truecal.read(whole, **COLUMNS, by="s"), kind="logistic", by="s", folds=0)
    found = recalibrate_observations(fitted, truecal.read(fewer_values, **COLUMNS, by="s"))
    both = recalibrate_observations(fitted, truecal.read(whole, **COLUMNS, by="s"))
    assert found.parts[1,].tally == both.parts["1",].tally
