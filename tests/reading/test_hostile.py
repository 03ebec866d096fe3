"""Hostile data: what must not be passed over, mixed up or taken for something else, in any format and engine."""

import json
import subprocess
import sys
import warnings

import numpy as np
import pytest

import truecal

COLUMNS = {"label": "y", "score": "p"}
WORDS = ["", "NA", "N/A", "n/a", "#N/A", "<NA>", "null", "NULL", "Null", "None", "nan", "NaN", "NAN", "NaT", "\\N", "?"]


def write(path, rows, header="y,p"):
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def run(*words):
    """The command line in a process of its own."""
    return subprocess.run([sys.executable, "-m", "truecal", *words], check=False, capture_output=True, text=True)


def yes_or_no(n, share=0.5):
    """Rows of a model that says 0.5, of which `share` are positive."""
    return [f"{'yes' if i < share * n else 'no'},0.5" for i in range(n)]


# ---- labels --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("quoted", [False, True])
def test_a_word_for_a_missing_label_is_missing_wherever_it_stands(need, tmp_path, word, quoted):
    """Beyond the first 128 KiB of a file, and in the second of two files."""
    need("polars")
    field = f'"{word}"' if quoted else word
    first = write(tmp_path / "a.csv", [*yes_or_no(30_000), *[f"{field},0.5"] * 7])
    second = write(tmp_path / "b.csv", [*yes_or_no(100), *[f"{field},0.5"] * 5])
    found = truecal.read([first, second], **COLUMNS, pos_label="yes", missing="drop")
    assert (found.n_rows, found.positives, found.row_counts.n_dropped) == (30_100, 15_050, 12)
    with pytest.raises(ValueError, match=r"`y` is null in 12"):
        truecal.read([first, second], **COLUMNS, pos_label="yes")


@pytest.mark.parametrize("odd", ["Yes", "yes ", " yes", "YES", "no ", "maybe", "0"])
def test_a_third_label_is_an_error_that_lists_it(need, tmp_path, odd):
    need("polars")
    path = write(tmp_path / "a.csv", [*yes_or_no(20_000), f"{odd},0.5", *yes_or_no(10), f"{odd},0.5"])
    rule = (
        rf"`y` must hold 'yes' and one other label; besides 'no' it holds '{odd}' \(2 rows, the first in row 20,001\)"
    )
    with pytest.raises(ValueError, match=rule):
        truecal.read(path, **COLUMNS, pos_label="yes")


def test_a_third_label_is_an_error_in_every_engine(make):
    labels = ["yes", "no"] * 50 + ["No", "No", "maybe"]
    with pytest.raises(ValueError, match=r"besides 'no' it holds 'No' \(2 rows(?s:.*)'maybe' \(1 row"):
        truecal.read(make(y=labels, p=[0.5] * 103), **COLUMNS, pos_label="yes")
    numbers = [1, 2] * 50 + [3, 3, 4]
    with pytest.raises(ValueError, match=r"must hold 2(\.0)? and one other label; besides 1 it holds 3 \(2 rows"):
        truecal.read(make(y=numbers, p=[0.5] * 103), **COLUMNS, pos_label=2)


def test_words_for_missing_labels_are_missing_in_every_engine(make):
    frame = make(y=["yes", "no", "NULL", "?", "", "yes"], p=[0.5] * 6)
    found = truecal.read(frame, **COLUMNS, pos_label="yes", missing="drop")
    assert (found.n_rows, found.positives, found.row_counts.n_dropped) == (3, 2, 3)


def test_more_than_ten_other_labels_are_counted(need):
    need("polars")
    labels = ["yes", "no", "no"] + [f"c{i:02}" for i in range(14)]
    with pytest.raises(ValueError, match=r"'c09' \(1 row, the first at position 12\) and 4 more"):
        truecal.read({"y": labels, "p": [0.5] * 17}, **COLUMNS, pos_label="yes")


