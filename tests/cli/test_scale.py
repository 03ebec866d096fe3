"""Observations, drift and grids from the command line, against the functions of the library that they come from."""

import csv
import datetime
import io
import json
import os
import signal
import subprocess

import numpy as np
import pytest
from command import TRUECAL, environment, run, write_csv

import truecal
from truecal.cli._options import size
from truecal.reading import _read

pytestmark = pytest.mark.slow

COLUMNS = {"label": "y", "score": "p"}
SCORED = ["ltce", "tce", "ece", "log_loss", "brier", "slope", "intercept"]  # what `evaluate` shows
DAYS = 6


def a_stream(rows=1500, seed=0):
    """Rows of six days; on the last two the truth is 1.8 times the prediction."""
    rng = np.random.default_rng(seed)
    day = np.repeat(np.arange(DAYS), rows)
    p = np.round(rng.beta(0.5, 10, len(day)), 6)
    y = rng.random(len(day)) < np.where(day >= 4, np.minimum(1.8 * p, 1), p)
    starts = [datetime.datetime(2026, 1, 1, 6) + datetime.timedelta(days=int(i)) for i in range(DAYS)]
    return {
        "y": y.astype(int).tolist(),
        "p": p.tolist(),
        "country": rng.choice(["de", "fr", "it"], len(day)).tolist(),
        "at": [starts[i].isoformat() for i in day],
    }


