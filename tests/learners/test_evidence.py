"""BayesianRidge and ARDRegression equal refits, at their own tolerance and at a tight one."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.linear_model import ARDRegression, BayesianRidge
from sklearn.model_selection import TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import onefit
from helpers import STRICT, quietly
from onefit.errors import OneFitError
from onefit.learners.evidence import _posterior_inside

FOLDS = {"n_folds": 4, "n_repeats": 1, "random_state": 0}


def table(seed, n, p, noise=1.0):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, p)) @ (np.eye(p) + 0.3 * rng.normal(size=(p, p)))) * 10.0 ** rng.uniform(-1, 1, p) + 2.0
    return X, X @ (rng.normal(size=p) / X.std(axis=0) * (rng.random(p) < 0.5)) + noise * rng.normal(size=n)


def check(model, X, y, route="gram", rtol=STRICT):
    fast, slow = (quietly(onefit.nested_cv, model, X, y, **FOLDS, route=each) for each in ("auto", "refit"))
    assert fast.route == route
    for name in ("estimate", "standard_error"):
        np.testing.assert_allclose(getattr(fast, name), getattr(slow, name), rtol=rtol)
    return fast


@settings(max_examples=20)
@given(
    st.integers(0, 10**6),
    st.sampled_from([(40, 5), (60, 12)]),
    st.sampled_from([BayesianRidge, ARDRegression]),
    st.sampled_from([1e-3, 1e-9]),
    st.booleans(),
    st.sampled_from([1.0, 0.01, 1e-6]),
)
def test_evidence_iterations_equal_refits(seed, shape, kind, tol, intercept, noise):
    X, y = table(seed, *shape, noise)
    model = kind(tol=tol, fit_intercept=intercept, max_iter=100)
    # rounding errors of predictions, in much smaller residuals, and the refits are by products of columns: where their
    # condition is 230, an ulp in the data moves the figures of refits by 450 of these
    rounding, condition = np.finfo(float).eps * np.std(y) / noise, np.linalg.cond(X - intercept * X.mean(axis=0))
    assert check(model, X, y, rtol=max(STRICT, rounding * max(100, condition**2))).exactness == "converged"


@pytest.mark.parametrize(
    "model",
    [
        BayesianRidge(alpha_init=2.0, lambda_init=0.5, alpha_1=0.1, lambda_2=0.2),
        BayesianRidge(max_iter=1),
        ARDRegression(threshold_lambda=5.0),
        ARDRegression(threshold_lambda=1e-3),
        ARDRegression(alpha_1=0.1, lambda_1=0.3, lambda_2=0.2),
    ],
    ids=repr,
)
def test_every_parameter_counts(model):
    check(model, *table(1, 50, 6))


@pytest.mark.parametrize("threshold", [0.2, 0.5, 1.0])
def test_the_first_step_of_relevance_takes_every_column_whatever_the_threshold(threshold):
    X, y = table(2, 60, 5)
    X /= X.std(axis=0)
    model = ARDRegression(threshold_lambda=threshold)
    check(model, X, 3.0 * X[:, 0] + 0.1 * y / y.std(), rtol=1e-8)
    assert model.fit(X, 3.0 * X[:, 0]).coef_.any()


@pytest.mark.parametrize("seed", range(4))
def test_columns_over_nine_decades_keep_the_digits_of_small_ones(seed):
    """The first steps have almost no penalty, so that eigenvalues of small columns count there."""
    rng = np.random.default_rng(seed)
    scales = 10.0 ** np.array([-3.2, 5.4, 5.7, 2.7, 3.6, -1.8, -1.2, -3.2])
    X = (rng.normal(size=(47, 8)) + 3.0) * scales
    y = X @ (rng.normal(size=8) / scales) + rng.normal(size=47)
    check(BayesianRidge(), X, y, rtol=1e-11)


def test_bits_of_a_training_set_depend_on_no_other():
    """Sets keep different numbers of columns, and more jobs put others beside them."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(54, 9)) + 1.0
    y = X[:, 0] + 0.3 * X[:, 1] + rng.normal(size=54)
    keywords = {"n_folds": 4, "n_repeats": 4, "random_state": 0}
    one, two = (
        quietly(onefit.nested_cv, ARDRegression(threshold_lambda=30.0), X, y, **keywords, n_jobs=jobs)
        for jobs in (1, 2)
    )
    assert one.route == "gram"
    assert one.estimate == two.estimate
    assert one.standard_error == two.standard_error
    np.testing.assert_array_equal(one.heldout["loss"], two.heldout["loss"])


