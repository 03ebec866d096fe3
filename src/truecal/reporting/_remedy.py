"""The section about a map that mends predictions: what it is, and what it does on rows that it was not fitted to."""

from __future__ import annotations

from truecal._text import escape_html as escape
from truecal._text import prose_html
from truecal.inference import Difference
from truecal.reporting._figures import Figures
from truecal.reporting._page import Column, write_table
from truecal.results import LEFT, FactorTable, Proof, ProofTable, Recalibration


def write_remedy(found: Recalibration, figures: Figures, whose: str) -> str:
    """The map in a sentence, its numbers, before and after as a picture and a table, and each segment."""
    text = " ".join(found.sentences())
    notes = "".join(
        f'<p class="soft">Note on the rows that it was fitted to: {prose_html(note)}.</p>' for note in found.notes
    )
    proof = found.proof
    inside = notes + _list_numbers(found)
    if proof is not None:
        caption = "Above before, below after: the factor on the odds that each window of scores speaks for."
        picture = figures.draw("remedy-picture", "recalibration", found, label=text, caption=caption)
        inside = picture + _list_changes(proof) + inside
        if proof.segments is not None:
            inside += _write_segments("remedy-segments", proof.segments)
    if found.factors is not None and found.offsets.any():
        inside += _write_segments("remedy-factors", found.factors)
    return (
        f'<section id="remedy"><h2>Remedy{escape(whose)}</h2><p class="said">{prose_html(text)}</p>{inside}</section>'
    )


def _list_numbers(found: Recalibration) -> str:
    """The numbers of the map, and itself as SQL."""
    one = found.map
    lines = {"kind": found.kind, "rows": f"{found.n:,}", "positives": f"{found.positives:,}"}
    if one.share < 1:
        lines["share of the fit"] = repr(one.share)
    if found.kind == "isotonic":
        lines["steps"] = f"{len(one.values):,}"
    if found.kind != "isotonic" or one.share < 1:
        lines |= {"intercept": repr(one.intercept), "slope of log p": repr(one.low)}
        lines["slope of -log(1 - p)"] = repr(one.high)
    lines["SQL"] = found.to_sql(found.score if found.score and found.score.isidentifier() else "p")
    columns = [Column("number", list(lines), text=True), Column("value", list(lines.values()), text=True)]
    return write_table("remedy-map", "The map", columns)


def _list_changes(proof: Proof) -> str:
    """Metrics and the verdict before and after, with intervals for the differences of losses."""
    values = {"verdict": proof.headlines}
    verdicts = proof.before.verdict, proof.after.verdict
    if verdicts[0] is not None and verdicts[1] is not None:
        values["observed / expected"] = f"{verdicts[0].ratio:.3f}", f"{verdicts[1].ratio:.3f}"
    for name in proof.before.values:
        values[name] = f"{proof.before[name]:.5g}", f"{proof.after[name]:.5g}"
    gaps = {"log_loss": proof.log_loss, "brier": proof.brier}
    columns = [
        Column("", list(values), text=True),
        Column("before", [before for before, _ in values.values()], text=True),
        Column("after", [after for _, after in values.values()], text=True),
        Column("falls by", [_span(gaps[name]) if name in gaps else "" for name in values], text=True),
    ]
    return write_table("remedy-table", f"Before and after, on {proof.how}", columns)


def _span(gap: Difference) -> str:
    return f"{gap.difference:.3g} ({gap.low:.3g} to {gap.high:.3g})"


def _write_segments(place: str, table: ProofTable | FactorTable) -> str:
    """A table of segments, under what it says."""
    units = {each.name: each.unit for each in table.columns}
    columns = [
        Column(table.heading(name), cells, text=units[name] in LEFT)
        for name, cells in table.cells(table._shown).items()
    ]
    return write_table(place, f"{table.summary()}.", columns, table.to_csv(), sorts=True)
