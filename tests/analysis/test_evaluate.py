import json
from dataclasses import replace

import numpy as np
import pytest

import truecal
from truecal import ClassResults
from truecal.data import Cells, Classes
from truecal.results import ClassTable
from truecal.verdict import combine, judge


@pytest.fixture
def data(rng):
    q = rng.dirichlet([1, 2, 3], size=3000)
    y = (q.cumsum(axis=1) > rng.random((3000, 1))).argmax(axis=1)
    return y, q


@pytest.mark.parametrize("function", [truecal.ltce, truecal.tce, truecal.ece, truecal.ace, truecal.mce, truecal.rmsce])
def test_the_most_probable_class_is_judged_unless_each_is_asked_for(function, data):
    y, q = data
    top = function(q.argmax(axis=1) == y, q.max(axis=1))
    assert function(y, q) == function(y, q, multiclass="top-label") == function(y, q.tolist()) == top
    each = [function(y == c, q[:, c]) for c in range(3)]
    assert function(y, q, multiclass="classwise") == pytest.approx(np.mean(each))


def test_evaluate_judges_the_most_probable_class(data):
    y, q = data
    result = truecal.evaluate(y, q, null_draws=19, random_state=0)
    alone = truecal.evaluate(q.argmax(axis=1) == y, q.max(axis=1), null_draws=19, random_state=0)
    assert result.verdict == replace(alone.verdict, outcome="correct")
    assert replace(result, verdict=alone.verdict) == alone
    assert result["tce"] == truecal.tce(y, q)
    assert f"{result.positives:,} correct ({100 * result.prevalence:.3g}%)" in repr(result)
    assert " correct, expected " in result.verdict.summary
    assert "positive" not in " ".join(result.verdict.sentences())
    assert truecal.Result.from_json(result.to_json()) == result


def test_over_confidence_is_told_of_confidences(data):
    y, q = data
    sharper = q**2 / np.sum(q**2, axis=1, keepdims=True)
    told = truecal.evaluate(y, sharper).verdict.summary
    assert told.startswith("Miscalibrated: confidences are too high, observed ")


def test_the_table_has_the_verdict_on_each_class(data):
    """The oracle is `evaluate` of one column; Holm's method by its definition."""
    y, q = data
    q = np.where(np.arange(3) == 1, 1.3 * q, q)
    q /= q.sum(axis=1, keepdims=True)
    for options in ({}, {"significance": 0.01, "tolerance": 0.01}, {"threshold": 0.2}, {"sample_weight": 1 + y}):
        result = truecal.evaluate_classes(y, q, labels=[0, 1, 2], **options)
        table = result.table
        assert result.top == truecal.evaluate(y, q, **options)
        for c, row in enumerate(table):
            verdict = truecal.evaluate(y == c, q[:, c], ["ltce"], **options).verdict
            assert (row.label, row.status, row.p_value) == (c, verdict.status, verdict.p_value)
            assert (row.observed, row.expected, row.ratio) == (verdict.observed, verdict.expected, verdict.ratio)
            assert ((row.ratio_low, row.ratio_high), row.value) == (verdict.interval, verdict.local.value)
        order = np.argsort(table.p_value)
        steps = [min(1.0, max((3 - j) * table.p_value[order[j]] for j in range(i + 1))) for i in range(3)]
        assert table.p_adjusted[order] == pytest.approx(steps)
    weights = np.bincount(q.argmax(axis=1), 1 + y)
    assert table.predicted.tolist() == weights.tolist()


def test_evaluate_takes_what_metrics_take(data):
    """Of the most probable class and of each, by the same words as `tce`."""
    y, q = data
    each = truecal.evaluate(y, q, ["tce"], multiclass="classwise", significance=0.01)
    assert each == truecal.evaluate_classes(y, q, ["tce"], significance=0.01)
    assert each.top == truecal.evaluate(y, q, ["tce"], multiclass="top-label", significance=0.01)


