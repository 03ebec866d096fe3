"""Observations and rows that several tests use."""

import dataclasses
from datetime import date

import numpy as np

import truecal
from truecal import Observations, Tally
from truecal.data import Cells, ScoreSums
from truecal.metrics import TCE

FIRST = date(2024, 1, 1)
TALLY = Tally([0.25, 0.5], [3, 2], [1, 0])
EXACT = Observations("y", "p", {("at", FIRST): TALLY, ("de", FIRST): TALLY}, ("country", "day"), {"day": "1d"})
GRIDDED = dataclasses.replace(EXACT, parts={key: Cells.grid(part, 13) for key, part in EXACT.parts.items()}, bits=13)


def make_grid(bits, key, n, pos, score_sum, low, high):
    """The cells of a grid, which checks them."""
    return Cells(bits, key, n, pos, ScoreSums(score_sum, low, high))


def rows(rng, count, days=7, segments=5):
    """Columns of a frame: labels, scores with ties, zeros and ones, a segment and a day."""
    score = rng.beta(0.5, 3, size=count)
    score[::3] = score[::3].round(2)
    return {
        "y": rng.random(count) < score,
        "p": score,
        "segment": rng.integers(0, segments, size=count),
        "day": np.datetime64(FIRST) + rng.integers(0, days, size=count),
    }


def alike(a, b):
    """Whether two tallies are the same, but for the rounding of sums."""
    assert [getattr(a, name) for name in ("label", "score", "by", "periods", "bits")] == [
        getattr(b, name) for name in ("label", "score", "by", "periods", "bits")
    ]
    assert list(a.parts) == list(b.parts)
    if a.bits is None:
        assert a == b
        return True
    assert [*map(len, a.parts.values())] == [*map(len, b.parts.values())]
    for name in ("key", "n", "pos", "low", "high", "score_sum"):
        one, other = (np.concatenate([getattr(part, name) for part in some.parts.values()]) for some in (a, b))
        np.testing.assert_allclose(one, other, rtol=1e-9 if name == "score_sum" else 0, atol=0)
    return True


def identical(a, b):
    """Equal, and of the same types."""
    return a == b and [[type(v) for v in key] for key in a.parts] == [[type(v) for v in key] for key in b.parts]


def judge_segments(parts, metric=TCE, *, by=("segment",), **options):
    """`truecal.segments` for tallies, or cells, by their segments."""
    bits = getattr(next(iter(parts.values())), "bits", None)
    return truecal.segments(Observations("y", "p", parts, by, bits=bits), metric, **options)


def judge_windows(parts, metric=TCE, *, every=None, **options):
    """`truecal.drift` for tallies, or cells, by where their windows begin."""
    bits = getattr(next(iter(parts.values())), "bits", None)
    keyed = {(start,): part for start, part in parts.items()}
    return truecal.drift(Observations("y", "p", keyed, ("window",), {"window": every}, bits), metric, **options)
