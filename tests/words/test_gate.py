"""The words of the gate: a sentence for every cause, each from a check that has it."""

import math
from dataclasses import replace

import numpy as np
import pytest
from gated import decide, gap, make, null_mean, one, subject, table

import truecal
from truecal import Relative, Rule, words
from truecal.data import Reason, RowCounts
from truecal.gate import Cause, CheckStatus
from truecal.gate._judge import apply_rules
from truecal.inference import Interval
from truecal.metrics import Gap, Metric, Uniform

PASS, FAIL, INCONCLUSIVE = CheckStatus
LIMIT = Rule("value", 15)


def check(y, p, rule=LIMIT, **options):
    """A check of data."""
    (result,) = truecal.check(truecal.read({"y": y, "p": p}, label="y", score="p"), [rule], **options).results
    return result


def segment(rule, **counts):
    """A check of a segment with these row counts."""
    found = {None: RowCounts(9, 9), ("DE", "web"): RowCounts(9, **counts)}
    model = subject(None, table((10.0,), (0.5,), segment=[("DE", "web")]))
    (result,) = apply_rules([(rule, {"m": replace(model, row_counts=found)})]).results
    return result


def log_loss(y, p):
    return check(y, p, Rule("value", 5, metric="log_loss"))


class Spanless:
    """Evidence without intervals."""

    def __init__(self, told, low=None):
        self.told, self.low = told, low

    def __getattr__(self, name):
        return getattr(self.told, name)

    def interval(self, segment, metric, level):
        return None if self.low is None else Interval(self.low, 100.0, 1 - level, 10**6)


def without_interval(low=None):
    model = subject(make(20.0))
    (result,) = apply_rules([(LIMIT, {"m": replace(model, evidence=Spanless(model.evidence, low))})]).results
    return result


