"""Arrays that change while they are read: no call touches memory that is not its own, and errors say what happened."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import LONG

from truecal import _kernel
from truecal.data import check_values, sort_rows

RACING = Path(__file__).parents[1] / "racing.py"
ROUNDS = 60 if LONG else 4


@pytest.mark.parametrize("how", ["threads", "map"])
def test_no_call_dies_of_arrays_that_change(how):
    run = [sys.executable, RACING, how, str(ROUNDS)]
    done = subprocess.run(run, check=False, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    assert "number" in done.stdout  # some calls go through


def test_values_that_were_refused_and_are_valid_now_have_changed():
    y, p = np.array([0, 1]), np.array([0.2, 0.7])
    for fine in ((False, True), (True, False), (False, False)):
        with pytest.raises(RuntimeError, match="must not change while they are read"):
            check_values(p, y, *fine)


def test_rows_that_do_not_change_are_sorted_the_same_however_many_threads_pass_over_them():
    rng = np.random.default_rng(3)
    p = rng.beta(0.5, 5, 500_000)
    y = rng.random(len(p)) < p
    whole = np.sort(p)
    for threads in (1, 2, 3, 7):
        rows = sort_rows(y, p, threads=threads)
        assert np.array_equal(_kernel.scores_at(rows.entries, np.arange(len(p))), whole)
