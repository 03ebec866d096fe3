"""Binnings, which cut sorted rows into bins.

A bin is a run of neighbouring scores; equal scores are never separated. Every binning returns a `Partition`: `starts`,
B + 1 positions in the entries, and the edges of the bins as intervals [left, right), the last one closed.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar, Literal, Protocol

import numpy as np

from truecal import _kernel
from truecal._text import plural
from truecal.data import MOST_BITS, AnyArray, Bools, Floats, Ints, Note, NoteCode, Sorted, bits_for

MOST_BINS = 1_000_000  # of equal width
SPARE_BITS = 3  # beyond those that bins need: they make bounds four to ten times narrower


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """Bins of sorted rows: entries `starts[b]` to `starts[b + 1]`, rows `n`, positives `k`, `edges` of predictions.

    `notes` are for the reader of a result.

    Examples
    --------
    >>> from truecal import Tally, Uniform
    >>> bins = Uniform(2).partition(Tally.from_arrays([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.8]))
    >>> bins.starts.tolist(), bins.n.tolist(), bins.k.tolist(), bins.edges.tolist()
    ([0, 3, 4], [3, 1], [1, 1], [0.0, 0.5, 1.0])
    """

    starts: Ints
    n: Ints
    k: Ints
    edges: Floats
    notes: tuple[Note, ...] = ()

    def __len__(self) -> int:
        return len(self.n)


class Binning(Protocol):
    """The protocol of a binning, which cuts sorted rows into bins. It may have `words`: "10 equal-width bins".

    Examples
    --------
    >>> from truecal import Quantile, Tally
    >>> from truecal.metrics import Binning
    >>> scheme: Binning = Quantile(2)
    >>> scheme.partition(Tally.from_arrays([0, 1, 0, 1], [0.1, 0.2, 0.7, 0.8])).n.tolist()
    [2, 2]
    """

    def partition(self, data: Sorted) -> Partition: ...


@dataclass(frozen=True, slots=True)
class Uniform:
    """`n_bins` bins of equal width. A score on an edge i / n_bins belongs to the bin on its right. Empty bins are kept.

    Examples
    --------
    >>> from truecal import Tally, Uniform
    >>> Uniform(4).partition(Tally.from_arrays([0, 1, 1], [0.1, 0.25, 0.9])).n.tolist()
    [1, 1, 0, 1]
    """

    n_bins: int = 10

    def __post_init__(self) -> None:
        _check_bins(self.n_bins)
        if self.n_bins > MOST_BINS:
            raise ValueError(f"`n_bins` of equal width must be at most {MOST_BINS:,}; it is {self.n_bins:,}.")

    @property
    def words(self) -> str:
        return plural(self.n_bins, "equal-width bin")

    @property
    def edges(self) -> Floats:
        return _space_edges(self.n_bins)

    def partition(self, data: Sorted) -> Partition:
        return _cut_at(data, self.edges)


@lru_cache(maxsize=4)
def _space_edges(n_bins: int) -> Floats:
    edges: Floats = np.arange(n_bins + 1) / n_bins
    edges.flags.writeable = False
    return edges


@dataclass(frozen=True, slots=True)
class Quantile:
    """`n_bins` bins of nearly equal size, or fewer if there are ties.

    Cut b falls after the first distinct score at which the running count reaches floor(b N / n_bins).

    Examples
    --------
    >>> from truecal import Quantile, Tally
    >>> Quantile(2).partition(Tally.from_arrays([0, 1, 0, 1], [0.1, 0.2, 0.7, 0.8])).n.tolist()
    [2, 2]
    """

    n_bins: int = 10

    def __post_init__(self) -> None:
        _check_bins(self.n_bins)

    @property
    def words(self) -> str:
        return plural(self.n_bins, "equal-size bin")

    def partition(self, data: Sorted) -> Partition:
        check_rows(data)
        starts = _kernel.quantile_starts(data.entries, min(self.n_bins, data.n_rows))
        n, k = _kernel.count(data.entries, starts)
        notes: tuple[Note, ...] = ()
        if len(n) < self.n_bins:
            tied = data.n_rows >= self.n_bins
            notes = (Note.of(NoteCode.FEWER_BINS, bins=len(n), wanted=self.n_bins, tied=tied),)
        return Partition(starts, n, k, edges_between(data, starts), notes)


@dataclass(frozen=True, slots=True)
class Isotonic:
    """The blocks of isotonic regression (PAVA): the fewest bins with strictly increasing rates that fit best.

    Examples
    --------
    >>> from truecal import Tally
    >>> from truecal.metrics import Isotonic
    >>> bins = Isotonic().partition(Tally.from_arrays([0, 1, 0, 1], [0.1, 0.2, 0.7, 0.8]))
    >>> bins.n.tolist(), bins.k.tolist()
    ([1, 2, 1], [0, 1, 1])
    """

    words: ClassVar[str] = "PAVA bins"

    def partition(self, data: Sorted) -> Partition:
        check_rows(data)
        starts, n, k = _kernel.pava_bc(data.entries, 0, data.n_rows, True, 1)
        return Partition(starts, n, k, edges_between(data, starts))


@dataclass(frozen=True, slots=True)
class BoundedIsotonic:
    """PAVA-BC: isotonic regression whose blocks hold `n_min` to `n_max` rows.

    Parameters
    ----------
    n_min, n_max : int or float, optional
        Bounds as counts (int) or as shares of all rows (float up to 1). The default comes from `sizes`. If only n_max
        is given, n_min is at most a quarter of it; if only n_min is given, n_max is at least four times it.
    sizes : "auto" or "paper"
        "paper": N / 20 and N / 5, and the paper's scan. "auto", the default: the same sizes up to N = 8000, then
        N^(2/3) and four times that. A test gets sharper as N grows: on bins of a fixed share of N it rejects any model
        in the end. Narrower bins keep values comparable.

    Notes
    -----
    "auto" scans from the lowest score up and from the highest down, and takes the bins with the smaller squared error.
    A score is heavy if it holds n_min rows, and two or more. A bin goes beyond n_max only if a single score does. A
    heavy score joins others only if rates fall, so bins beside it can hold fewer than n_min rows. If no score is heavy,
    and n_max >= 2 n_min, and no score has more than n_max - 2 n_min + 2 rows, then every bin holds n_min to n_max rows.

    "paper" scans up. Every bin holds at least n_min rows, and with large ties more than n_max.

    The notes of the partition say which bound was broken.

    References
    ----------
    Matsubara, Tax, Mudd, Guy. TCE: A Test-Based Approach to Measuring Calibration Error. UAI 2023, Algorithm 1.

    Examples
    --------
    >>> from truecal import BoundedIsotonic, Tally
    >>> tally = Tally.from_arrays([0, 1, 0, 0, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.7, 0.8])
    >>> bins = BoundedIsotonic(n_min=2, n_max=4).partition(tally)
    >>> bins.n.tolist(), bins.k.tolist()
    ([4, 2], [1, 2])
    """

    words: ClassVar[str] = "PAVA-BC bins"
    n_min: int | float | None = None
    n_max: int | float | None = None
    sizes: Literal["auto", "paper"] = "auto"

    def __post_init__(self) -> None:
        for name, size in (("n_min", self.n_min), ("n_max", self.n_max)):
            _check_size(name, size)
        if self.sizes not in ("auto", "paper"):
            raise ValueError(f'`sizes` must be "auto" or "paper"; it is {self.sizes!r}.')

    def bounds(self, total: int) -> tuple[int, int]:
        """Return n_min and n_max as numbers of rows, for `total` rows."""
        if not isinstance(total, (int, np.integer)) or not 1 <= total <= 2**63:
            raise ValueError(f"`total` must be a whole number of rows, 1 or more; it is {total!r}.")
        total = int(total)
        share = total / 20
        if self.sizes == "auto":
            share = min(share, total ** (2 / 3))
        n_min = max(1, math.floor(share)) if self.n_min is None else _to_rows(self.n_min, total)
        n_max = max(2, math.floor(4 * share)) if self.n_max is None else _to_rows(self.n_max, total)
        if self.n_max is None and self.n_min is not None:
            n_max = max(n_max, 4 * n_min)
        if self.n_min is None and self.n_max is not None:
            n_min = min(n_min, max(1, n_max // 4))
        if n_min > total:
            raise ValueError(
                f"`n_min` must not exceed the number of rows; it is {n_min}, there are {total}.\n\n"
                "Hint: lower `n_min` or leave it out."
            )
        if n_min > n_max:
            raise ValueError(f"`n_min` must not exceed `n_max`; they are {n_min} and {n_max}.")
        if n_max < 2 * n_min:
            warnings.warn(
                f"`n_max` = {n_max} is below twice `n_min` = {n_min}: two small neighbours may fit neither one bin nor "
                "two, so bins can be left below n_min or go beyond n_max.",
                stacklevel=2,
            )
        return n_min, n_max

    def partition(self, data: Sorted) -> Partition:
        check_rows(data)
        n_min, n_max = self.bounds(data.n_rows)
        sizes = limit_sizes(n_min, n_max, data.n_rows)
        starts, n, k = _kernel.pava_bc(data.entries, *sizes, self.sizes == "paper", data.threads)
        over, under = int(np.count_nonzero(n > n_max)), int(np.count_nonzero(n < n_min))
        notes = []
        if over:
            notes.append(Note.of(NoteCode.BINS_TOO_LARGE, n=over, bins=len(n), limit=n_max, largest=n.max()))
        if under:
            notes.append(Note.of(NoteCode.BINS_TOO_SMALL, n=under, bins=len(n), limit=n_min, smallest=n.min()))
        return Partition(starts, n, k, edges_between(data, starts), tuple(notes))


@dataclass(frozen=True, slots=True)
class Edges:
    """Bins with given edges, increasing from 0 to 1; a score on an edge belongs to the bin on its right.

    Examples
    --------
    >>> from truecal import Tally
    >>> from truecal.metrics import Edges
    >>> Edges([0, 0.01, 0.1, 1]).partition(Tally.from_arrays([0, 1, 1], [0.002, 0.01, 0.9])).n.tolist()
    [1, 1, 1]
    """

    edges: Floats

    @property
    def words(self) -> str:
        return f"{plural(len(self.edges) - 1, 'bin')} of given edges"

    def __post_init__(self) -> None:
        try:
            edges = np.array(self.edges, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise TypeError(f"`edges` must be at least two increasing numbers; they are {self.edges!r}.") from error
        if edges.ndim != 1 or len(edges) < 2 or not (np.diff(edges) > 0).all():
            raise ValueError(f"`edges` must be at least two increasing numbers; they are {edges.tolist()}.")
        if edges[0] != 0 or edges[-1] != 1:
            raise ValueError(
                f"`edges` must go from 0 to 1; they go from {edges[0].item()!r} to {edges[-1].item()!r}.\n\n"
                "Hint: add 0 in front and 1 at the end; empty bins count for nothing."
            )
        edges.flags.writeable = False
        object.__setattr__(self, "edges", edges)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Edges) and np.array_equal(self.edges, other.edges)

    def __hash__(self) -> int:
        return hash(self.edges.tobytes())

    def partition(self, data: Sorted) -> Partition:
        return _cut_at(data, self.edges)


BinningLike = Binning | str | int | None
BINNINGS: dict[str, type[Uniform] | type[Quantile] | type[Isotonic] | type[BoundedIsotonic]] = {
    "uniform": Uniform,
    "quantile": Quantile,
    "pava": Isotonic,
    "pava-bc": BoundedIsotonic,
}


@dataclass(frozen=True, slots=True)
class BinQuality:
    """The quality of bins by the paper's definition of optimal bins: small errors, no violations.

    `total_error` is the mean over rows of rate (1 - rate) of their bin, `within_bin_error` the plain mean over bins.
    `violations` counts neighbouring bins whose rates do not increase, `largest_violation` is the largest decrease.

    Examples
    --------
    >>> from truecal import Tally, Uniform
    >>> from truecal.metrics import measure_bins
    >>> measure_bins(Uniform(2).partition(Tally.from_arrays([1, 1, 0, 1], [0.1, 0.2, 0.7, 0.8]))).violations
    1
    """

    total_error: float
    within_bin_error: float
    violations: int
    largest_violation: float


def measure_bins(partition: Partition) -> BinQuality:
    """Measure the quality of bins, without empty ones.

    Parameters
    ----------
    partition : Partition
        The bins.

    Examples
    --------
    >>> from truecal import Quantile, Tally
    >>> from truecal.metrics import measure_bins
    >>> measure_bins(Quantile(2).partition(Tally.from_arrays([0, 1, 1, 1], [0.1, 0.2, 0.7, 0.8])))
    BinQuality(total_error=0.125, within_bin_error=0.125, violations=0, largest_violation=0.0)
    """
    nonempty = partition.n > 0
    n, k = partition.n[nonempty], partition.k[nonempty]
    rate = k / n
    variance = rate * (1 - rate)
    fall = rate[:-1] - rate[1:]
    return BinQuality(
        total_error=float(np.sum(n * variance) / n.sum()),
        within_bin_error=float(variance.mean()),
        violations=int(np.count_nonzero(fall >= 0)),
        largest_violation=float(fall.max(initial=0.0)),
    )


def as_binning(given: BinningLike, default: Binning, numbered: type[Uniform] | type[Quantile]) -> Binning:
    """Return a binning, given itself, by name or by a number of bins."""
    if given is None:
        return default
    if isinstance(given, str):
        if given not in BINNINGS:
            raise ValueError(f"`binning` must be one of {', '.join(map(repr, BINNINGS))}; it is {given!r}.")
        return BINNINGS[given]()
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
        return numbered(int(given))
    check_binning(given)
    assert not isinstance(given, int)  # a bool, refused above
    return given


def check_binning(scheme: object) -> None:
    """Raise an error unless `scheme` is a binning. Classes are not, nor are NumPy arrays, which have a `partition`."""
    if isinstance(scheme, (type, str, np.ndarray)) or not hasattr(scheme, "partition"):
        name = scheme.__name__ if isinstance(scheme, type) else "Quantile"
        hint = "\n\nHint: wrap edges of your own in `Edges(...)`." if isinstance(scheme, np.ndarray) else ""
        raise TypeError(f"`binning` must be a binning such as `{name}()`; it is {scheme!r}.{hint}")
    check_hash("binning", scheme)


def is_builtin(part: object) -> bool:
    """Return whether a part of a metric is defined in truecal; what others return is checked."""
    return type(part).__module__.startswith("truecal.")


def check_hash(name: str, part: object) -> None:
    """Raise an error unless a part of a metric is hashable, since its results are kept by it."""
    try:
        hash(part)
    except TypeError as error:
        raise TypeError(
            f"`{name}` must be hashable; {type(part).__name__} is not.\n\nHint: make it a frozen dataclass."
        ) from error


def cut(binning: Binning, data: Sorted) -> Partition:
    """Cut data into bins, and check the result of a user's own binning."""
    partition = binning.partition(data)
    if is_builtin(binning):
        return partition
    checked = check_partition(partition, data, type(binning).__name__)
    return replace(checked, edges=data.sampling.to_population(checked.edges))


