"""`truecal slices`, and the section of the report."""

import csv
import io
import json

import numpy as np
import pytest
from command import run

import truecal
from truecal.results import SliceTable

pl = pytest.importorskip("polars")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("slices")
    rng = np.random.default_rng(0)
    p, country = rng.beta(1, 9, size=20_000), rng.choice(["at", "de", "<b>"], size=20_000)
    truth = np.where(country == "<b>", np.minimum(1.6 * p, 1), p)
    pl.DataFrame({"y": (rng.random(20_000) < truth).astype(int), "p": p, "country": country}).write_csv(
        found / "preds.csv"
    )
    return found


def test_it_prints_what_the_library_finds(folder):
    found = truecal.slices(folder / "preds.csv", label="y", score="p")
    assert found.slice == ("country=<b>",)
    done = run("slices", "preds.csv", cwd=folder)
    assert done.returncode == 0
    assert "country=<b>" in done.stdout
    assert "under-predicts" in done.stdout
    assert f"among {found.searched:,} slices of country and the scores, singly and in pairs" in " ".join(
        done.stdout.split()
    )
    assert SliceTable.from_json(run("slices", "preds.csv", "--json", cwd=folder).stdout) == found
    (row,) = csv.DictReader(io.StringIO(run("slices", "preds.csv", "--csv", cwd=folder).stdout))
    assert (row["slice"], int(row["n"])) == ("country=<b>", int(found.n[0]))


def test_a_model_that_is_off_everywhere_has_more_groups_that_are_off_than_are_listed():
    rng = np.random.default_rng(1)
    p = rng.beta(2, 9, size=10_000)
    frame = {"y": (rng.random(10_000) < p / 2).astype(int), "p": p, "country": rng.choice(["at", "de"], size=10_000)}
    table = truecal.slices(frame, label="y", score="p")
    assert len(table) == 1
    assert table.summary.startswith("1 miscalibrated slice is listed among ")
    assert table.sentences()[1] == "Slices that this one explains are not listed."
    right = truecal.slices({**frame, "y": rng.random(10_000) < p}, label="y", score="p")
    assert right.sentences() == (right.summary,)
    assert right.summary.startswith("No miscalibrated slice found among ")
    several = truecal.slices({**frame, "y": rng.random(10_000) < p**2}, label="y", score="p")
    assert several.summary.startswith(f"{len(several)} miscalibrated slices are listed among ")
    assert several.sentences()[1] == "Slices that these explain are not listed."


def test_positives_at_a_score_of_0_are_told(tmp_path):
    rows = [f"{int(i < 5)},0" for i in range(100)] + [f"{int(i < 30)},0.3" for i in range(100)]
    (tmp_path / "rows.csv").write_text("\n".join(["y,p", *rows]))
    done = run("slices", "rows.csv", cwd=tmp_path)
    assert "do not fit" not in run("slices", "rows.csv", cwd=tmp_path, COLUMNS="80").stdout
    (line,) = (line for line in done.stdout.splitlines() if "p=0" in line)
    assert line.split()[:8] == ["p=0", "100", "5", "0", "none", "expected", "<", "0.0001"]
    assert line.split()[8] == "under-predicts"
    assert run("report", "rows.csv", "--slices", cwd=tmp_path).returncode == 0
    assert "p=0" in (tmp_path / "report.html").read_text()


def test_columns_pairs_and_sizes_are_options(folder):
    words = ("--columns", "country", "--no-pairs", "--min-rows", "10000", "--json")
    found = json.loads(run("slices", "preds.csv", *words, cwd=folder).stdout)
    assert found["columns"]["slice"] == ["p above 0.01181"]  # a group of 10,000 rows holds others
    # 5 levels of country; 55 ranges of p and null
    assert found["searched"] == 5 + 56
    assert " of country and the scores, singly (" in SliceTable.from_json(json.dumps(found)).summary


def test_rows_without_labels_are_told(tmp_path):
    lines = [f"{y},{p},{g}" for y, p, g in [(0, 0.2, "a"), (1, 0.7, "b")] * 60] + [",0.5,a"] * 3
    (tmp_path / "rows.csv").write_text("\n".join(["y,p,g", *lines]))
    done = run("slices", "rows.csv", "--drop-missing", cwd=tmp_path)
    assert "note: of 123 rows 3 were dropped: `y` is null in 3" in done.stderr


def test_right_on_the_whole_names_the_search(tmp_path):
    rng = np.random.default_rng(2)
    p, country = rng.beta(2, 9, size=20_000), rng.choice(["at", "de"], size=20_000)
    # positives of one country are missing, as many are too many in the other
    truth = np.where(country == "at", 0.7 * p, 1.3 * p)
    frame = pl.DataFrame({"y": (rng.random(20_000) < truth).astype(int), "p": p, "country": country})
    frame.write_csv(tmp_path / "preds.csv")
    frame.drop("country").write_csv(tmp_path / "bare.csv")
    said = "note: all rows were evaluated together: `truecal slices` searches for miscalibrated groups of rows"
    for command, told in (("evaluate", "Next: truecal slices {} (which groups?)"), ("check", said)):
        done = run(command, "preds.csv", cwd=tmp_path, merged=True)
        assert done.returncode == 0
        assert told.format("preds.csv") in done.stdout
        assert "truecal slices" not in run(command, "bare.csv", cwd=tmp_path, merged=True).stdout
    assert said not in run("check", "preds.csv", "--by", "country", "--segment", "*", cwd=tmp_path).stderr
    assert "country=" in run("slices", "preds.csv", cwd=tmp_path).stdout


def test_tallies_have_no_rows_to_search(folder):
    run("tally", "preds.csv", "-o", "t.parquet", cwd=folder)
    done = run("slices", "t.parquet", cwd=folder)
    assert done.returncode == 2
    assert "needs rows" in done.stderr


@pytest.mark.slow
def test_the_report_has_a_section(folder):
    done = run("report", "preds.csv", "--slices", cwd=folder)
    assert done.returncode == 0, done.stderr
    page = (folder / "report.html").read_text()
    assert '<section id="by-slice">' in page
    assert "country=&lt;b&gt;" in page
    found = truecal.slices(folder / "preds.csv", label="y", score="p")
    assert (
        f"1 slice listed among {found.searched:,} searched (country=&lt;b&gt;: under-predicts, O/E {found.ratio[0]:.2f})"
        in page
    )
    assert "Slices that this one explains are not listed." in page
