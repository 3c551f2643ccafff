"""Searches among generalized linear models inside every training set, by splits of its own rows."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import (
    GammaRegressor,
    LogisticRegression,
    LogisticRegressionCV,
    PoissonRegressor,
    TweedieRegressor,
)

from ..errors import RouteError
from ..typing import FloatArray
from ..vocabulary import CONVERGED
from .contract import Task
from .glm import GLMLearner
from .glm_scores import GLMScore, score_of_classes, score_of_means
from .innersearch import InnerSearch

__all__ = ["SearchedGLM", "glm_score", "logistic_candidates", "tight_glm"]

ITERATED = (LogisticRegression, LogisticRegressionCV, PoissonRegressor, GammaRegressor, TweedieRegressor)


class SearchedGLM(InnerSearch[GLMLearner, GLMScore]):
    """A search among candidates, each a generalized linear model.

    Parameters
    ----------
    groups : sequence of GLMLearner
        Candidates that differ in a penalty alone, at several values.
    places : sequence of pairs of int
        The candidates in the order of the search: which group, which value.
    splitter : splitter of scikit-learn
    score : GLMScore
    estimator : estimator
        The search itself, for training sets in which candidates are too close to each other.
    task : Task
    """

    _exactness = CONVERGED
    responses = GLMLearner.responses

    @property
    def reason(self) -> str:
        """Why the newton route, for people."""
        return (
            f"Newton steps from the fit to all rows solve {len(self.places)} candidates in {self.n_splits} splits of "
            "every training set"
        )

    def respond(self, kind: str, scores: FloatArray) -> FloatArray:
        """As its candidates."""
        return self.groups[0].respond(kind, scores)


def glm_score(search: Any, task: Task, learner: GLMLearner, is_weighted: bool) -> GLMScore:
    """How a search scores its candidates; or RouteError."""
    scoring, is_sum = search.scoring, type(search) is LogisticRegressionCV
    if isinstance(scoring, str) and scoring == "warn":
        scoring = None
    if scoring is not None and not isinstance(scoring, str):
        raise RouteError(f"scoring={scoring!r} is not a name")
    if task.problem.classes is None:
        return score_of_means(scoring, learner.family, is_sum, is_weighted)
    return score_of_classes(scoring, np.asarray(task.problem.classes), is_sum, is_weighted)


def logistic_candidates(search: LogisticRegressionCV, n_classes: int) -> tuple[LogisticRegression, list[float]]:
    """The model that LogisticRegressionCV fits, and its values of C; or RouteError."""
    parameters = search.get_params()
    if not search.refit:
        raise RouteError("LogisticRegressionCV with refit=False averages the fits of its splits")
    if isinstance(search.class_weight, str):
        raise RouteError("LogisticRegressionCV counts balanced classes in all of its splits together")
    if search.solver == "newton-cholesky" and n_classes > 2 and _warm_starts_go_astray():
        raise RouteError(
            'LogisticRegressionCV with solver="newton-cholesky" does not converge to the fit of several classes before '
            "scikit-learn 1.7.2; the default solver does"
        )
    ratios = parameters.get("l1_ratios")
    is_plain = ratios is None or isinstance(ratios, str) or (np.size(ratios) == 1 and np.ravel(ratios)[0] == 0)
    if not is_plain:
        raise RouteError("its l1 penalty has corners, where there is no Newton step")
    if parameters.get("penalty", "deprecated") not in ("deprecated", "l2"):
        raise RouteError(f"its penalty is {search.penalty!r}, and only l2 has Newton steps along C")
    shared = ("fit_intercept", "solver", "tol", "max_iter", "class_weight", "dual")
    inner = LogisticRegression(**{name: parameters[name] for name in shared})
    if parameters.get("multi_class", "deprecated") not in ("deprecated", "auto"):
        inner.set_params(multi_class=parameters["multi_class"])
    Cs = search.Cs
    values = np.logspace(-4, 4, int(Cs)) if np.ndim(Cs) == 0 else np.asarray(Cs, dtype=np.float64)
    return inner, [float(value) for value in values]


def tight_glm(estimator: Any) -> Any:
    """A copy of a search whose fits go on until they have converged."""
    made = clone(estimator)
    owners = {name: value for name, value in made.get_params().items() if type(value) in ITERATED}
    for owner in (made, *owners.values()):
        if type(owner) in ITERATED:
            is_astray = type(owner) is LogisticRegressionCV and _warm_starts_go_astray()
            exact = "newton-cg" if is_astray else "newton-cholesky"
            solver = {} if owner.solver == "liblinear" else {"solver": exact}
            owner.set_params(tol=1e-10, max_iter=max(10_000, owner.max_iter), **solver)
    return made


@cache
def _warm_starts_go_astray() -> bool:
    """Whether newton-cholesky, begun at the fit of three classes, leaves it: scikit-learn before 1.7.2; tried out.

    LogisticRegressionCV begins the fit of each C at that of the one before.
    """
    X, y = np.arange(9.0)[:, None] % 4, np.array([0, 0, 1, 2, 1, 2, 2, 2, 0])
    model = LogisticRegression(solver="newton-cholesky", warm_start=True)
    first, second = (model.fit(X, y).predict_proba(X) for _ in range(2))
    return not np.allclose(first, second, rtol=0.0, atol=1e-2)
