"""What the labels of sampled rows and flipped labels say of the population."""

import math
from fractions import Fraction

import numpy as np
import pytest

from truecal import Tallies, Tally
from truecal.observations import CellSums, GridTally, Labelling, Pairs

HOW = [
    Labelling(0.01),
    Labelling(0.5),
    Labelling(kept_positives=0.02),
    Labelling(0.2, 0.3),
    Labelling(flip=(0.01, 0.1)),
    Labelling(0.05, 0.9, (0.02, 0.03)),
]
P = np.concatenate([[0.0, 1e-300, 1e-12, 1e-6], np.linspace(0.001, 0.999, 57), [1 - 1e-6, 1 - 1e-12, 1.0]])


def exact(how, p):
    """The definition, in fractions: flipped first, then sampled by the label that came of it."""
    p, (f0, f1) = Fraction(p), map(Fraction, how.flip)
    one = p * (1 - f1) + (1 - p) * f0
    kept = one * Fraction(how.kept_positives)
    return kept / (kept + (1 - one) * Fraction(how.kept_negatives))


@pytest.mark.parametrize("how", HOW, ids=repr)
def test_no_digit_is_lost_near_0_or_near_1(how):
    for p, q in zip(P.tolist(), how.seen(P).tolist(), strict=True):
        right = exact(how, p)
        # a float near 1 cannot be nearer than 2^-54 to any number
        nearest = max(Fraction(2) ** -50 * min(right, 1 - right), Fraction(2) ** -53 if right > Fraction(1, 2) else 0)
        assert abs(Fraction(q) - right) <= nearest, p


@pytest.mark.parametrize("how", HOW, ids=repr)
def test_predicted_is_the_inverse_of_seen(how):
    np.testing.assert_allclose(how.predicted(how.seen(P)), P, rtol=1e-10 if not how.flips else 0, atol=1e-13)


def test_a_row_that_is_kept_is_positive_as_often_as_seen_says():
    rng = np.random.default_rng(0)
    how, p = Labelling(0.1, 0.7, (0.05, 0.2)), np.repeat([0.02, 0.3, 0.9], 200_000)
    truth = rng.random(len(p)) < p
    label = np.where(truth, rng.random(len(p)) >= 0.2, rng.random(len(p)) < 0.05)
    kept = rng.random(len(p)) < np.where(label, 0.7, 0.1)
    for each in (0.02, 0.3, 0.9):
        rows = label[kept & (p == each)]
        q = float(how.seen(each))
        assert abs(rows.mean() - q) < 4 * math.sqrt(q * (1 - q) / len(rows))


def test_what_is_no_prediction_stays_as_it_is():
    wrong = np.array([-1.0, -1e-9, 1 + 1e-9, 55.0, np.inf])
    for how in HOW:
        assert how.seen(wrong).tolist() == wrong.tolist()
        assert np.isnan(how.seen(np.array([np.nan]))).all()


def test_rounding_makes_nothing_certain():
    assert Labelling(1e-6).seen(np.array([1 - 1e-12]))[0] < 1
    assert Labelling(1e-6).seen(np.array([1.0]))[0] == 1


def test_rows_and_positives_stand_for_those_of_the_population():
    how = Labelling(0.1, 0.5)
    assert (how.rows(30, 10), how.positives(30, 10)) == (10 / 0.5 + 20 / 0.1, 20)
    flipped = Labelling(flip=(0.1, 0.2))  # of 100 positives and 100 negatives 80 + 10 are labelled positive
    assert flipped.rows(200, 90) == 200
    assert flipped.positives(200, 90) == pytest.approx(100)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"kept_negatives": 0}, "`kept_negatives` must be the share of rows that was kept"),
        ({"kept_negatives": 20}, "(?s)at most 1; it is 20.*Hint: where one row of 20 was kept it is 0.05"),
        ({"kept_positives": "0.1"}, "`kept_positives` must be the share"),
        ({"kept_positives": math.nan}, "`kept_positives` must be the share"),
        ({"kept_negatives": True}, "`kept_negatives` must be the share"),
        ({"flip": 0.1}, "`flip` must be two shares"),
        ({"flip": (0.5, 0.5)}, "together below 1"),
        ({"flip": (-0.1, 0.5)}, "each 0 or more"),
    ],
)
def test_what_cannot_be_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        Labelling(**given)


