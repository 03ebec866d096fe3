"""docs/inference.md and its pictures, from study/results. Run by `make study`, or alone."""

from __future__ import annotations

import os
import re
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from clusters import FEW
from landscape import PREVALENCES, SETS, TESTS
from results import has_rows, read_rows
from shapes import FRESH
from text import (
    ALERT,
    BAD_SEGMENT,
    BETWEEN,
    CLUSTERS,
    CLUSTERS_POWER,
    CONSISTENT,
    DELAY,
    DIFFERENCES,
    DRIFT,
    END,
    FINDS,
    GATE,
    GROUPS,
    GROWTH,
    HEAD,
    LEVEL,
    LOCAL,
    OUTSIDE,
    POWER,
    RECALIBRATION,
    RECALIBRATION_CLUSTERS,
    RECALIBRATION_PERIODS,
    ROWS,
    ROWS_POWER,
    ROWS_RARE,
    SEGMENTS,
    SIZE,
    SIZES,
    SLICES,
    SLICES_CLUSTERS,
    TOLERANCE,
    VALUES,
    VISITORS,
    WATCH,
    WRONG,
)
from worlds import MODELS, PERFECT

DOCS = Path(__file__).parents[1] / "docs"
Row = dict[str, str]
WORDS = (
    *("stable", "base rate shifted", "miscalibrated throughout", "calibration drift", "recovered", "miscalibrated"),
    *("consistent", "inconclusive"),
)
WRONG_WORDS = ("miscalibrated throughout", "calibration drift", "recovered", "miscalibrated")
FINDERS = ["TCE", "ECE", "ACE", *TESTS]
# Names in the result files, and how the page writes them.
NAMES = {
    r"(?<=\d) %": "%",
    r"\b(over|under)-confident": r"\1confident",
    r"\bperfect\b": "calibrated",
    r"\bright(?=,? (?:Beta|\d|sharp|and noisy|\|))": "calibrated",
    r"one region and right": "one region and calibrated",
    r"expected or seen": "expected or observed",
    r"in window (?=\d)": "in period ",
    r"a stream of all": "a series of all",
    r"\bkept ([\d.]+) of negatives": r"negatives sampled at \1",
    r"\bkept (?=\d)": "negatives and positives sampled at ",
    r"labels flipped": "label noise",
    r"\bflipped (?=\d)": "label noise ",
    r"\| late \|": "| label delay |",
}


def rename(text: str) -> str:
    """Names of the result files as the page writes them."""
    for name, written in NAMES.items():
        text = re.sub(name, written, text)
    return text


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def across(rows: list[Row], columns: dict[str, float]) -> str:
    """A line for each shape of predictions and a column for each number of rows: columns of the file, each times its
    unit."""
    found = {(row["predictions"], row["rows"]): row for row in rows}
    sizes, shapes = (list(dict.fromkeys(row[key] for row in rows)) for key in ("rows", "predictions"))
    body = [
        [
            name,
            *(" / ".join(f"{unit * float(found[name, n][key]):.1f}" for key, unit in columns.items()) for n in sizes),
        ]
        for name in shapes
    ]
    return table(["predictions", *(f"N = {int(n):,}" for n in sizes)], body)


def listed(rows: list[Row], names: list[str], shares: dict[str, str]) -> str:
    """A line for each row of a file: some columns as they are, and shares in percent under a heading."""
    body = [
        [*(f"{int(r[key]):,}" if r[key].isdigit() else r[key] for key in names)]
        + [f"{100 * float(r[key]):.1f}" for key in shares]
        for r in rows
    ]
    return table([*names, *shares.values()], body)


def span(rows: list[Row], column: str, unit: float = 100) -> dict[str, str]:
    """The smallest, the largest and the mean of a column."""
    values = [unit * float(row[column]) for row in rows]
    found = {"low": f"{min(values):.1f}", "high": f"{max(values):.1f}", "mean": f"{np.mean(values):.1f}"}
    return found | {"sets": min((row["sets"] for row in rows), key=int)}


