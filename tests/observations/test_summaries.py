"""Summaries add, in any order, and what is written is what is read, or nothing is."""

import dataclasses
import doctest
import pickle
import re
import tempfile
from datetime import date, datetime, timedelta
from functools import reduce
from operator import add
from pathlib import Path

import numpy as np
import pytest
from summarized import EXACT, FIRST, GRIDDED, TALLY, alike, identical, rows

import truecal
from truecal import Rule, Tallies, Tally
from truecal.observations import GridTally, write_summary
from truecal.observations._time import LONGER
from truecal.reading import Limits, merge_summaries
from truecal.reading._stored import summary_of

# Adding


@pytest.mark.parametrize("grid", [None, 6])
def test_a_year_of_days_is_one_pass_over_the_rows(grid, tmp_path, need):
    pl = need("polars")
    frame = pl.DataFrame(rows(np.random.default_rng(1), 2_000_000, days=365, segments=100))
    options = dict(label="y", score="p", by="segment", time="day", scale=Limits(grid=grid))
    for (day,), part in frame.group_by("day"):
        write_summary(truecal.reading.summarize(part, **options), tmp_path / f"{day}.parquet")
    merged = merge_summaries(tmp_path)
    assert len(merged) == 36_500
    assert alike(merged, truecal.reading.summarize(frame, **options))
    for names in ((), ("segment",)):
        alike(merged.over(names), summary_of(*_read(frame, names, grid)))
    assert alike(Tallies("y", "p", {(): merged.whole()}, bits=grid), merged.over())


def _read(frame, names, grid):
    from truecal.reading import Columns, read_segments

    windows = {"day": "1d"} if "day" in names else {}
    columns = Columns("y", ("p",), names, scale=Limits(grid=grid), windows=windows)
    return read_segments(frame, columns)[0], columns


@pytest.mark.parametrize("grid", [None, 5])
def test_the_order_of_adding_is_irrelevant(rng, need, grid):
    pl = need("polars")
    options = dict(label="y", score="p", by="segment", time="day", every="1w", scale=Limits(grid=grid))
    parts = [truecal.reading.summarize(pl.DataFrame(rows(rng, 500)), **options) for _ in range(6)]
    forwards, backwards = sum(parts), reduce(add, reversed(parts))
    assert alike(forwards, backwards)
    assert alike((parts[0] + parts[1]) + parts[2], parts[0] + (parts[1] + parts[2]))
    assert forwards.observations == 3000
    assert forwards.positives == sum(part.positives for part in parts)
    if grid is None:
        assert forwards == backwards


def test_a_fine_grid_becomes_the_coarse_one():
    coarse = GRIDDED.coarser(4)
    for fine in (EXACT, GRIDDED):
        both = fine + coarse
        assert both.bits == 4
        assert both == coarse + fine == coarse + coarse
    assert (EXACT + GRIDDED).bits == 13
    with pytest.raises(ValueError, match="`bits` must not exceed the 4"):
        coarse.coarser(5)


def test_columns_can_be_left_out_and_reordered():
    assert EXACT.over("day").parts == {(FIRST,): TALLY + TALLY}
    assert EXACT.over("day").windows == {"day": "1d"}
    assert EXACT.over("country").windows == {}
    assert list(EXACT.over(["day", "country"]).parts) == [(FIRST, "at"), (FIRST, "de")]
    assert EXACT.over(EXACT.by) is EXACT
    assert EXACT.whole() == TALLY + TALLY == EXACT.tally
    assert GRIDDED.whole() == GridTally.of(TALLY + TALLY, 13)
    assert GRIDDED.tally == TALLY + TALLY
    with pytest.raises(ValueError, match="'country', 'day'; it is 'county'.\n\nHint: did you mean 'country'"):
        EXACT.over("county")
    with pytest.raises(ValueError, match="`by` must name each column once"):
        EXACT.over(["day", "day"])
    with pytest.raises(ValueError, match="has no segments; it is 'day'"):
        EXACT.over().over("day")


@pytest.mark.parametrize(
    "change",
    [
        {"label": "z"},
        {"score": "q"},
        {"pos_label": "yes"},
        {"windows": {"day": "1w"}},
        {"by": ("country", "date"), "windows": {}},
    ],
)
def test_what_does_not_belong_together_does_not_add(change):
    with pytest.raises(ValueError, match=f"agree on `{next(iter(change))}` to add; these have"):
        EXACT + dataclasses.replace(EXACT, **change)


def test_summaries_add_to_summaries_only():
    with pytest.raises(TypeError):
        EXACT + 1
    with pytest.raises(TypeError):
        EXACT + TALLY
    assert (EXACT == TALLY) is False
    assert EXACT != GRIDDED
    with pytest.raises(TypeError):
        hash(EXACT)


# Segments


