"""Tables: everything that is shown or written follows from what is declared of a column."""

import csv
import io
import math
from dataclasses import FrozenInstanceError, dataclass, field, replace

import numpy as np
import pytest

import truecal
from truecal import Decision, Metric, Observations, Rule, Tally
from truecal._text import format_percent
from truecal.data import Floats, Ints, Note, NoteCode
from truecal.gate import CheckTable
from truecal.inference import Difference
from truecal.metrics import METRICS, Gap, Unit
from truecal.results import BinTable, Column, Comparison, DriftTable, GroupTable, Table, column

KINDS = (BinTable, GroupTable, DriftTable, Comparison, CheckTable)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Small(Table):
    """Two columns and one that follows from them."""

    name: tuple[str, ...] = field(metadata=column("key", "who", "A name."))
    n: Ints = field(metadata=column("count", "how many", "A count."))
    part: Floats = field(metadata=column("share", "share", "A part of one.", lambda part: f"{part:.1f}"))
    notes: tuple[str, ...] = ()
    _derived_columns = (Column("twice", "count", "twice", "Twice n."), Column("loud", "label", "loud", "Shouted."))
    _shown = ("name", "n", "part", "loud")

    @property
    def twice(self):
        return 2 * self.n

    @property
    def loud(self):
        return [name.upper() for name in self.name]


@pytest.fixture
def small():
    return Small(
        ("a", "b<i>", "c\n"),
        np.array([1, 2000, 3]),
        np.array([0.25, math.nan, 1.0]),
        (Note.of(NoteCode.SLICES_TRUNCATED, limit=3),),
    )


@pytest.fixture
def segments(rng):
    observations = {}
    for name, factor, rows in (("de", 1.0, 3000), ("fr", 2.0, 3000), ("it", 1.0, 60)):
        p = rng.beta(1, 9, rows)
        observations[name,] = Tally.from_arrays(rng.random(rows) < np.minimum(factor * p, 1), p)
    return Observations("y", "p", observations, by=("country",))


def as_windows(segments):
    return Observations("y", "p", segments.parts, by=("country",), periods={"country": None})


def test_a_table_is_its_declaration(small):
    assert [(each.name, each.unit, each.heading) for each in small.columns] == [
        ("name", "key", "who"),
        ("n", "count", "how many"),
        ("part", "share", "share"),
        ("twice", "count", "twice"),
        ("loud", "label", "loud"),
    ]
    assert len(small) == 3
    assert small[1]._asdict() == {
        "name": "b<i>",
        "n": 2000,
        "part": pytest.approx(math.nan, nan_ok=True),
        "twice": 4000,
    }
    assert [row.twice for row in small] == [2, 4000, 6]
    assert type(small[0].n) is int
    assert list(small.arrays()) == ["name", "n", "part", "twice"]
    assert [row.name for row in small[1:]] == ["b<i>", "c\n"]
    with pytest.raises(IndexError):
        small[3]
    with pytest.raises(FrozenInstanceError):
        small.n = 3


def test_text_html_and_cells_have_units_and_no_nan(small):
    assert repr(small) == (
        "3 rows.\n"
        "  who   how many  share  loud\n"
        "  a            1    0.2  A\n"  # 0.25 to one place, halves to even
        "  b<i>     2,000         B<I>\n"
        "  c\\n          3    1.0  C\\n\n"
        "Note: only the first 3 slices are listed."
    )
    assert small.cells(["n", "part"], rows=[1]) == {"n": ["2,000"], "part": [""]}
    page = small._repr_html_()
    assert "<i>" not in page
    assert page.count("<tr>") == 4
    assert "<th>how many</th>" in page


def test_csv_has_plain_numbers(small):
    assert list(csv.reader(io.StringIO(small.to_csv()))) == [
        ["name", "n", "part", "twice"],
        ["a", "1", "0.25", "2"],
        ["b<i>", "2000", "", "4000"],
        ["c\n", "3", "1.0", "6"],
    ]


def test_mistakes_in_a_declaration_are_explained():
    with pytest.raises(ValueError, match="`unit` of a column must be one of key, .*; it is 'percent'"):
        Column("a", "percent", "", "")
    with pytest.raises(ValueError, match="The columns of a Small must be of one length; they are: name 1, n 2, part 1"):
        Small(("a",), np.array([1, 2]), np.array([0.5]))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_column_says_what_it_means(kind):
    declared = kind.columns.fget(kind.__new__(kind))
    assert len({each.name for each in declared}) == len(declared)
    for each in declared:
        assert each.meaning.endswith(".")
        assert each.name in kind.__doc__
        assert each.meaning in kind.__doc__
    assert set(kind._shown) <= {each.name for each in declared}


def test_shares_are_shares_and_counts_are_counts_in_every_table(segments):
    """One word, one unit: too_low and too_high in [0, 1] for bins and results alike."""
    wrong = segments.parts["fr",]
    result = truecal.evaluate(wrong, ["ltce"])
    too_low, too_high = result.direction()
    assert 0.1 < too_low <= 1
    bins = result.bins
    assert np.sum(bins.too_low * bins.n) / result.n == pytest.approx(too_low, abs=len(bins) / 2 / result.n)
    np.testing.assert_array_equal(bins.n_too_low, np.rint(bins.too_low * bins.n))
    np.testing.assert_allclose(bins.rejected, bins.too_low + bins.too_high)
    # windows are rejected by shares, their rows are whole numbers, and the two directions add up to the value
    assert 100 * (too_low + too_high) == pytest.approx(result["ltce"])


