"""Scores that are percentages or logits, in every command that reads them."""

import json

import numpy as np
import pytest
from command import run

import truecal

FORMS = {"percent": lambda p: 100 * p, "logit": lambda p: np.log(p / (1 - p))}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The same rows with probabilities, percentages and logits; `q` is half of `p`."""
    pl = pytest.importorskip("polars")
    place, rng = tmp_path_factory.mktemp("scales"), np.random.default_rng(5)
    p = rng.integers(1, 64, 900) / 64
    day = np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[D]")[np.arange(900) % 2]
    other = {"y": (rng.random(900) < p).astype(np.int64), "g": np.arange(900) % 3, "day": day}
    for name, form in {"probability": lambda p: p, **FORMS}.items():
        pl.DataFrame({**other, "p": form(p), "q": form(p / 2)}).write_csv(place / f"{name}.csv")
    return place


WORDS = {
    "evaluate": ("-p", "p,q"),
    "compare": ("-p", "p,q"),
    "segments": ("-p", "p", "--by", "g"),
    "drift": ("-p", "p", "--time", "day"),
    "check": ("-p", "p"),
    "slices": ("-p", "p", "--columns", "g"),
    "monitor": ("-p", "p", "--time", "day", "--now", "2026-02-01", "--state", "{}/{}.json"),
    "recalibrate": ("-p", "p", "-o", "{}/{}-map.json"),
}


def numbers(text, found):
    """The numbers of an answer, in their order."""
    for value in text.values() if isinstance(text, dict) else text if isinstance(text, list) else ():
        if isinstance(value, float):
            found.append(value)
        else:
            numbers(value, found)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("scale", FORMS)
@pytest.mark.parametrize("command", WORDS)
def test_the_answer_is_that_of_probabilities(folder, command, scale):
    answers = []
    for name, more in (("probability", ()), (scale, (f"--{scale}",))):
        words = [word.format(folder, f"{command}-{scale}-{name}") for word in WORDS[command]]
        done = run(command, folder / f"{name}.csv", "-y", "y", *words, "--json", *more)
        assert done.returncode in (0, 1, 3), done.stderr
        answers.append(numbers(json.loads(done.stdout), []))
    np.testing.assert_allclose(*answers, rtol=1e-3, atol=1e-9)  # a last bit may move a score over a border


@pytest.mark.slow
@pytest.mark.parametrize("scale", FORMS)
def test_tallies_a_page_and_a_map_hold_probabilities(folder, need, tmp_path, scale):
    data, more = folder / f"{scale}.csv", (f"--{scale}",)
    assert run("tally", data, "-y", "y", "-p", "p", *more, "-o", tmp_path / "t.parquet").returncode == 0
    found = truecal.read(tmp_path / "t.parquet")
    expected = truecal.read(folder / "probability.csv", label="y", score="p")
    np.testing.assert_allclose(found.tally.score, expected.tally.score, rtol=1e-12)
    refused = run("evaluate", tmp_path / "t.parquet", *more)
    assert "--percent or --logit must be left out if observations are read" in refused.stderr
    need("matplotlib")
    page = tmp_path / "a.html"
    assert run("report", data, "-y", "y", "-p", "p", "--by", "g", "--slices", *more, "-o", page).returncode == 0
    words = ("recalibrate", data, "-y", "y", "-p", "q", "--kind", "offset", "--sql", *more)
    done = run(*words, "-o", tmp_path / "m.json")
    assert {"percent": "(q / 100.0)", "logit": "(1 / (1 + EXP(-q)))"}[scale] in done.stdout
    pl = need("polars")
    assert run("apply", tmp_path / "m.json", data, *more, "-o", tmp_path / "o.csv").returncode == 0
    recalibrated = pl.read_csv(tmp_path / "o.csv")["q_recalibrated"].to_numpy()
    one = truecal.results.Recalibration.from_json((tmp_path / "m.json").read_text())
    np.testing.assert_allclose(
        recalibrated, one.apply(pl.read_csv(folder / "probability.csv")["q"].to_numpy()), rtol=1e-9
    )
    if scale == "percent":
        assert "must lie in [0, 1]" in run("apply", tmp_path / "m.json", data, "-o", tmp_path / "o.csv").stderr


@pytest.mark.parametrize("scale", FORMS)
def test_a_file_of_rules_says_what_scores_are(folder, tmp_path, scale):
    rules, words = tmp_path / "gate.toml", ("-y", "y", "-p", "p", "--json")
    rules.write_text(f'[data]\nscore_scale = "{scale}"\n[[rule]]\nverdict = true\n')
    expected = run("check", folder / "probability.csv", *words)
    for source, more in ((f"{scale}.csv", ()), (f"{scale}.csv", (f"--{scale}",))):
        done = run("check", folder / source, *words, "--rules", rules, *more)
        assert done.returncode == expected.returncode, done.stderr
        np.testing.assert_allclose(*(numbers(json.loads(each.stdout), []) for each in (done, expected)), rtol=1e-3)
    other = next(name for name in FORMS if name != scale)
    told = run("check", folder / f"{scale}.csv", *words, "--rules", rules, f"--{other}").stderr
    assert f"--{other} must fit what '{rules}' says, {scale}, or be left out" in told
    truecal.read(folder / "probability.csv", label="y", score="p").save(tmp_path / "t.parquet")
    of_tallies = run("check", tmp_path / "t.parquet", "--rules", rules, "--json")  # which hold probabilities
    assert numbers(json.loads(of_tallies.stdout), []) == numbers(json.loads(expected.stdout), [])
    rules.write_text('[data]\nscore_scale = "percents"\n[[rule]]\nverdict = true\n')
    told = run("check", folder / f"{scale}.csv", *words, "--rules", rules).stderr
    assert f'{rules}: `score_scale` must be one of "probability", "percent", "logit"; it is \'percents\'' in told


def test_mistakes(folder):
    both = run("evaluate", folder / "percent.csv", "--percent", "--logit")
    assert "--percent and --logit must not be given together" in both.stderr
    beyond = run("evaluate", folder / "percent.csv", "-y", "y", "-p", "g,day", "--percent")
    assert beyond.returncode == 2
    guessed = run("evaluate", folder / "percent.csv", "--percent")
    assert "inferred --label y --score p" in guessed.stderr
    with pytest.raises(ValueError, match=r"(?s)must not be 'logit' where `multiclass` is given.*softmax"):
        truecal.read(folder / "logit.csv", label="y", score=["p", "q"], multiclass="top-label", score_scale="logit")
