"""TransformedTargetRegressor: fits to a function of y, on the fast routes as by refits."""

import numpy as np
import pytest
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import (
    BayesianRidge,
    ElasticNet,
    Lasso,
    LassoCV,
    LinearRegression,
    PoissonRegressor,
    Ridge,
    RidgeCV,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, PowerTransformer, StandardScaler

import onefit
from helpers import quiet_nested_cv, quietly
from onefit.errors import OneFitError

SETTINGS = {"n_folds": 4, "n_repeats": 2, "random_state": 0}
LOG = {"func": np.log, "inverse_func": np.exp}


def positive(n=60, outputs=None):
    """Columns, the last of few levels, and positive responses."""
    rng = np.random.default_rng(0)
    X = np.c_[rng.normal(size=(n, 2)), rng.integers(0, 4, n)]
    y = np.exp(X @ [[0.4], [-0.2], [0.3]] + 0.3 * rng.normal(size=(n, outputs or 1)))
    return X, y if outputs else y[:, 0]


def encoded(last):
    columns = make_column_transformer((StandardScaler(), [0, 1]), (OneHotEncoder(sparse_output=False), [2]))
    return make_pipeline(columns, last)


FAST = {
    "around a ridge": TransformedTargetRegressor(Ridge(), **LOG),
    "around least squares": TransformedTargetRegressor(**LOG),
    "around a pipeline": TransformedTargetRegressor(encoded(Ridge()), func=np.log1p, inverse_func=np.expm1),
    "inside a pipeline": encoded(TransformedTargetRegressor(Ridge(), **LOG)),
    "functions of its own": TransformedTargetRegressor(Ridge(), func=lambda y: y**0.5, inverse_func=lambda t: t**2),
    "tuned inside": TransformedTargetRegressor(RidgeCV([0.1, 1.0, 10.0]), **LOG),
    "a scaler of y": TransformedTargetRegressor(Ridge(), transformer=StandardScaler()),
    "nothing": TransformedTargetRegressor(Ridge()),
}


def compared(model, X, y, **keywords):
    """The same job without refits and with them, which must agree."""
    fast, slow = (quiet_nested_cv(model, X, y, route=route, **SETTINGS, **keywords) for route in ("auto", "refit"))
    for name in ("estimate", "cv_estimate", "raw_estimate", "standard_error"):
        np.testing.assert_allclose(getattr(fast, name), getattr(slow, name), rtol=1e-9)
    np.testing.assert_allclose(fast.heldout.to_numpy(), slow.heldout.to_numpy(), rtol=1e-9)
    return fast


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
@pytest.mark.parametrize("name", FAST)
def test_a_transformed_target_is_that_of_refits(name, loss):
    assert compared(FAST[name], *positive(), loss=loss).route != "refit"


def test_leave_two_out_is_not_tried_with_another_target():
    X, y = positive(30)
    folds = np.arange(30)
    fast, slow = (quiet_nested_cv(FAST["around a ridge"], X, y, folds=folds, route=r) for r in ("auto", "refit"))
    assert fast.estimate == pytest.approx(slow.estimate, rel=1e-9)


def test_several_outputs():
    assert compared(FAST["around a ridge"], *positive(outputs=2)).route != "refit"


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (TransformedTargetRegressor(Ridge(fit_intercept=False), transformer=StandardScaler()), "shift of y"),
        (TransformedTargetRegressor(Ridge(), transformer=PowerTransformer()), "learns from the target"),
        (
            TransformedTargetRegressor(Ridge(), func=lambda y: y / y.max(), inverse_func=lambda t: t),
            "more than one value",
        ),
        (
            TransformedTargetRegressor(
                Ridge(), func=np.log, inverse_func=lambda t: np.exp(t + 0.1), check_inverse=False
            ),
            "does not undo",
        ),
    ],
    ids=["no intercept", "learns", "sees all", "no inverse"],
)
def test_what_is_not_the_same_in_every_training_set_is_refitted(model, reason):
    fast = compared(model, *positive())
    assert fast.route == "refit"
    assert reason in fast.route_reason


