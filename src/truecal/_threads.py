"""Work on several threads: loops of the kernel run without Python's lock. Results do not depend on their number."""

from __future__ import annotations

import os
from _thread import start_new_thread
from collections.abc import Callable
from numbers import Integral
from threading import Event, Lock
from typing import Any

from truecal._errors import option

MOST_CORES = 4
MOST_THREADS = 1024


def count_processors() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def count_cores() -> int:
    """The processors at hand, up to four: beyond, threads take memory rather than time."""
    return min(count_processors(), MOST_CORES)


def check_count(name: str, value: Any, most: int) -> None:
    """Raise an error unless a parameter, such as a number of threads, is a whole number from 1 to `most`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < 1:
        raise ValueError(f"{option(name)} must be a whole number, 1 or more; it is {value!r}.")
    if int(value) > most:
        raise ValueError(f"{option(name)} must be at most {most:,}; it is {value:,}.")


def check_threads(threads: Any) -> None:
    """Raise an error unless a number of threads is one, or None, which leaves the choice to us."""
    if threads is not None:
        check_count("threads", threads, MOST_THREADS)


def map_chunks(
    function: Callable[[int, int], list[Any]], count: int, step: int, threads: int | None = None
) -> list[Any]:
    """Call a function with the first and the end of chunks of 0..count, of at most so many, and return the results, one
    for each place, in order. It can be interrupted. Without a number of threads it takes as many as it can get, up to
    the cores at hand.

    The thread that calls it works, too, and waits only for chunks that another has taken: where memory is short a
    thread may die before its first line, and `Thread.start` and pools of threads would wait for it for ever.
    """
    results: list[Any] = [None] * count
    wanted = threads or count_cores()
    step = min(step, -(-count // wanted))  # at least one chunk for each thread
    starts = iter(range(0, count, step))
    running, errors = 0, list[BaseException]()
    lock, ended = Lock(), Event()

    def take() -> int | None:
        with lock:
            return None if errors else next(starts, None)

    def work() -> None:
        for first in iter(take, None):
            last = min(first + step, count)
            try:
                results[first:last] = function(first, last)
            except BaseException as error:
                errors.append(error)

    def assist() -> None:
        nonlocal running
        with lock:
            running += 1
        try:
            work()
        finally:
            with lock:
                running -= 1
            ended.set()

    def wait() -> None:
        while running:  # an endless wait cannot be interrupted on every platform
            ended.wait(0.2)
            ended.clear()

    try:
        for _ in range(wanted - 1):
            _start(assist, threads)
        work()
        wait()
    except BaseException as error:
        errors.append(error)  # so that the other threads stop; the interpreter must not end before them
        wait()
        raise
    if errors:
        raise errors[0]
    return results


def _start(work: Callable[[], None], threads: int | None) -> None:
    """Start a thread, without waiting for it. That there is none to be had is an error if their number was given."""
    try:
        start_new_thread(work, ())
    except RuntimeError as error:
        if threads is None:
            return
        raise ValueError(
            f"{option('threads')} must be as many as the system lets start; it is {threads:,}, which are too many."
        ) from error
