"""Simulations in which y is linear in Gaussian columns: signals, plain regression, groups."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..checks import check_choice, check_integer
from ..typing import ArrayLike, FloatArray, IntArray, Predictor, Seed
from .predictor import linear_map, prediction_function
from .simulation import Law, Simulation, check_coefficients, check_deviation, simulate

__all__ = ["make_grouped", "make_linear", "make_signal"]

NoiseKind = Literal["normal", "t5", "t3", "exponential", "heteroscedastic"]
NOISE_KINDS: tuple[NoiseKind, ...] = ("normal", "t5", "t3", "exponential", "heteroscedastic")


@dataclass(frozen=True)
class LinearLaw(Law):
    """The mean of y is ``X c``, and X has mean zero.

    A model ``a + X w`` is off by ``a + X (w - c)``, so that its error is the noise variance plus ``a^2`` plus the
    variance of ``X (w - c)``.
    """

    coefficients: FloatArray

    @abstractmethod
    def variance(self, d: FloatArray) -> float:
        """Variance of ``X d``."""

    def mean(self, X: FloatArray) -> FloatArray:
        """``X c``."""
        return X @ self.coefficients

    def true_error(self, fitted: Predictor) -> float:
        """Exact error of a model that is linear in the columns."""
        constant, slopes = linear_map(prediction_function(fitted), self.rows_to_check())
        return self.best_error + constant**2 + self.variance(slopes - self.coefficients)


@dataclass(frozen=True)
class SignalLaw(LinearLaw):
    """Curves with covariance ``exp(-|s - t|/2)`` at t = 1/N, ..., 1.

    It is Markov: from one point to the next, X is multiplied by ``rho`` and gets fresh noise, which takes the place of
    an N x N matrix.
    """

    noise: float

    @property
    def n_points(self) -> int:
        """Points of a curve."""
        return len(self.coefficients)

    @property
    def description(self) -> str:
        """What is simulated."""
        return (
            f"Simulated: Gaussian curves at t = 1/N, ..., 1 with N = {self.n_points} and covariance exp(-|s - t|/2); "
            f"y = (1/N) X sin(2 pi t) + N(0, {self.noise:g}^2)."
        )

    @property
    def best_error(self) -> float:
        """Variance of the noise."""
        return self.noise**2

    @property
    def _rho(self) -> float:
        return float(np.exp(-0.5 / self.n_points))

    @property
    def _innovation(self) -> float:
        """``1 - rho^2``."""
        return float(-np.expm1(-1 / self.n_points))

    def variance(self, d: FloatArray) -> float:
        """``d' Sigma d``: square sum of what each innovation adds to the integral."""
        later = d.copy()
        for j in range(self.n_points - 2, -1, -1):
            later[j] += self._rho * later[j + 1]
        return float(later[0] ** 2 + self._innovation * (later[1:] @ later[1:]))

    def draw(self, rng: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray]:
        """Draw curves and their responses."""
        X = rng.standard_normal((n, self.n_points))
        X[:, 1:] *= np.sqrt(self._innovation)
        for j in range(1, self.n_points):
            X[:, j] += self._rho * X[:, j - 1]
        return X, self.mean(X) + self.noise * rng.standard_normal(n)


@dataclass(frozen=True)
class IndependentColumns(LinearLaw):
    """Columns are independent N(0, 1)."""

    def variance(self, d: FloatArray) -> float:
        """Square sum."""
        return float(d @ d)


@dataclass(frozen=True)
class RegressionLaw(IndependentColumns):
    """Independent rows, noise of several kinds."""

    noise: float
    noise_kind: str

    @property
    def description(self) -> str:
        """What is simulated."""
        p = len(self.coefficients)
        return f"Simulated: {p} columns N(0, 1), y = X beta + noise ({self.noise_kind}) of deviation {self.noise:g}."

    @property
    def best_error(self) -> float:
        """Variance of the noise."""
        return self.noise**2

    def draw(self, rng: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray]:
        """Draw rows."""
        X = rng.standard_normal((n, len(self.coefficients)))
        return X, self.mean(X) + self.noise * _unit_noise(rng, self.noise_kind, X)


