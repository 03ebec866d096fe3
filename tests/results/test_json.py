"""One codec for every result: what is written is strict JSON, and reads back equal."""

import json
import math
from collections import Counter
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal as Number
from typing import Generic, TypeVar

import numpy as np
import pytest
from conftest import fewer
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from noted import NOTES
from numpy.typing import NDArray

import truecal
from truecal import ClassResults, Decision, Metric, Observations, Result, Rule, Tally
from truecal.data import Bools, Floats, Ints, Note, NoteCode, Reason, ReasonKind, RowCounts
from truecal.gate import Cause, CheckDetails, CheckResult, CheckStatus, CheckTable
from truecal.inference import Difference, Interval, NullDistribution
from truecal.metrics import (
    METRICS,
    Absolute,
    BayesFactor,
    Binomial,
    Direction,
    Edges,
    Gap,
    Isotonic,
    LikelihoodRatio,
    LocalError,
    Max,
    Mean,
    MidP,
    OddsRatio,
    PNorm,
    PointwiseTest,
    ScoreBand,
    ScoreTest,
    StudentT,
    Unit,
    Windows,
    WindowTest,
    find_metric,
)
from truecal.results import (
    BandTable,
    BinTable,
    ClassTable,
    Comparison,
    DriftTable,
    EffectTable,
    GroupTable,
    JsonMixin,
    MonitorTable,
    OffsetTable,
    Region,
    SliceTable,
    Table,
    ValidationTable,
    from_json,
    register,
    to_json,
)
from truecal.results._json import FORMAT, PARTS, decode, encode, find_part, same
from truecal.results._shapes import Histogram, Outline, Scores, Shape
from truecal.verdict import Plan, Status, Verdict

TRICKY = [
    "",
    "type",
    "value",
    "same_as",
    "truecal",
    "columns",
    "inf",
    "nan",
    "null",
    "</script>",
    "\x00",
    "\ud800",
    '"',
]
floats = st.floats(allow_nan=True, allow_infinity=True)
counts = st.integers(0, 2**53)
spans = st.tuples(floats, floats).map(lambda ends: ends if math.isnan(sum(ends)) else tuple(sorted(ends)))
intervals = st.builds(
    lambda ends, confidence, draws: Interval(*ends, confidence, draws),
    spans,
    st.floats(0, 1, exclude_min=True, exclude_max=True),
    counts,
)
names = st.sampled_from(TRICKY) | st.text(max_size=5)
notes = st.lists(
    st.sampled_from(NOTES) | names.map(lambda name: Note.of(NoteCode.CLUSTERED, column=name)), max_size=2
).map(tuple)
anything = (
    names
    | st.none()
    | st.booleans()
    | st.integers()
    | floats
    | st.dates()
    | st.datetimes(timezones=st.none() | st.just(UTC))
    | st.times()
    | st.timedeltas()
    | st.decimals(allow_nan=False)
    | st.binary(max_size=3)
)
tests = st.sampled_from([Binomial(), MidP(), ScoreTest(), LikelihoodRatio(), StudentT(), BayesFactor(2, 3.5, math.inf)])
tolerances = st.none() | st.sampled_from([Absolute(0), Absolute(0.25), truecal.Relative(0.5)])
binnings = st.sampled_from(
    [
        *(truecal.Uniform(3), truecal.Quantile(7), Isotonic(), Edges([0, 0.25, 1])),
        *(truecal.BoundedIsotonic(), truecal.BoundedIsotonic(5, 0.5, sizes="paper")),
    ]
)
losses = st.just(Gap()) | st.builds(PointwiseTest, tests, st.floats(0.001, 0.999), tolerances)
norms = st.sampled_from([Mean(), Max(), PNorm(2), PNorm(1.5)])
window_tests = st.builds(WindowTest, st.floats(0.001, 0.999), tolerances, st.sampled_from(["rows", "information"]))
scores = [metric for metric in METRICS.values() if metric.binning is None]
metrics = (
    st.sampled_from([*scores, find_metric("net_benefit@0.05")])
    | st.builds(Metric, binnings, losses, norms)
    | st.builds(Metric, st.just(Windows()), window_tests, norms)
)
adjusts = st.sampled_from([None, "holm", "bh"])
levels = st.floats(0.001, 0.999)


