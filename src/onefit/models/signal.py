"""Signal regression: a number from a curve."""

from __future__ import annotations

from ..learners import Learner, Path, Refusal, Task
from ..linalg.columns import Penalty
from ..typing import ArrayLike, FloatArray, Rows
from ..vocabulary import CriterionName
from .base import learner_of
from .fitting import Design
from .functional import Curves, Domain, FunctionalModel

__all__ = ["SignalRegression"]


class SignalRegression(FunctionalModel):
    r"""Predict a number from a curve, ``y = c + integral of x(t) omega(t) dt``, with a smooth function omega.

    Each row of X holds the values of one curve at the same points ``t_1 < ... < t_N``.

    Parameters
    ----------
    n_basis : int, default=40
        Number M of cubic B-splines that make up omega, at least 4; as many as X has columns if those are fewer.
    lam : float or {"reml", "gcv", "loo"}, default=1e-5
        Strength of the penalty, zero or larger; or the criterion by which `fit` chooses it: restricted maximum
        likelihood as in mgcv, generalized cross-validation, or leave-one-out.
    grid : array of shape (n_features,), default=None
        The points, increasing. None is the paper's grid, ``t_j = j/N`` for j = 1 to N.
    quadrature : array of shape (n_features,), default=None
        Weights of the sum that stands for the integral. None is 1/N each without a ``grid``, and the trapezoidal rule
        with one.
    domain : (float, float), default=None
        Interval on which omega lives, with the grid inside. None is (0, 1) without a ``grid``, and its first and last
        point with one. A domain without a grid stretches the paper's grid to it.
    fit_intercept : bool, default=True
        Whether to fit the constant c, as an unpenalized column of ones.

    Attributes
    ----------
    coef_ : array of shape (n_basis\_,) or (n_outputs, n_basis\_)
        Coefficients of the B-splines; `coefficient_function` has the values of omega.
    intercept_ : float or array of shape (n_outputs,)
    lam_, edf_, scale_, scores_, covariance_, lam_range_
        As in `PenalizedRegression`.
    grid_ : array of shape (n_features,)
    n_basis_ : int
        The number of B-splines in use.

    Notes
    -----
    With quadrature weights w, splines :math:`b_m` on evenly spaced knots and :math:`\omega = \sum_m \beta_m b_m`,

    .. math::

        \int x_i(t) \omega(t) dt \approx \sum_j w_j x_i(t_j) \omega(t_j) = (D \beta)_i, \quad
        D_{im} = \sum_j w_j x_i(t_j) b_m(t_j),

    so that the fit minimizes :math:`\|y - c - D\beta\|^2 + \lambda \int \omega''(t)^2 dt`, whose last integral is the
    quadratic form :math:`\beta'S\beta` with :math:`S_{km} = \int b_k'' b_m''`, computed exactly. Straight lines are not
    penalized. The penalty is in units of the domain: a grid in other units needs no other ``lam``.

    Fewer than four columns carry splines of a lower degree: a constant, a straight line, or a parabola. Where the
    curves do not determine the straight line of omega, the smallest is taken, with a warning.

    D depends on no other rows, so `nested_cv` is exact on its fast routes without any condition.

    References
    ----------
    Cao and Stringer (2026), section 5. Reiss and Ogden (2007), Functional principal component regression and
    functional partial least squares, Journal of the American Statistical Association 102, 984-996.

    Examples
    --------
    >>> from onefit import SignalRegression
    >>> from onefit.datasets import make_signal
    >>> sim = make_signal(100, random_state=0)
    >>> model = SignalRegression(lam="reml").fit(sim.X, sim.y)
    >>> omega, std = model.coefficient_function([0.25, 0.75], return_std=True)
    >>> omega.shape, bool(omega[0] > omega[1])
    ((2,), True)
    >>> bool(sim.true_error(model) < 2 * sim.best_error)
    True
    """

    def __init__(
        self,
        n_basis: int = 40,
        lam: float | CriterionName = 1e-5,
        grid: ArrayLike | None = None,
        quadrature: ArrayLike | None = None,
        domain: Domain = None,
        fit_intercept: bool = True,
    ) -> None:
        self.n_basis = n_basis
        self.lam = lam
        self.grid = grid
        self.quadrature = quadrature
        self.domain = domain
        self.fit_intercept = fit_intercept

    def fit(self, X: Rows, y: Rows, sample_weight: ArrayLike | None = None) -> SignalRegression:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            One curve a row.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the squared residuals.

        Returns
        -------
        SignalRegression
            The fitted estimator itself.
        """
        X, y, weights = self._check_fit(X, y, sample_weight)
        curves = self._make_curves(X.shape[1])
        self._fit_design(self._design(curves, X), y, weights)
        self._keep_curves(curves)
        return self

    def _design(self, curves: Curves, X: FloatArray) -> Design:
        return Design(curves.design(X), Penalty.of_root(curves.root), bool(self.fit_intercept))

    def __onefit_learner__(self, task: Task, path: Path | None = None) -> Learner | Refusal:
        """How the routes see this model."""
        return learner_of(self, task, path)

    def _make_design(self, X: FloatArray, weights: FloatArray | None) -> Design:
        """Integrals of the curves times the splines."""
        return self._design(self._make_curves(X.shape[1]), X)

    def _columns(self, X: FloatArray) -> FloatArray:
        return self._curves.design(X)
