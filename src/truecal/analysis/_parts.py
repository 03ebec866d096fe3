"""The groups of rows that get a verdict each, segments and periods.

Which rows they have, the verdict on each, and a metric of each, with its null distribution if that is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from truecal._errors import option
from truecal._options import GroupOptions, TestOptions
from truecal._progress import Progress
from truecal.analysis._evaluate import check_region, choose_test, raise_for_data
from truecal.data import GridTally, Note, NoteCode, Observations, Part, RowCounts, Segment, find_threshold_score
from truecal.inference import Draws, sequential_reference
from truecal.metrics import (
    METRICS,
    Measure,
    Metric,
    adjust_p_values,
    as_tolerance,
    bin_once,
    check_significance,
    choose,
    grid_bounds,
)
from truecal.verdict import Verdict, judge_all


def check_observations(function: str, data: Any) -> None:
    """Raise for data that were not read, with how to read them."""
    if not isinstance(data, Observations):
        raise_for_data(function, data)


def find_score_threshold(data: Observations, options: TestOptions) -> float | None:
    """The lowest score that is evaluated, by `threshold` or the `top` of all predictions; None if all are.

    It is a score of the sample, as tests use it.
    """
    threshold, top = options["threshold"], options["top"]
    check_region(threshold, top)
    if top is None:
        return None if threshold is None else find_threshold_score(threshold, data.sampling)
    return float(data.pooled().tally.top(top).score[0])


def keep_above(parts: Mapping[Any, Part], threshold: float | None) -> dict[Any, Part]:
    """The predictions of each segment or period at or above a threshold, of those that have any."""
    if threshold is None:
        return dict(parts)

    def find_highest(part: Part) -> float:
        return (part.tally if isinstance(part, GridTally) else part).highest

    kept = {key: part.at_least(threshold) for key, part in parts.items() if find_highest(part) >= threshold}
    if not kept:
        lowest = float(next(iter(parts.values())).sampling.to_population(threshold))
        raise ValueError(f"{option('threshold')} must leave some rows; all scores are below {lowest:.6g}.")
    return kept


def note_out_of_scope(parts: Mapping[Any, Part], kept: Mapping[Any, Part], kind: str) -> tuple[Note, ...]:
    """A note on the segments or periods without a prediction at or above the threshold."""
    gone = len(parts) - len(kept)
    if not gone:
        return ()
    return (Note.of(NoteCode.GROUPS_OUT_OF_SCOPE, n=gone, total=len(parts), kind=kind),)


def count_rows_by_group(grouped: Observations, judged: Mapping[Segment, int]) -> dict[str, Any]:
    """The row counts of each group, of which so many rows are evaluated, and how many were dropped."""
    row_counts = []
    for key, count in judged.items():
        lost, valid = dict(grouped.dropped.get(key, {})), grouped.parts[key].n_rows
        row_counts.append(RowCounts(valid + sum(lost.values()), count, lost, valid - count))
    dropped = np.array([each.without_zero_counts.n_dropped for each in row_counts], dtype=np.int64)
    return {"row_counts": tuple(row_counts), "dropped": dropped}


def judge_groups(parts: Iterable[Part], options: TestOptions, level: float) -> list[Verdict]:
    """The verdict on each group, at a level of its own."""
    significance = options["significance"]
    check_significance(significance)
    return judge_all(list(parts), significance, options["tolerance"], level=level)


def choose_metric(metric: Measure | str, options: TestOptions) -> Measure:
    """The metric that is meant: a named one under the options' binning, test, level and tolerance, or one's own."""
    names = [metric] if isinstance(metric, str) else [name for name, own in METRICS.items() if own == metric]
    chosen: Any = names[:1] or {"own": metric}
    return next(iter(choose(chosen, options["binning"], choose_test(options)).values()))


def measure_groups(
    parts: Mapping[Any, Part], verdicts: list[Verdict], metric: Measure, options: GroupOptions
) -> dict[str, Any]:
    """The prevalence and the metric of each group, the bounds that cells leave, and a null distribution: what tables
    share.

    Local TCE is part of the verdicts. A null distribution is simulated only if `null_draws` says so.
    """
    weighted = any(part.tally.importance_weight is not None for part in parts.values())
    if metric == choose_metric("ltce", options) and not weighted:
        value = np.array([found.local.value for found in verdicts])
        lowest = highest = value
    else:
        value, lowest, highest = np.array([_measure(part, metric) for part in parts.values()]).T
    most = options["null_draws"]
    null_mean = null_p = np.full(len(value), np.nan)
    if most != 0:
        null_mean, null_p = _simulate_nulls(parts, metric, most, options)
    adjusted = adjust_p_values(null_p, options["adjust"])
    sampling = next(iter(parts.values())).sampling
    rows = np.array([found.n for found in verdicts])
    sizes = rows if sampling.plain else [part.tally.unweighted.population.n_rows for part in parts.values()]
    expected = np.array([found.expected for found in verdicts])
    return {
        "prevalence": sampling.to_population(np.array([part.positives for part in parts.values()]) / rows),
        "mean": np.minimum(expected / np.array(sizes), 1.0),
        "value": value,
        "lowest": lowest,
        "highest": highest,
        "null_mean": null_mean,
        "null_p": null_p,
        "null_p_adjusted": adjusted,
        "metric": metric,
        "draws": most,
        "tolerance": as_tolerance(options["tolerance"]),
        "sampling": sampling,
    }


def _measure(part: Part, metric: Measure) -> tuple[float, float, float]:
    """A metric, and the ends between which it lies on bins of cells."""
    tally = part.tally
    bins = bin_once(tally, {"": metric})[metric.binning]
    value, test = metric.on(bins), metric.rejection
    if isinstance(part, GridTally) and isinstance(metric, Metric) and test is not None and test.per_prediction:
        low, high = grid_bounds(part, metric, bins.partition)
        return value, min(low, value), max(high, value)
    return value, value, value


def _simulate_nulls(parts: Mapping[Any, Part], metric: Measure, most: int, options: TestOptions) -> Any:
    """The mean of each group's null distribution and the metric's p-value; more sets of labels only if few reach it."""
    threads = options["threads"] or 1
    seeds = Draws(most, options["random_state"], threads).seeds(len(parts)).tolist()
    found = []
    with Progress(len(parts), "references") as progress:
        for seed, part in zip(seeds, parts.values(), strict=True):
            drawn = sequential_reference(part.tally, metric, Draws(most, seed, threads))
            found.append((drawn.mean, drawn.p_value))
            progress.step()
    return np.array(found).T
