"""The release gate in one call: from tallies and rules to a decision."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Unpack

from truecal._errors import name_place, option
from truecal._options import CheckOptions, EvaluateOptions, declare, resolve
from truecal.analysis import (
    compare,
    evaluate,
    find_score_threshold,
    is_whole,
    keep_above,
    raise_for_data,
    recalibrate_observations,
    refuse_fitted,
    segments,
)
from truecal.data import (
    CellSums,
    ClassObservations,
    Note,
    NoteCode,
    Observations,
    Outcome,
    Part,
    Reason,
    RowCounts,
    Segment,
)
from truecal.gate._decision import Decision
from truecal.gate._judge import ModelEvidence, judge
from truecal.gate._kinds import count_needed
from truecal.gate._rules import Rule, read_cluster, read_rules, read_sampling
from truecal.inference import Difference, Interval, clip_difference
from truecal.metrics import Tolerance, as_tolerance, normal_quantile
from truecal.results import Comparison, GroupTable, Recalibration, Result, read_stored
from truecal.verdict import FACTOR, Verdict, add_bands, judge_all, required_rows

Rules = str | os.PathLike[str] | Iterable[Rule]
Models = Mapping[str, Observations | ClassObservations]
SEGMENTS = ("binning", "test", "significance", "tolerance", "adjust", "threshold", "top", "random_state", "threads")
PAIRED = ("binning", "test", "significance", "tolerance", "threshold", "top", "random_state", "threads")
INTERVAL = ("binning", "test", "significance", "tolerance", "random_state", "threads")
STANDARD = (Rule("verdict"), Rule("verdict", multiclass="classwise"))  # the second where there are several classes
NO_WORSE = Rule("worse", 0, metric="log_loss")  # beside them where predictions are recalibrated


@declare(CheckOptions)
def check(
    data: Observations | ClassObservations | Models,
    rules: Rules | None = None,
    *,
    baseline: Result | str | os.PathLike[str] | None = None,
    recalibration: Recalibration | str | os.PathLike[str] | None = None,
    **options: Unpack[CheckOptions],
) -> Decision:
    """Check predictions against the rules of a release gate.

    Only what the rules need is computed.

    Parameters
    ----------
    data : Observations or mapping
        What `truecal.read` or `truecal.read_models` returns. Rules for segments require data that were read with `by`;
        rules that compare with the last release require `baseline`, on reading or here.
    rules : path or rules
        A TOML file for `read_rules`, or rules. By default the verdict must be "consistent", and that of each class if
        several were read "classwise". If `[data]` in the file describes the sampling, the data must have been read
        with it.
    baseline : Result or path of its JSON, optional
        A result of the last release on other rows, with confidence intervals. The intervals are combined as those of
        independent samples (Zou and Donner, Statistics in Medicine 2008). Baseline scores of the same rows, which
        reveal smaller differences, are read with the data: `truecal.read(..., baseline=...)`.
    recalibration : Recalibration or path of its JSON, optional
        A calibration map that is applied to the predictions first; the original predictions are the baseline. Without
        rules, the verdict after recalibration must be "consistent", and the log loss not worse than before. The rows
        must not be those that the map was fitted to.

    Notes
    -----
    `threshold`, `top` and `tolerance` apply to rules without their own. `significance` is that of the metrics' own
    tests; rules have their own significance. Segments get as many null draws as their number requires.

    Examples
    --------
    >>> import polars, truecal
    >>> frame = polars.DataFrame({"y": [0, 1] * 500, "p": [0.3, 0.7] * 500})
    >>> truecal.check(truecal.read(frame, label="y", score="p")).exit_code
    1
    """
    options = resolve(check, options)
    models = _open_models(data)
    several = any(isinstance(observations, ClassObservations) for observations in models.values())
    chosen = STANDARD[: 1 + several] if rules is None else _open_rules(rules)
    if recalibration is not None:
        if baseline is not None:
            raise ValueError(f"One of {option('baseline')} and {option('recalibration')} may be given, not both.")
        models = _recalibrate_models(models, recalibration)
        chosen = (*chosen, NO_WORSE) if rules is None else chosen
    tops = [_find_top(observations) for observations in models.values()]
    for observations in tops:
        check_segments(chosen, set(observations.by) - set(observations.periods))
        _check_labelling(rules, observations)
    old = None if baseline is None else _read_result(baseline)
    settings = {rule: _Setting.of(rule, options) for rule in chosen}
    evidence, notes = {}, dict.fromkeys(note for observations in tops for note in observations.notes)
    notes |= {} if recalibration is None else {Note(NoteCode.RECALIBRATED): None}
    for setting in dict.fromkeys(settings.values()):
        together = [rule for rule in chosen if settings[rule] == setting]
        wanted = setting.options(options)
        found = {
            model: (
                _open_classes(observations, together, wanted)
                if setting.classwise
                else _open_model(_find_top(observations), together, setting, old, wanted)
            )
            for model, observations in models.items()
        }
        evidence[setting] = found
        for model in found.values():
            more = () if model.result is None else model.result.notes
            notes |= dict.fromkeys([*more, *(note for table in model.tables.values() for note in table.notes)])
    return judge(((rule, evidence[settings[rule]]) for rule in chosen), tuple(notes))


@dataclass(frozen=True, slots=True)
class _Setting:
    """What rules must share to be judged on the same numbers."""

    threshold: float | None
    top: int | float | None
    tolerance: Tolerance | None
    significance: float
    compared: bool
    classwise: bool

    @classmethod
    def of(cls, rule: Rule, options: CheckOptions) -> _Setting:
        region = rule.threshold, rule.top
        if region == (None, None):
            region = options["threshold"], options["top"]
        tolerance = as_tolerance(options["tolerance"]) if rule.tolerance is None else rule.tolerance
        compared, classwise = rule.needs == "difference", rule.multiclass == "classwise"
        return cls(*region, tolerance, rule.significance, compared, classwise)

    def options(self, given: CheckOptions) -> EvaluateOptions:
        """The options of `evaluate` under this setting."""
        own: EvaluateOptions = {"threshold": self.threshold, "top": self.top, "tolerance": self.tolerance}
        return {**given, **own, "confidence": 1 - self.significance}


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows that are judged, all of them under None, as evidence."""

    parts: Mapping[Segment | None, Part]
    options: EvaluateOptions
    outcome: Outcome
    cells: dict[Segment | None, CellSums] = field(default_factory=dict)

    def verdicts(self, segments: Sequence[Segment | None], level: float) -> list[Verdict]:
        for segment in segments:
            if segment not in self.cells:
                self.cells[segment] = CellSums.of(self.parts[segment])
        cells = [self.cells[segment] for segment in segments]
        found = judge_all(cells, level, self.options["tolerance"])
        whole = is_whole(self.options)
        return [replace(verdict, outcome=self.outcome, complete=whole) for verdict in found]

    def locate(self, segment: Segment | None, verdict: Verdict) -> Verdict:
        """A verdict with its ranges of scores."""
        return add_bands(verdict, self.cells[segment])

    def required_rows(self, segment: Segment | None, level: float) -> int | None:
        """The rows of such predictions in which the verdict can tell."""
        return required_rows(self.cells[segment], FACTOR, level, as_tolerance(self.options["tolerance"]))

    def interval(self, segment: Segment | None, metric: str, level: float) -> Interval | None:
        wanted: Any = {name: value for name, value in self.options.items() if name in INTERVAL}
        draws = max(self.options["resamples"], count_needed(1 - level))
        found: Result = evaluate(self.parts[segment], [metric], **wanted, resamples=draws, confidence=1 - level)
        return found.intervals.get(metric)


