"""Three models of one rare event, side by side: `python -m truecal.demo`."""

from __future__ import annotations

import numpy as np

from truecal import evaluation
from truecal.result import Result
from truecal.tally import Floats, Ints

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
    """Every model's result on the same rows."""
    return {name: evaluation.evaluate(label, probability) for name, probability in models.items()}


def compare(results: dict[str, Result]) -> str:
    """The metrics of several models as a table, one column a model."""
    first = next(iter(results.values()))
    width = max(15, *(len(name) + 2 for name in results))
    lines = [" " * 13 + "".join(name.rjust(width) for name in results)]
    for name in first.values:
        lines.append(name.ljust(13) + "".join(result.format(name).rjust(width) for result in results.values()))
    return "\n".join(lines)


def _sigmoid(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-x)))


def main() -> None:
    """Print the comparison and one model's bins."""
    label, models = simulate()
    results = evaluate_models(label, models)
    print(f"{len(label):,} transactions, {100 * label.mean():.2f} % fraud, three models\n")
    print(compare(results))
    print(
        "\nTCE is the share of predictions that the data contradict: low for the calibrated model, high for the others."
        "\nECE is below 0.02 for all three: at 1 % prevalence there is no room for a large gap, right or wrong."
        "\n\nThe prior-shifted model in full:\n"
    )
    print(results["prior-shifted"])


if __name__ == "__main__":
    main()