def local_section() -> list[str]:
    level, grown = read_rows("verdict_level"), read_rows("verdict_growth")
    seen = [row for row in level if int(row["rows"]) >= 1000]
    evidence = span([row for row in seen if float(row["V"]) > 1], "by information", 1)
    error = max(float(row["sd"]) / int(row["sets"]) ** 0.5 for row in seen)
    text = LOCAL.format(
        **span(seen, "mean Local TCE", 1), least=evidence["low"], most=evidence["high"], error=f"{error:.2f}"
    )
    kinds = [key for key in grown[0] if key.endswith(("%", "tolerance"))]
    body = [[f"{int(row['rows']):,}", *(f"{float(row[key]):.1f}" for key in kinds)] for row in grown]
    return [text, across(level, {"mean Local TCE": 1, "by information": 1}), GROWTH, table(["N", *kinds], body)]


def verdict_section() -> list[str]:
    size, power = read_rows("verdict_size"), read_rows("verdict_power")
    at_5, at_1 = span(size, "p <= 0.05"), span(size, "p <= 0.01")
    fresh = span([row for row in size if row["predictions"] in FRESH], "p <= 0.05")
    text = SIZE.format(
        **at_5,
        least=at_1["low"],
        most=at_1["high"],
        usual=at_1["mean"],
        error=f"{100 * (0.05 * 0.95 / int(at_5['sets'])) ** 0.5:.1f}",
        fresh_low=fresh["low"],
        fresh_high=fresh["high"],
    )
    found = {
        "p <= 0.05": "verdict",
        "five <= 0.05": "five",
        "p <= 0.01": "verdict at 0.01",
        "five <= 0.01": "five at 0.01",
    }
    shares = {
        f"{status}, {odds}": f"{status}, odds {odds}"
        for odds in ("x 1.5", "/ 1.5")
        for status in ("miscalibrated", "consistent")
    }
    tolerated = {f"{rate}, miscalibrated": rate for rate in ("calibrated", "x 1.1", "x 0.9", "x 1.2")}
    return [
        text,
        across(size, {"p <= 0.05": 100, "p <= 0.01": 100}),
        POWER.format(sets=power[0]["sets"], five=span(size, "five <= 0.05")["mean"], ours=at_5["mean"]),
        listed(power, ["error"], found),
        CONSISTENT,
        listed(read_rows("verdict_consistent"), ["predictions", "rows"], shares),
        TOLERANCE,
        listed(read_rows("verdict_tolerance"), ["predictions", "rows"], tolerated),
    ]


def gate_section() -> list[str]:
    gate, answers = read_rows("gate"), {"pass": "pass", "fail": "fail", "inconclusive": "inconclusive"}
    return [
        GATE.format(**span(gate, "fail")),
        across(gate, {"fail": 100, "pass": 100}),
        SEGMENTS.format(**span(read_rows("gate_segments"), "fail")),
        listed(read_rows("gate_segments"), ["predictions", "rows"], {"fail": "some segment fails"}),
        WRONG,
        listed(read_rows("gate_wrong"), ["model", "rows"], answers),
    ]


GROUP_COLUMNS = ("some segment miscalibrated", "the gate fails")


def segments_section() -> list[str]:
    if not has_rows("segments") or not has_rows("segments_power"):
        return []
    rows, power = read_rows("segments"), read_rows("segments_power")
    body = [
        [
            r["predictions"],
            r["segments"],
            f"{int(r['rows']):,}",
            *(f"{100 * float(r[name]):.1f}" if r[name] else "" for name in GROUP_COLUMNS),
        ]
        for r in rows
    ]
    found = [row | {"expected": f"{float(row['expected']):.1f}"} for row in power]
    return [
        GROUPS.format(**span(rows, "some segment miscalibrated")),
        table(["predictions", "segments", "rows", *GROUP_COLUMNS], body),
        BAD_SEGMENT,
        listed(found, ["error", "predictions", "rows", "expected"], {"found": "detected"}),
    ]


