"""Observations sorted by score: the one structure that every binning, test and metric reads.

A `Tally` groups equal scores, so it has no row order and two of them add. `SortedRows` are the same observations just
after the sort, before the grouping; a single number such as `tce(...)` is computed on them at half the memory.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truecal import _kernel
from truecal._errors import option
from truecal.observations import _arrays as arrays
from truecal.observations._arrays import AnyArray
from truecal.observations._ties import Ties

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Entries = tuple[AnyArray] | tuple[Floats, Ints, Ints]  # keys, or score, n and pos


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tally:
    """Distinct scores in increasing order, with the observations and the positives at each.

    Parameters
    ----------
    score : array of float64
        Strictly increasing, in [0, 1].
    n, pos : arrays of int64
        Observations (at least 1) and positives (0 to n) at each score.

    Examples
    --------
    >>> from truecal import Tally
    >>> Tally.from_arrays([0, 1, 1, 0], [0.2, 0.2, 0.9, 0.1])
    Tally(3 scores in [0.1, 0.9], 4 observations, 2 positive)
    """

    score: Floats
    n: Ints
    pos: Ints

    def __post_init__(self) -> None:
        score = np.ascontiguousarray(self.score, dtype=np.float64) + 0.0
        n, pos = (whole_numbers(values, name) for name, values in (("n", self.n), ("pos", self.pos)))
        if not score.ndim == n.ndim == pos.ndim == 1 or not len(score) == len(n) == len(pos):
            raise ValueError(
                f"{option('score')}, `n` and `pos` must be columns of one length; their shapes are "
                f"{score.shape}, {n.shape}, "
                f"{pos.shape}."
            )
        refuse_where("score", "lie in [0, 1]", score, ~((score >= 0) & (score <= 1)))
        refuse_where("score", "increase strictly", score, np.diff(score, prepend=-1.0) <= 0)
        refuse_where("n", "be 1 or more", n, n < 1)
        refuse_where("pos", "lie in 0..n", pos, (pos < 0) | (pos > n))
        check_total(n)
        self._hold(score, n, pos)

    def _hold(self, score: Floats, n: Ints, pos: Ints) -> None:
        for name, values in (("score", score), ("n", n), ("pos", pos)):
            values.flags.writeable = False
            object.__setattr__(self, name, values)

    @classmethod
    def from_arrays(cls, y_true: Any, y_prob: Any, sample_weight: Any = None, pos_label: Any = None) -> Tally:
        """Group rows by score.

        `y_true` holds 0 and 1 (bool, integers, floats), or any two values with `pos_label`; `y_prob` float64,
        float32 or float16 in [0, 1]; `sample_weight` whole numbers that say how often each row was seen.
        """
        if sample_weight is None:
            return sort_rows(y_true, y_prob, pos_label).tally
        key = _pack(*arrays.pair(y_true, y_prob, pos_label))
        weight = arrays.weights(sample_weight, len(key))
        seen = weight > 0
        if not seen.any():
            raise ValueError("`sample_weight` must hold a weight above 0; all are 0.")
        key, weight = key[seen], weight[seen]
        check_total(weight)
        order = np.argsort(key)
        return group_keys(key[order], weight[order])

    def __add__(self, other: object) -> Tally:
        if not isinstance(other, Tally):
            return NotImplemented
        check_total(np.array([self.total, other.total]))
        return gathered(*(np.concatenate(pair) for pair in zip(self.entries, other.entries, strict=True)))

    def __radd__(self, other: object) -> Tally:
        return self if isinstance(other, int) and other == 0 else NotImplemented  # so that `sum` works

    def above(self, threshold: float) -> Tally:
        """The observations whose score is at least the threshold: the region that raises alerts."""
        return self.last(_first_above(self, threshold))

    def top(self, count: int | float) -> Tally:
        """The observations with the highest scores, a number (int) or a share (float) of them, and ties of the last."""
        wanted = _wanted(self.total, count)
        return self.last(len(self) - int(np.searchsorted(np.cumsum(self.n[::-1]), wanted)) - 1)

    def last(self, first: int) -> Tally:
        """The entries from `first` on."""
        return unchecked(self.score[first:], self.n[first:], self.pos[first:])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally):
            return NotImplemented
        return all(np.array_equal(a, b) for a, b in zip(self.entries, other.entries, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self.score)

    def __repr__(self) -> str:
        if not len(self):
            return "Tally(empty)"
        low, high = self.score[[0, -1]].tolist()
        return (
            f"Tally({len(self):,} score{'s' * (len(self) > 1)} in [{low:.6g}, {high:.6g}], "
            f"{self.total:,} observations, {self.positives:,} positive)"
        )

    @property
    def entries(self) -> tuple[Floats, Ints, Ints]:
        """The columns, as the kernel takes them."""
        return self.score, self.n, self.pos

    @property
    def tally(self) -> Tally:
        """Itself, as every form that observations have can be had as a tally."""
        return self

    def simplified(self) -> Tally:
        """Itself; cells may be simpler than they look."""
        return self

    @property
    def highest(self) -> float:
        """The largest score."""
        return float(self.score[-1])

    @property
    def total(self) -> int:
        """Observations."""
        return int(self.n.sum())

    @property
    def positives(self) -> int:
        """Positive observations."""
        return int(self.pos.sum())


@dataclass(frozen=True, slots=True, eq=False)
class SortedRows:
    """Single observations sorted by score, each packed into an integer: the score's bits, then the label."""

    key: AnyArray

    @property
    def entries(self) -> tuple[AnyArray]:
        """The column, as the kernel takes it."""
        return (self.key,)

    @property
    def total(self) -> int:
        """Observations."""
        return len(self.key)

    @property
    def positives(self) -> int:
        """Positive observations."""
        return int(_kernel.count(self.entries, np.array([0, len(self.key)]))[1][0])

    @property
    def tally(self) -> Tally:
        """The rows grouped by score, in memory."""
        return group_keys(self.key)

    def simplified(self) -> SortedRows:
        """Itself; cells may be simpler than they look."""
        return self

    def above(self, threshold: float) -> SortedRows:
        """The observations whose score is at least the threshold."""
        return SortedRows(self.key[_first_above(self, threshold) :])

    def top(self, count: int | float) -> SortedRows:
        """The observations with the highest scores, and ties of the last."""
        last = self.total - math.ceil(_wanted(self.total, count))
        score = _kernel.scores_at(self.entries, np.array([last]))
        return SortedRows(self.key[int(_kernel.locate(self.entries, score, False)[0]) :])