def test_segments_are_sorted_and_of_python_types():
    names = ("a", "b")
    keys = [(None, 2.0), (np.str_("b"), np.float64(1)), ("a", float("nan"))]
    summary = Tallies("y", "p", dict.fromkeys(keys, TALLY), names)
    assert [tuple(map(type, key)) for key in summary.parts] == [(str, type(None)), (str, float), (type(None), float)]
    assert list(summary.parts) == [("a", None), ("b", 1.0), (None, 2.0)]


def test_whole_numbers_beside_floats_become_floats():
    """As a column of pandas does that has a gap on some days."""
    first, second = (
        Tallies("y", "p", dict.fromkeys(keys, TALLY), ("id",)) for keys in ([(1,), (2,)], [(2.0,), (None,)])
    )
    both = first + second
    assert identical(both, second + first)
    assert [type(value) for (value,) in both.parts] == [float, float, type(None)]
    assert both.parts[2,] == TALLY + TALLY
    large = Tallies("y", "p", {(2**53 + 1,): TALLY}, ("id",))
    with pytest.raises(TypeError, match="`id` must hold values of one type in all segments; 9007199254740993 is not"):
        large + second


def test_other_types_do_not_mix():
    text, number = (Tallies("y", "p", {(value,): TALLY}, ("id",)) for value in ("1", 1))
    with pytest.raises(TypeError, match="`id` must hold values of one type in all segments; it holds int and str"):
        text + number
    with pytest.raises(TypeError, match="it holds bool and int"):
        number + Tallies("y", "p", {(True,): TALLY}, ("id",))


@pytest.mark.parametrize("value", [2**63, b"x", timedelta(1), datetime(2024, 1, 1).astimezone(), object(), 1j])
def test_values_that_a_file_could_not_hold_are_refused(value):
    with pytest.raises(TypeError, match="(?s)`id` must hold text, 64-bit whole numbers.*Hint: cast it to text first"):
        Tallies("y", "p", {(value,): TALLY}, ("id",))


def test_times_of_pandas_are_taken(need):
    pd = need("pandas")
    summary = Tallies("y", "p", {(pd.Timestamp("2024-01-01 10:00"),): TALLY, (pd.NaT,): TALLY}, ("at",))
    assert list(summary.parts) == [(datetime(2024, 1, 1, 10),), (None,)]
    assert type(next(iter(summary.parts))[0]) is datetime
    with pytest.raises(TypeError, match="`at` must hold"):
        Tallies("y", "p", {(pd.Timestamp(1),): TALLY}, ("at",))


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"label": 1}, TypeError, "`label` must be text; it is 1"),
        ({"by": ("a", "a")}, ValueError, "`by` must name each column once"),
        ({"windows": {"day": "2d"}}, ValueError, "`windows` must give columns of `by` a length of '1h', .*gives '2d'"),
        ({"windows": {"at": "1d"}}, ValueError, "for 'at' it gives '1d'"),
        ({"bits": 40}, ValueError, "`bits` must be a whole number from 2 to 26; it is 40"),
        ({"bits": 13}, TypeError, "Every segment must be `GridTally` of 13 bits that is not empty; .* is Tally"),
        ({"pos_label": 1}, TypeError, "`pos_label` must be text or None; it is 1"),
        ({"parts": {}}, ValueError, "one at least; it holds 0"),
        ({"parts": {(None, 1): TALLY, (float("nan"), 1): TALLY}, "windows": {}}, ValueError, "each segment once"),
        ({"parts": {("at",): TALLY}}, ValueError, "must be a tuple of 2 values"),
        ({"parts": {("at", FIRST): Tally([], [], [])}}, TypeError, "a `Tally` that is not empty"),
        ({"parts": {("at", FIRST): 7}}, TypeError, "must be a `Tally`.* is 7"),
    ],
)
def test_a_summary_is_checked(change, kind, message):
    with pytest.raises(kind, match=message):
        dataclasses.replace(EXACT, **change)


def test_a_summary_says_what_it_is():
    assert repr(EXACT) == "Tallies(2 segments by country, day (1d), p for y, exact: 10 observations, 2 positive)"
    assert repr(GRIDDED.over()) == "Tallies(1 segment, p for y, in cells of 13 bits: 10 observations, 2 positive)"
    assert len(EXACT) == 2
    assert pickle.loads(pickle.dumps(GRIDDED)) == GRIDDED


# Summarizing


@pytest.mark.parametrize("grid", [None, "auto", 8])
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "duckdb"])
def test_every_engine_gives_the_same(rng, need, library, grid):
    pl = need("polars")
    data = pl.DataFrame(rows(rng, 3000))
    need(library)
    options = dict(label="y", score="p", by="segment", time="day", scale=Limits(grid=grid))
    native = {
        "polars": data.lazy,
        "pandas": data.to_pandas,
        "pyarrow": data.to_arrow,
        "duckdb": lambda: need("duckdb").from_arrow(data.to_arrow()),
    }[library]()
    found = truecal.reading.summarize(native, **options)
    assert alike(found, truecal.reading.summarize(data, **options))
    assert found.by == ("segment", "day")
    assert found.bits == (8 if grid == 8 else None)
    assert [tuple(map(type, key)) for key in found.parts] == [(int, date)] * 35


