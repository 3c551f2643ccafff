"""Fitted models and their parameters as people speak of them, for the report and the command line alike."""

from __future__ import annotations

from typing import Any

__all__ = ["last_step", "short_name"]


def last_step(fitted: Any) -> Any:
    """The model itself: at the end of a pipeline, and without what transforms the target.

    Examples
    --------
    >>> from onefit.display.estimators import last_step
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> last_step(make_pipeline(StandardScaler(), Ridge(alpha=2.0)))
    Ridge(alpha=2.0)
    """
    while hasattr(fitted, "steps") or hasattr(fitted, "regressor_"):
        fitted = fitted.steps[-1][1] if hasattr(fitted, "steps") else fitted.regressor_
    return fitted


def short_name(parameter: str) -> str:
    """A parameter without its place in a pipeline.

    Examples
    --------
    >>> from onefit.display.estimators import short_name
    >>> short_name("penalizedregression__lam"), short_name("alpha")
    ('lam', 'alpha')
    """
    return parameter.rpartition("__")[2] or parameter
