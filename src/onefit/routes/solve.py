"""Second phase of the gram route over blocks of rows: from statistics of folds to coefficients of all training sets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import NamedTuple, Protocol

import numpy as np

from ..folds import Folds
from ..learners.glm_families import Family
from ..linalg.precondition import Coordinates
from ..typing import BoolArray, FloatArray, IntArray
from .collect import N_SPANS, FoldStatistics
from .engine import BLOCK_BYTES, per_block

__all__ = [
    "CANCELS",
    "BatchSolver",
    "Doubtful",
    "Downdated",
    "FoldSystems",
    "JoinedSets",
    "Link",
    "SetSolver",
    "TrainingSets",
    "solve",
]

CANCELS = 1e-6
"""Part of the pilot's squares below which those of a training set are a difference of which too few digits are left."""


class Doubtful(NamedTuple):
    """A training set that must be fitted from its rows: repeat, folds that are out, and at which values."""

    repeat: int
    out: tuple[int, ...]
    values: tuple[int, ...]


@dataclass
class TrainingSets:
    """Every training set of some repeats: coefficients of the columns, and sums of squares of the folds that are out.

    ``own`` (L, K, p, V, Q) are the coefficients without each fold. ``squares`` (L, K, K, V, Q) are the weighted sums of
    the squared residuals of fold j without j and k, None where they would not keep their digits.
    """

    own: FloatArray
    squares: FloatArray | None
    doubtful: list[Doubtful]
    _T: FloatArray = field(repr=False)
    _pilot: FloatArray = field(repr=False)
    _steps: FloatArray | None = field(repr=False)

    @cached_property
    def own_residuals(self) -> FloatArray:
        """What rows ``(columns, y)`` are multiplied by for the residuals without their fold, (L, K, p + Q, V Q)."""
        return np.stack([[_residual_map(c[:, None]) for c in each] for each in self.own])

    @cached_property
    def pair_residuals(self) -> FloatArray:
        """The same without it and each other fold, (L, K, p + Q, K V Q); at itself, without it alone."""
        assert self._steps is not None
        return np.stack([[self._pair_residual(steps) for steps in each] for each in self._steps])

    def _pair_residual(self, steps: FloatArray) -> FloatArray:
        """Of one fold, from the steps (K, d, V, Q) to its training sets."""
        K, d, V, Q = steps.shape
        moved = self._T @ np.moveaxis(steps, 0, 1).reshape(d, -1)
        return _residual_map(self._pilot[:, None, None] + moved.reshape(-1, K, V, Q))


class Link(NamedTuple):
    """Values whose predictions are a function of linear predictors: the family that has it."""

    values: slice
    family: Family


class JoinedSets:
    """Training sets of models side by side: columns, and values, of one after the other.

    ``own`` (L, K, p, V, Q) is zero where a model does not look at a column; ``squares`` is None where a model has none.
    """

    def __init__(self, models: Sequence[TrainingSets]) -> None:
        self._models = models
        (L, K), Q = models[0].own.shape[:2], models[0].own.shape[-1]
        p, V = (sum(each.own.shape[axis] for each in models) for axis in (2, 3))
        self.own = np.zeros((L, K, p, V, Q))
        for each, columns, values in self._places():
            self.own[:, :, columns, values] = each.own
        self.links = tuple(
            Link(values, family)
            for each, _, values in self._places()
            if (family := getattr(each, "family", None)) is not None
        )
        parts = [each.squares for each in models]
        known = [part for part in parts if part is not None]
        self.squares = np.concatenate(known, axis=3) if len(known) == len(parts) else None

    def _places(self) -> Iterator[tuple[TrainingSets, slice, slice]]:
        column = value = 0
        for each in self._models:
            p, V = each.own.shape[2:4]
            yield each, slice(column, column + p), slice(value, value + V)
            column, value = column + p, value + V

    def without_pairs(self) -> JoinedSets:
        """What rows that meet their own fold's coefficients alone need: a fraction of what is sent to workers."""
        found = copy(self)
        found._models, found.squares = (), None
        return found

    @cached_property
    def own_residuals(self) -> FloatArray:
        """As `TrainingSets.own_residuals`; of values with a link, what gives minus the linear predictor."""
        found = np.stack([[_residual_map(c[:, None]) for c in each] for each in self.own])
        return self._without_y(found)

    def _without_y(self, residuals: FloatArray) -> FloatArray:
        """Maps (L, K, p + Q, ... V Q), of which those to values with a link do not look at y."""
        L, K, p, V, Q = self.own.shape
        table = residuals.reshape(L, K, p + Q, -1, V, Q)
        for link in self.links:
            table[:, :, p:, :, link.values] = 0.0
        return table.reshape(residuals.shape)

    @cached_property
    def pair_residuals(self) -> FloatArray:
        """As `TrainingSets.pair_residuals`."""
        L, K, p, V, Q = self.own.shape
        found = np.zeros((L, K, p + Q, K, V, Q))
        for each, columns, values in self._places():
            own = each.own.shape
            part = each.pair_residuals.reshape(L, K, own[2] + Q, K, own[3], Q)
            found[:, :, columns, :, values] = part[:, :, : own[2]]
            found[:, :, p:, :, values] = part[:, :, own[2] :]
        return self._without_y(found.reshape(L, K, p + Q, -1))


