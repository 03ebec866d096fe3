"""How rows got their labels and their place in the data: sampled by label, or with some labels flipped.

A row of the population has the prediction p. Its label is wrong with a probability that depends on the true one, and
then the row is kept with a probability that depends on the label as it stands: rows are sampled by labels that are
noisy already. So among the rows that are there, such a row is labelled positive with the probability

    p1 = p (1 - f1) + (1 - p) f0,    q = k1 p1 / (k1 p1 + k0 (1 - p1)),

f0 and f1 the shares of negatives and positives whose label is flipped, k0 and k1 the shares of labelled negatives and
positives that are kept. The predictions p are right for the population exactly if q is right for the rows that are
there, so whatever is tested is tested on q, and nothing is lost. What people read is about p and about the population:
each positive row stands for 1 / k1 rows, each negative one for 1 / k0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truecal._errors import option

Floats = NDArray[np.float64]
LEAST = 1e-9  # the smallest share of rows that may be kept
LAST = 1 - 2.0**-53  # the largest float below 1


def _give(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True, repr=False)
class Labelling:
    """Which share of negatives and of positives was kept, and which share of each has a flipped label.

    Parameters
    ----------
    kept_negatives, kept_positives : float
        The shares of rows that are in the data, by their label; above 0 and at most 1.
    flip : pair of float
        The shares of negatives that are labelled positive, and of positives that are labelled negative; less than 1
        together.
    late : bool
        Whether labels are still coming: scores are then of positives that should have come by now.

    Examples
    --------
    >>> Labelling(kept_negatives=0.05)
    Labelling(kept_negatives=0.05)
    >>> round(float(Labelling(kept_negatives=0.05).seen(0.01)), 4)  # of 100 rows 1 positive and 5 of 99 negatives
    0.1681
    """

    kept_negatives: float = 1.0
    kept_positives: float = 1.0
    flip: tuple[float, float] = (0.0, 0.0)
    late: bool = False

    def __post_init__(self) -> None:
        for name in ("kept_negatives", "kept_positives"):
            object.__setattr__(self, name, _read_share(name, getattr(self, name)))
        object.__setattr__(self, "flip", _read_flip(self.flip))

    def __repr__(self) -> str:
        own = ((entry.name, getattr(self, entry.name), entry.default) for entry in fields(self))
        return f"Labelling({', '.join(f'{name}={value!r}' for name, value, usual in own if value != usual)})"

    @property
    def plain(self) -> bool:
        """Whether all rows are there with the labels that they have, or have so far."""
        return self.kept_negatives == self.kept_positives == 1.0 and not self.flips

    @property
    def flips(self) -> bool:
        """Whether labels may be wrong."""
        return self.flip != (0.0, 0.0)

    def seen(
        self,
        p: Any,
        where: Callable[[Any, Any, Any], Any] = np.where,
        hold: Callable[[Any], Any] = _give,
    ) -> Any:
        """Return the probability that a row of prediction p is labelled positive, given that it is there.

        It increases with p. What is no prediction, outside of [0, 1] or NaN, stays as it is. `where` and `hold` are as
        in `truecal.observations.cell`: every engine computes the same to the last bit.
        """
        if self.plain:
            return p
        f0, f1 = self.flip
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # products and sums of what is not negative, so that no digits cancel near 0 or near 1
            one = hold((p * (1.0 - f1) + (1.0 - p) * f0) * self.kept_positives)
            zero = hold(((1.0 - p) * (1.0 - f0) + p * f1) * self.kept_negatives)
            total = hold(one + zero)
            q = hold(where(one < zero, one / total, 1.0 - zero / total))
            q = where((q == 1.0) & (zero > 0.0), LAST, q)  # rounding makes nothing certain
            return where((p >= 0.0) & (p <= 1.0), q, p)

    def predicted(self, q: Floats | float) -> Floats:
        """Return the prediction p of which q is what `seen` gives: its inverse, within [0, 1]."""
        q = np.asarray(q, dtype=np.float64)
        if self.plain:
            return q
        f0, f1 = self.flip
        one, zero = q * self.kept_negatives, (1.0 - q) * self.kept_positives
        low, high = one / (one + zero), zero / (one + zero)
        sure = 1.0 - f0 - f1
        found: Floats = np.clip(np.where(one < zero, (low - f0) / sure, 1.0 - (high - f1) / sure), 0.0, 1.0)
        return found

    def slope(self, p: Floats) -> Floats:
        """Return by how much `seen` grows with p."""
        f0, f1 = self.flip
        one, k0, k1 = p * (1.0 - f1) + (1.0 - p) * f0, self.kept_negatives, self.kept_positives
        return np.asarray(k0 * k1 * (1.0 - f0 - f1) / (k1 * one + k0 * (1.0 - one)) ** 2)

    def rows(self, n: Any, pos: Any) -> Any:
        """Return how many rows of the population n rows stand for, `pos` of them positive."""
        return n if self.plain else pos / self.kept_positives + (n - pos) / self.kept_negatives

    def positives(self, n: Any, pos: Any) -> Any:
        """Return how many positives of the population n rows stand for, `pos` of them labelled positive.

        With flipped labels this is an estimate of the true positives, and may fall below 0 in few rows.
        """
        if self.plain:
            return pos
        f0, f1 = self.flip
        return (pos / self.kept_positives - f0 * self.rows(n, pos)) / (1.0 - f0 - f1)

    def expected_rows(self, q: Any) -> Any:
        """Return how many rows of the population a row stands for, whose seen probability is q, by that alone."""
        return q / self.kept_positives + (1.0 - q) / self.kept_negatives

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of numbers must know, where these are of the population."""
        return self.describe("of the population", "of the true labels")

    @property
    def notes_on_rows(self) -> tuple[str, ...]:
        """What a reader of numbers must know, where these are of the rows that are there."""
        return self.describe("of the rows that are there", "of the labels as they are")

    def describe(self, rows: str, labels: str) -> tuple[str, ...]:
        """How rows got their labels, in words, and what numbers are of."""
        found = ["labels are still coming; predictions are of positives that should have come by now"] * self.late
        kept = (("negatives", self.kept_negatives), ("positives", self.kept_positives))
        words = [_describe_kept(what, share) for what, share in kept if share < 1]
        if words:
            found.append(f"{' and '.join(words)}; numbers are {rows}")
        if self.flips:
            f0, f1 = self.flip
            found.append(
                f"{100 * f0:.3g} % of negatives are taken to be labelled positive and {100 * f1:.3g} % of positives "
                f"negative; numbers are {labels}"
            )
        return tuple(found)


