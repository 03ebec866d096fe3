"""Several classes on the command line, against the functions of the library that they come from."""

import csv
import io
import json

import numpy as np
import pytest
from command import run

import truecal
from truecal import ClassResults

NAMES = ("bee", "cat", "dog")
SHARED = {"label": "pet", "score": "p_*"}


@pytest.fixture(scope="module")
def pets(tmp_path_factory):
    """Over-confident probabilities of three classes, in a file."""
    pl = pytest.importorskip("polars")
    rng, folder = np.random.default_rng(4), tmp_path_factory.mktemp("pets")
    q = rng.dirichlet([1, 2, 3], 3000)
    pet = np.array(NAMES)[(q.cumsum(axis=1) > rng.random((3000, 1))).argmax(axis=1)]
    q = q**1.4 / np.sum(q**1.4, axis=1, keepdims=True)
    day = np.datetime64("2026-01-01") + rng.integers(0, 3, 3000)
    columns = {"id": np.arange(3000), "pet": pet, **{f"p_{name}": q[:, i] for i, name in enumerate(NAMES)}}
    pl.DataFrame({**columns, "land": rng.choice(["at", "de"], 3000), "day": day}).write_csv(folder / "pets.csv")
    return folder / "pets.csv"


def below_title(done):
    """All but the first lines, which name the file."""
    return done.stdout.partition("\n\n")[2]


def test_the_most_probable_class_is_judged_where_labels_name_the_columns(pets):
    expected = truecal.evaluate(truecal.read(pets, **SHARED, multiclass="top-label"))
    guessed = run("evaluate", pets, "--null-draws", "0")
    assert guessed.stderr == "note: inferred --label pet --score 'p_*' --multiclass top-label\n"
    for words in (
        ("-p", "p_bee,p_cat,p_dog"),
        ("-y", "pet", "-p", "p_*"),
        ("-y", "pet", "-p", "p_*", "--multiclass", "top-label"),
        ("-y", "pet", "-p", "p_bee,p_cat,p_dog", "--labels", "bee,cat,dog"),
    ):
        found = run("evaluate", pets, "--null-draws", "0", *words)
        assert found.stdout == guessed.stdout
        assert found.returncode == 0
    assert f"observed {expected.positives:,} correct, expected " in guessed.stdout
    assert f"{expected.positives:,} correct ({100 * expected.prevalence:.3g}%)" in guessed.stdout.splitlines()[0]
    assert "positive" not in guessed.stdout
    assert f"Local TCE {expected['ltce']:.3g}%" in guessed.stdout


def test_each_class_is_judged_where_it_is_asked_for(pets):
    words = ("evaluate", pets, "-y", "pet", "-p", "p_*", "--multiclass", "classwise", "--null-draws", "0")
    data = truecal.read(pets, **SHARED, multiclass="classwise")
    table = truecal.evaluate_classes(data).table
    text = run(*words).stdout
    listed = text.partition("  class ")[2].partition("\n\n")[0]
    lines = {line.split()[0]: line.split() for line in listed.splitlines() if line.strip().startswith(NAMES)}
    assert list(lines) == [NAMES[row] for row in table.order()]
    for row, name in enumerate(NAMES):
        assert lines[name][1:3] == [f"{table.predicted[row]:,}", f"{table.observed[row]:,}"]
        way = table.direction[row]
        assert " ".join(lines[name]).endswith(f" {table.status[row]}{f' {way}' if way else ''}")
    together = "Miscalibrated over all classes and the top label (p < 0.0001)."
    assert f"MISCALIBRATED {table.summary.rstrip('.')} {together}" in " ".join(text.split())
    rows = list(csv.DictReader(io.StringIO(run(*words, "--csv").stdout)))
    assert [row["label"] for row in rows] == list(NAMES)
    assert [float(row["p_adjusted"]) for row in rows] == table.p_adjusted.tolist()
    written = run(*words, "--json").stdout
    assert ClassResults.from_json(written).table == table
    assert json.loads(written)["status"] == "miscalibrated"


