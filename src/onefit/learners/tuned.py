"""Smoothers whose penalty is chosen anew on every training set."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from ..criteria import PAIR_CRITERIA, SetRows, Spectrum, criterion_values, largest_of_search, loo_on_grid, search
from ..typing import FloatArray
from .contract import Learner
from .smoother import Smoother

__all__ = ["TunedLearner", "Tuning"]

TIED = 1e-14
"""Values of a criterion that differ by this part of them are as good: of two rows each is predicted by the other."""
MOST_WIDTH = 3
"""Rows for each column from which on pairs of rows are taken out of the fit to all of them."""


class Tuning:
    """How a penalty is chosen.

    Parameters
    ----------
    criterion : {"gcv", "loo", "reml"}
    grid : array (V,) or None
        The penalties to choose from, the first of the best; None searches the whole axis.
    per_output : bool
        Whether each output gets a penalty of its own. Else one serves all: the least sum of the criterion.
    """

    def __init__(self, criterion: str, grid: FloatArray | None = None, per_output: bool = False) -> None:
        self.criterion, self.grid, self.per_output = criterion, grid, per_output

    @property
    def smallest(self) -> float:
        """The smallest penalty that may be chosen; zero if there is no telling."""
        return 0.0 if self.grid is None else float(self.grid.min())

    def largest(self, size: float) -> float:
        """The largest penalty that may be chosen, if eigenvalues have at most the sum ``size``."""
        return largest_of_search(size) if self.grid is None else float(self.grid.max())

    def choose(self, spectrum: Spectrum) -> FloatArray:
        """The penalty of each training set and output, (B, Q)."""
        if self.grid is None:
            return np.repeat(search(spectrum, self.criterion)[:, None], spectrum.gamma.shape[2], axis=1)
        lams = np.broadcast_to(self.grid, (len(spectrum.mu), len(self.grid)))
        return self._best(self.grid, criterion_values(spectrum, lams, self.criterion))

    def choose_by_rows(self, spectrum: Spectrum, rows: SetRows) -> tuple[FloatArray, FloatArray]:
        """The same from leave-one-out on the grid, and the smallest one minus a leverage of each training set, (B,)."""
        assert self.grid is not None
        lams = np.broadcast_to(self.grid, (len(spectrum.mu), len(self.grid)))
        values, least = loo_on_grid(spectrum, rows, lams)
        return self._best(self.grid, values), least

    def _best(self, grid: FloatArray, values: FloatArray) -> FloatArray:
        """Where the criterion (B, V, Q) is least, the first of such places, (B, Q)."""
        n_outputs = values.shape[2]
        if not self.per_output:
            values = values.sum(axis=2, keepdims=True)
        least = values.min(axis=1, keepdims=True)
        best = grid[(values <= least + TIED * np.abs(least)).argmax(axis=1)]
        return np.broadcast_to(best, (len(best), n_outputs))


class TunedLearner(Tuning, Learner):
    """A smoother that is tuned; for the other parameters see `Tuning`.

    Parameters
    ----------
    smoother : Smoother
        The model; which penalties it holds does not matter.
    """

    steps = 1
    search_seconds = 0.0
    n_values = 1

    def __init__(
        self, smoother: Smoother, criterion: str, grid: FloatArray | None = None, per_output: bool = False
    ) -> None:
        super().__init__(criterion, grid, per_output)
        self.smoother = smoother
        self.hint, self.width = smoother.hint, smoother.width

    def at(self, values: Sequence[int]) -> Self:
        """Itself: there is one value."""
        return self

    def check_fits(self, smallest_training_set: int) -> dict[int, str]:
        """Raise if no training set of this size determines the fit at a positive penalty."""
        return self.smoother.check_fits(smallest_training_set)

    @property
    def reason(self) -> str:
        """Why the gram route, for people."""
        return f"the penalty is chosen by {self.criterion} in every training set, with one eigendecomposition for each"

    @property
    def reason_of_pairs(self) -> str:
        """The same where it is pairs of rows that are left out."""
        return f"the penalty is chosen by {self.criterion} without every pair of rows, in 2 x 2 systems"

    @property
    def needs_rows(self) -> bool:
        """Whether the criterion is a sum over rows, not a function of the spectrum alone."""
        return self.criterion == "loo"

    @property
    def streams_pairs(self) -> bool:
        """Whether what it chooses without each pair of rows follows from the fit to all of them.

        Not by leave-one-out, which is a sum over all rows for each pair, nor if rows without weight are predicted that
        the fit does not know. With nearly as many columns as rows, pairs would have to be decomposed one by one.
        """
        n = self.smoother.n
        is_possible = self.grid is None and self.criterion in PAIR_CRITERIA and len(self.smoother.fitted_rows) == n
        return is_possible and MOST_WIDTH * self.smoother.width <= n
