"""Answers: text for people, every number with its unit and with what is good; JSON and CSV for programs."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from truecal._errors import name_place
from truecal._text import Column, Terminal, escape_csv, lower_first, plural, printable, printable_lines
from truecal.inference import (
    OUTCOMES,
    SIGNS,
    TOO_FEW,
    Verdict,
    Word,
    format_p_value,
    format_percent,
    format_ratios,
    name_odds,
)
from truecal.inference import format_span as format_ratio_span
from truecal.metrics import LTCE, Measure, find_metric, range_level
from truecal.results import (
    EIGHT_GRIDS,
    Result,
    count_verdicts,
    envelope,
    format_share,
    from_json,
    rank_models,
    to_json,
)

if TYPE_CHECKING:
    from truecal.analysis import Look, Monitor
    from truecal.gate import Decision
    from truecal.inference import Plan
    from truecal.results import ClassResults, ClassTable, Comparison, DriftTable, GroupTable, SliceTable

Record = dict[str, Any]
WORDS = {"off": ("x", "red"), "consistent": ("+", "green"), "cannot tell": ("?", "yellow")}  # a sign in ASCII, a colour
MARKS = {"pass": "green", "fail": "red", "cannot tell": "yellow"}
OVERALL = {"right": "green", "consistent": "green", "cannot": "yellow"}  # by the first word; else red
ADJUSTED = {"holm": "; Holm's for all {}", "bh": "; Benjamini and Hochberg's for all {}", None: ""}
CLASSES = 20  # that are shown
NAME = 0.25  # the share of the width to which names shrink before columns are left out
NARROW, WIDE, ROOMY = 15, 25, 110  # the width of a bar of ratios, and of a terminal that has room for a wide one
RATIO_STEPS = (1.05, 1.1, 1.25, 1.5, 2, 3, 5, 10, 30, 100)
ON_GRID = "the lowest and highest value on these bins of cells, wherever in its cell a score lies; exact bins differ"
P_VALUE = (
    "how often a perfect model would look as bad, or, of log loss, Brier score and net benefit, be as far from what it "
    "expects; small means off"
)
VERDICT_P_VALUE = "how often right predictions would look as wrong, by {}"
TESTS = {None: "the tests of the verdict together", "total": "the total alone", "cox": "Cox's test alone"}
CERTAIN = "predictions of 0 and 1 are classes, and more rows tell no more: give the probabilities behind them"
UNSHOWN = "right predictions may exceed a limit by chance: raise it; --max-excess limits what is beyond chance"
ALLOWING = "--allow-cannot-tell lets pass what the verdict cannot tell"
WOULD_FIND = "the factor on {} that would have been found in four of five data sets, up as well as down"


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
) -> str:
    """The verdict on one model with all ranges of its predictions, or on several with the worst first; of several
    classes the verdict on all, each, and the most probable one. Metrics beside what chance would give are a line, or a
    table if wanted."""
    many = len(results) > 1
    parts = [terminal.paint(terminal.wrap(_name_source(results, source)), "dim")]
    if many:
        parts += [terminal.wrap(f"{count_verdicts(results)}."), terminal.table(_model_columns(results))]
    elif classes is None:
        parts += _finding(next(iter(results.values())), terminal)
    else:
        parts += [*_classes(classes, terminal), *_finding(classes.top, terminal, of="The most probable class")]
    if metrics or explain:
        parts.append(terminal.table(_metric_columns(results)))
    elif not many:
        parts += _metric_line(next(iter(results.values())), terminal)
    if explain:
        parts.append(terminal.terms(_legend(next(iter(results.values())))))
    if bins:
        parts += [_bins(model, result, terminal, many=many) for model, result in results.items()]
    return "\n\n".join(parts)


def _name_source(results: Mapping[str, Result], source: str) -> str:
    """Where the numbers come from, and of how many rows they are."""
    sizes = {
        f"{plural(result.n, 'prediction')}{f' ({result.region})' if result.region else ''}, "
        f"{format_share(result.prevalence)} {result.outcome}"
        for result in results.values()
    }
    return f"{printable(source)}: {sizes.pop() if len(sizes) == 1 else plural(len(results), 'model')}"


def _finding(result: Result, terminal: Terminal, of: str = "") -> list[str]:
    """The word with the finding, what supports it, and the ranges of predictions."""
    verdict = result.verdict
    if verdict is None:
        return [f"{result.finding}."]
    head = _head(verdict.word, f"{of}: {lower_first(result.finding)}" if of else result.finding, terminal)
    beyond = "" if verdict.tolerance is None else " for an error beyond the tolerance"
    refuted, chance = _refuted(result)
    share = f"{refuted} of predictions are refuted, {chance} by chance"
    share = "Too few predictions to say how many are refuted" if refuted == TOO_FEW else share
    lines = [f"All tests together: p {format_p_value(verdict.p_value)}{beyond}. {share}."]
    text = "\n".join(terminal.wrap(line, "  ", "  ") for line in [*lines, *result.evidence()])
    table = [terminal.table(_range_columns(result, terminal))] if result.ranges else []
    return [f"{head}\n{text}", *table]


def _head(verdict: Word, finding: str, terminal: Terminal) -> str:
    """The word of a verdict in its colour, and what was found, in bold."""
    word, style = _sign_word(verdict, terminal)
    first, *rest = terminal.wrap(f"{word}  {finding}", "  ", "").split("\n")
    bold = [terminal.paint(word, style) + terminal.paint(first.removeprefix(word), "bold")]
    return "\n".join([*bold, *(terminal.paint(line, "bold") for line in rest)])


def _sign_word(word: Word, terminal: Terminal) -> tuple[str, str]:
    """The word of a verdict with its sign, and its colour."""
    plain, style = WORDS[word]
    return f"{SIGNS[word] if terminal.unicode else plain} {word.upper()}", style


def _refuted(result: Result) -> tuple[str, str]:
    """The share of predictions that Local TCE refutes, and that which chance refutes of a right model."""
    if result.verdict is None:
        return "", ""
    chance = result.references.get("ltce")
    expected = f"{100 * result.significance:g} %" if chance is None else LTCE.format(chance.mean)
    return result.verdict.refuted, expected


def _range_columns(result: Result, terminal: Terminal) -> list[Column]:
    """All predictions in a few ranges, with a bar of the ratio; a direction where they are off."""
    found = result.ranges
    spans = [(part.ratio, part.factor.ratio_low, part.factor.ratio_high) for part in found]
    texts = [format_ratios(*span) if math.isfinite(span[0]) else None for span in spans]  # None: nothing was predicted
    styles = ["red" if part.direction else "" for part in found]
    level = f"{format_percent(1 - range_level(result.significance, len(found)))} interval"  # all hold together
    scale, bars = _draw_ratios(spans, WIDE if terminal.width >= ROOMY else NARROW)
    return [
        Column("prediction", result.range_names, left=True),
        Column("rows", [f"{part.rows:,}" for part in found], 1),
        Column("said", [format_share(part.shares[0]) for part in found], 3),
        Column("came", [format_share(part.shares[1]) for part in found], 2),
        Column("ratio", [f"x {text[0]}" if text else "none" for text in texts]),
        Column(level, [f"{text[1]} to {text[2]}" if text else "" for text in texts], 5, name="interval"),
        Column(scale, bars, 4, left=True, styles=styles, name="ratio as a bar"),
        Column("", [part.direction or "" for part in found], left=True, styles=styles),
    ]


def _draw_ratios(spans: Sequence[tuple[float, float, float]], width: int) -> tuple[str, list[str]]:
    """Ratios with their intervals as lines of text around 1, and the head of that scale, which is logarithmic. An
    interval touches the middle only if it holds 1; one that goes beyond the scale ends in < or >."""
    half = width // 2

    def reach(value: float) -> float:
        return abs(math.log(value)) if 0 < value < math.inf else 0.0

    known = [(reach(ratio), min(reach(low) or math.inf, reach(high) or math.inf)) for ratio, low, high in spans]
    most = max((max(span) for span in known if math.isfinite(span[1])), default=0.0)
    limit = next((step for step in RATIO_STEPS if math.log(step) >= 1.1 * most), RATIO_STEPS[-1])

    def place(value: float) -> int:
        at = -1.0 if value <= 0 else 1.0 if math.isinf(value) else math.log(value) / math.log(limit)
        return half + round(half * max(-1.0, min(1.0, at)))

    lines = []
    for ratio, low, high in spans:
        line = [" "] * width
        line[half] = "|"
        if math.isinf(ratio):
            lines.append("".join([*line[:-1], ">"]))
            continue
        first = max(place(low), half + 1) if low > 1 else place(low)
        last = min(place(high), half - 1) if high < 1 else place(high)
        line[first : last + 1] = [sign if sign == "|" else "-" for sign in line[first : last + 1]]
        if low * limit < 1:
            line[0] = "<"
        if high > limit:
            line[-1] = ">"
        if 1 / limit <= ratio <= limit:
            line[min(max(place(ratio), first), last)] = "+"
        lines.append("".join(line))
    left, right = f"/ {limit:g}", f"x {limit:g}"
    return f"{left:<{half}}|{right:>{half}}", lines


def _model_columns(results: Mapping[str, Result]) -> list[Column]:
    """Several models, the worst first: what was found, and how much is refuted."""
    names = rank_models(results)
    ranked = [results[name] for name in names]
    found = [result.verdict for result in ranked]
    refuted = [_refuted(result) for result in ranked]
    return [
        Column("model", [printable(name) for name in names], left=True, shrinks=NAME),
        Column(
            "verdict",
            ["" if each is None else each.word for each in found],
            left=True,
            styles=["" if each is None else WORDS[each.word][1] for each in found],
        ),
        Column("rows", [f"{result.n:,}" for result in ranked], 4),
        Column("refuted", [value for value, _ in refuted]),
        Column("by chance", [chance for _, chance in refuted]),
        Column("observed / predicted", [_ratio(each) for each in found], 1),
        Column("p", ["" if each is None else format_p_value(each.p_value).removeprefix("= ") for each in found], 3),
        Column("found", [result.short_finding for result in ranked], 5, left=True),
    ]


def _ratio(verdict: Verdict | None) -> str:
    if verdict is None or not verdict.expected > 0:
        return ""
    return format_ratio_span(verdict.ratio, *verdict.interval)


def _metric_line(result: Result, terminal: Terminal) -> list[str]:
    """The metrics beside Local TCE, each with what chance would give."""
    texts = []
    for name, metric in result.metrics.items():
        if name != "ltce" or result.verdict is None:
            more = []
            if name in result.bounds:
                more.append(f"{format_span(*map(metric.format, result.bounds[name]))} on the grid")
            if result.separated(name):
                more.append("the scores separate the labels")
            elif name in result.references:
                more.append(f"chance {metric.format(result.references[name].mean)}")
            texts.append(f"{name} {result.format(name)}" + f" ({', '.join(more)})" * bool(more))
    hint = "--explain: all of these with their p-values, and what the words mean"
    lines = [terminal.wrap(f"also {'; '.join(texts)}", "  ", "  ")] * bool(texts)
    lines.append(terminal.wrap(hint, "  ", "  "))
    return ["\n".join(terminal.paint(line, "dim") for text in lines for line in text.split("\n"))]


def _metric_columns(results: Mapping[str, Result]) -> list[Column]:
    records = metric_records(results)
    first = next(iter(results.values()))
    metrics = [results[record["model"]].metrics[record["metric"]] for record in records]

    def values(key: str) -> list[str]:
        pairs = zip(records, metrics, strict=True)
        return ["" if record[key] is None else metric.format(record[key]) for record, metric in pairs]

    def spans(low: str, high: str) -> list[str]:
        return [format_span(a, b) for a, b in zip(values(low), values(high), strict=True)]

    def once(words: Iterable[str]) -> list[str]:
        """What belongs to a metric, in the first of its rows."""
        return ["" if known else word for word, known in zip(words, again, strict=True)]

    names = [record["metric"] for record in records]
    again = [i > 0 and names[i - 1] == name for i, name in enumerate(names)]
    confidence = next((span.confidence for span in first.intervals.values()), 0.95)
    bounded = [record["metric"] in results[record["model"]].bounds for record in records]
    models = [printable(record["model"]) if len(results) > 1 else "" for record in records]
    p_values = ["" if record["p_value"] is None else _format_p(record["p_value"]) for record in records]
    on_grid = [span if known else "" for span, known in zip(spans("lowest", "highest"), bounded, strict=True)]
    return [
        Column("metric", once(names), left=True),
        Column("model", models, left=True),
        Column("value", values("value"), styles=["bold"] * len(records)),
        Column("on the grid", on_grid, 1),
        Column(f"{100 * confidence:g} % interval", spans("low", "high"), 2),
        Column("by chance", values("by_chance"), 1),
        Column("chance, 5 to 95 %", spans("chance_low", "chance_high"), 4),
        Column("excess", values("excess"), 3),
        Column("p-value", p_values),
        Column("bins", once(metric.bins for metric in metrics), 5, left=True),
    ]


def _format_p(p: float) -> str:
    return "none" if math.isnan(p) else f"{p:.3g}"


def _classes(found: ClassResults, terminal: Terminal) -> list[str]:
    """The verdict on all together, and each class against the rest, those that look worst first."""
    table = found.table
    rows = table.order()[:CLASSES].tolist()
    cells, verdicts = table.cells(rows=rows), [table.verdict[row] for row in rows]
    said = _words(table.verdict, [table.direction[row] for row in rows], rows)
    columns = [
        Column("class", cells["label"], left=True, shrinks=NAME),
        Column("predicted", cells["predicted"], 4),
        Column("came / expected", _counts(cells), 1),
        Column(f"obs / exp ({format_percent(1 - table.significance)})", _ratios(table, rows), 2, left=True),
        Column("ltce", cells["value"], 5),
        Column("p adjusted", cells["p_adjusted"]),
        Column("verdict", said, left=True, styles=[WORDS[word][1] for word in verdicts]),
    ]
    lines = [f"All together, the most probable class among them: p {format_p_value(found.p_value)}."]
    if len(rows) < len(table):
        lines.append(f"The {len(rows):,} with the smallest p-values are shown; --csv has all.")
    text = "\n".join(terminal.wrap(line, "  ", "  ") for line in lines)
    return [f"{_head(found.word, table.summary(), terminal)}\n{text}", terminal.table(columns)]


def _legend(result: Result) -> list[tuple[str, str]]:
    terms = _meanings(result.metrics)
    if result.bounds:
        terms.append(("on the grid", ON_GRID))
    if result.references:
        count = next(iter(result.references.values())).replicates
        terms.append(("by chance", f"the mean of {plural(count, 'perfect model')} with these scores"))
        terms.append(("p-value", P_VALUE))
    if result.intervals:
        terms.append(("interval", "where the metric lies on average over data like these"))
    return terms


def _meanings(metrics: Mapping[str, Measure]) -> list[tuple[str, str]]:
    """What metrics are; those that differ by their bins alone together."""
    names: dict[str, list[str]] = {}
    for name, metric in metrics.items():
        names.setdefault(metric.meaning, []).append(name)
    return [(", ".join(group), meaning) for meaning, group in names.items()]


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
            "refuted in 8 grids" if windows else "refuted",
            cells["refuted"],
            styles=["red" if n else "" for n in table.n_refuted],
        ),
    ]
    title = f"Bins of {metric}" + (f", {printable(model)}" if many else "")
    below = f"\n\n{terminal.wrap(EIGHT_GRIDS, '  ', '  ')}" if windows else ""
    return f"{terminal.paint(title, 'bold')}\n\n{terminal.table(columns)}{below}"


# ---- segments and windows ------------------------------------------------------------------------------------------


def format_segments(tables: Mapping[str, GroupTable], source: str, terminal: Terminal, *, worst: int) -> str:
    """How many segments are off, which they are, and the worst of all."""
    parts = []
    for model, table in tables.items():
        about = f" of {printable(model)}" if len(tables) > 1 else ""
        title = f"{printable(source)}: {plural(len(table), 'segment')} by {printable(', '.join(table.by))}{about}"
        rows = table.order()[:worst] if worst else table.order()
        parts.append(terminal.paint(terminal.wrap(f"{title}, {_format_size(table)}"), "bold"))
        parts.append(terminal.table(_segment_columns(table, rows.tolist())))
        lines = list(table.sentences())
        if len(rows) < len(table):
            lines.append(f"The {len(rows):,} worst are shown; --worst 0 shows all.")
        parts.append("\n".join(terminal.wrap(line, "  ", "  ") for line in lines))
    first = next(iter(tables.values()))
    together = " for all segments together" if first.adjust else ""
    terms = [
        ("obs / exp", f"{OUTCOMES[first.outcome]} over what was predicted, with {_name_level(first)}{together}"),
        (_p_heading(first), f"{VERDICT_P_VALUE.format(TESTS[first.part])}{ADJUSTED[first.adjust].format('segments')}"),
        ("would find", WOULD_FIND.format(name_odds(first.tolerance))),
        (first.metric.name, first.metric.meaning),
        ("on the grid", ON_GRID),
        ("by chance", "the mean of perfect models with the segment's scores"),
    ]
    return "\n\n".join([*parts, _explain(terms, parts[1], terminal)])


def _segment_columns(table: GroupTable, rows: Sequence[int]) -> list[Column]:
    cells, words = table.cells(rows=rows), table.word
    styles = [WORDS[words[row]][1] for row in rows]
    on_grid = _spans(cells["lowest"], cells["highest"], (table.lowest < table.highest)[rows])
    asked = table.metric.name != LTCE.name  # for a metric that is not the default
    return [
        Column(
            printable(", ".join(table.by)) or "segment",
            _name_segments(table, rows),
            left=True,
            shrinks=NAME,
            styles=styles,
        ),
        Column("n", cells["n"], 1),
        Column("came / expected", _counts(cells), 4),
        Column("obs / exp (interval)", _ratios(table, rows), left=True, styles=["bold"] * len(rows)),
        Column(_p_heading(table), cells["p_adjusted"], 2, styles=styles),
        Column("verdict", _words(words, cells["direction"], rows), left=True, styles=styles),
        Column("would find", cells["detectable"], 5),
        Column(table.metric.name, cells["value"], 0 if asked else 6),
        Column("on the grid", on_grid, 1 if asked else 8),
        *([Column("by chance", cells["by_chance"], 7)] if table.replicates else []),
    ]


def _name_segments(table: GroupTable, rows: Sequence[int]) -> list[str]:
    """Segments by their values alone; the heading has the columns."""
    return [printable(", ".join(map(str, table.segment[row]))) for row in rows]


def _counts(cells: Mapping[str, Sequence[str]]) -> list[str]:
    """What came, and what was predicted."""
    return [f"{came} / {said}" for came, said in zip(cells["observed"], cells["expected"], strict=True)]


def _ratios(table: GroupTable | DriftTable | SliceTable | ClassTable, rows: Iterable[int]) -> list[str]:
    """Observed over expected, with its interval."""
    spans = [[float(column[row]) for column in (table.ratio, table.ratio_low, table.ratio_high)] for row in rows]
    return ["" if math.isnan(span[0]) else format_ratio_span(*span) for span in spans]


def _words(words: Sequence[str], ways: Sequence[str], rows: Iterable[int]) -> list[str]:
    """The verdict on each row, and which way it is off."""
    named = ["direction unclear" if way == "unclear" else way for way in ways]
    return [f"{words[row]}: {way}" if way else words[row] for row, way in zip(rows, named, strict=True)]


def format_slices(table: SliceTable, source: str, terminal: Terminal) -> str:
    """The groups that are off, the largest loss first."""
    title = terminal.wrap(f"{printable(source)}: {plural(table.rows, 'row')}. {table.summary()}.")
    parts = [terminal.paint(title, "bold")]
    if len(table):
        cells = table.cells()
        style = ["red"] * len(table)
        columns = [
            Column("slice", cells["slice"], left=True, shrinks=0.4),
            Column("n", cells["n"], 1),
            Column("came / expected", _counts(cells), 3),
            Column("obs / exp (interval)", _ratios(table, range(len(table))), left=True, styles=style),
            Column("p adjusted", cells["p_adjusted"], 2),
            Column("verdict", cells["direction"], left=True, styles=style),
        ]
        mended = ", once those above are mended" * (len(table) > 1)
        level = format_percent(1 - table.significance)
        terms = [
            ("obs / exp", f"positives over what was predicted{mended}, with a {level} interval for each by itself"),
            ("p adjusted", f"{VERDICT_P_VALUE.format(TESTS['total'])}; Bonferroni's for all groups searched"),
        ]
        parts += [terminal.table(columns), terminal.terms(terms)]
    return "\n\n".join(parts)


def slice_records(table: SliceTable) -> list[Record]:
    """A record for each group that is off."""
    return _records(table.arrays())


def format_drift(table: DriftTable, source: str, terminal: Terminal) -> str:
    """What is said of all windows together, then each in order of time."""
    length = "" if table.every is None else f" of {table.every}"
    title = f"{printable(source)}: {plural(len(table), 'window')}{length}, {_format_size(table)}"
    head, *lines = table.sentences()
    style = OVERALL.get(table.overall.split()[0], "red")
    said = [
        terminal.paint(terminal.wrap(head, "  ", "  "), style),
        *(terminal.wrap(line, "  ", "  ") for line in lines),
    ]
    shown = terminal.table(_window_columns(table))
    together = " for all windows together" if table.adjust else ""
    terms = [
        ("obs / exp", f"{OUTCOMES[table.outcome]} over what was predicted, with {_name_level(table)}{together}"),
        (_p_heading(table), f"{VERDICT_P_VALUE.format(TESTS[None])}{ADJUSTED[table.adjust].format('windows')}"),
        ("would find", WOULD_FIND.format(name_odds(table.tolerance))),
        ("against the baseline", f"what moved: the error of predictions, or the share of {OUTCOMES[table.outcome]}"),
        (table.metric.name, table.metric.meaning),
        ("on the grid", ON_GRID),
        ("by chance", "the mean of perfect models with the window's scores"),
    ]
    parts = [terminal.paint(terminal.wrap(title), "bold"), "\n".join(said), shown]
    return "\n\n".join([*parts, _explain(terms, shown, terminal)])


def _window_columns(table: DriftTable) -> list[Column]:
    from truecal.results import INCOMPLETE

    cells, words = table.cells(), table.verdict
    styles = ["dim" if word == INCOMPLETE else WORDS[word][1] for word in words]
    on_grid = _spans(cells["lowest"], cells["highest"], table.lowest < table.highest)
    asked = table.metric.name != LTCE.name  # for a metric that is not the default
    return [
        Column("window", cells["window"], left=True, styles=styles),
        Column("n", cells["n"], 1),
        Column("came / expected", _counts(cells), 4),
        Column("obs / exp (interval)", _ratios(table, range(len(table))), left=True, styles=["bold"] * len(table)),
        Column(_p_heading(table), cells["p_adjusted"], 2, styles=styles),
        Column("verdict", _words(words, cells["direction"], range(len(table))), left=True, styles=styles),
        Column("against the baseline", cells["compared"], 3, left=True),
        Column("would find", cells["detectable"], 6),
        Column(table.metric.name, cells["value"], 0 if asked else 7),
        Column("on the grid", on_grid, 1 if asked else 9),
        *([Column("by chance", cells["by_chance"], 8)] if table.replicates else []),
    ]


# ---- monitor -------------------------------------------------------------------------------------------------------


def format_monitor(monitor: Monitor, look: Look, source: str, terminal: Terminal) -> str:
    """What a monitor says, its streams, and what this look added."""
    table = monitor.table
    cells = table.cells()
    for name in ("direction", "since"):  # an e-value below 1 speaks for none
        cells[name] = [text if e >= 1 else "" for text, e in zip(cells[name], table.e_value.tolist(), strict=True)]
    alarms = ["red" if alarm else "" for alarm in table.alarm]
    columns = [
        Column("stream", cells["stream"], left=True, shrinks=NAME),
        Column("windows", cells["windows"], 4),
        Column("came / expected", _counts(cells), 1),
        Column("e-value", cells["e_value"], styles=alarms),
        Column("predictions are", cells["direction"], left=True, styles=alarms),
        Column("since", cells["since"], 2, left=True),
        Column("obs / exp since", cells["ratio"], 3),
    ]
    style = "red" if monitor.alarm else "bold"
    head, *rest = monitor.sentences()
    parts = [terminal.paint(terminal.wrap(head), style), *(terminal.wrap(text) for text in rest)]
    parts.append(terminal.wrap(f"{printable(source)}: {_tell_look(look)}"))
    return "\n".join(parts) + (f"\n\n{terminal.table(columns)}" if len(table) else "")


def _tell_look(look: Look) -> str:
    """What a look did, in words."""
    said = [f"{plural(len(look.counted), 'new window')} counted"]
    if look.known:
        said.append(f"{len(look.known):,} known before")
    if look.waiting:
        said.append(f"{len(look.waiting):,} waiting for labels, from {look.waiting[0]} on")
    return f"{', '.join(said)}."


def look_json(monitor: Monitor, look: Look) -> str:
    """A look as one line of JSON."""
    from datetime import UTC, datetime

    leading, e_value = monitor.leading, monitor.e_value
    found = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "alarm": monitor.alarm,
        "alarms": monitor.alarms,
        "stream": None if leading is None else monitor.name(leading),
        "e_value": float(f"{e_value:.4g}") if math.isfinite(e_value) else "inf",
        "threshold": monitor.threshold,
        "direction": monitor.direction,
        "since": None if monitor.since is None else str(monitor.since),
        "ratio": float(f"{monitor.ratio:.4g}") if math.isfinite(monitor.ratio) else None,
        "counted": len(look.counted),
        "last": str(look.counted[-1]) if look.counted else None,
        "waiting": len(look.waiting),
    }
    return json.dumps(found, ensure_ascii=False)


def stream_records(monitor: Monitor) -> list[dict[str, Any]]:
    """A monitor's streams as records."""
    return _records(monitor.table.arrays())


