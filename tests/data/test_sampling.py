"""What the labels of sampled rows and flipped labels say of the population."""

import math
from fractions import Fraction

import numpy as np
import pytest

from truecal import Observations, Tally
from truecal.data import Cells, Pairs, Sampling

HOW = [
    Sampling(0.01),
    Sampling(0.5),
    Sampling(positive_rate=0.02),
    Sampling(0.2, 0.3),
    Sampling(label_noise=(0.01, 0.1)),
    Sampling(0.05, 0.9, (0.02, 0.03)),
]
P = np.concatenate([[0.0, 1e-300, 1e-12, 1e-6], np.linspace(0.001, 0.999, 57), [1 - 1e-6, 1 - 1e-12, 1.0]])


def exact(how, p):
    """The definition, in fractions: flipped first, then sampled by the label that came of it."""
    p, (f0, f1) = Fraction(p), map(Fraction, how.label_noise)
    one = p * (1 - f1) + (1 - p) * f0
    kept = one * Fraction(how.positive_rate)
    return kept / (kept + (1 - one) * Fraction(how.negative_rate))


@pytest.mark.parametrize("how", HOW, ids=repr)
def test_no_digit_is_lost_near_0_or_near_1(how):
    for p, q in zip(P.tolist(), how.to_sampled(P).tolist(), strict=True):
        right = exact(how, p)
        # a float near 1 cannot be nearer than 2^-54 to any number
        nearest = max(Fraction(2) ** -50 * min(right, 1 - right), Fraction(2) ** -53 if right > Fraction(1, 2) else 0)
        assert abs(Fraction(q) - right) <= nearest, p


@pytest.mark.parametrize("how", HOW, ids=repr)
def test_predicted_is_the_inverse_of_seen(how):
    np.testing.assert_allclose(how.to_population(how.to_sampled(P)), P, rtol=1e-10 if not how.noisy else 0, atol=1e-13)


def test_a_row_that_is_kept_is_positive_as_often_as_seen_says():
    rng = np.random.default_rng(0)
    how, p = Sampling(0.1, 0.7, (0.05, 0.2)), np.repeat([0.02, 0.3, 0.9], 200_000)
    truth = rng.random(len(p)) < p
    label = np.where(truth, rng.random(len(p)) >= 0.2, rng.random(len(p)) < 0.05)
    kept = rng.random(len(p)) < np.where(label, 0.7, 0.1)
    for each in (0.02, 0.3, 0.9):
        rows = label[kept & (p == each)]
        q = float(how.to_sampled(each))
        assert abs(rows.mean() - q) < 4 * math.sqrt(q * (1 - q) / len(rows))


def test_what_is_no_prediction_stays_as_it_is():
    wrong = np.array([-1.0, -1e-9, 1 + 1e-9, 55.0, np.inf])
    for how in HOW:
        assert how.to_sampled(wrong).tolist() == wrong.tolist()
        assert np.isnan(how.to_sampled(np.array([np.nan]))).all()


def test_rounding_makes_nothing_certain():
    assert Sampling(1e-6).to_sampled(np.array([1 - 1e-12]))[0] < 1
    assert Sampling(1e-6).to_sampled(np.array([1.0]))[0] == 1


def test_rows_and_positives_stand_for_those_of_the_population():
    how = Sampling(0.1, 0.5)
    assert (how.rows(30, 10), how.positives(30, 10)) == (10 / 0.5 + 20 / 0.1, 20)
    flipped = Sampling(label_noise=(0.1, 0.2))  # of 100 positives and 100 negatives 80 + 10 are labelled positive
    assert flipped.rows(200, 90) == 200
    assert flipped.positives(200, 90) == pytest.approx(100)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"negative_rate": 0}, "`negative_rate` must be the share of rows that was kept"),
        ({"negative_rate": 20}, "(?s)at most 1; it is 20.*Hint: where one row of 20 was kept it is 0.05"),
        ({"positive_rate": "0.1"}, "`positive_rate` must be the share"),
        ({"positive_rate": math.nan}, "`positive_rate` must be the share"),
        ({"negative_rate": True}, "`negative_rate` must be the share"),
        ({"label_noise": 0.1}, "`label_noise` must be two shares"),
        ({"label_noise": (0.5, 0.5)}, "together below 1"),
        ({"label_noise": (-0.1, 0.5)}, "each 0 or more"),
    ],
)
def test_what_cannot_be_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        Sampling(**given)


