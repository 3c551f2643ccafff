"""Columns that depend on each other: in all rows, which is found once, or in those of a training set."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, PolynomialFeatures, StandardScaler

from helpers import quiet_nested_cv
from onefit.learners import dependences
from onefit.routes import encoded, features

SETTINGS = {"n_folds": 5, "n_repeats": 2, "random_state": 0}
WEAK = 1e-4
"""A penalty that does not hold columns that depend on each other: as that of one does in 100,000 rows."""
NUMBERS = ["time", "hour", "minute", "x"]


def table(n=300, seed=0):
    """A time as hundreds of hours and minutes, and a level that most training sets lack."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"hour": rng.integers(5, 24, n) * 1.0, "minute": rng.integers(0, 60, n) * 1.0})
    X.insert(0, "time", 100 * X["hour"] + X["minute"])
    X["x"], X["level"] = rng.normal(size=n), rng.choice(list("abc"), n)
    y = X["hour"] - 0.1 * X["minute"] + X["x"] + (X["level"] == "b") + rng.normal(size=n)
    return X, y


def behind(step, last=None):
    columns = make_column_transformer((step, NUMBERS), (OneHotEncoder(handle_unknown="ignore"), ["level"]))
    return make_pipeline(columns, Ridge(WEAK) if last is None else last)


class Asked:
    """How often the rows of a training set were asked for, or its steps fitted, and all rows looked at."""

    def __init__(self, monkeypatch):
        self.sets = self.all_rows = 0
        rows, alone, found = encoded._Sets._rows, encoded._Sets._part_from_rows, features.Constants.of_rows

        def count_sets(method):
            def counted(*args):
                self.sets += 1
                return method(*args)

            return counted

        def count_all(*args):
            self.all_rows += 1
            return found(*args)

        monkeypatch.setattr(encoded._Sets, "_rows", count_sets(rows))
        monkeypatch.setattr(encoded._Sets, "_part_from_rows", count_sets(alone))
        monkeypatch.setattr(features.Constants, "of_rows", staticmethod(count_all))


def assert_refits(model, X, y, monkeypatch, **options):
    slow = quiet_nested_cv(model, X, y, route="refit", **SETTINGS, **options)
    with monkeypatch.context() as patch:
        asked = Asked(patch)
        fast = quiet_nested_cv(model, X, y, **SETTINGS, **options)
    assert fast.route == "gram"
    for name in ("estimate", "cv_estimate", "raw_estimate"):
        assert getattr(fast, name) == pytest.approx(getattr(slow, name), rel=1e-9)
    return asked


@pytest.mark.parametrize("step", ["passthrough", StandardScaler(), MinMaxScaler()], ids=repr)
@pytest.mark.parametrize("last", [Ridge(WEAK), Ridge(WEAK, fit_intercept=False), LinearRegression()], ids=repr)
def test_what_depends_in_all_rows_is_found_once_and_no_training_set_is_asked(step, last, monkeypatch):
    X, y = table()
    if last.fit_intercept is False:  # then levels, a constant in sum, are what scaled columns depend on
        y = y + 3.0
    asked = assert_refits(behind(step, last), X, y, monkeypatch)
    assert (asked.sets, asked.all_rows) == (0, 1)


def test_nor_with_weights_of_which_some_are_zero(monkeypatch):
    X, y = table()
    weights = np.random.default_rng(1).uniform(0.5, 2, len(X))
    weights[::7] = 0.0
    X.loc[::7, "time"] += 50.0  # what no fit sees depends on nothing
    asked = assert_refits(behind(StandardScaler()), X, y, monkeypatch, sample_weight=weights)
    assert (asked.sets, asked.all_rows) == (0, 1)


@pytest.mark.parametrize("strategy", ["mean", "median", "constant"])
@pytest.mark.parametrize("is_shared", [True, False])
def test_gaps_that_are_filled_keep_a_dependence_only_where_the_fillings_do(strategy, is_shared, monkeypatch):
    X, y = table()
    gaps = X.index[::9] if is_shared else X.index[1::9]
    X.loc[X.index[::9], ["time", "hour"]] = np.nan
    X.loc[gaps, "minute"] = np.nan
    step = make_pipeline(SimpleImputer(strategy=strategy, fill_value=0), StandardScaler())
    asked = assert_refits(behind(step), X, y, monkeypatch)
    if is_shared and strategy == "mean":
        assert asked.sets == 0


def test_products_of_scaled_columns_that_depend_on_each_other(monkeypatch):
    X, y = table()
    X["switch"] = (X["x"] > 0.3) * 1.0  # is its own square
    model = make_pipeline(StandardScaler(), PolynomialFeatures(2, include_bias=False), Ridge(WEAK))
    asked = assert_refits(model, X[["switch", "x", "minute"]], y, monkeypatch)
    assert (asked.sets, asked.all_rows) == (0, 1)


def test_what_depends_in_some_training_sets_only_is_asked_of_their_rows(monkeypatch):
    X, y = table()
    X["time"] += (X.index == 17) * 3000.0  # one row is not what the others are
    asked = assert_refits(behind(StandardScaler()), X, y, monkeypatch)
    of_fold = 2 * (1 + 4)  # the sets without the fold of that row, in each of two repeats
    assert (asked.sets, asked.all_rows) == (of_fold, 1)


def test_a_level_that_a_training_set_lacks_takes_nothing_away(monkeypatch):
    X, y = table()
    X.loc[X.index[5], "level"] = "rare"
    asked = assert_refits(behind(StandardScaler()), X, y, monkeypatch)
    assert (asked.sets, asked.all_rows) == (0, 1)


def test_a_search_inside_every_training_set_is_not_left_to_scikit_learn(monkeypatch):
    X, y = table()
    search = GridSearchCV(behind(StandardScaler()), {"ridge__alpha": [WEAK, 30.0]}, cv=3)
    monkeypatch.setattr("onefit.routes.searched._Sets.from_rows", None)
    assert quiet_nested_cv(search, X, y, **SETTINGS).route == "gram"


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_the_same_to_the_bit_for_any_number_of_jobs(n_jobs):
    X, y = table()
    found = quiet_nested_cv(behind(StandardScaler()), X, y, n_jobs=n_jobs, **SETTINGS)
    one = quiet_nested_cv(behind(StandardScaler()), X, y, **SETTINGS)
    assert (found.estimate, found.cv_estimate) == (one.estimate, one.cv_estimate)


def test_blocks_of_rows_tell_a_dependence_from_columns_that_are_close(monkeypatch):
    monkeypatch.setattr(dependences, "ROWS_AT_ONCE", 64)
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(2, 500))
    B = np.column_stack([a, b, a - 2 * b, a + 3e-7 * rng.normal(size=500), np.ones(500)])
    (combination,) = dependences.Constants.of_rows(B, B.T @ B, None, True).combinations.T
    assert combination / combination[2] == pytest.approx([-1, 2, 1, 0, 0], abs=1e-6)
    assert np.abs(B @ combination).max() < 1e-14
