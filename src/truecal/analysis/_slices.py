"""Slice discovery: search all columns and pairs of columns for miscalibrated groups of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from truecal._errors import option
from truecal._options import SliceOptions, declare, resolve
from truecal._text import plural
from truecal.data import (
    CellGroups,
    Cells,
    Conditions,
    Crossed,
    Floats,
    Note,
    NoteCode,
    Observations,
    Pair,
    as_sampling,
)
from truecal.metrics import Direction, OddsRatio, PoissonBinomial, check_significance, count_positives, find_odds_ratios
from truecal.results import SliceTable, find_directions, float_column

SEED_DEVIATION = 2.0  # standard deviations of a pair of levels, from which on its neighbourhood is searched
NEAR_SHARE = 0.9  # of the largest loss: a slice with so much and fewer conditions is preferred
MOST_SLICES = 20  # in a table
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
    >>> table = truecal.slices(frame, label="y", score="p")
    >>> table.slice[0]
    'age above 61 and country=fr'
    """
    given: Any = resolve(slices, options)
    if isinstance(data, Observations):
        raise TypeError("`slices` takes a dataframe or files; `Observations` do not have the columns of rows.")
    significance, min_rows = given.pop("significance"), given.pop("min_rows")
    check_significance(significance)
    if as_sampling(given["sampling"]).delayed:
        raise ValueError(f"{option('label_delay')} cannot be used with `slices`.")
    from truecal.reading import cross  # here, as the analysis of arrays does not need `truecal.reading`

    crossed = cross(data, **given)
    if min_rows > crossed.row_counts.evaluated:
        raise ValueError(
            f"There are {plural(crossed.row_counts.evaluated, 'row')}; a slice must have at least {min_rows:,}.\n\n"
            f"Hint: {option('min_rows')} is the fewest rows of a slice."
        )
    return search(crossed, significance, min_rows)


@dataclass(frozen=True, slots=True, eq=False)
class _Slice:
    """A slice: its conditions, its cells, its odds ratio, p-value and loss."""

    pair: Pair
    conditions: Conditions
    cells: Cells
    factor: OddsRatio
    p_value: float
    loss: float


def search(crossed: Crossed, significance: float = 0.05, min_rows: int = 50) -> SliceTable:
    """Find the miscalibrated slices among rows that were crossed by their columns.

    Scores of exactly 0 or 1 that labels contradict come first, however few: no odds ratio corrects them, so they are
    replaced by their rate. The slice with the largest loss follows, or one of a single condition with nearly as much.
    Its odds are multiplied by its odds ratio, and the others are searched again, so that none is listed for rows that
    it shares with an earlier one.
    """
    listed, now = _recalibrate_certain(crossed, significance)
    searched = crossed.count() + sum(bool(crossed.certain(score).any()) for score in (0, 1))
    while len(listed) < MOST_SLICES:
        candidates = _find_miscalibrated(now, significance, significance / searched, min_rows)
        if not candidates:
            break
        worst = _choose_worst(candidates)
        listed.append((crossed.describe(worst.conditions), worst))
        pairs = list(dict.fromkeys(candidate.pair for candidate in candidates))
        now = now.corrected(worst.conditions, _bound_factor(worst.factor), pairs)
    notes = (
        (*crossed.notes, Note.of(NoteCode.SLICES_TRUNCATED, limit=MOST_SLICES))
        if len(listed) == MOST_SLICES
        else crossed.notes
    )
    return _make_table(crossed, listed, searched, significance, notes)


def _recalibrate_certain(crossed: Crossed, significance: float) -> tuple[list[tuple[str, _Slice]], Crossed]:
    """List the rows at scores of exactly 0 or 1 that labels contradict, and recalibrate them by their rate."""
    listed, now = [], crossed
    for score in (0, 1):
        inside = crossed.certain(score)
        label = crossed.rows.label[inside]
        if np.all(label == score):
            continue
        cells = Cells.from_arrays(label, np.full(len(label), float(score)))
        (count,) = count_positives(CellGroups.of([cells]), np.array([0]), np.array([1]), significance)
        certain = _Slice((-1, -1), (), cells, count.factor, p_value=0.0, loss=np.inf)
        listed.append((f"{crossed.score or 'score'}={score}", certain))
        now = now.changed(inside, float(np.mean(label != score)), list(crossed.tables))
    return listed, now


def _choose_worst(candidates: list[_Slice]) -> _Slice:
    """Return the slice with the largest loss, or one with fewer conditions and nearly as large a loss."""
    most = max(candidate.loss for candidate in candidates)
    # `abs`, as a loss computed from the means of cells may be below 0
    near = [candidate for candidate in candidates if candidate.loss >= most - (1 - NEAR_SHARE) * abs(most)]
    return min(near, key=lambda candidate: (len(candidate.conditions), -candidate.loss))


