"""From data and rules to a verdict, in one call."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

import truecal
from truecal import Relative, Result, Rule
from truecal.cli import main
from truecal.gate import _check as gate_check


@pytest.fixture
def pl(need):
    need("narwhals")
    return need("polars")


@pytest.fixture
def frame(pl, rng):
    """p is right, q says a third of the truth, old is noisier than p; country fr is understated by all of them."""
    p = rng.beta(1, 9, 6000)
    country = rng.choice(["de", "fr"], 6000)
    y = rng.random(6000) < np.where(country == "fr", np.minimum(1, 1.7 * p), p)
    old = np.clip(p * rng.uniform(0.3, 1.7, 6000), 0, 1)
    return pl.DataFrame({"id": np.arange(6000), "y": y, "p": p, "q": p / 3, "old": old, "country": country})


READING = ("label", "score", "by", "baseline", "on", "missing", "limits")


def check(frame, *rules, **options):
    """Data are read as the options say, and checked by the others."""
    paired = isinstance(options.get("baseline"), str)
    named = {name: options.pop(name) for name in READING if name in options and (name != "baseline" or paired)}
    models = truecal.read_models(frame, **{"label": "y", "score": "p", **named})
    return truecal.check(models, rules, threads=2, **options)


def read(frame, score="p", **options):
    return truecal.read(frame, label="y", score=score, **options)


def test_each_rule_sees_what_the_functions_give(frame):
    rules = [
        Rule("value", 50),
        Rule("excess", 60),
        Rule("upper", 70),
        Rule("p_value", 0.0005),
        Rule("value", 0.5, metric="ece"),
    ]
    verdict = check(frame, *rules, null_draws=200, resamples=200)
    options = dict(metrics=["ltce", "ece"], null_draws=200, resamples=200, confidence=0.99, random_state=0, threads=2)
    result = truecal.evaluate(read(frame), **options)
    found = result.nulls["ltce"]
    observed = [result["ltce"], found.excess, result.intervals["ltce"].high, found.p_value, result["ece"]]
    assert [finding.observed for finding in verdict.results] == pytest.approx(observed)
    assert [finding.model for finding in verdict.results] == ["p"] * 5


def test_rules_may_be_a_file_and_models_several(frame, tmp_path):
    (tmp_path / "gate.toml").write_text('[[rule]]\nmax_value = 30\nmodel = "*"\n')
    frame.write_parquet(tmp_path / "a.parquet")
    right = frame.filter(frame["country"] == "de")
    names = dict(label="y", score=["p", "q"])
    verdict = truecal.check(truecal.read_models(right, **names), tmp_path / "gate.toml")
    assert [(finding.model, finding.status) for finding in verdict.results] == [("p", "pass"), ("q", "fail")]
    assert verdict.exit_code == 1
    again = truecal.check(truecal.read_models(tmp_path / "a.parquet", **names), tmp_path / "gate.toml")
    assert again.results[1].status == "fail"


def test_segments_get_the_replicates_that_their_p_values_need(frame):
    """Two segments at a limit of 0.005 need at least 400 replicates under Holm's adjustment."""
    verdict = check(frame, Rule("p_value", 0.005, segment="*"), by="country")
    assert [(finding.segment, finding.status) for finding in verdict.results] == [
        ("country=de", "pass"),
        ("country=fr", "fail"),
    ]


def test_a_rule_about_segments_needs_their_columns(frame):
    told = "`by` must name the columns that make segments, since a rule is about '{}'; it is missing."
    with pytest.raises(ValueError, match=re.escape(told.format("*")) + "$"):
        check(frame, Rule("value", 15), Rule("value", 15, segment="*"))
    hint = "\n\nHint: give `by` the columns that the rule names, 'country', 'kind'."
    with pytest.raises(ValueError, match=re.escape(told.format("country=d*, kind=*") + hint)):
        check(frame, Rule("value", 15, segment="country=d*, kind=*"))


def test_a_baseline_column_is_compared_pair_by_pair(frame):
    worse, same = Rule("worse", 0), Rule("non_inferior", 0)
    better = check(frame, worse, same, baseline="old", resamples=300)
    assert [finding.status for finding in better.results] == ["pass", "pass"]
    back = check(frame, worse, score="q", baseline="p", resamples=300)
    difference = truecal.compare(
        read(frame, "q", baseline="p"), metrics=["ltce"], confidence=0.99, resamples=300, random_state=0
    )["ltce"]
    assert back.results[0].observed == pytest.approx(difference.difference)
    assert back.exit_code == 1


