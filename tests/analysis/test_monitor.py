"""The monitor: evidence over time, held against sums over rows written out; its state, and what it refuses."""

import math
from datetime import date, timedelta
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest
from conftest import fewer

import truecal
from truecal import Monitor, Observations, Tally
from truecal.analysis import keep_monitor
from truecal.data import Cells
from truecal.inference import PeriodClusters, PeriodSums, Process, RepeatClusters, find_pivot
from truecal.results import MonitorState, MonitorTable

SHIFTS = (0.05, 0.1, 0.2, 0.4, -0.05, -0.1, -0.2, -0.4)
FIRST = date(2026, 3, 1)


def shift_odds(p, factor):
    return p * factor / (1 - p + p * factor)


def simulate(rng, days, rows=400, change=None, factor=1.0):
    """A frame of days; from day `change` on the odds are `factor` times those predicted."""
    p = rng.beta(1, 9, size=days * rows)
    day = np.repeat(np.arange(days), rows)
    truth = p if change is None else np.where(day >= change, shift_odds(p, factor), p)
    dates = pd.Timestamp(FIRST) + pd.to_timedelta(day, unit="D")
    return pd.DataFrame({"y": rng.random(len(p)) < truth, "p": p, "day": dates})


def read(frame, **options):
    return truecal.read(frame, label="y", score="p", time="day", **options)


def slow_e_value(periods):
    """The definition over rows: the mean over 16 bets of sums over the period in which the change begins."""
    pivot = None
    terms = []
    for y, p in periods:
        if pivot is None:
            pivot = find_pivot(Cells.from_arrays(y, p))
        sides = np.where(p >= pivot, 1, -1)
        found = []
        for side in (np.ones_like(p), sides):
            for d in SHIFTS:
                tilt = d * side
                found.append(np.prod(np.exp(tilt * y) / (1 + p * np.expm1(tilt))))
        terms.append(found)
    terms = np.array(terms)
    # a telescoping sum each: 1/2 - 1/2 / (t + 1) of the first half of the weights belongs to periods 1 .. t
    left = [0.5 / (t + 1) + 0.5 * 365 / (t + 365) for t in range(len(terms) + 1)]
    a = sum(np.prod(terms[t:], axis=0) * (left[t] - left[t + 1]) for t in range(len(terms)))
    return float(np.mean(a))


def test_the_e_value_is_that_of_the_definition():
    # scores on a grid of 1/64 are cells of their own, so that rows and cells agree
    rng = np.random.default_rng(0)
    periods = []
    monitor = Monitor()
    for _ in range(6):
        p = rng.integers(0, 65, 50) / 64
        periods.append(((rng.random(50) < p).astype(float), p))
        monitor.update(*periods[-1])
        assert monitor.e_value == pytest.approx(slow_e_value(periods), rel=1e-12)


@pytest.mark.parametrize("shift", range(16))
def test_every_bet_has_a_mean_of_one_under_right_predictions(shift):
    # over all 2^6 sets of labels, each with its probability
    p = np.array([0.0, 1e-9, 0.2, 0.5, 0.9, 1 - 1e-9])
    total = 0.0
    for bits in range(64):
        y = np.array([bits >> i & 1 for i in range(6)])
        weight = np.prod(np.where(y == 1, p, 1 - p))
        if weight > 0:
            total += weight * math.exp(PeriodSums.of(Cells.from_arrays(y, p), 0.4).log_e[shift])
    assert total == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("shift", range(16))
@pytest.mark.parametrize("factor", [0.9, 1, 1.1])
def test_with_a_tolerance_no_bet_gains_from_errors_within_it(shift, factor):
    # a relative tolerance of 0.1; the mean of e is at most 1 where every p is off by no more
    p = np.array([0.1, 0.2, 0.5, 0.8])
    total = 0.0
    for bits in range(16):
        y = np.array([bits >> i & 1 for i in range(4)])
        weight = np.prod(np.where(y == 1, factor * p, 1 - factor * p))
        total += weight * math.exp(PeriodSums.of(Cells.from_arrays(y, p), 0.4, truecal.Relative(0.1)).log_e[shift])
    assert total <= 1 + 1e-9


