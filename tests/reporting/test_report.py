"""The HTML report: its traces read back against the Result, and the page itself in real headless Chromium."""

import base64
import colorsys
import csv
import json
import re
import shutil
import time
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest
from conftest import missing
from observed import judge_segments, judge_windows
from pictured import RESULTS, data, p, q, y

import truecal
from truecal import Metric, Quantile
from truecal.metrics import Gap
from truecal.plot import make_figure
from truecal.plot._axis import fit_axis
from truecal.plot._pictures import VERMILION, describe_each_bin
from truecal.reporting._report import write_verdict

try:
    import plotly.offline
except ImportError:
    missing("plotly is not installed")
ROOT = Path(__file__).parents[2]
PAGES = ["README.md", "docs/pictures.md", "docs/drift.md"]
EVIL = "<script>alert(1)</script>"
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --window-size=1200,900"
)


def test_a_single_binning_is_not_compared(tmp_path):
    assert "binnings-1" not in truecal.report(RESULTS["5 bins"], tmp_path / "r.html").read_text()


def segments(count=25):
    rng = np.random.default_rng(0)
    tallies = {}
    for i in range(count):
        score = rng.beta(1, 9, 1500)
        label = rng.random(1500) < (1 + (i == 3)) * score
        tallies[EVIL if i == 3 else f'no. {i}, "x"', "=1"] = truecal.Tally.from_arrays(label, score)
    return judge_segments(tallies, random_state=0, reference=999, by=("name", "kind"))


def windows(count=12):
    rng = np.random.default_rng(1)
    tallies = {}
    for i in range(count):
        score = rng.beta(1, 9, 1500)
        label = rng.random(1500) < (1 + (i == 3)) * score
        tallies[date(2026, 1, 28) + timedelta(days=i)] = truecal.Tally.from_arrays(label, score)
    return judge_windows(tallies, every="1d", mature_after="2d", random_state=0, intervals=19)


def test_the_verdict_tells_right_from_wrong():
    right = truecal.evaluate(*data(factor=1), metrics=["tce"], significance=0.001)
    text = write_verdict("right", right)
    assert text.startswith('<p class="verdict good"')
    assert "right: consistent.</b> No sign of error." in text
    assert 'class="verdict bad"' in write_verdict("right", right, "But predictions are off in a segment.")
    wrong = truecal.evaluate(y, p, metrics=["tce"])
    text = write_verdict(EVIL, wrong)
    assert text.startswith('<p class="verdict bad"')
    found = wrong.verdict
    assert ": off.</b> Overall the predictions are too high: " in text
    low, high = found.interval
    assert (
        f"{found.observed:,} / {found.expected:.4g} = {found.ratio:.3g} (95 % interval {low:.3g} to {high:.3g})" in text
    )
    assert text.count("<tr>") == 1 + len(found.ranges) > 1
    assert EVIL not in text
    assert "No verdict on <b>m</b>" in write_verdict("m", replace(wrong, verdict=None))
    assert write_verdict("m", truecal.evaluate([0, 1], [0.2, 0.7])).startswith('<p class="verdict "')  # not green


