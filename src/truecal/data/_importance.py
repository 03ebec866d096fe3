"""Importance weights, which depend on features alone: how many rows of another population each row represents.

Tests of calibration leave weights out, since a row is as informative whatever its weight. Shares of predictions, gaps
and losses describe the other population, and are weighted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from truecal._errors import option
from truecal.data._arrays import AnyArray, Floats, Ints, check_lengths, read_numbers


@dataclass(frozen=True, slots=True, eq=False)
class Importance:
    """The weights of the rows at each score of a tally, added up: of all rows, and of the positive ones."""

    total: Floats
    positive: Floats

    @staticmethod
    def join(parts: Sequence[tuple[Importance | None, Floats]], whole: Floats) -> Importance | None:
        """Add the weights of several tallies, given the scores of each and those of all; None if none has any."""
        known = [(weights, np.searchsorted(whole, score)) for weights, score in parts if weights is not None]
        if not known:
            return None
        if len(known) < len(parts):
            raise ValueError(
                f"Observations must all have been read with {option('importance_weight')} to add, "
                f"or none; only some were."
            )
        total, positive = np.zeros(len(whole)), np.zeros(len(whole))
        for weights, positions in known:
            np.add.at(total, positions, weights.total)
            np.add.at(positive, positions, weights.positive)
        return Importance(total, positive)

    @classmethod
    def at(cls, position: Ints, size: int, weight: Floats, label: AnyArray) -> Importance:
        """Add up the weights of rows, given the position of each row's score among `size`."""
        total, positive = (np.bincount(position, column, size) for column in (weight, weight * label))
        return cls(np.asarray(total, dtype=np.float64), np.asarray(positive, dtype=np.float64))

    def tail(self, start: int) -> Importance:
        """Return the weights of the scores from a position on."""
        return Importance(self.total[start:], self.positive[start:])

    def relabel(self, n: Ints, pos: Ints) -> Importance:
        """Return the weights of the same rows with other labels; rows of one score share their weight equally."""
        return Importance(self.total, self.total * (pos / n))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Importance):
            return NotImplemented
        return np.array_equal(self.total, other.total) and np.array_equal(self.positive, other.positive)

    __hash__ = None  # type: ignore[assignment]


def check_importance(weights: Importance, n: Ints, pos: Ints) -> Importance:
    """Return weights; raise an error unless they fit these rows."""
    total, positive = (np.ascontiguousarray(column, dtype=np.float64) for column in (weights.total, weights.positive))
    right = total.shape == positive.shape == n.shape
    right = right and bool(np.isfinite(total).all() and (total > 0).all() and (positive >= 0).all())
    slack = 1 + 1e-9
    if not right or (positive > total * slack).any() or ((pos == 0) & (positive > 0)).any():
        raise ValueError(
            f"{option('importance_weight')} must hold the weights of the rows at each score, above "
            f"0, and of the positives "
            "among them; these are not."
        )
    return Importance(total, positive)


def read_importance(importance_weight: Any, size: int) -> Floats:
    """Read the weight of each row: any finite number above 0."""
    weight: Floats = read_numbers(importance_weight, "importance_weight")
    check_lengths(importance_weight=len(weight), y_prob=size)
    bad = ~((weight > 0) & (weight < np.inf))
    if bad.any():
        first = int(np.argmax(bad))
        raise ValueError(
            f"{option('importance_weight')} must hold numbers above 0; {int(bad.sum())} of "
            f"{len(bad)} are not, the first is "
            f"{weight[first].item()!r} at position {first}.\n\nHint: leave out rows of weight 0."
        )
    return weight
