"""scikit-learn's LassoCV and ElasticNetCV: their own alphas in every training set, searched by its splits."""

from __future__ import annotations

import numbers
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import ElasticNet, ElasticNetCV, Lasso, LassoCV
from sklearn.pipeline import Pipeline

from ..checks import check_penalty_value
from ..errors import DataError, RouteError
from ..typing import FloatArray
from .contract import Task
from .encoded import EncodedSets
from .encoding import Encoding
from .lasso import LassoLearner, Sparsified, check_lasso, tight

__all__ = ["PathLearner", "is_path_search", "path_learners", "tightened"]

PathSearch: TypeAlias = LassoCV | ElasticNetCV

DEFAULT_ALPHAS = 100
TINIEST = float(np.finfo(np.float64).resolution)
"""All alphas of a training set in which no column has to do with y, as in scikit-learn."""


def is_path_search(estimator: object) -> bool:
    """Whether an estimator is one of these."""
    return type(estimator) in (LassoCV, ElasticNetCV)


def tightened(estimator: Any) -> Any:
    """A copy of a search, or of a pipeline that ends in one, whose fits go on until they have converged."""
    if not isinstance(estimator, Pipeline):
        return tight(estimator)
    name, last = estimator.steps[-1]
    return clone(estimator).set_params(**{name: tight(last)})


def path_learners(search: PathSearch, task: Task, encoding: Encoding) -> list[LassoLearner]:
    """The candidates, those of one l1_ratio together, in the order of the search; or RouteError."""
    check_lasso(search, task.problem, encoding)
    name = type(search).__name__
    if task.problem.n_outputs > 1:
        raise RouteError(f"{name} takes one output; MultiTask{name} is another model")
    ratios = [float(ratio) for ratio in np.atleast_1d(getattr(search, "l1_ratio", 1.0))]
    alphas = _alphas(search)
    if isinstance(alphas, int) and 0.0 in ratios:
        raise RouteError(f"{name} makes no alphas for l1_ratio=0")
    return [PathLearner(encoding, alphas, float(search.eps), _fitted(search, ratio), task) for ratio in ratios]


def _alphas(search: PathSearch) -> int | FloatArray:
    """How many alphas each training set makes, or those that are given, falling."""
    asked = search.alphas
    if asked is None or isinstance(asked, str):  # of earlier versions, which have the number elsewhere
        asked = getattr(search, "n_alphas", DEFAULT_ALPHAS)
        asked = asked if isinstance(asked, numbers.Integral) else DEFAULT_ALPHAS
    if isinstance(asked, numbers.Integral):
        return int(asked)
    given = np.asarray(asked, dtype=object)
    if given.ndim != 1 or not len(given):
        raise DataError(f"alphas has shape {given.shape}; give a number of alphas or a list of them.")
    return np.sort([check_penalty_value("alphas", alpha) for alpha in given])[::-1]


def _fitted(search: PathSearch, l1_ratio: float) -> Sparsified:
    """The model that is fitted with the best alpha."""
    shared = {name: getattr(search, name) for name in ("fit_intercept", "positive", "tol", "max_iter")}
    return Lasso(**shared) if type(search) is LassoCV else ElasticNet(l1_ratio=l1_ratio, **shared)


class PathLearner(LassoLearner):
    """A lasso or elastic net at alphas that each training set makes of its own products with y.

    Parameters
    ----------
    alphas : int or array (V,)
        How many, or which.
    eps : float
        The smallest is so much of the largest, at which all coefficients are zero.
    """

    taking_part = 1.0

    def __init__(
        self, encoding: Encoding, alphas: int | FloatArray, eps: float, estimator: Sparsified, task: Task
    ) -> None:
        n_alphas = alphas if isinstance(alphas, int) else len(alphas)
        given = np.full(n_alphas, np.nan) if isinstance(alphas, int) else alphas
        super().__init__(encoding, given[:, None], task.problem.weights, estimator)
        self.is_made, self.eps = isinstance(alphas, int), eps

    def alphas(self, sets: EncodedSets, h: FloatArray) -> FloatArray:
        """Alphas (S, V) of each training set; its splits have the same."""
        if not self.is_made:
            return super().alphas(sets, h)
        products = h[:, :, 0] if self.positive else np.abs(h[:, :, 0])
        largest = np.maximum(products.max(axis=1, initial=0.0), 0.0) / (sets.moments.n * self.l1_ratio)
        if sets.whole is not None:
            largest = largest[sets.whole]
        grid = np.geomspace(1.0, self.eps, num=len(self.lams))
        return np.where(largest[:, None] <= TINIEST, TINIEST, largest[:, None] * grid)
