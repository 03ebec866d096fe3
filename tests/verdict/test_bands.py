"""All predictions in a few ranges of scores: nothing is lost, nothing is called off without proof."""

import numpy as np
import pytest

from truecal.data import Cells
from truecal.metrics import PoissonBinomial, Relative, find_odds_ratios
from truecal.verdict import find_score_bands


def cells(rng, rows=5000, factor=1.0, above=0.0):
    p = rng.beta(0.5, 5, size=rows)
    truth = np.where(p > above, np.minimum(factor * p, 1), p)
    return Cells.from_arrays(rng.random(rows) < truth, p)


@pytest.mark.parametrize("factor", [0.5, 1.0, 1.7])
def test_every_row_is_in_one_range(rng, factor):
    data = cells(rng, factor=factor)
    found = find_score_bands(data)
    assert 1 <= len(found) <= 5
    assert sum(each.rows for each in found) == data.n_rows
    assert sum(each.observed for each in found) == data.positives
    assert sum(each.expected for each in found) == pytest.approx(float(data.expected.sum()))
    ends = [end for each in found for end in (each.low, each.high)]
    assert ends == sorted(ends)


def test_an_error_is_found_where_it_is():
    found = find_score_bands(cells(np.random.default_rng(0), 50_000, factor=0.5, above=0.3))
    wrong = [each for each in found if each.direction]
    assert {each.direction for each in wrong} == {"over-predicts"}
    assert min(each.low for each in wrong) > 0.25  # the error begins at 0.3; windows have a width
    assert found[-1] in wrong
    assert 0.45 < sum(each.observed for each in wrong) / sum(each.expected for each in wrong) < 0.65  # half from 0.3 on


def test_a_right_model_has_a_range_that_is_off_in_at_most_the_level_of_cases(rng):
    """At most 5 % of models; of 200 at most 18 with a probability of 99 % (binomial quantile)."""
    wrong = sum(any(each.direction for each in find_score_bands(cells(rng, 1500))) for _ in range(200))
    assert wrong <= 18


def test_intervals_of_all_ranges_hold_together(rng):
    """Bonferroni: four fifths of the significance are shared by the ranges; the rest is that of cuts by labels."""
    data = cells(rng)
    found = find_score_bands(data)
    begin = np.searchsorted(np.cumsum(data.n), np.cumsum([0, *(each.rows for each in found)]), side="right")
    alone = find_odds_ratios(PoissonBinomial.of(data), begin[:-1], begin[1:], 0.8 * 0.05 / len(found))
    assert [each.odds_ratio for each in found] == list(alone)


def test_labels_cut_ranges_only_where_a_window_is_proven_at_a_fifth_of_the_significance():
    """Ten windows of one score each: Holm multiplies the smallest p-value by ten. Of 1,000 rows at 0.1, 132 positives
    have 20 P(X >= 132) = 0.0139, and 133 have 0.0099 (SciPy's binomial distribution)."""
    p = np.arange(1, 11) / 20
    for positives, low in ((132, 0.05), (133, 0.1)):
        y = np.concatenate([np.arange(1000) < k for k in (50, positives, *np.round(1000 * p[2:]))])
        found = find_score_bands(Cells.from_arrays(y, np.repeat(p, 1000)))
        assert next(each for each in found if each.high >= 0.1).low == low


def test_intervals_and_directions_agree(rng):
    for factor in (0.6, 1.0, 1.6):
        for each in find_score_bands(cells(rng, factor=factor)):
            low, high = each.odds_ratio.ratio_low, each.odds_ratio.ratio_high
            assert each.direction == ("under-predicts" if low > 1 else "over-predicts" if high < 1 else None)


def test_little_evidence_is_not_cut(rng):
    """Sixty rows of about 0.09: the sum of p (1 - p) is below 10, so no two parts of 5 can be cut."""
    assert len(find_score_bands(cells(rng, 60))) == 1
    assert len(find_score_bands(Cells.from_arrays([0, 1], [0.0, 1.0]))) == 1


def test_a_tolerance_excuses_what_lies_within(rng):
    data = cells(rng, 20_000, factor=1.15)
    assert any(each.direction for each in find_score_bands(data))
    assert not any(each.direction for each in find_score_bands(data, tolerance=Relative(0.3)))
