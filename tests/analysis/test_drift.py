"""Drift: each window's numbers against their sources, what is said of simulated streams, and how it is drawn."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pytest
from conftest import fewer
from local_oracle import poisson_binomial
from observed import judge_windows
from scipy import stats

import truecal
from truecal import Metric, Quantile, Relative, Tally
from truecal.analysis._drift import _compare_prevalence
from truecal.inference import Draws, sequential_reference
from truecal.metrics import Gap, Rejection, adjust_p_values
from truecal.observations import GridTally, find_ends, find_mature, read_span
from truecal.observations._time import end_of, read_moment
from truecal.results import DriftTable


def day(i):
    return date(2026, 1, 1) + timedelta(days=i)


def windows(rng, count=5, rows=2000, rate=0.05, wrong=(), factor=1.6):
    out = {}
    for i in range(count):
        p = rng.beta(1, 1 / rate - 1, rows)
        truth = np.minimum(1, factor * p) if i in wrong else p
        out[day(i)] = Tally.from_arrays(rng.random(rows) < truth, p)
    return out


def window_of(rng, rate, factor, rows=100_000, atoms=200):
    """Rows of a Beta(1, 1/rate - 1) truth at its quantiles; predictions are the truth over `factor`."""
    truth = stats.beta.ppf((np.arange(atoms) + 0.5) / atoms, 1, 1 / rate - 1)
    n = np.full(atoms, rows // atoms)
    return Tally(truth / factor, n, rng.binomial(n, truth))


def streams(rng, count, rates, factors):
    for _ in range(count):
        tallies = [window_of(rng, rate, factor) for rate, factor in zip(rates, factors, strict=True)]
        yield judge_windows(dict(enumerate(tallies)), intervals=0, random_state=rng)


def test_prevalence_that_moves_with_the_model_right_raises_no_alarm_beyond_the_level(rng):
    """Streams of 1 % then 2 %: alarms in at most 5 % of them and four standard errors, moved windows in every one."""
    count = fewer(40, 2)
    found = list(streams(rng, count, [0.01] * 5 + [0.02] * 3, [1] * 8))
    alarmed = np.mean([table.alarm.any() for table in found])
    limit = 0.05 + 4 * np.sqrt(0.05 * 0.95 / count)
    assert alarmed <= limit
    assert all(table.moved[5:].all() for table in found)
    assert np.mean([table.moved[:5].any() for table in found]) <= limit
    said = [table.verdict == ["steady"] * 5 + ["prevalence moved"] * 3 for table in found]
    assert np.mean(said) > 0.8


def test_a_model_20_percent_off_is_found_where_the_prevalence_is_still(rng):
    """Streams at 1 %, predictions a sixth too low in the second half: truth = 1.2 p."""
    count = fewer(40, 2)
    found = list(streams(rng, count, [0.01] * 8, [1] * 4 + [1.2] * 4))
    right, wrong = (np.array([table.alarm[part] for table in found]) for part in (slice(4), slice(4, 8)))
    assert wrong.any(axis=1).all()
    assert wrong.mean() > 0.95
    limit = 0.05 + 4 * np.sqrt(0.05 * 0.95 / count)
    assert right.any(axis=1).mean() <= limit
    assert np.mean([table.moved.any() for table in found]) <= limit
    assert all("both moved" not in table.verdict or table.moved.any() for table in found)


def test_p_values_of_right_windows_are_valid_though_drawing_stops_early(rng):
    """400 right windows: the share at or below each level is at most that level and four standard errors."""
    p_values = []
    for i in range(400):
        p = rng.beta(1, 4, 150)
        tally = Tally.from_arrays(rng.random(150) < p, p)
        found = sequential_reference(tally, truecal.metrics.METRICS["ace"], Draws(999, i))
        assert found.replicates in (199, 799, 999)
        p_values.append(found.p_value)
    for level in (0.005, 0.02, 0.05, 0.1, 0.5):
        assert np.mean(np.array(p_values) <= level) <= level + 4 * np.sqrt(level * (1 - level) / 400)
    assert min(p_values) < 0.01


def test_each_row_is_the_windows_own_result(rng):
    tallies = windows(rng, 3)
    found = judge_windows(tallies, random_state=0, adjust=None, every="1d")
    for i, tally in enumerate(tallies.values()):
        result = truecal.evaluate(tally, ["tce"])
        assert found.value[i] == found.lowest[i] == found.highest[i] == pytest.approx(result["tce"])
        assert found.prevalence[i] == result.prevalence
        exact = stats.binomtest(tally.positives, tally.n_rows).proportion_ci(0.95, "exact")
        assert (found.prevalence_low[i], found.prevalence_high[i]) == pytest.approx((exact.low, exact.high))
        mean = np.average(tally.score, weights=tally.n)
        assert found.mean[i] == pytest.approx(mean)
        assert found.ratio[i] == pytest.approx(result.prevalence / mean)
        assert found.ratio_high[i] == pytest.approx(exact.high / mean)
        chances, k = poisson_binomial(np.repeat(tally.score, tally.n)), tally.positives
        tails = chances[:k].sum(), chances[k + 1 :].sum()
        # the exact mid-p-value; the tails of windows are right to 6e-4
        assert found.total_p[i] == pytest.approx(2 * min(tails) + chances[k], abs=2e-3)
        assert found.low[i] <= found.value[i] <= found.high[i]
        assert found.chance_low[i] <= found.by_chance[i] <= found.chance_high[i]
        assert found.excess[i] == pytest.approx(found.value[i] - found.by_chance[i])
        assert found.too_low[i] == result.bins.n_too_low.sum() / result.n
    together = np.minimum(1, 2 * np.minimum(found.p_value, found.total_p))
    np.testing.assert_array_equal(found.p_adjusted, together)
    np.testing.assert_array_equal(found.seen_below, truecal.inference.detectable_rates(found.n, found.mean)[0])


def test_neither_the_order_of_windows_nor_threads_change_anything(rng):
    tallies = windows(rng, 4, wrong=(2,))
    first = judge_windows(tallies, random_state=0)
    other = judge_windows(dict(reversed(tallies.items())), random_state=0, threads=2)
    assert first.window == other.window == tuple(sorted(tallies))
    assert first.to_json() == other.to_json()


def test_prevalence_is_compared_with_the_others_by_fishers_exact_test():
    """Twice the smaller tail of the hypergeometric distribution, by SciPy."""
    positives = np.array([3, 0, 6, 500, 60, 7])
    n = np.array([30, 25, 40, 10_000, 1_000, 7])
    mature = np.array([True, True, True, True, True, False])
    found = _compare_prevalence(positives, n, mature, "holm")
    total, marked = int(n[mature].sum()), int(positives[mature].sum())
    for i in range(5):
        law = stats.hypergeom(total, marked, n[i])
        assert found[i] == pytest.approx(min(1, 2 * min(law.cdf(positives[i]), law.sf(positives[i] - 1))), rel=1e-9)
    assert np.isnan(found[5])


def test_a_window_that_moved_does_not_move_the_others():
    """One of 30 windows at 2 %, the others at 1 % of a million: against all others together they would all differ."""
    positives, n = np.full(30, 10_000), np.full(30, 1_000_000)
    positives[7] = 20_000
    found = _compare_prevalence(positives, n, np.ones(30, bool), "holm")
    assert found[7] < 1e-100
    assert np.delete(found, 7).tolist() == [1] * 29
    assert stats.fisher_exact([[10_000, 990_000], [300_000, 28_700_000]]).pvalue < 0.05 / 30  # had it stayed
    positives[8:20] = 20_000
    found = _compare_prevalence(positives, n, np.ones(30, bool), "holm")
    assert np.flatnonzero(found < 0.05).tolist() == list(range(7, 20))  # 13 of 30


@pytest.mark.parametrize("scale", [1, 10_000])
def test_the_exact_test_holds_for_a_billion_rows(scale):
    positives, n = np.array([1_030, 990, 1_005]) * scale, np.array([100_000] * 3) * scale
    found = _compare_prevalence(positives, n, np.ones(3, bool), significance=1e-300)
    rate = positives.sum() / n.sum()
    others, size = (positives.sum() - positives) / (n.sum() - n), n[0]
    z = (positives / n - others) / np.sqrt(rate * (1 - rate) * (1 / size + 1 / (2 * size)))
    np.testing.assert_allclose(found, 2 * stats.norm.sf(np.abs(z)), rtol=0.1, atol=1e-12)


def test_nothing_to_compare_is_no_difference():
    assert _compare_prevalence(np.array([0, 0]), np.array([9, 5]), np.ones(2, bool)).tolist() == [1, 1]
    assert _compare_prevalence(np.array([9, 5]), np.array([9, 5]), np.ones(2, bool)).tolist() == [1, 1]
    assert np.isnan(_compare_prevalence(np.array([3]), np.array([9]), np.ones(1, bool))).all()


def test_labels_that_are_not_complete_raise_no_alarm_and_count_in_no_adjustment(rng):
    tallies = windows(rng, 6, wrong=(1, 5), rows=4000)
    found = judge_windows(tallies, every="1d", mature_after="2d", random_state=0)
    assert found.mature.tolist() == [True] * 4 + [False] * 2  # the last window ends on the 7th
    assert found.now == datetime(2026, 1, 7)
    assert found.alarms == [day(1)]
    assert np.isnan(found.p_adjusted[4:]).all()
    assert np.isnan(found.prevalence_p_adjusted[4:]).all()
    assert found.verdict[4:] == ["labels not complete"] * 2
    alone = judge_windows(dict(list(tallies.items())[:4]), every="1d", random_state=0)
    np.testing.assert_array_equal(found.total_p[:4], alone.total_p)
    np.testing.assert_array_equal(found.prevalence_p_adjusted[:4], alone.prevalence_p_adjusted)
    later = judge_windows(tallies, every="1d", mature_after="2d", now="2026-02-01", random_state=0)
    assert later.mature.all()
    assert later.alarms == [day(1), day(5)]
    none = judge_windows(tallies, every="1d", mature_after="900d", random_state=0)
    assert (none.alarms, set(none.verdict)) == ([], {"labels not complete"})


def test_windows_end_where_the_calendar_says():
    for every, end in (("1h", datetime(2024, 1, 1, 1)), ("1d", datetime(2024, 1, 2)), ("1w", datetime(2024, 1, 8))):
        assert end_of(date(2024, 1, 1), every) == end
    for every, end in (("1mo", datetime(2025, 1, 1)), ("1q", datetime(2025, 3, 1)), ("1y", datetime(2025, 12, 1))):
        assert end_of(date(2024, 12, 1), every) == end
    starts = [date(2026, 1, 1), date(2026, 1, 3), date(2026, 1, 10)]
    assert find_ends(starts, None) == [datetime(2026, 1, 3), datetime(2026, 1, 10), datetime(2026, 1, 17)]
    with pytest.raises(ValueError, match="`every` must be one of '1h'"):
        end_of(date(2026, 1, 1), "2d")
    with pytest.raises(ValueError, match="`every` must give the length of windows if there is only one"):
        find_ends(starts[:1], None)
    with pytest.raises(TypeError, match="one begins at '2026-01'"):
        find_ends(["2026-01"], "1mo")


def test_spans_and_moments_are_read():
    assert read_span("36h") == timedelta(hours=36)
    assert read_span(" 2 w") == read_span("14d") == read_span(timedelta(days=14))
    for bad in ("a month", "-3d", "3", timedelta(-1), 30):
        with pytest.raises(ValueError, match="`mature_after` must be"):
            read_span(bad)
    assert read_moment("2026-01-31") == read_moment(date(2026, 1, 31)) == datetime(2026, 1, 31)
    with pytest.raises(ValueError, match="`now` must be"):
        read_moment("yesterday")
    ends = [datetime(2026, 1, 1, 12), datetime(2026, 1, 1, 13)]
    now = datetime(2026, 1, 1, 15, tzinfo=timezone(timedelta(hours=2)))  # 13:00 UTC, which the windows are in
    assert find_mature(ends, timedelta(hours=1), now)[0] == [True, False]
    zoned = [end.replace(tzinfo=UTC) for end in ends]
    assert find_mature(zoned, timedelta(hours=1), datetime(2026, 1, 1, 13))[0] == [True, False]


def test_replicates_suffice_for_an_alarm_after_the_adjustment(rng):
    """One window off in every prediction, found by the reference alone: 1 / (R + 1) times 2 W is below the level."""
    tallies = windows(rng, 20, rows=200)
    p = np.linspace(0.1, 0.5, 2000)
    tallies[day(20)] = Tally.from_arrays(rng.permutation(2000) < 2000 * (0.6 - p), p)  # the wrong way round
    found = judge_windows(tallies, intervals=0, random_state=0)
    assert found.replicates == 2 * 21 / 0.05
    assert found.total_p[20] > 0.1
    assert found.p_value[20] == 1 / 841
    assert found.alarms == [day(20)]
    few = judge_windows(tallies, intervals=0, reference=199, random_state=0)
    assert few.alarms == []
    assert "with 199 replicates the reference of one window alone reaches an adjusted p-value of 0.21" in few.notes[0]
    assert judge_windows(tallies, intervals=0, adjust=None, random_state=0).replicates == 199


def test_totals_find_what_the_reference_does_not_and_keep_out_where_there_is_a_tolerance(rng):
    tallies = dict(enumerate(window_of(rng, 0.01, factor, rows=40_000) for factor in (1, 1, 1, 1.2)))
    found = judge_windows(tallies, intervals=0, random_state=0)
    assert found.alarms == [3]
    assert found.p_value[3] > 0.05 / 4
    assert judge_windows(tallies, intervals=0, totals=False, random_state=0).alarms == []
    metric = Metric(loss=Rejection(tolerance=Relative(0.5)), binning=truecal.metrics.METRICS["tce"].binning)
    tolerant = judge_windows(tallies, metric, intervals=0, random_state=0)
    assert tolerant.alarms == []
    np.testing.assert_array_equal(tolerant.p_adjusted, adjust_p_values(tolerant.p_value, "holm"))


def table_of(**columns):
    size = len(next(iter(columns.values())))
    p = judge_windows({i: Tally.from_arrays([0, 1, 1, 0] * 500, [0.5] * 2000) for i in range(size)})
    return replace(p, **{name: np.array(column) for name, column in columns.items()})


def test_every_verdict_has_its_words():
    found = table_of(
        p_adjusted=[0.9, 0.04, 0.9, 0.01, 0.9, np.nan, 0.05],
        prevalence_p_adjusted=[0.9, 0.9, 0.04, 0.01, 0.9, np.nan, 0.05],
        mature=[True, True, True, True, True, False, True],
        seen_below=[0.4, 0.4, 0.4, 0.4, np.nan, np.nan, 0.4],
        seen_above=[0.6, 0.6, 0.6, 0.6, np.nan, np.nan, 0.6],
    )
    assert found.verdict == [
        "steady",
        "calibration moved",
        "prevalence moved",
        "both moved",
        "too small to tell",
        "labels not complete",
        "both moved",  # the level itself is an alarm, as in every table
    ]
    assert found.alarms == [1, 3, 6]


def test_windows_without_events_of_one_class_or_one_row_have_an_answer(rng):
    p = rng.beta(1, 99, 500)
    tallies = {
        "a": Tally.from_arrays(np.zeros(500), p),
        "b": Tally.from_arrays(np.ones(500), p),
        "c": Tally.from_arrays([0], [0.3]),
        "d": Tally.from_arrays(np.zeros(3), np.zeros(3)),
    }
    found = judge_windows(tallies, random_state=0)
    assert found.verdict[1:] == ["both moved", "too small to tell", "too small to tell"]
    assert (found.ratio[3], found.ratio_high[3]) == (1, np.inf)
    for column in (found.value, found.by_chance, found.p_value, found.p_adjusted, found.prevalence_p, found.low):
        assert np.isfinite(column).all()
    single = judge_windows({"c": tallies["c"]}, random_state=0)
    assert np.isnan(single.prevalence_p[0])
    assert single.verdict == ["too small to tell"]


def test_cells_have_bounds(rng):
    tallies = windows(rng, 3, rows=5000)
    exact = judge_windows(tallies, random_state=0, intervals=0)
    cells = judge_windows({k: GridTally.of(t, 6) for k, t in tallies.items()}, random_state=0, intervals=0)
    assert (cells.lowest <= cells.value).all()
    assert (cells.value <= cells.highest).all()
    assert (cells.lowest < cells.highest).any()
    np.testing.assert_array_equal(cells.n, exact.n)
    np.testing.assert_allclose(cells.mean, exact.mean)
    np.testing.assert_array_equal(cells.prevalence_p, exact.prevalence_p)


def test_mistakes_are_explained(rng):
    tallies = windows(rng, 2, rows=50)
    with pytest.raises(TypeError, match="`window` must hold values of one type"):
        judge_windows({1: tallies[day(0)], "a": tallies[day(1)]})
    with pytest.raises(ValueError, match="Every row must have a time; `window` is null in 50"):
        judge_windows({None: tallies[day(0)], day(1): tallies[day(1)]})
    with pytest.raises(ValueError, match="(?s)`time` must be one column of the tallies.*they have none.*time=...\\)"):
        truecal.drift(truecal.Tallies("y", "p", {(): tallies[day(0)]}))
    with pytest.raises(ValueError, match="One of `above` and `top` may be given"):
        judge_windows(tallies, above=0.5, top=10)
    with pytest.raises(TypeError, match="(?s)`drift` takes `Tallies`; this is dict.*truecal.read"):
        truecal.drift(tallies)
    with pytest.raises(ValueError, match="`confidence` must lie between"):
        judge_windows(tallies, confidence=95)
    with pytest.raises(ValueError, match="`adjust` must be"):
        judge_windows(tallies, adjust="bonferroni")
    with pytest.raises(TypeError, match="must begin at dates or times to be judged mature"):
        judge_windows({"a": tallies[day(0)]}, mature_after="3d")


@pytest.fixture(params=["pandas", "polars", "duckdb"])
def frame_of(request, need):
    need("narwhals")
    pl, library = need("polars"), need(request.param)

    def make(columns):
        frame = pl.DataFrame(columns)
        if request.param == "polars":
            return frame
        return frame.to_pandas() if request.param == "pandas" else library.from_arrow(frame.to_arrow())

    return make


def rows(rng, count=9000):
    p = np.round(rng.beta(1, 9, count), 3)
    hour = np.arange(count) * 72 // count
    truth = np.where(hour >= 48, np.minimum(1, 2 * p), p)
    time = [datetime(2026, 3, 30) + timedelta(hours=int(h)) for h in hour]  # a Monday
    return {"y": (rng.random(count) < truth).astype(int), "p": p, "time": time, "hour": hour}


def test_a_frame_is_cut_into_windows(rng, frame_of):
    columns = rows(rng)
    frame = frame_of(columns)
    named, options = {"label": "y", "score": "p"}, {"intervals": 0, "random_state": 0}
    read = truecal.read(frame, time="time", **named)
    days = truecal.drift(read, **options)
    assert days.window == (date(2026, 3, 30), date(2026, 3, 31), date(2026, 4, 1))
    assert days.alarms == [date(2026, 4, 1)]
    assert days.n.tolist() == [3000] * 3
    months = truecal.drift(read, every="1mo", mature_after="1d", now="2026-04-02", **options)
    assert months.window == (date(2026, 3, 1), date(2026, 4, 1))
    assert months.mature.tolist() == [True, False]
    weeks = truecal.drift(truecal.read(frame, time="time", every="1w", **named), **options)
    assert weeks.names == ["2026-03-30"]
    hours = truecal.drift(truecal.read(frame, time="hour", every=None, **named), reference=19, **options)
    assert hours.window == tuple(range(72))


def test_text_makes_windows_as_it_is(rng, frame_of):
    columns = rows(rng, 900)
    columns["month"] = [f"2026-{i // 300 + 1:02}" for i in range(900)]
    read = truecal.read(frame_of(columns), label="y", score="p", time="month", every=None)
    found = truecal.drift(read, intervals=0)
    assert found.names == ["2026-01", "2026-02", "2026-03"]
    with pytest.raises(TypeError, match="must hold dates or times"):
        truecal.read(frame_of(columns), label="y", score="p", time="month")


def test_rows_without_a_time_are_dropped_only_on_request(rng, frame_of):
    columns = rows(rng, 900)
    columns["time"][:7] = [None] * 7
    options = {"label": "y", "score": "p", "time": "time"}
    with pytest.raises(ValueError, match="`time` is null in 7") as caught:
        truecal.read(frame_of(columns), **options)
    assert 'on_null="drop"' in str(caught.value)
    read = truecal.read(frame_of(columns), on_null="drop", **options)
    assert read.account.dropped == {"`time` is null": 7}
    found = truecal.drift(read, intervals=0)
    assert found.n.sum() == 893
    assert found.notes == ("of 900 rows 7 were dropped: `time` is null in 7",)


def test_files_and_grids_serve_too(rng, need, tmp_path):
    need("narwhals")
    need("polars").DataFrame(rows(rng)).write_parquet(tmp_path / "rows.parquet")
    columns, options = {"label": "y", "score": "p", "time": "time"}, {"intervals": 0, "random_state": 0}
    found = truecal.drift(truecal.read(str(tmp_path / "rows.parquet"), **columns), **options)
    assert found.alarms == [date(2026, 4, 1)]
    gridded = truecal.read(tmp_path / "rows.parquet", limits=truecal.reading.Limits(grid=6), **columns)
    grid = truecal.drift(gridded, "tce", **options)
    assert grid.n.tolist() == found.n.tolist()
    assert (grid.highest > grid.lowest).any()


def test_a_table_prints_and_survives_json_and_dataframes(need):
    tallies = windows(np.random.default_rng(1), 5, wrong=(2,))
    found = judge_windows(tallies, every="1d", mature_after="1d", random_state=0)
    lines = repr(found).splitlines()
    assert lines[0] == "5 windows of 1d, 10,000 predictions: 1 both moved; 1 labels not complete"
    assert lines[1].split()[:5] == ["window", "n", "positive", "predicted", "tce"]
    assert lines[2].startswith("  2026-01-01  2,000")
    assert lines[4].endswith("both moved")
    assert found._repr_html_().count("<tr>") == 6
    evil = judge_windows({"<b>": Tally.from_arrays([0, 1], [0.2, 0.4])}, random_state=0)
    assert "<b>" not in evil._repr_html_()
    for table in (found, evil):
        again = DriftTable.from_json(table.to_json())
        assert again.to_json() == table.to_json()
        assert (again.window, again.verdict, again.metric) == (table.window, table.verdict, table.metric)
        assert again.n.dtype == np.int64
        assert again.mature.dtype == np.bool_
    with pytest.raises(ValueError, match="must be the JSON of a truecal DriftTable"):
        DriftTable.from_json("{}")
    for library in ("pandas", "polars", "pyarrow"):
        need(library)
        frame = found.to_frame(library)
        for name, column in (("window", list(found.window)), ("verdict", found.verdict), ("n", found.n.tolist())):
            assert (frame[name].to_pylist() if library == "pyarrow" else list(frame[name])) == column
    many = judge_windows(dict.fromkeys(range(50), Tally.from_arrays([0, 1], [0.2, 0.4])), reference=9)
    assert len(repr(many).splitlines()) == 1 + 1 + 41 + 1


def test_any_metric_can_be_watched(rng):
    tallies = windows(rng, 3)
    metric = Metric(Quantile(5), Gap())
    found = judge_windows(tallies, metric, random_state=0, intervals=0)
    assert found.value[1] == pytest.approx(metric(tallies[day(1)]))
    assert found.metric.name == "value"
    assert " 0.0" in repr(found)