def test_functions_that_treat_outputs_differently_are_refitted():
    model = TransformedTargetRegressor(
        LinearRegression(), func=lambda Y: Y * np.array([1.0, 10.0]), inverse_func=lambda T: T / np.array([1.0, 10.0])
    )
    assert compared(model, *positive(outputs=2)).route == "refit"


TIGHT = {"tol": 1e-13, "max_iter": 100_000}


@pytest.mark.parametrize(
    ("inner", "outputs", "reason"),
    [
        (Lasso(0.05, **TIGHT), None, "units of y"),
        (ElasticNet(0.05, **TIGHT), None, "units of y"),
        (LassoCV(alphas=[0.01, 0.1], cv=3, **TIGHT), None, "units of y"),
        (GridSearchCV(Lasso(**TIGHT), {"alpha": [0.01, 0.1]}, cv=3), None, "units of y"),
        (encoded(Lasso(0.05, **TIGHT)), None, "units of y"),
        (BayesianRidge(lambda_1=10.0), None, "units of y"),
        (GridSearchCV(PoissonRegressor(), {"alpha": [0.01, 0.1]}, cv=3), None, "shift of y"),
        (RidgeCV([0.01, 100.0]), 2, "all outputs together"),
        (onefit.PenalizedRegression(lam="gcv"), 2, "all outputs together"),
        (PLSRegression(1, scale=False), 2, "all outputs together"),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else "",
)
def test_what_minds_the_units_of_y_is_refitted(inner, outputs, reason):
    X, y = positive(outputs=outputs)
    y = y * [1e3, 1.0] if outputs else 5 * y  # a lasso did not mind: 20% off
    scaler = MaxAbsScaler() if isinstance(inner, GridSearchCV) else StandardScaler()
    fast = compared(TransformedTargetRegressor(inner, transformer=scaler), X, y)
    assert fast.route == "refit"
    assert reason in fast.route_reason


@pytest.mark.parametrize(
    ("inner", "outputs"),
    [
        (LassoCV(eps=1e-2, cv=3, **TIGHT), None),
        (RidgeCV([0.01, 1.0, 100.0]), None),
        (GridSearchCV(Ridge(), {"alpha": [0.01, 100.0]}, cv=3, scoring="neg_mean_absolute_error"), None),
        (PLSRegression(1), None),
        (onefit.PenalizedRegression(lam="reml"), None),
        (Ridge([0.1, 5.0]), 2),
        (encoded(Ridge()), 2),
        (make_pipeline(StandardScaler(), Ridge()), 2),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else "",
)
def test_what_goes_by_the_units_of_y_takes_no_refits(inner, outputs):
    X, y = positive(outputs=outputs)
    assert compared(TransformedTargetRegressor(inner, transformer=StandardScaler()), X, 5 * y).route != "refit"


def test_a_curve_over_the_penalty_inside():
    X, y = positive()
    for model, name in ((FAST["around a ridge"], "regressor__alpha"), (FAST["inside a pipeline"], None)):
        path = name or "transformedtargetregressor__regressor__alpha"
        both = [
            quietly(
                onefit.error_curve, model, X, y, param_name=path, param_range=[0.1, 1.0, 10.0], route=route, **SETTINGS
            )
            for route in ("auto", "refit")
        ]
        assert both[0].results[0].route != "refit"
        np.testing.assert_allclose(both[0].estimate, both[1].estimate, rtol=1e-9)
        assert both[0].scores[["gcv", "loo", "reml"]].isna().all(axis=None)  # they would be of the logarithm


def test_a_logarithm_of_what_is_not_positive_is_an_error_either_way():
    X, y = positive()
    for route in ("auto", "refit"):
        with pytest.raises((OneFitError, ValueError)):
            quiet_nested_cv(FAST["around a ridge"], X, y - y.min(), route=route, **SETTINGS)
