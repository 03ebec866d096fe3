"""Rows sorted by score: the structure that every binning, test and metric reads.

A `Tally` groups equal scores. It has no row order, and tallies add. `SortedRows` are sorted but not grouped; a single
number such as `tce(...)` is computed on them in half the memory. `Pairs` are rows with the scores of two models.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from truecal import _kernel
from truecal._errors import option
from truecal._text import plural
from truecal.data import _arrays as arrays
from truecal.data._arrays import AnyArray, Bools, Floats, Ints
from truecal.data._clusters import Clusters, name_clusters, read_clusters
from truecal.data._counting import TieCounter
from truecal.data._importance import Importance, check_importance, read_importance
from truecal.data._sampling import NO_SAMPLING, Sampling, check_same, check_sampling
from truecal.data._weights import MOST_COUNT, read_weights

Entries = tuple[AnyArray] | tuple[Floats, Ints, Ints]  # keys, or score, n and pos


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tally:
    """Distinct scores in increasing order, with the rows and the positives at each.

    Parameters
    ----------
    score : array of float64
        Strictly increasing, in [0, 1].
    n, pos : arrays of int64
        Rows (at least 1) and positives (0 to n) at each score.
    sampling : Sampling
        How rows and labels were sampled. Scores are the sampled ones, mapped by `Sampling.to_sampled`.
    clusters : Clusters, optional
        Which rows share a customer, a patient or a document. Without it rows are taken as independent.
    importance_weight : Importance, optional
        Weights of rows that depend on features alone. They weight estimates, and no test.

    Examples
    --------
    >>> from truecal import Tally
    >>> Tally.from_arrays([0, 1, 1, 0], [0.2, 0.2, 0.9, 0.1])
    Tally(3 scores in [0.1, 0.9], 4 rows, 2 positive)
    >>> Tally.from_arrays([0, 1, 1, 0], [0.2, 0.2, 0.9, 0.1], cluster=["ann", "ann", "bob", "ann"])
    Tally(3 scores in [0.1, 0.9], 4 rows of 2 clusters, 2 positive)
    """

    score: Floats
    n: Ints
    pos: Ints
    sampling: Sampling = NO_SAMPLING
    clusters: Clusters | None = None
    importance_weight: Importance | None = None
    _total: int = field(default=-1, init=False)  # rows; negative until they are counted
    bits: ClassVar[None] = None  # scores are exact
    threads: ClassVar[int] = 1

    def __post_init__(self) -> None:
        score = real_numbers(self.score, "score") + 0.0
        n, pos = (whole_numbers(values, name) for name, values in (("n", self.n), ("pos", self.pos)))
        if not score.ndim == n.ndim == pos.ndim == 1 or not len(score) == len(n) == len(pos):
            raise ValueError(
                f"{option('score')}, `n` and `pos` must be columns of one length; their shapes are "
                f"{score.shape}, {n.shape}, "
                f"{pos.shape}."
            )
        check_entries("score", "lie in [0, 1]", score, ~((score >= 0) & (score <= 1)))
        check_entries("score", "increase strictly", score, np.diff(score, prepend=-1.0) <= 0)
        check_entries("n", "be 1 or more", n, n < 1)
        check_entries("pos", "lie in 0..n", pos, (pos < 0) | (pos > n))
        check_total(n)
        if self.clusters is not None:
            self.clusters.check(n, pos)
        weights = None if self.importance_weight is None else check_importance(self.importance_weight, n, pos)
        self._hold(score, n, pos, check_sampling(self.sampling), self.clusters, weights)

    def _hold(
        self,
        score: Floats,
        n: Ints,
        pos: Ints,
        sampling: Sampling,
        clusters: Clusters | None = None,
        importance_weight: Importance | None = None,
    ) -> None:
        for name, values in (("score", score), ("n", n), ("pos", pos)):
            values.flags.writeable = False
            object.__setattr__(self, name, values)
        others = (
            ("sampling", sampling),
            ("clusters", clusters),
            ("importance_weight", importance_weight),
            ("_total", -1),
        )
        for name, other in others:
            object.__setattr__(self, name, other)

    @classmethod
    def from_arrays(
        cls,
        y_true: Any,
        y_prob: Any,
        sample_weight: Any = None,
        pos_label: Any = None,
        sampling: Sampling = NO_SAMPLING,
        cluster: Any = None,
        importance_weight: Any = None,
    ) -> Tally:
        """Group rows by score.

        `y_true` holds 0 and 1 (bool, integers, floats), or any two values with `pos_label`; `y_prob` float64,
        float32 or float16 in [0, 1]; `sample_weight` whole numbers, how often each row was observed. `sampling` maps
        predictions to those of the sample. `cluster` is the customer, patient or document of each row, of
        any type. `importance_weight` weights rows by features alone.
        """
        score, label = read_sampled(y_true, y_prob, pos_label, sampling)
        if cluster is not None or importance_weight is not None:
            # they are read several times, while another thread may write to those that were given
            score, label = score.copy(), label.copy()
        if sample_weight is None:
            weight: Ints | int = 1
            tally = _sort(score, label, sampling).tally
        else:
            key = _pack(score, label)
            weight = read_weights(sample_weight, len(key), label)
            tally = _group_weighted(key, weight, sampling)
        if cluster is not None:
            tally = tally.with_clusters(read_clusters(cluster, len(score)), score, label, weight)
        if importance_weight is not None:
            importance = read_importance(importance_weight, len(score))
            tally = tally.with_importance(score, label, importance * weight)
        return tally

    def __add__(self, other: object) -> Tally:
        return Tally.join([self, other]) if isinstance(other, Tally) else NotImplemented

    @staticmethod
    def join(parts: Sequence[Tally]) -> Tally:
        """Add several tallies at once."""
        sampling = parts[0].sampling
        for part in parts:
            check_same(sampling, part.sampling)
        check_total(np.array([part.n_rows for part in parts]))
        score, n, pos = (np.concatenate(column) for column in zip(*(part.entries for part in parts), strict=True))
        return merge(score, n, pos, sampling).with_details_of(parts)

    def with_clusters(self, cluster: Ints, score: AnyArray, label: AnyArray, weight: Ints | int = 1) -> Tally:
        """Return the tally of these rows, each counted once or `weight` times, with the hash of each row's cluster."""
        position = np.searchsorted(self.score, score.astype(np.float64))
        n = np.broadcast_to(np.asarray(weight, dtype=np.int64), label.shape)
        counted = n > 0
        if not counted.all():
            cluster, position, n, label = cluster[counted], position[counted], n[counted], label[counted]
        clusters = Clusters.merge(cluster, position, n, n * label.astype(np.int64))
        clusters.check(self.n, self.pos)
        return unchecked(self.score, self.n, self.pos, self.sampling, clusters, self.importance_weight)

    def with_importance(self, score: AnyArray, label: AnyArray, weight: Floats) -> Tally:
        """Return the tally of these rows, with an importance weight of each."""
        weighted = weight > 0
        if not weighted.all():
            score, label, weight = score[weighted], label[weighted], weight[weighted]
        position = np.searchsorted(self.score, score.astype(np.float64))
        weights = check_importance(Importance.at(position, len(self), weight, label), self.n, self.pos)
        return unchecked(self.score, self.n, self.pos, self.sampling, self.clusters, weights)

    def with_details_of(self, parts: Sequence[Tally]) -> Tally:
        """Return the same rows with the clusters and importance weights of the parts that they were merged from."""
        clusters = Clusters.join([(part.clusters, part.score) for part in parts], self.score)
        if clusters is not None:
            clusters.check(self.n, self.pos)
        weights = Importance.join([(part.importance_weight, part.score) for part in parts], self.score)
        return unchecked(self.score, self.n, self.pos, self.sampling, clusters, weights)

    def __radd__(self, other: object) -> Tally:
        return self if isinstance(other, int) and other == 0 else NotImplemented  # so that `sum` works

    def above(self, threshold: float) -> Tally:
        """Return the rows whose prediction is at least the threshold."""
        return self.tail(_find_threshold(self, threshold))

    def at_least(self, score: float) -> Tally:
        """Return the rows whose sampled score is at least this."""
        return self.tail(_find_first(self, score))

    def top(self, count: int | float) -> Tally:
        """Return the rows with the highest scores, by number (int) or share (float), with all ties of the last.

        If rows were sampled by label, number and share are of the population, by the scores alone.
        """
        rows = self.n if self.sampling.plain else self.n * self.sampling.expected_rows(self.score)
        wanted = _count_wanted(float(rows.sum()), count)
        return self.tail(max(len(self) - int(np.searchsorted(np.cumsum(rows[::-1]), wanted)) - 1, 0))

    def tail(self, start: int) -> Tally:
        """Return the entries from position `start` to the end."""
        clusters = None if self.clusters is None else self.clusters.tail(start)
        weights = None if self.importance_weight is None else self.importance_weight.tail(start)
        return unchecked(self.score[start:], self.n[start:], self.pos[start:], self.sampling, clusters, weights)

    def of_pairs(self, kept: Bools) -> Tally | None:
        """Return the rows of some pairs of a cluster and a score; None if there are none."""
        clusters = self.clusters
        assert clusters is not None, "rows are in clusters"
        position = clusters.position[kept]
        n, pos = (
            np.bincount(position, column[kept], len(self)).astype(np.int64) for column in (clusters.n, clusters.pos)
        )
        nonempty = n > 0
        if not nonempty.any():
            return None
        new_position = (np.cumsum(nonempty) - 1)[position]
        pairs = Clusters(clusters.cluster[kept], new_position, clusters.n[kept], clusters.pos[kept])
        return unchecked(self.score[nonempty], n[nonempty], pos[nonempty], self.sampling, pairs)

    def relabel(self, pos: Ints) -> Tally:
        """Return the same rows with other labels: `pos` positives at each score.

        Clusters keep the labels that were read.
        """
        weights = None if self.importance_weight is None else self.importance_weight.relabel(self.n, pos)
        return unchecked(self.score, self.n, pos, self.sampling, self.clusters, weights)

    @property
    def unweighted(self) -> Tally:
        """The same rows without importance weights, which tests do not use."""
        return unchecked(self.score, self.n, self.pos, self.sampling, self.clusters)

    @property
    def population(self) -> Tally | Population:
        """The population that the sample represents: predictions with rows and positives."""
        sampling, weights = self.sampling, self.importance_weight
        if sampling.plain and weights is None:
            return self
        n, pos = (self.n, self.pos) if weights is None else (weights.total, weights.positive)
        return Population(sampling.to_population(self.score), sampling.rows(n, pos), sampling.positives(n, pos))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally):
            return NotImplemented
        same = self.sampling == other.sampling and self.clusters == other.clusters
        same = same and self.importance_weight == other.importance_weight
        return same and all(np.array_equal(a, b) for a, b in zip(self.entries, other.entries, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self.score)

    def __repr__(self) -> str:
        if not len(self):
            return "Tally(empty)"
        low, high = self.score[[0, -1]].tolist()
        return (
            f"Tally({plural(len(self), 'score')} in [{low:.6g}, {high:.6g}], "
            f"{plural(self.n_rows, 'row')}{name_clusters(self.clusters)}, {self.positives:,} positive)"
        )

    @property
    def entries(self) -> tuple[Floats, Ints, Ints]:
        """The columns that the kernel reads."""
        return self.score, self.n, self.pos

    columns = entries  # as a file keeps them

    @property
    def tally(self) -> Tally:
        """The tally itself; every kind of tally has this property."""
        return self

    grouped = sorted = tally  # it is both

    def simplify(self) -> Tally:
        """Return itself; only cells can become simpler."""
        return self

    @property
    def distinct(self) -> int:
        """The number of distinct scores."""
        return len(self)

    def positives_between(self, begin: int, end: int) -> tuple[Floats, Floats]:
        """Return the scores of positives among the entries begin..end, and how many have each."""
        there = np.flatnonzero(self.pos[begin:end])
        return self.score[begin:end][there], self.pos[begin:end][there].astype(np.float64)

    @property
    def highest(self) -> float:
        """The largest score."""
        return float(self.score[-1])

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        if self._total < 0:
            object.__setattr__(self, "_total", int(self.n.sum()))
        return self._total

    @property
    def positives(self) -> int:
        """The number of positive rows."""
        return int(self.pos.sum())


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """Predictions in increasing order, with the rows and positives of the population.

    Rows and positives need not be whole numbers.
    """

    score: Floats
    n: Floats
    pos: Floats

    @property
    def n_rows(self) -> float:
        """The number of rows."""
        return float(self.n.sum())

    @property
    def positives(self) -> float:
        """The number of positives."""
        return float(self.pos.sum())


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SortedRows:
    """Single rows sorted by score, each packed into an integer: the score's bits, then the label.

    They have no sampling: sampled rows are a `Tally`.

    Examples
    --------
    >>> import numpy as np
    >>> from truecal.data import sort_rows
    >>> rows = sort_rows([0, 1, 1], np.array([0.3, 0.9, 0.6]))
    >>> type(rows).__name__, rows.n_rows, rows.tally.score.tolist()
    ('SortedRows', 3, [0.3, 0.6, 0.9])
    """

    sampling: ClassVar[Sampling] = NO_SAMPLING
    clusters: ClassVar[None] = None  # rows in clusters, or with weights, are a `Tally` as well
    importance_weight: ClassVar[None] = None
    bits: ClassVar[None] = None
    key: AnyArray
    threads: int = 1  # that may be used to pass over the rows

    @property
    def entries(self) -> tuple[AnyArray]:
        """The column that the kernel reads."""
        return (self.key,)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self)

    @property
    def positives(self) -> int:
        """The number of positive rows."""
        return int(_kernel.count(self.entries, np.array([0, len(self)]))[1][0])

    @property
    def tally(self) -> Tally:
        """The rows grouped by score."""
        return group_keys(self.key)

    grouped = tally

    @property
    def sorted(self) -> SortedRows:
        """Themselves: rows sorted by score."""
        return self

    unweighted = population = sorted  # they have neither weights nor sampling

    def simplify(self) -> SortedRows:
        """Return itself; only cells can become simpler."""
        return self

    @property
    def distinct(self) -> int:
        """The number of distinct scores."""
        return _kernel.count_groups(self.key)

    def positives_between(self, begin: int, end: int) -> tuple[Floats, Floats]:
        """Return the scores of positives among the rows begin..end, each once."""
        key = self.key[begin:end]
        score = _kernel.scores_at((key,), np.flatnonzero(key & 1))
        return score, np.ones(len(score))

    @property
    def highest(self) -> float:
        """The largest score."""
        return float(_kernel.scores_at(self.entries, np.array([len(self) - 1]))[0])

    def __len__(self) -> int:
        return len(self.key)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (SortedRows, Tally)):
            return NotImplemented
        return self.tally == other.tally

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"SortedRows({plural(self.n_rows, 'row')}, {self.positives:,} positive)"

    def above(self, threshold: float) -> SortedRows:
        """Return the rows whose score is at least the threshold."""
        return SortedRows(self.key[_find_threshold(self, threshold) :])

    def at_least(self, score: float) -> SortedRows:
        """Return the rows whose score is at least this."""
        return SortedRows(self.key[_find_first(self, score) :])

    def top(self, count: int | float) -> SortedRows:
        """Return the rows with the highest scores, with all ties of the last."""
        last = self.n_rows - math.ceil(_count_wanted(self.n_rows, count))
        score = _kernel.scores_at(self.entries, np.array([last]))
        return SortedRows(self.key[int(_kernel.locate(self.entries, score, False)[0]) :])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Pairs:
    """Distinct pairs of scores in increasing order, with the rows and the positives at each.

    Like a `Tally` they have no row order, so that labels drawn with a seed depend on the data alone. `names` are the
    names of the two models. Positions of `clusters` are those of pairs of scores.

    Examples
    --------
    >>> from truecal.data import Pairs
    >>> pairs = Pairs.from_arrays([0, 1, 1], [0.2, 0.7, 0.7], [0.3, 0.8, 0.8])
    >>> pairs.n.tolist(), pairs.pos.tolist()
    ([1, 2], [0, 2])
    """

    scores: tuple[Floats, Floats]
    n: Ints
    pos: Ints
    names: tuple[str, str] = ("first", "second")
    sampling: Sampling = NO_SAMPLING
    clusters: Clusters | None = None

    @classmethod
    def merge(cls, first: Floats, second: Floats, n: Ints, pos: Ints, cluster: Ints | None = None) -> Pairs:
        """Merge pairs in any order, with the hashes of their clusters. The same pair may occur more than once."""
        order = np.lexsort((second, first))
        first, second, n, pos = first[order] + 0.0, second[order] + 0.0, n[order], pos[order]
        new = (np.diff(first, prepend=-1.0) != 0) | (np.diff(second, prepend=-1.0) != 0)
        starts = np.flatnonzero(new)
        if not len(starts):
            return cls((first, second), n, pos)
        pairs = cls((first[starts], second[starts]), np.add.reduceat(n, starts), np.add.reduceat(pos, starts))
        if cluster is None:
            return pairs
        return replace(pairs, clusters=Clusters.merge(cluster[order], np.cumsum(new) - 1, n, pos))

    @classmethod
    def from_arrays(
        cls,
        y_true: Any,
        y_prob: Any,
        y_prob_other: Any,
        pos_label: Any = None,
        sampling: Sampling = NO_SAMPLING,
        cluster: Any = None,
    ) -> Pairs:
        """Group rows by the scores of both models; labels and scores as in `Tally.from_arrays`."""
        scores = []
        for given in (y_prob, y_prob_other):
            score, label = read_sampled(y_true, given, pos_label, sampling)
            _pack(score, label)  # checks the values
            scores.append(score.astype(np.float64))
        first, second = scores
        hashes = None if cluster is None else read_clusters(cluster, len(label))
        pairs = cls.merge(first, second, np.ones(len(label), np.int64), label.astype(np.int64), hashes)
        return replace(pairs, sampling=sampling)

    @property
    def lines(self) -> tuple[Floats, Floats, Ints, Ints] | tuple[Floats, Floats, Ints, Ints, Ints]:
        """Both scores, rows and positives of each pair.

        If rows are in clusters, of each of a pair's clusters, with its hash in the last column.
        """
        clusters = self.clusters
        if clusters is None:
            return *self.scores, self.n, self.pos
        return (
            self.scores[0][clusters.position],
            self.scores[1][clusters.position],
            clusters.n,
            clusters.pos,
            clusters.cluster,
        )

    def models(self) -> list[tuple[Tally, Ints]]:
        """Return the tally of each model, and the position of each pair's score in it."""
        models = []
        for score in self.scores:
            distinct, position = np.unique(score, return_inverse=True)
            n, pos = (np.bincount(position, column, len(distinct)).astype(np.int64) for column in (self.n, self.pos))
            clusters = None if self.clusters is None else self.clusters.move(position)
            models.append((unchecked(distinct, n, pos, self.sampling, clusters), position))
        return models

    def __add__(self, other: object) -> Pairs:
        if not isinstance(other, Pairs):
            return NotImplemented
        sampling = check_same(self.sampling, other.sampling)
        if (self.clusters is None) != (other.clusters is None):
            raise ValueError(f"Pairs must both have been read with {option('cluster')} to add, or neither; one was.")
        merged = Pairs.merge(*(np.concatenate(pair) for pair in zip(self.lines, other.lines, strict=True)))
        return replace(merged, names=self.names, sampling=sampling)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pairs):
            return NotImplemented
        columns = zip((*self.scores, self.n, self.pos), (*other.scores, other.n, other.pos), strict=True)
        same = self.sampling == other.sampling and self.clusters == other.clusters
        return same and all(np.array_equal(a, b) for a, b in columns)

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self.n)

    def __repr__(self) -> str:
        return (
            f"Pairs({plural(len(self), 'pair')} of scores, {plural(self.n_rows, 'row')}{name_clusters(self.clusters)}, "
            f"{self.positives:,} positive)"
        )

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.n.sum())

    @property
    def positives(self) -> int:
        """The number of positive rows."""
        return int(self.pos.sum())


