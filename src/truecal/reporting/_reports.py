"""One HTML file that says how far the predictions of one or more models can be trusted, and opens anywhere offline."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from html import escape
from pathlib import Path

from truecal._atomic import write_text
from truecal._errors import option
from truecal.metrics import Quantile, Uniform, format_name
from truecal.plot import (
    Limits,
    binnings_figure,
    binnings_of,
    check_models,
    choose_scale,
    diagram_figure,
    errors_figure,
    metrics_figures,
    need_plotly,
    reliability_figure,
    table_of,
)
from truecal.reporting._report_page import (
    CITATION,
    EXPLANATIONS,
    SCRIPT,
    STYLE,
    as_rate,
    as_share,
    write_figure,
    write_table,
)
from truecal.reporting._report_sections import Figures, drift_section, segments_section
from truecal.results import (
    ClassResults,
    DriftTable,
    GroupTable,
    Result,
)

# no request leaves the page, whatever is in it
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; "
    "base-uri 'none'; form-action 'none'"
)
COLUMNS = {
    "bin": "bin",
    "left": "from",
    "right": "to",
    "n": "n",
    "k": "k",
    "rate": "rate",
    "mean": "mean prediction",
    "accepted_low": "accepted from",
    "accepted_high": "accepted to",
    "rejected": "rejected",
    "refuted": "share refuted",
    "too_low": "too low",
    "too_high": "too high",
    "ratio": "observed / expected",
    "ratio_low": "",  # with the level of its interval
    "ratio_high": "to",
    "p_value": "p-value",
    "p_adjusted": "adjusted",
}


def report(
    results: Result | ClassResults | Mapping[str, Result],
    path: str | os.PathLike[str],
    *,
    title: str = "Calibration report",
    metric: str | None = None,
    scale: Limits | None = None,
    segments: GroupTable | None = None,
    drift: DriftTable | None = None,
) -> Path:
    """Write results as one HTML file that needs nothing else, and return its path.

    Parameters
    ----------
    results
        A result, results by the names of their models, or those of the classes of one model.
    path
        Where to; a file that is there is replaced when the new one is complete.
    metric : str, optional
        Whose bins are shown; those of the first metric by default.
    scale : "linear" or "logit", optional
        Of the probability axes at first; the page has a switch. Chosen as in `draw_test_based` by default.
    segments : SegmentTable, optional
        What `truecal.segments` found for the first of `results`, as a table, worst first, and a picture of the segments
        that exceed chance most.
    drift : DriftTable, optional
        What `truecal.drift` found for the first of `results`, as a table and a picture of the windows.

    Examples
    --------
    >>> import truecal
    >>> result = truecal.evaluate([0, 1, 1, 0], [0.1, 0.7, 0.9, 0.3])
    >>> truecal.report({"my model": result}, "report.html")  # doctest: +SKIP
    """
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"{option('path')} of a report must end in .html; it is {os.fspath(path)!r}.")
    plotly = need_plotly()
    named = _named(results)
    for result in named.values():
        table_of(result, metric)
    logit = choose_scale(named.values(), metric, scale)
    text = _page(named, plotly.get_plotlyjs(), title, metric, logit=logit, segments=segments, drift=drift)
    return write_text(path, text)


def _named(results: Result | ClassResults | Mapping[str, Result]) -> dict[str, Result]:
    if isinstance(results, Result):
        return {"model": results}
    if isinstance(results, ClassResults):
        return {f"class {label}": result for label, result in results.per_class.items()}
    return check_models(results)


def _page(
    named: dict[str, Result],
    plotly: str,
    title: str,
    metric: str | None,
    *,
    logit: bool,
    segments: GroupTable | None,
    drift: DriftTable | None,
) -> str:
    figures: Figures = {}
    lead, tone = _lead(named, metric)
    several = len(named) > 1
    first = next(iter(named)) if several else ""  # whose the segments and windows are, where that needs saying
    alarms = _alarms(segments, drift, first)
    if alarms:
        lead, tone = f"{lead} {alarms}", "bad"
    body = [f"<h1>{escape(title)}</h1>", f'<p class="verdict {tone}" id="verdict">{lead}</p>']
    body += [_navigation(named, metric) if several else ""]
    body += [_metrics_section(named, figures), _switch(logit)]
    for i, (name, result) in enumerate(named.items(), 1):
        body.append(_model(i, name, result, metric, figures, several=several))
    body += [] if segments is None else [segments_section(segments, figures, first)]
    body += [] if drift is None else [drift_section(drift, figures, first)]
    body += [_settings(named, plotly), _explanations()]
    data = json.dumps(figures, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        data = data.replace(sign, f"\\u{ord(sign):04x}")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n<body><main>"
        + "\n".join(body)
        + f'</main>\n<script type="application/json" id="figures">{data}</script>\n'
        f"<script>{plotly}</script>\n<script>{SCRIPT}</script></body></html>\n"
    )


def _lead(named: dict[str, Result], metric: str | None) -> tuple[str, str]:
    if len(named) == 1:
        ((name, result),) = named.items()
        return verdict(name, result, metric)
    shares = {name: _share(result, metric) for name, result in named.items()}
    best, worst = min(shares, key=shares.__getitem__), max(shares, key=shares.__getitem__)
    text = (
        f"Of {len(named)} models, the data contradict <b>{escape(best)}</b> least ({shares[best]:.1f} % of its "
        f"predictions) and <b>{escape(worst)}</b> most ({shares[worst]:.1f} %). Whether they differ beyond chance, "
        "<code>truecal compare</code> tells."
    )
    return text, ""


def _alarms(segments: GroupTable | None, drift: DriftTable | None, model: str) -> str:
    """What the sections below found, for someone who reads the top alone."""
    parts = []
    if segments is not None and (wrong := int(segments.alarm.sum())):
        parts.append(f"{wrong:,} of {len(segments):,} segments")
    if drift is not None and (wrong := len(drift.alarms)):
        parts.append(f"{wrong:,} of {len(drift):,} time windows")
    whose = f" of <b>{escape(model)}</b>" if model else ""
    where = f"in <b>{' and '.join(parts)}</b>."
    return f"But predictions{whose} are off, beyond what chance explains, {where}" if parts else ""


def verdict(name: str, result: Result, metric: str | None = None) -> tuple[str, str]:
    """What a model's result says, as HTML for someone who does not know the numbers; and "good", "bad" or ""."""
    table = table_of(result, metric)
    refuted, too_high = int(table.n_refuted.sum()), int(table.n_too_high.sum())
    text = (
        f"The data contradict <b>{_share(result, metric):.1f} %</b> of the {result.n:,} predictions of "
        f"<b>{escape(name)}</b>."
    )
    tone = ""
    first = next(iter(result.tables)) if metric is None else metric
    if first in result.references:
        found = result.references[first]
        chance = ""
        if result.metrics[first].rejection is not None:
            chance = f"about {result.metrics[first].format(found.mean)} even for a perfect model, "
        if found.p_value <= result.significance:
            tone = "bad"
            text += f" Chance does not explain this ({chance}p = {found.p_value:.2g}): do not take them at face value."
        else:
            tone = "good"
            text += f" Chance explains this ({chance}p = {found.p_value:.2g}): no sign that they are wrong."
    elif refuted:
        text += " How much of this is chance was not examined (<code>reference=1000</code> does)."
    if refuted and tone != "good":
        side = "mostly too high" if too_high >= 0.8 * refuted else "mostly too low"
        mixed = 0.2 * refuted < too_high < 0.8 * refuted
        text += f" Those contradicted are {'too high in places and too low in others' if mixed else side}."
    held = table.n > 0
    expected = float((table.n[held] * table.mean[held]).sum())
    text += f" Expected positives: {expected:,.0f}; observed: {result.positives:,}."
    return text, tone


