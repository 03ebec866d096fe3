"""The release gate. Numbers are set by hand, so that each answer follows from the rule's definition alone."""

import html.parser
import json
import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from observed import judge_segments

import truecal
from truecal import Decision, Metric, Rule, Tally, Uniform
from truecal.gate import LIMITS, Finding, FindingTable
from truecal.gate._judge import judge
from truecal.gate._rules import KINDS
from truecal.inference import Difference, Interval, Reference
from truecal.metrics import TCE, Gap, Rejection, ScoreTest, adjust_p_values
from truecal.results import Comparison, GroupTable

NASTY = [
    "</testcase>",
    "a|b",
    "`x`",
    "\x00",
    "<script>alert(1)</script>",
    "two\nlines",
    "\ud800",
    "&amp;",
    "]]>",
    "\x1b[31m",
    '"',
    "\ufffe",
    "**b**",
    "[x](http://y)",
    "\\|",
]
KIND = st.sampled_from(sorted(KINDS))
BASE = truecal.evaluate([0, 1, 1, 0], [0.1, 0.7, 0.9, 0.3], metrics=["tce", "ece"])


def make(value=10.0, n=1000, *, reference=None, interval=None, bounds=None, name="tce"):
    """A result whose numbers are these."""
    return replace(
        BASE,
        n=n,
        values={**BASE.values, name: value},
        references={} if reference is None else {name: reference},
        intervals={} if interval is None else {name: interval},
        bounds={} if bounds is None else {name: bounds},
    )


def by_chance(mean, value=10.0, p_value=0.5, replicates=999):
    return Reference(mean, 0.0, mean, 2 * mean, p_value, value - mean, replicates)


def gap(low, high, replicates=999):
    found = {"tce": Difference(0.0, 0.0, (low + high) / 2, low, high, 0.95, replicates)}
    return {"m": Comparison.of(found, {"tce": TCE})}


def table(value=(10.0, 20.0), p_value=(0.5, 0.5), n=1000, adjust=None, segment=(("DE", "web"), ("FR", "app")), **more):
    value, p_value = np.array(value, float), np.array(p_value, float)
    zero = np.zeros(len(value))
    counts = np.full(len(value), n) if isinstance(n, int) else np.array(n)
    return GroupTable(
        segment=tuple(segment),
        n=counts,
        positives=np.zeros(len(value), np.int64),
        prevalence=zero,
        mean=zero,
        value=value,
        by_chance=zero + 4.0,
        excess=value - 4.0,
        p_value=p_value,
        p_adjusted=adjust_p_values(p_value, adjust),
        too_low=zero,
        too_high=zero,
        adjust=adjust,
        **{"seen_below": zero, "seen_above": zero, "lowest": value, "highest": value, **more},
    )


def one(rule, result, **more):
    (finding,) = judge([rule], {"m": result}, **more).findings
    return finding


def status(rule, result, **more):
    return one(rule, result, **more).status


# each kind of rule


@pytest.mark.parametrize(
    ("value", "expected"), [(14.999, "pass"), (15.0, "pass"), (15.001, "fail"), (math.nan, "unknown")]
)
def test_a_value_may_reach_its_limit_and_no_more(value, expected):
    found = one(Rule("value", 15), make(value))
    assert found.status == expected
    assert found.observed == (None if math.isnan(value) else value)
    assert found.n == 1000


def test_rounding_does_not_fail_a_value_at_its_limit():
    assert status(Rule("value", 15), make(15.000000000000002)) == "pass"  # 0.1 + 0.2 of this world
    assert status(Rule("p_value", 0.3), make(reference=by_chance(1, p_value=0.1 * 3 - 5e-17))) == "pass"


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [((8, 12), "pass"), ((8, 15), "pass"), ((14, 16), "unknown"), ((15, 16), "unknown"), ((15.5, 16), "fail")],
)
def test_values_of_gridded_data_are_judged_by_their_bounds(bounds, expected):
    assert status(Rule("value", 15), make(12.0, bounds=bounds)) == expected


