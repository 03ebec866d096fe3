"""The release gate. Numbers are set by hand, so that each answer follows from the rule's definition alone."""

import html.parser
import json
import math
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
from gated import decide, gap, make, null_mean, one, status, subject, table
from hypothesis import given
from hypothesis import strategies as st

import truecal
from truecal import Decision, Metric, Rule, Tally, Uniform
from truecal.data import RowCounts
from truecal.gate import LIMITS, RULE_KINDS, Cause, CheckDetails, CheckResult, CheckTable
from truecal.gate._judge import apply_rules
from truecal.inference import Difference, Interval
from truecal.metrics import METRICS, Absolute, Gap, Relative, find_metric
from truecal.results import Comparison

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
KIND = st.sampled_from(sorted(RULE_KINDS))


# each kind of rule


METRIC = {"least": "slope"}  # a lower limit is for metrics that are bad when low


@pytest.mark.parametrize(
    ("value", "expected"), [(14.999, "pass"), (15.0, "pass"), (15.001, "fail"), (math.nan, "inconclusive")]
)
def test_a_value_may_reach_its_limit_and_no_more(value, expected):
    found = one(Rule("value", 15), make(value))
    assert found.status == expected
    assert found.observed == (None if math.isnan(value) else value)
    assert found.n == 1000


def test_rounding_does_not_fail_a_value_at_its_limit():
    assert status(Rule("value", 15), make(15.000000000000002)) == "pass"  # 0.1 + 0.2 of this world
    assert status(Rule("p_value", 0.3), make(null=null_mean(1, p_value=0.1 * 3 - 5e-17))) == "pass"


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ((8, 12), "pass"),
        ((8, 15), "pass"),
        ((14, 16), "inconclusive"),
        ((15, 16), "inconclusive"),
        ((15.5, 16), "fail"),
    ],
)
def test_values_of_gridded_data_are_judged_by_their_bounds(bounds, expected):
    assert status(Rule("value", 15), make(12.0, bounds=bounds)) == expected


@pytest.mark.parametrize(
    ("mean", "bounds", "expected"),
    [
        (6.0, None, "pass"),  # 10 - 6 = 4
        (5.0, None, "pass"),
        (4.9, None, "fail"),
        (6.0, (9.5, 11.5), "inconclusive"),  # 3.5 to 5.5
        (6.0, (9.5, 10.5), "pass"),  # 3.5 to 4.5
        (4.0, (9.5, 10.5), "fail"),  # 5.5 to 6.5
    ],
)
def test_excess_is_over_the_mean_by_chance_and_moves_with_the_bounds(mean, bounds, expected):
    found = one(Rule("excess", 5), make(10.0, null=null_mean(mean), bounds=bounds))
    assert found.status == expected
    assert found.observed == pytest.approx(10.0 - mean)


@pytest.mark.parametrize(
    ("high", "bounds", "low", "expected"),
    [
        (15.0, None, 5.0, "pass"),
        (15.1, None, 5.0, "inconclusive"),
        (15.1, None, 15.05, "fail"),  # the whole interval lies above the limit
        (14.5, (9.0, 11.0), 5.0, "inconclusive"),
        (13.0, (9.0, 11.0), 5.0, "pass"),
        (16.5, (9.0, 11.0), 15.5, "inconclusive"),  # begins at 14.5 if the value is 9
        (16.5, (9.0, 11.0), 16.1, "fail"),
    ],
)
def test_upper_looks_at_the_end_of_the_interval(high, bounds, low, expected):
    result = make(10.0, interval=Interval(5.0, high, 0.95, 999), bounds=bounds)
    found = one(Rule("upper", 15), result, low=low)
    assert (found.status, found.observed) == (expected, high)


@pytest.mark.parametrize(("p_value", "expected"), [(0.5, "pass"), (0.05, "pass"), (0.049, "fail"), (0.001, "fail")])
def test_a_p_value_must_not_fall_below_its_limit(p_value, expected):
    assert status(Rule("p_value", 0.05), make(null=null_mean(5, p_value=p_value))) == expected


@pytest.mark.parametrize(("draws", "expected"), [(19, "inconclusive"), (20, "pass"), (999, "pass")])
def test_a_p_value_that_could_not_have_failed_does_not_pass(draws, expected):
    # the smallest p-value is 1 / (draws + 1): 1/20 is not below 0.05, 1/21 is
    found = one(Rule("p_value", 0.05), make(null=null_mean(5, p_value=0.4, draws=draws)))
    assert found.status == expected
    if expected == "inconclusive":
        assert "at least 20 are needed" in found.reason


@pytest.mark.parametrize(
    ("low", "high", "worse", "non_inferior"),
    [
        (-2, -1, "pass", "pass"),
        (-1, 0.5, "pass", "pass"),
        (-1, 3, "pass", "inconclusive"),
        (0.5, 3, "pass", "inconclusive"),
        (0.6, 3, "fail", "fail"),
    ],
)
def test_worse_fails_on_proof_and_non_inferior_passes_on_proof(low, high, worse, non_inferior):
    assert status(Rule("worse", 0.5), make(), differences=gap(low, high)) == worse
    found = one(Rule("non_inferior", 0.5), make(), differences=gap(low, high))
    assert (found.status, found.observed) == (non_inferior, (low + high) / 2)