def arrays(hint, size):
    """Arrays of a declared type: NaN and infinities, counts, flags."""
    kinds = {Floats: (np.float64, floats), Ints: (np.int64, counts), Bools: (np.bool_, st.booleans())}
    kind, elements = kinds[hint]
    return hnp.arrays(kind, size, elements=elements)


@st.composite
def tables(draw, kind, size=None, **more):
    """A table of any columns, and of any settings that are given."""
    size = draw(st.integers(0, 4)) if size is None else size
    hints = {"Floats": Floats, "Ints": Ints, "Bools": Bools}
    made = {entry.name: draw(arrays(hints[entry.type], size)) for entry in fields(kind) if entry.type in hints}
    return kind(**made, **{name: draw(strategy(size)) for name, strategy in more.items()})


def tuples(strategy):
    return lambda size: st.lists(strategy, min_size=size, max_size=size).map(tuple)


def setting(strategy):
    return lambda size: strategy


def add_files(files):
    """Row counts of several files."""
    dropped = dict(sum((Counter(each.dropped) for each in files.values()), Counter()))
    read, outside = (sum(getattr(each, name) for each in files.values()) for name in ("read", "out_of_scope"))
    return RowCounts(read, read - sum(dropped.values()) - outside, dropped, outside, files)


reasons = st.builds(Reason, st.none() | names, st.sampled_from(ReasonKind))
row_counts = st.builds(
    lambda judged, dropped, outside: RowCounts(judged + sum(dropped.values()) + outside, judged, dropped, outside),
    counts,
    st.dictionaries(reasons, counts, max_size=2),
    counts,
)
row_counts |= st.dictionaries(names, row_counts, min_size=2, max_size=3).map(add_files)
groups = {
    "metric": setting(metrics),
    "draws": setting(counts),
    "adjust": setting(adjusts),
    "significance": setting(levels),
    "notes": setting(notes),
    "row_counts": tuples(row_counts),
    "slope_direction": tuples(st.sampled_from([None, Direction.OVERCONFIDENT, Direction.UNDERCONFIDENT])),
}
bin_tables = tables(BinTable)
group_tables = st.integers(0, 2).flatmap(
    lambda width: tables(
        GroupTable, segment=tuples(tuples(anything)(width)), by=setting(tuples(names)(width)), **groups
    )
)
drift_tables = st.sampled_from([names, st.dates(), st.datetimes(), st.integers()]).flatmap(
    lambda periods: tables(
        DriftTable,
        period=tuples(periods),
        every=setting(st.none() | names),
        change_point=setting(st.none() | periods),
        change_ratios=setting(st.none() | st.tuples(floats, floats)),
        overall_p=setting(floats),
        label_lag=setting(st.none() | st.timedeltas()),
        now=setting(st.none() | st.datetimes(timezones=st.just(UTC))),
        **groups,
    )
)
comparisons = st.dictionaries(
    names, st.tuples(st.builds(Difference, *[floats] * 6, counts), metrics), max_size=3
).flatmap(
    lambda found: st.builds(
        Comparison.of,
        st.just({name: difference for name, (difference, _) in found.items()}),
        st.just({name: metric for name, (_, metric) in found.items()}),
        models=st.tuples(names, names),
        notes=notes,
        row_counts=st.none() | row_counts,
    )
)
factors = st.builds(OddsRatio, *[floats] * 6)
ranges = st.builds(
    ScoreBand,
    st.sampled_from([Direction.UNDER, Direction.OVER]),
    floats,
    floats,
    counts,
    counts,
    floats,
    factors,
    st.booleans(),
)
evidence = st.none() | st.floats(allow_nan=False)
local_errors = st.builds(LocalError, floats, evidence, *[floats] * 4, counts, st.lists(ranges, max_size=2).map(tuple))
verdicts = st.builds(
    Verdict, st.sampled_from(Status), floats, floats,
    st.dictionaries(names, floats, max_size=2), counts, counts, floats, counts, factors, *[floats] * 3, local_errors,
    slope_direction=st.sampled_from([None, Direction.OVERCONFIDENT, Direction.UNDERCONFIDENT]),
)  # fmt: skip
plans = st.builds(Plan, *[floats] * 4, evidence, evidence, counts, st.none() | counts, *[floats] * 4)
rules = st.sampled_from([Rule("value", 15), Rule("p_value", 0.05, metric="mine", segment="*", min_rows=3, model="a|b")])
finite = st.floats(allow_nan=False)
details = st.builds(
    CheckDetails, st.none() | finite, counts, *[st.none() | finite] * 4, st.none() | counts, st.none() | counts, counts,
    st.none() | st.sampled_from(Cause), st.none() | verdicts, st.none() | counts, st.none() | row_counts,
    st.lists(names, max_size=2).map(tuple), st.none() | names, st.none() | st.just(Unit("cents", " ct", 9.0)),
)  # fmt: skip
check_results = st.builds(
    CheckResult, rules, names, st.none() | names, st.none() | counts, st.none() | finite,
    st.sampled_from(CheckStatus), st.sampled_from(Cause), details, st.booleans(),
)  # fmt: skip
decisions = st.builds(Decision, st.lists(check_results, min_size=1, max_size=4).map(CheckTable.of), notes)
histograms = st.integers(1, 3).flatmap(lambda n: st.builds(Histogram, arrays(Floats, n + 1), arrays(Ints, n)))
outlines = st.integers(1, 3).flatmap(
    lambda n: st.builds(Outline, arrays(Floats, n), arrays(Floats, n), arrays(Ints, (n, 4)), *[arrays(Ints, 2)] * 4)
)


