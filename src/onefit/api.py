"""The public functions: the only file that wires the layers."""

from __future__ import annotations

from typing import Any

from .build import build_result
from .job import Settings, prepare
from .results import NestedCVResult
from .warn import warn_reader

__all__ = ["nested_cv"]


def nested_cv(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    n_folds: int | str = "auto",
    n_repeats: int | str = "auto",
    loss: Any = None,
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

    For linear smoothers (LinearRegression, Ridge, RidgeClassifier, KernelRidge, `PenalizedRegression`) the result is
    that of refitting the model on all K(K+1)/2 training sets of every repeat, computed from one decomposition. Any
    other estimator with ``fit`` and ``predict`` is refitted.

    Parameters
    ----------
    estimator : estimator
        Not fitted and not changed.
    X : array, DataFrame (pandas or polars) or scipy sparse matrix of shape (n, p)
    y : array-like of shape (n,) or (n, n_outputs)
        With two dimensions every figure of the result has a last axis of outputs.
    n_folds : int, "n" or "auto", default="auto"
        Number of folds K, 3 to n (to the number of groups, if there are groups). "n" leaves two rows, or two groups,
        out: the best interval that we know. "auto" is "n" for a linear smoother of up to 5,000 rows (2,000 if p >= n,
        for kernels and for groups) on a fast route other than "gram", if the rule does not need the variance within
        folds; else 10, or as many as there are rows or groups.
    n_repeats : int or "auto", default="auto"
        Number of random partitions. "auto" draws 2 to 200, until the Monte Carlo error of the half-width is below
        5% and that of the centre below a tenth of the half-width. With K = n there is one partition, whatever is asked.
    loss : {"squared_error", "absolute_error", "huber", "pinball", "zero_one"} or callable, default=None
        None is squared error for regressors and zero-one for classifiers. Also a function of (y, prediction) that
        returns one loss for each row (see `onefit.losses.nonnegative`), or `onefit.losses.huber` and
        `onefit.losses.pinball` with a parameter.
    confidence_level : float, default=0.95
    interval : {"covariance", "bates", "paper", "mlr3", "naive", "corrected_t"}, default="covariance"
        The rule of ``result.interval``; all of them are in ``result.intervals``.
    groups : array-like of shape (n,), default=None
        Rows of a group stay together in a fold, and the interval counts groups, not rows, as independent.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows in the fits, and, relative to their mean, of their losses. Zero is allowed.
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
        Seed of the partitions. Repeat l is the same whatever the number of repeats or jobs. An estimator that draws
        random numbers itself needs its own ``random_state``.
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
    >>> bool(low < result.estimate < high), result.route, result.n_folds
    (True, 'onestep', 442)
    """
    settings = Settings(
        n_folds=n_folds,
        n_repeats=n_repeats,
        loss=loss,
        confidence_level=confidence_level,
        interval=interval,
        groups=groups,
        sample_weight=sample_weight,
        folds=folds,
        bias_folds=bias_folds,
        route=route,
        transformers=transformers,
        random_state=random_state,
        n_jobs=n_jobs,
        progress=progress,
    )
    job = prepare(estimator, X, y, settings)
    outcome = job.run()
    result = build_result(job, outcome)
    warn_reader(result, job, outcome)
    return result