def drift_section() -> list[str]:
    if not has_rows("drift"):
        return []
    rows = read_rows("drift")
    words = [word for word in WORDS if any(float(row[word]) > 0 for row in rows)]
    right = [row for row in rows if row["error"] == "none"]
    called = [row | {"miscalibrated": str(sum(float(row[word]) for word in WRONG_WORDS))} for row in right]
    heads = {word: word for word in (*words, "some period miscalibrated")}
    return [DRIFT.format(**span(called, "miscalibrated")), listed(rows, ["predictions", "rows", "error"], heads)]


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
    axes[0].set_ylabel("TCE of a calibrated model, %")
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
            ax.set_title(f"{100 * prevalence:g}% positives, N = {size:,}", fontsize=10)
            ax.set_xticks(range(len(FINDERS)), FINDERS, rotation=60, ha="right", fontsize=8)
            ax.set_yticks(range(len(MODELS)), [rename(name) for name in MODELS], fontsize=8)
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
            f"{float(r['tce value']):.1f} ({float(r['tce null mean']):.1f})",
            f"{float(r['ece value']):.5f} ({float(r['ece null mean']):.5f})",
            f"{float(r['slope']):.2f}",
        ]
        for r in rows
    ]
    return table(["model", "positives", "TCE, % (null mean)", "ECE (null mean)", "slope"], body)


def end_numbers() -> dict[str, str]:
    rows = [r for r in read_rows("landscape") if r["rows"] == "50000"]
    fifth = [f"{float(r['tce value']):.0f}" for r in rows if r["model"] == "20 % too low"]
    perfect = span([r for r in rows if r["model"] == "perfect"], "tce value", 1)
    return perfect | {"fifth": ", ".join(fifth[:-1]) + f" and {fifth[-1]}"}


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
    return table(["predictions", "N", "mean TCE", "null mean", "p < 0.05", "p < 0.5"], body)


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


def coverage_numbers() -> dict[str, object]:
    rows = [{**r, "share": 100 * float(r["coverage"])} for r in read_rows("coverage")]
    tests = [r["share"] for r in rows if "tce" in r["metric"]]
    gaps = [r for r in rows if "tce" not in r["metric"]]
    worst = [
        f"`{r['metric']}` {r['share']:.0f} % ({r['case']}, N = {int(r['rows']):,})" for r in gaps if r["share"] < 92
    ]
    shares = [r["share"] for r in gaps]
    return {
        "sets": rows[0]["sets"],
        "low": f"{min(tests):.0f}",
        "high": f"{max(tests):.0f}",
        "below": sum(share < 92 for share in tests) or "none",
        "lines": len(tests),
        "least": f"{min(shares):.0f}",
        "most": f"{max(shares):.0f}",
        "worst": ", ".join(worst) or "none",
    }


def differences_table() -> str:
    found: dict[tuple[str, str, str], dict[str, str]] = {}
    for r in read_rows("differences"):
        line = found.setdefault((r["world"], f"{int(r['rows']):,}", r["over"]), {})
        line[r["metric"]] = f"{100 * float(r['coverage']):.1f} %"
    names = ("ltce", "tce", "log_loss", "brier", "slope", "ece")
    body = [[*key, *(line.get(name, "") for name in names)] for key, line in found.items()]
    return table(["world", "N", "over fresh", *(f"`{name}`" for name in names)], body)


