"""`truecal recalibrate` and `truecal apply`, against the library."""

import json
import resource
from functools import partial

import numpy as np
import pytest
from command import run, run_process

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
    observations = truecal.read(folder / "train.csv", label="y", score="p")
    assert found == truecal.recalibrate(observations)
    assert "Recalibration helps: held-out log loss falls from" in " ".join(done.stdout.split())
    assert found.to_sql("p") in done.stdout


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "arrow", "jsonl"])
def test_a_map_is_applied_to_files_of_every_format(folder, suffix):
    run("recalibrate", "train.csv", "--by", "country", "-o", "map.json", cwd=folder)
    done = run("apply", "map.json", "apart.csv", "-o", f"recalibrated.{suffix}", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = Recalibration.from_json((folder / "map.json").read_text())
    rows = pl.read_csv(folder / "apart.csv")
    readers = {
        "csv": pl.read_csv, "tsv": lambda path: pl.read_csv(path, separator="\t"), "parquet": pl.read_parquet,
        "arrow": pl.read_ipc, "jsonl": pl.read_ndjson,
    }  # fmt: skip
    recalibrated = readers[suffix](folder / f"recalibrated.{suffix}")
    assert recalibrated.drop("p_recalibrated").equals(rows)
    wanted = found.apply(rows["p"].to_numpy(), {"country": rows["country"].to_list()})
    np.testing.assert_allclose(recalibrated["p_recalibrated"], wanted, rtol=1e-12)


def test_separate_rows_validate_it(folder):
    done = run("recalibrate", "train.csv", "--check", "apart.csv", "-o", "map.json", cwd=folder)
    assert "apart.csv" in done.stdout
    validation = Recalibration.from_json((folder / "map.json").read_text()).validation
    apart = truecal.evaluate(truecal.read(folder / "apart.csv", label="y", score="p"))
    assert validation.before.verdict.p_value == pytest.approx(apart.verdict.p_value, rel=1e-6)
    assert validation.before.n == 8000


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
    (folder / "nan.csv").write_text("p\n0.1\n-nan\n")
    (folder / "again.csv").write_text("p,p_recalibrated\n0.1,0.2\n")
    for words, told in (
        (("apply", "map.json", "apart.csv", "-o", "apart.csv"), "is an input"),
        (("apply", "map.json", "apart.csv", "-o", "map.json"), "is an input"),
        (("apply", "map.json", "wrong.csv", "-o", "out.csv"), "in 2 of 3 rows it does not, the first is 1.7 in row 2"),
        (("apply", "map.json", "wrong.csv", "-o", "out.csv"), "these look like percentages; --percent reads them"),
        (("apply", "map.json", "nan.csv", "-o", "out.csv"), "`p` must hold a number in every row, or nothing"),
        (("apply", "map.json", "again.csv", "-o", "out.csv"), "Hint: the scores seem to be recalibrated already."),
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
    assert "note: `p_recalibrated` looks recalibrated already; the map was fitted to `p`" in done.stderr


def test_clusters_are_heeded_in_both_files(folder):
    for name in ("train", "apart"):
        rows = pl.read_csv(folder / f"{name}.csv")
        rows.with_columns((pl.int_range(pl.len()) // 8).alias("who")).write_csv(folder / f"{name}.csv")
    words = ("recalibrate", "train.csv", "--cluster", "who", "--kind", "offset", "-o", "map.json")
    assert "5-fold cross-validation by `who`" in " ".join(run(*words, cwd=folder).stdout.split())
    run(*words, "--check", "apart.csv", cwd=folder)
    validation = Recalibration.from_json((folder / "map.json").read_text()).validation
    assert (validation.before.verdict.clusters, validation.after.verdict.clusters) == (1000, 1000)


def test_segments_are_shown_before_and_after(folder):
    done = run("recalibrate", "train.csv", "--by", "country", "-o", "map.json", cwd=folder)
    assert "Of 3 segments, held-out log loss falls significantly in" in " ".join(done.stdout.split())
    assert "country=at" in done.stdout
    offsets = Recalibration.from_json((folder / "map.json").read_text()).offset_table
    assert f"Odds ratio of 3 segments beyond the common map:\n{offsets.text()}" in done.stdout
    (folder / "other.csv").write_text("p,land\n0.1,at\n")
    done = run("apply", "map.json", "other.csv", "-o", "out.csv", cwd=folder)
    assert "The map needs the column 'country', whose values have maps of their own; there are 'p'" in done.stderr
    assert offsets.segment[0] == ("at",)  # the odds of "at" are 3 times those predicted, of the others 1.5 times
    assert offsets.odds_ratio[0] / offsets.odds_ratio[1:] == pytest.approx(2, rel=0.2)  # shrunk, and 800 positives each
    plain = run("recalibrate", "train.csv", "-o", "map.json", cwd=folder)
    assert "Segments were not evaluated" in " ".join(plain.stdout.split())
    assert "truecal slices train.csv (which groups?)" in run("evaluate", "train.csv", cwd=folder).stdout


def test_drift_is_named_first_where_there_are_times(folder):
    """A map of all rows makes a model look calibrated that changed only recently."""
    rows = pl.read_csv(folder / "train.csv")
    days = pl.Series("day", np.datetime64("2026-01-01") + np.arange(8000) // 100)
    rows.with_columns(days).write_csv(folder / "timed.csv")
    following = [
        "truecal drift timed.csv --time day (since when?)",
        "truecal slices timed.csv (which groups?)",
        "truecal recalibrate timed.csv -o map.json",
    ]
    shown = run("evaluate", "timed.csv", cwd=folder).stdout
    assert shown.endswith("\n  ".join(["\nNext:", *following]) + "\n")
    shown = run("evaluate", "timed.csv", "-y", "y", "-p", "p", "--drop-missing", cwd=folder).stdout
    assert shown.endswith("\n  truecal recalibrate timed.csv --label y --score p --drop-missing -o map.json\n")
    told = (
        "one map for all rows does not correct a recent change: `truecal drift --time day` estimates the change point"
    )
    assert told in run("recalibrate", "timed.csv", "-o", "map.json", cwd=folder).stderr
    assert told not in run("recalibrate", "timed.csv", "--time", "day", "-o", "map.json", cwd=folder).stderr
    assert "drift" not in run("evaluate", "train.csv", cwd=folder, merged=True).stdout


def test_rows_that_may_be_those_of_the_fit_are_told(folder):
    run("recalibrate", "train.csv", "-o", "map.json", cwd=folder)
    run("apply", "map.json", "train.csv", "-o", "recalibrated.csv", cwd=folder)
    told = (
        "note: if `p_recalibrated` was recalibrated by a map fitted to these rows, it always looks calibrated on them"
    )
    for command in ("evaluate", "check"):
        assert told in run(command, "recalibrated.csv", cwd=folder).stderr
    assert told not in run("check", "recalibrated.csv", "-p", "p", cwd=folder).stderr


def test_a_reversed_order_is_asked_about(tmp_path):
    rng = np.random.default_rng(0)
    p = rng.beta(1, 4, size=500)
    rows = (f"{int(u > q)},{q}" for u, q in zip(rng.random(500), p, strict=True))
    (tmp_path / "a.csv").write_text("\n".join(["y,p", *rows]))
    told = "fewer positives: are labels or scores swapped?"
    assert f"note: higher predictions of p go with {told}" in run("evaluate", "a.csv", cwd=tmp_path).stderr


def test_percentages_that_are_all_below_1_are_asked_about(tmp_path, monkeypatch, capsys):
    """Scores of a rare event in percent can all be probabilities: 0.3 on average where 0.3 % is true."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0.001, 0.006, 20_000)
    rows = (f"{int(u < q)},{100 * q}" for u, q in zip(rng.random(20_000), p, strict=True))
    (tmp_path / "a.csv").write_text("\n".join(["y,p", *rows]))
    monkeypatch.chdir(tmp_path)
    told = "note: positives are about a hundredth as frequent as p predicts: --percent reads scores in percent"
    assert main(["evaluate", "a.csv"]) == 0
    assert told in capsys.readouterr().err
    assert main(["evaluate", "a.csv", "--percent"]) == 0
    printed = capsys.readouterr()
    assert told not in printed.err
    assert "MISCALIBRATED" not in printed.out


def test_json_is_the_map(folder):
    done = run("recalibrate", "train.csv", "-o", "map.json", "--json", cwd=folder)
    assert json.loads(done.stdout) == json.loads((folder / "map.json").read_text())


def test_separate_rows_are_read_as_the_others_are(tmp_path):
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
    done = run(*words, "--negative-rate", "0.2", "--drop-missing", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    validation = truecal.results.Recalibration.from_json((tmp_path / "map.json").read_text()).validation
    options = {"label": "y", "score": "p", "sampling": truecal.Sampling(negative_rate=0.2), "missing": "drop"}
    expected = truecal.evaluate(truecal.read(tmp_path / "b.csv", **options), ["brier"])
    assert validation.before.n == expected.n
    assert validation.before.sampling == expected.sampling
    assert (
        validation.before.verdict.status == "consistent"
    )  # the model is calibrated; read without the option it would be miscalibrated


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
    done = run("report", "apart.csv", "--drop-missing", "--map", "map.json", "--null-draws", "9", cwd=tmp_path)
    assert "402" not in done.stderr
    assert "fitted to: of 402 rows 2 were dropped" in (tmp_path / "report.html").read_text()
    run("tally", "apart.csv", "--drop-missing", "-o", "t.parquet", cwd=tmp_path)
    done = run("apply", "map.json", "t.parquet", "-o", "recalibrated.csv", cwd=tmp_path)
    assert done.returncode == 2
    assert "needs rows; 't.parquet' holds observations" in done.stderr


def test_nothing_is_said_of_a_constant_where_no_row_is_positive():
    found = truecal.recalibrate([0] * 30, [0.01, 0.02, 0.03] * 10)
    assert "constant" not in repr(found)
    assert np.isnan(found.validation.skill).all()


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl", "arrow"])
def test_a_full_disk_is_told_of_the_output(folder, suffix):
    """By a limit on the size of files, of a process of its own; the input is not to blame."""
    assert run("recalibrate", "train.csv", "-o", "map.json", cwd=folder).returncode == 0
    limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (4096, 4096))
    done = run_process("apply", "map.json", "apart.csv", "-o", f"out.{suffix}", cwd=folder, preexec_fn=limit)
    assert (done.returncode, done.stderr) == (2, f"error: out.{suffix}: File too large.\n")
    assert not list(folder.glob("*out*"))
