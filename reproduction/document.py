"""Generate docs/reproduction.md from the result files: summary, disagreements, and every cell by cause."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from textwrap import fill
from typing import Any

from reproduction import disagreements as said
from reproduction.cells import EQUAL, MISSING, UNEXPLAINED, Cell, read_cells, read_rows
from reproduction.places import DOCUMENT, FIGURES, RESULTS, write_whole
from reproduction.published import is_printed, titles
from reproduction.sources import Sources

GDA = (
    "gda_main",
    "gda_min_size",
    "gda_max_size",
    "gda_size_range",
    "gda_noise",
    "gda_significance",
    "gda_tests",
    "gda_sample_size",
    "gda_prevalence",
)
TABLES = dict.fromkeys(GDA, "") | {
    "imagenet": "",
    "uci_stored": "UCI, predictions of scikit-learn 1.2.1: LR, RF, GB",
    "uci_models": "UCI, models fitted here: LR, SVM, RF, GB, MLP",
    "bins": "Bins: satimage and coil_2000, random forests",
}
READINGS = ("as the tables", "the other way")
HEAD = """# The paper, reproduced

Every number of "TCE: A Test-Based Approach to Measuring Calibration Error" (Matsubara, Tax, Mudd, Guy; UAI 2023) beside
truecal's. This page is generated from `reproduction/results/` by `python -m reproduction`; the published numbers are in
`reproduction/published/`.