def monitor_section() -> list[str]:
    rows, delays = read_rows("monitor"), read_rows("monitor_delay")
    level = [[r["predictions"], r["rows a day"], r["sets"], f"{100 * float(r['alarm']):.1f} %"] for r in rows]
    soon = [
        [
            r["error"],
            r["change on day"],
            r["sets"],
            f"{100 * float(r['within 30 days']):.1f} %",
            f"{float(r['median days']):.0f}",
            f"{float(r['90 % within']):.0f}",
        ]
        for r in delays
    ]
    return [
        WATCH.format(looks=rows[0]["looks"]),
        table(["predictions", "rows a day", "series", "ever an alarm"], level),
        DELAY,
        table(["error", "begins on day", "series", "detected within 30 days", "median days", "90 % within days"], soon),
        VISITORS,
        table(
            ["customers a day", "rows of each", "correlation", "returning", "series", "ever an alarm", "odds x 1.5"],
            [
                [
                    r["customers"],
                    r["rows a day"],
                    r["correlation"],
                    f"{100 * float(r['come again']):.0f} %",
                    r["sets"],
                    f"{100 * float(r['alarm']):.1f} %",
                    f"{100 * float(r['found']):.0f} %",
                ]
                for r in read_rows("monitor_customers")
            ],
        ),
    ]


def slices_section() -> list[str]:
    body = [
        [
            f"{int(r['rows']):,}",
            r["columns"],
            f"{int(r['groups']):,}",
            r["factor"],
            r["sets"],
            f"{100 * float(r['anything listed']):.1f} %",
            f"{100 * float(r['c0=b named']):.1f} %",
        ]
        for r in read_rows("slices")
    ]
    heads = ["N", "columns", "groups", "odds ratio", "data sets", "anything listed", "c0=b among it"]
    if not has_rows("slices_clusters"):
        return [SLICES, table(heads, body)]
    customers = [
        r
        | {"N": f"{int(r['rows']):,}", "anything listed": f"{100 * float(r['anything listed']):.1f} %"}
        | {"groups": f"{int(r['groups']):,}", "without": f"{100 * float(r['without cluster']):.1f} %"}
        for r in read_rows("slices_clusters")
    ]
    names = ["N", "columns", "groups", "of a customer", "correlation", "sets", "anything listed", "without"]
    heads_of_customers = [*names[:5], "data sets", "anything listed", "without `cluster=`"]
    shown = table(heads_of_customers, [[str(r[name]) for name in names] for r in customers])
    return [SLICES, table(heads, body), SLICES_CLUSTERS, shown]


def recalibration_section() -> list[str]:
    rows = read_rows("recalibration")
    worlds, kinds = (list(dict.fromkeys(r[key] for r in rows)) for key in ("world", "kind"))
    found = {(r["world"], r["kind"]): r for r in rows}
    excess = {world: [float(found[world, kind]["excess"]) for kind in kinds] for world in worlds}
    over = {world: own[0] / min(own[1:]) - 1 for world, own in excess.items() if min(own[1:]) > 1e-6}
    # the excess is x 10,000
    cost = {
        world: (own[0] - min(own[1:])) * 2 * int(found[world, kinds[0]]["rows"]) / 1e4 for world, own in excess.items()
    }
    body = []
    for world in worlds:
        one = found[world, kinds[0]]
        lost = f"{100 * over[world]:.0f} %" if world in over else ""
        numbers = [*(f"{value:.1f}" for value in excess[world]), lost, f"{cost[world]:.2f}"]
        first = [world, "yes" if one["tuned"] == "1" else "", f"{int(one['rows']):,}", one["sets"]]
        body.append([*first, *numbers, f"{100 * float(one['helped']):.1f} %"])
    right = [found[world, kinds[0]] for world in worlds if world not in over]
    wrong = [found[world, kinds[0]] for world in over]
    near = {world for world, lost in over.items() if lost <= 0.1}
    slight = {world for world in worlds if world not in near and cost[world] <= 0.5}
    fresh = {world for world in worlds if found[world, kinds[0]]["tuned"] == "0"}
    short = [world for world in worlds if world not in near | slight]
    text = RECALIBRATION.format(
        worlds=len(worlds),
        near=len(near),
        slight=len(slight),
        fresh=len(fresh),
        fresh_near=len(fresh & near),
        fresh_slight=len(fresh & slight),
        short="; ".join(f'"{world}"' for world in short) or "none",
        proven=wrong[0]["proven"],
        right=span(right, "helped")["high"],
        sets=min(int(one["proven"]) for one in right),
    )
    heads = ["scenario", "tuned on", "rows", "data sets", *kinds, "over best", "in parameters", "helps"]
    shown = [text, table(heads, body)]
    if has_rows("recalibration_clusters"):
        names = ["labels", "correlation", "rows", "size", "positives", "sets"]
        shown += [RECALIBRATION_CLUSTERS, listed(read_rows("recalibration_clusters"), names, {"helped": "helps"})]
    if has_rows("recalibration_periods"):
        names = ["periods", "rows", "positives", "odds later", "sets"]
        shown += [RECALIBRATION_PERIODS, listed(read_rows("recalibration_periods"), names, {"changed": "change noted"})]
    return shown