def _unit_noise(rng: np.random.Generator, kind: str, X: FloatArray) -> FloatArray:
    """Noise of mean 0 and variance 1."""
    n = len(X)
    if kind in ("t5", "t3"):
        df = int(kind[1])
        return rng.standard_t(df, n) * float(np.sqrt((df - 2) / df))
    if kind == "exponential":
        return rng.standard_exponential(n) - 1
    noise = rng.standard_normal(n)
    if kind == "heteroscedastic":
        noise *= np.sqrt((1 + X[:, 0] ** 2) / 2)
    return noise


@dataclass(frozen=True)
class GroupedLaw(IndependentColumns):
    """A random effect that the rows of a group share."""

    group_size: int
    group_sd: float
    noise: float

    @property
    def description(self) -> str:
        """What is simulated."""
        return (
            f"Simulated: groups of {self.group_size} rows, {len(self.coefficients)} columns N(0, 1), y = X beta + "
            f"N(0, {self.group_sd:g}^2) of the group + N(0, {self.noise:g}^2) of the row."
        )

    @property
    def best_error(self) -> float:
        """Variance of a row of a new group: nothing tells its effect."""
        return self.noise**2 + self.group_sd**2

    def groups(self, n: int) -> IntArray:
        """Groups one after the other."""
        return np.arange(n) // self.group_size

    def draw(self, rng: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray]:
        """Draw rows of new groups; the last may be incomplete."""
        X = rng.standard_normal((n, len(self.coefficients)))
        groups = self.groups(n)
        effect = self.group_sd * rng.standard_normal(groups[-1] + 1)
        return X, self.mean(X) + effect[groups] + self.noise * rng.standard_normal(n)


def make_signal(n: int = 100, *, n_points: int = 100, noise: float = 0.1, random_state: Seed = None) -> Simulation:
    """Simulate signal regression as in section 5 of the paper.

    The data are simulated, not measured: each row is a Gaussian curve at ``t = 1/N, ..., 1`` with covariance
    ``exp(-|s - t|/2)``, and ``y = (1/N) X sin(2 pi t) + N(0, noise^2)``. X holds the curves as they are, not times 1/N.

    Parameters
    ----------
    n : int, default=100
        Number of curves, at least 2.
    n_points : int, default=100
        Number N of points of a curve, at least 2.
    noise : float, default=0.1
        Standard deviation of the noise, as the authors ran it; the paper's text can be read as a variance.
    random_state : int, numpy Generator or None, default=None

    Returns
    -------
    Simulation

    Notes
    -----
    The true error of a model ``a + X w`` is ``noise^2 + a^2 + (w - c)' Sigma (w - c)`` with ``c = sin(2 pi t)/N``. It
    is exact for models that are linear in the curve; ``a`` and ``w`` are recovered from predictions at N + 1 curves,
    and a model that is not linear is a `DataError`.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from onefit.datasets import make_signal
    >>> simulation = make_signal(random_state=0)
    >>> model = Ridge(alpha=10.0).fit(simulation.X, simulation.y)
    >>> 0.01 < simulation.true_error(model) < 0.02
    True
    """
    n, n_points = check_integer("n", n, 2), check_integer("n_points", n_points, 2)
    omega = np.sin(2 * np.pi * np.arange(1, n_points + 1) / n_points)
    return simulate(SignalLaw(omega / n_points, check_deviation("noise", noise)), n, random_state)


