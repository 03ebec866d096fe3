"""The static diagrams: what is drawn is read back and set beside the Result."""

import subprocess
import sys
import time
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from conftest import missing
from observed import judge_segments

import truecal
from truecal import BoundedIsotonic, Metric, Quantile, Result, Tally, Uniform, words
from truecal._text import shorten
from truecal.metrics import PointwiseTest, format_name
from truecal.plot._axis import find_margins, fit_axis
from truecal.plot._style import find_fonts
from truecal.results import RankIndex, Scores, Shape, bounded_log_odds

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


def data(rows=4000, seed=1):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.5, 5, rows)
    return (rng.random(rows) < 0.6 * p).astype(int), p


def tails(rows=20_000, seed=0):
    """Right predictions of a rare event, Beta(0.3, 30): one in twenty lies below 1e-6."""
    rng = np.random.default_rng(seed)
    p = rng.beta(0.3, 30, rows)
    return rng.random(rows) < p, p


def with_bins(count, rows=4000):
    metric = Metric(Quantile(count), PointwiseTest())
    return truecal.evaluate(*data(rows), metrics={"tce": metric})


def awkward():
    y, p = data()
    p[:300], p[300:340] = 0, 1
    return {
        "1 bin": with_bins(1),
        "5 bins": with_bins(5),
        "20 bins": with_bins(20),
        "500 bins": with_bins(500),
        "one class": truecal.evaluate(np.zeros(4000, int), data()[1]),
        "all equal": truecal.evaluate(y, np.full(4000, 0.3)),
        "zeros and ones": truecal.evaluate(y, p),
        "only zeros and ones": truecal.evaluate([0, 1, 1], [0.0, 1.0, 1.0]),
        "empty bins": truecal.evaluate(y, p, metrics={"tce": Metric(Uniform(20), PointwiseTest())}),
        "one row": truecal.evaluate([1], [0.4]),
        "long tails": truecal.evaluate(*tails()),
    }


AWKWARD = awkward()


@pytest.fixture(params=AWKWARD, ids=str)
def result(request):
    return AWKWARD[request.param]


def outlines(collection):
    return [path.vertices for path in collection.get_paths()]


def labelled(ax, label):
    return next(artist for artist in [*ax.collections, *ax.lines] if artist.get_label() == label)


def heights(ax, label):
    """Of bars: how far each reaches from 0, up or down."""
    return [max(path[:, 1], key=abs) for path in outlines(labelled(ax, label))]


def widths(ax, label):
    """Of bars that lie on their side."""
    return [path[:, 0].max() for path in outlines(labelled(ax, label))]


@pytest.mark.parametrize("scale", ["linear", "logit"])
def test_the_diagram_draws_the_table(result, scale):
    table = result.tables["tce"]
    held = np.flatnonzero(table.n > 0)
    axis = fit_axis([result], None, scale)
    axes = truecal.plot.test_reliability(result, scale=scale, style="paper")
    rates = labelled(axes.main, "observed rate").get_segments()
    np.testing.assert_allclose([line[0, 1] for line in rates], axis.place(table.rate[held]))
    np.testing.assert_allclose([line[:, 0].mean() for line in rates], held + 1)
    bands = outlines(labelled(axes.main, "accepted by the test"))
    np.testing.assert_allclose([band[:, 1].min() for band in bands], axis.place(table.accepted_low[held]))
    np.testing.assert_allclose([band[:, 1].max() for band in bands], axis.place(table.accepted_high[held]))
    assert heights(axes.sizes, "size") == table.n.tolist()
    assert heights(axes.sizes, "rejected") == table.n_rejected.tolist()
    outline = getattr(result.shapes["tce"], scale)
    violins = outlines(labelled(axes.main, "predictions"))
    inner = ~np.isnan(outline.low)
    assert len(violins) == inner.sum()
    if inner.any():
        low, high = (np.clip(end[inner], axis.first, axis.last) for end in (outline.low, outline.high))
        np.testing.assert_allclose([v[:, 1].min() for v in violins], low, rtol=1e-6)
        np.testing.assert_allclose([v[:, 1].max() for v in violins], high, rtol=1e-6)
    histogram = getattr(result.scores, scale)
    assert widths(axes.histogram, "_all predictions") == histogram.n.tolist()
    assert axes.main.get_yscale() == scale
    low, high = axes.main.get_ylim()
    assert low <= axis.place(table.rate[held]).min()
    assert axis.place(table.rate[held]).max() <= high
    title = axes.main.get_title(loc="left")
    for part in (f"TCE {result.format('tce')}", f"n = {result.n:,}", "% positive"):
        assert part in title


