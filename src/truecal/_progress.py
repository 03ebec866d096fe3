"""A progress line on standard error."""

from __future__ import annotations

import sys
import time
from _thread import start_new_thread
from contextlib import suppress
from threading import Event, Lock
from types import TracebackType

WIDTH = 30


class Progress:
    """Show how much is done, on a terminal, once the work takes longer than a second."""

    def __init__(self, total: int | None, unit: str) -> None:
        self.total, self.unit, self.done = total, unit, 0
        self.shown = 0
        self.next = time.monotonic() + 1
        self.wanted = sys.stderr is not None and sys.stderr.isatty()

    def __enter__(self) -> Progress:
        return self

    def step(self, count: int = 1) -> None:
        self.done += count
        if self.wanted and time.monotonic() >= self.next:
            self.next = time.monotonic() + 0.2
            line = f"{self.done:,} {self.unit}"
            if self.total:
                filled = WIDTH * min(self.done, self.total) // self.total
                about = max(self.done, self.total)
                line = f"[{'#' * filled}{'.' * (WIDTH - filled)}] {self.done:,} of {about:,} {self.unit}"
            sys.stderr.write("\r" + line.ljust(self.shown))
            sys.stderr.flush()
            self.shown = len(line)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.shown:
            sys.stderr.write("\r" + " " * self.shown + "\r")
            sys.stderr.flush()


class Clock(Progress):
    """Show the time of work whose progress is unknown."""

    def __init__(self, work: str) -> None:
        super().__init__(None, f"seconds of {work}")
        self.over, self.writing = Event(), Lock()

    def __enter__(self) -> Clock:
        if self.wanted:
            with suppress(RuntimeError):  # no thread can start: the work goes on without a clock
                start_new_thread(self._tick, ())
        return self

    def _tick(self) -> None:
        while not self.over.wait(1):
            with self.writing:
                if not self.over.is_set():
                    self.step()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self.writing:  # the thread writes nothing afterwards; it is not waited for, since it may never have run
            self.over.set()
        super().__exit__(kind, error, trace)
