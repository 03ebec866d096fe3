"""The picture of a drift table, by both renderers: what is drawn is read back and set beside the table."""

from datetime import date, datetime, timedelta
from itertools import pairwise

import numpy as np
import pytest
from conftest import missing
from observed import judge_windows

import truecal
from truecal import Tally
from truecal.plot import DriftAxes, make_figure
from truecal.plot._drift import describe_each_window
from truecal.plot._ratios import name_side

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
}


@pytest.mark.parametrize("case", CASES)
def test_the_picture_holds_the_table(case):
    options, name = CASES[case]
    table = judge(
        {name(i): tally for i, tally in enumerate(windows(np.random.default_rng(0), 12, wrong=(7, 10)).values())},
        **options,
    )
    axes = truecal.plot.drift(table)
    assert isinstance(axes, DriftAxes)
    sides, marks = np.array([name_side(*pair) for pair in zip(table.verdict, table.direction, strict=True)]), {}
    for side in sorted(set(sides)):
        marks[side] = drawn(axes.ratio, side)
        np.testing.assert_allclose(marks[side].get_ydata(), np.log(table.ratio[sides == side]))
    assert len(marks) == 2 + (case == "days")
    assert len({(mark.get_marker(), mark.get_color()) for mark in marks.values()}) == len(marks)
    ends, limits = intervals(axes.ratio, 12), axes.ratio.get_ylim()
    np.testing.assert_allclose(ends.T, np.clip(np.log([table.ratio_low, table.ratio_high]), *limits))
    shown = drawn(axes.prevalence, "prevalence").get_ydata()
    np.testing.assert_allclose(shown, 100 * table.prevalence[~table.prevalence_moved])
    (mean,) = drawn(axes.prevalence, "mean prediction").get_segments()
    np.testing.assert_allclose(mean[::2, 1], 100 * table.mean)
    hatched = [patch for patch in axes.ratio.patches if patch.get_hatch()]
    assert len(hatched) == (case == "days")
    axes.ratio.get_figure(root=True).canvas.draw()
    shown = [text.get_text() for text in axes.prevalence.get_xticklabels() if text.get_text()]
    assert 3 <= len(shown) <= 13
    assert axes.ratio.get_shared_x_axes().joined(*axes)


def test_the_legend_names_all_that_is_drawn():
    table = judge(windows(np.random.default_rng(0), 8, wrong=(5,)), every="1d", mature_after="1d")
    axes = truecal.plot.drift(table, title="mine")
    legend = axes.ratio.get_legend()
    words = {"baseline", "too low", "cannot tell", "labels not complete"}
    assert {text.get_text() for text in legend.get_texts()} == words
    figure = make_figure("drift", table)
    assert words <= {trace["name"] for trace in figure["data"] if trace["showlegend"]}
    assert [note["text"] for note in figure["layout"]["annotations"]] == ["labels not complete"]


@pytest.mark.parametrize("count", [1, 5, 400])
def test_dates_stay_readable_for_any_number_of_windows(count):
    tally = Tally.from_arrays([0, 1, 0, 0] * 20, [0.2, 0.4, 0.3, 0.1] * 20)
    table = judge({day(i): tally for i in range(count)}, every="1d")
    axes = truecal.plot.drift(table)
    figure = axes.ratio.get_figure(root=True)
    figure.canvas.draw()
    boxes = [label.get_window_extent() for label in axes.prevalence.get_xticklabels() if label.get_text()]
    boxes = [box for box in boxes if box.x1 > 0 and box.x0 < figure.bbox.width]
    assert 1 <= len(boxes) <= 12
    assert all(a.x1 < b.x0 for a, b in pairwise(boxes))


def test_axes_of_your_own_are_drawn_into(rng):
    table = judge(windows(rng, 3))
    _, (left, right) = plt.subplots(1, 2)
    axes = truecal.plot.drift(table, ax=right, title="mine")
    assert list(axes) == right.child_axes
    assert "mine" in " ".join(text.get_text() for text in [*axes.ratio.texts, axes.ratio._left_title]).split()
    assert left.child_axes == []


def test_gaps_in_time_stay_gaps(rng):
    tallies = windows(rng, 10)
    for i in (4, 5):
        del tallies[day(i)]
    table = judge(tallies, every="1d")
    axes = truecal.plot.drift(table)
    assert [len(line) for line in drawn(axes.prevalence, "mean prediction").get_segments()] == [8, 8]
    (mean,) = (trace for trace in make_figure("drift", table)["data"] if trace["name"] == "mean prediction")
    assert [i for i, y in enumerate(mean["y"]) if y is None] == [8, 17]  # after each line of two ends a window


def test_the_interactive_figure_holds_the_table():
    tallies = windows(np.random.default_rng(1), 12, wrong=(7,))
    table = judge(tallies, every="1d", mature_after="2d")
    figure = make_figure("drift", table)
    traces = {trace["name"]: trace for trace in figure["data"]}
    np.testing.assert_allclose(traces["mean prediction"]["y"][:-1:2], 100 * table.mean, rtol=1e-5)
    off = traces["too low"]
    assert off["x"] == ["2026-01-08"]
    assert off["hovertext"] == [describe_each_window(table)[7].replace("\n", "<br>")]
    assert off["marker"]["symbol"] != traces["cannot tell"]["marker"]["symbol"]
    for shape in figure["layout"]["shapes"]:  # one in each panel
        assert (shape["x0"], shape["x1"]) == ("2026-01-10 12:00:00", "2026-01-12 12:00:00")
    assert len(figure["layout"]["shapes"]) == 2
    named = make_figure("drift", judge({"<i>": next(iter(tallies.values()))}))
    assert named["layout"]["xaxis"]["ticktext"] == ["&lt;i&gt;"]
    assert "<i>" not in named["data"][-1]["hovertext"][0]


def test_the_first_month_of_a_year_has_its_name():
    tally = Tally.from_arrays([0, 1, 0, 0] * 20, [0.2, 0.4, 0.3, 0.1] * 20)
    table = judge({date(2026, 1, 5) + timedelta(days=7 * week): tally for week in range(20)}, every="1w")
    axes = truecal.plot.drift(table)
    axes.ratio.get_figure(root=True).canvas.draw()
    shown = [label.get_text() for label in axes.prevalence.get_xticklabels()]
    assert [text for text in shown if "2026" in text] == ["Jan\n2026"]
    assert "Feb" in shown
