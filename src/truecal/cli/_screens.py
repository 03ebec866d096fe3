"""The screens of commands: which sentences and tables stand where on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from truecal import words
from truecal._text import Terminal, format_percent, plural, printable
from truecal.metrics import find_metric
from truecal.results import STATUS_STYLES
from truecal.verdict import Status

if TYPE_CHECKING:
    from truecal.gate import Decision
    from truecal.results import ClassResults, Comparison, DriftTable, GroupTable, Result, SliceTable
    from truecal.verdict import Plan

CHECK_STYLES = {"pass": "green", "fail": "red", "inconclusive": "yellow"}
DRIFT_STYLES = {"stable": "green", "base rate shifted": "green", "consistent": "green", "inconclusive": "yellow"}
CLASS_ROWS = 20  # rows of a table of classes, which may have a thousand
NOTES = 2  # sentences below the verdict, unless all are asked for


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
    table = [_format_metrics(results, terminal)] if metrics or explain else []
    parts = [terminal.paint(terminal.wrap(_name_source(results, source)), "dim")]
    if many:
        from truecal.results import Models

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
        parts.append(terminal.terms(words.explain_result(first)))
    if bins:
        parts += [_bins(model, result, terminal, many=many) for model, result in results.items()]
    if following:
        line = f"Next: {', '.join(following)}"
        apart = (terminal.wrap(command, "    ", "  ") for command in following)
        parts.append(line if len(line) < terminal.width else "\n".join(["Next:", *apart]))
    return "\n\n".join(parts)


def _format_metrics(results: Mapping[str, Result], terminal: Terminal) -> str:
    """The table of metrics of all models."""
    from truecal.results import MetricTable

    return MetricTable.of_results(results).text(terminal)


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
        listed = table.text(terminal)
        below = words.explain_band_intervals(table) if "CI*" in listed else ()
        bands = ["\n".join([listed, *(terminal.paint(line, "dim") for line in below)])]
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
    word, style = f"{words.label_sign(verdict)} {verdict.upper()}", STATUS_STYLES[verdict]
    first, *rest = terminal.wrap(f"{word}   {finding}", "  ", "").split("\n")
    bold = [terminal.paint(word, style) + terminal.paint(first.removeprefix(word), "bold")]
    return "\n".join([*bold, *(terminal.paint(line, "bold") for line in rest)])


def _classes(found: ClassResults, terminal: Terminal) -> list[str]:
    """The verdict on all together, and each class against the rest, the smallest p-values first."""
    table = found.table
    rows = table.order()[:CLASS_ROWS].tolist()
    lines = [found.summary]
    if len(rows) < len(table):
        lines.append(f"The {len(rows):,} with the smallest p-values are shown; --csv has all.")
    text = "\n".join(terminal.wrap(line, "  ", "  ") for line in lines)
    return [f"{_head(found.status, table.summary.rstrip('.'), terminal)}\n{text}", table.text(terminal, rows)]


def _bins(model: str, result: Result, terminal: Terminal, *, many: bool) -> str:
    """The bins of the first metric that has any."""
    if not result.tables:
        return terminal.wrap("None of these metrics has bins.")
    title = f"Bins of {next(iter(result.tables))}" + (f", {printable(model)}" if many else "")
    parts = [terminal.paint(title, "bold"), result.bins.text(terminal, range(len(result.bins)))]
    remark = words.explain_bins(result.bins)
    return "\n\n".join([*parts, *([terminal.wrap(remark, "  ", "  ")] if remark else [])])


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
    share = format_percent(table.overall_prevalence)
    return f"{plural(int(table.n.sum()), 'prediction')}, {share} {table.outcome}"


def _explain(terms: Sequence[tuple[str, str]], table: str, terminal: Terminal) -> str:
    """What the headings of a table mean, those that it shows."""
    heads = table.splitlines()[0]
    return terminal.terms([term for term in terms if term[0] in heads])


# ---- two models, plans, the gate -----------------------------------------------------------------------------------


def format_comparison(table: Comparison, source: str, terminal: Terminal) -> str:
    """Two models on the same rows."""
    first, second = map(printable, table.models)
    title = terminal.paint(terminal.wrap(f"{printable(source)}: {first} and {second} on the same rows"), "bold")
    lines = "\n".join(terminal.wrap(text, "  ", "  ") for text in table.sentences())
    terms = terminal.terms(words.explain_comparison(table))
    return "\n\n".join([title, lines, table.text(terminal, range(len(table))), terms])


def format_plan(plan: Plan, terminal: Terminal) -> str:
    """The sample size that an error requires, or the odds ratios that a sample size detects."""
    return f"{terminal.wrap(words.summarize_plan(plan))}\n\n{terminal.terms(words.list_plan(plan))}"


def format_decision(decision: Decision, terminal: Terminal, most: int = 50) -> str:
    """The check results of a gate, worst first."""
    title = f"{terminal.paint(decision.status.upper(), CHECK_STYLES[decision.status])}  {decision.summary}"
    lines = []
    for result in decision.worst(most):
        size = "" if result.n is None else f" ({plural(result.n, 'row')})"
        text = f"{printable(words.label_place(result))}{size}: {printable(result.reason)}"
        status = terminal.paint(result.status.ljust(12), CHECK_STYLES[result.status])
        lines.append(f"  {status}  {terminal.wrap(text, ' ' * 16).lstrip()}")
    if len(decision.results) > most:
        lines.append(f"  ... and {len(decision.results) - most:,} more; --csv and --json have all")
    names = dict.fromkeys(rule.metric for rule in decision.results.rule if rule.definition.of_metric)
    terms = words.explain_metrics({name: metric for name in names if (metric := find_metric(name)) is not None})
    parts = [title, "", *lines, *(["", terminal.terms(terms)] if terms else [])]
    advice = words.advise_decision(decision)
    parts += ["", terminal.wrap(" ".join(advice), "  ", "  ")] if advice else []
    return "\n".join(parts)
