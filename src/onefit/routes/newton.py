"""The newton route: generalized linear models, all training sets of a repeat iterated at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import TrainingSetError
from ..folds import Folds
from ..learners import GLMLearner, Learner, Refusal, Task
from .contract import Engine, FoldPlan, Offer, Workers
from .costs import CALL
from .engine import FailureLog
from .newtonsets import NewtonEngine
from .repeats import RepeatedRoute

__all__ = ["NewtonRoute", "first_steps", "seconds_of_set"]

MOST_HESSIAN_BYTES = 2**29
"""Of the Hessians of the folds of a repeat."""


class NewtonRoute(RepeatedRoute):
    """Logistic, Poisson, Gamma and Tweedie regression."""

    name = "newton"

    def offer(self, learners: Sequence[Learner], task: Task, plan: FoldPlan) -> Offer | Refusal:
        """The cost of a Hessian for each training set, and of some passes over its rows."""
        (learner,) = learners
        if not isinstance(learner, GLMLearner):
            return Refusal("it serves generalized linear models")
        if plan.is_trial:
            return Refusal("it takes few folds, each with its statistics")
        c = learner.family.basis.shape[1]
        n, q, K, V = task.problem.n, learner.width + 1, plan.n_folds, learner.n_values
        each, refit = seconds_of_set(learner)
        sets = plan.likely_repeats * plan.n_sets * V
        seconds = CALL + sets * each + plan.likely_repeats * V * n * q**2 * 1e-10 * c**2
        offer = Offer(seconds, f"{learner.reason} ({c * q} coefficients at once)")
        if each > refit or 8 * K * (c * q) ** 2 * learner.n_weighed > MOST_HESSIAN_BYTES:
            wide = Refusal(f"it solves systems of {c * q:,} coefficients, which takes longer than refits")
            return Offer(seconds, offer.reason, settle=lambda: wide)
        if not learner.may_have_no_fit:
            return offer
        return Offer(seconds, offer.reason, settle=lambda: _settled(learner, task))

    def engine(self, learner: Learner, task: Task, workers: Workers) -> Engine:
        """Fit all rows."""
        assert isinstance(learner, GLMLearner)
        return NewtonEngine(task, learner)


def seconds_of_set(learner: GLMLearner) -> tuple[float, float]:
    """Seconds of a training set in the batch, and of a refit."""
    P, c = learner.family.basis.shape
    n, q = learner.n, learner.width + 1
    system = 5e-6 + 2e-11 * (c * q) ** 3
    each = 1e-5 + system + 8 * P * n * (2e-9 + 1e-10 * q)
    return each, 1.5e-3 + 30 * P * n * (5e-9 + 5e-10 * q)


def first_steps(learner: GLMLearner, task: Task, folds: Folds) -> tuple[float, float]:
    """Mean iterations of the training sets without one fold, and what steps of their own take in a repeat.

    Without two folds, a training set is fitted by itself as often as if either of them had it fitted so: by that the
    seconds are reckoned.
    """
    engine, K = NewtonEngine(task, learner), folds.n_folds
    sets = engine.sets(folds, range(folds.n_repeats), FailureLog(engine.n_values))
    for _ in sets.run(np.arange(folds.n_repeats * K)[:, None]):
        pass
    mean = engine.iterations / max(1, sum(engine.n_fits))
    if not engine.by_newton:
        return mean, 0.0
    counts = np.bincount(engine.by_newton, minlength=engine.n_values)
    shares = np.minimum(counts / (folds.n_repeats * K), 1.0)
    alone = K * shares + K * (K - 1) / 2 * (1.0 - np.square(1.0 - shares))
    return mean, float(alone.sum()) * sets.seconds_alone(int(np.argmax(counts)))


def _settled(learner: GLMLearner, task: Task) -> Learner | Refusal:
    """The learner, if the fit to all rows has finite coefficients without a penalty: else no training set has."""
    try:
        NewtonEngine(task, learner)
    except TrainingSetError as error:
        return Refusal(f"{str(error.args[0]).rstrip('.')}, where scikit-learn stops somewhere on the way")
    return learner
