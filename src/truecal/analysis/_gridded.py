"""Results from cells, with bounds for what the exact scores would give."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Unpack

import numpy as np

from truecal.analysis._tallied import Options, evaluate_tally
from truecal.metrics import BoundedIsotonic, Metric, Partition, certified_bounds
from truecal.observations import MOST, GridTally
from truecal.results import BinTable, Result

# A cell should hold at most about this share of the largest bin: beyond, cells rather than rates shape the bins.
SHARE = 1 / 15


def evaluate_cells(
    cells: GridTally, metrics: Iterable[str] | Mapping[str, Metric] | None = None, **options: Unpack[Options]
) -> Result:
    """`evaluate` for observations that are grouped into cells; the options are those of `evaluate_tally`.

    Bins are made of whole cells. For these bins gap metrics are exact; test-based ones take each cell at its mean, and
    the result's `bounds` say between which values the exact scores would put them.

    Examples
    --------
    >>> import numpy as np, truecal
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(0.5, 50, size=20_000)
    >>> tally = truecal.Tally.from_arrays(rng.random(20_000) < p, p / 2)
    >>> result = truecal.analysis.evaluate_cells(truecal.observations.GridTally.of(tally, bits=10), metrics=["tce"])
    >>> low, high = result.bounds["tce"]
    >>> low <= result["tce"] <= high < low + 1
    True
    """
    if not isinstance(cells, GridTally):
        raise TypeError(f"`cells` must be `GridTally`; it is {type(cells).__name__}.\n\nHint: arrays go to `evaluate`.")
    result = evaluate_tally(cells.tally, metrics, **options)
    judged = cells.last(int(np.searchsorted(np.cumsum(cells.n[::-1]), result.n)) + 1)
    bounds = {}
    for name, metric in result.metrics.items():
        if metric.rejection is not None:
            low, high = certified_bounds(judged, metric, _partition(judged, result.tables[name]))
            # a cell that is partly rejected counts in full, or not at all, in the value
            bounds[name] = min(low, result.values[name]), max(high, result.values[name])
    return replace(result, bounds=bounds, notes=(*result.notes, *_notes(judged, result)))


def _partition(cells: GridTally, table: BinTable) -> Partition:
    """The bins of a table, found again among the cells that they are made of."""
    rows = np.concatenate([[0], np.cumsum(table.n)])
    starts = np.searchsorted(np.concatenate([[0], np.cumsum(cells.n)]), rows)
    return Partition(starts, table.n, table.k, np.append(table.left, 1.0))


def _notes(cells: GridTally, result: Result) -> list[str]:
    """That there is a grid, and whether it is too coarse for the bins."""
    notes = [
        f"scores were grouped into {len(cells):,} cells of {cells.bits} significant bits; values and bounds are for "
        "bins made of whole cells, not for the bins that the exact scores would have"
    ]
    if result.region is not None:
        notes.append(f"the region is made of whole cells: its lowest score is {cells.low[0]:.6g}")
    room = SHARE * min(_largest_bin(metric, result.tables[name]) for name, metric in result.metrics.items())
    rows = cells.n[cells.low < cells.high]  # more bits do not split a tie
    large = rows[rows > room]
    if len(large) and cells.bits < MOST:
        more = math.ceil(math.log2(float(large.max()) / room))
        notes.append(
            f"the grid is coarse: {len(large):,} of its cells {'holds' if len(large) == 1 else 'hold'} more than a "
            f"fifteenth of the largest bin, up to {int(large.max()):,} observations; "
            f"{min(cells.bits + more, MOST)} bits would do"
        )
    return notes


def _largest_bin(metric: Metric, table: BinTable) -> int:
    if isinstance(metric.binning, BoundedIsotonic):
        return metric.binning.bounds(int(table.n.sum()))[1]
    return int(table.n.max())
