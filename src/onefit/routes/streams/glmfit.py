r"""All training sets of generalized linear models from a few passes over the rows of a table.

A pilot, the fit to all rows as far as two or three Newton steps from a fit to a sample take it; then, at the pilot,
gradients and Hessians of all folds in one pass, from which every training set has a first step; then passes that give
the gradients of all training sets, each at its own coefficients, for quasi-Newton steps with the Hessians at the pilot
(see `newtonbatch`). With n rows the coefficients of training sets are about ``sqrt(p / n)`` from the pilot, and every
pass comes closer by that factor, or faster. Training sets that do not come closer have Newton's own method, with
halving.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ...errors import TrainingSetError
from ...folds import Folds
from ...linalg.columns import Columns
from ...typing import BoolArray, FloatArray, IntArray
from ..collect import FoldStatistics
from ..newtonbatch import in_predictors
from ..newtonhessians import Memory, change_by, preconditioners
from ..newtonparts import NO_FIT, REMEDY, hardly_differ
from .glm import GLMModel
from .glmpasses import FoldTables, FoldTask, SetTask, add_folds, add_sets
from .glmsets import FREE, GLMSets, IteratedSets, in_design, penalized, refuse_classes
from .newtonsteps import NewtonState, Sums
from .rows import RowReader

__all__ = ["MOST_PASSES", "GLMPasses", "expected_passes", "glm_numbers"]

MOST_PASSES = 40
"""Over the rows, for one model and as many repeats as are computed at once; it takes five to eight, as a rule."""

NEAR = 0.1
"""Change of the linear predictor, as a root mean square, that is left before the pilot's last step."""

CONVERGED, SMALL = 1e-12, 1e-11
"""Change of the linear predictor that is left after the last step; and at which rounding errors may stop it."""

TO_THE_LAST_BIT = 1e-16
"""The same of training sets in which classes of some rows are ties: what an iteration leaves must not decide them."""

WINDOW, SLOW, WILD = 4, 0.5, 20.0
"""As in `newtonbatch`: training sets that do not come closer are left to Newton's own method."""

MOST_NUMBERS = 2**25
"""Of the Hessians of training sets that are iterated by Newton's own method together."""

TOO_MANY = (
    "{where}: the fit has not converged after {passes} passes over the rows, the most that are made; its linear "
    "predictor still changes by {change:.1e}. Give the model a larger penalty, scale the columns, or read a part into "
    "memory: table.sample(n, random_state)."
)
Run = Callable[[Any, Any, str], Any]
"""Of a task, how results are added, and the name of the pass."""


def expected_passes(model: GLMModel) -> int:
    """About how many: the pilot, sums by folds, gradients of all training sets, and one more where steps learn."""
    return 7 if model.needs_statistics else 6


def glm_numbers(model: GLMModel, L: int, K: int) -> float:
    """Numbers that Hessians and steps of all training sets take."""
    d = model.n_predictors * model.n_columns
    S = L * model.n_values * K * (K + 1) // 2
    return float(S * (d * d + 30 * d) + 2 * L * K * model.n_values * model.glm.n_weighed * d * d)