def _residual_map(coefficients: FloatArray) -> FloatArray:
    """``(-c; 1)`` for coefficients c (p, K, V, Q), as a matrix."""
    p, K, V, Q = coefficients.shape
    matrix = np.empty((p + Q, K, V, Q))
    matrix[:p] = -coefficients
    matrix[p:] = np.eye(Q)[:, None, None]
    return matrix.reshape(p + Q, -1)


@dataclass(frozen=True)
class FoldSystems:
    """Statistics of folds in coordinates ``Z = (E N) T`` that suit a solver, with r the residuals of the pilot fit.

    Attributes
    ----------
    T : (p, d)
    pilot : (p, Q)
    grams : (L, K, d, d), ``Z_J'WZ_J`` of each fold
    right : (L, K, d, Q), ``Z_J'Wr_J``
    squares : (L, K, Q), ``r_J'Wr_J``
    all_right, all_squares : (d, Q) and (Q,), the same of all rows
    """

    T: FloatArray
    pilot: FloatArray
    grams: FloatArray
    right: FloatArray
    squares: FloatArray
    all_right: FloatArray
    all_squares: FloatArray

    @classmethod
    def of(cls, statistics: FoldStatistics, coordinates: Coordinates, B: FloatArray) -> FoldSystems:
        """In the coordinates ``(E N) T B``."""
        d, products, total = len(B), statistics.products, statistics.total
        return cls(
            T=coordinates.T @ B,
            pilot=coordinates.pilot,
            grams=B.T @ products[:, :, :d, :d] @ B,
            right=B.T @ products[:, :, :d, d:],
            squares=np.diagonal(products[:, :, d:, d:], axis1=2, axis2=3),
            all_right=B.T @ total[:d, d:],
            all_squares=np.diagonal(total[d:, d:]),
        )

    def columns(self, steps: FloatArray) -> FloatArray:
        """Coefficients (L, K, p, V, Q) of the columns, after steps (L, K, d, V, Q) from the pilot."""
        *sets, d, V, Q = steps.shape
        moved = (self.T @ steps.reshape(*sets, d, -1)).reshape(*sets, -1, V, Q)
        coefficients: FloatArray = self.pilot[:, None] + moved
        return coefficients

    def squares_after(self, steps: FloatArray) -> FloatArray | None:
        """Sums of the squared residuals of fold j, (L, K, P, V, Q), after steps (L, K, P, d, V, Q); None if few digits.

        ``||r - Z e||^2 = r'r - 2 e'g + e'Ge`` over the rows of the fold; the pilot fits them about as well as any, so
        that it is no small difference.
        """
        L, K, P, d, V, Q = steps.shape
        squares = np.empty((L, K, P, V, Q))
        for repeat, fold in np.ndindex(L, K):
            e = np.moveaxis(steps[repeat, fold], 0, 1)  # (d, P, V, Q)
            curved = (self.grams[repeat, fold] @ e.reshape(d, -1)).reshape(e.shape)
            curved -= 2 * self.right[repeat, fold][:, None, None]
            squares[repeat, fold] = self.squares[repeat, fold] + np.einsum("dpvq,dpvq->pvq", e, curved)
        return squares if (squares > CANCELS * self.squares[:, :, None, None]).all() else None


class SetSolver(Protocol):
    """How the training sets of some repeats are solved."""

    systems: FoldSystems
    doubtful: list[Doubtful]

    def steps(self, sets: IntArray) -> FloatArray:
        """From the pilot to the training sets without the folds ``sets`` (S, 2), (L, S, d, V, Q).

        A set (j, -1) leaves out j alone. Of those that cannot be trusted, which it notes, steps mean nothing.
        """


