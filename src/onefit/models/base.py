"""What the models with one penalty share: the fit, the prediction with its uncertainty, and the face to the routes."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ..checks import check_range_of
from ..errors import DataError
from ..learners import DesignSmoother, Learner, Path, RefitLearner, Refusal, Smoother, Task, TunedLearner
from ..typing import ArrayLike, FloatArray, Rows
from ..validation import numeric_matrix
from .fitting import Design, PenalizedFit, check_lam, fit_design

__all__ = ["DesignModel", "learner_of"]


class DesignModel(MultiOutputMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A model that is ``min ||y - c - D b||^2 + lam b'Sb`` in a design D that it makes of X.

    A subclass says how D is made: `_make_design` from all of the data, and `_columns` for new rows once it is
    fitted; and it joins the routes by a method ``__onefit_learner__`` of its own, which calls `learner_of`.
    """

    lam: float | str
    lam_: float | FloatArray
    _minimum_norm = False

    @abstractmethod
    def _make_design(self, X: FloatArray, weights: FloatArray | None) -> Design:
        """The design of these rows; nothing is kept."""

    @abstractmethod
    def _columns(self, X: FloatArray) -> FloatArray:
        """The columns of the design in new rows."""

    def _check_fit(
        self, X: Rows, y: Rows, sample_weight: ArrayLike | None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """X, y and weights as arrays of floats, checked as scikit-learn does."""
        try:
            rows, target = validate_data(self, X, y, dtype=np.float64, **self._target_options())
        except ValueError as error:
            if "could not convert" not in str(error):
                raise
            raise DataError(
                f"{error}. All columns must be numbers; AdditiveModel takes categories as factors."
            ) from error
        weights = _check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)
        if not (weights > 0).any():
            raise DataError("All sample weights are zero; at least one row must count.")
        check_range_of("X", rows, 0.0)
        if self._target_options()["y_numeric"]:
            check_range_of("y", target)
            target = np.asarray(target, dtype=np.float64)
        return rows, target, weights

    def _target_options(self) -> dict[str, bool]:
        """How scikit-learn is to check y."""
        return {"multi_output": True, "y_numeric": True}

    def _fit_design(self, design: Design, y: FloatArray, weights: FloatArray) -> None:
        """Fit, and keep the results as scikit-learn's attributes."""
        Y = y.reshape(len(y), -1)
        fit = fit_design(design, Y, weights, self.lam, minimum_norm=self._minimum_norm)
        self._keep(fit, y.ndim == 1, design.fit_intercept)

    def _keep(self, fit: PenalizedFit, is_single: bool, fit_intercept: bool) -> None:
        self.coef_ = fit.coef[:, 0] if is_single else fit.coef.T
        self.intercept_ = float(fit.intercept[0]) if is_single else fit.intercept
        self.lam_, self.edf_, self.lam_range_ = fit.lam, fit.edf, fit.lam_range
        self.scale_ = float(fit.scale[0]) if is_single else fit.scale
        self.scores_ = {name: float(values[0]) if is_single else values for name, values in fit.scores.items()}
        self._root, self._has_intercept = fit.root, fit_intercept

    @property
    def covariance_(self) -> FloatArray:
        """Covariance of the intercept, if there is one, and the coefficients; a leading axis for several outputs."""
        root = self._covariance_root()
        return np.multiply.outer(self.scale_, root @ root.T)

    def _covariance_root(self) -> FloatArray:
        check_is_fitted(self)
        if self._root is None:
            raise DataError("The model has too many columns to keep their covariance; predict without return_std.")
        root: FloatArray = self._root
        return root

    def predict(self, X: Rows, return_std: bool = False) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Predict.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        return_std : bool, default=False
            Whether to return the standard deviation of the mean response, too: that of the curve, not of a new
            observation. It is the Bayesian one, as in mgcv, and takes ``lam_`` as known.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_outputs), or a tuple of two of them
        """
        check_is_fitted(self)
        D = self._columns(self._check_new(X))
        mean, std = self._combine(np.hstack([np.ones((len(D), 1)), D]), return_std)
        return mean if std is None else (mean, std)

    def _check_new(self, X: Rows) -> FloatArray:
        """New rows, checked as scikit-learn does."""
        rows: FloatArray = validate_data(self, X, dtype=np.float64, reset=False)
        return rows

    def _combine(self, C: FloatArray, with_std: bool) -> tuple[FloatArray, FloatArray | None]:
        """Combinations C (m, 1 + p) of intercept and coefficients, and their standard deviations."""
        mean: FloatArray = C[:, 1:] @ self.coef_.T + np.multiply.outer(C[:, 0], self.intercept_)
        if not with_std:
            return mean, None
        known = C if self._has_intercept else C[:, 1:]
        spread = np.sqrt(np.square(known @ self._covariance_root()).sum(axis=1))
        return mean, np.multiply.outer(spread, np.sqrt(self.scale_))

    # ----------------------------------------------------------------------------------------------- face to the routes

    _takes_frames = False
    """Whether the design is made of X as the user gave it, with columns that are not numbers."""

    _is_ridge = False
    """Whether the penalty is the sum of squares of the coefficients of X itself, so that its scale is a parameter."""

    def _obstacle(self) -> str:
        """Why only refits can serve this model as it is set; empty if the fast routes can."""
        return ""

    def _freeze(self, X: FloatArray, weights: FloatArray | None) -> DesignModel:
        """The same model with whatever it would learn from X alone (knots, components) fixed; itself if nothing is."""
        return self

    def _learner(self, task: Task, X: FloatArray, lams: FloatArray | None) -> Learner:
        """How the fast routes see this model with these rows, or its path of penalties."""
        return self._make_learner(X, task.problem.weights, lams)

    def _make_learner(self, X: FloatArray, weights: FloatArray | None, lams: FloatArray | None) -> Learner:
        """How the fast routes see this model, or its path of penalties."""
        lam = check_lam(self.lam)
        if lams is None and isinstance(lam, str):
            return TunedLearner(self._make_smoother(X, weights, np.ones((1, 1))), lam)
        return self._make_smoother(X, weights, lams)

    def _make_smoother(self, X: FloatArray, weights: FloatArray | None, lams: FloatArray | None) -> Smoother:
        """The model at its own penalty, or on a path of them."""
        if lams is None:
            lams = np.array([[check_lam(self.lam)]], dtype=np.float64)
        design = self._make_design(X, weights)
        return DesignSmoother(design.X, design.penalty, design.fit_intercept, lams, weights, self._is_ridge)


def learner_of(model: DesignModel, task: Task, path: Path | None) -> Learner | Refusal:
    """The learner of one of our own models, with its knots or components as all rows have them."""
    problem = task.problem
    if path is not None and path.name != "lam":
        return Refusal(f"the parameter {path.name} is not a penalty, so the model is refitted")
    lams = None if path is None else path.penalties()
    if sparse.issparse(problem.X):
        return Refusal(f"{type(model).__name__} takes no sparse X; pass X.toarray()")
    wants_refits = "refits" in task.needs
    if not wants_refits and (obstacle := model._obstacle()):
        return Refusal(obstacle)
    X = problem.X if model._takes_frames else numeric_matrix(problem)
    frozen = model._freeze(X, problem.weights)
    found = RefitLearner([frozen]) if wants_refits else frozen._learner(task, X, lams)
    return found if frozen is model else found.given_transformers()
