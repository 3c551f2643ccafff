"""Generalized linear models of every training set, held to fits in extended precision; and where digits end."""

import numpy as np
import pytest
from sklearn.linear_model import GammaRegressor, LogisticRegression, PoissonRegressor, TweedieRegressor
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold

import onefit
from helpers import quiet_nested_cv
from onefit.dealing import DealtClasses
from onefit.errors import TrainingSetError
from onefit.learners.glm_scores import score_of_classes

LONG = np.longdouble


def solved(H, g):
    """``H^-1 g`` by refinement, as LAPACK has no numbers of this length."""
    scale = 1 / np.sqrt(np.diag(H))
    inverse = np.linalg.inv((H * scale * scale[:, None]).astype(np.float64))
    x = np.zeros_like(g)
    for _ in range(40):
        x = x + scale * (inverse @ ((g - H @ x) * scale).astype(np.float64))
    return x


def mean_derivatives(power):
    """Minus the first and the second derivatives of half a Tweedie deviance at linear predictors (1, n)."""

    def derivatives(eta, y):
        a, b = y * np.exp((1 - power) * eta), np.exp((2 - power) * eta)
        return a - b, ((power - 1) * a + (2 - power) * b)[:, None]

    return derivatives


def class_derivatives(eta, y):
    """The same of the log loss, for scores (C, n)."""
    p = np.exp(eta - eta.max(axis=0))
    p /= p.sum(axis=0)
    second = -p[:, None] * p[None]
    second[np.arange(len(p)), np.arange(len(p))] += p
    return (y == np.arange(len(p))[:, None]) - p, second


def newton(derivatives, X, y, lam, train, test, n_scores=1):
    """Linear predictors (C, m) of a fit with an intercept, from ``n_scores`` less one or one, in extended precision."""
    Z = np.column_stack([X, np.ones(len(X))]).astype(LONG)
    Z[:, :-1] -= Z[train, :-1].mean(axis=0)
    A, c = Z[train], max(1, n_scores - 1)
    basis = np.ones((1, 1), dtype=LONG)
    if n_scores > 1:
        basis = np.linalg.qr(np.eye(n_scores) - 1 / n_scores)[0][:, :c].astype(LONG)
        basis -= basis.mean(axis=0)
    penalty = np.append(np.full(X.shape[1], lam, dtype=LONG), 0)
    theta = np.zeros((c, Z.shape[1]), dtype=LONG)
    for _ in range(60):
        first, second = derivatives(basis @ theta @ A.T, y[train])
        first, second = basis.T @ first, np.einsum("pa,pqn,qb->abn", basis, second, basis)
        H = np.einsum("ni,abn,nj->aibj", A, second, A)
        metric = np.einsum("pa,pb,i,ij->aibj", basis, basis, penalty, np.eye(len(penalty)))
        g = first @ A - np.einsum("aibj,bj->ai", metric, theta)
        step = solved((H + metric).reshape(theta.size, -1), g.ravel()).reshape(theta.shape)
        theta = theta + step / max(LONG(1), np.abs(step @ A.T).max())
    assert np.abs(step @ Z.T).max() < 1e-12
    return basis @ theta @ Z[test].T


def probabilities(eta):
    p = np.exp(eta - eta.max(axis=0))
    return (p / p.sum(axis=0)).T.astype(np.float64)


def columns(rng, n=60):
    Z = rng.standard_normal((n, 3))
    return Z * [1.0, 3.0, 0.2], 0.4 * Z @ [1.0, -1.0, 0.5]


MEANS = {
    "poisson": (PoissonRegressor(alpha=0.01), 1.0, lambda rng, mean: rng.poisson(2 * mean)),
    "gamma": (GammaRegressor(alpha=0.01), 2.0, lambda rng, mean: rng.gamma(2.0, mean)),
    "tweedie": (
        TweedieRegressor(power=1.5, alpha=0.01),
        1.5,
        lambda rng, mean: rng.poisson(mean) * rng.gamma(2.0, size=len(mean)),
    ),
}