def _open_model(
    observations: Observations,
    rules: Sequence[Rule],
    setting: _Setting,
    old: Result | None,
    options: EvaluateOptions,
) -> ModelEvidence:
    """What rules of one setting need of a model."""
    threshold = find_score_threshold(observations, options)
    whole = [rule for rule in rules if rule.segment is None]
    names = list(dict.fromkeys(rule.metric for rule in whole if rule.definition.of_metric))
    if setting.compared:
        return _open_compared(observations, names, old, options)
    parts: dict[Segment | None, Part] = {None: observations.pooled().simplify()}
    rows = keep_above(parts, threshold)
    row_counts = observations.row_counts
    kept = rows[None].n_rows
    out_of_scope = row_counts.evaluated - kept
    counts: dict[Segment | None, RowCounts] = {None: replace(row_counts, evaluated=kept, out_of_scope=out_of_scope)}
    result = _evaluate(observations, whole, names, options) if names else None
    sectioned = [rule for rule in rules if rule.segment is not None]
    if not sectioned:
        return ModelEvidence(_Rows(rows, options, observations.outcome), counts, result)
    by = [name for name in observations.by if name not in observations.periods]
    grouped = observations.group_by(by)
    parts |= {key: part.simplify() for key, part in grouped.parts.items()}
    rows = keep_above(parts, threshold)
    keys = dict.fromkeys([*grouped.parts, *grouped.dropped])
    titles = {key: ", ".join(f"{c}={v}" for c, v in zip(by, key, strict=True)) for key in keys}
    for key in keys:
        read = parts[key].n_rows if key in parts else 0
        counts[key] = _row_counts(grouped.dropped.get(key, {}), read, rows.get(key))
    tables = _judge_segments(observations, sectioned, by, len(rows) - 1, options)
    return ModelEvidence(_Rows(rows, options, observations.outcome), counts, result, tables, titles)


