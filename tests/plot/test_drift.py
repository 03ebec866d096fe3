"""The picture of a drift table: what is drawn is read back and set beside the table."""

from datetime import date, datetime, timedelta
from itertools import pairwise

import numpy as np
import pytest
from conftest import missing
from observed import judge_windows

import truecal
from truecal import Tally
from truecal.plot import DriftAxes
from truecal.plot._drift import describe_each_period
from truecal.plot._kinds import make_picture
from truecal.plot._marks import Points, Spans
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


def judge(observations, **options):
    return judge_windows(observations, random_state=0, **options)


def drawn(ax, label):
    return next(artist for artist in [*ax.collections, *ax.lines] if artist.get_label() == label)


def intervals(ax, count):
    """The ends of so many intervals, from left to right."""
    found = [line for part in ax.collections if part.get_label() == "_interval" for line in part.get_segments()]
    assert len(found) == count
    return np.array(sorted(found, key=lambda line: line[0, 0])).reshape(-1, 2, 2)[:, :, 1]


CASES = {
    "days": ({"every": "1d", "label_lag": "1d"}, day),
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
    sides, marks = np.array([name_side(*pair) for pair in zip(table.status, table.direction, strict=True)]), {}
    for side in sorted(set(sides)):
        marks[side] = drawn(axes.ratio, side)
        np.testing.assert_allclose(marks[side].get_ydata(), np.log(table.ratio[sides == side]))
    assert len(marks) == 2 + (case == "days")
    assert len({(mark.get_marker(), mark.get_color()) for mark in marks.values()}) == len(marks)
    ends, limits = intervals(axes.ratio, 12), axes.ratio.get_ylim()
    np.testing.assert_allclose(ends.T, np.clip(np.log([table.ratio_low, table.ratio_high]), *limits))
    shown = drawn(axes.prevalence, "base rate").get_ydata()
    np.testing.assert_allclose(shown, 100 * table.prevalence[~table.base_rate_changed])
    (mean,) = drawn(axes.prevalence, "mean prediction").get_segments()
    np.testing.assert_allclose(mean[::2, 1], 100 * table.mean)
    hatched = [patch for patch in axes.ratio.patches if patch.get_hatch()]
    assert len(hatched) == (case == "days")
    axes.ratio.get_figure(root=True).canvas.draw()
    shown = [text.get_text() for text in axes.prevalence.get_xticklabels() if text.get_text()]
    assert 3 <= len(shown) <= 13
    assert axes.ratio.get_shared_x_axes().joined(*axes)


def test_the_legend_names_all_that_is_drawn():
    table = judge(windows(np.random.default_rng(0), 8, wrong=(5,)), every="1d", label_lag="1d")
    axes = truecal.plot.drift(table, title="mine")
    legend = axes.ratio.get_legend()
    words = {"baseline", "under-predicts", "inconclusive", "pending"}
    assert {text.get_text() for text in legend.get_texts()} == words


@pytest.mark.slow
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
    observations = windows(rng, 10)
    for i in (4, 5):
        del observations[day(i)]
    table = judge(observations, every="1d")
    axes = truecal.plot.drift(table)
    assert [len(line) for line in drawn(axes.prevalence, "mean prediction").get_segments()] == [8, 8]


def test_marks_have_the_texts_of_their_windows():
    observations = windows(np.random.default_rng(1), 12, wrong=(7,))
    table = judge(observations, every="1d", label_lag="2d")
    panels = make_picture("drift", table).panels
    (off,) = (mark for mark in panels[0].marks if isinstance(mark, Points) and mark.label == "under-predicts")
    assert off.x.tolist() == [(day(7) - date(1970, 1, 1)).days]
    assert list(off.texts) == [describe_each_period(table)[7]]
    last = (day(11) - date(1970, 1, 1)).days
    for panel in panels:
        (span,) = (mark for mark in panel.marks if isinstance(mark, Spans))
        assert (span.left.tolist(), span.right.tolist()) == ([last - 1.5], [last + 0.5])


def test_the_first_month_of_a_year_has_its_name():
    tally = Tally.from_arrays([0, 1, 0, 0] * 20, [0.2, 0.4, 0.3, 0.1] * 20)
    table = judge({date(2026, 1, 5) + timedelta(days=7 * week): tally for week in range(20)}, every="1w")
    axes = truecal.plot.drift(table)
    axes.ratio.get_figure(root=True).canvas.draw()
    shown = [label.get_text() for label in axes.prevalence.get_xticklabels()]
    assert [text for text in shown if "2026" in text] == ["Jan\n2026"]
    assert "Feb" in shown
