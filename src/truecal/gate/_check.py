"""The release gate in one call: from observations and rules to a decision."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Unpack

from truecal import analysis
from truecal._errors import name_place, option
from truecal._options import (
    OPTIONS,
    CheckOptions,
    CompareOptions,
    EvaluateOptions,
    GateOptions,
    GroupOptions,
    LevelOptions,
    TestOptions,
    check_given,
    declare,
    resolve,
    take_options,
)
from truecal.data import (
    Cells,
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
from truecal.gate._judge import ModelEvidence, apply_rules
from truecal.gate._kinds import count_needed
from truecal.gate._rules import Rule, read_cluster, read_rules, read_sampling
from truecal.inference import Interval
from truecal.metrics import Tolerance, as_tolerance
from truecal.verdict import FACTOR, Verdict, add_bands, judge_all, required_rows

if TYPE_CHECKING:
    from truecal.results import GroupTable, Recalibration, Result

Rules = str | os.PathLike[str] | Iterable[Rule]
ModelObservations = Mapping[str, Observations | ClassObservations]
STANDARD_RULES = (Rule("verdict"), Rule("verdict", multiclass="classwise"))  # the second if there are several classes
FEW_SEGMENTS = 10_000  # up to which cells are kept, and the rows that an inconclusive one needs are computed
NO_WORSE = Rule("worse", 0, metric="log_loss")  # added to them if predictions are recalibrated


@declare(CheckOptions, first=(GateOptions, LevelOptions))
def check(
    data: Observations | ClassObservations | ModelObservations,
    rules: Rules | None = None,
    *,
    baseline: Result | str | os.PathLike[str] | None = None,
    recalibration: Recalibration | str | os.PathLike[str] | None = None,
    significance: float | None = None,
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

    Notes
    -----
    The significance of a rule is that of the verdict and of confidence intervals. Metrics that test, such as TCE, do so
    at 0.05.

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
    chosen = _choose_rules(rules, several, significance)
    notes: list[Note] = []
    if recalibration is not None:
        if baseline is not None:
            raise ValueError(f"One of {option('baseline')} and {option('recalibration')} may be given, not both.")
        models, notes = _recalibrate_models(models, recalibration)
        chosen = (*chosen, _at_level(NO_WORSE, significance)) if rules is None else chosen
    for observations in map(_take_top_label, models.values()):
        check_segments(chosen, set(observations.by) - set(observations.periods))
        if isinstance(rules, (str, os.PathLike)):
            check_data_table(rules, observations)
    old = None
    if baseline is not None:
        from truecal.gate._baseline import read_result

        old = read_result(baseline)
    settings = {rule: _Setting.of(rule, options) for rule in chosen}
    evidence: dict[_Setting, dict[str, ModelEvidence]] = {}
    for setting in dict.fromkeys(settings.values()):
        together = [rule for rule in chosen if settings[rule] == setting]
        evidence[setting] = {
            model: _compute(observations, together, setting, old, setting.options(options))
            for model, observations in models.items()
        }
        notes += [note for known in evidence[setting].values() for note in known.notes]
    first = (note for observations in models.values() for note in _take_top_label(observations).notes)
    return apply_rules(((rule, evidence[settings[rule]]) for rule in chosen), tuple(dict.fromkeys([*first, *notes])))


@dataclass(frozen=True, slots=True)
class _Setting:
    """The settings that rules must share to be judged on the same numbers."""

    threshold: float | None
    top: int | float | None
    tolerance: Tolerance | None
    significance: float
    compared: bool
    classwise: bool

    @classmethod
    def of(cls, rule: Rule, options: CheckOptions) -> _Setting:
        """Return the settings of a rule; `options` apply if it has none of its own."""
        region = rule.threshold, rule.top
        if region == (None, None):
            region = options["threshold"], options["top"]
        tolerance = as_tolerance(options["tolerance"]) if rule.tolerance is None else rule.tolerance
        compared, classwise = rule.needs == "difference", rule.multiclass == "classwise"
        return cls(*region, tolerance, rule.significance, compared, classwise)

    def options(self, given: CheckOptions) -> EvaluateOptions:
        """Return the options of `evaluate` under these settings."""
        scope: EvaluateOptions = {"threshold": self.threshold, "top": self.top, "tolerance": self.tolerance}
        own: EvaluateOptions = {"adjust": None, "significance": OPTIONS["significance"].default}
        return {**given, **own, **scope, "confidence": 1 - self.significance}


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows in scope, all of them (None) or by segment, as `Evidence`; cells of a few segments are made once."""

    parts: Mapping[Segment | None, Part]
    options: EvaluateOptions
    outcome: Outcome
    cells: dict[Segment | None, Cells] = field(default_factory=dict)

    @property
    def few(self) -> bool:
        """Whether there are so few segments that all of their cells fit into memory."""
        return len(self.parts) <= FEW_SEGMENTS

    def find_cells(self, segment: Segment | None) -> Cells:
        if segment in self.cells:
            return self.cells[segment]
        cells = Cells.of(self.parts[segment])
        if self.few or segment is None:
            self.cells[segment] = cells
        return cells

    def verdicts(self, segments: Sequence[Segment | None], level: float) -> list[Verdict]:
        few = self.few or len(segments) == 1
        groups = [self.find_cells(segment) if few else self.parts[segment] for segment in segments]
        verdicts = judge_all(groups, level, self.options["tolerance"])
        complete = analysis.is_unrestricted(self.options)
        return [replace(verdict, outcome=self.outcome, complete=complete) for verdict in verdicts]

    def locate(self, segment: Segment | None, verdict: Verdict) -> Verdict:
        return add_bands(verdict, self.find_cells(segment))

    def required_rows(self, segment: Segment | None, level: float) -> int | None:
        if not self.few:
            return None
        return required_rows(self.find_cells(segment), FACTOR, level, as_tolerance(self.options["tolerance"]))

    def interval(self, segment: Segment | None, metric: str, level: float) -> Interval | None:
        options = take_options(TestOptions, self.options)
        options |= {"threshold": None, "top": None}  # only rows in scope are left
        options |= {"resamples": max(self.options["resamples"], count_needed(1 - level)), "confidence": 1 - level}
        result: Result = analysis.evaluate(self.parts[segment], [metric], **options)
        return result.intervals.get(metric)


