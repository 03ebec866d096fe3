"""Collect rows that arrive in batches: packed into one integer per row and sorted once at the end.

If many rows share their scores, they are counted in a hash table, or grouped into a tally on the way. If they exceed
the memory allowed, they go to disk: every full buffer is sorted and cut at the same keys, and each piece of the key
range has its own file. At the end the pieces are sorted one by one into a single file, which is memory-mapped.

Where the cells of a coarse grid are asked for, rows are counted in these, and none is kept.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, cast

import numpy as np

from truecal import _kernel
from truecal._errors import name_place
from truecal.data import (
    ROWS_PER_TIE,
    AnyArray,
    Cells,
    Ints,
    Pairs,
    Sorted,
    SortedRows,
    Tally,
    TieCounter,
    cell,
    group_keys,
    pack_keys,
)

FOLD = 1 << 20  # rows after which the buffer is grouped into a tally, if many share their scores
MEMORY = 4 << 30
MOST_CELLS, MOST_ROWS = 1 << 21, 1 << 31  # of a table of cells; what it holds is then added to what came before


def pack_rows(score: AnyArray, label: AnyArray) -> AnyArray | None:
    """Pack rows into keys; None if a score or a label is invalid."""
    key, *valid = pack_keys(score, label)
    return key if all(valid) else None


class Spool:
    """Collect rows in batches; `finish` returns all of them, sorted.

    Parameters
    ----------
    memory : int
        The bytes that keys may take. Beyond that they go to temporary files, which are deleted with the data.
    bits : int, optional
        Keep the cells of a grid of this many bits instead of the scores; they need no disk.
    count : bool
        Count rows in a hash table of up to 4 MB while many are the same.
    """

    def __init__(self, memory: int = MEMORY, bits: int | None = None, *, count: bool = True) -> None:
        self._memory, self._bits = memory, bits
        self._keys: AnyArray = np.empty(0, dtype=np.int32)
        self._used = 0
        self._tally: Tally | Cells | None = None
        self._ties = TieCounter() if count else None
        self._folding = True
        self._disk: _Disk | None = None

    def add_rows(self, score: AnyArray, label: AnyArray) -> int:
        """Add a batch of rows and return how many were added: fewer than all if some are invalid."""
        counted = 0 if self._ties is None else self._ties.add(score, label)
        if counted == len(score):
            return counted
        keys = pack_rows(score[counted:], label[counted:])
        if keys is None:
            return counted
        self._stop_counting()
        self.add_keys(keys)
        return len(score)

    def add_keys(self, keys: AnyArray) -> None:
        """Add a batch of keys, as `pack_rows` makes them."""
        if keys.dtype != self._keys.dtype:
            if keys.dtype == np.int64:
                self._widen()
            else:
                keys = _widen_keys(keys)
        end = self._used + len(keys)
        most = max(self._memory // self._keys.itemsize // 2, 1)  # sorting the pieces takes as much again
        if self._used and end > most:
            self._spill() if self._bits is None else self._fold()
            end = len(keys)
        if end > len(self._keys):  # realloc moves pages instead of copying
            self._keys.resize(max(end, min(2 * len(self._keys), most)), refcheck=False)
        self._keys[self._used : end] = keys
        self._used = end
        if self._folding and end >= FOLD:
            self._fold()

    def finish(self) -> Sorted | Cells:
        """Return all rows in the smallest form. The spool cannot be used afterwards."""
        self._stop_counting()
        if self._bits is not None:
            if self._used or self._tally is None:
                self._fold()
            return cast(Cells, self._tally)
        if self._disk is not None:
            self._spill()
            self._keys = np.empty(0, dtype=self._keys.dtype)
            with name_place(tempfile.gettempdir()):
                return SortedRows(self._disk.join(self._memory))
        self._keys.resize(self._used, refcheck=False)
        _kernel.sort_keys(self._keys)
        if self._tally is None:
            return SortedRows(self._keys)
        tally = cast(Tally, self._tally)
        return tally + group_keys(self._keys) if self._used else tally

    def _stop_counting(self) -> None:
        """Stop counting rows; turn the counts into a tally if many rows are tied, else into keys."""
        ties, self._ties = self._ties, None
        if ties is None or not ties.rows:
            return
        keys, counts = ties.count()
        if not ties.tied:
            rows = np.repeat(keys, counts)
            self.add_rows((rows >> 1).view(np.float64), (rows & 1).astype(np.uint8))
            return
        tally = group_keys(keys, counts)
        self._tally = tally if self._bits is None else Cells.grid(tally, self._bits)
        if not _kernel.fits_float(tally.score):
            self._widen()

    def _fold(self) -> None:
        """Group the keys in the buffer into the tally, if enough of them are tied."""
        keys = self._keys[: self._used]
        _kernel.sort_keys(keys)
        if self._bits is None:
            self._folding = _kernel.count_groups(keys) * ROWS_PER_TIE <= self._used
            if not self._folding:
                return
        found: Any = group_keys(keys) if self._bits is None else Cells.grid(SortedRows(keys), self._bits)
        self._tally = found if self._tally is None else self._tally + found
        self._used = 0

    def _spill(self) -> None:
        """Move the keys and the tally to disk."""
        keys = self._keys[: self._used]
        _kernel.sort_keys(keys)
        with name_place(tempfile.gettempdir()):
            if self._disk is None:
                self._disk = _Disk(keys)
            self._disk.add(keys)
            self._used = 0
            if isinstance(self._tally, Tally):
                for part in _unfold(self._tally, keys.dtype):
                    self._disk.add(part)
                self._tally = None

    def _widen(self) -> None:
        self._keys = _widen_keys(self._keys[: self._used])
        if self._disk is not None:
            with name_place(tempfile.gettempdir()):
                self._disk.widen()


class GridSpool:
    """Count rows in the cells of a grid of few bits, in whatever order they come; `finish` returns the cells.

    Nothing is sorted. Within a table sums of scores are exact until they are rounded, so that no order of rows changes
    them.
    """

    MOST_BITS = 17

    def __init__(self, bits: int) -> None:
        self._bits = bits
        self._table, self._rows = _kernel.GridTable(bits), 0
        self._cells: Cells | None = None

    def add_rows(self, score: AnyArray, label: AnyArray) -> int:
        """Add a batch of rows and return how many were added: fewer than all if some are invalid."""
        done = 0
        while done < len(score):
            if self._table.size >= MOST_CELLS or self._rows >= MOST_ROWS:
                self._cells = self.finish()
                self._table, self._rows = _kernel.GridTable(self._bits), 0
            end = min(len(score), done + MOST_ROWS - self._rows)
            added = self._table.add_rows(score[done:end], label[done:end], MOST_CELLS)
            done, self._rows = done + added, self._rows + added
            if done < end and self._table.size < MOST_CELLS:
                break
        return done

    def finish(self) -> Cells:
        """Return the cells. The spool cannot be used afterwards."""
        n, pos, score_sum, low, high = self._table.columns()
        found = Cells.merge(self._bits, (cell(low, self._bits), n, pos, score_sum, low, high))
        return found if self._cells is None else self._cells + found


class PairSpool:
    """Collect rows with the scores of two models in batches; equal rows are merged on the way if there are many."""

    def __init__(self) -> None:
        self._pieces: list[tuple[AnyArray, ...]] = []
        self._pending: list[tuple[AnyArray, AnyArray, AnyArray, Ints | None, Ints | None]] = []
        self._used = 0
        self._folding = True

    def add(
        self,
        first: AnyArray,
        second: AnyArray,
        label: AnyArray,
        weight: Ints | None = None,
        cluster: Ints | None = None,
    ) -> None:
        """Add a batch of rows, each with two scores in [0, 1] and a label of 0 or 1, seen once or `weight` times; all
        batches with the hashes of their clusters, or none."""
        self._pending.append((first.copy(), second.copy(), label.astype(np.uint8), weight, cluster))
        self._used += len(first)
        if self._folding and self._used >= FOLD:
            rows, self._used = self._used, 0
            pairs = self._merge()
            self._folding = len(pairs) * ROWS_PER_TIE <= rows
            self._pieces = [pairs.lines]

    def finish(self) -> Pairs:
        """Return all pairs. The spool cannot be used afterwards."""
        return self._merge()

    def _merge(self) -> Pairs:
        pieces, self._pieces = self._pieces, []
        while self._pending:
            first, second, label, weight, cluster = self._pending.pop()
            n = np.ones(len(label), np.int64) if weight is None else weight
            more = () if cluster is None else (cluster,)
            pieces.append((first.astype(np.float64), second.astype(np.float64), n, n * label.astype(np.int64), *more))
        return Pairs.merge(*(np.concatenate(column) for column in zip(*pieces, strict=True)))


class _Disk:
    """Keys on disk, in a file for each piece of the key range. The first keys are cut into equal pieces.

    The files have no names, so they vanish with the process however it ends.
    """

    PIECES = 64

    def __init__(self, first: AnyArray) -> None:
        self.kind = first.dtype
        cuts = first[np.linspace(0, len(first), self.PIECES + 1).astype(np.int64)[1:-1]]
        self.edges = np.unique(np.concatenate([cuts, cuts + 1]))  # a key with many rows has its own piece
        self.pieces: list[Any] = []
        for _ in range(len(self.edges) + 1):
            self.pieces.append(_open_file())

    def __del__(self) -> None:
        for file in self.pieces:
            file.close()

    def add(self, keys: AnyArray) -> None:
        """Append sorted keys to their pieces."""
        cuts = np.searchsorted(keys, self.edges).tolist()
        for file, (begin, end) in zip(self.pieces, pairwise([0, *cuts, len(keys)]), strict=True):
            _append(file, keys[begin:end])

    def widen(self) -> None:
        old, self.pieces = self.pieces, []
        for file in old:
            with file:
                self.pieces.append(_open_file())
                _append(self.pieces[-1], _widen_keys(_read(file, self.kind)))
        self.edges, self.kind = _widen_keys(self.edges), np.dtype(np.int64)

    def join(self, memory: int) -> AnyArray:
        """Sort all keys into one file and return it memory-mapped. The file is deleted with the array."""
        with _open_file() as whole:
            for keys in self.sort_parts(memory):
                _append(whole, keys)
            return np.memmap(whole, dtype=self.kind, mode="r")

    def sort_parts(self, memory: int) -> Iterator[AnyArray]:
        """Yield all keys in order, as many at a time as memory allows."""
        for file in self.pieces:
            with file:
                if os.fstat(file.fileno()).st_size <= memory:
                    keys = _read(file, self.kind)
                    _kernel.sort_keys(keys)
                    yield keys
                else:  # too large, since the first keys differ from the later ones: split it again
                    yield from _split_again(np.memmap(file, dtype=self.kind, mode="r"), memory)


def _split_again(keys: AnyArray, memory: int) -> Iterator[AnyArray]:
    step = max(memory // keys.itemsize // 2, 2)
    chunks = [keys[begin : begin + step] for begin in range(0, len(keys), step)]
    if all(chunk.min() == chunk.max() == keys[0] for chunk in chunks):
        yield from chunks
        return
    disk: _Disk | None = None
    for chunk in map(np.array, chunks):
        _kernel.sort_keys(chunk)
        disk = disk or _Disk(chunk)
        disk.add(chunk)
    if disk is not None:
        yield from disk.sort_parts(memory)


def _open_file() -> Any:
    return tempfile.TemporaryFile(prefix="truecal-", buffering=0)


def _append(file: Any, keys: AnyArray) -> None:
    """Append keys to a file. Every byte is written, or an error is raised: `ndarray.tofile` may hide one."""
    left = np.ascontiguousarray(keys).view(np.uint8).data
    while left:
        left = left[file.write(left) :]


def _read(file: Any, kind: np.dtype[Any]) -> AnyArray:
    """Return all keys of a file."""
    keys = np.empty(os.fstat(file.fileno()).st_size // kind.itemsize, dtype=kind)
    left = keys.view(np.uint8).data
    file.seek(0)
    while left:
        count = file.readinto(left)
        if not count:
            raise OSError(errno.EIO, f"a temporary file lost {len(left):,} bytes")
        left = left[count:]
    return keys


def _unfold(tally: Tally, kind: np.dtype[Any]) -> Iterator[AnyArray]:
    """Yield the keys of a tally's rows in order, some at a time."""
    for begin in range(0, len(tally), FOLD):
        score, n, pos = (column[begin : begin + FOLD] for column in tally.entries)
        keys = np.empty((len(score), 2), dtype=kind)
        for label in (0, 1):
            part = np.empty(len(score), dtype=kind)
            exact = score.astype(np.float32) if kind == np.int32 else score
            _kernel.pack(exact, np.full(len(score), label, np.uint8), part)
            keys[:, label] = part
        counts = np.stack([n - pos, pos], axis=1).ravel()
        keys = keys.ravel()
        for first in range(0, len(keys), 1024):  # a key may have very many rows
            yield np.repeat(keys[first : first + 1024], counts[first : first + 1024])


def _widen_keys(keys: AnyArray) -> AnyArray:
    """Convert keys of 32 bits to keys of 64 bits."""
    wide = np.empty(len(keys), dtype=np.int64)
    _kernel.pack((keys >> 1).view(np.float32).astype(np.float64), (keys & 1).astype(np.uint8), wide)
    return wide
