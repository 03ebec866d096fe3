"""Weights of rows: counts, importance weights, or sampling by label. Only counts are counted as rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from truecal._errors import option
from truecal.data._arrays import (
    AnyArray,
    Ints,
    check_lengths,
    count,
    objects_to_floats,
    read_column,
    show,
)
from truecal.data._notes import Note, NoteCode

MOST_COUNT = 2**46  # rows of a tally, up to which sums stay exact
ROWS_PER_LABEL = 5  # of each label, from which on one weight for each label is no coincidence


@dataclass(slots=True)
class WeightSpan:
    """The smallest and the largest weight of each label, over batches of rows."""

    low: dict[bool, float] = field(default_factory=dict)
    high: dict[bool, float] = field(default_factory=dict)
    rows: dict[bool, int] = field(default_factory=dict)

    def add(self, weight: AnyArray, label: AnyArray) -> None:
        """Add a batch of rows."""
        for positive in (False, True):
            weights = weight[np.asarray(label, dtype=np.bool_) == positive]
            if len(weights):
                self.low[positive] = min(float(weights.min()), self.low.get(positive, np.inf))
                self.high[positive] = max(float(weights.max()), self.high.get(positive, -np.inf))
                self.rows[positive] = self.rows.get(positive, 0) + len(weights)

    def by_label(self) -> tuple[float, float] | None:
        """Return the weight of every negative and of every positive, if these are two constants; else None."""
        if self.low != self.high or len(self.low) < 2 or self.low[False] == self.low[True]:
            return None
        return (self.low[False], self.low[True]) if min(self.rows.values()) >= ROWS_PER_LABEL else None

    def check(self, name: str) -> None:
        """Raise an error if the weights depend on the label alone: rows that were left out carry no information."""
        by_label = self.by_label()
        if by_label is None or not min(by_label) > 0:
            return
        negative, positive = by_label
        names = (
            ("negative_rate", positive / negative) if negative > positive else ("positive_rate", negative / positive)
        )
        raise ValueError(
            f"{name} must hold how often each row was seen; it is {negative:g} for every negative and {positive:g} for "
            f"every positive, as where rows were sampled by label.\n\nHint: leave the weights out and give "
            f"{option(names[0])} as {names[1]:.6g}: the share that was kept. If each row was really seen so often, "
            "repeat the rows."
        )

    @property
    def same(self) -> float | None:
        """The weight that all rows have; None if they differ."""
        ends = {*self.low.values(), *self.high.values()}
        return ends.pop() if len(ends) == 1 else None


def read_weights(sample_weight: Any, size: int, label: AnyArray | None = None) -> Ints:
    """Read frequencies: whole numbers from 0 on, since an exact test counts trials.

    Weights that are constant for each label of `label` are refused.
    """
    array = np.array(read_column(sample_weight, "sample_weight"))  # a copy: what is checked is what counts
    if array.dtype == object:
        array = objects_to_floats(array, "sample_weight")
    check_lengths(sample_weight=len(array), y_prob=size)
    if array.dtype.kind not in "biuf":
        raise TypeError(f"`sample_weight` must hold whole numbers; it holds {array.dtype}.")
    if label is not None:
        measure_weights(array, label).check("`sample_weight`")
    bad = find_fractions(array)
    if bad.any():
        first = int(np.argmax(bad))
        raise ValueError(
            "`sample_weight` must hold whole numbers from 0 to 2^46: the weight of a row is how often it was seen; "
            f"{count(bad)} not, the first is {show(array, first)} at position {first}.{advise_weights()}"
        )
    return array.astype(np.int64)


def measure_weights(weight: AnyArray, label: AnyArray) -> WeightSpan:
    """Return the span of the weights of each label."""
    span = WeightSpan()
    span.add(weight, label)
    return span


def note_equal_counts(weight: float | None, rows: int, distinct: int) -> tuple[Note, ...]:
    """Return a note if so many rows, none of them equal to another, all have the same count above 1."""
    if weight is None or not weight > 1 or distinct < rows:
        return ()
    return (Note.of(NoteCode.EQUAL_COUNTS, count=weight),)


def advise_weights() -> str:
    """Return a hint on the meanings of weights."""
    return (
        "\n\nHint: weights mean one of three things. How often a row was seen: whole numbers. How much it stands for "
        f"elsewhere, by its features alone: {option('importance_weight')}. That rows were sampled "
        f"by label: leave weights out "
        f"and give {option('negative_rate')}."
    )


def find_fractions(weight: Any) -> Any:
    """Return which weights are no whole numbers from 0 to 2^46."""
    with np.errstate(invalid="ignore"):
        return ~((weight >= 0) & (weight == np.floor(weight)) & (weight <= MOST_COUNT))
