"""The examples of the README, of every page of the docs and of every docstring run and print what they say."""

import doctest
import importlib
import pkgutil
import re
import tempfile

import pytest
from pages import ROOT, list_blocks, list_libraries, list_pages, run_commands, run_examples, run_page

import truecal

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(truecal.__path__, "truecal.")
    if not module.name.endswith(("_kernel", "__main__", "integrations._mlflow", "integrations._torch"))
)  # those of the last two run in tests/integrations
DOCS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
# The script of the gallery runs its blocks, tests/integrations those of integrations.md; tests/reading/test_clusters.py makes the same
# calls as the page about clusters, which needs one.
ELSEWHERE = {"README.md", "docs/gallery.md", "docs/clusters.md", "docs/integrations.md"}
PAGES = [page for page in list_pages("pycon", "console", "python") if page not in ELSEWHERE]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_examples_of_a_page_run(page, need, tmp_path, monkeypatch):
    for library in list_libraries(page):
        need(library)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "here").mkdir()
    run_page(page, tmp_path / "here")


@pytest.mark.slow
def test_commands_of_the_readme_print_what_it_says(need, tmp_path):
    """On the example's model that says half of the truth."""
    need("polars")
    blocks = list_blocks("README.md")
    test = doctest.DocTestParser().get_doctest("".join(code for kind, code in blocks if kind == "pycon"), {}, "", "", 0)
    assert run_examples(test, "README.md") > 0
    rows = [f"{int(y)},{p!r}" for y, p in zip(test.globs["y"], (test.globs["p"] / 2).tolist(), strict=True)]
    (tmp_path / "predictions.csv").write_text("\n".join(["y,p", *rows]))
    ran = [
        line for kind, code in blocks if kind == "console" for line in run_commands(code, tmp_path, False, "README.md")
    ]
    assert [line.split()[1] for line in ran] == ["evaluate", "evaluate", "report", "check"]
    assert (tmp_path / "report.html").exists()


def test_pages_with_examples_are_found():
    assert {
        "docs/drift.md",
        "docs/gate.md",
        "docs/method.md",
        "docs/tallies.md",
        "docs/tutorial.md",
        "docs/howto/ci.md",
    } <= set(PAGES)


@pytest.mark.slow
def test_examples_of_docstrings_run(need, tmp_path, monkeypatch):
    pyplot, _ = need("matplotlib.pyplot"), need("polars")
    monkeypatch.chdir(tmp_path)
    attempted = 0
    for name in MODULES:
        module = importlib.import_module(name)
        for test in doctest.DocTestFinder().find(module):
            attempted += run_examples(test)
            pyplot.close("all")
    assert attempted > 20


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", *DOCS])
def test_links_of_a_page_lead_somewhere(page):
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", (ROOT / page).read_text()):
        assert ((ROOT / page).parent / target).exists(), target


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", *DOCS])
def test_files_that_a_page_names_exist(page):
    for name in re.findall(r"`((?:[\w.]+/)+\w+\.(?:py|md|css|js))`", (ROOT / page).read_text()):
        assert (ROOT / name).exists() or (ROOT / "src/truecal" / name).exists(), name
