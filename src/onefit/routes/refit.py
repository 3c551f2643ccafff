"""The refit route: the estimator itself on every training set, through joblib."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils import _safe_indexing, get_tags

from ..errors import RefitError
from ..fold_errors import HeldOut, PairErrors, moments
from ..folds import Folds
from ..losses import Loss
from ..typing import FloatArray, IntArray
from ..validation import Problem
from .base import per_block

__all__ = ["RefitRoute"]


class RefitRoute:
    """Every estimator with ``fit`` and ``predict``.

    The backend is joblib's: ``joblib.parallel_config`` chooses threads, processes or a cluster. One estimator
    a parameter value; K(K+1)/2 training sets a repeat.
    """

    name = "refit"

    def __init__(
        self,
        problem: Problem,
        estimators: Sequence[Any],
        loss: Loss,
        n_jobs: int | None = None,
        tick: Callable[[int], None] | None = None,
    ) -> None:
        self.problem, self.estimators, self.loss = problem, list(estimators), loss
        self.n_jobs, self.tick = n_jobs, tick
        self.n_values = len(self.estimators)

    def singles(self, folds: Folds) -> HeldOut:
        """Each row's residual and loss with its own fold out."""
        single = HeldOut.empty(folds, self.n_values, self.problem.n_outputs)
        out = [(j,) for j in range(folds.n_folds)]
        for repeat, held, value, (residuals,) in self._run(folds, out):
            self._record(single, folds, repeat, held[0], value, residuals)
        return single

    def pairs(self, folds: Folds) -> PairErrors:
        """The same, and the losses of each fold with it and another out."""
        pairs = PairErrors.empty(folds, self.n_values, self.problem.n_outputs)
        K = folds.n_folds
        out: list[tuple[int, ...]] = [(j, k) if k > j else (j,) for j in range(K) for k in range(j, K)]
        for repeat, held, value, parts in self._run(folds, out):
            if len(held) == 1:
                self._record(pairs.single, folds, repeat, held[0], value, parts[0])
            for fold, other, residuals in zip(held, reversed(held), parts, strict=True):
                everyone = np.ones((len(residuals), 1), dtype=bool)
                result = moments(self.loss.of_residual(residuals), everyone)
                pairs.mean[repeat, fold, other, value], pairs.scatter[repeat, fold, other, value] = result
        return pairs

    def _record(
        self, single: HeldOut, folds: Folds, repeat: int, fold: int, value: int, residuals: FloatArray
    ) -> None:
        rows = np.flatnonzero(folds.ids[repeat] == fold)
        single.residuals[repeat, rows, value] = residuals
        single.losses[repeat, rows, value] = self.loss.of_residual(residuals)

    def _run(
        self, folds: Folds, out: Sequence[tuple[int, ...]]
    ) -> Iterable[tuple[int, tuple[int, ...], int, list[FloatArray]]]:
        """Held-out residuals of every training set: (repeat, folds out, value, residuals of each)."""
        tasks = [(r, held, v) for r in range(folds.n_repeats) for held in out for v in range(self.n_values)]
        rows_each = 2 * folds.n / folds.n_folds
        step = per_block(8 * rows_each * self.problem.n_outputs)
        X, y = self.problem.X, self.problem.target
        with Parallel(n_jobs=self.n_jobs) as parallel:
            for start in range(0, len(tasks), step):
                some = tasks[start : start + step]
                results = parallel(
                    delayed(_heldout_predictions)(
                        self.estimators[value],
                        X,
                        y,
                        folds.training_rows(repeat, *held),
                        [np.flatnonzero(folds.ids[repeat] == fold) for fold in held],
                        f"repeat {folds.first + repeat} with fold(s) {', '.join(map(str, held))} held out",
                    )
                    for repeat, held, value in some
                )
                if self.tick is not None:
                    self.tick(len(some))
                for (repeat, held, value), parts in zip(some, results, strict=True):
                    tests = [np.flatnonzero(folds.ids[repeat] == fold) for fold in held]
                    yield (
                        repeat,
                        held,
                        value,
                        [self.problem.y[t] - part for t, part in zip(tests, parts, strict=True)],
                    )


def _heldout_predictions(
    estimator: Any, X: Any, y: FloatArray, train: IntArray, tests: Sequence[IntArray], where: str
) -> list[FloatArray]:
    """Predictions (rows, Q) for each test set from a fit on the training rows."""
    try:
        fitted = clone(estimator, safe=False)
        fitted.fit(_rows(estimator, X, train, train), y[train])
        predictions = [np.asarray(fitted.predict(_rows(estimator, X, test, train)), dtype=float) for test in tests]
    except Exception as error:
        raise RefitError(
            f"{type(estimator).__name__} failed in {where} ({len(train)} training rows): "
            f"{type(error).__name__}: {error}"
        ) from error
    width = 1 if y.ndim == 1 else y.shape[1]
    for test, prediction in zip(tests, predictions, strict=True):
        if prediction.size != len(test) * width:
            raise RefitError(
                f"{type(estimator).__name__} predicts an array of shape {prediction.shape} for {len(test)} rows and "
                f"{width} output(s)."
            )
        if not np.isfinite(prediction).all():
            raise RefitError(f"{type(estimator).__name__} predicts NaN or infinite values in {where}.")
    return [prediction.reshape(len(test), width) for test, prediction in zip(tests, predictions, strict=True)]


def _rows(estimator: Any, X: Any, rows: IntArray, train: IntArray) -> Any:
    """Some rows of X; for estimators that take a matrix between rows, the training columns of it."""
    try:
        pairwise = get_tags(estimator).input_tags.pairwise
    except (AttributeError, TypeError):
        pairwise = False
    return np.asarray(X)[np.ix_(rows, train)] if pairwise else _safe_indexing(X, rows)
