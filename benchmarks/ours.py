"""onefit on a case: the whole call, and what it should cost."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Ridge, RidgeCV

import onefit
from onefit.errors import OneFitWarning

from .cases import Case

__all__ = ["errors_of", "flops", "make", "run", "serves", "widths"]


def make(case: Case) -> Any:
    """The estimator of a case."""
    return case.estimator(RidgeCV(alphas=case.alphas) if case.tuned else Ridge(alpha=case.alphas[0]))


def run(
    case: Case, route: str = "auto", n_jobs: int | None = None, interval: str = "covariance", model: Any = None
) -> Any:
    """`onefit.nested_cv`, or `onefit.error_curve` if the case has values, intervals included; or another model."""
    arguments: dict[str, Any] = {"route": route, "n_jobs": n_jobs, "interval": interval, "random_state": 0}
    arguments |= {"n_folds": "n"} if case.leaves_two_out else {"folds": case.folds}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OneFitWarning)  # few repeats are meant here
        if case.n_values == 1 or case.tuned:
            return onefit.nested_cv(model or make(case), case.X, case.y, **arguments)
        name = "ridge__alpha" if case.scaled else "alpha"
        return onefit.error_curve(make(case), case.X, case.y, param_name=name, param_range=case.alphas, **arguments)


def errors_of(case: Case, result: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """e_in and e_out (L, K) at the value at which methods are compared."""
    one = result.results[case.checked] if hasattr(result, "results") else result
    return one.fold_errors.e_in, one.fold_errors.e_out


def serves(case: Case, route: str) -> bool:
    """Whether a route can be asked for; the tuned, scaled and leave-two-out cases have one only."""
    return not (case.tuned or case.scaled or case.leaves_two_out) or route == "auto"


def widths(case: Case) -> tuple[int, int, int, int, int]:
    """The arguments of `onefit.plan`: the intercept is a column."""
    return case.n, case.p + 1, case.n_folds, case.n_repeats, case.n_values


def flops(case: Case, route: str) -> float | None:
    """What the route counts for itself; None if it has no count.

    Leaving two out makes every entry of the operator at every value, and the products between values.
    """
    if case.tuned or case.scaled:
        return None
    if case.leaves_two_out:
        q, V = min(case.p + 1, case.n), case.n_values
        return float(case.n**2 * (V * (q + 10) + (V**2 if V > 1 else 0)))
    return float(onefit.plan(*widths(case)).flops[route])
