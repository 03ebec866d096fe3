"""What each command does: it reads its options, calls one function of the library, and answers."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

from truecal.inputs import (
    check_metric,
    choose_metrics,
    explained,
    flat,
    is_saved,
    read_data,
    read_results,
    read_segments,
)
from truecal.outputs import answer, check_place, naming, note, tell_files, tell_notes
from truecal.parsing import UsageError

METRICS = ["tce", "ece", "ace"]  # of `score`, unless others are asked for
PICTURES = (".png", ".svg", ".pdf")


def score(args: Namespace) -> int:
    """Metrics of one or more models."""
    from truecal import answers, records

    if args.by:
        if args.intervals or args.bins:
            raise UsageError("--intervals and --bins must be left out where `by` makes segments", "truecal segments")
        args.adjust, args.worst = "holm", 20
        return segments(args)
    results, source = read_results(args, METRICS)
    tell_notes(results.values())
    answer(
        args,
        lambda terminal: answers.tell_results(results, source, terminal, bins=args.bins),
        lambda: records.results_json(results),
        lambda: records.bin_records(results) if args.bins else records.metric_records(results),
    )
    return 0


def compare(args: Namespace) -> int:
    """Two models on the same rows."""
    from truecal import answers, evaluation, records
    from truecal.metrics import Rejection, choose

    check_place(args.output)
    names = choose_metrics(args, ["tce"])
    data = read_data(args, models=2)
    if len(data.scores) != 2:
        raise UsageError(f"`score` must name two columns to compare; it names {len(data.scores)}", "truecal compare")
    with explained(data):
        found = evaluation.compare(
            data.paths,
            score=data.scores,
            metrics=METRICS if names is None else names,
            significance=args.significance,
            replicates=args.replicates,
            random_state=args.seed,
            threads=args.threads,
            **data.reading(args),
        )
    chosen = choose(list(found), None, Rejection(significance=args.significance))
    answer(
        args,
        lambda terminal: answers.tell_differences(found, data.scores, chosen, data.name, terminal),
        lambda: records.differences_json(found, data.scores),
        lambda: records.difference_records(found, data.scores),
    )
    return 0


def segments(args: Namespace) -> int:
    """Every segment of one or more models."""
    from truecal import answers, records

    if not args.by:
        raise UsageError("`by` must name the columns that make segments", "truecal segments")
    check_place(args.output)
    metric = (choose_metrics(args, ["tce"]) or ["tce"])[0]
    data = read_data(args)
    tables = read_segments(args, data, metric)
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
        lambda: records.segments_json(tables, metric),
        lambda: records.segment_records(tables),
    )
    return 0


def report(args: Namespace) -> int:
    """One HTML page."""
    from truecal import reports

    check_place(args.output)
    if args.by and is_saved(args):
        raise UsageError("`by` must be left out where a result is read: it has no rows", "truecal report")
    data = None if is_saved(args) else read_data(args)
    results, _ = read_results(args, None, data)
    table = None
    if args.by and data is not None:
        table = next(iter(read_segments(args, data, "tce").values()))
        if len(data.scores) > 1:
            note(f"the segments on the page are those of {data.scores[0]}")
    tell_notes([*results.values(), *([table] if table else [])])
    with naming(args.output):
        reports.report(results, args.output, title=args.title, segments=table)
    return tell_files(args, [Path(args.output)])


def plot(args: Namespace) -> int:
    """A picture."""
    from truecal.plots import need_matplotlib
    from truecal.writing import written

    place = Path(args.output or f"{args.kind or 'diagram'}.png")
    if place.suffix.lower() not in PICTURES:
        raise UsageError(f"`output` must end in {', '.join(PICTURES)}; it is {str(place)!r}", "truecal plot")
    check_place(place)
    need_matplotlib("matplotlib").use("Agg")
    drawn = _draw(args)
    while isinstance(drawn, (list, tuple)):
        drawn = drawn[0]
    with naming(place), written(place) as draft:
        drawn.get_figure(root=True).savefig(draft, format=place.suffix[1:].lower(), dpi=150)
    return tell_files(args, [place])


def _draw(args: Namespace) -> Any:
    from truecal import comparisons, plots

    if args.kind == "segments" or (args.by and args.kind is None):
        if not args.by:
            raise UsageError("`by` must name the columns that make segments", "truecal plot")
        return comparisons.draw_segments(next(iter(read_segments(args, read_data(args), "tce").values())))
    results, _ = read_results(args, None)
    first = next(iter(results.values()))
    kind = args.kind or ("models" if len(results) > 1 else "test-based")
    if kind == "models":
        return comparisons.draw_models(results, scale=args.scale)
    if kind == "metrics":
        return comparisons.draw_metrics(results)
    if len(results) > 1:
        raise UsageError(f"--kind {kind} draws one model; {len(results)} are given", "truecal plot")
    draw: dict[str, Callable[..., Any]] = {
        "test-based": plots.draw_test_based,
        "reliability": plots.draw_reliability,
        "errors": plots.draw_errors,
        "binnings": comparisons.draw_binnings,
    }
    return draw[kind](first, scale=args.scale, title=args.title)


def plan(args: Namespace) -> int:
    """How much data it takes."""
    from truecal import answers, power, records

    check_place(args.output)
    options = {"shift": args.shift, "relative": args.relative, "power": args.power, "significance": args.significance}
    found = power.plan(args.rate, **options)
    answer(
        args,
        lambda terminal: answers.tell_plan(found, terminal),
        lambda: records.plan_json(found),
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
    from truecal import answers, checks, records
    from truecal.rules import LIMITS, Rule, read_rules
    from truecal.writing import write_text

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
    with explained(data):
        verdict = checks.check(
            data.paths,
            rules,
            score=data.scores,
            by=flat(args.by) or None,
            baseline=args.baseline,
            on=flat(args.on) or None,
            significance=args.significance,
            reference=args.reference,
            intervals=args.intervals,
            replicates=args.replicates,
            random_state=args.seed,
            threads=args.threads,
            **data.reading(args),
        )
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


def completion(args: Namespace) -> int:
    """A script for a shell."""
    from truecal.completion import write_script

    print(write_script(args.shell))
    return 0
