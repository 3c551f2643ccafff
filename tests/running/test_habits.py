"""Keywords of other libraries are refused with the word that is used here."""

import inspect

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import onefit
from onefit.errors import FoldError, KeywordError, OneFitError
from onefit.running.habits import HABITS

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


def test_no_habit_is_a_keyword_that_there_is():
    known = set(inspect.signature(onefit.nested_cv).parameters)
    assert known.isdisjoint(HABITS)


def test_a_number_given_as_folds_is_told_its_keyword():
    with pytest.raises(FoldError, match="give n_folds=5 or cv=5"):
        onefit.nested_cv(Ridge(), X, Y, folds=5)
