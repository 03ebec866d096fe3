import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import truecal
from truecal import BoundedIsotonic, Metric, Quantile, Relative, Result, Tally, Uniform
from truecal.data import Cells
from truecal.metrics import Edges, Gap, MidP, local_error


@pytest.fixture
def data(rng):
    p = rng.beta(0.5, 5, 2000)
    return (rng.random(2000) < p).astype(int), p


@pytest.fixture
def result(data):
    return truecal.evaluate(*data)


def test_holds_the_standard_metrics(result, data):
    tally = Tally.from_arrays(*data)
    named = truecal.metrics.METRICS
    assert result.values == {name: named[name](tally) for name in truecal.metrics.STANDARD}
    assert next(iter(result.values)) == "ltce"
    assert truecal.evaluate(*data, list(named)).values == {name: metric(tally) for name, metric in named.items()}
    assert result["tce"] == truecal.tce(*data)
    assert (result.n, result.positives) == (2000, data[0].sum())
    assert result.prevalence == data[0].mean()
    assert result.version == truecal.__version__


def test_bins_are_described(result, data):
    y, p = data
    bins = result.tables["tce"]
    rows = [
        (p >= left) & ((p < right) if right < 1 else (p <= 1))
        for left, right in zip(bins.left, bins.right, strict=True)
    ]
    assert bins.n.tolist() == [row.sum() for row in rows]
    assert bins.k.tolist() == [y[row].sum() for row in rows]
    np.testing.assert_allclose(bins.rate, [y[row].mean() for row in rows])
    np.testing.assert_allclose(bins.mean, [p[row].mean() for row in rows])
    for i, row in enumerate(rows):
        k, n = int(bins.k[i]), int(bins.n[i])
        tested = [stats.binomtest(k, n, q).pvalue <= 0.05 for q in p[row]]
        assert bins.n_rejected[i] == sum(tested)
        assert bins.rejected[i] == pytest.approx(np.mean(tested))
        assert bins.p_value[i] == pytest.approx(stats.binomtest(k, n, bins.mean[i]).pvalue, rel=1e-8)
        exact = stats.binomtest(k, n).proportion_ci(0.95, "exact")
        assert bins.ratio[i] == pytest.approx(k / p[row].sum())
        assert bins.ratio_low[i] == pytest.approx(exact.low / p[row].mean())
        assert bins.ratio_high[i] == pytest.approx(exact.high / p[row].mean())
        low, high = bins.accepted_low[i], bins.accepted_high[i]
        assert stats.binomtest(k, n, low + 1e-9).pvalue > 0.05
        assert stats.binomtest(k, n, high - 1e-9).pvalue > 0.05
        assert low == 0 or stats.binomtest(k, n, low - 1e-9).pvalue <= 0.05
        assert high == 1 or stats.binomtest(k, n, high + 1e-9).pvalue <= 0.05


def test_tce_is_the_share_of_rejected_rows(result):
    assert result["tce"] == pytest.approx(100 * result.tables["tce"].n_rejected.sum() / result.n)


def test_windows_are_described(result, data):
    """The first metric's bins are windows; their counts are those of Local TCE to a row, their p-values exact."""
    bins, cells = result.bins, Cells.from_arrays(*data)
    assert bins is result.tables["ltce"]
    found = local_error(cells)
    assert len(bins) == found.windows
    sides = 100 * bins.n_too_low.sum() / result.n, 100 * bins.n_too_high.sum() / result.n
    assert sides == pytest.approx((found.too_low, found.too_high), abs=100 / result.n)
    assert result.direction("ltce") == pytest.approx((found.too_low / 100, found.too_high / 100))
    assert f"{found.too_low:.2f}% too low, {found.too_high:.2f}% too high" in repr(result)
    assert "the rejected share is the mean over eight grids" in " ".join(repr(result).split())
    assert "rejected predictions (Poisson-binomial test at 0.05)" in repr(result)
    assert sum(result.direction("ltce")) == pytest.approx(result["ltce"] / 100)
    holm = truecal.metrics.adjust_p_values(bins.p_value, "holm")
    assert holm.min() == pytest.approx(found.p_value)


