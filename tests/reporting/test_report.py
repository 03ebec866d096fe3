"""The report's page as text: its words and tables against the results, its sizes, and what it holds for a regulator."""

import csv
import html
import io
import re
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from urllib.parse import unquote

import numpy as np
import pytest
from observed import judge_segments, judge_windows
from pictured import RESULTS, data, p, q, y
from reported import DRAWN, EVIL, RIGHT, TINY, WRONG, segments, windows

import truecal
from truecal import Metric, Quantile
from truecal.metrics import Gap
from truecal.words import format_p_value, format_ratio_cell, label_result
from truecal.words._format import round_ratios

pytestmark = pytest.mark.slow


def write(folder, results, **options):
    return truecal.report(results, folder / "report.html", **options).read_text().replace("\N{NO-BREAK SPACE}", " ")


def shown(page):
    """The text of a page, without tags, styles, scripts and what hovering shows."""
    page = re.sub(
        r"<(style|script|title)\b.*?</\1>|</?code>", lambda found: " " if found[1] else "", page, flags=re.DOTALL
    )
    return re.sub(r"\s+", " ", html.unescape(re.sub("<[^>]*>", " ", page)))


def table(page, number):
    """The rows of a table as records."""
    found = re.search(rf'<table id="{number}".*?</table>', page, flags=re.DOTALL)[0]
    heads = [shown(cell).strip() for cell in re.findall("<th.*?</th>", found, flags=re.DOTALL)]
    rows = re.findall("<tr>(<td.*?)</tr>", found, flags=re.DOTALL)
    cells = [[shown(cell).strip() for cell in re.findall("<td.*?</td>", row, flags=re.DOTALL)] for row in rows]
    return [dict(zip(heads, row, strict=True)) for row in cells]


def download(page, number):
    """The file that a table's link holds."""
    link = re.search(rf'download="truecal-{number}.csv" href="data:text/csv;charset=utf-8,([^"]*)"', page)[1]
    return list(csv.DictReader(io.StringIO(unquote(link))))


@pytest.mark.parametrize(
    ("result", "badge", "tone"),
    [
        (RIGHT, "\N{CHECK MARK} consistent", "good"),
        (WRONG, "\N{MULTIPLICATION X} miscalibrated", "bad"),
        (TINY, "? inconclusive", "unsure"),
    ],
    ids=["right", "miscalibrated", "undecidable"],
)
def test_the_sentence_the_picture_and_the_verdict_agree(tmp_path, result, badge, tone):
    page = write(tmp_path, result)
    top = page[: page.index("</dl>")]
    assert shown(re.search('<span class="badge.*?</p>', top, flags=re.DOTALL)[0]).strip() == badge
    assert f'class="verdict {tone}"' in top
    assert shown(re.search("<h1>.*?</h1>", top, flags=re.DOTALL)[0]).strip().replace(
        " :", ":"
    ) == result.summary.rstrip(".")
    assert " ".join(result.sentences()[1:]) in shown(top)
    diagram = re.search('<figure id="diagram-1">.*?</figure>', page, flags=re.DOTALL)[0]
    assert f'aria-label="{result.summary} O/E by score band' in html.unescape(diagram)
    coloured = re.search(r'class="(area|box|line|note) (blue|red)"', diagram)
    assert bool(coloured) == (result.verdict.status == "miscalibrated")
    bands = table(page, "bands-1")
    assert [row["score band"] for row in bands] == list(result.bands.band)
    for row, found in zip(bands, result.verdict.bands, strict=True):
        (cell,) = (cell for head, cell in row.items() if head.startswith("O/E"))
        span = format_ratio_cell(found.ratio, found.odds_ratio.ratio_low, found.odds_ratio.ratio_high)
        assert span.partition(" ")[0] in cell
        assert (found.direction or "") in cell
        assert ("predicts" in cell) == (found.direction is not None)


