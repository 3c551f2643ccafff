"""The contract of a route, and what the two fast ones share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..errors import TrainingSetError
from ..fold_errors import HeldOut, PairErrors, Rows, moments
from ..folds import Folds
from ..learners import Smoother
from ..linalg.stacked import fit_stacked
from ..losses import Loss
from ..typing import BoolArray, FloatArray, IntArray
from ..validation import Problem

__all__ = ["BLOCK_BYTES", "TABLE_BYTES", "Piece", "Route", "SmootherRoute", "per_block", "refit_residuals"]

BLOCK_BYTES = 8 * 2**20
"""Working memory of a batch of small systems: about what the caches hold."""

TABLE_BYTES = 128 * 2**20
"""Memory of a table that is kept: an operator, or the losses of a block of repeats."""


class Route(Protocol):
    """Held-out losses for a block of partitions.

    Decompositions belong in the constructor; the two methods only use them. Arrays carry an axis of
    parameter values V and one of outputs.
    """

    name: str
    n_values: int

    def singles(self, folds: Folds) -> HeldOut:
        """Each row's residual and loss with its own fold out: K training sets a repeat."""

    def pairs(self, folds: Folds) -> PairErrors:
        """The same, and the losses of each fold with it and another out: K(K+1)/2 training sets a repeat."""


def per_block(bytes_each: float, budget: float = BLOCK_BYTES) -> int:
    """Count the items of this size that fit in a block, at least one."""
    return max(1, int(budget // max(bytes_each, 1.0)))


@dataclass(frozen=True)
class Piece:
    """Results for some repeats and one value, of the outputs that share its penalty.

    ``u`` (L, K, m, Q) are the residuals of each fold with it out, padded as `Folds.members`; ``mean`` and
    ``scatter`` (L, K, K, R) are those of `PairErrors` off the diagonal, None if only singles were asked for.
    """

    start: int
    value: int
    u: FloatArray
    mean: FloatArray | None = None
    scatter: FloatArray | None = None


class SmootherRoute(ABC):
    """A route that computes a linear smoother's path without refitting it."""

    name: str

    def __init__(self, problem: Problem, smoother: Smoother, loss: Loss) -> None:
        self.smoother, self.loss = smoother, loss
        self.y = smoother.centre(problem.y)
        self.n_values = smoother.n_values
        self.outputs = list(smoother.outputs(problem.n_outputs))
        relative = Rows.of(problem.weights, None).weights
        self._weights = None if relative is None else np.append(relative, 0.0)
        # padding gets a real row's y, so that a user's loss never sees made-up values
        self._observed = np.vstack([problem.y, problem.y[:1]])

    @abstractmethod
    def pieces(self, folds: Folds, group: int, with_pairs: bool) -> Iterator[Piece]:
        """Compute one group of outputs, in whatever blocks suit the route."""

    def moments(
        self, u: FloatArray, rows: IntArray, present: BoolArray, outputs: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """Mean and scatter over axis -2 of the weighted losses of residuals ``u`` (..., m, Q) at ``rows`` (..., m)."""
        losses = self.loss.of(self._observed[rows][..., outputs], u)
        if self._weights is not None:
            losses = losses * self._weights[rows][..., None]
        return moments(losses, present[..., None])

    def singles(self, folds: Folds) -> HeldOut:
        """Each row's residual and loss with its own fold out."""
        Q = self.y.shape[1]
        single = HeldOut.empty(folds, self.n_values, Q, self.loss.n_losses(Q))
        for group, (outputs, _) in enumerate(self.outputs):
            for piece in self.pieces(folds, group, with_pairs=False):
                self._record_single(single, folds, piece, outputs)
        return single

    def pairs(self, folds: Folds) -> PairErrors:
        """The same, and the losses of each fold with it and another out."""
        Q = self.y.shape[1]
        pairs = PairErrors.empty(folds, self.n_values, Q, self.loss.n_losses(Q))
        folds_of = np.arange(folds.n_folds)
        for group, (outputs, _) in enumerate(self.outputs):
            losses = outputs if self.loss.classes is None else [0]
            for piece in self.pieces(folds, group, with_pairs=True):
                assert piece.mean is not None
                assert piece.scatter is not None
                part = slice(piece.start, piece.start + len(piece.u))
                own = self.moments(piece.u, folds.members[part], folds.present[part], outputs)
                piece.mean[:, folds_of, folds_of], piece.scatter[:, folds_of, folds_of] = own
                pairs.mean[part, :, :, piece.value, losses] = piece.mean
                pairs.scatter[part, :, :, piece.value, losses] = piece.scatter
                self._record_single(pairs.single, folds, piece, outputs)
        return pairs

    def _record_single(self, single: HeldOut, folds: Folds, piece: Piece, outputs: IntArray) -> None:
        """Write the residuals of the folds into the table by rows."""
        part = folds.part(piece.start, piece.start + len(piece.u))
        repeat, fold, position = np.nonzero(part.present)
        rows = part.members[repeat, fold, position]
        u, y = piece.u[repeat, fold, position], self._observed[rows][:, outputs]
        index = (piece.start + repeat[:, None], rows[:, None], piece.value)
        single.residuals[(*index, outputs)] = self.loss.settle(y, u)
        single.losses[(*index, outputs if self.loss.classes is None else [0])] = self.loss.of(y, u)


def refit_residuals(
    smoother: Smoother, y: FloatArray, lam: float, folds: Folds, repeat: int, out: tuple[int, ...]
) -> list[FloatArray]:
    """Held-out residuals of the folds ``out``, from a QR fit of their training set.

    For the training sets so close to losing a column that neither downdating nor Schur complements are
    accurate. If the column is lost, the error says where.
    """
    rows = folds.training_rows(repeat, *out)
    rows = np.intersect1d(rows, smoother.heavy)
    root = smoother.root_weights(rows)
    try:
        a, b = fit_stacked(smoother.take(rows).weighted(root), root[:, None] * y[rows], lam)
    except TrainingSetError as error:
        held = " and ".join(str(fold) for fold in out)
        failure = TrainingSetError(
            f"In repeat {folds.first + repeat} with fold{'s' if len(out) > 1 else ''} {held} held out, the training "
            f"set of {len(rows)} rows cannot be fitted: {error}. Drop or penalize such columns, choose other folds, "
            'or use route="refit", where the estimator\'s own (minimum-norm) answer stands.'
        )
        failure.lam = None if lam > 0 else 0.0
        raise failure from None
    residuals = []
    for fold in out:
        held_out = np.flatnonzero(folds.ids[repeat] == fold)
        columns = smoother.take(held_out)
        residuals.append(y[held_out] - columns.E @ a - columns.N @ b)
    return residuals
