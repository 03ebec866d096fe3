"""Do the intervals cover? For one model and for the difference of two, over 500 data sets each.

The target is the metric's expectation over labels given the predictions: computed by redrawing labels from the truth.
"""

from __future__ import annotations

import numpy as np
from results import write_rows
from worlds import Floats, log_odds, sigmoid

from truecal import Tally
from truecal.inference import Draws, differences, intervals
from truecal.inference._redraw import redraw
from truecal.metrics import METRICS, Metric
from truecal.observations import Pairs

SETS, REPLICATES = 500, 200
CHOSEN = {name: METRICS[name] for name in ("tce", "ece", "ace")}


def draw(case: str, rng: np.random.Generator, rows: int) -> tuple[Floats, Floats]:
    """The truth and what the model says."""
    truth = np.sort(rng.beta(0.5, 49.5, rows) if case == "1 %" else rng.beta(2, 2, rows))
    return truth, sigmoid(1.5 * log_odds(truth)) if case == "over-confident" else truth


def rival(truth: Floats, rng: np.random.Generator) -> Floats:
    """A second model: noisier and a little under-confident."""
    x = log_odds(truth)
    return sigmoid(x.mean() + 0.8 * (x - x.mean()) + rng.normal(0, 0.3, len(x)))


def expected(p: Floats, truth: Floats, metrics: dict[str, Metric], seed: int) -> dict[str, float]:
    order = np.argsort(p, kind="stable")
    tally = Tally(p[order], np.ones(len(p), np.int64), np.zeros(len(p), np.int64))
    drawn = redraw(tally, truth[order], metrics, Draws(REPLICATES, seed))
    return {name: float(values.mean()) for name, values in drawn.items()}


def summary(what: str, case: str, rows: int, inside: dict[str, list[bool]]) -> list[dict[str, object]]:
    same = {"what": what, "case": case, "rows": rows}
    return [
        {**same, "metric": name, "sets": len(hits), "coverage": float(np.mean(hits))} for name, hits in inside.items()
    ]


def one_model(case: str, rows: int) -> list[dict[str, object]]:
    rng = np.random.default_rng(7)
    inside: dict[str, list[bool]] = {name: [] for name in CHOSEN}
    for i in range(SETS):
        truth, p = draw(case, rng, rows)
        p = np.unique(p)
        truth = truth[: len(p)]
        label = rng.random(len(p)) < truth
        target = expected(p, truth, CHOSEN, 10**7 + i)
        spans = intervals(Tally.from_arrays(label, p), CHOSEN, Draws(REPLICATES, i))
        for name, span in spans.items():
            inside[name].append(span.low <= target[name] <= span.high)
    return summary("value", case, rows, inside)


def two_models(case: str, rows: int) -> list[dict[str, object]]:
    rng = np.random.default_rng(8)
    inside: dict[str, list[bool]] = {name: [] for name in CHOSEN}
    for i in range(SETS):
        truth, p = draw(case, rng, rows)
        other = rival(truth, rng)
        if len(np.unique(p)) < rows or len(np.unique(other)) < rows:
            continue
        label = (rng.random(rows) < truth).astype(np.int64)
        first, second = expected(p, truth, CHOSEN, 10**7 + i), expected(other, truth, CHOSEN, 2 * 10**7 + i)
        pairs = Pairs.merge(p, other, np.ones_like(label), label)
        found = differences(pairs, CHOSEN, Draws(REPLICATES, i))
        for name, gap in found.items():
            inside[name].append(gap.low <= first[name] - second[name] <= gap.high)
    return summary("difference", case, rows, inside)


def main() -> None:
    lines = []
    for rows in (2000, 20_000):
        for case in ("balanced", "1 %", "over-confident"):
            for study in (one_model, two_models):
                lines += study(case, rows)
                print(lines[-3:], flush=True)
    write_rows("coverage", lines)


if __name__ == "__main__":
    main()
