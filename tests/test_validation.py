"""What cannot be used is refused with a OneFitError that says why, before a model is fitted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold, RandomizedSearchCV, RepeatedKFold, ShuffleSplit
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import onefit
from helpers import quiet_nested_cv, random_folds
from onefit.errors import DataError, OneFitError, RefitError


class WorkStarted(BaseException):
    """Not an Exception, so that nothing can wrap it."""


class Untouchable(RegressorMixin, BaseEstimator):
    """An estimator that must never be fitted."""

    def fit(self, X, y):
        raise WorkStarted

    def predict(self, X):
        raise WorkStarted


N = 20
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, 3))
Y = RNG.standard_normal(N)
FOLDS = random_folds(N, 4, 2)


def refused(match, estimator=None, X=X, y=Y, **kwargs):
    """The message with which nested_cv refuses; it must match, whatever its case."""
    kwargs = {"n_folds": 4, "n_repeats": 2, "random_state": 0} | kwargs
    with pytest.raises(OneFitError, match=f"(?is){match}") as caught:
        quiet_nested_cv(Untouchable() if estimator is None else estimator, X, y, **kwargs)
    assert isinstance(caught.value, ValueError)
    return str(caught.value)


def with_entry(array, value):
    changed = np.array(array, dtype=float)
    changed.flat[4] = value
    return changed


# ------------------------------------------------------------------------------------------------ data


@pytest.mark.parametrize("estimator", [Untouchable(), Ridge(), onefit.PenalizedRegression()], ids=repr)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_missing_or_infinite_values_are_refused(value, estimator):
    refused("X.*(nan|missing|infinit|finite)", estimator, X=with_entry(X, value))
    refused("y.*(nan|missing|infinit|finite)", estimator, y=with_entry(Y, value))


def test_missing_values_of_a_frame_are_refused():
    frame = pd.DataFrame(X.copy(), columns=["age", "bmi", "sex"])
    frame.loc[2, "bmi"] = np.nan
    refused("(nan|missing|finite)", X=frame)


def test_lengths_that_differ_are_refused_with_both_numbers():
    message = refused("rows", y=Y[:-1])
    assert "20" in message
    assert "19" in message


def test_text_is_refused_for_models_that_compute_with_numbers():
    """An estimator that is refitted may encode text itself, so X is its own to judge; y is not."""
    for estimator in (Ridge(), onefit.PenalizedRegression(), KernelRidge()):
        refused("X", estimator, X=np.array([["a", "b", "c"]] * N))
        refused("city", estimator, X=pd.DataFrame({"age": Y, "city": ["Oslo"] * N}))
    refused("y", y=np.array(["a", "b"] * (N // 2)))


def test_complex_numbers_are_refused():
    refused("complex", Ridge(), X=X + 1j)
    refused("complex", y=Y + 1j)


@pytest.mark.parametrize("shape", [(0, 3), (N, 0)])
def test_no_rows_or_no_columns_are_refused(shape):
    refused("", X=np.empty(shape), y=Y[: shape[0]])


def test_wrong_number_of_dimensions_is_refused():
    refused("X.*(dimension|2-d|two)", X=X[:, :, None])
    refused("X.*(dimension|2-d|two)", X=X[:, 0])
    refused("y.*(dimension|1-d|one)", y=Y[:, None, None])


def test_inputs_are_not_modified():
    arrays = [X.copy(), np.column_stack([Y, Y]), FOLDS.copy(), np.eye(3)]
    copies = [array.copy() for array in arrays]
    for estimator in (Ridge(), onefit.PenalizedRegression(arrays[3]), LinearRegression(), KernelRidge()):
        before = dict(estimator.get_params())
        quiet_nested_cv(estimator, arrays[0], arrays[1], folds=arrays[2])
        assert estimator.get_params() == before
        assert not hasattr(estimator, "coef_")
    for array, copy in zip(arrays, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


# ----------------------------------------------------------------------------------- folds and repeats


@pytest.mark.parametrize("n_folds", [2, 1, 0, -3, N + 1, 3.5, "ten", np.nan, None, True])
def test_impossible_numbers_of_folds_are_refused(n_folds):
    refused("n_folds", n_folds=n_folds)


@pytest.mark.parametrize("n_repeats", [0, -1, 1.5, "many", None])
def test_impossible_numbers_of_repeats_are_refused(n_repeats):
    refused("n_repeats", n_repeats=n_repeats)


def given_folds(folds, match="fold", **kwargs):
    return refused(match, **{"folds": folds, "n_folds": "auto", "n_repeats": "auto"} | kwargs)


def test_folds_of_another_shape_are_refused():
    given_folds(FOLDS[:, :-1])
    given_folds(FOLDS[None])
    given_folds(np.empty((0, N), int))


def test_folds_with_a_missing_or_impossible_id_are_refused():
    missing = np.where(FOLDS == 1, 4, FOLDS)
    given_folds(missing)
    given_folds(np.where(FOLDS == 1, -2, FOLDS))
    given_folds(FOLDS + 0.5)
    given_folds(np.where(FOLDS == 3, 2, FOLDS) % 2)  # two folds


def test_repeats_with_different_numbers_of_folds_are_refused():
    given_folds(np.vstack([random_folds(N, 4), random_folds(N, 5)]))


def test_folds_that_disagree_with_the_numbers_asked_for_are_refused():
    given_folds(FOLDS, "n_folds", n_folds=5)
    given_folds(FOLDS, "n_repeats", n_repeats=3)


def test_folds_that_agree_with_the_numbers_asked_for_are_taken():
    result = quiet_nested_cv(Ridge(), X, Y, folds=FOLDS, n_folds=4, n_repeats=2)
    assert (result.n_folds, result.n_repeats) == (4, 2)


def test_bias_folds_with_another_number_of_folds_are_refused():
    given_folds(FOLDS, "bias_folds", bias_folds=random_folds(N, 5))
    given_folds(FOLDS, "bias_folds", bias_folds=random_folds(N - 1, 4))
    given_folds(FOLDS, "bias_folds", bias_folds=-2)
    given_folds(FOLDS, "bias_folds", bias_folds=1.5)


def test_splitter_gives_the_folds_of_its_test_sets():
    ids = np.empty((2, N), int)
    splitter = RepeatedKFold(n_splits=4, n_repeats=2, random_state=1)
    for number, (_, test) in enumerate(splitter.split(X)):
        ids[number // 4, test] = number % 4
    by_splitter = quiet_nested_cv(Ridge(), X, Y, folds=splitter)
    by_array = quiet_nested_cv(Ridge(), X, Y, folds=ids)
    np.testing.assert_array_equal(by_splitter.fold_errors.e_in, by_array.fold_errors.e_in)
    assert (by_splitter.n_folds, by_splitter.n_repeats) == (4, 2)
    assert quiet_nested_cv(Ridge(), X, Y, folds=KFold(5)).n_folds == 5


def test_splitter_whose_test_sets_overlap_is_refused():
    given_folds(ShuffleSplit(n_splits=4, test_size=0.25, random_state=0), "partition|splitter")


# ------------------------------------------------------------------------------------------ parameters


@pytest.mark.parametrize("route", ["auto", "gram", "onestep"])
@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf, "strong"])
def test_impossible_penalties_are_refused(value, route):
    refused("alpha", Ridge(alpha=value), route=route)
    refused("lam", onefit.PenalizedRegression(lam=value), route=route)
    if route != "gram":
        refused("alpha", KernelRidge(alpha=value), route=route)


def test_one_alpha_an_output_or_one_for_all():
    refused("alpha", Ridge(alpha=[1.0, 2.0]))
    refused("alpha", Ridge(alpha=[1.0, 2.0, 3.0]), y=np.column_stack([Y, Y]))
    refused("alpha", Ridge(alpha=[1.0, -2.0]), y=np.column_stack([Y, Y]))


@pytest.mark.parametrize("route", ["auto", "gram", "onestep", "refit"])
@pytest.mark.parametrize(
    ("penalty", "match"),
    [
        (np.eye(4), "penalty.*(shape|3)"),
        (np.ones(3), "penalty.*(shape|3|matrix)"),
        (np.triu(np.ones((3, 3))), "penalty.*symmetric"),
        (np.diag([1.0, 1.0, -0.5]), "penalty.*(semidefinite|semi-definite|negative|indefinite)"),
        (np.diag([1.0, np.nan, 1.0]), "penalty.*(nan|finite|missing)"),
    ],
)
def test_impossible_penalty_matrices_are_refused(penalty, match, route):
    refused(match, onefit.PenalizedRegression(penalty), route=route)


@pytest.mark.parametrize("name", ["loss", "interval", "route", "transformers"])
@pytest.mark.parametrize("value", ["squared", "", 3, None])
def test_unknown_names_are_refused_with_the_choices(name, value):
    if name == "loss" and value is None:
        pytest.skip("None is the default loss")
    choices = {
        "loss": "absolute_error",
        "interval": "corrected_t",
        "route": "onestep",
        "transformers": "freeze",
    }
    assert choices[name] in refused(name, **{name: value})


@pytest.mark.parametrize("level", [0, 1, -0.1, 95, np.nan, "high", None])
def test_impossible_confidence_levels_are_refused(level):
    refused("confidence_level", confidence_level=level)


def test_object_that_is_no_estimator_is_refused():
    refused("estimator", estimator="ridge")
    refused("estimator", estimator=Ridge)


def test_failure_of_the_estimator_itself_names_the_training_set():
    class Broken(RegressorMixin, BaseEstimator):
        def fit(self, X, y):
            raise RuntimeError("the disk is full")

        def predict(self, X):
            raise AssertionError("never fitted")

    message = refused("the disk is full", Broken())
    assert "fold" in message


# ------------------------------------------------------------------------------------ all at once, and in one line


def test_all_columns_of_text_are_named():
    X = pd.DataFrame({"a": range(30), "word": ["x"] * 30, "b": range(30), "day": pd.date_range("2024", periods=30)})
    with pytest.raises(DataError, match=r"X holds values .* \(in columns 'word', 'day'\)\. Encode text and dates"):
        onefit.nested_cv(Ridge(), X, np.arange(30.0))


def test_all_columns_with_gaps_are_named():
    X = pd.DataFrame(np.ones((30, 11)), columns=[f"c{at}" for at in range(11)])
    X.iloc[:2, 1], X.iloc[:3, 4] = np.nan, np.inf
    with pytest.raises(DataError, match=r"infinite values, 2 of them in column 'c1', 3 in column 'c4'\. Drop"):
        onefit.nested_cv(Ridge(), X, np.arange(30.0))
    X.iloc[0] = np.nan
    with pytest.raises(DataError, match=r"1 in column 'c7', some in 3 more\. Drop"):
        onefit.nested_cv(Ridge(), X, np.arange(30.0))


def test_a_regressor_for_classes_is_answered_with_a_classifier():
    with pytest.raises(DataError, match=r"y holds .* \(such as 'no'\)\. If these are classes, give a classifier"):
        onefit.nested_cv(Ridge(), np.arange(30.0)[:, None], ["no", "yes"] * 15)


@pytest.mark.parametrize(
    ("search", "said"),
    [
        (GridSearchCV(Ridge(), {"alpah": [1.0, 2.0]}), r"GridSearchCV .*: Ridge has no parameter 'alpah'; .*'alpha'\?"),
        (GridSearchCV(make_pipeline(StandardScaler(), Ridge()), [{"alpha": [1.0]}]), r"'ridge__alpha'\?"),
        (
            GridSearchCV(make_pipeline(StandardScaler(), LogisticRegression()), {"c": [1.0]}),
            r"'logisticregression__C'\?",
        ),
        (RandomizedSearchCV(Ridge(), {"alpah": [1.0], "tool": [1.0]}), r"'alpha'\? Ridge has no parameter 'tool'"),
    ],
)
def test_candidates_that_an_estimator_does_not_know_are_refused_before_any_fit(search, said):
    with pytest.raises(DataError, match=said):
        onefit.nested_cv(search, np.arange(30.0)[:, None], np.arange(30.0))


def test_candidates_may_have_parameters_of_other_candidates():
    grid = {"model": [Ridge(), Lasso()], "model__alpha": [0.1, 1.0]}
    pipeline = Pipeline([("scale", StandardScaler()), ("model", LinearRegression())])
    X = np.random.default_rng(0).normal(size=(30, 2))
    result = quiet_nested_cv(GridSearchCV(pipeline, grid), X, X[:, 0], n_folds=3, n_repeats=1, random_state=0)
    assert np.isfinite(result.estimate)


def test_what_an_estimator_says_in_many_lines_is_one():
    X = np.where(np.arange(60) == 7, np.nan, 1.0).reshape(30, 2)
    with pytest.raises(RefitError, match="NaN") as caught:
        onefit.nested_cv(make_pipeline(StandardScaler(), LogisticRegression()), X, np.arange(30) % 2, n_folds=3)
    assert "\n" not in str(caught.value)
