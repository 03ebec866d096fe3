"""Three models of one rare event, side by side: `python -m truecal.demo`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from truecal.analysis import evaluate
from truecal.observations import Floats, Ints
from truecal.plot import _comparisons as comparisons
from truecal.plot import _plots as plots
from truecal.reporting import _reports as reports
from truecal.results import Result

ROWS = 50_000


def simulate(rows: int = ROWS, seed: int = 0) -> tuple[Ints, dict[str, Floats]]:
    """Labels with about 1 % positives, and three models' probabilities for them.

    The calibrated model knows the probabilities that the labels were drawn from. The over-confident one stretches
    their log-odds by half around the average; the prior-shifted one learned at twice the prevalence it meets, as
    after a change of season or an uncorrected sampling of negatives.
    """
    rng = np.random.default_rng(seed)
    log_odds = rng.normal(-5.4, 1.3, rows)
    label = (rng.random(rows) < _sigmoid(log_odds)).astype(np.int64)
    centre = np.log(0.01 / 0.99)
    return label, {
        "calibrated": _sigmoid(log_odds),
        "over-confident": _sigmoid(centre + 1.5 * (log_odds - centre)),
        "prior-shifted": _sigmoid(log_odds + np.log(2)),
    }


def evaluate_models(label: Ints, models: dict[str, Floats]) -> dict[str, Result]:
    """Every model's result on the same rows, with what chance would give."""
    return {
        name: evaluate(label, probability, reference=200, intervals=200, random_state=0)
        for name, probability in models.items()
    }


def write_pictures(results: dict[str, Result], folder: Path) -> list[Path]:
    """The report and the diagrams as PNGs; returns where they are."""
    folder.mkdir(parents=True, exist_ok=True)
    title = "Three models of a rare event"
    written = [reports.report(results, folder / "report.html", title=title)]
    figures = plots.need_matplotlib("matplotlib.figure")

    def figure(width: float, height: float) -> Any:
        return figures.Figure(figsize=(width, height), layout="constrained")

    def save(drawn: Any, name: str) -> None:
        written.append(folder / f"{name}.png")
        drawn.savefig(written[-1], dpi=110)

    for name, result in results.items():
        one, two, three = figure(8, 6), figure(8, 6), figure(8, 3.6)
        plots.draw_test_based(result, title=name, ax=one.subplots())
        plots.draw_reliability(result, "ace", title=name, ax=two.subplots())
        plots.draw_errors(result, title=name, ax=three.subplots())
        save(one, f"{name}-test-based")
        save(two, f"{name}-reliability")
        save(three, f"{name}-errors")
    side, binnings, metrics = figure(16, 5.4), figure(8, 7.5), figure(8, 9)
    comparisons.draw_models(results, axes=side.subplots(1, len(results)))
    last = results["prior-shifted"]
    rows = len(comparisons.binnings_of(last))
    comparisons.draw_binnings(last, title="prior-shifted", axes=binnings.subplots(rows, 1))
    comparisons.draw_metrics(results, axes=metrics.subplots(3, 1, height_ratios=[3, 5, 2]))
    save(side, "models")
    save(binnings, "binnings")
    save(metrics, "metrics")
    return written


def compare(results: dict[str, Result]) -> str:
    """The metrics of several models as a table: for each model the value and what chance gives."""
    first = next(iter(results.values()))
    heads = "".join(f"{name:>22}" for name in results), f"{'value':>11}{'by chance':>11}" * len(results)
    lines = [f"{'':11}{head}" for head in heads]
    for name, metric in first.metrics.items():
        pairs = ((found.format(name), metric.format(found.references[name].mean)) for found in results.values())
        lines.append(f"{name:<11}" + "".join(f"{value:>11}{chance:>11}" for value, chance in pairs))
    return "\n".join(lines)


def _sigmoid(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-x)))


def main(folder: str = "demo") -> None:
    """Print the comparison and what is wrong with one model; write the report and the diagrams."""
    label, models = simulate()
    results = evaluate_models(label, models)
    print(f"{len(label):,} transactions, {100 * label.mean():.2f} % fraud, three models\n")
    print(compare(results))
    print(
        "\nTCE is the share of predictions that the data contradict: what chance gives for the calibrated model, far"
        "\nmore for the others. ECE is below 0.02 for all three: at 1 % prevalence there is no room for a large gap."
        "\n\nThe prior-shifted model, bin by bin:\n"
    )
    print(evaluate(label, models["prior-shifted"], metrics=["tce"]))
    try:
        written = write_pictures(results, Path(folder))
    except ImportError as error:
        print(f"\nNo pictures. {error}")
        return
    print(f"\nWrote {written[0]}, and {len(written) - 1} pictures beside it.")


if __name__ == "__main__":
    main(*sys.argv[1:2])
