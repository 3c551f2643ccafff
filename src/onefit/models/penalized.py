"""Least squares with a quadratic penalty."""

from __future__ import annotations

from ..learners import Learner, Path, Refusal, Task
from ..linalg.penalty import as_penalty, check_penalty
from ..typing import ArrayLike, FloatArray, Rows
from ..vocabulary import CriterionName
from .base import DesignModel, learner_of
from .fitting import Design

__all__ = ["PenalizedRegression"]


class PenalizedRegression(DesignModel):
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
    scale_ : float or array of shape (n_outputs,)
        Variance of the noise, ``RSS / (n - edf)``.
    covariance_ : array of shape (1 + n_features, 1 + n_features)
        Of the intercept, if there is one, and the coefficients, as `predict` uses it for standard deviations.
    scores_ : dict of float, or of array of shape (n_outputs,)
        The criteria "gcv", "loo" and "reml" at ``lam_``; infinite where they are not defined.
    lam_range_ : (float, float)
        The ends of the axis on which a criterion is minimized. If ``lam_`` is one of them, the criterion has no
        minimum inside: its best is no penalty, or an infinite one.

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

    def __init__(
        self, penalty: ArrayLike | None = None, lam: float | CriterionName = 1.0, fit_intercept: bool = True
    ) -> None:
        self.penalty = penalty
        self.lam = lam
        self.fit_intercept = fit_intercept

    def fit(self, X: Rows, y: Rows, sample_weight: ArrayLike | None = None) -> PenalizedRegression:
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
        X, y, weights = self._check_fit(X, y, sample_weight)
        self._fit_design(self._make_design(X, weights), y, weights)
        return self

    def __onefit_learner__(self, task: Task, path: Path | None = None) -> Learner | Refusal:
        """How the routes see this model."""
        return learner_of(self, task, path)

    @property
    def _is_ridge(self) -> bool:  # type: ignore[override]
        return self.penalty is None

    def _make_design(self, X: FloatArray, weights: FloatArray | None) -> Design:
        """X itself."""
        p = X.shape[1]
        return Design(X, as_penalty(check_penalty(self.penalty, p), p), bool(self.fit_intercept))

    def _columns(self, X: FloatArray) -> FloatArray:
        return X
