"""Several routes on the same folds, one after the other on the axis of parameter values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..folds import Folds
from ..inference.fold_errors import HeldOut, PairErrors
from .base import Route

__all__ = ["SideBySide"]


class SideBySide:
    """Any mixture of routes; pairing by rows and folds then comes from the tables themselves."""

    name = "mixed"

    def __init__(self, routes: Sequence[Route]) -> None:
        self.routes = list(routes)
        self.n_values = sum(route.n_values for route in routes)

    def singles(self, folds: Folds) -> HeldOut:
        """Each row's residual and loss with its own fold out."""
        return _join([route.singles(folds) for route in self.routes])

    def pairs(self, folds: Folds) -> PairErrors:
        """The same, and the losses of each fold with it and another out."""
        parts = [route.pairs(folds) for route in self.routes]
        return PairErrors(
            _join([part.single for part in parts]),
            np.concatenate([part.mean for part in parts], axis=3),
            np.concatenate([part.scatter for part in parts], axis=3),
        )


def _join(parts: Sequence[HeldOut]) -> HeldOut:
    return HeldOut(
        np.concatenate([part.residuals for part in parts], axis=2),
        np.concatenate([part.losses for part in parts], axis=2),
    )
