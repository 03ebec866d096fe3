"""What each command does: it reads its data, calls one function of the library, and prints the answer."""

from __future__ import annotations

import os
import shlex
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from fnmatch import fnmatch
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truecal._errors import check_column
from truecal._options import COLUMNS
from truecal._text import Terminal, plural, printable, say, say_commands
from truecal.cli._checks import (
    check_metric_name,
    check_picture,
    check_places,
    check_saved,
    check_time,
    choose_metrics,
    first_metric,
    is_saved,
)
from truecal.cli._options import DATA, DRAWN, LIMITS, NEEDS_ROWS, UsageError, make_full_parser, options_of
from truecal.cli._output import (
    describe_one_label,
    name_files,
    naming,
    note,
    note_all,
    note_one_label,
    print_answer,
    print_data,
    print_written,
    to_csv_by_name,
    to_json_by_name,
)
from truecal.cli._sources import (
    Source,
    describe_observations,
    find_cluster,
    find_sampling,
    find_scale,
    find_top_label,
    open_source,
    refuse_observations,
    refuse_passed_over,
)

if TYPE_CHECKING:
    from truecal._options import ScoreScale
    from truecal.data import Observations
    from truecal.gate import Decision
    from truecal.results import ClassResults, Comparison, DriftTable, Result, SliceTable

FIRST_METRICS = ["ltce", "tce", "ece", "log_loss", "brier", "slope", "intercept"]  # of `evaluate` by default
OBSERVATIONS = (".parquet", ".pq")
TOGETHER = "all rows were evaluated together: `truecal slices` searches for miscalibrated groups of rows"


def evaluate(args: Namespace) -> int:
    """Metrics of one or more models."""
    from truecal.cli import _screens as screens

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
    found, source = evaluate_models(args, FIRST_METRICS)
    results, classes = split_classes(found)
    print_answer(
        args,
        lambda terminal: screens.format_results(
            results,
            source,
            terminal,
            classes=classes,
            bins=args.bins,
            metrics=args.metrics is not None or bool(args.resamples),
            explain=args.explain,
            following=_find_next(args, results),
        ),
        lambda: to_json_by_name(found),
        lambda: _write_csv(results, classes, bins=args.bins),
    )
    _note_results(args, results, classes)
    return 0


def _write_csv(results: Mapping[str, Result], classes: ClassResults | None, *, bins: bool) -> str:
    """The bins of every model, or the table of classes, or that of metrics."""
    from truecal.results import MetricTable

    if bins:
        return to_csv_by_name({model: result.bins for model, result in results.items()})
    return MetricTable.of_results(results).to_csv() if classes is None else classes.table.to_csv()


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
    columns = _list_columns(args)
    if not columns:
        return []
    others = len(columns) > 1 + len(found)
    miscalibrated = "miscalibrated" in statuses
    fits = miscalibrated and not any(
        result.prevalence in (0, 1) for result in results.values()
    )  # to labels of both kinds
    time = _name_time(args) if others and miscalibrated else None
    commands = [] if time is None else [f"{_repeat(args, 'drift')} --time {shlex.quote(time)} (since when?)"]
    commands += [f"{_repeat(args, 'slices')} (which groups?)"] * others
    return [*commands, *[f"{_repeat(args, 'recalibrate')} -o map.json"] * fits]


def _repeat(args: Namespace, command: str) -> str:
    """Another command on the same files, with the options on their columns that both have."""
    words = [*(args.files if len(args.files) < 3 else ["FILES"])]
    for option in options_of(command):
        value = getattr(args, option.name, None)
        if option.group not in (COLUMNS, DATA) or option.name == "files" or value in (None, False, option.default):
            continue
        given = [",".join(map(str, value))] if isinstance(value, (list, tuple)) else [str(value)]
        words += [option.word, *(given if option.action != "store_true" else [])]
    return shlex.join(["truecal", command, *words])


def _name_drift(args: Namespace) -> str:
    """The command that looks at times, if a column of the files looks like them; else nothing."""
    time = _name_time(args)
    return "" if time is None else f"`truecal drift --time {shlex.quote(time)}`"