def test_a_baseline_among_the_scores_is_not_judged(frame):
    rules = Rule("value", 99.9), Rule("worse", 99.9)
    verdict = check(frame, *rules, score=["p", "old", "q"], baseline="old", resamples=50)
    assert [finding.model for finding in verdict.results] == ["p", "q", "p", "q"]
    assert [finding.status for finding in verdict.results] == ["pass"] * 4
    with pytest.raises(ValueError, match="`score` must name a model besides the baseline; it names 'old' alone"):
        check(frame, Rule("worse", 0), score="old", baseline="old")


def test_a_grid_gives_the_gate_bounds(frame):
    """The limit lies where a coarse grid leaves it open: it could not tell, and the exact scores can."""
    coarse = truecal.reading.Limits(grid=3)
    low, high = truecal.evaluate(read(frame, "q", limits=coarse), metrics=["tce"]).bounds["tce"]
    rule = Rule("value", (low + high) / 2, metric="tce")
    assert low < high
    assert check(frame, rule, score="q", limits=coarse).status == "inconclusive"
    assert check(frame, rule, score="q").status in ("pass", "fail")
    parts = check(frame, Rule("value", 99.9, metric="tce", segment="*"), by="country", limits=coarse)
    assert parts.results[0].details.low < parts.results[0].details.high


def test_a_baseline_file_is_matched_by_its_keys(frame, tmp_path):
    shuffled = frame.sample(fraction=1, shuffle=True, seed=0)
    shuffled.select("id", p="old").write_parquet(tmp_path / "old.parquet")
    paired = check(frame, Rule("worse", 0), baseline=str(tmp_path / "old.parquet"), on="id", resamples=100)
    column = check(frame, Rule("worse", 0), baseline="old", resamples=100)
    assert paired.results == column.results
    shuffled[:-5].select("id", p="old").write_parquet(tmp_path / "short.parquet")
    with pytest.raises(ValueError, match="one match in the baseline by 'id'; 5 of 6,000 have none"):
        check(frame, Rule("worse", 0), baseline=str(tmp_path / "short.parquet"), on="id")
    with pytest.raises(ValueError, match="`on` must name the columns"):
        check(frame, Rule("worse", 0), baseline=str(tmp_path / "old.parquet"))
    with pytest.raises(ValueError, match="`baseline` must be a score column .* or a file; it is 'older'"):
        check(frame, Rule("worse", 0), baseline="older")


def test_the_result_of_the_last_release_is_an_independent_baseline(frame, tmp_path):
    old = truecal.evaluate(read(frame, "old"), metrics=["ltce"], resamples=300, random_state=1)
    (tmp_path / "old.json").write_text(old.to_json())
    verdict = check(frame, Rule("worse", 0), Rule("non_inferior", 20), baseline=tmp_path / "old.json", resamples=300)
    assert [finding.status for finding in verdict.results] == ["pass", "pass"]
    # the old interval has 95 %; that of the difference has the confidence of the rule, and is wider the more it asks
    spans = []
    for level in (0.05, 0.01):
        (found,) = check(frame, Rule("worse", 0, significance=level), baseline=old, resamples=300).results
        assert found.details.confidence == 1 - level
        spans.append(found.details.high - found.details.low)
    # the ratio of normal quantiles, 2.576 / 1.960 = 1.314; the new interval's own are of 300 draws
    assert spans[1] / spans[0] == pytest.approx(1.314, abs=0.15)
    assert (
        verdict.results == check(frame, Rule("worse", 0), Rule("non_inferior", 20), baseline=old, resamples=300).results
    )
    bare = truecal.evaluate(read(frame, "old"), metrics=["ltce"])
    with pytest.raises(ValueError, match="`baseline` must hold 'ltce' with an interval"):
        check(frame, Rule("worse", 0), baseline=bare)
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(ValueError, match="bad.json.* must hold a truecal result"):
        check(frame, Rule("worse", 0), baseline=tmp_path / "bad.json")
    assert isinstance(old, Result)


def test_a_rule_about_the_last_release_needs_one(frame):
    with pytest.raises(ValueError, match="`baseline` must be given"):
        check(frame, Rule("worse", 0))


