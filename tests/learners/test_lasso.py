"""Lasso, ElasticNet and their searches equal refits of scikit-learn's objects that have converged."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.linear_model import ElasticNet, ElasticNetCV, Lasso, LassoCV, LinearRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

import onefit
from fuzz.families.precise import PreciseElasticNet
from helpers import quietly
from onefit.linalg import compiled

CONVERGED = 1e-8
FOLDS = {"n_folds": 4, "n_repeats": 2, "random_state": 0}
NAMES = ("cv_estimate", "raw_estimate", "standard_error")

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def tight(model):
    """A model whose refits converge; in a pipeline or a search the last step."""
    model = clone(model)
    known = model.get_params()
    names = [name for name in known if name.split("__")[-1] == "tol" and name[:-3] + "max_iter" in known]
    return model.set_params(**dict.fromkeys(names, 1e-12), **{name[:-3] + "max_iter": 1_000_000 for name in names})


def table(seed, n=50, p=6):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, p)) @ (np.eye(p) + 0.4 * rng.normal(size=(p, p)))) * 10.0 ** rng.uniform(-1, 1, p) + 3.0
    return X, X @ (rng.normal(size=p) / X.std(axis=0) * (rng.random(p) < 0.6)) + rng.normal(size=n)


def check(model, X, y, route="gram", **more):
    fast = quietly(onefit.nested_cv, model, X, y, **(FOLDS | more))
    slow = quietly(onefit.nested_cv, tight(model), X, y, **(FOLDS | more), route="refit")
    assert fast.route == route
    for name in NAMES:
        np.testing.assert_allclose(getattr(fast, name), getattr(slow, name), rtol=CONVERGED)
    return fast


@settings(max_examples=15)
@given(
    st.integers(0, 10**6),
    st.sampled_from([(50, 6, 1.0), (50, 6, 0.1), (40, 12, 1.0), (24, 40, 0.5)]),
    st.floats(-2.5, 0.0),
    st.booleans(),
    st.booleans(),
    st.sampled_from([None, "weights", "zeros"]),
)
def test_elastic_nets_equal_converged_refits(seed, shape, size, positive, intercept, weighted):
    n, p, ratio = shape
    X, y = table(seed, n, p)
    rng = np.random.default_rng(seed)
    weights = {None: None, "weights": rng.uniform(0.2, 3.0, len(y)), "zeros": rng.choice([0.0, 1.0, 2.0], len(y))}[
        weighted
    ]
    if ratio == 1.0:
        model = Lasso(alpha=10.0**size, positive=positive, fit_intercept=intercept)
    else:
        model = ElasticNet(alpha=10.0**size, l1_ratio=ratio, positive=positive, fit_intercept=intercept)
    assert check(model, X, y, sample_weight=weights).exactness == "converged"


@pytest.mark.parametrize("on", [True, False])
def test_with_and_without_the_kernel(on):
    X, y = table(5)
    with compiled.switched(on):
        check(make_pipeline(StandardScaler(), Lasso(alpha=0.1)), X, y)


def test_an_elastic_net_without_l1_is_the_limit_of_those_with_little():
    X, y = table(14, 60)
    none, little = (
        quietly(onefit.nested_cv, ElasticNet(alpha=0.1, l1_ratio=ratio), X, y, **FOLDS) for ratio in (0.0, 1e-10)
    )
    np.testing.assert_allclose(none.standard_error, little.standard_error, rtol=CONVERGED)


def test_several_outputs_each_have_their_own_columns():
    X, y = table(6)
    check(Lasso(alpha=0.2), X, np.column_stack([y, X[:, 0] + np.cos(y)]))


@pytest.mark.parametrize("drop", [None, "first"])
@pytest.mark.parametrize("levels", [2, 3, 4])
def test_levels_that_sum_to_one_leave_predictions_as_they_are(drop, levels):
    X, y = table(7, 80, 3)
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["level"] = np.array(list("uvwx"))[np.random.default_rng(1).integers(0, levels, len(y))]
    y = y + (frame["level"] == "u") * 2.0
    steps = make_column_transformer(
        (OneHotEncoder(drop=drop, sparse_output=False), ["level"]), (MinMaxScaler(), list("abc"))
    )
    check(make_pipeline(steps, Lasso(alpha=0.02)), frame, y)


def test_columns_that_copy_each_other_are_left_to_scikit_learn():
    X, y = table(8)
    check(Lasso(alpha=0.05), np.hstack([X, X[:, :2], 2 * X[:, :1]]), y)


def test_rare_columns_that_two_folds_leave_as_multiples_of_each_other_are_split_as_scikit_learn_does():
    """Without rows 3 and 4 both are zero but in row 5: of many solutions it is the descent's, in the fuzzer too."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(18, 4))
    X[:, [0, 3]], X[5, [1, 2]] = 0.0, [2.0, -3.0]
    X[[3, 5], 0], X[[4, 5], 3] = [1.5, -1.1], [0.9, 1.0]
    y = X @ [1.0, -1.0, 2.0, 3.0] + rng.normal(size=18)
    folds = {"folds": np.arange(18) % 6}
    fast = quietly(onefit.nested_cv, make_pipeline(StandardScaler(), Lasso(alpha=1e-3)), X, y, **folds)
    assert fast.route == "gram"
    for last in (tight(Lasso(alpha=1e-3)), PreciseElasticNet(1e-3, l1_ratio=1.0)):
        slow = quietly(onefit.nested_cv, make_pipeline(StandardScaler(), last), X, y, **folds, route="refit")
        for name in NAMES:
            np.testing.assert_allclose(getattr(fast, name), getattr(slow, name), rtol=CONVERGED)


