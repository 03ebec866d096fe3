"""Drift: a metric in each window of time against chance, and the prevalence beside it, so that one is not taken for
the other.

The null reference of a window redraws its labels from its own predictions. A change of prevalence that the predictions
follow leaves it calibrated and raises no alarm; predictions that no longer hold raise one, whether or not the
prevalence moved.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from truecal import inference
from truecal._errors import option
from truecal._progress import Progress
from truecal.analysis._segments import measure
from truecal.inference import FIRST, Draws, RandomState, check_confidence, detectable_rates, sequential_reference
from truecal.metrics import (
    TCE,
    Adjustment,
    Binomial,
    Metric,
    adjust_p_values,
    check_significance,
    divide_rates,
    exact_interval,
    fisher_p_value,
)
from truecal.observations import Bools, Floats, GridTally, Ints, Moment, Span, Tally, find_ends, find_mature, read_span
from truecal.reading import DROP, SCALE, Columns, Limits, OnNull, is_summary
from truecal.reading import _ingest as ingest
from truecal.results import DriftTable


def drift(
    data: Any,
    metric: Metric = TCE,
    *,
    label: str,
    score: str,
    time: str,
    every: str | None = "1d",
    mature_after: Span | None = None,
    now: Moment | None = None,
    reference: int | None = None,
    totals: bool = True,
    intervals: int = 199,
    confidence: float = 0.95,
    adjust: Adjustment = "holm",
    significance: float = 0.05,
    random_state: RandomState = None,
    threads: int = 1,
    pos_label: Any = None,
    on_null: OnNull = "raise",
    format: str | None = None,
    scale: Limits = SCALE,
) -> DriftTable:
    """The metric and the prevalence in each window of time, and what moved.

    Parameters
    ----------
    data : dataframe or path
        As `evaluate` takes them; `label`, `score` and `time` name its columns.
    every : "1h", "1d", "1w", "1mo", "1q", "1y" or None
        How long windows are; weeks begin on Mondays. With None the values of `time`, of whatever kind, are the windows,
        in their own order: "2026-01", 17.
    pos_label, on_null, format, scale
        As for `evaluate`. Rows without a time are treated as those without a label.
    options
        All others are those of `judge_windows`.

    Examples
    --------
    >>> import numpy as np, pandas as pd, truecal
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(1, 19, size=8000)
    >>> day = pd.Timestamp("2026-03-01") + pd.to_timedelta(np.arange(8000) // 2000, unit="D")
    >>> truth = np.where(day >= "2026-03-04", 1.5 * p, p)          # on the fourth day the model falls behind
    >>> frame = pd.DataFrame({"y": rng.random(8000) < truth, "p": p, "day": day})
    >>> truecal.drift(frame, label="y", score="p", time="day", random_state=0).alarms
    [datetime.date(2026, 3, 4)]
    """
    windows = {} if every is None else {time: every}
    rows_on_null = "raise" if is_summary(data) else on_null  # a summary has no rows, but it may lack a time
    columns = Columns(label, (score,), (time,), pos_label, rows_on_null, format, scale, windows)
    segments, dropped = ingest.read_segments(data, columns)
    found = {key: part for (key,), part in segments.items()}
    notes = [dropped] if dropped else []
    if None in found:
        rows = found.pop(None).tally.total
        if on_null != "drop" or not found:
            hint = f"\n\nHint: {option(DROP)} leaves such rows out." if found else ""
            raise ValueError(f"Every row must have a time; `{time}` is null in {rows:,}.{hint}")
        notes.append(f"{rows:,} rows were dropped: `{time}` is null")
    return judge_windows(
        found,
        metric,
        every=every,
        mature_after=mature_after,
        now=now,
        reference=reference,
        totals=totals,
        intervals=intervals,
        confidence=confidence,
        adjust=adjust,
        significance=significance,
        random_state=random_state,
        threads=threads,
        notes=notes,
    )


def judge_windows(
    windows: Mapping[Any, Tally | GridTally],
    metric: Metric = TCE,
    *,
    every: str | None = None,
    mature_after: Span | None = None,
    now: Moment | None = None,
    reference: int | None = None,
    totals: bool = True,
    intervals: int = 199,
    confidence: float = 0.95,
    adjust: Adjustment = "holm",
    significance: float = 0.05,
    random_state: RandomState = None,
    threads: int = 1,
    notes: Sequence[str] = (),
) -> DriftTable:
    """Judge every window by itself, adjust for their number, and say what moved.

    Parameters
    ----------
    windows : mapping
        Where each window begins (a date, a time, or anything that sorts) to its observations.
    every : optional
        How long windows are, as for `drift`. Without it a window ends where the next one begins, and the last is as
        long as the one before.
    mature_after : timedelta or str, optional
        How long after a window's end its labels are complete: "12h", "30d", "6w". Windows that ended more recently are
        shown, and raise no alarm, and do not count where p-values are adjusted. All are mature by default.
    now : date, time or ISO text, optional
        What maturity is counted to; the end of the latest window by default, so that a table does not depend on the day
        on which it is made. Times without a zone are those of the windows.
    reference : int, optional
        The most sets of labels that are drawn for a window. A p-value cannot be less than 1 / (reference + 1), which
        the adjustment multiplies by the number W of mature windows, and two tests by 2; so by default 2 W /
        significance, and 199 at least. Each window gets 199 at first, and more only while fewer than 10 of its redrawn
        values reach the observed one and the totals have not decided: the p-value is (1 + those) / (1 + drawn) wherever
        that stops, and is valid (Besag and Clifford, 1991).
    totals : bool
        Whether positives that are too many or too few for the predictions raise an alarm too: by the exact binomial
        test of the window's positives, its p-value and that of the reference taken together as twice the smaller one.
        It finds a small error of all predictions in one direction long before TCE does. Without it, and where the
        metric has a tolerance, the reference alone makes alarms.
    intervals : int
        The sets of labels for the metric's interval; 0 for no interval.
    confidence
        Of all intervals.
    adjust, significance
        How p-values are adjusted for the number of mature windows, and the level that makes an alarm.

    Examples
    --------
    >>> import numpy as np, truecal
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(1, 19, size=(4, 4000))
    >>> truth = p * np.array([[1], [1], [1], [1.5]])
    >>> months = ["2026-01", "2026-02", "2026-03", "2026-04"]
    >>> windows = {m: truecal.Tally.from_arrays(rng.random(4000) < t, s) for m, t, s in zip(months, truth, p)}
    >>> truecal.analysis.judge_windows(windows, random_state=0).alarms
    ['2026-04']
    """
    check_confidence(confidence)
    check_significance(significance)
    starts, parts = _ordered(windows)
    after = None if mature_after is None else read_span(mature_after)
    mature, moment = np.ones(len(parts), dtype=np.bool_), None
    if after is not None:
        flags, moment = find_mature(find_ends(starts, every), after, now)
        mature = np.array(flags, dtype=np.bool_)
    measured = [measure(part, metric) for part in parts]
    n, positives, mean, value, lowest, highest, too_low, too_high = map(np.array, zip(*measured, strict=True))
    total_p = np.asarray(Binomial().p_value(positives, n, mean))
    tolerant = metric.rejection is not None and metric.rejection.tolerance is not None
    tests = 2 if totals and not tolerant else 1
    count = tests * (max(1, int(mature.sum())) if adjust else 1)
    most = max(FIRST, math.ceil(count / significance)) if reference is None else reference
    told = list(notes)
    if (least := count / (most + 1)) > significance:
        told.append(
            f"with {most:,} replicates the reference of one window alone reaches an adjusted p-value of {least:.2g} at "
            f"best, and raises no alarm at {significance:g}"
        )
    decided = (total_p < min(significance / count, 1 / (FIRST + 1))) if tests == 2 else np.zeros(len(n), np.bool_)
    seeds = Draws(most, random_state, threads).seeds(2 * len(parts)).reshape(-1, 2).tolist()
    references, spans = [], []
    with Progress(len(parts), "windows") as progress:
        for (first, second), part, brief in zip(seeds, parts, (decided | ~mature).tolist(), strict=True):
            tally = part.tally
            draws = Draws(min(most, FIRST) if brief else most, first, threads)
            references.append(sequential_reference(tally, metric, draws))
            spans.append((math.nan, math.nan))
            if intervals:
                draws = Draws(intervals, second, threads)
                span = inference.intervals(tally, {"": metric}, draws, confidence=confidence)[""]
                spans[-1] = span.low, span.high
            progress.step()
    low, high = np.array(spans).T
    by_chance, chance_low, chance_high, p_value = np.array([(r.mean, r.low, r.high, r.p_value) for r in references]).T
    together = np.minimum(1, 2 * np.minimum(p_value, total_p)) if tests == 2 else p_value
    rate_low, rate_high = exact_interval(positives, n, 1 - confidence)
    ratio, ratio_low, ratio_high = divide_rates(np.stack([positives / n, rate_low, rate_high]), mean)
    level = metric.rejection.significance if metric.rejection is not None else 0.05
    below, above = detectable_rates(n, mean, significance=level)
    moved = _compare_prevalence(positives, n, mature, adjust, significance)
    return DriftTable(
        window=tuple(starts),
        n=n,
        positives=positives,
        prevalence=positives / n,
        prevalence_low=rate_low,
        prevalence_high=rate_high,
        mean=mean,
        value=value,
        lowest=lowest,
        highest=highest,
        low=low,
        high=high,
        by_chance=by_chance,
        chance_low=chance_low,
        chance_high=chance_high,
        excess=value - by_chance,
        p_value=p_value,
        total_p=total_p,
        p_adjusted=_adjust_mature(together, mature, adjust),
        too_low=too_low,
        too_high=too_high,
        ratio=ratio,
        ratio_low=ratio_low,
        ratio_high=ratio_high,
        seen_below=below,
        seen_above=above,
        prevalence_p=moved,
        prevalence_p_adjusted=_adjust_mature(moved, mature, adjust),
        mature=mature,
        metric=metric,
        every=every,
        replicates=most,
        confidence=confidence,
        adjust=adjust,
        significance=significance,
        mature_after=after,
        now=moment,
        notes=tuple(told),
    )


def _ordered(windows: Mapping[Any, Tally | GridTally]) -> tuple[list[Any], list[Tally | GridTally]]:
    """Windows in order, and what is in them."""
    if not windows:
        raise ValueError(f"{option('windows')} must hold at least one window; it is empty.")
    named = {key.item() if isinstance(key, np.generic) else key: part for key, part in windows.items()}
    try:
        starts = sorted(named)
    except TypeError as error:
        raise TypeError(f"{option('windows')} must begin at values of one kind, which sort: {error}.") from error
    for start in starts:
        if not len(named[start]):
            raise ValueError(f"Every window must hold an observation; that of {start!s} holds none.")
    return starts, [named[start] for start in starts]


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