def test_rows_that_a_gate_left_out_are_told(need):
    """Everywhere that a verdict is read, for the whole and for segments."""
    pl = need("polars")
    frame = pl.DataFrame({"y": [0, 1] * 500, "p": [0.1, 0.9] * 499 + [None, None], "kind": ["a", "b"] * 500})
    told = "of 1,000 rows 2 were dropped: `p` is null in 2"
    for rule, by in ((Rule("value", 50), None), (Rule("value", 50, segment="*"), "kind")):
        found = truecal.check(read(frame, by=by, missing="drop"), [rule])
        assert str(found.notes[-1]) == told
        assert repr(found).endswith(f"Note: {told}.")
        assert "2 were dropped" in found.to_markdown()
        assert "2 were dropped" in found._repr_html_()
        written = json.loads(found.to_json())["notes"][-1]
        assert (written["code"], written["values"]["dropped"]) == ("rows dropped", 2)


def test_a_baseline_that_has_some_rows_twice_and_others_not_is_refused(frame, tmp_path):
    """As many rows as there are matches, and yet the bad half is not compared."""
    half = frame.select("id", p="old")[:3000]
    twice = half.vstack(half)
    with pytest.raises(ValueError, match="must have one match in the baseline by 'id'; for id=.* it has 2 rows"):
        check(frame, Rule("worse", 0), baseline=_write(twice, tmp_path / "twice.parquet"), on="id")


def _write(frame, place):
    frame.write_parquet(place)
    return str(place)


def test_rows_that_the_baseline_lacks_count_for_min_rows_and_are_told(pl, frame):
    """The last release has a score in 60 of 6,000 rows: the comparison is on 60, and says so."""
    gaps = frame.with_columns(old=pl.when(pl.col("id") % 100 == 0).then("old"))
    with pytest.raises(ValueError, match="of 6,000 rows `p` or `old` is null in 5,940"):
        read(gaps, baseline="old")
    found = check(gaps, Rule("worse", 50, min_rows=100), baseline="old", missing="drop", resamples=50)
    assert [(finding.n, finding.status) for finding in found.results] == [(60, "inconclusive")]
    told = "the baseline is compared on 60 of 6,000 rows; the others have no baseline score"
    assert told in map(str, found.notes)
    assert check(gaps, Rule("value", 50, min_rows=100), baseline="old", missing="drop").results[0].n == 6000


def test_frames_and_paths_are_refused_with_the_remedy(frame):
    for data in (frame, "a.parquet", {"p": frame}, {}):
        with pytest.raises(TypeError, match=r"(?s)`check` takes `Observations`.*truecal.check\(truecal.read\(data"):
            truecal.check(data, [Rule("value", 15)])
    with pytest.raises(TypeError, match="(?s)`baseline` must be a `Result`.*it is DataFrame.*baseline=...\\)"):
        truecal.check(read(frame), [Rule("worse", 0)], baseline=frame)


# evidence, end to end


def rows(rng, n, score, truth=lambda p: p, **columns):
    p = score(n)
    return {"y": (rng.random(n) < truth(p)).astype(int), "p": p, **columns}


def test_without_rules_the_verdict_decides(pl, rng):
    """A right model, one whose odds are halved, and 60 rows: 0, 1, 3. The verdict is `inference.judge` at 0.01."""
    p = rng.beta(0.5, 5, 20_000)
    y = rng.random(20_000) < p
    for score, size, expected in ((p, 20_000, 0), (p / (2 - p), 20_000, 1), (p, 60, 3)):
        found = truecal.check(read(pl.DataFrame({"y": y[:size], "p": score[:size]})))
        assert found.exit_code == expected
        cells = truecal.data.Cells.from_arrays(y[:size], score[:size])
        verdict = truecal.verdict.judge(cells, 0.01)
        (finding,) = found.results
        assert (finding.observed, finding.n, finding.rule) == (verdict.p_value, size, Rule("verdict"))
        words = {"consistent": "pass", "miscalibrated": "fail", "inconclusive": "inconclusive"}
        assert finding.status == words[verdict.status]


LIMIT_RULES = [
    Rule("verdict"),
    Rule("value", 99.9),
    Rule("value", 0.99, metric="ece"),
    Rule("excess", 94.9),
    Rule("upper", 99.9),
    Rule("p_value", 0.01),
    Rule("worse", 99.9),
    Rule("non_inferior", 99.9),
]
SEGMENT_RULES = [replace(rule, segment="*") for rule in LIMIT_RULES if rule.needs not in ("interval", "difference")]


