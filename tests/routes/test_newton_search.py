"""Searches among generalized linear models inside every training set: against scikit-learn's own searches."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import GammaRegressor, LogisticRegression, LogisticRegressionCV, PoissonRegressor, Ridge
from sklearn.model_selection import GridSearchCV, KFold, RandomizedSearchCV, ShuffleSplit, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import onefit
from helpers import quiet_nested_cv, sklearn_before
from onefit.routes import newtonsearched

TIGHT = {"tol": 1e-10, "max_iter": 10_000, "solver": "newton-cholesky"}
CS = np.logspace(-3, 3, 5)
ALPHAS = np.logspace(-4, 1, 5)


def logistic_cv(**parameters):
    """LogisticRegressionCV without the warnings of its version."""
    known = LogisticRegressionCV().get_params()
    quiet = {"l1_ratios": (0,), "use_legacy_attributes": False} if "use_legacy_attributes" in known else {}
    return LogisticRegressionCV(**{"Cs": 5, "cv": 3, "scoring": "neg_log_loss", **TIGHT, **quiet, **parameters})


def draw(kind, n=90, p=5):
    rng = np.random.default_rng(3)
    Z = rng.standard_normal((n, p))
    X = Z * [1, 3, 0.2, 1, 5] + [0, 5, -20, 0, 2]
    eta = Z @ [0.8, -0.5, 0.3, 0, 0]
    y = {
        "binary": np.where(rng.random(n) < 1 / (1 + np.exp(-eta)), "yes", "no"),
        "numbers": (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(int),
        "classes": np.array(["a", "b", "c"])[(Z[:, :3] + rng.gumbel(size=(n, 3))).argmax(axis=1)],
        "counts": rng.poisson(np.exp(eta / 2)),
        "positive": rng.gamma(2.0, np.exp(eta / 2) / 2),
    }[kind]
    return X, y


def scaled(last):
    return make_pipeline(StandardScaler(), last)


SEARCHES = {
    "LogisticRegressionCV": (logistic_cv(), "binary"),
    "LogisticRegressionCV by accuracy": (logistic_cv(scoring="accuracy"), "binary"),
    "scaled LogisticRegressionCV": (scaled(logistic_cv(Cs=[0.01, 1.0, 30.0])), "classes"),
    "grid": (GridSearchCV(scaled(LogisticRegression(**TIGHT)), {"logisticregression__C": CS}, cv=3), "binary"),
    "auc": (GridSearchCV(LogisticRegression(**TIGHT), {"C": CS}, scoring="roc_auc", cv=4), "binary"),
    "balanced": (
        GridSearchCV(
            LogisticRegression(**TIGHT),
            {"C": CS[::2], "class_weight": [None, "balanced"]},
            scoring="neg_brier_score",
            cv=3,
        ),
        "numbers",
    ),
    "parts of the rows": (
        RandomizedSearchCV(
            scaled(LogisticRegression(**TIGHT)),
            {"logisticregression__C": CS},
            n_iter=3,
            random_state=0,
            scoring="neg_log_loss",
            cv=ShuffleSplit(2, train_size=0.6, test_size=0.2, random_state=1),
        ),
        "classes",
    ),
    "counts": (GridSearchCV(scaled(PoissonRegressor(**TIGHT)), {"poissonregressor__alpha": ALPHAS}, cv=3), "counts"),
    "amounts": (
        GridSearchCV(
            GammaRegressor(**TIGHT),
            {"alpha": ALPHAS},
            scoring="neg_mean_gamma_deviance",
            cv=KFold(4, shuffle=True, random_state=0),
        ),
        "positive",
    ),
    "time": (
        GridSearchCV(PoissonRegressor(**TIGHT), {"alpha": ALPHAS}, scoring="r2", cv=TimeSeriesSplit(3)),
        "counts",
    ),
}


SLOW = ("LogisticRegressionCV by accuracy", "parts of the rows", "amounts", "grid")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in SEARCHES]
)
def test_every_training_set_is_searched_as_scikit_learn_does(name):
    model, kind = SEARCHES[name]
    X, y = draw(kind)
    keywords = {"n_folds": 3, "n_repeats": 1, "random_state": 0}
    if kind in ("binary", "numbers", "classes"):
        keywords["scoring"] = "neg_log_loss"
    if name == "scaled LogisticRegressionCV" and sklearn_before("1.7.2"):
        with pytest.raises(onefit.errors.RouteError, match=r"newton-cholesky.*1\.7\.2"):
            quiet_nested_cv(model, X, y, route="newton", **keywords)
        model = scaled(logistic_cv(Cs=[0.01, 1.0, 30.0], solver="newton-cg"))
    fast, slow = (quiet_nested_cv(model, X, y, route=route, **keywords) for route in ("auto", "refit"))
    assert (fast.route, fast.exactness) == ("newton", "converged")
    assert fast.estimate == pytest.approx(slow.estimate, rel=1e-9)
    assert fast.interval == pytest.approx(slow.interval, rel=1e-7)


def test_weights_reach_fits_and_scores_as_scikit_learn_passes_them():
    X, y = draw("counts")
    w = np.random.default_rng(0).uniform(0.2, 3, len(y))
    model = GridSearchCV(PoissonRegressor(**TIGHT), {"alpha": ALPHAS}, cv=3)
    keywords = {"n_folds": 3, "n_repeats": 1, "random_state": 0, "sample_weight": w}
    fast, slow = (quiet_nested_cv(model, X, y, route=route, **keywords) for route in ("auto", "refit"))
    assert fast.route == "newton"
    assert fast.estimate == pytest.approx(slow.estimate, rel=1e-9)


def test_close_candidates_are_told_apart_by_scikit_learn_itself(monkeypatch):
    """Two penalties that differ in the last digits have scores that rounding errors order."""
    X, y = draw("counts")
    asked = []
    by_estimator = newtonsearched.scores_by_estimator
    monkeypatch.setattr(newtonsearched, "scores_by_estimator", lambda *a: asked.append(1) or by_estimator(*a))
    alphas = [0.1, 0.1 * (1 + 1e-8), 10.0]
    model = GridSearchCV(PoissonRegressor(**TIGHT), {"alpha": alphas}, scoring="neg_mean_squared_error", cv=3)
    keywords = {"n_folds": 3, "n_repeats": 1, "random_state": 0}
    found = quiet_nested_cv(model, X, y, **keywords)
    assert len(asked) == 6  # three folds, three pairs
    assert found.estimate == pytest.approx(quiet_nested_cv(model, X, y, route="refit", **keywords).estimate, rel=1e-9)


def test_a_class_that_a_split_lacks_is_left_to_scikit_learn():
    X, y = draw("classes")
    y = np.where((y == "c") & (np.cumsum(y == "c") > 4), "a", y)
    model = GridSearchCV(LogisticRegression(**TIGHT), {"C": CS[::2]}, cv=KFold(3))
    keywords = {"folds": np.arange(len(y)) % 3, "scoring": "accuracy"}
    fast, slow = (quiet_nested_cv(model, X, y, route=route, **keywords) for route in ("newton", "refit"))
    assert fast.estimate == pytest.approx(slow.estimate, rel=1e-9)


def test_bits_do_not_depend_on_the_number_of_jobs():
    X, y = draw("binary")
    keywords = {"n_folds": 4, "n_repeats": 3, "random_state": 0, "scoring": "neg_log_loss"}
    one, two = (quiet_nested_cv(SEARCHES["grid"][0], X, y, n_jobs=jobs, **keywords) for jobs in (1, 2))
    assert one.interval == two.interval


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (logistic_cv(class_weight="balanced"), "balanced classes"),
        (logistic_cv(refit=False), "averages the fits"),
        (GridSearchCV(LogisticRegression(), {"C": CS}, scoring="f1_macro"), "is not one of accuracy"),
        (GridSearchCV(LogisticRegression(), {"C": [1.0, np.inf]}), "no penalty"),
        (GridSearchCV(LogisticRegression(), {"C": CS}, scoring="neg_brier_score"), "unless they are 0 and 1"),
    ],
    ids=["balanced", "averaged", "score", "free", "brier"],
)
def test_what_is_searched_by_refits_says_why(model, reason):
    X, y = draw("binary")
    plan = onefit.plan_for(model, X, y, n_folds=3, n_repeats=1)
    assert plan.choice == "refit"
    assert reason in plan.reason


def test_mixed_candidates_are_refitted():
    X, y = draw("counts")
    pipe = make_pipeline(StandardScaler(), PoissonRegressor())
    model = GridSearchCV(pipe, {"poissonregressor": [PoissonRegressor(), Ridge()]}, cv=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert onefit.plan_for(model, X, y, n_folds=3, n_repeats=1).choice == "refit"