def test_an_alarm_means_one_thing(segments):
    groups = truecal.segments(segments)
    windows = truecal.drift(as_windows(segments))
    assert groups.alarm.tolist() == windows.alarm.tolist() == [False, True, False]
    for table in (groups, windows):
        level = table.p_adjusted[1]
        assert replace(table, significance=level).alarm[1]  # the level itself is an alarm
        assert not replace(table, significance=np.nextafter(level, 0)).alarm[1]
    assert groups.status == ["consistent", "miscalibrated", "inconclusive"]  # 60 rows show little
    assert repr(groups).splitlines()[0] == (
        "1 of 3 segments is miscalibrated (Holm-adjusted p), 1 consistent, 1 inconclusive."
    )


def test_significance_sets_the_alarms_of_segments(segments):
    found = truecal.segments(segments, significance=0.001)
    assert (found.significance, found.level) == (0.001, 0.001 / 3)
    assert not replace(found, p_adjusted=np.full(3, 0.002)).alarm.any()


def test_segments_stand_in_columns_of_their_own(segments, need):
    named = truecal.segments(segments, null_draws=9)
    found = replace(named, by=("n",))
    rows = list(csv.DictReader(io.StringIO(found.to_csv())))
    assert [(row["segment_n"], int(row["n"])) for row in rows] == [("de", 3000), ("fr", 3000), ("it", 60)]
    need("polars")
    assert named.to_frame("polars")["country"].to_list() == ["de", "fr", "it"]
    assert named.names == ["country=de", "country=fr", "country=it"]
    assert next(iter(replace(found, by=()).arrays())) == "segment"


def test_a_table_is_in_the_unit_of_its_metric(segments):
    class Cents:
        unit = Unit("cents", " ct", 100.0, 1)

        def __call__(self, bins):
            return 100 * Gap()(bins)

    found = truecal.segments(segments, Metric(truecal.Uniform(), Cents()), null_draws=9)
    assert found.cells(["value"])["value"] == [f"{value:.1f} ct" for value in found.value]
    assert found.heading("value") == "value"
    assert truecal.segments(segments, METRICS["ece"], null_draws=9).heading("value") == "ece"


def test_a_comparison_has_a_row_a_metric(rng):
    p = rng.beta(2, 2, 3000)
    y = rng.random(3000) < p
    found = truecal.compare(y, p, p**2, metrics=["tce", "tce_q"], resamples=50, random_state=0)
    assert found.metric == ("tce", "tce_q")
    row = found["tce"]
    assert isinstance(row, Difference)
    assert row == Difference(*(getattr(found[0], name) for name in Difference.__dataclass_fields__))
    assert row.difference == pytest.approx(truecal.tce(y, p) - truecal.tce(y, p**2))
    assert found.conclusion == ["first is better", "first is better"]
    assert "tce" in found
    assert "ece" not in found
    with pytest.raises(KeyError, match="ece"):
        found["ece"]
    text = repr(replace(found, models=("new", "old"))).splitlines()
    values = [f"{truecal.tce(y, q):.2f}%" for q in (p, p**2)]
    assert text[0] == "new is consistent, old is miscalibrated."
    assert text[1] == f"new is better calibrated: TCE {values[0]} against {values[1]}."
    assert text[2] == "new minus old on the same rows, with 95% CI."
    assert text[3].split() == ["metric", "new", "old", "difference", "95%", "CI", "conclusion"]
    assert text[4].endswith("new is better")
    same = truecal.compare(y, p, p, resamples=9)
    assert same.metric == ("ltce", "log_loss", "brier", "slope", "tce")
    assert same.conclusion == ["no difference shown"] * 5
    assert len(same.sentences()) == 3
    assert all(text.startswith("No difference in ") for text in same.sentences()[1:])


def test_a_decision_is_a_table_of_findings():
    observations = Observations(
        "y", "p", {(): Tally([0.2], [2000], [1000])}
    )  # half are positive where a fifth is predicted
    decision = truecal.check(observations, [Rule("value", 0.1, metric="ece"), Rule("value", 0.9, metric="ece")])
    assert isinstance(decision, Decision)
    assert decision.results.status == ("fail", "pass")
    assert [finding.rule.limit for finding in decision.results] == [0.1, 0.9]
    assert decision.results[1:] == [decision.results[1]]
    assert decision.results[::-1] == decision.worst()[::-1]
    rows = list(csv.DictReader(io.StringIO(decision.results.to_csv())))
    assert rows[0]["rule"] == "ece at most 0.1"
    assert rows[0]["segment"] == ""
    with pytest.raises(ValueError, match="`observed` must be a number or None; it is NaN"):
        replace(decision.results[0], observed=math.nan)


def test_long_tables_are_shortened():
    bins = truecal.evaluate([0, 1], [0.1, 0.2], {"x": Metric(truecal.Uniform(200), Gap())}).bins
    lines = repr(bins).splitlines()
    assert len(lines) == 1 + 1 + 21
    assert lines[12] == "  ..."
    assert lines[-1].split()[:2] == ["[0.995,", "1]"]


@pytest.mark.parametrize(
    ("share", "text"), [(0.25, "25%"), (0.99949, "99.9%"), (0.99999, "99.999%"), (1.0, "100%"), (1e-5, "0.001%")]
)
def test_shares_are_told_from_all(share, text):
    assert format_percent(share) == text
