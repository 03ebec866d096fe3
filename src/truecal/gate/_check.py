"""The release gate in one call: from tallies and rules to a decision."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from truecal._errors import option
from truecal.analysis import Options, check_options, compare, evaluate, raise_for_data, segments
from truecal.gate._judge import judge
from truecal.gate._rules import Rule, read_rules
from truecal.gate._verdict import Decision
from truecal.inference import Difference
from truecal.observations import Tallies
from truecal.results import Comparison, GroupTable, Result

Rules = str | os.PathLike[str] | Iterable[Rule]
Models = Mapping[str, Tallies]
REPLICATES = 1000  # of references, intervals and differences, unless another number is given
SEGMENTS = ("binning", "test", "significance", "tolerance", "adjust", "above", "random_state", "threads")
PAIRED = ("binning", "test", "significance", "tolerance", "confidence", "random_state", "threads")


def check(
    data: Tallies | Models,
    rules: Rules,
    *,
    baseline: Result | str | os.PathLike[str] | None = None,
    replicates: int = REPLICATES,
    **options: Unpack[Options],
) -> Decision:
    """Hold data against rules; computes what the rules need and nothing else.

    Parameters
    ----------
    data : Tallies or mapping
        What `truecal.read` or `truecal.read_models` gives. Rules about segments need tallies that were read with `by`;
        rules about the last release those that were read with `baseline`, or the next parameter.
    rules : path or rules
        A TOML file for `read_rules`, or rules.
    baseline : Result or path of its JSON, optional
        A result of the last release, on whatever rows it was then, with intervals. They are combined as those of
        independent data (Zou and Donner, Statistics in Medicine 2008). Scores of the same rows, which see smaller
        differences, are read with the data: `truecal.read(..., baseline=...)`.
    replicates : int
        How often labels are redrawn for differences between scores of the same rows.
    options
        Those of `evaluate`; `reference` and `intervals` are 1000 by default and `random_state` is 0. For the p-values
        of segments labels are redrawn as often as the rules' limits need.

    Examples
    --------
    >>> import polars, truecal
    >>> frame = polars.DataFrame({"y": [0, 1] * 500, "p": [0.1, 0.9] * 500})
    >>> truecal.check(truecal.read(frame, label="y", score="p"), [truecal.Rule("value", 15)]).exit_code
    1
    """
    check_options(check, options)
    models = _open_models(data)
    chosen = read_rules(rules) if isinstance(rules, (str, os.PathLike)) else tuple(rules)
    options = {"random_state": 0, **options}
    whole = [rule for rule in chosen if rule.segment is None]
    parts = [rule for rule in chosen if rule.segment is not None]
    for tallies in models.values():
        check_segments(parts, set(tallies.by) - set(tallies.windows))
    old = None if baseline is None else _read_result(baseline)
    results = {model: _evaluate(tallies, whole, old, options) for model, tallies in models.items()} if whole else {}
    tables = {model: _judge_segments(tallies, parts, options) for model, tallies in models.items()} if parts else {}
    compared = list(dict.fromkeys(rule.metric for rule in whole if rule.needs == "difference"))
    differences: dict[str, Comparison] = {}
    if compared and old is not None:
        differences = {model: _compare_results(results[model], old, compared) for model in models}
    elif compared:
        shared: dict[str, Any] = {name: value for name, value in options.items() if name in PAIRED}
        for model, tallies in models.items():
            if tallies.baseline is None:
                raise ValueError(
                    f"{option('baseline')} must be given, since a rule compares with the last release; {model!r} has "
                    "none."
                )
            differences[model] = compare(tallies, compared, replicates=replicates, **shared)
    paired = {model: tallies.baseline.n_rows for model, tallies in models.items() if old is None and tallies.baseline}
    return judge(chosen, results, segments=tables, differences=differences, paired=paired)


def _open_models(data: Tallies | Models) -> Models:
    if isinstance(data, Tallies):
        return {data.score: data}
    if not isinstance(data, Mapping) or not data or not all(isinstance(part, Tallies) for part in data.values()):
        raise_for_data("check", data)
    return data


def check_segments(rules: Iterable[Rule], by: Collection[str]) -> None:
    """Refuse rules about segments where no columns make any."""
    patterns = [rule.segment for rule in rules if rule.segment is not None]
    if patterns and not by:
        named = re.findall(r"(?:^|, )([^=,*?]+)=", patterns[0])
        hint = f"\n\nHint: the rule names {', '.join(map(repr, named))}." if named else ""
        raise ValueError(
            f"{option('by')} must name the columns that make segments, since a rule is about {patterns[0]!r}; it "
            f"is missing.{hint}"
        )


def _evaluate(tallies: Tallies, rules: Sequence[Rule], baseline: Result | None, options: Options) -> Result:
    """What rules about all rows need."""
    needs = {rule.needs for rule in rules}
    wanted: Options = {**options}
    wanted["reference"] = options.get("reference", REPLICATES) if "reference" in needs else 0
    unpaired = "difference" in needs and baseline is not None
    wanted["intervals"] = options.get("intervals", REPLICATES) if "interval" in needs or unpaired else 0
    return evaluate(tallies, metrics=list(dict.fromkeys(rule.metric for rule in rules)), **wanted)


def _judge_segments(tallies: Tallies, rules: Sequence[Rule], options: Options) -> dict[str, GroupTable]:
    """A table for each metric, with as many replicates as the rules' p-values need."""
    shared: Any = {name: value for name, value in options.items() if name in SEGMENTS}
    if options.get("top") is not None:
        raise TypeError(f"{option('top')} must be left out where {option('by')} makes segments.")
    by = [name for name in tallies.by if name not in tallies.windows]
    count, tables = len(tallies.over(by)), {}
    for metric in dict.fromkeys(rule.metric for rule in rules):
        limits = [rule.limit for rule in rules if rule.metric == metric and rule.kind == "p_value"]
        replicates = max([199, *(math.ceil(count / limit) for limit in limits)])
        tables[metric] = segments(tallies, metric, by=by, **(shared | {"reference": replicates}))
    return tables


def _read_result(baseline: Result | str | os.PathLike[str]) -> Result:
    if isinstance(baseline, Result):
        return baseline
    if not isinstance(baseline, (str, os.PathLike)):
        raise TypeError(
            f"{option('baseline')} must be a `Result` of the last release, or a file of its JSON; it is "
            f"{type(baseline).__name__}.\n\nHint: scores of the same rows are read with them: "
            "`truecal.read(data, score=..., baseline=...)`."
        )
    text = Path(baseline).read_text(encoding="utf-8")
    try:
        return Result.from_json(text)
    except ValueError as error:
        raise ValueError(
            f"{option('baseline')} {os.fspath(baseline)!r} must hold a truecal result; it does not: {error}"
        ) from error


def _compare_results(new: Result, old: Result, metrics: Sequence[str]) -> Comparison:
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
