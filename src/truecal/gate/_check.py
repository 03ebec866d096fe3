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
from truecal.analysis import (
    Options,
    check_options,
    choose_parts,
    compare,
    evaluate,
    find_threshold,
    is_whole,
    mend_tallies,
    raise_for_data,
    refuse_fitted,
    segments,
)
from truecal.gate._decision import Decision
from truecal.gate._judge import Subject, count_needed, judge
from truecal.gate._rules import Rule, read_cluster, read_labelling, read_rules
from truecal.inference import FACTOR, Difference, Interval, Verdict, clip_difference, count_enough, divide, judge_all
from truecal.metrics import Tolerance, as_tolerance, normal_quantile
from truecal.observations import Account, CellSums, ClassTallies, Outcome, Part, Segment, Tallies
from truecal.results import Comparison, GroupTable, Recalibration, Result, read_stored

Rules = str | os.PathLike[str] | Iterable[Rule]
Models = Mapping[str, Tallies | ClassTallies]
REPLICATES = 1000  # of references, intervals and differences, unless another number is given
SEGMENTS = ("binning", "test", "significance", "tolerance", "adjust", "above", "top", "random_state", "threads")
PAIRED = ("binning", "test", "significance", "tolerance", "above", "top", "random_state", "threads")
INTERVAL = ("binning", "test", "significance", "tolerance", "random_state", "threads")
STANDARD = (Rule("verdict"), Rule("verdict", multiclass="classwise"))  # the second where there are several classes
NO_WORSE = Rule("worse", 0, metric="log_loss")  # beside them where predictions are recalibrated
RECALIBRATED = "predictions are judged as the map mends them; the baseline is what they were before"
WITHOUT_METRIC = ("verdict", "dropped")  # kinds of rules


