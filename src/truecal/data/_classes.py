"""Observations of a model of several classes: of the top label, and of each class against the rest. They add."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from truecal._text import plural
from truecal.data._observations import Observations, coarsest


@dataclass(frozen=True, slots=True, repr=False)
class ClassObservations:
    """The observations of a model of several classes.

    `truecal.read(..., multiclass="classwise")` returns them. `a + b` and `sum` merge them, in any order.

    Parameters
    ----------
    top : Observations
        Of the most probable class: scores are its probabilities, and rows count as positive if it is correct.
    classes : mapping
        The observations of each class against the rest, by its name.
    predicted : mapping
        How many rows have the class as their most probable one, by its name.

    Examples
    --------
    >>> import polars, truecal
    >>> frame = polars.DataFrame({"pet": ["cat", "dog", "cat"], "p_cat": [0.7, 0.4, 0.8], "p_dog": [0.3, 0.6, 0.2]})
    >>> pets = truecal.read(frame, label="pet", score="p_*", multiclass="classwise")
    >>> pets
    ClassObservations(2 classes: 3 rows, 3 correct)
    >>> pets.classes["dog"]
    Observations(1 segment, p_dog for pet, exact: 3 rows, 1 positive)
    """

    top: Observations
    classes: Mapping[str, Observations]
    predicted: Mapping[str, int]

    def __post_init__(self) -> None:
        if self.top.outcome != "correct":
            raise ValueError(f'`top` must count correct predictions; its outcome is "{self.top.outcome}".')
        if list(self.classes) != list(self.predicted) or not self.classes:
            raise ValueError("`classes` and `predicted` must name the same classes, at least one, in the same order.")
        for name, observations in self.classes.items():
            if observations.n_rows != self.top.n_rows:
                raise ValueError(
                    f"Every class must have the rows of `top`, {self.top.n_rows:,}; {name!r} has "
                    f"{observations.n_rows:,}."
                )

    def __add__(self, other: object) -> ClassObservations:
        if not isinstance(other, ClassObservations):
            return NotImplemented
        if list(self.classes) != list(other.classes):
            first, second = (", ".join(map(repr, part.classes)) for part in (self, other))
            raise ValueError(f"Observations must be of the same classes to add; these are of {first} and of {second}.")
        return ClassObservations(
            self.top + other.top,
            {name: observations + other.classes[name] for name, observations in self.classes.items()},
            {name: count + other.predicted[name] for name, count in self.predicted.items()},
        )

    def __radd__(self, other: object) -> ClassObservations:
        return self if isinstance(other, int) and other == 0 else NotImplemented  # so that `sum` works

    __hash__ = None  # type: ignore[assignment]

    def group_by(
        self, by: str | Sequence[str] = (), periods: Mapping[str, str | None] | None = None
    ) -> ClassObservations:
        """Return the same rows by fewer columns and in longer periods; see `Observations.group_by`."""
        classes = {name: observations.group_by(by, periods) for name, observations in self.classes.items()}
        return ClassObservations(self.top.group_by(by, periods), classes, self.predicted)

    def by_class(self) -> Observations:
        """Return the classes as segments, named by the column of labels; every row counts once in each."""
        wholes = {(name,): observations.pooled() for name, observations in self.classes.items()}
        parts = {key: part.grouped for key, part in wholes.items()}
        bits = coarsest([observations.bits for observations in self.classes.values()])
        label, score, cluster = self.top.label, self.top.score, self.top.cluster
        return Observations(label, score, parts, (label,), bits=bits, cluster=cluster)

    @property
    def n_rows(self) -> int:
        """The number of rows, without those that were dropped."""
        return self.top.n_rows

    def __len__(self) -> int:
        return len(self.classes)

    def __repr__(self) -> str:
        rows = f"{plural(self.n_rows, 'row')}, {self.top.positives:,} correct"
        return f"ClassObservations({len(self.classes):,} classes: {rows})"
