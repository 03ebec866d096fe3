"""Which segments are wrong, and which windows of time: one metric for each of many tallies, against chance, adjusted
for their number.

Both measure every part in the same way. Segments are held against all sets of labels where these are few; windows have
intervals as well, and the prevalence beside them, so that one kind of change is not taken for the other.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from truecal import inference
from truecal._errors import option
from truecal._progress import Progress
from truecal.analysis._evaluate import Options, check_options
from truecal.analysis._parts import (
    check_tallies,
    choose_metric,
    choose_parts,
    count_left_out,
    count_rows,
    find_threshold,
)
from truecal.inference import (
    FIRST,
    Draws,
    check_confidence,
    detectable_rates,
    sequential_reference,
)
from truecal.metrics import (
    LTCE,
    Adjustment,
    Binned,
    Coins,
    Measure,
    Metric,
    Refuting,
    Rejection,
    Spread,
    adjust_p_values,
    bin_once,
    check_significance,
    divide_rates,
    exact_interval,
    fisher_p_value,
    grid_bounds,
)
from truecal.observations import (
    AS_THEY_ARE,
    Bools,
    CellSums,
    Floats,
    GridTally,
    Ints,
    Moment,
    Part,
    Span,
    Tallies,
    find_ends,
    find_mature,
    read_span,
)
from truecal.results import DriftTable


def drift(
    data: Tallies,
    metric: Measure | str = LTCE,
    *,
    every: str | None = None,
    mature_after: Span | None = None,
    now: Moment | None = None,
    totals: bool = True,
    **options: Unpack[Options],
) -> DriftTable:
    """The metric and the prevalence in each window of time, and what moved.

    Every window is judged by itself, and adjusted for the number of windows. The null reference of a window redraws its
    labels from its own predictions. A change of prevalence that the predictions follow leaves it calibrated and raises
    no alarm; predictions that no longer hold raise one, whether or not the prevalence moved.

    Parameters
    ----------
    data : Tallies
        What `truecal.read(..., time=...)` gives.
    metric : Metric or name
        A name of `truecal.metrics.METRICS` or "net_benefit@0.05", which follows `binning`, `test`, `significance` and
        `tolerance`, or your own.
    every : "1d", "1w", "1mo", "1q" or "1y", optional
        Longer windows than those that were read.
    mature_after : timedelta or str, optional
        How long after a window's end its labels are complete: "12h", "30d", "6w". Windows that ended more recently are
        shown, and raise no alarm, and do not count where p-values are adjusted. All are mature by default.
    now : date, time or ISO text, optional
        What maturity is counted to; the end of the latest window by default, so that a table does not depend on the day
        on which it is made. Times without a zone are those of the windows.
    totals : bool
        Whether positives that are too many or too few for the predictions raise an alarm too: by the exact test of the
        window's positives (Poisson-binomial, mid-p), its p-value and that of the reference taken together as twice the
        smaller one. It finds a small error of all predictions in one direction long before Local TCE does. Without
        it, and where the metric has a tolerance, the reference alone makes alarms.
    options
        `binning`, `test`, `significance` (also the level that makes an alarm), `tolerance`, `above`, `top` (of all
        predictions, whatever their window), `adjust` ("holm" by default), `intervals` (199 by default; 0 for none),
        `confidence`, `random_state`, `threads`, and `reference`,
        the most sets of labels that are drawn for a window. A p-value cannot be less than 1 / (reference + 1), which
        the adjustment multiplies by the number W of mature windows, and two tests by 2; so by default 2 W /
        significance, and 199 at least. Each window gets 199 at first, and more only while fewer than 10 of its redrawn
        values reach the observed one and the totals have not decided: the p-value is (1 + those) / (1 + drawn) wherever
        that stops, and is valid (Besag and Clifford, 1991).

    Examples
    --------
    >>> import numpy as np, pandas as pd, truecal
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(1, 19, size=8000)
    >>> day = pd.Timestamp("2026-03-01") + pd.to_timedelta(np.arange(8000) // 2000, unit="D")
    >>> truth = np.where(day >= "2026-03-04", 1.5 * p, p)          # on the fourth day the model falls behind
    >>> frame = pd.DataFrame({"y": rng.random(8000) < truth, "p": p, "day": day})
    >>> truecal.drift(truecal.read(frame, label="y", score="p", time="day"), random_state=0).alarms
    [datetime.date(2026, 3, 4)]
    """
    check_options(drift, options)
    check_tallies("drift", data)
    check_confidence(options.get("confidence", 0.95))
    check_significance(options.get("significance", 0.05))
    length, grouped = _find_windows(data, every)
    every_window = {key: part.simplify() for (key,), part in grouped.parts.items()}
    windows = choose_parts(every_window, find_threshold(data, options))
    after = None if mature_after is None else read_span(mature_after)
    mature, moment = np.ones(len(windows), dtype=np.bool_), None
    if after is not None:
        flags, moment = find_mature(find_ends(list(windows), length), after, now)
        mature = np.array(flags, dtype=np.bool_)
    left_out = count_left_out(every_window, windows, "window")
    table = _judge_windows(windows, mature, choose_metric(metric, options), totals, options)
    counts = count_rows(grouped, {(key,): part.n_rows for key, part in windows.items()})
    notes = (*data.notes, *left_out, *table.notes)
    settings: Any = {"every": length, "mature_after": after, "now": moment, "notes": notes}
    return replace(table, labelling=data.labelling, outcome=data.outcome, **counts, **settings)


def _judge_windows(
    windows: Mapping[Any, Part], mature: Bools, metric: Measure, totals: bool, options: Options
) -> DriftTable:
    adjust, significance = options.get("adjust", "holm"), options.get("significance", 0.05)
    confidence = options.get("confidence", 0.95)
    found = _measure_parts(windows.values(), metric)
    n, positives, mean = found["n"], found["positives"], found["mean"]
    del found["seen"]
    labelling = next(iter(windows.values())).labelling
    total_p = np.array([_test_total(part) for part in windows.values()])
    tolerant = metric.rejection is not None and metric.rejection.tolerance is not None
    tests = 2 if totals and not tolerant else 1
    count = tests * (max(1, int(mature.sum())) if adjust else 1)
    reference = options.get("reference")
    most = max(FIRST, math.ceil(count / significance)) if reference is None else reference
    notes = []
    if (least := count / (most + 1)) > significance:
        notes.append(
            f"with {most:,} replicates the reference of one window alone reaches an adjusted p-value of {least:.2g} at "
            f"best, and raises no alarm at {significance:g}"
        )
    decided = (total_p < min(significance / count, 1 / (FIRST + 1))) if tests == 2 else np.zeros(len(n), np.bool_)
    wanted = np.where(decided | ~mature, min(most, FIRST), most).tolist()
    drawn = _draw_windows(windows, metric, wanted, options)
    together = np.minimum(1, 2 * np.fmin(drawn["p_value"], total_p)) if tests == 2 else drawn["p_value"]
    spread = Spread.of_wholes([part.tally for part in windows.values()])
    rate_low, rate_high = map(labelling.predicted, exact_interval(positives, n, 1 - confidence, spread))
    rates = np.stack([found["prevalence"], rate_low, rate_high])
    ratio, ratio_low, ratio_high = divide_rates(rates, mean)
    moved = _compare_prevalence(positives, n, mature, adjust, significance)
    moved = moved if spread is None else np.where(np.isnan(moved), np.nan, spread.p_values(np.nan_to_num(moved)))
    return DriftTable(
        window=tuple(windows),
        **found,
        **drawn,
        prevalence_low=rate_low,
        prevalence_high=rate_high,
        excess=found["value"] - drawn["by_chance"],
        total_p=total_p,
        p_adjusted=_adjust_mature(together, mature, adjust),
        ratio=ratio,
        ratio_low=ratio_low,
        ratio_high=ratio_high,
        prevalence_p=moved,
        prevalence_p_adjusted=_adjust_mature(moved, mature, adjust),
        mature=mature,
        metric=metric,
        replicates=most,
        confidence=confidence,
        adjust=adjust,
        significance=significance,
        notes=tuple(notes),
    )


def _test_total(part: Part) -> float:
    """The p-value of the positives against the sum of the predictions."""
    cells = CellSums.of(part)
    return float(Coins.of(cells).mid_p(np.array([0]), np.array([len(cells)]))[0])


def _draw_windows(
    windows: Mapping[Any, Part], metric: Measure, replicates: Sequence[int], options: Options
) -> dict[str, Any]:
    """The reference of each window, with so many replicates at most, and the interval of its metric."""
    threads, intervals = options.get("threads", 1), options.get("intervals", 199)
    confidence = options.get("confidence", 0.95)
    seeds = Draws(1, options.get("random_state"), threads).seeds(2 * len(windows)).reshape(-1, 2).tolist()
    rows = []
    with Progress(len(windows), "windows") as progress:
        for (first, second), part, most in zip(seeds, windows.values(), replicates, strict=True):
            tally = part.tally
            chance = sequential_reference(tally, metric, Draws(most, first, threads))
            low = high = math.nan
            if intervals:
                draws = Draws(intervals, second, threads)
                span = inference.intervals(tally, {"": metric}, draws, confidence=confidence)[""]
                low, high = span.low, span.high
            rows.append((low, high, chance.mean, chance.low, chance.high, chance.p_value))
            progress.step()
    names = ("low", "high", "by_chance", "chance_low", "chance_high", "p_value")
    return dict(zip(names, np.array(rows).T, strict=True))


def _find_windows(data: Tallies, every: str | None) -> tuple[str | None, Tallies]:
    """How long windows are, and the tallies by them alone."""
    if len(data.windows) != 1:
        having = "none" if not data.windows else ", ".join(map(repr, data.windows))
        raise ValueError(
            f"{option('time')} must be one column of the tallies, whose windows are judged; they have {having}.\n\n"
            "Hint: `truecal.read(data, time=...)` cuts a column of times into windows."
        )
    ((time, own),) = data.windows.items()
    length = own if every is None else every
    grouped = data.over((time,), {time: length})
    if (None,) in grouped.parts:
        raise ValueError(f"Every row must have a time; `{time}` is null in {grouped.parts[None,].n_rows:,}.")
    return length, grouped


def _measure_parts(parts: Collection[Part], metric: Measure) -> dict[str, Any]:
    """The metric of each part, what its test rejects, and what it could have found: columns that tables share.

    What is rejected is by the metric's own test, or by the exact binomial one if it has none; NaN without bins.
    """
    loss = metric.test_of_bins(Rejection()) if isinstance(metric, Metric) else None
    rows, labelling = [], AS_THEY_ARE
    for part in parts:
        tally, labelling = part.tally, part.labelling
        bins = bin_once(tally, {"": metric})[metric.binning]
        total, value = tally.n_rows, metric.on(bins)
        lowest, highest = value, value
        test = metric.rejection
        if isinstance(part, GridTally) and isinstance(metric, Metric) and test is not None and test.per_prediction:
            low, high = grid_bounds(part, metric, bins.partition)
            lowest, highest = min(low, value), max(high, value)
        stands = tally.unweighted.population
        seen = float(np.sum(tally.n * tally.score if loss is None else bins.score_sums)) / total
        mean = seen if labelling.plain else float(np.sum(stands.n * stands.score)) / stands.n_rows
        sides = [math.nan] * 2 if loss is None else _share_refuted(bins, loss)
        rows.append((total, tally.positives, min(mean, 1.0), min(seen, 1.0), value, lowest, highest, *sides))
    names = ("n", "positives", "mean", "seen", "value", "lowest", "highest", "too_low", "too_high")
    found = dict(zip(names, map(np.array, zip(*rows, strict=True)), strict=True))
    found["prevalence"] = labelling.predicted(found["positives"] / found["n"])
    found["dropped"] = np.zeros_like(found["n"])
    level = (loss or Rejection()).significance
    spread = Spread.of_wholes([part.tally for part in parts])
    seen_rates = detectable_rates(found["n"], found["seen"], significance=level, spread=spread)
    below, above = map(labelling.predicted, seen_rates)
    return found | {"seen_below": below, "seen_above": above}


def _share_refuted(bins: Binned, loss: Refuting) -> list[float]:
    """The shares of predictions that are refuted as too low and as too high."""
    sizes, n = bins.sizes, np.maximum(bins.partition.n, 1)
    return [float(np.sum(sizes * side / n) / np.sum(sizes)) for side in loss.count(bins)]


def _adjust_mature(p_value: Floats, mature: Bools, adjust: Adjustment) -> Floats:
    """p-values of mature windows, adjusted for their number; NaN for the others."""
    found = np.full(len(p_value), np.nan)
    found[mature] = adjust_p_values(p_value[mature], adjust)
    return found


def _compare_prevalence(
    positives: Ints, n: Ints, mature: Bools, adjust: Adjustment = None, significance: float = 0.05
) -> Floats:
    """The p-value of each mature window's prevalence against that of the others which did not move, together.

    By Fisher's exact test. The window that lies furthest from the others is set apart while its p-value says so, so
    that it does not move what the rest is compared with. The first of these steps alone decides whether any is.
    """
    found = np.full(len(n), np.nan)
    pool = mature.copy()
    if np.count_nonzero(pool) < 2:
        return found

    def differ(i: int) -> float:
        others = pool.copy()
        others[i] = False
        sizes = (positives[i], n[i], positives[others].sum(), n[others].sum())
        return fisher_p_value(*map(int, sizes))

    while (count := np.count_nonzero(pool)) > 2:
        furthest = _furthest(positives, n, pool)
        if differ(furthest) * (count if adjust else 1) > significance:
            break
        pool[furthest] = False
    for i in np.flatnonzero(mature).tolist():
        found[i] = differ(i)
    return found


def _furthest(positives: Ints, n: Ints, pool: Bools) -> int:
    """Of a pool of windows, the one furthest from the others in standard errors; the latest of equals."""
    rows = np.flatnonzero(pool)
    k, size, marked, total = positives[rows], n[rows], int(positives[rows].sum()), int(n[rows].sum())
    rate = marked / total
    error = np.sqrt(rate * (1 - rate) * (1 / size + 1 / (total - size)))
    away = np.abs(k / size - (marked - k) / (total - size)) / np.maximum(error, 1e-300)
    return int(rows[len(rows) - 1 - np.argmax(away[::-1])])
