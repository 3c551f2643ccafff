"""The newton route where one row weighs more than all others together, against refits."""

import mpmath
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import GammaRegressor, LogisticRegression, PoissonRegressor, TweedieRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers import quiet_nested_cv, skip_if_balance_is_counted

TIGHT = {"tol": 1e-12, "max_iter": 1000, "solver": "newton-cholesky"}
HEAVY = 3


def problem(ratio):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    weights = np.ones(40)
    weights[HEAVY] = ratio
    return X, rng.poisson(np.exp(0.5 * X[:, 0])) + 1.0, weights, np.arange(40) % 4


def refits(estimator, X, y, weights, ids, method="predict"):
    """Held-out predictions by the estimator itself."""
    found = np.zeros(len(y))
    for fold in range(4):
        test = ids == fold
        fitted = clone(estimator).fit(X[~test], y[~test], sample_weight=weights[~test])
        predicted = getattr(fitted, method)(X[test])
        found[test] = predicted if method == "predict" else predicted[:, 1]
    return found


@pytest.mark.parametrize("ratio", [1e8, 1e12, 1e16, 1e20, 1e60])
@pytest.mark.parametrize(
    "estimator",
    [
        PoissonRegressor(**TIGHT),
        PoissonRegressor(alpha=1e-3, **TIGHT),
        GammaRegressor(**TIGHT),
        TweedieRegressor(power=1.5, link="log", **TIGHT),
    ],
    ids=str,
)
def test_training_set_without_the_heavy_row_is_fitted_as_if_that_had_never_been(estimator, ratio):
    X, y, weights, ids = problem(ratio)
    result = quiet_nested_cv(estimator, X, y, folds=ids[None], sample_weight=weights, loss="squared_error")
    expected = refits(estimator, X, y, weights, ids)
    assert result.route == "newton"
    np.testing.assert_allclose(result.heldout["prediction"].to_numpy(float), expected, rtol=1e-9)


@pytest.mark.parametrize("ratio", [1e8, 1e16, 1e20])
def test_balanced_classes_one_of_which_has_a_heavy_row_are_those_of_the_training_set(ratio):
    X, y, weights, ids = problem(ratio)
    skip_if_balance_is_counted("balanced", weights)
    y = (y > np.median(y)) * 1
    estimator = LogisticRegression(class_weight="balanced", **TIGHT)
    result = quiet_nested_cv(estimator, X, y, folds=ids[None], sample_weight=weights, loss="log_loss")
    assert result.route == "newton"
    without = ids == ids[HEAVY]  # the others' refits stop before they have converged, beside such a weight
    expected = refits(estimator, X, y, weights, ids, "predict_proba")
    np.testing.assert_allclose(result.heldout["probability_1"].to_numpy(float)[without], expected[without], rtol=1e-8)


def fit_with_fifty_digits(X, y, weights, is_gamma):
    """Coefficients, the intercept first, of a fit with a logarithmic link and without a penalty."""
    with mpmath.workdps(50):
        Z = mpmath.matrix(np.column_stack([np.ones(len(X)), X]).tolist())
        theta = mpmath.matrix([mpmath.log(np.average(y, weights=weights)), *[0] * X.shape[1]])
        for _ in range(60):
            mean = [mpmath.exp(each) for each in Z * theta]
            first = [v / m - 1 if is_gamma else v - m for v, m in zip(y.tolist(), mean, strict=True)]
            second = [v / m if is_gamma else m for v, m in zip(y.tolist(), mean, strict=True)]
            g = Z.T * mpmath.matrix([w * r for w, r in zip(weights.tolist(), first, strict=True)])
            H = Z.T * mpmath.diag([w * c for w, c in zip(weights.tolist(), second, strict=True)]) * Z
            step = mpmath.lu_solve(H, g)
            theta += step / max(1, mpmath.norm(step))
        assert mpmath.norm(step) < 1e-30
        return np.array([float(each) for each in theta])


@pytest.mark.parametrize("is_gamma", [False, True])
def test_light_rows_have_converged_too_where_no_penalty_holds_what_only_they_determine(is_gamma):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(50, 3))
    y = np.round(np.exp((X @ [1, -1, 0.5] + rng.normal(size=50)) / 2)) + 0.5
    rng.integers(0, 3, 50)
    weights = rng.uniform(0.2, 3.0, 50) * np.where(np.isin(np.arange(50), [1, 2, 3, 4]), 1e12, 1.0)
    ids = np.random.default_rng(0).permutation(np.arange(50) % 5)
    estimator = (GammaRegressor if is_gamma else PoissonRegressor)(alpha=0.0, **TIGHT)
    result = quiet_nested_cv(estimator, X, y, folds=ids[None], sample_weight=weights, loss="squared_error")
    expected = np.zeros(len(y))
    for fold in range(5):
        test = ids == fold
        theta = fit_with_fifty_digits(X[~test], y[~test], weights[~test], is_gamma)
        expected[test] = np.exp(theta[0] + X[test] @ theta[1:])
    np.testing.assert_allclose(result.heldout["prediction"].to_numpy(float), expected, rtol=1e-11)


