"""Recalibration on held-out rows: the excess log loss of each kind, and how often it "helps" calibrated models.

    python recalibration.py [part ...]

Parts: kinds, clusters, periods; all by default. Writes recalibration.csv, recalibration_clusters.csv and
recalibration_periods.csv, case by case.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import numpy as np
from clusters import WAYS, draw_scores
from results import write_rows
from scipy.special import betaincinv
from worlds import Floats, log_odds, sigmoid

import truecal
from truecal.inference import KINDS

Line = dict[str, object]
FRESH = 20_000  # quantiles of the predictions that stand for all rows to come
# data sets of miscalibrated models, of models with more than 5,000 rows, and of calibrated ones
SETS, FEWER, CALIBRATED = 200, 40, 400
SERIES, CLUSTERED = 300, 200  # data sets of periods, and of calibrated models with clustered rows
VALIDATED = 40  # data sets of miscalibrated models that are validated on held-out rows


def _bend(x: Floats) -> Floats:
    return x + 0.15 * (x + 1.5) ** 2


def _calibrated(x: Floats) -> Floats:
    return x


# whether the rule was tuned on it, rows to fit, the shape of predictions, and the true log-odds by those predicted; the
# names seed the generator, so they stay as they are
WORLDS: dict[str, tuple[bool, int, tuple[float, float], Callable[[Floats], Floats]]] = {
    "prior x 3, 2 %": (True, 2000, (1, 49), lambda x: x + np.log(3)),
    "bent, 20 %": (True, 2000, (1, 4), _bend),
    "under-confident, 50 %": (True, 2000, (2, 2), lambda x: 1.5 * x),
    "over-confident, 20 %": (True, 2000, (0.5, 2), lambda x: 0.6 * x - 0.3),
    "prior / 2, 10 %": (True, 2000, (1, 9), lambda x: x - np.log(2)),
    "right, 2 %": (True, 2000, (1, 49), _calibrated),
    "right, 50 %": (True, 2000, (2, 2), _calibrated),
    "squeezed, 33 %": (False, 2000, (3, 6), lambda x: 2 * x + 0.4),
    "bent both ways, 50 %": (False, 3000, (1, 1), lambda x: 1.2 * np.sign(x) * np.abs(x) ** 1.3),
    "labels flipped, 20 %": (False, 4000, (0.5, 2), lambda x: log_odds(0.05 + 0.85 * sigmoid(x))),
    "over-confident, 1 %": (False, 5000, (0.5, 50), lambda x: 0.7 * x - 1),
    "odds x 1.16, 10 %": (False, 5000, (1, 9), lambda x: x + 0.15),
    "bent, 20 %, more rows": (True, 10_000, (1, 4), _bend),
    "wavy, 50 %": (True, 10_000, (2, 2), lambda x: x + 0.6 * np.sin(3 * x)),
    "a jump, 20 %": (True, 20_000, (1, 4), lambda x: np.where(x > -1, x + 1, x - 0.3)),
    "prior x 2, 5 %": (False, 3000, (1, 19), lambda x: x + np.log(2)),
    "odds / 1.3, 30 %": (False, 1500, (2, 4.7), lambda x: x - 0.26),
    "slightly over-confident, 50 %": (False, 1000, (1, 1), lambda x: 0.9 * x),
}


def measure_kinds(name: str) -> list[Line]:
    rng = np.random.default_rng(list(name.encode()))
    tuned, rows, shape, bend = WORLDS[name]
    fresh = np.clip(betaincinv(*shape, (np.arange(FRESH) + 0.5) / FRESH), 1e-15, 1 - 1e-15)
    truth = sigmoid(bend(log_odds(fresh)))
    kinds = ("auto", *KINDS)
    losses: dict[str, list[float]] = {kind: [] for kind in kinds}
    helped = []
    sets = FEWER if rows > 5000 else CALIBRATED if bend is _calibrated else SETS if rows <= 2000 else 2 * FEWER
    for number in range(sets):
        p = rng.beta(*shape, rows)
        y = rng.random(rows) < sigmoid(bend(log_odds(p)))
        for kind in kinds:
            validated = kind == "auto" and (bend is _calibrated or number < VALIDATED)
            recalibration = truecal.recalibrate(y, p, kind, folds=5 if validated else 0)
            if validated:
                helped.append(recalibration.helped)
            q = np.clip(recalibration.apply(fresh), 1e-12, 1 - 1e-12)
            # the excess log loss over the truth, in expectation over labels
            gap = truth * np.log(truth / q) + (1 - truth) * np.log((1 - truth) / (1 - q))
            losses[kind].append(float(gap.mean()))
    share = float(np.mean(helped))
    return [
        {
            "world": name,
            "tuned": int(tuned),
            "rows": rows,
            "sets": sets,
            "kind": kind,
            "excess": 1e4 * float(np.mean(gaps)),
            "proven": len(helped),
            "helped": share,
        }
        for kind, gaps in losses.items()
    ]


def measure_clusters() -> Iterator[Line]:
    """How often recalibration "helps" calibrated models with clustered rows, with `cluster=`."""
    for way, correlation, rows, size, shape in (
        ("copula", 0.3, 1000, 10, "33 %"),
        ("log-odds effect", 0.5, 1000, 20, "9 %"),
        ("beta-binomial", 0.5, 1000, 10, "33 %"),
    ):
        rng = np.random.default_rng([rows, size, *f"{way}{shape}".encode()])
        labels, shared = WAYS[way]
        helped: list[bool] = []
        for _ in range(CLUSTERED):
            p, cluster = draw_scores(rng, rows, size, shape, shared)
            y = labels(rng, p, cluster, correlation)
            helped.append(truecal.recalibrate(y, p, cluster=cluster).helped)
        yield {"labels": way, "correlation": correlation, "rows": rows, "size": size, "positives": shape,
               "sets": CLUSTERED, "helped": float(np.mean(helped))}  # fmt: skip


def measure_periods() -> Iterator[Line]:
    """How often the error that an offset leaves is found to change over time, with one odds ratio and with two."""
    for periods, rows, shape, positives in (
        (12, 200, (1, 9), "10 %"),
        (60, 30, (1, 9), "10 %"),
        (6, 2000, (1, 99), "1 %"),
        (24, 200, (1, 99), "1 %"),
        (2, 1000, (2, 2), "50 %"),
    ):
        for late in (1.0, 1.5):
            rng = np.random.default_rng([periods, rows, int(10 * late)])
            changed = 0
            for _ in range(SERIES):
                parts = {}
                for period in range(periods):
                    p = rng.beta(*shape, rows)
                    factor = 2.0 * (late if 2 * period >= periods else 1.0)
                    parts[period,] = truecal.Tally.from_arrays(rng.random(rows) < factor * p / (1 - p + factor * p), p)
                data = truecal.Observations("y", "p", parts, by=("week",), periods={"week": None})
                changed += truecal.recalibrate(data, kind="offset", folds=0).error_change is not None
            yield {"periods": periods, "rows": rows, "positives": positives, "odds later": f"x {late:g}",
                   "sets": SERIES, "changed": changed / SERIES}  # fmt: skip


def main(parts: list[str]) -> None:
    lines: list[Line] = []
    for name in WORLDS if "kinds" in parts else ():
        lines += measure_kinds(name)
        print(name, {line["kind"]: round(float(str(line["excess"])), 2) for line in lines if line["world"] == name},
              "helped", lines[-1]["helped"], flush=True)  # fmt: skip
        write_rows("recalibration", lines)
    for part, measure in (("clusters", measure_clusters), ("periods", measure_periods)):
        lines = []
        for line in measure() if part in parts else ():
            lines.append(line)
            print(line, flush=True)
            write_rows(f"recalibration_{part}", lines)


if __name__ == "__main__":
    main(sys.argv[1:] or ["kinds", "clusters", "periods"])
