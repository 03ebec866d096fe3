"""Measuring: minimum of repeats, side by side; fresh processes for memory and imports."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Line:
    work: str
    value: float
    must: float
    aim: float
    more_is_better: bool = False
    unit: str = "x"

    def verdict(self) -> str:
        for word, bound in (("aim", self.aim), ("must", self.must)):
            if self.value >= bound if self.more_is_better else self.value <= bound:
                return word
        return "MISSED"

    def __str__(self) -> str:
        sign = ">=" if self.more_is_better else "<="
        return (
            f"{self.work:<58} {self.value:>10,.2f} {self.unit:<2}  must {sign} {self.must:<8,g} "
            f"aim {sign} {self.aim:<8,g} {self.verdict()}"
        )


def seconds(
    *functions: Callable[[], object], repeats: int = 7, clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """The shortest time of each function, taken in turns so that a noisy moment hits them all."""
    best = [float("inf")] * len(functions)
    for _ in range(repeats):
        for i, function in enumerate(functions):
            begin = clock()
            function()
            best[i] = min(best[i], clock() - begin)
    return best


def fresh(code: str, repeats: int = 1) -> float:
    """The smallest number that some code prints in a new process."""
    runs = (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(repeats)
    )
    return min(float(run.stdout) for run in runs)


@dataclass(frozen=True)
class Run:
    """A process: its wall and CPU seconds, its peak resident memory, and its output."""

    seconds: float
    cpu: float
    gigabytes: float
    output: str


def run(code: str | list[str], expected: str | None = None, fail: bool = False) -> Run | None:
    """Run code, or a command of Python's, in a new process; it must print `expected`.

    With `fail`, return None for a process that was killed for lack of memory, or that ended with 99 for it.
    """
    command = [sys.executable, *(["-c", code] if isinstance(code, str) else code)]
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    taken = time.perf_counter() - begin
    if fail and process.returncode in (-9, 99):
        return None
    assert process.returncode == 0, f"{command} ended with {process.returncode}"
    assert expected is None or output.split() == expected.split(), f"{output!r} is not {expected!r}"
    return Run(taken, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 2**20, output)


def limit_memory(limit: int) -> bool:
    """Hold this process and its children to some memory, page cache included, where the system lets us."""
    group = Path("/sys/fs/cgroup/memory/truecal-bench")
    try:
        group.mkdir(exist_ok=True)
        (group / "memory.limit_in_bytes").write_text(str(limit))
        (group / "cgroup.procs").write_text(str(os.getpid()))
    except OSError:
        return False
    return True


def simulate(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Labels (uint8) drawn from distinct float64 probabilities, Beta(1/2, 5)."""
    rng = np.random.default_rng(seed)
    p = rng.beta(0.5, 5, rows)
    return (rng.random(rows) < p).astype(np.uint8), p


EXTRA_MEMORY = """
import ctypes, re, numpy as np, truecal

def status(name):
    return int(re.search(name + r":\\s+(\\d+) kB", open("/proc/self/status").read())[1]) * 1024

rng = np.random.default_rng(0)
p = rng.beta(0.5, 5, {rows})
y = (rng.random({rows}, dtype=np.float32) < p).astype(np.uint8)
truecal.{metric}(y[:20_000], p[:20_000])  # imports what it needs
for line in open("/proc/self/maps"):  # code that is run for the first time is no memory that an answer takes
    if ".so" in line:
        first, last = (int(place, 16) for place in line.split()[0].split("-"))
        ctypes.CDLL(None).madvise(ctypes.c_void_p(first), ctypes.c_size_t(last - first), 22)  # MADV_POPULATE_READ
open("/proc/self/clear_refs", "w").write("5")  # resets the peak
before = status("VmRSS")
value = truecal.{metric}(y, p)
assert 0 <= value <= 100
print((status("VmHWM") - before) / (p.nbytes + y.nbytes))
"""

IMPORT = """
import time
import numpy
begin = time.perf_counter()
import truecal
print(time.perf_counter() - begin)
"""
