"""Sampling: rows that were sampled by label, label noise and label delay.

A row of the population has the prediction p. Its label is wrong with a probability that depends on the true label, and
then the row is sampled with a probability that depends on the noisy label. So a row of the sample is labelled positive
with the probability

    p1 = p (1 - f1) + (1 - p) f0,    q = k1 p1 / (k1 p1 + k0 (1 - p1)),

f0 and f1 the false-positive and false-negative rates of the labels, k0 and k1 the sampling rates of rows labelled
negative and positive. The predictions p are calibrated for the population exactly if q is calibrated for the sample, so
tests use q and lose nothing. Estimates describe p and the population: each row labelled positive represents 1 / k1
rows, each row labelled negative 1 / k0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from truecal._errors import option
from truecal.data._arrays import Floats, read_numbers
from truecal.data._label_delay import LabelDelay, discount
from truecal.data._notes import Note, NoteCode

LEAST_RATE = 1e-9  # the smallest sampling rate
BELOW_ONE = 1 - 2.0**-53  # the largest float below 1
ROUNDING = 16 * 2.0**-52  # of a sampled probability: that of its own and of the mean of equal ones


def _identity(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Sampling:
    """How rows were sampled by label, with label noise and label delay.

    Parameters
    ----------
    negative_rate, positive_rate : float
        The sampling rates of rows labelled negative and positive; above 0 and at most 1.
    label_noise : pair of float
        The false-positive and the false-negative rate of the labels; less than 1 together.
    label_delay : LabelDelay, str or array, optional
        The share of positives that are known so far, if labels are not complete. For a dataframe or files a
        `LabelDelay` of a column of ages, or a column of shares; for arrays a share for each row. Observations have
        True: their scores allow for the delay.

    Examples
    --------
    >>> Sampling(negative_rate=0.05)
    Sampling(negative_rate=0.05)
    >>> round(float(Sampling(negative_rate=0.05).to_sampled(0.01)), 4)  # 1 positive and 5 of 99 negatives
    0.1681
    """

    negative_rate: float = 1.0
    positive_rate: float = 1.0
    label_noise: tuple[float, float] = (0.0, 0.0)
    label_delay: Any = None

    def __post_init__(self) -> None:
        for name in ("negative_rate", "positive_rate"):
            object.__setattr__(self, name, _read_share(name, getattr(self, name)))
        object.__setattr__(self, "label_noise", _read_noise(self.label_noise))
        object.__setattr__(self, "label_delay", _check_delay(self.label_delay))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sampling):
            return NotImplemented
        if self is other:
            return True
        if self._rates != other._rates or type(self.label_delay) is not type(other.label_delay):
            return False
        return self.label_delay is other.label_delay or bool(np.array_equal(self.label_delay, other.label_delay))

    def __hash__(self) -> int:
        return hash((self._rates, type(self.label_delay)))

    @property
    def _rates(self) -> tuple[Any, ...]:
        return self.negative_rate, self.positive_rate, self.label_noise

    def __repr__(self) -> str:
        settings = ((entry.name, getattr(self, entry.name), entry.default) for entry in fields(self))
        given = (f"{name}={value!r}" for name, value, default in settings if not _is_default(value, default))
        return f"Sampling({', '.join(given)})"

    @property
    def delayed(self) -> bool:
        """Whether labels are not complete."""
        return self.label_delay is not None

    @property
    def applied(self) -> Sampling:
        """The same sampling for scores that allow for the label delay already."""
        return replace(self, label_delay=True) if self.delayed else self

    @property
    def mirrored(self) -> Sampling:
        """The same sampling seen from the other label, with predictions 1 - p."""
        return replace(
            self,
            negative_rate=self.positive_rate,
            positive_rate=self.negative_rate,
            label_noise=(self.label_noise[1], self.label_noise[0]),
        )

    @property
    def plain(self) -> bool:
        """Whether the sample is the population, without label noise."""
        return self.negative_rate == self.positive_rate == 1.0 and not self.noisy

    @property
    def noisy(self) -> bool:
        """Whether there is label noise."""
        return self.label_noise != (0.0, 0.0)

    def to_sampled(
        self,
        p: Any,
        where: Callable[[Any, Any, Any], Any] = np.where,
        hold: Callable[[Any], Any] = _identity,
    ) -> Any:
        """Return the probability that a row of prediction p is labelled positive, given that it is in the sample.

        It increases with p. Values outside of [0, 1] and NaN are unchanged. `where` and `hold` are as in
        `truecal.data.half_cell`: every engine computes the same to the last bit.
        """
        if self.plain:
            return p
        f0, f1 = self.label_noise
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # products and sums of non-negative numbers, so that no digits cancel near 0 or near 1
            positive = hold((p * (1.0 - f1) + (1.0 - p) * f0) * self.positive_rate)
            negative = hold(((1.0 - p) * (1.0 - f0) + p * f1) * self.negative_rate)
            total = hold(positive + negative)
            q = hold(where(positive < negative, positive / total, 1.0 - negative / total))
            q = where((q == 1.0) & (negative > 0.0), BELOW_ONE, q)  # rounding must not make a prediction certain
            return where((p >= 0.0) & (p <= 1.0), q, p)

    def to_population(self, q: Floats | float) -> Floats:
        """Return the prediction p that `to_sampled` maps to q: its inverse, within [0, 1].

        With label noise no prediction can be told from 0, or from 1, by less than the rounding of q.
        """
        q = np.asarray(q, dtype=np.float64)
        if self.plain:
            return q
        f0, f1 = self.label_noise
        one, zero = q * self.negative_rate, (1.0 - q) * self.positive_rate
        low, high = one / (one + zero), zero / (one + zero)
        slack = 1 + ROUNDING / np.maximum(1.0 - q, 2.0**-53)  # of the odds of q
        above, below = (np.where(end > slack * f, end - f, 0.0) for end, f in ((low, f0), (high, f1)))
        sure = 1.0 - f0 - f1
        p: Floats = np.clip(np.where(one < zero, above / sure, 1.0 - below / sure), 0.0, 1.0)
        return p

    def slope(self, p: Floats) -> Floats:
        """Return the derivative of `to_sampled`."""
        f0, f1 = self.label_noise
        one, k0, k1 = p * (1.0 - f1) + (1.0 - p) * f0, self.negative_rate, self.positive_rate
        return np.asarray(k0 * k1 * (1.0 - f0 - f1) / (k1 * one + k0 * (1.0 - one)) ** 2)

    def rows(self, n: Any, pos: Any) -> Any:
        """Return how many rows of the population n rows represent, `pos` of them labelled positive."""
        return n if self.plain else pos / self.positive_rate + (n - pos) / self.negative_rate

    def positives(self, n: Any, pos: Any) -> Any:
        """Return how many positives of the population n rows represent, `pos` of them labelled positive.

        With label noise this is an estimate of the true positives, which may fall below 0 in few rows.
        """
        if self.plain:
            return pos
        f0, f1 = self.label_noise
        return (pos / self.positive_rate - f0 * self.rows(n, pos)) / (1.0 - f0 - f1)

    def expected_rows(self, q: Any) -> Any:
        """Return the expected number of population rows that a row of sampled score q represents."""
        return q / self.positive_rate + (1.0 - q) / self.negative_rate

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes for estimates that describe the population."""
        return self._list_notes("population")

    @property
    def sample_notes(self) -> tuple[Note, ...]:
        """Notes for estimates that describe the sample and its labels."""
        return self._list_notes("sample")

    def _list_notes(self, estimates: str) -> tuple[Note, ...]:
        notes = [Note(NoteCode.LABEL_DELAY)] if self.delayed else []
        if min(self.negative_rate, self.positive_rate) < 1:
            rates = {"negative_rate": self.negative_rate, "positive_rate": self.positive_rate}
            notes.append(Note.of(NoteCode.SAMPLED_BY_LABEL, **rates, estimates=estimates))
        if self.noisy:
            names = ("false_positive_rate", "false_negative_rate")
            noise = dict(zip(names, self.label_noise, strict=True))
            notes.append(Note.of(NoteCode.LABEL_NOISE, **noise, estimates=estimates))
        return tuple(notes)


