"""Local TCE and the verdict: level of right models, size at 0.05 and 0.01, power, and what "consistent" rules out.

    python verdict.py [part ...] [--sets 400] [--rows 1000000]

Parts: right, power, consistent, fifth, tolerance, growth; all of them by default. "right" writes verdict_level.csv and
verdict_size.csv, each other part verdict_<part>.csv.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext

import numpy as np
from results import write_rows
from shapes import ERRORS, FRESH, PREDICTIONS, Rng, draw_right, observe, remember_windows, with_odds

from truecal.metrics import Relative, local_error
from truecal.verdict import combine, combine_cauchy, component_p_values, judge

Line = dict[str, object]
ROWS = (300, 1000, 10_000, 100_000, 1_000_000)
FIVE = ("total", "scan_information", "scan_rows", "cox", "cumulative")
SHAPES = PREDICTIONS | FRESH


def seed(name: str, rows: int) -> Rng:
    return np.random.default_rng([rows, *name.encode()])


def combine_five(parts: Mapping[str, float]) -> float:
    """Return the plain Cauchy combination of five component tests, with which the verdict is compared."""
    return float(combine_cauchy(np.array([parts[name] for name in FIVE if name in parts])))


def right(sets: int, most: int) -> None:
    """Level and size in the same data sets of right models: four times as many as elsewhere, so that a size is known to
    half a point, and ten times for two scores, whose few windows vary more."""
    levels, sizes = [], []
    for rows in (rows for rows in ROWS if rows <= most):
        for name, draw in SHAPES.items():
            local, parts = [], []
            count = sets * (10 if name in ("0.001 and 0.999", "two far atoms") else 4)
            with remember_windows() if rows >= 10_000 else nullcontext():
                for cells in draw_right(draw, rows, count, seed(name, rows)):
                    local.append(local_error(cells))
                    parts.append(component_p_values(cells))
            case: Line = {"predictions": name, "rows": rows, "sets": count}
            values = np.array([found.value for found in local])
            evidence = [found.information for found in local if found.information is not None]
            levels.append(
                case
                | {
                    "V": float(cells.v.sum()),
                    "mean Local TCE": float(values.mean()),
                    "sd": float(values.std()),
                    "by information": float(np.mean(evidence)),
                    "proven, mean": float(np.mean([found.proven for found in local])),
                    "some proven": float(np.mean([found.proven > 0 for found in local])),
                }
            )
            sizes.append(case | rates(parts))
            show(levels[-1] | sizes[-1])
        write_rows("verdict_level", levels)
        write_rows("verdict_size", sizes)


def rates(parts: list[dict[str, float]]) -> Line:
    """How often the verdict, the five and each part are at most 0.05 and 0.01."""
    ours, five = (np.array([rule(one) for one in parts]) for rule in (combine, combine_five))
    found: Line = {}
    for level in (0.05, 0.01):
        found |= {f"p <= {level}": float(np.mean(ours <= level)), f"five <= {level}": float(np.mean(five <= level))}
    for name in (*FIVE, "spread"):
        found[f"test {name}"] = float(np.mean([one.get(name, 1.0) <= 0.05 for one in parts]))
    return found


def power(name: str, rows: int, sets: int) -> Line:
    """How often an error is found."""
    rng = seed(name, rows)
    parts = [component_p_values(observe(rng, *ERRORS[name](rng, rows))) for _ in range(sets)]
    return {"error": name, "rows": rows, "sets": sets} | rates(parts)


def consistent(name: str, sets: int) -> Line:
    """At the fewest rows that make "consistent" possible: the statuses of models with odds ratios of 1.5."""
    rng = seed(name, 1)
    low, high = 10, 10**7
    while high / low > 1.02:
        rows = int(math.sqrt(low * high))
        p = PREDICTIONS[name](rng, rows)
        found = judge(observe(rng, p, p)).detectable
        low, high = (rows, high) if found > 1.5 else (low, rows)
    line: Line = {"predictions": name, "rows": high, "sets": sets}
    for way, factor in (("x 1.5", 1.5), ("/ 1.5", 1 / 1.5)):
        statuses = []
        for _ in range(sets):
            p = PREDICTIONS[name](rng, high)
            cells = observe(rng, p, with_odds(p, factor))
            rejected = combine(component_p_values(cells)) <= 0.05
            statuses.append("miscalibrated" if rejected else judge(cells).status)
        line[f"miscalibrated, {way}"] = statuses.count("miscalibrated") / sets
        line[f"consistent, {way}"] = statuses.count("consistent") / sets
    return line


def fifth(name: str, rows: int, sets: int) -> Line:
    """A fifth of the information, neighbours anywhere, with the odds ratios that are detectable there."""
    rng = seed(name, 2)
    found = {"above": 0, "below": 0}
    p = np.sort(PREDICTIONS[name](rng, rows))
    verdict = judge(observe(rng, p, p))
    running = np.cumsum(p * (1 - p)) / np.sum(p * (1 - p))
    for _ in range(sets):
        start = rng.uniform(0, 0.8)
        inside = (running > start) & (running <= start + 0.2)
        for way, factor in (("above", verdict.detectable_above), ("below", 1 / verdict.detectable_below)):
            truth = np.where(inside, with_odds(p, factor), p)
            parts = component_p_values(observe(rng, p, truth))
            found[way] += combine(parts) <= 0.05
    return {
        "predictions": name,
        "rows": rows,
        "sets": sets,
        "x": verdict.detectable_above,
        "found above": found["above"] / sets,
        "/": verdict.detectable_below,
        "found below": found["below"] / sets,
    }


def tolerance(name: str, rows: int, sets: int) -> Line:
    """A tolerance of a tenth: calibrated models, rates a tenth higher or lower, and rates a fifth higher."""
    rng = seed(name, 3)
    line: Line = {"predictions": name, "rows": rows, "sets": sets}
    for way, factor in (("calibrated", 1.0), ("x 1.1", 1.1), ("x 0.9", 0.9), ("x 1.2", 1.2)):
        found = []
        for _ in range(sets):
            p = PREDICTIONS[name](rng, rows)
            cells = observe(rng, p, factor * p)
            found.append(judge(cells, tolerance=Relative(0.1)))
        line[f"{way}, miscalibrated"] = float(np.mean([verdict.status == "miscalibrated" for verdict in found]))
        line[f"{way}, p <= 0.01"] = float(np.mean([verdict.p_value <= 0.01 for verdict in found]))
        line[f"{way}, Local TCE"] = float(np.mean([verdict.local.value for verdict in found]))
    return line


def growth(rows: int, sets: int) -> Line:
    """Local TCE of one error at growing sizes, without a tolerance and with one of a tenth."""
    rng = np.random.default_rng(rows)
    line: Line = {"rows": rows, "sets": sets}
    base = next(draw_right(PREDICTIONS["Beta(.5, 5)"], rows, 1, rng))
    for percent in (0, 2, 5, 20):
        found = [
            base.with_positives(rng.binomial(base.n, np.minimum((1 + percent / 100) * base.p, 1))) for _ in range(sets)
        ]
        for name, allowed in (("", None), (", tolerance", Relative(0.1))):
            line[f"{percent} %{name}"] = float(np.mean([local_error(cells, 0.05, allowed).value for cells in found]))
    return line


def show(line: Line) -> None:
    print(" ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in line.items()), flush=True)


def write(part: str, lines: Iterable[Line]) -> None:
    found = []
    for line in lines:
        found.append(line)
        show(line)
        write_rows(f"verdict_{part}", found)


BOUNDARY = ("Beta(.5, 5)", "Beta(2, 2)", "Beta(.2, .2)", "Beta(.5, 50)", "100 levels", "sharp, 1 %")
TOLERANT = ("Beta(.5, 5)", "Beta(.5, 50)", "100 levels", "half at 0", "Beta(.3, 300), 0.1 %")
PARTS: dict[str, Callable[[int, int], None]] = {
    "right": right,
    "power": lambda sets, _: write("power", (power(name, 20_000, sets) for name in ERRORS)),
    "consistent": lambda sets, _: write("consistent", (consistent(name, sets) for name in BOUNDARY)),
    "fifth": lambda sets, _: write(
        "fifth", (fifth(name, 20_000, sets) for name in ("Beta(.5, 5)", "Beta(2, 2)", "sharp, 1 %"))
    ),
    "tolerance": lambda sets, _: write(
        "tolerance", (tolerance(name, rows, sets) for rows in (1000, 20_000) for name in TOLERANT)
    ),
    "growth": lambda sets, most: write("growth", (growth(rows, sets // 8) for rows in ROWS[2:] if rows <= most)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=list(PARTS))
    parser.add_argument("--sets", type=int, default=400)
    parser.add_argument("--rows", type=int, default=max(ROWS))
    options = parser.parse_args()
    for part in options.parts:
        PARTS[part](options.sets, options.rows)


if __name__ == "__main__":
    main()
