"""On a terminal: width, colour, progress. Piped: plain text. Cut off or interrupted: no traceback, no half file."""

import itertools
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from functools import partial

import pytest
from command import TRUECAL, OnTerminal, environment, predictions, run, run_process, show, widest, write_csv

import truecal

pytestmark = pytest.mark.slow

SHOWN = "\x1b["


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("terminal")


@pytest.fixture(scope="module")
def data(folder):
    return write_csv(folder / "preds.csv", predictions())


def test_60_columns_are_enough(data):
    observations = truecal.read(data, label="y", score="p")
    result = truecal.evaluate(observations, metrics=["tce", "ece", "ace"], null_draws=199, random_state=0)
    for words in (
        ["evaluate", data, "--bins"],
        ["evaluate", data, "-p", "p,more", "--metrics", "all", "--resamples", "50"],
        ["segments", data, "--by", "country,kind"],
        ["compare", data, "-p", "p,more", "--resamples", "50"],
        ["drift", data, "--time", "kind", "--every", "none", "--null-draws", "50", "--grid", "6"],
        ["plan", "0.01", "--ratio", "1.2"],
        ["check", data, "--max-value", "3", "--max-excess", "3"],
        ["check", "--help"],
        ["evaluate", data, "-y", "nope", "-p", "p"],
    ):
        named = [data.name if word is data else word for word in words]  # the folder of a test may be longer than that
        _, text = show(*named, cwd=data.parent)
        assert widest(text) <= 60, text
        if words[-1] == "--bins":  # numbers are whole, with their units
            chance = result.nulls["tce"]
            for number in (f"TCE {result['tce']:.3g}%", f"({chance.mean:.3g}%)"):
                assert number in text
            assert "CONSISTENT" in text
            assert "columns that do not fit" in text


def test_more_room_shows_more(data):
    narrow, wide = (show("evaluate", data, "--explain", width=width)[1] for width in (60, 140))
    assert "if calibrated, 5–95%" not in narrow.split("do not fit")[0]
    assert "if calibrated, 5–95%" in wide
    assert "do not fit" not in wide
    assert run("evaluate", data, COLUMNS="60").stdout.count("columns that do not fit") == 1
    bars = {width: show("evaluate", data, width=width)[1].split("score band")[1] for width in (60, 80, 120)}
    assert [" | " in text or "-|-" in text for text in bars.values()] == [False, True, True]


def test_20_columns_break_nothing(data):
    code, text = show("segments", data, "--by", "country", width=20)
    assert code == 0
    assert re.search(r"^\s*(\x1b\S*m)?de\b", text, flags=re.MULTILINE)


def test_colour_is_for_terminals_that_want_it(data):
    words = "evaluate", data, "-p", "more"
    assert SHOWN in OnTerminal(*words).finish()[1]
    assert SHOWN in show(*words)[1]
    assert SHOWN not in show(*words, NO_COLOR="1")[1]
    assert SHOWN not in show(*words, TERM="dumb")[1]
    assert SHOWN not in show(*words, "--no-color")[1]
    assert SHOWN in show("evaluate", "nope.csv")[1]
    assert SHOWN not in show("evaluate", "nope.csv", "--no-color")[1]
    piped = run(*words)
    assert SHOWN not in piped.stdout + piped.stderr


def test_an_ascii_terminal_gets_ascii(folder):
    columns = predictions(500) | {"city": ["Köln\x1b[31m" + "x" * 90] * 500}
    data = write_csv(folder / "city.csv", columns)
    done = run_process(
        "segments", data, "--by", "city", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0", COLUMNS="120"
    )
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert "K\\xf6ln" in done.stdout
    assert "\\u" not in done.stdout
    assert re.search(r"\d \(\d\.\d+-\d\.\d+\)", done.stdout)  # an interval, with a hyphen for the dash
    assert "..." in done.stdout
    assert "K\N{LATIN SMALL LETTER O WITH DIAERESIS}ln" in run("segments", data, "--by", "city").stdout
    assert "\x1b" not in run("segments", data, "--by", "city").stdout


def test_an_interrupt_stops_it(data, folder):
    place = folder / "kept.json"
    place.write_text("old")
    before = sorted(os.listdir(folder))
    shown = OnTerminal("evaluate", data, "--null-draws", "10000000", "-o", place)
    shown.read(until="draws")
    begin = time.monotonic()
    shown.process.send_signal(signal.SIGINT)
    code, text = shown.finish()
    assert time.monotonic() - begin < 5  # a second or so, on a machine that others use
    assert code == 130
    assert "interrupted" in text
    assert "Traceback" not in text
    assert place.read_text() == "old"
    assert sorted(os.listdir(folder)) == before


def test_progress_is_for_terminals(data, monkeypatch):
    """Each look at the clock is a second later, so that the work seems to take long."""
    for at_terminal in (True, False):
        monkeypatch.setattr("truecal._progress.time.monotonic", itertools.count().__next__)
        told = show("evaluate", data)[1] if at_terminal else run("evaluate", data).stderr
        assert ("draws" in told) == at_terminal


def test_an_interrupt_while_reading_leaves_nothing(tmp_path):
    command = [*TRUECAL, "evaluate", "-"]
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=environment(TMPDIR=str(tmp_path)), **streams) as process:
        process.stdin.write(b"y,p\n")
        process.stdin.flush()
        deadline = time.monotonic() + 60
        while not any(name.startswith("truecal-") for name in os.listdir(tmp_path)):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 130
        assert process.stderr.read() == b"interrupted\n"
    assert os.listdir(tmp_path) == []


