"""The public functions, called from many threads at once on the same data, give what one thread gives, to the last bit."""

import random
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import polars as pl
from conftest import fewer

import truecal
from truecal.metrics import METRICS
from truecal.results import to_json

THREADS = 16
DRAWN = {"reference": 19, "random_state": 1}


def make_calls():
    """Return calls of the public functions, by name; each gives text or a number."""
    rng = np.random.default_rng(16)
    p = rng.beta(1, 3, 1500)
    y = (rng.random(len(p)) < 0.8 * p).astype(int)
    other = np.clip(p + rng.normal(0, 0.02, len(p)), 0, 1)
    days = rng.choice(np.arange("2026-01-01", "2026-01-05", dtype="datetime64[D]"), len(p))
    frame = pl.DataFrame({"y": y, "p": p, "q": other, "country": rng.choice(["de", "fr"], len(p)), "day": days})
    exact = truecal.read(frame, label="y", score="p", by="country")
    cells = truecal.read(frame, label="y", score="p", limits=truecal.reading.Limits(grid=10))
    timed = truecal.read(frame, label="y", score="p", time="day")
    functions = (truecal.tce, truecal.ece, truecal.ltce, truecal.ace, truecal.mce, truecal.rmsce)
    calls = {function.__name__: lambda function=function: function(y, p) for function in functions}
    for name in METRICS:
        calls[name] = lambda name=name: truecal.evaluate(exact, metrics=[name], intervals=9, **DRAWN).to_json()
    return calls | {
        "evaluate": lambda: truecal.evaluate(exact, **DRAWN).to_json(),
        "cells": lambda: truecal.evaluate(cells, metrics=["ltce"], **DRAWN).to_json(),
        "segments": lambda: truecal.segments(exact, **DRAWN).to_json(),
        "drift": lambda: truecal.drift(timed, **DRAWN).to_json(),
        "compare": lambda: truecal.compare(y, p, other, replicates=19, random_state=1).to_json(),
        "check": lambda: truecal.check(exact, [truecal.Rule("verdict")], **DRAWN).to_json(),
        "plan": lambda: to_json(truecal.plan(p, factor=1.5)),
        "read": lambda: repr(truecal.read(frame, label="y", score="q", by="country").tally.score.tobytes()),
    }


def test_many_threads_at_once_find_what_one_finds():
    calls = make_calls()
    alone = {name: call() for name, call in calls.items()}
    together = Barrier(THREADS)

    def work(number):
        names = random.Random(number).sample(sorted(calls), fewer(len(calls), 3))
        together.wait()
        return {name: calls[name]() for name in names}

    with ThreadPoolExecutor(THREADS) as pool:
        tried = {}
        for found in pool.map(work, range(THREADS)):
            assert found == {name: alone[name] for name in found}
            tried |= found
    assert tried == alone
