"""The public functions: the only file that wires the layers."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from .checks import check_choice
from .frames import split_columns
from .learners import Path
from .metrics import LossLike, ScoringLike
from .results.build import build_result
from .results.buildcomparison import build_comparison
from .results.buildcurve import build_curve
from .results.comparison import Comparison
from .results.curve import Deployment, ErrorCurve
from .results.estimators import estimators_of
from .results.nested import NestedCVResult
from .results.planning import Plan, plan_of
from .results.warn import emit_warnings
from .running.contenders import Contender, named_contenders
from .running.habits import check_keywords, with_hints
from .running.job import Job
from .running.makejob import make_job
from .running.progress import Report
from .running.ranges import check_range
from .running.settings import Settings
from .running.streaming import make_streamed_job
from .running.times import read_times
from .sources import Table, is_dask, scan
from .typing import ArrayLike, CVLike, Data, Estimator, Rows, Seed, Splitter
from .vocabulary import MAX_FITS, Folds, Repeats, RouteName, RuleName, Simpler, Transformers

__all__ = ["compare", "error_curve", "nested_cv", "plan_for"]


@with_hints
def nested_cv(
    estimator: Estimator,
    X: Data,
    y: Rows | str,
    *,
    n_folds: Folds = "auto",
    n_repeats: Repeats = "auto",
    loss: LossLike = None,
    scoring: ScoringLike = None,
    confidence_level: float = 0.95,
    interval: RuleName = "covariance",
    groups: ArrayLike | str | None = None,
    sample_weight: ArrayLike | str | None = None,
    folds: ArrayLike | Splitter | None = None,
    cv: CVLike = None,
    bias_folds: int | ArrayLike | Splitter | None = None,
    route: RouteName = "auto",
    transformers: Transformers = "refit",
    max_fits: int = MAX_FITS,
    random_state: Seed = None,
    n_jobs: int | None = None,
    progress: bool | Report | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    return_estimators: bool = False,
) -> NestedCVResult:
    """Estimate how well a model will predict, with an interval, by nested cross-validation.

    For linear smoothers (LinearRegression, Ridge, RidgeClassifier, KernelRidge, `PenalizedRegression`) the result is
    that of refitting the model on all K(K+1)/2 training sets of every repeat, computed from one decomposition. Tuned
    ones (RidgeCV, RidgeClassifierCV, `PenalizedRegression` with ``lam="gcv"``, "loo" or "reml") are tuned anew in
    every training set, without refits, and so are encoders, scalers, imputers, selections and PCA in a pipeline before
    scikit-learn's least squares and ridge regressions, and searches over these. Any other estimator with ``fit`` and
    ``predict`` is refitted.

    Parameters
    ----------
    estimator : estimator
        Not fitted and not changed.
    X : array, DataFrame (pandas, polars, pyarrow), sparse matrix (n, p), vector of n objects, or `Table` (see `scan`)
    y : array-like of shape (n,) or (n, n_outputs), or name of a column of X
        With two dimensions every figure of the result has a last axis of outputs. A column that is named is taken out
        of X; `groups` and `sample_weight` may be named, too.
    n_folds : int, "n" or "auto", default="auto"
        Number of folds K, 3 to n (to the number of groups, if there are groups). "n" leaves two rows, or two groups,
        out: the best interval that we know. "auto" is "n" for a linear smoother of up to 5,000 rows (2,000 if p >= n,
        for kernels and for groups) on a fast route other than "gram", if the rule does not need the variance within
        folds; else 10, or as many as there are rows or groups. Tuned estimators leave two out up to 300 rows (2,000 if
        GCV or REML tunes one penalty without a scaler, 100 if tuned by leave-one-out), or fewer if they have many
        columns; ``result.route_reason`` says so. If a model has to be refitted it is 5 from 100 rows on, and 10 below;
        20 for a linear model without a penalty whose columns are so many that it would nearly interpolate training sets
        of that size (a finding says so).
    n_repeats : int or "auto", default="auto"
        Number of random partitions, up to 100,000. "auto" draws 2 to 200, until the Monte Carlo error of the half-width
        is below 5% and that of the centre below a tenth of the half-width; if a model is refitted, until they are below
        10% and 15%, and no more than `max_fits` allows. ``result.monte_carlo_error`` is the error that was reached.
        With K = n there is one partition, whatever is asked.
    loss : {"squared_error", "absolute_error", "huber", "pinball", "zero_one", "log_loss", "brier", \
"poisson_deviance", "gamma_deviance", "neg_log_predictive"} or callable, default=None
        Smaller is better. None is squared error for regressors and zero-one for classifiers. Also a function of (y,
        prediction) that returns one loss for each row (see `onefit.losses.nonnegative`), or `onefit.losses.huber` and
        `onefit.losses.pinball` with a parameter.
    scoring : str, scorer, callable, list or dict, default=None
        Greater is better, with scikit-learn's names and signs (``"roc_auc"``, ``"neg_log_loss"``, ``"r2"``), its
        scorers (``make_scorer``), a function of (estimator, X, y), which takes refits, or several of these. The result
        then speaks of the first, and ``result.metrics`` of all. Not together with ``loss``.
    confidence_level : float, default=0.95
    interval : {"covariance", "bates", "paper", "mlr3", "naive", "corrected_t"}, default="covariance"
        The rule of ``result.interval``; all of them are in ``result.intervals``.
    groups : array-like of shape (n,), default=None
        Rows of a group stay together in a fold, and the interval counts groups, not rows, as independent.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows in the fits, and, relative to their mean, of their losses. Zero is allowed.
    folds : int array (n_repeats, n) or scikit-learn splitter, default=None
        Partitions to use: ids 0 to K-1, and -1 for rows that are always trained on and never scored.
    cv : int, scikit-learn splitter or list of (train, test), default=None
        The same in scikit-learn's word: a number is `n_folds` (random folds, at least 3, as two are held out at a
        time), anything else `folds`. For rows that follow one another: `TimeBlocks`, `SpaceBlocks`, `Gaps`,
        `RollingOrigin` and `Neighbourhoods`, and splitters whose training sets are not all other rows, such as
        ``TimeSeriesSplit``. The interval then minds that losses of neighbours resemble each other; see
        ``result.dependence``.
    bias_folds : int or array (repeats, n), default=None
        For the rules "paper" and "bates": further partitions, up to 100,000, for the bias correction. None uses the
        same ones.
    route : {"auto", "gram", "onestep", "newton", "neighbours", "refit"}, default="auto"
        How to compute; all routes give the same numbers. "auto" is the cheaper fast one by `plan` if the
        estimator has one, else "refit".
    transformers : {"refit", "freeze"}, default="refit"
        In a pipeline, whether stateful transformers are fitted anew in every training set (honest; by refits, unless
        what they learn follows from statistics of it), or once on all rows (the result says so).
    max_fits : int, default=150
        How many refits ``n_repeats="auto"`` may take for each model and value: a repeat takes K(K+1)/2, which is 15 for
        five folds. At least one repeat is made; if it is the only one, the interval has no Monte Carlo term, and a
        finding says so. A number of repeats that was given is obeyed, and other routes take no notice.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the partitions. Repeat l is the same whatever the number of repeats or jobs. An estimator that draws
        random numbers itself needs its own ``random_state``.
    n_jobs : int, default=None
        Jobs of the refit route, as in joblib; threads over repeats, or over tiles of pairs of rows, on the fast routes.
        -1 is all cores; at most 1,024.
    progress : bool or callable, default=None
        A bar with the expected time on standard error: None shows it for jobs of more than a second in a terminal or
        a notebook, True everywhere, False nowhere. A callable gets (done, total). With None, and also if the
        output is no terminal, a line says how many refits there are and about how long they take, if by the first of
        them that is more than 5 seconds.
    checkpoint : path, default=None
        A file for the repeats of refits, or the pieces of a table, that are complete: the same call goes on from them.
        It needs a ``random_state`` (or ``folds``), and a file of another job is refused. Other routes do not take so
        long, and leave it alone. The file is a pickle: name one that you trust.
    return_estimators : bool, default=False
        Whether ``result.estimators`` gives the models without each fold of each repeat. They are fitted when they are
        asked for and not kept, so that memory stays what it is; the result then holds on to X and y.

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
    >>> bool(low < result.estimate < high), result.route, result.n_folds
    (True, 'onestep', 442)
    """
    settings = Settings.of(locals())
    job = _job([Contender((estimator,))], X, y, settings)
    models = estimators_of(job, estimator) if return_estimators else None
    outcome = job.run()
    result = build_result(job, outcome)
    if models is not None:
        result = replace(result, estimators=models.of_repeats(result.n_repeats))
    emit_warnings([result])
    return result


def _job(contenders: list[Contender], X: Data, y: Rows | str, settings: Settings) -> Job:
    """A job on rows in memory, or on a table."""
    X = scan(X) if is_dask(X) else X
    make = make_streamed_job if isinstance(X, Table) else make_job
    return make(contenders, X, y, settings)  # type: ignore[arg-type]


def plan_for(estimator: Estimator, X: Data, y: Rows | str, **keywords: Any) -> Plan:
    """Say which route `nested_cv` would take for this very job, why, and what refits would cost; nothing is run.

    The data, the folds and every keyword are checked as `nested_cv` checks them. One fit is timed for the cost of
    refits: to all rows if by a fit to 1,000 of them that takes no more than 2 seconds.

    Parameters
    ----------
    estimator, X, y
        As in `nested_cv`.
    **keywords
        Of `nested_cv`.

    Returns
    -------
    Plan

    Examples
    --------
    >>> import onefit
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> plan = onefit.plan_for(Ridge(), X, y, n_folds=10, n_repeats=20)
    >>> plan.choice, plan.n_fits
    ('gram', 1100)
    """
    check_keywords("plan_for", keywords, inspect.signature(nested_cv).parameters)
    given = inspect.signature(nested_cv).bind(estimator, X, y, **keywords)
    given.apply_defaults()
    return plan_of(_job([Contender((estimator,))], X, y, Settings.of(given.arguments)), estimator)


@with_hints
def error_curve(
    estimator: Estimator,
    X: Data,
    y: Rows | str,
    *,
    param_name: str,
    param_range: Iterable[object],
    simpler: Simpler = "larger",
    n_folds: Folds = "auto",
    n_repeats: Repeats = "auto",
    loss: LossLike = None,
    scoring: ScoringLike = None,
    confidence_level: float = 0.95,
    interval: RuleName = "covariance",
    groups: ArrayLike | str | None = None,
    sample_weight: ArrayLike | str | None = None,
    folds: ArrayLike | Splitter | None = None,
    cv: CVLike = None,
    bias_folds: int | ArrayLike | Splitter | None = None,
    route: RouteName = "auto",
    transformers: Transformers = "refit",
    max_fits: int = MAX_FITS,
    random_state: Seed = None,
    n_jobs: int | None = None,
    progress: bool | Report | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> ErrorCurve:
    """Estimate the error along a parameter, with an interval at every value and for every difference from the best.

    For the penalty of a linear smoother (``alpha`` of Ridge, RidgeClassifier and KernelRidge, ``lam`` of
    `PenalizedRegression`, also as the last step of a pipeline) the whole path comes from one decomposition, and for an
    option of a step, or a step itself, in a pipeline that needs no refits (``"pca__n_components"``,
    ``"columntransformer__num__strategy"``) from the same sums over the rows. Along any other parameter every value is a
    model of its own, which takes the route that suits it. The folds are the same at every value.

    Parameters
    ----------
    estimator : estimator
    X, y
        As in `nested_cv`.
    param_name : str
        Name of the parameter, as in ``estimator.set_params``.
    param_range : array-like
        At least two values, numbers in increasing or decreasing order, or names.
    simpler : {"larger", "smaller"}, default="larger"
        Which values make the model simpler: larger penalties, but smaller ``C`` or ``max_depth``. Names count in the
        order given.
    n_folds, n_repeats, loss, scoring, confidence_level, interval, groups, sample_weight, folds, cv, bias_folds, \
