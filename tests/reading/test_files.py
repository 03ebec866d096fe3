"""Every file format gives the tally of its columns; what cannot be read is named."""

import gzip
import json
import os
import subprocess
import sys
import tempfile
from datetime import date

import numpy as np
import pytest
from formats import FORMATS, write

import truecal
from truecal import Tally
from truecal.data import Reason, SortedRows
from truecal.reading import _columns as columns
from truecal.reading import _csv, _plain
from truecal.reading import _read as module
from truecal.reading._query import Query
from truecal.reading._write import add_column


@pytest.fixture
def pl(need):
    return need("polars")


@pytest.fixture
def rows(rng):
    p = np.round(rng.beta(0.5, 5, 2000), 3)
    return (rng.random(2000) < p).astype(int), p


@pytest.fixture
def frame(pl, rows, rng):
    return pl.DataFrame({"id": np.arange(2000), "y": rows[0], "p": rows[1], "place": rng.choice(["a", "b"], 2000)})


def read(source, **options):
    return truecal.read(source, label="y", score="p", **options).tally


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_gives_the_same_tally(frame, rows, tmp_path, kind):
    write(frame, tmp_path / f"a.{kind}", kind)
    assert read(tmp_path / f"a.{kind}") == Tally.from_arrays(*rows)
    assert read(str(tmp_path / f"a.{kind}")) == Tally.from_arrays(*rows)


def test_a_format_that_the_name_does_not_tell(frame, rows, tmp_path):
    write(frame, tmp_path / "data", "tsv")
    with pytest.raises(ValueError, match="(?s)must tell its format .*; it does not.*Hint: name its `format`"):
        read(tmp_path / "data")
    assert read(tmp_path / "data", format="tsv") == Tally.from_arrays(*rows)
    with pytest.raises(
        ValueError, match='`format` must be "csv", "tsv", "parquet", "ipc", "jsonl" or "npz"; it is .xls.'
    ):
        read(tmp_path / "data", format="xls")
    with pytest.raises(ValueError, match="`format` is for files; the data are DataFrame"):
        read(frame, format="csv")


def test_many_files_globs_and_folders(frame, rows, tmp_path):
    parts = [frame[:700], frame[700:1500], frame[1500:]]
    for i, part in enumerate(parts):
        write(part, tmp_path / f"part{i}.parquet", "parquet")
    expected = Tally.from_arrays(*rows)
    assert read([tmp_path / f"part{i}.parquet" for i in range(3)]) == expected
    assert read(str(tmp_path / "part*.parquet")) == expected
    assert read(str(tmp_path / "part[0-1].parquet")) == Tally.from_arrays(rows[0][:1500], rows[1][:1500])
    assert read(tmp_path) == expected
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / ".hidden.parquet").write_text("no data")
    assert read(tmp_path) == expected
    (tmp_path / "notes.md").write_text("no data")
    with pytest.warns(UserWarning, match="notes.md' is in the folder that is read, but not read"):
        assert read(tmp_path) == expected


def test_folders_named_for_values_are_a_column(frame, rows, tmp_path):
    for place in ("a", "b"):
        (tmp_path / f"place={place}").mkdir()
        part = frame.filter(frame["place"] == place).drop("place")
        write(part, tmp_path / f"place={place}" / "0.parquet", "parquet")
    found = truecal.read(tmp_path, label="y", score="p", by="place").parts
    here = frame["place"].to_numpy() == "a"
    assert found == {
        ("a",): Tally.from_arrays(rows[0][here], rows[1][here]),
        ("b",): Tally.from_arrays(rows[0][~here], rows[1][~here]),
    }


def test_standard_input(frame, rows, tmp_path):
    code = (
        "import truecal; t = truecal.read('-', label='y', score='p').tally;"
        "import tempfile, os; print(t.n_rows, t.positives, len(t))"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], input=frame.write_csv().encode(), capture_output=True, env=environment, check=True
    )
    expected = Tally.from_arrays(*rows)
    assert done.stdout.split() == [str(v).encode() for v in (expected.n_rows, expected.positives, len(expected))]
    assert not os.listdir(tmp_path)  # what was spooled is gone


