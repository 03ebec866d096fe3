"""Every picture: each mark is read back from matplotlib's artists, and texts and labels from the marks."""

import html
import re
from datetime import date, timedelta

import numpy as np
import pictured
import pytest
from conftest import missing
from observed import judge_segments, judge_windows

import truecal
from truecal import Metric, Quantile, Tally
from truecal.metrics import Gap, Max, Unit
from truecal.plot import make_svg
from truecal.plot._axis import find_margins, fit_axis
from truecal.plot._kinds import KINDS, make_picture
from truecal.plot._marks import Annotation, AxisSpec, Bars, Lines, Points, Spans
from truecal.plot._matplotlib import draw
from truecal.plot._pictures import describe_each_bin
from truecal.plot._svg import SHAPES
from truecal.words import count_periods, count_segments

try:
    import matplotlib
    from matplotlib.collections import LineCollection, PolyCollection
    from matplotlib.figure import Figure
except ImportError:
    missing("matplotlib is not installed")
EPOCH = matplotlib.dates.date2num(np.datetime64("1970-01-01"))


def results():
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 5, 4000)
    p[:300], p[300:340] = 0, 1
    y = rng.random(4000) < 0.7 * p
    options = {"metrics": ["tce", "tce_q", "ece", "mce"], "null_draws": 20, "resamples": 20, "random_state": 0}
    return {"a $": truecal.evaluate(y, p, **options), "<b>": truecal.evaluate(y, np.sqrt(p), **options)}


def compared():
    rng = np.random.default_rng(0)
    p = rng.beta(1, 9, 4000)
    y = rng.random(4000) < p
    return truecal.compare(y, p, np.sqrt(p), resamples=20, random_state=0)


def observations(count, wrong):
    rng = np.random.default_rng(1)
    out = []
    for i in range(count):
        p = rng.beta(1, 9, 1500)
        out.append(Tally.from_arrays(rng.random(1500) < (1 + (i == wrong)) * p, p))
    return out


RESULTS = results()
ONE = RESULTS["a $"]
COMPARED = compared()
SEGMENTS = judge_segments(
    {(f"s{i}",): tally for i, tally in enumerate(observations(5, 3))}, random_state=0, null_draws=199
)
DAYS = judge_windows(
    {date(2026, 1, 1) + timedelta(days=i): tally for i, tally in enumerate(observations(12, 3))},
    every="1d",
    label_lag="2d",
    random_state=0,
)


def monitor():
    """A model whose odds are 1.5 times as high from day 5 on, in one of two segments."""
    rng, found = np.random.default_rng(0), truecal.Monitor()
    for day in range(12):
        p = rng.beta(1, 9, 2000)
        found.update(rng.random(2000) < (p if day < 5 else 1.5 * p / (1 + p / 2)), p, period=date(2026, 1, 1 + day))
    return found


def table_of_slices():
    import polars as pl

    rng = np.random.default_rng(0)
    p, where = rng.beta(1, 9, 8000), rng.choice(["country=de", "country=fr"], 8000)
    y = rng.random(8000) < np.where(where == "country=fr", 1.6 * p, p)
    return truecal.slices(pl.DataFrame({"y": y, "p": p, "where": where}), label="y", score="p")


def several_classes():
    rng = np.random.default_rng(0)
    q = rng.dirichlet([1, 2, 3], 3000)
    label = (q.cumsum(axis=1) > rng.random((3000, 1))).argmax(axis=1)
    return truecal.evaluate_classes(label, q**1.3 / np.sum(q**1.3, axis=1, keepdims=True)).table


def infinitely_worse():
    """A positive at a prediction of 0: the log loss of the second model is infinite."""
    return truecal.compare([0, 1] * 50, [0.2, 0.8] * 50, [0.2, 0.8] * 49 + [0.2, 0.0], ["ltce", "log_loss", "brier"])


def recalibrated():
    rng = np.random.default_rng(0)
    p = rng.beta(1, 9, 5000)
    return truecal.recalibrate(rng.random(5000) < 2 * p / (1 + p), p)