def part(columns, rows):
    return {name: column[rows] for name, column in columns.items()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("scale")


@pytest.fixture(scope="module")
def data(folder):
    return write_csv(folder / "preds.csv", a_stream())


@pytest.fixture(scope="module")
def days(folder, data):
    """The tallies of each day, in a folder."""
    found = folder / "days"
    found.mkdir()
    columns = a_stream()
    for i in range(DAYS):
        day = write_csv(folder / "day.csv", part(columns, slice(1500 * i, 1500 * (i + 1))))
        done = run("tally", day, "--by", "country", "--time", "at", "-o", found / f"{i}.parquet")
        assert done.returncode == 0, done.stderr
    return found


def refused(*words, **options):
    done = run(*words, **options)
    assert done.returncode == 2, done.stdout
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.stderr


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_tally_writes_the_librarys_tallies(data, folder):
    place = folder / "all.parquet"
    done = run("tally", data, "--by", "country", "--time", "at", "--every", "1w", "-o", place)
    assert done.returncode == 0
    assert done.stdout == f"Wrote {place}\n"
    expected = truecal.read(data, **COLUMNS, by="country", time="at", every="1w")
    assert truecal.Observations.load(place) == expected
    assert f"{place} holds p for y by country, at (1w), exact: 9,000 predictions" in done.stderr
    gridded = run("tally", data, "--grid", "8", "-o", place, "--json")
    assert json.loads(gridded.stdout)["files"] == [str(place)]
    assert truecal.Observations.load(place) == truecal.read(data, **COLUMNS, limits=truecal.reading.Limits(grid=8))
    assert "in cells of 8 bits" in gridded.stderr


def test_merge_adds_and_drops_columns(days, data, folder):
    place = folder / "merged.parquet"
    assert run("merge", days, "-o", place).stdout == f"Wrote {place}\n"
    assert truecal.Observations.load(place) == truecal.read(data, **COLUMNS, by="country", time="at")
    assert run("merge", days / "*.parquet", "--by", "country", "-o", place).returncode == 0
    assert truecal.Observations.load(place) == truecal.read(data, **COLUMNS, by="country")
    assert run("merge", days / "0.parquet", days / "1.parquet", "--by", "none", "-o", place).returncode == 0
    assert truecal.Observations.load(place).n_rows == 3000
    added = run("merge", place, days / "2.parquet", "--by", "none", "-o", place)
    assert f"note: {place} is added to, and replaced" in added.stderr
    assert truecal.Observations.load(place).n_rows == 4500


def test_a_sum_that_would_be_its_own_part_is_refused(days, folder):
    for given in (days, days / "*.parquet", folder):
        told = refused("merge", given, "-o", days / "all.parquet")
        assert "--output must lie outside of what is merged" in told
    assert "must be named once" in refused("merge", days / "0.parquet", days / "0.parquet", "-o", folder / "a.parquet")
    assert "--output must end in .parquet" in refused("merge", days, "-o", folder / "a.csv")
    assert "--output must end in .parquet" in refused("tally", days, "-o", folder / "a.csv")
    assert "required: -o/--output" in refused("merge", days)


def test_every_command_takes_tallies_in_the_place_of_data(days, data, folder):
    held = "6 files of observations of p for y by country, at (1d), exact: 9,000 predictions"
    score = run("evaluate", days)
    assert held in score.stderr
    assert "inferred" not in score.stderr
    of_rows, _, following = run("evaluate", data).stdout.partition("\n\n")[2].partition("\n\nNext:\n")
    assert "truecal drift" in following  # which observations, whose rows are not there, cannot be given to
    assert score.stdout.partition("\n\n")[2] == f"{of_rows}\n"
    one = run("evaluate", days / "0.parquet", "--json", "--null-draws", "0")
    assert "0.parquet: observations of p for y" in one.stderr
    assert json.loads(one.stdout)["n"] == 1500
    segments = run("segments", days, "--by", "country", "--json")
    assert held in segments.stderr
    assert segments.stdout == run("segments", data, "--by", "country", "--json").stdout
    rules = ["--max-value", "99.9", "--by", "country", "--segment", "country=*"]
    assert run("check", days, *rules).stdout == run("check", data, *rules).stdout
    page = folder / "report.html"
    done = run("report", days, "--by", "country", "--time", "at", "-o", page, "--null-draws", "50", "--resamples", "0")
    assert done.returncode == 0, done.stderr
    assert all(text in page.read_text() for text in ("country=de", 'id="by-period"', "2026-01-05"))
    assert run("plot", days, "-o", folder / "a.png").returncode == 0
    piped = subprocess.run(
        [*TRUECAL, "evaluate", "-", "--format", "parquet", "--json", "--null-draws", "0"],
        input=(days / "0.parquet").read_bytes(),
        capture_output=True,
        check=True,
        env=environment(),
    )
    assert json.loads(piped.stdout) == json.loads(one.stdout)


def test_what_tallies_do_not_hold_is_refused(days, data):
    told = refused("compare", days)
    assert f"Two models are compared on the same rows; '{days}' holds observations, which have none." in told
    assert "--score must be that of the tallies" in refused("evaluate", days, "-p", "q")
    assert "--by must be one of the columns 'country', 'at'; it is 'kind'" in refused("segments", days, "--by", "kind")
    assert "--drop-missing must be left out if observations are read" in refused("evaluate", days, "--drop-missing")
    assert "--grid, --limit and --memory must be left out" in refused("evaluate", days, "--grid", "5")
    assert "--every must be that of the tallies, '1d', or a longer one: '1w'" in refused("drift", days, "--every", "1h")
    assert "--time must be one of the columns" in refused("drift", days, "--time", "day")
    told = refused("check", days, "--max-worse", "0", "--baseline", "old")
    assert "--baseline must be a saved result, named .json, if observations are read: they have no rows." in told


def test_damaged_and_foreign_tallies_are_named(days, data, folder):
    broken = folder / "broken.parquet"
    content = bytearray((days / "0.parquet").read_bytes())
    content[200] ^= 1
    broken.write_bytes(content)
    assert "it is damaged: its checksum" in refused("evaluate", broken)
    assert "must be a file that `truecal tally` wrote; it is not a Parquet file" in refused(
        "merge", data, "-o", folder / "x.parquet"
    )
    assert not (folder / "x.parquet").exists()


def expected_drift(data, **options):
    return truecal.drift(truecal.read(data, **COLUMNS, time="at"), random_state=0, threads=2, **options)


def test_drift_prints_the_librarys_table(data, folder):
    done = run("drift", data)
    assert done.returncode == 0
    assert done.stderr == "note: inferred --label y --score p --time at\n"
    table = expected_drift(data)
    lines = {line.split()[0]: line for line in done.stdout.splitlines() if line.startswith("  2026-")}
    lines = {name: line for name, line in lines.items() if not name.endswith(".")}  # of a wrapped sentence
    assert list(lines) == table.names
    for i, (name, word) in enumerate(zip(table.names, table.status, strict=True)):
        for cell in (
            f"{table.n[i]:,}",
            f"{table.ratio[i]:.2f} ({table.ratio_low[i]:.2f}–{table.ratio_high[i]:.2f})",
            word,
        ):
            assert cell in lines[name]
        assert f"  {table.cells()['p_adjusted'][i]}  " in lines[name]
    assert len(table.alarms) == 2
    told = " ".join(done.stdout.split())
    assert f" {table.sentences()[0]} " in told
    assert "2 of 6 periods are miscalibrated individually" in told
    assert "6 periods of 1d, 9,000 predictions" in told


def test_drift_as_json_and_csv(data, days):
    table = expected_drift(data)
    words = ["drift", data, "--time", "at"]
    again = truecal.results.DriftTable.from_json(run(*words, "--json").stdout)
    assert again.status == table.status
    assert again.p_adjusted.tolist() == table.p_adjusted.tolist()
    rows = rows_of(run(*words, "--csv").stdout)
    assert [row["period"] for row in rows] == table.names
    assert [float(row["value"]) for row in rows] == table.value.tolist()
    assert [row["status"] for row in rows] == list(table.status)
    from_days = run("drift", days, "--csv")
    assert "inferred --time at" in from_days.stderr
    assert rows_of(from_days.stdout) == rows
    weeks = [rows_of(run("drift", name, *words[2:], "--every", "1w", "--csv").stdout) for name in (data, days)]
    assert weeks[0] == weeks[1]
    assert 1 <= len(weeks[0]) < len(rows)


def test_drift_options_reach_the_library(data, folder):
    words = "--label-lag 2d --now 2026-01-08 --every 1d --null-draws 99 --adjust bh --metrics ece --json"
    found = truecal.results.DriftTable.from_json(run("drift", data, "--time", "at", *words.split()).stdout)
    table = expected_drift(
        data, metric=truecal.metrics.METRICS["ece"], label_lag="2d", now="2026-01-08", null_draws=99, adjust="bh"
    )  # fmt: skip
    assert found.to_json() == table.to_json()
    assert "pending" in found.status
    level = truecal.results.DriftTable.from_json(
        run("drift", data, "--time", "at", "--significance", "0.001", "--json").stdout
    )
    assert level.significance == level.metric.loss.significance == 0.001
    for given, baseline in (("2", 2), ("2026-01-01..2026-01-05", "2026-01-01..2026-01-05"), (data, None)):
        found = truecal.results.DriftTable.from_json(
            run("drift", data, "--time", "at", "--baseline", given, "--json").stdout
        )
        expected = expected_drift(data, baseline=baseline or truecal.read(data, **COLUMNS))
        assert found.to_json() == expected.to_json()
    named = rows_of(run("drift", data, "--time", "country", "--every", "none", "--csv").stdout)
    assert [row["period"] for row in named] == ["de", "fr", "it"]


def test_drift_is_drawn_and_reported(data, folder):
    picture = folder / "drift.png"
    done = run("drift", data, "--plot", picture)
    assert f"note: wrote {picture}" in done.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert run("plot", data, "--time", "at", "--resamples", "0", "-o", folder / "a.svg").returncode == 0
    by_kind = run("plot", data, "--kind", "drift", "--resamples", "0", cwd=folder)
    assert by_kind.stdout == "Wrote drift.png\n"
    assert "inferred --label y --score p --time at" in by_kind.stderr
    page = folder / "drift.html"
    assert run("report", data, "-o", page, "--time", "at", "--null-draws", "50", "--resamples", "0").returncode == 0
    assert 'id="by-period"' in page.read_text()


def test_mistakes_about_time_are_told(data, folder):
    assert "--time must be one of the columns" in refused("drift", data, "--time", "att")
    assert "did you mean 'at'?" in refused("drift", data, "--time", "att")
    assert "must hold dates written as YYYY-MM-DD" in refused("drift", data, "--time", "country")
    assert "--label-lag must be" in refused("drift", data, "--label-lag", "soon")
    assert "--now must be a date" in refused("drift", data, "--label-lag", "1d", "--now", "soon")
    assert "did you mean '1d'?" in refused("drift", data, "--every", "1dd")
    assert "--baseline must be a number of periods" in refused("drift", data, "--baseline", "0")
    assert "--baseline must leave periods to compare" in refused("drift", data, "--baseline", "6")
    assert "--plot must end in .png" in refused("drift", data, "--plot", "a.gif")
    assert "--score must name one column" in refused("drift", data, "-p", "p,y", "-y", "y")
    for command in ("report", "plot", "tally"):
        told = refused(command, data, "--every", "1w", "-o", folder / ("a.png" if command == "plot" else "a.parquet"))
        assert "--time must name a column where --every is given" in told
    bare = write_csv(folder / "bare.csv", {"y": [0, 1], "p": [0.1, 0.9]})
    assert "--time cannot be inferred: a column must look like dates or times" in refused("drift", bare)
    two = write_csv(folder / "two.csv", {"y": [0], "p": [0.5], "a": ["2026-01-01"], "b": ["2026-01-02"]})
    assert f"Hint: say which, such as  truecal drift {two} --time a" in refused("drift", two)


def test_a_grid_comes_with_bounds(data):
    observations = truecal.read(data, **COLUMNS, limits=truecal.reading.Limits(grid=5))
    result = truecal.evaluate(observations, metrics=SCORED, null_draws=199, random_state=0)
    low, high = result.bounds["tce"]
    assert low < high
    done = run("evaluate", data, "--grid", "5")
    assert f"{low:.2f}–{high:.2f}% within cells" in " ".join(done.stdout.split())
    assert " within cells " in run("evaluate", data, "--grid", "5", "--metrics", "tce").stdout
    assert "cells of 5 significant bits" in done.stderr
    assert truecal.Result.from_json(run("evaluate", data, "--grid", "5", "--json").stdout) == result
    rows = rows_of(run("evaluate", data, "--grid", "5", "--csv").stdout)
    assert [row["metric"] for row in rows] == SCORED
    assert (float(rows[1]["lowest"]), float(rows[1]["highest"])) == (low, high)
    assert rows[2]["lowest"] == rows[2]["highest"] == rows[2]["value"]
    segments = run("segments", data, "--by", "country", "--grid", "5", "--metrics", "tce").stdout
    assert " tce bounds" in segments
    assert " tce bounds" in run("drift", data, "--grid", "5", "--metrics", "tce").stdout
    assert "within cells" not in run("evaluate", data, "--grid", "none").stdout
    told = run("check", data, "--max-value", f"tce={(low + high) / 2:.6f}", "--grid", "5")
    assert told.returncode == 3
    assert "as scores are grouped into cells, and so is the limit" in " ".join(told.stdout.split())


def test_a_limit_makes_a_grid_and_says_so(data, folder):
    done = run("evaluate", data, "--limit", "1000", "--json", "--null-draws", "0")
    assert "rows are more than --limit 1000: scores are grouped into cells of 13 bits" in done.stderr
    observations = truecal.read(data, **COLUMNS, limits=truecal.reading.Limits(grid=13))
    exact = truecal.evaluate(observations, metrics=SCORED)
    assert truecal.Result.from_json(done.stdout) == exact
    assert "cells" not in run("evaluate", data, "--limit", "100000", "--null-draws", "0").stderr
    packed = folder / "preds.csv.gz"
    packed.write_bytes(__import__("gzip").compress(data.read_bytes()))
    assert "rows are more than --limit 1000" in run("evaluate", packed, "--limit", "1000", "--null-draws", "0").stderr


def test_little_memory_changes_no_number(data):
    plain, little = (run("evaluate", data, "--json", *words).stdout for words in ([], ["--memory", "100kB"]))
    assert plain == little


def test_sizes_have_units():
    """As the SI and IEC have them."""
    assert [size(text) for text in ("1", "10B", "4GB", "4G", "1.5 kB", "4GiB", "2MiB", "1TB")] == [
        *(1, 10, 4 * 10**9, 4 * 10**9, 1500, 2**32, 2**21, 10**12)
    ]


def test_wrong_sizes_and_grids_are_told_by_the_option(data):
    for words, told in (
        (["--memory", "much"], "--memory: it must be bytes, such as 500MB, 4GB or 4GiB; it is 'much'"),
        (["--memory", "0"], "--memory: it must be bytes"),
        (["--memory", "4XB"], "--memory: it must be bytes"),
        (["--grid", "1"], "--grid: it must be a whole number from 2 to 26, auto or none; it is '1'"),
        (["--grid", "fine"], "--grid: it must be a whole number from 2 to 26, auto or none; it is 'fine'"),
        (["--limit", "0"], "--limit: it must be a whole number, 1 or more"),
    ):
        assert told in refused("evaluate", data, *words)


def test_a_saved_result_computes_nothing_and_says_so(data, folder):
    saved = folder / "saved.json"
    assert run("evaluate", data, "--null-draws", "0", "-o", saved).returncode == 0
    for words in (
        ["evaluate", "--metrics", "ece"],
        ["evaluate", "--significance", "0.01"],
        ["evaluate", "--by", "country"],
        ["evaluate", "--seed", "3"],
        ["evaluate", "--label", "y"],
        ["evaluate", "--grid", "8"],
        ["report", "--resamples", "5"],
        ["report", "--time", "at"],
        ["plot", "--top", "5"],
        ["plot", "--drop-missing"],
    ):
        told = refused(words[0], saved, *words[1:])
        assert f"{words[1]} must be left out where a saved result is read: it has no rows" in told
    assert run("evaluate", saved, "--threads", "1").returncode == 0


def test_the_baseline_among_the_scores_is_not_judged(data, folder):
    columns = a_stream(300)
    more = write_csv(folder / "more.csv", columns | {"old": [p / 2 for p in columns["p"]]})
    done = run("check", more, "-y", "y", "-p", "p,old", "--baseline", "old", "--max-value", "99.9", "--json")
    assert "note: old is the baseline, and is not evaluated" in done.stderr
    assert truecal.Decision.from_json(done.stdout).results.model == ("p",)


def test_an_interrupted_tally_leaves_the_old_file(folder):
    place = folder / "kept.parquet"
    place.write_text("old")
    before = sorted(os.listdir(folder))
    command = [*TRUECAL, "tally", "-", "-o", str(place)]
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=environment(), **streams) as process:
        process.stdin.write(b"y,p\n1,0.5\n")
        process.stdin.flush()
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(2)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 130
    assert place.read_text() == "old"
    assert sorted(os.listdir(folder)) == before