def make_linear(
    n: int = 100,
    p: int = 20,
    *,
    noise: float = 1.0,
    beta: ArrayLike = 1.0,
    noise_kind: NoiseKind = "normal",
    random_state: Seed = None,
) -> Simulation:
    """Simulate a linear regression as Bates, Hastie and Tibshirani do.

    The columns of X are independent N(0, 1), and ``y = X beta`` plus noise of mean 0.

    Parameters
    ----------
    n : int, default=100
        Number of rows, at least 2.
    p : int, default=20
        Number of columns.
    noise : float, default=1.0
        Standard deviation of the noise, whatever its kind.
    beta : float or array of shape (p,), default=1.0
        Coefficients. A number is the value of the first four, and the others are zero: 1 is the authors' sparse example
        (there p = 500, n = 50 or 100), 0 their least squares example (p = 20, n from 40 to 1,600). The true error of
        least squares does not depend on it.
    noise_kind : {"normal", "t5", "t3", "exponential", "heteroscedastic"}, default="normal"
        Student's t with 5 or 3 degrees of freedom; exponential minus its mean; or normal, given X, with
        variance ``noise^2 (1 + x_1^2)/2``, whose mean is ``noise^2``.
    random_state : int, numpy Generator or None, default=None

    Returns
    -------
    Simulation

    Notes
    -----
    The true error of a model ``a + X w`` is ``noise^2 + a^2 + ||w - beta||^2``. It is exact for linear models, whose
    ``a`` and ``w`` are recovered from p + 1 predictions; a model that is not linear is a `DataError`.

    References
    ----------
    Bates, Hastie and Tibshirani (2024). Cross-validation: what does it estimate and how well does it do it? Journal of
    the American Statistical Association 119, 1434-1445.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from onefit.datasets import make_linear
    >>> simulation = make_linear(n=40, p=20, noise_kind="t3", random_state=0)
    >>> model = LinearRegression().fit(simulation.X, simulation.y)
    >>> simulation.true_error(model) > simulation.best_error == 1.0
    True
    """
    n, p = check_integer("n", n, 2), check_integer("p", p, 1)
    kind = check_choice("noise_kind", noise_kind, NOISE_KINDS)
    law = RegressionLaw(check_coefficients(beta, p), check_deviation("noise", noise), kind)
    return simulate(law, n, random_state)


def make_grouped(
    n_groups: int = 30,
    group_size: int = 4,
    p: int = 5,
    *,
    group_sd: float = 1.0,
    noise: float = 1.0,
    beta: ArrayLike = 1.0,
    random_state: Seed = None,
) -> Simulation:
    """Simulate a regression whose rows come in groups that share a random effect.

    The columns of X are independent N(0, 1), and ``y = X beta + N(0, group_sd^2) + N(0, noise^2)``, where the first is
    drawn once a group.

    Parameters
    ----------
    n_groups : int, default=30
        Number of groups, at least 2.
    group_size : int, default=4
        Rows a group.
    p : int, default=5
        Number of columns.
    group_sd : float, default=1.0
        Standard deviation between groups.
    noise : float, default=1.0
        Standard deviation within groups.
    beta : float or array of shape (p,), default=1.0
        Coefficients. A number is the value of the first four, and the others are zero.
    random_state : int, numpy Generator or None, default=None

    Returns
    -------
    Simulation
        With ``groups``. `Simulation.sample` draws new groups, one after the other, ``group_size`` rows each.

    Notes
    -----
    The true error is that for a row of a new group: ``noise^2 + group_sd^2 + a^2 + ||w - beta||^2`` for a model
    ``a + X w``. It is exact for linear models; a model that is not linear is a `DataError`.

    Examples
    --------
    >>> from onefit.datasets import make_grouped
    >>> simulation = make_grouped(n_groups=3, group_size=2, random_state=0)
    >>> simulation.groups, simulation.best_error
    (array([0, 0, 1, 1, 2, 2]), 2.0)
    """
    n_groups, group_size = check_integer("n_groups", n_groups, 2), check_integer("group_size", group_size, 1)
    coefficients = check_coefficients(beta, check_integer("p", p, 1))
    law = GroupedLaw(coefficients, group_size, check_deviation("group_sd", group_sd), check_deviation("noise", noise))
    return simulate(law, n_groups * group_size, random_state)
