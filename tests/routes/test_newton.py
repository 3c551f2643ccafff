"""The newton route: generalized linear models of every training set, against refits and in more digits."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import GammaRegressor, LogisticRegression, PoissonRegressor, TweedieRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.class_weight import compute_class_weight

import onefit
from helpers import quiet_nested_cv, skip_if_balance_is_counted
from onefit.errors import DataError, RouteError, TrainingSetError
from onefit.folds import RandomFolds
from onefit.inference.intervals import RULES
from onefit.learners import GLMLearner, Refusal, Task, adapt, glm
from onefit.learners.glm_families import Binomial, Gamma, Multinomial, Poisson, Tweedie
from onefit.linalg import compiled
from onefit.metrics import find_loss
from onefit.routes.engine import FailureLog
from onefit.routes.newtonsets import NewtonEngine
from onefit.routes.newtonthird import Third, third_derivatives
from onefit.validation import check_problem

LASSO = LogisticRegression(solver="saga", l1_ratio=1.0)
if LogisticRegression().penalty == "l2":  # before scikit-learn 1.8
    LASSO = LogisticRegression(solver="saga", penalty="l1")
TIGHT = {"tol": 1e-10, "max_iter": 10_000, "solver": "newton-cholesky"}


def logistic(**parameters):
    return LogisticRegression(**TIGHT | parameters)


def draw(seed, n=120, p=5, kind="binary", strength=1.0):
    """Columns of different scales and places, and y of a kind."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, p))
    eta = strength * Z @ rng.standard_normal(p) / np.sqrt(p)
    X = Z * np.resize([1.0, 3.0, 0.2], p) + np.resize([0.0, 5.0, -20.0, 0.5], p)
    if kind == "binary":
        y = np.where(rng.random(n) < 1 / (1 + np.exp(-eta)), "yes", "no")
    elif kind == "classes":
        scores = Z[:, :3] * strength + rng.gumbel(size=(n, 3))
        y = np.array(["a", "b", "c"])[scores.argmax(axis=1)]
    elif kind == "counts":
        y = rng.poisson(np.exp(0.5 * eta))
    else:
        y = rng.gamma(2.0, np.exp(0.5 * eta) / 2)
    return X, y, rng.random(n) + 0.2


def engine_of(estimator, X, y, weights=None, path=None):
    problem = check_problem([estimator], X, y, weights)
    last = estimator[-1] if hasattr(estimator, "steps") else estimator
    skip_if_balance_is_counted(getattr(last, "class_weight", None), weights)
    task = Task(problem, find_loss(None, problem.classes), RULES["covariance"])
    learner = adapt(estimator, task, path)
    assert isinstance(learner, GLMLearner), learner
    return NewtonEngine(task, learner), problem


def heldout(engine, problem, n_folds=4, by_themselves=False):
    """Held-out scores, or means, of every training set of one repeat, with the rows of each."""
    strata = None if problem.classes is None else np.searchsorted(problem.classes, problem.labels)
    folds = RandomFolds(problem.n, n_folds, 3, strata=strata).block(0, 1)
    sets = engine.sets(folds, range(1), FailureLog(engine.n_values))
    sets.with_pairs = True
    groups = np.arange(n_folds)[:, None], np.stack(np.triu_indices(n_folds, 1), axis=1)
    for group in groups:
        for out, residuals in sets.run(group):
            for held, found in zip(out, residuals, strict=True):
                found = sets.from_rows(held) if by_themselves else found
                for fold, u in zip(held, found, strict=True):
                    rows = np.flatnonzero(folds.ids[0] == fold)
                    yield folds.training_rows(0, *held), rows, problem.y[rows][:, None] - u[: len(rows)]


def refitted(estimator, X, y, weights, train, test):
    """What scikit-learn's own fit gives for the same rows."""
    fitted = clone(estimator)
    names = {} if weights is None else {"sample_weight": weights[train]}
    if names and hasattr(fitted, "steps"):
        names = {f"{fitted.steps[-1][0]}__sample_weight": weights[train]}
    fitted.fit(X[train], y[train], **names)
    scores = fitted.decision_function(X[test]) if hasattr(fitted, "decision_function") else fitted.predict(X[test])
    return scores.reshape(len(test), -1)