def _open_classes(
    observations: Observations | ClassObservations, rules: Sequence[Rule], options: EvaluateOptions
) -> ModelEvidence:
    """What rules about each of several classes need of a model."""
    if not isinstance(observations, ClassObservations):
        raise TypeError(
            "The data must be of several classes, since a rule is about each of them; "
            f"{observations.score!r} is one.\n\nHint: read the data with {option('multiclass=classwise')}."
        )
    if options["top"] is not None:
        raise ValueError(f"{option('top')} must be left out where a rule is about each of several classes.")
    each, dropped = observations.by_class(), observations.top.row_counts.dropped
    rows = keep_above({key: part.simplify() for key, part in each.parts.items()}, options["threshold"])
    counts: dict[Segment | None, RowCounts] = {}
    for key, part in each.parts.items():
        counts[key] = _row_counts(dropped, part.n_rows, rows.get(key))
    titles = {key: f"{each.by[0]}={key[0]}" for key in each.parts}
    tables = _judge_segments(each, rules, each.by, len(rows), options)
    return ModelEvidence(_Rows(rows, options, "positive"), counts, None, tables, titles)


def _find_top(observations: Observations | ClassObservations) -> Observations:
    """The tallies of a model, of several classes those of the most probable one."""
    return observations.top if isinstance(observations, ClassObservations) else observations


def _row_counts(dropped: Mapping[Reason, int], valid: int, judged: Part | None) -> RowCounts:
    """Where rows went, of which so many are valid."""
    kept = 0 if judged is None else judged.n_rows
    return RowCounts(valid + sum(dropped.values()), kept, dict(dropped), valid - kept)