def _name_time(args: Namespace) -> str | None:
    """The column of the files that looks like times, if there is one."""
    from truecal.reading import find_time

    return find_time(args.files, format=args.format) if _has_rows(args) else None


def _list_columns(args: Namespace) -> list[str]:
    """The columns of the files, where these hold rows."""
    from truecal.reading import column_names

    return column_names(args.files, args.format) if _has_rows(args) else []


def _has_rows(args: Namespace) -> bool:
    """Whether the files hold rows that can be read again, as saved results, observations and standard input do not."""
    from truecal.reading import is_observations

    return not (is_saved(args) or "-" in args.files or is_observations(args.files))


def compare(args: Namespace) -> int:
    """Two models on the same rows."""
    from truecal import analysis
    from truecal.cli import _screens as screens

    check_places(args, args.output)
    asked = choose_metrics(args, list(analysis.COMPARED))
    source = open_source(args, models=2)
    if len(source.scores) != 2:
        raise UsageError(f"--score must name two columns to compare; it names {len(source.scores)}", "compare")
    found = compare_models(args, source, metrics=asked, resamples=args.resamples)
    print_answer(
        args,
        lambda terminal: screens.format_comparison(found, source.name, terminal),
        found.to_json,
        lambda: found.to_csv(first_model=found.models[0], second_model=found.models[1]),
    )
    return 0


def segments(args: Namespace) -> int:
    """Every segment of one or more models."""
    from truecal.cli import _screens as screens

    _need_segments(args, "segments")
    check_places(args, args.output)
    metric = first_metric(args)
    source = open_source(args)
    tables = judge_segments(args, source.read(args), metric)
    note_all(tables.values())
    print_answer(
        args,
        lambda terminal: screens.format_segments(tables, source.name, terminal, worst=args.worst),
        lambda: to_json_by_name(tables),
        lambda: to_csv_by_name(tables),
    )
    return 0


def slices(args: Namespace) -> int:
    """Groups of rows that nobody named."""
    from truecal.cli import _screens as screens

    check_places(args, args.output)
    source = open_source(args, rows=True)
    _need_one_score(source, "slices")
    table = search_slices(args, source, columns=args.columns, pairs=not args.no_pairs, min_rows=args.min_rows)
    note_all([table])
    print_answer(
        args,
        lambda terminal: screens.format_slices(table, source.name, terminal),
        table.to_json,
        table.to_csv,
    )
    return 0


def drift(args: Namespace) -> int:
    """Every period."""
    from truecal.cli import _screens as screens

    check_places(args, args.output)
    picture = check_picture(args, args.plot, "--plot") if args.plot else None
    metric = first_metric(args)
    source = open_source(args, timed=True)
    _need_one_score(source, "drift")
    table = judge_periods(args, source.read(args), metric, _open_baseline(args, source))
    note_all([table])
    if picture:
        from truecal.plot import save

        with naming(picture):
            save(picture, "drift", table)
        note(f"wrote {picture}")
    print_answer(
        args,
        lambda terminal: screens.format_drift(table, source.name, terminal),
        table.to_json,
        table.to_csv,
    )
    return 0


