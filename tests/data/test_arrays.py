"""Input that breaks others: each has a right answer or an error with rule, value, place and remedy."""

import decimal

import numpy as np
import pytest

import truecal
from truecal import Tally

GOOD = [0.1, 0.2, 0.3, 0.4]
CASES = {
    "empty": (([], []), ValueError, "must hold at least one row; they are empty"),
    "lengths": (([0, 1, 1], [0.1, 0.2]), ValueError, "`y_true` has 3, `y_prob` has 2"),
    "nan": (([0, 1, 0, 1], [0.1, np.nan, 0.3, np.nan]), ValueError, "2 of 4 values are NaN, the first at position 1"),
    "infinite": (([0, 1, 0, 1], [0.1, np.inf, 0.3, 0.2]), ValueError, "the first is inf at position 1"),
    "minus infinite": (([0, 1], [-np.inf, 0.2]), ValueError, "1 of 2 values is not, the first is -inf at position 0"),
    "above one": (([0, 1], [0.5, 1.5]), ValueError, r"must lie in \[0, 1\]; 1 of 2 values is not, the first is 1.5"),
    "below zero": (([0, 1], [-0.25, 0.5]), ValueError, "the first is -0.25 at position 0"),
    "logits": (([0, 1], [-3.0, 2.0]), ValueError, "Hint: these look like logits; apply a sigmoid first"),
    "percentages": (([0, 1], [3.0, 92.0]), ValueError, "Hint: these look like percentages; divide them by 100"),
    "hair above one": (([0, 1], [0.5, 1 + 1e-9]), ValueError, r"Hint: these are off by rounding; clip them"),
    "label 0.3": (
        ([0, 0.3, 1, 1], GOOD),
        ValueError,
        "must hold 0 and 1; 1 of 4 values is not, the first is 0.3 at position 1",
    ),
    "three labels": (([0, 1, 2, 1], GOOD), ValueError, "the first is 2 at position 2.\n\nHint: for several classes"),
    "minus one": (([-1, 1, 1, -1], GOOD), ValueError, "2 of 4 values are not, the first is -1.*\n\n.*pos_label=1"),
    "nan label": (([0, 1, np.nan, 1], GOOD), ValueError, "`y_true` must not be missing; 1 of 4 values is NaN"),
    "none label": (([0, 1, None, 1], GOOD), ValueError, "1 of 4 values is null, the first at position 2"),
    "none score": (([0, 1, 1, 1], [0.1, None, 0.2, 0.3]), ValueError, "`y_prob` must not be missing.*position 1"),
    "swapped": (
        (GOOD, [0, 1, 1, 0]),
        ValueError,
        r"the arguments look swapped; the labels come first: `\(y_true, y_prob\)`",
    ),
    "strings": (
        (["no", "yes", "no", "yes"], GOOD),
        ValueError,
        "Hint: name the positive class: `pos_label='no'` or `pos_label='yes'`",
    ),
    "column labels": (
        (np.ones((4, 1)), GOOD),
        ValueError,
        r"its shape is \(4, 1\).\n\nHint: flatten it with `y_true.ravel\(\)`",
    ),
    "matrix labels": ((np.ones((4, 2)), GOOD), ValueError, r"`y_true` must have one dimension; its shape is \(4, 2\)"),
    "column scores": (([0, 1, 0, 1], np.array(GOOD)[:, None]), ValueError, r"flatten it with `y_prob.ravel\(\)`"),
    "cube scores": (([0, 1, 0, 1], np.ones((4, 2, 2))), ValueError, "`y_prob` must have one dimension"),
    "masked": (
        ([0, 1, 1, 1], np.ma.array(GOOD, mask=[0, 0, 1, 0])),
        ValueError,
        "1 of 4 values is masked, the first at position 2",
    ),
    "text scores": (([0, 1], ["0.1", "0.2"]), TypeError, "`y_prob` must hold numbers"),
    "text objects": (([0, 1], np.array([0.1, "0.2"], dtype=object)), TypeError, "at position 1 is '0.2' \\(str\\)"),
    "complex": (([0, 1], [0.1j, 0.2]), TypeError, "it holds complex128"),
    "scalar": ((1, 0.5), TypeError, "`y_prob` must be a column of values; it is float"),
    "none": ((None, GOOD), TypeError, "`y_true` must be a column of values; it is NoneType"),
    "huge label": (([0, 10**400], [0.1, 0.2]), TypeError, "`y_true` must hold one plain label for each row"),
    "huge score": (([0, 1], [10**400, 0]), ValueError, "`y_prob` must hold numbers that a float can hold"),
    "dictionary": (([0, 1], {"a": 0.1}), TypeError, "it is dict"),
    "dates": (
        (np.array(["2020-01-01"] * 4, dtype="M8[D]"), GOOD),
        ValueError,
        "`y_true` must hold 0 and 1; it holds datetime64",
    ),
}
FUNCTIONS = [truecal.tce, truecal.ece, truecal.ace, truecal.mce, truecal.rmsce, truecal.evaluate, Tally.from_arrays]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__qualname__)
@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_refused_with_its_place(case, function):
    arguments, kind, message = CASES[case]
    with pytest.raises(kind, match="(?s)" + message):
        function(*arguments)