def test_diagrams_show_the_bins_that_judge_each_prediction(data):
    assert truecal.evaluate(*data).pictured == "tce"
    assert truecal.evaluate(*data, metrics=["ltce", "ace"]).pictured == "ace"
    assert truecal.evaluate(*data, metrics=["ltce_information", "ltce"]).pictured == "ltce_information"


def test_empty_bins_stay_and_say_nothing():
    result = truecal.evaluate([0, 1], [0.05, 0.95], metrics=["ece"])
    table = result.bins
    assert table.n.tolist() == [1, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    assert np.isnan(table.rate).tolist() == [False] + [True] * 8 + [False]
    assert table.n_rejected.tolist() == [0] * 10
    assert result["ece"] == pytest.approx(0.05)
    assert repr(result).splitlines()[-2].split() == ["[0.8,", "0.9)", "0", "0"]


def test_ratio_where_nothing_was_expected():
    nothing = truecal.evaluate([0, 0], [0.0, 0.0], metrics=["ece"]).bins
    assert (nothing.ratio[0], nothing.ratio_low[0], nothing.ratio_high[0]) == (1, 0, math.inf)
    surprise = truecal.evaluate([0, 1], [0.0, 0.0], metrics=["ece"])
    assert surprise.bins.ratio[0] == math.inf
    assert Result.from_json(surprise.to_json()) == surprise


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"test": MidP(), "significance": 0.01, "tolerance": Relative(0.1)},
        {"binning": BoundedIsotonic(0.1, 0.4), "tolerance": 0.01},
        {"metrics": {"mine": Metric(Edges([0, 0.1, 1]), Gap()), "other": Metric(Uniform(3), Gap())}},
        {"metrics": ["ace", "ece"]},
    ],
    ids=str,
)
def test_json_both_ways(data, options):
    result = truecal.evaluate(*data, **options)
    text = result.to_json()
    again = Result.from_json(text)
    assert again == result
    assert again.to_json() == text
    assert repr(again) == repr(result)
    raw = json.loads(text)  # strict JSON: no NaN
    assert raw["n"] == 2000
    assert raw["significance"] == options.get("significance", 0.05)


def test_a_strange_test_in_json_is_refused(result):
    raw = json.loads(result.to_json())
    with pytest.raises(ValueError, match='`test` must be a part of the type Test; it is "evil"'):
        Result.from_json(json.dumps({**raw, "test": "evil"}))


@pytest.mark.parametrize("text", ["", "[]", "{}", "nonsense", '{"n": 3}'])
def test_other_text_is_refused(text):
    with pytest.raises(ValueError, match="must be the JSON of a truecal Result"):
        Result.from_json(text)


def test_results_of_another_format_are_refused(result):
    raw = json.loads(result.to_json())
    with pytest.raises(ValueError, match="of format 99"):
        Result.from_json(json.dumps({**raw, "truecal": {"type": "Result", "format": 99}}))
    raw["test"] = {"type": "os.system"}
    with pytest.raises(ValueError, match=r'`test.type` must be the name of a registered part; it is "os.system"'):
        Result.from_json(json.dumps(raw))


def test_a_part_of_ones_own_cannot_be_written(data):
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Median:
        def __call__(self, n, loss):
            return float(np.median(loss))

    result = truecal.evaluate(*data, metrics={"mine": Metric(Uniform(3), Gap(), Median())})
    with pytest.raises(TypeError, match=r"a part of your own \(Median\)"):
        result.to_json()


