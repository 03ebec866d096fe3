"""The calibration diagram: its marks against the table of windows, and its words against the verdict."""

import re

import numpy as np
import pytest
from matplotlib.figure import Figure

import truecal
from truecal.plot._kinds import make_picture
from truecal.plot._marks import BLUE, VERMILION, Areas, Bars, Lines, Points


def simulate(truth, rows=20_000, seed=0, shape=(0.5, 20)):
    rng = np.random.default_rng(seed)
    p = rng.beta(*shape, size=rows)
    return truecal.evaluate(rng.random(rows) < truth(p), p)


def shift(p, factor):
    return p * factor / (1 - p + p * factor)


RIGHT = simulate(lambda p: p)
TOO_LOW = simulate(lambda p: shift(p, 1.7))
TOO_HIGH = simulate(lambda p: shift(p, 0.6))
BOLD = simulate(lambda p: 1 / (1 + np.exp(-0.4 * np.log(p / (1 - p)))), shape=(2, 2))
TINY = simulate(lambda p: p, rows=60)


def colours(picture):
    """The colours of rejected windows and predictions, in both panels, where anything is drawn."""
    found = set()
    for panel in picture.panels:
        for mark in panel.marks:
            empty = isinstance(mark, Bars) and not np.any(mark.height)
            if isinstance(mark, (Areas, Bars, Lines)) and not empty and mark.colour in (BLUE, VERMILION):
                found.add(mark.colour)
    return found


@pytest.mark.parametrize("result", [RIGHT, TINY], ids=["right", "tiny"])
def test_only_a_model_that_is_off_has_colours(result):
    assert result.verdict.status != "miscalibrated"
    assert not colours(make_picture("calibration", result))


@pytest.mark.parametrize(
    ("result", "direction", "colour"),
    [(TOO_LOW, "under-predicts", BLUE), (TOO_HIGH, "over-predicts", VERMILION)],
    ids=["too low", "too high"],
)
def test_the_finding_the_colour_and_the_verdict_agree(result, direction, colour):
    picture = make_picture("calibration", result)
    assert result.verdict.status == "miscalibrated"
    assert f"Miscalibrated: {direction}" in picture.summary
    assert picture.title.startswith("miscalibrated (p < 0.0001)")
    boxes = [mark for mark in picture.panels[0].marks if isinstance(mark, Areas)]
    assert [mark.colour for mark in boxes if mark.colour in (BLUE, VERMILION)] == [colour]


def test_both_directions_are_named():
    assert re.fullmatch(
        r"Miscalibrated: under-predicts below \d+% \(O/E 1\.\d\d\), over-predicts above \d+% \(O/E 0\.\d\d\)",
        make_picture("calibration", BOLD).summary,
    )
    assert make_picture("calibration", RIGHT).summary == "No miscalibration found"
    assert make_picture("calibration", TINY).summary == "Inconclusive"


def test_boxes_and_lines_are_the_windows_of_local_tce():
    table, picture = TOO_LOW.tables["ltce"], make_picture("calibration", TOO_LOW, scale="logit")
    panel = picture.panels[0]
    reach = panel.y.limits[1]
    boxes = [mark for mark in panel.marks if isinstance(mark, Areas)]
    count = int(np.count_nonzero((table.n > 0) & (table.mean > 0) & (table.mean < 1)))
    assert sum(len(mark.y) for mark in boxes) == count

    def odds(p):
        return np.log(p) - np.log1p(-p)

    found = {
        round(float(y[0]), 9)
        for mark in panel.marks
        if isinstance(mark, Lines) and mark.label[:1] != "_"
        for y in mark.y
    }
    values = odds(table.rate[table.k > 0]) - odds(table.mean[table.k > 0])
    assert found == {round(float(value), 9) for value in values if abs(value) <= reach}
    for mark in boxes:
        for y in mark.y:
            assert -reach <= y[0] <= y[2] <= reach


