"""TransformedTargetRegressor: fits to a function of y, losses of the inverse of the predictions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.feature_selection import SelectKBest, SelectPercentile
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from ..errors import DataError, RouteError
from ..metrics import KeptScores, Loss
from ..typing import AnyArray, Estimator, FloatArray
from .contract import Learner, Path, Refusal, Task
from .encoded import EncodedLearner
from .evidence import EvidenceLearner
from .fitrows import FitRows
from .glm import GLMLearner
from .innersearch import InnerSearch
from .lasso import LassoLearner
from .scaled import ScaledLearner
from .smoother import Smoother
from .steps import STEPS
from .transformed import is_stateless

__all__ = ["adapt_target", "has_target"]

AFFINE = (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler)
"""What only moves and stretches y: most linear fits with an intercept are the same without it."""

SUPERVISED = (SelectKBest, SelectPercentile)
"""Steps that learn from y."""


@dataclass(frozen=True)
class TransformedLoss(Loss):
    """A loss of predictions that are the inverse of what is fitted; observed values and residuals are of the latter."""

    base: Loss | None = None
    inverse: Callable[[AnyArray], AnyArray] | None = None

    @property
    def is_squared(self) -> bool:
        """Not of the residuals that it gets."""
        return False

    @property
    def is_absolute(self) -> bool:
        """Not of the residuals that it gets."""
        return False

    def of(self, y: FloatArray, u: FloatArray) -> FloatArray:
        """Losses of residuals of the transformed target."""
        assert self.base is not None
        observed = self._back(np.broadcast_to(y, u.shape))
        predicted, base = self._back(y - u), self.base.of_predictions()
        return base.of(observed, -predicted if base.is_of_predictions else observed - predicted)

    def of_predictions(self) -> Loss:
        """Itself: it makes the predictions."""
        return self

    def decided_residuals(self, y: FloatArray, u: FloatArray) -> FloatArray:
        """Residuals in the units of y."""
        return self._back(np.broadcast_to(y, u.shape)) - self._back(y - u)

    @property
    def keeps_scores(self) -> bool:
        """As what it is made of."""
        assert self.base is not None
        return self.base.keeps_scores

    def n_moments(self, n_outputs: int) -> int:
        """As what it is made of."""
        assert self.base is not None
        return self.base.n_moments(n_outputs)

    def kept(self, y: FloatArray, u: FloatArray) -> FloatArray:
        """Residuals in the units of y."""
        assert isinstance(self.base, KeptScores)
        return self.base.in_a_row(self.decided_residuals(y, u))

    def _back(self, values: FloatArray) -> FloatArray:
        assert self.inverse is not None
        found = _applied(self.inverse, values.reshape(-1, 1)).reshape(values.shape)
        if not np.isfinite(found).all():
            raise DataError(
                "inverse_func of the TransformedTargetRegressor gives NaN or infinite predictions; choose one that is "
                "defined for all numbers."
            )
        return found


@dataclass(frozen=True)
class TargetTransform:
    """A function of single values of y, and its inverse."""

    forward: Callable[[AnyArray], AnyArray]
    inverse: Callable[[AnyArray], AnyArray]

    def task(self, task: Task) -> Task:
        """The task of the fit."""
        loss = task.loss
        y = _applied(self.forward, task.problem.y)
        if not np.isfinite(y).all():
            raise RouteError("func of the TransformedTargetRegressor gives NaN or infinite values")
        moved = TransformedLoss(loss.name, loss.scale, loss.function, loss.classes, base=loss, inverse=self.inverse)
        return replace(task, problem=replace(task.problem, y=y), loss=moved)


def has_target(estimator: Any) -> bool:
    """Whether an estimator, or the last step of a pipeline, transforms its target."""
    last = estimator.steps[-1][1] if type(estimator) is Pipeline else estimator
    return type(last) is TransformedTargetRegressor


def adapt_target(
    estimator: Any, task: Task, path: Path | None, adapt: Callable[[Estimator, Task, Path | None], Learner | Refusal]
) -> Learner | Refusal:
    """The learner of the regressor inside, on the target that it gets."""
    outer, prefix, inner, steps = estimator, "regressor__", None, []
    if type(estimator) is Pipeline:
        name, outer = estimator.steps[-1]
        steps, prefix = estimator.steps[:-1], f"{name}__regressor__"
        inner = Pipeline([*steps, (name, _regressor(outer))])
        if any(_uses_y(step) for _, step in steps):
            return Refusal("a step before TransformedTargetRegressor sees y as it was")
    if task.problem.weights is not None:
        return Refusal("TransformedTargetRegressor takes no sample_weight")
    if path is not None:
        if not path.name.startswith(prefix):
            return Refusal(f"the parameter {path.name} is not the regressor's, so the model is refitted")
        name_inside = path.name.removeprefix(prefix)
        path = Path(f"{estimator.steps[-1][0]}__{name_inside}" if steps else name_inside, path.values)
    fitted = _regressor(outer) if inner is None else inner
    try:
        transform = _transform_of(outer, task)
        if transform is None:
            found = adapt(fitted, task, path)
            is_same = not isinstance(found, Learner) or outer.transformer is None
            why = "" if is_same else _why_units_matter(found, task.problem.n_outputs)
            return Refusal(why) if why else found
        found = adapt(fitted, transform.task(task), path)
    except RouteError as error:
        return Refusal(str(error))
    return found if isinstance(found, Refusal) else found.with_target(transform.task)


def _regressor(outer: TransformedTargetRegressor) -> Any:
    return LinearRegression() if outer.regressor is None else outer.regressor


def _why_units_matter(found: Any, n_outputs: int) -> str:
    """Why a fit to a y that is moved and stretched is not the fit to y, moved and stretched; empty if it is."""
    rows = getattr(found, "smoother", found)
    parts = found.groups if isinstance(found, InnerSearch) else getattr(found, "parts", [rows])
    if not isinstance(rows, FitRows) or not rows.fit_intercept or any(isinstance(part, GLMLearner) for part in parts):
        return "without an intercept a shift of y matters"
    if any(isinstance(part, LassoLearner) and not getattr(part, "is_made", False) for part in parts):
        return "the penalty of a lasso is in the units of y, which are those of every training set"
    if any(isinstance(part, EvidenceLearner) for part in parts):
        return "priors and stopping rules are in the units of y, which are those of every training set"
    if n_outputs > 1 and not all(map(_is_given, getattr(found, "parts", [found]))):
        return "all outputs together decide, each in units that are those of every training set"
    return ""


def _is_given(learner: Learner) -> bool:
    """Whether nothing is chosen for all outputs together."""
    return (
        isinstance(learner, Smoother)
        or type(learner) is EncodedLearner
        or (isinstance(learner, ScaledLearner) and learner.tuned is None)
    )


def _uses_y(step: Any) -> bool:
    """Whether a step may learn from y."""
    if step is None or isinstance(step, str):
        return False
    if isinstance(step, Pipeline):
        return any(_uses_y(each) for _, each in step.steps)
    if isinstance(step, FeatureUnion):
        return any(_uses_y(each) for _, each in step.transformer_list)
    if isinstance(step, ColumnTransformer):
        return any(map(_uses_y, [*(each for _, each, _ in step.transformers), step.remainder]))
    return not is_stateless(step) and (type(step) not in STEPS or type(step) in SUPERVISED)


def _transform_of(outer: TransformedTargetRegressor, task: Task) -> TargetTransform | None:
    """What happens to y in every fit; None if nothing that a linear fit would notice."""
    if outer.transformer is not None:
        if type(outer.transformer) in AFFINE and not getattr(outer.transformer, "clip", False):
            return None
        raise RouteError(f"{type(outer.transformer).__name__} learns from the target of every training set")
    if outer.func is None and outer.inverse_func is None:
        return None
    if outer.func is None or outer.inverse_func is None:
        raise RouteError("TransformedTargetRegressor has one of func and inverse_func only")
    y = task.problem.y
    for function, values in ((outer.func, y), (outer.inverse_func, _applied(outer.func, y))):
        if not _is_elementwise(function, values):
            raise RouteError("a function of TransformedTargetRegressor sees more than one value of y at a time")
    if not np.allclose(_applied(outer.inverse_func, _applied(outer.func, y)), y, rtol=1e-10, atol=0):
        raise RouteError("inverse_func of TransformedTargetRegressor does not undo func on y")
    return TargetTransform(outer.func, outer.inverse_func)


def _is_elementwise(function: Callable[[AnyArray], AnyArray], values: FloatArray) -> bool:
    """Whether a function does to each value alone what it does to all of them."""
    if isinstance(function, np.ufunc):
        return True
    together = _applied(function, values)
    if together.shape != values.shape:
        return False
    alone = [_applied(function, value[None]) for value in values.reshape(-1, 1)]
    return np.array_equal(together.ravel(), np.concatenate(alone).ravel(), equal_nan=True)


def _applied(function: Callable[[AnyArray], AnyArray], values: FloatArray) -> FloatArray:
    """A function of a column, as scikit-learn calls it; whatever it raises or warns of is a refit's to say."""
    try:
        with np.errstate(all="ignore"):
            return np.asarray(function(values), dtype=np.float64)
    except Exception as error:
        raise RouteError(f"a function of TransformedTargetRegressor failed: {error}") from error
