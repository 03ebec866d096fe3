"""Drift: the verdict on each window and on all together, what moved since a baseline, and how simulated streams are
called."""

from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pytest
from conftest import fewer
from local_oracle import poisson_binomial
from observed import judge_windows
from scipy import stats

import truecal
from truecal import Metric, Quantile, Relative, Tallies, Tally
from truecal.inference import (
    Draws,
    Odds,
    compare_odds,
    compare_rates,
    detectable_move,
    find_split,
    sequential_reference,
)
from truecal.metrics import Gap, adjust_p_values
from truecal.observations import CellSums, GridTally, find_ends, find_mature, merge_parts, read_span
from truecal.observations._time import end_of, read_moment
from truecal.results import DriftTable


def day(i):
    return date(2026, 1, 1) + timedelta(days=i)


def with_odds(p, factor):
    return factor * p / (1 - p + factor * p)


def windows(rng, count=5, rows=2000, rate=0.05, wrong=(), factor=1.6):
    """Right predictions, but for the odds of wrong windows, which are those of the truth over a factor."""
    out = {}
    for i in range(count):
        p = rng.beta(1, 1 / rate - 1, rows)
        truth = with_odds(p, factor) if i in wrong else p
        out[day(i)] = Tally.from_arrays(rng.random(rows) < truth, p)
    return out


def odds_of(y, p):
    return Odds.of(CellSums.from_arrays(y, p))


@pytest.mark.parametrize("shape", [(0.5, 5), (2, 2), (0.2, 0.2), (0.05, 3)])
@pytest.mark.parametrize(("rows", "others", "factor"), [(3, 5, 1), (30, 60, 1), (200, 300, 1), (50, 900, 1.6)])
def test_a_move_is_tested_by_the_exact_conditional_law(rng, shape, rows, others, factor):
    """P(X = x | X + Y = s) from the Poisson-binomial laws of both, by convolution."""
    p, q = (np.clip(np.round(rng.beta(*shape, size), 3), 0.001, 0.999) for size in (rows, others))
    y, z = rng.random(rows) < p, rng.random(others) < with_odds(q, factor)
    k, total = int(y.sum()), int(y.sum() + z.sum())
    x = np.arange(max(0, total - others), min(rows, total) + 1)
    chance = poisson_binomial(p)[x] * poisson_binomial(q)[total - x]
    chance /= chance.sum()
    wanted = min(1, 2 * min(chance[x <= k].sum(), chance[x >= k].sum()))
    assert compare_odds(odds_of(y, p), odds_of(z, q)) == pytest.approx(wanted, rel=5e-3, abs=1e-12)


def test_a_move_of_equal_predictions_is_fishers_test(rng):
    """Where all predictions are one number, the conditional law is hypergeometric."""
    y, z = rng.random(400) < 0.1, rng.random(900) < 0.14
    group, baseline = odds_of(y, np.full(400, 0.05)), odds_of(z, np.full(900, 0.05))
    law = stats.hypergeom(1300, y.sum() + z.sum(), 400)
    wanted = min(1, 2 * min(law.cdf(y.sum()), law.sf(y.sum() - 1)))
    assert compare_odds(group, baseline) == pytest.approx(wanted, rel=1e-9)
    assert compare_rates(group, baseline) == pytest.approx(wanted, rel=1e-9)


def test_a_factor_that_both_have_is_no_move(rng):
    """Odds of both groups off by 1.5: p-values are at most uniform, up to four standard errors."""
    count, found = fewer(600, 1), []
    for _ in range(count):
        p, q = rng.beta(0.5, 5, 200), rng.beta(0.5, 3, 500)
        found.append(
            compare_odds(
                odds_of(rng.random(200) < with_odds(p, 1.5), p), odds_of(rng.random(500) < with_odds(q, 1.5), q)
            )
        )
    for level in (0.05, 0.2):
        assert np.mean(np.array(found) <= level) <= level + 4 * np.sqrt(level * (1 - level) / count)
    assert min(found) < 0.05