# evidence


@pytest.mark.parametrize(
    ("p_value", "word", "expected", "allowed"),
    [
        (0.5, "consistent", "pass", "pass"),
        (0.5, "inconclusive", "inconclusive", "pass"),
        (0.0101, "consistent", "pass", "pass"),
        (0.01, "consistent", "fail", "fail"),
        (0.0, "inconclusive", "fail", "fail"),
        (math.nan, "consistent", "inconclusive", "inconclusive"),
    ],
)
def test_the_verdict_decides_by_its_word(p_value, word, expected, allowed):
    for rule, wanted in ((Rule("verdict"), expected), (Rule("verdict", allow_inconclusive=True), allowed)):
        found = one(rule, make(), p_value=p_value, status=word)
        assert found.status == wanted
        assert found.observed == (None if math.isnan(p_value) else p_value)
    assert status(Rule("verdict", significance=0.05), make(), p_value=0.04) == "fail"


def test_what_is_off_at_the_usual_level_is_no_clean_pass():
    weak, clean = (one(Rule("verdict"), make(), p_value=p_value) for p_value in (0.016, 0.06))
    assert (weak.status, clean.status) == ("pass", "pass")
    assert (weak.cause, clean.cause) == (Cause.WEAK_SIGN, Cause.CONSISTENT)
    assert weak.reason == "weak evidence of miscalibration (p = 0.016, above 0.01)."
    assert clean.reason == "no miscalibration found (p = 0.06, above 0.01)."


@pytest.mark.parametrize("kind", ["value", "excess"])
@pytest.mark.parametrize(
    ("p_value", "low", "expected"),
    [(0.0, 15.1, "fail"), (0.0, 15.0, "inconclusive"), (0.02, 15.1, "inconclusive"), (0.02, 3.0, "inconclusive")],
)
def test_a_number_above_its_limit_fails_where_the_verdict_and_the_interval_show_it(kind, p_value, low, expected):
    """By chance 4: an excess of 16 has the limit 11 where a value of 20 has 15, and the same interval."""
    limit, by = (15, 0.0) if kind == "value" else (11, 4.0)
    result = make(20.0, null=null_mean(4.0, value=20.0))
    found = one(Rule(kind, limit), result, p_value=p_value, low=low)
    assert (found.status, found.observed) == (expected, 20.0 - by)
    assert status(Rule(kind, limit, allow_inconclusive=True), result, p_value=p_value, low=low) == expected


def test_predictions_that_are_all_0_or_1_are_not_called_too_few():
    data = truecal.read({"y": [0, 1] * 500, "p": [0.0, 1.0] * 500}, label="y", score="p")
    (found,) = truecal.check(data).results
    assert found.status == "inconclusive"
    assert (found.cause, found.certain, found.allowable) == (Cause.CERTAIN, True, True)
    assert found.reason.endswith(": every prediction is exactly 0 or 1, so no odds ratio can be detected.")


@pytest.mark.parametrize("kind", sorted(RULE_KINDS))
def test_nothing_passes_where_the_verdict_cannot_tell(kind):
    name = METRIC.get(kind, "ltce")
    result = make(1.0, null=null_mean(1.0, 1.0), interval=Interval(0.0, 2.0, 0.95, 999), name=name)
    limit = {"verdict": None, "p_value": 0.1, "dropped": 0.1, "least": 0.5}.get(kind, 50)
    for rule, expected in (
        (Rule(kind, limit, metric=name), "inconclusive"),
        (Rule(kind, limit, metric=name, allow_inconclusive=True), "pass"),
    ):
        found = one(rule, result, differences=gap(-1, 1), p_value=0.5, status="inconclusive")
        assert found.status == expected
        assert (found.cause, found.allowed) == (Cause.UNDERPOWERED, expected == "pass")
        assert found.allowable == (expected == "inconclusive")
        assert "only odds ratios of 2 or more would be detected in either direction with 80% power" in found.reason
        assert found.reason.endswith(". The rule allows this.") == found.allowed
    assert status(Rule(kind, limit, metric=name), result, differences=gap(-1, 1), p_value=0.5) == "pass"


def test_segments_share_the_level_by_holm():
    """0.004 x 2 = 0.008 is at most 0.01, 0.006 x 2 is not; the words and intervals are of the level 0.01 / 2."""
    keys = table().segment
    for p_value, expected in ((0.004, "fail"), (0.006, "inconclusive")):
        model = subject(None, table((20.0, 20.0)), p_value={keys[0]: p_value, keys[1]: 0.9}, low=16.0)
        for rule in (Rule("verdict", segment="*"), Rule("value", 15, segment="*")):
            found = apply_rules([(rule, {"m": model})]).results
            wanted = expected if rule.kind == "value" or expected == "fail" else "pass"
            assert found[0].status == wanted
            assert found[1].status != "fail"
        assert set(model.evidence.levels) == {0.005}
    # only the segments that are judged count
    few = table((20.0, 20.0), n=[1000, 10])
    model = subject(None, few, p_value={keys[0]: 0.009, keys[1]: 0.9})
    found = apply_rules([(Rule("verdict", segment="*", min_rows=100), {"m": model})]).results
    assert [finding.status for finding in found] == ["fail", "inconclusive"]


