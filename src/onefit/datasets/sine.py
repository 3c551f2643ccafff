"""The paper's curve: a sine with noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..checks import check_integer
from ..typing import FloatArray, Predictor, Seed
from .predictor import evaluate, prediction_function
from .quadrature import integrate
from .simulation import Law, Simulation, check_deviation, simulate

__all__ = ["make_sine"]

PANELS, PANELS_WITH_KNOTS = 1024, 16


@dataclass(frozen=True)
class SineLaw(Law):
    """X uniform on [0, 1], y normal about a sine of one period."""

    noise: float

    @property
    def description(self) -> str:
        """What is simulated."""
        return f"Simulated: x uniform on [0, 1], sorted; y = sin(2 pi x) + N(0, {self.noise:g}^2)."

    @property
    def best_error(self) -> float:
        """Variance of the noise."""
        return self.noise**2

    def mean(self, X: FloatArray) -> FloatArray:
        """Sine of one period."""
        sine: FloatArray = np.sin(2 * np.pi * X[:, 0])
        return sine

    def draw(self, rng: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray]:
        """Draw rows sorted by x."""
        X = np.sort(rng.uniform(size=n))[:, None]
        return X, self.mean(X) + self.noise * rng.standard_normal(n)

    def true_error(self, fitted: Predictor) -> float:
        """Noise variance plus the integral of the squared distance from the sine."""
        predict = prediction_function(fitted)

        def squared_distance(x: FloatArray) -> FloatArray:
            distance: FloatArray = evaluate(predict, x[:, None]) - self.mean(x[:, None])
            return distance**2

        return self.best_error + integrate(squared_distance, _edges(fitted))


def _edges(fitted: Predictor) -> FloatArray:
    """Ends of the panels: at the model's knots if it tells them, else many."""
    knots = getattr(fitted, "knots_", None)
    if knots is None or len(knots) == 0:
        return np.linspace(0, 1, PANELS + 1)
    inside = np.clip(np.asarray(knots[0], dtype=np.float64).ravel(), 0, 1)
    return np.union1d(inside, np.linspace(0, 1, PANELS_WITH_KNOTS + 1))


def make_sine(n: int = 100, *, noise: float = 0.2, random_state: Seed = None) -> Simulation:
    """Simulate a sine with noise, the data of the paper's Figures 1 to 3.

    ``x`` is uniform on [0, 1] and sorted, ``y = sin(2 pi x) + N(0, noise^2)``.

    Parameters
    ----------
    n : int, default=100
        Number of rows, at least 2.
    noise : float, default=0.2
        Standard deviation of the noise. Figure 3 has 1.
    random_state : int, numpy Generator or None, default=None

    Returns
    -------
    Simulation

    Notes
    -----
    The true error of a model is ``noise^2`` plus the integral of ``(sin(2 pi x) - prediction(x))^2`` over [0, 1], by
    Gauss and Lobatto's rule of 9 points on panels. They end at the model's knots if it has the attribute ``knots_`` (a
    list with an array of knots a column); else there are 1,024. Panels are halved until nothing changes, so that the
    answer is good to about 1e-12 for predictions that are smooth but for a few hundred kinks or steps: splines,
    polynomials, kernel methods, trees, nearest neighbours. Steps that come back within 1e-4 may fall between the
    points; after a million predictions (forests) halving ends, with about 6 digits.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from onefit.datasets import make_sine
    >>> simulation = make_sine(n=200, random_state=0)
    >>> line = LinearRegression().fit(simulation.X, simulation.y)
    >>> round(simulation.true_error(line), 2)
    0.24
    """
    n = check_integer("n", n, 2)
    return simulate(SineLaw(check_deviation("noise", noise)), n, random_state)
