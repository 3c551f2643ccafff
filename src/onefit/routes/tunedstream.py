"""Tuned estimators in passes over blocks of rows: the penalty is chosen from the spectrum of every training set."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy import linalg

from ..criteria import spectrum_of_rows
from ..folds import Folds
from ..learners import DesignSmoother, TunedLearner
from ..linalg.columns import Columns
from ..linalg.precondition import Coordinates, rotate
from ..typing import BoolArray, FloatArray
from .collect import FoldStatistics
from .contract import Run
from .rowpasses import Streaming
from .solve import BatchSolver, Downdated, FoldSystems
from .spectra import Middle, SetBases, SetSpectra, keeps_squares, middle_of

__all__ = ["streamed_tuned"]

LEAST_SEEN = 1e-8
"""Part of a direction that data and penalty must each have to say about which penalty to decompose."""


def streamed_tuned(tuned: TunedLearner, smoother: DesignSmoother) -> Streaming:
    """How a learner that chooses its penalty by a spectrum is computed in passes over blocks of rows."""
    return _StreamedTuned(tuned, smoother)


class _StreamedTuned(Streaming):
    """A penalty chosen by a function of the spectrum of each training set."""

    def __init__(self, tuned: TunedLearner, smoother: DesignSmoother) -> None:
        self.design, self._tuned = smoother, tuned

    def penalties(self, sample: Columns, y: FloatArray, share: float) -> tuple[float, float]:
        """What the sample would choose for as many rows as there are."""
        spectrum = spectrum_of_rows(sample, y, smallest=share * self._tuned.smallest).spectrum
        return middle_of(self._tuned, replace(spectrum, mu=spectrum.mu / share, rows=None)), self._tuned.smallest

    def solver(
        self, statistics: FoldStatistics, coordinates: Coordinates, folds: Folds, run: Run, tick: Callable[[], None]
    ) -> BatchSolver | None:
        """About the penalty that all rows choose, which is first guessed from the sample."""
        first = _TunedSolver.of(statistics, coordinates, coordinates.tau, self._tuned, folds, run, tick)
        tau = None if first is None else first.chosen_on_all_rows(folds.n)
        return None if tau is None else _TunedSolver.of(statistics, coordinates, tau, self._tuned, folds, run, tick)


class _TunedSolver(BatchSolver):
    """Diagonalizes every training set against the penalty."""

    def __init__(
        self,
        systems: FoldSystems,
        folds: Folds,
        run: Run,
        tick: Callable[[], None],
        tuned: TunedLearner,
        middle: Middle,
        x: FloatArray,
        start: FloatArray,
    ) -> None:
        super().__init__(systems, folds, 1, run, tick)
        self._tuned, self._middle, self._x, self._start = tuned, middle, x, start

    @classmethod
    def of(
        cls,
        statistics: FoldStatistics,
        coordinates: Coordinates,
        tau: float,
        tuned: TunedLearner,
        folds: Folds,
        run: Run,
        tick: Callable[[], None],
    ) -> _TunedSolver | None:
        """About a penalty tau; None if the coordinates are not good enough."""
        d, P = len(coordinates.T), coordinates.penalty
        G, k = statistics.total[:d, :d], d - coordinates.n_penalized
        back = linalg.solve_triangular(coordinates.T, np.eye(d))[:, : coordinates.n_penalized]
        most = tuned.largest(float(np.einsum("ij,ij->", back, G @ back)))  # no training set has more than all rows
        rotation = rotate(G, coordinates.root_penalty, tau, k, most)
        if rotation is None:
            return None
        # the pilot in the new coordinates: B'(G + tau P) is the inverse of B
        start = rotation.B.T @ ((G + tau * P) @ linalg.solve_triangular(coordinates.T, coordinates.pilot))
        systems = FoldSystems.of(statistics, coordinates, rotation.B)
        return cls(systems, folds, run, tick, tuned, Middle(rotation.s, tau, k), rotation.x, start)

    def chosen_on_all_rows(self, n: int) -> float | None:
        """The penalty to decompose about; None if the spectrum is not known well enough to tell."""
        systems, d, k = self.systems, len(self._x), self._middle.n_free
        if min(self._x[k:].min(), self._middle.tau * self._middle.s[k:].min()) < LEAST_SEEN:
            return None
        spectra = self._diagonalized(
            Downdated(np.zeros((1, d, d)), systems.all_right[None], systems.all_squares[None], np.array([float(n)]))
        )
        return middle_of(self._tuned, spectra.spectrum)

    def _diagonalized(self, sets: Downdated) -> SetSpectra:
        """The training sets, with what the pilot reaches of y put back."""
        of_pilot = self._x[:, None] * self._start - sets.removed @ self._start
        bases = SetBases.of(self._middle, sets.removed)
        return SetSpectra.of(bases, sets.right + of_pilot, sets.right, sets.squares, sets.n)

    def fit(self, sets: Downdated) -> tuple[FloatArray, BoolArray]:
        """The step e from the coefficients c of the pilot solves ``(X'X + lam S) e = X'r - lam S c``."""
        found = self._diagonalized(sets)
        lams = self._tuned.choose(found.spectrum)
        held = (self._middle.s[:, None] * self._start) * lams[:, None]
        steps = found.solve(sets.right - held, lams)
        is_known = found.is_known(lams) & sets.keeps(found.spectrum.rest)
        is_known &= keeps_squares(found.spectrum.rest, sets.squares, self.systems.all_squares)
        return steps[:, :, None], is_known
