"""The gram route for tuned estimators: the penalty is chosen anew in every training set."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg

from ..criteria import NEARLY_REACHED, PairSearch, RowFit, RowPart, SetRows, spectrum_of_rows
from ..errors import TrainingSetError
from ..folds import Folds
from ..learners import DesignSmoother, Learner, Task, TunedLearner
from ..linalg.columns import Columns
from ..linalg.refined import can_be_refined
from ..metrics.losses import Loss
from ..typing import BoolArray, FloatArray, IntArray
from ..validation import Problem
from .contract import Engine, Workers
from .engine import BLOCK_BYTES, FailureLog, failure_at, per_block, refit_residuals
from .gramstream import StreamedEngine
from .rowpasses import can_stream
from .spectra import Middle, SetBases, SetSpectra, keeps_squares, middle_of
from .trainingsets import BasisSets, Sets, TrainingSetsEngine, TrainingSetsRoute
from .tunedstream import streamed_tuned

__all__ = ["TunedEngine", "TunedRoute"]

PAIR_FLOATS = 32
"""Numbers for each column that a pair of rows needs, if it is left out of the fit to all rows."""

OUTPUTS_AT_ONCE = 512
"""Outputs with penalties of their own that are chosen and fitted together: memory is for so many of them."""

ROWS_BYTES = 2**21
"""Memory for the rows of some training sets, where a criterion needs them: about what the nearer caches hold."""


class TunedRoute(TrainingSetsRoute):
    """Smoothers whose penalty is chosen anew in every training set."""

    kind = TunedLearner

    def engine(self, learner: Learner, task: Task, workers: Workers) -> Engine:
        """All rows are decomposed when they are first asked for, if at all."""
        assert isinstance(learner, TunedLearner)
        tables, smoother = TunedEngine(task.problem, learner, task.loss), learner.smoother
        if learner.needs_rows or not isinstance(smoother, DesignSmoother) or smoother.n_columns == smoother.n_free:
            return tables
        streamed = StreamedEngine(task, tables, streamed_tuned(learner, smoother))
        return streamed if can_stream(smoother, 1, task) else tables


class TunedEngine(TrainingSetsEngine):
    r"""Downdated Gram matrices, each diagonalized against the penalty.

    Notes
    -----
    In the Demmler-Reinsch basis Z at tau, ``Z'WZ + tau diag(s) = I``. For the training set without the rows J one
    eigendecomposition gives a basis in which its Gram matrix and the penalty are diagonal (see `SetSpectra`): the
    criteria and the fit at every lam follow. With tau in the middle of the spectrum all of it is found to nearly all
    digits, where the eigenvalues of the Gram matrix itself would be good to those of its largest only. Training sets
    that are nearly singular, or have no more rows than columns, are decomposed from their rows.
    """

    def __init__(self, problem: Problem, tuned: TunedLearner, loss: Loss) -> None:
        super().__init__(problem, tuned.smoother, loss)
        self.smoother = tuned.smoother
        self.tuned = tuned

    @cached_property
    def fit(self) -> RowFit:
        """All rows that have a weight, decomposed from themselves."""
        smoother, rows = self.smoother, self.smoother.fitted_rows
        root = self.root[rows]
        design = smoother.decomposed().rows(rows).weighted(root)
        return spectrum_of_rows(design, root[:, None] * self.y[rows], smallest=self.tuned.smallest)

    @cached_property
    def row_pairs(self) -> PairSearch | None:
        """What is chosen without pairs of rows, if the criterion is a function of the spectrum."""
        spectrum = self.fit.spectrum
        if not self.tuned.streams_pairs or spectrum.spare[0] < 3 or not spectrum.mu.any():
            return None
        N = self.fit.columns.N
        free = linalg.qr(N, mode="economic", check_finite=False)[0] if N.shape[1] else N
        return PairSearch(spectrum, free, self.tuned.criterion)

    @cached_property
    def whole(self) -> _Whole:
        """The decomposition of all rows."""
        return _decompose(self)

    @cached_property
    def columns(self) -> Columns:
        """The design of all rows, with at most n penalized columns if a rotation to so few costs no digits."""
        columns = self.smoother.take(np.arange(self.smoother.n))
        return columns if columns.is_uneven else columns.narrow()

    def sets(self, folds: Folds, repeats: range, log: FailureLog) -> Sets:
        """The training sets of some partitions."""
        return _Sets(self, folds, repeats, log)


@dataclass(frozen=True)
class _Whole:
    """All rows in the Demmler-Reinsch basis at tau; row n is padding and zero.

    ``Zw`` are the rows of Z times the roots of their weights; ``rest`` is y without what the columns reach, times the
    same roots.
    """

    Z: FloatArray
    Zw: FloatArray
    middle: Middle
    rest: FloatArray


def _decompose(engine: TunedEngine) -> _Whole:
    """Choose the penalty on all rows, and decompose them about it."""
    smoother, root, spectrum = engine.smoother, engine.root, engine.fit.spectrum
    tau, n_null = middle_of(engine.tuned, spectrum), int((spectrum.mu == 0).sum())
    reinsch = smoother.reinsch([tau / 2, tau * 2])
    Z = reinsch.basis.take(np.arange(smoother.n + 1))
    Zw = root[:, None] * Z
    rest = root[:, None] * engine.padded_y
    seen = np.argsort(np.argsort(-reinsch.x, kind="stable")) < len(reinsch.x) - n_null
    inverse = np.where(seen & (reinsch.x > 0), 1.0 / np.where(reinsch.x > 0, reinsch.x, 1.0), 0.0)[:, None]
    for _ in range(2):  # twice, as orthogonalization needs
        rest = rest - Zw @ (inverse * (Zw.T @ rest))
    return _Whole(Z, Zw, Middle(reinsch.s, tau, smoother.n_free, n_null), rest)


class _Sets(BasisSets):
    """The training sets of some partitions."""

    engine: TunedEngine

    @property
    def Zw(self) -> FloatArray:
        """All rows in the Demmler-Reinsch basis."""
        return self.engine.whole.Zw

    @property
    def rest(self) -> FloatArray:
        """What the columns do not reach of y."""
        return self.engine.whole.rest

    def floats_each(self, n_out: int) -> int:
        """Numbers that a training set needs."""
        Q = self.engine.y.shape[1]
        d, m = self.engine.smoother.width, self.members.shape[1]
        of_outputs = 0 if len(self._output_parts) == 1 else 8 * d * OUTPUTS_AT_ONCE
        return d * PAIR_FLOATS if self._row_pairs(n_out) else int(6 * d * d + n_out * m * (d + 2 * Q) + of_outputs)

    @property
    def _output_parts(self) -> list[slice]:
        """Outputs that are done together: all, if one penalty is to serve all of them."""
        Q = self.engine.y.shape[1]
        step = OUTPUTS_AT_ONCE if self.engine.tuned.per_output else Q
        return [slice(start, min(start + step, Q)) for start in range(0, Q, step)]

    def _row_pairs(self, n_out: int) -> PairSearch | None:
        """What serves if it is pairs of rows that are out."""
        return self.engine.row_pairs if (n_out, self.members.shape[1]) == (2, 1) else None

    def residuals(self, out: IntArray) -> FloatArray:
        """Residuals of the folds that are out."""
        pairs = self._row_pairs(out.shape[1])
        if pairs is None:
            return self._by_sets(out)[..., None, :]
        rows = self.members[out, 0]
        found, is_sure = pairs.residuals(rows[:, 0], rows[:, 1])
        residuals: FloatArray = (found / self.engine.root[rows][..., None])[:, :, None]
        unsure = np.flatnonzero(~is_sure)
        step = per_block(48 * self.engine.smoother.width**2, 2 * BLOCK_BYTES)
        for start in range(0, len(unsure), step):
            some = unsure[start : start + step]
            residuals[some] = self._by_sets(out[some])
            self.engine.count()
        return residuals[..., None, :]

    def _by_sets(self, out: IntArray) -> FloatArray:
        """The same, (B, t, m, Q), with a decomposition for each training set."""
        m, Q = self.members.shape[1], self.engine.y.shape[1]
        n_train = self.n_train(out)
        is_sound = n_train > self.engine.smoother.width
        if is_sound.all():
            residuals, is_sound = self._downdate(out, n_train)
        else:
            residuals, some = np.zeros((*out.shape, m, Q)), np.flatnonzero(is_sound)
            if len(some):
                residuals[some], is_sound[some] = self._downdate(out[some], n_train[some])
        for index in np.flatnonzero(~is_sound):
            residuals[index] = self.from_rows(out[index])[:, :, 0]
        return residuals

    def _downdate(self, out: IntArray, n_train: IntArray) -> tuple[FloatArray, BoolArray]:
        """Residuals, and which of the training sets they can be trusted in."""
        whole, held_out = self.engine.whole, self.members[out]
        bases = SetBases.of(whole.middle, self.gram(out))
        Z, residuals = whole.Z[held_out], self.engine.padded_y[held_out]
        is_sound: BoolArray = np.ones(len(out), dtype=bool)
        for part in self._output_parts:
            coefficients, is_known = self._coefficients(bases, out, part, n_train.astype(float))
            residuals[..., part] -= Z @ coefficients[:, None]
            is_sound &= is_known
        return residuals, is_sound

    def _coefficients(
        self, bases: SetBases, out: IntArray, part: slice, n_train: FloatArray
    ) -> tuple[FloatArray, BoolArray]:
        """Of some outputs (B, d, Q), and which of the training sets they can be trusted in."""
        right, of_rest, left, squares = self._products(out, part)
        sets = SetSpectra.of(bases, right, of_rest, left, n_train)
        is_certain: BoolArray | bool = True
        if self.engine.tuned.needs_rows:
            lams, is_certain = self._choose_by_rows(sets, out, part)
        else:
            lams = self.engine.tuned.choose(sets.spectrum)
        is_sound = sets.is_known(lams) & is_certain & keeps_squares(sets.spectrum.rest, left, squares)
        return sets.solve(right, lams), is_sound

    def _products(self, out: IntArray, part: slice) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """For some outputs: products (B, d, Q) of Zw with y and its rest, squares of the rest (B, Q), and of all (Q,).

        Products of all outputs by folds would take more memory than y itself.
        """
        Q = self.engine.y.shape[1]
        if len(self._output_parts) == 1:
            totals, by_fold, squares = self.totals
            right, of_rest = np.split(totals - by_fold[out].sum(axis=1), [Q], axis=2)
            return right, of_rest, squares[-1] - squares[out].sum(axis=1), squares[-1]
        rows = self.members[out].reshape(len(out), -1)
        y, rest = self.engine.padded_y[:, part], self.rest[:, part]
        back = (self.engine.root[:, None] * self.Zw)[rows].swapaxes(1, 2)
        right = self._of_all_rows[0][:, part] - back @ y[rows]
        of_rest = self._of_all_rows[1][:, part] - self.Zw[rows].swapaxes(1, 2) @ rest[rows]
        all_squares = np.square(rest).sum(axis=0)
        return right, of_rest, all_squares - np.square(rest[rows]).sum(axis=1), all_squares

    @cached_property
    def _of_all_rows(self) -> tuple[FloatArray, FloatArray]:
        """Products (d, Q) of all rows of Zw with y and with its rest."""
        return (self.engine.root[:, None] * self.Zw).T @ self.engine.padded_y, self.Zw.T @ self.rest

    def _choose_by_rows(self, spectra: SetSpectra, out: IntArray, part: slice) -> tuple[FloatArray, BoolArray]:
        """Penalties, and where leave-one-out is certain: few training sets at a time, whose rows the caches hold."""
        bases, spectrum, gamma = spectra.bases, spectra.spectrum, spectra.of_rest
        back = bases.root_x[:, :, None] * bases.back
        if self.engine.tuned.grid is not None:
            whole = self.engine.whole
            sets = SetRows(back, whole.Zw[:-1], whole.rest[:-1, part], gamma, self.is_out(out))
            lams, least = self.engine.tuned.choose_by_rows(spectrum, sets)
            return lams, least > NEARLY_REACHED
        lams, is_certain = np.empty((len(out), gamma.shape[2])), np.empty(len(out), dtype=bool)
        step = per_block(16 * self.folds.n * back.shape[1], ROWS_BYTES)
        for start in range(0, len(out), step):
            some = slice(start, start + step)
            rows = self._row_part(out[some], back[some], gamma[some])
            lams[some] = self.engine.tuned.choose(spectrum.part(some, rows))
            is_certain[some] = rows.is_certain()
        return lams, is_certain

    def _row_part(self, out: IntArray, back: FloatArray, gamma: FloatArray) -> RowPart:
        """Rows in the bases of the training sets; those that are out are blank."""
        whole, k = self.engine.whole, self.engine.whole.middle.n_free
        stays = np.where(self.is_out(out), 0.0, 1.0)
        # the rows are the last axis: what follows runs through them in order
        U = back @ whole.Zw[:-1].T
        U *= stays[:, None]
        squares = np.square(U)
        a0 = 1.0 - squares.sum(axis=1)
        r0 = stays[:, None] * whole.rest[:-1].T - gamma.swapaxes(1, 2) @ U
        return RowPart.of(U[:, k:].swapaxes(1, 2), a0, r0.swapaxes(1, 2), squares[:, k:].swapaxes(1, 2))

    def from_rows(self, out: IntArray) -> FloatArray:
        """Residuals of the folds that one training set leaves out, from a decomposition of its rows."""
        residuals = np.zeros((len(out), self.members.shape[1], 1, self.engine.y.shape[1]))
        for position, u in enumerate(self._refitted(out)):
            residuals[position, : len(u), 0] = u
        return residuals

    def _refitted(self, out: IntArray) -> list[FloatArray]:
        """The same fold by fold, each of its own size."""
        engine, y = self.engine, self.engine.y
        rows = self.training_rows(out)
        training = engine.columns.rows(rows)
        shift = training.middles()
        columns = training.moved(shift).weighted(engine.root[rows])
        if columns.dependent():  # raises, and says where
            return refit_residuals(engine.smoother, y, 1.0, self.folds, *self.place(out))
        fit = spectrum_of_rows(columns, engine.root[rows, None] * y[rows], smallest=engine.tuned.smallest)
        lams = engine.tuned.choose(fit.spectrum)[0]
        if can_be_refined(columns):  # else the small columns have lost digits
            return self._refined(out, rows, lams)
        a, b = fit.coefficients(lams)
        residuals = []
        for fold in out:
            held_out = self.members[fold, : self.sizes[fold]]
            part = engine.columns.rows(held_out).moved(shift)
            residuals.append(y[held_out] - part.E @ a - part.N @ b)
        return residuals

    def _refined(self, out: IntArray, rows: IntArray, lams: FloatArray) -> list[FloatArray]:
        """The same at penalties (Q,) that were chosen, by fits that are refined in extended precision."""
        engine, y = self.engine, self.engine.y
        held_out = [self.members[fold, : self.sizes[fold]] for fold in out]
        new = np.concatenate(held_out)
        residuals = np.empty((len(new), y.shape[1]))
        for lam in np.unique(lams):
            at = np.flatnonzero(lams == lam)
            try:
                predicted = engine.smoother.predict(rows, y[:, at], float(lam), new)
            except TrainingSetError as error:
                where = self.folds.words(*self.place(out))
                raise failure_at(error, engine.smoother, float(lam), where, len(rows), new) from None
            residuals[:, at] = y[np.ix_(new, at)] - predicted
        return np.split(residuals, np.cumsum([len(part) for part in held_out])[:-1])
