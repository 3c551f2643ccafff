"""scikit-learn's PLSRegression, all numbers of components from one pass over each training set."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.cross_decomposition import PLSRegression

from ..errors import DataError, RouteError, TrainingSetError
from ..linalg import pls as components
from ..linalg.batched import inverse_roots
from ..typing import BoolArray, FloatArray
from .contract import Path, Task
from .encoded import EncodedLearner, EncodedSets, SomeValuesFail
from .encoding import Encoding
from .steps import encode_columns
from .steps.table import Values
from .transformed import without_trace

__all__ = ["PLSLearner", "encoded_pls", "pls"]

MOST_ROWS = 3
"""Rows, for every column, up to which products with the rows of all training sets take less than Gram matrices."""

LEAST_VARIANCE = 1e-10
"""Part of a column's squares about its middle that its variance must be, to be known from sums."""


def pls(estimator: PLSRegression, task: Task, path: Path | None) -> PLSLearner:
    """Partial least squares on the columns of X."""
    return encoded_pls(estimator, task, path, encode_columns(task.problem))


def encoded_pls(estimator: PLSRegression, task: Task, path: Path | None, encoding: Encoding) -> PLSLearner:
    """The same on what steps learn."""
    if task.problem.classes is not None:
        raise RouteError("PLSRegression is not a classifier")
    if task.problem.weights is not None:
        raise RouteError("PLSRegression takes no weights")
    return PLSLearner(encoding, _numbers(estimator, path), estimator)


def _numbers(estimator: PLSRegression, path: Path | None) -> list[int]:
    """Numbers of components."""
    values: list[Any] = [estimator.n_components] if path is None else list(path.values)
    for value in values:
        if not isinstance(value, numbers.Integral) or value < 1:
            raise DataError(f"n_components is to be {value!r}; it must be a whole number, 1 at least.")
    return [int(value) for value in values]