def test_types_are_not_taken_from_the_first_rows_alone(pl, tmp_path):
    """The first 20,000 scores look like integers; the last is a fraction."""
    lines = ["y,p", *["0,0"] * 20_000, "1,0.25"]
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    assert read(tmp_path / "a.csv") == Tally.from_arrays([0] * 20_000 + [1], [0.0] * 20_000 + [0.25])


@pytest.mark.parametrize("last", ["A1", "007", "2.5"])
@pytest.mark.parametrize("option", ["by", "cluster"])
def test_the_order_of_rows_makes_no_segment_or_cluster_another(pl, tmp_path, last, option):
    rows = [f"{i % 2},0.5,{i % 3 + 5}" for i in range(12_000)]  # of which 10,000 tell the types
    found = []
    for name, lines in {"first": [f"1,0.5,{last}", *rows], "last": [*rows, f"1,0.5,{last}"]}.items():
        (tmp_path / f"{name}.csv").write_text("\n".join(["y,p,g", *lines]) + "\n")
        found.append(truecal.read(tmp_path / f"{name}.csv", label="y", score="p", **{option: "g"}))
    assert found[0] == found[1]
    if option == "by":
        numbers = last == "2.5"
        assert {segment for (segment,) in found[0].parts} == ({5, 6, 7, 2.5} if numbers else {"5", "6", "7", last})
    else:
        assert found[0].parts[()].clusters.count == 4


@pytest.mark.parametrize("space", ["", " "])
def test_codes_that_begin_with_0_are_text_and_numbers_are_not(pl, tmp_path, space):
    (tmp_path / "a.csv").write_text(f"y,p,g,n\n0,0.5,007,{space}0\n1,0.5,{space}7,10\n1,0.25,,20\n")
    found = truecal.read(tmp_path / "a.csv", label="y", score="p", by=["g", "n"])
    assert set(found.parts) == {("007", 0), (f"{space}7", 10), (None, 20)}


def test_rows_are_matched_by_codes_as_they_are_written(pl, tmp_path):
    (tmp_path / "new.csv").write_text("id,y,p\n7,0,0.25\n007,1,0.5\n")
    (tmp_path / "old.csv").write_text("id,p\n007,0.75\n7,0.125\n")
    found = truecal.read(tmp_path / "new.csv", label="y", score="p", baseline=tmp_path / "old.csv", on="id")
    assert [scores.tolist() for scores in found.baseline.scores] == [[0.25, 0.5], [0.125, 0.75]]


def test_rows_are_written_with_codes_as_they_are(pl, tmp_path):
    (tmp_path / "a.csv").write_text("p,zip,n\n0.25,80331,1\n0.5,01067,2\n")
    seen = []

    def halve(p, others):
        seen.extend(others["zip"])
        return p / 2

    settings = {"score": "p", "into": "q", "others": ("zip",)}
    assert truecal.reading.add_column(tmp_path / "a.csv", tmp_path / "b.csv", halve, **settings) == 2
    assert (tmp_path / "b.csv").read_text() == "p,zip,n,q\n0.25,80331,1,0.125\n0.5,01067,2,0.25\n"
    assert sorted(seen) == ["01067", "80331"]


def test_times_may_follow_dates(pl, tmp_path):
    lines = ["y,p,t", *["0,0.5,2026-01-01", "1,0.5,2026-01-02"] * 6_000, "1,0.5,2026-01-02T10:00:00"]
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    found = truecal.read(tmp_path / "a.csv", label="y", score="p", time="t")
    assert [part.n_rows for part in found.parts.values()] == [6_000, 6_001]


def test_text_among_numbers_is_named_with_its_row(pl, tmp_path):
    lines = ["y,p", *["0,0.5"] * 15_000, "1,high", *["0,0.5"] * 10, "1,low"]
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(ValueError, match=r"`p` must hold numbers; 2 rows of .* 'high' in row 15,001"):
        read(tmp_path / "a.csv")


