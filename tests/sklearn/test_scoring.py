import pickle

import numpy as np
import pytest

import truecal
from truecal.sklearn import CalibrationScorer


@pytest.fixture
def problem(rng):
    x = rng.normal(size=(1200, 3))
    y = (rng.random(1200) < 1 / (1 + np.exp(-x[:, 0]))).astype(int)
    return x, y


@pytest.mark.parametrize("name", ["tce", "ece", "ace", "mce", "rmsce"])
def test_scorers_work_in_cross_validation(need, problem, name):
    linear_model, selection = need("sklearn.linear_model"), need("sklearn.model_selection")
    x, y = problem
    scorer = getattr(truecal.sklearn, f"{name}_scorer")
    model = linear_model.LogisticRegression()
    scores = selection.cross_val_score(model, x, y, scoring=scorer, cv=3)
    for (train, test), score in zip(selection.StratifiedKFold(3).split(x, y), scores, strict=True):
        p = linear_model.LogisticRegression().fit(x[train], y[train]).predict_proba(x[test])[:, 1]
        assert score == -getattr(truecal, name)(y[test], p)


@pytest.mark.slow
def test_grid_search_prefers_the_calibrated_model(need, problem):
    """One neighbour answers 0 or 1 and is wrong often; a hundred give rates."""
    neighbors, selection = need("sklearn.neighbors"), need("sklearn.model_selection")
    x, y = problem
    for best in ("tce", "ece"):
        search = selection.GridSearchCV(
            neighbors.KNeighborsClassifier(),
            {"n_neighbors": [1, 100]},
            scoring={"tce": truecal.sklearn.tce_scorer, "ece": truecal.sklearn.ece_scorer},
            refit=best,
            n_jobs=2,
        ).fit(x, y)
        assert search.best_params_ == {"n_neighbors": 100}
        assert (search.cv_results_[f"mean_test_{best}"] < 0).all()


def test_labels_of_any_kind_and_pos_label(need, problem):
    linear_model = need("sklearn.linear_model")
    x, y = problem
    words = np.where(y == 1, "yes", "no")
    model = linear_model.LogisticRegression().fit(x, words)
    p = model.predict_proba(x)
    assert truecal.sklearn.tce_scorer(model, x, words) == -truecal.tce(y, p[:, 1])
    other = CalibrationScorer(truecal.metrics.METRICS["ece"], pos_label="no")
    assert other(model, x, words) == -truecal.ece(1 - y, p[:, 0])
    weight = np.arange(len(y)) % 3
    assert truecal.sklearn.tce_scorer(model, x, words, sample_weight=weight) == -truecal.tce(
        y, p[:, 1], sample_weight=weight
    )
    with pytest.raises(ValueError, match="`pos_label` must be one of the classes"):
        CalibrationScorer(truecal.metrics.METRICS["ece"], pos_label="maybe")(model, x, words)


def test_the_most_probable_of_several_classes_is_judged(need, rng):
    linear_model = need("sklearn.linear_model")
    x = rng.normal(size=(900, 2))
    y = np.array(["a", "b", "c"])[(x[:, 0] + rng.normal(size=900)).round().clip(-1, 1).astype(int) + 1]
    model = linear_model.LogisticRegression().fit(x, y)
    p = model.predict_proba(x)
    assert truecal.sklearn.tce_scorer(model, x, y) == -truecal.tce(model.predict(x) == y, p.max(axis=1))


def test_a_model_without_probabilities_is_refused():
    with pytest.raises(TypeError, match=r"needs probabilities; object has no `predict_proba`"):
        truecal.sklearn.tce_scorer(object(), [[0]], [0])


def test_a_model_of_one_class_is_named(need):
    dummy = need("sklearn.dummy")
    model = dummy.DummyClassifier().fit([[0], [1]], ["ok", "ok"])
    with pytest.raises(ValueError, match="must know two classes or more; it was fitted on 'ok' alone"):
        truecal.sklearn.tce_scorer(model, [[0], [1]], ["ok", "ok"])


def test_other_things_are_no_scorers():
    with pytest.raises(TypeError, match="A metric must be a `Metric"):
        CalibrationScorer(truecal.tce)


def test_scorers_travel_to_other_processes():
    assert pickle.loads(pickle.dumps(truecal.sklearn.tce_scorer)) == truecal.sklearn.tce_scorer


@pytest.fixture
def routing(need):
    sklearn = need("sklearn")
    with sklearn.config_context(enable_metadata_routing=True):
        yield need("sklearn.model_selection")


def weighted(selection, model, x, y, weight):
    """The scores of three folds with weights, each fold fitted without them."""
    scores = []
    for train, test in selection.StratifiedKFold(3).split(x, y):
        p = model.fit(x[train], y[train]).predict_proba(x[test])[:, 1]
        scores.append(-truecal.tce(y[test], p, sample_weight=weight[test]))
    return scores


@pytest.mark.parametrize("name", ["sample_weight", "importance_weight"])
def test_weights_are_routed_to_the_scorer(need, routing, problem, name):
    x, y = problem
    model, weight = (
        need("sklearn.linear_model").LogisticRegression().set_fit_request(sample_weight=False),
        np.arange(len(y)) % 3,
    )
    scorer = truecal.sklearn.tce_scorer.set_score_request(sample_weight=True if name == "sample_weight" else name)
    scoring = {"weighted": scorer, "plain": truecal.sklearn.tce_scorer.set_score_request(sample_weight=False)}
    found = routing.cross_validate(model, x, y, scoring=scoring, cv=3, params={name: weight})
    assert found["test_weighted"].tolist() == weighted(routing, model, x, y, weight)
    assert found["test_plain"].tolist() == weighted(routing, model, x, y, np.ones_like(y))
    assert found["test_weighted"].tolist() != found["test_plain"].tolist()
    alone = routing.cross_validate(model, x, y, scoring=scorer, cv=3, params={name: weight})
    assert alone["test_score"].tolist() == found["test_weighted"].tolist()


def test_weights_that_nobody_asked_for_are_refused(need, routing, problem):
    x, y = problem
    model = need("sklearn.linear_model").LogisticRegression().set_fit_request(sample_weight=False)
    with pytest.raises(ValueError, match="sample_weight.* not explicitly set as requested or not requested"):
        routing.cross_validate(
            model, x, y, scoring=truecal.sklearn.tce_scorer, cv=3, params={"sample_weight": np.ones(len(y))}
        )
    assert truecal.sklearn.tce_scorer.weight is None  # asking makes a new scorer
    with pytest.raises(TypeError, match="sample_wieght"):
        truecal.sklearn.tce_scorer.set_score_request(sample_wieght=True)
