"""Completion scripts: made by shtab from the parsers, tried in real shells."""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time

import pytest
from command import ESCAPES, environment, run
from conftest import missing

from truecal.cli import _options as options

pytest.importorskip("shtab")


def find_shell(name):
    found = shutil.which(name)
    if found is None:
        missing(f"{name} is not installed")
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("completion")
    (found / "predictions.csv").write_text("")
    return found


@pytest.fixture(scope="module")
def scripts(folder):
    """The scripts by their shells, as files."""
    found = {}
    for shell in options.SHELLS:
        done = run("completion", shell)
        assert done.returncode == 0, done.stderr
        found[shell] = folder / f"truecal.{shell}"
        found[shell].write_text(done.stdout)
    return found


@pytest.fixture(scope="module")
def bash(scripts, folder):
    """What bash offers for the last of some words."""
    shell = find_shell("bash")
    subprocess.run([shell, "-n", scripts["bash"]], check=True)
    function = re.search(r"complete .*-F (\w+) truecal", scripts["bash"].read_text())[1]

    def complete(*words):
        code = (
            f'source {scripts["bash"]}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
            f'{function} truecal "${{@: -1}}" "${{@: -2:1}}"; printf "%s\\n" "${{COMPREPLY[@]}}"'
        )
        command = [shell, "-c", code, "bash", "truecal", *words]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        return [word for word in done.stdout.splitlines() if word]

    return complete


def test_commands_are_completed(bash):
    assert set(options.COMMANDS) <= set(bash(""))
    assert bash("s") == ["segments", "slices"]


def test_options_of_the_command_are_completed(bash):
    assert bash("evaluate", "--re") == ["--resamples"]
    assert bash("plan", "--in") == []
    assert bash("check", "a.csv", "--max-w") == ["--max-worse"]


def test_values_are_completed(bash):
    assert bash("evaluate", "--format", "p") == ["parquet"]
    assert bash("plot", "a.csv", "--kind", "re") == ["reliability"]
    assert bash("evaluate", "--metrics", "rms") == ["rmsce", "rmsce_q"]
    assert bash("completion", "") == list(options.SHELLS)


def test_files_are_completed(bash):
    assert bash("evaluate", "pre") == ["predictions.csv"]
    assert bash("evaluate", "-o", "pre") == ["predictions.csv"]
    assert bash("evaluate", "predictions.csv", "pre") == ["predictions.csv"]


def type_and_complete(shell, lines, typed, expected, folder):
    """What a shell on a terminal makes of some keys, with a tab for completion."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [shell, "-f", "-i"],
        stdin=slave, stdout=slave, stderr=slave, cwd=folder, env=environment(PS1="> "), start_new_session=True,
    )  # fmt: skip
    os.close(slave)
    text, end = "", time.monotonic() + 60
    try:
        os.write(master, "".join(f"{line}\n" for line in [*lines, "echo rea''dy"]).encode())
        for keys, sign in (("", "ready\r"), (f"{typed}\t", expected)):
            os.write(master, keys.encode())
            while sign not in text:
                ready, _, _ = select.select([master], [], [], max(end - time.monotonic(), 0))
                assert ready, f"nothing but {text!r}"
                text = ESCAPES.sub("", text + os.read(master, 1 << 16).decode(errors="replace"))
    finally:
        process.kill()
        process.wait()
        os.close(master)
    return text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("truecal seg", "truecal segments "),
        ("truecal segments --wor", "truecal segments --worst "),
        ("truecal evaluate --format parq", "truecal evaluate --format parquet "),
        ("truecal evaluate pre", "truecal evaluate predictions.csv"),
    ],
)
def test_zsh_completes_what_is_typed(scripts, folder, typed, expected):
    lines = ["autoload -Uz compinit", "compinit -D -u", f'eval "$(cat {scripts["zsh"]})"']
    assert expected in type_and_complete(find_shell("zsh"), lines, typed, expected, folder)


@pytest.mark.parametrize("shell", options.SHELLS)
def test_every_option_of_every_command_is_in_every_script(scripts, shell):
    script = scripts[shell].read_text()
    for name in options.COMMANDS:
        assert name in script
        for option in options.options_of(name):
            for word in option.words.split():
                if word.startswith("--"):
                    assert (f"-l {word[2:]}" if shell == "fish" else word) in script


@pytest.mark.parametrize("shell", options.SHELLS)
def test_shells_can_read_their_scripts(scripts, shell):
    subprocess.run([find_shell(shell), "-n", scripts[shell]], check=True, capture_output=True)


def test_without_shtab_the_remedy_is_named(folder):
    code = (
        "import sys; sys.modules['shtab'] = None\nfrom truecal.cli import main\nsys.exit(main(['completion', 'bash']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment())
    assert done.returncode == 2
    assert done.stderr == "error: `truecal completion` needs shtab.\nHint: pip install 'truecal[completion]'\n"
