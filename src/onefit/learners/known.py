"""What is known of scikit-learn's classes: how each becomes a learner, or why it has none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from sklearn.cross_decomposition import PLSRegression
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    ARDRegression,
    BayesianRidge,
    ElasticNet,
    GammaRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    MultiTaskElasticNet,
    MultiTaskElasticNetCV,
    MultiTaskLasso,
    MultiTaskLassoCV,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
    RidgeCV,
    TweedieRegressor,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from .constant import constant_class, constant_number
from .contract import Learner, Path, Refusal, Task
from .discriminant import (
    encoded_linear_discriminant,
    encoded_quadratic_discriminant,
    linear_discriminant,
    quadratic_discriminant,
)
from .encoding import Encoding
from .evidence import bayesian, encoded_bayesian
from .gaussian_process import gaussian_process
from .glm import encoded_glm, encoded_logistic, glm, logistic
from .kernel_ridge import encoded_kernel_ridge, kernel_ridge
from .lasso import encoded_lasso, lasso
from .naivebayes import encoded_naive_bayes, naive_bayes
from .neighbours import encoded_neighbours, neighbours
from .pls import encoded_pls, pls
from .ridge import encoded_least_squares, encoded_ridge, least_squares, ridge
from .ridge_cv import encoded_ridge_cv, ridge_cv

__all__ = ["LEARNERS", "Known", "penalty_of", "unknown"]


class Known(NamedTuple):
    """How a class of scikit-learn becomes a learner, the name of its penalty, and whether columns may be scaled before.

    ``is_ridge`` is for ridge regressions on the columns as they get them: a scaler then changes their penalty alone.
    ``encoded`` makes the learner behind steps that learn anew in every training set. Without ``takes_sparse`` its fit
    refuses a sparse matrix.
    """

    make: Callable[[Any, Task, Path | None], Learner]
    penalty: str | None = None
    is_ridge: bool = True
    encoded: Callable[[Any, Task, Path | None, Encoding], Learner] | None = None
    takes_sparse: bool = True


LEARNERS: dict[type, Known] = {
    LinearRegression: Known(least_squares, encoded=encoded_least_squares),
    Ridge: Known(ridge, "alpha", encoded=encoded_ridge),
    RidgeClassifier: Known(ridge, "alpha", encoded=encoded_ridge),
    RidgeCV: Known(ridge_cv, encoded=encoded_ridge_cv),
    RidgeClassifierCV: Known(ridge_cv, encoded=encoded_ridge_cv),
    Lasso: Known(lasso, "alpha", is_ridge=False, encoded=encoded_lasso),
    ElasticNet: Known(lasso, "alpha", is_ridge=False, encoded=encoded_lasso),
    PLSRegression: Known(pls, "n_components", is_ridge=False, encoded=encoded_pls, takes_sparse=False),
    BayesianRidge: Known(bayesian, is_ridge=False, encoded=encoded_bayesian, takes_sparse=False),
    ARDRegression: Known(bayesian, is_ridge=False, encoded=encoded_bayesian, takes_sparse=False),
    KernelRidge: Known(kernel_ridge, "alpha", is_ridge=False, encoded=encoded_kernel_ridge),
    GaussianProcessRegressor: Known(gaussian_process, "alpha", is_ridge=False),
    DummyRegressor: Known(constant_number, is_ridge=False),
    DummyClassifier: Known(constant_class, is_ridge=False),
    LogisticRegression: Known(logistic, "C", is_ridge=False, encoded=encoded_logistic),
    PoissonRegressor: Known(glm, "alpha", is_ridge=False, encoded=encoded_glm),
    GammaRegressor: Known(glm, "alpha", is_ridge=False, encoded=encoded_glm),
    TweedieRegressor: Known(glm, "alpha", is_ridge=False, encoded=encoded_glm),
    KNeighborsRegressor: Known(neighbours, "n_neighbors", False, encoded_neighbours),
    KNeighborsClassifier: Known(neighbours, "n_neighbors", False, encoded_neighbours),
    LinearDiscriminantAnalysis: Known(linear_discriminant, "shrinkage", False, encoded_linear_discriminant, False),
    QuadraticDiscriminantAnalysis: Known(
        quadratic_discriminant, "reg_param", False, encoded_quadratic_discriminant, False
    ),
    GaussianNB: Known(naive_bayes, "var_smoothing", False, encoded_naive_bayes, False),
}

JOINT_OUTPUTS = Refusal(
    "its penalty is on the coefficients of all outputs together, and onefit solves for one output at a time only",
    "Lasso and ElasticNet, which fit every output by itself, take one",
)

REFITTED: dict[type, Refusal] = dict.fromkeys(
    (MultiTaskElasticNet, MultiTaskElasticNetCV, MultiTaskLasso, MultiTaskLassoCV), JOINT_OUTPUTS
)
"""Classes that are known to have no fast route, and why."""


def unknown(estimator: object) -> Refusal:
    """Why nothing is known of a class."""
    name = type(estimator).__name__
    if hasattr(estimator, "__onefit_learner__"):
        return Refusal(f"{name} only inherits __onefit_learner__, and may fit or predict otherwise than its parent")
    if known := REFITTED.get(type(estimator)):
        return replace(known, reason=f"{name} has no exact fast route: {known.reason}")
    return Refusal(f"{name} has no exact fast route")


def penalty_of(last: object) -> str | None:
    """The name of the penalty of a last step."""
    known = LEARNERS.get(type(last))
    return None if known is None else known.penalty