MODELS = {
    "logistic": (logistic(), "binary"),
    "no intercept": (logistic(fit_intercept=False, C=0.3), "binary"),
    "balanced": (logistic(class_weight="balanced", C=5.0), "binary"),
    "weighed classes": (logistic(class_weight={"no": 4.0}), "binary"),
    "no penalty": (logistic(C=np.inf), "binary"),
    "softmax": (logistic(), "classes"),
    "softmax without intercept": (logistic(fit_intercept=False), "classes"),
    "balanced softmax": (logistic(class_weight="balanced"), "classes"),
    "free softmax": (logistic(C=np.inf), "classes"),
    "poisson": (PoissonRegressor(**TIGHT, alpha=0.1), "counts"),
    "free poisson": (PoissonRegressor(**TIGHT, alpha=0.0), "counts"),
    "poisson without intercept": (PoissonRegressor(**TIGHT, fit_intercept=False), "counts"),
    "gamma": (GammaRegressor(**TIGHT, alpha=0.01), "positive"),
    "tweedie": (TweedieRegressor(**TIGHT, power=1.6, alpha=0.1), "counts"),
    "tweedie 1": (TweedieRegressor(**TIGHT, power=1, alpha=0.1), "counts"),
    "tweedie 2": (TweedieRegressor(**TIGHT, power=2, alpha=0.1), "positive"),
    "normal": (TweedieRegressor(**TIGHT, power=0, alpha=0.1), "positive"),
}