def _compute(
    observations: Observations | ClassObservations,
    rules: Sequence[Rule],
    setting: _Setting,
    old: Result | None,
    options: EvaluateOptions,
) -> ModelEvidence:
    """Compute what rules of one setting need of a model."""
    if setting.classwise:
        return _compute_classes(observations, rules, options)
    if setting.compared:
        return _compute_difference(_take_top_label(observations), rules, old, options)
    return _compute_model(_take_top_label(observations), rules, options)


def _list_metrics(rules: Iterable[Rule]) -> list[str]:
    """Return the metrics of rules, each once."""
    return list(dict.fromkeys(rule.metric for rule in rules if rule.definition.of_metric))


def _compute_model(observations: Observations, rules: Sequence[Rule], options: EvaluateOptions) -> ModelEvidence:
    """Compute what rules need of all rows of a model, and of its segments if a rule is about these."""
    threshold = analysis.find_score_threshold(observations, options)
    for_all_rows = [rule for rule in rules if rule.segment is None]
    for_segments = [rule for rule in rules if rule.segment is not None]
    by = [name for name in observations.by if name not in observations.periods]
    parts: dict[Segment | None, Part] = {None: observations.pooled().simplify()}
    if for_segments:
        grouped = observations.group_by(by)
        parts |= {key: part.simplify() for key, part in grouped.parts.items()}
    rows = analysis.keep_above(parts, threshold)
    row_counts, kept = observations.row_counts, rows[None].n_rows
    out_of_scope = row_counts.evaluated - kept
    counts: dict[Segment | None, RowCounts] = {None: replace(row_counts, evaluated=kept, out_of_scope=out_of_scope)}
    names = _list_metrics(for_all_rows)
    result = _evaluate_all_rows(observations, for_all_rows, names, options) if names else None
    evidence = _Rows(rows, options, observations.outcome)
    if not for_segments:
        return ModelEvidence(evidence, counts, result)
    titles = {}
    for key in dict.fromkeys([*grouped.parts, *grouped.dropped]):
        titles[key] = ", ".join(f"{name}={value}" for name, value in zip(by, key, strict=True))
        valid = parts[key].n_rows if key in parts else 0
        counts[key] = _make_row_counts(grouped.dropped.get(key, {}), valid, rows.get(key))
    tables = _tabulate_groups(observations, for_segments, by, len(rows) - 1, options)  # - 1: all rows are no segment
    return ModelEvidence(evidence, counts, result, tables, titles)


