"""Searches inside training sets that may leave a lasso undetermined: which route, and what is looked at."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import ElasticNetCV, LassoCV, Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV, KFold, TimeSeriesSplit
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from onefit import Gaps, compare, nested_cv, plan_for
from onefit.errors import DataError
from onefit.learners.lasso import _are_known
from onefit.linalg import batched
from onefit.routes.refit import RefitEngine
from onefit.routes.searched import _Sets
from onefit.typing import BoolArray, FloatArray, IntArray


def _table(n: int, n_levels: int, power: float = 1.0) -> tuple[pd.DataFrame, FloatArray]:
    rng = np.random.default_rng(3)
    shares = 1.0 / np.arange(1, n_levels + 1) ** power
    codes = rng.choice(n_levels, size=(n, 2), p=shares / shares.sum())
    effects = rng.standard_normal((2, n_levels))
    x = rng.standard_normal(n)
    y = x + effects[0, codes[:, 0]] + effects[1, codes[:, 1]] + 0.5 * rng.standard_normal(n)
    return pd.DataFrame({"a": codes[:, 0].astype(str), "b": codes[:, 1].astype(str), "x": x}), y


def _pipeline(last: object) -> Pipeline:
    encoder = OneHotEncoder(handle_unknown="ignore")
    return make_pipeline(make_column_transformer((encoder, ["a", "b"]), remainder=StandardScaler()), last)


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Training sets that scikit-learn is asked to search on the gram route, one by one."""
    asked: list[int] = []
    before = RefitEngine.residuals

    def residuals(self: RefitEngine, *arguments: object) -> list[FloatArray]:
        asked.append(1)
        return before(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(RefitEngine, "residuals", residuals)
    return asked


def test_a_lasso_that_rare_levels_leave_undetermined_is_refitted(searches: list[int]) -> None:
    X, y = _table(120, 40)
    model = _pipeline(LassoCV(cv=4))
    found = nested_cv(model, X, y, n_folds=5, n_repeats=1, random_state=0)
    refitted = nested_cv(model, X, y, n_folds=5, n_repeats=1, random_state=0, route="refit")
    assert (found.route, found.estimate, searches) == ("refit", refitted.estimate, [])
    assert "rare levels" in found.route_reason


def test_a_lasso_that_comes_to_be_refitted_has_the_folds_and_repeats_of_refits() -> None:
    X, y = _table(120, 40)
    model = _pipeline(LassoCV(cv=2))
    late, asked = (plan_for(model, X, y, max_fits=30, random_state=0, route=route) for route in ("auto", "refit"))
    assert (late.choice, late.n_folds, late.n_repeats, late.most_repeats, late.n_fits) == ("refit", 5, 2, 2, 30)
    assert (asked.n_folds, asked.n_repeats, asked.most_repeats, asked.n_fits) == (5, 2, 2, 30)
    assert "rare levels" in late.reason
    few = plan_for(model, X[:90], y[:90], max_fits=110, random_state=0)
    assert (few.choice, few.n_folds, few.n_repeats) == ("refit", 10, 2)


@pytest.mark.filterwarnings("ignore")  # one repeat, and fits that stop early
def test_one_lasso_that_comes_to_be_refitted_decides_for_all_models() -> None:
    X, y = _table(120, 40)
    models = {"lasso": _pipeline(LassoCV(cv=2, max_iter=20)), "ridge": _pipeline(Ridge())}
    found = compare(models, X, y, max_fits=1, random_state=0).results
    assert {name: (each.n_folds, each.n_repeats, each.route) for name, each in found.items()} == {
        "lasso": (5, 1, "refit"),
        "ridge": (5, 1, "gram"),
    }


def test_who_asks_for_the_gram_route_gets_it_and_scikit_learn_is_asked(searches: list[int]) -> None:
    X, y = _table(120, 40)
    found = nested_cv(_pipeline(LassoCV(cv=4)), X, y, n_folds=5, n_repeats=1, random_state=0, route="gram")
    assert found.route == "gram"
    assert len(searches) > 15 / 2


@pytest.mark.parametrize(("last", "n_levels"), [(ElasticNetCV(cv=4), 40), (LassoCV(cv=4), 5)])
def test_an_elastic_net_and_frequent_levels_take_no_refits(searches: list[int], last: object, n_levels: int) -> None:
    X, y = _table(120, n_levels, 0.0 if n_levels == 5 else 1.0)
    found = nested_cv(_pipeline(last), X, y, n_folds=5, n_repeats=1, random_state=0)
    assert (found.route, searches) == ("gram", [])


@pytest.mark.parametrize("is_twice", [False, True])
def test_columns_of_numbers_that_are_there_twice_are_noticed_without_a_fit(
    monkeypatch: pytest.MonkeyPatch, is_twice: bool
) -> None:
    looked_at: list[int] = []
    before = _Sets.is_asked
    monkeypatch.setattr(_Sets, "is_asked", lambda self, *asked: looked_at.append(1) or before(self, *asked))
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 6))
    y = X[:, 0] + rng.standard_normal(100)
    X[:, 1] = X[:, 0] if is_twice else X[:, 1]
    found = nested_cv(LassoCV(cv=4), X, y, n_folds=5, n_repeats=1, random_state=0)
    assert (found.route, len(looked_at)) == (("refit", 2) if is_twice else ("gram", 0))