def test_a_row_that_contradicts_certainty_is_an_alarm_at_once():
    monitor = Monitor()
    monitor.update([0, 0, 1], [0.0, 0.5, 0.5])
    assert not monitor.alarm
    monitor.update([1, 0, 1], [0.0, 0.5, 0.5])
    assert monitor.alarm
    assert monitor.e_value == math.inf
    (series,) = monitor.series
    assert (series.cause, series.direction, series.change_point) == ("contradicted", None, 2)
    assert Monitor.from_json(monitor.to_json()) == monitor


def test_a_change_is_found_with_its_time_direction_and_size():
    # 400 rows a day at 10 %: 40 positives expected, odds x 1.5 from day 20
    rng = np.random.default_rng(1)
    monitor = Monitor()
    monitor.update(read(simulate(rng, 40, change=20, factor=1.5)))
    assert monitor.alarm
    assert abs(monitor.change_point - (FIRST + timedelta(20))) <= timedelta(3)
    assert monitor.direction == "under-predicts"
    assert 1.2 < monitor.ratio < 1.6  # the odds' 1.5 is about 1.43 times as many positives at 10 %
    assert "Since then the model under-predicts: observed" in str(monitor)


def test_predictions_that_are_too_bold_are_found_though_their_total_is_right():
    rng = np.random.default_rng(2)
    monitor = Monitor()
    for _ in range(30):
        p = rng.beta(2, 2, size=400)
        truth = 1 / (1 + np.exp(-0.6 * np.log(p / (1 - p))))
        monitor.update(rng.random(400) < truth, p)
    assert monitor.alarm
    assert monitor.direction == "overconfident"
    assert monitor.ratio == pytest.approx(1, abs=0.1)


def test_the_evidence_is_the_same_period_by_period_and_at_once_from_rows_and_tallies():
    rng = np.random.default_rng(3)
    frame = simulate(rng, 12)
    at_once, daily, by_rows = Monitor(), Monitor(), Monitor()
    at_once.update(read(frame))
    for day, part in frame.groupby("day"):
        daily.update(read(part))
        by_rows.update(part["y"], part["p"], period=day.date())
    assert daily == at_once
    assert by_rows.e_value == at_once.e_value
    grid = Monitor()
    grid.update(read(frame, limits=truecal.reading.Limits(grid=12)))
    # cells of a grid know their mean scores only
    assert grid.e_value == pytest.approx(at_once.e_value, rel=1e-4)


def test_the_state_is_kept_between_runs(tmp_path):
    rng = np.random.default_rng(4)
    frame = simulate(rng, 10, change=4, factor=2).assign(country=lambda f: np.where(f.index % 3, "de", "at"))
    once = Monitor(significance=0.01, label_lag="2d", tolerance=0.01, threshold=0.001)
    once.update(read(frame, by="country"), now="2026-03-20")
    for day in range(10):
        part = frame[frame.day == pd.Timestamp(FIRST) + timedelta(day)]
        settings = {"significance": 0.01, "label_lag": "2d", "tolerance": 0.01, "threshold": 0.001}
        with keep_monitor(tmp_path / "monitor.json", **settings) as monitor:
            monitor.update(read(part, by="country"), now="2026-03-20")
    assert Monitor.load(tmp_path / "monitor.json") == once
    assert [path.name for path in tmp_path.iterdir()] == ["monitor.json"]
    assert MonitorState.from_json(once.to_json()) == once.state
    assert MonitorTable.from_json(once.table.to_json()) == once.table


def test_settings_that_differ_from_the_file_are_refused(tmp_path):
    with keep_monitor(tmp_path / "m.json", significance=0.01):
        pass
    again = keep_monitor(tmp_path / "m.json", significance=0.05)
    with pytest.raises(ValueError, match="`significance` of the monitor in .* is 0.01; 0.05 was given"):
        again.__enter__()


def test_an_error_leaves_the_file_as_it_was(tmp_path):
    with keep_monitor(tmp_path / "m.json") as monitor:
        monitor.update([0, 1], [0.5, 0.5])
    before = (tmp_path / "m.json").read_bytes()

    def fail():
        with keep_monitor(tmp_path / "m.json") as monitor:
            monitor.update([0, 1], [0.5, 0.5])
            monitor.update([0, 1], [0.5, 0.5], period=1)

    with pytest.raises(ValueError, match="must be given once"):
        fail()
    assert (tmp_path / "m.json").read_bytes() == before


def test_another_run_meanwhile_is_noticed(tmp_path):
    place = tmp_path / "m.json"

    def race():
        with keep_monitor(place) as monitor:
            monitor.update([0, 1], [0.5, 0.5])
            Monitor().save(place)

    with pytest.raises(ValueError, match="changed by another run"):
        race()