`truecal` is the library's plain value with the paper's bin sizes, on models of the installed scikit-learn where models
are fitted. Where it does not give the printed digits, the variants of `reproduction/variants/` (habits of the paper's
computations that its text does not have) are tried singly and together; the fewest that do are the cause, and
`reproduced` is the value with them. No variant is part of the library.
"""
PICTURES = """Drawn by the library's own functions; [plots.md](plots.md) explains them. The test-based
diagrams have the paper's bin sizes; those of ImageNet, most of whose predictions are near 0, a logit axis. Beside them
are the standard diagrams on linear axes. Where the paper gives the sizes and the rates of bins a panel each, here one
has observed against predicted rates in each bin, and its heading their sizes.
"""


def run(_: Sources) -> None:
    """Write the page; result files that are not there are named as such."""
    held = {name: read_cells(name) for name in TABLES if (RESULTS / f"{name}.csv").exists()}
    absent = [name for name in TABLES if name not in held]
    parts = [HEAD, _summary(held), _causes(held)]
    if absent:
        parts.append(f"Not run yet, and so not on this page: {', '.join(absent)}.\n")
    parts += [_missing(held), _disagreements(), _figures(), "## Every cell\n", *map(_cells_of, held, held.values())]
    text = "\n".join(part for part in parts if part)
    write_whole(DOCUMENT, lambda part: part.write_text(text))


def table_title(name: str) -> str:
    """What a result file holds."""
    return TABLES[name] or titles()[name]


def is_close(cell: Cell) -> bool:
    """Within half a percentage point (TCE) or 0.001 (the others) of the published number."""
    limit = 0.5 if cell.column.startswith("TCE") else 0.001
    return cell.difference is not None and abs(cell.difference) <= limit


def _summary(held: dict[str, list[Cell]]) -> str:
    rows: list[tuple[Any, ...]] = []
    for name, cells in held.items():
        at_hand = [cell for cell in cells if cell.truecal is not None]
        equal = sum(cell.cause == EQUAL for cell in at_hand)
        digit = sum("last digit" in cell.cause for cell in at_hand)
        unexplained = sum(cell.cause == UNEXPLAINED for cell in at_hand)
        variant = len(at_hand) - equal - digit - unexplained
        near = f"{100 * sum(map(is_close, at_hand)) / len(at_hand):.0f}%" if at_hand else ""
        rows.append((table_title(name), len(cells), len(at_hand), equal, variant, digit, unexplained, near))
    total = ("**all**", *(sum(row[i] for row in rows) for i in range(1, 7)), "")
    head = ("table", "cells", "available", "equal in print", "by a variant", "last digit", "unexplained", "near")
    note = "\n`near`: plain truecal within 0.5 percentage points (TCE) or 0.001 (the others) of the published number.\n"
    return "## Summary\n\n" + _table(head, [*rows, total]) + note


def _causes(held: dict[str, list[Cell]]) -> str:
    count = Counter(cell.cause for cells in held.values() for cell in cells if cell.truecal is not None)
    return "### Causes\n\n" + _table(("cause", "cells"), count.most_common())


def _missing(held: dict[str, list[Cell]]) -> str:
    names = {cell.cause.partition(": ")[2] for cells in held.values() for cell in cells if cell.truecal is None}
    if not names:
        return ""
    return fill(f"Data that was not available, named and never replaced: {', '.join(sorted(names))}.", 118) + "\n"


def _disagreements() -> str:
    sections = ["## What text, tables and code disagree on\n", _ties(), _t_test()]
    found: dict[str, list[dict[str, str]]] = {}
    for row in read_rows("readings") if (RESULTS / "readings.csv").exists() else []:
        found.setdefault(row["topic"], []).append(row)
    for topic in said.READINGS:
        rows = [row for name in topic.topics for row in found.get(name, [])]
        lines = [(row["cell"], row["published"], *(_digits(row, key) for key in READINGS)) for row in rows]
        head = ("cell", "published", topic.tables, topic.other)
        sections.append(f"### {topic.title}\n\n{fill(topic.text, 118)}\n\n{_matches(rows, topic)}{_table(head, lines)}")
    return "\n".join(part for part in (*sections, _version(), _last_digits(), _time()) if part)


def _matches(rows: Sequence[dict[str, str]], topic: said.Disagreement) -> str:
    """How many cells each reading gives to the printed digit."""
    printed = [row for row in rows if row["published"]]
    hits = [sum(is_printed(float(row[key]), row["published"]) for row in printed) for key in READINGS]
    if not printed:
        return ""
    return f"Cells reproduced as printed, of {len(printed)}: {hits[0]} ({topic.tables}), {hits[1]} ({topic.other}).\n\n"


def _digits(row: dict[str, str], key: str) -> str:
    """A value with one digit more than the published one."""
    places = len(row["published"].partition(".")[2])
    return f"{float(row[key]):.{places + 1}f}" if row["published"] else f"{float(row[key]):g}"


def _ties() -> str:
    if not (RESULTS / "uci_ties.csv").exists():
        return ""
    lines: list[tuple[str, ...]] = []
    last: list[str] = []
    for row in read_rows("uci_ties"):
        numbers = [f"{float(row[key]):.2f}" for key in ("grouped", "low", "high", "NumPy's sort")]
        told = row["last bin"] == "joined" and numbers == last  # the rule for the last bin changes nothing here
        last = numbers
        if row["column"] not in ("TCE", "TCE(Q)") or told or len({row["grouped"], row["low"], row["high"]}) == 1:
            continue
        cell = f"{row['set']} {row['model']}, {row['column']}" + (", last bin joined" * (row["last bin"] == "joined"))
        lines.append((cell, row["published"], *numbers, row["distinct values"]))
    head = ("cell", "published", "grouped", "lowest", "highest", "NumPy's old sort", "distinct values")
    return f"### Tie order: a table cell that is one of many\n\n{said.TIES}\n\n{_table(head, lines)}"


def _t_test() -> str:
    if not (RESULTS / "gda_tests.csv").exists():
        return ""
    cells = {(cell.row, cell.column): cell for cell in read_cells("gda_tests")}
    rows = list(dict.fromkeys(row for row, _ in cells))
    calm = [cells[row, "TCE(P)-T"] for row in rows if row.startswith("50%")]
    proper, wrong = [cell.truecal or 0.0 for cell in calm], [float(cell.published) for cell in calm]
    apart = max(abs((cells[row, "TCE(P)-T"].truecal or 0) - (cells[row, "TCE(P)-B"].truecal or 0)) for row in rows)
    text = said.T_TEST.format(
        proper_low=min(proper), proper_high=max(proper), wrong_low=min(wrong), wrong_high=max(wrong), apart=apart
    )
    lines = []
    for row in rows:
        for name in ("TCE(P)", "TCE(Q)", "TCE(V)"):
            binomial, t = cells[row, f"{name}-B"], cells[row, f"{name}-T"]
            values = (binomial.published, t.published, f"{t.reproduced:.4f}", f"{t.truecal:.4f}")
            lines.append((f"{row.replace(' | ', ', ')}, {name}", *values))
    head = ("cell", "binomial, published", "t, published", "t with the variance", "t proper")
    return f"### The t-test's missing square root\n\n{text}\n\n{_table(head, lines)}"


def _version() -> str:
    if not (RESULTS / "uci_fits.csv").exists():
        return ""
    fits = read_rows("uci_fits")
    distances = [
        float(row["distance from 1.2.1"]) for row in fits if row["model"] == "GB" and row["distance from 1.2.1"]
    ]
    text = said.VERSION.format(distance=f"{max(distances):.2f}" if distances else "an unknown amount")
    seconds = sum(float(row["seconds"]) for row in fits)
    by_model = {
        model: [row for row in fits if row["model"] == model] for model in dict.fromkeys(r["model"] for r in fits)
    }
    lines = [
        (model, len(rows), f"{sum(float(row['seconds']) for row in rows):.1f}") for model, rows in by_model.items()
    ]
    note = f"\nThe {len(fits)} fits took {seconds:.0f} s in all (scikit-learn {fits[0]['scikit-learn']}).\n"
    return f"### Gradient boosting's version\n\n{text}\n\n{_table(('model', 'fits', 'seconds'), lines)}{note}"


def _last_digits() -> str:
    if not all((RESULTS / f"{name}.csv").exists() for name in ("imagenet", "bins")):
        return ""
    imagenet = {(cell.row, cell.column): cell for cell in read_cells("imagenet")}.get(("Res152", "MCE(Q)"))
    bins = {(cell.table, cell.row, cell.column): cell for cell in read_cells("bins")}
    within = bins.get(("bins_satimage_rf", "Averaged Within-Bin Error", "Quantile"))
    if imagenet is None or within is None or imagenet.truecal is None or within.truecal is None:
        return ""
    (satimage,) = read_rows("bins_quantile")
    total, ten = (float(satimage[key]) for key in ("total error", "within-bin error"))
    text = said.DIGITS.format(imagenet=imagenet.truecal, grouped=within.truecal, sorted=ten, total=total)
    return f"### Two last digits\n\n{text}\n"


def _time() -> str:
    if not (RESULTS / "imagenet_time.csv").exists():
        return ""
    rows = read_rows("imagenet_time")
    tce = rows[0]
    text = said.TIME.format(
        model=tce["model"],
        tce=1000 * float(tce["truecal"]),
        ratio=int(tce["published / truecal"]),
        oracle=float(tce["one binomtest per prediction"]),
        own=int(tce["ratio to it"]),
    )
    lines = [(row["column"], row["published"], f"{float(row['truecal']):.6f}") for row in rows]
    return f"### The time row\n\n{text}\n\n{_table(('metric', 'published (s)', 'truecal (s)'), lines)}"


def _figures() -> str:
    names = sorted(path.name for path in FIGURES.glob("*.png"))
    if not names:
        return ""
    lines = [f"![{name.removesuffix('.png').replace('_', ' ')}](reproduction/{name})\n" for name in names]
    return f"## Figures\n\n{PICTURES}\n" + "\n".join(lines)


def _cells_of(name: str, cells: Sequence[Cell]) -> str:
    """One table's cells, grouped by cause; those equal in print are folded away."""
    at_hand = sorted(
        (cell for cell in cells if cell.truecal is not None), key=lambda cell: (cell.cause != EQUAL, cell.cause)
    )
    parts = [f"### {table_title(name)}\n"]
    for cause, group in groupby(at_hand, key=lambda cell: cell.cause):
        parts.append(_cause(cause, list(group)))
    gone = Counter(cell.cause for cell in cells if cell.cause.startswith(MISSING))
    parts += [f"{cause}: {count} cells.\n" for cause, count in gone.items()]
    return "\n".join(parts)


def _cause(cause: str, cells: Sequence[Cell]) -> str:
    lines = [
        (cell.row.replace(" | ", ", "), cell.column, cell.published, f"{cell.truecal:.4f}", f"{cell.difference:+.4f}")
        + ((f"{cell.reproduced:.4f}",) if cause != EQUAL else ())
        for cell in cells
    ]
    head = ("row", "column", "published", "truecal", "difference") + (("reproduced",) if cause != EQUAL else ())
    heading = f"{len(cells)} cells: {'equal in print' if cause == EQUAL else cause}"
    return f"<details><summary>{heading}</summary>\n\n{_table(head, lines)}\n</details>\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


if __name__ == "__main__":
    from reproduction.__main__ import main

    sys.exit(main(["document"]))