CASES = {
    **{f"{kind}, {scale}": (kind, ONE, {"scale": scale}) for kind in ("calibration", "test_reliability", "reliability", "binnings")
       for scale in ("linear", "logit")},
    "test_reliability, paper": ("test_reliability", ONE, {"style": "paper"}),
    "models": ("models", RESULTS, {"scale": "logit"}),
    "metrics": ("metrics", RESULTS, {}),
    "comparison": ("comparison", COMPARED, {}),
    "comparison, infinite": ("comparison", infinitely_worse(), {}),
    "segments": ("segments", SEGMENTS, {}),
    "drift": ("drift", DAYS, {}),
    "monitor": ("monitor", monitor(), {}),
    "slices": ("slices", table_of_slices(), {}),
    "classes": ("classes", several_classes(), {}),
    "recalibration": ("recalibration", recalibrated(), {}),
    "power, linear": ("power", ONE, {"scale": "linear"}),
    "power, logit": ("power", ONE, {"scale": "logit"}),
}  # fmt: skip


def test_every_picture_is_tried():
    assert {kind for kind, _, _ in CASES.values()} == set(KINDS)
    assert all(callable(getattr(truecal.plot, kind)) for kind in KINDS)


def test_counts_agree_with_their_nouns():
    one = judge_segments({("s",): observations(1, 0)[0]}, random_state=0, null_draws=19)
    window = judge_windows({date(2026, 1, 1): observations(1, 0)[0]}, every="1d", random_state=0)
    assert count_segments(one) == f"1 segment, the smallest p-value first: {one.alarm.sum()} miscalibrated"
    shown = f"2 of 5 segments, the smallest p-value first: {SEGMENTS.alarm.sum()} miscalibrated"
    assert count_segments(SEGMENTS, 2) == shown
    assert count_periods(window) == "1 period of 1d, 1,500 predictions; 1 miscalibrated"


def corners(mark):
    """The corners of bars."""
    for left, right, height in zip(mark.left, mark.right, mark.height, strict=True):
        along, up = [left, right, right, left], [0, 0, height, height]
        yield np.array([up, along] if mark.flat else [along, up], dtype=float)


def shapes(mark):
    """The positions of a mark, one array of x and y for each shape."""
    if isinstance(mark, Points):
        return [np.stack([mark.x, mark.y])]
    if isinstance(mark, Bars):
        return list(corners(mark))
    return [np.stack([x, y]) for x, y in zip(mark.x, mark.y, strict=True)]


@pytest.mark.parametrize("case", CASES)
def test_matplotlib_draws_every_mark(case):
    kind, data, options = CASES[case]
    picture = make_picture(kind, data, **options)
    figure = Figure(figsize=picture.size, layout="constrained")
    axes = draw(picture, figure.subplots())
    assert len(axes) == len(picture.panels)
    for panel, part in zip(picture.panels, axes, strict=True):
        shift = EPOCH if panel.x.kind == "date" else 0
        assert part.get_xlim() == pytest.approx(np.add(panel.x.limits, shift))
        assert part.get_ylim() == pytest.approx(panel.y.limits)
        found = {type(artist): [] for artist in part.get_children()} | {LineCollection: [], PolyCollection: []}
        for artist in part.get_children():
            found[type(artist)].append(artist)
        lines, areas = iter(found[LineCollection]), iter(found[PolyCollection])
        texts = [
            text for text in part.texts if text.get_text().replace("\n", " ") != picture.summary or not text.get_text()
        ]
        assert len(part.texts) - len(texts) == (bool(picture.summary) and part is axes[0])
        points, notes, spans = iter(part.lines), iter(texts), iter(part.patches)
        for mark in panel.marks:
            if isinstance(mark, Annotation):
                assert next(notes).get_text() == mark.text
                continue
            if isinstance(mark, Spans):
                for left, right in zip(mark.left, mark.right, strict=True):
                    box = next(spans).get_extents().transformed(part.transData.inverted())
                    assert (box.x0, box.x1) == pytest.approx((left + shift, right + shift))
                continue
            artist = next(points if isinstance(mark, Points) else lines if isinstance(mark, Lines) else areas)
            assert artist.get_label() == mark.label.replace("$", r"\$")
            if isinstance(mark, Points):
                drawn = [np.stack(artist.get_data())]
            elif isinstance(mark, Lines):
                drawn = [line.T for line in artist.get_segments()]
            else:
                drawn = [path.vertices[:-1].T for path in artist.get_paths()]  # the last closes the path
            expected = [shape + np.array([[shift], [0]]) for shape in shapes(mark)]
            assert len(drawn) == len(expected)
            for one, other in zip(drawn, expected, strict=True):
                np.testing.assert_allclose(one, other)
        for rest in (lines, areas, points, notes, spans):
            assert next(rest, None) is None  # nothing else is drawn
    figure.canvas.draw()


