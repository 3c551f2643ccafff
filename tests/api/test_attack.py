"""Wrong numbers that an attack found, each held to what is right: exact refits, or a refusal that says why."""

import tracemalloc
import warnings
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import onefit
import reference as long_double
from fractional import solved
from helpers import quiet_nested_cv, quietly, relative_gap
from onefit.criteria import criterion_values, spectrum_of_rows
from onefit.criteria.single import _slopes
from onefit.errors import DataError, OneFitError, RouteError, TrainingSetError
from onefit.linalg.columns import columns_of
from onefit.routes import collect, gramstream, rowpasses, spectra
from onefit.routes.spectra import _is_known

SMALL_BLOCKS = (
    (collect, "BLOCK_CELLS", 1),
    (collect, "ROWS_OF_A_FOLD", 1),
    (rowpasses, "LEAST_BLOCKS", 2),
    (rowpasses, "LEAST_ROWS_A_COLUMN", 1),
    (gramstream, "SAMPLE_ROWS", 1),
    (gramstream, "SAMPLE_WIDTHS", 2),
)
"""So that few rows go in many blocks."""

FAST = ({"route": "gram"}, {"route": "onestep"}, {"n_folds": "n"})


def rare_column(size, n=60):
    """A column that is zero but in one row, beside an ordinary one."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    y = x + rng.normal(size=n)
    d = np.zeros(n)
    d[7] = size
    return np.c_[d, x], y


def minimum_norm_predictions(X, y, ids):
    """Held-out predictions of the limit of a vanishing penalty: least squares, the smallest of all, on own centring."""
    predictions = np.empty(len(y))
    for fold in np.unique(ids):
        train = ids != fold
        centre, mean = X[train].mean(axis=0), y[train].mean()
        coef = np.linalg.lstsq(X[train] - centre, y[train] - mean, rcond=1e-12)[0]
        predictions[~train] = mean + (X[~train] - centre) @ coef
    return predictions


@pytest.mark.sweep(4)
@pytest.mark.parametrize("settings", FAST, ids=str)
@pytest.mark.parametrize("size", [1.0, 1e4, 1e8])
@pytest.mark.parametrize("alpha", [1e-10, 1e-13, 1e-18])
def test_a_column_that_a_training_set_lacks_is_not_fitted_to_rounding_errors(settings, size, alpha):
    X, y = rare_column(size)
    ids = np.arange(60) if "n_folds" in settings else np.arange(60) % 5
    result = quiet_nested_cv(Ridge(alpha=alpha), X, y, **({} if "n_folds" in settings else {"folds": ids}), **settings)
    expected = minimum_norm_predictions(X, y, ids)
    np.testing.assert_allclose(result.heldout["prediction"], expected, rtol=0, atol=1e-8)


def test_a_curve_has_no_false_minimum_at_tiny_penalties():
    X, y = rare_column(1.0)
    curve = quietly(
        onefit.error_curve, Ridge(), X, y, param_name="alpha", param_range=np.logspace(-18, 0, 7), n_folds=5,
        n_repeats=1, random_state=0,
    )  # fmt: skip
    assert not any(curve.reasons)
    assert np.ptp(curve.estimate[:4]) < 1e-6 * curve.estimate[0]


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e5, 1e7])
@pytest.mark.parametrize("n_folds", [5, "n"])
def test_a_singular_design_is_refused_whatever_the_offset_of_its_columns(offset, n_folds):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(40, 5))
        X[:, 4] = X[:, 0] - 2 * X[:, 1]
        X += offset
        y = X[:, 0] + rng.normal(size=40)
        model = onefit.PenalizedRegression(penalty=np.diag([1.0, 1, 1, 0, 0]), lam=0)
        with pytest.raises(TrainingSetError, match="linear combinations"):
            onefit.nested_cv(model, X, y, n_folds=n_folds, n_repeats="auto" if n_folds == "n" else 1)


@pytest.mark.parametrize("p", [14, 18, 30])
@pytest.mark.parametrize("scale", [1e5, 1e7, 1e9])
def test_rows_of_no_weight_are_predicted_from_columns_of_any_scale(p, scale):
    rng = np.random.default_rng(1)
    X, y, weights = rng.normal(size=(24, p)), rng.normal(size=24), np.ones(24)
    X[:, 0] *= scale
    weights[:8] = 0
    settings = {"sample_weight": weights, "n_folds": 6, "n_repeats": 1, "random_state": 0}
    one, other = (quiet_nested_cv(Ridge(1.0), X, y, route=route, **settings) for route in ("gram", "onestep"))
    assert relative_gap(one.heldout["prediction"], other.heldout["prediction"]) < 1e-10
    heavy = weights > 0
    kept = quiet_nested_cv(Ridge(1.0), X[heavy], y[heavy], n_folds="n")
    again = quiet_nested_cv(Ridge(1.0), X, y, sample_weight=weights, n_folds="n")
    assert relative_gap(again.heldout["prediction"][heavy], kept.heldout["prediction"]) < 1e-10


@pytest.mark.parametrize("ratio", [1e9, 1e11, 9e11])
@pytest.mark.parametrize("route", ["gram", "onestep"])
def test_weights_count_however_small_beside_others(ratio, route):
    """One weight far above the others: a fit interpolates its row, and the others decide the rest."""
    rng = np.random.default_rng(2)
    X, y, weights = rng.normal(size=(30, 3)), rng.normal(size=30), np.ones(30)
    weights[4] = ratio
    ids = np.arange(30) % 5
    result = quiet_nested_cv(LinearRegression(), X, y, sample_weight=weights, folds=ids, route=route)
    expected = np.empty(30)
    for fold in range(5):
        train = np.flatnonzero(ids != fold)
        A = np.c_[np.ones(30), X]
        if 4 in train:  # solved by eliminating the heavy row, which holds to 1 / ratio
            others = train[train != 4]
            basis = np.linalg.svd(A[[4]])[2]
            particular = np.linalg.lstsq(A[[4]], y[[4]], rcond=None)[0]
            free = basis[1:].T
            step = np.linalg.lstsq(A[others] @ free, y[others] - A[others] @ particular, rcond=None)[0]
            coef = particular + free @ step
        else:
            coef = np.linalg.lstsq(A[train], y[train], rcond=None)[0]
        expected[ids == fold] = A[ids == fold] @ coef
    assert relative_gap(result.heldout["prediction"], expected) < 100 / ratio + 1e-9


@pytest.mark.parametrize("ratio", [1e13, 1e14, 1e18])
def test_weights_beyond_all_digits_are_refused_by_name_and_refitted_if_nothing_else_is_asked(ratio):
    rng = np.random.default_rng(2)
    X, y, weights = rng.normal(size=(30, 3)), rng.normal(size=30), np.ones(30)
    weights[4] = ratio
    for estimator in (Ridge(), RidgeCV(), onefit.SplineRegression(n_basis=5)):
        design = X[:, :1] if isinstance(estimator, onefit.SplineRegression) else X
        with pytest.raises(RouteError, match=r"sample_weight is 1e\+1"):
            onefit.nested_cv(estimator, design, y, sample_weight=weights, route="gram")
    result = quiet_nested_cv(Ridge(), X, y, sample_weight=weights, n_folds=5, n_repeats=1)
    assert result.route == "refit"
    assert "sample_weight" in result.route_reason


@pytest.mark.parametrize("factor", [1e-50, 1e-20, 1e20, 1e50])
@pytest.mark.parametrize("settings", [{"n_folds": 5, "n_repeats": 4, "random_state": 0}, {"n_folds": "n"}], ids=str)
def test_the_units_of_y_do_not_matter(factor, settings):
    X, y = rare_column(1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        one, other = (quiet_nested_cv(Ridge(), X, unit * y, **settings) for unit in (1.0, factor))
    np.testing.assert_allclose(np.array(other.interval) / factor**2, one.interval, rtol=1e-10)
    np.testing.assert_allclose(other.monte_carlo_error, one.monte_carlo_error, rtol=1e-8)


@pytest.mark.parametrize("factor", [1e-200, 1e-155, 1e70, 1e77, 1e200])
def test_a_target_beyond_the_range_is_refused(factor):
    X, y = rare_column(1.0)
    with pytest.raises(DataError, match=r"y is as large as .* change its units"):
        onefit.nested_cv(Ridge(), X, factor * y, n_folds=5)


@pytest.mark.parametrize("route", ["gram", "onestep"])
def test_columns_beyond_the_range_are_refused_and_tiny_ones_held_at_zero(route):
    X, y = rare_column(1.0)
    with pytest.raises(DataError, match="Column 0 of X is as large as"):
        onefit.nested_cv(Ridge(), X * [1e150, 1.0], y, n_folds=5, route=route)
    tiny, without = (
        quiet_nested_cv(Ridge(), Z, y, n_folds=5, n_repeats=1, random_state=0, route=route)
        for Z in (np.c_[1e-150 * y, X[:, 1]], X[:, 1:])
    )
    np.testing.assert_allclose(tiny.estimate, without.estimate, rtol=1e-12)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_columns_that_the_penalty_holds_at_zero_let_no_rounding_errors_be_fitted(is_sparse):
    """Three of the huge columns are the same but for their units; with the tiny ones there are more than rows."""
    huge = 1e56 * np.array([[0, -4.0675], [1.9886, 0], [0, 4.2177], [1.7722, 2.7845], [-0.63757, 0], [6.9792, 0]])
    X = np.column_stack([huge, 2 * huge[:, 0], 2 * huge[:, 0]])
    tiny = np.zeros((6, 2))
    tiny[[1, 2, 4], [0, 0, 1]] = [-4.02e-92, -8.07e-92, -4.67e-49]
    y, folds = np.array([-4.5, 7.5, 3.4, 8.4, 9.4, 0.6]), np.array([1, 0, 2, 4, 0, 3])
    model = Ridge(alpha=7.8e-18)
    both = np.hstack([X, tiny])
    found = quietly(
        onefit.nested_cv, model, sparse.csr_array(both) if is_sparse else both, y, folds=folds, route="gram"
    )
    without = quietly(onefit.nested_cv, model, X, y, folds=folds, route="gram")
    np.testing.assert_allclose(found.heldout["prediction"], without.heldout["prediction"], rtol=1e-9)


@pytest.mark.parametrize("route", ["auto", "gram", "onestep"])
def test_kernels_of_constant_columns_and_hopeless_penalties(route):
    rng = np.random.default_rng(3)
    y = rng.normal(size=20)
    constant = quiet_nested_cv(
        KernelRidge(kernel="rbf"), np.ones((20, 2)), y, n_folds=4, n_repeats=1, random_state=0, route=route
    )
    # the kernel is all ones: the prediction is the sum of the others over their number plus one
    assert np.isfinite(constant.estimate)
    X = rng.normal(size=(20, 2))
    with pytest.raises(OneFitError, match="alpha=1e-160"):
        onefit.nested_cv(KernelRidge(alpha=1e-160, kernel="rbf"), X, y, n_folds=4, route="onestep")
    for alpha in (1e-6, 1e-9):
        with pytest.raises(RouteError, match="rounding errors in the kernel"):
            onefit.nested_cv(KernelRidge(alpha=alpha, kernel="poly", degree=3), 10 * X, y, n_folds=4, route="gram")


def test_a_kernel_whose_sums_are_no_numbers_is_refused_in_words_and_without_a_warning():
    """Fuzz case 500009275: entries of 1e307 are numbers, and twice as much times twelve rows is none."""
    X, y = 1e51 * np.random.default_rng(0).normal(size=(12, 2)), np.zeros(12)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        with pytest.raises(RouteError, match="whose sums may not be numbers; rescale X"):
            onefit.nested_cv(KernelRidge(kernel="poly", alpha=1e7), X, y, folds=[np.arange(12)], route="onestep")


def test_a_kernel_of_far_points_needs_no_penalty_above_its_rounding_errors():
    """All points are far from each other: K is the identity, and the smallest penalty is as good as none."""
    y = np.random.default_rng(4).normal(size=12)
    X = 100.0 * np.arange(12)[:, None]
    result = quiet_nested_cv(KernelRidge(alpha=1e-15, kernel="rbf"), X, y, n_folds=4, n_repeats=1, route="gram")
    np.testing.assert_allclose(result.estimate, np.square(y).mean(), rtol=1e-9)


@pytest.mark.parametrize("offset", [1e4, 1e6])
def test_kernels_of_differences_do_not_know_the_offset_of_columns(offset):
    rng = np.random.default_rng(5)
    X = np.round(rng.normal(size=(40, 3)), 6)
    y = X[:, 0] + rng.normal(size=40)
    one, other = (quiet_nested_cv(KernelRidge(alpha=1e-3, kernel="rbf"), Z, y, n_folds="n") for Z in (X, X + offset))
    np.testing.assert_allclose(one.estimate, other.estimate, rtol=1e-6)  # the offset has cost X its last digits


def exact_loo_choice(X, y, alphas):
    """RidgeCV's own rule by brute force: leave each row out, centred anew, with QR of the stacked design."""
    scores = []
    for alpha in alphas:
        errors = []
        for i in range(len(y)):
            rows = np.arange(len(y)) != i
            centre, mean = X[rows].mean(axis=0), y[rows].mean()
            stacked = np.vstack([X[rows] - centre, np.sqrt(alpha) * np.eye(X.shape[1])])
            coef = np.linalg.lstsq(stacked, np.append(y[rows] - mean, np.zeros(X.shape[1])), rcond=None)[0]
            errors.append(y[i] - mean - (X[i] - centre) @ coef)
        scores.append(np.mean(np.square(errors)))
    return alphas[int(np.argmin(scores))]


