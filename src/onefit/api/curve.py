"""The error along a parameter: `error_curve`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..checks import check_choice, copy_of
from ..frames import split_columns
from ..learners import Path
from ..metrics import LossLike, ScoringLike
from ..results.buildcurve import build_curve
from ..results.curve import Deployment, ErrorCurve
from ..results.warn import emit_warnings
from ..running.contenders import Contender
from ..running.habits import with_hints
from ..running.progress import Report
from ..running.ranges import check_range
from ..running.settings import Settings
from ..running.times import read_times
from ..sources import Table, is_dask, scan
from ..typing import ArrayLike, CVLike, Data, Estimator, Rows, Seed, Splitter
from ..vocabulary import MAX_FITS, Folds, Repeats, RouteName, RuleName, Simpler, Transformers
from .wiring import job_of

__all__ = ["error_curve"]


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
    estimators = [copy_of(estimator).set_params(**{param_name: value}) for value in values]
    job = job_of([Contender(tuple(estimators), Path(param_name, tuple(values)))], X, y, settings)
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