@pytest.mark.sweep(5)
@pytest.mark.parametrize("steps", [(), (StandardScaler(),), (StandardScaler(), PCA(3))], ids=["alone", "scaled", "pca"])
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("name", MODELS)
def test_every_training_set_has_the_scores_of_a_converged_refit(name, weighted, steps):
    last, kind = MODELS[name]
    X, y, w = draw(1, kind=kind)
    estimator, weights = make_pipeline(*steps, last) if steps else last, w if weighted else None
    for train, rows, found in heldout(*engine_of(estimator, X, y, weights)):
        expected = refitted(estimator, X, y, weights, train, rows)
        np.testing.assert_allclose(found[:, 0], expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", MODELS)
def test_the_batch_agrees_with_newtons_method_of_each_training_set(name):
    last, kind = MODELS[name]
    X, y, w = draw(2, kind=kind)
    engine, problem = engine_of(last, X, y, w)
    pairs = zip(heldout(engine, problem), heldout(engine, problem, by_themselves=True), strict=True)
    for (_, _, found), (_, _, expected) in pairs:
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def brute_derivatives(engine, gamma, rows, penalty):
    """Minus the gradient and the Hessian of a logistic regression over some rows, written out."""
    B, y = engine.design[rows], engine.learner.y[0, rows]
    other = 1 / (1 + np.exp(y * (B @ gamma)))
    weights = engine.learner.row_weights[rows]
    H = B.T @ ((weights * other * (1 - other))[:, None] * B) + np.diag(penalty)
    return B.T @ (weights * y * other) - penalty * gamma, H


def test_n1_and_n2_hessian_and_gradient_at_the_fit_to_all_rows_follow_from_the_folds_that_are_out():
    X, y, w = draw(20)
    engine, problem = engine_of(logistic(), X, y, w)
    folds = RandomFolds(problem.n, 4, 3).block(0, 1)
    sets = engine.sets(folds, range(1), FailureLog(1))
    chunk = sets.chunk(np.array([[0, 2]]))
    gamma, d = engine.full[0].gamma[0], X.shape[1] + 1
    sums = sets._sums(0, range(1))
    part = sets._sets([chunk], 0, range(1), sums)
    penalty = np.append(np.ones(d - 1), 0.0)
    g, H = brute_derivatives(engine, gamma, folds.training_rows(0, 0, 2), penalty)
    np.testing.assert_allclose(part.hessians.whole(part.penalty)[0], H, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(sets._first_descent(part, sums, range(1))[0, 0], g, rtol=1e-9, atol=1e-9)


def test_n3_softmax_in_one_class_less():
    rng = np.random.default_rng(0)
    family, eta = Multinomial(4), rng.standard_normal((4, 1))
    p = np.exp(eta[:, 0]) / np.exp(eta[:, 0]).sum()
    expected = family.basis.T @ (np.diag(p) - np.outer(p, p)) @ family.basis
    np.testing.assert_allclose(family.curvature(eta, eta)[..., 0], expected, atol=1e-15)
    np.testing.assert_allclose(family.basis.T @ family.basis, np.eye(3), atol=1e-15)
    np.testing.assert_allclose(family.basis.sum(axis=0), 0.0, atol=1e-15)
    assert np.linalg.eigvalsh(expected)[0] > 0


FAMILIES = {
    "binomial": (Binomial(), np.array([[-1.0, 1.0]])),
    "softmax": (Multinomial(3), np.array([[1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])),
    "poisson": (Poisson(), np.array([[0.0, 3.0]])),
    "gamma": (Gamma(), np.array([[0.5, 3.0]])),
    "tweedie": (Tweedie(1.5), np.array([[0.0, 3.0]])),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_n7_third_derivatives_tell_how_the_hessian_changes(name):
    family, values = FAMILIES[name]
    rng, n, q, c = np.random.default_rng(3), 40, 4, family.basis.shape[1]
    B, y, w = rng.standard_normal((n, q)), np.repeat(values, 20, axis=1), rng.random(n) + 0.5
    gamma, delta = 0.5 * rng.standard_normal((2, c, q))

    def hessian(at):
        curvature = w * family.curvature(family.basis @ (at @ B.T), y)
        return np.einsum("abn,nj,nk->ajbk", curvature, B, B).reshape(c * q, c * q)

    expected = (hessian(gamma + 1e-5 * delta) - hessian(gamma - 1e-5 * delta)) / 2e-5
    found = third_derivatives(B, y, w, family, gamma).along(delta.reshape(1, -1))[0]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


def test_n5_the_error_of_the_hessian_at_the_end_is_of_second_order():
    X, y, _ = draw(22, n=400)
    engine, problem = engine_of(logistic(), X, y)
    folds = RandomFolds(problem.n, 10, 3).block(0, 1)
    sets = engine.sets(folds, range(1), FailureLog(1))
    part = sets._sets([sets.chunk(np.array([[0, 2]]))], 0, range(1), sets._sums(0, range(1)))
    penalty, train = np.append(np.ones(X.shape[1]), 0.0), folds.training_rows(0, 0, 2)
    gamma = engine.full[0].gamma[0]
    for _ in range(20):
        g, H = brute_derivatives(engine, gamma, train, penalty)
        gamma = gamma + np.linalg.solve(H, g)
    start = part.hessians.whole(part.penalty)
    bent, is_told = part.hessians.bent(start)
    assert is_told.all()
    assert np.linalg.norm(bent[0] - H, 2) < 0.5 * np.linalg.norm(start[0] - H, 2)


@pytest.mark.parametrize("on", [True, False])
@pytest.mark.parametrize("size", [-3.0, 1.0, 30.0])
def test_what_is_expected_of_the_hessian_changes_the_way_and_not_the_fit(monkeypatch, on, size):
    X, y, w = draw(23, kind="classes")
    engine, problem = engine_of(logistic(C=10.0), X, y, w)
    expected = [scores for _, _, scores in heldout(engine, problem, by_themselves=True)]
    along = Third.along
    monkeypatch.setattr(Third, "along", lambda self, delta: size * along(self, delta))
    with compiled.switched(on):
        found = [scores for _, _, scores in heldout(engine, problem)]
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11)


def test_n4_the_decrement_bounds_what_the_gradient_asks_of_the_linear_predictor():
    X, y, w = draw(21)
    engine, _ = engine_of(logistic(), X, y, w)
    rng, d = np.random.default_rng(1), X.shape[1] + 1
    gamma, penalty = 0.1 * rng.standard_normal(d), np.append(np.ones(d - 1), 0.0)
    g, H = brute_derivatives(engine, gamma, np.arange(len(y)), penalty)
    step = np.linalg.solve(H, g)
    curvature = w * engine.learner.family.curvature((engine.design @ gamma)[None], engine.learner.y)[0, 0]
    assert curvature @ np.square(engine.design @ step) <= step @ H @ step
    assert step @ H @ step == pytest.approx(g @ np.linalg.solve(H, g))


def test_one_hot_and_imputed_columns_are_learned_anew():
    import pandas as pd

    rng = np.random.default_rng(5)
    n = 150
    table = pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.1, np.nan, rng.gamma(2, size=n)),
            "city": rng.choice(["x", "y", "z", "rare"], n, p=[0.4, 0.3, 0.28, 0.02]),
        }
    )
    y = rng.poisson(np.exp(0.3 * table["size"].fillna(2) + (table["city"] == "x")))
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["city"]),
        (make_pipeline(SimpleImputer(), StandardScaler()), ["size"]),
    )
    model = make_pipeline(encode, PoissonRegressor(**TIGHT, alpha=0.05))
    common = {"n_folds": 5, "n_repeats": 2, "random_state": 0, "loss": "absolute_error"}
    fast, slow = (quiet_nested_cv(model, table, y, route=route, **common) for route in ("auto", "refit"))
    assert fast.route == "newton"
    np.testing.assert_allclose(fast.fold_errors.e_in, slow.fold_errors.e_in, rtol=1e-8)
    assert fast.estimate == pytest.approx(slow.estimate, rel=1e-8)


