"""Losses of generalized linear models in their linear predictors: what Newton's method must know of each.

Arrays of linear predictors ``eta`` are (P, n, ...): one for each class of a softmax, else P = 1. Coefficients belong to
``basis.shape[1]`` predictors: a softmax does not change when all of its predictors do by the same, so that those of its
classes are ``basis`` times those of one class less, on which the penalty is the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from scipy import linalg

from ..typing import AnyArray, FloatArray

__all__ = ["Binomial", "Family", "Gamma", "Multinomial", "Normal", "Poisson", "Tweedie"]


MOST_CLASSES = 16
"""Of a softmax in the compiled kernel."""


class Family(ABC):
    """A loss ``l(eta, y)``, convex in ``eta``.

    Attributes
    ----------
    basis : array (P, c)
        Linear predictors from those that have coefficients.
    loss_name : str
        What scikit-learn calls the loss in its messages.
    kernel : tuple or None
        Its number in the compiled kernel (``tasks.h``), and its power; None if that does not know it.
    """

    basis: FloatArray = np.ones((1, 1))
    loss_name: str = ""
    kernel: tuple[int, float] | None = None

    @abstractmethod
    def residual(self, eta: FloatArray, y: FloatArray) -> FloatArray:
        """``-dl/deta``, (P, n, ...); ``eta`` may be overwritten."""

    @abstractmethod
    def curvature(self, eta: FloatArray, y: FloatArray) -> FloatArray:
        """Second derivatives (c, c, n) in the predictors that have coefficients, at ``eta`` (P, n)."""

    def root_curvature(self, eta: FloatArray, y: FloatArray) -> FloatArray:
        """Tables F (P, c, n) with ``F'F`` the second derivatives of each row, without their rounding errors."""
        return np.sqrt(self.curvature(eta, y))

    @abstractmethod
    def loss(self, eta: FloatArray, y: FloatArray) -> FloatArray:
        """``l``, (n,), at ``eta`` (P, n)."""

    @abstractmethod
    def start(self, y: FloatArray, weights: FloatArray) -> FloatArray:
        """Constants (c,) that are not far from the best."""

    def predicted(self, eta: FloatArray) -> FloatArray:
        """What is predicted, in the shape of ``eta``: scores of classes, or means."""
        return eta

    def has_no_mean(self, y: FloatArray, weights: FloatArray) -> bool:
        """Whether no constant is the best, as all y are at an end of their range."""
        return False

    def fault(self, y: FloatArray) -> AnyArray:
        """Which values of y the loss is not made for."""
        return np.zeros(len(y), dtype=bool)


class Binomial(Family):
    """Two classes, coded -1 and 1: ``l = log(1 + exp(-y eta))``."""

    kernel = (0, 0.0)

    def residual(self, eta: FloatArray, y: FloatArray) -> FloatArray:
        """``y / (1 + exp(y eta))``, without a difference that would cancel."""
        eta *= y
        with np.errstate(over="ignore"):  # a row that is surely right has no residual
            np.exp(eta, out=eta)
        eta += 1.0
        return np.divide(y, eta, out=eta)

    def curvature(self, eta: FloatArray, y: FloatArray) -> FloatArray:
        """Of the probabilities p, ``p (1 - p)``."""
        other = np.abs(self.residual(eta.copy(), y))
        return (other * (1.0 - other))[None]

    def loss(self, eta: FloatArray, y: FloatArray) -> FloatArray:
        """The log loss."""
        return np.asarray(np.logaddexp(0.0, -y * eta)[0])

    def start(self, y: FloatArray, weights: FloatArray) -> FloatArray:
        """Log odds."""
        of_class = np.maximum([weights @ (y[0] > 0), weights @ (y[0] < 0)], 1e-300)
        return np.log(of_class[:1] / of_class[1:])


class Multinomial(Family):
    """Three classes or more, coded by columns of -1 and 1: ``l = log sum exp(eta) - eta_y``."""

    def __init__(self, n_classes: int) -> None:
        self.basis = linalg.helmert(n_classes).T.copy()
        self.kernel = (5, 0.0) if n_classes <= MOST_CLASSES else None

    def residual(self, eta: FloatArray, y: FloatArray) -> FloatArray:
        """Indicators of the classes less their probabilities; a row's own is the sum of the others."""
        self._to_probabilities(eta)
        is_own = y > 0
        np.negative(eta, out=eta)
        np.copyto(eta, 0.0, where=is_own)
        np.copyto(eta, -eta.sum(axis=0), where=is_own)
        return eta

    def _to_probabilities(self, eta: FloatArray) -> None:
        eta -= eta.max(axis=0)
        np.exp(eta, out=eta)
        eta /= eta.sum(axis=0)

    def curvature(self, eta: FloatArray, y: FloatArray) -> FloatArray:
        """Of the probabilities p, ``diag(p) - pp'`` in the basis: a product, as the difference cancels where p is 1."""
        root = self.root_curvature(eta, y)
        return np.asarray(np.einsum("pan,pbn->abn", root, root))

    def root_curvature(self, eta: FloatArray, y: FloatArray) -> FloatArray:
        """``diag(p)^1/2 (I - 1p')`` in the basis."""
        p = eta.copy()
        self._to_probabilities(p)
        return np.asarray(np.sqrt(p)[:, None] * (self.basis[:, :, None] - (self.basis.T @ p)[None]))

    def loss(self, eta: FloatArray, y: FloatArray) -> FloatArray:
        """The log loss, to all digits where it is small: times a large weight it is not."""
        is_own = y > 0
        ahead = eta - np.where(is_own, eta, 0.0).sum(axis=0)
        largest = ahead.max(axis=0)
        others = np.where(is_own, 0.0, np.exp(ahead - largest)).sum(axis=0)
        return np.asarray(largest + np.log1p(others + np.expm1(-largest)))

    def start(self, y: FloatArray, weights: FloatArray) -> FloatArray:
        """Logarithms of the shares."""
        return np.asarray(self.basis.T @ np.log(np.maximum((y > 0) @ weights, 1e-300)))