def test_missing_values_are_counted_and_dropped_on_request(pl, tmp_path):
    (tmp_path / "a.csv").write_text("y,p\n1,0.5\n0,\n,0.25\n1,NA\n0,NaN\n1,null\n")
    with pytest.raises(ValueError, match=r"of 6 rows `p` is null in 4, `y` is null in 1(?s:.*)missing"):
        read(tmp_path / "a.csv")
    found = truecal.read(tmp_path / "a.csv", label="y", score="p", missing="drop")
    assert found.tally == Tally.from_arrays([1], [0.5])
    assert found.row_counts.dropped == {Reason("p", "null"): 4, Reason("y", "null"): 1}
    result = truecal.evaluate(found, metrics=["tce"])
    assert "of 6 rows 5 were dropped: `p` is null in 4, `y` is null in 1" in map(str, result.notes)


@pytest.mark.parametrize("kind", ["parquet", "arrow", "csv", "npz"])
@pytest.mark.parametrize("pos_label", [None, 1])
def test_a_label_of_nan_is_missing_and_not_negative(pl, tmp_path, kind, pos_label):
    place = tmp_path / f"a.{kind}"
    columns = {"y": np.array([0, 1, np.nan, 1]), "p": np.array([0.25, 0.5, 0.5, 0.75])}
    write(pl.DataFrame(columns), place, kind)
    options = {"label": "y", "score": "p", "pos_label": pos_label}
    with pytest.raises(ValueError, match="of 4 rows `y` is (null|NaN) in 1"):
        truecal.read(place, **options)
    found = truecal.read(place, **options, missing="drop")
    assert (found.n_rows, found.positives, found.row_counts.n_dropped) == (3, 2, 1)
    with pytest.raises(ValueError, match="`y_true` must not be missing; 1 of 4 values is NaN"):
        truecal.tce(*columns.values(), pos_label=pos_label)


def test_files_that_cannot_be_read_are_named(pl, frame, tmp_path):
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 but not really")
    (tmp_path / "broken.arrow").write_bytes(b"ARROW1 but not really")
    (tmp_path / "broken.npz").write_bytes(b"PK but not really")
    (tmp_path / "latin.csv").write_bytes(b"y,p\n1,caf\xe9\n")
    for name in ("empty.csv", "broken.parquet", "broken.arrow", "broken.npz", "latin.csv"):
        with pytest.raises(ValueError, match=name):
            read(tmp_path / name)
    np.savez(tmp_path / "ragged.npz", y=np.zeros(3), p=np.zeros(4))
    with pytest.raises(ValueError, match="must be columns of one length"):
        read(tmp_path / "ragged.npz")
    (tmp_path / "header.csv").write_text("y,p\n")
    with pytest.raises((ValueError, TypeError), match="The data must have at least one valid row"):
        read(tmp_path / "header.csv")
    with pytest.raises(FileNotFoundError, match="File not found: .*nothing.csv'"):
        read(tmp_path / "nothing.csv")
    with pytest.raises(FileNotFoundError, match="must match at least one file"):
        read(str(tmp_path / "no*.csv"))
    (tmp_path / "a.csv.xz").write_bytes(b"")
    with pytest.raises(ValueError, match=r"(?s)a\.csv\.xz.*Hint: unpack it first"):
        read(tmp_path / "a.csv.xz")
    (tmp_path / "mixed").mkdir()
    with pytest.raises(FileNotFoundError, match="must hold files of a known format"):
        read(tmp_path / "mixed")
    write(frame, tmp_path / "mixed" / "a.csv", "csv")
    write(frame, tmp_path / "mixed" / "a.parquet", "parquet")
    message = r"(?s)must be of one format; these are csv \('.*a\.csv'\), parquet \('.*a\.parquet'\)\..*Hint: .*mixed/\*\.parquet"
    with pytest.raises(ValueError, match=message):
        read(tmp_path / "mixed")


