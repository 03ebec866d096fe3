"""Slice discovery: search all columns and pairs of columns for miscalibrated groups of rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from truecal._errors import option
from truecal._options import SliceOptions, declare, resolve
from truecal.data import CellGroups, CellSums, Conditions, Crossed, Floats, Note, NoteCode, Pair, as_sampling
from truecal.metrics import Direction, OddsRatio, PoissonBinomial, check_significance, count_positives, find_odds_ratios
from truecal.results import SliceTable, find_directions

SEED = 2.0  # standard deviations from which on a pair of levels is looked at
NEARLY = 0.9
MOST = 20  # slices that are listed
Box = tuple[int, int, int, int]  # the first and last level of one column, and of another


@declare(first=(SliceOptions,))
def slices(data: Any, **options: Unpack[SliceOptions]) -> SliceTable:
    """Find miscalibrated slices (groups of rows) without naming them in advance.

    Every value or range of a column is a slice, and so is every pair of these from two columns; the scores are a
    column as well. The positives of each slice are tested against its predictions (Poisson-binomial, exact), and
    p-values are multiplied by the number of all slices (Bonferroni): if the model is calibrated, any slice is listed
    with a probability of at most `significance`. Once a slice is listed, the others are tested as if it were
    recalibrated, so that none is listed for rows that it shares with an earlier one.

    Parameters
    ----------
    data : dataframe or paths
        A frame of any engine, or files; read in one pass.

    Examples
    --------
    >>> import numpy as np, polars, truecal
    >>> rng = np.random.default_rng(0)
    >>> p, age = rng.beta(1, 9, size=40_000), rng.integers(18, 80, size=40_000)
    >>> country = rng.choice(["at", "de", "fr"], size=40_000)
    >>> truth = np.where((country == "fr") & (age > 61), np.minimum(1.8 * p, 1), p)
    >>> frame = polars.DataFrame({"y": rng.random(40_000) < truth, "p": p, "age": age, "country": country})
    >>> found = truecal.slices(frame, label="y", score="p")
    >>> found.slice[0]
    'age above 61 and country=fr'
    """
    given: Any = resolve(slices, options)
    significance, min_rows = given.pop("significance"), given.pop("min_rows")
    check_significance(significance)
    if as_sampling(given["sampling"]).delayed:
        raise ValueError(f"{option('label_delay')} cannot be used with `slices`.")
    from truecal.reading import cross  # what judges arrays needs none of it

    crossed = cross(data, **given)
    if min_rows > crossed.row_counts.evaluated:
        raise ValueError(
            f"{option('min_rows')} must be at most the number of rows, {crossed.row_counts.evaluated:,}, or no slice "
            f"has so many; it is {min_rows:,}."
        )
    return search(crossed, significance, min_rows)


@dataclass(frozen=True, slots=True, eq=False)
class _Slice:
    """A slice: where it lies, its cells, its odds ratio, p-value and loss."""

    pair: Pair
    conditions: Conditions
    cells: CellSums
    factor: OddsRatio
    p_value: float
    loss: float


def search(crossed: Crossed, significance: float = 0.05, min_rows: int = 50) -> SliceTable:
    """Find the miscalibrated slices among rows that were crossed.

    Scores of exactly 0 or 1 that labels contradict come first, however few: no odds ratio corrects them, so they are
    replaced by their rate. The slice with the largest loss follows, or one of a single condition with nearly as much.
    Its odds are multiplied by its odds ratio, and the others are searched again, so that none is listed for rows that
    it shares with an earlier one.
    """
    listed, now = _recalibrate_certain(crossed, significance)
    searched = crossed.count() + sum(bool(crossed.certain(score).any()) for score in (0, 1))
    while len(listed) < MOST:
        found = _find_wrong(now, significance, significance / searched, min_rows)
        if not found:
            break
        worst = _choose_worst(found)
        listed.append((crossed.describe(worst.conditions), worst))
        pairs = list(dict.fromkeys(each.pair for each in found))
        now = now.corrected(worst.conditions, min(max(worst.factor.value, 1e-9), 1e9), pairs)
    notes = (*crossed.notes, Note.of(NoteCode.SLICES_TRUNCATED, limit=MOST)) if len(listed) == MOST else crossed.notes
    return _make_table(crossed, listed, searched, significance, notes)


def _recalibrate_certain(crossed: Crossed, significance: float) -> tuple[list[tuple[str, _Slice]], Crossed]:
    """The rows at scores of exactly 0 and exactly 1 that labels contradict, and all rows with these recalibrated."""
    listed, now = [], crossed
    for score in (0, 1):
        inside = crossed.certain(score)
        label = crossed.rows.label[inside]
        if np.all(label == score):
            continue
        cells = CellSums.from_arrays(label, np.full(len(label), float(score)))
        (count,) = count_positives(CellGroups.of([cells]), np.array([0]), np.array([1]), significance)
        found = _Slice((-1, -1), (), cells, count.factor, p_value=0.0, loss=np.inf)
        listed.append((f"{crossed.score or 'score'}={score}", found))
        now = now.changed(inside, float(np.mean(label != score)), list(crossed.tables))
    return listed, now


def _choose_worst(found: list[_Slice]) -> _Slice:
    """The slice with the largest loss, or one of fewer conditions whose loss is nearly as large."""
    most = max(each.loss for each in found)
    # a loss of bins' means may be below 0
    near = [each for each in found if each.loss >= most - (1 - NEARLY) * abs(most)]
    return min(near, key=lambda each: (len(each.conditions), -each.loss))


def _find_wrong(crossed: Crossed, significance: float, level: float, min_rows: int) -> list[_Slice]:
    """The slices that are miscalibrated at a level."""
    places: dict[Conditions, tuple[Pair, CellSums]] = {}
    for pair in crossed.tables:
        surplus, v = crossed.surplus(pair)
        for a, b in np.argwhere((v > 0) & (surplus**2 >= SEED**2 * v)).tolist():
            box = _grow(crossed, pair, surplus, v, (a, a, b, b))
            sums = crossed.sums(pair, box)
            if sums[:, 0].sum() >= min_rows:
                places[_name_conditions(pair, box)] = pair, crossed.cells(sums)
    chosen = _choose_wrong([(conditions, *place) for conditions, place in places.items()], level)
    if crossed.rows.cluster is not None:  # clusters make no p-value smaller, so they are looked up for these alone
        known = [(each, pair, crossed.with_clusters(each, cells)) for each, pair, cells, _ in chosen]
        chosen = _choose_wrong(known, level)
    if not chosen:
        return []
    groups = CellGroups.of([cells for _, _, cells, _ in chosen])
    factors = find_odds_ratios(PoissonBinomial.in_groups(groups), *groups.bounds, significance)
    return [
        _Slice(pair, conditions, cells, factor, p, _find_loss(cells, factor))
        for (conditions, pair, cells, p), factor in zip(chosen, factors, strict=True)
    ]


def _choose_wrong(
    places: Sequence[tuple[Conditions, Pair, CellSums]], level: float
) -> list[tuple[Conditions, Pair, CellSums, float]]:
    """The slices that are miscalibrated at a level, each with its p-value."""
    p_value: list[float] = []
    for batch in CellGroups.batches([cells for _, _, cells in places]):
        p_value += _p_values(batch).tolist()
    return [(*place, p) for place, p in zip(places, p_value, strict=True) if p <= level]


def _grow(crossed: Crossed, pair: Pair, surplus: Floats, v: Floats, box: Box) -> Box:
    """Join neighbouring ranges to a pair of levels as long as that makes surplus^2 / variance larger."""

    def size(box: Box) -> float:
        a, b, c, d = box
        own = slice(a, b + 1), slice(c, d + 1)
        return float(surplus[own].sum() ** 2 / max(float(v[own].sum()), 1e-300))

    ends = [len(crossed.levels[column]) - 2 if column >= 0 and crossed.ordered[column] else -1 for column in pair]
    best = size(box)
    while True:
        a, b, c, d = box
        wider: list[Box] = []
        if b <= ends[0]:  # null, beyond the ranges, is joined to nothing
            wider += [(a - 1, b, c, d)] * (a > 0) + [(a, b + 1, c, d)] * (b < ends[0])
        if d <= ends[1]:
            wider += [(a, b, c - 1, d)] * (c > 0) + [(a, b, c, d + 1)] * (d < ends[1])
        sizes = [size(each) for each in wider]
        if not sizes or max(sizes) <= best:
            return box
        best = max(sizes)
        box = wider[sizes.index(best)]


def _name_conditions(pair: Pair, box: Box) -> Conditions:
    conditions = (pair[0], *box[:2]), (pair[1], *box[2:])
    return tuple(each for each in conditions if each[0] >= 0)


def _p_values(groups: CellGroups) -> Floats:
    """The exact two-sided p-value of each group's positives: twice the smaller tail, the observed count included."""
    below, at, above = PoissonBinomial.in_groups(groups).tails(*groups.bounds)
    return np.asarray(np.minimum(1.0, 2 * (np.minimum(below, above) + at)))


