"""What a fitted sum of terms can be asked: the effect of each, with its interval, as a table, a picture or a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

from ..checks import check_integer, check_level
from ..display import TermPanel, plot_terms
from ..typing import FloatArray, Rows
from .generalized import GeneralizedModel
from .parts import Part, Values
from .summary import FitFacts, additive_summary
from .table import ColumnTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from ..display import AxesArray

__all__ = ["TermEffects"]


class TermEffects(GeneralizedModel):
    """A fitted model whose columns belong to terms, one after the other."""

    _parts: list[Part]
    _facts: FitFacts
    edf_by_term_: dict[str, float]
    lam_at_end_: list[str]
    lam_: FloatArray

    def effects(self, X: Rows | None = None, confidence_level: float = 0.95) -> pd.DataFrame:
        """Effects of the terms, with intervals.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features), default=None
            Where to evaluate the terms: the effects in a row of X and the intercept sum to its prediction. None is
            100 points over the range of each column, and the levels of factors.
        confidence_level : float, default=0.95

        Returns
        -------
        pandas.DataFrame
            Columns "term", "x", "effect", "low" and "high", and "output" after "term" if y has several columns.

        Notes
        -----
        Intervals are ``effect +- z std`` with the Bayesian standard deviation, which takes ``lam_`` as known. They hold
        point by point: they cover the true function at about the stated share of the points, averaged over the column
        (Nychka 1988; Marra and Wood 2012). Terms are centred, so their intervals leave out what is not known of the
        intercept: a straight line has none at the mean of its column, nor a factor at its first level. Of all families
        but "gaussian" effects are on the scale of the link: log odds, or logarithms of means.
        """
        check_is_fitted(self)
        table = None if X is None else ColumnTable.of(self._check_new(X))
        z = float(ndtri((1.0 + check_level(confidence_level)) / 2))
        frames = []
        for t, part in enumerate(self._parts):
            values = part.grid if table is None else part.read(table)
            if table is not None:
                part.warn_outside(values, stacklevel=3)
            effect, half = self._effect(t, values, z)
            for q in range(effect.shape[1]):
                ends = {"low": effect[:, q] - half[:, q], "high": effect[:, q] + half[:, q]}
                frame = {"term": part.name, "output": q, "x": values, "effect": effect[:, q], **ends}
                frames.append(pd.DataFrame(frame))
        found = pd.concat(frames, ignore_index=True)
        return found.drop(columns="output") if self.coef_.ndim == 1 else found

    def _effect(self, t: int, values: Values, z: float) -> tuple[FloatArray, FloatArray]:
        """Values (m, Q) of a term, and half of the length of their intervals."""
        own = self._parts[t].at(values)
        first = 1 + sum(part.size for part in self._parts[:t])
        C = np.zeros((len(own), 1 + self.coef_.shape[-1]))
        C[:, first : first + own.shape[1]] = own
        effect, std = self._combine(C, True)
        assert std is not None
        return effect.reshape(len(own), -1), z * std.reshape(len(own), -1)

    def plot_terms(
        self, axes: Sequence[Axes] | AxesArray | None = None, confidence_level: float = 0.95, output: int = 0
    ) -> AxesArray:
        """Plot the effect of each term with its pointwise band; see `effects`.

        Parameters
        ----------
        axes : sequence of matplotlib.axes.Axes, default=None
            Where to draw, one for each term; a new figure by default.
        confidence_level : float, default=0.95
        output : int, default=0
            Which column of y.

        Returns
        -------
        array of matplotlib.axes.Axes
        """
        check_is_fitted(self)
        z = float(ndtri((1.0 + check_level(confidence_level)) / 2))
        q = check_integer("output", output, 0, len(np.atleast_2d(self.coef_)) - 1)
        panels = []
        for t, part in enumerate(self._parts):
            effect, half = (each[:, q] for each in self._effect(t, part.grid, z))
            label = part.label(self.edf_by_term_[part.name])
            panels.append(TermPanel(part.grid, effect, effect - half, effect + half, part.column, label, part.rug))
        return plot_terms(panels, axes=axes)

    def summary(self) -> str:
        """Return the terms and how well they fit together, as text.

        A line for each term with its degrees of freedom, its penalty ("most" or "least" as in ``lam_at_end_``) and the
        range or levels of its column. Then ``scale_``; the criterion that chose the penalties, or GCV if they were
        given (of families with a known scale UBRE); the share of the weighted squares about the mean of y, or of the
        deviance, that the model explains; and for least squares R2 adjusted for the degrees of freedom,
        ``1 - scale_ / variance of y``. There are no p-values: how well the model predicts is for
        `nested_cv` to say, and whether it is better with a term, for `compare`.

        Examples
        --------
        >>> from onefit import AdditiveModel
        >>> from onefit.datasets import load_motorcycle
        >>> print(AdditiveModel(n_basis=20).fit(*load_motorcycle(return_X_y=True)).summary())
        term     edf       lam  over
        s(x0)  11.78  5.82e-05  2.4 to 57.6
        133 rows, 12.78 degrees of freedom, the intercept among them
        scale 509, REML 616.01, deviance explained 80.1%, adjusted R2 0.782
        """
        check_is_fitted(self)
        name = self.lam if isinstance(self.lam, str) else "gcv"
        edf, scale, score = self.edf_by_term_.values(), np.atleast_1d(self.scale_), np.atleast_1d(self.scores_[name])
        response = self._response
        if response is not None and response.has_known_scale and name == "gcv":
            name = "ubre"
        about = (self._facts, self.edf_, scale, (name.upper(), score))
        return additive_summary(self._parts, list(edf), list(self.lam_), self.lam_at_end_, *about)
