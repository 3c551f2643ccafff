"""Columns that a training set has nothing of, where no penalty holds their coefficients: as in a refit, or refused."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.linear_model import GammaRegressor, LogisticRegression, PoissonRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import onefit
from helpers import quiet_nested_cv
from onefit.errors import TrainingSetError
from onefit.linalg import compiled

TIGHT = {"tol": 1e-12, "max_iter": 100_000}
FOLDS = np.repeat(np.arange(4), 20)
MODELS = {
    "logistic": LogisticRegression(C=np.inf, **TIGHT),
    "poisson": PoissonRegressor(alpha=0.0, **TIGHT),
    "gamma": GammaRegressor(alpha=0.0, **TIGHT),
    "balanced": LogisticRegression(C=np.inf, class_weight="balanced", **TIGHT),
    "no intercept": PoissonRegressor(alpha=0.0, fit_intercept=False, **TIGHT),
}


def rare_column(name, rows=(3, 7), constant=0.0):
    """Three columns, of which one is constant but in two rows of the first fold; and y."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((80, 3)) * [1.0, 2.0, 1.0]
    X[:, 2] = constant
    X[list(rows), 2] = constant + rng.uniform(1.0, 2.0, len(rows))
    eta = X[:, 0] / 2 + (X[:, 2] - constant)
    if name in ("logistic", "balanced"):
        y = (rng.random(80) < 1 / (1 + np.exp(-eta))).astype(int)
        y[list(rows)] = [0, 1]
    else:
        y = rng.poisson(np.exp(eta / 2)) + 0.5 * (name == "gamma")
    return X, y


def predictions_of(model, X, y):
    """Held-out means, or probabilities, of refits, which begin at zero and stay there for columns of zeros."""
    found = np.empty(len(y))
    for fold in range(4):
        test = fold == FOLDS
        fitted = clone(model).fit(X[~test], y[~test])
        found[test] = (
            fitted.predict_proba(X[test])[:, 1] if hasattr(fitted, "predict_proba") else fitted.predict(X[test])
        )
    return found


def losses_of(result):
    return result.heldout["loss"].to_numpy()


