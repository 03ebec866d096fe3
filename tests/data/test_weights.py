"""Weights that are no counts are told apart, and what they stand for is said."""

import numpy as np
import pytest

import truecal
from truecal import Tally
from truecal.data import WeightSpan

Y = np.array([0, 1] * 5)
P = np.linspace(0.1, 0.9, 10)


@pytest.mark.parametrize(
    ("negative", "positive", "hint"),
    [
        (10, 1, "`negative_rate` as 0.1"),
        (20.0, 1.0, "`negative_rate` as 0.05"),
        (2.5, 0.5, "`negative_rate` as 0.2"),
        (1, 4, "`positive_rate` as 0.25"),
    ],
)
def test_weights_by_label_are_rows_sampled_by_label(negative, positive, hint):
    weight = np.where(Y == 1, positive, negative)
    with pytest.raises(ValueError, match=f"(?s)as where rows were sampled by label.*{hint}"):
        truecal.evaluate(Y, P, sample_weight=weight)


def test_few_rows_prove_nothing():
    assert Tally.from_arrays([0, 1], [0.2, 0.7], [10, 1]).n_rows == 11


def test_counts_that_differ_within_a_label_are_counts():
    weight = np.where(Y == 1, 1, 10)
    weight[0] = 9
    assert Tally.from_arrays(Y, P, weight).n_rows == 9 + 40 + 5


def test_one_weight_for_all_is_asked_about():
    found = truecal.evaluate(Y, P, ["ece"], sample_weight=np.full(10, 10))
    assert "every row has the count 10, and no two rows are equal: are they 10 independent rows each?" in map(
        str, found.notes
    )
    for weight, p in ((np.ones(10, int), P), (np.arange(1, 11), P), (np.full(10, 10), np.full(10, 0.5))):
        assert not any(
            "independent" in str(note) for note in truecal.evaluate(Y, p, ["ece"], sample_weight=weight).notes
        )


def test_spans_add_over_batches():
    span = WeightSpan()
    for part in (slice(4), slice(4, None)):
        span.add(np.where(Y == 1, 1.0, 20.0)[part], Y[part])
    assert span.by_label() == (20.0, 1.0)
    span.add(np.array([19.0]), np.array([0]))
    assert span.by_label() is None
    assert span.same is None
