"""Compute verdicts from cells.

The null hypothesis is that the predictions are calibrated. The p-value combines several component tests
(`COMPONENTS`), each with power against other errors, and the verdict states which errors were detectable. Nothing is
simulated: the same data always give the same verdict. Everything is computed from cells (`Cells`), so that rows,
files and merged tallies agree; within a cell of 12 bits scores are taken as equal.

The component tests depend on each other, which makes their Cauchy combination slightly liberal at 0.05
(docs/inference.md has the measured size) and exact as p tends to 0. A positive at a prediction of 0 or a negative at 1
contradicts the model: p = 0.

With a tolerance, the null hypothesis is that the predictions deviate by at most the tolerance. Two tests remain, the
total and the windows of Local TCE; the p-value is twice the smaller one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import repeat

import numpy as np

from truecal._options import LevelOptions, ToleranceOptions, declare
from truecal.data import CellGroups, Cells, Floats, Ints, Part
from truecal.metrics import (
    Design,
    Direction,
    Tolerance,
    as_tolerance,
    check_significance,
    count_positives,
    find_local_errors,
)
from truecal.verdict._bands import find_score_bands
from truecal.verdict._component import GroupData
from truecal.verdict._components import combine_groups, compute_p_values, list_by_group
from truecal.verdict._cox import find_slope_directions
from truecal.verdict._power import OddsShiftPower
from truecal.verdict._verdict import FACTOR, Status, Verdict


@declare(
    first=(
        LevelOptions,
        ToleranceOptions,
    )
)
def judge(cells: Cells, significance: float = 0.05, tolerance: Tolerance | float | None = None) -> Verdict:
    """Return the verdict on observations in cells; see `Verdict`.

    Parameters
    ----------
    cells : Cells
        The rows, summed by cells.

    Examples
    --------
    >>> from truecal import Tally
    >>> from truecal.data import Cells
    >>> from truecal.verdict import judge
    >>> judge(Cells.of(Tally.from_arrays([0, 1] * 100, [0.2] * 100 + [0.3] * 100))).status
    'miscalibrated'
    """
    (verdict,) = judge_all([cells], significance, tolerance)
    return add_bands(verdict, cells)


def add_bands(verdict: Verdict, cells: Cells) -> Verdict:
    """Return a verdict with score bands; these have a direction only if the verdict is "miscalibrated"."""
    bands = find_score_bands(cells, verdict.significance, verdict.tolerance)
    if verdict.status != Status.MISCALIBRATED:
        bands = tuple(replace(band, direction=None, proven=False) if band.proven else band for band in bands)
    return replace(verdict, bands=bands)


def judge_all(
    groups: Sequence[Part],
    significance: float = 0.05,
    tolerance: Tolerance | float | None = None,
    *,
    level: float | None = None,
) -> list[Verdict]:
    """Return the verdict on each of several groups of rows, in one pass; groups do not affect each other.

    Statuses, intervals and detectable odds ratios are at `level`, which is below the significance if there are many
    groups. Local TCE rejects windows at the significance.
    """
    check_significance(significance)
    tolerance = as_tolerance(tolerance)
    if not all(map(len, groups)):
        raise ValueError("A verdict needs at least one row; there is none.")
    batches = CellGroups.batches(groups)
    levels = significance, significance if level is None else level
    return [verdict for batch in batches for verdict in _judge_batch(batch, *levels, tolerance)]


def _judge_batch(
    groups: CellGroups, significance: float, level: float, tolerance: Tolerance | None
) -> Iterator[Verdict]:
    data = GroupData.of(groups, significance, tolerance)
    contradicted = _count_contradicted_rows(groups)
    local = find_local_errors(groups, significance, tolerance)
    tests = compute_p_values(data)
    p_value = combine_groups(tests, tolerance)
    if tolerance is None:  # with a tolerance, a prediction of 0 or 1 may be moved away from there
        p_value = np.where(contradicted > 0, 0.0, p_value)
    detectable = _find_detectable(groups, level, tolerance)
    columns = [column.tolist() for column in (p_value, groups.add(groups.cells.n), contradicted, *detectable)]
    counts = count_positives(groups, *groups.bounds, level)
    named, shared = list_by_group(tests, len(groups)), _count_clusters(groups, data.design)
    slopes: list[Direction | None] = [None] * len(groups)
    if "cox" in tests:
        slopes = find_slope_directions(data, tests["cox"], level)
    for p, n, contradictions, detectable_all, above, below, count, p_values, errors, (clusters, effect), slope in zip(
        *columns, counts, named, local, shared, slopes, strict=True
    ):
        not_rejected = Status.CONSISTENT if detectable_all <= FACTOR else Status.INCONCLUSIVE
        yield Verdict(
            status=Status.MISCALIBRATED if p <= level else not_rejected,
            p_value=p,
            significance=level,
            tests=p_values,
            n=n,
            observed=count.observed,
            expected=count.expected,
            contradicted=contradictions,
            odds_ratio=count.factor,
            detectable=detectable_all,
            detectable_above=above,
            detectable_below=below,
            local=errors,
            tolerance=tolerance,
            sampling=groups.cells.sampling,
            clusters=clusters,
            design_effect=effect,
            slope_direction=slope,
        )


def _count_contradicted_rows(groups: CellGroups) -> Ints:
    """Positives at a prediction of 0 and negatives at 1, of each group."""
    cells, at = groups.cells, groups.cells.certain
    wrong = np.where(cells.upper[at], cells.n[at] - cells.pos[at], cells.pos[at])
    return np.bincount(groups.owners(at), wrong, len(groups)).astype(np.int64)


def _find_detectable(groups: CellGroups, level: float, tolerance: Tolerance | None) -> tuple[Floats, Floats, Floats]:
    """The minimum detectable odds ratios: on all predictions, and on a fifth of the information up and down."""
    power = OddsShiftPower.of(groups, level)
    if tolerance is not None:
        return power.detectable_beyond(tolerance)
    above, below = (power.detectable((sign,), fifth=True) for sign in (1, -1))
    return power.detectable((1, -1)), above, below


def _count_clusters(groups: CellGroups, design: Design | None) -> Iterator[tuple[int | None, float]]:
    """The number of clusters of each group, and its design effect."""
    clusters = groups.cells.clusters
    if clusters is None:
        return repeat((None, 1.0), len(groups))
    counts = np.bincount(clusters.owners(groups.starts), minlength=len(groups)).tolist()
    effects = np.ones(len(groups)) if design is None else design.effect
    return zip(counts, effects.tolist(), strict=True)