def check_partition(partition: Partition, data: Sorted, name: str) -> Partition:
    """Return a partition with columns of the right types; raise an error unless it is one of the data.

    `name` is that of the binning, for errors.
    """
    if not isinstance(partition, Partition):
        raise TypeError(f"A binning must return a `Partition`; {name} returns {type(partition).__name__}.")
    starts, n, k = (_check_column(partition, name, column, "iu") for column in ("starts", "n", "k"))
    edges = _check_column(partition, name, "edges", "fiu")
    size = len(data.entries[0])
    if len(starts) < 2 or starts[0] != 0 or starts[-1] != size:
        raise ValueError(
            f"`starts` of a partition must go from 0 to {size}, the number of entries; {name} returns "
            f"{starts[:1].tolist()} to {starts[-1:].tolist()}."
        )
    _check_bin(np.diff(starts) >= 0, name, "`starts` of a partition must not decrease", starts)
    for column, values, length in (("n", n, len(starts) - 1), ("k", k, len(starts) - 1), ("edges", edges, len(starts))):
        if len(values) != length:
            raise ValueError(
                f"`{column}` of a partition of {plural(len(starts) - 1, 'bin')} must hold {length} values; {name} "
                f"returns {len(values)}."
            )
    inner = starts[1:-1][(starts[1:-1] > 0) & (starts[1:-1] < size)]
    before, after = (_kernel.scores_at(data.entries, inner - back) for back in (1, 0))
    _check_bin(before < after, name, "`starts` of a partition must not separate equal scores", after)
    for column, given, counted in zip("nk", (n, k), _kernel.count(data.entries, starts), strict=True):
        what = "rows" if column == "n" else "positives"
        _check_bin(given == counted, name, f"`{column}` of a partition must count the {what} of each bin", given)
    held = np.flatnonzero(n > 0)
    first, last = (_kernel.scores_at(data.entries, places) for places in (starts[held], starts[held + 1] - 1))
    _check_bin(np.diff(edges) >= 0, name, "`edges` of a partition must be numbers that do not decrease", edges)
    around = (edges[held] <= first) & (last <= edges[held + 1])
    _check_bin(around, name, "`edges` of a partition must enclose the scores of each bin", edges[held])
    return replace(partition, starts=starts, n=n, k=k, edges=edges)


