"""A value that is empty, such as a variable of a script that is not set, is misuse in every option of every command."""

import pytest
from command import predictions, run, write_csv

from truecal.cli._options import COMMANDS, options_of

VALUES = {"plan": ["0.1", "--rows", "100"], "completion": ["bash"], "demo": []}
REQUIRED = {
    "monitor": ["--state", "m.json"],
    "tally": ["-o", "t.parquet"],
    "merge": ["-o", "t.parquet"],
    "recalibrate": ["-o", "m.json"],
    "apply": ["data.csv", "-o", "a.csv"],
}
CASES = [
    (command, option.word)
    for command in COMMANDS
    for option in options_of(command)
    if option.action != "store_true" and option.words.startswith("-")
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("empty")
    write_csv(place / "data.csv", predictions(200))
    return place


@pytest.mark.parametrize("form", ["apart", "joined"])
@pytest.mark.parametrize(("command", "word"), CASES, ids=lambda part: part.strip("-"))
def test_an_empty_value_is_misuse(folder, command, word, form):
    words = VALUES.get(command, ["data.csv"])
    empty = [word, ""] if form == "apart" else [f"{word}="]
    done = run(command, *words, *REQUIRED.get(command, []), *empty, cwd=folder)
    assert done.returncode == 2, done.stdout
    assert not done.stdout
    assert "empty" in done.stderr or "may be given once" in done.stderr or "not allowed with" in done.stderr
    assert "bug" not in done.stderr


@pytest.mark.parametrize("command", [command for command in COMMANDS if command not in VALUES])
def test_an_empty_file_name_is_misuse(folder, command):
    done = run(command, "", *REQUIRED.get(command, []), cwd=folder)
    assert done.returncode == 2
    assert "empty" in done.stderr


@pytest.mark.parametrize("text", [",", ",,", "country,", ",country", "country,,kind"])
@pytest.mark.parametrize("word", ["--by", "--score", "--on", "--labels", "--metrics", "--columns"])
def test_an_empty_name_among_others_is_misuse(folder, word, text):
    command = {"--metrics": "evaluate", "--columns": "slices"}.get(word, "check")
    more = ["--segment", "*"] if word == "--by" else ["--baseline", "data.csv", "--max-worse", "0"] * (word == "--on")
    done = run(command, "data.csv", "-y", "y", *(["-p", "p"] * (word != "--score")), *more, word, text, cwd=folder)
    assert done.returncode == 2, done.stdout
    assert "bug" not in done.stderr


@pytest.mark.parametrize(
    ("command", "word"),
    [
        (command, word)
        for command, word in CASES
        if word
        in (
            "--memory",
            "--limit",
            "--threads",
            "--seed",
            "--null-draws",
            "--resamples",
            "--min-rows",
            "--top",
            "--folds",
            "--rows",
            "--worst",
            "--grid",
        )
    ],
)
def test_a_number_of_many_digits_is_refused(folder, command, word):
    for digits in (300, 400, 5000):
        words = ["0.1"] if word == "--rows" else VALUES.get(command, ["data.csv", "-y", "y", "-p", "p"])
        done = run(command, *words, *REQUIRED.get(command, []), word, "9" * digits, cwd=folder)
        if word == "--top" and done.returncode in (0, 1, 3):
            continue  # the top of more rows than there are is all of them
        assert done.returncode == 2
        assert "bug" not in done.stderr, done.stderr