def monitor(args: Namespace) -> int:
    """A monitor that is kept from run to run."""
    from truecal import words
    from truecal._atomic import append_line, write_text
    from truecal.analysis import keep_monitor
    from truecal.cli import _monitor as screens

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
        append_line(log, screens.to_log_line(monitor, update))
    if args.prom:
        with naming(args.prom):
            write_text(args.prom, screens.to_prometheus(monitor))
    print_answer(
        args,
        lambda terminal: screens.format_monitor(monitor, update, source.name, terminal),
        lambda: screens.to_log_line(monitor, update),
        monitor.table.to_csv,
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
    note_one_label(observations.n_rows, observations.positives / observations.n_rows)
    options = {"by": args.by or (), "folds": 0 if args.check else args.folds, "random_state": args.seed}
    recalibration = analysis.recalibrate(observations, kind=args.kind, **options)
    if args.check:
        (separate,) = source._replace(data=[args.check], time=None, every=None).read(args).values()  # as the others
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
        print_data(recalibration.to_json())
        return 0
    terminal = Terminal.of(sys.stdout)
    say("\n".join(map(terminal.wrap, recalibration.sentences())))
    for table in recalibration.tables(terminal):
        say(f"\n{table}")
    say(f"\n{sql}Wrote {printable(args.output)}")
    return 0


def _write_sql(name: str, scale: ScoreScale) -> str:
    """Return the probabilities in SQL, of a column on a scale."""
    from truecal.results import quote_name

    score = name if name.isidentifier() else quote_name(name)
    return {"percent": f"({score} / 100.0)", "logit": f"(1 / (1 + EXP(-{score})))"}.get(scale, score)


def apply(args: Namespace) -> int:
    """Apply a calibration map to predictions."""
    from truecal import words
    from truecal.data import Note, NoteCode
    from truecal.reading import RECALIBRATED, add_column, column_names, is_observations

    if len(args.files) < 2:
        raise UsageError("a map and the files it is applied to must be named", "apply")
    file, *paths = args.files
    check_places(args, args.output)
    if any(path.lower().endswith(".json") for path in paths) and not file.lower().endswith(".json"):
        raise UsageError(f"the map must be named first; {file!r} is", "apply")
    if is_observations(paths):
        refuse_observations(args, paths)
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
            segments=recalibration.segments,
            format=args.format,
            score_scale=find_scale(args),
        )
    note(f"{args.output} holds {plural(rows, 'row')}, with `{into}`")
    if sum(unknown):
        note(words.describe_note(Note.of(NoteCode.SEGMENTS_UNKNOWN, n=sum(unknown))))
    return print_written(args, [Path(args.output)])


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
        tables["drift"] = judge_periods(args, models, "ltce")
    if args.map:
        tables["recalibration"] = recalibration = _read_map(args.map)
        if source is not None and recalibration.score not in (None, source.scores[0]):
            raise UsageError(
                f"--map must be fitted to the predictions of the report, {source.scores[0]}; it was fitted to "
                f"{recalibration.score}",
                "report",
            )
    of_one = {"segments": "segments are those", "slices": "slices are those", "drift": "periods are those"}
    of_one["recalibration"] = "map is that"
    for what in (of_one[name] for name in of_one if len(results) > 1 and name in tables):
        note(f"on the page the {what} of {next(iter(results))}")
    note_all([*results.values(), *(table for name, table in tables.items() if name != "recalibration")])
    with naming(args.output):
        report(
            results if classes is None else classes,
            args.output,
            title=args.title,
            settings=_list_settings(args, source),
            **tables,
        )
    return print_written(args, [Path(args.output)])


def _read_map(place: str) -> Any:
    from truecal._errors import name_place
    from truecal.results import Recalibration, read_stored

    with name_place(place):
        return read_stored(place, Recalibration.from_json)


def _list_settings(args: Namespace, source: Source | None) -> dict[str, str]:
    """What was read, and every option that has a value, as the command line writes it."""
    found = {"data": name_files(args.files)}
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
    return print_written(args, [place])


def _choose_picture(args: Namespace, kind: str | None) -> tuple[str, Any, dict[str, Any]]:
    """The kind of the picture, what it shows, and its options."""
    if kind == "drift":
        source = open_source(args, timed=True)
        _need_one_model(kind, source.models)
        table = judge_periods(args, source.read(args), "ltce")
        note_all([table])
        return kind, table, {"title": args.title}
    if kind == "segments":
        _need_segments(args, "plot")
        found = next(iter(judge_segments(args, open_source(args).read(args), "ltce").values()))
        note_all([found])
        return kind, found, {}
    results, _ = split_classes(evaluate_models(args, None)[0])
    note_all(results.values())
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
    from truecal.cli import _screens as screens
    from truecal.results import to_json, write_csv

    check_places(args, args.output)
    options = {name: getattr(args, name) for name in ("factor", "ratio", "rows", "power", "significance")}
    found = verdict.plan(args.rate, **options)
    print_answer(
        args,
        lambda terminal: screens.format_plan(found, terminal),
        lambda: to_json(found),
        lambda: write_csv({name: [value] for name, value in asdict(found).items()}),
    )
    return 0