@pytest.mark.slow
@pytest.mark.parametrize("draw", [truecal.plot.test_reliability, truecal.plot.reliability, truecal.plot.calibration])
@pytest.mark.parametrize("scale", ["linear", "logit"])
def test_labels_never_overlap(result, scale, draw):
    figure = plt.figure(figsize=(8, 6), layout="constrained")
    axes = draw(result, scale=scale, ax=figure.subplots())
    figure.draw_without_rendering()
    for ax, line in [(ax, line) for ax in axes for line in "xy"]:
        boxes = [label.get_window_extent() for label in getattr(ax, f"get_{line}ticklabels")() if label.get_text()]
        for one, other in pairwise(boxes):
            assert not one.overlaps(other)


def test_exact_zeros_and_ones_are_at_the_margin_and_counted():
    y, p = data()
    p = np.maximum(p, 0.001)
    p[:300], p[300:340] = 0, 1
    result = truecal.evaluate(y, p)
    axes = truecal.plot.test_reliability(result, scale="logit")
    texts = [text.get_text() for text in axes.histogram.texts]
    assert texts == ["300 at 0", "40 at 1"]
    axis = fit_axis([result], None, "logit")
    marks = [(line.get_xdata()[0], line.get_ydata()[0]) for line in axes.main.lines]
    assert marks == [(1, axis.low), (len(result.tables["tce"]), axis.high)]
    assert (axis.labels[0], axis.labels[-1]) == ("0", "1")


@pytest.mark.parametrize("seed", range(3))
def test_rare_bins_are_far_apart(seed):
    """One in twenty of Beta(0.3, 30) lies below 1e-6, the largest of 20,000 is about 0.3: 5.5 decades of odds. The bins
    below 0.01 reach from about 1e-5 to 0.008, 2.8 decades: half of them, and 40% is left when margins and luck have
    taken their part. An axis down to the smallest prediction, 1e-9 as drawn, gave them 28 to 34%."""
    result = truecal.evaluate(*tails(seed=seed))
    axes = truecal.plot.test_reliability(result)
    assert axes.main.get_yscale() == "logit"
    bins = result.tables["tce"]
    below = bins.mean[bins.mean < 0.01]
    heights = axes.main.transAxes.inverted().transform(axes.main.transData.transform([(1, m) for m in below]))[:, 1]
    assert len(below) >= 6
    assert heights.max() - heights.min() > 0.4


def test_what_lies_beyond_the_axis_is_at_the_margin_and_counted():
    y, p = tails()
    p[:7] = 0
    result = truecal.evaluate(y, p)
    axis = fit_axis([result], None, None)
    beyond = ((p > 0) & (p < axis.first)).sum()
    assert 0 < beyond <= 0.05 * len(p)  # as the axis promises
    decade = int(np.floor(np.log10(result.tables["tce"].mean.min())))  # of the lowest bin that is large
    assert axis.first == pytest.approx(10.0**decade, rel=1e-5)
    assert axis.labels[0] == f"<1e{decade}"
    axes = truecal.plot.test_reliability(result)
    words = ["7 at 0", f"{beyond:,} <1e{decade}"]
    assert [text.get_text() for text in axes.histogram.texts] == ["\n".join(words)]
    (mark,) = axes.main.lines
    assert mark.get_xdata().tolist() == [1]
    assert mark.get_ydata().tolist() == [axis.low]
    (bar,) = labelled(axes.histogram, "_beyond").get_segments()
    assert bar[:, 0].tolist() == [0, 7 + beyond]