def _find_loss(cells: CellSums, factor: OddsRatio) -> float:
    """By how much the log loss of all rows together would fall with the factor on their odds."""
    f = min(max(factor.value, 1e-9), 1e9)
    return float(cells.positives * np.log(f) - np.sum(cells.n * np.log1p(cells.p * (f - 1))))


def _find_directions(ratio: Floats, low: Floats, high: Floats) -> list[Direction]:
    """How each slice misses; all of them are miscalibrated."""
    everywhere, unknown = np.ones(len(ratio), dtype=np.bool_), [None] * len(ratio)
    found = find_directions(everywhere, ratio, low, high, unknown)
    return [direction for direction in found if direction is not None]


def _make_table(
    crossed: Crossed, listed: list[tuple[str, _Slice]], searched: int, significance: float, notes: tuple[Note, ...]
) -> SliceTable:
    def floats(values: Iterable[float]) -> Floats:
        return np.array(list(values), dtype=np.float64)

    found = [each for _, each in listed]
    n = np.array([each.cells.n_rows for each in found], dtype=np.int64)
    rows, p_value = crossed.row_counts.evaluated, floats(each.p_value for each in found)
    observed = np.array([each.cells.positives for each in found], dtype=np.int64)
    expected = floats(each.cells.expected.sum() for each in found)
    with np.errstate(divide="ignore"):  # positives at a score of 0 are infinitely many times those expected
        ratio = observed / expected
    ends = floats(each.factor.ratio_low for each in found), floats(each.factor.ratio_high for each in found)
    return SliceTable(
        slice=tuple(name if each.cells.n_rows < rows else "all rows" for name, each in listed),
        n=n,
        share=n / rows,
        observed=observed,
        expected=expected,
        ratio=ratio,
        ratio_low=ends[0],
        ratio_high=ends[1],
        p_value=p_value,
        p_adjusted=np.minimum(1.0, p_value * searched),
        direction=tuple(_find_directions(ratio, *ends)),
        loss=floats(each.loss for each in found),
        rows=rows,
        searched=searched,
        columns_searched=crossed.columns,
        score=crossed.score,
        pairs=any(second >= 0 for _, second in crossed.tables),
        significance=significance,
        row_counts=crossed.row_counts,
        notes=notes,
    )
