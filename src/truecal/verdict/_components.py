"""The component tests of the verdict in their order, their p-values, and the combination of these.

A new test is a file with a class that fulfils `ComponentTest`, and a line here: names, weights, descriptions and the
table of docs/method.md follow.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from truecal.data import Floats
from truecal.metrics import Tolerance
from truecal.verdict._combine import combine_bonferroni, combine_cauchy
from truecal.verdict._component import ComponentTest, GroupData
from truecal.verdict._cox import CoxTest
from truecal.verdict._cumulative import CumulativeTest
from truecal.verdict._odds_ratio import OddsRatioTest
from truecal.verdict._scan import SCAN_INFORMATION, SCAN_ROWS
from truecal.verdict._spread import SpreadTest
from truecal.verdict._total import TotalTest
from truecal.verdict._windows import WindowsTest

COMPONENTS: tuple[ComponentTest, ...] = (
    TotalTest(),
    SCAN_INFORMATION,
    SCAN_ROWS,
    CoxTest(),
    CumulativeTest(),
    SpreadTest(),
    OddsRatioTest(),
    WindowsTest(),
)
"""The component tests of the verdict, in the order of `Verdict.tests`; see `ComponentTest`.

Examples
--------
>>> from truecal.verdict import COMPONENTS
>>> [test.name for test in COMPONENTS if test.weight < 1]
['spread']
"""
WEIGHTS = {test.name: test.weight for test in COMPONENTS}


def combine(tests: Mapping[str, float]) -> float:
    """Return the p-value of the verdict from those of its component tests.

    Examples
    --------
    >>> from truecal.verdict import combine
    >>> round(combine({"total": 0.01, "scan_information": 0.04, "scan_rows": 0.5}), 4)
    0.024
    """
    return float(combine_groups({name: np.array([p]) for name, p in tests.items()}, None)[0])


def compute_p_values(data: GroupData) -> dict[str, Floats]:
    """Return the p-values of each group by the tests that apply to any group; NaN for groups to which one does not."""
    return {test.name: test.p_values(data) for test in COMPONENTS if np.count_nonzero(test.applies(data))}


def combine_groups(tests: Mapping[str, Floats], tolerance: Tolerance | None) -> Floats:
    """Return the combined p-value of each group, by the Cauchy combination test.

    With a tolerance there are only two tests, and they are combined by the Bonferroni correction.
    """
    p = np.stack(list(tests.values()))
    if tolerance is not None:
        return combine_bonferroni(p)
    return combine_cauchy(p, np.array([WEIGHTS[name] for name in tests]))


def list_by_group(tests: Mapping[str, Floats], count: int) -> list[dict[str, float]]:
    """Return the p-values of each of so many groups by name, without those of tests that do not apply."""
    columns = {name: column.tolist() for name, column in tests.items()}
    return [{name: column[i] for name, column in columns.items() if not math.isnan(column[i])} for i in range(count)]
