"""The sections about one model: where it is miscalibrated, the tests, and what is folded below."""

from __future__ import annotations

from collections.abc import Mapping

from truecal import words
from truecal._text import escape_html as escape
from truecal._text import plural, prose_html
from truecal.metrics import Direction, Quantile, Uniform, format_name
from truecal.plot import get_table, group_metrics, list_binnings
from truecal.reporting._figures import Figures
from truecal.reporting._page import PageColumn, write_table, write_view
from truecal.results import BinTable, ComponentTable, MetricTable, Result
from truecal.verdict import Verdict

ARROWS = {Direction.UNDER: "\N{BLACK UP-POINTING TRIANGLE}", Direction.OVER: "\N{BLACK DOWN-POINTING TRIANGLE}"}
DIRECTION_TONES = {Direction.UNDER: "low", Direction.OVER: "high"}


def write_where(number: int, name: str, result: Result, figures: Figures) -> str:
    """The diagram, beside the table of score bands."""
    caption = (
        "Above: observed against predicted in each score window, as an odds ratio, with its confidence interval as a "
        "box (an arrow: it goes on). Below: all predictions, those that are rejected, and those "
        "rejected on average if the "
        "model is calibrated; eight grids of windows are tested, of which one is drawn above."
    )
    diagram = figures.draw(
        f"diagram-{number}", "calibration", result, label=words.describe_bands(result), caption=caption, both=True
    )
    return f'<div class="where"><div>{diagram}</div><div>{_write_bands(number, name, result)}</div></div>'


def _write_bands(number: int, name: str, result: Result) -> str:
    """The score bands, with the direction as an arrow beside O/E."""
    if result.verdict is None or not result.verdict.bands:
        return ""
    table = result.bands
    tones = ["" if way is None else DIRECTION_TONES[way] for way in table.direction]
    cells = table.cells(["band", "n", "predicted", "observed"])
    columns = [PageColumn(table.heading(key), texts, text=key == "band") for key, texts in cells.items()]
    ratios = [
        f"{escape(over)}{_write_arrow(way)}<small>{escape(span)}</small>"
        for over, span, way in zip(table.over, table.interval, table.direction, strict=True)
    ]
    columns.append(PageColumn(f"O/E ({table.heading('interval').rstrip('*')})", ratios, html=True, tones=tones))
    within = "" if result.tolerance is None else " beyond the tolerance"
    signs = ", ".join(f"{ARROWS[way]} {way}" for way in ARROWS if way in table.direction)
    text = f"{f'{signs}; w' if signs else 'W'}ithout a sign: no miscalibration shown{within}."
    if len(table) > 1:
        text += f" Confidence intervals are simultaneous over the {len(table)} bands."
    return f'{write_table(f"bands-{number}", f"Score bands, {name}", columns)}<p class="soft">{escape(text)}</p>'


def _write_arrow(way: Direction | None) -> str:
    return f' <span aria-hidden="true">{ARROWS[way]}</span><span class="unseen"> {way}</span>' if way else ""


def write_sure(number: int, result: Result) -> str:
    """The component tests of the verdict, what was detectable, and the metrics if the model is calibrated."""
    found = result.verdict
    if found is None:
        return ""
    table = write_view(f"parts-{number}", "Component tests of the verdict", ComponentTable.of(found), file=False)
    notes = "".join(f'<p class="soft">{prose_html(note)}</p>' for note in words.list_notes(result.notes))
    beside = f"{_write_detectable(found)}{_write_nulls(number, result)}{notes}"
    return f'<div class="sure"><div>{table}</div><div>{beside}</div></div>'


def _write_detectable(found: Verdict) -> str:
    """The minimum detectable odds ratios."""
    text = escape(words.describe_detectable(found))
    return f"<h3>Minimum detectable odds ratio (80% power)</h3><p>{text}</p>"


def _write_nulls(number: int, result: Result) -> str:
    """The metrics that reject predictions, beside their values if the model is calibrated."""
    names = [name for name in result.nulls if name in result.tables and result.metrics[name].rejection]
    if not names:
        return ""
    table = MetricTable.of_results({"": result})
    rows = [table.metric.index(name) for name in names]
    count = plural(result.nulls[names[0]].draws, "simulated calibrated model")
    caption = f"Rejected predictions, and those of {count} with these scores"
    return write_view(
        f"null-{number}", caption, table, rows, ["title", "value", "null_mean", "null_span", "p"], file=False
    )


