"""Values of a curve that cannot be fitted are data: missing with a reason, found in one pass, and spoil no other."""

import itertools

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.linear_model import LinearRegression, PoissonRegressor, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import onefit
from helpers import quietly
from onefit.errors import (
    DataError,
    FailedModelWarning,
    LossOverflowError,
    RefitError,
    RouteError,
    TrainingSetError,
)

FITS = []


class Fragile(RegressorMixin, BaseEstimator):
    """The mean times a factor; some factors cannot be fitted."""

    def __init__(self, factor=1.0, bad=()):
        self.factor, self.bad = factor, bad

    def fit(self, X, y):
        FITS.append(self.factor)
        if self.factor in self.bad:
            raise ValueError(f"no fit with {self.factor}")
        self.mean_ = float(np.mean(y))
        return self

    def predict(self, X):
        return np.full(len(X), self.factor * self.mean_)


def data(n=40, p=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    return X, X @ np.ones(p) + 3.0 + rng.normal(size=n)


def assert_same_curve(curve, alone, kept):
    """What is kept is what a curve of these values alone has."""
    for name in ("estimate", "low", "high", "standard_error"):
        np.testing.assert_allclose(getattr(curve, name)[kept], getattr(alone, name), rtol=1e-9)
        np.testing.assert_allclose(
            getattr(curve.difference, name)[kept], getattr(alone.difference, name), rtol=1e-7, atol=1e-12
        )
    assert kept[alone.best] == curve.best


@pytest.mark.parametrize("n_jobs", [None, pytest.param(2, marks=pytest.mark.slow)])
def test_failing_refits_are_found_in_one_pass(n_jobs):
    X, y = data()
    factors = np.linspace(0.6, 1.4, 9)
    bad = tuple(float(f) for f in factors[[0, 2, 4, 5, 8]])
    options = {"param_name": "factor", "n_folds": 10, "n_repeats": 1, "random_state": 0}
    reports = []
    FITS.clear()
    curve = onefit.error_curve(
        Fragile(bad=bad), X, y, param_range=factors, progress=lambda *at: reports.append(at), n_jobs=n_jobs, **options
    )
    if n_jobs is None:
        assert len(FITS) == 9 * 55
    assert reports[0] == (0, 9 * 55)
    assert reports[-1] == (9 * 55, 9 * 55)
    assert all(a[0] <= b[0] for a, b in itertools.pairwise(reports))  # counted once
    assert [bool(reason) for reason in curve.reasons] == [f in bad for f in factors]
    assert "no fit with 0.6" in curve.reasons[0]
    kept = [1, 3, 6, 7]
    alone = onefit.error_curve(Fragile(), X, y, param_range=factors[kept], **options)
    assert_same_curve(curve, alone, kept)
    assert np.isnan(curve.estimate[[0, 2, 4, 5, 8]]).all()
    assert [result is None for result in curve.results] == [f in bad for f in factors]


class FailsOnRow(Fragile):
    """Fails only if a certain row is held out: first in a later repeat, perhaps."""

    def fit(self, X, y):
        FITS.append(self.factor)
        if self.factor in self.bad and not (X[:, 0] == X[:, 0].max()).sum() == 2:
            raise ValueError("a row is missing")
        self.mean_ = float(np.mean(y))
        return self


def test_a_value_that_fails_is_fitted_no_more_in_later_repeats():
    X, y = data()
    X[7, 0] = X[8, 0] = 10.0  # in one fold or in two, both are held out in some pairs
    FITS.clear()
    curve = onefit.error_curve(
        FailsOnRow(bad=(0.8,)), X, y, param_name="factor", param_range=[0.8, 1.0], n_folds=5, n_repeats=4,
        random_state=0,
    )  # fmt: skip
    assert FITS.count(1.0) == 4 * 15
    assert FITS.count(0.8) == 15
    assert "a row is missing" in curve.reasons[0]
    assert curve.best == 1


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_bits_do_not_depend_on_jobs_if_a_value_fails(n_jobs):
    X, y = data()
    X = np.c_[X, np.arange(40) < 2]  # a column that a training set may lose: least squares then fails in some repeats
    options = {"param_name": "alpha", "param_range": [0.0, 0.1, 1.0], "n_folds": 8, "n_repeats": 6, "random_state": 0}
    one = onefit.error_curve(Ridge(), X, y, route="gram", **options)
    two = onefit.error_curve(Ridge(), X, y, route="gram", n_jobs=n_jobs, **options)
    assert one.reasons[0]
    assert "cannot be fitted" in one.reasons[0]
    assert one.reasons == two.reasons
    for name in ("estimate", "low", "high"):
        assert np.array_equal(getattr(one, name), getattr(two, name), equal_nan=True)
        assert np.array_equal(getattr(one.difference, name), getattr(two.difference, name), equal_nan=True)


@pytest.mark.parametrize(("route", "n_folds"), [("gram", 8), ("onestep", 8), ("onestep", "n")])
def test_a_fast_curve_is_that_of_the_values_that_can_be_fitted(route, n_folds):
    X, y = data()
    X = np.c_[X, np.arange(40) == 7]  # without row 7 the column is lost
    options = {"param_name": "alpha", "n_folds": n_folds, "n_repeats": 3, "random_state": 0, "route": route}
    curve = onefit.error_curve(Ridge(), X, y, param_range=[0.0, 0.1, 1.0], **options)
    alone = onefit.error_curve(Ridge(), X, y, param_range=[0.1, 1.0], **options)
    assert curve.reasons[0]
    assert curve.reasons[1:] == ("", "")
    assert_same_curve(curve, alone, [1, 2])


def test_scaled_columns_fail_at_no_penalty_alone():
    X, y = data()
    X = np.c_[X, X[:, 0] + X[:, 1]]  # dependent in every training set
    pipeline = make_pipeline(StandardScaler(), Ridge())
    options = {"param_name": "ridge__alpha", "n_folds": 5, "n_repeats": 1, "random_state": 0}
    curve = onefit.error_curve(pipeline, X, y, param_range=[0.0, 0.1, 1.0], **options)
    alone = onefit.error_curve(pipeline, X, y, param_range=[0.1, 1.0], **options)
    assert "linear combinations" in curve.reasons[0]
    assert_same_curve(curve, alone, [1, 2])


def test_what_fails_at_every_value_is_raised():
    X, y = data()
    with pytest.raises(RefitError, match="no fit with"):
        onefit.error_curve(
            Fragile(bad=(1.0, 2.0)), X, y, param_name="factor", param_range=[1.0, 2.0], n_folds=4, n_repeats=1
        )
    with pytest.raises(TrainingSetError, match="n_neighbors"):
        onefit.error_curve(
            KNeighborsRegressor(), X, y, param_name="n_neighbors", param_range=[60, 70], n_folds=4, n_repeats=1
        )
    with pytest.raises(TrainingSetError, match="linear combinations"):
        onefit.nested_cv(LinearRegression(), np.c_[X, X[:, 0]], y, n_folds=5, n_repeats=1)


@pytest.mark.parametrize("n_folds", [5, "n"])
def test_losses_that_overflow_at_one_value_leave_the_others_alone(n_folds):
    X = np.where(np.arange(40) % 2 == 0, 1.0, -1.0)[:, None]
    y = 10.0 * X[:, 0] + np.random.default_rng(0).normal(size=40)

    def wild(observed, predicted):
        """Huge where the prediction is near the mean: with a large penalty."""
        return np.where(np.abs(predicted) < 4.0, 1e200, np.abs(observed - predicted))

    def tame(observed, predicted):
        return np.abs(observed - predicted)

    options = {"param_name": "alpha", "n_folds": n_folds, "n_repeats": 1, "random_state": 0}
    curve = onefit.error_curve(Ridge(), X, y, param_range=[0.1, 1.0, 1e9], loss=wild, **options)
    alone = onefit.error_curve(Ridge(), X, y, param_range=[0.1, 1.0], loss=tame, **options)
    assert "overflow" in curve.reasons[2]
    assert_same_curve(curve, alone, [0, 1])
    with pytest.raises(LossOverflowError):
        onefit.nested_cv(Ridge(1e9), X, y, loss=wild, n_folds=n_folds, n_repeats=1)


# -------------------------------------------------------------------- models have no other value, so they raise


def two_ones(n=40):
    """A column that a pair of rows, and nothing less, takes away."""
    rng = np.random.default_rng(0)
    X = np.c_[rng.normal(size=(n, 2)), np.isin(np.arange(n), (3, 7))]
    return X, X @ [1.0, 2.0, 3.0] + rng.normal(size=n)


def test_a_comparison_of_which_one_model_is_left_raises_what_fails_by_name():
    X, y = two_ones()
    with pytest.raises(TrainingSetError, match=r"Model 'ols': .*folds 3 and 7 held out"):
        onefit.compare({"ols": LinearRegression(), "ridge": Ridge()}, X, y)


def assert_same_comparison(found, alone):
    """All figures of the models that are left."""
    assert list(found.results) == list(alone.results)
    for name in ("models", "differences"):
        one, other = (getattr(each, name).select_dtypes("number") for each in (found, alone))
        np.testing.assert_allclose(one, other, rtol=1e-9)


@pytest.mark.parametrize("options", [{}, {"n_folds": 6, "n_repeats": 4}, {"n_folds": 6, "n_repeats": 4, "n_jobs": 2}])
def test_a_model_that_fails_is_left_out_of_a_comparison_with_its_reason(options):
    X, y = two_ones()
    left = {"ridge": Ridge(), "more": Ridge(alpha=20.0)}
    with pytest.warns(FailedModelWarning, match="Model 'ols' is left out"):
        found = onefit.compare({"ols": LinearRegression(), **left}, X, y, random_state=0, **options)
    assert list(found.reasons) == ["ols"]
    assert "held out" in found.reasons["ols"]
    assert "ols could not be fitted" in found.summary()
    assert "ols could not be fitted" in found._repr_html_()
    assert_same_comparison(found, onefit.compare(left, X, y, random_state=0, **options))


def test_a_refit_that_fails_in_a_later_repeat_is_left_out_and_tried_no_more():
    X, y = data()
    X[7, 0] = X[8, 0] = 10.0
    FITS.clear()
    models = {"fails": FailsOnRow(0.8, bad=(0.8,)), "ridge": Ridge(), "mean": Fragile(1.0)}
    options = {"n_folds": 5, "n_repeats": 4, "random_state": 0}
    found = quietly(lambda: onefit.compare(models, X, y, **options))
    assert list(found.reasons) == ["fails"]
    assert FITS.count(0.8) <= 15
    models.pop("fails")
    assert_same_comparison(found, quietly(lambda: onefit.compare(models, X, y, **options)))


def test_a_model_that_no_training_set_of_its_folds_can_determine_is_left_out():
    X, y = data(n=30, p=22)
    models = {"ols": LinearRegression(), "ridge": Ridge(), "more": Ridge(alpha=10.0)}
    options = {"n_folds": 5, "n_repeats": 2, "random_state": 0}
    found = quietly(lambda: onefit.compare(models, X, y, **options))
    assert list(found.reasons) == ["ols"]
    others = {"ridge": Ridge(), "more": Ridge(alpha=10.0)}
    assert_same_comparison(found, quietly(lambda: onefit.compare(others, X, y, **options)))


def test_errors_before_anything_is_computed_name_the_model():
    X, y = data()
    with pytest.raises(DataError, match="Model 'wrong': "):
        onefit.compare({"ridge": Ridge(), "wrong": Ridge(alpha=-1.0)}, X, y)
    with pytest.raises(RouteError, match=r"Model 'mean': .*cannot serve"):
        onefit.compare({"ridge": Ridge(), "mean": Fragile()}, X, y, route="gram")
    with pytest.raises(RefitError, match=r"Model 'bad': .*no fit with"):
        onefit.compare({"bad": Fragile(bad=(1.0,)), "worse": Fragile(2.0, bad=(2.0,))}, X, y, n_folds=5, n_repeats=1)


class Huge(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.full(len(X), 1e160)


def test_a_comparison_leaves_out_losses_that_overflow():
    X, y = data()
    with pytest.raises(LossOverflowError, match="Model 'huge'"):
        onefit.compare({"huge": Huge(), "ridge": Ridge()}, X, y, n_folds=5, n_repeats=1)
    models = {"huge": Huge(), "ridge": Ridge(), "more": Ridge(alpha=9.0)}
    found = quietly(lambda: onefit.compare(models, X, y, n_folds=5, n_repeats=2, random_state=0))
    assert list(found.reasons) == ["huge"]
    models.pop("huge")
    assert_same_comparison(found, onefit.compare(models, X, y, n_folds=5, n_repeats=2, random_state=0))


def test_a_pair_of_rows_that_fails_at_one_value_is_data_on_a_curve():
    X, y = two_ones()
    curve = onefit.error_curve(Ridge(), X, y, param_name="alpha", param_range=[0.0, 0.1, 1.0])
    alone = onefit.error_curve(Ridge(), X, y, param_name="alpha", param_range=[0.1, 1.0])
    assert "folds 3 and 7 held out" in curve.reasons[0]
    assert_same_curve(curve, alone, [1, 2])


def test_progress_is_counted_once_if_losses_overflow_with_two_rows_out():
    X = np.where(np.arange(40) % 2 == 0, 1.0, -1.0)[:, None]
    y = 10.0 * X[:, 0] + np.random.default_rng(0).normal(size=40)
    reports = []

    def wild(observed, predicted):
        return np.where(np.abs(predicted) < 4.0, 1e200, np.abs(observed - predicted))

    onefit.error_curve(
        Ridge(), X, y, param_name="alpha", param_range=[0.1, 1e9], loss=wild, progress=lambda *at: reports.append(at)
    )
    assert [done for done, _ in reports] == sorted(done for done, _ in reports)
    assert max(done for done, total in reports[:-1]) < reports[-1][1]


def test_which_value_fails_in_a_later_repeat_does_not_change_a_bit_with_jobs():
    rng = np.random.default_rng(2)
    X = np.c_[rng.normal(size=(36, 2)), np.isin(np.arange(36), (0, 1, 2))]  # lost if three rows share two folds
    y = X @ [1.0, 1.0, 2.0] + rng.normal(size=36)
    pipeline = make_pipeline(StandardScaler(), Ridge())
    options = {"param_name": "ridge__alpha", "param_range": [0.0, 1e-3, 0.1, 1.0, 10.0], "n_folds": 6, "n_repeats": 12}
    for seed in range(6):
        one, two = (
            quietly(onefit.error_curve, pipeline, X, y, random_state=seed, n_jobs=jobs, **options) for jobs in (1, 3)
        )
        assert one.reasons == two.reasons
        for name in ("estimate", "low", "high", "standard_error"):
            assert np.array_equal(getattr(one.difference, name), getattr(two.difference, name), equal_nan=True)


def test_refits_that_fail_at_every_value_end_at_once():
    X, y = data()
    FITS.clear()
    with pytest.raises(RefitError):
        onefit.error_curve(
            Fragile(bad=(1.0, 2.0)), X, y, param_name="factor", param_range=[1.0, 2.0], n_folds=10, n_repeats=1
        )
    assert len(FITS) <= 4


def test_a_deviance_of_counts_keeps_the_values_beside_one_that_fails():
    """Residuals of a set that failed are zero: at a count of zero that is no prediction that a deviance refuses."""
    rng = np.random.default_rng(0)
    X, folds = rng.normal(size=(80, 3)), np.repeat(np.arange(4), 20)
    X[:, 2] = 1.0
    X[[3, 7], 2] = [2.0, 2.5]  # without fold 0 nothing but the intercept
    y = rng.poisson(np.exp(X[:, 0] / 2)).astype(float)
    assert (y == 0).any()
    keywords = {"folds": folds, "loss": "poisson_deviance"}
    path = {"param_name": "alpha", "param_range": [0.0, 1.0]}
    curve = quietly(onefit.error_curve, PoissonRegressor(), X, y, **path, **keywords)
    alone = quietly(onefit.nested_cv, PoissonRegressor(alpha=1.0), X, y, **keywords)
    assert "does not determine the coefficients" in curve.reasons[0]
    np.testing.assert_allclose(curve.estimate, [np.nan, alone.estimate], rtol=1e-9)


@pytest.mark.parametrize("has_groups", [False, True])
def test_scores_of_the_others_know_which_rows_are_in_no_fold(has_groups):
    """Rows of no fold counted as scored where the first value failed, and no other had an interval (510004276)."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] + rng.normal(size=60) > 0).astype(int)
    X = np.c_[X, np.arange(60) == 3]  # one class has nothing of it: its covariance is singular
    groups = np.repeat(np.arange(20), 3)
    ids = np.stack([groups % 3, (groups // 3) % 3])
    for repeat, without in enumerate(([5, 7], [5, 9])):
        ids[repeat, np.isin(groups, without)] = -1
    both, alone = (
        quietly(
            onefit.error_curve,
            QuadraticDiscriminantAnalysis(),
            X,
            y,
            param_name="reg_param",
            param_range=values,
            folds=ids,
            groups=groups if has_groups else None,
            loss="log_loss",
        )
        for values in ((0.0, 0.1, 0.7), (0.1, 0.7))
    )
    assert "not full rank" in both.reasons[0]
    for one, other in zip(both.results[1:], alone.results, strict=True):
        assert np.isfinite(other.interval).all()
        np.testing.assert_allclose(one.intervals.to_numpy(float), other.intervals.to_numpy(float), rtol=1e-11)
