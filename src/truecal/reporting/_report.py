"""One HTML file that says how far the predictions of one or more models can be trusted, and opens anywhere offline."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from truecal._atomic import write_text
from truecal._errors import option
from truecal._text import about
from truecal._text import escape_html as escape
from truecal.inference import OUTCOMES, Verdict
from truecal.metrics import Quantile, Uniform, format_name
from truecal.plot import (
    Scale,
    check_models,
    choose_scale,
    describe_drift,
    describe_segments,
    get_table,
    group_metrics,
    list_binnings,
    load_bundle,
    make_figure,
)
from truecal.reporting._page import write_figure, write_glossary, write_page, write_table
from truecal.results import (
    BOTH,
    CALIBRATION,
    INCOMPLETE,
    PREVALENCE,
    TOO_SMALL,
    ClassResults,
    ClassTable,
    DriftTable,
    GroupTable,
    Result,
    SliceTable,
)

TONES = {"off": "bad", "cannot tell": "", "consistent": "good"}
Figures = dict[str, dict[str, Any]]  # what the script draws: by number and scale
BIN_COLUMNS = (
    *("bin", "left", "right", "n", "k", "rate", "mean", "accepted_low", "accepted_high", "n_refuted", "refuted"),
    *("too_low", "too_high", "ratio", "ratio_low", "ratio_high", "p_value", "p_adjusted"),
)
SEGMENT_COLUMNS = (
    *("segment", "n", "positives", "prevalence", "mean", "value", "by_chance", "excess", "p_value", "p_adjusted"),
    *("too_low", "too_high", "seen_below", "seen_above"),
)
DRIFT_COLUMNS = (
    *("window", "verdict", "n", "positives", "prevalence", "mean", "value", "low", "high", "by_chance", "p_value"),
    *("total_p", "p_adjusted", "ratio", "prevalence_p_adjusted"),
)

SLICE_COLUMNS = (
    *("slice", "n", "share", "observed", "expected", "ratio", "ratio_low", "ratio_high", "p_value", "p_adjusted"),
    *("direction", "loss"),
)
CLASS_COLUMNS = (
    *("label", "predicted", "observed", "expected", "ratio", "ratio_low", "ratio_high", "value", "p_value"),
    *("p_adjusted", "verdict"),
)


def report(
    results: Result | ClassResults | Mapping[str, Result],
    path: str | os.PathLike[str],
    *,
    title: str = "Calibration report",
    metric: str | None = None,
    scale: Scale | None = None,
    segments: GroupTable | None = None,
    slices: SliceTable | None = None,
    drift: DriftTable | None = None,
) -> Path:
    """Write results as one HTML file that needs nothing else, and return its path.

    Parameters
    ----------
    results
        A result, results by the names of their models, or those of a model of several classes: the most probable
        class as a model's result, and a table of all classes.
    path
        Where to; a file that is there is replaced when the new one is complete.
    metric : str, optional
        Whose bins are shown: by default those of TCE, and what is refuted along the scores by the first metric.
    scale : "linear" or "logit", optional
        Of the probability axes at first; the page has a switch. Chosen as in `plot.test_based` by default.
    segments : GroupTable, optional
        What was found by segment for the first of `results`, as a table, worst first, and a picture of the segments
        that exceed chance most.
    slices : SliceTable, optional
        What `slices` found for the first of `results`, as a table.
    drift : DriftTable, optional
        What `drift` found for the first of `results`, as a table and a picture of the windows.

    Examples
    --------
    >>> import truecal
    >>> result = truecal.evaluate([0, 1, 1, 0], [0.1, 0.7, 0.9, 0.3])
    >>> truecal.report({"my model": result}, "report.html")  # doctest: +SKIP
    """
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"{option('path')} of a report must end in .html; it is {os.fspath(path)!r}.")
    script, version = load_bundle()
    named = _name_results(results)
    for result in named.values():
        get_table(result, metric)
    figures: Figures = {}
    first = next(iter(named)) if len(named) > 1 else ""  # whose the segments and windows are, where that needs saying
    classes = results.table if isinstance(results, ClassResults) else None
    alarms = _describe_alarms(classes, segments, slices, drift, first)
    body = [f"<h1>{escape(title)}</h1>", _write_headline(named, alarms)]
    body += [_write_metrics(named, figures), _write_switch(choose_scale(named.values(), metric, scale))]
    for i, (name, result) in enumerate(named.items(), 1):
        body.append(_write_model(i, name, result, metric, figures, several=len(named) > 1))
    body += [] if classes is None else [_write_classes(classes)]
    body += [] if segments is None else [_write_segments(segments, figures, first)]
    body += [] if slices is None else [_write_slices(slices, first)]
    body += [] if drift is None else [_write_drift(drift, figures, first)]
    body += [_write_settings(named, version), write_glossary({result.outcome for result in named.values()})]
    return write_text(path, write_page(title, "\n".join(body), figures, script))


def _name_results(results: Result | ClassResults | Mapping[str, Result]) -> dict[str, Result]:
    if isinstance(results, Result):
        return {"model": results}
    if isinstance(results, ClassResults):
        return {"most probable class": results.top}
    return check_models(results)


def _add_figure(figures: Figures, number: str, size: str, words: tuple[str, str], kind: str, *data: Any) -> str:
    """Keep a figure for the script, on both scales where it has a probability axis, and write its place.

    `words` are its heading and its caption. A "free" figure is as high as it needs, others as the page says.
    """
    scaled = kind in ("test_based", "reliability", "errors", "binnings")
    figures[number] = {scale: make_figure(kind, *data, scale=scale) for scale in ("linear", "logit") if scaled}
    figures[number] = figures[number] or {"linear": make_figure(kind, *data)}
    if size != "free":
        for figure in figures[number].values():
            del figure["layout"]["height"]
    return write_figure(number, size, *words)


def _write_headline(named: dict[str, Result], alarms: str) -> str:
    """The verdict, and with several models that of each."""
    if len(named) == 1:
        ((name, result),) = named.items()
        return write_verdict(name, result, alarms, 'id="verdict"')
    words = [result.verdict.word for result in named.values() if result.verdict is not None]
    counts = ", ".join(f"<b>{words.count(word):,}</b> {word}" for word in TONES if word in words) or "no verdict"
    tone = "bad" if alarms else max((TONES[word] for word in words), key=("good", "", "bad").index, default="")
    text = (
        f"Of {len(named):,} models: {counts}. Whether two of them differ beyond chance, <code>truecal compare</code> "
        f"tells. {alarms}"
    )
    items = "".join(
        f'<li><a href="#model-{i}">{escape(name)}</a>: {_describe_shortly(result)}</li>'
        for i, (name, result) in enumerate(named.items(), 1)
    )
    return f'<p class="verdict {tone}" id="verdict">{text}</p><nav aria-label="Models"><ul>{items}</ul></nav>'


def _describe_shortly(result: Result) -> str:
    if result.verdict is None:
        return "no verdict"
    found = result.verdict
    return f"{found.sign} {escape(found.headline)}, {found.count(found)}"


def _describe_alarms(
    classes: ClassTable | None,
    segments: GroupTable | None,
    slices: SliceTable | None,
    drift: DriftTable | None,
    model: str,
) -> str:
    """What the sections below found, for someone who reads the top alone."""
    parts = []
    if classes is not None and (wrong := classes.verdict.count("off")):
        parts.append(f"{wrong:,} of {len(classes):,} classes")
    if segments is not None and (wrong := int(segments.alarm.sum())):
        parts.append(f"{wrong:,} of {len(segments):,} segments")
    if slices is not None and len(slices):
        parts.append(f"{len(slices):,} of {slices.searched:,} groups that were searched")
    if drift is not None and (wrong := len(drift.alarms)):
        parts.append(f"{wrong:,} of {len(drift):,} time windows")
    whose = f" of <b>{escape(model)}</b>" if model else ""
    where = f"in <b>{' and '.join(parts)}</b>."
    return f"But predictions{whose} are off, beyond what chance explains, {where}" if parts else ""


def write_verdict(name: str, result: Result, alarms: str = "", place: str = "") -> str:
    """The verdict on a model as HTML, for someone who does not know the numbers: the word, why, observed over expected,
    and the ranges of scores that are proven wrong. Never green where nothing could be told, or with `alarms`."""
    found = result.verdict
    if found is None:
        return f'<p class="verdict" {place}>No verdict on <b>{escape(name)}</b> was made. {alarms}</p>'
    tone = "bad" if alarms else TONES[found.word]
    low, high = found.interval
    level = f"{100 * (1 - found.significance):g} %"
    numbers = (
        f"Observed / expected {OUTCOMES[found.outcome]}: {about(found.observed)} / {about(found.expected)}"
        + (f" = {found.ratio:.3g} ({level} interval {low:.3g} to {high:.3g})" if found.expected > 0 else "")
        + f"; {found.headline}; Local TCE {found.local.value:.1f} %, where a right model has "
        f"{100 * found.significance:g} % on average."
    )
    why = escape(" ".join(found.reasons()))
    text = f"<b>{found.sign} {escape(name)}: {found.word}.</b> {why} {alarms}"
    ranges = _write_ranges(found, name) if found.ranges else ""
    return f'<p class="verdict {tone}" {place}>{text}<span class="soft">{escape(numbers)}</span></p>{ranges}'


def _write_ranges(verdict: Verdict, name: str) -> str:
    """The ranges of scores that are proven wrong, as a table."""
    heads = ("scores from", "to", "predictions are", "rows", "observed", "expected", "ratio", "from", "to")
    rows = [
        (
            *(f"{found.low:.4g}", f"{found.high:.4g}", found.direction, f"{found.rows:,}", about(found.observed)),
            *(about(found.expected), f"{found.ratio:.3g}"),
            *(f"{found.factor.ratio_low:.3g}", f"{found.factor.ratio_high:.3g}"),
        )
        for found in verdict.ranges
    ]
    head = "".join(f'<th scope="col">{text}</th>' for text in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    what = f"Ranges of scores of {name} that are wrong, whatever the number of windows looked at"
    level = f"{100 * (1 - verdict.significance):g} % intervals of the ratio"
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(what)}"><table class="ranges">'
        f"<caption>{escape(what)}; {level}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _write_switch(logit: bool) -> str:
    options = "".join(
        f'<label><input type="radio" name="scale" value="{name}"{" checked" * ((name == "logit") == logit)}> {name}'
        "</label>"
        for name in ("linear", "logit")
    )
    return f'<fieldset class="switch"><legend>probability axes</legend>{options}</fieldset>'


def _write_metrics(named: dict[str, Result], figures: Figures) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in named)
    names = dict.fromkeys(name for result in named.values() for name in result.values)
    rows = []
    for name in names:
        owner = next(result for result in named.values() if name in result.values)
        cells = "".join(f"<td>{_write_value(result, name)}</td>" for result in named.values())
        what = escape(owner.describe(name))
        label = f'{escape(format_name(name))}<span class="soft"> {what}</span>'
        rows.append(f'<tr><th scope="row" class="text">{label}</th>{cells}</tr>')
    counts = "".join(f"<td>{result.n:,}</td>" for result in named.values())
    rates = "".join(f"<td>{100 * result.prevalence:.4g} %</td>" for result in named.values())
    outcomes = ", ".join(dict.fromkeys(result.outcome for result in named.values()))
    notes = ""
    if any(result.references for result in named.values()):
        notes += "By chance: the mean of perfect models with these scores; p: how often they look as bad. "
    for level in sorted({span.confidence for result in named.values() for span in result.intervals.values()}):
        notes += f"{100 * level:g} % interval: where the metric lies on average over data like these. "
    table = (
        '<div class="wide" tabindex="0" role="region" aria-label="Metrics"><table id="metrics"><caption>Every '
        f'metric</caption><thead><tr><th scope="col">metric</th>{head}</tr></thead><tbody>'
        f'<tr><th scope="row">predictions</th>{counts}</tr><tr><th scope="row">{outcomes}</th>{rates}</tr>'
        f"{''.join(rows)}</tbody></table></div>"
        f'<p class="soft">{notes}</p>'
    )
    shared = [name for name in names if all(name in result.tables for result in named.values())]
    groups = group_metrics(next(iter(named.values())), shared)
    caption = "Dots are values, lines their intervals, grey is chance."
    plots = [
        _add_figure(figures, f"metrics-{i}", "free", (f"Metrics: {kind}", caption), "metrics", named, group)
        for i, (kind, group) in enumerate(groups.items())
    ]
    more = f"<details><summary>More metrics as pictures</summary>{''.join(plots[1:])}</details>" if plots[1:] else ""
    return f"<h2>Metrics</h2>{table}{''.join(plots[:1])}{more}"


def _write_value(result: Result, name: str) -> str:
    if name not in result.values:
        return ""
    text, metric = escape(result.format(name)), result.metrics[name]
    if name in result.bounds:
        low, high = map(metric.format, result.bounds[name])
        text += f'<span class="soft">{low} to {high} on bins of cells</span>'
    if name in result.references:
        found = result.references[name]
        text += f'<span class="soft">by chance {metric.format(found.mean)}, p {found.p_value:.2g}</span>'
    if name in result.intervals:
        text += f'<span class="soft">{result.format_interval(name)}</span>'
    return text


def _write_model(i: int, name: str, result: Result, metric: str | None, figures: Figures, *, several: bool) -> str:
    verdict = write_verdict(name, result) if several else ""  # that of a single model is at the top
    add = partial(_add_figure, figures)
    caption = (
        "For each bin: its predictions (the shape), the observed rate (orange-red line) and the predictions that "
        "the test accepts (blue band). Below: bin sizes in grey, refuted predictions in orange-red. Right: all "
        "predictions."
    )
    words = f"Test-based reliability diagram of {name}", caption
    plots = add(f"diagram-{i}", "", words, "test_based", result, metric)
    words = f"Refuted along the scores: {name}", "Share of predictions refuted, along the score axis."
    plots += add(f"errors-{i}", "low", words, "errors", result, metric)
    more = ""
    for kind, what in ((Uniform, "equal widths"), (Quantile, "equal sizes")):
        key = next((key for key in result.tables if isinstance(result.metrics[key].binning, kind)), None)
        if key is not None:
            caption = f"Observed rate against mean prediction, {result.metrics[key].bins}."
            words = f"Reliability diagram of {name}, {what}", caption
            more += add(f"{kind.__name__.lower()}-{i}", "", words, "reliability", result, key)
    if len(list_binnings(result)) > 1:
        caption = "Each way of binning the same predictions: edges dotted, sizes grey, observed rates orange-red."
        rows = add(f"binnings-{i}", "free", (f"The binnings of {name}", caption), "binnings", result)
        more += f'<details class="all"><summary>Binnings compared</summary>{rows}</details>'
    return (
        f'<section id="model-{i}"><h2>{escape(name)}</h2>{verdict}{plots}<div class="twin">{more}</div>'
        f"{_write_notes(result)}{_write_bins(i, name, result, metric)}</section>"
    )


def _write_notes(found: Result | GroupTable | SliceTable | DriftTable) -> str:
    return "".join(f'<p class="soft">Note: {escape(note)}.</p>' for note in found.notes)


def _write_bins(i: int, name: str, result: Result, metric: str | None) -> str:
    metric = result.pictured if metric is None else metric
    table = result.tables[metric]
    names = BIN_COLUMNS if result.adjust else BIN_COLUMNS[:-1]
    heads = {"ratio_low": f"{100 * (1 - result.significance):g} % interval from", "ratio_high": "to"}
    what = f"{len(table):,} bins of {format_name(metric)} for {name}"
    return f"<h3>Bins</h3>{write_table(f'bins-{i}', what, table, dict.fromkeys(names, '') | heads)}"


def _write_classes(table: ClassTable) -> str:
    """Each class against the rest: how many are off, and all as a table, smallest p-value first."""
    tone = "bad" if "off" in table.verdict else ""
    heads = dict.fromkeys(CLASS_COLUMNS, "")
    heads |= {"ratio_low": f"{100 * (1 - table.significance):g} % interval from", "ratio_high": "to"}
    heads |= {"value": format_name("ltce")}
    what = f"{len(table):,} classes, each against the rest, smallest p-value first"
    return (
        f'<section id="by-class"><h2>Classes</h2><p class="verdict {tone}">{escape(table.summary())}.</p>'
        f"{write_table('classes-table', what, table, heads, table.order().tolist())}</section>"
    )


def _write_segments(table: GroupTable, figures: Figures, model: str) -> str:
    """What was found by segment: how many are off, the worst as a picture, all as a table, worst first.

    `model` says whose segments they are; it is empty where the report has one model.
    """
    found = int(table.alarm.sum())
    text = (
        f"Of {len(table):,} segments <b>{found:,}</b> are beyond what chance explains (adjusted p-value of at most "
        f"{table.significance:g}). A small segment is not cleared by a high p-value: the last two columns say which "
        "rates it could have told from its mean prediction."
    )
    caption = (
        "Dots are values, grey is chance; orange-red ones are beyond it, after adjusting for the number of segments."
    )
    figure = _add_figure(figures, "segments", "free", (describe_segments(table), caption), "segments", table)
    heads = dict.fromkeys(SEGMENT_COLUMNS, "") | {"value": format_name(table.metric.name)}
    what = f"{len(table):,} segments{_whose(model)}, worst first: the smallest p-value, then the largest excess"
    return (
        f'<section id="by-segment"><h2>Segments{escape(_whose(model))}</h2>'
        f'<p class="verdict {"bad" if found else ""}">{text}</p>{figure}'
        f"{_write_notes(table)}{write_table('segments-table', what, table, heads, table.order().tolist())}</section>"
    )


def _write_slices(table: SliceTable, model: str) -> str:
    """Groups of rows that a search found to be off, as a sentence and a table, the largest loss first."""
    heads = dict.fromkeys(SLICE_COLUMNS, "")
    heads |= {"ratio_low": f"{100 * (1 - table.significance):g} % interval from", "ratio_high": "to"}
    what = f"{len(table):,} groups of rows whose predictions are off, the largest loss first"
    return (
        f'<section id="by-slice"><h2>Slices{escape(_whose(model))}</h2>'
        f'<p class="verdict {"bad" if len(table) else ""}">{escape(table.summary())}.</p>'
        f"{_write_notes(table)}{write_table('slices-table', what, table, heads) if len(table) else ''}</section>"
    )


def _write_drift(table: DriftTable, figures: Figures, model: str) -> str:
    """What was found by window of time: what moved, as a sentence, a picture and a table; `model` as for segments."""
    said = table.verdict
    alarms, moved = int(table.alarm.sum()), said.count(PREVALENCE[table.outcome])
    rate, outcomes = PREVALENCE[table.outcome].removesuffix(" moved"), OUTCOMES[table.outcome]
    mature = int(table.mature.sum())
    text = f"Of {mature:,} windows with complete labels, in <b>{alarms:,}</b> the predictions are off beyond chance"
    text += f" ({said.count(CALIBRATION):,} with the {rate} of the others, {said.count(BOTH):,} with another)."
    text += f" In <b>{moved:,}</b> the {rate} moved and nothing shows that the predictions did not follow it."
    if TOO_SMALL in said:
        text += f" <b>{said.count(TOO_SMALL):,}</b> of them have too few rows to tell."
    if INCOMPLETE in said:
        text += f" {said.count(INCOMPLETE):,} more have labels that are not complete, and raise no alarm."
    caption = (
        "Above: values with intervals, grey is chance, orange-red triangles are alarms, crosses are windows too small "
        f"to tell. Below: the share of {outcomes} with its exact interval beside the mean prediction; diamonds differ "
        "from the other windows."
    )
    words = describe_drift(table).replace("\n", ": "), caption
    heads = dict.fromkeys(DRIFT_COLUMNS, "") | {"value": format_name(table.metric.name)}
    heads |= {"low": f"{100 * table.confidence:g} % interval from", "high": "to"}
    what = f"{len(table):,} windows{_whose(model)}"
    return (
        f'<section id="by-window"><h2>Drift{escape(_whose(model))}</h2>'
        f'<p class="verdict {"bad" if alarms else ""}">{text}</p>'
        f"{_add_figure(figures, 'drift', 'free', words, 'drift', table)}"
        f"{_write_notes(table)}{write_table('drift-table', what, table, heads)}</section>"
    )


def _whose(model: str) -> str:
    return f" of {model}" if model else ""


def _write_settings(named: dict[str, Result], plotly: str) -> str:
    rows = []
    for name, result in named.items():
        cells = [
            result.rejection.name_test(),
            "none" if result.tolerance is None else repr(result.tolerance),
            result.adjust or "none",
            result.region or "all predictions",
            f"truecal {result.version}",
        ]
        row = "".join(f'<td class="text">{escape(cell)}</td>' for cell in cells)
        rows.append(f'<tr><th scope="row" class="text">{escape(name)}</th>{row}</tr>')
    heads = ("model", "test", "tolerance", "p-values adjusted", "judged", "evaluated by")
    head = "".join(f'<th scope="col" class="text">{text}</th>' for text in heads)
    written = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return (
        '<h2>Settings</h2><div class="wide" tabindex="0" role="region" aria-label="Settings"><table id="settings">'
        f"<caption>How the numbers were made</caption><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
        f'</table></div><p class="soft">Written {written} by Python {platform.python_version()} and plotly {plotly}.'
        "</p>"
    )
