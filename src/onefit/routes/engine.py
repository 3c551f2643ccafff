"""What the engines share that compute held-out losses without refitting."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from ..errors import OneFitError, TrainingSetError
from ..folds import Folds
from ..inference.chain import Chain, outward
from ..inference.fold_errors import Failure, HeldOut, PairErrors, empty_pairs, moments
from ..learners import FitRows, Smoother
from ..linalg import compiled
from ..metrics.losses import Loss
from ..typing import BoolArray, FloatArray, IntArray
from ..validation import Problem
from .contract import Engine, ignore

__all__ = [
    "BLOCK_BYTES",
    "TABLE_BYTES",
    "FailureLog",
    "Piece",
    "SetsEngine",
    "SmootherEngine",
    "failure_at",
    "per_block",
    "refit_or_log",
    "refit_residuals",
]

BLOCK_BYTES = 8 * 2**20
"""Working memory of a batch of small systems: about what the caches hold."""

TABLE_BYTES = 128 * 2**20
"""Memory of a table that is kept: an operator, or the losses of a block of repeats."""


def per_block(bytes_each: float, budget: float = BLOCK_BYTES) -> int:
    """Count the items of this size that fit in a block, at least one."""
    return max(1, int(budget // max(bytes_each, 1.0)))


@dataclass(frozen=True)
class Piece:
    """Results for some repeats and values, of the outputs that share their penalties.

    ``u`` (L, K, m, V, Q) are the residuals of each fold with it out, padded as `Folds.members`; ``mean`` and
    ``scatter`` (L, K, K, V, R) are those of `PairErrors` off the diagonal, None if only singles were asked for.
    """

    start: int
    values: IntArray
    u: FloatArray
    mean: FloatArray | None = None
    scatter: FloatArray | None = None


class FailureLog:
    """Values that could not be fitted, as they are found.

    What is at fault at every value of a model, or at the only one that it has, is raised if there is no other model:
    ``values`` are the numbers of values of the models, one after the other.
    """

    def __init__(self, *values: int) -> None:
        ends = list(accumulate(values, initial=0))
        self._models = [range(*each) for each in pairwise(ends)]
        self.found = list[Failure]()

    def add(self, error: OneFitError, repeat: int, out: tuple[int, ...], value: int, is_alone: bool = False) -> None:
        """Note that a value failed in a repeat with the folds ``out`` held out, alone or with all of its model."""
        model = next(values for values in self._models if value in values)
        is_of_all = isinstance(error, TrainingSetError) and error.lam is None and not is_alone
        is_whole = len(model) == 1 or is_of_all
        if is_whole and len(self._models) == 1:
            raise error
        self.found += [Failure(repeat, out, each, error) for each in (model if is_whole else (value,))]


class SmootherEngine(Engine):
    """Computes held-out losses from what was decomposed, without refitting.

    ``outputs`` are those that are computed together, with the penalties of all values; ``models`` the numbers of values
    that fail together if their training set does. ``tick`` counts repeats, each at
    every value, or training sets. It is called in every block, with zero if that completes none: it may end a thread by
    an error.
    """

    def __init__(
        self,
        problem: Problem,
        rows: FitRows,
        loss: Loss,
        n_values: int,
        outputs: Iterable[tuple[IntArray, FloatArray]],
    ) -> None:
        self.fit_rows, self.loss, self.n_values, self.outputs = rows, loss, n_values, list(outputs)
        self.models: tuple[int, ...] = (n_values,)
        self.tick: Callable[[int], None] = ignore
        self.y = rows.centre(problem.y)
        relative = problem.relative_weights
        self._weights = None if relative is None else np.append(relative, 0.0)
        # padding gets a real row's y, so that a user's loss never sees made-up values
        self._observed = np.vstack([problem.y, problem.y[:1]])

    @property
    def units(self) -> str:
        """What is counted."""
        return "training sets" if self.counts_sets else "repeats"

    @property
    def n_passes(self) -> int:
        """How often it goes through all training sets."""
        return 1

    def n_units(self, n_folds: int, n_repeats: int, with_pairs: bool) -> int:
        """How many units there are in so many repeats."""
        if self.counts_sets:
            return n_repeats * self.n_passes * (n_folds * (n_folds + 1) // 2 if with_pairs else n_folds)
        return n_repeats * self.n_values * len(self.outputs)

    def make_chain(self, errors: FloatArray) -> Chain:
        """Neighbours on the path."""
        return outward(errors)

    @abstractmethod
    def pieces(self, folds: Folds, group: int, with_pairs: bool, log: FailureLog) -> Iterator[Piece]:
        """Compute one group of outputs, in whatever blocks suit the engine."""

    def _counted(self, folds: Folds, group: int, with_pairs: bool, log: FailureLog) -> Iterator[Piece]:
        """The pieces; each is counted when it has been taken in."""
        for piece in self.pieces(folds, group, with_pairs, log):
            yield piece
            self.count(pieces=len(piece.u) * len(piece.values))

    def count(self, *, pieces: int = 0, sets: int = 0) -> None:
        """Count repeats at each value (pieces) and training sets, of which one is the route's unit."""
        self.tick(sets if self.counts_sets else pieces)

    def moments(
        self, u: FloatArray, rows: IntArray, present: BoolArray, outputs: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """Mean and scatter over axis -2 of the weighted losses of residuals ``u`` (..., m, Q) at ``rows`` (..., m)."""
        self.tick(0)
        if not present.all():  # padding is a row of its fold: a loss may have no meaning for made-up predictions
            rows = np.where(present, rows, rows[..., :1])
            u = np.where(present[..., None], u, u[..., :1, :])
        if self.loss.keeps_scores:
            kept = self.loss.kept(self._observed[rows][..., outputs], u)
            return kept, np.zeros_like(kept)
        losses = self.loss.of(self._observed[rows][..., outputs], u)
        if self._weights is not None:
            losses = losses * self._weights[rows][..., None]
        return moments(losses, present[..., None])

    @property
    def is_compiled(self) -> bool:
        """Whether the compiled kernel knows the loss."""
        return compiled.is_on() and self.loss.is_squared

    def compiled_moments(
        self, u: FloatArray, r: FloatArray, rows: IntArray, sizes: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """`moments` (F, O, C) of residuals u (F, m, O, C) + r (F, m, C) at ``rows`` (F, m), by the kernel."""
        return compiled.moments(u, r, self.loss_weights(rows), sizes)

    def loss_weights(self, rows: IntArray) -> FloatArray:
        """Relative weights of the losses of some rows."""
        self.tick(0)  # the kernels ask for them in every block
        return np.ones(rows.shape) if self._weights is None else self._weights[rows]

    def singles(self, folds: Folds) -> HeldOut:
        """Each row's residual and loss with its own fold out."""
        Q = self.y.shape[1]
        single, log = HeldOut.empty(folds, self.n_values, Q, self.loss.n_losses(Q)), FailureLog(*self.models)
        for group, (outputs, _) in enumerate(self.outputs):
            for piece in self._counted(folds, group, False, log):
                self._record_single(single, folds, piece, outputs)
        single.failures.extend(log.found)
        return single

    def pairs(self, folds: Folds) -> PairErrors[HeldOut]:
        """The same, and the losses of each fold with it and another out."""
        Q = self.y.shape[1]
        R, log = self.loss.n_losses(Q), FailureLog(*self.models)
        pairs = empty_pairs(folds, self.n_values, Q, R, self.loss.n_moments(Q))
        folds_of = np.arange(folds.n_folds)
        for group, (outputs, _) in enumerate(self.outputs):
            for piece in self._counted(folds, group, True, log):
                assert piece.mean is not None
                assert piece.scatter is not None
                part = slice(piece.start, piece.start + len(piece.u))
                own = self._own_moments(piece.u, folds.part(part.start, part.stop), outputs)
                piece.mean[:, folds_of, folds_of], piece.scatter[:, folds_of, folds_of] = own
                index = (part, slice(None), slice(None), *self._cells(piece.values, outputs, pairs.mean.shape[-1]))
                pairs.mean[index] = piece.mean
                pairs.scatter[index] = piece.scatter
                self._record_single(pairs.single, folds, piece, outputs)
        pairs.single.failures.extend(log.found)
        return pairs

    def _own_moments(self, u: FloatArray, folds: Folds, outputs: IntArray) -> tuple[FloatArray, FloatArray]:
        """`moments` (L, K, V, R) of residuals u (L, K, m, V, Q) of the folds themselves."""
        L, K, m, V, Q = u.shape
        if self.is_compiled:
            columns = u.reshape(L * K, m, 1, V * Q)
            found = self.compiled_moments(
                columns, np.zeros((L * K, m, V * Q)), folds.members.reshape(L * K, m), folds.sizes.ravel()
            )
            return found[0].reshape(L, K, V, Q), found[1].reshape(L, K, V, Q)
        return self.moments(np.moveaxis(u, 2, 3), folds.members[:, :, None], folds.present[:, :, None], outputs)

    def _cells(self, values: IntArray, outputs: IntArray, n_columns: int) -> tuple[IntArray | slice, IntArray | slice]:
        """Index of some values and outputs at the end of a table; slices, which are faster, if it is all of them."""
        Q = self.y.shape[1]
        is_kept = self.loss.keeps_scores and n_columns == self.loss.n_moments(Q)
        is_whole = n_columns == len(outputs) or n_columns == 1 or (is_kept and len(outputs) == Q)
        if len(values) == self.n_values and is_whole:
            return slice(None), slice(None)
        if is_kept:
            every = np.arange(n_columns).reshape(-1, Q)
            return values[:, None], every[:, outputs].ravel()
        columns = outputs if n_columns > 1 or self.loss.classes is None else np.zeros(1, dtype=np.intp)
        return values[:, None], columns

    def _record_single(self, single: HeldOut, folds: Folds, piece: Piece, outputs: IntArray) -> None:
        """Write the residuals of the folds into the table by rows."""
        L, _, _, V, Q = piece.u.shape
        part = slice(piece.start, piece.start + L)
        slots = folds.slots[part]
        u = np.take_along_axis(piece.u.reshape(L, -1, V * Q), slots[..., None], axis=1).reshape(L, -1, V, Q)
        y = self._observed[:-1, None, outputs]
        unseen = slots < 0
        if unseen.any():  # the prediction of a row that is scored: a loss may have no meaning for made-up ones
            first = np.argmin(unseen, axis=1)
            start = np.zeros_like(y) if self.loss.is_of_predictions else y
            predicted = start[first, 0][:, None] - u[np.arange(L), first]  # (L, V, Q)
            u[unseen] = np.where(unseen[..., None, None], start - predicted[:, None], u)[unseen]
        losses = self.loss.of(y, u)
        u = self.loss.decided_residuals(y, u)
        if unseen.any():
            u[unseen] = losses[unseen] = np.nan
        for table, found in ((single.residuals, u), (single.losses, losses)):
            table[(part, slice(None), *self._cells(piece.values, outputs, table.shape[-1]))] = found


class SetsEngine(SmootherEngine):
    """One that goes through training sets, and can fit one from its rows."""

    goes_through_sets = True

    @abstractmethod
    def refit(
        self, folds: Folds, repeat: int, out: tuple[int, ...], values: tuple[int, ...], log: FailureLog
    ) -> list[FloatArray]:
        """Residuals (m, values, Q) of each fold that one training set leaves out, from its rows."""


def refit_or_log(
    smoother: Smoother,
    y: FloatArray,
    lam: float,
    folds: Folds,
    repeat: int,
    out: tuple[int, ...],
    value: int,
    log: FailureLog,
) -> list[FloatArray]:
    """`refit_residuals`; zeros, and an entry in the log, if the training set does not determine the fit at a value."""
    try:
        return refit_residuals(smoother, y, lam, folds, repeat, out)
    except TrainingSetError as error:
        log.add(error, folds.first + repeat, out, value)
        return [np.zeros((int(folds.sizes[repeat, fold]), y.shape[1])) for fold in out]


def refit_residuals(
    smoother: Smoother, y: FloatArray, lam: float, folds: Folds, repeat: int, out: tuple[int, ...]
) -> list[FloatArray]:
    """Held-out residuals of the folds ``out``, from a fit of their training set by itself.

    For the training sets so close to losing a column that neither downdating nor Schur complements are
    accurate. If the column is lost, the error says where.
    """
    rows = folds.training_rows(repeat, *out)
    rows = np.intersect1d(rows, smoother.fitted_rows)
    held_out = [np.flatnonzero(folds.ids[repeat] == fold) for fold in out]
    new = np.concatenate(held_out)
    try:
        residuals = y[new] - smoother.predict(rows, y, lam, new)
    except TrainingSetError as error:
        raise failure_at(error, smoother, lam, folds.words(repeat, out), len(rows), new) from None
    return np.split(residuals, np.cumsum([len(each) for each in held_out])[:-1])


def failure_at(
    error: TrainingSetError, smoother: Smoother, lam: float, where: str, n_rows: int, new: IntArray
) -> TrainingSetError:
    """The same error with its training set, in words, and the rows that this lacks."""
    failure = TrainingSetError(f"{where}, the training set of {n_rows} rows cannot be fitted: {error}.")
    failure.remedy, failure.held_out = smoother.remedy, new.tolist()
    failure.lam = error.lam if error.lam is not None or lam > 0 else 0.0
    return failure
