"""The release gate in one call: from data and rules to a verdict."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from truecal._errors import check_column, option
from truecal.analysis import check_options, compare, evaluate, judge_all
from truecal.gate._gate import judge
from truecal.gate._rules import Rule, read_rules
from truecal.gate._verdict import Decision
from truecal.inference import Difference, RandomState
from truecal.observations import as_tuple
from truecal.reading import (
    SCALE,
    Columns,
    Limits,
    OnNull,
    collect,
    column_names,
    is_lazy,
    language,
    native,
    open_data,
    open_summary,
    read_segments,
)
from truecal.reading import _files as files
from truecal.results import Comparison, GroupTable, Result

Rules = str | os.PathLike[str] | Iterable[Rule]
BASELINE = "truecal_baseline"


def check(
    data: Any,
    rules: Rules,
    *,
    label: str | None = None,
    score: str | Sequence[str] | None = None,
    by: str | Sequence[str] | None = None,
    baseline: Any = None,
    on: str | Sequence[str] | None = None,
    pos_label: Any = None,
    on_null: OnNull = "raise",
    format: str | None = None,
    scale: Limits = SCALE,
    reference: int = 1000,
    intervals: int = 1000,
    replicates: int = 1000,
    random_state: RandomState = 0,
    threads: int = 1,
    **options: Any,
) -> Decision:
    """Hold data against rules; computes what the rules need and nothing else.

    Parameters
    ----------
    data, label, score, by, pos_label, on_null, format, scale, options
        As in `evaluate`, which refuses options it does not know; `by` is for rules about segments.
    rules : path or rules
        A TOML file for `read_rules`, or rules.
    baseline : optional
        What rules about the last release compare with: another score column of the same data; or a dataframe or file
        with the last release's scores of the same rows (in columns of the same names), matched by the columns `on`; or
        a `Result` of the last release, or a file of its JSON, on whatever rows it was then. The first two are paired
        and see the smallest differences; the last needs a result with intervals, and combines them as those of
        independent data (Zou and Donner, Statistics in Medicine 2008). A column that is among `score` too is not
        judged: it was released before.
    reference, intervals, replicates : int
        How often labels are redrawn for references, intervals and differences. For the p-values of segments as often as
        the rules' limits need.

    Examples
    --------
    >>> import polars, truecal
    >>> frame = polars.DataFrame({"y": [0, 1] * 500, "p": [0.1, 0.9] * 500})
    >>> truecal.check(frame, [truecal.Rule("value", 15)], label="y", score="p").exit_code
    1
    """
    check_options(check, options)
    summary = open_summary(data, label, score, by)
    if summary is not None:
        data, label, score = summary, label or summary.label, score or summary.score
    if label is None or score is None:
        raise TypeError(
            f"{option('label')} and {option('score')} must name columns of the data; they are {label!r} and {score!r}."
        )
    chosen = read_rules(rules) if isinstance(rules, (str, os.PathLike)) else tuple(rules)
    models = list(as_tuple(score))
    if on is None and isinstance(baseline, str) and baseline in models:
        models = [model for model in models if model != baseline]
        if not models:
            raise ValueError(f"{option('score')} must name a model besides the baseline; it names {baseline!r} alone.")
    whole = [rule for rule in chosen if rule.segment is None]
    parts = [rule for rule in chosen if rule.segment is not None]
    if parts and by is None:
        pattern = parts[0].segment or ""
        named = re.findall(r"(?:^|, )([^=,*?]+)=", pattern)
        hint = f"\n\nHint: the rule names {', '.join(map(repr, named))}." if named else ""
        raise ValueError(
            f"{option('by')} must name the columns that make segments, since a rule is about {pattern!r}; it "
            f"is missing.{hint}"
        )
    needs = {rule.needs for rule in whole}
    reading: dict[str, Any] = {"label": label, "pos_label": pos_label, "on_null": on_null, "format": format}
    common: dict[str, Any] = {"random_state": random_state, "threads": threads}
    results: dict[str, Result] = {}
    if whole:
        results = evaluate(
            data,
            metrics=list(dict.fromkeys(rule.metric for rule in whole)),
            score=models,
            reference=reference if "reference" in needs else 0,
            intervals=intervals if "interval" in needs or ("difference" in needs and _is_result(baseline)) else 0,
            scale=scale,
            **reading,
            **common,
            **options,
        )
    segments: dict[str, Mapping[str, GroupTable]] = {}
    if parts:
        names = as_tuple(by)
        for model in models:
            columns = Columns(label, (model,), names, pos_label, on_null, format, scale)
            segments[model] = _judge_segments(data, columns, parts, common, options)
    differences: dict[str, Comparison] = {}
    if "difference" in needs:
        metrics = list(dict.fromkeys(rule.metric for rule in whole if rule.needs == "difference"))
        if baseline is None:
            raise ValueError(
                f"{option('baseline')} must be given, since a rule compares with the last release; it is None."
            )
        if _is_result(baseline):
            old = _read_result(baseline)
            differences = {model: _unpaired(results[model], old, metrics) for model in models}
        elif summary is not None:
            raise ValueError(
                f"{option('baseline')} must be a `Result`, or a file of one, where data are a summary without rows."
            )
        else:
            shared = {
                name: options[name] for name in ("binning", "test", "significance", "tolerance") if name in options
            }
            for model in models:
                both, other = _beside(data, model, baseline, on, format)
                differences[model] = compare(
                    both,
                    metrics=metrics,
                    score=[model, other],
                    replicates=replicates,
                    **(reading | {"format": format if both is data else None}),
                    **common,
                    **shared,
                )
    return judge(chosen, results, segments=segments, differences=differences)


def _judge_segments(
    data: Any, columns: Columns, rules: Sequence[Rule], common: Mapping[str, Any], options: Mapping[str, Any]
) -> dict[str, GroupTable]:
    """A table for each metric, with as many replicates as the rules' p-values need."""
    tallies, dropped = read_segments(data, columns)
    tables = {}
    for metric in dict.fromkeys(rule.metric for rule in rules):
        limits = [rule.limit for rule in rules if rule.metric == metric and rule.kind == "p_value"]
        replicates = max([199, *(math.ceil(len(tallies) / limit) for limit in limits)])
        notes = (dropped,) if dropped else ()
        tables[metric] = judge_all(tallies, [metric], columns.by, notes, reference=replicates, **common, **options)
    return tables