@pytest.mark.parametrize(
    ("mean", "bounds", "expected"),
    [
        (6.0, None, "pass"),  # 10 - 6 = 4
        (5.0, None, "pass"),
        (4.9, None, "fail"),
        (6.0, (9.5, 11.5), "unknown"),  # 3.5 to 5.5
        (6.0, (9.5, 10.5), "pass"),  # 3.5 to 4.5
        (4.0, (9.5, 10.5), "fail"),  # 5.5 to 6.5
    ],
)
def test_excess_is_over_the_mean_by_chance_and_moves_with_the_bounds(mean, bounds, expected):
    found = one(Rule("excess", 5), make(10.0, reference=by_chance(mean), bounds=bounds))
    assert found.status == expected
    assert found.observed == pytest.approx(10.0 - mean)


@pytest.mark.parametrize(
    ("high", "bounds", "expected"),
    [
        (15.0, None, "pass"),
        (15.1, None, "fail"),
        (14.5, (9.0, 11.0), "unknown"),
        (13.0, (9.0, 11.0), "pass"),
        (16.5, (9.0, 11.0), "fail"),
    ],
)
def test_upper_looks_at_the_end_of_the_interval(high, bounds, expected):
    found = one(Rule("upper", 15), make(10.0, interval=Interval(5.0, high, 0.95, 999), bounds=bounds))
    assert (found.status, found.observed) == (expected, high)


@pytest.mark.parametrize(("p_value", "expected"), [(0.5, "pass"), (0.05, "pass"), (0.049, "fail"), (0.001, "fail")])
def test_a_p_value_must_not_fall_below_its_limit(p_value, expected):
    assert status(Rule("p_value", 0.05), make(reference=by_chance(5, p_value=p_value))) == expected


@pytest.mark.parametrize(("replicates", "expected"), [(19, "unknown"), (20, "pass"), (999, "pass")])
def test_a_p_value_that_could_not_have_failed_does_not_pass(replicates, expected):
    # the smallest p-value is 1 / (replicates + 1): 1/20 is not below 0.05, 1/21 is
    found = one(Rule("p_value", 0.05), make(reference=by_chance(5, p_value=0.4, replicates=replicates)))
    assert found.status == expected
    if expected == "unknown":
        assert "at least 20 are needed" in found.reason


@pytest.mark.parametrize(
    ("low", "high", "worse", "non_inferior"),
    [
        (-2, -1, "pass", "pass"),
        (-1, 0.5, "pass", "pass"),
        (-1, 3, "pass", "unknown"),
        (0.5, 3, "pass", "unknown"),
        (0.6, 3, "fail", "fail"),
    ],
)
def test_worse_fails_on_proof_and_non_inferior_passes_on_proof(low, high, worse, non_inferior):
    assert status(Rule("worse", 0.5), make(), differences=gap(low, high)) == worse
    found = one(Rule("non_inferior", 0.5), make(), differences=gap(low, high))
    assert (found.status, found.observed) == (non_inferior, (low + high) / 2)


# a real run, end to end


def test_a_real_run_passes_the_good_model_and_fails_the_bad_one(rng):
    p = rng.beta(1, 9, 6000)
    y = rng.random(6000) < p
    options = dict(metrics=["tce", "ece"], reference=199, intervals=199, random_state=0)
    scores = {"good": p, "bad": p / 2}
    results = {name: truecal.evaluate(y, score, **options) for name, score in scores.items()}
    baselines = {"good": p / 2, "bad": p}
    differences = {
        name: truecal.compare(y, score, baselines[name], replicates=99, random_state=0)
        for name, score in scores.items()
    }
    halves = np.arange(6000) % 2
    segments = {
        name: judge_segments(
            {(half,): Tally.from_arrays(y[halves == half], score[halves == half]) for half in (0, 1)},
            random_state=0,
            by=["half"],
        )
        for name, score in scores.items()
    }
    rules = [
        Rule("value", 30),
        Rule("excess", 15),
        Rule("upper", 45),
        Rule("p_value", 0.01),
        Rule("value", 0.03, metric="ece"),
        Rule("p_value", 0.02, segment="half=*"),
        Rule("worse", 0),
        Rule("non_inferior", 0),
    ]
    verdict = judge(rules, results, segments=segments, differences=differences)
    for finding in verdict.findings:
        assert finding.status == ("pass" if finding.model == "good" else "fail"), finding
    assert len(verdict.findings) == 2 * 9
    assert verdict.exit_code == 1