def _eigenvalue(held: FloatArray, part: BoolArray) -> float:
    return float(np.linalg.eigvalsh(held[np.ix_(part, part)])[0])


@pytest.mark.parametrize("least", [0.0, 0.9e-5, 1.1e-5, 1e-3])
def test_a_factor_tells_what_the_smallest_eigenvalue_does(least: float) -> None:
    Q = np.linalg.qr(np.random.default_rng(1).standard_normal((7, 7)))[0]
    system = (Q * np.append(least, np.linspace(0.1, 2.0, 6))) @ Q.T
    assert batched.is_trusted(system) == (np.linalg.eigvalsh(system)[0] >= batched.TRUSTED)
    system[2, 3] = system[3, 2] = np.nan
    assert not batched.is_trusted(system)


@pytest.mark.parametrize("seed", range(30))
def test_a_path_of_fits_is_known_if_each_of_them_is(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    factors: list[int] = []
    before = batched.is_trusted
    monkeypatch.setattr(batched, "is_trusted", lambda system: factors.append(1) or before(system))
    rng = np.random.default_rng(seed)
    codes, x = rng.integers(4, size=40), rng.standard_normal((40, 5))
    if seed % 3 == 0:
        x[:, 1] = x[:, 0]
    Z = np.column_stack([codes[:, None] == np.arange(4), x]).astype(float)
    Z -= Z.mean(axis=0)
    D = 1.0 / np.linalg.norm(Z, axis=0)
    A = (Z * D).T @ (Z * D)
    along = 1.0 / D[:4] / np.linalg.norm(1.0 / D[:4])
    entry = rng.integers(30, size=9)  # a column takes part from here on, but for some fits
    part = (np.arange(40)[:, None] >= entry) & (rng.random((40, 9)) < 0.97)
    part[:, 8] = True
    more = np.linspace(1e-4, 0.0, 40)[:, None] * np.square(D) * (seed % 2)
    each = []
    for at in range(40):
        held = A + np.diag(more[at])
        if part[at, :4].all():
            held[:4, :4] += np.outer(along, along)
        each.append(_eigenvalue(held, part[at]) >= batched.TRUSTED)
    is_known = _are_known(A, more, part, [(np.arange(4), along)])
    assert is_known == all(each)
    assert len(factors) < 20  # of forty


@pytest.mark.parametrize("is_encoded", [False, True])
def test_splits_in_which_no_column_varies_determine_a_lasso(is_encoded: bool) -> None:
    rng = np.random.default_rng(0)
    model: object = LassoCV(cv=3, alphas=5, tol=1e-10, max_iter=100_000)
    X: FloatArray | pd.DataFrame = np.zeros((40, 25))
    if is_encoded:
        model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), model)
        X = pd.DataFrame({"a": ["a"] * 57 + ["b", "b", "c"]})
    else:
        X[[3, 17]] = rng.standard_normal((2, 25))
    y = rng.standard_normal(len(X))
    settings = {"n_folds": 5, "n_repeats": 1, "random_state": 0}
    found, refitted = (nested_cv(model, X, y, **settings, route=route) for route in ("auto", "refit"))
    assert found.estimate == pytest.approx(refitted.estimate, rel=1e-9)
    assert batched.is_trusted(np.empty((0, 0)))


