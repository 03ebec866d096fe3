"""What must not matter about rows: their order, how they are counted, and how labels and scores are written."""

import dataclasses

import numpy as np
import pytest
from drawn import draw, share
from observed import identical

import truecal
from truecal._options import METRICS

pytestmark = pytest.mark.slow


@share(0.12)
def test_row_order_is_irrelevant_in_arrays(seed):
    rows = draw(seed)
    mixed = rows.take(np.random.default_rng(seed).permutation(len(rows)))
    assert mixed.evaluate(METRICS) == rows.evaluate(METRICS)


@share(0.01)
def test_row_order_is_irrelevant_to_what_is_simulated(seed):
    rows = draw(seed)
    mixed = rows.take(np.random.default_rng(seed).permutation(len(rows)))
    options = {"null_draws": 20, "resamples": 20, "random_state": seed}
    assert mixed.evaluate(**options) == rows.evaluate(**options)


@share(0.06)
def test_row_order_is_irrelevant_in_frames(seed, need):
    rows = draw(seed)
    mixed = rows.take(np.random.default_rng(seed).permutation(len(rows)))
    whole = rows.read()
    assert identical(mixed.read(), whole)
    assert identical(mixed.read(need("polars").DataFrame(mixed.columns)), whole)
    assert truecal.evaluate(mixed.read()) == truecal.evaluate(whole)


@share(0.05)
def test_arrays_give_the_numbers_of_frames(seed):
    rows = draw(seed, without=("by", "time"))
    arrays, observed = rows.evaluate(METRICS), truecal.evaluate(rows.read(), METRICS)
    verdict = dataclasses.replace(observed.verdict, cluster=None)  # which has a name in a frame
    # rows of count 0 are dropped from a frame, and noted
    assert dataclasses.replace(observed, verdict=verdict, notes=(), row_counts=arrays.row_counts) == (
        dataclasses.replace(arrays, notes=())
    )


@share(0.05)
def test_a_count_is_so_many_rows_in_arrays(seed):
    rows = draw(seed, "count", without=("by", "time"))
    repeated = rows.repeat()
    counted, single = rows.evaluate(METRICS), repeated.evaluate(METRICS)
    # a note tells of equal counts
    assert dataclasses.replace(counted, notes=()) == dataclasses.replace(single, notes=())


@share(0.05)
def test_a_count_is_so_many_rows_in_frames(seed):
    rows = draw(seed, "count")
    repeated = rows.repeat()
    counted = rows.read()
    assert counted.row_counts.read == len(repeated) + (rows.columns["n"] == 0).sum()
    assert identical(dataclasses.replace(counted, dropped={}), repeated.read())


@share(0.03)
def test_rows_without_a_label_or_a_score_are_as_if_not_there(seed, need):
    rng, rows = np.random.default_rng(seed), draw(seed, without=("count",))
    whole = rows.read()
    gaps = rows.take(rng.integers(0, len(rows), rng.integers(1, 9)))
    name = rng.choice(["y", "p"])
    gaps = gaps.set(**{name: np.full(len(gaps), np.nan)})
    more = {key: np.concatenate([rows.columns[key], gaps.columns[key]]) for key in rows.columns}
    mixed = rows.set(**more).take(rng.permutation(len(rows) + len(gaps)))
    frame = need("polars").DataFrame(mixed.columns)
    for data in (mixed.columns, frame, frame.fill_nan(None)):
        found = rows.read(data, missing="drop")
        assert found.parts == whole.parts
        assert found.row_counts.n_dropped == len(gaps)
    assert mixed.evaluate(missing="drop").values == rows.evaluate().values


@share(0.04)
def test_the_order_the_names_and_the_number_of_columns_are_irrelevant(seed, need):
    rng, rows = np.random.default_rng(seed), draw(seed)
    whole = rows.read()
    more = rows.columns | {"other": rng.random(len(rows)), "note": rng.choice(["a", "b"], len(rows))}
    mixed = {name: more[name] for name in rng.permutation(list(more))}
    assert identical(rows.read(mixed), whole)
    assert identical(rows.read(need("pandas").DataFrame(mixed)), whole)
    renamed = need("polars").DataFrame({f"the {name}": column for name, column in mixed.items()})
    options = {role: f"the {name}" for role, name in rows.options.items() if isinstance(name, str)}
    found = rows.read(renamed, **options)
    assert found.parts == whole.parts
    assert found.by == tuple(f"the {name}" for name in whole.by)


@share(0.04)
def test_labels_of_any_type_are_the_same_labels(seed, need):
    pl, rows = need("polars"), draw(seed)
    whole, y = rows.read(), rows.columns["y"]
    for kind in (bool, np.int8, np.uint64, np.float32, np.float64):
        assert identical(rows.set(y=y.astype(kind)).read(), whole)
    for negative, positive in (("no", "yes"), ("1", "0"), ("good", "bad"), (2, 1), (-1.5, 7.5)):
        words = rows.set(y=np.where(y == 1, positive, negative))
        for data in (words.columns, pl.DataFrame(words.columns)):
            found = words.read(data, pos_label=positive)
            assert found.pos_label == str(positive)
            assert identical(dataclasses.replace(found, pos_label=None), whole)


@share(0.03)
def test_percentages_are_the_same_scores(seed, need):
    rows = draw(seed, dyadic=True)
    percent = rows.set(p=100 * rows.columns["p"])  # exact, as is the quotient by 100
    assert identical(percent.read(score_scale="percent"), rows.read())
    assert identical(percent.read(need("pandas").DataFrame(percent.columns), score_scale="percent"), rows.read())


@share(0.03)
def test_logits_are_the_same_scores(seed, need):
    rows = draw(seed)
    # multiples of 1/64, so that rounding makes no two of them equal
    logit = np.random.default_rng(seed).integers(-640, 641, len(rows)) / 64
    known = rows.set(p=1 / (1 + np.exp(-logit)))
    whole, scaled = known.read(), rows.set(p=logit)
    for data in (scaled.columns, need("polars").DataFrame(scaled.columns), need("pandas").DataFrame(scaled.columns)):
        found = scaled.read(data, score_scale="logit")
        assert list(found.parts) == list(whole.parts)
        tallies = (
            (one.tally, other.tally) for one, other in zip(found.parts.values(), whole.parts.values(), strict=True)
        )
        for one, other in tallies:
            assert one.n.tolist() == other.n.tolist()
            assert one.pos.tolist() == other.pos.tolist()
            # libraries differ in the last bits of the exponential function
            np.testing.assert_allclose(one.score, other.score, rtol=1e-14)


@share(0.005)
def test_evaluating_twice_gives_the_same_in_any_number_of_threads(seed):
    rows = draw(seed, "by", "time")
    options = {"null_draws": 20, "random_state": seed, "tolerance": (None, 0.02)[seed % 2]}
    observed = rows.read()
    for function, more in (
        (truecal.evaluate, {"resamples": 20}),
        (truecal.segments, {}),
        (truecal.drift, {}),
        (truecal.check, {"resamples": 20}),
    ):
        first = function(observed, threads=1, **options, **more)
        assert function(observed, threads=1, **options, **more) == first
        assert function(rows.read(), threads=2, **options, **more) == first