def test_notes_say_what_numbers_are_of():
    assert Labelling().notes == ()
    assert Labelling(0.05).notes == ("negatives were kept 1 in 20; numbers are of the population",)
    assert Labelling(0.3, 0.5).notes[0].startswith("30 % of negatives were kept and positives were kept 1 in 2;")
    assert "1 % of negatives are taken to be labelled positive" in Labelling(flip=(0.01, 0)).notes[0]


def test_parts_of_different_labellings_do_not_add():
    rng = np.random.default_rng(1)
    p = rng.random(50).round(2)
    y = rng.random(50) < p
    for make in (
        lambda how: Tally.from_arrays(y, p, labelling=how),
        lambda how: GridTally.of(Tally.from_arrays(y, p, labelling=how), 8),
        lambda how: CellSums.from_arrays(y, p, labelling=how),
        lambda how: Pairs.from_arrays(y, p, p, labelling=how),
        lambda how: Tallies("y", "p", {(): Tally.from_arrays(y, p, labelling=how)}),
    ):
        one = make(Labelling(0.1))
        assert (one + make(Labelling(0.1))).labelling == Labelling(0.1)
        assert one == make(Labelling(0.1)) != make(Labelling())
        with pytest.raises(ValueError, match="to add; these have"):
            one + make(Labelling(0.2))


def test_a_part_keeps_its_labelling():
    how = Labelling(0.1, flip=(0.01, 0.02))
    tally = Tally.from_arrays([0, 1, 1, 0], [0.2, 0.2, 0.9, 0.1], [1, 2, 1, 3], labelling=how)
    grid = GridTally.of(tally, 8)
    parts = [tally.above(0.15), tally.top(0.5), tally.relabel(tally.pos), grid, grid.coarsen(4), grid.tally]
    parts += [grid.simplify(), grid.above(0.15), CellSums.of(tally), CellSums.of(grid)]
    assert all(part.labelling == how for part in parts)
    assert tally.above(0.2).n_rows == 4  # the threshold is one of predictions
    assert tally.population.score.tolist() == pytest.approx([0.1, 0.2, 0.9])


def test_top_is_of_the_population():
    rng = np.random.default_rng(2)
    p = rng.beta(0.5, 10, 100_000)
    y = rng.random(len(p)) < p
    kept = y | (rng.random(len(p)) < 0.05)
    tally = Tally.from_arrays(y[kept], p[kept], labelling=Labelling(0.05))
    lowest = float(Labelling(0.05).predicted(tally.top(0.1).score[0]))
    assert np.mean(p >= lowest) == pytest.approx(0.1, abs=0.005)


def test_files_keep_the_labelling(tmp_path):
    pytest.importorskip("polars")
    how = Labelling(0.1, 0.9, (0.01, 0.02))
    part = Tally.from_arrays([0, 1, 1, 0], [0.2, 0.2, 0.9, 0.1], labelling=how)
    for parts, bits in (({(): part}, None), ({(): GridTally.of(part, 6)}, 6)):
        made = Tallies("y", "p", parts, bits=bits)
        assert made.labelling == how
        assert Tallies.load(made.save(tmp_path / "a.parquet")) == made


def test_all_segments_share_a_labelling():
    parts = {(name,): Tally.from_arrays([0, 1], [0.2, 0.7], labelling=Labelling(share)) for name, share in
             (("a", 0.1), ("b", 0.2))}  # fmt: skip
    with pytest.raises(ValueError, match="in the same way to add"):
        Tallies("y", "p", parts, ("g",))
