"""Series of 30 periods: the drift status of calibrated models, of models that are miscalibrated throughout, and of
models whose calibration drifts, and how often periods of calibrated models are called miscalibrated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
from results import write_rows
from shapes import PREDICTIONS, with_odds

import truecal
from truecal import Observations, Tally

SETS, WINDOWS, CHANGE = 400, 30, 20
Error = Callable[[int], float]  # the factor on the odds in a window
WORDS = (
    "stable",
    "base rate shifted",
    "miscalibrated throughout",
    "calibration drift",
    "recovered",
    "miscalibrated",
    "consistent",
)

ERRORS: dict[str, Error] = {
    "none": lambda _: 1.0,
    "always x 1.25": lambda _: 1.25,
    "x 1.3 in the last 10": lambda i: 1.3 if i >= CHANGE else 1.0,
    "x 2 in window 20 alone": lambda i: 2.0 if i == CHANGE else 1.0,
    "x 1.4 in the first 10": lambda i: 1.0 if i >= 10 else 1.4,
}
CASES = [
    ("Beta(.5, 5)", 300, "none"),
    ("Beta(.5, 5)", 1000, "none"),
    ("100 levels", 1000, "none"),
    ("sharp, 1 %", 3000, "none"),
    ("Beta(.5, 50)", 3000, "none"),
    ("Beta(.5, 5), twice as many from window 20 on", 1000, "none"),
    ("Beta(.5, 5)", 1000, "always x 1.25"),
    ("Beta(.5, 5)", 1000, "x 1.3 in the last 10"),
    ("Beta(.5, 5)", 1000, "x 2 in window 20 alone"),
    ("Beta(.5, 5)", 1000, "x 1.4 in the first 10"),
    ("Beta(.5, 50)", 3000, "always x 1.25"),
    ("Beta(.5, 50)", 3000, "x 1.3 in the last 10"),
]


def draw(rng: np.random.Generator, name: str, rows: int, error: str) -> Observations:
    parts = {}
    for i in range(WINDOWS):
        more = "twice" in name and i >= CHANGE
        p = rng.beta(0.5, 2.25, rows) if more else PREDICTIONS[name.partition(", twice")[0]](rng, rows)
        parts[i,] = Tally.from_arrays(rng.random(rows) < with_odds(p, ERRORS[error](i)), p)
    return Observations("y", "p", parts, by=("time",), periods={"time": None})


def look(name: str, rows: int, error: str) -> dict[str, object]:
    rng = np.random.default_rng([rows, *name.encode(), *error.encode()])
    words: Counter[str] = Counter()
    rejected, since = 0, []
    for _ in range(SETS):
        found = truecal.drift(draw(rng, name, rows, error))
        words[found.drift_status] += 1
        rejected += bool(found.alarms)
        if found.drift_status == "calibration drift":
            since.append(abs(found.change_point - CHANGE))
    return {
        "predictions": name,
        "rows": rows,
        "periods": WINDOWS,
        "error": error,
        "sets": SETS,
        **{word: words[word] / SETS for word in (*WORDS, "inconclusive")},
        "some period miscalibrated": rejected / SETS,
        "change point, median distance": float(np.median(since)) if since else None,
    }


def main() -> None:
    lines: list[dict[str, object]] = []
    for case in CASES:
        lines.append(look(*case))
        print(lines[-1], flush=True)
        write_rows("drift", lines)


if __name__ == "__main__":
    main()
