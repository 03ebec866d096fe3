"""What notebooks show: one of each kind of result, made when asked for."""

from datetime import date

import numpy as np
import pytest

import truecal

RNG = np.random.default_rng(0)
P = RNG.beta(1, 9, 4000)
Y = RNG.random(4000) < 1.7 * P / (1 + 0.7 * P)


def monitored():
    found = truecal.Monitor()
    for day in range(3):
        found.update(Y, P, period=date(2026, 1, 1 + day))
    return found


def classes():
    q = RNG.dirichlet([1, 2, 3], 2000)
    label = (q.cumsum(axis=1) > RNG.random((2000, 1))).argmax(axis=1)
    return truecal.evaluate_classes(label, q**1.3 / np.sum(q**1.3, axis=1, keepdims=True))


def frame():
    pl = pytest.importorskip("polars")
    day = [date(2026, 1, 1 + i % 4) for i in range(4000)]
    return pl.DataFrame({"y": Y, "p": P, "land": ["de", "fr"] * 2000, "day": day})


FOUND = {
    "result": lambda: truecal.evaluate(Y, P),
    "classes": classes,
    "table of classes": lambda: classes().table,
    "segments": lambda: truecal.segments(truecal.read(frame(), label="y", score="p", by="land")),
    "drift": lambda: truecal.drift(truecal.read(frame(), label="y", score="p", time="day")),
    "slices": lambda: truecal.slices(frame(), label="y", score="p"),
    "monitor": monitored,
    "comparison": lambda: truecal.compare(Y, P, np.sqrt(P), resamples=20, random_state=0),
    "several models": lambda: truecal.evaluate(
        {"right": truecal.Tally.from_arrays(Y, np.minimum(1, 1.5 * P)), "low": truecal.Tally.from_arrays(Y, P)}
    ),
    "recalibration": lambda: truecal.recalibrate(Y, P),
}