@pytest.mark.parametrize("is_scaled", [False, True])
def test_leave_one_out_of_a_row_that_alone_sees_a_column(is_scaled):
    """Its leverage is one up to the penalty: the ratio of two tiny numbers must not be one of rounding errors."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(24, 3))
    X[:, 2] = 0.0
    X[5, 2] = 1.0
    y = X[:, 0] + rng.normal(size=24)
    y[5] += 30.0
    alphas = (1e-14, 1e-12, 1e-2, 10.0)
    ids = np.arange(24) % 4
    model = make_pipeline(StandardScaler(), RidgeCV(alphas)) if is_scaled else RidgeCV(alphas)
    result = quiet_nested_cv(model, X, y, folds=ids)
    assert result.route == "gram"
    expected = np.empty(24)
    for fold in range(4):
        train = ids != fold
        Z, Z_out = X[train], X[~train]
        if is_scaled:
            scaler = StandardScaler().fit(Z)
            Z, Z_out = scaler.transform(Z), scaler.transform(Z_out)
        alpha = exact_loo_choice(Z, y[train], alphas)
        centre, mean = Z.mean(axis=0), y[train].mean()
        stacked = np.vstack([Z - centre, np.sqrt(alpha) * np.eye(3)])
        coef = np.linalg.lstsq(stacked, np.append(y[train] - mean, np.zeros(3)), rcond=1e-14)[0]
        expected[~train] = mean + (Z_out - centre) @ coef
    np.testing.assert_allclose(result.heldout["prediction"], expected, rtol=1e-8)


def test_a_large_penalty_does_not_find_the_null_space_of_its_matrix():
    """The smallest eigenvalue of this matrix is computed as 2.7e-15 in place of zero, and the penalty magnifies it."""
    S = np.array([[1.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 1.0]])
    rng = np.random.default_rng(7)
    X = rng.normal(size=(30, 3))
    y = X.sum(axis=1) + rng.normal(size=30)
    coef = onefit.PenalizedRegression(penalty=S, lam=1e15, fit_intercept=False).fit(X, y).coef_
    total = X.sum(axis=1)
    np.testing.assert_allclose(coef, (total @ y) / (total @ total), rtol=1e-10)


@pytest.mark.parametrize("size", [1e6, 1e12])
@pytest.mark.parametrize("alpha", [1e-6, 1e-2, 1.0])
@pytest.mark.parametrize("route", ["gram", "onestep"])
def test_a_column_that_is_zero_in_training_moves_nothing_however_large_it_is_elsewhere(size, alpha, route):
    rng = np.random.default_rng(8)
    X, ids = rng.normal(size=(18, 4)), np.arange(18) % 6
    X[:, 3] = 0.0
    X[4, 3] = size
    y = X[:, 0] + 0.5 * rng.normal(size=18)
    for design in (X, sparse.csr_matrix(X)) if route == "gram" else (X,):
        one, other = (
            quiet_nested_cv(Ridge(alpha), Z, y, folds=ids, route=r) for Z, r in ((design, route), (X, "refit"))
        )
        np.testing.assert_allclose(one.raw_estimate, other.raw_estimate, rtol=1e-12)


def test_a_sparse_column_that_is_constant_up_to_its_last_bits_is_refused_like_a_dense_one():
    rng = np.random.default_rng(9)
    X, ids = rng.normal(size=(40, 2)), np.arange(40) // 8
    X[:, 0] = 1e8 + np.arange(40) % 3 * 1.5e-8
    X[:8, 0] = 0.0
    for design in (X, sparse.csr_matrix(X)):
        with pytest.raises(TrainingSetError, match="fold 0 held out"):
            onefit.nested_cv(LinearRegression(), design, rng.normal(size=40), folds=ids, route="gram")


@pytest.mark.parametrize("kind", [onefit.SplineRegression, onefit.AdditiveModel, onefit.PenalizedRegression])
def test_a_fit_holds_nothing_that_grows_with_the_square_of_the_rows(kind):
    rng = np.random.default_rng(10)
    x = rng.uniform(size=(20_000, 1))
    tracemalloc.start()
    try:
        kind().fit(x, np.sin(6 * x[:, 0]) + rng.normal(size=len(x)))
        assert tracemalloc.get_traced_memory()[1] < 200e6  # a matrix of all rows by all rows has 3,200
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "model",
    [
        Ridge(),
        RidgeCV(alphas=np.logspace(-2, 5, 29)),
        make_pipeline(StandardScaler(), RidgeCV(alphas=np.logspace(-2, 5, 29))),
        onefit.PenalizedRegression(lam="gcv"),
    ],
    ids=["ridge", "tuned", "scaled", "gcv"],
)
def test_a_wide_table_makes_nothing_of_columns_by_columns(model):
    """50 rows x 10,000 columns took two minutes: everything was done in the space of the columns."""
    rng = np.random.default_rng(12)
    X = rng.normal(size=(50, 3000))
    tracemalloc.start()
    try:
        quiet_nested_cv(model, X, X[:, 0] + rng.normal(size=50), n_folds=5, n_repeats=1)
        assert tracemalloc.get_traced_memory()[1] < 30e6  # a matrix of all columns by all columns has 72
    finally:
        tracemalloc.stop()


def test_a_training_set_that_is_refitted_holds_nothing_that_grows_with_the_square_of_the_rows():
    rng = np.random.default_rng(11)
    X, y = rng.normal(size=(20_000, 5)), rng.normal(size=20_000)
    X[5, 3] = 1e9  # in its absence the column is another one, and downdating has lost it
    tracemalloc.start()
    try:
        quiet_nested_cv(LinearRegression(), X, y, n_folds=5, n_repeats=1)
        assert tracemalloc.get_traced_memory()[1] < 200e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("p", [12, 40])
@pytest.mark.parametrize("settings", FAST, ids=str)
def test_a_target_far_larger_than_its_residuals_keeps_their_digits(settings, p):
    """A column of nearly ones takes the place of the intercept, and the fit nearly interpolates the rows.

    Residuals of the fit on all rows have the rounding errors of y, which a small eigenvalue magnifies.
    """
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(15, p)), 7e6 + rng.normal(size=15)
    X[:, 0] += 1e6
    if p < 15:  # two rows that alone see a column each
        X[:, 1:3] = 0.0
        X[[3, 8], [1, 2]] = 1.0
    alpha = 1e-3 if p > 15 else 1e-4
    ids = np.arange(15) if "n_folds" in settings else np.arange(15) % 5
    folds = {} if "n_folds" in settings else {"folds": ids}
    result = quiet_nested_cv(Ridge(alpha=alpha, fit_intercept=False), X, y, **folds, **settings)
    expected = np.empty(15)
    for fold in range(ids.max() + 1):
        train = ids != fold
        stacked = np.vstack([X[train], np.sqrt(alpha) * np.eye(p)])
        coef = np.linalg.lstsq(stacked, np.append(y[train], np.zeros(p)), rcond=None)[0]
        expected[~train] = X[~train] @ coef
    assert relative_gap(y - result.heldout["prediction"], y - expected) < 1e-7


@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_scaled_columns_that_are_sums_of_others_are_not_fitted_to_their_last_bits(offset):
    """In training sets with fewer rows than columns; a penalty above the squares of rounding errors holds them."""
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(13, 9)) + offset, rng.normal(size=13)
    X[:, 5], X[:, 6] = X[:, 2] + X[:, 4], X[:, 4] - X[:, 3]
    ids = np.arange(13) % 4
    model = make_pipeline(StandardScaler(), Ridge(alpha=1e-17))
    result = quiet_nested_cv(model, X, y, folds=ids, route="gram")
    expected = np.empty(13)
    for fold in range(4):
        train = ids != fold
        centre, scale, mean = X[train].mean(axis=0), X[train].std(axis=0), y[train].mean()
        coef = np.linalg.lstsq((X[train] - centre) / scale, y[train] - mean, rcond=1e-8)[0]
        expected[~train] = mean + (X[~train] - centre) / scale @ coef
    assert relative_gap(result.heldout["prediction"], expected) < 1e-7


def test_rows_of_no_weight_beside_free_columns_that_reach_everything_are_refused_by_name():
    rng = np.random.default_rng(7)
    X, y, weights = rng.normal(size=(7, 20)), rng.normal(size=7), np.ones(7)
    weights[2] = 0.0
    model = onefit.PenalizedRegression(penalty=np.diag(np.arange(20) % 2.0), lam=1e-12)
    with pytest.raises(TrainingSetError, match="not unique"):
        onefit.nested_cv(model, X, y, sample_weight=weights, n_folds=3, n_repeats=1, random_state=0)


@pytest.mark.parametrize("size", [1.0, 1e4, 4e7])
@pytest.mark.parametrize("offset", [None, 1e3, 1e6])
def test_leave_one_out_of_a_row_that_alone_sees_a_large_column_is_that_of_a_fit_without_it(size, offset):
    """Of such a row, residual and one minus leverage are as small as the penalty beside the column's square.

    With columns that are sums of others up to the last bits of an offset there are directions of rounding errors.
    """
    rng = np.random.default_rng(8)
    X, y, lams = rng.normal(size=(12, 3)), rng.normal(size=(12, 1)), np.array([1e-12, 1e-9, 1e-4, 1.8, 4e5])
    X[:, 1] = size * (np.arange(12) == 4)
    if offset:
        X, lams = np.c_[X, X[:, 0] + X[:, 2] + offset, X[:, 2] - X[:, 0] + offset], lams[2:]
    columns = columns_of(X, None, True)
    columns = columns.moved(columns.middles())
    found = criterion_values(spectrum_of_rows(columns, y - y.mean()).spectrum, lams[None], "loo")[0, :, 0]
    expected = np.zeros(len(lams))
    for at, lam in enumerate(lams):
        for row in range(12):
            others = np.delete(np.arange(12), row)
            centre, mean = X[others].mean(axis=0), y[others].mean()
            stacked = np.vstack([X[others] - centre, np.sqrt(lam) * np.eye(X.shape[1])])
            length = np.linalg.norm(stacked, axis=0)
            right = np.append(y[others, 0] - mean, np.zeros(X.shape[1]))
            coef = np.linalg.lstsq(stacked / length, right, rcond=None)[0] / length
            expected[at] += np.square(y[row, 0] - mean - (X[row] - centre) @ coef) / 12
    np.testing.assert_allclose(found, expected, rtol=1e-7)


def test_scaled_columns_in_training_sets_of_one_row_predict_its_target():
    X, y = np.arange(6.0).reshape(3, 2) ** 2, np.array([1.0, 5.0, 3.0])
    model = make_pipeline(StandardScaler(), RidgeCV(alphas=[1e-12, 1.0]))
    result = quiet_nested_cv(model, X, y, folds=np.arange(3), route="gram")
    expected = np.square([y[[1, 2]] - y[0], y[[0, 2]] - y[1], y[[0, 1]] - y[2]]).mean()
    assert result.raw_estimate == pytest.approx(expected, rel=1e-12)


def exact_ridge(X, y, weights, alpha):
    """Coefficients of a weighted ridge regression without an intercept, in fractions: no digit is lost."""
    X, y, w = (np.vectorize(Fraction)(each) for each in (X, y, weights))
    system = np.c_[X.T @ (w[:, None] * X), X.T @ (w * y)]
    system[np.diag_indices(X.shape[1])] += Fraction(alpha)
    return solved(system).tolist()


def test_a_column_that_is_a_sum_is_no_direction_of_rounding_errors_without_the_row_that_one_summand_lives_in():
    """The mean of such a column is carried into all rows; without that row its rounding errors were fitted.

    The penalty that leave-one-out chooses is that of exact fits without each row. (Fuzz case 83009589.)
    """
    rng = np.random.default_rng(2)
    X, y, alphas = 1e8 * rng.normal(size=(14, 3)), rng.normal(size=14), (1.5, 1e20)
    X[:, 1] = 3e11 * (np.arange(14) == 4)
    X[:, 2] = X[:, 0] + X[:, 1]
    y += 1.5e-8 * (X[:, 0] + X[:, 2])
    ids = np.arange(14) % 7 - 1  # two rows are in every training set, the wild one among them
    ids[4] = -1

    def predict(train, row, alpha):
        table = [[Fraction(v) for v in X[i]] for i in train]
        centre = [sum(column) / len(train) for column in zip(*table, strict=True)]
        mean = sum(Fraction(v) for v in y[train]) / len(train)
        moved = np.array([[v - c for v, c in zip(line, centre, strict=True)] for line in table], dtype=object)
        coef = exact_ridge(moved, [Fraction(v) - mean for v in y[train]], np.ones(len(train)), alpha)
        return mean + sum((Fraction(v) - c) * b for v, c, b in zip(X[row], centre, coef, strict=True))

    def loss_without(fold):
        train, held_out = np.flatnonzero(ids != fold), np.flatnonzero(ids == fold)
        by_alpha = [
            sum((Fraction(y[row]) - predict(np.setdiff1d(train, [row]), row, alpha)) ** 2 for row in train)
            for alpha in alphas
        ]
        best = alphas[int(np.argmin(by_alpha))]
        return float(np.mean([(Fraction(y[row]) - predict(train, row, best)) ** 2 for row in held_out]))

    expected = [loss_without(fold) for fold in range(6)]
    result = quiet_nested_cv(RidgeCV(alphas=alphas), X, y, folds=ids, route="gram")
    np.testing.assert_allclose(result.fold_errors.e_out.ravel(), expected, rtol=1e-7)


@pytest.mark.parametrize("settings", FAST, ids=str)
def test_rows_of_little_weight_have_no_rounding_errors_of_heavy_ones(settings):
    """Columns that hardly vary beside a constant one, and a target far from zero: light rows need all their digits."""
    rng = np.random.default_rng(10)
    X = np.c_[np.full(16, 4e8), 5e-3 + 2e-8 * rng.normal(size=16), 8e-5 + 2e-8 * rng.normal(size=16)].astype(float)
    y, weights = 1e7 + rng.normal(size=16), 10.0 ** rng.uniform(-5, 1, size=16)
    weights[14] = 3e3
    ids = np.arange(16) if "n_folds" in settings else np.arange(16) % 4
    more = {} if "n_folds" in settings else {"folds": ids}
    model = Ridge(alpha=7e-17, fit_intercept=False)
    result = quiet_nested_cv(model, X, y, sample_weight=weights, **more, **settings)
    expected = np.empty(16)
    for fold in range(ids.max() + 1):
        train = ids != fold
        coef = exact_ridge(X[train], y[train], weights[train], 7e-17)
        for row in np.flatnonzero(~train):
            fitted = sum(Fraction(v) * b for v, b in zip(X[row], coef, strict=True))
            expected[row] = float(Fraction(y[row]) - fitted)
    assert relative_gap(y - result.heldout["prediction"], expected) < 1e-6


def test_an_eigenvalue_far_beyond_a_penalty_is_not_known_and_warns_of_nothing():
    with np.errstate(all="raise"):
        known = _is_known(np.array([[1e250], [1.0]]), np.array([[1e-90], [1.0]]), np.ones(2))
    assert known.tolist() == [False, True]


def test_a_gaussian_kernel_knows_rows_apart_that_share_a_large_number():
    rng = np.random.default_rng(11)
    X, y = np.c_[1e9 * (np.arange(20) % 2), rng.normal(size=20)], rng.normal(size=20)
    settings = {"folds": np.arange(20) % 5, "route": "gram"}
    K = np.exp(-0.5 * np.square(X[:, None] - X).sum(axis=2))
    one = quiet_nested_cv(KernelRidge(kernel="rbf", alpha=0.1), X, y, **settings)
    other = quiet_nested_cv(KernelRidge(kernel="precomputed", alpha=0.1), K, y, **settings)
    assert relative_gap(one.heldout["prediction"], other.heldout["prediction"]) < 1e-10


@pytest.mark.parametrize("route", ["gram", "onestep"])
@pytest.mark.parametrize("alpha", [1e-14, 1.0])
def test_rare_columns_that_are_proportional_in_training_share_their_coefficient(route, alpha):
    """What rounding leaves of their difference is as large as the smallest columns, and other rows tell them apart."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(12, 16)) * 10.0 ** np.r_[0, 0, 9:11:6j, 0:4:8j]
    X[:, :2] = 0.0
    X[0, :2], X[1, 0], X[2, 1] = [4e13, 4e11], 4e13, -3e11
    y, ids = rng.normal(size=12), np.array([0, 1, 1, *(np.arange(9) % 3 + 2)])
    result = quiet_nested_cv(Ridge(alpha=alpha, fit_intercept=False), X, y, folds=ids, route=route)
    train = ids != 1
    coef = exact_ridge(X[train], y[train], np.ones(10), alpha)
    expected = [float(sum(Fraction(v) * b for v, b in zip(X[row], coef, strict=True))) for row in (1, 2)]
    np.testing.assert_allclose(result.heldout["prediction"][1:3], expected, rtol=1e-7)


