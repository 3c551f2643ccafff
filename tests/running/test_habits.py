"""Keywords of other libraries are refused with the word that is used here."""

import inspect
import re

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import onefit
from onefit.errors import DataError, FoldError, KeywordError, OneFitError
from onefit.running.habits import HABITS, MISSING

X = np.arange(20.0).reshape(10, 2)
Y = np.arange(10.0)
FUNCTIONS = {
    "nested_cv": lambda **given: onefit.nested_cv(Ridge(), X, Y, **given),
    "plan_for": lambda **given: onefit.plan_for(Ridge(), X, Y, **given),
    "compare": lambda **given: onefit.compare({"a": Ridge(), "b": Ridge(2.0)}, X, Y, **given),
    "error_curve": lambda **given: onefit.error_curve(
        Ridge(), X, Y, param_name="alpha", param_range=[1.0, 2.0], **given
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    ("keyword", "said"), [("n_splits", "n_folds="), ("param_grid", "GridSearchCV"), ("n_repeat", "'n_repeats'")]
)
def test_the_right_word_is_named(name, keyword, said):
    with pytest.raises(KeywordError, match=f"{name} has no keyword '{keyword}'.*{said}.*Coming from"):
        FUNCTIONS[name](**{keyword: 5})


def test_it_is_an_error_of_ours_and_python_s():
    assert issubclass(KeywordError, OneFitError)
    assert issubclass(KeywordError, TypeError)


@pytest.mark.parametrize(
    "call", [lambda: onefit.compare(Ridge(), Ridge(2.0), X, Y), lambda: onefit.nested_cv(Ridge(), X, Y, 5)]
)
def test_what_goes_by_name_or_in_a_dict_is_told_to_who_gives_it_by_its_place(call):
    with pytest.raises(KeywordError, match=r'X, y without their names, .*compare\(\{"one": model.*Coming from'):
        call()


def test_no_habit_is_a_keyword_that_there_is():
    known = set(inspect.signature(onefit.nested_cv).parameters)
    assert known.isdisjoint(HABITS)


def test_a_number_given_as_folds_is_told_its_keyword():
    with pytest.raises(FoldError, match=r"give n_folds=5 or cv=5\. The page “Coming from”"):
        onefit.nested_cv(Ridge(), X, Y, folds=5)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"loss": "mae"}, "loss='absolute_error', where smaller is. The page “Coming from”"),
        ({"scoring": "rmse"}, "scoring='neg_root_mean_squared_error', where greater is better. The page “Coming from”"),
        ({"loss": "log_loss"}, "predicts numbers; use one such as 'squared_error' or 'absolute_error', or, if"),
        ({"confidence": 0.9}, "has no keyword 'confidence'; did you mean 'confidence_level'? The page"),
    ],
)
def test_other_words_are_met_with_those_of_onefit(given, said):
    with pytest.raises(OneFitError, match=re.escape(said)):
        onefit.nested_cv(Ridge(), X, Y, **given)


def test_what_is_no_estimator_is_said_in_a_line():
    with pytest.raises(DataError, match=r"^Ridge is a class, not an estimator object: write Ridge\(\)\.$"):
        onefit.nested_cv(Ridge, X, Y)
    with pytest.raises(DataError, match=r"^ndarray of shape \(10, 2\) is not an estimator object .* comes first"):
        onefit.nested_cv(X, Y, Ridge())
    with pytest.raises(DataError, match=r"^3 is not an estimator object with fit and predict, such as \S+\.$"):
        onefit.compare({"a": Ridge(), "b": 3}, X, Y)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda X, y: onefit.nested_cv(Ridge(), X),
            'nested_cv needs y: what is to be predicted, .* y="price"',
        ),
        (lambda X, y: onefit.plan_for(Ridge(), X), "plan_for needs y"),
        (lambda X, y: onefit.compare({"ridge": Ridge()}, y=y), "compare needs X: the columns"),
        (lambda X, y: onefit.nested_cv(X=X, y=y), "nested_cv needs estimator: a model"),
        (lambda X, y: onefit.error_curve(Ridge(), X, y, param_name="alpha"), "error_curve needs param_range: the val"),
    ],
)
def test_what_a_call_lacks_is_said_with_what_it_may_be(call, words):
    with pytest.raises(OneFitError, match=words):
        call(np.eye(4), np.arange(4.0))


def test_every_argument_without_a_default_says_what_it_may_be():
    for function in (onefit.nested_cv, onefit.compare, onefit.error_curve, onefit.plan_for):
        needed = [
            name
            for name, one in inspect.signature(function).parameters.items()
            if one.default is one.empty and one.kind is not one.VAR_KEYWORD
        ]
        assert set(needed) <= set(MISSING)