@pytest.mark.parametrize("alpha", [4e-6, 5e-5])
def test_columns_that_copy_each_other_share_an_elastic_net_evenly(alpha):
    """Coordinate descent is 1e-6 off here, however small its tolerance: the net is strictly convex, and solved."""
    rng = np.random.default_rng(129)
    ones, x = np.ones(40), 9.0 + rng.normal(size=40)
    y, ids = 0.4 * x - 4.0 + rng.uniform(-1, 1, 40), np.arange(40) % 5
    model = ElasticNet(alpha=alpha, l1_ratio=0.6, fit_intercept=False)
    result = onefit.nested_cv(model, np.c_[ones, ones, x], y, folds=ids, route="gram")
    for fold in range(5):
        rest = ids != fold
        a, b = x[rest], y[rest]  # equal halves: as one column of twice the size, whose l2 penalty is half as large
        n = rest.sum()
        system = np.array([[4 * n + 2 * n * 0.4 * alpha, 2 * a.sum()], [2 * a.sum(), a @ a + n * 0.4 * alpha]])
        signs = np.array([-2.0, 1.0])
        half, slope = np.linalg.solve(system, [2 * b.sum(), a @ b] - n * 0.6 * alpha * signs)
        assert half < 0 < slope
        expected = 2 * half + slope * x[~rest]
        np.testing.assert_allclose(result.heldout["prediction"][~rest], expected, rtol=1e-9)


def nearly_dependent(kind):
    """A model, and columns whose products leave no digit to its small penalty, or few."""
    rng = np.random.default_rng(31)
    if kind == "far from zero":
        X = rng.normal(loc=[800.0, 200.0, 1700.0, 40.0, 10.0, 500.0], size=(40, 6))
        return Lasso(alpha=0.06, fit_intercept=False), X, X[:, 0] + 2 * X[:, 3] + rng.normal(size=40)
    X = rng.normal(size=(24, 8 if kind == "eight rows" else 30))
    y = X[:, 0] - X[:, 2] + rng.normal(size=24)
    return ElasticNet(alpha=4.5e-9, l1_ratio=0.6), X, y


@pytest.mark.skipif(np.finfo(np.longdouble).eps == np.finfo(float).eps, reason="long double is double here")
@pytest.mark.parametrize("kind", ["far from zero", "eight rows", "wide"])
def test_columns_that_nearly_depend_on_each_other_are_fitted_in_extended_precision(kind):
    """Descents would stop at their last sweep, intervals off by a quarter; the reference is a feature-sign search."""
    model, X, y = nearly_dependent(kind)
    folds = {"folds": np.arange(len(y)) % 3}
    precise = PreciseElasticNet(model.alpha, getattr(model, "l1_ratio", 1.0), model.fit_intercept)
    fast = onefit.nested_cv(model, X, y, **folds)
    slow = quietly(onefit.nested_cv, precise, X, y, **folds, route="refit")
    assert fast.route == "gram"
    for name in NAMES:
        np.testing.assert_allclose(getattr(fast, name), getattr(slow, name), rtol=1e-9)


def test_a_net_that_the_digits_of_the_data_do_not_determine_is_refused():
    _, X, y = nearly_dependent("wide")
    with pytest.raises(onefit.errors.TrainingSetError, match=r"held out.*do not determine.*route=.refit"):
        onefit.nested_cv(ElasticNet(alpha=1e-15), X, y, folds=np.arange(24) % 3, route="gram")


def test_a_descent_that_does_not_come_to_its_end_is_refused():
    model, X, y = nearly_dependent("far from zero")
    with pytest.raises(onefit.errors.TrainingSetError, match=r"held out.*does not come to its end.*route=.refit"):
        onefit.nested_cv(model, np.c_[X, X[:, 0]], y, folds=np.arange(40) % 3, route="gram")


