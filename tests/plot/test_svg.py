"""Pictures as HTML with SVG: the paths read back against the marks, and the texts as text."""

import re
import xml.dom.minidom

import numpy as np
import pytest
from observed import judge_segments, judge_windows
from pictured import RESULTS, data

import truecal
from truecal.plot import make_svg, make_thumbnail
from truecal.plot._kinds import make_picture
from truecal.plot._marks import AxisSpec
from truecal.plot._svg import FINE, WIDE, find_ticks

EVIL = "<script>alert(1)</script> $x$ 日本"


def parse(html):
    return xml.dom.minidom.parseString(html.replace("&nbsp;", " ")).documentElement


def every(node, name, kind=""):
    found = node.getElementsByTagName(name)
    return [each for each in found if not kind or kind in each.getAttribute("class").split()]


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.parametrize("kind", ["calibration", "test_reliability", "reliability", "binnings"])
def test_every_picture_is_well_formed(name, kind):
    for scale in ("linear", "logit"):
        page = parse(make_svg(kind, RESULTS[name], label="what it shows", scale=scale))
        assert page.getAttribute("role") == "img"
        assert page.getAttribute("aria-label") == "what it shows"
        assert not page.getElementsByTagName("button")
        numbers = re.findall(r"-?[\d.]+", " ".join(path.getAttribute("d") for path in every(page, "path")))
        assert numbers
        assert "nan" not in page.toxml().lower().replace("nanmo", "")


def test_bars_have_the_heights_of_the_histogram():
    result = RESULTS["20 bins"]
    histogram = result.scores.linear
    page = parse(make_svg("calibration", result, label="", scale="linear"))
    (group,) = every(page, "g", "pale")
    row = every(page, "svg", "row")[1]
    height = int(row.getElementsByTagName("svg")[0].getAttribute("height"))
    # M x y, then up to the height: v-...
    tall = [int(match[1]) for path in every(group, "path") if (match := re.search(r"v-(\d+)", path.getAttribute("d")))]
    top = make_picture("calibration", result, scale="linear").panels[1].y.limits[1]
    filled = histogram.n[histogram.n > 0]
    expected = np.rint(filled / top * FINE * height)
    assert np.abs(np.array(tall) - expected[expected > 0][: len(tall)]).max() <= 1  # rounded to a quarter of a pixel
    assert len(tall) == np.count_nonzero(expected)


def test_a_line_lies_where_its_window_does():
    result = RESULTS["zeros and ones"]
    picture = make_picture("calibration", result, scale="linear")
    panel = picture.panels[0]
    lines = next(mark for mark in panel.marks if getattr(mark, "texts", ()))
    page = parse(make_svg("calibration", result, label="", scale="linear"))
    group = next(each for each in every(page, "g", "line") if len(every(each, "path")) == len(lines.x))
    low, high = panel.x.limits
    for path, x in zip(every(group, "path"), lines.x, strict=True):
        begin = int(re.match(r"M(-?\d+)", path.getAttribute("d"))[1])
        assert begin == pytest.approx(WIDE * (x[0] - low) / (high - low), abs=1)


def test_hovering_texts_may_be_left_out():
    result = RESULTS["20 bins"]
    assert "<title>" in make_svg("calibration", result, label="")
    assert "<title>" not in make_svg("calibration", result, label="", texts=False)
    assert "<title>" not in make_thumbnail(result, "small")


def test_names_are_text():
    observations = {(EVIL,): truecal.Tally.from_arrays(*data(500)), ("b",): truecal.Tally.from_arrays(*data(500, 2))}
    table = judge_segments(observations, random_state=0, null_draws=9)
    for html in (
        make_svg("segments", table, label=EVIL),
        make_svg("metrics", {EVIL: RESULTS["5 bins"], "b": RESULTS["5 bins"]}, label=EVIL),
    ):
        assert "<script" not in html
        page = parse(html)
        assert page.getAttribute("aria-label") == EVIL
        assert any("alert(1)" in "".join(t.data for t in text.childNodes) for text in every(page, "text")) or (
            EVIL in "".join(part.data for item in every(page, "li") for part in item.childNodes if part.nodeType == 3)
        )


def test_windows_of_time_have_dates(rng):
    from datetime import date, timedelta

    observations = {date(2026, 1, 28) + timedelta(days=i): truecal.Tally.from_arrays(*data(300, i)) for i in range(40)}
    table = judge_windows(observations, every="1d", null_draws=9)
    texts = [
        "".join(part.data for part in text.childNodes)
        for text in every(parse(make_svg("drift", table, label="")), "text")
    ]
    dates = [text for text in texts if re.fullmatch(r"2026-\d\d-\d\d", text)]
    assert 3 <= len(dates) <= 9
    assert all(date.fromisoformat(text).weekday() == 0 for text in dates)  # Mondays


@pytest.mark.parametrize("days", [1, 5, 20, 100, 400, 3000, 20_000])
def test_ticks_of_dates_are_few_and_inside(days):
    ticks, labels, _ = find_ticks(AxisSpec((20_000.3, 20_000.3 + days), kind="date"))
    assert 1 <= len(ticks) <= 10
    assert all(20_000.3 <= tick <= 20_000.3 + days for tick in ticks)
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize("limits", [(0, 1), (0, 7.3e6), (-0.02, 0.3), (3, -0.5), (0, 0.004)])
def test_ticks_are_round_and_inside(limits):
    ticks, labels, turned = find_ticks(AxisSpec(limits))
    assert 2 <= len(ticks) <= 8
    assert min(limits) - 1e-9 <= min(ticks) <= max(ticks) <= max(limits) + 1e-9
    assert [float(label.replace(",", "")) for label in labels] == pytest.approx(ticks)
    assert not turned
    assert all(float(tick).is_integer() for tick in find_ticks(AxisSpec((0, 2.5), kind="count"))[0])
