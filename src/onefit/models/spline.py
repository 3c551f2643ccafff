"""Penalized splines in every column, with one strength of penalty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from ..checks import copy_of
from ..errors import DataError
from ..learners import Learner, Path, Refusal, Task
from ..linalg.columns import Penalty
from ..typing import ArrayLike, FloatArray, Rows
from ..vocabulary import CriterionName
from .base import learner_of
from .basis import BasisName, SplineBasis
from .curves import SplineCurves
from .fitting import Design, check_lam
from .generalized import refuse_criterion
from .responses import FamilyName, Response
from .smooth import Smooth, joint_root, make_smooth, side_by_side

__all__ = ["SplineRegression"]

Knots: TypeAlias = Literal["refit"] | ArrayLike | Sequence[ArrayLike | SplineBasis | None] | None
"""Knots of the only column or of each; None places them once, "refit" in every training set."""


class SplineRegression(SplineCurves):
    r"""Minimize ``||y - c - f(x)||^2 + lam * roughness(f)`` over splines f; for several columns, over sums of them.

    With ``family`` the curve is the log odds of two classes, or the logarithm of the mean of counts or amounts, and the
    deviance takes the place of the squares.

    Parameters
    ----------
    n_basis : int, default=20
        Number of spline functions in each column, at least 3; fewer are used where a column has fewer distinct values.
    basis : {"cr", "ps", "bs", "tp"}, default="cr"
        - "cr": natural cubic splines with knots at quantiles, as mgcv's cubic regression splines;
        - "ps": cubic B-splines with evenly spaced knots; the penalty is the sum of squared second differences of
          neighbouring coefficients (P-splines);
        - "bs": cubic B-splines with knots at quantiles;
        - "tp": thin plate regression splines, mgcv's default: the part of the full smoothing spline that approximates
          it best, without a choice of knots (above 1,000 distinct values, of the smoothing spline in 1,000 quantiles).
    lam : float or {"reml", "gcv", "loo"}, default="reml"
        Strength of the penalty, zero or larger; or the criterion by which `fit` chooses it: restricted maximum
        likelihood as in mgcv, generalized cross-validation, or leave-one-out.
    knots : array, list of one array for each column, or "refit", default=None
        Knots, increasing, the ends among them. For "ps" evenly spaced; for "tp" the points on which the basis is built.
        They set the number of functions, except for "tp". None places them by the values in X; so does "refit", but
        `nested_cv` then does it anew in every training set, by refits.
    family : {"gaussian", "binomial", "poisson", "gamma"}, default="gaussian"
        How y is distributed, as in `AdditiveModel`; a criterion is then that of the working model. "binomial" makes
        this a classifier of two classes.

    Attributes
    ----------
    coef_ : array of shape (n_functions,) or (n_outputs, n_functions)
        Of all columns, one after the other; the functions of a column sum to zero over the rows.
    intercept_ : float or array of shape (n_outputs,)
    lam_, edf_, scale_, scores_, covariance_, lam_range_
        As in `PenalizedRegression`; with another ``family`` there is no ``lam_range_``, and the others are those of the
        working model, as in `AdditiveModel`.
    deviance_, null_deviance_, classes_
        As in `AdditiveModel`.
    smooths_ : list
        The functions of each column.
    knots_ : list of array
        The knots of each column.

    Notes
    -----
    With one column the roughness of "cr", "bs" and "tp" is the integral of the squared second derivative in the units
    of x, as in textbooks and in `scipy.interpolate.make_smoothing_spline`. With several, each column is first scaled
    so that its knots span the unit interval, so that one ``lam`` can serve all; `AdditiveModel` has one for each.

    Outside the knots every curve continues as a straight line, and `predict` warns. Two distinct values in a column
    give a straight line, one distinct value nothing.

    In `nested_cv` the knots are part of the model: they are placed once, on all rows, by the values of X and never by
    y, and the result says "given the transformers". Given ``knots`` are exact without any such condition, and
    ``knots="refit"`` shows how little it matters.

    References
    ----------
    Wood (2017), Generalized Additive Models, 2nd edition, chapter 5. Eilers and Marx (1996), Statistical Science 11.

    Examples
    --------
    >>> from onefit import SplineRegression
    >>> from onefit.datasets import load_motorcycle
    >>> X, y = load_motorcycle(return_X_y=True)
    >>> model = SplineRegression().fit(X, y)
    >>> round(model.edf_, 1)
    12.8
    >>> mean, std = model.predict([[20.0], [30.0]], return_std=True)
    """

    _minimum_norm = True

    def __init__(
        self,
        n_basis: int = 20,
        basis: BasisName = "cr",
        lam: float | CriterionName = "reml",
        knots: Knots = None,
        family: FamilyName = "gaussian",
    ) -> None:
        self.n_basis = n_basis
        self.basis = basis
        self.lam = lam
        self.knots = knots
        self.family = family

    def fit(self, X: Rows, y: Rows, sample_weight: ArrayLike | None = None) -> SplineRegression:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the squared residuals, or of the deviances of the rows. Rows without weight place no knots.

        Returns
        -------
        SplineRegression
            The fitted estimator itself.
        """
        response = self._response
        X, y, weights = self._check_fit(X, y, sample_weight)
        self.smooths_ = self._smooths(X, weights)
        if response is None:
            self._fit_design(self._design(self.smooths_, X), y, weights)
        else:
            self._fit_response(response, X, y, weights)
        self.knots_ = [np.zeros(0) if smooth.basis is None else smooth.basis.knots for smooth in self.smooths_]
        return self

    def _fit_response(self, response: Response, X: FloatArray, y: FloatArray, weights: FloatArray) -> None:
        """Fit classes, counts or amounts."""
        lam = check_lam(self.lam)
        if lam == "loo":
            raise DataError('lam="loo" is for family="gaussian"; use "gcv" or "reml".')
        columns, root = side_by_side(self.smooths_, X), joint_root(self.smooths_)
        lams, criterion = (np.array([np.nan]), lam) if isinstance(lam, str) else (np.array([lam]), "reml")
        found = self._fit_family(response, columns, y, weights, [root], lams, criterion)
        self.lam_ = float(found.choice.lams[0])
        del self.lam_range_  # that of a factor of this penalty

    def _smooths(self, X: FloatArray, weights: FloatArray | None) -> list[Smooth]:
        """The functions of each column, for these rows."""
        weights = np.ones(len(X)) if weights is None else weights
        seen, weights = X[weights > 0], weights[weights > 0]
        p = X.shape[1]
        if len(seen) == 1:
            raise DataError("A spline needs at least two rows; there is n_samples = 1.")
        knots = self._knots_by_column(p)
        names = self._names(p)
        smooths = [make_smooth(self.basis, seen[:, j], self.n_basis, knots[j], names[j], weights) for j in range(p)]
        if not any(smooth.size for smooth in smooths):
            raise DataError("Every column of X is constant; a spline needs at least two distinct values.")
        return smooths

    def _knots_by_column(self, p: int) -> list[FloatArray | SplineBasis | None]:
        if self.knots is None or self._places_anew():
            return [None] * p
        given: Any = self.knots
        is_list = isinstance(given, list | tuple) and any(
            each is None or isinstance(each, SplineBasis) or np.ndim(each) > 0 for each in given
        )
        knots = list(given) if is_list or np.ndim(given) == 2 else [given]
        if len(knots) != p:
            raise DataError(f"knots has {len(knots)} entries for {p} columns; give one array for each column.")
        return knots

    def _places_anew(self) -> bool:
        if isinstance(self.knots, str) and self.knots != "refit":
            raise DataError(f'knots={self.knots!r} is unknown; give arrays of knots, "refit" or None.')
        return isinstance(self.knots, str)

    def _obstacle(self) -> str:
        """Knots of its own in every training set make every design another one."""
        return "the knots are placed anew in every training set" if self._places_anew() else ""

    def _design(self, smooths: list[Smooth], X: FloatArray) -> Design:
        return Design(side_by_side(smooths, X), Penalty.of_root(joint_root(smooths)))

    def __onefit_learner__(self, task: Task, path: Path | None = None) -> Learner | Refusal:
        """How the routes see this model."""
        return learner_of(self, task, path)

    def _make_design(self, X: FloatArray, weights: FloatArray | None) -> Design:
        """The functions of all columns side by side."""
        return self._design(self._smooths(X, weights), X)

    def _given_design(
        self, X: FloatArray, weights: FloatArray | None, lams: FloatArray | None
    ) -> tuple[Design, FloatArray, str]:
        """The functions of all columns, and the penalty as it is given, or a path of it."""
        lam = check_lam(self.lam)
        if lams is None and isinstance(lam, str):
            refuse_criterion()
        strengths = np.array([lam], dtype=np.float64) if lams is None else lams[:, 0]
        return self._make_design(X, weights), strengths, ""

    def _columns(self, X: FloatArray) -> FloatArray:
        for j, (smooth, name) in enumerate(zip(self.smooths_, self._names(X.shape[1]), strict=True)):
            smooth.warn_outside(X[:, j], name)
        return side_by_side(self.smooths_, X)

    def _freeze(self, X: FloatArray, weights: FloatArray | None) -> SplineRegression:
        """The same model with its knots fixed."""
        if self.knots is not None:
            return self  # given, or to be placed anew
        frozen: SplineRegression = copy_of(self)
        # a constant column has no basis, and gets none again
        frozen.set_params(knots=[smooth.basis for smooth in self._smooths(X, weights)])
        return frozen
