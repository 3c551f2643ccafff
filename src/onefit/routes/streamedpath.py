"""Training sets of a smoother at every penalty of a path, from statistics of folds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..criteria import AllRows
from ..folds import Folds
from ..learners import DesignSmoother
from ..linalg import batched
from ..linalg.columns import Columns
from ..linalg.downdate import Downdate
from ..linalg.precondition import Coordinates, rotate
from ..linalg.reinsch import middle_penalty
from ..typing import FloatArray, IntArray
from .collect import FoldStatistics
from .contract import Run
from .rowpasses import Streaming
from .solve import Doubtful, FoldSystems

__all__ = ["StreamedPath"]

MOST_RATIO = 1e8
"""Largest ratio of penalties that share coordinates: those at the ends lose its root."""


class StreamedPath(Streaming):
    """A smoother at every penalty of its path."""

    def __init__(self, smoother: DesignSmoother) -> None:
        self.design, self._smoother = smoother, smoother

    @property
    def is_one(self) -> bool:
        """Whether all penalties can share coordinates."""
        lams = self._smoother.lams
        return lams.shape[1] == 1 and bool(lams.max() <= MOST_RATIO * lams.min() or lams.max() == 0)

    def penalties(self, sample: Columns, y: FloatArray, share: float) -> tuple[float, float]:
        """As they are."""
        lams = self._smoother.lams[:, 0]
        return middle_penalty(lams), float(lams.min())

    def solver(
        self, statistics: FoldStatistics, coordinates: Coordinates, folds: Folds, run: Run, tick: Callable[[], None]
    ) -> PathSolver | None:
        """Systems at every penalty."""
        return PathSolver.of(statistics, coordinates, self._smoother.lams[:, 0], tick)

    def remember(self, known: AllRows | None) -> None:
        """The criteria of the fit on all rows follow from it."""
        self._smoother.all_rows = known


class PathSolver:
    """Solves the systems of all training sets at all penalties, and notes those that cannot be trusted.

    With ``r = y - Z c_0`` for a pilot fit, whatever it is, the training set without the rows J has the coefficients
    ``c_0 + e`` with ``(D - G_J) e = h - g_J``: D and h are of all rows, ``G_J = Z_J'WZ_J`` and ``g_J = Z_J'Wr_J``. The
    held-out residuals are ``r_J - Z_J e``, and the sum of their squares follows from the statistics alone.
    """

    def __init__(
        self, systems: FoldSystems, downdate: Downdate, step: FloatArray, scale: FloatArray, tick: Callable[[], None]
    ) -> None:
        self.systems, self._downdate, self._step, self._scale, self._tick = systems, downdate, step, scale, tick
        L, K, d, Q = systems.right.shape
        moved = (systems.grams @ step.reshape(d, -1)).reshape(L, K, d, -1, Q)
        self._right = systems.right[:, :, :, None] - moved  # at the fit on all rows
        self.doubtful: list[Doubtful] = []

    @classmethod
    def of(
        cls, statistics: FoldStatistics, coordinates: Coordinates, lams: FloatArray, tick: Callable[[], None]
    ) -> PathSolver | None:
        """None if the coordinates are not good enough for all rows."""
        d, tau, r = coordinates.T.shape[1], middle_penalty(lams), coordinates.n_penalized
        n_free, most = d - r if tau else d, float(lams.max())
        rotation = rotate(statistics.total[:d, :d], coordinates.root_penalty, tau, n_free, most)
        if rotation is None:
            return None
        systems, downdate = FoldSystems.of(statistics, coordinates, rotation.B), Downdate(rotation, lams)
        held = systems.T[:r].T @ coordinates.pilot[:r]
        step = np.square(downdate.scales).T[:, :, None] * (
            systems.all_right[:, None] - lams[:, None] * held[:, None]
        )  # (d, V, Q): from the pilot to the fit on all rows
        # `batched.error_scale`, with the residuals of the fit on all rows for held-out ones, which are larger
        moved = np.einsum("dvq,dvq,d->vq", step, step, rotation.x)
        moved -= 2 * np.einsum("dvq,dq->vq", step, systems.all_right)
        left = np.sqrt(np.maximum(systems.all_squares + moved, 0.0))
        scale = batched.error_scale_of(np.sqrt(statistics.squares), left)
        return cls(systems, downdate, step, scale, tick)

    def steps(self, sets: IntArray) -> FloatArray:
        """From the pilot to each training set, (L, S, d, V, Q); to the fit on all rows where it cannot be trusted."""
        grams = self.systems.grams
        change, squares = self._downdate.solve(grams, self._right, sets)
        self._tick()
        for repeat, index, value, out in self._downdate.untrusted(grams, squares, self._scale, sets):
            self.doubtful.append(Doubtful(repeat, out, (value,)))
            change[repeat, index, :, value] = 0.0
        return self._step - change
