"""Generalized linear models with a ridge penalty: logistic, Poisson, Gamma and Tweedie regression of scikit-learn."""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Sequence
from copy import copy
from typing import Self, TypeAlias

import numpy as np
from scipy import linalg, sparse, special
from sklearn.linear_model import GammaRegressor, LogisticRegression, PoissonRegressor, TweedieRegressor
from sklearn.utils.class_weight import compute_class_weight

from ..checks import check_penalty_value, number_in_double
from ..errors import DataError, RouteError
from ..linalg.columns import Penalty, middle
from ..sources import MemorySource
from ..typing import FloatArray, IntArray
from ..validation import Problem, numeric_matrix
from ..vocabulary import CONVERGED
from .contract import Learner, Path, Refusal, Scores, Task
from .decisions import check_decisions
from .encoding import Encoding
from .featurerows import FeatureRows
from .fixedfeatures import FixedFeatures
from .glm_families import Binomial, Family, Gamma, Multinomial, Normal, Poisson, Tweedie
from .interpolation import WEAK
from .steps.table import RawTable, as_block

__all__ = [
    "GLMLearner",
    "OutOfRangeError",
    "encoded_glm",
    "encoded_logistic",
    "glm",
    "logistic",
    "logistic_chances",
    "penalized_glm",
]

Mean: TypeAlias = PoissonRegressor | GammaRegressor | TweedieRegressor


class OutOfRangeError(DataError):
    """Values of y that the loss of a family is not made for."""

    def __init__(self, message: str, family: Family) -> None:
        super().__init__(message)
        self.family = family


class GLMLearner(FeatureRows, Learner):
    """A generalized linear model on columns, or on what steps learn of them from each training set.

    The coefficients minimize ``sum_i w_i l(eta_i, y_i) + penalty |coefficients|^2 / 2`` over a training set, without
    the intercept in the penalty.

    Parameters
    ----------
    encoding : Encoding
    family : Family
    lams : array (V,)
        The penalty, or what it is for a unit of weight.
    y : array (P, n)
        As the family codes it.
    weights : array (n,) or None
        Sample weights as given.
    fit_intercept : bool
    is_mean : bool
        Whether the loss is a mean, so that the penalty grows with the weight of the training set.
    class_weights : array (C,) or None
        Factors of the weights of the classes.
    is_balanced : bool
        Whether these make all classes weigh the same in every training set.
    held : array (q,) or None
        Which columns the penalty holds, one or zero; None is all of them.
    """

    _exactness = CONVERGED
    responses = frozenset({"predict", "decision_function", "predict_proba"})
    is_behind_steps = False  # that are those of a pipeline which ends in a search
    reason = "Newton steps from the fit to all rows solve every training set"

    def __init__(
        self,
        encoding: Encoding,
        family: Family,
        lams: FloatArray,
        y: FloatArray,
        weights: FloatArray | None,
        fit_intercept: bool,
        is_mean: bool = False,
        class_weights: FloatArray | None = None,
        is_balanced: bool = False,
        held: FloatArray | None = None,
    ) -> None:
        self.encoding, self.family, self.lams, self.y = encoding, family, lams, y
        self.weights, self.fit_intercept, self.is_mean = weights, fit_intercept, is_mean
        self.is_balanced, self.held, self.class_weights = is_balanced, held, class_weights
        self.row_weights = np.ones(self.n) if weights is None else weights
        if class_weights is not None:
            self.row_weights = self.row_weights * class_weights[self.classes_of_rows]

    @property
    def fixed(self) -> FixedFeatures:
        """Of which its columns are made."""
        return self.encoding.fixed

    @property
    def has_steps(self) -> bool:
        """Whether its columns are learned anew in every training set."""
        return self.is_behind_steps or len(self.encoding.steps) > 0

    @property
    def has_classes(self) -> bool:
        """Whether it is a classifier."""
        return isinstance(self.family, Binomial | Multinomial)

    @property
    def n_classes(self) -> int:
        """Classes; one if it is no classifier."""
        return max(2, len(self.y)) if self.has_classes else 1

    @property
    def n_weighed(self) -> int:
        """Classes whose weights change with the training set, one if there are none."""
        return self.n_classes if self.is_balanced else 1

    @property
    def classes_of_rows(self) -> IntArray:
        """Number of each row's class, (n,)."""
        if not self.has_classes:
            return np.zeros(self.n, dtype=np.intp)
        return (self.y[0] > 0).astype(np.intp) if len(self.y) == 1 else np.asarray(self.y.argmax(axis=0))

    @property
    def n_values(self) -> int:
        """Number of penalties."""
        return len(self.lams)

    @property
    def n_unpenalized(self) -> int:
        """Columns that no penalty holds, or hardly one."""
        if (self.lams <= (WEAK if self.is_mean else 0.0)).any():
            return self.width
        return 0 if self.held is None else int((self.held == 0).sum())

    @property
    def may_have_no_fit(self) -> bool:
        """Whether some coefficients have no penalty, so that they may go to infinity."""
        return not self.lams.all() or (self.held is not None and not self.held.all())

    def at(self, values: Sequence[int]) -> Self:
        """The same at some of its penalties."""
        other = copy(self)
        other.lams = self.lams[list(values)]
        return other

    def scores(self, task: Task) -> Scores | Refusal:
        """None: it is not linear in y."""
        return Refusal("they are known of linear smoothers only, and a generalized linear model is none")

    def respond(self, kind: str, scores: FloatArray) -> FloatArray:
        """Decisions as they are, or their probabilities."""
        if kind != "predict_proba":
            return super().respond(kind, scores)
        if self.held is not None and len(self.y) == 1:  # of onefit's own models, whose tails keep their digits
            return np.concatenate([special.expit(-scores), special.expit(scores)], axis=-1)
        return logistic_chances(scores)

    def family_of(self, classes: IntArray) -> Family:
        """The loss that scikit-learn takes for so many of the classes."""
        return self.family if len(classes) == self.n_classes else _family_of_classes(len(classes))

    def penalty(self, value: int, weight: FloatArray | float) -> FloatArray | float:
        """Of a training set with this sum of weights."""
        return float(self.lams[value]) * (weight if self.is_mean else 1.0)


