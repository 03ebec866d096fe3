"""The gallery is what its script writes: twelve pictures, each by the two lines beside it; and the README is short."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def gallery(monkeypatch):
    for library in ("matplotlib", "polars", "pandas", "sklearn"):
        pytest.importorskip(library)
    spec = importlib.util.spec_from_file_location("gallery", ROOT / "docs" / "gallery.py")
    found = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "gallery", found)
    spec.loader.exec_module(found)
    return found


@pytest.mark.slow
def test_the_gallery_is_what_its_script_writes(gallery, tmp_path):
    page = (ROOT / "docs" / "gallery.md").read_text()
    assert gallery.write(tmp_path) == page
    names = re.findall(r"!\[[^]]+\]\(pictures/gallery/([\w-]+\.png)\)", page)
    assert len(names) == len(gallery.ENTRIES) == 12
    for name in names:
        kept, drawn = ((folder / name).read_bytes() for folder in (ROOT / "docs" / "pictures" / "gallery", tmp_path))
        assert kept[:8] == drawn[:8] == b"\x89PNG\r\n\x1a\n"
        assert kept[16:24] == drawn[16:24]  # width and height
    for code in re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL):
        assert len(code.splitlines()) == 2


@pytest.mark.slow
def test_the_pictures_of_other_pages_say_what_is_found_today(gallery, tmp_path):
    image = pytest.importorskip("PIL.Image")
    for name, said in gallery.draw_pages(tmp_path).items():
        kept, drawn = (image.open(folder / f"{name}.png") for folder in (ROOT / "docs" / "pictures", tmp_path))
        assert kept.text["Description"] == drawn.text["Description"] == said
        assert kept.size == drawn.size


def test_the_readme_fits_on_three_screens():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 130
