"""The gate on recalibrated predictions: judged after the map, and no worse than before."""

from xml.etree import ElementTree

import numpy as np
import pytest

import truecal
from truecal.gate import Rule


def draw(rng, rows, factor, **more):
    p = rng.beta(1, 9, rows)
    return rng.random(rows) < factor * p / (1 - p + factor * p), p


@pytest.fixture
def recalibration(rng):
    """A map of a model whose odds are half of the true ones."""
    return truecal.recalibrate(*draw(rng, 6000, 2), "offset")


def read(y, p, **more):
    return truecal.Observations(
        "y", "p", {(): truecal.Tally.from_arrays(y, p, **more)}, cluster="who" if more else None
    )


def test_recalibrated_predictions_pass(recalibration, rng, tmp_path):
    data = read(*draw(rng, 6000, 2))
    assert truecal.check(data).status == "fail"
    found = truecal.check(data, recalibration=recalibration)
    assert [finding.status for finding in found.results] == ["pass", "pass"]
    (tmp_path / "map.json").write_text(recalibration.to_json())
    assert truecal.check(data, recalibration=tmp_path / "map.json").results == found.results
    assert "the original ones are the baseline" in str(found.notes[-1])


def test_a_map_that_harms_fails_and_says_so(recalibration, rng):
    data = read(*draw(rng, 6000, 1))  # right before it
    found = truecal.check(data, [Rule("worse", 0, metric="log_loss")], recalibration=recalibration)
    (finding,) = found.results
    assert finding.status == "fail"
    y, p = np.repeat(data.parts[()].pos, 1), data.parts[()].score
    q = recalibration.apply(p)
    worse = np.mean(np.where(y > 0, np.log(p / q), np.log1p(-p) - np.log1p(-q)))
    assert finding.observed == pytest.approx(worse)
    assert "entirely above the limit of 0" in finding.reason
    assert ElementTree.fromstring(found.to_junit()).get("failures") == "1"
    assert "entirely above the limit of 0" in found.to_markdown()


def test_the_very_rows_of_the_fit_are_refused(rng):
    y, p = draw(rng, 500, 2)
    for recalibration in (truecal.recalibrate(y, p, folds=0), truecal.recalibrate(read(y, p), folds=0)):
        with pytest.raises(ValueError, match=f"other rows than .* the same 500 rows, with {y.sum()} positives"):
            truecal.check(read(y[::-1], p[::-1]), recalibration=recalibration)
        with pytest.raises(ValueError, match="other rows"):
            truecal.analysis.validate_on(recalibration, read(y, p))
        other = np.where(np.arange(500) == 7, p / 2, p)
        assert truecal.check(read(y, other), recalibration=recalibration).results
    # rows of few distinct predictions may be others with the same sums
    few = truecal.recalibrate(y, p.round(1), folds=0)
    assert truecal.check(read(y, p.round(1)), recalibration=few).results


def test_too_few_rows_cannot_tell(recalibration, rng):
    found = truecal.check(read(*draw(rng, 60, 2)), recalibration=recalibration)
    assert found.status == "inconclusive"


def test_clusters_and_segments_are_kept(recalibration, rng):
    y, p = draw(rng, 2000, 2)
    ids = np.arange(2000) // 4
    own = truecal.analysis.recalibrate_observations(recalibration, read(y, p, cluster=ids))
    q = recalibration.apply(p)
    assert own.parts[()] == truecal.Tally.from_arrays(y, q, cluster=ids)
    assert own.baseline == truecal.data.Pairs.from_arrays(y, q, p, cluster=ids)
    parts = {(name,): truecal.Tally.from_arrays(*draw(rng, 2000, factor)) for name, factor in (("a", 1), ("b", 3))}
    data = truecal.Observations("y", "p", parts, by=("name",))
    each = truecal.recalibrate(data, by="name", folds=0)
    recalibrated = truecal.analysis.recalibrate_observations(each, data)
    for (name,), part in recalibrated.parts.items():
        score = data.parts[name,].score
        np.testing.assert_array_equal(part.score, each.apply(score, {"name": [name] * len(score)}))
    with pytest.raises(
        ValueError, match="`by` must name 'name', too: the map has an offset for each value; it names none"
    ):
        truecal.check(read(y, p), recalibration=each)


def test_what_does_not_fit_is_refused(recalibration, rng):
    data = read(*draw(rng, 100, 2))
    with pytest.raises(TypeError, match="`recalibration` must be a `Recalibration`"):
        truecal.check(data, recalibration=3)
    with pytest.raises(ValueError, match="may be given, not both"):
        truecal.check(data, recalibration=recalibration, baseline="old.json")
    with pytest.raises(ValueError, match="must be a file that truecal wrote"):
        truecal.check(data, recalibration=__file__)


@pytest.mark.parametrize(("kind", "unknown"), [(int, 0), (float, 0), (str, 900), (lambda i: i + 1, 300)])
def test_rows_of_segments_unknown_to_the_map_are_told(rng, kind, unknown):
    """Segments of another type, or that were absent: as many rows as there are of them, 300 each."""
    y, p = draw(rng, 900, 2)
    fitted = {"y": y, "p": p, "g": np.arange(900) % 3}
    recalibration = truecal.recalibrate(truecal.read(fitted, label="y", score="p", by="g"), by="g", folds=0)
    y, p = draw(rng, 900, 2)
    rows = {"y": y, "p": p, "g": [kind(i) for i in (np.arange(900) % 3).tolist()]}
    decision = truecal.check(truecal.read(rows, label="y", score="p", by="g"), recalibration=recalibration)
    told = [note.values["n"] for note in decision.notes if note.code == "segments unknown"]
    assert told == [unknown] * bool(unknown)
    assert (f"{unknown} rows of segments unknown to the map got the common map" in decision.to_junit()) == bool(unknown)