def demo(args: Namespace) -> int:
    """Three models of a rare event."""
    from truecal import demo as show

    if not args.json:
        show.main(args.folder)
        return 0
    return print_written(args, show.write_pictures(show.evaluate_all(*show.simulate()), Path(args.folder)))


def check(args: Namespace) -> int:
    """The release gate."""
    from truecal import gate
    from truecal._atomic import write_text
    from truecal.cli import _screens as screens

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
    refuse_passed_over(args.files)
    source = open_source(args)
    if args.baseline in source.scores and not args.on:
        note(f"{args.baseline} is the baseline, and is not evaluated")
    rows, saved = _choose_baseline(args, source)
    options = {name: getattr(args, name) for name in ("null_draws", "resamples")}
    options |= _region(args) | _draws(args)
    models = source.read(args, **rows)
    if args.rules:
        for observations in models.values():
            gate.check_data_table(args.rules, find_top_label(observations))
    decision = gate.check(models, rules, baseline=saved, recalibration=recalibration, **options)
    note_all([decision])
    if source.multiclass is None:
        first = next(iter(models.values()))
        note_one_label(first.n_rows, first.positives / first.n_rows)
    alike = recalibration is None and source.multiclass is None and all(rule.segment is None for rule in rules)
    if alike and decision.status == "pass" and set(_list_columns(args)) - {source.label, *source.scores, args.baseline}:
        note(TOGETHER)
    for place, text in ((args.junit, decision.to_junit), (args.markdown, decision.to_markdown)):
        if place:
            with naming(place):
                write_text(place, text())
    if os.environ.get("GITHUB_ACTIONS") == "true":
        _print_github(decision)
    print_answer(
        args,
        lambda terminal: screens.format_decision(decision, terminal),
        decision.to_json,
        decision.results.to_csv,
    )
    return decision.exit_code


def _print_github(decision: Decision) -> None:
    """Lines for GitHub's page of a run, and its summary of the step."""
    from truecal._atomic import append_line

    say_commands(decision.to_github())
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
        raise UsageError("--baseline must be a saved result, named .json, if observations are read: they have no rows")
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
    if not rules and all(name == "max_dropped" for name, *_ in limits):  # which says nothing of the model
        rules.append(_make_rule("", "verdict", **choices))
    for name, metric, limit in limits:
        check_metric_name(metric)
        rules.append(_make_rule(f"--{name.replace('_', '-')}: ", gate.LIMITS[name], limit, metric=metric, **choices))
    return rules


def _make_rule(word: str, *given: Any, **choices: Any) -> Any:
    from truecal import gate

    try:
        return gate.Rule(*given, **choices)
    except ValueError as error:
        raise UsageError(f"{word}{error}", "check") from error


def tally(args: Namespace) -> int:
    """Data as a file of observations."""
    place = _observations_place(args)
    check_time(args)
    source = open_source(args, timed=args.time is not None)
    _need_one_score(source, "tally")
    (observations,) = source.read(args).values()
    note_all([observations])
    return _save_observations(args, observations, place)


def merge(args: Namespace) -> int:
    """The sum of files of observations."""
    from truecal.reading import load_observations

    place = _observations_place(args)
    _check_outside(args.files, place)
    return _save_observations(args, load_observations(args.files, by=args.by), place)


def _need_one_score(source: Source, command: str) -> None:
    if source.models != 1:
        raise UsageError(f"--score must name one column; it names {len(source.scores)}", command)


def _observations_place(args: Namespace) -> Path:
    place = Path(args.output)
    if place.suffix.lower() not in OBSERVATIONS:
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


def _save_observations(args: Namespace, observations: Observations, place: Path) -> int:
    with naming(place):
        observations.save(place)
    note(f"{place} holds {describe_observations(observations, observations.by, observations.periods)}")
    return print_written(args, [place])


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
    say(shtab.complete(make_full_parser(shtab.FILE), args.shell))
    return 0


