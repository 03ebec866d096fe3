"""What each command does: it reads its data, calls one function of the library, and answers."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from glob import glob
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from truecal._errors import check_column
from truecal._text import Terminal, plural, printable, printable_lines
from truecal.cli._options import DRAWN, LIMITS, NEEDS_ROWS, UsageError, make_full_parser, options_of

if TYPE_CHECKING:
    from truecal._options import ScoreScale
    from truecal.data import ClassObservations, Multiclass, Observations, Sampling
    from truecal.gate import Decision
    from truecal.reading import AmbiguousColumnsError, Limits
    from truecal.results import ClassResults, Comparison, DriftTable, Result, SliceTable

METRICS = [
    "ltce",
    "tce",
    "ece",
    "log_loss",
    "brier",
    "slope",
    "intercept",
]  # of `evaluate` by default
PICTURES = (".png", ".svg", ".pdf")
TALLIES = (".parquet", ".pq")
TOGETHER = "all rows were evaluated together: `truecal slices` searches for miscalibrated groups of rows"
T = TypeVar("T")


# ---- commands ------------------------------------------------------------------------------------------------------


def evaluate(args: Namespace) -> int:
    """Metrics of one or more models."""
    from truecal.cli import _answers as answers

    check_saved(args)
    if args.by:
        if args.resamples or args.bins:
            raise UsageError("--resamples and --bins must be left out where --by makes segments", "segments")
        if args.multiclass == "classwise":
            raise UsageError("--multiclass must be top-label where --by makes segments", "segments")
        args.adjust, args.worst = "holm", 20
        note("--by evaluates each segment by itself, as `truecal segments` does; without it, all rows together")
        return segments(args)
    check_places(args, args.output)
    found, source = evaluate_models(args, METRICS)
    results, classes = split_classes(found)
    answer(
        args,
        lambda terminal: answers.format_results(
            results,
            source,
            terminal,
            classes=classes,
            bins=args.bins,
            metrics=args.metrics is not None or bool(args.resamples),
            explain=args.explain,
            following=_find_next(args, results),
        ),
        lambda: answers.named_json(found),
        lambda: (
            answers.bin_records(results)
            if args.bins
            else answers.metric_records(results)
            if classes is None
            else classes.table.records()
        ),
    )
    _note_results(args, results, classes)
    return 0


def _note_results(args: Namespace, results: Mapping[str, Result], classes: ClassResults | None) -> None:
    """Print notes on results below the answer, at most two unless all are asked for."""
    from truecal import words

    notes = [text for result in results.values() for text in map(words.describe_note, result.notes)]
    first = next(iter(results.values()))
    if classes is None and first.prevalence in (0, 1):
        notes.append(describe_one_label(first.n, first.prevalence))
    found = dict.fromkeys([*_question_scores(args, results), *notes])
    for text in list(found)[: None if args.explain or args.json or args.csv else 2]:
        note(text)


def _question_scores(args: Namespace, results: Mapping[str, Result]) -> Iterator[str]:
    """Whether the scores of a miscalibrated model are reversed, or percentages."""
    for name, result in results.items():
        verdict = result.verdict
        if verdict is None or verdict.status != "miscalibrated":
            continue
        if result.values.get("slope", 1.0) < 0:
            yield f"higher predictions of {name} go with fewer positives: are labels or scores swapped?"
        # a hundredth as many as predicted, as far as can be told
        elif not args.percent and 0.005 < verdict.ratio < 0.02 and verdict.interval[1] < 0.1 and _has_rows(args):
            yield f"positives are about a hundredth as frequent as {name} predicts: --percent reads scores in percent"


def _find_next(args: Namespace, results: Mapping[str, Result]) -> list[str]:
    """Commands to go on with: when and where a model is miscalibrated, and how to recalibrate; or how many rows."""
    found = [result.verdict for result in results.values() if result.outcome == "positive" and result.verdict]
    if not found or any(_question_scores(args, results)):
        return []
    statuses = {verdict.status for verdict in found}
    if statuses == {"inconclusive"}:
        verdict = found[0]
        rate = f"{verdict.expected / verdict.n:.2g}"
        few = verdict.certain or not verdict.sampling.plain or float(rate) in (0, 1)
        return [] if few else [f"truecal plan {rate} --factor 1.5 (how many rows?)"]
    columns = _name_columns(args)
    if not columns:
        return []
    files = " ".join(map(shlex.quote, args.files)) if len(args.files) < 3 else "FILES"
    others = len(columns) > 1 + len(found)
    miscalibrated = "miscalibrated" in statuses
    fits = miscalibrated and not any(
        result.prevalence in (0, 1) for result in results.values()
    )  # to labels of both kinds
    time = _name_time(args) if others and miscalibrated else None
    commands = [] if time is None else [f"truecal drift {files} --time {shlex.quote(time)} (since when?)"]
    commands += [f"truecal slices {files} (which groups?)"] * others
    return [*commands, *[f"truecal recalibrate {files}"] * fits]


def _name_drift(args: Namespace) -> str:
    """The command that looks at times, if a column of the files looks like them; else nothing."""
    time = _name_time(args)
    return "" if time is None else f"`truecal drift --time {shlex.quote(time)}`"


def _name_time(args: Namespace) -> str | None:
    """The column of the files that looks like times, if there is one."""
    from truecal.reading import find_time

    return find_time(args.files, format=args.format) if _has_rows(args) else None


def _name_columns(args: Namespace) -> list[str]:
    """The columns of the files, where these hold rows."""
    from truecal.reading import column_names

    return column_names(args.files, args.format) if _has_rows(args) else []


def _has_rows(args: Namespace) -> bool:
    """Whether the files hold rows that can be read again, as saved results, tallies and standard input do not."""
    from truecal.reading import is_observations

    return not (is_saved(args) or "-" in args.files or is_observations(args.files))


def compare(args: Namespace) -> int:
    """Two models on the same rows."""
    from truecal import analysis
    from truecal.cli import _answers as answers

    check_places(args, args.output)
    asked = choose_metrics(args, list(analysis.COMPARED))
    source = open_source(args, models=2)
    if len(source.scores) != 2:
        raise UsageError(f"--score must name two columns to compare; it names {len(source.scores)}", "compare")
    found = compare_models(args, source, metrics=asked, resamples=args.resamples)
    answer(
        args,
        lambda terminal: answers.format_comparison(found, source.name, terminal),
        found.to_json,
        lambda: answers.comparison_records(found),
    )
    return 0


def segments(args: Namespace) -> int:
    """Every segment of one or more models."""
    from truecal.cli import _answers as answers

    _need_segments(args, "segments")
    check_places(args, args.output)
    metric = choose_metric(args)
    source = open_source(args)
    tables = judge_segments(args, source.read(args), metric)
    tell_notes(tables.values())
    answer(
        args,
        lambda terminal: answers.format_segments(tables, source.name, terminal, worst=args.worst),
        lambda: answers.named_json(tables),
        lambda: answers.segment_records(tables),
    )
    return 0


def slices(args: Namespace) -> int:
    """Groups of rows that nobody named."""
    from truecal.cli import _answers as answers

    check_places(args, args.output)
    source = open_source(args, rows=True)
    _need_one_score(source, "slices")
    table = search_slices(args, source, columns=args.columns, pairs=not args.no_pairs, min_rows=args.min_rows)
    tell_notes([table])
    answer(
        args,
        lambda terminal: answers.format_slices(table, source.name, terminal),
        table.to_json,
        table.records,
    )
    return 0


def drift(args: Namespace) -> int:
    """Every window of time."""
    from truecal.cli import _answers as answers

    check_places(args, args.output)
    picture = check_picture(args, args.plot, "--plot") if args.plot else None
    metric = choose_metric(args)
    source = open_source(args, timed=True)
    _need_one_score(source, "drift")
    table = judge_windows(args, source.read(args), metric, _open_baseline(args, source))
    tell_notes([table])
    if picture:
        from truecal.plot import save

        with naming(picture):
            save(picture, "drift", table)
        note(f"wrote {picture}")
    answer(
        args,
        lambda terminal: answers.format_drift(table, source.name, terminal),
        table.to_json,
        table.records,
    )
    return 0


def monitor(args: Namespace) -> int:
    """A monitor that is kept from run to run."""
    from truecal import words
    from truecal._atomic import append_line, write_text
    from truecal.analysis import keep_monitor
    from truecal.cli import _monitor as answers

    log = args.log or str(Path(args.state).with_suffix(".jsonl"))
    check_places(args, args.state, log, args.prom, args.output)
    source = open_source(args, timed=True)
    _need_one_score(source, "monitor")
    (observations,) = source.read(args).values()
    how = observations.sampling
    for told in (*how.sample_notes, *(each for each in observations.notes if each not in how.notes)):
        note(words.describe_note(told))
    settings = {name: getattr(args, name) for name in ("significance", "label_lag", "threshold")}
    settings["tolerance"] = _region(args).get("tolerance")
    if settings["label_lag"] is None and source.every and not Path(args.state).exists():
        settings["label_lag"] = "0h"  # a period that has not ended is pending
    with naming(args.state), keep_monitor(args.state, reset=args.reset, **settings) as monitor:
        update = monitor.update(observations, now=args.now, skip_known=True)
    with naming(log):
        append_line(log, answers.to_log_line(monitor, update))
    if args.prom:
        with naming(args.prom):
            write_text(args.prom, answers.to_prometheus(monitor))
    answer(
        args,
        lambda terminal: answers.format_monitor(monitor, update, source.name, terminal),
        lambda: answers.to_log_line(monitor, update),
        lambda: answers.to_records(monitor),
    )
    return 1 if monitor.alarm else 3 if monitor.leading is None else 0


def recalibrate(args: Namespace) -> int:
    """Fit a calibration map and validate it."""
    from truecal import analysis, words
    from truecal._atomic import write_text
    from truecal.data import note_row_counts

    if not args.output.lower().endswith(".json"):
        raise UsageError(f"--output must end in .json; it is {args.output!r}", "recalibrate")
    check_places(args, args.output)
    source = open_source(args, timed=args.time is not None)
    if source.models > 1:
        count = len(source.scores)
        raise UsageError(
            f"--score must name one column of probabilities to recalibrate; it names {count}", "recalibrate"
        )
    (observations,) = source.read(args).values()
    tell_one_label(observations.n_rows, observations.positives / observations.n_rows)
    options = {"by": args.by or (), "folds": 0 if args.check else args.folds, "random_state": args.seed}
    recalibration = analysis.recalibrate(observations, kind=args.kind, **options)
    if args.check:
        (separate,) = replace(source, data=[args.check], time=None, every=None).read(args).values()  # as the others
        validation = analysis.validate_on(recalibration, separate, Path(args.check).name)
        recalibration = replace(recalibration, validation=validation)
        for told in note_row_counts(separate.row_counts):
            note(f"{args.check}: {words.describe_note(told)}")
    for text in dict.fromkeys(recalibration.warnings()):
        note(text)
    if recalibration.helped and args.time is None and (drift := _name_drift(args)):
        note(f"one map for all rows does not correct a recent change: {drift} estimates the change point")
    sql = f"{recalibration.to_sql(_write_sql(source.scores[0], find_scale(args)))}\n\n" if args.sql else ""
    with naming(args.output):
        write_text(args.output, recalibration.to_json() + "\n")
    if args.json:
        show_data(recalibration.to_json())
        return 0
    terminal = Terminal.of(sys.stdout)
    print("\n".join(map(terminal.wrap, recalibration.sentences())))
    for table in recalibration.tables(terminal):
        print(f"\n{table}")
    print(f"\n{sql}Wrote {printable(args.output)}", flush=True)
    return 0


def _write_sql(name: str, scale: ScoreScale) -> str:
    """Return the probabilities in SQL, of a column on a scale."""
    from truecal.results import quote_name

    score = name if name.isidentifier() else quote_name(name)
    return {"percent": f"({score} / 100.0)", "logit": f"(1 / (1 + EXP(-{score})))"}.get(scale, score)


def apply(args: Namespace) -> int:
    """Apply a calibration map to predictions."""
    from truecal.reading import RECALIBRATED, add_column, column_names, is_observations

    if len(args.files) < 2:
        raise UsageError("a map and the files it is applied to must be named", "apply")
    file, *paths = args.files
    check_places(args, args.output)
    if any(path.lower().endswith(".json") for path in paths) and not file.lower().endswith(".json"):
        raise UsageError(f"the map must be named first; {file!r} is", "apply")
    if is_observations(paths):
        _refuse_tallies(args, paths)
    recalibration = _read_map(file)
    score = args.score or recalibration.score
    if score is None:
        raise UsageError("--score must name the column of predictions; the map knows none", "apply")
    into = args.into or f"{score}{RECALIBRATED}"
    if score == f"{recalibration.score}{RECALIBRATED}":
        note(f"`{score}` looks recalibrated already; the map was fitted to `{recalibration.score}`")
    known, unknown = set(recalibration.segments), list[int]()  # rows by chunk, which run in several threads
    if args.score is None and score not in (names := column_names(paths, args.format)):
        raise ValueError(
            f"The map was fitted to {score!r}, which must be among the columns {', '.join(map(repr, names))}; it is "
            "not.\n\nHint: --score names another column of predictions."
        )

    def transform(p: Any, columns: Any) -> Any:
        if not recalibration.by:
            return recalibration.apply(p)
        unknown.append(sum(key not in known for key in zip(*(columns[name] for name in recalibration.by), strict=True)))
        return recalibration.apply(p, columns)

    with naming(args.output):
        rows = add_column(
            paths,
            args.output,
            transform,
            score=score,
            into=into,
            others=recalibration.by,
            format=args.format,
            score_scale=find_scale(args),
        )
    note(f"{args.output} holds {plural(rows, 'row')}, with `{into}`")
    if sum(unknown):
        note(f"{plural(sum(unknown), 'row')} of segments unknown to the map got the common map")
    return tell_files(args, [Path(args.output)])


def report(args: Namespace) -> int:
    """One HTML page."""
    from truecal.reporting import report

    check_saved(args)
    check_time(args)
    check_places(args, args.output)
    rows = args.slices or args.compare
    for path in args.files if args.compare else ():
        if "," in path and not os.path.exists(path) and not glob(path):
            raise UsageError(
                f"--compare takes no value; two columns are named by --score {shlex.quote(path)}", "report"
            )
    source = None if is_saved(args) else open_source(args, timed=args.time is not None, rows=rows)
    if source is not None and source.multiclass and args.slices:
        raise UsageError("--slices must be left out where there are several classes", "report")
    if args.compare and (source is None or source.models != 2):
        names = "nothing" if source is None else source.models
        raise UsageError(
            f"--compare must be left out unless --score names two columns of the files; it names {names}", "report"
        )
    models = None if source is None else source.read(args)
    found, _ = evaluate_models(args, None, models)
    results, classes = split_classes(found)
    tables: dict[str, Any] = {}
    if source and args.compare:
        tables["comparison"] = compare_models(args, source)
    if models and args.by:
        tables["segments"] = next(iter(judge_segments(args, models, "ltce").values()))
    if source and args.slices:
        tables["slices"] = search_slices(args, source)
    if models and args.time:
        tables["drift"] = judge_windows(args, models, "ltce")
    if args.map:
        tables["recalibration"] = recalibration = _read_map(args.map)
        if source is not None and recalibration.score not in (None, source.scores[0]):
            raise UsageError(
                f"--map must be fitted to the predictions of the report, {source.scores[0]}; it was fitted to "
                f"{recalibration.score}",
                "report",
            )
    of_one = {"segments": "segments are those", "slices": "slices are those", "drift": "windows are those"}
    of_one["recalibration"] = "map is that"
    for what in (of_one[name] for name in of_one if len(results) > 1 and name in tables):
        note(f"on the page the {what} of {next(iter(results))}")
    tell_notes([*results.values(), *(table for name, table in tables.items() if name != "recalibration")])
    with naming(args.output):
        report(
            results if classes is None else classes,
            args.output,
            title=args.title,
            settings=_list_settings(args, source),
            **tables,
        )
    return tell_files(args, [Path(args.output)])


def _read_map(place: str) -> Any:
    from truecal._errors import name_place
    from truecal.results import Recalibration, read_stored

    with name_place(place):
        return read_stored(place, Recalibration.from_json)


def _list_settings(args: Namespace, source: Source | None) -> dict[str, str]:
    """What was read, and every option that has a value, as the command line writes it."""
    found = {"data": _name(args.files)}
    if source is not None:
        found |= {"label": source.label, "score": ", ".join(source.scores)}
    for option in options_of(args.command):
        value = getattr(args, option.name, None)
        if option.group in NEEDS_ROWS and option.name not in ("label", "score") and value not in (None, False):
            found[option.word] = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return found


def plot(args: Namespace) -> int:
    """A picture."""
    from truecal.plot import save

    check_saved(args)
    kind = args.kind or ("drift" if args.time else "segments" if args.by else None)
    if kind != "drift":
        check_time(args)
    place = check_picture(args, args.output or f"{kind or 'diagram'}.png", "--output")
    name, data, options = _choose_picture(args, kind)
    with naming(place):
        save(place, name, data, **options)
    return tell_files(args, [place])


def _choose_picture(args: Namespace, kind: str | None) -> tuple[str, Any, dict[str, Any]]:
    """The kind of the picture, what it shows, and its options."""
    if kind == "drift":
        source = open_source(args, timed=True)
        _need_one_model(kind, source.models)
        table = judge_windows(args, source.read(args), "ltce")
        tell_notes([table])
        return kind, table, {"title": args.title}
    if kind == "segments":
        _need_segments(args, "plot")
        found = next(iter(judge_segments(args, open_source(args).read(args), "ltce").values()))
        tell_notes([found])
        return kind, found, {}
    results, _ = split_classes(evaluate_models(args, None)[0])
    tell_notes(results.values())
    kind = kind or ("models" if len(results) > 1 else "calibration")
    if kind in ("models", "metrics"):
        return kind, results, {"scale": args.scale} if kind == "models" else {}
    _need_one_model(kind, len(results))
    return kind.replace("-", "_"), next(iter(results.values())), {"scale": args.scale, "title": args.title}


def _need_one_model(kind: str, models: int) -> None:
    if models > 1:
        raise UsageError(f"--kind {kind} draws one model; {models} are given", "plot")


def plan(args: Namespace) -> int:
    """How much data it takes."""
    from truecal import verdict
    from truecal.cli import _answers as answers
    from truecal.results import to_json

    check_places(args, args.output)
    options = {name: getattr(args, name) for name in ("factor", "ratio", "rows", "power", "significance")}
    found = verdict.plan(args.rate, **options)
    answer(
        args,
        lambda terminal: answers.format_plan(found, terminal),
        lambda: to_json(found),
        lambda: answers.plan_records(found),
    )
    return 0


def demo(args: Namespace) -> int:
    """Three models of a rare event."""
    from truecal import demo as show

    if not args.json:
        show.main(args.folder)
        return 0
    return tell_files(args, show.write_pictures(show.evaluate_models(*show.simulate()), Path(args.folder)))


def check(args: Namespace) -> int:
    """The release gate."""
    from truecal import gate
    from truecal._atomic import write_text
    from truecal.cli import _answers as answers

    check_places(args, args.output, args.junit, args.markdown)
    rules = _read_rules(args)
    if args.multiclass == "classwise":
        rules += [replace(rule, multiclass="classwise") for rule in rules if rule.multiclass is None and not args.rules]
    gate.check_segments(rules, args.by or ())
    recalibration = _read_map(args.map) if args.map else None
    if recalibration is not None and not args.by:
        args.by = list(recalibration.by)
    if args.by and all(rule.segment is None for rule in rules) and recalibration is None:
        raise UsageError("--by makes segments, but no rule is about them; --segment '*' asks for each of them", "check")
    source = open_source(args)
    if args.baseline in source.scores and not args.on:
        note(f"{args.baseline} is the baseline, and is not evaluated")
    rows, saved = _choose_baseline(args, source)
    options = {name: getattr(args, name) for name in ("null_draws", "resamples")}
    options |= _region(args) | _draws(args)
    models = source.read(args, **rows)
    decision = gate.check(models, rules, baseline=saved, recalibration=recalibration, **options)
    tell_notes([decision])
    if source.multiclass is None:
        first = next(iter(models.values()))
        tell_one_label(first.n_rows, first.positives / first.n_rows)
    alike = recalibration is None and source.multiclass is None and all(rule.segment is None for rule in rules)
    if alike and decision.status == "pass" and set(_name_columns(args)) - {source.label, *source.scores, args.baseline}:
        note(TOGETHER)
    for place, text in ((args.junit, decision.to_junit), (args.markdown, decision.to_markdown)):
        if place:
            with naming(place):
                write_text(place, text())
    if os.environ.get("GITHUB_ACTIONS") == "true":
        _tell_github(decision)
    answer(
        args,
        lambda terminal: answers.format_decision(decision, terminal),
        decision.to_json,
        lambda: answers.check_records(decision),
    )
    return decision.exit_code


def _tell_github(decision: Decision) -> None:
    """Lines for GitHub's page of a run, and its summary of the step."""
    from truecal._atomic import append_line

    sys.stderr.write(decision.to_github())
    place = os.environ.get("GITHUB_STEP_SUMMARY")
    if place:
        with naming(place):
            append_line(place, decision.to_markdown())