def test_strange_numbers_among_labels_are_listed(need, tmp_path):
    need("polars")
    path = write(tmp_path / "a.csv", ["0,0.5", "1,0.5", "2,0.5", "2,0.5", "-1,0.5"])
    with pytest.raises(
        ValueError, match=r"`y` holds 2 \(2 rows, the first in row 3\), -1 \(1 row, the first in row 5\)"
    ):
        truecal.read(path, **COLUMNS)


def test_one_class_alone_is_legitimate(make):
    for word, positives in (("yes", 4), ("no", 0)):
        found = truecal.read(make(y=[word] * 4, p=[0.5] * 4), **COLUMNS, pos_label="yes")
        assert (found.n_rows, found.positives) == (4, positives)


def test_a_positive_label_may_be_a_word_for_a_missing_value(need):
    need("polars")
    found = truecal.read({"y": ["None", "some", "NA"], "p": [0.5] * 3}, **COLUMNS, pos_label="None", missing="drop")
    assert (found.n_rows, found.positives, found.row_counts.n_dropped) == (2, 1, 1)


def test_the_gate_does_not_pass_on_labels_that_are_no_labels(need, tmp_path):
    """Scores of half the odds; a third of the labels is missing at the end, or written otherwise."""
    need("polars")
    rng = np.random.default_rng(1)
    p = rng.beta(2, 8, 40_000)
    y = rng.random(40_000) < p
    for gone in ("NULL", "Yes", "", "?", "yes "):
        labels = np.where(y, "yes", "no").astype(object)
        labels[30_000:][y[30_000:]] = gone
        rows = [f"{label},{score:.6f}" for label, score in zip(labels, p, strict=True)]
        path = write(tmp_path / "a.csv", rows)
        words = ["check", str(path), "--pos-label", "yes", "--drop-missing", "--max-dropped", "0.01"]
        assert run(*words).returncode != 0, gone


# ---- files that are not read ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["b.csv.bz2", "b.csv.xz", "b.csv.gzip", "b.json", "part-00003", "_day4.csv", "sub/c.csv.bz2", "README.md"]
)
def test_a_folder_names_what_it_passes_over(need, tmp_path, name):
    need("polars")
    write(tmp_path / "a.csv", ["0,0.5", "1,0.5"] * 200)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(b"anything")
    with pytest.warns(UserWarning, match=f"{(tmp_path / name).name}' is in the folder that is read, but not read"):
        truecal.read(tmp_path, **COLUMNS)
    words = ["check", str(tmp_path), "--label", "y", "--score", "p"]
    done = run(*words)
    assert done.returncode == 2
    assert "Every file of a folder must be read" in done.stderr
    assert (tmp_path / name).name in done.stderr
    named = run("check", str(tmp_path / "*.csv"), *words[2:])
    assert "must be read" not in named.stderr


def test_marks_of_engines_and_hidden_files_are_fine(need, tmp_path):
    need("polars")
    write(tmp_path / "a.csv", ["0,0.5", "1,0.5"])
    for name in ("_SUCCESS", "_metadata", "_common_metadata", ".a.csv.crc", "a.csv.crc", ".hidden.csv", "_started_12"):
        (tmp_path / name).touch()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert truecal.read(tmp_path, **COLUMNS).n_rows == 2


# ---- keys ----------------------------------------------------------------------------------------------------------


def test_segments_of_twenty_columns_are_exact(need):
    """Ten values each: their product exceeds 64 bits."""
    need("polars")
    rng = np.random.default_rng(2)
    values = rng.integers(0, 10, (20, 2_000))
    columns = {f"g{i:02}": values[i] for i in range(20)}
    data = {"y": rng.integers(0, 2, 2_000), "p": rng.random(2_000), **columns}
    found = truecal.read(data, **COLUMNS, by=list(columns))
    expected = {tuple(row) for row in values.T.tolist()}
    assert set(found.parts) == expected
    assert found.n_rows == 2_000