def _check_column(partition: Partition, name: str, column: str, kinds: str) -> AnyArray:
    """Return a column of a partition as the kernel reads it; raise an error unless it is one of numbers."""
    given = getattr(partition, column)
    values = np.asarray(given) if isinstance(given, (np.ndarray, list, tuple)) else np.empty((0, 0))
    if values.ndim != 1 or values.dtype.kind not in kinds:
        what = "whole numbers" if kinds == "iu" else "numbers"
        returned = f"{values.dtype} of shape {values.shape}" if isinstance(given, np.ndarray) else type(given).__name__
        raise TypeError(f"`{column}` of a partition must be a column of {what}; {name} returns {returned}.")
    return np.ascontiguousarray(values, dtype=np.int64 if kinds == "iu" else np.float64)


def _check_bin(fine: Bools, name: str, rule: str, values: AnyArray) -> None:
    if not fine.all():
        bad = int(np.argmin(fine))
        raise ValueError(f"{rule}; {name} returns {values[bad].item()!r} at bin {bad + 1} of {len(fine)}.")


def _cut_at(data: Sorted, edges: Floats) -> Partition:
    check_rows(data)
    starts = _kernel.locate(data.entries, np.asarray(data.sampling.to_sampled(edges)), False)
    starts[-1] = len(data.entries[0])
    n, k = _kernel.count(data.entries, starts)
    return Partition(starts, n, k, edges)