def prometheus(monitor: Monitor) -> str:
    """A monitor's streams in the text format that Prometheus collects."""
    table, lines = monitor.table, []
    gauges = {
        "alarm": ("1 if an alarm was raised", table.alarm),
        "e_value": ("evidence that predictions are no longer right", table.e_value),
        "observed": ("positives that came in these windows", table.observed),
        "expected": ("positives that were predicted in these windows", table.expected),
        "ratio": ("observed over expected positives since the change", table.ratio),
        "rows": ("rows in these windows", table.n),
        "windows": ("windows since the start or the last reset", table.windows),
    }
    for name, (text, values) in gauges.items():
        lines += [f"# HELP truecal_{name} {text}", f"# TYPE truecal_{name} gauge"]
        for stream, value in zip(table.stream, values.tolist(), strict=True):
            label = printable_lines(stream).replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
            lines.append(f'truecal_{name}{{stream="{label}"}} {_prometheus_number(float(value))}')
    lines += ["# HELP truecal_threshold the e-value that raises an alarm", "# TYPE truecal_threshold gauge"]
    return "\n".join([*lines, f"truecal_threshold {monitor.threshold:g}", ""])


def _prometheus_number(value: float) -> str:
    return "NaN" if math.isnan(value) else "+Inf" if value == math.inf else f"{value:.12g}"