def held_out(model, X, y, **keywords):
    """Folds, and what is predicted for their rows without refits."""
    folds = KFold(3, shuffle=True, random_state=0)
    result = quiet_nested_cv(model, X, y, cv=folds, route="newton", **keywords)
    return folds.split(X), result.heldout


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("name", MEANS)
def test_means_of_columns_a_million_away_from_zero_keep_their_digits(name, offset):
    model, power, draw = MEANS[name]
    rng = np.random.default_rng(0)
    X, eta = columns(rng)
    X, y = X + offset, draw(rng, np.exp(eta)).astype(np.float64)
    splits, found = held_out(model, X, y)
    for train, test in splits:
        lam = LONG(model.alpha) * len(train)
        expected = np.exp(newton(mean_derivatives(power), X, y, lam, train, test))[0]
        np.testing.assert_allclose(found["prediction"].to_numpy()[test], expected.astype(np.float64), rtol=1e-9)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_classes_of_columns_a_million_away_from_zero_keep_their_digits(offset):
    rng = np.random.default_rng(1)
    X, eta = columns(rng, 90)
    y = (np.outer([1.0, 0.0, -1.0], eta) + rng.gumbel(size=(3, 90))).argmax(axis=0)
    X = X + offset
    splits, found = held_out(LogisticRegression(C=10.0), X, y, loss="log_loss")
    for train, test in splits:
        expected = probabilities(newton(class_derivatives, X, y, LONG(1) / 10, train, test, n_scores=3))
        names = [f"probability_{c}" for c in range(3)]
        np.testing.assert_allclose(found[names].to_numpy()[test], expected, rtol=1e-9)


def test_columns_that_differ_by_a_millionth_are_both_used():
    """Products of columns do not tell them apart; without the second the means were off by a third."""
    rng = np.random.default_rng(2)
    X, eta = columns(rng)
    X = np.column_stack([X, X[:, 0] * (1 + 1e-6 * rng.standard_normal(len(X)))])
    y = rng.gamma(2.0, np.exp(eta))
    model = GammaRegressor(alpha=1e-14)
    splits, found = held_out(model, X, y)
    for train, test in splits:
        expected = np.exp(newton(mean_derivatives(2.0), X, y, LONG(model.alpha) * len(train), train, test))[0]
        np.testing.assert_allclose(found["prediction"].to_numpy()[test], expected.astype(np.float64), rtol=1e-7)


def test_rows_far_from_the_others_have_settled_too():
    rng = np.random.default_rng(202)
    X = rng.standard_normal((32, 3))
    X[::8] *= 4.0
    y = rng.poisson(np.exp(X @ [1.0, -1.0, 0.6] + 1.0)).astype(np.float64)
    model = PoissonRegressor(alpha=1e-3)
    splits, found = held_out(model, X, y)
    for train, test in splits:
        expected = np.exp(newton(mean_derivatives(1.0), X, y, LONG(model.alpha) * len(train), train, test))[0]
        gap = np.abs(found["prediction"].to_numpy()[test] - expected) / (expected + y[test])
        assert gap.max() < 1e-12


def test_columns_that_rounding_errors_hide_are_refused_by_name():
    rng = np.random.default_rng(3)
    Z = rng.standard_normal(14)
    X = np.column_stack([Z, Z * (1 + 1e-9 * rng.standard_normal(14)), rng.standard_normal(14)])
    y = rng.gamma(0.5, size=14)
    with pytest.raises(TrainingSetError, match="nearly depend on each other: rounding errors hide the coefficients"):
        quiet_nested_cv(GammaRegressor(alpha=1e-18), X, y, n_folds=4, n_repeats=1, random_state=0, route="newton")


def test_counts_that_are_all_zero_in_a_training_set_name_it():
    rng = np.random.default_rng(4)
    X, y = rng.standard_normal((40, 2)), np.zeros(40)
    y[7] = 1.0
    with pytest.raises(TrainingSetError, match=r"fold \d held out: all y are zero"):
        onefit.nested_cv(PoissonRegressor(), X, y, n_folds=5, n_repeats=1, random_state=0)


@pytest.mark.parametrize(
    ("model", "y", "said"),
    [
        (LogisticRegression(), np.arange(20) % 2, "the weights leave rows of one class only"),
        (PoissonRegressor(), np.arange(20) % 2, "all y are zero"),
    ],
)
def test_weights_that_leave_nothing_to_fit_are_said_for_all_rows_too(model, y, said):
    X = np.random.default_rng(5).standard_normal((20, 2))
    with pytest.raises(TrainingSetError, match=f"In the fit to all rows {said}"):
        onefit.nested_cv(model, X, y, sample_weight=1.0 - y, n_folds=4, n_repeats=1, random_state=0)


