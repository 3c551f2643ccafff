"""Least squares on factors: the error names the column, level and rows that a training set lacks, and what helps."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import onefit
from helpers import quiet_nested_cv
from onefit.errors import TrainingSetError

RNG = np.random.default_rng(0)
N = 60
CITY = np.array(["Bonn", "Kiel", "Mainz"])[np.arange(N) % 3]
CITY[[7, 31]] = "Ulm"
FRAME = pd.DataFrame({"size": RNG.normal(size=N), "city": CITY})
DUMMIES = pd.get_dummies(FRAME, columns=["city"], drop_first=True, dtype=float)
Y = RNG.normal(size=N) + FRAME["size"].to_numpy()
FIVE = np.arange(N) % 5
TOGETHER = np.where(CITY == "Ulm", 0, FIVE)[None]

ROUTES = {
    "gram": {"route": "gram", "folds": TOGETHER},
    "onestep": {"route": "onestep", "folds": TOGETHER},
    "leave two out": {"n_folds": "n"},
}


def message(X=DUMMIES, model=None, **keywords):
    with pytest.raises(TrainingSetError) as caught:
        onefit.nested_cv(model or LinearRegression(), X, Y, **keywords)
    return str(caught.value)


@pytest.mark.parametrize("route", ROUTES)
def test_the_error_names_column_value_and_rows(route):
    text = message(**ROUTES[route])
    assert "Value 1 of column 'city_Ulm' is in rows 7, 31 only, which is 0 in all others that are fitted." in text
    assert text.count("route=") == 1  # the remedies once


def test_columns_without_names_have_numbers():
    assert "Value 1 of column 3 is in rows 7, 31 only" in message(DUMMIES.to_numpy(), **ROUTES["gram"])
    assert "Value 1 of column 3 is in rows 7, 31 only" in message(sparse.csr_matrix(DUMMIES.to_numpy()), n_folds="n")


def test_a_text_column_has_a_level():
    encoder = OneHotEncoder(drop="first", sparse_output=False)
    model = make_pipeline(encoder, LinearRegression())
    text = message(FRAME[["city"]], model, transformers="freeze", **ROUTES["gram"])
    assert "Level 'Ulm' of column 'city' is in rows 7, 31 only." in text


def test_the_reference_level_has_no_column_and_is_found_by_its_rows():
    """All other dummies add up to one where it is lacking, so no column by itself is at fault."""
    text = message(pd.get_dummies(FRAME, columns=["city"], dtype=float).drop(columns="city_Ulm"), n_folds="n")
    assert "Columns 'city_Bonn', 'city_Kiel', 'city_Mainz' determine each other but for rows 7, 31" in text


def test_rows_without_weight_do_not_count_as_fitted():
    weights = np.where(np.arange(N) == 31, 0.0, 1.0)
    text = message(sample_weight=weights, folds=np.where(np.arange(N) == 31, 1, TOGETHER))
    assert "Value 1 of column 'city_Ulm' is in rows 7, 31 only" in text


def test_without_an_intercept_a_constant_column_is_not_lost():
    table = DUMMIES.assign(mostly=np.where(FIVE == 0, 2.0, 1.0))
    text = message(table, LinearRegression(fit_intercept=False), **ROUTES["gram"])
    assert "column 'city_Ulm'" in text
    assert "mostly" not in text


def test_a_value_of_a_curve_has_the_same_reason():
    folds = {"route": "gram", "folds": TOGETHER}
    curve = onefit.error_curve(Ridge(), DUMMIES, Y, param_name="alpha", param_range=[0.0, 1.0], **folds)
    assert "Value 1 of column 'city_Ulm' is in rows 7, 31 only" in curve.reasons[0]
    assert curve.reasons[1] == ""


# -------------------------------------------------------------------------------------------- every remedy works


def works(model, X, **keywords):
    return bool(np.isfinite(quiet_nested_cv(model, X, Y, random_state=0, **keywords).estimate))


@pytest.mark.parametrize("route", ROUTES)
def test_the_remedies_work(route):
    text, keywords = message(**ROUTES[route]), ROUTES[route]
    for remedy in ("Merge this level with another one", "Ridge", 'OneHotEncoder(handle_unknown="ignore")'):
        assert remedy in text
    merged = pd.get_dummies(FRAME.replace({"city": {"Ulm": "Bonn"}}), columns=["city"], drop_first=True, dtype=float)
    assert works(LinearRegression(), merged, **keywords)
    assert works(Ridge(alpha=1e-3), DUMMIES, **keywords)
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    folds = {name: value for name, value in keywords.items() if name == "folds"}
    assert works(make_pipeline(encoder, LinearRegression()), FRAME[["city"]], **folds)
    assert works(LinearRegression(), DUMMIES, route="refit", **folds)


def test_other_folds_are_a_remedy_from_three_rows_on():
    assert "folds that spread" not in message(**ROUTES["gram"])
    city = np.where(np.arange(N) == 40, "Ulm", CITY)
    table = pd.get_dummies(FRAME.assign(city=city), columns=["city"], drop_first=True, dtype=float)
    folds = np.where(city == "Ulm", 0, FIVE)[None]
    text = message(table, folds=folds)
    assert re.search(r'choose folds that spread these rows over three or more \(n_folds="n" does\)', text)
    assert works(LinearRegression(), table, n_folds="n")
    spread = FIVE.copy()
    spread[[7, 31, 40]] = [0, 1, 2]
    assert works(LinearRegression(), table, folds=spread[None])