Sorted = Tally | SortedRows
Weighed = Tally | Population
FEW_TO_SORT = 1 << 18  # rows up to which sorting is faster than looking for ties


def sort_rows(
    y_true: Any,
    y_prob: Any,
    pos_label: Any = None,
    sampling: Sampling = NO_SAMPLING,
    threads: int | None = None,
) -> Sorted:
    """Sort rows by score; group them if many share a score, or if they were sampled.

    `threads` are all cores from a million rows on, by default; the rows do not depend on them.

    Examples
    --------
    >>> from truecal.data import sort_rows
    >>> sort_rows([0, 1, 1], [0.2, 0.7, 0.4])
    SortedRows(3 rows, 2 positive)
    """
    return _sort(*read_sampled(y_true, y_prob, pos_label, sampling), sampling, threads)


def _sort(score: AnyArray, label: AnyArray, sampling: Sampling, threads: int | None = None) -> Sorted:
    if len(score) > FEW_TO_SORT:
        ties = TieCounter(len(score))
        if ties.add(score, label) == len(score) and ties.tied:
            return group_keys(*ties.count(), sampling)
        del ties  # its memory serves the sort
    key, most = _make_keys(score), arrays.count_threads(len(score), threads)
    arrays.check_values(score, label, *_kernel.pack_sorted(score, label, key, most))
    return SortedRows(key, most) if sampling == NO_SAMPLING else group_keys(key, None, sampling)


