"""What is given in the place of something else is named, with what belongs there."""

import numpy as np
import pytest

import truecal
from truecal import Rule

Y, P = np.array([0, 1] * 100), np.full(200, 0.3)
COLUMNS = {"y": Y, "p": P, "country": ["de", "fr"] * 100}
NAMES = {"label": "y", "score": "p"}


@pytest.fixture(scope="module")
def data():
    return truecal.read(COLUMNS, **NAMES, by="country")


@pytest.fixture(scope="module")
def result():
    return truecal.evaluate(Y, P, ["ltce", "ece"])


def test_plots_say_what_they_show(result):
    with pytest.raises(TypeError, match=r"`plot.calibration` takes a `Result`; this is ndarray") as caught:
        truecal.plot.calibration(Y, P)
    assert "`truecal.plot.calibration(truecal.evaluate(...))`" in str(caught.value)
    with pytest.raises(TypeError, match="`plot.models` takes results by name; this is Result"):
        truecal.plot.models(result)
    with pytest.raises(TypeError, match="takes a `ClassTable`; this is Result.*\n\n.*evaluate_classes.*table"):
        truecal.plot.classes(result)
    with pytest.raises(TypeError, match="takes a `Monitor`; this is Result"):
        truecal.plot.monitor(result)
    with pytest.raises(TypeError, match="takes a `Result`; this is nothing"):
        truecal.plot.save("a.png", "power")
    with pytest.raises(TypeError, match="keyword argument 'titel'.*\n\n.*'title'"):
        truecal.plot.save("a.png", "calibration", result, titel="a")


def test_plots_of_groups_show_all_with_zero(data):
    table = truecal.segments(data)
    ticks = [len(truecal.plot.segments(table, worst=worst).get_yticks()) for worst in (0, 1, 2, 20)]
    assert ticks == [2, 1, 2, 2]
    with pytest.raises(ValueError, match="`worst` must be a whole number, 0 or more; it is -1"):
        truecal.plot.segments(table, worst=-1)


def test_reports_take_tables_of_the_function_that_they_are_called_after(result, tmp_path):
    for name in ("segments", "slices", "drift", "recalibration", "comparison"):
        with pytest.raises(TypeError, match=f"`{name}` of a report must be a .*; it is Result"):
            truecal.report(result, tmp_path / "a.html", **{name: result})


def test_results_name_their_metrics(result):
    with pytest.raises(KeyError, match="'tce' must be one of the metrics that were computed: ltce, ece"):
        result["tce"]


def test_data_are_refused_before_the_names_of_columns(data):
    with pytest.raises(TypeError, match="Data must be a dataframe .*; they are list"):
        truecal.read([1, 2])
    with pytest.raises(TypeError, match="`slices` takes a dataframe or files; `Observations` do not"):
        truecal.slices(data)
    with pytest.raises(TypeError, match="`metrics` must be names, .*; it is 3"):
        truecal.evaluate(Y, P, 3)


def test_options_that_would_do_nothing_are_refused(data):
    for given, other in (({"every": "1w"}, "time"), ({"on": "id"}, "baseline"), ({"labels": ["a"]}, "multiclass")):
        with pytest.raises(ValueError, match=f"`{next(iter(given))}` needs `{other}`; that is missing"):
            truecal.read(COLUMNS, **NAMES, **given)
    assert truecal.read(COLUMNS, **NAMES, every=None, on=(), labels=None).n_rows == 200  # as they are by default
    with pytest.raises(ValueError, match="`now` needs `label_lag`; that is missing"):
        truecal.drift(data, now="2026-01-01")
    with pytest.raises(ValueError, match="`resamples` must be a whole number, 1 or more; it is 0"):
        truecal.compare(Y, P, P / 2, resamples=0)


def test_a_decision_is_true_if_it_passed(data):
    failed, passed = truecal.check(data), truecal.check(data, [Rule("dropped", 0.1)])
    assert (failed.status, bool(failed), failed.passed) == ("fail", False, False)
    assert (passed.status, bool(passed), passed.passed) == ("pass", True, True)
    unclear = truecal.check(truecal.read({"y": Y[:4], "p": [0.5] * 4}, **NAMES))
    assert (unclear.status, bool(unclear)) == ("inconclusive", False)


def test_the_significance_of_check_is_that_of_the_standard_rules(data):
    assert {rule.significance for rule in truecal.check(data).results.rule} == {0.01}
    assert {rule.significance for rule in truecal.check(data, significance=0.2).results.rule} == {0.2}
    with pytest.raises(TypeError, match="`significance` must be left out if rules are given"):
        truecal.check(data, [Rule("verdict")], significance=0.2)
    with pytest.raises(ValueError, match="`significance` must lie between 0 and 1; it is 2"):
        truecal.check(data, significance=2)
    with pytest.raises(TypeError, match="`rules` must be the path of a TOML file, or a list of `Rule`; it is 3"):
        truecal.check(data, 3)


def test_p_values_of_segments_are_adjusted_by_their_number(data):
    """As the docstring of `Rule` says."""
    (de, fr) = truecal.check(data, [Rule("p_value", 0.01, segment="*")]).results
    assert de.details.adjusted == fr.details.adjusted == 2
    whole = truecal.check(data, [Rule("p_value", 0.01)]).results[0]
    assert whole.details.adjusted == 1