@st.composite
def results(draw):
    chosen = draw(st.dictionaries(names, metrics, min_size=1, max_size=3))
    shared = draw(st.lists(st.tuples(bin_tables, st.builds(Shape, outlines, outlines)), min_size=1, max_size=2))
    picked = {name: draw(st.sampled_from(shared)) for name in chosen}

    def some(strategy):
        return draw(st.dictionaries(st.sampled_from(list(chosen)), strategy, max_size=2))

    return Result(
        verdict=draw(st.none() | verdicts),
        n=draw(st.integers(1, 10**12)),
        positives=draw(counts),
        row_counts=draw(row_counts),
        values={name: draw(floats) for name in chosen},
        metrics=chosen,
        tables={name: table for name, (table, _) in picked.items()},
        test=draw(tests),
        significance=draw(levels),
        tolerance=draw(tolerances),
        notes=draw(notes),
        version=draw(names),
        adjust=draw(adjusts),
        region=draw(st.none() | st.builds(Region, st.none() | finite, st.none() | counts | finite, st.none() | finite)),
        nulls=some(st.builds(NullDistribution, *[floats] * 6, counts)),
        intervals=some(intervals),
        bounds=some(st.tuples(floats, floats)),
        scores=draw(st.none() | st.builds(Scores, counts, counts, histograms, histograms)),
        shapes={name: shape for name, (_, shape) in picked.items()} if draw(st.booleans()) else {},
        library=draw(st.none() | st.just("polars")),
    )