def test_models_on_one_axis_are_counted_from_the_same_place():
    """Histograms of different data have their edges in common, so what lies beyond is counted exactly in each."""
    data = {str(seed): tails(seed=seed) for seed in range(3)}
    data["short"] = (data["0"][0], np.maximum(data["0"][1], 1e-4))
    results = {name: truecal.evaluate(*pair, metrics=["tce"]) for name, pair in data.items()}
    axis = fit_axis(results.values(), None, "logit")
    for name, result in results.items():
        beyond = int((data[name][1] < axis.first).sum())
        assert [margin.n for margin in find_margins(result, None, axis)] == [beyond] * (beyond > 0)
    assert beyond == 0


def test_an_axis_is_not_cut_for_little():
    """A tail of less than a decade, and predictions between 0.001 and 0.999, stay in their place."""
    rng = np.random.default_rng(0)
    p = 10 ** rng.uniform(-4.15, -0.1, 20_000)
    result = truecal.evaluate(rng.random(20_000) < p, p, metrics={"tce": Metric(Uniform(1), PointwiseTest())})
    axis = fit_axis([result], None, "logit")
    assert find_margins(result, None, axis) == []
    assert axis.first <= p.min()
    assert p.max() <= axis.last


def test_the_null_mean_is_in_the_title():
    result = truecal.evaluate(*data(), metrics=["tce", "ece"], null_draws=20, random_state=0)
    title = truecal.plot.test_reliability(result, title="cost $5 or $6").main.get_title(loc="left")
    assert f"({result.nulls['tce'].mean:.2f}% if calibrated)" in title
    assert r"\$5" in title


@pytest.mark.parametrize("scale", ["linear", "logit"])
@pytest.mark.parametrize("metric", ["ece", "ace"])
def test_the_standard_diagram_draws_the_table(metric, scale):
    result = truecal.evaluate(*data())
    table, axis = result.tables[metric], fit_axis([result], metric, scale, wide=False)
    held = table.n > 0
    axes = truecal.plot.reliability(result, metric, scale=scale)
    dots = labelled(axes.main, f"{format_name(metric)} bins, 95% CI")
    np.testing.assert_allclose(dots.get_xdata(), axis.place(table.mean[held]))
    np.testing.assert_allclose(dots.get_ydata(), axis.place(table.rate[held]))
    spans = labelled(axes.main, "_interval").get_segments()
    np.testing.assert_allclose([s[0, 1] for s in spans], axis.place(table.rate_low[held]))
    np.testing.assert_allclose([s[1, 1] for s in spans], axis.place(table.rate_high[held]))
    if scale == "linear":  # a logit axis counts what is beyond it at its margins, too
        assert sum(heights(axes.rows, "_predictions")) == result.n


def test_the_curve_and_its_band_are_those_of_the_result():
    """Isotonic regression by scikit-learn; a right model's curve leaves a band of 95 % at few of its points."""
    isotonic = pytest.importorskip("sklearn.isotonic")
    rng = np.random.default_rng(1)
    p = rng.beta(1, 3, 3000)
    y = rng.random(3000) < p
    result = truecal.evaluate(y, p, null_draws=200, random_state=0)
    curve = result.curve
    fit = isotonic.IsotonicRegression(y_min=0, y_max=1).fit(p, y)
    np.testing.assert_allclose(curve.rate, fit.predict(curve.score), atol=1e-12)
    assert np.mean((curve.rate < curve.low) | (curve.rate > curve.high)) < 0.15
    axes = truecal.plot.reliability(result, scale="linear")
    (line,) = labelled(axes.main, "isotonic (CORP)").get_segments()
    np.testing.assert_allclose(line, np.stack([curve.score, curve.rate], 1))
    assert labelled(axes.main, "95% band if calibrated") is not None
    off = truecal.evaluate(rng.random(3000) < p**1.5, p, null_draws=200, random_state=0).curve
    assert np.mean((off.rate < off.low) | (off.rate > off.high)) > 0.3
    alone = truecal.plot.reliability(truecal.evaluate(y, p))
    assert "95% band if calibrated" not in [artist.get_label() for artist in alone.main.collections]


