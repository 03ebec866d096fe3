"""The public functions, called from many threads at once on the same data, give what one thread gives, to the last bit."""

import random
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from conftest import fewer

import truecal
from truecal.metrics import METRICS
from truecal.reading._csv import _Folder
from truecal.results import to_json

THREADS = 16
DRAWN = {"null_draws": 19, "random_state": 1}


def make_calls():
    """Return calls of the public functions, by name; each gives text or a number."""
    import polars as pl

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
        calls[name] = lambda name=name: truecal.evaluate(exact, metrics=[name], resamples=9, **DRAWN).to_json()
    return calls | {
        "evaluate": lambda: truecal.evaluate(exact, **DRAWN).to_json(),
        "cells": lambda: truecal.evaluate(cells, metrics=["ltce"], **DRAWN).to_json(),
        "segments": lambda: truecal.segments(exact, **DRAWN).to_json(),
        "drift": lambda: truecal.drift(timed, **DRAWN).to_json(),
        "compare": lambda: truecal.compare(y, p, other, resamples=19, random_state=1).to_json(),
        "check": lambda: truecal.check(exact, [truecal.Rule("verdict")], **DRAWN).to_json(),
        "plan": lambda: to_json(truecal.plan(p, factor=1.5)),
        "read": lambda: repr(truecal.read(frame, label="y", score="q", by="country").tally.score.tobytes()),
    }


def work_together(work):
    """Call it in many threads, which begin at once, with their numbers."""
    together = Barrier(THREADS)

    def begin(number):
        together.wait()
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(begin, range(THREADS)))


@pytest.mark.slow
def test_many_threads_at_once_find_what_one_finds():
    calls = make_calls()
    alone = {name: call() for name, call in calls.items()}

    def work(number):
        names = random.Random(number).sample(sorted(calls), fewer(len(calls), 3))
        return {name: calls[name]() for name in names}

    tried = {}
    for found in work_together(work):
        assert found == {name: alone[name] for name in found}
        tried |= found
    assert tried == alone


@pytest.mark.slow
def test_threads_that_share_a_tally_find_what_one_finds():
    rng = np.random.default_rng(3)
    p = np.round(rng.beta(1, 3, 3000), 3)
    y = (rng.random(len(p)) < p).astype(int)
    tally, half = truecal.Tally.from_arrays(y, p), truecal.Tally.from_arrays(y[:1000], p[:1000])
    first = sys.getswitchinterval()

    def work(_):
        both = tally + half
        result = truecal.evaluate(tally, metrics=["tce", "ltce"], **DRAWN)
        return both.n.tobytes(), both.pos.tobytes(), result.to_json()

    alone = work(0)
    sys.setswitchinterval(1e-5)
    try:
        assert work_together(work) == [alone] * THREADS
    finally:
        sys.setswitchinterval(first)
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        assert not sys._is_gil_enabled()  # the kernel says that it needs none


def test_threads_share_one_folder_for_copies(tmp_path, monkeypatch):
    """Each would make its own otherwise, and could delete another's before that is locked."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = work_together(lambda _: _Folder.find())
    assert len({folder.place for folder in found}) == 1
    assert found[0].place.exists()
