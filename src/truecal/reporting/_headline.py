"""The top of the page: what was found, for someone who reads nothing else."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from truecal._text import escape_html as escape
from truecal._text import lower_first, plural, prose_html
from truecal.inference import TOO_FEW, Reference, format_p_value, format_span
from truecal.metrics import LTCE
from truecal.plot import Scale, make_thumbnail
from truecal.reporting._page import TONES, Column, write_badge, write_table
from truecal.results import ClassResults, Result, format_share, rank_models


def write_headline(
    result: Result,
    alarms: Sequence[str],
    level: int = 1,
    classes: ClassResults | None = None,
    advice: str | None = None,
) -> str:
    """The verdict on a model as a sentence, what supports it, and four numbers. Green only where nothing is off; of
    several classes the verdict is on all. An `advice` takes the place of that to recalibrate."""
    found = result.verdict
    if found is None:
        return f'<div class="verdict"><h{level}>{escape(result.finding)}</h{level}></div>'
    head, _, size = result.finding.partition(": ")
    more = f": <span>{escape(size)}</span>" if size else ""
    word, p_value = (found.word, found.p_value) if classes is None else (classes.word, classes.p_value)
    if classes is not None and word == "off" and found.word != "off":
        head = f"{classes.table.summary()}. The most probable class: {lower_first(head)}"
    tone = "unsure" if alarms and word == "consistent" else TONES[word]
    text, tiles = prose_html(" ".join(result.evidence(advice))), _write_tiles(result, p_value)
    return (
        f'<div class="verdict {tone}"><p>{write_badge(word, " overall" * bool(alarms))}</p>'
        f"<h{level}>{escape(head)}{more}</h{level}><p>{text}</p>{_write_alarms(alarms)}</div>{tiles}"
    )


def _write_alarms(alarms: Sequence[str]) -> str:
    """What the sections below found to be off, for someone who reads the top alone."""
    if not alarms:
        return ""
    return f'<p class="alarms">{write_badge("off")} {escape("; ".join(alarms))}.</p>'


def _write_tiles(result: Result, p_value: float) -> str:
    """Refuted, by chance, observed over predicted, and the p-value of the headline."""
    found = result.verdict
    if found is None:
        return ""
    chance = result.references.get("ltce")
    tiles = [
        (TOO_FEW, "predictions to say how many are refuted")
        if found.refuted == TOO_FEW
        else (found.refuted, f"of {plural(result.n, 'prediction')} refuted (Local TCE)"),
        (f"{100 * found.significance:g} %", "by chance, in a right model, on average")
        if chance is None
        else (
            LTCE.format(chance.mean),
            f"by chance, in a right model ({chance.low:.2f} to {LTCE.format(chance.high)})",
        ),
        ("none predicted", "observed / predicted")
        if not found.expected > 0
        else (
            f"\N{MULTIPLICATION SIGN} {format_span(found.ratio, *found.interval).partition(' ')[0]}",
            f"observed / predicted {format_span(found.ratio, *found.interval).partition(' ')[2]}",
        ),
        (f"p {format_p_value(p_value)}", "of all tests together: how often right predictions look as wrong"),
    ]
    items = "".join(f"<div><dt>{escape(text)}</dt><dd>{escape(number)}</dd></div>" for number, text in tiles)
    return f'<dl class="tiles">{items}</dl>'


def write_strip(named: Mapping[str, Result], scale: Scale, *, compared: bool) -> str:
    """All models in a table, the worst first, each with a small picture; and how they would be compared, unless they
    are."""
    order, numbers = rank_models(named), {name: i for i, name in enumerate(named, 1)}
    results = [named[name] for name in order]
    found = [result.verdict for result in results]
    chance = [result.references.get("ltce") for result in results]
    columns = [
        Column("verdict", ["" if each is None else write_badge(each.word) for each in found], text=True, html=True),
        Column(
            "model", [f'<a href="#model-{numbers[name]}">{escape(name)}</a>' for name in order], text=True, html=True
        ),
        Column("what was found", [result.short_finding for result in results], text=True),
        Column("refuted", ["" if each is None else each.refuted for each in found], named=True),
        Column(
            "by chance",
            [
                "" if each is None else f"{100 * each.significance:g} %" if drawn is None else LTCE.format(drawn.mean)
                for each, drawn in zip(found, chance, strict=True)
            ],
            named=True,
        ),
        Column(
            "observed / predicted",
            [
                "" if each is None or not each.expected > 0 else format_span(each.ratio, *each.interval)
                for each in found
            ],
            named=True,
        ),
        Column("", [make_thumbnail(result, result.finding, scale) for result in results], html=True),
    ]
    text = "The pictures: observed against predicted along the scores, above the line where more positives came."
    if not compared:
        text = f"`--compare`, or `compare` in Python, tells whether two models differ beyond chance. {text}"
    return f'{write_table("models", "Models, the worst first", columns)}<p class="soft">{prose_html(text)}</p>'


def describe_numbers(result: Result) -> str:
    """What a picture of a result shows, for those who cannot see it: the finding, and each range of scores."""
    parts = [
        f"{name}: {format_span(each.ratio, each.factor.ratio_low, each.factor.ratio_high)}"
        for name, each in zip(result.range_names, result.ranges, strict=True)
        if each.expected > 0
    ]
    return f"{result.finding}. Observed over predicted by range of predictions: {'; '.join(parts)}."


def describe_source(result: Result, source: str | None) -> str:
    """Where the numbers come from, in a line."""
    positives = f"{format_share(result.prevalence)} {result.outcome}"
    region = f" ({result.region})" if result.region else ""
    return " \N{MIDDLE DOT} ".join(filter(None, [source, f"{plural(result.n, 'row')}{region}", positives]))


def format_reference(found: Reference) -> str:
    """The p-value of a reference; the draws' smallest is a bound."""
    if math.isnan(found.p_value):
        return "none"
    floor = 1 / (found.replicates + 1)
    return f"\N{LESS-THAN OR EQUAL TO} {floor:.2g}" if found.p_value <= 1.000001 * floor else f"{found.p_value:.2g}"
