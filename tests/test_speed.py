"""The tables and pictures of docs/speed.md and docs/scale.md are those of benches/results."""

import importlib.util
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture
def speed():
    spec = importlib.util.spec_from_file_location("speed", DOCS / "speed.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.mark.parametrize("page", ["speed.md", "scale.md"])
def test_tables_are_those_of_the_results(speed, page):
    text = (DOCS / page).read_text(encoding="utf-8")
    assert speed.fill(page, text) == text


def test_pictures_say_what_the_results_do(speed):
    image = pytest.importorskip("PIL.Image")
    for name, said in (("peers", speed.tell_peers()), ("growth", speed.tell_growth())):
        with image.open(DOCS / "pictures" / f"{name}.png") as picture:
            assert picture.text["Description"] == said
