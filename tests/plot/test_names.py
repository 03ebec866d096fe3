"""Names are data: whatever they hold, pictures, pages, tables and messages show it and do nothing else."""

import csv
import io
import xml.dom.minidom

import numpy as np
import pytest
from command import run

import truecal

NAMES = ['<a href="javascript:alert(1)">x</a>', "=1+1", "\x1b[31mred\x07\x00", r"$\frac{1}{2}$", "a\nb", "@cmd", "-2+3"]


@pytest.fixture(scope="module")
def tables():
    pl = pytest.importorskip("polars")
    rng = np.random.default_rng(0)
    p = rng.beta(1, 9, 3500)
    names = np.array(NAMES, dtype=object)[np.arange(3500) % len(NAMES)]
    frame = pl.DataFrame({"y": rng.random(3500) < p, "p": p, "name": names, "time": names})
    data = truecal.read(frame, label="y", score="p", by="name", time="time", every=None)
    drift = truecal.drift(data, reference=9)
    return data, truecal.segments(data, by="name", reference=9), drift


@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.parametrize("kind", ["drift", "segments"])
def test_pictures(tables, tmp_path, kind, need):
    need("matplotlib")
    _, segments, drift = tables
    place = tmp_path / "a.svg"
    truecal.plot.save(place, kind, drift if kind == "drift" else segments)
    found = xml.dom.minidom.parse(str(place))
    assert not found.getElementsByTagName("a")


def test_pages(tables, tmp_path, need):
    need("plotly")
    data, segments, drift = tables
    result = truecal.evaluate(data, metrics=["ltce", "tce"])
    place = tmp_path / "a.html"
    truecal.report(dict.fromkeys(NAMES, result), place, segments=segments, drift=drift)
    page = place.read_text()
    assert '<a href="javascript' not in page
    assert not set("\x1b\x07\x00") & set(page)


def test_spreadsheets_compute_nothing(tables):
    _, segments, _ = tables
    cells = {row["name"] for row in csv.DictReader(io.StringIO(segments.to_csv()))}
    assert {"'=1+1", "'@cmd", "'-2+3"} <= cells
    assert not {"=1+1", "@cmd", "-2+3"} & cells


def test_messages_hold_no_escapes(tmp_path):
    place = tmp_path / "a.csv"
    place.write_text("y,p\x1b[31m\n0,0.5\n1,0.5\n")
    done = run("score", place, "-y", "no\x1b[32mthing", "-p", "p\x1b[31m")
    assert done.returncode == 2
    assert "\x1b" not in done.stderr
    assert r"\x1b[32m" in done.stderr