def test_the_file_is_replaced_only_when_complete(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")

    def fail(*_):
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", fail)
        with pytest.raises(OSError, match="disk full"):
            truecal.report(RESULTS["1 bins"], path)
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    assert path.read_text() == "old"
    assert truecal.report(RESULTS["1 bins"], path) == path
    assert path.read_text().startswith("<!DOCTYPE html>")


def test_ten_models_of_a_million_rows_stay_small(tmp_path):
    tally = truecal.Tally.from_arrays(*data(1_000_000))
    result = truecal.evaluate(tally)
    size = truecal.report({f"model {i}": result for i in range(10)}, tmp_path / "r.html").stat().st_size
    assert size - len(plotly.offline.get_plotlyjs().encode()) < 8e6


def test_classes_make_a_report(tmp_path):
    rng = np.random.default_rng(0)
    found = truecal.evaluate_classes(rng.integers(0, 3, 300), rng.dirichlet([1, 1, 1], 300), metrics=["tce", "ece"])
    text = truecal.report(found, tmp_path / "r.html", title=f"T {EVIL}").read_text()
    off = found.table.verdict.count("off")
    assert off >= 2  # labels without a relation to the predictions
    assert f"off, beyond what chance explains, in <b>{off} of 3 classes</b>" in text
    assert "3 classes, each against the rest, smallest p-value first" in text
    assert f"{found.top.verdict.count(found.top.verdict)} " in text
    assert "Observed / expected correct predictions" in text
    assert EVIL not in text


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    good = truecal.evaluate(*data(factor=1), reference=20, intervals=20, random_state=0)
    results = {EVIL: truecal.evaluate(y, q, reference=20, random_state=0), "right": good}
    path = tmp_path_factory.mktemp("report") / "report.html"
    return truecal.report(results, path, segments=segments(), drift=windows()), results


@pytest.fixture(scope="module")
def browser():
    if not shutil.which("chromium") or not shutil.which("chromedriver"):
        missing("chromium and chromedriver are not installed")
    try:
        from selenium import webdriver
    except ImportError:
        missing("selenium is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in FLAGS.split():
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    yield driver
    driver.quit()


def wait(browser, script):
    end = time.monotonic() + 15
    while not (found := browser.execute_script(f"return {script}")):
        assert time.monotonic() < end, script
        time.sleep(0.05)
    return found


def open_page(browser, page, width=1200, height=900, dark=False):
    feature = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(page[0].as_uri())
    browser.execute_script("document.getElementById('diagram-1').scrollIntoView()")
    wait(browser, "document.querySelector('#diagram-1 .main-svg') !== null")


def test_the_page_renders_in_silence(browser, page):
    open_page(browser, page)
    browser.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
    for number in browser.execute_script("return Array.from(document.querySelectorAll('.plot')).map(p => p.id)"):
        browser.execute_script(f"document.getElementById('{number}').scrollIntoView()")
        wait(browser, f"document.querySelector('#{number} .main-svg') !== null")
    assert browser.get_log("browser") == []
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = {m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"}
    assert asked - {"data:,"} == {page[0].as_uri()}


def test_names_are_text(browser, page):
    open_page(browser, page)
    assert browser.execute_script("return document.querySelector('#model-1 h2').textContent") == EVIL
    browser.execute_script("document.querySelector('.plot.free').scrollIntoView()")  # pictures are drawn when seen
    wait(browser, "document.querySelector('.plot.free .legendtext') !== null")
    legends = browser.execute_script(
        "return Array.from(document.querySelectorAll('.plot.free .legendtext')).map(t => t.textContent)"
    )
    assert EVIL in legends
    assert not browser.execute_script("return Array.from(document.scripts).some(s => s.text === 'alert(1)')")


def test_the_switch_changes_the_axes(browser, page):
    open_page(browser, page)
    labels = "Array.from(document.querySelectorAll('#diagram-1 .ytick text')).map(t => t.textContent)"
    for scale in ("linear", "logit", "linear"):
        browser.execute_script(f"document.querySelector('input[value={scale}]').click()")
        wait(browser, f"document.getElementById('diagram-1').dataset.drawn === '{scale}'")
        expected = fit_axis([page[1][EVIL]], None, scale).labels
        wait(browser, f"{labels}.slice(0, {len(expected)}).join() === '{','.join(expected)}'")


def test_hovering_a_bin_shows_its_numbers(browser, page):
    open_page(browser, page)
    browser.execute_script("Plotly.Fx.hover('diagram-1', [{curveNumber: 2, pointNumber: 17}])")
    wait(browser, "document.querySelector('#diagram-1 .hovertext text') !== null")
    shown = browser.execute_script(
        "return Array.from(document.querySelectorAll('#diagram-1 .hovertext .line')).map(t => t.textContent)"
    )
    assert "\n".join(shown) == describe_each_bin(page[1][EVIL].tables["tce"])[4]


def test_the_bins_sort_and_download(browser, page, tmp_path):
    open_page(browser, page)
    bins = page[1][EVIL].tables["tce"]
    column = "Array.from(document.querySelectorAll('#bins-1 tbody tr')).map(r => Number(r.cells[3].dataset.v))"
    assert browser.execute_script(f"return {column}") == bins.n.tolist()
    for order in ("ascending", "descending"):
        browser.execute_script("document.querySelector('#bins-1 th[data-name=n] button').click()")
        assert browser.execute_script(f"return {column}") == sorted(bins.n.tolist(), reverse=order == "descending")
        assert browser.execute_script("return document.querySelector('#bins-1 th[data-name=n]').ariaSort") == order
    browser.execute_script("document.querySelector('#bins-1 th[data-name=bin] button').click()")
    rows = download(browser, tmp_path, "bins-1")
    assert [int(row["n"]) for row in rows] == bins.n.tolist()
    assert [float(row["rate"]) for row in rows] == bins.rate.tolist()


def download(browser, folder, table):
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(folder)})
    browser.execute_script(f"document.querySelector('button[data-table={table}]').click()")
    file, end = folder / f"truecal-{table}.csv", time.monotonic() + 10
    while not file.exists() and time.monotonic() < end:
        time.sleep(0.05)
    return list(csv.DictReader(file.read_text().splitlines()))


def test_the_segments_are_text_that_sorts_and_downloads(browser, page, tmp_path):
    open_page(browser, page)
    table = segments()
    names = "Array.from(document.querySelectorAll('#segments-table tbody tr')).map(r => r.cells[0].textContent)"
    assert browser.execute_script(f"return {names}") == [table.names[i] for i in table.order()]
    caption = browser.execute_script("return document.querySelector('#segments-table caption').textContent")
    assert caption.startswith(f"25 segments of {EVIL}, worst first: the smallest p-value, then the largest excess")
    browser.execute_script("document.querySelector('#segments-table th[data-name=segment] button').click()")
    ordered = sorted(table.names, key=lambda name: int(re.search(r"\d+", name)[0]) if "no." in name else -1)
    assert browser.execute_script(f"return {names}") == ordered
    browser.execute_script("document.querySelector('#segments-table th[data-name=excess] button').click()")
    order = np.argsort(table.excess)
    assert browser.execute_script(f"return {names}") == [table.names[i] for i in order]
    rows = download(browser, tmp_path, "segments-table")
    assert [row["segment"] for row in rows] == [table.names[i] for i in order]
    assert [float(row["value"]) for row in rows] == table.value[order].tolist()
    assert "Of 25 segments 1 are" in browser.execute_script("return document.querySelector('#by-segment').textContent")
    browser.execute_script("document.getElementById('segments').scrollIntoView()")
    shown = "document.querySelector('#segments .ytick text')"
    wait(browser, f"{shown} !== null")
    label = f"name={EVIL}, kind==1"[:35] + "\N{HORIZONTAL ELLIPSIS}"  # what there is room for
    assert browser.execute_script(f"return {shown}.textContent") == label
    assert not browser.execute_script("return Array.from(document.scripts).some(s => s.text === 'alert(1)')")


def test_the_windows_sort_download_and_are_drawn(browser, page, tmp_path):
    open_page(browser, page)
    table = windows()
    cells = "Array.from(document.querySelectorAll('#drift-table tbody tr')).map(r => r.cells[{}].textContent)"
    assert browser.execute_script(f"return {cells.format(0)}") == table.names
    assert browser.execute_script(f"return {cells.format(1)}") == table.verdict
    browser.execute_script("document.querySelector('#drift-table th[data-name=verdict] button').click()")
    assert browser.execute_script(f"return {cells.format(1)}") == sorted(table.verdict)
    for _ in range(2):
        browser.execute_script("document.querySelector('#drift-table th[data-name=window] button').click()")
    assert browser.execute_script(f"return {cells.format(0)}") == table.names[::-1]
    rows = download(browser, tmp_path, "drift-table")
    assert [row["window"] for row in rows] == table.names[::-1]
    assert [float(row["value"]) for row in rows] == table.value[::-1].tolist()
    assert [row["p_adjusted"] for row in rows[:2]] == ["", ""]  # labels not complete
    text = browser.execute_script("return document.querySelector('#by-window .verdict').textContent")
    assert text.startswith("Of 10 windows with complete labels, in 1 the predictions are off beyond chance")
    assert "2 more have labels that are not complete" in text
    browser.execute_script("document.getElementById('drift').scrollIntoView()")
    wait(browser, "document.querySelector('#drift .main-svg') !== null")
    drawn = "Array.from(document.querySelectorAll('#drift .legendtext')).map(t => t.textContent)"
    assert "alarm: calibration" in browser.execute_script(f"return {drawn}")
    assert "labels not complete" in browser.execute_script("return document.getElementById('drift').textContent")


def texts(text, pattern):
    """What stands between the tags of each match."""
    return [re.sub("<[^>]*>", " ", found) for found in re.findall(pattern, text, flags=re.DOTALL)]


def test_a_single_models_verdict_is_said_once(tmp_path):
    result = truecal.evaluate(y, p, metrics=["tce"], reference=20, random_state=0)
    said = write_verdict("mine", result)[len('<p class="verdict bad" ') :]
    assert truecal.report({"mine": result}, tmp_path / "a.html").read_text().count(said) == 1
    several = truecal.report({"mine": result, "other": result}, tmp_path / "b.html").read_text()
    assert several.count(said) == 1  # with its own diagrams; the top compares
    assert several.index(said) > several.index('id="model-1"')


def test_intervals_say_their_level_and_what_they_are_of(tmp_path):
    names = ["tce", "ece"]
    result = truecal.evaluate(y, p, metrics=names, reference=20, intervals=20, confidence=0.8, random_state=0)
    text = truecal.report(result, tmp_path / "r.html").read_text()
    cells = texts(text, "<td>.*?</td>")
    for name in names:
        span = result.intervals[name]
        low, high = (f"{end:.2f} %" if name == "tce" else f"{end:.5f}" for end in (span.low, span.high))
        assert any(f"80 % interval {low} to {high}" in cell for cell in cells)
    assert "80 % interval: where the metric lies on average over data like these." in text
    plain = truecal.report(truecal.evaluate(y, p, metrics=names), tmp_path / "plain.html").read_text()
    assert "where the metric lies" not in plain


def test_numbers_by_segment_and_window_have_units(tmp_path):
    table, days = segments(3), windows(3)
    text = truecal.report(RESULTS["5 bins"], tmp_path / "r.html", segments=table, drift=days).read_text()
    worst, day = table.order()[0], 0
    for number, found, i in (("segments-table", table, worst), ("drift-table", days, day)):
        (rows,) = re.findall(f'<table class="sorts" id="{number}">(.*?)</table>', text, flags=re.DOTALL)
        heads = re.findall(r'data-name="(\w+)"><button type="button">(.*?)</button>', rows)
        first = dict(zip((key for key, _ in heads), re.findall("<td data-v=[^>]*>(.*?)</td>", rows), strict=False))
        assert dict(heads)["value"] == "TCE"
        assert first["n"] == "1,500"  # rows of each segment and window, as made above
        for key in ("value", "by_chance"):
            assert first[key] == f"{getattr(found, key)[i]:.2f} %"
        for key in ("prevalence", "mean"):
            assert first[key] == f"{100 * getattr(found, key)[i]:.3g} %"
    assert dict(heads)["low"] == "95 % interval from"  # the level by default
    gap = judge_segments({("a",): truecal.Tally.from_arrays(y, p)}, Metric(Quantile(5), Gap()), random_state=0)
    text = truecal.report(RESULTS["5 bins"], tmp_path / "gap.html", segments=gap).read_text()
    assert f">{gap.value[0]:.5f}</td>" in text  # a gap is a probability, not a percentage


def test_several_models_say_whose_the_segments_and_windows_are(tmp_path):
    table, days = segments(4), windows(5)
    one = truecal.report({"a & b": RESULTS["5 bins"]}, tmp_path / "one.html", segments=table, drift=days).read_text()
    assert [text.strip() for text in texts(one, '<section id="by-.*?</h2>')] == ["Segments", "Drift"]
    both = {"a & b": RESULTS["5 bins"], "c": RESULTS["20 bins"]}
    two = truecal.report(both, tmp_path / "two.html", segments=table, drift=days).read_text()
    heads = [text.strip() for text in texts(two, '<section id="by-.*?</h2>')]
    assert heads == ["Segments of a &amp; b", "Drift of a &amp; b"]
    assert "But predictions of <b>a &amp; b</b> are off" in two
    captions = texts(two, "<caption>.*?</caption>")
    assert any("4 segments of a &amp; b, worst first" in caption for caption in captions)
    assert any("5 windows of a &amp; b" in caption for caption in captions)


def test_windows_too_small_to_tell_are_counted(tmp_path):
    tally = truecal.Tally.from_arrays(*data(factor=1))
    small = truecal.Tally.from_arrays([0, 1], [0.1, 0.2])  # two rows show nothing
    table = judge_windows({"a": tally, "b": small, "c": small}, reference=9, intervals=0)
    assert table.verdict[1:] == ["too small to tell"] * 2
    text = truecal.report(RESULTS["5 bins"], tmp_path / "r.html", drift=table).read_text()
    assert "<b>2</b> of them have too few rows to tell." in text
    assert "crosses are windows too small to tell" in text


def test_words_and_colours_agree(tmp_path):
    red, green, blue = (int(VERMILION[i : i + 2], 16) / 255 for i in (1, 3, 5))
    assert 15 < 360 * colorsys.rgb_to_hsv(red, green, blue)[0] < 30  # degrees: pure red is at 0, orange at 30 and up
    page = truecal.report(truecal.evaluate(y, p), tmp_path / "r.html", segments=segments(3), drift=windows(3))
    told = [page.read_text().partition("<script")[0], *((ROOT / name).read_text() for name in PAGES)]
    for text in told:
        assert "orange-red" in text.lower()
        assert not re.findall(r"(?<!orange-)\bred\b", text, flags=re.IGNORECASE)


def test_windows_named_by_the_user_are_text(tmp_path):
    tally = truecal.Tally.from_arrays(*data())
    table = judge_windows({EVIL: tally, "b": tally}, reference=9, intervals=0)
    text = truecal.report(RESULTS["1 bins"], tmp_path / "r.html", drift=table).read_text()
    assert EVIL not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text


def test_pictures_keep_their_height_when_the_window_changes(browser, page):
    open_page(browser, page)
    browser.execute_script("document.getElementById('drift').scrollIntoView()")
    wait(browser, "document.querySelector('#drift .main-svg') !== null")
    drawn = "document.querySelector('#drift .main-svg').getBoundingClientRect()"
    height = make_figure("drift", windows())["layout"]["height"]
    assert browser.execute_script(f"return {drawn}.height") == height
    for width in (900, 1000):
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        wait(browser, f"Math.abs({drawn}.width - {width - 32}) < 20")  # a margin of 1 rem on either side
        assert browser.execute_script(f"return {drawn}.height") == height


@pytest.mark.parametrize(
    ("width", "dark"), [(1200, False), (390, False), (1200, True)], ids=["desktop", "phone", "dark"]
)
def test_it_fits_and_suits_every_screen(browser, page, tmp_path, width, dark):
    open_page(browser, page, width=width, dark=dark)
    wide = browser.execute_script("return [document.documentElement.scrollWidth, window.innerWidth]")
    assert wide[0] <= wide[1] == width  # no sideways scroll
    ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    ink = browser.execute_script("return getComputedStyle(document.querySelector('#diagram-1 .ytick text')).fill")
    light = [sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in (ground, ink)]
    assert (light[0] < 100 and light[1] > 500) if dark else (light[0] > 700 and light[1] < 200)
    picture = base64.b64decode(browser.execute_cdp_cmd("Page.captureScreenshot", {})["data"])
    (tmp_path / "screen.png").write_bytes(picture)
    assert len(picture) > 20_000


def test_in_print_nothing_overlaps_or_is_cut(browser, page):
    open_page(browser, page, width=720)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    browser.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    wait(browser, "Array.from(document.querySelectorAll('.plot')).every(p => p.querySelector('.main-svg'))")
    gaps = browser.execute_script(
        "return Array.from(document.querySelectorAll('figure')).map(f => f.querySelector('figcaption')"
        ".getBoundingClientRect().top - f.querySelector('.main-svg').getBoundingClientRect().bottom)"
    )
    assert min(gaps) >= -1
    wide = browser.execute_script("return Array.from(document.querySelectorAll('table')).map(t => t.offsetWidth)")
    assert max(wide) <= 720
    browser.execute_script("window.dispatchEvent(new Event('afterprint'))")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_tables_and_pictures_speak_to_screen_readers(browser, page):
    open_page(browser, page)
    counts = browser.execute_script(
        "return [document.querySelectorAll('table').length, document.querySelectorAll('table > caption').length,"
        " document.querySelectorAll('.plot').length, document.querySelectorAll('.plot[role=img][aria-label]').length,"
        " document.querySelectorAll('th:not([scope])').length, document.documentElement.lang]"
    )
    assert counts[0] == counts[1] == 7
    assert counts[2] == counts[3] > 4
    assert counts[4:] == [0, "en"]


def test_a_report_is_html_and_its_top_does_not_hide_wrong_segments(tmp_path, rng, need):
    need("plotly")
    p = rng.beta(1, 9, size=(2, 3000))
    truth = p * np.array([[1.0], [1.8]])
    tallies = {
        (name,): truecal.Tally.from_arrays(rng.random(3000) < np.minimum(q, 1), s)
        for name, q, s in zip("ab", truth, p, strict=True)
    }
    table = judge_segments(tallies, random_state=0, by=["country"])
    right = truecal.evaluate(tallies["a",], ["tce"])
    with pytest.raises(ValueError, match="`path` of a report must end in .html; it is 'report.pdf'"):
        truecal.report({"m": right}, "report.pdf")
    text = truecal.report({"m": right}, tmp_path / "a.html", segments=table).read_text()
    top = text[text.index('id="verdict"') :][:2000]
    assert "But predictions are off, beyond what chance explains, in <b>1 of 2 segments</b>." in top