def read_sampled(y_true: Any, y_prob: Any, pos_label: Any, sampling: Sampling) -> tuple[AnyArray, AnyArray]:
    """Read labels and scores of the same rows, with predictions mapped by the sampling; see `read_pair`."""
    check_sampling(sampling)
    score, label = arrays.read_pair(y_true, y_prob, pos_label)
    return (score if sampling.plain else sampling.to_sampled(score.astype(np.float64))), label


def _find_first(data: Sorted, score: float) -> int:
    return int(_kernel.locate(data.entries, np.array([score]), False)[0])


def find_threshold_score(threshold: float, sampling: Sampling) -> float:
    """Return the sampled score of the decision threshold."""
    if not isinstance(threshold, (int, float, np.number)) or not 0 <= threshold <= 1:
        raise ValueError(f"{option('threshold')} must lie in [0, 1]; it is {threshold!r}.")
    return float(sampling.to_sampled(float(threshold)))


def _find_threshold(data: Sorted, threshold: float) -> int:
    """Return the position of the first score that is at least the threshold."""
    first = _find_first(data, find_threshold_score(threshold, data.sampling))
    if first == len(data.entries[0]):
        raise ValueError(f"{option('threshold')} must leave some rows; the largest score is below {threshold!r}.")
    return first


def _count_wanted(total: float, count: int | float) -> float:
    """Convert a number or a share of rows to a number of rows."""
    number = count.item() if isinstance(count, np.number) else count
    plain = isinstance(number, (int, float)) and not isinstance(number, bool)
    # rounded, so that 0.07 of 100 is 7
    wanted = round(number * total, 6) if plain and isinstance(number, float) else number
    if not plain or not 0 < wanted <= total:
        raise ValueError(
            f"{option('top')} must be a count from 1 to {total:.10g} or a share above 0 and at most 1.0; it is "
            f"{count!r}."
        )
    return float(wanted)