def test_read_classes_are_judged_as_arrays_are(data, need):
    pl = need("polars")
    y, q = data
    frame = pl.DataFrame({"y": y, **{f"p{c}": q[:, c] for c in range(3)}})
    observations = truecal.read(frame, label="y", score="p*", multiclass="classwise")
    named = np.array(["0", "1", "2"])[y], q
    arrays = truecal.evaluate_classes(*named, labels=["0", "1", "2"])
    for found in (
        truecal.evaluate_classes(observations),
        truecal.evaluate(observations),
        truecal.evaluate_classes(observations, None),
    ):
        assert found.table == arrays.table
        assert found.top.verdict == arrays.top.verdict
        assert found.top.values == arrays.top.values
    for options in ({"threshold": 0.2}, {"top": 0.3}, {"tolerance": 0.01}):
        assert truecal.evaluate_classes(observations, **options).table == (
            truecal.evaluate_classes(*named, labels=["0", "1", "2"], **options).table
        )
    assert truecal.evaluate_classes(observations, ["ece"]).top.values == {"ece": truecal.ece(y, q)}
    with pytest.raises(TypeError, match="`labels` must be left out if rows are grouped by score already"):
        truecal.evaluate_classes(observations, labels=[0, 1, 2])
    with pytest.raises(TypeError, match="`sample_weight` must be left out"):
        truecal.evaluate(observations, sample_weight=y)


def test_classes_on_a_grid_are_judged_by_their_cells(data, need):
    """Cells of 16 bits are a fifteenth of those that verdicts are computed from."""
    pl = need("polars")
    y, q = data
    frame = pl.DataFrame({"y": y, **{f"p{c}": q[:, c] for c in range(3)}})
    limits = truecal.reading.Limits(grid=16)
    observations = truecal.read(frame, label="y", score="p*", multiclass="classwise", limits=limits)
    for options in ({}, {"threshold": 0.2}, {"top": 900}):
        found = truecal.evaluate_classes(observations, **options).table
        exact = truecal.evaluate_classes(y, q, **options).table
        assert found.p_value == pytest.approx(exact.p_value, rel=1e-3)
        assert found.observed.tolist() == exact.observed.tolist()


def verdict(word, p_value):
    found = truecal.evaluate([0, 1], [0.2, 0.7], ["ltce"]).verdict
    return replace(found, status=word, p_value=p_value)


@pytest.mark.parametrize(
    ("top", "classes", "word", "p_value", "words"),
    [
        (
            ("consistent", 0.5),
            [("miscalibrated", 0.001), ("consistent", 0.8)],
            "miscalibrated",
            0.004,
            ["miscalibrated", "consistent"],
        ),
        (
            ("consistent", 0.5),
            [("miscalibrated", 0.04), ("inconclusive", 0.8)],
            "consistent",
            0.16,
            ["inconclusive"] * 2,
        ),
        (("miscalibrated", 0.01), [("consistent", 0.8)] * 2, "miscalibrated", 0.02, ["consistent"] * 2),
        (("miscalibrated", 0.03), [("consistent", 0.8)] * 2, "inconclusive", 0.06, ["consistent"] * 2),
        (("inconclusive", 0.3), [("consistent", 0.8)] * 2, "inconclusive", 0.6, ["consistent"] * 2),
        (("consistent", 0.9), [("consistent", 0.8)] * 2, "consistent", 1.0, ["consistent"] * 2),
    ],
)
def test_one_verdict_on_all_classes(top, classes, word, p_value, words):
    """Twice the smaller of the top-label p-value and the smallest that Holm adjusts: 2 x 0.001 x 2 classes = 0.004."""
    base = truecal.evaluate([0, 1], [0.2, 0.7], ["ltce"])
    table = ClassTable.of(["a", "b"], np.array([1, 1]), [verdict(*found) for found in classes])
    result = ClassResults(replace(base, verdict=verdict(*top)), table)
    assert (result.status, result.p_value) == (word, pytest.approx(p_value))
    assert table.status == words
    raw = json.loads(result.to_json())
    assert (raw["status"], raw["p_value"], raw["table"]["columns"]["status"]) == (word, pytest.approx(p_value), words)
    assert ClassResults.from_json(result.to_json()) == result