def _is_default(value: Any, default: Any) -> bool:
    return value is default if default is None else bool(value == default)


def as_sampling(given: object) -> Sampling:
    """Return a sampling, the trivial one for None; raise an error unless it is one."""
    if given is None:
        return NO_SAMPLING
    if not isinstance(given, Sampling):
        raise TypeError(f"{option('sampling')} must be a `Sampling`; it is {given!r}.")
    return given


def check_sampling(given: object) -> Sampling:
    """Return a sampling; raise an error unless it is one whose scores allow for the label delay."""
    if not isinstance(given, Sampling):
        raise TypeError(f"{option('sampling')} must be a `Sampling`; it is {given!r}.")
    if given.label_delay is not None and given.label_delay is not True:
        raise TypeError(
            f"{option('label_delay')} must be allowed for in the scores already; it is {given.label_delay!r}."
        )
    return given


def list_settings(given: Sampling) -> dict[str, Any]:
    """Return the parameters of a sampling, None for those that have their default."""
    settings = {entry.name: (getattr(given, entry.name), entry.default) for entry in fields(given)}
    return {name: None if _is_default(value, default) else value for name, (value, default) in settings.items()}


def apply_delay(y_prob: Any, sampling: Sampling) -> tuple[Any, Sampling]:
    """Return the probabilities that rows are known to be positive by now, and the same sampling of these."""
    if sampling.label_delay is None or sampling.label_delay is True:
        return y_prob, sampling
    return discount(read_numbers(y_prob, "y_prob"), sampling.label_delay), sampling.applied


