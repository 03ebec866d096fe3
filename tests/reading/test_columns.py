"""Columns by their names, then by their values; and what is unclear is not guessed."""

import pytest

import truecal
from truecal.reading._columns import check_swapped, find_kinds

polars = pytest.importorskip("polars")
pytest.importorskip("narwhals")

LABEL, SCORE = [0, 1, 0, 1], [0.5, 0.25, 0.125, 1.0]


def guess(columns, **options):
    found = truecal.reading.infer_columns(polars.DataFrame(columns), **options)
    return found.label, *found.scores


@pytest.mark.parametrize("label", ["y", "label", "target", "y_true", "outcome", "Target", "YTrue", "y true"])
@pytest.mark.parametrize(
    "score", ["p", "prob", "score", "y_prob", "prediction", "Y_Prob", "yProb", "predicted probability"]
)
def test_names_come_first(label, score):
    columns = {"flag": [1, 1, 0, 0], label: LABEL, "discount": [0.1, 0.2, 0.3, 0.4], score: SCORE}
    assert guess(columns) == (label, score)


def test_values_come_next():
    assert guess({"id": [1, 2, 3, 4], "churned": LABEL, "risk": SCORE}) == ("churned", "risk")
    assert guess({"won": [True, False, True, False], "chance": SCORE, "name": list("abcd")}) == ("won", "chance")
    assert guess({"y": ["yes", "no", "no", "yes"], "risk": SCORE}) == ("y", "risk")
    assert guess({"y": LABEL, "model_score": SCORE, "share": SCORE}) == ("y", "model_score")


def test_labels_that_are_all_negative_at_first_are_labels():
    assert guess({"y": [0, 0, 0, 0], "p": SCORE}) == ("y", "p")


def test_a_named_column_of_the_wrong_kind_is_no_candidate():
    assert guess({"y": SCORE, "fraud": LABEL, "p_fraud": SCORE}) == ("fraud", "p_fraud")
    assert guess({"y": LABEL, "y_pred": LABEL, "risk": SCORE}) == ("y", "risk")


def test_scores_out_of_range_are_left_for_evaluate_to_refuse():
    assert guess({"y": LABEL, "score": [-1.5, 2.0, 0.5, 3.0]}) == ("y", "score")


def test_what_is_given_stays():
    columns = {"a": LABEL, "b": LABEL, "c": SCORE, "d": SCORE}
    assert guess(columns, label="a", score="c") == ("a", "c")
    found = truecal.reading.infer_columns(polars.DataFrame({"a": LABEL, "c": SCORE, "d": SCORE}), score=["d"])
    assert (found.label, found.scores, found.inferred) == ("a", ("d",), ("label",))


def test_other_candidates_are_told():
    found = truecal.reading.infer_columns(polars.DataFrame({"y": LABEL, "p": SCORE, "q": SCORE}))
    assert (found.scores, found.inferred, found.others) == (("p",), ("label", "score"), ("q",))


def test_recalibrated_predictions_come_before_the_original_ones():
    frame = polars.DataFrame({"y": LABEL, "p": SCORE, "p_recalibrated": SCORE})
    found = truecal.reading.infer_columns(frame)
    assert (found.scores, found.others) == (("p_recalibrated",), ("p",))
    assert truecal.reading.infer_columns(frame, models=2).scores == ("p", "p_recalibrated")


def test_two_models_are_found_where_there_are_two():
    assert guess({"y": LABEL, "p": SCORE, "q": SCORE}, models=2) == ("y", "p", "q")
    with pytest.raises(
        truecal.reading.AmbiguousColumnsError, match="two columns must be meant, and these could be: 'a', 'b', 'c'"
    ):
        guess({"y": LABEL, "a": SCORE, "b": SCORE, "c": SCORE}, models=2)


def test_what_is_unclear_is_an_error_with_its_candidates():
    with pytest.raises(truecal.reading.AmbiguousColumnsError, match="one column must be meant") as caught:
        guess({"a": LABEL, "b": LABEL, "c": SCORE})
    assert (caught.value.role, caught.value.candidates) == ("label", ("a", "b"))
    with pytest.raises(truecal.reading.AmbiguousColumnsError, match="none does") as caught:
        guess({"y": LABEL, "k": [1, 2, 3, 4]})
    assert (caught.value.role, caught.value.candidates) == ("score", ())


def test_files_and_other_engines_are_looked_at_too(tmp_path, need):
    frame = polars.DataFrame({"y": LABEL, "p": SCORE})
    frame.write_csv(tmp_path / "a.csv")
    for data in (tmp_path / "a.csv", frame.lazy(), need("pandas").DataFrame({"y": LABEL, "p": SCORE})):
        assert truecal.reading.infer_columns(data).scores == ("p",)
        assert find_kinds(data) == {"y": "binary", "p": "fraction"}