def check(
    data: Tallies | ClassTallies | Models,
    rules: Rules | None = None,
    *,
    baseline: Result | str | os.PathLike[str] | None = None,
    recalibration: Recalibration | str | os.PathLike[str] | None = None,
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
        A TOML file for `read_rules`, or rules; by default one, that the verdict is "consistent", and the same for each
        class where several were read "classwise". Where the file says in `[data]` how rows were sampled, the data must
        have been read so.
    baseline : Result or path of its JSON, optional
        A result of the last release, on whatever rows it was then, with intervals. They are combined as those of
        independent data (Zou and Donner, Statistics in Medicine 2008). Scores of the same rows, which see smaller
        differences, are read with the data: `truecal.read(..., baseline=...)`.
    recalibration : Recalibration or path of its JSON, optional
        A map that the predictions are mended by before they are judged; those before are the baseline of rules about
        the last release. Without rules, the verdict after it must be "consistent", and the log loss no worse than
        before. The rows must be others than those that it was fitted to.
    replicates : int
        How often labels are redrawn for differences between scores of the same rows.
    options
        Those of `evaluate`; `reference` and `intervals` are 1000 by default and `random_state` is 0. `above`, `top` and
        `tolerance` hold for rules that have none of their own; `significance` is that of the metrics' own tests, and
        the level of evidence is the rules'. For segments labels are redrawn as often as their number needs.

    Examples
    --------
    >>> import polars, truecal
    >>> frame = polars.DataFrame({"y": [0, 1] * 500, "p": [0.3, 0.7] * 500})
    >>> truecal.check(truecal.read(frame, label="y", score="p")).exit_code
    1
    """
    check_options(check, options)
    models = _open_models(data)
    several = any(isinstance(tallies, ClassTallies) for tallies in models.values())
    chosen = STANDARD[: 1 + several] if rules is None else _open_rules(rules)
    if recalibration is not None:
        if baseline is not None:
            raise ValueError(f"One of {option('baseline')} and {option('recalibration')} may be given, not both.")
        models = _mend_models(models, recalibration)
        chosen = (*chosen, NO_WORSE) if rules is None else chosen
    if options.get("confidence") is not None:
        raise TypeError(f"{option('confidence')} must be left out of a gate: it is 1 - `significance` of each rule.")
    tops = [_find_top(tallies) for tallies in models.values()]
    for tallies in tops:
        check_segments(chosen, set(tallies.by) - set(tallies.windows))
        _check_labelling(rules, tallies)
    old = None if baseline is None else _read_result(baseline)
    settings = {rule: _Setting.of(rule, options) for rule in chosen}
    subjects, notes = {}, dict.fromkeys(note for tallies in tops for note in tallies.notes)
    notes |= {} if recalibration is None else {RECALIBRATED: None}
    for setting in dict.fromkeys(settings.values()):
        together = [rule for rule in chosen if settings[rule] == setting]
        wanted = setting.options(options)
        found = {
            model: (
                _open_classes(tallies, together, wanted)
                if setting.classwise
                else _open_subject(_find_top(tallies), together, setting, old, wanted, replicates)
            )
            for model, tallies in models.items()
        }
        subjects[setting] = found
        for subject in found.values():
            more = () if subject.result is None else subject.result.notes
            notes |= dict.fromkeys([*more, *(note for table in subject.tables.values() for note in table.notes)])
    return judge(((rule, subjects[settings[rule]]) for rule in chosen), tuple(notes))


@dataclass(frozen=True, slots=True)
class _Setting:
    """What rules must share to be judged on the same numbers."""

    above: float | None
    top: int | float | None
    tolerance: Tolerance | None
    significance: float
    compared: bool
    classwise: bool

    @classmethod
    def of(cls, rule: Rule, options: Options) -> _Setting:
        region = rule.above, rule.top
        if region == (None, None):
            region = options.get("above"), options.get("top")
        tolerance = as_tolerance(options.get("tolerance")) if rule.tolerance is None else rule.tolerance
        compared, classwise = rule.needs == "difference", rule.multiclass == "classwise"
        return cls(*region, tolerance, rule.significance, compared, classwise)

    def options(self, given: Options) -> Options:
        """The options of `evaluate` under this setting."""
        own: Options = {"above": self.above, "top": self.top, "tolerance": self.tolerance}
        return {"random_state": 0, **given, **own, "confidence": 1 - self.significance}


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows that are judged, all of them under None, as evidence."""

    parts: Mapping[Segment | None, Part]
    options: Options
    outcome: Outcome
    cells: dict[Segment | None, CellSums] = field(default_factory=dict)

    def verdicts(self, segments: Sequence[Segment | None], level: float) -> list[Verdict]:
        for segment in segments:
            if segment not in self.cells:
                self.cells[segment] = CellSums.of(self.parts[segment])
        cells = [self.cells[segment] for segment in segments]
        found = judge_all(cells, level, self.options.get("tolerance"))
        whole = is_whole(self.options)
        return [replace(verdict, outcome=self.outcome, whole=whole) for verdict in found]

    def locate(self, segment: Segment | None, verdict: Verdict) -> Verdict:
        """A verdict with its ranges of scores."""
        return divide(verdict, self.cells[segment])

    def count_enough(self, segment: Segment | None, level: float) -> int | None:
        """The rows of such predictions in which the verdict can tell."""
        return count_enough(self.cells[segment], FACTOR, level, as_tolerance(self.options.get("tolerance")))

    def interval(self, segment: Segment | None, metric: str, level: float) -> Interval | None:
        wanted: Any = {name: value for name, value in self.options.items() if name in INTERVAL}
        draws = max(self.options.get("intervals", REPLICATES), count_needed(1 - level))
        found: Result = evaluate(self.parts[segment], [metric], **wanted, intervals=draws, confidence=1 - level)
        return found.intervals.get(metric)


def _open_subject(
    tallies: Tallies,
    rules: Sequence[Rule],
    setting: _Setting,
    old: Result | None,
    options: Options,
    replicates: int,
) -> Subject:
    """What rules of one setting need of a model."""
    threshold = find_threshold(tallies, options)
    whole = [rule for rule in rules if rule.segment is None]
    names = list(dict.fromkeys(rule.metric for rule in whole if rule.kind not in WITHOUT_METRIC))
    if setting.compared:
        return _open_compared(tallies, names, old, options, replicates)
    parts: dict[Segment | None, Part] = {None: tallies.whole().simplify()}
    rows = choose_parts(parts, threshold)
    account = tallies.account
    kept = rows[None].n_rows
    accounts: dict[Segment | None, Account] = {None: replace(account, judged=kept, outside=account.judged - kept)}
    result = _evaluate(tallies, whole, names, options) if names else None
    sectioned = [rule for rule in rules if rule.segment is not None]
    if not sectioned:
        return Subject(_Rows(rows, options, tallies.outcome), accounts, result)
    by = [name for name in tallies.by if name not in tallies.windows]
    grouped = tallies.over(by)
    parts |= {key: part.simplify() for key, part in grouped.parts.items()}
    rows = choose_parts(parts, threshold)
    keys = dict.fromkeys([*grouped.parts, *grouped.dropped])
    titles = {key: ", ".join(f"{c}={v}" for c, v in zip(by, key, strict=True)) for key in keys}
    for key in keys:
        read = parts[key].n_rows if key in parts else 0
        accounts[key] = _account(grouped.dropped.get(key, {}), read, rows.get(key))
    tables = _judge_segments(tallies, sectioned, by, len(rows) - 1, options)
    return Subject(_Rows(rows, options, tallies.outcome), accounts, result, tables, titles)


def _open_classes(tallies: Tallies | ClassTallies, rules: Sequence[Rule], options: Options) -> Subject:
    """What rules about each of several classes need of a model."""
    if not isinstance(tallies, ClassTallies):
        raise TypeError(
            f"The data must be of several classes, since a rule is about each of them; {tallies.score!r} is one.\n\n"
            f"Hint: read the data with {option('multiclass=classwise')}."
        )
    if options.get("top") is not None:
        raise ValueError(f"{option('top')} must be left out where a rule is about each of several classes.")
    each, dropped = tallies.by_class(), tallies.top.account.dropped
    rows = choose_parts({key: part.simplify() for key, part in each.parts.items()}, options.get("above"))
    accounts: dict[Segment | None, Account] = {}
    for key, part in each.parts.items():
        accounts[key] = _account(dropped, part.n_rows, rows.get(key))
    titles = {key: f"{each.by[0]}={key[0]}" for key in each.parts}
    tables = _judge_segments(each, rules, each.by, len(rows), options)
    return Subject(_Rows(rows, options, "positive"), accounts, None, tables, titles)


def _find_top(tallies: Tallies | ClassTallies) -> Tallies:
    """The tallies of a model, of several classes those of the most probable one."""
    return tallies.top if isinstance(tallies, ClassTallies) else tallies


def _account(dropped: Mapping[str, int], valid: int, judged: Part | None) -> Account:
    """Where rows went, of which so many are valid."""
    kept = 0 if judged is None else judged.n_rows
    return Account(valid + sum(dropped.values()), kept, dict(dropped), valid - kept)


def _open_compared(
    tallies: Tallies, names: Sequence[str], old: Result | None, options: Options, replicates: int
) -> Subject:
    """What rules about the last release need: on the same rows, or by the intervals of a result."""
    threshold = find_threshold(tallies, options)
    if old is not None:
        draws = max(options.get("intervals", REPLICATES), count_needed(options["confidence"]))
        wanted: Options = {**options, "reference": 0, "intervals": draws}
        result = evaluate(tallies, metrics=names, **wanted)
        rows = choose_parts({None: tallies.whole().simplify()}, threshold)
        account = _account(tallies.account.dropped, tallies.n_rows, rows[None])
        return Subject(
            _Rows(rows, options, tallies.outcome),
            {None: account},
            result,
            difference=_compare_results(result, old, names),
        )
    pairs = tallies.baseline
    if pairs is None:
        raise ValueError(
            f"{option('baseline')} must be given, since a rule compares with the last release; {tallies.score!r} has "
            "none."
        )
    shared: Any = {name: value for name, value in options.items() if name in (*PAIRED, "confidence")}
    draws = max(replicates, count_needed(options["confidence"]))
    found = compare(tallies, names, replicates=draws, **shared)
    assert found.account is not None, "what was compared was counted"
    own = pairs.models()[0][0]
    rows = choose_parts({None: own}, threshold)
    account = _account(found.account.dropped, own.n_rows, rows[None])
    return Subject(_Rows(rows, options, tallies.outcome), {None: account}, difference=found)


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


def _check_labelling(rules: Rules | None, tallies: Tallies) -> None:
    """Refuse data that were not read as a file of rules says that they got their labels."""
    wanted = read_labelling(rules) if isinstance(rules, (str, os.PathLike)) else None
    if wanted is not None and wanted != replace(tallies.labelling, late=False):
        raise ValueError(
            f"The data must be read as [data] of the file of rules says, {wanted!r}; they were read with "
            f"{tallies.labelling!r}.\n\nHint: `truecal.read` takes the same options."
        )
    cluster = read_cluster(rules) if isinstance(rules, (str, os.PathLike)) else None
    if cluster is not None and cluster != tallies.cluster:
        raise ValueError(
            f"The data must be read with {option('cluster')} {cluster!r}, as [data] of the file of rules says; it is "
            f"{tallies.cluster!r}."
        )


def _open_models(data: Tallies | ClassTallies | Models) -> Models:
    if isinstance(data, (Tallies, ClassTallies)):
        return {_find_top(data).score: data}
    known = (Tallies, ClassTallies)
    if not isinstance(data, Mapping) or not data or not all(isinstance(part, known) for part in data.values()):
        raise_for_data("check", data)
    return data


def _mend_models(models: Models, recalibration: Recalibration | str | os.PathLike[str]) -> Models:
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
    for model, tallies in models.items():
        if isinstance(tallies, ClassTallies) or tallies.outcome != "positive":
            raise ValueError(f"{option('recalibration')} must be left out where there are several classes.")
        if tallies.baseline is not None:
            raise ValueError(f"One of {option('baseline')} and {option('recalibration')} may be given, not both.")
        refuse_fitted(recalibration, tallies)
        found[model] = mend_tallies(recalibration, tallies)
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


def _evaluate(tallies: Tallies, rules: Sequence[Rule], names: Sequence[str], options: Options) -> Result:
    """What limits of all rows need."""
    needs = {rule.needs for rule in rules}
    wanted: Options = {**options}
    wanted["reference"] = options.get("reference", REPLICATES) if "reference" in needs else 0
    wanted["intervals"] = options.get("intervals", REPLICATES) if "interval" in needs else 0
    return evaluate(tallies, metrics=names, **wanted)


def _judge_segments(
    tallies: Tallies, rules: Sequence[Rule], by: Sequence[str], count: int, options: Options
) -> dict[str, GroupTable]:
    """A table for each metric, with as many replicates as the rules need."""
    shared: Any = {name: value for name, value in options.items() if name in SEGMENTS}
    tables = {}
    for metric in dict.fromkeys(rule.metric for rule in rules if rule.kind not in WITHOUT_METRIC):
        own = [rule for rule in rules if rule.metric == metric]
        limits = [rule.limit for rule in own if rule.kind == "p_value"]
        replicates = max([199, *(math.ceil(count / limit) for limit in limits if limit)])
        replicates *= any(rule.needs == "reference" for rule in own)
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
                f"Hint: write it with {option('intervals=1000')}."
            )
        a, b = new.intervals[name], old.intervals[name]
        (first, *ends), (second, *others) = (_measure_distance(result, name) for result in (new, old))
        reach, old_reach = (normal_quantile((1 - span.confidence) / 2) for span in (a, b))
        wider, enough = reach / old_reach, b.replicates >= count_needed(b.confidence)
        below = math.hypot(first - ends[0], wider * (others[1] - second))
        above = math.hypot(ends[1] - first, wider * (second - others[0]))
        span = clip_difference(new.metrics[name], first - second - below, first - second + above)
        values, draws = (new.values[name], old.values[name]), a.replicates if enough else b.replicates
        found[name] = Difference(*values, first - second, *span, a.confidence, draws)
    words = tuple(result.verdict.word for result in (new, old) if result.verdict is not None)
    return Comparison.of(found, new.metrics, models=("new", "baseline"), words=words if len(words) == 2 else ())


def _measure_distance(result: Result, name: str) -> tuple[float, float, float]:
    """A value and the ends of its interval; of the distance from the best value where that lies between bad ones."""
    metric, span, value = result.metrics[name], result.intervals[name], result.values[name]
    if metric.bad != "both":
        return value, span.low, span.high
    ends = [abs(end - metric.best) for end in (span.low, span.high)]
    return abs(value - metric.best), 0.0 if span.low <= metric.best <= span.high else min(ends), max(ends)
