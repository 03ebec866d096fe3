"""Fill the tables of docs/speed.md and docs/scale.md and draw their pictures, from benches/results; a test checks them.

`python docs/speed.py`, after `make bench-peers` or `make bench-scale`. A table stands between two comments of its name.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RESULTS = HERE.parent / "benches" / "results"
OURS = "truecal"
Row = dict[str, str]
COLOURS = {
    "truecal": "#0969da",
    "scikit-learn": "#f7931e",
    "netcal": "#8250df",
    "torchmetrics": "#bc4c00",
    "relplot": "#1a7f37",
    "uncertainty-calibration": "#cf222e",
    "model-diagnostics": "#bf3989",
    "probcal": "#57606a",
    "MCGrad": "#9a6700",
    "calzone-tool": "#0a3069",
    "MAPIE": "#6fdd8b",
}
PANELS = ("ECE", "ECE, equal mass", "smooth ECE", "Cox's slope", "Brier", "Spiegelhalter", "ECCE", "CORP")
OTHER = {("probcal", "smooth ECE"): "on log-odds: another number"}


def read_rows(name: str) -> list[Row]:
    """The lines of a file of results."""
    with (RESULTS / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def table(head: list[str], rows: Iterable[list[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def spell(number: float) -> str:
    """A number in three digits."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def size(rows: str) -> str:
    """A number of rows as a power of ten."""
    return f"{int(rows):.0e}".replace("e+0", "e")


def find_times() -> dict[tuple[str, str], dict[str, Row]]:
    """The lines of each work and package by the number of rows."""
    found: dict[tuple[str, str], dict[str, Row]] = {}
    for row in read_rows("peers"):
        if row["rows"] not in ("", "0"):
            found.setdefault((row["work"], row["peer"]), {})[row["rows"]] = row
    return found


def list_peers() -> str:
    """CPU milliseconds of each work by each package; the fewest are bold."""
    times = find_times()
    works = list(dict.fromkeys(work for work, _ in times))
    sizes = list(dict.fromkeys(rows for lines in times.values() for rows in lines))
    body = []
    for work in works:
        peers = {peer: lines for (own, peer), lines in times.items() if own == work}
        least = {
            rows: min(float(lines[rows]["cpu_ms"]) for lines in peers.values() if lines[rows]["cpu_ms"])
            for rows in sizes
        }
        for place, (peer, lines) in enumerate(peers.items()):
            cells = []
            for rows in sizes:
                value = lines[rows]["cpu_ms"]
                text = spell(float(value)) if value else lines[rows]["note"]
                cells.append(f"**{text}**" if value and len(peers) > 1 and float(value) == least[rows] else text)
            memory = lines[sizes[-1]]["memory"]
            name = f"{peer} ({OTHER[peer, work]})" if (peer, work) in OTHER else peer
            body.append([work if place == 0 else "", name, *cells, f"{float(memory):.2f}" if memory else ""])
    return table(["work", "package", *(f"N = {size(rows)}" for rows in sizes), "extra memory"], body)


def list_imports() -> str:
    """What each import takes, and why a package could not be installed."""
    lines = sorted((row for row in read_rows("peers") if row["work"] == "import"), key=lambda row: float(row["cpu_ms"]))
    body = [
        [row["peer"], row["version"], f"{float(row['cpu_ms']) / 1000:.2f}", f"{float(row['value']):.0f}"]
        for row in lines
    ]
    missing = [[row["peer"], row["version"], row["note"], ""] for row in read_rows("peers") if not row["work"]]
    return table(["package", "version", "seconds of CPU", "MB"], [*body, *missing])


def tell_peers() -> str:
    """Where another package is faster, with the largest ratio of each work."""
    times, found = find_times(), []
    for work in dict.fromkeys(work for work, _ in times):
        own = times[work, OURS]
        wins: dict[str, list[tuple[float, str]]] = {}
        for (other, peer), lines in times.items():
            if other != work or peer == OURS or (peer, work) in OTHER:
                continue
            for rows, line in lines.items():
                ratio = float(own[rows]["cpu_ms"]) / float(line["cpu_ms"] or "inf")
                if ratio > 1.05:  # less is noise
                    wins.setdefault(peer, []).append((ratio, rows))
        told = [
            f"{peer} (up to {max(ratios)[0]:.2g} times, at N = {size(max(ratios)[1])})" for peer, ratios in wins.items()
        ]
        if told:
            found.append(f"{work}: {', '.join(told)}")
    return "; ".join(found) or "nowhere"


