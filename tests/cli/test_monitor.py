"""`truecal monitor` as a scheduler runs it: exit codes, the state, the log, the file for Prometheus."""

import csv
import json
import re
import signal
import subprocess

import numpy as np
import pytest
from command import TRUECAL, environment, run

from truecal import Monitor, words

pytest.importorskip("polars")
DAYS = 30


@pytest.fixture(scope="module")
def rows():
    """400 rows a day at 10 % positives; from day 15 on the odds of "at" are three times those predicted."""
    rng = np.random.default_rng(0)
    found = []
    for day in range(DAYS):
        for _ in range(400):
            p, country = rng.beta(1, 9), ("at", "de")[rng.integers(2)]
            factor = 3 if day >= 15 and country == "at" else 1
            found.append((f"2026-03-{day + 1:02}", country, p, int(rng.random() < p * factor / (1 - p + p * factor))))
    return found


def write(place, rows):
    with place.open("w", newline="") as file:
        csv.writer(file).writerows([("day", "country", "p", "y"), *rows])
    return place


def run_monitor(folder, *options):
    return run("monitor", "preds.csv", "--time", "day", "--by", "country", "--state", "m.json", *options, cwd=folder)


@pytest.mark.slow
def test_a_run_a_day_raises_the_alarm_and_keeps_it(tmp_path, rows):
    codes = []
    for day in range(10, DAYS + 1, 5):
        write(tmp_path / "preds.csv", [row for row in rows if row[0] <= f"2026-03-{day:02}"])
        done = run_monitor(tmp_path, "--prom", "truecal.prom", "--now", f"2026-03-{day:02}T23:59")
        codes.append(done.returncode)
    # the day itself has not ended: day 15 is pending
    assert codes[:2] == [0, 0]
    assert codes[-1] == 1
    since = re.search(r"Alarm for country=at: miscalibrated since about 2026-03-(\d\d)", done.stdout)[1]
    assert abs(int(since) - 16) <= 7  # a few days of a right model may look like the beginning
    assert "country=de" not in [line.split(":")[0] for line in done.stdout.splitlines() if "Alarm" in line]
    updates = [json.loads(line) for line in (tmp_path / "m.jsonl").read_text().splitlines()]
    assert [update["alarm"] for update in updates] == [code == 1 for code in codes]
    assert sum(update["evaluated"] for update in updates) == DAYS - 1
    assert (updates[-1]["last"], updates[-1]["pending"]) == ("2026-03-29", 1)  # the last day of 30 is pending
    assert all(len(line) < 400 for line in (tmp_path / "m.jsonl").read_text().splitlines())
    monitor = Monitor.load(tmp_path / "m.json")
    assert updates[-1]["e_value"] == pytest.approx(monitor.e_value, rel=1e-3)
    assert updates[-1]["series"] == "country=at"
    told = " ".join(done.stdout.split())
    assert (
        f"(e-value {words.format_e_value(monitor.e_value)}, threshold 20). Since then the model under-predicts" in told
    )
    assert "The probability that a calibrated model ever raises an alarm is at most 5%" in told
    assert set(updates[-1]["alarms"]) == set(monitor.alarms)
    lines = (tmp_path / "truecal.prom").read_text().splitlines()
    values = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    assert values['truecal_alarm{series="country=at"}'] == "1"
    assert values['truecal_alarm{series="country=de"}'] == "0"
    assert float(values['truecal_e_value{series="all rows"}']) > 0
    # every line is a comment or `name{labels} value`
    assert all(re.fullmatch(r'# (HELP|TYPE) truecal_\w+ .*|truecal_\w+(\{series=".*"\})? \S+', line) for line in lines)


def test_a_pending_period_takes_late_labels_and_an_evaluated_one_does_not(tmp_path, rows):
    first = [row for row in rows if row[0] <= "2026-03-05"]
    write(tmp_path / "preds.csv", [(*row[:3], 0) if row[0] > "2026-03-03" else row for row in first])
    done = run_monitor(tmp_path, "--label-lag", "2d", "--now", "2026-03-06")
    assert (done.returncode, "2 pending (labels incomplete)" in done.stdout) == (0, True)
    write(tmp_path / "preds.csv", first)
    done = run_monitor(tmp_path, "--now", "2026-03-08")
    assert (done.returncode, "2 new periods evaluated, 3 known before" in done.stdout) == (0, True)
    before = (tmp_path / "m.json").read_bytes()
    write(tmp_path / "preds.csv", [(*row[:3], 1 - row[3]) for row in first])
    done = run_monitor(tmp_path)
    assert done.returncode == 2
    assert "must not change; 2026-03-01 had 400 rows" in done.stderr.replace("\n", " ")
    assert "--label-lag" in done.stderr
    assert (tmp_path / "m.json").read_bytes() == before


def test_nothing_counted_is_no_pass(tmp_path, rows):
    write(tmp_path / "preds.csv", rows)
    done = run_monitor(tmp_path, "--label-lag", "30d", "--now", "2026-03-31")
    assert done.returncode == 3
    assert "No period has been evaluated yet" in done.stdout


