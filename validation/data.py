"""Data of a setting, and the true error of a model fitted to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import integrate, special

from onefit import datasets

__all__ = [
    "EXACT",
    "FRESH_SEED",
    "ON_ROWS",
    "AbsoluteError",
    "Data",
    "Exact",
    "FreshRows",
    "HuberError",
    "OnRows",
    "Rows",
    "Sample",
    "Source",
    "Truth",
    "UnequalGroups",
    "row_losses",
]

FRESH_SEED = 20_240_704


class Truth:
    """Error of a fitted model on a new row: the target of an interval."""

    def __call__(self, simulation: Any, fitted: Any) -> float:
        """The error of ``fitted``; a `datasets.Simulation`, or a `Sample`."""
        raise NotImplementedError


class Rows(NamedTuple):
    """Rows that stand for a law: all of a population, or many fresh ones.

    ``y`` is the target, or its mean given the columns, then with the variance of the noise, or the probability of
    class 1. Weights sum to 1; None is the same for all.
    """

    X: npt.NDArray[np.float64]
    y: npt.NDArray[Any]
    weights: npt.NDArray[np.float64] | None = None
    noise: float = 0.0


class Sample(NamedTuple):
    """A data set, and the rows that stand for its law."""

    X: npt.NDArray[np.float64]
    y: npt.NDArray[Any]
    groups: npt.NDArray[np.int64] | None
    law: Rows


class Source:
    """Where the data sets of a setting come from; a dataclass."""

    def draw(self, seed: int) -> Any:
        """A data set: a `datasets.Simulation`, or a `Sample`."""
        raise NotImplementedError

    def facts(self) -> dict[str, Any]:
        """What it is, for the record."""
        return {"source": type(self).__name__, **asdict(self)}  # type: ignore[call-overload]


def row_losses(loss: str, y: npt.NDArray[Any], prediction: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Loss of each row; for classes 0 and 1, ``y`` may be the probability of class 1."""
    if loss == "zero_one":
        expected: npt.NDArray[np.float64] = np.where(prediction == 1, 1.0 - y, y)
        return expected
    return np.square(y - prediction) if loss == "squared_error" else np.abs(y - prediction)


@dataclass(frozen=True)
class Data(Source):
    """A function of `onefit.datasets` and its arguments."""

    maker: str
    arguments: tuple[tuple[str, Any], ...]

    @classmethod
    def of(cls, maker: str, **arguments: Any) -> Data:
        """From keyword arguments."""
        return cls(maker, tuple(arguments.items()))

    def draw(self, seed: int) -> datasets.Simulation:
        """A data set."""
        simulation: datasets.Simulation = getattr(datasets, self.maker)(**dict(self.arguments), random_state=seed)
        return simulation

    def facts(self) -> dict[str, Any]:
        """The function and its arguments."""
        return {"maker": f"onefit.datasets.{self.maker}", **dict(self.arguments)}


@dataclass(frozen=True)
class UnequalGroups(Data):
    """Groups of `make_grouped` cut to sizes that are drawn from ``smallest`` to its ``group_size``.

    The law of a new row, and so the true error, is that of `make_grouped`: the sizes are drawn on their own.
    """

    smallest: int = 2

    def draw(self, seed: int) -> datasets.Simulation:
        """A data set."""
        whole = super().draw(seed)
        assert whole.groups is not None
        _, first, rows = np.unique(whole.groups, return_index=True, return_counts=True)
        sizes = np.random.default_rng([seed, 1]).integers(self.smallest, rows, endpoint=True)
        place = np.arange(len(whole.groups)) - np.repeat(first, rows)
        kept = place < np.repeat(sizes, rows)
        return replace(whole, X=whole.X[kept], y=whole.y[kept], groups=whole.groups[kept])


@dataclass(frozen=True)
class Exact(Truth):
    """Squared error, or zero-one loss, from the law of the simulation."""

    def __call__(self, simulation: datasets.Simulation, fitted: Any) -> float:
        """`Simulation.true_error`."""
        return simulation.true_error(fitted)


EXACT = Exact()


@dataclass(frozen=True)
class OnRows(Truth):
    """Mean loss on the rows that stand for the law of a `Sample`."""

    loss: str = "squared_error"

    def __call__(self, simulation: Sample, fitted: Any) -> float:
        """For squared error, what the noise adds is added."""
        law = simulation.law
        losses = row_losses(self.loss, law.y, fitted.predict(law.X))
        return law.noise + float(np.average(losses, weights=law.weights))


