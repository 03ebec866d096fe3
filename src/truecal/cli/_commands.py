"""What each command does: it reads its options, calls one function of the library, and answers."""

from __future__ import annotations

from argparse import Namespace
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truecal.cli._inputs import (
    check_metric,
    choose_metrics,
    describe_tallies,
    flat,
    is_saved,
    judge_drift,
    judge_segments,
    read_data,
    read_results,
    refuse_computing,
)
from truecal.cli._outputs import answer, check_place, naming, note, tell_files, tell_notes
from truecal.cli._parsing import UsageError

if TYPE_CHECKING:
    from truecal.observations import Tallies

METRICS = ["tce", "ece", "ace"]  # of `score`, unless others are asked for
PICTURES = (".png", ".svg", ".pdf")
TALLIES = (".parquet", ".pq")


def score(args: Namespace) -> int:
    """Metrics of one or more models."""
    from truecal.cli import _answers as answers
    from truecal.cli import _records as records

    refuse_computing(args)
    if args.by:
        if args.intervals or args.bins:
            raise UsageError("--intervals and --bins must be left out where --by makes segments", "truecal segments")
        args.adjust, args.worst = "holm", 20
        return segments(args)
    results, source = read_results(args, METRICS)
    tell_notes(results.values())
    answer(
        args,
        lambda terminal: answers.tell_results(results, source, terminal, bins=args.bins),
        lambda: records.named_json(results),
        lambda: records.bin_records(results) if args.bins else records.metric_records(results),
    )
    return 0


def compare(args: Namespace) -> int:
    """Two models on the same rows."""
    from truecal.analysis import compare as compare_models
    from truecal.cli import _answers as answers
    from truecal.cli import _records as records

    check_place(args.output)
    names = choose_metrics(args, ["tce"])
    data = read_data(args, models=2)
    if len(data.scores) != 2:
        raise UsageError(f"`score` must name two columns to compare; it names {len(data.scores)}", "truecal compare")
    first, second = data.scores
    tallies = data.read(args, [first], baseline=second)[first]
    tell_notes([tallies])
    found = compare_models(
        tallies,
        metrics=METRICS if names is None else names,
        significance=args.significance,
        replicates=args.replicates,
        random_state=args.seed,
        threads=args.threads,
    )
    answer(
        args,
        lambda terminal: answers.tell_differences(found, data.name, terminal),
        found.to_json,
        lambda: records.difference_records(found),
    )
    return 0


def segments(args: Namespace) -> int:
    """Every segment of one or more models."""
    from truecal.cli import _answers as answers
    from truecal.cli import _records as records

    if not args.by:
        raise UsageError("`by` must name the columns that make segments", "truecal segments")
    check_place(args.output)
    metric = (choose_metrics(args, ["tce"]) or ["tce"])[0]
    data = read_data(args)
    tables = judge_segments(args, data.read(args), metric)
    tell_notes(tables.values())
    first = next(iter(tables.values()))
    needed = answers.draws_needed(first) if args.adjust != "none" else 0
    if needed:
        note(f"{first.replicates:,} draws are too few for {len(first):,} segments; --reference {needed} is enough")
    answer(
        args,
        lambda terminal: answers.tell_segments(
            tables, metric, data.name, terminal, worst=args.worst, adjust=args.adjust
        ),
        lambda: records.named_json(tables),
        lambda: records.segment_records(tables),
    )
    return 0


def drift(args: Namespace) -> int:
    """Every window of time."""
    from truecal.cli import _drift_answers as drift_answers
    from truecal.cli import _records as records

    check_place(args.output)
    picture = _picture_place(args.plot, "plot", "truecal drift") if args.plot else None
    name = (choose_metrics(args, ["tce"]) or ["tce"])[0]
    data = read_data(args, timed=True)
    if len(data.scores) != 1:
        raise UsageError(f"`score` must name one column; it names {len(data.scores)}", "truecal drift")
    table = judge_drift(args, data.read(args), name)
    tell_notes([table])
    if picture:
        from truecal.plot import save

        with naming(picture):
            save(picture, "drift", table)
        note(f"wrote {picture}")
    answer(
        args,
        lambda terminal: drift_answers.tell_drift(table, name, data.name, terminal),
        table.to_json,
        lambda: records.drift_records(table),
    )
    return 0