def _choose_baseline(args: Namespace, source: Source) -> tuple[dict[str, Any], str | None]:
    """What --baseline names: scores of the same rows, which are read with the data, or a saved result."""
    saved = args.baseline is not None and args.baseline.lower().endswith(".json")
    if args.on and (saved or args.baseline is None):
        raise UsageError("--on must be left out unless --baseline is a file of the same rows", "check")
    if args.map and args.baseline is not None:
        raise UsageError("--baseline must be left out where --map is given: the baseline is what was before", "check")
    if saved or args.baseline is None:
        return {}, args.baseline
    if not isinstance(source.data, list):
        raise UsageError("--baseline must be a saved result, named .json, where tallies are read: they have no rows")
    return {"baseline": args.baseline, "on": args.on or ()}, None


def _read_rules(args: Namespace) -> list[Any]:
    """The rules of a file and of options."""
    from truecal import gate

    rules = list(gate.read_rules(args.rules)) if args.rules else []
    names = ("segment", "min_rows", "significance")
    choices = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    choices |= {"allow_inconclusive": True} if args.allow_inconclusive else {}
    limits = [(name, *given) for name in LIMITS for given in getattr(args, name) or []]
    if rules and choices and not limits:
        word = f"--{next(iter(choices)).replace('_', '-')}"
        raise UsageError(f"{word} is for a rule made of options; beside --rules there is none", "check")
    if not rules and not limits:
        rules = [_make_rule("", "verdict", **choices)]
        return [*rules, gate.NO_WORSE] if args.map else rules
    for name, metric, limit in limits:
        check_metric(metric)
        rules.append(_make_rule(f"--{name.replace('_', '-')}: ", gate.LIMITS[name], limit, metric=metric, **choices))
    return rules


