"""Periods: the verdict on each, and what changed since a baseline, calibration or the base rate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any, Unpack

import numpy as np

from truecal._errors import option
from truecal._options import DriftOptions, GroupOptions, MetricChoice, declare, resolve
from truecal.analysis._groups import (
    check_observations,
    choose_metric,
    count_rows_by_group,
    find_score_threshold,
    judge_groups,
    keep_above,
    measure_groups,
    note_out_of_scope,
)
from truecal.data import (
    Bools,
    Cells,
    Floats,
    Observations,
    Part,
    find_complete,
    find_ends,
    merge_parts,
    read_moment,
    read_span,
)
from truecal.inference import Odds, compare_odds, compare_rates, detectable_move, find_split
from truecal.metrics import Adjustment, Measure, adjust_p_values
from truecal.results import DriftTable, verdict_columns
from truecal.verdict import Verdict

Baseline = int | str | Observations


@declare(DriftOptions, first=(MetricChoice,))
def drift(
    data: Observations,
    metric: Measure | str = "ltce",
    **options: Unpack[DriftOptions],
) -> DriftTable:
    """Test the calibration of each period and of all together, and for changes since a baseline.

    Each period gets the verdict of `evaluate`, adjusted for the number of periods; all periods together share the level
    with them. A change of the base rate that the predictions follow leaves a model calibrated. `drift_status` of the
    table is "stable", "base rate shifted", "miscalibrated throughout", "calibration drift" or "recovered" (only the
    baseline is miscalibrated); "miscalibrated" or "consistent" if the data do not show when calibration changed, or
    whether it did; or "inconclusive".

    Parameters
    ----------
    data : Observations
        What `truecal.read(..., time=...)` returns.

    Examples
    --------
    >>> import numpy as np, pandas as pd, truecal
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(1, 19, size=8000)
    >>> day = pd.Timestamp("2026-03-01") + pd.to_timedelta(np.arange(8000) // 2000, unit="D")
    >>> truth = np.where(day >= "2026-03-04", 1.5 * p, p)          # on the fourth day the model under-predicts
    >>> frame = pd.DataFrame({"y": rng.random(8000) < truth, "p": p, "day": day})
    >>> table = truecal.drift(truecal.read(frame, label="y", score="p", time="day"))
    >>> table.drift_status, table.alarms
    ('calibration drift', [datetime.date(2026, 3, 4)])
    """
    options = resolve(drift, options)
    every, baseline, label_lag, now = options["every"], options["baseline"], options["label_lag"], options["now"]
    check_observations("drift", data)
    length, grouped = _find_periods(data, every)
    every_period = {key: part.simplify() for (key,), part in grouped.parts.items()}
    threshold = find_score_threshold(data, options)
    periods = keep_above(every_period, threshold)
    after = None if label_lag is None else read_span(label_lag)
    complete, moment = np.ones(len(periods), dtype=np.bool_), None
    if after is not None:
        flags, moment = find_complete(find_ends(list(periods), length), after, now)
        complete = np.array(flags, dtype=np.bool_)
    first, others = _find_baseline(baseline, list(periods), complete), None
    if isinstance(baseline, Observations):
        others = _take_baseline(baseline, data, threshold)
    columns = _judge_periods(periods, complete, choose_metric(metric, options), options)
    columns |= _compare_periods(periods, complete, first, others, options)
    verdicts = {name: value for name, value in columns.items() if isinstance(value, Verdict)}
    columns |= {name: replace(verdict, outcome=data.outcome) for name, verdict in verdicts.items()}
    return DriftTable(
        period=tuple(periods),
        **columns,
        complete=complete,
        baseline=first,
        **count_rows_by_group(grouped, {(key,): part.n_rows for key, part in periods.items()}),
        every=length,
        label_lag=after,
        now=moment,
        adjust=options["adjust"],
        significance=options["significance"],
        outcome=data.outcome,
        notes=(*grouped.notes, *note_out_of_scope(every_period, periods, "period")),
    )


def _judge_periods(
    periods: Mapping[Any, Part], complete: Bools, metric: Measure, options: GroupOptions
) -> dict[str, Any]:
    """Return the columns of verdicts on each period and on all complete ones together, and of the metric."""
    adjust, significance = options["adjust"], options["significance"]
    count = int(complete.sum())
    shares = 2 if adjust and count > 1 else 1  # half of the level for all together, half for single periods
    level = significance / (shares * max(count, 1)) if adjust else significance
    verdicts = judge_groups(periods.values(), options, level)
    columns = verdict_columns(verdicts, None)
    together, whole_p, adjusted = None, np.nan, np.full(len(periods), np.nan)
    if count:
        ready = [part for part, flag in zip(periods.values(), complete.tolist(), strict=True) if flag]
        (together,) = judge_groups([merge_parts(ready)], options, significance / shares)
        adjusted[complete], whole_p = _share_level(columns["p_value"][complete], together.p_value, adjust)
    measured = measure_groups(periods, verdicts, metric, options)
    overall = {"p_adjusted": adjusted, "overall_verdict": together, "overall_p": whole_p, "level": level}
    return columns | measured | overall


def _share_level(p_value: Floats, together: float, adjust: Adjustment) -> tuple[Floats, float]:
    """Return adjusted p-values of periods, and the p-value of "every period is calibrated".

    Periods and all rows together get half of the level each. Once all rows together are rejected, their half passes
    on to the periods, which then have the whole level.
    """
    adjusted = adjust_p_values(p_value, adjust)
    if adjust is None:
        return adjusted, together
    if len(p_value) == 1:
        return adjusted, float(adjusted[0])
    shared = np.minimum(2 * adjusted, np.maximum(2 * together, adjusted))
    return np.minimum(1.0, shared), min(1.0, 2 * min(together, float(adjusted.min())))


def _compare_periods(
    periods: Mapping[Any, Part], complete: Bools, first: Bools, others: Part | None, options: GroupOptions
) -> dict[str, Any]:
    """Return the columns of changes since the baseline, which is some periods or other rows."""
    adjust, significance = options["adjust"], options["significance"]
    names = ("change_p", "change_p_adjusted", "base_rate_p", "base_rate_p_adjusted")
    columns: dict[str, Any] = {name: np.full(len(periods), np.nan) for name in names}
    parts, later = list(periods.values()), np.flatnonzero(complete & ~first)
    if others is None and first.any():
        others = merge_parts([parts[i] for i in np.flatnonzero(first)])
    if others is None or not len(later):
        return columns
    rest = merge_parts([parts[i] for i in later])
    before, after = judge_groups([others, rest], options, significance)
    start, end = (Odds.of(Cells.of(part)) for part in (others, rest))
    odds = {i: Odds.of(Cells.of(parts[i])) for i in np.flatnonzero(complete).tolist()}
    shares, rest_p = 2 if adjust and len(later) > 1 else 1, dict[str, float]()
    for name, compare in (("change", compare_odds), ("base_rate", compare_rates)):
        columns[f"{name}_p"][later] = alone = np.array([compare(odds[i], start) for i in later.tolist()])
        rest_p[name] = compare(end, start)
        adjusted, overall = _share_level(alone, rest_p[name], adjust)
        columns[f"{name}_p_adjusted"][later] = adjusted
        columns[f"overall_{name}_p"] = overall
    move = detectable_move(end, start, significance / shares)
    columns |= {"baseline_verdict": before, "later_verdict": after, "detectable_change": move}
    sampling = others.sampling
    prevalences = (float(sampling.to_population(part.positives / part.n_rows)) for part in (others, rest))
    return columns | {
        "base_rates": tuple(prevalences),
        "later_base_rate_p": min(1.0, shares * rest_p["base_rate"]),
        **_find_change_point(periods, odds, None if first.any() else others, options),
    }


def _find_change_point(
    periods: Mapping[Any, Part], odds: Mapping[int, Odds], others: Part | None, options: GroupOptions
) -> dict[str, Any]:
    """Return the estimated change point, O/E before and since, and the verdict since.

    The rows of a baseline that is no period precede all periods.
    """
    keys, parts = list(periods), list(periods.values())
    earlier = [] if others is None else [others]
    ordered = [*earlier, *(parts[i] for i in odds)]
    split = find_split([*(Odds.of(Cells.of(part)) for part in earlier), *odds.values()])
    ratios = []
    for side in (ordered[:split], ordered[split:]):
        populations = [part.tally.unweighted.population for part in side]
        expected = sum(float(np.sum(population.n * population.score)) for population in populations)
        observed = sum(float(population.positives) for population in populations)
        ratios.append(observed / expected if expected > 0 else np.nan)
    (recent,) = judge_groups([merge_parts(ordered[split:])], options, options["significance"])
    since = keys[list(odds)[split - len(earlier)]]
    return {"change_point": since, "change_ratios": (ratios[0], ratios[1]), "recent_verdict": recent}


def _find_baseline(baseline: Baseline | None, keys: list[Any], complete: Bools) -> Bools:
    """Return a mask of the baseline's periods: none if other rows are the baseline, or if there is only one period."""
    first, ready = np.zeros(len(keys), dtype=np.bool_), np.flatnonzero(complete)
    if isinstance(baseline, Observations):
        return first
    if baseline is None:
        first[ready[: max(1, len(ready) // 3) if len(ready) > 1 else 0]] = True
        return first
    if isinstance(baseline, str) and ".." in baseline:
        first[complete] = _find_range(baseline, [keys[i] for i in ready])
    elif isinstance(baseline, int) and not isinstance(baseline, bool) and baseline > 0:
        first[ready[:baseline]] = True
    else:
        raise ValueError(
            f'{option("baseline")} must be a number of periods, a range such as "2026-01-01..2026-01-31", or '
            f"observations; it is {baseline!r}."
        )
    count = int(first.sum())
    if not 0 < count < len(ready):
        raise ValueError(
            f"{option('baseline')} must leave periods to compare with it; {baseline!r} is {count:,} of {len(ready):,} "
            "periods with complete labels."
        )
    return first


def _find_range(text: str, keys: list[Any]) -> list[bool]:
    """Return whether each period begins in a range; both ends belong to it, and a day without a time is whole."""
    ends = [end.strip() for end in text.split("..", 1)]
    if not all(isinstance(key, date) for key in keys):
        names = [str(key) for key in keys]
        for end in filter(None, ends):
            if end not in names:
                raise ValueError(f"{option('baseline')} must go from period to period; {end!r} is none of them.")
        low = names.index(ends[0]) if ends[0] else 0
        high = names.index(ends[1]) if ends[1] else len(names) - 1
        return [low <= i <= high for i in range(len(keys))]
    low_end, high_end = (read_moment(end, "baseline") if end else None for end in ends)
    if high_end is not None and len(ends[1]) <= len("2026-01-31"):
        high_end += timedelta(days=1) - timedelta(microseconds=1)
    begins = [_without_zone(read_moment(key)) for key in keys]
    return [
        (low_end is None or begin >= _without_zone(low_end)) and (high_end is None or begin <= _without_zone(high_end))
        for begin in begins
    ]


def _without_zone(moment: datetime) -> datetime:
    return moment.replace(tzinfo=None)


def _take_baseline(baseline: Observations, data: Observations, threshold: float | None) -> Part:
    """Return the rows in scope of a baseline that is not part of the data."""
    if baseline.sampling != data.sampling:
        raise ValueError(
            f"{option('baseline')} must be read as the data are, {data.sampling!r}; it was read with "
            f"{baseline.sampling!r}."
        )
    return keep_above({None: baseline.pooled().simplify()}, threshold)[None]


def _find_periods(data: Observations, every: str | None) -> tuple[str | None, Observations]:
    """Return the length of periods, and the observations grouped by period."""
    if len(data.periods) != 1:
        names = ", ".join(map(repr, data.periods)) or "none"
        raise ValueError(
            f"{option('time')} must be one column of the observations; they have {names}.\n\n"
            "Hint: `truecal.read(data, time=...)` cuts a column of times into periods."
        )
    ((time, length_read),) = data.periods.items()
    length = length_read if every is None else every
    grouped = data.group_by((time,), {time: length})
    if (None,) in grouped.parts:
        raise ValueError(f"Every row must have a time; `{time}` is null in {grouped.parts[None,].n_rows:,}.")
    return length, grouped