def test_rare_events_have_a_logit_axis_and_bins_of_equal_size():
    rng = np.random.default_rng(1)
    p = rng.beta(0.5, 100, 5000)
    axes = truecal.plot.reliability(truecal.evaluate(rng.random(5000) < p, p))
    assert (axes.main.get_xscale(), axes.main.get_yscale()) == ("logit", "logit")
    assert len(labelled(axes.main, "ACE bins, 95% CI").get_xdata()) > 5


def test_rejected_zeros_and_ones_are_where_they_are():
    """Windows are rejected as a whole: zeros beside scores that are too high are rejected with them."""
    p = np.repeat([0.0, 0.004, 0.5, 1.0], [50, 3000, 200, 50])
    y = np.repeat([0, 1], [3150, 150])
    result = truecal.evaluate(y, p, ["ltce"])
    outline, table = result.shapes["ltce"].logit, result.bins
    for side, name in enumerate(("n_too_low", "n_too_high")):
        inner = getattr(outline, name).sum()
        assert inner + outline.zeros[side] + outline.ones[side] == getattr(table, name).sum()
    linear = result.shapes["ltce"].linear
    assert linear.zeros.tolist() == linear.ones.tolist() == [0, 0]
    low, high = find_margins(result, "ltce", fit_axis([result], "ltce", "logit"))
    assert (low.n_too_low, low.n_too_high) == tuple(outline.zeros)
    assert (high.n_too_low, high.n_too_high) == tuple(outline.ones)


def test_rejected_predictions_at_the_margins_are_drawn_and_counted():
    """Scores of 0 among positives are too low, scores of 1 among negatives too high: all of them are rejected."""
    y, p = tails()
    p[:300], p[300:340] = 0, 1
    result = truecal.evaluate(y, p, binning=BoundedIsotonic(sizes="paper"))  # few bins, and so a tail beyond the axis
    axis = fit_axis([result], "tce", "logit", wide=False)
    beyond = int(((p > 0) & (p < axis.first)).sum())
    assert beyond > 0
    low, high = find_margins(result, "tce", axis)
    assert (low.n, low.n_too_low, low.n_too_high) == (300 + beyond, 300 + beyond, 0)
    assert (high.n, high.n_too_low, high.n_too_high) == (40, 0, 40)
    axes = truecal.plot.calibration(result, "tce", scale="logit")
    too_low, both = (heights(axes.rows, label)[-2:] for label in ("rejected: too low", "rejected: too high"))
    assert (too_low, both) == ([300 + beyond, 0], [0, 40])
    assert [text.get_text() for text in axes.rows.texts] == [f"300 at 0\n{beyond} <1e-6", "40 at 1"]
    assert truecal.plot.calibration(result, "tce", scale="linear").rows.texts[:] == []


