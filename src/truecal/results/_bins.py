"""The table of bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from truecal._text import plural
from truecal.data import Floats, Ints
from truecal.metrics import (
    Adjustment,
    Binned,
    NonEmptyBins,
    RejectionTest,
    WindowTest,
    adjust_p_values,
    divide_rates,
    exact_interval,
)
from truecal.results._ratios import RATIO_CI, RatioTable
from truecal.results._table import Column, column, register_table
from truecal.verdict import detectable_rates


@register_table
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BinTable(RatioTable):
    """A table with one row per bin. Empty bins are kept, with n = 0, none rejected, and NaN for what is undefined.

    "Exact interval" is the Clopper-Pearson interval of level 1 - significance. If rows were sampled by label, counts
    describe the sample, and scores, rates and ratios the population. If rows are clustered, tests and intervals account
    for each bin's design effect.

    `windows` tells whether the bins are score windows of Local TCE: one of eight grids of overlapping bins, over which
    the share of rejected predictions is the mean. `significance` is the level of tests and intervals.

    Examples
    --------
    >>> import truecal
    >>> table = truecal.evaluate([0, 1] * 100, [0.2] * 100 + [0.3] * 100, ["ece"]).tables["ece"]
    >>> table.n[2:4].tolist(), table.k[2:4].tolist(), table.mean[2:4].tolist()
    ([100, 100], [50, 50], [0.2, 0.3])
    """

    left: Floats = field(metadata=column("score", "from", "Left end of the interval [left, right) of scores."))
    right: Floats = field(metadata=column("score", "to", "Right end of it; the last interval is closed."))
    n: Ints = field(metadata=column("count", "n", "Rows."))
    k: Ints = field(metadata=column("count", "O", "Positives."))
    rate: Floats = field(metadata=column("score", "observed", "k / n."))
    rate_low: Floats = field(metadata=column("score", "rate low", "Lower end of the exact interval of the true rate."))
    rate_high: Floats = field(metadata=column("score", "rate high", "Upper end of it."))
    mean: Floats = field(metadata=column("score", "predicted", "Mean prediction."))
    accepted_low: Floats = field(
        metadata=column("score", "accepted low", "Smallest prediction that the test accepts, given k and n.")
    )
    accepted_high: Floats = field(metadata=column("score", "accepted high", "Largest prediction that it accepts."))
    n_too_low: Ints = field(metadata=column("count", "n too low", "Rows whose prediction is rejected as too low."))
    n_too_high: Ints = field(metadata=column("count", "n too high", "Rows whose prediction is rejected as too high."))
    p_value: Floats = field(metadata=column("p-value", "p", "p-value of the test, for the bin's mean prediction."))
    p_adjusted: Floats = field(
        metadata=column("p-value", "p adjusted", "The same, adjusted for the number of bins if `adjust` is given.")
    )
    detectable_below: Floats = field(
        metadata=column(
            "score",
            "detectable below",
            "The nearest true rate below the mean prediction that the exact binomial test would detect in four of five "
            "data sets; NaN if there is none.",
        )
    )
    detectable_above: Floats = field(metadata=column("score", "detectable above", "The nearest such rate above it."))
    ratio: Floats = field(
        metadata=column(
            "ratio",
            "O/E",
            "Observed over expected positives, k / (n mean). If none are expected: 1 if none are observed, else "
            "infinite.",
        )
    )
    ratio_low: Floats = field(metadata=column("ratio", "ratio low", "Lower end of its exact interval."))
    ratio_high: Floats = field(metadata=column("ratio", "ratio high", "Upper end of it."))
    significance: float = 0.05
    windows: bool = False

    _derived_columns: ClassVar[tuple[Column, ...]] = (
        Column("n_rejected", "count", "n rejected", "Rows whose prediction the test rejects."),
        Column("rejected", "share", "rejected", "Their share of n.", lambda share: f"{100 * share:.1f}%"),
        Column("too_low", "share", "too low", "The share of n that is rejected as too low."),
        Column("too_high", "share", "too high", "The share of n that is rejected as too high."),
        Column("scores", "label", "scores", "The interval of scores."),
        RATIO_CI,
        Column("accepted", "span", "accepted", "The predictions that the test accepts."),
        Column("side", "label", "side", "Whether more predictions are rejected as too low or as too high."),
    )
    _shown: ClassVar[tuple[str, ...]] = (
        *("scores", "n", "k", "mean", "rate", "ratio_ci", "accepted", "p_value", "p_adjusted", "rejected", "side"),
    )
    _spare: ClassVar[tuple[str, ...]] = ("ratio_ci", "k", "p_value", "accepted", "side", "n", "p_adjusted")

    @classmethod
    def of(cls, tables: Sequence[tuple[Binned, RejectionTest]], adjust: Adjustment = None) -> list[BinTable]:
        """The tables of several partitions of the same rows, each under its test; tests of rates are the same in all.
        `adjust` says how p-values are adjusted for the number of bins."""
        held, rates_test = NonEmptyBins([bins.unweighted for bins, _ in tables]), tables[0][1].of_rates
        how, significance, spread = held.sampling, rates_test.significance, held.spread
        seen = detectable_rates(held.n, held.mean, significance=significance, spread=spread)
        rates = held.k / held.n, *exact_interval(held.k, held.n, significance, spread)
        rate, rate_low, rate_high, detectable_below, detectable_above = map(how.to_population, (*rates, *seen))
        ratio, ratio_low, ratio_high = divide_rates(np.stack([rate, rate_low, rate_high]), held.predicted)
        accepted_low, accepted_high = rates_test.accepted(held)
        columns = {
            "rate": rate,
            "rate_low": rate_low,
            "rate_high": rate_high,
            "mean": held.predicted,
            "accepted_low": accepted_low,
            "accepted_high": accepted_high,
            "p_value": rates_test.p_values(held),
            "detectable_below": detectable_below,
            "detectable_above": detectable_above,
            "ratio": ratio,
            "ratio_low": ratio_low,
            "ratio_high": ratio_high,
        }
        filled = np.full((len(columns), len(held.nonempty)), np.nan)  # what is undefined of empty bins
        filled[:, held.nonempty] = list(columns.values())
        found, end = [], 0
        for bins, test in tables:
            begin, end = end, end + len(bins.partition)
            own = dict(zip(columns, filled[:, begin:end], strict=True))
            if isinstance(test, WindowTest):  # of windows, none of which is empty
                own["p_value"][:] = test.p_values(bins)
            n_too_low, n_too_high = test.count(bins.unweighted)
            found.append(
                cls(
                    left=bins.partition.edges[:-1],
                    right=bins.partition.edges[1:],
                    n=bins.partition.n,
                    k=bins.partition.k,
                    n_too_low=n_too_low,
                    n_too_high=n_too_high,
                    p_adjusted=adjust_p_values(own["p_value"], adjust),
                    significance=significance,
                    windows=isinstance(test, WindowTest),
                    **own,
                )
            )
        return found

    @property
    def n_rejected(self) -> Ints:
        """Rows whose prediction the test rejects."""
        return self.n_too_low + self.n_too_high

    @property
    def rejected(self) -> Floats:
        """The share of each bin's rows whose prediction is rejected; NaN for empty bins."""
        return self._share(self.n_rejected)

    @property
    def too_low(self) -> Floats:
        """The share that is rejected as too low."""
        return self._share(self.n_too_low)

    @property
    def too_high(self) -> Floats:
        """The share that is rejected as too high."""
        return self._share(self.n_too_high)

    def _share(self, count: Ints) -> Floats:
        return np.where(self.n > 0, count / np.maximum(self.n, 1), np.nan)

    @property
    def scores(self) -> list[str]:
        """The intervals of scores, such as "[0.2, 0.4)"."""
        ends = ")" * (len(self) - 1) + "]"
        return [f"[{left:.4g}, {right:.4g}{end}" for left, right, end in zip(self.left, self.right, ends, strict=True)]

    @property
    def accepted(self) -> list[str]:
        """The predictions that the test accepts, such as "0.1 to 0.3"; nothing for a bin without rows."""
        low, high = self.accepted_low, self.accepted_high
        return [f"{a:.4g} to {b:.4g}" if n else "" for a, b, n in zip(low, high, self.n, strict=True)]

    @property
    def side(self) -> list[str]:
        """Whether more predictions are rejected as too low or as too high; nothing if none is."""
        rows = zip(self.n_too_low.tolist(), self.n_too_high.tolist(), strict=True)
        return ["too low" if low > high else "too high" if high > low else "" for low, high in rows]

    def _list_shown(self) -> Sequence[str]:
        adjusted = not np.array_equal(self.p_value, self.p_adjusted, equal_nan=True)
        return [name for name in self._shown if adjusted or name != "p_adjusted"]

    def _style(self, name: str, row: int) -> str:
        return "red" if name in ("rejected", "side") and self.n_rejected[row] else ""

    @property
    def summary(self) -> str:
        """Return the numbers of bins and predictions."""
        return f"{plural(len(self), 'bin')}, {plural(int(self.n.sum()), 'prediction')}"
