"""The section on a recalibration: the calibration map, its held-out validation, and each segment."""

from __future__ import annotations

from truecal import words
from truecal._text import escape_html as escape
from truecal._text import prose_html
from truecal.reporting._figures import Figures
from truecal.reporting._page import PageColumn, write_table, write_view
from truecal.results import Recalibration


def write_recalibration(recalibration: Recalibration, figures: Figures, whose: str) -> str:
    """Write the map and its validation as sentences, a plot before and after, and tables."""
    text = " ".join(recalibration.sentences())
    notes = "".join(
        f'<p class="soft">Note on the rows that the map was fitted to: {prose_html(note)}.</p>'
        for note in recalibration.warnings()
    )
    validation = recalibration.validation
    inside = notes + _list_parameters(recalibration)
    if validation is not None:
        caption = "Before (above) and after (below): the odds ratio that the labels of each score window support."
        picture = figures.draw(
            "recalibration-picture", "recalibration", recalibration, label=recalibration.summary, caption=caption
        )
        effect = f"Before and after: {words.describe_method(validation)}"
        inside = picture + write_view("recalibration-effect", effect, validation.table) + inside
        if validation.segments is not None:
            caption = f"{validation.segments.summary}."
            inside += write_view("recalibration-segments", caption, validation.segments)
    offsets = recalibration.offset_table
    if offsets is not None and recalibration.offsets.any():
        inside += write_view("recalibration-offsets", f"{offsets.summary}.", offsets)
    return (
        f'<section id="recalibration"><h2>Recalibration{escape(whose)}</h2>'
        f'<p class="said">{prose_html(text)}</p>{inside}</section>'
    )


def _list_parameters(recalibration: Recalibration) -> str:
    """List the parameters of the map to their last digit, and the map as SQL."""
    one, kind = recalibration.map, recalibration.kind
    lines = {"kind": kind, "rows": f"{recalibration.n:,}", "positives": f"{recalibration.positives:,}"}
    if one.share < 1:
        lines["share of the fit"] = repr(one.share)
    if kind == "isotonic":
        lines["steps"] = f"{len(one.values):,}"
    if kind != "isotonic" or one.share < 1:
        lines |= {"intercept": repr(one.intercept), "slope of log p": repr(one.low)}
        lines["slope of -log(1 - p)"] = repr(one.high)
    score = recalibration.score
    lines["SQL"] = recalibration.to_sql(score if score and score.isidentifier() else "p")
    columns = [PageColumn("parameter", list(lines), text=True), PageColumn("value", list(lines.values()), text=True)]
    return write_table("recalibration-map", "Calibration map", columns)