def test_nothing_to_compare_is_no_move():
    none, all_ = odds_of(np.zeros(9), np.full(9, 0.2)), odds_of(np.ones(9), np.full(9, 0.2))
    certain = odds_of([0, 1, 1], [0.0, 1.0, 1.0])
    assert compare_odds(none, none) == compare_odds(all_, all_) == compare_odds(certain, certain) == 1
    assert compare_odds(certain, odds_of([0, 1], [0.4, 0.5])) == 1
    assert detectable_move(certain, none, 0.05) == np.inf
    assert find_split([none, none]) == 1


def test_the_split_lies_where_the_error_changed(rng):
    parts = []
    for i in range(12):
        p = rng.beta(1, 9, 4000)
        parts.append(odds_of(rng.random(4000) < with_odds(p, 1.2 if i < 7 else 1.9), p))
    assert find_split(parts) == 7


def test_what_would_have_been_found_is_found_in_four_of_five(rng):
    p, q = rng.beta(1, 9, 2000), rng.beta(1, 9, 3000)
    group, baseline = odds_of(rng.random(2000) < p, p), odds_of(rng.random(3000) < q, q)
    factor, count = detectable_move(group, baseline, 0.05), fewer(300, 1)
    found = [
        compare_odds(odds_of(rng.random(2000) < with_odds(p, factor), p), odds_of(rng.random(3000) < q, q)) <= 0.05
        for _ in range(count)
    ]
    assert 0.7 < np.mean(found) < 0.9


def stream(rng, error, rows=1500, shift=None):
    """30 windows of Beta(1, 9) predictions whose odds are off by error(i), of Beta(1, 6) from a shift on."""
    parts = {}
    for i in range(30):
        p = rng.beta(1, 6 if shift is not None and i >= shift else 9, rows)
        parts[i] = Tally.from_arrays(rng.random(rows) < with_odds(p, error(i)), p)
    return judge_windows(parts)


STREAMS = {  # what is said in nearly every stream, the error of each window, and where the prevalence moves
    "right and still": (lambda i: 1, None),
    "right and moved": (lambda i: 1, 20),
    "off since always": (lambda i: 1.3, None),
    "went off": (lambda i: 1.4 if i >= 20 else 1, None),
    "was off": (lambda i: 1.5 if i < 10 else 1, None),
}


@pytest.mark.parametrize("word", STREAMS)
def test_streams_are_called_by_what_they_are(rng, word):
    """8 streams of each kind: words are wrong in 5 % of them or so, so that 3 of 8 are wrong once in 200 times."""
    error, shift = STREAMS[word]
    found = [stream(rng, error, shift=shift) for _ in range(8)]
    said = [table.overall for table in found]
    assert said.count(word) >= 6, said
    for table in found:
        assert table.sentences()[0].lower().startswith(table.overall)
        if table.overall == "went off":
            assert abs(table.since - 20) <= 3
            before, since = table.since_ratio
            assert before < 1.1 < since


def test_an_error_of_the_last_windows_alone_is_no_less_of_a_change():
    """Of 14 windows that expect 45 positives each; all after the baseline of 4 together expect 450. Two that are off in
    the end are lost among them (484 came, not shown), and so is one amid right windows (473 came); only the former are
    still off."""

    def judge(positives):
        return judge_windows(
            {i: Tally(np.array([0.003]), np.array([15_000]), np.array([pos])) for i, pos in enumerate(positives)}
        )

    lasting, passing = judge([40] * 12 + [82] * 2), judge([42] * 7 + [95] + [42] * 6)
    for found, word in ((lasting, "went off"), (passing, "off")):
        assert found.before.word != "off"
        assert found.after.word != "off"
        assert found.moved_together_p <= 0.05
        assert found.overall == word
        assert DriftTable.from_json(found.to_json()).overall == word
    told = lasting.sentences()[1]
    assert told.startswith("In the baseline 160 positives came")
    assert "in the windows since 12 164 positives came where 90 were predicted" in told
    assert told.endswith("predictions are too low.")


def test_all_windows_together_find_what_none_of_them_does(rng):
    """Daily windows that show nothing, and a month that is off."""
    found = judge_windows(windows(rng, 30, rows=500, wrong=range(30), factor=1.3))
    assert found.off
    assert found.overall in ("off since always", "off")
    assert found.alarm.sum() <= 3
    assert set(found.verdict) <= {"off", "cannot tell"}