def test_a_segment_without_predictions_in_the_region_does_not_pass():
    accounts = {None: RowCounts(18, 18), ("DE", "web"): RowCounts(9, 0, out_of_scope=9), ("FR", "app"): RowCounts(9, 9)}
    model = replace(subject(None, table()), row_counts=accounts)
    found = apply_rules([(Rule("verdict", segment="*"), {"m": model})]).results
    assert [finding.status for finding in found] == ["inconclusive", "fail"]
    assert found[0].cause == Cause.OUT_OF_SCOPE
    assert found[0].reason == "no prediction of this segment is in scope."


# scores: limits on both sides, and numbers that are about more than calibration


@pytest.mark.parametrize(
    ("kind", "limit", "p_value", "span", "expected"),
    [
        ("value", 1.1, 0.5, (0.7, 0.9), "pass"),
        ("least", 0.7, 0.5, (0.7, 0.9), "pass"),
        ("least", 0.95, 0.0, (0.7, 0.9), "fail"),
        ("least", 0.95, 0.0, (0.7, 1.0), "inconclusive"),  # it may be within
        ("least", 0.95, 0.5, (0.7, 0.9), "inconclusive"),  # nothing shows that the predictions are wrong
        ("least", 0.95, 0.0, (0.7, math.nan), "inconclusive"),
        ("value", 0.75, 0.0, (0.76, 0.9), "fail"),
    ],
)
def test_a_slope_has_limits_on_both_sides(kind, limit, p_value, span, expected):
    result = truecal.evaluate([0, 1, 1, 0], [0.1, 0.7, 0.3, 0.3], metrics=["slope"])
    result = replace(result, values={"slope": 0.8}, n=1000)
    found = one(Rule(kind, limit, metric="slope"), result, p_value=p_value, low=span[0], high=span[1])
    assert (found.status, found.observed) == (expected, 0.8)
    if expected == "fail":
        end = "ends at 0.900" if kind == "least" else "starts at 0.760"
        assert f"CI {end}" in found.reason


def test_a_score_of_more_than_calibration_fails_by_its_interval_alone():
    """Right predictions that tell little have a high log loss: the verdict does not matter, the interval does."""
    result = truecal.evaluate([0, 1, 1, 0], [0.4, 0.6, 0.6, 0.4], metrics=["log_loss", "net_benefit@0.5"])
    rule = Rule("value", 0.2, metric="log_loss")
    assert status(rule, result, p_value=0.9, low=0.3) == "fail"
    assert status(rule, result, p_value=0.9, low=0.1) == "inconclusive"
    least = Rule("least", 0.9, metric="net_benefit@0.5")
    assert status(least, result, p_value=0.9, low=0.1, high=0.6) == "fail"
    assert status(least, result, p_value=0.9, low=0.1, high=0.95) == "inconclusive"


def test_differences_are_turned_where_higher_is_better():
    metric = truecal.metrics.NetBenefit(0.5)
    found = Difference(0.1, 0.3, -0.2, -0.3, -0.1, 0.95, 999)
    compared = {"m": Comparison.of({metric.name: found}, {metric.name: metric})}
    finding = one(Rule("worse", 0, metric=metric.name), make(), differences=compared)
    assert finding.status == "fail"
    assert "the baseline's net_benefit@0.5 minus the model's is 0.20000 (95% CI 0.10000 to 0.3" in finding.reason
    assert compared["m"].better == ["second"]


def test_a_metric_that_is_no_number_is_never_a_pass(need):
    """No information at predictions of 0 and 1: Local TCE by evidence has no value, and no p-value either."""
    frame = need("polars").DataFrame({"y": [0, 1] * 500, "p": [0.0, 1.0] * 500, "g": ["a", "b"] * 500})
    data = truecal.read(frame, label="y", score="p", by="g")
    rules = [
        Rule(kind, 0.5, metric="ltce_information", segment=segment, allow_inconclusive=True)
        for kind in ("value", "excess", "p_value")
        for segment in (None, "*")
    ]
    rules += [Rule("upper", 0.5, metric="ltce_information", allow_inconclusive=True)]
    found = truecal.check(data, rules).results
    assert len(found) == 10
    assert set(found.status) == {"inconclusive"}
    assert set(found.cause) == {Cause.NOT_FINITE}
    assert all("is not a finite number" in reason for reason in found.reason)


def test_an_infinite_loss_is_beyond_every_limit(need):
    """A positive at a prediction of 0 has no finite log loss, which no redrawn labels reach."""
    p = np.r_[0.0, np.full(999, 0.1)]
    frame = need("polars").DataFrame({"y": np.arange(1000) % 10 == 0, "p": p, "old": np.full(1000, 0.1)})
    rules = [
        Rule("value", 5, metric="log_loss"),
        Rule("p_value", 0.05, metric="log_loss"),
        Rule("excess", 5, metric="log_loss"),
    ]
    found = truecal.check(truecal.read(frame, label="y", score="p"), rules).results
    assert list(found.status) == ["fail"] * 3
    assert found.reason[0] == "log_loss is infinite, beyond the limit of 5."
    data = truecal.read(frame, label="y", score="p", baseline="old")
    worse = truecal.check(data, [Rule("worse", 0, metric="log_loss")])
    assert worse.results.reason[0] == "log_loss minus the baseline's is infinite, beyond the limit of 0."