def pack_keys(score: AnyArray, label: AnyArray) -> tuple[AnyArray, bool, bool]:
    """Pack rows into keys, of 32 bits if possible. Also return whether all scores and all labels are valid."""
    key = _make_keys(score)
    return key, *_kernel.pack(score, label, key)


def _make_keys(score: AnyArray) -> AnyArray:
    """Return an empty array for the keys of rows."""
    narrow = score.dtype == np.float32 or _kernel.fits_float(score)
    return np.empty(len(score), dtype=np.int32 if narrow else np.int64)


def _pack(score: AnyArray, label: AnyArray) -> AnyArray:
    key, *valid = pack_keys(score, label)
    arrays.check_values(score, label, *valid)
    return key


def _group_weighted(key: AnyArray, weight: Ints, sampling: Sampling) -> Tally:
    """The tally of keys in any order, each counted `weight` times."""
    counted = weight > 0
    if not counted.any():
        raise ValueError("`sample_weight` must hold a weight above 0; all are 0.")
    key, weight = key[counted], weight[counted]
    check_total(weight)
    order = np.argsort(key)
    return group_keys(key[order], weight[order], sampling)


def group_keys(key: AnyArray, weight: Ints | None = None, sampling: Sampling = NO_SAMPLING) -> Tally:
    """Group sorted keys into a tally. Each key counts once, or `weight` times."""
    groups = _kernel.count_groups(key)
    score, n, pos = np.empty(groups), np.empty(groups, np.int64), np.empty(groups, np.int64)
    _kernel.collapse(key, weight, score, n, pos)
    return unchecked(score, n, pos, sampling)