def test_a_saved_result_of_classes_is_shown_again(pets, tmp_path):
    place = tmp_path / "found.json"
    words = ("evaluate", pets, "-p", "p_*", "--multiclass", "classwise", "--null-draws", "0")
    assert run(*words, "--json", "-o", place).returncode == 0
    shown = run("evaluate", place)
    assert below_title(shown) == below_title(run(*words))
    assert run("report", place, "-o", tmp_path / "a.html").returncode == 0
    assert '<section id="by-class">' in (tmp_path / "a.html").read_text()


def test_a_report_has_classes_segments_and_windows(pets, tmp_path):
    words = ("--by", "land", "--time", "day", "--null-draws", "9", "--resamples", "0")
    done = run("report", pets, "-p", "p_*", "--multiclass", "classwise", *words, "-o", tmp_path / "a.html")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "a.html").read_text()
    for part in ("by-class", "by-segment", "by-period"):
        assert f'<section id="{part}">' in page
    assert "<h1>Miscalibrated: confidences are too high" in page
    assert " correct, expected " in page
    assert "expected positives" not in page.partition('id="glossary"')[0]
    assert "<dt>Most probable class</dt>" in page


def test_segments_windows_and_tallies_are_of_the_most_probable_class(pets, tmp_path):
    segments = run("segments", pets, "--by", "land", "-p", "p_*", "--null-draws", "9").stdout
    assert "3,000 predictions, 59.5% correct" in " ".join(segments.split())
    assert "observed over expected correct predictions" in " ".join(segments.split())
    windows = run("drift", pets, "--time", "day", "-p", "p_*", "--null-draws", "9").stdout
    assert " correct, expected " in " ".join(windows.split())
    assert "positive" not in segments + windows
    place = tmp_path / "day.parquet"
    told = run("tally", pets, "-p", "p_*", "--by", "land", "-o", place).stderr
    assert "p_* for pet by land, exact: 3,000 predictions, " in told
    assert told.rstrip().endswith(" correct")
    data = run("evaluate", pets, "-p", "p_*", "--null-draws", "0")
    assert below_title(run("evaluate", place, "--null-draws", "0")) == below_title(data)
    for words in (("--multiclass", "top-label"), ("--labels", "a")):
        done = run("evaluate", place, *words)
        assert (done.returncode, "must be left out if observations are read" in done.stderr) == (2, True)


def test_the_gate_judges_the_most_probable_class_and_each(pets):
    top = run("check", pets, "-p", "p_*")
    assert (top.returncode, top.stdout.count("fail  ")) == (1, 1)
    assert " correct, expected " in " ".join(top.stdout.split())
    each = run("check", pets, "-p", "p_*", "--multiclass", "classwise", "--max-value", "ltce=99")
    assert [line.split()[2] for line in each.stdout.splitlines() if "pet=" in line and "p_*" in line] == [
        f"[pet={name}]" for name in NAMES
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("evaluate", "-y", "pet", "-p", "p_bee,p_cat"), "--pos-label, or say with --multiclass that the columns are of"),
        (("evaluate", "-y", "pet", "-p", "q_*"), "--score must match a column"),
        (("evaluate", "-p", "p_*", "--multiclass", "classwide"), "did you mean 'classwise'?"),
        (("segments", "--by", "land", "--multiclass", "classwise"), "Argument --multiclass: invalid choice"),
        (("evaluate", "--by", "land", "--multiclass", "classwise"), "--multiclass must be top-label where --by makes segments"),
        (("evaluate", "-y", "pet", "-p", "p_*", "--labels", "a,b"), "--labels must name the classes of the 3 columns of --score"),
        (("evaluate", "-y", "pet", "-p", "p_*", "--labels", "bee,cat,dgo"), "--labels must name every label; `pet` holds 'dog'"),
        (("check", "-y", "pet", "-p", "p_*", "--baseline", "p_cat"), "--baseline must be left out where --multiclass is given"),
        (("compare", "-y", "pet", "-p", "p_cat,p_dog"), "must hold 0 and 1 or booleans"),
    ],
)  # fmt: skip
def test_what_is_meant_otherwise_is_said(pets, words, message):
    done = run(words[0], pets, *words[1:])
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