@pytest.mark.parametrize("case", CASES)
def test_the_legend_names_each_thing_once(case):
    kind, data, options = CASES[case]
    picture = make_picture(kind, data, **options)
    figure = Figure(figsize=picture.size, layout="constrained")
    labels = []
    for panel, part in zip(picture.panels, draw(picture, figure.subplots()), strict=True):
        legend, marks = part.get_legend(), panel.marks if panel.legend else ()
        named = [] if legend is None else [text.get_text().replace(r"\$", "$") for text in legend.get_texts()]
        shown = {mark.label for mark in marks if not isinstance(mark, Annotation) and mark.label[:1] not in ("", "_")}
        assert sorted(named) == sorted(shown)
        labels += named
    assert len(labels) >= {"slices": 1, "comparison": 1, "models": 0, "recalibration": 0}.get(kind, 2)
    keys = re.findall("<li><svg[^>]*>.*?</svg>(.*?)</li>", make_svg(kind, data, label="", **options))
    assert sorted(map(html.unescape, keys)) == sorted(labels)


def test_hovering_says_everything_about_a_bin():
    table = pictured.RESULTS["5 bins"].bins
    text = describe_each_bin(table)[2]
    for part in (
        f"[{table.left[2]:.4g}, {table.right[2]:.4g}): {table.n[2]:,} rows",
        f"predicted {table.mean[2]:.4g}, observed {table.rate[2]:.4g} ({table.k[2]:,})",
        f"accepted {table.accepted_low[2]:.4g} to {table.accepted_high[2]:.4g}",
        f"rejected {100 * table.rejected[2]:.1f}%",
        f"O/E {table.ratio[2]:.2f}",
    ):
        assert part in text


def test_bins_are_labelled_with_their_edges_while_that_is_readable():
    for name, count in (("5 bins", 6), ("20 bins", 21), ("500 bins", 26)):
        edges = [*pictured.RESULTS[name].bins.left, 1.0]
        panels = make_picture("test_reliability", pictured.RESULTS[name], scale="linear").panels
        (panel,) = (panel for panel in panels if any(mark.label == "size" for mark in panel.marks))
        ticks, labels, _ = panel.x.fit(7.5 * panel.box[2])
        assert len(labels) == count
        for at, text in zip(ticks, labels, strict=True):
            assert float(text) == pytest.approx(edges[int(at - 0.5)], rel=0.005)


def test_margins_are_counted_in_every_picture():
    result = pictured.RESULTS["zeros and ones"]
    low, high = find_margins(result, None, fit_axis([result], None, "logit"))
    assert (low.n >= 300, high.n) == (True, 40)
    words = ["\n".join(low.words), "40 at 1"]

    def marks(kind, *given, scale="logit"):
        return [mark for panel in make_picture(kind, result, *given, scale=scale).panels for mark in panel.marks]

    def notes(found):
        return [mark.text for mark in found if isinstance(mark, Annotation)]

    assert notes(marks("reliability", "tce")) == notes(marks("test_reliability")) == words
    ends = [
        x.tolist()
        for mark in marks("test_reliability")
        if isinstance(mark, Lines) and mark.label == "_beyond"
        for x in mark.x
    ]
    assert ends == [[0, low.n], [0, 40]]
    found = marks("calibration", "tce")
    assert notes(found)[-2:] == words
    bars = {mark.label: mark for mark in found if isinstance(mark, Bars)}
    crowd, too_low, both = (bars[name] for name in ("predictions", "rejected: too low", "rejected: too high"))
    assert crowd.height[-2:].tolist() == [low.n, 40]
    assert crowd.texts[-1].endswith("40 at 1: 40, rejected as too high 40")
    assert both.height[-1] == 40
    assert too_low.height[-2] == low.n_too_low
    assert notes(marks("test_reliability", scale="linear")) == []


class Cents:
    """A gap in hundredths, as a loss of one's own."""

    unit = Unit("cents", " ct", 100, 1)
    words = "gap"

    def __call__(self, bins):
        return 100 * Gap()(bins)


class Plain:
    """A loss that says nothing of itself."""

    def __call__(self, bins):
        return 100 * Gap()(bins)


