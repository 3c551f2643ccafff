"""What a fitted spline regression shows: the curve of each column, with its band."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ..checks import check_integer, check_level
from ..display import plot_function
from ..display.style import given_axes, new_axes
from ..errors import DataError
from ..typing import ArrayLike, FloatArray, Rows
from .generalized import GeneralizedModel
from .smooth import Smooth, side_by_side

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..display import AxesArray

__all__ = ["SplineCurves"]

PLOT_POINTS = 200
PANEL_SIZE = (4.5, 3.5)


class SplineCurves(GeneralizedModel):
    """A fitted model whose columns are functions of those of X, one after the other."""

    smooths_: list[Smooth]

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
            eta = self._combine(np.hstack([np.ones((len(X), 1)), side_by_side(self.smooths_, X)]), False)[0]
            return X, self._response.working(eta, self._coded(y))[0] - eta
        observed = np.asarray(y, dtype=np.float64).reshape(len(X), -1)
        if observed.shape[1] != len(np.atleast_2d(self.coef_)):
            raise DataError(f"y has {observed.shape[1]} column(s), and the model was fitted to another number of them.")
        fitted = self._combine(np.hstack([np.ones((len(X), 1)), side_by_side(self.smooths_, X)]), False)[0]
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

    def _names(self, p: int) -> list[str]:
        return [str(name) for name in getattr(self, "feature_names_in_", [f"column {j}" for j in range(p)])]
