"""How the rows of a table miss."""

from __future__ import annotations

import math
from collections.abc import Sequence

from truecal.data import Bools, Floats
from truecal.metrics import Direction, find_direction


def find_directions(
    miscalibrated: Bools, ratio: Floats, low: Floats, high: Floats, slope: Sequence[Direction | None]
) -> list[Direction | None]:
    """The direction of each miscalibrated row, by its total, else by its slope, else unclear; None for the others."""
    rows = zip(miscalibrated.tolist(), ratio.tolist(), low.tolist(), high.tolist(), slope, strict=True)
    return [
        (_find_total(value, start, end) or turned or Direction.UNCLEAR) if off else None
        for off, value, start, end, turned in rows
    ]


def _find_total(ratio: float, low: float, high: float) -> Direction | None:
    """The direction that O/E and its interval show; it is infinite if none was expected."""
    return Direction.UNDER if math.isinf(ratio) else find_direction(low, high)
