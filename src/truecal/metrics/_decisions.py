"""Decide which predictions of a bin are rejected, given k positives in n rows.

A test rejects p if its p-value is at most the significance. The accepted p form an interval; for the exact binomial
test it may have a narrow hole near either end. So a prediction is decided by its position among six cuts:

    rejected | accepted | hole | accepted ... accepted | hole | accepted | rejected
           cut 0     cut 1  cut 2                 cut 3   cut 4      cut 5
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from truecal import _kernel
from truecal._errors import option
from truecal._options import check_option
from truecal.data import NO_SAMPLING, Bools, Floats, Ints, Sampling, Sorted
from truecal.metrics._binning import Partition, check_hash, is_builtin
from truecal.metrics._design import Spread

MOST_ROWS = 2**53  # of a bin: beyond it floats skip whole numbers
LEAST_SIGNIFICANCE = 1e-300  # below it p-values lose digits, and then underflow


@dataclass(frozen=True, slots=True)
class Absolute:
    """An absolute tolerance t: the hypothesis becomes "P(Y = 1) lies within p - t .. p + t".

    Examples
    --------
    >>> import truecal
    >>> y, p = [0, 1] * 100, [0.42] * 200
    >>> truecal.tce(y, p), truecal.tce(y, p, tolerance=truecal.metrics.Absolute(0.1))
    (100.0, 0.0)
    """

    value: float

    def __post_init__(self) -> None:
        if not is_number(self.value) or not 0 <= self.value < 1:
            raise ValueError(f"An absolute tolerance must lie in [0, 1); it is {self.value!r}.")


@dataclass(frozen=True, slots=True)
class Relative:
    """A relative tolerance t: the hypothesis becomes "P(Y = 1) lies within p (1 - t) .. p (1 + t)".

    Examples
    --------
    >>> import truecal
    >>> y, p = [0, 1] * 100, [0.4] * 200
    >>> truecal.tce(y, p), truecal.tce(y, p, tolerance=truecal.Relative(0.2))
    (100.0, 0.0)
    """

    value: float

    def __post_init__(self) -> None:
        if not is_number(self.value) or not 0 <= self.value < 1:
            raise ValueError(f"A relative tolerance must lie in [0, 1); it is {self.value!r}.")


Tolerance = Absolute | Relative
Level: TypeAlias = float | Floats  # a significance, one for all bins or one for each


class Test(Protocol):
    """The protocol of a test of "the probability is p", given k positives in n rows.

    Examples
    --------
    >>> from truecal.metrics import Binomial, Test
    >>> test: Test = Binomial()
    >>> bool(test.rejects(70, 100, 0.5))
    True
    """

    def p_value(self, k: ArrayLike, n: ArrayLike, p: ArrayLike) -> Floats: ...

    def cuts(self, k: Ints, n: Ints, significance: float) -> tuple[Floats, Floats, Bools]:
        """Return the six cuts of each bin (bins, 6), how far rounding may move each, and bins where that is unknown."""

    def safe_cuts(self, k: Ints, n: Ints, significance: float) -> tuple[Floats, Floats]:
        """Return cuts within which p is certainly accepted, and cuts outside which it is certainly rejected."""

    def rejects(
        self,
        k: ArrayLike,
        n: ArrayLike,
        p: ArrayLike,
        significance: float = 0.05,
        tolerance: Tolerance | float | None = None,
    ) -> Bools: ...

    def accepted(
        self, k: ArrayLike, n: ArrayLike, significance: float = 0.05, tolerance: Tolerance | float | None = None
    ) -> tuple[Floats, Floats]: ...


@dataclass(frozen=True, slots=True)
class Decisions:
    """The methods that every test derives from its p-values and cuts."""

    def rejects(
        self: Any,
        k: ArrayLike,
        n: ArrayLike,
        p: ArrayLike,
        significance: float = 0.05,
        tolerance: Tolerance | float | None = None,
    ) -> Bools:
        """Return whether each p is rejected; k, n and p broadcast."""
        check_significance(significance)
        k_, n_, p_ = np.broadcast_arrays(*check_counts(k, n), check_probabilities(p))
        shape = p_.shape
        k_, n_, p_ = (np.ascontiguousarray(part).ravel() for part in (k_, n_, p_))
        pairs, bin_of = np.unique(np.stack([k_, n_], axis=1), axis=0, return_inverse=True)
        bin_of = bin_of.ravel()
        sure, perhaps = find_safe_cuts(self, pairs[:, 0].copy(), pairs[:, 1].copy(), significance, tolerance)
        accepted, doubtful = is_inside(sure[bin_of], p_), is_inside(perhaps[bin_of], p_)
        for i in np.flatnonzero(accepted != doubtful):
            accepted[i] = not _settle(self, int(k_[i]), int(n_[i]), float(p_[i]), significance)
        return np.asarray(~accepted.reshape(shape))

    def accepted(
        self: Any, k: ArrayLike, n: ArrayLike, significance: float = 0.05, tolerance: Tolerance | float | None = None
    ) -> tuple[Floats, Floats]:
        """Return the smallest and the largest probability that is not rejected."""
        k_, n_ = np.broadcast_arrays(*check_counts(k, n))
        check_significance(significance)
        flat = np.ascontiguousarray(k_).ravel(), np.ascontiguousarray(n_).ravel()
        cuts = widen(ask(self, "cuts", *flat, significance)[0], as_tolerance(tolerance))
        return np.clip(cuts[:, 0], 0, 1).reshape(k_.shape), np.clip(cuts[:, 5], 0, 1).reshape(k_.shape)


class Continuous(Decisions):
    """A test whose p-value falls continuously on both sides of k / n, so that the accepted p form an interval."""

    __slots__ = ()

    def cuts(self: Any, k: Ints, n: Ints, significance: float) -> tuple[Floats, Floats, Bools]:
        def keep(p: Floats) -> Bools:
            return np.asarray(ask(self, "p_value", k, n, p)[0] > self.level(significance))

        low, high = _bisect_accepted(keep, k / n)
        cuts = np.stack([low, low, low, high, high, high], axis=1)
        return cuts, np.zeros_like(cuts), np.zeros(len(k), dtype=bool)

    def safe_cuts(self: Any, k: Ints, n: Ints, significance: float) -> tuple[Floats, Floats]:
        cuts, _, _ = self.cuts(k, n, significance)
        return cuts, cuts

    def level(self, significance: float) -> float:
        return significance


def count_rejected(
    test: Test, data: Sorted, partitions: Sequence[Partition], significance: float, tolerance: Tolerance | None
) -> list[tuple[Ints, Ints]]:
    """Count the rows of each bin that the test rejects, as too low and as too high, for each partition of the data."""
    check_significance(significance)
    if tolerance is None and data.clusters is None and is_builtin(test) and hasattr(test, "count_rejected"):
        counts = [test.count_rejected(data.entries, bins.starts, bins.k, bins.n, significance) for bins in partitions]
        if None not in counts:
            return counts
    sizes = np.concatenate([partition.n for partition in partitions])
    bins = np.flatnonzero(sizes > 0)
    begin = np.concatenate([partition.starts[:-1] for partition in partitions])[bins]
    end = np.concatenate([partition.starts[1:] for partition in partitions])[bins]
    k, n = np.concatenate([partition.k for partition in partitions])[bins], sizes[bins]
    spread = Spread.of(data, begin, end)
    level = significance if spread is None else spread.levels(significance)
    cuts, reach, fragile = _find_cuts_once(test, k, n, level) if len(partitions) > 1 else ask(test, "cuts", k, n, level)
    levels = np.broadcast_to(level, n.shape)
    cuts_at, close = _locate_cuts(data, widen(cuts, tolerance, data.sampling), reach, begin, end)
    low, high = _count_outside(data, cuts_at, begin, end)
    if tolerance is None:
        for b in np.flatnonzero(close | fragile):
            one = slice(b, b + 1)
            inside, outside = (
                _locate_cuts(data, cuts, np.zeros_like(cuts), begin[one], end[one])[0]
                for cuts in ask(test, "safe_cuts", k[one], n[one], float(levels[b]))
            )
            (low[b],), (high[b],) = _count_outside(data, inside, begin[one], end[one])
            for entry in _list_undecided(inside[0], outside[0]):
                p = float(_kernel.scores_at(data.entries, np.array([entry]))[0])
                if not _settle(test, int(k[b]), int(n[b]), p, float(levels[b])):
                    rows = _kernel.rows_before(data.entries, np.array([entry, entry + 1]))
                    side = low if p * n[b] < k[b] else high
                    side[b] -= rows[1] - rows[0]
    rejected = np.zeros((2, len(sizes)), np.int64)
    rejected[:, bins] = low, high
    ends = np.cumsum([len(partition) for partition in partitions])
    return [(low, high) for low, high in np.split(rejected, ends[:-1], axis=1)]


def _find_cuts_once(test: Test, k: Ints, n: Ints, level: Level) -> tuple[Floats, Floats, Bools]:
    """Find the cuts of many bins; bins of equal k and n, and of equal levels, are computed once."""
    columns = [k, n] if isinstance(level, float) else [k, n, level.view(np.int64)]
    _, first, same = np.unique(np.stack(columns, axis=1), axis=0, return_index=True, return_inverse=True)
    levels = level if isinstance(level, float) else level[first]
    cuts, reach, fragile = ask(test, "cuts", k[first], n[first], levels)
    same = same.ravel()
    return cuts[same], reach[same], fragile[same]


def _settle(test: Test, k: int, n: int, p: float, significance: float) -> bool:
    """Whether p is rejected if the cuts leave it undecided: by the p-value of `settle`, or else of `p_value`."""
    value = ask(test, "settle" if hasattr(test, "settle") else "p_value", np.array([k]), np.array([n]), np.array([p]))
    return bool(value[0][0] <= significance)


LEVELLED = ("cuts", "safe_cuts", "accepted")  # methods whose third argument is a level
ANSWERS = {
    "p_value": ("p-values",),
    "settle": ("p-values",),
    "cuts": ("cuts", "reach", "fragile"),
    "safe_cuts": ("cuts", "cuts"),
    "accepted": ("ends", "ends"),
}


def ask(test: Test, method: str, k: Ints, n: Ints, *others: Any) -> tuple[Any, ...]:
    """Call a method of a test, and check the answer of a user's own test: one row for each bin.

    There may be a level for each bin; bins of equal levels share a call.
    """
    if method in LEVELLED and isinstance(others[0], np.ndarray):
        return _ask_levels(test, method, k, n, *others)
    answer = getattr(test, method)(k, n, *others)
    parts = (answer,) if len(ANSWERS[method]) == 1 else answer
    if is_builtin(test):
        return tuple(parts)
    source, expected = f"`{method}` of a test", ANSWERS[method]
    if not isinstance(parts, tuple) or len(parts) != len(expected):
        returned = len(parts) if isinstance(parts, tuple) else type(parts).__name__
        raise TypeError(f"{source} must return {len(expected)} arrays; {type(test).__name__} returns {returned}.")
    return tuple(
        _check_answer(part, kind, len(k), source, type(test).__name__)
        for part, kind in zip(parts, expected, strict=True)
    )


def _ask_levels(test: Test, method: str, k: Ints, n: Ints, level: Floats, *others: Any) -> tuple[Any, ...]:
    """The same with a level for each bin."""
    distinct, which = np.unique(level, return_inverse=True)
    if len(distinct) == 1:
        return ask(test, method, k, n, float(distinct[0]), *others)
    order = np.argsort(which, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(which))[:-1])
    answers = [
        ask(test, method, k[g], n[g], one_level, *others)
        for g, one_level in zip(groups, distinct.tolist(), strict=True)
    ]
    back = np.argsort(order, kind="stable")
    return tuple(np.concatenate(part)[back] for part in zip(*answers, strict=True))


def _check_answer(part: Any, kind: str, bins: int, source: str, name: str) -> Any:
    """Return an array of a test's answer; raise an error unless it is of the right shape and holds fitting numbers."""
    shape = (bins, 6) if kind in ("cuts", "reach") else (bins,)
    if (
        not isinstance(part, np.ndarray)
        or part.shape != shape
        or part.dtype.kind not in ("b" if kind == "fragile" else "fiu")
    ):
        what = "booleans" if kind == "fragile" else "numbers"
        returned = f"{part.dtype} of shape {part.shape}" if isinstance(part, np.ndarray) else type(part).__name__
        raise TypeError(f"{source} must return {kind} as {what} of shape {shape}; {name} returns {returned}.")
    if kind == "fragile":
        return part
    values = np.ascontiguousarray(part, dtype=np.float64)
    fine, rule = ~np.isnan(values), "be numbers"
    if kind in ("p-values", "ends"):
        fine, rule = (values >= 0) & (values <= 1), "lie in [0, 1]"
    elif kind == "reach":
        fine, rule = values >= 0, "be 0 or more"
    elif fine.all():
        fine, rule = np.diff(values, axis=1, prepend=-np.inf) >= 0, "not decrease from the first to the sixth"
    if not fine.all():
        bad = np.argwhere(~fine)[0]
        raise ValueError(
            f"{kind} of {source} must {rule}; {name} returns {values[tuple(bad)].item()!r} for bin {bad[0] + 1}."
        )
    return values


