"""What readers once saw and must not see again, in pictures and on a terminal; tests/reporting has the same of pages."""

import re
from html import unescape

import numpy as np
import pytest
from command import ESCAPES, run, show, widest, write_csv
from conftest import missing

import truecal
from truecal.plot._kinds import make_picture
from truecal.plot._marks import BLUE, VERMILION, Areas, Lines, Points
from truecal.results import from_json
from truecal.words import format_p_value, label_sign

try:
    import matplotlib  # noqa: F401
except ImportError:
    missing("matplotlib is not installed")


def simulate(change, rows=20_000, seed=0):
    """Labels of predictions whose truth `change` tells."""
    rng = np.random.default_rng(seed)
    p = rng.beta(0.5, 5, rows)
    return (rng.random(rows) < change(p)).astype(int), p


RIGHT = simulate(lambda p: p)
LOW = simulate(lambda p: np.minimum(1.6 * p, 1))
FEW = simulate(lambda p: p, 60)
CASES = {
    "right": (RIGHT, "consistent", "No miscalibration found"),
    "miscalibrated": (LOW, "miscalibrated", "Miscalibrated: under-predicts"),
    "few": (FEW, "inconclusive", "Inconclusive"),
}
WORDS = {"consistent": "CONSISTENT", "miscalibrated": "MISCALIBRATED", "inconclusive": "INCONCLUSIVE"}
HEADS = {"consistent": "no miscalibration found: ", "miscalibrated": "under-predicts: ", "inconclusive": "observed "}