def _open_compared(
    observations: Observations, names: Sequence[str], old: Result | None, options: EvaluateOptions
) -> ModelEvidence:
    """What rules about the last release need: on the same rows, or by the intervals of a result."""
    threshold = find_score_threshold(observations, options)
    if old is not None:
        draws = max(options["resamples"], count_needed(options["confidence"]))
        wanted: EvaluateOptions = {**options, "null_draws": 0, "resamples": draws}
        result = evaluate(observations, metrics=names, **wanted)
        rows = keep_above({None: observations.pooled().simplify()}, threshold)
        row_counts = _row_counts(observations.row_counts.dropped, observations.n_rows, rows[None])
        return ModelEvidence(
            _Rows(rows, options, observations.outcome),
            {None: row_counts},
            result,
            difference=_compare_results(result, old, names),
        )
    pairs = observations.baseline
    if pairs is None:
        raise ValueError(
            f"{option('baseline')} must be given, since a rule compares with the last release; "
            f"{observations.score!r} has none."
        )
    shared: Any = {name: value for name, value in options.items() if name in (*PAIRED, "confidence")}
    draws = max(options["resamples"], count_needed(options["confidence"]))
    found = compare(observations, names, resamples=draws, **shared)
    assert found.row_counts is not None, "what was compared was counted"
    own = pairs.models()[0][0]
    rows = keep_above({None: own}, threshold)
    row_counts = _row_counts(found.row_counts.dropped, own.n_rows, rows[None])
    return ModelEvidence(_Rows(rows, options, observations.outcome), {None: row_counts}, difference=found)


def _open_rules(rules: Rules) -> tuple[Rule, ...]:
    if isinstance(rules, (str, os.PathLike)):
        return read_rules(rules)
    if isinstance(rules, Rule):
        raise TypeError("`rules` must be a list of them; it is a single one.\n\nHint: write `[...]` around it.")
    chosen = tuple(rules)
    if not chosen:
        raise ValueError("`rules` must hold at least one rule; a gate without rules would pass everything.")
    for rule in chosen:
        if not isinstance(rule, Rule):
            raise TypeError(f"`rules` must hold `Rule`; one is {rule!r}.\n\nHint: `read_rules` reads a file of them.")
    return chosen


def _check_labelling(rules: Rules | None, observations: Observations) -> None:
    """Refuse data that were not read as a file of rules says that they got their labels."""
    wanted = read_sampling(rules) if isinstance(rules, (str, os.PathLike)) else None
    if wanted is not None and wanted != replace(observations.sampling, label_delay=None):
        raise ValueError(
            f"The data must be read as [data] of the file of rules says, {wanted!r}; they were read with "
            f"{observations.sampling!r}.\n\nHint: `truecal.read` takes the same options."
        )
    cluster = read_cluster(rules) if isinstance(rules, (str, os.PathLike)) else None
    if cluster is not None and cluster != observations.cluster:
        raise ValueError(
            f"The data must be read with {option('cluster')} {cluster!r}, as [data] of the file of rules says; it is "
            f"{observations.cluster!r}."
        )


def _open_models(data: Observations | ClassObservations | Models) -> Models:
    if isinstance(data, (Observations, ClassObservations)):
        return {_find_top(data).score: data}
    known = (Observations, ClassObservations)
    if not isinstance(data, Mapping) or not data or not all(isinstance(part, known) for part in data.values()):
        raise_for_data("check", data)
    return data


def _recalibrate_models(models: Models, recalibration: Recalibration | str | os.PathLike[str]) -> Models:
    """The same rows with their predictions recalibrated, and those before as the baseline."""
    if isinstance(recalibration, (str, os.PathLike)):
        with name_place(recalibration):
            recalibration = read_stored(recalibration, Recalibration.from_json)
    if not isinstance(recalibration, Recalibration):
        raise TypeError(
            f"{option('recalibration')} must be a `Recalibration`, or a file of its JSON; it is "
            f"{type(recalibration).__name__}."
        )
    found = {}
    for model, observations in models.items():
        if isinstance(observations, ClassObservations) or observations.outcome != "positive":
            raise ValueError(f"{option('recalibration')} must be left out where there are several classes.")
        if observations.baseline is not None:
            raise ValueError(f"One of {option('baseline')} and {option('recalibration')} may be given, not both.")
        refuse_fitted(recalibration, observations)
        found[model] = recalibrate_observations(recalibration, observations)
    return found