def test_repr_is_for_a_terminal():
    y, p = [0, 0, 1, 1, 0, 1], [0.1, 0.1, 0.1, 0.8, 0.8, 0.8]
    assert repr(truecal.evaluate(y, p, metrics=["tce", "ece"], binning=2)) == (
        "Inconclusive: an odds ratio of 1.5 may go undetected; the minimum detectable odds ratio is 36 (80%\n"
        "  power).\n"
        "Overall, observed 3, expected 2.7, O/E 1.11 (95% CI 0.31\u20131.91).\n"
        "There are too few rows to estimate how many predictions are rejected; p = 0.77 (combined component\n"
        "  tests).\n"
        "\n"
        "6 predictions, 3 positives (50%); Binomial test at 0.05\n"
        "  tce              0.00%  rejected predictions; 2 equal-size bins\n"
        "  ece            0.18333  gap between rate and prediction; 10 equal-width bins\n"
        "\n"
        "Bins of tce\n"
        "  scores     n  O  predicted  observed  O/E (95% CI)      accepted               p  rejected\n"
        "  [0, 0.45)  3  1        0.1    0.3333  3.33 (0.08\u20139.06)  0.01695 to 0.8646  0.271      0.0%\n"
        "  [0.45, 1]  3  2        0.8    0.6667  0.83 (0.12\u20131.24)  0.1354 to 0.983    0.488      0.0%"
    )


def test_long_tables_are_shortened_and_lines_fit(rng):
    p = rng.random(20_000)
    text = repr(truecal.evaluate(rng.random(20_000) < p, p, metrics=["ace"], binning=None, tolerance=0.01))
    assert max(len(line) for line in text.splitlines()) <= 100
    text = repr(truecal.evaluate(rng.random(20_000) < p**2, p))
    assert text.startswith("Miscalibrated: over-predicts, observed ")
    assert max(len(line) for line in text.splitlines()) <= 100
    text = repr(truecal.evaluate(rng.random(20_000) < p, p, metrics={"x": Metric(Uniform(200), Gap())}))
    assert "  ..." in text
    assert len(text.partition("Bins of x")[2].splitlines()) < 26  # of 200 bins


def test_html_repr_is_escaped(data):
    result = truecal.evaluate(*data, metrics={"<script>": Metric(Uniform(3), Gap())})
    html = result._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert html.count("<tr>") == 1 + 1 + 3 + 1 + len(result.verdict.bands)


def test_frames_come_in_the_users_library(need, data):
    y, p = data
    pd, pl, pa = need("pandas"), need("polars"), need("pyarrow")
    for column, kind in ((pd.Series(p), pd.DataFrame), (pl.Series(p), pl.DataFrame), (pa.array(p), pa.Table)):
        frame = truecal.evaluate(y, column).to_frame()
        assert isinstance(frame, kind)
        assert frame["n"].to_numpy().sum() == 2000
    assert isinstance(truecal.evaluate(y, p).to_frame("ece", library="polars"), pl.DataFrame)
    with pytest.raises(ValueError, match="`library` must be one of pandas, polars, pyarrow; it is 'dask'"):
        truecal.evaluate(y, p).to_frame(library="dask")


def test_a_missing_library_is_named(result, monkeypatch):
    def no_such(name):
        raise ImportError(name)

    monkeypatch.setattr("truecal.results._table.import_module", no_such)
    with pytest.raises(ImportError, match="pip install polars"):
        result.to_frame(library="polars")


def test_notes_travel(data):
    y, p = data
    result = truecal.evaluate(y, np.round(p, 1))
    assert any("quantile bins" in str(note) for note in result.notes)
    assert "Note: " in repr(result)
    assert "Note: " in result._repr_html_()


def test_evaluating_a_tally_is_evaluating_its_rows(data):
    assert truecal.evaluate(Tally.from_arrays(*data)) == truecal.evaluate(*data)
    options = {"metrics": ["tce"], "binning": Quantile(4), "significance": 0.2, "tolerance": 0.01}
    assert truecal.evaluate(Tally.from_arrays(*data), **options) == truecal.evaluate(*data, **options)