def test_results_of_classes_are_told_in_words(data):
    y, q = data
    q = np.where(np.arange(3) == 1, 1.5 * q, q)
    q /= q.sum(axis=1, keepdims=True)
    result = truecal.evaluate_classes(np.array(["ant", "<b>", "cat"])[y], q, labels=["ant", "<b>", "cat"])
    off = result.table.status.count("miscalibrated")
    text = repr(result)
    assert text.startswith("Miscalibrated over all classes and the top label (p < 0.0001).\n  Top label: ")
    assert f"{off} of 3 classes are miscalibrated, each against the rest (Holm-adjusted p): <b>" in " ".join(
        text.split()
    )
    page = result._repr_html_()
    assert "<td>&lt;b&gt;</td>" in page
    assert "<b></td>" not in page
    assert result["ece"] == truecal.ece(y, q)
    with pytest.raises(ValueError, match="the JSON of a truecal ClassResults"):
        ClassResults.from_json("{}")


@pytest.mark.slow
def test_a_right_model_of_ten_classes_is_off_at_the_level():
    """The most probable class in 400 sets at 0.05: the standard error is 0.011."""
    rng, off = np.random.default_rng(3), 0
    for _ in range(400):
        q = rng.dirichlet(np.full(10, 0.3), size=1000)
        y = np.minimum((q.cumsum(axis=1) > rng.random((1000, 1))).argmax(axis=1), 9)
        cells = Cells.from_arrays(*Classes.of(y, q, None).top())
        off += combine(judge(cells).tests) <= 0.05
    assert 0.017 <= off / 400 <= 0.083  # 0.05 +- 3 standard errors


@pytest.mark.slow
def test_many_classes_have_about_the_verdicts_of_their_columns():
    rng = np.random.default_rng(8)
    p = rng.dirichlet(np.full(64, 0.3), size=3000)
    y = (p.cumsum(axis=1) > rng.random((3000, 1))).argmax(axis=1)
    p[:, 5] *= 0.5  # one class is too rare by half
    p[:, 6] += p[:, 5]
    table = truecal.evaluate_classes(y, p).table
    alone = [truecal.evaluate(y == i, p[:, i], ["ece"]).verdict for i in range(64)]
    assert table.status[5] == "miscalibrated"
    # windows begin a little elsewhere: a p-value of 0.5 moves by some 0.05
    assert np.corrcoef(table.p_value, [verdict.p_value for verdict in alone])[0, 1] > 0.97
    assert table.observed.tolist() == [verdict.observed for verdict in alone]


def test_names_of_classes(data):
    y, q = data
    names = np.array(["ant", "bee", "cat"])
    assert truecal.tce(names[y], q, labels=["ant", "bee", "cat"]) == truecal.tce(y, q)
    assert truecal.tce(names[y], q[:, ::-1], labels=["cat", "bee", "ant"]) == pytest.approx(truecal.tce(y, q))


@pytest.mark.slow
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
            r"The rows of `y_prob` must sum to 1 within 0.001; 3000 of 3000 do not, the first to 0.5 at position 0",
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


def test_options_for_classes_need_classes(data):
    y, q = data
    with pytest.raises(ValueError, match="`pos_label` is for two classes"):
        truecal.evaluate(y, q, multiclass="classwise", pos_label=1)
    with pytest.raises(ValueError, match=r"`y_prob` must be of shape \(rows, classes\); it has a single column"):
        truecal.evaluate_classes(y == 1, q[:, 1])
    with pytest.raises(ValueError, match="`multiclass` needs `y_prob` of shape"):
        truecal.evaluate(y == 1, q[:, 1], multiclass="top-label")
    with pytest.raises(ValueError, match=r"(?s)must be one column for two classes; it has two.*pass `y_prob\[:, 1\]`"):
        truecal.evaluate(y == 1, np.stack([1 - q[:, 1], q[:, 1]], axis=1))


def test_two_columns_can_be_asked_for(data):
    y, q = data
    pair = np.stack([1 - q[:, 0], q[:, 0]], axis=1)
    label = (y == 0).astype(int)
    expected = (truecal.ece(label, pair[:, 1]) + truecal.ece(1 - label, pair[:, 0])) / 2
    assert truecal.ece(label, pair, multiclass="classwise") == pytest.approx(expected)
