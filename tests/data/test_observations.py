"""Observations add, in any order, and stand for their data."""

import dataclasses
import pickle
from datetime import date, datetime, timedelta
from functools import reduce
from operator import add

import numpy as np
import pytest
from conftest import fewer
from observed import EXACT, FIRST, GRIDDED, TALLY, alike, identical, rows

import truecal
from truecal import Observations, Rule, Tally
from truecal.data import Cells, ClassObservations, Pairs, Reason, RowCounts, SortedRows, sort_rows
from truecal.data._time import LONGER
from truecal.reading import Limits, load_observations

# Adding


@pytest.mark.slow
@pytest.mark.parametrize("grid", [None, 6])
def test_a_year_of_days_is_one_pass_over_the_rows(grid, tmp_path, need):
    """A third of a year; all of it with TRUECAL_LONG=1."""
    pl = need("polars")
    days = fewer(365, 3)
    frame = pl.DataFrame(rows(np.random.default_rng(1), 800 * days, days=days, segments=20))
    options = dict(label="y", score="p", by="segment", time="day", limits=Limits(grid=grid))
    for (day,), part in frame.group_by("day"):
        truecal.read(part, **options).save(tmp_path / f"{day}.parquet")
    merged = load_observations(tmp_path)
    assert len(merged) == 20 * days
    assert alike(merged, truecal.read(frame, **options))
    for names in ((), ("segment",)):
        assert alike(
            merged.group_by(names), truecal.read(frame, label="y", score="p", by=names, limits=Limits(grid=grid))
        )
    assert alike(Observations("y", "p", {(): merged.pooled()}, bits=grid), merged.group_by())


@pytest.mark.parametrize("grid", [None, 5])
def test_the_order_of_adding_is_irrelevant(rng, need, grid):
    pl = need("polars")
    options = dict(label="y", score="p", by="segment", time="day", every="1w", limits=Limits(grid=grid))
    parts = [truecal.read(pl.DataFrame(rows(rng, 500)), **options) for _ in range(6)]
    forwards, backwards = sum(parts), reduce(add, reversed(parts))
    assert alike(forwards, backwards)
    assert alike((parts[0] + parts[1]) + parts[2], parts[0] + (parts[1] + parts[2]))
    assert forwards.n_rows == 3000
    assert forwards.positives == sum(part.positives for part in parts)
    if grid is None:
        assert forwards == backwards


def test_a_fine_grid_becomes_the_coarse_one():
    coarse = GRIDDED.coarsen(4)
    for fine in (EXACT, GRIDDED):
        both = fine + coarse
        assert both.bits == 4
        assert both == coarse + fine == coarse + coarse
    assert (EXACT + GRIDDED).bits == 13
    with pytest.raises(ValueError, match="`bits` must not exceed the 4"):
        coarse.coarsen(5)


def test_columns_can_be_left_out_and_reordered():
    assert EXACT.group_by("day").parts == {(FIRST,): TALLY + TALLY}
    assert EXACT.group_by("day").periods == {"day": "1d"}
    assert EXACT.group_by("country").periods == {}
    assert list(EXACT.group_by(["day", "country"]).parts) == [(FIRST, "at"), (FIRST, "de")]
    assert EXACT.group_by(EXACT.by) is EXACT
    assert EXACT.pooled() == TALLY + TALLY == EXACT.tally
    assert GRIDDED.pooled() == Cells.grid(TALLY + TALLY, 13)
    assert GRIDDED.tally == TALLY + TALLY
    with pytest.raises(ValueError, match="'country', 'day'; it is 'county'.\n\nHint: did you mean 'country'"):
        EXACT.group_by("county")
    with pytest.raises(ValueError, match="`by` must name each column once"):
        EXACT.group_by(["day", "day"])
    with pytest.raises(ValueError, match="have no segments; it is 'day'"):
        EXACT.group_by().group_by("day")


@pytest.mark.parametrize(
    "change",
    [
        {"label": "z"},
        {"score": "q"},
        {"pos_label": "yes"},
        {"periods": {"day": "1w"}},
        {"by": ("country", "date"), "periods": {}},
    ],
)
def test_what_does_not_belong_together_does_not_add(change):
    with pytest.raises(ValueError, match=f"agree on `{next(iter(change))}` to add; these have"):
        EXACT + dataclasses.replace(EXACT, **change)


