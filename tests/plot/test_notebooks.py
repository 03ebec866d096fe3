"""In a notebook: a sentence, a small table and a picture that says in words what it shows; without matplotlib, no
picture."""

import re
from html import unescape

import numpy as np
import pytest
from conftest import missing
from shown import FOUND, P, Y

import truecal
from truecal import words

try:
    import matplotlib.pyplot as plt
except ImportError:
    missing("matplotlib is not installed")


@pytest.mark.slow
@pytest.mark.parametrize("name", FOUND)
def test_a_notebook_shows_a_table_and_a_picture(name, monkeypatch):
    found = FOUND[name]()
    html = found._repr_html_()
    assert "<table>" in html
    texts = re.findall(
        r'<img style="max-width:100%" alt="([^"]+)" src="data:image/png;base64,[A-Za-z0-9+/=]{1000,}">', html
    )
    assert texts
    assert any(len(unescape(text)) > 20 for text in texts)
    assert not re.search(r"(color|background)\s*:", html)  # the notebook's own, light or dark
    assert not plt.get_fignums()

    def absent(name, *_):
        raise ImportError(name)

    monkeypatch.setattr("truecal.plot._matplotlib.import_module", absent)
    assert "<img" not in found._repr_html_()
    assert "<table>" in found._repr_html_()


def test_a_result_leads_with_the_summary_and_its_bands():
    result = truecal.evaluate(Y, P)
    html = unescape(re.sub(r"<[^>]+>", " ", result._repr_html_()))
    summary = f"{words.label_sign(result.verdict.status)} {result.summary}"
    assert html.index(summary) < html.index("score band")
    for each in result.verdict.bands:
        assert f"{each.rows:,}" in html
        assert (each.direction or "") in html


def test_two_models_are_told_apart_in_words_and_a_table():
    found = truecal.compare(Y, P, np.sqrt(P), resamples=20, random_state=0)
    assert found.sentences()[0] in unescape(found._repr_html_())
    assert "<table>" in found._repr_html_()
