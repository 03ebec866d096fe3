"""Workflows and templates are well formed, and call what is there."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / ".github").rglob("*.yml"))
WORKFLOWS = [path for path in FILES if path.parent.name == "workflows"]
TARGETS = set(re.findall(r"^([\w./-]+):(?!=)", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))


@pytest.fixture
def load(need):
    yaml = need("yaml")
    return lambda path: yaml.safe_load(path.read_text())


def list_steps(workflow):
    return [step for job in workflow["jobs"].values() for step in job.get("steps", [])]


def list_used(workflow):
    return [part["uses"] for part in [*workflow["jobs"].values(), *list_steps(workflow)] if "uses" in part]


def test_there_are_workflows_for_tests_wheels_docs_and_releases():
    assert {"docs.yml", "release.yml", "test.yml", "wheels.yml"} <= {path.name for path in WORKFLOWS}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_call_what_exists(path, load):
    workflow = load(path)
    assert {"name", True, "permissions", "jobs"} <= set(workflow)  # YAML reads the key `on` as true
    assert workflow["permissions"] == {"contents": "read"}
    for used in list_used(workflow):
        if used.startswith("./"):
            assert (ROOT / used).is_file()
        else:
            assert re.fullmatch(r"[\w-]+/[\w-]+@v\d+(\.\d+\.\d+)?", used), f"{used} is not pinned by version"
    commands = [line for step in list_steps(workflow) for line in step.get("run", "").splitlines()]
    for line in commands:
        if line.startswith("make "):
            assert set(line.split()[1:]) <= TARGETS, line
        for word in re.findall(r"\b(?:tests|src|docs)/[\w./]+", line):
            assert (ROOT / word).exists(), line
    for job in workflow["jobs"].values():
        assert job.get("needs", next(iter(workflow["jobs"]))) in workflow["jobs"]


def test_a_release_is_trusted_and_attested_without_a_password(load):
    workflow = load(ROOT / ".github/workflows/release.yml")
    job = workflow["jobs"]["publish"]
    assert job["permissions"]["id-token"] == "write"
    assert any(used.startswith("pypa/gh-action-pypi-publish@") for used in list_used(workflow))
    assert any(used.startswith("actions/attest-build-provenance@") for used in list_used(workflow))
    assert "secrets." not in (ROOT / ".github/workflows/release.yml").read_text()


def test_a_checkout_keeps_no_password(load):
    """No job pushes, and what a job leaves behind may be uploaded."""
    steps = [step for path in WORKFLOWS for step in list_steps(load(path))]
    checkouts = [step for step in steps if step.get("uses", "").startswith("actions/checkout@")]
    assert len(checkouts) >= 7
    assert all(step["with"] == {"persist-credentials": False} for step in checkouts)


def test_forms_ask_for_what_a_bug_needs(load):
    forms = {path.stem: load(path) for path in FILES if path.parent.name == "ISSUE_TEMPLATE"}
    assert set(forms) == {"bug", "config", "wish"}
    for name in ("bug", "wish"):
        assert {"name", "description", "body"} <= set(forms[name])
        fields = [field["id"] for field in forms[name]["body"]]
        assert len(fields) == len(set(fields))
    assert "truecal --version --verbose" in str(forms["bug"])


def test_wheels_are_made_for_every_system_and_processor(load):
    """On machines of their own kind; each builds Linux with glibc and with musl, unless something is skipped."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["cibuildwheel"]
    assert config["build"][:3] == ["cp311-*", "cp312-*", "cp314t-*"]
    assert "skip" not in config
    jobs = load(ROOT / ".github/workflows/wheels.yml")["jobs"]
    assert {"CIBW_PLATFORM": "pyodide"} in [step.get("env") for step in jobs["browser"]["steps"]]
    assert all(name.endswith("-pyodide*") for name in config["build"][3:])
    systems = jobs["wheels"]["strategy"]["matrix"]["os"]
    kinds = {(system.split("-")[0], "arm" in system or system == "macos-15") for system in systems}
    assert kinds == {(name, arm) for name in ("ubuntu", "macos", "windows") for arm in (False, True)}
    assert (ROOT / config["test-command"].split("{package}/")[1]).is_file()


def test_what_is_installed_is_declared():
    """Extras are for users; every group of what work on this needs is installed by a command."""
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())
    pages = [ROOT / "README.md", ROOT / "reproduction/README.md", *sorted((ROOT / "docs").glob("*.md"))]
    commands = [ROOT / "Makefile", ROOT / ".ci/run", *WORKFLOWS]
    text = "\n".join(path.read_text() for path in [*commands, *pages])
    assert set(re.findall(r"--group ([\w-]+)", text)) == set(config["dependency-groups"])
    extras = {
        part for parts in re.findall(r"pip install\b.*?(?:\.|truecal)\[([\w,]+)\]", text) for part in parts.split(",")
    }
    assert extras <= set(config["project"]["optional-dependencies"])
    assert {"all", "files", "plot"} <= extras


def test_checks_before_a_commit_are_pinned(load):
    for repository in load(ROOT / ".pre-commit-config.yaml")["repos"]:
        assert re.fullmatch(r"v\d+\.\d+\.\d+", repository["rev"])


@pytest.mark.parametrize(
    ("options", "words"),
    [("", []), ("-y y --segment 'seg=*' -p \"p q\"", ["-y", "y", "--segment", "seg=*", "-p", "p q"])],
)
def test_the_action_reads_options_as_a_shell_does(load, tmp_path, options, words):
    """The step of the action, with a command in the place of truecal that writes down its arguments and exits with 3."""
    (step,) = (step for step in load(ROOT / "action.yml")["runs"]["steps"] if step.get("id") == "check")
    command = tmp_path / "truecal"
    command.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > "$ARGUMENTS"\nexit 3\n')
    command.chmod(0o755)
    (tmp_path / "python").symlink_to(sys.executable)
    places = {"ARGUMENTS": tmp_path / "arguments", "GITHUB_OUTPUT": tmp_path / "output"}
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "DATA": "a.csv b*.csv", "OPTIONS": options}
    done = subprocess.run(
        ["bash", "-c", step["run"]], env=environment | {name: str(place) for name, place in places.items()}, check=False
    )
    assert done.returncode == 3
    assert places["ARGUMENTS"].read_text().splitlines() == ["check", "a.csv", "b*.csv", *words]
    assert places["GITHUB_OUTPUT"].read_text() == "exit-code=3\n"