def test_columns_of_nothing_are_nothing():
    nothing = polars.Series([None] * 4, dtype=polars.Float64)
    assert (
        find_kinds(polars.DataFrame({"a": nothing, "b": [[1]] * 4, "c": list("abcd"), "d": [float("nan")] * 4})) == {}
    )


def test_swapped_columns_are_refused():
    frame = polars.DataFrame({"y": LABEL, "p": SCORE})
    check_swapped(find_kinds(frame), "y", ["p"])
    with pytest.raises(
        ValueError, match="`label` and `score` seem to be swapped: 'p' holds fractions, 'y' only 0 and 1"
    ):
        check_swapped(find_kinds(frame), "p", ["y"])


def test_the_one_column_of_dates_or_times_is_guessed(tmp_path):
    from datetime import UTC, date, datetime

    day, moment = [date(2026, 1, 31)], [datetime(2026, 1, 31, 12)]
    assert truecal.reading.infer_time(polars.DataFrame({"y": [1], "day": day})) == "day"
    assert truecal.reading.infer_time(polars.DataFrame({"y": [1], "at": moment}).lazy()) == "at"
    assert truecal.reading.infer_time(polars.DataFrame({"y": [1], "at": [datetime(2026, 1, 31, tzinfo=UTC)]})) == "at"
    (tmp_path / "a.csv").write_text("y,at,name\n1,2026-01-31T12:00:00,x\n")
    assert truecal.reading.infer_time(tmp_path / "a.csv") == "at"
    with pytest.raises(
        truecal.reading.AmbiguousColumnsError, match="`time` cannot be guessed: .* these could be: 'day', 'at'"
    ):
        truecal.reading.infer_time(polars.DataFrame({"day": day, "at": moment}))
    with pytest.raises(
        truecal.reading.AmbiguousColumnsError, match="a column must look like dates or times; of 'y', 'p' none does"
    ):
        truecal.reading.infer_time(polars.DataFrame({"y": [1], "p": [0.5]}))


def test_one_score_where_two_are_wanted_is_named(need):
    pl = need("polars")
    frame = pl.DataFrame({"y": [0, 1, 0], "p": [0.1, 0.7, 0.2]})
    with pytest.raises(truecal.reading.AmbiguousColumnsError, match="two columns must look like .*; only 'p' does"):
        truecal.reading.infer_columns(frame, models=2)


def test_percentages_are_named_where_no_score_is_found():
    columns = {"age": [17, 30, 99, 20], "churned": LABEL, "risk": [12.5, 80.0, 0.5, 100.0]}
    message = "none does.\n\nHint: 'risk' may hold percentages; `score_scale=\"percent\"` reads them as such."
    with pytest.raises(truecal.reading.AmbiguousColumnsError) as caught:
        guess(columns)
    assert str(caught.value).endswith(message)
    assert list(caught.value.near) == ["risk"]
    assert find_kinds(polars.DataFrame(columns)) == {"age": "number", "churned": "binary", "risk": "percentage"}
    assert guess({"y": LABEL, "score": columns["risk"]}) == ("y", "score")  # for evaluate to refuse
    assert guess(columns, score_scale="percent") == ("churned", "risk")
    with pytest.raises(ValueError, match="`score_scale` must be .probability., .percent. or .logit.; it is 'odds'"):
        guess(columns, score_scale="odds")


def test_one_value_above_1_makes_no_percentages():
    columns = {"churned": LABEL, "risk": [0.5, 0.25, 1.2, 0.125], "other": [0.5, 0.25, 40.0, 0.125]}
    assert find_kinds(polars.DataFrame(columns)) == {"churned": "binary", "risk": "number", "other": "number"}


def test_columns_of_two_values_are_named_where_no_label_is_found():
    columns = {"id": [1, 2, 3, 4], "won": ["yes", "no", None, "no"], "side": [-1, 1, 1, -1], "risk": SCORE}
    message = (
        "\n\nHint: 'won' holds 'no' and 'yes', 'side' holds -1 and 1; if these are labels, give the column as `label`"
    )
    with pytest.raises(truecal.reading.AmbiguousColumnsError) as caught:
        guess(columns)
    assert f"{message} and the positive one as `pos_label`." in str(caught.value)
    assert caught.value.near == {"won": ["no", "yes"], "side": [-1, 1]}
    with pytest.raises(
        truecal.reading.AmbiguousColumnsError
    ) as caught:  # where the choice is between others, they are no help
        guess({**columns, "a": LABEL, "b": LABEL})
    assert caught.value.near == {}