def test_each_row_is_the_windows_own_result(rng):
    tallies = windows(rng, 4)
    found = judge_windows(tallies, "tce", adjust=None, every="1d")
    for i, tally in enumerate(tallies.values()):
        result = truecal.evaluate(tally, ["tce"])
        assert found.value[i] == found.lowest[i] == found.highest[i] == pytest.approx(result["tce"])
        assert found.prevalence[i] == result.prevalence
        assert found.mean[i] == pytest.approx(np.average(tally.score, weights=tally.n))
        verdict = result.verdict
        assert found.p_value[i] == found.p_adjusted[i] == verdict.p_value
        assert (found.observed[i], found.expected[i]) == (verdict.observed, verdict.expected)
        assert (found.ratio_low[i], found.ratio_high[i]) == verdict.interval
        assert found.verdict[i] == verdict.word
        assert (found.total_p[i], found.cox_p[i]) == (verdict.parts["total"], verdict.parts["cox"])
    whole = truecal.evaluate(merge_parts(list(tallies.values())))
    assert found.together_p == found.together.p_value == whole.verdict.p_value


def test_windows_and_all_together_share_the_level(rng):
    """p = min(2 H, max(2 p of all, H)), H those of Holm's method; none is off: 2 min(p of all, min H)."""
    for wrong in ((), (1,), range(6)):
        found = judge_windows(windows(rng, 6, rows=800, wrong=wrong))
        holm, whole = adjust_p_values(found.p_value, "holm"), found.together.p_value
        wanted = np.minimum(1, np.minimum(2 * holm, np.maximum(2 * whole, holm)))
        np.testing.assert_allclose(found.p_adjusted, wanted)
        assert found.together_p == pytest.approx(min(1, 2 * min(whole, holm.min())))
        assert found.level == 0.05 / 12


def test_the_baseline_is_a_third_a_number_a_range_or_other_rows(rng):
    tallies = windows(rng, 9, wrong=(7, 8), rows=3000)
    first = judge_windows(tallies, every="1d")
    assert np.flatnonzero(first.baseline).tolist() == [0, 1, 2]
    assert np.isnan(first.moved_p[:3]).all()
    assert first.compared[:3] == ["baseline"] * 3
    for baseline, rows in ((5, range(5)), ("2026-01-02..2026-01-04", (1, 2, 3)), ("..2026-01-02", (0, 1))):
        found = judge_windows(tallies, every="1d", baseline=baseline)
        assert np.flatnonzero(found.baseline).tolist() == list(rows)
        assert found.overall == "went off"
        start = Odds.of(CellSums.of(merge_parts([tallies[day(i)] for i in rows])))
        assert found.moved_p[8] == compare_odds(Odds.of(CellSums.of(tallies[day(8)])), start)
    release = Tallies("y", "p", {(): windows(rng, 1, rows=9000)[day(0)]})
    found = judge_windows(tallies, every="1d", baseline=release)
    assert not found.baseline.any()
    assert found.overall == "went off"
    assert found.since == day(7)
    assert found.before.n == 9000
    named = judge_windows({f"w{i}": tally for i, tally in enumerate(tallies.values())}, baseline="w1..w2")
    assert np.flatnonzero(named.baseline).tolist() == [1, 2]


def test_a_baseline_of_hours_takes_whole_days(rng):
    start = datetime(2026, 1, 1, 20)
    tallies = {start + timedelta(hours=i): tally for i, tally in enumerate(windows(rng, 8, rows=50).values())}
    found = judge_windows(tallies, every="1h", baseline="2026-01-01..2026-01-01")
    assert found.baseline.tolist() == [True] * 4 + [False] * 4
    found = judge_windows(tallies, every="1h", baseline="2026-01-01T21:00..2026-01-01T22:00")
    assert np.flatnonzero(found.baseline).tolist() == [1, 2]


def test_neither_the_order_of_windows_nor_how_they_were_counted_changes_anything(rng):
    tallies = windows(rng, 4, wrong=(2,))
    first = judge_windows(tallies)
    other = judge_windows(dict(reversed(tallies.items())), threads=2)
    assert first.window == other.window == tuple(sorted(tallies))
    assert first.to_json() == other.to_json()
    grid = judge_windows({key: GridTally.of(tally, 12) for key, tally in tallies.items()}, "ltce")
    exact = judge_windows(tallies, "ltce")
    for name in ("p_value", "p_adjusted", "moved_p", "prevalence_p", "ratio", "value"):
        np.testing.assert_allclose(getattr(grid, name), getattr(exact, name), rtol=1e-6)
    assert grid.overall == exact.overall


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