def _make_rule(word: str, *given: Any, **choices: Any) -> Any:
    from truecal import gate

    try:
        return gate.Rule(*given, **choices)
    except ValueError as error:
        raise UsageError(f"{word}{error}", "check") from error


def tally(args: Namespace) -> int:
    """Data as a file of tallies."""
    place = _tally_place(args)
    check_time(args)
    source = open_source(args, timed=args.time is not None)
    _need_one_score(source, "tally")
    (observations,) = source.read(args).values()
    tell_notes([observations])
    return _save_tallies(args, observations, place)


def merge(args: Namespace) -> int:
    """The sum of files of tallies."""
    from truecal.reading import load_observations

    place = _tally_place(args)
    _check_outside(args.files, place)
    return _save_tallies(args, load_observations(args.files, by=args.by), place)


def _need_one_score(source: Source, command: str) -> None:
    if source.models != 1:
        raise UsageError(f"--score must name one column; it names {len(source.scores)}", command)


def _tally_place(args: Namespace) -> Path:
    place = Path(args.output)
    if place.suffix.lower() not in TALLIES:
        raise UsageError(f"--output must end in .parquet; it is {str(place)!r}", args.command)
    check_places(args, place)
    return place


def _check_outside(given: list[str], place: Path) -> None:
    """Refuse a sum that would be one of its own parts the next time; one that is named is added to."""
    for path in given:
        folder, own = Path(path).expanduser().resolve(), place.resolve()
        if own == folder:
            note(f"{place} is added to, and replaced")
        elif own.is_relative_to(folder) or fnmatch(str(own), str(folder)):
            raise ValueError(
                f"--output must lie outside of what is merged, {path!r}, or its rows would count twice from then on; "
                f"it is {str(place)!r}."
            )