@pytest.mark.parametrize("error", [ValueError, np.linalg.LinAlgError, IndexError, DataError])
def test_what_goes_wrong_in_the_look_beforehand_ends_nothing(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def fail(*asked: object) -> bool:
        raise error("in the look")

    X, y = _table(120, 40)
    model, settings = _pipeline(LassoCV(cv=3, alphas=5)), {"n_folds": 5, "n_repeats": 1, "random_state": 0}
    asked_for = nested_cv(model, X, y, **settings, route="gram")
    monkeypatch.setattr(_Sets, "is_asked", fail)
    found = nested_cv(model, X, y, **settings)
    assert (found.route, found.estimate) == ("gram", asked_for.estimate)


@pytest.mark.parametrize("name", ["ids", "KFold", "TimeSeriesSplit", "Gaps"])
def test_it_is_the_folds_as_they_are_given_that_are_looked_at(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    looked_at: list[list[int]] = []
    before = _Sets.is_asked

    def is_asked(self: _Sets, out: IntArray, *lassos: object) -> bool:
        repeat, folds = self.place(out[0])
        looked_at.append(self.folds.training_rows(repeat, *folds).tolist())
        return before(self, out, *lassos)  # type: ignore[arg-type]

    monkeypatch.setattr(_Sets, "is_asked", is_asked)
    X, y = _table(120, 40)
    ids = np.arange(120) // 24
    given = {
        "ids": ({"folds": ids}, [range(48, 120), [*range(24), *range(72, 120)]]),
        "KFold": ({"cv": KFold(5)}, [range(48, 120), [*range(24), *range(72, 120)]]),
        "TimeSeriesSplit": ({"cv": TimeSeriesSplit(3)}, [range(30), range(90)]),
        "Gaps": ({"cv": Gaps(24)}, [range(48, 120), [*range(24), *range(72, 120)]]),
    }
    settings, expected = given[name]
    found = nested_cv(_pipeline(LassoCV(cv=4, alphas=5)), X, y, **settings)
    assert looked_at[:2] == [list(rows) for rows in expected]
    assert found.route == "refit"


@pytest.mark.parametrize("scoring", [["roc_auc"], ["roc_auc", "accuracy"]])
def test_ranks_of_classes_are_of_scores_where_scikit_learn_searches_a_training_set_itself(scoring: list[str]) -> None:
    """They were of predicted classes, 0.02 off, or an error: weighted shares of close candidates are no exact ties."""
    rng = np.random.default_rng(0)
    X = np.c_[rng.integers(0, 2, 80), rng.normal(size=80)]
    y = (X[:, 0] + rng.normal(size=80) > 0.5).astype(int)
    search = GridSearchCV(RidgeClassifier(), {"alpha": [1.0, 1.0 + 1e-9]}, cv=3)
    settings = {"n_folds": 5, "n_repeats": 2, "random_state": 0, "scoring": scoring}
    weights = rng.uniform(0.5, 2.0, 80)
    fast, slow = (
        nested_cv(search, X, y, sample_weight=weights, route=route, **settings) for route in ("gram", "refit")
    )
    np.testing.assert_allclose(fast.metrics.to_numpy(float), slow.metrics.to_numpy(float), rtol=1e-9)
