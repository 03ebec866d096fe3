"""How often the verdict finds an error in the rows that `plan` asks for: factors on all odds, and on a fifth of the
evidence, neighbours anywhere."""

from __future__ import annotations

import numpy as np
from results import write_rows
from verdict import with_odds
from worlds import Draw, Floats

from truecal import plan
from truecal.data import Cells
from truecal.verdict import combine, component_p_values

WORLDS: dict[str, Draw] = {
    "one score, 1 %": lambda rng, rows: np.full(rows, 0.01),
    "Beta(.5, 5)": lambda rng, rows: rng.beta(0.5, 5, rows),
    "Beta(2, 2)": lambda rng, rows: rng.beta(2, 2, rows),
    "Beta(.02, 1.98), sharp": lambda rng, rows: rng.beta(0.02, 1.98, rows),
}
FACTORS = (1.2, 1.5, 3.0)
SETS = 400


def find(rng: np.random.Generator, p: Floats, factor: float, *, fifth: bool) -> bool:
    """Whether the verdict on one set of labels is "miscalibrated"."""
    inside = np.ones(len(p), dtype=bool)
    if fifth:
        p = np.sort(p)
        running, start = np.cumsum(p * (1 - p)) / np.sum(p * (1 - p)), rng.uniform(0, 0.8)
        inside = (running > start) & (running <= start + 0.2)
    truth = np.where(inside, with_odds(p, factor), p)
    return combine(component_p_values(Cells.from_arrays(rng.random(len(p)) < truth, p))) <= 0.05


def cell(number: int, factor: float, *, fifth: bool) -> dict[str, object]:
    name, draw = list(WORLDS.items())[number]
    rng = np.random.default_rng([number, int(1000 * factor), fifth])
    found = plan(draw(rng, 100_000), factor=factor)
    rows = found.fifth_rows if fifth else found.rows
    assert rows is not None
    hits = [find(rng, draw(rng, rows), factor, fifth=fifth) for _ in range(SETS)]
    where = "a fifth of the evidence" if fifth else "all odds"
    return {
        "predictions": name, "error": where, "factor": factor, "rows": rows, "sets": SETS, "found": float(np.mean(hits))
    }  # fmt: skip


def main() -> None:
    lines = []
    for number, name in enumerate(WORLDS):
        for fifth in (False,) if name.startswith("one score") else (False, True):
            for size in FACTORS[fifth:]:
                for factor in (size, 1 / size):
                    lines.append(cell(number, factor, fifth=fifth))
                    print(lines[-1], flush=True)
    write_rows("plan", lines)


if __name__ == "__main__":
    main()
