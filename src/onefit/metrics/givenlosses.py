"""The loss that is asked for: by its name, as it is, or from a function of (y, prediction)."""

from __future__ import annotations

import inspect
import reprlib
from typing import TypeAlias

import numpy as np

from ..errors import DataError, OneFitError
from ..typing import AnyArray, ArrayLike, FloatArray, IntArray
from ..vocabulary import LossName
from .losses import NAMED, Classes, Loss, LossFunction, class_error, huber, pinball

__all__ = ["LossLike", "find_loss", "takes_two"]

LossLike: TypeAlias = LossName | Loss | LossFunction | None
"""What a loss may be given as: its name, the loss itself, a function of (y, prediction), or None for the usual one."""


def find_loss(loss: object, classes: ArrayLike | None = None) -> Loss:
    """Return the loss by its name or from a callable; by default zero-one for classes, else squared error."""
    if loss is None:
        loss = "squared_error" if classes is None else "zero_one"
    if loss is huber or loss is pinball:
        raise DataError(f"loss={loss.__name__} makes a loss: call it, as in {loss.__name__}(), or give its name.")
    if isinstance(loss, Loss) and classes is None:
        return loss
    if isinstance(loss, Loss):
        loss = loss.name
    if callable(loss):
        if not takes_two(loss):
            raise DataError(
                f"loss={reprlib.repr(loss)} cannot be called with (y, prediction); give a function that returns one "
                "loss for each row."
            )
        return _from_callable(loss, None if classes is None else Classes(np.asarray(classes)))
    if not isinstance(loss, str) or loss not in NAMED:
        raise DataError(
            f"loss={reprlib.repr(loss)} is unknown; choose one of {', '.join(map(repr, NAMED))}, or a function of "
            "(y, prediction)."
        )
    if classes is None:
        return NAMED[loss]()
    if loss != "zero_one":
        raise DataError(
            f'loss="{loss}" compares numbers, and the estimator predicts classes; use "zero_one", or a function of '
            "(observed class, predicted class)."
        )
    return class_error(Classes(np.asarray(classes)))


def takes_two(function: object) -> bool:
    """Whether something is a function of two arguments; a class makes an object, whatever it takes."""
    if not callable(function) or isinstance(function, type):
        return False
    try:
        inspect.signature(function).bind(None, None)
    except TypeError:
        return False
    except ValueError:
        return True  # built in, and does not tell
    return True


def _from_callable(function: LossFunction, classes: Classes | None) -> Loss:
    """A user's loss of (y, prediction); its interval is on the plain scale unless it is declared non-negative."""
    declared = bool(getattr(function, "nonnegative", False))
    name = getattr(function, "__name__", type(function).__name__)

    def compute(observed: AnyArray, predicted: AnyArray) -> FloatArray:
        try:
            losses = np.asarray(function(observed, predicted), dtype=np.float64)
        except OneFitError:
            raise
        except Exception as error:
            raise DataError(
                f"The loss {name} failed: {type(error).__name__}: {error}. It is called with arrays (y, prediction) "
                "and must return one number for each row."
            ) from error
        if losses.shape != observed.shape:
            raise DataError(
                f"The loss {name} returned shape {losses.shape} for {observed.shape} values: it must give one loss for "
                "each row, not their mean."
            )
        if not np.isfinite(losses).all():
            raise DataError(f"The loss {name} returned NaN or infinite values.")
        if declared and (losses < 0).any():
            raise DataError(f"The loss {name} is declared non-negative, and returned {losses.min():.3g}.")
        return losses if losses.flags.owndata and losses.flags.writeable else losses.copy()  # else it is not ours

    def of_residuals(y: FloatArray, u: FloatArray) -> FloatArray:
        y = np.broadcast_to(y, u.shape)
        return compute(y.ravel(), (y - u).ravel()).reshape(u.shape)

    def of_classes(observed: IntArray, predicted: IntArray) -> FloatArray:
        labels = classes.labels  # type: ignore[union-attr]
        observed = np.broadcast_to(observed, predicted.shape)
        return compute(labels[observed.ravel()], labels[predicted.ravel()]).reshape(predicted.shape)

    return Loss(name, "log" if declared else "identity", of_residuals if classes is None else of_classes, classes)
