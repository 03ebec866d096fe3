"""The top of the page: what was found, for someone who reads nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from truecal import words
from truecal._text import escape_html as escape
from truecal._text import format_percent, lower_first, plural, prose_html
from truecal.metrics import LTCE
from truecal.plot import Scale, make_thumbnail
from truecal.reporting._page import TONES, PageColumn, is_text, write_badge, write_table
from truecal.results import ClassResults, ModelTable, Result
from truecal.verdict import Status

NUMBERS = ("rejected", "null_mean", "ratio_ci")  # columns of models that small screens name beside their cells


def write_headline(
    result: Result,
    alarms: Sequence[str],
    level: int = 1,
    classes: ClassResults | None = None,
    advice: str | None = None,
) -> str:
    """The verdict on a model as a sentence, the evidence, and four numbers.

    Green only if nothing is miscalibrated; of several classes the verdict is on all. An `advice` takes the place of the
    one to recalibrate.
    """
    found = result.verdict
    if found is None:
        return f'<div class="verdict"><h{level}>{escape(result.summary)}</h{level}></div>'
    head, numbers = words.label_result(result), words.describe_numbers(found)
    between = "," if found.status == Status.MISCALIBRATED else ":"
    more = f"{between} <span>{escape(numbers)}</span>" if numbers else ""
    status, p_value = (found.status, found.p_value) if classes is None else (classes.status, classes.p_value)
    if classes is not None and status == "miscalibrated" and found.status != "miscalibrated":
        head = f"{classes.table.summary} Top label: {lower_first(head)}"
    tone = "unsure" if alarms and status == "consistent" else TONES[status]
    text, tiles = prose_html(" ".join(words.describe_support(result, advice))), _write_tiles(result, p_value)
    return (
        f'<div class="verdict {tone}"><p>{write_badge(status, " overall" * bool(alarms))}</p>'
        f"<h{level}>{escape(head)}{more}</h{level}><p>{text}</p>{_write_alarms(alarms)}</div>{tiles}"
    )


def _write_alarms(alarms: Sequence[str]) -> str:
    """What the sections below found to be miscalibrated, for someone who reads the top alone."""
    if not alarms:
        return ""
    return f'<p class="alarms">{write_badge(Status.MISCALIBRATED)} {escape("; ".join(alarms))}.</p>'


def _write_tiles(result: Result, p_value: float) -> str:
    """Rejected predictions, those of a calibrated model, O/E, and the p-value of the headline."""
    found = result.verdict
    if found is None:
        return ""
    null = result.nulls.get("ltce")
    span = "" if null is None else f" (5\N{EN DASH}95%: {words.format_metric_span(LTCE, null.low, null.high)})"
    low, high = found.interval
    known = math.isfinite(found.ratio)
    ratio, *ends = words.round_ratios(found.ratio, low, high) if known else ("none expected" if found.observed else "",)
    confidence = words.format_confidence(found.significance)
    interval = f" ({confidence} CI {ends[0]}\N{EN DASH}{ends[1]})" if known and low != high else ""
    tiles = [
        (
            words.format_rejected(result) if found.few else LTCE.format(found.local.value),
            f"of {plural(result.n, 'prediction')} rejected (Local TCE)",
        ),
        (
            words.format_null_mean(result) if null is None else LTCE.format(null.mean),
            f"rejected on average if calibrated{span}",
        ),
        (ratio or "undefined", f"O/E{interval}"),
        (words.format_p_value(p_value), "of the combined component tests"),
    ]
    items = "".join(f"<div><dt>{escape(text)}</dt><dd>{escape(number)}</dd></div>" for number, text in tiles)
    return f'<dl class="tiles">{items}</dl>'


def write_strip(named: Mapping[str, Result], scale: Scale, *, compared: bool) -> str:
    """All models in a table, the worst first, each with a small plot; and how to compare them, unless they are."""
    table, numbers = ModelTable.of(named), {name: i for i, name in enumerate(named, 1)}
    cells = table.shown_cells()
    cells["model"] = [f'<a href="#model-{numbers[name]}">{escape(name)}</a>' for name in table.model]
    cells["status"] = ["" if status is None else write_badge(status) for status in table.status]
    columns = [
        PageColumn(
            table.heading(name),
            texts,
            text=is_text(table, name),
            html=name in ("model", "status"),
            named=name in NUMBERS,
        )
        for name, texts in cells.items()
    ]
    thumbnails = [make_thumbnail(result, result.summary, scale) for result in table.results.values()]
    columns.append(PageColumn("", thumbnails, html=True))
    text = "The plots show observed against predicted along the scores; above the line, more positives were observed."
    if not compared:
        text = f"`--compare`, or `compare` in Python, tests whether two models differ. {text}"
    return f'{write_table("models", "Models, the worst first", columns)}<p class="soft">{prose_html(text)}</p>'


def write_source(result: Result, source: str | None) -> str:
    """Where the numbers come from, in a line."""
    positives = f"{format_percent(result.prevalence)} {result.outcome}"
    region = "" if result.region is None else f" ({words.describe_region(result.region)})"
    return " \N{MIDDLE DOT} ".join(filter(None, [source, f"{plural(result.n, 'row')}{region}", positives]))