def widen(cuts: Floats, tolerance: Tolerance | None, sampling: Sampling = NO_SAMPLING) -> Floats:
    """Return cuts moved outwards by a tolerance: p is accepted if any probability within the tolerance of p is.

    Cuts are sampled scores, and the tolerance applies to predictions.
    """
    if tolerance is None or tolerance.value == 0:
        return cuts
    if not sampling.plain:
        return np.asarray(sampling.to_sampled(widen(sampling.to_population(cuts), tolerance)))
    t = tolerance.value
    absolute = isinstance(tolerance, Absolute)

    def down(cut: Floats) -> Floats:
        return cut - t if absolute else cut / (1 + t)

    def up(cut: Floats) -> Floats:
        return cut + t if absolute else cut / (1 - t)

    first, hole, last, upper_last, upper_hole, upper_first = cuts.T
    last, upper_last = down(last), up(upper_last)
    return np.stack(
        [
            down(first),
            np.minimum(up(hole), last),
            last,
            upper_last,
            np.maximum(down(upper_hole), upper_last),
            up(upper_first),
        ],
        axis=1,
    )


def as_tolerance(tolerance: Tolerance | float | None) -> Tolerance | None:
    """Return a tolerance; a plain number is an absolute one."""
    if tolerance is None or isinstance(tolerance, (Absolute, Relative)):
        return tolerance
    return Absolute(tolerance)


