"""What a worker does for the refit route: one fit, and what it answers for the rows that were held out."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing import current_process
from threading import Thread
from typing import Any, TypeAlias

import numpy as np
from sklearn import config_context, get_config
from sklearn.base import clone
from sklearn.utils import get_tags

from ..errors import OneFitError, RefitError
from ..extrapolation import measured
from ..sources import Source
from ..typing import AnyArray, Data, Estimator, IntArray
from .placing import Future
from .questions import Questions

__all__ = ["Answer", "FitData", "RowSet", "predictions_or_error", "rows_of"]

LOOK_OUT = 0.5
"""Seconds between two looks of a worker whether its parent still lives."""


Answer: TypeAlias = list[dict[str, AnyArray]] | RefitError
"""What a fit answers for each test set, by kind of response, or why it cannot."""


@dataclass(frozen=True)
class FitData:
    """What all fits of a job read: one object, so that it is sent to a worker once.

    Attributes
    ----------
    source : Source
        Rows of X.
    target : array
        y as the estimator is given it.
    parameters : list of dict
        For each value what ``fit`` is given beside X and y, by name: weights and groups of all rows.
    config : dict
        scikit-learn's settings in the process that asks: workers have their own.
    """

    source: Source
    target: AnyArray
    parameters: Sequence[Mapping[str, AnyArray]]
    config: Mapping[str, object] = field(default_factory=get_config)


@dataclass(frozen=True)
class RowSet:
    """Some of n rows, in rising order, a bit a row: numbers would take 64 times as much on their way to a worker."""

    n: int
    bits: bytes

    @classmethod
    def of(cls, rows: IntArray, n: int) -> RowSet:
        """The set of these rows."""
        chosen = np.zeros(n, dtype=bool)
        chosen[rows] = True
        return cls(n, np.packbits(chosen).tobytes())

    @property
    def rows(self) -> IntArray:
        """Their numbers."""
        return np.flatnonzero(np.unpackbits(np.frombuffer(self.bits, dtype=np.uint8), count=self.n))


_watched: set[int] = set()
"""Processes for whose end this one looks out."""


def _end_with(parent: int) -> None:
    """Let a process that works for another one end soon after it, however that ends: by a signal too.

    Nobody tells the workers of joblib of a parent that was killed, and they would fit on for nobody.
    """
    is_worker = os.getpid() != parent and (os.getppid() == parent or current_process().name.startswith("Loky"))
    if is_worker and parent not in _watched and os.name == "posix":
        _watched.add(parent)
        Thread(target=_look_out_for, args=(parent,), daemon=True, name="onefit-parent").start()


def _look_out_for(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(LOOK_OUT)
    os._exit(1)


def predictions_or_error(is_alone: bool, *arguments: Any) -> Answer:
    """Predictions of one fit; its failure is an answer too, if there are other values that may be fitted."""
    try:
        return _heldout_predictions(*arguments)
    except RefitError as error:
        if is_alone:
            raise
        return error


def _heldout_predictions(
    parent: int,
    estimator: Estimator,
    value: int,
    data: FitData | Future,
    training_set: RowSet,
    test_sets: Sequence[RowSet],
    questions: Questions,
    where: str,
) -> list[dict[str, AnyArray]]:
    """Answers for each test set of a fit on the training rows, for the process ``parent``."""
    _end_with(parent)
    if not isinstance(data, FitData):
        data = data.result()  # joblib fits here if a cluster has one core
    source, y, parameters = data.source, data.target, data.parameters[value]
    train, tests = training_set.rows, [test.rows for test in test_sets]
    name = type(estimator).__name__
    try:
        fitted = clone(estimator, safe=False)
        extra = {name: values[train] for name, values in parameters.items()}
        with measured(), config_context(**data.config):
            fitted.fit(rows_of(estimator, source, train, train), y[train], **extra)
            answers = [questions.ask(fitted, rows_of(estimator, source, test, train), y[test]) for test in tests]
    except OneFitError as error:
        raise RefitError(f"{error} It was {name} in {where} ({len(train)} training rows).") from error
    except Exception as error:
        cause = " ".join(f"{type(error).__name__}: {error}".split())  # estimators are printed in many lines
        message = f"{name} failed in {where} ({len(train)} training rows): {cause}"
        raise RefitError(message) from error
    width = 1 if y.ndim == 1 else y.shape[1]
    for test, answer in zip(tests, answers, strict=True):
        prediction = answer.get("predict")
        if prediction is not None and prediction.size != len(test) * width:
            message = (
                f"{name} predicts an array of shape {prediction.shape} for {len(test)} rows and {width} output(s)."
            )
            raise RefitError(message)
        if any(part.dtype.kind == "f" and not np.isfinite(part).all() for part in answer.values()):
            raise RefitError(f"{name} predicts NaN or infinite values in {where}.")
    return answers


def rows_of(estimator: Estimator, source: Source, rows: IntArray, train: IntArray) -> Data:
    """Some rows of X; for estimators that take a matrix between rows, the training columns of it."""
    try:
        pairwise = get_tags(estimator).input_tags.pairwise
    except (AttributeError, TypeError):
        pairwise = False
    return source.between(rows, train) if pairwise else source.take(rows)