def test_tallies_add_to_tallies_only():
    with pytest.raises(TypeError):
        EXACT + 1
    with pytest.raises(TypeError):
        EXACT + TALLY
    assert (EXACT == TALLY) is False
    assert EXACT != GRIDDED
    with pytest.raises(TypeError):
        hash(EXACT)


def test_parts_of_tallies_are_equal_and_added_to_their_own_kind_only():
    clustered = TALLY.with_clusters(
        np.array([1, 1, 2, 2, 3]), np.repeat([0.25, 0.5], [3, 2]), np.array([1, 0, 0, 0, 0])
    )
    weighted = TALLY.with_importance(np.array([0.25, 0.25, 0.25, 0.5, 0.5]), np.array([1, 0, 0, 0, 0]), np.ones(5))
    pairs = Pairs.from_arrays([0, 1], [0.5, 0.25], [0.5, 0.5])
    classes = ClassObservations(
        dataclasses.replace(EXACT, outcome="correct"), {"a": EXACT, "b": EXACT}, {"a": 5, "b": 5}
    )
    cells = Cells.of(TALLY)
    rows = sort_rows([0, 1], [0.5, 0.25])
    for one in (clustered.clusters, weighted.importance_weight, pairs, cells, rows, TALLY):
        assert (one == 1) is False
    for one in (pairs, cells, classes, TALLY):
        with pytest.raises(TypeError):
            one + 1
    assert sum([classes]) is classes
    with pytest.raises(ValueError, match="must all have been read with `cluster` to add, or none"):
        Cells.of(clustered) + cells
    with pytest.raises(TypeError, match="Cells must have sums of one kind to add"):
        Cells.grid(TALLY, 12) + cells
    with pytest.raises(TypeError, match="Cells must have the smallest and the largest score of each"):
        truecal.evaluate(cells)
    assert Cells.of(clustered, pooled=True) == Cells.of(clustered)
    with pytest.raises(ValueError, match="`cluster` must be given where parts have clusters, and only there"):
        dataclasses.replace(EXACT, parts=dict.fromkeys(EXACT.parts, clustered))


def test_classes_must_fit_together():
    top = dataclasses.replace(EXACT, outcome="correct")
    whole = ClassObservations(top, {"a": EXACT, "b": EXACT}, {"a": 5, "b": 5})
    for change, message in (
        ({"top": EXACT}, '`top` must count correct predictions; its outcome is "positive"'),
        ({"predicted": {"b": 5, "a": 5}}, "must name the same classes, at least one, in the same order"),
        ({"classes": {}, "predicted": {}}, "must name the same classes, at least one"),
        ({"classes": {"a": EXACT, "b": EXACT + EXACT}}, "Every class must have the rows of `top`, 10; 'b' has 20"),
    ):
        with pytest.raises(ValueError, match=message):
            dataclasses.replace(whole, **change)
    with pytest.raises(ValueError, match="of the same classes to add; these are of 'a', 'b' and of 'a', 'c'"):
        whole + ClassObservations(top, {"a": EXACT, "c": EXACT}, {"a": 5, "c": 5})
    assert (whole + whole).group_by("country").n_rows == 2 * whole.n_rows
    assert (whole + whole).predicted == {"a": 10, "b": 10}


# Segments


def test_segments_are_sorted_and_of_python_types():
    names = ("a", "b")
    keys = [(None, 2.0), (np.str_("b"), np.float64(1)), ("a", float("nan"))]
    observations = Observations("y", "p", dict.fromkeys(keys, TALLY), names)
    assert [tuple(map(type, key)) for key in observations.parts] == [
        (str, type(None)),
        (str, float),
        (type(None), float),
    ]
    assert list(observations.parts) == [("a", None), ("b", 1.0), (None, 2.0)]


def test_whole_numbers_beside_floats_become_floats():
    """As a column of pandas does that has a gap on some days."""
    first, second = (
        Observations("y", "p", dict.fromkeys(keys, TALLY), ("id",)) for keys in ([(1,), (2,)], [(2.0,), (None,)])
    )
    both = first + second
    assert identical(both, second + first)
    assert [type(value) for (value,) in both.parts] == [float, float, type(None)]
    assert both.parts[2,] == TALLY + TALLY
    large = Observations("y", "p", {(2**53 + 1,): TALLY}, ("id",))
    with pytest.raises(TypeError, match="`id` must hold values of one type in all segments; 9007199254740993 is not"):
        large + second


