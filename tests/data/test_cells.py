"""Cells of 12 bits with sums: the same from every source, whatever the order of the rows."""

import numpy as np
import pytest

from truecal import Tally, Uniform, _kernel, ltce
from truecal.data import CellGroups, Cells, PowerSums, _arrays, _cell_groups, _cells, cell, sort_rows
from truecal.metrics import Edges


@pytest.fixture
def rows(rng):
    """Scores of all sizes, with ties, both ends, and numbers below the normal ones."""
    special = [0.0, -0.0, 1.0, 0.5, 5e-324, 1e-310, 2.0**-1022, 1 - 2.0**-53, np.nextafter(0.5, 0)] * 5
    p = np.concatenate([rng.random(3000), rng.random(3000) ** 30, 1 - rng.random(2000) ** 20, special])
    p = np.append(p, rng.choice(p, 1000))
    return rng.random(len(p)) < 0.4, p


def test_cells_are_the_grid_s(rows):
    y, p = rows
    found = Cells.from_arrays(y, p)
    key, where = np.unique(cell(p, 12), return_inverse=True)
    assert np.array_equal(found.key, key)
    assert np.array_equal(found.n, np.bincount(where))
    assert np.array_equal(found.pos, np.bincount(where, y))
    q = np.where(p >= 0.5, 1 - p, p)
    for power, sums in ((1, found.s1), (2, found.s2), (3, found.s3)):
        # d^2 is added up from 16 bits of 41, d^3 from those: an error of 1e-11
        assert sums == pytest.approx(np.bincount(where, q**power), rel=1e-10, abs=1e-290)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("label", [bool, np.uint8, np.int64, np.float64])
def test_types_are_irrelevant(rows, kind, label):
    y, p = rows
    narrow = p.astype(kind)
    found = Cells.from_arrays(y.astype(label), narrow)
    assert found == Cells.from_arrays(y, narrow.astype(np.float64))


def test_every_exact_source_gives_the_same_bits(rows, rng):
    y, p = rows
    found = Cells.from_arrays(y, p)
    order = rng.permutation(len(p))
    assert Cells.from_arrays(y[order], p[order]) == found
    assert Cells.of(Tally.from_arrays(y, p)) == found
    assert Cells.of(sort_rows(y, p)) == found
    assert Cells.of(sort_rows(y, p.astype(np.float32))) == Cells.from_arrays(y, p.astype(np.float32))
    assert Cells.from_arrays(y, p, sample_weight=np.ones(len(p))) == found


def test_equal_scores_have_exact_sums():
    found = Cells.from_arrays(np.zeros(10**5), np.full(10**5, 0.3))
    assert found.s1.item() == pytest.approx(10**5 * 0.3, rel=1e-15)
    assert found.s2.item() == pytest.approx(10**5 * 0.09, rel=1e-15)
    assert found.s3.item() == pytest.approx(10**5 * 0.027, rel=1e-15)


def test_cells_add(rows, monkeypatch):
    y, p = rows
    found = Cells.from_arrays(y, p)
    parts = [Cells.from_arrays(y[i : i + 2500], p[i : i + 2500]) for i in range(0, len(p), 2500)]
    merged = sum(parts)
    for name in ("key", "n", "pos"):
        assert np.array_equal(getattr(merged, name), getattr(found, name))
    for name in ("s1", "s2", "s3"):
        assert getattr(merged, name) == pytest.approx(getattr(found, name), rel=1e-9)
    monkeypatch.setattr(_cells, "MOST_CELL_ROWS", 2500)
    assert Cells.from_arrays(y, p) == merged


def test_cells_with_clusters_add_like_their_rows(rng):
    p, ids = rng.beta(0.5, 5, 2000), rng.integers(0, 300, 2000)
    y = rng.random(2000) < p
    halves = [Cells.from_arrays(y[part], p[part], cluster=ids[part]) for part in (slice(0, 700), slice(700, None))]
    found, whole = sum(halves), Cells.from_arrays(y, p, cluster=ids)
    assert found.clusters == whole.clusters
    assert np.array_equal(found.key, whole.key)
    assert found.s1 == pytest.approx(whole.s1, rel=1e-12)


@pytest.mark.parametrize("bits", [12, 15, 26])
def test_a_grid_s_cells_are_close(rows, bits):
    y, p = rows
    found, grid = Cells.from_arrays(y, p), Cells.of(Cells.grid(Tally.from_arrays(y, p), bits))
    assert np.array_equal(grid.key, found.key)
    # sums of scores near 1 lose digits of q
    assert grid.s1 == pytest.approx(found.s1, rel=1e-9, abs=1e-11)
    assert grid.s2 == pytest.approx(found.s2, rel=2.0**-22, abs=1e-11)
    assert Cells(12, grid.key, grid.n, grid.pos, grid.powers) == _cells.unchecked_cells(grid.power_columns)


def test_a_coarse_grid_keeps_its_cells(rows):
    y, p = rows
    grid = Cells.grid(Tally.from_arrays(y, p), 8)
    assert len(Cells.of(grid)) == len(grid)