def _share(result: Result, metric: str | None) -> float:
    return 100 * int(table_of(result, metric).n_refuted.sum()) / result.n


def _switch(logit: bool) -> str:
    options = "".join(
        f'<label><input type="radio" name="scale" value="{name}"{" checked" * ((name == "logit") == logit)}> {name}'
        "</label>"
        for name in ("linear", "logit")
    )
    return f'<fieldset class="switch"><legend>probability axes</legend>{options}</fieldset>'


def _navigation(named: dict[str, Result], metric: str | None) -> str:
    said = {"good": ", no more than chance explains", "bad": ", more than chance explains", "": ""}
    items = "".join(
        f'<li><a href="#model-{i}">{escape(name)}</a>: {_share(result, metric):.1f} % contradicted'
        f"{said[verdict(name, result, metric)[1]]}</li>"
        for i, (name, result) in enumerate(named.items(), 1)
    )
    return f'<nav aria-label="Models"><ul>{items}</ul></nav>'


def _metrics_section(named: dict[str, Result], figures: Figures) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in named)
    names = dict.fromkeys(name for result in named.values() for name in result.values)
    rows = []
    for name in names:
        owner = next(result for result in named.values() if name in result.values)
        cells = "".join(f"<td>{_value(result, name)}</td>" for result in named.values())
        what = escape(owner.describe(name))
        label = f'{escape(format_name(name))}<span class="soft"> {what}</span>'
        rows.append(f'<tr><th scope="row" class="text">{label}</th>{cells}</tr>')
    counts = "".join(f"<td>{result.n:,}</td>" for result in named.values())
    rates = "".join(f"<td>{as_rate(result.prevalence)}</td>" for result in named.values())
    notes = ""
    if any(result.references for result in named.values()):
        notes += "By chance: the mean of perfect models with these scores; p: how often they look as bad. "
    for level in sorted({span.confidence for result in named.values() for span in result.intervals.values()}):
        notes += f"{100 * level:g} % interval: where the metric lies on average over data like these. "
    table = (
        '<div class="wide" tabindex="0" role="region" aria-label="Metrics"><table id="metrics"><caption>Every metric; '
        f'0 is best</caption><thead><tr><th scope="col">metric</th>{head}</tr></thead><tbody>'
        f'<tr><th scope="row">predictions</th>{counts}</tr><tr><th scope="row">positive</th>{rates}</tr>'
        f"{''.join(rows)}</tbody></table></div>"
        f'<p class="soft">{notes}</p>'
    )
    plots = []
    for kind, figure in metrics_figures(named).items():
        number = f"metrics-{len(figures)}"
        figures[number] = {"linear": figure}
        plots.append(
            write_figure(number, "free", f"Metrics: {kind}", "Dots are values, lines their intervals, grey is chance.")
        )
    more = f"<details><summary>More metrics as pictures</summary>{''.join(plots[1:])}</details>" if plots[1:] else ""
    return f"<h2>Metrics</h2>{table}{''.join(plots[:1])}{more}"