def evaluate_models(
    args: Namespace, default: list[str] | None, models: Mapping[str, Any] | None = None
) -> tuple[dict[str, Any], str]:
    """Results by the names of their models, computed or read, and where they come from."""
    from truecal.analysis import evaluate

    name, metrics = name_files(args.files), choose_metrics(args, default)
    if is_saved(args):
        return {model: found for path in args.files for model, found in _read_results(path).items()}, name
    models = models or open_source(args).read(args)
    options = {"significance": args.significance, **_region(args), **_draws(args)}
    options["null_draws"] = DRAWN if args.null_draws is None else args.null_draws
    options["resamples"] = DRAWN * (args.command == "report") if args.resamples is None else args.resamples
    return {model: evaluate(observations, metrics=metrics, **options) for model, observations in models.items()}, name


def _read_results(path: str) -> dict[str, Result | ClassResults]:
    """What `to_json_by_name` wrote to a file; a single result goes by the file's name."""
    from truecal._errors import name_place
    from truecal.results import ClassResults, Result, from_json

    try:
        with name_place(path):
            saved = from_json(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(
            f"{path!r} must be JSON as `truecal evaluate --json` writes it; it is not: {error}\n\n"
            "Hint: data in JSON are read line by line; name such a file .jsonl or give --format jsonl."
        ) from error
    results = saved if isinstance(saved, dict) else {Path(path).stem: saved}
    for result in results.values():
        if not isinstance(result, (Result, ClassResults)):
            raise TypeError(f"{path!r} must hold results; it holds a {type(result).__name__}.")
    return results


def split_classes(found: Mapping[str, Any]) -> tuple[dict[str, Result], ClassResults | None]:
    """The results of models, of several classes those of the most probable one; and what was found for all classes."""
    from truecal.results import Result

    several = [result for result in found.values() if not isinstance(result, Result)]
    if several and len(found) > 1:
        raise ValueError("Results of several classes are shown alone; there are more.")
    results = {name: result if isinstance(result, Result) else result.top for name, result in found.items()}
    return results, several[0] if several else None


def judge_segments(args: Namespace, models: Mapping[str, Any], metric: str) -> dict[str, Any]:
    """The tables of segments by the names of their models."""
    from truecal.analysis import segments

    options = {"by": args.by, "significance": args.significance, **_region(args), **_draws(args)}
    options["null_draws"] = 0 if args.null_draws is None or args.command != "segments" else args.null_draws
    options["adjust"] = None if args.adjust == "none" else args.adjust
    return {model: segments(find_top_label(observations), metric, **options) for model, observations in models.items()}


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
    note_all([observations])
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
        cluster=find_cluster(args),
        sampling=find_sampling(args, source.data),
        **options,
    )


def judge_periods(args: Namespace, models: Mapping[str, Any], metric: str, baseline: Any = None) -> DriftTable:
    """The periods of the first model."""
    from truecal.analysis import drift

    options = {name: getattr(args, name) for name in ("label_lag", "now", "significance")}
    options |= {"baseline": baseline, **_region(args), **_draws(args)}
    options["null_draws"] = 0 if args.null_draws is None or args.command != "drift" else args.null_draws
    options["adjust"] = None if args.adjust == "none" else args.adjust
    return drift(find_top_label(next(iter(models.values()))), metric, **options)


def _open_baseline(args: Namespace, source: Source) -> int | str | Observations | None:
    """What --baseline names: a number of periods, a range of them, or other rows, which are read."""
    from truecal.reading import is_observations

    text = args.baseline
    if text is None or (".." in text and not Path(text).exists()):
        return str(text) if text else None
    if text.isdigit():
        return int(text)
    known = {"percent": False, "logit": False}  # observations hold probabilities
    columns = known if is_observations([text]) else {"label": source.label, "score": source.scores}
    other = Namespace(**(vars(args) | {"files": [text], "time": None, "every": None} | columns))
    return find_top_label(next(iter(open_source(other).read(other).values())))


def _region(args: Namespace) -> dict[str, Any]:
    """Which predictions are evaluated, and the error that is tolerated."""
    own = {"threshold": args.threshold, "top": getattr(args, "top", None)}
    if args.tolerance is None:
        return own
    from truecal.gate import read_tolerance

    return {**own, "tolerance": read_tolerance(args.tolerance)}


def _draws(args: Namespace) -> dict[str, Any]:
    return {"random_state": args.seed, "threads": args.threads}


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