def test_each_file_is_scanned_once(folder, monkeypatch):
    """Two models, segments, windows and a baseline in one pass: the columns are looked at, then read once."""
    columns = a_stream(300)
    more = write_csv(folder / "three.csv", columns | {"old": [p / 2 for p in columns["p"]], "new": columns["p"]})
    calls = []

    def count(inner):
        def read(*given):
            found = inner(*given)
            calls.extend([] if found is None else [inner])
            return found

        return read

    for name in ("_read_plain", "_read_query"):
        monkeypatch.setattr(_read, name, count(getattr(_read, name)))
    rules = folder / "once.toml"
    rules.write_text("[[rule]]\nmax_worse = 99\n[[rule]]\nmax_value = 99.9\nsegment = '*'\n")
    for words in (
        ["evaluate", more, "-p", "p,new"],
        ["report", more, "-p", "p,new", "--by", "country", "--time", "at", "-o", folder / "once.html"],
        ["compare", more, "-p", "p,new", "--resamples", "20"],
        ["check", more, "-p", "p,new", "--baseline", "old", "--rules", rules, "--by", "country"],
    ):
        calls.clear()
        done = run(*words, "--seed", "1")
        wanted = 3 if words[0] == "check" else 0  # 300 rows are inconclusive
        assert (len(calls), done.returncode) == (1, wanted), done.stderr