def test_a_loss_of_ones_own_has_an_axis_of_its_own():
    rng = np.random.default_rng(0)
    p = rng.beta(1, 4, 2000)
    metrics = {
        "gap": Metric(Quantile(5), Gap()),
        "cents": Metric(Quantile(5), Cents()),
        "most": Metric(Quantile(5), Cents(), Max()),
        "plain": Metric(Quantile(5), Plain()),
        "tce": truecal.metrics.TCE,
    }
    result = truecal.evaluate(rng.random(2000) < 0.8 * p, p, metrics=metrics)
    picture = make_picture("metrics", {"m": result})
    found = {panel.x.title: panel.y.labels for panel in picture.panels}
    assert found == {
        "gap between rate and prediction": ("gap",),
        "gap (ct)": ("cents",),
        "largest gap (ct)": ("most",),
        "Plain": ("plain",),
        "rejected predictions (%)": ("TCE",),
    }
    (texts,) = (mark.texts for mark in picture.panels[1].marks if isinstance(mark, Points))
    assert texts == [f"m\ncents {result['cents']:.1f} ct"]
    for panel in picture.panels:
        (values,) = (mark.x for mark in panel.marks if isinstance(mark, Points))
        assert panel.x.limits[0] < 0 < values.max() < panel.x.limits[1]


@pytest.mark.parametrize("inches", [1, 3, 6, 20])
@pytest.mark.parametrize("count", [1, 2, 7, 21, 501])
def test_ticks_keep_their_distance_and_the_last_is_shown(inches, count):
    ruler = AxisSpec((0, count), ticks=tuple(range(count)), labels=tuple(map(str, range(count))), room=0.2)
    ticks, labels, _ = ruler.fit(inches)
    assert labels == [str(tick) for tick in ticks]
    assert (ticks[0], ticks[-1]) == (0, count - 1)
    assert len(ticks) <= max(3, inches / 0.2) + 1
    apart = np.diff(ticks)
    assert len(apart) == 0 or apart[-1] >= 0.7 * apart[0]  # the last step may be a little shorter


def test_signs_say_which_way_segments_are_off():
    """At 0.25 and 0.75, 400 rows each, 400 positives came where as many were predicted, but not evenly."""
    p, parts = np.repeat([0.25, 0.75], 400), {"a": (60, 340), "b": (140, 260), "c": (60, 260), "d": (100, 300)}
    observations = {
        (name,): Tally.from_arrays(np.concatenate([np.arange(400) < k for k in both]), p)
        for name, both in parts.items()
    }
    table = judge_segments(observations)
    assert table.direction == ["underconfident", "overconfident", "over-predicts", None]
    panel = make_picture("segments", table).panels[0]
    signs = {mark.label: mark.marker for mark in panel.marks if isinstance(mark, Points)}
    assert signs == {"underconfident": "s", "overconfident": "*", "over-predicts": "v", "consistent": "o"}
    drawn = make_svg("segments", table, label="")
    for sign in signs.values():
        assert SHAPES[sign] in drawn


def test_intervals_of_segments_are_drawn_whole_or_end_in_an_arrow():
    """25 of 400 where 20 are expected: exact to 1.95, as the table says; none of 40: down to 0, which no axis holds."""
    sizes = {"wide": (400, 25), "narrow": (20_000, 965), "none": (40, 0)}
    table = judge_segments(
        {(name,): Tally.from_arrays(np.arange(n) < k, np.full(n, 0.05)) for name, (n, k) in sizes.items()}
    )
    panel = make_picture("segments", table).panels[0]
    rows = {int(y[0]): x for mark in panel.marks if isinstance(mark, Lines) and mark.label == "_interval"
            for x, y in zip(mark.x, mark.y, strict=True)}  # fmt: skip
    arrows = {(mark.marker, row) for mark in panel.marks if isinstance(mark, Points) and mark.marker in "<>"
              for row in mark.y.astype(int).tolist()}  # fmt: skip
    for row, i in enumerate(table.order()):
        with np.errstate(divide="ignore"):
            low, high = np.log([table.ratio_low[i], table.ratio_high[i]])
        assert rows[row][1] == pytest.approx(high)
        assert (rows[row][0] == pytest.approx(low)) == (("<", row) not in arrows) == (table.observed[i] > 0)


def test_positives_where_none_are_predicted_have_an_arrow():
    # 20 positives at a score of 0, which are infinitely many times those predicted
    columns = {"y": [1] * 20 + [0] * 180 + [0, 1] * 100, "p": [0.0] * 200 + [0.5] * 200}
    (panel,) = make_picture("slices", truecal.slices(columns, label="y", score="p")).panels
    (arrow,) = (mark for mark in panel.marks if isinstance(mark, Points) and len(mark.x))
    assert (arrow.marker, arrow.y.tolist()) == (">", [0])
    assert "none expected" in arrow.texts[0]