labels = names | st.integers() | st.booleans() | st.dates() | st.just(math.inf) | st.none()
class_tables = tables(
    ClassTable,
    label=tuples(labels),
    slope_direction=groups["slope_direction"],
    unadjusted_status=tuples(st.sampled_from(["miscalibrated", "consistent", "inconclusive"])),
    significance=setting(levels),
)
monitor_tables = tables(
    MonitorTable,
    series=tuples(names),
    direction=tuples(st.none() | st.sampled_from(Direction)),
    change_point=tuples(st.none() | st.dates() | st.integers(0, 10**6) | names),
    significance=setting(levels),
)
slice_tables = tables(
    SliceTable,
    slice=tuples(names),
    direction=tuples(st.sampled_from([Direction.UNDER, Direction.OVER])),
    rows=setting(counts),
    searched=setting(counts),
    columns_searched=setting(st.lists(names, max_size=2).map(tuple)),
    score=setting(st.none() | names),
    pairs=setting(st.booleans()),
    significance=setting(levels),
    row_counts=setting(st.none() | row_counts),
    notes=setting(notes),
)
validation_tables = tables(
    ValidationTable,
    segment=tuples(st.tuples(names)),
    before=tuples(st.sampled_from(["miscalibrated", "consistent"])),
    after=tuples(st.sampled_from(["miscalibrated", "inconclusive"])),
    common=tuples(st.sampled_from(["miscalibrated", "consistent"])),
    by=setting(st.just(("country",))),
    confidence=setting(levels),
)
offset_tables = tables(OffsetTable, segment=tuples(st.tuples(names)), by=setting(st.just(("country",))))
effect_tables = tables(EffectTable, metric=tuples(names), confidence=setting(levels))
class_results = st.builds(ClassResults, results(), class_tables)
EVERYTHING = {
    Result: results(),
    ClassResults: class_results,
    ClassTable: class_tables,
    BandTable: verdicts.map(BandTable.of),
    BinTable: bin_tables,
    GroupTable: group_tables,
    DriftTable: drift_tables,
    MonitorTable: monitor_tables,
    SliceTable: slice_tables,
    ValidationTable: validation_tables,
    OffsetTable: offset_tables,
    EffectTable: effect_tables,
    Comparison: comparisons,
    CheckTable: st.lists(check_results, max_size=4).map(CheckTable.of),
    Decision: decisions,
    Plan: plans,
    Verdict: verdicts,
    LocalError: local_errors,
}


def refuse_constant(name):
    raise AssertionError(f"{name} is no JSON")


@pytest.mark.slow
@pytest.mark.parametrize("kind", EVERYTHING, ids=lambda kind: kind.__name__)
@settings(max_examples=fewer(60, 2), deadline=None)
@given(st.data())
def test_what_is_written_reads_back_equal(kind, data):
    value = data.draw(EVERYTHING[kind])
    text = to_json(value)
    raw = json.loads(text, parse_constant=refuse_constant)
    assert raw["truecal"] == {"type": kind.__name__, "format": FORMAT, "version": truecal.__version__}
    again = from_json(text)
    assert type(again) is kind
    assert same(again, value)
    assert to_json(again) == text
    if issubclass(kind, JsonMixin):
        assert kind.from_json(text) == value
    for entry in fields(kind):
        if isinstance(getattr(value, entry.name), np.ndarray):
            assert getattr(again, entry.name).dtype == getattr(value, entry.name).dtype


def test_every_table_and_result_is_tried():
    assert all(getattr(truecal.results, name) is not None for name in dir(truecal.results))  # all are imported
    assert {kind for kind in PARTS.values() if issubclass(kind, Table)} <= set(EVERYTHING)


@pytest.mark.slow
@given(st.dictionaries(names, results(), max_size=2))
@settings(max_examples=20, deadline=None)
def test_several_results_are_written_by_their_names(found):
    text = to_json(found)
    assert json.loads(text)["truecal"]["type"] == "dict"
    assert from_json(text) == found


@given(anything)
def test_a_value_of_any_type_keeps_it(value):
    again = decode(json.loads(json.dumps(encode(value), allow_nan=False)))
    assert type(again) is type(value)
    assert same(again, value)


