"""Models whose y may also be classes, counts or amounts: what ``family`` changes of fits, predictions and learners."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import accuracy_score, d2_tweedie_score
from sklearn.utils import ClassifierTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..errors import DataError, RouteError
from ..learners import Learner, Task
from ..learners.glm import penalized_glm
from ..typing import AnyArray, ArrayLike, FloatArray, Rows
from .base import DesignModel
from .fitting import Design
from .responses import Response, check_family
from .working import Data, GeneralizedFit, fit_generalized

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sklearn.utils import Tags

__all__ = ["GeneralizedModel", "refuse_criterion"]

POWERS = {"poisson": 1, "gamma": 2}
"""Of the mean, in the variance."""


def _has_classes(model: GeneralizedModel) -> bool:
    if model.family != "binomial":
        raise AttributeError(f'{type(model).__name__} has classes if family="binomial"; it is {model.family!r}.')
    return True


class GeneralizedModel(DesignModel):
    """A model ``E(y) = g(c + D b)`` with a quadratic penalty on b; ``family`` says how y is distributed about it."""

    family: str
    classes_: AnyArray
    deviance_: float
    null_deviance_: float

    @property
    def _response(self) -> Response | None:
        """How y is distributed; None for least squares."""
        return check_family(self.family)

    def __sklearn_tags__(self) -> Tags:
        """As scikit-learn asks for them: two classes make a classifier."""
        tags = super().__sklearn_tags__()
        if self.family == "binomial":
            tags.estimator_type, tags.regressor_tags = "classifier", None
            tags.classifier_tags = ClassifierTags(multi_class=False)
        if self.family != "gaussian":
            tags.target_tags.multi_output = False
            tags.target_tags.positive_only = self.family in POWERS
        return tags

    def _target_options(self) -> dict[str, bool]:
        """How scikit-learn is to check y."""
        if self._response is None:
            return {"multi_output": True, "y_numeric": True}
        return {"multi_output": False, "y_numeric": not self._response.has_classes}

    def _fit_family(
        self,
        response: Response,
        columns: FloatArray,
        y: AnyArray,
        weights: FloatArray,
        roots: Sequence[FloatArray],
        lams: FloatArray,
        criterion: str,
    ) -> GeneralizedFit:
        """Fit, and keep what all models of a family have."""
        coded, classes = response.check(y, weights)
        found = fit_generalized(Data(columns, coded, weights, response), roots, lams, criterion)
        self._keep(found.fit, is_single=True, fit_intercept=True)
        if classes is not None:
            self.classes_ = classes
        self.deviance_, self.null_deviance_ = found.deviance, found.null_deviance
        return found

    # ------------------------------------------------------------------------------------------------------ predictions

    def predict(self, X: Rows, return_std: bool = False) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Predict means; of ``family="binomial"`` classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        return_std : bool, default=False
            Whether to return the standard deviation of the mean response, too: that of the curve, not of a new
            observation. It is the Bayesian one, as in mgcv, and takes ``lam_`` as known. Of all families but
            "gaussian" both are on the scale of the link: the linear predictor (log odds, or the logarithm of the
            mean) and its standard deviation, so that intervals are made there and then transformed.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_outputs), or a tuple of two of them
        """
        check_is_fitted(self)
        response = self._response
        eta, std = self._combine(_with_constant(self._columns(self._check_new(X))), return_std)
        if std is not None:
            return eta, std
        if response is None:
            return eta
        if response.has_classes:
            chosen: FloatArray = self.classes_[(eta > 0).astype(np.intp)]
            return chosen
        return response.mean(eta)

    @available_if(_has_classes)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Rows) -> FloatArray:
        """Log odds of the second class; of ``family="binomial"``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        check_is_fitted(self)
        return self._combine(_with_constant(self._columns(self._check_new(X))), False)[0]

    @available_if(_has_classes)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Rows) -> FloatArray:
        """Probabilities of the two classes, in the order of ``classes_``; of ``family="binomial"``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, 2)
        """
        eta: FloatArray = self.decision_function(X)
        response = self._response
        assert response is not None
        return np.column_stack([response.mean(-eta), response.mean(eta)])

    @available_if(_has_classes)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Rows) -> FloatArray:
        """Logarithms of the probabilities of the two classes; of ``family="binomial"``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, 2)
        """
        eta: FloatArray = self.decision_function(X)
        return -np.logaddexp(0.0, np.column_stack([eta, -eta]))

    def score(self, X: Rows, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Score predictions as scikit-learn does: R2, accuracy of classes, share of the deviance of counts and amounts.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        float
        """
        check_is_fitted(self)
        if self.family == "binomial":
            return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))
        if self.family in POWERS:
            power = POWERS[self.family]
            return float(d2_tweedie_score(y, self.predict(X), sample_weight=sample_weight, power=power))
        return float(super().score(X, y, sample_weight))

    # ----------------------------------------------------------------------------------------------- face to the routes

    def _learner(self, task: Task, X: Any, lams: FloatArray | None) -> Learner:
        """By Newton steps at given penalties; where a criterion chooses them, refits are all there is."""
        response = self._response
        if response is None:
            return super()._learner(task, X, lams)
        problem = task.problem
        if response.has_classes and len(problem.classes) > 2:
            raise DataError(f'family="binomial" tells two classes apart, and y has {len(problem.classes)}.')
        if problem.n_outputs > 1 or (problem.output_names is not None and not response.has_classes):
            raise DataError(f'family="{self.family}" has one output, and y has {problem.n_outputs} columns.')
        y = problem.y[:, 0]
        if not response.has_classes:
            response.check(y, np.ones(problem.n) if problem.weights is None else problem.weights)
        design, strengths, hint = self._given_design(X, problem.weights, lams)
        learner = penalized_glm(design.X, design.penalty, response.family, strengths, task)
        learner.hint = hint
        return learner

    def _given_design(
        self, X: Any, weights: FloatArray | None, lams: FloatArray | None
    ) -> tuple[Design, FloatArray, str]:
        """The design, strengths (V,) of its penalty, and what may be wrong with it; raises if they are to be chosen."""
        raise NotImplementedError


def _with_constant(columns: FloatArray) -> FloatArray:
    """Columns behind one of ones."""
    return np.hstack([np.ones((len(columns), 1)), columns])


def refuse_criterion() -> None:
    """Say why penalties that a criterion chooses need refits."""
    raise RouteError(
        "its penalties are chosen anew in every training set, for working models that change with them; for a fast "
        "route give lam as a number"
    )
