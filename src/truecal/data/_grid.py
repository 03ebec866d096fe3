"""A relative grid on [0, 1], computed with the same arithmetic on every engine.

Scores are truncated to m significant bits, counted from the nearer end of [0, 1], so that 1e-6 and 1 - 1e-6 are
resolved as well as 0.3. Not every engine can cast floats to bits. All of them multiply, subtract and compare, and IEEE
754 fixes the results, so the cells are the same to the last bit on NumPy, pandas, polars, pyarrow, DuckDB, Dask, Ibis
and Spark.

Veltkamp's splitting, V(x) = c - (c - x) with c = x (2^(53 - m) + 1), rounds to the nearest number r of m bits. If it
rounded up, V(r (1 - 2^-m)) is the next number below r, as long as 2 m < 53. Truncation nests, unlike rounding: the
cells of a coarse grid are unions of the cells of a finer one.

References
----------
Dekker. A floating-point technique for extending the available precision. Numerische Mathematik 18, 1971.
Boldo. Pitfalls of a full floating-point proof: example on the formal proof of the Veltkamp/Dekker algorithms. 2006.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from truecal._errors import option

FEWEST_BITS, MOST_BITS = 2, 26
# A product below 2^-1022 loses bits, and then the next number below r is wrong. Scores are multiplied by this power of
# two first, which is exact and cannot overflow.
LIFT = 2.0**200
UPPER = 2.0**300  # scores from 0.5 up are multiplied by this as well, which distinguishes them from the others


def cell(x: Any, bits: int) -> Any:
    """Return the cell of each score: the score truncated to `bits` bits, counted from the nearer end of [0, 1].

    Below 0.5 a cell is named by the smallest score it can hold, from 0.5 up by the largest. 0, 0.5 and 1 have cells of
    their own. A score and its cell differ by less than 2^(1 - bits) min(x, 1 - x). Missing scores stay missing.

    Examples
    --------
    >>> import numpy as np
    >>> cell(np.array([0.0, 1e-6, 0.3, 0.5, 0.7, 1.0]), 4).tolist()
    [0.0, 9.5367431640625e-07, 0.28125, 0.5, 0.71875, 1.0]
    """
    return whole_cell(half_cell(x, bits), bits)


def half_cell(
    x: Any,
    bits: int,
    where: Callable[[Any, Any, Any], Any] = np.where,
    hold: Callable[[Any], Any] = lambda value: value,
) -> Any:
    """Return which half of a cell each score lies in, as one number: half the arithmetic of the cell, for an engine
    that groups rows; `whole_cell` names the cells of the groups.

    It is the distance to the nearer end of [0, 1], times a power of two that is larger from 0.5 up, rounded to the
    nearest number of `bits` bits; with a minus sign if it was rounded up.

    Parameters
    ----------
    x : array or expression
        Scores in [0, 1] in double precision: an array, or an expression of a library such as narwhals.
    bits : int
        2 to 26.
    where : callable
        `where(condition, a, b)`, a and b expressions or numbers; for narwhals
        `lambda condition, a, b: nw.when(condition).then(a).otherwise(b)`.
    hold : callable
        Called with each value that is used more than once; returns an expression for it. Adding the value to the frame
        as a column makes dataframes several times as fast: many engines compute an expression each time it occurs.

    Examples
    --------
    >>> import numpy as np
    >>> (half_cell(np.array([0.25, 0.26, 0.28]), 4) / 2**200).tolist()
    [0.25, 0.25, -0.28125]
    """
    check_bits(bits)
    upper = where(x == 1.0, 2.0 * UPPER, (1.0 - x) * (LIFT * UPPER))  # 1 has a value of its own above all others, not 0
    near = hold(where(x >= 0.5, upper, x * LIFT + 0.0))  # turns -0.0 into 0.0, but in polars, which drops it
    nearest = hold(_round_to_bits(near, bits, hold))
    return where(nearest <= near, nearest, nearest * -1.0)


def whole_cell(half: Any, bits: int) -> Any:
    """Return the cells that halves, as `half_cell` names them, belong to.

    Examples
    --------
    >>> import numpy as np
    >>> whole_cell(half_cell(np.array([0.26, 0.28]), 4), 4).tolist()
    [0.25, 0.25]
    """
    size = np.abs(half)
    upper = size > UPPER
    near = np.where(upper, size / UPPER, size)
    cut = np.where(half < 0, _round_to_bits(near * (1.0 - 2.0**-bits), bits), near) * (1.0 / LIFT)
    return np.where(upper, 1.0 - cut, cut) + 0.0


def bits_for(n_rows: int, largest_bin: int) -> int:
    """Return how many bits a grid needs so that a cell holds at most about a fifteenth of the largest bin's rows.

    In the worst case all scores lie between two powers of two, where they share 2^(bits - 1) cells. Spread evenly, they
    need log2(30 N / n_max) bits. The result is rounded up and limited to 2..26.

    Examples
    --------
    >>> bits_for(10**9, 4 * 10**6)
    13
    """
    for name, value in (("n_rows", n_rows), ("largest_bin", largest_bin)):
        if not isinstance(value, (int, np.integer)) or not 1 <= value <= 2**63:
            raise ValueError(f"`{name}` must be a whole number, 1 or more; it is {value!r}.")
    return min(max(math.ceil(math.log2(30 * int(n_rows) / int(largest_bin))), FEWEST_BITS), MOST_BITS)


def check_bits(bits: int) -> None:
    """Raise an error unless the number of bits is supported."""
    whole = isinstance(bits, (int, np.integer)) and not isinstance(bits, bool)
    if not whole or not FEWEST_BITS <= bits <= MOST_BITS:
        raise ValueError(f"{option('bits')} must be a whole number from {FEWEST_BITS} to {MOST_BITS}; it is {bits!r}.")


def _round_to_bits(x: Any, bits: int, hold: Callable[[Any], Any] = lambda value: value) -> Any:
    """Return V(x), the nearest number of `bits` significant bits; either neighbour in a tie."""
    c = hold(x * (2.0 ** (53 - bits) + 1.0))
    return c - (c - x)