@pytest.mark.parametrize("seed", range(6))
def test_columns_of_unlike_sizes_that_outnumber_the_rows_are_right_or_refused(seed):
    """Weights round the largest columns by more than the smallest are: predictions could be 1e-5 off."""
    rng = np.random.default_rng(seed)
    n, p, alpha = 10, 16, 4.7e-7
    X = rng.normal(size=(n, p)) * 10.0 ** rng.uniform(21, 32, p)
    X[:, :5] = X[:, 5:10] * 0.3
    y, w, ids = rng.normal(size=n), 10.0 ** rng.uniform(-10, -1, n), np.arange(n) % 5
    model = Ridge(alpha=alpha, fit_intercept=False)
    try:
        result = quiet_nested_cv(model, X, y, folds=ids, sample_weight=w, route="gram")
    except TrainingSetError as error:
        assert "more columns than rows, of sizes so different" in str(error)  # noqa: PT017
        return
    train = ids != 1
    coef = exact_ridge(X[train], y[train], w[train], alpha)
    expected = [float(sum(Fraction(v) * b for v, b in zip(row, coef, strict=True))) for row in X[~train]]
    np.testing.assert_allclose(result.heldout["prediction"][~train], expected, rtol=1e-7)


def test_a_penalty_that_uneven_columns_refuse_leaves_the_others_of_its_curve():
    rng = np.random.default_rng(0)
    n, p = 100, 140
    X = rng.normal(size=(n, p)) * 10.0 ** rng.uniform(21, 32, p)
    X[:, :5] = X[:, 5:10] * 0.3
    y, w, ids = rng.normal(size=n), 10.0 ** rng.uniform(-10, -1, n), np.arange(n) % 5
    keywords = {"folds": ids, "sample_weight": w}
    curve = quietly(
        onefit.error_curve,
        Ridge(),
        X,
        y,
        param_name="alpha",
        param_range=[4.7e-7, 1e50, 1e60],
        route="gram",
        **keywords,
    )
    frame = curve.to_frame()
    assert frame["estimate"].isna().tolist() == [True, False, False]
    assert "of sizes so different" in frame["reason"].iloc[0]
    with pytest.raises(TrainingSetError, match=r"^In repeat 0 with fold.*held out, the training set of .*so different"):
        onefit.nested_cv(RidgeCV(alphas=[1e-7, 1e-6]), X, y, **keywords)


