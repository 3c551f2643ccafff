"""Frames, dtypes, several outputs, and the shape of the result."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge, RidgeClassifier

from helpers import (
    FOLD_ERRORS,
    ROUTES,
    assert_same_results,
    optional,
    quiet_nested_cv,
)
from onefit.errors import DataError

pa, pl = optional("pyarrow"), optional("polars")

NAMES = ["age", "bmi", "dose"]
OUTPUTS = ["weight", "height"]
FIGURES = ("estimate", "standard_error", "bias", "mse", "inflation")
FIGURES += ("raw_estimate", "cv_estimate", "monte_carlo_error")
SETTINGS = {"n_folds": 4, "n_repeats": 2, "random_state": 7}
FRAMES = {
    "pandas": lambda X, Y: (pd.DataFrame(X, columns=NAMES), pd.DataFrame(Y, columns=OUTPUTS)),
    "pandas, odd index": lambda X, Y: (
        pd.DataFrame(X, columns=NAMES, index=range(100, 100 + len(X))),
        pd.DataFrame(Y, columns=OUTPUTS, index=range(100, 100 + len(X))),
    ),
    "polars": lambda X, Y: (pl.DataFrame(X, schema=NAMES), pl.DataFrame(Y, schema=OUTPUTS)),
    "pyarrow": lambda X, Y: (
        pa.table(dict(zip(NAMES, X.T, strict=True))),
        pa.table(dict(zip(OUTPUTS, Y.T, strict=True))),
    ),
    "lists": lambda X, Y: (X.tolist(), Y.tolist()),
}


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("kind", FRAMES)
def test_one_output_of_a_frame_gives_the_numbers_of_arrays(kind, route, two_outputs):
    X, Y = two_outputs
    frame, outputs = FRAMES[kind](X, Y)
    column = outputs[OUTPUTS[0]] if hasattr(outputs, "columns") else [row[0] for row in outputs]
    result = quiet_nested_cv(Ridge(), frame, column, **SETTINGS, route=route)
    expected = quiet_nested_cv(Ridge(), X, Y[:, 0], **SETTINGS, route=route)
    for name in FOLD_ERRORS:  # refits see another memory order, which may move the last bit
        actual, wanted = (getattr(r.fold_errors, name) for r in (result, expected))
        np.testing.assert_allclose(actual, wanted, rtol=1e-12)
    np.testing.assert_allclose(result.interval, expected.interval, rtol=1e-12)
    assert np.ndim(result.estimate) == 0


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_several_outputs_of_a_frame_carry_their_names(kind, two_outputs):
    frame, outputs = FRAMES[kind](*two_outputs)
    result = quiet_nested_cv(Ridge(), frame, outputs, **SETTINGS)
    assert result.intervals.index.names[1] == "output"
    assert list(result.intervals.index.get_level_values("output").unique()) == OUTPUTS
    assert list(result.intervals.columns) == ["estimate", "low", "high", "standard_error"]


@pytest.mark.parametrize("route", ROUTES)
def test_every_figure_has_a_trailing_axis_of_outputs_equal_to_runs_on_one_output(route, two_outputs):
    X, Y = two_outputs
    result = quiet_nested_cv(Ridge(), X, Y, **SETTINGS, route=route)
    assert np.shape(result.interval) == (2, 2)
    for k in range(2):
        alone = quiet_nested_cv(Ridge(), X, Y[:, k], **SETTINGS, route=route)
        for name in FOLD_ERRORS:
            assert getattr(result.fold_errors, name).shape == (2, 4, 2)
            actual = getattr(result.fold_errors, name)[..., k]
            np.testing.assert_allclose(actual, getattr(alone.fold_errors, name), rtol=1e-9)
        np.testing.assert_allclose(result.fold_errors.mse[..., k], alone.fold_errors.mse, rtol=1e-9)
        for name in FIGURES:
            assert np.shape(getattr(result, name)) == (2,)
            np.testing.assert_allclose(getattr(result, name)[k], getattr(alone, name), rtol=1e-7)
        np.testing.assert_allclose(np.asarray(result.interval)[:, k], alone.interval, rtol=1e-9)
        output = result.intervals.index.get_level_values("output").unique()[k]
        rows = result.intervals.xs(output, level="output")
        np.testing.assert_allclose(rows.loc[alone.intervals.index], alone.intervals, rtol=1e-9)


def test_one_column_of_y_keeps_its_axis(two_outputs):
    X, Y = two_outputs
    result = quiet_nested_cv(Ridge(), X, Y[:, :1], **SETTINGS)
    assert result.fold_errors.e_in.shape == (2, 4, 1)
    assert np.shape(result.estimate) == (1,)


@pytest.mark.parametrize("route", ROUTES)
def test_single_precision_data_are_computed_in_double(route, regression):
    X, y = (array.astype(np.float32) for array in regression)
    result = quiet_nested_cv(Ridge(), X, y, **SETTINGS, route=route)
    assert result.fold_errors.e_in.dtype == np.float64
    assert_same_results(result, quiet_nested_cv(Ridge(), X.astype(float), y.astype(float), **SETTINGS, route=route))


@pytest.mark.parametrize("dtype", [np.int8, np.int64, bool, object])
def test_whole_numbers_are_computed_in_double(dtype, regression):
    X, y = ((array > 0.5).astype(dtype) for array in regression)
    result = quiet_nested_cv(Ridge(), X, y, **SETTINGS)
    assert_same_results(result, quiet_nested_cv(Ridge(), X.astype(float), y.astype(float), **SETTINGS))


def test_memory_order_and_read_only_arrays_change_nothing(regression):
    X, y = regression
    locked = np.asfortranarray(X)
    locked.setflags(write=False)
    strided = np.repeat(y, 2)[::2]
    expected = quiet_nested_cv(Ridge(), X, y, **SETTINGS)
    np.testing.assert_allclose(quiet_nested_cv(Ridge(), locked, strided, **SETTINGS).estimate, expected.estimate)


@pytest.mark.parametrize("n_outputs", [None, 2])
def test_to_dict_is_plain_json_even_with_missing_figures(n_outputs, two_outputs):
    X, Y = two_outputs
    y = Y[:, 0] if n_outputs is None else Y
    result = quiet_nested_cv(Ridge(), X, y, n_folds=20, n_repeats=1, random_state=0)  # v_out and Monte Carlo: NaN
    back = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    np.testing.assert_allclose(back["estimate"], result.estimate, rtol=1e-15)
    np.testing.assert_allclose(back["interval"], result.interval, rtol=1e-15)
    assert back["n_folds"] == 20
    assert back["monte_carlo_error"] in (None, [None, None])


@pytest.mark.parametrize("n_outputs", [None, 2])
def test_to_frame_and_summary_hold_the_estimate(n_outputs, two_outputs):
    X, Y = two_outputs
    result = quiet_nested_cv(Ridge(), X, Y[:, 0] if n_outputs is None else Y, **SETTINGS)
    frame = result.to_frame()
    assert isinstance(frame, pd.DataFrame)
    for value in np.atleast_1d(result.estimate):
        assert np.isclose(frame.select_dtypes("number").to_numpy(float), value).any()
    assert isinstance(result.summary(), str)
    assert "95%" in result.summary()


def test_result_is_frozen(regression):
    result = quiet_nested_cv(Ridge(), *regression, **SETTINGS)
    with pytest.raises((dataclasses.FrozenInstanceError, AttributeError)):
        result.estimate = 0.0
    with pytest.raises((dataclasses.FrozenInstanceError, AttributeError)):
        result.fold_errors.e_in = None


def test_heldout_is_indexed_by_row(regression):
    heldout = quiet_nested_cv(Ridge(), *regression, **SETTINGS).heldout
    assert isinstance(heldout, pd.DataFrame)
    assert len(heldout) == 40
    assert heldout.notna().all(axis=None)


@pytest.mark.parametrize("names", [["a", "a", "b", "y"], ["a", "b", "y", "y"]])
def test_a_target_that_is_named_needs_columns_with_names_of_their_own(names):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 4)), columns=names)
    with pytest.raises(DataError, match=r"Two columns of X are named '[ay]'; give each a name of its own"):
        quiet_nested_cv(Ridge(), X, "y", **SETTINGS)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_a_list_of_names_is_several_outputs(kind, two_outputs):
    X, Y = two_outputs
    frame, outputs = FRAMES[kind](X, Y)
    table = pd.concat([frame, outputs], axis=1) if kind == "pandas" else pl.concat([frame, outputs], how="horizontal")
    named = quiet_nested_cv(Ridge(), table, OUTPUTS, **SETTINGS)
    assert_same_results(named, quiet_nested_cv(Ridge(), frame, outputs, **SETTINGS))
    with pytest.raises(DataError, match=r"y='heights' is no column of X; did you mean 'height'"):
        quiet_nested_cv(Ridge(), table, ["weight", "heights"], **SETTINGS)
    with pytest.raises(DataError, match="no columns beside"):
        quiet_nested_cv(Ridge(), outputs, OUTPUTS, **SETTINGS)


def test_names_of_outputs_may_come_as_an_index_or_an_array(two_outputs):
    """As `table.columns[-2:]` is one."""
    table = pd.concat(FRAMES["pandas"](*two_outputs), axis=1)
    expected = quiet_nested_cv(Ridge(), table, OUTPUTS, **SETTINGS)
    for names in (table.columns[-2:], np.array(OUTPUTS), np.array(OUTPUTS, dtype=object)):
        assert_same_results(quiet_nested_cv(Ridge(), table, names, **SETTINGS), expected)


def test_an_output_that_is_named_twice_is_refused_by_its_name(two_outputs):
    table = pd.concat(FRAMES["pandas"](*two_outputs), axis=1)
    with pytest.raises(DataError, match=r"has 'weight' twice; name every output once"):
        quiet_nested_cv(Ridge(), table, ["weight", "weight"], **SETTINGS)
    labels = ["weight", "height"] * (len(table) // 2 - 1)
    with pytest.raises(DataError, match="must describe the same observations"):
        quiet_nested_cv(RidgeClassifier(), table, labels, **SETTINGS)


def test_classes_in_a_list_are_no_names_of_columns():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(40, 2)), columns=["a", "b"])
    labels = ["a" if value > 0 else "c" for value in table["a"]]
    found, expected = (quiet_nested_cv(RidgeClassifier(), table, y, **SETTINGS) for y in (labels, np.array(labels)))
    pd.testing.assert_frame_equal(found.heldout, expected.heldout)


@pytest.mark.parametrize("role", ["y", "groups", "sample_weight"])
def test_an_index_in_another_order_is_refused(role, two_outputs):
    """Rows are taken by their place; labels that do not match are no reason to look at them."""
    X, Y = two_outputs
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(X, columns=NAMES)
    values = {
        "y": pd.Series(Y[:, 0]),
        "groups": pd.Series(np.arange(len(X)) // 2),
        "sample_weight": pd.Series(rng.random(len(X))),
    }
    turned = {**values, role: values[role].sample(frac=1, random_state=1)}
    with pytest.raises(DataError, match=rf"^{role} has the index of X in another order.*{role}\.loc"):
        quiet_nested_cv(Ridge(), frame, **turned, **SETTINGS)
    aligned = {**turned, role: turned[role].loc[frame.index]}
    elsewhere = {**values, role: values[role].set_axis(range(500, 500 + len(X)))}
    for each in (aligned, elsewhere):
        found = quiet_nested_cv(Ridge(), frame, **each, **SETTINGS)
        assert_same_results(found, quiet_nested_cv(Ridge(), frame, **values, **SETTINGS))


DAYS = pd.date_range("2020-01-01", periods=36)
PANEL = pd.MultiIndex.from_product([range(9), range(4)], names=["firm", "year"])


@pytest.mark.parametrize(
    ("of_X", "of_y"),
    [(PANEL, None), (None, PANEL), (DAYS.to_period("D"), DAYS.strftime("%Y-%m-%d"))],
    ids=["panel", "panel of y", "periods"],
)
def test_indices_of_different_kinds_are_not_compared(of_X, of_y):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(36, 3)), rng.normal(size=36)
    found = quiet_nested_cv(Ridge(), pd.DataFrame(X, of_X, list("abc")), pd.Series(y, of_y), **SETTINGS)
    assert_same_results(found, quiet_nested_cv(Ridge(), X, y, **SETTINGS))


def test_a_panel_in_another_order_is_refused():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(36, 3)), PANEL, list("abc"))
    with pytest.raises(DataError, match="y has the index of X in another order"):
        quiet_nested_cv(Ridge(), X, X["a"].sample(frac=1, random_state=1), **SETTINGS)


def test_no_table_at_all_is_said_to_be_none():
    with pytest.raises(DataError, match="X is None"):
        quiet_nested_cv(Ridge(), None, np.arange(9.0))


@pytest.mark.parametrize("role", ["groups", "sample_weight"])
def test_rows_in_the_order_of_y_are_asked_for_where_x_has_no_index(role):
    X = np.random.default_rng(0).standard_normal((30, 2))
    y, values = pd.Series(X[:, 0] ** 2), pd.Series(1.0 + np.arange(30) // 5)
    settings = {"folds": np.arange(30) // 5}
    other = values.sample(frac=1, random_state=0)
    with pytest.raises(DataError, match=rf"^{role} has the index of y in another order.*{role}\.loc\[y\.index\]"):
        quiet_nested_cv(Ridge(), X, y, **{role: other}, **settings)
    expected = quiet_nested_cv(Ridge(), X, y.to_numpy(), **{role: values.to_numpy()}, **settings)
    same = quiet_nested_cv(Ridge(), X, y, **{role: values}, **settings)
    assert same.estimate == expected.estimate
