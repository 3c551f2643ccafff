"""Aliases and protocols used throughout: what arrays hold, and what estimators, tables and splitters must have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

__all__ = [
    "AnyArray",
    "ArrayLike",
    "BoolArray",
    "CVLike",
    "Data",
    "Estimator",
    "FloatArray",
    "IntArray",
    "Predictor",
    "Rows",
    "Seed",
    "Shaped",
    "Splitter",
]

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.intp]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
AnyArray: TypeAlias = npt.NDArray[Any]


class Shaped(Protocol):
    """Rows with a shape: an array, a frame of any library, a sparse matrix, a Series."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Numbers of rows and columns."""


Data: TypeAlias = Shaped | Sequence[object]
"""What X may be: a table, or a list of rows or of objects such as texts."""

Rows: TypeAlias = ArrayLike | Shaped
"""A value, or a row of values, for each observation: what y may be, and X of a model that takes numbers."""

Seed: TypeAlias = int | np.integer[Any] | np.random.Generator | np.random.RandomState | None
"""What scikit-learn takes for a random_state, and NumPy's generators."""


class Predictor(Protocol):
    """What predicts: a model that was fitted, or any other rule."""

    def predict(self, X: Any, /) -> Any:
        """Predictions for rows."""


class Estimator(Predictor, Protocol):
    """What can be fitted and predict."""

    def fit(self, X: Any, y: Any, /) -> Any:
        """Fit to rows; returns itself."""


class Splitter(Protocol):
    """A cross-validation of scikit-learn."""

    def split(self, X: Any, y: Any, groups: Any, /) -> Iterable[tuple[IntArray, IntArray]]:
        """Training and test rows of each split."""


CVLike: TypeAlias = int | Splitter | Iterable[tuple[ArrayLike, ArrayLike]] | None
"""What scikit-learn takes for ``cv``: a number of folds, a splitter, or pairs of training and test rows."""