def newton_in_extended_precision(X, y, lam, train, test):
    """Scores of a logistic regression, y in -1 and 1, with all that NumPy's longest numbers have."""
    Z = np.column_stack([X, np.ones(len(X))]).astype(np.longdouble)
    Z[:, :-1] -= Z[train, :-1].mean(axis=0)
    A, target = Z[train], y[train].astype(np.longdouble)
    penalty = np.append(np.full(X.shape[1], lam, dtype=np.longdouble), 0)
    theta = np.zeros(Z.shape[1], dtype=np.longdouble)
    for _ in range(60):
        other = 1 / (1 + np.exp(target * (A @ theta)))
        H = A.T @ ((other * (1 - other))[:, None] * A) + np.diag(penalty)
        theta = theta + eliminated(H, A.T @ (target * other) - penalty * theta)
    return (Z[test] @ theta).astype(np.float64)


def eliminated(A, b):
    """``A^-1 b`` by Gauss's elimination: LAPACK has no such numbers."""
    A, b = A.copy(), b.copy()
    for k in range(len(b)):
        pivot = k + int(np.abs(A[k:, k]).argmax())
        A[[k, pivot]], b[[k, pivot]] = A[[pivot, k]], b[[pivot, k]]
        for i in range(k + 1, len(b)):
            factor = A[i, k] / A[k, k]
            A[i] -= factor * A[k]
            b[i] -= factor * b[k]
    x = np.zeros_like(b)
    for k in reversed(range(len(b))):
        x[k] = (b[k] - A[k, k + 1 :] @ x[k + 1 :]) / A[k, k]
    return x


@pytest.mark.parametrize("lam", [1e-3, 1.0])
def test_columns_a_million_away_from_zero_keep_their_digits(lam):
    X, y, _ = draw(6, n=80, p=3)
    X = X + 1e6
    for train, rows, found in heldout(*engine_of(LogisticRegression(C=1 / lam), X, y)):
        expected = newton_in_extended_precision(X, np.where(y == "yes", 1.0, -1.0), lam, train, rows)
        np.testing.assert_allclose(found[:, 0, 0], expected, rtol=1e-9, atol=1e-9)


def test_nearly_collinear_columns_are_held_to_extended_precision():
    X, y, _ = draw(7, n=100, p=4)
    X = np.column_stack([X, X[:, 0] + 1e-4 * np.random.default_rng(0).standard_normal(100)])
    for train, rows, found in heldout(*engine_of(LogisticRegression(C=1e6), X, y)):
        expected = newton_in_extended_precision(X, np.where(y == "yes", 1.0, -1.0), 1e-6, train, rows)
        np.testing.assert_allclose(found[:, 0, 0], expected, rtol=1e-8, atol=1e-8)


