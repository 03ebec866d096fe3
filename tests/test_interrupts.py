"""Ctrl-C is heard within a second, whatever is computed."""

import signal
import time

import numpy as np
import pytest

from truecal import Binomial, _kernel
from truecal.data import group_keys

pytestmark = pytest.mark.slow

ALARM = 0.2  # seconds until the interrupt
ROWS = 20_000_000


class Heard(Exception):
    pass


def slow_test():
    n = np.arange(10**6, 5 * 10**6)
    return lambda: Binomial().accepted(n // 3, n)


def slow_p_values():
    n = np.arange(10**7, 10**7 + 3_000_000)
    return lambda: Binomial().p_value(n // 3, n, 0.33)


def slow_sort():
    key = np.random.default_rng(0).integers(0, 2**62, 3 * ROWS)
    return lambda: _kernel.sort_keys(key)


def slow_draws():
    p, n = np.full(ROWS // 2, 0.3), np.full(ROWS // 2, 1000)
    pos, start = np.empty_like(n), _kernel.draw_starts(p, n)
    return lambda: _kernel.draw_positives(p, n, start, 0, pos)


def slow_groups():
    key = np.arange(3 * ROWS)
    return lambda: group_keys(key)


def slow_windows():
    n = np.full(4000, 40)
    q = np.linspace(0.01, 0.49, 4000)
    sums = n * q, n * q**2, n * q**3
    begin, end = np.zeros(2000, int), np.full(2000, 4000)
    return lambda: _kernel.window_tails(n, n // 4, sums, np.zeros(4000, bool), begin, end, True)


@pytest.mark.parametrize("make", [slow_test, slow_p_values, slow_sort, slow_draws, slow_groups, slow_windows])
def test_an_interrupt_is_heard_within_a_second(make):
    call = make()

    def hear(*_):
        raise Heard

    before = signal.signal(signal.SIGALRM, hear)
    began = time.thread_time(), time.monotonic()
    try:
        signal.setitimer(signal.ITIMER_REAL, ALARM)
        with pytest.raises(Heard):
            call()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    # by the processor's time, or by the clock: others may keep the processor
    assert min(time.thread_time() - began[0], time.monotonic() - began[1]) < ALARM + 1