# what could not be told


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"value"}))
def test_what_was_not_computed_is_unknown(kind):
    found = one(Rule(kind, 0.5), make())
    assert found.status == "unknown"
    assert found.observed is None
    assert re.search(r"reference=1000|intervals=1000|`compare`", found.reason)


def test_a_metric_that_was_not_computed_is_unknown():
    found = one(Rule("value", 0.1, metric="mce"), make())
    assert found.status == "unknown"
    assert "tce, ece" in found.reason


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("value", [0.0, 100.0])
def test_too_few_rows_never_pass_or_fail(kind, value):
    result = make(value, 499, reference=by_chance(1, value), interval=Interval(value, value, 0.95, 999))
    rule = Rule(kind, 0.5, min_rows=500)
    assert status(rule, result, differences=gap(value, value)) == "unknown"
    assert status(rule, replace(result, n=500), differences=gap(value, value)) != "unknown"


@pytest.mark.parametrize("kind", ["upper", "worse", "non_inferior"])
def test_intervals_of_too_few_replicates_are_unknown(kind):
    # 2.5 % quantiles: the most extreme of 39 replicates leaves 1/40 beyond
    for replicates, expected in ((1, "unknown"), (38, "unknown"), (39, "pass")):
        result = make(interval=Interval(5.0, 10.0, 0.95, replicates))
        found = one(Rule(kind, 50), result, differences=gap(-1, 1, replicates))
        assert found.status == expected
        assert expected == "pass" or "at least 39" in found.reason


def test_a_pattern_that_matches_nothing_is_unknown():
    rules = [Rule("value", 15), Rule("value", 15, model="fruad-*")]
    verdict = judge(rules, {"fraud-a": make()})
    assert [finding.status for finding in verdict.findings] == ["pass", "unknown"]
    assert verdict.exit_code == 2
    assert "'fraud-a'" in verdict.findings[1].reason
    assert judge(rules, {}).exit_code == 2
    found = one(Rule("value", 15, segment="country=XX*"), make(), segments={"m": table(by=("country", "channel"))})
    assert (found.status, found.segment) == ("unknown", "country=XX*")
    assert "country=DE, channel=web" in found.reason


def test_a_model_known_by_its_segments_alone_does_not_escape():
    verdict = judge(
        [Rule("value", 15)], {"a": make()}, segments={"b": table()}, differences={"c": Comparison.of({}, {})}
    )
    assert {finding.model: finding.status for finding in verdict.findings} == {
        "a": "pass",
        "b": "unknown",
        "c": "unknown",
    }


def test_a_limit_in_the_wrong_unit_for_a_metric_of_your_own_is_unknown():
    tally = Tally.from_arrays([0, 1, 1, 0], [0.1, 0.7, 0.9, 0.3])
    result = truecal.evaluate(tally, {"mine": Metric(Uniform(5), Gap()), "tce": Metric(Uniform(5), Gap())})
    for name in ("mine", "tce"):
        assert status(Rule("value", 15, metric=name), result) == "unknown"  # a probability is never above 15
        assert status(Rule("value", 0.15, metric=name), result) == "fail"  # |0 - 0.1|, ..., on average 0.2


# patterns and segments


def test_models_are_matched_by_shell_patterns_and_case():
    results = {"fraud-a": make(10), "fraud-b": make(20), "Fraud-c": make(30), "churn": make(40)}
    found = judge([Rule("value", 15, model="fraud-*")], results).findings
    assert [(finding.model, finding.status) for finding in found] == [("fraud-a", "pass"), ("fraud-b", "fail")]


def test_a_name_matches_itself_whatever_is_in_it():
    assert judge([Rule("value", 15, model="m[1]*?")], {"m[1]*?": make()}).status == "pass"