def test_whole_numbers_and_decimals_of_duckdb_are_exact_keys(need):
    duckdb = need("duckdb")
    need("narwhals")
    sql = "select i % 2 as y, 0.5 as p, (9007199254740992 + i)::HUGEINT as h, (i + 0.1)::DECIMAL(20, 4) as d from range(4) t(i)"
    frame = duckdb.sql(sql)
    found = truecal.read(frame, **COLUMNS, by="h")
    assert [str(key) for (key,) in found.parts] == [str(2**53 + i) for i in range(4)]
    assert [str(key) for (key,) in truecal.read(frame, **COLUMNS, by="d").parts] == [f"{i}.1000" for i in range(4)]


def test_bytes_are_no_segments(make):
    if make.engine in ("pyspark", "dask") or make.engine.startswith("pandas"):
        pytest.skip("has no type of its own for bytes")
    with pytest.raises(TypeError, match="`g` must hold text, numbers, dates or booleans; it holds bytes"):
        truecal.read(make(y=[0, 1], p=[0.5, 0.5], g=[b"a", b"b"]), **COLUMNS, by="g")


@pytest.mark.parametrize("kind", ["uint8", "uint16", "uint32", "uint64", "int8"])
def test_dictionaries_of_any_index_are_segments(need, kind):
    pa = need("pyarrow")
    need("narwhals")
    index = pa.array([0, 1, None, 1], getattr(pa, kind)())
    g = pa.DictionaryArray.from_arrays(index, pa.array(["a", "b"]))
    found = truecal.read(pa.table({"y": [0, 1, 0, 1], "p": [0.5] * 4, "g": g}), **COLUMNS, by="g")
    assert {key: part.n_rows for (key,), part in found.parts.items()} == {"a": 1, "b": 2, None: 1}


def test_a_claim_of_order_in_parquet_is_not_trusted(need, tmp_path):
    """The file says that its rows are sorted by the segment; they are not."""
    pa, pq = need("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rng = np.random.default_rng(3)
    g = rng.integers(0, 5, 20_000)
    table = pa.table({"y": rng.integers(0, 2, 20_000), "p": rng.random(20_000), "g": g, "t": [f"s{i}" for i in g]})
    order = [pq.SortingColumn(2), pq.SortingColumn(3)]
    pq.write_table(table, tmp_path / "a.parquet", sorting_columns=order)
    for name, values in (("g", g), ("t", np.array([f"s{i}" for i in g]))):
        found = truecal.read(tmp_path / "a.parquet", **COLUMNS, by=name)
        expected = dict(zip(*np.unique(values, return_counts=True), strict=True))
        assert {key: part.n_rows for (key,), part in found.parts.items()} == expected


def test_masked_arrays_in_a_mapping_are_masked(need):
    need("polars")
    p = np.ma.array([0.5, 0.25, 7.0, 0.75], mask=[False, False, True, False])
    y = np.ma.array([0, 1, 1, 5], mask=[False, False, False, True])
    found = truecal.read({"y": y, "p": p}, **COLUMNS, missing="drop")
    assert (found.n_rows, found.positives, found.row_counts.n_dropped) == (2, 1, 2)
    with pytest.raises(ValueError, match="`p` is null in 1, `y` is null in 1"):
        truecal.read({"y": y, "p": p}, **COLUMNS)
    words = np.ma.array(["a", "b", "a", "b"], mask=[True, False, False, False])
    parts = truecal.read({"y": [0, 1, 0, 1], "p": [0.5] * 4, "g": words}, **COLUMNS, by="g").parts
    assert {key for (key,) in parts} == {None, "a", "b"}


# ---- lines of JSON -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ('{"y": 1, "p": 0.5, "y": 0}', "must name each value once in a line; line 3 names 'y' again"),
        ('{"y": 1, "\\u0079": 0, "p": 0.5}', "must name each value once in a line; line 3 names 'y' again"),
        ('{"y": 1, "p": 0.5, "x": ' + "[" * 600 + "]" * 600 + "}", "must nest values at most 64 deep; line 3 nests"),
        (
            '{"y": 1, "p": 0.5, "x": ' + '{"a":' * 600 + "1" + "}" * 600 + "}",
            "must nest values at most 64 deep; line 3",
        ),
        ("[" * 600, "must hold an object of JSON in each line; line 3 has a list"),
    ],
)
def test_lines_of_json_that_parsers_differ_on_are_refused(need, tmp_path, line, rule):
    need("polars")
    rows = ['{"y": 0, "p": 0.5}', "", '{"y": 1, "p": 0.25, "x": {"y": 3, "p": [1, {"y": 2}]}}', line]
    (tmp_path / "a.jsonl").write_text("\n".join(rows) + "\n")
    with pytest.raises(ValueError, match=rule):
        truecal.read(tmp_path / "a.jsonl", **COLUMNS)


