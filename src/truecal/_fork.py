"""Processes forked while polars was running: its threads are gone there, and it would wait for them for ever.

Imported with the package, since only what is there before a fork can notice it.
"""

from __future__ import annotations

import os

_STATE = {"used": False, "running": False, "lost": False}


def check_fork() -> None:
    """Raise an error where polars would hang; called before each use of it."""
    if _STATE["lost"]:
        raise RuntimeError(
            "Files and polars frames must not be read in a process forked from one that used polars; its threads are "
            'not there, and it would hang.\n\nHint: start processes with `multiprocessing.get_context("spawn")`, or '
            "read before the fork."
        )
    _STATE["used"] = True


def _look_for_threads() -> None:
    """Before a fork: note whether the threads of polars run. Where they cannot be listed, any use of ours counts."""
    try:
        _STATE["running"] = any(map(_is_of_polars, os.listdir("/proc/self/task")))
    except OSError:
        _STATE["running"] = _STATE["used"]


def _is_of_polars(task: str) -> bool:
    with open(f"/proc/self/task/{task}/comm", encoding="utf-8", errors="replace") as file:
        name = file.read()
    return name.startswith("polars-") and name[7:8].isdigit()


def _note_loss() -> None:
    _STATE["lost"] |= _STATE["running"]


if hasattr(os, "register_at_fork"):  # else nothing forks
    os.register_at_fork(before=_look_for_threads, after_in_child=_note_loss)