def logistic_chances(scores: FloatArray) -> FloatArray:
    """Probabilities (..., C) of decisions (..., Q) as LogisticRegression rounds them.

    Of two classes the first has one less the other's: of 1e-13 three digits are left, and log losses show it.
    """
    if scores.shape[-1] > 1:
        return np.asarray(special.softmax(scores, axis=-1))
    upper = special.expit(scores)
    return np.concatenate([1.0 - upper, upper], axis=-1)


def _family_of_classes(n_classes: int) -> Family:
    return Binomial() if n_classes == 2 else Multinomial(n_classes)


def logistic(estimator: LogisticRegression, task: Task, path: Path | None) -> GLMLearner:
    """Logistic regression on the columns of X."""
    _check_logistic(estimator, task.problem)
    encoding = _encoding_of_columns(task.problem, bool(estimator.fit_intercept))
    return _logistic_of(estimator, task, path, encoding, has_steps=False)


def encoded_logistic(estimator: LogisticRegression, task: Task, path: Path | None, encoding: Encoding) -> GLMLearner:
    """The same on what steps learn."""
    _check_logistic(estimator, task.problem)
    return _logistic_of(estimator, task, path, encoding, has_steps=True)


def _logistic_of(
    estimator: LogisticRegression, task: Task, path: Path | None, encoding: Encoding, has_steps: bool
) -> GLMLearner:
    problem = task.problem
    Cs = [estimator.C] if path is None else list(path.values)
    is_free = "penalty" in estimator.get_params() and estimator.penalty is None
    lams = np.array([0.0 if is_free else _inverse(C) for C in Cs])
    _check_unpenalized(lams, encoding)
    check_decisions(task, lams, bool(estimator.fit_intercept), encoding if has_steps else None)
    weights = _class_weights(estimator, problem)
    is_balanced = isinstance(estimator.class_weight, str)
    fit_intercept = bool(estimator.fit_intercept)
    y, family = np.ascontiguousarray(problem.y.T), _family_of_classes(len(problem.classes))
    return GLMLearner(encoding, family, lams, y, problem.weights, fit_intercept, False, weights, is_balanced)


def glm(estimator: Mean, task: Task, path: Path | None) -> GLMLearner:
    """Poisson, Gamma and Tweedie regression on the columns of X."""
    _check_mean(task.problem)
    return encoded_glm(estimator, task, path, _encoding_of_columns(task.problem, bool(estimator.fit_intercept)))


def encoded_glm(estimator: Mean, task: Task, path: Path | None, encoding: Encoding) -> GLMLearner:
    """The same on what steps learn."""
    problem = task.problem
    _check_mean(problem)
    family = _family_of(estimator)
    values = [estimator.alpha] if path is None else list(path.values)
    lams = np.array([check_penalty_value("alpha", value) for value in values])
    _check_unpenalized(lams, encoding)
    bad = np.flatnonzero(family.fault(problem.y[:, 0]))
    if len(bad):
        raise OutOfRangeError(
            f"Some value(s) of y are out of the valid range of the loss '{family.loss_name}': y is "
            f"{problem.y[bad[0], 0]:g} in row {bad[0]}, so that every training set that holds it fails in "
            f"{type(estimator).__name__}. Leave such rows out, or choose another model.",
            family,
        )
    y = np.ascontiguousarray(problem.y.T)
    return GLMLearner(encoding, family, lams, y, problem.weights, bool(estimator.fit_intercept), is_mean=True)