def test_a_penalty_far_below_others_of_its_curve_knows_the_directions_of_small_columns():
    """In the middle between the penalties the columns are next to nothing, but at the least they are not."""
    rng = np.random.default_rng(2)
    X, y, ids = 1e-8 * rng.normal(size=(30, 12)), rng.normal(size=30), np.arange(30) % 5
    alphas = [1e-14, 1e-5, 1.0, 30.0]
    curve = quietly(
        onefit.error_curve,
        Ridge(fit_intercept=False),
        X,
        y,
        param_name="alpha",
        param_range=alphas,
        folds=ids,
        route="gram",
    )
    expected = np.empty(30)
    for fold in range(5):
        coef = exact_ridge(X[ids != fold], y[ids != fold], np.ones(24), alphas[0])
        for row in np.flatnonzero(ids == fold):
            expected[row] = float(sum(Fraction(v) * b for v, b in zip(X[row], coef, strict=True)))
    assert relative_gap(curve.results[0].heldout["prediction"], expected) < 1e-9


@pytest.mark.parametrize("count", [3, 40])
def test_leave_one_out_of_many_rows_that_alone_see_a_large_column_is_that_of_fits_without_them(count, monkeypatch):
    """Too many for a decomposition each: they are left out together, and the others put back."""
    monkeypatch.setattr("onefit.criteria.rows.MOST_WORK", 1.0)
    rng = np.random.default_rng(3)
    X, y, w = rng.normal(size=(80, count + 4)), rng.normal(size=(80, 2)), rng.uniform(0.5, 2, size=80)
    X[:, :count] = 0.0
    X[np.arange(count), np.arange(count)] = 10.0 ** rng.uniform(8, 11, size=count)
    lams, root = np.array([1e-6, 1.0]), np.sqrt(w)
    columns = columns_of(X, None, True).weighted(root)
    spectrum = spectrum_of_rows(columns, root[:, None] * y, root, smallest=1e-6).spectrum
    expected = np.zeros((2, 2))
    for at, row in np.ndindex(2, 80):
        rest = np.delete(np.arange(80), np.union1d(row, np.arange(count)))  # rows of their own columns say nothing else
        Z = np.c_[np.ones(80), X[:, count:]]
        penalty = np.diag([0.0, *np.full(4, lams[at])])
        # the other rare rows are reached by their columns, up to the penalty
        coef = np.linalg.solve((Z[rest].T * w[rest]) @ Z[rest] + penalty, (Z[rest].T * w[rest]) @ y[rest])
        expected[at] += w[row] * np.square(y[row] - Z[row] @ coef) / 80
    np.testing.assert_allclose(criterion_values(spectrum, lams[None], "loo")[0], expected, rtol=1e-9)
    axis = np.array([1.0, np.exp(1e-5)])
    below, above = criterion_values(spectrum, axis[None], "loo")[0].sum(axis=1) * 80
    assert 2 * _slopes(spectrum, axis[:1], "loo")[0] == pytest.approx((above - below) / 1e-5, rel=1e-3)


