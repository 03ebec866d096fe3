"""The parts of data that are judged one by one, segments and windows of time.

Which rows they have, the verdict on each, and a metric of each, with its null reference where that is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from truecal._errors import option
from truecal._progress import Progress
from truecal._text import plural
from truecal.analysis._evaluate import Options, check_region, choose_test, raise_for_data
from truecal.inference import Draws, PartName, Verdict, judge_all, sequential_reference
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
from truecal.observations import Account, GridTally, Part, Segment, Tallies, see_threshold


def check_tallies(function: str, data: Any) -> None:
    """Refuse what is not tallies, with how to read it."""
    if not isinstance(data, Tallies):
        raise_for_data(function, data)


def find_threshold(data: Tallies, options: Options) -> float | None:
    """The lowest score that is judged, as `above` or the `top` of all predictions say; None where all are.

    It is a score as tests see it.
    """
    above, top = options.get("above"), options.get("top")
    check_region(above, top)
    if top is None:
        return None if above is None else see_threshold(above, data.labelling)
    return float(data.whole().tally.top(top).score[0])


def choose_parts(parts: Mapping[Any, Part], threshold: float | None) -> dict[Any, Part]:
    """The predictions of each segment or window from a threshold on, where it has any."""
    if threshold is None:
        return dict(parts)

    def reach(part: Part) -> float:
        return (part.tally if isinstance(part, GridTally) else part).highest

    kept = {key: part.reaching(threshold) for key, part in parts.items() if reach(part) >= threshold}
    if not kept:
        lowest = float(next(iter(parts.values())).labelling.predicted(threshold))
        raise ValueError(f"{option('above')} must leave some rows; all scores are below {lowest:.6g}.")
    return kept


def count_left_out(parts: Mapping[Any, Part], kept: Mapping[Any, Part], word: str) -> tuple[str, ...]:
    """A note on the parts that have no prediction from the threshold on."""
    gone = len(parts) - len(kept)
    if not gone:
        return ()
    return (f"{plural(gone, word)} of {len(parts):,} {'has' if gone == 1 else 'have'} no prediction that is judged",)


def count_rows(grouped: Tallies, judged: Mapping[Segment, int]) -> dict[str, Any]:
    """The account of each part, of which so many rows are judged, and how many were dropped."""
    accounts = []
    for key, count in judged.items():
        lost, valid = dict(grouped.dropped.get(key, {})), grouped.parts[key].n_rows
        accounts.append(Account(valid + sum(lost.values()), count, lost, valid - count))
    dropped = np.array([account.seen.n_dropped for account in accounts], dtype=np.int64)
    return {"accounts": tuple(accounts), "dropped": dropped}


def judge_parts(parts: Iterable[Part], options: Options, level: float, part: PartName | None = None) -> list[Verdict]:
    """The verdict on each part, at a level of its own; by one part of the verdict alone where it is named."""
    significance = options.get("significance", 0.05)
    check_significance(significance)
    return judge_all(list(parts), significance, options.get("tolerance"), level=level, part=part)


def choose_metric(metric: Measure | str, options: Options) -> Measure:
    """The metric that is meant: a named one under the options' binning, test, level and tolerance, or one's own."""
    names = [metric] if isinstance(metric, str) else [name for name, own in METRICS.items() if own == metric]
    chosen: Any = names[:1] or {"own": metric}
    return next(iter(choose(chosen, options.get("binning"), choose_test(options)).values()))


def measure_parts(
    parts: Mapping[Any, Part], verdicts: list[Verdict], metric: Measure, options: Options
) -> dict[str, Any]:
    """The prevalence and the metric of each part, the bounds that cells leave, and a null reference: what tables share.

    Local TCE comes with the verdicts. A reference is drawn only where `reference` says so.
    """
    weighted = any(part.tally.importance is not None for part in parts.values())
    if metric == choose_metric("ltce", options) and not weighted:
        value = np.array([found.local.value for found in verdicts])
        lowest = highest = value
    else:
        value, lowest, highest = np.array([_measure(part, metric) for part in parts.values()]).T
    most = options.get("reference", 0)
    by_chance = chance_p = np.full(len(value), np.nan)
    if most != 0:
        by_chance, chance_p = _draw_references(parts, metric, most, options)
    adjusted = adjust_p_values(chance_p, options.get("adjust", "holm"))
    labelling = next(iter(parts.values())).labelling
    rows = np.array([found.n for found in verdicts])
    sizes = rows if labelling.plain else [part.tally.unweighted.population.n_rows for part in parts.values()]
    expected = np.array([found.expected for found in verdicts])
    return {
        "prevalence": labelling.predicted(np.array([part.positives for part in parts.values()]) / rows),
        "mean": np.minimum(expected / np.array(sizes), 1.0),
        "value": value,
        "lowest": lowest,
        "highest": highest,
        "by_chance": by_chance,
        "chance_p": chance_p,
        "chance_p_adjusted": adjusted,
        "metric": metric,
        "replicates": most,
        "tolerance": as_tolerance(options.get("tolerance")),
        "labelling": labelling,
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


def _draw_references(parts: Mapping[Any, Part], metric: Measure, most: int, options: Options) -> Any:
    """The mean of each part's null reference and the metric's p-value; more sets of labels only where these are few."""
    threads = options.get("threads", 1)
    seeds = Draws(most, options.get("random_state"), threads).seeds(len(parts)).tolist()
    found = []
    with Progress(len(parts), "references") as progress:
        for seed, part in zip(seeds, parts.values(), strict=True):
            drawn = sequential_reference(part.tally, metric, Draws(most, seed, threads))
            found.append((drawn.mean, drawn.p_value))
            progress.step()
    return np.array(found).T