def test_a_period_is_evaluated_once_and_in_order():
    rng = np.random.default_rng(5)
    frame = simulate(rng, 4)
    days = [part for _, part in frame.groupby("day")]
    monitor = Monitor()
    monitor.update(read(pd.concat([days[0], days[2]])))
    before = monitor.to_json()
    with pytest.raises(ValueError, match="must be given once; 2026-03-03 was evaluated already"):
        monitor.update(read(days[2]))
    with pytest.raises(ValueError, match="must be given in order; 2026-03-02 was given after 2026-03-03"):
        monitor.update(read(days[1]))
    changed = days[2].assign(y=~days[2].y)
    for skip in (False, True):
        with pytest.raises(ValueError, match="must not change; 2026-03-03 had 400 rows"):
            monitor.update(read(changed), skip_known=skip)
    assert monitor.to_json() == before
    update = monitor.update(read(pd.concat([days[2], days[3]])), skip_known=True)
    assert (update.known, update.evaluated) == ((FIRST + timedelta(2),), (FIRST + timedelta(3),))


def test_late_labels_wait_and_count_once_complete():
    # half of the positives are not known at first: they would look like predictions that are too high
    rng = np.random.default_rng(6)
    frame = simulate(rng, 30)
    early = frame.assign(y=frame.y & (rng.random(len(frame)) < 0.5))
    patient, hasty = Monitor(label_lag="5d"), Monitor()
    for day in range(30):
        today = pd.Timestamp(FIRST) + timedelta(day)
        seen = pd.concat([early[(early.day <= today) & (early.day > today - timedelta(5))]])
        complete = frame[(frame.day <= today - timedelta(5))]
        update = patient.update(read(pd.concat([complete, seen])), now=today + timedelta(1), skip_known=True)
        hasty.update(read(early[early.day == today]))
        assert len(update.pending) == min(day + 1, 5)
    assert hasty.alarm
    assert not patient.alarm
    whole = Monitor()
    whole.update(read(frame[frame.day < pd.Timestamp(FIRST) + timedelta(25)]))
    assert patient.e_value == whole.e_value


def test_segments_share_half_of_the_significance_and_new_ones_the_rest():
    rng = np.random.default_rng(7)
    monitor = Monitor()

    def observations(day, names):
        parts = {}
        for name in names:
            p = rng.beta(1, 9, size=100)
            parts[day, name] = Tally.from_arrays(rng.random(100) < p, p)
        return Observations("y", "p", parts, by=("day", "name"), periods={"day": "1d"})

    monitor.update(observations(FIRST, "ab"))
    monitor.update(observations(FIRST + timedelta(1), "abcde"))
    monitor.update(observations(FIRST + timedelta(2), "abcdef"))
    shares = {monitor.name(each): each.share for each in monitor.series}
    # half to all rows; of the other half a half to the first batch, a sixth to the second, a twelfth to the third
    wanted = {"all rows": 1 / 2} | dict.fromkeys(("name=a", "name=b"), 1 / 8)
    wanted |= dict.fromkeys(("name=c", "name=d", "name=e"), 1 / 36) | {"name=f": 1 / 24}
    assert shares == pytest.approx(wanted)
    assert sum(shares.values()) <= 1
    assert [each.process.count for each in monitor.series if each.segment == ("c",)] == [2]


def test_an_alarm_stays_until_it_is_reset():
    rng = np.random.default_rng(8)
    monitor = Monitor()
    p = rng.beta(1, 9, size=4000)
    monitor.update(rng.random(4000) < shift_odds(p, 2), p)
    assert monitor.alarm
    for _ in range(10):
        monitor.update(rng.random(4000) < p, p)
    assert monitor.alarm
    monitor.reset()
    assert (monitor.alarm, monitor.e_value, monitor.leading) == (False, 0.0, None)
    assert monitor.sentences() == ("No period has been evaluated since the reset.",)
    counts = "periods", "n", "observed", "expected"
    assert [getattr(monitor.table, name).tolist() for name in counts] == [[0]] * 4
    assert np.isnan(monitor.table.ratio).all()
    with pytest.raises(ValueError, match="must not change; 3 had 4,000 rows"):
        monitor.update([0], [0.5], period=3)
    y = rng.random(4000) < p
    monitor.update(y, p)
    changed = rf"must not change; 12 had 4,000 rows \(observed {y.sum()}, expected .*\) and now"
    with pytest.raises(ValueError, match=changed):  # the same labels with other predictions
        monitor.update(y, p / 2, period=12, skip_known=True)
    assert not monitor.alarm
    assert (monitor.table.n.tolist(), monitor.table.observed.tolist()) == ([4000], [y.sum()])
    assert monitor.ratio == pytest.approx(y.sum() / p.sum())


