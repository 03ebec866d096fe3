"""Rows that arrive in batches give the tally of them all: counted, sorted in memory or sorted on disk."""

import errno
import itertools
import os
import subprocess
import sys
import tempfile
from fractions import Fraction

import numpy as np
import pytest
from edges import many_scores

from truecal import Tally
from truecal.data import Cells, Pairs, SortedRows, TieCounter, cell, group_keys, sort_rows
from truecal.data._counting import SIZES
from truecal.reading import _accumulate as spool_module
from truecal.reading._accumulate import FOLD, GridSpool, PairSpool, Spool, pack_rows


def tally_of(data):
    return group_keys(data.key) if isinstance(data, SortedRows) else data


@pytest.mark.parametrize("decimals", [2, 17])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_spool_is_the_tally_of_its_batches(rng, decimals, kind):
    """More rows than are folded at once, tied and not; single precision first and double later."""
    p = np.round(rng.beta(0.5, 5, FOLD + 100_000), decimals).astype(kind)
    y = rng.random(len(p)) < p
    spool = Spool()
    edges = np.linspace(0, len(p), 40).astype(int)
    for a, b in itertools.pairwise(edges):
        spool.add_keys(pack_rows(p[a:b], y[a:b]))
    assert tally_of(spool.finish()) == Tally.from_arrays(y, p)


def test_a_spool_widens_when_doubles_come(rng):
    single, double = rng.random(1000).astype(np.float32), rng.random(1000)
    y = rng.integers(0, 2, 2000).astype(np.uint8)
    spool = Spool()
    spool.add_keys(pack_rows(single, y[:1000]))
    spool.add_keys(pack_rows(double, y[1000:]))
    assert tally_of(spool.finish()) == Tally.from_arrays(y, np.concatenate([single.astype(float), double]))


def spooled(p, y, memory, batch=1000):
    spool = Spool(memory)
    for begin in range(0, len(p), batch):
        spool.add_keys(pack_rows(p[begin : begin + batch], y[begin : begin + batch]))
    return spool