ALL, HALF = np.arange(200), np.full(200, 0.5)
# what gives each cause, its status, and its words
CAUSES = {
    Cause.CONSISTENT: (
        lambda: one(Rule("verdict"), make(), p_value=0.5),
        PASS,
        "no miscalibration found (p = 0.5, above 0.01).",
    ),
    Cause.WEAK_SIGN: (
        lambda: one(Rule("verdict"), make(), p_value=0.016),
        PASS,
        "weak evidence of miscalibration (p = 0.016, above 0.01).",
    ),
    Cause.TOLERANCE_UNPROVEN: (
        lambda: check(np.arange(2000) < 1130, np.full(2000, 0.5), Rule("verdict", tolerance=Relative(0.1))),
        PASS,
        "O/E 1.13 (99% CI {ci}) lies beyond the tolerance, but this is not significant ({p}, above 0.01).",
    ),
    Cause.MISCALIBRATED: (
        lambda: check(ALL < 100, np.full(200, 0.2), Rule("verdict")),
        FAIL,
        "miscalibrated (p < 0.0001, at most 0.01): observed 100, expected 40, O/E 2.50 (99% CI {ci}). Under-predicts.",
    ),
    Cause.UNDERPOWERED: (
        lambda: one(Rule("verdict"), make(), p_value=0.5, status="inconclusive"),
        INCONCLUSIVE,
        "inconclusive (p = 0.5, above 0.01): only odds ratios of 2 or more would be detected in either direction with "
        "80% power at significance 0.01; 1.5 is required.",
    ),
    Cause.TOLERANCE_OF_ALL: (
        lambda: check([1, 1] * 100, [0.3, 0.6] * 100, Rule("verdict", tolerance=0.8)),
        INCONCLUSIVE,
        "the tolerance reaches from every prediction to 0 and to 1, so no miscalibration beyond it could be found.",
    ),
    Cause.CERTAIN: (
        lambda: check([0, 1] * 100, [0.0, 1.0] * 100, Rule("verdict")),
        INCONCLUSIVE,
        "inconclusive ({p}, above 0.01): every prediction is exactly 0 or 1, so no odds ratio can be detected.",
    ),
    Cause.NO_VERDICT: (
        lambda: one(Rule("verdict"), make(), p_value=math.nan),
        INCONCLUSIVE,
        "there is no verdict.",
    ),
    Cause.WITHIN_LIMIT: (
        lambda: one(LIMIT, make(10.0), p_value=0.5),
        PASS,
        "ltce is 10.00%, within the limit of 15%.",
    ),
    Cause.ABOVE_LIMIT: (
        lambda: one(LIMIT, make(20.0), low=18.0),
        FAIL,
        "ltce is 20.00%, above the limit of 15%; its 99% CI starts at 18.00%, and the verdict is miscalibrated "
        "(p < 0.0001).",
    ),
    Cause.BELOW_LIMIT: (
        lambda: one(Rule("p_value", 0.05), make(null=null_mean(5, p_value=0.002))),
        FAIL,
        "the p-value of ltce is 0.002, below the limit of 0.05.",
    ),
    Cause.INFINITE: (
        lambda: log_loss(ALL % 2, np.where(ALL == 1, 0.0, 0.5)),
        FAIL,
        "log_loss is infinite, beyond the limit of 5.",
    ),
    Cause.NOT_FINITE: (lambda: one(LIMIT, make(math.nan)), INCONCLUSIVE, "ltce is not a finite number."),
    Cause.CELLS_STRADDLE: (
        lambda: one(LIMIT, make(12.0, bounds=(11, 16))),
        INCONCLUSIVE,
        "ltce is between 11.00% and 16.00%, as scores are grouped into cells, and so is the limit of 15%.",
    ),
    Cause.INTERVAL_STRADDLES: (
        lambda: one(LIMIT, make(20.0), low=14.0),
        INCONCLUSIVE,
        "ltce is 20.00%, above the limit of 15%, but its 99% CI starts at 14.00%, within the limit.",
    ),
    Cause.UNPROVEN: (
        lambda: one(LIMIT, make(20.0), p_value=0.2),
        INCONCLUSIVE,
        "ltce is 20.00%, above the limit of 15%, but the verdict is not miscalibrated (p = 0.2, above 0.01).",
    ),
    Cause.TOO_FEW_RESAMPLES: (
        lambda: one(Rule("worse", 0), make(), differences=gap(1, 3, 20)),
        INCONCLUSIVE,
        "the 95% CI of ltce was computed with 20 resamples; at least 39 are needed.",
    ),
    Cause.UNREACHABLE_LIMIT: (
        lambda: one(LIMIT, truecal.evaluate([0, 1, 1, 0], [0.1, 0.7, 0.9, 0.3], {"ltce": Metric(Uniform(5), Gap())})),
        INCONCLUSIVE,
        "ltce is a probability of at most 1, so the limit of 15 has no effect.",
    ),
    Cause.NO_MODEL: (
        lambda: decide([Rule("verdict", model="fruad-*")], {"fraud-a": make()}).results[0],
        INCONCLUSIVE,
        "no model matches 'fruad-*'; the models are 'fraud-a'.",
    ),
    Cause.NO_SEGMENT: (
        lambda: one(Rule("verdict", segment="country=XX"), make(), segments={"m": table(by=("country", "channel"))}),
        INCONCLUSIVE,
        "no segment matches 'country=XX'; the segments are 'country=DE, channel=web', 'country=FR, channel=app'. Did you "
        "mean 'country=*'?",
    ),
    Cause.NO_METRIC: (
        lambda: one(Rule("value", 0.1, metric="mce"), make()),
        INCONCLUSIVE,
        "mce was not computed; computed metrics: ltce, ece.",
    ),
    Cause.NO_NULL: (
        lambda: one(Rule("excess", 5), make()),
        INCONCLUSIVE,
        "ltce has no null distribution; evaluate with `null_draws=1000`.",
    ),
    Cause.NO_INTERVAL: (
        lambda: one(Rule("upper", 5), make()),
        INCONCLUSIVE,
        "ltce has no confidence interval; evaluate with `resamples=1000`.",
    ),
    Cause.NO_FINITE_INTERVAL: (
        lambda: without_interval(math.nan),
        INCONCLUSIVE,
        "ltce is 20.00%, above the limit of 15%, but its confidence interval has no finite end.",
    ),
    Cause.NO_BASELINE: (
        lambda: one(Rule("worse", 5), make()),
        INCONCLUSIVE,
        "ltce was not compared with a baseline; `compare` gives the difference.",
    ),
    Cause.MIN_ROWS: (
        lambda: one(Rule("verdict", min_rows=5000), make()),
        INCONCLUSIVE,
        "1,000 rows, fewer than the 5,000 required.",
    ),
    Cause.OUT_OF_SCOPE: (
        lambda: segment(Rule("verdict", segment="*"), evaluated=0, out_of_scope=9),
        INCONCLUSIVE,
        "no prediction of this segment is in scope.",
    ),
    Cause.ALL_DROPPED: (
        lambda: segment(Rule("verdict", segment="*"), evaluated=0, dropped={Reason("p", "nan"): 9}),
        INCONCLUSIVE,
        "all rows of this segment were dropped: `p` is NaN in 9.",
    ),
}