@pytest.mark.parametrize(
    ("y", "p"),
    [
        ([0] * 300, [0.001] * 300),
        ([1] * 300, [0.999] * 300),
        ([1], [0.5]),
        ([0], [0.0]),
        ([0] * 200 + [1], [0.0] * 200 + [1.0]),
        ([0, 1] * 15, [0.5] * 30),
    ],
    ids=["no positive", "no negative", "one row", "one certain row", "only certain rows", "few rows"],
)
@pytest.mark.filterwarnings("ignore:1 of 1 segments are too small")
def test_limits_that_no_value_breaks_do_not_pass_without_evidence(pl, y, p):
    frame = pl.DataFrame({"y": y, "p": p, "old": p, "kind": "a"}, schema_overrides={"p": pl.Float64, "old": pl.Float64})
    data = read(frame, by="kind", baseline="old")
    found = truecal.check(data, LIMIT_RULES + SEGMENT_RULES, null_draws=200, resamples=200)
    assert {finding.status for finding in found.results} == {"inconclusive"}
    assert found.exit_code == 3


def test_what_is_not_there_is_no_pass(pl, frame):
    with pytest.raises(ValueError, match="at least one valid row"):
        read(frame.with_columns(p=pl.lit(None, dtype=pl.Float64)), missing="drop")
    with pytest.raises(ValueError, match="at least one valid row"):
        read(frame[:0])
    for allow in (False, True):
        rule = Rule("verdict", segment="country=it", allow_inconclusive=allow)
        found = check(frame, rule, by="country").results
        assert [(finding.status, finding.n) for finding in found] == [("inconclusive", None)]


def test_cannot_tell_passes_where_the_rule_says_so(pl):
    few = read(pl.DataFrame({"y": [0, 1] * 15, "p": [0.5] * 30}))
    assert truecal.check(few).status == "inconclusive"
    found = truecal.check(few, [Rule("verdict", allow_inconclusive=True)])
    assert found.status == "pass"
    assert (found.results.cause, found.results.allowed) == (("underpowered",), (True,))
    assert found.results[0].reason.endswith("The rule allows this.")
    assert found.summary == "1 check: 1 inconclusive but allowed"


@pytest.mark.parametrize(
    ("n", "segments", "draw"),
    [
        (270, None, lambda rng, n: np.full(n, 0.25)),
        (14_349, None, lambda rng, n: np.full(n, 0.003)),
        (40, None, lambda rng, n: rng.beta(1, 3, n)),
        (400, 4, lambda rng, n: rng.beta(1, 30, n)),
    ],
)
def test_the_rows_that_a_gate_asks_for_are_enough(rng, n, segments, draw):
    """Of 200 right models each 92 to 99 % passed with the rows asked for, and at least 15 of 20 do here: fewer have a
    probability of 0.004 where 92 % do. The same rows were too few for every model before."""

    def check(rows):
        p = draw(rng, rows)
        data = {"y": rng.random(rows) < p, "p": p, "part": np.arange(rows) % (segments or 1)}
        rule = Rule("verdict", segment=None if segments is None else "part=*")
        return truecal.check(truecal.read(data, label="y", score="p", by="part"), [rule])

    passed = 0
    for _ in range(20):
        most = max((details.enough or n for details in check(n).results.details), default=n)
        passed += check(most * (segments or 1)).status == "pass"
    assert passed >= 15


def test_a_gate_that_cannot_tell_names_its_level(rng):
    p = np.full(300, 0.25)
    data = truecal.read({"y": rng.random(300) < p, "p": p, "part": np.arange(300) % 2}, label="y", score="p", by="part")
    whole, part = (truecal.check(data, [Rule("verdict", segment=name)]).results[0].reason for name in (None, "part=*"))
    assert "in either direction with 80% power at significance 0.01; 1.5 is required (about " in whole
    assert "power at significance 0.01 across 2 segments; 1.5 is required (about " in part


