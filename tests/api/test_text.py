"""A vector of texts or dicts as X: it goes to the estimator as it was given, and the first step makes columns of it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

import onefit
from helpers import assert_same_results, optional, quiet_nested_cv, quietly
from onefit.errors import DataError, RefitError

pl = optional("polars")

RNG = np.random.default_rng(0)
TEXTS = [" ".join(RNG.choice(["red", "blue", "green", "old", "new"], size=4)) for _ in range(40)]
DICTS = [{"length": len(text), "first": text.split()[0]} for text in TEXTS]
Y = np.array([text.count("red") for text in TEXTS]) + RNG.standard_normal(40)
MODEL = make_pipeline(TfidfVectorizer(), Ridge())
SETTINGS = {"n_folds": 4, "n_repeats": 2, "random_state": 0}
VECTORS = {
    "list": lambda texts: texts,
    "tuple": tuple,
    "array": np.array,
    "array of objects": lambda texts: np.array(texts, dtype=object),
    "pandas": lambda texts: pd.Series(texts, index=range(100, 140)),
    "pandas string": lambda texts: pd.Series(texts, dtype="string"),
    "pandas categories": lambda texts: pd.Series(texts, dtype="category"),
    "polars": lambda texts: pl.Series(texts),
}


@pytest.mark.parametrize("kind", VECTORS)
def test_texts_give_the_numbers_of_their_columns_counted_anew_in_every_training_set(kind):
    """The reference reads the same texts from an object column of one, by way of a function of its own."""
    result = quiet_nested_cv(MODEL, VECTORS[kind](TEXTS), Y, **SETTINGS)
    assert result.route == "refit"
    assert_same_results(result, quiet_nested_cv(OfOneColumn(), np.array(TEXTS, dtype=object)[:, None], Y, **SETTINGS))


class OfOneColumn(RegressorMixin, BaseEstimator):
    """The pipeline on the only column of a table."""

    def fit(self, X, y):
        self.model_ = make_pipeline(TfidfVectorizer(), Ridge()).fit(X[:, 0].tolist(), y)
        return self

    def predict(self, X):
        return self.model_.predict(X[:, 0].tolist())


@pytest.mark.parametrize("kind", VECTORS)
def test_texts_whose_columns_no_training_set_changes_are_fast(kind):
    hashing = HashingVectorizer(n_features=16)
    if get_tags(hashing).requires_fit:
        pytest.skip("this scikit-learn says that it learns from rows")
    result = quiet_nested_cv(make_pipeline(hashing, Ridge()), VECTORS[kind](TEXTS), Y, **SETTINGS)
    assert result.route == "gram"
    expected = quiet_nested_cv(Ridge(), hashing.transform(TEXTS).toarray(), Y, **SETTINGS)
    np.testing.assert_allclose(result.interval, expected.interval, rtol=1e-9)


def test_frozen_texts_are_a_fixed_matrix():
    result = quiet_nested_cv(MODEL, pd.Series(TEXTS), Y, transformers="freeze", **SETTINGS)
    expected = quiet_nested_cv(Ridge(), TfidfVectorizer().fit_transform(TEXTS), Y, **SETTINGS)
    np.testing.assert_allclose(result.interval, expected.interval, rtol=1e-12)


@pytest.mark.parametrize("container", [list, pd.Series, lambda dicts: np.array(dicts, dtype=object)])
def test_dicts_give_the_numbers_of_their_columns(container):
    model = make_pipeline(DictVectorizer(sparse=False), Ridge())
    result = quiet_nested_cv(model, container(DICTS), Y, **SETTINGS)
    # every level is in every training set, so that the columns are the same in all
    columns = DictVectorizer(sparse=False).fit_transform(DICTS)
    expected = quiet_nested_cv(Ridge(), columns, Y, **SETTINGS)
    np.testing.assert_allclose(result.interval, expected.interval, rtol=1e-9)


def test_rows_of_a_series_keep_their_names():
    result = quiet_nested_cv(MODEL, VECTORS["pandas"](TEXTS), Y, **SETTINGS)
    assert list(result.heldout.index) == list(range(100, 140))


class Kept(RegressorMixin, BaseEstimator):
    """Predicts the mean, and looks at the type of what it is given."""

    def __init__(self, kind=list):
        self.kind = kind

    def fit(self, X, y):
        assert isinstance(X, self.kind), type(X)
        self.mean_ = y.mean()
        return self

    def predict(self, X):
        assert isinstance(X, self.kind), type(X)
        return np.full(len(X), self.mean_)


@pytest.mark.parametrize("kind", ["list", "array", "pandas", "polars"])
def test_the_estimator_gets_the_container_that_was_given(kind):
    vector = VECTORS[kind](TEXTS)
    assert np.isfinite(quiet_nested_cv(Kept(type(vector)), vector, Y, **SETTINGS).estimate)


def test_curves_and_comparisons_take_texts():
    values = [0.1, 1.0]
    curve = quietly(
        onefit.error_curve, MODEL, pd.Series(TEXTS), Y, param_name="ridge__alpha", param_range=values, **SETTINGS
    )
    alone = [quiet_nested_cv(make_pipeline(TfidfVectorizer(), Ridge(a)), TEXTS, Y, **SETTINGS) for a in values]
    np.testing.assert_allclose(curve.estimate, [each.estimate for each in alone], rtol=1e-12)
    models = {"words": MODEL, "hashes": make_pipeline(HashingVectorizer(n_features=16), Ridge())}
    found = quietly(onefit.compare, models, pd.Series(TEXTS), Y, **SETTINGS)
    np.testing.assert_allclose(found.results["words"].estimate, alone[1].estimate, rtol=1e-12)


@pytest.mark.parametrize("estimator", [Ridge(), make_pipeline(Ridge()), onefit.PenalizedRegression()], ids=repr)
@pytest.mark.parametrize("vector", [TEXTS, DICTS, pd.Series(TEXTS)], ids=["texts", "dicts", "series"])
def test_models_of_numbers_say_that_columns_are_needed(estimator, vector):
    with pytest.raises(DataError, match=r"a vector of (str|dict), and columns of numbers are needed.*TfidfVectorizer"):
        onefit.nested_cv(estimator, vector, Y, **SETTINGS)


def test_an_additive_model_says_that_it_reads_columns():
    with pytest.raises(DataError, match=r"X has 1 dimension\(s\), and an additive model reads columns"):
        onefit.nested_cv(onefit.AdditiveModel(), TEXTS, Y, **SETTINGS)


def test_a_refit_that_cannot_read_texts_says_so_itself():
    with pytest.raises(RefitError, match=r"Ridge failed in repeat 0.*could not convert string to float"):
        onefit.nested_cv(Ridge(), pd.Series(TEXTS), Y, route="refit", **SETTINGS)


@pytest.mark.parametrize(
    "vector",
    [Y, Y.tolist(), Y.astype(object), pd.Series(Y), pd.Series(Y, dtype="Float64"), pd.date_range("2026", periods=40)],
    ids=["array", "list", "objects", "series", "nullable", "dates"],
)
@pytest.mark.parametrize("estimator", [Ridge(), MODEL], ids=["ridge", "pipeline"])
def test_a_vector_of_numbers_is_no_table(estimator, vector):
    with pytest.raises(DataError, match=r"X has 1 dimension\(s\); it must be a table.*to_frame\(\)"):
        onefit.nested_cv(estimator, vector, Y, **SETTINGS)


def test_an_empty_list_is_no_table():
    with pytest.raises(DataError, match="must be a table"):
        onefit.nested_cv(MODEL, [], [], **SETTINGS)