def test_segments_with_the_smallest_p_values_come_first():
    rng = np.random.default_rng(0)
    observations = {}
    for i in range(25):
        p = rng.beta(1, 9, 1500)
        observations[("$a$" if i == 3 else f"s{i}",)] = Tally.from_arrays(rng.random(1500) < (1 + (i == 3)) * p, p)
    observations["few",] = Tally.from_arrays([0, 1], [0.5, 0.5])
    table = judge_segments(observations)
    ax = truecal.plot.segments(table, worst=26)
    order = table.order()
    assert table.segment[order[0]] == ("$a$",)
    first = [r"\$a\$", table.names[order[1]].removeprefix("segment=")]
    assert [label.get_text() for label in ax.get_yticklabels()][:2] == first
    assert ax.get_ylabel() == "segment"
    words = np.array(table.status)[order]
    assert set(words) == {"miscalibrated", "inconclusive"}
    for word, label in (("miscalibrated", "under-predicts"), ("inconclusive", "inconclusive")):
        (points,) = (line for line in ax.lines if line.get_label() == label)
        np.testing.assert_allclose(points.get_xdata(), np.log(table.ratio[order][words == word]))
        assert points.get_ydata().tolist() == np.flatnonzero(words == word).tolist()
    spans = [part for line in ax.collections if line.get_label() == "_interval" for part in line.get_segments()]
    ends = {span[0, 1]: span[:, 0].tolist() for span in spans}
    reach = -ax.get_xlim()[0]
    for row, i in enumerate(order):
        expected = np.clip(np.log([table.ratio_low[i], table.ratio_high[i]]), -reach, reach)
        assert ends[row] == pytest.approx(expected.tolist(), abs=1e-9)
    assert ax.get_title(loc="left") == "26 segments, the smallest p-value first: 1 miscalibrated"
    given = plt.figure().subplots()
    assert truecal.plot.segments(table, ax=given, worst=2) is given
    assert given.get_title(loc="left").startswith("2 of 26 segments")


def test_binnings_in_rows():
    """The model is miscalibrated: a bin has a colour if the interval of its rate does not hold its mean prediction."""
    result = truecal.evaluate(*data())
    names = ["ltce", "tce", "ece", "ace"]
    *rows, counts = truecal.plot.binnings(result, names, scale="linear")
    axis, reach = fit_axis([result], "ltce", "linear", wide=False), rows[0].get_ylim()[1]
    assert sum(heights(counts, "_predictions")) == result.n
    for ax, name in zip(rows, names, strict=True):
        table = result.tables[name]
        held = (table.n > 0) & (table.mean > 0)
        assert ax.get_title(loc="left").endswith(f"({np.sum(table.n > 0)} with rows, {span(table.n)} in each)")
        factor = bounded_log_odds(table.rate[held]) - bounded_log_odds(table.mean[held])
        drawn = [line for label in ("not rejected by itself", "too low", "too high") for line in segments(ax, label)]
        want = np.stack([axis.place(table.left[held]), factor], 1)[np.abs(factor) <= reach]
        np.testing.assert_allclose(sorted(line[0].tolist() for line in drawn), want, atol=1e-9)
        if name != "ltce":
            high = held & (table.rate_high < table.mean)
            assert len(boxes(ax, "_too high: interval")) == np.sum(high)
            assert boxes(ax, "_too low: interval") == []
    assert rows[0].get_ylim() == rows[-1].get_ylim()


def span(n):
    low, high = n[n > 0].min(), n.max()
    return f"{low:,} to {high:,}" if low < high else f"{high:,}"


def segments(ax, label):
    return [line for part in ax.collections if part.get_label() == label for line in part.get_segments()]


def boxes(ax, label):
    return [path for part in ax.collections if part.get_label() == label for path in part.get_paths()]


@pytest.mark.parametrize("style", ["verdict", "paper"])
def test_the_paper_has_its_own_style(style):
    """Orange-red is the observed rate in the paper's style, and too high in ours; a calibrated model has no colour there."""
    vermilion = matplotlib.colors.to_rgba("#d55e00")
    off, right = truecal.evaluate(*data()), truecal.evaluate(*tails())
    axes = truecal.plot.test_reliability(off, style=style)
    rate = labelled(axes.main, "observed rate").get_edgecolor()[0]
    assert tuple(rate) == (vermilion if style == "paper" else (0, 0, 0, 1))
    rejected = heights(axes.sizes, "rejected" if style == "paper" else "rejected: too high")
    assert rejected == off.tables["tce"].n_rejected.tolist()
    assert ("too high" in [part.get_label() for part in axes.main.collections]) == (style == "verdict")
    calm = truecal.plot.test_reliability(right, style=style)
    colours = {
        tuple(c) for ax in calm for part in ax.collections for c in (*part.get_facecolor(), *part.get_edgecolor())
    }
    assert any(c[:3] == vermilion[:3] for c in colours) == (style == "paper")
    assert truecal.plot.test_reliability(off).main.texts[0].get_text() == words.label_result(off)
    with pytest.raises(ValueError, match='`style` must be "verdict" or "paper"; it is \'plain\''):
        truecal.plot.test_reliability(off, style="plain")


