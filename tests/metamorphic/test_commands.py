"""The command line says the same numbers as Python, and exits as it decides."""

import json

import numpy as np
import pytest
from command import run, run_process
from drawn import draw, share, to_words
from formats import write

import truecal
from truecal._options import METRICS

# a segment of few rows may have equal counts
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:Every row has the count")]
KINDS = ["csv", "csv.gz", "tsv", "parquet", "arrow", "npz"]  # whose times are no text


@pytest.fixture
def place(tmp_path, need):
    """From rows and their seed to a file of some format with them."""

    def write_rows(rows, seed):
        path = tmp_path / f"a.{KINDS[seed % len(KINDS)]}"
        write(need("polars").DataFrame(rows.wide.columns), path, KINDS[seed % len(KINDS)])
        return path

    return write_rows


def ask(command, path, rows, *words, execute=run):
    """The exit code of a command, and what it prints as JSON."""
    done = execute(command, path, *to_words(rows.options), *words, "--json")
    assert done.returncode in (0, 1, 3), done.stderr
    return done.returncode, json.loads(done.stdout)


def tell(result):
    return json.loads(result.to_json())


@share(0.006)
def test_evaluate_prints_the_numbers_of_python(seed, place):
    rows = draw(seed, without=("by", "time"))
    metrics = np.random.default_rng(seed).choice(METRICS, 4, replace=False).tolist()
    words = ("--metrics", ",".join(metrics), "--null-draws", 10, "--resamples", 10, "--seed", seed)
    code, printed = ask("evaluate", place(rows, seed), rows, *words)
    options = {"null_draws": 10, "resamples": 10, "random_state": seed}
    assert (code, printed) == (0, tell(truecal.evaluate(rows.wide.read(), metrics, **options)))


@share(0.006)
def test_segments_prints_the_numbers_of_python(seed, place):
    rows, metric = draw(seed, "by", without=("time",)), METRICS[seed % len(METRICS)]
    words = ("--metrics", metric, "--adjust", "bh", "--significance", 0.1)
    code, printed = ask("segments", place(rows, seed), rows, *words)
    table = truecal.segments(rows.wide.read(), metric, adjust="bh", significance=0.1)
    assert (code, printed) == (0, tell(table))


@share(0.006)
def test_drift_prints_the_numbers_of_python(seed, place):
    rows, metric = draw(seed, "time", without=("by",)), METRICS[seed % len(METRICS)]
    words = ("--metrics", metric, "--null-draws", 5, "--seed", seed)
    code, printed = ask("drift", place(rows, seed), rows, *words)
    table = truecal.drift(rows.wide.read(), metric, null_draws=5, random_state=seed)
    assert (code, printed) == (0, tell(table))


@share(0.006)
def test_check_prints_the_decision_of_python_and_exits_with_it(seed, place):
    rows = draw(seed, without=("by", "time"))
    level = (0.01, 0.05, 0.5)[seed % 3]
    words = ("--significance", level, "--null-draws", 5, "--resamples", 5)
    code, printed = ask("check", place(rows, seed), rows, *words)
    decision = truecal.check(rows.wide.read(), significance=level, null_draws=5, resamples=5)
    assert (code, printed) == (decision.exit_code, tell(decision))


@share(0.0024)
def test_a_process_of_its_own_prints_the_same(seed, place):
    command = ("evaluate", "segments", "drift", "check")[seed % 4]
    needed = {"segments": ("by",), "drift": ("time",)}.get(command, ())
    rows = draw(seed, *needed, without={"by", "time"} - set(needed))
    path = place(rows, seed)
    assert ask(command, path, rows, execute=run_process) == ask(command, path, rows)