def _format_size(table: GroupTable | DriftTable) -> str:
    """How many predictions, and how many of them positive."""
    share = format_share(table.overall_prevalence)
    return f"{plural(int(table.n.sum()), 'prediction')}, {share} {table.outcome}"


def _name_level(table: GroupTable | DriftTable) -> str:
    """The intervals of a table: exact ones are of independent rows."""
    exact = "" if np.any(table.design_effect != 1) else "exact "
    return f"{'an ' if exact else 'a '}{exact}{format_percent(1 - table.significance)} interval"


def _p_heading(table: GroupTable | DriftTable) -> str:
    return "p adjusted" if table.adjust else "p"


def _spans(low: Sequence[str], high: Sequence[str], known: Iterable[bool]) -> list[str]:
    return [format_span(*ends) if there else "" for *ends, there in zip(low, high, known, strict=True)]


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
    a, b = map(printable, table.models)
    cells = table.cells()
    spans = _spans(cells["low"], cells["high"], [True] * len(table))
    columns = [
        Column("metric", cells["metric"], left=True),
        Column(a, cells["first"], 2),
        Column(b, cells["second"], 1),
        Column("difference", cells["difference"], styles=["bold"] * len(table)),
        Column(f"{100 * table.confidence[0]:g} % interval", spans, 3),
        Column("", cells["verdict"], left=True),
    ]
    lines = [terminal.wrap(printable(text), "  ", "  ") for text in table.sentences()]
    count = plural(int(table.replicates[0]), "replicate")
    terms = _meanings(table.metrics)
    best = sorted({f"{metric.best:g}" for metric in table.metrics.values() if metric.bad == "both"})
    far = f", or of their distances from {' and '.join(best)} where that is best" if best else ""
    low = any(metric.bad == "low" for metric in table.metrics.values())
    good = f"below 0 means that {a} is better{', unless higher is better' if low else ''}"
    terms.append(("difference", f"{a} minus {b}{far}; {good}"))
    terms.append(("interval", f"where the difference lies on average over data like these ({count})"))
    title = terminal.paint(terminal.wrap(f"{printable(source)}: {a} and {b} on the same rows"), "bold")
    return "\n\n".join([title, "\n".join(lines), terminal.table(columns), terminal.terms(terms)])


