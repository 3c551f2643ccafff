"""Searches inside every training set of a table: the figures of the same folds in memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import ElasticNetCV, LassoCV, LogisticRegressionCV, Ridge, RidgeClassifierCV, RidgeCV
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

import onefit
from onefit.dealing import DealtRows
from onefit.errors import RouteError

pytest.importorskip("pyarrow")
pytestmark = pytest.mark.filterwarnings("ignore::onefit.errors.MonteCarloWarning")

N, K, L, SEED = 703, 4, 2, 1
NUMBERS = ["a", "b", "c"]
ALPHAS = [0.1, 3.0, 30.0, 1000.0]
ASKED = {"n_folds": K, "n_repeats": L, "random_state": SEED}


@pytest.fixture(scope="module")
def frame():
    """A trend in the rows, so that consecutive splits differ; an offset, gaps, levels of which one is rare."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(N, 3)) * [1.0, 1e3, 1e-3], columns=NUMBERS)
    frame["b"] += 1e6
    frame["c"] += 1e-3 * np.arange(N) / N
    frame["gap"] = np.where(rng.random(N) < 0.1, np.nan, rng.normal(size=N))
    frame["city"] = rng.choice(["x", "y", "z"], N, p=[0.6, 0.35, 0.05])
    frame["y"] = 50 + frame["a"] + np.sin(np.arange(N) / 100) + (frame["city"] == "x") + rng.normal(size=N)
    frame["w"], frame["g"] = rng.uniform(0.5, 2, N), rng.integers(0, 20, N)
    return frame


def encoder(scale):
    numbers = make_pipeline(SimpleImputer(add_indicator=True), scale)
    dummies = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_column_transformer((numbers, ["b", "gap"]), (dummies, ["city"]), (scale, ["a", "c"]))


MODELS = {
    "ridge": RidgeCV(ALPHAS, cv=5),
    "without intercept": RidgeCV(ALPHAS, cv=3, fit_intercept=False),
    "grid": GridSearchCV(Ridge(), {"alpha": ALPHAS}, scoring="neg_root_mean_squared_error"),
    "steps before": make_pipeline(encoder(StandardScaler()), RidgeCV(ALPHAS, cv=4)),
    "steps inside": GridSearchCV(make_pipeline(encoder(MinMaxScaler()), Ridge()), {"ridge__alpha": ALPHAS}),
    "lasso": make_pipeline(StandardScaler(), LassoCV(cv=5, alphas=20)),
    "elastic net": ElasticNetCV(cv=KFold(3), alphas=[1.0, 0.1, 0.01], l1_ratio=[0.5, 0.9]),
}


@pytest.mark.parametrize("name", MODELS)
def test_figures_are_those_of_the_same_folds_in_memory(name, frame, monkeypatch):
    """However rows are cut into pieces and blocks, in which splits of training sets begin."""
    monkeypatch.setattr("onefit.sources.streams.ROWS_OF_A_PIECE", 150)
    monkeypatch.setattr("onefit.sources.memoryparts.ROWS_OF_A_FRAGMENT", 100)
    monkeypatch.setattr("onefit.sources.memoryparts.ROWS_AT_ONCE", 37)
    columns = ["a", "b", "c", "gap", "city"] if "steps" in name else NUMBERS
    dealt = DealtRows(N, K, SEED)
    folds = np.stack([dealt.ids(0, N, repeat) for repeat in range(L)])
    streamed = onefit.nested_cv(MODELS[name], onefit.scan(frame[[*columns, "y"]]), "y", n_jobs=2, **ASKED)
    memory = onefit.nested_cv(MODELS[name], frame[columns], frame["y"], folds=folds)
    for figure in ("estimate", "interval", "standard_error", "mse", "r2", "skill"):
        np.testing.assert_allclose(getattr(streamed, figure), getattr(memory, figure), rtol=1e-9, err_msg=figure)
    assert (streamed.route, streamed.exactness) == (memory.route, memory.exactness)


def test_groups_and_uneven_folds(frame):
    folds = (frame["g"].to_numpy() % 7 + np.arange(2)[:, None]) % 7
    folds[folds == 6] = 0
    table = onefit.scan(frame[[*NUMBERS, "y", "g"]])
    streamed = onefit.nested_cv(MODELS["ridge"], table, "y", groups="g", folds=folds, loss="absolute_error")
    given = {"groups": frame["g"], "folds": folds, "loss": "absolute_error"}
    memory = onefit.nested_cv(MODELS["ridge"], frame[NUMBERS], frame["y"], **given)
    np.testing.assert_allclose(streamed.interval, memory.interval, rtol=1e-9)
    models = {"tuned": MODELS["ridge"], "fixed": Ridge(1e3)}
    streamed = onefit.compare(models, table, "y", groups="g", folds=folds)
    memory = onefit.compare(models, frame[NUMBERS], frame["y"], groups=frame["g"], folds=folds)
    columns = ["estimate", "low", "high", "standard_error"]
    np.testing.assert_allclose(streamed.differences[columns], memory.differences[columns], rtol=1e-8)


def test_what_sums_do_not_tell_is_refused_with_the_remedy(frame):
    numbers = onefit.scan(frame[[*NUMBERS, "y", "w"]])
    classes = onefit.scan(frame[NUMBERS].assign(y=(frame["y"] > 50).astype(int)))

    def refused(match, estimator, table=numbers, **options):
        with pytest.raises(RouteError, match=match):
            onefit.nested_cv(estimator, table, "y", **options)

    refused("cv=5, or KFold without shuffle", RidgeCV(ALPHAS, cv=KFold(5, shuffle=True, random_state=0)))
    refused("cv=5", RidgeCV(ALPHAS))
    refused("cv=5", make_pipeline(MinMaxScaler(), RidgeCV(ALPHAS)))
    refused("score by one of r2", GridSearchCV(Ridge(), {"alpha": ALPHAS}, scoring="neg_mean_absolute_error"))
    refused(r"leave them out, or .*table\.sample", RidgeCV(ALPHAS, cv=5), sample_weight="w")
    refused("does not split by consecutive rows", RidgeClassifierCV(ALPHAS, cv=5), classes)
    refused("error_curve", LogisticRegressionCV(Cs=3), classes)