def _save_tallies(args: Namespace, observations: Observations, place: Path) -> int:
    with naming(place):
        observations.save(place)
    note(f"{place} holds {describe_tallies(observations, observations.by, observations.windows)}")
    return tell_files(args, [place])


def completion(args: Namespace) -> int:
    """A script for a shell."""
    try:
        import shtab
    except ImportError as error:
        raise ImportError("`truecal completion` needs shtab.\n\nHint: pip install 'truecal[completion]'") from error
    if args.shell not in shtab.SUPPORTED_SHELLS:
        raise ImportError(
            f"shtab {shtab.__version__} knows {', '.join(shtab.SUPPORTED_SHELLS)}; the shell is {args.shell!r}.\n\n"
            "Hint: pip install --upgrade shtab"
        )
    print(shtab.complete(make_full_parser(shtab.FILE), args.shell))
    return 0


# ---- what commands read --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Source:
    """The files of a command, or the tallies in them, and the columns; with windows, their column and length."""

    data: list[str] | Observations
    format: str | None
    name: str
    label: str
    scores: list[str]
    limits: Limits
    time: str | None = None
    every: str | None = None
    multiclass: Multiclass = None

    @property
    def models(self) -> int:
        """How many models there are; several classes are one."""
        return 1 if self.multiclass else len(self.scores)

    def read(self, args: Namespace, scores: list[str] | None = None, **baseline: Any) -> dict[str, Any]:
        """The tallies of every model, by the segments and windows that are asked for, in one pass."""
        from truecal.reading import read, read_models

        options: Any = {
            "label": self.label,
            "score": scores or self.scores,
            "by": getattr(args, "by", None) or (),
            "time": self.time,
            "every": self.every,
            "pos_label": args.pos_label,
            "missing": "drop" if args.drop_missing else "raise",
            "format": self.format,
            "limits": self.limits,
            "cluster": _find_cluster(args),
            "score_scale": find_scale(args, rows=isinstance(self.data, list)),
            "sampling": _find_sampling(args, self.data),
            "count": args.count,
            "importance_weight": args.importance_weight,
        }
        if self.multiclass is None:
            return dict(read_models(self.data, **options, **baseline))
        found = read(self.data, multiclass=self.multiclass, labels=args.labels, **options, **baseline)
        return {_find_top(found).score: found}