def unchecked(
    score: Floats,
    n: Ints,
    pos: Ints,
    sampling: Sampling = NO_SAMPLING,
    clusters: Clusters | None = None,
    importance_weight: Importance | None = None,
) -> Tally:
    """Make a tally of columns without checking or copying them."""
    tally = object.__new__(Tally)
    tally._hold(score, n, pos, sampling, clusters, importance_weight)
    return tally


def merge(score: Floats, n: Ints, pos: Ints, sampling: Sampling = NO_SAMPLING) -> Tally:
    """Merge counts in any order into a tally. The same score may occur more than once."""
    order = np.argsort(score, kind="stable")
    score, n, pos = score[order], n[order], pos[order]
    first = np.flatnonzero(np.diff(score, prepend=-1.0))
    if not len(first):
        return unchecked(score, n, pos, sampling)
    return unchecked(score[first], np.add.reduceat(n, first), np.add.reduceat(pos, first), sampling)


def check_total(n: Ints) -> None:
    """Raise an error if there are too many rows for exact sums."""
    total = float(n.sum(dtype=np.float64))
    if total > MOST_COUNT:
        raise ValueError(f"A tally holds at most 2^46 rows, so that sums stay exact; these are {total:.4g}.")


def real_numbers(values: Any, name: str) -> Floats:
    """Return a column of floats; raise an error unless it holds numbers."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiu" and array.size:
        raise TypeError(f"`{name}` must hold numbers; it holds {array.dtype}.")
    return np.ascontiguousarray(array, dtype=np.float64)


def whole_numbers(values: Any, name: str) -> Ints:
    """Copy a column of counts; raise an error unless it holds integers."""
    array = np.asarray(values)
    if array.dtype.kind not in "iu" and array.size:
        raise TypeError(f"`{name}` must hold integers; it holds {array.dtype}.")
    return np.ascontiguousarray(array, dtype=np.int64).copy()


def check_entries(name: str, rule: str, values: AnyArray, bad: AnyArray) -> None:
    """Raise an error that names the first value that breaks a rule, if any does."""
    if bad.any():
        first = int(np.argmax(bad))
        raise ValueError(
            f"`{name}` must {rule}; the first that breaks this is {values[first].item()!r} at position {first}."
        )