def report(args: Namespace) -> int:
    """One HTML page."""
    from truecal.reporting import report

    refuse_computing(args)
    _need_time(args)
    check_place(args.output)
    data = None if is_saved(args) else read_data(args, timed=args.time is not None)
    models = {} if data is None else data.read(args)
    results, _ = read_results(args, None, None if data is None else (models, data.name))
    table = windows = None
    if data is not None and args.by:
        table = next(iter(judge_segments(args, models, "tce").values()))
    if data is not None and args.time:
        windows = judge_drift(args, models)
    if data is not None and len(data.scores) > 1:
        for what, found in (("segments", table), ("windows", windows)):
            if found is not None:
                note(f"the {what} on the page are those of {data.scores[0]}")
    tell_notes([*results.values(), *(found for found in (table, windows) if found is not None)])
    with naming(args.output):
        report(results, args.output, title=args.title, segments=table, drift=windows)
    return tell_files(args, [Path(args.output)])


def plot(args: Namespace) -> int:
    """A picture."""
    from truecal.plot import save

    refuse_computing(args)
    kind = args.kind or ("drift" if args.time else "segments" if args.by else None)
    if kind != "drift":
        _need_time(args)
    place = _picture_place(args.output or f"{kind or 'diagram'}.png", "output", "truecal plot")
    name, data, options = _choose_picture(args, kind)
    with naming(place):
        save(place, name, data, **options)
    return tell_files(args, [place])


def _need_time(args: Namespace) -> None:
    """Refuse options about windows where there are none."""
    given = [name for name in ("every", "mature_after", "now") if getattr(args, name, None) is not None]
    if given and args.time is None:
        raise UsageError(f"`time` must name a column where `{given[0]}` is given", f"truecal {args.command}")


def _picture_place(place: str, option: str, prog: str) -> Path:
    found = Path(place)
    if found.suffix.lower() not in PICTURES:
        raise UsageError(f"--{option} must end in {', '.join(PICTURES)}; it is {place!r}", prog)
    check_place(found)
    return found


def _choose_picture(args: Namespace, kind: str | None) -> tuple[str, Any, dict[str, Any]]:
    """The kind of the picture, what it shows, and its options."""
    if kind == "drift":
        data = read_data(args, timed=True)
        if len(data.scores) > 1:
            raise UsageError(f"--kind drift draws one model; {len(data.scores)} are given", "truecal plot")
        table = judge_drift(args, data.read(args))
        tell_notes([table])
        return kind, table, {"title": args.title}
    if kind == "segments":
        if not args.by:
            raise UsageError("`by` must name the columns that make segments", "truecal plot")
        found = next(iter(judge_segments(args, read_data(args).read(args), "tce").values()))
        tell_notes([found])
        return kind, found, {}
    results, _ = read_results(args, None)
    tell_notes(results.values())
    kind = kind or ("models" if len(results) > 1 else "test-based")
    if kind in ("models", "metrics"):
        return kind, results, {"scale": args.scale} if kind == "models" else {}
    if len(results) > 1:
        raise UsageError(f"--kind {kind} draws one model; {len(results)} are given", "truecal plot")
    return kind.replace("-", "_"), next(iter(results.values())), {"scale": args.scale, "title": args.title}


