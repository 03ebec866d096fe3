import numpy as np
import pytest

import truecal
from truecal import ClassResults


@pytest.fixture
def data(rng):
    q = rng.dirichlet([1, 2, 3], size=3000)
    y = (q.cumsum(axis=1) > rng.random((3000, 1))).argmax(axis=1)
    return y, q


@pytest.mark.parametrize("function", [truecal.tce, truecal.ece, truecal.ace, truecal.mce, truecal.rmsce])
def test_classwise_is_the_average_of_one_versus_rest(function, data):
    y, q = data
    each = [function(y == c, q[:, c]) for c in range(3)]
    assert function(y, q) == pytest.approx(np.mean(each))
    assert function(y, q, multiclass="classwise") == function(y, q)
    assert function(y, q.tolist()) == function(y, q)


@pytest.mark.parametrize("function", [truecal.tce, truecal.ece])
def test_top_label_judges_the_most_probable_class(function, data):
    y, q = data
    assert function(y, q, multiclass="top-label") == function(q.argmax(axis=1) == y, q.max(axis=1))


def test_evaluate_keeps_the_classes(data):
    y, q = data
    result = truecal.evaluate_classes(y, q, labels=[0, 1, 2])
    assert list(result.per_class) == [0, 1, 2]
    assert result.per_class[1] == truecal.evaluate(y == 1, q[:, 1])
    assert result["tce"] == truecal.tce(y, q)
    assert ClassResults.from_json(result.to_json()) == result
    assert "3 classes, each against the rest" in repr(result)
    assert "average" in result._repr_html_()
    top = truecal.evaluate(y, q, multiclass="top-label")
    assert top["ece"] == truecal.ece(y, q, multiclass="top-label")
    with pytest.raises(ValueError, match="the JSON of a truecal ClassResults"):
        ClassResults.from_json("{}")


def test_names_of_classes(data):
    y, q = data
    names = np.array(["ant", "bee", "cat"])
    assert truecal.tce(names[y], q, labels=["ant", "bee", "cat"]) == truecal.tce(y, q)
    assert truecal.tce(names[y], q[:, ::-1], labels=["cat", "bee", "ant"]) == pytest.approx(truecal.tce(y, q))


def test_weights_are_repetitions(data, rng):
    y, q = data
    w = rng.integers(0, 3, len(y))
    assert truecal.tce(y, q, sample_weight=w) == truecal.tce(np.repeat(y, w), np.repeat(q, w, axis=0))


def test_bad_input_is_refused(data):
    y, q = data
    cases = [
        (dict(y_true=y, y_prob=q[:, :2]), r"pass `y_prob\[:, 1\]`"),
        (dict(y_true=y, y_prob=q, multiclass="classwide"), "`multiclass` must be"),
        (dict(y_true=y, y_prob=q, labels=[0, 1]), "`labels` must name the 3 columns"),
        (dict(y_true=y, y_prob=q, labels=[0, 1, 1]), "`labels` must name the 3 columns of `y_prob` once each"),
        (dict(y_true=y, y_prob=q, pos_label=1), "`pos_label` is for two classes"),
        (dict(y_true=y + 1, y_prob=q), r"`y_true` must hold the classes \[0, 1, 2\]; at position"),
        (dict(y_true=y[1:], y_prob=q), "`y_true` has 2999, `y_prob` has 3000"),
        (dict(y_true=q, y_prob=q), "`y_true` must have one dimension"),
        (dict(y_true=y == 1, y_prob=q[:, 1], multiclass="classwise"), "`multiclass` needs `y_prob` of shape"),
        (dict(y_true=y == 1, y_prob=q[:, 1], labels=[0, 1]), "`labels` needs `y_prob` of shape"),
        (dict(y_true=y, y_prob=q * 2), r"`y_prob` must lie in \[0, 1\]"),
        (
            dict(y_true=y, y_prob=q / 2),
            r"The rows of `y_prob` must sum to 1; 3000 of 3000 do not, the first to 0.5 at position 0",
        ),
        (
            dict(y_true=y, y_prob=np.where(q == q[5, 0], np.nan, q), multiclass="top-label"),
            "`y_prob` must not be missing",
        ),
    ]
    for arguments, message in cases:
        for function in (truecal.tce, truecal.ece):
            with pytest.raises(ValueError, match=message):
                function(**arguments)


def test_evaluate_wants_one_column_or_a_choice(data):
    y, q = data
    with pytest.raises(ValueError, match=r"(?s)its shape is \(3000, 3\).*`evaluate_classes` judges each class"):
        truecal.evaluate(y, q)
    with pytest.raises(ValueError, match=r"`y_prob` must be of shape \(rows, classes\); it has a single column"):
        truecal.evaluate_classes(y == 1, q[:, 1])
    with pytest.raises(ValueError, match="`multiclass` needs `y_prob` of shape"):
        truecal.evaluate(y == 1, q[:, 1], multiclass="top-label")


def test_two_columns_can_be_asked_for(data):
    y, q = data
    pair = np.stack([1 - q[:, 0], q[:, 0]], axis=1)
    label = (y == 0).astype(int)
    expected = (truecal.ece(label, pair[:, 1]) + truecal.ece(1 - label, pair[:, 0])) / 2
    assert truecal.ece(label, pair, multiclass="classwise") == pytest.approx(expected)
