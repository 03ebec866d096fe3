"""A relative grid on [0, 1], in arithmetic that every engine does alike.

Scores are cut off after m significant bits, counted from the nearer end of [0, 1]: 1e-6 and 1 - 1e-6 are resolved as
well as 0.3. Casting floats to bits is not to be had everywhere; multiplying, subtracting and comparing are, and IEEE
754 fixes their results, so cells are the same to the last bit on NumPy, pandas, polars, pyarrow, DuckDB, Dask, Ibis
and Spark.

Veltkamp's splitting, V(x) = c - (c - x) with c = x (2^(53 - m) + 1), rounds to the nearest number r of m bits; where
that went up, V(r (1 - 2^-m)) is the next one below r, as long as 2 m < 53. Cutting off nests, which rounding does not:
a coarse grid's cells are unions of a finer one's.

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

FEWEST, MOST = 2, 26
# A product below 2^-1022 loses bits, and with them the next number below r. Lifted by this, every score's product
# keeps them, and none overflows; a power of two itself costs no bits.
LIFT = 2.0**200


def cell(
    x: Any,
    bits: int,
    where: Callable[[Any, Any, Any], Any] = np.where,
    hold: Callable[[Any], Any] = lambda value: value,
) -> Any:
    """The cell of each score: what is left of it after `bits` significant bits, from 0.5 up of 1 - score.

    Below 0.5 a cell is named by the smallest score it can hold, from 0.5 up by the largest; 0, 0.5 and 1 are cells of
    their own. A score and its cell differ by less than 2^(1 - bits) min(x, 1 - x). Missing scores stay missing.

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
        Gets each value that is used more than once and gives back what stands for it. Adding it to the frame as a
        column makes dataframes three to eight times as fast: many compute an expression as often as it occurs.

    Examples
    --------
    >>> import numpy as np
    >>> cell(np.array([0.0, 1e-6, 0.3, 0.5, 0.7, 1.0]), 4).tolist()
    [0.0, 9.5367431640625e-07, 0.28125, 0.5, 0.71875, 1.0]
    """
    check_bits(bits)
    upper = x >= 0.5
    # -0.0 becomes 0.0 by a choice: polars leaves out an addition of 0
    near = hold(where(upper, 1.0 - x, where(x == 0.0, 0.0, x)) * LIFT)
    nearest = hold(_round(near, bits, hold))
    below = _round(hold(nearest * (1.0 - 2.0**-bits)), bits, hold)
    cut = where(nearest <= near, nearest, below) * (1.0 / LIFT)
    return where(upper, 1.0 - cut, cut)


def bits_for(total: int, largest_bin: int) -> int:
    """How many bits a grid needs so that a cell holds at most about a fifteenth of the largest bin's rows.

    The worst case is that all scores lie between two powers of two, where they share 2^(bits - 1) cells. Evenly spread,
    they need log2(30 N / n_max) bits: that many, rounded up and kept within 2 and 26.

    Examples
    --------
    >>> bits_for(10**9, 4 * 10**6)
    13
    """
    for name, value in (("total", total), ("largest_bin", largest_bin)):
        if not value >= 1:
            raise ValueError(f"`{name}` must be 1 or more; it is {value!r}.")
    return min(max(math.ceil(math.log2(30 * total / largest_bin)), FEWEST), MOST)


def check_bits(bits: int) -> None:
    """Refuse a grid that the arithmetic cannot make."""
    whole = isinstance(bits, (int, np.integer)) and not isinstance(bits, bool)
    if not whole or not FEWEST <= bits <= MOST:
        raise ValueError(f"{option('bits')} must be a whole number from {FEWEST} to {MOST}; it is {bits!r}.")


def _round(x: Any, bits: int, hold: Callable[[Any], Any]) -> Any:
    """V(x): the nearest number of so many bits, either one in a tie."""
    c = hold(x * (2.0 ** (53 - bits) + 1.0))
    return c - (c - x)