def test_more_columns_than_rows():
    X, y, _ = draw(8, n=50, p=80, strength=2.0)
    model = logistic(C=0.1)
    for train, rows, found in heldout(*engine_of(model, X, y)):
        np.testing.assert_allclose(found[:, 0], refitted(model, X, y, None, train, rows), rtol=1e-7, atol=1e-7)


def test_sets_that_the_batch_leaves_are_counted_in_a_finding():
    X, y, _ = draw(9, n=40, p=8, strength=6.0)
    model = logistic(C=1e4)
    engine, problem = engine_of(model, X, y)
    for train, rows, found in heldout(engine, problem):
        np.testing.assert_allclose(found[:, 0], refitted(model, X, y, None, train, rows), rtol=1e-5, atol=1e-5)
    assert engine.by_newton
    result = quiet_nested_cv(model, X, y, n_folds=4, n_repeats=2, random_state=0)
    (told,) = [finding.message for finding in result.findings if finding.kind == "exactness"]
    assert "of 20 needed Newton steps of their own" in told
    assert result.exactness == "converged"


@pytest.mark.parametrize("name", ["logistic", "softmax", "poisson"])
def test_a_curve_has_the_numbers_of_each_value_alone(name):
    last, kind = MODELS[name]
    X, y, w = draw(10, kind=kind)
    parameter = "alpha" if name == "poisson" else "C"
    values = [1e-3, 0.1, 10.0]
    common = {"n_folds": 5, "n_repeats": 2, "random_state": 0, "sample_weight": w}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", onefit.errors.OneFitWarning)
        curve = onefit.error_curve(last, X, y, param_name=parameter, param_range=values, **common)
        alone = [quiet_nested_cv(clone(last).set_params(**{parameter: value}), X, y, **common) for value in values]
    assert curve.results[0].route == "newton"
    np.testing.assert_allclose(curve.estimate, [each.estimate for each in alone], rtol=1e-9)


def test_bits_do_not_depend_on_the_number_of_jobs():
    X, y, w = draw(11, kind="counts")
    model = make_pipeline(StandardScaler(), PoissonRegressor(alpha=0.01))
    common = {"n_folds": 5, "n_repeats": 7, "random_state": 0, "sample_weight": w}
    one, three = (quiet_nested_cv(model, X, y, n_jobs=jobs, **common) for jobs in (1, 3))
    assert one.interval == three.interval
    assert np.array_equal(one.heldout, three.heldout)


def test_without_kernels_the_numbers_are_the_same():
    X, y, w = draw(12)
    common = {"n_folds": 5, "n_repeats": 2, "random_state": 0, "sample_weight": w}
    with compiled.switched(False):
        off = quiet_nested_cv(LogisticRegression(), X, y, **common)
    on = quiet_nested_cv(LogisticRegression(), X, y, **common)
    assert on.estimate == pytest.approx(off.estimate, rel=1e-12)