@pytest.mark.parametrize("scale", [1, 10_000])
def test_the_exact_test_holds_for_a_billion_rows(scale):
    """Against the normal approximation of two proportions."""
    counts = [(1_030, 100_000), (990, 200_000)]
    group, baseline = (
        Odds(np.array([-4.6]), np.array([n * scale]), k * scale, (k * scale, n * scale)) for k, n in counts
    )
    rate = 2_020 / 300_000
    z = (0.0103 - 0.00495) / np.sqrt(rate * (1 - rate) * (1 / 1e5 + 1 / 2e5) / scale)
    if scale > 1:
        assert compare_odds(group, baseline) == 1e-13  # the least that is told
    else:
        assert np.log(compare_rates(group, baseline)) == pytest.approx(stats.norm.logsf(z) + np.log(2), rel=0.1)
    near = Odds(np.array([-4.6]), np.array([1e5 * scale]), 505 * scale, (505 * scale, 100_000 * scale))
    rate = 1_495 / 300_000
    z = (0.00505 - 0.00495) / np.sqrt(rate * (1 - rate) * (1 / 1e5 + 1 / 2e5) / scale)
    wanted = 2 * stats.norm.sf(z)
    assert compare_odds(near, baseline) == pytest.approx(wanted, rel=0.1)
    assert compare_rates(near, baseline) == pytest.approx(wanted, rel=0.1)


def test_labels_that_are_not_complete_are_not_judged_and_count_in_no_adjustment(rng):
    tallies = windows(rng, 6, wrong=(1, 5), rows=4000)
    found = judge_windows(tallies, every="1d", mature_after="2d")
    assert found.mature.tolist() == [True] * 4 + [False] * 2  # the last window ends on the 7th
    assert found.now == datetime(2026, 1, 7)
    assert found.alarms == [day(1)]
    for column in (found.p_adjusted, found.moved_p, found.prevalence_p_adjusted):
        assert np.isnan(column[4:]).all()
    assert found.verdict[4:] == ["labels not complete"] * 2
    assert "2 windows have labels that are not complete." in found.sentences()
    alone = judge_windows(dict(list(tallies.items())[:4]), every="1d")
    np.testing.assert_array_equal(found.p_adjusted[:4], alone.p_adjusted)
    assert (found.overall, found.together_p) == (alone.overall, alone.together_p)
    later = judge_windows(tallies, every="1d", mature_after="2d", now="2026-02-01")
    assert later.mature.all()
    assert later.alarms == [day(1), day(5)]
    none = judge_windows(tallies, every="1d", mature_after="900d")
    assert (none.alarms, set(none.verdict), none.overall) == ([], {"labels not complete"}, "cannot tell")
    assert none.sentences() == ("Cannot tell.", "No window has labels that are complete.")


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


def test_a_tolerance_lets_pass_what_is_within_it(rng):
    tallies = windows(rng, 4, rows=20_000, wrong=(3,), factor=1.2)
    assert judge_windows(tallies).alarms == [day(3)]
    assert judge_windows(tallies, tolerance=Relative(0.5)).alarms == []


def test_a_reference_is_drawn_on_request(rng):
    tallies = windows(rng, 3, rows=300)
    assert np.isnan(judge_windows(tallies).by_chance).all()
    found = judge_windows(tallies, reference=19, random_state=0)
    assert np.isfinite(found.by_chance).all()
    assert found.replicates == 19


