"""Segments: the verdict on each, with p-values adjusted for their number."""

from __future__ import annotations

from typing import Unpack

from truecal._errors import option
from truecal._options import ByOptions, GroupOptions, MetricChoice, SegmentOptions, declare, resolve
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
from truecal.data import Observations, as_tuple
from truecal.metrics import Measure
from truecal.results import GroupTable, verdict_columns


@declare(GroupOptions, first=(MetricChoice, ByOptions))
def segments(
    data: Observations,
    metric: Measure | str = "ltce",
    **options: Unpack[SegmentOptions],
) -> GroupTable:
    """Test the calibration of every segment, adjusted for their number.

    A segment is "miscalibrated" if its adjusted p-value is at most `significance`; else "consistent" if an odds ratio
    of 1.5 would have been detected at the level of one segment among so many; else "inconclusive". The verdict is that
    of `evaluate` and of the gate.

    Parameters
    ----------
    data : Observations
        What `truecal.read` returns.

    Examples
    --------
    >>> import numpy as np, polars, truecal
    >>> rng = np.random.default_rng(0)
    >>> p, name = rng.beta(1, 9, size=12_000), np.repeat(["a", "b", "c"], 4000)
    >>> truth = np.where(name == "c", 1.6 * p, p)          # the model under-predicts the third
    >>> frame = polars.DataFrame({"y": rng.random(12_000) < truth, "p": p, "name": name})
    >>> table = truecal.segments(truecal.read(frame, label="y", score="p", by="name"))
    >>> table.status, table.direction
    (['consistent', 'consistent', 'miscalibrated'], [None, None, 'under-predicts'])
    """
    options = resolve(segments, options)
    check_observations("segments", data)
    by = options["by"]
    names = tuple(name for name in data.by if name not in data.periods) if by is None else as_tuple(by)
    if not names:
        hint = "\n\nHint: `truecal.read(data, by=...)` reads them."
        raise ValueError(f"{option('by')} must name the columns that make segments; the observations have none.{hint}")
    chosen = choose_metric(metric, options)
    grouped = data.group_by(names)
    parts = {key: part.simplify() for key, part in grouped.parts.items()}
    kept = keep_above(parts, find_score_threshold(data, options))
    adjust, significance = options["adjust"], options["significance"]
    level = significance / len(kept) if adjust else significance
    verdicts = judge_groups(kept.values(), options, level)
    return GroupTable(
        segment=tuple(kept),
        **verdict_columns(verdicts, adjust),
        **measure_groups(kept, verdicts, chosen, options),
        **count_rows_by_group(grouped, {key: verdict.n for key, verdict in zip(kept, verdicts, strict=True)}),
        by=names,
        adjust=adjust,
        significance=significance,
        level=level,
        outcome=data.outcome,
        notes=(*grouped.notes, *note_out_of_scope(parts, kept, "segment")),
    )