def test_numbers_are_written_in_one_way():
    """NaN is null, infinities are words, in a column, in a field and in a dict alike."""
    table = truecal.evaluate([0, 1], [0.0, 0.0], metrics=["ece"]).bins
    raw = json.loads(table.to_json())["columns"]
    assert raw["ratio"][0] == "inf"
    assert raw["rate"][1:] == [None] * 9
    span = replace(truecal.evaluate([0, 1], [0.1, 0.2], ["ece"]), bounds={"ece": (-math.inf, math.nan)})
    assert json.loads(span.to_json())["bounds"] == {"ece": ["-inf", None]}
    assert encode(math.inf) == {"type": "float", "value": "inf"}  # where it could be taken for a name
    assert encode("inf") == "inf"
    dates = [date(2026, 3, 1), datetime(2026, 3, 1, 5), time(5), timedelta(days=1), Number("1.50"), b"\x01"]
    assert [encode(value)["value"] for value in dates] == [
        *("2026-03-01", "2026-03-01T05:00:00", "05:00:00", 86_400_000_000, "1.50", "01"),
    ]


def test_parts_under_several_names_are_written_once(rng):
    result = truecal.evaluate(rng.random(50) < 0.5, rng.random(50))
    raw = json.loads(result.to_json())
    assert raw["tables"]["ece_pava_bc"] == raw["shapes"]["ece_pava_bc"] == {"same_as": "tce"}
    again = Result.from_json(result.to_json())
    assert again.tables["ece_pava_bc"] is again.tables["tce"]


def test_the_verdict_is_written_first(rng):
    p = rng.random(500)
    result = truecal.evaluate(rng.random(500) < p**2, p)
    raw = json.loads(result.to_json())
    assert list(raw)[:2] == ["truecal", "verdict"]
    assert (raw["verdict"]["status"], raw["verdict"]["observed"]) == ("miscalibrated", result.positives)
    assert raw["verdict"]["local"]["bands"][0]["direction"] == "over-predicts"
    assert Result.from_json(result.to_json()).verdict == result.verdict


def test_what_follows_from_the_rest_is_written_for_readers(rng):
    result = truecal.evaluate([0, 1], [0.1, 0.2], ["ece"])
    assert json.loads(result.to_json())["prevalence"] == 0.5
    observations = Observations(
        "y", "p", {(): Tally([0.2], [2000], [1000])}
    )  # half are positive where a fifth is predicted
    decision = truecal.check(observations, [Rule("value", 0.1, metric="ece")])
    assert {name: json.loads(decision.to_json())[name] for name in ("status", "exit_code")} == {
        "status": "fail",
        "exit_code": 1,
    }


def test_results_that_differ_are_not_equal():
    first, second = (truecal.evaluate([0, 1], [0.1, p], ["ece"]) for p in (0.2, 0.3))
    assert first != second
    assert first.bins != second.bins
    assert first != "a result"
    assert not same(np.array([1.0]), np.array([1.0, 2.0]))
    assert not same((1.0, math.nan), (1.0, 2.0))
    with pytest.raises(TypeError, match="unhashable"):
        hash(first)


@pytest.mark.parametrize("kind", [Result, GroupTable, Decision], ids=lambda kind: kind.__name__)
def test_other_text_is_refused(kind):
    for text in ("", "[]", "{}", "nonsense", '{"n": 3}', '{"truecal": 1}', '{"truecal": {"type": "Result"}}'):
        with pytest.raises(ValueError, match=f"`text` must be the JSON of a truecal {kind.__name__}; it is not"):
            kind.from_json(text)
    with pytest.raises(ValueError, match=f"must hold a truecal {kind.__name__}; it holds a Plan"):
        kind.from_json(to_json(truecal.plan(0.1, ratio=2)))


