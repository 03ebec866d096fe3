"""The interactive figures: their traces and layouts are read back and set beside the Result."""

import numpy as np
import pytest
from conftest import missing
from observed import judge_segments
from pictured import RESULTS, p, y

import truecal
from truecal.plot import make_figure
from truecal.plot._axis import find_margins, fit_axis
from truecal.plot._pictures import describe_each_bin

try:
    import plotly.graph_objects as objects
except ImportError:
    missing("plotly is not installed")
EVIL = "<script>alert(1)</script>"


def segments(count=25):
    rng = np.random.default_rng(0)
    tallies = {}
    for i in range(count):
        score = rng.beta(1, 9, 1500)
        label = rng.random(1500) < (1 + (i == 3)) * score
        tallies[EVIL if i == 3 else f'no. {i}, "x"', "=1"] = truecal.Tally.from_arrays(label, score)
    return judge_segments(tallies, random_state=0, reference=999, by=("name", "kind"))


def place(axis, probabilities):
    """Where plotly draws probabilities: at their log-odds on a logit axis."""
    placed = axis.place(probabilities)
    return np.log(placed / (1 - placed)) if axis.logit else placed


def by_name(figure):
    return {trace["name"]: trace for trace in reversed(figure["data"])}


def rows(trace, name, points):
    """The positions of separate shapes, without what closes and parts them."""
    return np.array(trace[name], dtype=float).reshape(-1, points)


