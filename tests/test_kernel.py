"""The kernel's own parts, built by the compiler at hand without Python."""

import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import missing

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def compiler():
    found = shutil.which("c++")
    if found is None:
        missing("there is no C++ compiler, c++")
    return [found, "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-I", str(ROOT / "src/kernel")]


def test_integers_of_two_words_are_those_of_the_compiler(compiler, tmp_path):
    """MSVC has no integers of 128 bits; both are compared, and all that the kernel computes with them."""
    printed = []
    for name, options in (("own", []), ("words", ["-DTRUECAL_TWO_WORDS"])):
        source = ROOT / "tests/kernel/twins.cpp"
        subprocess.run([*compiler, *options, "-o", tmp_path / name, source], check=True)
        run = subprocess.run([tmp_path / name], capture_output=True, text=True, check=True)
        printed.append(run.stdout)
    assert printed[0] == printed[1]
    kinds = {line.split()[0] for line in printed[0].splitlines()}
    assert kinds == {"sum", "cell", "block", "start"}