def test_a_row_of_no_weight_is_predicted_from_sparse_columns_of_any_scale():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(8, 20)) * (rng.random((8, 20)) < 0.4) * 10.0 ** np.linspace(-6, 9, 20)
    y, weights = rng.normal(size=8), np.array([0.0, *rng.uniform(0.5, 2, size=7)])
    settings = {"sample_weight": weights, "folds": np.array([3, 0, 1, 2, 0, 1, 2, 0]), "route": "gram"}
    result = quiet_nested_cv(Ridge(alpha=1e-3, fit_intercept=False), sparse.csr_matrix(X), y, **settings)
    coef = exact_ridge(X[1:], y[1:], weights[1:], 1e-3)
    expected = float(sum(Fraction(v) * b for v, b in zip(X[0], coef, strict=True)))
    assert result.heldout["prediction"][0] == pytest.approx(expected, rel=1e-11)


def test_a_chosen_penalty_keeps_the_digits_of_residuals_far_smaller_than_the_target():
    """The small column is known to some digits less than the large one, and carries most of an exact target."""
    rng = np.random.default_rng(5)
    X, ids = rng.normal(size=(24, 2)) * [2.0, 3e-6], np.arange(24) % 4
    y = X @ [0.2, 3e5]
    model = RidgeCV(alphas=[2e-12, 1.5], fit_intercept=False)
    result = quiet_nested_cv(model, X, y, folds=ids, route="gram")
    for fold in range(4):
        coef = exact_ridge(X[ids != fold], y[ids != fold], np.ones(18), 2e-12)
        for row in np.flatnonzero(ids == fold):
            expected = float(Fraction(y[row]) - sum(Fraction(v) * b for v, b in zip(X[row], coef, strict=True)))
            assert y[row] - result.heldout["prediction"][row] == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_a_penalty_chosen_for_columns_too_small_to_square_warns_of_nothing_in_threads():
    rng = np.random.default_rng(0)
    X, ids = rng.normal(size=(20, 4)), np.stack([rng.permutation(20) % 6 for _ in range(2)])
    y = X.sum(axis=1) + rng.normal(size=20)
    settings = {"folds": ids, "route": "gram", "n_jobs": 2, "progress": False}
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        result = onefit.nested_cv(RidgeCV(alphas=[1.7, 6e12]), X * [1e-35, 1e-21, 1e-9, 1e-7], y, **settings)
    means = [[y[each != fold].mean() for fold in each] for each in ids]  # the columns are held at zero
    np.testing.assert_allclose(result.heldout["prediction"], np.mean(means, axis=0), rtol=0, atol=1e-10)