def format_plan(found: Plan, terminal: Terminal) -> str:
    """How much data it takes to find an error, or what so much data finds."""
    how = f"with a probability of {100 * found.power:g} % at a significance of {found.significance:g}"
    share = format_share(found.prediction)
    if found.factor is None or found.ratio is None or found.fifth_rows is None:
        title = f"In {plural(found.rows, 'row')} of predictions of {share} the verdict finds, {how}, odds that are"
        ends = (found.above, found.below), (found.fifth_above, found.fifth_below)
        found_by = [_describe_found(*each) for each in ends]
        firsts = tuple(factors for factors, _ in found_by)
        whats = "all of them", "a fifth of the evidence alone"
        lasts = tuple(text.format(what) for what, (_, text) in zip(whats, found_by, strict=True))
    else:
        actual = format_share(found.ratio * found.prediction)
        title = (
            f"To find that {actual} are positive where {share} are predicted (odds x {found.factor:.3g}), {how}, the "
            "verdict takes"
        )
        widest = len(f"{found.fifth_rows:,}")
        firsts = f"{found.rows:,}".rjust(widest), f"{found.fifth_rows:,}"
        lasts = "rows", "rows, if only a fifth of the evidence is off by that factor"
    return f"{terminal.wrap(title)}\n\n{terminal.terms(list(zip(firsts, lasts, strict=True)))}"