@pytest.mark.slow
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("shape", ["spread", "rising", "tied", "one score", "few scores"])
def test_what_outgrows_memory_is_sorted_on_disk(rng, tmp_path, monkeypatch, kind, shape):
    """50,000 rows in the memory of a few thousand; scores that rise defeat what the first rows let expect."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    p = {
        "spread": rng.beta(0.5, 5, 50_000),
        "rising": np.sort(rng.beta(0.5, 5, 50_000)),
        "tied": np.where(rng.random(50_000) < 0.7, 0.25, rng.random(50_000)),
        "one score": np.full(50_000, 0.25),
        "few scores": rng.choice([0.0, 0.25, 0.5, 1.0], 50_000),
    }[shape].astype(kind)
    y = (rng.random(50_000) < p).astype(np.uint8)
    rows = spooled(p, y, 16_000).finish()
    np.testing.assert_array_equal(rows.key, np.sort(pack_rows(p, y)))
    assert isinstance(rows.key, np.memmap)
    assert not os.listdir(tmp_path)  # the data vanish with the array
    assert tally_of(spooled(p, y, 16_000).finish()) == Tally.from_arrays(y, p)


def test_doubles_after_singles_and_folded_rows_go_to_disk_too(rng, monkeypatch):
    monkeypatch.setattr(spool_module, "FOLD", 2000)
    p = np.concatenate([rng.choice([0.25, 0.5, 0.75], 5000), rng.random(5000).astype(np.float32), rng.random(20_000)])
    y = (rng.random(30_000) < p).astype(np.uint8)
    assert tally_of(spooled(p, y, 32_000, batch=500).finish()) == Tally.from_arrays(y, p)


def taken(p, y, batch=1000, spool=None, **options):
    spool = spool or Spool(**options)
    for begin in range(0, len(p), batch):
        part = slice(begin, begin + batch)
        assert spool.add_rows(p[part], y[part]) == len(p[part])
    return spool.finish()


# How many scores there are, as many as fill none, the first, the second, ... of the tables, or more than all do.
@pytest.mark.parametrize("scores", [1, 7, 1000, 5000, 20_000, 40_000, 200_000])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("bits", [None, 8])
def test_rows_that_share_scores_are_counted(rng, scores, kind, bits):
    p = (rng.integers(0, scores, 600_000) / scores).astype(kind)
    y = (rng.random(len(p)) < p).astype(np.int8)
    found = taken(p, y, 50_000, bits=bits)
    whole = Tally.from_arrays(y, p)
    assert found == Cells.grid(whole, bits) if bits else tally_of(found) == whole
    if bits:
        assert taken(p, y, 50_000, GridSpool(bits)) == found


def test_counting_ends_where_it_does_not_pay(rng):
    """Different rows go on as keys, from the first table on; tied ones fit the last; many ties make a tally."""
    label = np.zeros(1_000_000, np.int8)
    ties = TieCounter()
    assert ties.add(rng.random(100_000), label[:100_000]) == 2 ** (SIZES[0] - 1)
    assert not ties.tied
    few = rng.integers(0, 30_000, 1_000_000) / 30_000
    ties = TieCounter()
    assert ties.add(few, label) == len(few)
    assert ties.tied
    assert len(ties.count()[0]) == len(np.unique(few))
    assert ties.count()[1].sum() == ties.rows == len(few)
    assert isinstance(taken(rng.random(10_000), label[:10_000]), SortedRows)
    assert isinstance(taken(few, label), Tally)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("memory", [1 << 30, 400_000])
def test_ties_first_and_different_scores_later(rng, kind, memory):
    """What was counted joins what is sorted, in memory and on disk; doubles that were counted make keys wide."""
    tied, spread = np.round(rng.random(300_000), 4), rng.random(200_000).astype(kind).astype(np.float64)
    p = np.concatenate([tied, spread])
    y = (rng.random(len(p)) < p).astype(np.uint8)
    assert tally_of(taken(p, y, 50_000, memory=memory)) == Tally.from_arrays(y, p)


def test_different_scores_first_and_ties_later(rng):
    p = np.concatenate([rng.random(100_000), np.round(rng.random(FOLD), 3)])
    y = (rng.random(len(p)) < p).astype(np.uint8)
    assert tally_of(taken(p, y, 50_000)) == Tally.from_arrays(y, p)


@pytest.mark.parametrize("bad", ["score", "label"])
@pytest.mark.parametrize("place", [0, 1500, 2999])
@pytest.mark.parametrize("decimals", [1, 17])
def test_rows_are_taken_up_to_one_that_is_wrong(rng, bad, place, decimals):
    p, y = np.round(rng.random(3000), decimals), rng.integers(0, 2, 3000)
    (p if bad == "score" else y)[place] = 2
    spool = Spool()
    count = spool.add_rows(p, y)
    assert count <= place
    if count:  # the wrong row and its neighbours are left out, and others go on
        assert spool.add_rows(p[place + 1 :], y[place + 1 :]) == 2999 - place
        kept = np.r_[:count, place + 1 : 3000]
        assert tally_of(spool.finish()) == Tally.from_arrays(y[kept], p[kept])


@pytest.mark.parametrize("bad", ["score", "label"])
@pytest.mark.parametrize("place", [0, 1500, 2999])
def test_rows_are_counted_in_cells_up_to_one_that_is_wrong(rng, bad, place):
    p, y = rng.random(3000), rng.integers(0, 2, 3000)
    (p if bad == "score" else y)[place] = 2
    spool = GridSpool(9)
    count = spool.add_rows(p, y)
    assert count <= place
    assert spool.add_rows(p[place + 1 :], y[place + 1 :]) == 2999 - place
    kept = np.r_[:count, place + 1 : 3000]
    assert spool.finish() == Cells.grid(Tally.from_arrays(y[kept], p[kept]), 9)


@pytest.mark.parametrize("bits", [2, 12, 17])
def test_sums_of_cells_are_exact_in_any_order(rng, bits):
    """At both ends of [0, 1] and below the normal numbers, too; the sums of fractions, rounded once."""
    p = np.concatenate([many_scores(rng, 400), rng.beta(0.2, 0.2, 3000)])
    y = rng.integers(0, 2, len(p))
    found = taken(p, y, spool=GridSpool(bits))
    order = rng.permutation(len(p))
    assert taken(p[order], y[order], 70, GridSpool(bits)) == found == Cells.grid(Tally.from_arrays(y, p), bits)
    own = cell(p, bits)
    for name, total in zip(found.key, found.score_sum, strict=True):
        assert total == float(sum(map(Fraction, p[own == name].tolist())))


@pytest.mark.parametrize(("limit", "most"), [("MOST_CELLS", 200), ("MOST_ROWS", 700)])
def test_a_full_table_of_cells_is_emptied(rng, monkeypatch, limit, most):
    monkeypatch.setattr(spool_module, limit, most)
    p = rng.beta(0.5, 5, 20_000)
    y = (rng.random(len(p)) < p).astype(np.int8)
    found, whole = taken(p, y, 3000, GridSpool(10)), Cells.grid(Tally.from_arrays(y, p), 10)
    for name, one, other in zip(("key", "n", "pos", "sum", "low", "high"), found.columns, whole.columns, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-15 * 30 if name == "sum" else 0)  # sums of tables are rounded


def test_negative_zeros_are_zeros(rng):
    p = rng.choice([0.0, -0.0, 0.5], 5000)
    y = rng.integers(0, 2, 5000)
    found = taken(p, y)
    assert found == Tally.from_arrays(y, p)
    assert found.score.tolist() == [0.0, 0.5]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("scores", [3, 9000, 5_000_000])
def test_arrays_are_counted_or_sorted_to_the_same_end(rng, scores, kind):
    """67 rows share each of 9,000 scores and are counted; hardly any share one of five million."""
    p = (rng.integers(0, scores, 600_000) / scores).astype(kind)
    y = rng.random(len(p)) < p
    found = sort_rows(y, p)
    assert isinstance(found, SortedRows) == (scores == 5_000_000)
    score, at = np.unique(p.astype(np.float64), return_inverse=True)
    assert found.tally == Tally(score, np.bincount(at), np.bincount(at, weights=y).astype(int))


@pytest.mark.parametrize("decimals", [2, 17])
def test_pairs_in_batches_are_the_pairs_of_all_rows(rng, decimals, monkeypatch):
    """Folded on the way where many are the same, kept as they come where few are."""
    monkeypatch.setattr("truecal.reading._accumulate.FOLD", 2000)
    p, q = (np.round(rng.random(9000), decimals) for _ in range(2))
    y, spool = rng.integers(0, 2, 9000), PairSpool()
    for begin in range(0, 9000, 700):
        some = slice(begin, begin + 700)
        spool.add(p[some], q[some], y[some])
    assert spool.finish() == Pairs.from_arrays(y, p, q)


class Full:
    """A temporary file on a disk with room for so many bytes, all files together."""

    def __init__(self, file, room):
        self.file, self.room = file, room

    def write(self, data):
        if not self.room[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        part = data[: self.room[0]]
        self.room[0] -= len(part)
        return self.file.write(part)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()

    def __getattr__(self, name):
        return getattr(self.file, name)


@pytest.mark.parametrize("share", np.linspace(0, 1.02, 18).tolist())
def test_a_full_disk_loses_no_row(rng, monkeypatch, share):
    """Rows go to disk twice: in pieces, and sorted. A disk that is full anywhere on the way is an error; with room for
    all of them the answer is right."""
    p = rng.beta(0.5, 5, 20_000)
    y = (rng.random(len(p)) < p).astype(np.uint8)
    room = [int(share * 2 * 8 * len(p))]
    open_file = spool_module._open_file
    monkeypatch.setattr(spool_module, "_open_file", lambda: Full(open_file(), room))
    monkeypatch.setattr(spool_module.np, "memmap", lambda file, dtype, mode: spool_module._read(file, dtype))
    if share < 1:
        with pytest.raises(OSError, match="No space left"):
            spooled(p, y, 16_000).finish()
    else:
        assert tally_of(spooled(p, y, 16_000).finish()) == Tally.from_arrays(y, p)


def test_a_killed_process_leaves_no_file(tmp_path):
    """While rows lie on disk, nothing has a name there."""
    code = """
import os, numpy as np
from truecal.reading._accumulate import Spool, pack_rows
spool = Spool(16_000)
spool.add_keys(pack_rows(np.linspace(0, 1, 2_000), np.zeros(2_000, np.uint8)))
spool.add_keys(pack_rows(np.linspace(0, 1, 2_000), np.zeros(2_000, np.uint8)))
assert spool._disk is not None
os.kill(os.getpid(), 9)
"""
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | {"TMPDIR": str(tmp_path)}, check=False)
    assert done.returncode == -9
    assert os.listdir(tmp_path) == []