def rows_section() -> list[str]:
    """Sampling by label, label noise and label delay: how often models are called miscalibrated, by prevalence."""
    level, power = read_rows("sampling_level"), read_rows("sampling_power")

    def by_prevalence(rows: list[dict[str, str]], names: tuple[str, ...]) -> str:
        kinds, prevalences = (list(dict.fromkeys(r[key] for r in rows)) for key in ("rows are", "prevalence"))
        found = {
            (r["rows are"], r["prevalence"]): " / ".join(f"{100 * float(r[name]):.1f}" for name in names if r[name])
            for r in rows
        }
        body = [[kind, *(found.get((kind, p), "") for p in prevalences)] for kind in kinds]
        return table(["data", *(f"{100 * float(p):g} % positive" for p in prevalences)], body)

    flipped = [r for r in power if r["as counted"]]
    rare = [r for r in flipped if float(r["prevalence"]) < 0.1]
    found, same, counted = (sum(float(r[name]) for r in rare) for name in ("found", "without", "as counted"))
    least = min(rare, key=lambda r: float(r["found"]) / float(r["without"]))
    worst = (
        f"{100 * float(least['prevalence']):g} % are positive with {least['rows are']}, "
        f"{100 * float(least['found']):.1f} for {100 * float(least['without']):.1f} %, "
        f"while the weighted sum alone detects {100 * float(least['weighted alone']):.1f}"
    )
    kinds = dict.fromkeys(r["rows are"] for r in (*level, *power))
    late = any(sum(r["rows are"] == kind for r in rows) < 3 for rows in (level, power) for kind in kinds)
    shares = {
        "blank": " Blank cells were not measured." if late else "",
        "counted": f"{100 * found / counted:.0f}",
        "same": f"{100 * found / same:.0f}",
        "short": str(sum(float(r["found"]) < 0.8 * float(r["without"]) for r in rare)),
        "lines": str(len(rare)),
        "worst": worst,
    }
    return [
        ROWS.format(
            sets=name_sets(level), error=" or ".join(f"{196 * (0.05 * 0.95 / n) ** 0.5:.1f}" for n in count_sets(level))
        ),
        by_prevalence(level, ("miscalibrated at 0.05",)),
        ROWS_POWER.format(sets=power[0]["sets"], flipped=name_sets(flipped), **shares),
        by_prevalence(power, ("found", "without", "as counted", "weighted alone")),
        *rare_section(),
    ]