def plan(args: Namespace) -> int:
    """How much data it takes."""
    from truecal.cli import _answers as answers
    from truecal.cli import _records as records
    from truecal.inference import _power as power
    from truecal.results import to_json

    check_place(args.output)
    options = {"shift": args.shift, "relative": args.relative, "power": args.power, "significance": args.significance}
    found = power.plan(args.rate, **options)
    answer(
        args,
        lambda terminal: answers.tell_plan(found, terminal),
        lambda: to_json(found),
        lambda: records.plan_records(found),
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
    from truecal._writing import write_text
    from truecal.cli import _answers as answers
    from truecal.cli import _records as records
    from truecal.gate import LIMITS, Rule, read_rules
    from truecal.gate import check as judge

    for place in (args.output, args.junit, args.markdown):
        check_place(place)
    rules = list(read_rules(args.rules)) if args.rules else []
    for key, kind in LIMITS.items():
        for metric, limit in getattr(args, key) or []:
            check_metric(metric)
            rules.append(Rule(kind, limit, metric=metric, segment=args.segment, min_rows=args.min_rows))
    if not rules:
        raise UsageError(
            "there must be a rule; there is none.\n\nHint: give a file with --rules or a limit such as --max-excess 5"
        )
    data = read_data(args)
    if args.baseline in data.scores and not args.on:
        note(f"{args.baseline} is the baseline, and is not judged")
    saved = args.baseline is not None and args.baseline.lower().endswith(".json")
    paired = {} if saved or args.baseline is None else {"baseline": args.baseline, "on": flat(args.on)}
    verdict = judge(
        data.read(args, **paired),
        rules,
        baseline=args.baseline if saved else None,
        significance=args.significance,
        reference=args.reference,
        intervals=args.intervals,
        replicates=args.replicates,
        random_state=args.seed,
        threads=args.threads,
    )
    tell_notes([verdict])
    for place, text in ((args.junit, verdict.to_junit), (args.markdown, verdict.to_markdown)):
        if place:
            with naming(place):
                write_text(place, text())
    answer(
        args,
        lambda terminal: answers.tell_verdict(verdict, terminal),
        verdict.to_json,
        lambda: records.finding_records(verdict),
    )
    return verdict.exit_code


def tally(args: Namespace) -> int:
    """The tallies of data."""
    place = _tallies_place(args)
    _need_time(args)
    data = read_data(args, timed=args.time is not None)
    if len(data.scores) != 1:
        raise UsageError(f"`score` must name one column; it names {len(data.scores)}", "truecal tally")
    tallies = data.read(args)[data.scores[0]]
    tell_notes([tallies])
    return _save_tallies(args, tallies, place)


def merge(args: Namespace) -> int:
    """The sum of tallies."""
    from truecal.reading import load_tallies

    place = _tallies_place(args)
    _refuse_inside(args.files, place)
    return _save_tallies(args, load_tallies(args.files, by=None if args.by is None else flat(args.by)), place)


def _tallies_place(args: Namespace) -> Path:
    place = Path(args.output)
    if place.suffix.lower() not in TALLIES:
        raise UsageError(f"`output` must end in .parquet; it is {str(place)!r}", f"truecal {args.command}")
    check_place(place)
    return place


def _refuse_inside(given: list[str], place: Path) -> None:
    """Refuse a sum that would be one of its own parts the next time; one that is named is added to."""
    for path in given:
        folder, own = Path(path).expanduser().resolve(), place.resolve()
        if own == folder:
            note(f"{place} is added to, and replaced")
        elif own.is_relative_to(folder) or fnmatch(str(own), str(folder)):
            raise ValueError(
                f"`output` must lie outside of what is merged, {path!r}, or its rows would count twice from then on; "
                f"it is {str(place)!r}."
            )


def _save_tallies(args: Namespace, tallies: Tallies, place: Path) -> int:
    with naming(place):
        tallies.save(place)
    note(f"{place} holds {describe_tallies(tallies, tallies.by, tallies.windows)}")
    return tell_files(args, [place])


def completion(args: Namespace) -> int:
    """A script for a shell."""
    from truecal.cli._completion import write_script

    print(write_script(args.shell))
    return 0