def write_metrics(named: Mapping[str, Result], figures: Figures) -> str:
    """Every metric: a row for each model, metrics one below the other."""
    table = MetricTable.of_results(named)
    names = ["title", "of", "value", "null_mean", "null_span", "p", "interval", "cell_bounds", "meaning"]
    levels = sorted({span.confidence for result in named.values() for span in result.intervals.values()})
    notes = [
        "If calibrated: the mean and the 5% and 95% quantiles under calibration (labels simulated from the "
        "predictions). p: the share of simulations as extreme; two-sided for log loss, Brier score and net benefit."
    ] * any(result.nulls for result in named.values())
    notes += [f"{100 * level:g}% CI: bootstrap confidence interval of the metric." for level in levels]
    text = f'<p class="soft">{escape(" ".join(notes))}</p>' if notes else ""
    view = write_view("metrics", "Every metric", table, names=names, file=False)
    return f"{view}{text}{_draw_metrics(named, figures)}"


def _draw_metrics(named: Mapping[str, Result], figures: Figures) -> str:
    first = next(iter(named.values()))
    shared = [name for name in first.tables if all(name in result.tables for result in named.values())]
    drawn = []
    for i, (kind, names) in enumerate(group_metrics(first, shared).items()):
        values = "; ".join(
            f"{format_name(name)} of {model} {result.format(name)}" for name in names for model, result in named.items()
        )
        caption = (
            f"{kind[0].upper()}{kind[1:]}: values (signs), confidence intervals (lines), means if calibrated (grey)."
        )
        drawn.append(figures.draw(f"metrics-{i}", "metrics", named, names, label=f"{values}.", caption=caption))
    return "".join(drawn)


def write_diagrams(number: int, name: str, result: Result, metric: str | None, figures: Figures) -> str:
    """The paper's diagram, reliability diagrams, and the binnings."""
    table = get_table(result, metric)
    shown = result.pictured if metric is None else metric
    bins = plural(len(table), "bin")
    label = f"{format_name(shown)} of {name}: {result.format(shown)} of predictions rejected in {bins}."
    caption = (
        "Test-based reliability diagram. For each bin: its predictions (the shape), the observed rate (line) and the "
        "predictions that the test accepts (grey band). Below: bin sizes, and those that are rejected. Right: "
        "all predictions."
    )
    drawn = figures.draw(f"paper-{number}", "test_reliability", result, metric, label=label, caption=caption)
    for kind in (Uniform, Quantile):
        key = next((key for key in result.tables if isinstance(result.metrics[key].binning, kind)), None)
        if key is not None:
            label = _describe_reliability(result.tables[key])
            caption = (
                "Observed rate against prediction: the isotonic curve (line), its 95% band if the model is calibrated "
                f"(grey), and rates with their 95% CI (dots) in {result.metrics[key].bins}."
            )
            drawn += figures.draw(
                f"{kind.__name__.lower()}-{number}", "reliability", result, key, label=label, caption=caption
            )
    if len(list_binnings(result)) > 1:
        label = "; ".join(f"{result.metrics[key].bins}: {len(result.tables[key]):,}" for key in list_binnings(result))
        caption = (
            "Each way of binning the same predictions: observed against predicted in each bin, as an odds "
            "ratio, with its confidence interval as a box. Below: all predictions."
        )
        drawn += figures.draw(f"binnings-{number}", "binnings", result, label=f"{label}.", caption=caption, texts=False)
    return drawn


def _describe_reliability(table: BinTable) -> str:
    inside = (table.rate_low <= table.mean) & (table.mean <= table.rate_high)
    filled = int((table.n > 0).sum())
    return f"The CI of the observed rate contains the mean prediction in {inside.sum():,} of {filled:,} bins."


def write_bins(number: int, name: str, result: Result, metric: str | None, *, full: bool = True) -> str:
    """The windows of the diagram; in `full` also the bins of the paper's, and both as files."""
    chosen = [next(iter(result.tables)), *([result.pictured] if full else [])] if metric is None else [metric]
    return "".join(
        _write_bin_table(f"bins-{number}" + f"-{i}" * (i > 0), name, result, key, files=full)
        for i, key in enumerate(dict.fromkeys(chosen))
    )


def _write_bin_table(number: str, name: str, result: Result, metric: str, *, files: bool) -> str:
    table = result.tables[metric]
    caption = " ".join(
        filter(None, [f"{plural(len(table), 'bin')} of {format_name(metric)} for {name}.", words.explain_bins(table)])
    )
    return write_view(number, caption, table, file=files)