def evaluate_models(
    args: Namespace, default: list[str] | None, models: Mapping[str, Any] | None = None
) -> tuple[dict[str, Any], str]:
    """Results by the names of their models, computed or read, and where they come from."""
    from truecal.analysis import evaluate
    from truecal.cli import _answers as answers

    name, metrics = _name(args.files), choose_metrics(args, default)
    if is_saved(args):
        return {model: found for path in args.files for model, found in answers.read_results(path).items()}, name
    models = models or open_source(args).read(args)
    options = {"significance": args.significance, **_region(args), **_draws(args)}
    options["null_draws"] = DRAWN if args.null_draws is None else args.null_draws
    options["resamples"] = DRAWN * (args.command == "report") if args.resamples is None else args.resamples
    return {model: evaluate(observations, metrics=metrics, **options) for model, observations in models.items()}, name


def split_classes(found: Mapping[str, Any]) -> tuple[dict[str, Result], ClassResults | None]:
    """The results of models, of several classes those of the most probable one; and what was found for all classes."""
    from truecal.results import Result

    several = [result for result in found.values() if not isinstance(result, Result)]
    if several and len(found) > 1:
        raise ValueError("Results of several classes are shown alone; there are more.")
    results = {name: result if isinstance(result, Result) else result.top for name, result in found.items()}
    return results, several[0] if several else None


def _find_top(observations: Observations | ClassObservations) -> Observations:
    """The tallies of a model, of several classes those of the most probable one."""
    from truecal.data import ClassObservations

    return observations.top if isinstance(observations, ClassObservations) else observations


def judge_segments(args: Namespace, models: Mapping[str, Any], metric: str) -> dict[str, Any]:
    """The tables of segments by the names of their models."""
    from truecal.analysis import segments

    options = {"by": args.by, "significance": args.significance, **_region(args), **_draws(args)}
    options["null_draws"] = 0 if args.null_draws is None or args.command != "segments" else args.null_draws
    options["adjust"] = None if args.adjust == "none" else args.adjust
    return {model: segments(_find_top(observations), metric, **options) for model, observations in models.items()}


def compare_models(args: Namespace, source: Source, **options: Any) -> Comparison:
    """Which of the two models is better."""
    from truecal.analysis import compare
    from truecal.reading import column_names

    first, second = source.scores
    try:
        observations = source.read(args, [first], baseline=second)[first]
    except ValueError:
        check_column("score", second, column_names(source.data, source.format))
        raise
    tell_notes([observations])
    return compare(observations, significance=args.significance, **_region(args), **_draws(args), **options)


def search_slices(args: Namespace, source: Source, **options: Any) -> SliceTable:
    """The miscalibrated groups of the first model's rows."""
    from truecal.analysis import slices

    return slices(
        source.data,
        label=source.label,
        score=source.scores[0],
        significance=args.significance,
        pos_label=args.pos_label,
        missing="drop" if args.drop_missing else "raise",
        format=source.format,
        score_scale=find_scale(args),
        cluster=_find_cluster(args),
        sampling=_find_sampling(args, source.data),
        **options,
    )


def judge_windows(args: Namespace, models: Mapping[str, Any], metric: str, baseline: Any = None) -> DriftTable:
    """The windows of the first model."""
    from truecal.analysis import drift

    options = {name: getattr(args, name) for name in ("label_lag", "now", "significance")}
    options |= {"baseline": baseline, **_region(args), **_draws(args)}
    options["null_draws"] = 0 if args.null_draws is None or args.command != "drift" else args.null_draws
    options["adjust"] = None if args.adjust == "none" else args.adjust
    return drift(_find_top(next(iter(models.values()))), metric, **options)


def _read_delay(text: str | None) -> Any:
    """What --label-delay says: a column of shares, or one of ages with a table, written out or in a file."""
    if text is None or ":" not in text:
        return text
    from truecal.data import LabelDelay

    column, _, table = text.rpartition(":")
    place = _find_table(text)
    lines = table.split(",") if place is None else place.read_text(encoding="utf-8-sig").splitlines()
    pairs = [line.replace("=", ",").split(",") for line in lines if line.strip()]
    if "=" not in table and pairs and not _is_number(pairs[0][0]):
        pairs = pairs[1:]  # the names of the columns
    if not pairs or not all(len(pair) == 2 and all(map(_is_number, pair)) for pair in pairs):
        raise UsageError(f"--label-delay must have ages and shares, such as age:0=0,7=0.5,30=1; it has {table!r}")
    found = {float(age): float(share) for age, share in pairs}
    if len(found) < len(pairs):
        raise UsageError(f"--label-delay must have each age once; {table!r} has one more often")
    return LabelDelay(column, found)


def _find_table(text: str | None) -> Path | None:
    """The file of ages and shares that --label-delay names, if any."""
    from truecal.reading import expand

    table = (text or "").rpartition(":")[2] if ":" in (text or "") else "="
    return None if "=" in table else expand(table)[0]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _open_baseline(args: Namespace, source: Source) -> int | str | Observations | None:
    """What --baseline names: a number of windows, a range of them, or other rows, which are read."""
    from truecal.reading import is_observations

    text = args.baseline
    if text is None or (".." in text and not Path(text).exists()):
        return str(text) if text else None
    if text.isdigit():
        return int(text)
    known = {"percent": False, "logit": False}  # tallies hold probabilities
    columns = known if is_observations([text]) else {"label": source.label, "score": source.scores}
    other = Namespace(**(vars(args) | {"files": [text], "time": None, "every": None} | columns))
    return _find_top(next(iter(open_source(other).read(other).values())))


def _find_sampling(args: Namespace, data: list[str] | Observations) -> Sampling:
    """How rows got their labels: by options, or by the file of rules. Observations know it themselves."""
    from truecal.data import Sampling

    names = ("negative_rate", "positive_rate", "label_noise")
    given = {name: getattr(args, name) for name in names}
    rules, delay = getattr(args, "rules", None), _read_delay(getattr(args, "label_delay", None))
    if rules is None:
        return Sampling(**given, label_delay=delay)
    from truecal.gate import read_sampling

    sampling = read_sampling(rules)
    if sampling is None:
        return Sampling(**given, label_delay=delay)
    found = {name: getattr(sampling, name) for name in names}
    for name, value in found.items():
        word = f"--{name.replace('_', '-')}"
        if name in vars(args).get("given", {}) and given[name] != value:
            raise UsageError(f"{word} must be that of {rules!r}, {value}, or be left out; it is {given[name]}", "check")
    return Sampling(**found, label_delay=delay) if isinstance(data, list) else Sampling(label_delay=delay)