@pytest.mark.slow
def test_limits_fail_only_where_the_data_show_it(pl):
    """300 right predictions whose Local TCE is above 0 by chance, and 20,000 that are halved."""
    rng, draws = np.random.default_rng(3), dict(null_draws=200, resamples=200)
    small = pl.DataFrame(rows(rng, 300, lambda n: rng.beta(2, 2, n)))
    data = read(small)
    value = truecal.evaluate(data, metrics=["ltce"])["ltce"]
    rules = [Rule("value", 0, metric="ece"), Rule("excess", -5), Rule("upper", value)]
    found = truecal.check(data, rules, **draws)
    assert [finding.status for finding in found.results] == ["inconclusive"] * 3
    halved = read(pl.DataFrame(rows(rng, 20_000, lambda n: rng.beta(0.5, 5, n) / 2, lambda p: 2 * p)))
    limits = [Rule("value", 0.01, metric="ece"), Rule("value", 20), Rule("excess", 20), Rule("upper", 20)]
    found = truecal.check(halved, limits, **draws)
    assert [finding.status for finding in found.results] == ["fail"] * 4
    near = truecal.evaluate(halved, metrics=["ece"])["ece"]
    (close,) = truecal.check(halved, [Rule("value", near - 1e-4, metric="ece")], **draws).results
    assert close.status == "inconclusive"  # off, and yet it may be within the limit
    assert close.cause == "interval straddles"


def test_a_region_and_a_tolerance_are_keys_of_a_rule(pl, rng):
    """Right below 0.5, and 0.15 too high above: the whole is off, the lower part is not asked for, 0.2 is allowed."""
    data = read(pl.DataFrame(rows(rng, 20_000, rng.random, lambda p: np.where(p > 0.5, p - 0.15, p))))
    rules = [
        Rule("verdict"),
        Rule("verdict", threshold=0.5),
        Rule("verdict", top=0.25),
        Rule("verdict", tolerance=0.2),
        Rule("verdict", tolerance=0.05),
        Rule("verdict", tolerance=Relative(0.4)),
    ]
    found = truecal.check(data, rules).results
    assert [finding.status for finding in found] == ["fail", "fail", "fail", "pass", "fail", "pass"]
    assert [finding.n for finding in found][:3] == [20_000, truecal.evaluate(data, threshold=0.5).n, 5000]
    # the options of `check` hold for rules that have none of their own
    shared = truecal.check(
        data, [Rule("verdict"), Rule("verdict", tolerance=0.01)], tolerance=0.2, threshold=0.5
    ).results
    assert [(finding.status, finding.n) for finding in shared] == [("pass", found[1].n), ("fail", found[1].n)]


def test_a_region_holds_for_segments_and_comparisons(pl, rng):
    p = rng.random(8000)
    kind = np.where(p < 0.3, "low", "any")
    y = rng.random(8000) < p
    frame = pl.DataFrame({"y": y, "p": p, "old": np.sqrt(p), "kind": kind})
    data = read(frame, by="kind", baseline="old")
    rules = [
        Rule("verdict", segment="*", threshold=0.5),
        Rule("worse", 0, threshold=0.5),
        Rule("value", 50, segment="*", top=0.5),
    ]
    found = truecal.check(data, rules, resamples=200).results
    above = int((p >= 0.5).sum())
    assert [(finding.segment, finding.n, finding.status) for finding in found] == [
        ("kind=any", above, "pass"),
        ("kind=low", 0, "inconclusive"),
        (None, above, "pass"),
        ("kind=any", 4000, "pass"),
        ("kind=low", 0, "inconclusive"),
    ]
    assert "1 segment of 2 has no prediction in scope" in map(str, truecal.check(data, rules[2:]).notes)


def test_the_verdict_of_segments_is_adjusted_by_holm(pl, rng):
    """The adjusted p-values are Holm's of `inference.judge` in each segment that has rows enough."""
    sizes = {"a": 4000, "b": 4000, "c": 4000, "d": 50}
    kind = np.repeat(list(sizes), list(sizes.values()))
    p = rng.beta(1, 4, len(kind))
    y = rng.random(len(kind)) < np.where(kind == "c", np.minimum(1, 1.6 * p), p)
    found = check(pl.DataFrame({"y": y, "p": p, "kind": kind}), Rule("verdict", segment="*", min_rows=100), by="kind")
    assert [finding.status for finding in found.results] == ["pass", "pass", "fail", "inconclusive"]
    cells = [truecal.data.Cells.from_arrays(y[kind == name], p[kind == name]) for name in "abc"]
    expected = truecal.metrics.adjust_p_values(
        np.array([truecal.verdict.judge(part).p_value for part in cells]), "holm"
    )
    assert list(found.results.observed)[:3] == pytest.approx(expected.tolist())
    assert found.results[0].details.groups == 3
    assert "Holm-adjusted for 3 segments" in found.results[0].reason