@pytest.mark.parametrize(
    "keywords",
    [{"n_folds": 15}, {"n_folds": "n"}, {"folds": np.resize([0, 1, 2, -1], 40)}, {"groups": np.arange(40) // 3}],
    ids=["many folds", "n", "rows never scored", "groups"],
)
def test_folds_of_every_kind(keywords):
    X, y, w = draw(22, n=22 if keywords.get("n_folds") == "n" else 40, p=3, kind="counts")
    common = {"n_repeats": 1 if keywords.get("n_folds") == "n" or "folds" in keywords else 2, "random_state": 0}
    model = PoissonRegressor(**TIGHT, alpha=0.1)
    fast, slow = (
        quiet_nested_cv(model, X, y, sample_weight=w, route=route, **common, **{"n_folds": 4} | keywords)
        if "folds" not in keywords
        else quiet_nested_cv(model, X, y, sample_weight=w, route=route, **keywords)
        for route in ("newton", "refit")
    )
    assert fast.estimate == pytest.approx(slow.estimate, rel=1e-8)
    assert fast.interval == pytest.approx(slow.interval, rel=1e-7)


def test_a_value_of_a_curve_that_has_no_fit_is_left_out_and_named():
    """Without fold 0 all counts of a level are zero: there is a fit with a penalty, and none without."""
    X = np.column_stack([np.arange(24) < 4, np.arange(24) % 7]).astype(float)
    y = np.concatenate([[3, 0, 0, 0], 1 + np.arange(20) % 3])
    folds = np.arange(24) % 4
    model = PoissonRegressor(alpha=0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", onefit.errors.OneFitWarning)
        curve = onefit.error_curve(model, X, y, param_name="alpha", param_range=[0.0, 0.1], folds=folds)
    assert curve.results[0] is None
    assert "In repeat 0 with fold" in curve.reasons[0]
    assert "no maximum" in curve.reasons[0]
    assert curve.estimate[1] == pytest.approx(quiet_nested_cv(model, X, y, folds=folds).estimate, rel=1e-12)


@pytest.mark.filterwarnings("error")
def test_rows_that_are_surely_right_have_no_residual_and_no_warning():
    assert Binomial().residual(np.array([[800.0, -800.0, 0.0]]), np.array([[1.0, -1.0, 1.0]])).tolist() == [[0, 0, 0.5]]


def test_classes_that_are_equally_likely_are_decided_as_in_a_refit():
    """A refit begins at zero, and stays there to the last bit: the first class. Rounding errors decided before."""
    rng = np.random.default_rng(8)
    X = np.where(rng.random((36, 1)) < 0.2, 0.0, 1.75106205)
    y = rng.permutation(np.arange(36) % 2)
    model = LogisticRegression(C=0.21, fit_intercept=False)
    keywords = {"n_folds": 6, "n_repeats": 8, "random_state": 0, "loss": "zero_one"}
    found, expected = (quiet_nested_cv(model, X, y, route=route, **keywords) for route in ("newton", "refit"))
    for name in ("e_in", "e_out"):
        np.testing.assert_allclose(getattr(found.fold_errors, name), getattr(expected.fold_errors, name), atol=1e-12)


def test_separation_names_the_training_set():
    """Two rows alone keep the classes from being told apart; without them there is no fit."""
    x = np.concatenate([np.arange(20.0), [3.5, 15.5]])
    y = np.concatenate([np.arange(20) >= 10, [True, False]]).astype(int)
    folds = np.concatenate([np.arange(20) % 4, [0, 0]])
    with pytest.raises(TrainingSetError, match=r"In repeat 0 with folds? 0.*no maximum.*penalty"):
        onefit.nested_cv(LogisticRegression(C=np.inf), x[:, None], y, folds=folds)


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_weights_that_leave_one_class_name_the_training_set(class_weight):
    X, y, _ = draw(23, n=60)
    folds = np.arange(60) % 4
    w = np.where((y == "yes") & (folds != 0), 0.0, 1.0)
    skip_if_balance_is_counted(class_weight, w)
    with pytest.raises(
        TrainingSetError, match=r"In repeat 0 with fold 0 held out: the weights leave rows of one class"
    ):
        onefit.nested_cv(LogisticRegression(class_weight=class_weight), X, y, folds=folds, sample_weight=w)


def test_weights_that_leave_no_row_of_a_class_name_the_training_set():
    rng = np.random.default_rng(23)
    X, y, folds = rng.normal(size=(60, 2)), np.arange(60) // 4 % 3, np.arange(60) % 4
    w = np.where((y == 2) & (folds != 1), 0.0, 1.0)
    with pytest.raises(TrainingSetError, match="fold 1 held out: the weights leave no row of one of the classes"):
        onefit.nested_cv(LogisticRegression(), X, y, folds=folds, sample_weight=w)


@pytest.mark.parametrize("scales", [False, True])
def test_penalties_hold_the_odds_of_one_class_where_there_is_no_intercept(scales):
    X, y, _ = draw(23, n=60)
    folds = np.arange(60) % 4
    w = np.where((y == "yes") & (folds != 0), 0.0, 1.0)
    model = LogisticRegression(fit_intercept=False, **TIGHT)
    model = make_pipeline(StandardScaler(), model) if scales else model
    keywords = {"folds": folds, "sample_weight": w, "loss": "log_loss"}
    fast, slow = (quiet_nested_cv(model, X, y, route=route, **keywords) for route in ("newton", "refit"))
    np.testing.assert_allclose(fast.heldout["loss"], slow.heldout["loss"], rtol=1e-9)


def test_balanced_classes_with_weights_are_refitted_where_scikit_learn_counts_them(monkeypatch):
    """Before its version 1.7 it did, and compute_class_weight took no weights."""

    def counting(class_weight, *, classes, y):
        return compute_class_weight(class_weight, classes=classes, y=y)

    monkeypatch.setattr(glm, "compute_class_weight", counting)
    X, y, w = draw(23, n=60)
    model, folds = LogisticRegression(class_weight="balanced"), np.arange(60) % 4
    assert quiet_nested_cv(model, X, y, folds=folds).route == "newton"
    assert quiet_nested_cv(model, X, y, folds=folds, sample_weight=w).route == "refit"
    with pytest.raises(RouteError, match="counted or weighed"):
        onefit.nested_cv(model, X, y, folds=folds, sample_weight=w, route="newton")


def test_separation_of_all_rows_is_left_to_the_solver():
    x = np.arange(30.0)[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = onefit.nested_cv(LogisticRegression(C=np.inf), x, (x[:, 0] > 14).astype(int), n_folds=3, n_repeats=1)
    assert result.route == "refit"
    assert "no maximum" in result.route_reason


def test_a_training_set_of_one_class_is_named():
    X, _, _ = draw(13, n=30)
    y = np.repeat([0, 1], [27, 3])
    folds = np.concatenate([np.arange(27) % 3, [0, 0, 0]])
    with pytest.raises(TrainingSetError, match=r"In repeat 0 with fold 0 held out: This solver needs samples"):
        onefit.nested_cv(LogisticRegression(), X, y, folds=folds)


def test_a_class_that_a_training_set_lacks_is_as_in_a_refit():
    X, y, _ = draw(14, kind="classes")
    y[y == "c"] = "a"
    y[:3] = "c"
    folds = np.arange(len(y)) % 4
    folds[:3] = 0
    fast, slow = (quiet_nested_cv(logistic(), X, y, folds=folds, route=route) for route in ("newton", "refit"))
    assert fast.estimate == slow.estimate
    assert fast.heldout.equals(slow.heldout)


@pytest.mark.parametrize(
    ("model", "y"), [(PoissonRegressor(), [-1.0, 2.0]), (GammaRegressor(), [0.0, 1.0])], ids=["poisson", "gamma"]
)
def test_values_that_the_loss_is_not_made_for(model, y):
    X = np.random.default_rng(0).standard_normal((20, 2))
    with pytest.raises(DataError, match=r"out of the valid range of the loss.*row 0"):
        onefit.nested_cv(model, X, np.resize(y, 20))


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (LogisticRegression(solver="liblinear"), "penalizes the intercept"),
        (LASSO, "corners"),
        (TweedieRegressor(power=3), "not convex"),
        (TweedieRegressor(power=1.5, link="identity"), "not convex"),
    ],
    ids=["liblinear", "l1", "power 3", "identity"],
)
def test_what_has_no_newton_steps_is_refitted_with_the_reason(model, reason):
    X, y, _ = draw(15, kind="binary" if isinstance(model, LogisticRegression) else "positive")
    problem = check_problem([model], X, y)
    found = adapt(model, Task(problem, find_loss(None, problem.classes), RULES["covariance"]))
    assert isinstance(found, Refusal)
    assert reason in found.reason


def test_other_models_are_refused():
    from sklearn.linear_model import Ridge

    X, y, _ = draw(16, kind="positive")
    with pytest.raises(RouteError, match="generalized linear models"):
        onefit.nested_cv(Ridge(), X, y, route="newton")


@pytest.mark.parametrize("scoring", ["neg_log_loss", "neg_brier_score", "roc_auc", "f1_macro", "accuracy"])
def test_scores_of_probabilities_are_those_of_refits(scoring):
    X, y, w = draw(17)
    common = {"n_folds": 5, "n_repeats": 2, "random_state": 0, "scoring": scoring, "sample_weight": w}
    y = (y == "yes").astype(int)
    fast, slow = (quiet_nested_cv(logistic(), X, y, route=route, **common) for route in ("auto", "refit"))
    assert fast.route == "newton"
    assert fast.estimate == pytest.approx(slow.estimate, rel=1e-9)
    assert fast.interval == pytest.approx(slow.interval, rel=1e-7)


@pytest.mark.parametrize("scoring", ["neg_log_loss", "roc_auc_ovr"])
def test_scores_of_several_classes_are_those_of_refits(scoring):
    X, y, _ = draw(18, kind="classes")
    model = make_pipeline(StandardScaler(), logistic(class_weight="balanced"))
    common = {"n_folds": 4, "n_repeats": 2, "random_state": 0, "scoring": scoring}
    fast, slow = (quiet_nested_cv(model, X, y, route=route, **common) for route in ("auto", "refit"))
    assert fast.route == "newton"
    assert fast.estimate == pytest.approx(slow.estimate, rel=1e-9)
    assert fast.interval == pytest.approx(slow.interval, rel=1e-7)


@pytest.mark.parametrize(
    ("name", "loss"), [("poisson", "poisson_deviance"), ("gamma", "gamma_deviance"), ("tweedie", "absolute_error")]
)
def test_deviances_are_those_of_refits(name, loss):
    model, kind = MODELS[name]
    X, y, w = draw(19, kind=kind)
    common = {"n_folds": 5, "n_repeats": 2, "random_state": 0, "loss": loss, "sample_weight": w}
    fast, slow = (quiet_nested_cv(model, X, y, route=route, **common) for route in ("auto", "refit"))
    assert fast.route == "newton"
    assert fast.estimate == pytest.approx(slow.estimate, rel=1e-8)
    assert fast.interval == pytest.approx(slow.interval, rel=1e-7)


def random_problem(seed):
    """A model and data of any kind: imbalance, weights, collinear columns, classes that are nearly told apart."""
    rng = np.random.default_rng(seed)
    name = str(rng.choice([name for name in MODELS if "free" not in name and name != "no penalty"]))
    last, kind = MODELS[name]
    n, p = int(rng.integers(30, 200)), int(rng.integers(3, 9))
    X, y, w = draw(seed, n, p, kind, float(rng.choice([0.5, 1.0, 4.0])))
    if rng.random() < 0.2:
        X[:, -1] = X[:, 0] * 2 + 1
    if kind == "binary" and rng.random() < 0.3:
        keep = (y == "yes") | (rng.random(n) < 0.3)
        X, y, w = X[keep], y[keep], w[keep]
    size = 10.0 ** rng.uniform(-6, 6)
    penalty = {"C": size} if kind in ("binary", "classes") else {"alpha": min(size, 1e3)}
    return clone(last).set_params(tol=1e-13, **penalty), X, y, w if rng.random() < 0.5 else None


def check_random_problem(seed):
    """Losses of all training sets are those of scikit-learn's own Newton method, where that has converged."""
    estimator, X, y, weights = random_problem(seed)
    if y.dtype.kind == "U" and np.unique(y, return_counts=True)[1].min() < 8:
        return  # a training set would lack a class
    for train, rows, found in heldout(*engine_of(estimator, X, y, weights)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                expected = refitted(estimator, X, y, weights, train, rows)
            except Warning:
                continue  # scikit-learn's own line search or solver gave up
        if found.shape[2] == 1 and y.dtype.kind == "U":
            found, expected = np.tanh(found / 2), np.tanh(expected / 2)  # probabilities
        elif y.dtype.kind == "U":
            found, expected = (np.exp(s - s.max(axis=-1, keepdims=True)) for s in (found, expected))
        np.testing.assert_allclose(found[:, 0], expected, rtol=1e-7, atol=1e-7, err_msg=f"problem {seed}")


@pytest.mark.parametrize("seed", range(40))
def test_random_problems(seed):
    check_random_problem(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(100))
def test_ten_thousand_random_problems(block):
    for seed in range(1000 + 100 * block, 1100 + 100 * block):
        check_random_problem(seed)
