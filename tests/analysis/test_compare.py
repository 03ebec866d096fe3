"""Two models on the same rows: of arrays, of pairs, and of tallies with a baseline."""

import numpy as np
import pytest

import truecal
from truecal.observations import Pairs


@pytest.fixture
def rows(rng):
    p = np.round(rng.beta(0.5, 5, 2000), 3)
    return (rng.random(2000) < p).astype(int), p, p**2


def test_columns_pairs_and_tallies_give_the_same(rows, need, tmp_path):
    pl = need("polars")
    options = {"replicates": 50, "random_state": 0}
    plain = truecal.compare(*rows, **options)["tce"]
    assert truecal.compare(Pairs.from_arrays(*rows), **options)["tce"] == plain
    pl.DataFrame(dict(zip(("y", "p", "q"), rows, strict=True))).write_parquet(tmp_path / "a.parquet")
    for data in (tmp_path / "a.parquet", pl.read_parquet(tmp_path / "a.parquet")):
        read = truecal.read(data, label="y", score="p", baseline="q")
        assert truecal.compare(read, **options)["tce"] == plain
        assert truecal.compare(read, ["tce"], **options)["tce"] == plain


def test_what_cannot_be_compared_is_explained(rows, need):
    frame = need("polars").DataFrame({"y": rows[0], "p": rows[1]})
    with pytest.raises(ValueError, match="(?s)these tallies are of one.*baseline=...\\)"):
        truecal.compare(truecal.read(frame, label="y", score="p"))
    with pytest.raises(TypeError, match="(?s)`compare` takes columns or `Tallies`; this is DataFrame.*truecal.read"):
        truecal.compare(frame)
    with pytest.raises(TypeError, match=r"(?s)it is 'y'\..*truecal.read\(data, label=\"y\""):
        truecal.compare(frame, "y", "p", "q")
    with pytest.raises(TypeError, match="`pos_label` must be left out"):
        truecal.compare(Pairs.from_arrays(*rows), pos_label=1)