def test_columns_beyond_all_digits_are_refused_if_the_penalty_ties_them_to_each_other():
    """A small column is not held at zero by a penalty on differences of coefficients."""
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(19, 4)) * [1e18, 1e40, 1e38, 1e-20], rng.normal(size=19)
    D = np.diff(np.eye(4), axis=0)
    model = onefit.PenalizedRegression(penalty=D.T @ D, lam=3.8)
    with pytest.raises(RouteError, match="span a ratio of"):
        quiet_nested_cv(model, X, y, sample_weight=[0.0, *np.ones(18)], folds=np.arange(19) % 7, route="gram")
    with pytest.raises(DataError, match="span a ratio of"):  # or refits would be off by a third without a word
        model.fit(X, y)


@pytest.mark.parametrize("route", ["gram", "onestep"])
def test_a_row_of_little_weight_that_alone_sees_a_column_has_no_rounding_errors_of_heavy_ones(route):
    """Its weight, 1e-9 of the largest, divides the errors of a training set that just counts as well conditioned."""
    rng = np.random.default_rng(17)
    X, y, ids = (
        rng.normal(size=(16, 2)),
        rng.normal(size=16),
        np.array([3, 3, 0, 0, 1, 3, 2, 0, 2, 1, 2, 2, 1, 0, 1, 3]),
    )
    X[:, 0] = np.where(np.isin(np.arange(16), [0, 15]), X[:, 0] * 10.0 ** rng.uniform(6, 8), 0.0)
    X[:, 1] *= 3e14
    w = 10.0 ** np.array([-10.6, -8, -8, -3, -5, -6, -8, -2, -7, -7, -5, -8, -6, -2, -3, -8])
    result = quiet_nested_cv(Ridge(alpha=50.0), X, y, sample_weight=w, folds=ids, route=route)
    train = ids != 3  # without the rows that see the first column
    (mean, centre), v = (np.average(each[train], weights=w[train]) for each in (y, X[:, 1])), w[train]
    z = X[train, 1] - centre
    expected = mean + (v * z * (y[train] - mean)).sum() / ((v * z * z).sum() + 50.0) * (X[~train, 1] - centre)
    np.testing.assert_allclose(
        result.heldout["prediction"][~train], expected, rtol=0, atol=1e-10 * np.abs(expected).max()
    )


