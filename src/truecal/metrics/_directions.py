"""The direction of miscalibration, as a code."""

from __future__ import annotations

from truecal._codes import Code


class Direction(Code):
    """The direction of miscalibration: of the total, else of the slope of the predictions, else unclear."""

    UNDER = "under-predicts"
    OVER = "over-predicts"
    OVERCONFIDENT = "overconfident"
    UNDERCONFIDENT = "underconfident"
    UNCLEAR = "unclear"


def find_direction(low: float, high: float, expected: float = 1.0) -> Direction | None:
    """Return the direction that an interval shows: that of O/E, or that of a rate beside the predicted one.

    Examples
    --------
    >>> find_direction(1.1, 1.4), find_direction(0.7, 0.9), find_direction(0.9, 1.4)
    ('under-predicts', 'over-predicts', None)
    """
    return Direction.UNDER if low > expected else Direction.OVER if high < expected else None
