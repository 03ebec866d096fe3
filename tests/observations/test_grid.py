"""The grid, to the last bit, on every engine."""

import math
from fractions import Fraction

import numpy as np
import pytest
from edges import SPECIAL, many_scores, neighbours
from hypothesis import example, given
from hypothesis import strategies as st

from truecal import BoundedIsotonic
from truecal.observations import bits_for, cell


def cut_off(x, bits):
    """The definition, in fractions: x or 1 - x, whichever is nearer to 0, with all bits after the first few removed."""
    near = Fraction(x) if x < 0.5 else 1 - Fraction(x)
    if near:
        exponent = math.frexp(near)[1]  # 2^(exponent - 1) <= near < 2^exponent
        near = Fraction(near // Fraction(2) ** (exponent - bits)) * Fraction(2) ** (exponent - bits)
    return near if x < 0.5 else 1 - near


@given(st.one_of(st.floats(0, 1), st.sampled_from(neighbours(SPECIAL).tolist())), st.integers(2, 26))
@example(1.73e-322, 5)  # unlifted, the product that finds the next number below is rounded here
def test_a_cell_is_the_score_cut_off_after_so_many_bits(x, bits):
    assert Fraction(float(cell(np.array([x]), bits)[0])) == cut_off(x, bits)


def test_every_small_subnormal_is_cut_off_as_well():
    x = np.arange(3000).view(np.float64)
    for bits in (2, 5, 11):
        assert [Fraction(v) for v in cell(x, bits).tolist()] == [cut_off(v, bits) for v in x.tolist()]


def test_cells_rise_nest_and_stay_near(rng):
    x = np.sort(np.abs(many_scores(rng, 3000)))
    finer = x
    for bits in range(26, 1, -1):
        found = cell(x, bits)
        assert (np.diff(found) >= 0).all()
        np.testing.assert_array_equal(cell(found, bits), found)
        np.testing.assert_array_equal(cell(finer, bits), found)
        # below 2^(1 - bits) of the distance to the nearer end; the product is exact but for the smallest floats
        assert (np.abs(found - x) <= 2.0 ** (1 - bits) * np.minimum(x, 1 - x)).all()
        for alone in (0.0, 0.5, 1.0):
            assert (x[found == alone] == alone).all()
        finer = found


def test_minus_zero_is_zero_and_missing_stays_missing():
    found = cell(np.array([-0.0, np.nan]), 8)
    assert not np.signbit(found[0])
    assert np.isnan(found[1])


@pytest.mark.parametrize(
    "engine",
    ["pandas", "pandas-pyarrow", "polars", "polars-lazy", "pyarrow", "duckdb", "dask", "ibis", "pyspark"],
)
@pytest.mark.parametrize("staged", [False, True])
def test_every_engine_finds_the_same_cells_to_the_last_bit(engine, staged, need, rng, request):
    nw, pa, pd, pl = need("narwhals"), need("pyarrow"), need("pandas"), need("polars")
    x = many_scores(rng, 1500)
    row = np.arange(len(x))
    table = pa.table({"row": row, "x": x})
    if engine == "pyspark":
        spark = request.getfixturevalue("spark")
        native = spark.createDataFrame(list(zip(row.tolist(), x.tolist(), strict=True)), "row long, x double")
    else:
        native = {
            "pandas": lambda: pd.DataFrame({"row": row, "x": x}),
            "pandas-pyarrow": lambda: table.to_pandas(types_mapper=pd.ArrowDtype),
            "polars": lambda: pl.from_arrow(table),
            "polars-lazy": lambda: pl.from_arrow(table).lazy(),
            "pyarrow": lambda: table,
            "duckdb": lambda: need("duckdb").from_arrow(table),
            "dask": lambda: need("dask.dataframe").from_pandas(pd.DataFrame({"row": row, "x": x}), npartitions=2),
            "ibis": lambda: need("ibis").memtable(table),
        }[engine]()
    for bits in (2, 13, 26):
        frame = nw.from_native(native)

        def hold(value):
            nonlocal frame
            name = f"held{len(frame.collect_schema())}"
            frame = frame.with_columns(value.alias(name))
            return nw.col(name)

        def where(condition, a, b):
            return nw.when(condition).then(a).otherwise(b)

        expression = cell(nw.col("x"), bits, where, *([hold] if staged else []))
        found = frame.select("row", expression.alias("cell"))
        if isinstance(found, nw.LazyFrame):
            found = found.collect()
        in_order = np.empty(len(x))
        in_order[found["row"].to_numpy()] = found["cell"].to_numpy()
        np.testing.assert_array_equal(in_order.view(np.int64), cell(x, bits).view(np.int64))


def test_bits_keep_cells_at_a_fifteenth_of_the_largest_bin(rng):
    for total in (10**4, 10**5, 10**6):
        _, n_max = BoundedIsotonic().bounds(total)
        for score in (rng.uniform(0.25, 0.5, total), rng.beta(0.5, 50, total), rng.beta(2, 2, total)):
            bits = bits_for(total, n_max)
            _, rows = np.unique(cell(score, bits), return_counts=True)
            assert rows.max() <= n_max / 15 * 1.2  # by chance some cells hold a little more
    assert (bits_for(10, 10**6), bits_for(10**15, 10)) == (2, 26)
    with pytest.raises(ValueError, match="`largest_bin` must be 1 or more; it is 0"):
        bits_for(10, 0)


@pytest.mark.parametrize("bits", [1, 27, 8.0, True, "8", None])
def test_bits_out_of_range_are_refused(bits):
    with pytest.raises(ValueError, match=r"`bits` must be a whole number from 2 to 26; it is"):
        cell(np.array([0.5]), bits)
