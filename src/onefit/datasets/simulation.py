"""Simulated data together with the law that they come from."""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from ..checks import check_integer
from ..errors import DataError
from ..folds import entropy_of
from ..typing import ArrayLike, FloatArray, IntArray, Predictor, Seed

__all__ = ["Law", "Simulation", "check_coefficients", "check_deviation", "simulate"]

N_NONZERO = 4


class Law(ABC):
    """Joint law of a row of X and its y."""

    @property
    @abstractmethod
    def description(self) -> str:
        """What is simulated."""

    @property
    @abstractmethod
    def best_error(self) -> float:
        """Error of the true mean, or of Bayes' classifier."""

    @abstractmethod
    def mean(self, X: FloatArray) -> FloatArray:
        """Mean of y at rows X."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray | IntArray]:
        """Draw n rows of X and their y."""

    @abstractmethod
    def true_error(self, fitted: Predictor) -> float:
        """Expected loss of a fitted model on a new row."""

    def groups(self, n: int) -> IntArray | None:
        """Group of each of n rows, None if the rows are independent."""
        return None

    def rows_to_check(self) -> FloatArray:
        """Some rows, always the same, typical and far out, at which a model must keep what it promises."""
        X = self.draw(np.random.default_rng(0), 32)[0]
        return np.concatenate([X, 3 * X])


@dataclass(frozen=True, eq=False, repr=False)
class Simulation:
    """Simulated data whose law is known, and so the true error of a model fitted to them.

    The functions ``make_...`` of this package make it.

    Attributes
    ----------
    X : array of shape (n, n_features)
    y : array of shape (n,)
    groups : array of shape (n,) or None
        Group of each row; None if the rows are independent.
    DESCR : str
        What was simulated.

    Examples
    --------
    >>> from sklearn.dummy import DummyRegressor
    >>> from onefit.datasets import make_sine
    >>> simulation = make_sine(n=100, noise=0.2, random_state=0)
    >>> zero = DummyRegressor(strategy="constant", constant=0.0).fit(simulation.X, simulation.y)
    >>> round(simulation.true_error(zero), 12)  # 0.2^2, and 1/2 is the mean square of a sine
    0.54
    """

    X: FloatArray
    y: FloatArray | IntArray
    groups: IntArray | None
    DESCR: str
    _law: Law
    _stream: np.random.Generator = field(default_factory=np.random.default_rng)

    def __repr__(self) -> str:
        n, p = self.X.shape
        return f"<Simulation of {n} rows and {p} column(s)\n{self.DESCR}\n>"

    @property
    def best_error(self) -> float:
        """Error of the true mean (for classes, of Bayes' classifier): no function of X does better.

        Examples
        --------
        >>> from onefit.datasets import make_sine
        >>> make_sine(noise=0.5).best_error
        0.25
        """
        return self._law.best_error

    def true_error(self, fitted: Predictor) -> float:
        """Return the generalization error of a model: its expected loss on a new row, given what it was fitted to.

        The loss is the squared error (the paper's Err_XY), and zero-one for classes. The answer is computed from the
        law, not estimated; the function that made the simulation says for which models, and how accurately.

        Parameters
        ----------
        fitted : object with ``predict``
            A model fitted to ``X`` and ``y``, or any other prediction rule.

        Returns
        -------
        float

        Examples
        --------
        >>> from sklearn.linear_model import LinearRegression
        >>> from onefit.datasets import make_linear
        >>> simulation = make_linear(n=50, p=3, random_state=0)
        >>> model = LinearRegression().fit(simulation.X, simulation.y)
        >>> distance = ((model.coef_ - 1.0) ** 2).sum() + model.intercept_**2
        >>> bool(abs(simulation.true_error(model) - (1.0 + distance)) < 1e-12)
        True
        """
        return self._law.true_error(fitted)

    def mean(self, X: ArrayLike) -> FloatArray:
        """Return the true mean of y at rows X; for classes, the probability of class 1.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        array of shape (n_rows,)

        Examples
        --------
        >>> from onefit.datasets import make_sine
        >>> make_sine(random_state=0).mean([[0.25], [0.75]])
        array([ 1., -1.])
        """
        rows = np.asarray(X, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.X.shape[1]:
            raise DataError(f"X has shape {rows.shape}; it must be a table of {self.X.shape[1]} column(s).")
        return self._law.mean(rows)

    def sample(self, n: int, *, random_state: Seed = None) -> tuple[FloatArray, FloatArray | IntArray]:
        """Draw fresh rows from the same law.

        Parameters
        ----------
        n : int
            Number of rows.
        random_state : int, numpy Generator or None, default=None
            None draws the next rows of the simulation's own stream: every call gives other rows, and the sequence of
            calls is reproducible from the `random_state` that made the simulation.

        Returns
        -------
        X : array of shape (n, n_features)
        y : array of shape (n,)

        Examples
        --------
        >>> from onefit.datasets import make_linear
        >>> X, y = make_linear(n=100, p=5, random_state=0).sample(1000)
        >>> X.shape, y.shape
        ((1000, 5), (1000,))
        """
        n = check_integer("n", n, 1)
        rng = self._stream if random_state is None else np.random.default_rng(entropy_of(random_state))
        return self._law.draw(rng, n)


def simulate(law: Law, n: int, random_state: Seed) -> Simulation:
    """Draw the data; fresh rows come from a stream of their own."""
    seeds = np.random.SeedSequence(entropy_of(random_state)).spawn(2)
    X, y = law.draw(np.random.default_rng(seeds[0]), n)
    return Simulation(X, y, law.groups(n), law.description, law, np.random.default_rng(seeds[1]))


def check_deviation(name: str, value: object) -> float:
    """Return a standard deviation as a finite, non-negative float."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise DataError(f"{name}={value!r} must be a number, zero or larger.")
    if not math.isfinite(value) or value < 0:
        raise DataError(f"{name}={value!r} must be finite and not negative: it is a standard deviation.")
    return float(value)


def check_coefficients(beta: ArrayLike, p: int) -> FloatArray:
    """Return p finite coefficients; a number stands for the first four, and the others are zero."""
    try:
        given = np.asarray(beta, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"beta={beta!r} must be a number or {p} numbers.") from error
    if given.shape not in {(), (p,)} or not np.isfinite(given).all():
        raise DataError(f"beta={beta!r} must be a finite number, or one for each of the {p} columns.")
    return np.where(np.arange(p) < N_NONZERO, given, 0.0) if given.ndim == 0 else given.copy()