def penalized_glm(columns: FloatArray, penalty: Penalty, family: Family, lams: FloatArray, task: Task) -> GLMLearner:
    """A model of given columns (n, p) with a quadratic penalty on their coefficients, and an intercept."""
    problem = task.problem
    penalized = np.eye(columns.shape[1]) if penalty.penalized is None else penalty.penalized
    Z = columns @ np.hstack([penalized, penalty.free])
    if Z.shape[1] >= problem.n - 1:
        raise RouteError(f"it has {Z.shape[1]} functions for {problem.n} rows")
    held = np.repeat([1.0, 0.0], [penalized.shape[1], penalty.free.shape[1]])
    fixed = FixedFeatures(problem.n, problem.target)
    encoding = Encoding(as_block(RawTable.of(Z, problem.n), fixed), fixed, (), MemorySource(Z), problem.target)
    y = np.ascontiguousarray(problem.y.T)
    return GLMLearner(encoding, family, lams, y, problem.weights, True, held=held)


def _inverse(C: object) -> float:
    """The penalty of an inverse of it; infinite for none."""
    if isinstance(C, bool) or not isinstance(C, numbers.Real) or not (number := number_in_double(C)) > 0:
        raise DataError(f"C={C!r} must be a positive number: it is the inverse of a penalty.")
    return 0.0 if math.isinf(number) else check_penalty_value("1/C", 1.0 / number)


def _check_logistic(estimator: LogisticRegression, problem: Problem) -> None:
    """Refuse what is not the penalized likelihood of a softmax."""
    parameters = estimator.get_params()
    penalty, l1_ratio = parameters.get("penalty", "deprecated"), parameters.get("l1_ratio")
    if penalty == "deprecated":  # since scikit-learn 1.8 the ratio says it
        penalty = "l2" if not l1_ratio else "l1" if l1_ratio == 1 else "elasticnet"
    if penalty not in ("l2", None):
        raise RouteError(f"its {penalty} penalty has corners, where there is no Newton step")
    if estimator.solver == "liblinear":
        raise RouteError('solver="liblinear" penalizes the intercept; the default solver does not')
    if parameters.get("multi_class", "auto") not in ("auto", "deprecated", "multinomial"):
        raise RouteError(f"multi_class={estimator.multi_class!r} fits one model a class")
    if parameters.get("multi_class") == "multinomial" and len(problem.classes) == 2:
        raise RouteError('multi_class="multinomial" has two vectors of coefficients for two classes')
    if estimator.dual:
        raise RouteError("dual=True is for liblinear")


def _class_weights(estimator: LogisticRegression, problem: Problem) -> FloatArray | None:
    """Factors of the weights of classes, if these are given."""
    given = estimator.class_weight
    is_weighed = isinstance(given, str) and problem.weights is not None
    if is_weighed and "sample_weight" not in inspect.signature(compute_class_weight).parameters:
        raise RouteError("it depends on the version of scikit-learn whether balanced classes are counted or weighed")
    if given is None or isinstance(given, str):
        return None
    try:
        return np.asarray(compute_class_weight(given, classes=problem.classes, y=problem.labels), dtype=np.float64)
    except ValueError as error:
        raise RouteError(f"its class_weight cannot be used: {error}") from error


def _family_of(estimator: Mean) -> Family:
    """The loss, if it is convex in the linear predictor."""
    if isinstance(estimator, PoissonRegressor):
        return Poisson()
    if isinstance(estimator, GammaRegressor):
        return Gamma()
    power, link = float(estimator.power), estimator.link
    if link == "auto":
        link = "identity" if power <= 0 else "log"
    if (power, link) == (0.0, "identity"):
        return Normal()
    if link == "log" and 1 <= power <= 2:
        return {1.0: Poisson(), 2.0: Gamma()}.get(power, Tweedie(power))
    raise RouteError(
        f"power={power:g} with link={link!r} has a loss that is not convex, whose gradient certifies no fit"
    )


def _check_mean(problem: Problem) -> None:
    if problem.classes is not None:
        raise RouteError("it predicts numbers, and the estimator is a classifier")
    if problem.n_outputs > 1 or problem.output_names is not None:
        raise RouteError("it has one output")


def _check_unpenalized(lams: FloatArray, encoding: Encoding) -> None:
    """Refuse fits that have no finite coefficients, or none that are determined."""
    if not lams.all() and encoding.fixed.n_columns >= encoding.fixed.n - 1:
        raise RouteError("without a penalty, and with as many columns as rows, the likelihood has no maximum")


def _encoding_of_columns(problem: Problem, fit_intercept: bool) -> Encoding:
    """Columns as they are; if there are more than rows, in coordinates of which there are not.

    A penalty on the squared length does not change with a rotation, and the rows do not leave the space that they span.
    """
    if sparse.issparse(problem.X):
        raise RouteError("X is sparse, and Newton steps take a dense matrix between its columns")
    X = numeric_matrix(problem)
    if X.shape[1] >= X.shape[0]:
        about = X - middle(X) if fit_intercept else X
        U, d, _ = linalg.svd(about, full_matrices=False, check_finite=False)
        X = U * d
    fixed = FixedFeatures(problem.n, problem.target)
    return Encoding(as_block(RawTable.of(X, problem.n), fixed), fixed, (), problem.source, problem.target)
