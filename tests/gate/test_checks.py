"""From data and rules to a verdict, in one call."""

import json
import re

import numpy as np
import pytest

import truecal
from truecal import Result, Rule


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


def check(frame, *rules, **options):
    return truecal.check(frame, rules, **{"label": "y", "score": "p", "threads": 2, **options})


def test_each_rule_sees_what_the_functions_give(frame):
    rules = [
        Rule("value", 50),
        Rule("excess", 60),
        Rule("upper", 70),
        Rule("p_value", 0.0005),
        Rule("value", 0.5, metric="ece"),
    ]
    verdict = check(frame, *rules, reference=200, intervals=200)
    result = truecal.evaluate(
        frame, label="y", score="p", metrics=["tce", "ece"], reference=200, intervals=200, random_state=0, threads=2
    )
    found = result.references["tce"]
    observed = [result["tce"], found.excess, result.intervals["tce"].high, found.p_value, result["ece"]]
    assert [finding.observed for finding in verdict.findings] == pytest.approx(observed)
    assert [finding.model for finding in verdict.findings] == ["p"] * 5


def test_rules_may_be_a_file_and_models_several(frame, tmp_path):
    (tmp_path / "gate.toml").write_text('[[rule]]\nmax_value = 30\nmodel = "*"\n')
    frame.write_parquet(tmp_path / "a.parquet")
    right = frame.filter(frame["country"] == "de")
    verdict = truecal.check(right, tmp_path / "gate.toml", label="y", score=["p", "q"])
    assert [(finding.model, finding.status) for finding in verdict.findings] == [("p", "pass"), ("q", "fail")]
    assert verdict.exit_code == 1
    again = truecal.check(tmp_path / "a.parquet", tmp_path / "gate.toml", label="y", score=["p", "q"])
    assert again.findings[1].status == "fail"


def test_segments_get_the_replicates_that_their_p_values_need(frame):
    """Two segments at a limit of 0.005 need at least 400 replicates under Holm's adjustment."""
    verdict = check(frame, Rule("p_value", 0.005, segment="*"), by="country")
    assert [(finding.segment, finding.status) for finding in verdict.findings] == [
        ("country=de", "pass"),
        ("country=fr", "fail"),
    ]


def test_a_rule_about_segments_needs_their_columns_before_anything_is_read():
    told = "`by` must name the columns that make segments, since a rule is about '{}'; it is missing."
    with pytest.raises(ValueError, match=re.escape(told.format("*")) + "$"):
        check(None, Rule("value", 15), Rule("value", 15, segment="*"))
    hint = "\n\nHint: the rule names 'country', 'kind'."
    with pytest.raises(ValueError, match=re.escape(told.format("country=d*, kind=*") + hint)):
        check(None, Rule("value", 15, segment="country=d*, kind=*"))


def test_a_baseline_column_is_compared_pair_by_pair(frame):
    worse, same = Rule("worse", 0), Rule("non_inferior", 0)
    better = check(frame, worse, same, baseline="old", replicates=300)
    assert [finding.status for finding in better.findings] == ["pass", "pass"]
    back = check(frame, worse, score="q", baseline="p", replicates=300)
    difference = truecal.compare(frame, label="y", score=["q", "p"], replicates=300, random_state=0)["tce"]
    assert back.findings[0].observed == pytest.approx(difference.difference)
    assert back.exit_code == 1


def test_a_baseline_among_the_scores_is_not_judged(frame):
    rules = Rule("value", 100), Rule("worse", 100)
    verdict = check(frame, *rules, score=["p", "old", "q"], baseline="old", replicates=50)
    assert [finding.model for finding in verdict.findings] == ["p", "q", "p", "q"]
    assert [finding.status for finding in verdict.findings] == ["pass"] * 4
    with pytest.raises(ValueError, match="`score` must name a model besides the baseline; it names 'old' alone"):
        check(frame, Rule("worse", 0), score="old", baseline="old")


def test_a_grid_gives_the_gate_bounds(frame):
    """The limit lies where a coarse grid leaves it open: it could not tell, and the exact scores can."""
    coarse = truecal.reading.Limits(grid=3)
    low, high = truecal.evaluate(frame, label="y", score="q", metrics=["tce"], scale=coarse).bounds["tce"]
    rule = Rule("value", (low + high) / 2)
    assert low < high
    assert check(frame, rule, score="q", scale=coarse).status == "unknown"
    assert check(frame, rule, score="q").status in ("pass", "fail")
    parts = check(frame, Rule("value", 100, segment="*"), by="country", scale=coarse)
    assert "lies between" in parts.findings[0].reason


def test_a_baseline_file_is_matched_by_its_keys(frame, tmp_path):
    shuffled = frame.sample(fraction=1, shuffle=True, seed=0)
    shuffled.select("id", p="old").write_parquet(tmp_path / "old.parquet")
    paired = check(frame, Rule("worse", 0), baseline=str(tmp_path / "old.parquet"), on="id", replicates=100)
    column = check(frame, Rule("worse", 0), baseline="old", replicates=100)
    assert paired.findings == column.findings
    shuffled[:-5].select("id", p="old").write_parquet(tmp_path / "short.parquet")
    with pytest.raises(ValueError, match="for 6,000 rows there are 5,995 matches"):
        check(frame, Rule("worse", 0), baseline=str(tmp_path / "short.parquet"), on="id")
    with pytest.raises(ValueError, match="`on` must name the columns"):
        check(frame, Rule("worse", 0), baseline=str(tmp_path / "old.parquet"))
    with pytest.raises(ValueError, match="`baseline` must be a score column .* or a file; it is 'older'"):
        check(frame, Rule("worse", 0), baseline="older")


def test_the_result_of_the_last_release_is_an_independent_baseline(frame, tmp_path):
    old = truecal.evaluate(frame, label="y", score="old", metrics=["tce"], intervals=300, random_state=1)
    (tmp_path / "old.json").write_text(old.to_json())
    verdict = check(frame, Rule("worse", 0), Rule("non_inferior", 0), baseline=tmp_path / "old.json", intervals=300)
    assert [finding.status for finding in verdict.findings] == ["pass", "pass"]
    assert (
        verdict.findings
        == check(frame, Rule("worse", 0), Rule("non_inferior", 0), baseline=old, intervals=300).findings
    )
    bare = truecal.evaluate(frame, label="y", score="old", metrics=["tce"])
    with pytest.raises(ValueError, match="`baseline` must hold 'tce' with an interval"):
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
        found = truecal.check(frame, [rule], label="y", score="p", by=by, on_null="drop")
        assert found.notes[-1] == told
        assert repr(found).endswith(f"Note: {told}.")
        assert "2 were dropped" in found.to_markdown()
        assert "2 were dropped" in found._repr_html_()
        assert json.loads(found.to_json())["notes"][-1] == told
