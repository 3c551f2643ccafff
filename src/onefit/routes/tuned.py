"""The gram route for tuned estimators: the penalty is chosen anew in every training set."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg

from ..criteria import NEARLY_REACHED, PairSearch, RowFit, RowPart, SetRows, Spectrum, spectrum_of_rows
from ..folds import Folds
from ..learners import Learner, Task, TunedLearner
from ..linalg.columns import EPS, Columns
from ..metrics.losses import Loss
from ..typing import BoolArray, FloatArray, IntArray
from ..validation import Problem
from .contract import Engine, Workers
from .engine import BLOCK_BYTES, FailureLog, per_block, refit_residuals
from .trainingsets import Sets, TrainingSetsEngine, TrainingSetsRoute, inverse_factors

__all__ = ["TunedEngine", "TunedRoute"]

KNOWN_SPAN = 1e7
"""Eigenvalues up to this factor from tau, both ways, are known well enough to choose a penalty."""

NEAR = 1e6
"""Tau is at most this factor from the ends of the spectrum, if it can be."""

AMPLIFIED = 1e5
"""Largest factor by which the shrinkage at the chosen penalty may magnify rounding errors."""

DIGITS = 1e-8
"""How much of the residuals these errors may be."""

PAIR_FLOATS = 32
"""Numbers for each column that a pair of rows needs, if it is left out of the fit to all rows."""

ROWS_BYTES = 2**21
"""Memory for the rows of some training sets, where a criterion needs them: about what the nearer caches hold."""


class TunedRoute(TrainingSetsRoute):
    """Smoothers whose penalty is chosen anew in every training set."""

    kind = TunedLearner

    def engine(self, learner: Learner, task: Task, workers: Workers) -> Engine:
        """All rows are decomposed when they are first asked for."""
        assert isinstance(learner, TunedLearner)
        return TunedEngine(task.problem, learner, task.loss)


class TunedEngine(TrainingSetsEngine):
    r"""Downdated Gram matrices, each diagonalized against the penalty.

    Notes
    -----
    In the Demmler-Reinsch basis Z at tau, ``Z'WZ + tau diag(s) = I``. The training set without the rows J has
    ``M = I - Z_J'WZ_J = LL'``, and one eigendecomposition ``L^-1 diag(s) L^-T = U diag(theta) U'`` gives the basis
    ``T = L^-T U`` in which its Gram matrix is ``diag(1 - tau theta)`` and its penalty ``diag(theta)``: the criteria and
    the fit at every lam follow. With tau in the middle of the spectrum all of it is found to nearly all digits, where
    the eigenvalues of the Gram matrix itself would be good to those of its largest only. Training sets that are nearly
    singular, or have no more rows than columns, are decomposed from their rows.
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
    same roots. ``n_free`` directions carry no penalty, and no row sees ``n_null`` of the others.
    """

    Z: FloatArray
    Zw: FloatArray
    s: FloatArray
    tau: float
    n_free: int
    n_null: int
    rest: FloatArray


def _decompose(engine: TunedEngine) -> _Whole:
    """Choose the penalty on all rows, and decompose them about it: the training sets will choose a similar one."""
    smoother, root, spectrum = engine.smoother, engine.root, engine.fit.spectrum
    tau = float(np.exp(np.log(engine.tuned.choose(spectrum)).mean()))
    mu = spectrum.mu[spectrum.mu > 0]
    if len(mu):
        low, high = max(mu.min(), mu.max() / NEAR), min(mu.max(), mu.min() * NEAR)
        tau = float(np.clip(tau, low, high) if low <= high else np.sqrt(mu.min()) * np.sqrt(mu.max()))
    n_null = spectrum.mu.size - len(mu)
    reinsch = smoother.reinsch([tau / 2, tau * 2])
    Z = reinsch.basis.take(np.arange(smoother.n + 1))
    Zw = root[:, None] * Z
    rest = root[:, None] * engine.padded_y
    seen = np.argsort(np.argsort(-reinsch.x, kind="stable")) < len(reinsch.x) - n_null
    inverse = np.where(seen & (reinsch.x > 0), 1.0 / np.where(reinsch.x > 0, reinsch.x, 1.0), 0.0)[:, None]
    for _ in range(2):  # twice, as orthogonalization needs
        rest = rest - Zw @ (inverse * (Zw.T @ rest))
    return _Whole(Z, Zw, reinsch.s, tau, smoother.n_free, n_null, rest)


class _Sets(Sets):
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
        return d * PAIR_FLOATS if self._row_pairs(n_out) else int(6 * d * d + n_out * m * (d + 2 * Q))

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
            for position, u in enumerate(self._from_rows(out[index])):
                residuals[index, position, : len(u)] = u
        return residuals

    def _downdate(self, out: IntArray, n_train: IntArray) -> tuple[FloatArray, BoolArray]:
        """Residuals, and which of the training sets they can be trusted in."""
        engine, whole = self.engine, self.engine.whole
        d, k, Q = whole.Z.shape[1], whole.n_free, engine.y.shape[1]
        _, inverse, is_sound = inverse_factors(np.eye(d) - self.gram(out))
        theta, U = np.linalg.eigh((inverse * whole.s) @ inverse.swapaxes(1, 2))
        theta[:, :k] = 0.0
        theta = np.clip(theta, 0.0, 1.0 / whole.tau)
        back = U.swapaxes(1, 2) @ inverse  # T'
        x = 1.0 - whole.tau * theta
        seen = (x > 0) & (np.arange(d) < d - whole.n_null)  # theta ascends
        root_x = np.where(seen, 1.0 / np.sqrt(np.where(seen, x, 1.0)), 0.0)
        totals, by_fold, squares = self.totals
        right = totals - by_fold[out].sum(axis=1)
        projected = np.where(seen[:, :, None], back @ right, 0.0)
        gamma = root_x[:, :, None] * projected
        rest = squares[-1] - squares[out].sum(axis=1) - np.square(gamma[..., Q:]).sum(axis=1)
        with np.errstate(over="ignore"):  # an eigenvalue that is not known, as is found below
            mu = np.where(seen, x, 0.0)[:, k:] / np.maximum(theta[:, k:], np.finfo(float).tiny)
        spectrum = Spectrum(
            mu=mu,
            gamma=gamma[:, k:, :Q],
            rest=np.maximum(rest, 0.0),
            spare=(n_train - d).astype(float),
            n=n_train.astype(float),
            n_rows=n_train.astype(float),  # the number does not move a minimum, nor does the constant
            constant=np.zeros(len(out)),
        )
        if engine.tuned.needs_rows:
            lams, is_certain = self._choose_by_rows(spectrum, out, root_x[:, :, None] * back, gamma[..., Q:])
            is_sound &= is_certain
        else:
            lams = engine.tuned.choose(spectrum)
        magnified = np.square(inverse).sum(axis=(1, 2)) / d
        with np.errstate(over="ignore"):
            in_units = mu[:, : d - k - whole.n_null] / whole.tau, lams / whole.tau
        is_sound &= _is_known(*in_units, magnified)
        is_sound &= _keeps_digits(*in_units, magnified, spectrum.gamma[:, : d - k - whole.n_null], spectrum.rest)
        coefficients = back.swapaxes(1, 2) @ (projected[..., :Q] / (x[:, :, None] + lams[:, None] * theta[:, :, None]))
        held_out = self.members[out]
        fitted = whole.Z[held_out] @ coefficients[:, None]
        return engine.padded_y[held_out] - fitted, is_sound

    def _choose_by_rows(
        self, spectrum: Spectrum, out: IntArray, back: FloatArray, gamma: FloatArray
    ) -> tuple[FloatArray, BoolArray]:
        """Penalties, and where leave-one-out is certain: few training sets at a time, whose rows the caches hold."""
        if self.engine.tuned.grid is not None:
            whole = self.engine.whole
            sets = SetRows(back, whole.Zw[:-1], whole.rest[:-1], gamma, self.is_out(out))
            lams, least = self.engine.tuned.choose_by_rows(spectrum, sets)
            return lams, least > NEARLY_REACHED
        lams, is_certain = np.empty((len(out), self.engine.y.shape[1])), np.empty(len(out), dtype=bool)
        step = per_block(16 * self.folds.n * back.shape[1], ROWS_BYTES)
        for start in range(0, len(out), step):
            some = slice(start, start + step)
            rows = self._row_part(out[some], back[some], gamma[some])
            lams[some] = self.engine.tuned.choose(spectrum.part(some, rows))
            is_certain[some] = rows.is_certain()
        return lams, is_certain

    def _row_part(self, out: IntArray, back: FloatArray, gamma: FloatArray) -> RowPart:
        """Rows in the bases of the training sets; those that are out are blank."""
        whole, k = self.engine.whole, self.engine.whole.n_free
        stays = np.where(self.is_out(out), 0.0, 1.0)
        # the rows are the last axis: what follows runs through them in order
        U = back @ whole.Zw[:-1].T
        U *= stays[:, None]
        squares = np.square(U)
        a0 = 1.0 - squares.sum(axis=1)
        r0 = stays[:, None] * whole.rest[:-1].T - gamma.swapaxes(1, 2) @ U
        return RowPart.of(U[:, k:].swapaxes(1, 2), a0, r0.swapaxes(1, 2), squares[:, k:].swapaxes(1, 2))

    def _from_rows(self, out: IntArray) -> list[FloatArray]:
        """Residuals of the folds that are out, from a decomposition of the rows of their training set."""
        engine, y = self.engine, self.engine.y
        rows = self.training_rows(out)
        training = engine.columns.rows(rows)
        shift = training.middles()
        columns = training.moved(shift).weighted(engine.root[rows])
        if columns.dependent():  # raises, and says where
            return refit_residuals(engine.smoother, y, 1.0, self.folds, *self.place(out))
        fit = spectrum_of_rows(columns, engine.root[rows, None] * y[rows], smallest=engine.tuned.smallest)
        a, b = fit.coefficients(engine.tuned.choose(fit.spectrum)[0])
        residuals = []
        for fold in out:
            held_out = self.members[fold, : self.sizes[fold]]
            part = engine.columns.rows(held_out).moved(shift)
            residuals.append(y[held_out] - part.E @ a - part.N @ b)
        return residuals


def _is_known(mu: FloatArray, lams: FloatArray, magnified: FloatArray) -> BoolArray:
    """Whether the eigenvalues, in units of tau, are known well enough to choose a penalty, and those near it well.

    What the decomposition gives to the machine's precision is ``1 / (1 + mu)``, so the relative error of mu is
    ``mu + 1/mu`` times that, and the error of the shrinkage at lam ``f (1 - f)`` times the error of mu. A training set
    that is near to losing a direction has the errors ``magnified``.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        error = (mu + 1.0 / mu) * magnified[:, None]
        ratio = mu[:, :, None] / lams[:, None, :]
        moved = ratio / np.square(1.0 + ratio) * error[:, :, None]
    known: BoolArray = np.logical_and(np.all(error < KNOWN_SPAN, axis=1), np.all(moved < AMPLIFIED, axis=(1, 2)))
    return known


def _keeps_digits(
    mu: FloatArray, lams: FloatArray, magnified: FloatArray, gamma: FloatArray, rest: FloatArray
) -> BoolArray:
    """Whether the same errors of the eigenvalues are small beside the residuals, where these are small beside y.

    A relative error of mu is one of what the fit keeps of a direction, ``(1 - f) gamma``.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        shrunk = lams[:, None, :] / (mu[:, :, None] + lams[:, None, :])
        error = EPS * ((mu + 1.0 / mu) * magnified[:, None])[:, :, None] * (1.0 - shrunk) * gamma
        left = rest + np.square(shrunk * gamma).sum(axis=1)
        kept: BoolArray = np.all(np.square(error).sum(axis=1) <= np.square(DIGITS) * left, axis=1)
    return kept