def test_after_steps_that_learn():
    X, y = table(2, 60, 3)
    frame = pd.DataFrame(X, columns=list("abc")).assign(kind=np.arange(60) % 4)
    steps = make_column_transformer((OneHotEncoder(sparse_output=False), ["kind"]), (StandardScaler(), list("abc")))
    check(make_pipeline(steps, BayesianRidge()), frame, y)


@pytest.mark.parametrize("kind", [BayesianRidge, ARDRegression])
def test_columns_that_depend_on_each_other_are_left_to_scikit_learn(kind):
    X, y = table(3, 50, 4)
    check(kind(), np.hstack([X, X[:, :1] + X[:, 1:2]]), y)


def test_weights_several_outputs_and_wide_tables_are_refitted():
    X, y = table(4, 30, 4)
    weighted = quietly(onefit.nested_cv, BayesianRidge(), X, y, sample_weight=1.0 + np.arange(30) % 2, **FOLDS)
    assert "counts weights" in weighted.route_reason
    wide = quietly(onefit.nested_cv, BayesianRidge(), np.hstack([X] * 8), y, **FOLDS)
    assert "too many for their Gram matrices" in wide.route_reason


def test_a_training_set_of_one_row_is_refused_as_scikit_learn_does():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((24, 3)), rng.standard_normal(24)
    with pytest.raises(OneFitError, match="minimum of 2 is required by ARDRegression"):
        onefit.nested_cv(ARDRegression(), X, y, cv=TimeSeriesSplit(5, gap=3))


def without_variation(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 12))
    y = X[:, 0] + rng.standard_normal(40)
    X[:, 3], X[:, 5] = 0.0, 1.1
    return X, y


@pytest.mark.parametrize("model", [ARDRegression(lambda_1=0, lambda_2=0), ARDRegression(lambda_1=0)], ids=repr)
def test_penalties_of_zero_over_zero_are_refitted(model):
    """For a column of zeros lambda is zero over zero, or zero: rounding errors decide, and those of refits are kept."""
    found = check(model, *without_variation(0), "refit")
    assert "lambda_1=0" in found.route_reason


@pytest.mark.parametrize(
    "model",
    [
        BayesianRidge(lambda_1=0, lambda_2=0, alpha_1=0, alpha_2=0),
        ARDRegression(lambda_2=0),
        ARDRegression(alpha_1=0, alpha_2=0),
    ],
    ids=repr,
)
@pytest.mark.parametrize("data", [without_variation(0), table(1, 50, 6)], ids=["constant columns", "ordinary"])
def test_other_priors_of_zero_take_no_refits(model, data):
    check(model, *data, rtol=1e-10)


def test_a_system_that_is_not_finite_is_left_to_scikit_learn():
    systems = np.stack([np.eye(3), np.diag([1.0, 2.0, 0.0]), np.diag([1.0, np.nan, 2.0]), np.diag([np.inf, 1.0, 1.0])])
    inside = np.ones((4, 3), dtype=bool)
    with np.errstate(invalid="ignore"):
        _, variances, is_sound = _posterior_inside(systems, np.ones((4, 3)), np.zeros((4, 3)), np.ones(4), inside)
    assert is_sound.tolist() == [True, True, False, False]
    np.testing.assert_allclose(variances[:2], [[1.0, 1.0, 1.0], [1.0, 0.5, 0.0]])
