"""What is said where scikit-learn's least squares drops directions that the fast routes use."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import onefit

pytestmark = pytest.mark.skipif(
    not hasattr(LinearRegression(), "tol"), reason="scikit-learn drops rounding errors only"
)

FOLDS = {"n_folds": 5, "n_repeats": 2, "random_state": 0}


def units(spread, n=60):
    """Columns that all matter; the last one is smaller than the first by ``spread``."""
    rng = np.random.default_rng(3)
    Z = rng.normal(size=(n, 3))
    return Z * [1.0, 1.0, spread], Z @ [1.0, 2.0, 3.0] + rng.normal(size=n)


def cuts(result):
    return [finding for finding in result.findings if "LinearRegression drops" in finding.message]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_columns_of_very_different_units_are_told_and_a_smaller_tol_fits_what_is_shown(fit_intercept, weighted):
    X, y = units(1e-7)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y)) if weighted else None
    keywords = {**FOLDS, "sample_weight": weights}
    model = LinearRegression(fit_intercept=fit_intercept)
    shown = onefit.nested_cv(model, X, y, **keywords)
    (finding,) = cuts(shown)
    assert "1 of 3 on all rows" in finding.message
    assert "StandardScaler" in finding.remedy
    assert model.fit(X, y, sample_weight=weights).rank_ == 2
    assert onefit.nested_cv(model, X, y, **keywords, route="refit").cv_estimate > 2 * shown.cv_estimate
    same = model.set_params(tol=1e-13)
    np.testing.assert_allclose(
        onefit.nested_cv(same, X, y, **keywords, route="refit").cv_estimate, shown.cv_estimate, rtol=1e-8
    )
    assert not cuts(onefit.nested_cv(same, X, y, **keywords))


@pytest.mark.parametrize("spread", [1.0, 1e-4])
def test_nothing_is_said_where_scikit_learn_drops_nothing(spread):
    X, y = units(spread)
    assert not cuts(onefit.nested_cv(LinearRegression(), X, y, **FOLDS))


def test_a_scaler_before_it_and_other_models_are_not_cut():
    X, y = units(1e-9)
    for model in (make_pipeline(StandardScaler(), LinearRegression()), Ridge(1e-20)):
        assert not cuts(onefit.nested_cv(model, X, y, **FOLDS))


def test_nearly_collinear_columns_are_told_behind_steps_and_dummies_that_depend_on_each_other_are_not():
    X, y = units(1.0)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 0] + 1e-8 * X[:, 1], "s": np.resize(["u", "v", "w"], len(y))})
    numbers = (SimpleImputer(), ["a", "b"])
    dummies = (OneHotEncoder(sparse_output=False), ["s"])
    collinear = onefit.nested_cv(make_pipeline(make_column_transformer(numbers), LinearRegression()), frame, y, **FOLDS)
    assert "1 of 2 on all rows" in cuts(collinear)[0].message
    redundant = make_pipeline(make_column_transformer((SimpleImputer(), ["a"]), dummies), LinearRegression())
    found = onefit.nested_cv(redundant, frame, y, **FOLDS)
    assert found.route == "gram"
    assert not cuts(found)


def test_each_model_of_a_comparison_has_its_own_and_many_rows_are_sampled():
    X, y = units(1e-8, 50_000)
    models = {"as they are": LinearRegression(), "scaled": make_pipeline(StandardScaler(), LinearRegression())}
    comparison = onefit.compare(models, X, y, n_folds=5, n_repeats=1, random_state=0)
    assert [len(cuts(comparison.results[name])) for name in models] == [1, 0]