def _describe_found(above: float, below: float) -> tuple[str, str]:
    """The factors up and down from which on odds are found, and words for what is off; no factor may be enough."""
    ways = {"up": f"x {above:.3g}", "down": f"/ {below:.3g}"}
    blind = [way for way, factor in zip(ways, (above, below), strict=True) if factor == math.inf]
    if len(blind) == len(ways):
        return "none", "{}: whatever the factor, none would be found"
    factors = " or ".join(text for way, text in ways.items() if way not in blind)
    return factors, "or further off, {}" + "".join(
        f"; {way}, none would be found, whatever the factor" for way in blind
    )


def format_decision(decision: Decision, terminal: Terminal, most: int = 50) -> str:
    """The findings of a gate, worst first."""
    title = f"{terminal.paint(decision.status.upper(), MARKS[decision.status])}  {decision.summary()}"
    lines = []
    for finding in decision.worst()[:most]:
        where = printable(finding.model + (f" [{finding.segment}]" if finding.segment is not None else ""))
        size = "" if finding.n is None else f" ({plural(finding.n, 'row')})"
        text = terminal.wrap(f"{where}{size}: {printable(finding.reason)}", " " * 15).lstrip()
        lines.append(f"  {terminal.paint(finding.status.ljust(11), MARKS[finding.status])}  {text}")
    if len(decision.findings) > most:
        lines.append(f"  ... and {len(decision.findings) - most:,} more; --csv and --json have all")
    limits = (rule for rule in decision.findings.rule if rule.limit is not None and rule.kind != "dropped")
    names = dict.fromkeys(rule.metric for rule in limits)
    terms = _meanings({name: metric for name in names if (metric := find_metric(name)) is not None})
    parts = [title, "", *lines, *(["", terminal.terms(terms)] if terms else [])]
    if decision.status == "cannot tell":
        known = {"certain": CERTAIN, "unshown": UNSHOWN, "allowable": ALLOWING}
        advice = [text for name, text in known.items() if any(getattr(each, name) for each in decision.findings)]
        parts += ["", terminal.wrap(f"{'; '.join(advice)}.", "  ", "  ")] if advice else []
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
            f"{path!r} must be JSON as `truecal score --json` writes it; it is not: {error}\n\n"
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
    """A record for each metric and model: the value, what chance would give, the interval, the direction."""
    names = dict.fromkeys(name for result in results.values() for name in result.values)
    return [
        _metric_record(name, model, result)
        for name in names
        for model, result in results.items()
        if name in result.values
    ]