def test_each_matching_segment_is_judged():
    found = judge([Rule("value", 15, segment="*")], {}, segments={"m": table()}).findings
    assert [(f.segment, f.observed, f.status, f.n) for f in found] == [
        ("DE, web", 10, "pass", 1000),
        ("FR, app", 20, "fail", 1000),
    ]
    found = judge(
        [Rule("excess", 15, segment="country=FR*")], {}, segments={"m": table(by=("country", "channel"))}
    ).findings
    assert [(f.segment, f.observed, f.status) for f in found] == [("country=FR, channel=app", 16, "fail")]


def test_rows_of_a_segment_count_for_its_rule():
    found = judge(
        [Rule("value", 25, segment="*", min_rows=500)], {"m": make(n=10**6)}, segments={"m": table(n=[499, 500])}
    ).findings
    assert [finding.status for finding in found] == ["unknown", "pass"]


def test_a_table_alone_is_for_rules_of_its_metric():
    ece, tce = Rule("value", 0.15, metric="ece", segment="*"), Rule("value", 30, segment="*")
    gaps = table((0.1, 0.1), metric=truecal.metrics.METRICS["ece"])
    score = replace(truecal.metrics.METRICS["tce"], loss=Rejection(ScoreTest(), 0.01))
    own = Metric(Uniform(3), Rejection())
    for results in ({}, {"m": make()}):
        assert judge([ece], results, segments={"m": table()}).status == "unknown"
        assert judge([tce], results, segments={"m": gaps}).status == "unknown"
        assert judge([ece], results, segments={"m": gaps}).status == "pass"
        assert judge([ece], results, segments={"m": {"ece": gaps}}).status == "pass"
        assert judge([tce], results, segments={"m": table(metric=score)}).status == "pass"  # tce by another test
        assert judge([tce], results, segments={"m": table(metric=own)}).status == "unknown"
        assert judge([tce], results, segments={"m": {"tce": table(metric=own)}}).status == "pass"
    mine = replace(make(), metrics={**BASE.metrics, "tce": own})
    assert judge([tce], {"m": mine}, segments={"m": table(metric=own)}).status == "pass"
    assert judge([tce], {"m": make()}).status == "unknown"  # no table at all


def test_segments_are_judged_by_adjusted_p_values():
    plain = table(p_value=(0.04, 0.9))
    holm = table(p_value=(0.04, 0.9), adjust="holm")  # 0.08, 0.9
    rule = Rule("p_value", 0.05, segment="*")
    assert [f.status for f in judge([rule], {}, segments={"m": plain}).findings] == ["fail", "pass"]
    found = judge([rule], {}, segments={"m": holm}).findings
    assert [(f.status, f.observed) for f in found] == [("pass", 0.08), ("pass", 0.9)]


@pytest.mark.parametrize("adjust", ["holm", "bh"])
@pytest.mark.parametrize(("replicates", "expected"), [(199, "unknown"), (599, "unknown"), (600, "pass")])
def test_many_segments_need_many_replicates(adjust, replicates, expected):
    # adjusted for 30 segments the smallest p-value is 30 / (replicates + 1): 30/600 is not below 0.05
    rng = np.random.default_rng(0)
    many = table(
        rng.random(30),
        rng.integers(100, 200, 30) / 200,
        adjust=adjust,
        segment=[(i,) for i in range(30)],
        replicates=replicates,
    )
    verdict = judge([Rule("p_value", 0.05, segment="*")], {}, segments={"m": many})
    assert {finding.status for finding in verdict.findings} == {expected}
    assert expected == "pass" or "at least 600 are needed" in verdict.findings[0].reason


def test_tied_p_values_are_taken_to_be_adjusted():
    same = table(p_value=(1.0, 1.0), adjust="holm", replicates=99)
    assert judge([Rule("p_value", 0.015, segment="*")], {}, segments={"m": same}).status == "unknown"
    assert judge([Rule("p_value", 0.025, segment="*")], {}, segments={"m": same}).status == "pass"