@pytest.mark.parametrize("place", range(0, 40, 3))
def test_a_name_that_stands_twice_is_found_among_lines_that_are_alike(need, tmp_path, place):
    """Lines with the names of the one before are passed over quickly."""
    need("polars")
    rows = [f'{{"y": {i % 2}, "p": {i / 64}, "city": "a, \\"b\\" {{c}}"}}' for i in range(40)]
    rows[place] = rows[place].replace("city", "p")
    (tmp_path / "a.jsonl").write_text("\n".join(rows))
    with pytest.raises(ValueError, match=f"line {place + 1} names 'p' again"):
        truecal.read(tmp_path / "a.jsonl", **COLUMNS)


def test_names_in_strings_and_below_are_no_names_of_the_line(need, tmp_path):
    need("polars")
    rows = [{"y": i % 2, "p": 0.5, "x": '", "y": 5, "', "z": {"y": 1, "p": 2}, 'q"y': 3, "\\": ","} for i in range(10)]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    found = truecal.read(tmp_path / "a.jsonl", **COLUMNS)
    assert (found.n_rows, found.positives) == (10, 5)


# ---- what fails on the way -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.2, 0.5, 0.95])
def test_a_file_of_zstandard_that_was_cut_is_named(need, tmp_path, share):
    need("polars")
    rows = "\n".join(["y,p", *(f"{i % 2},{i / 5000}" for i in range(5000))]).encode()
    whole = need("pyarrow").compress(rows, codec="zstd", asbytes=True)
    (tmp_path / "a.csv.zst").write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ValueError, match=r"a.csv.zst' must be a whole file of UTF-8 text in Zstandard; it is not: "):
        truecal.read(tmp_path / "a.csv.zst", **COLUMNS)


@pytest.mark.parametrize("numbers", ["99999999999999999999", "-170141183460469231731687303715884105728"])
def test_labels_of_128_bits_are_listed(need, tmp_path, numbers):
    need("polars")
    path = write(tmp_path / "a.csv", ["0,0.5", "1,0.5", f"{numbers},0.5"])
    with pytest.raises(ValueError, match=r"`y` is neither 0 nor 1 in 1\. The first is -?1\S*e\+\d+, in row 3"):
        truecal.read(path, **COLUMNS)


def test_months_of_dask_are_those_of_pandas(need):
    pd, dd = need("pandas"), need("dask.dataframe")
    days = pd.date_range("2026-01-15", periods=60)
    rows = pd.DataFrame({"y": [0, 1] * 30, "p": 0.5, "t": days})
    options = {**COLUMNS, "time": "t", "every": "1mo"}
    found, expected = (truecal.read(data, **options) for data in (dd.from_pandas(rows, npartitions=2), rows))
    assert {key: part.n_rows for key, part in found.parts.items()} == {
        key: part.n_rows for key, part in expected.parts.items()
    }


@pytest.mark.parametrize("late", [0, 20_000])
def test_a_tab_is_no_missing_value(need, tmp_path, late):
    """polars passes over blanks before a number, and takes what is left for nothing."""
    need("polars")
    path = write(tmp_path / "a.csv", ["0,0.5"] * late + ["0,0.5", "1,0.5", "\t,0.5"])
    with pytest.raises(ValueError, match=r"are '\\t' \(1 row, the first in row "):
        truecal.read(path, missing="drop", **COLUMNS)