GOOD_CASES = {
    "lists": ([0, 1, 1], [0.1, 0.5, 0.9]),
    "tuples": ((0, 1, 1), (0.1, 0.5, 0.9)),
    "unmasked": ([0, 1, 1], np.ma.array([0.1, 0.5, 0.9])),
    "objects": (np.array([0, 1, 1], dtype=object), np.array([0.1, 0.5, 0.9], dtype=object)),
    "object booleans": (np.array([False, True, True], dtype=object), [0.1, 0.5, 0.9]),
    "decimals": ([0, 1, 1], [decimal.Decimal("0.5") / 5, decimal.Decimal("0.5"), decimal.Decimal("0.9")]),
    "range of labels": (range(2), [0.1, 0.5]),
    "wide floats": ([0, 1, 1], np.array([0.1, 0.5, 0.9], dtype=np.longdouble)),
}


@pytest.mark.parametrize("case", GOOD_CASES)
def test_odd_but_sound_input_is_read(case):
    y, p = GOOD_CASES[case]
    expected = Tally.from_arrays(np.array(list(y), dtype=int), np.array([float(x) for x in p]))
    assert Tally.from_arrays(y, p) == expected


def test_hard_zero_one_scores_are_probabilities():
    assert truecal.ece([0, 1, 1], [0, 1, 0]) == pytest.approx(1 / 3)  # two bins: (0,0) gap 1/2 x 2/3, (1) gap 0
    assert truecal.ece([0, 1], np.array([False, True])) == 0


@pytest.mark.parametrize("value", [0.5, -1, np.nan, np.inf, 2**47])
def test_weights_other_than_counts_are_refused(value):
    with pytest.raises(
        ValueError, match=r"how often it was seen(?s:.*)at position 1(?s:.*)`importance_weight`(?s:.*)`negative_rate`"
    ):
        truecal.tce([0, 1, 1], [0.1, 0.2, 0.3], sample_weight=[1, value, 2])


def test_weights_of_another_length_are_refused():
    with pytest.raises(ValueError, match="`sample_weight` has 2, `y_prob` has 3"):
        truecal.tce([0, 1, 1], [0.1, 0.2, 0.3], sample_weight=[1, 2])


class TestPosLabel:
    p = (0.1, 0.2, 0.3, 0.4)

    def test_names_the_positive_class(self):
        expected = Tally.from_arrays([0, 1, 0, 1], self.p)
        assert Tally.from_arrays(["no", "yes", "no", "yes"], self.p, pos_label="yes") == expected
        assert Tally.from_arrays([1, 2, 1, 2], self.p, pos_label=2) == expected
        assert Tally.from_arrays([1, 0, 1, 0], self.p, pos_label=0) == expected
        assert Tally.from_arrays(np.array(["a", "b"] * 2, dtype=object), self.p, pos_label="b") == expected
        assert Tally.from_arrays([True, False, True, False], self.p, pos_label=False) == expected

    def test_may_be_absent_from_one_class_data(self):
        assert Tally.from_arrays(["no"] * 4, self.p, pos_label="yes").positives == 0

    def test_must_be_one_of_two(self):
        with pytest.raises(ValueError, match="`pos_label` must be one of the labels 'no', 'yes'; it is 'Yes'"):
            Tally.from_arrays(["no", "yes", "no", "yes"], self.p, pos_label="Yes")

    def test_is_for_two_classes(self):
        with pytest.raises(ValueError, match="must hold two classes; it holds 3"):
            Tally.from_arrays(["a", "b", "c", "a"], self.p, pos_label="a")


