"""Check the state of a monitor that was read from a file: an edited or damaged one must not silence the alarm."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from truecal._options import WINDOWS
from truecal.data import Floats, Ints
from truecal.inference import BETS, PeriodClusters, PeriodSums, Process, RepeatClusters
from truecal.metrics import check_significance
from truecal.results._json import Misfit, misfit

if TYPE_CHECKING:
    from truecal.results._monitor import MonitorState, PendingPeriod, Series

ALL_ROWS_SHARE = 0.5  # of the significance goes to all rows together, the rest to segments
MOST_ROWS = 2.0**53  # that a number counts exactly
ROUNDING = 1e-9  # of sums over many rows


def share_of_segment(batch: int, count: int) -> float:
    """Return the share of the significance of each of `count` segments that appeared as the batch of this number.

    1 / (b (b + 1)) adds up to 1 over all batches b: however many appear, their shares never exceed the rest.
    """
    return (1 - ALL_ROWS_SHARE) / (batch * (batch + 1)) / count


def check_state(state: MonitorState) -> None:
    """Raise an error that names the key unless every number of a state lies in its range and all fit together."""
    with _at("significance"):
        check_significance(state.significance)
    _require(state.threshold is None or 0 <= state.threshold <= 1, "threshold", "lie in [0, 1]", state.threshold)
    late = state.label_lag is None or state.label_lag >= timedelta(0)
    _require(late, "label_lag", "be 0 or more", str(state.label_lag))
    _require(state.every in (None, *WINDOWS), "every", f"be one of {', '.join(WINDOWS)}", state.every)
    _require(len(set(state.by)) == len(state.by), "by", "name each column once", list(state.by))
    _require((state.label is None) == (state.score is None), "score", "be given with `label`", state.score)
    for i, series in enumerate(state.series):
        with _at(f"series[{i}]"):
            _check_series(series, state.significance)
    _check_shares(state)
    ends = [one.periods[-1] for one in state.series if one.periods]
    with _at("last"):
        right = type(state.last) is type(max(ends)) and state.last == max(ends) if ends else state.last is None
    _require(right, "last", "be the last evaluated period", str(state.last))
    _check_pending(state)


@contextmanager
def _at(key: str) -> Iterator[None]:
    """Let errors name a key of the state."""
    try:
        yield
    except Misfit as error:
        raise error.under(key) from error
    except (TypeError, ValueError) as error:
        raise Misfit(f"must be as truecal writes it; it is not: {error}", key) from error


def _require(right: Any, key: str, rule: str, value: Any) -> None:
    """Raise an error for a key unless its value is right."""
    if not right:
        raise Misfit(f"must {rule}; it is {value!r}.", key)


def _require_all(right: Any, key: str, rule: str, values: Floats | Ints) -> None:
    """Raise an error for the first of several values that is wrong; NaN never is right."""
    wrong = np.flatnonzero(~np.asarray(right))
    if len(wrong):
        raise Misfit(f"must {rule}; it is {values.flat[wrong[0]]}.", f"{key}[{wrong[0]}]")


def _check_shares(state: MonitorState) -> None:
    """Check the segments and their shares of the significance, by which each was started."""
    segments = [one.segment for one in state.series]
    with _at("series"):
        distinct = len(set(segments)) == len(segments)
    _require(distinct, "series", "have each segment once", segments)
    for i, segment in enumerate(segments):
        fits = segment is None if i == 0 else segment is not None and len(segment) == len(state.by)
        _require(
            fits, f"series[{i}].segment", "be null for the first series, and have a value for each of `by`", segment
        )
    if not segments:
        return
    _check_share(state, 0, ALL_ROWS_SHARE if state.by else 1.0)
    begin = 1
    for batch in range(1, state.batches + 1):
        share = state.series[begin].share if begin < len(segments) else math.nan
        count = round(share_of_segment(batch, 1) / share) if share > 0 else 0
        _require(0 < count <= len(segments) - begin, "batches", "count how often segments appeared", state.batches)
        for i in range(begin, begin + count):
            _check_share(state, i, share_of_segment(batch, count))
        begin += count
    _require(begin == len(segments), "batches", "count how often segments appeared", state.batches)


def _check_share(state: MonitorState, i: int, share: float) -> None:
    found = state.series[i].share
    _require(math.isclose(found, share, rel_tol=ROUNDING), f"series[{i}].share", f"be {share:g}", found)


def _check_series(series: Series, significance: float) -> None:
    """Check the periods of one series, and its evidence."""
    _require(0 <= series.pivot <= 1, "pivot", "lie in [0, 1]", series.pivot)
    count = len(series.periods)
    with _at("periods"):
        _check_periods(series.periods)
    for name in ("n", "observed", "expected", "information", "slope_surplus", "e_value"):
        shape = getattr(series, name).shape
        _require(shape == (count,), name, f"have a value for each of {count} periods", shape)
    _check_sums(series.n, series.observed, series.expected, series.information, series.slope_surplus)
    _require_all(series.e_value >= 0, "e_value", "be 0 or more", series.e_value)
    process = series.process
    with _at("process"):
        _require(0 <= process.count <= count, "count", f"lie in 0..{count}", process.count)
        _check_process(process)
    values = series.e_value[count - process.count :]
    if process.count:
        fits = math.isclose(process.e_value * series.share, values[-1], rel_tol=ROUNDING)
        _require(fits, "process.log_a", "fit the last `e_value`", process.log_a.tolist())
    raised = np.flatnonzero(values >= 1 / significance)
    _require(series.alarm == bool(len(raised)), "alarm", "be true if an e-value reached the threshold", series.alarm)
    period = series.periods[count - process.count + raised[0]] if len(raised) else None
    _require(series.alarm_period == period, "alarm_period", f"be {period!s}", str(series.alarm_period))


def _check_periods(periods: tuple[Any, ...]) -> None:
    """Check that periods are of one type and increase."""
    kinds = {type(period) for period in periods}
    _require(len(kinds) < 2 and type(None) not in kinds, "", "be of one type", sorted(kind.__name__ for kind in kinds))
    _require(all(period == period for period in periods), "", "be numbers or times", "NaN")  # noqa: PLR0124
    for i, (before, after) in enumerate(pairwise(periods)):
        _require(before < after, f"[{i + 1}]", "be later than the one before", str(after))


def _check_sums(n: Ints, observed: Ints, expected: Floats, information: Floats, slope_surplus: Floats) -> None:
    """Check the sums over the rows of periods; in the sample they may differ by rounding."""
    most = n * (1 + ROUNDING)
    _require_all(n >= 1, "n", "be 1 or more", n)
    _require_all((observed >= 0) & (observed <= n), "observed", "lie in 0..n", observed)
    _require_all((expected >= 0) & (expected <= most), "expected", "lie in [0, n]", expected)
    _require_all((information >= 0) & (information <= most / 4), "information", "lie in [0, n / 4]", information)
    _require_all(np.abs(slope_surplus) <= most, "slope_surplus", "lie in [-n, n]", slope_surplus)


def _check_process(process: Process) -> None:
    """Check the evidence of a series."""
    log_a, count = process.log_a, process.count
    _require(log_a.shape == (BETS,), "log_a", f"have a value for each of {BETS} bets", log_a.shape)
    if count == 0:
        _require_all(log_a == -np.inf, "log_a", "be -inf before the first period", log_a)
    elif not np.all(log_a == np.inf):  # a label contradicted a certain prediction
        _require_all(np.isfinite(log_a), "log_a", "be finite, or inf for every bet", log_a)
    # every design effect is 1 or more
    right = process.effects == 0 if count == 0 else count * (1 - ROUNDING) <= process.effects < math.inf
    _require(right, "effects", "be a finite sum of design effects", process.effects)
    if process.clusters is not None:
        with _at("clusters"):
            _check_repeats(process.clusters)


def _check_pending(state: MonitorState) -> None:
    """Check the periods that wait for their labels."""
    known = {one.segment for one in state.series}
    seen: set[Any] = set()
    previous: Any = None
    for i, one in enumerate(state.pending):
        with _at(f"pending[{i}]"):
            _check_pending_period(one, state, previous)
            _require(one.segment in known, "segment", "be that of a series", one.segment)
            _require((one.period, one.segment) not in seen, "period", "be given once", str(one.period))
        seen.add((one.period, one.segment))
        previous = one.period


def _check_pending_period(one: PendingPeriod, state: MonitorState, previous: Any) -> None:
    with _at("period"):
        _check_periods((one.period,) if state.last is None else (state.last, one.period))
        _require(previous is None or previous <= one.period, "", "be in order", str(one.period))
    with _at("sums"):
        _check_period_sums(one.sums)


def _check_period_sums(sums: PeriodSums) -> None:
    for name in ("n", "observed"):
        _require(0 <= getattr(sums, name) <= MOST_ROWS, name, "be a number of rows", getattr(sums, name))
    n, observed = np.array([sums.n]), np.array([sums.observed])
    _check_sums(n, observed, *(np.array([x]) for x in (sums.expected, sums.information, sums.slope_surplus)))
    _require(sums.log_e.shape == (BETS,), "log_e", f"have a value for each of {BETS} bets", sums.log_e.shape)
    if not np.all(sums.log_e == np.inf):
        _require_all(np.isfinite(sums.log_e), "log_e", "be finite, or inf for every bet", sums.log_e)
    _require(1 - ROUNDING <= sums.effect < math.inf, "effect", "be 1 or more", sums.effect)
    if sums.clusters is not None:
        with _at("clusters"):
            _check_period_clusters(sums.clusters)


def _check_period_clusters(clusters: PeriodClusters) -> None:
    _check_sample(clusters)
    _require(0 < clusters.reach <= 1, "reach", "lie above 0, up to 1", clusters.reach)


def _check_repeats(clusters: RepeatClusters) -> None:
    _check_sample(clusters)
    size = len(clusters.hashes)
    for name, shape in (("squares", (3, size)), ("periods", (size,)), ("chance", (size,))):
        found = getattr(clusters, name).shape
        _require(found == shape, name, f"be of the shape {shape}", found)
    right = (clusters.squares >= 0) & (clusters.squares <= MOST_ROWS**2)
    _require_all(right, "squares", f"lie in [0, {MOST_ROWS**2:g}]", clusters.squares)
    _require_all(clusters.periods >= 1, "periods", "be 1 or more", clusters.periods)
    least = np.where(clusters.periods > 1, np.nextafter(0, 1), 0.0)
    right = (clusters.chance >= least) & (clusters.chance <= 1)
    _require_all(right, "chance", "be a probability, above 0 for a cluster that recurred", clusters.chance)
    for name in ("once", "again"):
        _require(0 < getattr(clusters, name) <= 1, name, "lie above 0, up to 1", getattr(clusters, name))


def _check_sample(clusters: PeriodClusters | RepeatClusters) -> None:
    """Check the clusters of a sample, and the totals of all."""
    hashes, sums = clusters.hashes, clusters.sums
    _require(hashes.ndim == 1, "hashes", "be a list of numbers", hashes.shape)
    _require_all(np.diff(hashes.astype(np.float64), prepend=-np.inf) >= 0, "hashes", "increase", hashes)
    _require(sums.shape == (3, len(hashes)), "sums", f"be three lists of {len(hashes)}", sums.shape)
    _require_all(np.abs(sums) <= MOST_ROWS, "sums", f"lie within {MOST_ROWS:g}", sums)
    _require_all(sums[1:] >= 0, "sums", "be 0 or more for the last two", sums[1:])
    surplus, variance = clusters.total
    if not (abs(surplus) <= MOST_ROWS and float(sums[2].sum()) * (1 - ROUNDING) <= variance <= MOST_ROWS):
        raise misfit("the totals of all clusters", list(map(str, clusters.total))).under("total")