# false alarms: by the binomial law, more than the bound has a probability below 1 in 1,000 at the stated rate

WORLDS = {
    "rare": (3000, lambda rng, n: rng.beta(0.5, 25, n)),
    "balanced": (1000, lambda rng, n: rng.beta(2, 2, n)),
    "sharp": (3000, lambda rng, n: rng.beta(0.2, 0.2, n)),
    "levels": (3000, lambda rng, n: np.round(rng.beta(0.5, 5, n), 2)),
    "half at 0": (3000, lambda rng, n: np.where(rng.random(n) < 0.5, 0.0, rng.beta(1, 9, n))),
    "few": (300, lambda rng, n: rng.beta(0.5, 5, n)),
}


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_at_most_2_percent_of_right_models_fail(world):
    rng = np.random.default_rng(list(WORLDS).index(world))
    n, draw = WORLDS[world]
    runs, rate = 200, 0.02
    bound = int(binom.ppf(0.999, runs, rate))  # 11
    failed = 0
    for _ in range(runs):
        p = draw(rng, n)
        cells = truecal.Tally.from_arrays(rng.random(n) < p, p)
        failed += truecal.check(truecal.Observations("y", "p", {(): cells})).status == "fail"
    assert failed <= bound


@pytest.mark.slow
def test_at_most_5_percent_of_12_right_segments_have_one_that_fails():
    rng = np.random.default_rng(12)
    runs, rate = 40, 0.05
    bound = int(binom.ppf(0.999, runs, rate))  # 7
    failed = {"verdict": 0, "excess": 0}
    for run in range(runs):
        parts = {}
        for i in range(12):
            p = rng.beta(0.5, 5, 1000)
            parts[(str(i),)] = truecal.Tally.from_arrays(rng.random(1000) < p, p)
        data = truecal.Observations("y", "p", parts, by=("kind",))
        failed["verdict"] += truecal.check(data, [Rule("verdict", segment="*")]).status == "fail"
        if run < 3:
            failed["excess"] += truecal.check(data, [Rule("excess", 5, segment="*")]).status == "fail"
    assert failed["verdict"] <= bound
    assert failed["excess"] <= 2  # of 3, at a rate of 5 %: all three in 1 of 8,000


# Rows that were dropped


@pytest.fixture
def holed(rng, need):
    """2,000 right predictions in two countries; 10 % of the scores of one are missing, and all of a third."""
    p = rng.beta(2, 2, 2200)
    country = np.repeat(["at", "de", "fr"], [1000, 1000, 200])
    missing = (country == "fr") | ((country == "de") & (np.arange(2200) % 10 == 0))
    pl = need("polars")
    frame = pl.DataFrame({"y": rng.random(2200) < p, "p": np.where(missing, np.nan, p), "country": country})
    return truecal.read(frame, label="y", score="p", by="country", missing="drop")


def test_a_segment_whose_rows_were_all_dropped_is_not_passed_over(holed):
    decision = truecal.check(holed, [Rule("verdict", segment="country=*")])
    by_segment = {finding.segment: finding for finding in decision.results}
    assert by_segment["country=fr"].status == "inconclusive"
    assert by_segment["country=fr"].reason == "all rows of this segment were dropped: `p` is NaN in 200."
    assert decision.exit_code != 0


def test_lines_that_stand_for_no_row_are_not_dropped_ones():
    data = {"y": [0, 1, 0, 1], "p": [0.5, 0.5, 0.5, float("nan")], "n": [6, 3, 0, 1]}
    observations = truecal.read(data, label="y", score="p", count="n", missing="drop")
    (found,) = truecal.check(observations, [Rule("dropped", 0.05)]).results
    assert found.reason == "1 of 10 rows was dropped (a share of 0.1, above the limit of 0.05): `p` is NaN in 1."


