"""How the report's page is written: its frame, figures, tables and glossary. The style and the scripts are files.

The writers escape what they are given, but for `body` and `inside`, which are HTML.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from truecal._text import escape_html as escape
from truecal.inference import SIGNS, Word
from truecal.observations import Outcome

# no request leaves the page, whatever is in it
NO_BREAK = "\N{NO-BREAK SPACE}%"  # so that no line begins with the sign of a number
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; "
    "base-uri 'none'; form-action 'none'"
)
TONES: dict[Word, str] = {"off": "bad", "cannot tell": "unsure", "consistent": "good"}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its heading and its cells.

    Cells may be text, which is aligned and sorted as such, or `html`; `tones` are their classes. Those that are `named`
    have their heading beside them on a small screen.
    """

    head: str
    cells: Sequence[str]
    text: bool = False
    html: bool = False
    named: bool = False
    tones: Sequence[str] = ()


def write_page(title: str, body: str, figures: Mapping[str, Any] | None = None, plotly: str = "") -> str:
    """The whole page; with plotly's script it draws the figures, by the numbers of their places."""
    files = {name: Path(__file__).with_name(name).read_text(encoding="utf-8") for name in ("page.css", "page.js")}
    scripts = f"<script>\n{files['page.js']}</script>"
    if figures:
        data = json.dumps(figures, allow_nan=False, separators=(",", ":"))
        for sign in "<>&":
            data = data.replace(sign, f"\\u{ord(sign):04x}")
        drawing = Path(__file__).with_name("interactive.js").read_text(encoding="utf-8")
        scripts += f'\n<script type="application/json" id="figures">{data}</script>\n<script>{plotly}</script>\n'
        scripts += f"<script>\n{drawing}</script>"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"<title>{escape(title)}</title><style>\n{files['page.css']}</style></head>\n"
        f"<body><main>{re.sub('(?<=[0-9]) %', NO_BREAK, body)}</main>\n{scripts}</body></html>\n"
    )


def write_badge(word: Word, more: str = "") -> str:
    """A verdict with its sign, word and colour."""
    return (
        f'<span class="badge {TONES[word]}"><span aria-hidden="true">{SIGNS[word]} </span>{word}{escape(more)}</span>'
    )


def write_figure(number: str, inside: str, caption: str = "") -> str:
    """A picture with what it shows, below it."""
    below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f'<figure id="{number}">{inside}{below}</figure>'


def write_table(number: str, caption: str, columns: Sequence[Column], csv: str = "", *, sorts: bool = False) -> str:
    """A table, with its rows as a file where there is one; one that `sorts` does so by its headings."""
    heads = "".join(
        f'<th scope="col"{" class=text" * column.text}>'
        f"{f'<button type=button>{escape(column.head)}</button>' if sorts else escape(column.head)}</th>"
        for column in columns
    )
    cells = [[_write_cell(column, i) for i in range(len(column.cells))] for column in columns]
    rows = "".join(f"<tr>{''.join(row)}</tr>" for row in zip(*cells, strict=True))
    link = f'<p class="act">{_write_download(number, csv)}</p>' if csv else ""
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(caption)}">'
        f'<table id="{number}"{" class=sorts" * sorts}><caption>{escape(caption)}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>{link}"
    )


def _write_cell(column: Column, row: int) -> str:
    classes = " ".join(filter(None, ["text" * column.text, column.tones[row] if column.tones else ""]))
    look = f' class="{classes}"' if classes else ""
    look += f' data-head="{escape(column.head)}"' if column.named else ""
    cell = column.cells[row]
    return f"<td{look}>{cell if column.html else escape(cell)}</td>"


def _write_download(number: str, csv: str) -> str:
    """A link to a file that the page itself holds; eight digits of a number do."""
    csv = re.sub(r"\b\d+\.\d{7,}(e-\d+)?", lambda found: f"{float(found[0]):.8g}", csv)
    return f'<a download="truecal-{number}.csv" href="data:text/csv;charset=utf-8,{quote(csv, safe=",")}">CSV</a>'


def write_fold(number: str, title: str, inside: str) -> str:
    """A section that is closed at first, but not in print."""
    return f'<details id="{number}"><summary><h2>{escape(title)}</h2></summary>{inside}</details>'


EXPLANATIONS = {
    "Verdict": (
        "One p-value for all predictions together, from tests that look for different errors. Off: the data refute "
        "the predictions. Consistent: they do not, and a factor of 1.5 on all odds would have been found. Cannot tell: "
        "neither; there are too few positives."
    ),
    "Observed / predicted": (
        "The positives that came over the sum of the predictions; 2 means twice as many as predicted. Intervals are "
        "under a common factor on all odds, and exact for independent rows."
    ),
    "Local TCE": (
        "The percentage of predictions in windows of scores whose positives refute them. Windows are chosen without a "
        "look at the labels. A right model has 5 % on average at the usual level, 100 is worst. It says how many "
        "predictions are refuted; how far they are off, observed / predicted says."
    ),
    "TCE, test-based calibration error": (
        "Predictions of similar size are put into a bin. A prediction is refuted if a statistical test finds "
        "that, were it right, the bin's positives would be surprisingly many or few. TCE is the percentage "
        "of predictions refuted: 0 is best, 100 worst. Bins follow the labels, so a right model has some too: see "
        "what it has by chance."
    ),
    "By chance": (
        "What a number would be were the model perfectly calibrated, found by drawing labels from the predictions "
        "themselves. Only what exceeds it speaks against the model; p is the probability of a number at least as "
        "large by chance alone."
    ),
    "Interval": "Where a metric would lie, on average, over data sets of this size from the same source.",
    "Odds": "p / (1 - p). A factor on the odds keeps a probability between 0 and 1, however large it is.",
    "Evidence": "The sum of p (1 - p): how much the labels of these rows can tell about their predictions.",
    "Accepted": "The predictions that the test accepts for a bin, given its positives.",
    "ECE, ACE": (
        "The average distance between the observed rate and the mean prediction, over bins of equal width "
        "(ECE) or equal size (ACE). With rare events both are small, whatever the model."
    ),
    "MCE, RMSCE": "The largest such distance, and the root of its mean square.",
    "PAVA-BC bins": (
        "Bins found from the data so that observed rates rise from bin to bin, with a smallest and a largest size."
    ),
    "Logit axis": (
        "Stretches the ends of the probability axis, so that 0.1 % and 1 % are as far apart as 1 % and 10 %. "
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
    return f"<dl>{items}</dl><p class='soft'>{escape(CITATION)}</p>"
