"""Rows counted as they come, as long as many of them share their scores: there is nothing to sort then."""

from __future__ import annotations

import numpy as np

from truecal import _kernel
from truecal.observations._arrays import AnyArray

SIZES = (12, 14, 16, 18)  # of the table, in bits; half of its slots are used, and the last is still near the processor
MOST = 1 << (SIZES[-1] - 1)
RARE = 128  # rows for each that repeats another: with fewer repeats the next table would soon be full as well
TIED = 4  # rows a key, on average, from which on counts are smaller and faster than rows
SURE = 32  # and from which on it pays to have tried


class TieCounter:
    """How often each score came with each label, for rows of which many are the same.

    Parameters
    ----------
    expected : int, optional
        How many rows there will be, where that is known: it tells earlier that too many are different.
    """

    def __init__(self, expected: int | None = None) -> None:
        self._most = MOST if expected is None else min(MOST, expected // SURE)
        self._size = 0
        self._slots = _make_slots(SIZES[0])
        self._taken = 0
        self.rows = 0

    def add(self, score: AnyArray, label: AnyArray) -> int:
        """Count rows from the first on. How many were counted: where that is not all, either one is not a score and a
        label, or too many are different."""
        done = 0
        while True:
            counted, self._taken = _kernel.count_rows(score[done:], label[done:], self._slots, self._taken)
            done += counted
            self.rows += counted
            if done == len(score) or not self._grow():
                return done

    def _grow(self) -> bool:
        """Make room where there is none left, if that is worth it."""
        full = 2 * self._taken == len(self._slots) // 2
        if not full or self._taken >= self._most or (self.rows - self._taken) * RARE < self.rows:
            return False
        self._size += 1
        old, self._slots = self._slots, _make_slots(SIZES[self._size])
        _kernel.move_slots(old, self._slots)
        return True

    @property
    def tied(self) -> bool:
        """Whether counts are what to keep."""
        return self.rows >= TIED * self._taken

    def count(self) -> tuple[AnyArray, AnyArray]:
        """The different rows as keys, in order, and how often each came."""
        slots = self._slots.reshape(-1, 2)
        slots = slots[slots[:, 1] > 0]
        slots = slots[np.argsort(slots[:, 0])]
        return slots[:, 0].copy(), slots[:, 1].copy()


def _make_slots(bits: int) -> AnyArray:
    return np.zeros(2 << bits, dtype=np.int64)