# inconclusive


@pytest.mark.parametrize("kind", sorted(set(RULE_KINDS) - {"value", "least", "verdict", "dropped"}))
def test_what_was_not_computed_is_unknown(kind):
    found = one(Rule(kind, 0.5), make())
    assert found.status == "inconclusive"
    assert found.observed is None
    assert re.search(r"null_draws=1000|resamples=1000|`compare`", found.reason)


def test_a_metric_that_was_not_computed_is_unknown():
    found = one(Rule("value", 0.1, metric="mce"), make())
    assert found.status == "inconclusive"
    assert "ltce, ece" in found.reason


@pytest.mark.parametrize("kind", sorted(RULE_KINDS))
@pytest.mark.parametrize("value", [0.0, 100.0])
def test_too_few_rows_never_pass_or_fail(kind, value):
    name = METRIC.get(kind, "ltce")
    result = make(value, 499, null=null_mean(1, value), interval=Interval(value, value, 0.95, 999), name=name)
    rule = Rule(kind, None if kind == "verdict" else 0.5, metric=name, min_rows=500)
    assert status(rule, result, differences=gap(value, value)) == "inconclusive"
    assert status(replace(rule, allow_inconclusive=True), result, differences=gap(value, value)) == "inconclusive"
    enough = status(rule, replace(result, n=500), differences=gap(value, value))
    # below a least value the evidence, which reaches to 100, does not show it
    assert (enough == "inconclusive") == (kind == "least" and value == 0)


@pytest.mark.parametrize("kind", ["upper", "worse", "non_inferior"])
def test_intervals_of_too_few_draws_are_unknown(kind):
    # 2.5 % quantiles: the most extreme of 39 draws leaves 1/40 beyond
    for draws, expected in ((1, "inconclusive"), (38, "inconclusive"), (39, "pass")):
        result = make(interval=Interval(5.0, 10.0, 0.95, draws))
        found = one(Rule(kind, 50), result, differences=gap(-1, 1, draws))
        assert found.status == expected
        assert expected == "pass" or "at least 39" in found.reason


def test_a_pattern_that_matches_nothing_is_unknown():
    rules = [Rule("value", 15), Rule("value", 15, model="fruad-*")]
    verdict = decide(rules, {"fraud-a": make()})
    assert [finding.status for finding in verdict.results] == ["pass", "inconclusive"]
    assert verdict.exit_code == 3
    assert "'fraud-a'" in verdict.results[1].reason
    assert decide(rules, {}).exit_code == 3
    found = one(Rule("value", 15, segment="country=XX*"), make(), segments={"m": table(by=("country", "channel"))})
    assert (found.status, found.segment) == ("inconclusive", "country=XX*")
    assert "country=DE, channel=web" in found.reason


def test_a_model_known_by_its_segments_alone_does_not_escape():
    verdict = decide(
        [Rule("value", 15)], {"a": make()}, segments={"b": table()}, differences={"c": Comparison.of({}, {})}
    )
    assert {finding.model: finding.status for finding in verdict.results} == {
        "a": "pass",
        "b": "inconclusive",
        "c": "inconclusive",
    }


def test_a_limit_in_the_wrong_unit_for_a_metric_of_your_own_is_unknown():
    tally = Tally.from_arrays([0, 1, 1, 0], [0.1, 0.7, 0.9, 0.3])
    result = truecal.evaluate(tally, {"mine": Metric(Uniform(5), Gap()), "ltce": Metric(Uniform(5), Gap())})
    for name in ("mine", "ltce"):
        assert status(Rule("value", 15, metric=name), result) == "inconclusive"  # a probability is never above 15
        assert status(Rule("value", 0.15, metric=name), result) == "fail"  # |0 - 0.1|, ..., on average 0.2


# patterns and segments


def test_models_are_matched_by_shell_patterns_and_case():
    results = {"fraud-a": make(10), "fraud-b": make(20), "Fraud-c": make(30), "churn": make(40)}
    found = decide([Rule("value", 15, model="fraud-*")], results).results
    assert [(finding.model, finding.status) for finding in found] == [("fraud-a", "pass"), ("fraud-b", "fail")]


def test_a_name_matches_itself_whatever_is_in_it():
    assert decide([Rule("value", 15, model="m[1]*?")], {"m[1]*?": make()}).status == "pass"


def test_each_matching_segment_is_judged():
    found = decide([Rule("value", 15, segment="*")], {}, segments={"m": table()}).results
    assert [(f.segment, f.observed, f.status, f.n) for f in found] == [
        ("DE, web", 10, "pass", 1000),
        ("FR, app", 20, "fail", 1000),
    ]
    found = decide(
        [Rule("excess", 15, segment="country=FR*")], {}, segments={"m": table(by=("country", "channel"))}
    ).results
    assert [(f.segment, f.observed, f.status) for f in found] == [("country=FR, channel=app", 16, "fail")]