def find_scale(args: Namespace, *, rows: bool = True) -> ScoreScale:
    """What scores are, by --percent or --logit, or by the file of rules; tallies, which have no rows, are probabilities
    whatever that says."""
    if args.percent and args.logit:
        raise UsageError("--percent and --logit must not be given together", args.command)
    given: ScoreScale | None = "percent" if args.percent else "logit" if args.logit else None
    rules = getattr(args, "rules", None)
    if rules is None:
        return given or "probability"
    from truecal.gate import read_scale

    found = read_scale(rules)
    if None not in (given, found) and given != found:
        raise UsageError(f"--{given} must fit what {rules!r} says, {found}, or be left out", "check")
    return given or (found if rows and found else "probability")


def _find_cluster(args: Namespace) -> str | None:
    """The column of customers: by option, or by the file of rules."""
    given: str | None = getattr(args, "cluster", None)
    rules = getattr(args, "rules", None)
    if rules is None:
        return given
    from truecal.gate import read_cluster

    found = read_cluster(rules)
    if None not in (given, found) and given != found:
        raise UsageError(f"--cluster must be that of {rules!r}, {found}, or be left out; it is {given}", "check")
    return given or found


def _tell_of_repeats(args: Namespace, paths: list[str], format: str | None, used: Sequence[str | None]) -> None:
    """Say that rows share a customer, where a column looks like it and is not named, or that they are copies."""
    from truecal.reading import count_copies, find_repeats

    if not hasattr(args, "cluster") or _find_cluster(args) is not None:
        return
    if getattr(args, "count", None) is None:
        copies, rows = count_copies(paths, [name for name in used[:2] if name is not None], format=format)
        if copies:
            what = f"{copies:,} of the first {rows:,} rows are copies of others in every column"
            note(f"{what}, and count as rows of their own: were they written twice?")
    found = find_repeats(paths, [name for name in used if name is not None], format=format)
    if found is not None:
        note(
            f"rows are taken as independent, though values of `{found}` repeat; "
            f"--cluster {shlex.quote(found)} allows for rows that go together"
        )


def _region(args: Namespace) -> dict[str, Any]:
    """Which predictions are evaluated, and the error that is tolerated."""
    own = {"threshold": args.threshold, "top": getattr(args, "top", None)}
    if args.tolerance is None:
        return own
    from truecal.gate import read_tolerance

    return {**own, "tolerance": read_tolerance(args.tolerance)}


def _draws(args: Namespace) -> dict[str, Any]:
    return {"random_state": args.seed, "threads": args.threads}


def _join_names(args: Namespace, paths: list[str], format: str | None) -> None:
    """Put together the names of columns that have commas, by which they were taken apart."""
    from truecal.reading import column_names

    given = {
        name: parts for name in ("score", "by", "columns", "on") if len(parts := getattr(args, name, None) or []) > 1
    }
    known = set(column_names(paths, format)) if given else set()
    for name, parts in given.items():
        found, start = list[str](), 0
        while start < len(parts):
            ends = range(len(parts), start + 1, -1) if parts[start] not in known else ()
            end = next((end for end in ends if ",".join(parts[start:end]) in known), start + 1)
            found.append(",".join(parts[start:end]))
            start = end
        setattr(args, name, found)


def open_source(args: Namespace, models: int = 1, *, timed: bool = False, rows: bool = False) -> Source:
    """The files, or the tallies in them unless rows are needed, and the columns; what is guessed is said."""
    from truecal.reading import (
        RECALIBRATED,
        AmbiguousColumnsError,
        describe_columns,
        infer_columns,
        is_observations,
        is_plain,
        keep_input,
    )

    paths, format = list(args.files), args.format
    if paths == ["-"]:
        _heed_interrupts(polars=False)
        if sys.stdin.isatty():
            note(f"reading {format or 'csv'} from standard input; Ctrl-D ends it")
        paths, format = [str(keep_input())], format or "csv"
    _heed_interrupts(polars=not is_plain(paths, format))
    if is_observations(paths):
        if rows:
            _refuse_tallies(args, args.files)
        return _open_tallies(args, paths, models, timed=timed)
    _join_names(args, paths, format)
    try:
        several = hasattr(args, "multiclass") and args.pos_label is None
        guess = infer_columns(
            paths,
            label=args.label,
            score=args.score or None,
            models=models,
            classes=several,
            format=format,
            score_scale=find_scale(args),
        )
        time, every = _choose_windows(args, paths, format) if timed else (None, None)
    except AmbiguousColumnsError as error:
        if not hasattr(args, "multiclass"):
            _refuse_classes(args, paths, format)
        _ask_which(args, error)
    _doubt_scale(args, paths, format, guess.scores)
    words = {
        "label": f"--label {shlex.quote(guess.label)}",
        "score": f"--score {shlex.quote(describe_columns(guess.scores) if guess.classes else ','.join(guess.scores))}",
        "time": f"--time {shlex.quote(time or '')}",
    }
    asked = getattr(args, "multiclass", None), getattr(args, "labels", None)
    multiclass: Multiclass = asked[0] or ("top-label" if guess.classes or asked[1] else None)
    words["classes"] = f"--multiclass {multiclass}"
    guessed = [*guess.inferred, *(["time"] if timed and args.time is None else [])]
    guessed += ["classes"] if multiclass and asked == (None, None) else []
    if guessed:
        more = f" ({', '.join(guess.others[:5])} could be a score, too)" if guess.others else ""
        note(f"guessed {' '.join(words[role] for role in guessed)}{more}")
    for score in guess.scores:
        if score.endswith(RECALIBRATED):
            note(f"if `{score}` was recalibrated by a map fitted to these rows, it always looks calibrated on them")
    limits = _read_limits(args, paths, format)
    _tell_of_repeats(args, paths, format, [guess.label, *guess.scores, time, *(getattr(args, "by", None) or ())])
    name, scores = _name(args.files), list(guess.scores)
    return Source(paths, format, name, guess.label, scores, limits, time, every, multiclass)


def _refuse_classes(args: Namespace, paths: list[str], format: str | None) -> None:
    """Refuse columns of several classes where one column of probabilities is taken."""
    from truecal.reading import AmbiguousColumnsError, infer_columns

    with suppress(AmbiguousColumnsError):
        guess = infer_columns(paths, label=args.label, score=args.score or None, classes=True, format=format)
        if guess.classes:
            command = shlex.join(["truecal", *args.words, "--label", guess.label, "--score", guess.scores[0]])
            raise ValueError(
                f"`truecal {args.command}` takes one column of probabilities; {', '.join(map(repr, guess.scores))} are "
                f"of several classes, which {guess.label!r} names.\n\n"
                f"Hint: take one class against the rest, such as  {command} --pos-label CLASS"
            )