def rare_section() -> list[str]:
    """Label noise with rare positives, and odds ratios in both directions."""
    if not has_rows("sampling_rare"):
        return []
    rows = read_rows("sampling_rare")
    lines: dict[tuple[str, int], dict[str, Row]] = {}
    for r in rows:
        lines.setdefault((r["rows are"], int(r["rows"])), {})["up" if float(r["odds"]) > 1 else "down"] = r

    def share(*found: Row) -> float:
        return 100 * sum(float(r["found"]) for r in found) / sum(float(r["without"]) for r in found)

    def ends(name: str, shares: list[float]) -> dict[str, str]:
        return {f"{name}_low": f"{min(shares):.0f}", f"{name}_high": f"{max(shares):.0f}"}

    columns = ("found", "without", "as counted", "weighted alone")
    body = [
        [kind, f"{n:,}", f"{float(pair['up']['information']):.0f}"]
        + [" / ".join(f"{100 * float(pair[way][name]):.1f}" for name in columns) for way in ("up", "down")]
        + [f"{share(*pair.values()):.0f} %"]
        for (kind, n), pair in sorted(lines.items())
    ]
    ups = [pair["up"] for pair in lines.values()]
    numbers = {
        **ends("both", [share(*pair.values()) for pair in lines.values()]),
        **ends("up", [share(r) for r in ups if float(r["without"]) >= 0.2]),
        **ends("few", [share(r) for r in ups if float(r["without"]) < 0.2]),
        **ends("down", [share(pair["down"]) for pair in lines.values()]),
        "below": str(sum(share(r) < 80 for r in ups)),
        "lines": str(len(ups)),
        "named": " and ".join(
            f"{100 * float(r['found']):.1f} for {100 * float(r['without']):.1f} % "
            f"({int(r['rows']):,} rows, {r['rows are']})"
            for r in ups
            if share(r) < 80
        ),
        "fewest": f"{count_sets(rows)[-1]:,}",
        "most": f"{count_sets(rows)[0]:,}",
    }
    head = ["data", "rows", "information", "odds x 1.25", "odds / 1.25", "of both"]
    return [ROWS_RARE.format(**numbers), table(head, body)]


def count_sets(rows: list[Row]) -> list[int]:
    """The numbers of data sets of a table's lines, the largest first."""
    return sorted({int(r["sets"]) for r in rows}, reverse=True)


def name_sets(rows: list[Row]) -> str:
    return " or ".join(f"{sets:,}" for sets in count_sets(rows))


WAYS = {"copula": "c", "log-odds effect": "o", "beta-binomial": "r"}


def clusters_section() -> list[str]:
    """Clustered rows: how often calibrated and miscalibrated models are called miscalibrated."""
    if not all(map(has_rows, ("clusters_level", "clusters_power", "clusters_worlds"))):
        return []
    rows, power = read_rows("clusters_level"), read_rows("clusters_power")
    ways = list(dict.fromkeys((WAYS[r["labels"]], r["correlation"]) for r in rows))
    lines = dict.fromkeys((r["positives"], r["rows"], r["size"]) for r in rows)
    missing = " Blank cells were not measured." if len(rows) < len(lines) * len(ways) else ""
    found: dict[tuple[str, ...], dict[tuple[str, str], str]] = {}
    for r in rows:
        line = found.setdefault((r["positives"], f"{int(r['rows']):,}", r["size"]), {})
        line[WAYS[r["labels"]], r["correlation"]] = f"{100 * float(r['miscalibrated']):.1f}"
    body = [[*key, *(line.get(way, "") for way in ways)] for key, line in found.items()]
    shown = [
        r
        | {"odds": f"{float(r['odds']):.2f}", "design effect": f"{float(r['design effect']):.1f}"}
        | {"rows": f"{int(r['rows']):,}"}
        for r in power
    ]
    names = ["labels", "correlation", "rows", "size", "positives", "odds", "design effect"]
    return [
        CLUSTERS.format(**clusters_numbers(rows), missing=missing),
        table(["positives", "rows", "of a customer", *(f"{way} {c}" for way, c in ways)], body),
        CLUSTERS_POWER.format(sets=power[0]["sets"]),
        listed(shown, names, {"miscalibrated": "detected", "independent rows": "independent rows"}),
    ]


