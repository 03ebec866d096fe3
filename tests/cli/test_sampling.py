"""Rows sampled by label, and flipped labels, on the command line and in the file of a gate."""

import json

import numpy as np
import pytest
from command import run

import truecal

pytestmark = pytest.mark.slow

KEPT = ("--negative-rate", "0.1", "--label-noise", "0.001,0.02")
SETTINGS = {"sampling": truecal.Sampling(negative_rate=0.1, label_noise=(0.001, 0.02))}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("sampling")


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
    done = run("evaluate", data, "-y", "y", "-p", "p", "--json", *KEPT)
    expected = truecal.evaluate(truecal.read(data, label="y", score="p", **SETTINGS), ["ltce"])
    found = truecal.Result.from_json(done.stdout)
    assert found.sampling == expected.sampling
    assert found.verdict == expected.verdict
    assert found.verdict.status == "consistent"
    text = " ".join(run("evaluate", data, "-y", "y", "-p", "p", *KEPT).stdout.split())
    assert "Negatives were sampled 1 in 10; estimates describe the population." in text
    assert f"{100 * found.prevalence:.3g}% positive" in text
    plain = truecal.Result.from_json(run("evaluate", data, "-y", "y", "-p", "p", "--json").stdout)
    assert plain.verdict.status == "miscalibrated"


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "-p", "p,q", "--resamples", "50"),
        ("segments", "-p", "p", "--by", "g"),
        ("drift", "-p", "p", "--time", "day"),
        ("check", "-p", "p"),
        ("slices", "-p", "p", "--columns", "g"),
        ("monitor", "-p", "p", "--time", "day", "--state", "{}/monitor.json"),
        ("report", "-p", "p", "--null-draws", "20", "-o", "{}/a.html"),
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
        assert "egatives were sampled 1 in 10" in said
        assert ("estimates describe the sample" in said) == (command in ("slices", "monitor"))


def test_tallies_keep_it(data, folder):
    place = folder / "kept.parquet"
    assert run("tally", data, "-y", "y", "-p", "p", "-o", place, *KEPT).returncode == 0
    assert truecal.read(place) == truecal.read(data, label="y", score="p", **SETTINGS)
    done = run("evaluate", place, "--negative-rate", "0.1")
    assert done.returncode == 2
    assert "--negative-rate must be left out if observations are read" in done.stderr


def test_the_file_of_a_gate_may_say_it(data, folder):
    rules = folder / "gate.toml"
    rules.write_text("[data]\nnegative_rate = 0.1\nlabel_noise = [0.001, 0.02]\n[[rule]]\nverdict = true\n")
    done = run("check", data, "-y", "y", "-p", "p", "--rules", rules, "--json")
    assert (done.returncode, json.loads(done.stdout)["status"]) == (0, "pass"), done.stderr
    other = run("check", data, "-y", "y", "-p", "p", "--rules", rules, "--negative-rate", "0.2")
    assert other.returncode == 2
    assert f"--negative-rate must be that of '{rules}', 0.1, or be left out; it is 0.2" in other.stderr
    place = folder / "gate.parquet"
    assert run("tally", data, "-y", "y", "-p", "p", "-o", place, *KEPT).returncode == 0
    assert run("check", place, "--rules", rules).returncode == 0
    with pytest.raises(ValueError, match=r"read as \[data\] of the file of rules says"):
        truecal.check(truecal.read(data, label="y", score="p"), rules)


def test_tallies_that_were_not_made_as_the_rules_say_are_refused(data, folder):
    """Rows fail under these rules, and tallies of the same rows must not pass."""
    rules, place = folder / "other.toml", folder / "plain.parquet"
    rules.write_text("[data]\nnegative_rate = 0.3\n[[rule]]\nverdict = true\n")
    assert run("check", data, "-y", "y", "-p", "p", "--rules", rules).returncode == 1
    for made in ((), KEPT):
        assert run("tally", data, "-y", "y", "-p", "p", "-o", place, *made).returncode == 0
        done = run("check", place, "--rules", rules)
        assert done.returncode == 2
        assert "must be read as [data] of the file of rules says, Sampling(negative_rate=0.3)" in done.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[data]\nnegative_rat = 0.1\n", "(?s)is a table of negative_rate, .*did you mean 'negative_rate'"),
        ("[data]\nnegative_rate = 10\n", "gate.toml: `negative_rate` must be the share"),
        (
            "data = 3\n",
            r"\[data\] is a table of negative_rate, positive_rate, label_noise, cluster, score_scale; it has 3",
        ),
    ],
)
def test_a_wrong_file_is_refused(tmp_path, text, message):
    place = tmp_path / "gate.toml"
    place.write_text(f"{text}[[rule]]\nverdict = true\n")
    with pytest.raises(ValueError, match=message):
        truecal.gate.read_sampling(place)


def test_words_that_are_no_shares_are_refused(data):
    assert "--label-noise: it must be two shares" in run("evaluate", data, "--label-noise", "a,b").stderr
    assert "--label-noise must be two shares" in run("evaluate", data, "--label-noise", "0.1").stderr
    assert "Hint: where one row of 20 was kept it is 0.05" in run("evaluate", data, "--negative-rate", "20").stderr


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
    how = truecal.Sampling(label_delay=truecal.LabelDelay("age", {0: 0, 30: 1}))
    expected = truecal.evaluate(truecal.read(late, label="y", score="p", sampling=how), ["ltce"]).verdict
    assert expected.status != "miscalibrated"
    for words in ("age:0=0,30=1", f"age:{folder / 'table.csv'}", "known"):
        done = run("evaluate", late, "-y", "y", "-p", "p", "--label-delay", words, "--json")
        found = truecal.Result.from_json(done.stdout).verdict
        assert (found.status, found.observed) == (expected.status, expected.observed)
        assert found.expected == pytest.approx(expected.expected)
    told = " ".join(run("evaluate", late, "-y", "y", "-p", "p", "--label-delay", "known").stdout.split())
    assert f"observed {expected.observed}, expected {expected.expected:.1f} by now, O/E " in told
    assert "should be known by now" in told
    assert (
        truecal.Result.from_json(run("evaluate", late, "-y", "y", "-p", "p", "--json").stdout).verdict.status
        == "miscalibrated"
    )
    for words, said in (("age:0=a", "--label-delay must have ages and shares"), ("age:0=1,1=0", "do not decrease"),
                        ("age:none.csv", "none.csv"), ("nothing", "--label-delay must be one of the columns")):  # fmt: skip
        done = run("evaluate", late, "-y", "y", "-p", "p", "--label-delay", words)
        assert done.returncode == 2
        assert said in done.stderr


def test_weights(late, folder):
    done = run("evaluate", late, "-y", "y", "-p", "p", "--count", "w", "--importance-weight", "v", "--json")
    found = truecal.Result.from_json(done.stdout)
    expected = truecal.evaluate(
        truecal.read(late, label="y", score="p", count="w", importance_weight="v"), ["ltce", "ece"]
    )
    assert (found["ece"], found.n, found.row_counts) == (expected["ece"], expected.n, expected.row_counts)
    assert "importance-weighted" in done.stderr
    assert "rows have a count of zero: `w` is 0" in done.stderr
    done = run("evaluate", late, "-y", "y", "-p", "p", "--count", "v")
    assert done.returncode == 2
    assert "--importance-weight" in done.stderr
    assert "--negative-rate" in done.stderr