def test_segments_that_could_refute_nothing_do_not_pass():
    blind = dict(seen_below=np.array([np.nan, 0]), seen_above=np.array([np.nan, np.nan]))
    tiny = table((10, 10), **blind)
    for kind, limit in (("value", 15), ("excess", 15), ("p_value", 0.05)):
        found = judge([Rule(kind, limit, segment="*")], {}, segments={"m": tiny}).findings
        assert [finding.status for finding in found] == ["unknown", "pass"]
        assert "too small" in found[0].reason
    assert judge([Rule("value", 5, segment="DE*")], {}, segments={"m": tiny}).status == "fail"
    gaps = {"m": table((0.1, 0.1), metric=truecal.metrics.METRICS["ece"], **blind)}
    assert judge([Rule("value", 0.2, metric="ece", segment="*")], {}, segments=gaps).status == "pass"


# reasons


def test_reasons_carry_numbers_units_and_limits():
    assert one(Rule("value", 15), make(38.517)).reason == "tce is 38.52 %, above the limit of 15 %."
    assert (
        one(Rule("value", 0.1, metric="ece"), make(0.0123, name="ece")).reason
        == "ece is 0.01230, within the limit of 0.1."
    )
    assert one(Rule("value", 15), make(15.000004)).reason == "tce is 15.000004 %, above the limit of 15 %."
    told = one(Rule("worse", 0), make(), differences=gap(1, 3)).reason
    assert (
        told == "tce minus the baseline's is 2.00 %, its 95 % interval 1.00 % to 3.00 %, wholly above the limit of 0 %."
    )
    told = one(Rule("value", 15), make(12.0, bounds=(11, 16))).reason
    assert (
        told
        == "tce lies between 11.00 % and 16.00 %, as scores were grouped into cells, and so does the limit of 15 %."
    )


@given(st.floats(0, 100), st.floats(0, 100))
def test_a_written_value_lies_on_its_own_side_of_the_limit(value, limit):
    found = one(Rule("value", limit), make(value))
    written = float(re.search(r"is ([\d.]+) %", found.reason)[1])
    if found.status == "fail":
        assert written > limit or value - limit < 1e-11
    else:
        assert written <= limit + 1e-2


# verdicts

FINDINGS = st.lists(
    st.builds(
        Finding,
        rule=st.sampled_from([Rule("value", 15), Rule("p_value", 0.05, metric="mi|ne", segment="*")]),
        model=st.sampled_from(NASTY) | st.text(),
        segment=st.none() | st.sampled_from(NASTY) | st.text(),
        n=st.none() | st.integers(0, 10**9),
        observed=st.none() | st.floats(0, 100),
        status=st.sampled_from(["pass", "fail", "unknown"]),
        reason=st.sampled_from(NASTY) | st.text(),
    ),
    min_size=1,
    max_size=8,
).map(lambda findings: Decision(FindingTable.of(findings)))


@pytest.mark.parametrize(
    ("statuses", "expected", "code"),
    [("pp", "pass", 0), ("pu", "unknown", 2), ("pf", "fail", 1), ("ufp", "fail", 1), ("u", "unknown", 2)],
)
def test_exit_codes(statuses, expected, code):
    words = {"p": "pass", "f": "fail", "u": "unknown"}
    found = [Finding(Rule("value", 15), "m", None, 1, 1.0, words[s], "so") for s in statuses]
    verdict = Decision(FindingTable.of(found))
    assert (verdict.status, verdict.exit_code) == (expected, code)


def test_the_repr_is_a_short_table_worst_first():
    results = {"a": make(10), "b": make(20), "long" * 20: make(12, 10)}
    verdict = judge([Rule("value", 15, min_rows=100)], results)
    assert repr(verdict).splitlines() == [
        "FAIL (3 checks: 1 failed, 1 could not be told, 1 passed)",
        f"  fail     {'b':40}  1,000  tce is 20.00 %, above the limit of 15 %.",
        f"  unknown  {'longlonglonglonglonglonglonglonglongl...'}     10  10 rows, fewer than the 100 needed.",
        f"  pass     {'a':40}  1,000  tce is 10.00 %, within the limit of 15 %.",
    ]


