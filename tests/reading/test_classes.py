"""Several classes from frames of every engine and from files: the same answers as loops over arrays."""

import numpy as np
import pytest

import truecal
from truecal import Tally

NAMES = np.array(["bee", "cat", "dog"])


def draw(rng, rows=400):
    """Probabilities of three classes with some ties, and labels drawn from them."""
    p = rng.dirichlet([1, 2, 3], rows).round(2)
    p[:, 2] = 1 - p[:, 0] - p[:, 1]
    p[:3] = [[0.5, 0.5, 0.0], [0.25, 0.375, 0.375], [0.0, 0.0, 1.0]]
    p = np.abs(p)
    y = NAMES[np.minimum((p.cumsum(axis=1) > rng.random((rows, 1))).argmax(axis=1), 2)]
    return p, y


def columns(p, y, **more):
    return {"pet": y.tolist(), **{f"p_{name}": p[:, i].tolist() for i, name in enumerate(NAMES)}, **more}


def of_rows(y, p, rows=slice(None)):
    """The oracle: the tally of the most probable class by NumPy's argmax, which takes the first of equals."""
    p, y = p[rows], y[rows]
    chosen = p.argmax(axis=1)
    return Tally.from_arrays(NAMES[chosen] == y, p[np.arange(len(p)), chosen])


def test_every_engine_reads_what_a_loop_over_classes_does(make, rng):
    p, y = draw(rng)
    place = rng.choice(["at", "de"], len(y))
    frame = make(**columns(p, y, place=place.tolist()))
    found = truecal.read(frame, label="pet", score="p_*", multiclass="classwise", by="place")
    assert found.top.outcome == "correct"
    for value in ("at", "de"):
        assert found.top.parts[value,] == of_rows(y, p, place == value)
    assert list(found.classes) == NAMES.tolist()
    for i, name in enumerate(NAMES.tolist()):
        assert found.classes[name].tally == Tally.from_arrays(y == name, p[:, i])
        assert found.classes[name].pos_label == name
    assert found.predicted == dict(zip(NAMES.tolist(), np.bincount(p.argmax(axis=1)).tolist(), strict=True))
    top = truecal.read(frame, label="pet", score=["p_bee", "p_cat", "p_dog"], multiclass="top-label")
    assert top == found.top.group_by(())
    assert repr(top) == f"Observations(1 segment, p_* for pet, exact: 400 rows, {top.positives} correct)"


def test_rows_that_cannot_be_judged_are_dropped_from_all_classes(make, rng):
    """By the loop: a row goes if its label or any of its probabilities is missing."""
    p, y = draw(rng, 40)
    given = columns(p, y)
    given["pet"][3], given["p_bee"][5], given["p_dog"][7] = None, None, float("nan")
    frame = make(**given)
    with pytest.raises(ValueError, match=r"(?s)of 40 rows .*`pet` is null in 1.*leaves out rows"):
        truecal.read(frame, label="pet", score="p_*", multiclass="top-label")
    found = truecal.read(frame, label="pet", score="p_*", multiclass="classwise", missing="drop")
    kept = np.delete(np.arange(40), [3, 5, 7])
    assert found.top.tally == of_rows(y, p, kept)
    for i, name in enumerate(NAMES.tolist()):
        assert found.classes[name].tally == Tally.from_arrays(y[kept] == name, p[kept, i])
        assert found.classes[name].row_counts == found.top.row_counts
    assert found.top.row_counts.n_dropped == 3
    assert sum(found.predicted.values()) == 37


def test_probabilities_must_sum_to_one_on_every_engine(make, rng):
    p, y = draw(rng, 40)
    given = columns(p, y)
    given["p_cat"][11] += 0.01 if given["p_cat"][11] < 0.5 else -0.01
    with pytest.raises(
        ValueError, match=r"(?s)must sum to 1 within 0.001; 1 of 40 rows do not, .*Hint: apply a softmax"
    ):
        truecal.read(make(**given), label="pet", score="p_*", multiclass="top-label")
    given["p_cat"][11] = 1.5
    with pytest.raises(ValueError, match=r"of 40 rows `p_\*` is outside \[0, 1\] in 1"):
        truecal.read(make(**given), label="pet", score="p_*", multiclass="top-label")


def test_a_label_without_a_column_is_refused_on_every_engine(make, rng):
    p, y = draw(rng, 40)
    given = columns(p, y)
    given["pet"][9] = "p_cta"
    with pytest.raises(
        ValueError, match=r"(?s)`pet` holds 'p_cta', which none of 'p_bee', .*did you mean 'p_cat'.*`labels`"
    ):
        truecal.read(make(**given), label="pet", score="p_*", multiclass="top-label")


def test_the_first_row_whose_probabilities_do_not_sum_to_one_is_named(need):
    pl = need("polars")
    frame = pl.DataFrame({"y": ["a", "b", "a"], "a": [0.5, 0.5, 0.7], "b": [0.5, 0.4, 0.3]})
    with pytest.raises(ValueError, match="1 of 3 rows do not, the first to 0.9 at position 1"):
        truecal.read(frame, label="y", score=["a", "b"], multiclass="top-label")
    frame = pl.DataFrame({"y": ["a", "b", "a"], **{key: [0.333] * 3 for key in "abc"}})  # as people round
    assert truecal.read(frame, label="y", score=["a", "b", "c"], multiclass="top-label").positives == 2


