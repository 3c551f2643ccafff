"""The contract of a route, and what the two fast ones share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..errors import TrainingSetError
from ..fold_errors import HeldOut, PairErrors, moments
from ..folds import Folds
from ..learners import Smoother
from ..linalg.stacked import fit_stacked
from ..losses import Loss
from ..typing import FloatArray, IntArray

__all__ = ["BLOCK_BYTES", "TABLE_BYTES", "Piece", "Route", "SmootherRoute", "per_block", "refit_residuals"]

BLOCK_BYTES = 8 * 2**20
"""Working memory of a batch of small systems: about what the caches hold."""

TABLE_BYTES = 128 * 2**20
"""Memory of a table that is kept: an operator, or the losses of a block of repeats."""


class Route(Protocol):
    """Held-out losses for a block of partitions.

    Decompositions belong in the constructor; the two methods only use them. Arrays carry an axis of
    parameter values V and one of outputs Q.
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
    ``scatter`` (L, K, K, Q) are those of `PairErrors` off the diagonal, None if only singles were asked for.
    """

    start: int
    value: int
    u: FloatArray
    mean: FloatArray | None = None
    scatter: FloatArray | None = None


class SmootherRoute(ABC):
    """A route that computes a linear smoother's path without refitting it."""

    name: str

    def __init__(self, y: FloatArray, smoother: Smoother, loss: Loss) -> None:
        self.y, self.smoother, self.loss = y, smoother, loss
        self.n_values = smoother.n_values
        self.outputs = list(smoother.outputs(y.shape[1]))

    @abstractmethod
    def pieces(self, folds: Folds, group: int, with_pairs: bool) -> Iterator[Piece]:
        """Compute one group of outputs, in whatever blocks suit the route."""

    def singles(self, folds: Folds) -> HeldOut:
        """Each row's residual and loss with its own fold out."""
        single = HeldOut.empty(folds, self.n_values, self.y.shape[1])
        for group, (outputs, _) in enumerate(self.outputs):
            for piece in self.pieces(folds, group, with_pairs=False):
                self._record_single(single, folds, piece, outputs)
        return single

    def pairs(self, folds: Folds) -> PairErrors:
        """The same, and the losses of each fold with it and another out."""
        pairs = PairErrors.empty(folds, self.n_values, self.y.shape[1])
        folds_of = np.arange(folds.n_folds)
        for group, (outputs, _) in enumerate(self.outputs):
            for piece in self.pieces(folds, group, with_pairs=True):
                assert piece.mean is not None
                assert piece.scatter is not None
                stop = piece.start + len(piece.u)
                present = folds.present[piece.start : stop]
                own = moments(self.loss.of_residual(piece.u), present[..., None])
                piece.mean[:, folds_of, folds_of], piece.scatter[:, folds_of, folds_of] = own
                pairs.mean[piece.start : stop, :, :, piece.value, outputs] = piece.mean
                pairs.scatter[piece.start : stop, :, :, piece.value, outputs] = piece.scatter
                self._record_single(pairs.single, folds, piece, outputs)
        return pairs

    def _record_single(self, single: HeldOut, folds: Folds, piece: Piece, outputs: IntArray) -> None:
        """Write the residuals of the folds into the table by rows."""
        part = folds.part(piece.start, piece.start + len(piece.u))
        repeat, fold, position = np.nonzero(part.present)
        kept = piece.u[repeat, fold, position]
        index = (
            piece.start + repeat[:, None],
            part.members[repeat, fold, position][:, None],
            piece.value,
            outputs,
        )
        single.residuals[index] = kept
        single.losses[index] = self.loss.of_residual(kept)


def refit_residuals(
    smoother: Smoother, y: FloatArray, lam: float, folds: Folds, repeat: int, out: tuple[int, ...]
) -> list[FloatArray]:
    """Held-out residuals of the folds ``out``, from a QR fit of their training set.

    For the training sets so close to losing a column that neither downdating nor Schur complements are
    accurate. If the column is lost, the error says where.
    """
    rows, columns = folds.training_rows(repeat, *out), smoother.columns
    try:
        a, b = fit_stacked(columns.rows(rows), y[rows], lam)
    except TrainingSetError as error:
        held = " and ".join(str(fold) for fold in out)
        raise TrainingSetError(
            f"In repeat {folds.first + repeat} with fold{'s' if len(out) > 1 else ''} {held} held out, the training "
            f"set of {len(rows)} rows cannot be fitted: {error}. Drop or penalize such columns, choose other folds, "
            'or use route="refit", where the estimator\'s own (minimum-norm) answer stands.'
        ) from None
    held_out = [np.flatnonzero(folds.ids[repeat] == fold) for fold in out]
    return [y[held] - columns.E[held] @ a - columns.N[held] @ b for held in held_out]
