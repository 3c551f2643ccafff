"""Least squares with a quadratic penalty."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ..criteria import CRITERIA, criterion_values, edf, search, spectrum_of_rows
from ..learners import DesignSmoother, Smoother, TunedLearner
from ..linalg.columns import Columns, check_penalty, columns_of, penalty_basis
from ..linalg.stacked import fit_stacked
from ..typing import FloatArray
from ..validation import check_choice, check_penalty_value

__all__ = ["PenalizedRegression"]


class PenalizedRegression(MultiOutputMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Minimize ``||y - c - X b||^2 + lam b'Sb``.

    Parameters
    ----------
    penalty : array of shape (n_features, n_features), default=None
        Symmetric positive semi-definite matrix S; directions in its null space are not penalized. None is the
        identity, which is ridge regression.
    lam : float or {"gcv", "loo", "reml"}, default=1.0
        Strength of the penalty, zero or larger; or the criterion by which `fit` chooses it: generalized
        cross-validation, leave-one-out, or restricted maximum likelihood as in mgcv. One strength serves all outputs.
    fit_intercept : bool, default=True
        Whether to fit the constant c, as an unpenalized column of ones.

    Attributes
    ----------
    coef_ : array of shape (n_features,) or (n_outputs, n_features)
    intercept_ : float or array of shape (n_outputs,)
    lam_ : float
        The penalty's strength that was used.
    edf_ : float
        Effective degrees of freedom, the trace of the hat matrix; the intercept counts.
    scores_ : dict of float, or of array of shape (n_outputs,)
        The criteria "gcv", "loo" and "reml" at ``lam_``; infinite where they are not defined.

    Notes
    -----
    Fitted by QR of the design stacked on the root of the penalty, not by normal equations. A criterion is minimized
    over 20 decades about the scale of the data; the most penalized end stands for an infinite ``lam``, and wins ties.

    Examples
    --------
    A smooth curve through noisy points: second differences of neighbouring coefficients are penalized.

    >>> import numpy as np
    >>> from onefit import PenalizedRegression
    >>> D = np.diff(np.eye(10), n=2, axis=0)
    >>> X, y = np.eye(10), np.arange(10.0)
    >>> model = PenalizedRegression(penalty=D.T @ D, lam=1e6, fit_intercept=False).fit(X, y)
    >>> bool(np.allclose(model.predict(X), y)), round(model.edf_, 3)
    (True, 2.0)
    """

    def __init__(self, penalty: Any = None, lam: float | str = 1.0, fit_intercept: bool = True) -> None:
        self.penalty = penalty
        self.lam = lam
        self.fit_intercept = fit_intercept

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> PenalizedRegression:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the squared residuals.

        Returns
        -------
        PenalizedRegression
            The fitted estimator itself.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, multi_output=True, y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
        if not isinstance(self.lam, str):
            check_penalty_value("lam", self.lam)
        S = check_penalty(self.penalty, X.shape[1])
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        root = np.sqrt(weights[weights > 0])
        columns = columns_of(X, S, self.fit_intercept).rows(np.flatnonzero(weights > 0)).weighted(root)
        Y = y.reshape(len(y), -1)
        shift = Y.mean(axis=0) if self.fit_intercept else np.zeros(Y.shape[1])
        weighted = root[:, None] * (Y - shift)[weights > 0]
        lam = self._choose(columns, weighted, root, len(y), y.ndim == 1)
        a, b = fit_stacked(columns, weighted, lam)
        intercept, free = (b[0], b[1:]) if self.fit_intercept else (shift, b)
        penalized_map, free_map = penalty_basis(S, X.shape[1])
        coef = ((a if penalized_map is None else penalized_map @ a) + free_map @ free).T
        if self.fit_intercept:  # the columns were centred
            intercept = intercept + shift - coef @ X.mean(axis=0)
        self.coef_ = coef[0] if y.ndim == 1 else coef
        self.intercept_ = float(intercept[0]) if y.ndim == 1 else intercept
        return self

    def predict(self, X: Any) -> FloatArray:
        """Predict.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_outputs)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        prediction: FloatArray = X @ self.coef_.T + self.intercept_
        return prediction

    def _choose(self, columns: Columns, y: FloatArray, root: FloatArray, n_rows: int, is_single: bool) -> float:
        """The penalty to use; what is known of it is kept in lam_, edf_ and scores_."""
        spectrum = spectrum_of_rows(columns.narrow(), y, root, n_rows).spectrum
        if isinstance(self.lam, str):
            check_choice("lam", self.lam, CRITERIA)
            self.lam_ = float(search(spectrum, self.lam)[0])
        else:
            self.lam_ = check_penalty_value("lam", self.lam)
        lams = np.array([[self.lam_]])
        self.edf_ = float(edf(spectrum, lams)[0, 0])
        scores = {name: criterion_values(spectrum, lams, name)[0, 0] for name in CRITERIA}
        self.scores_ = {name: float(values[0]) if is_single else values for name, values in scores.items()}
        return self.lam_

    _onefit_penalty = "lam"

    def _onefit_tuned(self, X: FloatArray, weights: FloatArray | None) -> TunedLearner | None:
        """How the fast routes see this model if a criterion chooses its penalty."""
        if not isinstance(self.lam, str):
            return None
        return TunedLearner(self._onefit_smoother(X, weights, np.ones((1, 1))), check_choice("lam", self.lam, CRITERIA))

    def _onefit_smoother(self, X: FloatArray, weights: FloatArray | None, lams: FloatArray | None) -> Smoother:
        """How the fast routes see this model, or its path of penalties."""
        if lams is None:
            lams = np.array([[check_penalty_value("lam", self.lam)]])
        return DesignSmoother(X, check_penalty(self.penalty, X.shape[1]), bool(self.fit_intercept), lams, weights)
