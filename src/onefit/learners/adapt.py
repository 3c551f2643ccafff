"""Estimator -> learner: by the table of scikit-learn's classes; others say it themselves by ``__onefit_learner__``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from scipy import sparse
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline

from ..errors import DataError, OneFitError, RouteError
from ..typing import Estimator
from ..validation import numeric_matrix
from ..vocabulary import EXACT, FROZEN
from .contract import Joins, Learner, Path, Refusal, Task, joins
from .encoded import EncodedLearner
from .encoded_family import EncodedFamily
from .encoding import Encoding
from .fixedfeatures import FixedFeatures
from .gaussian_process import is_optimized, with_fitted_kernel
from .known import LEARNERS, penalty_of, unknown
from .refitted import RefitLearner, declines_weights, is_routed
from .scaled import ScaledLearner, scales_only
from .search import LastSteps, is_search, searched
from .smoother import Smoother
from .steps import FITTED_ANEW, encode_steps
from .steps.table import RawTable
from .target import adapt_target, has_target
from .transformed import check_parameters, is_stateless, names_of, steps_of, transformed, without_trace
from .tuned import TunedLearner

__all__ = ["adapt", "frozen"]

MOST_TRIED, MOST_TRIED_CELLS = 1e8, 2e5
"""Operations and cells of X up to which "freeze" is tried before it is recommended: it is one sentence of a message."""


def adapt(estimator: Estimator, task: Task, path: Path | None = None) -> Learner | Refusal:
    """Find the learner of an estimator, or of its path; never guesses: a subclass is not the class it derives from."""
    if task.problem.weights is not None and declines_weights(estimator):
        return Refusal("metadata routing is enabled, and its fit asks for no sample_weight")
    if task.problem.weights is not None and is_routed(estimator):
        return Refusal("metadata routing is enabled, and its parts may ask for the weights, or for none")
    if has_target(estimator):
        return adapt_target(estimator, task, path, adapt)
    if type(estimator) is Pipeline:
        return _adapt_pipeline(estimator, task, path)
    if is_search(estimator):
        return _adapt_search(estimator, [], estimator, task, path)
    try:
        if joins(estimator):
            return _checked(estimator, estimator.__onefit_learner__(task, path), task, path)
        known = LEARNERS.get(type(estimator))
        if known is None:
            return unknown(estimator)
        if path is not None and path.name != known.penalty:
            return Refusal(f"the parameter {path.name} is not a penalty, so the model is refitted")
        check_parameters(estimator, DataError)
        return known.make(estimator, task, path)
    except RouteError as error:
        return Refusal(str(error))


def _checked(estimator: object, found: object, task: Task, path: Path | None) -> Learner | Refusal:
    """What an estimator says of itself, if it is what it should be."""
    name, n_values = f"{type(estimator).__name__}.__onefit_learner__", 1 if path is None else len(path.values)
    if isinstance(found, Refusal) and isinstance(found.reason, str) and found.reason.strip():
        return found
    if not isinstance(found, Learner):
        raise DataError(
            f"{name} returned {found!r:.60}; it must return a Learner, or a Refusal with a reason, of onefit.learners."
        )
    if found.n_values != n_values:
        raise DataError(f"{name} returned a learner of {found.n_values} values for {n_values}.")
    if fault := found.fault(task.problem.n):
        raise DataError(f"{name} returned a learner {fault}; mend it, or return a Refusal.")
    return found


def _adapt_pipeline(pipeline: Pipeline, task: Task, path: Path | None) -> Learner | Refusal:
    """Transform X once if that is exact (stateless steps) or asked for (freeze); else learn them from statistics."""
    (name, last), steps = pipeline.steps[-1], steps_of(pipeline)
    if path is not None:
        inner = path.name.removeprefix(f"{name}__")
        if inner == path.name or not (joins(last) or inner == penalty_of(last)):
            return _adapt_family(pipeline, task, path)
        path = Path(inner, path.values)
    if not joins(last) and type(last) not in LEARNERS and not is_search(last):
        return unknown(last)
    stateful = [step for step in steps if not is_stateless(step)]
    if not stateful or task.transformers == "freeze":
        found = adapt(last, transformed(task, steps), path)
        return found.given_transformers() if stateful and isinstance(found, Learner) else found
    if is_search(last):
        return _adapt_search(pipeline, steps, last, task, path)
    if scales_only(steps, task.problem) and (joins(last) or LEARNERS[type(last)].is_ridge):
        scaled = _adapt_scaled(steps, last, task, path)
        if scaled is not None:
            return scaled
    encoded = _adapt_encoded(steps, last, task, path)
    if isinstance(encoded, Learner):
        return encoded
    return _refused(stateful, steps, last, task, path, encoded)


def _adapt_scaled(steps: list[Any], last: Estimator, task: Task, path: Path | None) -> Learner | Refusal | None:
    """A ridge regression whose columns are scaled anew in every training set; None if the last step is none."""
    before = transformed(task, steps[:-1])
    X = numeric_matrix(before.problem)  # says what is wrong with columns before they are scaled
    # the intercept absorbs the means, least squares the scales
    is_absorbed = not steps[-1].with_std or type(last) is LinearRegression
    inner = adapt(last, before if is_absorbed else transformed(before, steps[-1:]), path)
    if isinstance(inner, Refusal):
        return inner
    smoother = inner.smoother if isinstance(inner, TunedLearner) else inner
    if not (isinstance(smoother, Smoother) and smoother.is_ridge and smoother.fit_intercept):
        return None
    assert isinstance(inner, Smoother | TunedLearner)
    if is_absorbed:
        return inner
    scaled = ScaledLearner(inner, X)
    return scaled if scaled.keeps_squares else None  # of fixed features such a column is refused by its name


def _adapt_encoded(steps: list[Any], last: Estimator, task: Task, path: Path | None) -> Learner | Refusal | None:
    """A linear fit to what steps learn anew in every training set, if that is linear in fixed features.

    None if the last step is no such fit, or the path not of its penalty.
    """
    known = LEARNERS.get(type(last))
    is_known = known is not None and known.encoded is not None and (path is None or path.name == known.penalty)
    if not joins(last) and not is_known:
        return None
    try:
        return _behind(last, task, path, encode_steps(steps, task.problem))
    except RouteError as error:
        return Refusal(str(error))


def _adapt_family(pipeline: Pipeline, task: Task, path: Path) -> Learner | Refusal:
    """Pipelines that differ in a parameter other than the penalty: linear fits that share their fixed features."""
    if task.transformers == "freeze":
        return Refusal(f"the parameter {path.name} changes what is fitted to all rows")
    before = (RawTable.of(task.problem.X, task.problem.n), FixedFeatures(task.problem.n, task.problem.target))
    parts: list[EncodedLearner] = []
    try:
        for value in path.values:
            each = clone(pipeline).set_params(**{path.name: value})
            part = _behind(each.steps[-1][1], task, None, encode_steps(steps_of(each), task.problem, before))
            if not isinstance(part, EncodedLearner):
                return Refusal(f"{type(each.steps[-1][1]).__name__} is fitted by iterations, at each value by itself")
            parts.append(part)
    except RouteError as error:
        return Refusal(str(error))
    except (DataError, TypeError, ValueError) as error:  # of a value that its fits will speak of
        return Refusal(f"{path.name} has a value that cannot be used: {error}")
    return EncodedFamily(parts)


def _adapt_search(
    estimator: Estimator, steps: list[Any], search: Estimator, task: Task, path: Path | None
) -> Learner | Refusal:
    """A search, or a pipeline that ends in one, whose steps learn from every training set."""
    if path is not None:
        return Refusal(f"the parameter {path.name} is not a penalty, so the model is refitted")
    try:
        return searched(estimator, steps, search, task, LastSteps(penalty_of, _behind))
    except RouteError as error:
        return Refusal(str(error))


def _behind(last: Estimator, task: Task, path: Path | None, encoding: Encoding) -> Learner:
    """The learner of a last step; raises RouteError if there is none."""
    if joins(last):
        return _joined_behind(last, task, path, encoding)
    known = LEARNERS.get(type(last))
    if known is None or known.encoded is None:
        raise RouteError(str(unknown(last)))
    check_parameters(last, DataError)
    if encoding.block.may_be_sparse and not known.takes_sparse:
        raise RouteError(
            f"{type(last).__name__} may get a sparse matrix, which it does not take (sparse_output=False of "
            "OneHotEncoder, or sparse_threshold=0 of ColumnTransformer, would do)"
        )
    return known.encoded(last, task, path, encoding)


def _joined_behind(last: Joins, task: Task, path: Path | None, encoding: Encoding) -> EncodedLearner:
    """The learner of an estimator that says itself what it is, if that is a ridge regression on its columns.

    What it says of the columns that the steps make of all rows holds for those of every training set: the design has no
    part in it but its width.
    """
    name = type(last).__name__
    try:
        with without_trace():
            found = adapt(last, transformed(task, encoding.steps), path)
    except OneFitError as error:  # which refits will say, if it is so of them, too
        raise RouteError(str(error)) from error
    if isinstance(found, Refusal):
        raise RouteError(str(found))
    if isinstance(found, TunedLearner):
        raise RouteError(
            f"{name} chooses its penalty by a criterion, which is known of a fixed design or of scales only"
        )
    if not (isinstance(found, Smoother) and found.is_ridge and found.exactness == EXACT and found.lams.all()):
        raise RouteError(f"{name} is no ridge regression with a penalty on what the steps make")
    return EncodedLearner(encoding, found.lams, task.problem.weights, found.fit_intercept)


def _refused(
    stateful: list[Any], steps: list[Any], last: Estimator, task: Task, path: Path | None, encoded: Refusal | None
) -> Refusal:
    """What stands in the way of a fast route; "freeze" is the remedy if it has been seen to work, at little cost."""
    reason = f"{names_of(stateful)} {FITTED_ANEW}"
    if encoded is not None and not encoded.reason.endswith(FITTED_ANEW):
        reason += f", as {encoded.reason}"
    found = _tried(steps, last, task, path)
    if isinstance(found, Refusal):
        return found
    if found is None:
        return Refusal(reason)
    return Refusal(reason, 'transformers="freeze" fits once on all rows and takes a fast route')


def _tried(steps: list[Any], last: Estimator, task: Task, path: Path | None) -> Learner | Refusal | None:
    """The learner behind transformers that are fitted on all rows; None if there is none, or no time to find out."""
    n, X = task.problem.n, task.problem.X
    if n * (X.shape[1] if len(getattr(X, "shape", ())) == 2 else n) > MOST_TRIED_CELLS:
        return None
    try:
        with without_trace():
            after = transformed(task, steps)
            if _operations(last, after.problem.X) > MOST_TRIED:
                return None
            found = adapt(last, after, path)
            if isinstance(found, Learner):
                found.check_fits(n // 3)  # of the fewest folds that there can be
            return found
    except Exception:  # whatever it is, refits may do without
        return None


def _operations(last: Estimator, X: Any) -> float:
    """About what it takes to make the learner of a last step."""
    n, p = X.shape
    if type(last) in (KernelRidge, GaussianProcessRegressor):
        return float(n) ** 3
    return float(p) ** 3 if sparse.issparse(X) else float(n) * p * min(n, p)


def frozen(estimator: Any, task: Task) -> tuple[Estimator, str]:
    """An estimator as it is refitted, and its exactness: one that joins may keep what it takes from all rows.

    All routes give the same numbers, so what the fast ones take as given must be given here, too. In a pipeline with a
    transformer that is fitted anew in every training set, so is everything after it.
    """
    if type(estimator) is Pipeline:
        name, last = estimator.steps[-1]
        if not joins(last) or not all(is_stateless(step) for step in steps_of(estimator)):
            return estimator, EXACT
        inner, exactness = frozen(last, transformed(task, steps_of(estimator)))
        return Pipeline([*estimator.steps[:-1], (name, inner)]), exactness
    if type(estimator) is GaussianProcessRegressor and is_optimized(estimator) and task.transformers == "freeze":
        return with_fitted_kernel(estimator, task.problem), FROZEN
    if not joins(estimator):
        return estimator, EXACT
    try:
        asked = replace(task, needs=task.needs | {"refits"})
        found = _checked(estimator, estimator.__onefit_learner__(asked, None), task, None)
    except RouteError:
        return estimator, EXACT  # no fast route, but nothing that it takes from all rows either
    return (found.estimators[0], found.exactness) if isinstance(found, RefitLearner) else (estimator, EXACT)