ON_ROWS = OnRows()


@dataclass(frozen=True)
class FreshRows(Truth):
    """Squared error of a model that is not linear, from the same fresh rows for every data set.

    Only the distance from the true mean is sampled, and the variance of the noise is added. The standard error that is
    left is 0.4% of the error for trees and nearest neighbours, below 1% of the width of an interval.
    """

    n_rows: int = 50_000

    def __call__(self, simulation: datasets.Simulation, fitted: Any) -> float:
        """Variance of the noise plus the mean squared distance from the true mean."""
        X, _ = simulation.sample(self.n_rows, random_state=FRESH_SEED)
        return simulation.best_error + float(np.mean(np.square(fitted.predict(X) - simulation.mean(X))))


@dataclass(frozen=True)
class AbsoluteError(Truth):
    """Mean absolute error of a linear model under noise of unit variance, by quadrature.

    Given the model, ``y - prediction`` is the noise plus a normal d whose mean and variance follow from its
    coefficients. The mean of ``|noise + d|`` over the noise is known in closed form, and one integral over d remains.
    """

    noise_kind: str

    def __call__(self, simulation: datasets.Simulation, fitted: Any) -> float:
        """Mean of ``|noise + d|``."""
        return self.of_normal(*_deviation(simulation, fitted))

    def of_normal(self, mean: float, deviation: float) -> float:
        """The same, from the mean and the deviation of d."""
        given = _GIVEN[self.noise_kind]

        def weighted(d: float) -> float:
            z = (d - mean) / deviation
            return given(d) * float(np.exp(-(z**2) / 2) / (deviation * np.sqrt(2 * np.pi)))

        ends = np.array([-9.0, -3, 0, 3, 9]) * deviation + mean
        kink = 1.0  # where the exponential's closed form changes its branch
        edges = np.sort(np.append(ends, kink)) if ends[0] < kink < ends[-1] else ends
        parts = [integrate.quad(weighted, low, high, epsabs=1e-12)[0] for low, high in pairwise(edges)]
        return float(sum(parts))


@dataclass(frozen=True)
class HuberError(Truth):
    """Mean Huber loss of a linear model: ``huber(u) = (integral of |u - a| over |a| < delta) / 2 - delta^2 / 2``.

    So it is an average of absolute errors, by Gauss and Legendre's rule.
    """

    noise_kind: str
    delta: float = 1.35
    n_nodes: int = 20

    def __call__(self, simulation: datasets.Simulation, fitted: Any) -> float:
        """Mean of ``huber(noise + d)``."""
        return self.of_normal(*_deviation(simulation, fitted))

    def of_normal(self, mean: float, deviation: float) -> float:
        """The same, from the mean and the deviation of d."""
        absolute = AbsoluteError(self.noise_kind)
        nodes, weights = np.polynomial.legendre.leggauss(self.n_nodes)
        errors = [absolute.of_normal(mean - self.delta * node, deviation) for node in nodes]
        return self.delta / 2 * float(weights @ errors) - self.delta**2 / 2


def _deviation(simulation: datasets.Simulation, fitted: Any) -> tuple[float, float]:
    """Mean and deviation of the true mean minus the prediction, for a linear model and independent columns N(0, 1)."""
    beta = simulation.mean(np.eye(simulation.X.shape[1]))
    return -float(fitted.intercept_), float(np.linalg.norm(beta - np.ravel(fitted.coef_)))


def _given_t(df: int) -> Callable[[float], float]:
    """E|T + d| for Student's t scaled to unit variance."""
    scale = float(np.sqrt((df - 2) / df))
    constant = float(np.exp(special.gammaln((df + 1) / 2) - special.gammaln(df / 2)) / np.sqrt(df * np.pi))

    def given(d: float) -> float:
        u = d / scale
        density = constant * (1 + u**2 / df) ** (-(df + 1) / 2)
        return scale * float(u * (2 * special.stdtr(df, u) - 1) + 2 * (df + u**2) / (df - 1) * density)

    return given


def _given_exponential(d: float) -> float:
    """E|E - 1 + d| for a standard exponential E."""
    c = 1 - d
    return float(c - 1 + 2 * np.exp(-c)) if c >= 0 else 1 - c


_GIVEN = {"t3": _given_t(3), "t5": _given_t(5), "exponential": _given_exponential}
