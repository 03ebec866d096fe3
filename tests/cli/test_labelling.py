"""Rows sampled by label, and flipped labels, on the command line and in the file of a gate."""

import json

import numpy as np
import pytest
from command import run

import truecal

KEPT = ("--kept-negatives", "0.1", "--flip", "0.001,0.02")
SETTINGS = {"kept_negatives": 0.1, "flip": (0.001, 0.02)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("labelling")


@pytest.fixture(scope="module")
def data(folder):
    pl = pytest.importorskip("polars")
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 20, 20_000)
    truth = rng.random(len(p)) < p
    y = np.where(truth, rng.random(len(p)) >= 0.02, rng.random(len(p)) < 0.001)
    kept = y | (rng.random(len(p)) < 0.1)
    frame = pl.DataFrame({"y": y.astype(int), "p": p, "q": p / 2, "g": np.arange(len(p)) % 3})
    frame = frame.with_columns(day=pl.date(2026, 1, 1 + pl.col("g")))
    frame.filter(kept).write_csv(folder / "kept.csv")
    return folder / "kept.csv"


def test_score_judges_the_population(data):
    done = run("score", data, "-y", "y", "-p", "p", "--json", *KEPT)
    expected = truecal.evaluate(truecal.read(data, label="y", score="p", **SETTINGS), ["ltce"])
    found = truecal.Result.from_json(done.stdout)
    assert found.labelling == expected.labelling
    assert found.verdict == expected.verdict
    assert found.verdict.word == "consistent"
    text = " ".join(run("score", data, "-y", "y", "-p", "p", *KEPT).stdout.split())
    assert "Negatives were kept 1 in 10; numbers are of the population." in text
    assert f"{100 * found.prevalence:.3g} % positive" in text
    plain = truecal.Result.from_json(run("score", data, "-y", "y", "-p", "p", "--json").stdout)
    assert plain.verdict.word == "off"


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "-p", "p,q", "--replicates", "50"),
        ("segments", "-p", "p", "--by", "g"),
        ("drift", "-p", "p", "--time", "day"),
        ("check", "-p", "p"),
        ("slices", "-p", "p", "--columns", "g"),
        ("watch", "-p", "p", "--time", "day", "--state", "{}/watch.json"),
        ("report", "-p", "p", "--reference", "20", "-o", "{}/a.html"),
        ("plot", "-p", "p", "-o", "{}/a.svg"),
    ],
    ids=lambda words: words[0],
)
def test_every_command_takes_it(data, folder, words):
    command, *more = (word.format(folder) for word in words)
    done = run(command, data, "-y", "y", *more, *KEPT)
    assert done.returncode == 0, done.stderr
    said = done.stderr + done.stdout
    if command == "report":
        said = (folder / "a.html").read_text()
    if command != "plot":
        assert "egatives were kept 1 in 10" in said
        assert ("of the rows that are there" in said) == (command in ("slices", "watch"))


def test_tallies_keep_it(data, folder):
    place = folder / "kept.parquet"
    assert run("tally", data, "-y", "y", "-p", "p", "-o", place, *KEPT).returncode == 0
    assert truecal.read(place) == truecal.read(data, label="y", score="p", **SETTINGS)
    done = run("score", place, "--kept-negatives", "0.1")
    assert done.returncode == 2
    assert "--kept-negatives must be left out where tallies are read" in done.stderr