def test_without_segments_there_is_one(rng, need):
    frame = need("polars").DataFrame(rows(rng, 1000))
    summary = truecal.reading.summarize(frame, label="y", score="p")
    assert summary.parts == {(): truecal.reading.tally_frame(frame, label="y", score="p")}
    gridded = truecal.reading.summarize(frame, label="y", score="p", scale=Limits(grid=6))
    assert alike(gridded, summary.coarser(6))


def test_an_engine_that_found_few_scores_still_gives_the_grid_that_was_asked_for(need):
    frame = need("polars").DataFrame({"y": [0, 1], "p": [0.25, 0.75], "s": ["a", "b"]})
    for by in ((), "s"):
        assert truecal.reading.summarize(frame, label="y", score="p", by=by, scale=Limits(grid=6)).bits == 6


def test_a_positive_label_is_part_of_it(need):
    frame = need("polars").DataFrame({"y": ["no", "yes", "no"], "p": [0.2, 0.9, 0.3]})
    yes, no = (truecal.reading.summarize(frame, label="y", score="p", pos_label=label) for label in ("yes", "no"))
    assert (yes.pos_label, yes.positives, no.positives) == ("yes", 1, 2)
    with pytest.raises(ValueError, match="agree on `pos_label` to add; these have 'yes' and 'no'"):
        yes + no


def test_dropped_rows_are_told(need):
    frame = need("polars").DataFrame({"y": [0, 1, None], "p": [0.2, 0.9, 0.3]})
    with pytest.warns(UserWarning, match="Of 3 rows 1 were dropped"):
        assert truecal.reading.summarize(frame, label="y", score="p", on_null="drop").observations == 2
    with pytest.raises(ValueError, match="Every row must have a label"):
        truecal.reading.summarize(frame, label="y", score="p")


# In the place of data


@pytest.fixture
def both(rng, tmp_path, need):
    """A frame, its summary, and the summary's path."""
    frame = need("polars").DataFrame(rows(rng, 5000, segments=3))
    summary = truecal.reading.summarize(frame, label="y", score="p", by="segment", time="day")
    return frame, summary, write_summary(summary, tmp_path / "a.parquet")


def test_a_summary_is_evaluated_like_its_data(both):
    frame, summary, place = both
    whole = truecal.evaluate(frame, label="y", score="p", reference=99, random_state=0)
    table = truecal.evaluate(frame, label="y", score="p", by="segment", random_state=0)
    for data in (summary, place, str(place), [place], place.parent):
        for names in ({}, {"label": "y", "score": "p"}, {"score": "p"}):
            found = truecal.evaluate(data, reference=99, random_state=0, **names)
            assert found.values == whole.values
            assert found.references == whole.references
            parts = truecal.evaluate(data, by="segment", random_state=0, **names)
            assert parts.segment == table.segment
            np.testing.assert_array_equal(parts.value, table.value)
            np.testing.assert_array_equal(parts.p_value, table.p_value)
    assert truecal.evaluate(place, score=["p"])["p"].values == whole.values
    assert len(truecal.evaluate(summary, by=["day", "segment"], reference=9)) == 21


def test_a_gridded_summary_has_bounds(both):
    frame, summary, _ = both
    found = truecal.evaluate(summary.coarser(8), metrics=["tce", "ece"])
    one_pass = truecal.evaluate(frame, label="y", score="p", metrics=["tce", "ece"], scale=Limits(grid=8))
    assert found.values == pytest.approx(one_pass.values, rel=1e-9)
    assert found.bounds["tce"] == pytest.approx(one_pass.bounds["tce"], rel=1e-9)
    assert found.notes == one_pass.notes


def test_a_summary_is_checked_like_its_data(both):
    frame, summary, place = both
    rules = [Rule("value", 15), Rule("p_value", 0.01, segment="*")]
    wanted = truecal.check(frame, rules, label="y", score="p", by="segment")
    for data in (summary, place):
        assert truecal.check(data, rules, by="segment") == wanted
    old = truecal.evaluate(summary, metrics=["tce"], intervals=50, random_state=0)
    assert truecal.check(summary, [Rule("worse", 5)], baseline=old, intervals=50).findings
    with pytest.raises(ValueError, match="`baseline` must be a `Result`"):
        truecal.check(summary, [Rule("worse", 5)], baseline="q")
    with pytest.raises(TypeError, match="`label` and `score` must name columns of the data; they are None and None"):
        truecal.check(frame, rules)


