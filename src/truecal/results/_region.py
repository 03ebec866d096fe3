"""Which predictions were evaluated."""

from __future__ import annotations

from dataclasses import dataclass

from truecal.results._json import register


@register
@dataclass(frozen=True, slots=True)
class Region:
    """The predictions at or above a threshold, or the highest ones: a count, or a share of `total` predictions.

    Examples
    --------
    >>> import truecal
    >>> truecal.evaluate([0, 1] * 100, [0.2] * 100 + [0.3] * 100, threshold=0.25).region.threshold
    0.25
    """

    threshold: float | None = None
    top: int | float | None = None
    total: float | None = None