def test_closed_streams_leave_the_exit_code_alone(data):
    passing, unknown = ("-p p --max-dropped 0.99", 0), ("--min-rows 1000000", 3)
    for closed, expected, rules in (
        (">&-", "standard output is closed", (passing, unknown)),
        ("2>&-", "", (passing,)),
        ("<&-", "", (unknown,)),
        (">&- 2>&- <&-", "", (passing, unknown)),
    ):
        for rule, code in rules:
            line = f'"{sys.executable}" -m truecal check "{data}" {rule} {closed}'
            done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False, env=environment())
            assert done.returncode == code
            assert expected in done.stderr
            assert "rror" not in done.stderr


def test_an_output_never_takes_the_place_of_an_input(tmp_path):
    data = write_csv(tmp_path / "preds.csv", predictions())
    before = data.read_bytes()
    links = {suffix: tmp_path / f"linked.{suffix}" for suffix in ("csv", "html", "json", "parquet", "svg")}
    for link in links.values():  # other names of the same file
        os.link(data, link)
    other = tmp_path / "other.xml"
    other.write_text("old")
    rules = tmp_path / "rules.toml"
    rules.write_text("[[rule]]\nverdict = true\n")
    fitted = tmp_path / "map.json"
    fitted.write_text(truecal.recalibrate([0, 1, 1, 0], [0.2, 0.4, 0.6, 0.8], kind="offset", folds=0).to_json())
    for words in (
        ("evaluate", data, "-o", data),
        ("evaluate", data, "--csv", "-o", links["csv"]),
        ("check", data, "--junit", data),
        ("check", data, "--junit", other, "--markdown", data),  # each output is held against every input
        ("check", data, "--rules", rules, "--markdown", rules),
        ("tally", data, "-y", "y", "-p", "p", "-o", links["parquet"]),
        ("report", data, "-o", links["html"]),
        ("plot", data, "-o", links["svg"]),
        ("recalibrate", data, "-o", links["json"]),
        ("apply", fitted, data, "-p", "p", "-o", data),
        ("apply", fitted, data, "-p", "p", "-o", fitted),
        ("monitor", data, "--state", links["json"]),
    ):
        done = run(*words)
        assert done.returncode == 2, words
        assert "An output must not replace what is read" in done.stderr, words
    done = run("check", data, "--junit", tmp_path / "a.xml", "--markdown", tmp_path / "a.xml")
    assert "Each output must have a file of its own" in done.stderr
    assert data.read_bytes() == before
    assert rules.read_text().startswith("[[rule]]")
    assert truecal.results.from_json(fitted.read_text()).by == ()


def test_being_terminated_leaves_no_draft(data, folder):
    place = folder / "terminated.json"
    place.write_text("old")
    before = sorted(os.listdir(folder))
    shown = OnTerminal("evaluate", data, "--null-draws", "10000000", "-o", place)
    shown.read(until="draws")
    shown.process.terminate()
    assert shown.finish()[0] == 128 + signal.SIGTERM
    assert sorted(os.listdir(folder)) == before
    assert place.read_text() == "old"


@pytest.mark.parametrize("unbuffered", [None, "1"])
def test_a_reader_that_leaves_early_is_no_error(folder, unbuffered):
    """Without a buffer Python would ignore that only a part was written."""
    columns = predictions(4000) | {"shop": [i % 2000 for i in range(4000)]}
    data = write_csv(folder / "shops.csv", columns)
    script = f'"{sys.executable}" -m truecal segments "{data}" --by shop --null-draws 1 --csv | head -1; echo ${{PIPESTATUS[0]}}'
    variables = environment(PYTHONUNBUFFERED=unbuffered)
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, env=variables)
    head, code = done.stdout.splitlines()
    assert head.startswith("model,shop,n,")
    assert code == "141"  # as of any tool that SIGPIPE ends
    assert "rror" not in done.stderr


def test_a_full_disk_is_told_and_the_old_file_stays(data, folder):
    """On a small file system if one may be mounted, otherwise under a limit on the size of files."""
    small = folder / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(small)], check=False, capture_output=True
    )
    full = mounted.returncode == 0
    try:
        for name, words in (
            ("a.json", ["evaluate", data, "--metrics", "all"]),
            ("a.html", ["report", data]),
            ("a.png", ["plot", data]),
        ):
            place = small / name
            place.write_text("old")
            limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (16_384, 16_384))  # of a process, for good
            done = run(*words, "-o", place) if full else run_process(*words, "-o", place, preexec_fn=limit)
            assert done.returncode == 2
            told = "No space left on device." if full else "File too large."
            assert f"error: {place}: {told}" in done.stderr
            assert "Traceback" not in done.stderr
            assert place.read_text() == "old"
            assert os.listdir(small) == [name]
            place.unlink()
    finally:
        if full:
            subprocess.run(["umount", str(small)], check=True)


def test_standard_output_may_be_full(data):
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*TRUECAL, "evaluate", str(data)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=environment(),
        )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "error: standard output: No space left on device."


def test_notes_and_answers_do_not_mix(data):
    done = run("evaluate", data, "--json")
    json.loads(done.stdout)
    assert done.stderr.startswith("note: inferred")