def fill(told, result):
    """Words with the p-value, the confidence interval and the rows of the verdict itself, which other tests are about."""
    details = result.details
    low, high = (math.nan, math.nan) if details.verdict is None else details.verdict.interval
    p_value = "" if details.p_value is None else words.format_p_value(details.p_value)
    return told.format(p=p_value, ci=f"{low:.2f}–{high:.2f}", enough=details.enough or 0)


@pytest.mark.parametrize("cause", Cause)
def test_every_cause_occurs_and_has_words(cause):
    make_result, status, told = CAUSES[cause]
    result = make_result()
    assert (result.cause, result.status) == (cause, status)
    assert result.reason == words.describe_check(result) == fill(told, result)


@pytest.mark.parametrize(
    ("make_result", "told"),
    [
        (
            lambda: one(Rule("worse", 0), make(), differences=gap(1, 3)),
            "ltce minus the baseline's is 2.00% (95% CI 1.00% to 3.00%), entirely above the limit of 0%.",
        ),
        (
            lambda: one(Rule("worse", 0), make(), differences=gap(1, 3), p_value=0.5),
            "ltce minus the baseline's is 2.00% (95% CI 1.00% to 3.00%), entirely above the limit of 0%, but the verdict "
            "is not miscalibrated (p = 0.5, above 0.01).",
        ),
        (
            lambda: one(Rule("non_inferior", 2), make(), differences=gap(1, 4), p_value=0.5),
            "ltce minus the baseline's is 2.50% (95% CI 1.00% to 4.00%), and the interval includes the limit of 2%.",
        ),
        (
            lambda: one(Rule("excess", 5), make(10.0, null=null_mean(6)), p_value=0.5),
            "ltce minus its null mean (999 null draws) is 4.00%, within the limit of 5%.",
        ),
        (
            lambda: one(Rule("upper", 15), make(10.0, interval=Interval(5.0, 16.0, 0.99, 999)), low=15.5),
            "the upper end of the 99% CI of ltce is 16.00%, above the limit of 15%; the interval starts at 15.50%, and the "
            "verdict is miscalibrated (p < 0.0001).",
        ),
        (
            lambda: one(Rule("least", 5, metric="slope"), make(10.0, name="slope"), p_value=0.5),
            "slope is 10.000, not below the limit of 5.",
        ),
        (
            lambda: one(Rule("p_value", 0.05), make(null=null_mean(5, p_value=0.4, draws=18))),
            "the p-value of ltce is 0.4, but 18 null draws cannot give less than 0.05263; at least 20 are needed to fall "
            "below the limit of 0.05.",
        ),
        (
            without_interval,
            "ltce is 20.00%, above the limit of 15%, but there is no confidence interval to prove it.",
        ),
        (
            lambda: one(
                Rule("value", 15, segment="*"), make(), segments={"m": table((10.0,), (0.5,), segment=[("a",)])}
            ),
            "ltce is 10.00%, within the limit of 15%, although the verdict is miscalibrated (p < 0.0001).",
        ),
        (
            lambda: segment(Rule("dropped", 0.5, segment="*"), evaluated=0, out_of_scope=9),
            "0 of 9 rows were dropped (a share of 0, within the limit of 0.5), but the verdict is inconclusive: no row is "
            "evaluated.",
        ),
        (
            lambda: one(Rule("value", 15, allow_inconclusive=True), make(), p_value=0.5, status="inconclusive"),
            "ltce is 10.00%, within the limit of 15%, but the verdict is inconclusive: only odds ratios of 2 or more would "
            "be detected in either direction with 80% power at significance 0.01; 1.5 is required. The rule allows this.",
        ),
        (
            lambda: check(ALL < 3, np.where(ALL < 1, 0.0, 0.02), Rule("verdict")),
            "miscalibrated (p < 0.0001, at most 0.01): observed 3, expected 4.0, O/E 0.75 (99% CI {ci}); 1 row "
            "contradicts a prediction of exactly 0 or 1.",
        ),
        (
            lambda: check(np.zeros(300), np.full(300, 0.001), Rule("verdict")),
            "inconclusive ({p}, above 0.01): no odds ratio would be detected if predictions are too high (about "
            "{enough:,} such rows are enough).",
        ),
    ],
)
def test_numbers_of_each_kind_are_in_the_words(make_result, told):
    result = make_result()
    assert result.reason == fill(told, result)


