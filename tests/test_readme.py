"""The README's examples and every docstring's run and print what they say."""

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import truecal

ROOT = Path(__file__).parents[1]
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(truecal.__path__, "truecal.")
    if not module.name.endswith(("_kernel", "__main__"))
)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def run(test):
    report = []
    result = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append)
    assert result.failed == 0, "".join(report)
    return result.attempted


@pytest.mark.parametrize("page", ["README.md", "docs/method.md", "docs/gate.md", "docs/tallies.md"])
def test_examples_of_a_page_run(page):
    blocks = re.findall(r"```pycon\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)
    assert blocks
    assert run(doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page, page, 0)) >= len(blocks)


def test_examples_of_docstrings_run():
    attempted = 0
    for name in MODULES:
        module = importlib.import_module(name)
        for test in doctest.DocTestFinder().find(module):
            attempted += run(test)
    assert attempted > 20


def test_links_of_the_readme_lead_somewhere():
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", (ROOT / "README.md").read_text()):
        assert (ROOT / target).exists(), target


def test_every_public_name_is_documented():
    for name in truecal.__all__:
        value = getattr(truecal, name)
        assert (getattr(value, "__doc__", None) or "").strip(), name
