"""Power: the errors that are detectable in a number of rows, and the rows that an error requires."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from truecal import _kernel
from truecal._errors import option
from truecal._options import PlanOptions, check_given, check_option, declare
from truecal._text import Terminal
from truecal.data import NO_SAMPLING, Bools, CellGroups, Cells, Floats, Ints, Sampling
from truecal.metrics import (
    MOST_ROWS,
    POWER,
    Design,
    Level,
    Spread,
    Tolerance,
    check_counts,
    check_probabilities,
    check_significance,
    find_rates,
    is_number,
    normal_quantile,
    shift_probabilities,
)

FIFTH = 0.2  # of the information: the score band of a local error that is planned for
# The significance over these is the level of each tail, for the total and for a fifth: the combination leaves one test
# about half of the significance, and a scan divides its share among windows. study/plan.py measures the power.
TOTAL_TAILS, FIFTH_TAILS = 4, 148
LARGEST_LOG_RATIO = math.log(1e6)  # the largest log odds ratio that is searched


@dataclass(frozen=True, slots=True, eq=False)
class OddsShiftPower:
    """The effect of an odds ratio on the expected positives of each group, and on their variance.

    With significance a, the verdict detects a common odds ratio if the total number of positives deviates by more than
    z_(1 - a / 4) standard deviations. An error confined to a fifth of the information must deviate by z_(1 - a / 148)
    in that fifth, because the scans test many fifths. Odds ratios are given by their logarithms, one for each group.
    """

    n: Floats
    q: Floats
    upper: Bools
    starts: Ints  # the first cell of each group, and the number of cells
    v: Floats  # the information of each group
    whole: Floats  # the standard deviations by which the total must deviate, and that of a fifth
    fifth: Floats
    effects: tuple[Floats, Floats]  # the design effects of all rows, and of a fifth of the information
    sampling: Sampling = NO_SAMPLING

    @classmethod
    def of(cls, groups: CellGroups, significance: float) -> OddsShiftPower:
        """Prepare groups of rows at a significance."""
        # cells of 7 bits are precise enough: within each, q differs by less than a part in 64
        coarse = groups.coarse.coarsen(7)
        design = Design.of(groups)
        spreads = (None, None) if design is None else (design.total, _find_fifths(groups, design))
        (whole, one), (fifth, other) = (
            _find_limits(spread, significance / tails, len(groups))
            for tails, spread in zip((TOTAL_TAILS, FIFTH_TAILS), spreads, strict=True)
        )
        cells, v = coarse.cells, groups.add(groups.cells.v)
        n = cells.n.astype(np.float64)
        return cls(n, cells.q, cells.upper, coarse.starts, v, whole, fifth, (one, other), cells.sampling)

    def resized(self, rows: float) -> OddsShiftPower:
        """Return the same scores of one group in another number of rows."""
        scale = rows / float(self.n.sum())
        return replace(self, n=self.n * scale, v=self.v * scale)

    def moved(self, tolerance: Tolerance, *, up: bool) -> OddsShiftPower:
        """Return the same groups with predictions raised or lowered by a tolerance, beyond which errors count."""
        q = shift_probabilities(self.q, self.upper, self.sampling, tolerance, up)
        return replace(self, q=q, v=np.add.reduceat(self.n * q * (1 - q), self.starts[:-1]))

    def detectable_beyond(self, tolerance: Tolerance) -> tuple[Floats, Floats, Floats]:
        """Return the minimum detectable odds ratios beyond a tolerance (80% power).

        They are: on all predictions, in both directions; on a fifth of the information, up; and down. Nothing is
        detectable, and 1 is returned, if the tolerance moves every prediction to 0 or to 1.
        """
        ways = [(self.moved(tolerance, up=sign > 0), sign) for sign in (1, -1)]
        nothing = [(moved.v == 0) & (self.v > 0) for moved, _ in ways]
        (up, down), fifths = (
            [
                np.where(none, 1.0, moved.detectable((sign,), fifth=fifth))
                for (moved, sign), none in zip(ways, nothing, strict=True)
            ]
            for fifth in (False, True)
        )
        return np.maximum(up, down), fifths[0], fifths[1]

    def expected(self, log_factor: Floats) -> Floats:
        """Return the expected positives of each group if all odds are multiplied by an odds ratio."""
        positives = self.n * np.where(self.upper, 1 - self.q, self.q)
        return np.asarray(np.add.reduceat(positives, self.starts[:-1]) + self._change(log_factor)[0])

    def detectable(self, signs: tuple[int, ...], *, fifth: bool = False, power: float = POWER) -> Floats:
        """Return the minimum odds ratio, on all predictions or on a fifth of the information, detected with this power.

        It holds for every sign of the logarithm in `signs`; infinite above a million.
        """
        share, threshold, effect = self._choose_scope(fifth)
        reach = math.sqrt(share) / np.sqrt(effect)
        wanted, limit = -normal_quantile(power), threshold * np.sqrt(self.v)
        if not self.sampling.noisy:
            cells, ways = (self.n, self.q, self.upper, self.starts), (1 in signs, -1 in signs)
            log_ratios = _kernel.find_factors(*cells, reach, limit, wanted, *ways, LARGEST_LOG_RATIO)
            return np.where(self.v == 0, np.inf, np.exp(log_ratios))

        def missed(log_factor: Floats) -> Bools:
            too_weak = np.zeros(len(self.v), dtype=np.bool_)
            for sign in signs:
                change, spread = self._change(sign * log_factor)
                too_weak |= ((reach * np.abs(change) - limit) / np.sqrt(spread) < wanted) | (self.v == 0)
            return too_weak

        return np.asarray(np.exp(_bisect(missed, len(self.v), 1e-3)))

    def rows_needed(self, log_factor: float, power: float, *, fifth: bool = False) -> int:
        """Return the fewest rows of one group's scores in which an odds ratio is detected with this power."""
        share, threshold, effect = self._choose_scope(fifth)
        change, spread = (float(values[0]) for values in self._change(np.full(1, log_factor)))
        z = normal_quantile(1 - power) * math.sqrt(spread) + float(threshold[0]) * math.sqrt(float(self.v[0]))
        return max(1, math.ceil(float(self.n.sum()) * max(z, 0.0) ** 2 * float(effect[0]) / (share * change**2)))

    def _choose_scope(self, fifth: bool) -> tuple[float, Floats, Floats]:
        """The share of the information that is tested, the standard deviations by which it must deviate, and its
        design effect."""
        return (FIFTH, self.fifth, self.effects[1]) if fifth else (1.0, self.whole, self.effects[0])

    def _change(self, log_factor: Floats) -> tuple[Floats, Floats]:
        """The change of the total by an odds ratio, and its variance then. Sampling by label changes no odds ratio."""
        if self.sampling.noisy:
            change, spread = self._change_noisy(log_factor)
        else:
            change, spread = _kernel.shift(self.n, self.q, self.upper, self.starts, np.exp(log_factor))
        return change, np.maximum(spread, 1e-300)

    def _change_noisy(self, log_factor: Floats) -> tuple[Floats, Floats]:
        """The same with label noise: the odds ratio acts on the predictions, before labels are flipped."""
        q = np.where(self.upper, 1 - self.q, self.q)
        p = self.sampling.to_population(q)
        numerator = np.repeat(np.exp(log_factor), np.diff(self.starts)) * p
        moved = self.sampling.to_sampled(numerator / (1 - p + numerator))
        change, spread = (
            np.add.reduceat(self.n * column, self.starts[:-1]) for column in (moved - q, moved * (1 - moved))
        )
        return change, spread


