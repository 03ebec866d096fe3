"""What is installed is what was meant: the wheel's files, metadata and version."""

import re
from importlib.metadata import distribution, files
from pathlib import Path

import pytest

import truecal

ROOT = Path(__file__).parents[1]


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
