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


READING = ("label", "score", "by", "baseline", "on", "on_null", "limits")


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
    verdict = check(frame, *rules, reference=200, intervals=200)
    options = dict(metrics=["tce", "ece"], reference=200, intervals=200, random_state=0, threads=2)
    result = truecal.evaluate(read(frame), **options)
    found = result.references["tce"]
    observed = [result["tce"], found.excess, result.intervals["tce"].high, found.p_value, result["ece"]]
    assert [finding.observed for finding in verdict.findings] == pytest.approx(observed)
    assert [finding.model for finding in verdict.findings] == ["p"] * 5


def test_rules_may_be_a_file_and_models_several(frame, tmp_path):
    (tmp_path / "gate.toml").write_text('[[rule]]\nmax_value = 30\nmodel = "*"\n')
    frame.write_parquet(tmp_path / "a.parquet")
    right = frame.filter(frame["country"] == "de")
    names = dict(label="y", score=["p", "q"])
    verdict = truecal.check(truecal.read_models(right, **names), tmp_path / "gate.toml")
    assert [(finding.model, finding.status) for finding in verdict.findings] == [("p", "pass"), ("q", "fail")]
    assert verdict.exit_code == 1
    again = truecal.check(truecal.read_models(tmp_path / "a.parquet", **names), tmp_path / "gate.toml")
    assert again.findings[1].status == "fail"


def test_segments_get_the_replicates_that_their_p_values_need(frame):
    """Two segments at a limit of 0.005 need at least 400 replicates under Holm's adjustment."""
    verdict = check(frame, Rule("p_value", 0.005, segment="*"), by="country")
    assert [(finding.segment, finding.status) for finding in verdict.findings] == [
        ("country=de", "pass"),
        ("country=fr", "fail"),
    ]


def test_a_rule_about_segments_needs_their_columns(frame):
    told = "`by` must name the columns that make segments, since a rule is about '{}'; it is missing."
    with pytest.raises(ValueError, match=re.escape(told.format("*")) + "$"):
        check(frame, Rule("value", 15), Rule("value", 15, segment="*"))
    hint = "\n\nHint: the rule names 'country', 'kind'."
    with pytest.raises(ValueError, match=re.escape(told.format("country=d*, kind=*") + hint)):
        check(frame, Rule("value", 15, segment="country=d*, kind=*"))


def test_a_baseline_column_is_compared_pair_by_pair(frame):
    worse, same = Rule("worse", 0), Rule("non_inferior", 0)
    better = check(frame, worse, same, baseline="old", replicates=300)
    assert [finding.status for finding in better.findings] == ["pass", "pass"]
    back = check(frame, worse, score="q", baseline="p", replicates=300)
    difference = truecal.compare(read(frame, "q", baseline="p"), replicates=300, random_state=0)["tce"]
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
    low, high = truecal.evaluate(read(frame, "q", limits=coarse), metrics=["tce"]).bounds["tce"]
    rule = Rule("value", (low + high) / 2)
    assert low < high
    assert check(frame, rule, score="q", limits=coarse).status == "unknown"
    assert check(frame, rule, score="q").status in ("pass", "fail")
    parts = check(frame, Rule("value", 100, segment="*"), by="country", limits=coarse)
    assert "lies between" in parts.findings[0].reason


def test_a_baseline_file_is_matched_by_its_keys(frame, tmp_path):
    shuffled = frame.sample(fraction=1, shuffle=True, seed=0)
    shuffled.select("id", p="old").write_parquet(tmp_path / "old.parquet")
    paired = check(frame, Rule("worse", 0), baseline=str(tmp_path / "old.parquet"), on="id", replicates=100)
    column = check(frame, Rule("worse", 0), baseline="old", replicates=100)
    assert paired.findings == column.findings
    shuffled[:-5].select("id", p="old").write_parquet(tmp_path / "short.parquet")
    with pytest.raises(ValueError, match="one match in the baseline by 'id'; 5 of 6,000 have none"):
        check(frame, Rule("worse", 0), baseline=str(tmp_path / "short.parquet"), on="id")
    with pytest.raises(ValueError, match="`on` must name the columns"):
        check(frame, Rule("worse", 0), baseline=str(tmp_path / "old.parquet"))
    with pytest.raises(ValueError, match="`baseline` must be a score column .* or a file; it is 'older'"):
        check(frame, Rule("worse", 0), baseline="older")


def test_the_result_of_the_last_release_is_an_independent_baseline(frame, tmp_path):
    old = truecal.evaluate(read(frame, "old"), metrics=["tce"], intervals=300, random_state=1)
    (tmp_path / "old.json").write_text(old.to_json())
    verdict = check(frame, Rule("worse", 0), Rule("non_inferior", 0), baseline=tmp_path / "old.json", intervals=300)
    assert [finding.status for finding in verdict.findings] == ["pass", "pass"]
    assert (
        verdict.findings
        == check(frame, Rule("worse", 0), Rule("non_inferior", 0), baseline=old, intervals=300).findings
    )
    bare = truecal.evaluate(read(frame, "old"), metrics=["tce"])
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
        found = truecal.check(read(frame, by=by, on_null="drop"), [rule])
        assert found.notes[-1] == told
        assert repr(found).endswith(f"Note: {told}.")
        assert "2 were dropped" in found.to_markdown()
        assert "2 were dropped" in found._repr_html_()
        assert json.loads(found.to_json())["notes"][-1] == told


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
    found = check(gaps, Rule("worse", 50, min_rows=100), baseline="old", on_null="drop", replicates=50)
    assert [(finding.n, finding.status) for finding in found.findings] == [(60, "unknown")]
    told = "the baseline is compared on 60 of 6,000 rows: it has no score in the others"
    assert told in found.notes
    assert check(gaps, Rule("value", 50, min_rows=100), baseline="old", on_null="drop").findings[0].n == 6000


def test_frames_and_paths_are_refused_with_the_remedy(frame):
    for data in (frame, "a.parquet", {"p": frame}, {}):
        with pytest.raises(TypeError, match=r"(?s)`check` takes `Tallies`.*truecal.check\(truecal.read\(data"):
            truecal.check(data, [Rule("value", 15)])
    with pytest.raises(TypeError, match="(?s)`baseline` must be a `Result`.*it is DataFrame.*baseline=...\\)"):
        truecal.check(read(frame), [Rule("worse", 0)], baseline=frame)
