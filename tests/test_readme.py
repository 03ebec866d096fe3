"""The examples of the README, of every page of the docs and of every docstring run and print what they say."""

import doctest
import importlib
import pkgutil
import re
import tempfile
from pathlib import Path

import pytest

import truecal

ROOT = Path(__file__).parents[1]
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(truecal.__path__, "truecal.")
    if not module.name.endswith(("_kernel", "__main__"))
)
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
