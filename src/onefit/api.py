"""The public functions: the only file that wires the layers."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from .errors import (
    DataError,
    FoldError,
    HeavyTailWarning,
    IntervalError,
    MonteCarloWarning,
    RouteError,
    TrainingSizeWarning,
)
from .fold_errors import FoldErrors, RowTotals
from .folds import ExplicitFolds, FoldSource, RandomFolds, entropy_of, explicit_folds
from .intervals import RULES, Context, Interval, Rule, cv_estimate, raw_estimate
from .learners import Adapted, adapt
from .losses import Loss, find_loss
from .montecarlo import MOST_REPEATS, half_width_error
from .progress import progress_of
from .repeats import collect, mean_cv
from .results import FoldErrorTables, NestedCVResult
from .routes import GramRoute, OneStepRoute, RefitRoute, Route, plan
from .scores import Figure, heavy_tailed, r2, rmse
from .typing import FloatArray
from .validation import Problem, check_choice, check_integer, check_level, check_problem

__all__ = ["nested_cv"]

ROUTES = ("auto", "gram", "onestep", "refit")
DEFAULT_FOLDS = 10
MOST_FOLDS = 4096
"""The table of pairs of folds is K x K; beyond this it would not be small."""


def nested_cv(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    n_folds: int | str = "auto",
    n_repeats: int | str = "auto",
    loss: str | None = None,
    confidence_level: float = 0.95,
    interval: str = "covariance",
    groups: Any = None,
    sample_weight: Any = None,
    folds: Any = None,
    bias_folds: Any = None,
    route: str = "auto",
    transformers: str = "refit",
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: Any = None,
) -> NestedCVResult:
    """Estimate how well a model will predict, with an interval, by nested cross-validation.

    For linear smoothers (LinearRegression, Ridge, KernelRidge, `PenalizedRegression`) the result is that of
    refitting the model on all K(K+1)/2 training sets of every repeat, computed from one decomposition. Any other
    estimator with ``fit`` and ``predict`` is refitted.

    Parameters
    ----------
    estimator : estimator
        Not fitted and not changed.
    X : array, DataFrame (pandas or polars) of shape (n, p)
    y : array-like of shape (n,) or (n, n_outputs)
        With two dimensions every figure of the result has a last axis of outputs.
    n_folds : int, "n" or "auto", default="auto"
        Number of folds K, 3 to n; "n" leaves two rows out; "auto" is 10, or n if there are fewer rows.
    n_repeats : int or "auto", default="auto"
        Number of random partitions. "auto" draws 2 to 200, until the Monte Carlo error of the half-width is below
        5% and that of the centre below a tenth of the half-width. With K = n there is one partition.
    loss : {"squared_error", "absolute_error"}, default=None
        None is squared error.
    confidence_level : float, default=0.95
    interval : {"covariance", "bates", "paper", "mlr3", "naive", "corrected_t"}, default="covariance"
        The rule of ``result.interval``; all of them are in ``result.intervals``.
    groups, sample_weight : None
        Not supported yet.
    folds : int array (n_repeats, n) or scikit-learn splitter, default=None
        Partitions to use: ids 0 to K-1, and -1 for rows that are always trained on and never scored.
    bias_folds : int or array (repeats, n), default=None
        For the rules "paper" and "bates": further partitions for the bias correction. None uses the same ones.
    route : {"auto", "gram", "onestep", "refit"}, default="auto"
        How to compute; all routes give the same numbers. "auto" is the cheaper fast one by `plan` if the
        estimator has one, else "refit".
    transformers : {"refit", "freeze"}, default="refit"
        In a pipeline, whether stateful transformers are fitted anew in every training set (honest; by refits), or
        once on all rows (fast; the result says so).
    random_state : int, Generator, RandomState or None, default=None
        Seed of the partitions. Repeat l is the same whatever the number of repeats or jobs.
    n_jobs : int, default=None
        Jobs of the refit route, as in joblib.
    progress : bool or callable, default=None
        True writes a line on standard error; a callable gets (done, total).

    Returns
    -------
    NestedCVResult

    Raises
    ------
    OneFitError
        If the data, the folds or a parameter cannot be used, or a training set does not determine the fit.

    Examples
    --------
    >>> import onefit
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> result = onefit.nested_cv(Ridge(alpha=0.1), X, y, random_state=0)
    >>> low, high = result.interval
    >>> bool(low < result.estimate < high), result.route
    (True, 'gram')
    """
    _refuse(groups=groups, sample_weight=sample_weight)
    level = check_level(confidence_level)
    rule = RULES[check_choice("interval", interval, tuple(RULES))]
    check_choice("route", route, ROUTES)
    check_choice("transformers", transformers, ("refit", "freeze"))
    chosen_loss = find_loss(loss)
    if isinstance(estimator, type) or not (hasattr(estimator, "fit") and hasattr(estimator, "predict")):
        raise DataError(f"{estimator!r} is not an estimator object with fit and predict, such as Ridge(alpha=1.0).")
    problem = check_problem(estimator, X, y)
    entropy = entropy_of(random_state)
    source, repeats = _partitions(problem, n_folds, n_repeats, folds, entropy)
    bias_source = _bias_partitions(problem, source, bias_folds, entropy)
    if rule.needs_v_out and not _has_v_out(source):
        raise IntervalError(
            f'interval="{rule.name}" needs the variance within each fold, and some folds have one row. Use fewer '
            'folds, or interval="covariance".'
        )
    chosen = _choose_route(estimator, problem, source, repeats, route, transformers, chosen_loss, n_jobs, progress)
    errors, totals = collect(chosen.route, source, problem.n_outputs, repeats, rule, chosen_loss.scale)
    bias_cv = None
    if bias_source is not None:
        bias_cv = mean_cv(chosen.route, bias_source[0], problem.n_outputs, bias_source[1])
    context = Context(level, chosen_loss.scale, bias_cv)
    result = _build_result(problem, chosen, errors, totals, rule, context, chosen_loss)
    _warn(result, totals, chosen_loss)
    return result


def _refuse(**later: Any) -> None:
    for name, value in later.items():
        if value is not None:
            raise DataError(f"{name} is not supported in this version of onefit; leave it None.")


def _partitions(
    problem: Problem, n_folds: int | str, n_repeats: int | str, folds: Any, entropy: int
) -> tuple[FoldSource, int | None]:
    """Where the folds come from and how many repeats there are; None leaves that to the stopping rule."""
    n = problem.n
    K: int | None = None
    if n_folds == "n":
        K = n
    elif n_folds != "auto":
        K = check_integer("n_folds", n_folds, 3, n, ', or "n" or "auto"')
    L = None if n_repeats == "auto" else check_integer("n_repeats", n_repeats, 1, also=', or "auto"')
    source: FoldSource
    if folds is not None:
        source = chosen = explicit_folds(folds, n, problem.X, problem.target)
        given = chosen.ids.shape[0]
        if K is not None and source.n_folds != K:
            raise FoldError(f"folds has {source.n_folds} folds and n_folds={K}; leave n_folds out or let them agree.")
        if L is not None and given != L:
            raise FoldError(f"folds has {given} repeats and n_repeats={L}; leave n_repeats out or let them agree.")
        L = given
    else:
        source = RandomFolds(n, K or min(DEFAULT_FOLDS, n), entropy)
        if source.n_folds == n:
            L = 1  # folds of one row: every repeat would be the same
    if source.n_folds > MOST_FOLDS:
        raise FoldError(
            f"{source.n_folds} folds would need a table of {source.n_folds}^2 pairs; use at most {MOST_FOLDS} folds."
        )
    return source, L


def _bias_partitions(
    problem: Problem, source: FoldSource, bias_folds: Any, entropy: int
) -> tuple[FoldSource, int] | None:
    if bias_folds is None:
        return None
    if np.ndim(bias_folds) == 0 and not hasattr(bias_folds, "split"):
        count = check_integer("bias_folds", bias_folds, 1, also=", or an array of fold ids")
        return RandomFolds(problem.n, source.n_folds, entropy, stream=1), count
    given = explicit_folds(bias_folds, problem.n, problem.X, problem.target, "bias_folds")
    if given.n_folds != source.n_folds:
        raise FoldError(
            f"bias_folds has {given.n_folds} folds and folds has {source.n_folds}: the bias correction compares "
            "training sets of n(K-1)/K and n(K-2)/K rows, so K must be the same."
        )
    return given, given.ids.shape[0]


def _has_v_out(source: FoldSource) -> bool:
    repeats = source.ids.shape[0] if isinstance(source, ExplicitFolds) else 1
    return bool(source.block(0, repeats).sizes.min() > 1)


def _smallest_training_set(source: FoldSource) -> int:
    repeats = source.ids.shape[0] if isinstance(source, ExplicitFolds) else 1
    sizes = np.sort(source.block(0, repeats).sizes, axis=1)
    return int(source.n - sizes[:, -2:].sum(axis=1).max())


@dataclass(frozen=True)
class _Chosen:
    """The route that computes, why it was chosen, and how exact it is."""

    route: Route
    reason: str
    exactness: str


def _choose_route(
    estimator: Any,
    problem: Problem,
    source: FoldSource,
    repeats: int | None,
    route: str,
    transformers: str,
    loss: Loss,
    n_jobs: int | None,
    progress: Any,
) -> _Chosen:
    adapted = Adapted(None, reason="asked for") if route == "refit" else adapt(estimator, problem, transformers)
    if adapted.smoother is None:
        if route not in ("auto", "refit"):
            raise RouteError(
                f'route="{route}" cannot serve this estimator: {adapted.reason}. Use route="refit" or "auto".'
            )
        K = source.n_folds
        ticks = progress_of(progress, K * (K + 1) // 2 * (repeats or MOST_REPEATS))
        advance = None if ticks is None else ticks.advance
        return _Chosen(RefitRoute(problem, [estimator], loss, n_jobs, advance), adapted.reason, adapted.exactness)
    smoother = adapted.smoother
    smoother.check_fits(_smallest_training_set(source))
    if route == "auto":
        chosen = plan(problem.n, smoother.width, source.n_folds, repeats or DEFAULT_FOLDS, smoother.n_values)
        route, reason = chosen.choice, chosen.reason
    else:
        reason = "asked for"
    cls = GramRoute if route == "gram" else OneStepRoute
    return _Chosen(cls(problem.y, smoother, loss), reason, adapted.exactness)


def _build_result(
    problem: Problem,
    chosen: _Chosen,
    errors: FoldErrors,
    totals: RowTotals,
    rule: Rule,
    context: Context,
    loss: Loss,
    value: int = 0,
) -> NestedCVResult:
    """Gather the figures of one parameter value; without an axis of outputs if y has none."""
    single = problem.output_names is None

    def pick(array: Any) -> Any:
        """One value, and its only output if y is a vector."""
        picked = array[..., value, :]
        if not single:
            return picked
        return picked[..., 0].item() if picked.ndim == 1 else picked[..., 0]

    by_rule = {name: other.compute(errors, context) for name, other in RULES.items() if _applies(other, errors)}
    own = by_rule[rule.name]
    residuals, losses = totals.means()
    raw = raw_estimate(errors)
    figures: dict[str, Figure | None] = {"rmse": None, "r2": None}
    if loss.name == "squared_error":
        both = {"rmse": rmse(own), "r2": r2(own, errors, losses, problem.y, context.confidence_level)}
        figures = {name: Figure(*map(pick, figure)) for name, figure in both.items()}
    return NestedCVResult(
        estimate=pick(own.estimate),
        interval=(pick(own.low), pick(own.high)),
        confidence_level=context.confidence_level,
        rule=rule.name,
        standard_error=pick(own.standard_error),
        bias=pick(raw - own.estimate),
        mse=pick(own.mse),
        mse_is_floored=pick(own.is_floored),
        inflation=pick(own.inflation),
        raw_estimate=pick(raw),
        cv_estimate=pick(cv_estimate(errors)),
        monte_carlo_error=pick(half_width_error(errors, rule)),
        n_folds=errors.n_folds,
        n_repeats=errors.n_repeats,
        route=chosen.route.name,
        route_reason=chosen.reason,
        exactness=chosen.exactness,
        loss=loss.name,
        intervals=_interval_table(by_rule, problem.output_names, value),
        fold_errors=FoldErrorTables(*map(pick, (errors.e_in, errors.e_out, errors.v_out, errors.mse))),
        heldout=_heldout_table(problem, problem.y - residuals[:, value], losses[:, value]),
        reason=own.reason,
        output_names=problem.output_names,
        **figures,
    )


def _applies(rule: Rule, errors: FoldErrors) -> bool:
    return not (rule.needs_v_out and np.isnan(errors.v_out).any())


def _interval_table(by_rule: dict[str, Interval], output_names: tuple[str, ...] | None, value: int) -> pd.DataFrame:
    """One row a rule (and output); NaN where the rule does not apply to these folds."""
    columns = ("estimate", "low", "high", "standard_error")
    n_outputs = 1 if output_names is None else len(output_names)
    missing = np.full((len(columns), n_outputs), np.nan)
    rows = [
        np.stack([getattr(by_rule[name], column)[value] for column in columns]) if name in by_rule else missing
        for name in RULES
    ]
    values = np.stack(rows).transpose(0, 2, 1).reshape(-1, len(columns))
    index: pd.Index[Any] = pd.Index(list(RULES), name="rule")
    if output_names is not None:
        index = pd.MultiIndex.from_product([list(RULES), list(output_names)], names=["rule", "output"])
    return pd.DataFrame(values, index=index, columns=list(columns))


def _heldout_table(problem: Problem, predictions: FloatArray, losses: FloatArray) -> pd.DataFrame:
    index = problem.X.index if isinstance(problem.X, pd.DataFrame) else None
    if problem.output_names is None:
        return pd.DataFrame({"prediction": predictions[:, 0], "loss": losses[:, 0]}, index=index)
    columns = pd.MultiIndex.from_product([["prediction", "loss"], list(problem.output_names)])
    return pd.DataFrame(np.hstack([predictions, losses]), index=index, columns=columns)


def _warn(result: NestedCVResult, totals: RowTotals, loss: Loss) -> None:
    """Say what the reader of the interval should know."""
    if result.rule == "covariance" and result.reason:
        warnings.warn(result.reason, TrainingSizeWarning, stacklevel=3)
    worst = float(np.max(np.atleast_1d(result.monte_carlo_error)))
    if worst > 0.10:
        warnings.warn(
            f"The half-width of the interval has a Monte Carlo error of {100 * worst:.0f}%: with other random "
            'partitions it would be that different. Use more repeats (n_repeats="auto" stops below 5%)'
            + ("." if result.rule == "covariance" else ', or interval="covariance", which needs far fewer.'),
            MonteCarloWarning,
            stacklevel=3,
        )
    if loss.scale == "log" and heavy_tailed(totals.means()[1]):
        remedy = (
            'loss="absolute_error", whose interval holds under heavy tails'
            if loss.name == "squared_error"
            else "a look at the rows with the largest losses in result.heldout"
        )
        warnings.warn(
            "A few rows carry most of the variance of the losses: the noise has heavy tails, and the interval will "
            f"cover less often than {100 * result.confidence_level:g}%. Consider {remedy}.",
            HeavyTailWarning,
            stacklevel=3,
        )
