"""What follows from the list of component tests."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from truecal.data import CellGroups, Cells, Sampling
from truecal.metrics import Relative
from truecal.verdict import COMPONENTS, GroupData, judge
from truecal.words._verdict import TITLES

DOCS = Path(__file__).parents[2] / "docs"


def test_names_are_unique_and_every_test_describes_itself():
    assert len({test.name for test in COMPONENTS}) == len(COMPONENTS)
    assert [*TITLES] == [test.name for test in COMPONENTS]
    for test in COMPONENTS:
        assert all((test.name.isidentifier(), test.title, test.statistic, test.looks_for))
        assert 0 < test.weight <= 1
        assert "|" not in test.statistic + test.looks_for  # which would end a cell of the table


def test_the_table_of_the_docs_is_that_of_the_tests():
    spec = importlib.util.spec_from_file_location("verdict_table", DOCS / "verdict.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    text = found.PAGE.read_text(encoding="utf-8")
    assert found.fill(text) == text


def groups_of(rng, sizes, **options):
    """Groups of rows, of which some have too little information for limits."""
    groups = []
    for rows in sizes:
        p = rng.beta(1, 9, rows)
        cluster = np.arange(rows) // 3 if options.get("clusters") else None
        sampling = options.get("sampling", Sampling())
        y = rng.random(rows) < sampling.to_sampled(p)
        groups.append(Cells.from_arrays(y, p, sampling=sampling, cluster=cluster))
    return CellGroups.of(groups)


@pytest.mark.parametrize("tolerance", [None, Relative(0.1)])
@pytest.mark.parametrize(
    "options",
    [{}, {"clusters": True}, {"sampling": Sampling(label_noise=(0.02, 0.1))}],
    ids=["plain", "clusters", "flipped"],
)
def test_a_test_has_a_p_value_exactly_where_it_applies(rng, options, tolerance):
    data = GroupData.of(groups_of(rng, (5, 3000, 40, 800), **options), 0.05, tolerance)
    for test in COMPONENTS:
        applies, p = test.applies(data), test.p_values(data) if test.applies(data).any() else np.full(4, np.nan)
        np.testing.assert_array_equal(np.isnan(p), ~applies, err_msg=test.name)
        assert ((p[applies] >= 0) & (p[applies] <= 1)).all()
        assert (data.information[applies] >= test.least_information).all()


def test_p_values_are_in_the_order_of_the_list(rng):
    order = [test.name for test in COMPONENTS]
    for options in ({}, {"tolerance": Relative(0.1)}):
        p = rng.beta(1, 9, 2000)
        cells = Cells.from_arrays(rng.random(2000) < p, p, sampling=Sampling(label_noise=(0.01, 0.1)))
        names = [*judge(cells, **options).tests]
        assert names == [name for name in order if name in names]
        assert len(names) == (2 if options else 7)