def test_a_summary_can_be_summarized_again(both):
    _, summary, place = both
    assert truecal.reading.summarize(place, label="y", score="p", by="segment") == summary.over("segment")
    assert truecal.reading.summarize(summary, label="y", score="p", by="segment", time="day") == summary


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label": "z"}, "`label` must be that of the summary, 'y', or be left out; it is 'z'"),
        ({"score": "q"}, "`score` must be that of the summary, .*'p'.*it is .*'q'"),
        ({"pos_label": 0}, "`pos_label` must be that of the summary, None, or be left out; it is '0'"),
        ({"on_null": "drop"}, "`on_null` must be left out where a summary is read: it has no rows"),
        ({"format": "csv"}, "`format` must be left out"),
        ({"scale": Limits(grid=4)}, "`scale` must be left out"),
        ({"by": "country"}, "`by` must be one of the columns 'segment', 'day'; it is 'country'"),
    ],
)
def test_a_summary_is_not_taken_for_something_else(both, options, message):
    for data in both[1:]:
        with pytest.raises(ValueError, match=message):
            truecal.evaluate(data, **options)


def test_windows_are_not_shorter_than_those_of_the_summary(both):
    with pytest.raises(ValueError, match="`every` must be that of the summary, '1d', or a longer one: '1w', '1mo', "):
        truecal.reading.summarize(both[1], label="y", score="p", time="day", every="1h")
    with pytest.raises(ValueError, match="`every` is for columns of times; 'segment' of the summary is none"):
        truecal.reading.summarize(both[1], label="y", score="p", time="segment", every="1w")
    weeks = truecal.reading.summarize(both[1], label="y", score="p", time="day", every="1w")
    with pytest.raises(ValueError, match="`every` must be that of the summary, '1w'; it is '1mo'"):
        weeks.over("day", {"day": "1mo"})


@pytest.mark.parametrize("grid", [None, 6])
@pytest.mark.parametrize(("own", "every"), [(own, every) for own, others in LONGER.items() for every in others])
def test_windows_add_up_to_longer_ones(need, rng, tmp_path, own, every, grid):
    """Hours, days, months and quarters as whatever they add up to: what one pass over the rows gives, times missing
    too; over two years, so that leap days, weeks across years and quarters are among them."""
    pl = need("polars")
    at = pl.Series("at", np.datetime64("2023-06-01T00:30", "us") + rng.integers(0, 2 * 366 * 86_400, 5000) * 1_000_000)
    frame = pl.DataFrame({"y": rng.integers(0, 2, 5000), "p": np.round(rng.random(5000), 2), "at": at})
    frame = frame.with_columns(pl.when(pl.int_range(pl.len()) % 100 > 0).then("at"))
    options = {"label": "y", "score": "p", "time": "at", "scale": Limits(grid=grid)}
    expected = truecal.reading.summarize(frame, every=every, **options)
    short = truecal.reading.summarize(frame, every=own, **options)
    assert len(short) > len(expected) > 2
    assert alike(short.over("at", {"at": every}), expected)
    truecal.observations.write_summary(short, tmp_path / "short.parquet")
    assert alike(truecal.reading.merge_summaries(tmp_path / "short.parquet", windows={"at": every}), expected)
    options = {"label": "y", "score": "p", "time": "at", "every": every, "reference": 9, "intervals": 0}
    with pytest.raises(ValueError, match='Every row must have a time; `at` is null in 50.\n\nHint: `on_null="drop"`'):
        truecal.drift(tmp_path / "short.parquet", **options)
    table = truecal.drift(tmp_path / "short.parquet", **options, on_null="drop")
    assert list(table.window) == [key for (key,) in expected.parts if key is not None]
    assert table.n.sum() == 4950


def test_models_are_not_compared_on_summaries(both):
    for data in both[1:]:
        with pytest.raises(ValueError, match="a summary has none"):
            truecal.compare(data, label="y", score=["p", "q"])


def test_a_damaged_summary_is_told_as_such(both):
    place = both[2]
    place.write_bytes(place.read_bytes()[:-7])
    with pytest.raises(ValueError, match="a.parquet' must be a summary .*its end is missing"):
        truecal.evaluate(place)
    with pytest.raises(ValueError, match="a.parquet' must be a summary"):
        truecal.check(place, [Rule("value", 15)])


def test_examples_of_the_page_run(need, tmp_path, monkeypatch):
    need("polars")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    page = Path(__file__).parents[2] / "docs" / "summaries.md"
    blocks = "\n".join(re.findall(r"```pycon\n(.*?)```", page.read_text(), flags=re.DOTALL))
    examples = doctest.DocTestParser().get_doctest(blocks, {}, page.name, page.name, 0)
    report = []
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples, out=report.append).failed == 0, report