def probabilities_with_fifty_digits(X, y, weights, new):
    """Of three classes and more, by logistic regression with C=1."""
    with mpmath.workdps(50):
        n, C = len(X), int(y.max()) + 1
        Z = mpmath.matrix(np.column_stack([X, np.ones(n)]).tolist())
        p = Z.cols
        theta, eye = mpmath.zeros(C * p, 1), mpmath.eye(C)
        held = [
            mpmath.mpf(1) if at % p < p - 1 else mpmath.mpf(10) ** -30 for at in range(C * p)
        ]  # intercepts: a sum is free

        def fitted(rows, i):
            each = [mpmath.exp(mpmath.fsum(rows[i, j] * theta[c * p + j] for j in range(p))) for c in range(C)]
            return [value / mpmath.fsum(each) for value in each]

        def objective():
            losses = [-weights[i] * mpmath.log(fitted(Z, i)[int(y[i])]) for i in range(n)]
            return mpmath.fsum(losses) + mpmath.fsum(h * t * t for h, t in zip(held, theta, strict=True)) / 2

        for _ in range(60):
            g, H = mpmath.matrix([-h * t for h, t in zip(held, theta, strict=True)]), mpmath.diag(held)
            for i in range(n):
                P = fitted(Z, i)
                for a in range(C):
                    for j in range(p):
                        g[a * p + j] += weights[i] * (eye[int(y[i]), a] - P[a]) * Z[i, j]
                        for b in range(C):
                            for k in range(p):
                                H[a * p + j, b * p + k] += weights[i] * P[a] * (eye[a, b] - P[b]) * Z[i, j] * Z[i, k]
            step, before, whole = mpmath.lu_solve(H, g), objective(), theta
            for _ in range(40):
                theta = whole + step
                if objective() <= before or mpmath.norm(step) < 1e-25:
                    break
                step /= 2
            if mpmath.norm(step) < 1e-20:
                break
        rows = mpmath.matrix(np.column_stack([new, np.ones(len(new))]).tolist())
        return np.array([[float(value) for value in fitted(rows, i)] for i in range(len(new))])


@pytest.mark.parametrize("ratio", [1e8, 1e13])
def test_three_classes_with_a_heavy_row_are_fitted_to_all_digits(ratio):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(24, 1)), rng.integers(0, 3, 24)
    weights, ids = np.r_[ratio, np.ones(23)], np.arange(24) % 4
    result = quiet_nested_cv(LogisticRegression(), X, y, folds=ids[None], sample_weight=weights, loss="log_loss")
    assert result.route == "newton"
    test = ids == 1  # the heavy row is in the training set
    expected = probabilities_with_fifty_digits(X[~test], y[~test], weights[~test], X[test])
    found = result.heldout[[f"probability_{label}" for label in range(3)]].to_numpy(float)[test]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("scales", [False, True])
def test_weights_that_decay_with_time_are_no_reason_to_fit_every_training_set_by_itself(scales):
    """They span ten decades, but no row sees what only light rows determine: all training sets converge together."""
    rng = np.random.default_rng(0)
    n = 300
    X, weights, ids = rng.normal(size=(n, 3)), 10.0 ** (-10 * np.arange(n) / n), np.arange(n) % 4
    y = rng.poisson(np.exp(0.5 * X[:, 0])) + 1.0
    last = PoissonRegressor(alpha=1e-3, **TIGHT)
    model = make_pipeline(StandardScaler(), last) if scales else last
    result = quiet_nested_cv(model, X, y, folds=ids[None], sample_weight=weights, loss="squared_error")
    assert result.route == "newton"
    assert not [each for each in result.findings if each.kind == "exactness"]
    expected = np.zeros(n)
    name = "poissonregressor__sample_weight" if scales else "sample_weight"
    for fold in range(4):
        test = ids == fold
        expected[test] = clone(model).fit(X[~test], y[~test], **{name: weights[~test]}).predict(X[test])
    np.testing.assert_allclose(result.heldout["prediction"].to_numpy(float), expected, rtol=1e-9)


@pytest.mark.parametrize(("seed", "C"), [(150, 0.25), (155, 1.0), (172, 0.25)])
def test_directions_where_the_fit_to_all_rows_has_no_curvature_are_not_undetermined(seed, C):
    """Of three balanced classes one holds a row of weight 1e5: the others begin far from where they end without it."""
    rng = np.random.default_rng(seed)
    for _ in range(2 if C == 1.0 else 1):
        X, y, weights = rng.normal(size=(30, 4)), rng.integers(0, 3, 30), np.ones(30)
    weights[0] = 1e5
    skip_if_balance_is_counted("balanced", weights)
    ids = np.empty(30, dtype=int)
    for label in range(3):
        ids[y == label] = np.arange((y == label).sum()) % 3
    model = LogisticRegression(C=C, class_weight="balanced", tol=1e-10, max_iter=10_000)
    keywords = {"folds": ids[None], "sample_weight": weights, "loss": "log_loss"}
    fast, slow = (quiet_nested_cv(model, X, y, route=route, **keywords) for route in ("newton", "refit"))
    np.testing.assert_allclose(fast.estimate, slow.estimate, rtol=1e-5)
