"""Completion scripts: made from the parsers, tried in a real bash."""

import re
import shutil
import subprocess

import pytest
from command import run
from conftest import missing

from truecal.cli import _options as options
from truecal.cli._completion import write_script


@pytest.fixture(scope="module")
def bash(tmp_path_factory):
    """What bash offers for the last of some words."""
    found = shutil.which("bash")
    if found is None:
        missing("bash is not installed")
    script = tmp_path_factory.mktemp("completion") / "truecal.bash"
    script.write_text(run("completion", "bash").stdout)
    subprocess.run([found, "-n", script], check=True)

    def complete(*words):
        code = (
            f'source {script}; complete -p truecal >&2; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
            "_truecal; printf '%s\\n' \"${COMPREPLY[@]}\""
        )
        done = subprocess.run(
            [found, "-c", code, "bash", "truecal", *words], capture_output=True, text=True, check=True
        )
        assert "complete -o default -F _truecal truecal" in done.stderr
        return [word for word in done.stdout.splitlines() if word]

    return complete


def test_commands_are_completed(bash):
    assert bash("") == [*options.COMMANDS, "--help", "--version"]
    assert bash("s") == ["score", "segments"]


def test_options_of_the_command_are_completed(bash):
    assert bash("score", "--in") == ["--intervals"]
    assert bash("plan", "--in") == []
    assert bash("check", "a.csv", "--max-w") == ["--max-worse"]


def test_values_are_completed(bash):
    assert bash("score", "--format", "p") == ["parquet"]
    assert bash("plot", "a.csv", "--kind", "re") == ["reliability"]
    assert bash("score", "--metrics", "rms") == ["rmsce", "rmsce_q"]
    assert bash("completion", "") == ["bash", "zsh", "fish"]


def test_files_are_left_to_the_shell(bash):
    assert bash("score", "pre") == []
    assert bash("score", "-o", "pre") == []


@pytest.mark.parametrize("shell", options.SHELLS)
def test_every_option_of_every_command_is_in_every_script(shell):
    script = write_script(shell)
    for name, command in options.COMMANDS.items():
        assert name in script
        for word in re.findall(r"(?<=[ \[])--[a-z-]+", command.parser(name).format_usage()):
            assert (f"-l {word[2:]} " if shell == "fish" else word) in script


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_can_read_theirs(shell, tmp_path):
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"{shell} is not installed; its script was tried by hand")
    script = tmp_path / "script"
    script.write_text(write_script(shell) + "\n")
    subprocess.run([found, "-n", script], check=True)
