"""The paper's figures, for the data at hand and by the library's pictures: reliability diagrams and binnings compared.

LR and GB on abalone, coil_2000, isolet and webpage and the ImageNet networks: the test-based diagram beside the
standard ones on equal widths and on quantiles. Random forests of satimage and coil_2000: observed against predicted in
the bins.
"""

from __future__ import annotations

import sys

import numpy as np
from matplotlib.figure import Figure

from reproduction.bins import SCHEMES, forest
from reproduction.places import FIGURES, say, write_whole
from reproduction.sources import IMAGENET_FILES, Array, Missing, Sources
from truecal import BoundedIsotonic, Metric, evaluate, plot
from truecal.metrics import PointwiseTest

DPI = 90
SETS = ("abalone", "coil_2000", "isolet", "webpage")
FORESTS = ("satimage", "coil_2000")


def run(sources: Sources) -> None:
    """Draw what can be drawn; missing sets are named."""
    for name in SETS:
        for model in ("LR", "GB"):
            with _Named(sources):
                save(f"{name}_{model}", draw_diagrams(f"{name} {model}", *uci_predictions(sources, name, model)))
    for model in IMAGENET_FILES:
        with _Named(sources):
            save(f"imagenet_{model}", draw_diagrams(f"ImageNet {model}", *sources.imagenet(model)))
    for name in FORESTS:
        with _Named(sources):
            save(f"bins_{name}", draw_comparison(name, *forest(sources, name)))


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


def draw_diagrams(label: str, y: Array, score: Array) -> Figure:
    """Three panels: test-based, equal widths, quantiles; the last two on linear axes, where they can be compared."""
    result = evaluate(y, score, ["tce", "ece", "ace"], binning=BoundedIsotonic(sizes="paper"))
    figure = Figure(figsize=(15, 5), layout="constrained")
    axes = figure.subplots(1, 3)
    plot.test_reliability(result, "tce", style="paper", title=label, ax=axes[0])
    plot.reliability(result, "ece", scale="linear", title="standard, 10 equal widths", ax=axes[1])
    plot.reliability(result, "ace", scale="linear", title="standard, 10 quantiles", ax=axes[2])
    return figure


def draw_comparison(name: str, y: Array, score: Array) -> Figure:
    """PAVA, PAVA-BC and quantiles under each other: observed against predicted in their bins."""
    result = evaluate(y, score, {scheme: Metric(binning, PointwiseTest()) for scheme, binning in SCHEMES.items()})
    figure = Figure(figsize=(9, 6.5), layout="constrained")
    plot.binnings(result, title=f"{name}, random forest", ax=figure.subplots())
    return figure


def save(name: str, figure: Figure) -> None:
    """Write a figure as PNG, its name in small letters."""
    path = FIGURES / f"{name.lower()}.png"
    write_whole(path, lambda part: figure.savefig(part, dpi=DPI, metadata={"Software": None}))
    say(f"    {path.name}")


if __name__ == "__main__":
    from reproduction.__main__ import main

    sys.exit(main(["figures"]))