def test_rows_of_a_segment_count_for_its_rule():
    found = decide(
        [Rule("value", 25, segment="*", min_rows=500)], {"m": make(n=10**6)}, segments={"m": table(n=[499, 500])}
    ).results
    assert [finding.status for finding in found] == ["inconclusive", "pass"]


def test_segments_are_judged_by_adjusted_p_values():
    plain = table(p_value=(0.04, 0.9))
    holm = table(p_value=(0.04, 0.9), adjust="holm")  # 0.08, 0.9
    rule = Rule("p_value", 0.05, segment="*")
    assert [f.status for f in decide([rule], {}, segments={"m": plain}).results] == ["fail", "pass"]
    found = decide([rule], {}, segments={"m": holm}).results
    assert [(f.status, f.observed) for f in found] == [("pass", 0.08), ("pass", 0.9)]


@pytest.mark.parametrize("adjust", ["holm", "bh"])
@pytest.mark.parametrize(("draws", "expected"), [(199, "inconclusive"), (599, "inconclusive"), (600, "pass")])
def test_many_segments_need_many_draws(adjust, draws, expected):
    # adjusted for 30 segments the smallest p-value is 30 / (draws + 1): 30/600 is not below 0.05
    rng = np.random.default_rng(0)
    many = table(
        rng.random(30),
        rng.integers(100, 200, 30) / 200,
        adjust=adjust,
        segment=[(i,) for i in range(30)],
        draws=draws,
    )
    verdict = decide([Rule("p_value", 0.05, segment="*")], {}, segments={"m": many})
    assert {finding.status for finding in verdict.results} == {expected}
    assert expected == "pass" or "at least 600 are needed" in verdict.results[0].reason


def test_tied_p_values_are_taken_to_be_adjusted():
    same = table(p_value=(1.0, 1.0), adjust="holm", draws=99)
    assert decide([Rule("p_value", 0.015, segment="*")], {}, segments={"m": same}).status == "inconclusive"
    assert decide([Rule("p_value", 0.025, segment="*")], {}, segments={"m": same}).status == "pass"


# reasons


def test_reasons_carry_numbers_units_and_limits():
    proof = "; its 99% CI starts at {}%, and the verdict is miscalibrated (p < 0.0001)."
    told = one(Rule("value", 15), make(38.517)).reason
    assert told == "ltce is 38.52%, above the limit of 15%" + proof.format("38.52")
    assert (
        one(Rule("value", 0.1, metric="ece"), make(0.0123, name="ece"), p_value=0.5).reason
        == "ece is 0.01230, within the limit of 0.1."
    )
    told = one(Rule("value", 15), make(15.000004)).reason
    assert told == "ltce is 15.000004%, above the limit of 15%" + proof.format("15.000004")
    told = one(Rule("worse", 0), make(), differences=gap(1, 3)).reason
    assert told == "ltce minus the baseline's is 2.00% (95% CI 1.00% to 3.00%), entirely above the limit of 0%."
    told = one(Rule("value", 15), make(12.0, bounds=(11, 16))).reason
    assert told == "ltce is between 11.00% and 16.00%, as scores are grouped into cells, and so is the limit of 15%."


@given(st.floats(0, 100), st.floats(0, 100, exclude_max=True))
def test_a_written_value_lies_on_its_own_side_of_the_limit(value, limit):
    found = one(Rule("value", limit), make(value))
    written = float(re.search(r"is ([\d.]+)%", found.reason)[1])
    if found.status == "fail":
        assert written > limit or value - limit < 1e-11
    else:
        assert written <= limit + 1e-2


# verdicts

FINDINGS = st.lists(
    st.builds(
        CheckResult,
        rule=st.sampled_from([Rule("value", 15), Rule("p_value", 0.05, metric="mi|ne", segment="*")]),
        model=st.sampled_from(NASTY) | st.text(),
        segment=st.none() | st.sampled_from(NASTY) | st.text(),
        n=st.none() | st.integers(0, 10**9),
        observed=st.none() | st.floats(0, 100),
        status=st.sampled_from(["pass", "fail", "inconclusive"]),
        cause=st.sampled_from(Cause),
        details=st.builds(
            CheckDetails,
            p_value=st.none() | st.floats(0, 1),
            names=st.lists(st.sampled_from(NASTY) | st.text()).map(tuple),
            nearest=st.none() | st.sampled_from(NASTY),
        ),
    ),
    min_size=1,
    max_size=8,
).map(lambda findings: Decision(CheckTable.of(findings)))


@pytest.mark.parametrize(
    ("statuses", "expected", "code"),
    [("pp", "pass", 0), ("pu", "inconclusive", 3), ("pf", "fail", 1), ("ufp", "fail", 1), ("u", "inconclusive", 3)],
)
def test_exit_codes(statuses, expected, code):
    words = {"p": "pass", "f": "fail", "u": "inconclusive"}
    found = [CheckResult(Rule("value", 15), "m", None, 1, 1.0, words[s], Cause.WITHIN_LIMIT) for s in statuses]
    verdict = Decision(CheckTable.of(found))
    assert (verdict.status, verdict.exit_code) == (expected, code)