def test_long_verdicts_are_cut_and_say_so():
    many = table(np.full(500, 10.0), np.full(500, 0.5), segment=[(i,) for i in range(500)])
    verdict = judge([Rule("value", 15, segment="*")], {}, segments={"m": many})
    assert repr(verdict).splitlines()[-1] == "  ... and 480 more: 480 passed"
    assert "... and 400 more: 400 passed." in verdict.to_markdown()
    assert "... and 400 more: 400 passed." in verdict._repr_html_()
    assert verdict.to_markdown(1000).count("\n|") == 2 + 500
    assert verdict.to_junit().count("<testcase ") == 500


@given(FINDINGS)
def test_junit_parses_and_counts(verdict):
    text = verdict.to_junit()
    root = ET.fromstring(text.encode("utf-8"))
    cases = root.findall("./testsuite/testcase")
    assert root.tag == "testsuites"
    assert len(cases) == len(verdict.findings) == int(root.get("tests"))
    assert len(root.findall("./testsuite/testcase/failure")) == verdict.count("fail") == int(root.get("failures"))
    assert len(root.findall("./testsuite/testcase/error")) == verdict.count("unknown") == int(root.get("errors"))
    for suite in root.findall("testsuite"):
        inside = suite.findall("testcase")
        assert int(suite.get("tests")) == len(inside)
        assert int(suite.get("failures")) == sum(case.find("failure") is not None for case in inside)
        assert int(suite.get("errors")) == sum(case.find("error") is not None for case in inside)
    assert {case.get("classname") for case in cases if case.get("classname").isalnum()} >= {
        finding.model for finding in verdict.findings if finding.model.isalnum()
    }


def test_junit_keeps_names_that_look_like_xml():
    found = judge([Rule("value", 15)], {"</testcase>": make(20), "\x00": make(20)}).to_junit()
    names = [case.get("classname") for case in ET.fromstring(found).iter("testcase")]
    assert names == ["</testcase>", "\\x00"]
    failure = next(ET.fromstring(found).iter("failure"))
    assert failure.get("message") == failure.text == "tce is 20.00 %, above the limit of 15 %."


@given(FINDINGS)
def test_markdown_is_one_line_of_six_cells_a_finding(verdict):
    lines = verdict.to_markdown().encode("utf-8").decode().splitlines()
    assert lines[0] == f"## Calibration gate: {verdict.status}"
    assert lines[2].startswith(f"{len(verdict.findings)} check")
    rows = lines[4:]
    assert len(rows) == 2 + len(verdict.findings)
    for row in rows:
        assert len(row.split("|")) == 8
        assert not set(row.replace("<code>", "").replace("</code>", "")) & set("<>`[]\\")


@given(FINDINGS)
def test_html_holds_no_tag_of_a_name(verdict):
    tags = []
    parser = html.parser.HTMLParser()
    parser.handle_starttag = lambda tag, attributes: tags.append((tag, attributes))
    parser.feed(verdict._repr_html_())
    assert {tag for tag, _ in tags} <= {"div", "p", "b", "table", "thead", "tbody", "tr", "th", "td"}
    assert sum(tag == "td" for tag, _ in tags) == 6 * len(verdict.findings)


@given(FINDINGS)
def test_text_is_one_printable_line_a_finding(verdict):
    lines = repr(verdict).split("\n")
    assert len(lines) == 1 + len(verdict.findings)
    assert all(line.isprintable() for line in lines)


@given(FINDINGS)
def test_json_holds_everything(verdict):
    raw = json.loads(verdict.to_json())
    assert (raw["status"], raw["exit_code"]) == (verdict.status, verdict.exit_code)
    assert raw["findings"]["columns"]["reason"] == list(verdict.findings.reason)
    assert Decision.from_json(verdict.to_json()) == verdict