def test_models_share_an_axis():
    results = {"a": with_bins(5), "b": truecal.evaluate(*data(seed=2))}
    drawn = truecal.plot.models(results)
    assert drawn[0].get_ylim() == drawn[1].get_ylim()
    assert drawn[0].get_xlim() == drawn[1].get_xlim()
    assert {ax.get_title(loc="left")[:2] for ax in drawn} == {"a:", "b:"}
    with pytest.raises(TypeError, match="results by name"):
        truecal.plot.models({})
    with pytest.raises(TypeError, match="'a' is int"):
        truecal.plot.models({"a": 1})


def test_metrics_with_intervals_and_chance():
    names = ["tce", "ece", "mce"]
    result = truecal.evaluate(*data(), metrics=names, null_draws=20, resamples=20, random_state=0)
    panels = truecal.plot.metrics({"m": result})
    assert [ax.get_yticklabels()[0].get_text() for ax in panels] == ["TCE", "ECE", "MCE"]
    labels = [line.get_label() for line in panels[0].lines]
    assert labels == ["over-predicts"]  # 0.6 times as many positives as predicted
    for ax, name in zip(panels, names, strict=True):
        assert ax.lines[0].get_xdata()[0] == result[name]
        assert widths(ax, "mean if calibrated") == [result.nulls[name].mean]
        (span,) = labelled(ax, "_interval").get_segments()
        assert (span[0, 0], span[1, 0]) == (result.intervals[name].low, result.intervals[name].high)
    with pytest.raises(ValueError, match="'ace' is not in that of 'm'"):
        truecal.plot.metrics({"m": result}, ["ace"])


def test_metrics_of_ten_models_are_named_and_ranked():
    """Each model has a row with its name, and a sign for its verdict: no colour is used for two models."""
    right = truecal.evaluate(*tails(), ["ltce", "ece"])
    named = {f"m{i}": right for i in range(9)} | {"long " * 9: truecal.evaluate(*data(), ["ltce", "ece"])}
    for ax, name in zip(truecal.plot.metrics(named), ("Local TCE:", "ECE:"), strict=True):
        labels = [label.get_text() for label in ax.get_yticklabels()]
        assert labels == [name, shorten("long " * 9, 40), *(f"m{i}" for i in range(9))]
        signs = {line.get_label(): (line.get_marker(), line.get_ydata().tolist()) for line in ax.lines}
        assert signs == {"over-predicts": ("v", [1]), "consistent": ("o", [*range(2, 11)])}


@pytest.mark.slow
def test_a_hundred_million_rows_draw_like_ten_thousand():
    few, many = (with_bins(20, rows) for rows in (10_000, 1_000_000))
    assert few.shapes["tce"].linear.width.shape == many.shapes["tce"].linear.width.shape
    heavy = truecal.evaluate(Tally([0.1, 0.3, 0.9], [60_000_000, 30_000_000, 10_000_000], [6_000_000, 9_000_000, 1]))
    begun = time.process_time()
    axes = truecal.plot.test_reliability(heavy)
    assert time.process_time() - begun < 5
    assert sum(heights(axes.sizes, "size")) == 100_000_000
    truecal.plot.test_reliability(many)
    assert sum(many.scores.logit.n) + many.scores.zeros + many.scores.ones == 1_000_000