@pytest.mark.sweep(5)
@pytest.mark.parametrize("kernel", [True, False], ids=["kernel", "numpy"])
@pytest.mark.parametrize("steps", [[], [StandardScaler()], [SimpleImputer()]], ids=["bare", "scaled", "imputed"])
@pytest.mark.parametrize("name", MODELS)
def test_a_column_of_zeros_has_the_coefficient_of_a_refit(name, steps, kernel):
    X, y = rare_column(name)
    model = make_pipeline(*map(clone, steps), MODELS[name])
    with compiled.switched(kernel):
        result = quiet_nested_cv(
            model, X, y, folds=FOLDS, loss="brier" if hasattr(model, "predict_proba") else "squared_error"
        )
    assert result.route == "newton"
    expected = np.square(y - predictions_of(model, X, y))
    np.testing.assert_allclose(losses_of(result), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("steps", [[], [SimpleImputer()]], ids=["bare", "imputed"])
def test_a_constant_that_cannot_be_told_from_the_intercept_is_refused(steps):
    X, y = rare_column("poisson", constant=1.0)
    with pytest.raises(TrainingSetError, match=r"fold 0 held out.*does not determine"):
        onefit.nested_cv(make_pipeline(*steps, MODELS["poisson"]), X, y, folds=FOLDS)


def test_a_constant_that_a_scaler_makes_zero_is_not_refused():
    X, y = rare_column("poisson", constant=1.0)
    result = quiet_nested_cv(
        make_pipeline(StandardScaler(), MODELS["poisson"]), X, y, folds=FOLDS, loss="squared_error"
    )
    expected = np.square(y - predictions_of(make_pipeline(StandardScaler(), MODELS["poisson"]), X, y))
    np.testing.assert_allclose(losses_of(result), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("constant", [0.0, 0.1, 1 / 3])
def test_a_mean_of_equal_values_has_no_rounding_errors_of_the_rows_that_are_out(constant):
    """The rare rows lie in two folds, so that sums of the pair's training set are downdated to what is nearly zero."""
    X, y = rare_column("poisson", rows=(3, 7, 25), constant=constant)
    X[[3, 7, 25], 2] = constant + np.array([46.3398, 110.126363, 200.637869])
    model = make_pipeline(StandardScaler(), MODELS["poisson"])
    found, refits = (quiet_nested_cv(model, X, y, folds=FOLDS, route=route) for route in ("newton", "refit"))
    np.testing.assert_allclose(found.raw_estimate, refits.raw_estimate, rtol=1e-7)


def test_a_column_that_never_varies_does_not_matter():
    X, y = rare_column("poisson")
    X[:, 2] = 5.0
    result, without = (quiet_nested_cv(MODELS["poisson"], each, y, folds=FOLDS) for each in (X, X[:, :2]))
    np.testing.assert_allclose(losses_of(result), losses_of(without), rtol=1e-9)


@pytest.mark.parametrize("constant", [0.0, 1.0])
def test_rows_on_disk(tmp_path, constant):
    X, y = rare_column("poisson", rows=(3, 4, 7), constant=constant)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y.astype(float), fold=FOLDS)
    # one group is one fold, so that the rare rows are out together
    frame.loc[[3, 4, 7], "fold"] = -1
    frame.to_parquet(tmp_path / "rows.parquet")
    keywords = {"groups": "fold", "n_folds": 5, "n_repeats": 2, "random_state": 0}
    table = onefit.scan(tmp_path / "rows.parquet", columns=["a", "b", "c", "y", "fold"])
    if constant:
        with pytest.raises(TrainingSetError, match="does not determine"):
            onefit.nested_cv(MODELS["poisson"], table, "y", **keywords)
        return
    found = quiet_nested_cv(MODELS["poisson"], table, "y", **keywords)
    expected = quiet_nested_cv(MODELS["poisson"], frame, "y", **keywords)
    np.testing.assert_allclose(found.cv_estimate, expected.cv_estimate, rtol=1e-8)


@pytest.mark.sweep(5)
@pytest.mark.parametrize("kernel", [True, False], ids=["kernel", "numpy"])
@pytest.mark.parametrize("size", [1.0, 1e5], ids=["even", "large elsewhere"])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", ["logistic", "balanced", "poisson"])
def test_columns_that_depend_on_each_other_in_a_training_set_are_refused(name, seed, size, kernel):
    """Where the Hessian is expected at the end it may be definite, or by rounding errors of what is taken away."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((80, 4))
    X[:40, 3] *= size
    X[40:, 3] = X[40:, 1] + X[40:, 2]  # in all rows but those of the first two folds
    y = rng.integers(0, 2, 80) if name in ("logistic", "balanced") else rng.poisson(np.exp(X[:, 0] / 2))
    with compiled.switched(kernel), pytest.raises(TrainingSetError, match=r"folds 0 and 1 held out.*not determine"):
        onefit.nested_cv(MODELS[name], X, y, folds=FOLDS)


def test_a_constant_in_one_fold_of_three_is_refused():
    """Its shift is not zero in that fold, as the middle of all rows is elsewhere."""
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((90, 3)), rng.integers(0, 2, 90)
    X[:60, 2], X[60:, 2] = rng.uniform(1.0, 2.0, 60), 1.0
    with pytest.raises(TrainingSetError, match=r"folds 0 and 1 held out.*does not determine"):
        onefit.nested_cv(MODELS["logistic"], X, y, folds=np.repeat(np.arange(3), 30))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("steps", [(), (StandardScaler(),)], ids=["alone", "scaled"])
def test_a_row_with_a_column_of_its_own_has_no_finite_fit_however_many_classes_there_are(n_classes, steps):
    rng = np.random.default_rng(0)
    X = np.c_[rng.standard_normal((120, 4)), np.zeros(120)]
    X[5, 4] = 1.0
    y = np.digitize(X[:, 0] + rng.standard_normal(120), [-0.6, 0.6][: n_classes - 1])
    model, folds = make_pipeline(*steps, LogisticRegression(C=np.inf, **TIGHT)), np.arange(120)[None] % 5
    result = quiet_nested_cv(model, X, y, folds=folds, loss="log_loss")
    assert result.route == "refit"
    assert "no maximum" in result.route_reason
    if not steps:
        table = onefit.scan(pd.DataFrame(X, columns=list("abcde")).assign(y=y))
        with pytest.raises(TrainingSetError, match="no maximum"):
            onefit.nested_cv(model[-1], table, "y", folds=folds, loss="log_loss")
