import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from truecal import Tally, _kernel

scores = st.one_of(
    st.sampled_from([0.0, -0.0, 5e-324, 1e-310, 0.25, 0.5, 1 - 2**-53, 1.0]), st.floats(0, 1), st.floats(0, 1, width=32)
)
rows = st.lists(st.tuples(scores, st.booleans()), min_size=1, max_size=60)


def naive(pairs):
    table = {}
    for score, label in pairs:
        n, pos = table.get(score + 0.0, (0, 0))
        table[score + 0.0] = (n + 1, pos + label)
    return [(score, *table[score]) for score in sorted(table)]


def as_list(tally):
    return list(zip(tally.score.tolist(), tally.n.tolist(), tally.pos.tolist(), strict=True))


def build(pairs, **kwargs):
    return Tally.from_arrays([label for _, label in pairs], [score for score, _ in pairs], **kwargs)


@given(rows)
def test_groups_equal_scores_like_a_dictionary(pairs):
    assert as_list(build(pairs)) == naive(pairs)


@given(rows, rows)
def test_sum_of_tallies_is_tally_of_all_rows(a, b):
    assert build(a) + build(b) == build(a + b)


@pytest.mark.slow
@given(rows, st.randoms())
def test_row_order_is_irrelevant(pairs, random):
    shuffled = random.sample(pairs, len(pairs))
    assert build(shuffled) == build(pairs)


@pytest.mark.slow
@given(st.lists(st.tuples(scores, st.booleans(), st.integers(0, 5)), min_size=1, max_size=40))
def test_weights_are_repetitions(triples):
    repeated = [(s, y) for s, y, w in triples for _ in range(w)]
    weights = [w for *_, w in triples]
    pairs = [(s, y) for s, y, _ in triples]
    if not repeated:
        with pytest.raises(ValueError, match="weight above 0; all are 0"):
            build(pairs, sample_weight=weights)
        return
    for kind in (np.int64, np.uint8, np.float64):
        assert build(pairs, sample_weight=np.array(weights, dtype=kind)) == build(repeated)


@pytest.mark.slow
@given(hnp.arrays(np.float32, st.integers(1, 30), elements=st.floats(0, 1, width=32)))
def test_float32_equals_its_float64_image(score):
    y = np.arange(len(score)) % 2
    assert Tally.from_arrays(y, score) == Tally.from_arrays(y, score.astype(np.float64))


@given(hnp.arrays(np.float16, st.integers(1, 30), elements=st.floats(0, 1, width=16)))
def test_float16_equals_its_float64_image(score):
    y = np.arange(len(score)) % 2
    assert Tally.from_arrays(y, score) == Tally.from_arrays(y, score.astype(np.float64))


@pytest.mark.parametrize("kind", ["?", "b", "B", "h", "H", "i", "I", "l", "L", "e", "f", "d", "g", ">i4", ">f8"])
def test_labels_of_every_number_type(kind, rng):
    p, y = rng.random(100), rng.integers(0, 2, 100)
    assert Tally.from_arrays(y.astype(kind), p) == Tally.from_arrays(y, p)


CROWDS = {
    "spread": lambda rng, size: rng.beta(0.5, 5, size),
    "near both ends": lambda rng, size: np.where(rng.random(size) < 0.5, 1 - 10.0 ** -rng.uniform(0, 15, size), 0.0),
    "below the normal numbers": lambda rng, size: 10.0 ** -rng.uniform(0, 320, size),
    "in few cells": lambda rng, size: 0.5 + rng.random(size) / 1000,
    "in one cell": lambda rng, size: 0.25 + rng.integers(0, 2**40, size) * 2.0**-54,
    "ties": lambda rng, size: np.round(rng.random(size), 3),
}


@pytest.mark.parametrize("size", [1, 33, 700, 5000, 2**18 + 1])
@pytest.mark.parametrize("crowd", CROWDS)
def test_rows_are_sorted_as_numpy_sorts_them(crowd, size, rng):
    """Few rows by digits of their bits, many in buckets, wherever scores crowd and whatever the threads."""
    score = CROWDS[crowd](rng, size)
    label = rng.random(size) < 0.5
    for scores, kind in ((score, np.int64), (score.astype(np.float32), np.int32)):
        key, found = np.empty(size, kind), np.empty(size, kind)
        assert _kernel.pack(scores, label, key) == (True, True)
        for threads in (1, 3):
            assert _kernel.pack_sorted(scores, label, found, threads) == (True, True)
            assert np.array_equal(found, np.sort(key))
        _kernel.sort_keys(key)
        assert np.array_equal(found, key)
    score[0] = np.nan
    assert _kernel.pack_sorted(score, label, np.empty(size, np.int64), 2) == (False, True)


def test_keys_of_no_score_are_not_sorted():
    for kind in (np.int64, np.int32):
        with pytest.raises(ValueError, match="keys must be 0 or more"):
            _kernel.sort_keys(np.array([3, -1], kind))


def test_many_keys_are_sorted_where_they_are(rng):
    """In buckets, and in buckets of those that are still too many: a lone key far away leaves all others in one."""
    for high in (2**62, 2**40, 3, 1):
        key = rng.integers(0, high, 600_000)
        key[7] = 2**62
        expected = np.sort(key)
        _kernel.sort_keys(key)
        assert np.array_equal(key, expected)


