"""Clusters: rows of a tally that share a customer, a patient or a document.

A cluster is identified by a hash of 64 bits of its value, the same in every file, engine and run, so that rows of
different batches, files and machines are matched. Two values that share a hash would be taken as one; among a million
values that happens in one of 37 million data sets.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from hashlib import blake2b
from typing import Any

import numpy as np

from truecal._errors import option
from truecal._text import plural
from truecal.data._arrays import AnyArray, Bools, Floats, Ints, is_missing, raise_for_missing, read_ids


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Clusters:
    """The distinct pairs of a cluster and a score, or cell, with the rows and the positives of each.

    Parameters
    ----------
    cluster : array of int64
        The hash of each pair's cluster, or its number if groups of rows are concatenated; in increasing order.
    position : array of int64
        The position of each pair's score or cell; in increasing order within a cluster.
    n, pos : arrays of int64
        Rows (at least 1) and positives (0 to n) of each pair.
    memo : dict
        Quantities that were computed from them, such as the design.
    """

    cluster: Ints
    position: Ints
    n: Ints
    pos: Ints
    memo: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def merge(cls, cluster: Ints, position: Ints, n: Ints, pos: Ints) -> Clusters:
        """Merge pairs in any order. The same pair may occur more than once."""
        distinct, code = np.unique(cluster, return_inverse=True)
        size = int(position.max(initial=0)) + 1
        fits = len(distinct) * size < 2**63
        order = np.argsort(code * size + position) if fits else np.lexsort((position, code))
        cluster, position, n, pos = cluster[order], position[order], n[order], pos[order]
        first = np.flatnonzero(_differs(cluster) | _differs(position))
        if len(first) == len(cluster):
            return cls(cluster, position, n, pos)
        return cls(cluster[first], position[first], np.add.reduceat(n, first), np.add.reduceat(pos, first))

    @staticmethod
    def join(parts: Sequence[tuple[Clusters | None, Floats]], whole: Floats) -> Clusters | None:
        """Merge the pairs of several tallies, given the scores of each and those of all; None if none has any."""
        known = [(clusters, score) for clusters, score in parts if clusters is not None]
        if not known:
            return None
        if len(known) < len(parts):
            raise ValueError(
                f"Observations must all have been read with {option('cluster')} to add, or none; only some were."
            )
        columns = (
            (clusters.cluster, np.searchsorted(whole, score)[clusters.position], clusters.n, clusters.pos)
            for clusters, score in known
        )
        return Clusters.merge(*(np.concatenate(column) for column in zip(*columns, strict=True)))

    def move(self, position: Ints) -> Clusters:
        """Return the same pairs in a tally of other scores or cells, given their new positions."""
        return Clusters.merge(self.cluster, position[self.position], self.n, self.pos)

    def group(self, cell: Ints) -> Clusters:
        """Return the same pairs in cells, given the cell of each score; cells increase with scores."""
        cells = cell[self.position]
        first = np.flatnonzero(_differs(self.cluster) | _differs(cells))
        n, pos = (np.add.reduceat(column, first) for column in (self.n, self.pos))
        return Clusters(self.cluster[first], cells[first], n, pos)

    @staticmethod
    def lay(groups: Sequence[Clusters], sizes: Sequence[int]) -> Clusters:
        """Concatenate the pairs of several groups of `sizes` cells; the clusters of each group follow each other."""
        counts = np.concatenate([np.diff(group.starts) for group in groups])
        before = np.cumsum([0, *sizes[:-1]]).tolist()
        position = np.concatenate([group.position + cells for group, cells in zip(groups, before, strict=True)])
        n, pos = (np.concatenate([getattr(group, name) for group in groups]) for name in ("n", "pos"))
        return Clusters(np.repeat(np.arange(len(counts)), counts), position, n, pos)

    def tail(self, start: int) -> Clusters:
        """Return the pairs of the scores from a position on, which becomes 0."""
        kept = self.position >= start
        return Clusters(self.cluster[kept], self.position[kept] - start, self.n[kept], self.pos[kept])

    @property
    def starts(self) -> Ints:
        """The first pair of each cluster, and the number of pairs."""
        if "starts" not in self.memo:
            self.memo["starts"] = np.append(np.flatnonzero(_differs(self.cluster)), len(self.cluster))
        starts: Ints = self.memo["starts"]
        return starts

    @property
    def hashes(self) -> Ints:
        """The hash of each cluster, in increasing order."""
        return self.cluster[self.starts[:-1]]

    @property
    def count(self) -> int:
        """The number of clusters."""
        return len(self.starts) - 1

    def add(self, column: Floats) -> Floats:
        """Return the sum of a column of pairs over each cluster."""
        return np.asarray(np.add.reduceat(column, self.starts[:-1]))

    def owners(self, starts: Ints) -> Ints:
        """Return the group of each cluster, given the first cell of each group."""
        return np.asarray(np.searchsorted(starts, self.position[self.starts[:-1]], side="right") - 1)

    def adds_up(self, n: Ints, pos: Ints) -> bool:
        """Return whether the pairs add up to the rows and positives of the tally's scores."""
        pairs = (self.n, n), (self.pos, pos)
        return all(np.array_equal(np.bincount(self.position, column, len(whole)), whole) for column, whole in pairs)

    def check(self, n: Ints, pos: Ints) -> None:
        """Raise an error unless the pairs add up to the rows and positives of the tally's scores."""
        if not self.adds_up(n, pos):
            raise RuntimeError(
                f"The rows of clusters must be those of the tally; {int(self.n.sum()):,} with {int(self.pos.sum()):,} "
                f"positive are not the {int(n.sum()):,} with {int(pos.sum()):,} of the tally.\n\n"
                "Hint: please report this as a bug."
            )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Clusters):
            return NotImplemented
        names = ("cluster", "position", "n", "pos")
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in names)

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self.cluster)

    def __repr__(self) -> str:
        return f"Clusters({plural(self.count, 'cluster')}, {plural(int(self.n.sum()), 'row')})"


