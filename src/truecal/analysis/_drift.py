"""Which windows of time are off, and what moved since a baseline: the error of the predictions, or the prevalence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any, Unpack

import numpy as np

from truecal._errors import option
from truecal.analysis._evaluate import Options, check_options, refuse_options
from truecal.analysis._parts import (
    check_tallies,
    choose_metric,
    choose_parts,
    count_left_out,
    count_rows,
    find_threshold,
    judge_parts,
    measure_parts,
)
from truecal.inference import Odds, Verdict, compare_odds, compare_rates, detectable_move, find_split
from truecal.metrics import LTCE, Adjustment, Measure, adjust_p_values
from truecal.observations import (
    Bools,
    CellSums,
    Floats,
    Moment,
    Part,
    Span,
    Tallies,
    find_ends,
    find_mature,
    merge_parts,
    read_moment,
    read_span,
)
from truecal.results import DriftTable, judged_columns

Baseline = int | str | Tallies


def drift(
    data: Tallies,
    metric: Measure | str = LTCE,
    *,
    every: str | None = None,
    baseline: Baseline | None = None,
    mature_after: Span | None = None,
    now: Moment | None = None,
    **options: Unpack[Options],
) -> DriftTable:
    """The verdict on each window of time and on all together, and what moved since a baseline.

    A window is judged by the verdict of `evaluate`, from its own predictions, and adjusted for the number of windows;
    all windows together share the level with them. A change of prevalence that the predictions follow leaves a model
    right. `overall` says which of these it is: "right and still", "right and moved", "off since always" or "went off";
    "was off" where only the baseline is; "off" and "consistent" where the time cannot be told; or "cannot tell".

    Parameters
    ----------
    data : Tallies
        What `truecal.read(..., time=...)` gives.
    metric : Metric or name
        The metric that stands behind the verdict: a name of `truecal.metrics.METRICS` or "net_benefit@0.05", which
        follows `binning`, `test`, `significance` and `tolerance`, or your own. It decides nothing.
    every : "1d", "1w", "1mo", "1q" or "1y", optional
        Longer windows than those that were read.
    baseline : int, text or Tallies, optional
        What windows are compared with: so many of the first mature windows, a third of them by default; those that
        begin in a range such as "2026-01-01..2026-01-31"; or other rows, such as those of the release.
    mature_after : timedelta or str, optional
        How long after a window's end its labels are complete: "12h", "30d", "6w". Windows that ended more recently are
        shown, not judged, and do not count where p-values are adjusted. All are mature by default.
    now : date, time or ISO text, optional
        What maturity is counted to; the end of the latest window by default, so that a table does not depend on the day
        on which it is made. Times without a zone are those of the windows.
    options
        `significance`, `tolerance`, `adjust` ("holm" by default), `above`, `top` (of all predictions, whatever their
        window), and for the metric `binning`, `test`, `reference` (0 by default), `random_state`, `threads`: as in
        `segments`.

    Examples
    --------
    >>> import numpy as np, pandas as pd, truecal
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(1, 19, size=8000)
    >>> day = pd.Timestamp("2026-03-01") + pd.to_timedelta(np.arange(8000) // 2000, unit="D")
    >>> truth = np.where(day >= "2026-03-04", 1.5 * p, p)          # on the fourth day the model falls behind
    >>> frame = pd.DataFrame({"y": rng.random(8000) < truth, "p": p, "day": day})
    >>> found = truecal.drift(truecal.read(frame, label="y", score="p", time="day"))
    >>> found.overall, found.alarms
    ('went off', [datetime.date(2026, 3, 4)])
    """
    check_options(drift, options)
    check_tallies("drift", data)
    refuse_options(options, ("intervals", "confidence"), f"{option('time')} makes windows")
    length, grouped = _find_windows(data, every)
    every_window = {key: part.simplify() for (key,), part in grouped.parts.items()}
    threshold = find_threshold(data, options)
    windows = choose_parts(every_window, threshold)
    after = None if mature_after is None else read_span(mature_after)
    mature, moment = np.ones(len(windows), dtype=np.bool_), None
    if after is not None:
        flags, moment = find_mature(find_ends(list(windows), length), after, now)
        mature = np.array(flags, dtype=np.bool_)
    first, others = _find_baseline(baseline, list(windows), mature), None
    if isinstance(baseline, Tallies):
        others = _open_baseline(baseline, data, threshold)
    found = _judge_windows(windows, mature, choose_metric(metric, options), options)
    found |= _compare_windows(windows, mature, first, others, options)
    found |= {key: replace(value, outcome=data.outcome) for key, value in found.items() if isinstance(value, Verdict)}
    return DriftTable(
        window=tuple(windows),
        **found,
        mature=mature,
        baseline=first,
        **count_rows(grouped, {(key,): part.n_rows for key, part in windows.items()}),
        every=length,
        mature_after=after,
        now=moment,
        adjust=options.get("adjust", "holm"),
        significance=options.get("significance", 0.05),
        outcome=data.outcome,
        notes=(*data.notes, *count_left_out(every_window, windows, "window")),
    )


def _judge_windows(windows: Mapping[Any, Part], mature: Bools, metric: Measure, options: Options) -> dict[str, Any]:
    """The verdict on each window and on all mature ones together, which share the level; and the metric."""
    adjust, significance = options.get("adjust", "holm"), options.get("significance", 0.05)
    count = int(mature.sum())
    shares = 2 if adjust and count > 1 else 1
    level = significance / (shares * max(count, 1)) if adjust else significance
    verdicts = judge_parts(windows.values(), options, level)
    found = judged_columns(verdicts, None)
    together, whole_p, adjusted = None, np.nan, np.full(len(windows), np.nan)
    if count:
        ready = [part for part, flag in zip(windows.values(), mature.tolist(), strict=True) if flag]
        (together,) = judge_parts([merge_parts(ready)], options, significance / shares)
        adjusted[mature], whole_p = _share_level(found["p_value"][mature], together.p_value, adjust)
    measured = measure_parts(windows, verdicts, metric, options)
    return found | measured | {"p_adjusted": adjusted, "together": together, "together_p": whole_p, "level": level}


def _share_level(p_value: Floats, together: float, adjust: Adjustment) -> tuple[Floats, float]:
    """p-values of windows adjusted for their number, and the p-value of "none is off", where windows and all rows
    together get half of the level each.

    Once all together are off, nothing of it is lost by them, and windows have the whole level.
    """
    adjusted = adjust_p_values(p_value, adjust)
    if adjust is None:
        return adjusted, together
    if len(p_value) == 1:
        return adjusted, float(adjusted[0])
    shared = np.minimum(2 * adjusted, np.maximum(2 * together, adjusted))
    return np.minimum(1.0, shared), min(1.0, 2 * min(together, float(adjusted.min())))


def _compare_windows(
    windows: Mapping[Any, Part], mature: Bools, first: Bools, others: Part | None, options: Options
) -> dict[str, Any]:
    """What moved since the baseline, which is its windows or other rows."""
    adjust, significance = options.get("adjust", "holm"), options.get("significance", 0.05)
    names = ("moved_p", "moved_p_adjusted", "prevalence_p", "prevalence_p_adjusted")
    found: dict[str, Any] = {name: np.full(len(windows), np.nan) for name in names}
    parts, later = list(windows.values()), np.flatnonzero(mature & ~first)
    if others is None and first.any():
        others = merge_parts([parts[i] for i in np.flatnonzero(first)])
    if others is None or not len(later):
        return found
    rest = merge_parts([parts[i] for i in later])
    before, after = judge_parts([others, rest], options, significance)
    start, end = (Odds.of(CellSums.of(part)) for part in (others, rest))
    each = {i: Odds.of(CellSums.of(parts[i])) for i in np.flatnonzero(mature).tolist()}
    shares, rest_p = 2 if adjust and len(later) > 1 else 1, dict[str, float]()
    for name, compare in (("moved", compare_odds), ("prevalence", compare_rates)):
        found[f"{name}_p"][later] = alone = np.array([compare(each[i], start) for i in later.tolist()])
        rest_p[name] = compare(end, start)
        shared, whole = _share_level(alone, rest_p[name], adjust)
        found[f"{name}_p_adjusted"][later] = shared
        found[f"{name}_together_p"] = whole
    move = detectable_move(end, start, significance / shares)
    found |= {"before": before, "after": after, "detectable_move": move}
    labelling = others.labelling
    prevalences = (float(labelling.predicted(part.positives / part.n_rows)) for part in (others, rest))
    return found | {
        "prevalences": tuple(prevalences),
        "prevalence_rest_p": min(1.0, shares * rest_p["prevalence"]),
        **_find_since(windows, each, None if first.any() else others, options),
    }


def _find_since(
    windows: Mapping[Any, Part], odds: Mapping[int, Odds], others: Part | None, options: Options
) -> dict[str, Any]:
    """Where the error changed most, observed over expected before and since, and the verdict since; rows of a baseline
    that is no window come first."""
    keys, parts = list(windows), list(windows.values())
    earlier = [] if others is None else [others]
    ordered = [*earlier, *(parts[i] for i in odds)]
    split = find_split([*(Odds.of(CellSums.of(part)) for part in earlier), *odds.values()])
    ratios = []
    for side in (ordered[:split], ordered[split:]):
        stands = [part.tally.unweighted.population for part in side]
        expected = sum(float(np.sum(each.n * each.score)) for each in stands)
        ratios.append(sum(float(each.positives) for each in stands) / expected if expected > 0 else np.nan)
    (recent,) = judge_parts([merge_parts(ordered[split:])], options, options.get("significance", 0.05))
    since = keys[list(odds)[split - len(earlier)]]
    return {"since": since, "since_ratio": (ratios[0], ratios[1]), "recent": recent}


def _find_baseline(baseline: Baseline | None, keys: list[Any], mature: Bools) -> Bools:
    """Which windows are the baseline; none where other rows are, or where there is but one window."""
    found, ready = np.zeros(len(keys), dtype=np.bool_), np.flatnonzero(mature)
    if isinstance(baseline, Tallies):
        return found
    if baseline is None:
        found[ready[: max(1, len(ready) // 3) if len(ready) > 1 else 0]] = True
        return found
    if isinstance(baseline, str) and ".." in baseline:
        found[mature] = _find_range(baseline, [keys[i] for i in ready])
    elif isinstance(baseline, int) and not isinstance(baseline, bool) and baseline > 0:
        found[ready[:baseline]] = True
    else:
        raise ValueError(
            f'{option("baseline")} must be a number of windows, a range such as "2026-01-01..2026-01-31", or tallies; '
            f"it is {baseline!r}."
        )
    count = int(found.sum())
    if not 0 < count < len(ready):
        raise ValueError(
            f"{option('baseline')} must leave windows to compare with it; {baseline!r} is {count:,} of {len(ready):,} "
            "windows with complete labels."
        )
    return found


def _find_range(text: str, keys: list[Any]) -> list[bool]:
    """Which windows begin in a range; both ends belong to it, and a day without a time is a whole day."""
    ends = [end.strip() for end in text.split("..", 1)]
    if not all(isinstance(key, date) for key in keys):
        names = [str(key) for key in keys]
        for end in filter(None, ends):
            if end not in names:
                raise ValueError(f"{option('baseline')} must go from window to window; {end!r} is none of them.")
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


def _open_baseline(baseline: Tallies, data: Tallies, threshold: float | None) -> Part:
    """The rows of a baseline that is not part of the data."""
    if baseline.labelling != data.labelling:
        raise ValueError(
            f"{option('baseline')} must be read as the data are, {data.labelling!r}; it was read with "
            f"{baseline.labelling!r}."
        )
    return choose_parts({None: baseline.whole().simplify()}, threshold)[None]


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
