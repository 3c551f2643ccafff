"""The error of one model: `nested_cv`."""

from __future__ import annotations

import os
from dataclasses import replace

from ..checks import check_flag
from ..metrics import LossLike, ScoringLike
from ..results.build import build_result
from ..results.estimators import estimators_of
from ..results.nested import NestedCVResult
from ..results.warn import emit_warnings
from ..running.contenders import Contender
from ..running.habits import with_hints
from ..running.progress import Report
from ..running.settings import Settings
from ..typing import ArrayLike, CVLike, Data, Estimator, Rows, Seed, Splitter
from ..vocabulary import MAX_FITS, Folds, Repeats, RouteName, RuleName, Transformers
from .wiring import job_of

__all__ = ["nested_cv"]


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
    y : array-like of shape (n,) or (n, n_outputs), or name of a column of X, or list of names
        With two dimensions every figure of the result has a last axis of outputs. A column that is named is taken out
        of X; `groups` and `sample_weight` may be named, too.
    n_folds : int, "n" or "auto", default="auto"
        Number of folds K, 3 to n (to the number of groups, if there are groups). "n" leaves two rows, or two groups,
        out: the best interval that we know. "auto" is "n" for a linear smoother of up to 5,000 rows (2,000 if p >= n,
        for kernels and for groups) on a fast route other than "gram", if the rule does not need the variance within
        folds; else 10, or as many as there are rows or groups. Tuned estimators leave two out up to 300 rows (2,000 if
        GCV or REML tunes one penalty without a scaler, 100 if tuned by leave-one-out), or fewer if they have many
        columns; ``result.route_reason`` says so. If a model is refitted it is 5 from 100 rows on, and 10 below;
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
        Weights of the rows in the fits, and, relative to their mean where rows are scored, of their losses. Zero is
        allowed.
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
        a notebook, and elsewhere a line every ten seconds; True at once and to the end, False nothing. A callable gets
        (done, total). With None, and also if the output is no terminal, a line says how many refits there are and
        about how long they take, if by the first of them that is more than 5 seconds.
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
    settings, has_models = Settings.of(locals()), check_flag("return_estimators", return_estimators)
    job = job_of([Contender((estimator,))], X, y, settings)
    models = estimators_of(job, estimator) if has_models else None
    outcome = job.run()
    result = build_result(job, outcome)
    if models is not None:
        result = replace(result, estimators=models.of_repeats(result.n_repeats))
    emit_warnings([result])
    return result
