"""The site has every page once, and every public name with an example that runs."""

import doctest
import importlib.util
import re
from pathlib import Path

import pytest

import truecal

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site():
    spec = importlib.util.spec_from_file_location("site_pages", ROOT / "docs" / "site.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.fixture(scope="module")
def reference(site):
    return site.make_reference()


def test_every_page_is_in_the_navigation_once(site, reference):
    pages = [*map(site.move, site.list_pages()), *reference]
    assert sorted(site.find_titles()) == sorted(pages)
    text = (ROOT / "zensical.toml").read_text()
    assert [page for page in pages if text.count(f'"{page}"') != 1] == []


def test_every_public_name_is_in_the_reference(site, reference):
    names = site.list_names()
    assert {name for name in truecal.__all__ if name not in site.PACKAGES} == set(names["truecal"])
    explained = [
        name for page in reference.values() for name in re.findall(r"^::: ([\w.]+)$", page, flags=re.MULTILINE)
    ]
    assert len(explained) == len(set(explained))
    for module, found in names.items():
        for name in found:
            home = "truecal" if name in names["truecal"] else module
            assert f"{home}.{name}" in explained
            assert f"[{name}](" in reference["reference/index.md"]
    for package in site.PACKAGES.values():
        assert len(set(package.__all__)) == len(package.__all__)


def test_every_public_name_has_an_example(site):
    """Of its own; a constant in one of its module. Other tests run them."""
    parser = doctest.DocTestParser()
    for module, names in site.list_names().items():
        texts = {name: site.find_docstring(module, name) for name in names}
        assert all(texts.values()), [name for name, text in texts.items() if not text]
        examples = {name: "".join(each.source for each in parser.get_examples(text)) for name, text in texts.items()}
        shown = " ".join(examples.values())
        for name, text in texts.items():
            assert "+SKIP" not in text
            constant = name.isupper() or name.endswith("_scorer")
            assert examples[name] or (constant and re.search(rf"\b{name}\b", shown)), name


def test_pages_show_public_names_only(site):
    names = site.list_names()
    for page in site.list_pages():
        text = (ROOT / page).read_text()
        for module, line in re.findall(r"^(?:>>> )?from (truecal[\w.]*) import (.*)$", text, flags=re.MULTILINE):
            shown = {name.strip() for name in line.split("#")[0].split(",")}
            assert shown <= {*names[module], *(truecal.__all__ if module == "truecal" else ())}, page


@pytest.mark.parametrize(
    ("link", "page", "wanted"),
    [
        ("https://github.com/truecal/truecal/blob/main/docs/gate.md#limits", "README.md", "gate.md#limits"),
        ("https://github.com/truecal/truecal/blob/main/CHANGELOG.md", "README.md", "changelog.md"),
        ("https://raw.githubusercontent.com/truecal/truecal/main/docs/pictures/a.png", "README.md", "pictures/a.png"),
        ("../CHANGELOG.md", "docs/stability.md", "changelog.md"),
        ("docs/gate.md", "CHANGELOG.md", "gate.md"),
        ("../gate.md", "docs/howto/ci.md", "../gate.md"),
        ("../../README.md", "docs/howto/ci.md", "../index.md"),
        ("../study/gate.py", "docs/gate.md", "https://github.com/truecal/truecal/blob/main/study/gate.py"),
        ("https://arxiv.org/abs/2306.14343", "README.md", "https://arxiv.org/abs/2306.14343"),
        ("#limits", "docs/gate.md", "#limits"),
    ],
)
def test_links_lead_to_pages_of_the_site(site, link, page, wanted):
    assert site.adapt(f"See [it]({link}).", page) == f"See [it]({wanted})."
    assert site.adapt("[gate.md](gate.md), [docs/gate.md](gate.md#limits)", "docs/a.md") == (
        "[The release gate](gate.md), [The release gate](gate.md#limits)"
    )
    code = f"```python\nx[0]({link})\n```\n"
    assert site.adapt(code, page) == code
