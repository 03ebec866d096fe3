"""docs/inference.md and its pictures, from study/results. Run by `make study`, or alone."""

from __future__ import annotations

import os
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from landscape import PREVALENCES, SETS, TESTS
from results import read_rows
from text import ALERT, BETWEEN, END, HEAD, LEVEL, SIZES, VALUES, VERDICT
from worlds import MODELS, PERFECT

DOCS = Path(__file__).parents[1] / "docs"
FINDERS = ["TCE", "ECE", "ACE", *TESTS]


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def sizes_table() -> str:
    rows = read_rows("sizes")
    rules = list(dict.fromkeys(row["rule"] for row in rows))
    numbers = sorted({int(row["rows"]) for row in rows})
    found = {(r["predictions"], int(r["rows"]), r["rule"]): r for r in rows}
    body = []
    for name in PERFECT:
        for rule in rules:
            cells = [found[name, n, rule] for n in numbers]
            shown = [f"{float(c['perfect']):.1f} / {float(c['a fifth too low']):.1f}" for c in cells]
            body.append([name, rule, *shown])
    return table(["predictions", "rule", *(f"N = {n:.0e}" for n in numbers)], body)


def sizes_picture(target: Path) -> None:
    rows = read_rows("sizes")
    rules = list(dict.fromkeys(row["rule"] for row in rows))
    figure, axes = plt.subplots(1, len(PERFECT), figsize=(15, 3.2), sharey=True, layout="constrained")
    colours = plt.get_cmap("viridis")(np.linspace(0, 0.85, len(rules) - 1))
    for ax, name in zip(axes, PERFECT, strict=True):
        for rule, colour in zip(rules, ["#d62728", *colours], strict=True):
            points = [
                (int(r["rows"]), float(r["perfect"])) for r in rows if (r["predictions"], r["rule"]) == (name, rule)
            ]
            ax.plot(*zip(*points, strict=True), marker="o", ms=3, color=colour, label=rule)
        ax.set(xscale="log", title=name, xlabel="rows")
        ax.axhspan(1, 16, color="0.92", zorder=0)
    axes[0].set_ylabel("TCE of a perfect model, %")
    axes[0].legend(fontsize=8)
    save(figure, target)


def landscape_picture(target: Path) -> None:
    found = {(r["model"], float(r["prevalence"]), int(r["rows"])): r for r in read_rows("landscape")}
    figure, axes = plt.subplots(
        len(PREVALENCES), len(SETS), figsize=(15, 12), sharex=True, sharey=True, layout="constrained"
    )
    image = None
    for row, prevalence in enumerate(PREVALENCES):
        for column, size in enumerate(SETS):
            ax = axes[row, column]
            grid = np.array([[float(found[m, prevalence, size][f]) for f in FINDERS] for m in MODELS])
            image = ax.imshow(grid, vmin=0, vmax=1, cmap="cividis", aspect="auto")
            ax.set_title(f"{100 * prevalence:g} % positives, N = {size:,}", fontsize=10)
            ax.set_xticks(range(len(FINDERS)), FINDERS, rotation=60, ha="right", fontsize=8)
            ax.set_yticks(range(len(MODELS)), list(MODELS), fontsize=8)
            for (i, j), value in np.ndenumerate(grid):
                ax.text(
                    j, i, f"{100 * value:.0f}", ha="center", va="center", fontsize=7, color="w" if value < 0.6 else "k"
                )
    if image is not None:
        figure.colorbar(image, ax=axes, label="share of data sets with p < 0.05", shrink=0.4)
    save(figure, target)


def save(figure: plt.Figure, target: Path) -> None:
    target.parent.mkdir(exist_ok=True)
    temporary = target.with_suffix(f".{os.getpid()}.png")
    figure.savefig(temporary, dpi=90)
    plt.close(figure)
    temporary.replace(target)


def values_table() -> str:
    rows = [r for r in read_rows("landscape") if r["rows"] == "50000"]
    body = [
        [
            r["model"],
            f"{100 * float(r['prevalence']):g} %",
            f"{float(r['tce value']):.1f} ({float(r['tce by chance']):.1f})",
            f"{float(r['ece value']):.5f} ({float(r['ece by chance']):.5f})",
            f"{float(r['slope']):.2f}",
        ]
        for r in rows
    ]
    return table(["model", "positives", "TCE, % (by chance)", "ECE (by chance)", "slope"], body)


def alert_table() -> str:
    body = []
    for row in read_rows("alert"):
        shares = [f"{100 * float(row[part]):.0f} %" for part in ("all rows", "top 1 %")]
        body.append([f"{100 * float(row['prevalence']):g} %", f"{int(row['rows']):,}", *shares])
    return table(["positives", "N", "all rows", "top 1 %"], body)


def level_table() -> str:
    body = [
        [
            r["predictions"],
            f"{int(r['rows']):,}",
            f"{float(r['mean TCE']):.2f}",
            f"{float(r['mean of the null means']):.2f}",
            f"{100 * float(r['p < 0.05']):.1f} %",
            f"{100 * float(r['p < 0.5']):.1f} %",
        ]
        for r in read_rows("level")
    ]
    return table(["predictions", "N", "mean TCE", "mean reference", "p < 0.05", "p < 0.5"], body)


def power_table() -> str:
    body = [
        [r["predictions"], f"{int(r['rows']):,}", r["sets"], f"{100 * float(r['p < 0.05']):.1f} %"]
        for r in read_rows("level_power")
    ]
    return table(["predictions", "N", "data sets", "p < 0.05"], body)


def coverage_table() -> str:
    rows = read_rows("coverage")
    metrics = dict.fromkeys(r["metric"] for r in rows)
    found = {(r["case"], r["rows"], r["metric"]): r for r in rows}
    body = []
    for case, size in dict.fromkeys((r["case"], r["rows"]) for r in rows):
        lines = [found[case, size, metric] for metric in metrics]
        shares = [f"{100 * float(line['coverage']):.1f} %" for line in lines]
        body.append([case, "yes" if lines[0]["tuned"] == "1" else "", f"{int(size):,}", *shares])
    return table(["case", "tuned on", "N", *(f"`{metric}`" for metric in metrics)], body)


def main() -> None:
    sizes_picture(DOCS / "inference" / "sizes.png")
    landscape_picture(DOCS / "inference" / "landscape.png")
    page = "\n\n".join(
        [
            HEAD,
            SIZES,
            "![TCE of perfect models](inference/sizes.png)",
            sizes_table(),
            LEVEL,
            level_table(),
            power_table(),
            BETWEEN,
            coverage_table(),
            VERDICT,
            "![Who finds what](inference/landscape.png)",
            VALUES,
            values_table(),
            ALERT,
            alert_table(),
            END,
        ]
    )
    temporary = DOCS / f"inference.{os.getpid()}.tmp"
    temporary.write_text(page + "\n")
    temporary.replace(DOCS / "inference.md")


if __name__ == "__main__":
    main()