def test_folders_of_programs_and_hidden_ones_are_not_read(frame, rows, tmp_path):
    hidden = [".venv/lib", ".git", "__pycache__", "env/lib/data", "web/node_modules/a", "lib/site-packages/a"]
    for name in (*hidden, "below/2026", "_day=3"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "env" / "pyvenv.cfg").write_text("home = /usr/bin\n")
    for name in hidden:
        (tmp_path / name / "other.csv").write_text("a,b\n1,2\n")
    write(frame[:500], tmp_path / "a.csv", "csv")
    write(frame[500:1200], tmp_path / "below" / "2026" / "b.csv", "csv")
    write(frame[1200:], tmp_path / "_day=3" / "c.csv", "csv")  # a value of the column `_day`
    assert read(tmp_path) == Tally.from_arrays(*rows)
    assert read(str(tmp_path / "below" / "**")) == Tally.from_arrays(rows[0][500:1200], rows[1][500:1200])
    with pytest.raises(ValueError, match="'a', 'b'"):  # what is named itself is read
        read(tmp_path / ".venv")


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow", "npz"])
def test_a_file_with_other_columns_is_named(pl, tmp_path, kind):
    def both(other):
        for name, part in (("a", frame), ("b", other)):
            columns = {column: part[column].to_numpy() for column in part.columns}
            np.savez(tmp_path / f"{name}.npz", **columns) if kind == "npz" else write(
                part, tmp_path / f"{name}.{kind}", kind
            )
        with pytest.raises(ValueError, match="Files read together must have the same columns") as caught:
            read(str(tmp_path / f"*.{kind}"))
        return str(caught.value).replace(f"{tmp_path}/", "")

    frame = pl.DataFrame({"y": [0, 1], "p": [0.25, 0.5]})
    assert f"; 'b.{kind}' has no 'p', unlike 'a.{kind}'." in both(frame.rename({"p": "q"}))
    assert f"; 'b.{kind}' has 'z' as well, unlike 'a.{kind}'." in both(frame.with_columns(z=1))
    if kind != "csv":
        message = f"; 'b.{kind}' holds 'p' as Float32 and not as Float64, unlike 'a.{kind}'."
        assert message in both(frame.with_columns(pl.col("p").cast(pl.Float32)))
    if kind == "csv":
        assert "; 'b.csv' has them in the order 'p', 'y', unlike 'a.csv'." in both(frame.select("p", "y"))


def test_a_file_of_json_lines_without_the_column_is_named(pl, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"y": 0, "p": 0.5}\n')
    (tmp_path / "b.jsonl").write_text('{"y": 0, "q": 0.5}\n')
    with pytest.raises(ValueError, match=r"Every file must have the column 'p'; '.*b\.jsonl' does not"):
        read(tmp_path)
    (tmp_path / "b.jsonl").write_text('{"y": 0, "p": null}\n{"y": 0, "p": 0.5}\n')
    with pytest.raises(ValueError, match="of 3 rows `p` is null in 1"):
        read(tmp_path)


def test_the_broken_one_of_several_files_is_named(frame, tmp_path):
    write(frame, tmp_path / "a.parquet", "parquet")
    (tmp_path / "b.parquet").write_bytes(b"PAR1 but not really")
    with pytest.raises(ValueError, match=r"'[^']*b\.parquet' must be readable as parquet"):
        read(tmp_path)


def test_swapped_columns_are_recognised_where_the_read_is_refused(need, frame, rows, tmp_path):
    message = "`label` and `score` seem to be swapped: 'p' holds fractions, 'y' only 0 and 1"
    pandas = need("pandas")
    frame.write_csv(tmp_path / "a.csv")
    for data in (frame, frame.lazy(), pandas.DataFrame({"y": rows[0], "p": rows[1], "place": "a"}), tmp_path / "a.csv"):
        with pytest.raises(ValueError, match=message):
            truecal.read(data, label="p", score="y")
        with pytest.raises(ValueError, match=message):
            truecal.read(data, label="p", score="y", by="place")
    with pytest.raises(ValueError, match=message):
        truecal.read(frame.with_columns(q=frame["p"]), label="p", score="y", baseline="q")
    truths = frame.with_columns(y=frame["y"] == 1)
    truths.write_csv(tmp_path / "truths.csv")
    for data in (truths, tmp_path / "truths.csv"):  # whose scores cannot be read as numbers at all
        with pytest.raises(ValueError, match=message):
            truecal.read(data, label="p", score="y")
    with pytest.raises(ValueError, match="of 2,000 rows `id` is neither 0 nor 1"):  # wrong, and not swapped
        truecal.read(frame, label="id", score="p")