def test_strided_and_big_endian_scores(rng):
    p, y = rng.random((100, 2)), rng.integers(0, 2, 100)
    expected = Tally.from_arrays(y, p[:, 0].copy())
    assert Tally.from_arrays(y, p[:, 0]) == expected
    assert Tally.from_arrays(y, p[:, 0].astype(">f8")) == expected


def test_callers_arrays_stay_as_they_are(rng):
    p, y, w = rng.random(50), rng.integers(0, 2, 50), rng.integers(0, 3, 50)
    copies = p.copy(), y.copy(), w.copy()
    Tally.from_arrays(y, p, w)
    Tally.from_arrays(y, p.astype(np.float32))
    for now, then in zip((p, y, w), copies, strict=True):
        np.testing.assert_array_equal(now, then)


def test_a_tally_cannot_be_changed():
    tally = Tally.from_arrays([0, 1], [0.2, 0.3])
    with pytest.raises(ValueError, match="read-only"):
        tally.score[0] = 0.9
    with pytest.raises(AttributeError):
        tally.n = tally.pos


def test_length_repr_equality_and_totals():
    tally = Tally.from_arrays([0, 1, 1, 0], [0.2, 0.2, 0.9, 0.1])
    assert len(tally) == 3
    assert (tally.n_rows, tally.positives) == (4, 2)
    assert repr(tally) == "Tally(3 scores in [0.1, 0.9], 4 rows, 2 positive)"
    assert tally != Tally.from_arrays([0, 1, 1, 1], [0.2, 0.2, 0.9, 0.1])
    assert tally != "tally"
    with pytest.raises(TypeError):
        hash(tally)
    with pytest.raises(TypeError):
        tally + 1


def test_empty_tallies_add():
    nothing = Tally(np.array([]), np.array([], int), np.array([], int))
    tally = Tally.from_arrays([0, 1], [0.2, 0.3])
    assert nothing + tally == tally == tally + nothing
    assert nothing + nothing == nothing
    assert repr(nothing) == "Tally(empty)"


@pytest.mark.parametrize(
    ("score", "n", "pos", "error"),
    [
        ([0.2, 0.2], [1, 1], [0, 1], "`score` must increase strictly; the first that breaks this is 0.2 at position 1"),
        ([0.2, 1.2], [1, 1], [0, 1], r"`score` must lie in \[0, 1\]; the first that breaks this is 1.2 at position 1"),
        ([0.2, np.nan], [1, 1], [0, 1], r"`score` must lie in \[0, 1\]"),
        ([0.2], [0], [0], "`n` must be 1 or more; the first that breaks this is 0 at position 0"),
        ([0.2], [2], [3], r"`pos` must lie in 0..n; the first that breaks this is 3 at position 0"),
        ([0.2], [2, 3], [1], "must be columns of one length"),
    ],
)
def test_impossible_tallies_are_refused(score, n, pos, error):
    with pytest.raises(ValueError, match=error):
        Tally(np.array(score), np.array(n), np.array(pos))


def test_too_many_rows_are_refused():
    many = Tally(np.array([0.5]), np.array([2**46]), np.array([3]))
    with pytest.raises(ValueError, match=r"at most 2\^46 rows"):
        many + many
    with pytest.raises(ValueError, match=r"at most 2\^46 rows"):
        Tally.from_arrays([0, 1], [0.1, 0.2], [2**46, 1])
    # the sum of 2^46 halves is exact: the mean is the score
    assert Tally(np.array([0.25]), np.array([2**46]), np.array([0])).n_rows == 2**46


def test_tallies_can_be_summed():
    parts = [Tally.from_arrays([0, 1], [0.2, s]) for s in (0.3, 0.4, 0.2)]
    assert sum(parts) == parts[0] + parts[1] + parts[2]


class TestRegions:
    tally = Tally(np.array([0.1, 0.2, 0.5, 0.9]), np.array([5, 3, 4, 2]), np.array([0, 1, 2, 2]))

    def test_above_keeps_scores_from_the_threshold_on(self):
        assert self.tally.above(0.2).score.tolist() == [0.2, 0.5, 0.9]
        assert self.tally.above(0.21).n_rows == 6
        assert self.tally.above(0) == self.tally

    def test_top_keeps_ties_of_the_last(self):
        assert self.tally.top(2).n_rows == 2
        assert self.tally.top(3).n_rows == 6  # the third is tied with three others
        assert self.tally.top(0.5).n_rows == 9  # 7 of 14, the seventh tied with two
        assert self.tally.top(1.0) == self.tally == self.tally.top(14)

    def test_empty_regions_are_refused(self):
        with pytest.raises(ValueError, match="must leave some rows; the largest score is below 0.95"):
            self.tally.above(0.95)
        for bad in (0, 15, 0.0, 1.1, -1, True):
            with pytest.raises(ValueError, match="`top` must be a count from 1 to 14 or a share"):
                self.tally.top(bad)
        with pytest.raises(ValueError, match=r"`threshold` must lie in \[0, 1\]"):
            self.tally.above(2)


def test_counts_must_be_integers():
    with pytest.raises(TypeError, match="`n` must hold integers; it holds float64"):
        Tally(np.array([0.2]), np.array([1.5]), np.array([1]))