def _compute_classes(
    observations: Observations | ClassObservations, rules: Sequence[Rule], options: EvaluateOptions
) -> ModelEvidence:
    """Compute what rules need of each class against the rest."""
    if not isinstance(observations, ClassObservations):
        raise TypeError(
            "The data must be of several classes, since a rule is about each of them; "
            f"{observations.score!r} is one.\n\nHint: read the data with {option('multiclass=classwise')}."
        )
    if options["top"] is not None:
        raise ValueError(f"{option('top')} must be left out if a rule is about each of several classes.")
    classes, dropped = observations.by_class(), observations.top.row_counts.dropped
    rows = analysis.keep_above({key: part.simplify() for key, part in classes.parts.items()}, options["threshold"])
    counts: dict[Segment | None, RowCounts] = {}
    for key, part in classes.parts.items():
        counts[key] = _make_row_counts(dropped, part.n_rows, rows.get(key))
    titles = {key: f"{classes.by[0]}={key[0]}" for key in classes.parts}
    tables = _tabulate_groups(classes, rules, classes.by, len(rows), options)
    return ModelEvidence(_Rows(rows, options, "positive"), counts, None, tables, titles)


def _take_top_label(observations: Observations | ClassObservations) -> Observations:
    """Return the observations of a model; those of the most probable class if there are several classes."""
    return observations.top if isinstance(observations, ClassObservations) else observations


def _make_row_counts(dropped: Mapping[Reason, int], valid: int, kept: Part | None) -> RowCounts:
    """Return the row counts of a group: rows dropped by reason, valid rows, and those of them in scope."""
    evaluated = 0 if kept is None else kept.n_rows
    return RowCounts(valid + sum(dropped.values()), evaluated, dict(dropped), valid - evaluated)


def _compute_difference(
    observations: Observations, rules: Sequence[Rule], old: Result | None, options: EvaluateOptions
) -> ModelEvidence:
    """Compare with the last release: on the same rows, or by the intervals of a result on other rows."""
    threshold, names = analysis.find_score_threshold(observations, options), _list_metrics(rules)
    draws = max(options["resamples"], count_needed(options["confidence"]))
    result: Result | None = None
    part: Part
    if old is not None:
        wanted: EvaluateOptions = {**options, "null_draws": 0, "resamples": draws}
        result = analysis.evaluate(observations, metrics=names, **wanted)
        from truecal.gate._baseline import compare_results

        difference = compare_results(result, old, names)
        part, dropped = observations.pooled().simplify(), observations.row_counts.dropped
    else:
        pairs = observations.baseline
        if pairs is None:
            raise ValueError(
                f"{option('baseline')} must be given, since a rule compares with the last release; "
                f"{observations.score!r} has none."
            )
        compared = take_options(CompareOptions, options) | {"resamples": draws}
        difference = analysis.compare(observations, names, **compared)
        assert difference.row_counts is not None, "what was compared was counted"
        part, dropped = pairs.models()[0][0], difference.row_counts.dropped
    rows = analysis.keep_above({None: part}, threshold)
    row_counts = _make_row_counts(dropped, part.n_rows, rows[None])
    evidence = _Rows(rows, options, observations.outcome)
    return ModelEvidence(evidence, {None: row_counts}, result, difference=difference)


def _choose_rules(rules: Rules | None, several: bool, significance: float | None) -> tuple[Rule, ...]:
    """Return the rules that are given, or the standard ones at a level."""
    check_given(check, significance=significance)
    if rules is None:
        return tuple(_at_level(rule, significance) for rule in STANDARD_RULES[: 1 + several])
    if significance is not None:
        raise TypeError(
            f"{option('significance')} must be left out if rules are given, since each has its own.\n\n"
            f'Hint: `Rule("verdict", significance={significance!r})`.'
        )
    return _open_rules(rules)


def _at_level(rule: Rule, significance: float | None) -> Rule:
    return rule if significance is None else replace(rule, significance=significance)


def _open_rules(rules: Rules) -> tuple[Rule, ...]:
    """Return rules, of a file or a list; raise an error unless there is one."""
    if isinstance(rules, (str, os.PathLike)):
        return read_rules(rules)
    if isinstance(rules, Rule):
        raise TypeError("`rules` must be a list of them; it is a single one.\n\nHint: write `[...]` around it.")
    if not isinstance(rules, Iterable):
        raise TypeError(f"`rules` must be the path of a TOML file, or a list of `Rule`; it is {rules!r}.")
    chosen = tuple(rules)
    if not chosen:
        raise ValueError("`rules` must hold at least one rule; a gate without rules would pass everything.")
    for rule in chosen:
        if not isinstance(rule, Rule):
            raise TypeError(f"`rules` must hold `Rule`; one is {rule!r}.\n\nHint: `read_rules` reads a file of them.")
    return chosen