@pytest.mark.slow
def test_false_alarms_are_rare_however_often_one_looks():
    # 0.05 over 200 looks; P(5 or more of 20 | 0.05) = 0.003, and so is P(7 or more of 40)
    alarms, count = 0, fewer(40, 2)
    for seed in range(count):
        rng = np.random.default_rng([9, seed])
        process, pivot = Process.start(), 0.15
        for _ in range(200):
            p = rng.beta(1, 9, size=150)
            process = process.step(PeriodSums.of(Cells.from_arrays(rng.random(150) < p, p), pivot))
            if process.e_value >= 20:
                alarms += 1
                break
    assert alarms < {20: 5, 40: 7}[count]


@pytest.mark.slow
def test_rows_of_one_customer_are_not_taken_as_many():
    # 25 customers of 20 rows that go together: as rows of their own they raise an alarm in most series (64 % of 25
    # series of 200 days were measured), as customers in 2.5 % of 120 series; P(2 or more of 6 | 0.05) = 0.03
    alarms = {True: 0, False: 0}
    customer = np.repeat(np.arange(25), 20)
    for seed in range(6):
        rng = np.random.default_rng([11, seed])
        monitors = {True: Monitor(), False: Monitor()}
        for _ in range(100):
            p = rng.beta(1, 9, size=500)
            together = 0.6 * rng.normal(size=25)[customer] + 0.8 * rng.normal(size=500)
            y = together < np.array([NormalDist().inv_cdf(each) for each in p])
            for known, monitor in monitors.items():
                monitor.update(y, p, cluster=customer if known else None)
        for known, monitor in monitors.items():
            alarms[known] += monitor.alarm
    assert alarms[True] <= 1
    assert alarms[False] >= 3


@pytest.mark.slow
def test_customers_who_come_again_tell_less_than_new_ones():
    """25 customers with 20 rows a day, each with a lasting effect of his own; predictions are right on average over
    customers. Taken as new ones every day they raise an alarm in two of three series of 100 days (54 were simulated,
    70 %), as who they are in 1 % of 100. The logarithm is divided by 1 + pairs of rows in two periods, times their
    correlation, over the variance, which grows from period to period; where all are new, by 1."""
    alarms, growth = {True: 0, False: 0}, []
    customer = np.repeat(np.arange(25), 20)
    for seed in range(6):
        rng = np.random.default_rng([13, seed])
        own, monitors = rng.normal(size=25)[customer], {True: Monitor(), False: Monitor()}
        for day in range(40):
            p = rng.beta(1, 5, size=500)
            y = 0.3**0.5 * own + 0.7**0.5 * rng.normal(size=500) < np.array([NormalDist().inv_cdf(each) for each in p])
            for known, monitor in monitors.items():
                monitor.update(y, p, cluster=customer if known else customer + 25 * day)
        for known, monitor in monitors.items():
            alarms[known] += monitor.alarm
        assert monitors[False].leading.process.growth == 1
        growth.append(monitors[True].leading.process.growth)
        again = f"the log e-value is divided by {growth[-1]:.3g}"
        assert again in " ".join(monitors[True].sentences())
        assert Monitor.from_json(monitors[True].to_json()) == monitors[True]
    assert alarms[True] <= 1
    assert alarms[False] >= 2
    # by hand: the variance of the total of 25 customers over 40 days, each with 40 x 20 rows of a correlation of about
    # 0.15 (0.3 of normal variables at these predictions), over that of 40 totals with 20 rows each
    assert np.mean(growth) == pytest.approx((1 + 0.15 * 799) / (1 + 0.15 * 19), rel=0.4)


