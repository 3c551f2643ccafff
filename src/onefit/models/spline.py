"""Penalized splines in every column, with one strength of penalty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from scipy import linalg
from scipy.special import ndtri
from sklearn.base import clone
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ..checks import check_integer, check_level
from ..display import plot_function
from ..display.style import given_axes, new_axes
from ..errors import DataError
from ..learners import Learner, Path, Refusal, Task
from ..linalg.columns import Penalty
from ..typing import ArrayLike, FloatArray, Rows
from ..vocabulary import CriterionName
from .base import learner_of
from .basis import BasisName, SplineBasis
from .fitting import Design, check_lam
from .generalized import GeneralizedModel, refuse_criterion
from .responses import FamilyName, Response
from .smooth import Smooth, make_smooth

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..display import AxesArray

__all__ = ["SplineRegression"]

Knots: TypeAlias = Literal["refit"] | ArrayLike | Sequence[ArrayLike | SplineBasis | None] | None
"""Knots of the only column or of each; None places them once, "refit" in every training set."""

PLOT_POINTS = 200
PANEL_SIZE = (4.5, 3.5)


class SplineRegression(GeneralizedModel):
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
        columns, root = _side_by_side(self.smooths_, X), _root(self.smooths_)
        lams, criterion = (np.array([np.nan]), lam) if isinstance(lam, str) else (np.array([lam]), "reml")
        found = self._fit_family(response, columns, y, weights, [root], lams, criterion)
        self.lam_ = float(found.choice.lams[0])
        del self.lam_range_  # that of a factor of this penalty

    def plot(
        self,
        ax: Axes | Sequence[Axes] | AxesArray | None = None,
        X: Rows | None = None,
        y: ArrayLike | None = None,
        confidence_level: float = 0.95,
        output: int = 0,
    ) -> Axes | AxesArray:
        """Plot the curve with its pointwise band, between its outer knots.

        The band is ``mean +- z std`` with the standard deviation of `predict`. With several columns there is a panel
        for each that is not constant, with its part of the sum: it is centred, and its band leaves out the intercept.
        Of another ``family`` the only column's curve is that of the mean, or of the probability of the second class;
        parts of several columns are on the scale of the link, with working residuals as points.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Where to draw; a new figure by default. With several columns, a sequence with one for each panel.
        X, y : array-like, default=None
            Data to show as points; with several columns, less the parts of the other columns and the intercept.
        confidence_level : float, default=0.95
        output : int, default=0
            Which column of y.

        Returns
        -------
        matplotlib.axes.Axes, or an array of them if there are several columns

        Examples
        --------
        >>> from onefit import SplineRegression
        >>> from onefit.datasets import load_motorcycle
        >>> X, y = load_motorcycle(return_X_y=True)
        >>> ax = SplineRegression().fit(X, y).plot(X=X, y=y)
        >>> ax.get_ylabel()
        'y'
        """
        check_is_fitted(self)
        z = float(ndtri((1.0 + check_level(confidence_level)) / 2))
        q = check_integer("output", output, 0, len(np.atleast_2d(self.coef_)) - 1)
        names, is_one = self._names(len(self.smooths_)), len(self.smooths_) == 1
        shown = [j for j, smooth in enumerate(self.smooths_) if smooth.basis is not None]
        data = self._points(X, y, q)
        width, height = (7.0, 4.0) if is_one else PANEL_SIZE
        labels = tuple(self._label() if is_one else f"part of {names[j]}" for j in shown)
        axes = new_axes(1, len(shown), (width * len(shown), height)) if ax is None else given_axes(ax, labels)
        for j, label, panel in zip(shown, labels, axes, strict=True):
            basis = self.smooths_[j].basis
            assert basis is not None
            at = np.linspace(basis.low, basis.high, PLOT_POINTS)
            mean, std = (each[:, q] for each in self._part(j, at))
            points = None if data is None else (data[0][:, j], data[1] + self._part(j, data[0][:, j])[0][:, q])
            curves = [mean, mean - z * std, mean + z * std]
            if is_one and self._response is not None:
                curves = [self._response.mean(each) for each in curves]
                points = None if data is None else (data[0][:, j], self._observed(y))
            plot_function(
                at, curves[0], curves[1], curves[2], points=points, zero=False, ax=panel, xlabel=names[j], ylabel=label
            )
        return axes[0] if is_one else axes

    def _points(self, X: Rows | None, y: ArrayLike | None, output: int) -> tuple[FloatArray, FloatArray] | None:
        """X and the residuals (n,) of the data to show."""
        if X is None and y is None:
            return None
        if X is None or y is None:
            raise DataError("plot shows points if it is given both X and y; give the other one, too, or neither.")
        check_consistent_length(X, y)
        X = self._check_new(X)
        if self._response is not None:
            eta = self._combine(np.hstack([np.ones((len(X), 1)), _side_by_side(self.smooths_, X)]), False)[0]
            return X, self._response.working(eta, self._coded(y))[0] - eta
        observed = np.asarray(y, dtype=np.float64).reshape(len(X), -1)
        if observed.shape[1] != len(np.atleast_2d(self.coef_)):
            raise DataError(f"y has {observed.shape[1]} column(s), and the model was fitted to another number of them.")
        fitted = self._combine(np.hstack([np.ones((len(X), 1)), _side_by_side(self.smooths_, X)]), False)[0]
        return X, observed[:, output] - fitted.reshape(len(X), -1)[:, output]

    def _coded(self, y: ArrayLike) -> FloatArray:
        """Y as the loss codes it."""
        if self.family != "binomial":
            return np.asarray(y, dtype=np.float64)
        unknown = ~np.isin(y, self.classes_)
        if unknown.any():
            raise DataError(f"y holds {np.asarray(y)[unknown][0]!r}, which is none of the classes {self.classes_}.")
        return np.where(np.asarray(y) == self.classes_[1], 1.0, -1.0)

    def _observed(self, y: ArrayLike | None) -> FloatArray:
        """Y on the scale of means: classes are zero and one."""
        assert y is not None
        coded = self._coded(y)
        return (coded + 1.0) / 2.0 if self.family == "binomial" else coded

    def _label(self) -> str:
        """What the curve of the only column shows."""
        return f"probability of {self.classes_[1]}" if self.family == "binomial" else "y"

    def _part(self, j: int, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The function of a column, (m, Q), and its standard deviation; the only one with the intercept."""
        own = self.smooths_[j](x)
        C = np.zeros((len(x), 1 + self.coef_.shape[-1]))
        C[:, 0] = len(self.smooths_) == 1
        first = 1 + sum(smooth.size for smooth in self.smooths_[:j])
        C[:, first : first + own.shape[1]] = own
        mean, std = self._combine(C, True)
        assert std is not None
        return mean.reshape(len(x), -1), std.reshape(len(x), -1)

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

    def _names(self, p: int) -> list[str]:
        return [str(name) for name in getattr(self, "feature_names_in_", [f"column {j}" for j in range(p)])]

    def _design(self, smooths: list[Smooth], X: FloatArray) -> Design:
        return Design(_side_by_side(smooths, X), Penalty.of_root(_root(smooths)))

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
        return _side_by_side(self.smooths_, X)

    def _freeze(self, X: FloatArray, weights: FloatArray | None) -> SplineRegression:
        """The same model with its knots fixed."""
        if self.knots is not None:
            return self  # given, or to be placed anew
        frozen: SplineRegression = clone(self)
        # a constant column has no basis, and gets none again
        frozen.set_params(knots=[smooth.basis for smooth in self._smooths(X, weights)])
        return frozen


def _root(smooths: list[Smooth]) -> FloatArray:
    """Root of the penalty on all functions."""
    # with several columns their units must not decide how the one penalty is shared
    roots = [smooth.root if len(smooths) == 1 else smooth.unit_root for smooth in smooths]
    found: FloatArray = linalg.block_diag(*roots)
    return found


def _side_by_side(smooths: list[Smooth], X: FloatArray) -> FloatArray:
    return np.hstack([smooth(X[:, j]) for j, smooth in enumerate(smooths)])
