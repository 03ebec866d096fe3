"""Answers as text for people: every number with its unit, and with what is good."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from truecal._terminal import Column, Terminal, printable
from truecal.cli._records import metric_records
from truecal.inference import Plan
from truecal.metrics import METRICS, Metric
from truecal.results import Comparison, GroupTable, Result

if TYPE_CHECKING:
    from truecal.gate import Decision

MARKS = {"pass": "green", "fail": "red", "unknown": "yellow"}
ADJUSTED = {"holm": "; Holm's for all segments", "bh": "; Benjamini and Hochberg's for all segments", "none": ""}
CERTIFIED = "where the value of these bins surely lies, whatever the exact scores in their cells are"
P_VALUE = "how often a perfect model would look as bad; small means worse than chance"


def tell_results(results: Mapping[str, Result], source: str, terminal: Terminal, *, bins: bool = False) -> str:
    """The metrics of one or more models beside what chance would give."""
    many = len(results) > 1
    first = next(iter(results.values()))
    records = metric_records(results)
    metrics = [results[record["model"]].metrics[record["metric"]] for record in records]

    def column(key: str) -> list[str]:
        pairs = zip(records, metrics, strict=True)
        return ["" if record[key] is None else metric.format(record[key]) for record, metric in pairs]

    def spans(low: str, high: str) -> list[str]:
        return [format_span(a, b) for a, b in zip(column(low), column(high), strict=True)]

    names = [record["metric"] for record in records]
    again = [i > 0 and names[i - 1] == name for i, name in enumerate(names)]
    alarms = ["red" if (record["p_value"] or 1) <= first.significance else "" for record in records]
    confidence = next((span.confidence for span in first.intervals.values()), 0.95)
    bounded = [record["metric"] in results[record["model"]].bounds for record in records]
    certified = [span if known else "" for span, known in zip(spans("lowest", "highest"), bounded, strict=True)]
    p_values = ["" if record["p_value"] is None else f"{record['p_value']:.3g}" for record in records]
    columns = [
        Column("metric", ["" if known else name for name, known in zip(names, again, strict=True)], left=True),
        Column("model", [printable(record["model"]) for record in records] if many else [""] * len(records), left=True),
        Column("value", column("value"), styles=["bold"] * len(records)),
        Column("certified", certified, 1),
        Column(f"{100 * confidence:g} % interval", spans("low", "high"), 2),
        Column("by chance", column("by_chance"), 1),
        Column("chance, 5 to 95 %", spans("chance_low", "chance_high"), 4),
        Column("excess", column("excess"), 3),
        Column("p-value", p_values, styles=alarms),
        Column(
            "bins",
            ["" if known else bins for bins, known in zip((metric.bins for metric in metrics), again, strict=True)],
            5,
            left=True,
        ),
    ]
    parts = [_headline(results, source, terminal), terminal.table(columns)]
    parts += [_sentences(results, terminal), terminal.terms(_legend(first))]
    if bins:
        parts += [_bins(model, result, terminal, many=many) for model, result in results.items()]
    return "\n\n".join(part for part in parts if part)


def _headline(results: Mapping[str, Result], source: str, terminal: Terminal) -> str:
    sizes: dict[str, list[str]] = {}
    for model, result in results.items():
        region = f" ({result.region})" if result.region else ""
        size = f"{format_count(result.n, 'prediction')}{region}, {format_rate(result.prevalence)} positive"
        sizes.setdefault(size, []).append(printable(model))
    told = "; ".join(f"{', '.join(models)}: {size}" if len(sizes) > 1 else size for size, models in sizes.items())
    return terminal.paint(terminal.wrap(f"{printable(source)}: {told}"), "bold")


def _sentences(results: Mapping[str, Result], terminal: Terminal) -> str:
    """What the first metric says of each model."""
    lines = []
    for model, result in results.items():
        name, metric = next(iter(result.metrics.items()))
        who = f"{printable(model)}: " if len(results) > 1 else ""
        value, told = result.format(name), ""
        if metric.rejection is not None:
            too_low, too_high = result.direction(name)
            what = f"{value} of the predictions are refuted"
            ways = (
                f" ({100 * too_low:.2f} % are too low, {100 * too_high:.2f} % too high)" if too_low + too_high else ""
            )
        else:
            what, ways = f"{name} is {value}", ""
        style = ""
        if name in result.references:
            chance = result.references[name]
            low, high, mean = map(metric.format, (chance.low, chance.high, chance.mean))
            if chance.p_value <= result.significance:
                told, style = f", where a perfect model would have {mean}: worse than chance explains", "red"
            else:
                told = f", and a perfect model would have {format_span(low, high)}: no worse than chance explains"
        text = terminal.wrap(f"{who}{what}{ways}{told}.", "  ", "  ")
        lines += [terminal.paint(line, style) for line in text.splitlines()]
    return "\n".join(lines)


def _legend(result: Result) -> list[tuple[str, str]]:
    terms = _meanings(result.metrics)
    if result.bounds:
        terms.append(("certified", CERTIFIED))
    if result.references:
        count = next(iter(result.references.values())).replicates
        terms.append(("by chance", f"the mean of {count:,} perfect models with these scores"))
        terms.append(("p-value", P_VALUE))
    if result.intervals:
        terms.append(("interval", "where the metric lies on average over data like these"))
    return terms


def _meanings(metrics: Mapping[str, Metric]) -> list[tuple[str, str]]:
    """What metrics are; those that differ by their bins alone together."""
    names: dict[str, list[str]] = {}
    for name, metric in metrics.items():
        names.setdefault(metric.meaning, []).append(name)
    return [(", ".join(group), meaning) for meaning, group in names.items()]


def _bins(model: str, result: Result, terminal: Terminal, *, many: bool) -> str:
    table, rows = result.bins, range(len(result.bins))
    ends = [f"{table.left[i]:.4g} to {table.right[i]:.4g}" for i in rows]
    accepted = [f"{table.accepted_low[i]:.4g} to {table.accepted_high[i]:.4g}" if table.n[i] else "" for i in rows]

    def numbers(values: np.ndarray) -> list[str]:
        return [f"{values[i]:.4g}" if table.n[i] else "" for i in rows]

    shares = [f"{100 * table.refuted[i]:.1f} %" if table.n[i] else "" for i in rows]
    columns = [
        Column("scores", ends, left=True),
        Column("n", [f"{n:,}" for n in table.n.tolist()], 2),
        Column("positive", [f"{k:,}" for k in table.k.tolist()], 4),
        Column("rate", numbers(table.rate)),
        Column("mean score", numbers(table.mean), 3),
        Column("accepted scores", accepted, 1),
        Column("refuted", shares, styles=["red" if s and not s.startswith("0.0") else "" for s in shares]),
    ]
    title = f"Bins of {next(iter(result.tables))}" + (f", {printable(model)}" if many else "")
    return f"{terminal.paint(title, 'bold')}\n\n{terminal.table(columns)}"


def tell_segments(
    tables: Mapping[str, GroupTable], metric: str, source: str, terminal: Terminal, *, worst: int, adjust: str
) -> str:
    """The segments that look worst, those that are too small to be judged, and how many are wrong."""
    parts = []
    for model, table in tables.items():
        about = f" of {printable(model)}" if len(tables) > 1 else ""
        title = f"{printable(source)}: {format_count(len(table), 'segment')} by {printable(', '.join(table.by))}{about}"
        size = format_size(int(table.n.sum()), int(table.positives.sum()))
        rows = table.order()[:worst] if worst else table.order()
        parts.append(terminal.paint(terminal.wrap(f"{title}, {size}"), "bold"))
        parts.append(_segments(table, metric, rows, terminal, adjust))
        parts.append(_segment_sentences(table, len(rows), terminal))
    first = next(iter(tables.values()))
    terms = [
        (metric, first.metric.meaning),
        ("certified", CERTIFIED),
        ("by chance", "the mean of perfect models with the segment's scores"),
        ("p" + " adjusted" * (adjust != "none"), P_VALUE + ADJUSTED[adjust]),
        ("mostly", "whether the refuted predictions are too low or too high"),
        ("could see", "true rates beyond these would have been found in four of five data sets"),
    ]
    heads = parts[1].splitlines()[0]
    return "\n\n".join([*parts, terminal.terms([term for term in terms if term[0] in heads])])


def _segments(table: GroupTable, metric: str, rows: np.ndarray, terminal: Terminal, adjust: str) -> str:
    names, small = table.names, table.too_small

    def values(column: np.ndarray) -> list[str]:
        return [table.metric.format(column[i]) for i in rows]

    def ways(i: int) -> str:
        low, high = table.too_low[i], table.too_high[i]
        return "" if low == high else "too low" if low > high else "too high"

    def seen(i: int) -> str:
        low, high = ("none" if np.isnan(x) else format_rate(x) for x in (table.seen_below[i], table.seen_above[i]))
        return "too small" if small[i] else f"{low} / {high}"

    def certain(i: int) -> str:
        low, high = (table.metric.format(ends[i]) for ends in (table.lowest, table.highest))
        return format_span(low, high) if table.lowest[i] < table.highest[i] else ""

    def p_value(i: int) -> str:
        # as small as the draws allow; it may be smaller
        floor = math.isclose(table.p_value[i] * (table.replicates + 1), 1)
        return f"{'<= ' * floor}{table.p_adjusted[i]:.3g}"

    alarms = ["red" if table.alarm[i] else "" for i in rows]
    columns = [
        Column("segment", [printable(names[i]) for i in rows], left=True, styles=alarms),
        Column("n", [f"{table.n[i]:,}" for i in rows], 1),
        Column("positive", [format_rate(table.prevalence[i]) for i in rows], 5),
        Column("mean score", [format_rate(table.mean[i]) for i in rows], 6),
        Column(metric, values(table.value), styles=["bold"] * len(rows)),
        Column("certified", [certain(i) for i in rows], 2),
        Column("by chance", values(table.by_chance), 2),
        Column("excess", values(table.excess), 4),
        Column("p" if adjust == "none" else "p adjusted", [p_value(i) for i in rows], styles=alarms),
        Column("mostly", [ways(i) for i in rows], 3, left=True),
        Column("could see", [seen(i) for i in rows], 7, left=True),
    ]
    return terminal.table(columns)


def draws_needed(table: GroupTable) -> int:
    """How many perfect models must be drawn for one adjusted p-value to reach the alarm; 0 where there are enough."""
    needed = math.ceil(len(table) / table.significance) - 1
    return needed if needed > table.replicates else 0


def _segment_sentences(table: GroupTable, shown: int, terminal: Terminal) -> str:
    wrong = int(table.alarm.sum())
    told = (
        f"{wrong:,} of {len(table):,} segments {'is' if wrong == 1 else 'are'}"
        if wrong
        else "No segment is shown to be"
    )
    few = f", but {table.replicates:,} draws are too few to show any" if draws_needed(table) and not wrong else ""
    lines = [f"{told} worse than chance explains{few}."]
    if shown < len(table):
        lines.append(f"The {shown:,} worst are shown; --worst 0 shows all.")
    small = [name for name, flag in zip(table.names, table.too_small, strict=True) if flag]
    if small:
        more = f" and {len(small) - 10:,} more" if len(small) > 10 else ""
        lines.append(f"Too small to be refuted, whatever they hold: {printable('; '.join(small[:10]))}{more}.")
    return "\n".join(terminal.wrap(line, "  ", "  ") for line in lines)


def tell_differences(
    table: Comparison,
    source: str,
    terminal: Terminal,
) -> str:
    """Two models on the same rows."""
    a, b = map(printable, table.models)
    cells = table.cells()
    spans = [format_span(low, high) for low, high in zip(cells["low"], cells["high"], strict=True)]
    columns = [
        Column("metric", cells["metric"], left=True),
        Column(a, cells["first"], 2),
        Column(b, cells["second"], 1),
        Column("difference", cells["difference"], styles=["bold"] * len(table)),
        Column(f"{100 * table.confidence[0]:g} % interval", spans),
    ]
    lines = []
    for name in table.metric:
        found = table[name]
        if found.low <= 0 <= found.high:
            told = f"{name}: no difference beyond chance; the interval holds 0."
        else:
            better, worse = (a, b) if found.high < 0 else (b, a)
            told = f"{name}: {better} is better than {worse}, beyond chance; the interval does not hold 0."
        lines.append(terminal.wrap(told, "  ", "  "))
    count = int(table.replicates[0])
    terms = _meanings(table.metrics)
    terms.append(("difference", f"{a} minus {b}; below 0 means that {a} is better"))
    terms.append(("interval", f"where the difference lies on average over data like these ({count:,} replicates)"))
    title = terminal.paint(terminal.wrap(f"{printable(source)}: {a} and {b} on the same rows"), "bold")
    return "\n\n".join([title, terminal.table(columns), "\n".join(lines), terminal.terms(terms)])


def tell_plan(found: Plan, terminal: Terminal) -> str:
    """How much data it takes."""
    title = terminal.wrap(
        f"To show that predictions of {format_rate(found.predicted)} are wrong where the truth is "
        f"{format_rate(found.actual)}, in {100 * found.power:g} % of data sets (exact binomial test at "
        f"{found.significance:g}), it takes"
    )
    counts = [f"{found.bin_size:,}", f"{found.rows:,}", f"{found.rows_paper:,}"]
    widest = max(map(len, counts))
    words = [
        "predictions of about that size, in one bin",
        "rows in all, so that every bin of truecal is that large",
        "rows in all, with the bins of the paper (N / 20)",
    ]
    lines = []
    for count, word in zip(counts, words, strict=True):
        text = terminal.wrap(word, " " * (widest + 4))
        lines.append(f"  {terminal.paint(count.rjust(widest), 'bold')}  {text.lstrip()}")
    return f"{title}\n\n" + "\n".join(lines)


def tell_verdict(verdict: Decision, terminal: Terminal, most: int = 50) -> str:
    """The findings of a gate, worst first."""
    title = f"{terminal.paint(verdict.status.upper(), MARKS[verdict.status])}  {verdict.summary()}"
    lines = []
    for finding in verdict.worst()[:most]:
        where = printable(finding.model + (f" [{finding.segment}]" if finding.segment is not None else ""))
        size = "" if finding.n is None else f" ({format_count(finding.n, 'row')})"
        text = terminal.wrap(f"{where}{size}: {printable(finding.reason)}", " " * 11).lstrip()
        lines.append(f"  {terminal.paint(finding.status.ljust(7), MARKS[finding.status])}  {text}")
    if len(verdict.findings) > most:
        lines.append(f"  ... and {len(verdict.findings) - most:,} more; --csv and --json have all")
    names = dict.fromkeys(finding.rule.metric for finding in verdict.findings if finding.rule.metric in METRICS)
    terms = _meanings({name: METRICS[name] for name in names})
    return "\n".join([title, "", *lines, *(["", terminal.terms(terms)] if terms else [])])


def format_span(low: str, high: str) -> str:
    """Two ends, with their unit once."""
    return f"{low.removesuffix(' %')} to {high}" if low else ""


def format_rate(rate: float) -> str:
    """A probability in percent, with as many figures as tell it from 100 %."""
    return f"{100 * rate:.3g} %" if rate < 0.9995 or rate == 1 else f"{100 * rate:.5g} %"


def format_size(n: int, positives: int) -> str:
    """How many predictions, and how many of them positive."""
    return f"{format_count(n, 'prediction')}, {format_rate(positives / n)} positive"


def format_count(n: int, unit: str) -> str:
    """A number of things."""
    return f"{n:,} {unit}{'s' * (n != 1)}"
