"""Whatever a keyword is given, the answer is a result or an error of onefit that says cause and remedy."""

from __future__ import annotations

import decimal
import fractions
import time

import numpy as np
import pandas as pd
import polars
import pytest
from sklearn.linear_model import HuberRegressor, Lasso, LinearRegression, Ridge, RidgeClassifier, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import onefit
from helpers import data, quietly
from onefit.errors import DataError, FoldError, OneFitError

N = 20
X, Y = data(N, 3, 1)


def records():
    return np.zeros(N, dtype=[("a", float)])


ODD = {
    "None": None,
    "NaN": np.nan,
    "NA": pd.NA,
    "NaT": pd.NaT,
    "truth value": np.bool_(True),
    "empty text": "",
    "text": "x",
    "bytes": b"ab",
    "list": [],
    "tuple": (),
    "dict": {},
    "dict of rows": dict.fromkeys(range(N), 1.0),
    "set": {1, 2},
    "object": object(),
    "class": int,
    "class of estimators": Ridge,
    "function of nothing": lambda: 1,
    "function that returns nothing": lambda a, b: None,
    "module": np,
    "slice": slice(3),
    "0-d integer": np.array(3),
    "0-d object": np.array(None, dtype=object),
    "empty array": np.array([]),
    "array": np.array([1, 2]),
    "huge": 10**30,
    "huge rows": [10**30] * N,
    "negative": -5,
    "zero": 0,
    "infinite": np.inf,
    "fraction": fractions.Fraction(1, 2),
    "decimal": decimal.Decimal("NaN"),
    "complex": 1j,
    "ragged": [[1, 2], [3]] * (N // 2),
    "ragged at the end": [[1]] * (N - 1) + [[1, 2]],
    "date": np.datetime64("2020-01-01"),
    "dates": pd.date_range("2020", periods=N),
    "periods": pd.period_range("2020", periods=N),
    "missing floats": pd.Series([1.0, None] * (N // 2)),
    "missing integers": pd.array([1, None] * (N // 2), dtype="Int64"),
    "missing truth values": pd.array([True, None] * (N // 2), dtype="boolean"),
    "missing texts": pd.array(["a", None] * (N // 2), dtype="string"),
    "missing categories": pd.Categorical(["a", None] * (N // 2)),
    "polars": polars.Series([1, None] * (N // 2)),
    "polars frame": polars.DataFrame({"a": [1.0, None] * (N // 2)}),
    "objects": np.array([object()] * N, dtype=object),
    "mixed": np.array([1, "a"] * (N // 2), dtype=object),
    "masked": np.ma.masked_array(np.arange(float(N)), np.arange(N) < 1),
    "matrix": np.matrix(np.arange(N)),
    "half precision": np.arange(N, dtype=np.float16),
    "byte-swapped": np.arange(N).astype(">f8"),
    "large integers": np.full(N, 2**64 - 1, dtype=np.uint64),
    "complex rows": np.full(N, 1j),
    "table": np.zeros((N, 2)),
    "records": records(),
    "void": np.zeros(N, dtype="V8"),
    "memory": memoryview(b"x" * N),
}
KEYWORDS = [
    *("n_folds", "n_repeats", "loss", "confidence_level", "interval", "groups", "sample_weight", "folds"),
    *("bias_folds", "route", "transformers", "random_state", "n_jobs", "progress", "X", "y", "estimator"),
]
TABLES = {"X": X, "y": Y}
CURVE = {"param_name": "alpha", "param_range": [1.0, 2.0]}
CALLS = {
    "nested_cv": lambda **odd: onefit.nested_cv(**{"estimator": Ridge(), **TABLES, **odd}),
    "refits": lambda **odd: onefit.nested_cv(
        **{"estimator": HuberRegressor(alpha=0.1), **TABLES, "n_folds": 3, "n_repeats": 1, **odd}
    ),
    "classes": lambda **odd: onefit.nested_cv(**{"estimator": RidgeClassifier(), "X": X, "y": Y > 0, **odd}),
    "error_curve": lambda **odd: onefit.error_curve(**{"estimator": Ridge(), **TABLES, **CURVE, **odd}),
    "compare": lambda estimator=None, **odd: onefit.compare(
        {"a": Ridge(), "b": LinearRegression()} if estimator is None else estimator, **{**TABLES, **odd}
    ),
}


def escapes(call, keyword, capsys):
    """Odd values that end in another error, or after a long time."""
    found = []
    for name, value in [*ODD.items(), ("generator", (i for i in range(N)))]:
        start = time.perf_counter()
        try:
            quietly(call, **{keyword: value})
        except OneFitError as error:
            if len(str(error)) < 20:
                found.append((name, str(error)))
        except Exception as error:
            found.append((name, repr(error)))
        if time.perf_counter() - start > 15:
            found.append((name, "takes long"))
    capsys.readouterr()  # a bar, where one was asked for
    return found


@pytest.mark.parametrize("keyword", KEYWORDS)
@pytest.mark.parametrize("call", CALLS)
def test_odd_values_of_a_keyword(call, keyword, capsys):
    assert escapes(CALLS[call], keyword, capsys) == []


@pytest.mark.parametrize("keyword", ["param_name", "param_range", "simpler"])
def test_odd_values_of_a_curve(keyword, capsys):
    assert escapes(CALLS["error_curve"], keyword, capsys) == []


@pytest.mark.parametrize("keyword", ["n", "p", "n_folds", "n_repeats", "n_values"])
def test_odd_values_of_a_plan(keyword, capsys):
    given = {"n": 500, "p": 21, "n_folds": 10, "n_repeats": 1, "n_values": 1}
    assert escapes(lambda **odd: onefit.plan(**{**given, **odd}), keyword, capsys) == []
    if keyword in ("n", "p"):
        assert escapes(lambda **odd: onefit.breakeven_folds(**{"n": 500, "p": 21, **odd}), keyword, capsys) == []


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"groups": ODD["ragged"]}, "groups cannot be read as an array"),
        ({"sample_weight": ODD["ragged"]}, "sample_weight cannot be read as an array"),
        ({"sample_weight": ODD["masked"]}, "sample_weight is masked in 1"),
        ({"groups": records()}, "groups holds records"),
        ({"n_jobs": pd.NA}, "n_jobs=<NA> must be an integer from 1 to 1024"),
        ({"n_jobs": np.array([])}, "n_jobs=array"),
        ({"n_jobs": True}, "n_jobs=True must"),
        ({"n_jobs": 10**6}, "n_jobs=1000000 must"),
        ({"loss": int}, "loss=<class 'int'> cannot be called with"),
        ({"loss": lambda y: y}, "cannot be called with"),
        ({"loss": lambda y, prediction: y / None}, "The loss <lambda> failed: TypeError"),
        ({"progress": int}, "progress=<class 'int'> must be"),
        ({"progress": lambda: None}, "must be True, False, None or a function"),
        ({"n_repeats": 1_000_000}, "n_repeats=1000000 is out of range: it must be an integer from 1 to 100000"),
        ({"bias_folds": 1_000_000}, "bias_folds=1000000 is out of range: it must be an integer from 1 to 100000"),
    ],
    ids=lambda value: ", ".join(value) if isinstance(value, dict) else value,
)
def test_the_error_says_what_is_wrong(keywords, message):
    with pytest.raises(DataError, match=message):
        onefit.nested_cv(Ridge(), X, Y, **keywords)


def test_unequal_lists_are_no_folds():
    with pytest.raises(FoldError, match="bias_folds is not a table of fold ids"):
        onefit.nested_cv(Ridge(), X, Y, n_folds=3, bias_folds=ODD["ragged"])


@pytest.mark.parametrize("what", ["X", "y"])
def test_masked_data_are_missing(what):
    masked = {"X": np.ma.masked_array(X, X > 1), "y": np.ma.masked_array(Y, Y > 1)}
    with pytest.raises(DataError, match=f"{what} is masked in"):
        onefit.nested_cv(Ridge(), **{"X": X, "y": Y, what: masked[what]})


def containers(values):
    padded = np.zeros((2 * len(values), *values.shape[1:]))
    padded[::2] = values
    locked = values.copy()
    locked.flags.writeable = False
    table = {f"x{j}": column for j, column in enumerate(np.atleast_2d(values.T))}
    made = {
        "not contiguous": padded[::2],
        "column by column": np.asfortranarray(values),
        "read-only": locked,
        "byte-swapped": values.astype(">f8"),
        "long": values.astype(np.longdouble),
        "objects": values.astype(object),
        "masked nowhere": np.ma.masked_array(values, np.zeros(values.shape, dtype=bool)),
        "list": values.tolist(),
    }
    if values.ndim == 2:
        extension = pd.DataFrame({name: pd.array(column, dtype="Float64") for name, column in table.items()})
        made |= {"matrix": np.matrix(values), "extension": extension, "polars": polars.DataFrame(table)}
    else:
        made |= {"extension": pd.Series(pd.array(values, dtype="Float64")), "polars": polars.Series(values)}
    return made


@pytest.mark.parametrize("name", [*containers(X), *sorted({*containers(Y)} - {*containers(X)})])
@pytest.mark.parametrize("estimator", [Ridge(), RidgeCV(), Lasso(0.1), onefit.SplineRegression(n_basis=4)], ids=str)
def test_the_container_does_not_matter(name, estimator):
    keywords = {"n_folds": 3, "n_repeats": 1, "random_state": 0}
    expected = quietly(onefit.nested_cv, estimator, X, Y, **keywords).estimate
    for own_X, own_y in ((containers(X).get(name, X), Y), (X, containers(Y).get(name, Y))):
        found = quietly(onefit.nested_cv, estimator, own_X, own_y, **keywords).estimate
        assert found == pytest.approx(expected, rel=1e-12)


# ------------------------------------------------------------------------------------------------ magnitudes of numbers

MODELS = {
    "spline": onefit.SplineRegression(n_basis=4),
    "thin plate": onefit.SplineRegression(n_basis=4, basis="tp"),
    "B-spline": onefit.SplineRegression(n_basis=6, basis="bs"),
    "additive": onefit.AdditiveModel(n_basis=4),
    "lines": onefit.AdditiveModel([onefit.linear(0), onefit.smooth(1, n_basis=4)]),
    "penalized": onefit.PenalizedRegression(lam="gcv"),
    "fpcr": onefit.FPCR(),
    "RidgeCV": RidgeCV(),
    "scaled": make_pipeline(StandardScaler(), RidgeCV()),
}
FOLDS = {"n_folds": 3, "n_repeats": 1, "random_state": 0}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("size", [1e300, 1e200])
def test_columns_whose_squares_overflow_are_refused(name, size):
    with pytest.raises(DataError, match=r"change (its units|the units)|rescale"):
        quietly(onefit.nested_cv, MODELS[name], X * size, Y, **FOLDS)
    if name not in ("RidgeCV", "scaled"):
        with pytest.raises(DataError, match="units"):
            quietly(MODELS[name].fit, X * size, Y)


@pytest.mark.parametrize("name", ["spline", "additive"])
def test_columns_whose_cubes_vanish_are_refused(name):
    with pytest.raises(DataError, match="change the units"):
        quietly(onefit.nested_cv, MODELS[name], X * 1e-200, Y, **FOLDS)


@pytest.mark.parametrize("size", [1e-200, 1e-90])
def test_a_target_whose_losses_vanish_is_refused(size):
    with pytest.raises(DataError, match="y is as large as"):
        onefit.nested_cv(Ridge(), X, Y * size)
    with pytest.raises(DataError, match="y is as large as"):
        onefit.AdditiveModel(n_basis=4).fit(X, Y * 1e-200)


@pytest.mark.parametrize("name", [name for name in MODELS if name not in ("RidgeCV", "scaled", "fpcr")])
@pytest.mark.parametrize("size", [1e300, 1e200, 1e-200, 1e-300])
def test_a_factor_of_all_weights_moves_only_the_penalty(name, size):
    X, y = data(60, 3, 2)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 60)
    one, other = (quietly(MODELS[name].fit, X, y, sample_weight=weights * by).predict(X) for by in (1.0, size))
    np.testing.assert_allclose(other, one, rtol=1e-6)
    results = [
        quietly(onefit.nested_cv, MODELS[name], X, y, sample_weight=weights * by, **FOLDS).estimate
        for by in (1.0, size)
    ]
    assert results[1] == pytest.approx(results[0], rel=1e-6)


BEYOND = 10**400
"""A whole number that is none in double precision."""


@pytest.mark.parametrize(
    "odd",
    [
        {"confidence_level": BEYOND},
        {"confidence_level": fractions.Fraction(BEYOND)},
        {"y": [BEYOND, *range(1, N)]},
        {"X": [[BEYOND, 1.0]] * N},
        {"sample_weight": [BEYOND] * N},
        {"estimator": Ridge(alpha=BEYOND)},
        {"estimator": RidgeCV([1.0, BEYOND])},
        {"estimator": Lasso(alpha=BEYOND)},
    ],
    ids=lambda odd: next(iter(odd)),
)
def test_whole_numbers_beyond_double_precision_are_refused(odd):
    with pytest.raises(DataError):
        quietly(CALLS["nested_cv"], **odd)