def test_a_sample_of_customers_tells_of_all():
    """400 customers who come every day, among 600 new ones a day: the variance that pairs of rows in two periods add,
    of some 80 customers who are remembered (200 of the first day's 1,000), is near that of all of them."""
    rng = np.random.default_rng(14)
    own, found, regular = rng.normal(size=400), RepeatClusters.start(), np.zeros((2, 400))
    squares = np.zeros((2, 400))
    for day in range(30):
        ids = np.append(np.arange(400), 400 + 600 * day + np.arange(600))
        effect = np.append(own, rng.normal(size=600))
        p = rng.beta(1, 5, 1000)
        y = 0.3**0.5 * effect + 0.7**0.5 * rng.normal(size=1000) < np.array([NormalDist().inv_cdf(each) for each in p])
        found = found.add(PeriodClusters.of(Cells.from_arrays(y, p, cluster=ids)))
        one = np.stack([y - p, np.sqrt(p * (1 - p))])[:, :400]
        regular, squares = regular + one, squares + one**2
    came = found.periods > 1
    assert 50 <= came.sum() <= 200
    assert len(found.hashes) <= 400
    weight = 1 / found.chance[came]
    assert weight.sum() == pytest.approx(400, rel=0.25)  # so many come again
    pairs = np.sum(weight * (found.sums[1, came] ** 2 - found.squares[1, came]))
    assert pairs == pytest.approx(np.sum(regular[1] ** 2 - squares[1]), rel=0.25)
    exact = np.sum(regular[0] ** 2 - squares[0]) / found.total[1]
    assert found.beyond == pytest.approx(exact, rel=0.4)


def test_customers_are_read_from_a_column():
    rng = np.random.default_rng(12)
    frame = simulate(rng, 6).assign(customer=lambda f: f.index // 8, country=lambda f: np.where(f.index % 2, "a", "b"))
    by_column, by_rows = Monitor(), Monitor()
    by_column.update(read(frame, cluster="customer", by="country"))
    for day, part in frame.groupby("day"):
        by_rows.update(part["y"], part["p"], period=day.date(), cluster=part["customer"])
    whole = next(each for each in by_column.series if each.segment is None)
    assert whole.process.log_a == pytest.approx(by_rows.leading.process.log_a, rel=1e-9)
    assert whole.process.effects > 6  # the mean of six periods' design effects exceeds 1


def test_what_does_not_fit_is_refused():
    rng = np.random.default_rng(10)
    frame = simulate(rng, 2)
    with pytest.raises(TypeError, match="takes"):
        Monitor().update(frame)
    with pytest.raises(ValueError, match="`time` must be one column"):
        Monitor().update(truecal.read(frame, label="y", score="p"))
    with pytest.raises(ValueError, match="`label_lag` cannot be used with arrays"):
        Monitor(label_lag="1d").update([0, 1], [0.5, 0.5])
    monitor = Monitor()
    monitor.update(read(frame))
    with pytest.raises(TypeError, match="started with `Observations`"):
        monitor.update([0, 1], [0.5, 0.5])
    with pytest.raises(ValueError, match="`every` of the monitor is '1d'; the data have '1w'"):
        monitor.update(read(frame, every="1w"))
    rows = Monitor()
    rows.update([0, 1], [0.5, 0.5])
    with pytest.raises(TypeError, match="of one type"):
        rows.update([0, 1], [0.5, 0.5], period="b")
    with pytest.raises(TypeError, match="started with arrays"):
        rows.update(read(frame))
    named = Monitor()
    named.update([0, 1], [0.5, 0.5], period="a")
    with pytest.raises(ValueError, match="`period` must be given"):
        named.update([0, 1], [0.5, 0.5])
    for name in ("y_prob", "period", "cluster"):
        with pytest.raises(TypeError, match=f"`{name}` must be left out when `Observations` are given"):
            monitor.update(read(frame), **{name: "a"})
    assert "No period has been evaluated yet" in repr(Monitor())
    assert Monitor()._repr_html_().startswith("<p>")


def test_only_predictions_from_a_score_on_are_monitored():
    monitored, others = Monitor(threshold=0.5), Monitor()
    y, p = np.array([0, 1, 1, 0]), np.array([0.2, 0.4, 0.6, 0.8])
    monitored.update(y, p)
    others.update(y[2:], p[2:])
    np.testing.assert_array_equal(monitored.leading.process.log_a, others.leading.process.log_a)
    assert (monitored.leading.n, monitored.leading.observed) == (others.leading.n, others.leading.observed)
    below = Monitor(threshold=0.9)
    below.update(y, p)
    assert "No period has been evaluated yet" in repr(below)