def _doubt_scale(args: Namespace, paths: list[str], format: str | None, scores: Sequence[str]) -> None:
    """Say so where scores that are to be percentages or logits look like probabilities."""
    from truecal.reading import find_kinds

    scale = find_scale(args)
    if scale == "probability":
        return
    kinds = find_kinds(paths, format)
    looks = [name for name in scores if kinds.get(name) in ("fraction", "binary")]
    if looks:
        done = "divides them by 100" if scale == "percent" else "takes them for log-odds"
        names, verb = ", ".join(looks), "lies" if len(looks) == 1 else "lie"
        note(f"{names} {verb} in [0, 1] in the first rows, and --{scale} {done}: are they probabilities already?")


def _choose_windows(args: Namespace, paths: list[str], format: str | None) -> tuple[str, str | None]:
    """The column of times in files, given or guessed, and the length of windows."""
    from truecal.reading import column_names, infer_time

    if args.time is None:
        time = infer_time(paths, format=format)
    else:
        time = args.time
        check_column("time", time, column_names(paths, format))
    return time, None if args.every == "none" else args.every or "1d"


def _open_tallies(args: Namespace, paths: list[str], models: int, *, timed: bool) -> Source:
    """The sum of tallies in files, by the columns that are needed; what they hold is said."""
    from truecal.data import read_settings
    from truecal.reading import AmbiguousColumnsError, expand, load_observations

    name, places = _name(args.files), [place for path in paths for place in expand(path)]
    if models > 1:
        raise ValueError(
            f"Two models are compared on the same rows; {name!r} holds tallies, which have none.\n\n"
            "Hint: compare the data that they were made of."
        )
    settings = read_settings(places[0])
    by, own = tuple(settings["by"]), dict(settings["windows"])
    time, every = args.time if timed else None, None
    if timed:
        if time is None and len(own) != 1:
            _ask_which(args, AmbiguousColumnsError("time", list(own), by))
        elif time is None:
            (time,) = own
            note(f"guessed --time {shlex.quote(time)}")
        check_column("time", time, by)
        every = own.get(time) if args.every is None else None if args.every == "none" else args.every
    kept = dict.fromkeys([*(getattr(args, "by", None) or ()), *([time] if time else [])])
    observations = load_observations(paths, by=list(kept), windows={time: every} if time else {})
    for given in ("multiclass", "labels"):
        if getattr(args, given, None) is not None:
            raise UsageError(f"--{given} must be left out where tallies are read: they have no rows", args.command)
    what = "observations" if len(places) == 1 else f"{len(places):,} files of observations"
    note(f"{name}: {what} of {describe_tallies(observations, by, own)}")
    label, scores = args.label or observations.label, args.score or [observations.score]
    return Source(observations, args.format, name, label, scores, _read_limits(args), time, every)


def _refuse_tallies(args: Namespace, paths: list[str]) -> NoReturn:
    raise ValueError(f"`truecal {args.command}` needs rows; {_name(paths)!r} holds tallies, which have none.")


def describe_tallies(observations: Observations, by: Sequence[str], windows: Mapping[str, str | None]) -> str:
    """What tallies hold, in words."""
    names = [f"{name} ({windows[name]})" if windows.get(name) else name for name in by]
    how = "exact" if observations.bits is None else f"in cells of {observations.bits} bits"
    return (
        f"{observations.score} for {observations.label}{' by ' * bool(by)}{', '.join(names)}, {how}: "
        f"{plural(observations.n_rows, 'prediction')}, {observations.positives:,} {observations.outcome}"
    )


def _need_segments(args: Namespace, command: str) -> None:
    """Refuse to go on without columns that make segments, with those that could."""
    from truecal.reading import find_groups, is_observations

    if args.by:
        return
    paths, missing = list(args.files), "--by must name the columns that make segments"
    used = [args.label, *(args.score or ())]
    found = [] if paths == ["-"] or is_observations(paths) else find_groups(paths, used, format=args.format)
    if not found:
        raise UsageError(missing, command)
    such = shlex.join(["truecal", *args.words, "--by", found[0]])
    raise UsageError(f"{missing}; {', '.join(map(repr, found[:5]))} could\n\nHint: such as  {such}", command)


def _ask_which(args: Namespace, error: AmbiguousColumnsError) -> NoReturn:
    """Refuse to guess, with a command that would not have to, if there is one."""
    if error.odd or (error.near and error.role == "score"):
        raise error
    if error.wanted > len(error.candidates) == 1 and len(args.files) > 1:
        raise ValueError(
            f"Two models must be columns of the same rows; of {_name(args.files)}, whose rows follow each other, only "
            f"{error.candidates[0]!r} looks like scores.\n\n"
            "Hint: join the files by what names a row, so that one file has a column for each model."
        ) from error
    named = [*error.candidates[: error.wanted], *["COLUMN"] * (error.wanted - len(error.candidates))]
    meant, text = [",".join(named)], f"{error}\n\nHint: say which"
    if error.near:
        name, values = next(iter(error.near.items()))
        likely = {*name.lower().replace("-", "_").split("_"), *("yes", "true", "positive", "1")}
        named = [str(value) for value in values if str(value).lower() in likely][:1]
        if not isinstance(values[0], str):
            named = [str(values[1])] if len(values) == 2 else []
        meant, text = [name, "--pos-label", *(named or ["VALUE"])], str(error).removesuffix(".")
    command = shlex.join(["truecal", *args.words, f"--{error.role}", *meant])
    raise ValueError(f"{text}, such as  {command}") from error


def _read_limits(args: Namespace, paths: list[str] | None = None, format: str | None = None) -> Limits:
    """The options for large data; where `limit` is given and files hold more rows, with a grid."""
    from truecal.reading import Limits

    usual = Limits()
    if not hasattr(args, "grid"):
        return usual
    grid = args.grid
    if args.limit is not None and grid == "auto" and paths is not None:
        grid = _bits_beyond(args.limit, paths, format)
    return Limits(grid, args.limit or usual.limit, args.memory or usual.memory)


def _bits_beyond(limit: int, paths: list[str], format: str | None) -> int | None:
    """The bits of a grid for files of more rows than a limit, as engines elsewhere get them; None for fewer."""
    from truecal.metrics import choose_bits
    from truecal.reading import open_files

    rows = open_files(paths, format=format).rows
    if rows <= limit:
        return None
    bits = choose_bits(rows)
    note(f"about {rows:,} rows are more than --limit {limit}: scores are grouped into cells of {bits} bits")
    return bits


def _heed_interrupts(*, polars: bool) -> None:
    """Let Ctrl-C end waiting and reading at once: polars, once it is imported, asks the system to go on with them after
    a signal."""
    if polars:
        with suppress(ImportError):
            import_module("polars")
    if hasattr(signal, "siginterrupt"):
        signal.siginterrupt(signal.SIGINT, True)


