"""UCI tables on models fitted here: LR, SVM, RF, GB and MLP on every set at hand, with the installed scikit-learn.

Finished fits are cached, so a stopped run goes on where it was; `uci_fits.csv` has the seconds of each.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import sklearn

from reproduction.cells import Cell, Variants, missing, write_cells, write_rows
from reproduction.places import say
from reproduction.settings import SOLVER, TAIL, TIES
from reproduction.sources import Missing, Sources
from reproduction.uci_protocol import MODELS, Split, fit, split
from reproduction.uci_tables import SETS, Floats, compare_model, printed_cells
from reproduction.variants.solver import fit_by_sum, predict

VERSION = "library version"


def run(sources: Sources) -> None:
    """Fit and compare; sets that are missing are named in their cells."""
    try:
        stored = sources.stored_predictions()
    except Missing:
        stored = {}
    cells: list[Cell] = []
    fits: list[dict[str, object]] = []
    for name in SETS:
        try:
            parts = split(name, *sources.uci(name))
        except Missing as error:
            sources.missing[name] = error.reason
            for model in MODELS:
                cells += [missing(*cell, name) for cell in printed_cells(name, model).values()]
            continue
        for model in MODELS:
            done = fit(name, model, parts, sources.cache)
            say(f"    {name} {model}: {done.seconds:.1f} s{' (cached)' if done.cached else ''}")
            older = stored.get(f"{name}_{model}")
            furthest = None if older is None else float(np.abs(done.score - older).max())
            fits.append(
                {"set": name, "model": model, "seconds": done.seconds, "scikit-learn": sklearn.__version__}
                | {"distance from 1.2.1": None if furthest is None else f"{furthest:.2g}"}
            )
            scores = _variants(parts, done.score, older if model == "GB" else None)
            causes = {"LR": (SOLVER, TIES, TAIL), "GB": (VERSION, TIES, TAIL)}.get(model, (TIES, TAIL))
            cells += compare_model(name, model, parts.y_test, scores, causes)
    write_cells("uci_models", cells)
    write_rows("uci_fits", fits)


def _variants(parts: Split, score: Floats, older: Floats | None) -> Callable[[Variants], Floats]:
    """Predictions under the variants that change a fit: the solver, or the stored predictions of scikit-learn 1.2.1."""

    def score_of(variants: Variants) -> Floats:
        if SOLVER in variants:
            return predict(parts.x_test, fit_by_sum(parts.x_train, parts.y_train))
        return older if VERSION in variants and older is not None else score

    return score_of


if __name__ == "__main__":
    from reproduction.__main__ import main

    sys.exit(main(["uci_models"]))