route, transformers, max_fits, random_state, n_jobs, progress, checkpoint
        As in `nested_cv`. The paired differences always go by the covariance rule.

    Returns
    -------
    ErrorCurve
        A value that cannot be fitted is NaN there, with its reason.

    Notes
    -----
    An interval at the value that was chosen on these data is too optimistic. For the error of the whole procedure,
    choice included, pass a tuned estimator (RidgeCV) to `nested_cv`: it is tuned anew in every training set.

    Examples
    --------
    >>> import numpy as np
    >>> import onefit
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> curve = onefit.error_curve(Ridge(), X, y, param_name="alpha", param_range=np.logspace(-4, 1, 11))
    >>> bool(curve.select("one_se") >= curve.select("min"))
    True
    """
    settings = Settings.of(locals())
    X = scan(X) if is_dask(X) else X
    check_choice("simpler", simpler, ("larger", "smaller"))
    values = check_range(estimator, param_name, param_range)
    estimators = [clone(estimator).set_params(**{param_name: value}) for value in values]
    job = _job([Contender(tuple(estimators), Path(param_name, tuple(values)))], X, y, settings)
    outcome = job.run()
    named: dict[str, Any] = {"y": y, "sample_weight": sample_weight}
    if not isinstance(X, Table):
        X, named = split_columns(X, y=y, groups=groups, sample_weight=sample_weight)
        X, _ = read_times(X, settings.folds, estimators)
    deploy = Deployment(estimator, param_name, X, named["y"], named["sample_weight"])
    curve = build_curve(job, outcome, values, param_name, simpler, deploy)
    best = curve.results[int(np.atleast_1d(curve.best)[0])]
    emit_warnings([best] if best is not None else [])
    return curve


@with_hints
def compare(
    estimators: Mapping[str, Estimator],
    X: Data,
    y: Rows | str,
    *,
    n_folds: Folds = "auto",
    n_repeats: Repeats = "auto",
    loss: LossLike = None,
    scoring: ScoringLike = None,
    confidence_level: float = 0.95,
    interval: RuleName = "covariance",
    groups: ArrayLike | str | None = None,
    sample_weight: ArrayLike | str | None = None,
    folds: ArrayLike | Splitter | None = None,
    cv: CVLike = None,
    bias_folds: int | ArrayLike | Splitter | None = None,
    route: RouteName = "auto",
    transformers: Transformers = "refit",
    max_fits: int = MAX_FITS,
    random_state: Seed = None,
    n_jobs: int | None = None,
    progress: bool | Report | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    return_estimators: bool = False,
) -> Comparison:
    """Compare models: all pairwise differences of error, on the same rows and folds, with intervals.

    Parameters
    ----------
    estimators : dict
        Name and estimator of each model, at least two; all regressors or all classifiers. Each takes the route that
        suits it.
    X, y
        As in `nested_cv`.
    n_folds, n_repeats, loss, scoring, confidence_level, interval, groups, sample_weight, folds, cv, bias_folds, \
route, transformers, max_fits, random_state, n_jobs, progress, checkpoint, return_estimators
        As in `nested_cv`, and the same for all models. The differences always go by the covariance rule.

    Returns
    -------
    Comparison
        Without models that cannot be fitted: ``reasons`` says why, and a `FailedModelWarning`. If fewer than two can,
        that is an error.

    Examples
    --------
    >>> import onefit
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LinearRegression, Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> table = onefit.compare({"ols": LinearRegression(), "ridge": Ridge(alpha=10.0)}, X, y).to_frame()
    >>> bool(table.loc[("ols", "ridge"), "high"] < 0)
    True
    """
    settings = Settings.of(locals())
    contenders = named_contenders(estimators)
    job, names = _job(contenders, X, y, settings), [each.name for each in contenders]
    models = {each.name: estimators_of(job, each.estimators[0]) for each in contenders} if return_estimators else {}
    comparison = build_comparison(job, job.run(), names)
    if models:
        found = comparison.results
        kept = {name: replace(each, estimators=models[name].of_repeats(each.n_repeats)) for name, each in found.items()}
        comparison = replace(comparison, results=kept)
    emit_warnings([comparison.results[name] for name in names if name in comparison.results], comparison.reasons)
    return comparison