def test_without_a_penalty_it_is_least_squares():
    X, y = table(9)
    fast = quietly(onefit.nested_cv, Lasso(alpha=0.0), X, y, **FOLDS)
    slow = quietly(onefit.nested_cv, LinearRegression(), X, y, **FOLDS, route="refit")
    np.testing.assert_allclose(fast.standard_error, slow.standard_error, rtol=CONVERGED)


def test_a_rising_curve_over_alpha_has_the_values_of_single_models():
    X, y = table(10)
    alphas = [0.01, 0.1, 0.3, 1.0, 1e4]
    curve = quietly(onefit.error_curve, Lasso(), X, y, param_name="alpha", param_range=alphas, **FOLDS)
    assert curve.results[0].route == "gram"
    for alpha, found in zip(curve.values, curve.results, strict=True):
        alone = quietly(onefit.nested_cv, Lasso(alpha=alpha), X, y, **FOLDS)
        np.testing.assert_allclose(found.standard_error, alone.standard_error, rtol=1e-12)


@settings(max_examples=6)
@given(
    st.integers(0, 10**6),
    st.sampled_from(
        [
            LassoCV(cv=3, eps=0.01),
            LassoCV(cv=KFold(3, shuffle=True, random_state=1), positive=True, fit_intercept=False, eps=0.01),
            ElasticNetCV(cv=3, l1_ratio=[0.2, 1.0], eps=0.1),
            LassoCV(cv=4, alphas=[0.1, 3.0, 0.5, 0.01]),
            make_pipeline(StandardScaler(), LassoCV(cv=3, eps=0.01)),
            GridSearchCV(make_pipeline(StandardScaler(), Lasso()), {"lasso__alpha": [0.01, 0.1, 1.0]}, cv=3),
        ]
    ),
)
def test_searches_find_their_own_alphas_in_every_training_set(seed, model):
    X, y = table(seed, 36, 4)
    assert check(model, X, y, n_folds=3, n_repeats=1).exactness == "converged"


def test_threads_change_no_bit():
    X, y = table(11, 200)
    one, two = (quietly(onefit.nested_cv, LassoCV(cv=3), X, y, **FOLDS, n_jobs=jobs) for jobs in (1, 2))
    assert one.standard_error == two.standard_error


@pytest.mark.filterwarnings("ignore:Gram matrix was provided")
@pytest.mark.parametrize(
    ("model", "why"),
    [
        (Lasso(precompute=np.eye(6)), "given a Gram matrix"),
        (LassoCV(cv=KFold(3, shuffle=True)), "splits otherwise in every fit"),
        (make_pipeline(PCA(2), Lasso(0.1, positive=True)), "signs of components"),
        (make_pipeline(StandardScaler(), PCA(2), StandardScaler(), LassoCV(positive=True)), "signs of components"),
        (make_pipeline(make_union(PCA(1), "passthrough"), ElasticNet(positive=True)), "signs of components"),
        (
            GridSearchCV(make_pipeline(PCA(2), Lasso()), {"lasso__positive": [False, True]}, cv=3),
            "signs of components",
        ),
    ],
)
def test_an_option_that_forces_refits_is_named(model, why):
    X, y = table(12)
    result = quietly(onefit.nested_cv, model, X, y, n_folds=3, n_repeats=1, random_state=0)
    assert result.route == "refit"
    assert why in result.route_reason


def test_components_keep_their_signs_for_coefficients_that_must_be_positive():
    """Directions had whatever sign the eigenvectors came with: errors of 1.30 and 1.68 instead of 1.61."""
    X, y = table(12)
    for seed in range(3):
        turned = X * np.random.default_rng(seed).choice([-1.0, 1.0], X.shape[1])
        check(make_pipeline(PCA(3), Lasso(0.01, positive=True)), turned, y, route="refit")
        check(make_pipeline(PCA(3), Lasso(0.01)), turned, y)


def test_sparse_columns_are_refitted_for_a_reason_of_their_own():
    X, y = table(13)
    result = quietly(
        onefit.nested_cv, Lasso(alpha=0.1), sparse.csr_matrix(X), y, n_folds=3, n_repeats=1, random_state=0
    )
    assert result.route == "refit"
    assert "X is sparse" in result.route_reason


def test_far_more_columns_than_rows_are_refitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 300))
    found = quietly(onefit.nested_cv, Lasso(alpha=0.5), X, X[:, 0], n_folds=3, n_repeats=1, random_state=0)
    assert found.route == "refit"
    assert "too many for their Gram matrices" in found.route_reason