def test_columns_of_several_lengths_are_refused():
    raw = json.loads(truecal.evaluate([0, 1], [0.1, 0.2], ["ece"]).bins.to_json())
    raw["columns"]["n"].append(3)
    with pytest.raises(ValueError, match=r"columns of a BinTable must be of one length; they are: left 10, .* n 11"):
        BinTable.from_json(json.dumps(raw))


def test_values_that_have_no_json_are_named(rng):
    with pytest.raises(TypeError, match="must be a result of truecal; it is int"):
        to_json(3)
    tally = truecal.Tally.from_arrays(rng.random(200) < 0.5, rng.random(200))
    table = truecal.segments(truecal.Observations("y", "p", {("a",): tally}, by=("place",)), null_draws=9)
    with pytest.raises(TypeError, match=r"a part of your own \(complex\) cannot be written"):
        replace(table, segment=((1 + 2j,),)).to_json()


def test_parts_of_your_own_can_be_registered():
    @register
    @dataclass(frozen=True)
    class HalfGap:
        share: float = 0.5

        def __call__(self, bins):
            return self.share * Gap()(bins)

    result = truecal.evaluate([0, 1], [0.1, 0.2], {"half": Metric(truecal.Uniform(2), HalfGap(0.25))})
    assert Result.from_json(result.to_json()) == result
    del PARTS["HalfGap"]
    with pytest.raises(TypeError, match="must be a dataclass"):
        register(int)
    other = dataclass(type("Uniform", (), {}))
    with pytest.raises(ValueError, match="The name 'Uniform' must not be registered yet; it is the name of"):
        register(other)


def test_named_metrics_survive():
    named = METRICS | {"net_benefit@0.05": find_metric("net_benefit@0.05")}
    assert {name: decode(json.loads(json.dumps(encode(metric)))) for name, metric in named.items()} == named


def test_scores_survive_in_results_tables_and_comparisons(rng):
    """One class has no slope and an infinite log loss: NaN and infinities among the numbers."""
    p = np.round(rng.random(300), 2)
    names = [*METRICS, "net_benefit@0.3"]
    for y in (rng.random(300) < p, np.zeros(300)):
        result = truecal.evaluate(y, np.append(p[1:], 1.0), names, null_draws=9, resamples=9, random_state=0)
        assert Result.from_json(result.to_json()) == result
        assert list(result.values) == names
    compared = truecal.compare(rng.random(300) < p, p, p**2, ["slope", "net_benefit@0.3"], resamples=9)
    assert Comparison.from_json(compared.to_json()) == compared
    data = truecal.Observations("y", "p", {("a",): truecal.Tally.from_arrays(rng.random(300) < p, p)}, by=("place",))
    table = truecal.segments(data, "slope", null_draws=9)
    assert GroupTable.from_json(table.to_json()) == table


def test_every_test_and_binning_can_be_saved():
    """Whoever adds one and forgets to list it in `results/_json.py` is told here."""
    public = [getattr(truecal.metrics, name) for name in dir(truecal.metrics)]
    parts = [value for value in public if isinstance(value, type) and is_dataclass(value)]
    wanted = [part for part in parts if hasattr(part, "p_value") or hasattr(part, "partition")]
    assert {"Binomial", "StudentT", "Uniform", "BoundedIsotonic"} <= {part.__name__ for part in wanted}
    assert all(find_part(part.__name__) is part for part in wanted)


def test_arrays_are_known_by_the_alias_of_every_numpy(monkeypatch):
    """Up to 2.4 `NDArray[np.float64]` is an `np.ndarray[...]`; since 2.5 it is of a type alias, as this class stands for."""

    class Alias(Generic[TypeVar("T")]):
        pass

    for alias in (NDArray, Alias):
        monkeypatch.setattr("truecal.results._json.NDArray", alias)
        found = decode([0.5, None], alias[np.float64])
        assert (type(found), found.dtype, found.tolist()[:1]) == (np.ndarray, np.float64, [0.5])