def _find_limits(spread: Spread | None, level: float, groups: int) -> tuple[Floats, Floats]:
    """The standard deviations by which each group's total must deviate at a level, and its design effect."""
    if spread is None:
        return np.full(groups, normal_quantile(level)), np.ones(groups)
    limits = np.array([normal_quantile(tail) for tail in spread.tails(level).tolist()])
    return limits / np.sqrt(spread.effect), spread.effect


def _find_fifths(groups: CellGroups, design: Design) -> Spread:
    """The spread of the fifth of each group's information that has the largest design effect."""
    v = groups.cells.v
    middle = np.cumsum(v) - v / 2
    before, total = (groups.repeat(column) for column in (middle[groups.starts[:-1]], groups.add(v)))
    part = np.clip((middle - before) / np.maximum(total, 1e-300) / FIFTH, 0, 1 / FIFTH - 1).astype(np.int64)
    new = np.diff(part, prepend=-1) != 0
    new[groups.starts[:-1]] = True
    begin = np.flatnonzero(new)
    spreads = design.spread(begin, np.append(begin[1:], len(v)))
    owner = groups.owners(begin)
    largest = np.lexsort((-spreads.effect, owner))[np.searchsorted(owner, np.arange(len(groups)))]
    return Spread(spreads.effect[largest], spreads.freedom[largest])


