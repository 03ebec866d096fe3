"""Label delay: the share of positives that is known at some age."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from truecal._errors import option
from truecal.data._arrays import AnyArray, check_lengths, read_numbers

Knot = tuple[float, float]


@dataclass(frozen=True, slots=True, init=False)
class LabelDelay:
    """The share of positives that are known by an age, from a table: linear between its ages, constant beyond them.

    A row of prediction p is known to be positive by its age with the probability p F(age), if the model is calibrated.
    So rows that are too young for `label_lag` can be evaluated.

    Parameters
    ----------
    age : str
        The column of ages, in whatever unit the table has.
    shares : mapping
        Ages and the shares of positives that are known then, which do not decrease: {0: 0, 7: 0.5, 30: 1}.

    Examples
    --------
    >>> late = LabelDelay("days", {0: 0, 7: 0.5, 30: 1})
    >>> late.share(np.array([0, 3.5, 7, 18.5, 400])).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """

    age: str
    knots: tuple[Knot, ...]

    def __init__(self, age: str, shares: Mapping[Any, Any]) -> None:
        if not isinstance(age, str):
            raise TypeError(f"{option('age')} must be the name of a column; it is {age!r}.")
        object.__setattr__(self, "age", age)
        object.__setattr__(self, "knots", _read_knots(shares))

    def share(self, age: Any, where: Callable[[Any, Any, Any], Any] = np.where) -> Any:
        """Return the share of positives that are known by an age: an array, or an expression as in `cell`."""
        (low, first), (high, last) = self.knots[0], self.knots[-1]
        between = first if len(self.knots) == 1 else self._interpolate(age, self.knots, where)
        return where(age <= low, first, where(age >= high, last, between))

    def _interpolate(self, age: Any, knots: tuple[Knot, ...], where: Callable[[Any, Any, Any], Any]) -> Any:
        """Halve the table, so that expressions are nested as few times as possible."""
        if len(knots) == 2:
            (low, first), (high, last) = knots
            share = first + (age - low) * ((last - first) / (high - low))
            return where(share > last, last, share)
        middle = len(knots) // 2
        below, above = (self._interpolate(age, part, where) for part in (knots[: middle + 1], knots[middle:]))
        return where(age < knots[middle][0], below, above)


def _read_knots(shares: Any) -> tuple[Knot, ...]:
    rule = f"{option('label_delay')} must map ages to shares in [0, 1] that do not decrease"
    if not isinstance(shares, Mapping) or not shares:
        raise TypeError(f"{rule}, such as {{0: 0, 7: 0.5, 30: 1}}; it is {shares!r}.")
    try:
        knots = tuple(sorted((float(age), float(share)) for age, share in shares.items()))
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{rule}; they are {shares!r}.") from None
    ages, values = (np.array(column) for column in zip(*knots, strict=True))
    if not np.isfinite(ages).all() or not ((values >= 0) & (values <= 1)).all() or (np.diff(values) < 0).any():
        raise ValueError(f"{rule}; they are {dict(knots)}.")
    return knots


def discount(score: AnyArray, shares: Any) -> AnyArray:
    """Return the probabilities that rows are known to be positive by now, given the share of positives known."""
    if isinstance(shares, (str, LabelDelay)):
        raise TypeError(
            f"{option('label_delay')} must be an array of shares, one for each row, where rows are arrays; it is "
            f"{shares!r}.\n\nHint: `LabelDelay(column, table).share(ages)` turns ages into shares."
        )
    share = read_numbers(shares, "label_delay")
    check_lengths(label_delay=len(share), y_prob=len(score))
    bad = ~((share >= 0) & (share <= 1))
    if bad.any():
        first = int(np.argmax(bad))
        raise ValueError(
            f"{option('label_delay')} must hold the share of positives that are known for each row, in [0, 1]; "
            f"{int(bad.sum())} of {len(bad)} values are not, the first is {share[first].item()!r} at position {first}."
            "\n\nHint: `LabelDelay(column, table).share(ages)` turns ages into shares."
        )
    p = score.astype(np.float64)
    return np.where((p >= 0) & (p <= 1), p * share, p)