@pytest.mark.skipif(np.finfo(np.longdouble).eps == np.finfo(np.float64).eps, reason="long double is double here")
@pytest.mark.parametrize("seed", [6, 13, 18])
def test_a_chosen_penalty_knows_columns_over_ten_decades_as_a_given_one_does(seed):
    """Training sets of as many rows as columns, decomposed from their rows, were not refined: 1e-7 off."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(15, 9)) * 10.0 ** np.array([9.5, 9.4, 1.25, 1.56, 11.5, 5.45, 10.9, 3.6, 11.3])
    X[:, 3], X[:, 6] = 2 * X[:, 2], X[:, 4] / 4
    y, w = X @ rng.normal(size=9) / 1e9 + 1e3 * rng.normal(size=15), rng.uniform(0.2, 3, 15)
    chosen, given = (
        quiet_nested_cv(model, X, y, folds=np.arange(15) % 5, sample_weight=w, route="gram").fold_errors.e_in
        for model in (RidgeCV([1.9, 1.9]), Ridge(1.9))
    )
    np.testing.assert_allclose(chosen, given, rtol=1e-10)


def test_a_training_set_of_one_row_with_free_columns_is_refused_by_name():
    """No column varies in it, so that none could be told from others: an error of the linear algebra leaked."""
    rng = np.random.default_rng(0)
    model = onefit.PenalizedRegression(penalty=np.diag([0.03, 0.0]), lam=5e-3)
    w, ids = [1.0, 2.0, 1.0, 1.0, 0.0, 1.0], [1, 0, 1, 2, 2, 0]
    with pytest.raises(TrainingSetError, match="training set of 1 row"):
        quiet_nested_cv(model, rng.normal(size=(6, 2)), rng.normal(size=6), sample_weight=w, folds=ids, route="onestep")


def test_a_training_set_of_no_rows_is_refused_without_a_warning():
    X, y = np.arange(6.0)[:, None], np.arange(6.0) % 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(TrainingSetError, match="training set of 0 rows"):
            onefit.nested_cv(
                onefit.PenalizedRegression(penalty=[[1.0]], lam=1e-3),
                X,
                y,
                sample_weight=[0, 0, 1, 1, 1, 1],
                folds=np.arange(6) // 2,
                route="gram",
            )


def exact_kernel_predictions(K, y, w, ids, alpha):
    """Held-out predictions of kernel ridge regression in fractions, from the entries of K as they are."""
    K, y = np.vectorize(Fraction)(K), np.vectorize(Fraction)(y)
    predictions = np.empty(len(y))
    for fold in np.unique(ids):
        train, test = np.flatnonzero((ids != fold) & (w > 0)), np.flatnonzero(ids == fold)
        system = np.c_[K[np.ix_(train, train)], y[train]]
        system[np.diag_indices(len(train))] += [Fraction(alpha) / Fraction(each) for each in w[train]]
        predictions[test] = (K[np.ix_(test, train)] @ solved(system)).astype(float)
    return predictions


@pytest.mark.parametrize("settings", FAST, ids=str)
def test_a_row_of_no_weight_is_predicted_by_a_kernel_of_any_scale(settings):
    """Its features were those of all rows, and a penalty far below them did not hold what the others do not see."""
    rng = np.random.default_rng(51)
    X, w, y = 3e4 * rng.normal(size=(11, 80)), rng.uniform(0.5, 3, size=11), np.full(11, 0.0076)
    w[6:8] = 0.0
    ids = np.arange(11) if "n_folds" in settings else np.array([4, 0, 2, 3, 2, 4, 1, 3, 2, 2, 2])
    curve = quietly(
        onefit.error_curve, KernelRidge(kernel="poly"), X, y, param_name="alpha", param_range=[1.5, 1e3, 1e10],
        sample_weight=w, **({} if "n_folds" in settings else {"folds": ids}), **settings,
    )  # fmt: skip
    assert not any(curve.reasons)
    for alpha, result in zip([1.5, 1e3, 1e10], curve.results, strict=True):
        exact = exact_kernel_predictions((X @ X.T / 80 + 1) ** 3, y, w, ids, alpha)
        np.testing.assert_allclose(result.heldout["prediction"], exact, rtol=0, atol=1e-9 * y[0])


@pytest.mark.parametrize("route", ["gram", "onestep"])
@pytest.mark.parametrize("alpha", [1e-7, 1e-6, 1e-4, 1e-2, 1.0])
def test_folds_of_several_rows_of_a_kernel_are_known_to_the_digits_that_matter_or_refused(route, alpha):
    """Single rows are well known where folds, at the ends of the data, are not."""
    rng = np.random.default_rng(3)
    x = 1.5 * rng.normal(size=21)
    w, y = 10.0 ** rng.uniform(2, 4, size=21), 8e4 + rng.normal(size=21)
    K, ids = np.exp(-np.square(x[:, None] - x)), np.argsort(np.argsort(x)) // 3  # neighbours are out together
    model, settings = KernelRidge(alpha=alpha, kernel="precomputed"), {"sample_weight": w, "folds": ids, "route": route}
    if alpha < 1e-5:
        with pytest.raises(OneFitError, match="rounding errors in the kernel"):
            onefit.nested_cv(model, K, y, **settings)
        return
    found = quiet_nested_cv(model, K, y, **settings).heldout["prediction"]
    exact = exact_kernel_predictions(K, y, w, ids, alpha)
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-7 * np.abs(exact - y).max())


@pytest.mark.parametrize("route", ["gram", "onestep"])
def test_a_kernel_of_rows_of_very_different_sizes_knows_the_small_ones(route):
    """A column that is zero but in one row: the errors of an eigendecomposition are of the size of that one."""
    x = np.zeros(18)
    x[4] = 6e6
    y = 40 + np.random.default_rng(7).normal(size=18)
    ids = np.arange(18) % 6
    result = quiet_nested_cv(KernelRidge(alpha=1.3, kernel="poly"), x[:, None], y, folds=ids, route=route)
    exact = exact_kernel_predictions((np.multiply.outer(x, x) + 1) ** 3, y, np.ones(18), ids, 1.3)
    np.testing.assert_allclose(result.heldout["prediction"], exact, rtol=1e-9)


def exact_penalized_predictions(X, y, S, ids, lam, fit_intercept=True):
    """Held-out predictions of a penalized regression in fractions, from the normal equations."""
    n, p = X.shape
    A, y = np.vectorize(Fraction)(np.c_[X, np.ones((n, int(fit_intercept)))]), np.vectorize(Fraction)(y)
    P = np.full((A.shape[1], A.shape[1]), Fraction(0))
    P[:p, :p] = np.vectorize(Fraction)(S) * Fraction(lam)
    predictions = np.empty(n)
    for fold in np.unique(ids):
        train = A[ids != fold]
        system = np.c_[train.T @ train + P, train.T @ y[ids != fold]]
        predictions[ids == fold] = (A[ids == fold] @ solved(system)).astype(float)
    return predictions


@pytest.mark.parametrize("route", ["gram", "onestep"])
def test_a_penalty_matrix_makes_no_columns_of_rounding_errors(route):
    """Columns that live in one row each, tied to others by a penalty of differences: where one is zero, it is zero."""
    rng = np.random.default_rng(8)
    X = 2e7 * rng.normal(size=(18, 20))
    for row, column in enumerate((5, 10, 12)):
        X[:, column] = np.where(np.arange(18) == row, X[:, column], 0.0)
    y, ids = X[:, 0] + 1e7 * rng.normal(size=18), np.arange(18) % 3
    D = np.diff(np.eye(20), axis=0)
    model = onefit.PenalizedRegression(penalty=D.T @ D, lam=6.5e-16)
    result = quiet_nested_cv(model, X, y, folds=ids, route=route)
    exact = exact_penalized_predictions(X, y, D.T @ D, ids, 6.5e-16)
    np.testing.assert_allclose(result.heldout["prediction"], exact, rtol=0, atol=1e-8 * np.abs(exact).max())


has_extended_precision = pytest.mark.skipif(
    np.finfo(np.longdouble).eps == np.finfo(np.float64).eps, reason="long double is double here"
)


@has_extended_precision
@pytest.mark.parametrize("route", ["gram", "onestep"])
def test_columns_over_eleven_decades_that_a_penalty_ties_together_keep_their_digits(route):
    """In double precision neither the mixtures of the columns nor a QR have the digits of the small ones: 1e-7 off."""
    rng = np.random.default_rng(0)
    decades = [4.2, -0.5, 2, -4.9, 5.6, 3.6, 1.6, -2.2, 3, 0.3, 3.5, -4.6, 3.4, -3.8, 4.8, 0, -3.3, 4.4, 5.4]
    X = rng.normal(size=(20, 19)) * 10.0 ** np.array(decades)
    X[:, [2, 5, 9]], X[:, 18] = X[:, [1]], X[:, 12]
    for column, row in ((3, 1), (4, 2), (6, 3), (7, 4)):
        X[np.arange(20) != row, column] = 0.0
    y, ids, D = rng.normal(size=20), np.arange(20) % 3, np.diff(np.eye(19), axis=0)
    result = quiet_nested_cv(onefit.PenalizedRegression(penalty=D.T @ D, lam=1e-3), X, y, folds=ids, route=route)
    exact = exact_penalized_predictions(X, y, D.T @ D, ids, 1e-3)
    np.testing.assert_allclose(result.heldout["prediction"], exact, rtol=1e-10)


@pytest.mark.parametrize("route", ["gram", "onestep"])
@pytest.mark.parametrize(("scales", "rare"), [((1e5, 1e12, 1e-7), 1), ((1e12, 1e-4, 1e-6), 0)], ids=str)
def test_a_penalty_ties_no_columns_to_the_rounding_errors_of_one_that_a_training_set_lacks(scales, rare, route):
    """The largest column, in one row only, was in the mixtures of all training sets: 1% off, or refused."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3)) * scales
    X[1:, rare] = 0.0
    y, ids, D = 4e6 + 1e3 * rng.normal(size=20), np.arange(20) % 5, np.diff(np.eye(3), axis=0)
    model = onefit.PenalizedRegression(penalty=D.T @ D, lam=1e-9, fit_intercept=False)
    result = quiet_nested_cv(model, X, y, folds=ids, route=route)
    exact = exact_penalized_predictions(X, y, D.T @ D, ids, 1e-9, fit_intercept=False)
    np.testing.assert_allclose(result.heldout["prediction"], exact, rtol=1e-9)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