@pytest.mark.parametrize(
    ("labels", "names", "expected"),
    [
        (["cat", "dog"], ["cat", "dog"], ["cat", "dog"]),
        (["cat", "dog"], ["p_cat", "p_dog"], ["cat", "dog"]),
        (["cat", "cow"], ["p_cat", "p_cow"], ["cat", "cow"]),  # all begin with p_c
        (["cat", "rat"], ["cat_prob", "rat_prob"], ["cat", "rat"]),  # all end with at_prob
        (["cat", "cut"], ["P(cat)", "P(cut)"], ["cat", "cut"]),
        ([0, 1], ["prob_0", "prob_1"], ["0", "1"]),
        ([0.0, 1.0], ["prob_0", "prob_1"], ["0", "1"]),
        ([1, 11], ["p1", "p11"], ["1", "11"]),
        (["a", "a"], ["xa", "xaa"], ["a", "aa"]),  # as little as possible is taken off
        (["p_cat", "p_dog"], ["p_cat", "p_dog"], ["p_cat", "p_dog"]),
        ([True, False], ["p_True", "p_False"], ["True", "False"]),
    ],
)
def test_columns_are_named_by_the_labels(labels, names, expected, need):
    pl = need("polars")
    frame = pl.DataFrame({"y": labels, names[0]: [0.75, 0.25], names[1]: [0.25, 0.75]})
    found = truecal.read(frame, label="y", score=names, multiclass="classwise")
    assert list(found.classes) == expected
    right = [name == str(label).removesuffix(".0") for name, label in zip(expected, labels, strict=True)]
    assert found.top.positives == sum(right)
    turned = truecal.read(frame, label="y", score=names[::-1], multiclass="classwise")
    assert turned.classes == {name: found.classes[name] for name in expected[::-1]}


def test_given_names_go_before_those_of_the_columns(need):
    pl = need("polars")
    frame = pl.DataFrame({"y": ["a", "b"], "b": [0.75, 0.25], "a": [0.25, 0.75]})
    assert truecal.read(frame, label="y", score=["b", "a"], multiclass="top-label").positives == 0
    assert truecal.read(frame, label="y", score=["b", "a"], labels=["a", "b"], multiclass="top-label").positives == 2
    with pytest.raises(ValueError, match="`labels` must name every label; `y` holds 'b' as well"):
        truecal.read(frame, label="y", score=["b", "a"], labels=["a", "c"], multiclass="top-label")
    for labels in (["a"], ["a", "a"], ["a", "b", "c"]):
        with pytest.raises(ValueError, match="`labels` must name the classes of the 2 columns of `score` once each"):
            truecal.read(frame, label="y", score=["b", "a"], labels=labels, multiclass="top-label")


def test_what_makes_no_sense_with_classes_is_refused(need):
    pl = need("polars")
    frame = pl.DataFrame({"y": ["a", "b"], "p_a": [0.75, 0.25], "p_b": [0.25, 0.75]})
    good = {"label": "y", "score": "p_*", "multiclass": "top-label"}
    for options, message in (
        ({"pos_label": "a"}, "`pos_label` must be left out where `multiclass` is given"),
        ({"baseline": "p_a"}, "`baseline` must be left out where `multiclass` is given"),
        ({"on": "y"}, "`on` needs `baseline`"),
        ({"multiclass": None}, "`p_\\*`|must be one of the columns"),
        (
            {"multiclass": None, "score": ["p_a", "p_b"]},
            "(?s)`score` must name one column.*`multiclass`.*`truecal.read_models`",
        ),
        ({"multiclass": None, "score": "p_a", "labels": ["a"]}, "`labels` needs `multiclass`"),
        ({"multiclass": "classwide"}, '`multiclass` must be "top-label" or "classwise"'),
        ({"score": "q_*"}, "`score` must match a column; of 'y', 'p_a', 'p_b' none matches 'q_\\*'"),
        ({"score": "p_a"}, "`score` must name a column for each of several classes; it names p_a alone"),
        ({"score": ["p_a", "p_c"]}, "(?s)`score` must be one of the columns.*did you mean"),
        ({"label": None}, "`label` and `score` must name columns"),
        ({"score": None}, "`label` and `score` must name columns"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            truecal.read(frame, **good | options)
    with pytest.raises(ValueError, match="`multiclass` must be left out if observations are read"):
        truecal.read(truecal.read(frame, **good), multiclass="top-label")


def test_files_are_read_in_batches(tmp_path, need, rng, monkeypatch):
    pl = need("polars")
    p, y = draw(rng, 20_000)
    frame = pl.DataFrame(columns(p, y))
    monkeypatch.setattr("truecal.reading._read.BATCH", 3000)
    for name, write in (("a.parquet", frame.write_parquet), ("a.csv", frame.write_csv)):
        write(tmp_path / name)
        found = truecal.read(tmp_path / name, label="pet", score="p_*", multiclass="classwise")
        assert found.top.tally == of_rows(y, p)
        assert [part.tally for part in found.classes.values()] == [
            Tally.from_arrays(y == name, p[:, i]) for i, name in enumerate(NAMES)
        ]
    halves = [truecal.read(half, label="pet", score="p_*", multiclass="classwise") for half in (frame[:9], frame[9:])]
    assert sum(halves) == found


def test_a_grid_and_memory_hold_for_classes(tmp_path, need, rng):
    pl = need("polars")
    p, y = draw(rng, 5000)
    frame = pl.DataFrame(columns(p, y))
    limits = truecal.reading.Limits(grid=10)
    found = truecal.read(frame, label="pet", score="p_*", multiclass="classwise", limits=limits)
    exact = truecal.read(frame, label="pet", score="p_*", multiclass="classwise")
    assert found.top == exact.top.coarsen(10)
    assert found.classes["cat"] == exact.classes["cat"].coarsen(10)
    small = truecal.reading.Limits(memory=100_000)
    assert truecal.read(frame, label="pet", score="p_*", multiclass="classwise", limits=small) == exact