def test_a_window_has_the_colour_that_its_own_box_says():
    for result in (TOO_LOW, TOO_HIGH, BOLD):
        table, found = result.tables["ltce"], []
        for mark in make_picture("calibration", result).panels[0].marks:
            if isinstance(mark, Areas):
                assert all((y[0] > 0) == (mark.colour == BLUE) for y in mark.y)
                assert all((y[2] < 0) == (mark.colour == VERMILION) for y in mark.y)
                found.append(len(mark.y))
        assert sum(found) == np.count_nonzero(table.n)


def test_what_goes_on_beyond_the_axis_has_an_arrow():
    for result in (TOO_LOW, BOLD, TINY):
        table, panel = result.tables["ltce"], make_picture("calibration", result).panels[0]
        arrows = [mark for mark in panel.marks if isinstance(mark, Points)]
        reach, count = panel.y.limits[1], 0
        with np.errstate(divide="ignore"):
            odds = [np.log(c / (1 - c)) for c in (table.rate, table.rate_low, table.rate_high, table.mean)]
            value, low, high = (column - odds[3] for column in odds[:3])
        count += np.sum(np.abs(value) > reach) + np.sum(low < -reach) + np.sum(high > reach)
        assert sum(len(mark.x) for mark in arrows) == count > 0
        for mark in arrows:
            assert np.all((np.abs(mark.y) < reach) & (np.sign(mark.y) == {"^": 1, "v": -1}[mark.marker]))
        # no rejected window without its line, if there are positives
        assert not np.any((np.abs(value) > reach) & (table.rate_low > table.mean))


def test_labels_that_contradict_a_certain_prediction_are_seen():
    p = np.repeat([0.0, 0.5, 1.0], 400)
    y = np.concatenate([np.arange(400) == 0, np.arange(800) % 2])
    marks = make_picture("calibration", truecal.evaluate(y, p)).panels[0].marks
    found = {mark.label: (mark.colour, mark.marker, mark.x.tolist()) for mark in marks if isinstance(mark, Points)}
    assert found["too low: exactly 0"] == (BLUE, "^", [0.0])
    assert found["too high: exactly 1"] == (VERMILION, "v", [1.0])


def test_the_line_of_chance_is_the_level():
    bars, line = (
        next(mark for mark in make_picture("calibration", RIGHT).panels[1].marks if getattr(mark, "label", "") == label)
        for label in ("predictions", "rejected if calibrated")
    )
    assert line.y[0].max() == pytest.approx(0.05 * bars.height.max())
    # predictions beyond the axis are counted in their cells and at the margin: what is drawn twice has no width
    inside = bars.right > bars.left
    assert bars.height[inside].sum() == RIGHT.n


def test_rejected_rows_are_those_of_the_result():
    marks = make_picture("calibration", TOO_LOW).panels[1].marks
    low = next(mark for mark in marks if getattr(mark, "label", "") == "rejected: too low")
    table = TOO_LOW.tables["ltce"]
    assert low.height.sum() == pytest.approx(table.n_too_low.sum(), abs=len(low.height))


def test_a_small_error_of_a_large_model_can_be_seen():
    # a real 3% of error at 1e6 rows: the axis must not be wider than the error is small
    result = simulate(lambda p: shift(p, 1.06), rows=1_000_000, shape=(2, 2))
    panel = make_picture("calibration", result).panels[0]
    assert panel.y.limits[1] <= np.log(1.7)


@pytest.mark.parametrize("scale", ["linear", "logit"])
def test_it_is_drawn_in_given_axes(scale):
    figure = Figure(figsize=(8, 6))
    axes = truecal.plot.calibration(TOO_LOW, scale=scale, title="mine", ax=figure.subplots())
    figure.canvas.draw()
    assert axes.odds_ratio.get_figure() is figure
    words = [text.get_text() for text in axes.odds_ratio.texts]
    assert any("under-predicts" in text for text in words)
    assert "mine" in axes.odds_ratio.get_title(loc="left")
    assert [tick.get_text() for tick in axes.rows.get_xticklabels()][-1].endswith("%")
