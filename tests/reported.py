"""Results of the three verdicts, segments and windows, for pages that report them."""

from datetime import date, timedelta
from functools import cache

import numpy as np
from observed import judge_segments, judge_windows
from pictured import data, p, y

import truecal

EVIL = "<script>alert(1)</script>"
DRAWN = {"null_draws": 20, "resamples": 20, "random_state": 0}
RIGHT = truecal.evaluate(*data(20_000, factor=1), **DRAWN)
WRONG = truecal.evaluate(y, p, **DRAWN)
TINY = truecal.evaluate(*data(60, factor=1), **DRAWN)


@cache
def segments(count=25):
    rng = np.random.default_rng(0)
    observations = {}
    for i in range(count):
        score = rng.beta(1, 9, 1500)
        label = rng.random(1500) < (1 + (i == 3)) * score
        observations[EVIL if i == 3 else f'no. {i}, "x"', "=1"] = truecal.Tally.from_arrays(label, score)
    return judge_segments(observations, random_state=0, null_draws=999, by=("name", "kind"))


@cache
def windows(count=12):
    rng = np.random.default_rng(1)
    observations = {}
    for i in range(count):
        score = rng.beta(1, 9, 1500)
        label = rng.random(1500) < (1 + (i == 3)) * score
        observations[date(2026, 1, 28) + timedelta(days=i)] = truecal.Tally.from_arrays(label, score)
    return judge_windows(observations, every="1d", label_lag="2d", random_state=0)
