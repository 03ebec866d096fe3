"""The picture of a drift table, by both renderers: what is drawn is read back and set beside the table."""

from datetime import date, datetime, timedelta
from itertools import pairwise

import numpy as np
import pytest
from conftest import missing
from observed import judge_windows

import truecal
from truecal import Tally
from truecal.observations import GridTally
from truecal.plot import DriftAxes, make_figure
from truecal.plot._pictures import describe_each_window

try:
    import matplotlib
    import matplotlib.pyplot as plt
except ImportError:
    missing("matplotlib is not installed")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _close():
    before = dict(matplotlib.rcParams)
    yield
    plt.close("all")
    assert dict(matplotlib.rcParams) == before


def day(i):
    return date(2026, 1, 1) + timedelta(days=i)


def windows(rng, count, wrong=()):
    """2,000 right predictions of a rate of 5 % a day; on wrong days positives are 1.6 times as many."""
    out = {}
    for i in range(count):
        p = rng.beta(1, 19, 2000)
        out[day(i)] = Tally.from_arrays(rng.random(2000) < np.minimum(1, (1 + 0.6 * (i in wrong)) * p), p)
    return out


def judge(tallies, **options):
    return judge_windows(tallies, random_state=0, **options)


def drawn(ax, label):
    return next(artist for artist in [*ax.collections, *ax.lines] if artist.get_label() == label)


def intervals(ax, count):
    """The ends of so many intervals, from left to right."""
    found = [line for part in ax.collections if part.get_label() == "_interval" for line in part.get_segments()]
    assert len(found) == count
    return np.array(sorted(found, key=lambda line: line[0, 0])).reshape(-1, 2, 2)[:, :, 1]


CASES = {
    "days": ({"every": "1d", "mature_after": "1d"}, day),
    "hours": ({"every": "1h"}, lambda i: datetime(2026, 1, 1) + timedelta(hours=i)),
    "text": ({}, lambda i: f"week {i}, $x$"),
    "no intervals": ({"intervals": 0}, day),
}


@pytest.mark.parametrize("case", CASES)
def test_the_picture_holds_the_table(rng, case):
    options, name = CASES[case]
    table = judge({name(i): tally for i, tally in enumerate(windows(rng, 12, wrong=(7, 11)).values())}, **options)
    axes = truecal.plot.drift(table)
    assert isinstance(axes, DriftAxes)
    marks = {}
    for label, rows in (("no alarm", ~table.alarm), ("alarm: calibration", table.alarm)):
        marks[label] = drawn(axes.value, label)
        np.testing.assert_array_equal(marks[label].get_ydata(), table.value[rows])
    assert (
        len({mark.get_marker() for mark in marks.values()}) == len({mark.get_color() for mark in marks.values()}) == 2
    )
    ends = intervals(axes.value, 0 if case == "no intervals" else 12)
    if case != "no intervals":
        np.testing.assert_allclose(ends.T, [table.low, table.high])
    np.testing.assert_allclose(
        intervals(axes.prevalence, 12).T, [100 * table.prevalence_low, 100 * table.prevalence_high]
    )
    np.testing.assert_allclose(drawn(axes.prevalence, "prevalence").get_ydata(), 100 * table.prevalence[~table.moved])
    (mean,) = drawn(axes.prevalence, "mean prediction").get_segments()
    np.testing.assert_allclose(mean[::2, 1], 100 * table.mean)
    hatched = [patch for patch in axes.value.patches if patch.get_hatch()]
    assert len(hatched) == (case == "days")
    axes.value.get_figure(root=True).canvas.draw()
    shown = [text.get_text() for text in axes.prevalence.get_xticklabels() if text.get_text()]
    assert 3 <= len(shown) <= 13
    assert axes.value.get_shared_x_axes().joined(*axes)


def test_windows_too_small_to_tell_have_a_mark_of_their_own(rng):
    tallies = windows(rng, 8, wrong=(6,))
    for i in (2, 7):
        tallies[day(i)] = Tally.from_arrays([0, 1], [0.1, 0.2])  # two rows show nothing
    table = judge(tallies, every="1d", mature_after="1d", intervals=9)
    assert table.verdict[2] == "too small to tell"
    assert table.verdict[7] == "labels not complete"  # and too small besides
    large, found = [0, 1, 3, 4, 5, 6], table.alarm.tolist()
    kinds = {"no alarm": [i for i in large if not found[i]], "alarm: calibration": [i for i in large if found[i]]}
    kinds["too small to tell"] = [2, 7]
    assert all(kinds.values())
    axes = truecal.plot.drift(table)
    marks = {label: drawn(axes.value, label) for label in kinds}
    traces = {trace["name"]: trace for trace in make_figure("drift", table)["data"]}
    for label, rows in kinds.items():
        np.testing.assert_array_equal(marks[label].get_ydata(), table.value[rows])
        assert traces[label]["x"] == [table.names[i] for i in rows]
    assert len({mark.get_marker() for mark in marks.values()}) == 3
    assert len({traces[label]["marker"]["symbol"] for label in kinds}) == 3


