"""Recalibration: maps against scikit-learn's fits and DuckDB's arithmetic, validation on held-out rows."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from conftest import fewer

import truecal
from truecal import Observations, Tally
from truecal.analysis._recalibrate import _find_spread
from truecal.data import SortedRows, sort_rows
from truecal.inference import KINDS, Map, fit_map, split
from truecal.results import Recalibration


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def logit(p):
    return np.log(p) - np.log1p(-p)


def draw(rng, rows, change=lambda x: x, shape=(1, 9)):
    p = rng.beta(*shape, size=rows)
    return rng.random(rows) < sigmoid(change(logit(p))), p


@pytest.fixture(scope="module")
def shifted():
    return draw(np.random.default_rng(0), 8000, lambda x: x + 0.7)


@pytest.fixture(scope="module")
def bold():
    return draw(np.random.default_rng(1), 8000, lambda x: 0.5 * x - 1)


@pytest.mark.parametrize("many", [100_000, 100], ids=["rows", "cells"])
def test_the_logistic_fit_is_that_of_scikit_learn(bold, many, monkeypatch):
    monkeypatch.setattr("truecal.inference._maps.MANY_SCORES", many)
    linear = pytest.importorskip("sklearn.linear_model")
    y, p = bold
    fit = linear.LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000, solver="newton-cholesky")
    fit.fit(logit(p)[:, None], y)
    found = truecal.recalibrate(y, p, "logistic", folds=0).map
    assert (found.intercept, found.low) == pytest.approx((fit.intercept_[0], fit.coef_[0, 0]), abs=1e-8)
    assert found.high == found.low


def test_the_beta_fit_is_that_of_scikit_learn(bold):
    linear = pytest.importorskip("sklearn.linear_model")
    y, p = bold
    columns = np.stack([np.log(p), -np.log1p(-p)], axis=1)
    fit = linear.LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000, solver="newton-cholesky").fit(columns, y)
    found = truecal.recalibrate(y, p, "beta", folds=0).map
    wanted = (fit.intercept_[0], *fit.coef_[0])
    assert (found.intercept, found.low, found.high) == pytest.approx(wanted, abs=1e-8)


@pytest.mark.parametrize("kind", ["offset", "logistic", "beta"])
def test_many_scores_have_the_same_map_as_few(kind, bold, monkeypatch):
    y, p = (np.append(column, [0, 1]) for column in bold)  # what is certain tells nothing
    p[:1000] = 1 - p[:1000] / 1e6  # near 1, where a cell's digits are those of 1 - p
    tally = Tally.from_arrays(y, p)
    few = fit_map(tally, kind)
    monkeypatch.setattr("truecal.inference._maps.MANY_SCORES", 100)
    for rows in (tally, sort_rows(y, p), Tally.from_arrays(np.repeat(y, 3), np.repeat(p, 3))):
        many = fit_map(rows, kind)
        assert (many.intercept, many.low, many.high) == pytest.approx((few.intercept, few.low, few.high), abs=1e-9)
    alone = fit_map(sort_rows(np.zeros(len(p)), p), kind)
    assert (alone.intercept, alone.low, alone.high) == (0, 1, 1)  # one label speaks for no finite map


def test_rows_of_a_file_and_of_arrays_have_the_same_map(tmp_path):
    pl = pytest.importorskip("polars")
    y, p = draw(np.random.default_rng(18), 3000, lambda x: x + 0.7)
    p[:2], y[:2] = (0, 1), (1, 0)
    pl.DataFrame({"y": y, "p": p}).write_parquet(tmp_path / "a.parquet")
    data = truecal.read(tmp_path / "a.parquet", label="y", score="p")
    assert isinstance(data.pooled(), SortedRows)  # single rows, not grouped by score
    for kind in KINDS:
        found, arrays = truecal.recalibrate(data, kind=kind), truecal.recalibrate(y, p, kind)
        assert (found.n, found.positives, found.notes) == (arrays.n, arrays.positives, arrays.notes)
        assert np.array_equal(found.apply(p), arrays.apply(p))
        assert found.validation.log_loss == arrays.validation.log_loss


def test_the_offset_makes_as_many_positives_as_came(shifted):
    y, p = shifted
    found = truecal.recalibrate(y, p, "offset", folds=0)
    assert found.apply(p).sum() == pytest.approx(y.sum(), rel=1e-9)
    # the maximum of the likelihood is where expected and observed positives agree
    assert found.map.intercept == pytest.approx(0.7, abs=0.15)


def test_steps_have_enough_of_both_labels_and_never_reach_0_or_1():
    rng = np.random.default_rng(2)
    y, p = draw(rng, 3000, shape=(0.3, 6))
    found = truecal.recalibrate(y, p, "isotonic", folds=0)
    q = found.apply(p)
    assert (np.diff(q[np.argsort(p)]) >= 0).all()
    assert (q.min() > 0, q.max() < 1) == (True, True)
    for value in found.map.values:
        assert (y[q == value].sum() >= 5, (~y)[q == value].sum() >= 5) == (True, True)


@pytest.mark.parametrize("kind", KINDS)
def test_certain_predictions_stay_and_the_order_does_too(kind, bold):
    y, p = bold
    found = truecal.recalibrate(y, p, kind, folds=0)
    if kind != "isotonic":
        assert found.apply([0.0, 1.0]).tolist() == [0, 1]
    grid = np.sort(np.append(p[:500], [1e-12, 1e-6, 1 - 1e-6]))
    assert (np.diff(found.apply(grid)) >= 0).all()
    assert isinstance(found.apply(0.3), float)


def test_tiny_predictions_keep_their_digits(shifted):
    found = truecal.recalibrate(*shifted, "offset", folds=0)
    factor = math.exp(found.map.intercept)
    assert found.apply(1e-30) == pytest.approx(factor * 1e-30, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_reads_back_equal(kind, bold):
    found = truecal.recalibrate(*bold, kind)
    again = Recalibration.from_json(found.to_json())
    assert again == found
    assert np.array_equal(again.apply(bold[1]), found.apply(bold[1]))


@pytest.mark.parametrize("kind", KINDS)
def test_sql_gives_the_same_numbers(kind, bold):
    duckdb = pytest.importorskip("duckdb")
    y, p = bold
    found = truecal.recalibrate(y, p, kind, folds=0)
    frame = pd.DataFrame({"p": np.append(p[:2000], [1e-12, 0.5, 1 - 1e-9])})
    got = duckdb.sql(f"SELECT {found.to_sql('p')} AS q FROM frame").df()["q"]
    np.testing.assert_allclose(got, found.apply(frame.p), rtol=0, atol=1e-12)


# two segments and rows of neither; a steep map whose odds leave the range of doubles, steps, and one step for all
BY = {"by": ("a name",), "segments": (("it's",), (None,)), "offsets": np.array([0.3, -1e-5])}
MAPS = [
    Map("offset", 0.7),
    Map("logistic", -3.0, 2.5, 2.5),
    Map("beta", 1.0, 0.0, 21.0),
    Map("isotonic", edges=np.array([0.0, 0.25, 0.5]), values=np.array([0.01, 0.2, 0.6])),
    Map("isotonic", edges=np.array([0.0]), values=np.array([0.125])),
    Map("isotonic", 0.1, 1.5, 0.8, np.array([0.0, 0.25]), np.array([0.1, 0.6]), 0.7),
]
EXTREME = [0.0, 1.0, 5e-324, 1e-300, 1e-12, 0.25, 0.5, 1 - 1e-9, 1 - 2.0**-53]


@pytest.mark.parametrize("segments", [{}, BY], ids=["common", "segments"])
@pytest.mark.parametrize("one", MAPS, ids=lambda one: f"{one.kind}{one.high:g}")
def test_sql_holds_at_the_ends_and_null_stays_null(one, segments):
    duckdb = pytest.importorskip("duckdb")
    found = Recalibration(map=one, n=1, positives=1, **segments)
    frame = pd.DataFrame({"p": EXTREME * 3, "a name": np.repeat(["it's", None, "new"], len(EXTREME))})
    names = {"a name": [None if pd.isna(name) else name for name in frame["a name"]]}
    # Postgres and BigQuery end with an error where an exponential overflows or, in Postgres, becomes 0
    strict = "CREATE MACRO strict(x) AS CASE WHEN abs(x) > 700 THEN error('out of range') ELSE exp(x) END"
    with duckdb.connect() as database:
        database.execute(strict)
        sql = found.to_sql("p").replace("EXP(", "strict(")
        got = database.sql(f"SELECT {sql} AS q FROM frame").df()["q"]
        np.testing.assert_allclose(got, found.apply(frame.p, names), rtol=0, atol=1e-12)
        none = database.sql(f"""SELECT {sql} AS q FROM (SELECT NULL::DOUBLE AS p, 'new' AS "a name")""").fetchall()
        assert none == [(None,)]


def test_sql_gives_the_same_numbers_in_spark(spark):
    names = ["it's", None, "new"]
    rows = [(number, p, names[number % 3]) for number, p in enumerate([*EXTREME, None])]
    frame = spark.createDataFrame(rows, "number int, p double, `a name` string")
    maps = [Recalibration(map=one, n=1, positives=1, **BY) for one in MAPS]
    maps += [Recalibration(map=one, n=1, positives=1) for one in MAPS]
    got = frame.selectExpr("number", *(f"{one.to_sql('p', 'backtick')} AS q{i}" for i, one in enumerate(maps)))
    table = np.array([[math.nan if q is None else float(q) for q in row] for row in sorted(got.collect())])
    for one, column in zip(maps, table.T[1:], strict=True):
        expected = one.apply(EXTREME, {"a name": [name for _, _, name in rows[:-1]]})
        np.testing.assert_allclose(column[:-1], expected, rtol=0, atol=1e-12)
        assert math.isnan(column[-1])


@pytest.mark.parametrize(("dialect", "quotes"), [("postgres", "ansi"), ("bigquery", "backtick")])
def test_sql_is_read_in_each_dialect(dialect, quotes, need):
    sqlglot = need("sqlglot")
    for one in MAPS:
        sql = f"SELECT {Recalibration(map=one, n=1, positives=1, **BY).to_sql('p', quotes)} AS q FROM t"
        tree = sqlglot.parse_one(sql, read=dialect)
        assert {column.name for column in tree.find_all(sqlglot.exp.Column)} == {"p", "a name"}
        assert "it's" in {text.this for text in tree.find_all(sqlglot.exp.Literal)}


def test_a_temperature_and_a_bias_are_the_map_of_logits(bold):
    found = truecal.recalibrate(*bold, "logistic", folds=0)
    p = bold[1][:100]
    np.testing.assert_allclose(sigmoid(logit(p) / found.temperature + found.bias), found.apply(p), rtol=1e-10)
    with pytest.raises(ValueError, match="temperature"):
        _ = truecal.recalibrate(*bold, "beta", folds=0).temperature


def test_auto_finds_what_is_wrong(shifted, bold):
    assert truecal.recalibrate(*shifted).kind == "offset"
    assert truecal.recalibrate(*bold).kind == "logistic"
    assert truecal.recalibrate(*draw(np.random.default_rng(3), 8000)).kind == "none"
    beta = draw(np.random.default_rng(21), 4000, lambda x: 3 * np.log1p(np.exp(x)) - np.log1p(np.exp(-x)), (1, 4))
    assert truecal.recalibrate(*beta, folds=0).kind == "beta"


def test_a_map_is_shrunk_where_rows_hardly_speak_for_it():
    y, p = draw(np.random.default_rng(18), 2000, lambda x: x + 0.2)
    fit = truecal.recalibrate(y, p, "offset", folds=0)
    before, after = (np.log(np.where(y, q, 1 - q)).sum() for q in (p, fit.apply(p)))
    share = 1 - (1.5 / (after - before)) ** 2  # 1.5 is the price of one number
    found = truecal.recalibrate(y, p, folds=0)
    # the kind is chosen by cells of scores, whose means are within 2^-12 of them
    assert found.map.share == pytest.approx(share, rel=1e-3)
    assert 0.3 < share < 0.99
    assert found.map.intercept == pytest.approx(share * fit.map.intercept, rel=1e-3)
    assert (found.kind, found.map.low, found.temperature) == ("offset", 1, 1)
    assert f"(shrunk to {100 * share:.0f}% of the fit)" in " ".join(str(found).split())


def test_a_map_that_rows_clearly_speak_for_is_the_fit(shifted):
    found, fit = (truecal.recalibrate(*shifted, kind, folds=0) for kind in ("auto", "offset"))
    assert (found.map.share, found.map.intercept) == (1, fit.map.intercept)


def test_steps_are_averaged_with_a_smooth_map():
    # the world "bent" of study/recalibration.py, where each of both is far from the best
    y, p = draw(np.random.default_rng(21), 4000, lambda x: x + 0.15 * (x + 1.5) ** 2, (1, 4))
    found = truecal.recalibrate(y, p, folds=0)
    assert (found.kind, found.map.share) == ("isotonic", 0.5)
    steps = truecal.recalibrate(y, p, "isotonic", folds=0).apply(p)
    smooth = Map("beta", found.map.intercept, found.map.low, found.map.high).apply(p)
    np.testing.assert_allclose(found.apply(p), (steps + smooth) / 2, rtol=1e-9)
    assert np.all(np.diff(found.apply(np.sort(p))) >= 0)
    assert "averaged with a smooth map" in " ".join(str(found).split())
    assert Recalibration.from_json(found.to_json()) == found


def test_auto_takes_steps_where_nothing_smooth_will_do():
    # odds e times the predicted ones above 27 %, 0.74 times below: measured in study/recalibration.py, no map of few numbers
    found = truecal.recalibrate(
        *draw(np.random.default_rng(17), 20_000, lambda x: np.where(x > -1, x + 1, x - 0.3), (1, 4)), folds=0
    )
    assert found.kind == "isotonic"
    assert len(found.map.values) > 10


def test_the_validation_is_on_rows_that_were_held_out(shifted):
    found = truecal.recalibrate(*shifted)
    validation = found.validation
    assert (validation.before.verdict.status, validation.after.verdict.status) == ("miscalibrated", "consistent")
    assert found.helped
    assert 0 < validation.log_loss.low < validation.log_loss.difference < validation.log_loss.high
    assert validation.log_loss.first - validation.log_loss.second == pytest.approx(validation.log_loss.difference)
    assert validation.before.n == validation.after.n == 8000
    assert validation.before["log_loss"] == pytest.approx(validation.log_loss.first, rel=1e-6)
    assert validation.after["log_loss"] == pytest.approx(validation.log_loss.second, rel=1e-6)
    assert found.status == "helps"


def test_a_map_that_fits_noise_is_not_said_to_help():
    # steps fitted to 300 rows of a right model look better on these rows and are worse on others
    y, p = draw(np.random.default_rng(4), 300)
    found = truecal.recalibrate(y, p, "isotonic")
    assert not found.helped
    assert found.status == "not shown to help"  # 300 rows are too few to call the model consistent
    assert "held-out log loss does not change significantly, from 0." in " ".join(str(found).split())


def test_a_miscalibrated_model_is_not_said_to_need_no_recalibration(rng):
    """Half of the predictions are 0, of which one in 20 is positive: no map of the odds changes that."""
    p = np.repeat([0.0, 0.3], 1000)
    found = truecal.recalibrate(rng.random(2000) < np.repeat([0.05, 0.3], 1000), p)
    assert not found.helped
    assert found.status == "not shown to help"


@pytest.mark.slow
def test_right_models_are_left_alone():
    # at most 5 % may be said to improve; P(4 or more of 20 | 0.05) = 0.016, P(6 or more of 40) = 0.014; seeds are fixed
    count = fewer(40, 2)
    helped = sum(truecal.recalibrate(*draw(np.random.default_rng([5, seed]), 2000)).helped for seed in range(count))
    assert helped < {20: 4, 40: 6}[count]


def test_words_say_what_a_map_does_and_what_is_left():
    y, p = draw(np.random.default_rng(20), 2000)
    right = " ".join(str(truecal.recalibrate(y, p)).split())
    assert "none, predictions are unchanged" in right
    assert "no map improves held-out log loss by enough (5-fold cross-validation)" in right
    assert "was not validated" in str(truecal.recalibrate(y, p, "offset", folds=0))
    # odds by 3 in 1 %: 3 / 102
    assert "1% becomes 2.94%" in str(Recalibration(map=Map("offset", math.log(3)), n=1, positives=1))
    half = np.where(p > 0.1, p / 2, np.minimum(2 * p, 0.5))  # one factor does not correct two errors
    crossed = " ".join(str(truecal.recalibrate(np.random.default_rng(20).random(2000) < half, p, "offset")).split())
    assert "still miscalibrated: look for groups" in crossed
    # a loss that rises has a change above 0
    worse = truecal.recalibrate(y, p, "isotonic")
    gap = worse.validation.log_loss
    assert worse.validation.harmed
    interval = f"{-gap.difference:+.3g}, 95% CI {-gap.high:+.3g} to {-gap.low:+.3g}; 5-fold cross-validation"
    assert f"rises from {gap.first:.4g} to {gap.second:.4g} ({interval})" in " ".join(str(worse).split())
    # a model that is off, and a map that is not shown to help: groups may be off
    off = truecal.evaluate(np.random.default_rng(20).random(2000) < half, p, metrics=["ltce", "log_loss"])
    unsure = replace(worse.validation, before=off, log_loss=replace(gap, difference=0.0, low=-1e-3, high=1e-3))
    told = " ".join(str(replace(worse, validation=unsure)).split())
    assert "The model is miscalibrated, but one map for all rows is not shown to correct it" in told
    assert "may harm" not in told


def test_time_goes_forwards():
    rng = np.random.default_rng(6)
    day = np.repeat(np.arange(8), 1500)
    p = rng.beta(1, 9, size=len(day))
    y = rng.random(len(day)) < sigmoid(logit(p) + 0.5)
    frame = pd.DataFrame({"y": y, "p": p, "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(day, unit="D")})
    found = truecal.recalibrate(truecal.read(frame, label="y", score="p", time="day"))
    assert (found.validation.method, found.validation.parts) == ("forward in time", 7)
    assert found.validation.before.n == 7 * 1500
    assert found.helped
    assert (found.label, found.score) == ("y", "p")


def test_segments_have_offsets_that_are_shrunk():
    rng = np.random.default_rng(7)
    name = rng.choice(list("abcdefgh"), size=40_000)
    true = dict(zip("abcdefgh", rng.normal(0, 0.6, 8), strict=True))
    p = rng.beta(1, 9, size=40_000)
    y = rng.random(40_000) < sigmoid(logit(p) + np.array([true[each] for each in name]))
    frame = pd.DataFrame({"y": y, "p": p, "name": name})
    data = truecal.read(frame, label="y", score="p", by="name")
    found = truecal.recalibrate(data, kind="offset", by="name")
    offsets = dict(zip((key[0] for key in found.segments), found.offsets, strict=True))
    centre = np.mean(list(true.values()))
    for each, shift in true.items():
        assert offsets[each] + found.map.intercept == pytest.approx(shift, abs=0.15), centre
    assert found.helped
    q = found.apply(p, {"name": name})
    for each in "abcdefgh":
        inside = name == each
        alone = abs(y[inside].sum() / p[inside].sum() - 1)
        assert abs(y[inside].sum() / q[inside].sum() - 1) < max(0.05, alone)
    duckdb = pytest.importorskip("duckdb")
    got = duckdb.sql(f"SELECT {found.to_sql('p')} AS q FROM frame").df()["q"]
    np.testing.assert_allclose(got, q, atol=1e-12)
    assert found.apply([0.1], {"name": ["new"]})[0] == pytest.approx(found.map.apply(np.array([0.1]))[0])


def test_a_segment_that_a_map_harms_is_told():
    # b and c are off by 2.2, a is right: one factor for all helps overall and harms a
    rng = np.random.default_rng(16)
    p, name = rng.beta(1, 9, 9000), rng.choice(list("abc"), 9000)
    y = rng.random(9000) < sigmoid(logit(p) + np.where(name == "a", 0, np.log(2.2)))
    data = truecal.read(pd.DataFrame({"y": y, "p": p, "name": name}), label="y", score="p", by="name")
    found = truecal.recalibrate(data, kind="offset")
    table = found.validation.segments
    assert found.helped
    assert (table.change, table.names) == (("worse", "better", "better"), ["name=a", "name=b", "name=c"])
    assert (table.before[0], table.after[0]) == ("consistent", "miscalibrated")
    assert "rises significantly in 1 (name=a)" in " ".join(str(found).split())
    for segment, reduction, n in zip("abc", table.reduction, table.n, strict=True):
        own = name == segment
        losses = [-np.mean(np.where(y[own], np.log(q), np.log1p(-q))) for q in (p[own], found.apply(p[own]))]
        assert reduction == pytest.approx(
            losses[0] - losses[1], abs=0.002
        )  # the map of all rows is nearly that of a fold
        assert n == own.sum()
    own = truecal.recalibrate(data, by="name")
    assert "worse" not in own.validation.segments.change
    # the common map leaves b and c off, whose factor is larger, and makes a off
    assert (table.common, own.validation.segments.common) == (
        table.after,
        ("miscalibrated", "miscalibrated", "miscalibrated"),
    )
    assert "With the common map alone: 3 miscalibrated (name=a, name=b, name=c)" in " ".join(str(own).split())
    assert "With the common map alone" not in str(found)
    alone = truecal.recalibrate(data.group_by(()), kind="offset")
    assert alone.validation.segments is None
    assert "Segments were not evaluated" in str(alone)
    assert Recalibration.from_json(found.to_json()) == found


def test_segments_that_differ_by_chance_alone_get_no_offsets():
    rng = np.random.default_rng(8)
    parts = {}
    for name in "abcdef":
        y, p = draw(rng, 3000)
        parts[name,] = Tally.from_arrays(y, p)
    found = truecal.recalibrate(Observations("y", "p", parts, by=("name",)), by="name", folds=0)
    assert np.abs(found.offsets).max() < 0.1


def in_weeks(rng, factors, rows=400):
    """Rows of weeks whose odds are off by factors."""
    parts = {}
    for week, factor in enumerate(factors):
        y, p = draw(rng, rows, lambda x, factor=factor: x + math.log(factor))
        parts[week,] = Tally.from_arrays(y, p)
    return Observations("y", "p", parts, by=("week",), periods={"week": None})


@pytest.mark.parametrize("late", [1, 2])
def test_an_error_that_moves_over_time_is_told(late):
    data = in_weeks(np.random.default_rng(22), [2.0] * 6 + [2.0 * late] * 4)
    found = truecal.recalibrate(data, kind="offset", folds=0)
    change = found.error_change
    if late == 1:
        assert change is None
        return
    early, late = (
        sum(part.positives for part in parts) / sum(float(part.n @ found.apply(part.score)) for part in parts)
        for parts in ([data.parts[week,] for week in weeks] for weeks in (range(6), range(6, 10)))
    )
    assert (change.period, change.ratio_before, change.ratio_since) == (6, pytest.approx(early), pytest.approx(late))
    assert change.p_value <= 0.05
    assert "changes over time (p " in str(found)


def test_what_segments_explain_does_not_move():
    # the share of a segment grows; its own offset explains it
    rng = np.random.default_rng(23)
    parts = {}
    for week in range(10):
        for name, rows, factor in (("a", 600 - 50 * week, 1.0), ("b", 100 + 50 * week, 3.0)):
            y, p = draw(rng, rows, lambda x, factor=factor: x + math.log(factor))
            parts[week, name] = Tally.from_arrays(y, p)
    data = Observations("y", "p", parts, by=("week", "name"), periods={"week": None})
    changes = {by: truecal.recalibrate(data, kind="offset", by=by, folds=0).error_change for by in ((), ("name",))}
    assert changes[()] is not None
    assert changes["name",] is None


def test_sampled_negatives_are_heeded():
    # negatives kept 1 in 10: the map is of the population's predictions
    rng = np.random.default_rng(9)
    y, p = draw(rng, 60_000, lambda x: x + 0.7)
    kept = y | (rng.random(60_000) < 0.1)
    frame = pd.DataFrame({"y": y[kept], "p": p[kept]})
    found = truecal.recalibrate(
        truecal.read(frame, label="y", score="p", sampling=truecal.Sampling(negative_rate=0.1)), kind="offset"
    )
    assert found.map.intercept == pytest.approx(0.7, abs=0.12)
    assert found.helped


def test_labels_against_certainty_are_noted():
    found = truecal.recalibrate([1, 0, 1, 0, 1, 0] * 20, [0.0, 0.0, 0.5, 0.5, 1.0, 1.0] * 20, "offset", folds=0)
    assert found.contradicted == 40
    assert "40 labels contradict predictions" in str(found)


def test_one_label_alone_speaks_for_no_map():
    for folds in (0, 5):
        found = truecal.recalibrate(np.zeros(50), np.full(50, 0.1), folds=folds, random_state=0)
        assert found.apply(0.1) == 0.1
        assert found.status == "cannot be fitted"
        assert found.sentences()[1:] == (
            "No map can be fitted, since every label is negative: check the labels first.",
        )


def test_three_positives_speak_for_no_slope():
    """They have the three highest of 500 scores, which any steeper slope fits better."""
    p = np.sort(np.random.default_rng(0).beta(1, 9, 500))
    assert truecal.recalibrate(np.arange(500) >= 497, p, folds=0, random_state=0).kind == "offset"
    # twelve with the highest scores are enough for a slope
    assert truecal.recalibrate(np.arange(500) >= 488, p, folds=0, random_state=0).kind == "logistic"


def test_folds_hold_every_row_once():
    rng = np.random.default_rng(10)
    tally = Tally.from_arrays(*draw(rng, 1000))
    folds = [fold["all"] for fold in split({"all": tally}, 5, rng)]
    assert sum(folds) == tally
    assert all(150 < fold.n_rows < 250 for fold in folds)
    assert fit_map(tally, "none").apply(tally.score) is not None


def test_rows_of_a_cluster_are_dealt_together():
    rng = np.random.default_rng(11)
    y, p = draw(rng, 2000)
    ids = rng.integers(0, 150, 2000)
    parts = {
        name: Tally.from_arrays(y[own], p[own], cluster=ids[own]) for name, own in (("a", p < 0.1), ("b", p >= 0.1))
    }
    folds = split(parts, 5, rng)
    found = [set(np.concatenate([part.clusters.cluster for part in fold.values()]).tolist()) for fold in folds]
    assert [len(each) for each in found] == [30] * 5
    assert len(set.union(*found)) == 150
    for name, whole in parts.items():
        assert sum(fold[name] for fold in folds) == whole


def test_the_interval_of_rows_seen_ten_times_is_that_of_rows_seen_once():
    # ten copies of a row in a cluster of their own say as much as the row: sums over clusters are ten times its loss
    rng = np.random.default_rng(12)
    y, p = draw(rng, 1500, lambda x: x + 0.5)
    found = truecal.recalibrate(y, p, "offset", cluster=np.arange(1500)).validation.log_loss
    many = truecal.recalibrate(
        np.repeat(y, 10), np.repeat(p, 10), "offset", cluster=np.repeat(np.arange(1500), 10)
    ).validation.log_loss
    assert (many.low, many.difference, many.high) == pytest.approx((found.low, found.difference, found.high), rel=1e-9)
    alone = truecal.recalibrate(y, p, "offset").validation.log_loss  # other folds, and no clusters
    assert many.high - many.low == pytest.approx(alone.high - alone.low, rel=0.1)
    plain = truecal.recalibrate(np.repeat(y, 10), np.repeat(p, 10), "offset").validation.log_loss
    assert many.high - many.low == pytest.approx(math.sqrt(10) * (plain.high - plain.low), rel=0.1)


def test_a_kind_must_be_worth_more_where_rows_go_together():
    # eight copies of each row make chance look like evidence unless they are known to be copies
    rng = np.random.default_rng(13)
    kinds = {"known": [], "unknown": []}
    for _ in range(20):
        y, p = draw(rng, 400, shape=(2, 2))
        ids = np.repeat(np.arange(400), 8)
        y, p = np.repeat(y, 8), np.repeat(p, 8)
        kinds["known"].append(truecal.recalibrate(y, p, cluster=ids, folds=0).kind)
        kinds["unknown"].append(truecal.recalibrate(y, p, folds=0).kind)
    # an offset is chosen where its gain, half of a chi-squared, is above 1.5. Measured in study/recalibration.py: none with
    # probability 0.87; P(12 or fewer of 20 | 0.87) = 0.003. Where the gain is taken for eight times as much the chi-squared
    # need only be above 3 / 8, with probability 0.54; P(none in 15 or more | 0.46) = 0.01, and fewer with larger kinds
    assert kinds["known"].count("none") > 12
    assert kinds["unknown"].count("none") < 15


def test_importance_changes_no_map_and_a_note_says_so(shifted):
    y, p = shifted
    columns = {"y": y, "p": p, "w": 1 + p}
    found = truecal.recalibrate(truecal.read(columns, label="y", score="p", importance_weight="w"))
    assert found.map.intercept == truecal.recalibrate(y, p).map.intercept
    assert (found.weighted, found.notes) == (True, ())
    assert "describe the sample, without importance weights" in str(found)


def test_clusters_of_files_are_those_of_arrays():
    pl = pytest.importorskip("polars")
    rng = np.random.default_rng(14)
    y, p = draw(rng, 3000, lambda x: x + 0.5)
    ids = rng.integers(0, 300, 3000)
    data = truecal.read(pl.DataFrame({"y": y, "p": p, "who": ids}), label="y", score="p", cluster="who")
    found, arrays = truecal.recalibrate(data), truecal.recalibrate(y, p, cluster=ids)
    assert (found.validation.method, found.validation.parts, found.validation.cluster) == ("cross-validation", 5, "who")
    assert found.validation.log_loss == arrays.validation.log_loss
    assert found.validation.after.verdict.cluster == "who"
    assert Recalibration.from_json(found.to_json()) == found


def test_one_cluster_validates_nothing():
    y, p = draw(np.random.default_rng(15), 300)
    found = truecal.recalibrate(y, p, cluster=np.zeros(300))
    assert found.validation is None
    assert not found.helped


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"kind": "platt"}, ValueError, "`kind` must be .auto., .none."),
        ({"folds": 1}, ValueError, "`folds` must be"),
        ({"by": "country"}, ValueError, "`by` must name columns"),
        (
            {"kind": "isotonic", "sampling": truecal.Sampling(negative_rate=0.5)},
            ValueError,
            '"isotonic", must be fitted to rows and labels as they are',
        ),
    ],
)
def test_what_does_not_fit_is_refused(shifted, options, error, message):
    with pytest.raises(error, match=message):
        truecal.recalibrate(*shifted, **options)


def test_a_notebook_shows_it(shifted, need):
    need("matplotlib")
    assert truecal.recalibrate(*shifted, folds=0)._repr_html_().startswith("<p>")
    assert "<th>before</th>" in truecal.recalibrate(*shifted, kind="offset", folds=2)._repr_html_()


def test_predictions_outside_are_refused(shifted):
    with pytest.raises(TypeError, match=r"`recalibrate` takes"):
        truecal.recalibrate("a.csv")
    with pytest.raises(ValueError, match="must lie in"):
        truecal.recalibrate(*shifted, folds=0).apply([1.2])


@pytest.mark.parametrize("kind", ["auto", "logistic", "beta"])
def test_no_map_turns_the_order_around(kind):
    rng = np.random.default_rng(0)
    p = rng.beta(1, 4, size=2000)
    found = truecal.recalibrate(rng.random(2000) > p, p, kind=kind, folds=0)
    assert np.ptp(found.apply(np.array([0.1, 0.5, 0.9]))) == pytest.approx(0, abs=1e-9)
    assert found.is_constant
    assert "are labels or scores swapped?" in str(found)


def test_segments_of_one_size_spread_by_their_variance_less_that_of_chance(rng):
    offsets = rng.normal(0, 1, 12)
    assert _find_spread(offsets, np.full(12, 50.0)) == pytest.approx(offsets.var(ddof=1) - 1 / 50)


def test_a_small_segment_that_is_far_off_is_corrected_by_more_than_half():
    """Of 1,000 rows with 20 % positives where 10 % are said, beside 9,000 that are right; odds of 2.25 are missing."""
    p = np.full(10_000, 0.1)
    y = np.r_[np.arange(9_000) % 10 == 0, np.arange(1_000) % 5 == 0]
    data = truecal.read({"y": y, "p": p, "g": np.repeat(list("aaabbbcccd"), 1_000)}, label="y", score="p", by="g")
    factors = {row.segment[0]: row.odds_ratio for row in truecal.recalibrate(data, kind="offset", by="g").offset_table}
    common = truecal.recalibrate(data, kind="offset").map.apply(np.array([0.1]))[0]
    assert 1 + 0.5 * 1.25 < factors["d"] * common / (1 - common) * 9 < 2.25


def test_a_validation_says_whose_log_loss_it_is_and_what_is_clipped():
    rng = np.random.default_rng(0)
    p = rng.beta(1, 9, 4000)
    y = rng.random(4000) < 2 * p / (1 + p)
    kept = y | (rng.random(4000) < 0.5)
    whole, sampled = (
        truecal.recalibrate(y[rows], p[rows], "offset", **how)
        for rows, how in ((slice(None), {}), (kept, {"sampling": truecal.Sampling(negative_rate=0.5)}))
    )
    assert "held-out log loss falls from" in " ".join(str(whole).split())
    assert "held-out log loss of the sample falls from" in " ".join(str(sampled).split())
    contradicted = truecal.recalibrate(y, np.where(np.arange(4000) == np.flatnonzero(y)[0], 0, p), "offset")
    assert "counts as a probability of 1e-15" in " ".join(str(contradicted).split())
    assert "1e-15" not in str(whole)


def test_masked_predictions_are_not_recalibrated_as_what_lies_below_the_mask(rng):
    p = rng.beta(1, 4, 400)
    recalibration = truecal.recalibrate(rng.random(400) < p, p, folds=0)
    with pytest.raises(ValueError, match="`p` must not be missing; some values are masked"):
        recalibration.apply(np.ma.array([0.2, 0.9], mask=[False, True]))
    assert recalibration.apply(np.ma.array([0.2, 0.9])).tolist() == recalibration.apply([0.2, 0.9]).tolist()
