"""What a job would take: `plan_for`."""

from __future__ import annotations

import inspect
from typing import Any

from ..results.planning import Plan, plan_of
from ..running.contenders import Contender
from ..running.habits import check_keywords, with_hints
from ..running.settings import Settings
from ..typing import Data, Estimator, Rows
from .nested import nested_cv
from .wiring import job_of

__all__ = ["plan_for"]


@with_hints
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
    return plan_of(job_of([Contender((estimator,))], X, y, Settings.of(given.arguments)), estimator)