def test_the_repr_is_a_short_table_worst_first():
    results = {"a": make(10), "b": make(20), "long" * 20: make(12, 10)}
    verdict = decide([Rule("value", 15, min_rows=100)], results)
    assert repr(verdict).splitlines() == [
        "FAIL (3 checks: 1 failed, 1 inconclusive, 1 passed)",
        f"  fail          {'b':40}  1,000  ltce is 20.00%, above the limit of 15%; its 99% CI starts at 20.00%, "
        "and the verdict is miscalibrated (p < 0.0001).",
        f"  inconclusive  {'longlonglonglonglonglonglonglonglongl...'}     10  10 rows, fewer than the 100 required.",
        f"  pass          {'a':40}  1,000  ltce is 10.00%, within the limit of 15%, although the verdict is "
        "miscalibrated (p < 0.0001).",
    ]


def test_long_verdicts_are_cut_and_say_so():
    many = table(np.full(500, 10.0), np.full(500, 0.5), segment=[(i,) for i in range(500)])
    verdict = decide([Rule("value", 15, segment="*")], {}, segments={"m": many})
    assert repr(verdict).splitlines()[-1] == "  ... and 480 more: 480 passed"
    assert "... and 400 more: 400 passed." in verdict.to_markdown()
    assert "... and 400 more: 400 passed." in verdict._repr_html_()
    assert verdict.to_markdown(1000).count("\n|") == 2 + 500
    assert verdict.to_junit().count("<testcase ") == 500


def test_junit_of_many_checks_holds_what_did_not_pass_and_counts_the_rest():
    """Of more than 10,000 checks, which would make files of hundreds of megabytes."""
    rows = [("pass", Cause.CONSISTENT)] * 11_998 + [("inconclusive", Cause.NO_VERDICT), ("fail", Cause.MISCALIBRATED)]
    results = [CheckResult(Rule("verdict"), "m", f"g={i}", 9, None, *row) for i, row in enumerate(rows)]
    root = ET.fromstring(Decision(CheckTable.of(results)).to_junit())
    assert [case.get("name") for case in root.iter("testcase")] == [
        "no miscalibration [g=11999]",
        "no miscalibration [g=11998]",
    ]
    assert {name: root.get(name) for name in ("tests", "failures", "errors")} == {
        "tests": "12000",
        "failures": "1",
        "errors": "1",
    }
    (told,) = root.iter("property")
    assert (told.get("name"), told.get("value")) == ("not listed", "11,998 of 12,000 checks")
    failed = [replace(result, status="fail", cause=Cause.MISCALIBRATED) for result in results]
    root = ET.fromstring(Decision(CheckTable.of(failed)).to_junit())
    assert (len(list(root.iter("testcase"))), root.get("failures")) == (10_000, "12000")


@given(FINDINGS)
def test_junit_parses_and_counts(verdict):
    text = verdict.to_junit()
    root = ET.fromstring(text.encode("utf-8"))
    cases = root.findall("./testsuite/testcase")
    assert root.tag == "testsuites"
    assert len(cases) == len(verdict.results) == int(root.get("tests"))
    assert len(root.findall("./testsuite/testcase/failure")) == verdict.count("fail") == int(root.get("failures"))
    assert len(root.findall("./testsuite/testcase/error")) == verdict.count("inconclusive") == int(root.get("errors"))
    for suite in root.findall("testsuite"):
        inside = suite.findall("testcase")
        assert int(suite.get("tests")) == len(inside)
        assert int(suite.get("failures")) == sum(case.find("failure") is not None for case in inside)
        assert int(suite.get("errors")) == sum(case.find("error") is not None for case in inside)
    assert {case.get("classname") for case in cases if case.get("classname").isalnum()} >= {
        finding.model for finding in verdict.results if finding.model.isalnum()
    }


def test_junit_keeps_names_that_look_like_xml():
    found = decide([Rule("value", 15)], {"</testcase>": make(20), "\x00": make(20)}).to_junit()
    names = [case.get("classname") for case in ET.fromstring(found).iter("testcase")]
    assert names == ["</testcase>", "\\x00"]
    failure = next(ET.fromstring(found).iter("failure"))
    assert failure.get("message") == failure.text
    assert failure.text.startswith("ltce is 20.00%, above the limit of 15%;")


@given(FINDINGS)
def test_markdown_is_one_line_of_six_cells_a_finding(verdict):
    lines = verdict.to_markdown().encode("utf-8").decode().splitlines()
    assert lines[0] == f"## Calibration gate: {verdict.status.upper()}"
    assert lines[2].startswith(f"{len(verdict.results)} check")
    rows = lines[4:]
    assert len(rows) == 2 + len(verdict.results)
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
    assert sum(tag == "td" for tag, _ in tags) == 6 * len(verdict.results)


@given(FINDINGS)
def test_text_is_one_printable_line_a_finding(verdict):
    lines = repr(verdict).split("\n")
    assert len(lines) == 1 + len(verdict.results)
    assert all(line.isprintable() for line in lines)


