"""Groups of rows, segments and periods: the rows of each in scope, the verdict on each, and a metric of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from truecal._errors import option
from truecal._options import GroupOptions, TestOptions
from truecal._progress import Progress
from truecal.analysis._inputs import check_region, choose_test, raise_for_data
from truecal.data import Cells, Note, NoteCode, Observations, Part, RowCounts, Segment, find_threshold_score
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
    """Raise an error unless data are observations; it says how to read them."""
    if not isinstance(data, Observations):
        raise_for_data(function, data)


def find_score_threshold(data: Observations, options: TestOptions) -> float | None:
    """Return the lowest score in scope, by `threshold` or the `top` of all predictions; None if all are in scope.

    It is a score of the sample, on which tests are done, not of the population.
    """
    threshold, top = options["threshold"], options["top"]
    check_region(threshold, top)
    if top is None:
        return None if threshold is None else find_threshold_score(threshold, data.sampling)
    return float(data.pooled().tally.top(top).score[0])


def keep_above(parts: Mapping[Any, Part], threshold: float | None) -> dict[Any, Part]:
    """Return the predictions of each segment or period at or above a threshold, without groups that have none."""
    if threshold is None:
        return dict(parts)
    kept = {key: part.at_least(threshold) for key, part in parts.items() if part.highest >= threshold}
    if not kept:
        lowest = float(next(iter(parts.values())).sampling.to_population(threshold))
        raise ValueError(f"{option('threshold')} must leave some rows; all scores are below {lowest:.6g}.")
    return kept


def note_out_of_scope(parts: Mapping[Any, Part], kept: Mapping[Any, Part], kind: str) -> tuple[Note, ...]:
    """Return a note on the segments or periods without a prediction at or above the threshold."""
    gone = len(parts) - len(kept)
    if not gone:
        return ()
    return (Note.of(NoteCode.GROUPS_OUT_OF_SCOPE, n=gone, total=len(parts), kind=kind),)


def count_rows_by_group(grouped: Observations, judged: Mapping[Segment, int]) -> dict[str, Any]:
    """Return the row counts of each group, given its rows in scope, and the numbers of dropped rows."""
    row_counts = []
    for key, evaluated in judged.items():
        by_reason, valid = dict(grouped.dropped.get(key, {})), grouped.parts[key].n_rows
        row_counts.append(RowCounts(valid + sum(by_reason.values()), evaluated, by_reason, valid - evaluated))
    dropped = np.array([counts.without_zero_counts.n_dropped for counts in row_counts], dtype=np.int64)
    return {"row_counts": tuple(row_counts), "dropped": dropped}


def judge_groups(parts: Iterable[Part], options: TestOptions, level: float) -> list[Verdict]:
    """Return the verdict on each group; `level` is the significance of one group."""
    significance = options["significance"]
    check_significance(significance)
    return judge_all(list(parts), significance, options["tolerance"], level=level)


def choose_metric(metric: Measure | str, options: TestOptions) -> Measure:
    """Return a metric: a named one with the options' binning, test, level and tolerance, or your own unchanged."""
    names = [metric] if isinstance(metric, str) else [name for name, named in METRICS.items() if named == metric]
    chosen: Any = names[:1] or {"own": metric}
    return next(iter(choose(chosen, options["binning"], choose_test(options)).values()))


def measure_groups(
    parts: Mapping[Any, Part], verdicts: list[Verdict], metric: Measure, options: GroupOptions
) -> dict[str, Any]:
    """Return the columns that tables of groups share: prevalence, metric, its bounds on cells, null mean and p-value.

    Null distributions are simulated only with `null_draws`.
    """
    weighted = any(part.tally.importance_weight is not None for part in parts.values())
    plain: GroupOptions = {**options, "binning": None}  # Local TCE has score windows, whatever the bins of others
    if metric == choose_metric("ltce", plain) and not weighted:  # computed for the verdict already
        value = np.array([verdict.local.value for verdict in verdicts])
        lowest = highest = value
    else:
        value, lowest, highest = np.array([_measure(part, metric) for part in parts.values()]).T
    most = options["null_draws"]
    null_mean = null_p = np.full(len(value), np.nan)
    if most != 0:
        null_mean, null_p = _simulate_nulls(parts, metric, most, options)
    adjusted = adjust_p_values(null_p, options["adjust"])
    sampling = next(iter(parts.values())).sampling
    rows = np.array([verdict.n for verdict in verdicts])
    sizes = rows if sampling.plain else [part.tally.unweighted.population.n_rows for part in parts.values()]
    expected = np.array([verdict.expected for verdict in verdicts])
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
    """Return a metric, and its bounds on bins of cells."""
    tally = part.tally
    bins = bin_once(tally, {"": metric})[metric.binning]
    value, test = metric.on(bins), metric.rejection
    if isinstance(part, Cells) and isinstance(metric, Metric) and test is not None and test.per_prediction:
        low, high = grid_bounds(part, metric, bins.partition)
        return value, min(low, value), max(high, value)
    return value, value, value


def _simulate_nulls(parts: Mapping[Any, Part], metric: Measure, most: int, options: TestOptions) -> Any:
    """Return the null mean and the p-value of each group; simulation stops early if p is clearly large."""
    threads = options["threads"] or 1
    seeds = Draws(most, options["random_state"], threads).seeds(len(parts)).tolist()
    means_and_p = []
    with Progress(len(parts), "null distributions") as progress:
        for seed, part in zip(seeds, parts.values(), strict=True):
            null = sequential_reference(part.tally, metric, Draws(most, seed, threads))
            means_and_p.append((null.mean, null.p_value))
            progress.step()
    return np.array(means_and_p).T
