"""In a notebook: a sentence, a small table and a picture that says in words what it shows; without matplotlib, no
picture."""

import re
from datetime import date
from html import unescape

import numpy as np
import pytest
from conftest import missing

import truecal

try:
    import matplotlib.pyplot as plt
except ImportError:
    missing("matplotlib is not installed")

RNG = np.random.default_rng(0)
P = RNG.beta(1, 9, 4000)
Y = RNG.random(4000) < 1.7 * P / (1 + 0.7 * P)


def watched():
    found = truecal.Monitor()
    for day in range(3):
        found.update(Y, P, window=date(2026, 1, 1 + day))
    return found


def classes():
    q = RNG.dirichlet([1, 2, 3], 2000)
    label = (q.cumsum(axis=1) > RNG.random((2000, 1))).argmax(axis=1)
    return truecal.evaluate_classes(label, q**1.3 / np.sum(q**1.3, axis=1, keepdims=True))


def frame():
    pl = pytest.importorskip("polars")
    day = [date(2026, 1, 1 + i % 4) for i in range(4000)]
    return pl.DataFrame({"y": Y, "p": P, "land": ["de", "fr"] * 2000, "day": day})


FOUND = {
    "result": lambda: truecal.evaluate(Y, P),
    "classes": classes,
    "table of classes": lambda: classes().table,
    "segments": lambda: truecal.segments(truecal.read(frame(), label="y", score="p", by="land")),
    "drift": lambda: truecal.drift(truecal.read(frame(), label="y", score="p", time="day")),
    "slices": lambda: truecal.slices(frame(), label="y", score="p"),
    "monitor": watched,
    "recalibration": lambda: truecal.recalibrate(Y, P),
}


@pytest.mark.parametrize("name", FOUND)
def test_a_notebook_shows_a_table_and_a_picture(name, monkeypatch):
    found = FOUND[name]()
    html = found._repr_html_()
    assert "<table>" in html
    words = re.findall(
        r'<img style="max-width:100%" alt="([^"]+)" src="data:image/png;base64,[A-Za-z0-9+/=]{1000,}">', html
    )
    assert words
    assert any(len(unescape(text)) > 20 for text in words)
    assert not plt.get_fignums()

    def absent(name, *_):
        raise ImportError(name)

    monkeypatch.setattr("truecal.plot._matplotlib.import_module", absent)
    assert "<img" not in found._repr_html_()
    assert "<table>" in found._repr_html_()


def test_a_result_leads_with_the_finding_and_its_ranges():
    result = truecal.evaluate(Y, P)
    html = unescape(re.sub(r"<[^>]+>", " ", result._repr_html_()))
    assert html.index(f"{result.verdict.headline}: {result.finding}") < html.index(
        "predictions  rows  said  came  ratio"
    )
    for each in result.ranges:
        assert f"{each.rows:,}" in html
        assert (each.direction or "") in html


def test_two_models_are_told_apart_in_words_and_a_table():
    found = truecal.compare(Y, P, np.sqrt(P), replicates=20, random_state=0)
    assert found.sentences()[0] in unescape(found._repr_html_())
    assert "<table>" in found._repr_html_()