def test_a_certain_prediction_that_a_label_contradicts_has_its_sign(tmp_path):
    y, p = np.arange(1200) % 600 == 0, np.repeat([0.0, 0.3], [600, 600])
    page = write(tmp_path, truecal.evaluate(y, p, metrics=["ltce"]))
    cells = [cell for row in table(page, "bands-1") for head, cell in row.items() if head.startswith("O/E")]
    (cell,) = (cell for cell in cells if "none expected" in cell)
    assert "under-predicts" in cell


def test_what_no_number_has_is_undefined(tmp_path):
    """Predictions of 0 alone have no log-odds, no information, and no detectable odds ratio."""
    result = truecal.evaluate([0, 0, 1] * 20, [0.0] * 60, ["ltce", "ltce_information", "slope"], null_draws=19)
    page = write(tmp_path, result)
    assert table(page, "metrics")[2]["p"] == "undefined"
    assert "No odds ratio would have been detected with 80% power." in page
    assert "nan" not in {cell for row in table(page, "metrics") for cell in row.values()}


def test_the_four_numbers_are_those_of_the_verdict(tmp_path):
    page = write(tmp_path, WRONG)
    tiles = re.findall(r"<div><dt>(.*?)</dt><dd>(.*?)</dd></div>", page)
    found, null = WRONG.verdict, WRONG.nulls["ltce"]
    ratio, low, high = round_ratios(found.ratio, *found.interval)
    assert tiles == [
        ("of 4,000 predictions rejected (Local TCE)", f"{found.local.value:.2f}%"),
        (f"rejected on average if calibrated (5–95%: {null.low:.2f}–{null.high:.2f}%)", f"{null.mean:.2f}%"),
        (f"O/E (95% CI {low}–{high})", ratio),
        ("of the combined component tests", "p &lt; 0.0001"),
    ]
    plain = write(tmp_path, truecal.evaluate(y, p, metrics=["tce"]))
    assert "<dt>rejected on average if calibrated</dt><dd>5%</dd>" in plain  # by definition, at the level of 0.05


def test_a_number_is_printed_one_way(tmp_path):
    text = shown(write(tmp_path, WRONG))
    value = WRONG.values["ltce"]
    assert text.count(f"{value:.2f}%") >= 3  # the headline, how sure, all metrics
    for digits in (0, 1):
        assert f" {value:.{digits}f}%" not in text


def test_p_at_the_floor_of_the_draws_is_a_bound(tmp_path):
    assert WRONG.nulls["ltce"].p_value == pytest.approx(1 / 21)  # 20 draws, none as large
    rows = table(write(tmp_path, WRONG), "metrics")
    by_name = {row["metric"]: row for row in rows}
    assert by_name["Local TCE"]["p"] == "\N{LESS-THAN OR EQUAL TO} 0.048"
    assert by_name["Local TCE"]["value"] == WRONG.format("ltce")


def test_one_word_for_one_thing(tmp_path):
    for result in (RIGHT, WRONG, TINY):
        text = shown(write(tmp_path, result, segments=segments(4), drift=windows(5))).lower()
        for other in ("contradict", "refut", "but predictions"):
            assert other not in text


def test_green_needs_that_nothing_is_miscalibrated(tmp_path):
    found = segments()
    page = write(tmp_path, {"m": RIGHT}, segments=found)
    top = page[: page.index("</dl>")]
    assert 'class="verdict unsure"' in top
    assert "consistent overall" in shown(top)
    worst = f"(name={EVIL}, kind==1: under-predicts, O/E {found.ratio[found.order()[0]]:.2f})"
    assert f"miscalibrated 1 of 25 segments {worst}." in shown(top)
    wrong = write(tmp_path, {"m": WRONG}, segments=segments())
    assert f"miscalibrated 1 of 25 segments {worst}." in shown(wrong[: wrong.index("</dl>")])
    unknown = write(tmp_path, replace(RIGHT, verdict=None))
    assert "<h1>No verdict.</h1>" in unknown
    assert "badge" not in unknown.partition("</style>")[2]


