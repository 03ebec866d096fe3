"""Rows that share a customer: the same clusters from every kind of column, and in step with the tally they belong to."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pytest

from truecal import Tally
from truecal.data import CellGroups, Cells, Clusters, hash_numbers, hash_values


@pytest.fixture
def rows():
    rng = np.random.default_rng(5)
    p = np.round(rng.beta(1, 4, size=2000), 2)
    return rng.random(2000) < p, p, rng.integers(0, 150, size=2000)


def splitmix(x):
    """Vigna's mixing in Python's own integers."""
    mask = 2**64 - 1
    x &= mask
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & mask
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & mask
    x ^= x >> 31
    return x - 2**64 if x >= 2**63 else x


def test_hashes_of_numbers_are_those_of_splitmix():
    numbers = [0, 1, -1, 7, 2**62, -(2**63)]
    assert hash_numbers(np.array(numbers)).tolist() == [splitmix(x) for x in numbers]


def test_a_value_has_one_hash_whatever_its_type():
    whole = [5, 5.0, np.int8(5), np.float32(5), Decimal("5.00")]
    assert len({int(hash_values([value])[0]) for value in whole}) == 1
    days = [dt.date(2026, 3, 1), dt.datetime(2026, 3, 1), "2026-03-01"]
    assert len({int(hash_values([value])[0]) for value in days}) == 1
    assert hash_values(["5"])[0] != hash_values([5])[0]
    mixed = ["a", 5, 2.5, None.__class__]
    assert hash_values(mixed).tolist() == [int(hash_values([value])[0]) for value in mixed]


def test_hashes_of_text_never_change():
    # blake2b of "str:ann", 8 bytes, little end first: they must stay, since files of other days are added
    from hashlib import blake2b

    expected = int.from_bytes(blake2b(b"str:ann", digest_size=8).digest(), "little", signed=True)
    assert hash_values(["ann"]).tolist() == [expected]


def columns(ids):
    """The same clusters in columns of many kinds."""
    pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    yield ids.tolist()
    yield ids.astype(np.int16)
    yield ids.astype(np.float64)
    yield ids.astype(object)
    yield pandas.Series(ids)
    yield polars.Series(ids)
    yield pyarrow.array(ids)


def test_columns_of_every_kind_give_the_same_clusters(rows):
    y, p, ids = rows
    observations = [Tally.from_arrays(y, p, cluster=column) for column in columns(ids)]
    assert all(tally == observations[0] for tally in observations)
    words = np.array([f"customer {i}" for i in ids])
    texts = [Tally.from_arrays(y, p, cluster=column) for column in (words, words.tolist(), words.astype(object))]
    assert texts[0] == texts[1] == texts[2]
    assert texts[0].clusters.count == observations[0].clusters.count == len(np.unique(ids))


def test_pairs_are_counted_as_by_hand():
    tally = Tally.from_arrays([1, 0, 1, 1, 0], [0.2, 0.2, 0.2, 0.7, 0.7], cluster=[4, 4, 9, 4, 9])
    found = {}
    for cluster, place, n, pos in zip(
        *(getattr(tally.clusters, k) for k in ("cluster", "position", "n", "pos")), strict=True
    ):
        found[int(cluster), float(tally.score[place])] = int(n), int(pos)
    four, nine = hash_numbers(np.array([4, 9])).tolist()
    assert found == {(four, 0.2): (2, 1), (four, 0.7): (1, 1), (nine, 0.2): (1, 1), (nine, 0.7): (1, 0)}


def test_row_order_and_batches_do_not_matter(rows):
    y, p, ids = rows
    whole = Tally.from_arrays(y, p, cluster=ids)
    order = np.random.default_rng(0).permutation(len(p))
    assert Tally.from_arrays(y[order], p[order], cluster=ids[order]) == whole
    parts = [Tally.from_arrays(y[part], p[part], cluster=ids[part]) for part in np.array_split(order, 5)]
    assert sum(parts) == whole
    assert sum(Cells.grid(part, 6) for part in parts).clusters == Cells.grid(whole, 6).clusters
    assert Cells.grid(whole, 8).coarsen(5).clusters == Cells.grid(whole, 5).clusters


def test_a_region_keeps_the_clusters_of_its_rows(rows):
    y, p, ids = rows
    whole = Tally.from_arrays(y, p, cluster=ids)
    kept = p >= 0.3
    assert whole.above(0.3) == Tally.from_arrays(y[kept], p[kept], cluster=ids[kept])
    assert whole.top(100).clusters.n.sum() == whole.top(100).n_rows


def test_a_weight_is_so_many_rows_of_a_cluster(rows):
    y, p, ids = rows
    weight = np.random.default_rng(1).integers(0, 4, size=len(p))
    repeated = (np.repeat(column, weight) for column in (y, p, ids))
    y_again, p_again, ids_again = repeated
    expected = Tally.from_arrays(y_again, p_again, cluster=ids_again)
    assert Tally.from_arrays(y, p, weight, cluster=ids) == expected


def test_tallies_with_and_without_clusters_do_not_add(rows):
    y, p, ids = rows
    with pytest.raises(ValueError, match=r"Observations must all have been read with `cluster` to add, or none"):
        Tally.from_arrays(y, p, cluster=ids) + Tally.from_arrays(y, p)


@pytest.mark.parametrize("hole", [None, float("nan"), np.datetime64("NaT", "s")])
def test_a_row_without_a_cluster_is_an_error(hole):
    with pytest.raises(
        ValueError, match=r"`cluster` must not be missing; 1 of 3 values is null, the first at position 1"
    ):
        Tally.from_arrays([0, 1, 1], [0.1, 0.2, 0.3], cluster=np.array(["a", hole, "b"], dtype=object))


def test_every_row_needs_a_cluster():
    with pytest.raises(ValueError, match=r"one value for each row; `cluster` has 2, `y_prob` has 3"):
        Tally.from_arrays([0, 1, 1], [0.1, 0.2, 0.3], cluster=[1, 2])


def test_clusters_that_do_not_add_up_are_an_error():
    one = np.array([1])
    with pytest.raises(RuntimeError, match="The rows of clusters must be those of the tally"):
        Tally([0.5], [3], [1], clusters=Clusters(one, one * 0, one * 2, one))


def test_cells_have_the_pairs_of_their_scores(rows):
    y, p, ids = rows
    cells = Cells.from_arrays(y, p, cluster=ids)
    pairs = cells.clusters
    assert np.array_equal(np.bincount(pairs.position, pairs.n), cells.n)
    assert np.array_equal(np.bincount(pairs.position, pairs.pos), cells.pos)
    assert len(pairs.starts) - 1 == len(np.unique(ids))
    # a 12-bit grid makes the same cells, up to how it keeps their sums
    grid = Cells.of(Cells.grid(Tally.from_arrays(y, p, cluster=ids), 12)).clusters
    assert all(np.array_equal(getattr(grid, name), getattr(pairs, name)) for name in ("starts", "position", "n", "pos"))


def test_groups_lie_end_to_end_with_their_clusters(rows):
    y, p, ids = rows
    halves = [Cells.from_arrays(y[part], p[part], cluster=ids[part]) for part in (slice(0, 900), slice(900, None))]
    both = CellGroups.of(halves)
    owners = both.cells.clusters.owners(both.starts)
    assert np.bincount(owners).tolist() == [len(half.clusters.starts) - 1 for half in halves]
    assert np.array_equal(np.bincount(both.cells.clusters.position, both.cells.clusters.n), both.cells.n)
    with pytest.raises(ValueError, match="All groups of rows must have clusters, or none"):
        CellGroups.of([halves[0], Cells.from_arrays(y, p)])