def test_other_types_do_not_mix():
    text, number = (Observations("y", "p", {(value,): TALLY}, ("id",)) for value in ("1", 1))
    with pytest.raises(TypeError, match="`id` must hold values of one type in all segments; it holds int and str"):
        text + number
    with pytest.raises(TypeError, match="it holds bool and int"):
        number + Observations("y", "p", {(True,): TALLY}, ("id",))


@pytest.mark.parametrize("value", [2**63, b"x", timedelta(1), datetime(2024, 1, 1).astimezone(), object(), 1j])
def test_values_that_a_file_could_not_hold_are_not_saved(value, tmp_path):
    observations = Observations("y", "p", {(value,): TALLY}, ("id",))
    with pytest.raises(TypeError, match="(?s)`id` must hold text, 64-bit whole numbers.*Hint: cast it to text first"):
        observations.save(tmp_path / "a.parquet")


def test_times_of_pandas_are_taken(need):
    pd = need("pandas")
    observations = Observations("y", "p", {(pd.Timestamp("2024-01-01 10:00"),): TALLY, (pd.NaT,): TALLY}, ("at",))
    assert list(observations.parts) == [(datetime(2024, 1, 1, 10),), (None,)]
    assert type(next(iter(observations.parts))[0]) is datetime
    with pytest.raises(TypeError, match="`at` must hold"):
        Observations("y", "p", {(pd.Timestamp(1),): TALLY}, ("at",)).save("never.parquet")


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"label": 1}, TypeError, "`label` must be text; it is 1"),
        ({"by": ("a", "a")}, ValueError, "`by` must name each column once"),
        (
            {"periods": {"day": "2d"}},
            ValueError,
            "`periods` must give columns of `by` a length of '1h', .*or None; .*gives '2d'",
        ),
        ({"periods": {"at": "1d"}}, ValueError, "for 'at' it gives '1d'"),
        ({"bits": 40}, ValueError, "`bits` must be a whole number from 2 to 26; it is 40"),
        ({"bits": 13}, TypeError, "Every segment must be a grid of 13 bits .* that is not empty; .* is Tally"),
        ({"pos_label": 1}, TypeError, "`pos_label` must be text or None; it is 1"),
        ({"parts": {}}, ValueError, "and at least one; it holds 0"),
        ({"parts": {(None, 1): TALLY, (float("nan"), 1): TALLY}, "periods": {}}, ValueError, "each segment once"),
        ({"parts": {("at",): TALLY}}, ValueError, "must be a tuple of 2 values"),
        ({"parts": {("at", FIRST): Tally([], [], [])}}, TypeError, "a `Tally` that is not empty"),
        ({"parts": {("at", FIRST): 7}}, TypeError, "must be a `Tally`.* is 7"),
        (
            {"parts": {("at", FIRST): SortedRows(np.array([1, 2], np.int32))}},
            TypeError,
            "must be a `Tally`.* is Sorted",
        ),
        (
            {"dropped": {("de", None): {Reason("p", "null"): -1}}},
            ValueError,
            r"`dropped` must count at least one row for each reason; for Reason\('p', 'null'\) it is -1",
        ),
        (
            {"dropped": {("de", None): {"`p` is null": 1}}},
            TypeError,
            "`dropped` must map a `Reason` to a number of rows; it maps '`p` is null' to 1",
        ),
        ({"baseline": TALLY}, TypeError, "`baseline` must be `Pairs` or None; it is Tally"),
    ],
)
def test_tallies_are_validated(change, kind, message):
    with pytest.raises(kind, match=message):
        dataclasses.replace(EXACT, **change)


def test_tallies_say_what_they_are():
    assert repr(EXACT) == "Observations(2 segments by country, day (1d), p for y, exact: 10 rows, 2 positive)"
    assert repr(GRIDDED.group_by()) == "Observations(1 segment, p for y, in cells of 13 bits: 10 rows, 2 positive)"
    assert len(EXACT) == 2
    assert pickle.loads(pickle.dumps(GRIDDED)) == GRIDDED