def _value(result: Result, name: str) -> str:
    if name not in result.values:
        return ""
    text, metric = escape(result.format(name)), result.metrics[name]
    if name in result.bounds:
        low, high = map(metric.format, result.bounds[name])
        text += f'<span class="soft">certified {low} to {high}</span>'
    if name in result.references:
        found = result.references[name]
        text += f'<span class="soft">by chance {metric.format(found.mean)}, p {found.p_value:.2g}</span>'
    if name in result.intervals:
        text += f'<span class="soft">{result.format_interval(name)}</span>'
    return text


def _model(i: int, name: str, result: Result, metric: str | None, figures: Figures, *, several: bool) -> str:
    text, tone = verdict(name, result, metric)
    said = f'<p class="verdict {tone}">{text}</p>' if several else ""  # that of a single model is at the top
    first = next(iter(result.tables)) if metric is None else metric
    scales: tuple[Limits, ...] = ("linear", "logit")
    figures[f"diagram-{i}"] = {scale: diagram_figure(result, metric, scale) for scale in scales}
    figures[f"errors-{i}"] = {scale: errors_figure(result, metric, scale) for scale in scales}
    plots = [
        write_figure(
            f"diagram-{i}",
            "",
            f"Test-based reliability diagram of {name}",
            "For each bin: its predictions (the shape), the observed rate (orange-red line) and the predictions that "
            "the test accepts (blue band). Below: bin sizes in grey, rejected predictions in orange-red. Right: all "
            "predictions.",
        ),
        write_figure(
            f"errors-{i}", "low", f"Where {name} is wrong", "Share of predictions rejected, along the score axis."
        ),
    ]
    twins = []
    for kind in (Uniform, Quantile):
        key = next((key for key, value in result.metrics.items() if isinstance(value.binning, kind)), None)
        if key is not None:
            number = f"{kind.__name__.lower()}-{i}"
            figures[number] = {scale: reliability_figure(result, key, scale) for scale in scales}
            caption = f"Observed rate against mean prediction, {result.metrics[key].bins}."
            what = "equal widths" if kind is Uniform else "equal sizes"
            twins.append(write_figure(number, "", f"Reliability diagram of {name}, {what}", caption))
    rows = binnings_of(result)
    if len(rows) > 1:
        figures[f"binnings-{i}"] = {scale: binnings_figure(result, scale) for scale in scales}
        caption = "Each way of binning the same predictions: edges dotted, sizes grey, observed rates orange-red."
        more = write_figure(f"binnings-{i}", "free", f"The binnings of {name}", caption)
        twins.append(f'<details class="all"><summary>Binnings compared</summary>{more}</details>')
    notes = "".join(f'<p class="soft">Note: {escape(note)}.</p>' for note in result.notes)
    return (
        f'<section id="model-{i}"><h2>{escape(name)}</h2>{said}{"".join(plots)}'
        f'<div class="twin">{"".join(twins)}</div>{notes}{_bins(i, name, result, first)}</section>'
    )


