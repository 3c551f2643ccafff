"""Refits in ball arithmetic: what the held-out residuals are, to as many digits as it takes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from flint import arb, arb_mat

from .balls import as_balls, exponent, has_full_rank
from .kernels import kernel_matrix
from .models import Model

__all__ = ["IllPosed", "Refits", "refits_of"]


class IllPosed(Exception):
    """A training set does not determine the fit."""


class Refits(ABC):
    """The training sets of one partition, at the precision that is set when this is made.

    ``tie`` is the smallest relative difference between the best and the second score of a choice by leave-one-out.
    """

    def __init__(self, model: Model, ids: np.ndarray) -> None:
        self.model, self.ids, self.tie = model, ids, np.inf
        n = len(ids)
        self.fitted_rows = np.ones(n, dtype=bool) if model.weights is None else model.weights > 0
        self.w = [arb(1)] * n if model.weights is None else [arb(w) for w in model.weights.tolist()]
        self.Y = as_balls(model.Y)

    def training_rows(self, out: Sequence[int]) -> np.ndarray:
        """Rows that a fit without some folds sees."""
        return np.flatnonzero(~np.isin(self.ids, out) & self.fitted_rows)

    def residuals(self, out: tuple[int, ...], lams: Sequence[float]) -> dict[int, list[arb]]:
        """Residuals of the held-out rows, one for each output; without ``lams`` the penalty is chosen."""
        model, rows = self.model, self.training_rows(out)
        if len(rows) == 0 and model.fit_intercept:
            raise IllPosed(f"no row is left without the folds {out}")
        lams = lams or self._chosen(out, rows)
        test = np.flatnonzero(np.isin(self.ids, out))
        residuals: dict[int, list[arb]] = {int(i): [arb(0)] * model.n_outputs for i in test}
        for lam in set(lams):
            outputs = [q for q, each in enumerate(lams) if each == lam]
            self._check(rows, out, lam)
            for i, values in self._held_out(out, rows, test, lam, outputs).items():
                for q, value in zip(outputs, values, strict=True):
                    residuals[i][q] = value
        return residuals

    def _chosen(self, out: tuple[int, ...], rows: np.ndarray) -> list[float]:
        """The penalties of the grid with the least weighted sum of squared leave-one-out residuals."""
        grid, outputs = self.model.grid, range(self.model.n_outputs)
        if not len(rows):  # all have weight zero, and without an intercept every penalty predicts zero
            return [grid[0]] * len(outputs)
        by_output: list[list[arb]] = [[] for _ in outputs]
        for lam in grid:
            self._check(rows, out, lam)
            errors = self._left_out(out, rows, lam)
            for q in outputs:
                by_output[q].append(sum((self.w[i] * u[q] * u[q] for i, u in errors.items()), arb(0)))
        if self.model.chooses_by_output:
            return [grid[self._least(scores)] for scores in by_output]
        return [grid[self._least([sum(each, arb(0)) for each in zip(*by_output, strict=True)])]] * len(outputs)

    def _least(self, scores: list[arb]) -> int:
        """Position of the smallest score; how near the second is is remembered."""
        best, second = sorted(range(len(scores)), key=lambda at: scores[at].mid())[:2]
        is_positive = scores[best] > 0
        self.tie = min(self.tie, float((scores[second] / scores[best] - 1).mid()) if is_positive else 0.0)
        return best

    def _check(self, rows: np.ndarray, out: tuple[int, ...], lam: float) -> None:
        """Raise if the fit is not unique."""
        model = self.model
        if model.kernel or (lam > 0 and model.penalty is None):
            return
        ones = np.ones((len(rows), int(model.fit_intercept)))
        stacked = [np.hstack([model.X[rows], ones])]
        if lam > 0 and model.penalty is not None:
            stacked.append(np.hstack([model.penalty, np.zeros((len(model.penalty), int(model.fit_intercept)))]))
        if not has_full_rank(stacked):
            raise IllPosed(f"the rows without the folds {out} do not determine the fit at the penalty {lam:g}")

    @abstractmethod
    def _held_out(
        self, out: tuple[int, ...], rows: np.ndarray, test: np.ndarray, lam: float, outputs: list[int]
    ) -> dict[int, list[arb]]:
        """Residuals of the rows that are out, for some outputs."""

    @abstractmethod
    def _left_out(self, out: tuple[int, ...], rows: np.ndarray, lam: float) -> dict[int, list[arb]]:
        """Leave-one-out residuals of the training rows, for all outputs."""


class PrimalRefits(Refits):
    """Normal equations of the columns; those of a training set are sums over its folds."""

    def __init__(self, model: Model, ids: np.ndarray) -> None:
        super().__init__(model, ids)
        self.powers = [exponent(size) for size in np.abs(model.X).max(axis=0).tolist()]
        design = as_balls(model.X)
        n, p = model.X.shape
        down = [arb(2) ** -power for power in self.powers]
        rows = [[design[i, j] * down[j] for j in range(p)] + [arb(1)] * model.fit_intercept for i in range(n)]
        self.A, self.width = rows, p + int(model.fit_intercept)
        self.grams, self.rights = {}, {}
        for fold in np.unique(ids).tolist():
            members = np.flatnonzero((ids == fold) & self.fitted_rows).tolist()
            if members:
                plain = arb_mat([rows[i] for i in members])
                weighted = arb_mat([[self.w[i] * a for a in rows[i]] for i in members]).transpose()
                y = arb_mat([[self.Y[i, q] for q in range(model.n_outputs)] for i in members])
                self.grams[fold], self.rights[fold] = weighted * plain, weighted * y

    def _system(self, out: tuple[int, ...], rows: np.ndarray, lam: float) -> tuple[arb_mat, arb_mat]:
        """Matrix and right-hand sides of the normal equations."""
        M, B = arb_mat(self.width, self.width), arb_mat(self.width, self.model.n_outputs)
        for fold, gram in self.grams.items():
            if fold not in out:
                M, B = M + gram, B + self.rights[fold]
        for i, j, entry in self._penalty(M, rows):
            M[i, j] = M[i, j] + arb(lam) * entry * arb(2) ** (-self.powers[i] - self.powers[j])
        return M, B

    def _penalty(self, M: arb_mat, rows: np.ndarray) -> list[tuple[int, int, arb]]:
        """Entries of S that are not zero."""
        model, p = self.model, self.model.X.shape[1]
        if model.penalty is not None:
            return [(int(i), int(j), arb(float(model.penalty[i, j]))) for i, j in np.argwhere(model.penalty)]
        if not model.is_scaled:
            return [(j, j, arb(1)) for j in range(p)]
        entries, n = [], len(rows)
        for j in range(p):
            mean, square = M[j, p] / n, M[j, j] / n
            variance = (square - mean * mean) * arb(2) ** (2 * self.powers[j])
            column = model.X[rows, j]
            entries.append((j, j, arb(1) if (column == column[0]).all() else variance))
        return entries

    def _held_out(
        self, out: tuple[int, ...], rows: np.ndarray, test: np.ndarray, lam: float, outputs: list[int]
    ) -> dict[int, list[arb]]:
        M, B = self._system(out, rows, lam)
        beta = M.solve(arb_mat([[B[k, q] for q in outputs] for k in range(self.width)]))
        fitted = arb_mat([self.A[i] for i in test.tolist()]) * beta
        return {
            i: [self.Y[i, q] - fitted[at, column] for column, q in enumerate(outputs)]
            for at, i in enumerate(test.tolist())
        }

    def _left_out(self, out: tuple[int, ...], rows: np.ndarray, lam: float) -> dict[int, list[arb]]:
        M, B = self._system(out, rows, lam)
        inverse = M.inv()
        A = arb_mat([self.A[i] for i in rows.tolist()])
        fitted, half = A * (inverse * B), A * inverse
        errors = {}
        for at, i in enumerate(rows.tolist()):
            leverage = self.w[i] * sum((half[at, k] * A[at, k] for k in range(self.width)), arb(0))
            errors[i] = [(self.Y[i, q] - fitted[at, q]) / (1 - leverage) for q in range(self.model.n_outputs)]
        return errors


class DualRefits(Refits):
    """``[[K + lam/W, 1], [1', 0]] [c; b] = [y; 0]``: one unknown for each training row, and the intercept."""

    def __init__(self, model: Model, ids: np.ndarray) -> None:
        super().__init__(model, ids)
        self.K = kernel_matrix(model)

    def _system(self, rows: np.ndarray, lam: float) -> tuple[arb_mat, arb_mat]:
        border = [arb(1)] * self.model.fit_intercept
        numbers = rows.tolist()
        lines = [[self.K[i, j] for j in numbers] + border for i in numbers]
        for at, i in enumerate(numbers):
            lines[at][at] = lines[at][at] + arb(lam) / self.w[i]
        right = [[self.Y[i, q] for q in range(self.model.n_outputs)] for i in numbers]
        if self.model.fit_intercept:
            lines.append([arb(1)] * len(numbers) + [arb(0)])
            right.append([arb(0)] * self.model.n_outputs)
        return arb_mat(lines), arb_mat(right)

    def _held_out(
        self, out: tuple[int, ...], rows: np.ndarray, test: np.ndarray, lam: float, outputs: list[int]
    ) -> dict[int, list[arb]]:
        if len(rows) == 0:
            return {i: [self.Y[i, q] for q in outputs] for i in test.tolist()}
        M, B = self._system(rows, lam)
        c = M.solve(B)
        border = [arb(1)] * self.model.fit_intercept
        fitted = arb_mat([[self.K[i, j] for j in rows.tolist()] + border for i in test.tolist()]) * c
        return {i: [self.Y[i, q] - fitted[at, q] for q in outputs] for at, i in enumerate(test.tolist())}

    def _left_out(self, out: tuple[int, ...], rows: np.ndarray, lam: float) -> dict[int, list[arb]]:
        M, B = self._system(rows, lam)
        inverse = M.inv()
        c = inverse * B
        return {
            i: [c[at, q] / inverse[at, at] for q in range(self.model.n_outputs)] for at, i in enumerate(rows.tolist())
        }


def refits_of(model: Model, ids: np.ndarray) -> Refits:
    """The smaller systems: of the columns, or of the rows."""
    n, p = model.X.shape
    lams = {lam for each in (*model.candidates, model.grid) for lam in each}
    can_be_dual = model.penalty is None and not model.is_scaled and min(lams, default=0.0) > 0
    return DualRefits(model, ids) if model.kernel or (can_be_dual and p > 2 * n // 3) else PrimalRefits(model, ids)
