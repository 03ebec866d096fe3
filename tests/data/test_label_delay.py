"""Labels that are still coming: the share that is known by an age."""

import numpy as np
import pytest

from truecal import LabelDelay
from truecal.data._label_delay import discount


def test_shares_are_linear_between_ages_and_constant_beyond():
    table = {0: 0.0, 7: 0.5, 30: 0.9, 31: 0.9, 90: 1.0}
    ages = np.concatenate([[-5.0, 1000.0], np.linspace(0, 90, 500), list(table)])
    np.testing.assert_allclose(
        LabelDelay("age", table).share(ages), np.interp(ages, list(table), list(table.values())), rtol=1e-15, atol=1e-16
    )
    assert LabelDelay("age", table).share(np.array(list(table), float)).tolist() == list(table.values())
    assert LabelDelay("age", {3: 0.25}).share(np.array([0.0, 3.0, 9.0])).tolist() == [0.25] * 3


def test_the_order_of_a_table_does_not_matter():
    assert LabelDelay("age", {30: 1, 0: 0}) == LabelDelay("age", {0: 0, 30: 1})


@pytest.mark.parametrize(
    ("shares", "error"),
    [
        ({}, TypeError),
        ([(0, 1)], TypeError),
        ({0: "a"}, TypeError),
        ({0: 0.5, 1: 0.4}, ValueError),
        ({0: -0.1}, ValueError),
        ({0: 1.1}, ValueError),
        ({np.inf: 1.0}, ValueError),
        ({0: np.nan}, ValueError),
    ],
)
def test_a_table_that_cannot_be_is_refused(shares, error):
    with pytest.raises(error, match="`label_delay` must map ages to shares"):
        LabelDelay("age", shares)


def test_predictions_are_discounted():
    assert discount(np.array([0.5, 1.5, 1.0]), [0.5, 0.5, 0.0]).tolist() == [0.25, 1.5, 0.0]
    with pytest.raises(
        ValueError, match=r"(?s)`label_delay` must hold the share .* first is 7.0 at position 1.*LabelDelay"
    ):
        discount(np.array([0.5, 0.5]), [1, 7])
    with pytest.raises(ValueError, match="`label_delay` has 1"):
        discount(np.array([0.5, 0.5]), [1])
