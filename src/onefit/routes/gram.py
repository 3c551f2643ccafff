"""The gram route: training statistics without folds j and k are differences of per-fold statistics."""

from __future__ import annotations

from collections.abc import Sequence

from ..inference.intervals import MOST_SCATTERED
from ..learners import DesignSmoother, Learner, Refusal, Smoother, SparseSmoother, Task
from ..linalg import compiled
from ..linalg.downdate import LARGE_COMPILED, MANY, MANY_COMPILED
from .contract import Engine, FoldPlan, Offer, Workers
from .costs import Shape, ratio_text, seconds_of
from .gramstream import StreamedEngine
from .gramtables import GramEngine
from .repeats import RepeatedRoute, not_a_smoother, shape_of
from .rowpasses import can_stream, has_many_blocks, is_tall_enough
from .sparsecosts import GRAM, gram_terms, on_a_copy, seconds_of_terms
from .streamedpath import StreamedPath

__all__ = ["GramRoute", "gram_flops", "gram_work", "offer_gram"]


class GramRoute(RepeatedRoute):
    """Linear smoothers, best while folds hold more rows than there are columns."""

    name = "gram"

    def offer(self, learners: Sequence[Learner], task: Task, plan: FoldPlan) -> Offer | Refusal:
        """The cost of p x p systems."""
        (learner,) = learners
        if not isinstance(learner, Smoother):
            return not_a_smoother(learner)
        if plan.is_trial:
            return Refusal("folds of single rows suit the one-step route")
        shape = shape_of(learner, plan, task.problem.n_outputs)
        return offer_gram(shape) if not isinstance(learner, SparseSmoother) else _offer_sparse(learner, shape, task)

    def engine(self, learner: Learner, task: Task, workers: Workers) -> Engine:
        """Decompose all rows."""
        assert isinstance(learner, Smoother)
        tables = GramEngine(task.problem, learner, task.loss)
        if isinstance(learner, DesignSmoother) and (path := StreamedPath(learner)).is_one:
            return StreamedEngine(task, tables, path) if can_stream(learner, learner.n_values, task) else tables
        return tables


def offer_gram(shape: Shape) -> Offer:
    """What the route takes at a shape."""
    reason = f"it needs {ratio_text(shape.refit_flops / gram_flops(shape))} times fewer operations than refits"
    return Offer(seconds_of("gram", gram_work(shape)), reason, f"{shape.q:,} x {shape.q:,} (columns)")


def _offer_sparse(smoother: SparseSmoother, shape: Shape, task: Task) -> Offer:
    """What the route takes on a sparse design, or on a dense copy of it if that is less."""
    seconds = seconds_of_terms(GRAM, gram_terms(smoother, shape, task.problem.n_outputs))
    systems = f"{smoother.width} x {smoother.width} (columns)"
    offers = [Offer(seconds, "X stays sparse", systems, smoother.settled)]
    if smoother.can_be_dense:
        offers.append(on_a_copy(offer_gram(shape), smoother, shape))
    return min(offers, key=lambda offer: offer.seconds * offer.handicap)


def gram_flops(shape: Shape) -> float:
    """Floating point operations of the route."""
    n, V, q = shape.n, shape.V, shape.q
    once = 2 if _streams(shape) else 4  # coordinates from a sample take a product, those from all rows a decomposition
    each = 2 * n * q**2 + shape.fits * min(V / 3, 15) * q**3 + V * 2 * n * _predictions_of_a_row(shape) * q
    return once * n * q**2 + shape.L * each


def _streams(shape: Shape) -> bool:
    """Whether the route goes over the rows in blocks."""
    return is_tall_enough(shape.n, shape.p) and has_many_blocks(shape.n, shape.p, shape.K, shape.V)


def _predictions_of_a_row(shape: Shape) -> int:
    """In a repeat, at one value: with its own fold out, and where rows must tell of pairs with each other one."""
    if not _streams(shape):
        return shape.K
    return shape.K + 1 if shape.n <= MOST_SCATTERED else 1


def gram_work(shape: Shape) -> dict[str, float]:
    """How often the route does what it does."""
    n, p, K, L, V, m, q, fits = shape.n, shape.p, shape.K, shape.L, shape.V, shape.m, shape.q, shape.fits
    is_long = V >= MANY and (not compiled.is_on() or (V >= MANY_COMPILED and q >= LARGE_COMPILED))
    systems = {
        "factorizations": 0.0 if is_long else L * V * fits * q**3,
        "substitutions": 0.0 if is_long else L * V * fits * q**2,
        "eigendecompositions": L * fits * q**3 if is_long else 0.0,
        "rotations": L * V * fits * q**2 if is_long else 0.0,
        "systems": L * V * fits,
        "training sets": L * fits,
    }
    if shape.Q > 1:
        systems["outputs"] = L * V * fits * q**2 * (shape.Q - 1.0)
    if _streams(shape):
        each = _predictions_of_a_row(shape)
        return {
            "call": 1.0,
            **systems,
            "streamed products": L * n * q**2,
            "streamed rows": (L + 1) * n * q,
            "streamed predictions": L * V * n * each * q,
            "streamed losses": L * V * n * each,
        }
    return {
        "call": 1.0,
        "decomposition": n * p * q,
        "gram matrices": L * n * q**2,
        "gathered rows": L * n * q,
        **systems,
        "refits": L * V * fits * n * q**2 if q > n - 2 * m else 0.0,  # near interpolation, see `refit_residuals`
        "predictions": L * V * n * K * q,
        "losses": L * V * n * K,
        "values and rows": L * V * n,
        "values": L * V,
    }
