"""The root of an increasing function of one variable."""

from __future__ import annotations

import math
from collections.abc import Callable


def find_root(f: Callable[[float], float], start: float, step: float) -> float:
    """Return the root of an increasing function, searched from a point in steps towards it (the Illinois method).

    Infinite beyond 700, which is as far as log-odds have a finite exponential.
    """
    a, fa = start, f(start)
    b, fb = a + step, f(a + step)
    while fa * fb > 0 and abs(b) < 700:
        a, fa, step = b, fb, step * 1.6
        b, fb = a + step, f(a + step)
    if fa * fb > 0:
        return math.copysign(math.inf, step)
    side = 0
    for _ in range(60):
        c = (a * fb - b * fa) / (fb - fa) if fb != fa else (a + b) / 2
        fc = f(c)
        if abs(fc) < 1e-9 or abs(b - a) < 1e-12 * (1 + abs(a)):
            return c
        if fc * fb > 0:
            b, fb = c, fc
            fa = fa / 2 if side == 1 else fa
            side = 1
        else:
            a, fa = c, fc
            fb = fb / 2 if side == -1 else fb
            side = -1
    return (a + b) / 2
