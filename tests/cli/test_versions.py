"""What a report of a bug says, and where errors point to."""

import getpass
import os
import platform
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from command import run

import truecal
from truecal._errors import DOCS
from truecal.cli._versions import OPTIONAL, REQUIRED, describe_versions

ROOT = Path(__file__).parents[2]


def test_versions_are_told_without_names_and_paths():
    first, *lines = run("--version", "--verbose").stdout.splitlines()
    assert first == f"truecal {truecal.__version__}"
    told = dict(re.split(r"  +", line, maxsplit=1) for line in lines)
    assert list(told) == ["python", "system", "cores", "kernel", *REQUIRED, *OPTIONAL]
    assert told["python"].split(",")[0] == f"{platform.python_implementation()} {platform.python_version()}"
    assert told["numpy"] == np.__version__
    assert 1 <= int(told["cores"]) <= os.cpu_count()
    assert re.fullmatch(r"(GCC|Clang) \d+\.\d+|MSVC \d+", told["kernel"])
    text = "\n".join(lines)
    assert os.sep not in text
    for private in (platform.node(), getpass.getuser()):
        assert not re.search(rf"\b{re.escape(private)}\b", text)


def test_every_part_is_told():
    """The extras that a user installs, and the libraries whose frames are read."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    name = re.compile(r"[\w-]+")
    assert {name.match(entry)[0] for entry in project["dependencies"]} == set(REQUIRED)
    extras = project["optional-dependencies"]
    parts = re.search(r"\[(.*)\]", extras["all"][0])[1].split(",")
    assert {name.match(entry)[0] for part in parts for entry in extras[part]} <= set(OPTIONAL)


def test_a_part_that_is_missing_is_told(monkeypatch):
    monkeypatch.setattr("truecal.cli._versions.OPTIONAL", ("no-such-part",))
    assert "no-such-part  not installed\n" in run("--version", "--verbose").stdout


def test_musl_is_told(monkeypatch):
    """Python 3.13 says "libc" of it, without a version."""
    monkeypatch.setattr("platform.system", lambda: "Linux")
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setattr("sysconfig.get_config_var", {"SOABI": "cpython-313-x86_64-linux-musl"}.get)
    assert "system          Linux musl x86_64" in describe_versions().splitlines()


def test_an_error_with_a_remedy_points_nowhere(need, tmp_path):
    need("polars")
    (tmp_path / "rows.csv").write_text("y,p\n0,0.1\n1,1.7\n0,0.2\n")
    for words, remedy in ((["-y", "y", "-p", "p"], "Hint: --score must be"), (["-y", "Y"], "Hint: did you mean 'y'?")):
        assert run("evaluate", "rows.csv", *words, cwd=tmp_path).stderr.splitlines()[-1].startswith(remedy)


@pytest.mark.parametrize(
    ("words", "page"),
    [
        (["evaluate", "rows.csv", "-y", "label"], "data.md"),
        (["check", "rows.csv", "--rules", "gate.toml"], "gate.md"),
    ],
)
def test_errors_of_data_and_rules_point_to_a_page_that_is_there(words, page, need, tmp_path):
    need("polars")
    (tmp_path / "rows.csv").write_text("y,p\n0,0.1\n1,1.7\n0,0.2\n")
    (tmp_path / "gate.toml").write_text("[[rule]]\nmetric = 'tce'\n")
    told = run(*words, cwd=tmp_path)
    assert told.returncode == 2
    assert told.stderr.splitlines()[-1] == f"See {DOCS}/{page}"
    assert (ROOT / "docs" / page).is_file()
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Source"] + "/blob/main/docs" == DOCS
