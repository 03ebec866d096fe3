"""Which segments are off: the verdict on each, adjusted for their number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack, get_args

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
from truecal.inference import PartName
from truecal.metrics import LTCE, Measure
from truecal.observations import Tallies, as_tuple
from truecal.results import GroupTable, judged_columns


def segments(
    data: Tallies,
    metric: Measure | str = LTCE,
    *,
    by: str | Sequence[str] | None = None,
    part: PartName | None = None,
    **options: Unpack[Options],
) -> GroupTable:
    """The verdict on every segment, adjusted for their number.

    A segment is "off" if its adjusted p-value is at most `significance`; else "consistent" if a factor of 1.5 on all
    its odds would have been found at the level that one segment among so many has; else "cannot tell". It is the
    verdict of `evaluate` and of the gate, from tests with different eyes, of which none draws labels.

    Parameters
    ----------
    data : Tallies
        What `truecal.read` gives.
    metric : Metric or name
        The metric that stands behind the verdict: a name of `truecal.metrics.METRICS` or "net_benefit@0.05", which
        follows `binning`, `test`, `significance` and `tolerance`, or your own. It decides nothing.
    by : name or names, optional
        The columns that make segments; by default all that `data` have, except windows of time.
    part : "total" or "cox", optional
        Judge by one part of the verdict alone. It finds the errors that it looks for more often, since it shares the
        level with no other, and is blind to the rest: "total" to all that leave the number of positives as it is, "cox"
        to those that no factor and no slope on the odds describes. Name it before you look.
    options
        `significance`, `tolerance`, `adjust` ("holm" by default), `above`, `top` (of all predictions, whatever their
        segment), and for the metric `binning`, `test`, `reference`, `random_state`, `threads`: see
        `evaluate`. Labels are redrawn only for the metric's null reference, at most `reference` times,
        0 by default: 199 times for every segment, and more only while fewer than 10 of the redrawn values reach the
        observed one.

    Examples
    --------
    >>> import numpy as np, polars, truecal
    >>> rng = np.random.default_rng(0)
    >>> p, name = rng.beta(1, 9, size=12_000), np.repeat(["a", "b", "c"], 4000)
    >>> truth = np.where(name == "c", 1.6 * p, p)          # the third segment is understated
    >>> frame = polars.DataFrame({"y": rng.random(12_000) < truth, "p": p, "name": name})
    >>> found = truecal.segments(truecal.read(frame, label="y", score="p", by="name"))
    >>> found.verdict, found.direction
    (['consistent', 'consistent', 'off'], ['', '', 'too low'])
    """
    check_options(segments, options)
    check_tallies("segments", data)
    refuse_options(options, ("intervals", "confidence"), f"{option('by')} makes segments")
    check_part(part, options)
    names = tuple(name for name in data.by if name not in data.windows) if by is None else as_tuple(by)
    if not names:
        hint = "\n\nHint: `truecal.read(data, by=...)` reads them."
        raise ValueError(f"{option('by')} must name the columns that make segments; the tallies have none.{hint}")
    chosen = choose_metric(metric, options)
    grouped = data.over(names)
    parts = {key: part.simplify() for key, part in grouped.parts.items()}
    kept = choose_parts(parts, find_threshold(data, options))
    adjust, significance = options.get("adjust", "holm"), options.get("significance", 0.05)
    level = significance / len(kept) if adjust else significance
    verdicts = judge_parts(kept.values(), options, level, part)
    return GroupTable(
        segment=tuple(kept),
        **judged_columns(verdicts, adjust),
        **measure_parts(kept, verdicts, chosen, options),
        **count_rows(grouped, {key: found.n for key, found in zip(kept, verdicts, strict=True)}),
        by=names,
        part=part,
        adjust=adjust,
        significance=significance,
        level=level,
        outcome=data.outcome,
        notes=(*grouped.notes, *count_left_out(parts, kept, "segment")),
    )


def check_part(part: Any, options: Options) -> None:
    """Refuse what is no part of the verdict that can judge alone."""
    known = get_args(PartName)
    if part is not None and part not in known:
        raise ValueError(f"{option('part')} must be {' or '.join(map(repr, known))}, or left out; it is {part!r}.")
    if part == "cox" and options.get("tolerance") is not None:
        raise ValueError(f"{option('part')} must not be 'cox' with {option('tolerance')}: Cox's test knows none.")