def coloured(picture):
    """The marks that have the colour of a direction."""
    return [
        mark for panel in picture.panels for mark in panel.marks if getattr(mark, "colour", "") in (BLUE, VERMILION)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_terminal_notebook_and_picture_say_what_the_verdict_says(case, tmp_path):
    (y, p), word, finding = CASES[case]
    place = write_csv(tmp_path / "a.csv", {"y": y.tolist(), "p": p.tolist()})
    result = truecal.evaluate(y, p)
    assert result.verdict.status == word
    assert result.summary.startswith(finding)
    assert make_picture("calibration", result).summary.startswith(finding)
    notebook = unescape(re.sub(r"<[^>]+>", "", result._repr_html_()))
    assert f"{label_sign(word)} {result.summary} ({format_p_value(result.verdict.p_value)})" in notebook
    text = run("evaluate", place).stdout
    assert f"{label_sign(word)} {WORDS[word]}   {HEADS[word]}" in text
    assert not [line for line in text.splitlines() if line.endswith("over-predicts")]
    assert text.count("under-predicts\n") == sum(each.direction == "under-predicts" for each in result.verdict.bands)
    assert bool(coloured(make_picture("calibration", result))) == (word == "miscalibrated")


def test_a_right_model_has_no_picture_that_says_otherwise():
    result = truecal.evaluate(*RIGHT, null_draws=50, random_state=0)
    assert not coloured(make_picture("calibration", result))
    assert not coloured(make_picture("power", result))
    drawn = coloured(make_picture("reliability", result))
    assert [(type(mark), mark.label) for mark in drawn] == [(Lines, "isotonic (CORP)")]  # nothing is marked as rejected


def test_a_few_rows_at_the_top_do_not_point_the_wrong_way():
    """Truth is 1.6 times the prediction everywhere."""
    result = truecal.evaluate(*LOW)
    assert {each.direction for each in result.verdict.bands} <= {"under-predicts", None}
    picture = make_picture("calibration", result)
    boxes = [mark for mark in picture.panels[0].marks if isinstance(mark, Areas)]
    assert VERMILION not in [mark.colour for mark in boxes]
    assert result.direction("ltce")[1] <= 0.05  # the level, as of a calibrated model


def test_a_small_error_of_many_rows_is_seen():
    """Ten million rows at a thousand scores, odds 3% too low: windows lie beside the line, on an axis that shows it."""
    rng = np.random.default_rng(0)
    score = np.linspace(0.01, 0.5, 1000)
    n = np.full(1000, 10_000)
    tally = truecal.Tally(score, n, rng.binomial(n, 1.03 * score / (1 + 0.03 * score)))
    result = truecal.evaluate(tally, metrics=["ltce"])
    assert result.verdict.status == "miscalibrated"
    panel = make_picture("calibration", result).panels[0]
    assert panel.y.limits[1] <= np.log(1.7)
    (boxes,) = (mark for mark in panel.marks if isinstance(mark, Areas) and mark.colour == BLUE)
    assert len(boxes.x) > 3
    assert np.mean([np.min(y) > 0 for y in boxes.y]) > 0.8


@pytest.mark.slow
def test_ten_models_are_all_printed_and_counted(tmp_path):
    rng = np.random.default_rng(0)
    z = rng.normal(-2, 1.5, 4000)
    y = rng.random(4000) < 1 / (1 + np.exp(-z))
    names = [f"a model with quite a long name, number {i}" for i in range(10)]
    columns = {name.replace(",", ""): 1 / (1 + np.exp(-(1 + 0.12 * i) * z)) for i, name in enumerate(names)}
    place = write_csv(
        tmp_path / "ten.csv", {"y": y.astype(int).tolist(), **{k: v.tolist() for k, v in columns.items()}}
    )
    words = ["evaluate", place.name, "-y", "y", *(word for name in columns for word in ("-p", name))]
    text = ESCAPES.sub("", show(*words, "--null-draws", "9", width=80, cwd=tmp_path)[1])
    assert widest(text) <= 80
    rows = [line for line in text.splitlines() if re.search(r"\b(miscalibrated|consistent|inconclusive)  ", line)]
    assert len(rows) == 10
    assert (
        len({re.search(r"(\d) +(miscalibrated|consistent|inconclusive)", row)[1] for row in rows}) == 10
    )  # told apart by their ends
    assert all(row.count("%") == 2 for row in rows)  # Local TCE, and its mean if calibrated
    found = [
        result.verdict.status
        for result in from_json(run(*words, "--null-draws", "0", "--json", cwd=tmp_path).stdout).values()
    ]
    counts = [f"{found.count(word)} " for word in ("miscalibrated", "consistent", "inconclusive") if word in found]
    assert all(count in text for count in counts)
    picture = make_picture("models", {name: truecal.evaluate(y, p) for name, p in columns.items()})
    assert len(picture.panels) == 10


def test_segments_keep_rows_interval_and_direction_beside_long_names(tmp_path):
    rng = np.random.default_rng(0)
    p = rng.beta(1, 9, 8000)
    land = rng.choice(["de", "fr"], 8000)
    y = rng.random(8000) < np.where(land == "fr", 1.8 * p, p)
    names = [f"a very long prefix that all segments share, and then the country {each}" for each in land]
    place = write_csv(
        tmp_path / "long.csv", {"y": y.astype(int).tolist(), "p": p.tolist(), "land": [f'"{name}"' for name in names]}
    )
    text = ESCAPES.sub("", show("segments", place.name, "--by", "land", width=80, cwd=tmp_path)[1])
    assert widest(text) <= 80
    row = next(line for line in text.splitlines() if "fr " in line and "under-predicts" in line)
    assert f"{(land == 'fr').sum():,}" in row
    table = truecal.segments(truecal.read(place, label="y", score="p", by="land"))
    picture = make_picture("segments", table)
    assert [label[-2:] for label in picture.panels[0].y.labels] == ["fr", "de"]
    assert {note.text for note in picture.panels[0].marks if hasattr(note, "align")} == {f"n = {n:,}" for n in table.n}
    (off,) = (mark for mark in picture.panels[0].marks if isinstance(mark, Points) and mark.label == "under-predicts")
    assert (off.marker, off.colour) == ("^", BLUE)


def test_a_pipe_gets_plain_text(tmp_path):
    place = write_csv(tmp_path / "a.csv", {"y": LOW[0].tolist(), "p": LOW[1].tolist()})
    assert "\x1b" not in run("evaluate", place).stdout


def test_the_users_settings_are_not_touched():
    import matplotlib as mpl
    from matplotlib.figure import Figure

    before = dict(mpl.rcParams)
    truecal.plot.calibration(truecal.evaluate(*FEW), ax=Figure().subplots())
    assert dict(mpl.rcParams) == before