def choose_metrics(args: Namespace, default: T) -> list[str] | T:
    """The metrics that are asked for."""
    from truecal.metrics import METRICS as KNOWN

    asked: list[str] = args.metrics or []
    if "all" in asked:
        return list(KNOWN)
    for name in asked:
        check_metric(name)
    return asked or default


def choose_metric(args: Namespace) -> str:
    """The one metric that is judged, the first that is asked for."""
    return (choose_metrics(args, None) or ["ltce"])[0]


def is_saved(args: Namespace) -> bool:
    """Whether results are read, rather than data."""
    return args.format is None and all(path.lower().endswith(".json") for path in args.files)


def _name(paths: list[str]) -> str:
    first = "standard input" if paths[0] == "-" else paths[0]
    return first if len(paths) == 1 else f"{first} and {len(paths) - 1:,} more"


# ---- what is refused before any work -------------------------------------------------------------------------------


def check_metric(name: str) -> None:
    """Refuse a metric that is not there before any data are read."""
    from truecal.metrics import describe_unknown, find_metric

    if find_metric(name) is None:
        raise UsageError(f"a metric must be one of {describe_unknown(name)}")


def check_saved(args: Namespace) -> None:
    """Refuse options that a saved result cannot follow; `threads` changes no answer."""
    if not is_saved(args):
        return
    for option in options_of(args.command):
        asked = option.group in NEEDS_ROWS and option.name != "threads"
        if asked and getattr(args, option.name) != (False if option.action == "store_true" else option.default):
            raise UsageError(
                f"{option.word} must be left out where a saved result is read: it has no rows to compute anything from",
                args.command,
            )


def check_time(args: Namespace) -> None:
    """Refuse options about windows where there are none."""
    given = [name for name in ("every", "label_lag", "now") if getattr(args, name, None) is not None]
    if given and args.time is None:
        word = f"--{given[0].replace('_', '-')}"
        raise UsageError(f"--time must name a column where {word} is given", args.command)


def check_places(args: Namespace, *places: str | Path | None) -> None:
    """Refuse outputs that cannot be written, that are one file, or that are inputs; None and - are standard output.

    The sum of tallies may take the place of one of them: `_check_outside`.
    """
    from truecal._atomic import check_place

    found = [check_place(place) for place in places if place is not None and place != "-"]
    if len(set(found)) < len(found):
        raise UsageError(f"each output must have a file of its own; {str(found[-1])!r} is named twice", args.command)
    if args.command != "merge":
        _check_folders(args, found)
    old = [place for place in found if place.exists()]
    inputs = list(_find_inputs(args)) if old and args.command != "merge" else []
    for place in old:
        if any(place.samefile(read) for read in inputs):
            raise UsageError(f"an output must not replace what is read; {str(place)!r} is an input", args.command)


def _find_inputs(args: Namespace) -> Iterator[Path]:
    """The files that a command reads: data, rules, baseline."""
    from truecal.reading import expand

    single = (getattr(args, name, None) for name in ("rules", "baseline", "check", "map"))
    for given in (*getattr(args, "files", ()), *single):
        if given not in (None, "-"):
            with suppress(OSError, ValueError):  # told when it is read
                yield from (place for place in expand(given) if place.exists())
    with suppress(OSError, ValueError):
        table = _find_table(getattr(args, "label_delay", None))
        yield from () if table is None else (table,)


def _check_folders(args: Namespace, places: list[Path]) -> None:
    """Refuse outputs that would be read as data the next time."""
    from truecal.reading import FORMATS

    known = {suffix for suffixes in FORMATS.values() for suffix in suffixes}
    for folder in (Path(given) for given in getattr(args, "files", ()) if os.path.isdir(given)):
        for place in places:
            if place.suffix.lower() in known and place.is_relative_to(folder.resolve()):
                raise UsageError(
                    f"an output must lie outside of the folders that are read, or it would be data the next time; "
                    f"{str(place)!r} lies in {str(folder)!r}",
                    args.command,
                )


def check_picture(args: Namespace, place: str, option: str) -> Path:
    """The place of a picture, if it can be written there."""
    found = Path(place)
    if found.suffix.lower() not in PICTURES:
        raise UsageError(f"{option} must end in {', '.join(PICTURES)}; it is {place!r}", args.command)
    check_places(args, found)
    return found


# ---- where answers go ----------------------------------------------------------------------------------------------


def note(text: str) -> None:
    """Say something beside the answer."""
    terminal, text = Terminal.of(sys.stderr), printable_lines(text)
    line = terminal.wrap(f"note: {text}", "      ", "") if sys.stderr.isatty() else f"note: {text}"
    print(terminal.paint(line, "dim"), file=sys.stderr)


def tell_one_label(rows: int, share: float) -> None:
    """Say so if all labels are the same."""
    if share in (0, 1):
        note(describe_one_label(rows, share))


def describe_one_label(rows: int, share: float) -> str:
    """Return that all labels are the same."""
    return f"not one of {plural(rows, 'label')} is {'negative' if share else 'positive'}: is the column right?"


def tell_notes(found: Iterable[Any]) -> None:
    """What a reader of results or tables should know, once."""
    from truecal import words

    for told in dict.fromkeys(told for part in found for told in part.notes):
        note(words.describe_note(told))


def answer(
    args: Namespace,
    text: Callable[[Terminal], str],
    json: Callable[[], str],
    csv: Callable[[], Sequence[dict[str, Any]]],
) -> None:
    """Print or write an answer, in the form that is asked for."""
    from truecal._atomic import write_text
    from truecal.cli import _answers as answers

    place = args.output if args.output != "-" else None
    suffix = "" if place is None or args.json or args.csv else Path(place).suffix.lower()
    written = True
    if args.json or suffix == ".json":
        found = json()
    elif args.csv or suffix == ".csv":
        found = answers.write_csv(csv())
    else:
        written = False
        found = text(Terminal.of(sys.stdout) if place is None else Terminal())
    with naming(place or "standard output"):
        if place is not None:
            write_text(place, found + "\n")
        elif written:
            show_data(found)
        else:
            print(found, flush=True)


def show_data(text: str) -> None:
    """Print data as they are; on a terminal without what is not printable."""
    print(printable_lines(text) if sys.stdout.isatty() else text, flush=True)


def tell_files(args: Namespace, places: list[Path]) -> int:
    """Say what was written."""
    from truecal.cli import _answers as answers

    print(
        answers.files_json(places) if args.json else "\n".join(f"Wrote {printable(str(place))}" for place in places),
        flush=True,
    )
    return 0


@contextmanager
def naming(place: str | Path) -> Iterator[None]:
    """Errors of the system name what was to be written, not a draft of it."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, str(place)) from error
