"""The transformers before the last step of a pipeline, fitted once on all rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, PolynomialFeatures
from sklearn.utils import get_tags

from ..errors import DataError, OneFitError
from .contract import Task

__all__ = ["Transformer", "check_parameters", "is_stateless", "names_of", "steps_of", "transformed", "without_trace"]


class Transformer(Protocol):
    """What stands before the last step of a pipeline."""

    def fit_transform(self, X: Any, y: Any, /) -> Any:
        """Fit to rows, and transform them."""


def steps_of(pipeline: Pipeline) -> list[Transformer]:
    """Transformers of a pipeline that do something."""
    return [step for _, step in pipeline.steps[:-1] if step is not None and step != "passthrough"]


def names_of(steps: Sequence[Transformer]) -> str:
    """The classes of some steps, for people."""
    return ", ".join(type(step).__name__ for step in steps)


def is_stateless(step: Any) -> bool:
    """Whether fitting on other rows would transform in the same way."""
    if type(step) is FunctionTransformer:
        # its function sees all rows of a set at once and may centre them; only an elementwise one cannot
        return step.func is None or isinstance(step.func, np.ufunc)
    # a tag that a class inherits says nothing of what it does otherwise than its parent
    is_its_own = type(step).__module__.split(".")[0] == "sklearn" or "__sklearn_tags__" in vars(type(step))
    try:
        return type(step) is PolynomialFeatures or (is_its_own and not get_tags(step).requires_fit)
    except (AttributeError, TypeError, ValueError):  # of a parameter that its fit will speak of, too
        return False


def check_parameters(estimator: Any, error: type[OneFitError]) -> None:
    """The checks that an estimator's own fit would make, if it is one of scikit-learn's."""
    try:
        estimator._validate_params()
    except AttributeError:
        return  # a private method: without it, only our own checks
    except ValueError as wrong:
        raise error(str(wrong)) from wrong


def transformed(task: Task, steps: Sequence[Transformer]) -> Task:
    """The task with X transformed by some steps, fitted on all rows."""
    X, target = task.problem.X, task.problem.target
    for step in steps:
        try:
            with np.errstate(over="ignore"):  # what comes of it is refused by whoever takes it
                X = clone(step).fit_transform(X, target)
        except Exception as error:
            raise DataError(
                f"The pipeline's transformers failed on all rows: {type(error).__name__}: {error}"
            ) from error
    return replace(task, problem=replace(task.problem, X=X, feature_names=None)) if len(steps) else task


@contextmanager
def without_trace() -> Iterator[None]:
    """Try something out: neither a warning nor a draw of NumPy's global random numbers is left of it."""
    state = np.random.get_state()  # noqa: NPY002  (of transformers that have no random_state)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        np.random.set_state(state)  # noqa: NPY002