class GLMPasses:
    """The training sets of one model.

    Parameters
    ----------
    model : GLMModel
    reader : RowReader
    folds : Folds
    statistics : FoldStatistics or None
        Of the columns, if steps learn from them.
    run : function
        Makes a pass.
    where : str
        What passes of this model are called in a checkpoint.
    """

    def __init__(
        self,
        model: GLMModel,
        reader: RowReader,
        folds: Folds,
        statistics: FoldStatistics | None,
        run: Run,
        where: str,
    ) -> None:
        self.model, self.reader, self.folds, self._run, self._where = model, reader, folds, run, where
        self.features = model.features(statistics, folds)
        self.n_passes = 0

    def fit(self, sample: Columns, n_rows: int) -> GLMSets:
        """All training sets."""
        maps = self.model.maps_of_all(self.features)
        tables, gamma = self._pilot(self.model.start(sample, maps, n_rows), maps)
        sets = IteratedSets(self.model, self.reader, self.folds, tables, gamma, self.features)
        theta = self._iterate(sets, sample)
        return sets.coefficients(theta)

    def _pass(self, task: FoldTask | SetTask, add: Any) -> Any:
        if self.n_passes >= MOST_PASSES:
            return None
        self.n_passes += 1
        return self._run(task, add, f"{self._where}, pass {self.n_passes}")

    def too_many(self, where: str, change: float) -> TrainingSetError:
        """The error if passes do not suffice."""
        if self.model.glm.may_have_no_fit and change > 1e-3:
            what = "classes" if self.model.glm.has_classes else "rows"
            error = TrainingSetError(f"{where}: {NO_FIT.format(what=what)}.")
            error.remedy = REMEDY.split(";")[0] + "."
            return error
        return TrainingSetError(TOO_MANY.format(where=where, passes=self.n_passes, change=change))

    # -------------------------------------------------------------------------- the pilot

    def _pilot(self, start: FloatArray, maps: FloatArray | None) -> tuple[FoldTables, FloatArray]:
        """Coefficients (V, c, q) of the design near the fit to all rows, and sums by folds of all repeats there."""
        states = [NewtonState(theta) for theta in start]
        one = self.model.seen_by(replace(self.reader, repeats=self.reader.repeats[:1]))
        while True:
            gamma = in_design(np.stack([state.trial for state in states]), maps)
            is_lost = any(state.is_lost for state in states)
            tables = None if is_lost else self._pass(FoldTask(one, gamma), add_folds)
            if tables is None:
                raise self.too_many("In the fit to all rows", max(state.change for state in states))
            sums, factors = self._of_all(tables)
            for value, state in enumerate(states):
                state.tell(self._sums(tables, value, factors, sums, state.trial, maps))
            if all(state.change <= NEAR and not state.is_halved for state in states):
                break
        gamma = in_design(np.stack([state.trial for state in states]), maps)
        tables = self._pass(FoldTask(self.model.seen_by(self.reader), gamma), add_folds)
        if tables is None:
            raise self.too_many("In the fit to all rows", max(state.change for state in states))
        return tables, gamma

    def _of_all(self, tables: FoldTables) -> tuple[FloatArray, FloatArray]:
        """Sums of weights (1, C) of all rows by class, and factors (G,) of these."""
        sums = tables.weights[0].sum(axis=0)[None]
        refuse_classes(self.model, self.reader, sums, ["All rows"])
        return sums, self.model.factors(sums)[0]

    def _sums(
        self,
        tables: FoldTables,
        value: int,
        factors: FloatArray,
        sums: FloatArray,
        theta: FloatArray,
        maps: FloatArray | None,
    ) -> Sums:
        """Of all rows at one value."""
        over = (0, 1)  # folds of the first repeat, and classes
        weigh = factors[None, :]
        objective = float((tables.objective[value, 0] * weigh).sum())
        descent = (tables.descent[value, 0] * weigh[..., None, None]).sum(axis=over)
        hessian = (tables.hessian[value, 0] * weigh[..., None, None, None, None]).sum(axis=over)
        curvature = float((tables.curvature[value, 0] * weigh).sum())
        weight = (sums if not self.model.glm.is_balanced else sums * factors).sum(axis=1)
        penalty = self.model.penalty(value, weight, theta.shape[1])[0]
        return penalized((objective, descent, hessian, curvature), penalty, theta, maps)

    # -------------------------------------------------------------------------- training sets

    def _iterate(self, sets: IteratedSets, sample: Columns) -> FloatArray:
        """Coefficients (S, c, p) of all training sets."""
        theta, S = sets.start.copy(), len(sets.start)
        inverses, is_definite = preconditioners(sets.hessians)
        active, done = np.flatnonzero(is_definite), np.zeros(S, dtype=bool)
        memory, changes, first = Memory(), list[FloatArray](), sets.first
        with np.errstate(over="ignore", invalid="ignore"):
            while len(active):
                if first is not None:
                    descent, first = first[active].reshape(len(active), -1), None
                else:
                    found = self._pass(sets.task(active, theta[active]), add_sets)
                    if found is None:
                        break
                    descent = sets.descent(active, theta[active], found).reshape(len(active), -1)
                step = memory.direction(descent, inverses.of(active))
                change = change_by(step, descent, sets.curvature[active])
                theta[active] += step.reshape(-1, *theta.shape[1:])
                is_done, stays = _judge(change, changes)
                if is_done.any():
                    goes_on = self._are_ties(sets, active, theta, sample) & _leaves_bits(change, changes)
                    is_done, stays = is_done & ~goes_on, stays | (is_done & goes_on)
                changes.append(change)
                done[active[is_done]] = True
                memory.add(step, descent)
                if not stays.all():
                    active, changes = active[stays], [each[stays] for each in changes]
                    memory.keep(stays)
        if not done.all():
            self._alone(sets, np.flatnonzero(~done), theta)
        return theta

    def _are_ties(self, sets: IteratedSets, some: IntArray, theta: FloatArray, sample: Columns) -> BoolArray:
        """In which of some training sets classes of rows of the sample hardly differ."""
        if not self.model.glm.has_classes:
            return np.zeros(len(some), dtype=bool)
        columns = in_predictors(self.model.glm.family, in_design(theta[some], sets.maps(some)))
        eta = np.matmul(np.hstack([sample.E, sample.N]), columns)
        return np.asarray(hardly_differ(np.moveaxis(eta, 0, -1)).any(axis=0))

    def _alone(self, sets: IteratedSets, some: IntArray, theta: FloatArray) -> None:
        """Newton's own method, some training sets at a time."""
        d = sets.start[0].size
        step = max(1, MOST_NUMBERS // (d * d))
        for begin in range(0, len(some), step):
            active = some[begin : begin + step]
            states = {int(index): NewtonState(sets.start[index]) for index in active}
            while len(active):
                trial = np.stack([states[index].trial for index in active.tolist()])
                is_lost = any(states[index].is_lost for index in active.tolist())
                found = None if is_lost else self._pass(sets.task(active, trial, with_hessians=True), add_sets)
                if found is None:
                    worst = max(active.tolist(), key=lambda index: states[index].change)
                    raise self.too_many(sets.words(worst), states[worst].change)
                for at, index in enumerate(active.tolist()):
                    states[index].tell(sets.sums(index, trial[at], found, at))
                    if states[index].is_done and states[index].is_free:
                        raise TrainingSetError(FREE.format(where=sets.words(index)))
                    if states[index].is_done:
                        theta[index] = states[index].trial
                active = np.array([index for index in active.tolist() if not states[index].is_done], dtype=np.intp)


def _leaves_bits(change: FloatArray, changes: list[FloatArray]) -> BoolArray:
    """Where another step would come closer than rounding errors of the last ones."""
    ratio = np.minimum(change / changes[-1], 1.0) if changes else np.ones(len(change))
    return np.asarray((change * ratio > TO_THE_LAST_BIT) & ~((change <= SMALL) & (ratio > SLOW)))


def _judge(change: FloatArray, changes: list[FloatArray]) -> tuple[BoolArray, BoolArray]:
    """Which training sets have converged, and which others go on."""
    ratio = np.minimum(change / changes[-1], 1.0) if changes else np.ones(len(change))
    is_done: BoolArray = change * ratio <= CONVERGED
    goes_on: BoolArray = np.isfinite(change)
    if changes:
        is_done |= (change <= SMALL) & (ratio > SLOW)
        goes_on = goes_on & (change <= WILD * changes[0])
    if len(changes) >= WINDOW:
        goes_on = goes_on & (change <= SLOW * changes[-WINDOW])
    return is_done, goes_on & ~is_done