def test_windows_without_events_of_one_class_or_one_row_have_an_answer(rng):
    p = rng.beta(1, 99, 500)
    tallies = {
        "a": Tally.from_arrays(np.zeros(500), p),
        "b": Tally.from_arrays(np.ones(500), p),
        "c": Tally.from_arrays([0], [0.3]),
        "d": Tally.from_arrays(np.zeros(3), np.zeros(3)),
    }
    found = judge_windows(tallies)
    assert found.verdict[1:] == ["off", "cannot tell", "cannot tell"]
    assert found.compared == ["baseline", "both moved", "", ""]
    assert found.direction[1] == "too low"
    single = judge_windows({"c": tallies["c"]})
    assert single.verdict == ["cannot tell"]
    assert (single.before, single.since) == (None, None)
    assert single.overall == "cannot tell"
    large = judge_windows(windows(rng, 1, rows=20_000))
    assert large.overall == "consistent"
    assert "Whether it moved cannot be told: there is nothing to compare with." in large.sentences()
    impossible = judge_windows({1: tallies["d"], 2: Tally.from_arrays([0, 1], [0.0, 0.0])})
    assert impossible.overall in ("off", "went off")


def test_cells_have_bounds(rng):
    tallies = windows(rng, 3, rows=5000)
    exact = judge_windows(tallies)
    cells = judge_windows({k: GridTally.of(t, 6) for k, t in tallies.items()})
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
    with pytest.raises(TypeError, match="`confidence` must be left out"):
        judge_windows(tallies, confidence=0.9)
    for baseline in (0, -1, 1.5, True, "first"):
        with pytest.raises(ValueError, match="`baseline` must be a number of windows, a range such as"):
            judge_windows(tallies, baseline=baseline)
    for baseline in (2, "2025-01-01..2025-02-01"):
        with pytest.raises(ValueError, match="`baseline` must leave windows to compare with it"):
            judge_windows(tallies, baseline=baseline)
    with pytest.raises(ValueError, match="`baseline` must be a date or a time"):
        judge_windows(tallies, baseline="2026-01-01..soon")
    with pytest.raises(ValueError, match="`baseline` must go from window to window; 'c' is none of them"):
        judge_windows({"a": tallies[day(0)], "b": tallies[day(1)]}, baseline="a..c")
    sampled = Tally([0.2], [9], [2], labelling=truecal.observations.Labelling(0.5))
    with pytest.raises(ValueError, match="`baseline` must be read as the data are"):
        judge_windows(tallies, baseline=Tallies("y", "p", {(): sampled}))
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
    named, options = {"label": "y", "score": "p"}, {}
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
    hours = truecal.drift(truecal.read(frame, time="hour", every=None, **named), **options)
    assert hours.window == tuple(range(72))


def test_text_makes_windows_as_it_is(rng, frame_of):
    columns = rows(rng, 900)
    columns["month"] = [f"2026-{i // 300 + 1:02}" for i in range(900)]
    read = truecal.read(frame_of(columns), label="y", score="p", time="month", every=None)
    found = truecal.drift(read)
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
    found = truecal.drift(read)
    assert found.n.sum() == 893
    assert found.notes == ("of 900 rows 7 were dropped: `time` is null in 7",)


def test_files_and_grids_serve_too(rng, need, tmp_path):
    need("narwhals")
    need("polars").DataFrame(rows(rng)).write_parquet(tmp_path / "rows.parquet")
    columns, options = {"label": "y", "score": "p", "time": "time"}, {}
    found = truecal.drift(truecal.read(str(tmp_path / "rows.parquet"), **columns), **options)
    assert found.alarms == [date(2026, 4, 1)]
    gridded = truecal.read(tmp_path / "rows.parquet", limits=truecal.reading.Limits(grid=6), **columns)
    grid = truecal.drift(gridded, "tce", **options)
    assert grid.n.tolist() == found.n.tolist()
    assert (grid.highest > grid.lowest).any()


