"""Answers: text for people, every number with its unit and with what is good; JSON and CSV for programs."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from truecal import words
from truecal._errors import name_place
from truecal._text import Column, Terminal, escape_csv, plural, printable
from truecal.metrics import find_metric
from truecal.results import (
    EIGHT_GRIDS,
    MetricTable,
    Models,
    Result,
    envelope,
    format_share,
    from_json,
    to_json,
)
from truecal.verdict import (
    Status,
)

if TYPE_CHECKING:
    from truecal.gate import Decision
    from truecal.results import ClassResults, Comparison, DriftTable, GroupTable, SliceTable
    from truecal.verdict import Plan

Record = dict[str, Any]
WORDS = {
    Status.MISCALIBRATED: ("x", "red"),
    Status.CONSISTENT: ("+", "green"),
    Status.INCONCLUSIVE: ("?", "yellow"),
}  # a sign in ASCII, a colour
MARKS = {"pass": "green", "fail": "red", "inconclusive": "yellow"}
DRIFT_STYLES = {"stable": "green", "base rate shifted": "green", "consistent": "green", "inconclusive": "yellow"}
CLASSES = 20  # that are shown
NAME = 0.25  # the share of the width to which names shrink before columns are left out
NOTES = 2  # sentences below the verdict, unless all are asked for
ON_GRID = "the lowest and highest value on these bins of cells, wherever in its cell a score lies; exact bins differ"
P_VALUE = "the share of simulations as extreme; two-sided for log loss, Brier score and net benefit"


# ---- results -------------------------------------------------------------------------------------------------------


def format_results(
    results: Mapping[str, Result],
    source: str,
    terminal: Terminal,
    *,
    classes: ClassResults | None = None,
    bins: bool = False,
    metrics: bool = False,
    explain: bool = False,
    following: Sequence[str] = (),
) -> str:
    """Format the verdict on one model with its score bands, or on several with the worst first.

    Of several classes it is the verdict on all, each, and the top label. Metrics are a line, or a table if wanted;
    `following` are commands to go on with.
    """
    many, first = len(results) > 1, next(iter(results.values()))
    table = [MetricTable.of_results(results).text(terminal)] if metrics or explain else []
    parts = [terminal.paint(terminal.wrap(_name_source(results, source)), "dim")]
    if many:
        models = Models(results).table
        parts += [terminal.wrap(models.summary), models.text(terminal, range(len(models))), *table]
    elif classes is None:
        parts += _format_result(first, terminal, table, explain=explain)
    else:
        parts += [
            *_classes(classes, terminal),
            *_format_result(classes.top, terminal, table, "top label: ", explain=explain),
        ]
    if explain:
        parts.append(terminal.terms(_legend(first)))
    if bins:
        parts += [_bins(model, result, terminal, many=many) for model, result in results.items()]
    if following:
        parts.append(terminal.wrap(f"Next: {', '.join(following)}", "  ", ""))
    return "\n\n".join(parts)


def _name_source(results: Mapping[str, Result], source: str) -> str:
    """Where the predictions come from, and how many there are."""
    sizes = {words.describe_source(result) for result in results.values()}
    return f"{printable(source)}: {sizes.pop() if len(sizes) == 1 else plural(len(results), 'model')}"


def _format_result(result: Result, terminal: Terminal, metrics: list[str], of: str = "", *, explain: bool) -> list[str]:
    """The status with the numbers behind it, the metrics, and the score bands."""
    verdict = result.verdict
    parts = metrics or [_fill(words.list_metrics(result), terminal)]
    if verdict is None:
        return parts
    head = _head(verdict.status, f"{of}{words.describe_head(result)}", terminal)
    lines = words.describe_notes(result)
    remarks = words.describe_remarks(verdict)  # which population the numbers describe is always shown
    shown = lines if explain else [*[line for line in lines if line not in remarks][:NOTES], *remarks]
    text = "\n".join(terminal.wrap(line, "  ", "  ") for line in shown)
    bands = []
    if verdict.bands:
        table = result.bands
        below = f"  * simultaneous over the {len(table)} bands" if len(table) > 1 else ""
        listed = table.text(terminal)
        bands = [f"{listed}\n{terminal.paint(below, 'dim')}" if below and "CI*" in listed else listed]
    return [head, *parts, *bands, *([text] if text else [])]


def _fill(texts: Sequence[str], terminal: Terminal) -> str:
    """Texts side by side, as many as fit a line."""
    lines = [""]
    for text in texts:
        longer = f"{lines[-1]}   {text}" if lines[-1] else f"  {text}"
        if len(longer) < terminal.width or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(f"  {text}")
    return "\n".join(lines)


def _head(verdict: Status, finding: str, terminal: Terminal) -> str:
    """The status in capitals and in its colour, and the numbers behind it, in bold."""
    word, style = _sign_word(verdict, terminal)
    first, *rest = terminal.wrap(f"{word}   {finding}", "  ", "").split("\n")
    bold = [terminal.paint(word, style) + terminal.paint(first.removeprefix(word), "bold")]
    return "\n".join([*bold, *(terminal.paint(line, "bold") for line in rest)])


def _sign_word(status: Status, terminal: Terminal) -> tuple[str, str]:
    """The status in capitals with its sign, and its colour."""
    plain, style = WORDS[status]
    return f"{words.label_sign(status) if terminal.unicode else plain} {status.upper()}", style


def _classes(found: ClassResults, terminal: Terminal) -> list[str]:
    """The verdict on all together, and each class against the rest, the smallest p-values first."""
    table = found.table
    rows = table.order()[:CLASSES].tolist()
    lines = [found.summary]
    if len(rows) < len(table):
        lines.append(f"The {len(rows):,} with the smallest p-values are shown; --csv has all.")
    text = "\n".join(terminal.wrap(line, "  ", "  ") for line in lines)
    return [f"{_head(found.status, table.summary.rstrip('.'), terminal)}\n{text}", table.text(terminal, rows)]


def _legend(result: Result) -> list[tuple[str, str]]:
    terms = words.explain_metrics(result.metrics)
    if result.bounds:
        terms.append(("within cells", ON_GRID))
    if result.nulls:
        count = next(iter(result.nulls.values())).draws
        terms.append(
            ("if calibrated", f"the mean of {plural(count, 'simulation')}: labels simulated from the predictions")
        )
        terms.append(("p", P_VALUE))
    if result.intervals:
        terms.append(("CI", "bootstrap confidence interval of the metric"))
    return terms


def _bins(model: str, result: Result, terminal: Terminal, *, many: bool) -> str:
    if not result.tables:
        return terminal.wrap("None of these metrics has bins.")
    metric = next(iter(result.tables))
    table, cells, windows = result.bins, result.bins.cells(), result.in_windows(metric)
    ends = [f"{left:.4g} to {right:.4g}" for left, right in zip(table.left, table.right, strict=True)]
    accepted = [span if n else "" for span, n in zip(cells["accepted"], table.n, strict=True)]
    columns = [
        Column("scores", ends, left=True),
        Column("n", cells["n"], 2),
        Column(result.outcome, cells["k"], 4),
        Column("rate", cells["rate"]),
        Column("mean score", cells["mean"], 3),
        Column("accepted means" if windows else "accepted scores", accepted, 1),
        *([Column("p", cells["p_value"], 3)] if windows else []),
        Column(
            "rejected in 8 grids" if windows else "rejected",
            cells["rejected"],
            styles=["red" if n else "" for n in table.n_rejected],
        ),
    ]
    title = f"Bins of {metric}" + (f", {printable(model)}" if many else "")
    below = f"\n\n{terminal.wrap(EIGHT_GRIDS, '  ', '  ')}" if windows else ""
    return f"{terminal.paint(title, 'bold')}\n\n{terminal.table(columns)}{below}"


# ---- segments, slices, periods -------------------------------------------------------------------------------------


def format_segments(tables: Mapping[str, GroupTable], source: str, terminal: Terminal, *, worst: int) -> str:
    """How many segments are miscalibrated, which they are, and the worst of all."""
    parts = []
    for model, table in tables.items():
        about = f" of {printable(model)}" if len(tables) > 1 else ""
        title = f"{printable(source)}: {plural(len(table), 'segment')} by {printable(', '.join(table.by))}{about}"
        rows = (table.order()[:worst] if worst else table.order()).tolist()
        parts.append(terminal.paint(terminal.wrap(f"{title}, {_format_size(table)}"), "bold"))
        parts.append(table.text(terminal, rows))
        lines = list(table.sentences())
        if len(rows) < len(table):
            lines.append(f"The {len(rows):,} worst are shown; --worst 0 shows all.")
        parts.append("\n".join(terminal.wrap(line, "  ", "  ") for line in lines))
    terms = words.explain_columns(next(iter(tables.values())), "segment")
    return "\n\n".join([*parts, _explain(terms, parts[1], terminal)])


def format_slices(table: SliceTable, source: str, terminal: Terminal) -> str:
    """The miscalibrated slices, the largest loss first."""
    head, *rest = table.sentences()
    title = f"{printable(source)}: {plural(table.rows, 'row')}. {head}"
    parts = [terminal.paint(terminal.wrap(title), "bold")]
    if len(table):
        shown = table.text(terminal, range(len(table)))
        lines = [terminal.wrap(line, "  ", "  ") for line in rest]
        parts += [shown, *lines, _explain(words.explain_slices(table), shown, terminal)]
    return "\n\n".join(parts)


def format_drift(table: DriftTable, source: str, terminal: Terminal) -> str:
    """What all periods show together, then each in order of time."""
    length = "" if table.every is None else f" of {table.every}"
    title = f"{printable(source)}: {plural(len(table), 'period')}{length}, {_format_size(table)}"
    head, *lines = table.sentences()
    style = DRIFT_STYLES.get(table.drift_status, "red")
    text = [
        terminal.paint(terminal.wrap(head, "  ", "  "), style),
        *(terminal.wrap(line, "  ", "  ") for line in lines),
    ]
    shown = table.text(terminal, range(len(table)))
    parts = [terminal.paint(terminal.wrap(title), "bold"), "\n".join(text), shown]
    return "\n\n".join([*parts, _explain(words.explain_drift(table), shown, terminal)])


def _format_size(table: GroupTable | DriftTable) -> str:
    """How many predictions, and how many of them positive."""
    share = format_share(table.overall_prevalence)
    return f"{plural(int(table.n.sum()), 'prediction')}, {share} {table.outcome}"


def _explain(terms: Sequence[tuple[str, str]], table: str, terminal: Terminal) -> str:
    """What the headings of a table mean, those that it shows."""
    heads = table.splitlines()[0]
    return terminal.terms([term for term in terms if term[0] in heads])


def format_span(low: str, high: str) -> str:
    """Two ends, with their unit once."""
    return f"{low.removesuffix(' %')} to {high}" if low else ""


# ---- two models, plans, the gate -----------------------------------------------------------------------------------


def format_comparison(table: Comparison, source: str, terminal: Terminal) -> str:
    """Two models on the same rows."""
    first, second = map(printable, table.models)
    title = terminal.paint(terminal.wrap(f"{printable(source)}: {first} and {second} on the same rows"), "bold")
    lines = "\n".join(terminal.wrap(text, "  ", "  ") for text in table.sentences())
    terms = terminal.terms(words.explain_comparison(table))
    return "\n\n".join([title, lines, table.text(terminal, range(len(table))), terms])


def format_plan(found: Plan, terminal: Terminal) -> str:
    """Format the sample size that an error requires, or the odds ratios that a sample size detects."""
    how = f"with {words.format_percent(found.power)} power at a significance of {found.significance:g}"
    share = words.format_percent(found.prediction)
    if found.factor is None or found.ratio is None or found.fifth_rows is None:
        title = f"Detectable in {plural(found.rows, 'row')} of predictions of {share}, {how}: odds ratios"
        ends = (found.above, found.below), (found.fifth_above, found.fifth_below)
        found_by = [_describe_detectable(*each) for each in ends]
        firsts = tuple(ratios for ratios, _ in found_by)
        whats = "on all predictions", "confined to a fifth of the information"
        lasts = tuple(f"{what}{more}" for what, (_, more) in zip(whats, found_by, strict=True))
    else:
        actual = words.format_percent(found.ratio * found.prediction)
        title = (
            f"To detect that {actual} are positive when {share} are predicted (odds ratio {found.factor:.3g}), {how}, "
            "the verdict requires"
        )
        widest = len(f"{found.fifth_rows:,}")
        firsts = f"{found.rows:,}".rjust(widest), f"{found.fifth_rows:,}"
        lasts = "rows", "rows, if the error is confined to a fifth of the information"
    return f"{terminal.wrap(title)}\n\n{terminal.terms(list(zip(firsts, lasts, strict=True)))}"


def _describe_detectable(above: float, below: float) -> tuple[str, str]:
    """Return the detectable odds ratios above and below 1, and what is not detectable at any."""
    sides = {"above": (above, f"{above:.3g} or above"), "below": (below, f"{1 / below:.3g} or below")}
    blind = [side for side, (factor, _) in sides.items() if factor == math.inf]
    if len(blind) == len(sides):
        return "none", ": no odds ratio is detectable"
    ratios = ", ".join(text for side, (_, text) in sides.items() if side not in blind)
    return ratios, "".join(f"; no odds ratio {side} 1 is detectable" for side in blind)


def format_decision(decision: Decision, terminal: Terminal, most: int = 50) -> str:
    """The check results of a gate, worst first."""
    title = f"{terminal.paint(decision.status.upper(), MARKS[decision.status])}  {decision.summary}"
    lines = []
    for result in decision.worst()[:most]:
        size = "" if result.n is None else f" ({plural(result.n, 'row')})"
        text = f"{printable(words.label_place(result))}{size}: {printable(result.reason)}"
        status = terminal.paint(result.status.ljust(12), MARKS[result.status])
        lines.append(f"  {status}  {terminal.wrap(text, ' ' * 16).lstrip()}")
    if len(decision.results) > most:
        lines.append(f"  ... and {len(decision.results) - most:,} more; --csv and --json have all")
    names = dict.fromkeys(rule.metric for rule in decision.results.rule if rule.definition.of_metric)
    terms = words.explain_metrics({name: metric for name in names if (metric := find_metric(name)) is not None})
    parts = [title, "", *lines, *(["", terminal.terms(terms)] if terms else [])]
    advice = words.advise_decision(decision)
    parts += ["", terminal.wrap(" ".join(advice), "  ", "  ")] if advice else []
    return "\n".join(parts)


# ---- JSON and CSV --------------------------------------------------------------------------------------------------


def named_json(found: Mapping[str, Any]) -> str:
    """One result or table as its own `to_json` writes it; several by the names of their models."""
    return to_json(next(iter(found.values())) if len(found) == 1 else found)


def files_json(places: Sequence[Path]) -> str:
    """The names of files that were written, in the envelope of all JSON."""
    return json.dumps({**envelope("files"), "files": [str(place) for place in places]})


def read_results(path: str) -> dict[str, Result | ClassResults]:
    """What `named_json` wrote to a file; a single result goes by the file's name."""
    from truecal.results import ClassResults

    try:
        with name_place(path):
            found = from_json(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(
            f"{path!r} must be JSON as `truecal evaluate --json` writes it; it is not: {error}\n\n"
            "Hint: data in JSON are read line by line; name such a file .jsonl or give --format jsonl."
        ) from error
    named = found if isinstance(found, dict) else {Path(path).stem: found}
    for result in named.values():
        if not isinstance(result, (Result, ClassResults)):
            raise TypeError(f"{path!r} must hold results; it holds a {type(result).__name__}.")
    return named


def write_csv(records: Sequence[Record]) -> str:
    """Records below the names of their columns; nothing for NaN and None."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(records[0]), lineterminator="\n")
    writer.writeheader()
    for record in records:
        writer.writerow({name: None if _is_nan(value) else escape_csv(value) for name, value in record.items()})
    return stream.getvalue().rstrip("\n")


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def metric_records(results: Mapping[str, Result]) -> list[Record]:
    """A record for each metric and model."""
    return _records(MetricTable.of_results(results).arrays())


def bin_records(results: Mapping[str, Result]) -> list[Record]:
    """A record for each bin of each model's first metric."""
    numbers = [range(1, len(result.bins) + 1) for result in results.values()]
    return [
        record
        for count, (model, result) in zip(numbers, results.items(), strict=True)
        for record in _records({"bin": count, **result.bins.arrays()}, model=model)
    ]


def segment_records(tables: Mapping[str, GroupTable]) -> list[Record]:
    """A record for each segment and model, in the order of the tables."""
    return [record for model, table in tables.items() for record in table.records(model=model)]


def comparison_records(table: Comparison) -> list[Record]:
    """A record for each metric of two models."""
    first, second = table.models
    return table.records(first_model=first, second_model=second)


def check_records(decision: Decision) -> list[Record]:
    """A record for each check result of a gate, in the order of its rules."""
    return _records(decision.results.arrays())


def plan_records(found: Plan) -> list[Record]:
    """The one record of a plan."""
    return [asdict(found)]


def _records(columns: Mapping[str, Any], **more: Any) -> list[Record]:
    """The rows of some columns, each after what all have in common."""
    plain = [column.tolist() if isinstance(column, np.ndarray) else column for column in columns.values()]
    return [more | dict(zip(columns, row, strict=True)) for row in zip(*plain, strict=True)]