def test_several_models_are_counted_and_ranked(tmp_path):
    named = {"right": RIGHT, "tiny": TINY, "wrong": WRONG, "worse": truecal.evaluate(y, np.minimum(2 * p, 1), **DRAWN)}
    page = write(tmp_path, named)
    assert "<h1>2 of 4 models are miscalibrated, 1 consistent, 1 inconclusive</h1>" in page
    rows = table(page, "models")
    assert [row["model"] for row in rows] == ["worse", "wrong", "tiny", "right"]
    assert [row["status"][2:] for row in rows] == ["miscalibrated", "miscalibrated", "inconclusive", "consistent"]
    assert [row["finding"] for row in rows] == [label_result(named[row["model"]]) for row in rows]
    assert page.count('class="picture thumbnail"') == 4
    assert "<h1>Both models are miscalibrated</h1>" in write(tmp_path, {"a": WRONG, "b": WRONG})
    assert "<h1>1 of 2 models is miscalibrated, 1 consistent</h1>" in write(tmp_path, {"a": WRONG, "b": RIGHT})


def test_all_metrics_have_models_as_rows(tmp_path):
    named = {f"model {i}": WRONG for i in range(10)}
    rows = table(write(tmp_path, named), "metrics")
    assert [row["model"] for row in rows[:10]] == list(named)
    assert [row["metric"] for row in rows[:10]] == ["Local TCE"] * 10
    assert len(rows) == 10 * len(WRONG.values)
    assert len(rows[0]) == 8  # as many columns as for one model, and its name


def test_pages_are_small(tmp_path):
    result = truecal.evaluate(truecal.Tally.from_arrays(*data(1_000_000)), **DRAWN)
    assert len(write(tmp_path, result).encode()) < 300_000
    ten = write(tmp_path, {f"model {i}": result for i in range(10)})
    assert len(ten.encode()) < 1_000_000


def test_nothing_is_loaded_and_numbers_of_elements_are_unique(tmp_path):
    page = write(tmp_path, {"a": WRONG, EVIL: RIGHT}, segments=segments(), drift=windows())
    assert not re.findall(r"""\b(?:src|href)=["'](?!#|data:)""", page)
    numbers = Counter(re.findall(r'\bid="([^"]*)"', page))
    assert max(numbers.values()) == 1
    assert set(re.findall(r'href="#([^"]*)"', page)) <= set(numbers)
    assert EVIL not in page
    assert html.escape(EVIL) in page


def test_what_a_regulator_asks_for(tmp_path):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"y": y, "p": np.where(np.arange(4000) < 7, np.nan, p)})
    observations = truecal.read(frame, label="y", score="p", missing="drop")
    result = truecal.evaluate(observations, null_draws=30, resamples=40, random_state=5, threshold=0.01)
    page = write(tmp_path, {"m": result}, settings={"data": "preds.csv", "--by": "country"})
    (rows,) = table(page, "rows")
    assert (rows["rows read"], rows["dropped"], rows["evaluated"]) == ("4,000", "7", f"{result.n:,}")
    assert rows["out of scope"] == f"{3993 - result.n:,}"
    assert rows["why"] == "p is NaN in 7"
    assert "<code>p</code> is NaN in 7" in page
    found = {row["setting"]: row["value"] for row in table(page, "options")}
    assert found["data"] == "preds.csv"
    assert found["--by"] == "country"
    assert found["seed"] == "5"
    assert found["null draws"] == "30"
    assert found["resamples"] == "40 (95% CI)"
    assert found["evaluated by"] == f"truecal {truecal.__version__}"
    assert found["evaluated"] == "scores of at least 0.01"
    assert datetime.now(UTC).strftime("%Y-%m-%d") in found["written"]
    assert "preds.csv" in page[: page.index("<h1>")]


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
    with pytest.raises(ValueError, match="`path` of a report must end in .html; it is 'report.pdf'"):
        truecal.report({"m": RIGHT}, "report.pdf")


@pytest.mark.parametrize("name", RESULTS)
def test_every_kind_of_result_makes_a_page(tmp_path, name):
    page = write(tmp_path, RESULTS[name], scale="logit")
    assert RESULTS[name].summary.rstrip(".") in shown(page)
    assert ("binnings-1" in page) == (len(set(map(id, RESULTS[name].tables.values()))) > 1)


