"""The examples of the README, of every page of the docs and of every docstring run and print what they say."""

import doctest
import importlib
import pkgutil
import re
import shlex
import tempfile
from pathlib import Path

import pytest
from command import run as command

import truecal

ROOT = Path(__file__).parents[1]
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(truecal.__path__, "truecal.")
    if not module.name.endswith(("_kernel", "__main__", "plugs._mlflow", "plugs._torch"))
)  # those of the last two run in tests/plugs
DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [str(page.relative_to(ROOT)) for page in (ROOT / "README.md", *DOCS) if "```pycon\n" in page.read_text()]
LIBRARIES = {"pandas": ("pandas", "narwhals"), "polars": ("polars",)}  # what a page needs that imports one
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def run(test):
    report = []
    result = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append)
    assert result.failed == 0, "".join(report)
    return result.attempted


@pytest.mark.parametrize("page", PAGES)
def test_examples_of_a_page_run(page, need, tmp_path, monkeypatch):
    text = (ROOT / page).read_text()
    for imported, libraries in LIBRARIES.items():
        if re.search(rf"^>>> .*import .*\b{imported}\b", text, flags=re.MULTILINE):
            for name in libraries:
                need(name)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    blocks = re.findall(r"```pycon\n(.*?)```", text, flags=re.DOTALL)
    assert run(doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page, page, 0)) >= len(blocks)


def test_commands_of_the_readme_print_what_it_says(need, tmp_path):
    """On the example's model that says half of the truth; "..." stands for any lines."""
    need("polars")
    text = (ROOT / "README.md").read_text()
    names = {}
    for example in doctest.DocTestParser().get_examples("\n".join(re.findall(r"```pycon\n(.*?)```", text, re.DOTALL))):
        exec(example.source, names)
    rows = [f"{int(y)},{p!r}" for y, p in zip(names["y"], (names["p"] / 2).tolist(), strict=True)]
    (tmp_path / "predictions.csv").write_text("\n".join(["y,p", *rows]))
    examples = [
        example
        for block in re.findall(r"```console\n(.*?)```", text, flags=re.DOTALL)
        for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    ]
    ran = []
    for example in examples:
        line, _, expected = example.partition("\n")
        program, *words = shlex.split(line, comments=True)
        if program == "truecal":
            printed = command(*words, cwd=tmp_path).stdout
            assert not expected or doctest.OutputChecker().check_output(expected, printed, doctest.ELLIPSIS), printed
            ran += words[:1]
    assert ran == ["score", "score", "report", "check"]
    assert (tmp_path / "report.html").exists()


def test_pages_with_examples_are_found():
    assert {"README.md", "docs/drift.md", "docs/gate.md", "docs/method.md", "docs/tallies.md"} <= set(PAGES)


def test_examples_of_docstrings_run():
    attempted = 0
    for name in MODULES:
        module = importlib.import_module(name)
        for test in doctest.DocTestFinder().find(module):
            attempted += run(test)
    assert attempted > 20


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", *(f"docs/{page.name}" for page in DOCS)])
def test_links_of_a_page_lead_somewhere(page):
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", (ROOT / page).read_text()):
        assert ((ROOT / page).parent / target).exists(), target


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", *(f"docs/{page.name}" for page in DOCS)])
def test_files_that_a_page_names_exist(page):
    for name in re.findall(r"`((?:[\w.]+/)+\w+\.(?:py|md|css|js))`", (ROOT / page).read_text()):
        assert (ROOT / name).exists() or (ROOT / "src/truecal" / name).exists(), name


def test_every_public_name_is_documented():
    for name in truecal.__all__:
        value = getattr(truecal, name)
        assert (getattr(value, "__doc__", None) or "").strip(), name
