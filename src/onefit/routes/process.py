"""The one-step route of Gaussian processes: standard deviations of held-out rows, and y scaled by training sets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from scipy import linalg

from ..errors import TrainingSetError
from ..folds import Folds
from ..learners import GaussianProcessLearner, Learner, Refusal, Task
from ..learners.gaussian_process import LEAST_SCALE
from ..learners.kernel import too_small
from ..learners.kernel_refits import variances
from ..linalg import batched
from ..linalg.operator import Operator
from ..typing import AnyArray, BoolArray, FloatArray, IntArray
from ..vocabulary import PREDICTIVE
from .contract import Engine, FoldPlan, Offer, Workers
from .costs import CALL
from .engine import FailureLog
from .onestepengine import make_operator
from .repeats import RepeatedRoute
from .responses import Responses
from .trainingsets import Sets, TrainingSetsEngine

__all__ = ["ProcessEngine", "ProcessRoute"]

MOST_BYTES = 2**31
"""Of the operators at all values, which are kept."""


class ProcessRoute(RepeatedRoute):
    """Gaussian processes with a given kernel."""

    name = "onestep"

    def offer(self, learners: Sequence[Learner], task: Task, plan: FoldPlan) -> Offer | Refusal:
        """The cost of systems of the size of the folds."""
        (learner,) = learners
        if not isinstance(learner, GaussianProcessLearner):
            return Refusal("it serves Gaussian processes whose standard deviations are asked for, or that scale y")
        if plan.is_trial:
            return Refusal("it leaves two out if asked for")
        n, V = learner.n, learner.n_values
        if 8 * V * n**2 > MOST_BYTES:
            return Refusal(f"operators of {n:,} rows at {V} values would take too much memory")
        rows = 2 * plan.largest_fold
        sets = plan.likely_repeats * plan.n_sets
        seconds = CALL + 1e-9 * V * (0.15 * n**3 + sets * (0.2 * rows**3 + n))
        fits = plan.n_sets * V
        reason = f"rows are deleted from the inverse of the kernel matrix; refits would be {fits:,} fits a repeat"
        return Offer(seconds, reason, f"{rows} x {rows} (rows of two folds)")

    def engine(self, learner: Learner, task: Task, workers: Workers) -> Engine:
        """Operators are made when they are first asked for."""
        assert isinstance(learner, GaussianProcessLearner)
        return ProcessEngine(task, learner)


class ProcessEngine(TrainingSetsEngine):
    r"""Means and variances of the rows J that a training set lacks.

    Notes
    -----
    With ``Q = (K + D)^{-1}`` of all rows, D the noise, the observations at J given all others have the covariance
    ``Q_JJ^{-1}`` and leave the residuals ``u_J = Q_JJ^{-1} (Qy)_J``. Where y is scaled by the mean and the standard
    deviation of each training set S, the scale cancels from the mean, and

    .. math:: u_J = Q_{JJ}^{-1} (Qy)_J - \bar y_S\, Q_{JJ}^{-1} (Q1)_J, \qquad
              \mathrm{cov} = s_S^2\, Q_{JJ}^{-1}.
    """

    def __init__(self, task: Task, learner: GaussianProcessLearner) -> None:
        super().__init__(task.problem, learner, task.loss, learner.n_values)
        self.learner = learner
        self.targets = learner.targets(self.y)

    @cached_property
    def operators(self) -> list[Operator]:
        """Q at every value in its own unit (`Dual.unit`), with Qy and, if y is scaled, Q1."""
        smoother = self.learner.smoother
        return [make_operator(smoother, self.targets, float(lam)) for lam in smoother.lams[:, 0]]

    @cached_property
    def units_of_operators(self) -> list[float]:
        """Those units: variances, which are inverses of blocks of Q, come out divided by them."""
        dual = self.learner.smoother.dual
        return [dual.unit(float(lam)) for lam in self.learner.smoother.lams[:, 0]]

    def sets(self, folds: Folds, repeats: range, log: FailureLog) -> ProcessSets:
        """The training sets of some partitions."""
        return ProcessSets(self, folds, repeats, log)

    def responses(self, folds: Folds, learner: Learner, task: Task) -> Responses:
        """Residuals and standard deviations of every fold with it, and with it and another, out."""
        if PREDICTIVE not in task.responses:
            return super().responses(folds, learner, task)
        K, log = folds.n_folds, FailureLog(*self.models)
        tables = list[dict[str, list[AnyArray]]]()
        pairs = np.stack(np.triu_indices(K, 1), axis=1)
        for repeat in range(folds.n_repeats):
            sets, sizes = self.sets(folds, range(repeat, repeat + 1), log), folds.sizes[repeat]
            both = [np.zeros((K, size, self.n_values, self.y.shape[1], 2)) for size in sizes]
            for out, found in sets.with_std(np.arange(K)[:, None], pairs):
                for held, parts in zip(out, found, strict=True):
                    for fold, other, part in zip(held, held[::-1], parts, strict=True):
                        both[fold][other] = part[: sizes[fold]]
            tables.append({PREDICTIVE: both, "residual": [part[..., 0] for part in both]})
        return Responses(tables, log.found)


class ProcessSets(Sets):
    """The training sets of some partitions."""

    engine: ProcessEngine

    def floats_each(self, n_out: int) -> int:
        """Numbers that a training set needs."""
        rows, V = n_out * self.members.shape[1], self.engine.n_values
        return int(4 * rows**2 + rows * V * self.engine.targets.shape[1] * 3 + 3 * self.folds.n)

    def with_std(self, *groups: IntArray) -> Iterator[tuple[IntArray, FloatArray]]:
        """As `run`, of several groups of training sets, with standard deviations: (B, t, m, V, Q, 2)."""
        for sets in groups:
            for out in self.blocks(sets):
                yield out, self._predictive(out)
                self.engine.count(sets=len(out))

    def residuals(self, out: IntArray) -> FloatArray:
        """Residuals of the folds that are out."""
        return self._predictive(out)[..., 0]

    def from_rows(self, out: IntArray) -> FloatArray:
        """Residuals of the folds that one training set leaves out."""
        _, mean, scale = self._moments(out[None])
        values = range(self.engine.n_values)
        parts = [self._from_rows(out, value, mean[0], scale[0])[..., 0] for value in values]
        return np.stack(parts, axis=2)

    def _predictive(self, out: IntArray) -> FloatArray:
        """Residuals and standard deviations (B, t, m, V, Q, 2) of the folds that are out; zero for padding."""
        engine, rows = self.engine, self.members[out]
        (B, t, m), Q = rows.shape, engine.y.shape[1]
        flat, (is_there, mean, scale) = rows.reshape(B, t * m), self._moments(out)
        found = np.zeros((B, t, m, engine.n_values, Q, 2))
        for value, operator in enumerate(engine.operators):
            blocks = operator.diagonal_blocks(flat)
            inverse, is_sound = _inverses(blocks, operator)
            rho = operator.rho[flat]
            u = (inverse @ operator.r[flat]) / rho[..., None]
            if engine.learner.normalizes:
                u = u[..., :-1] - mean[:, None] * u[..., -1:]
            own = engine.units_of_operators[value] * np.maximum(np.einsum("bii->bi", inverse), 0.0)
            std = (np.sqrt(own) / rho)[..., None] * scale[:, None]
            both = np.where(is_there[..., None, None], np.stack([u, std], axis=-1), 0.0)
            found[:, :, :, value] = both.reshape(B, t, m, Q, 2)
            for index in np.flatnonzero(~is_sound):
                found[index, :, :, value] = self._from_rows(out[index], value, mean[index], scale[index])
        return found

    def _moments(self, out: IntArray) -> tuple[BoolArray, FloatArray, FloatArray]:
        """Which of the held-out places (B, tm) are rows, and the mean and scale (B, Q) of y in the training sets."""
        rows = self.members[out].reshape(len(out), -1)
        is_there: BoolArray = rows < self.folds.n
        engine, Q = self.engine, self.engine.y.shape[1]
        if not engine.learner.normalizes:
            return is_there, np.zeros((len(out), Q)), np.ones((len(out), Q))
        inside = ~self.is_out(out)
        mean, scale = np.empty((2, len(out), Q))
        for index, own in enumerate(inside):  # set by set, in the order of rows: as scikit-learn sums them
            mean[index], scale[index] = engine.y[own].mean(axis=0), engine.y[own].std(axis=0)
        return is_there, mean, np.where(scale < LEAST_SCALE, 1.0, scale)

    def _from_rows(self, out: IntArray, value: int, mean: FloatArray, scale: FloatArray) -> FloatArray:
        """Residuals and standard deviations (t, m, Q, 2) of one training set from the entries of its kernel."""
        engine, smoother = self.engine, self.engine.learner.smoother
        lam, members = float(smoother.lams[value, 0]), self.members[out]
        found = np.zeros((*members.shape, engine.y.shape[1], 2))
        new = members[members < self.folds.n]
        train = np.setdiff1d(np.arange(self.folds.n), new)
        try:
            predicted = smoother.predict(train, engine.targets, lam, new)
            try:
                spread = np.sqrt(np.maximum(variances(smoother.K, smoother.weights, train, lam, new), 0.0))
            except linalg.LinAlgError:
                raise TrainingSetError(too_small(lam)) from None
        except TrainingSetError as error:
            repeat, held = self.place(out)
            error.lam = lam
            self.log.add(error, self.folds.first + repeat, held, value)
            return found
        if engine.learner.normalizes:
            predicted = predicted[:, :-1] + mean * (1.0 - predicted[:, -1:])
        found[members < self.folds.n] = np.stack([engine.y[new] - predicted, spread[:, None] * scale], axis=-1)
        return found


def _inverses(blocks: FloatArray, operator: Operator) -> tuple[FloatArray, BoolArray]:
    """Inverses of blocks (B, d, d), and which of them can be trusted: as other blocks of the operator."""
    inverse = np.nan_to_num(batched.inverses(blocks))
    least = batched.TRUSTED * operator.trusted_scale
    trace = np.einsum("bii->b", inverse)
    is_sound: BoolArray = trace * least < 1.0  # the trace is at least the inverse of the smallest eigenvalue
    in_doubt = np.flatnonzero(~(is_sound & (trace > 0)))
    if len(in_doubt):
        is_sound[in_doubt] = batched.smallest_eigenvalues(blocks[in_doubt]) >= least
    return inverse, is_sound
