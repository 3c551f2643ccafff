"""Deviances of predictions that are tiny beside what was observed: no residual has their digits."""

import numpy as np
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.linear_model import PoissonRegressor, Ridge
from sklearn.metrics import mean_poisson_deviance
from sklearn.model_selection import GridSearchCV, PredefinedSplit

from onefit import error_curve
from onefit.errors import DataError
from onefit.metrics.rowlosses import tweedie
from tests.helpers import quiet_nested_cv, quietly

rng = np.random.default_rng(5)
X = rng.normal(size=(40, 2))
X[-1] = [-9.0, -8.0]  # its prediction is about 1e-11
Y = rng.poisson(np.exp(0.5 + X @ [1.5, 1.3])).astype(float)
Y[-1] = 3.0
FOLDS = np.arange(40) % 4
ALPHAS = (1e-4, 0.05, 10.0)


def held_out_losses(model, y=Y):
    """Deviances of rows and predictions by refits."""
    losses, predicted = np.empty((2, len(y)))
    for fold in range(4):
        out = fold == FOLDS
        predicted[out] = model.fit(X[~out], y[~out]).predict(X[out])
    losses[:] = [mean_poisson_deviance([a], [b]) for a, b in zip(y, predicted, strict=True)]
    return losses, predicted


def precise(alpha):
    return PoissonRegressor(alpha=alpha, solver="newton-cholesky", tol=1e-12, max_iter=1000)


@pytest.mark.parametrize("route", ["auto", "refit"])
def test_a_curve_of_deviances_has_every_value_though_one_prediction_is_tiny(route):
    reference = [held_out_losses(precise(alpha)) for alpha in ALPHAS]
    assert reference[0][1].min() < 1e-9 < 1e-8 * Y[-1]
    options = {"cv": PredefinedSplit(FOLDS), "loss": "poisson_deviance", "route": route}
    curve = quietly(error_curve, precise(1.0), X, Y, param_name="alpha", param_range=ALPHAS, **options)
    means = [losses.mean() for losses, _ in reference]
    np.testing.assert_allclose(curve.scores["kfold"], means, rtol=1e-7)


@pytest.mark.parametrize(
    "model",
    [
        GridSearchCV(precise(1.0), {"alpha": [1e-4, 1e-3]}, cv=3),
        TransformedTargetRegressor(Ridge(1e-3), func=np.log, inverse_func=np.exp),
    ],
    ids=["search", "target"],
)
def test_searches_and_transformed_targets_have_tiny_predictions_too(model):
    y = Y
    if isinstance(model, TransformedTargetRegressor):
        y = np.exp(4 * (X @ [1.5, 1.3])) + 1e-12
        y[-1] = 3.0
    losses, predicted = held_out_losses(model, y)
    assert (predicted < 1e-8 * y).any()
    result = quiet_nested_cv(model, X, y, cv=PredefinedSplit(FOLDS), loss="poisson_deviance")
    assert result.route != "refit"
    np.testing.assert_allclose(result.heldout["loss"], losses, rtol=1e-7)
    np.testing.assert_allclose(result.heldout["prediction"], predicted, rtol=1e-7, atol=1e-12)


def test_predictions_that_are_zero_are_refused_with_what_helps():
    loss, one = tweedie(1.0).of_predictions(), np.ones((1, 1))
    np.testing.assert_allclose(loss.of(one, -1e-30 * one), 2 * (np.log(1e30) - 1), rtol=1e-14)
    np.testing.assert_array_equal(loss.of(0 * one, 0 * one), 0.0)
    with pytest.raises(DataError, match=r"so small that they are zero.*larger penalty"):
        loss.of(one, 0 * one)
    with pytest.raises(DataError, match="Use a model that keeps to them"):
        loss.of(one, one)