class TestLibraries:
    p = (0.125, 0.25, 0.75, 0.875)
    y = (0, 1, 0, 1)

    @pytest.fixture
    def expected(self):
        return Tally.from_arrays(np.array(self.y), np.array(self.p))

    def test_pandas(self, need, expected):
        pd = need("pandas")
        for score in ("float64", "float32", "Float64", "double[pyarrow]"):
            for label in ("int8", "bool", "Int64", "boolean", "bool[pyarrow]", "category"):
                if "pyarrow" in score + label:
                    need("pyarrow")
                frame = pd.DataFrame({"y": pd.Series(self.y).astype(label), "p": pd.Series(self.p).astype(score)})
                assert Tally.from_arrays(frame.y, frame.p) == expected, (score, label)

    @pytest.mark.parametrize("kind", ["Float64", "float64", "double[pyarrow]", "object"])
    def test_pandas_nulls(self, need, kind):
        pd = need("pandas")
        need("pyarrow")
        with pytest.raises(ValueError, match=r"`y_prob` must not be missing; 1 of 4.*position 2"):
            Tally.from_arrays(self.y, pd.Series([0.1, 0.2, None, 0.3], dtype=kind))

    @pytest.mark.parametrize("kind", ["Int64", "boolean", "bool[pyarrow]", "object"])
    def test_pandas_null_labels(self, need, kind):
        pd = need("pandas")
        need("pyarrow")
        with pytest.raises(ValueError, match=r"`y_true` must not be missing; 1 of 4.*position 3"):
            Tally.from_arrays(pd.Series([0, 1, 1, None], dtype=kind), self.p)

    def test_polars(self, need, expected):
        pl = need("polars")
        for label in (pl.Int8, pl.Boolean, pl.UInt32, pl.Float32):
            frame = pl.DataFrame({"y": pl.Series(self.y).cast(label), "p": pl.Series(self.p).cast(pl.Float32)})
            assert Tally.from_arrays(frame["y"], frame["p"]) == expected, label
        with pytest.raises(ValueError, match="must not be missing.*position 1"):
            Tally.from_arrays(self.y, pl.Series([0.1, None, 0.2, 0.3]))

    def test_pyarrow(self, need, expected):
        pa = need("pyarrow")
        y, p = pa.array(self.y), pa.chunked_array([self.p[:2], self.p[2:]])
        assert Tally.from_arrays(y, p) == expected
        assert Tally.from_arrays(y.cast(pa.bool_()), p.cast(pa.float32())) == expected
        with pytest.raises(ValueError, match="must not be missing.*position 1"):
            Tally.from_arrays(y, pa.array([0.1, None, 0.2, 0.3]))

    @pytest.mark.slow
    def test_torch(self, need, expected):
        torch = need("torch")
        p = torch.tensor(self.p, requires_grad=True)
        assert Tally.from_arrays(torch.tensor(self.y), p) == expected
        assert Tally.from_arrays(torch.tensor(self.y).bool(), p.half()) == expected
        with pytest.raises(TypeError, match="(?s)`y_prob` cannot be read.*Hint: move it to the CPU as float32"):
            Tally.from_arrays(torch.tensor(self.y), p.bfloat16())


def test_rows_of_pandas_are_not_paired_by_position_against_their_index(need):
    pd = need("pandas")
    y, p = pd.Series([0, 1, 1], index=[4, 5, 6]), pd.Series([0.2, 0.7, 0.9], index=[4, 6, 5])
    for options in ({}, {"missing": "drop"}):
        with pytest.raises(ValueError, match="(?s)same index.*at position 1 the indexes have 5 and 6.*y_true.index"):
            truecal.evaluate(y, p, **options)
    with pytest.raises(ValueError, match="must have the same index"):
        truecal.ece(y, p)
    right = truecal.ece(y, p.loc[y.index])
    assert right == truecal.ece(y.to_numpy(), [0.2, 0.9, 0.7])
    assert truecal.ece(y, [0.2, 0.9, 0.7]) == right  # a list has no index


@pytest.mark.parametrize(
    ("scores", "hint"),
    [
        (np.full(200, -3.0), "these look like logits, or logarithms of probabilities"),
        (np.linspace(0, 100, 200), "these look like percentages"),
        (np.append(np.linspace(0, 1, 199), 1.2), None),
        (np.append(np.linspace(0, 1, 199), 40.0), None),
    ],
    ids=["negative", "percent", "just above", "one outlier"],
)
def test_hints_for_scores_that_are_no_probabilities(scores, hint):
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\]") as error:
        truecal.ece(np.arange(200) % 2, scores)
    assert (hint in str(error.value)) if hint else "Hint" not in str(error.value)