def test_shapes_count_every_prediction():
    y, p = data()
    p[:300], p[300:340] = 0, 1
    tally = Tally.from_arrays(y, p)
    scores = Scores.of(RankIndex(tally))
    assert (scores.zeros, scores.ones) == (300, 40)
    np.testing.assert_array_equal(scores.linear.n, np.histogram(p, scores.linear.edges)[0])
    inner = p[(p > 0) & (p < 1)]
    assert scores.logit.n.sum() == len(inner)
    assert 40 <= len(scores.logit.n) <= 80
    steps = np.diff(bounded_log_odds(scores.logit.edges)) / np.log(10)
    np.testing.assert_allclose(steps, 2 ** np.round(np.log2(steps[0])))
    np.testing.assert_allclose(scores.logit.n, np.histogram(inner, scores.logit.edges)[0], atol=1)
    result = truecal.evaluate(y, p, metrics={"tce": Metric(BoundedIsotonic(), PointwiseTest())})
    shape = result.shapes["tce"]
    assert isinstance(shape, Shape)
    assert shape.linear.width.max(axis=1).tolist() == [1000] * len(result.bins)
    inner = (result.bins.mean > 0) & (result.bins.mean < 1)  # a bin of zeros has no place on a logit axis
    assert not inner.all()
    assert shape.logit.width.max(axis=1).tolist() == np.where(inner, 1000, 0).tolist()
    again = Result.from_json(result.to_json())
    assert again == result
    assert again.shapes["tce"] == shape


@pytest.mark.parametrize("decimals", [2, 3])
def test_cells_hold_equally_many_values_of_rounded_scores(decimals):
    values = np.round(np.arange(10**decimals + 1) / 10**decimals, decimals)
    values = values[values <= 0.7]
    p = np.repeat(values, 3)
    found = truecal.evaluate(p < 0.3, p).scores.linear
    np.testing.assert_array_equal(found.n, np.histogram(p, found.edges)[0])
    assert len(found.n) <= 60
    assert len(set(found.n[:-1].tolist())) == 1
    assert found.n.sum() == len(p)


def test_a_result_without_shapes_still_prints_and_cannot_be_drawn():
    old = replace(with_bins(3), scores=None, shapes={})
    assert "<img" not in old._repr_html_()
    with pytest.raises(ValueError, match="Evaluate again"):
        truecal.plot.test_reliability(old)


def test_wrong_options_are_refused():
    result = with_bins(3)
    with pytest.raises(ValueError, match="`scale` must be"):
        truecal.plot.test_reliability(result, scale="log")
    with pytest.raises(ValueError, match="`metric` must be among tce; it is 'ece'"):
        truecal.plot.test_reliability(result, "ece")


def test_a_notebook_shows_table_and_diagram():
    html = with_bins(3)._repr_html_()
    assert "<table>" in html
    assert 'src="data:image/png;base64,' in html
    assert not plt.get_fignums()


def test_names_in_any_script_have_all_fonts_that_are_installed(monkeypatch):
    """Each text takes a sign from the first font that has it: every text must know all that are installed."""
    from matplotlib import font_manager

    entries = [*font_manager.fontManager.ttflist]
    entries += [replace(entries[0], name="Noto Sans CJK JP", weight=400), replace(entries[0], name="Noto Sans Arabic")]
    entries.append(replace(entries[0], name="Noto Sans Arabic", weight=700))
    monkeypatch.setattr(font_manager.fontManager, "ttflist", entries)
    find_fonts.cache_clear()
    try:
        fonts, bold = find_fonts(), find_fonts(bold=True)
        assert fonts[0] == bold[0] == "DejaVu Sans"  # which matplotlib brings
        assert {"Noto Sans CJK JP", "Noto Sans Arabic"} <= set(fonts)
        assert "Noto Sans Arabic" in bold
        assert "Noto Sans CJK JP" not in bold or any(e.name == "Noto Sans CJK JP" and e.weight == 700 for e in entries)
        table = judge_segments({(name,): Tally.from_arrays(*data(500)) for name in ("日本", "عرب", "ab" * 40)})
        ax = truecal.plot.segments(table)
        texts = [*ax.get_yticklabels(), *ax.get_legend().get_texts(), ax.xaxis.label, ax.title]
        assert all(text.get_fontfamily() == fonts for text in texts)
        assert {text.get_text() for text in ax.get_yticklabels()} == {"日本", "عرب", shorten("ab" * 40, 40)}
        assert all(text.get_fontfamily() in (fonts, bold) for text in ax.texts)
    finally:
        find_fonts.cache_clear()