def solve(solver: SetSolver, with_pairs: bool) -> TrainingSets:
    """Coefficients of all training sets; of pairs of folds only if they are asked for."""
    systems = solver.systems
    K = systems.grams.shape[1]
    own = solver.steps(np.stack([np.arange(K), np.full(K, -1)], axis=1))  # (L, K, d, V, Q)
    steps = None
    if with_pairs:
        pairs = np.stack(np.triu_indices(K, 1), axis=1)
        steps = np.empty((len(own), K, *own.shape[1:]))
        steps[:, np.arange(K), np.arange(K)] = own
        steps[:, pairs[:, 0], pairs[:, 1]] = steps[:, pairs[:, 1], pairs[:, 0]] = solver.steps(pairs)
    squares = systems.squares_after(own[:, :, None] if steps is None else steps)
    return TrainingSets(systems.columns(own), squares, solver.doubtful, systems.T, systems.pilot, steps)


@dataclass(frozen=True)
class Downdated:
    """Statistics of B training sets: what was removed of the Gram matrix, and what is left of the rest.

    Attributes
    ----------
    removed : (B, d, d), Gram matrices of the folds that are out
    right : (B, d, Q), ``Z'Wr`` of the rows that stay
    squares : (B, Q), ``r'Wr`` of them
    n : (B,), how many they are
    """

    removed: FloatArray
    right: FloatArray
    squares: FloatArray
    n: FloatArray

    def keeps(self, rest: FloatArray) -> BoolArray:
        """Where what is left of the squares (B, Q) is no small difference."""
        kept: BoolArray = np.all(rest > CANCELS * self.squares, axis=1)
        return kept


class BatchSolver(ABC):
    """Solves training sets a batch at a time, each by itself: batches are the same for any number of threads."""

    def __init__(
        self,
        systems: FoldSystems,
        folds: Folds,
        n_values: int,
        run: Callable[..., Iterable[tuple[FloatArray, BoolArray]]],
        tick: Callable[[], None],
    ) -> None:
        self.systems, self.n_values = systems, n_values
        self.doubtful: list[Doubtful] = []
        self._folds, self._run, self._tick = folds, run, tick

    @abstractmethod
    def fit(self, sets: Downdated) -> tuple[FloatArray, BoolArray]:
        """Steps (B, d, V, Q) from the pilot, and which of them can be trusted."""

    def steps(self, sets: IntArray) -> FloatArray:
        """From the pilot to each training set."""
        L, _, d, Q = self.systems.right.shape
        places = [(repeat, index) for repeat in range(L) for index in range(len(sets))]
        most = per_block(8 * d * (8 * d + 4 * self.n_values * Q), 2 * BLOCK_BYTES)
        size = min(most, -(-len(places) // N_SPANS))
        batches = [places[start : start + size] for start in range(0, len(places), size)]
        steps = np.zeros((L, len(sets), d, self.n_values, Q))
        for batch, (found, is_sound) in zip(batches, self._run(partial(self._solve, sets), batches), strict=True):
            for (repeat, index), step, sound in zip(batch, found, is_sound, strict=True):
                if sound:
                    steps[repeat, index] = step
                else:
                    self.doubtful.append(Doubtful(repeat, _folds_out(sets[index]), tuple(range(self.n_values))))
        return steps

    def _solve(self, sets: IntArray, batch: list[tuple[int, int]]) -> tuple[FloatArray, BoolArray]:
        """One batch, of repeats and sets."""
        self._tick()
        systems, out = self.systems, [(repeat, list(_folds_out(sets[index]))) for repeat, index in batch]
        sizes = np.array([self._folds.sizes[at].sum() for at in out])
        downdated = Downdated(
            removed=np.stack([systems.grams[at].sum(axis=0) for at in out]),
            right=systems.all_right - np.stack([systems.right[at].sum(axis=0) for at in out]),
            squares=systems.all_squares - np.stack([systems.squares[at].sum(axis=0) for at in out]),
            n=(self._folds.n - sizes).astype(float),
        )
        steps, is_sound = self.fit(downdated)
        return steps, is_sound & (downdated.n > systems.T.shape[1])


def _folds_out(one: IntArray) -> tuple[int, ...]:
    """The folds that a set leaves out."""
    return tuple(int(fold) for fold in one if fold >= 0)