def test_settings_stay_those_of_the_state(tmp_path, rows):
    write(tmp_path / "preds.csv", rows[:2000])
    run_monitor(tmp_path, "--significance", "0.01")
    done = run_monitor(tmp_path, "--significance", "0.05")
    assert done.returncode == 2
    assert "--significance of the monitor in 'm.json' is 0.01; 0.05 was given" in done.stderr
    assert run_monitor(tmp_path).returncode == 0


def test_reset_forgets_the_alarm(tmp_path, rows):
    write(tmp_path / "preds.csv", rows)
    assert run_monitor(tmp_path).returncode == 1
    assert run_monitor(tmp_path).returncode == 1
    done = run_monitor(tmp_path, "--reset")
    assert done.returncode == 3  # no period was given since
    assert "30 known before" in done.stdout


def test_an_output_is_never_an_input(tmp_path, rows):
    place = write(tmp_path / "preds.csv", rows[:2000])
    before = place.read_bytes()
    for options in (("--state", "preds.csv"), ("--state", "s.json", "--log", "preds.csv")):
        done = run("monitor", "preds.csv", "--time", "day", *options, cwd=tmp_path)
        assert done.returncode == 2
        assert place.read_bytes() == before


def test_two_at_once_take_turns(tmp_path, rows):
    write(tmp_path / "preds.csv", rows)
    command = [*TRUECAL, "monitor", "preds.csv", "--time", "day", "--state", "m.json"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    both = [subprocess.Popen(command, cwd=tmp_path, env=environment(), **pipes) for _ in range(2)]
    said = [each.communicate()[0] for each in both]
    assert sorted("30 new periods" in text for text in said) == [False, True]
    assert sorted("30 known before" in text for text in said) == [False, True]


def test_a_killed_run_leaves_the_state_whole(tmp_path, rows):
    write(tmp_path / "preds.csv", rows[:4000])
    run_monitor(tmp_path)
    before = (tmp_path / "m.json").read_bytes()
    write(tmp_path / "preds.csv", rows)
    command = [*TRUECAL, "monitor", "preds.csv", "--time", "day", "--by", "country", "--state", "m.json"]
    process = subprocess.Popen(command, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert (tmp_path / "m.json").read_bytes() == before
    assert run_monitor(tmp_path).returncode == 1


def test_a_state_that_is_no_state_is_named_and_stays(tmp_path, rows):
    write(tmp_path / "preds.csv", rows[:4000])
    assert run_monitor(tmp_path, "--now", "2026-05-01").returncode == 0
    whole = (tmp_path / "m.json").read_bytes()
    for broken in (
        b"",
        whole[:-2],
        whole[: len(whole) // 2],
        b"\xff" + whole,
        whole.replace(b'"format": 3', b'"format": 1'),
    ):
        (tmp_path / "m.json").write_bytes(broken)
        done = run_monitor(tmp_path)
        assert done.returncode == 2
        assert "error: 'm.json' must be a file that truecal wrote; it is not: " in done.stderr
        assert (tmp_path / "m.json").read_bytes() == broken
    assert len((tmp_path / "m.jsonl").read_text().splitlines()) == 1


def test_outputs_lie_outside_of_the_folders_that_are_read(tmp_path, rows):
    (tmp_path / "days").mkdir()
    write(tmp_path / "days" / "preds.csv", rows[:4000])
    done = run("monitor", "days", "--time", "day", "--state", "days/m.json", cwd=tmp_path)  # its log is days/m.jsonl
    assert done.returncode == 2
    assert "An output must lie outside of the folders that are read" in done.stderr
    done = run("monitor", "days", "--time", "day", "--state", "m.json", "--now", "2026-05-01", cwd=tmp_path)
    assert done.returncode == 0
    assert run("recalibrate", "days", "-o", "map.json", cwd=tmp_path).returncode == 0
    done = run("apply", "map.json", "days", "--into", "p", "-o", "days/more.csv", cwd=tmp_path)
    assert "An output must lie outside of the folders that are read" in done.stderr
    assert [place.name for place in (tmp_path / "days").iterdir()] == ["preds.csv"]


def test_a_table_of_ages_is_an_input_and_has_each_age_once(tmp_path):
    (tmp_path / "d.csv").write_text("y,p,age\n0,0.5,1\n1,0.5,40\n")
    (tmp_path / "t.csv").write_text("age,share\n0,0\n30,1\n")
    options = ("evaluate", "d.csv", "-y", "y", "-p", "p", "--metrics", "ece", "--label-delay")
    done = run(*options, "age:t.csv", "--csv", "-o", "t.csv", cwd=tmp_path)
    assert "An output must not replace what is read" in done.stderr
    done = run(*options, "age:0=0,7=0.5,7=0.9,30=1", cwd=tmp_path)
    assert "--label-delay must have each age once" in done.stderr
    assert run(*options, "age:t.csv", cwd=tmp_path).returncode == 0