@pytest.mark.parametrize("scale", ["linear", "logit"])
@pytest.mark.parametrize("name", RESULTS)
def test_the_traces_hold_the_table(name, scale):
    result = RESULTS[name]
    table, axis = result.tables["tce"], fit_axis([result], None, scale)
    traces = by_name(make_figure("test_based", result, scale=scale, style="paper"))
    held = np.flatnonzero(table.n > 0)
    assert traces["size"]["y"] == table.n.tolist()
    assert traces["refuted"]["y"] == table.n_refuted.tolist()
    rates = rows(traces["observed rate"], "y", 4)  # both ends, the middle, a gap
    np.testing.assert_allclose(rates[:, :3].T, [place(axis, table.rate[held])] * 3, rtol=1e-5, atol=1e-9)
    assert np.isnan(rates[:, 3]).all()
    described = describe_each_bin(table)
    texts = [described[i].replace("\n", "<br>") for i in held]
    assert traces["observed rate"]["hovertext"][1::4] == texts
    band = rows(traces["accepted by the test"], "y", 6)
    np.testing.assert_allclose(np.nanmin(band, 1), place(axis, table.accepted_low[held]), rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(np.nanmax(band, 1), place(axis, table.accepted_high[held]), rtol=1e-5, atol=1e-9)
    assert sum(traces["all predictions"]["x"]) == getattr(result.scores, scale).n.sum()


def test_hovering_says_everything_about_a_bin():
    table = RESULTS["5 bins"].bins
    text = describe_each_bin(table)[2]
    for part in (
        f"[{table.left[2]:.4g}, {table.right[2]:.4g}): {table.n[2]:,} rows",
        f"said {table.mean[2]:.4g}, came {table.rate[2]:.4g} ({table.k[2]:,})",
        f"accepted {table.accepted_low[2]:.4g} to {table.accepted_high[2]:.4g}",
        f"refuted {100 * table.refuted[2]:.1f} %",
        f"observed / expected {table.ratio[2]:.2f}",
    ):
        assert part in text


def test_the_other_figures_hold_the_result():
    result = truecal.evaluate(y, p, reference=20, intervals=20, random_state=0)
    table = result.tables["ace"]
    axis = fit_axis([result], "ace", "linear", wide=False)
    dots = by_name(make_figure("reliability", result, "ace", scale="linear"))["ace bins, 95 %"]
    np.testing.assert_allclose(dots["x"], axis.place(table.mean), rtol=1e-5)
    np.testing.assert_allclose(dots["y"], axis.place(table.rate), rtol=1e-5)
    names = ["tce", "tce_q", "tce_v"]
    chance, spans, values = make_figure("metrics", {EVIL: result}, names)["data"]
    np.testing.assert_allclose(values["x"], [result[name] for name in names], rtol=1e-5)
    np.testing.assert_allclose(chance["x"], [result.references[name].mean for name in names], rtol=1e-5)
    ends = [[result.intervals[name].low, result.intervals[name].high] for name in names]
    np.testing.assert_allclose(rows(spans, "x", 3)[:, :2], ends, rtol=1e-5)
    assert values["hovertext"][0].startswith("&lt;script&gt;alert(1)&lt;/script&gt;<br>TCE")
    assert values["name"] == "too high"  # 0.6 times as many positives came as predicted


def test_bins_are_labelled_with_their_edges_while_that_is_readable():
    for name, count in (("5 bins", 6), ("20 bins", 21), ("500 bins", 26)):
        edges = [*RESULTS[name].bins.left, 1.0]
        figure = make_figure("test_based", RESULTS[name], scale="linear")
        axis = figure["layout"][by_name(figure)["size"]["xaxis"].replace("x", "xaxis")]
        assert len(axis["ticktext"]) == count
        for at, text in zip(axis["tickvals"], axis["ticktext"], strict=True):
            assert float(text) == pytest.approx(edges[int(at - 0.5)], rel=0.005)


def test_margins_are_counted_in_every_figure():
    result = RESULTS["zeros and ones"]
    low, high = find_margins(result, None, fit_axis([result], None, "logit"))
    assert (low.n >= 300, high.n) == (True, 40)
    words = ["<br>".join(word.replace("<", "&lt;") for word in low.words), "40 at 1"]
    assert [
        note["text"] for note in make_figure("reliability", result, "tce", scale="logit")["layout"]["annotations"]
    ] == words
    for figure in (make_figure("test_based", result, scale="logit"),):
        assert [note["text"] for note in figure["layout"]["annotations"]] == words
        ends = [trace["x"][:3] for trace in figure["data"] if trace["name"] == "beyond" and "line" in trace]
        assert ends == [[0, low.n / 2, low.n], [0, 20, 40]]
    figure = make_figure("calibration", result, "tce", scale="logit")
    assert [note["text"] for note in figure["layout"]["annotations"]][-2:] == words
    bars = {trace["name"]: trace for trace in figure["data"] if trace["type"] == "bar"}
    crowd, too_low, both = (bars[name] for name in ("predictions", "refuted: too low", "refuted: too high"))
    assert crowd["y"][-2:] == [low.n, 40]
    assert crowd["hovertext"][-1].endswith("40 at 1: 40, refuted as too high 40")
    assert both["y"][-1] == 40
    assert too_low["y"][-2] == low.n_too_low
    assert make_figure("test_based", result, scale="linear")["layout"]["annotations"] == []


def test_the_worst_segments_are_drawn():
    table = segments()
    figure = make_figure("segments", table)
    traces = {trace["name"]: trace for trace in figure["data"]}
    order, words = table.order()[:20], np.array(table.verdict)
    assert "off" in words[order]
    for word in set(words[order]):
        rows = np.flatnonzero(words[order] == word)
        trace = traces["too low" if word == "off" else word]
        np.testing.assert_allclose(trace["x"], np.log(table.ratio[order[rows]]), rtol=1e-4)
        assert trace["y"] == rows.tolist()
    found = traces["too low"]
    assert found["hovertext"][0].startswith("name=&lt;script&gt;alert(1)&lt;/script&gt;, kind==1: off<br>n = 1,500")
    assert figure["layout"]["yaxis"]["ticktext"][0].startswith("&lt;script&gt;")
    assert figure["layout"]["yaxis"]["title"]["text"] == "name"


def test_the_interactive_diagram_is_a_plotly_figure():
    figure = truecal.plot.interactive("test_based", RESULTS["5 bins"], style="paper", scale="linear", title=EVIL)
    assert isinstance(figure, objects.Figure)
    assert [trace.name for trace in figure.data][:3] == ["accepted by the test", "predictions", "observed rate"]
    assert figure.layout.title.text.startswith("&lt;script&gt;alert(1)&lt;/script&gt;<br>off (p &lt; 0.0001)   TCE")


def test_a_kind_that_is_none_is_refused():
    with pytest.raises(ValueError, match="`kind` must be one of calibration, .*; it is 'test-based'"):
        truecal.plot.interactive("test-based", RESULTS["5 bins"])