@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_classes_have_the_cells_of_their_columns(kind):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(37, 0.1), size=2500).astype(kind)
    y = rng.integers(0, 37, size=2500)
    found = Cells.of_classes(_arrays.Classes.of(y, p, None), 3, 37)
    assert found == [Cells.from_arrays(y == i, np.ascontiguousarray(p[:, i]), pooled=True) for i in range(3, 37)]


def test_pooled_cells_hold_the_same_rows_and_are_narrow():
    """What a cell's rows differ by, s2 - s1^2 / n, is less than 2^-24 of the variance of a sum of their labels."""
    rng = np.random.default_rng(5)
    p = np.concatenate([rng.beta(0.2, 50, 30_000), rng.beta(50, 0.2, 30_000), rng.random(30_000), [0.0, 0.5, 1.0]])
    y = rng.random(len(p)) < p
    cells, pooled = (Cells.from_arrays(y, p, pooled=each) for each in (False, True))
    assert 2 * len(pooled) < len(cells)
    assert (np.diff(pooled.key) > 0).all()
    assert Cells.of(sort_rows(y, p), pooled=True) == Cells.of(Tally.from_arrays(y, p), pooled=True) == pooled
    for name in ("n", "pos", "s1", "s2", "s3"):
        for upper in (False, True):
            whole, parts = (np.sum(getattr(each, name)[each.upper == upper]) for each in (cells, pooled))
            assert parts == pytest.approx(whole, rel=1e-9)
    grid = Cells.of(Cells.grid(Tally.from_arrays(y, p), 14), pooled=True)
    assert grid.n.tolist() == pooled.n.tolist()
    spread = pooled.s2 - pooled.s1**2 / pooled.n
    assert (spread <= 2.0**-24 * pooled.v + np.where(pooled.q < 2.0**-11, 1e-5, 1e-15) * pooled.s2).all()


def test_what_follows_from_the_sums():
    found = Cells.from_arrays([0, 1, 1, 0, 1], [0.25, 0.25, 0.875, 1.0, 0.0])
    assert found.p.tolist() == [0.0, 0.25, 0.875, 1.0]
    assert found.v.tolist() == [0.0, 0.375, 0.109375, 0.0]
    assert found.expected.tolist() == [0.0, 0.5, 0.875, 1.0]
    assert found.surplus.tolist() == [1.0, 0.5, 0.125, -1.0]
    assert (found.n_rows, found.positives) == (5, 3)
    assert repr(found) == "Cells(4 cells of 12 bits, means in [0, 1], 5 rows, 3 positive)"


@pytest.mark.parametrize(
    ("y", "p", "message"),
    [
        ([0, 1], [0.2, 1.5], "`y_prob` must lie in"),
        ([0, 1], [0.2, float("nan")], "`y_prob` must not be missing"),
        ([0, 2], [0.2, 0.3], "`y_true` must hold 0 and 1"),
        ([], [], "at least one row"),
    ],
)
def test_bad_rows_are_refused(y, p, message):
    with pytest.raises(ValueError, match=message):
        Cells.from_arrays(y, p)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"key": [0.3, 0.2]}, "`key` must increase strictly"),
        ({"key": [0.1, 0.3]}, "`key` must be a cell of 12 bits"),
        ({"n": [0, 1]}, "`n` must be 1 or more"),
        ({"pos": [2, 0]}, "`pos` must lie in 0..n"),
        ({"s1": [0.5, 0.25]}, "`s1` must be a sum of q in its cell"),
        ({"s2": [0.25**2, 0.1]}, "`s2` must be a sum of q\\^2 in its cell"),
        ({"s1": [0.25]}, "columns of cells must be of one length"),
    ],
)
def test_bad_columns_are_refused(change, message):
    good = {
        "key": [0.25, 0.75],
        "n": [1, 1],
        "pos": [0, 1],
        "s1": [0.25, 0.25],
        "s2": [0.0625] * 2,
        "s3": [0.015625] * 2,
    }

    def make(columns):
        key, n, pos, *sums = map(np.array, columns.values())
        return Cells(12, key, n, pos, PowerSums(*sums))

    assert len(make(good)) == 2
    with pytest.raises(ValueError, match=message):
        make(good | change)


