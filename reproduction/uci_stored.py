"""UCI tables on predictions of the paper's time (scikit-learn 1.2.1): LR, RF and GB.

Where scores are tied, `truecal` groups them; the published value follows from the order in which NumPy's sort of that
time left them, which is reproduced.
"""

from __future__ import annotations

import sys

import numpy as np

from reproduction.cells import Cell, missing, write_cells
from reproduction.settings import TAIL, TIES
from reproduction.sources import Sources
from reproduction.uci_tables import SETS, compare_model, printed_cells

MODELS = ("LR", "RF", "GB")


def run(sources: Sources) -> None:
    """Compare every cell of the sets at hand."""
    stored = sources.stored_predictions()
    cells: list[Cell] = []
    for name in SETS:
        for model in MODELS:
            if f"{name}_{model}" not in stored:
                at = printed_cells(name, model).values()
                cells += [missing(where, printed, f"stored predictions of {name}") for where, printed in at]
                continue
            y, score = stored[f"{name}_y"].astype(np.int64), stored[f"{name}_{model}"]
            cells += compare_model(name, model, y, lambda _, score=score: score, (TIES, TAIL))  # type: ignore[misc]
    write_cells("uci_stored", cells)


if __name__ == "__main__":
    from reproduction.__main__ import main

    sys.exit(main(["uci_stored"]))
