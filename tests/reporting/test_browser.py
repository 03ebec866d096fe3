"""The report's page in real headless Chromium: on every screen, in print, without scripts, by keyboard."""

import base64
import json
import re
import shutil
import time
import zlib
from importlib.util import find_spec

import pytest
from conftest import missing
from pictured import q, y
from reported import DRAWN, EVIL, RIGHT, TINY, WRONG, segments, windows
from shown import FOUND

import truecal

pytestmark = pytest.mark.slow

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars --window-size=1440,900"
)
WIDTHS = (390, 768, 1440)
FOLDS = "document.querySelectorAll('details').forEach(d => d.open = true)"
# of every text that is shown: its colour and the nearest background, as [text, colour, background, in a picture]
COLOURS = """
const found = [];
for (const node of document.querySelectorAll('body *')) {
  const own = Array.from(node.childNodes).filter(n => n.nodeType === 3).map(n => n.data.trim()).join('');
  if (!own || !node.checkVisibility() || ['SCRIPT', 'STYLE', 'TITLE'].includes(node.tagName)) continue;
  const svg = node instanceof SVGElement;
  let back = svg ? node.closest('.row').parentElement : node;
  while (back && getComputedStyle(back).backgroundColor === 'rgba(0, 0, 0, 0)') back = back.parentElement;
  found.push([own, svg ? getComputedStyle(node).fill : getComputedStyle(node).color,
    back ? getComputedStyle(back).backgroundColor : 'rgb(255, 255, 255)']);
}
return found;
"""
# of every mark: what it is, and the colour that shows it
MARKS = """
return Array.from(document.querySelectorAll('.row .line, .row .area, .row .box, .row .pale')).map(node => {
  const look = getComputedStyle(node), stroke = look.stroke !== 'none';
  return [node.getAttribute('class'), stroke ? look.stroke : look.fill];
});
"""


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


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Pages of one model of each verdict, and of ten with segments and windows."""
    folder = tmp_path_factory.mktemp("pages")
    off = truecal.evaluate(y, q, **DRAWN)
    long = "a model with a long name and the folder /data/experiments/2026/run-17"
    ten = {EVIL: off, long: RIGHT, "日本": TINY} | {f"model {i}": WRONG for i in range(7)}
    found = {"miscalibrated": off, "right": RIGHT, "tiny": TINY}
    places = {name: truecal.report(result, folder / f"{name}.html") for name, result in found.items()}
    places["many"] = truecal.report(ten, folder / "many.html", segments=segments(), drift=windows())
    places["groups"] = truecal.report({"m": off}, folder / "groups.html", segments=segments(), drift=windows())
    return places


def show(browser, place, width=1440, *, dark=False, media="", scripts=True):
    feature = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": [feature]})
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": not scripts})
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(place.as_uri())


def run(browser, script):
    return browser.execute_script(script)


def ratio(one, other):
    """The contrast of two colours, as WCAG 2 defines it."""

    def luminance(colour):
        parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
        red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    light, deep = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (deep + 0.05)


def test_pages_are_silent_and_ask_for_nothing(browser, pages):
    browser.get_log("performance")
    for place in pages.values():
        show(browser, place)
        run(browser, FOLDS)
    assert browser.get_log("browser") == []
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = {m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"}
    assert asked - {"data:,"} == {place.as_uri() for place in pages.values()}
    assert not run(browser, "return Array.from(document.scripts).some(s => s.text === 'alert(1)')")


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_lies_beyond_the_screen(browser, pages, width):
    for name, place in pages.items():
        show(browser, place, width)
        run(browser, FOLDS)
        assert run(browser, "return document.documentElement.scrollWidth") <= width, name
        # pictures and sentences lie within; tables scroll in a frame of their own
        wide = run(
            browser,
            "return Array.from(document.querySelectorAll('.picture, .picture text, h1, h2, p, .tiles, .legend'))"
            ".filter(n => n.checkVisibility() && !n.closest('.wide')).map(n => [n.textContent, n.getBoundingClientRect()])"
            f".filter(([t, b]) => b.left < -1 || b.right > {width + 1}).map(([t, b]) => t)",
        )
        assert not wide, name


def test_the_diagram_and_the_bands_are_on_the_first_screen(browser, pages):
    for name in ("miscalibrated", "right", "tiny"):
        show(browser, pages[name])
        places = run(
            browser,
            "return ['#diagram-1', '#bands-1'].map(s => document.querySelector(s).getBoundingClientRect())"
            ".map(b => [b.left, b.top, b.right])",
        )
        (_, above, middle), (left, beside, right) = places
        assert above < 560  # of 900
        assert beside < 560
        assert middle <= left < right <= 1440
        clipped = run(
            browser,
            "return Array.from(document.querySelectorAll('.wide')).filter(n => n.checkVisibility()"
            " && n.scrollWidth > n.clientWidth + 1).map(n => n.getAttribute('aria-label'))",
        )
        assert not clipped


def test_a_phone_shows_the_bands_whole_and_labels_apart(browser, pages):
    for name in ("miscalibrated", "right", "tiny"):
        show(browser, pages[name], 390)
        table, frame = run(
            browser,
            "const t = document.querySelector('#bands-1'), f = t.closest('.wide') || t.querySelector('.wide');"
            " return [f.scrollWidth, f.clientWidth]",
        )
        assert table <= frame + 1, name
        touching = run(
            browser,
            """
            const found = [];
            for (const picture of document.querySelectorAll('.picture')) {
              const texts = Array.from(picture.querySelectorAll('text[text-anchor=middle]'))
                .filter(n => n.checkVisibility()).map(n => [n.textContent, n.getBoundingClientRect()]);
              for (const [a, p] of texts) for (const [b, q] of texts)
                if (p.left < q.left && Math.abs(p.top - q.top) < 2 && p.right > q.left) found.push(a + '|' + b);
            }
            return found
            """,
        )
        assert not touching, name


def test_without_scripts_nothing_is_missing(browser, pages):
    for place in pages.values():
        show(browser, place, scripts=False)
        # what is not folded by the reader's browser is shown, and every picture has its marks
        html = browser.page_source
        assert html.count('class="row"') > 1
        hidden = _evaluate(
            browser,
            "Array.from(document.querySelectorAll('section, table, figure, svg.row, h1, dl')).filter(n =>"
            " !n.checkVisibility() && !n.closest('details:not([open])')).length",
        )
        assert hidden == 0
        empty = _evaluate(
            browser,
            "Array.from(document.querySelectorAll('svg.row')).filter(n => n.checkVisibility() &&"
            " (n.getBoundingClientRect().width < 50 || !n.querySelector('path'))).length",
        )
        assert empty == 0
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def _evaluate(browser, expression):
    """Evaluate in a page whose own scripts do not run."""
    found = browser.execute_cdp_cmd("Runtime.evaluate", {"expression": expression, "returnByValue": True})
    return found["result"]["value"]


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_print_on_a4_has_everything(browser, pages, scripts):
    for name in ("miscalibrated", "groups", "many"):
        show(browser, pages[name], 688, media="print", scripts=scripts)  # A4 less margins of 14 mm, at 96 dpi
        if scripts:
            run(browser, "window.dispatchEvent(new Event('beforeprint'))")
        lost = _evaluate(
            browser,
            "JSON.stringify(Array.from(document.querySelectorAll('table, svg.row, dl, h1, h2, figcaption')).filter(n =>"
            " (!n.checkVisibility() || n.getBoundingClientRect().right > 692) && !n.closest('.off'))"
            ".map(n => n.id || n.textContent.slice(0, 60)))",
        )
        assert json.loads(lost) == [], name
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_the_printed_file_has_all_sections(browser, pages):
    show(browser, pages["groups"])
    options = {"preferCSSPageSize": True, "printBackground": True, "generateDocumentOutline": True}
    file = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", options)["data"])
    streams = [file]
    for part in re.findall(rb"stream\r?\n(.*?)endstream", file, flags=re.DOTALL):
        try:
            streams.append(zlib.decompressobj().decompress(part))
        except zlib.error:
            continue
    titles = {found.decode("latin-1") for text in streams for found in re.findall(rb"/Title ?\(([^)]*)\)", text)}
    heads = run(browser, "return Array.from(document.querySelectorAll('h2')).map(h => h.textContent)")
    assert {"Where", "Segments", "Over time", "How sure", "All metrics", "Bins", "How it was made"} <= set(heads)
    assert set(heads) <= titles


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_contrast_is_enough(browser, pages, dark):
    """WCAG 2.1: 4.5 to 1 for text, 3 to 1 for graphics."""
    for name in ("miscalibrated", "right", "many"):
        show(browser, pages[name], dark=dark)
        run(browser, FOLDS)
        ground = run(browser, "return getComputedStyle(document.body).backgroundColor")
        assert (ratio(ground, "rgb(0, 0, 0)") < 2) == dark
        faint = {(text, colour) for text, colour, back in run(browser, COLOURS) if ratio(colour, back) < 4.5}
        assert not faint
        pale = {(kind, colour) for kind, colour in run(browser, MARKS) if ratio(colour, ground) < 3}
        assert not pale


def test_in_grey_the_truth_is_told_from_what_is_allowed(browser, pages):
    """The lines of observed rates against the boxes of intervals and the bars of predictions, by luminance alone."""
    show(browser, pages["miscalibrated"])
    line, bar = run(
        browser,
        "return ['#diagram-1 .row .line.dark, #diagram-1 .row .line.red', '#diagram-1 .row .pale']"
        ".map(s => document.querySelector(s)).map(n => n.matches('.pale') ? getComputedStyle(n).fill :"
        " getComputedStyle(n).stroke)",
    )
    assert ratio(line, bar) >= 2.9
    signs = run(browser, "return Array.from(document.querySelectorAll('#diagram-1 .note')).map(n => n.textContent)")
    assert any("\N{BLACK DOWN-POINTING TRIANGLE}" in text for text in signs)


def test_the_switch_changes_the_axes(browser, pages):
    show(browser, pages["many"])
    drawn = "Array.from(document.querySelectorAll('.scaled > [data-scale]')).filter(n => n.checkVisibility())"
    for scale in ("linear", "logit", "linear"):
        run(browser, f"document.querySelector('input[value={scale}]').click()")
        assert set(run(browser, f"return {drawn}.map(n => n.dataset.scale)")) == {scale}
        assert run(browser, f"return {drawn}.filter(n => n.querySelector('svg.row').checkVisibility()).length") == 10


def test_hovering_a_window_shows_its_numbers(browser, pages):
    for scale in ("linear", "logit"):
        show(browser, pages["miscalibrated"])
        run(browser, f"document.querySelector('input[value={scale}]').click()")
        run(
            browser,
            f"""const lines = document.querySelectorAll('[data-scale={scale}] .row g.line path');
            const path = lines[lines.length - 1], box = path.getBoundingClientRect();
            path.closest('.picture').dispatchEvent(new PointerEvent('pointermove', {{ bubbles: true,
              clientX: (box.left + box.right) / 2, clientY: box.top, pageX: box.left, pageY: box.top }}));""",
        )
        text = run(browser, "return document.getElementById('tip').textContent")
        assert not run(browser, "return document.getElementById('tip').hidden")
        assert re.search(r"\[.*[\])]: [\d,]+ rows?\npredicted .*, observed .*\nO/E .*", text)


def test_tables_sort_by_number_and_by_text(browser, pages):
    show(browser, pages["groups"])
    run(browser, FOLDS)
    cells = "Array.from(document.querySelectorAll('#{} tbody tr')).map(r => r.cells[{}].textContent)"
    for table, column in (("segments-table", 0), ("bins-1", 1), ("bins-1", 4)):
        head = f"document.querySelectorAll('#{table} th')[{column}]"
        before = run(browser, f"return {cells.format(table, column)}")
        run(browser, f"{head}.querySelector('button').click()")
        assert run(browser, f"return {head}.ariaSort") == "ascending"
        after = run(browser, f"return {cells.format(table, column)}")
        assert sorted(after) == sorted(before)
        if column:
            numbers = [float(text.split()[0].replace(",", "")) if text else float("inf") for text in after]
            assert numbers == sorted(numbers)
        else:
            names = [int(re.search(r"\d+", name)[0]) if "no." in name else -1 for name in after]
            assert names == sorted(names)
        run(browser, f"{head}.querySelector('button').click()")
        assert run(browser, f"return {head}.ariaSort") == "descending"


def test_keyboards_and_screen_readers_are_served(browser, pages):
    for place in pages.values():
        show(browser, place)
        run(browser, FOLDS)
        counts = run(
            browser,
            "return [document.querySelectorAll('table').length, document.querySelectorAll('table > caption').length,"
            " document.querySelectorAll('th:not([scope])').length, document.querySelectorAll('h1').length,"
            " document.querySelectorAll('[role=img] a, [role=img] button, [role=img] input, [role=img] [tabindex]').length,"
            " Array.from(document.querySelectorAll('[role=img]')).filter(n => !n.ariaLabel).length,"
            " document.documentElement.lang]",
        )
        assert counts[0] == counts[1] > 3
        assert counts[2:] == [0, 1, 0, 0, "en"]
    show(browser, pages["miscalibrated"])
    outline = run(
        browser,
        "const link = document.querySelector('nav a'); link.focus({ focusVisible: true });"
        "return [getComputedStyle(link).outlineStyle, getComputedStyle(link).outlineWidth]",
    )
    assert outline == ["solid", "3px"]


def test_a_link_opens_what_is_folded(browser, pages):
    show(browser, pages["miscalibrated"])
    assert not run(browser, "return document.getElementById('bins').open")
    run(browser, "document.querySelector('nav a[href=\"#bins\"]').click()")
    end = time.monotonic() + 5
    while not run(browser, "return document.getElementById('bins').open"):
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture(scope="module")
def shown():
    """What a notebook shows of each kind of result."""
    for library in ("matplotlib", "polars"):
        if find_spec(library) is None:
            missing(f"{library} is not installed")
    return "".join(f'<div class="cell" id="c{i}">{make()._repr_html_()}</div>' for i, make in enumerate(FOUND.values()))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_notebooks_show_a_table_and_a_picture_in_their_own_colours(browser, tmp_path, shown, dark):
    """A page with the colours of a notebook around what each kind of result gives."""
    look = "background: #111; color: #ddd" if dark else "background: #fff; color: #222"
    place = tmp_path / "notebook.html"
    place.write_text(f'<!DOCTYPE html><meta charset="utf-8"><body style="{look}">{shown}</body>')
    show(browser, place, dark=dark)
    cells = run(
        browser,
        "return Array.from(document.querySelectorAll('.cell')).map(c => [c.querySelectorAll('td').length,"
        " Array.from(c.querySelectorAll('img')).filter(i => i.complete && i.naturalWidth > 300 && i.alt.length > 20"
        " && i.getBoundingClientRect().right <= 1440).length])",
    )
    assert len(cells) == len(FOUND)
    assert all(count > 3 and images for count, images in cells)
    faint = {text for text, colour, back in run(browser, COLOURS) if ratio(colour, back) < 4.5}
    assert not faint
    assert browser.get_log("browser") == []