def is_number(value: object) -> bool:
    """Return whether a value is a plain number, and not an integer too large for a float."""
    plain = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    return plain and not (isinstance(value, int) and abs(value) > 10**300)


def check_test(test: object) -> None:
    """Raise an error unless `test` is a test; a class is not."""
    if isinstance(test, type) or not (hasattr(test, "p_value") and hasattr(test, "cuts")):
        name = test.__name__ if isinstance(test, type) else "Binomial"
        raise TypeError(f"`test` must be a test such as `{name}()`; it is {test!r}.")
    check_hash("test", test)


def check_significance(significance: float) -> None:
    """Raise an error unless a significance lies between 0 and 1."""
    check_option("significance", significance)
    if significance < LEAST_SIGNIFICANCE:
        raise ValueError(f"{option('significance')} must be at least {LEAST_SIGNIFICANCE:g}; it is {significance!r}.")


def find_safe_cuts(
    test: Test,
    k: Ints,
    n: Ints,
    significance: Level,
    tolerance: Tolerance | float | None,
    sampling: Sampling = NO_SAMPLING,
) -> tuple[Floats, Floats]:
    """Return cuts, with a tolerance, within which p is surely accepted, and outside which it is surely rejected."""
    if not isinstance(significance, np.ndarray):
        check_significance(significance)
    tolerance = as_tolerance(tolerance)
    if tolerance is None or tolerance.value == 0:
        sure, perhaps = ask(test, "safe_cuts", k, n, significance)
        return sure, perhaps
    cuts = widen(ask(test, "cuts", k, n, significance)[0], tolerance, sampling)
    return cuts, cuts


