"""Measuring: minimum of repeats, side by side; fresh processes for memory and imports."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

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


def seconds(*functions: Callable[[], object], repeats: int = 7) -> list[float]:
    """The shortest time of each function, taken in turns so that a noisy moment hits them all."""
    best = [float("inf")] * len(functions)
    for _ in range(repeats):
        for i, function in enumerate(functions):
            begin = time.perf_counter()
            function()
            best[i] = min(best[i], time.perf_counter() - begin)
    return best


def fresh(code: str, repeats: int = 1) -> float:
    """The smallest number that some code prints in a new process."""
    runs = (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(repeats)
    )
    return min(float(run.stdout) for run in runs)


def simulate(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Labels (uint8) drawn from distinct float64 probabilities, Beta(1/2, 5)."""
    rng = np.random.default_rng(seed)
    p = rng.beta(0.5, 5, rows)
    return (rng.random(rows) < p).astype(np.uint8), p


EXTRA_MEMORY = """
import re, numpy as np, truecal

def status(name):
    return int(re.search(name + r":\\s+(\\d+) kB", open("/proc/self/status").read())[1]) * 1024

rng = np.random.default_rng(0)
p = rng.beta(0.5, 5, {rows}).astype(np.{kind})
y = (rng.random({rows}, dtype=np.float32) < p).astype(np.uint8)
truecal.tce(y[:1000], p[:1000])
open("/proc/self/clear_refs", "w").write("5")  # resets the peak
before = status("VmRSS")
value = truecal.tce(y, p)
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