def test_bins_show_what_they_are_and_are_a_file(tmp_path):
    page = write(tmp_path, {"m": truecal.evaluate(y, q, null_draws=20, random_state=0)})
    bins = truecal.evaluate(y, q).tables["ltce"]
    rows = table(page, "bins-1")
    assert list(rows[0]) == [
        *("scores", "n", "O", "predicted", "observed", "O/E (95% CI)", "accepted", "p", "rejected", "side"),
    ]
    assert "the rejected share is the mean over eight grids of overlapping bins" in page
    assert [row["n"] for row in rows] == [f"{n:,}" for n in bins.n]
    for row, low, high in zip(rows, bins.too_low, bins.too_high, strict=True):
        assert row["side"] == ("too low" if low > high else "too high" if high > low else "")
    file = download(page, "bins-1")
    assert [int(row["n"]) for row in file] == bins.n.tolist()
    np.testing.assert_allclose([float(row["rate"]) for row in file], bins.rate, rtol=1e-7)
    assert {"ratio", "ratio_low", "ratio_high", "n_too_low", "p_value"} <= set(file[0])


def test_no_line_of_a_page_begins_with_the_sign_of_a_number(tmp_path):
    page = truecal.report(WRONG, tmp_path / "report.html").read_text()
    main = page[page.index("<main>") : page.index("</main>")]
    assert "%" in main
    assert not re.search(r"[0-9]\s%", main)


def test_the_head_of_a_model_that_drifted_names_the_drift(tmp_path):
    """The last two of 14 windows have twice the positives that were predicted."""
    positives = [40] * 12 + [82] * 2
    days = {i: truecal.Tally(np.array([0.003]), np.array([15_000]), np.array([k])) for i, k in enumerate(positives)}
    text = shown(write(tmp_path, WRONG, drift=judge_windows(days)))
    assert "Calibration drift (p < 0.0001)" in text
    assert "Calibration drifted (see Over time): recalibrate on recent rows, or retrain." in text
    assert "Recalibrate before using" not in text
    assert "Recalibrate before using" in shown(write(tmp_path, WRONG))


def test_segments_and_windows_are_told_listed_and_files(tmp_path):
    found, days = segments(), windows()
    page = write(tmp_path, {"a & b": RIGHT, "c": WRONG}, segments=found, drift=days)
    text = shown(page)
    assert "Segments of a & b" in text
    assert "Over time of a & b" in text
    alarms = r"Miscalibrated in a & b: 1 of 25 segments \(name=.*?\); 1 of 12 periods, the last 2026-01-31\."
    assert re.search(alarms, text)
    assert "1 of 25 segments is miscalibrated (Holm-adjusted p)." in text
    assert "1 of 10 periods is miscalibrated individually (Holm-adjusted p): 2026-01-31." in text
    assert "2 periods are pending: labels are not complete yet." in text
    rows = table(page, "segments-table")
    assert [row["name, kind"] for row in rows] == [", ".join(found.segment[i]) for i in found.order()]
    assert [row["period"] for row in table(page, "drift-table")] == days.names
    assert [row["name"] for row in download(page, "segments-table")] == [key[0] for key in found.segment]
    np.testing.assert_allclose(
        [float(row["value"]) for row in download(page, "drift-table")], days.value, rtol=1e-7, atol=1e-9
    )
    alone = write(tmp_path, {"a & b": RIGHT}, segments=found)
    assert "<h2>Segments</h2>" in alone


def test_numbers_by_segment_have_units(tmp_path):
    found = segments(3)
    worst = found.order()[0]
    row = table(write(tmp_path, RESULTS["5 bins"], segments=found), "segments-table")[0]
    assert row["n"] == "1,500"  # as made above
    assert row["tce"] == f"{found.value[worst]:.2f}%"
    gap = judge_segments({("a",): truecal.Tally.from_arrays(y, p)}, Metric(Quantile(5), Gap()), random_state=0)
    page = write(tmp_path, RESULTS["5 bins"], segments=gap)
    assert f">{gap.value[0]:.5f}</td>" in page  # a gap is a probability, not a percentage


