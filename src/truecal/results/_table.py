"""The bins of a partition with everything that is said of them, as plain arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np

from truecal import _kernel
from truecal._errors import option
from truecal.inference import detectable_rates
from truecal.metrics import Binned, Rejection
from truecal.observations import Floats, Ints

Adjustment = Literal["holm", "bh"] | None
FRAMES = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}


@dataclass(frozen=True, slots=True, eq=False)
class BinTable:
    """One row a bin. Empty bins stay, with n = 0, nothing rejected and NaN where there is nothing to say.

    left, right
        The interval [left, right) of scores; the last one is closed.
    n, k, rate, mean
        Observations, positives, k / n, mean prediction.
    rate_low, rate_high
        The exact (Clopper-Pearson) interval of the true rate, of level 1 - significance.
    accepted_low, accepted_high
        The smallest and largest prediction that the test accepts, given k of n.
    rejected, too_low, too_high, rejected_share
        Observations whose prediction is rejected, those of them below and above the accepted ones, and the share
        of n.
    p_value
        Of the test, for the bin's mean prediction.
    p_adjusted
        The same, adjusted for the number of bins where that was asked for.
    seen_below, seen_above
        What the bin could have seen: the nearest true rates below and above its mean prediction that the exact
        binomial test would find in four of five data sets; NaN where there is none.
    ratio, ratio_low, ratio_high
        Observed over expected positives, k / (n mean), with the exact (Clopper-Pearson) interval of level 1 -
        significance. Where nothing was expected: 1 if nothing was observed, else infinite.
    """

    left: Floats
    right: Floats
    n: Ints
    k: Ints
    rate: Floats
    mean: Floats
    accepted_low: Floats
    accepted_high: Floats
    rejected: Ints
    too_low: Ints
    too_high: Ints
    rejected_share: Floats
    p_value: Floats
    p_adjusted: Floats
    seen_below: Floats
    seen_above: Floats
    ratio: Floats
    ratio_low: Floats
    ratio_high: Floats
    rate_low: Floats
    rate_high: Floats

    @classmethod
    def of(cls, bins: Binned, rejection: Rejection, adjust: Adjustment = None) -> BinTable:
        """The table of bins under a test; `adjust` says how p-values are adjusted for the number of bins."""
        test, significance, tolerance = rejection.test, rejection.significance, rejection.tolerance
        partition = bins.partition
        held = partition.n > 0
        n, k = partition.n[held], partition.k[held]
        mean = np.clip(bins.score_sums[held] / n, 0, 1)
        low, high = test.accepted(k, n, significance, tolerance)
        too_low, too_high = bins.rejected(test, significance, tolerance)
        rejected = too_low + too_high
        p_value = test.p_value(k, n, mean)
        below, above = detectable_rates(n, mean, significance=significance)
        rate_low, rate_high = exact_interval(k, n, significance)
        ratio, ratio_low, ratio_high = ratios(np.stack([k / n, rate_low, rate_high]), mean)

        def spread(values: Floats) -> Floats:
            column = np.full(len(partition), np.nan)
            column[held] = values
            return column

        return cls(
            left=partition.edges[:-1],
            right=partition.edges[1:],
            n=partition.n,
            k=partition.k,
            rate=spread(k / n),
            mean=spread(mean),
            accepted_low=spread(low),
            accepted_high=spread(high),
            rejected=rejected,
            too_low=too_low,
            too_high=too_high,
            rejected_share=spread(rejected[held] / n),
            p_value=spread(p_value),
            p_adjusted=spread(adjusted(p_value, adjust)),
            seen_below=spread(below),
            seen_above=spread(above),
            ratio=spread(ratio),
            ratio_low=spread(ratio_low),
            ratio_high=spread(ratio_high),
            rate_low=spread(rate_low),
            rate_high=spread(rate_high),
        )

    def columns(self) -> dict[str, Floats | Ints]:
        """The columns by name."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    def to_frame(self, library: str | None = None) -> Any:
        """The table as a dataframe of "pandas", "polars" or "pyarrow", by default the first that is installed."""
        return as_frame(self.columns(), library)

    def __len__(self) -> int:
        return len(self.n)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BinTable):
            return NotImplemented
        mine, theirs = self.columns(), other.columns()
        return all(np.array_equal(mine[name], theirs[name], equal_nan=mine[name].dtype.kind == "f") for name in mine)

    __hash__ = None  # type: ignore[assignment]


def exact_interval(k: Ints, n: Ints, significance: float) -> tuple[Floats, Floats]:
    """The Clopper-Pearson interval of level 1 - significance, given k positives in n observations."""
    tail = significance / 2
    low = np.where(k > 0, _kernel.binomial_rates(np.maximum(k, 1), n, tail), 0.0)
    high = np.where(k < n, _kernel.binomial_rates(np.minimum(k + 1, n), n, 1 - tail), 1.0)
    return low, high


def ratios(rates: Floats, mean: Floats) -> tuple[Floats, Floats, Floats]:
    """A rate and its interval over the mean prediction; where that is 0: 1, or infinite if something was observed."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = rates / mean
    nothing = mean == 0
    found[:, nothing] = np.where(rates[0, nothing] > 0, np.inf, np.array([[1.0], [0.0], [np.inf]]))
    return found[0], found[1], found[2]


def adjusted(p_value: Floats, method: Adjustment) -> Floats:
    """p-values adjusted for their number: Holm's step-down, or Benjamini and Hochberg's step-up.

    Examples
    --------
    >>> import numpy as np
    >>> adjusted(np.array([0.01, 0.04, 0.03]), "holm").tolist()
    [0.03, 0.06, 0.06]
    """
    if method is None:
        return p_value
    size, order = len(p_value), np.argsort(p_value)
    ranked = p_value[order]
    if method == "holm":
        steps = np.maximum.accumulate(ranked * np.arange(size, 0, -1))
    elif method == "bh":
        steps = np.minimum.accumulate((ranked * size / np.arange(1, size + 1))[::-1])[::-1]
    else:
        raise ValueError(f'{option("adjust")} must be "holm", "bh" or None; it is {method!r}.')
    result = np.empty_like(p_value)
    result[order] = np.minimum(steps, 1.0)
    return result


def as_frame(columns: Mapping[str, Any], library: str | None) -> Any:
    """Columns as a dataframe of a library that must be installed; None takes the first that is."""
    if library is None:
        library = next((name for name in FRAMES if find_spec(name)), "pandas")
    if library not in FRAMES:
        raise ValueError(f"`library` must be one of {', '.join(FRAMES)}; it is {library!r}.")
    try:
        module = import_module(library)
    except ImportError as error:
        raise ImportError(f"A {library} dataframe needs {library}: pip install {library}") from error
    return getattr(module, FRAMES[library])(columns)