# Reading


@pytest.mark.parametrize("grid", [None, "auto", 8])
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "duckdb"])
def test_every_engine_gives_the_same(rng, need, library, grid):
    pl = need("polars")
    data = pl.DataFrame(rows(rng, 3000))
    need(library)
    options = dict(label="y", score="p", by="segment", time="day", limits=Limits(grid=grid))
    native = {
        "polars": data.lazy,
        "pandas": data.to_pandas,
        "pyarrow": data.to_arrow,
        "duckdb": lambda: need("duckdb").from_arrow(data.to_arrow()),
    }[library]()
    found = truecal.read(native, **options)
    assert alike(found, truecal.read(data, **options))
    assert found.by == ("segment", "day")
    assert found.bits == (8 if grid == 8 else None)
    assert [tuple(map(type, key)) for key in found.parts] == [(int, date)] * 35


def test_without_segments_there_is_one(rng, need):
    frame = need("polars").DataFrame(rows(rng, 1000))
    observations = truecal.read(frame, label="y", score="p")
    assert observations.parts == {(): Tally.from_arrays(frame["y"], frame["p"])}
    gridded = truecal.read(frame, label="y", score="p", limits=Limits(grid=6))
    assert alike(gridded, observations.coarsen(6))


def test_an_engine_that_found_few_scores_still_gives_the_grid_that_was_asked_for(need):
    frame = need("polars").DataFrame({"y": [0, 1], "p": [0.25, 0.75], "s": ["a", "b"]})
    for by in ((), "s"):
        assert truecal.read(frame, label="y", score="p", by=by, limits=Limits(grid=6)).bits == 6


def test_a_positive_label_is_part_of_it(need):
    frame = need("polars").DataFrame({"y": ["no", "yes", "no"], "p": [0.2, 0.9, 0.3]})
    yes, no = (truecal.read(frame, label="y", score="p", pos_label=label) for label in ("yes", "no"))
    assert (yes.pos_label, yes.positives, no.positives) == ("yes", 1, 2)
    with pytest.raises(ValueError, match="agree on `pos_label` to add; these have 'yes' and 'no'"):
        yes + no


def test_dropped_rows_are_told(need):
    frame = need("polars").DataFrame({"y": [0, 1, None], "p": [0.2, 0.9, 0.3]})
    found = truecal.read(frame, label="y", score="p", missing="drop")
    assert (found.n_rows, found.dropped) == (2, {(): {Reason("y", "null"): 1}})
    assert tuple(map(str, found.notes)) == ("of 3 rows 1 was dropped: `y` is null in 1",)
    assert repr(found).endswith("2 rows, 1 positive, 1 dropped)")
    assert (found + found).row_counts == RowCounts(6, 4, {Reason("y", "null"): 2})
    assert truecal.evaluate(found, metrics=["ece"]).notes[-1:] == found.notes
    with pytest.raises(ValueError, match="Every row must have a label"):
        truecal.read(frame, label="y", score="p")


@pytest.mark.parametrize("engine", ["polars", "lazy", "pandas", "duckdb"])
def test_dropped_rows_are_told_of_each_segment(need, engine, tmp_path):
    pl = need("polars")
    frame = pl.DataFrame(
        {
            "y": [0, 1, None, 1, 0, None],
            "p": [0.2, 0.9, 0.3, None, 0.4, None],
            "s": ["a", "a", "a", "b", "b", "c"],
            "d": [None, *["2026-01-01"] * 5],
        }
    ).with_columns(pl.col("d").str.to_date())
    data = {"polars": frame, "lazy": frame.lazy(), "pandas": frame.to_pandas(), "duckdb": None}[engine]
    if engine == "duckdb":
        data = need("duckdb").sql("select * from frame")
    found = truecal.read(data, label="y", score="p", by="s", time="d", missing="drop")
    missing = {key[0]: reasons for key, reasons in found.dropped.items()}
    assert missing["b"] == {Reason("p", "null"): 1}
    assert missing["c"] == {Reason("p", "null"): 1}  # the score is looked at first
    by = found.group_by("s")
    assert by.dropped[("a",)] == {Reason("d", "null"): 1, Reason("y", "null"): 1}
    assert by.row_counts == RowCounts(6, 2, {Reason("d", "null"): 1, Reason("y", "null"): 1, Reason("p", "null"): 2})
    assert "all rows of 1 segment were dropped, for example s=c" in map(str, by.notes)
    for observations in (found, by, found + found):
        assert Observations.load(observations.save(tmp_path / "a.parquet")) == observations