def test_third_powers_are_about_the_losses_of_rows_that_are_scored(loss, monkeypatch):
    """Heavier than rows that never are: powers about the mean of weighted losses cancelled, the end was 5e-7 off."""
    rng = np.random.default_rng(0)
    X, y, ids = rng.normal(size=(36, 3)), 4e4 + rng.normal(size=36), np.arange(36) % 7 - 1
    w = np.where(ids < 0, 0.2, rng.uniform(0.5, 3.0, size=36))
    settings = {"loss": loss, "sample_weight": w, "folds": ids}
    expected = quiet_nested_cv(Ridge(1e9, fit_intercept=False), X, y, route="onestep", **settings).interval
    for module, name, value in SMALL_BLOCKS:
        monkeypatch.setattr(module, name, value)
    found = quiet_nested_cv(Ridge(1e9, fit_intercept=False), X, y, route="gram", **settings).interval
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
def test_a_fold_of_little_weight_keeps_the_digits_of_its_variance_in_passes_over_blocks(loss, monkeypatch):
    """Its losses are far smaller than those of the other folds, about whose mean no squares of them may be taken."""
    for module, name, value in SMALL_BLOCKS:
        monkeypatch.setattr(module, name, value)
    X = np.zeros((18, 3))
    X[[0, 2, 3, 4, 5, 9, 15, 16, 17], 0] = [-3.5, 69.4, 101.8, -39.0, 46.2, -48.9, 39.5, -44.7, -42.8]
    X[[5, 11, 12, 13, 16], 1] = [0.5, 57.2, 72.6, 23.1, 42.9]
    X[[2, 4, 6, 7, 12, 13, 15, 16], 2] = [-25.1, -60.9, -39.9, 14.3, -36.0, 8.9, 18.1, -27.0]
    y = np.array([-0.8, 0.3, 0.8, 3.5, -0.3, 0.7, -1.6, -1.3, 0.9, -0.4, 1.4, 1.5, 0.5, 2.1, 1.2, -0.1, -1.5, -0.3])
    ids = np.array([1, 1, 0, 1, 2, 0, 3, 3, 2, 0, 3, 1, 2, 3, 0, 2, 0, 1])
    decades = [-4, 1, -5, 2, -3, -5, 2, -4, 4, -7, -1, 2, -4, -5, -2, 0, -6, -7]
    weights = 10.0 ** np.array(decades) * np.linspace(1, 5, 18)
    settings = {"sample_weight": weights, "folds": ids, "loss": loss, "route": "gram"}
    result = quiet_nested_cv(Ridge(alpha=90.0, fit_intercept=False), sparse.csr_matrix(X), y, **settings)
    losses = np.empty(18)
    for fold in range(4):
        coef = exact_ridge(X[ids != fold], y[ids != fold], weights[ids != fold], 90.0)
        for row in np.flatnonzero(ids == fold):
            u = float(Fraction(y[row]) - sum(Fraction(v) * b for v, b in zip(X[row], coef, strict=True)))
            losses[row] = (u**2 if loss == "squared_error" else abs(u)) * weights[row] / weights.mean()
    exact = np.array([np.var(losses[ids == fold], ddof=1) for fold in range(4)])
    assert exact.max() > 1e10 * exact.min()
    np.testing.assert_allclose(np.ravel(result.fold_errors.v_out), exact, rtol=1e-9)


@pytest.mark.parametrize("seed", [0, 3])
def test_a_penalty_chosen_among_columns_of_seven_decades_is_that_of_the_rows(seed, monkeypatch):
    """What a downdated decomposition knows of eigenvalues so far apart is not enough: the rows are decomposed."""
    rng = np.random.default_rng(seed)
    scales = 10.0 ** np.array([0.6, -0.5, 6.6, 0.5, 2.8])
    X = rng.standard_normal((23, 5)) * scales
    y = 1e6 * ((X / scales) @ rng.standard_normal(5) + rng.standard_normal(23))
    ids = np.arange(23) % 7
    rng.shuffle(ids)
    model = RidgeCV(alphas=[0.0082, 1.95, 19.25])
    found = quiet_nested_cv(model, X, y, folds=ids)
    monkeypatch.setattr(spectra, "KNOWN_SPAN", 0.0)  # every training set from its rows
    expected = quiet_nested_cv(model, X, y, folds=ids)
    np.testing.assert_allclose(found.fold_errors.e_in, expected.fold_errors.e_in, rtol=1e-9)
    np.testing.assert_allclose(found.fold_errors.v_out, expected.fold_errors.v_out, rtol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("exponent", [-47, -40, 47])
def test_wide_designs_of_any_scale_leave_two_rows_out(exponent, weighted):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 21))
    y, weights = 20 * X[:, 0] + rng.standard_normal(20), np.where(np.arange(20) < 2, 0.0, 1.0) if weighted else None

    def asked(power):
        model = Ridge(4.0**power, fit_intercept=False)
        return onefit.nested_cv(model, X * 2.0**power, y, sample_weight=weights, route="onestep", random_state=0)

    plain, scaled = asked(0), asked(round(exponent * np.log2(10)))
    np.testing.assert_allclose(scaled.heldout["prediction"], plain.heldout["prediction"], rtol=1e-9)
    np.testing.assert_allclose([scaled.estimate, *scaled.interval], [plain.estimate, *plain.interval], rtol=1e-9)


@pytest.mark.parametrize("route", ["gram", "onestep"])
@pytest.mark.parametrize("p", [9, 34])
def test_a_linear_kernel_with_a_tiny_penalty_is_solved_in_its_columns(route, p):
    """Its entries have rounding errors above the penalty, the columns have none."""
    rng = np.random.default_rng(3)
    X, y, ids = rng.normal(size=(42, p)), rng.normal(size=42), (np.arange(42) % 4)[None]
    result = quiet_nested_cv(KernelRidge(alpha=2e-14), X, y, folds=ids, route=route)
    refit = long_double.refitter(X, y, 2e-14, None, False, None)
    losses = long_double.fold_losses(y, ids, refit)
    assert relative_gap(result.fold_errors.e_out, losses.e_out) < 1e-9
    assert relative_gap(result.fold_errors.e_in, losses.e_in) < 1e-9


@pytest.mark.parametrize("settings", [{"route": "gram"}, {"route": "onestep"}], ids=str)
def test_columns_in_proportion_to_each_other_beside_a_far_smaller_one_share_their_coefficient(settings):
    """Two live in one row of a training set, and another row sees the small one alone. (Fuzz case 310010030.)"""
    X = np.zeros((9, 3))
    X[[0, 1, 2, 5], 2] = [-1.6e15, 2.2e15, -2.6e15, 2.25e15]
    X[3, 0], X[[3, 5, 7], 1] = -3e38, [1.1e37, 9.2e37, 6.8e37]
    y = np.array([1.44, -0.38, 1.46, -0.97, -1.69, -3.48, -0.15, -0.38, -0.17])
    ids = np.array([2, 0, 1, 1, 2, 0, 0, 0, 1])
    found = quiet_nested_cv(Ridge(alpha=4.3e-10), X, y, folds=ids, **settings).heldout["prediction"]
    exact = exact_penalized_predictions(X, y, np.eye(3), ids, 4.3e-10)
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-9 * np.abs(y).max())
