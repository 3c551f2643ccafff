"""Pointwise losses, each with the scale on which its interval is built.

A loss sees the observed value and the held-out residual ``u = y - prediction``, not the prediction: squared and
absolute error then keep their accuracy when y is large and the residuals are small.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ..errors import DataError
from ..typing import AnyArray, ArrayLike, BoolArray, FloatArray, IntArray

__all__ = ["NAMED", "Classes", "KeptScores", "Loss", "LossFunction", "class_error", "huber", "nonnegative", "pinball"]


SAME = 1e-12
"""Scores of classes that differ by no more are equal: a refit that begins at zero leaves them so to the last bit."""


@dataclass(frozen=True)
class Classes:
    """Class labels, coded as RidgeClassifier codes them: -1 and 1, with a column a class if there are more than two."""

    labels: AnyArray

    def encode(self, index: IntArray) -> FloatArray:
        """Codes (..., Q) of class numbers."""
        if len(self.labels) == 2:
            return 2.0 * np.asarray(index, dtype=np.float64)[..., None] - 1.0
        return np.where(np.asarray(index)[..., None] == np.arange(len(self.labels)), 1.0, -1.0)

    def decide(self, scores: FloatArray) -> IntArray:
        """Class numbers of scores (..., Q); of those that are equal up to rounding errors, the first one."""
        if len(self.labels) == 2:
            return (scores[..., 0] > SAME).astype(np.intp)
        is_best: BoolArray = scores >= scores.max(axis=-1, keepdims=True) - SAME
        return np.asarray(is_best.argmax(axis=-1))


LossFunction: TypeAlias = Callable[[AnyArray, AnyArray], ArrayLike]
"""Of two arrays, one number for each entry."""


@dataclass(frozen=True)
class Loss:
    """A pointwise loss.

    Attributes
    ----------
    name : str
    scale : str
        "log" for losses that cannot be negative, "logit" for those of zeros and ones, "identity" otherwise.
    function : callable
        Of the observed value and the residual, elementwise.
    classes : Classes or None
        If the predictions are classes: the residuals are then those of the coded scores.
    """

    name: str
    scale: str
    function: Callable[[AnyArray, AnyArray], AnyArray]
    classes: Classes | None = None

    @property
    def is_squared(self) -> bool:
        """Whether it is the squared residual, which the compiled kernels know."""
        return self.function is _square and self.classes is None

    @property
    def is_squared_error(self) -> bool:
        """Whether it is the squared error of numbers, whatever the residuals are of."""
        return self.name == "squared_error"

    @property
    def is_absolute(self) -> bool:
        """Whether it is the absolute residual, which some of the compiled kernels know."""
        return self.function is _absolute and self.classes is None

    def of(self, y: FloatArray, u: FloatArray) -> FloatArray:
        """Losses (..., outputs) of residuals ``u`` (..., outputs); one output if the predictions are classes."""
        if self.classes is None:
            losses = self.function(y, u)
        else:
            observed, predicted = self.classes.decide(y), self.classes.decide(y - u)
            losses = self.function(observed, predicted)[..., None]
        return np.asarray(losses, dtype=np.float64)

    def decided_residuals(self, y: FloatArray, u: FloatArray) -> FloatArray:
        """Residuals of the predictions that are made: of the class decided on rather than its scores."""
        return u if self.classes is None else y - self.classes.encode(self.classes.decide(y - u))

    is_of_predictions = False
    """Whether it gets minus the predictions in the place of residuals."""

    def of_predictions(self) -> Loss:
        """The same loss of minus the predictions, if it minds the digits of small ones; else itself."""
        if not hasattr(self.function, "of_predicted"):
            return self
        return PredictedLoss(self.name, self.scale, self.function)

    def n_losses(self, n_outputs: int) -> int:
        """Number of losses a row."""
        return n_outputs if self.classes is None else 1

    minds_folds = False
    """Whether it differs between repeats and folds."""

    def among(self, repeat: int, folds: IntArray) -> Loss:
        """The same for rows of a repeat that are in these folds (b,), if it minds them."""
        return self

    @property
    def keeps_scores(self) -> bool:
        """Whether the tables of pairs of folds hold the residuals themselves, in place of means of losses."""
        return False

    def n_moments(self, n_outputs: int) -> int:
        """Numbers that the tables of pairs of folds hold for each."""
        return self.n_losses(n_outputs)

    def kept(self, y: FloatArray, u: FloatArray) -> FloatArray:
        """What is kept of the residuals (..., m, outputs) of a fold, in a row, (..., n_moments)."""
        raise NotImplementedError


@dataclass(frozen=True)
class PredictedLoss(Loss):
    """A loss of numbers that gets minus the predictions where others get residuals.

    A residual has no digits of a prediction that is tiny beside what was observed, and whose logarithm matters.
    """

    is_of_predictions = True

    def of(self, y: FloatArray, u: FloatArray) -> FloatArray:
        """Losses (..., outputs) of minus the predictions."""
        return np.asarray(self.function.of_predicted(y, -u), dtype=np.float64)  # type: ignore[attr-defined]

    def decided_residuals(self, y: FloatArray, u: FloatArray) -> FloatArray:
        """Residuals of the predictions."""
        return y + u


@dataclass(frozen=True)
class KeptScores(Loss):
    """No loss, but the residuals of the scores themselves: for metrics that are computed from tables of them.

    Folds are padded with zeros to ``width`` rows.
    """

    width: int = 0

    @classmethod
    def of_classes(cls, classes: ArrayLike | None, width: int = 0) -> KeptScores:
        """For classes, or for numbers if there are none."""
        coded = None if classes is None else Classes(np.asarray(classes))
        return cls("scores", "identity", _nothing, coded, width)

    @property
    def keeps_scores(self) -> bool:
        """That is what it is for."""
        return True

    def of(self, y: FloatArray, u: FloatArray) -> FloatArray:
        """Zeros, as the losses are not known yet."""
        return np.zeros((*u.shape[:-1], self.n_losses(u.shape[-1])))

    def n_moments(self, n_outputs: int) -> int:
        """A number for each row of a fold and output."""
        return self.width * n_outputs

    def kept(self, y: FloatArray, u: FloatArray) -> FloatArray:
        """The residuals, one row of a fold after the other."""
        return self.in_a_row(u)

    def in_a_row(self, u: FloatArray) -> FloatArray:
        """Numbers (..., m, outputs), padded."""
        *before, m, n_outputs = u.shape
        if m == self.width:
            return np.ascontiguousarray(u).reshape(*before, -1)
        padded = np.zeros((*before, self.width, n_outputs))
        padded[..., :m, :] = u
        return padded.reshape(*before, -1)


def _nothing(y: AnyArray, u: AnyArray) -> AnyArray:
    return np.zeros_like(u)


def _square(y: FloatArray, u: FloatArray) -> FloatArray:
    return np.square(u)


def _absolute(y: FloatArray, u: FloatArray) -> FloatArray:
    return np.abs(u)


def _differs(y: FloatArray, u: FloatArray) -> BoolArray:
    differs: BoolArray = u != 0
    return differs


def _class_differs(observed: IntArray, predicted: IntArray) -> BoolArray:
    differs: BoolArray = observed != predicted
    return differs


def _is_number(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


@dataclass(frozen=True)
class _Huber:
    delta: float

    def __call__(self, y: FloatArray, u: FloatArray) -> FloatArray:
        size = np.abs(u)
        return np.where(size <= self.delta, np.square(u) / 2, self.delta * (size - self.delta / 2))


@dataclass(frozen=True)
class _Pinball:
    quantile: float

    def __call__(self, y: FloatArray, u: FloatArray) -> FloatArray:
        losses: FloatArray = np.maximum(self.quantile * u, (self.quantile - 1) * u)
        return losses


@dataclass(frozen=True)
class _Nonnegative:
    """A user's loss that is never negative."""

    function: LossFunction
    nonnegative = True

    @property
    def __name__(self) -> str:
        return str(getattr(self.function, "__name__", "loss"))

    def __call__(self, y: AnyArray, prediction: AnyArray) -> ArrayLike:
        return self.function(y, prediction)