def check_same(first: Sampling, second: Sampling) -> Sampling:
    """Return the sampling that two parts share; raise an error unless they do."""
    if first != second:
        raise ValueError(
            f"Parts must have got their labels in the same way to add; these have {first!r} and {second!r}."
        )
    return first


def _read_share(name: str, given: Any) -> float:
    number = _read_number(given)
    if not LEAST_RATE <= number <= 1:
        raise ValueError(
            f"{option(name)} must be the share of rows that was kept, above 0 (from {LEAST_RATE:g}) and at most 1; it "
            f"is {given!r}.{_hint_inverse(number)}"
        )
    return number


def _hint_inverse(number: float) -> str:
    if not 1 < number <= 1 / LEAST_RATE:
        return ""
    return f"\n\nHint: where one row of {number:g} was kept it is {1 / number:.4g}."


def _read_noise(given: Any) -> tuple[float, float]:
    pair = tuple(given) if isinstance(given, (tuple, list)) else ()
    shares = [_read_number(value) for value in pair]
    if len(shares) != 2 or not all(0 <= share < 1 for share in shares) or not sum(shares) < 1:
        raise ValueError(
            f"{option('label_noise')} must be two shares, of negatives labelled positive and of positives labelled "
            f"negative, each 0 or more and together below 1; it is {given!r}."
        )
    return shares[0], shares[1]


def _check_delay(given: Any) -> Any:
    if given is None or given is True or isinstance(given, (str, LabelDelay)):
        return given
    if not hasattr(given, "__len__") or isinstance(given, (bytes, dict)):
        raise TypeError(
            f"{option('label_delay')} must be a `LabelDelay(column, table)`, the name of a column of shares, or an "
            f"array of shares, one for each row; it is {given!r}."
        )
    return np.asarray(given)


def _read_number(given: Any) -> float:
    """A plain number as a float, else NaN."""
    known = isinstance(given, (int, float, np.integer, np.floating)) and not isinstance(given, bool)
    if not known or (isinstance(given, int) and abs(given) > 10**300):
        return float("nan")
    return float(given)


NO_SAMPLING = Sampling()