def _metric_record(name: str, model: str, result: Result) -> Record:
    chance, span, value = result.references.get(name), result.intervals.get(name), result.values[name]
    sides = (None, None) if result.metrics[name].rejection is None else result.direction(name)
    too_low, too_high = (None if side is None else 100 * side for side in sides)  # metrics that refute are in percent
    lowest, highest = result.bounds.get(name, (value, value))
    return {
        "metric": name,
        "model": model,
        "value": value,
        "lowest": lowest,
        "highest": highest,
        "unit": result.metrics[name].unit.name,
        "by_chance": chance and chance.mean,
        "chance_low": chance and chance.low,
        "chance_high": chance and chance.high,
        "excess": chance and chance.excess,
        "p_value": chance and chance.p_value,
        "low": span and span.low,
        "high": span and span.high,
        "too_low": too_low,
        "too_high": too_high,
        "n": result.n,
        "positives": result.positives,
        "verdict": result.verdict and result.verdict.word,
        "verdict_p": result.verdict and result.verdict.p_value,
    }


def bin_records(results: Mapping[str, Result]) -> list[Record]:
    """A record for each bin of each model's first metric."""
    numbers = [range(1, len(result.bins) + 1) for result in results.values()]
    return [
        record
        for count, (model, result) in zip(numbers, results.items(), strict=True)
        for record in _records({"bin": count, **result.bins.arrays()}, model=model)
    ]


def class_records(found: ClassResults) -> list[Record]:
    """A record for each class, in the order given."""
    return _records(found.table.arrays())


def segment_records(tables: Mapping[str, GroupTable]) -> list[Record]:
    """A record for each segment and model, in the order of the tables."""
    return [record for model, table in tables.items() for record in _records(table.arrays(), model=model)]


def window_records(table: DriftTable) -> list[Record]:
    """A record for each window, in order of time."""
    return _records(table.arrays() | {"window": table.names})


def comparison_records(table: Comparison) -> list[Record]:
    """A record for each metric of two models."""
    first, second = table.models
    return _records(table.arrays(), first_model=first, second_model=second)


def finding_records(decision: Decision) -> list[Record]:
    """A record for each finding of a gate, in the order of its rules."""
    return _records(decision.findings.arrays())


def plan_records(found: Plan) -> list[Record]:
    """The one record of a plan."""
    return [asdict(found)]


def _records(columns: Mapping[str, Any], **more: Any) -> list[Record]:
    """The rows of some columns, each after what all have in common."""
    plain = [column.tolist() if isinstance(column, np.ndarray) else column for column in columns.values()]
    return [more | dict(zip(columns, row, strict=True)) for row in zip(*plain, strict=True)]
