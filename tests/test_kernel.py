"""The kernel's own parts, built without Python by every compiler at hand, print the same numbers."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import missing

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
# as in CMakeLists.txt; at -O1, which halves the time
FLAGS = [
    "-std=c++17",
    "-O1",
    "-ffp-contract=off",
    "-Wall",
    "-Wextra",
    "-Wno-psabi",
    "-Werror",
    "-I",
    ROOT / "src/kernel",
]
WINE = "/usr/lib/wine/wine64"  # where Debian keeps it; the command `wine` asks for a second package


port = pytest.mark.skipif("TRUECAL_PORTS" not in os.environ, reason="`make ports` builds for other systems")


def build(compiler, program, *options):
    found = shutil.which(compiler)
    if found is None:
        missing(f"there is no C++ compiler {compiler}")
    subprocess.run([found, *options, *FLAGS, "-o", program, ROOT / "tests/kernel/twins.cpp"], check=True)


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=True, **options).stdout.splitlines()


@pytest.fixture(scope="module")
def native(tmp_path_factory):
    """What the kernel gives here: lines of a kind and numbers."""
    program = tmp_path_factory.mktemp("native") / "native"
    build("c++", program)
    printed = run(program)
    kinds = {line.split()[0] for line in printed}
    assert kinds == {"sum", "cell", "row", "block", "start", "level", "walk", "csv", "json", "drawn", "near", "part"}
    return printed


def exact(printed):
    return [line for line in printed if not line.startswith("near ")]


def near(printed):
    """The numbers that logarithms and exponentials go into, which every system rounds in its own way."""
    return [float(word) for line in printed if line.startswith("near ") for word in line.split()[1:]]


def assert_same(printed, native):
    assert exact(printed) == exact(native)
    # some units in the last place of a libm, carried through a hundred steps at most
    assert near(printed) == pytest.approx(near(native), rel=1e-13, abs=0)


def test_integers_of_two_words_are_those_of_the_compiler_and_bytes_are_blocks(native, tmp_path):
    """MSVC has no integers of 128 bits, ARM no SSE2: the portable ways give the very same."""
    build("c++", tmp_path / "portable", "-DTRUECAL_TWO_WORDS", "-U__SSE2__", "-Wpedantic")
    assert run(tmp_path / "portable") == native


def test_clang_gives_the_same(native, tmp_path):
    build("clang++", tmp_path / "clang")
    assert run(tmp_path / "clang") == native


def test_arm_gives_the_same(native, tmp_path):
    """Without -ffp-contract=off GCC fuses products and sums there, and a fifth of the cells have other last bits."""
    if shutil.which("qemu-aarch64") is None:
        missing("there is no qemu-aarch64, which runs programs for ARM")
    build("aarch64-linux-gnu-g++", tmp_path / "arm", "-static")
    assert_same(run("qemu-aarch64", tmp_path / "arm"), native)


@port
def test_windows_gives_the_same(native, tmp_path):
    if shutil.which("x86_64-w64-mingw32-g++-posix") is None:
        pytest.skip("there is no MinGW")
    build("x86_64-w64-mingw32-g++-posix", tmp_path / "program.exe", "-static")
    run_elsewhere(WINE, tmp_path / "program.exe", native)


@port
def test_a_browser_gives_the_same(native, tmp_path):
    """WebAssembly by Emscripten, run by Node: addresses of 32 bits, and no threads."""
    if shutil.which("em++") is None:
        pytest.skip("there is no em++")
    build("em++", tmp_path / "program.js", "-fexceptions", "-sALLOW_MEMORY_GROWTH=1", "-sSINGLE_FILE=1")
    run_elsewhere("node", tmp_path / "program.js", native)


@port
@pytest.mark.parametrize(
    ("target", "runner"),
    [
        ("x86_64-linux-musl", "env"),
        ("aarch64-linux-musl", "qemu-aarch64"),
        ("x86_64-windows-gnu", WINE),
        ("aarch64-windows-gnu", "Windows on ARM"),
        ("x86_64-macos", "macOS"),
        ("aarch64-macos", "macOS"),
    ],
)
def test_other_systems_give_the_same(target, runner, native, tmp_path):
    """By Zig, which has Clang and the libraries of each system, musl among them."""
    if shutil.which("zig") is None:
        pytest.skip("there is no zig")
    build("zig", tmp_path / "program.exe", "c++", "-target", target)
    run_elsewhere(runner, tmp_path / "program.exe", native)


def run_elsewhere(runner, program, native):
    """Run a program of another system and compare what it prints; where nothing runs it, that it was built is all."""
    if shutil.which(runner) is None:
        pytest.skip(f"it builds; there is no {runner}, which would run it")
    folder = str(program.parent)
    wine = {"WINEPREFIX": folder + "/wine", "WINEDEBUG": "-all", "HOME": folder} if runner == WINE else {}
    assert_same(run(runner, program, env={**os.environ, **wine}), native)
