"""What truecal says is what the files in snapshots/ hold, to the byte. TRUECAL_SNAPSHOTS=write writes them."""

import os
from pathlib import Path

import pytest
from words.scenarios import SCENARIOS, tell

FOLDER = Path(__file__).with_name("snapshots")
WRITE = os.environ.get("TRUECAL_SNAPSHOTS") == "write"


@pytest.mark.parametrize("name", SCENARIOS)
def test_what_is_said_stays(name, tmp_path):
    place, found = FOLDER / f"{name}.txt", tell(name, tmp_path)
    assert str(tmp_path) not in found
    if WRITE:
        FOLDER.mkdir(exist_ok=True)
        place.write_text(found, encoding="utf-8", newline="\n")
    assert place.exists(), f"{place.name} is missing: TRUECAL_SNAPSHOTS=write writes it"
    assert found == place.read_text(encoding="utf-8"), "if this is meant, TRUECAL_SNAPSHOTS=write writes it anew"


def test_every_file_has_a_scenario():
    known = {f"{name}.txt" for name in SCENARIOS}
    if WRITE:  # others may still be written by another worker
        for place in FOLDER.glob("*.txt"):
            if place.name not in known:
                place.unlink()
        return
    assert {place.name for place in FOLDER.iterdir()} == known
