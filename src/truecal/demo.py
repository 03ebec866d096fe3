"""Three models of one rare event, side by side: `python -m truecal.demo`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from truecal import plot
from truecal._text import Terminal, say
from truecal.analysis import evaluate
from truecal.data import Floats, Ints
from truecal.metrics import sigmoid
from truecal.reporting import report
from truecal.results import Result

DEMO_ROWS = 50_000


def simulate(rows: int = DEMO_ROWS, seed: int = 0) -> tuple[Ints, dict[str, Floats]]:
    """Simulate labels with about 1% positives, and the probabilities of three models.

    The calibrated model predicts the probabilities that the labels were drawn from. The overconfident one stretches
    their log-odds by half around the average. The prior-shifted one was trained at twice the prevalence, as after a
    change of season or an uncorrected sampling of negatives.
    """
    rng = np.random.default_rng(seed)
    log_odds = rng.normal(-5.4, 1.3, rows)
    label = (rng.random(rows) < sigmoid(log_odds)).astype(np.int64)
    centre = np.log(0.01 / 0.99)
    return label, {
        "calibrated": sigmoid(log_odds),
        "overconfident": sigmoid(centre + 1.5 * (log_odds - centre)),
        "prior-shifted": sigmoid(log_odds + np.log(2)),
    }


def evaluate_all(label: Ints, models: dict[str, Floats]) -> dict[str, Result]:
    """Evaluate every model on the same rows, with null distributions and confidence intervals."""
    return {
        name: evaluate(label, probability, null_draws=200, resamples=200, random_state=0)
        for name, probability in models.items()
    }


def write_pictures(results: dict[str, Result], folder: Path) -> list[Path]:
    """Write the report and the diagrams, and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = [report(results, folder / "report.html", title="Three models of a rare event")]

    def save(name: str, kind: str, *data: Any, **options: Any) -> None:
        written.append(plot.save(folder / f"{name}.png", kind, *data, dpi=110, **options))

    for name, result in results.items():
        save(f"{name}-calibration", "calibration", result, title=name)
        save(f"{name}-test-reliability", "test_reliability", result, title=name)
        save(f"{name}-reliability", "reliability", result, "ace", title=name)
    save("models", "models", results)
    save("binnings", "binnings", results["prior-shifted"], title="prior-shifted")
    save("metrics", "metrics", results)
    return written


def format_models(results: dict[str, Result]) -> str:
    """Return the metrics of several models as a table: for each model the value and the null mean."""
    first = next(iter(results.values()))
    heads = "".join(f"{name:>22}" for name in results), f"{'value':>8}{'if calibrated':>14}" * len(results)
    lines = [f"{'':17}{head}" for head in heads]
    for name, metric in first.metrics.items():
        pairs = ((found.format(name), metric.format(found.nulls[name].mean)) for found in results.values())
        lines.append(f"{name:<17}" + "".join(f"{value:>8}{null_mean:>14}" for value, null_mean in pairs))
    return "\n".join(lines)


def main(folder: str = "demo") -> None:
    """Print the comparison and the bins of one model; write the report and the diagrams."""
    label, models = simulate()
    terminal = Terminal.of(sys.stdout)
    results = evaluate_all(label, models)
    say(f"{len(label):,} transactions, {100 * label.mean():.2f}% fraud, three models\n")
    for name, result in results.items():
        say(terminal.wrap(f"{name}: {result.summary}", "  ", ""))
    say(f"\n{format_models(results)}")
    say(
        "\nLocal TCE is the share of predictions in score windows that a test rejects: about 5% if calibrated, far"
        "\nmore for the others. ECE is below 0.02 for all three: at 1% prevalence there is no room for a large gap."
        "\n\nThe prior-shifted model, bin by bin:\n"
    )
    say(str(evaluate(label, models["prior-shifted"], metrics=["tce"])))
    try:
        written = write_pictures(results, Path(folder))
    except ImportError as error:
        say(f"\nNo pictures. {error}")
        return
    say(f"\nWrote {written[0]}, and {len(written) - 1} pictures beside it.")


if __name__ == "__main__":
    main(*sys.argv[1:2])
