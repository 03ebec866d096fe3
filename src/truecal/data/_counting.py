"""Count rows in a hash table while many of them share their scores. Such rows need no sort."""

from __future__ import annotations

import numpy as np

from truecal import _kernel
from truecal.data._arrays import AnyArray

SIZES = (
    12,
    14,
    16,
    18,
)  # of the table, in bits; at most half of the slots are used, and the largest table fits a cache
MOST_KEYS = 1 << (SIZES[-1] - 1)
RARE = 128  # rows per repeat: with fewer repeats a larger table would soon be full as well
ROWS_PER_TIE = 4  # rows per key, on average, above which counts are smaller and faster than rows
ROWS_PER_KEY = 32  # rows per key above which counting pays for itself


class TieCounter:
    """Count how often each score occurs with each label, for data with many equal rows.

    Parameters
    ----------
    expected : int, optional
        The expected number of rows, if known. Counting then stops earlier if too many rows differ.
    """

    def __init__(self, expected: int | None = None) -> None:
        self._most = MOST_KEYS if expected is None else min(MOST_KEYS, expected // ROWS_PER_KEY)
        self._size = 0
        self._slots = _make_slots(SIZES[0])
        self._taken = 0
        self.rows = 0

    def add(self, score: AnyArray, label: AnyArray) -> int:
        """Count rows in order and return how many were counted.

        Counting stops at a row that is not a score with a label, or if too many rows differ.
        """
        done = 0
        while True:
            counted, self._taken = _kernel.count_rows(score[done:], label[done:], self._slots, self._taken)
            done += counted
            self.rows += counted
            if done == len(score) or not self._grow():
                return done

    def _grow(self) -> bool:
        """Move to a larger table if this one is full and enough rows repeat."""
        full = 2 * self._taken == len(self._slots) // 2
        if not full or self._taken >= self._most or (self.rows - self._taken) * RARE < self.rows:
            return False
        self._size += 1
        old, self._slots = self._slots, _make_slots(SIZES[self._size])
        _kernel.move_slots(old, self._slots)
        return True

    @property
    def tied(self) -> bool:
        """Whether counts take less room than rows."""
        return self.rows >= ROWS_PER_TIE * self._taken

    def count(self) -> tuple[AnyArray, AnyArray]:
        """Return the distinct rows as sorted keys, and how often each occurs."""
        slots = self._slots.reshape(-1, 2)
        slots = slots[slots[:, 1] > 0]
        slots = slots[np.argsort(slots[:, 0])]
        return slots[:, 0].copy(), slots[:, 1].copy()


def _make_slots(bits: int) -> AnyArray:
    return np.zeros(2 << bits, dtype=np.int64)