def test_percentages_and_logits_are_recognised_where_the_read_is_refused(pl, frame):
    p = pl.col("p")
    hints = {"percent": p * 100, "logit": p * 8 - 4}
    for scale, scores in hints.items():
        with pytest.raises(ValueError, match=f'(?s)`p` is outside.*Hint: these look.*`score_scale="{scale}"` reads'):
            read(frame.with_columns(scores))
    with pytest.raises(ValueError, match="(?s)`p` is outside.*Hint: .* neither a logit nor a percentage"):
        read(frame.with_columns(pl.when(pl.col("id") == 7).then(1.2).otherwise(p).alias("p")))


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_dates_as_text_come_with_the_remedy(need, library):
    columns = {"y": [0, 1], "p": [0.25, 0.5], "day": ["2026-01-01", "2026-01-02"]}
    remedy = {
        "pandas": r"pd\.to_datetime\(frame\['day'\]\)",
        "polars": r"pl\.col\('day'\)\.str\.to_datetime\(\)",
        "pyarrow": "cast it to a date or a time",
    }
    module = need(library)
    data = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    message = f"(?s)`day` must hold dates or times .* it holds String.*Hint: .*{remedy[library]}.* first, or use it unchanged: with `every=None` each of its values is a period"
    with pytest.raises(TypeError, match=message):
        truecal.read(data, label="y", score="p", time="day")


def test_a_missing_polars_is_named(monkeypatch, need, tmp_path):
    need("narwhals")
    monkeypatch.setitem(sys.modules, "polars", None)
    (tmp_path / "a.csv").write_text("y,p\n0,0.25\n1,\n")  # a score is missing, so the file is left to polars
    with pytest.raises(ImportError, match=r"pip install 'truecal\[files\]'"):
        read(tmp_path / "a.csv")


@pytest.mark.parametrize(
    "options", [{}, {"threshold": 0.05}, {"top": 0.1}, {"top": 777}, {"null_draws": 20, "random_state": 0}]
)
def test_rows_on_disk_give_the_result_of_a_tally(pl, rng, tmp_path, monkeypatch, options):
    """All metrics, tables, shapes and regions; every score once, so that rows stay rows."""
    p = rng.beta(0.5, 5, 5000)
    p[:3] = [0.0, 1.0, 1.0]
    frame = pl.DataFrame({"y": rng.random(5000) < p, "p": p})
    frame.write_parquet(tmp_path / "a.parquet")
    monkeypatch.setattr(columns, "LEAST_MEMORY", 1)
    monkeypatch.setattr(module, "LEAST_MEMORY", 1)
    limits = truecal.reading.Limits(memory=8000)
    read = truecal.read(tmp_path / "a.parquet", label="y", score="p", limits=limits)
    assert isinstance(read.pooled(), SortedRows)
    found = truecal.evaluate(read, **options)
    assert found == truecal.evaluate(Tally.from_arrays(frame["y"], p), **options)


def test_dates_of_text_must_be_unambiguous(pl, tmp_path):
    lines = ["y,p,day", *(f"{i % 2},0.5,0{1 + i % 3}/0{1 + i % 5}/2025" for i in range(30))]
    (tmp_path / "us.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(
        ValueError, match=r"`day` must hold dates written as YYYY-MM-DD, .*; in .* the first is '01/01/2025'"
    ):
        truecal.read(tmp_path / "us.csv", label="y", score="p", time="day")
    lines = ["y,p,day", *(f"{i % 2},0.5,2025-0{1 + i % 3}-01" for i in range(30))]
    (tmp_path / "iso.csv").write_text("\n".join(lines) + "\n")
    assert len(truecal.read(tmp_path / "iso.csv", label="y", score="p", time="day")) == 3


@pytest.mark.parametrize("grid", [None, 5])
def test_tied_segments_are_grouped_by_the_engine_to_the_same_end(pl, rng, tmp_path, monkeypatch, grid):
    monkeypatch.setattr(module, "LOOK_AT_TEXT", 1600)
    monkeypatch.setattr(_plain, "MOST", 0)
    p = np.round(rng.random(2000), 1)  # 11 scores, which 5 bits tell apart
    y, place = (rng.random(2000) < p).astype(int), rng.choice(["a", "b"], 2000)
    frame = pl.DataFrame({"y": y, "p": p, "place": place})
    frame.write_csv(tmp_path / "a.csv")
    grouped = []
    whole = Query.group
    monkeypatch.setattr(Query, "group", lambda query: grouped.append(query) or whole(query))
    limits = truecal.reading.Limits(grid=grid)
    parts = truecal.read(tmp_path / "a.csv", label="y", score="p", by="place", limits=limits).parts
    assert grouped
    assert parts["a",].simplify() == Tally.from_arrays(y[place == "a"], p[place == "a"])


