"""The one-step route: which learners it takes, and what it costs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..learners import Learner, Refusal, Smoother, SparseSmoother, Task
from ..linalg import compiled
from .contract import Engine, FoldPlan, Offer, Workers
from .costs import Shape, ratio_text, seconds_of
from .engine import TABLE_BYTES
from .onestepengine import MOST_COMPILED, OneStepEngine
from .repeats import RepeatedRoute, not_a_smoother, shape_of
from .sparsecosts import on_a_copy

__all__ = ["OneStepRoute", "offer_onestep", "onestep_flops", "onestep_work"]

MOST_TRIED_ROWS = 2000
"""Rows up to which "auto" takes a fold for each group, or for each row beside models that are not smoothers."""


class OneStepRoute(RepeatedRoute):
    """Linear smoothers, best while folds hold fewer rows than there are columns; kernels and p >= n."""

    name = "onestep"

    def offer(self, learners: Sequence[Learner], task: Task, plan: FoldPlan) -> Offer | Refusal:
        """The cost of systems of the size of the folds."""
        (learner,) = learners
        if not isinstance(learner, Smoother):
            return not_a_smoother(learner)
        if isinstance(learner, SparseSmoother) and learner.has_small_operator and not plan.is_trial:
            shape = shape_of(learner, plan, task.problem.n_outputs)
            return on_a_copy(offer_onestep(shape), learner, shape)
        if learner.why_not_onestep:
            return Refusal(learner.why_not_onestep, 'or use route="gram"')
        if plan.is_trial and task.problem.n > MOST_TRIED_ROWS:
            return Refusal(f'n_folds="auto" takes a fold for each up to {MOST_TRIED_ROWS:,} rows')
        return offer_onestep(shape_of(learner, plan, task.problem.n_outputs))

    def engine(self, learner: Learner, task: Task, workers: Workers) -> Engine:
        """Operators are made when they are asked for."""
        assert isinstance(learner, Smoother)
        return OneStepEngine(task.problem, learner, task.loss)


def offer_onestep(shape: Shape) -> Offer:
    """What the route takes at a shape."""
    reason = f"it needs {ratio_text(shape.refit_flops / onestep_flops(shape))} times fewer operations than refits"
    size = math.ceil(shape.m)
    return Offer(seconds_of("onestep", onestep_work(shape)), reason, f"{size:,} x {size:,} (rows of a fold)")


def onestep_flops(shape: Shape) -> float:
    """Floating point operations of the route."""
    m = shape.m
    each = shape.pairs * 7 / 3 * m**3 + shape.K * m**3 / 3
    return shape.V * (2 * shape.n**2 * shape.q + shape.L * each)


def onestep_work(shape: Shape) -> dict[str, float]:
    """How often the route does what it does."""
    n, p, K, L, V, m, q = shape.n, shape.p, shape.K, shape.L, shape.V, shape.m, shape.q
    is_stored = 8 * (n + 1) ** 2 <= TABLE_BYTES
    terms = {
        "call": 1.0,
        "decompositions": V * n * p * q,
        "operators": V * n**2 * q,
        "entries": V * n**2,
        "products": 0.0 if is_stored else L * V * n**2 * q,
        "folds": L * V * K,
        "values and rows": L * V * n,
        "values": V,
    }
    if shape.Q > 1:
        terms["outputs"] = L * V * shape.pairs * m**2 * (shape.Q - 1.0)
    by = "compiled" if compiled.is_on() and m <= MOST_COMPILED else "LAPACK"
    of_pairs = {"eliminations": m**3, "gathered blocks": m**2, "losses": m, "systems": 1.0}
    return terms | {f"{term}, {by}": L * V * shape.pairs * amount for term, amount in of_pairs.items()}