@pytest.mark.parametrize("source", ["memory", "table"])
def test_log_losses_of_rows_that_are_surely_misclassified_are_those_of_refits(source):
    """Scikit-learn takes the probability of the first class from one: of 1e-14 a hundredth may be lost."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((90, 3))
    y = (X @ [3.0, 2.0, -1.0] + rng.logistic(size=90) > 0).astype(int)
    X[0], y[0] = [6.0, 4.0, -2.0], 0
    folds = DealtClasses(np.bincount(y), 3, 0).ids(y, [0, 0], 0)
    model = LogisticRegression(C=1e3, solver="newton-cholesky", tol=1e-13, max_iter=500)
    others = folds != folds[0]
    assert 25 < model.fit(X[others], y[others]).decision_function(X[:1]) < 36
    if source == "table":
        pa = pytest.importorskip("pyarrow")
        table = pa.table({f"x{at}": column for at, column in enumerate(X.T)} | {"y": y})
        keywords = {"n_repeats": 1, "n_folds": 3, "random_state": 0}
        found = quiet_nested_cv(model, onefit.scan(table), "y", scoring="neg_log_loss", **keywords)
    else:
        found = quiet_nested_cv(model, X, y, scoring="neg_log_loss", folds=folds, route="newton")
    refits = quiet_nested_cv(model, X, y, scoring="neg_log_loss", folds=folds, route="refit")
    assert found.raw_estimate == pytest.approx(refits.raw_estimate, rel=1e-10)
    assert found.cv_estimate == pytest.approx(refits.cv_estimate, rel=1e-10)


def test_areas_inside_a_search_rank_decisions_whose_probabilities_are_all_one():
    decisions, y = np.array([38.0, 41.0, 40.0, 60.0, 39.0, -2.0]), np.array([0.0, 0, 1, 1, 1, 0])
    score = score_of_classes("roc_auc", np.array([0, 1]), is_sum=False, is_weighted=False)
    assert score.response == "decision_function"
    right = roc_auc_score(y, decisions)
    for of in (score.of, score.exact):
        assert of(y, decisions[:, None, None], np.full(6, 1 / 6)) == pytest.approx([right])


def with_a_column_of_one_class(size, n_classes):
    """A column that is zero but in eight rows, which are all of the last class, and a plain one."""
    rng = np.random.default_rng(2)
    X = np.c_[rng.normal(size=40), size * (np.arange(40) < 8)]
    return X, np.where(X[:, 1] > 0, n_classes - 1, rng.integers(0, n_classes, 40))


@pytest.mark.parametrize(
    ("model", "loss"), [(LogisticRegression(C=2.5), "brier"), (PoissonRegressor(alpha=0.4), "squared_error")]
)
def test_a_weak_penalty_holds_rows_that_a_huge_column_tells_apart(model, loss):
    """Their scores are about 210, and 44 where the column is smaller: to all digits the rows have no error in both."""
    found = []
    for size in (1e9, 1e45):
        X, y = with_a_column_of_one_class(size, 2)
        y = y if loss == "brier" else np.where(X[:, 1] > 0, 0.0, 2.0 * y)
        found.append(onefit.nested_cv(model, X, y, loss=loss, n_folds=5, n_repeats=2, random_state=0))
    assert {each.route for each in found} == {"newton"}
    for name in ("e_out", "e_in"):
        np.testing.assert_allclose(*(getattr(each.fold_errors, name) for each in found), rtol=1e-9)


def test_a_penalty_that_is_lost_beside_a_huge_column_is_no_missing_penalty():
    """Of three classes, two are in its rows: the odds of the third go on where those of the two have ended."""
    X, y = with_a_column_of_one_class(1e45, 3)
    y[:8:2] = 1
    with pytest.raises(TrainingSetError, match=r"penalty is too weak .* Scale the columns, or give"):
        onefit.nested_cv(LogisticRegression(), X, y, loss="brier", n_folds=5, n_repeats=2, random_state=0)
