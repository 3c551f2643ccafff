"""Training sets diagonalized against the penalty, which is then chosen in each of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..criteria import Spectrum
from ..learners import TunedLearner
from ..linalg.batched import inverse_roots
from ..linalg.columns import EPS
from ..typing import BoolArray, FloatArray
from .trainingsets import inverse_factors

__all__ = ["Middle", "SetBases", "SetSpectra", "keeps_squares", "middle_of"]

KNOWN_SPAN = 1e7
"""Eigenvalues up to this factor from tau, both ways, are known well enough to choose a penalty."""

NEAR = 1e6
"""Tau is at most this factor from the ends of the spectrum, if it can be."""

AMPLIFIED = 1e5
"""Largest factor by which the shrinkage at the chosen penalty may magnify rounding errors."""

DIGITS = 1e-8
"""How much of the residuals these errors may be."""

LEAST_LEFT = 1e-2
"""Part of the squares of a fit to all rows that must be left in a training set, and part of these in its own residuals:
both are differences, and where a criterion is flat its minimum moves by millions of times their relative error."""


def middle_of(tuned: TunedLearner, spectrum: Spectrum) -> float:
    """The penalty to decompose about: what is chosen on all rows, as the training sets will choose a similar one."""
    tau = float(np.exp(np.log(tuned.choose(spectrum)).mean()))
    mu = spectrum.mu[spectrum.mu > 0]
    if not len(mu):
        return tau
    low, high = max(mu.min(), mu.max() / NEAR), min(mu.max(), mu.min() * NEAR)
    return float(np.clip(tau, low, high) if low <= high else np.sqrt(mu.min()) * np.sqrt(mu.max()))


@dataclass(frozen=True)
class Middle:
    """Coordinates in which all rows and the penalty are diagonal, ``Z'WZ + tau diag(s) = I``.

    The first ``n_free`` directions of a training set carry no penalty, and no row sees the last ``n_null``.
    """

    s: FloatArray
    tau: float
    n_free: int
    n_null: int = 0


@dataclass(frozen=True)
class SetBases:
    """B training sets, each in a basis ``Z T`` in which its Gram matrix is ``diag(x)`` and the penalty ``diag(theta)``.

    With ``M = I - Z_J'WZ_J = LL'`` without the rows J, one eigendecomposition ``L^-1 diag(s) L^-T = U diag(theta) U'``
    gives ``T = L^-T U``, and ``x = 1 - tau theta``.

    Attributes
    ----------
    middle : Middle
    back : (B, d, d), ``T'``
    x, theta, root_x : (B, d); ``root_x`` is ``x^(-1/2)``, zero in directions that no row sees
    magnified : (B,), by how much rounding errors are
    is_sound : (B,), which training sets are far from singular
    """

    middle: Middle
    back: FloatArray
    x: FloatArray
    theta: FloatArray
    root_x: FloatArray
    magnified: FloatArray
    is_sound: BoolArray

    @classmethod
    def of(cls, middle: Middle, removed: FloatArray) -> SetBases:
        """Without rows of Gram matrices ``removed`` (B, d, d)."""
        d = len(middle.s)
        _, inverse, is_sound = inverse_factors(np.eye(d) - removed)
        theta, U = np.linalg.eigh((inverse * middle.s) @ inverse.swapaxes(1, 2))
        theta[:, : middle.n_free] = 0.0
        theta = np.clip(theta, 0.0, 1.0 / middle.tau)
        back = U.swapaxes(1, 2) @ inverse
        x = 1.0 - middle.tau * theta
        seen = (x > 0) & (np.arange(d) < d - middle.n_null)  # theta ascends
        root_x = inverse_roots(np.where(seen, x, 0.0))
        magnified = np.square(inverse).sum(axis=(1, 2)) / d
        return cls(middle, back, x, theta, root_x, magnified, is_sound)


@dataclass(frozen=True)
class SetSpectra:
    """What training sets see of some outputs.

    Attributes
    ----------
    bases : SetBases
    spectrum : Spectrum, for what is to be fitted
    of_rest : (B, d, Q), what orthonormal directions reach of the rest
    """

    bases: SetBases
    spectrum: Spectrum
    of_rest: FloatArray

    @classmethod
    def of(
        cls, bases: SetBases, right: FloatArray, of_rest: FloatArray, squares: FloatArray, n: FloatArray
    ) -> SetSpectra:
        """From products ``right`` and ``of_rest`` (B, d, Q) of Z with y and with some residuals of a fit to y.

        The squares of these are ``squares`` (B, Q), over the ``n`` (B,) rows that stay.
        """
        k, Q = bases.middle.n_free, right.shape[2]
        gamma = bases.root_x[:, :, None] * (bases.back @ np.concatenate([right, of_rest], axis=2))
        rest = squares - np.square(gamma[..., Q:]).sum(axis=1)
        with np.errstate(over="ignore"):  # an eigenvalue that is not known, as `is_known` finds
            seen = np.where(bases.root_x > 0, bases.x, 0.0)[:, k:]
            mu = seen / np.maximum(bases.theta[:, k:], np.finfo(float).tiny)
        spectrum = Spectrum.of(mu, gamma[:, k:, :Q], np.maximum(rest, 0.0), n, k)
        return cls(bases, spectrum, gamma[..., Q:])

    def solve(self, right: FloatArray, lams: FloatArray) -> FloatArray:
        """Coefficients (B, d, Q) of Z at penalties (B, Q), for right-hand sides (B, d, Q)."""
        bases = self.bases
        projected = np.where(bases.root_x[:, :, None] > 0, bases.back @ right, 0.0)
        shrunk = projected / (bases.x[:, :, None] + lams[:, None] * bases.theta[:, :, None])
        coefficients: FloatArray = bases.back.swapaxes(1, 2) @ shrunk
        return coefficients

    def is_known(self, lams: FloatArray) -> BoolArray:
        """Which training sets can be trusted at the penalties (B, Q) that they chose."""
        middle, magnified = self.bases.middle, self.bases.magnified
        mu = self.spectrum.mu[:, : self.spectrum.mu.shape[1] - middle.n_null]
        gamma = self.spectrum.gamma[:, : mu.shape[1]]
        with np.errstate(over="ignore"):
            in_units = mu / middle.tau, lams / middle.tau
        known = _is_known(*in_units, magnified)
        return self.bases.is_sound & known & _keeps_digits(*in_units, magnified, gamma, self.spectrum.rest)


def keeps_squares(rest: FloatArray, left: FloatArray, squares: FloatArray) -> BoolArray:
    """Which training sets can choose a penalty by their residuals, whose squares are ``rest`` (B, Q).

    Those of the fit to all rows are ``left`` (B, Q) in them, and ``squares`` (Q,) in all rows.
    """
    kept: BoolArray = np.all((rest > LEAST_LEFT * left) & (left > LEAST_LEFT * squares), axis=1)
    return kept


def _is_known(mu: FloatArray, lams: FloatArray, magnified: FloatArray) -> BoolArray:
    """Whether the eigenvalues, in units of tau, are known well enough to choose a penalty, and those near it well.

    What the decomposition gives to the machine's precision is ``1 / (1 + mu)``, so the relative error of mu is
    ``mu + 1/mu`` times that, and the error of the shrinkage at lam ``f (1 - f)`` times the error of mu. A training set
    that is near to losing a direction has the errors ``magnified``.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        error = (mu + 1.0 / mu) * magnified[:, None]
        ratio = mu[:, :, None] / lams[:, None, :]
        moved = ratio / np.square(1.0 + ratio) * error[:, :, None]
    known: BoolArray = np.logical_and(np.all(error < KNOWN_SPAN, axis=1), np.all(moved < AMPLIFIED, axis=(1, 2)))
    return known


def _keeps_digits(
    mu: FloatArray, lams: FloatArray, magnified: FloatArray, gamma: FloatArray, rest: FloatArray
) -> BoolArray:
    """Whether the same errors of the eigenvalues are small beside the residuals, where these are small beside y.

    A relative error of mu is one of what the fit keeps of a direction, ``(1 - f) gamma``.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        shrunk = lams[:, None, :] / (mu[:, :, None] + lams[:, None, :])
        error = EPS * ((mu + 1.0 / mu) * magnified[:, None])[:, :, None] * (1.0 - shrunk) * gamma
        left = rest + np.square(shrunk * gamma).sum(axis=1)
        kept: BoolArray = np.all(np.square(error).sum(axis=1) <= np.square(DIGITS) * left, axis=1)
    return kept
