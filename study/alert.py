"""Only the top 1 % of predictions is wrong: TCE over all rows against TCE over the alert region."""

from __future__ import annotations

import numpy as np
from results import write_rows
from worlds import MODELS, truth

from truecal import Tally
from truecal.inference import Draws, null_distribution
from truecal.metrics import METRICS

TCE = {"tce": METRICS["tce"]}
SETS = {50_000: 60, 1_000_000: 6}


def cell(prevalence: float, rows: int) -> dict[str, object]:
    rng = np.random.default_rng([rows, int(1 / prevalence)])
    hits: dict[str, list[bool]] = {"all rows": [], "top 1 %": []}
    for _ in range(SETS[rows]):
        q = truth(rng, rows, prevalence)
        tally = Tally.from_arrays(rng.random(rows) < q, MODELS["top 1 % wrong"](q, prevalence))
        for name, part in (("all rows", tally), ("top 1 %", tally.top(0.01))):
            hits[name].append(null_distribution(part, TCE, Draws(99, rng))["tce"].p_value < 0.05)
    shares = {name: float(np.mean(found)) for name, found in hits.items()}
    return {"prevalence": prevalence, "rows": rows, "sets": SETS[rows], **shares}


def main() -> None:
    lines = [cell(prevalence, rows) for rows in SETS for prevalence in (0.5, 0.1, 0.01)]
    for line in lines:
        print(line)
    write_rows("alert", lines)


if __name__ == "__main__":
    main()
