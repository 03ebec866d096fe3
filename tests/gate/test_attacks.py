"""Attempts to talk a miscalibrated model, or one without evidence, past the release gate: none ends with exit code 0."""

import subprocess
import sys

import pytest
from attacking import CALIBRATED, COMMON, GROUPS, P, Y, list_attacks, list_calls, write_table
from command import environment, run

import truecal

pytestmark = pytest.mark.slow

pytest.importorskip("polars")


def check_attack(attack, folder):
    attack.write(folder)
    done = run("check", *attack.words, cwd=folder, **dict(attack.env))
    assert done.returncode in (1, 2, 3), done.stdout + done.stderr
    assert "this is a bug" not in done.stderr
    assert "Traceback" not in done.stderr or ("TRUECAL_DEBUG", "1") in attack.env


def test_the_models_are_what_they_are_said_to_be(tmp_path):
    """The attacks mean something: the rows fail, and with the hidden positives as negatives they pass."""
    for labels, code in ((Y, 1), (CALIBRATED, 0)):
        write_table(tmp_path / "d.csv", ("y", "p"), (labels, P))
        assert run("check", "d.csv", *COMMON, cwd=tmp_path).returncode == code


def test_there_are_hundreds_of_attacks_and_each_has_a_name():
    names = [attack.name for group in GROUPS.values() for attack in group()]
    assert len(set(names)) == len(names) >= 300


@pytest.mark.parametrize("attack", [a for group in GROUPS for a in list_attacks(group)])
def test_an_attack_does_not_pass(tmp_path, attack):
    check_attack(attack, tmp_path)


def test_a_call_does_not_pass(need):
    """Hidden in arrays, frames, subclasses, rules and options: an error, or a decision that is false."""
    passed, names = [], []
    for name, call in list_calls(truecal, need):
        names.append(name)
        try:
            decision = call()
        except (TypeError, ValueError, OSError):
            continue
        if decision:
            passed.append((name, decision))
    assert not passed
    assert len(set(names)) == len(names) >= 100


@pytest.mark.parametrize(
    ("labels", "words", "codes"),
    [
        (Y, "{check} >&-", (1,)),
        (Y, "{check} 2>&-", (1,)),
        (Y, "{check} >&- 2>&- <&-", (1,)),
        (Y, "{check} 2>/dev/full", (1,)),
        (Y, "PYTHONUNBUFFERED=1 {check} >/dev/full", (2,)),
        (CALIBRATED, "{check} >/dev/full", (2,)),
        (CALIBRATED, "PYTHONUNBUFFERED=1 {check} >/dev/full", (2,)),
        (CALIBRATED, "{check} --json >/dev/full 2>/dev/full", (2,)),
        (CALIBRATED, "ulimit -f 0; {check} -o out.txt", (2, 153)),
        (CALIBRATED, "(ulimit -t 0; {check})", (2, 137, 152)),
        (Y, "GITHUB_ACTIONS=true {check} >&-", (1,)),
        (Y, "PYTHONOPTIMIZE=2 {check}", (1,)),
        (Y, "cd $(mktemp -d) && rmdir $PWD && {check}", (1, 2)),
        (CALIBRATED, "{check} & kill -TERM $!; wait $!", (143,)),
    ],
    ids=lambda part: part.replace("{check}", "check") if isinstance(part, str) else "",
)
def test_no_stream_limit_or_signal_makes_a_pass(tmp_path, labels, words, codes):
    write_table(tmp_path / "d.csv", ("y", "p"), (labels, P))
    line = words.format(check=f'"{sys.executable}" -m truecal check "{tmp_path}/d.csv" -y y -p p')
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, env=environment(), capture_output=True, check=False)
    assert done.returncode in codes, done.stderr


def test_a_full_standard_error_does_not_fail_a_gate_that_passes(tmp_path):
    write_table(tmp_path / "d.csv", ("y", "p"), (CALIBRATED, P))
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "truecal", "check", "d.csv", *COMMON, "--drop-missing"]
        done = subprocess.run(command, cwd=tmp_path, env=environment(), stderr=full, capture_output=False, check=False)
    assert done.returncode == 0
