"""Models as passes over a table see them: rows of their columns, and how their training sets are solved."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import linalg

from ...checks import LEAST_SQUARED
from ...errors import TrainingSetError
from ...folds import Folds
from ...learners import DesignSmoother, Learner, Refusal, ScaledLearner, TunedLearner
from ...linalg.columns import ColumnMap, Columns
from ...linalg.precondition import Coordinates, precondition
from ...linalg.reinsch import middle_penalty
from ...spare import spare_table
from ...typing import FloatArray, IntArray
from ...validation import Problem, numeric_matrix
from ..collect import FoldStatistics
from ..contract import Run
from ..learned import streamed_learner
from ..solve import Doubtful, FoldSystems, SetSolver
from ..streamedpath import MOST_RATIO, PathSolver
from ..tunedstream import streamed_tuned
from .rows import ReadRows

__all__ = ["IN_MEMORY", "NOT_UNIQUE", "MeanModel", "PathModel", "StreamedModel", "runs_of", "streamed_model"]

MOST_RUNS = 8
"""Parts of a path of penalties, each with its own statistics."""

IN_MEMORY = "read a part into memory: table.sample(n, random_state)"


DEPENDENT = 1e-10
"""Squared length of what the others leave of a column, all of length one in coordinates of a sample."""

NOT_UNIQUE = (
    "Columns are linear combinations of the others (the intercept counts as a column of ones), or so nearly so that "
    "sums over rows cannot tell, so the fit is not unique. Drop such columns, or use a larger penalty."
)


class StreamedModel(ABC):
    """A model at V values.

    Attributes
    ----------
    learner : Learner or None
        As it was found for some rows; what is computed from these rows, such as their design, plays no part.
    n_values : int
    n_columns : int
        Columns of its design.
    constant : int or None
        Which of them is one in every row.
    names : tuple of str
        Columns of the table that it reads.
    is_numeric : bool
        Whether it needs nothing but a matrix of numbers of them.
    is_path : bool
        Whether values that follow one another are alike.
    needs_plain : bool
        Whether it needs statistics without weights, too.
    values : function or None
        Of rows: columns whose extremes by folds it needs.
    needs_statistics : bool
        Whether it needs sums of products of its columns.
    counts_seen : bool
        Whether its fits count the rows that have a weight.
    iterates : bool
        Whether its training sets take passes of their own.
    """

    learner: Learner | None = None
    n_values: int = 1
    n_columns: int
    constant: int | None = None
    names: tuple[str, ...] = ()
    is_numeric: bool = True
    is_path: bool = False
    needs_plain: bool = False
    values: Callable[[ReadRows], FloatArray] | None = None
    needs_statistics: bool = True
    counts_seen: bool = False
    iterates: bool = False

    @property
    @abstractmethod
    def rows(self) -> Callable[[ReadRows], Columns]:
        """What makes rows of its design; it can be pickled, and holds no rows."""

    @abstractmethod
    def coordinates(self, sample: Columns, y: FloatArray, root: FloatArray, share: float) -> Coordinates:
        """Coordinates from a sample of rows, ``share`` of all; ``root`` are roots of their weights."""

    @abstractmethod
    def solver(
        self, statistics: FoldStatistics, coordinates: Coordinates, folds: Folds, run: Run, tick: Callable[[], None]
    ) -> SetSolver | None:
        """What solves its training sets; None if the coordinates are not good enough for all rows."""

    def better(self, coordinates: Coordinates, statistics: FoldStatistics) -> Coordinates:
        """Coordinates and a pilot for another pass, from one that has lost digits."""
        return better(coordinates, statistics)


class _OfMap:
    """Rows of a `ColumnMap`."""

    def __init__(self, names: tuple[str, ...], column_map: ColumnMap) -> None:
        self.names, self.column_map = names, column_map

    def __call__(self, rows: ReadRows) -> Columns:
        return self.column_map.of(rows.numbers[self.names])


class PathModel(StreamedModel):
    """Least squares and ridge regression, on a path of penalties."""

    is_path = True

    def __init__(self, learner: DesignSmoother, names: tuple[str, ...]) -> None:
        self.learner, self.smoother, self.names = learner, learner, names
        self.n_values, self.n_columns = learner.n_values, learner.n_columns
        self.constant = learner.n_columns - learner.n_free if learner.fit_intercept else None

    @property
    def rows(self) -> Callable[[ReadRows], Columns]:
        """Columns about their middle in the sample, and a constant."""
        return _OfMap(self.names, self.smoother.column_map)

    def coordinates(self, sample: Columns, y: FloatArray, root: FloatArray, share: float) -> Coordinates:
        """With the penalty."""
        lams = self.smoother.lams[:, 0]
        return precondition(sample.weighted(root), root[:, None] * y, share, middle_penalty(lams), float(lams.min()))

    def solver(
        self, statistics: FoldStatistics, coordinates: Coordinates, folds: Folds, run: Run, tick: Callable[[], None]
    ) -> SetSolver | None:
        """Systems at every penalty."""
        return PathSolver.of(statistics, coordinates, self.smoother.lams[:, 0], tick)


class TunedModel(StreamedModel):
    """A ridge regression whose penalty every training set chooses by GCV or REML."""

    counts_seen = True

    def __init__(self, learner: TunedLearner, smoother: DesignSmoother, names: tuple[str, ...]) -> None:
        self.learner, self.smoother, self.names = learner, smoother, names
        self._streaming = streamed_tuned(learner, smoother)
        self.n_values, self.n_columns = learner.n_values, smoother.n_columns
        self.constant = smoother.n_columns - smoother.n_free if smoother.fit_intercept else None

    @property
    def rows(self) -> Callable[[ReadRows], Columns]:
        """Columns about their middle in the sample, and a constant."""
        return _OfMap(self.names, self.smoother.column_map)

    def coordinates(self, sample: Columns, y: FloatArray, root: FloatArray, share: float) -> Coordinates:
        """With the penalty that the sample would choose for all rows."""
        columns, target = sample.weighted(root), root[:, None] * y
        return precondition(columns, target, share, *self._streaming.penalties(columns, target, share))

    def solver(
        self, statistics: FoldStatistics, coordinates: Coordinates, folds: Folds, run: Run, tick: Callable[[], None]
    ) -> SetSolver | None:
        """From the spectrum of every training set."""
        return self._streaming.solver(statistics, coordinates, folds, run, tick)


class _AboutCentre:
    """A constant, and columns about their centre."""

    def __init__(self, names: tuple[str, ...], centre: FloatArray) -> None:
        self.names, self.centre = names, centre

    def __call__(self, rows: ReadRows) -> Columns:
        X = rows.numbers[self.names]
        design = spare_table(len(X), 1 + len(self.names))
        design[:, 0] = 1.0
        np.subtract(X, self.centre, out=design[:, 1:])
        return Columns(design[:, :0], design, np.zeros(0), np.zeros(design.shape[1]))


class ScaledModel(StreamedModel):
    """A scaler before a ridge regression."""

    constant = 0

    def __init__(self, learner: ScaledLearner, names: tuple[str, ...]) -> None:
        self.learner, self.scaled, self.names = learner, learner, names
        self.n_values, self.n_columns = learner.n_values, learner.n_columns

    @property
    def rows(self) -> Callable[[ReadRows], Columns]:
        """The columns before they are scaled."""
        return _AboutCentre(self.names, self.scaled.centre_of_columns)

    def coordinates(self, sample: Columns, y: FloatArray, root: FloatArray, share: float) -> Coordinates:
        """Without a penalty: the factor must be known whatever is penalized."""
        return precondition(sample.weighted(root), root[:, None] * y, share, 0.0, 0.0)

    def solver(
        self, statistics: FoldStatistics, coordinates: Coordinates, folds: Folds, run: Run, tick: Callable[[], None]
    ) -> SetSolver | None:
        """From triangular factors."""
        return streamed_learner(self.scaled).solver(statistics, coordinates, folds, run, tick)


def _ones(rows: ReadRows) -> Columns:
    ones = np.ones((len(rows.observed), 1))
    return Columns(ones[:, :0], ones, np.zeros(0), np.zeros(1))


class MeanModel(StreamedModel):
    """The mean of the training set: the best constant for squares."""

    n_columns = 1
    constant = 0

    @property
    def rows(self) -> Callable[[ReadRows], Columns]:
        """A constant."""
        return _ones

    def coordinates(self, sample: Columns, y: FloatArray, root: FloatArray, share: float) -> Coordinates:
        """As it is; the pilot is the mean of the sample."""
        pilot = (np.square(root) @ y / np.square(root).sum())[None]
        return Coordinates(np.eye(1), pilot, 0, 0.0, is_diagonal=True)

    def solver(
        self, statistics: FoldStatistics, coordinates: Coordinates, folds: Folds, run: Run, tick: Callable[[], None]
    ) -> SetSolver:
        """Sums over counts."""
        return _MeanSolver(FoldSystems.of(statistics, coordinates, np.eye(1)), statistics.total[0, 0])


class _MeanSolver:
    def __init__(self, systems: FoldSystems, count: float) -> None:
        self.systems, self._count = systems, count
        self.doubtful: list[Doubtful] = []

    def steps(self, sets: IntArray) -> FloatArray:
        """From the pilot to the means."""
        systems = self.systems
        grams = np.concatenate([systems.grams, np.zeros_like(systems.grams[:, :1])], axis=1)[..., 0, 0]
        right = np.concatenate([systems.right, np.zeros_like(systems.right[:, :1])], axis=1)[:, :, 0]
        left = self._count - grams[:, sets].sum(axis=2)
        found: FloatArray = (systems.all_right[0] - right[:, sets].sum(axis=2)) / left[..., None]
        return found[:, :, None, None]


def runs_of(learner: Learner) -> list[Learner]:
    """A path of penalties as consecutive parts that can share coordinates; anything else as it is."""
    if not isinstance(learner, DesignSmoother) or learner.lams.shape[1] > 1:
        return [learner]
    runs: list[list[int]] = []
    lams = learner.lams[:, 0]
    for value, lam in enumerate(lams):
        own = lams[runs[-1]] if runs else np.zeros(0)
        ends = min(lam, own.min(initial=lam)), max(lam, own.max(initial=lam))
        if runs and (ends[1] <= MOST_RATIO * ends[0] or ends[1] == 0):
            runs[-1].append(value)
        else:
            runs.append([value])
    return [learner.at(run) for run in runs] if 1 < len(runs) <= MOST_RUNS else [learner]


def streamed_model(
    learner: Learner, problem: Problem, names: tuple[str, ...], kinds: dict[type, Any]
) -> StreamedModel | Refusal:
    """A learner that was made for some rows as one for all rows of a table, or why that cannot be."""
    if learner.has_own_target:
        return Refusal("it is fitted to a function of y", IN_MEMORY)
    if isinstance(learner, DesignSmoother | TunedLearner | ScaledLearner) and (why := _vanishing(problem, names)):
        return Refusal(why)
    if isinstance(learner, DesignSmoother) and learner.is_made_of(numeric_matrix(problem)):
        lams = learner.lams
        if lams.shape[1] > 1:
            return Refusal("it has a penalty of its own for every output", "give the outputs one by one")
        if lams.max() > MOST_RATIO * lams.min() and lams.max() > 0:
            return Refusal(
                f"its penalties span a ratio of more than {MOST_RATIO:.0e}, beyond which they share no coordinates",
                "ask for a part of the range at a time",
            )
        return PathModel(learner, names)
    if isinstance(learner, TunedLearner | ScaledLearner) and learner.needs_rows:
        remedy = 'choose it by splits (cv=5), by GCV or REML (onefit.PenalizedRegression(lam="gcv")), or ' + IN_MEMORY
        return Refusal("every training set chooses its penalty by leaving out each of its rows", remedy)
    if isinstance(learner, TunedLearner) and not learner.per_output:
        smoother = learner.smoother
        if isinstance(smoother, DesignSmoother) and smoother.is_made_of(numeric_matrix(problem)):
            return TunedModel(learner, smoother, names)
    if isinstance(learner, ScaledLearner) and learner.is_made_of(numeric_matrix(problem)):
        return ScaledModel(learner, names)
    for kind, make in kinds.items():
        if isinstance(learner, kind):
            made: StreamedModel | Refusal = make(learner, problem, names)
            return made
    return Refusal(f"its fits need more than sums over rows ({type(learner).__name__})", IN_MEMORY)


def _vanishing(problem: Problem, names: Sequence[str]) -> str:
    """Which column varies by so little that sums of its squares vanish; empty if none does."""
    X = numeric_matrix(problem)
    reach = np.ptp(X, axis=0)
    for at in np.flatnonzero((reach > 0) & (reach < LEAST_SQUARED)).tolist():
        return f"column {names[at]!r} varies by {reach[at]:.1g} at most, too little to be squared; rescale it"
    return ""


def better(coordinates: Coordinates, statistics: FoldStatistics) -> Coordinates:
    """Coordinates in which all rows are orthonormal, as far as those that there were can tell; and their fit as pilot.

    What a sample of rows has missed is there by now; digits that were lost are had in the next pass.
    """
    d, total = len(coordinates.T), statistics.total
    M = total[:d, :d] + coordinates.tau * coordinates.penalty
    size = np.sqrt(np.diag(M))
    size = np.where(size > 0, size, 1.0)
    scaled = M / np.multiply.outer(size, size)
    if not linalg.eigvalsh(scaled, subset_by_index=(0, 0))[0] > DEPENDENT:
        raise TrainingSetError(NOT_UNIQUE)
    R = linalg.cholesky(scaled)
    A = linalg.solve_triangular(R, np.eye(d)) / size[:, None]
    held = coordinates.T[: coordinates.n_penalized].T @ coordinates.pilot[: coordinates.n_penalized]
    step = A @ (A.T @ (total[:d, d:] - coordinates.tau * held))
    return replace(coordinates, T=coordinates.T @ A, pilot=coordinates.pilot + coordinates.T @ step, is_diagonal=False)
