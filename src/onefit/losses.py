"""Pointwise losses, each with the scale on which its interval is built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .errors import DataError
from .typing import FloatArray

__all__ = ["Loss", "find_loss"]


@dataclass(frozen=True)
class Loss:
    """A loss of the held-out residual ``u = y - prediction``.

    ``scale`` is "log" for losses that cannot be negative, "identity" otherwise.
    """

    name: str
    label: str
    scale: str
    of_residual: Callable[[FloatArray], FloatArray]


LOSSES = {
    "squared_error": Loss("squared_error", "squared error", "log", np.square),
    "absolute_error": Loss("absolute_error", "absolute error", "log", np.abs),
}


def find_loss(loss: object) -> Loss:
    """Return the loss by its name; squared error if None."""
    if loss is None:
        return LOSSES["squared_error"]
    if isinstance(loss, str) and loss in LOSSES:
        return LOSSES[loss]
    raise DataError(f"loss={loss!r} is unknown; choose one of {', '.join(map(repr, LOSSES))}.")