def test_nothing_is_no_pass():
    with pytest.raises(ValueError, match="at least one rule"):
        judge([], {"m": make()})
    with pytest.raises(ValueError, match="at least one"):
        Decision(FindingTable.of([]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((Rule("value", 1), {}), "`rules` must be a list"),
        ((["value"], {}), "one is 'value'"),
        (([Rule("value", 1)], BASE), "`results` must be a mapping"),
        (([Rule("value", 1)], {"m": 3.0}), "holds a float for 'm'"),
        (([Rule("value", 1)], {3: BASE}), "one name is 3"),
    ],
)
def test_judge_refuses_what_it_cannot_judge(arguments, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        judge(*arguments)


# rules


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (dict(kind="values", limit=15), "`kind` must be one of value, excess"),
        (dict(kind="value", limit=101), "must lie in [0, 100]; it is 101"),
        (dict(kind="value", limit=-1), "must lie in [0, 100]; it is -1"),
        (dict(kind="value", limit=math.nan), "it is nan"),
        (dict(kind="value", limit=10**400), "must lie in [0, 100]"),
        (dict(kind="value", limit=5, metric="ece"), "gap metrics are probabilities"),
        (dict(kind="p_value", limit=0), "between 0 and 1"),
        (dict(kind="p_value", limit=5), "between 0 and 1"),
        (dict(kind="worse", limit=0, metric="ece"), "must be test-based"),
        (dict(kind="worse", limit=0, segment="*"), "`segment` must be left out"),
        (dict(kind="upper", limit=0, segment="*"), "`segment` must be left out"),
        (dict(kind="value", limit=5, model=""), "`model` must be text"),
        (dict(kind="value", limit=5, metric=None), "`metric` must be text"),
        (dict(kind="value", limit=5, min_rows=1.5), "`min_rows` must be a whole number"),
        (dict(kind="value", limit=5, min_rows=-1), "`min_rows` must be a whole number"),
        (dict(kind="value", limit=5, min_rows=True), "`min_rows` must be a whole number"),
    ],
)
def test_rules_refuse_what_makes_no_sense(given, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Rule(**given)


@pytest.mark.parametrize("limit", ["15", None, True, 1j])
def test_a_limit_is_a_number(limit):
    with pytest.raises(TypeError, match="`limit` must be a number"):
        Rule("value", limit)


def test_a_rule_says_what_it_needs_and_means():
    assert [Rule(kind, 0.5).needs for kind in KINDS] == [
        "value",
        "reference",
        "interval",
        "reference",
        "difference",
        "difference",
    ]
    assert str(Rule("p_value", 0.05)) == "p-value of tce at least 0.05"
    assert str(Rule("excess", 0.01, metric="ece")) == "ece at most 0.01 above chance"
    assert type(Rule("value", np.int64(15)).limit) is float


# the file


def write(folder, text):
    path = folder / "gate.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_file_gives_a_rule_for_each_limit(tmp_path):
    text = """
    [[rule]]
    max_value = 15
    max_excess = 5.5
    model = "fraud-*"
    segment = "country=*"
    min_rows = 500

    [[rule]]
    metric = "ece"
    max_value = 0.01
    """
    what = dict(model="fraud-*", segment="country=*", min_rows=500)
    assert truecal.gate.read_rules(write(tmp_path, text)) == (
        Rule("value", 15, **what),
        Rule("excess", 5.5, **what),
        Rule("value", 0.01, metric="ece"),
    )
    every = "[[rule]]\n" + "\n".join(f"{key} = 0.5" for key in LIMITS)
    assert [rule.kind for rule in truecal.gate.read_rules(str(write(tmp_path, every)))] == list(LIMITS.values())
    assert set(LIMITS.values()) == set(KINDS)
    assert truecal.gate.read_rules(write(tmp_path, b"\xef\xbb\xbf[[rule]]\r\nmax_value = 1\r\n")) == (Rule("value", 1),)


def test_metrics_of_your_own_can_be_named(tmp_path):
    path = write(tmp_path, '[[rule]]\nmetric = "mine"\nmax_value = 0.5')
    assert truecal.gate.read_rules(path, metrics=["mine"]) == (Rule("value", 0.5, metric="mine"),)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ["at least one; it holds none", "[[rule]]\nmax_value = 15"]),
        ("rule = []", ["at least one; it holds none"]),
        ("[[rule]\nmax_value = 1", ["must be TOML", "line 1"]),
        (b"\xff\xfe", ["must be TOML, in UTF-8", "byte 0"]),
        ("x = " + "[" * 20_000, ["must be TOML"]),
        ("x = " + "1" * 5000, ["must be TOML"]),
        ("[rule]\nmax_value = 1", ["`rule` must be a list of tables", "double brackets"]),
        ("rule = 3", ["`rule` must be a list of tables; it is 3"]),
        ("rule = [1]", ["`rule` must be a list of tables; it is [1]"]),
        ("[[rules]]\nmax_value = 1", ["it holds `rules`", "[[rule]]"]),
        ("[[rule]]", ["rule 1", "must have a limit", "max_value"]),
        ("[[rule]]\nmax_value = 1\n[[rule]]\nmax_valeu = 1", ["rule 2", "`max_valeu`", "did you mean 'max_value'?"]),
        ("[[rule]]\nmax_value = 1\nmetric = 'tec'", ["rule 1", "`metric`", "'tec'", "did you mean 'tce'?"]),
        ("[[rule]]\nmax_value = 1\nmetric = ['tce']", ["rule 1", "`metric`", "['tce']"]),
        ("[[rule]]\nmax_value = '15'", ["rule 1", "`max_value` must be a number; it is '15'"]),
        ("[[rule]]\nmax_value = true", ["`max_value` must be a number; it is True"]),
        ("[[rule]]\nmax_value = nan", ["`max_value`", "it is nan"]),
        ("[[rule]]\nmin_p_value = 5", ["`min_p_value`", "between 0 and 1", "it is 5"]),
        ("[[rule]]\nmetric = 'ece'\nmax_value = 5", ["`max_value`", "probabilities, not percentages"]),
        ("[[rule]]\nmax_value = 1\nmin_rows = '9'", ["rule 1", "`min_rows`", "'9'"]),
        ("[[rule]]\nmax_value = 1\nmodel = 3", ["rule 1", "`model`", "it is 3"]),
        ("[[rule]]\nmax_worse = 1\nsegment = '*'", ["rule 1", "`segment` must be left out", "'*'"]),
    ],
)
def test_every_mistake_in_a_file_is_named(tmp_path, text, parts):
    path = write(tmp_path, text)
    with pytest.raises(ValueError, match=re.escape(str(path))) as caught:
        truecal.gate.read_rules(path)
    for part in parts:
        assert part in str(caught.value)