def test_unknown_metrics_are_refused(data):
    with pytest.raises(ValueError, match="`metrics` must be among ltce, .*; one is 'tec'"):
        truecal.evaluate(*data, metrics=["tec"])
    for nothing in ({}, []):
        with pytest.raises(ValueError, match="`metrics` must name at least one metric"):
            truecal.evaluate(*data, metrics=nothing)
    with pytest.raises(TypeError, match="A metric must be a `Metric"):
        truecal.evaluate(*data, metrics={"a": "tce"})
    with pytest.raises(TypeError, match="it is a single metric"):
        truecal.evaluate(*data, metrics=Metric(Uniform(3), Gap()))
    with pytest.raises(ValueError, match="`binning` takes the place of PAVA-BC, which none of the metrics"):
        truecal.evaluate(*data, metrics=["ece"], binning=5)
    with pytest.raises(ValueError, match="`binning` must be left out where `metrics` are your own"):
        truecal.evaluate(*data, metrics={"a": Metric(Uniform(3), Gap())}, binning=5)
    with pytest.raises(TypeError, match="(?s)`y_prob` is missing.*truecal.read"):
        truecal.evaluate([0, 1])


def test_a_metrics_table_is_of_its_own_test(data):
    own = Metric(Quantile(5), truecal.metrics.PointwiseTest(truecal.metrics.ScoreTest(), 0.3))
    result = truecal.evaluate(*data, metrics={"own": own, "gap": Metric(Quantile(5), Gap())})
    table = result.tables["own"]
    assert result["own"] == pytest.approx(100 * table.n_rejected.sum() / 2000)
    assert "rejected predictions (ScoreTest test at 0.3)" in repr(result)
    assert result.tables["gap"].n_rejected.sum() < table.n_rejected.sum()
    assert Result.from_json(result.to_json()) == result


def test_results_do_not_depend_on_the_library(need, data):
    pl = need("polars")
    assert truecal.evaluate(pl.Series(data[0]), pl.Series(data[1])) == truecal.evaluate(*data)


@pytest.mark.slow
def test_direction_adds_up(data):
    y, p = data
    for shift, side in ((0.5, "too_low"), (1.6, "too_high")):
        bins = truecal.evaluate(y, np.minimum(p * shift, 1), ["tce"]).bins
        np.testing.assert_array_equal(bins.n_too_low + bins.n_too_high, bins.n_rejected)
        assert getattr(bins, f"n_{side}").sum() > 0.9 * bins.n_rejected.sum() > 0
        scores = np.minimum(p * shift, 1)
        for i in range(len(bins)):
            rows = scores[(scores >= bins.left[i]) & ((scores < bins.right[i]) | (bins.right[i] == 1))]
            rejected = np.array([stats.binomtest(int(bins.k[i]), int(bins.n[i]), s).pvalue <= 0.05 for s in rows])
            assert bins.n_too_low[i] == np.sum(rejected & (rows < bins.rate[i]))
            assert bins.n_too_high[i] == np.sum(rejected & (rows > bins.rate[i]))
    assert list(truecal.evaluate(*data, metrics="ece").values) == ["ece"]


def test_a_result_with_a_part_missing_is_refused(result):
    raw = json.loads(result.to_json())
    del next(iter(raw["tables"].values()))["columns"]["rate_low"]
    with pytest.raises(ValueError, match=r"`tables.ltce.rate_low` must be given; it is missing"):
        Result.from_json(json.dumps(raw))


def test_without_a_verdict_nothing_is_said_of_one(result, need):
    need("matplotlib")
    plain = replace(result, verdict=None)
    assert plain.summary == "No verdict."
    assert (plain.sentences(), plain.outcome) == (("No verdict.",), "positive")
    assert "predictions are rejected" not in repr(plain)
    assert "<b>" not in plain._repr_html_()
    found = truecal.evaluate({"a": truecal.Observations("y", "p", {(): Tally([0.5], [4], [2])})})
    both = type(found)({"b": plain, **found})
    assert repr(both).startswith("1 of 2 models is inconclusive, 1 without a verdict.")
    assert "1 without a verdict" in both._repr_html_()
    empty = type(found)()
    assert (repr(empty), empty._repr_html_()) == ("No models.", "<p>No models.</p>")