def test_a_table_prints_and_survives_json_and_dataframes(need):
    tallies = windows(np.random.default_rng(1), 5, wrong=(2,), factor=2)
    found = judge_windows(tallies, every="1d", mature_after="1d")
    lines = repr(found).splitlines()
    assert lines[0].startswith("Went off (p ")
    at = lines.index("went off: 5 windows of 1d, 10,000 predictions; 1 off, 3 cannot tell, 1 labels not complete")
    assert lines[at + 1].split()[:4] == ["window", "n", "observed", "expected"]
    assert lines[at + 2].startswith("  2026-01-01  2,000")
    assert lines[at + 4].split()[-3:] == ["off", "both", "moved"]
    assert found._repr_html_().count("<tr>") == 6
    evil = judge_windows({"<b>": Tally.from_arrays([0, 1], [0.2, 0.4])})
    assert "<b>" not in evil._repr_html_()
    for table in (found, evil):
        again = DriftTable.from_json(table.to_json())
        assert again.to_json() == table.to_json()
        assert (again.window, again.verdict, again.metric) == (table.window, table.verdict, table.metric)
        assert (again.overall, again.sentences()) == (table.overall, table.sentences())
        assert f'"overall": "{table.overall}"' in table.to_json()
        assert again.n.dtype == np.int64
        assert again.mature.dtype == np.bool_
    with pytest.raises(ValueError, match="must be the JSON of a truecal DriftTable"):
        DriftTable.from_json("{}")
    for library in ("pandas", "polars", "pyarrow"):
        need(library)
        frame = found.to_frame(library)
        for name, column in (("window", list(found.window)), ("verdict", found.verdict), ("n", found.n.tolist())):
            assert (frame[name].to_pylist() if library == "pyarrow" else list(frame[name])) == column
    many = judge_windows(dict.fromkeys(range(50), Tally.from_arrays([0, 1], [0.2, 0.4])))
    assert sum(line.startswith("  ") for line in repr(many).splitlines()) == 1 + 41


def test_any_metric_can_be_watched(rng):
    tallies = windows(rng, 3)
    metric = Metric(Quantile(5), Gap())
    found = judge_windows(tallies, metric)
    assert found.value[1] == pytest.approx(metric(tallies[day(1)]))
    assert found.metric.name == "value"


def test_one_window_that_is_off_says_nothing_of_all_of_them():
    """Twelve days of which the third has 1.6 times the positives: it is in the baseline, and all together are right."""
    rng = np.random.default_rng(2)
    p, day = rng.beta(1, 19, 24_000), np.repeat(np.arange(12), 2000)
    y = rng.random(24_000) < np.minimum(np.where(day == 2, 1.6, 1.0) * p, 1)
    columns = {"y": y, "p": p, "day": np.datetime64("2026-01-01") + day}
    data = truecal.read(columns, label="y", score="p", time="day", every="1d")
    assert truecal.evaluate(data).verdict.word == "consistent"
    found = truecal.drift(data)
    assert (found.overall, found.scattered, found.before.word) == ("off", True, "off")
    text = " ".join(found.sentences())
    assert "All windows together are not shown to be off: " in text
    assert "1 of 12 windows is off by itself: 2026-01-03." in text
    assert "always" not in text
    assert "baseline" not in text


def test_a_share_that_differs_in_some_windows_is_told_of_these():
    """Of six days the fourth has 1.6 times the positives and the fifth 0.4 times, and predictions know it: all later
    ones together have as many as the baseline. Where all later days have twice as many, both shares are told."""
    rng = np.random.default_rng(0)
    day = np.repeat(np.arange(6), 4000)
    for factors, words in (
        ([1, 1, 1, 1.6, 0.4, 1], "in 2026-01-04 and 1 more is not that of the baseline"),
        ([1, 1, 2, 2, 2, 2], "; predictions went from"),
    ):
        p = np.array(factors)[day] * rng.beta(2, 48, 24_000)
        columns = {"y": rng.random(24_000) < p, "p": p, "day": np.datetime64("2026-01-01") + day}
        found = truecal.drift(truecal.read(columns, label="y", score="p", time="day", every="1d"), baseline=2)
        assert found.overall == "right and moved"
        assert words in " ".join(found.sentences())


def test_one_later_window_is_all_later_windows():
    """One day after the baseline, with 1.14 times the positives: its p-value of 0.03 need not be shared with any other."""
    rng = np.random.default_rng(19)
    day = np.repeat([0, 1], 6000)
    p = np.where(day, 1.14, 1) * rng.beta(2, 48, 12_000)
    columns = {"y": rng.random(12_000) < p, "p": p, "day": np.datetime64("2026-01-01") + day}
    found = truecal.drift(truecal.read(columns, label="y", score="p", time="day", every="1d"), baseline=1)
    assert 0.025 < found.prevalence_together_p == found.prevalence_rest_p <= 0.05
    assert "moved, from" in " ".join(found.sentences())