def test_dropped_rows_have_a_limit(holed):
    beside = Rule("value", 90)  # whose percent are not theirs
    found = truecal.check(holed, [Rule("dropped", 0.2), Rule("dropped", 0.1), beside]).results
    assert found.status[:2] == ("pass", "fail")
    assert found.observed[:2] == (pytest.approx(300 / 2200),) * 2
    told = "300 of 2,200 rows were dropped (a share of 0.136, above the limit of 0.1): `p` is NaN in 300."
    assert found[1].reason == told
    of_each = truecal.check(holed, [Rule("dropped", 0.1, segment="*")]).results
    assert dict(zip(of_each.segment, of_each.status, strict=True)) == {
        "country=at": "pass",
        "country=de": "pass",  # 100 of 1,000
        "country=fr": "fail",
    }


def test_rows_without_a_baseline_score_are_dropped_from_the_comparison(rng, need):
    p = rng.beta(2, 2, 1000)
    old = np.where(np.arange(1000) < 900, np.nan, p)
    frame = need("polars").DataFrame({"y": rng.random(1000) < p, "p": p, "old": old})
    data = truecal.read(frame, label="y", score="p", baseline="old", missing="drop")
    found = truecal.check(data, [Rule("worse", 0, min_rows=500)], resamples=200).results[0]
    assert (found.status, found.n) == ("inconclusive", 100)


def test_a_right_model_does_not_fail_beside_a_wrong_baseline_without_a_positive(rng, need):
    p = rng.beta(0.5, 50, 300)
    frame = need("polars").DataFrame({"y": np.zeros(300, int), "p": p, "half": p / 2})
    for metric in ("ltce", "log_loss"):
        data = truecal.read(frame, label="y", score="p", baseline="half")
        found = truecal.check(data, [Rule("worse", 0, metric=metric)], resamples=200)
        assert found.status == "inconclusive"


def test_what_passes_a_limit_though_the_verdict_is_off_says_so(frame):
    data = truecal.read(frame, label="y", score="q")
    found = truecal.check(data, [Rule("value", 99)]).results[0]
    assert found.status == "pass"
    assert found.reason.endswith("although the verdict is miscalibrated (p < 0.0001).")


@pytest.fixture
def pets(pl, rng):
    """Right probabilities of three classes, and the same where those of cats are too high."""
    q = rng.dirichlet([2, 2, 2], 6000)
    pet = np.array(["bee", "cat", "dog"])[(q.cumsum(axis=1) > rng.random((6000, 1))).argmax(axis=1)]
    wrong = q * [1, 1.4, 1]
    wrong /= wrong.sum(axis=1, keepdims=True)
    return {
        name: pl.DataFrame({"pet": pet, "p_bee": p[:, 0], "p_cat": p[:, 1], "p_dog": p[:, 2]})
        for name, p in (("right", q), ("wrong", wrong))
    }


