"""Drift as text for people: every window of time, and what moved."""

from __future__ import annotations

import math

from truecal._terminal import Column, Terminal, printable
from truecal.cli._answers import CERTIFIED, format_count, format_rate, format_size, format_span
from truecal.observations import Bools, Floats
from truecal.results import BOTH, CALIBRATION, INCOMPLETE, PREVALENCE, TOO_SMALL, DriftTable

STYLES = {BOTH: "red", CALIBRATION: "red", PREVALENCE: "yellow", INCOMPLETE: "dim", TOO_SMALL: "dim"}
P_VALUE = "how often a perfect model would look as bad, by the metric or by the number of positives"
ADJUSTED = {"holm": "; Holm's for all windows", "bh": "; Benjamini and Hochberg's for all windows", None: ""}


def tell_drift(table: DriftTable, metric: str, source: str, terminal: Terminal) -> str:
    """The windows in order of time, how many are wrong, and how many have another prevalence."""
    length = "" if table.every is None else f" of {table.every}"
    size = format_size(int(table.n.sum()), int(table.positives.sum()))
    title = terminal.wrap(f"{printable(source)}: {format_count(len(table), 'window')}{length}, {size}")
    shown = _table(table, metric, terminal)
    p_head = "p adjusted" if table.adjust else "p"
    terms = [
        ("positive", "share of positives"),
        ("predicted", "mean prediction"),
        (metric, table.metric.meaning),
        ("certified", CERTIFIED),
        ("by chance", "the mean of perfect models with the window's scores"),
        ("obs / exp", "positives over what was predicted; 1 is best"),
        (p_head, f"{P_VALUE}{ADJUSTED[table.adjust]}; up to {table.significance:g} is an alarm"),
    ]
    heads = shown.splitlines()[0]
    return "\n\n".join(
        [
            terminal.paint(title, "bold"),
            shown,
            _sentences(table, terminal),
            terminal.terms([term for term in terms if term[0] in heads]),
        ]
    )


def _table(table: DriftTable, metric: str, terminal: Terminal) -> str:
    said = table.verdict

    def values(column: Floats) -> list[str]:
        return [table.metric.format(value) for value in column.tolist()]

    def spans(low: Floats, high: Floats, known: Bools) -> list[str]:
        ends = zip(values(low), values(high), known.tolist(), strict=True)
        return [format_span(first, last) if there else "" for first, last, there in ends]

    alarms = ["red" if alarm else "" for alarm in table.alarm]
    p_values = ["" if math.isnan(p) else f"{p:.3g}" for p in table.p_adjusted.tolist()]
    columns = [
        Column("window", [printable(name) for name in table.names], left=True),
        Column("n", [f"{n:,}" for n in table.n.tolist()], 4),
        Column("positive", [format_rate(rate) for rate in table.prevalence.tolist()], 2),
        Column("predicted", [format_rate(mean) for mean in table.mean.tolist()], 3),
        Column(metric, values(table.value), styles=["bold"] * len(table)),
        Column("certified", spans(table.lowest, table.highest, table.lowest < table.highest), 1),
        Column(f"{100 * table.confidence:g} % interval", spans(table.low, table.high, table.low <= table.high), 5),
        Column("by chance", values(table.by_chance), 1),
        Column("p adjusted" if table.adjust else "p", p_values, styles=alarms),
        Column("obs / exp", [f"{ratio:.3g}" for ratio in table.ratio.tolist()], 6),
        Column("verdict", said, left=True, styles=[STYLES.get(word, "") for word in said]),
    ]
    return terminal.table(columns)


def _sentences(table: DriftTable, terminal: Terminal) -> str:
    said, alarms = table.verdict, int(table.alarm.sum())
    ripe = int(table.mature.sum()) - said.count(TOO_SMALL)
    judged = f"{format_count(ripe, 'window')}{' that could be judged' * (ripe < len(table))}"
    count = f"{alarms:,}" if alarms else "none"
    lines = [f"In {count} of {judged} the predictions are off beyond what chance explains."]
    if not ripe:
        lines = ["No window could be judged; longer ones may, such as --every 1w or 1mo."]
    if PREVALENCE in said:
        lines.append(
            f"In {said.count(PREVALENCE):,} the share of positives differs from that of the others, and nothing shows "
            "that the predictions did not follow."
        )
    for word, what in ((INCOMPLETE, "labels that are not complete: no alarm"), (TOO_SMALL, "too few rows to tell")):
        if word in said:
            few = said.count(word)
            lines.append(f"{format_count(few, 'window')} {'has' if few == 1 else 'have'} {what}.")
    return "\n".join(terminal.wrap(line, "  ", "  ") for line in lines)