def test_files_that_cannot_be_read_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="none.toml' must exist"):
        truecal.gate.read_rules(tmp_path / "none.toml")
    with pytest.raises(OSError, match="must be readable; it is not: Is a directory"):
        truecal.gate.read_rules(tmp_path)
    with pytest.raises(ValueError, match="is no path"):
        truecal.gate.read_rules("a\x00b")


@given(st.text())
def test_any_text_gives_rules_or_a_value_error(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_text(text, encoding="utf-8", errors="replace")
    with pytest.raises(ValueError, match="any.toml"):
        truecal.gate.read_rules(path)


@given(KIND, st.floats(allow_nan=True, allow_infinity=True) | st.integers())
def test_a_rule_is_refused_or_can_be_written(kind, limit):
    try:
        rule = Rule(kind, limit)
    except ValueError:
        return
    assert math.isfinite(rule.limit)
    assert f"{rule.limit:.10g}" in str(rule)


def test_bounds_of_gridded_segments_leave_the_answer_open():
    found = table(lowest=np.array([9.0, 16.0]), highest=np.array([16.0, 22.0]))
    verdict = judge([Rule("value", 15, segment="*"), Rule("excess", 11, segment="*")], {}, segments={"m": found})
    assert [finding.status for finding in verdict.findings] == ["unknown", "fail", "unknown", "fail"]


def test_a_rule_about_segments_says_where_their_table_comes_from():
    (found,) = judge([Rule("value", 15, segment="*")], {"m": make()}).findings
    assert (found.status, found.n) == ("unknown", None)
    assert found.reason == "there is no table of segments of 'm' for tce; `truecal.segments` gives one."
