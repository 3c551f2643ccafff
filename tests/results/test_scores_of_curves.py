"""The scores of a curve are those of the model itself, or there are none and it says why."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import HuberRegressor, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import onefit
from helpers import quietly
from onefit import FPCR, PenalizedRegression
from onefit.datasets import make_signal


def leave_one_out(model, X, y, weights=None):
    """Mean weighted squared error of every row, predicted by a fit to the others."""
    total = 0.0
    for i in range(len(y)):
        others = np.arange(len(y)) != i
        extra = {} if weights is None else {"sample_weight": weights[others]}
        predicted = clone(model).fit(X[others], y[others], **extra).predict(X[[i]])
        total += (1.0 if weights is None else weights[i]) * (y[i] - predicted[0]) ** 2
    return total / len(y)


def uneven(n=30, p=4):
    """Columns of which single rows make much of the deviation, so that scales differ between training sets."""
    rng = np.random.default_rng(5)
    X = rng.standard_t(2.5, size=(n, p))
    return X, X @ rng.normal(size=p) + rng.normal(size=n)


def test_leave_one_out_of_scaled_columns_is_that_of_the_pipeline():
    X, y = uneven()
    alphas = [0.1, 3.0, 50.0]
    pipeline = make_pipeline(StandardScaler(), Ridge())
    curve = onefit.error_curve(pipeline, X, y, param_name="ridge__alpha", param_range=alphas, n_folds=5, n_repeats=1)
    expected = [leave_one_out(clone(pipeline).set_params(ridge__alpha=alpha), X, y) for alpha in alphas]
    np.testing.assert_allclose(curve.scores["loo"], expected, rtol=1e-10)
    # the score of a smoother whose scales are those of all rows, which once stood there, is another number
    fixed = [leave_one_out(Ridge(alpha), StandardScaler().fit_transform(X), y) for alpha in alphas]
    assert np.abs(np.array(fixed) / expected - 1).max() > 1e-3


@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_of_components_that_are_found_anew_is_that_of_the_model(weighted):
    sim = make_signal(24, random_state=0)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 24) if weighted else None
    model = FPCR(n_basis=12, n_components=3, components="refit")
    lams = [1e-6, 1e-3]
    curve = onefit.error_curve(
        model, sim.X, sim.y, param_name="lam", param_range=lams, n_folds=4, n_repeats=1, sample_weight=weights
    )
    expected = [leave_one_out(clone(model).set_params(lam=lam), sim.X, sim.y, weights) for lam in lams]
    np.testing.assert_allclose(curve.scores["loo"], expected, rtol=1e-8)


def test_gcv_and_reml_of_scaled_columns_are_those_of_the_fit_on_all_rows():
    X, y = uneven()
    curve = onefit.error_curve(
        make_pipeline(StandardScaler(), Ridge()), X, y, param_name="ridge__alpha", param_range=[0.1, 1.0], n_folds=5,
        n_repeats=1,
    )  # fmt: skip
    fitted = [PenalizedRegression(lam=lam).fit(StandardScaler().fit_transform(X), y) for lam in (0.1, 1.0)]
    for score in ("gcv", "reml"):
        np.testing.assert_allclose(curve.scores[score], [model.scores_[score] for model in fitted], rtol=1e-10)
    np.testing.assert_allclose(curve.edf, [model.edf_ for model in fitted], rtol=1e-10)


def test_scores_that_a_model_does_not_have_are_missing_with_a_reason():
    X, y = uneven()
    path = {"param_name": "alpha", "param_range": [0.1, 1.0]}
    curve = quietly(onefit.error_curve, HuberRegressor(), X, y, **path, n_folds=5, n_repeats=1)
    assert curve.scores[["loo", "gcv", "reml"]].isna().all(axis=None)
    assert curve.edf is None
    assert "linear smoothers only" in curve.scores.attrs["reasons"]["loo"]
    with pytest.raises(onefit.errors.DataError, match="linear smoothers only"):
        curve.select("gcv")


def test_leave_one_out_that_would_take_too_long_is_missing_with_a_reason(monkeypatch):
    X, y = uneven()
    monkeypatch.setattr("onefit.routes.learned.MOST_WORK", 10.0)
    curve = onefit.error_curve(
        make_pipeline(StandardScaler(), Ridge()), X, y, param_name="ridge__alpha", param_range=[0.1, 1.0], n_folds=5,
        n_repeats=1,
    )  # fmt: skip
    assert curve.scores["loo"].isna().all()
    assert curve.scores["gcv"].notna().all()
    assert "too long" in curve.scores.attrs["reasons"]["loo"]


def test_a_smoother_has_all_scores_and_no_reasons():
    X, y = uneven()
    curve = onefit.error_curve(Ridge(), X, y, param_name="alpha", param_range=[0.1, 1.0])
    assert curve.scores.notna().all(axis=None)
    assert curve.scores.attrs["reasons"] == {}
    np.testing.assert_allclose(curve.scores["loo"], [leave_one_out(Ridge(a), X, y) for a in (0.1, 1.0)], rtol=1e-10)