def edges_between(data: Sorted, starts: Ints) -> Floats:
    """0, the midpoints between the predictions on both sides of each cut, 1."""
    if data.sampling.plain:
        return _kernel.edges_between(data.entries, starts)
    inner = starts[1:-1]
    left, right = (data.sampling.to_population(_kernel.scores_at(data.entries, inner - back)) for back in (1, 0))
    middle = left + (right - left) / 2
    return np.concatenate([[0.0], np.where(middle > left, middle, right), [1.0]])


def check_rows(data: Sorted) -> None:
    """Raise unless there is an observation."""
    if not len(data.entries[0]):
        raise ValueError("Bins need at least one row; the tally is empty.")


def _check_bins(n_bins: int) -> None:
    if isinstance(n_bins, bool) or not isinstance(n_bins, (int, np.integer)) or n_bins < 1:
        raise ValueError(f"`n_bins` must be a whole number, 1 or more; it is {n_bins!r}.")


def _check_size(name: str, size: int | float | None) -> None:
    if size is None:
        return
    if isinstance(size, (int, np.integer)) and not isinstance(size, bool) and size >= 0:
        return
    if isinstance(size, (float, np.floating)) and 0 <= size <= 1:
        return
    raise ValueError(
        f"`{name}` must be a count (a whole number) or a share of the rows (a float in [0, 1]); it is {size!r}."
    )


def limit_sizes(n_min: int, n_max: int, total: int) -> tuple[int, int]:
    """Return the bounds of bins for the kernel: beyond twice the rows nothing changes, and integers stay small."""
    return n_min, min(n_max, 2 * total)


def _to_rows(size: int | float, total: int) -> int:
    if isinstance(size, (float, np.floating)):
        return math.floor(size * total + 1e-9)  # 0.29 of 100 is 29
    return int(size)


def choose_bits(n_rows: int) -> int:
    """Choose the default bits of a grid for `n_rows` rows: a few more than PAVA-BC's bins need."""
    return min(max(bits_for(n_rows, BoundedIsotonic().bounds(n_rows)[1]) + SPARE_BITS, 13), MOST_BITS)