def check_segments(rules: Iterable[Rule], by: Collection[str]) -> None:
    """Refuse rules about segments where no columns make any."""
    patterns = [rule.segment for rule in rules if rule.segment is not None]
    if patterns and not by:
        named = re.findall(r"(?:^|, )([^=,*?]+)=", patterns[0])
        what = f"the column{'s' * (len(named) > 1)} that the rule names, {', '.join(map(repr, named))}"
        hint = f"\n\nHint: give {option('by')} {what}." if named else ""
        raise ValueError(
            f"{option('by')} must name the columns that make segments, since a rule is about {patterns[0]!r}; it "
            f"is missing.{hint}"
        )


def _evaluate(
    observations: Observations, rules: Sequence[Rule], names: Sequence[str], options: EvaluateOptions
) -> Result:
    """What limits of all rows need."""
    needs = {rule.needs for rule in rules}
    wanted: EvaluateOptions = {**options}
    wanted["null_draws"] = options["null_draws"] if "null" in needs else 0
    wanted["resamples"] = options["resamples"] if "interval" in needs else 0
    return evaluate(observations, metrics=names, **wanted)


def _judge_segments(
    observations: Observations, rules: Sequence[Rule], by: Sequence[str], count: int, options: EvaluateOptions
) -> dict[str, GroupTable]:
    """A table for each metric, with as many replicates as the rules need."""
    shared: Any = {name: value for name, value in options.items() if name in SEGMENTS}
    tables = {}
    for metric in dict.fromkeys(rule.metric for rule in rules if rule.definition.of_metric):
        own = [rule for rule in rules if rule.metric == metric]
        replicates = max(rule.definition.count_draws(rule.limit, count) for rule in own)
        tables[metric] = segments(observations, metric, by=by, **(shared | {"null_draws": replicates}))
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
    with name_place(baseline):
        text = Path(baseline).read_text(encoding="utf-8")
    try:
        return Result.from_json(text)
    except ValueError as error:
        raise ValueError(
            f"{option('baseline')} {os.fspath(baseline)!r} must hold a truecal result; it does not: {error}"
        ) from error


def _compare_results(new: Result, old: Result, metrics: Sequence[str]) -> Comparison:
    """Differences of two results on different rows, by the intervals of both. One of the old result that has another
    confidence is made as wide as a normal one with that of the new."""
    found = {}
    for name in metrics:
        if name not in old.intervals or old.metrics.get(name) != new.metrics[name]:
            raise ValueError(
                f"{option('baseline')} must hold {name!r} with an interval, computed in the same way; it does not.\n\n"
                f"Hint: write it with {option('resamples=1000')}."
            )
        a, b = new.intervals[name], old.intervals[name]
        (first, *ends), (second, *others) = (_measure_distance(result, name) for result in (new, old))
        reach, old_reach = (normal_quantile((1 - span.confidence) / 2) for span in (a, b))
        wider, enough = reach / old_reach, b.resamples >= count_needed(b.confidence)
        below = math.hypot(first - ends[0], wider * (others[1] - second))
        above = math.hypot(ends[1] - first, wider * (second - others[0]))
        span = clip_difference(new.metrics[name], first - second - below, first - second + above)
        values, draws = (new.values[name], old.values[name]), a.resamples if enough else b.resamples
        found[name] = Difference(*values, first - second, *span, a.confidence, draws)
    statuses = tuple(result.verdict.status for result in (new, old) if result.verdict is not None)
    known = statuses if len(statuses) == 2 else ()
    return Comparison.of(found, new.metrics, models=("new", "baseline"), statuses=known)


def _measure_distance(result: Result, name: str) -> tuple[float, float, float]:
    """A value and the ends of its interval; of the distance from the best value where that lies between bad ones."""
    metric, span, value = result.metrics[name], result.intervals[name], result.values[name]
    if metric.bad != "both":
        return value, span.low, span.high
    ends = [abs(end - metric.best) for end in (span.low, span.high)]
    return abs(value - metric.best), 0.0 if span.low <= metric.best <= span.high else min(ends), max(ends)
