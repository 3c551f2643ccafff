"""Functional principal component regression: signal regression on the leading components of the curves."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy import linalg

from ..checks import check_choice, copy_of
from ..errors import DataError
from ..learners import Learner, Path, Refusal, Task
from ..learners.components import ComponentsLearner, count_components
from ..linalg.columns import Penalty
from ..typing import ArrayLike, FloatArray, Rows
from ..vocabulary import CRITERIA, CriterionName
from .base import learner_of
from .fitting import Design
from .functional import Curves, Domain, FunctionalModel

__all__ = ["FPCR", "principal_components"]

COMPONENTS = ("fixed", "refit")


class FPCR(FunctionalModel):
    r"""Functional principal component regression: signal regression in the leading components of the curves.

    As `SignalRegression`, ``y = c + integral of x(t) omega(t) dt``, but omega is a combination of the ``n_components``
    functions along which the curves vary most.

    Parameters
    ----------
    n_basis : int, default=40
        Number M of cubic B-splines, at least 4; as many as X has columns if those are fewer.
    n_components : int or float, default=10
        Number of components; or, strictly between 0 and 1, a proportion of variance: the smallest number of components
        that reaches it. Where the curves vary in fewer directions, there are as many components as those.
    lam : float or {"reml", "gcv", "loo"}, default=1e-5
        Strength of the penalty, zero or larger; or the criterion by which `fit` chooses it: restricted maximum
        likelihood as in mgcv, generalized cross-validation, or leave-one-out.
    components : {"fixed", "refit"} or array of shape (M, n_components), default="fixed"
        What `nested_cv` does with the components. "fixed" takes those of all rows in every training set, as the paper
        does: fast, and the result says "given the transformers". "refit" computes them anew in every training set. An
        array holds loadings to use as they are. "fixed" and "refit" fit the same model.
    grid, quadrature, domain, fit_intercept
        As in `SignalRegression`.

    Attributes
    ----------
    coef_ : array of shape (n_components\_,) or (n_outputs, n_components\_)
        Coefficients of the components; `coefficient_function` has the values of omega.
    intercept_ : float or array of shape (n_outputs,)
    lam_, edf_, scale_, scores_, covariance_, lam_range_
        As in `PenalizedRegression`.
    components_ : array of shape (n_basis\_, n_components\_)
        Loadings of the components on the B-splines, orthonormal; the largest of each is positive.
    n_components_ : int
    explained_variance_ratio_ : array of shape (n_components\_,)
        Proportion of the variance of the curves (of D below) along each component.
    grid_, n_basis_
        As in `SignalRegression`.

    Notes
    -----
    In the symbols of `SignalRegression`, let :math:`D - 1\bar d' = U \Delta V'` be the singular value decomposition of
    the design, its columns centred; with weights their means are weighted and the rows are times the roots of the
    weights. With the first p columns :math:`V_p` of V the fit minimizes

    .. math::

        \|y - c - D V_p \zeta\|^2 + \lambda \zeta' V_p' S V_p \zeta, \quad \omega = \sum_m (V_p \zeta)_m b_m.

    Only the components are of the centred design. D itself is not centred: the constant c is a column of the fit, so
    that leaving rows out is exact. Without ``fit_intercept`` the components are the same.

    The band of the coefficient function takes omega to lie in the span of the components: what they leave out is not in
    it, so that with few components it is too narrow.

    The components depend on X alone, not on y. Holding them fixed in nested cross-validation leaves out what their own
    variation costs, which is little where the leading singular values are well apart.

    References
    ----------
    Cao and Stringer (2026), section 5. Reiss and Ogden (2007), Functional principal component regression and
    functional partial least squares, Journal of the American Statistical Association 102, 984-996.

    Examples
    --------
    >>> from onefit import FPCR
    >>> from onefit.datasets import make_signal
    >>> sim = make_signal(100, random_state=0)
    >>> model = FPCR(n_components=0.99, lam="reml").fit(sim.X, sim.y)
    >>> model.components_.shape == (40, model.n_components_)
    True
    >>> bool(model.explained_variance_ratio_.sum() >= 0.99)
    True
    >>> model.coefficient_function([0.25, 0.75]).shape
    (2,)
    """

    def __init__(
        self,
        n_basis: int = 40,
        n_components: float = 10,
        lam: float | CriterionName = 1e-5,
        components: Literal["fixed", "refit"] | ArrayLike = "fixed",
        grid: ArrayLike | None = None,
        quadrature: ArrayLike | None = None,
        domain: Domain = None,
        fit_intercept: bool = True,
    ) -> None:
        self.n_basis = n_basis
        self.n_components = n_components
        self.lam = lam
        self.components = components
        self.grid = grid
        self.quadrature = quadrature
        self.domain = domain
        self.fit_intercept = fit_intercept

    def fit(self, X: Rows, y: Rows, sample_weight: ArrayLike | None = None) -> FPCR:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            One curve a row.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the squared residuals, and of the rows in the components.

        Returns
        -------
        FPCR
            The fitted estimator itself.
        """
        X, y, weights = self._check_fit(X, y, sample_weight)
        curves = self._make_curves(X.shape[1])
        D = curves.design(X)
        V, ratio = self._components(D, weights)
        self._fit_design(self._design(curves, D, V), y, weights)
        self._keep_curves(curves)
        self.components_, self.explained_variance_ratio_, self.n_components_ = V, ratio, V.shape[1]
        return self

    def _components(self, D: FloatArray, weights: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        """Loadings (M, p) for a design, and the proportions of its variance (p,)."""
        if isinstance(self.components, str):
            check_choice("components", self.components, COMPONENTS)
            return principal_components(D, weights, self.n_components)
        V = _check_loadings(self.components, D.shape[1])
        centred = _centred(D, weights)
        lengths = np.square(centred @ V).sum(axis=0) / np.square(V).sum(axis=0)
        total = np.square(centred).sum()
        return V, lengths / (total if total > 0 else 1.0)

    def _design(self, curves: Curves, D: FloatArray, V: FloatArray) -> Design:
        return Design(D @ V, Penalty.of_root(curves.root @ V), bool(self.fit_intercept))

    def __onefit_learner__(self, task: Task, path: Path | None = None) -> Learner | Refusal:
        """How the routes see this model."""
        return learner_of(self, task, path)

    def _make_design(self, X: FloatArray, weights: FloatArray | None) -> Design:
        """Scores of the curves on their components."""
        curves = self._make_curves(X.shape[1])
        D = curves.design(X)
        return self._design(curves, D, self._components(D, weights)[0])

    def _freeze(self, X: FloatArray, weights: FloatArray | None) -> FPCR:
        """The same model with the components of these rows."""
        if not isinstance(self.components, str) or check_choice("components", self.components, COMPONENTS) == "refit":
            return self
        D = self._make_curves(X.shape[1]).design(X)
        frozen: FPCR = copy_of(self).set_params(components=self._components(D, weights)[0])
        return frozen

    def _make_learner(self, X: FloatArray, weights: FloatArray | None, lams: FloatArray | None) -> Learner:
        """With components of its own in every training set, if that is asked for."""
        if not isinstance(self.components, str) or self.components != "refit":
            return super()._make_learner(X, weights, lams)
        curves = self._make_curves(X.shape[1])
        is_tuned = lams is None and isinstance(self.lam, str)
        smoother = self._make_smoother(X, weights, np.ones((1, 1)) if is_tuned else lams)
        lam = check_choice("lam", self.lam, CRITERIA) if is_tuned else smoother.lams[:, 0]
        number = _check_number(self.n_components)
        return ComponentsLearner(smoother, curves.design(X), curves.root, number, lam, bool(self.fit_intercept))

    def _columns(self, X: FloatArray) -> FloatArray:
        return self._curves.design(X) @ self.components_

    def _functions(self, t: FloatArray) -> FloatArray:
        return super()._functions(t) @ self.components_


def principal_components(
    D: FloatArray, weights: FloatArray | None, n_components: object
) -> tuple[FloatArray, FloatArray]:
    """First right singular vectors (M, p) of the centred design, and the proportions of variance (p,)."""
    _, s, Vt = linalg.svd(_centred(D, weights), full_matrices=False)
    # what is tiny against the design before it was centred is rounding error
    size = linalg.norm(D if weights is None else np.sqrt(weights)[:, None] * D)
    s = np.where(s > max(D.shape) * np.finfo(float).eps * size, s, 0.0)
    p = int(count_components(s, _check_number(n_components), max(D.shape)))
    if p == 0:
        raise DataError(
            f"All curves are the same (n_samples = {len(D)}), so they have no components; use rows that differ."
        )
    V = Vt[:p].T
    largest = V[np.abs(V).argmax(axis=0), np.arange(p)]
    shares = np.square(s / s[0])  # of which the squares themselves may vanish
    return V * np.sign(largest), shares[:p] / shares.sum()


def _check_number(n_components: object) -> float:
    """A number of components, or a proportion below one."""
    if isinstance(n_components, int | np.integer) and not isinstance(n_components, bool) and n_components >= 1:
        return int(n_components)
    if isinstance(n_components, float | np.floating) and 0 < n_components < 1:
        return float(n_components)
    raise DataError(
        f"n_components={n_components!r} must be an integer of at least 1, or a proportion of variance strictly "
        "between 0 and 1."
    )


def _centred(D: FloatArray, weights: FloatArray | None) -> FloatArray:
    """The design without the (weighted) means of its columns, rows times the roots of their weights."""
    centred: FloatArray = D - np.average(D, axis=0, weights=weights)
    return centred if weights is None else np.sqrt(weights)[:, None] * centred


def _check_loadings(components: ArrayLike, M: int) -> FloatArray:
    """Loadings of components of one's own."""
    try:
        V = np.asarray(components, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError('components must be "fixed", "refit", or a matrix of loadings.') from error
    if V.ndim != 2 or V.shape[0] != M or V.shape[1] == 0:
        raise DataError(
            f"components has shape {V.shape}; it needs one row for each of the {M} B-splines and one column for each "
            'component. Use "fixed" to compute them.'
        )
    if not np.isfinite(V).all() or not V.any(axis=0).all():
        raise DataError("components holds NaN, infinite values, or a column of zeros; drop such columns.")
    return V
