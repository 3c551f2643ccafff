"""The differences between models: `compare`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from ..checks import check_flag
from ..metrics import LossLike, ScoringLike
from ..results.buildcomparison import build_comparison
from ..results.comparison import Comparison
from ..results.estimators import estimators_of
from ..results.warn import emit_warnings
from ..running.contenders import named_contenders
from ..running.habits import with_hints
from ..running.progress import Report
from ..running.settings import Settings
from ..typing import ArrayLike, CVLike, Data, Estimator, Rows, Seed, Splitter
from ..vocabulary import MAX_FITS, Folds, Repeats, RouteName, RuleName, Transformers
from .wiring import job_of

__all__ = ["compare"]


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
    settings, has_models = Settings.of(locals()), check_flag("return_estimators", return_estimators)
    contenders = named_contenders(estimators)
    job, names = job_of(contenders, X, y, settings), [each.name for each in contenders]
    models = {each.name: estimators_of(job, each.estimators[0]) for each in contenders} if has_models else {}
    comparison = build_comparison(job, job.run(), names)
    if models:
        found = comparison.results
        kept = {name: replace(each, estimators=models[name].of_repeats(each.n_repeats)) for name, each in found.items()}
        comparison = replace(comparison, results=kept)
    emit_warnings([comparison.results[name] for name in names if name in comparison.results], comparison.reasons)
    return comparison