class PLSLearner(EncodedLearner):
    """Partial least squares at V numbers of components.

    Parameters
    ----------
    encoding : Encoding
    counts : list of int
        Numbers of components.
    estimator : PLSRegression
        For what else it has been told, and for training sets that have fewer components than are asked for.
    """

    reason = "all numbers of components follow from one pass over each training set"

    def __init__(self, encoding: Encoding, counts: list[int], estimator: PLSRegression) -> None:
        super().__init__(encoding, np.array(counts, dtype=np.float64)[:, None], None, True)
        self.estimator, self.is_scaled = estimator, bool(estimator.scale)
        self.method = components.PowerMethod(int(estimator.max_iter), float(estimator.tol))

    @property
    def counts(self) -> list[int]:
        """Numbers of components."""
        return [int(count) for count in self.lams[:, 0]]

    @property
    def takes_masks(self) -> bool:
        """Whether training sets are fitted from all rows at once: nothing is learned before, and rows are few."""
        block = self.encoding.block
        return isinstance(block, Values) and block.are_all and self.n <= MOST_ROWS * self.width

    @property
    def is_narrow(self) -> bool:
        """Rows are as good as products of columns."""
        return self.takes_masks or super().is_narrow

    def set_seconds(self) -> float:
        """About what a training set takes."""
        if not self.takes_masks:
            return super().set_seconds()
        return 1e-4 + 4e-10 * self.n * self.width * max(self.counts)

    def check_fits(self, smallest_training_set: int) -> dict[int, str]:
        """Numbers of components that a training set of this size has not."""
        columns = self.encoding.block.n_outputs
        most = min(smallest_training_set, columns)
        failures = {
            value: f"n_components is {count}, and the smallest training set, with two folds out, has at most {most} "
            f"({smallest_training_set} rows, {columns} columns)"
            for value, count in enumerate(self.counts)
            if count > most
        }
        if failures and len(failures) == self.n_values:
            error = TrainingSetError(f"{next(iter(failures.values()))}.")
            error.remedy = "Take fewer components, or more folds."
            raise error
        return failures

    def fit(self, sets: EncodedSets) -> tuple[FloatArray, BoolArray]:
        """Coefficients (S, V, p, Q) of the outputs, and which training sets have those of a refit to all digits."""
        A, h = self._normal_equations(sets)
        squares = sets.squares()
        by, y_by = np.ones(A.shape[:2]), np.ones(squares.shape)
        if self.is_scaled:
            degrees = np.sqrt(sets.moments.n - 1.0)[:, None]
            by = degrees * inverse_roots(np.einsum("spp->sp", A))
            y_by = degrees * inverse_roots(squares)
            A = A * by[:, :, None] * by[:, None]
            h = h * by[:, :, None] * y_by[:, None]
            squares = squares * np.square(y_by)
        found, is_known = components.from_products(A, h, squares, max(self.counts), self.method)
        is_enough = min(max(self.counts), A.shape[1]) <= sets.features.present.sum(axis=1)
        return self._chosen(found, is_known & is_enough[:, None], by, y_by)

    def _chosen(
        self, found: FloatArray, is_known: BoolArray, by: FloatArray, y_by: FloatArray
    ) -> tuple[FloatArray, BoolArray]:
        """At the numbers of components that are asked for, as coefficients of the columns as they were."""
        at = [count - 1 for count in self.counts]
        y_by = np.where(y_by > 0, y_by, 1.0)
        is_whole: BoolArray = np.asarray(is_known[:, at].all(axis=1))
        return found[:, at] * by[:, None, :, None] / y_by[:, None, None], is_whole

    def fit_masks(
        self, B: FloatArray, y: FloatArray, inside: BoolArray, varies: BoolArray
    ) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Coefficients (S, V, q, Q) of the columns B (n, q), constants (S, V, Q), and which sets (S,) have them."""
        mask = inside.astype(np.float64)
        n = mask.sum(axis=1)[:, None]
        mean, y_mean = mask @ B / n, mask @ y / n
        by, y_by = varies.astype(np.float64), np.ones(y_mean.shape)
        is_known: BoolArray = np.ones(len(mask), dtype=bool)
        if self.is_scaled:
            for columns, means, to in ((B, mean, by), (y, y_mean, y_by)):
                raw = mask @ np.square(columns)
                squares = np.where(to > 0, raw - n * np.square(means), 0.0)
                is_known &= ((squares > LEAST_VARIANCE * raw) | (to == 0)).all(axis=1)
                to[:] = np.sqrt(n - 1.0) * inverse_roots(squares)
        found, is_whole = components.from_rows(B, y, inside, by, y_by, max(self.counts), self.method)
        beta, is_found = self._chosen(found, is_whole, by, y_by)
        constants = y_mean[:, None] - np.einsum("sq,svqo->svo", mean, beta)
        return beta, constants, is_known & is_found

    def fit_rows(self, Z: FloatArray, y: FloatArray, root: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Coefficients (V, p, Q) and constants (V, Q) of one training set from its rows."""
        middle = Z.mean(axis=0)
        varies = Z.min(axis=0) < Z.max(axis=0)
        if max(self.counts) <= min(Z.shape):
            whole: BoolArray = np.ones((1, len(Z)), dtype=bool)
            beta, constants, is_known = self.fit_masks(Z - middle, y, whole, varies[None])
            if is_known[0]:
                return beta[0], constants[0] - middle @ beta[0]
        found, shifts = np.zeros((self.n_values, Z.shape[1], y.shape[1])), np.zeros((self.n_values, y.shape[1]))
        failures: dict[int, str] = {}
        for value, count in enumerate(self.counts):
            model, reason = clone(self.estimator).set_params(n_components=count, copy=True), ""
            try:
                with without_trace():
                    model.fit(Z, y)
            except Exception as error:  # of this number of components, which says nothing of the others
                reason = f"{type(error).__name__}: {error}"
            if (reason or model.x_weights_[:, -1].any()) and count > (most := _rank(Z - middle, self.is_scaled)):
                reason = (
                    f"n_components is {count}, and its columns have {most}: a component more is made of rounding "
                    f"errors. Take at most {most}."
                )
            if reason:
                failures[value] = reason
                continue
            found[value] = model.coef_.T
            shifts[value] = model.predict(np.zeros((1, Z.shape[1]))).reshape(-1)
        if failures:
            raise SomeValuesFail(failures, (found, shifts))
        return found, shifts


def _rank(B: FloatArray, is_scaled: bool) -> int:
    """Components that centred columns have; one that ends before them, as nothing is left of y, needs no more."""
    return int(np.linalg.matrix_rank(B * inverse_roots(np.square(B).sum(axis=0)) if is_scaled else B))
