"""Who finds what: rejection rates of global tests and values of metrics, for perfect and for wrong predictions."""

from __future__ import annotations

import math

import numpy as np
from results import write_rows
from worlds import MODELS, truth

from truecal import Tally
from truecal.data import Cells
from truecal.inference import Draws, null_distribution
from truecal.metrics import METRICS
from truecal.verdict import component_p_values

SETS = {500: 100, 5000: 60, 50_000: 30, 1_000_000: 4}
PREVALENCES = (0.5, 0.1, 0.01, 0.001)
CHOSEN = {name: METRICS[name] for name in ("tce", "ece", "ace")}
TESTS = ("Spiegelhalter", "Cox", "ECCE-R")


def cell(model: str, prevalence: float, rows: int) -> dict[str, object]:
    rng = np.random.default_rng([rows, int(1 / prevalence), list(MODELS).index(model)])
    found: dict[str, list[float]] = {}
    for _ in range(SETS[rows]):
        q = truth(rng, rows, prevalence)
        tally = Tally.from_arrays(rng.random(rows) < q, MODELS[model](q, prevalence))
        parts = component_p_values(Cells.of(tally))  # with little information there are no asymptotic ones
        z = METRICS["spiegelhalter"](tally)
        p_values = math.erfc(abs(z) / math.sqrt(2)), parts.get("cox", 1.0), parts.get("cumulative", 1.0)
        for name, p_value in zip(TESTS, p_values, strict=True):
            found.setdefault(name, []).append(p_value < 0.05)
        for name, reference in null_distribution(tally, CHOSEN, Draws(39, rng)).items():
            found.setdefault(name.upper(), []).append(reference.p_value < 0.05)
            found.setdefault(f"{name} value", []).append(reference.mean + reference.excess)
            found.setdefault(f"{name} null mean", []).append(reference.mean)
        found.setdefault("slope", []).append(METRICS["slope"](tally))
    means = {name: float(np.mean(values)) for name, values in found.items()}
    return {"model": model, "prevalence": prevalence, "rows": rows, "sets": SETS[rows], **means}


def main() -> None:
    lines = []
    for rows in SETS:
        for prevalence in PREVALENCES:
            for model in MODELS:
                lines.append(cell(model, prevalence, rows))
            print(rows, prevalence, {line["model"]: line["TCE"] for line in lines[-len(MODELS) :]}, flush=True)
    write_rows("landscape", lines)


if __name__ == "__main__":
    main()