def huber(delta: float = 1.35) -> Loss:
    """Huber's loss: ``u^2/2`` up to ``delta``, in the units of y, and linear beyond.

    Examples
    --------
    >>> import numpy as np
    >>> from onefit.losses import huber
    >>> huber(delta=1.0).of(np.zeros(2), np.array([0.5, 3.0])).tolist()
    [0.125, 2.5]
    """
    if not (_is_number(delta) and 0 < delta < np.inf):
        raise DataError(f"delta={delta!r} must be a positive number, in the units of y.")

    return Loss("huber", "log", _Huber(float(delta)))


def pinball(quantile: float = 0.5) -> Loss:
    """Quantile loss: ``quantile * u`` above the prediction, ``(quantile - 1) * u`` below.

    Examples
    --------
    >>> import numpy as np
    >>> from onefit.losses import pinball
    >>> pinball(0.9).of(np.zeros(2), np.array([1.0, -1.0])).round(12).tolist()
    [0.9, 0.1]
    """
    if not (_is_number(quantile) and 0 < quantile < 1):
        raise DataError(f"quantile={quantile!r} must lie strictly between 0 and 1.")
    return Loss("pinball", "log", _Pinball(float(quantile)))


def nonnegative(function: LossFunction) -> LossFunction:
    """Declare that a loss ``function(y, prediction)`` is never negative, so that its interval is on the log scale.

    Examples
    --------
    >>> from onefit.losses import nonnegative
    >>> loss = nonnegative(lambda y, prediction: abs(y - prediction) ** 1.5)
    """
    return _Nonnegative(function)


def class_error(classes: Classes) -> Loss:
    """Zero-one loss of predictions that are classes."""
    return Loss("zero_one", "logit", _class_differs, classes)


NAMED: dict[str, Callable[[], Loss]] = {
    "squared_error": lambda: Loss("squared_error", "log", _square),
    "absolute_error": lambda: Loss("absolute_error", "log", _absolute),
    "huber": huber,
    "pinball": pinball,
    "zero_one": lambda: Loss("zero_one", "logit", _differs),
}