def _beside(
    data: Any, model: str, baseline: Any, on: str | Sequence[str] | None, format: str | None
) -> tuple[Any, str]:
    """Data with the baseline's scores in a column, and that column's name."""
    if isinstance(baseline, str) and on is None:
        names = column_names(data, format)
        if baseline in names:
            return data, baseline
        if not Path(baseline).exists():
            raise ValueError(
                f"{option('baseline')} must be a score column ({', '.join(map(repr, names))}), or a file; it "
                f"is {baseline!r}."
            )
    if on is None:
        raise ValueError(f"{option('on')} must name the columns that match the baseline's rows with these; it is None.")
    keys = list(as_tuple(on))
    return _join_columns(data, baseline, keys, {model: BASELINE}, format), BASELINE


def _join_columns(frame: Any, other: Any, on: list[str], names: Mapping[str, str], format: str | None = None) -> Any:
    """A frame with columns of another beside its own, under new names; every row must have its one match."""
    left, right = (open_data(part, format)[0] for part in (frame, other))
    for side in (left, right):
        for name in on:
            check_column("on", name, list(side.collect_schema()))
    for name in names:
        check_column("score", name, list(right.collect_schema()))
    if is_lazy(left) != is_lazy(right):
        left, right = left.lazy(), right.lazy()
    pl = language(left)
    picked = right.select(*on, *(pl.col(old).alias(new) for old, new in names.items()))
    joined = left.join(picked, on=on, how="inner")
    rows = [int(collect(part.select(pl.len().alias("rows")))["rows"][0]) for part in (left, joined)]
    if rows[0] != rows[1]:
        raise ValueError(
            f"Every row must have one match by {', '.join(map(repr, on))}; for {rows[0]:,} rows there are {rows[1]:,} "
            "matches."
        )
    return native(joined)


def _is_result(baseline: Any) -> bool:
    return isinstance(baseline, Result) or (
        files.is_path(baseline) and not isinstance(baseline, (list, tuple)) and Path(baseline).suffix == ".json"
    )


def _read_result(baseline: Any) -> Result:
    if isinstance(baseline, Result):
        return baseline
    text = Path(baseline).read_text(encoding="utf-8")
    try:
        return Result.from_json(text)
    except ValueError as error:
        raise ValueError(
            f"{option('baseline')} {os.fspath(baseline)!r} must hold a truecal result; it does not: {error}"
        ) from error


def _unpaired(new: Result, old: Result, metrics: Sequence[str]) -> Comparison:
    """Differences of two results on different rows, by the intervals of both."""
    found = {}
    for name in metrics:
        if name not in old.intervals or old.metrics.get(name) != new.metrics[name]:
            raise ValueError(
                f"{option('baseline')} must hold {name!r} with an interval, computed in the same way; it does not.\n\n"
                f"Hint: write it with {option('intervals=1000')}."
            )
        a, b = new.intervals[name], old.intervals[name]
        if a.confidence != b.confidence:
            raise ValueError(
                f"Intervals of one confidence can be compared; these have {a.confidence} and {b.confidence}."
            )
        first, second = new.values[name], old.values[name]
        below = math.hypot(first - a.low, b.high - second)
        above = math.hypot(a.high - first, second - b.low)
        gap = first - second
        found[name] = Difference(
            first, second, gap, gap - below, gap + above, a.confidence, min(a.replicates, b.replicates)
        )
    return Comparison.of(found, new.metrics, models=("new", "baseline"))