def _find_miscalibrated(crossed: Crossed, significance: float, level: float, min_rows: int) -> list[_Slice]:
    """Return the slices that are miscalibrated at a level."""
    candidates: dict[Conditions, tuple[Pair, Cells]] = {}
    for pair in crossed.tables:
        surplus, v = crossed.surplus(pair)
        for a, b in np.argwhere((v > 0) & (surplus**2 >= SEED_DEVIATION**2 * v)).tolist():
            box = _grow(crossed, pair, surplus, v, (a, a, b, b))
            sums = crossed.sums(pair, box)
            if sums[:, 0].sum() >= min_rows:
                candidates[_list_conditions(pair, box)] = pair, crossed.cells(sums)
    chosen = _keep_significant([(conditions, *rows) for conditions, rows in candidates.items()], level)
    if crossed.rows.cluster is not None:  # clusters make no p-value smaller, so only these need them
        clustered = [
            (conditions, pair, crossed.with_clusters(conditions, cells)) for conditions, pair, cells, _ in chosen
        ]
        chosen = _keep_significant(clustered, level)
    if not chosen:
        return []
    groups = CellGroups.of([cells for _, _, cells, _ in chosen])
    factors = find_odds_ratios(PoissonBinomial.in_groups(groups), *groups.bounds, significance)
    return [
        _Slice(pair, conditions, cells, factor, p, _find_loss(cells, factor))
        for (conditions, pair, cells, p), factor in zip(chosen, factors, strict=True)
    ]


def _keep_significant(
    candidates: Sequence[tuple[Conditions, Pair, Cells]], level: float
) -> list[tuple[Conditions, Pair, Cells, float]]:
    """Return the candidates with p-values of at most a level, each with its p-value."""
    p_values: list[float] = []
    for batch in CellGroups.batches([cells for _, _, cells in candidates]):
        p_values += _test_groups(batch).tolist()
    return [(*candidate, p) for candidate, p in zip(candidates, p_values, strict=True) if p <= level]


def _grow(crossed: Crossed, pair: Pair, surplus: Floats, v: Floats, box: Box) -> Box:
    """Join neighbouring ranges to a pair of levels as long as that makes surplus^2 / variance larger."""

    def measure(box: Box) -> float:
        a, b, c, d = box
        inside = slice(a, b + 1), slice(c, d + 1)
        return float(surplus[inside].sum() ** 2 / max(float(v[inside].sum()), 1e-300))

    ends = [len(crossed.levels[column]) - 2 if column >= 0 and crossed.ordered[column] else -1 for column in pair]
    best = measure(box)
    while True:
        a, b, c, d = box
        wider: list[Box] = []
        if b <= ends[0]:  # null, beyond the ranges, is joined to nothing
            wider += [(a - 1, b, c, d)] * (a > 0) + [(a, b + 1, c, d)] * (b < ends[0])
        if d <= ends[1]:
            wider += [(a, b, c - 1, d)] * (c > 0) + [(a, b, c, d + 1)] * (d < ends[1])
        measures = [measure(candidate) for candidate in wider]
        if not measures or max(measures) <= best:
            return box
        best = max(measures)
        box = wider[measures.index(best)]


def _list_conditions(pair: Pair, box: Box) -> Conditions:
    """Return the ranges of levels by column, without a column of -1, which stands for none."""
    conditions = (pair[0], *box[:2]), (pair[1], *box[2:])
    return tuple(condition for condition in conditions if condition[0] >= 0)


def _test_groups(groups: CellGroups) -> Floats:
    """Return the exact two-sided p-value of each group's positives: twice the smaller tail, with the observed count."""
    below, at, above = PoissonBinomial.in_groups(groups).tails(*groups.bounds)
    return np.asarray(np.minimum(1.0, 2 * (np.minimum(below, above) + at)))


def _find_loss(cells: Cells, factor: OddsRatio) -> float:
    """Return the total log loss that multiplying the odds by an odds ratio would save."""
    f = _bound_factor(factor)
    return float(cells.positives * np.log(f) - np.sum(cells.n * np.log1p(cells.p * (f - 1))))


def _bound_factor(factor: OddsRatio) -> float:
    """Return an odds ratio that is neither 0 nor infinite, as it is if all labels of a slice are equal."""
    return min(max(factor.value, 1e-9), 1e9)


def _name_directions(ratio: Floats, low: Floats, high: Floats) -> list[Direction]:
    """Return the direction of each slice; all of them are miscalibrated."""
    everywhere, unknown = np.ones(len(ratio), dtype=np.bool_), [None] * len(ratio)
    directions = find_directions(everywhere, ratio, low, high, unknown)
    return [direction for direction in directions if direction is not None]


def _make_table(
    crossed: Crossed, listed: list[tuple[str, _Slice]], searched: int, significance: float, notes: tuple[Note, ...]
) -> SliceTable:
    """Make the table of listed slices."""
    chosen = [one for _, one in listed]
    n = np.array([one.cells.n_rows for one in chosen], dtype=np.int64)
    rows, p_value = crossed.row_counts.evaluated, float_column(one.p_value for one in chosen)
    observed = np.array([one.cells.positives for one in chosen], dtype=np.int64)
    expected = float_column(one.cells.expected.sum() for one in chosen)
    with np.errstate(divide="ignore"):  # the ratio is infinite if positives are observed at a score of 0
        ratio = observed / expected
    ends = float_column(one.factor.ratio_low for one in chosen), float_column(one.factor.ratio_high for one in chosen)
    return SliceTable(
        slice=tuple(name if one.cells.n_rows < rows else "all rows" for name, one in listed),
        n=n,
        share=n / rows,
        observed=observed,
        expected=expected,
        ratio=ratio,
        ratio_low=ends[0],
        ratio_high=ends[1],
        p_value=p_value,
        p_adjusted=np.minimum(1.0, p_value * searched),
        direction=tuple(_name_directions(ratio, *ends)),
        loss=float_column(one.loss for one in chosen),
        rows=rows,
        searched=searched,
        columns_searched=crossed.columns,
        score=crossed.score,
        pairs=any(second >= 0 for _, second in crossed.tables),
        significance=significance,
        row_counts=crossed.row_counts,
        notes=notes,
    )