def _bins(i: int, name: str, result: Result, metric: str) -> str:
    table = result.tables[metric]
    columns = {"bin": list(range(1, len(table) + 1)), **{key: col.tolist() for key, col in table.arrays().items()}}
    names = {key: text for key, text in COLUMNS.items() if key != "p_adjusted" or result.adjust}
    names |= {"ratio_low": f"{100 * (1 - result.significance):g} % interval from"}
    formats = dict.fromkeys(("refuted", "too_low", "too_high"), as_share)
    what = f"{len(table):,} bins of {format_name(metric)} for {name}"
    return f"<h3>Bins</h3>{write_table(f'bins-{i}', what, names, columns, formats)}"


def _settings(named: dict[str, Result], plotly: str) -> str:
    rows = []
    for name, result in named.items():
        cells = [
            result.rejection.test_words,
            "none" if result.tolerance is None else repr(result.tolerance),
            result.adjust or "none",
            result.region or "all predictions",
            f"truecal {result.version}",
        ]
        row = "".join(f'<td class="text">{escape(cell)}</td>' for cell in cells)
        rows.append(f'<tr><th scope="row" class="text">{escape(name)}</th>{row}</tr>')
    heads = ("model", "test", "tolerance", "p-values adjusted", "judged", "evaluated by")
    head = "".join(f'<th scope="col" class="text">{text}</th>' for text in heads)
    version = need_plotly("plotly").__version__
    written = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return (
        '<h2>Settings</h2><div class="wide" tabindex="0" role="region" aria-label="Settings"><table id="settings">'
        f"<caption>How the numbers were made</caption><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
        f'</table></div><p class="soft">Written {written} by Python {platform.python_version()} and plotly {version}.'
        "</p>"
    )


def _explanations() -> str:
    items = "".join(f"<dt>{escape(term)}</dt><dd>{escape(text)}</dd>" for term, text in EXPLANATIONS.items())
    return f"<h2>What the numbers mean</h2><dl>{items}</dl><p class='soft'>{escape(CITATION)}</p>"