def list_scale() -> str:
    """`ltce` beside the group-by of a rounded column, for each engine."""
    rows = read_rows("scale")
    pairs: dict[tuple[str, str, str], dict[str, Row]] = {}
    for row in rows:
        if row["work"] in ("ltce", "bare"):
            pairs.setdefault((row["rows"], row["scores"], row["engine"]), {})[row["work"]] = row
    body = []
    for (count, scores, engine), works in sorted(pairs.items(), key=lambda item: int(item[0][0])):
        own, bare = works["ltce"], works["bare"]
        kind = "cpu" if own["cpu"] else "seconds"
        ratio = float(own[kind]) / float(bare[kind])
        cells = [
            f"{spell(float(each[key]))}" if each[key] else "" for key in ("seconds", "cpu") for each in (bare, own)
        ]
        memory = f"{float(own['gigabytes']):.2f}" if own["gigabytes"] else ""
        body.append([size(count), scores, engine, *cells, memory, f"{ratio:.2f}"])
    head = [
        "rows",
        "scores",
        "engine",
        "group-by, s",
        "`ltce`, s",
        "group-by, CPU s",
        "`ltce`, CPU s",
        "peak GB",
        "ratio",
    ]
    return table(head, body)


TABLES: dict[str, dict[str, Callable[[], str]]] = {
    "speed.md": {"peers": list_peers, "imports": list_imports, "wins": tell_peers},
    "scale.md": {"scale": list_scale},
}


def fill(page: str, text: str) -> str:
    """A page with its tables as the results have them."""
    for name, make in TABLES[page].items():
        parts = re.split(rf"(?<=<!-- {name} -->\n).*?(?=<!-- /{name} -->)", text, flags=re.DOTALL)
        if len(parts) != 2:
            raise ValueError(f"{page} must have one place for {name}; it has {len(parts) - 1}.")
        text = f"{parts[0]}{make()}\n{parts[1]}"
    return text


def draw_peers(target: Path) -> None:
    """A panel for each work, a line for each package."""
    plt = open_pyplot()
    times = find_times()
    figure, axes = plt.subplots(2, 4, figsize=(14, 6.6), layout="constrained", sharex=True, sharey=True)
    for work, ax in zip(PANELS, axes.flat, strict=True):
        for (own, peer), lines in times.items():
            points = [(int(rows), float(row["cpu_ms"])) for rows, row in lines.items() if row["cpu_ms"]]
            if own == work and points:
                mine = peer == OURS
                ax.loglog(
                    *zip(*points, strict=True), marker="o", ms=5 if mine else 3.5, lw=2.4 if mine else 1.2,
                    color=COLOURS[peer], label=peer, zorder=3 if mine else 2,
                )  # fmt: skip
        ax.set_title(work)
        ax.grid(alpha=0.4)
    for ax in axes[:, 0]:
        ax.set_ylabel("CPU milliseconds")
    for ax in axes[-1]:
        ax.set_xlabel("rows")
    handles = {label: handle for ax in axes.flat for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=6)
    keep(figure, target, tell_peers())


def tell_growth() -> str:
    """What the picture of growth shows, in a sentence."""
    lines = [row for row in read_rows("scale") if row["scores"] == "float32" and row["work"] == "ltce"]
    return "; ".join(
        f"{row['engine']}, {size(row['rows'])} rows: {row['seconds']} s, {row['gigabytes']} GB"
        for row in sorted(lines, key=lambda row: (row["engine"], int(row["rows"])))
    )


def draw_growth(target: Path) -> None:
    """CPU time and memory of `ltce` and of a group-by, from a million rows to a billion."""
    plt = open_pyplot()
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
    lines = [row for row in read_rows("scale") if row["scores"] == "float32" and row["work"] in ("ltce", "bare")]
    lines.sort(key=lambda row: int(row["rows"]))
    for engine, colour in (("polars", "#0969da"), ("DuckDB", "#bc4c00")):
        for work, style in (("ltce", "-"), ("bare", ":")):
            own = [row for row in lines if (row["engine"], row["work"]) == (engine, work)]
            words = f"ltce, {engine}" if work == "ltce" else f"group-by of a rounded column, {engine}"
            for ax, key in zip(axes, ("cpu", "gigabytes"), strict=True):
                points = [(int(row["rows"]), float(row[key])) for row in own]
                ax.loglog(*zip(*points, strict=True), style, marker="o", color=colour, label=words)
    for ax, words in zip(axes, ("CPU seconds, start included", "peak memory, GB"), strict=True):
        ax.set_xlabel("rows")
        ax.set_ylabel(words)
        ax.grid(alpha=0.4)
    axes[1].set_ylim(0.05, 1)
    axes[0].legend()
    keep(figure, target, tell_growth())


def open_pyplot() -> Any:
    """Matplotlib without a screen."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    return plt


def keep(figure: Any, target: Path, said: str) -> None:
    """Save a picture, with what it says in the file."""
    figure.savefig(target, dpi=84, metadata={"Software": None, "Description": said})
    open_pyplot().close(figure)


if __name__ == "__main__":
    for page in TABLES:
        place = HERE / page
        place.write_text(fill(page, place.read_text(encoding="utf-8")), encoding="utf-8")
    draw_peers(HERE / "pictures" / "peers.png")
    draw_growth(HERE / "pictures" / "growth.png")
