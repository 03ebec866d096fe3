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
            assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", used), f"{used} is not pinned to a commit"
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


def test_every_action_is_pinned_to_a_commit_and_its_version_is_told():
    """A tag can be moved to other code. Our own action in the docs has no commit yet."""
    pages = [*FILES, ROOT / "action.yml", ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    used = [
        line for page in pages for line in re.findall(r"^\s*(?:- )?uses: (.*)$", page.read_text(), flags=re.MULTILINE)
    ]
    assert len(used) >= 20
    for line in used:
        if not line.startswith(("./", "truecal/truecal@")):
            assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line


LONG = "x" * 100_000
OPTIONS = {
    "": [],
    "-y y --segment 'seg=*' -p \"p q\"": ["-y", "y", "--segment", "seg=*", "-p", "p q"],
    "--by 'a\nb' -y y": ["--by", "a\nb", "-y", "y"],
    "-y\ny\n-p\np\n": ["-y", "y", "-p", "p"],
    "-y $(touch stolen)": ["-y", "$(touch", "stolen)"],
    "-y '$(touch stolen)'": ["-y", "$(touch stolen)"],
    "-y `touch stolen`": ["-y", "`touch", "stolen`"],
    "-y y; touch stolen": ["-y", "y;", "touch", "stolen"],
    "-y y && touch stolen": ["-y", "y", "&&", "touch", "stolen"],
    "-y y | tee stolen": ["-y", "y", "|", "tee", "stolen"],
    "-y y > stolen": ["-y", "y", ">", "stolen"],
    "-y *": ["-y", "*"],
    "-y ~": ["-y", "~"],
    "-y $HOME": ["-y", "$HOME"],
    "-y ${IFS}": ["-y", "${IFS}"],
    "--": ["--"],
    "---": ["---"],
    "''": [""],
    "-y ''": ["-y", ""],
    "-y größe -p 概率": ["-y", "größe", "-p", "概率"],
    "-y a\\ b": ["-y", "a b"],
    "-y # comment": ["-y", "#", "comment"],
    "-y !!": ["-y", "!!"],
    f"-y {LONG}": ["-y", LONG],
    "  \t\n  ": [],
    "-y 'it'\\''s'": ["-y", "it's"],
    "-y \u2028\u202e": ["-y", "\u2028\u202e"],
}
REFUSED = [
    "'",
    '"',
    "-y 'a",
    '-y "a',
    "-y a'b'c'",
    "\\",
    "-y y \\",
    "\"'",
    "-h",
    "-y y --help",
    "'-h'",
    "-hy y",
    "-y y -hp",
]


def run_action(load, folder, data="a.csv b*.csv", options="", script=None):
    """The step of the action, with a command in the place of truecal that writes down its arguments and exits with 3."""
    (step,) = (step for step in load(ROOT / "action.yml")["runs"]["steps"] if step.get("id") == "check")
    command = folder / "truecal"
    command.write_text(script or '#!/bin/sh\nprintf "%s\\0" "$@" > "$ARGUMENTS"\nexit 3\n')
    command.chmod(0o755)
    if not (folder / "python").exists():
        (folder / "python").symlink_to(sys.executable)
    places = {"ARGUMENTS": folder / "arguments", "GITHUB_OUTPUT": folder / "output"}
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", "DATA": data, "OPTIONS": options, "LC_ALL": "C.UTF-8"}
    environment |= {name: str(place) for name, place in places.items()} | {"GITHUB_ACTION_PATH": str(ROOT)}
    shell = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]]  # as GitHub calls it
    done = subprocess.run(shell, env=environment, check=False, cwd=folder, capture_output=True, text=True)
    assert not (folder / "stolen").exists()
    assert places["GITHUB_OUTPUT"].read_text().splitlines()[-1] == f"exit-code={done.returncode}"
    words = places["ARGUMENTS"].read_text().split("\0")[:-1] if places["ARGUMENTS"].exists() else None
    return done, words


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: ascii(options[:30]))
def test_the_action_reads_options_as_a_shell_does(load, tmp_path, options):
    done, words = run_action(load, tmp_path, options=options)
    assert done.returncode == 3
    assert words == ["check", "a.csv", "b*.csv", *OPTIONS[options]]


@pytest.mark.parametrize("options", REFUSED, ids=ascii)
def test_the_action_refuses_options_that_it_cannot_read(load, tmp_path, options):
    done, words = run_action(load, tmp_path, options=options)
    assert done.returncode == 2
    assert words is None
    assert "`options` must" in done.stderr


@pytest.mark.parametrize("data", ["", "   ", "''", "a.csv ''", "--help", "-", "--rules=x a.csv", "'a"])
def test_the_action_refuses_data_that_are_none(load, tmp_path, data):
    done, words = run_action(load, tmp_path, data=data)
    assert (done.returncode, words) == (2, None)
    assert "`data` must" in done.stderr


@pytest.mark.parametrize(
    ("script", "code"),
    [("#!/bin/sh\nkill -9 $$\n", 137), ("#!/bin/nowhere\n", 2), *((f"#!/bin/sh\nexit {i}\n", i) for i in range(5))],
)
def test_the_action_ends_as_the_check_does(load, tmp_path, script, code):
    assert run_action(load, tmp_path, script=script)[0].returncode == code


def test_the_action_takes_many_files(load, tmp_path):
    done, words = run_action(load, tmp_path, data=" ".join(["a" * 1000] * 100), options="")
    assert (done.returncode, len(words)) == (3, 101)