@given(FINDINGS)
def test_json_holds_everything(verdict):
    raw = json.loads(verdict.to_json())
    assert (raw["status"], raw["exit_code"]) == (verdict.status, verdict.exit_code)
    assert raw["results"]["columns"]["reason"] == list(verdict.results.reason)
    assert Decision.from_json(verdict.to_json()) == verdict


def test_nothing_is_no_pass():
    with pytest.raises(ValueError, match="at least one"):
        Decision(CheckTable.of([]))


# rules


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (dict(kind="values", limit=15), "`kind` must be one of verdict, value, least, excess"),
        (dict(kind="value", limit=101), "must lie in [0, 100); it is 101"),
        (dict(kind="value", limit=-1), "must lie in [0, 100); it is -1"),
        (dict(kind="value", limit=math.nan), "it is nan"),
        (dict(kind="value", limit=10**400), "must lie in [0, 100)"),
        (dict(kind="value", limit=5, metric="ece"), "gap metrics are probabilities"),
        (dict(kind="p_value", limit=0), "between 0 and 1"),
        (dict(kind="p_value", limit=5), "between 0 and 1"),
        (dict(kind="worse", limit=0, metric="ece"), "must be test-based or without bins"),
        (dict(kind="least", limit=math.inf, metric="slope"), "must lie in (-700, 700]; it is inf"),
        (dict(kind="value", limit=10**400, metric="log_loss"), "must lie in [0, 700)"),
        (dict(kind="worse", limit=0, segment="*"), "`segment` must be left out"),
        (dict(kind="upper", limit=0, segment="*"), "`segment` must be left out"),
        (dict(kind="value", limit=5, model=""), "`model` must be text"),
        (dict(kind="value", limit=5, metric=None), "`metric` must be text"),
        (dict(kind="value", limit=5, min_rows=1.5), "`min_rows` must be a whole number"),
        (dict(kind="value", limit=5, min_rows=-1), "`min_rows` must be a whole number"),
        (dict(kind="value", limit=5, min_rows=True), "`min_rows` must be a whole number"),
        (dict(kind="verdict", limit=5), "`limit` must be left out of a rule of kind 'verdict'; it is 5"),
        (dict(kind="verdict", significance=0), "`significance` must lie between 0 and 1"),
        (dict(kind="verdict", threshold=0.1, top=10), "One of `threshold` and `top` may be given"),
        (dict(kind="verdict", threshold=1.5), "`threshold` must lie in [0, 1]; it is 1.5"),
        (dict(kind="verdict", top=0), "`top` must be a count, 1 or more, or a share above 0 and at most 1.0; it is 0"),
        (
            dict(kind="verdict", top=math.nan),
            "`top` must be a count, 1 or more, or a share above 0 and at most 1.0; it is nan",
        ),
        (dict(kind="verdict", tolerance=1.0), "tolerance must lie in [0, 1)"),
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
    assert [Rule(kind, None if kind == "verdict" else 0.5, metric="slope").needs for kind in RULE_KINDS] == [
        "verdict",
        "value",
        "value",
        "null",
        "interval",
        "null",
        "difference",
        "difference",
        "row_counts",
    ]
    assert str(Rule("p_value", 0.05)) == "p-value of ltce at least 0.05"
    assert str(Rule("excess", 0.01, metric="ece")) == "ece at most 0.01 above its null mean"
    assert str(Rule("least", 0.9, metric="slope")) == "slope at least 0.9"
    words = {name: str(Rule("worse", 0.01, metric=name)) for name in ("brier", "slope", "net_benefit@0.1")}
    assert words["brier"] == "brier not shown to be worse than the baseline by more than 0.01"
    assert words["slope"] == "slope not shown to be worse than the baseline by more than 0.01"
    assert words["net_benefit@0.1"] == "net_benefit@0.1 not shown to be worse than the baseline by more than 0.01"
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
    every = '[[rule]]\nmetric = "slope"\n' + "\n".join(f"{key} = 0.5" for key in LIMITS)
    assert [rule.kind for rule in truecal.gate.read_rules(str(write(tmp_path, every)))] == list(LIMITS.values())
    assert {"verdict", *LIMITS.values()} == set(RULE_KINDS)
    what = 'threshold = 0.1\ntolerance = "10%"\nsignificance = 0.05\nallow_inconclusive = true'
    options = dict(threshold=0.1, tolerance=Relative(0.1), significance=0.05, allow_inconclusive=True)
    assert truecal.gate.read_rules(write(tmp_path, f"[[rule]]\nverdict = true\nmax_value = 15\n{what}")) == (
        Rule("verdict", **options),
        Rule("value", 15, **options),
    )
    whole = write(
        tmp_path, "[[rule]]\nverdict = true\ntop = 100\n[[rule]]\nverdict = true\ntop = 0.1\ntolerance = 0.01"
    )
    assert truecal.gate.read_rules(whole) == (
        Rule("verdict", top=100),
        Rule("verdict", top=0.1, tolerance=Absolute(0.01)),
    )
    assert truecal.gate.read_rules(write(tmp_path, b"\xef\xbb\xbf[[rule]]\r\nmax_value = 1\r\n")) == (Rule("value", 1),)