def test_the_file_of_a_gate_may_say_it(data, folder):
    rules = folder / "gate.toml"
    rules.write_text("[data]\nkept_negatives = 0.1\nflip = [0.001, 0.02]\n[[rule]]\nverdict = true\n")
    done = run("check", data, "-y", "y", "-p", "p", "--rules", rules, "--json")
    assert (done.returncode, json.loads(done.stdout)["status"]) == (0, "pass"), done.stderr
    other = run("check", data, "-y", "y", "-p", "p", "--rules", rules, "--kept-negatives", "0.2")
    assert other.returncode == 2
    assert f"--kept-negatives must be that of '{rules}', 0.1, or be left out; it is 0.2" in other.stderr
    place = folder / "gate.parquet"
    assert run("tally", data, "-y", "y", "-p", "p", "-o", place, *KEPT).returncode == 0
    assert run("check", place, "--rules", rules).returncode == 0
    with pytest.raises(ValueError, match=r"read as \[data\] of the file of rules says"):
        truecal.check(truecal.read(data, label="y", score="p"), rules)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[data]\nkept_negative = 0.1\n", "(?s)is a table of kept_negatives, .*did you mean 'kept_negatives'"),
        ("[data]\nkept_negatives = 10\n", "gate.toml: `kept_negatives` must be the share"),
        ("data = 3\n", r"\[data\] is a table of kept_negatives, kept_positives, flip, cluster, score_scale; it has 3"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path, text, message):
    place = tmp_path / "gate.toml"
    place.write_text(f"{text}[[rule]]\nverdict = true\n")
    with pytest.raises(ValueError, match=message):
        truecal.gate.read_labelling(place)


def test_words_that_are_no_shares_are_refused(data):
    assert "--flip: it must be two shares" in run("score", data, "--flip", "a,b").stderr
    assert "--flip must be two shares" in run("score", data, "--flip", "0.1").stderr
    assert "Hint: where one row of 20 was kept it is 0.05" in run("score", data, "--kept-negatives", "20").stderr


@pytest.fixture(scope="module")
def late(folder):
    pl = pytest.importorskip("polars")
    rng = np.random.default_rng(1)
    p, age = rng.beta(1, 9, 6000), rng.uniform(0, 60, 6000)
    y = (rng.random(6000) < p) & (rng.random(6000) < np.minimum(age / 30, 1))
    weight = rng.integers(0, 3, 6000)
    columns = {"y": y.astype(int), "p": p, "age": age, "known": np.minimum(age / 30, 1), "w": weight, "v": 1 / (1 + p)}
    pl.DataFrame(columns).write_csv(folder / "late.csv")
    (folder / "table.csv").write_text("days,share\n0,0\n30,1\n")
    return folder / "late.csv"


def test_late_labels(late, folder):
    maturity = truecal.Maturity("age", {0: 0, 30: 1})
    expected = truecal.evaluate(truecal.read(late, label="y", score="p", mature=maturity), ["ltce"]).verdict
    assert expected.word != "off"
    for words in ("age:0=0,30=1", f"age:{folder / 'table.csv'}", "known"):
        done = run("score", late, "-y", "y", "-p", "p", "--mature", words, "--json")
        found = truecal.Result.from_json(done.stdout).verdict
        assert (found.word, found.observed) == (expected.word, expected.observed)
        assert found.expected == pytest.approx(expected.expected)
    assert "should have come by now" in " ".join(
        run("score", late, "-y", "y", "-p", "p", "--mature", "known").stdout.split()
    )
    assert truecal.Result.from_json(run("score", late, "-y", "y", "-p", "p", "--json").stdout).verdict.word == "off"
    for words, said in (("age:0=a", "--mature must have ages and shares"), ("age:0=1,1=0", "do not decrease"),
                        ("age:none.csv", "none.csv"), ("nothing", "--mature must be one of the columns")):  # fmt: skip
        done = run("score", late, "-y", "y", "-p", "p", "--mature", words)
        assert done.returncode == 2
        assert said in done.stderr


def test_weights(late, folder):
    done = run("score", late, "-y", "y", "-p", "p", "--weight", "w", "--importance", "v", "--json")
    found = truecal.Result.from_json(done.stdout)
    expected = truecal.evaluate(truecal.read(late, label="y", score="p", weight="w", importance="v"), ["ltce", "ece"])
    assert (found["ece"], found.n, found.account) == (expected["ece"], expected.n, expected.account)
    assert "weighted by importance" in done.stderr
    assert "stand for no row: `w` is 0" in done.stderr
    done = run("score", late, "-y", "y", "-p", "p", "--weight", "v")
    assert done.returncode == 2
    assert "--importance" in done.stderr
    assert "--kept-negatives" in done.stderr
