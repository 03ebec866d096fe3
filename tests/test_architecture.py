"""docs/architecture.md names every module."""

from pathlib import Path

import pytest

import truecal

ROOT = Path(truecal.__file__).parent
PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
MODULES = sorted(path.relative_to(ROOT) for path in ROOT.rglob("_*.py") if not path.stem.startswith("__"))


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_the_page_names_every_module(module):
    text = PAGE.read_text()
    package = "" if module.parent == Path() else str(module.parent)
    section = text.partition(f"### `{package}`:")[2].partition("\n### ")[0] if package else text.partition("### ")[0]
    assert f"| `{module.stem}` |" in section
