"""Defaults for models that are refitted: folds, repeats, and how many fits they may take."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeRegressor

import onefit
from helpers import data, quiet_nested_cv, quietly
from onefit.errors import DataError, MonteCarloWarning
from onefit.inference.montecarlo import FAST, MOST_REPEATS, SCHEDULE, Stopping

TREE = DecisionTreeRegressor(max_depth=3, random_state=0)
X, Y = data(120, 4, seed=0)
WIDE, TARGET = data(120, 60, seed=1)
SEED = {"random_state": 0}


class Counted(DecisionTreeRegressor):
    """Counts its fits."""

    fits = 0

    def fit(self, X, y):
        type(self).fits += 1
        return super().fit(X, y)


def kinds(result):
    return [finding.kind for finding in result.findings]


# ------------------------------------------------------------------------------------------------------------- folds


@pytest.mark.parametrize(("n", "folds"), [(60, 10), (99, 10), (100, 5), (300, 5)])
def test_refits_have_five_folds_from_100_rows_on_and_else_ten(n, folds):
    assert quiet_nested_cv(TREE, *data(n, 3, seed=2), max_fits=1, **SEED).n_folds == folds


def test_a_refitted_model_decides_for_all_of_a_comparison_and_for_a_curve():
    found = quietly(onefit.compare, {"ridge": Ridge(), "tree": TREE}, X, Y, max_fits=30, **SEED)
    assert {(each.n_folds, each.n_repeats) for each in found.results.values()} == {(5, 2)}
    curve = quietly(onefit.error_curve, TREE, X, Y, param_name="max_depth", param_range=[1, 2], max_fits=30, **SEED)
    assert {(each.n_folds, each.n_repeats) for each in curve.results} == {(5, 2)}


def test_folds_are_at_most_as_many_as_groups():
    assert quiet_nested_cv(TREE, X, Y, groups=np.arange(120) % 4, max_fits=1, **SEED).n_folds == 4


def test_fast_routes_keep_their_defaults():
    assert quiet_nested_cv(Ridge(), X, Y, **SEED).n_folds == 120
    assert quiet_nested_cv(Ridge(), X, Y, interval="paper", n_repeats=2, **SEED).n_folds == 10


LEVELS = np.array([f"level {i % 60}" for i in range(120)], dtype=object)[:, None]
ENCODED = make_column_transformer((OneHotEncoder(sparse_output=False, handle_unknown="ignore"), [0]))


@pytest.mark.parametrize(
    ("model", "table", "folds"),
    [
        (LinearRegression(), WIDE, 20),
        (LinearRegression(), WIDE[:, :50], 5),  # 72 training rows, 65 needed
        (Ridge(alpha=0.0), WIDE, 20),
        (Ridge(alpha=1.0), WIDE, 5),
        (Lasso(alpha=0.1), WIDE, 5),
        (KNeighborsRegressor(), WIDE, 5),
        (LinearRegression(), np.hstack([WIDE] * 3), 5),  # every training set is interpolated, none is near it only
        (make_pipeline(PCA(10), LinearRegression()), WIDE, 5),  # the columns that the fit gets count
        (make_pipeline(ENCODED, LinearRegression()), LEVELS, 20),
    ],
    ids=["all columns", "few enough", "no penalty", "a penalty", "lasso", "not linear", "far beyond", "PCA", "dummies"],
)
def test_more_folds_where_few_would_nearly_interpolate(model, table, folds):
    result = quiet_nested_cv(model, table, TARGET, route="refit", max_fits=1, **SEED)
    assert result.n_folds == folds
    assert ("interpolation" in kinds(result)) == (folds == 20)


def test_an_unpenalized_classifier_nearly_interpolates_too():
    classes = (np.median(TARGET) < TARGET).astype(int)
    for model, folds in ((LogisticRegression(C=np.inf), 20), (LogisticRegression(), 5)):
        assert quiet_nested_cv(model, WIDE, classes, route="refit", max_fits=1, **SEED).n_folds == folds


def test_few_folds_near_interpolation_are_obeyed_and_told():
    result = quiet_nested_cv(LinearRegression(), WIDE, TARGET, route="refit", n_folds=5, n_repeats=2, **SEED)
    (found,) = (each for each in result.findings if each.kind == "interpolation")
    assert found.message.startswith("Training sets without two of the 5 folds have about 72 rows for 60 columns")
    assert found.remedy == "Use more folds, fewer columns or a penalty."


# ----------------------------------------------------------------------------------------------------------- repeats


@pytest.mark.parametrize(("max_fits", "repeats"), [(1, 1), (29, 1), (30, 2), (44, 2), (45, 3)])
def test_automatic_repeats_end_with_max_fits_but_one_is_made(max_fits, repeats):
    Counted.fits = 0
    result = quiet_nested_cv(Counted(random_state=0), X, Y, max_fits=max_fits, **SEED)
    assert result.n_repeats == repeats
    assert Counted.fits == 15 * repeats
    same = quiet_nested_cv(TREE, X, Y, n_folds=5, n_repeats=repeats, **SEED)
    assert quiet_nested_cv(TREE, X, Y, max_fits=max_fits, **SEED).interval == same.interval


def test_ten_repeats_of_five_folds_are_the_limit_by_default():
    Counted.fits = 0
    noise = np.random.default_rng(0).standard_cauchy(120)
    assert quiet_nested_cv(Counted(random_state=0), X, noise, **SEED).n_repeats <= 10
    assert Counted.fits <= 150


def test_one_repeat_is_told_with_the_number_of_fits_for_two():
    result = quiet_nested_cv(TREE, X, Y, max_fits=20, **SEED)
    (found,) = (each for each in result.findings if each.kind == "one partition")
    assert "not part of it" in found.message
    assert "max_fits=30" in found.remedy
    assert np.isnan(result.monte_carlo_error)
    assert quiet_nested_cv(TREE, X, Y, max_fits=30, **SEED).n_repeats == 2


def test_repeats_that_are_asked_for_are_made_whatever_max_fits_says():
    assert quiet_nested_cv(TREE, X, Y, n_repeats=3, max_fits=1, **SEED).n_repeats == 3


def test_fast_routes_take_no_notice_of_max_fits():
    few, many = (quiet_nested_cv(Ridge(), X, Y, n_folds=5, max_fits=count, **SEED) for count in (1, 10**6))
    assert few.n_repeats == many.n_repeats > 1
    assert few.interval == many.interval


@pytest.mark.parametrize("given", [0, -1, 2.5, "auto", True, None])
@pytest.mark.parametrize("function", [onefit.nested_cv, onefit.error_curve, onefit.compare])
def test_max_fits_must_be_a_positive_integer(function, given):
    extra = {"param_name": "max_depth", "param_range": [1, 2]} if function is onefit.error_curve else {}
    model = {"a": TREE, "b": TREE} if function is onefit.compare else TREE
    with pytest.raises(DataError, match=r"max_fits=.*must be an integer at least 1"):
        function(model, X, Y, max_fits=given, **extra)


def test_above_a_fifth_a_warning_names_the_repeats_that_would_do():
    asked = {"interval": "paper", "max_fits": 30, "random_state": 2}
    with pytest.warns(MonteCarloWarning, match=r"Use about n_repeats=\d+ to bring it below 10%") as caught:
        result = onefit.nested_cv(TREE, X, Y, **asked)
    assert result.monte_carlo_error > 0.20
    needed = int(np.ceil(result.n_repeats * (result.monte_carlo_error / 0.10) ** 2))
    text = next(str(each.message) for each in caught if each.category is MonteCarloWarning)
    assert f"n_repeats={needed} " in text
    assert "max_fits=30" in text


def test_refits_tolerate_more_monte_carlo_error_than_fast_routes():
    refits = Stopping.of_refits(5, 150)
    assert (refits.half_width, refits.centre, refits.tolerated, refits.most) == (0.10, 0.15, 0.20, 10)
    assert (FAST.half_width, FAST.centre, FAST.tolerated, FAST.most) == (0.05, 0.10, 0.10, MOST_REPEATS)
    assert refits.schedule == (2, 3, 4, 5, 6, 8, 10)
    assert Stopping.of_refits(5, 14).schedule == (1,)
    assert FAST.schedule == SCHEDULE
    assert Stopping.of_refits(3, 10**9).most == MOST_REPEATS
    assert refits.repeats_needed(0.2, 10) == 40


def test_refits_stop_as_soon_as_the_errors_are_small():
    result = quiet_nested_cv(Lasso(alpha=0.1), X, Y, **SEED)
    assert 2 <= result.n_repeats < 10
    assert result.monte_carlo_error < 0.10


@pytest.mark.parametrize("rule", ["bates", "mlr3"])
@pytest.mark.parametrize("n_columns", [3, 30], ids=["about the floor", "at the ceiling"])
def test_the_error_of_a_half_width_that_is_cut_is_how_much_it_varies(rule, n_columns):
    table, target = data(80, n_columns, seed=4)
    asked = {"n_folds": 5, "n_repeats": 20, "interval": rule}
    results = [quiet_nested_cv(LinearRegression(), table, target, random_state=seed, **asked) for seed in range(60)]
    widths = np.array([high - low for low, high in (result.interval for result in results)])
    told = np.sqrt(np.mean([result.monte_carlo_error**2 for result in results]))
    assert told == pytest.approx(widths.std(ddof=1) / widths.mean(), rel=0.35)