class _LogLink(Family):
    """Means ``exp(eta)``."""

    def start(self, y: FloatArray, weights: FloatArray) -> FloatArray:
        """Logarithm of the mean."""
        return np.log([max(float(np.average(y[0], weights=weights)), 1e-300)])

    def predicted(self, eta: FloatArray) -> FloatArray:
        """Means."""
        return np.asarray(np.exp(eta))

    def has_no_mean(self, y: FloatArray, weights: FloatArray) -> bool:
        """Whether all are zero."""
        return not (y[0] * weights).any()


class Poisson(_LogLink):
    """Counts: ``l = mu - y eta``."""

    loss_name = "HalfPoissonLoss"
    kernel = (1, 0.0)

    def residual(self, eta: FloatArray, y: FloatArray) -> FloatArray:
        """``y - mu``."""
        np.exp(eta, out=eta)
        return np.subtract(y, eta, out=eta)

    def curvature(self, eta: FloatArray, y: FloatArray) -> FloatArray:
        """The mean."""
        return np.exp(eta)[None]

    def loss(self, eta: FloatArray, y: FloatArray) -> FloatArray:
        """But for what does not depend on ``eta``, half the deviance."""
        return np.asarray((np.exp(eta) - y * eta)[0])

    def fault(self, y: FloatArray) -> AnyArray:
        """Negative ones."""
        return y < 0


class Gamma(_LogLink):
    """Positive values: ``l = eta + y / mu``."""

    loss_name = "HalfGammaLoss"
    kernel = (2, 0.0)

    def residual(self, eta: FloatArray, y: FloatArray) -> FloatArray:
        """``y / mu - 1``."""
        np.negative(eta, out=eta)
        np.exp(eta, out=eta)
        eta *= y
        eta -= 1.0
        return eta

    def curvature(self, eta: FloatArray, y: FloatArray) -> FloatArray:
        """``y / mu``."""
        return (y * np.exp(-eta))[None]

    def loss(self, eta: FloatArray, y: FloatArray) -> FloatArray:
        """But for what does not depend on ``eta``, half the deviance."""
        return np.asarray((eta + y * np.exp(-eta))[0])

    def fault(self, y: FloatArray) -> AnyArray:
        """Zero and less."""
        return y <= 0


class Tweedie(_LogLink):
    """Powers between 1 and 2: ``l = mu^(2-power) / (2-power) - y mu^(1-power) / (1-power)``."""

    loss_name = "HalfTweedieLoss"

    def __init__(self, power: float) -> None:
        self.power, self.kernel = power, (3, power)

    def _powers(self, eta: FloatArray) -> tuple[FloatArray, FloatArray]:
        return np.exp((1.0 - self.power) * eta), np.exp((2.0 - self.power) * eta)

    def residual(self, eta: FloatArray, y: FloatArray) -> FloatArray:
        """``y mu^(1-power) - mu^(2-power)``."""
        first, second = self._powers(eta)
        first *= y
        first -= second
        return first

    def curvature(self, eta: FloatArray, y: FloatArray) -> FloatArray:
        """Positive for every y that is not negative."""
        first, second = self._powers(eta)
        return ((2.0 - self.power) * second + (self.power - 1.0) * y * first)[None]

    def loss(self, eta: FloatArray, y: FloatArray) -> FloatArray:
        """But for what does not depend on ``eta``, half the deviance."""
        first, second = self._powers(eta)
        return np.asarray((second / (2.0 - self.power) - y * first / (1.0 - self.power))[0])

    def fault(self, y: FloatArray) -> AnyArray:
        """Negative ones."""
        return y < 0


class Normal(Family):
    """Numbers: ``l = (y - eta)^2 / 2``."""

    loss_name = "HalfTweedieLossIdentity"
    kernel = (4, 0.0)

    def residual(self, eta: FloatArray, y: FloatArray) -> FloatArray:
        """``y - eta``."""
        return np.subtract(y, eta, out=eta)

    def curvature(self, eta: FloatArray, y: FloatArray) -> FloatArray:
        """One."""
        return np.ones((1, *eta.shape))

    def loss(self, eta: FloatArray, y: FloatArray) -> FloatArray:
        """Half the square."""
        return np.asarray(np.square(y - eta)[0] / 2.0)

    def start(self, y: FloatArray, weights: FloatArray) -> FloatArray:
        """The mean."""
        return np.array([np.average(y[0], weights=weights)])
