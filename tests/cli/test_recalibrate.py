"""`truecal recalibrate` and `truecal apply`, against the library."""

import json

import numpy as np
import pytest
from command import run

import truecal
from truecal.cli import main
from truecal.results import Recalibration

pl = pytest.importorskip("polars")


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    for name in ("train", "apart"):
        p, country = rng.beta(1, 9, size=8000), rng.choice(["at", "de", None], size=8000)
        factor = np.where(country == "at", 3, 1.5)
        y = rng.random(8000) < p * factor / (1 - p + p * factor)
        pl.DataFrame({"y": y.astype(int), "p": p, "country": country.tolist()}).write_csv(tmp_path / f"{name}.csv")
    return tmp_path


def test_the_map_is_that_of_the_library(folder):
    done = run("recalibrate", "train.csv", "-o", "map.json", "--sql", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = Recalibration.from_json((folder / "map.json").read_text())
    tallies = truecal.read(folder / "train.csv", label="y", score="p")
    assert found == truecal.recalibrate(tallies)
    assert "It helps" in done.stdout
    assert found.to_sql("p") in done.stdout


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "arrow", "jsonl"])
def test_a_map_is_applied_to_files_of_every_format(folder, suffix):
    run("recalibrate", "train.csv", "--by", "country", "-o", "map.json", cwd=folder)
    done = run("apply", "map.json", "apart.csv", "-o", f"mended.{suffix}", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = Recalibration.from_json((folder / "map.json").read_text())
    rows = pl.read_csv(folder / "apart.csv")
    readers = {
        "csv": pl.read_csv, "tsv": lambda path: pl.read_csv(path, separator="\t"), "parquet": pl.read_parquet,
        "arrow": pl.read_ipc, "jsonl": pl.read_ndjson,
    }  # fmt: skip
    mended = readers[suffix](folder / f"mended.{suffix}")
    assert mended.drop("p_recalibrated").equals(rows)
    wanted = found.apply(rows["p"].to_numpy(), {"country": rows["country"].to_list()})
    np.testing.assert_allclose(mended["p_recalibrated"], wanted, rtol=1e-12)


def test_rows_kept_apart_prove_it(folder):
    done = run("recalibrate", "train.csv", "--check", "apart.csv", "-o", "map.json", cwd=folder)
    assert "apart.csv" in done.stdout
    proof = Recalibration.from_json((folder / "map.json").read_text()).proof
    apart = truecal.evaluate(truecal.read(folder / "apart.csv", label="y", score="p"))
    assert proof.before.verdict.p_value == pytest.approx(apart.verdict.p_value, rel=1e-6)
    assert proof.before.n == 8000


def test_rows_without_a_score_stay_without_one(folder):
    run("recalibrate", "train.csv", "-o", "map.json", cwd=folder)
    (folder / "holes.csv").write_text("id,p\n1,0.1\n2,\n3,0.3\n")
    run("apply", "map.json", "holes.csv", "-o", "out.csv", cwd=folder)
    found = pl.read_csv(folder / "out.csv")
    assert found["p_recalibrated"].is_null().to_list() == [False, True, False]
    assert found["id"].to_list() == [1, 2, 3]


def test_nothing_is_lost_or_overwritten(folder):
    run("recalibrate", "train.csv", "-o", "map.json", cwd=folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    (folder / "other.csv").write_text("q\n0.1\n")
    (folder / "wrong.csv").write_text("p\n0.1\n1.7\n3.5\n")
    (folder / "nan.csv").write_text("p\n0.1\nNaN\n")
    (folder / "again.csv").write_text("p,p_recalibrated\n0.1,0.2\n")
    for words, told in (
        (("apply", "map.json", "apart.csv", "-o", "apart.csv"), "is an input"),
        (("apply", "map.json", "apart.csv", "-o", "map.json"), "is an input"),
        (("apply", "map.json", "wrong.csv", "-o", "out.csv"), "in 2 of 3 rows it does not, the first is 1.7 in row 2"),
        (("apply", "map.json", "wrong.csv", "-o", "out.csv"), "these look like percentages; --percent reads them"),
        (("apply", "map.json", "nan.csv", "-o", "out.csv"), "`p` must hold a number in every row, or nothing"),
        (("apply", "map.json", "again.csv", "-o", "out.csv"), "Hint: the scores seem to be mended already."),
        (("apply", "map.json", "apart.csv", "-o", "out.docx"), "must end in"),
        (("apply", "map.json", "-o", "out.csv"), "must be named"),
        (("apply", "map.json", "other.csv", "-o", "out.csv"), "The map was fitted to 'p', which must be among"),
        (("apply", "train.csv", "apart.csv", "-o", "out.csv"), "must be the JSON"),
        (("apply", "apart.csv", "map.json", "-o", "out.csv"), "The map must be named first; 'apart.csv' is"),
        (("recalibrate", "train.csv", "-o", "map.txt"), "must end in .json"),
        (("recalibrate", "train.csv", "--check", "apart.csv", "-o", "apart.json", "--kind", "platt"), "invalid choice"),
    ):
        done = run(*words, cwd=folder)
        assert done.returncode == 2, words
        assert told in " ".join(done.stderr.split())
    now = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert {name: now[name] for name in before} == before
    assert now.keys() - before.keys() == {"other.csv", "wrong.csv", "nan.csv", "again.csv"}
    done = run("apply", "map.json", "again.csv", "-p", "p_recalibrated", "-o", "twice.csv", cwd=folder)
    assert "note: `p_recalibrated` looks mended already; the map was fitted to `p`" in done.stderr


def test_clusters_are_heeded_in_both_files(folder):
    for name in ("train", "apart"):
        rows = pl.read_csv(folder / f"{name}.csv")
        rows.with_columns((pl.int_range(pl.len()) // 8).alias("who")).write_csv(folder / f"{name}.csv")
    words = ("recalibrate", "train.csv", "--cluster", "who", "--kind", "offset", "-o", "map.json")
    assert "5 folds by `who`" in " ".join(run(*words, cwd=folder).stdout.split())
    run(*words, "--check", "apart.csv", cwd=folder)
    proof = Recalibration.from_json((folder / "map.json").read_text()).proof
    assert (proof.before.verdict.clusters, proof.after.verdict.clusters) == (1000, 1000)


def test_segments_are_shown_before_and_after(folder):
    done = run("recalibrate", "train.csv", "--by", "country", "-o", "map.json", cwd=folder)
    assert "Of 3 segments the log loss falls beyond chance in" in " ".join(done.stdout.split())
    assert "country=at" in done.stdout
    factors = Recalibration.from_json((folder / "map.json").read_text()).factors
    assert f"Beyond the common map, the odds of 3 segments are multiplied by:\n{factors.text()}" in done.stdout
    (folder / "other.csv").write_text("p,land\n0.1,at\n")
    done = run("apply", "map.json", "other.csv", "-o", "out.csv", cwd=folder)
    assert "The map needs the column 'country', whose values have maps of their own; there are 'p'" in done.stderr
    assert factors.segment[0] == ("at",)  # the odds of "at" are 3 times those predicted, of the others 1.5 times
    assert factors.factor[0] / factors.factor[1:] == pytest.approx(2, rel=0.2)  # shrunk, and 800 positives each
    plain = run("recalibrate", "train.csv", "-o", "map.json", cwd=folder)
    assert "Segments were not looked at" in " ".join(plain.stdout.split())
    assert "note: `truecal slices` looks for groups" in run("score", "train.csv", cwd=folder).stderr


def test_drift_is_named_first_where_there_are_times(folder):
    """A map of all rows turns a model green that is off only lately."""
    rows = pl.read_csv(folder / "train.csv")
    days = pl.Series("day", np.datetime64("2026-01-01") + np.arange(8000) // 100)
    rows.with_columns(days).write_csv(folder / "timed.csv")
    score = run("score", "timed.csv", cwd=folder).stderr.splitlines()
    assert score[-2:] == [
        "note: `truecal drift --time day` tells since when they are off: look there first",
        "note: `truecal slices` looks for groups of rows that are off; `truecal recalibrate` mends all rows alike",
    ]
    told = "does not mend what is off only lately: `truecal drift --time day` tells since when it is"
    assert told in run("recalibrate", "timed.csv", "-o", "map.json", cwd=folder).stderr
    assert told not in run("recalibrate", "timed.csv", "--time", "day", "-o", "map.json", cwd=folder).stderr
    assert "drift" not in run("score", "train.csv", cwd=folder).stderr


def test_rows_that_may_be_those_of_the_fit_are_told(folder):
    run("recalibrate", "train.csv", "-o", "map.json", cwd=folder)
    run("apply", "map.json", "train.csv", "-o", "mended.csv", cwd=folder)
    told = "note: if `p_recalibrated` was mended by a map that was fitted to these rows, it always looks right on them"
    for command in ("score", "check"):
        assert told in run(command, "mended.csv", cwd=folder).stderr
    assert told not in run("check", "mended.csv", "-p", "p", cwd=folder).stderr


def test_a_reversed_order_is_asked_about(tmp_path):
    rng = np.random.default_rng(0)
    p = rng.beta(1, 4, size=500)
    rows = (f"{int(u > q)},{q}" for u, q in zip(rng.random(500), p, strict=True))
    (tmp_path / "a.csv").write_text("\n".join(["y,p", *rows]))
    told = "fewer positives: are labels or scores swapped?"
    assert f"note: higher predictions of p go with {told}" in run("score", "a.csv", cwd=tmp_path).stderr


def test_percentages_that_are_all_below_1_are_asked_about(tmp_path, monkeypatch, capsys):
    """Scores of a rare event in percent can all be probabilities: 0.3 on average where 0.3 % is true."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0.001, 0.006, 20_000)
    rows = (f"{int(u < q)},{100 * q}" for u, q in zip(rng.random(20_000), p, strict=True))
    (tmp_path / "a.csv").write_text("\n".join(["y,p", *rows]))
    monkeypatch.chdir(tmp_path)
    told = "note: positives came about a hundredth as often as p says: --percent reads scores in percent"
    assert main(["score", "a.csv"]) == 0
    assert told in capsys.readouterr().err
    assert main(["score", "a.csv", "--percent"]) == 0
    printed = capsys.readouterr()
    assert told not in printed.err
    assert "OFF" not in printed.out


def test_json_is_the_map(folder):
    done = run("recalibrate", "train.csv", "-o", "map.json", "--json", cwd=folder)
    assert json.loads(done.stdout) == json.loads((folder / "map.json").read_text())


def test_rows_kept_apart_are_read_as_the_others_are(tmp_path):
    """One negative in five was kept of both; a missing score is dropped of both."""
    rng = np.random.default_rng(3)
    p = rng.beta(1, 9, 40_000)
    y = rng.random(len(p)) < p
    kept = y | (rng.random(len(p)) < 0.2)
    frame = pl.DataFrame({"y": y[kept].astype(int), "p": p[kept]})
    frame = frame.with_columns(pl.when(pl.int_range(pl.len()) % 1000 == 0).then(None).otherwise("p").alias("p"))
    half = len(frame) // 2
    frame[:half].write_csv(tmp_path / "a.csv")
    frame[half:].write_csv(tmp_path / "b.csv")
    words = ("recalibrate", "a.csv", "--check", "b.csv", "-y", "y", "-p", "p", "--kind", "offset", "-o", "map.json")
    done = run(*words, "--kept-negatives", "0.2", "--drop-missing", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    proof = truecal.results.Recalibration.from_json((tmp_path / "map.json").read_text()).proof
    options = {"label": "y", "score": "p", "kept_negatives": 0.2, "on_null": "drop"}
    expected = truecal.evaluate(truecal.read(tmp_path / "b.csv", **options), ["brier"])
    assert proof.before.n == expected.n
    assert proof.before.labelling == expected.labelling
    assert proof.before.verdict.word == "consistent"  # the model is right; read without the option it would be off


def test_the_map_names_its_columns_and_rows_left_out_are_told(tmp_path):
    for name, gone in (("train", 2), ("apart", 3)):
        lines = [f"{i % 2},0.3,{'ab'[i % 4 > 1]}" for i in range(400)] + [",0.3,a"] * gone
        (tmp_path / f"{name}.csv").write_text("\n".join(["y,p,g", *lines]))
    words = ("--by", "g", "--check", "apart.csv", "--drop-missing", "-o", "map.json")
    done = run("recalibrate", "train.csv", *words, cwd=tmp_path)
    assert "note: apart.csv: of 403 rows 3 were dropped" in done.stderr
    assert "note: of 402 rows 2 were dropped" in done.stderr
    checked = [
        run("check", "apart.csv", "--drop-missing", "--map", "map.json", *by, cwd=tmp_path) for by in ((), words[:2])
    ]
    assert checked[0].returncode in (0, 1, 3), checked[0].stderr
    assert checked[0].stdout == checked[1].stdout
    done = run("report", "apart.csv", "--drop-missing", "--map", "map.json", "--reference", "9", cwd=tmp_path)
    assert "402" not in done.stderr
    assert "fitted to: of 402 rows 2 were dropped" in (tmp_path / "report.html").read_text()
    run("tally", "apart.csv", "--drop-missing", "-o", "t.parquet", cwd=tmp_path)
    done = run("apply", "map.json", "t.parquet", "-o", "mended.csv", cwd=tmp_path)
    assert done.returncode == 2
    assert "needs rows; 't.parquet' holds tallies" in done.stderr


def test_nothing_is_said_of_a_constant_where_no_row_is_positive():
    found = truecal.recalibrate([0] * 30, [0.01, 0.02, 0.03] * 10)
    assert "constant" not in repr(found)
    assert np.isnan(found.proof.skill).all()