def test_a_decision_counts_its_checks():
    results = {"a": make(10), "b": make(20), "c": make(12, 10)}
    decision = decide([Rule("value", 15, min_rows=100)], results)
    assert words.summarize_decision(decision) == decision.summary == "3 checks: 1 failed, 1 inconclusive, 1 passed"
    assert words.advise_decision(decision) == []
    allowed = decide([Rule("verdict", allow_inconclusive=True)], {"m": make()}, p_value=0.5, status="inconclusive")
    assert allowed.summary == "1 check: 1 inconclusive but allowed"


@pytest.mark.parametrize(
    ("cause", "hint"),
    [
        (Cause.CERTAIN, "Predictions of exactly 0 and 1 are class labels"),
        (Cause.UNPROVEN, "A calibrated model can exceed a limit through sampling variation"),
        (Cause.UNDERPOWERED, "--allow-inconclusive lets"),
    ],
)
def test_an_inconclusive_decision_has_advice_by_its_cause(cause, hint):
    result = CAUSES[cause][0]()
    advice = words.advise_decision(truecal.Decision(truecal.gate.CheckTable.of([result])))
    assert any(text.startswith(hint) for text in advice)
    assert all(text.endswith(".") for text in advice)


def test_every_kind_of_rule_has_words():
    limits = {"verdict": None, "p_value": 0.05, "dropped": 0.1}
    metric = {"least": "slope"}
    told = [str(Rule(kind, limits.get(kind, 5), metric=metric.get(kind, "ltce"))) for kind in truecal.gate.RULE_KINDS]
    assert told == [
        "no miscalibration",
        "ltce at most 5%",
        "slope at least 5",
        "ltce at most 5% above its null mean",
        "upper end of the confidence interval of ltce at most 5%",
        "p-value of ltce at least 0.05",
        "ltce not shown to be worse than the baseline by more than 5%",
        "ltce non-inferior to the baseline (margin 5%)",
        "share of dropped rows at most 0.1",
    ]