def read_clusters(values: Any, size: int) -> Ints:
    """Return the hash of each row's cluster, for a column of any hashable type."""
    array = read_ids(values, size)
    if array.dtype.kind == "f" and (array == np.floor(array)).all() and (np.abs(array) < 2**63).all():
        array = array.astype(np.int64)
    if array.dtype.kind in "iub":
        return hash_numbers(array)
    if array.dtype.kind == "M":
        array = array.astype("datetime64[us]")
    distinct, code = number_values(array.tolist())
    missing = np.array([is_missing(value) for value in distinct], dtype=np.bool_)
    if missing.any():
        raise_for_missing("cluster", missing[code])
    return hash_values(distinct)[code]


def name_clusters(clusters: Clusters | None) -> str:
    """Return the number of clusters in words; nothing if rows are not in clusters."""
    return "" if clusters is None else f" of {plural(clusters.count, 'cluster')}"


def number_values(values: Iterable[Any]) -> tuple[list[Any], Ints]:
    """Return the distinct values in the order of their first occurrence, and the number of each value among them."""
    known: dict[Any, int] = {}
    code = np.array([known.setdefault(value, len(known)) for value in values], dtype=np.int64)
    return list(known), code


def hash_numbers(values: AnyArray) -> Ints:
    """Return the hash of whole numbers: splitmix64's mixing, a bijection of 64 bits."""
    z = np.array(values, dtype=np.uint64 if values.dtype.kind == "u" else np.int64).view(np.uint64)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))).view(np.int64)


def hash_values(values: Sequence[Any]) -> Ints:
    """Return the hash of each value; equal whole numbers, texts, dates and times have one hash, whatever their type."""
    plain = [_plain(value) for value in values]
    if plain and all(isinstance(value, int) and -(2**63) <= value < 2**63 for value in plain):
        return hash_numbers(np.array(plain, dtype=np.int64))
    return np.array([_hash(value) for value in plain], dtype=np.int64)


def _hash(value: Any) -> int:
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return int(hash_numbers(np.array([value], dtype=np.int64))[0])
    text = value if isinstance(value, bytes) else f"{type(value).__name__}:{value}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little", signed=True)


def _plain(value: Any) -> Any:
    """A value as a built-in type, whole numbers as integers and times as text."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, (bool, int)):
        return int(value)
    if isinstance(value, (float, Decimal)) and math.isfinite(value) and value == int(value):
        return int(value)
    if isinstance(value, datetime) and (value.hour, value.minute, value.second, value.microsecond) == (0, 0, 0, 0):
        return value.date().isoformat()
    if isinstance(value, (date, datetime)):
        return value.isoformat()
    return value if isinstance(value, (str, bytes, float)) else str(value)


def _differs(column: Ints) -> Bools:
    """Whether each value of a column differs from the one before; True for the first."""
    differs = np.ones(len(column), dtype=np.bool_)
    np.not_equal(column[1:], column[:-1], out=differs[1:])
    return differs