def test_notes_say_what_numbers_are_of():
    assert Sampling().notes == ()
    assert tuple(map(str, Sampling(0.05).notes)) == (
        "negatives were sampled 1 in 20; estimates describe the population",
    )
    assert str(Sampling(0.3, 0.5).notes[0]).startswith(
        "negatives were sampled at 30% and positives were sampled 1 in 2;"
    )
    assert "1% of negatives are labelled positive" in str(Sampling(label_noise=(0.01, 0)).notes[0])


def test_parts_of_different_labellings_do_not_add():
    rng = np.random.default_rng(1)
    p = rng.random(50).round(2)
    y = rng.random(50) < p
    for make in (
        lambda how: Tally.from_arrays(y, p, sampling=how),
        lambda how: Cells.grid(Tally.from_arrays(y, p, sampling=how), 8),
        lambda how: Cells.from_arrays(y, p, sampling=how),
        lambda how: Pairs.from_arrays(y, p, p, sampling=how),
        lambda how: Observations("y", "p", {(): Tally.from_arrays(y, p, sampling=how)}),
    ):
        one = make(Sampling(0.1))
        assert (one + make(Sampling(0.1))).sampling == Sampling(0.1)
        assert one == make(Sampling(0.1)) != make(Sampling())
        with pytest.raises(ValueError, match="to add; these have"):
            one + make(Sampling(0.2))


def test_a_part_keeps_its_labelling():
    how = Sampling(0.1, label_noise=(0.01, 0.02))
    tally = Tally.from_arrays([0, 1, 1, 0], [0.2, 0.2, 0.9, 0.1], [1, 2, 1, 3], sampling=how)
    grid = Cells.grid(tally, 8)
    parts = [tally.above(0.15), tally.top(0.5), tally.relabel(tally.pos), grid, grid.coarsen(4), grid.tally]
    parts += [grid.simplify(), grid.above(0.15), Cells.of(tally), Cells.of(grid)]
    assert all(part.sampling == how for part in parts)
    assert tally.above(0.2).n_rows == 4  # the threshold is one of predictions
    assert tally.population.score.tolist() == pytest.approx([0.1, 0.2, 0.9])


def test_top_is_of_the_population():
    rng = np.random.default_rng(2)
    p = rng.beta(0.5, 10, 100_000)
    y = rng.random(len(p)) < p
    kept = y | (rng.random(len(p)) < 0.05)
    tally = Tally.from_arrays(y[kept], p[kept], sampling=Sampling(0.05))
    lowest = float(Sampling(0.05).to_population(tally.top(0.1).score[0]))
    assert np.mean(p >= lowest) == pytest.approx(0.1, abs=0.005)


def test_files_keep_the_labelling(tmp_path):
    pytest.importorskip("polars")
    how = Sampling(0.1, 0.9, (0.01, 0.02))
    part = Tally.from_arrays([0, 1, 1, 0], [0.2, 0.2, 0.9, 0.1], sampling=how)
    for parts, bits in (({(): part}, None), ({(): Cells.grid(part, 6)}, 6)):
        made = Observations("y", "p", parts, bits=bits)
        assert made.sampling == how
        assert Observations.load(made.save(tmp_path / "a.parquet")) == made


def test_all_segments_share_a_labelling():
    parts = {(name,): Tally.from_arrays([0, 1], [0.2, 0.7], sampling=Sampling(share)) for name, share in
             (("a", 0.1), ("b", 0.2))}  # fmt: skip
    with pytest.raises(ValueError, match="in the same way to add"):
        Observations("y", "p", parts, ("g",))


def test_the_ends_stay_the_ends_with_label_noise():
    """A prediction of 0 or 1 has no odds; one that rounding moves away from there would."""
    for noise in np.linspace(0, 0.45, 46).round(3).tolist():
        for rate in (1.0, 0.7, 0.2, 0.01):
            for how in (Sampling(rate, label_noise=(noise, 0.1)), Sampling(1.0, rate, (0.1, noise))):
                ends = how.to_sampled(np.array([0.0, 1.0]))
                for q in (ends, ends * 3 / 3, np.cumsum(np.full((7, 2), ends), axis=0)[-1] / 7):
                    assert how.to_population(q).tolist() == [0, 1], (how, q)


def test_mirrored_sampling_is_that_of_the_other_label():
    how = Sampling(0.2, 0.5, (0.05, 0.01))
    np.testing.assert_allclose(how.mirrored.to_sampled(1 - P), 1 - how.to_sampled(P), rtol=1e-9, atol=1e-15)
    assert how.mirrored.mirrored == how
