"""The protocol of a component test of the verdict, and the data that all of them share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np

from truecal.data import Bools, CellGroups, Floats, compute_once
from truecal.metrics import Design, PoissonBinomial, Tolerance

# Below this information few outcomes are possible, and the asymptotic null distributions are far from the exact ones;
# the exact tests stay below their level there.
ASYMPTOTIC = 5.0
T = TypeVar("T")


class ComponentTest(Protocol):
    """One of the tests that the verdict combines: an object with a file of its own, listed in `COMPONENTS`.

    Attributes
    ----------
    name : str
        The key of its p-value in `Verdict.tests`.
    title : str
        Its name in a sentence: "Of the component tests, <title> has the smallest p-value".
    statistic : str
        What it computes, for the table of docs/method.md.
    looks_for : str
        The errors that it has most power against.
    weight : float
        Its weight in the Cauchy combination test.
    least_information : float
        The least information, the sum of p (1 - p) over independent rows, at which it is computed.
    """

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def statistic(self) -> str: ...
    @property
    def looks_for(self) -> str: ...
    @property
    def weight(self) -> float: ...
    @property
    def least_information(self) -> float: ...

    def applies(self, data: GroupData) -> Bools:
        """Return the groups for which the test is computed."""
        ...

    def p_values(self, data: GroupData) -> Floats:
        """Return the p-value of each group; NaN for groups to which the test does not apply."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class GroupData:
    """The data of component tests: groups of rows in cells. Shared quantities are computed once.

    Parameters
    ----------
    groups : CellGroups
        The cells of all groups, end to end.
    positives : PoissonBinomial
        The distribution of the number of positives in any run of cells, with the design of clusters.
    information : array of float
        The sum of p (1 - p) over the rows of each group.
    significance : float
        The level at which single score windows are rejected.
    tolerance : Tolerance, optional
        How far predictions may deviate and still count as calibrated.
    """

    groups: CellGroups
    positives: PoissonBinomial
    information: Floats
    significance: float = 0.05
    tolerance: Tolerance | None = None
    _known: dict[object, Any] = field(default_factory=dict, init=False)  # shared quantities by key

    @classmethod
    def of(cls, groups: CellGroups, significance: float = 0.05, tolerance: Tolerance | None = None) -> GroupData:
        """Prepare groups for the tests."""
        information = groups.add(groups.cells.v)
        return cls(groups, PoissonBinomial.in_groups(groups), information, significance, tolerance)

    @property
    def design(self) -> Design | None:
        """The correlation of rows within clusters; None if all rows are independent."""
        return self.positives.design

    @property
    def effect(self) -> Floats:
        """The design effect of each group, at least 1."""
        return np.ones(len(self.groups)) if self.design is None else np.maximum(self.design.effect, 1.0)

    @property
    def independent(self) -> Bools:
        """The groups in which no two rows share a cluster."""
        return self.every(True) if self.design is None else ~self.design.paired

    @property
    def total(self) -> Floats:
        """The two-sided mid-p-value of all positives of each group."""
        return self._cached("total", lambda: self.positives.mid_p(*self.groups.bounds))

    def every(self, applies: bool) -> Bools:
        """Return the same answer for every group."""
        return self._cached(applies, lambda: np.full(len(self.groups), applies))

    def informative(self, least: float) -> Bools:
        """Return the groups of independent rows with at least this information.

        With a tolerance there are none: the tests that use this have no version with a tolerance.
        """
        if self.tolerance is not None:
            return self.every(False)
        return self._cached(("informative", least), lambda: self.independent & (self.information >= least))

    def fill(self, which: Bools, test: Callable[[CellGroups], Floats]) -> Floats:
        """Return the p-values of some of the groups by a test of these alone, and NaN for the others.

        Tests that choose the same groups share the columns that are derived from their cells.
        """
        count = np.count_nonzero(which)
        if count == len(which):
            return test(self.groups)
        p_values = np.full(len(which), np.nan)
        if count:
            p_values[which] = test(self._cached(which.tobytes(), lambda: self.groups.choose(which)))
        return p_values

    def _cached(self, key: object, compute: Callable[[], T]) -> T:
        """Return a quantity that is computed at its first use and shared by later tests."""
        return compute_once(self._known, key, compute)