def check_labelling(given: object) -> Labelling:
    """Return a labelling; raise an error unless it is one."""
    if not isinstance(given, Labelling):
        raise TypeError(f"{option('labelling')} must be a `Labelling`; it is {given!r}.")
    return given


def check_same(first: Labelling, second: Labelling) -> Labelling:
    """Return the labelling that two parts share; raise an error unless they do."""
    if first != second:
        raise ValueError(
            f"Parts must have got their labels in the same way to add; these have {first!r} and {second!r}."
        )
    return first


def _read_share(name: str, given: Any) -> float:
    number = _read_number(given)
    if not LEAST <= number <= 1:
        raise ValueError(
            f"{option(name)} must be the share of rows that was kept, above 0 (from {LEAST:g}) and at most 1; it is "
            f"{given!r}.{_suggest(name, number)}"
        )
    return number


def _suggest(name: str, number: float) -> str:
    if not 1 < number <= 1 / LEAST:
        return ""
    return f"\n\nHint: where one row of {number:g} was kept it is {1 / number:.4g}."


def _read_flip(given: Any) -> tuple[float, float]:
    pair = tuple(given) if isinstance(given, (tuple, list)) else ()
    shares = [_read_number(value) for value in pair]
    if len(shares) != 2 or not all(0 <= share < 1 for share in shares) or not sum(shares) < 1:
        raise ValueError(
            f"{option('flip')} must be two shares, of negatives labelled positive and of positives labelled negative, "
            f"each 0 or more and together below 1; it is {given!r}."
        )
    return shares[0], shares[1]


def _read_number(given: Any) -> float:
    """A plain number as a float, else NaN."""
    known = isinstance(given, (int, float, np.integer, np.floating)) and not isinstance(given, bool)
    if not known or (isinstance(given, int) and abs(given) > 10**300):
        return float("nan")
    return float(given)


def _describe_kept(what: str, share: float) -> str:
    whole = round(1 / share)
    if abs(whole * share - 1) < 1e-9:
        return f"{what} were kept 1 in {whole:,}"
    return f"{100 * share:.4g} % of {what} were kept"


AS_THEY_ARE = Labelling()