@dataclass(frozen=True, slots=True, repr=False)
class Plan:
    """The rows that the verdict requires to detect an error, and the errors detectable in them.

    Parameters
    ----------
    prediction, information : float
        The mean prediction p, and the mean information of a row, p (1 - p).
    significance, power : float
        The level of the verdict, and the probability with which it must detect the error.
    factor, ratio : float or None
        The error to detect: a common odds ratio, and the observed over expected positives (O/E) that it causes. None if
        rows were given.
    rows, fifth_rows : int, int or None
        The rows required, or those given; and the rows required if the odds ratio applies only to a score band with a
        fifth of the information.
    above, below : float
        The errors detectable in `rows` rows: all odds multiplied by `above` or more, or divided by `below` or more.
        Infinite if nothing is detectable.
    fifth_above, fifth_below : float
        The same for an error that is confined to a fifth of the information.

    Examples
    --------
    >>> import truecal
    >>> found = truecal.plan(0.1, ratio=1.2)
    >>> found.rows, round(found.factor, 3)
    (2237, 1.227)
    """

    prediction: float
    information: float
    significance: float
    power: float
    factor: float | None
    ratio: float | None
    rows: int
    fifth_rows: int | None
    above: float
    below: float
    fifth_above: float
    fifth_below: float

    def __repr__(self) -> str:
        from truecal import words

        terminal = Terminal()
        return f"{terminal.wrap(words.summarize_plan(self))}\n{terminal.terms(words.list_plan(self))}"


@declare(first=(PlanOptions,))
def plan(
    y_prob: Any,
    *,
    factor: float | None = None,
    ratio: float | None = None,
    rows: int | None = None,
    power: float = POWER,
    significance: float = 0.05,
) -> Plan:
    """Compute the rows that the verdict requires to detect an error, or the errors detectable in a number of rows.

    The error is a common odds ratio, as a change of prevalence causes, or one confined to a fifth of the information.
    Rows are taken as independent.

    Parameters
    ----------
    y_prob : float or array
        One probability that is predicted for every row, such as the prevalence, or a sample of typical predictions.
        Predictions that vary carry less information per row than their mean.

    Examples
    --------
    >>> import truecal
    >>> truecal.plan(0.01, ratio=1.2).rows  # 1.2% positives if 1% are predicted
    24753
    >>> round(truecal.plan(0.01, rows=100_000).above, 2)
    1.1
    """
    check_significance(significance)
    check_given(plan, power=power, rows=rows)
    if sum(given is not None for given in (factor, ratio, rows)) != 1:
        names = ", ".join(option(name) for name in ("factor", "ratio"))
        raise ValueError(f"One of {names} and {option('rows')} must be given, and not more than one.")
    row = _read_predictions(y_prob, significance)
    mean, fifth_rows = _expected_positives(row), None
    if rows is None:
        if factor is None:
            factor = _solve_odds_ratio(row, _read_change("ratio", ratio))
        factor = _read_change("factor", factor)
        ratio = _expected_positives(row, math.log(factor)) / mean if ratio is None else ratio
        rows, fifth_rows = (row.rows_needed(math.log(factor), power, fifth=fifth) for fifth in (False, True))
    elif rows > MOST_ROWS:
        raise ValueError(f"{option('rows')} must be at most 2^53; it is {rows!r}.")
    rows = int(rows)
    there = row.resized(rows)
    detectable = (
        float(there.detectable((sign,), fifth=fifth, power=power)[0]) for fifth in (False, True) for sign in (1, -1)
    )
    return Plan(mean, float(row.v[0]), significance, power, factor, ratio, rows, fifth_rows, *detectable)


def required_rows(cells: Cells, factor: float, significance: float, tolerance: Tolerance | None = None) -> int | None:
    """Return the rows of such predictions in which the verdict detects a common odds ratio in both directions.

    None if no number is enough. Samples differ in the information of their rows: twice its standard error is added, and
    the number is rounded up to two digits.

    Examples
    --------
    >>> import numpy as np
    >>> cells = Cells.from_arrays(np.zeros(100, dtype=bool), np.full(100, 0.25))
    >>> required_rows(cells, 1.5, 0.05), required_rows(cells, 1.5, 0.01)
    (370, 520)
    """
    here = OddsShiftPower.of(CellGroups.of([cells]), significance)
    if not here.v[0] > 0:
        return None
    ways = [(here if tolerance is None else here.moved(tolerance, up=sign > 0), sign) for sign in (1, -1)]
    needed = [way.rows_needed(sign * math.log(factor), POWER) for way, sign in ways if way.v[0] > 0]
    rows, information, n = max(needed, default=1), here.q * (1 - here.q), float(here.n.sum())
    varied = math.sqrt(max(0.0, float(here.n @ information**2) * n / float(here.n @ information) ** 2 - 1))
    rows = math.ceil(rows * (1 + 2 * varied * math.sqrt(1 / n + 1 / rows)))
    step = int(10 ** max(0, len(str(rows)) - 2))
    return math.ceil(rows / step) * step


def _expected_positives(row: OddsShiftPower, log_factor: float = 0.0) -> float:
    return float(row.expected(np.full(1, log_factor))[0])