def test_two_models_are_compared_where_asked_for(tmp_path):
    found = truecal.compare(y, p, p**1.2, ["ltce", "log_loss"])
    page = write(tmp_path, {"first": RIGHT, "second": WRONG}, comparison=found)
    section = re.search(r'<section id="compared">.*?</section>', page, flags=re.DOTALL)[0]
    assert " ".join(found.sentences()) in shown(section)
    assert '<a href="#compared">Which is better</a>' in page
    rows = table(page, "comparison-table")
    assert [(row["metric"], row["conclusion"]) for row in rows] == list(
        zip(found.metric, found.conclusion, strict=True)
    )
    assert [float(row["difference"]) for row in download(page, "comparison-table")] == pytest.approx(found.difference)
    assert "tests whether two models differ" not in page
    alone = write(tmp_path, {"first": RIGHT, "second": WRONG})
    assert "Which is better" not in alone
    assert "<code>--compare</code>, or <code>compare</code> in Python, tests whether two models differ" in alone


def test_classes_make_a_report(tmp_path):
    rng = np.random.default_rng(0)
    found = truecal.evaluate_classes(rng.integers(0, 3, 300), rng.dirichlet([1, 1, 1], 300), metrics=["tce", "ece"])
    page = write(tmp_path, found, title=f"T {EVIL}")
    text = shown(page)
    wrong = list(found.table.status).count("miscalibrated")
    assert wrong >= 2  # labels without a relation to the predictions
    assert f"{wrong} of 3 classes." in text
    assert "3 classes, each against the rest, smallest p-value first" in text
    ways = [row["direction"] for row in table(page, "classes")]
    assert ways == [found.table.direction[i] for i in found.table.order()]
    assert "overconfident" in ways
    assert found.top.summary.rstrip(".") in text
    assert f"<dd>{format_p_value(found.p_value).replace('<', '&lt;')}</dd>" in page
    assert "positives" not in found.top.summary
    assert "Most probable class Of several classes" in text
    assert EVIL not in page


def test_a_map_has_a_section_with_before_and_after(tmp_path):
    recalibration = truecal.recalibrate(y, p**1.2, "logistic")
    validation = recalibration.validation
    page = write(tmp_path, next(iter(RESULTS.values())), recalibration=recalibration)
    section = re.search(r'<section id="recalibration">.*?</section>', page, flags=re.DOTALL)[0]
    assert " ".join(recalibration.sentences()).replace("`", "") in shown(section)
    assert "<svg" in section
    parameters = {row["parameter"]: row["value"] for row in table(page, "recalibration-map")}
    assert (parameters["kind"], float(parameters["intercept"])) == ("logistic", recalibration.map.intercept)
    rows = {row["metric"]: row for row in table(page, "recalibration-effect")}
    assert rows["brier"]["after"] == f"{validation.after['brier']:.5g}"
    assert rows["brier"]["reduction"] == f"{validation.brier.difference:.3g}"
    assert rows["O/E"]["before"] == f"{validation.before.verdict.ratio:.5g}"
    assert rows["O/E"]["reduction"] == ""
    assert "recalibration-offsets" not in page
    segments = {"by": ("country",), "segments": (("de",), ("fr",)), "offsets": np.log([0.5, 2])}
    named = replace(recalibration, **segments, validation=None)
    page = write(tmp_path, next(iter(RESULTS.values())), recalibration=named)
    offsets = [row["odds ratio"] for row in table(page, "recalibration-offsets")]
    assert offsets == ["2", "0.5"]  # from the largest on
    assert '<a href="#recalibration">Recalibration</a>' in page
    bare = write(tmp_path, next(iter(RESULTS.values())), recalibration=replace(recalibration, validation=None))
    assert "The map was not validated on held-out rows." in shown(bare)
