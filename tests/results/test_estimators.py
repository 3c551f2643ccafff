"""The models of the training sets: those whose predictions the result averages, fitted when they are asked for."""

import pickle

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

import onefit
from helpers import data, quietly
from onefit.errors import DataError

X, Y = data(60, 4, seed=3)
W = np.random.default_rng(1).uniform(0.2, 2.0, 60)
MODELS = {
    "ridge": Ridge(2.0),
    "pipeline": make_pipeline(StandardScaler(), Ridge(2.0)),
    "tree": DecisionTreeRegressor(max_depth=2, random_state=0),
    "additive": onefit.AdditiveModel([onefit.smooth(0), onefit.linear(1)], lam=1.0),
}


@pytest.mark.parametrize("name", MODELS)
def test_their_predictions_are_the_held_out_ones_on_every_route(name):
    result = quietly(
        onefit.nested_cv, MODELS[name], X, Y, n_folds=4, n_repeats=2, random_state=0, sample_weight=W,
        return_estimators=True,
    )  # fmt: skip
    found = result.estimators
    assert len(found) == 8
    total = np.zeros(60)
    for place, model in enumerate(found):
        test = found.test_rows(place)
        assert np.intersect1d(test, found.training_rows(place)).size == 0
        total[test] += model.predict(X[test]) / 2
    np.testing.assert_allclose(total, result.heldout["prediction"], rtol=1e-8)


def test_they_are_of_the_repeats_that_were_made_and_nothing_is_kept():
    result = quietly(onefit.nested_cv, MODELS["tree"], X, Y, n_folds=3, random_state=0, return_estimators=True)
    assert len(result.estimators) == 3 * result.n_repeats
    assert result.estimators[-1] is not result.estimators[-1]
    assert len(result.estimators[1:3]) == 2
    with pytest.raises(IndexError):
        result.estimators[len(result.estimators)]
    assert pickle.loads(pickle.dumps(result)).estimators is None
    assert "estimators" not in result.to_dict()


def test_models_of_a_comparison_have_theirs_and_without_being_asked_there_are_none():
    models = {"a": Ridge(1.0), "b": Ridge(9.0)}
    found = quietly(onefit.compare, models, X, Y, n_folds=3, n_repeats=1, random_state=0, return_estimators=True)
    assert found.results["b"].estimators[0].alpha == 9.0
    assert quietly(onefit.nested_cv, Ridge(), X, Y).estimators is None


def test_frozen_steps_and_rows_elsewhere_have_none():
    with pytest.raises(DataError, match="freeze"):
        onefit.nested_cv(MODELS["pipeline"], X, Y, transformers="freeze", return_estimators=True)


# ------------------------------------------------------------------------------------------------ metadata routing


def unweighted(model, folds, y, loss):
    """Weighted mean of held-out losses of fits that are not weighted."""
    total = 0.0
    for fold in np.unique(folds):
        test = folds == fold
        fitted = sklearn.base.clone(model).fit(X[~test], y[~test])
        total += W[test] @ loss(y[test], fitted.predict(X[test]))
    return total / W.sum()


@pytest.mark.parametrize(
    ("model", "y", "loss"),
    [
        (Ridge(2.0), Y, lambda y, p: (y - p) ** 2),
        (LogisticRegression(tol=1e-10), np.where(Y - np.median(Y) > 0, "a", "b"), lambda y, p: (y != p).astype(float)),
    ],
    ids=["ridge", "logistic"],
)
def test_a_fit_that_asks_for_no_weights_gets_none(model, y, loss):
    folds = np.arange(60) % 5
    with sklearn.config_context(enable_metadata_routing=True):
        asked = sklearn.base.clone(model).set_fit_request(sample_weight=False)
        result = quietly(onefit.nested_cv, asked, X, y, sample_weight=W, folds=folds)
        weighted = quietly(
            onefit.nested_cv, sklearn.base.clone(model).set_fit_request(sample_weight=True), X, y, sample_weight=W,
            folds=folds,
        )  # fmt: skip
    assert result.route == "refit"
    assert "asks for no sample_weight" in result.route_reason
    assert result.cv_estimate == pytest.approx(unweighted(model, folds, y, loss), rel=1e-10)
    assert weighted.route != "refit"


@pytest.mark.parametrize(
    "last", [Ridge(2.0), DecisionTreeRegressor(max_depth=2, random_state=0)], ids=["ridge", "tree"]
)
def test_a_pipeline_whose_steps_ask_for_no_weights_gets_none(last):
    folds = np.arange(60) % 5
    with sklearn.config_context(enable_metadata_routing=True):
        steps = StandardScaler(), sklearn.base.clone(last)
        asked = make_pipeline(*(step.set_fit_request(sample_weight=False) for step in steps))
        result = quietly(onefit.nested_cv, asked, X, Y, sample_weight=W, folds=folds)
    model = make_pipeline(StandardScaler(), last)
    assert result.route == "refit"
    assert result.cv_estimate == pytest.approx(unweighted(model, folds, Y, lambda y, p: (y - p) ** 2), rel=1e-10)


def test_workers_have_the_settings_of_whoever_asks():
    """Without them a worker's pipeline knows nothing of routing."""
    steps = StandardScaler(), DecisionTreeRegressor(max_depth=2, random_state=0)
    with sklearn.config_context(enable_metadata_routing=True):
        model = make_pipeline(*(step.set_fit_request(sample_weight=True) for step in steps))
        shared = {"sample_weight": W, "n_folds": 3, "n_repeats": 1, "random_state": 0}
        alone = quietly(onefit.nested_cv, model, X, Y, **shared)
        with joblib.parallel_config("threading"):  # threads have settings of their own, as processes have
            together = quietly(onefit.nested_cv, model, X, Y, n_jobs=2, **shared)
    assert together.estimate == alone.estimate
