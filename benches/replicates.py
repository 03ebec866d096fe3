"""A draw of the null distribution and of an interval over one `tce` call, and two threads over one."""

from __future__ import annotations

from collections.abc import Iterator

from measure import Line, seconds, simulate

import truecal
from truecal import Tally
from truecal.inference import Draws
from truecal.inference._bootstrap import compute_on_draws
from truecal.inference._logistic import recalibrate_scores
from truecal.metrics import METRICS

TCE = {"tce": METRICS["tce"]}
COUNT = 40


def lines() -> Iterator[Line]:
    y, p = simulate(100_000)
    tally = Tally.from_arrays(y, p)
    fitted = recalibrate_scores(tally)

    def run(probability: object, threads: int) -> list[float]:
        return compute_on_draws(tally, probability, TCE, Draws(COUNT, 0, threads))["tce"].tolist()

    assert run(tally.score, 1) == run(tally.score, 2), "threads changed the numbers"
    assert abs(sum(run(tally.score, 1)) / COUNT - truecal.tce(y, p)) < 10, (
        "a calibrated model's value is far from its null mean"
    )
    once, null, interval, two = seconds(
        lambda: truecal.tce(y, p),
        lambda: run(tally.score, 1),
        lambda: run(fitted, 1),
        lambda: run(tally.score, 2),
        repeats=7,
    )
    yield Line("a null draw over tce, N = 1e5", null / COUNT / once, 1.5, 1.5)
    yield Line("a resample over tce, N = 1e5", interval / COUNT / once, 1.5, 1.5)
    yield Line("two threads over one, 40 draws, N = 1e5", two / null, 0.7, 0.7)
