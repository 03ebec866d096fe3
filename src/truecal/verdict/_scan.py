"""Scan tests: score windows of every size whose number of positives deviates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from truecal import _kernel
from truecal.data import Bools, CellGroups, Floats, Ints
from truecal.metrics import Design
from truecal.verdict._combine import HIGHEST_P, as_cauchy, from_cauchy
from truecal.verdict._component import GroupData

# Windows overlap and levels are correlated: without this factor on its p-value a scan at 5% rejects 6 to 8% of
# calibrated models.
OVERLAP = 1.2
# The degrees of freedom that a window of clustered rows needs. The p-values of smaller ones are hardly ever small, and
# the Cauchy mean would count them in favour of the model.
FREEDOM = 30.0
# The fewest rows of a window of the scan by rows, and an eighth of the N^(2/3) rows of a window of Local TCE: narrower
# errors are left to the sum over all windows (`SpreadTest`).
FEWEST_ROWS = 20.0
EIGHTH = 8


@dataclass(frozen=True, slots=True)
class ScanTest:
    """Test score windows of every size by their number of positives.

    Level L = 0, 1, ... cuts the information V, or the rows, into 2^(L + 1) equal pieces at the ends of cells. Each two
    neighbouring pieces are a window, tested by the two-sided mid-p-value of its Poisson-binomial number of positives.
    Level 0 is all rows. The p-values are combined by their Cauchy mean within a level, then over levels, and multiplied
    by 1.2, because windows overlap.

    By information, windows have a sum of p (1 - p) above 1. By rows, they have at least max(20, N^(2/3) / 8) rows: this
    scan finds errors near predictions of 0 and 1, where there is little information.

    Rows in clusters: the p-value of each window allows for its own design effect, and the smallest window grows with
    the design effect of all rows. Windows of so few clusters that their tails have fewer than 30 degrees of freedom are
    left out.

    Parameters
    ----------
    name, title, statistic, looks_for
        See `ComponentTest`.
    by : "information" or "rows"
        The quantity that windows of one level share equally.
    """

    name: str
    title: str
    statistic: str
    looks_for: str
    by: Literal["information", "rows"]
    weight: float = 1.0
    least_information: float = 0.0

    def applies(self, data: GroupData) -> Bools:
        """Return every group, unless there is a tolerance."""
        return data.every(data.tolerance is None)

    def p_values(self, data: GroupData) -> Floats:
        """Return the p-value of each group."""
        cells = data.groups.cells
        # a sum over few clusters is far from normal: a window needs the effective information of independent rows
        if self.by == "information":
            return _scan(data, cells.v, data.effect)
        rows = data.groups.add(cells.n)
        least = np.maximum(FEWEST_ROWS, rows ** (2 / 3) / EIGHTH) * data.effect
        # the kernel keeps windows above the smallest sum; of rows exactly the smallest number is enough
        return _scan(data, cells.n.astype(np.float64), np.nextafter(least, 0.0))


SCAN_INFORMATION = ScanTest(
    name="scan_information",
    title="score windows of equal information",
    statistic="a scan: halves, quarters, eighths, ... of the information, each two neighbours a window, each "
    "window by its exact mid-p",
    looks_for="errors in any score window, with equal information in each",
    by="information",
)
SCAN_ROWS = ScanTest(
    name="scan_rows",
    title="score windows of equally many rows",
    statistic="the same scan in rows, windows of at least max(20, N^(2/3) / 8) rows: it finds errors near 0 and 1, "
    "where there is little information",
    looks_for="errors in any score window, with equally many rows in each",
    by="rows",
)


def _scan(data: GroupData, column: Floats, smallest: Floats) -> Floats:
    """Combine the p-values of windows whose sum of a column exceeds the smallest; all rows are the first window."""
    groups, design = data.groups, data.design
    begin, end, first, group = _kernel.cut_levels(column, groups.starts, smallest, True)
    if design is not None:
        begin, end, first, group = _keep_free(design, begin, end, first, group)
    sizes = np.diff(np.append(first, len(begin)))
    p = _test_windows(data, begin, end, first[_first_levels(group, groups)])
    # in the mean of its level no window may count more for the model than a test at the highest p-value does
    highest = np.repeat(1 - (1 - HIGHEST_P) / sizes, sizes)
    means = np.add.reduceat(as_cauchy(p, highest), first) / sizes
    combined = from_cauchy(np.bincount(group, means, len(groups)) / np.bincount(group, minlength=len(groups)))
    several = np.bincount(group, sizes, len(groups)) > 1
    return np.minimum(np.where(several, OVERLAP, 1.0) * combined, 1.0)


def _first_levels(group: Ints, groups: CellGroups) -> Ints:
    """The index of the first level of each group, which holds all its rows."""
    return np.searchsorted(group, np.arange(len(groups)))


def _test_windows(data: GroupData, begin: Ints, end: Ints, wholes: Ints) -> Floats:
    """The p-values of windows; those at `wholes` hold all rows of a group and are known already."""
    rest = np.ones(len(begin), dtype=np.bool_)
    rest[wholes] = False
    p = np.empty(len(begin))
    p[wholes], p[rest] = data.total, data.positives.mid_p(begin[rest], end[rest])
    return p


def _keep_free(design: Design, begin: Ints, end: Ints, first: Ints, group: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Drop windows with few degrees of freedom, except those of all rows; return windows and levels as before."""
    level = np.repeat(np.arange(len(first)), np.diff(first, append=len(begin)))
    kept = design.known_spread(begin, end).freedom >= FREEDOM
    kept[first[np.flatnonzero(np.diff(group, prepend=-1))]] = True
    level = level[kept]
    first = np.flatnonzero(np.diff(level, prepend=-1))
    return begin[kept], end[kept], first, group[level[first]]