def _read_change(name: str, given: Any) -> float:
    """An odds ratio or O/E as a plain number."""
    if not is_number(given) or not 1e-300 <= float(given) <= 1e300 or given == 1:
        raise ValueError(f"{option(name)} must be above 0 and not 1, from 1e-300 to 1e300; it is {given!r}.")
    return float(given)


def _read_predictions(y_prob: Any, significance: float) -> OddsShiftPower:
    """One row of such predictions."""
    if np.ndim(y_prob) == 0 and not 0 < y_prob < 1:
        hint = "\n\nHint: divide percentages by 100." if 1 <= y_prob <= 100 else ""
        raise ValueError(f"{option('y_prob')} must lie between 0 and 1; it is {y_prob!r}.{hint}")
    sample = np.full(1, float(y_prob)) if np.ndim(y_prob) == 0 else y_prob
    cells = Cells.from_arrays(np.zeros(len(sample), dtype=bool), sample)
    if not cells.v.any():
        raise ValueError(f"{option('y_prob')} must hold predictions between 0 and 1; all are 0 or 1.")
    return OddsShiftPower.of(CellGroups.of([cells]), significance).resized(1)


def _solve_odds_ratio(row: OddsShiftPower, ratio: float) -> float:
    """The common odds ratio that multiplies the expected positives by a ratio."""
    sign, wanted = 1 if ratio > 1 else -1, ratio * _expected_positives(row)
    log_ratio = math.inf
    if ratio != 1:
        log_ratio = float(_bisect(lambda t: sign * (wanted - row.expected(sign * t)) > 0, 1, 1e-9)[0])
    if math.isinf(log_ratio):
        raise ValueError(
            f"{option('ratio')} must be above 0, not 1, and leave the rate of positives below 1; it is {ratio!r} for a "
            f"mean prediction of {_expected_positives(row):.4g}."
        )
    return math.exp(sign * log_ratio)


def _bisect(missed: Callable[[Floats], Bools], size: int, precision: float) -> Floats:
    """The log odds ratio of each group from which on nothing is missed; infinite beyond the largest."""
    never = missed(np.full(size, LARGEST_LOG_RATIO))
    low, high = np.zeros(size), np.ones(size)
    while (more := ~never & (high < LARGEST_LOG_RATIO) & missed(high)).any():
        low, high = np.where(more, high, low), np.where(more, np.minimum(2 * high, LARGEST_LOG_RATIO), high)
    while (open_ := ~never & (high - low > precision * high)).any():
        middle = (low + high) / 2
        far = missed(middle)
        low, high = np.where(open_ & far, middle, low), np.where(open_ & ~far, middle, high)
    return np.where(never, np.inf, high)


@declare(first=(PlanOptions,))
def detectable_rates(
    n: Ints | int,
    rate: Floats | float,
    *,
    power: float = 0.8,
    significance: float = 0.05,
    spread: Spread | None = None,
) -> tuple[Floats, Floats]:
    """Return the nearest true rates below and above the predicted `rate` that a bin of n rows detects with this power.

    NaN if there is none.

    Parameters
    ----------
    n : int or array
        The rows of each bin.
    rate : float or array
        The predicted rate of each bin.
    spread : Spread, optional
        The design effects of bins of clustered rows.

    Examples
    --------
    >>> from truecal.verdict import detectable_rates
    >>> below, above = detectable_rates(1000, 0.1)  # a bin of 1,000 rows with a predicted rate of 10%
    >>> round(float(below), 3), round(float(above), 3)
    (0.075, 0.128)
    """
    check_significance(significance)
    check_option("power", power)
    n_, p = np.broadcast_arrays(check_counts(0, n)[1], check_probabilities(rate))
    shape = n_.shape
    n_, p = n_.ravel().copy(), p.ravel().copy()
    low, high = critical_counts(n_, p, significance if spread is None else spread.levels(significance))
    # P(X <= low) and P(X >= high) reach the power; the other tail is negligible
    missed = 1 - power if spread is None else spread.tails(min(1 - power, 0.5))
    below = np.where(low >= 0, find_rates(np.minimum(np.maximum(low, 0) + 1, n_), n_, missed), np.nan)
    above = np.where(high <= n_, find_rates(np.clip(high, 1, n_), n_, missed, rest=True), np.nan)
    return below.reshape(shape), above.reshape(shape)


def critical_counts(n: Ints, p: Floats, significance: Level) -> tuple[Ints, Ints]:
    """Return the largest rejected count below the likeliest one, or -1, and the smallest above it, or n + 1."""
    return _kernel.critical_counts(n, p, np.broadcast_to(significance, n.shape) + 0.0)