def check_data_table(rules: str | os.PathLike[str], observations: Observations) -> None:
    """Refuse data that were not read with the sampling and the cluster column of a file of rules."""
    wanted, cluster = read_sampling(rules), read_cluster(rules)
    if wanted is not None and wanted != replace(observations.sampling, label_delay=None):
        raise ValueError(
            f"The data must be read as [data] of the file of rules says, {wanted!r}; they were read with "
            f"{observations.sampling!r}.\n\nHint: `truecal.read` and `truecal tally` take the same options."
        )
    if cluster is not None and cluster != observations.cluster:
        raise ValueError(
            f"The data must be read with {option('cluster')} {cluster!r}, as [data] of the file of rules says; it is "
            f"{observations.cluster!r}."
        )


def _open_models(data: Observations | ClassObservations | ModelObservations) -> ModelObservations:
    """Return observations by the names of their models."""
    if isinstance(data, (Observations, ClassObservations)):
        return {_take_top_label(data).score: data}
    known = (Observations, ClassObservations)
    if not isinstance(data, Mapping) or not data or not all(isinstance(part, known) for part in data.values()):
        analysis.raise_for_data("check", data)
    return data


def _recalibrate_models(
    models: ModelObservations, recalibration: Recalibration | str | os.PathLike[str]
) -> tuple[ModelObservations, list[Note]]:
    """Return the same rows with recalibrated predictions, and notes; the original predictions are the baseline."""
    from truecal.results import Recalibration, read_stored

    if isinstance(recalibration, (str, os.PathLike)):
        with name_place(recalibration):
            recalibration = read_stored(recalibration, Recalibration.from_json)
    if not isinstance(recalibration, Recalibration):
        raise TypeError(
            f"{option('recalibration')} must be a `Recalibration`, or a file of its JSON; it is "
            f"{type(recalibration).__name__}."
        )
    recalibrated, notes = {}, [Note(NoteCode.RECALIBRATED)]
    for model, observations in models.items():
        if isinstance(observations, ClassObservations) or observations.outcome != "positive":
            raise ValueError(f"{option('recalibration')} must be left out if there are several classes.")
        if observations.baseline is not None:
            raise ValueError(f"One of {option('baseline')} and {option('recalibration')} may be given, not both.")
        analysis.refuse_fitted(recalibration, observations)
        recalibrated[model] = analysis.recalibrate_observations(recalibration, observations)
        if unknown := analysis.count_unknown(recalibration, observations):
            notes.append(Note.of(NoteCode.SEGMENTS_UNKNOWN, n=unknown))
    return recalibrated, notes


def check_segments(rules: Iterable[Rule], by: Collection[str]) -> None:
    """Refuse rules about segments if no columns make any."""
    patterns = [rule.segment for rule in rules if rule.segment is not None]
    if patterns and not by:
        named = re.findall(r"(?:^|, )([^=,*?]+)=", patterns[0])
        what = f"the column{'s' * (len(named) > 1)} that the rule names, {', '.join(map(repr, named))}"
        hint = f"\n\nHint: give {option('by')} {what}." if named else ""
        raise ValueError(
            f"{option('by')} must name the columns that make segments, since a rule is about {patterns[0]!r}; it "
            f"is missing.{hint}"
        )


def _evaluate_all_rows(
    observations: Observations, rules: Sequence[Rule], names: Sequence[str], options: EvaluateOptions
) -> Result:
    """Evaluate metrics of all rows, with null distributions and intervals only if a rule needs them."""
    needs = {rule.needs for rule in rules}
    wanted: EvaluateOptions = {**options}
    wanted["null_draws"] = options["null_draws"] if "null" in needs else 0
    wanted["resamples"] = options["resamples"] if "interval" in needs else 0
    return analysis.evaluate(observations, metrics=names, **wanted)


def _tabulate_groups(
    observations: Observations, rules: Sequence[Rule], by: Sequence[str], groups: int, options: EvaluateOptions
) -> dict[str, GroupTable]:
    """Return a table of segments or classes for each metric, with as many null draws as the rules need."""
    shared, tables = take_options(GroupOptions, options) | {"by": by, "adjust": "holm"}, {}
    for metric in _list_metrics(rules):
        draws = max(rule.definition.count_draws(rule.limit, groups) for rule in rules if rule.metric == metric)
        tables[metric] = analysis.segments(observations, metric, **(shared | {"null_draws": draws}))
    return tables
