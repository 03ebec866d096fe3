"""How the report's page is written: its frame, figures, tables and glossary. The style and the script are files.

The writers escape what they are given, but for `body`, which is HTML.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from truecal._text import escape_html as escape
from truecal.observations import Outcome
from truecal.results import Table

# no request leaves the page, whatever is in it
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; "
    "base-uri 'none'; form-action 'none'"
)


def write_page(title: str, body: str, figures: Mapping[str, Any], plotly: str) -> str:
    """The whole page; the script draws the figures by name."""
    style, script = (Path(__file__).with_name(f"page.{kind}").read_text(encoding="utf-8") for kind in ("css", "js"))
    data = json.dumps(figures, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        data = data.replace(sign, f"\\u{ord(sign):04x}")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"<title>{escape(title)}</title><style>\n{style}</style></head>\n<body><main>{body}"
        f'</main>\n<script type="application/json" id="figures">{data}</script>\n'
        f"<script>{plotly}</script>\n<script>\n{script}</script></body></html>\n"
    )


def write_figure(number: str, size: str, label: str, caption: str) -> str:
    """The place of a figure, which the script draws."""
    return (
        f'<figure><h3>{escape(label)}</h3><div class="plot {size}" data-figure="{number}" id="{number}" role="img" '
        f'aria-label="{escape(label)}. {escape(caption)}"></div><figcaption>{escape(caption)}</figcaption></figure>'
    )


def write_table(
    number: str, what: str, table: Table, heads: Mapping[str, str], rows: Sequence[int] | None = None
) -> str:
    """Columns of a table that sorts and downloads, all rows or these; a column without a heading has its own."""
    what = escape(what)
    head = "".join(
        f'<th scope="col" aria-sort="none" data-name="{name}">'
        f'<button type="button">{escape(text or table.heading(name))}</button></th>'
        for name, text in heads.items()
    )
    cells = table.cells(list(heads), rows)
    order = range(len(table)) if rows is None else rows
    columns = []
    for name, texts in cells.items():
        values = getattr(table, name)
        columns.append([_write_cell(values[row], text) for row, text in zip(order, texts, strict=True)])
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in zip(*columns, strict=True))
    return (
        f"<p><button type='button' class='act csv' data-table='{number}' data-file='truecal-{number}.csv'>"
        f'Download as CSV</button></p><div class="wide" tabindex="0" role="region" aria-label="{what}">'
        f'<table class="sorts" id="{number}"><caption>{what}; a heading sorts</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _write_cell(value: Any, text: str) -> str:
    """A cell with what it sorts by: numbers as they are, all else as it is shown."""
    raw = text
    if isinstance(value, np.number):
        number = value.item()
        raw = "" if number != number else "Infinity" if number == float("inf") else repr(number)  # noqa: PLR0124
    return f'<td data-v="{escape(raw)}">{escape(text)}</td>'


EXPLANATIONS = {
    "Verdict": (
        "One p-value for all predictions together, from tests that look for different errors. Off: the data contradict "
        "the predictions. Consistent: they do not, and a factor of 1.5 on all odds would have been found. Cannot tell: "
        "neither; there are too few positives."
    ),
    "Local TCE": (
        "The percentage of predictions in windows of scores whose positives contradict them. Windows are chosen "
        "without a look at the labels. A right model has 5 % on average at the usual level, 100 is worst. It says how "
        "many predictions are refuted; how far they are off, observed over expected says."
    ),
    "TCE, test-based calibration error": (
        "Predictions of similar size are put into a bin. A prediction is refuted if a statistical test finds "
        "that, were it right, the bin's positives would be surprisingly many or few. TCE is the percentage "
        "of predictions refuted: 0 is best, 100 worst. Bins follow the labels, so a right model has some too: see "
        "what it has by chance."
    ),
    "By chance": (
        "What the number would be were the model perfectly calibrated, found by drawing labels from the "
        "predictions themselves. Only what exceeds it speaks against the model; p is the probability of a "
        "number at least as large by chance alone."
    ),
    "Interval": ("Where the number would lie, on average, over data sets of this size from the same source."),
    "Accepted": (
        "The predictions that the test accepts for a bin, given its positives: the range in which the truth "
        "plausibly lies."
    ),
    "Observed / expected": (
        "The positives of a bin over the sum of its predictions; 2 means twice as many as predicted. The "
        "interval is exact (Clopper-Pearson)."
    ),
    "ECE, ACE": (
        "The average distance between the observed rate and the mean prediction, over bins of equal width "
        "(ECE) or equal size (ACE). With rare events both are small, whatever the model."
    ),
    "MCE, RMSCE": ("The largest such distance, and the root of its mean square."),
    "PAVA-BC bins": (
        "Bins found from the data so that observed rates rise from bin to bin, with a smallest and a largest size."
    ),
    "Logit scale": (
        "Stretches the ends of the probability axis, so that 0.001 and 0.01 are as far apart as 0.01 and 0.1. "
        "Predictions of exactly 0 or 1, and the few far beyond the others, are shown at its margins and counted."
    ),
}

CITATION = (
    "Matsubara, Tax, Mudd, Guy. TCE: A Test-Based Approach to Measuring Calibration Error. Proceedings of the 39th "
    "Conference on Uncertainty in Artificial Intelligence (UAI), 2023. arXiv:2306.14343"
)


CORRECT = {
    "Most probable class": (
        "Of several classes the most probable one is judged: its probability, the confidence, is the prediction, and a "
        "row counts as positive where that class is the right one, so that the prediction was correct."
    )
}


def write_glossary(outcomes: Collection[Outcome]) -> str:
    """What the numbers mean, and where they come from, where these are counted."""
    terms = (CORRECT if "correct" in outcomes else {}) | EXPLANATIONS
    items = "".join(f"<dt>{escape(term)}</dt><dd>{escape(text)}</dd>" for term, text in terms.items())
    return f"<h2>What the numbers mean</h2><dl>{items}</dl><p class='soft'>{escape(CITATION)}</p>"
