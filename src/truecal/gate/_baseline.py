"""Compare a result with that of the last release, on other rows."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path

from truecal._errors import name_place, option
from truecal.gate._kinds import count_needed
from truecal.inference import Difference, clip_difference
from truecal.metrics import normal_quantile
from truecal.results import Comparison, Result


def read_result(baseline: Result | str | os.PathLike[str]) -> Result:
    """Return the result of the last release, read if it is a path."""
    if isinstance(baseline, Result):
        return baseline
    if not isinstance(baseline, (str, os.PathLike)):
        raise TypeError(
            f"{option('baseline')} must be a `Result` of the last release, or a file of its JSON; it is "
            f"{type(baseline).__name__}.\n\nHint: scores of the same rows are read with them: "
            "`truecal.read(data, score=..., baseline=...)`."
        )
    with name_place(baseline):
        text = Path(baseline).read_text(encoding="utf-8")
    try:
        return Result.from_json(text)
    except ValueError as error:
        raise ValueError(
            f"{option('baseline')} {os.fspath(baseline)!r} must hold a truecal result; it does not: {error}"
        ) from error


def compare_results(new: Result, old: Result, metrics: Sequence[str]) -> Comparison:
    """Compare two results on different rows by the confidence intervals of both (Zou and Donner 2008).

    An interval of the old result with another confidence is scaled to that of the new one, by normal quantiles.
    """
    differences = {}
    for name in metrics:
        if name not in old.intervals or old.metrics.get(name) != new.metrics[name]:
            raise ValueError(
                f"{option('baseline')} must hold {name!r} with an interval, computed in the same way; it does not.\n\n"
                f"Hint: write it with {option('resamples=1000')}."
            )
        interval, old_interval = new.intervals[name], old.intervals[name]
        first, low, high = _measure_distance(new, name)
        second, old_low, old_high = _measure_distance(old, name)
        reach, old_reach = (normal_quantile((1 - span.confidence) / 2) for span in (interval, old_interval))
        wider = reach / old_reach
        below = math.hypot(first - low, wider * (old_high - second))
        above = math.hypot(high - first, wider * (second - old_low))
        span = clip_difference(new.metrics[name], first - second - below, first - second + above)
        # the draws of the old interval matter only if they are too few for its own confidence
        enough = old_interval.resamples >= count_needed(old_interval.confidence)
        draws = interval.resamples if enough else old_interval.resamples
        values = new.values[name], old.values[name]
        differences[name] = Difference(*values, first - second, *span, interval.confidence, draws)
    statuses = tuple(result.verdict.status for result in (new, old) if result.verdict is not None)
    known = statuses if len(statuses) == 2 else ()
    return Comparison.of(differences, new.metrics, models=("new", "baseline"), statuses=known)


def _measure_distance(result: Result, name: str) -> tuple[float, float, float]:
    """Return a value and the ends of its interval; if the optimum lies between bad values, of the distance from it."""
    metric, span, value = result.metrics[name], result.intervals[name], result.values[name]
    if metric.bad != "both":
        return value, span.low, span.high
    ends = [abs(end - metric.best) for end in (span.low, span.high)]
    return abs(value - metric.best), 0.0 if span.low <= metric.best <= span.high else min(ends), max(ends)