@pytest.mark.parametrize("grid", [None, 5])
@pytest.mark.parametrize("missing", ["", "nan"])
def test_tied_files_are_counted_whatever_is_missing(pl, rng, tmp_path, monkeypatch, grid, missing):
    monkeypatch.setattr(module, "BATCH", 300)
    p = np.round(rng.random(2000), 1)
    y = (rng.random(2000) < p).astype(int)
    lines = [f"{label},{missing if score == 0.3 else score}" for label, score in zip(y, p, strict=True)]
    (tmp_path / "a.csv").write_text("\n".join(["y,p", *lines]) + "\n")
    rule = f"of 2,000 rows `p` is null in {(p == 0.3).sum()}"
    options = {"label": "y", "score": "p", "limits": truecal.reading.Limits(grid=grid)}
    with pytest.raises(ValueError, match=rule):
        truecal.read(tmp_path / "a.csv", **options)
    data = truecal.read(tmp_path / "a.csv", missing="drop", **options)
    assert data.tally == Tally.from_arrays(y[p != 0.3], p[p != 0.3])
    assert data.row_counts.n_dropped == (p == 0.3).sum()


@pytest.mark.slow
def test_files_need_no_narwhals(pl, frame, tmp_path):
    frame.write_parquet(tmp_path / "a.parquet")
    code = (
        "import sys; sys.modules['narwhals'] = None; import truecal; "
        f"found = truecal.read({str(tmp_path / 'a.parquet')!r}, label='y', score='p', by='place'); print(len(found))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "2\n"


@pytest.mark.slow
def test_copies_of_a_killed_process_are_removed_when_the_next_copy_is_made(tmp_path, monkeypatch):
    place, temporary = tmp_path / f"{'a' * 240}.csv.gz", tmp_path / "temporary"  # as long as a name may be
    temporary.mkdir()
    place.write_bytes(gzip.compress(b"y,p\n0,0.25\n1,0.75\n"))
    code = "import os, sys, truecal\nframe = truecal.reading.scan(sys.argv[1])\nEND"
    words = [sys.executable, "-c", code, str(place)]
    environment = os.environ | {"TMPDIR": str(temporary)}
    words[2] = code.replace("END", "os.kill(os.getpid(), 9)")
    assert subprocess.run(words, env=environment, check=False).returncode == -9
    assert len([file for file in temporary.rglob("*") if file.is_file()]) == 1
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    kept = _csv.Copy("kept")
    assert [file for file in temporary.rglob("*") if file.is_file()] == [kept.place]  # what was left is gone
    words[2] = code.replace("END", "print(frame.collect().height)")
    done = subprocess.run(words, env=environment, check=True, capture_output=True, text=True)
    assert done.stdout == "2\n"
    assert kept.place.exists()  # another process leaves it alone
    if not (child := os.fork()):  # so does one that was forked, with all of its objects
        del kept
        os._exit(0)
    os.waitpid(child, 0)
    assert kept.place.exists()
    del kept
    assert os.listdir(temporary) == []


def test_a_folder_that_another_process_deletes_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    made, make = [], tempfile.mkdtemp

    def make_and_lose(**options):
        made.append(make(**options))
        if len(made) == 1:  # as if it had been left behind
            os.rmdir(made[0])
        return made[-1]

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("tempfile.mkdtemp", make_and_lose)
    copy = _csv.Copy("kept")
    assert [str(copy.place.parent)] == made[1:]
    assert copy.place.exists()


@pytest.mark.parametrize("time", ["2026-01-02 12:00", "2026-01-02T12:00:00", "2026-01-02 12:00:00.5"])
def test_dates_and_times_in_one_column_are_times(pl, tmp_path, time):
    place = tmp_path / "a.csv"
    place.write_text(f"y,p,day,g\n0,0.25,2026-01-01,1\n1,0.75,{time},2\n1,0.5,2026-01-02,x\n")
    found = truecal.read(place, label="y", score="p", time="day", every="1d", by="g")
    days = date(2026, 1, 1), date(2026, 1, 2)
    assert {key: part.n_rows for key, part in found.parts.items()} == {
        ("1", days[0]): 1, ("2", days[1]): 1, ("x", days[1]): 1,
    }  # fmt: skip
    place.write_text(f"y,p,day\n0,0.25,2026-01-01\n1,0.75,{time}\n1,0.5,2026-01-02T12:00:00Z\n")
    with pytest.raises(
        ValueError, match="`day` must hold dates or times; in .*a.csv' row 3 has '2026-01-02T12:00:00Z'"
    ):
        truecal.read(place, label="y", score="p", time="day", every="1d")


LATER = 10_000  # lines from which polars infers types


def write_lines(place, last, **first):
    """Lines of JSON that are alike, but for the last."""
    lines = [json.dumps({"y": i % 2, "p": 0.25, "g": 1, **first}) for i in range(LATER)]
    place.write_text("\n".join([*lines, last if isinstance(last, str) else json.dumps({"y": 1, "p": 0.5, **last})]))


@pytest.mark.parametrize(
    ("first", "last", "segments"),
    [
        ({}, {"g": "x"}, [("1",), ("x",)]),
        ({}, {"g": 1.5}, [(1.0,), (1.5,)]),
        ({}, {"g": None}, [(1,), (None,)]),
        ({"g": None}, {"g": "x"}, [("x",), (None,)]),
        ({"p": 0}, {"p": 0.5, "g": 1}, [(1,)]),
        ({"more": 1}, {"g": 1, "more": "x"}, [(1,)]),
    ],
)
def test_columns_of_json_lines_have_the_type_of_all_lines(pl, tmp_path, first, last, segments):
    write_lines(tmp_path / "a.jsonl", last, **first)
    found = truecal.read(tmp_path / "a.jsonl", label="y", score="p", by="g")
    assert (found.n_rows, found.positives) == (LATER + 1, LATER // 2 + 1)
    assert sorted(found.parts, key=str) == sorted(segments, key=str)
    assert columns.find_kinds(tmp_path / "a.jsonl")["y"] == "binary"


def test_a_column_of_later_lines_of_json_is_read_and_kept(pl, tmp_path):
    write_lines(tmp_path / "a.jsonl", {"g": 1, "new": 3})
    found = truecal.read(tmp_path / "a.jsonl", label="y", score="p", by="new")
    assert {key: part.n_rows for key, part in found.parts.items()} == {(3,): 1, (None,): LATER}
    rows = add_column(tmp_path / "a.jsonl", tmp_path / "b.jsonl", lambda p, _: p / 2, score="p", into="half")
    assert rows == LATER + 1
    assert json.loads((tmp_path / "b.jsonl").read_text().splitlines()[-1])["new"] == 3


@pytest.mark.parametrize(
    ("last", "message"),
    [
        (
            {"p": "high"},
            "`p` must hold numbers; 1 row of .* holds something else, the first is 'high' in row 10,001",
        ),
        (
            {"y": True},
            "`y` must hold values of one type; line 10,001 of .* has a truth value, and a line before a number",
        ),
        ('{"y": 1, "p": 0.5', "a.jsonl' must hold JSON; line 10,001 is not: Expecting ',' delimiter"),
        ("[1]", "a.jsonl' must hold an object of JSON in each line; line 10,001 has a list"),
    ],
)
def test_errors_in_lines_of_json_name_the_line(pl, tmp_path, last, message):
    write_lines(tmp_path / "a.jsonl", last)
    with pytest.raises(ValueError, match=message):
        truecal.read(tmp_path / "a.jsonl", label="y", score="p", by="g")


@pytest.mark.parametrize("chunk", [1, 2, 7, 1 << 20])
def test_blank_lines_of_json_are_no_rows(tmp_path, monkeypatch, chunk):
    monkeypatch.setattr(_csv, "CHUNK", chunk)
    place = tmp_path / "a.jsonl"
    for text in ("", "\n", "{}", "{}\n", "\n{}\n\n{}", "{}\r\n \t\n{}\r\n", " {}\n\f\n\v", "{}\n" * 9 + " "):
        place.write_bytes(text.encode())
        assert _csv._check_lines(place, place)[0] == sum(1 for line in text.split("\n") if line.strip())