def test_rules_for_each_class_are_judged_as_the_table_of_classes(pl, pets):
    for name in ("right", "wrong"):
        data = truecal.read(pets[name], label="pet", score="p_*", multiclass="classwise")
        decision = truecal.check(data)
        table = truecal.evaluate_classes(data, ["ltce"], significance=0.01).table
        top, *classes = decision.results
        assert top.segment is None
        assert [finding.segment for finding in classes] == ["pet=bee", "pet=cat", "pet=dog"]
        assert [finding.observed for finding in classes] == pytest.approx(table.p_adjusted.tolist())
        off = ["fail" if word == "miscalibrated" else "pass" for word in table.status]
        assert [finding.status for finding in classes] == off
        assert ("fail" in off) == (name == "wrong")
    assert ", Holm-adjusted for 3 classes, " in decision.results[1].reason
    assert " correct, expected " in top.reason
    owned = pets["right"].with_row_index("owner").with_columns(owner=pl.col("owner") // 4)
    data = truecal.read(owned, label="pet", score="p_*", multiclass="classwise", cluster="owner")
    table = truecal.evaluate_classes(data, ["ltce"], significance=0.01).table
    found = [finding.observed for finding in list(truecal.check(data).results)[1:]]
    assert found == pytest.approx(table.p_adjusted.tolist())


def test_a_rule_says_which_classes_it_is_about(pets, tmp_path):
    data = truecal.read(pets["wrong"], label="pet", score="p_*", multiclass="classwise")
    (tmp_path / "gate.toml").write_text('[[rule]]\nmax_value = 50\nmetric = "ltce"\nmulticlass = "classwise"\n')
    decision = truecal.check(data, tmp_path / "gate.toml")
    alone = [truecal.evaluate(data.classes[name], ["ltce"])["ltce"] for name in ("bee", "cat", "dog")]
    assert [finding.observed for finding in decision.results] == pytest.approx(alone)
    assert len(truecal.check(data, [Rule("verdict")]).results) == 1
    assert len(truecal.check(data, [Rule("verdict", multiclass="top-label")]).results) == 1
    assert truecal.check(data.top).results[0].status == truecal.check(data).results[0].status
    part = truecal.check(data, [Rule("verdict", multiclass="classwise", threshold=0.5)])
    assert [finding.n for finding in part.results] == [
        int((pets["wrong"][f"p_{name}"] >= 0.5).sum()) for name in ("bee", "cat", "dog")
    ]
    for rule, message in (
        ({"segment": "*"}, "`segment` and `top` must be left out of a rule for each of several classes"),
        ({"top": 5}, "`segment` and `top` must be left out of a rule for each of several classes"),
        ({"multiclass": "each"}, '`multiclass` must be "top-label" or "classwise"; it is \'each\''),
    ):
        with pytest.raises(ValueError, match=message):
            Rule("verdict", **{"multiclass": "classwise"} | rule)
    with pytest.raises(ValueError, match="`multiclass` must be left out of a rule of kind 'upper'"):
        Rule("upper", 5, multiclass="classwise")
    with pytest.raises(
        TypeError, match="(?s)must be of several classes, since a rule is about each.*Hint: read the data with"
    ):
        truecal.check(data.top, [Rule("verdict", multiclass="classwise")])
    with pytest.raises(ValueError, match="`top` must be left out if a rule is about each of several classes"):
        truecal.check(data, [Rule("verdict", multiclass="classwise")], top=0.5)


def test_github_is_told_of_what_fails_in_lines_of_its_own(rng):
    p = rng.random(4000)
    groups = np.where(np.arange(4000) < 2000, "a,b:100%", "c")
    y = rng.random(4000) < np.where(groups == "c", p, p / 2)
    columns = {"y": y, "p": p, "group": groups}
    data = truecal.read(columns, label="y", score="p", by="group")
    lines = truecal.check(data, [Rule("verdict", segment="*")]).to_github().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("::error title=truecal%3A p [group=a%2Cb%3A100%25]::miscalibrated")


def test_many_segments_are_judged_as_few_without_their_cells(rng, monkeypatch):
    """Beyond so many, cells are not kept, and the rows that would be enough are not computed; all else is the same."""
    rows = {"y": rng.random(3000) < 0.3, "p": rng.choice([0.1, 0.2, 0.3], 3000), "g": np.arange(3000) % 40}
    data = truecal.read(rows, label="y", score="p", by="g")
    rules = [Rule("verdict", segment="*"), Rule("value", 15, segment="*"), Rule("verdict")]
    few = truecal.check(data, rules)
    made, find = [], gate_check._Rows.find_cells
    monkeypatch.setattr(gate_check, "FEW_SEGMENTS", 39)
    monkeypatch.setattr(gate_check._Rows, "find_cells", lambda self, key: made.append(key) or find(self, key))
    many = truecal.check(data, rules)
    assert {"fail", "inconclusive"} <= set(few.results.status)
    assert any(details.enough for details in few.results.details)
    alike = [replace(row, details=replace(row.details, enough=None)) for row in few.results]
    assert list(many.results) == alike
    failed = [row.segment for row in many.results if row.cause == "miscalibrated" and row.segment]
    assert len([key for key in made if key]) == len(failed)


@pytest.mark.slow
def test_a_hundred_thousand_segments_have_a_small_file_for_ci(tmp_path, need, capsys):
    """48 MB before: each had its lines. `benches/segments.py` has time and memory."""
    pl = need("polars")
    p = np.tile([0.1, 0.3], 100_000)
    data, junit = tmp_path / "d.parquet", tmp_path / "j.xml"
    pl.DataFrame({"y": np.arange(200_000) % 5 == 0, "p": p, "g": np.arange(200_000) // 2}).write_parquet(data)
    words = ["check", str(data), "-y", "y", "-p", "p", "--by", "g", "--segment", "*", "--junit", str(junit)]
    assert main(words) == 3
    assert "100,000 checks" in capsys.readouterr().out
    assert junit.stat().st_size < 10_000_000
