"""How the report's page is written: its frame, figures, tables and glossary. The style and the script are files.

The writers escape what they are given, but for `body` and `inside`, which are HTML.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from truecal._text import escape_html as escape
from truecal.data import Outcome
from truecal.results import LEFT, Table
from truecal.verdict import Status
from truecal.words import label_sign

# no request leaves the page, whatever is in it
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)
TONES: dict[Status, str] = {Status.MISCALIBRATED: "bad", Status.INCONCLUSIVE: "unsure", Status.CONSISTENT: "good"}


@dataclass(frozen=True, slots=True)
class PageColumn:
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


def write_page(title: str, body: str) -> str:
    """The whole page."""
    files = {name: Path(__file__).with_name(name).read_text(encoding="utf-8") for name in ("page.css", "page.js")}
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"<title>{escape(title)}</title><style>\n{files['page.css']}</style></head>\n"
        f"<body><main>{body}</main>\n"
        f"<script>\n{files['page.js']}</script></body></html>\n"
    )


def write_badge(word: Status, more: str = "") -> str:
    """A verdict with its sign, word and colour."""
    sign = f'<span aria-hidden="true">{label_sign(word)} </span>'
    return f'<span class="badge {TONES[word]}">{sign}{word}{escape(more)}</span>'


def write_figure(number: str, inside: str, caption: str = "") -> str:
    """A picture with what it shows, below it."""
    below = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
    return f'<figure id="{number}">{inside}{below}</figure>'


def write_table(number: str, caption: str, columns: Sequence[PageColumn], csv: str = "", *, sorts: bool = False) -> str:
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


def write_view(
    number: str,
    caption: str,
    table: Table,
    rows: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
    *,
    file: bool = True,
) -> str:
    """The shown columns of a table, or those named; all rows or these. Its file has every column."""
    cells = table.shown_cells(rows) if names is None else table.cells(names, rows)
    columns = [
        PageColumn(table.heading(name), texts, text=is_text(table, name)) for name, texts in cells.items() if any(texts)
    ]
    return write_table(number, caption, columns, table.to_csv() if file else "", sorts=True)


def is_text(table: Table, name: str) -> bool:
    """Whether a column is aligned and sorted as text."""
    unit = next(each.unit for each in table.columns if each.name == name)
    return unit in LEFT and unit != "span"


def _write_cell(column: PageColumn, row: int) -> str:
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
        "One p-value for all predictions together, from component tests for different errors. Miscalibrated: it is at "
        "most the significance level. Consistent: it is not, and an odds ratio of 1.5 on all predictions would have "
        "been detected with 80% power. Inconclusive: neither; there are too few positives."
    ),
    "O/E, observed over expected": (
        "Observed positives over the sum of the predictions; 2 means twice as many as predicted. Confidence intervals "
        "assume a common odds ratio, and are exact for independent rows."
    ),
    "Local TCE": (
        "The percentage of predictions in score windows that a test rejects: truecal's own variant of TCE, not in the "
        "paper. Windows are chosen without the labels. A calibrated model has 5% on average at the usual level; 100% "
        "is worst. It measures how many predictions are rejected; O/E measures by how much they miss."
    ),
    "TCE, test-based calibration error": (
        "Predictions of similar size are put into a bin. A prediction is rejected if a statistical test finds "
        "that the bin's positives are too many or too few for it. TCE is the percentage of rejected predictions: 0 is "
        "best, 100 worst. Bins depend on the labels, so that a calibrated model has rejected predictions, too: compare "
        "with the mean if calibrated."
    ),
    "If calibrated": (
        "The null distribution of a metric: its values under calibration, with labels simulated from the predictions. "
        "Only an excess over its mean indicates miscalibration; p is the probability of a value at least as large "
        "if the model is calibrated."
    ),
    "Confidence interval": "Contains the mean of a metric over data sets of this size from the same source.",
    "Odds ratio": "Odds are p / (1 - p). Multiplied by an odds ratio, they still give a probability between 0 and 1.",
    "Information": "The sum of p (1 - p): the variance of the number of positives if the model is calibrated.",
    "Acceptance interval": "The predictions that the test accepts for a bin, given its positives.",
    "ECE, ACE": (
        "The average distance between the observed rate and the mean prediction, over bins of equal width "
        "(ECE) or equal size (ACE). With rare events both are small, whatever the model."
    ),
    "MCE, RMSCE": "The largest such distance, and the root of its mean square.",
    "PAVA-BC bins": (
        "Bins found from the data so that observed rates rise from bin to bin, with a smallest and a largest size."
    ),
    "Logit axis": (
        "Stretches the ends of the probability axis, so that 0.1% and 1% are as far apart as 1% and 10%. "
        "Predictions of exactly 0 or 1, and the few far beyond the others, are shown at its margins and counted."
    ),
}

CITATION = (
    "Matsubara, Tax, Mudd, Guy. TCE: A Test-Based Approach to Measuring Calibration Error. Proceedings of the 39th "
    "Conference on Uncertainty in Artificial Intelligence (UAI), 2023. arXiv:2306.14343"
)


CORRECT = {
    "Most probable class": (
        "Of several classes the most probable one is evaluated. Its probability, the confidence, is the prediction; a "
        "row counts as positive if that class is the true one."
    )
}


def write_glossary(outcomes: Collection[Outcome]) -> str:
    """What the numbers mean, and where they come from, where these are counted."""
    terms = (CORRECT if "correct" in outcomes else {}) | EXPLANATIONS
    items = "".join(f"<dt>{escape(term)}</dt><dd>{escape(text)}</dd>" for term, text in terms.items())
    return f"<dl>{items}</dl><p class='soft'>{escape(CITATION)}</p>"