def test_metrics_of_your_own_can_be_named(tmp_path):
    path = write(tmp_path, '[[rule]]\nmetric = "mine"\nmax_value = 0.5')
    assert truecal.gate.read_rules(path, metrics=["mine"]) == (Rule("value", 0.5, metric="mine"),)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ["at least one; it holds none", "[[rule]]\nverdict = true"]),
        ("rule = []", ["at least one; it holds none"]),
        ("[[rule]\nmax_value = 1", ["must be TOML", "line 1"]),
        (b"\xff\xfe", ["must be TOML, in UTF-8", "byte 0"]),
        ("x = " + "[" * 20_000, ["must be TOML"]),
        ("x = " + "1" * 5000, ["must be TOML"]),
        ("[rule]\nmax_value = 1", ["`rule` must be a list of tables", "double brackets"]),
        ("rule = 3", ["`rule` must be a list of tables; it is 3"]),
        ("rule = [1]", ["`rule` must be a list of tables; it is [1]"]),
        ("[[rules]]\nmax_value = 1", ["it holds `rules`", "[[rule]]"]),
        ("[[rule]]", ["rule 1", "must have `verdict = true` or a limit", "max_value"]),
        ("[[rule]]\nverdict = false", ["rule 1", "`verdict` must be true, or left out; it is False"]),
        ("[[rule]]\nverdict = true\nlimit = 3", ["rule 1", "it has `limit`"]),
        ("[[rule]]\nverdict = true\nallow_inconclusive = 1", ["`allow_inconclusive` must be true or false; it is 1"]),
        ("[[rule]]\nverdict = true\nthreshold = '0.1'", ["`threshold` must lie in [0, 1]; it is '0.1'"]),
        ("[[rule]]\nverdict = true\ntolerance = 'much'", ["`tolerance` must be a number", "it is 'much'"]),
        ("[[rule]]\nverdict = true\ntolerance = 2", ["`tolerance` must be a number", "it is 2"]),
        ("[[rule]]\nverdict = true\nsignificance = 2", ["`significance`", "2"]),
        ("[[rule]]\nmax_value = 1\n[[rule]]\nmax_valeu = 1", ["rule 2", "`max_valeu`", "did you mean 'max_value'?"]),
        ("[[rule]]\nmax_value = 1\nmetric = 'tec'", ["rule 1", "`metric`", "'tec'", "did you mean 'tce'?"]),
        ("[[rule]]\nmax_value = 1\nmetric = ['ltce']", ["rule 1", "`metric`", "['ltce']"]),
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
    with pytest.raises(FileNotFoundError, match="File of rules not found: .*none.toml'"):
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
    verdict = decide([Rule("value", 15, segment="*"), Rule("excess", 11, segment="*")], {}, segments={"m": found})
    assert [finding.status for finding in verdict.results] == ["inconclusive", "fail", "inconclusive", "fail"]


def test_a_ratio_beyond_the_tolerance_is_told_where_it_is_not_proven():
    """24 of 200 where 18 are expected: a third more, beyond 20 %, but no proof of it."""
    y, p = np.arange(200) < 24, np.full(200, 0.09)
    (found,) = truecal.check(
        truecal.read({"y": y, "p": p}, label="y", score="p"), [Rule("verdict", tolerance=Relative(0.2))]
    ).results
    assert found.details.otherwise == Cause.TOLERANCE_UNPROVEN
    assert found.reason.startswith("O/E 1.33 (99% CI ")


# limits that nothing breaks


@pytest.mark.parametrize("metric", [*METRICS, "net_benefit@0.1"])
def test_a_limit_that_no_value_breaks_is_refused(metric):
    """Each metric has a range and a side of good values; a limit at the far end, or on the good side, is none."""
    known = find_metric(metric)
    top, bottom = min(known.unit.top, 700.0), max(known.unit.bottom, -700.0)
    kept = {"value": top, "upper": top, "excess": top - (known.best if known.bad == "high" else 0) - bottom}
    kept |= {"worse": top - bottom, "non_inferior": top - bottom}
    for kind, limit in kept.items():
        for beyond in (limit, 2 * limit + 1, math.inf, math.nan):
            with pytest.raises(ValueError, match="must lie in|must be on the side|must be test-based"):
                Rule(kind, beyond, metric=metric)
    for limit in (bottom, bottom - 1, -math.inf, math.nan):
        with pytest.raises(ValueError, match="must lie in|must be on the side"):
            Rule("least", limit, metric=metric)
    wrong = {"high": ("least",), "low": ("value", "excess", "upper"), "both": ()}[known.bad]
    for kind in wrong:
        with pytest.raises(ValueError, match="must be on the side of bad values(.|\n)*Hint: limit it by"):
            Rule(kind, 0.5, metric=metric)


@pytest.mark.parametrize("limit", [1, 1.0, 2, math.nan, math.inf, -0.1])
def test_a_share_of_dropped_rows_can_be_exceeded(limit):
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\)"):
        Rule("dropped", limit)