def test_row_counts_must_balance():
    with pytest.raises(
        RuntimeError, match=r"Rows must not get lost: 10 rows were read, but 6 evaluated, 3 dropped and 0"
    ):
        RowCounts(10, 6, {Reason("p", "null"): 3})
    assert RowCounts(10, 6, {Reason("p", "null"): 3}, out_of_scope=1).share_dropped == 0.3


# In the place of data


@pytest.fixture
def both(rng, tmp_path, need):
    """A frame, its tallies, and the path of their file."""
    frame = need("polars").DataFrame(rows(rng, 5000, segments=3))
    observations = truecal.read(frame, label="y", score="p", by="segment", time="day")
    return frame, observations, observations.save(tmp_path / "a.parquet")


@pytest.mark.slow
def test_tallies_are_evaluated_like_their_data(both):
    frame, observations, place = both
    data = truecal.read(frame, label="y", score="p", by="segment")
    whole = truecal.evaluate(truecal.read(frame, label="y", score="p"), null_draws=99, random_state=0)
    table = truecal.segments(data, random_state=0)
    for source in (observations, place, str(place), [place], place.parent):
        for names in ({}, {"label": "y", "score": "p"}, {"score": "p"}):
            read = truecal.read(source, **names)
            assert read == observations
        found = truecal.evaluate(read, null_draws=99, random_state=0)
        assert found.values == whole.values
        assert found.nulls == whole.nulls
        parts = truecal.segments(read, by="segment", random_state=0)
        assert parts.segment == table.segment
        np.testing.assert_array_equal(parts.value, table.value)
        np.testing.assert_array_equal(parts.p_value, table.p_value)
    assert list(truecal.read_models(place, score=["p"])) == ["p"]
    assert len(truecal.segments(observations, by=["day", "segment"], null_draws=9)) == 21


def test_gridded_tallies_have_bounds(both):
    frame, observations, _ = both
    found = truecal.evaluate(observations.coarsen(8), metrics=["tce", "ece"])
    gridded = truecal.read(frame, label="y", score="p", limits=Limits(grid=8))
    one_pass = truecal.evaluate(gridded, metrics=["tce", "ece"])
    assert found.values == pytest.approx(one_pass.values, rel=1e-9)
    assert found.bounds["tce"] == pytest.approx(one_pass.bounds["tce"], rel=1e-9)
    assert found.notes == one_pass.notes


def test_tallies_are_checked_like_their_data(both):
    frame, observations, place = both
    rules = [Rule("value", 15), Rule("p_value", 0.01, segment="*")]
    wanted = truecal.check(truecal.read(frame, label="y", score="p", by="segment"), rules)
    for data in (observations, truecal.read(place)):
        assert truecal.check(data, rules) == wanted
    old = truecal.evaluate(observations, metrics=["tce"], resamples=50, random_state=0)
    assert truecal.check(observations, [Rule("worse", 5, metric="tce")], baseline=old, resamples=50).results
    with pytest.raises(ValueError, match="`baseline` must be left out if observations are read: they have no rows"):
        truecal.read(place, baseline="q")
    with pytest.raises(TypeError, match="`label` and `score` must name columns of the data; they are None and None"):
        truecal.read(frame)


def test_tallies_can_be_read_again(both):
    _, observations, place = both
    assert truecal.read(place, label="y", score="p", by="segment") == observations.group_by("segment")
    assert truecal.read(observations, label="y", score="p", by="segment", time="day") == observations


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label": "z"}, "`label` must be that of the tallies, 'y', or be left out; it is 'z'"),
        ({"score": "q"}, "`score` must be that of the tallies, .*'p'.*it is .*'q'"),
        ({"pos_label": 0}, "`pos_label` must be that of the tallies, None, or be left out; it is 0"),
        ({"missing": "drop"}, "`missing` must be left out if observations are read: they have no rows"),
        ({"format": "csv"}, "`format` must be left out"),
        ({"limits": Limits(grid=4)}, "`limits` must be left out"),
        ({"by": "country"}, "`by` must be one of the columns 'segment', 'day'; it is 'country'"),
    ],
)
def test_tallies_are_not_taken_for_something_else(both, options, message):
    for data in both[1:]:
        with pytest.raises(ValueError, match=message):
            truecal.read(data, **options)


