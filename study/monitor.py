"""The monitor: how often a calibrated model ever raises an alarm in a year of daily updates, and how soon a lasting
error is found. An alarm at any update counts, so that no rule for stopping can do worse."""

from __future__ import annotations

import numpy as np
from results import write_rows
from scipy.special import ndtri
from verdict import with_odds
from worlds import Draw, Floats, log_odds, sigmoid

from truecal.data import Cells
from truecal.inference import PeriodSums, Process, find_pivot

SETS, DAYS, SEGMENTS = 400, 365, 20
WORLDS: dict[str, tuple[Draw, int]] = {
    "Beta(1, 9), 50 positives a day": (lambda rng, rows: rng.beta(1, 9, rows), 500),
    "Beta(.5, 49.5), 5 positives a day": (lambda rng, rows: rng.beta(0.5, 49.5, rows), 500),
    "Beta(.02, 1.98), sharp, 20 positives a day": (lambda rng, rows: rng.beta(0.02, 1.98, rows), 2000),
    "Beta(2, 2), 10 positives a day": (lambda rng, rows: rng.beta(2, 2, rows), 20),
    "10 levels, 50 positives a day": (lambda rng, rows: rng.integers(1, 11, rows) / 55, 500),
}
ERRORS = {
    "odds x 1.2": lambda p: with_odds(p, 1.2),
    "odds / 1.2": lambda p: with_odds(p, 1 / 1.2),
    "odds x 1.1": lambda p: with_odds(p, 1.1),
    "log-odds x 0.75 around their mean": lambda p: _stretch(p, 0.75),
}
CHANGES = (0, 30, 300)
# customers, rows of each a day, correlation of their labels, and the share of them who come again every day
CUSTOMERS = (
    (25, 20, 0.3, 0.0), (25, 20, 0.3, 1.0), (200, 3, 0.3, 0.0), (200, 3, 0.3, 0.5), (200, 3, 0.3, 1.0),
    (1000, 1, 0.2, 1.0), (200, 3, 0.0, 1.0),
)  # fmt: skip


def _stretch(p: Floats, slope: float) -> Floats:
    x = log_odds(p)
    return sigmoid(x.mean() + slope * (x - x.mean()))


def first_alarm(
    rng: np.random.Generator, draw: Draw, rows: int, days: int, threshold: float, error=None, change=0
) -> int | None:
    """The day of the first alarm of a series, or None."""
    process, pivot = Process.start(), None
    for day in range(days):
        p = draw(rng, rows)
        truth = error(p) if error is not None and day >= change else p
        cells = Cells.from_arrays(rng.random(rows) < truth, p)
        pivot = find_pivot(cells) if pivot is None else pivot
        process = process.step(PeriodSums.of(cells, pivot))
        if process.e_value >= threshold:
            return day
    return None


def right(name: str) -> dict[str, object]:
    rng = np.random.default_rng([1, *name.encode()])
    draw, rows = WORLDS[name]
    alarms = [first_alarm(rng, draw, rows, DAYS, 20.0) is not None for _ in range(SETS)]
    return {"predictions": name, "rows a day": rows, "looks": DAYS, "sets": SETS, "alarm": float(np.mean(alarms))}


def segmented() -> dict[str, object]:
    """Twenty segments of 50 rows a day and all rows together: the shares of the significance as `Monitor` has them."""
    rng = np.random.default_rng(2)
    alarms = []
    for _ in range(SETS // 4):
        found = any(
            first_alarm(rng, lambda r, n: r.beta(1, 9, n), 50, DAYS, 20.0 * 4 * SEGMENTS) is not None
            for _ in range(SEGMENTS)
        )
        alarms.append(found or first_alarm(rng, lambda r, n: r.beta(1, 9, n), 1000, DAYS, 40.0) is not None)
    return {
        "predictions": f"{SEGMENTS} segments of Beta(1, 9), and a stream of all", "rows a day": 50, "looks": DAYS,
        "sets": len(alarms), "alarm": float(np.mean(alarms)),
    }  # fmt: skip


def delay(error: str, change: int) -> dict[str, object]:
    rng = np.random.default_rng([3, change, *error.encode()])
    draw, rows = WORLDS["Beta(1, 9), 50 positives a day"]
    days = []
    while len(days) < SETS // 2:
        found = first_alarm(rng, draw, rows, change + 120, 20.0, ERRORS[error], change)
        if found is None or found >= change:  # not a false alarm before
            days.append(120 if found is None else found - change + 1)
    within = float(np.mean(np.array(days) <= 30))
    median, late = np.percentile(days, [50, 90]).tolist()
    return {
        "error": error, "change on day": change, "sets": len(days), "within 30 days": within, "median days": median,
        "90 % within": late,
    }  # fmt: skip


def alarm_of_customers(
    rng: np.random.Generator, customers: int, rows: int, correlation: float, again: float, factor: float, days: int
) -> int | None:
    """The day of the first alarm of a series of customers with so many rows a day, or None. A share of them comes again
    every day, and each has a lasting effect of his own on his labels (a normal copula); the others are new."""
    process, pivot = Process.start(), None
    effect, stays = rng.standard_normal(customers), np.arange(customers) < again * customers
    for day in range(days):
        effect = np.where(stays, effect, rng.standard_normal(customers))
        who = np.repeat(np.where(stays, 0, day * customers) + np.arange(customers), rows)
        p = rng.beta(1, 5, len(who))
        z = np.sqrt(correlation) * np.repeat(effect, rows) + np.sqrt(1 - correlation) * rng.standard_normal(len(who))
        cells = Cells.from_arrays(z < ndtri(with_odds(p, factor)), p, cluster=who)
        pivot = find_pivot(cells) if pivot is None else pivot
        process = process.step(PeriodSums.of(cells, pivot))
        if process.e_value >= 20:
            return day
    return None


def together(number: int, case: tuple[int, int, float, float]) -> dict[str, object]:
    customers, rows, correlation, again = case
    rng, sets = np.random.default_rng([4, number]), SETS // 2
    alarms = [alarm_of_customers(rng, *case, 1.0, 100) is not None for _ in range(sets)]
    found = [alarm_of_customers(rng, *case, 1.5, 30) is not None for _ in range(sets // 4)]
    return {
        "customers": customers, "rows a day": rows, "correlation": correlation, "come again": again, "looks": 100,
        "sets": sets, "alarm": float(np.mean(alarms)), "found": float(np.mean(found)),
    }  # fmt: skip


def main() -> None:
    lines = []
    for number, case in enumerate(CUSTOMERS):
        lines.append(together(number, case))
        print(lines[-1], flush=True)
        write_rows("monitor_customers", lines)
    lines = []
    for name in WORLDS:
        lines.append(right(name))
        print(lines[-1], flush=True)
    lines.append(segmented())
    print(lines[-1], flush=True)
    write_rows("monitor", lines)
    lines = []
    for error in ERRORS:
        for change in CHANGES:
            lines.append(delay(error, change))
            print(lines[-1], flush=True)
            write_rows("monitor_delay", lines)


if __name__ == "__main__":
    main()