Sorted = Tally | SortedRows
MOST = 2**46
FEW = 1 << 18  # rows that are sorted sooner than anything is known about them


def sort_rows(y_true: Any, y_prob: Any, pos_label: Any = None) -> Sorted:
    """Observations sorted by score: grouped where many share theirs, else row by row."""
    score, label = arrays.pair(y_true, y_prob, pos_label)
    if len(score) > FEW:
        ties = Ties(len(score))
        if ties.add(score, label) == len(score) and ties.tied:
            return group_keys(*ties.found())
    key = _pack(score, label)
    sort_keys(key)
    return SortedRows(key)


def _first_above(data: Sorted, threshold: float) -> int:
    """The first entry whose score is at least the threshold."""
    if not 0 <= threshold <= 1:
        raise ValueError(f"{option('above')} must lie in [0, 1]; it is {threshold!r}.")
    first = int(_kernel.locate(data.entries, np.array([float(threshold)]), False)[0])
    if first == len(data.entries[0]):
        raise ValueError(f"{option('above')} must leave some observations; the largest score is below {threshold!r}.")
    return first


def _wanted(total: int, count: int | float) -> float:
    """How many of all observations are asked for, by a number or a share."""
    # 0.07 of 100 is 7, whatever binary fractions say
    wanted = round(count * total, 6) if isinstance(count, (float, np.floating)) else count
    if isinstance(count, bool) or not 0 < wanted <= total:
        raise ValueError(
            f"{option('top')} must be a count from 1 to {total} or a share above 0 and at most 1.0; it is {count!r}."
        )
    return float(wanted)


def pack_keys(score: AnyArray, label: AnyArray) -> tuple[AnyArray, bool, bool]:
    """Rows as keys, in 32 bits where the scores allow it; whether all scores and all labels are what they must be."""
    narrow = score.dtype == np.float32 or _kernel.fits_float(score)
    key = np.empty(len(score), dtype=np.int32 if narrow else np.int64)
    return key, *_kernel.pack(score, label, key)


def _pack(score: AnyArray, label: AnyArray) -> AnyArray:
    key, *fine = pack_keys(score, label)
    arrays.refuse_values(score, label, *fine)
    return key


def sort_keys(key: AnyArray) -> None:
    """Sort in place. Wide keys are sorted as the floats of the same bits, which processors compare faster.

    That order is the same as long as tiny numbers are not taken for zero, a mode some libraries switch on.
    """
    tiny = 5e-324
    (key.view(np.float64) if key.dtype == np.int64 and tiny * 1.0 > 0 else key).sort()


def group_keys(key: AnyArray, weight: Ints | None = None) -> Tally:
    """A tally of sorted keys, each seen once or as often as its weight says."""
    groups = _kernel.count_groups(key)
    score, n, pos = np.empty(groups), np.empty(groups, np.int64), np.empty(groups, np.int64)
    _kernel.collapse(key, weight, score, n, pos)
    return unchecked(score, n, pos)


def unchecked(score: Floats, n: Ints, pos: Ints) -> Tally:
    """A tally of columns that are known to be right; they are not copied."""
    tally = object.__new__(Tally)
    tally._hold(score, n, pos)
    return tally


def gathered(score: Floats, n: Ints, pos: Ints) -> Tally:
    """A tally of counts in any order, where the same score may come more than once."""
    order = np.argsort(score, kind="stable")
    score, n, pos = score[order], n[order], pos[order]
    first = np.flatnonzero(np.diff(score, prepend=-1.0))
    if not len(first):
        return unchecked(score, n, pos)
    return unchecked(score[first], np.add.reduceat(n, first), np.add.reduceat(pos, first))


def check_total(n: Ints) -> None:
    """Refuse more observations than sums stay exact for."""
    total = float(n.sum(dtype=np.float64))
    if total > MOST:
        raise ValueError(f"A tally holds at most 2^46 observations, so that sums stay exact; these are {total:.4g}.")


def whole_numbers(values: Any, name: str) -> Ints:
    """A column of counts, as a copy."""
    array = np.asarray(values)
    if array.dtype.kind not in "iu" and array.size:
        raise TypeError(f"`{name}` must hold integers; it holds {array.dtype}.")
    return np.ascontiguousarray(array, dtype=np.int64).copy()


def refuse_where(name: str, rule: str, values: AnyArray, bad: AnyArray) -> None:
    """Name the first value that breaks a rule, if one does."""
    if bad.any():
        first = int(np.argmax(bad))
        raise ValueError(
            f"`{name}` must {rule}; the first that breaks this is {values[first].item()!r} at position {first}."
        )