@pytest.mark.parametrize("rows", [1, 100, 20_000])
def test_no_number_of_threads_changes_a_bit(rows):
    """Few rows are sorted by their cells, many are counted in a table for each thread; both as sorted rows are."""
    rng = np.random.default_rng(rows)
    score = np.where(rng.random(rows) < 0.5, rng.beta(0.5, 5, rows), 1 - 10.0 ** -rng.uniform(0, 15, rows))
    score[: rows // 10] = 5e-324 * np.arange(rows // 10)
    label = rng.random(rows) < score
    wanted = _kernel.cell_sums(Tally.from_arrays(label, score).entries, False)
    edges = np.linspace(0, 1, 11)
    bins = _kernel.fixed_bins(score, label, edges, 1)
    for threads in (1, 2, 7):
        columns, *fine = _kernel.cell_rows(score, label, threads, False)
        assert fine == [True, True]
        assert all(map(np.array_equal, columns, wanted))
        assert all(map(np.array_equal, _kernel.fixed_bins(score, label, edges, threads), bins))
    score[-1] = 1.5
    assert _kernel.cell_rows(score, label, 3, False)[1:] == (False, True)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_many_equal_rows_are_counted_to_the_last(kind):
    """A cell's counts are moved every thousand rows, and bins know a score on an edge from its neighbours."""
    score = np.repeat(np.array([0.0, 0.1, 0.2, 0.3, 0.7, 1 - 2**-20, 1.0], dtype=kind), 3001)
    score = np.concatenate([score, np.nextafter(score[::3001], kind(0.5))])
    label = np.arange(len(score)) % 3 == 0
    tally = Tally.from_arrays(label, score)
    wanted = _kernel.cell_sums(tally.entries, False)
    assert all(map(np.array_equal, _kernel.cell_rows(score, label, 2, False)[0], wanted))
    for edges in (Uniform(10).edges, np.array([0, 0.1, 0.3, 1])):
        bins = Edges(edges).partition(tally)
        n, k, _, *fine = _kernel.fixed_bins(score, label, edges, 2)
        assert fine == [True, True]
        assert (n.tolist(), k.tolist()) == (bins.n.tolist(), bins.k.tolist())


@pytest.mark.parametrize("threads", [1, 4])
def test_a_bad_label_is_found_behind_a_bad_score(threads):
    """Whatever is wrong with rows is the same for any number of threads: labels are named first."""
    score, label = np.full(20_000, 0.5), np.zeros(20_000, np.int64)
    score[10], label[19_999] = np.nan, -1
    assert _kernel.cell_rows(score, label, threads, False)[1:] == (False, False)
    assert _kernel.fixed_bins(score, label, np.array([0.0, 1.0]), threads)[3:] == (False, False)


def test_many_rows_take_every_core(monkeypatch):
    monkeypatch.setattr(_arrays, "THREADED_ROWS", 10_000)
    assert [_arrays.count_threads(rows) for rows in (1, 9_999)] == [1, 1]
    assert 1 <= _arrays.count_threads(10_000) <= 2
    assert _arrays.count_threads(10**9) >= _arrays.count_threads(10_000)


def test_threads_may_be_given():
    """No more than the rows are worth; a number that is none is refused whatever the rows are used for."""
    assert [_arrays.count_threads(rows, 3) for rows in (1, 10**5, 10**9)] == [1, 2, 3]
    y, p = np.arange(200_000) % 2, np.linspace(0, 1, 200_000)
    assert ltce(y, p, threads=3) == ltce(y, p)
    for given in ({}, {"sample_weight": y + 1}):
        with pytest.raises(ValueError, match="`threads` must be a whole number, 1 or more; it is 0."):
            ltce(y, p, threads=0, **given)


def lay_groups(rng):
    """Groups of few rows and of many, near 0, near 1 and on both sides of 0.5."""
    shapes = [rng.random(3), rng.beta(0.1, 9, 4000), 1 - rng.beta(0.1, 9, 400), np.array([0.0, 1.0]), rng.random(3000)]
    return [Tally.from_arrays(rng.random(len(p)) < p, p) for p in shapes]


def test_groups_of_tallies_have_the_cells_of_each(rng, monkeypatch):
    observations = lay_groups(rng)
    each = CellGroups.of([Cells.of(tally) for tally in observations])
    (whole,) = CellGroups.batches(observations)
    assert whole.cells == each.cells
    assert whole.starts.tolist() == each.starts.tolist()
    monkeypatch.setattr(_cell_groups, "CELLS_AT_ONCE", 4000)
    batches = list(CellGroups.batches(observations))
    assert len(batches) > 1
    for name in ("key", "n", "pos", *PowerSums._fields):
        assert np.array_equal(
            np.concatenate([getattr(batch.cells, name) for batch in batches]), getattr(each.cells, name)
        )


def test_coarser_cells_hold_the_same_rows_to_the_last_bit(rng):
    (groups,) = CellGroups.batches(lay_groups(rng))
    cells, coarse = groups.cells, groups.coarsen(5)
    owner = np.repeat(np.arange(len(groups)), np.diff(groups.starts))
    begin = np.flatnonzero((np.diff(cell(cells.key, 5), prepend=-1.0) != 0) | (np.diff(owner, prepend=-1) != 0))
    assert np.array_equal(coarse.cells.key, cells.key[begin])
    assert np.array_equal(coarse.starts, np.searchsorted(begin, groups.starts))
    for name in ("n", "pos", "s1", "s2", "s3"):
        assert np.array_equal(getattr(coarse.cells, name), np.add.reduceat(getattr(cells, name), begin)), name


def test_some_groups_are_chosen_with_their_cells(rng):
    observations = lay_groups(rng)
    (groups,) = CellGroups.batches(observations)
    which = np.array([True, False, True, True, False])
    wanted = CellGroups.of([Cells.of(tally) for tally, kept in zip(observations, which, strict=True) if kept])
    chosen = groups.choose(which)
    assert chosen.cells == wanted.cells
    assert chosen.starts.tolist() == wanted.starts.tolist()
