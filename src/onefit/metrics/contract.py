"""What a metric is: a figure of held-out responses, and what each row and each second fold contributes to it.

Metrics are computed in the orientation of a loss, smaller is better; ``origin + sign * loss`` is the figure that people
know (accuracy is one minus the error rate, ``neg_log_loss`` minus the log loss). A family of metrics is one file:

- `means`: means of row losses;
- `functions`: functions of such means, by the delta method;
- `ranks`: the order of scores within folds;
- `pooled`: whatever makes sense on the pooled held-out predictions of a repeat, by a jackknife.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..typing import AnyArray, FloatArray, IntArray

__all__ = ["Metric", "Reduced", "Repeat", "Shown"]


@dataclass(frozen=True)
class Repeat:
    """Held-out responses of one repeat, of K folds, V parameter values and Q outputs.

    Attributes
    ----------
    observed : array
        Class numbers (n,), or values (n, Q).
    labels : array or None
        The classes, in the order of their numbers; None for regression.
    weights : array (n,) or None
        Relative to their mean over all rows.
    rows : sequence of K arrays
        The rows of each fold, (m_j,), in rising order.
    responses : mapping
        By kind, K arrays (K, m_j, V, ...): entry ``[j][k]`` is fold j's response when folds j and k are out, and
        ``[j][j]`` when j alone is. Kinds are "residual" (..., Q) for regression, and for classifiers "predict" (...),
        class numbers, "predict_proba" (..., C) and "decision_function" (..., Q), with Q = 1 for two classes. Where
        standard deviations are asked for, "predictive" (..., Q, 2) has residuals and these.
    number : int
        Number of this repeat among all, for messages.
    groups : array (n,) or None
        Numbers of groups whose rows belong together.
    has_blocks : bool
        Whether the folds are blocks of rows that follow one another, so that they cannot be stratified.
    """

    observed: AnyArray
    labels: AnyArray | None
    weights: FloatArray | None
    rows: Sequence[IntArray]
    responses: Mapping[str, Sequence[AnyArray]]
    number: int = 0
    groups: IntArray | None = None
    has_blocks: bool = False

    @property
    def n_folds(self) -> int:
        """Number of folds K."""
        return len(self.rows)

    @property
    def n(self) -> int:
        """All rows, those that are never scored too."""
        return len(self.observed)

    @property
    def n_values(self) -> int:
        """Number of parameter values V."""
        return int(next(iter(self.responses.values()))[0].shape[2])

    @property
    def shares(self) -> FloatArray:
        """Rows of each fold over all scored rows, (K,)."""
        sizes = np.array([len(rows) for rows in self.rows], dtype=float)
        shares: FloatArray = sizes / sizes.sum()
        return shares

    def weights_of(self, fold: int) -> FloatArray:
        """Relative weights of a fold's rows."""
        rows = self.rows[fold]
        return np.ones(len(rows)) if self.weights is None else self.weights[rows]


@dataclass(frozen=True)
class Reduced:
    """One metric on one repeat, in the orientation of a loss, of R outputs.

    Attributes
    ----------
    fold_values : (K, V, R)
        The metric on each fold by itself, with that fold out: what scikit-learn's scorer says of it.
    influence : (n, V, R)
        Row values whose weighted mean is the metric of the repeat, and the variance of whose mean is its sampling
        variance; for means of row losses the losses themselves. NaN for rows that are not scored.
    change : (K, K, V, R)
        ``[j, k]``: by how much fold j's contribution falls when fold k joins its training set, per share of its rows:
        ``(n / n_j) (theta - theta with fold j's predictions replaced by those without j and k)``, or its linear part.
        Zero for j = k.
    noise : (V, V, R) or None
        Variance that the values ``influence`` have in excess because they were compared within folds, and its
        covariance between values of the parameter; None if there is none.
    moments : (2, V, R) or None
        The least variance of the mean of ``influence``, and its skewness, where the rows themselves may show none.
    scatter : (K, K, V, R) or None
        Of means of row losses: the sum of squares of the weighted losses of fold j with j and k out, about their mean,
        which some rules read.
    """

    fold_values: FloatArray
    influence: FloatArray
    change: FloatArray
    noise: FloatArray | None = None
    moments: FloatArray | None = None
    scatter: FloatArray | None = None


@dataclass(frozen=True)
class Shown:
    """From the orientation of a loss to the figure that people know: ``origin + sign * loss``."""

    sign: int = 1
    origin: float = 0.0

    @property
    def greater_is_better(self) -> bool:
        """Whether the figure grows as the loss falls."""
        return self.sign < 0

    def of(self, loss: FloatArray) -> FloatArray:
        """The figure of a loss."""
        return self.origin + self.sign * loss

    def loss_of(self, figure: FloatArray | float) -> FloatArray | float:
        """The loss of a figure."""
        return self.sign * (figure - self.origin)


class Metric(ABC):
    """A figure of held-out responses.

    Attributes
    ----------
    name : str
        As the user wrote it.
    response : str
        What it needs of a classifier: "predict", "predict_proba", "decision_function", or "scores" for whichever of the
        last two there is, the decision first. Of a regressor it is the residual whatever stands here, unless that is
        "predictive": the residual with the standard deviation of an observation.
    scale : str
        On which the interval of the loss is built: "log" if it cannot be negative, "logit" if it lies in [0, 1],
        "identity" otherwise.
    shown : Shown
    family : str
        "mean", "function", "rank" or "pooled".
    """

    name: str
    response: str
    scale: str
    shown: Shown
    family: str
    is_extra: bool = False
    """Whether it comes beside those that were asked for, and is not listed among them."""

    @abstractmethod
    def n_figures(self, n_outputs: int) -> int:
        """Figures R of a target of so many columns: as many for regression, one for classes."""

    @abstractmethod
    def reduce(self, repeat: Repeat) -> Reduced:
        """Everything that an interval needs of one repeat."""
