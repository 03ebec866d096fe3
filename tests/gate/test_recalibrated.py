"""The gate on predictions that a map mends: judged after it, and no worse than before."""

from xml.etree import ElementTree

import numpy as np
import pytest

import truecal
from truecal.gate import Rule


def draw(rng, rows, factor, **more):
    p = rng.beta(1, 9, rows)
    return rng.random(rows) < factor * p / (1 - p + factor * p), p


@pytest.fixture
def mend(rng):
    """A map of a model whose odds are half of the true ones."""
    return truecal.recalibrate(*draw(rng, 6000, 2), "offset")


def read(y, p, **more):
    return truecal.Tallies("y", "p", {(): truecal.Tally.from_arrays(y, p, **more)}, cluster="who" if more else None)


def test_what_a_map_mends_passes(mend, rng, tmp_path):
    data = read(*draw(rng, 6000, 2))
    assert truecal.check(data).status == "fail"
    found = truecal.check(data, recalibration=mend)
    assert [finding.status for finding in found.findings] == ["pass", "pass"]
    (tmp_path / "map.json").write_text(mend.to_json())
    assert truecal.check(data, recalibration=tmp_path / "map.json").findings == found.findings
    assert "the baseline is what they were before" in found.notes[-1]


def test_a_map_that_harms_fails_and_says_so(mend, rng):
    data = read(*draw(rng, 6000, 1))  # right before it
    found = truecal.check(data, [Rule("worse", 0, metric="log_loss")], recalibration=mend)
    (finding,) = found.findings
    assert finding.status == "fail"
    y, p = np.repeat(data.parts[()].pos, 1), data.parts[()].score
    q = mend.apply(p)
    worse = np.mean(np.where(y > 0, np.log(p / q), np.log1p(-p) - np.log1p(-q)))
    assert finding.observed == pytest.approx(worse)
    assert "wholly above the limit of 0" in finding.reason
    assert ElementTree.fromstring(found.to_junit()).get("failures") == "1"
    assert "wholly above the limit of 0" in found.to_markdown()


def test_the_very_rows_of_the_fit_are_refused(rng):
    y, p = draw(rng, 500, 2)
    for mend in (truecal.recalibrate(y, p, folds=0), truecal.recalibrate(read(y, p), folds=0)):
        with pytest.raises(ValueError, match=f"other rows than .* the same 500 rows, by their {y.sum()} positives"):
            truecal.check(read(y[::-1], p[::-1]), recalibration=mend)
        with pytest.raises(ValueError, match="other rows"):
            truecal.analysis.prove_on(mend, read(y, p))
        other = np.where(np.arange(500) == 7, p / 2, p)
        assert truecal.check(read(y, other), recalibration=mend).findings
    # rows of few distinct predictions may be others with the same sums
    few = truecal.recalibrate(y, p.round(1), folds=0)
    assert truecal.check(read(y, p.round(1)), recalibration=few).findings


def test_too_few_rows_cannot_tell(mend, rng):
    found = truecal.check(read(*draw(rng, 60, 2)), recalibration=mend)
    assert found.status == "cannot tell"


def test_clusters_and_segments_are_kept(mend, rng):
    y, p = draw(rng, 2000, 2)
    ids = np.arange(2000) // 4
    own = truecal.analysis.mend_tallies(mend, read(y, p, cluster=ids))
    q = mend.apply(p)
    assert own.parts[()] == truecal.Tally.from_arrays(y, q, cluster=ids)
    assert own.baseline == truecal.observations.Pairs.from_arrays(y, q, p, cluster=ids)
    parts = {(name,): truecal.Tally.from_arrays(*draw(rng, 2000, factor)) for name, factor in (("a", 1), ("b", 3))}
    data = truecal.Tallies("y", "p", parts, by=("name",))
    each = truecal.recalibrate(data, by="name", folds=0)
    mended = truecal.analysis.mend_tallies(each, data)
    for (name,), part in mended.parts.items():
        score = data.parts[name,].score
        np.testing.assert_array_equal(part.score, each.apply(score, {"name": [name] * len(score)}))
    with pytest.raises(
        ValueError, match="`by` must name 'name', too: the map has an offset for each value; it names none"
    ):
        truecal.check(read(y, p), recalibration=each)


def test_what_does_not_fit_is_refused(mend, rng):
    data = read(*draw(rng, 100, 2))
    with pytest.raises(TypeError, match="`recalibration` must be a `Recalibration`"):
        truecal.check(data, recalibration=3)
    with pytest.raises(ValueError, match="may be given, not both"):
        truecal.check(data, recalibration=mend, baseline="old.json")
    with pytest.raises(ValueError, match="must be a file that truecal wrote"):
        truecal.check(data, recalibration=__file__)
