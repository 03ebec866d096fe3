"""The paper's figures, for the data at hand: reliability diagrams and the comparison of binnings.

LR and GB on abalone, coil_2000, isolet and webpage and the ImageNet networks: the test-based diagram beside the
standard ones on equal widths and on quantiles. Random forests of satimage and coil_2000: sizes and rates of the bins.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from reproduction.bins import SCHEMES, forest
from reproduction.drawings import draw_binnings, draw_standard, draw_test_based
from reproduction.places import FIGURES, say, write_whole
from reproduction.sources import IMAGENET_FILES, Array, Missing, Sources
from truecal import BinTable, BoundedIsotonic, Metric, Quantile, Rejection, Tally, Uniform, evaluate_tally
from truecal.binning import Binning

DPI = 90
SETS = ("abalone", "coil_2000", "isolet", "webpage")
FORESTS = ("satimage", "coil_2000")


def run(sources: Sources) -> None:
    """Draw what can be drawn; missing sets are named."""
    jobs = [(f"{name} {model}", (name, model)) for name in SETS for model in ("LR", "GB")]
    for label, (name, model) in jobs:
        with _Named(sources):
            draw_diagrams(label, *uci_predictions(sources, name, model))
    for model in IMAGENET_FILES:
        with _Named(sources):
            draw_diagrams(f"ImageNet {model}", *sources.imagenet(model))
    for name in FORESTS:
        with _Named(sources):
            draw_comparison(name, *forest(sources, name))


class _Named:
    """Turns a missing set into its name in the list of missing ones."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
        if isinstance(error, Missing):
            self.sources.missing[error.name] = error.reason
        return isinstance(error, Missing)


def uci_predictions(sources: Sources, name: str, model: str) -> tuple[Array, Array]:
    """Stored predictions of the paper's time, or a fit made here."""
    try:
        stored = sources.stored_predictions()
        return stored[f"{name}_y"].astype(np.int64), stored[f"{name}_{model}"]
    except (Missing, KeyError):
        from reproduction.uci_protocol import fit, split

        parts = split(name, *sources.uci(name))
        say(f"    {name} {model}: no stored predictions, fitted here")
        return parts.y_test, fit(name, model, parts, sources.cache).score


def draw_diagrams(label: str, y: Array, score: Array) -> Path:
    """Three panels: test-based, equal widths, quantiles."""
    tally = Tally.from_arrays(y, score)
    figure = Figure(figsize=(15, 4.2))
    panels: Any = figure.subfigures(1, 3, wspace=0.02)
    table, tce = table_of(tally, BoundedIsotonic(sizes="paper"))
    draw_test_based(panels[0], f"{label}: TCE = {tce:.2f} %", table, score, logits=label.startswith("ImageNet"))
    draw_standard(panels[1], "standard, 10 equal widths", table_of(tally, Uniform(10))[0], score)
    draw_standard(panels[2], "standard, 10 quantiles", table_of(tally, Quantile(10))[0], score)
    return _save(figure, label.lower().replace(" ", "_"))


def draw_comparison(name: str, y: Array, score: Array) -> Path:
    """PAVA, PAVA-BC and quantiles: sizes at the left, rates at the right."""
    tally = Tally.from_arrays(y, score)
    tables = {scheme: table_of(tally, binning)[0] for scheme, binning in SCHEMES.items()}
    figure = Figure(figsize=(11, 6.5), layout="constrained")
    grid = figure.subplots(len(tables), 2, sharex=True)
    figure.suptitle(f"{name}, random forest", fontsize=11)
    draw_binnings(dict(zip(tables, grid[:, 0], strict=True)), dict(zip(tables, grid[:, 1], strict=True)), tables)
    for axes in grid[-1]:
        axes.set_xlabel("prediction")
    return _save(figure, f"bins_{name}")


def table_of(tally: Tally, binning: Binning) -> tuple[BinTable, float]:
    """The table of bins, and the TCE on them."""
    result = evaluate_tally(tally, {"tce": Metric(binning, Rejection())})
    return result.tables["tce"], result["tce"]


def _save(figure: Figure, name: str) -> Path:
    path = FIGURES / f"{name}.png"
    write_whole(path, lambda part: figure.savefig(part, dpi=DPI, metadata={"Software": None}))
    say(f"    {path.name}")
    return path


if __name__ == "__main__":
    from reproduction.__main__ import main

    sys.exit(main(["figures"]))