def test_the_legend_names_all_that_is_drawn(rng):
    tallies = windows(rng, 8, wrong=(6,))
    tallies[day(2)] = Tally.from_arrays([0, 1], [0.1, 0.2])  # two rows show nothing
    table = judge(tallies, every="1d", mature_after="1d", intervals=9)
    axes = truecal.plot.drift(table, title="mine")
    legend = axes.value.get_legend()
    words = {"by chance, 5 to 95 %", "mean by chance", "no alarm", "too small to tell", "alarm: calibration"}
    assert {text.get_text() for text in legend.get_texts()} == words | {"labels not complete"}
    (line,) = drawn(axes.value, "mean by chance").get_segments()
    np.testing.assert_array_equal(line[::2, 1], table.by_chance)
    axes.value.get_figure(root=True).canvas.draw()
    title = axes.value._left_title  # matplotlib has no other way to the title at the left
    assert legend.get_window_extent().y1 <= title.get_window_extent().y0
    figure = make_figure("drift", table)
    assert words <= {trace["name"] for trace in figure["data"] if trace["showlegend"]}
    assert [note["text"] for note in figure["layout"]["annotations"]] == ["labels not complete"]


@pytest.mark.parametrize("count", [1, 5, 400])
def test_dates_stay_readable_for_any_number_of_windows(count):
    tally = Tally.from_arrays([0, 1, 0, 0] * 20, [0.2, 0.4, 0.3, 0.1] * 20)
    table = judge({day(i): tally for i in range(count)}, every="1d", reference=9, intervals=9)
    axes = truecal.plot.drift(table)
    figure = axes.value.get_figure(root=True)
    figure.canvas.draw()
    boxes = [label.get_window_extent() for label in axes.prevalence.get_xticklabels() if label.get_text()]
    boxes = [box for box in boxes if box.x1 > 0 and box.x0 < figure.bbox.width]
    assert 1 <= len(boxes) <= 12
    assert all(a.x1 < b.x0 for a, b in pairwise(boxes))


def test_axes_of_your_own_are_drawn_into(rng):
    table = judge(windows(rng, 3), intervals=0)
    _, (left, right) = plt.subplots(1, 2)
    axes = truecal.plot.drift(table, ax=right, title="mine")
    assert list(axes) == right.child_axes
    assert axes.value.get_title("left").startswith("mine\nTCE in 3 windows")
    assert left.child_axes == []


def test_gaps_in_time_stay_gaps(rng):
    tallies = windows(rng, 10)
    for i in (4, 5):
        del tallies[day(i)]
    table = judge(tallies, every="1d", intervals=0)
    axes = truecal.plot.drift(table)
    assert [len(line) for line in drawn(axes.prevalence, "mean prediction").get_segments()] == [8, 8]
    (mean,) = (trace for trace in make_figure("drift", table)["data"] if trace["name"] == "mean prediction")
    assert [i for i, y in enumerate(mean["y"]) if y is None] == [8, 17]  # after each line of two ends a window


def test_the_interactive_figure_holds_the_table():
    tallies = windows(np.random.default_rng(1), 12, wrong=(7,))
    table = judge(tallies, every="1d", mature_after="2d")
    figure = make_figure("drift", table)
    traces = {trace["name"]: trace for trace in figure["data"]}
    np.testing.assert_allclose(traces["mean by chance"]["y"][:-1:2], table.by_chance, rtol=1e-5)
    np.testing.assert_allclose(traces["mean prediction"]["y"][:-1:2], 100 * table.mean, rtol=1e-5)
    alarm = traces["alarm: calibration"]
    assert alarm["x"] == ["2026-01-08"]
    assert alarm["hovertext"] == [describe_each_window(table)[7].replace("\n", "<br>")]
    assert alarm["marker"]["symbol"] != traces["no alarm"]["marker"]["symbol"]
    for shape in figure["layout"]["shapes"]:  # one in each panel
        assert (shape["x0"], shape["x1"]) == ("2026-01-10 12:00:00", "2026-01-12 12:00:00")
    assert len(figure["layout"]["shapes"]) == 2
    named = make_figure("drift", judge({"<i>": next(iter(tallies.values()))}, intervals=0))
    assert named["layout"]["xaxis"]["ticktext"] == ["&lt;i&gt;"]
    assert "<i>" not in named["data"][-1]["hovertext"][0]


def test_bounds_on_a_grid_are_drawn_by_both(rng):
    cells = {start: GridTally.of(tally, 6) for start, tally in windows(rng, 3).items()}
    table = judge(cells, every="1d", intervals=0)
    wide = np.flatnonzero(table.highest > table.lowest)
    assert len(wide)
    bounds = drawn(truecal.plot.drift(table).value, "bounds on the grid").get_segments()
    np.testing.assert_array_equal([line[:, 1] for line in bounds], np.stack([table.lowest, table.highest], 1)[wide])
    (trace,) = (trace for trace in make_figure("drift", table)["data"] if trace["name"] == "bounds on the grid")
    ends = np.array(trace["y"], dtype=float).reshape(-1, 3)[:, :2]
    np.testing.assert_allclose(ends, np.stack([table.lowest, table.highest], 1)[wide], rtol=1e-5)