def is_inside(cuts: Floats, p: Floats) -> Bools:
    """Return whether each p is accepted by its cuts."""
    first, hole, last, upper_last, upper_hole, upper_first = cuts.T
    below = (p >= last) | ((p >= first) & (p < hole))
    above = (p <= upper_last) | ((p <= upper_first) & (p > upper_hole))
    return np.asarray(below & above)


def _locate_cuts(data: Sorted, cuts: Floats, reach: Floats, begin: Ints, end: Ints) -> tuple[Ints, Bools]:
    """Return the positions of the cuts among each bin's entries, and whether a score lies within reach of one."""
    flat = np.ascontiguousarray(cuts).ravel(), np.ascontiguousarray(reach).ravel()
    places, close = _kernel.place(data.entries, *flat, begin, end)
    return places.reshape(-1, 6), close


def _count_outside(data: Sorted, places: Ints, begin: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Count the rows of each bin below and above the accepted ones."""
    positions = np.concatenate([begin[:, None], places, end[:, None]], axis=1).ravel()
    order = np.argsort(positions, kind="stable")  # the kernel sweeps once over the entries
    before = np.empty_like(positions)
    before[order] = _kernel.rows_before(data.entries, positions[order])
    outside = np.diff(before.reshape(-1, 8), axis=1)[:, ::2]  # before, lower hole, upper hole, after
    return outside[:, 0] + outside[:, 1], outside[:, 2] + outside[:, 3]


def _list_undecided(inside: Ints, outside: Ints) -> list[int]:
    """Return the entries that the outer places of a bin accept and the inner ones do not."""

    def holds(places: Ints, entry: int) -> bool:
        return any(places[i] <= entry < places[i + 1] for i in (0, 2, 4))

    turns = sorted({*inside.tolist(), *outside.tolist()})
    return [
        entry
        for first, last in pairwise(turns)
        if holds(outside, first) and not holds(inside, first)
        for entry in range(first, last)
    ]


def _bisect_accepted(keep: Callable[[Floats], Bools], rate: Floats) -> tuple[Floats, Floats]:
    """Return the smallest and the largest float that is kept, by bisection of bit patterns: exact in 62 steps."""

    def bits(p: Floats) -> Ints:
        return np.asarray(p, dtype=np.float64).view(np.int64).copy()

    def floats(pattern: Ints) -> Floats:
        return pattern.view(np.float64)

    low, high = np.zeros(len(rate), np.int64), bits(rate)
    for _ in range(62):
        middle = (low + high) >> 1
        kept = keep(floats(middle))
        low, high = np.where(kept, low, np.minimum(middle + 1, high)), np.where(kept, middle, high)
    smallest = floats(high)
    low, high = bits(rate), np.full(len(rate), bits(np.ones(1))[0])
    for _ in range(62):
        middle = (low + high + 1) >> 1
        kept = keep(floats(middle))
        low, high = np.where(kept, middle, low), np.where(kept, high, np.maximum(middle - 1, low))
    return smallest, floats(low)


def check_counts(k: ArrayLike, n: ArrayLike) -> tuple[Ints, Ints]:
    """Return the counts of bins as integer arrays; raise an error unless they are counts."""
    k_, n_ = np.asarray(k), np.asarray(n)
    for name, values in (("k", k_), ("n", n_)):
        if values.dtype.kind not in "iu":
            raise TypeError(f"`{name}` must be whole numbers; it holds {values.dtype}.")
    if (n_ < 1).any() or (k_ < 0).any() or (k_ > n_).any():
        raise ValueError("`n` must be 1 or more and `k` must lie in 0..n.")
    if (n_ > MOST_ROWS).any():
        raise ValueError(f"`n` must be at most 2^53, beyond which floats skip whole numbers; it is {int(n_.max())}.")
    return k_.astype(np.int64), n_.astype(np.int64)


def check_probabilities(p: ArrayLike) -> Floats:
    """Return probabilities as a float array; raise an error unless they lie in [0, 1]."""
    try:
        p_ = np.asarray(p, dtype=np.float64)
    except (OverflowError, TypeError, ValueError) as error:
        raise TypeError(f"`p` must be numbers in [0, 1]; it is {type(p).__name__}.") from error
    if not ((p_ >= 0) & (p_ <= 1)).all():
        raise ValueError("`p` must lie in [0, 1].")
    return p_
