"""The models of the paper's Figures 1 to 3: a thin plate regression spline of a noisy sine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from onefit import PenalizedRegression, SplineRegression
from onefit.datasets import make_sine

__all__ = ["DATA", "Shape", "System", "partitions"]

Array = NDArray[np.float64]
DATA, DEALT = np.random.SeedSequence(0).spawn(2)
"""Seeds of the data and of the partitions, which must not depend on them."""


def partitions(n: int, n_folds: int, n_repeats: int, seed: int | np.random.SeedSequence = DEALT) -> NDArray[np.intp]:
    """Random partitions into folds of one size, or nearly, (repeats, rows)."""
    dealt = np.tile(np.arange(n) % n_folds, (n_repeats, 1))
    return np.random.default_rng(seed).permuted(dealt, axis=1)


@dataclass(frozen=True)
class System:
    """What a loop over training sets needs: minimize ``||y - Xb||^2 + b'Sb``, ``S = R'R``, the intercept in X."""

    X: Array
    root: Array
    y: Array

    @property
    def penalty(self) -> Array:
        """S, times its strength."""
        penalty: Array = self.root.T @ self.root
        return penalty

    @property
    def rotated(self) -> System:
        """The same model in coordinates in which ``X'X + S`` is the identity.

        As made, thin plate functions differ in length by 1e4: at n = 1600, p = 40, K = 320 the inverse of the normal
        equations then costs the literal formula 2e-9 of its fold errors. The operations are as many in any coordinates.
        """
        T: Array = np.linalg.qr(np.vstack([self.X, self.root])).R
        X, root = (np.linalg.solve(T.T, part.T).T for part in (self.X, self.root))
        return System(np.ascontiguousarray(X), np.ascontiguousarray(root), self.y)


@dataclass(frozen=True)
class Shape:
    """n rows, p functions (the constant is one of them) and K folds; noise and penalty of Figures 1 and 2.

    The functions are made once, before any clock starts, as the authors do with mgcv's.
    """

    n: int
    p: int
    n_folds: int
    noise: float = 0.2
    lam: float = 1.0

    @cached_property
    def _data(self) -> tuple[Array, Array, Array]:
        """Functions without the constant (n, p - 1), the root of their roughness, and y."""
        sim = make_sine(self.n, noise=self.noise, random_state=np.random.default_rng(DATA))
        spline = SplineRegression(n_basis=self.p, basis="tp", lam=self.lam).fit(sim.X, sim.y)
        functions = spline.smooths_[0]
        return functions(sim.X[:, 0]), functions.root, sim.y

    @property
    def X(self) -> Array:
        """Columns for `onefit.nested_cv`, which adds the constant itself."""
        return self._data[0]

    @property
    def y(self) -> Array:
        """Sine and noise."""
        return self._data[2]

    @cached_property
    def estimator(self) -> PenalizedRegression:
        """The spline as a regression on its functions."""
        root = self._data[1]
        return PenalizedRegression(root.T @ root, lam=self.lam)

    @cached_property
    def system(self) -> System:
        """The same for loops that are written by hand."""
        functions, root, y = self._data
        free = np.zeros((len(root), 1))
        X = np.column_stack([np.ones(self.n), functions])
        return System(X, np.sqrt(self.lam) * np.hstack([free, root]), y).rotated

    def folds(self, n_repeats: int = 1) -> NDArray[np.intp]:
        """Random partitions; the first is the same whatever their number."""
        return partitions(self.n, self.n_folds, n_repeats)

    @property
    def training_sets(self) -> int:
        """Single folds and pairs of folds that one repeat leaves out."""
        return self.n_folds * (self.n_folds + 1) // 2