def test_a_missing_extra_names_the_command(monkeypatch):
    result = with_bins(3)

    def absent(name, *_):
        raise ImportError(name)

    monkeypatch.setattr("truecal.plot._matplotlib.import_module", absent)
    with pytest.raises(ImportError, match=r"pip install 'truecal\[plot\]'"):
        truecal.plot.test_reliability(result)
    assert "<img" not in result._repr_html_()


def test_the_comparison_of_binnings_counts_what_is_at_the_margins():
    y, p = data()
    p[:300], p[300:340] = 0, 1
    result = truecal.evaluate(y, p, metrics=["tce", "ece"])
    words = [text.get_text() for text in truecal.plot.binnings(result, scale="logit")[-1].texts]
    assert any("300 at 0" in text for text in words)
    assert "40 at 1" in words
    rows = truecal.plot.binnings(result, scale="linear")
    assert rows[-1].texts[:] == []
    assert rows[-1].get_xlabel() == "prediction"


@pytest.mark.parametrize("kind", ["test_reliability", "binnings", "metrics", "models"])
def test_pictures_are_drawn_into_given_axes(kind):
    figure, (left, right) = plt.subplots(1, 2)
    result = truecal.evaluate(*data(), metrics=["tce", "ece"])
    several = {"m": result, "other": result}
    drawn = getattr(truecal.plot, kind)(several if kind in ("metrics", "models") else result, ax=right)
    while isinstance(drawn, (list, tuple)):
        drawn = drawn[0]
    assert drawn in right.child_axes
    assert drawn.get_figure(root=True) is figure
    assert left.child_axes == []
    assert plt.get_fignums() == [figure.number]


@pytest.mark.parametrize("name", ["a.png", "b.SVG", "c.pdf"])
def test_pictures_are_saved_without_a_window(tmp_path, name):
    result = with_bins(3)
    assert truecal.plot.save(tmp_path / name, "test_reliability", result, title="mine") == tmp_path / name
    assert (tmp_path / name).read_bytes()[:5] in (b"\x89PNG\r", b"<?xml", b"%PDF-")
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert not plt.get_fignums()


def test_what_cannot_be_saved_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"`path` must end in .*\.png.*; it is 'a\.docx'"):
        truecal.plot.save("a.docx", "test_reliability", with_bins(3))
    with pytest.raises(
        ValueError, match="`kind` must be one of calibration, .*; it is 'metric'.\n\nHint: did you mean 'metrics'?"
    ):
        truecal.plot.save(tmp_path / "a.png", "metric", with_bins(3))
    with pytest.raises(TypeError, match="sclae"):
        truecal.plot.save(tmp_path / "a.png", "power", with_bins(3), sclae="logit")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("error", [RuntimeError("failed to load glyph"), OSError("codec configuration error")])
def test_a_picture_that_cannot_be_drawn_is_named(tmp_path, monkeypatch, error):
    """As FreeType and Pillow tell of a lack of memory."""

    def fail(*_, **__):
        raise error

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", fail)
    with pytest.raises(OSError, match=rf"a\.png' must be drawn whole; matplotlib could not: {error}"):
        truecal.plot.save(tmp_path / "a.png", "test_reliability", with_bins(3))
    assert not list(tmp_path.iterdir())


def test_pytest_does_not_collect_the_diagram_from_an_import(tmp_path):
    (tmp_path / "test_mine.py").write_text("from truecal.plot import test_reliability\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", tmp_path],
        check=False,
        capture_output=True,
        text=True,
    )
    assert "no tests collected" in done.stdout