def clusters_numbers(rows: list[Row]) -> dict[str, str]:
    """How many levels lie within 3 to 7 %, and which do not."""
    again, *_, sets = count_sets(rows)

    def count(name: str, chosen: list[Row]) -> dict[str, str]:
        off = [float(r["miscalibrated"]) for r in chosen]
        below, above = sum(share < 0.03 for share in off), sum(share > 0.07 for share in off)
        found = {"inside": len(off) - below - above, "below": below or "none", "above": above or "none"}
        return {name: str(len(off))} | {f"{name}_{key}": str(value) for key, value in found.items()}

    many = [r for r in rows if float(r["expected over effect"]) >= FEW]
    few = [r for r in rows if float(r["expected over effect"]) < FEW]
    outside = sorted(
        (r for r in many if not 0.03 <= float(r["miscalibrated"]) <= 0.07), key=lambda r: float(r["miscalibrated"])
    )
    names = [
        f"{100 * float(r['miscalibrated']):.1f} ({r['positives']}, "
        f"{int(r['rows']) // int(r['size'])} customers of {r['size']}, "
        f"{WAYS[r['labels']]} {r['correlation']})"
        for r in outside
    ]
    return {
        **count_worlds(read_rows("clusters_worlds")),
        **count("many", many),
        **count("few", few),
        "sets": f"{sets:,}",
        "error": f"{196 * (0.05 * 0.95 / sets) ** 0.5:.1f}",
        "again": str(sum(int(r["sets"]) == again for r in rows)),
        "again_sets": f"{again:,}",
        "again_error": f"{196 * (0.05 * 0.95 / again) ** 0.5:.1f}",
        "least": f"{FEW:g}",
        "outside": " " + OUTSIDE.format(named=", ".join(names)) if outside else "",
        "without": f"{100 * max(float(r['without clusters']) for r in rows):.0f}",
    }


def count_worlds(rows: list[Row]) -> dict[str, str]:
    """How many levels of worlds at random lie within 3 to 7 %, and what the others have in common."""

    def is_inside(row: Row) -> bool:
        return 0.03 <= float(row["p <= 0.05"]) <= 0.07

    many, few = ([r for r in rows if (float(r["over effect"]) >= FEW) == enough] for enough in (True, False))
    others = [r for r in many if not is_inside(r)]
    low, high = (span(others, "p <= 0.05")[end] if others else "" for end in ("low", "high"))
    told = f", the other {low} %" if len(others) == 1 else f", the others {low} to {high} %" * bool(others)
    return {
        "worlds": str(len(rows)),
        "worlds_many": str(len(many)),
        "worlds_inside": str(sum(map(is_inside, many))),
        "worlds_others": told,
        "worlds_few": str(len(few)),
        "few_worlds_inside": str(sum(map(is_inside, few))),
        "worlds_most": span(rows, "p <= 0.05")["high"],
    }


def main() -> None:
    sizes_picture(DOCS / "inference" / "sizes.png")
    landscape_picture(DOCS / "inference" / "landscape.png")
    page = "\n\n".join(
        [
            HEAD,
            *local_section(),
            *verdict_section(),
            *gate_section(),
            *segments_section(),
            *drift_section(),
            *monitor_section(),
            *slices_section(),
            *recalibration_section(),
            *rows_section(),
            *clusters_section(),
            SIZES,
            "![TCE of calibrated models](inference/sizes.png)",
            sizes_table(),
            LEVEL,
            level_table(),
            power_table(),
            BETWEEN.format(**coverage_numbers()),
            coverage_table(),
            DIFFERENCES,
            differences_table(),
            FINDS,
            "![Power of each test](inference/landscape.png)",
            VALUES,
            values_table(),
            ALERT,
            alert_table(),
            END.format(**end_numbers()),
        ]
    )
    temporary = DOCS / f"inference.{os.getpid()}.tmp"
    temporary.write_text(rename(page) + "\n")
    temporary.replace(DOCS / "inference.md")


if __name__ == "__main__":
    main()