def test_windows_are_not_shorter_than_those_of_the_tallies(both):
    with pytest.raises(ValueError, match="`every` must be that of the tallies, '1d', or a longer one: '1w', '1mo', "):
        truecal.read(both[1], label="y", score="p", time="day", every="1h")
    with pytest.raises(ValueError, match="`every` is for columns of times, and 'segment' is not one in these tallies"):
        truecal.read(both[1], label="y", score="p", time="segment", every="1w")
    weeks = truecal.read(both[1], label="y", score="p", time="day", every="1w")
    with pytest.raises(ValueError, match="`every` must be that of the tallies, '1w'; it is '1mo'"):
        weeks.group_by("day", {"day": "1mo"})


@pytest.mark.slow
@pytest.mark.parametrize("grid", [None, 6])
@pytest.mark.parametrize(("own", "every"), [(own, every) for own, others in LONGER.items() for every in others])
def test_windows_add_up_to_longer_ones(need, rng, tmp_path, own, every, grid):
    """Hours, days, months and quarters as whatever they add up to: what one pass over the rows gives; over two years,
    with a leap day, a week across years, and the first and last seconds of a year, a quarter, a month and a day."""
    pl = need("polars")
    at = np.datetime64("2023-06-01T00:30", "us") + rng.integers(0, 2 * 366 * 86_400, 500) * 1_000_000
    ends = np.array(["2023-07-01", "2023-10-01", "2023-12-31", "2024-01-01", "2024-02-29", "2024-03-01"], "M8[s]")
    at[:12] = np.concatenate([ends, ends - 1])
    frame = pl.DataFrame({"y": rng.integers(0, 2, 500), "p": np.round(rng.random(500), 2), "at": at})
    options = {"label": "y", "score": "p", "time": "at", "limits": Limits(grid=grid)}
    expected = truecal.read(frame, every=every, **options)
    short = truecal.read(frame, every=own, **options)
    assert len(short) > len(expected) > 2
    assert alike(short.group_by("at", {"at": every}), expected)
    short.save(tmp_path / "short.parquet")
    assert alike(load_observations(tmp_path / "short.parquet", periods={"at": every}), expected)
    assert alike(truecal.read(tmp_path / "short.parquet", time="at", every=every), expected)
    table = truecal.drift(short, every=every, null_draws=9)
    assert list(table.period) == [key for (key,) in expected.parts]
    assert table.n.sum() == 500


def test_models_are_not_compared_on_tallies_of_one(both):
    for data in both[1:]:
        with pytest.raises(ValueError, match="Two models are compared on the same rows; these observations have one"):
            truecal.compare(truecal.read(data))


def test_pairs_add_like_their_rows(rng, need):
    p, q, y = rng.random(400).round(1), rng.random(400).round(1), rng.integers(0, 2, 400)
    whole = Pairs.from_arrays(y, p, q)
    halves = [Pairs.from_arrays(y[half], p[half], q[half]) for half in (slice(150), slice(150, None))]
    assert halves[0] + halves[1] == halves[1] + halves[0] == whole
    assert (whole.n_rows, whole.positives) == (400, y.sum())
    frame = need("polars").DataFrame({"y": y, "p": p, "q": q})
    read = [truecal.read(part, label="y", score="p", baseline="q") for part in (frame[:150], frame[150:], frame)]
    assert (read[0] + read[1]).baseline == read[2].baseline == whole
    with pytest.raises(ValueError, match="must both have a `baseline` to add"):
        read[0] + truecal.read(frame, label="y", score="p")
    with pytest.raises(ValueError, match="`baseline` must be None for tallies to be saved"):
        read[0].save("never.parquet")


def test_damaged_tallies_are_reported(both):
    place = both[2]
    place.write_bytes(place.read_bytes()[:-7])
    with pytest.raises(ValueError, match="a.parquet' must be a file .*its end is missing"):
        truecal.read(place)
